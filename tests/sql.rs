//! Tests of `redpoll sql` and the REPL as users see them: rows, formats, files, messages, exit
//! codes.
//!
//! These tests need the feature `sql` of the package, which `cargo test --workspace` enables and
//! plain `cargo test` does not.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};
use tempfile::TempDir;

/// A finished run of the binary.
struct CommandOutput {
    code: Option<i32>,
    out: String,
    err: String,
}

/// A temporary folder in which the binary runs; `XDG_STATE_HOME` is a subfolder.
struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    fn new() -> Sandbox {
        let sandbox = Sandbox { dir: TempDir::new().unwrap() };
        sandbox.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n2 1 2\n2 3 -1\n");
        sandbox
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command.current_dir(self.dir.path()).env("XDG_STATE_HOME", self.dir.path().join("state")).env("TERM", "dumb");
        command
    }

    /// Runs `redpoll sql` with the given arguments.
    fn sql(&self, args: &[&str]) -> CommandOutput {
        decode_output(self.command().arg("sql").args(args).output().unwrap())
    }

    /// Runs `redpoll` with the given lines on standard input.
    fn repl(&self, lines: &[&str]) -> CommandOutput {
        self.repl_with(&[], lines)
    }

    /// Runs `redpoll` with the given arguments, and with the given lines on standard input.
    fn repl_with(&self, args: &[&str], lines: &[&str]) -> CommandOutput {
        let mut command = self.command();
        let mut child =
            command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        lines.iter().for_each(|line| writeln!(input, "{line}").unwrap());
        drop(input);
        decode_output(child.wait_with_output().unwrap())
    }
}

fn decode_output(output: Output) -> CommandOutput {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl CommandOutput {
    /// Returns the output of a run, which must succeed.
    fn expect_success(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// Asserts that the run failed with all `parts` in its message.
    fn expect_failure(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(1), "{}{}", self.out, self.err);
        for part in parts {
            assert!(self.err.contains(part), "no `{part}` in\n{}", self.err);
        }
    }
}

fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

/// The query of the README that counts the triangles of a graph is claimed by redpoll.
#[test]
fn triangles_of_a_real_graph_are_counted() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/data/karate.mtx");
    let table = format!("e={}", data.display());
    let sql = "SELECT count(*) / 6 AS triangles FROM e a, e b, e c WHERE a.i1 = b.i0 AND b.i1 = c.i0 AND c.i1 = a.i0";
    let sandbox = Sandbox::new();
    let out = sandbox.sql(&[sql, "--table", &table, "--format", "csv"]).expect_success();
    assert_eq!(out, "triangles\n45\n");
    let explained = sandbox.sql(&[&format!("EXPLAIN {sql}"), "--table", &table]).expect_success();
    contains_all(&explained, &["RedpollExec", "tensor a(", "count(*)"]);
}

/// For each of the eight kinds of files that `COPY` writes, one statement writes a file, and
/// another statement reads the file as a table.
#[test]
fn every_kind_of_file_is_a_table() {
    let sandbox = Sandbox::new();
    for kind in ["rpt", "mtx", "tns", "npz", "csv", "json", "parquet", "arrow"] {
        let file = format!("t.{kind}");
        let copy = format!(
            "COPY (SELECT * FROM (VALUES (0, 0, 1.5), (1, 0, 2.0), (1, 2, -1.0)) AS v(i0, i1, value)) TO '{file}'"
        );
        sandbox.sql(&[&copy]).expect_success();
        let sql = "SELECT i0, count(*) AS n, sum(value) AS total FROM t GROUP BY i0 ORDER BY i0";
        let out = sandbox.sql(&[sql, "--table", &format!("t={file}"), "--format", "csv"]).expect_success();
        assert_eq!(out, "i0,n,total\n0,1,1.5\n1,2,1.0\n", "{kind}");
    }
}

/// Rows are printed in each of the three formats, even if there are no rows.
#[test]
fn rows_are_printed_in_the_requested_format() {
    let sandbox = Sandbox::new();
    let print =
        |sql: &str, format: &str| sandbox.sql(&[sql, "--table", "a=a.mtx", "--format", format]).expect_success();
    let sql = "SELECT i0, value FROM a WHERE i1 = 0 ORDER BY i0";
    assert_eq!(print(sql, "csv"), "i0,value\n0,1.5\n1,2.0\n");
    assert_eq!(print(sql, "json"), "{\"i0\":0,\"value\":1.5}\n{\"i0\":1,\"value\":2.0}\n");
    let table = "+----+-------+\n| i0 | value |\n+----+-------+\n| 0  | 1.5   |\n| 1  | 2.0   |\n+----+-------+\n";
    assert_eq!(print(sql, "table"), table);
    let none = "SELECT i0 FROM a WHERE i0 > 7";
    assert_eq!(print(none, "csv"), "i0\n");
    assert_eq!(print(none, "json"), "");
    contains_all(&print(none, "table"), &["i0"]);
    let result = sandbox.sql(&["SELECT 1", "--format", "xml"]);
    assert_eq!(result.code, Some(2), "{}", result.err);
    contains_all(&result.err, &["xml", "table, csv, json"]);
}

