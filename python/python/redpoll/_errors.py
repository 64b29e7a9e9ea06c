"""Exceptions that Python's own classes do not cover."""

import numpy as np


class AxisError(ValueError, IndexError):
    """The error for an axis that an array does not have, like `numpy.exceptions.AxisError`."""


class DensificationError(MemoryError):
    """The error for a dense NumPy array that would exceed the limit; see `set_dense_limit`."""


class FunctionError(TypeError):
    """The error for a function that cannot become an operator.

    The message names the function, and the line if one line is at fault.

    Examples:
        >>> rp.map(lambda x: "text", rp.asarray([1.0]))
        Traceback (most recent call last):
        redpoll.FunctionError: `<lambda>` returns str, expected a number
    """

    __module__ = "redpoll"


class LinAlgError(np.linalg.LinAlgError):
    """The error for matrices without a solution, like `numpy.linalg.LinAlgError`, its base class.

    A matrix is singular, not positive definite or not square, or an iteration does not converge.

    Examples:
        >>> rp.linalg.inv(rp.asarray([[1.0, 1.0], [1.0, 1.0]]))
        Traceback (most recent call last):
        redpoll.linalg.LinAlgError: `inv`: the matrix is singular
    """

    __module__ = "redpoll.linalg"
