"""Random expressions over arrays of several libraries, with NumPy's result for each of them."""
