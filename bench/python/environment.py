"""The threads of a measurement: limits libraries to one thread, and waits for compiler threads."""

import os
import time
from pathlib import Path

#: The environment variables that set the number of threads of the libraries.
THREAD_VARIABLES = (
    "REDPOLL_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "BLIS_NUM_THREADS",
)

#: The name of redpoll's threads that compile kernels in the background. Linux shows 15 characters.
_COMPILER = "redpoll-compile"

#: The longest time to wait for these threads, in seconds.
_PATIENCE = 10.0


def use_one_thread() -> None:
    """Set the number of threads of all libraries to 1. Call this before the libraries are
    imported."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))


def checked_threads() -> dict[str, int]:
    """Return the numbers of threads: the values of the environment variables, and the number that
    Numba reports.

    Raises:
        RuntimeError: a number is not 1.
    """
    threads = {name: int(os.environ.get(name, "0")) for name in THREAD_VARIABLES}
    try:
        import numba

        threads["numba.get_num_threads()"] = numba.get_num_threads()
    except ImportError:
        pass
    wrong = [f"{name} is {count}" for name, count in threads.items() if count != 1]
    if wrong:
        raise RuntimeError(f"expected one thread for all libraries, found {', '.join(wrong)}")
    return threads


def is_compiling() -> bool:
    """Return whether redpoll compiles kernels in the background; `False` on other systems than
    Linux."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return False
    for task in tasks.iterdir():
        try:
            if (task / "comm").read_text().startswith(_COMPILER):
                return True
        except OSError:
            # The thread has ended.
            continue
    return False


def wait_for_compilers() -> None:
    """Wait until redpoll compiles no kernels in the background, at most `_PATIENCE` seconds.

    Systems other than Linux do not list threads; wait half a second there.
    """
    if not Path("/proc/self/task").is_dir():
        time.sleep(0.5)
    end = time.perf_counter() + _PATIENCE
    while is_compiling() and time.perf_counter() < end:
        time.sleep(0.005)
