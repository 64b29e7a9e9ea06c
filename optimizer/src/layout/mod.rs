//! Chooses, for all queries together, the orders of their loops and the formats of the tensors
//! between them.
//!
//! Nests are planned one by one: each takes its own best order, stores its outputs as that order
//! prefers, and copies discordant inputs. This pass chooses the orders and formats of all queries
//! in one e-graph. A class is a tensor in one format, or a kernel: a query in one loop order with
//! the formats of its tensors. The nodes of a tensor's class are the sources of the tensor: an
//! input of the queries, an output of a kernel, or a conversion from another format.
//!
//! The children of a kernel's node are the classes of the tensors that the kernel reads. So two
//! queries can share a conversion, and a query can write the format that its reader prefers.
//! [`explore`] adds the nodes, and [`choose`] picks the cheapest combination of one kernel per
//! query. The caller plans the queries again with this choice, unless the choice saves too little
//! compared with the previous plan. Formats play the role of the physical properties in Graefe's
//! Cascades.

mod choose;
mod explore;
mod graph;
#[cfg(test)]
mod tests;

pub(crate) use explore::LayoutQuery;
pub(crate) use graph::CandidateKernel;

use crate::config::Choice;
use crate::facts::Facts;
use crate::term::names::Names;
use choose::{cheapest, random};
use explore::explore;
use redpoll_logic::physical::FormatDisplay;
use redpoll_logic::{Alias, Field};
use std::collections::HashMap;

/// Least fraction of the plan's cost that a new layout must save. The layout must also save at
/// least the rewrite threshold.
const MIN_GAIN: f64 = 0.01;

/// Loop orders and formats of queries, chosen together.
pub(crate) struct ChosenLayout {
    /// The kernel of each query.
    pub(crate) kernels: Vec<CandidateKernel>,
    /// The explored orders of each query with their lowest costs, by the name of its nest.
    pub(crate) priced_orders: HashMap<Alias, Vec<(Vec<Field>, f64)>>,
    /// The text for the report.
    pub(crate) note: String,
}

/// Returns the layout of the queries; `None` if no other layout saves enough, or if the cost of the
/// previous plan is unknown. With [`Choice::Random`], returns a random layout, whatever its cost,
/// or `None` if the layout needs a conversion that the graph does not have. `names` are the names
/// in use. Registers tensors in other formats under new names.
pub(crate) fn choose_layout(facts: &mut Facts, names: Names, queries: &[LayoutQuery]) -> Option<ChosenLayout> {
    let graph = explore(facts, names, queries);
    let threshold = facts.config.rewrite_threshold.0;
    let old_cost = graph.previous_cost();
    let choice = match facts.config.choice {
        Choice::Cheapest => {
            let pays = |old_cost: f64, cost: f64| old_cost - cost >= (MIN_GAIN * old_cost).max(threshold);
            cheapest(&graph).filter(|choice| old_cost.is_some_and(|old_cost| pays(old_cost, choice.cost)))?
        }
        Choice::Random(seed) => random(&graph, seed)?,
    };
    let kernels: Vec<CandidateKernel> = choice.kernels.iter().map(|k| graph.kernels[*k].clone()).collect();
    let name = |query: &LayoutQuery| query.nest.name().clone();
    let priced_orders = queries.iter().map(name).zip((0..).map(|query| graph.orders(query))).collect();
    let old_cost = old_cost.map_or_else(String::new, |cost| format!("{cost:.0} planned separately, "));
    let (classes, nodes) = (graph.egraph.number_of_classes(), graph.egraph.total_number_of_nodes());
    let costs =
        format!("; estimated cost {old_cost}{:.0} planned together; {nodes} nodes in {classes} classes\n", choice.cost);
    let note = describe(queries, &kernels) + &costs;
    Some(ChosenLayout { kernels, priced_orders, note })
}

/// Describes the orders and formats of the queries as text.
fn describe(queries: &[LayoutQuery], kernels: &[CandidateKernel]) -> String {
    let mut text = String::new();
    for (query, kernel) in queries.iter().zip(kernels) {
        let loops: Vec<&str> = kernel.order.iter().map(Field::as_str).collect();
        let formats: Vec<String> = kernel.formats.iter().map(|f| FormatDisplay(f).to_string()).collect();
        text += &format!("{}: loops {}, stored as {}\n", query.nest.name(), loops.join(" "), formats.join(", "));
        for (read, format) in &kernel.reads {
            text += &format!("  reads {} as {}\n", read.tensor, FormatDisplay(format));
        }
    }
    text
}
