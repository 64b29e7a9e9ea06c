"""The functions of the Python Array API standard, a module for each section of the standard."""
