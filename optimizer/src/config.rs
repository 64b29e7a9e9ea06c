//! Decisions that a user can make.

use redpoll_logic::{Alias, Field, FloatMode, Format};
use std::collections::BTreeMap;

/// Decisions of the user; the default leaves everything to the optimizer.
///
/// # Examples
/// Planning without joint layouts, with a fixed loop order and format for one query:
/// ```
/// use redpoll_logic::{Alias, Field, Format};
/// use redpoll_optimizer::{OptimizerConfig, Subject, Subjects};
///
/// let subjects = Subjects::default().without(Subject::Layout);
/// let mut config = OptimizerConfig { subjects, ..OptimizerConfig::default() };
/// config.loop_orders.insert(Alias::from("R"), ["k", "i", "j"].map(Field::from).to_vec());
/// config.formats.insert(Alias::from("R"), Format::csr());
/// assert!(config.subjects.contains(Subject::Elimination));
/// ```
#[derive(Clone, Debug, Default)]
pub struct OptimizerConfig {
    /// Float mode: the algebraic laws that hold for floats.
    pub float_mode: FloatMode,
    /// Effect that a `reorder` directly around the argument of an aggregate has on the loops.
    pub reorder_policy: ReorderPolicy,
    /// Loop orders by query. The named fields keep this order among themselves; other fields may go
    /// anywhere.
    pub loop_orders: BTreeMap<Alias, Vec<Field>>,
    /// Formats by query, for queries without a `reformat`.
    pub formats: BTreeMap<Alias, Format>,
    /// Enabled subjects of optimization: the rules that rewrite terms, and the layout. By default
    /// all are enabled.
    pub subjects: Subjects,
    /// Lowest cost of a query, in steps along a list, for which rules are tried. The further the
    /// cost exceeds this threshold, the more of the equal terms are planned.
    pub rewrite_threshold: CostThreshold,
    /// Choice among the equal terms that the rules find.
    pub choice: Choice,
    /// Condition for replanning the rest of a plan after a query has written tensors whose sizes
    /// differ from the estimates.
    pub adaptivity: Adaptivity,
}

/// Choice among the equal terms of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// The term with the lowest estimated cost.
    #[default]
    Cheapest,
    /// A random term of any cost, chosen by a seed, with random loop orders, formats and lanes. For
    /// tests: on small data, rewritten terms are seldom cheaper and would not be chosen.
    Random(u64),
}

/// Condition for replanning the rest of a plan between two of its queries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Adaptivity {
    /// Never; the plan is fixed.
    Off,
    /// Replans when both conditions hold.
    On {
        /// Smallest factor, in either direction, between the true and the estimated number of
        /// positions in some level of a tensor that the query has written.
        factor: f64,
        /// Least savings, in steps along a list, that pay for planning and compiling the rest.
        min_savings: CostThreshold,
    },
}

impl Default for Adaptivity {
    /// Returns a factor of 4 and savings of two million steps, about one millisecond.
    fn default() -> Adaptivity {
        Adaptivity::On { factor: 4.0, min_savings: CostThreshold(2e6) }
    }
}

/// A threshold of costs or savings, in steps along a list of coordinates: 0.4 to 0.5 ns each on the
/// machines that the cost model was fitted on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostThreshold(pub f64);

impl CostThreshold {
    /// Returns the lowest ratio of a query's cost to the number of stored values of its inputs at
    /// which inputs are measured; 0 if the threshold is 0.
    pub(crate) fn min_measured_ratio(self) -> f64 {
        if self.0 > 0.0 { 8.0 } else { 0.0 }
    }

    /// Returns the number of steps that may go into measuring for a query of the given cost;
    /// infinity if the threshold is 0.
    pub(crate) fn measuring_budget(self, cost: f64) -> f64 {
        if self.0 > 0.0 { cost } else { f64::INFINITY }
    }
}

impl Default for CostThreshold {
    /// Returns 100,000 steps, less than a tenth of a millisecond.
    fn default() -> CostThreshold {
        CostThreshold(1e5)
    }
}

/// A subject of optimization. All except [`Subject::Layout`] are sets of rules of the algebra.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Rules that merge and split aggregates, replace the aggregate of a repeated value by a
    /// multiple, and fold fills and other values separately. These rules also flatten nested calls
    /// of one operator.
    Aggregates,
    /// Rules that pull aggregates out of products, and push aggregates to the factors that depend
    /// on their fields.
    Elimination,
    /// Rules that distribute products over sums, and factor products out of sums.
    Distribution,
    /// Rules that restrict aggregates over symmetric tensors to one order of the coordinates.
    Symmetry,
    /// Rules that remove redundant arguments, and arguments that undo each other.
    Identities,
    /// Rules that filter a factor before a join, by the coordinates at which another factor differs
    /// from its fill.
    Filters,
    /// Layout: loop orders and formats of all queries, chosen together. This subject has no rules.
    Layout,
}

/// A set of subjects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subjects(u8);

impl Subject {
    /// All subjects, with the names that the command line takes.
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
    /// Returns the set of all subjects.
    fn default() -> Subjects {
        Subject::ALL.into_iter().fold(Subjects::none(), |set, (subject, _)| set.with(subject))
    }
}

impl Subjects {
    /// Returns the empty set.
    pub fn none() -> Subjects {
        Subjects(0)
    }

    /// Returns the set with a subject added.
    #[must_use]
    pub fn with(self, subject: Subject) -> Subjects {
        Subjects(self.0 | 1 << subject as u8)
    }

    /// Returns the set with a subject removed.
    #[must_use]
    pub fn without(self, subject: Subject) -> Subjects {
        Subjects(self.0 & !(1 << subject as u8))
    }

    /// Returns whether the set contains the subject.
    pub fn contains(self, subject: Subject) -> bool {
        self.0 >> subject as u8 & 1 == 1
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Effect that a `reorder` has on the loops of its query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReorderPolicy {
    /// Pins the loop order: `(aggregate + 0 (reorder (mapjoin * A B) i k j) k)` runs i, k, j.
    #[default]
    Pin,
    /// Has no effect: the cost decides.
    Ignore,
}
