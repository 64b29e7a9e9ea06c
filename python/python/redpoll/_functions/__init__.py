"""Functions of users as operators: the syntax that is traced, traces, and the text of operators."""
