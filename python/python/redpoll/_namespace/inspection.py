"""A function that describes the capabilities of the namespace."""

from __future__ import annotations

from typing import Any

from .._dtypes import ALL, DType, float64, int64, isdtype

__all__ = ["__array_namespace_info__"]


class _Info:
    """The capabilities, defaults, dtypes and devices of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return, for each optional feature of the Array API standard, whether it is supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """Return the only device."""
        return "cpu"

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Return the dtypes of arrays created without a dtype. There are no complex dtypes."""
        self._check(device)
        return {"real floating": float64, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """Return the dtypes by name; with `kind`, only the dtypes of the given kind or kinds."""
        self._check(device)
        return {dtype.name: dtype for dtype in ALL if kind is None or isdtype(dtype, kind)}

    def devices(self) -> tuple[str, ...]:
        """Return the devices."""
        return ("cpu",)

    def _check(self, device: str | None) -> None:
        if device not in (None, "cpu"):
            raise ValueError(f"the only device is 'cpu', found {device!r}")


def __array_namespace_info__() -> _Info:  # noqa: N807
    """Return the capabilities, defaults, dtypes and devices of the namespace.

    Examples:
        >>> rp.__array_namespace_info__().default_dtypes()["integral"]
        redpoll.int64
    """
    return _Info()