/// Expressions with hundreds of parts do not overflow the stack of a thread.
#[test]
fn long_expressions_do_not_overflow_the_stack() {
    let sandbox = Sandbox::new();
    // On a stack of 2 MB, about 400 of these parts overflow in a test build, and 3000 in a release
    // build.
    let join_parts = |part: &str, by: &str| vec![part; 600].join(by);
    let joined = "SELECT count(*) AS n FROM a JOIN a b ON a.i0 = b.i0 WHERE ";
    for (text, expected) in [
        (format!("SELECT count(*) AS n FROM a WHERE {}", join_parts("i0 + i1 <> 7", " AND ")), "3"),
        (format!("SELECT count(*) AS n FROM a WHERE {}", join_parts("i0 + i1 = 2", " OR ")), "0"),
        (format!("SELECT {} AS n", join_parts("1", "+")), "600"),
        (format!("SELECT sum(i0 + {}) AS n FROM a", join_parts("i1", " + ")), "1202"),
        (format!("{joined}{}", join_parts("a.i0 + b.i1 <> 9", " AND ")), "5"),
    ] {
        let out = sandbox.sql(&[&text, "--table", "a=a.mtx", "--format", "csv"]).expect_success();
        assert_eq!(out, format!("n\n{expected}\n"));
    }
}

/// Damaged files give an error or, if the reader does not detect the damage, rows. No reader
/// panics.
#[test]
fn damaged_files_are_errors() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.dir.path().join(name);
    for kind in ["arrow", "parquet"] {
        let intact = format!("whole.{kind}");
        let rows = "SELECT value AS i, CAST(value % 7 AS VARCHAR) AS s, value / 3.0 AS v FROM generate_series(1, 500)";
        sandbox.sql(&[&format!("COPY ({rows}) TO '{intact}'")]).expect_success();
        let bytes = fs::read(path(&intact)).unwrap();
        let broken = format!("broken.{kind}");
        let table = format!("t={broken}");
        let mut damages: Vec<Vec<u8>> =
            [0, 5, bytes.len() / 2, bytes.len() - 1].iter().map(|&end| bytes[..end].to_vec()).collect();
        for k in 0..24 {
            let mut damaged = bytes.clone();
            // The end of the file has the footer, and the start has the first blocks.
            let at = if k % 2 == 0 { bytes.len() - 1 - k * 11 } else { k * 37 };
            let end = (at + 6).min(damaged.len());
            damaged[at..end].fill(if k % 3 == 0 { 0xff } else { 0x7f });
            damages.push(damaged);
        }
        for (k, damaged) in damages.into_iter().enumerate() {
            fs::write(path(&broken), damaged).unwrap();
            let result = sandbox.sql(&["SELECT count(s), sum(v), max(i) FROM t", "--table", &table]);
            // Damage that no reader detects is accepted.
            assert!(matches!(result.code, Some(0 | 1)), "{kind} {k}: {:?} {}", result.code, result.err);
            assert!(!result.err.contains("panicked"), "{kind} {k}: {}", result.err);
            assert!(result.code == Some(0) || result.err.contains("error"), "{kind} {k}: {}", result.err);
        }
    }
}

/// Columns of files are found regardless of case.
#[test]
fn columns_of_files_are_case_insensitive() {
    let sandbox = Sandbox::new();
    sandbox.write("r.csv", "UserId,Movie Name,rating\n1,a,3\n2,b,4\n");
    let sql = "SELECT UserId, sum(Rating) AS total FROM r GROUP BY userid ORDER BY UserId";
    let out = sandbox.sql(&[sql, "--table", "r=r.csv", "--format", "csv"]).expect_success();
    assert_eq!(out, "UserId,total\n1,3\n2,4\n");
}

/// Statements with side effects are not repeated.
#[test]
fn statements_with_side_effects_are_not_repeated() {
    let sandbox = Sandbox::new();
    let text = "CREATE TABLE t AS VALUES (1), (2); INSERT INTO t VALUES (3); SELECT count(*) AS n FROM t; DROP TABLE t";
    let result = sandbox.sql(&[text, "--format", "csv", "--repeat", "3"]);
    assert_eq!((result.code, result.out.as_str()), (Some(0), "count\n1\nn\n3\n"), "{}", result.err);
    assert_eq!(result.err.matches("(median of 3)").count(), 1, "{}", result.err);
}

/// Repeated statements report their times, cold and warm.
#[test]
fn repeated_statements_report_their_times() {
    let sandbox = Sandbox::new();
    let result = sandbox.sql(&["SELECT count(*) FROM a", "--table", "a=a.mtx", "--format", "csv", "--repeat", "3"]);
    assert_eq!((result.code, result.out.as_str()), (Some(0), "count(*)\n3\n"));
    contains_all(&result.err, &["1 row in ", ", warm ", "(median of 3)"]);
    let once = sandbox.sql(&["SELECT count(*) FROM a", "--table", "a=a.mtx"]);
    assert_eq!(once.err, "");
}

/// Queries use the requested number of threads, and 0 threads are an error.
#[test]
fn queries_use_the_requested_number_of_threads() {
    let sandbox = Sandbox::new();
    let sql = "SELECT value FROM information_schema.df_settings WHERE name = 'datafusion.execution.target_partitions'";
    let result = sandbox.sql(&[sql, "--format", "csv", "--threads", "3"]);
    assert_eq!((result.code, result.out.as_str()), (Some(0), "value\n3\n"), "{}", result.err);
    let joined = "SELECT count(*) FROM a JOIN a b ON a.i0 = b.i0";
    for threads in ["1", "2"] {
        let result = sandbox.sql(&[joined, "--table", "a=a.mtx", "--format", "csv", "--threads", threads]);
        assert_eq!(result.out, "count(*)\n5\n", "{}", result.err);
    }
    let result = sandbox.sql(&[sql, "--threads", "0"]);
    assert_eq!(result.code, Some(2), "{}", result.err);
}

