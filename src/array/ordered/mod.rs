//! Functions that depend on the order of values: sorts, order statistics, distinct values, and
//! searches; also selections, whose shapes depend on values.
//!
//! None of these functions is a fold over a join, so plans cannot express them. Selections compute
//! only their masks at once. The other functions compute their operands at once, with work and
//! results in proportion to the stored values: the elements with the fill value stay together, as
//! one block of equal values, and are never listed.
//!
//! NaN is larger than all other values, and equal to itself, but descending sorts also put NaN
//! last; `-0.0` and `0.0` are equal.

mod fibers;
mod lookup;
mod quantile;
mod select;
mod sort;
mod unique;
mod value;

pub use lookup::Side;
pub use sort::SortOrder;
pub use unique::Unique;
