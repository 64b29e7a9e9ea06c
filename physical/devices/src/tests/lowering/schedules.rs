//! Tests that programs compute the same results with and without schedules, over inputs of many
//! formats, and that schedules are rejected if their preconditions do not hold.

use super::{RUNNERS, Rng, compare_in_formats, formats};
use expect_test::{Expect, expect};
use redpoll_compiler::notation::{Program, Role, apply_schedule, normalize, parse, print};
use redpoll_logic::{FloatMode, Format, StorageMode, TensorType};
use std::sync::Arc;

/// Checks each schedule of a program in `cases` combinations of formats of its inputs, apart from
/// combinations to which the schedule does not apply.
fn check(declarations: &str, body: &str, schedules: &[&str], cases: usize) {
    for schedule in schedules {
        let text = format!("(program {declarations} (schedule {schedule}) {body})");
        let written = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(parse(&print(&written)).unwrap(), written, "the text of a schedule reads back");
        let mut rng = Rng(text.len() as u64);
        for case in 0..cases {
            let mut written = written.clone();
            for decl in written.tensors.iter_mut().filter(|decl| case > 0 && decl.role == Role::Input) {
                let all = formats(&decl.ty, decl.role);
                let format = all[rng.below(all.len())].clone();
                decl.ty = Arc::new(TensorType { format, ..(*decl.ty).clone() });
            }
            // Without its schedule, a program may write out of order, so the outputs get dense
            // formats, which allow that.
            let mut plain = Program { schedule: Vec::new(), ..written.clone() };
            for decl in plain.tensors.iter_mut().filter(|decl| decl.role == Role::Output) {
                decl.ty = Arc::new(TensorType { format: Format::dense(decl.ty.shape.len()), ..(*decl.ty).clone() });
            }
            let plain = normalize(plain).unwrap_or_else(|e| panic!("{e}\n{text}"));
            // If a format stores the modes in another order, the outermost loop does not iterate
            // over the outermost storage mode, and stored entries cannot be divided among its
            // rounds.
            let row_major = written.tensors.iter().all(|t| modes_in_order(&t.ty));
            if schedule.contains("stored") && !row_major {
                continue;
            }
            let result = match apply_schedule(written, FloatMode::Relaxed) {
                Err(error) if error.to_string().contains("is not unique") => continue,
                result => result.unwrap_or_else(|e| panic!("{e}\n{text}")),
            };
            let normal = normalize(result.clone()).unwrap_or_else(|e| panic!("{e}\n{}", print(&result)));
            let agree = compare_in_formats(&Arc::new(normal), &plain, &mut rng, &RUNNERS);
            agree.unwrap_or_else(|what| panic!("{schedule}: {what}"));
        }
    }
}

/// Returns whether storage modes are the whole modes of the tensor, in order.
fn modes_in_order(ty: &TensorType) -> bool {
    ty.format.modes.iter().enumerate().all(|(k, mode)| *mode == StorageMode::Whole { mode: k })
}

const MATRIX_VECTOR: &str = "(input A (type (shape 5 7) f64 0.0 csr)) (input x (type (shape 7) f64 0.0 dense))
    (output y (type (shape 5) f64 0.0 dense))";
const PRODUCT: &str = "(input A (type (shape 5 6) f64 0.0 csr)) (input B (type (shape 6 7) f64 0.0 dense))
    (output C (type (shape 5 7) f64 0.0 dense))";