/// Quotients in SQL have the values that DataFusion gives, in both float modes.
#[test]
fn quotients_are_those_of_sql_in_both_float_modes() {
    let sandbox = Sandbox::new();
    let sql = "SELECT sum(a.value * b.value), sum(a.value) / (count(*) - 5), 0e0 / 0e0 FROM a JOIN a b ON a.i0 = b.i0";
    for mode in [&["--strict"][..], &[]] {
        let args = [&[sql, "--table", "a=a.mtx", "--format", "csv"][..], mode].concat();
        let result = sandbox.sql(&args);
        assert!(result.out.lines().nth(1).is_some_and(|row| row.ends_with(",inf,NaN")), "{}{}", result.out, result.err);
    }
}

/// The statements of a file run in order.
#[test]
fn statements_of_a_file_run_in_order() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "q.sql",
        "-- a comment; with a semicolon\nCREATE TABLE t AS SELECT i0, i1 FROM a;\n\nSELECT count(*) AS n\n  FROM t;\n\
         SELECT 'a;b' AS s;",
    );
    let out = sandbox.sql(&["-f", "q.sql", "--table", "a=a.mtx", "--format", "csv"]).expect_success();
    assert_eq!(out, "n\n3\ns\na;b\n");
    sandbox.write("wrong.sql", "SELECT 1 AS one;\n\n-- the second;\nSELECT nonsense\n  FROM a;\nSELECT 2;");
    let failed = sandbox.sql(&["-f", "wrong.sql", "--table", "a=a.mtx"]);
    failed.expect_failure(&["statement 2 on line 4", "`SELECT nonsense FROM a`", "nonsense"]);
    contains_all(&failed.out, &["one"]);
    sandbox.write("unreadable.sql", "SELECT 1;\nSELECT 1 +;\nSELECT 2;");
    sandbox.sql(&["-f", "unreadable.sql"]).expect_failure(&[
        "statement 2 on line 2",
        "`SELECT 1 +`",
        "sql parser error",
    ]);
    sandbox.sql(&["-f", "missing.sql"]).expect_failure(&["missing.sql", "No such file", "hint:"]);
    let both = sandbox.sql(&["SELECT 1", "-f", "q.sql"]);
    assert_eq!(both.code, Some(2));
}

/// Without statements, `redpoll sql` starts a session with the tables and the format of the
/// options. Options that name a table twice are an error.
#[test]
fn sessions_have_options() {
    let sandbox = Sandbox::new();
    let out = sandbox
        .repl_with(&["sql", "--table", "a=a.mtx", "--format", "csv"], &["FROM a;", "SELECT count(*) AS n FROM a;"]);
    contains_all(&out.expect_success(), &["i0,i1,value\n", "n\n3\n"]);
    let twice = sandbox.sql(&["SELECT 1", "--table", "a=a.mtx", "--table", "a=a.mtx"]);
    assert_eq!(twice.code, Some(2));
    contains_all(&twice.err, &["--table names `a` twice"]);
}

/// A `FROM` alone reads all columns.
#[test]
fn queries_may_begin_with_from() {
    let sandbox = Sandbox::new();
    sandbox.write("t.csv", "name,n\na,1\nb,2\n");
    sandbox.write("empty.csv", "");
    let rows = |sql: &str| sandbox.sql(&[sql, "--format", "csv"]);
    assert_eq!(rows("FROM 't.csv'").expect_success(), "name,n\na,1\nb,2\n");
    assert_eq!(rows("FROM 't.csv' SELECT n").expect_success(), "n\n1\n2\n");
    assert_eq!(rows("SELECT sum(n) AS s FROM (FROM 't.csv')").expect_success(), "s\n3\n");
    rows("FROM 'empty.csv'").expect_failure(&["empty.csv", "no columns"]);
    // The first line gives the shape, in the form that redpoll writes.
    sandbox.write("shaped.csv", "# dims 3 4\ni,j,value\n0,1,2.5\n2,3,1\n");
    assert_eq!(rows("FROM 'shaped.csv'").expect_success(), "i,j,value\n0,1,2.5\n2,3,1.0\n");
    let failed = sandbox.sql(&["FROM tt", "--table", "t=t.csv"]);
    failed.expect_failure(&["table 'tt' not found; did you mean `t`?", "hint:"]);
}

