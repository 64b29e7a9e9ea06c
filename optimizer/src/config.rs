//! What a user can decide.

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
    /// The subjects of what may be changed: of the rules that rewrite what is computed, and the layout; all unless some are
    /// taken out.
    pub subjects: Subjects,
    /// What a query must cost at least, in steps of a loop, for rules to be tried on it: to try them takes about a
    /// millisecond. The dearer it is beyond that, the more of the terms that they find are planned.
    pub worth: Worth,
    /// Which of the equal terms that the rules find is planned.
    pub choice: Choice,
    /// When the rest of a plan is planned anew because a query has written something else than was expected.
    pub adaptivity: Adaptivity,
}

/// Which of the equal terms of a query is planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// The one that is estimated to cost least.
    #[default]
    Cheapest,
    /// One drawn by a seed, whatever it costs, in orders and formats that are drawn, too: what is found on small data is
    /// seldom cheaper, and is to be tested.
    Drawn(u64),
}

/// Whether the rest of a plan is planned anew between two of its queries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Adaptivity {
    /// Never: the plan is kept.
    Off,
    /// When both hold.
    On {
        /// The numbers of positions that a query has written are off from the estimates by more than this factor, in
        /// either direction.
        factor: f64,
        /// What is to be saved at least, in steps of a loop: to plan and to compile the rest takes about so long.
        worth: Worth,
    },
}

impl Default for Adaptivity {
    /// Off by a factor of 4, and two milliseconds to be saved.
    fn default() -> Adaptivity {
        Adaptivity::On { factor: 4.0, worth: Worth(2e6) }
    }
}

/// A cost from which on a query is worth rewriting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Worth(pub f64);

impl Worth {
    /// How many times the stored values of its inputs a query must cost at least for any of them to be measured.
    pub(crate) fn passes(self) -> f64 {
        if self.0 > 0.0 { 8.0 } else { 0.0 }
    }

    /// How many steps may go into measuring for a query that costs so many.
    pub(crate) fn measuring(self, cost: f64) -> f64 {
        if self.0 > 0.0 { cost } else { f64::INFINITY }
    }
}

impl Default for Worth {
    /// A tenth of a millisecond.
    fn default() -> Worth {
        Worth(1e5)
    }
}

/// A subject of what the optimizer may change: rules of the algebra but for the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Aggregates merged, split, and without what they do not depend on.
    Aggregates,
    /// Aggregates pulled out of products and pushed to the factors that they depend on.
    Elimination,
    /// Products over sums, distributed and factored.
    Distribution,
    /// Aggregates over symmetric tensors, cut to one order of their coordinates.
    Symmetry,
    /// Arguments that say the same twice, and those that undo each other.
    Identities,
    /// Factors that lose the places at which others have nothing before they meet.
    Filters,
    /// No rules of the algebra: orders of loops and formats of all queries, chosen together.
    Layout,
}

/// A set of subjects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subjects(u8);

impl Subject {
    /// All subjects, with their names.
    pub const ALL: [(Subject, &'static str); 7] = [
        (Subject::Aggregates, "aggregates"),
        (Subject::Elimination, "elimination"),
        (Subject::Distribution, "distribution"),
        (Subject::Symmetry, "symmetry"),
        (Subject::Identities, "identities"),
        (Subject::Filters, "filters"),
        (Subject::Layout, "layout"),
    ];
}

impl Default for Subjects {
    /// Every subject.
    fn default() -> Subjects {
        Subject::ALL.into_iter().fold(Subjects::none(), |set, (subject, _)| set.with(subject))
    }
}

impl Subjects {
    /// No subject.
    pub fn none() -> Subjects {
        Subjects(0)
    }

    /// The set with a subject more.
    #[must_use]
    pub fn with(self, subject: Subject) -> Subjects {
        Subjects(self.0 | 1 << subject as u8)
    }

    /// The set with a subject less.
    #[must_use]
    pub fn without(self, subject: Subject) -> Subjects {
        Subjects(self.0 & !(1 << subject as u8))
    }

    /// Whether the subject is in it.
    pub fn contains(self, subject: Subject) -> bool {
        self.0 >> subject as u8 & 1 == 1
    }

    /// Whether it has no subject.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
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
