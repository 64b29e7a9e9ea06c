"""User functions as operators: the traced syntax, the traces, and the text of operators."""
