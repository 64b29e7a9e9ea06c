"""SQL over frames and arrays: the same rows as DuckDB and pandas, errors, threads,
interruptions."""

import datetime
import decimal
import doctest
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import redpoll as rp
from redpoll import _core

pytestmark = pytest.mark.skipif(not hasattr(_core, "_sql"), reason="this build of redpoll has no SQL; see sql.sh")

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.fixture
def db():
    """Return an empty database that looks up no variables."""
    return rp.Database(variables=False)


def random_table(rng, rows, *, keys):
    """Return a table of texts, dates, dictionaries and numbers with NULLs.

    Sums of the numbers, and of their products, are exact.
    """

    def nulls(values):
        return pa.array(values, mask=rng.random(rows) < 0.15)

    days = np.datetime64("2026-01-01") + rng.integers(0, 4, rows)
    words = np.array(["ash", "birch", "", "élan", "ash tree"])
    text = nulls(words[rng.integers(0, len(words), rows)])
    return pa.table(
        {
            "k": nulls(rng.integers(0, keys, rows)),
            "s": text,
            "day": nulls(days),
            "c": text.dictionary_encode(),
            "x": nulls(rng.integers(-50, 50, rows) / 4),
            "n": nulls(rng.integers(-9, 9, rows).astype(np.int32)),
            "b": nulls(rng.random(rows) < 0.5),
        }
    )


QUERIES = (
    "SELECT k, count(*), count(x), sum(x), min(s), max(day) FROM t GROUP BY k",
    "SELECT t.k, count(*), sum(t.x * u.x), max(u.n) FROM t JOIN u ON t.k = u.k GROUP BY t.k",
    "SELECT t.s, u.c, count(*) FROM t JOIN u ON t.s = u.s GROUP BY t.s, u.c",
    "SELECT u.day, sum(t.n) FROM t JOIN u ON t.day = u.day AND t.k = u.k GROUP BY u.day",
    "SELECT t.c, count(u.k), sum(u.x) FROM t LEFT JOIN u ON t.c = u.c GROUP BY t.c",
    "SELECT coalesce(t.k, u.k), count(*) FROM t FULL JOIN u ON t.k = u.k GROUP BY coalesce(t.k, u.k)",
    "SELECT count(*) FROM t a JOIN u b ON a.k = b.k JOIN t c ON b.n = c.n AND c.k = a.k",
    "SELECT k, bool_or(b), avg(x) FROM t WHERE k IN (SELECT k FROM u WHERE n > 0) GROUP BY k",
    "SELECT DISTINCT t.s FROM t JOIN u ON t.k = u.k WHERE u.x > 0",
    "SELECT k, s, x FROM t WHERE x > 0 AND s <> ''",
)


def in_order(rows):
    """Return rows sorted by their texts, with rounded floats."""
    rounded = [tuple(round(v, 9) if isinstance(v, float) else v for v in row) for row in rows]
    return sorted(rounded, key=repr)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("claim", ["always", "cost"])
def test_random_tables_have_the_rows_of_duckdb(query, claim, db, rng):
    db.execute(f"SET redpoll.claim = '{claim}'")
    for rows, keys in ((40, 5), (300, 40), (0, 1)):
        tables = {"t": random_table(rng, rows, keys=keys), "u": random_table(rng, rows + 3, keys=keys)}
        expected = duckdb.connect()
        for name, table in tables.items():
            expected.register(name, table)
        assert in_order(db.sql(query, **tables).fetchall()) == in_order(expected.sql(query).fetchall())


def test_joins_have_the_rows_of_pandas(db, rng):
    t, u = (random_table(rng, 200, keys=20).to_pandas() for _ in range(2))
    merged = t.dropna(subset=["k"]).merge(u.dropna(subset=["k"]), on="k")
    expected = merged.assign(p=merged.x_x * merged.x_y).groupby("k").p.sum(min_count=1)
    found = db.sql("SELECT t.k, sum(t.x * u.x) AS p FROM t JOIN u ON t.k = u.k GROUP BY t.k ORDER BY 1", t=t, u=u)
    pd.testing.assert_series_equal(found.to_pandas().set_index("k").p, expected, check_dtype=False)


