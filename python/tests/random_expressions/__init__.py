"""Random expressions over arrays of several libraries, with NumPy's result of each expression."""
