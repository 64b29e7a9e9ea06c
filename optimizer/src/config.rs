//! What a user can decide for the plain path.

use redpoll_logic::{Alias, Field, FloatMode, Format};
use std::collections::BTreeMap;

/// Decisions of the user; the default leaves everything to the optimizer.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Which laws hold for floats.
    pub float_mode: FloatMode,
    /// What a `reorder` written directly around the argument of an aggregate says of the loops.
    pub written_order: WrittenOrder,
    /// Loop orders by query: the named fields keep this order among themselves, fields not named go anywhere.
    pub loop_orders: BTreeMap<Alias, Vec<Field>>,
    /// Formats by query, for those without a `reformat`.
    pub formats: BTreeMap<Alias, Format>,
}

/// What a written `reorder` says of the loops of its query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WrittenOrder {
    /// It is the order of the loops: `(aggregate + 0 (reorder (mapjoin * A B) i k j) k)` runs i, k, j.
    #[default]
    Pins,
    /// Nothing: the cost decides.
    Ignored,
}
