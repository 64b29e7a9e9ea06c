//! Float modes: the laws of real arithmetic that may be assumed of floats.

/// The laws that rewrites and iteration spaces may assume of floats. Integers and booleans are
/// exact in every mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FloatMode {
    /// The default mode. Apart from the unspecified values below, a result depends on the values of
    /// the operands, not on their storage. A coordinate that is not stored has the fill value, and
    /// every operator treats a stored value like an equal fill value.
    ///
    /// # Definitions
    /// An operator returns the IEEE 754 value (see `op/eval.rs`), unless that value is NaN and one
    /// argument decides the result by a law that iteration spaces use:
    ///
    /// | application | value |
    /// |---|---|
    /// | `0 * x`, `x * 0` | 0, also for an infinite `x` and for NaN |
    /// | `0 / x` | 0, also for `x` = 0 and for NaN |
    /// | `x / inf`, `x / -inf` | 0, also for an infinite `x` and for NaN |
    /// | `floordiv(0, x)`, `rem(0, x)`, `fmod(0, x)` | 0, also for `x` = 0 and for NaN |
    /// | `inf + x`, `inf - x`, `x - inf`, the same with `-inf` | the infinity with its sign in the sum, also for NaN |
    /// | `min(-inf, x)`, `max(inf, x)` | the infinity, also for NaN |
    ///
    /// Normalizing the rows of a sparse matrix therefore keeps its sparsity, even if some rows are
    /// empty. The fill value of a result is the operator applied to the fill values of its
    /// arguments, by the same table.
    ///
    /// # Unspecified values
    /// The following values may differ between engines and between formats; the reference
    /// interpreter marks them as don't-care:
    /// - Rounding: sums and products may be regrouped and distributed, and a fold over a run may
    ///   become a product or power, within the error bound of the interpreter. A comparison or a
    ///   cast to an integer that depends on a rounding error may go either way.
    /// - The sign of a zero, and therefore the sign of `x / 0`: a fill value may be +0 where a
    ///   computed zero is -0.
    /// - `inf - inf`, where both infinities decide the sum. Values that regrouping may turn into
    ///   such a sum are unspecified too, such as `inf * (1 - 1)`, or a fold over both `inf` and
    ///   `-inf`.
    /// - Overflow and underflow: a product or a sum of finite operands that leaves the range of its
    ///   dtype may be computed in another order. That order may stay within the range, or give 0,
    ///   an infinity or NaN.
    /// - Every value that depends on NaN, except by the definitions above: another order of
    ///   operations may give NaN, and rewrites that are valid for finite numbers need not preserve
    ///   NaN.
    #[default]
    Relaxed,
    /// IEEE 754 to the letter: no law is assumed that a NaN, an infinity or a rounding breaks. `0 /
    /// 0`, `0 * inf` and `inf - inf` are NaN, whether the operands are stored or not, and a
    /// quotient of two operands with fill value 0 has the fill value NaN.
    StrictIeee,
}
