//! Functions that depend on the order of values: sorts, order statistics, distinct values, and
//! searches; also selections, whose shapes depend on values.
//!
//! None of these functions is a fold over a join, so plans cannot express them. When they are
//! called, selections compute their masks, and the other functions compute their operands. The work
//! of the other functions and the size of their results depend on the number of stored values, not
//! on the number of elements: the elements with the fill value are one block of equal values, and
//! are never listed.
//!
//! NaN is equal to itself and larger than all other values, but sorts in descending order put NaN
//! last, too. `-0.0` and `0.0` are equal.

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