#[test]
fn matrix_times_vector() {
    check(
        MATRIX_VECTOR,
        "(for i (for j (+= (y i) (* (A i j) (x j)))))",
        &[
            "(reorder j i)",
            "(split i io ii 2)",
            "(split i io ii 5)",
            "(split j jo ji 3)",
            "(split j jo ji (into 2))",
            "(split j jo ji (into 20))",
            "(split j jo ji 3) (reorder jo i ji)",
            "(split i io ii 2) (split j jo ji 3) (reorder io jo ii ji)",
            "(split i io ii 3) (split ii im ij 2)",
            "(bound i 5) (bound j 7)",
            "(collapse i j p) (split p po pi 4)",
            "(collapse i j p) (split p po pi (into 3)) (parallel po)",
            "(collapse i j p) (split p po pi 100)",
            "(collapse i j p) (split p po pi (into 4 (stored A)))",
            "(collapse i j p) (split p po pi (into 4 (stored A))) (split pi pm pj 2)",
            "(collapse i j p) (split p po pi 9) (split pi pm pj (into 2)) (split pj pk pl 2)",
            "(split i io ii (into 3 (stored A))) (parallel io)",
            "(split i io ii (of 4 (stored A))) (parallel io)",
            "(collapse i j p) (split p po pi (of 5 (stored A))) (split pi pm pj 2)",
            "(split j jo ji (into 3 (stored A))) (split i io ii 2)",
            "(split j jo ji (of 2 (stored A))) (parallel i)",
            "(split j jo ji (of 2 (stored A))) (unroll ji 2)",
            "(split j jo ji (into 2 (stored A))) (bound ji (at-most 3)) (unroll ji)",
            "(bound i (at-most 9))",
            "(split i io ii 2) (unroll ii)",
            "(split i io ii 3) (unroll ii 2)",
            "(split i io ii (into 3 (stored A))) (unroll ii 2)",
            "(parallel i)",
            "(split i io ii 2) (parallel io)",
            "(precompute w y (A x) (j jc jp))",
            "(precompute w y () (j jc jp))",
            "(precompute w y (x) (j jc jp))",
            "(reorder j i) (precompute w y (A x) (i ic ip))",
            "(unroll j)",
            "(unroll j 2)",
            "(unroll j 3) (parallel i)",
            "(split i io ii 2) (unroll j 64)",
            "(lanes j 2)",
            "(lanes j 4)",
            "(lanes j 4) (split j jo ji 5)",
            "(split j jo ji 5) (lanes ji 2) (parallel i)",
        ],
        60,
    );
}

/// Blocks of a split loop append their rows. Lowering does not treat the blocks as loops that
/// return to earlier rows.
#[test]
fn blocks_of_rows_are_appended() {
    check(
        "(input A (type (shape 5 7) f64 0.0 csr)) (output C (type (shape 5 7) f64 0.0 csr))",
        "(for i (for j (= (C i j) (A i j))))",
        &[
            "(split i io ii 4)",
            "(split i io ii 2)",
            "(split i io ii 1)",
            "(split i io ii 9)",
            "(split j jo ji 3)",
            "(split i io ii (into 3 (stored A)))",
            "(split i io ii (of 4 (stored A)))",
            "(split j jo ji (of 2 (stored A)))",
            "(split i io ii (into 2 (stored A))) (split ii i1 i2 2)",
            "(split i io ii (of 6 (stored A))) (split ii i1 i2 2)",
            "(split j jo ji (of 3 (stored A))) (split ji j1 j2 2)",
            "(split j jo ji (into 2 (stored A))) (split ji j1 j2 3)",
            "(split i io ii (into 2 (stored A))) (split ii i1 i2 (into 2 (stored A)))",
            "(split j jo ji (of 4 (stored A))) (split ji j1 j2 (of 2 (stored A)))",
            "(split j jo ji (of 4 (stored A))) (split ji j1 j2 (of 1 (stored A))) (split j2 j3 j4 2)",
        ],
        20,
    );
}

/// Chunks of blocks append ranges of rows, with a shorter last block, and with blocks that are
/// empty.
#[test]
fn chunks_of_blocks_of_rows_are_appended() {
    for (rows, format) in [(0, "csr"), (1, "csr"), (2, "dcsr"), (5, "csr"), (5, "dcsr"), (5, "csf"), (7, "csr")] {
        check(
            &format!(
                "(input A (type (shape {rows} 7) f64 0.0 csr)) (input B (type (shape {rows} 7) f64 0.0 csr))
                 (output C (type (shape {rows} 7) f64 0.0 {format}))"
            ),
            "(for i (for j (= (C i j) (* (A i j) (B i j)))))",
            &[
                "(split i io ii 2) (parallel io)",
                "(split i io ii 3) (parallel io)",
                "(split i io ii 1) (parallel io)",
                "(split i io ii 32) (parallel io)",
                "(split i io ii (into 2)) (parallel io)",
                "(split i io ii 4) (split ii i1 i2 2) (parallel io)",
            ],
            12,
        );
    }
}

