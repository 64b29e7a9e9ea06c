//! Random plans over random formats: their physical plans, made without rewriting, pass the
//! verifier and have the results of the Logic plans.
//!
//! Plans join tensors of up to three modes, with folds (also inside maps), index maps, masks,
//! several queries, requested formats and pinned loop orders. One test asserts that enough plans
//! have each feature of [`Coverage`]. Other tests choose loop orders and formats at random, or plan
//! the random cases of the logic crate.

mod common;

use common::{InputSpec, InputSymmetry, compare, filled, input_statistics};
use redpoll_logic::interp::{self, Exactness};
use redpoll_logic::op::Builtin;
use redpoll_logic::physical::interp::InterpError;
use redpoll_logic::physical::verify::verify;
use redpoll_logic::physical::{self, PhysicalPlan, ScalarExpr};
use redpoll_logic::statistics::{NoStatistics, Statistics};
use redpoll_logic::testing::{self, DataKind, random_case};
use redpoll_logic::{Expr, Field, FloatMode, Format, LeafKind, LevelKind, Plan, Query, Scalar, StorageMode};
use redpoll_optimizer::{
    Choice, CostThreshold, OptimizerConfig, Origin, ReorderPolicy, Report, Subject, Subjects, optimize, optimize_plain,
};
use std::collections::BTreeMap;
use std::sync::Arc;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

const FIELDS: [(&str, &[u64]); 4] = [("i", &[4, 5, 1, 3]), ("j", &[5, 3, 6]), ("k", &[3, 4, 0]), ("l", &[4, 2])];

