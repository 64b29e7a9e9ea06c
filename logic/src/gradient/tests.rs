//! Tests of derivatives. Finite differences confirm the rows, folds, scans, index maps and plans;
//! other tests cover forward mode, second derivatives, ties and errors.

use super::rows::derivatives;
use super::*;
use crate::dtype::{DType, Prim};
use crate::error::Error;
use crate::expr::{Expr, Node};
use crate::field::Alias;
use crate::format::{Format, TensorType};
use crate::interp::{DenseTensor, interpret};
use crate::mode::FloatMode;
use crate::op::{Arity, Builtin, Op};
use crate::plan::{Plan, Query};
use crate::scalar::Scalar;
use crate::testing::{CaseConfig, Coverage, Rng, random_case};
use crate::text::{Catalog, parse};
use std::collections::HashMap;
use std::sync::Arc;

type Inputs = HashMap<Alias, DenseTensor>;

fn float_type(shape: &[u64]) -> Arc<TensorType> {
    Arc::new(TensorType {
        shape: shape.to_vec(),
        dtype: DType::F64,
        fill: Scalar::F64(0.0),
        format: Format::dense(shape.len()),
    })
}

/// Returns random inputs. About a quarter of the values are 0; the others lie between -2 and 2, at
/// least 0.1 from whole numbers.
fn random_inputs(shapes: &[(&str, &[u64])], rng: &mut Rng) -> Inputs {
    random_inputs_with_zeros(25, shapes, rng)
}

/// Returns random inputs with the given percentage of zeros.
fn random_inputs_with_zeros(zeros: u64, shapes: &[(&str, &[u64])], rng: &mut Rng) -> Inputs {
    let mut value = || match rng.chance(zeros) {
        true => 0.0,
        false => (rng.below(4) as f64 - 2.0) + 0.1 + 0.8 * (rng.below(1000) as f64 / 1000.0),
    };
    let tensor = |(name, shape): &(&str, &[u64])| {
        let count = shape.iter().product::<u64>();
        let values = (0..count).map(|_| Scalar::F64(value())).collect();
        (Alias::from(*name), DenseTensor { shape: shape.to_vec(), values })
    };
    shapes.iter().map(tensor).collect()
}

fn number(value: &Scalar) -> f64 {
    value.to_f64().unwrap()
}

/// Returns the result of a plan as floats.
fn values(plan: &Plan, inputs: &Inputs, result: &Alias) -> Vec<f64> {
    let results = interpret(plan, inputs, FloatMode::Relaxed).unwrap();
    results[result].scalars().iter().map(number).collect()
}

/// Returns the derivative of a result, which is one float, with respect to each value of an input,
/// with a bound of the error; `None` near a jump or kink, and where rounding makes the differences
/// too coarse. The method is Richardson's extrapolation of central differences.
fn differences(plan: &Plan, inputs: &Inputs, loss: &Alias, input: &Alias) -> Vec<Option<(f64, f64)>> {
    let mut inputs = inputs.clone();
    let count = inputs[input].values.len();
    let mut nodes = Coverage::default();
    plan.queries.iter().for_each(|query| count_nodes(&query.expr, &mut nodes));
    let epsilon = if nodes.count("f32") > 0 { f64::from(16.0 * f32::EPSILON) } else { f64::EPSILON };
    let mut difference = |k: usize, step: f64| {
        let at = number(&inputs[input].values[k]);
        let mut moved = |by: f64| {
            inputs.get_mut(input).unwrap().values[k] = Scalar::F64(at + by);
            let value = values(plan, &inputs, loss)[0];
            inputs.get_mut(input).unwrap().values[k] = Scalar::F64(at);
            value
        };
        let (above, here, below) = (moved(step), moved(0.0), moved(-step));
        let rounding = epsilon * (1.0 + above.abs().max(below.abs())) / step;
        ((above - below) / (2.0 * step), (above - here) / step, (here - below) / step, rounding)
    };
    (0..count)
        .map(|k| {
            let (wide, up, down, _) = difference(k, 2e-3);
            let (narrow, near_up, near_down, rounding) = difference(k, 1e-3);
            let extrapolated = (4.0 * narrow - wide) / 3.0;
            let scale = 1.0 + extrapolated.abs();
            // The difference quotients of the two sides differ by the second derivative times the
            // step. Half the step therefore halves their distance, unless there is a kink.
            let noise = 1e-6 * scale + 4.0 * rounding;
            let is_smooth = (near_up - near_down).abs() <= 0.75 * (up - down).abs() + noise;
            let is_exact = extrapolated.abs() < 1e6 && rounding < 1e-2 * scale;
            let is_regular = is_smooth && is_exact && (wide - narrow).abs() < 1e-2 * scale;
            is_regular.then(|| (extrapolated, (wide - narrow).abs() + noise))
        })
        .collect()
}

