//! Tests of the verifier: plans that each break one rule, and valid plans for comparison.

use super::parse;
use super::verify::verify;

const A: &str = "(input A f64 0.0 (5 6) (dense sparse-list))";

/// Verifies the plan that reads `A` and more inputs, has one query, and produces `R`. Checks that
/// the problem found contains `message`; an empty message means that the plan is valid.
#[track_caller]
fn check(inputs: &str, query: &str, message: &str) {
    let text = format!("(physical {A} {inputs} (query {query}) (produces R))");
    let plan = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = verify(&plan).err().map_or(String::new(), |e| e.problem);
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
    check_sum("", "(at B)", "access of `B`: it is neither an input nor the output of an earlier query");
    check_sum("", "t", "temporary `t` is not in scope");
    check("", "(for (i 5) (i 5)) (write R f64 0.0 () () () (fold +) 1.0)", "index `i` is bound twice");
}

#[test]
fn temporaries() {
    let of = |temporaries: &str| format!("(for (i 5)) {temporaries} (write R f64 0.0 (5) (dense) (i) t)");
    let sum = "(t + 0.0 (at A i j))";
    check("", &of(&format!("(where 1 (for (j 6)) {sum})")), "");
    check("", &of(&format!("(where 2 (for (j 6)) {sum})")), "temporaries at depth 2, but the nest has 1 loop");
    check("", &of(&format!("(where 1 (for (j 6)) {sum} {sum})")), "temporary `t` is defined twice");
    check(
        "",
        &of("(where 1 (for (j 6)) (t + 0 (at A i j)))"),
        "temporary `t` has dtype f64, but its initial value is i64",
    );
    check("", &of(&format!("(where 0 (for (j 6)) {sum})")), "index `i` is not bound");
}

#[test]
fn loops_of_blocks_and_diagonals() {
    let of = |loops: &str| format!("(for {loops}) (write R f64 0.0 () () () (fold +) 1.0)");
    check("", &of("(o 3) (i 2 o 5)"), "");
    check(
        "",
        &of("(o 2) (i 2 o 5)"),
        "the loop over `i` runs over a block, but is not inside a loop over `o` of extent 3",
    );
    check("", &of("(o 3) (i 2 o 5 (lanes 16))"), "");
    check("", &of("(o 3) (i 2 o 5 (lanes 3))"), "the loop over `i` has 3 lanes, expected a power of two up to 16");
    check("", &of("(o 3) (i 2 o 5 (lanes 32))"), "the loop over `i` has 32 lanes");
    check("", &of("(o 3 (lanes 2)) (i 2 o 5)"), "the loop over `o` has lanes, but is not the innermost loop");
    check("", &of("(i 5 j 0 6)"), "the loop over `i` is skewed, but is not inside the loop over `j`");
}

#[test]
fn values() {
    check_sum("", "(+ (at A i j) 1)", "the arguments of `+` are not cast to its signature");
    check_sum("", "(cast-i64 (at A i j))", "its value has dtype i64, expected f64");
    check_sum("(input x f64 0.0 (6) (dense))", "(at x (follow (value (at A i j))))", "has dtype f64, expected i64");
    check_sum("", "(at A i j (outside 1))", "its value out of bounds has dtype i64, expected f64");
    check_sum("", "(at A i)", "it has 1 coordinates and 1 protocols, expected one of each for 2 levels");
}

