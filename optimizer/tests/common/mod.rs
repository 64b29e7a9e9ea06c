//! Runs a plan in text through the plain path, checks what it means against the Logic plan, and gives the physical plan.

use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::physical::interp::{DenseTensor, interpret};
use redpoll_logic::statistics::{Answer, PositionCounts, Statistics};
use redpoll_logic::{Alias, DType, Expr, Field, FloatMode, Format, Node, Plan, Scalar, TensorType};
use redpoll_optimizer::{Config, Report, optimize_plain};
use std::collections::HashMap;
use std::sync::Arc;

/// An input: name, shape, dtype, fill, format.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) ty: TensorType,
    pub(crate) stored: Option<f64>,
}

pub(crate) fn input(name: &'static str, shape: &[u64], format: Format) -> Input {
    filled(name, shape, format, Scalar::F64(0.0))
}

pub(crate) fn filled(name: &'static str, shape: &[u64], format: Format, fill: Scalar) -> Input {
    Input { name, ty: TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format }, stored: None }
}

impl Input {
    /// The number of stored values that statistics give.
    pub(crate) fn stored(self, count: f64) -> Input {
        Input { stored: Some(count), ..self }
    }
}

/// A tensor of small integers, about a third of which are stored, the same for the same seed.
pub(crate) fn data(ty: &TensorType, seed: u64) -> DenseTensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 20
    };
    let places = ty.shape.iter().product::<u64>();
    let dense = ty.format.levels.iter().all(|l| l.kind == redpoll_logic::LevelKind::Dense);
    let values = (0..places).map(|_| {
        let (stored, value) = (dense || next() % 3 == 0, next() % 5);
        match (&ty.dtype, stored) {
            (_, false) => ty.fill.clone(),
            (DType::Prim(p), true) => Scalar::I64(value as i64).cast(*p).unwrap(),
            (DType::Struct(_), true) => ty.fill.clone(),
        }
    });
    DenseTensor { shape: ty.shape.clone(), values: values.collect() }
}

