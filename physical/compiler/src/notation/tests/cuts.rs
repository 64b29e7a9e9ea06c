//! Tests of cutting loops into chunks: the joins of outputs, and the obstacles.

use super::*;
use crate::notation::{Join, cut, verify_parallel};
use redpoll_logic::FloatMode;

const INPUTS: &str =
    "(input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense)) (local t f64 0.0)";
const ROWS: &str = "(output y (type (shape 4) f64 0.0 dense))";
const COLUMNS: &str = "(output z (type (shape 5) f64 0.0 dense))";
const MATRIX: &str = "(output C (type (shape 4 5) f64 0.0 csr))";
const SCALAR: &str = "(output s (type (shape) f64 0.0 dense))";
const COUNT: &str = "(output n (type (shape) i64 0 dense))";

fn normal(outputs: &[&str], body: &str) -> Program {
    normalize(program(&format!("(program {INPUTS} {} {body})", outputs.concat()))).unwrap()
}

/// Returns the cut of a program as `index: output join, ..`, followed by `, exact` if the cut is
/// exact; or the obstacle.
fn how(outputs: &[&str], body: &str, mode: FloatMode) -> String {
    let program = normal(outputs, body);
    let found = match cut(&program, mode) {
        Ok(found) => found,
        Err(obstacle) => return obstacle.to_string(),
    };
    let joined = found.outputs.iter().map(|(id, join)| {
        let name = &program.tensors[id.index()].name;
        match join {
            Join::Shared => format!("{name} shared"),
            Join::Appended(coordinates) => match coordinates.form() {
                (1, 0) => format!("{name} appended"),
                (factor, constant) => {
                    format!("{name} appended from {factor} {} + {constant} on", program.indices[found.index.index()])
                }
            },
            Join::Folded(op) => format!("{name} folded by {}", op.name()),
        }
    });
    let exact = if found.exact { ", exact" } else { "" };
    format!("{}: {}{exact}", program.indices[found.index.index()], joined.collect::<Vec<_>>().join(", "))
}

#[test]
fn outputs_are_shared_appended_or_folded() {
    for (outputs, body, expected) in [
        (&[ROWS][..], "(for i (for j (+= (y i) (* (A i j) (x j)))))", "i: y shared, exact"),
        (&[MATRIX], "(for i (for j (init (C i j) (* (A i j) (x j)))))", "i: C appended"),
        (&[COLUMNS], "(for i (for j (+= (z j) (A i j))))", "i: z folded by +"),
        (&[COUNT], "(for j (range 0 5) (+= (n) j))", "j: n folded by +, exact"),
        (
            &[ROWS, MATRIX, SCALAR],
            "(for i (for j (block (+= (y i) (A i j)) (init (C i j) (A i j)) (+= (s) (A i j)))))",
            "i: y shared, C appended, s folded by +",
        ),
    ] {
        assert_eq!(how(outputs, body, FloatMode::Relaxed), expected, "{body}");
    }
}

/// Rounds of loops over tiles write disjoint elements, unless tiles overlap.
#[test]
fn rounds_over_tiles_are_apart() {
    let within = |first: &str, place: &str, range: &str| {
        format!("(for b (range 0 3) (for i (for j (range {first} {range}) (+= (z {place}) (A i {place})))))")
    };
    for (body, expected) in [
        (within("(* 2 b)", "j", "(min (+ (* 2 b) 2) 5)"), "b: z shared, exact"),
        (within("0", "(+ (* 2 b) j)", "(min 2 (- 5 (* 2 b)))"), "b: z shared, exact"),
        (within("0", "(+ (* 2 b) j)", "1"), "b: z shared, exact"),
        (within("(* 1 b)", "j", "(+ b 2)"), "b: z folded by +"),
        (within("0", "(+ b (* 2 j))", "2"), "b: z folded by +"),
    ] {
        assert_eq!(how(&[COLUMNS], &body, FloatMode::Relaxed), expected, "{body}");
    }
}

/// Rounds of loops over blocks append disjoint ranges of rows. Chunks of run-length levels cannot
/// be put together.
#[test]
fn blocks_of_rows_are_appended() {
    let rows = |first: &str, end: &str| {
        format!("(for b (range 0 2) (for i (range {first} {end}) (for j (init (C i j) (* (A i j) (x j))))))")
    };
    for (body, expected) in [
        (rows("(* 2 b)", "(+ (* 2 b) 2)"), "b: C appended from 2 b + 0 on"),
        (rows("(* 3 b)", "(min (+ (* 3 b) 3) 4)"), "b: C appended from 3 b + 0 on"),
        (rows("(* 3 b)", "(+ (* 3 b) 1)"), "b: C appended from 3 b + 0 on"),
        (rows("(+ (* 2 b) 1)", "(min (+ (* 2 b) 3) 4)"), "b: C appended from 2 b + 1 on"),
    ] {
        assert_eq!(how(&[MATRIX], &body, FloatMode::Relaxed), expected, "{body}");
    }
    let runs = "(output R (type (shape 4 5) f64 0.0 (dense (run-length (element)))))";
    let refused = how(&[runs], "(for i (for j (= (R i j) (A i j))))", FloatMode::Relaxed);
    assert!(refused.contains("`R` is appended to, and its format cannot be put together from chunks"), "{refused}");
}

#[test]
fn obstacles_are_reported() {
    let not_folded = "several rounds may write one element of `s`, and the writes are not folds by one operator that \
                      can be regrouped";
    for (outputs, body, mode, expected) in [
        (&[SCALAR][..], "(for i (for j (+= (s) (A i j))))", FloatMode::StrictIeee, not_folded),
        (&[SCALAR], "(for j (= (s) (x j)))", FloatMode::Relaxed, not_folded),
        (&[SCALAR], "(for j (block (+= (s) (x j)) (min= (s) (x j))))", FloatMode::Relaxed, not_folded),
        (
            &[ROWS, SCALAR],
            "(block (for i (for j (+= (y i) (A i j)))) (for j (+= (s) (x j))))",
            FloatMode::Relaxed,
            "there is not exactly one outermost loop, or it is a `while`",
        ),
        (
            &[SCALAR],
            "(block (+= (s) 1.0) (for j (+= (s) (x j))))",
            FloatMode::Relaxed,
            "`s` is written outside of the loop",
        ),
        (
            &[SCALAR],
            "(where (init (s) (sqrt t)) (for j (+= t (x j))))",
            FloatMode::Relaxed,
            "rounds share the local `t`",
        ),
    ] {
        assert_eq!(how(outputs, body, mode), expected, "{body}");
    }
}

/// A program with a `parallel-for` that cannot be cut is an error.
#[test]
fn loops_that_are_to_be_cut_are_checked() {
    let refused = |body: &str| verify_parallel(&normal(&[ROWS], body), FloatMode::Relaxed).err().map(|e| e.to_string());
    assert_eq!(refused("(parallel-for i (for j (+= (y i) (* (A i j) (x j)))))"), None);
    let inner = refused("(for i (parallel-for j (+= (y i) (* (A i j) (x j)))))").unwrap();
    assert!(inner.contains("`j` cannot be cut into chunks: the loop of `i` is around it"), "{inner}");
    let folded = refused("(parallel-for j (for i (= (y i) (* (A i j) (x j)))))").unwrap();
    assert!(folded.contains("`j` cannot be cut into chunks: several rounds may write one element of `y`"), "{folded}");
}
