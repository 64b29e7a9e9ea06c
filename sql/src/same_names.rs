//! Rules of DataFusion's physical optimizer that confuse columns of the same name.
//!
//! A column of an execution plan has an index and a name, but no table. Two rules of DataFusion 55
//! find columns by their names:
//!
//! - A condition that `FilterPushdown` moves refers afterwards to the first column of the name, or
//!   to the last column of the name if the condition moves below a projection. So the condition
//!   `q0.k IS NULL` above `q0 RIGHT JOIN q1` becomes `q1.k IS NULL`. A condition on a key of a
//!   semi-join is moved to the column of that name on the other side of the join, and this column
//!   need not be the key on that side.
//! - `ProjectionPushdown` compares the columns of a filter's condition, which are columns of the
//!   filter's input, with the columns of the filter's output. The rule takes two columns with equal
//!   names and indices for one column.
//!
//! Both rules run with barriers above the nodes where columns may be confused; the barriers are
//! removed afterwards.

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::JoinType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::filter_pushdown::{ChildFilterDescription, FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A shared rule of the physical optimizer.
type SharedRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Returns the rules of DataFusion's physical optimizer, with barriers for the rules that confuse
/// columns.
pub(crate) fn physical_optimizer_rules() -> Vec<SharedRule> {
    let with_barriers = |rule: SharedRule| -> SharedRule {
        let barrier: fn(&Arc<dyn ExecutionPlan>) -> Option<Barrier> = match rule.name() {
            "FilterPushdown" | "FilterPushdown(Post)" => filter_barrier,
            "ProjectionPushdown" => projection_barrier,
            _ => return rule,
        };
        Arc::new(RuleWithBarriers { rule, barrier })
    };
    PhysicalOptimizer::new().rules.into_iter().map(with_barriers).collect()
}

/// A rule that runs on plans with barriers.
#[derive(Debug)]
struct RuleWithBarriers {
    rule: SharedRule,
    /// Returns the barrier above a node, if the node needs one.
    barrier: fn(&Arc<dyn ExecutionPlan>) -> Option<Barrier>,
}

impl PhysicalOptimizerRule for RuleWithBarriers {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|node| {
            Ok(match (self.barrier)(&node) {
                Some(barrier) => Transformed::yes(Arc::new(barrier) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(node),
            })
        })?;
        let optimized = self.rule.optimize(plan.data, config)?;
        if !plan.transformed {
            return Ok(optimized);
        }
        let without_barrier = |node: Arc<dyn ExecutionPlan>| {
            Ok(match node.downcast_ref::<Barrier>() {
                Some(barrier) => Transformed::yes(barrier.input.clone()),
                None => Transformed::no(node),
            })
        };
        optimized.transform_up(without_barrier).data()
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Returns the barrier above a node that moves some conditions to wrong columns; `None` for other
/// nodes.
fn filter_barrier(node: &Arc<dyn ExecutionPlan>) -> Option<Barrier> {
    let schema = node.schema();
    let mut confused = repeated_names(&schema);
    if let Some(filter) = node.downcast_ref::<FilterExec>() {
        // A filter keeps the conditions that cannot move below the filter, and finds their columns
        // by name in the filter's input.
        confused.extend(ambiguous_inputs(filter));
    }
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        confused.extend(misplaced_key_names(join));
    }
    if confused.is_empty() {
        return None;
    }
    let fields = schema.fields().iter().enumerate();
    let filterable_columns = fields.filter(|(_, field)| !confused.contains(field.name())).map(|(i, _)| i).collect();
    Some(Barrier { input: node.clone(), filterable_columns })
}

/// Returns the barrier above a filter, if `ProjectionPushdown` may take its condition for a
/// condition on the filter's output.
fn projection_barrier(node: &Arc<dyn ExecutionPlan>) -> Option<Barrier> {
    let filter = node.downcast_ref::<FilterExec>()?;
    let is_confused = !ambiguous_inputs(filter).is_empty();
    is_confused.then(|| Barrier { input: node.clone(), filterable_columns: HashSet::new() })
}

/// Returns the names that several columns of a filter's input have, if the filter has a projection;
/// otherwise returns no names.
fn ambiguous_inputs(filter: &FilterExec) -> HashSet<String> {
    match filter.projection() {
        Some(_) => repeated_names(&filter.input().schema()),
        None => HashSet::new(),
    }
}

/// Returns the names that several columns have.
fn repeated_names(schema: &Schema) -> HashSet<String> {
    let mut seen = HashSet::new();
    schema.fields().iter().map(|field| field.name()).filter(|name| !seen.insert(*name)).cloned().collect()
}

/// Returns the names of the keys of a semi-join for which `FilterPushdown` would move a condition
/// to a wrong column of the other side. Such a key is on the side whose rows the join returns. The
/// other side has a column of the same name, but the key of that side has another name.
fn misplaced_key_names(join: &HashJoinExec) -> Vec<String> {
    let name = |key: &Arc<dyn PhysicalExpr>| key.downcast_ref::<Column>().map(|column| column.name().to_owned());
    let keys = join.on().iter().map(|(left, right)| (name(left), name(right)));
    // Each key has a name on the side whose rows the join returns, and a name on the other side.
    let (dropped_side, keys): (SchemaRef, Vec<_>) = match join.join_type() {
        JoinType::LeftSemi => (join.right().schema(), keys.collect()),
        JoinType::RightSemi => (join.left().schema(), keys.map(|(left, right)| (right, left)).collect()),
        _ => return Vec::new(),
    };
    let misplaced = keys.into_iter().filter(|(passing, dropped)| passing != dropped);
    misplaced.filter_map(|(passing, _)| passing).filter(|name| dropped_side.index_of(name).is_ok()).collect()
}

/// A node that stops the push-down of projections, and of conditions except the conditions on given
/// columns. The plan that runs has no barriers.
#[derive(Debug)]
struct Barrier {
    input: Arc<dyn ExecutionPlan>,
    /// The columns whose conditions pass the barrier.
    filterable_columns: HashSet<usize>,
}

impl DisplayAs for Barrier {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Barrier")
    }
}

impl ExecutionPlan for Barrier {
    fn name(&self) -> &str {
        "Barrier"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let filterable_columns = &self.filterable_columns;
        let barrier = |input| Barrier { input, filterable_columns: filterable_columns.clone() };
        Ok(match children.into_iter().next() {
            Some(input) => Arc::new(barrier(input)),
            None => self,
        })
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        conditions: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let columns = self.filterable_columns.clone();
        let child = ChildFilterDescription::from_child_with_allowed_indices(&conditions, columns, &self.input)?;
        Ok(FilterDescription::new().with_child(child))
    }
}
