//! Report of an optimization: the text of each phase and the decisions for each query, printed by
//! `redpoll explain`.

use crate::work::Work;
use redpoll_logic::physical::{FormatDisplay, Workspace};
use redpoll_logic::statistics::Fact;
use redpoll_logic::{Alias, Field, TensorType, plural};
use std::fmt;
use std::sync::Arc;

/// Report of one optimization.
///
/// Its `Display` form has all phases and decisions; `redpoll explain` prints parts of it.
///
/// # Examples
/// ```
/// use redpoll_logic::statistics::{NoStatistics, Statistics};
/// use redpoll_logic::text::{Catalog, parse};
/// use redpoll_logic::{DType, Format, Scalar, TensorType};
/// use redpoll_optimizer::{Event, OptimizerConfig, Origin, optimize};
///
/// let (shape, dtype, fill) = (vec![100, 100], DType::F64, Scalar::F64(0.0));
/// let matrix = TensorType { shape, dtype, fill, format: Format::csr() };
/// let inputs: Catalog = [("A", matrix)].into_iter().collect();
/// let plan = parse("(plan (query s (aggregate + 0 (table A i j) i j)) (produces s))", &inputs)?;
/// let (statistics, config) = (Statistics::new(&NoStatistics), OptimizerConfig::default());
/// let (_, report) = optimize(&plan, &statistics, &config)?;
///
/// let decision = &report.decisions[0];
/// assert_eq!(decision.origin, Origin::Plan);
/// assert_eq!(decision.outputs[0].alias.as_str(), "s");
/// assert!(report.work().count(Event::WalkList) > 0.0);
/// assert!(report.work().cost() >= decision.cost);
/// assert!(report.to_string().contains("loops i j at cost"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The texts of the phases, in order.
    pub phases: Vec<PhaseReport>,
    /// The decisions, one for each query of the physical plan, in plan order.
    pub decisions: Vec<Decision>,
    /// Facts that the optimizer asked about inputs, with their truth values. The plan is valid for
    /// all inputs with the same answers.
    pub facts: Vec<(Alias, Fact, bool)>,
    /// The adaptations of the plan during its run, in order.
    pub adaptations: Vec<Adaptation>,
}

/// A replanning of the remaining queries of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Adaptation {
    /// Index of the query after which the remaining queries were replanned.
    pub query: usize,
    /// Outputs of this query whose sizes deviate from the estimates.
    pub miscounts: Vec<Miscount>,
    /// Cost of the remaining queries in the old plan, estimated with the true counts, in steps
    /// along a list.
    pub old_cost: f64,
    /// Cost of the remaining queries in the new plan, estimated with the true counts, in steps
    /// along a list.
    pub new_cost: f64,
}

/// A tensor whose numbers of positions deviate from the estimates.
#[derive(Clone, PartialEq, Debug)]
pub struct Miscount {
    /// The tensor's name.
    pub alias: Alias,
    /// The estimated numbers of positions below the levels, outermost first.
    pub estimated: Vec<f64>,
    /// The true numbers of positions, outermost first.
    pub counted: Vec<u64>,
}

/// The text of a phase: the plan after it, or a note on what it changed.
#[derive(Clone, Debug)]
pub struct PhaseReport {
    /// The name of the phase: `logic`, `nests`, `algebra`, `layout`, `physical plan` or
    /// `adaptation`.
    pub name: &'static str,
    /// The plan or the note.
    pub plan: PhaseText,
}

/// The text of a phase. It is formatted when it is printed, because most reports are never read.
///
/// # Examples
/// ```
/// use redpoll_optimizer::PhaseText;
///
/// assert_eq!(PhaseText::new("a note").to_string(), "a note");
/// ```
#[derive(Clone)]
pub struct PhaseText(Arc<dyn fmt::Display + Send + Sync>);

impl PhaseText {
    /// Returns the text of a value.
    pub fn new(value: impl fmt::Display + Send + Sync + 'static) -> PhaseText {
        PhaseText(Arc::new(value))
    }
}

impl fmt::Display for PhaseText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for PhaseText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// The decisions for one query.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The reason why the query exists.
    pub origin: Origin,
    /// The rules that produced the nest that this query computes or contributes to.
    pub rules: Vec<AppliedRule>,
    /// The loop order, outermost first.
    pub order: Vec<Field>,
    /// The estimated cost of the query, in steps along a list.
    pub cost: f64,
    /// The estimated work of the query.
    pub work: Work,
    /// The orders that were priced, with their costs, cheapest first; at most
    /// [`Decision::MAX_PRICED_ORDERS`].
    pub priced_orders: Vec<(Vec<Field>, f64)>,
    /// The outputs of the query.
    pub outputs: Vec<OutputDecision>,
}

/// An algebraic rule that rewrote a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppliedRule {
    /// The name, in kebab case.
    pub name: &'static str,
    /// The equation, with `+` and `*` for any operators for which the law holds.
    pub equation: &'static str,
}

/// The reason why a query exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The plan asks for the query.
    Plan,
    /// The query stores folds that the loops of their reader cannot compute, or can compute only at
    /// a higher cost or on one thread.
    StoredFold,
    /// The query copies a tensor into another format, for the loops of its readers.
    Copy,
}

