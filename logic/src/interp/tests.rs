//! Tests of the reference interpreter: values, error bounds, don't-care marks, comparison.

use super::*;
use crate::format::{Format, TensorType};
use crate::text::{Catalog, parse};
use proptest::prelude::*;
use std::sync::Arc;

fn dense(shape: &[u64], values: Vec<Scalar>) -> DenseTensor {
    DenseTensor { shape: shape.to_vec(), values }
}

fn floats(shape: &[u64], values: &[f64]) -> DenseTensor {
    dense(shape, values.iter().map(|&v| v.into()).collect())
}

/// Runs the query `C := expr`.
fn run(expr: &str, inputs: &[(&str, DenseTensor)], mode: FloatMode) -> Result<ReferenceResult, Error> {
    let ty = |d: &DenseTensor| {
        let dtype = d.values.first().map_or(DType::F64, Scalar::dtype);
        let fill = Scalar::zero(dtype.prim().unwrap());
        Arc::new(TensorType { shape: d.shape.clone(), dtype, fill, format: Format::dense(d.shape.len()) })
    };
    let catalog: Catalog = inputs.iter().map(|(a, d)| (*a, ty(d))).collect();
    let plan = parse(&format!("(plan (query C {expr}) (produces C))"), &catalog)?;
    crate::verify(&plan)?;
    let inputs = inputs.iter().map(|(a, d)| ((*a).into(), d.clone())).collect();
    Ok(interpret(&plan, &inputs, mode)?.remove("C").unwrap())
}

fn relaxed(expr: &str, inputs: &[(&str, DenseTensor)]) -> ReferenceResult {
    run(expr, inputs, FloatMode::Relaxed).unwrap()
}

