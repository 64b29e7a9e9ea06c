//! `redpoll sql` and the REPL from the user's side: rows, formats, files, messages, exit codes.
//!
//! These tests need the feature `sql` of the package, which `cargo test --workspace` enables and
//! plain `cargo test` does not.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// A finished run of the binary.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

/// A temporary folder in which the binary runs, with its own home folder.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { dir: TempDir::new().unwrap() };
        place.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n2 1 2\n2 3 -1\n");
        place
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
    fn sql(&self, args: &[&str]) -> Ran {
        ran(self.command().arg("sql").args(args).output().unwrap())
    }

    /// Runs `redpoll` with the given lines on standard input.
    fn repl(&self, lines: &[&str]) -> Ran {
        let mut command = self.command();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        lines.iter().for_each(|line| writeln!(input, "{line}").unwrap());
        drop(input);
        ran(child.wait_with_output().unwrap())
    }
}

fn ran(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl Ran {
    /// Returns the output of a run, which must succeed.
    fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// Asserts that the run failed with all `parts` in its message.
    fn failed(&self, parts: &[&str]) {
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

/// The example of the README runs and is claimed: the triangles of a graph.
#[test]
fn the_triangles_of_a_real_graph_are_counted() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/data/karate.mtx");
    let table = format!("e={}", data.display());
    let sql = "SELECT count(*) / 6 AS triangles FROM e a, e b, e c WHERE a.i1 = b.i0 AND b.i1 = c.i0 AND c.i1 = a.i0";
    let place = Place::new();
    let out = place.sql(&[sql, "--table", &table, "--format", "csv"]).ok();
    assert_eq!(out, "triangles\n45\n");
    let explained = place.sql(&[&format!("EXPLAIN {sql}"), "--table", &table]).ok();
    contains_all(&explained, &["RedpollExec", "tensor a(", "count(*)"]);
}

/// A file of every kind is written by one statement and read as a table by another.
#[test]
fn every_kind_of_file_is_a_table() {
    let place = Place::new();
    for kind in ["mtx", "tns", "npz", "csv", "parquet", "arrow"] {
        let file = format!("t.{kind}");
        let copy = format!(
            "COPY (SELECT * FROM (VALUES (0, 0, 1.5), (1, 0, 2.0), (1, 2, -1.0)) AS v(i0, i1, value)) TO '{file}'"
        );
        place.sql(&[&copy]).ok();
        let sql = "SELECT i0, count(*) AS n, sum(value) AS total FROM t GROUP BY i0 ORDER BY i0";
        let out = place.sql(&[sql, "--table", &format!("t={file}"), "--format", "csv"]).ok();
        assert_eq!(out, "i0,n,total\n0,1,1.5\n1,2,1.0\n", "{kind}");
    }
}

/// Rows are printed in each of the three formats, also if there are none.
#[test]
fn rows_are_printed_as_asked_for() {
    let place = Place::new();
    let print = |sql: &str, format: &str| place.sql(&[sql, "--table", "a=a.mtx", "--format", format]).ok();
    let sql = "SELECT i0, value FROM a WHERE i1 = 0 ORDER BY i0";
    assert_eq!(print(sql, "csv"), "i0,value\n0,1.5\n1,2.0\n");
    assert_eq!(print(sql, "json"), "{\"i0\":0,\"value\":1.5}\n{\"i0\":1,\"value\":2.0}\n");
    let table = "+----+-------+\n| i0 | value |\n+----+-------+\n| 0  | 1.5   |\n| 1  | 2.0   |\n+----+-------+\n";
    assert_eq!(print(sql, "table"), table);
    let none = "SELECT i0 FROM a WHERE i0 > 7";
    assert_eq!(print(none, "csv"), "i0\n");
    assert_eq!(print(none, "json"), "");
    contains_all(&print(none, "table"), &["i0"]);
    let ran = place.sql(&["SELECT 1", "--format", "xml"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    contains_all(&ran.err, &["xml", "table, csv, json"]);
}

/// Expressions with thousands of parts do not overflow the stack of a thread.
#[test]
fn long_expressions_are_answered() {
    let place = Place::new();
    // On a stack of 2 MB, about 400 of these parts overflow in a test build, and 3000 in a release
    // build.
    let many = |part: &str, by: &str| vec![part; 600].join(by);
    let joined = "SELECT count(*) AS n FROM a JOIN a b ON a.i0 = b.i0 WHERE ";
    for (text, expected) in [
        (format!("SELECT count(*) AS n FROM a WHERE {}", many("i0 + i1 <> 7", " AND ")), "3"),
        (format!("SELECT count(*) AS n FROM a WHERE {}", many("i0 + i1 = 2", " OR ")), "0"),
        (format!("SELECT {} AS n", many("1", "+")), "600"),
        (format!("SELECT sum(i0 + {}) AS n FROM a", many("i1", " + ")), "1202"),
        (format!("{joined}{}", many("a.i0 + b.i1 <> 9", " AND ")), "5"),
    ] {
        let out = place.sql(&[&text, "--table", "a=a.mtx", "--format", "csv"]).ok();
        assert_eq!(out, format!("n\n{expected}\n"));
    }
}

/// Damaged files give an error that names the file.
#[test]
fn damaged_files_are_errors() {
    let place = Place::new();
    let path = |name: &str| place.dir.path().join(name);
    for kind in ["arrow", "parquet"] {
        let whole = format!("whole.{kind}");
        let rows = "SELECT value AS i, CAST(value % 7 AS VARCHAR) AS s, value / 3.0 AS v FROM generate_series(1, 500)";
        place.sql(&[&format!("COPY ({rows}) TO '{whole}'")]).ok();
        let bytes = fs::read(path(&whole)).unwrap();
        let broken = format!("broken.{kind}");
        let table = format!("t={broken}");
        let mut damages: Vec<Vec<u8>> =
            [0, 5, bytes.len() / 2, bytes.len() - 1].iter().map(|&end| bytes[..end].to_vec()).collect();
        for k in 0..24 {
            let mut damaged = bytes.clone();
            // The end has the footer, the start has the first blocks.
            let at = if k % 2 == 0 { bytes.len() - 1 - k * 11 } else { k * 37 };
            let end = (at + 6).min(damaged.len());
            damaged[at..end].fill(if k % 3 == 0 { 0xff } else { 0x7f });
            damages.push(damaged);
        }
        for (k, damaged) in damages.into_iter().enumerate() {
            fs::write(path(&broken), damaged).unwrap();
            let ran = place.sql(&["SELECT count(s), sum(v), max(i) FROM t", "--table", &table]);
            // Damage that no reader detects is accepted.
            assert!(matches!(ran.code, Some(0 | 1)), "{kind} {k}: {:?} {}", ran.code, ran.err);
            assert!(!ran.err.contains("panicked"), "{kind} {k}: {}", ran.err);
            assert!(ran.code == Some(0) || ran.err.contains("error"), "{kind} {k}: {}", ran.err);
        }
    }
}

/// Columns of files are found regardless of case.
#[test]
fn columns_of_files_are_found_whatever_their_case() {
    let place = Place::new();
    place.write("r.csv", "UserId,Movie Name,rating\n1,a,3\n2,b,4\n");
    let sql = "SELECT UserId, sum(Rating) AS total FROM r GROUP BY userid ORDER BY UserId";
    let out = place.sql(&[sql, "--table", "r=r.csv", "--format", "csv"]).ok();
    assert_eq!(out, "UserId,total\n1,3\n2,4\n");
}

/// Statements with side effects are not repeated.
#[test]
fn what_changes_something_is_not_repeated() {
    let place = Place::new();
    let text = "CREATE TABLE t AS VALUES (1), (2); INSERT INTO t VALUES (3); SELECT count(*) AS n FROM t; DROP TABLE t";
    let ran = place.sql(&[text, "--format", "csv", "--repeat", "3"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "count\n1\nn\n3\n"), "{}", ran.err);
    assert_eq!(ran.err.matches("(median of 3)").count(), 1, "{}", ran.err);
}

/// Repeated statements report their times, cold and warm.
#[test]
fn repeated_statements_tell_their_times() {
    let place = Place::new();
    let ran = place.sql(&["SELECT count(*) FROM a", "--table", "a=a.mtx", "--format", "csv", "--repeat", "3"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "count(*)\n3\n"));
    contains_all(&ran.err, &["1 row in ", ", warm ", "(median of 3)"]);
    let once = place.sql(&["SELECT count(*) FROM a", "--table", "a=a.mtx"]);
    assert_eq!(once.err, "");
}

/// Queries use the requested number of threads, and 0 threads are an error.
#[test]
fn threads_are_as_many_as_asked_for() {
    let place = Place::new();
    let sql = "SELECT value FROM information_schema.df_settings WHERE name = 'datafusion.execution.target_partitions'";
    let ran = place.sql(&[sql, "--format", "csv", "--threads", "3"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "value\n3\n"), "{}", ran.err);
    let joined = "SELECT count(*) FROM a JOIN a b ON a.i0 = b.i0";
    for threads in ["1", "2"] {
        let ran = place.sql(&[joined, "--table", "a=a.mtx", "--format", "csv", "--threads", threads]);
        assert_eq!(ran.out, "count(*)\n5\n", "{}", ran.err);
    }
    let ran = place.sql(&[sql, "--threads", "0"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}

/// Quotients in SQL are those of DataFusion in both float modes.
#[test]
fn quotients_are_those_of_sql_in_both_float_modes() {
    let place = Place::new();
    let sql = "SELECT sum(a.value * b.value), sum(a.value) / (count(*) - 5), 0e0 / 0e0 FROM a JOIN a b ON a.i0 = b.i0";
    for mode in [&["--strict"][..], &[]] {
        let args = [&[sql, "--table", "a=a.mtx", "--format", "csv"][..], mode].concat();
        let ran = place.sql(&args);
        assert!(ran.out.lines().nth(1).is_some_and(|row| row.ends_with(",inf,NaN")), "{}{}", ran.out, ran.err);
    }
}

/// The statements of a file run in order.
#[test]
fn statements_of_a_file_run_one_after_the_other() {
    let place = Place::new();
    place.write(
        "q.sql",
        "-- a comment; with a semicolon\nCREATE TABLE t AS SELECT i0, i1 FROM a;\n\nSELECT count(*) AS n\n  FROM t;\n\
         SELECT 'a;b' AS s;",
    );
    let out = place.sql(&["-f", "q.sql", "--table", "a=a.mtx", "--format", "csv"]).ok();
    assert_eq!(out, "n\n3\ns\na;b\n");
    place.write("wrong.sql", "SELECT 1 AS one;\n\n-- the second;\nSELECT nonsense\n  FROM a;\nSELECT 2;");
    let wrong = place.sql(&["-f", "wrong.sql", "--table", "a=a.mtx"]);
    wrong.failed(&["statement 2 on line 4", "`SELECT nonsense FROM a`", "nonsense"]);
    contains_all(&wrong.out, &["one"]);
    place.write("unreadable.sql", "SELECT 1;\nSELECT 1 +;\nSELECT 2;");
    place.sql(&["-f", "unreadable.sql"]).failed(&["statement 2 on line 2", "`SELECT 1 +`", "sql parser error"]);
    place.sql(&["-f", "missing.sql"]).failed(&["missing.sql", "No such file", "hint:"]);
    let both = place.sql(&["SELECT 1", "-f", "q.sql"]);
    assert_eq!(both.code, Some(2));
    let neither = place.sql(&[]);
    assert_eq!(neither.code, Some(2));
}

/// Errors say what is wrong, where, and what to do next.
#[test]
fn errors_say_what_where_and_what_next() {
    let place = Place::new();
    place.write("broken.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.5\n");
    place.write("t.xyz", "neither a tensor nor a table");
    let table = ["--table", "a=a.mtx"];
    let on = |sql: &str| place.sql(&[&[sql], &table[..]].concat());
    on("SELECT 1 FROM a WHERE ) 2").failed(&["sql parser error", "Line: 1, Column:", "hint:"]);
    on("SELECT * FROM b").failed(&["'datafusion.public.b' not found", "hint:", "--table NAME=FILE", "SHOW TABLES"]);
    on("SELECT j FROM a").failed(&["No field named j", "Valid fields are", "a.i0"]);
    on("SELECT i0 + 'x' FROM a").failed(&["x", "hint:"]);
    on("SELECT date_part(i0) FROM a").failed(&["date_part", "hint:"]);
    on("SELECT sum(i0) FROM a WHERE value = TRUE AND i0 LIKE 3").failed(&["hint:"]);
    on("SELECT 1 / 0").failed(&["Divide by zero"]);
    let wrong = on("SELECT sum(i0 || 'a') FROM a");
    wrong.failed(&["Function 'sum' failed to match any signature", "Candidate functions:", "hint:", "arrow_typeof"]);
    assert!(!wrong.err.contains("bug") && !wrong.err.contains("Internal"), "{}", wrong.err);
    place.sql(&["SELECT 1", "--table", "t=none.mtx"]).failed(&["`t`", "none.mtx", "hint:"]);
    place.sql(&["SELECT 1", "--table", "t=broken.mtx"]).failed(&["broken.mtx:3"]);
    place.sql(&["SELECT 1", "--table", "t=t.xyz"]).failed(&["t.xyz"]);
    let usage = place.sql(&["SELECT 1", "--table", "a.mtx"]);
    assert_eq!(usage.code, Some(2));
    contains_all(&usage.err, &["a.mtx", "NAME=FILE"]);
}

/// Wrong declarations of tensors are errors that list valid ones.
#[test]
fn declarations_are_checked() {
    let place = Place::new();
    let declare = |options: &str| {
        place.sql(&[&format!("CREATE EXTERNAL TABLE m STORED AS MTX LOCATION 'a.mtx' OPTIONS ({options})")])
    };
    declare("colums 'i, j'").failed(&["`m`", "unknown option `colums`", "`columns`, `storage` and `fill`"]);
    declare("columns 'i'").failed(&["`m`", "2 modes", "found 1"]);
    declare("columns 'i, i'").failed(&["`i` occurs twice"]);
    declare("storage 'csx'").failed(&["'csx'", "2 modes"]);
    declare("fill 'x'").failed(&["'x'", "f64"]);
    let columns = "CREATE EXTERNAL TABLE m (i VARCHAR, j BIGINT, v DOUBLE) STORED AS MTX LOCATION 'a.mtx'";
    place.sql(&[columns]).failed(&["`i`", "Int64"]);
    place.sql(&["CREATE EXTERNAL TABLE m STORED AS NPZ LOCATION 'none.npz'"]).failed(&["none.npz"]);
    place.sql(&["COPY (SELECT 1 AS i, 2.0 AS v) TO 'x.mtx' OPTIONS (sheep '3')"]).failed(&["sheep", "`shape`"]);
    assert!(!place.dir.path().join("x.mtx").exists(), "half-written");
}

/// The REPL runs statements over several lines and commands, and continues after errors.
#[test]
fn the_repl_outlives_its_errors() {
    let place = Place::new();
    place.write("q.sql", "SELECT 7 AS seven;");
    let ran = place.repl(&[
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
    let out = ran.out;
    assert_eq!(ran.code, Some(0), "{out}{}", ran.err);
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
    contains_all(&out, &["datafusion,public,a,BASE TABLE"]);
    assert!(!out.contains("nine"), "{out}");
    contains_all(
        &ran.err,
        &["nonsense", "sql parser error", "none.mtx", "unknown command `.sheep`", "`.help`", "none.sql"],
    );
    contains_all(&ran.err, &["1 row in "]);
    // One line for each of: the counted rows, the two statements of a line, the tables, the file
    // and the text. None after `.timer off`.
    assert_eq!(ran.err.lines().filter(|line| line.contains(" row") && line.contains(" in ")).count(), 6, "{}", ran.err);
}

/// Ctrl-C interrupts statements that never yield, and the session continues.
#[cfg(unix)]
#[test]
fn interrupted_statements_end_and_the_session_goes_on() {
    let place = Place::new();
    let mut command = place.command();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let errors = child.stderr.take().unwrap();
    writeln!(input, "SELECT 41 AS before;").unwrap();
    let mut lines = BufReader::new(output).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("41")), "from its first statement on, the program hears signals");
    writeln!(
        input,
        "SELECT count(*) FROM generate_series(1, 300000) a(x) JOIN generate_series(1, 300000) b(y) ON x % 2 = y % 2;"
    )
    .unwrap();
    let (told, cancelled) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        for line in BufReader::new(errors).lines().map(Result::unwrap) {
            if line.contains("cancelled") {
                told.send(()).unwrap();
            }
            text.push_str(&line);
        }
        text
    });
    // The test cannot observe whether the statement has started.
    let mut tries = 0..600;
    while cancelled.recv_timeout(Duration::from_millis(100)).is_err() {
        assert!(tries.next().is_some(), "a minute of interruptions is not heard");
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
    assert!(child.wait().unwrap().success());
    assert!(!reader.join().unwrap().contains("panicked"));
}

/// The last statement of standard input runs without a semicolon, and the history is in the home
/// folder.
#[test]
fn the_end_of_the_input_ends_the_statement() {
    let place = Place::new();
    let out = place.repl(&[".mode csv", "SELECT 1 AS one;", "SELECT 2 AS two"]).ok();
    contains_all(&out, &["one\n1\n", "two\n2\n"]);
    let history = fs::read_to_string(place.dir.path().join("state/redpoll/history")).unwrap();
    contains_all(&history, &["SELECT 1 AS one;"]);
}

/// Statements and tables beyond the memory limit are errors.
#[test]
fn tables_and_statements_take_no_more_than_the_limit() {
    let place = Place::new();
    let entries: String = (1..=30_000).map(|k| format!("{k} {} 1.5\n", k % 1000 + 1)).collect();
    place.write("big.mtx", &format!("%%MatrixMarket matrix coordinate real general\n30000 1000 30000\n{entries}"));
    let query = "SELECT count(*) FROM m";
    let ran = place.sql(&[query, "--table", "m=big.mtx", "--memory-limit", "300k"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    contains_all(&ran.err, &["would take", "307200"]);
    assert_eq!(place.sql(&[query, "--table", "m=big.mtx", "--memory-limit", "64M"]).code, Some(0));
    let sort = "SELECT value FROM generate_series(1, 3000000) ORDER BY value % 1000, value LIMIT 2000000";
    let ran = place.sql(&[sort, "--memory-limit", "1M"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    contains_all(&ran.err, &["Resources exhausted"]);
}

/// Byte order marks before statements are skipped.
#[test]
fn a_byte_order_mark_before_statements_is_skipped() {
    let place = Place::new();
    place.write("marked.sql", "\u{feff}SELECT 1 AS one;");
    assert_eq!(place.sql(&["-f", "marked.sql", "--format", "csv"]).out, "one\n1\n");
}
