"""Exceptions that Python's own classes do not cover."""


class AxisError(ValueError, IndexError):
    """An axis that an array does not have, as `numpy.exceptions.AxisError`."""


class DensificationError(MemoryError):
    """A conversion to a dense NumPy array that would exceed the limit; see `set_dense_limit`."""


class FunctionError(TypeError):
    """A function that cannot become an operator; the message has the line of the function.

    Examples:
        >>> rp.map(lambda x: "text", rp.asarray([1.0]))
        Traceback (most recent call last):
        redpoll.FunctionError: `<lambda>` returns str, expected a number
    """

    __module__ = "redpoll"
