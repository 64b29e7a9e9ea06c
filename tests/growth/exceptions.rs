//! The uses of methods and operators whose work grows with the sizes of the modes, each with the
//! reason.

/// Names of uses, each with the reason why the work grows with the sizes of the modes.
pub(crate) const INHERENT: &[(&str, &str)] = &[
    ("add vector", "each entry of the vector occurs in every row of the sum"),
    ("second", "the coordinate of a pair differs from the fill value nearly everywhere"),
    ("cumulative_sum 0", "a running sum does not return to the fill value"),
    ("cumulative_sum 1", "a running sum does not return to the fill value"),
    ("cumulative_sum vector", "a running sum does not return to the fill value"),
    ("scan", "a running maximum does not return to the fill value"),
    ("take array", "an index that is not stored gathers coordinate 0"),
    ("take_along_axis", "an index that is not stored gathers coordinate 0"),
];
