"""The results of SQL queries, and the errors of SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from . import _core
from ._array import Array
from ._core import ArrowTable
from ._interop.arrow import from_arrow

__all__ = ["MissingSqlError", "QueryResult", "SqlError", "SqlNameError", "SqlSyntaxError", "count", "sql_module"]

#: The number of rows that the text and the HTML of a result show.
_SHOWN = 10


class MissingSqlError(ImportError):
    """The error of `sql` and `Database` in a build of redpoll without SQL."""

    __module__ = "redpoll"


class SqlError(ValueError):
    """A statement that cannot be planned, or that fails.

    Other failures raise Python's own exceptions: `MemoryError` if the memory limit is too small,
    and `OSError` for files.
    """

    __module__ = "redpoll"


class SqlSyntaxError(SqlError):
    """A text that is not SQL; the message has the line and the column."""

    __module__ = "redpoll"


class SqlNameError(SqlError, LookupError):
    """A table, a column or a function that does not exist."""

    __module__ = "redpoll"


def sql_module() -> Any:
    """Return the submodule of the extension module with SQL."""
    module = getattr(_core, "_sql", None)
    if module is None:
        raise MissingSqlError(
            "this build of redpoll has no SQL; install the wheel with SQL, which `python/sql.sh` in the sources of "
            "redpoll builds"
        )
    return module


class QueryResult:
    """The rows of a query.

    Every library with the PyCapsule interface of Arrow reads the rows without a copy:
    `pyarrow.table(result)`, `polars.DataFrame(result)`, `pandas.DataFrame.from_arrow(result)`,
    `duckdb.from_arrow(result)`.
    """

    def __init__(self, table: ArrowTable) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._table.column_names

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return self._table.num_rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchall())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of Python objects, with `None` for NULL.

        Dates and times are objects of `datetime`, with a precision of microseconds.

        Raises:
            TypeError: Python has no class for the values of a column.

        Examples:
            >>> rp.sql("SELECT 1 AS a, 'x' AS b").fetchall()
            [(1, 'x')]
        """
        rows: list[tuple[Any, ...]] = sql_module().rows(self._table)
        return rows

    def item(self) -> Any:
        """Return the value of a result with one row and one column.

        Raises:
            ValueError: the result has another shape.

        Examples:
            >>> rp.sql("SELECT 6 * 7").item()
            42
        """
        if self.shape != (1, 1):
            raise ValueError(f"expected one row of one column, found a result of shape {self.shape}")
        return self.fetchall()[0][0]

    def to_arrow(self) -> Any:
        """Return the rows as a `pyarrow.Table`.

        Examples:
            >>> rp.sql("SELECT 1 AS a").to_arrow().column_names
            ['a']
        """
        import pyarrow as pa

        return pa.table(self)

    def to_pandas(self) -> Any:
        """Return the rows as a `pandas.DataFrame`.

        Examples:
            >>> list(rp.sql("SELECT 1 AS a").to_pandas()["a"])
            [1]
        """
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the rows as a `polars.DataFrame`.

        Examples:
            >>> rp.sql("SELECT 1 AS a").to_polars()["a"].to_list()
            [1]
        """
        import polars as pl

        return pl.DataFrame(self)

    def to_array(self, coordinates: Sequence[str] | None = None, values: str | None = None, **options: Any) -> Array:
        """Return an array from columns of coordinates and a column of values.

        By default, the last column has the values, and all other columns have the coordinates.

        Args:
            coordinates: the names of the columns of coordinates, one for each mode. Without
                `values`, the array is true at the coordinates of each row.
            values: the name of the column of values.
            options: the options of `from_arrow`, such as `shape`, `fill_value` and `format`.

        Raises:
            KeyError: there is no such column.
            ValueError: coordinates are NULL, negative or repeated, or values are NULL.

        Examples:
            >>> rp.sql("SELECT * FROM (VALUES (0, 1, 2.5), (1, 0, 4.0))").to_array().tolist()
            [[0.0, 2.5], [4.0, 0.0]]
        """
        if coordinates is None:
            rest = [name for name in self.columns if name != values]
            if values is None:
                if not rest:
                    raise ValueError("expected a column of values, found a result without columns")
                values = rest.pop()
            coordinates = rest
        return from_arrow(self._table, coordinates, values, **options)

    def __repr__(self) -> str:
        rows, columns = self.shape
        if not columns:
            return "<redpoll.QueryResult without columns>"
        cells = [[name, *texts] for name, texts in zip(self.columns, self._shown_columns(), strict=True)]
        widths = [max(map(len, column)) for column in cells]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in zip(*cells, strict=True)
        ]
        return "\n".join([*lines, f"[{count(rows, 'row')}, {count(columns, 'column')}]"])

    def _repr_html_(self) -> str:
        rows, columns = self.shape
        shown = list(zip(*self._shown_columns(), strict=True))
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in shown)
        caption = f"redpoll.QueryResult: {count(rows, 'row')}, {count(columns, 'column')}"
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _shown_columns(self) -> list[list[str]]:
        """Return the texts of the first rows, as a list for each column."""
        rows = sql_module().cells(self._table, 0, _SHOWN)
        if len(self) > _SHOWN:
            rows.append([".."] * len(self.columns))
        return [[row[column].replace("\n", " ") for row in rows] for column in range(len(self.columns))]


def count(number: int, noun: str) -> str:
    """Return a number and a noun, which gets an `s` unless the number is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
