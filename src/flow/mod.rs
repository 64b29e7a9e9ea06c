//! Dataflow of a plan: its queries with the tensors that they read and write, as planned, and as
//! measured after a run.
//!
//! A [`Flow`] prints as text, and as a graph for Graphviz and Mermaid. `graph.rs` converts a flow
//! to nodes and edges, which `dot.rs` and `mermaid.rs` print.

mod dot;
mod graph;
mod mermaid;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use dot::label;
pub use graph::{FlowEdge, FlowGraph, FlowNode, FlowNodeKind};

use crate::bindings::Bindings;
use crate::error::Error;
use crate::executable::Executable;
use crate::prepare::CompiledPlan;
use crate::profile::QueryProfile;
use redpoll_compiler::notation::{Cut, Obstacle, cut};
use redpoll_logic::physical::{Access, PhysicalPlan, PhysicalQuery};
use redpoll_logic::{Alias, TensorType};
use redpoll_optimizer::{Adaptation, Decision};
use redpoll_storage::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// The queries of a physical plan and the tensors between them.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The queries, in execution order.
    pub queries: Vec<FlowQuery>,
    /// The names of the results, in order.
    pub produces: Vec<Alias>,
}

/// A query with the tensors that it reads and writes.
#[derive(Clone, Debug)]
pub struct FlowQuery {
    /// The decision of the optimizer: the origin of the query, its rules, loop order, outputs and
    /// cost.
    pub decision: Decision,
    /// Whether the query only converts storage.
    pub is_conversion: bool,
    /// The tensors that the query reads.
    pub reads: Vec<FlowRead>,
    /// The index of the loop that is cut into chunks for threads, or the obstacle that prevents
    /// chunks. `None` for conversions without a schedule.
    pub chunks: Option<Result<String, Obstacle>>,
    /// The adaptation after this query, if the rest of the plan was replanned.
    pub adaptation: Option<Adaptation>,
    /// The measurements, if the plan has run.
    pub profile: Option<QueryProfile>,
}

/// A tensor that a query reads.
#[derive(Clone, Debug)]
pub struct FlowRead {
    /// The name of the tensor.
    pub tensor: Alias,
    /// The type of the tensor, with the format.
    pub ty: Arc<TensorType>,
    /// The number of the query that wrote the tensor, or `None` for an input.
    pub from: Option<usize>,
    /// The number of stored values of the tensor.
    pub size: Size,
    /// The accesses, with a protocol for each storage mode. Empty for conversions.
    pub accesses: Vec<Access>,
}

/// A number of stored values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Size {
    /// An exact number that was never estimated, such as that of an input.
    Exact(u64),
    /// An estimate, before the plan has run.
    Estimated(f64),
    /// An estimate, and the number counted in a run.
    Measured {
        /// The estimate.
        estimated: f64,
        /// The count.
        stored: u64,
    },
}

impl Flow {
    /// Returns the flow as a graph. Its nodes are inputs, queries and results; its edges are
    /// tensors with their formats, protocols and sizes.
    pub fn graph(&self) -> FlowGraph {
        FlowGraph::of(self)
    }

    /// Returns the graph as text for Graphviz.
    pub fn to_dot(&self) -> String {
        dot::print(&self.graph())
    }

    /// Returns the graph as text for Mermaid.
    pub fn to_mermaid(&self) -> String {
        mermaid::print(&self.graph())
    }

    /// Returns the flow of a compiled plan over the bound tensors. `profiles` has a profile for
    /// each query, or is empty.
    pub(crate) fn new(
        compiled: &CompiledPlan,
        executable: &Executable,
        bindings: &Bindings,
        profiles: &[QueryProfile],
    ) -> Result<Flow, Error> {
        let PhysicalPlan { inputs, queries, produces } = &*compiled.adaptive.physical;
        let mut tensors = ReadableTensors { types: HashMap::new(), bindings, written: HashMap::new() };
        tensors.types.extend(inputs.iter().map(|(alias, ty)| (alias, ty)));
        let mut flow = Flow { queries: Vec::with_capacity(queries.len()), produces: produces.clone() };
        for (number, (query, decision)) in queries.iter().zip(&compiled.adaptive.report.decisions).enumerate() {
            let profile = profiles.get(number).cloned();
            let mut reads = tensors.reads(query)?;
            let is_conversion = query.conversion_source(|t| tensors.types.get(t).map(|ty| &***ty)).is_some();
            if is_conversion {
                reads.iter_mut().for_each(|read| read.accesses.clear());
            }
            for (k, output) in decision.outputs.iter().enumerate() {
                let size = Size::of(output.stored(), profile.as_ref().and_then(|m| Some(m.outputs.get(k)?.stored)));
                tensors.types.insert(&output.alias, &output.ty);
                tensors.written.insert(&output.alias, (number, size));
            }
            let adaptation = compiled.adaptive.report.adaptations.iter().find(|a| a.query == number).cloned();
            let chunks = executable.stages[number].loops().map(|loops| {
                let index = |cut: Cut| loops.program.indices[cut.index.index()].clone();
                cut(&loops.program, executable.mode()).map(index)
            });
            flow.queries.push(FlowQuery {
                decision: decision.clone(),
                is_conversion,
                reads,
                chunks,
                adaptation,
                profile,
            });
        }
        Ok(flow)
    }
}

/// The tensors that queries may read.
struct ReadableTensors<'m> {
    types: HashMap<&'m Alias, &'m Arc<TensorType>>,
    bindings: &'m Bindings,
    /// The number of the query that wrote each tensor, and the number of stored values.
    written: HashMap<&'m Alias, (usize, Size)>,
}

impl ReadableTensors<'_> {
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
            (None, input) => Size::Exact(input.map_or(Ok(0), Tensor::count_stored)?),
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

impl FlowRead {
    /// Describes each access by its protocols, such as `walk i, follow k`, and its workspace.
    pub(crate) fn protocols(&self) -> Vec<String> {
        self.accesses.iter().map(text::protocols).filter(|words| !words.is_empty()).collect()
    }
}

impl Size {
    pub(crate) fn of(estimated: f64, stored: Option<u64>) -> Size {
        stored.map_or(Size::Estimated(estimated), |stored| Size::Measured { estimated, stored })
    }
}
