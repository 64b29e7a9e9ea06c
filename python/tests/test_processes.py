"""Forked child processes. The parent has computed before the fork, and has a thread that
allocates."""

import multiprocessing
import sys
import threading

import numpy as np
import pytest

import redpoll as rp

VECTOR = rp.asarray(np.arange(100_000.0))


def total(factor):
    return float(rp.sum(VECTOR * factor))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_compute():
    expected = [total(factor) for factor in (1.0, 2.0)]
    ended = threading.Event()

    def allocate():
        while not ended.is_set():
            (VECTOR + 1.0).compute()

    thread = threading.Thread(target=allocate)
    thread.start()
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map_async(total, (1.0, 2.0)).get(timeout=60) == expected
    finally:
        ended.set()
        thread.join()