#[test]
fn protocols() {
    let hash = "(input H f64 0.0 (5 6) (dense hash?))";
    let columns = "(input B f64 0.0 (5 6) (dense@1 sparse-list@0))";
    check_sum(
        columns,
        "(at B j i)",
        "the level at i is walked, but no loop inside the loops of the outer levels binds its coordinate",
    );
    check_sum(columns, "(at B j (follow i))", "");
    check_sum("", "(at A i (follow j))", "");
    check_sum(hash, "(at H i j)", "the level at j is walked, but not ordered");
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
        "its workspace at depth 0 is outside the loops that bind i",
    );
    check_sum(
        "",
        &through("j (follow k)", "1 (byte-map)"),
        "its workspace at depth 1 is outside the loops that bind j",
    );
    check_sum(
        "",
        &through("i (follow k)", "4 (byte-map)"),
        "its workspace is at depth 4, but 3 loops surround the access",
    );
    check_sum("", &through("i (follow k)", "1 (sparse-list)"), "which does not take random writes");
    check_sum("", &through("i (follow k)", "1 (dense dense dense)"), "its workspace has 3 levels, expected 1 to 2");
    check_sum("", &through("i (follow k)", "1 ()"), "its workspace has 0 levels, expected 1 to 2");
    let outside = "(at A i (follow k) (workspace 1 (byte-map)) (outside 0.0))";
    check_sum("", outside, "it has a workspace and a value out of bounds, expected at most one of them");
    let blocks = "(input B f64 0.0 (6 6) (dense@0/2 dense@1/3 dense@0%2 dense@1%3))";
    check_sum(
        blocks,
        "(at B i i j (follow k) (workspace 2 (dense)))",
        "its workspace has storage modes that are not whole",
    );
}

#[test]
fn outputs() {
    let of = |write: &str| format!("(for (i 5) (j 6)) (write R f64 0.0 {write} (at A i j))");
    check("", &of("(5 6) (dense sparse-list) (i j)"), "");
    check("", &of("(5) (dense) (i)"), "it has no fold, but the loop over `j` writes its entries repeatedly");
    check("", &of("(5) (dense) (i) (fold +) (drop-fills)"), "it drops fill values, but has a fold");
    check("", &of("(5) (dense) (i) (fold and)"), "operator `and` does not fold values of dtype f64");
    check("", &of("(5 6) (dense sparse-list) (i)"), "it has 1 coordinates for 2 levels");
    check(
        "",
        &of("(6 5) (dense sparse-list) (j i)"),
        "only its outermost 0 levels are written in order, and it has no workspace",
    );
    check("", &of("(6 5) (sparse-list sparse-list) (j i) (workspace 0 (byte-map hash))"), "");
    check(
        "",
        &of("(6 5) (sparse-list sparse-list) (j i) (workspace 0 (byte-map))"),
        "the loops outside it do not fix the 1 levels that the workspace lacks",
    );
    let listed = of("(6 5) (sparse-list sparse-list) (j i) (workspace 0 (dense sparse-list))");
    check("", &listed, "its workspace has a sparse-list level, which does not take random writes");
}

#[test]
fn patterns_of_tensors() {
    let of =
        |loops: &str, write: &str| format!("(for {loops}) (write R f64 0.0 {write} (pattern A) (* 2.0 (at A i j)))");
    check("", &of("(i 5) (j 6)", "(5 6) (dense sparse-list) (i j)"), "");
    check("", &of("(i 5) (j 6) (k 2)", "(5 6) (dense sparse-list) (i j) (fold +)"), "");
    check("", &of("(i 5) (j 6)", "(5 6) (dense hash) (i j)"), "`A`, which has another shape or other levels");
    check(
        "",
        &of("(i 5) (j 6)", "(5 6) (dense sparse-list pattern) (i j)"),
        "`A`, but does not store a value for each of its coordinates",
    );
    check("", &of("(i 5) (j 6)", "(5 6) (dense sparse-list) (i j) (drop-fills)"), "`A`, but drops values");
    let squares = "(input S f64 0.0 (5 5) (dense sparse-list))";
    let transposed =
        "(for (i 5) (j 5)) (write R f64 0.0 (5 5) (dense sparse-list) (i j) (pattern S) (at S j (follow i)))";
    check(squares, transposed, "`S`, which its value does not read at the same coordinates");
    let runs = "(input S f64 0.0 (5) (run-length))";
    let of_runs = "(for (i 5)) (write R f64 0.0 (5) (run-length) (i) (pattern S) (at S i))";
    check(runs, of_runs, "`S`, but does not store a value for each of its coordinates");
    check(
        "",
        "(for (i 5)) (write R f64 0.0 (5) (dense) (i) (pattern T) 1.0)",
        "`T`, which is neither an input nor the output of an earlier query",
    );
}
