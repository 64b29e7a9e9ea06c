"""The modules of the suite, which lie in the folder above, and one thread for all libraries."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import environment  # noqa: E402

environment.use_one_thread()
