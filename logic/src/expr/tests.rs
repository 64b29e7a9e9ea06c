//! Tests of inference: fields, dimensions, dtypes, fill values, and the errors of smart
//! constructors.

use super::*;
use crate::affine::Affine;
use crate::dtype::Prim;
use crate::error::Error;
use crate::format::LeafKind;
use crate::op::Builtin;
use expect_test::{Expect, expect};

/// Creates a dense tensor of the given shape, with the dtype of the fill value.
fn tensor(name: &str, shape: &[u64], fill: impl Into<Scalar>, fields: &str) -> Expr {
    let fill = fill.into();
    let format = Format::dense(shape.len());
    let ty = TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format };
    Expr::table(name, ty.into(), fields.split_whitespace()).unwrap()
}

/// Compares a snapshot with the inferred properties, such as `i:3 j:? f64 fill 0.0`, or with the
/// error.
#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check(expr: Result<Expr, Error>, expected: Expect) {
    expected.assert_eq(&match expr {
        Err(e) => format!("error: {e}"),
        Ok(e) => {
            let info = e.info();
            let mut words: Vec<String> = Vec::new();
            for (f, d) in info.fields.iter().zip(&info.dimensions) {
                words.push(format!("{f}:{}", d.map_or("?".to_owned(), |d| d.to_string())));
            }
            words.push(format!("{} fill {}", info.dtype, info.fill));
            words.join(" ")
        }
    });
}

#[test]
fn mapjoin_is_the_natural_join() {
    let a = || tensor("A", &[3, 4], 0.0, "i k");
    let b = || tensor("B", &[4, 5], 2.0, "k j");
    check(Expr::mapjoin(Builtin::Mul, [a(), b()]), expect!["i:3 k:4 j:5 f64 fill 0.0"]);
    check(Expr::mapjoin(Builtin::Add, [a(), b(), Expr::number(1)]), expect!["i:3 k:4 j:5 f64 fill 3.0"]);
    check(
        Expr::mapjoin(Builtin::Lt, [Expr::coordinate("i"), Expr::coordinate("k")]),
        expect!["i:? k:? bool fill false"],
    );
    check(Expr::mapjoin(Builtin::Mul, [Expr::coordinate("i"), a()]), expect!["i:3 k:4 f64 fill 0.0"]);
    let bad = tensor("C", &[7, 4], 0.0, "k i").relabel(["i", "x"]).unwrap();
    check(
        Expr::mapjoin(Builtin::Mul, [Expr::mapjoin(Builtin::Neg, [a()]).unwrap(), bad]),
        expect![
            "error: field `i` has size 3 in mode 0 of `A` but 7 in mode 0 of `C`; rename it in one of them, or take a window"
        ],
    );
    let part = tensor("A", &[3, 4], 0.0, "i k").window("k", 0, 2).unwrap();
    check(
        Expr::mapjoin(Builtin::Mul, [a(), part]),
        expect![
            "error: field `k` has size 4 in mode 1 of `A` but 2 in a part of `A`; rename it in one of them, or take a window"
        ],
    );
    check(Expr::mapjoin(Builtin::Sub, [a()]), expect!["error: operator `-` takes 2 arguments, found 1"]);
}

#[test]
fn tables_check_their_fields() {
    let ty = || Arc::new(TensorType { shape: vec![3, 4], dtype: DType::F64, fill: 0.0.into(), format: Format::csr() });
    check(
        Expr::table("A", ty(), ["i"]),
        expect!["error: table has the fields (i), expected 2 fields, one per mode of `A`"],
    );
    check(
        Expr::table("A", ty(), ["i", "i"]),
        expect![
            "error: field `i` has size 3 in mode 0 of `A` but 4 in mode 1 of `A`; rename it in one of them, or take a window"
        ],
    );
    check(Ok(tensor("D", &[3, 3], 1u8, "i i")), expect!["i:3 u8 fill 1"]);
}

