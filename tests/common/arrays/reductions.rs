//! Reductions and running folds.

use super::draw::{DenseArray, OperandSource};
use super::{Operation, oracle};
use redpoll::logic::op::Builtin;
use redpoll::logic::{FloatMode, Prim};
use redpoll::{Array, Axes};

/// An array and the axes of its reduction.
struct ReductionCase {
    array: Array,
    dense: DenseArray,
    axes: Axes,
    modes: Vec<usize>,
    keep_dims: bool,
}

fn draw_reduction(draw: &mut OperandSource, shape: &[usize], prim: Option<Prim>) -> ReductionCase {
    let operand = match prim {
        Some(prim) => draw.array_with_dtype(shape, prim),
        None => draw.array(shape),
    };
    along_axes(draw, shape, operand)
}

fn along_axes(draw: &mut OperandSource, shape: &[usize], (array, dense): (Array, DenseArray)) -> ReductionCase {
    let modes: Vec<usize> = (0..shape.len()).filter(|_| draw.rng.chance(60)).collect();
    let all = modes.len() == shape.len() && draw.rng.chance(50);
    let numbers: Vec<i64> = modes.iter().map(|k| *k as i64).collect();
    let axes: Axes = if all { (..).into() } else { numbers[..].into() };
    let keep_dims = draw.rng.chance(40);
    draw.record.push(format!("axes {modes:?} keep {keep_dims}"));
    ReductionCase { array, dense, axes: if keep_dims { axes.keep() } else { axes }, modes, keep_dims }
}

macro_rules! folds {
    ($low:expr, $shape:ident; $($name:literal $prim:expr, $of:expr, $by:expr;)*) => {
        &[$(($name, |draw| {
            let shape = draw.$shape($low, 4);
            let r = draw_reduction(draw, &shape, $prim);
            let of: fn(&Array, Axes) -> Array = $of;
            let by: fn(&[f64]) -> f64 = $by;
            (of(&r.array, r.axes.clone()), oracle::fold(&r.dense, &r.modes, r.keep_dims, by))
        })),*]
    };
}

pub const FOLDS: &[Operation] = folds! { 0, any_shape;
    "sum" None, |a, axes| a.sum(axes), |v| v.iter().sum();
    "prod" Some(Prim::I64), |a, axes| a.prod(axes), |v| v.iter().map(|x| *x as i64).fold(1, i64::wrapping_mul) as f64;
    "min" Some(Prim::F64), |a, axes| a.min(axes), |v| v.iter().copied().fold(f64::INFINITY, f64::min);
    "max" Some(Prim::F64), |a, axes| a.max(axes), |v| v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    "any" None, |a, axes| a.any(axes), |v| f64::from(v.iter().any(|x| *x != 0.0));
    "all" None, |a, axes| a.all(axes), |v| f64::from(v.iter().all(|x| *x != 0.0));
    "count_nonzero" None, |a, axes| a.count_nonzero(axes), |v| v.iter().filter(|x| **x != 0.0).count() as f64;
    "mean" Some(Prim::I64), |a, axes| a.mean(axes), |v| v.iter().sum::<f64>() / v.len() as f64;
    "norm 0" Some(Prim::F64), |a, axes| a.norm(0.0, axes), |v| v.iter().filter(|x| **x != 0.0).count() as f64;
    "norm 1" Some(Prim::F64), |a, axes| a.norm(1.0, axes), |v| v.iter().map(|x| x.abs()).sum();
    "norm 2" Some(Prim::F64), |a, axes| a.norm(2.0, axes), |v| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    "norm inf" Some(Prim::I64), |a, axes| a.norm(f64::INFINITY, axes), |v| v.iter().map(|x| x.abs()).fold(0.0, f64::max);
    "norm -inf" Some(Prim::F64), |a, axes| a.norm(f64::NEG_INFINITY, axes), |v| v.iter().map(|x| x.abs()).fold(f64::INFINITY, f64::min);
    "norm 3" Some(Prim::F64), |a, axes| a.norm(3.0, axes), |v| libm_pow(v.iter().map(|x| x.abs().powi(3)).sum(), 1.0 / 3.0);
    "reduce" Some(Prim::I64), |a, axes| a.reduce(Builtin::BitXor, 5, axes), |v| v.iter().fold(5, |s, x| s ^ *x as i64) as f64;
};

