//! Random plans for all engines: cases from seeds, coverage, and reduction of failures.

use crate::engines::{
    CaseReport, EngineCase, PhaseFailure, check_plan, check_rewritten, draw_plan, interpret_case, plain_plan,
};
use crate::program::draw_result_formats;
use crate::rng::Rng;
use redpoll_logic::interp::{DenseTensor, Exactness};
use redpoll_logic::physical::{Access, PhysicalPlan, Protocol, ScalarExpr, StorageCoordinate, TemporaryNest};
use redpoll_logic::testing::{self, Coverage, DataKind, random_case};
use redpoll_logic::text::format_to_sexpr;
use redpoll_logic::{
    Alias, DType, Expr, FloatMode, Format, LevelFormat, LevelKind, LiftedConstant, Plan, Query, StorageMode, TensorType,
};
use redpoll_optimizer::{OptimizerConfig, ReorderPolicy};
use redpoll_storage::{Tensor, Values};
use std::collections::HashMap;
use std::ops::Range;

/// Parameters of random plans and data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaseParameters {
    pub data: DataKind,
    pub mode: FloatMode,
    pub depth: usize,
    pub queries: usize,
}

/// Returns the parameters of a seed.
pub fn case_parameters(seed: u64) -> CaseParameters {
    let (data, mode) = match seed % 8 {
        0 | 1 => (DataKind::Exact, FloatMode::Relaxed),
        2 | 3 => (DataKind::General, FloatMode::Relaxed),
        4 => (DataKind::Special, FloatMode::Relaxed),
        5 => (DataKind::Exact, FloatMode::StrictIeee),
        _ => (DataKind::Special, FloatMode::StrictIeee),
    };
    CaseParameters { data, mode, depth: 2 + (seed / 8 % 3) as usize, queries: 1 + (seed / 24 % 3) as usize }
}

/// Draws the case of a seed.
pub fn draw_case(seed: u64, parameters: CaseParameters) -> (testing::RandomCase, EngineCase) {
    let CaseParameters { data, mode, depth, queries } = parameters;
    let logic_case = random_case(
        seed,
        &testing::CaseConfig { data, depth, queries, dimension: 5, ..testing::CaseConfig::default() },
    );
    let mut rng = Rng::new(seed ^ 0x5eed);
    let config = OptimizerConfig {
        float_mode: mode,
        reorder_policy: ReorderPolicy::Ignore,
        formats: draw_result_formats(&mut rng, &logic_case.plan),
        ..OptimizerConfig::default()
    };
    let inputs = logic_case.inputs.iter().map(|i| {
        let values = Values::from_scalars(i.ty.dtype.clone(), &i.data.values).expect("values of the dtype");
        (i.alias.clone(), Tensor::from_dense(i.ty.clone(), &values).expect("a valid input"), i.data.clone())
    });
    // Exact data do not make results exact: maps such as `sqrt` or `/` round.
    let (plan, inputs, exactness) = (logic_case.plan.clone(), inputs.collect(), Exactness::Bounded);
    let case = EngineCase { plan, inputs, config, exactness };
    let case = if seed.is_multiple_of(3) { with_lifted_constants(case) } else { case };
    (logic_case, case)
}

/// Replaces the constants and offsets in the plan of a case by inputs.
fn with_lifted_constants(case: EngineCase) -> EngineCase {
    let plan = case.plan.to_mode(case.config.float_mode).expect("the plan is well-formed in both modes");
    let lifted = plan.lift_constants().expect("a well-formed plan is lifted");
    let constants = lifted.constants.into_iter().map(|LiftedConstant { name, ty, value }| {
        let tensor = Tensor::constant(ty, &value).expect("a tensor of rank 0");
        (name, tensor, DenseTensor { shape: Vec::new(), values: vec![value] })
    });
    EngineCase { plan: lifted.plan, inputs: case.inputs.into_iter().chain(constants).collect(), ..case }
}

/// Returns the seeds that the environment variable `REDPOLL_SEEDS` requests, as `LOW..HIGH`.
pub fn requested_seeds() -> Option<Range<u64>> {
    let number = |n: &str| n.parse::<u64>().expect("REDPOLL_SEEDS is LOW..HIGH");
    let seeds = std::env::var("REDPOLL_SEEDS").ok()?;
    let (low, high) = seeds.split_once("..").expect("REDPOLL_SEEDS is LOW..HIGH");
    Some(number(low)..number(high))
}

/// Returns the seeds whose kernels are checked in the optimizing tier: a range that begins with the
/// first of the given seeds. The environment variable `REDPOLL_OPTIMIZED` sets the number of these
/// seeds. Without the variable, the range has all seeds if `REDPOLL_SEEDS` is set, and
/// `default_count` seeds otherwise.
pub fn optimized_seeds(seeds: &Range<u64>, default_count: u64) -> Range<u64> {
    let count = match std::env::var("REDPOLL_OPTIMIZED") {
        Ok(count) => count.parse().expect("REDPOLL_OPTIMIZED is a number of seeds"),
        Err(_) if requested_seeds().is_some() => u64::MAX,
        Err(_) => default_count,
    };
    seeds.start..seeds.start.saturating_add(count)
}

