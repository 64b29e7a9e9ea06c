"""A plugin of pytest that runs the conformance suite in a session with strict floats."""

from __future__ import annotations

from contextlib import ExitStack

import redpoll as rp

#: Keeps the session with strict floats current for the whole run.
_STACK = ExitStack()


def pytest_configure() -> None:
    """Replace the current session."""
    _STACK.enter_context(rp.use_session(rp.Session(floats="strict")))


def pytest_unconfigure() -> None:
    """Restore the session."""
    _STACK.close()