/// Errors say what is wrong, where, and what to do next.
#[test]
fn errors_name_the_cause_and_the_next_step() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.5\n");
    sandbox.write("t.xyz", "neither a tensor nor a table");
    let table = ["--table", "a=a.mtx"];
    let on = |sql: &str| sandbox.sql(&[&[sql], &table[..]].concat());
    on("SELECT 1 FROM a WHERE ) 2").expect_failure(&["sql parser error", "Line: 1, Column:", "hint:"]);
    on("SELECT * FROM b").expect_failure(&["table 'b' not found", "hint:", "--table NAME=FILE", "SHOW TABLES"]);
    on("SELECT j FROM a").expect_failure(&["No field named j", "Valid fields are", "a.i0"]);
    on("SELECT i0 FROM a WHERE i0 = \"Zürich\"")
        .expect_failure(&["hint: `DESCRIBE NAME` shows", "single quotes: 'Zürich'"]);
    on("SELECT i0 FROM a WHERE i0 = \"bread\"").expect_failure(&["No field named bread", "single quotes: 'bread'"]);
    let misspelled = on("SELECT valu FROM a");
    misspelled.expect_failure(&["Did you mean 'a.value'?", "hint: `DESCRIBE NAME` shows"]);
    assert!(!misspelled.err.contains("single quotes"), "{}", misspelled.err);
    on("COPY (SELECT i0 % 2 AS k, value FROM a) TO 'b.mtx' STORED AS MTX").expect_failure(&[
        "1 row repeats the coordinates (k) of an earlier row, the first at [1]",
        "`SELECT k, sum(value) .. GROUP BY k`",
    ]);
    on("SELECT i0 + 'x' FROM a").expect_failure(&["x", "hint:"]);
    on("SELECT date_part(i0) FROM a").expect_failure(&["date_part", "hint:"]);
    sandbox.write("short.csv", "a,b\n1,2\n3\n");
    on("FROM 'short.csv'").expect_failure(&["line 3", "as many fields"]);
    on("FROM short.csv").expect_failure(&["hint: the name of a file is in quotes: FROM 'short.csv'"]);
    on("SELECT sum(i0) FROM a WHERE value = TRUE AND i0 LIKE 3").expect_failure(&["hint:"]);
    on("SELECT 1 / 0").expect_failure(&["Divide by zero"]);
    let failed = on("SELECT sum(i0 || 'a') FROM a");
    failed.expect_failure(&[
        "Function 'sum' failed to match any signature",
        "Candidate functions:",
        "hint:",
        "arrow_typeof",
    ]);
    assert!(!failed.err.contains("bug") && !failed.err.contains("Internal"), "{}", failed.err);
    sandbox.sql(&["SELECT 1", "--table", "t=none.mtx"]).expect_failure(&["`t`", "none.mtx", "hint:"]);
    sandbox.sql(&["SELECT 1", "--table", "t=broken.mtx"]).expect_failure(&["broken.mtx:3"]);
    let unknown = sandbox.sql(&["SELECT 1", "--table", "t=t.xyz"]);
    unknown.expect_failure(&[
        "the format of t.xyz is unknown",
        ".csv, ",
        ".parquet, ",
        ".mtx, ",
        "`read_csv('t.xyz')`",
    ]);
    let usage = sandbox.sql(&["SELECT 1", "--table", "a.mtx"]);
    assert_eq!(usage.code, Some(2));
    contains_all(&usage.err, &["a.mtx", "NAME=FILE"]);
}

/// Columns without `AS` are named by their SQL, and all columns of a result have different names.
#[test]
fn columns_without_names_are_named_by_their_sql() {
    let sandbox = Sandbox::new();
    sandbox.write("t.csv", "a,b\n1,2\n");
    for (sql, header) in [
        ("SELECT count(*) * 2 FROM 't.csv'", "count(*) * 2"),
        ("SELECT 1, 1", "1,1_1"),
        ("SELECT a, b, a FROM 't.csv'", "a,b,a_1"),
        ("SELECT a + 1 FROM 't.csv' GROUP BY a + 1 ORDER BY a + 1", "a + 1"),
        ("SELECT * FROM (SELECT b, b FROM 't.csv')", "b,b_1"),
    ] {
        let out = sandbox.sql(&[sql, "--format", "csv"]).expect_success();
        assert_eq!(out.lines().next(), Some(header), "{sql}");
    }
}

/// Common mistakes in first statements give an error whose message or hint names the next step.
#[test]
fn first_mistakes_have_a_next_step() {
    let sandbox = Sandbox::new();
    sandbox.write("t.csv", "id,name\n1,ann\n2,bob\n");
    for (sql, parts) in [
        ("SELECT * FORM t", &["Line: 1, Column: 10", "hint: did you mean `FROM` in place of `FORM`?"][..]),
        ("FROM 't.csv' WHERE id = 1", &["Line: 1, Column: 14", "hint: a query that begins with `FROM`"]),
        (".tables", &["hint: `.tables` is a command of sessions"]),
        (
            "SELECT * FROM 't.csv' a JOIN 't.csv' b ON a.name = b.id",
            &["'ann'", "the text a.name with the number b.id", "`a.name = CAST(b.id AS VARCHAR)`"],
        ),
        ("SELECT * FROM 't.csv' WHERE id = 'ann'", &["compares the text 'ann' with the number \"t.csv\".id"]),
        (
            "SELECT * FROM (SELECT DATE '2024-01-31' AS day) t WHERE day > 2011",
            &["`t.day > 2011` compares the date t.day with the number 2011", "`extract(year FROM t.day) > 2011`"],
        ),
        ("SELECT 1990 BETWEEN DATE '2024-01-31' AND NULL", &["`1990 BETWEEN extract(year FROM CAST('2024-01-31' AS"]),
        ("SELECT count(*) FROM 't.csv' t JOIN (SELECT DATE '2024-01-31' AS x) u ON u.x = t.id", &["number t.id"]),
        ("SELECT 1 WHERE TIME '10:00:00' > 9", &["extract(hour FROM CAST('10:00:00' AS TIME"]),
        (
            "SELECT 1 WHERE TIMESTAMP '2024-01-31 12:00:00' IN (2023, 2024)",
            &["IN (2023, 2024)` compares the timestamp"],
        ),
        ("SELECT 1 WHERE DATE '2024-01-31' NOT IN (SELECT id FROM 't.csv')", &["NOT IN (SELECT \"t.csv\".id ..)`"]),
        ("SELECT id FROM 't.csv' a, 't.csv' b", &["mbiguous", "as in `t.id`"]),
        ("SELECT t.id, id FROM 't.csv' t", &["columns 1 and 2 of a selection have the same name; write `AS name`"]),
        ("SELECT strftime(now(), '%Y')", &["Invalid function 'strftime'; write `to_char(t, "]),
        ("SELECT * FROM 't.csv' PIVOT (sum(id) FOR name IN ('ann'))", &["Unsupported ast node Pivot\n"]),
        (
            "SELECT name, count(*) FROM 't.csv'",
            &["column `name` of SELECT must be in GROUP BY or within an aggregate; write `GROUP BY name`"],
        ),
        (
            "SELECT (SELECT count(*) FROM 't.csv' b WHERE b.id > a.id) FROM 't.csv' a",
            &["this correlated subquery cannot be run", "a join with a grouped subquery"],
        ),
        (
            "SELECT name IN (SELECT name FROM 't.csv' b) FROM 't.csv' a",
            &["this subquery of IN or EXISTS cannot be run", "condition of WHERE"],
        ),
        (
            "SELECT * FROM 't.csv' a WHERE name IN (SELECT name FROM (SELECT 1 AS one) b)",
            &["selects a.name of the outer query, and no column of its own tables"],
        ),
        (
            "CREATE TABLE boat AS SELECT 1 AS id; CREATE TABLE trip AS SELECT 1 AS boat; \
             SELECT (SELECT count(*) FROM trip WHERE trip.boat = boat.id) FROM boat",
            &["`boat.id` in a subquery", "`FROM boat AS outer_boat`"],
        ),
        ("SELECT * FROM read_cvs('t.csv')", &["unknown table function `read_cvs`", "did you mean `read_csv`?"]),
        ("SELECT cont(*) FROM 't.csv'", &["Invalid function 'cont'; did you mean `cot`, `count`"]),
        ("SELECT TOP 5 * FROM 't.csv'", &["hint: write `LIMIT N`"]),
        (
            "SELECT upper(name), count(*) FROM 't.csv' GROUP BY lower(name)",
            &["column `name` of SELECT must be in GROUP BY"],
        ),
        ("SELECT row_number() FROM 't.csv'", &["row_number needs a window: `row_number() OVER"]),
        ("SELECT * FROM 'http://example.com/t.csv'", &["no local file"]),
        ("SELECT * FROM 'none/of/these.csv'", &["there is no file none/of/these.csv", "there is no folder"]),
        ("SHOW DATABASES", &["hint: `SHOW TABLES`"]),
        ("DROP TABLE t", &["hint: `SHOW TABLES`"]),
        ("INSERT INTO 't.csv' VALUES (3, 'cid')", &["rows cannot be inserted into the file", "t.csv", "`COPY t TO"]),
    ] {
        sandbox.sql(&[sql]).expect_failure(parts);
    }
    for text in ["", ";", " ;; -- nothing\n;"] {
        assert_eq!(sandbox.sql(&[text]).expect_success(), "", "{text:?}");
    }
}

