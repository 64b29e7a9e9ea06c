//! Folds of equal values without a loop over them.

use super::{
    Laws, LoweredValue, StmtSink, assign, bin, bind, block, cast, cmp, expand_in, integer, math, nonzero, select,
    variable,
};
use crate::assembly::{BinaryOp, CompareOp, Expr, MathFn, Stmt};
use redpoll_logic::op::{Op, RepeatMethod};
use redpoll_logic::{Prim, Scalar};

/// Returns the fold of copies of `x` by `op`. The number of copies is the product of `counts`, each
/// an `i64` that is at least 1. The result has the bits of `redpoll_logic::op::eval_repeat`,
/// applied for each count in turn. `repeat` is the method of the operator on the dtype of `x`. The
/// product of `counts` may overflow 64 bits and is never computed: the fold of `n * m` values is
/// the fold of `m` folds of `n` values each.
pub(crate) fn expand_repeat(
    scope: &mut dyn StmtSink,
    (op, repeat): (&Op, RepeatMethod),
    x: &LoweredValue,
    counts: &[Expr],
    laws: Laws<'_>,
) -> LoweredValue {
    let mut folded = x.clone();
    for (k, n) in counts.iter().enumerate() {
        folded = repeat_once(scope, (op, repeat), &folded, n, laws);
        if k + 1 < counts.len() {
            folded = bind(scope, &folded);
        }
    }
    folded
}

fn repeat_once(
    scope: &mut dyn StmtSink,
    (op, repeat): (&Op, RepeatMethod),
    x: &LoweredValue,
    n: &Expr,
    laws: Laws<'_>,
) -> LoweredValue {
    match repeat {
        RepeatMethod::Idempotent => x.clone(),
        RepeatMethod::Multiply => {
            let prim = primitive(x);
            let times = if prim == Prim::I64 { n.clone() } else { cast(prim, n.clone()) };
            LoweredValue::prim(prim, bin(BinaryOp::Mul, x.single().clone(), times))
        }
        RepeatMethod::Power => {
            let prim = primitive(x);
            LoweredValue::prim(prim, power(scope, prim, x.single().clone(), n))
        }
        RepeatMethod::Parity => {
            let prim = primitive(x);
            let odd = nonzero(Prim::I64, bin(BinaryOp::And, n.clone(), int(1)));
            LoweredValue::prim(prim, select(odd, x.single().clone(), Expr::Const(Scalar::zero(prim))))
        }
        RepeatMethod::Doubling => doubling(scope, op, x, n, laws),
    }
}

fn power(scope: &mut dyn StmtSink, prim: Prim, x: Expr, n: &Expr) -> Expr {
    if !prim.is_float() {
        return integer::pow(scope, prim, x, Prim::I64, n.clone());
    }
    let wide = if prim == Prim::F64 { x } else { cast(Prim::F64, x) };
    let power = math(MathFn::Pow, vec![wide, cast(Prim::F64, n.clone())]);
    if prim == Prim::F64 { power } else { cast(prim, power) }
}

/// Folds by doubling from the highest bit of `n` down. No intermediate fold has more values than
/// the result, so a checked operator faults only if the whole fold does.
fn doubling(scope: &mut dyn StmtSink, op: &Op, x: &LoweredValue, n: &Expr, laws: Laws<'_>) -> LoweredValue {
    let x = bind(scope, x);
    let n = &super::bind_part(scope, Prim::I64, n.clone());
    let acc = variable(scope, "fold", &x);
    let bit = scope.local("bit", Prim::I64);
    scope.push(Stmt::Assign(bit, int(1)));
    let half = bin(BinaryOp::Shr, n.clone(), int(1));
    let double = Stmt::Assign(bit, bin(BinaryOp::Shl, Expr::Local(bit), int(1)));
    scope.push(Stmt::While { cond: cmp(CompareOp::Le, Expr::Local(bit), half), body: vec![double] });
    let (body, ()) = block(scope, |scope| {
        let squared = expand_in(scope, op, &[acc.clone(), acc.clone()], laws);
        assign(scope, &acc, &squared);
        scope.push(Stmt::Assign(bit, bin(BinaryOp::Shr, Expr::Local(bit), int(1))));
        let (then, ()) = block(scope, |scope| {
            let more = expand_in(scope, op, &[acc.clone(), x.clone()], laws);
            assign(scope, &acc, &more);
        });
        let cond = nonzero(Prim::I64, bin(BinaryOp::And, n.clone(), Expr::Local(bit)));
        scope.push(Stmt::If { cond, then, other: Vec::new() });
    });
    scope.push(Stmt::While { cond: cmp(CompareOp::Lt, int(1), Expr::Local(bit)), body });
    acc
}

fn primitive(x: &LoweredValue) -> Prim {
    x.dtype.prim().expect("sums, products and parities fold primitives")
}

fn int(v: i64) -> Expr {
    Expr::Const(Scalar::I64(v))
}
