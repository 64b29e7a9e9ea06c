//! The choice of a division, and the execution plan of a region in partitions.

use super::cost::cheapest;
use super::key::PartitionRows;
use super::{ClusterSize, DataFusionPlan, DividedRegion, PartitionExec, ReplicateExec, SpreadExec};
use crate::claim::Region;
use crate::engine::Engine;
use crate::options::{RedpollOptions, Spread};
use crate::policy::{Cache, Fallback};
use crate::run::RegionRunner;
use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::{AggregateFunctionExpr, LoweredAggregateBuilder};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use std::sync::Arc;

/// Divides a region over inputs as the session asks for. Returns `None` if the region runs as a
/// whole in this process. A region that cannot be divided into cells is divided by a key.
pub(crate) fn divide(
    spread: Spread,
    region: &Region,
    inputs: &[Arc<dyn ExecutionPlan>],
    session: &dyn Session,
) -> Option<DividedRegion> {
    let cluster = ClusterSize::of(session.config());
    let (workers, partitions) = (ClusterSize::workers(session.config()), ClusterSize::partitions(session.config()));
    // Inputs of unknown size are taken for equally large.
    let rows = |input: usize| {
        let statistics = StatisticsContext::new().compute(inputs[input].as_ref(), &StatisticsArgs::new());
        let rows = statistics.ok().and_then(|statistics| statistics.num_rows.get_value().copied());
        rows.map_or(1e6, |rows| rows as f64)
    };
    let by_key = || DividedRegion::by_key(region);
    let by_cells = || DividedRegion::by_cells(region, partitions, rows);
    // A session of a cluster caches no regions, so a whole region is one partition.
    let whole = || cluster.map(|_| DividedRegion::whole(region));
    match spread {
        Spread::Auto if cluster.is_none() => None,
        Spread::Auto => cheapest(DividedRegion::candidates(region, partitions, rows), (workers, partitions), rows),
        Spread::Whole => whole(),
        Spread::Keyed => by_key().or_else(whole),
        Spread::Cells => by_cells().or_else(by_key).or_else(whole),
    }
}

/// Returns the execution plan of a divided region. `inputs` are the inputs of the whole region, and
/// `schema` is the schema of its rows.
///
/// # Errors
/// If DataFusion refuses the aggregates or the partitions; on a cluster, also if DataFusion cannot
/// plan the region.
pub(crate) async fn plan_divided(
    divided: DividedRegion,
    (inputs, schema): (&[Arc<dyn ExecutionPlan>], SchemaRef),
    (engine, fallback, cache): (Arc<dyn Engine>, Fallback, Arc<Cache>),
    (session, planning): (&dyn Session, &PhysicalPlanningContext),
) -> Result<Arc<dyn ExecutionPlan>> {
    let partitions = ClusterSize::partitions(session.config());
    // Two inputs of a partition may be one input of the region, and a plan can only run once.
    let inputs = divided.division.inputs.iter().map(|input| {
        let plan = reset_plan_states(inputs[input.input].clone())?;
        Ok(match &input.rows {
            PartitionRows::OfCell(columns) => Arc::new(ReplicateExec::new(plan, &divided, columns, partitions)?),
            PartitionRows::All | PartitionRows::OfKey(_) => plan,
        })
    });
    let inputs = inputs.collect::<Result<Vec<Arc<dyn ExecutionPlan>>>>()?;
    let groups = divided.region.join.groups.len();
    let target = RedpollOptions::of(session.config().options()).engine;
    let partition = |region_schema: SchemaRef, divided: DividedRegion| -> Arc<dyn ExecutionPlan> {
        let runner = RegionRunner { region: divided.region.clone(), engine, schema: region_schema };
        Arc::new(PartitionExec::new(runner, Arc::new(divided), inputs, (cache.clone(), target)))
    };
    let merged = if divided.division.has_states {
        let (functions, input_schema) = aggregate_functions(&fallback.plan, session, planning)?;
        let mut fields: Vec<FieldRef> = schema.fields()[..groups].to_vec();
        for function in &functions {
            fields.extend(function.state_fields()?);
        }
        let partitions = partition(Arc::new(Schema::new(fields)), divided);
        let column = |k: usize| {
            let name = schema.field(k).name();
            (Arc::new(Column::new(name, k)) as Arc<dyn PhysicalExpr>, name.clone())
        };
        let group_by = PhysicalGroupBy::new_single((0..groups).map(column).collect());
        let filters = vec![None; functions.len()];
        let merge =
            AggregateExec::try_new(AggregateMode::Final, group_by, functions, filters, partitions, input_schema)?;
        Arc::new(merge) as Arc<dyn ExecutionPlan>
    } else {
        partition(schema.clone(), divided)
    };
    let datafusion_plan = match ClusterSize::of(session.config()) {
        None => DataFusionPlan::Logical(fallback),
        Some(_) => DataFusionPlan::on_cluster(fallback, &session.task_ctx()).await?,
    };
    Ok(Arc::new(SpreadExec::new(merged, datafusion_plan, cache.clone(), schema)))
}

/// Returns the aggregate functions of a claimed aggregate, and the schema of its input.
fn aggregate_functions(
    plan: &LogicalPlan,
    session: &dyn Session,
    planning: &PhysicalPlanningContext,
) -> Result<(Vec<Arc<AggregateFunctionExpr>>, SchemaRef)> {
    let LogicalPlan::Aggregate(aggregate) = plan else {
        return Err(DataFusionError::Internal("a claimed region is an aggregate".into()));
    };
    let logical = aggregate.input.schema();
    let physical = logical.inner();
    let functions = aggregate.aggr_expr.iter().map(|expr| {
        let builder = LoweredAggregateBuilder::new(expr, logical, physical, session.execution_props(), planning);
        Ok(builder.build()?.aggregate)
    });
    Ok((functions.collect::<Result<_>>()?, physical.clone()))
}
