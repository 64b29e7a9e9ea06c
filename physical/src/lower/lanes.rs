//! Fixed lanes: a loop that does nothing but fold one value into a local becomes a vector node.
//!
//! Such a fold is regrouped, so its operator must be associative and commutative in the float mode; the order of the
//! lanes is part of the node, so that every engine gives the same bits.

use super::cx::Cx;
use crate::assembly::{BinaryOp, Expr, LaneFold, Local, Stmt};
use redpoll_logic::{FloatMode, Prim, Scalar};

/// Lanes of a fold: two vectors of 512 bits, or eight of 128, of 64-bit values.
const LANES: u8 = 16;

/// The loop as a fold in lanes, if it is one.
pub(crate) fn fold_in_lanes(cx: &Cx<'_>, stmt: Stmt) -> Stmt {
    let Stmt::For { var, lo, hi, body } = stmt else { return stmt };
    let fold = match &body[..] {
        [Stmt::Assign(acc, Expr::Binary(op, left, value))]
            if **left == Expr::Local(*acc) && !mentions(value, *acc) && mentions(value, var) =>
        {
            let prim = cx.locals[acc.index()].prim;
            identity(*op, prim, cx.mode).map(|identity| LaneFold {
                acc: *acc,
                op: *op,
                identity,
                lanes: LANES,
                var,
                lo: lo.clone(),
                hi: hi.clone(),
                value: (**value).clone(),
            })
        }
        _ => None,
    };
    match fold {
        Some(fold) => Stmt::Lanes(Box::new(fold)),
        None => Stmt::For { var, lo, hi, body },
    }
}

/// The identity of an operator that may be regrouped.
fn identity(op: BinaryOp, prim: Prim, mode: FloatMode) -> Option<Scalar> {
    if prim.is_float() && mode == FloatMode::StrictIeee {
        return None;
    }
    let extreme = |smallest: bool| match prim {
        Prim::F32 => Scalar::F32(if smallest { f32::NEG_INFINITY } else { f32::INFINITY }),
        Prim::F64 => Scalar::F64(if smallest { f64::NEG_INFINITY } else { f64::INFINITY }),
        _ if prim.is_signed() => {
            let lowest = 1u64 << (prim.bits() - 1);
            Scalar::from_bits(prim, if smallest { lowest } else { lowest - 1 })
        }
        _ => Scalar::from_bits(prim, if smallest { 0 } else { u64::MAX }),
    };
    match op {
        BinaryOp::Add => Some(Scalar::zero(prim)),
        BinaryOp::Mul => Some(Scalar::one(prim)),
        BinaryOp::Min => Some(extreme(false)),
        BinaryOp::Max => Some(extreme(true)),
        BinaryOp::And if !prim.is_float() => Some(Scalar::from_bits(prim, u64::MAX)),
        BinaryOp::Or | BinaryOp::Xor if !prim.is_float() => Some(Scalar::zero(prim)),
        _ => None,
    }
}

fn mentions(e: &Expr, local: Local) -> bool {
    match e {
        Expr::Local(l) => *l == local,
        Expr::Const(_) | Expr::Param(_) => false,
        Expr::Load { at: a, .. } | Expr::Unary(_, a) | Expr::Cast(_, a) => mentions(a, local),
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => mentions(a, local) || mentions(b, local),
        Expr::Select(c, a, b) => mentions(c, local) || mentions(a, local) || mentions(b, local),
        Expr::Math(_, args) => args.iter().any(|a| mentions(a, local)),
    }
}
