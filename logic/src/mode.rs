//! Float modes: which laws of real numbers may be assumed of floats.

/// What rewrites and iteration spaces may assume of floats. Integers and booleans are exact in every mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FloatMode {
    /// No NaN occurs, no annihilator meets its opposite (`0 * inf`, `inf - inf`), and folds may be regrouped,
    /// distributed and integrated over runs. Infinity itself is legal.
    #[default]
    Relaxed,
    /// IEEE 754 to the letter: no law is assumed that a NaN, an infinity or a rounding breaks.
    StrictIeee,
}