/// Checks the gradient of the loss `L` with respect to every input; returns the number of compared
/// values.
fn check_plan(plan: &Plan, inputs: &Inputs, context: &str) -> Result<usize, Error> {
    let mut wrt: Vec<Alias> = inputs.keys().cloned().collect();
    wrt.sort();
    let loss = Alias::from("L");
    let (gradients, names) = gradient_plan(plan, &loss, &wrt, Ties::Shared)?;
    crate::verify(&gradients).unwrap_or_else(|e| panic!("{context}: {e}\n{gradients}"));
    let mut compared = 0;
    for (input, name) in wrt.iter().zip(&names) {
        let found = values(&gradients, inputs, name);
        let expected = differences(plan, inputs, &loss, input);
        assert_eq!(found.len(), expected.len(), "{context}");
        for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
            let Some((expected, bound)) = expected else { continue };
            compared += 1;
            assert!(
                (found - expected).abs() <= bound,
                "{context}: {input}[{k}]: {found}, expected {expected}\n{gradients}"
            );
        }
    }
    Ok(compared)
}

/// Checks the gradients of a plan with the loss `L`, or of the expression of a loss, on random
/// data.
fn check(plan: &str, shapes: &[(&str, &[u64])]) {
    let text =
        if plan.starts_with("(plan") { plan.to_owned() } else { format!("(plan (query L {plan}) (produces L))") };
    let catalog: Catalog = shapes.iter().map(|(name, shape)| (*name, float_type(shape))).collect();
    let plan = parse(&text, &catalog).unwrap_or_else(|e| panic!("{text}: {e}"));
    let compared: usize =
        (0..10).map(|seed| check_plan(&plan, &random_inputs(shapes, &mut Rng::new(seed)), &text).unwrap()).sum();
    assert!(compared > 0, "{text}: no value was compared");
}

/// Asserts that the rows of operators agree with differences, in every argument that is a float.
/// Rows of zeros and casts to dtypes other than `f64` are left out.
#[test]
fn rows_agree_with_differences() {
    let mut checked = 0;
    for op in Builtin::ALL {
        let name = op.name();
        let any = Op::Builtin(*op);
        let Ok(row) = derivatives(&any, Ties::Shared) else { continue };
        let arguments: &[&str] = match (op, op.arity()) {
            (Builtin::IfElse, _) => &["(mapjoin gt (table A i) 0)", "(table B i)", "(table C i)"],
            (Builtin::Ldexp, _) => &["(table A i)", "3"],
            (_, Arity::Exact(1)) => &["(table A i)"],
            (_, Arity::Exact(2)) => &["(table A i)", "(table B i)"],
            _ => &["(table A i)", "(table B i)", "(table C i)"],
        };
        // Differences of values that are rounded to `f32` are too coarse.
        if (0..3).all(|k| row(k).is_none()) || matches!(op, Builtin::Cast(p) if *p != Prim::F64) {
            continue;
        }
        let shapes: [(&str, &[u64]); 3] = [("A", &[6]), ("B", &[6]), ("C", &[6])];
        // Some operators have finite values only for small, large or positive numbers.
        let domains = ["x", "(mapjoin * 0.3 x)", "(mapjoin + 1.5 (mapjoin abs x))"];
        let mut compared = 0;
        for domain in domains {
            let applied = arguments.iter().map(|arg| domain.replace('x', arg)).collect::<Vec<_>>().join(" ");
            let text = format!("(plan (query L (aggregate + 0 (mapjoin {name} {applied}) i)) (produces L))");
            let catalog: Catalog = shapes.iter().map(|(name, shape)| (*name, float_type(shape))).collect();
            let Ok(plan) = parse(&text, &catalog) else { continue };
            let inputs = random_inputs(&shapes, &mut Rng::new(7));
            let used: Inputs =
                inputs.into_iter().filter(|(name, _)| text.contains(&format!("(table {name} "))).collect();
            if values(&plan, &used, &"L".into())[0].is_finite() {
                compared += check_plan(&plan, &used, &text).unwrap();
            }
        }
        assert!(compared > 0, "{name}: no value was compared");
        checked += 1;
    }
    assert!(checked > 45, "{checked} operators");
}