FRAMES = {
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: pl.DataFrame(table),
    "pyarrow": lambda table: table,
    "reader": lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
    "result": lambda table: rp.sql("SELECT * FROM t", t=table),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_every_library(library, db):
    table = pa.table({"k": [1, 2, 2], "s": ["a", None, "c"], "d": [datetime.date(2026, 1, day) for day in (1, 2, 3)]})
    expected = [
        (1, "a", datetime.date(2026, 1, 1)),
        (2, None, datetime.date(2026, 1, 2)),
        (2, "c", datetime.date(2026, 1, 3)),
    ]
    db.register("t", FRAMES[library](table))
    for _ in range(2):
        assert db.sql("SELECT k, s, CAST(d AS DATE) AS d FROM t ORDER BY d").fetchall() == expected
    assert db.sql("SELECT count(*) FROM f", f=FRAMES[library](table.slice(0, 0))).item() == 0


ARRAYS = {
    "redpoll": rp.asarray,
    "csr": lambda a: rp.asarray(sp.csr_array(a)),
    "lazy": lambda a: rp.asarray(a) * 1,
    "numpy": lambda a: a,
    "scipy": sp.coo_array,
    "list": lambda a: a.tolist(),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_are_tables_of_their_elements(kind, db):
    values = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
    db.register("m", ARRAYS[kind](values))
    assert db.sql("SELECT * FROM m ORDER BY i0, i1").fetchall() == [(0, 1, 2.0), (1, 0, 3.0), (1, 2, 4.0)]
    db.execute("SET redpoll.claim = 'always'")
    product = "SELECT a.i0, b.i0 AS j, sum(a.value * b.value) AS v FROM m a JOIN m b ON a.i1 = b.i1 GROUP BY a.i0, b.i0"
    assert "Redpoll: " in db.explain(product) and "tensor" in db.explain(product)
    np.testing.assert_array_equal(db.sql(product).to_array().todense(), values @ values.T)


def test_names_of_columns(db):
    array = rp.asarray([[0, 5]])
    assert db.sql("SELECT * FROM m", m=array.at("row", "col")).columns == ["row", "col", "value"]
    db.register("m", array, columns=["a", "b"])
    assert (db.sql("SELECT * FROM m").columns, db.sql("SELECT * FROM m").fetchall()) == (["a", "b"], [(0, 1)])
    with pytest.raises(rp.SqlError, match="expected 2 column names"):
        db.register("m", array, columns=["a"])
    with pytest.raises(rp.SqlError, match="occurs twice"):
        db.register("m", array, columns=["a", "a"])
    with pytest.raises(TypeError, match="rename them in the frame"):
        db.register("m", pa.table({"a": [1]}), columns=["b"])


def test_labels_are_values_and_return(db):
    table = pa.table({"user": ["bob", "ann"], "item": [1, 0], "stars": [2.0, 5.0]})
    ratings = rp.from_arrow(table, ["user", "item"], "stars")
    named = ratings.at("user", "item").with_labels(ratings.labels[0], None)
    assert db.sql("SELECT user, item, value FROM r ORDER BY user", r=named).fetchall() == [
        ("ann", 0, 5.0),
        ("bob", 1, 2.0),
    ]
    db.register("r", ratings, columns=["who", "what", "stars"])
    back = db.sql("SELECT who, what, stars FROM r").to_array()
    assert list(back.labels[0]) == ["ann", "bob"]
    np.testing.assert_array_equal(back.todense(), [[5.0, 0.0], [0.0, 2.0]])


def test_an_assignment_is_seen_by_the_next_call(db):
    array = rp.asarray([1.0, 2.0, 3.0])
    total = "SELECT sum(a.value * b.value) FROM x a JOIN x b ON a.i0 = b.i0"
    for claim in ("cost", "always"):
        db.execute(f"SET redpoll.claim = '{claim}'")
        for value in (1.0, 10.0):
            array[0] = value
            stored = pa.table(array)["value"].to_pylist()
            assert db.sql(total, x=array).item() == sum(x * x for x in stored)


def test_a_frame_of_pandas_may_change_between_calls(db):
    db.execute("SET redpoll.claim = 'always'")
    frame = pd.DataFrame({"k": np.array([1, 2, 3]), "v": np.array([1.0, 2.0, 3.0])})
    query = "SELECT sum(a.v * b.v) FROM f a JOIN f b ON a.k = b.k"
    assert db.sql(query, f=frame).item() == 14.0
    frame.loc[0, "v"] = 10.0
    assert db.sql(query, f=frame).item() == 113.0
    db.register("f", frame)
    frame.loc[0, "v"] = 0.0
    assert db.sql(query).item() == 113.0


def test_results_as_tables_of_every_library(rng):
    table = random_table(rng, 50, keys=5)
    result = rp.sql("SELECT * FROM table_", table_=table)
    assert result.columns == table.column_names and len(result) == 50 and result.shape == (50, 7)
    assert result.to_arrow().to_pylist() == table.to_pylist()
    assert result.to_polars().equals(pl.DataFrame(pa.table(result)))
    assert list(result.to_pandas().columns) == table.column_names
    assert duckdb.sql("SELECT count(*) FROM result").fetchall() == [(50,)]
    assert list(result) == result.fetchall() == [tuple(row.values()) for row in table.to_pylist()]
    empty = rp.sql("SELECT 1 AS a, 'x' AS b WHERE false")
    assert (len(empty), empty.columns, empty.fetchall(), pa.table(empty).num_rows) == (0, ["a", "b"], [], 0)


def test_results_as_arrays(db):
    rows = "SELECT * FROM (VALUES (2, 0, 1.5), (0, 1, 2.5)) AS t(i, j, v)"
    np.testing.assert_array_equal(db.sql(rows).to_array().todense(), [[0, 2.5], [0, 0], [1.5, 0]])
    array = db.sql(rows).to_array(["j", "i"], "v", shape=(2, 4), fill_value=-1, format="csr")
    assert (array.shape, array.fill_value, array[1, 3].item()) == ((2, 4), -1.0, -1.0)
    assert db.sql(rows).to_array(["i"]).tolist() == [True, False, True]
    assert db.sql("SELECT i, j, 2 AS v FROM (VALUES (2, 0)) AS t(i, j)").to_array(values="i").shape == (1, 3)
    with pytest.raises(KeyError, match="no column 'x'"):
        db.sql(rows).to_array(["x"], "v")
    with pytest.raises(ValueError, match="repeats"):
        db.sql("SELECT 1, 2 UNION ALL SELECT 1, 3").to_array()


def test_values_as_objects_of_python():
    def one(text):
        return rp.sql(f"SELECT {text} AS v").item()

    assert one("NULL") is None
    assert one("true") is True
    assert one("arrow_cast(200, 'UInt8')") == 200
    assert one("1.25::DECIMAL(6,3)") == decimal.Decimal("1.250")
    assert one("CAST('2026-11-28' AS DATE)") == datetime.date(2026, 11, 28)
    assert one("CAST('1931-11-28 01:02:03.25' AS TIMESTAMP)") == datetime.datetime(1931, 11, 28, 1, 2, 3, 250000)
    zoned = one("arrow_cast('2026-06-01T10:00:00Z', 'Timestamp(Microsecond, Some(\"Europe/Paris\"))')")
    assert (zoned.hour, zoned.utcoffset()) == (12, datetime.timedelta(hours=2))
    offset = one("arrow_cast('2026-06-01T10:00:00Z', 'Timestamp(Second, Some(\"+05:30\"))')")
    assert (offset.hour, offset.minute) == (15, 30)
    assert one("CAST('10:11:12.5' AS TIME)") == datetime.time(10, 11, 12, 500000)
    assert one("arrow_cast(-1500, 'Duration(Millisecond)')") == datetime.timedelta(seconds=-1.5)
    assert one("[1, NULL, 3]") == [1, None, 3]
    assert one("arrow_cast('x', 'Dictionary(Int32, Utf8)')") == "x"
    assert one("arrow_cast('x', 'Binary')") == b"x"
    assert one("named_struct('a', 1, 'b', [true])") == {"a": 1, "b": [True]}
    with pytest.raises(TypeError, match="have no objects in Python"):
        one("INTERVAL '1 month'")


def test_variables_of_the_caller():
    frame = pd.DataFrame({"k": [1, 2]})
    Other = pl.DataFrame({"k": [2, 3]})
    number = 3  # noqa: F841

    def inner():
        matrix = sp.eye_array(3, format="csr")  # noqa: F841
        return rp.sql("SELECT sum(value) FROM matrix").item()

    assert inner() == 3.0
    assert rp.sql("SELECT k FROM frame JOIN other USING (k)").fetchall() == [(2,)]
    assert rp.sql('SELECT count(*) FROM "Other"').item() == 2
    assert rp.sql("SELECT count(*) FROM f", f=frame).item() == 2
    assert rp.Database().sql("SELECT count(*) FROM frame").item() == 2
    assert rp.Database().explain("SELECT * FROM frame").sections[0].title == "logical_plan"
    for call in (
        lambda: rp.sql("SELECT * FROM frame", variables=False),
        lambda: rp.Database(variables=False).sql("SELECT * FROM frame"),
        lambda: rp.sql("SELECT * FROM number"),
        lambda: rp.sql("SELECT * FROM sp"),
    ):
        with pytest.raises(rp.SqlNameError, match="not found.*register it"):
            call()
    assert Other.height == 2


def test_registered_tables_hide_variables_and_arguments_hide_both():
    t = pa.table({"k": [0]})  # noqa: F841
    db = rp.Database()
    assert db.sql("SELECT k FROM t").item() == 0
    db.register("t", pa.table({"k": [1]}))
    assert db.sql("SELECT k FROM t").item() == 1
    assert db.sql("SELECT k FROM T", T=pa.table({"k": [2]})).item() == 2
    assert db.sql("WITH t AS (SELECT 3 AS k) SELECT k FROM t").item() == 3
    assert db.sql("SELECT k FROM t").item() == 1


def test_statements(db, tmp_path):
    source = pa.table({"k": [1, 2, 2]})
    statements = "CREATE TABLE t AS SELECT * FROM source; INSERT INTO t VALUES (5); SELECT sum(k) FROM t"
    assert db.sql(statements, source=source).item() == 10 and db.tables() == ["t"]
    assert db.sql("CREATE VIEW v AS SELECT k, count(*) AS n FROM t GROUP BY k").shape == (0, 0)
    assert db.sql("SELECT n FROM v WHERE k = 2").item() == 2
    db.execute(f"COPY (SELECT k, k AS v FROM v) TO '{tmp_path}/rows.csv'")
    db.register("rows", tmp_path / "rows.csv")
    assert db.sql("SELECT sum(v) FROM rows").item() == 8
    assert db.sql(f"SELECT sum(r.k) FROM '{tmp_path}/rows.csv' r JOIN s ON r.k = s.k", s=source).item() == 5
    pd.DataFrame({"k": [7]}).to_csv(tmp_path / "rows.csv", index=False)
    assert db.sql(f"SELECT r.k FROM '{tmp_path}/rows.csv' r JOIN s ON r.k > s.k LIMIT 1", s=source).item() == 7
    assert db.tables() == ["rows", "t", "v"]
    source = None
    db.execute("CREATE TABLE source (k BIGINT); DROP TABLE source")
    db.drop("rows")
    with pytest.raises(rp.SqlNameError, match="no table `rows`; the tables are t, v"):
        db.drop("rows")
    db.close()
    with pytest.raises(rp.SqlError, match="closed"):
        db.sql("SELECT 1")


def test_tables_that_a_statement_creates_or_fills_are_not_looked_up(db, tmp_path):
    """Such a table belongs to the database, even if the call has a table of the same name."""
    source = pa.table({"k": [1]})
    db.execute("CREATE TABLE t (k BIGINT)", t=source)
    for statement in ("INSERT INTO t SELECT * FROM source", "CREATE TABLE u AS SELECT * FROM source"):
        assert db.sql(f"EXPLAIN {statement}", t=3, u=3, source=source).shape[0] > 0
    (tmp_path / "v.csv").write_text("k\n5\n")
    db.execute(f"CREATE EXTERNAL TABLE v STORED AS CSV LOCATION '{tmp_path}/v.csv'", v=source)
    assert db.sql("SELECT k FROM v").item() == 5 and db.tables() == ["t", "v"]


def test_files(db, tmp_path):
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(pa.table({"k": [1, 2]}), tmp_path / "t.parquet")
    rp.eye(3).write(tmp_path / "m.mtx")
    db.register("t", str(tmp_path / "t.parquet"))
    db.register("m", tmp_path / "m.mtx")
    assert db.sql("SELECT count(*) FROM m JOIN t ON m.i0 = t.k").item() == 2
    with pytest.raises(FileNotFoundError, match="there is no file"):
        db.register("x", tmp_path / "missing.csv")
    with pytest.raises(FileNotFoundError):
        db.sql("SELECT * FROM 'missing.csv'")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises((rp.SqlError, OSError)):
        db.register("bad", tmp_path / "bad.parquet")
        db.sql("SELECT * FROM bad")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT k FROM t GROUP", rp.SqlSyntaxError, "Expected: end of statement"),
        ("SELEC 1", rp.SqlSyntaxError, "Line: 1, Column: 1"),
        ("SELECT x FROM t", rp.SqlNameError, "No field named x"),
        ("SELECT * FROM missing", rp.SqlNameError, "table 'missing' not found"),
        ("SELECT missing(k) FROM t", rp.SqlNameError, "missing"),
        ("SELECT k + [s] FROM t", rp.SqlError, "^Cannot coerce"),
        ("SELECT CAST(s AS INT) FROM t", rp.SqlError, "Cannot cast string 'a'"),
        ("SELECT k / 0 FROM t", rp.SqlError, "[Dd]ivide by zero"),
        ("", ValueError, "expected a statement"),
    ],
)
def test_errors(text, error, message, db):
    db.register("t", pa.table({"k": [1], "s": ["a"]}))
    with pytest.raises(error, match=message) as raised:
        db.sql(text)
    assert ".rs" not in str(raised.value)
    assert db.sql("SELECT k FROM t").item() == 1