/// The plan of a text over inputs.
pub(crate) fn plan(text: &str, inputs: &[Input]) -> Plan {
    let catalog = inputs.iter().map(|i| (Alias::from(i.name), Arc::new(i.ty.clone()))).collect();
    redpoll_logic::text::parse(text, &catalog).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Optimizes and checks a plan over a few data sets.
pub(crate) fn check_with(text: &str, inputs: &[Input], config: &Config) -> (PhysicalPlan, Report) {
    let plan = plan(text, inputs);
    let mut counts = PositionCounts::default();
    for i in inputs {
        let Some(stored) = i.stored else { continue };
        let sizes = i.ty.format.storage_shape(&i.ty.shape);
        let mut places = 1.0;
        let answers = sizes.iter().zip(&i.ty.format.levels).map(|(&n, level)| {
            places *= n as f64;
            let most = if level.kind == redpoll_logic::LevelKind::Dense { places } else { stored.min(places) };
            Answer::new(most, places)
        });
        counts.insert(i.name.into(), answers.collect());
    }
    let (physical, report) =
        optimize_plain(&plan, &Statistics::new(&counts), config).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let places: f64 = inputs.iter().map(|i| i.ty.shape.iter().map(|&n| n as f64).product::<f64>()).fold(0.0, f64::max);
    if places <= 1000.0 {
        compare(&plan, &physical, inputs, config.float_mode);
    }
    (physical, report)
}

fn compare(plan: &Plan, physical: &PhysicalPlan, inputs: &[Input], _mode: FloatMode) {
    for seed in 1..4 {
        let tensors: HashMap<Alias, DenseTensor> =
            inputs.iter().zip(0..).map(|(i, k)| (i.name.into(), data(&i.ty, seed * 100 + k))).collect();
        let found = interpret(physical, &tensors).unwrap_or_else(|e| panic!("{e}\n{physical}"));
        let mut known = tensors.clone();
        for query in &plan.queries {
            let value = dense(&query.expr, &known);
            known.insert(query.alias.clone(), value);
        }
        for alias in &plan.produces {
            let (expected, found) = (&known[alias], &found[alias]);
            assert_eq!(expected.shape, found.shape, "{alias}\n{physical}");
            for (k, (x, y)) in expected.values.iter().zip(&found.values).enumerate() {
                assert!(equal(x, y), "{alias} at {k}: expected {x}, found {y}, seed {seed}\n{physical}");
            }
        }
    }
}

fn equal(x: &Scalar, y: &Scalar) -> bool {
    x == y || (x.dtype() == y.dtype() && x.flatten().iter().zip(y.flatten()).all(|(a, b)| a.to_f64() == b.to_f64()))
}

/// The dense value of an expression.
pub(crate) fn dense(expr: &Expr, tensors: &HashMap<Alias, DenseTensor>) -> DenseTensor {
    let shape = expr.info().shape().unwrap();
    let mut values = Vec::new();
    each_place(&shape, &mut |place| {
        let env = expr.info().fields.iter().cloned().zip(place.iter().copied()).collect();
        values.push(value(expr, &env, tensors));
    });
    DenseTensor { shape, values }
}

fn each_place(shape: &[u64], f: &mut dyn FnMut(&[i64])) {
    let count: u64 = shape.iter().product();
    for mut k in 0..count {
        let mut place = vec![0; shape.len()];
        for (p, &n) in place.iter_mut().zip(shape).rev() {
            *p = (k % n) as i64;
            k /= n;
        }
        f(&place);
    }
}

fn value(expr: &Expr, env: &HashMap<Field, i64>, tensors: &HashMap<Alias, DenseTensor>) -> Scalar {
    match expr.node() {
        Node::Literal(v) => v.clone(),
        Node::Coordinate(f) => Scalar::I64(env[f]),
        Node::Table { tensor, fields, .. } => {
            let tensor = &tensors[tensor];
            let at = tensor.shape.iter().zip(fields).fold(0, |at, (&n, f)| at * n as i64 + env[f]);
            tensor.values[at as usize].clone()
        }
        Node::MapJoin { op, args } => {
            op.apply(&args.iter().map(|a| value(a, env, tensors)).collect::<Vec<_>>()).unwrap()
        }
        Node::Aggregate { op, init, arg, fields } => {
            let sizes: Vec<u64> = fields.iter().map(|f| arg.info().dimension(f).unwrap()).collect();
            let mut sum = init.clone();
            each_place(&sizes, &mut |place| {
                let mut inner = env.clone();
                inner.extend(fields.iter().cloned().zip(place.iter().copied()));
                sum = op.eval(&[sum.clone(), value(arg, &inner, tensors)]).unwrap();
            });
            sum
        }
        Node::Scan { op, arg, field } => {
            let mut inner = env.clone();
            inner.insert(field.clone(), 0);
            let mut sum = value(arg, &inner, tensors);
            for k in 1..=env[field] {
                inner.insert(field.clone(), k);
                sum = op.eval(&[sum, value(arg, &inner, tensors)]).unwrap();
            }
            sum
        }
        Node::Reorder { arg, .. } | Node::Reformat { arg, .. } => value(arg, env, tensors),
        Node::Relabel { arg, fields } => {
            let inner = arg.info().fields.iter().zip(fields).map(|(f, g)| (f.clone(), env[g])).collect();
            value(arg, &inner, tensors)
        }
        Node::Index { map, arg } => {
            let mut inner = env.clone();
            for (field, at) in &map.coordinates {
                let place = at.evaluate(&|f| env[f]);
                if place < 0 || place as u64 >= arg.info().dimension(field).unwrap() {
                    return map.outside.clone().unwrap();
                }
                inner.insert(field.clone(), place);
            }
            value(arg, &inner, tensors)
        }
    }
}