#[test]
fn folds_scans_and_products() {
    let matrices: [(&str, &[u64]); 2] = [("A", &[3, 4]), ("B", &[4, 3])];
    check("(aggregate + 0 (mapjoin square (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) i j)", &matrices);
    for op in ["* 1", "* 0.5", "max -inf", "min inf", "max 0"] {
        check(&format!("(aggregate + 0 (mapjoin square (aggregate {op} (table A i j) j)) i)"), &[("A", &[3, 4])]);
        check(&format!("(aggregate {op} (table A i j) i j)"), &[("A", &[3, 4])]);
    }
    check("(aggregate + 0 (mapjoin sin (scan + (table A i j) j)) i j)", &[("A", &[3, 4])]);
    check("(aggregate + 0 (scan + (table A i) i) i)", &[("A", &[5])]);
    // The derivative with respect to an argument is summed over the fields that the argument lacks,
    // even if the derivative lacks these fields, too.
    check("(aggregate + 0 (mapjoin * (table x i) (table y j)) i j)", &[("x", &[3]), ("y", &[4])]);
    check("(aggregate + 0 (mapjoin + (table x i) (table y j)) i j)", &[("x", &[3]), ("y", &[4])]);
    check("(aggregate + 0 (mapjoin * (coordinate i) (table A i j)) i j)", &[("A", &[3, 4])]);
}

/// Checks the gradients of the sum of an expression, and of the sum of its squares.
fn check_map(expr: Result<Expr, Error>, shapes: &[(&str, &[u64])]) {
    let expr = expr.unwrap();
    let fields = expr.info().fields.clone();
    for value in [expr.clone(), Expr::mapjoin(Builtin::Square, [expr]).unwrap()] {
        let loss = Expr::aggregate(Builtin::Add, 0i64, value, fields.clone()).unwrap();
        let plan = Plan { queries: vec![Query { alias: "L".into(), expr: loss }], produces: vec!["L".into()] };
        let compared: usize = (0..10)
            .map(|seed| check_plan(&plan, &random_inputs(shapes, &mut Rng::new(seed)), &plan.to_string()).unwrap())
            .sum();
        assert!(compared > 0, "{plan}: no value was compared");
    }
}

#[test]
fn index_maps() {
    let vector: [(&str, &[u64]); 1] = [("x", &[7])];
    let x = || Expr::table("x", float_type(&[7]), ["i"]).unwrap();
    check_map(x().window("i", 2, 6), &vector);
    check_map(x().offset("i", 2, 0.5), &vector);
    check_map(x().permissive("i", (-2, 9), 0.0), &vector);
    check_map(x().stride("i", 2), &vector);
    check_map(x().reverse("i"), &vector);
    check_map(x().reverse("i").unwrap().window("i", 1, 4), &vector);
    check_map(x().toeplitz("i", ("i2", "k"), 3), &vector);
    check_map(x().split("i", ("io", "i"), 3, Some(0.0.into())), &vector);
    let matrix = |shape: &[u64]| Expr::table("A", float_type(shape), ["i", "j"]).unwrap();
    check_map(matrix(&[3, 4]).merge(("i", "j"), "k"), &[("A", &[3, 4])]);
    check_map(matrix(&[4, 4]).diagonal(("i", "j"), "k"), &[("A", &[4, 4])]);
    check("(aggregate + 0 (mapjoin exp (table A i i)) i)", &[("A", &[4, 4])]);
    // A gather by data is a fold under a condition.
    let at = "(mapjoin cast-i64 (mapjoin abs (table p i)))";
    let gather = format!("(aggregate + 0 (mapjoin ifelse (mapjoin eq (coordinate k) {at}) (table x k) 0) k)");
    check(&format!("(aggregate + 0 (mapjoin square {gather}) i)"), &[("p", &[5]), ("x", &[3])]);
}

#[test]
fn plans_of_several_queries() {
    check(
        "(plan (query H (mapjoin tanh (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)))
               (query S (aggregate + 0 (table H i j) j))
               (query U (mapjoin exp (table unused i)))
               (query L (aggregate + 0 (mapjoin * (table H i j) (mapjoin square (table S i))) i j))
               (produces L))",
        &[("A", &[3, 2]), ("B", &[2, 3]), ("unused", &[2])],
    );
    check(
        "(plan (query H (reorder (table A i j) j i)) (query T (aggregate + 0 (mapjoin * (table H a b) (table A b a)) a b))
               (query L (mapjoin sqrt (table T))) (produces L))",
        &[("A", &[3, 2])],
    );
}