def test_objects_that_are_no_tables(db):
    for value in (3, object(), None, {"k": [1]}, np.array(["a"]), pl.Series([1])):
        with pytest.raises((TypeError, ValueError, rp.SqlError)):
            db.register("t", value)
    assert db.tables() == []


def test_memory_limit():
    db = rp.Database(session=rp.Session(memory_limit=1 << 20))
    with pytest.raises(MemoryError):
        db.sql("SELECT value, count(*) FROM generate_series(1, 1000000) GROUP BY value ORDER BY 1")
    assert db.sql("SELECT 1").item() == 1


@rp.op
def capped(x, y):
    """Return the smaller value, but at most 10."""
    return min(x, y, 10)


def test_functions_of_python(db):
    table = pa.table(
        {
            "x": pa.array([1.0, None, 30.0, 12.0]),
            "y": pa.array([2.0, 5.0, 20.0, None]),
            "n": pa.array([1, 2, 300, None], pa.int16()),
        }
    )
    expected = [(1.0,), (None,), (10.0,), (None,)]
    assert rp.sql("SELECT capped(x, y) FROM table_", table_=table).fetchall() == expected
    assert db.sql("SELECT capped(x, y) FROM t", t=table, capped=capped).fetchall() == expected
    with pytest.raises(rp.SqlNameError, match="capped"):
        db.sql("SELECT capped(x, y) FROM t", t=table)
    db.register_function(capped)
    assert db.sql("SELECT capped(x, n), capped(1, 2), capped(NULL, 2) FROM t", t=table).fetchall() == [
        (1.0, 1, None), (None, 1, None), (10.0, 1, None), (None, 1, None)
    ]  # fmt: skip
    db.register_function(lambda b: not b, name="negated")
    assert db.sql("SELECT negated(x > 5) FROM t", t=table).fetchall() == [(True,), (None,), (False,), (False,)]
    db.register("big", pa.table({"v": np.arange(100_000)}))
    assert db.sql("SELECT sum(capped(v, 1000)), count(*) FROM big WHERE capped(v, 7) = 7").fetchall()[0][1] == 99_993
    with pytest.raises(rp.SqlError, match="takes numbers and booleans, argument 1 is"):
        db.sql("SELECT negated('x')")
    with pytest.raises(rp.FunctionError, match="3 arguments"):
        db.sql("SELECT capped(1, 2, 3)")


