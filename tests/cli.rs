//! Tests of the binary as users run it: results, messages, exit codes, files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A finished run of the binary.
struct CommandOutput {
    code: Option<i32>,
    out: String,
    err: String,
}

/// A temporary folder with plans and data, in which the binary runs.
struct Sandbox {
    dir: TempDir,
}

const SUM: &str = "(plan (query s (aggregate + 0 (table A i j) i j)) (produces s))";
const SCALED: &str = "(plan (query C (mapjoin * 2 (table A i j))) (produces C))";
const MATRIX: &str = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n2 1 2\n2 3 -1\n";

impl Sandbox {
    fn new() -> Sandbox {
        let sandbox = Sandbox { dir: TempDir::new().unwrap() };
        sandbox.write("a.mtx", MATRIX).write("sum.rp", SUM).write("scaled.rp", SCALED);
        sandbox
    }

    fn write(&self, name: &str, text: &str) -> &Sandbox {
        fs::write(self.dir.path().join(name), text).unwrap();
        self
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn run(&self, args: &[&str]) -> CommandOutput {
        decode_output(
            Command::new(env!("CARGO_BIN_EXE_redpoll")).args(args).current_dir(self.dir.path()).output().unwrap(),
        )
    }

    /// Runs `redpoll` with a text on standard input.
    fn run_with_input(&self, args: &[&str], text: &str) -> CommandOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        decode_output(child.wait_with_output().unwrap())
    }
}