/// The decisions for an output.
#[derive(Clone, Debug)]
pub struct OutputDecision {
    /// The output's name.
    pub alias: Alias,
    /// The output's type, with its format.
    pub ty: Arc<TensorType>,
    /// The estimated numbers of positions below the levels, outermost first.
    pub positions: Vec<f64>,
    /// Upper bound of the number of stored values; the bound that follows from the dimensions if no
    /// lower one is known.
    pub max_stored: f64,
    /// The workspace that takes the writes; `None` if the output itself takes them.
    pub workspace: Option<Workspace>,
    /// The operand whose levels the output shares, if there is one.
    pub pattern: Option<Alias>,
}

impl Decision {
    /// Largest number of priced orders in the report.
    pub const MAX_PRICED_ORDERS: usize = 6;

    /// Stores the cheapest of the orders that were priced.
    pub(crate) fn set_priced_orders(&mut self, mut orders: Vec<(Vec<Field>, f64)>) {
        orders.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        orders.truncate(Decision::MAX_PRICED_ORDERS);
        self.priced_orders = orders;
    }
}

impl OutputDecision {
    /// Returns the estimated number of stored values; 1 for a scalar.
    pub fn stored(&self) -> f64 {
        self.positions.last().copied().unwrap_or(1.0)
    }
}

impl Origin {
    /// Returns the label printed beside a query's name; `None` for queries of the plan itself.
    pub fn label(self) -> Option<&'static str> {
        match self {
            Origin::Plan => None,
            Origin::StoredFold => Some("a stored fold"),
            Origin::Copy => Some("a copy in another order"),
        }
    }
}

impl Report {
    /// Returns the estimated work of the whole plan, with its cost in steps along a list. The work
    /// of copies is part of the queries that read them.
    pub fn work(&self) -> Work {
        total_work(&self.decisions)
    }

    pub(crate) fn add_phase(&mut self, name: &'static str, plan: impl fmt::Display + Send + Sync + 'static) {
        self.phases.push(PhaseReport { name, plan: PhaseText::new(plan) });
    }

    pub(crate) fn add_adaptation(&mut self, adaptation: Adaptation) {
        self.add_phase("adaptation", adaptation.clone());
        self.adaptations.push(adaptation);
    }
}

/// Returns the estimated work of queries.
pub(crate) fn total_work<'d>(decisions: impl IntoIterator<Item = &'d Decision>) -> Work {
    without_copies(decisions).map(|d| d.work).sum()
}

/// Returns the estimated cost of queries, in steps along a list.
pub(crate) fn total_cost<'d>(decisions: impl IntoIterator<Item = &'d Decision>) -> f64 {
    without_copies(decisions).map(|d| d.cost).sum()
}

/// Returns the decisions except for copies. The work of a copy is part of the queries that read the
/// copy.
fn without_copies<'d>(decisions: impl IntoIterator<Item = &'d Decision>) -> impl Iterator<Item = &'d Decision> {
    decisions.into_iter().filter(|d| d.origin != Origin::Copy)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for phase in &self.phases {
            writeln!(f, "== {} ==\n{}", phase.name, phase.plan.to_string().trim_end())?;
        }
        writeln!(f, "== decisions ==")?;
        self.decisions.iter().try_for_each(|d| write!(f, "{d}"))
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.outputs.iter().map(|o| o.alias.as_str()).collect();
        let origin = self.origin.label().map_or_else(String::new, |label| format!(" ({label})"));
        writeln!(f, "{}{origin}", names.join(", "))?;
        writeln!(f, "  loops {} at cost {:.0}", format_order(&self.order), self.cost)?;
        for (order, cost) in self.priced_orders.iter().filter(|(order, _)| *order != self.order) {
            writeln!(f, "    rejected {} at cost {cost:.0}", format_order(order))?;
        }
        for AppliedRule { name, equation } in &self.rules {
            writeln!(f, "  rewritten by {name}: {equation}")?;
        }
        for output in &self.outputs {
            let stored = output.stored().round_ties_even();
            let values = plural(stored as u64, "value", "values");
            write!(f, "  {} stored as {}, about {stored} {values}", output.alias, FormatDisplay(&output.ty.format))?;
            if let Some(w) = &output.workspace {
                let loops = if w.depth == 1 { "loop" } else { "loops" };
                write!(f, ", through a workspace {} inside {} {loops}", FormatDisplay(&w.format), w.depth)?;
            }
            if let Some(pattern) = &output.pattern {
                write!(f, ", sharing the levels of {pattern}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Adaptation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let miscounts: Vec<String> = self.miscounts.iter().map(ToString::to_string).collect();
        let Adaptation { old_cost, new_cost, .. } = self;
        let miscounts = miscounts.join(", ");
        write!(f, "{miscounts}: remaining queries replanned, at cost {new_cost:.0} instead of {old_cost:.0}")
    }
}

impl fmt::Display for Miscount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let estimated: Vec<String> = self.estimated.iter().map(|n| format!("{n:.0}")).collect();
        let counted: Vec<String> = self.counted.iter().map(u64::to_string).collect();
        let (counted, estimated) = (counted.join(" "), estimated.join(" "));
        write!(f, "{} has ({counted}) positions instead of the estimated ({estimated})", self.alias)
    }
}

fn format_order(fields: &[Field]) -> String {
    match fields {
        [] => "none".to_owned(),
        _ => fields.iter().map(Field::as_str).collect::<Vec<_>>().join(" "),
    }
}
