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
    """Return the session in which new arrays are created.

    The default session has relaxed floats and no memory limit. Relaxed floats multiply as SciPy's
    sparse arrays do: a product with an element that is not stored is 0, even if the other element
    is infinite or NaN. Stored zeros count like elements that are not stored. `0 / 0` and `x / inf`
    are 0. The sign of a zero is unspecified, and sums are added in any order.
    `Session(floats="strict")` follows IEEE 754.

    Examples:
        >>> (rp.zeros(1) * rp.asarray([rp.inf])).tolist()
        [0.0]
    """
    return _CURRENT.get()


@contextmanager
def use_session(session: Session) -> Iterator[Session]:
    """Create arrays in another session within a `with` block.

    Examples:
        >>> with rp.use_session(rp.Session(floats="strict")):
        ...     (rp.zeros(1) * rp.asarray([rp.inf])).tolist()
        [nan]
    """
    token = _CURRENT.set(session)
    try:
        yield session
    finally:
        _CURRENT.reset(token)
