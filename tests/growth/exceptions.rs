//! The uses of methods and operators whose work grows with the sizes of the operands, each with the
//! reason.

/// A name, and the reason why its work grows with the sizes of the operands.
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

/// A name, and the cause of growth that is left to mend.
pub(crate) const KNOWN: &[(&str, &str)] = &[
    ("sliding max", "a maximum over a window reads its fills at each start of the window"),
    ("cumulative_prod", "a running product is not known to stay zero"),
    ("first", "a member of a pair is read from the pair, which differs from the fill value everywhere"),
    ("scan of a product", "a running sum along columns is stored in an array for each of its rows"),
];