def test_functions_of_python_in_claimed_joins(db):
    db.execute("SET redpoll.claim = 'always'")
    db.register_function(capped)
    t = pa.table({"k": [1, 2, 2], "x": [3.0, 30.0, 5.0]})
    query = "SELECT sum(capped(a.x, 9.0) * b.x) FROM t a JOIN t b ON a.k = b.k"
    assert "Redpoll: " in db.explain(query, t=t)
    for _ in range(2):
        assert db.sql(query, t=t).item() == 3 * 3 + (9 + 5) * 35


def test_semirings(db):
    roads = pa.table({"a": [0, 0, 1, 2], "b": [1, 2, 3, 3], "w": [4.0, 2.0, 7.0, 5.0]})
    query = "SELECT y.b, {}(x.w, y.w) FROM roads x JOIN roads y ON x.b = y.a GROUP BY y.b"

    @rp.op(commutative=True, associative=True, distributes_over="max")
    def narrower(x, y):
        return min(x, y)

    db.register_semiring("wide", sum="max", product="min")
    db.register_semiring("short", sum="min", product="+")
    for claim in ("cost", "always"):
        db.execute(f"SET redpoll.claim = '{claim}'")
        assert db.sql(query.format("wide"), roads=roads).fetchall() == [(3, 4.0)]
        assert db.sql(query.format("short"), roads=roads).fetchall() == [(3, 7.0)]
    assert "Redpoll: groups=[y.b], aggregates=[max of min(x.w, y.w)]" in db.explain(query.format("wide"), roads=roads)
    db.register_semiring("mine", sum="max", product=narrower)
    assert db.sql(query.format("mine"), roads=roads).fetchall() == [(3, 4.0)]
    with pytest.raises(rp.SqlError, match="idempotent"):
        db.register_semiring("x", sum="+", product="*")
    with pytest.raises(rp.SqlError, match="does not distribute over"):
        db.register_semiring("x", sum="min", product=narrower)
    with pytest.raises(TypeError, match="'float64' or 'int64'"):
        db.register_semiring("x", sum="max", product="min", dtype="int8")


