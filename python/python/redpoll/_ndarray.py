"""Methods of NumPy's arrays that the Array API standard does not have.

Libraries that work with arrays of any class, such as dask and xarray, call these methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._interop.functions import ADAPTERS
from ._typing import ArrayLike, Axis, Number

if TYPE_CHECKING:
    from ._array import Array

__all__ = ["NumpyMethods"]


class NumpyMethods:
    """Methods of NumPy's arrays, implemented by the adapters of NumPy's functions."""

    __slots__ = ()

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Array:
        """Drop modes of size 1, by default all of them.

        Examples:
            >>> rp.zeros((1, 3, 1)).squeeze().shape
            (3,)
        """
        return ADAPTERS["squeeze"](self, axis)

    def flatten(self) -> Array:
        """Return the elements in row-major order as a vector.

        Examples:
            >>> rp.eye(2).flatten().tolist()
            [1.0, 0.0, 0.0, 1.0]
        """
        return ADAPTERS["reshape"](self, (-1,))

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """Exchange two modes.

        Examples:
            >>> rp.zeros((2, 3, 4)).swapaxes(0, 2).shape
            (4, 3, 2)
        """
        return ADAPTERS["swapaxes"](self, axis1, axis2)

    def dot(self, other: ArrayLike) -> Array:
        """Return the matrix product, or the product with a number.

        Examples:
            >>> rp.eye(2).dot([3.0, 4.0]).tolist()
            [3.0, 4.0]
        """
        return ADAPTERS["dot"](self, other)

    def take(self, indices: ArrayLike, axis: int | None = None) -> Array:
        """Select elements along an axis, or of the flattened array if no axis is given.

        Examples:
            >>> rp.eye(2).take([1], axis=0).tolist()
            [[0.0, 1.0]]
        """
        return ADAPTERS["take"](self, indices, axis)

    def repeat(self, repeats: int | ArrayLike, axis: int | None = None) -> Array:
        """Repeat elements.

        Examples:
            >>> rp.asarray([1, 2]).repeat(2).tolist()
            [1, 1, 2, 2]
        """
        return ADAPTERS["repeat"](self, repeats, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """Return the diagonal of two modes as the last mode.

        Examples:
            >>> rp.eye(2).diagonal().tolist()
            [1.0, 1.0]
        """
        return ADAPTERS["diagonal"](self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """Compute the sum of the diagonal of two modes.

        Examples:
            >>> float(rp.eye(2).trace())
            2.0
        """
        return ADAPTERS["trace"](self, offset, axis1, axis2)

    def cumsum(self, axis: int | None = None) -> Array:
        """Compute partial sums along an axis, or of the flattened array if no axis is given.

        Examples:
            >>> rp.asarray([1, 2, 3]).cumsum().tolist()
            [1, 3, 6]
        """
        return ADAPTERS["cumsum"](self, axis)

    def cumprod(self, axis: int | None = None) -> Array:
        """Compute partial products along an axis, or of the flattened array if no axis is given.

        Examples:
            >>> rp.asarray([1, 2, 3]).cumprod().tolist()
            [1, 2, 6]
        """
        return ADAPTERS["cumprod"](self, axis)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """Return the coordinate of the first maximum along an axis.

        Examples:
            >>> int(rp.asarray([1, 3, 2]).argmax())
            1
        """
        return ADAPTERS["argmax"](self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """Return the coordinate of the first minimum along an axis.

        Examples:
            >>> int(rp.asarray([1, 3, 2]).argmin())
            0
        """
        return ADAPTERS["argmin"](self, axis, keepdims=keepdims)

    def ptp(self, axis: Axis = None) -> Array:
        """Compute the difference of the largest and the smallest element along axes.

        Examples:
            >>> int(rp.asarray([1, 3, 2]).ptp())
            2
        """
        return ADAPTERS["ptp"](self, axis)

    def argsort(self, axis: int = -1) -> Array:
        """Return the coordinates that sort the elements along an axis. The sort is stable.

        Examples:
            >>> rp.asarray([3, 1, 2]).argsort().tolist()
            [1, 2, 0]
        """
        return ADAPTERS["argsort"](self, axis)

    def searchsorted(self, v: ArrayLike, side: str = "left") -> Array:
        """Return positions at which values can be inserted such that a sorted vector stays sorted.

        Examples:
            >>> rp.asarray([1, 3]).searchsorted([2, 4]).tolist()
            [1, 2]
        """
        return ADAPTERS["searchsorted"](self, v, side)

    def nonzero(self) -> tuple[Array, ...]:
        """Return the coordinates of the elements that are not zero, an array for each mode.

        Examples:
            >>> [at.tolist() for at in rp.eye(2).nonzero()]
            [[0, 1], [0, 1]]
        """
        return ADAPTERS["nonzero"](self)

    def clip(self, min: Number | ArrayLike | None = None, max: Number | ArrayLike | None = None) -> Array:
        """Limit the elements to a range.

        Examples:
            >>> rp.asarray([1, 5, 9]).clip(2, 6).tolist()
            [2, 5, 6]
        """
        return ADAPTERS["clip"](self, min, max)

    def round(self, decimals: int = 0) -> Array:
        """Round the elements to a number of decimal places.

        Examples:
            >>> rp.asarray([1.25, 2.5]).round().tolist()
            [1.0, 2.0]
        """
        return ADAPTERS["round"](self, decimals)

    def conj(self) -> Array:
        """Return the array itself, because all dtypes are real.

        Examples:
            >>> rp.asarray([1.0]).conj().tolist()
            [1.0]
        """
        return ADAPTERS["real"](self)

    @property
    def real(self) -> Array:
        """The array itself, because all dtypes are real.

        Examples:
            >>> rp.asarray([1.0]).real.tolist()
            [1.0]
        """
        return ADAPTERS["real"](self)

    @property
    def imag(self) -> Array:
        """An array of zeros, because all dtypes are real.

        Examples:
            >>> rp.asarray([1.0]).imag.tolist()
            [0.0]
        """
        return ADAPTERS["imag"](self)

    @property
    def flat(self) -> Any:
        """An iterator over the elements in row-major order.

        Examples:
            >>> [float(one) for one in rp.eye(2).flat]
            [1.0, 0.0, 0.0, 1.0]
        """
        return iter(self.flatten())