struct Generator {
    random: Random,
    sizes: BTreeMap<Field, u64>,
    inputs: Vec<InputSpec>,
    queries: Vec<Query>,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678);
        random.below(2);
        let sizes = FIELDS.iter().map(|(f, sizes)| (Field::from(*f), random.pick(sizes))).collect();
        Generator { random, sizes, inputs: Vec::new(), queries: Vec::new() }
    }

    fn fields(&mut self, most: usize) -> Vec<Field> {
        let mut all: Vec<Field> = self.sizes.keys().cloned().collect();
        let count = self.random.below(most + 1);
        (0..count).map(|_| all.remove(self.random.below(all.len()))).collect()
    }

    fn format(&mut self, rank: usize) -> Format {
        use LevelKind::{ByteMap, Dense, Hash, SparseList};
        let kinds = |r: &mut Random, from: &[LevelKind]| (0..rank).map(|_| r.pick(from)).collect::<Vec<_>>();
        let format = match self.random.below(6) {
            0 => Format::dense(rank),
            1 if rank > 0 => Format::coo(rank),
            2 if rank == 2 => {
                let block = |r: &mut Random| 1 + r.below(3) as u64;
                return Format::bcsr(block(&mut self.random), block(&mut self.random));
            }
            3 => Format::of_kinds(&kinds(&mut self.random, &[Dense, SparseList, Hash, ByteMap]), LeafKind::Element),
            _ => Format::of_kinds(&kinds(&mut self.random, &[Dense, SparseList]), LeafKind::Element),
        };
        let mut order: Vec<usize> = (0..rank).collect();
        if self.random.chance(30) && rank > 1 {
            order.swap(0, rank - 1);
        }
        format.permuted(&order)
    }

    /// Returns a tensor over some fields, either new or an existing one.
    fn table(&mut self) -> Expr {
        let fields = self.fields(3);
        let shape: Vec<u64> = fields.iter().map(|f| self.sizes[f]).collect();
        let same = |i: &InputSpec| i.ty.shape == shape;
        let matching: Vec<usize> = (0..self.inputs.len()).filter(|&k| same(&self.inputs[k])).collect();
        let k = if !matching.is_empty() && self.random.chance(50) {
            self.random.pick(&matching)
        } else {
            let fill =
                self.random.pick(&[Scalar::I64(0), Scalar::I64(0), Scalar::I64(0), Scalar::F64(0.0), Scalar::I64(3)]);
            let format = self.format(fields.len());
            let mut input = filled(&format!("T{}", self.inputs.len()), &shape, format, fill);
            if let [rows, columns] = shape[..]
                && rows == columns
            {
                input.symmetry = InputSymmetry::WithDiagonal;
            }
            input.stored = self.random.chance(50).then(|| self.random.below(30) as f64);
            self.inputs.push(input);
            self.inputs.len() - 1
        };
        let input = &self.inputs[k];
        Expr::table(input.name.as_str(), Arc::new(input.ty.clone()), fields).unwrap()
    }

    fn earlier(&mut self) -> Option<Expr> {
        if self.queries.is_empty() {
            return None;
        }
        let query = &self.queries[self.random.below(self.queries.len())];
        let ty = query.result_type().ok()?;
        Expr::table(query.alias.clone(), Arc::new(ty), query.expr.info().fields.clone()).ok()
    }

    fn expr(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(15) {
            return match self.random.below(8) {
                0 => Expr::number(Scalar::I64(self.random.below(4) as i64)),
                1 | 2 => self.earlier().unwrap_or_else(|| self.table()),
                _ => self.table(),
            };
        }
        let expr = match self.random.below(13) {
            0..=4 => {
                let op = self.random.pick(&[
                    Builtin::Mul,
                    Builtin::Mul,
                    Builtin::Add,
                    Builtin::Sub,
                    Builtin::Min,
                    Builtin::Max,
                ]);
                let args = [self.expr(depth - 1), self.expr(depth - 1)];
                Expr::mapjoin(op, args)
            }
            5..=7 => self.aggregate(depth),
            8 => self.map(depth),
            9 => self.mask(depth),
            10 => {
                let arg = self.expr(depth - 1);
                Expr::mapjoin(self.random.pick(&[Builtin::Neg, Builtin::Abs, Builtin::Square, Builtin::Sign]), [arg])
            }
            11 => self.twin_folds(depth),
            _ => {
                let arg = self.expr(depth - 1);
                let fields = arg.info().fields.clone();
                let format = self.format(fields.len());
                arg.reformat(format)
            }
        };
        expr.unwrap_or_else(|_| self.table())
    }

    fn aggregate(&mut self, depth: usize) -> Result<Expr, redpoll_logic::Error> {
        let arg = self.expr(depth - 1);
        let all = arg.info().fields.clone();
        let mut fields: Vec<Field> = all.iter().filter(|_| self.random.chance(50)).cloned().collect();
        if self.random.chance(30) {
            fields.reverse();
        }
        let op = self.random.pick(&[Builtin::Add, Builtin::Add, Builtin::Max, Builtin::Min, Builtin::Sub]);
        let init = match (op, self.random.chance(20)) {
            (_, true) => 2,
            (Builtin::Max, _) => i64::MIN,
            (Builtin::Min, _) => i64::MAX,
            _ => 0,
        };
        let init = Scalar::I64(init).cast(arg.info().dtype.prim().unwrap()).unwrap();
        let arg = if self.random.chance(15) {
            let mut order = all.clone();
            order.reverse();
            arg.reorder(order)?
        } else {
            arg
        };
        Expr::aggregate(op, init, arg, fields)
    }

    /// Returns two folds over the same coordinates, joined.
    fn twin_folds(&mut self, depth: usize) -> Result<Expr, redpoll_logic::Error> {
        let arg = self.expr(depth - 1);
        let all = arg.info().fields.clone();
        let fields: Vec<Field> = all.iter().filter(|_| self.random.chance(60)).cloned().collect();
        let zero = Scalar::I64(0).cast(arg.info().dtype.prim().unwrap()).unwrap();
        let sum = Expr::aggregate(Builtin::Add, zero.clone(), arg.clone(), fields.clone())?;
        let squares = Expr::aggregate(Builtin::Add, zero, Expr::mapjoin(Builtin::Square, [arg])?, fields)?;
        Expr::mapjoin(Builtin::Sub, [sum, squares])
    }

    fn map(&mut self, depth: usize) -> Result<Expr, redpoll_logic::Error> {
        let arg = self.expr(depth - 1);
        let Some(field) = arg.info().fields.first().cloned() else { return Ok(arg) };
        let size = self.sizes[&field] as i64;
        let dtype = arg.info().dtype.clone();
        let outside = if self.random.chance(50) {
            arg.info().fill.clone()
        } else {
            Scalar::I64(1).cast(dtype.prim().unwrap()).unwrap()
        };
        match self.random.below(4) {
            0 => arg.offset(field, self.random.below(3) as i64 - 1, outside),
            1 => arg.reverse(field),
            2 => {
                let by = self.random.below(2) as i64;
                arg.permissive(field.clone(), (-by, size - by), outside)
            }
            _ => {
                // Renames `i` to `j` if `i` is the only field and both fields have the same size.
                let fields = arg.info().fields.clone();
                let renamed: Vec<Field> = fields
                    .iter()
                    .map(|f| match f.as_str() {
                        "i" if fields.len() == 1 && self.sizes[&Field::from("j")] == self.sizes[f] => "j".into(),
                        _ => f.clone(),
                    })
                    .collect();
                arg.relabel(renamed)
            }
        }
    }

    fn mask(&mut self, depth: usize) -> Result<Expr, redpoll_logic::Error> {
        let arg = self.expr(depth - 1);
        let fields = arg.info().fields.clone();
        let Some(field) = fields.first().cloned() else { return Ok(arg) };
        let other = match fields.get(1) {
            Some(other) if self.random.chance(50) => Expr::coordinate(other.clone()),
            _ => self.table(),
        };
        let op = self.random.pick(&[Builtin::Eq, Builtin::Eq, Builtin::Lt]);
        let mask = Expr::mapjoin(op, [Expr::coordinate(field), other])?;
        Expr::mapjoin(Builtin::Mul, [mask, arg])
    }

    fn plan(mut self) -> Option<(Plan, Vec<InputSpec>)> {
        let count = 1 + self.random.below(3);
        for k in 0..count {
            let mut expr = match self.queries.last() {
                // A function of the expression of the last query, so that one pass may compute both
                // queries.
                Some(last) if self.random.chance(20) => {
                    Expr::mapjoin(Builtin::Square, [last.expr.clone()]).unwrap_or_else(|_| last.expr.clone())
                }
                _ => self.expr(3),
            };
            if self.random.chance(30) {
                let format = self.format(expr.info().fields.len());
                expr = expr.clone().reformat(format).unwrap_or(expr);
            }
            expr.info().shape()?;
            self.queries.push(Query { alias: format!("Q{k}").as_str().into(), expr });
        }
        let mut produces = vec![self.queries[count - 1].alias.clone()];
        if count > 1 && self.random.chance(50) {
            produces.push(self.queries[0].alias.clone());
        }
        let plan = Plan { queries: self.queries, produces };
        redpoll_logic::verify(&plan).ok()?;
        Some((plan, self.inputs))
    }
}

