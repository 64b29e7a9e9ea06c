//! Tests of programs that write one element more than once, read values that they have written,
//! read out of bounds, or have loops of one round or none.

use super::check;
use redpoll_compiler::notation::{normalize, parse, print};

/// Formats of a vector, with levels that are appended to.
const APPENDED: [&str; 7] = [
    "(sparse-list (element))",
    "(block-list (element))",
    "(band (element))",
    "(run-length (element))",
    "(sparse-run-length (element))",
    "(interval (element))",
    "(pinpoint (element))",
];

/// A constant coordinate of an appended level is appended once, not once in each round of a loop.
#[test]
fn a_constant_coordinate_is_appended_once() {
    for level in APPENDED {
        for at in ["0", "1", "2"] {
            check(
                &format!(
                    "(program (input x (type (shape 4) f64 0.0 dense)) (output y (type (shape 3) f64 0.0 {level}))
                       (for j (+= (y {at}) (x j))))"
                ),
                8,
            );
        }
    }
}

/// A coordinate in a mode of size 1 or in a range of one round is appended once, at any depth of
/// the loops.
#[test]
fn modes_and_ranges_of_one_round_are_appended_once() {
    for level in APPENDED {
        for (n, m) in [(1, 3), (3, 1), (1, 1), (2, 1), (1, 2), (0, 2), (2, 0), (1, 0), (0, 1)] {
            let sums = format!(
                "(program (input A (type (shape {n} {m}) f64 0.0 csr)) (output y (type (shape {n}) f64 0.0 {level}))
                   (for j (for i (+= (y i) (A i j)))))"
            );
            if n < 2 {
                check(&sums, 8);
            }
            check(
                &format!(
                    "(program (input A (type (shape {n} {m}) f64 0.0 csr)) (output y (type (shape {m}) f64 0.0 {level}))
                       (for j (for i (range 0 {n}) (+= (y j) (A i j)))))"
                ),
                4,
            );
        }
        check(
            &format!(
                "(program (input A (type (shape 4 3) f64 0.0 csr)) (output y (type (shape 4) f64 0.0 {level}))
                   (for j (for i (range 2 3) (+= (y i) (A i j)))))"
            ),
            8,
        );
    }
}

#[test]
fn matrices_of_one_row_or_column_are_appended_in_any_order_of_loops() {
    for (n, m) in [(1, 3), (3, 1), (1, 1), (1, 0), (0, 1)] {
        for format in ["csr", "dcsr", "csc", "coo", "csf", "(modes 1 0 (sparse-list (dense (element))))"] {
            for loops in ["(for i (for j", "(for j (for i"] {
                let by_columns = format == "csc" || format.starts_with("(modes");
                let concordant = loops.starts_with("(for j") == by_columns;
                if !concordant && n > 1 && m > 1 {
                    continue;
                }
                // The subscripts of an access follow the storage modes, outermost first.
                let access = if by_columns { "C j i" } else { "C i j" };
                check(
                    &format!(
                        "(program (input A (type (shape {n} {m}) f64 0.0 dense)) (output C (type (shape {n} {m}) f64 0.0 {format}))
                           {loops} (init ({access}) (A i j)))))"
                    ),
                    1,
                );
            }
        }
    }
}

/// Later rounds that fold nothing preserve the only entry of a fiber.
#[test]
fn the_only_entry_of_a_fiber_outlives_later_rounds() {
    for level in ["(pinpoint (element))", "(interval (element))"] {
        check(
            &format!(
                "(program (input x (type (shape 1) f64 0.0 dense)) (output y (type (shape 3) f64 0.0 {level}))
                   (for j (for k (range j 1) (+= (y j) (x k)))))"
            ),
            4,
        );
    }
}

/// Comparisons with a value that the rounds of a loop write are not decided before the loop.
#[test]
fn conditions_see_what_earlier_rounds_have_written() {
    for declared in ["(local next i64 0)", "(output next i64 0)"] {
        for condition in ["(ge i (next))", "(gt (+ i 1) (next))", "(le (next) i)", "(eq i (next))"] {
            check(
                &format!(
                    "(program (input x (type (shape 7) f64 0.0 dense)) (output y (type (shape 7) f64 0.0 dense)) {declared}
                       (declare next)
                       (for i (range 0 7) (block (freeze next) (if (and {condition} (ge (x i) 0.0)) (block (thaw next)
                         (= (y i) 1.0) (= (next) (+ i 3)) (freeze next))) (thaw next)))
                       (freeze next))"
                ),
                40,
            );
        }
    }
    // A running count.
    for op in ["lt", "eq", "ge"] {
        check(
            &format!(
                "(program (input x (type (shape 9) f64 0.0 dense)) (output y (type (shape 9) bool false dense)) (local s i64 0)
                   (declare s)
                   (for i (block (+= (s) (cast-i64 (gt (x i) 0.0))) (freeze s) (init (y i) ({op} (s) i)) (thaw s))))"
            ),
            60,
        );
    }
    // A sum that is declared again in each round.
    check(
        "(program (input A (type (shape 4) f64 0.0 dense)) (input B (type (shape 5) f64 0.0 dense))
           (output y (type (shape 5) bool false dense)) (local t i64 0)
           (for l (where (init (y l) (lt (t) l)) (for j (+= (t) (cast-i64 (lt (A j) (B l))))))))",
        60,
    );
}