fn decode_output(output: Output) -> CommandOutput {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn json(result: &CommandOutput) -> serde_json::Value {
    assert_eq!(result.code, Some(0), "{}", result.err);
    serde_json::from_str(&result.out).unwrap()
}

/// The first example in the help of `redpoll run` works.
#[test]
fn triangles_of_a_real_graph_are_counted() {
    let (plan, data) = (repository("plans/triangles.rp"), repository("datasets/data/karate.mtx"));
    let bind = format!("E={}", data.display());
    let result = Sandbox::new().run(&["run", plan.to_str().unwrap(), "--bind", &bind, "--repeat", "2"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    for expected in ["triangles = 45", "(physical", "optimize", "compile", "cold", "warm"] {
        assert!(result.out.contains(expected), "no {expected} in\n{}", result.out);
    }
    assert_eq!(result.err, "");
}

/// The float modes of the command line give different quotients, and a note reports the difference.
#[test]
fn quotients_of_zeros_are_zero_unless_strict() {
    let sandbox = Sandbox::new();
    sandbox.write("q.rp", "(plan (query s (aggregate + 0 (mapjoin / (table A i j) (table A i j)) i j)) (produces s))");
    let result = sandbox.run(&["run", "q.rp", "--bind", "A=a.mtx:csr"]);
    assert!(result.out.contains("s = 3"), "{}", result.out);
    assert!(result.err.contains("(/ 0.0 0.0) is 0.0; in the strict mode (`--strict`) it is nan"), "{}", result.err);
    let result = sandbox.run(&["run", "q.rp", "--bind", "A=a.mtx:csr", "--strict"]);
    assert!(result.out.to_lowercase().contains("s = nan"), "{}", result.out);
    assert_eq!(result.err, "");
    let result = sandbox.run(&["explain", "q.rp", "--bind", "A=a.mtx:csr", "--strict"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
}

/// The format of a tensor does not change results.
#[test]
fn every_shorthand_gives_the_same_result() {
    let (plan, data) = (repository("plans/triangles.rp"), repository("datasets/data/karate.mtx"));
    for format in [
        "dense",
        "csr",
        "csc",
        "dcsr",
        "coo",
        "csf",
        "vbl",
        "band",
        "bcsr",
        "(bcsr 5 3)",
        "(hash (byte-map (pattern)))",
    ] {
        let bind = format!("E={}:{format}", data.display());
        let result = Sandbox::new().run(&["run", plan.to_str().unwrap(), "--bind", &bind, "--json"]);
        assert_eq!(json(&result)["outputs"]["triangles"]["sum"], 45.0, "{format}");
    }
}

/// Stored fill values count as stored but not as `nonfill`.
#[test]
fn stored_fill_values_are_counted_separately() {
    let sandbox = Sandbox::new();
    let write = "(for i (for j (if (gt (A i j) 0) (= (C i j) (- (A i j) 2)))))";
    let declared = "(input A (shape n m)) (output C (shape n m) f64 0.0 csr)";
    sandbox.write("p.rp", &format!("(program {declared} {write})"));
    let found = &json(&sandbox.run(&["run", "p.rp", "--bind", "A=a.mtx:csr", "--json"]))["outputs"]["C"];
    assert_eq!((&found["stored"], &found["nonfill"]), (&2.into(), &1.into()));
    let result = sandbox.run(&["run", "p.rp", "--bind", "A=a.mtx:csr"]);
    assert!(result.out.contains("1 value other than 0.0, 2 stored"), "{}", result.out);
}

/// The JSON object has outputs, seconds and memory.
#[test]
fn json_has_outputs_and_seconds() {
    let sandbox = Sandbox::new();
    let found = json(&sandbox.run(&["run", "scaled.rp", "--bind", "A=a.mtx", "--json", "--repeat", "3"]));
    let expected =
        serde_json::json!({"shape": [2, 3], "dtype": "f64", "fill": 0.0, "stored": 3, "nonfill": 3, "sum": 5.0});
    assert_eq!(found["outputs"]["C"], expected);
    for key in ["read", "optimize", "compile", "cold", "warm_best", "warm_median"] {
        assert!(found["seconds"][key].as_f64().is_some_and(|s| s > 0.0), "{key}: {}", found["seconds"]);
    }
    // Three values of 8 bytes and the arrays of their levels, in whole cache lines.
    assert!(found["held"].as_u64().is_some_and(|held| (64..4096).contains(&held)), "{}", found["held"]);
    let cold = json(&sandbox.run(&["run", "scaled.rp", "--bind", "A=a.mtx", "--json"]));
    assert!(cold["seconds"]["warm_best"].is_null());
}

/// Results are written to files, and later commands read these files.
#[test]
fn results_are_written_and_read_back() {
    let sandbox = Sandbox::new();
    for file in ["c.mtx", "c.npy", "c.npz", "c.tns.gz"] {
        let out = format!("C={file}");
        let result = sandbox.run(&["run", "scaled.rp", "--bind", "A=a.mtx", "--out", &out]);
        assert_eq!(result.code, Some(0), "{}", result.err);
        let back = json(&sandbox.run(&["run", "sum.rp", "--bind", &format!("A={file}"), "--json"]));
        assert_eq!(back["outputs"]["s"]["sum"], 5.0, "{file}");
    }
}

/// A result is stored in the format that `--out` names. A dense file of few entries has a note.
#[test]
fn results_are_written_in_a_format() {
    let sandbox = Sandbox::new();
    sandbox
        .write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n50 50 3\n1 1 1.5\n2 1 2\n2 3 -1\n")
        .write("dense.rp", "(plan (query C (reformat dense (mapjoin * 2 (table A i j)))) (produces C))");
    let write = |out: &str| {
        let result = sandbox.run(&["run", "dense.rp", "--bind", "A=wide.mtx", "--out", out]);
        assert_eq!(result.code, Some(0), "{}", result.err);
        result.err
    };
    let notes = write("C=c.npz");
    let expected = "c.npz: the result is dense, but only 3 of 2500 elements differ from the fill value 0.0; \
                    `--out C=c.npz:csr` stores only these";
    assert!(notes.contains(expected), "{notes}");
    let notes = write("C=c.npz:csr");
    assert!(!notes.contains("the result is dense"), "{notes}");
    let header = sandbox.run(&["info", "c.npz", "--header"]).out;
    assert!(header.contains("layout    csr") && header.contains("entries   3"), "{header}");
}

#[test]
fn values_are_printed() {
    let sandbox = Sandbox::new();
    let printed = |plan: &str| sandbox.run(&["run", plan, "--bind", "A=a.mtx", "--print"]).out;
    assert_eq!(printed("s = A(i,j)"), "s\n2.5\n");
    let both = printed("s = A(i,j); rows(i) = A(i,j)");
    assert!(both.starts_with("s\n2.5\n\nrows\n") && both.contains("fill 0.0"), "{both}");
}

/// Failures have messages and exit codes, and leave no files.
#[test]
fn failures_have_messages_and_exit_codes() {
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["run", "sum.rp"], 2, &["table `A` (2 fields)", "--bind A=FILE"]),
        (&["run", "none.rp"], 1, &["none.rp", "No such file"]),
        (&["run", "sum.rp", "--bind", "A=none.mtx"], 1, &["none.mtx", "No such file"]),
        (&["run", "sum.rp", "--bind", "A=cube.tns"], 1, &["`A`", "2 fields", "3 modes"]),
        (&["run", "sum.rp", "--bind", "A=cut.mtx"], 1, &["cut.mtx", "expected 3 entries", "found 1"]),
        (&["run", "sum.rp", "--bind", "A=out.mtx"], 1, &["out.mtx:3", "out of range"]),
        (&["run", "sum.rp", "--bind", "A=a.mtx:csrr"], 2, &["unknown format `csrr`", "csr", "redpoll formats"]),
        (&["run", "sum.rp", "--bind", "A=a.mtx:(dense (element))"], 2, &["1 modes", "the tensor has 2"]),
        (&["run", "sum.rp", "--bind", "A"], 2, &["NAME=FILE"]),
        (&["run", "sum.rp", "--bind", "A=a.mtx", "--bind", "A=a.mtx"], 2, &["error: `A` is bound twice"]),
        (&["run", "sum.rp", "--bind", "A=a.mtx", "--tier", "best"], 2, &["best", "possible values"]),
        (&["run", "sum.rp", "--bind", "A=a.mtx", "--engine", "tpu"], 2, &["tpu", "`cuda:N`"]),
        (
            &["run", "sum.rp", "--bind", "A=a.mtx", "--engine", "cuda", "--tier", "instant"],
            2,
            &["`--engine cpu`, not with `--engine cuda:0`"],
        ),
        (
            &["run", "sum.rp", "--bind", "A=a.mtx", "--engine", "cuda:15"],
            1,
            &["CUDA device 15 cannot be used", "run on the CPU"],
        ),
        (&["run", "sum.rp", "--bind", "A=a.mtx", "--engine", "cuda:99"], 1, &["a machine has at most 16 devices"]),
        (&["run", "sum.rp", "--bind", "A=a.mtx", "--threads", "0"], 2, &["--threads"]),
        (&["run", "sum.rp", "--bind", "A=a.mtx", "--out", "t=t.npy"], 2, &["does not produce `t`", "it produces s"]),
        (&["run", "scaled.rp", "--bind", "A=a.mtx", "--out", "C=c.xyz"], 2, &["c.xyz", ".mtx"]),
        (
            &["run", "scaled.rp", "--bind", "A=a.mtx", "--out", "C=c.npz:csrr"],
            2,
            &["--out C=c.npz:csrr: unknown format `csrr`; did you mean `csr`", "redpoll formats"],
        ),
        (
            &["run", "A(i,j)", "--bind", "A=a.mtx"],
            1,
            &["the plan: line 1, column 7: expected `=`, found the end of the text", "y(i) = A(i,j) * x(j)"],
        ),
        (&["run", "(plan (query s (table A i j)", "--bind", "A=a.mtx"], 1, &["line 1, column 7: `(` is not closed"]),
        (&["run", "a.mtx"], 1, &["a.mtx: the file has data, not a plan", "--bind A=a.mtx"]),
        (&["run", "sume.rp"], 1, &["sume.rp: No such file", "hint: did you mean `sum.rp`"]),
        (&["run", "sum.rp", "--bind", "A=a"], 1, &["a: No such file", "hint: did you mean `a.mtx`?"]),
        (
            &["run", "number.rp", "--bind", "A=a.mtx", "--bind", "b=2"],
            1,
            &["number.rp: line 1, column 41: the dtype of the number `b` must be written"],
        ),
        (&["explain", "y(i) = A(i,j)", "--size", "A=3"], 2, &["--size A", "these tables have `i`, `j`"]),
        (&["run", "scaled.rp", "--bind", "A=a.mtx", "--out", "C=no/c.mtx"], 1, &["no/c.mtx", "no folder no", "hint:"]),
        (&["run", ""], 2, &["the plan is empty", "y(i) = A(i,j) * x(j)"]),
        (&["run", "sum.rp", "--bind", "A=a.mtx", "--threads", "0"], 2, &["--threads", "at least 1"]),
        (&["generate", "uniform", "--shape", "10x10", "--density", "1", "--out", "u.mtx"], 2, &["--shape", "10,20"]),
        (&["explain", "y(i) = A(i,j)", "--format", "B=csr"], 2, &["--format B", "tables without a file: `A`"]),
        (&["explain", "y(i) = A(i,j)", "--size", "k=3"], 2, &["--size k", "these tables have `i`, `j`"]),
        (&["run", "op.rp", "--bind", "A=a.mtx"], 1, &["op.rp", "line 2, column", "unknown operator `mulx`"]),
        (&["run", "field.rp", "--bind", "A=a.mtx"], 1, &["field.rp", "line 1", "field `k`"]),
        (&["run", "open.rp", "--bind", "A=a.mtx"], 1, &["open.rp", "line 1"]),
        (
            &["run", "sizes.rp", "--bind", "A=a.mtx"],
            1,
            &["sizes.rp: line 1", "field `j` has size 3 in mode 1 of `A` but 2 in mode 0 of `A`"],
        ),
        // Impossible formats are reported before anything is compiled.
        (
            &["run", "sum.rp", "--bind", "A=a.mtx:(singleton (dense (element)))"],
            2,
            &["level 0 is a singleton", "non-unique"],
        ),
        (
            &["run", "sum.rp", "--bind", "A=a.mtx:(dense (sparse-list (pattern)))"],
            1,
            &["a pattern leaf requires dtype bool", "use an element leaf"],
        ),
        (
            &["run", "pattern.rp", "--bind", "A=a.mtx"],
            1,
            &["pattern.rp: line 1", "a pattern leaf requires dtype bool", "use an element leaf"],
        ),
        (
            &["run", "window.rp", "--bind", "A=a.mtx"],
            1,
            &["window.rp: line 2", "field `j` of size 3", "ranges over 1..=3", "a smaller window"],
        ),
        (&["run", "stride.rp", "--bind", "A=a.mtx"], 1, &["stride.rp: line 1", "index map", "stride 0"]),
        (
            &["run", "masks.rp", "--bind", "A=a.mtx"],
            1,
            &[
                "query `s`: no coordinates satisfy (mapjoin lt (coordinate i) (coordinate j)) and",
                "remove one of these masks",
            ],
        ),
        (
            &["run", "order.rp", "--bind", "A=a.mtx"],
            1,
            &["order.rp: line 2", "`y` is written out of order", "level 0 is a sparse-list level", "hash or byte-map"],
        ),
        (
            &["run", "again.rp", "--bind", "A=a.mtx"],
            1,
            &["again.rp: line 2", "`y` is written by a second statement", "appended to"],
        ),
        (&["explain", "sum.rp", "--format", "A=csr:coo"], 2, &["--format A=csr:coo", "redpoll formats"]),
        (&["explain", "sum.rp", "--without", "magic"], 2, &["magic", "elimination", "distribution"]),
        (&["explain", "sum.rp", "--bind", "A=a.mtx", "--output", "svg"], 2, &["svg", "text, dot, mermaid"]),
        (&["explain", "sum.rp", "--bind", "A=a.mtx", "--output", "dot", "--c"], 2, &["--c", "cannot be used"]),
        (&["explain", "sum.rp", "--bind", "A=a.mtx", "--html", "no/p.html"], 1, &["no/p.html", "No such file"]),
        (&["explain", "sum.rp", "--bind", "A=a.mtx", "--html", "p.html", "--kernel"], 2, &["--html", "cannot be used"]),
        (&["plot", "none.mtx"], 1, &["none.mtx", "No such file"]),
        (&["plot", "a.mtx", "--out", "p.gif"], 2, &["--out p.gif", ".png or .svg"]),
        (&["plot", "a.mtx", "--out", "no/p.svg"], 1, &["no/p.svg", "No such file"]),
        (&["plot", "a.mtx", "--modes", "0,2"], 1, &["no mode 2", "2 modes, counted from 0"]),
        (&["plot", "a.mtx", "--modes", "1,1"], 2, &["two different ones"]),
        (&["plot", "a.mtx", "--modes", "rows"], 2, &["--modes", "counted from 0", "such as 0,2"]),
        (&["plot", "a.mtx", "--modes", "0", "--kind", "runs"], 2, &["--modes does not apply to --kind runs"]),
        (&["plot", "a.mtx", "--size", "5"], 2, &["64..=4096"]),
        (&["plot", "a.mtx", "--kind", "pie"], 2, &["pie", "degrees"]),
        (&["info", "none.mtx"], 1, &["none.mtx"]),
        (
            &["run", "y(i) = A(i,j) * x(j)", "--bind", "A=a.mtx", "--bind", "x=3"],
            1,
            &["hint: `x(j)` needs a file; to bind a number, write the table without indices, as `x`"],
        ),
        (&["info", "sum.rp"], 1, &["unknown file format"]),
        (
            &["generate", "rmat", "--scale", "40", "--edges", "9", "--out", "g.mtx"],
            2,
            &["rmat: the scale is too large: 40"],
        ),
        (&["generate", "rmat", "--scale", "4", "--out", "g.mtx"], 2, &["--edges"]),
        (
            &["generate", "rmat", "--scale", "4", "--edges", "1e6", "--out", "g.mtx"],
            2,
            &["'1e6' for '--edges <N>': expected a whole number, such as 1000"],
        ),
        (&["generate", "rmat", "--scale", "4", "--edges", "9", "--out", "g.txt"], 2, &["--out g.txt", ".csv"]),
        (
            &["generate", "rmat", "--scale", "4", "--edges", "9", "--probabilities", "1,0", "--out", "g.mtx"],
            2,
            &["takes 4"],
        ),
        (
            &["generate", "grid", "--extents", "9999,9999,9999", "--out", "g.npz"],
            1,
            &["bytes", "and the limit is ", "raise the limit with `--memory-limit`"],
        ),
        (
            &["generate", "grid", "--extents", "99,99", "--memory-limit", "100K", "--out", "g.npz"],
            1,
            &["bytes", "and the limit is 102400", "raise the limit with `--memory-limit`"],
        ),
        (&["generate", "grid", "--extents", "9", "--memory", "8", "--out", "g.npz"], 2, &["--memory-limit"]),
        (&["generate", "uniform", "--shape", "3,3", "--entries", "10", "--out", "g.tns"], 2, &["10; the maximum is 9"]),
        (&["generate", "uniform", "--shape", "3,3", "--out", "g.tns"], 2, &["--entries", "--density"]),
        (
            &["generate", "uniform", "--shape", "3,3,3", "--entries", "1", "--out", "g.mtx"],
            1,
            &["g.mtx: cannot write", "rank 3"],
        ),
        (
            &["generate", "grid", "--extents", "3", "--values", "gamma:1:2", "--out", "g.mtx"],
            2,
            &["normal:MEAN:DEVIATION"],
        ),
        (&["generate", "grid", "--extents", "3", "--dtype", "f16", "--out", "g.mtx"], 2, &["expected one of bool, i8"]),
        (&["generate", "grid", "--extents", "3", "--dtype", "u8", "--out", "g.mtx"], 2, &["does not fit u8"]),
        (&["generate", "rmat", "--scale", "20", "--edges", "9", "--out", "g.npy"], 1, &["exceed 64 GiB", ".npz"]),
        (&["generate", "moire"], 2, &["moire"]),
        (&["convert", "none.mtx", "c.npz"], 1, &["none.mtx", "No such file"]),
        (&["convert", "a.mtx", "c.xyz"], 2, &["c.xyz", "known extensions"]),
        (&["convert", "cube.tns", "c.mtx"], 1, &["c.mtx: cannot write", "rank 3"]),
        (&["convert", "bad.csv", "c.mtx"], 1, &["bad.csv:3", "expected 3 fields", "found 2"]),
        (
            &["convert", "bad.csv", "c.mtx", "--value", "none", "--coordinates", "1,9"],
            1,
            &["bad.csv:1", "a column from 1 to 3"],
        ),
        (&["convert", "a.mtx"], 2, &["OUT"]),
        (&["convert", "a.mtx", "./a.mtx"], 2, &["./a.mtx: the output is an input", "another name"]),
        (&["convert", "a.mtx", "."], 2, &[".: is a folder", "name a file in the folder"]),
        (
            &["convert", "bad.csv", "c.mtx", "--coordinates", "from,to", "--header", "true"],
            1,
            &["named `from`, found `0`"],
        ),
        (&["formats", "crs"], 2, &["unknown format `crs`; did you mean `csr`", "`redpoll formats` lists"]),
        (&["operators", "plus"], 2, &["unknown operator `plus`; did you mean `+`?"]),
        (&["run", "sum.rp", "--print", "--repeat", "2"], 2, &["--print", "cannot be used with", "--repeat"]),
        (&["rnu", "sum.rp"], 2, &["'rnu'", "similar subcommand exists: 'run'"]),
        (&["operators", "mim"], 2, &["unknown operator `mim`; did you mean `min`", "`redpoll operators` lists"]),
        (&["convert", "a.mtx", "c.npz", "--dtype", "u9"], 2, &["u9", "expected one of bool, i8"]),
        (&["convert", "a.mtx", "c.npz", "--dtype", "u8"], 1, &["a.mtx:", "1.5 does not fit u8", "f32 or f64"]),
        (&["convert", "a.mtx", "c.npz", "--dtype", "bool"], 1, &["only 0 and 1 fit", "compute `A(i,j) != 0`"]),
        (&["fly"], 2, &["fly"]),
        (&["--bind", "A=a.mtx"], 2, &["tip: `redpoll run` and `redpoll explain` have the option '--bind'"]),
        (&["info", "a.mtx", "--bipartite"], 2, &["`redpoll plot`", "have the option '--bipartite'"]),
        (&["run"], 2, &["<PLAN>"]),
        (
            &["run", "sum.rp", "--bind", "a=a.mtx"],
            2,
            &["--bind a: the plan reads no table or input of this name; it reads `A`", "hint: did you mean `A`?"],
        ),
        (&["run", "s = 2", "--bind", "A=a.mtx"], 2, &["--bind A: the plan reads no table", "it reads none"]),
        (
            &["run", "sum.rp", "--bind", "A=a.mtx", "--bipartite"],
            2,
            &["edge lists apply to no file of --bind", ".csv and .tsv"],
        ),
        (
            &["run", "scaled.rp", "--bind", "A=a.mtx", "--out", "C=./a.mtx"],
            2,
            &["--out C=./a.mtx: the output is an input", "another name"],
        ),
        (
            &["explain", "scaled.rp", "--bind", "A=a.mtx", "--html", "scaled.rp"],
            2,
            &["--html scaled.rp: the output is an input", "another name"],
        ),
        (
            &["explain", "y(i) = A(i,j) * x(j)", "--bind", "A=a.mtx", "--size", "i=5"],
            2,
            &["--size i: the file of `A` determines this size"],
        ),
        (&["explain", "sum.rp", "--bind", "A=a.mtx", "--size", "k=5"], 2, &["--size k", "these tables have none"]),
    ];
    let sandbox = Sandbox::new();
    sandbox
        .write("bad.csv", "0,1,2.5\n1,2,0.5\n2,1\n")
        .write("cube.tns", "1 1 1 1.0\n2 2 2 3.0\n")
        .write("cut.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n")
        .write("out.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 4 1.5\n")
        .write("number.rp", "(program (input A (shape n m)) (input b (dtype A) 0) (output y f64) (+= y b))")
        .write("pattern.rp", "(plan (query s (reformat (dense (sparse-list (pattern))) (table A i j))) (produces s))")
        .write("window.rp", "(plan (query s\n (index (window j 1 4) (table A i j))) (produces s))")
        .write("stride.rp", "(plan (query s (index (stride j 0) (table A i j))) (produces s))")
        .write(
            "masks.rp",
            "(plan (query s (mapjoin and (mapjoin lt (coordinate i) (coordinate j)) (mapjoin ne (table A i j) 0)
               (mapjoin gt (coordinate i) (coordinate j)))) (produces s))",
        )
        .write(
            "order.rp",
            "(program (input A (shape m n)) (output y (shape n) f64 0.0 (sparse-list (element)))
               (for i (for j (+= (y j) (A i j)))))",
        )
        .write(
            "again.rp",
            "(program (input A (shape m n)) (output y (shape m) f64 0.0 (sparse-list (element)))
               (for i (for j (+= (y i) (A i j))))
               (for i (+= (y i) 1)))",
        )
        .write("op.rp", "(plan (query s\n  (mapjoin mulx (table A i j) 2)) (produces s))")
        .write("field.rp", "(plan (query s (aggregate + 0 (table A i j) k)) (produces s))")
        .write("open.rp", "(plan (query s (table A i j)")
        .write("sizes.rp", "(plan (query s (mapjoin * (table A i j) (table A j i))) (produces s))");
    let before = sandbox.files();
    for (args, code, expected) in cases {
        let result = sandbox.run(args);
        assert_eq!(result.code, Some(*code), "{args:?}: {}", result.err);
        assert_eq!(result.out, "", "{args:?}");
        assert!(result.err.starts_with("error: "), "{args:?}: {}", result.err);
        for words in *expected {
            assert!(result.err.contains(words), "{args:?}: no {words:?} in\n{}", result.err);
        }
    }
    assert_eq!(sandbox.files(), before, "a failure left files");
}

