//! Tests of the verifier: plans that break one rule, and valid ones beside them.

use super::parse;
use super::verify::verify;

const A: &str = "(input A f64 0.0 (5 6) (dense sparse-list))";

/// Checks a plan of inputs and one query over `A`, which produces `R`; an empty message means that
/// the plan is valid.
#[track_caller]
fn check(inputs: &str, query: &str, message: &str) {
    let text = format!("(physical {A} {inputs} (query {query}) (produces R))");
    let plan = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = verify(&plan).err().map_or(String::new(), |e| e.what);
    assert!(if message.is_empty() { found.is_empty() } else { found.contains(message) }, "{found}\n{text}");
}

/// Checks the sum of a value over `i`, `j` and `k`.
#[track_caller]
fn check_sum(inputs: &str, value: &str, message: &str) {
    check(inputs, &format!("(for (i 5) (j 6) (k 6)) (write R f64 0.0 () () () (fold +) {value})"), message);
}

#[test]
fn names() {
    check("(input A f64 0.0 (2) (dense))", "(for) (write R f64 0.0 () () () 1.0)", "input `A` is listed twice");
    check("", "(for) (write A f64 0.0 () () () 1.0)", "`A` is written twice, or is an input");
    check("", "(for) (write S f64 0.0 () () () 1.0)", "it produces `R`, which no query writes");
    check_sum("", "(at B)", "access of `B`: it is not known here");
    check_sum("", "t", "temporary `t` is not in scope");
    check("", "(for (i 5) (i 5)) (write R f64 0.0 () () () (fold +) 1.0)", "index `i` is bound twice");
}

#[test]
fn temporaries() {
    let of = |temporaries: &str| format!("(for (i 5)) {temporaries} (write R f64 0.0 (5) (dense) (i) t)");
    let sum = "(t + 0.0 (at A i j))";
    check("", &of(&format!("(where 1 (for (j 6)) {sum})")), "");
    check("", &of(&format!("(where 2 (for (j 6)) {sum})")), "temporaries at depth 2 under 1 loops");
    check("", &of(&format!("(where 1 (for (j 6)) {sum} {sum})")), "temporary `t` is defined twice");
    check("", &of("(where 1 (for (j 6)) (t + 0 (at A i j)))"), "temporary `t` of f64 starts from 0");
    check("", &of(&format!("(where 0 (for (j 6)) {sum})")), "index `i` is not bound");
}

#[test]
fn loops_of_blocks_and_diagonals() {
    let of = |loops: &str| format!("(for {loops}) (write R f64 0.0 () () () (fold +) 1.0)");
    check("", &of("(o 3) (i 2 o 5)"), "");
    check("", &of("(o 2) (i 2 o 5)"), "the loop of `i` over blocks is not inside of one over Whole(3)");
    check("", &of("(o 3) (i 2 o 5 (lanes 16))"), "");
    check("", &of("(o 3) (i 2 o 5 (lanes 3))"), "the loop of `i` has 3 lanes, no power of two up to 16");
    check("", &of("(o 3) (i 2 o 5 (lanes 32))"), "the loop of `i` has 32 lanes");
    check("", &of("(o 3 (lanes 2)) (i 2 o 5)"), "the loop of `o` has lanes, and others inside of it");
    check("", &of("(i 5 j 0 6)"), "the loop of `i` over a diagonal is not inside of that of `j`");
}

#[test]
fn values() {
    check_sum("", "(+ (at A i j) 1)", "arguments of `+` are not cast to its signature");
    check_sum("", "(cast-i64 (at A i j))", "its value is i64, its type f64");
    check_sum("(input x f64 0.0 (6) (dense))", "(at x (follow (value (at A i j))))", "is not an i64");
    check_sum("", "(at A i j (outside 1))", "its outside value has another dtype");
    check_sum("", "(at A i)", "it has not one place and protocol for each of 2 levels");
}

#[test]
fn protocols() {
    let hash = "(input H f64 0.0 (5 6) (dense hash?))";
    let columns = "(input B f64 0.0 (5 6) (dense@1 sparse-list@0))";
    check_sum(columns, "(at B j i)", "level i is walked, but bound outside of its fiber");
    check_sum(columns, "(at B j (follow i))", "");
    check_sum("", "(at A i (follow j))", "");
    check_sum(hash, "(at H i j)", "level j is walked, but not ordered");
    check_sum(hash, "(at H i (follow j))", "");
    let vector = "(input S f64 0.0 (30) (sparse-list*))";
    check_sum(vector, "(at S (+ (* 6 i) j))", "");
}

