"""Reports on arrays: explanations of plans, and profiles of runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from . import _core
from ._flow import Drawing

if TYPE_CHECKING:
    from ._array import Array

__all__ = ["Explanation", "OutputProfile", "Profile", "QueryProfile", "Section"]


class Section(NamedTuple):
    """One form of a plan, or of one of its queries."""

    title: str
    text: str


class Explanation(str):
    """The text of every form of a plan, as a string with its sections.

    Examples:
        >>> explanation = rp.sum(rp.asarray([1.0, 2.0])).explain()
        >>> explanation.sections[0].title
        'logic'
    """

    sections: tuple[Section, ...]

    def __new__(cls, sections: list[tuple[str, str]]) -> Explanation:
        parts = [Section(title, text.rstrip()) for title, text in sections]
        explanation = super().__new__(cls, "\n\n".join(f"== {part.title} ==\n{part.text}" for part in parts))
        explanation.sections = tuple(parts)
        return explanation

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[Explanation], tuple[list[tuple[str, str]]]]:
        return Explanation, ([(part.title, part.text) for part in self.sections],)

    def _repr_html_(self) -> str:
        parts = (
            f"<details{' open' if k == 0 else ''}><summary>{escape(part.title)}</summary>"
            f"<pre>{escape(part.text)}</pre></details>"
            for k, part in enumerate(self.sections)
        )
        return "".join(parts)


@dataclass(frozen=True)
class OutputProfile:
    """The measurements of one output of a query."""

    name: str
    #: The number of stored values.
    stored: int
    #: The number of stored values that the optimizer estimated, or `None`.
    estimated: float | None


@dataclass(frozen=True)
class QueryProfile:
    """The measurements of one query."""

    name: str
    #: The target whose kernel ran; `None` if no kernel ran, as for a conversion between formats.
    target: str | None
    seconds: float
    outputs: tuple[OutputProfile, ...]


@dataclass(frozen=True, repr=False)
class Profile:
    """The measurements of one run of the plan of an array.

    Examples:
        >>> profile = rp.sum(rp.asarray([1.0, 2.0])).profile()
        >>> [query.outputs[0].stored for query in profile.queries]
        [1]
    """

    target: str
    #: The time of the whole run.
    seconds: float
    #: The largest number of bytes that were allocated at one time.
    peak_bytes: int
    #: The seconds of each phase of the preparation, in order; a phase may occur several times.
    phases: tuple[tuple[str, float], ...]
    queries: tuple[QueryProfile, ...]
    #: Notes on results that may surprise.
    notes: tuple[str, ...]
    #: The whole profile as a table.
    text: str
    _drawing: Drawing = field(compare=False)

    def visualize(self) -> Drawing:
        """Draw the queries of the plan with their measurements."""
        return self._drawing

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"


def explain(array: Array, schedule: str | None) -> Explanation:
    """Return the explanation of the plan of an array."""
    return Explanation(_core.explain(array, schedule))


def profile(array: Array) -> Profile:
    """Compute an array and return the measurements of the run."""
    measured = _core.profile(array)
    queries = [
        QueryProfile(name, target, seconds, tuple(OutputProfile(*output) for output in outputs))
        for name, target, seconds, outputs in measured["queries"]
    ]
    return Profile(
        target=measured["target"],
        seconds=measured["seconds"],
        peak_bytes=measured["peak_bytes"],
        phases=tuple(measured["phases"]),
        queries=tuple(queries),
        notes=tuple(measured["notes"]),
        text=measured["text"].rstrip(),
        _drawing=Drawing(measured["nodes"], measured["edges"]),
    )
