//! What flows through a plan: its queries with what each reads and writes, as planned, and as measured if it has run.
//!
//! A [`Flow`] prints as text, and as a graph in the languages of Graphviz and Mermaid: `graph.rs` makes nodes and edges
//! of it, `dot.rs` and `mermaid.rs` write these down.

mod dot;
mod graph;
mod mermaid;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use dot::label;

use crate::error::Error;
use crate::prepared::Made;
use crate::profile::QueryProfile;
use crate::session::Bindings;
use graph::Graph;
use redpoll_logic::physical::{Access, PhysicalPlan, PhysicalQuery};
use redpoll_logic::{Alias, TensorType};
use redpoll_optimizer::{Adaptation, Decision};
use redpoll_physical::notation::{Cut, Obstacle, cut};
use redpoll_physical::storage::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// The queries of a physical plan and the tensors between them.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The queries, in the order in which they run.
    pub queries: Vec<FlowQuery>,
    /// The names of the results, in order.
    pub produces: Vec<Alias>,
}

/// A query with what it reads and writes.
#[derive(Clone, Debug)]
pub struct FlowQuery {
    /// What was decided for it: why it exists, the rules and the order of loops behind it, its outputs, its cost.
    pub decision: Decision,
    /// Whether it converts the storage of what it reads, and runs no loops.
    pub converts: bool,
    /// The tensors that it reads.
    pub reads: Vec<FlowRead>,
    /// The index of the loop that is cut into chunks for threads, or why none is; `None` where no loops are run.
    pub chunks: Option<Result<String, Obstacle>>,
    /// The rest of the plan was planned anew after it.
    pub adaptation: Option<Adaptation>,
    /// What was measured, if the plan has run.
    pub measured: Option<QueryProfile>,
}

/// A tensor that a query reads.
#[derive(Clone, Debug)]
pub struct FlowRead {
    /// Its name.
    pub tensor: Alias,
    /// Its type, with the format.
    pub ty: Arc<TensorType>,
    /// The number of the query that wrote it; none wrote an input.
    pub from: Option<usize>,
    /// How many values it has.
    pub size: Size,
    /// The accesses, with a protocol for each storage mode; none where storage is converted.
    pub accesses: Vec<Access>,
}

/// A number of stored values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Size {
    /// It was counted before the plan was made.
    Known(u64),
    /// It was estimated, and the plan has not run.
    Estimated(f64),
    /// It was estimated, and then counted.
    Measured {
        /// The estimate.
        estimated: f64,
        /// The count.
        stored: u64,
    },
}

impl Flow {
    /// The graph in the language of Graphviz: inputs, queries and results are nodes, edges are tensors with their formats,
    /// protocols and sizes.
    pub fn to_dot(&self) -> String {
        dot::print(&Graph::of(self))
    }

    /// The same graph in the language of Mermaid.
    pub fn to_mermaid(&self) -> String {
        mermaid::print(&Graph::of(self))
    }

    /// The flow of what was made of a plan over these tensors; `measured` has a profile for each query, or none.
    pub(crate) fn new(made: &Made, bindings: &Bindings, measured: &[QueryProfile]) -> Result<Flow, Error> {
        let PhysicalPlan { inputs, queries, produces } = &made.planned.physical;
        let mut known = Known { types: HashMap::new(), bindings, written: HashMap::new() };
        known.types.extend(inputs.iter().map(|(alias, ty)| (alias, ty)));
        let mut flow = Flow { queries: Vec::with_capacity(queries.len()), produces: produces.clone() };
        for (number, (query, decision)) in queries.iter().zip(&made.planned.report.decisions).enumerate() {
            let measured = measured.get(number).cloned();
            let mut reads = known.reads(query)?;
            let converts = query.converts(|t| known.types.get(t).map(|ty| &***ty)).is_some();
            if converts {
                reads.iter_mut().for_each(|read| read.accesses.clear());
            }
            for (k, output) in decision.outputs.iter().enumerate() {
                let size = Size::of(output.stored(), measured.as_ref().and_then(|m| Some(m.outputs.get(k)?.stored)));
                known.types.insert(&output.alias, &output.ty);
                known.written.insert(&output.alias, (number, size));
            }
            let adaptation = made.planned.report.adaptations.iter().find(|a| a.after == number).cloned();
            let chunks = made.executable.stages[number].loops().map(|loops| {
                let index = |cut: Cut| loops.program.indices[cut.index.index()].clone();
                cut(&loops.program, made.executable.mode()).map(index)
            });
            flow.queries.push(FlowQuery { decision: decision.clone(), converts, reads, chunks, adaptation, measured });
        }
        Ok(flow)
    }
}

/// The tensors that queries may read.
struct Known<'m> {
    types: HashMap<&'m Alias, &'m Arc<TensorType>>,
    bindings: &'m Bindings,
    /// The number of the query that wrote a tensor, and what it stored.
    written: HashMap<&'m Alias, (usize, Size)>,
}

impl Known<'_> {
    fn reads(&self, query: &PhysicalQuery) -> Result<Vec<FlowRead>, Error> {
        let mut reads: Vec<FlowRead> = Vec::new();
        for access in query.accesses() {
            match reads.iter_mut().find(|read| read.tensor == access.tensor) {
                Some(read) if read.accesses.contains(access) => {}
                Some(read) => read.accesses.push(access.clone()),
                None => reads.push(self.read(access)?),
            }
        }
        Ok(reads)
    }

    fn read(&self, access: &Access) -> Result<FlowRead, Error> {
        let tensor = access.tensor.clone();
        let written = self.written.get(&tensor);
        let size = match (written, self.bindings.get(tensor.as_str())) {
            (Some((_, size)), _) => *size,
            (None, input) => Size::Known(input.map_or(Ok(0), Tensor::count_stored)?),
        };
        Ok(FlowRead {
            ty: (*self.types[&tensor]).clone(),
            from: written.map(|(query, _)| *query),
            size,
            accesses: vec![access.clone()],
            tensor,
        })
    }
}

impl Size {
    pub(crate) fn of(estimated: f64, stored: Option<u64>) -> Size {
        stored.map_or(Size::Estimated(estimated), |stored| Size::Measured { estimated, stored })
    }
}