#[test]
fn workspaces_of_accesses() {
    let through = |at: &str, workspace: &str| format!("(* (at A i j) (at A {at} (workspace {workspace})))");
    check_sum("", &through("i (follow k)", "1 (byte-map)"), "");
    check_sum("", &through("i k", "1 (byte-map)"), "");
    check_sum("", &through("(follow j) (follow k)", "0 (dense byte-map)"), "");
    check_sum(
        "",
        &through("i (follow k)", "0 (byte-map)"),
        "its workspace inside of 0 loops does not find level i bound",
    );
    check_sum("", &through("j (follow k)", "1 (byte-map)"), "does not find level j bound");
    check_sum("", &through("i (follow k)", "4 (byte-map)"), "its workspace is inside of 4 loops");
    check_sum("", &through("i (follow k)", "1 (sparse-list)"), "which takes no random writes");
    check_sum("", &through("i (follow k)", "1 (dense dense dense)"), "its workspace has 3 levels, of 2");
    check_sum("", &through("i (follow k)", "1 ()"), "its workspace has 0 levels, of 2");
    let outside = "(at A i (follow k) (workspace 1 (byte-map)) (outside 0.0))";
    check_sum("", outside, "its workspace has modes that are not whole, or that it may leave");
    let blocks = "(input B f64 0.0 (6 6) (dense@0/2 dense@1/3 dense@0%2 dense@1%3))";
    check_sum(blocks, "(at B i i j (follow k) (workspace 2 (dense)))", "modes that are not whole");
}

#[test]
fn outputs() {
    let of = |write: &str| format!("(for (i 5) (j 6)) (write R f64 0.0 {write} (at A i j))");
    check("", &of("(5 6) (dense sparse-list) (i j)"), "");
    check("", &of("(5) (dense) (i)"), "it has no fold, but loop `j` writes its places again");
    check("", &of("(5) (dense) (i) (fold +) (drop-fills)"), "it drops fill values, but folds");
    check("", &of("(5) (dense) (i) (fold and)"), "operator `and` does not fold in f64");
    check("", &of("(5 6) (dense sparse-list) (i)"), "it has 1 places for 2 levels");
    check("", &of("(6 5) (dense sparse-list) (j i)"), "are not written in order beyond 0, and it has no workspace");
    check("", &of("(6 5) (sparse-list sparse-list) (j i) (workspace 0 (byte-map hash))"), "");
    check("", &of("(6 5) (sparse-list sparse-list) (j i) (workspace 0 (byte-map))"), "does not find 1 levels fixed");
    let listed = of("(6 5) (sparse-list sparse-list) (j i) (workspace 0 (dense sparse-list))");
    check("", &listed, "its workspace has a SparseList level, which takes no random writes");
}

#[test]
fn patterns_of_tensors() {
    let of =
        |loops: &str, write: &str| format!("(for {loops}) (write R f64 0.0 {write} (pattern A) (* 2.0 (at A i j)))");
    check("", &of("(i 5) (j 6)", "(5 6) (dense sparse-list) (i j)"), "");
    check("", &of("(i 5) (j 6) (k 2)", "(5 6) (dense sparse-list) (i j) (fold +)"), "");
    check("", &of("(i 5) (j 6)", "(5 6) (dense hash) (i j)"), "`A`, which has another shape or other levels");
    check("", &of("(i 5) (j 6)", "(5 6) (dense sparse-list pattern) (i j)"), "`A`, but not each of its places has");
    check("", &of("(i 5) (j 6)", "(5 6) (dense sparse-list) (i j) (drop-fills)"), "`A`, but it drops values");
    let squares = "(input S f64 0.0 (5 5) (dense sparse-list))";
    let transposed =
        "(for (i 5) (j 5)) (write R f64 0.0 (5 5) (dense sparse-list) (i j) (pattern S) (at S j (follow i)))";
    check(squares, transposed, "`S`, which its value does not read at the same places");
    let runs = "(input S f64 0.0 (5) (run-length))";
    let of_runs = "(for (i 5)) (write R f64 0.0 (5) (run-length) (i) (pattern S) (at S i))";
    check(runs, of_runs, "`S`, but not each of its places has");
    check("", "(for (i 5)) (write R f64 0.0 (5) (dense) (i) (pattern T) 1.0)", "`T`, which is not known here");
}