#[test]
fn weak_numbers_take_the_dtype_of_the_other_arguments() {
    let t = |fill: Scalar| tensor("A", &[3], fill, "i");
    let add = |fill: Scalar, n: Scalar| Expr::mapjoin(Builtin::Add, [t(fill), Expr::number(n)]);
    check(add(1u8.into(), 2.into_scalar()), expect!["i:3 u8 fill 3"]);
    check(add(1u8.into(), 1.5.into()), expect!["i:3 f64 fill 2.5"]);
    check(add(1f32.into(), 1.5.into()), expect!["i:3 f32 fill 2.5"]);
    check(add(1f32.into(), 2.into_scalar()), expect!["i:3 f32 fill 3.0"]);
    check(add(true.into(), 2.into_scalar()), expect!["i:3 i64 fill 3"]);
    check(add(1i8.into(), true.into()), expect!["i:3 i8 fill 2"]);
    check(
        add(1u8.into(), 300.into_scalar()),
        expect!["error: number 300 does not fit dtype u8; give a value of that dtype, or cast the argument"],
    );
    check(Expr::mapjoin(Builtin::Add, [Expr::number(1i64), Expr::number(2.5)]), expect!["f64 fill 3.5"]);
    check(Expr::mapjoin(Builtin::Shl, [t(1u8.into()), Expr::number(300i64)]), expect!["i:3 u8 fill 0"]);
    let choice = [Expr::number(true), t(1u8.into()), Expr::number(7i64)];
    check(Expr::mapjoin(Builtin::IfElse, choice), expect!["i:3 u8 fill 1"]);
    assert!(Expr::number(1i64).info().weak);
}

/// Asserts that comparisons of the least and greatest integers of a dtype with numbers outside its
/// range are exact, and that a comparison of `f32` values with a number outside their range is
/// computed in `f64`.
#[test]
fn comparisons_with_numbers_out_of_range_have_a_value() {
    use Builtin::{Eq, Ge, Gt, Le, Lt, Ne};
    let x = |fill: Scalar| tensor("A", &[3], fill, "i");
    let value = |args: [Expr; 2], op: Builtin| Expr::mapjoin(op, args).unwrap().info().fill.clone();
    let integers = [Scalar::U8(0), Scalar::U8(255), Scalar::I8(-128), Scalar::I8(127), Scalar::U64(u64::MAX)];
    for (fill, number) in integers.into_iter().flat_map(|fill| [-1000, 1000].map(|n| (fill.clone(), n))) {
        let this = fill.to_i128().unwrap();
        if matches!(fill, Scalar::U64(_)) && number > 0 {
            continue;
        }
        let that = i128::from(number);
        let expected = [
            (Eq, this == that),
            (Ne, this != that),
            (Lt, this < that),
            (Le, this <= that),
            (Gt, this > that),
            (Ge, this >= that),
        ];
        for (op, expected) in expected {
            let args = || [x(fill.clone()), Expr::number(number)];
            assert_eq!(value(args(), op), Scalar::Bool(expected), "{fill} {op} {number}");
            let [a, b] = args();
            let turned = [(Eq, Eq), (Ne, Ne), (Lt, Gt), (Le, Ge), (Gt, Lt), (Ge, Le)];
            let (_, turned) = turned.into_iter().find(|(from, _)| *from == op).unwrap();
            assert_eq!(value([b, a], turned), Scalar::Bool(expected), "{number} {turned} {fill}");
        }
    }
    let floats = [(f32::MAX, true), (f32::INFINITY, false), (f32::NAN, false)];
    for (fill, below) in floats {
        assert_eq!(value([x(fill.into()), Expr::number(1e300)], Lt), Scalar::Bool(below), "{fill}");
        assert_eq!(value([x(fill.into()), Expr::number(1e300)], Ne), Scalar::Bool(true), "{fill}");
    }
}

/// Conversion of integer literals without a suffix to `i64` scalars.
trait IntoScalar {
    fn into_scalar(self) -> Scalar;
}
impl IntoScalar for i64 {
    fn into_scalar(self) -> Scalar {
        Scalar::I64(self)
    }
}