/// Returns whether an error is the optimizer's rejection of a scan by an operator without identity.
pub fn is_rejected(error: &str) -> bool {
    error.contains("no identity") && error.contains("scan")
}

/// The outcome of a case.
pub enum PlanOutcome {
    Passed(CaseReport),
    /// The optimizer rejects a scan by an operator without identity.
    Rejected,
    Failed(PhaseFailure),
}

/// Runs the plain plan of a case in all engines, with some walks turned into gallops. Then runs a
/// plan that is drawn from the rewritten plans, if it differs from the plain plan. Calls `covered`
/// with the name of each construct that the plain plan contains, and with `rewritten` if the second
/// plan ran.
pub fn run(seed: u64, case: &EngineCase, mut covered: impl FnMut(String)) -> PlanOutcome {
    let plain = match plain_plan(case) {
        Ok(plain) => plain,
        Err(f) if is_rejected(&f.message) => return PlanOutcome::Rejected,
        Err(f) => return PlanOutcome::Failed(f),
    };
    let physical = walks_to_gallops(seed, plain.clone(), case, &mut covered);
    let checked = interpret_case(case).and_then(|expected| {
        let report = check_plan(case, &physical, &expected)?;
        // The rewritten plan is drawn, because on such small data the cheapest plan seldom differs
        // from the plain plan.
        Ok((report, check_rewritten(case, &draw_plan(case, seed)?, &plain, &expected)?))
    });
    match checked {
        Ok((report, rewritten)) => {
            if rewritten {
                covered("rewritten".to_owned());
            }
            PlanOutcome::Passed(report)
        }
        Err(f) => PlanOutcome::Failed(f),
    }
}

/// Turns some walks of levels that list their coordinates into gallops. Reports the formats and
/// protocols of the plan, and empty inputs, to `covered`.
fn walks_to_gallops(
    seed: u64,
    mut physical: PhysicalPlan,
    case: &EngineCase,
    covered: &mut impl FnMut(String),
) -> PhysicalPlan {
    let mut rng = Rng::new(seed ^ 0x9a11);
    let mut levels: HashMap<String, Vec<LevelFormat>> = HashMap::new();
    for (name, ty) in &physical.inputs {
        levels.insert(name.to_string(), ty.format.levels.clone());
        cover_type(ty, covered);
    }
    for output in physical.queries.iter().flat_map(|q| &q.outputs) {
        levels.insert(output.alias.to_string(), output.ty.format.levels.clone());
        cover_type(&output.ty, covered);
        for level in &output.ty.format.levels {
            covered(format!("write {}", level_name(*level)));
        }
        if let Some(workspace) = &output.workspace {
            workspace.format.levels.iter().for_each(|l| covered(format!("workspace {}", level_name(*l))));
        }
    }
    let mut visit = |access: &mut Access| {
        for (level, protocol) in levels[access.tensor.as_str()].iter().zip(&mut access.protocols) {
            let lists = matches!(level.kind, LevelKind::SparseList | LevelKind::Singleton | LevelKind::ByteMap);
            if *protocol == Protocol::Walk && lists && rng.chance(30) {
                *protocol = Protocol::Gallop;
            }
            covered(format!("read {}", level_name(*level)));
            covered(format!("protocol {protocol:?}"));
        }
    };
    for query in &mut physical.queries {
        query.temporaries.iter_mut().for_each(|t| visit_temporaries(t, &mut visit));
        for output in &mut query.outputs {
            output.subscripts.iter_mut().for_each(|p| visit_coordinate(p, &mut visit));
            visit_point(&mut output.value, &mut visit);
        }
    }
    for (_, tensor, _) in &case.inputs {
        if tensor.count_stored().unwrap() == 0 {
            covered("case empty tensor".to_owned());
        }
    }
    physical
}

/// Reports the leaf and the storage modes of a type to `covered`.
fn cover_type(ty: &TensorType, covered: &mut impl FnMut(String)) {
    let pairs = if matches!(ty.dtype, DType::Struct(_)) { " of pairs" } else { "" };
    covered(format!("leaf {:?}{pairs}", ty.format.leaf));
    let modes = &ty.format.modes;
    if modes.iter().any(|m| matches!(m, StorageMode::Skew { .. })) {
        covered("modes skewed".to_owned());
    } else if modes.iter().any(|m| !matches!(m, StorageMode::Whole { .. })) {
        covered("modes in blocks".to_owned());
    } else if (0..modes.len()).any(|mode| modes[mode] != StorageMode::Whole { mode }) {
        covered("modes permuted".to_owned());
    }
}

fn level_name(level: LevelFormat) -> String {
    match (level.kind, level.unique) {
        (LevelKind::SparseList, false) => "Coordinates".to_owned(),
        (kind, _) => format!("{kind:?}"),
    }
}