/// Several writes of one tensor in a run are repeated round by round, unless repeating each write
/// by itself gives the same result.
#[test]
fn several_writes_of_one_tensor_in_a_run() {
    for body in [
        "(= (w) 1.0) (+= (w) 1.0)",
        "(+= (w) 1.0) (= (w) 3.0)",
        "(+= (w) 1.0) (*= (w) 2.0)",
        "(+= (w) 1.0) (+= (w) 2.0)",
        "(max= (w) 1.0) (min= (w) 0.5)",
        "(min= (w) 1.0) (+= (w) 2.0)",
        "(= (w) 1.0) (= (w) 2.0)",
        "(choose= (w) 1.0) (choose= (w) 2.0)",
    ] {
        check(&format!("(program (output w (type (shape) f64 0.0 dense)) (for i (range 0 7) (block {body})))"), 1);
        let of_runs = body.replace("1.0", "(x i)");
        check(
            &format!(
                "(program (input x (type (shape 7) f64 0.0 (run-length (element)))) (output w (type (shape) f64 0.0 dense))
                   (for i (block {of_runs})))"
            ),
            60,
        );
    }
    check(
        "(program (input x (type (shape 7) f64 0.0 (run-length (element)))) (output w (type (shape) f64 0.0 dense))
           (for i (block (if (gt (x i) 0.0) (= (w) 0.0)) (+= (w) 1.0))))",
        60,
    );
    for body in [
        "(+= (y 0) 1.0) (= (y i) 2.0)",
        "(= (y i) 2.0) (+= (y 0) 1.0)",
        "(= (y i) 1.0) (= (y (+ i 1)) 2.0)",
        "(+= (y i) 1.0) (+= (y (+ i 1)) 2.0)",
        "(= (y i) 1.0) (+= (y i) 2.0)",
    ] {
        for level in ["dense", "(hash (element))", "(byte-map (element))"] {
            check(
                &format!(
                    "(program (input x (type (shape 6) f64 0.0 (sparse-run-length (element))))
                       (output y (type (shape 7) f64 0.0 {level}))
                       (for i (if (ne (x i) 0.0) (block {body}))))"
                ),
                20,
            );
        }
    }
}

/// Each copy of a loop binds its variables itself: a binding in one copy does not hold in the next.
#[test]
fn variables_are_bound_once_in_each_copy_of_a_loop() {
    for level in
        ["(sparse-list (element))", "(run-length (element))", "(sparse-run-length (element))", "(band (element))"]
    {
        check(
            &format!(
                "(program (input x (type (shape 9) f64 0.0 {level})) (input I (type (shape 10) i64 0 dense))
                   (output c (type (shape) i64 0 dense)) (output d (type (shape) f64 0.0 dense))
                   (for k (block (+= (d) (x k)) (for i (range 0 10) (let l (I i) (if (lt l i) (+= (c) 1)))))))"
            ),
            40,
        );
    }
    check(
        "(program (input I (type (shape 10) i64 0 dense)) (output c (type (shape) i64 0 dense)) (output d (type (shape) i64 0 dense))
           (for j (range 0 2) (for k (range 0 2) (block (if (eq k 1) (+= (d) 1))
             (for i (range 3 4) (let l (I k) (if (lt l i) (+= (c) 1))))))))",
        60,
    );
}

