"""Adds the modules of the suite, in the folder above, to the path, and sets one thread for all
libraries."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import environment  # noqa: E402

environment.use_one_thread()
