"""The suite `python`: redpoll beside NumPy, SciPy, PyData/Sparse and finch-tensor in one process.

`python bench/python --help` lists the options, and README.md describes the measurement.
"""

import environment

# Libraries read the number of threads when they are imported.
environment.use_one_thread()

import cli  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(cli.main())