/// The files of declarations and of `COPY` are checked before a table is made or a file is written.
#[test]
fn files_of_declarations_and_copies_are_checked() {
    let sandbox = Sandbox::new();
    sandbox.write("t.csv", "id,name\n1,ann\n2,bob\n");
    let types = "expected ARROW, CSV, JSON, MTX, NPZ, PARQUET, RPT or TNS";
    for (sql, parts) in [
        ("CREATE EXTERNAL TABLE t STORED AS FOO LOCATION 't.csv'", &["unknown file type `FOO`", types][..]),
        ("CREATE EXTERNAL TABLE t STORED AS MXT LOCATION 'a.mtx'", &[types, "did you mean `MTX`?"]),
        ("CREATE EXTERNAL TABLE t STORED AS 'MTX' LOCATION 'a.mtx'", &["or TNS without quotes, found: 'MTX'"]),
        ("CREATE EXTERNAL TABLE t LOCATION 't.csv'", &["the file type is missing", "RPT or TNS"]),
        ("CREATE EXTERNAL TABLE t STORED AS CSV", &["hint: write `LOCATION 'FILE'`"]),
        (
            "CREATE EXTERNAL TABLE t (id INT) STORED AS CSV LOCATION 'x.csv'",
            &["table `t`: there is no file x.csv", "hint: did you mean `t.csv`?"],
        ),
        ("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 's3://b/t.csv'", &["s3://b/t.csv is no local file"]),
        ("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 't.csv'", &["the file t.csv cannot be read"]),
        ("CREATE EXTERNAL TABLE t STORED AS MTX LOCATION 't.csv'", &["t.csv"]),
        (
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 't.csv' OPTIONS (delim ';')",
            &["unknown option of CSV files `delim`", "delimiter"],
        ),
        ("COPY (SELECT 1 AS i) TO 'nodir/x.csv'", &["cannot write nodir/x.csv: there is no folder nodir"]),
        ("COPY (SELECT 1 AS i, 2 AS v) TO 'nodir/x.mtx'", &["there is no folder nodir"]),
        ("COPY (SELECT 1 AS i) TO 'x?.csv'", &["cannot write x?.csv", "patterns"]),
        ("COPY (SELECT 1 AS i) TO 'x.csv' STORED AS FOO", &["unknown file type `FOO`", types]),
        ("COPY (SELECT 1 AS i) TO 'x.foo'", &["its name has no extension of a file type", "RPT or TNS"]),
        ("COPY (SELECT 1 AS i) TO 'x.csv' OPTIONS (heder 'true')", &["unknown option of CSV files `heder`"]),
        ("COPY (SELECT 1 AS i) TO 'x.csv' (HEADER false)", &["hint: options are written as `OPTIONS"]),
    ] {
        sandbox.sql(&[sql]).expect_failure(parts);
    }
    let mut files: Vec<_> = fs::read_dir(sandbox.dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort_unstable();
    assert_eq!(files, ["a.mtx", "t.csv"]);
    // A target without an extension is a file, unless it ends with a slash, is an existing folder,
    // or an option asks for a folder.
    sandbox.sql(&["COPY (SELECT 1 AS i) TO 'out' STORED AS CSV"]).expect_success();
    assert_eq!(fs::read_to_string(sandbox.dir.path().join("out")).unwrap(), "i\n1\n");
    sandbox
        .sql(&["COPY (SELECT 1 AS i) TO 'p' STORED AS PARQUET OPTIONS (single_file_output 'false')"])
        .expect_success();
    for folder in ["p", "q/"] {
        sandbox.sql(&[&format!("COPY (SELECT 1 AS i) TO '{folder}' STORED AS PARQUET")]).expect_success();
        assert!(sandbox.dir.path().join(folder).is_dir(), "{folder}");
    }
    // The type decides the format, not the extension.
    sandbox.sql(&["COPY (SELECT 0 AS i, 1 AS j, 2.0 AS v) TO 'm.csv' STORED AS MTX"]).expect_success();
    assert!(fs::read_to_string(sandbox.dir.path().join("m.csv")).unwrap().starts_with("%%MatrixMarket"));
}

/// Wrong declarations of tensors, and wrong options of `COPY`, are errors that name the wrong part.
#[test]
fn declarations_are_checked() {
    let sandbox = Sandbox::new();
    let declare = |options: &str| {
        sandbox.sql(&[&format!("CREATE EXTERNAL TABLE m STORED AS MTX LOCATION 'a.mtx' OPTIONS ({options})")])
    };
    declare("colums 'i, j'").expect_failure(&["`m`", "unknown option `colums`", "`columns`, `storage` and `fill`"]);
    declare("columns 'i'").expect_failure(&["`m`", "2 column names", "found 1"]);
    declare("columns 'i, i'").expect_failure(&["`i` occurs twice"]);
    declare("storage 'csx'").expect_failure(&["'csx'", "2 modes"]);
    declare("fill 'x'").expect_failure(&["'x'", "f64"]);
    let columns = "CREATE EXTERNAL TABLE m (i VARCHAR, j BIGINT, v DOUBLE) STORED AS MTX LOCATION 'a.mtx'";
    sandbox.sql(&[columns]).expect_failure(&["`i`", "Int64"]);
    sandbox.sql(&["CREATE EXTERNAL TABLE m STORED AS NPZ LOCATION 'none.npz'"]).expect_failure(&["none.npz"]);
    sandbox
        .sql(&["COPY (SELECT 1 AS i, 2.0 AS v) TO 'x.mtx' OPTIONS (sheep '3')"])
        .expect_failure(&["sheep", "`shape`"]);
    assert!(!sandbox.dir.path().join("x.mtx").exists(), "the file is partially written");
}

/// The REPL runs commands, and statements of several lines, and continues after errors.
#[test]
fn the_repl_continues_after_errors() {
    let sandbox = Sandbox::new();
    sandbox.write("q.sql", "SELECT 7 AS seven;");
    let result = sandbox.repl(&[
        ".help",
        ".open a a.mtx",
        ".mode csv",
        "SELECT count(*) AS n",
        "  FROM a",
        "  WHERE i0 = 1;",
        "SELECT nonsense;",
        "SELEC 1;",
        ".open b none.mtx",
        ".sheep",
        "SELECT i0, sum(value) AS v FROM a GROUP BY i0 HAVING sum(value) > 1.2; SELECT 5 AS five;",
        ".tables",
        ".read q.sql",
        ".read none.sql",
        "SELECT 'a;",
        "b' AS ab; -- done",
        "-- only a comment;",
        ".timer off",
        "SELECT 3 AS three;",
        "quit",
        "SELECT 9 AS nine;",
    ]);
    let out = result.out;
    assert_eq!(result.code, Some(1), "{out}{}", result.err);
    contains_all(
        &out,
        &[
            "Statements end with `;`",
            "n\n2\n",
            "i0,v\n0,1.5\n",
            "five\n5\n",
            "seven\n7\n",
            "ab\n\"a;\nb\"\n",
            "three\n3\n",
        ],
    );
    contains_all(&out, &["public,a,BASE TABLE"]);
    assert!(!out.contains("nine"), "{out}");
    contains_all(
        &result.err,
        &["nonsense", "sql parser error", "none.mtx", "unknown command `.sheep`", "`.help`", "none.sql"],
    );
    contains_all(&result.err, &["1 row in "]);
    // Six statements report a time: the count, the two statements on one line, `.tables`, the
    // statement in `q.sql`, and the selection of a text. Statements after `.timer off` report none.
    assert_eq!(
        result.err.lines().filter(|line| line.contains(" row") && line.contains(" in ")).count(),
        6,
        "{}",
        result.err
    );
}

/// Statements read files by their names. Functions such as `read_csv` have options for the format
/// of the file.
#[test]
fn statements_name_files() {
    let sandbox = Sandbox::new();
    sandbox.write("people.csv", "id,name\n1,ann\n2,\n");
    sandbox.write("plain.dat", "7;x\n8;y\n# no row\n");
    sandbox.write("cities.json", "[{\"city\": \"Ulm\"}, {\"city\": \"Bonn\"}]");
    let rows = |sql: &str| sandbox.sql(&[sql, "--format", "csv"]).expect_success();
    assert_eq!(rows("SELECT p.id FROM 'people.csv' p WHERE name IS NULL"), "id\n2\n");
    assert_eq!(rows("SELECT count(*) AS n FROM \"people.csv\""), "n\n2\n");
    assert_eq!(rows("SELECT i0, value FROM 'a.mtx' WHERE i1 = 0 ORDER BY i0 LIMIT 1"), "i0,value\n0,1.5\n");
    let plain = "read_csv('plain.dat', header = false, delim = ';', comment => '#')";
    assert_eq!(rows(&format!("SELECT sum(column_1) AS s, count(*) AS n FROM {plain}")), "s,n\n15,2\n");
    assert_eq!(
        rows(&format!("SELECT a.column_2 AS v FROM {plain} AS a JOIN {plain} b ON a.column_1 + 1 = b.column_1")),
        "v\nx\n"
    );
    sandbox.write("semicolons.csv", "a;b\n1;x\n2;\n");
    assert_eq!(rows("SELECT sum(a) AS s FROM read_csv('semicolons.csv')"), "s\n3\n");
    let json = sandbox.sql(&["SELECT * FROM read_csv('semicolons.csv') ORDER BY a", "--format", "json"]);
    assert_eq!(json.expect_success(), "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n");
    assert_eq!(rows("SELECT read_json.city FROM read_json('cities.json') WHERE city > 'C'"), "city\nUlm\n");
    assert_eq!(rows("WITH t AS (SELECT * FROM 'people.csv') SELECT count(*) AS n FROM t"), "n\n2\n");
    // A file that a statement names does not become a table of the session.
    assert!(!rows("SELECT count(*) FROM 'people.csv'; SHOW TABLES").contains("people"));
    assert!(rows("DESCRIBE 'people.csv'").contains("name,Utf8"));
    assert!(rows("DESCRIBE read_csv('people.csv', header = false)").contains("column_2,Utf8"));
    for (sql, parts) in [
        ("SELECT * FROM 'none.csv'", &["there is no file none.csv"][..]),
        ("SELECT * FROM read_csv()", &["`read_csv` needs a file", "write `read_csv('FILE'"]),
        ("SELECT * FROM read_csv(people)", &["needs a file in quotes, found `people`"]),
        ("SELECT * FROM read_csv('people.csv', sheep = 1)", &["has no option `sheep = 1`", "header = true"]),
        ("SELECT * FROM read_csv('people.csv', header = 1)", &["`header` must be true or false, found `1`"]),
        ("SELECT * FROM read_csv('people.csv', delim = ';;')", &["`delim` must be one character"]),
        ("SELECT * FROM read_parquet('people.csv', header = true)", &["`read_parquet` has no option"]),
    ] {
        sandbox.sql(&[sql]).expect_failure(parts);
    }
    // A file that has changed is read again within a session.
    let mut lines = vec!["SELECT sum(id) AS s FROM 'people.csv';", ".mode csv"];
    lines.push(
        "COPY (SELECT 5 AS id UNION ALL SELECT 6) TO 'people.csv' STORED AS CSV OPTIONS ('format.has_header' 'true');",
    );
    lines.push("SELECT sum(id) AS s FROM 'people.csv';");
    assert!(sandbox.repl(&lines).expect_success().contains("s\n11\n"));
}

/// `SUMMARIZE` has a row for each column, in order, for tables, queries and files.
#[test]
fn summarize_describes_columns() {
    let sandbox = Sandbox::new();
    sandbox.write("t.csv", "k,name,w\n3,b,0.5\n1,,1.5\n3,a,\n");
    let expected = "column,type,min,max,mean,stddev,rows,nulls,distinct\n\
                    k,Int64,1,3,2.3333333333333335,1.1547005383792515,3,0,2\n\
                    name,Utf8,a,b,,,3,1,2\n\
                    w,Float64,0.5,1.5,1.0,0.7071067811865476,3,1,2\n";
    for source in ["t", "'t.csv'", "SELECT * FROM t", "(SELECT * FROM t)"] {
        let statement = format!("SUMMARIZE {source};");
        let out = sandbox.sql(&[&statement, "--table", "t=t.csv", "--format", "csv"]).expect_success();
        assert_eq!(out, expected, "{source}");
    }
    let nested = "SELECT 1 AS \"it's\", make_array(1, 2) AS \"a\"\"b\"";
    let out = sandbox.sql(&[&format!("summarize {nested}"), "--format", "csv"]).expect_success();
    assert!(out.contains("it's,Int64,1,1") && out.contains("\"a\"\"b\",List(Int64)"), "{out}");
    sandbox.sql(&["SUMMARIZE"]).expect_failure(&["needs a table or a query"]);
    sandbox.sql(&["SUMMARIZE none"]).expect_failure(&["none"]);
}

/// Commands show columns, and set the text of NULL and the number of printed rows; `EXPLAIN` says
/// why a query is not claimed.
#[test]
fn commands_of_the_repl() {
    let sandbox = Sandbox::new();
    let result = sandbox.repl(&[
        ".open a a.mtx",
        "\\d a",
        ".schema",
        "\\dt",
        "SELECT NULL AS x;",
        ".nullvalue none",
        "SELECT NULL AS y;",
        ".nullvalue",
        "SELECT NULL AS z;",
        ".maxrows 3",
        "SELECT value AS v FROM generate_series(101, 120) ORDER BY v;",
        ".maxrows 0",
        "SELECT value AS v FROM generate_series(201, 260) ORDER BY v;",
        "EXPLAIN SELECT count(*) FROM generate_series(1, 3) GROUP BY value;",
        "EXPLAIN SELECT b.i1 FROM a JOIN a b ON a.i0 = b.i0;",
        ".maxrows many",
        ".timer",
        ".tables a",
        ".schema none",
        ".help",
    ]);
    contains_all(
        &result.out,
        &[
            "| i0          | Int64     | NO          |",
            "| a          | value       | Float64   |",
            "| NULL |",
            "| none |",
            "|   |",
            "| 101 |\n| 102 |\n| ..  |\n| 120 |",
            "20 rows, 3 of them printed",
            "| 230 |",
            "show the columns of a table, or of all tables (also \\d)",
        ],
    );
    contains_all(
        &result.err,
        &[
            "not claimed by redpoll: the aggregate reads a single table",
            "not claimed by redpoll: redpoll runs aggregates (sums, counts, minima, ..) over joins",
            "write `.maxrows N`",
            "`.timer` needs arguments",
            "write `.timer on|off`",
            "invalid arguments `a` of `.tables`",
            "write `.tables`",
            "none",
        ],
    );
    // The note on the cut table names the number of rows, so the line with the time does not.
    assert!(result.err.contains("time: ") && !result.err.contains("20 rows in"), "{}", result.err);
    // Statements that have run are in the history.
    let history = fs::read_to_string(sandbox.dir.path().join("state/redpoll/history")).unwrap();
    assert!(history.contains("SELECT NULL AS x;"), "{history}");
}

/// Ctrl-C interrupts statements that never yield to the async runtime, and the session continues.
#[cfg(unix)]
#[test]
fn interrupted_statements_end_and_the_session_continues() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let errors = child.stderr.take().unwrap();
    writeln!(input, "SELECT 41 AS before;").unwrap();
    let mut lines = BufReader::new(output).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("41")), "the program handles signals after its first statement");
    writeln!(
        input,
        "SELECT count(*) FROM generate_series(1, 300000) a(x) JOIN generate_series(1, 300000) b(y) ON x % 2 = y % 2;"
    )
    .unwrap();
    let (cancelled_sender, cancelled) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        for line in BufReader::new(errors).lines().map(Result::unwrap) {
            if line.contains("cancelled") {
                cancelled_sender.send(()).unwrap();
            }
            text.push_str(&line);
        }
        text
    });
    // The test cannot observe when the statement starts, so it repeats the signal until the
    // statement is cancelled.
    let mut tries = 0..600;
    while cancelled.recv_timeout(Duration::from_millis(100)).is_err() {
        assert!(tries.next().is_some(), "the statement is not interrupted within a minute");
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    }
    writeln!(input, "SELECT 43 AS after;").unwrap();
    assert!(lines.any(|line| line.contains("43")));
    // Printing rows can be interrupted too.
    writeln!(input, ".mode csv\nSELECT 'row' AS r, value FROM generate_series(1, 5000000);").unwrap();
    assert!(lines.any(|line| line.starts_with("row,")));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    writeln!(input, "SELECT 'finished' AS last;").unwrap();
    let rest = lines.by_ref().take_while(|line| line != "finished").count();
    assert!(rest < 4_900_000, "{rest} rows were printed");
    cancelled.recv_timeout(Duration::from_secs(60)).unwrap();
    drop(input);
    // The interrupted statement has failed.
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(!reader.join().unwrap().contains("panicked"));
}