/// Copies of the body of an unrolled loop append one after the other.
#[test]
fn copies_of_bodies_are_appended() {
    check(
        "(input A (type (shape 5 7) f64 0.0 dense)) (output C (type (shape 5 7) f64 0.0 csr))",
        "(for i (for j (= (C i j) (A i j))))",
        &["(unroll i 2)", "(unroll i 3)", "(unroll i)", "(unroll j 3)", "(unroll j)", "(unroll j 2) (unroll i 2)"],
        20,
    );
    check(
        "(input A (type (shape 5 7) f64 0.0 csr)) (output C (type (shape 5 7) f64 0.0 dcsr))",
        "(for i (for j (= (C i j) (A i j))))",
        &["(unroll i 2)", "(unroll i 3)", "(unroll i)", "(unroll j 3)"],
        20,
    );
}

/// Blocks of stored entries span several modes, or lie within the fibers below other modes.
#[test]
fn entries_of_tensors_are_cut() {
    check(
        "(input T (type (shape 4 3 5) f64 0.0 csf)) (output y (type (shape 4) f64 0.0 dense))",
        "(for i (for j (for k (+= (y i) (* (T i j k) (+ j k))))))",
        &[
            "(collapse i j p) (collapse p k q) (split q qo qi (into 4 (stored T))) (parallel qo)",
            "(collapse j k p) (collapse i p q) (split q qo qi (of 3 (stored T))) (split qi qm qj 2)",
            "(collapse i j p) (split p po pi (of 3 (stored T)))",
            "(collapse j k p) (split p po pi (of 3 (stored T))) (parallel i)",
            "(split k ko ki (of 2 (stored T)))",
            "(split k ko ki (of 4 (stored T))) (split ki k1 k2 (of 2 (stored T)))",
            "(split k ko ki (into 2 (stored T))) (split ki k1 k2 (into 3 (stored T)))",
            "(collapse i j p) (collapse p k q) (split q qo qi (of 6 (stored T))) (split qi qm qj (of 3 (stored T)))",
            "(collapse i j p) (collapse p k q) (split q qo qi (of 6 (stored T))) (split qi qm qj (of 3 (stored T))) (split qj qk ql 2)",
            "(collapse j k p) (split p po pi (into 2 (stored T))) (split pi pm pj (into 2 (stored T)))",
            "(split j jo ji (into 2 (stored T))) (split k ko ki (into 2 (stored T)))",
        ],
        30,
    );
}

/// The rounds change the value that bounds the loop, but the bound stays the value from before the
/// first round.
#[test]
fn extents_are_evaluated_once() {
    check(
        "(input x (type (shape 7) f64 0.0 dense)) (output n (type (shape) i64 5 dense))
         (output y (type (shape 7) f64 0.0 dense))",
        "(for i (range 0 (n)) (block (min= (n) (* 2 i)) (+= (y i) (x i))))",
        &[
            "(split i io ii 2)",
            "(split i io ii (into 2))",
            "(unroll i 2)",
            "(bound i (at-most 2))",
            "(bound i (at-most 3)) (unroll i)",
            "(bound i (at-most 9)) (unroll i)",
        ],
        1,
    );
}

#[test]
fn products_of_matrices_in_tiles() {
    check(
        PRODUCT,
        "(for i (for k (for j (+= (C i j) (* (A i k) (B k j))))))",
        &[
            "(split j jo ji 3) (reorder jo i k ji)",
            "(collapse i k p) (collapse p j q) (split q qo qi 11)",
            "(collapse k j p) (collapse i p q) (split q qo qi (into 4)) (split qi qm qj 5)",
            "(split k ko ki 2) (split j jo ji 4) (reorder ko jo i ki ji)",
            "(reorder j k i)",
            "(precompute w C (A B) (j jc jp))",
            "(precompute w C (A B) (j jc jp) (byte-map (element)))",
        ],
        40,
    );
}

/// Gustavson's product is derived from loops that write its sparse output out of order.
#[test]
fn workspaces_bring_writes_into_order() {
    let sparse = "(input A (type (shape 5 6) f64 0.0 csr)) (input B (type (shape 6 7) f64 0.0 csr))
        (output C (type (shape 5 7) f64 0.0 csr))";
    check(
        sparse,
        "(for i (for k (for j (+= (C i j) (* (A i k) (B k j))))))",
        &["(precompute w C (A B) (j jc jp) (byte-map (element)))", "(precompute w C () (j jc jp) (hash (element)))"],
        40,
    );
}

