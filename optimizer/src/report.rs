//! What was decided, and why: the phases of a plan and the decisions of each query, printed by `redpoll explain`.

use redpoll_logic::physical::{FormatWords, Workspace};
use redpoll_logic::{Alias, Field, TensorType};
use std::fmt;
use std::sync::Arc;

/// A readable account of one optimization.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The plan after each phase, as text.
    pub phases: Vec<Phase>,
    /// The decisions, one for each query of the physical plan.
    pub decisions: Vec<Decision>,
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
    /// The order of its loops, outermost first.
    pub order: Vec<Field>,
    /// The estimated cost of that order.
    pub cost: f64,
    /// The orders that were priced, cheapest first, at most [`Decision::SHOWN`].
    pub considered: Vec<(Vec<Field>, f64)>,
    /// Its outputs.
    pub outputs: Vec<DecidedOutput>,
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
    /// The estimated number of stored values.
    pub stored: f64,
    /// The workspace that its writes go through.
    pub workspace: Option<Workspace>,
}

impl Decision {
    /// So many of the considered orders are kept.
    pub const SHOWN: usize = 6;

    pub(crate) fn new(
        origin: Origin,
        order: Vec<Field>,
        cost: f64,
        mut considered: Vec<(Vec<Field>, f64)>,
    ) -> Decision {
        considered.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        considered.truncate(Decision::SHOWN);
        Decision { origin, order, cost, considered, outputs: Vec::new() }
    }

    pub(crate) fn output(&mut self, alias: Alias, ty: Arc<TensorType>, stored: f64, workspace: Option<Workspace>) {
        self.outputs.push(DecidedOutput { alias, ty, stored, workspace });
    }
}

impl Report {
    pub(crate) fn phase(&mut self, name: &'static str, plan: String) {
        self.phases.push(Phase { name, plan });
    }

    pub(crate) fn decide(&mut self, decision: Decision) {
        self.decisions.push(decision);
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
        let origin = match self.origin {
            Origin::Plan => "",
            Origin::Isolated => " (a fold that is stored)",
            Origin::Copied => " (a copy in another order)",
        };
        writeln!(f, "{}{origin}", names.join(", "))?;
        writeln!(f, "  loops {} at cost {:.0}", words(&self.order), self.cost)?;
        for (order, cost) in self.considered.iter().filter(|(order, _)| *order != self.order) {
            writeln!(f, "    not {} at cost {cost:.0}", words(order))?;
        }
        for output in &self.outputs {
            write!(
                f,
                "  {} stored as {}, about {:.0} values",
                output.alias,
                FormatWords(&output.ty.format),
                output.stored
            )?;
            match &output.workspace {
                Some(w) => writeln!(f, ", through a workspace {} inside {} loops", FormatWords(&w.format), w.depth)?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

fn words(fields: &[Field]) -> String {
    match fields {
        [] => "none".to_owned(),
        _ => fields.iter().map(Field::as_str).collect::<Vec<_>>().join(" "),
    }
}