fn visit_temporaries(t: &mut TemporaryNest, visit: &mut impl FnMut(&mut Access)) {
    t.temporaries.iter_mut().for_each(|inner| visit_temporaries(inner, visit));
    t.folds.iter_mut().for_each(|f| visit_point(&mut f.value, visit));
}

fn visit_point(point: &mut ScalarExpr, visit: &mut impl FnMut(&mut Access)) {
    match point {
        ScalarExpr::Access(access) => {
            visit(access);
            access.subscripts.iter_mut().for_each(|p| visit_coordinate(p, visit));
        }
        ScalarExpr::Call(_, args) => args.iter_mut().for_each(|a| visit_point(a, visit)),
        ScalarExpr::Literal(_) | ScalarExpr::Coordinate(_) | ScalarExpr::Temporary(_) => {}
    }
}

fn visit_coordinate(coordinate: &mut StorageCoordinate, visit: &mut impl FnMut(&mut Access)) {
    if let StorageCoordinate::Computed(point) = coordinate {
        visit_point(point, visit);
    }
}

/// Counts the features of a case other than levels and protocols.
pub fn cover(coverage: &mut Coverage, logic_case: &testing::RandomCase, parameters: CaseParameters) {
    coverage.add(logic_case);
    coverage.increment(format!("data {:?}", parameters.data));
    coverage.increment(format!("mode {:?}", parameters.mode));
}

/// Returns the smallest part of a case that fails in the given phase, with its failure. A part is a
/// query for a subexpression and the queries before it; a query that reads none of their results is
/// also tried alone. If no part fails in the phase, returns the whole case. Panics if the whole
/// case does not fail again.
pub fn smallest_failure(seed: u64, case: EngineCase, phase: &str) -> (EngineCase, PhaseFailure) {
    let mut candidates: Vec<(usize, Plan)> = Vec::new();
    for (k, query) in case.plan.queries.iter().enumerate() {
        let mut parts = Vec::new();
        collect_parts(&query.expr, &mut parts);
        for expr in parts {
            let query = Query { alias: query.alias.clone(), expr };
            let size = query.expr.to_string().len() + 1000 * k;
            if query.result_type().is_ok() {
                let queries = case.plan.queries[..k].iter().cloned().chain([query.clone()]).collect();
                candidates.push((size, Plan { queries, produces: vec![query.alias.clone()] }));
            }
            let reads_results =
                case.plan.queries[..k].iter().any(|q| query.expr.to_string().contains(q.alias.as_str()));
            if k > 0 && !reads_results && query.result_type().is_ok() {
                let produces = vec![query.alias.clone()];
                candidates.push((size - 1000 * k, Plan { queries: vec![query], produces }));
            }
        }
    }
    candidates.sort_by_key(|(size, _)| *size);
    let mut case = case;
    let whole_plan = std::mem::replace(&mut case.plan, Plan { queries: Vec::new(), produces: Vec::new() });
    let formats = std::mem::take(&mut case.config.formats);
    for keep_formats in [false, true] {
        for (_, plan) in &candidates {
            let rank = |alias: &Alias| {
                let query = plan.queries.iter().find(|q| q.alias == *alias);
                query.map(|q| q.expr.info().fields.len())
            };
            let fits = |(alias, format): &(&Alias, &Format)| keep_formats && rank(alias) == Some(format.rank());
            case.config.formats = formats.iter().filter(fits).map(|(a, f)| (a.clone(), f.clone())).collect();
            case.plan = plan.clone();
            if let PlanOutcome::Failed(failure) = run(seed, &case, |_| {})
                && failure.phase == phase
            {
                return (case, failure);
            }
        }
    }
    case.config.formats = formats;
    case.plan = whole_plan;
    match run(seed, &case, |_| {}) {
        PlanOutcome::Failed(failure) => (case, failure),
        _ => panic!("seed {seed} does not fail every time"),
    }
}

fn collect_parts(expr: &Expr, parts: &mut Vec<Expr>) {
    expr.node().args().iter().for_each(|arg| collect_parts(arg, parts));
    if !expr.node().args().is_empty() {
        parts.push(expr.clone());
    }
}

/// Returns a case as text: its plan, the inputs that the plan reads, with all their values, and the
/// formats of results.
pub fn describe(case: &EngineCase) -> String {
    let format = |f: &Format| format_to_sexpr(f).to_string();
    let mut lines = vec![format!("{:?}\n{}", case.config.float_mode, case.plan)];
    let text = case.plan.to_string();
    for (name, tensor, dense) in case.inputs.iter().filter(|(name, ..)| text.contains(&format!("{name} "))) {
        let ty = tensor.ty();
        let values: Vec<String> = dense.values.iter().map(ToString::to_string).collect();
        let (shape, dtype, fill) = (&ty.shape, &ty.dtype, &ty.fill);
        lines.push(format!("{name} {shape:?} {dtype} fill {fill} {}: {}", format(&ty.format), values.join(" ")));
    }
    for (name, f) in &case.config.formats {
        lines.push(format!("result {name}: {}", format(f)));
    }
    lines.join("\n")
}
