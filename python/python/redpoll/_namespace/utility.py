"""Tests of all elements."""

from .. import _core

__all__ = ["all", "any"]


def all(x, /, *, axis=None, keepdims=False):
    """Return whether all elements along axes are not zero."""
    return _core.reduce(x, "all", axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Return whether any element along axes is not zero."""
    return _core.reduce(x, "any", axis, keepdims)
