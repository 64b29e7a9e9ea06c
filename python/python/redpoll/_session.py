"""The session of the package, in which arrays are created and computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ._core import Session

__all__ = ["Session", "current_session", "use_session"]

_DEFAULT = Session()
_CURRENT = ContextVar("redpoll_session", default=_DEFAULT)


def current_session() -> Session:
    """Return the session of new arrays: by default one with strict floats and no memory limit."""
    return _CURRENT.get()


@contextmanager
def use_session(session: Session) -> Iterator[Session]:
    """Create arrays in another session within a `with` block."""
    token = _CURRENT.set(session)
    try:
        yield session
    finally:
        _CURRENT.reset(token)
