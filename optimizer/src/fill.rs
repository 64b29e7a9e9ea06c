//! The fill of what an operator is applied to.

use redpoll_logic::op::{Op, Signature};
use redpoll_logic::{DType, FloatMode, Scalar};

/// The fill of an operator's result, given the fills of its arguments and whether these are never met; and whether its own
/// is never met.
pub(crate) fn call_fill<'t>(
    op: &Op,
    signature: &Signature,
    args: impl Iterator<Item = (&'t Scalar, bool)>,
    mode: FloatMode,
) -> (Scalar, bool) {
    let (fills, full): (Vec<Scalar>, Vec<bool>) = args.map(|(fill, full)| (fill.clone(), full)).unzip();
    let met: Vec<Option<Scalar>> = fills.iter().zip(&full).map(|(fill, full)| (!full).then(|| fill.clone())).collect();
    if full.contains(&true)
        && let Some(decided) = op.annihilates(signature, &met, mode)
    {
        return (decided, false);
    }
    // The fill of an application that faults on fills is never met: the plan's constructors refuse it.
    (op.eval_in(&fills, mode).unwrap_or_else(|_| zero(&signature.result)), full.contains(&true))
}

/// The zero of a dtype.
fn zero(dtype: &DType) -> Scalar {
    let mut parts = dtype.prims().into_iter().map(Scalar::zero);
    Scalar::unflatten(dtype, &mut parts).expect("a zero for each primitive")
}