/// Variances and standard deviations. Single operations have dimensions of 1, 2 and 4, so that
/// means and sums of squares are exact. Random programs have any dimensions and compare within a
/// tolerance.
pub const MOMENTS: &[Operation] = &[
    ("var", |draw| {
        let r = draw_exact(draw);
        (r.array.var(r.axes, 0.0), oracle::fold(&r.dense, &r.modes, r.keep_dims, |v| squares(v) / v.len() as f64))
    }),
    ("var of a sample", |draw| {
        let r = draw_exact(draw);
        let count = |n: usize| (n as f64 - 1.0).max(0.0);
        (r.array.var(r.axes, 1.0), oracle::fold(&r.dense, &r.modes, r.keep_dims, |v| squares(v) / count(v.len())))
    }),
    ("std", |draw| {
        let r = draw_exact(draw);
        (
            r.array.std(r.axes, 0.0),
            oracle::fold(&r.dense, &r.modes, r.keep_dims, |v| (squares(v) / v.len() as f64).sqrt()),
        )
    }),
];

pub const ARG_EXTREMES: &[Operation] = folds! { 0, any_nonempty_shape;
    "argmin" None, |a, axes| a.argmin(axes), |v| (0..v.len()).fold(0, |best, k| if v[k] < v[best] { k } else { best }) as f64;
    "argmax" None, |a, axes| a.argmax(axes), |v| (0..v.len()).fold(0, |best, k| if v[k] > v[best] { k } else { best }) as f64;
};

/// Returns the coordinate of the first NaN or, if there is no NaN, of the first extreme.
fn first(v: &[f64], is_better: fn(&f64, &f64) -> bool) -> f64 {
    let is_before = |a: f64, b: f64| !b.is_nan() && (a.is_nan() || is_better(&a, &b));
    (0..v.len()).fold(0, |best, k| if is_before(v[k], v[best]) { k } else { best }) as f64
}

fn draw_with_nan(draw: &mut OperandSource, mode: FloatMode) -> ReductionCase {
    draw.set_mode(mode);
    let shape: Vec<usize> = (0..draw.rng.index(4)).map(|_| draw.nonzero_size()).collect();
    let prim = *draw.rng.pick(&[Prim::F64, Prim::F32]);
    let operand = draw.array_with_nan(&shape, prim);
    along_axes(draw, &shape, operand)
}

macro_rules! arg_extremes_with_nan {
    ($($name:literal $mode:ident $method:ident $better:ident;)*) => {
        &[$(($name, |draw| {
            let r = draw_with_nan(draw, FloatMode::$mode);
            (r.array.$method(r.axes), oracle::fold(&r.dense, &r.modes, r.keep_dims, |v| first(v, f64::$better)))
        })),*]
    };
}

pub const ARG_EXTREMES_WITH_NAN: &[Operation] = arg_extremes_with_nan! {
    "argmin with NaN" Relaxed argmin lt;
    "argmax with NaN" Relaxed argmax gt;
    "argmin with NaN, strict" StrictIeee argmin lt;
    "argmax with NaN, strict" StrictIeee argmax gt;
};

macro_rules! scans {
    ($($name:literal $of:expr, $start:expr, $by:expr;)*) => {
        &[$(($name, |draw| {
            let shape = draw.any_shape(1, 4);
            let (array, dense) = draw.array_with_dtype(&shape, Prim::I64);
            let (number, axis) = draw.axis(shape.len());
            let of: fn(&Array, i64) -> Array = $of;
            let by: fn(f64, f64) -> f64 = $by;
            let mut expected = dense.clone();
            for mut lane in expected.lanes_mut(ndarray::Axis(axis)) {
                let mut sum: f64 = $start;
                for value in &mut lane {
                    sum = by(sum, *value);
                    *value = sum;
                }
            }
            (of(&array, number), expected)
        })),*]
    };
}

pub const SCANS: &[Operation] = scans! {
    "cumulative_sum" |a, axis| a.cumulative_sum(axis), 0.0, |s, x| s + x;
    "cumulative_prod" |a, axis| a.cumulative_prod(axis), 1.0, |s, x| s * x;
    "scan" |a, axis| a.scan(Builtin::Max, axis), f64::NEG_INFINITY, f64::max;
};

fn draw_exact(draw: &mut OperandSource) -> ReductionCase {
    let shape = match draw.is_program() {
        true => draw.any_shape(1, 4),
        false => (0..1 + draw.rng.index(3)).map(|_| *draw.rng.pick(&[1, 2, 4])).collect(),
    };
    draw_reduction(draw, &shape, Some(Prim::F64))
}

fn squares(v: &[f64]) -> f64 {
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    v.iter().map(|x| (x - mean) * (x - mean)).sum()
}

/// Computes a power with the operator that all engines use.
fn libm_pow(x: f64, p: f64) -> f64 {
    redpoll::logic::op::Op::from(Builtin::Pow).apply(&[x.into(), p.into()]).unwrap().to_f64().unwrap()
}