/// The last statement of standard input runs without a semicolon, and the history is in the folder
/// `XDG_STATE_HOME`.
#[test]
fn the_last_statement_needs_no_semicolon() {
    let sandbox = Sandbox::new();
    let out = sandbox.repl(&[".mode csv", "SELECT 1 AS one;", "SELECT 2 AS two"]).expect_success();
    contains_all(&out, &["one\n1\n", "two\n2\n"]);
    let history = fs::read_to_string(sandbox.dir.path().join("state/redpoll/history")).unwrap();
    contains_all(&history, &["SELECT 1 AS one;"]);
}

/// The failures of a script on standard input name the statement and its line.
#[test]
fn failures_on_standard_input_name_the_line() {
    let sandbox = Sandbox::new();
    let result = sandbox.repl(&[
        "-- a comment",
        ".mode csv",
        "SELECT 1 AS one; SELECT",
        "  nix;",
        "",
        "SELECT ) 1;",
        "SELECT 'never",
        "closed",
    ]);
    contains_all(
        &result.err,
        &[
            "statement 2 on line 3, `SELECT nix`: No field named nix",
            "statement 3 on line 6, `SELECT ) 1`: sql parser error",
            "at Line: 6, Column: 8",
            "at Line: 7, Column: 8",
        ],
    );
}

