"""First calls: each in a new process, without the caches that libraries keep on disk."""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from inputs import case
from sides import load
from summaries import median
from workload import Workload, start


class FirstCall(NamedTuple):
    """The times of a new process, in seconds."""

    #: The time to import the library, with NumPy and SciPy imported already.
    imported: float
    #: The time to convert the operands.
    converted: float
    #: The time of the first call, which compiles.
    first: float
    #: The time of the second call.
    second: float


def run_here(workload: Workload, case_name: str, side_name: str, *, quick: bool) -> FirstCall:
    """Run a workload twice on one side in this process, which has not imported the library."""
    # Only generated cases give right import times: a case from a file already imports redpoll here.
    inputs = case(case_name, quick=quick)
    assert inputs is not None, "cases without data are left out"
    operands = [inputs[name] for name in workload.operands]
    before = time.perf_counter()
    side = load(side_name)
    imported = time.perf_counter()
    converted_operands = [side.convert(operand, workload.layout) for operand in operands]
    converted = time.perf_counter()
    function = start(workload.functions[side_name])
    ends = []
    for _ in range(2):
        side.finish(function(*converted_operands), workload.format)
        ends.append(time.perf_counter())
    return FirstCall(imported - before, converted - imported, ends[0] - converted, ends[1] - ends[0])


def run_new(workload: Workload, case_name: str, side_name: str, *, quick: bool, processes: int) -> FirstCall:
    """Return the medians of several new processes.

    Raises:
        RuntimeError: a process failed.
    """
    program = [sys.executable, str(Path(__file__).parent), "--first-call", workload.name, case_name, side_name]
    runs = []
    for _ in range(processes):
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": cache}
            command = [*program, "--quick"] if quick else program
            process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise RuntimeError(f"{side_name} failed in a new process: {process.stderr.strip()[-500:]}")
        runs.append(FirstCall(*json.loads(process.stdout.splitlines()[-1])))
    return FirstCall(*(median(times) for times in zip(*runs, strict=True)))


def print_first_call(workload: Workload, case_name: str, side_name: str, *, quick: bool) -> None:
    """Run a workload in this process, and print the times as JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = run_here(workload, case_name, side_name, quick=quick)
    print(json.dumps(times))
