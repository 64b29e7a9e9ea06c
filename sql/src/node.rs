//! The node of a claimed region in a logical plan.

use crate::claim::{Claim, Region};
use crate::program;
use datafusion::common::DFSchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A region, in place of the claimed aggregate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RegionNode {
    region: Arc<Region>,
    inputs: Vec<LogicalPlan>,
    schema: DFSchemaRef,
    /// The aggregate that was claimed.
    claimed: Arc<LogicalPlan>,
}

impl RegionNode {
    /// Returns the plan of a claim, which replaces `claimed`.
    pub(crate) fn plan(claim: Claim, claimed: LogicalPlan) -> LogicalPlan {
        let (region, schema) = (Arc::new(claim.region), claimed.schema().clone());
        let node = RegionNode { region, inputs: claim.inputs, schema, claimed: Arc::new(claimed) };
        LogicalPlan::Extension(Extension { node: Arc::new(node) })
    }

    /// Returns the claimed aggregate, as DataFusion would run it.
    pub(crate) fn claimed(&self) -> &Arc<LogicalPlan> {
        &self.claimed
    }

    /// Returns the region.
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }
}

impl PartialOrd for RegionNode {
    fn partial_cmp(&self, other: &RegionNode) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for RegionNode {
    fn name(&self) -> &str {
        "Redpoll"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.inputs.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redpoll: {}", program::show(&self.region))
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<RegionNode> {
        if !exprs.is_empty() || inputs.len() != self.inputs.len() {
            return Err(DataFusionError::Internal("a region keeps the number of its inputs".into()));
        }
        Ok(RegionNode { inputs, ..self.clone() })
    }
}