/// Statements and tables beyond the memory limit are errors.
#[test]
fn tables_and_statements_respect_the_memory_limit() {
    let sandbox = Sandbox::new();
    let entries: String = (1..=30_000).map(|k| format!("{k} {} 1.5\n", k % 1000 + 1)).collect();
    sandbox.write("big.mtx", &format!("%%MatrixMarket matrix coordinate real general\n30000 1000 30000\n{entries}"));
    let query = "SELECT count(*) FROM m";
    let result = sandbox.sql(&[query, "--table", "m=big.mtx", "--memory-limit", "300k"]);
    assert_eq!(result.code, Some(1), "{}{}", result.out, result.err);
    contains_all(&result.err, &["cannot allocate", "307200"]);
    assert_eq!(sandbox.sql(&[query, "--table", "m=big.mtx", "--memory-limit", "64M"]).code, Some(0));
    let sort = "SELECT value FROM generate_series(1, 3000000) ORDER BY value % 1000, value LIMIT 2000000";
    let result = sandbox.sql(&[sort, "--memory-limit", "1M"]);
    assert_eq!(result.code, Some(1), "{}", result.err);
    contains_all(&result.err, &["Resources exhausted"]);
}

/// Byte order marks before statements are skipped.
#[test]
fn byte_order_marks_before_statements_are_skipped() {
    let sandbox = Sandbox::new();
    sandbox.write("marked.sql", "\u{feff}SELECT 1 AS one;");
    assert_eq!(sandbox.sql(&["-f", "marked.sql", "--format", "csv"]).out, "one\n1\n");
}
