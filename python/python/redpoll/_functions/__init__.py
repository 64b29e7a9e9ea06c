"""Functions of users as operators: tracing, its syntax, and the text of operators."""