/// Returns the only query of a plan as an expression, with the tables by name.
fn expression(text: &str, shapes: &[(&str, &[u64])]) -> Expr {
    let catalog: Catalog = shapes.iter().map(|(name, shape)| (*name, float_type(shape))).collect();
    parse(&format!("(plan (query L {text}) (produces L))"), &catalog).unwrap().queries[0].expr.clone()
}

fn evaluate(expr: Expr, inputs: &Inputs) -> Vec<f64> {
    let plan = Plan { queries: vec![Query { alias: "L".into(), expr }], produces: vec!["L".into()] };
    values(&plan, inputs, &"L".into())
}

/// Asserts that the product of the gradient (reverse mode) with a direction equals the tangent in
/// this direction (forward mode), and that three combinations of the modes give equal second
/// derivatives.
#[test]
fn forward_mode_and_second_derivatives() {
    let shapes: [(&str, &[u64]); 2] = [("x", &[5]), ("v", &[5])];
    let [x, v] = ["x", "v"].map(|name| Expr::table(name, float_type(&[5]), ["i"]).unwrap());
    let parsed = |text: &str| expression(text, &shapes);
    let stencil = Expr::mapjoin(
        Builtin::Mul,
        [
            x.clone().permissive("i", (1, 6), 0.0).unwrap(),
            Expr::mapjoin(Builtin::Sin, [x.clone().offset("i", 1, 0.0).unwrap()]).unwrap(),
        ],
    );
    let losses = [
        parsed("(aggregate + 0 (mapjoin * (mapjoin exp (table x i)) (scan + (mapjoin square (table x i)) i)) i)"),
        parsed("(aggregate * 1 (mapjoin + 3 (table x i)) i)"),
        Expr::aggregate(Builtin::Add, 0i64, stencil.unwrap(), ["i"]).unwrap(),
    ];
    for (text, loss) in losses.into_iter().enumerate() {
        let inputs = random_inputs(&shapes, &mut Rng::new(3));
        let gradient = |e: &Expr| {
            pullback(e, &Expr::literal(1.0), std::slice::from_ref(&x), Ties::Shared).unwrap().remove(0).unwrap()
        };
        let dot = |a: Expr, b: &Expr| {
            Expr::aggregate(Builtin::Add, 0i64, Expr::mapjoin(Builtin::Mul, [a, b.clone()]).unwrap(), ["i"]).unwrap()
        };
        let tangent = |e: &Expr| pushforward(e, &[(x.clone(), v.clone())], Ties::Shared).unwrap();
        let first = [dot(gradient(&loss), &v), tangent(&loss)].map(|e| evaluate(e, &inputs)[0]);
        assert!((first[0] - first[1]).abs() < 1e-9 * (1.0 + first[0].abs()), "{text}: {first:?}");
        // The product of the second derivatives with the direction, in three ways.
        let products = [gradient(&dot(gradient(&loss), &v)), tangent(&gradient(&loss)), gradient(&tangent(&loss))];
        let [a, b, c] = products.map(|e| evaluate(e, &inputs));
        for (a, (b, c)) in a.iter().zip(b.iter().zip(&c)) {
            let bound = 1e-8 * (1.0 + a.abs());
            assert!((a - b).abs() < bound && (a - c).abs() < bound, "{text}: {a} {b} {c}");
        }
    }
}

/// Asserts that the derivative of `atan2` with respect to a float is computed in floats, although
/// the other argument is an integer, whose square would wrap.
#[test]
fn arguments_are_cast_before_their_derivatives() {
    let ty = TensorType { dtype: DType::I64, fill: Scalar::I64(0), ..(*float_type(&[1])).clone() };
    let [n, x] = [("n", Arc::new(ty)), ("x", float_type(&[1]))].map(|(name, ty)| Expr::table(name, ty, ["i"]).unwrap());
    let inputs: Inputs = [("n", Scalar::I64(1 << 33)), ("x", Scalar::F64(2.0))]
        .map(|(name, value)| (name.into(), DenseTensor { shape: vec![1], values: vec![value] }))
        .into();
    let angle = Expr::mapjoin(Builtin::Atan2, [n, x.clone()]).unwrap();
    let gradient =
        pullback(&angle, &Expr::literal(1.0), std::slice::from_ref(&x), Ties::Shared).unwrap().remove(0).unwrap();
    let expected = -1.0 / (1u64 << 33) as f64;
    assert!((evaluate(gradient, &inputs)[0] / expected - 1.0).abs() < 1e-9);
}