def test_views_of_results():
    result = rp.sql("SELECT value AS n, 'a<b' AS text FROM generate_series(1, 12)")
    lines = repr(result).splitlines()
    assert (lines[0], lines[1], lines[-2], lines[-1]) == ("n   text", "1   a<b", "..  ..", "[12 rows, 2 columns]")
    assert result._repr_html_().count("<tr>") == 12 and "a&lt;b" in result._repr_html_()
    assert repr(rp.sql("SELECT 1 AS one")) == "one\n1\n[1 row, 1 column]"
    assert repr(rp.sql("SET redpoll.claim = 'cost'")) == "<redpoll.QueryResult without columns>"
    db = rp.Database()
    db.register("t", rp.eye(2))
    assert repr(db) == "<redpoll.Database of 1 table>"


def test_explanations(db):
    db.register("e", rp.sample("karate"))
    db.execute("SET redpoll.claim = 'always'")
    plan = db.explain("SELECT count(*) FROM e a JOIN e b ON a.i1 = b.i0")
    assert [section.title for section in plan.sections] == ["logical_plan", "physical_plan"]
    measured = db.explain("SELECT count(*) FROM e a JOIN e b ON a.i1 = b.i0", analyze=True)
    assert "output_rows" in measured
    unclaimed = db.explain("SELECT a.i0, count(*) FROM e a LEFT JOIN e b ON a.i1 < b.i0 GROUP BY a.i0")
    assert unclaimed.sections[-1].title == "not claimed by redpoll" and "outer join" in unclaimed.sections[-1].text
    with pytest.raises(ValueError, match="expected one statement to explain, found 2"):
        db.explain("SELECT 1; SELECT 2")