/// If a sum has a further summand, the program already computes the sum in a temporary, and its
/// loops can be split. If a sum has a further factor, `precompute` moves the sum into a workspace,
/// and the loops can then change places.
#[test]
fn sums_are_precomputed_before_loops_change_places() {
    let declarations = "(input A (type (shape 5 7) f64 0.0 csr)) (input x (type (shape 7) f64 0.0 dense))
        (input d (type (shape 5) f64 0.0 dense)) (output y (type (shape 5) f64 0.0 dense)) (local t f64 0.0)";
    check(
        declarations,
        "(for i (where (init (y i) (+ t (d i))) (for j (+= t (* (A i j) (x j))))))",
        &["(split i io ii 2)", "(split j jo ji 2)"],
        20,
    );
    check(
        "(input A (type (shape 5 7) f64 0.0 csr)) (input x (type (shape 7) f64 0.0 dense))
         (input d (type (shape 5) f64 0.0 dense)) (output y (type (shape 5) f64 0.0 dense))",
        "(for i (for j (+= (y i) (* (A i j) (x j) (d i)))))",
        &["(reorder j i) (precompute w y (A x) (i ic ip)) (reorder ip j)"],
        20,
    );
}

#[test]
fn copies_of_bodies() {
    let declarations = "(input x (type (shape 7) f64 0.0 dense)) (output y (type (shape 7) f64 0.0 dense))
        (output s (type (shape) f64 0.0 dense)) (local t f64 0.0)";
    check(
        declarations,
        "(for i (where (block (init (y i) t) (+= (s) t)) (+= t (* (x i) 2.0))))",
        &["(unroll i)", "(unroll i 2)", "(unroll i 7)", "(unroll i 100)", "(split i io ii 3) (unroll io)"],
        1,
    );
}

#[test]
fn semirings_other_than_plus_and_times() {
    check(
        "(input A (type (shape 5 7) f64 inf csr)) (input x (type (shape 7) f64 inf dense))
         (output y (type (shape 5) f64 inf dense))",
        "(for i (for j (min= (y i) (+ (A i j) (x j)))))",
        &[
            "(reorder j i)",
            "(split j jo ji 2) (reorder jo i ji)",
            "(reorder j i) (precompute w y (A x) (i ic ip))",
            "(lanes j 2)",
        ],
        40,
    );
}

/// Covers walks longer and shorter than their lanes, loops that do more than fold one value, and
/// several lists.
#[test]
fn walks_are_folded_in_lanes() {
    let declarations = "(input A (type (shape 4 40) f64 0.0 csr)) (input B (type (shape 4 40) f64 0.0 csr))
        (input x (type (shape 40) f64 0.0 dense)) (output y (type (shape 4) f64 0.0 dense))
        (output z (type (shape 4) f64 0.0 dense))";
    for body in [
        "(for i (for j (+= (y i) (* (A i j) (x j)))))",
        "(for i (for j (+= (y i) (* (A i j) (x j) (x j) (+ 1.0 (A i j))))))",
        "(for i (for j (max= (y i) (* (A i j) j))))",
        "(for i (for j (+= (y i) (* (A i j) (B i j)))))",
        "(for i (for j (+= (y i) (+ (A i j) (B i j)))))",
        "(for i (for j (range 3 (+ i 20)) (+= (y i) (A i j))))",
        "(for i (for j (block (+= (y i) (A i j)) (+= (z i) (x j)))))",
        "(for i (block (for j (range 0 17) (+= (y i) (A i j))) (for k (range 17 40) (+= (z i) (A i k)))))",
        "(for j (+= (y 0) (x j)))",
    ] {
        check(declarations, body, &["(lanes j 2)", "(lanes j 4)", "(lanes j 16)"], 6);
    }
}

fn rejection(declarations: &str, body: &str, schedule: &str) -> String {
    let text = format!("(program {declarations} (schedule {schedule}) {body})");
    let result = parse(&text).and_then(|program| apply_schedule(program, FloatMode::Relaxed));
    result.map_or_else(|e| e.to_string(), |result| panic!("{schedule} is not rejected:\n{}", print(&result)))
}

