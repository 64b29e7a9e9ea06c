//! Tests of parsing and printing programs.

use super::*;
use crate::notation::resolve_scopes;
use expect_test::{Expect, expect};
use redpoll_logic::op::{Body, Builtin, UserOp};
use redpoll_logic::{DType, Prim};

/// Parses and prints a text, and checks that the printed text parses to the same program; or checks
/// the error.
#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check(text: &str, expected: Expect) {
    let printed = match parse(text) {
        Ok(p) => {
            let printed = print(&p);
            let again = parse(&printed).unwrap();
            assert_eq!(print(&again), printed);
            // Indices are renumbered, and names may get numbers.
            let (again, p) = (resolve_scopes(again).unwrap(), resolve_scopes(p).unwrap());
            assert_eq!((again.body, again.tensors), (p.body, p.tensors), "{printed}");
            printed
        }
        Err(e) => format!("{e}\n"),
    };
    expected.assert_eq(&printed);
}

const TENSORS: &str = "(input A (type (shape 4 5) f64 0.0 csr)) (input u (type (shape 4) u8 0 dense))
    (input h (type (shape 4) f32 0.0 dense)) (output y (type (shape _) f64 0.0 dense)) (local t f64 inf)";

fn body(body: &str, expected: Expect) {
    check(&format!("(program {TENSORS} {body})"), expected);
}