#[test]
fn aggregates_fold_their_fill() {
    let agg = |op, init: Scalar, fill: Scalar, fields: &[&str]| {
        Expr::aggregate(op, init, tensor("A", &[3, 4], fill, "i j"), fields.iter().copied())
    };
    check(agg(Builtin::Add, 0i64.into(), 5.0.into(), &["j"]), expect!["i:3 f64 fill 20.0"]);
    check(agg(Builtin::Add, 1i64.into(), 5.0.into(), &["j", "i"]), expect!["f64 fill 61.0"]);
    check(agg(Builtin::Add, 1i64.into(), 5.0.into(), &[]), expect!["i:3 j:4 f64 fill 6.0"]);
    check(agg(Builtin::Mul, 1i64.into(), 3u8.into(), &["i", "j"]), expect!["u8 fill 241"]);
    check(agg(Builtin::Sub, 0i64.into(), 2i8.into(), &["i"]), expect!["j:4 i8 fill -6"]);
    check(agg(Builtin::Add, 0i64.into(), true.into(), &["i"]), expect!["j:4 i64 fill 3"]);
    check(agg(Builtin::Min, f64::INFINITY.into(), 2f32.into(), &["i"]), expect!["j:4 f32 fill 2.0"]);
    check(
        agg(Builtin::Min, f64::INFINITY.into(), 2i8.into(), &["i"]),
        expect!["error: initial value inf does not fit dtype i8; give a value of that dtype, or cast the argument"],
    );
    check(
        agg(Builtin::Add, 0i64.into(), 2i8.into(), &["k"]),
        expect!["error: aggregate over field `k`, but its argument has the fields (i j)"],
    );
    check(
        agg(Builtin::Lt, 0i64.into(), 2i8.into(), &["i"]),
        expect![
            "error: operator `lt` cannot fold values of dtype i8: it maps i8 i8 to bool, but a fold requires a single dtype; map the values first"
        ],
    );
    check(
        agg(Builtin::AddChecked, 0i64.into(), 100i8.into(), &["i"]),
        expect![
            "error: in the fold of the fill value 100 with `add-checked`: operator `add-checked` overflowed i8; use a wider dtype, or the wrapping or saturating operator"
        ],
    );
    check(
        Expr::aggregate(Builtin::Add, 0i64, Expr::coordinate("i"), ["i"]),
        expect![
            "error: the size of field `i` is unknown in an aggregate over it; join with a table that has the field"
        ],
    );
    let empty = tensor("E", &[0, 4], 5.0, "i j");
    check(Expr::aggregate(Builtin::Add, 7i64, empty, ["i"]), expect!["j:4 f64 fill 7.0"]);
    let huge = tensor("H", &[1 << 40], 1i64, "i");
    check(Expr::aggregate(Builtin::Add, 0i64, huge.clone(), ["i"]), expect!["i64 fill 1099511627776"]);
    check(
        Expr::aggregate(Builtin::Sub, 0i64, huge, ["i"]),
        expect![
            "error: operator `-` cannot fold values of dtype i64: the operator is not associative, and the fold of 1099511627776 fill values 1 still changes after 1048576 steps; declare the operator associative, or map the fill value to an identity"
        ],
    );
    let huge = tensor("H", &[1 << 40], 0i64, "i");
    check(Expr::aggregate(Builtin::Sub, 3i64, huge, ["i"]), expect!["i64 fill 3"]);
}

/// Asserts that the fill value of an aggregate over more than 2^64 entries is known if a fold of
/// equal values has a closed form.
#[test]
fn aggregates_fold_over_any_number_of_entries() {
    let long = |name: &str, fields: &str, fill: Scalar| {
        let ty = TensorType { shape: vec![1 << 40; 2], dtype: fill.dtype(), fill, format: Format::csf(2) };
        Expr::table(name, ty.into(), fields.split_whitespace()).unwrap()
    };
    let sum = |arg: Expr, init: Scalar| Expr::aggregate(Builtin::Add, init, arg, ["i", "j"]);
    check(sum(long("A", "i j", Scalar::I64(0)), Scalar::I64(5)), expect!["i64 fill 5"]);
    // 3 * 2^80 wraps to 0.
    check(sum(long("A", "i j", Scalar::I64(3)), Scalar::I64(5)), expect!["i64 fill 5"]);
    check(sum(long("A", "i j", Scalar::F64(1.0)), Scalar::F64(0.0)), expect!["f64 fill 1.2089258196146292e24"]);
    let max = Expr::aggregate(Builtin::Max, Scalar::I64(1), long("A", "i j", Scalar::I64(3)), ["i", "j"]);
    check(max, expect!["i64 fill 3"]);
    check(
        Expr::aggregate(Builtin::Sub, Scalar::I64(5), long("A", "i j", Scalar::I64(3)), ["i", "j"]),
        expect![
            "error: operator `-` cannot fold values of dtype i64: the extent of the aggregate exceeds 64 bits, and the fold of that many fill values 3 has no closed form; map the fill value to an identity"
        ],
    );
}

#[test]
fn scans_keep_fields_and_need_associativity() {
    let a = || tensor("A", &[3, 4], 0.0, "i j");
    check(Expr::scan(Builtin::Add, a(), "i"), expect!["i:3 j:4 f64 fill 0.0"]);
    check(
        Expr::scan(Builtin::Sub, a(), "i"),
        expect!["error: operator `-` cannot scan values of dtype f64: it is not associative for this dtype"],
    );
    check(
        Expr::scan(Builtin::Add, a(), "k"),
        expect!["error: scan over field `k`, but its argument has the fields (i j)"],
    );
}

