//! Tests of programs that break a rule, and of the error messages.

use super::*;
use crate::Error;
use expect_test::{Expect, expect};

const TENSORS: &str = "(input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
    (input p (type (shape 4) i64 0 dense)) (input h (type (shape 4) f32 0.0 dense))
    (output y (type (shape 4) f64 0.0 dense)) (local t f64 0.0) (local n i64 0)
    (local w (type (shape 4) f64 0.0 (byte-map (element)))) (local v (type (shape 4) f64 0.0 (byte-map (element))))";

fn text(body: &str) -> String {
    format!("(program {TENSORS} {body})")
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn rejects(body: &str, rule: ProgramRule, expected: Expect) {
    let e = verify(&program(&text(body))).expect_err(body);
    let Error::InvalidProgram { rule: found, .. } = &e else { panic!("{e}") };
    assert_eq!(*found, rule, "{e}");
    expected.assert_eq(&e.to_string());
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn normalize_fails(body: &str, expected: Expect) {
    expected.assert_eq(&normalize(program(&text(body))).expect_err(body).to_string());
}

#[test]
fn a_whole_program_is_accepted() {
    verify(&program(&text(
        "(declare y) (for i (block (declare t) (for j (+= t (* (A i j) (x j)))) (freeze t) (init (y i) t))) (freeze y)",
    )))
    .unwrap();
}

#[test]
fn unordered_input() {
    let levels = "(dense (sparse-list unordered (element)))";
    let p = format!(
        "(program (input A (type (shape 4 5) f64 0.0 {levels})) (output y (type (shape 4) f64 0.0 dense))
        (for i (for j (+= (y i) (A i j)))))"
    );
    let error = normalize(program(&p)).unwrap_err().to_string();
    expect!["invalid program, at `program`: level 1 of `A` is unordered; convert it to an ordered format first"]
        .assert_eq(&error);
}

#[test]
fn ranks_and_dtypes() {
    let wrap = |s: &str| format!("(declare y) (for i {s}) (freeze y)");
    rejects(
        &wrap("(init (y i) (x i i))"),
        ProgramRule::Rank,
        expect![
            "invalid program, at `for i > (init (y i) (x i i))`: access to `x` has 2 subscripts, expected 1, one for each storage mode"
        ],
    );
    rejects(
        &wrap("(init (y) (x i))"),
        ProgramRule::Rank,
        expect![
            "invalid program, at `for i > (init (y) (x i))`: access to `y` has 0 subscripts, expected 1, one for each storage mode"
        ],
    );
    rejects(
        &wrap("(init (y i) (h i))"),
        ProgramRule::DType,
        expect![
            "invalid program, at `for i > (init (y i) (h i))`: the value written `(h i)` has dtype f32, expected f64; put a cast around it"
        ],
    );
    rejects(
        &wrap("(init (y i) (x (x i)))"),
        ProgramRule::DType,
        expect!["invalid program, at `for i > (init (y i) (x (x i)))`: a subscript of `x` has dtype f64, expected i64"],
    );
    rejects(
        &wrap("(init (y (x i)) 1)"),
        ProgramRule::DType,
        expect![
            "invalid program, at `for i > (init (y (x i)) 1.0)`: a subscript `(x i)` has dtype f64, expected i64; put a cast around it"
        ],
    );
    rejects(
        &wrap("(if i (init (y i) 1))"),
        ProgramRule::DType,
        expect![
            "invalid program, at `for i > if i`: a condition `i` has dtype i64, expected bool; put a cast around it"
        ],
    );
    rejects(
        &wrap("(for j (range 0 (x i)) (+= (y i) 1))"),
        ProgramRule::DType,
        expect![
            "invalid program, at `for i > for j`: an extent `(x i)` has dtype f64, expected i64; put a cast around it"
        ],
    );
    rejects(
        &wrap("(minby= (y i) 1)"),
        ProgramRule::DType,
        expect![
            "invalid program, at `for i > (minby= (y i) 1.0)`: operator `minby` does not fold values of `y`, which are f64"
        ],
    );
    rejects(
        &wrap("(init (y (outside 1.0 i)) 1)"),
        ProgramRule::Write,
        expect![
            "invalid program, at `for i > (init (y (outside 1.0 i)) 1.0)`: a write of `y` has an `outside`; guard it with an `if`"
        ],
    );
    rejects(
        &wrap("(init (y i) (x (outside (lit f32 1) i)))"),
        ProgramRule::DType,
        expect![
            "invalid program, at `for i > (init (y i) (x (outside (lit f32 1.0) i)))`: `outside` of `x` has dtype f32, expected f64"
        ],
    );
}

#[test]
fn lifecycles_and_roles() {
    rejects(
        "(for i (init (y i) 1))",
        ProgramRule::Lifecycle,
        expect![
            "invalid program, at `for i > (init (y i) 1.0)`: `y` is written but not declared; declare it first, in an enclosing scope"
        ],
    );
    rejects(
        "(declare y) (for i (init (y i) 1))",
        ProgramRule::Role,
        expect!["invalid program, at `program`: output `y` is being written at the end of the program; freeze it"],
    );
    rejects(
        "(declare y) (freeze y) (for i (init (y i) 1))",
        ProgramRule::Lifecycle,
        expect!["invalid program, at `for i > (init (y i) 1.0)`: `y` is written but frozen; thaw it first"],
    );
    rejects(
        "(declare y) (for i (= (y i) (+ (y i) 1))) (freeze y)",
        ProgramRule::Lifecycle,
        expect![
            "invalid program, at `for i > (= (y i) (+ (y i) 1.0))`: `y` is read while it is written; freeze it first, or fold"
        ],
    );
    rejects(
        "(declare y) (for i (= (y i) t)) (freeze y)",
        ProgramRule::Lifecycle,
        expect![
            "invalid program, at `for i > (= (y i) (t))`: `t` is read but not declared; declare it in an enclosing scope"
        ],
    );
    rejects(
        "(declare y) (freeze y) (declare y) (freeze y)",
        ProgramRule::Lifecycle,
        expect!["invalid program, at `(declare y)`: `y` is declared twice; use two tensors"],
    );
    rejects(
        "(declare y) (thaw y)",
        ProgramRule::Lifecycle,
        expect!["invalid program, at `(thaw y)`: `y` is being written, expected it to be frozen"],
    );
    rejects(
        "(for i (range 0 4) (block (declare y) (freeze y)))",
        ProgramRule::Role,
        expect![
            "invalid program, at `for i > (declare y)`: output `y` is declared inside a body and would end with the body; declare it outside of all bodies"
        ],
    );
    rejects(
        "(declare y) (declare t) (for i (freeze t)) (freeze y)",
        ProgramRule::Lifecycle,
        expect![
            "invalid program, at `for i`: `t` is being written before the body and is frozen after it; restore the state at the end of the body"
        ],
    );
    rejects(
        "(declare y) (for i (block (declare t) (freeze t) (init (y i) (A i 0)))) (for i (+= (y i) t)) (freeze y)",
        ProgramRule::Lifecycle,
        expect![
            "invalid program, at `for i > (+= (y i) (t))`: `t` is read but not declared; declare it in an enclosing scope"
        ],
    );
    rejects(
        "(declare y) (freeze y) (for i (init (x i) 1))",
        ProgramRule::Role,
        expect!["invalid program, at `for i > (init (x i) 1.0)`: input `x` is written; inputs are only read"],
    );
    rejects(
        "(declare x)",
        ProgramRule::Role,
        expect!["invalid program, at `(declare x)`: input `x` is declared; inputs are only read"],
    );
}

#[test]
fn entries_are_initialized_once() {
    rejects(
        "(declare y) (for i (for j (range 0 5) (init (y i) (A i j)))) (freeze y)",
        ProgramRule::Init,
        expect![
            "invalid program, at `for i > for j > (init (y i) (A i j))`: every round of `j` initializes the same entry of `y`; fold or overwrite"
        ],
    );
    rejects(
        "(declare y) (for i (block (init (y i) 1) (init (y i) 2))) (freeze y)",
        ProgramRule::Init,
        expect!["invalid program, at `for i`: `(y i)` is initialized twice; fold or overwrite"],
    );
    for fine in [
        "(declare y) (for i (for j (range 0 1) (init (y i) (A i j)))) (freeze y)",
        "(declare y) (for i (for j (range 0 5) (if (eq i j) (init (y i) (A i j))))) (freeze y)",
        "(declare y) (for i (range 0 4) (let k (+ i 0) (init (y k) 1))) (freeze y)",
    ] {
        verify(&program(&text(fine))).unwrap();
    }
}

#[test]
fn conditions_of_while_change() {
    let wrap = |s: &str| format!("(declare y) (declare n) (freeze n) {s} (freeze y)");
    rejects(
        &wrap("(while (lt n 3) (+= (y 0) 1))"),
        ProgramRule::While,
        expect![
            "invalid program, at `while (lt (n) 3)`: the condition reads no scalar that the body writes, so it never changes"
        ],
    );
    rejects(
        &wrap("(while true (block (thaw n) (+= n 1) (freeze n)))"),
        ProgramRule::While,
        expect![
            "invalid program, at `while true`: the condition reads no scalar that the body writes, so it never changes"
        ],
    );
    rejects(
        &wrap("(while (lt (p 0) n) (block (thaw n) (+= n 1) (freeze n)))"),
        ProgramRule::While,
        expect![
            "invalid program, at `while (lt (p 0) (n))`: the condition reads `p`, which is not a scalar; copy the value to a scalar"
        ],
    );
    verify(&program(&text(&wrap("(while (lt n 3) (block (thaw n) (+= n 1) (freeze n)))")))).unwrap();
}

#[test]
fn scopes_and_tables() {
    let mut p = program(&text("(declare y) (for i (init (y i) 1)) (for k (+= (y k) 1)) (freeze y)"));
    let rule = |p: &Program| match verify(p) {
        Err(Error::InvalidProgram { rule, .. }) => Some(rule),
        _ => None,
    };
    assert_eq!(rule(&p), None);
    let swap = |p: &Program, from: Expr, to: Expr| {
        let body = p.body.clone().map_children(&mut |s| {
            s.map_children(&mut |s| s.map_exprs(&mut |e| Ok::<_, ()>(if e == from { to.clone() } else { e })))
        });
        Program { body: body.unwrap(), ..p.clone() }
    };
    assert_eq!(rule(&swap(&p, Expr::Index(Index(1)), Expr::Index(Index(0)))), Some(ProgramRule::Scope));
    assert_eq!(rule(&swap(&p, Expr::Index(Index(1)), Expr::Index(Index(9)))), Some(ProgramRule::Tables));
    assert_eq!(rule(&swap(&p, Expr::Index(Index(1)), Expr::Var(Var(0)))), Some(ProgramRule::Tables));
    p.tensors[1].name = "A".to_owned();
    assert_eq!(rule(&p), Some(ProgramRule::Tables));

    let twice = program(&text("(declare y) (for i (range 0 2) (for j (range 0 2) (+= (y i) 1))) (freeze y)"));
    let Stmt::Block(mut stmts) = twice.body.clone() else { panic!() };
    let Stmt::For { index, extent, rounds, body } = stmts[1].clone() else { panic!() };
    let Stmt::For { body: inner, extent: other, .. } = *body else { panic!() };
    let body = Box::new(Stmt::For { index, extent: other, rounds, body: inner });
    stmts[1] = Stmt::For { index, extent, rounds, body };
    let twice = Program { body: Stmt::Block(stmts), ..twice };
    assert_eq!(rule(&twice), Some(ProgramRule::Scope));
    // Renaming makes the program valid, because the inner loop hides the index of the outer loop.
    verify(&resolve_scopes(twice).unwrap()).unwrap();
}

#[test]
fn failed_inference_is_an_error() {
    normalize_fails(
        "(for i (for j (+= (y i) (x i))))",
        expect![
            "the extent of loop `i` is 0..5 according to mode 0 of `x`, whose size is 5, but 0..4 according to mode 0 of `y`, whose size is 4; give the loop a range, and give an `outside` to reads that are out of bounds there"
        ],
    );
    normalize_fails(
        "(for i (for j (+= (y i) 1)))",
        expect!["the extent of loop `j` cannot be inferred; no access bounds it; give it a range"],
    );
    normalize_fails(
        "(for i (range 0 5) (+= (y i) 1))",
        expect![
            "the extent of loop `i` is 0..5 according to its range, but 0..4 according to mode 0 of `y`, whose size is 4; shorten the range, give an `outside` to reads that are out of bounds, or guard writes with an `if`"
        ],
    );
    normalize_fails(
        "(for i (+= (y i) (x (+ i 2))))",
        expect![
            "the extent of loop `i` is -2..3 according to mode 0 of `x`, whose size is 5, but 0..4 according to mode 0 of `y`, whose size is 4; give the loop a range, and give an `outside` to reads that are out of bounds there"
        ],
    );
    normalize_fails(
        "(for i (= (y i) (+ (y i) 1)))",
        expect![
            "invalid program, at `(= (y i) (+ (y i) 1.0))`: `y` is both read and written in one scope; fold into it, or bind the old value by a `let` before a thaw"
        ],
    );
    normalize_fails(
        "(declare w) (for i (block (+= (w i) 1) (+= t (w i))))",
        expect![
            "invalid program, at `for i`: `w` is both read and written in one scope; write out `freeze` and `thaw`, or use a local"
        ],
    );
    let open = "(program (input x (type (shape 5) f64 0.0 dense)) (output y (type (shape _) f64 0.0 dense)) (for i (range 0 2) (for j (range 0 (+ i 1)) (+= (y j) (x i)))))";
    expect!["the size of mode 0 of `y` cannot be inferred; write it into the shape"]
        .assert_eq(&normalize(program(open)).unwrap_err().to_string());
}

#[test]
fn conditions_relax_implied_extents() {
    // The shifted read is under the condition, so it does not bound the loop.
    let p = normalize(program(&text("(for i (if (lt i 3) (init (y i) (p (+ i 1))))) "))).map(drop);
    assert!(p.is_err(), "p holds i64");
    let p = normalize(program(&text("(for i (block (init (y i) 0) (if (lt i 3) (+= (y i) (cast-f64 (p (+ i 1)))))))")))
        .unwrap();
    assert!(print(&p).contains("(for i (range 0 4)") || print(&p).contains("(range 0 4)"));
}

#[test]
fn the_normal_form_is_checked() {
    for (body, what) in [
        ("(declare y) (for i (init (y i) 1)) (freeze y)", "extent"),
        ("(declare y) (for i (range 0 4) (init (y (+ 0 i)) 1)) (freeze y)", "linear form"),
        ("(declare y) (for i (range 0 4) (for j (range 0 1) (+= (y j) (A i i)))) (freeze y)", "no separate loop"),
        ("(declare y) (for i (range 0 4) (for j (range 0 4) (+= (y i) (A j i)))) (freeze y)", "no separate loop"),
        ("(declare y) (for i (range 0 4) (+= (y i) (x 2))) (freeze y)", "no separate loop"),
    ] {
        let p = program(&text(body));
        verify(&p).unwrap();
        let e = verify_normal(&p).expect_err(body).to_string();
        assert!(e.contains(what), "{e}");
        verify_normal(&normalize(p).unwrap()).unwrap();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn stops(body: &str, limits: InterpLimits, expected: Expect) {
    let p = normalize(program(&text(body))).unwrap_or_else(|e| panic!("{e}"));
    let f = |i: &[u64]| Scalar::F64(i[0] as f64);
    let given = inputs(
        &p,
        &[("A", &f), ("x", &f), ("p", &|i: &[u64]| Scalar::I64(i[0] as i64)), ("h", &|_: &[u64]| Scalar::F32(0.0))],
    );
    expected.assert_eq(&run_with_limits(&p, &given, limits).expect_err(body).to_string());
}

#[test]
fn interpreter_errors_report_the_statement() {
    let all = InterpLimits::default();
    stops(
        "(for i (+= (y i) (x (+ (p i) 2))))",
        all,
        expect![
            "`(x (+ (p i) 2))`, line 4, column 134, is out of bounds: `(+ (p i) 2)` has coordinate 5 in storage mode 0 of `x`, whose size is 5; test the coordinate with an `if`, or give a read an `outside`"
        ],
    );
    stops(
        "(for i (init (y (floordiv (p i) 2)) 1))",
        all,
        expect![
            "stopped at `i = 1, s1 = 0, (init (y s1) 1.0)`: `(y s1)` at [0] is initialized after another write; fold or overwrite"
        ],
    );
    stops(
        "(for i (+= (y i) (cast-f64 (add-checked i 9223372036854775807))))",
        all,
        expect![
            "stopped at `i = 1, (+= (y i) (cast-f64 (add-checked i 9223372036854775807)))`: operator `add-checked` overflowed i64; use a wider dtype, or the wrapping or saturating operator"
        ],
    );
    stops(
        "(while (lt n 3) (= n 0))",
        InterpLimits { steps: 1000, ..all },
        expect!["stopped at `(thaw n)`: more than 1000 steps; raise the limit, or look for a loop that does not end"],
    );
    stops(
        "(for i (+= (y i) 1))",
        InterpLimits { values: 31, ..all },
        expect!["stopped at `inputs`: more than 31 values; raise the limit, or use smaller dimensions"],
    );

    let p = normalize(program(&text("(for i (+= (y i) 1))"))).unwrap();
    expect!["stopped at `inputs`: input `A` is missing"].assert_eq(&run(&p, &HashMap::new()).unwrap_err().to_string());
    let short = HashMap::from([("A".to_owned(), vec![Scalar::F64(0.0)])]);
    expect!["stopped at `inputs`: input `A` has 1 values, expected 20, one for each coordinate of its storage modes"]
        .assert_eq(&run(&p, &short).unwrap_err().to_string());
    let other = HashMap::from([("A".to_owned(), vec![Scalar::F32(0.0); 20])]);
    expect!["stopped at `inputs`: input `A` has a value of dtype f32, expected f64"]
        .assert_eq(&run(&p, &other).unwrap_err().to_string());
}

#[test]
fn swaps() {
    let alive = "(declare y) (declare w) (declare v) (declare n) (freeze n)";
    let after = |s: &str| format!("{alive} {s} (freeze y)");
    verify(&program(&text(&after("(freeze w) (freeze v) (swap w v)")))).unwrap();
    rejects(
        &after("(freeze w) (swap w v)"),
        ProgramRule::Lifecycle,
        expect!["invalid program, at `(swap w v)`: `v` is swapped while it is written; freeze it first"],
    );
    rejects(
        &after("(freeze w) (freeze v) (swap w y)"),
        ProgramRule::Swap,
        expect!["invalid program, at `(swap w y)`: `y` is swapped, but only locals can be; copy it in a loop"],
    );
    rejects(
        &after("(freeze w) (swap w n)"),
        ProgramRule::Swap,
        expect!["invalid program, at `(swap w n)`: scalar `n` is swapped; bind its value by a `let`"],
    );
    let typed = text("(declare w) (declare u) (freeze w) (freeze u) (swap w u)")
        .replace("(local w", "(local u (type (shape 4) f64 0.0 (hash (element)))) (local w")
        .replace("(output y (type (shape 4) f64 0.0 dense))", "");
    expect!["invalid program, at `(swap w u)`: `w` and `u` are swapped, but they differ in shape, dtype, fill value or format"]
        .assert_eq(&verify(&program(&typed)).unwrap_err().to_string());
}

#[test]
fn a_loop_does_not_change_the_state_of_tensors_it_resolves() {
    let alive = "(declare y) (declare w) (declare v) (freeze v)";
    rejects(
        &format!("{alive} (for i (block (= (w i) 1) (freeze w) (init (y i) (w i)) (thaw w))) (freeze y)"),
        ProgramRule::Lifecycle,
        expect![
            "invalid program, at `for i`: the body of the loop of `i` swaps `w` or changes its state, but accesses `w` by `i`; access `w` in a loop of its own"
        ],
    );
    rejects(
        &format!("{alive} (freeze w) (for i (block (swap v w) (init (y i) (w i)))) (freeze y)"),
        ProgramRule::Lifecycle,
        expect![
            "invalid program, at `for i`: the body of the loop of `i` swaps `w` or changes its state, but accesses `w` by `i`; access `w` in a loop of its own"
        ],
    );
    let dense = "(declare y) (for i (block (= (y i) 1) (freeze y) (let z (y i) (block (thaw y) (= (y i) (+ z 1)))))) (freeze y)";
    verify(&program(&text(dense))).unwrap();
}

/// Writes to appended levels that would be out of order are rejected before lowering.
#[test]
fn appended_levels_are_written_in_order() {
    let text = |body: &str| {
        format!(
            "(program (input A (type (shape 4 5) f64 0.0 csr)) (input p (type (shape 5) i64 0 dense))
            (output y (type (shape 10) f64 0.0 (sparse-list (element))))
            (output C (type (shape 4 5) f64 0.0 csr))
            (output D (type (shape 5 2 2) f64 0.0 (sparse-list (dense (hash (element))))))
            (local n i64 0) {body})"
        )
    };
    let accepted = [
        "(for j (range 0 5) (for i (range 0 4) (+= (y j) (A i j))))",
        "(for j (range 0 5) (= (y (+ (* 2 j) 1)) 1.0))",
        "(for o (range 0 3) (for i (range 0 3) (= (y (+ (* 3 o) i)) 1.0)))",
        "(for i (range 0 4) (for j (range i 5) (for k (range 0 3) (+= (C i j) 1.0))))",
        "(for i (range 0 5) (for k (range 0 2) (for j (range 0 2) (+= (D i (- 1 j) k) 1.0))))",
        "(for s (range 3 4) (for j (range 0 5) (= (C s j) 1.0)))",
        "(for j (range 0 5) (= (y j) 1.0) (+= (y j) 1.0))",
        // A coordinate may be read from a tensor if only the loops of the levels above enclose the
        // read.
        "(= (y (p 2)) 1.0)",
        "(for j (range 0 5) (= (C (p 1) j) 1.0))",
        "(let v (p 2) (for j (range 0 2) (= (y (+ v j)) 1.0)))",
        "(for i (range 0 4) (= (C i (p i)) 1.0))",
        // Successive loops of one round may write ascending coordinates.
        "(for i (range 0 4) (for s (range 1 2) (= (C i s) 1.0)) (for s (range 3 4) (= (C i s) 1.0)))",
        "(for j (range 0 3) (for s (range (* 2 j) (+ (* 2 j) 1)) (= (y s) 1.0))
            (for s (range (+ (* 2 j) 1) (+ (* 2 j) 2)) (= (y s) 1.0))) (for s (range 7 8) (= (y s) 1.0))",
    ];
    for body in accepted {
        normalize(program(&text(body))).unwrap_or_else(|e| panic!("{body}: {e}"));
    }
    let cases = [
        ("(for i (range 0 4) (for j (range 0 5) (+= (y j) (A i j))))", "is not proved to ascend with the loop of `i`"),
        ("(for j (range 0 5) (= (y (- 9 j)) 1.0))", "is not proved to ascend with the loop of `j`"),
        ("(for o (range 0 3) (for i (range 0 5) (= (y (+ (* 3 o) i)) 1.0)))", "level 0 is not proved to ascend"),
        ("(for j (range 0 5) (= (y (p j)) 1.0))", "is not proved to ascend with the loop of `j`"),
        ("(for j (range 0 5) (let v (p j) (= (y (+ v j)) 1.0)))", "is not proved to ascend with the loop of `j`"),
        ("(for i (range 0 4) (for j (range 0 5) (= (C (p i) j) 1.0)))", "is not proved to ascend with the loop of `i`"),
        ("(for j (range 0 5) (for i (range 0 4) (= (C i j) 1.0)))", "is not proved to ascend with the loop of `j`"),
        (
            "(for j (range 0 5) (= (y j) 1.0)) (for j (range 5 9) (= (y j) 1.0))",
            "by a second statement over other loops",
        ),
        (
            "(for j (range 0 4) (for s (range (* 2 j) (+ (* 2 j) 1)) (= (y s) 1.0))
                (for s (range (+ (* 2 j) 2) (+ (* 2 j) 3)) (= (y s) 1.0)))",
            "by a second statement over other loops",
        ),
        ("(for j (range 0 4) (= (y (* 2 j)) 1.0) (= (y (+ (* 2 j) 1)) 1.0))", "or by another subscript"),
        (
            "(for j (range 0 4) (= (y (* 2 j)) 1.0)) (for s (range 6 7) (= (y s) 1.0))",
            "by a second statement over other loops",
        ),
        (
            "(declare n) (while (lt n 2) (for j (range 0 5) (+= (y j) 1.0)) (+= n 1))",
            "every round of a `while` writes `y` again",
        ),
    ];
    for (body, expected) in cases {
        let error = normalize(program(&text(body))).expect_err(body);
        assert!(matches!(error, Error::InvalidProgram { rule: ProgramRule::Order, .. }), "{body}: {error}");
        let error = error.to_string();
        assert!(error.contains(expected) && error.contains("hash or byte-map"), "{body}: {error}");
    }
}
