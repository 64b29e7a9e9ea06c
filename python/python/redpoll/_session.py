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
    """Return the session of new arrays: by default one with strict floats and no memory limit.

    Examples:
        >>> isinstance(rp.current_session(), rp.Session)
        True
    """
    return _CURRENT.get()


@contextmanager
def use_session(session: Session) -> Iterator[Session]:
    """Create arrays in another session within a `with` block.

    Examples:
        >>> with rp.use_session(rp.Session(floats="strict")):
        ...     (rp.asarray([0.0]) * rp.inf).tolist()
        [nan]
    """
    token = _CURRENT.set(session)
    try:
        yield session
    finally:
        _CURRENT.reset(token)
