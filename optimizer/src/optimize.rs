//! The entry points, and the list of passes over the whole plan.

use crate::algebra;
use crate::config::{OptimizerConfig, Subjects};
use crate::error::Error;
use crate::normalize::folds::move_root_folds;
use crate::normalize::lookup::use_lookups;
use crate::normalize::merge::merge_queries;
use crate::normalize::normalize;
use crate::plan::{AdaptivePlan, Planner, Rewrite, cheapest_plan, lay_out, plan_queries};
use crate::report::Report;
use crate::term::Nest;
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{FloatMode, Plan};
use std::borrow::Cow;
use std::sync::Arc;

/// Makes a physical plan.
///
/// The plan computes the same tensors as the Logic plan, under the laws of
/// [`OptimizerConfig::float_mode`]. It is a pure function of the arguments. `statistics` describe
/// the inputs of the plan by name; they change the cost of the plan but not its results. The
/// exceptions are the facts in [`Report::facts`]: the plan is valid only for inputs that give each
/// fact the recorded truth value.
///
/// # Errors
/// Fails when an operator does not fit its arguments, a scan's operator has no identity, or a field
/// has no size or is not bound. Also fails when a query computes values of another dtype than it
/// declares, a requested format does not fit its query, or pinned loop orders contradict each
/// other.
///
/// # Examples
/// A product of a sparse matrix and a vector loops over the rows of the matrix:
/// ```
/// use redpoll_logic::statistics::{Answer, PositionCounts, Statistics};
/// use redpoll_logic::text::{Catalog, parse};
/// use redpoll_logic::{DType, Format, Scalar, TensorType};
/// use redpoll_optimizer::{OptimizerConfig, optimize};
///
/// let tensor = |shape: &[u64], format: Format| TensorType {
///     shape: shape.to_vec(),
///     dtype: DType::F64,
///     fill: Scalar::F64(0.0),
///     format,
/// };
/// let mut inputs = Catalog::default();
/// inputs.insert("A", tensor(&[1000, 500], Format::csr()));
/// inputs.insert("x", tensor(&[500], Format::dense(1)));
/// let text = "(plan
///     (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j))
///     (produces y))";
/// let plan = parse(text, &inputs)?;
///
/// // A has 1000 rows and 8000 stored values.
/// let mut counts = PositionCounts::default();
/// counts.insert("A".into(), vec![Answer::exact(1000), Answer::exact(8000)]);
///
/// let (statistics, config) = (Statistics::new(&counts), OptimizerConfig::default());
/// let (physical, report) = optimize(&plan, &statistics, &config)?;
/// let [query] = &physical.queries[..] else { panic!("one query") };
/// let loops: Vec<&str> = query.loops.iter().map(|l| l.index.as_str()).collect();
/// assert_eq!(loops, ["i", "j"]);
/// assert_eq!(report.decisions[0].outputs[0].ty.format, Format::dense(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn optimize(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
) -> Result<(PhysicalPlan, Report), Error> {
    plan_with_rewrite(plan, statistics, config, &mut algebra::rewrite)
}

/// Makes a physical plan without rewriting, and without choosing the layouts of all queries
/// together.
///
/// This function serves differential tests. [`OptimizerConfig::subjects`] has no effect.
///
/// # Errors
/// Returns the errors of [`optimize`].
pub fn optimize_plain(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
) -> Result<(PhysicalPlan, Report), Error> {
    optimize(plan, statistics, &OptimizerConfig { subjects: Subjects::none(), ..config.clone() })
}

/// Makes a physical plan that can be adapted: after its first queries have run, the remaining ones
/// can be planned again with the measured sizes. See [`AdaptivePlan`] for an example.
///
/// The plan equals the plan of [`optimize`].
///
/// # Errors
/// Returns the errors of [`optimize`].
pub fn optimize_adaptive(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
) -> Result<AdaptivePlan, Error> {
    run_passes(plan, statistics, config, &mut algebra::rewrite)
}

/// Creates an e-graph in advance. The first e-graph of a process calibrates a clock, which takes
/// about 0.1 s; after this call, the first plan that is rewritten does not wait for the
/// calibration.
pub fn warm_up() {
    algebra::warm_up();
}

/// Makes a physical plan. `rewrite` replaces the nests whose rough cost reaches the threshold.
pub(crate) fn plan_with_rewrite(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
    rewrite: Rewrite,
) -> Result<(PhysicalPlan, Report), Error> {
    let AdaptivePlan { physical, report, .. } = run_passes(plan, statistics, config, rewrite)?;
    Ok((Arc::unwrap_or_clone(physical), report))
}

/// Runs the passes in order. `rewrite` replaces the nests whose rough cost reaches the threshold.
fn run_passes(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
    rewrite: Rewrite,
) -> Result<AdaptivePlan, Error> {
    let mode = config.float_mode;
    let plan = in_float_mode(plan, mode);

    // Passes over all nests.
    let nests = normalize(&plan, config)?;
    let nests: Vec<Nest> = nests.into_iter().map(|nest| use_lookups(move_root_folds(nest), mode)).collect();
    let nests: Arc<[Nest]> = merge_queries(nests, mode).into();

    // Passes over each nest in turn: `rewrite`, then the loop order, the placement of folds, copies
    // and the physical query.
    let mut planner = Planner::new(&plan, &nests, statistics, config);
    let names = planner.state.names.clone();
    let mut runners_up = Vec::new();
    plan_queries(&mut planner, &nests, rewrite, Some(&mut runners_up))?;

    // Passes over all planned queries.
    lay_out(&mut planner, 0, &names)?;
    let planner = cheapest_plan(planner, runners_up, (&nests, &names), rewrite)?;
    Ok(AdaptivePlan::new(planner, nests, plan.produces.clone()))
}

/// Returns the plan in a float mode. Plans are built in the default mode. A plan that cannot be
/// rebuilt in strict mode keeps the fill values of the default mode.
fn in_float_mode(plan: &Plan, mode: FloatMode) -> Cow<'_, Plan> {
    match mode {
        FloatMode::StrictIeee => plan.to_mode(mode).map_or(Cow::Borrowed(plan), Cow::Owned),
        FloatMode::Relaxed => Cow::Borrowed(plan),
    }
}