/// If an outer subscript is out of bounds, the read gives the value of its `outside`, and not the
/// fill value of an absent fiber.
#[test]
fn reads_out_of_bounds_of_several_modes() {
    for (outer, inner) in [("1.0", "1.0"), ("1.0", "2.0"), ("1.0", "0.0"), ("0.0", "1.0"), ("5.0", "0.0")] {
        for (i, j) in
            [("(- i 1)", "(- j 1)"), ("(+ i 1)", "(- 2 j)"), ("(- 3 i)", "(- 3 j)"), ("i", "(* 2 j)"), ("2", "j")]
        {
            check(
                &format!(
                    "(program (input A (type (shape 3 3) f64 0.0 dense)) (output B (type (shape 5 5) f64 0.0 dense))
                       (for i (range 0 5) (for j (range 0 5) (= (B i j) (A (outside {outer} {i}) (outside {inner} {j}))))))"
                ),
                30,
            );
        }
    }
    // Reads out of bounds of a workspace to which nothing is written also give the value of their
    // `outside`.
    check(
        "(program (output B (type (shape 5) f64 0.0 dense)) (local w (type (shape 3) f64 0.0 dense))
           (block (declare w) (freeze w) (for i (range 0 5) (= (B i) (w (outside 1.0 (- i 1)))))))",
        1,
    );
}

/// An overwrite that copies a workspace stores no fill values if each element is written once.
#[test]
fn single_overwrites_store_no_fill_values() {
    for level in ["csr", "dcsr", "coo"] {
        let program = format!(
            "(program (input A (type (shape 6 5) f64 0.0 csr)) (output C (type (shape 6 5) f64 0.0 {level}))
               (local w (type (shape 5) f64 0.0 (hash (element))))
               (for i (where (for j (= (C i j) (w j))) (for k (+= (w k) (A i k))))))"
        );
        check(&program, 20);
        let normal = normalize(parse(&program).unwrap()).unwrap();
        let init = |text: &str| text.contains("(init (C ");
        assert!(init(&print(&normal)), "{}", print(&normal));
        // With a loop around the copy, a later round may overwrite an element that already has a
        // value.
        let again = program
            .replace("(for k (+=", "(for k (range 0 5) (+=")
            .replace("(for i (where", "(for l (range 0 2) (for i (where")
            + ")";
        let again = again.replace(level, "(hash (hash (element)))");
        let normal = normalize(parse(&again).unwrap()).unwrap();
        assert!(!init(&print(&normal)), "{}", print(&normal));
    }
}

/// Several statements that write one coordinate of an appended level append it once.
#[test]
fn statements_share_a_coordinate_of_an_appended_level() {
    for level in APPENDED {
        for at in ["0", "1"] {
            check(
                &format!(
                    "(program (input x (type (shape 4) f64 0.0 dense)) (output y (type (shape 2) f64 0.0 {level}))
                       (block (= (y {at}) 3.0) (+= (y {at}) 1.0) (for j (+= (y {at}) (x j))) (for k (min= (y {at}) (x k)))))"
                ),
                2,
            );
        }
    }
    for format in ["csr", "coo", "(dense (pinpoint (element)))", "(dense (interval (element)))"] {
        check(
            &format!(
                "(program (input x (type (shape 4) f64 0.0 dense)) (output Y (type (shape 5 1) f64 0.0 {format}))
                   (for i (range 0 4) (block (-= (Y (+ i 1) 0) 1.0) (= (Y (+ i 1) 0) (x i)))))"
            ),
            1,
        );
    }
}

/// A pattern leaf stores the coordinates of `true` alone: a write of `false` stores nothing, and a
/// fold that could remove a stored coordinate is rejected.
#[test]
fn pattern_leaves_store_true_alone() {
    let program = |write: &str| {
        format!(
            "(program (input I (type (shape 4) i64 0 dense)) (output Y (type (shape 4) bool false (block-list (pattern))))
               (for i {write}))"
        )
    };
    for write in ["(= (Y i) (gt (I i) 0))", "(or= (Y i) (gt (I i) 0))", "(max= (Y i) (gt (I i) 0))"] {
        check(&program(write), 8);
    }
    let refused = parse(&program("(and= (Y i) (gt (I i) 0))")).and_then(normalize).unwrap_err().to_string();
    assert!(refused.contains("`Y` has a pattern leaf"), "{refused}");
}

/// A write in a loop without rounds does not append its coordinate, even between writes that append
/// this coordinate.
#[test]
fn writes_that_never_happen_append_nothing() {
    for level in APPENDED.into_iter().chain(["(hash (element))", "(dense (element))"]) {
        for inner in ["(let v 0 (for k (range 0 0) (-= (y 2) 1)))", "(for k (range 3 1) (for l (-= (y l) 1)))"] {
            let output = format!("(output y (type (shape 3) f64 3.0 {level}))");
            check(&format!("(program {output} (= (y 2) 0) {inner} (choose= (y 2) 4))"), 1);
        }
    }
}
