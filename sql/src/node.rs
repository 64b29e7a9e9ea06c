//! The node of a claimed region in a logical plan.

use crate::claim::{Claim, Region};
use crate::program;
use datafusion::common::DFSchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The node of a region, which replaces the claimed aggregate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RegionNode {
    region: Arc<Region>,
    inputs: Vec<LogicalPlan>,
    schema: DFSchemaRef,
    /// The aggregate that was claimed.
    aggregate: Arc<LogicalPlan>,
}

impl RegionNode {
    /// Returns the plan of a claim, which replaces `aggregate`.
    pub(crate) fn plan(claim: Claim, aggregate: LogicalPlan) -> LogicalPlan {
        let (region, schema) = (Arc::new(claim.region), aggregate.schema().clone());
        let node = RegionNode { region, inputs: claim.inputs, schema, aggregate: Arc::new(aggregate) };
        LogicalPlan::Extension(Extension { node: Arc::new(node) })
    }

    /// Returns the claimed aggregate, which DataFusion runs if the region is left to DataFusion.
    pub(crate) fn aggregate(&self) -> &Arc<LogicalPlan> {
        &self.aggregate
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
        write!(f, "Redpoll: {}", program::describe(&self.region))
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<RegionNode> {
        let expected = self.inputs.len();
        if !exprs.is_empty() || inputs.len() != expected {
            let (exprs, inputs) = (exprs.len(), inputs.len());
            let message =
                format!("expected {expected} inputs and no expressions of a region, found {inputs} and {exprs}");
            return Err(DataFusionError::Internal(message));
        }
        Ok(RegionNode { inputs, ..self.clone() })
    }
}