ENDLESS = (
    "SELECT sum(a.value * b.value % 7) FROM generate_series(1, 100000000) a "
    "JOIN generate_series(1, 1000000) b ON a.value % 3 <> b.value"
)


def test_ctrl_c_ends_a_query(db):
    stop = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        db.sql(ENDLESS)
    stop.join()
    assert db.sql("SELECT 1").item() == 1


def test_an_interrupt_leaves_other_threads_alone(db):
    table = pa.table({"k": np.arange(300_000) % 1000, "v": np.ones(300_000)})
    query = "SELECT count(*) FROM t a JOIN t b ON a.k = b.k"
    expected, found = db.sql(query, t=table).item(), []

    def work():
        found.extend(db.sql(query, t=table).item() for _ in range(4))

    thread = threading.Thread(target=work)
    stop = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    thread.start()
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        db.sql(ENDLESS)
    thread.join()
    assert found == [expected] * 4


def test_threads_have_their_own_tables(db):
    errors = []

    def work(number):
        table = pa.table({"v": [number] * 100})
        for _ in range(30):
            if db.sql("SELECT sum(v) FROM t", t=table).item() != 100 * number:
                errors.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_the_lock_of_the_interpreter_is_free_during_a_query(db):
    running, count = threading.Event(), 0
    running.set()

    def work():
        nonlocal count
        while running.is_set():
            count += 1
            time.sleep(0)

    thread = threading.Thread(target=work)
    thread.start()
    db.sql("SELECT sum(a.value % 7) FROM generate_series(1, 3000) a, generate_series(1, 1000) b")
    running.clear()
    thread.join()
    assert count > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no `fork`")
def test_a_forked_process_has_threads_of_its_own():
    code = "import os, redpoll as rp; a = rp.sql('SELECT 1').item(); pid = os.fork()\n"
    code += "if pid == 0: os._exit(rp.sql('SELECT 7').item())\n"
    code += "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "7", done.stderr


def test_current_database_follows_the_session():
    rp.current_database().register("only_here", rp.eye(2))
    with rp.use_session(rp.Session(floats="strict")):
        assert "only_here" not in rp.current_database().tables()
        assert rp.current_database() is rp.current_database()
    assert rp.sql("SELECT count(*) FROM only_here").item() == 2
    rp.current_database().drop("only_here")


def test_examples_of_the_methods():
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    for cls in (rp.Database, rp.QueryResult):
        for name, value in vars(cls).items():
            if name.startswith("_"):
                continue
            text = value.__doc__
            assert text and text.strip(), name
            examples = doctest.DocTestParser().get_doctest(text, {"rp": rp, "np": np}, name, None, 0)
            failures = []
            runner = doctest.DocTestRunner(optionflags=flags)
            runner.run(examples, out=failures.append)
            assert not runner.failures, "".join(failures)
