"""SQL over frames, files and arrays: `sql`, and the class `Database`.

A build of the extension module without SQL has no submodule `_core._sql`; then `sql` and `Database`
raise `MissingSqlError`.
"""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from . import _interop
from ._array import Array
from ._core import Session
from ._dtypes import as_dtype
from ._functions.operators import Op, op, operator
from ._interop.arrow import to_arrow
from ._reports import Explanation
from ._session import current_session
from ._sql_result import MissingSqlError, QueryResult, SqlError, SqlNameError, SqlSyntaxError, count, sql_module

if TYPE_CHECKING:
    from ._typing import DTypeLike

__all__ = [
    "Database",
    "MissingSqlError",
    "QueryResult",
    "SqlError",
    "SqlNameError",
    "SqlSyntaxError",
    "current_database",
    "sql",
]

#: Packages that never change the rows of a frame or table after they have exported it.
_IMMUTABLE = {"duckdb", "polars", "pyarrow", "redpoll"}

_Lookup = Callable[[str, str, bool], Any]


class Database:
    """Tables, and SQL over them.

    Redpoll runs aggregates over joins in its own kernels, and DataFusion runs the rest of a plan;
    `explain` shows both parts. A database may be used by several threads at once.

    Args:
        session: the session whose configuration, memory limit and compiled plans the database
            uses, by default the current session.
        variables: whether a name that is neither a table nor an argument is looked up among the
            variables of the caller of `sql`.

    Raises:
        MissingSqlError: this build of redpoll has no SQL.

    Examples:
        >>> with rp.Database() as db:
        ...     db.register("e", rp.sample("karate"), columns=["a", "b"])
        ...     db.sql("SELECT count(*) FROM e x JOIN e y ON x.b = y.a JOIN e z ON y.b = z.a AND z.b = x.a").item()
        270
    """

    def __init__(self, *, session: Session | None = None, variables: bool = True) -> None:
        self._core: Any = sql_module().Database(current_session() if session is None else session)
        self._variables = variables

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop all tables, with the rows and the compiled queries that the database keeps.

        Examples:
            >>> db = rp.Database()
            >>> db.close()
            >>> db.tables()
            Traceback (most recent call last):
            redpoll.SqlError: the database is closed
        """
        self._core = None

    @property
    def _open(self) -> Any:
        if self._core is None:
            raise SqlError("the database is closed")
        return self._core

    def register(self, name: str, table: Any, *, columns: Sequence[str] | None = None) -> None:
        """Register a table, and replace a table of the same name.

        Args:
            name: the name; statements convert a name to lower case unless the name is quoted.
            table: a frame of pandas or Polars, a table of pyarrow, a relation of DuckDB, or another
                object with `__arrow_c_stream__`; an array of redpoll, NumPy, SciPy or another
                library; or the path of a file, a folder or a pattern of files.
            columns: the names of the columns of an array: one for each mode, and optionally one for
                the values.

        An array is a table with a row for each stored element. The table has the column `value` and
        a column for each mode, with the name of the mode or else `i0`, `i1` and so on. The column
        of a mode with labels has the labels as values. This call computes the array. The elements
        of a dense array that equal its fill value have no rows.

        The rows of arrays and of tables of Polars and pyarrow are shared. The rows of a frame of
        pandas are copied, because a frame of pandas can be changed in place.

        Raises:
            FileNotFoundError: there is no such file.
            TypeError: the object is not a table.
            SqlError: the file is damaged, or the columns do not fit the array.

        Examples:
            >>> db = rp.Database()
            >>> db.register("m", rp.eye(3), columns=["row", "col", "x"])
            >>> db.sql("SELECT sum(x) FROM m WHERE row > 0").item()
            2.0
        """
        if isinstance(table, (str, PathLike)):
            if columns is not None:
                raise TypeError("the columns of a file have names; `CREATE EXTERNAL TABLE` renames columns of a tensor")
            self._open.register_file(name, fspath(table))
        else:
            self._open.register(name, self._table(table, columns))

    def register_function(self, function: Any, *, name: str | None = None) -> None:
        """Register a function of rows: an operator of `redpoll.op`, or a Python function.

        The arguments are numbers or booleans, and the value is NULL if an argument is NULL. The
        function is traced once for each combination of dtypes, and compiled. A function of the same
        name is replaced. `sql` finds operators among arguments and variables without a
        registration.

        Raises:
            FunctionError: the function cannot be traced; see `op`. The first call in a statement
                raises this error.

        Examples:
            >>> db = rp.Database()
            >>> db.register_function(lambda x: x if x < 5 else 5, name="capped")
            >>> db.sql("SELECT capped(column1) FROM (VALUES (3), (8))").fetchall()
            [(3,), (5,)]
        """
        found = function if isinstance(function, Op) else op(function)
        self._open.register_function(name or found.function.__name__, _function(found))

    def register_semiring(self, name: str, *, sum: Any, product: Any, dtype: DTypeLike = "float64") -> None:
        """Register an aggregate function over a semiring.

        `name(x, y, ..)` combines the arguments of a row by `product`, and folds the rows by `sum`,
        inside the kernels of a join. `sum` and `product` are operators, by name or by `redpoll.op`,
        that are declared commutative and associative. `sum` must be idempotent, such as `min`, and
        `product` must distribute over `sum`.

        Raises:
            SqlError: the operators lack one of these properties.

        Examples:
            >>> db = rp.Database()
            >>> db.register_semiring("shortest", sum="min", product="+")
            >>> db.sql("SELECT shortest(column1, column2) FROM (VALUES (1, 9), (4, 2))").item()
            6.0
        """
        kind = as_dtype(dtype)
        self._open.register_semiring(name, operator(sum, [kind, kind]), operator(product, [kind, kind]), kind.name)

    def drop(self, name: str) -> None:
        """Drop a table.

        Raises:
            SqlNameError: there is no such table.

        Examples:
            >>> db = rp.Database()
            >>> db.register("m", rp.eye(3))
            >>> db.drop("m")
            >>> db.tables()
            []
        """
        if not self._open.drop(name):
            raise SqlNameError(f"there is no table `{name}`; the tables are {', '.join(self.tables()) or 'none'}")

    def tables(self) -> list[str]:
        """Return the names of the tables.

        Examples:
            >>> db = rp.Database()
            >>> _ = db.sql("CREATE TABLE t AS VALUES (1)")
            >>> db.tables()
            ['t']
        """
        names: list[str] = self._open.tables()
        return names

    def sql(self, text: str, /, **tables: Any) -> QueryResult:
        """Run statements, and return the rows of the last statement.

        The arguments by name are tables and operators for this call alone; they hide registered
        tables of the same names. Other names that the database does not know are looked up among
        the local and global variables of the caller: frames, arrays, and operators of `op`.
        Unquoted names are converted to lower case. An unquoted name also finds a variable whose
        name differs in case alone, if there is only one such variable.

        Ctrl-C cancels the query. Other Python threads run during the query.

        Raises:
            SqlSyntaxError: the text is not SQL; then no statement has run.
            SqlNameError: a table, a column or a function does not exist.
            SqlError: a statement cannot be planned, or fails.
            MemoryError: the query needs more than the memory limit of the session.

        Examples:
            >>> db = rp.Database()
            >>> db.sql("SELECT i0, sum(value) AS s FROM m GROUP BY i0 ORDER BY i0", m=rp.eye(2))
            i0  s
            0   1.0
            1   1.0
            [2 rows, 2 columns]
        """
        return self._run(text, tables, _variables(1) if self._variables else {})

    def execute(self, text: str, /, **tables: Any) -> None:
        """Run statements for their effects, as `sql` does.

        Examples:
            >>> db = rp.Database()
            >>> db.execute("CREATE TABLE t AS VALUES (1), (2); INSERT INTO t VALUES (3)")
            >>> db.sql("SELECT count(*) FROM t").item()
            3
        """
        self._run(text, tables, _variables(1) if self._variables else {})

    def explain(self, text: str, /, *, analyze: bool = False, **tables: Any) -> Explanation:
        """Return the plan of a statement.

        Lines that begin with `Redpoll` are regions that run in the kernels of redpoll. If
        DataFusion runs some aggregates, the last section gives the reasons.

        Args:
            text: the statement.
            analyze: whether to run the statement, and to show its measurements.
            tables: tables and operators, as in `sql`.

        Examples:
            >>> db = rp.Database()
            >>> db.register("e", rp.sample("karate"))
            >>> _ = db.sql("SET redpoll.claim = 'always'")
            >>> plan = db.explain("SELECT count(*) FROM e x JOIN e y ON x.i1 = y.i0")
            >>> "Redpoll: groups=[], aggregates=[count(*)]" in plan
            True
        """
        lookup = self._lookup(tables, _variables(1) if self._variables else {})
        return Explanation(self._open.explain(text, lookup, analyze))

    def _run(self, text: str, tables: Mapping[str, Any], variables: Mapping[str, Any]) -> QueryResult:
        return QueryResult(self._open.sql(text, self._lookup(tables, variables)))

    def _table(self, value: Any, columns: Sequence[str] | None = None) -> Any:
        """Return an object as a table of the core."""
        if isinstance(value, Database):
            raise TypeError("expected a table, found a database")
        is_frame = hasattr(value, "__arrow_c_stream__") and not isinstance(value, Array)
        if is_frame:
            if columns is not None:
                raise TypeError("the columns of a frame have names; rename them in the frame")
            is_immutable = type(value).__module__.partition(".")[0] in _IMMUTABLE
            return sql_module().Table(value, not is_immutable)
        array = _as_array(value)
        names = list(columns) if columns is not None else None
        if names is None and array.names is not None:
            names = [*array.names, "value"]
        if array.labels is not None and any(one is not None for one in array.labels):
            names = names or [*(f"i{mode}" for mode in range(array.ndim)), "value"]
            if len(names) != array.ndim + 1:
                raise SqlError(
                    f"expected {array.ndim + 1} names of columns for an array with labels, found {len(names)}"
                )
            return sql_module().Table(to_arrow(array, names[:-1], values=names[-1]), False)
        return self._open.table_of_array(array, names)

    def _lookup(self, tables: Mapping[str, Any], variables: Mapping[str, Any]) -> _Lookup:
        """Return the function that finds the tables and operators of statements."""

        def lookup(kind: str, name: str, is_known: bool) -> Any:
            given = _find(tables, name)
            if kind == "function":
                if isinstance(given, Op):
                    return _function(given)
                found = None if is_known else _find(variables, name, lambda value: isinstance(value, Op))
                return None if found is None else _function(found)
            if given is not None and not isinstance(given, Op):
                return self._table(given)
            found = None if is_known else _find(variables, name, _is_table)
            return None if found is None else self._table(found)

        return lookup

    def __repr__(self) -> str:
        if self._core is None:
            return "<redpoll.Database, closed>"
        return f"<redpoll.Database of {count(len(self.tables()), 'table')}>"


def _find(values: Mapping[str, Any], name: str, accepts: Callable[[Any], bool] = lambda value: True) -> Any:
    """Return the value of a name, or of the only key that differs from the name in case alone."""
    if name in values and accepts(values[name]):
        return values[name]
    found = [value for key, value in values.items() if key.lower() == name and key != name and accepts(value)]
    return found[0] if len(found) == 1 else None


def _is_table(value: Any) -> bool:
    """Return whether a variable is a table: a frame, or an array of another library."""
    if isinstance(value, (type, np.generic)):
        return False
    if isinstance(value, Array) or hasattr(value, "__arrow_c_stream__"):
        return True
    return isinstance(value, np.ndarray) or _interop.foreign(value) is not None


def _as_array(value: Any) -> Array:
    from ._namespace.creation import asarray

    if isinstance(value, (bool, int, float)) or not (_is_table(value) or isinstance(value, (list, tuple))):
        raise TypeError(
            f"expected a table, an array or the path of a file, found {type(value).__name__}; a table has "
            "`__arrow_c_stream__`, such as a frame of pandas, Polars, pyarrow or DuckDB"
        )
    return asarray(value)


def _variables(depth: int) -> Mapping[str, Any]:
    """Return the variables of the function `depth` frames above the caller of `_variables`."""
    frame = sys._getframe(depth + 1)
    return ChainMap(dict(frame.f_locals), frame.f_globals)


#: The SQL function of each operator. An operator always has the same SQL function, so that the
#: database finds the compiled queries of this function again.
_FUNCTIONS: WeakKeyDictionary[Op, Any] = WeakKeyDictionary()


def _function(function: Op) -> Any:
    """Return an operator as a function of SQL."""
    if function not in _FUNCTIONS:
        # The function must not refer to the operator, because a value of the dictionary would then
        # keep its own key alive.
        specialize = Op(function.function, function.properties).specialize
        _FUNCTIONS[function] = sql_module().Function(lambda names: specialize([as_dtype(name) for name in names]))
    return _FUNCTIONS[function]


#: The default database of each session.
_DATABASES: WeakKeyDictionary[Session, Database] = WeakKeyDictionary()


def current_database() -> Database:
    """Return the database of `redpoll.sql`: one for each session.

    Raises:
        MissingSqlError: this build of redpoll has no SQL.

    Examples:
        >>> rp.current_database().register("unit", rp.eye(2))
        >>> rp.sql("SELECT count(*) FROM unit").item()
        2
        >>> rp.current_database().drop("unit")
    """
    session = current_session()
    if session not in _DATABASES:
        _DATABASES.setdefault(session, Database(session=session))
    return _DATABASES[session]


def sql(text: str, /, *, variables: bool = True, **tables: Any) -> QueryResult:
    """Run statements of SQL in the current database, and return the rows of the last statement.

    The arguments by name are tables and operators for this call; see `Database.sql`. A table named
    `variables` must be registered, because `variables` is a parameter.

    Args:
        text: the statements, separated by `;`.
        variables: whether other names are looked up among the variables of the caller.
        tables: frames, arrays, and operators of `op`.

    Raises:
        MissingSqlError: this build of redpoll has no SQL.
        SqlSyntaxError: the text is not SQL; then no statement has run.
        SqlNameError: a table, a column or a function does not exist.
        SqlError: a statement cannot be planned, or fails.

    Examples:
        >>> friends = rp.sample("karate").at("a", "b")
        >>> rp.sql("SELECT a, count(*) AS friends FROM friends GROUP BY a ORDER BY 2 DESC, 1 LIMIT 2")
        a   friends
        33  17
        0   16
        [2 rows, 2 columns]
    """
    database = current_database()
    return database._run(text, tables, _variables(1) if variables else {})
