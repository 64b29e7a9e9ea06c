"""Programs in Notation text: loops over arrays that are accessed by index."""

from __future__ import annotations

from . import _core
from ._array import Array
from ._session import current_session
from ._typing import ArrayLike

__all__ = ["Program"]


class Program:
    """A program in Notation text, compiled for the arrays that it is called with.

    The inputs are keyword arguments. A program is compiled once for each combination of dtypes,
    formats and shapes, not for each value.

    Raises:
        ValueError: the text is not a program; the message has the line and column.

    Examples:
        >>> program = rp.Program('''
        ...     (program (input A (shape n m)) (output largest (shape n) f64 0.0)
        ...       (for i (for j (max= (largest i) (A i j)))))
        ... ''')
        >>> program(A=rp.asarray([[1.0, 5.0], [3.0, 2.0]]))["largest"].tolist()
        [5.0, 3.0]
    """

    def __init__(self, text: str) -> None:
        self._core = _core.Program(text)
        self.text = text

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in the order of their declarations.

        Examples:
            >>> rp.Program("(program (input A (shape n)) (output y f64) (for i (+= y (A i))))").inputs
            ('A',)
        """
        return tuple(name for name, _, _ in self._core.inputs)

    def __call__(self, /, **inputs: ArrayLike) -> dict[str, Array]:
        """Run the program, and return its outputs by name."""
        from ._namespace.creation import asarray

        declared = {name: (ndim, has_value) for name, ndim, has_value in self._core.inputs}
        unknown = [name for name in inputs if name not in declared]
        if unknown:
            raise TypeError(f"the program has no input `{unknown[0]}`; its inputs are {', '.join(declared)}")
        missing = [name for name, (_, has_value) in declared.items() if name not in inputs and not has_value]
        if missing:
            raise TypeError(f"the program needs the input `{missing[0]}`")
        arrays = {name: asarray(value) for name, value in inputs.items()}
        for name, array in arrays.items():
            if array.ndim != declared[name][0]:
                raise ValueError(f"the input `{name}` has {declared[name][0]} modes, found shape {array.shape}")
        return dict(self._core.run(current_session(), arrays))

    def __repr__(self) -> str:
        return f"<redpoll.Program of {', '.join(self.inputs)}>"
