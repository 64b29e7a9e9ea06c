//! The fill of an operator's result.

use redpoll_logic::op::{Op, Signature};
use redpoll_logic::{DType, FloatMode, Scalar};

/// Returns the fill of an operator's result, and whether the result is full. Each argument is a
/// pair of its fill and a flag. The flag is true if the argument is full, which means that none of
/// its values counts as the fill.
pub(crate) fn call_fill<'t>(
    op: &Op,
    signature: &Signature,
    args: impl Iterator<Item = (&'t Scalar, bool)>,
    mode: FloatMode,
) -> (Scalar, bool) {
    let (fills, full): (Vec<Scalar>, Vec<bool>) = args.map(|(fill, full)| (fill.clone(), full)).unzip();
    let constants: Vec<Option<Scalar>> =
        fills.iter().zip(&full).map(|(fill, full)| (!full).then(|| fill.clone())).collect();
    if full.contains(&true)
        && let Some(decided) = op.constant_result(signature, &constants, mode)
    {
        return (decided, false);
    }
    // The constructors of plans reject an operator that faults on the fills of its arguments. So if
    // the operator of a term faults here, the result never takes its fill, and any value will do.
    (op.eval_in(&fills, mode).unwrap_or_else(|_| zero(&signature.result)), full.contains(&true))
}

/// Returns the zero of a dtype.
fn zero(dtype: &DType) -> Scalar {
    let mut parts = dtype.prims().into_iter().map(Scalar::zero);
    Scalar::unflatten(dtype, &mut parts).expect("a zero for each primitive")
}