/// Returns the values as text, with `?` for don't-care values.
fn words(result: &ReferenceResult) -> String {
    let word = |v: &BoundedValue| if v.is_dont_care() { "?".to_owned() } else { v.scalar().to_string() };
    result.values.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn check(expr: &str, inputs: &[(&str, DenseTensor)], expected: &str) {
    assert_eq!(words(&relaxed(expr, inputs)), expected, "{expr}");
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn argmin_takes_the_smallest_coordinate() {
    let a = floats(&[3, 3], &[5.0, 2.0, 2.0, 0.0, 1.0, -4.0, 7.0, 7.0, 7.0]);
    let argmin = "(aggregate minby (pair inf max) (mapjoin pair (table A i j) (coordinate j)) j)";
    check(argmin, &[("A", a)], "(2.0 1) (-4.0 2) (7.0 0)");
    check(argmin, &[("A", floats(&[1, 0], &[]))], "(inf 9223372036854775807)");
}

/// Asserts that the sign bit of a computed NaN is unspecified in the strict mode, too, because the
/// bit depends on the machine.
#[test]
fn signs_of_nan_are_unspecified() {
    let a = || [("A", floats(&[3], &[0.0, 1.0, -1.0]))];
    let sign = "(mapjoin signbit (mapjoin min -2.0 (mapjoin / (table A i) 0.0)))";
    let strict = |expr: &str| words(&run(expr, &a(), FloatMode::StrictIeee).unwrap());
    assert_eq!(strict(sign), "? true true");
    assert_eq!(strict(&format!("(mapjoin ifelse {sign} 1 2)")), "? 1 1");
    assert_eq!(strict(&format!("(aggregate or false {sign} i)")), "?");
}

#[test]
fn masks_scans_and_maps() {
    let a = floats(&[3, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    let a = || [("A", a.clone())];
    check(
        "(mapjoin ifelse (mapjoin lt (coordinate i) (coordinate j)) (table A i j) 0)",
        &a(),
        "0.0 2.0 3.0 0.0 0.0 6.0 0.0 0.0 0.0",
    );
    check("(scan + (table A i j) i)", &a(), "1.0 2.0 3.0 5.0 7.0 9.0 12.0 15.0 18.0");
    check("(scan + (table A i j) j)", &a(), "1.0 3.0 6.0 4.0 9.0 15.0 7.0 15.0 24.0");
    check("(table A i i)", &a(), "1.0 5.0 9.0");
    check("(reorder (table A i j) j i)", &a(), "1.0 4.0 7.0 2.0 5.0 8.0 3.0 6.0 9.0");
    check("(index (window i 1 3) (reverse j) (table A i j))", &a(), "6.0 5.0 4.0 9.0 8.0 7.0");
    check("(index (permissive i -1 1 8) (table A i j))", &a(), "8.0 8.0 8.0 1.0 2.0 3.0");
    check("(index (stride i 2) (stride j 2) (table A i j))", &a(), "1.0 3.0 7.0 9.0");
    check("(index (merge i j k) (table A i j))", &a(), "1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0");
    check("(index (merge j i k) (table A i j))", &a(), "1.0 4.0 7.0 2.0 5.0 8.0 3.0 6.0 9.0");
    check("(index (diagonal i j d) (table A i j))", &a(), "1.0 5.0 9.0");
    check(
        "(index (split i o u 2 0) (reorder (table A i j) j i))",
        &a(),
        "1.0 4.0 7.0 0.0 2.0 5.0 8.0 0.0 3.0 6.0 9.0 0.0",
    );
    check("(index (toeplitz j x y 2) (table A i j))", &a(), "1.0 2.0 2.0 3.0 4.0 5.0 5.0 6.0 7.0 8.0 8.0 9.0");
    check("(aggregate - 100 (table A i j) j i)", &a(), "55.0");
    check("(aggregate + 0 (table A i j) j)", &[("A", floats(&[2, 0], &[]))], "0.0 0.0");
}

#[test]
fn assumptions_of_the_relaxed_mode() {
    let x = |values: &[f64]| [("x", floats(&[values.len() as u64], values))];
    check("(mapjoin + (table x i) 1)", &x(&[NAN, INF, 2.0]), "? inf 3.0");
    check("(mapjoin * (table x i) 0)", &x(&[NAN, INF, -INF, 2.0]), "0.0 0.0 0.0 0.0");
    check("(mapjoin / (table x i) (table x j))", &x(&[0.0, 2.0, INF]), "0.0 0.0 0.0 ? 1.0 0.0 ? inf 0.0");
    for op in ["rem", "fmod", "floordiv"] {
        check(&format!("(mapjoin {op} 0 (table x i))"), &x(&[0.0, 2.0, NAN]), "0.0 0.0 0.0");
    }
    check("(mapjoin * (table x i) (mapjoin log (table x j)))", &x(&[0.0, 1.0]), "0.0 0.0 -inf 0.0");
    check("(mapjoin * (table x i) (mapjoin reciprocal (table x j)))", &x(&[0.0, 1.0]), "0.0 0.0 ? 1.0");
    check("(mapjoin + inf (table x i))", &x(&[NAN, INF, -INF, 2.0]), "inf inf ? inf");
    check("(mapjoin min -inf (table x i))", &x(&[NAN, INF, 2.0]), "-inf -inf -inf");
    // In the first check, distribution would add infinities of both signs. In the second, the order
    // of the products decides whether they overflow.
    check("(mapjoin * inf (mapjoin + (table x i) -1))", &x(&[1.0, 2.0]), "? ?");
    check("(mapjoin * 0 (mapjoin * (table x i) (table x i)))", &x(&[1e200]), "?");
    check("(aggregate + 0 (table x i) i)", &x(&[INF, 1.0, INF]), "inf");
    check("(aggregate + 0 (table x i) i)", &x(&[INF, 1.0, -INF]), "?");
    check("(aggregate min inf (table x i) i)", &x(&[INF, 1.0, -INF]), "-inf");
    check("(aggregate min inf (table x i) i)", &x(&[INF, INF]), "inf");
    check("(mapjoin / 1 (table x i))", &x(&[0.0, INF, 2.0]), "? 0.0 0.5");
    check(
        "(mapjoin * (table x i) (table x j))",
        &x(&[1e200, 1e-200, 3.0]),
        "? 1.0 3e200 1.0 ? 3e-200 3e200 3e-200 9.0",
    );
    check("(mapjoin copysign 3 (table x i))", &x(&[0.0, 1.0]), "? 3.0");
    check("(mapjoin coalesce (table x i) 7)", &x(&[NAN, 1.0]), "? 1.0");
    check("(mapjoin ifelse (mapjoin gt (coordinate i) 0) (table x i) 7)", &x(&[NAN, 1.0]), "7.0 1.0");
    // Distribution would add opposite infinities.
    check("(mapjoin * inf (mapjoin + (table x i) 2))", &x(&[-1.0, 1.0]), "? inf");
    check("(mapjoin and (mapjoin gt (table x i) 0) false)", &x(&[NAN]), "false");
}

#[test]
fn results_that_depend_on_rounding_are_dont_care() {
    let x = |values: &[f64]| [("x", floats(&[values.len() as u64], values))];
    let sum = "(aggregate + 0 (table x i) i)";
    check(&format!("(mapjoin eq {sum} 0.6)"), &x(&[0.1, 0.2, 0.3]), "?");
    check(&format!("(mapjoin lt {sum} 0.7)"), &x(&[0.1, 0.2, 0.3]), "true");
    check(&format!("(mapjoin eq {sum} 6)"), &x(&[1.0, 2.0, 3.0]), "true");
    // The sum is 0.6000000000000001 from the left, and 0.6 from the right.
    check(&format!("(mapjoin ne {sum} 0.6000000000000001)"), &x(&[0.1, 0.2, 0.3]), "?");
    check(&format!("(mapjoin cast-bool {sum})"), &x(&[1e30, 1.0, -1e30]), "?");
    check(&format!("(mapjoin eq {sum} 5)"), &x(&[1e30, 1.0, -1e30]), "?");
    check(&format!("(mapjoin eq {sum} 0.75)"), &x(&[0.5, 0.125, 0.125]), "true");
    check(&format!("(mapjoin cast-i64 (mapjoin * 10 {sum}))"), &x(&[0.1, 0.2, 0.3]), "?");
    check(&format!("(mapjoin and false (mapjoin eq {sum} 0.6))"), &x(&[0.1, 0.2, 0.3]), "false");
    check(&format!("(mapjoin ifelse (mapjoin eq {sum} 0.6) 1 2)"), &x(&[0.1, 0.2, 0.3]), "?");
    check("(mapjoin floor (mapjoin + (table x i) 0.2))", &x(&[0.8, 1.0]), "? 1.0");
    let tie = "(aggregate minby (pair inf max) (mapjoin pair (mapjoin + 0.1 (table x i)) (coordinate i)) i)";
    check(tie, &x(&[0.2, 0.2, 5.0]), "?");
}

#[test]
fn the_strict_mode_folds_in_order_and_keeps_all_values() {
    let x = floats(&[4], &[1e16, 1.0, 1.0, -1e16]);
    let strict = |expr: &str, x: &DenseTensor| run(expr, &[("x", x.clone())], FloatMode::StrictIeee).unwrap();
    let sum = strict("(aggregate + 0 (table x i) i)", &x);
    assert_eq!(sum.scalars(), [Scalar::F64(0.0)]);
    assert_eq!(relaxed("(aggregate + 0 (table x i) i)", &[("x", x)]).scalars(), [Scalar::F64(2.0)]);
    let odd = floats(&[4], &[NAN, INF, -0.0, 0.0]);
    assert_eq!(words(&strict("(mapjoin * (table x i) 0.0)", &odd)), "nan nan -0.0 0.0");
    let result = strict("(table x i)", &odd);
    assert!(result.compare(&odd.values, Exactness::Bounded).is_ok());
    let other = floats(&[4], &[NAN, INF, 0.0, 0.0]);
    assert!(result.compare(&other.values, Exactness::Bounded).is_err());
}

#[test]
fn checked_operators_fault() {
    let x = dense(&[2], vec![Scalar::I8(100), Scalar::I8(27)]);
    let run =
        |expr: &str| run(expr, &[("x", x.clone())], FloatMode::Relaxed).map(|r| words(&r)).map_err(|e| e.to_string());
    assert_eq!(run("(aggregate add-checked 0 (table x i) i)"), Ok("127".to_owned()));
    let error = run("(aggregate add-checked 1 (table x i) i)").unwrap_err();
    assert!(error.starts_with("in an application of `add-checked`: operator `add-checked` overflowed i8"), "{error}");
}

#[test]
fn inputs_are_checked() {
    let catalog = |shape: &[u64]| {
        let format = Format::dense(shape.len());
        Catalog::from_iter([("x", TensorType { shape: shape.to_vec(), dtype: DType::F64, fill: 0.0.into(), format })])
    };
    let plan = parse("(plan (query C (table x i)) (produces C))", &catalog(&[3])).unwrap();
    let run = |inputs: Vec<(Alias, DenseTensor)>| {
        interpret(&plan, &inputs.into_iter().collect(), FloatMode::Relaxed).unwrap_err().to_string()
    };
    assert_eq!(run(vec![]), "input `x`: the plan reads it, but it is missing");
    assert_eq!(
        run(vec![("x".into(), floats(&[2], &[0.0; 2]))]),
        "input `x`: it has shape [2], but the plan expects [3]"
    );
    assert_eq!(run(vec![("x".into(), floats(&[3], &[0.0; 2]))]), "input `x`: it has 2 values for 3 entries");
    assert_eq!(
        run(vec![("x".into(), dense(&[3], vec![Scalar::I8(0); 3]))]),
        "input `x`: it has a value of dtype i8, but the plan expects f64"
    );
    let huge =
        parse("(plan (query C (mapjoin + (table x i) (table x j))) (produces C))", &catalog(&[1 << 40])).unwrap();
    let error = interpret(&huge, &HashMap::new(), FloatMode::Relaxed).unwrap_err().to_string();
    assert_eq!(error, "input `x`: the plan reads it, but it is missing");
}

/// Generates small whole numbers, or floats of at most 2^19 in absolute value.
fn data(integral: bool) -> impl Strategy<Value = f64> {
    let general = (-1.0..1.0f64, -20..20i32).prop_map(|(m, e)| m * f64::from(e).exp2());
    if integral { (-9..10i32).prop_map(f64::from).boxed() } else { general.boxed() }
}

fn matrices() -> impl Strategy<Value = (bool, [u64; 3], Vec<f64>, Vec<f64>)> {
    (any::<bool>(), 0..5u64, 0..5u64, 0..5u64).prop_flat_map(|(integral, n, m, k)| {
        let vector = |count: u64| proptest::collection::vec(data(integral), count as usize);
        (Just(integral), Just([n, m, k]), vector(n * k), vector(k * m))
    })
}

proptest! {
    /// Asserts that three legal engines agree with the interpreter: one folds forward, one folds
    /// backward with regrouped factors, and one takes out the common factor.
    #[test]
    fn matrix_products_of_legal_engines_agree((integral, [n, m, k], a, b) in matrices()) {
        let product = relaxed(
            "(aggregate + 0 (mapjoin * 3 (table A i k) (table B k j)) k)",
            &[("A", floats(&[n, k], &a)), ("B", floats(&[k, m], &b))],
        );
        let term = |i: u64, j: u64, l: u64| (a[(i * k + l) as usize], b[(l * m + j) as usize]);
        let coordinates: Vec<(u64, u64)> = (0..n).flat_map(|i| (0..m).map(move |j| (i, j))).collect();
        let forward = |(i, j)| (0..k).fold(0.0, |s, l| { let (x, y) = term(i, j, l); s + 3.0 * x * y });
        let backward = |(i, j)| (0..k).rev().fold(0.0, |s, l| { let (x, y) = term(i, j, l); 3.0 * (x * y) + s });
        let factored = |(i, j)| 3.0 * (0..k).fold(0.0, |s, l| { let (x, y) = term(i, j, l); s + x * y });
        let engines: [&dyn Fn((u64, u64)) -> f64; 3] = [&forward, &backward, &factored];
        for engine in engines {
            let found: Vec<Scalar> = coordinates.iter().map(|&c| engine(c).into()).collect();
            let exactness = if integral { Exactness::Exact } else { Exactness::Bounded };
            let compared = product.compare(&found, exactness);
            prop_assert_eq!(compared, Ok(ComparisonCounts { equal: found.len(), skipped: 0 }));
        }
    }

    /// Asserts that an engine is rejected if its result is off by one for whole numbers, or has a
    /// relative error of 2^-40.
    #[test]
    fn wrong_engines_are_caught(integral: bool, values in (1..6usize).prop_flat_map(|n| proptest::collection::vec(data(false), n))) {
        let values: Vec<f64> = values.iter().map(|v| if integral { v.round() } else { v.abs() + 1.0 }).collect();
        let n = values.len() as u64;
        let sum = relaxed("(aggregate + 0 (table x i) i)", &[("x", floats(&[n], &values))]);
        let right: f64 = values.iter().sum();
        let wrong = if integral { right + 1.0 } else { right * (1.0 + (-40f64).exp2()) };
        prop_assert!(sum.compare(&[right.into()], Exactness::Bounded).is_ok());
        prop_assert!(sum.compare(&[wrong.into()], Exactness::Bounded).is_err());
    }

    /// Asserts that functions of sums in `f32` stay within their bounds if the sum is computed in
    /// another order.
    #[test]
    fn functions_of_sums_stay_within_bounds(values in proptest::collection::vec(0.5..2.0f32, 1..6)) {
        let x = dense(&[values.len() as u64], values.iter().map(|&v| v.into()).collect());
        let forward: f32 = values.iter().fold(0.0, |s, v| s + v);
        let backward: f32 = values.iter().rev().fold(0.0, |s, v| s + v);
        for (name, f) in [("exp", crate::op::elementary::expf as fn(f32) -> f32), ("sqrt", libm::sqrtf), ("sin", libm::sinf), ("reciprocal", f32::recip)] {
            let result = relaxed(&format!("(mapjoin {name} (aggregate + 0 (table x i) i))"), &[("x", x.clone())]);
            for sum in [forward, backward] {
                prop_assert!(result.compare(&[f(sum).into()], Exactness::Bounded).is_ok(), "{} {:?} {}", name, result, f(sum));
            }
        }
    }
}
