//! Float modes: which laws of real numbers may be assumed of floats.

/// What rewrites and iteration spaces may assume of floats. Integers and booleans are exact in every mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FloatMode {
    /// The default mode. A result depends on the values of the operands, never on how they are stored: a place that is
    /// not stored counts as its fill value, and every operator gives for a stored value what it gives for an equal fill
    /// value.
    ///
    /// # Definitions
    /// An operator has the value of IEEE 754 (see `op/eval.rs`), unless that is NaN and one argument decides the result
    /// by a law that iteration spaces use:
    ///
    /// | application | value |
    /// |---|---|
    /// | `0 * x`, `x * 0` | 0, also of an infinite `x` and of NaN |
    /// | `0 / x` | 0, also of `x` = 0 and of NaN |
    /// | `x / inf`, `x / -inf` | 0, also of an infinite `x` and of NaN |
    /// | `floordiv(0, x)`, `rem(0, x)`, `fmod(0, x)` | 0, also of `x` = 0 and of NaN |
    /// | `inf + x`, `inf - x`, `x - inf`, and those of `-inf` | the infinity, also of NaN |
    /// | `min(-inf, x)`, `max(inf, x)` | the infinity, also of NaN |
    ///
    /// So normalizing the rows of a sparse matrix, some of them empty, is as sparse as the matrix. The fill value of a
    /// result is the value of the operator on the fill values of its arguments, by the same table.
    ///
    /// # What is not determined
    /// These values may differ from engine to engine, and from format to format; the reference interpreter marks them
    /// as don't-care:
    /// - rounding: sums and products may be regrouped, distributed and integrated over runs, within the bound of the
    ///   interpreter; what a rounding error decides (a comparison, a cast to an integer) may go either way;
    /// - the sign of a zero, and so that of `x / 0`: a fill value is +0, a computed zero may be -0;
    /// - `inf - inf`: both infinities decide the sum. What is regrouped into such a sum is not determined either, such as
    ///   `inf * (1 - 1)` and the sum of `inf` and `-inf` in two places of a fold;
    /// - overflow: a product or a sum of finite factors that leaves the range of its dtype may be computed in another
    ///   order, in which it does not, and infinity or NaN may come of it;
    /// - every value that depends on NaN, other than by the definitions above: NaN may come of another order of
    ///   operations, and rewrites of finite numbers need not keep it.
    #[default]
    Relaxed,
    /// IEEE 754 to the letter: no law is assumed that a NaN, an infinity or a rounding breaks. `0 / 0`, `0 * inf` and
    /// `inf - inf` are NaN, stored or not, and a quotient of two operands with fill value 0 has the fill value NaN.
    StrictIeee,
}