/// Number of plans with each feature.
#[derive(Default)]
struct Coverage(BTreeMap<&'static str, usize>);

impl Coverage {
    fn count(&mut self, feature: &'static str, seen: bool) {
        *self.0.entry(feature).or_default() += usize::from(seen);
    }

    fn record(&mut self, plan: &PhysicalPlan, report: &Report) {
        let queries = &plan.queries;
        self.count("temporaries", queries.iter().any(|q| !q.temporaries.is_empty()));
        self.count("several folds in a pass", queries.iter().flat_map(|q| &q.temporaries).any(|t| t.folds.len() > 1));
        self.count(
            "nested temporaries",
            queries.iter().flat_map(|q| &q.temporaries).any(|t| !t.temporaries.is_empty()),
        );
        self.count("several outputs", queries.iter().any(|q| q.outputs.len() > 1));
        let outputs = || queries.iter().flat_map(|q| &q.outputs);
        self.count("workspaces", outputs().any(|o| o.workspace.is_some()));
        self.count("workspaces of a fiber", outputs().any(|o| o.workspace.as_ref().is_some_and(|w| w.depth > 0)));
        self.count("folds into an output", outputs().any(|o| o.fold.is_some()));
        let sparse = |f: &Format| f.levels.iter().any(|l| l.kind != LevelKind::Dense);
        self.count("sparse outputs", outputs().any(|o| sparse(&o.ty.format)));
        let blocked = |f: &Format| f.modes.iter().any(|m| matches!(m, StorageMode::Outer { .. }));
        self.count("blocked outputs", outputs().any(|o| blocked(&o.ty.format)));
        let text = plan.to_string();
        self.count("gathers and scatters", text.contains("(value "));
        self.count("reads out of bounds", text.contains("(outside "));
        self.count("follows", text.contains("(follow "));
        self.count("guards", queries.iter().flat_map(|q| &q.outputs).any(|o| has_guard(&o.value)));
        self.count("copies", report.decisions.iter().any(|d| d.origin == Origin::Copy));
        self.count("stored folds", report.decisions.iter().any(|d| d.origin == Origin::StoredFold));
        self.count("splits", text.contains(".o "));
    }
}

fn has_guard(point: &ScalarExpr) -> bool {
    match point {
        ScalarExpr::Call(op, args) => op.name() == "ifelse" || args.iter().any(has_guard),
        _ => false,
    }
}

fn run(seeds: std::ops::Range<u64>, mode: FloatMode, coverage: &mut Coverage) -> usize {
    let mut done = 0;
    for seed in seeds {
        let Some((plan, inputs)) = Generator::new(seed).plan() else { continue };
        let reorder_policy = if seed % 2 == 0 { ReorderPolicy::Pin } else { ReorderPolicy::Ignore };
        let config = OptimizerConfig { float_mode: mode, reorder_policy, ..OptimizerConfig::default() };
        match optimize_plain(&plan, &Statistics::new(&input_statistics(&inputs)), &config) {
            Ok((physical, report)) => {
                compare(&plan, &physical, &inputs, mode);
                coverage.record(&physical, &report);
                done += 1;
            }
            // Two reorders of one query may pin orders that contradict each other.
            Err(redpoll_optimizer::Error::NoLoopOrder { .. }) if reorder_policy == ReorderPolicy::Pin => {}
            Err(e) => panic!("seed {seed}: {e}\n{plan:?}"),
        }
    }
    done
}

#[test]
fn random_plans_keep_their_meaning() {
    let mut coverage = Coverage::default();
    let done = run(0..1500, FloatMode::Relaxed, &mut coverage);
    assert!(done > 1200, "{done}");
    let rare: Vec<_> = coverage.0.iter().filter(|(_, n)| **n < 20).collect();
    assert!(rare.is_empty(), "{rare:?} of {:?}", coverage.0);
}

#[test]
fn random_plans_keep_their_meaning_in_the_strict_mode() {
    let done = run(10_000..10_300, FloatMode::StrictIeee, &mut Coverage::default());
    assert!(done > 200, "{done}");
}

/// Loop orders and formats chosen together preserve the results.
#[test]
fn random_layouts_keep_the_meaning_of_plans() {
    let (mut done, mut laid_out, mut converted) = (0, 0, 0);
    for seed in 50_000..50_600 {
        let Some((plan, inputs)) = Generator::new(seed).plan() else { continue };
        let reorder_policy = if seed % 2 == 0 { ReorderPolicy::Pin } else { ReorderPolicy::Ignore };
        let subjects = Subjects::none().with(Subject::Layout);
        let choice = Choice::Random(seed);
        let config = OptimizerConfig {
            reorder_policy,
            subjects,
            choice,
            rewrite_threshold: CostThreshold(0.0),
            ..OptimizerConfig::default()
        };
        let (physical, report) = match optimize(&plan, &Statistics::new(&input_statistics(&inputs)), &config) {
            Ok(planned) => planned,
            Err(redpoll_optimizer::Error::NoLoopOrder { .. }) if reorder_policy == ReorderPolicy::Pin => continue,
            Err(e) => panic!("seed {seed}: {e}\n{plan:?}"),
        };
        compare(&plan, &physical, &inputs, FloatMode::Relaxed);
        done += 1;
        laid_out += usize::from(report.phases.iter().any(|phase| phase.name == "layout"));
        converted += usize::from(report.decisions.iter().any(|decision| decision.origin == Origin::Copy));
    }
    assert!(done > 400 && laid_out > done / 2 && converted > 50, "{laid_out} and {converted} of {done}");
}

/// Runs the random cases of the logic crate: all operators, dtypes, fills, scans and user-defined
/// operators.
fn run_cases(seeds: std::ops::Range<u64>, data: DataKind, mode: FloatMode) {
    let (mut done, mut rejected, mut faulted) = (0, 0, 0);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let case = random_case(seed, &testing::CaseConfig { data, ..testing::CaseConfig::default() });
        let tensors = case.dense_inputs();
        let Ok(expected) = interp::interpret(&case.plan, &tensors, mode) else { continue };
        let config =
            OptimizerConfig { float_mode: mode, reorder_policy: ReorderPolicy::Ignore, ..OptimizerConfig::default() };
        let physical = match optimize_plain(&case.plan, &Statistics::new(&NoStatistics), &config) {
            Ok((physical, _)) => physical,
            // In strict mode, `choose` of floats has no identity.
            Err(redpoll_optimizer::Error::ScanWithoutIdentity { .. }) => {
                rejected += 1;
                continue;
            }
            Err(e) => panic!("seed {seed}: {e}\n{}", case.plan),
        };
        verify(&physical).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}\n{physical}", case.plan));
        let found = match physical::interp::interpret(&physical, &tensors, mode) {
            Ok(found) => found,
            Err(InterpError::Fault(_)) if expected.values().any(|e| e.may_fault) => {
                faulted += 1;
                continue;
            }
            Err(e) => panic!("seed {seed}: {e}\n{}\n{physical}", case.plan),
        };
        for alias in &case.plan.produces {
            let compared = expected[alias].compare(&found[alias].values, Exactness::Bounded);
            compared.unwrap_or_else(|e| panic!("seed {seed}, {alias}: {e}\n{}\n{physical}", case.plan));
        }
        done += 1;
    }
    assert!(done > count / 2 && rejected * 10 < count, "{done} done and {rejected} rejected of {count}");
    assert!(faulted * 100 <= count, "{faulted} of {count} optimized plans fault");
}

#[test]
fn random_cases_of_exact_data() {
    run_cases(0..500, DataKind::Exact, FloatMode::Relaxed);
}

#[test]
fn random_cases_of_general_data() {
    run_cases(10_000..10_200, DataKind::General, FloatMode::Relaxed);
}

#[test]
fn random_cases_of_special_data() {
    run_cases(20_000..20_200, DataKind::Special, FloatMode::Relaxed);
}

#[test]
fn random_cases_in_the_strict_mode() {
    run_cases(30_000..30_200, DataKind::Special, FloatMode::StrictIeee);
}