/// All tiers give the same result. Without a C compiler, only a request for the optimizing tier
/// fails.
#[test]
fn tiers_give_equal_results() {
    let sandbox = Sandbox::new();
    let run = |tier: &str, compiler: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command.args(["run", "sum.rp", "--bind", "A=a.mtx", "--json", "--repeat", "300", "--tier", tier]);
        command.current_dir(sandbox.dir.path()).env("REDPOLL_CACHE", sandbox.dir.path().join("kernels"));
        if let Some(compiler) = compiler {
            command.env("CC", compiler);
        }
        decode_output(command.output().unwrap())
    };
    for tier in ["instant", "optimizing", "auto"] {
        let result = run(tier, None);
        assert_eq!(json(&result)["outputs"]["s"]["sum"], 2.5, "{tier}: {}", result.err);
        assert_eq!(result.err, "", "{tier}");
    }
    let missing = run("optimizing", Some("/nowhere/cc"));
    assert_eq!((missing.code, missing.out.as_str()), (Some(1), ""));
    assert!(
        missing.err.contains("no usable C compiler: `/nowhere/cc`") && missing.err.contains("CC"),
        "{}",
        missing.err
    );
    let instant = run("auto", Some("/nowhere/cc"));
    assert_eq!(json(&instant)["outputs"]["s"]["sum"], 2.5);
}

/// A failed write leaves the existing file unchanged.
#[test]
fn failed_writes_leave_existing_files_unchanged() {
    let sandbox = Sandbox::new();
    sandbox
        .write("one.rp", "(plan (query C (reformat csr (mapjoin + 1 (table A i j)))) (produces C))")
        .write("c.tns", "old");
    let before = sandbox.files();
    let result = sandbox.run(&["run", "one.rp", "--bind", "A=a.mtx", "--out", "C=c.tns"]);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    assert!(result.err.contains("c.tns: cannot write this tensor"), "{}", result.err);
    assert_eq!(fs::read_to_string(sandbox.dir.path().join("c.tns")).unwrap(), "old");
    assert_eq!(sandbox.files(), before);
}

/// Notes do not mix with results, and do not make the run fail.
#[test]
fn notes_go_to_standard_error() {
    let sandbox = Sandbox::new();
    sandbox.write("twice.tns", "1 1 2\n2 2 5\n1 1 3\n");
    let result = sandbox.run(&["run", "sum.rp", "--bind", "A=twice.tns", "--json"]);
    assert_eq!(json(&result)["outputs"]["s"]["sum"], 10.0);
    assert!(result.err.contains("note: twice.tns: 1 entry has repeated coordinates"), "{}", result.err);
    assert_eq!(json(&result)["notes"], serde_json::json!([]));
}