#[test]
fn reorder_relabel_reformat() {
    let a = || tensor("A", &[3, 4], 0.0, "i j");
    check(a().reorder(["j", "i"]), expect!["j:4 i:3 f64 fill 0.0"]);
    check(
        a().reorder(["j", "j"]),
        expect!["error: reorder has the fields (j j), expected the fields (i j) in any order"],
    );
    check(a().relabel(["x", "y"]), expect!["x:3 y:4 f64 fill 0.0"]);
    check(
        a().relabel(["x"]),
        expect!["error: relabel has the fields (x), expected distinct names for the fields (i j)"],
    );
    check(a().reformat(Format::csc()), expect!["i:3 j:4 f64 fill 0.0"]);
    check(a().reformat(Format::csf(3)), expect!["error: the shape has 2 modes, but the format has 3"]);
    let pattern = Format { leaf: LeafKind::Pattern, ..Format::csr() };
    check(
        a().reformat(pattern),
        expect![
            "error: a pattern leaf requires dtype bool and fill value false, found f64 and 0.0; use an element leaf"
        ],
    );
}

#[test]
fn index_maps() {
    let a = || tensor("A", &[10, 4], 0.0, "i j");
    check(a().window("i", 1, 5), expect!["i:4 j:4 f64 fill 0.0"]);
    check(
        a().window("i", 1, 11),
        expect![
            "error: field `i` of size 10 is read at (+ i 1), which ranges over 1..=10; give a value for reads out of bounds, or a smaller window"
        ],
    );
    check(a().window("i", 5, 5), expect!["i:0 j:4 f64 fill 0.0"]);
    check(a().window("k", 5, 5), expect!["error: index over field `k`, but its argument has the fields (i j)"]);
    check(a().permissive("i", (-2, 20), 1i64), expect!["i:22 j:4 f64 fill 0.0"]);
    check(a().offset("j", 3, 0i64), expect!["i:10 j:4 f64 fill 0.0"]);
    check(a().stride("i", 3), expect!["i:4 j:4 f64 fill 0.0"]);
    check(a().reverse("i"), expect!["i:10 j:4 f64 fill 0.0"]);
    check(a().toeplitz("i", ("x", "y"), 3), expect!["x:8 y:3 j:4 f64 fill 0.0"]);
    check(
        a().toeplitz("i", ("i", "y"), 30),
        expect!["error: index map: a kernel of size 30 does not fit field `i` of size 10"],
    );
    check(a().split("i", ("o", "u"), 5, None), expect!["o:2 u:5 j:4 f64 fill 0.0"]);
    check(
        a().split("i", ("o", "u"), 4, None),
        expect![
            "error: field `i` of size 10 is read at (+ (* 4 o) u), which ranges over 0..=11; give a value for reads out of bounds, or a smaller window"
        ],
    );
    check(a().split("i", ("o", "u"), 4, Some(0.0.into())), expect!["o:3 u:4 j:4 f64 fill 0.0"]);
    check(a().merge(("i", "j"), "k"), expect!["k:40 f64 fill 0.0"]);
    check(a().diagonal(("i", "j"), "d"), expect!["d:4 f64 fill 0.0"]);
    let broadcast = IndexMap { coordinates: vec![], dimensions: vec![("n".into(), 7)], outside: None };
    check(a().index(broadcast), expect!["i:10 j:4 n:7 f64 fill 0.0"]);
    let stray = IndexMap {
        coordinates: vec![("i".into(), Subscript::field("q".into()))],
        dimensions: vec![("n".into(), 7)],
        outside: None,
    };
    check(
        a().index(stray),
        expect!["error: index map: field `i` is read at q, but `q` is neither an introduced field nor an unmapped one"],
    );
    let shifted = IndexMap {
        coordinates: vec![("i".into(), Subscript::Affine(Affine::field("i".into()).plus(&Affine::field("j".into()))))],
        dimensions: vec![("i".into(), 7)],
        outside: None,
    };
    check(a().index(shifted), expect!["i:7 j:4 f64 fill 0.0"]);
}

#[test]
fn pairs_fold() {
    let pair = Expr::mapjoin(Builtin::Pair, [tensor("A", &[3, 4], 0.0, "i j"), Expr::coordinate("j")]).unwrap();
    let DType::Struct(ty) = pair.info().dtype.clone() else { panic!("a pair is a struct") };
    let init = Scalar::Struct(ty, [f64::INFINITY.into(), i64::MAX.into()].into());
    check(
        Expr::aggregate(Builtin::MinBy, init, pair, ["j"]),
        expect!["i:3 (struct (value f64) (coordinate i64)) fill (0.0 0)"],
    );
    check(tensor("A", &[3], 0.0, "i").cast(&Prim::I8.into()), expect!["i:3 i8 fill 0"]);
}
