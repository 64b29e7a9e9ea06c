//! The methods of arrays, each as a function of the operands.

use crate::operands::Operands;
use redpoll::logic::op::Builtin;
use redpoll::logic::{Format, Prim};
use redpoll::{Array, Overlap, index, wrt};

/// A use of a method: the method's name, possibly with a variant, and a function that calls the
/// method.
pub(crate) type Method = (&'static str, fn(&Operands) -> Array);

macro_rules! elementwise {
    ($x:ident; $($name:ident($($other:expr)?))*) => {
        /// The elementwise functions of the table in `src/array/functions.rs`.
        pub(crate) const ELEMENTWISE: &[Method] =
            &[$((stringify!($name), |$x: &Operands| $x.a.$name($($other)?))),*];
    };
}

macro_rules! methods {
    ($($name:literal $x:ident $e:expr;)*) => { &[$(($name, |$x: &Operands| $e)),*] };
}

elementwise! { x;
    abs() acos() acosh() asin() asinh() atan() atanh() cbrt() ceil() cos() cosh() erf() exp() exp2() expm1()
    floor() isfinite() isinf() isnan() lgamma() log() log10() log1p() log2() logical_not() negative()
    reciprocal() round() sign() sin() sinh() sqrt() square() tan() tanh() tgamma() trunc()
    add(&x.b) add_saturating(&x.b) atan2(&x.b) choose(&x.b) coalesce(&x.b) copysign(&x.b) divide(&x.b)
    equal(&x.b) floor_divide(&x.b) fmod(&x.b) greater(&x.b) greater_equal(&x.b) hypot(&x.b) nextafter(&x.b) less(&x.b)
    less_equal(&x.b) logical_and(&x.b) logical_or(&x.b) logical_xor(&x.b) maximum(&x.b) minimum(&x.b)
    multiply(&x.b) multiply_saturating(&x.b) not_equal(&x.b) pow(&x.b) remainder(&x.b) subtract(&x.b)
    subtract_saturating(&x.b)
}

/// Other methods, and elementwise functions of numbers, vectors and integers.
pub(crate) const METHODS: &[Method] = methods! {
    "add number" x x.a.add(1.0);
    "divide number" x x.a.divide(2.0);
    "number divided" x x.session.full([], 2.0).divide(&x.a);
    "divide by vector" x x.a.divide(&x.v);
    "multiply vector" x x.a.multiply(&x.v);
    "add vector" x x.a.add(&x.v);
    "remainder number" x x.a.remainder(2.0);
    "pow number" x x.a.pow(2.0);
    "equal number" x x.a.equal(2.0);
    "greater number" x x.a.greater(1.0);
    "less number" x x.a.less(1.0);
    "apply" x x.a.apply(Builtin::Max, [(&x.b).into()]);
    "where_" x x.a.greater(1.0).where_(&x.a, &x.b);
    "where_ number" x x.a.greater(1.0).where_(1.0, 2.0);
    "where_ other" x x.a.greater(1.0).where_(&x.b, 2.0);
    "clip" x x.a.clip(0.5, 2.0);
    "astype" x x.a.astype(Prim::I32);
    "logaddexp" x x.a.logaddexp(&x.b);
    "signbit" x x.a.signbit();
    "positive" x x.a.positive();
    "bitwise_and" x x.i.bitwise_and(&x.i);
    "bitwise_left_shift" x x.i.bitwise_left_shift(&x.i);
    "refill" x x.a.cos().refill(1.0);
    "drop_fills" x x.a.multiply(&x.b).drop_fills();
    "to_csf" x x.a.to_csf();
    "to_coo" x x.a.to_coo();
    "reformat" x x.a.reformat(Format::coo(2));
    "concat" x x.a.concat([&x.b], 0);
    "concat 1" x x.a.concat([&x.b], 1);
    "stack" x x.a.stack([&x.b], 0);
    "stack 1" x x.a.stack([&x.b], 1);
    "stack 2" x x.a.stack([&x.b], 2);
    "flip" x x.a.flip(..);
    "flip 0" x x.a.flip(0);
    "flip 1" x x.a.flip(1);
    "roll" x x.a.roll(1, 0);
    "roll 1" x x.a.roll(1, 1);
    "roll all" x x.a.roll(1, [0, 1]);
    "roll flat" x x.a.roll(1, ..);
    "tile" x x.a.tile([2, 3]);
    "repeat" x x.a.repeat(3, 0);
    "repeat 1" x x.a.repeat(3, 1);
    "repeat flat" x x.a.repeat(3, ..);
    "pad" x x.a.pad([(1, 2), (3, 4)], 0.0);
    "pad vector" x x.v.pad([(1, 2)], 0.0);
    "mean all" x x.a.mean(..);
    "mean 0" x x.a.mean(0);
    "mean 1" x x.a.mean(1);
    "var all" x x.a.var(.., 0.0);
    "var 0" x x.a.var(0, 0.0);
    "var 1" x x.a.var(1, 0.0);
    "std 1" x x.a.std(1, 0.0);
    "norm 0" x x.a.norm(0.0, ..);
    "norm 1" x x.a.norm(1.0, 0);
    "norm 2" x x.a.norm(2.0, 1);
    "norm inf 0" x x.a.norm(f64::INFINITY, 0);
    "norm inf 1" x x.a.norm(f64::INFINITY, 1);
    "norm inf" x x.a.norm(f64::INFINITY, ..);
    "norm 3" x x.a.norm(3.0, ..);
    "argmin 0" x x.a.argmin(0);
    "argmin 1" x x.a.argmin(1);
    "argmin all" x x.a.argmin(..);
    "argmax 0" x x.a.argmax(0);
    "argmax 1" x x.a.argmax(1);
    "argmax all" x x.a.argmax(..);
    "argmax vector" x x.v.argmax(0);
    "argmax cube" x x.t.argmax(..);
    "argmax cube 02" x x.t.argmax([0, 2]);
    "argmax cube 1" x x.t.argmax(1);
    "sum all" x x.a.sum(..);
    "sum 0" x x.a.sum(0);
    "sum 1" x x.a.sum(1);
    "sum cube" x x.t.sum([0, 2]);
    "prod all" x x.a.prod(..);
    "prod 0" x x.a.prod(0);
    "prod 1" x x.a.prod(1);
    "prod plus" x x.a.add(1.0).prod(0);
    "sum plus" x x.a.add(1.0).sum(0);
    "sum plus all" x x.a.add(1.0).sum(..);
    "min 0" x x.a.min(0);
    "min 1" x x.a.min(1);
    "max 0" x x.a.max(0);
    "max 1" x x.a.max(1);
    "max all" x x.a.max(..);
    "max cube" x x.t.max([0, 2]);
    "max cube 1" x x.t.max(1);
    "all 0" x x.a.all(0);
    "all 1" x x.a.all(1);
    "any 0" x x.a.any(0);
    "any all" x x.a.any(..);
    "count_nonzero" x x.a.count_nonzero(0);
    "reduce" x x.a.reduce(Builtin::Add, 1.0, 0);
    "cumulative_sum 0" x x.a.cumulative_sum(0);
    "cumulative_sum 1" x x.a.cumulative_sum(1);
    "cumulative_sum vector" x x.v.cumulative_sum(0);
    "cumulative_prod" x x.a.cumulative_prod(1);
    "diff" x x.a.diff(1, 0);
    "diff 1" x x.a.diff(2, 1);
    "scan" x x.a.scan(Builtin::Max, 1);
    "matmul" x x.a.matmul(x.b.t());
    "matmul rows" x x.a.t().matmul(&x.b);
    "matvec" x x.a.matmul(&x.v);
    "vecmat" x x.w.matmul(&x.a);
    "tensordot" x x.t.tensordot(&x.t, 1);
    "vecdot" x x.a.vecdot(&x.b, 1);
    "vecdot 0" x x.a.vecdot(&x.b, 0);
    "dot" x x.v.dot(&(&x.v + &x.v));
    "outer" x x.v.outer(&x.w);
    "kron" x x.v.kron(&x.w);
    "kron matrix" x x.a.kron(x.v.expand_dims(0));
    "scatter" x x.v.scatter(x.v.astype(Prim::I64), 5, Builtin::Add);
    "bincount" x x.i.slice(index![0]).bincount(4);
    "bincount all" x x.v.astype(Prim::I64).bincount(4);
    "histogram" x x.v.histogram(4, 0.0..4.0);
    "permute_dims" x x.a.permute_dims([1, 0]);
    "permute cube" x x.t.permute_dims([2, 0, 1]);
    "t" x x.a.t();
    "moveaxis" x x.t.moveaxis(0, 2);
    "expand_dims" x x.a.expand_dims(1);
    "squeeze" x x.a.expand_dims(1).squeeze(1);
    "reshape flat" x x.a.reshape([-1]);
    "reshape wide" x x.a.reshape([x.rows as i64 / 2, x.columns as i64 * 2]);
    "reshape tall" x x.a.reshape([x.rows as i64 * 2, x.columns as i64 / 2]);
    "reshape cube" x x.a.reshape([x.rows as i64, 2, x.columns as i64 / 2]);
    "reshape vector" x x.v.reshape([16, -1]);
    "reshape cube flat" x x.t.reshape([-1]);
    "broadcast_to" x x.v.broadcast_to([3, x.columns]);
    "slice row" x x.a.slice(index![5]);
    "slice column" x x.a.slice(index![.., 5]);
    "slice rows" x x.a.slice(index![5..50]);
    "slice columns" x x.a.slice(index![.., 5..50]);
    "slice step" x x.a.slice(index![(.., 3)]);
    "slice step 1" x x.a.slice(index![.., (.., 3)]);
    "slice back" x x.a.slice(index![(.., -1)]);
    "slice back 1" x x.a.slice(index![.., (.., -2)]);
    "take" x x.a.take(vec![3, 1, 2], 0);
    "take 1" x x.a.take(vec![3, 1, 2], 1);
    "take array" x x.a.take(&x.i.slice(index![3]), 1);
    "take_along_axis" x x.a.take_along_axis(&x.i, 1);
    "tril" x x.a.tril(0);
    "triu" x x.a.triu(1);
    "band" x x.a.band(-1, 1);
    "symmetric" x x.a.matmul(x.b.t()).symmetric();
    "diagonal" x x.a.diagonal(0);
    "trace" x x.a.trace(0);
    "diagonal_matrix" x x.v.diagonal_matrix(0);
    "sliding_window" x x.v.sliding_window(3, 0);
    "sliding_window 1" x x.a.sliding_window(3, 1);
    "sliding sum" x x.a.sliding_window(3, 1).sum(2);
    "sliding max" x x.a.sliding_window(3, 1).max(2);
    "chunks" x x.a.chunks(4, 0);
    "chunks sum" x x.a.chunks(4, 0).sum(1);
    "eye" x x.session.eye(64, 64, 0, Prim::F64);
    "jvp" x x.session.jvp(&x.a.square(), [(&x.a, &x.b)]);
    "grad" x {
        let [gradient] = x.session.grad(&x.a.multiply(&x.b).sum(..), [&x.a]);
        gradient
    };
    "grad in pattern" x {
        let [gradient] = x.session.grad(&x.a.exp().sum(..), [wrt(&x.a).in_pattern()]);
        gradient
    };
    "zeros" x x.session.zeros([x.rows, x.columns], Prim::F64).add(&x.a);
    "full" x x.session.full([x.rows, x.columns], 3.0).multiply(&x.a);
    "ones" x x.session.ones([x.rows, x.columns], Prim::F64).add(&x.a);
    "nan_mean" x x.a.nan_mean(1);
    "arange" x x.session.arange(0, x.columns as i64, 1).multiply(&x.i);
    "linspace" x x.session.linspace(0.0, 1.0, x.columns).multiply(&x.a);
    "einsum" x x.session.einsum("ij,kj->ik", [&x.a, &x.b]);
    "einsum trace" x x.session.einsum("ij,ij->", [&x.a, &x.b]);
    "einsum hadamard" x x.session.einsum("ij,ij->i", [&x.a, &x.b]);
    "mttkrp" x x.session.einsum("ijk,jr,kr->ir", [&x.t, &x.f, &x.g]);
    "bitwise_invert" x x.i.bitwise_invert();
    "bitwise_or" x x.i.bitwise_or(&x.i);
    "bitwise_xor" x x.i.bitwise_xor(&x.i);
    "bitwise_right_shift" x x.i.bitwise_right_shift(&x.i);
    "add_checked" x x.i.add_checked(&x.i);
    "multiply_checked" x x.i.multiply_checked(&x.i);
    "subtract_checked" x x.i.subtract_checked(&x.i);
    "ldexp" x x.a.ldexp(&x.i);
    "to_csr" x x.v.expand_dims(0).to_csr();
    "to_csc" x x.w.expand_dims(1).to_csc();
    "to_dense" x x.a.sum(..).to_dense();
    "convolve" x x.v.convolve(x.session.vector([1.0, 2.0]), Overlap::Full);
    "at" x x.a.at(["i", "j"]);
    "by_position" x x.a.at(["i", "j"]).by_position(["j", "i"]);
    "einsum_with" x x.session.einsum_with("ij,ij->j", [&x.a, &x.b], Builtin::Max, Builtin::Mul);
};