/// The options of edge lists read the files of tables, and leave files of other formats alone.
#[test]
fn tables_are_read_by_the_options_of_edge_lists() {
    let sandbox = Sandbox::new();
    sandbox.write("ratings.csv", "who,what,stars,when\n1,2,5,9\n3,1,4,8\n").write("x.tns", "1 1\n2 2\n3 4\n");
    let options = ["--bipartite", "--coordinates", "who,what", "--value", "stars", "--first", "1"];
    let product = ["run", "y(i) = R(i,j) * x(j)", "--bind", "R=ratings.csv", "--bind", "x=x.tns:dense", "--json"];
    // Mode 1 has the size 2, and the vector has the size 3.
    let refused = sandbox.run(&[&product[..], &options].concat());
    assert!(refused.err.contains("field `j` has size"), "{}", refused.err);
    sandbox.write("x.tns", "1 1\n2 2\n");
    let found = json(&sandbox.run(&[&product[..], &options].concat()));
    assert_eq!(
        (&found["outputs"]["y"]["shape"], &found["outputs"]["y"]["sum"]),
        (&serde_json::json!([3]), &14.0.into())
    );
    let picture = sandbox.run(&[&["plot", "ratings.csv", "--out", "r.svg"], &options[..]].concat());
    assert_eq!(picture.out, "r.svg    pattern of 3 x 2 i64\n", "{}", picture.err);
}

/// Tables whose files have names are joined by the names, whatever their order in the files, and
/// results have the names. A note says if one table has names and another has numbers.
#[test]
fn tables_with_names_are_joined_by_name() {
    let sandbox = Sandbox::new();
    sandbox.write("p.csv", "a,b,2\nb,c,3\n").write("q.csv", "b,c,5\na,b,7\nz,a,1\n");
    sandbox.write("m.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 4\n");
    let value = |plan: &str, binds: &[&str]| {
        let found = sandbox.run(&[&["run", plan, "--json"], binds].concat());
        (json(&found)["outputs"]["s"]["value"].clone(), found.err)
    };
    let (product, notes) = value("s = P(i,j) * Q(i,j)", &["--bind", "P=p.csv", "--bind", "Q=q.csv"]);
    assert_eq!((product, notes.as_str()), (29.into(), ""));
    // The modes of each file are one set of names, so `i`, `j` and `k` have the same numbers.
    let (paths, _) = value("s = P(i,j) * Q(j,k)", &["--bind", "P=p.csv", "--bind", "Q=q.csv:csc"]);
    assert_eq!(paths, 10);
    let (product, notes) = value("s = P(i,j) * A(i,j)", &["--bind", "P=p.csv", "--bind", "A=m.mtx"]);
    assert!(product == 8.0 && notes.contains("index `i` has numbers in m.mtx and names in p.csv"), "{notes}");
    let binds = ["--bind", "P=p.csv", "--bind", "Q=q.csv", "--out", "R=r.csv"];
    let run = sandbox.run(&[&["run", "R(j,i) = P(i,j) * Q(i,j)"], &binds[..]].concat());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let written = fs::read_to_string(sandbox.dir.path().join("r.csv")).unwrap();
    assert_eq!(written, "# dims 4 4\nrow,column,value\nb,a,14\nc,b,15\n");
}