fn check_errors(expected: &Expect, cases: &[(&str, &str, &str)]) {
    let lines = cases.iter().map(|(declarations, body, schedule)| rejection(declarations, body, schedule) + "\n");
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn preconditions() {
    let product = "(for i (for j (+= (y i) (* (A i j) (x j)))))";
    let triangle = "(for i (for j (range i 5) (+= (y i) (A i j))))";
    let last = "(for i (for j (= (y i) (A i j))))";
    let scan = "(for i (block (+= (s) (x i)) (freeze s) (init (z i) (s)) (thaw s)))";
    let scanned = "(input x (type (shape 7) f64 0.0 dense)) (output z (type (shape 7) f64 0.0 dense))
        (output s (type (shape) f64 0.0 dense))";
    let v = MATRIX_VECTOR;
    check_errors(
        &expect![[r#"
            invalid program, at `(reorder i k)`: there is no loop of `k`; the loops are `i`, `j`
            invalid program, at `(reorder i i)`: a loop is named twice
            invalid program, at `(reorder j i)`: the extent of the loop of `j` depends on `i`, which would be inside of it
            invalid program, at `(reorder j i)`: another order of rounds may change `y`, whose writes are not folds by one associative and commutative operator
            invalid program, at `(split i j ii 2)`: a loop of `j` already exists; choose another name
            invalid program, at `(collapse j i p)`: the only statement in the loop of `j` must be the loop of `i`
            invalid program, at `(collapse i j p)`: the loop of `j` has no constant extent
            invalid program, at `(parallel p)`: `p` is the product of the loops `i`, `j` and not a loop; name one of these loops, or split the product, as in `split(p, p_o, p_i, into(4))`, and name the loop over blocks
            invalid program, at `(split pi pm pj (of 3 (stored A)))`: the loop is a block of stored entries of `A` already; split it by `of(M, stored(A))` with a divisor M of 8, or by a number of rounds
            invalid program, at `(split pi pm pj (into 2 (stored A)))`: the loop is a block of stored entries of `A` already; split it by `of(M, stored(A))` with a divisor M of 8, or by a number of rounds
            invalid program, at `(split pi pm pj (of 2 (stored A)))`: `pi` is a block of rounds; split the whole product by the stored entries of `A` first, and its blocks by a number of rounds
            invalid program, at `(split ii i1 i2 (of 2 (stored A)))`: the loop is a block of stored entries of `A` already; a round may have several entries, so split it by a number of rounds
            invalid program, at `(split ji j1 j2 (of 2 (stored A)))`: the loop is a block of stored entries of `A` already; split it by `into(M, stored(A))` or by a number of rounds
            invalid program, at `(split ii i1 i2 (into 9000 (stored A)))`: 81000000 blocks exceed the maximum of 1048576
            invalid program, at `(unroll pi 2)`: `pi` is the product of the loops `i`, `j` and not a loop; name one of these loops, or split the product, as in `split(pi, pi_o, pi_i, into(4))`, and name the loop over blocks
            invalid program, at `(bound i 6)`: the loop of `i` has 5 rounds
            invalid program, at `(bound j 5)`: the number of rounds of the loop of `j` is computed at run time; give an upper bound, `at-most(N)`
            invalid program, at `(bound i (at-most 4))`: the loop of `i` has 5 rounds
            invalid program, at `(unroll j)`: the number of stored entries is known only at run time; specify the number of copies
            invalid program, at `(precompute x y (A) (j jc jp))`: a tensor `x` already exists; choose another name, such as `x_2`
            invalid program, at `(precompute w y (A) (i ic ip))`: the loops over which the part is computed are not the innermost ones
            invalid program, at `(precompute w y (A) (i ic ip))`: the loops over which the part is computed are not the innermost ones
            invalid program, at `(precompute w z (A) (j jc jp))`: there is no tensor `z`
            invalid program, at `(reorder ii io)`: the extent of the loop of `ii` depends on `io`, which would be inside of it
            invalid program, at `(split i io ii 2)`: there are 2 loops of `i`; give each a name of its own
            invalid program, at `(reorder ii io)`: `s` is frozen, thawed or swapped within the loops
            program text: line 2, column 72: expected a number above 0, found 0
            invalid program, at `(split j jo ji (into 2 (stored A)))`: the loop must iterate over one storage mode of `A` from begin to end; the loops of a product must iterate over adjacent storage modes in order
            invalid program, at `(split j jo ji (of 2 (stored A)))`: the loop must be inside of the loops that determine the coordinate of `A` in storage mode 0; this coordinate must depend on indices alone, without an `outside`
            invalid program, at `(split i io ii (into 2 (stored y)))`: there is no input `y`
            invalid program, at `(split i io ii (into 9000000000 (stored A)))`: 9000000000 blocks exceed the maximum of 1048576
            program text: line 2, column 80: expected `(stored A)`, found (of A)
            program text: line 2, column 57: expected `bound`, `collapse`, `lanes`, `parallel`, `precompute`, `reorder`, `split`, `unroll`, found (tile i 2)
            program text: line 2, column 57: unknown transformation `paralel`; did you mean `parallel`?
            invalid program, at `(lanes j 3)`: expected 2, 4, 8 or 16 lanes, found 3
            invalid program, at `(lanes j 32)`: expected 2, 4, 8 or 16 lanes, found 32
            invalid program, at `(lanes j 4)`: another order of rounds may change `y`, whose writes are not folds by one associative and commutative operator
            program text: line 2, column 88: expected a number of lanes, 2, 4, 8 or 16, found 3
        "#]],
        &[
            (v, product, "(reorder i k)"),
            (v, product, "(reorder i i)"),
            (v, triangle, "(reorder j i)"),
            (v, last, "(reorder j i)"),
            (v, product, "(split i j ii 2)"),
            (v, product, "(collapse j i p)"),
            (v, triangle, "(collapse i j p)"),
            (v, product, "(collapse i j p) (parallel p)"),
            (v, product, "(collapse i j p) (split p po pi (of 8 (stored A))) (split pi pm pj (of 3 (stored A)))"),
            (v, product, "(collapse i j p) (split p po pi (of 8 (stored A))) (split pi pm pj (into 2 (stored A)))"),
            (v, product, "(collapse i j p) (split p po pi 8) (split pi pm pj (of 2 (stored A)))"),
            (v, product, "(split i io ii (of 8 (stored A))) (split ii i1 i2 (of 2 (stored A)))"),
            (v, product, "(split j jo ji (into 8 (stored A))) (split ji j1 j2 (of 2 (stored A)))"),
            (v, product, "(split i io ii (into 9000 (stored A))) (split ii i1 i2 (into 9000 (stored A)))"),
            (v, product, "(collapse i j p) (split p po pi 4) (unroll pi 2)"),
            (v, product, "(bound i 6)"),
            (v, triangle, "(bound j 5)"),
            (v, product, "(bound i (at-most 4))"),
            (v, triangle, "(unroll j)"),
            (v, product, "(precompute x y (A) (j jc jp))"),
            (v, product, "(precompute w y (A) (i ic ip))"),
            (v, last, "(precompute w y (A) (i ic ip))"),
            (v, product, "(precompute w z (A) (j jc jp))"),
            (v, product, "(split i io ii 2) (reorder ii io)"),
            (v, "(for i (for j (+= (y i) (* (A i j) (x j))))) (for i (+= (y i) 1.0))", "(split i io ii 2)"),
            (scanned, scan, "(split i io ii 2) (reorder ii io)"),
            (v, product, "(split i io ii 0)"),
            (v, triangle, "(split j jo ji (into 2 (stored A)))"),
            (v, product, "(reorder j i) (split j jo ji (of 2 (stored A)))"),
            (v, product, "(split i io ii (into 2 (stored y)))"),
            (v, product, "(split i io ii (into 9000000000 (stored A)))"),
            (v, product, "(split j jo ji (into 2 (of A)))"),
            (v, product, "(tile i 2)"),
            (v, product, "(paralel i)"),
            (v, product, "(lanes j 3)"),
            (v, product, "(lanes j 32)"),
            (v, last, "(lanes j 4)"),
            (v, "(for i (lanes-for 3 j (+= (y i) (A i j))))", "(bound i 5)"),
        ],
    );
}
