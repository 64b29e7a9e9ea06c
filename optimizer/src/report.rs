//! What was decided, and why: the phases of a plan and the decisions of each query, printed by `redpoll explain`.

use crate::loop_order::Ordered;
use crate::work::Work;
use redpoll_logic::physical::{FormatWords, Workspace};
use redpoll_logic::statistics::Fact;
use redpoll_logic::{Alias, Field, TensorType};
use std::fmt;
use std::sync::Arc;

/// A readable account of one optimization.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The plan after each phase, as text.
    pub phases: Vec<Phase>,
    /// The decisions, one for each query of the physical plan, in its order.
    pub decisions: Vec<Decision>,
    /// What was asked of inputs and found true or not: the plan serves inputs of which the same is true.
    pub facts: Vec<(Alias, Fact, bool)>,
    /// Where the rest of the plan was planned anew while it ran, in order.
    pub adaptations: Vec<Adaptation>,
}

/// The rest of a plan was planned anew.
#[derive(Clone, PartialEq, Debug)]
pub struct Adaptation {
    /// The number of the query after which that was.
    pub after: usize,
    /// What this query has written, where that is not what was expected.
    pub miscounts: Vec<Miscount>,
    /// What the rest would have cost as it was planned before, estimated by the true counts.
    pub before: f64,
    /// What it costs now, estimated by the true counts.
    pub cost: f64,
}

/// A tensor that has not as many positions as was expected.
#[derive(Clone, PartialEq, Debug)]
pub struct Miscount {
    /// Its name.
    pub alias: Alias,
    /// The estimated numbers of positions below its levels, outermost first.
    pub estimated: Vec<f64>,
    /// The true numbers.
    pub counted: Vec<u64>,
}

/// The plan after a phase.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The name of the phase.
    pub name: &'static str,
    /// The plan as text.
    pub plan: String,
}

/// What was decided for one query.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Why the query exists.
    pub origin: Origin,
    /// The rules that made the nest which the query computes, or is needed for.
    pub rules: Vec<Rule>,
    /// The order of its loops, outermost first.
    pub order: Vec<Field>,
    /// The estimated cost of that order.
    pub cost: f64,
    /// The estimated work that this is the cost of.
    pub work: Work,
    /// The orders that were priced, cheapest first, at most [`Decision::SHOWN`].
    pub considered: Vec<(Vec<Field>, f64)>,
    /// Its outputs.
    pub outputs: Vec<DecidedOutput>,
}

/// A rule of the algebra that a nest was rewritten by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Its name, in kebab case.
    pub name: &'static str,
    /// What it says, with `+` and `*` for any operators for which the law holds.
    pub equation: &'static str,
}

/// Why a query exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The plan asks for it.
    Plan,
    /// A fold is stored because its fields are not the outermost loops of the query that reads it.
    Isolated,
    /// A tensor is copied into an order that the loops can walk.
    Copied,
}

/// What was decided for an output.
#[derive(Clone, Debug)]
pub struct DecidedOutput {
    /// Its name.
    pub alias: Alias,
    /// Its type, with the format.
    pub ty: Arc<TensorType>,
    /// The estimated numbers of positions below its levels, outermost first.
    pub positions: Vec<f64>,
    /// The number of stored values that is never exceeded.
    pub most: f64,
    /// The workspace that its writes go through.
    pub workspace: Option<Workspace>,
    /// The operand whose levels it shares.
    pub pattern: Option<Alias>,
}

impl Decision {
    /// So many of the considered orders are kept.
    pub const SHOWN: usize = 6;

    pub(crate) fn new(origin: Origin, ordered: Ordered) -> Decision {
        let Ordered { order, work, considered, .. } = ordered;
        let (rules, outputs) = (Vec::new(), Vec::new());
        let mut decision = Decision { origin, rules, order, cost: work.cost(), work, considered: Vec::new(), outputs };
        decision.consider(considered);
        decision
    }

    /// Keeps the cheapest of the orders that were priced.
    pub(crate) fn consider(&mut self, mut orders: Vec<(Vec<Field>, f64)>) {
        orders.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        orders.truncate(Decision::SHOWN);
        self.considered = orders;
    }
}

impl DecidedOutput {
    /// The estimated number of stored values.
    pub fn stored(&self) -> f64 {
        self.positions.last().copied().unwrap_or(1.0)
    }
}

impl Origin {
    /// What is said of a query beside its name; nothing of those that the plan asks for.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Origin::Plan => None,
            Origin::Isolated => Some("a fold that is stored"),
            Origin::Copied => Some("a copy in another order"),
        }
    }
}

impl Report {
    /// The estimated work of the whole plan. That of copies is counted where they are read.
    pub fn work(&self) -> Work {
        self.decisions.iter().filter(|d| d.origin != Origin::Copied).map(|d| d.work).sum()
    }

    pub(crate) fn phase(&mut self, name: &'static str, plan: String) {
        self.phases.push(Phase { name, plan });
    }

    pub(crate) fn decide(&mut self, decision: Decision) {
        self.decisions.push(decision);
    }

    pub(crate) fn adapt(&mut self, adaptation: Adaptation) {
        self.phase("adaptation", adaptation.to_string());
        self.adaptations.push(adaptation);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for phase in &self.phases {
            writeln!(f, "== {} ==\n{}", phase.name, phase.plan.trim_end())?;
        }
        writeln!(f, "== decisions ==")?;
        self.decisions.iter().try_for_each(|d| write!(f, "{d}"))
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.outputs.iter().map(|o| o.alias.as_str()).collect();
        let origin = self.origin.words().map_or_else(String::new, |words| format!(" ({words})"));
        writeln!(f, "{}{origin}", names.join(", "))?;
        writeln!(f, "  loops {} at cost {:.0}", words(&self.order), self.cost)?;
        for (order, cost) in self.considered.iter().filter(|(order, _)| *order != self.order) {
            writeln!(f, "    not {} at cost {cost:.0}", words(order))?;
        }
        for Rule { name, equation } in &self.rules {
            writeln!(f, "  by {name}: {equation}")?;
        }
        for output in &self.outputs {
            write!(
                f,
                "  {} stored as {}, about {:.0} values",
                output.alias,
                FormatWords(&output.ty.format),
                output.stored()
            )?;
            if let Some(w) = &output.workspace {
                write!(f, ", through a workspace {} inside {} loops", FormatWords(&w.format), w.depth)?;
            }
            if let Some(pattern) = &output.pattern {
                write!(f, ", by the levels of {pattern}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Adaptation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let miscounts: Vec<String> = self.miscounts.iter().map(ToString::to_string).collect();
        let Adaptation { before, cost, .. } = self;
        write!(f, "{}: the rest is planned anew, at cost {cost:.0} in place of {before:.0}", miscounts.join(", "))
    }
}

impl fmt::Display for Miscount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let estimated: Vec<String> = self.estimated.iter().map(|n| format!("{n:.0}")).collect();
        let counted: Vec<String> = self.counted.iter().map(u64::to_string).collect();
        write!(f, "{} has ({}) positions, ({}) were estimated", self.alias, counted.join(" "), estimated.join(" "))
    }
}

fn words(fields: &[Field]) -> String {
    match fields {
        [] => "none".to_owned(),
        _ => fields.iter().map(Field::as_str).collect::<Vec<_>>().join(" "),
    }
}