/// Integers are integers in JSON, also beyond the integers that floats represent. A result without
/// indices has its value.
#[test]
fn json_has_exact_integers_and_values() {
    let sandbox = Sandbox::new();
    let header = "%%MatrixMarket matrix coordinate integer general";
    sandbox.write("big.mtx", &format!("{header}\n2 2 3\n1 1 9007199254740993\n2 1 2\n2 2 -1\n"));
    let run = |plan: &str, file: &str| {
        let found = json(&sandbox.run(&["run", plan, "--bind", &format!("A={file}"), "--json"]));
        found["outputs"]["s"].to_string()
    };
    let expected =
        r#"{"dtype":"i64","fill":0,"nonfill":1,"shape":[],"stored":1,"sum":9007199254740994,"value":9007199254740994}"#;
    assert_eq!(run("s = A(i,j)", "big.mtx"), expected);
    let rows = run("s(i) = A(i,j)", "big.mtx");
    assert!(rows.contains(r#""sum":9007199254740994"#) && !rows.contains("value"), "{rows}");
    assert!(run("s = A(i,j)", "a.mtx").contains(r#""sum":2.5,"value":2.5"#));
    let text = sandbox.run(&["run", "s(i) = A(i,j)", "--bind", "A=big.mtx"]).out;
    assert!(text.contains(", sum 9007199254740994, "), "{text}");
}

/// The format of `--out` is part of the plan: the plan stores the result in this format. A result
/// of a program, and a result that another query reads, are converted.
#[test]
fn results_are_computed_in_the_format_of_their_file() {
    let sandbox = Sandbox::new();
    sandbox
        .write(
            "two.rp",
            "(plan (query C (mapjoin + (table A i j) 1)) (query s (aggregate + 0 (table C i j) i j)) (produces C s))",
        )
        .write(
            "copy.rp",
            "(program (input A (shape n m)) (output C (shape n m) f64 0.0 dense) (for i (for j (= (C i j) (A i j)))))",
        );
    let run = |plan: &str, bind: &str, out: &str| {
        let result = sandbox.run(&["run", plan, "--bind", bind, "--out", out]);
        assert_eq!(result.code, Some(0), "{plan}: {}", result.err);
        (result.out, result.err)
    };
    let layout = || sandbox.run(&["info", "c.npz", "--header"]).out.lines().nth(2).map(str::to_owned);
    let (out, err) = run("C(i,k) = A(i,j) * A(k,j)", "A=a.mtx", "C=c.npz:csr");
    assert!(out.contains("format (dense sparse-list)"), "{out}");
    assert!(!err.contains("is dense"), "{err}");
    assert_eq!(layout().as_deref(), Some("layout    csr"));
    for (plan, format) in [("two.rp", "(dense sparse-list)"), ("copy.rp", "(dense dense)")] {
        let (out, _) = run(plan, "A=a.mtx:csr", "C=c.npz:csc");
        assert!(out.contains(&format!("format {format}\n")), "{plan}: {out}");
        assert_eq!(layout().as_deref(), Some("layout    csc"), "{plan}");
    }
}

/// A text file without values has no dtype, and the note says so.
#[test]
fn notes_on_dtypes_are_true_of_empty_results() {
    let sandbox = Sandbox::new();
    sandbox.write("none.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 0\n");
    let result = sandbox.run(&["run", "C(i,j) = A(i,j)", "--bind", "A=none.mtx", "--out", "C=c.csv:csr"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    let expected = "note: c.csv: there are no values, so the dtype will be read as f64, unless `redpoll convert --dtype i64` reads the file\n";
    assert_eq!(result.err, expected);
}

/// Output names the target of a run and the reason for this target. Small data run on the CPU.
#[test]
fn output_names_the_target_of_a_run() {
    let sandbox = Sandbox::new();
    let plan = ["sum.rp", "--bind", "A=a.mtx"];
    for (options, target, reason) in [
        (&[][..], "cpu", "a device is considered for at least"),
        (&["--engine", "cpu"], "cpu", "as requested"),
        (&["--engine", "grid"], "grid", "as requested"),
        (&["--tier", "instant"], "instant", "as requested"),
    ] {
        let run = sandbox.run(&[&["run", "--json"], &plan[..], options].concat());
        let engine = json(&run)["engine"].clone();
        assert_eq!(engine["target"], target, "{engine}");
        assert!(engine["reason"].as_str().is_some_and(|words| words.contains(reason)), "{engine}");
        let explained = sandbox.run(&[&["explain"], &plan[..], options].concat()).out;
        let line = explained.lines().skip_while(|line| *line != "== engine ==").nth(1).unwrap();
        assert!(line.starts_with(&format!("{target}: ")) && line.contains(reason), "{line}");
    }
}

/// Densified results have a note.
#[test]
fn dense_results_of_sparse_operands_have_a_note() {
    let sandbox = Sandbox::new();
    sandbox.write("densified.rp", "(plan (query C (mapjoin + (table A i j) (table B i j))) (produces C))");
    for with_json in [false, true] {
        let mut args = vec!["run", "densified.rp", "--bind", "A=a.mtx", "--bind", "B=a.mtx:(dense (dense (element)))"];
        args.extend(with_json.then_some("--json"));
        let result = sandbox.run(&args);
        assert!(result.err.contains("result `C` is dense") && result.err.contains("`A` is sparse"), "{}", result.err);
        if with_json {
            let notes = json(&result)["notes"].clone();
            assert!(notes[0].as_str().is_some_and(|n| n.contains("result `C` is dense")), "{notes}");
        }
    }
}

/// Tables without indices are bound to numbers on the command line; other words are rejected.
#[test]
fn numbers_are_bound_by_their_values() {
    let sandbox = Sandbox::new();
    let run =
        |number: &str| sandbox.run(&["run", "s = alpha * A(i,j)", "--bind", "A=a.mtx", "--bind", number, "--json"]);
    for (number, sum) in [("alpha=2", 5.0), ("alpha=-0.5", -1.25)] {
        assert_eq!(json(&run(number))["outputs"]["s"]["sum"], sum);
    }
    let result = run("alpha=two");
    assert!(result.err.contains("`alpha` is a number, as in --bind alpha=0"), "{}", result.err);
}

/// Copies that the optimizer adds, and coordinates that are checked, have notes.
#[test]
fn copies_and_checks_have_notes() {
    let sandbox = Sandbox::new();
    sandbox.write("square.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 2\n");
    let result = sandbox.run(&["run", "y(i) = A(i,j) * A(j,i)", "--bind", "A=square.mtx:csr"]);
    assert!(result.err.contains("note: `A` is copied to `A.1` in the format"), "{}", result.err);
    let square = "(* (p i j) (p i j))";
    let program = format!(
        "(program (input p (shape n m) i64) (output y (shape 9) i64 0 dense)\n(for i (for j (+= (y {square}) 1))))"
    );
    sandbox.write("squares.rp", &program);
    sandbox.write("p.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 -2\n");
    let result = sandbox.run(&["run", "squares.rp", "--bind", "p=p.mtx"]);
    let note =
        format!("note: line 2, column 19: `{square}` of `(y {square})` is checked to be in bounds in every round");
    assert!(result.err.contains(&note), "{}", result.err);
}

/// Small cases of each kind of generated data: the arguments, and the beginning of the description
/// that `generate` prints.
const KINDS: &[(&str, &str)] = &[
    ("rmat --scale 6 --edges 200 --noise 0.05 --undirected", "64 x 64 bool"),
    ("erdos-renyi --vertices 50 --degree 4", "50 x 50 bool"),
    ("erdos-renyi --vertices 51 --probability 0.1 --undirected", "51 x 51 bool"),
    ("grid --extents 4,3,2 --stencil box", "24 x 24 f64"),
    ("banded --rows 20 --columns 18 --below 2 --above 0 --density 0.5", "20 x 18 f64"),
    ("blocks --rows 21 --block 4,3 --density 0.5", "21 x 21 f64"),
    ("uniform --shape 9,8 --entries 20 --values integer:-3:3 --dtype i32", "9 x 8 i32, 20 entries"),
    ("ratings --users 12 --items 10 --ratings 40 --stars 5 --dtype u8", "12 x 10 u8, 40 entries"),
    ("image --height 11 --width 13 --blobs 3", "11 x 13 u8, 143 elements"),
];

/// Each case of generated data is written in one of the file formats, in rotation, and read by
/// `info`. Equal seeds give equal bytes; other seeds give other bytes, except for grids, which do
/// not depend on the seed.
#[test]
fn data_are_generated_into_every_format() {
    let sandbox = Sandbox::new();
    let files = ["g.mtx", "g.tns.gz", "g.npy", "g.npz", "g.csv.zst", "g.tsv", "g.rpt"];
    for (k, (kind, expected)) in KINDS.iter().enumerate() {
        let file = files[k % files.len()];
        let generate = |seed: &str| {
            let args: Vec<&str> = ["generate"].into_iter().chain(kind.split(' ')).collect();
            let result = sandbox.run(&[&args[..], &["--seed", seed, "--out", file]].concat());
            assert_eq!(result.code, Some(0), "{kind}: {}", result.err);
            // A note appears exactly if reading the file gives another dtype than was written.
            let written = expected.split([' ', ',']).nth(3);
            let read = sandbox.run(&["info", file, "--header"]).out;
            let read = read.lines().find_map(|line| line.strip_prefix("dtype     "));
            assert_eq!(result.err.contains("cannot store dtype"), written != read, "{kind}: {}", result.err);
            assert_eq!(result.err.lines().count(), usize::from(written != read), "{kind}: {}", result.err);
            assert!(result.out.starts_with(&format!("{file}    {expected}")), "{kind}: {}", result.out);
            fs::read(sandbox.dir.path().join(file)).unwrap()
        };
        let bytes = generate("7");
        assert_eq!(bytes, generate("7"), "{kind}");
        assert_eq!(bytes == generate("8"), kind.starts_with("grid"), "{kind}");
        let info = sandbox.run(&["info", file]);
        let shape = expected.split(' ').take(3).collect::<Vec<_>>().join(" ");
        assert!(info.out.contains(&format!("shape     {shape}\n")), "{kind}: {}{}", info.out, info.err);
    }
}

/// `info` reports the structure of a file and lists the smallest format first.
#[test]
fn info_reports_the_structure() {
    let sandbox = Sandbox::new();
    let cases: &[(&str, &str, &str)] = &[
        ("banded --rows 40 --below 3 --above 1", "dia", r#"{"lower":3,"upper":1,"diagonals":5,"symmetry":"none"}"#),
        ("grid --extents 9,9", "dia", r#"{"lower":9,"upper":9,"diagonals":5,"symmetry":"exact"}"#),
        ("blocks --rows 60 --block 6,6 --blocks 5", "(bcsr 6 6)", "null"),
        ("image --height 60 --width 200 --blobs 5", "rle|sparse runs", "null"),
        ("uniform --shape 9,8,5 --entries 4", "coo", "null"),
    ];
    for (kind, best, matrix) in cases {
        let args: Vec<&str> = ["generate"].into_iter().chain(kind.split(' ')).chain(["--out", "g.npz"]).collect();
        assert_eq!(sandbox.run(&args).code, Some(0), "{kind}");
        let found = json(&sandbox.run(&["info", "g.npz", "--json"]));
        let first = found["formats"][0]["name"].as_str().unwrap();
        assert!(best.split('|').any(|name| name == first), "{kind}: {found}");
        if *matrix != "null" {
            let expected: serde_json::Value = serde_json::from_str(matrix).unwrap();
            assert_eq!(found["structure"]["matrix"], expected, "{kind}");
        }
    }
    let header = sandbox.run(&["info", "g.npz", "--header"]);
    assert!(header.out.contains("9 x 8 x 5") && !header.out.contains("structure"), "{}", header.out);
    let found = json(&sandbox.run(&["info", "a.mtx", "--json"]));
    assert_eq!(found["structure"]["fibers"]["mean"], 1.5);
    assert_eq!(
        found["formats"].as_array().unwrap().iter().find(|f| f["name"] == "csr").unwrap()["bytes"],
        12 + 12 + 24
    );
}

/// Files of several formats store the same matrix, and losses in conversions are reported.
#[test]
fn files_are_converted_between_all_formats() {
    let sandbox = Sandbox::new();
    let files = [
        "a.mtx",
        "b.tns",
        "c.csv.gz",
        "d.npz",
        "n.bsp.npz",
        "r.rpt",
        "e.npy",
        "h.idx",
        "s.rpt.zst",
        "f.tsv.zst",
        "g.mtx",
    ];
    for pair in files.windows(2) {
        let result = sandbox.run(&["convert", pair[0], pair[1]]);
        assert_eq!(result.code, Some(0), "{pair:?}: {}", result.err);
        assert!(result.out.starts_with(&format!("{}    2 x 3 f64, ", pair[1])), "{pair:?}: {}", result.out);
        let back = json(&sandbox.run(&["run", "sum.rp", "--bind", &format!("A={}", pair[1]), "--json"]));
        assert_eq!(back["outputs"]["s"]["sum"], 2.5, "{pair:?}");
    }
    assert_eq!(
        fs::read_to_string(sandbox.dir.path().join("g.mtx")).unwrap(),
        MATRIX.replace(" 2\n", " 2.0\n").replace("-1\n", "-1.0\n")
    );
    // Images store only whole numbers.
    sandbox.write("bits.pbm", "P1\n3 2\n1 0 1\n0 0 1\n");
    for (from, to, dtype) in [("bits.pbm", "bits.pgm", "u8"), ("bits.pgm", "back.pbm", "bool")] {
        let result = sandbox.run(&["convert", from, to]);
        assert_eq!(result.code, Some(0), "{from} {to}: {}", result.err);
        assert_eq!(result.out, format!("{to}    2 x 3 {dtype}, 6 entries\n"));
    }
    assert_eq!(fs::read(sandbox.dir.path().join("back.pbm")).unwrap(), b"P4\n3 2\n\xa0\x20");
    sandbox
        .write("half.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 5\n1 1 7\n")
        .write("twice.tns", "1 1 2\n2 2 5\n1 1 3\n")
        .write("people.csv", "from,to,weight\nann,bob,1\nbob,cid,2\n")
        .write("friends.csv", "person,friend\nann,bob\nbob,cid\n")
        .write("loans.csv", "reader,book,days\nann,Emma,3\nbob,Ulysses,4\n")
        .write("ratings.csv", "who,what,stars,when\n1,2,5,9\n3,1,4,8\n");
    let cases: &[(&[&str], &str, &[&str])] = &[
        (&["half.mtx", "whole.npz"], "3 x 3 i64, 3 entries", &["symmetric; both triangles"]),
        (&["half.mtx", "again.mtx"], "3 x 3 i64, 2 entries", &[]),
        (
            &["half.mtx", "half.tns"],
            "3 x 3 f64",
            &["dtype i64; values will be read as f64", "symmetric; both", "`# dims 3 3`"],
        ),
        (
            &["half.mtx", "half.npy"],
            "3 x 3 i64, 9 entries",
            &["symmetric; both", "layout changes from coordinate to array"],
        ),
        (&["twice.tns", "once.mtx"], "2 x 2 f64, 2 entries", &["1 entry has repeated coordinates"]),
        (&["people.csv", "people.mtx"], "3 x 3 i64, 2 entries", &["cannot store names"]),
        (&["people.csv", "people.rpt", "--format", "csc"], "3 x 3 i64, 2 entries", &["cannot store names"]),
        (&["half.mtx", "half.rpt"], "3 x 3 i64, 3 entries", &["symmetric; both"]),
        (&["half.rpt", "half.csv"], "3 x 3 i64, 3 entries", &["layout changes", "`# dims 3 3`"]),
        (
            &["people.csv", "people.tsv"],
            "3 x 3 i64, 2 entries",
            &["`# dims 3 3`, is a comment", "the header is `row,column,value`, and the column names `from,to,weight`"],
        ),
        (
            &["friends.csv", "friends.tsv"],
            "3 x 3 bool, 2 entries",
            &[
                "friends.csv: the first record, `person,friend`, is read as the header, because none of its names \
                 occurs again; `--header false` of `redpoll run` and `redpoll convert` reads it as an entry",
                "`# dims 3 3`",
                "the header is `row,column`, and the column names `person,friend` are lost",
            ],
        ),
        (&["friends.csv", "friends.tsv", "--header", "false"], "5 x 5 bool, 3 entries", &["`# dims 5 5`"]),
        (&["half.mtx", "narrow.npz", "--dtype", "u8"], "3 x 3 u8, 3 entries", &["symmetric; both"]),
        (
            &["narrow.npz", "narrow.csv"],
            "3 x 3 i64, 3 entries",
            &[
                "narrow.csv: .csv files cannot store dtype u8; values will be read as i64, unless `redpoll convert \
                 --dtype u8` reads them",
                "`# dims 3 3`",
            ],
        ),
        (&["narrow.csv", "back.rpt", "--dtype", "u8"], "3 x 3 u8, 3 entries", &[]),
        (
            &["ratings.csv", "r.mtx", "--bipartite", "--coordinates", "who,2", "--value", "stars", "--first", "1"],
            "3 x 2 i64",
            &[],
        ),
        (
            &["loans.csv", "loans.npz"],
            "4 x 4 i64, 2 entries",
            &[
                "columns `reader` and `book` share no name, but are numbered as one set of 4 names; `--bipartite` of \
                 `redpoll run` and `redpoll convert` keeps them apart",
                "cannot store names",
            ],
        ),
        (
            &["loans.csv", "loans.tsv", "--bipartite"],
            "2 x 2 i64, 2 entries",
            &["`# dims 2 2`", "the column names `reader,book,days` are lost"],
        ),
        (&["half.mtx", "columns.npz", "--format", "csc"], "3 x 3 i64, 3 entries", &["symmetric; both"]),
    ];
    for (args, expected, notes) in cases {
        let result = sandbox.run(&[&["convert"], *args].concat());
        assert_eq!(result.code, Some(0), "{args:?}: {}", result.err);
        assert!(result.out.contains(expected), "{args:?}: {}", result.out);
        assert!(notes.iter().all(|n| result.err.contains(n)), "{args:?}: {}", result.err);
        assert_eq!(result.err.lines().count(), notes.len(), "{args:?}: {}", result.err);
    }
    let info = sandbox.run(&["info", "people.rpt", "--header"]).out;
    assert!(info.contains("storage   (modes 1 0 (dense (sparse-list (element))))\n"), "{info}");
    let refused = sandbox.run(&["convert", "half.mtx", "again.mtx", "--format", "csc"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("write a .rpt, .npz or .bsp.npz file"), "{}", refused.err);
    let info = sandbox.run(&["info", "columns.npz", "--header"]).out;
    assert!(info.contains("layout    csc\n"), "{info}");
    let names = fs::read_to_string(sandbox.dir.path().join("people.tsv")).unwrap();
    assert_eq!(names, "# dims 3 3\nrow\tcolumn\tvalue\nann\tbob\t1\nbob\tcid\t2\n");
}

/// `explain` shows every phase.
#[test]
fn explain_shows_every_phase() {
    let result = Sandbox::new().run(&["explain", "sum.rp", "--bind", "A=a.mtx:coo", "--clif"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    for title in ["== logic ==", "== physical plan ==", "== queries ==", "notation of s", "assembly of s", "clif of s"]
    {
        assert!(result.out.contains(title), "no {title} in\n{}", result.out);
    }
    let result = Sandbox::new().run(&["explain", "sum.rp", "--bind", "A=a.mtx:coo", "--cuda"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    for title in ["assembly of s", "== grid of s ==", "== cuda ==", "__global__ void redpoll_grid_0"] {
        assert!(result.out.contains(title), "no {title} in\n{}", result.out);
    }
}

/// `explain --kernel` shows only the loops, as readable C.
#[test]
fn explain_shows_kernels_to_read() {
    let explain = |options: &[&str]| {
        Sandbox::new().run(&[&["explain", "y(i) = A(i,j) * x(j)", "--format", "A=csr", "--kernel"], options].concat())
    };
    let result = explain(&[]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    for part in [
        "== kernel of y ==",
        "void kernel(",
        "const int32_t *A_ptr",
        "x[",
        "y[i] = acc;",
        "along level 1 of A",
        "; pA++) {",
    ] {
        assert!(result.out.contains(part), "no `{part}` in\n{}", result.out);
    }
    for part in ["frame", "chunk", "RP_", "rp_", "lengths", "== logic =="] {
        assert!(!result.out.contains(part), "`{part}` in\n{}", result.out);
    }
    assert_eq!(explain(&["--c"]).code, Some(2));
    assert_eq!(explain(&["--analyze"]).code, Some(2));
}

/// Schedules transform the loops of a query, or the message says why the transformation is
/// impossible.
#[test]
fn schedules_transform_loops() {
    const NO_QUERY: &str =
        "schedule of `C`: no query of the optimized plan and no result of the program has that name; the names are `y`";
    let sandbox = Sandbox::new();
    let run = |command: &str, schedule: &str, options: &[&str]| {
        let plan = "y(i) = A(i,j) * A(i,j)";
        sandbox.run(&[&[command, plan, "--bind", "A=a.mtx:csr", "--schedule", schedule], options].concat())
    };
    let result = run("explain", "y: split (i, io, ii, 2) parallel(io)", &["--section", "notation of y"]);
    assert!(result.out.contains("(schedule (split i io ii 2) (parallel io))"), "{}{}", result.out, result.err);
    let sum = |result: &CommandOutput| json(result)["outputs"]["y"]["sum"].as_f64().expect("a sum");
    let plain = sandbox.run(&["run", "y(i) = A(i,j) * A(i,j)", "--bind", "A=a.mtx:csr", "--json"]);
    for schedule in ["split(i, io, ii, 2)", "(unroll j 2)", "lanes(j, 4)"] {
        assert_eq!(sum(&run("run", schedule, &["--json"])), sum(&plain), "{schedule}");
    }
    for (schedule, message) in [
        (
            "split(q, a, b, 8)",
            "error: schedule of `y`, at `(split q a b 8)`: there is no loop of `q`; the loops are `i`, `j`",
        ),
        ("C: parallel(i)", NO_QUERY),
        ("parallel(j)", "error: schedule of `y`, at `for i > for j`: `j` cannot be cut into chunks"),
        ("split(i)", "expected `split(i, io, ii, 64)` or"),
        ("tile(i)", "expected `bound`, `collapse`"),
        ("y:", "expected a transformation, found the end of the text"),
    ] {
        let result = run("run", schedule, &[]);
        assert_eq!(result.code, Some(2), "{schedule}: {}", result.out);
        assert!(result.err.contains(message) && !result.err.contains("caused by"), "{schedule}: {}", result.err);
    }
    sandbox.write("p.rp", "(program (input A (shape n m)) (output y f64) (for i (for j (+= y (A i j)))))");
    let result = sandbox.run(&["run", "p.rp", "--bind", "A=a.mtx:csr", "--schedule", "C: parallel(i)"]);
    assert_eq!(result.code, Some(2), "{}", result.out);
    assert!(result.err.contains(NO_QUERY), "{}", result.err);
    let result = sandbox.run(&["run", "--schedule-table"]);
    assert!(result.out.contains("collapse(i, j, p)\n  effect: "), "{}", result.out);
}

/// Schedules may follow the plan in its text.
#[test]
fn plans_contain_schedules() {
    let sandbox = Sandbox::new();
    let plan = "(plan (query y (aggregate + 0 (table A i j) j)) (produces y))\n(schedule y (split i o k 2))\n";
    sandbox.write("scheduled.rp", plan);
    let result = sandbox.run(&["explain", "scheduled.rp", "--bind", "A=a.mtx:csr", "--section", "normal notation"]);
    assert!(result.out.contains("(for o "), "{}{}", result.out, result.err);
}

/// `explain --section` shows the sections whose title begins with a text. If there is none, an
/// error lists the titles.
#[test]
fn explain_shows_one_section() {
    let explain =
        |section: &str| Sandbox::new().run(&["explain", "sum.rp", "--bind", "A=a.mtx:coo", "--section", section]);
    for (section, titles) in [
        ("queries", &["== queries =="][..]),
        ("logic", &["== logic =="]),
        ("n", &["== nests ==", "== notation of s =="]),
    ] {
        let result = explain(section);
        assert_eq!(result.code, Some(0), "{}", result.err);
        let found: Vec<&str> = result.out.lines().filter(|line| line.starts_with("== ")).collect();
        assert_eq!(found, titles);
        assert!(result.out.ends_with('\n') && !result.out.ends_with("\n\n"), "{:?}", result.out);
    }
    let result = explain("query");
    assert_eq!(result.code, Some(2));
    for part in ["begins with `query`", "the titles are: logic, ", "queries"] {
        assert!(result.err.contains(part), "no `{part}` in\n{}", result.err);
    }
}

/// `explain` shows rewritten plans with their rules, and rules can be disabled.
#[test]
fn explain_names_the_rules() {
    let sandbox = Sandbox::new();
    let entries: String = (0..9000).map(|k| format!("{} {} 1\n", k % 300 + 1, (k * 7 + k / 300) % 300 + 1)).collect();
    sandbox.write("square.mtx", &format!("%%MatrixMarket matrix coordinate real general\n300 300 9000\n{entries}"));
    sandbox.write(
        "walks.rp",
        "(plan (query s (aggregate + 0 (mapjoin * (table A i j) (table A j k) (table A k l)) i j k l)) (produces s))",
    );
    let explain = ["explain", "walks.rp", "--bind", "A=square.mtx:csr"];
    let result = sandbox.run(&explain);
    assert_eq!(result.code, Some(0), "{}", result.err);
    let rule = "eliminate: sum(i j k, x * y) = sum(j, sum(i, x) * sum(k, y))";
    for words in ["== algebra ==", &format!("; {rule}"), &format!("  rewritten by {rule}"), "nodes in"] {
        assert!(result.out.contains(words), "no {words} in\n{}", result.out);
    }
    for disabled in [&["--plain"][..], &["--without", "elimination"]] {
        let result = sandbox.run(&[&explain[..], disabled].concat());
        assert_eq!(result.code, Some(0), "{}", result.err);
        assert!(!result.out.contains("== algebra =="), "{}", result.out);
    }
}

/// Statements in index notation, given as an argument or on standard input, are run and explained.
/// In `explain`, tables without a file hold random numbers.
#[test]
fn index_notation_needs_no_file() {
    let sandbox = Sandbox::new();
    let statement = "s = A(i,j) * A(i,j)";
    let result = sandbox.run(&["run", statement, "--bind", "A=a.mtx"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    let plan = "(plan (query s (aggregate + 0 (mapjoin square (table A i j)) i j)) (produces s))";
    sandbox.write("squares.rp", plan);
    let squares = sandbox.run(&["run", "squares.rp", "--bind", "A=a.mtx"]);
    let value = |result: &CommandOutput| result.out.lines().nth(1).unwrap().to_owned();
    assert_eq!(value(&result), value(&squares));
    let piped = sandbox.run_with_input(&["run", "-", "--bind", "A=a.mtx"], statement);
    assert_eq!(value(&piped), value(&squares), "{}", piped.err);

    let explained = ["explain", "y(i) = A(i,j) * x(j)", "--format", "A=csc", "--size", "j=200"];
    let result = sandbox.run(&explained);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(result.err.contains("table `A` has no file: 10000 random numbers in 1000 x 200"), "{}", result.err);
    assert!(result.err.contains("table `x` has no file: 200 random numbers in 200"), "{}", result.err);
    assert!(result.out.contains("(modes 1 0 (dense (sparse-list (element))))"), "{}", result.out);

    // The format of a result is a constraint of the plan.
    let product = ["explain", "C(i,j) = A(i,k) * B(k,j)", "--size", "i=50", "--section", "queries"];
    let result = sandbox.run(&[&product[..], &["--format", "C=coo"]].concat());
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(!result.out.contains("C stored as (dense dense)"), "{}", result.out);
    let result = sandbox.run(&[&product[..], &["--format", "k=csr"]].concat());
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(result.err.contains("--format k=csr: no table without a file and no result"), "{}", result.err);

    // A program declares sizes and dtypes.
    let program = "(program (input I (shape n) i64 0) (input A (shape 3 4) f64 0.0) (output s (shape n) f64 0.0 (dense (element)))
        (for i (= (s i) (A (outside 0.0 (I i)) 2))))";
    sandbox.write("declared.rp", program);
    let result = sandbox.run(&["explain", "declared.rp", "--size", "n=50"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(result.err.contains("table `I` has no file: 50 random numbers in 50"), "{}", result.err);
    assert!(result.err.contains("table `A` has no file: 12 random numbers in 3 x 4"), "{}", result.err);

    let failures: [(&[&str], i32, &str); 10] = [
        (&["run", "y(i) = A(i,j)", "--bind", "A=b.mtx"], 1, "hint: did you mean `a.mtx`?"),
        (&["run", "y(i) = A(i,j)", "--bind", "A=none/b.mtx"], 1, "hint: there is no folder `none`"),
        (&["run", "y(i) = A(i,j)", "--bind", "A=a.mtx:crs"], 2, "unknown format `crs`; did you mean `csr`"),
        (
            &["explain", "declared.rp", "--size", "m=50"],
            2,
            "--size m: no table without a file has an index or size of this name; these tables have `n`",
        ),
        (&["explain", "y(i) = x(i)", "--size", "i=99999999999"], 1, "99999999999 random numbers are too many"),
        (&["explain", "y(i) = A(i,j) *", "--size", "i=9"], 1, "the plan: line 1, column 16: expected a value"),
        (&["run", "y(i) = A(i,j)"], 2, "--bind A=FILE"),
        (&["explain", "y(i) = A(i,j)", "--format", "A=nonsense"], 2, "--format A=nonsense: "),
        (&["explain", "y(i) = A(i,j)", "--size", "i=x"], 2, "`x` is not a whole number"),
        (&["explain", "y(i) = A(i,j)", "--size", "i=2", "--size", "i=3"], 2, "--size names `i` twice"),
    ];
    for (args, code, message) in failures {
        let result = sandbox.run(args);
        assert_eq!(result.code, Some(code), "{args:?}: {}", result.err);
        assert!(result.err.contains(message), "{args:?}: {}", result.err);
    }
}

/// `explain --analyze` measures each query, and `--output` prints graphs.
#[test]
fn explain_measures_and_draws() {
    let sandbox = Sandbox::new();
    let explain = |options: &[&str]| {
        let result = sandbox.run(&[&["explain", "scaled.rp", "--bind", "A=a.mtx:csr"], options].concat());
        assert_eq!(result.code, Some(0), "{options:?}: {}", result.err);
        result.out
    };
    let planned = ["loops i j", "cost ", "(dense sparse-list)", "walk i, walk j"];
    let cases: [(&[&str], &[&str]); 5] = [
        (&["--analyze"], &["== queries ==", "took ", "C: 3 values, estimated ", ", q-error 1.", "run  ", "\nmemory  "]),
        (&["--output", "dot"], &["digraph plan {", " values", "n0 -> n1"]),
        (&["--output", "dot", "--analyze"], &["digraph plan {", "took ", " values, "]),
        (&["--output", "mermaid"], &["flowchart TD", " values", "n0 -->"]),
        (&["--output", "mermaid", "--analyze"], &["flowchart TD", "took ", " values, "]),
    ];
    for (options, expected) in cases {
        let out = explain(options);
        for words in planned.iter().chain(expected) {
            assert!(out.contains(words), "{options:?}: no {words:?} in\n{out}");
        }
    }
    assert_eq!(explain(&["--output", "dot", "--no-adapt"]), explain(&["--output", "dot"]));
    let program = repository("programs/bfs_push.rp");
    let bind = format!("A={}", repository("datasets/data/karate.mtx").display());
    let program = ["explain", program.to_str().unwrap(), "--bind", &bind, "--bind", "source=0"];
    for options in [&["--output", "dot"][..], &["--analyze", "--output", "dot"]] {
        let result = sandbox.run(&[&program[..], options].concat());
        assert_eq!(result.code, Some(2), "{}", result.out);
        assert!(result.err.contains("a program in Notation has no queries"), "{}", result.err);
    }
    let result = sandbox.run(&[&program[..], &["--analyze"]].concat());
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(result.out.contains("== results ==\nparent: 34 stored values\nlevels: 1 stored value\n"), "{}", result.out);
    let result = sandbox.run(&[&program[..], &["--analyze", "--html", "program.html"]].concat());
    assert_eq!(result.code, Some(0), "{}", result.err);
    let page = fs::read_to_string(sandbox.dir.path().join("program.html")).unwrap();
    assert!(page.contains("i64 34") && page.contains("times"), "{page}");
}

/// Listings and help have the expected contents.
#[test]
fn listings_and_help_have_their_contents() {
    let sandbox = Sandbox::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&["info", "a.mtx"], &["Matrix Market", "2 x 3", "f64", "entries   3", "structure", "bytes by format"]),
        (&["operators"], &["max          2 or more", "cast-f64", "floordiv"]),
        (&["operators", "cast_f64"], &["cast-f64     1  "]),
        (&["formats"], &["sparse-list", "byte-map", "csr", "bcsr", ".tns", ".npz", ".csv", ".tsv"]),
        (&["--help"], &["run", "explain", "info", "plot", "generate", "convert", "formats", "Examples:"]),
        (&["generate", "--help"], &["rmat", "erdos-renyi", "grid", "banded", "blocks", "uniform", "ratings", "image"]),
        (&["generate", "ratings", "--help"], &["--users", "--stars", "--seed", "--out", "--values", "--memory-limit"]),
        (&["convert", "--help"], &["IN", "OUT", "--bipartite", "--delimiter", "Exit codes"]),
        (&["plot", "--help"], &["PICTURE", "pattern", "degrees", "runs", "blocks", "--modes", "Exit codes"]),
        (&["run", "--help"], &["--bind", "--repeat", "--out", "Exit codes"]),
        (&["generate", "rmat", "--help"], &["Exit codes: 0 success; 1 failure of a file, a plan or a run; 2 wrong"]),
        (&["formats", "--help"], &["Exit codes"]),
        (&["--version"], &["redpoll 0"]),
    ];
    for (args, expected) in cases {
        let result = sandbox.run(args);
        assert_eq!(result.code, Some(0), "{args:?}: {}", result.err);
        for words in *expected {
            assert!(result.out.contains(words), "{args:?}: no {words:?} in\n{}", result.out);
        }
        assert!(!result.out.contains('\x1b'), "{args:?}: colours without a terminal");
    }
    let (format, file_format) = (sandbox.run(&["formats", "csr"]).out, sandbox.run(&["formats", ".tsv"]).out);
    assert_eq!(format, "format shorthands\n  csr          rank 2    (dense (sparse-list (element)))\n");
    assert_eq!(file_format.lines().next(), Some("file formats"));
    assert_eq!((file_format.lines().count(), sandbox.run(&["operators", "max"]).out.lines().count()), (2, 2));
}

/// Closed pipes, as in `redpoll formats | head -1`, are not failures.
#[cfg(unix)]
#[test]
fn closed_pipes_are_not_failures() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_redpoll")).arg("formats").stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

/// An invalid number of threads in the environment is an error.
#[test]
fn invalid_thread_counts_in_the_environment_are_rejected() {
    let sandbox = Sandbox::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
    command.args(["run", "sum.rp", "--bind", "A=a.mtx"]).current_dir(sandbox.dir.path());
    let rejected = decode_output(command.env("REDPOLL_THREADS", "abc").output().unwrap());
    assert_eq!(rejected.code, Some(2), "{}", rejected.err);
    assert!(rejected.err.contains("invalid REDPOLL_THREADS `abc`"), "{}", rejected.err);
    assert_eq!(decode_output(command.env("REDPOLL_THREADS", "2").output().unwrap()).code, Some(0));
}

/// Two results are not written to the same file.
#[test]
fn two_results_cannot_be_written_to_one_file() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "two.rp",
        "(plan (query B (mapjoin * 2 (table A i j))) (query C (mapjoin * 3 (table A i j))) (produces B C))",
    );
    for (b, c) in [("x.mtx", "x.mtx"), ("x.mtx", "./x.mtx"), ("x.mtx", "../HERE/x.mtx")] {
        let here = sandbox.dir.path().file_name().unwrap().to_str().unwrap();
        let (b, c) = (format!("B={b}"), format!("C={}", c.replace("HERE", here)));
        let result = sandbox.run(&["run", "two.rp", "--bind", "A=a.mtx", "--out", &b, "--out", &c]);
        assert_eq!(result.code, Some(2), "{}", result.err);
        assert!(result.err.contains("both `B` and `C` to the file"), "{}", result.err);
        assert!(!sandbox.files().contains(&"x.mtx".to_owned()));
    }
    let result = sandbox.run(&["run", "two.rp", "--bind", "A=a.mtx", "--out", "B=b.mtx", "--out", "C=c.mtx"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
}

/// Byte order marks before plans and programs are skipped.
#[test]
fn byte_order_marks_before_plans_are_skipped() {
    let sandbox = Sandbox::new();
    let program = "(program (input A (shape n m)) (output s f64) (for i (for j (+= s (A i j)))))";
    for text in [SUM, program] {
        sandbox.write("marked.rp", &format!("\u{feff}{text}"));
        let found = json(&sandbox.run(&["run", "marked.rp", "--bind", "A=a.mtx", "--json"]));
        assert_eq!(found["outputs"]["s"]["sum"], 2.5);
    }
}

/// `info` reports the fill value of a file.
#[test]
fn info_reports_the_fill_value() {
    let sandbox = Sandbox::new();
    let found = json(&sandbox.run(&["info", "a.mtx", "--json"]));
    assert_eq!(found["fill"], 0.0);
}

/// A process ended by a signal leaves no partially written files.
#[cfg(unix)]
#[test]
fn signals_leave_no_partial_files() {
    use rustix::process::{Pid, Signal, kill_process};

    for signal in [Signal::INT, Signal::TERM] {
        let sandbox = Sandbox::new();
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (9000, 1000)}";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend((0..9_000_000u32).flat_map(|k| (f64::from(k) / 7.0).to_le_bytes()));
        fs::write(sandbox.dir.path().join("a.npy"), bytes).unwrap();
        let before = sandbox.files();
        let mut child = Command::new(env!("CARGO_BIN_EXE_redpoll"))
            .args(["convert", "a.npy", "b.mtx.gz"])
            .current_dir(sandbox.dir.path())
            .spawn()
            .unwrap();
        // Waits until the output file appears; writing the rest takes seconds.
        while sandbox.files() == before {
            assert!(child.try_wait().unwrap().is_none(), "the process ended before the signal");
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), None, "the signal ends the process");
        assert_eq!(sandbox.files(), before, "{signal:?}");
    }
}

/// Commands that exceed the memory limit are rejected, with a message on the limit or the requested
/// memory.
#[test]
fn every_command_has_a_memory_limit() {
    let sandbox = Sandbox::new();
    let entries: String = (1..=30_000).map(|k| format!("{k} {} 1.5\n", k % 1000 + 1)).collect();
    let text = format!("%%MatrixMarket matrix coordinate real general\n30000 1000 30000\n{entries}");
    sandbox.write("big.mtx", &text);
    assert_eq!(sandbox.run(&["convert", "big.mtx", "big.tns"]).code, Some(0));
    assert_eq!(sandbox.run(&["convert", "big.mtx", "big.mtx.gz"]).code, Some(0));
    let rejection = |args: &[&str], limit: &str| {
        let result = sandbox.run(&[args, &["--memory-limit", limit]].concat());
        assert_eq!(result.code, Some(1), "{args:?} {limit}: {}{}", result.out, result.err);
        result.err
    };
    for args in [
        &["convert", "big.mtx", "c.npz"][..],
        &["convert", "big.tns", "c.mtx"],
        &["convert", "big.mtx.gz", "c.csv"],
        &["info", "big.mtx"],
        &["plot", "big.mtx"],
        &["run", "sum.rp", "--bind", "A=big.mtx"],
        &["explain", "sum.rp", "--bind", "A=big.tns"],
    ] {
        let message = rejection(args, "300k");
        assert!(message.contains("307200") && message.contains("cannot allocate"), "{args:?}: {message}");
        assert!(message.contains("--memory-limit"), "{args:?}: {message}");
    }
    // The entries fit the limit, but a dense tensor does not.
    let message = rejection(&["run", "sum.rp", "--bind", "A=big.mtx:dense"], "8M");
    assert!(message.contains("cannot allocate 240000000 bytes for a tensor that stores all elements"), "{message}");
    sandbox.write("full.rp", "(plan (query C (mapjoin + (table A i j) (coordinate i))) (produces C))");
    let message = rejection(&["run", "full.rp", "--bind", "A=big.mtx"], "16M");
    assert!(message.contains("exceeds the memory limit") && message.contains("--memory-limit"), "{message}");
    sandbox.write("names.csv", &(0..20_000).map(|k| format!("from{k},to{k}\n")).collect::<String>());
    let message = rejection(&["convert", "names.csv", "c.mtx"], "4M");
    assert!(message.contains("bytes for names"), "{message}");
    let message =
        rejection(&["generate", "uniform", "--shape", "1000,1000", "--entries", "500000", "--out", "g.mtx"], "1M");
    assert!(message.contains("1048576"), "{message}");
    assert_eq!(sandbox.run(&["run", "sum.rp", "--bind", "A=big.mtx", "--memory-limit", "64M"]).code, Some(0));
    assert_eq!(sandbox.run(&["convert", "big.mtx", "c.npz", "--memory-limit", "64M"]).code, Some(0));
    assert_eq!(sandbox.run(&["info", "a.mtx", "--memory-limit", "lots"]).code, Some(2));
}

/// A limited address space gives an error message, which does not say that the file is damaged.
#[cfg(target_os = "linux")]
#[test]
fn small_address_spaces_are_errors() {
    let sandbox = Sandbox::new();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (40000000,)}";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let mut file = fs::File::create(sandbox.dir.path().join("a.npy")).unwrap();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    // The elements are a hole in the file.
    file.set_len(bytes.len() as u64 + 320_000_000).unwrap();
    let packed = Command::new("gzip").args(["-1", "-k", "a.npy"]).current_dir(sandbox.dir.path()).status();
    assert!(packed.is_ok_and(|status| status.success()));
    for args in ["convert a.npy b.npz", "convert a.npy.gz b.npz", "info a.npy.gz", "run sum.rp --bind A=a.npy"] {
        let line = format!("ulimit -v 500000; exec '{}' {args}", env!("CARGO_BIN_EXE_redpoll"));
        let result =
            decode_output(Command::new("sh").args(["-c", &line]).current_dir(sandbox.dir.path()).output().unwrap());
        assert_eq!(result.code, Some(1), "{args}: {}{}", result.out, result.err);
        assert!(result.err.contains("cannot allocate") && !result.err.contains("damaged"), "{args}: {}", result.err);
    }
}

/// Pages and pictures are written to separate files, whose names are printed on standard output.
#[test]
fn pages_and_pictures_are_written() {
    let sandbox = Sandbox::new();
    let file = |name: &str| fs::read(sandbox.dir.path().join(name)).unwrap();
    let bind = ["--bind", "A=a.mtx"];
    for (options, says) in [(&[][..], "not run"), (&["--analyze"], "as it ran")] {
        let result = sandbox.run(&[&["explain", "scaled.rp", "--html", "page.html"], &bind[..], options].concat());
        assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
        assert!(result.out.starts_with("page.html    ") && result.out.contains(says), "{}", result.out);
        let page = String::from_utf8(file("page.html")).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert_eq!(page.contains(">not run<"), options.is_empty());
        for words in ["Plan of C", "<svg", "C to read", "Cranelift IR", "C of the optimizing tier", "CUDA"] {
            assert!(page.contains(words), "no {words:?}");
        }
    }
    for kind in ["pattern", "degrees", "runs", "blocks"] {
        let result = sandbox.run(&["plot", "a.mtx", "--kind", kind]);
        assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
        assert_eq!(result.out, format!("a-{kind}.png    {kind} of 2 x 3 f64\n"));
        assert!(file(&format!("a-{kind}.png")).starts_with(b"\x89PNG"));
        let result = sandbox.run(&["plot", "a.mtx", "--kind", kind, "--out", "a.SVG", "--size", "64"]);
        assert_eq!(result.code, Some(0), "{}", result.err);
        assert!(file("a.SVG").starts_with(b"<svg xmlns="));
    }
}
