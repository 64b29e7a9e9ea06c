"""Exceptions that Python's own classes do not cover."""


class AxisError(ValueError, IndexError):
    """An axis that an array does not have, as `numpy.exceptions.AxisError`."""


class DensificationError(MemoryError):
    """A conversion to a dense NumPy array that would exceed the limit; see `set_dense_limit`."""