#[test]
fn every_statement() {
    body(
        "(declare y) (parallel-for i (range 0 4) (where (init (y i) t) (block (lanes-for 4 j (min= t (A i (gallop j)))) (freeze t))))
         (for i (if (and (lt i 3) true) (let v (* 2 i) (= (y v) 1)))) (while (lt (t) 3) (+= t 1)) (freeze y) (thaw y) (block)",
        expect![[r#"
            (program
              (input A (type (shape 4 5) f64 0.0 (dense (sparse-list (element)))))
              (input u (type (shape 4) u8 0 (dense (element))))
              (input h (type (shape 4) f32 0.0 (dense (element))))
              (output y (type (shape _) f64 0.0 (dense (element))))
              (local t (type (shape) f64 inf (element)))
              (block
                (declare y)
                (parallel-for i
                  (range 0 4)
                  (where (init (y i) (t)) (block (lanes-for 4 j (min= (t) (A i (gallop j)))) (freeze t))))
                (for i (if (and (lt i 3) true) (let v (* 2 i) (= (y v) 1.0))))
                (while (lt (t) 3.0) (+= (t) 1.0))
                (freeze y)
                (thaw y)
                (block)))
        "#]],
    );
}

#[test]
fn bare_numbers_and_casts() {
    body(
        "(for i (block (+= (y i) (* 2 (A i 0))) (+= (y i) (+ (h i) 1)) (= (y i) (cast-f64 (+ (u i) 1)))
            (= (y i) (+ (h i) (A i 0))) (= (y i) (cast-f64 (shl (u i) 3))) (= (y i) (cast-f64 (+ (u i) 300)))
            (= (y i) (cast-f64 (+ (u i) 0.5)))))",
        expect![[r#"
            (program
              (input A (type (shape 4 5) f64 0.0 (dense (sparse-list (element)))))
              (input u (type (shape 4) u8 0 (dense (element))))
              (input h (type (shape 4) f32 0.0 (dense (element))))
              (output y (type (shape _) f64 0.0 (dense (element))))
              (local t (type (shape) f64 inf (element)))
              (for i
                (block
                  (+= (y i) (* 2.0 (A i 0)))
                  (+= (y i) (+ (h i) (lit f32 1.0)))
                  (= (y i) (cast-f64 (+ (u i) (lit u8 1))))
                  (= (y i) (+ (cast-f64 (h i)) (A i 0)))
                  (= (y i) (cast-f64 (shl (u i) 3)))
                  (= (y i) (cast-f64 (+ (cast-i64 (u i)) 300)))
                  (= (y i) (cast-f64 (+ (cast-f64 (u i)) 0.5))))))
        "#]],
    );
}

#[test]
fn subscripts() {
    body(
        "(for i (for j (+= (y i) (* (A (outside 0.0 (+ i -1)) (follow (walk j))) (access A i (gallop (outside inf (rem j 2))))))))",
        expect![[r#"
            (program
              (input A (type (shape 4 5) f64 0.0 (dense (sparse-list (element)))))
              (input u (type (shape 4) u8 0 (dense (element))))
              (input h (type (shape 4) f32 0.0 (dense (element))))
              (output y (type (shape _) f64 0.0 (dense (element))))
              (local t (type (shape) f64 inf (element)))
              (for i
                (for j
                  (+= (y i) (* (A (outside 0.0 (+ i -1)) (follow j)) (A i (gallop (outside inf (rem j 2)))))))))
        "#]],
    );
}

#[test]
fn names_that_hide_others_get_numbers() {
    body(
        "(for i (for i (+= (y i) 1))) (for i (+= (y i) 1))",
        expect![[r#"
            (program
              (input A (type (shape 4 5) f64 0.0 (dense (sparse-list (element)))))
              (input u (type (shape 4) u8 0 (dense (element))))
              (input h (type (shape 4) f32 0.0 (dense (element))))
              (output y (type (shape _) f64 0.0 (dense (element))))
              (local t (type (shape) f64 inf (element)))
              (block (for i (for i_2 (+= (y i_2) 1.0))) (for i (+= (y i) 1.0))))
        "#]],
    );
    check("(program (input max (type (shape 3) f64 0.0 dense)) (input \"a b\" (type (shape 3) f64 0.0 dense)) (output \"1\" (type (shape 3) f64 0.0 dense))
        (for \"i)\" (init (access \"1\" \"i)\") (max (access max \"i)\") (access \"a b\" \"i)\")))))", expect![[r#"
            (program
              (input max (type (shape 3) f64 0.0 (dense (element))))
              (input "a b" (type (shape 3) f64 0.0 (dense (element))))
              (output "1" (type (shape 3) f64 0.0 (dense (element))))
              (for "i)" (init (access "1" "i)") (max (access max "i)") (access "a b" "i)")))))
        "#]]);
}

#[test]
fn constants_of_every_kind() {
    let consts = [
        "1",
        "-1.5",
        "inf",
        "-inf",
        "nan",
        "true",
        "1e300",
        "(lit u64 18446744073709551615)",
        "(lit f32 0.1)",
        "(lit i8 -128)",
        "(lit (struct (value f64) (coordinate i64)) (-inf 3))",
    ];
    for c in consts {
        let p = parse(&format!("(program (output b (type (shape) bool false dense)) (= b (eq {c} {c})))")).unwrap();
        let words = print(&p).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("(eq {c} {c})")), "{words}");
    }
}

#[test]
fn errors_report_line_and_column() {
    body(
        "(for i (+= (z i) 1))",
        expect![[r#"
        program text: line 2, column 117: unknown tensor or operator `z`; did you mean `A`, `h` or `t`?
    "#]],
    );
    body(
        "(for i (+= (y k) 1))",
        expect![[r#"
        program text: line 2, column 120: unknown name `k`; did you mean `A`, `h` or `i`?
    "#]],
    );
    body(
        "(for i (plus= (y i) 1))",
        expect![[r#"
        program text: line 2, column 113: unknown operator `plus`
    "#]],
    );
    body(
        "(for i (+= i 1))",
        expect![[r#"
        program text: line 2, column 117: expected an access to a tensor, found i
    "#]],
    );
    body(
        "(for i (+= (y i) (max (A i 0) (lit (struct (a f64)) (1)))))",
        expect![[r#"
        program text: line 2, column 123: argument 1 of operator `max` has dtype (struct (a f64)), expected a number or bool
    "#]],
    );
    body(
        "(for i (+= (y i) (lit u8 300)))",
        expect![[r#"
            program text: line 2, column 131: expected a value of dtype u8, found 300
        "#]],
    );
    body(
        "(for i (+= (y i)",
        expect![[r#"
        program text: line 2, column 106: `(` is not closed; write `)` after its last item
    "#]],
    );
    check(
        "(plan)",
        expect![[r#"
        program text: line 1, column 1: expected `(program ..)`
    "#]],
    );
    check(
        "(program (input A (type (shape x) f64 0.0 dense)))",
        expect![[r#"
            program text: line 1, column 10: the shape of input `A` is not known; write it, or bind a tensor to `A`
        "#]],
    );
    check(
        "(program (input A (type (shape 3) f46 0.0 dense)))",
        expect![[r#"
            program text: line 1, column 35: unknown dtype `f46`; did you mean `f64`?
        "#]],
    );
}

#[test]
fn user_defined_operators() {
    let i64s = |n: &str| (n.to_owned(), DType::from(Prim::I64));
    let body = Body::call(Builtin::Add, [Body::Arg(0), Body::call(Builtin::Mul, [Body::lit(2i64), Body::Arg(1)])]);
    let op = std::sync::Arc::new(UserOp::new("twice", vec![i64s("a"), i64s("b")], Prim::I64.into(), &body).unwrap());
    let text = "(program (output s (type (shape) i64 0 dense)) (for i (range 0 3) (twice= s (call twice i 1))))";
    assert!(parse(text).is_err());
    let p = parse_with(text, std::slice::from_ref(&op)).unwrap();
    assert_eq!(parse_with(&print(&p), &[op]).unwrap(), p);
}

/// Returns the type that is bound to an input of the texts below; only `A` is bound.
fn bound(name: &str) -> Option<std::sync::Arc<redpoll_logic::TensorType>> {
    let csc = redpoll_logic::text::parse_format("csc", 2).unwrap();
    let (shape, dtype) = (vec![3, 5], DType::Prim(Prim::F32));
    let fill = redpoll_logic::Scalar::F32(f32::INFINITY);
    (name == "A").then(|| redpoll_logic::TensorType { shape, dtype, fill, format: csc }.into())
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check_bound(text: &str, expected: Expect) {
    let found = match parse_with_inputs(text, &[], &bound) {
        Ok((p, _)) => print(&p),
        Err(e) => format!("{e}\n"),
    };
    expected.assert_eq(&found);
}

#[test]
fn open_types_come_from_bound_tensors() {
    check_bound(
        "(program (input A (shape n m)) (input k i64 3) (output y (shape n) (dtype A)) (output d (shape m _) bool)
           (local best (shape n) (struct (value (dtype A)) (coordinate i64)) (inf 0) (byte-map (element)))
           (for i (for j (if (lt j (- m 2)) (+= (y i) (ifelse (eq (A i j) (fill A)) 0 (A i (follow j))))))))",
        expect![[r#"
            (program
              (input A (type (shape 3 5) f32 inf (modes 1 0 (dense (sparse-list (element))))))
              (input k (type (shape) i64 3 (element)))
              (output y (type (shape 3) f32 0.0 (dense (element))))
              (output d (type (shape 5 _) bool false (dense (dense (element)))))
              (local best (type (shape 3) (struct (value f32) (coordinate i64)) (inf 0) (byte-map (element))))
              (for i
                (for j
                  (if
                    (lt j (- 5 2))
                    (+= (y i) (ifelse (eq (A j i) (lit f32 inf)) (lit f32 0.0) (A (follow j) i)))))))
        "#]],
    );
}

#[test]
fn written_types_must_agree_with_bound_tensors() {
    let declares = |what: &str, expected: Expect| check_bound(&format!("(program {what} (block))"), expected);
    declares(
        "(input A (shape n n))",
        expect![[r#"
        program text: line 1, column 28: mode 1 of input `A` has size 5, expected 3 (`n` in the text)
    "#]],
    );
    declares(
        "(input A (shape n))",
        expect![[r#"
        program text: line 1, column 10: input `A` has 1 modes, but the bound tensor has shape [3, 5]
    "#]],
    );
    declares(
        "(input A (shape 3 m) f64)",
        expect![[r#"
        program text: line 1, column 31: input `A` has dtype f64, but the bound tensor has f32
    "#]],
    );
    declares(
        "(input A (shape 3 m) f32 0.0)",
        expect![[r#"
        program text: line 1, column 35: input `A` has fill value 0.0, but the bound tensor has inf
    "#]],
    );
    declares(
        "(input A (shape 3 m) _ _ csr)",
        expect![[r#"
        program text: line 1, column 35: input `A` has format (dense (sparse-list (element))), but the bound tensor has (modes 1 0 (dense (sparse-list (element))))
    "#]],
    );
    declares(
        "(input B (shape n m))",
        expect![[r#"
        program text: line 1, column 10: the shape of input `B` is not known; write it, or bind a tensor to `B`
    "#]],
    );
    declares(
        "(input A (shape n m)) (output n f64)",
        expect![[r#"
        program text: line 1, column 32: `n` is a tensor and a size; rename one
    "#]],
    );
    declares(
        "(input A (shape n m)) (output y (shape k) f64)",
        expect![[r#"
        program text: line 1, column 49: unknown size `k`; did you mean `m` or `n`?
    "#]],
    );
    declares(
        "(input A (shape n m)) (output y (shape n))",
        expect![[r#"
        program text: line 1, column 32: the dtype of `y` is not written
    "#]],
    );
    declares(
        "(input A (shape n m)) (output y (shape n) (dtype C))",
        expect![[r#"
        program text: line 1, column 59: unknown tensor `C`; did you mean `A`?
    "#]],
    );
    declares(
        "(input A (shape n m)) (output y f64 (fill A))",
        expect![[r#"
        program text: line 1, column 46: the fill value of A has dtype f32, expected f64
    "#]],
    );
    declares(
        "(input A (shape n m)) (output y f64) (for i (for j (+= y (A i))))",
        expect![[r#"
        program text: line 1, column 67: access to `A` has 1 subscripts, expected 2, one for each mode
    "#]],
    );
}

#[test]
fn inputs_are_known_before_anything_is_bound() {
    let text = "; a comment\n(program (input A (shape n n) _ _ csc) (input s i64 3) (input x (shape n) f64) (block))";
    let inputs = parse_inputs(text).unwrap();
    let names: Vec<_> =
        inputs.iter().map(|i| (i.name.as_str(), i.rank(), i.format.is_some(), i.value.is_some())).collect();
    assert_eq!(names, [("A", 2, true, false), ("s", 0, false, true), ("x", 1, false, false)]);
    assert!(is_program(text) && is_program("  ( program)") && !is_program("(programs)") && !is_program("(plan)"));
    // The dtype of another input is unknown before that input is bound, but the dtype of a scalar
    // input is needed before.
    let matrix = parse_inputs("(program (input A (shape n n)) (input B (shape n n) (dtype A)) (block))").unwrap();
    assert_eq!(matrix.iter().map(|i| i.dtype.clone()).collect::<Vec<_>>(), [None, None]);
    let error = parse_inputs("(program (input A (shape n n)) (input b (dtype A) 0) (block))").unwrap_err();
    let expected = "line 1, column 41: the dtype of the number `b` must be written, such as f64; found (dtype A)";
    assert!(error.to_string().ends_with(expected), "{error}");
}

#[test]
fn faults_are_found_in_the_text() {
    let at = |text: &str| {
        let (program, source_map) = parse_with_inputs(text, &[], &|_| None).unwrap();
        let error = crate::notation::normalize(program).unwrap_err();
        source_map.position(&error).map(|p| (p.line, p.column))
    };
    let declared = "(program (input x (type (shape 4) f64 0.0 dense)) (output y (shape 4) f64)\n";
    let cases = [
        ("(for i (block\n  (init (y i) (y i))))", (3, 3)),
        ("(for i\n  (init (y i) (x i)))\n(for j\n (init (y j) 1))\n(while true (+= (y 0) 1))", (6, 1)),
        ("(for i (range 0 2)\n (init (y i) (x i)))\n(for k (block (for j (init (y (+ j k)) 1))))", (4, 1)),
        ("(for i (range 0 2) (init (y i) (x i)))\n(for k (range 0 8)\n (init (y k) 1))", (3, 1)),
        ("(for i (for i\n (if (lt i 2) (block\n (= x 1)))))", (4, 2)),
    ];
    for (body, expected) in cases {
        assert_eq!(at(&format!("{declared}{body})")), Some(expected), "{body}");
    }
}