/// Asserts that both modes report an error for values that are not floats, and return no derivative
/// of 0.
#[test]
fn only_floats_have_derivatives() {
    let x = Expr::table("x", float_type(&[2]), ["i"]).unwrap();
    let whole = x.clone().cast(&DType::I64).unwrap();
    let back = whole.clone().cast(&DType::F64).unwrap();
    let expected = "no derivative of value of dtype i64: only floats have one; cast the values to f64";
    for (value, by) in [(&whole, &x), (&back, &whole)] {
        let directions = [(by.clone(), Expr::literal(1.0))];
        assert_eq!(pushforward(value, &directions, Ties::Shared).unwrap_err().to_string(), expected);
    }
    let error = pullback(&back, &Expr::literal(1.0), &[whole], Ties::Shared).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn ties_are_shared_or_go_to_the_first() {
    let x = Expr::table("x", float_type(&[4]), ["i"]).unwrap();
    let inputs: Inputs =
        [("x".into(), DenseTensor { shape: vec![4], values: [1.0, 3.0, 3.0, 2.0].map(Scalar::F64).to_vec() })].into();
    let largest = Expr::aggregate(Builtin::Max, f64::NEG_INFINITY, x.clone(), ["i"]).unwrap();
    for (ties, expected) in [(Ties::Shared, [0.0, 0.5, 0.5, 0.0]), (Ties::First, [0.0, 1.0, 0.0, 0.0])] {
        let gradient =
            pullback(&largest, &Expr::literal(1.0), std::slice::from_ref(&x), ties).unwrap().remove(0).unwrap();
        assert_eq!(evaluate(gradient, &inputs), expected);
    }
}

#[test]
fn errors_name_what_has_no_derivative() {
    let ty = |dtype: Prim| {
        Arc::new(TensorType { dtype: dtype.into(), fill: Scalar::zero(dtype), ..(*float_type(&[4])).clone() })
    };
    let catalog: Catalog = [("x", float_type(&[4])), ("n", ty(Prim::I64))].into_iter().collect();
    let check = |text: &str, wrt: &str, expected: &str| {
        let plan = parse(&format!("(plan {text} (produces L))"), &catalog).unwrap();
        let error = gradient_plan(&plan, &"L".into(), &[wrt.into()], Ties::Shared).unwrap_err();
        assert_eq!(error.to_string(), format!("no derivative of {expected}"));
    };
    let sum = "(query L (aggregate + 0 (mapjoin * (table n i) (table x i)) i))";
    check(sum, "n", "tensor `n` of dtype i64: only floats have one; cast the values to f64");
    check(sum, "y", "tensor `y`: the plan does not read it");
    check("(query L (mapjoin exp (table x i)))", "x", "loss `L`: it must be a query whose result is one float");
    check(
        "(query L (aggregate + 0 (mapjoin lgamma (table x i)) i))",
        "x",
        "operator `lgamma`: the digamma function is not an operator",
    );
    check(
        "(query L (aggregate hypot 0 (table x i) i))",
        "x",
        "fold by `hypot`: only folds by +, *, min and max have one; express the fold by these",
    );
}

/// Returns the seeds of random plans: `REDPOLL_SEEDS=0..60000` selects more.
fn seeds() -> std::ops::Range<u64> {
    let requested = std::env::var("REDPOLL_SEEDS").ok();
    let range = requested.as_deref().and_then(|text| text.split_once(".."));
    range.map_or(0..1500, |(from, to)| from.parse().unwrap()..to.parse().unwrap())
}

/// Asserts that the derivatives of random plans with respect to every `f64` input agree with
/// differences.
#[test]
fn random_plans_agree_with_differences() {
    let config = CaseConfig { dimension: 3, depth: 3, ..CaseConfig::default() };
    let (mut compared, mut plans, mut covered) = (0, 0, Coverage::default());
    for seed in seeds() {
        let case = random_case(seed, &config);
        let Some((plan, wrt)) = with_loss(&case.plan) else { continue };
        let mut inputs = case.dense_inputs();
        let mut rng = Rng::new(seed);
        for tensor in &wrt {
            let input = inputs.get_mut(tensor).unwrap();
            // At ties of zeros, differences may be smooth where the parts of a plan have kinks.
            let values = random_inputs_with_zeros(0, &[("t", &input.shape.clone())], &mut rng);
            input.values.clone_from(&values["t"].values);
        }
        // Differences of large numbers are too coarse.
        let is_small = |value: &Scalar| number(value).abs() <= 1e3;
        let mut nodes = Coverage::default();
        plan.queries.iter().for_each(|query| count_nodes(&query.expr, &mut nodes));
        if nodes.count("large") > 0 || !inputs.values().all(|input| input.values.iter().all(is_small)) {
            continue;
        }
        let loss = Alias::from("L");
        let Ok((gradients, names)) = gradient_plan(&plan, &loss, &wrt, Ties::Shared) else { continue };
        crate::verify(&gradients).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{gradients}"));
        if interpret(&gradients, &inputs, FloatMode::Relaxed).is_err() || !values(&plan, &inputs, &loss)[0].is_finite()
        {
            continue;
        }
        for (tensor, name) in wrt.iter().zip(&names) {
            let found = values(&gradients, &inputs, name);
            for (k, (found, expected)) in found.iter().zip(differences(&plan, &inputs, &loss, tensor)).enumerate() {
                let Some((expected, bound)) = expected else { continue };
                compared += 1;
                assert!(
                    (found - expected).abs() <= bound,
                    "seed {seed}: {tensor}[{k}]: {found}, expected {expected}\n{plan}\n{gradients}"
                );
            }
        }
        plans += 1;
        plan.queries.iter().for_each(|query| count_nodes(&query.expr, &mut covered));
    }
    let missing: Vec<&str> = ["mapjoin", "aggregate", "index", "relabel", "reorder", "scan"]
        .into_iter()
        .filter(|n| covered.count(n) < 10)
        .collect();
    assert!(
        plans > 100 && compared > 500 && missing.is_empty(),
        "{plans} plans, {compared} values, missing {missing:?}"
    );
}

fn count_nodes(e: &Expr, covered: &mut Coverage) {
    let name = match e.node() {
        Node::MapJoin { .. } => "mapjoin",
        Node::Aggregate { .. } => "aggregate",
        Node::Index { .. } => "index",
        Node::Relabel { .. } => "relabel",
        Node::Reorder { .. } => "reorder",
        Node::Scan { .. } => "scan",
        _ => "other",
    };
    covered.increment(name);
    if matches!(e.node(), Node::Literal(value) if value.to_f64().is_none_or(|value| value.abs() > 1e3)) {
        covered.increment("large");
    }
    if e.info().dtype.prims().contains(&Prim::F32) {
        covered.increment("f32");
    }
    e.node().args().iter().for_each(|arg| count_nodes(arg, covered));
}

/// Adds a loss `L`, the sum of the last result of dtype `f64`, to a plan. Returns the plan and the
/// names of its `f64` inputs; `None` if there is no such result or no such input.
fn with_loss(plan: &Plan) -> Option<(Plan, Vec<Alias>)> {
    let query = plan.queries.iter().rev().find(|query| query.expr.info().dtype == DType::F64)?;
    let fields = query.expr.info().fields.clone();
    let ty = Arc::new(query.result_type().ok()?);
    let table = Expr::table(query.alias.clone(), ty, fields.clone()).ok()?;
    let expr = if fields.is_empty() { table } else { Expr::aggregate(Builtin::Add, 0i64, table, fields).ok()? };
    let mut plan = plan.clone();
    plan.queries.push(Query { alias: "L".into(), expr });
    let mut wrt: Vec<Alias> = Vec::new();
    let queries: Vec<Alias> = plan.queries.iter().map(|query| query.alias.clone()).collect();
    for query in &plan.queries {
        let mut stack = vec![query.expr.clone()];
        while let Some(e) = stack.pop() {
            stack.extend(e.node().args().iter().cloned());
            if let Node::Table { tensor, ty, .. } = e.node()
                && ty.dtype == DType::F64
                && !queries.contains(tensor)
                && !wrt.contains(tensor)
            {
                wrt.push(tensor.clone());
            }
        }
    }
    wrt.sort();
    (!wrt.is_empty()).then_some((plan, wrt))
}
