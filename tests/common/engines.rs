//! Runs one plan in every engine and compares the results.
//!
//! The reference interpreter of Logic defines the results. The plain path makes a physical plan,
//! and each of its queries becomes a program, which the interpreter of Notation runs. The program
//! is lowered to Assembly and runs in the bounds-checked interpreter, which counts operations, then
//! as a grid of teams in random order, and as machine code. The outputs of these three must agree
//! bit by bit. The kernels, or a sample of them, are also checked in the optimizing tier, see
//! [`optimizing`].

use crate::optimizing;
use redpoll_logic::interp::{ComparisonCounts, DenseTensor, Exactness, ReferenceResult, interpret};
use redpoll_logic::physical::{Output, PhysicalPlan};
use redpoll_logic::statistics::{NoStatistics, Statistics};
use redpoll_logic::text::{Catalog, parse};
use redpoll_logic::{Alias, FloatMode, Plan, Scalar, TensorType, verify};
use redpoll_optimizer::{Choice, Config, Subjects, Worth, optimize};
use redpoll_physical::assembly::{Counts, Stmt};
use redpoll_physical::grid::ListLengths;
use redpoll_physical::kernel::{Draft, Engine, Kernel};
use redpoll_physical::notation::{self, Program, Role, from_physical, place_of, places_of};
use redpoll_physical::run::{Limits, Workers};
use redpoll_physical::storage::{Tensor, convert};
use std::cell::Cell;
use std::collections::HashMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

/// Iteration limit of kernels, so that one that does not terminate fails.
const MOST_ROUNDS: u64 = 50_000_000;
/// Bounds for the kernels of plans. The plan bounds the length of the code, whatever the formats
/// are.
const OF_PLANS: Bounds = Bounds { chunked: 4, most_statements: 8000, most_optimized: 1000 };

/// A plan with its inputs.
pub struct Case {
    pub plan: Plan,
    /// Every input as stored tensor and as dense values.
    pub inputs: Vec<(Alias, Tensor, DenseTensor)>,
    pub config: Config,
    pub exactness: Exactness,
}

/// An error message, with the phase that failed.
#[derive(Debug)]
pub struct Failure {
    pub phase: &'static str,
    pub what: String,
}

/// Statistics of a case that passed.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub compared: ComparisonCounts,
    pub counts: Counts,
    /// Number of statements of the largest kernel.
    pub largest: usize,
    /// Set when the definition of the plan faults.
    pub faulted: bool,
}

/// Parses and verifies a plan over inputs of the given types.
pub fn parse_plan(text: &str, types: &[(Alias, Arc<TensorType>)]) -> Result<Plan, String> {
    let catalog = types.iter().cloned().collect::<Catalog>();
    let plan = parse(text, &catalog).map_err(|e| e.to_string())?;
    verify(&plan).map_err(|e| e.to_string())?;
    Ok(plan)
}

/// Runs the plain and the rewritten plan of a case in all engines and compares the results. A panic
/// in a phase is a failure of that phase.
pub fn check(case: &Case) -> Result<Report, Failure> {
    let expected = define(case)?;
    let plain = plain_plan(case)?;
    let report = check_plan(case, &plain, &expected)?;
    check_rewritten(case, &plan(case)?, &plain, &expected)?;
    Ok(report)
}

/// Checks a rewritten plan of a case if it differs from the plain one; returns whether it does.
pub fn check_rewritten(
    case: &Case,
    rewritten: &PhysicalPlan,
    plain: &PhysicalPlan,
    expected: &Expected,
) -> Result<bool, Failure> {
    if rewritten == plain {
        return Ok(false);
    }
    check_plan(case, rewritten, expected).map_err(|f| Failure { what: format!("rewritten: {}", f.what), ..f })?;
    Ok(true)
}

/// The results of the definition, or the error with which it faults.
pub type Expected = Result<HashMap<Alias, ReferenceResult>, redpoll_logic::Error>;

/// Runs a physical plan of a case in all engines and compares the results with the expected ones.
pub fn check_plan(case: &Case, physical: &PhysicalPlan, expected: &Expected) -> Result<Report, Failure> {
    match expected {
        Ok(expected) => agree(case, physical, expected),
        // A checked operator overflows. An engine that does not need the value may succeed.
        Err(_) => match run(physical, case) {
            Err(f) if !f.what.to_lowercase().contains("overflow") => Err(f),
            _ => Ok(Report { faulted: true, ..Report::default() }),
        },
    }
}

/// Runs a case in the reference interpreter.
pub fn define(case: &Case) -> Result<Expected, Failure> {
    let inputs = case.inputs.iter().map(|(a, _, d)| (a.clone(), d.clone())).collect();
    phase("logic", || Ok(interpret(&case.plan, &inputs, case.config.float_mode)))
}

/// Returns the physical plan of a case, rewritten even if its data are small.
pub fn plan(case: &Case) -> Result<PhysicalPlan, Failure> {
    planned(case, &Config { worth: Worth(0.0), ..case.config.clone() })
}

/// Returns a physical plan of a case, drawn from those that the rules find.
pub fn drawn_plan(case: &Case, seed: u64) -> Result<PhysicalPlan, Failure> {
    planned(case, &Config { worth: Worth(0.0), choice: Choice::Drawn(seed), ..case.config.clone() })
}

/// Returns the physical plan of a case without rewrites of its values.
pub fn plain_plan(case: &Case) -> Result<PhysicalPlan, Failure> {
    planned(case, &Config { subjects: Subjects::none(), ..case.config.clone() })
}

fn planned(case: &Case, config: &Config) -> Result<PhysicalPlan, Failure> {
    phase("optimizer", || {
        let (physical, _) = optimize(&case.plan, &Statistics::new(&NoStatistics), config).map_err(|e| e.to_string())?;
        Ok(physical)
    })
}

fn agree(case: &Case, physical: &PhysicalPlan, expected: &HashMap<Alias, ReferenceResult>) -> Result<Report, Failure> {
    let run = run(physical, case)?;
    let mut report = Report { counts: run.counts, largest: run.largest, ..Report::default() };
    for alias in &case.plan.produces {
        let expected = &expected[alias];
        let mut compare = |phase: &'static str, found: &[Scalar]| {
            let compared = expected
                .compare(found, case.exactness)
                .map_err(|e| Failure { phase, what: format!("`{alias}` {e}\n{physical}") })?;
            report.compared.equal += compared.equal;
            report.compared.skipped += compared.skipped;
            Ok::<(), Failure>(())
        };
        compare("notation", &run.notation[alias])?;
        let tensor = &run.assembly[alias];
        let dense = |t: &Tensor| t.to_dense_scalars().map_err(|e| Failure { phase: "storage", what: e.to_string() });
        compare("assembly", &dense(tensor)?)?;
        compare("schedule of grids", &dense(&run.grids[alias])?)?;
        if tensor.ty().fill.dtype() != expected.dtype || tensor.ty().shape != expected.shape {
            let (ty, shape) = (tensor.ty(), &expected.shape);
            return Err(Failure { phase: "types", what: format!("`{alias}` is {ty:?}, expected {shape:?}") });
        }
    }
    Ok(report)
}

/// The results of all queries, by engine.
#[derive(Default)]
pub struct Run {
    pub notation: HashMap<Alias, Vec<Scalar>>,
    pub assembly: HashMap<Alias, Tensor>,
    /// Results of grids in the schedule chosen for the inputs: with lanes along lists, and rounds
    /// in sections.
    pub grids: HashMap<Alias, Tensor>,
    pub counts: Counts,
    pub largest: usize,
}

/// Runs every query of a physical plan in the interpreter of Notation, and as a kernel in all
/// engines.
pub fn run(physical: &PhysicalPlan, case: &Case) -> Result<Run, Failure> {
    let mut types: HashMap<Alias, Arc<TensorType>> = physical.inputs.iter().cloned().collect();
    let mut run = Run::default();
    for (alias, tensor, dense) in &case.inputs {
        run.notation.insert(alias.clone(), dense.values.clone());
        run.assembly.insert(alias.clone(), tensor.clone());
        run.grids.insert(alias.clone(), tensor.clone());
    }
    for query in &physical.queries {
        let at = |f: Failure| Failure { what: format!("{}\n{physical}", f.what), ..f };
        let program = phase("translation", || {
            let program = from_physical(query, &types).map_err(|e| e.to_string())?;
            notation::normalize(program).map_err(|e| e.to_string())
        });
        let program = Arc::new(program.map_err(at)?);
        interpret_notation(&program, case.config.float_mode, &mut run).map_err(at)?;
        run_kernel(&program, case.config.float_mode, OF_PLANS, &mut run).map_err(at)?;
        if let Some(source) = query.conversion_source(|t| types.get(t).map(AsRef::as_ref)) {
            phase("conversion", || compare_conversion(&run.assembly, source, &query.outputs[0])).map_err(at)?;
        }
        types.extend(query.outputs.iter().map(|o| (o.alias.clone(), o.ty.clone())));
    }
    Ok(run)
}

/// Runs a program in the interpreter of Notation, in a float mode.
pub fn interpret_notation(program: &Program, mode: FloatMode, run: &mut Run) -> Result<(), Failure> {
    let outputs = phase("notation", || {
        let of = |role: Role| program.tensors.iter().filter(move |t| t.role == role);
        let inputs = of(Role::Input).map(|t| {
            let dense = &run.notation[t.name.as_str()];
            let at = |place: &[u64]| place.iter().zip(&t.ty.shape).fold(0, |at, (i, n)| at * n + i) as usize;
            (t.name.clone(), places_of(&t.ty, &mut |place| dense[at(place)].clone()))
        });
        let outputs =
            notation::run_in(program, &inputs.collect(), notation::Limits::default(), mode).map_err(|e| chain(&e))?;
        let dense = of(Role::Output).map(|t| {
            let found = &outputs[&t.name];
            let dense = places(&t.ty.shape).map(|place| found[place_of(&t.ty, &place)].clone()).collect();
            (Alias::from(t.name.as_str()), dense)
        });
        Ok(dense.collect::<Vec<(Alias, Vec<Scalar>)>>())
    })?;
    run.notation.extend(outputs);
    Ok(())
}

/// Returns all coordinates of a shape, row-major.
fn places(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let count: u64 = shape.iter().product();
    (0..count).map(move |mut at| {
        let mut place = vec![0; shape.len()];
        for (c, n) in place.iter_mut().zip(shape).rev() {
            (*c, at) = (at % n, at / n);
        }
        place
    })
}

/// Returns limits with workers that cut every loop into chunks, or the default limits.
fn limits(chunked: bool, threads: usize) -> Limits {
    static WORKERS: LazyLock<[Arc<Workers>; 3]> =
        LazyLock::new(|| [1, 2, 3].map(|n| Arc::new(Workers::new(NonZero::new(n).expect("not 0")).cutting_all())));
    if chunked { Limits::default().on(&WORKERS[threads - 1]) } else { Limits::default() }
}

/// Bounds on the kernels of a case, and the selection of those that run in chunks.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Kernels whose number of statements is a multiple of this run in chunks.
    pub chunked: usize,
    /// Largest number of statements of a kernel.
    pub most_statements: usize,
    /// Largest number of statements of a kernel in the optimizing tier. The C compiler takes
    /// seconds for thousands of statements.
    pub most_optimized: usize,
}

/// Runs a program in normal form in the interpreter of Assembly, as machine code and on grids; adds
/// the results to `run`.
pub fn run_kernel(program: &Arc<Program>, mode: FloatMode, bounds: Bounds, run: &mut Run) -> Result<(), Failure> {
    let Bounds { chunked, most_statements, most_optimized } = bounds;
    let of = |role: Role| program.tensors.iter().filter(move |t| t.role == role);
    let inputs: Vec<&Tensor> = of(Role::Input).map(|t| &run.assembly[t.name.as_str()]).collect();
    let draft = Draft::new(program, &Kernel::layouts(program, &inputs), mode);
    let made = |draft: &Draft, engine: Engine| Kernel::of(draft, engine).map_err(|e| chain(&e));
    let interpreter = phase("lowering", || Ok(made(&draft, Engine::Interpreter)?.with_iteration_limit(MOST_ROUNDS)))?;
    let statements: usize = interpreter.function().body.iter().map(Stmt::count).sum();
    let chunked = statements.is_multiple_of(chunked);
    // Every call of a chunked kernel uses another number of threads.
    let threads = Cell::new(0);
    let called = |kernel: &Kernel| {
        threads.set(threads.get() + 1);
        kernel.run(&inputs, &limits(chunked, threads.get())).map_err(|e| chain(&e))
    };
    if statements > most_statements {
        let what = format!("{statements} statements\n{}", notation::print(program));
        return Err(Failure { phase: "code size", what });
    }
    let shown = |f: Failure| {
        let (program, function) = (notation::print(program), interpreter.function());
        Failure { what: format!("{}\n{program}\n{function}", f.what), ..f }
    };
    let found = phase("assembly", || {
        let found = called(&interpreter)?;
        for (output, decl) in found.outputs.iter().zip(of(Role::Output)) {
            output.validate().map_err(|e| format!("`{}` is not valid: {}", decl.name, chain(&e)))?;
        }
        Ok(found)
    });
    let found = found.map_err(shown)?;
    // Some long kernels are compiled with low effort, the others with high effort.
    let draft = draft.expecting(if statements.is_multiple_of(2) { 0.0 } else { f64::INFINITY });
    let kernel = phase("compilation", || made(&draft, Engine::Instant)).map_err(shown)?;
    let agrees = |kernel: &Kernel| {
        let outcome = called(kernel)?;
        for ((one, other), decl) in found.outputs.iter().zip(&outcome.outputs).zip(of(Role::Output)) {
            same_arrays(one, other).map_err(|e| format!("`{}`: {e}", decl.name))?;
        }
        Ok(())
    };
    phase("machine code", || agrees(&kernel)).map_err(shown)?;
    phase("grid", || agrees(&made(&draft, Engine::Grid)?.with_iteration_limit(MOST_ROUNDS))).map_err(shown)?;
    let scheduled = phase("schedule of grids", || on_grids(program, mode, &limits(chunked, 2), &run.grids));
    let scheduled = scheduled.map_err(shown)?;
    if statements <= most_optimized {
        phase("optimizing tier", || optimizing::offer(&kernel, (&inputs, &limits(chunked, 3)), &found.outputs))
            .map_err(shown)?;
    }
    let counts = found.counts.expect("the interpreter counts");
    run.counts.iterations += counts.iterations;
    run.counts.loads += counts.loads;
    run.counts.stores += counts.stores;
    run.counts.allocated_bytes += counts.allocated_bytes;
    run.largest = run.largest.max(statements);
    run.grids.extend(of(Role::Output).map(|t| Alias::from(t.name.as_str())).zip(scheduled));
    run.assembly.extend(of(Role::Output).map(|t| Alias::from(t.name.as_str())).zip(found.outputs));
    Ok(())
}

/// Runs a program on grids, in the schedule chosen for its inputs, which differs from that of the
/// other engines.
fn on_grids(
    program: &Arc<Program>,
    mode: FloatMode,
    limits: &Limits,
    tensors: &HashMap<Alias, Tensor>,
) -> Result<Vec<Tensor>, String> {
    let inputs = program.tensors.iter().filter(|t| t.role == Role::Input);
    let inputs: Vec<&Tensor> = inputs.map(|t| &tensors[t.name.as_str()]).collect();
    let lists = ListLengths::of(program, &inputs.iter().map(|t| Some(*t)).collect::<Vec<_>>());
    let draft = Draft::new(program, &Kernel::layouts(program, &inputs), mode).over(lists);
    let kernel = Kernel::of(&draft, Engine::Grid).map_err(|e| chain(&e))?.with_iteration_limit(MOST_ROUNDS);
    Ok(kernel.run(&inputs, limits).map_err(|e| chain(&e))?.outputs)
}

/// Checks that the storage conversion, with which the facade runs a query that only copies, gives
/// the values of the kernel.
fn compare_conversion(tensors: &HashMap<Alias, Tensor>, source: &Alias, output: &Output) -> Result<(), String> {
    let converted = convert(&tensors[source], &output.ty.format).map_err(|e| chain(&e))?;
    converted.validate().map_err(|e| chain(&e))?;
    let dense = |t: &Tensor| t.to_dense_scalars().map_err(|e| chain(&e));
    if dense(&converted)? == dense(&tensors[&output.alias])? {
        return Ok(());
    }
    Err(format!("`{source}` as {} has other values than the kernel gives", output.alias))
}

/// Compares the arrays of two tensors bit by bit; all NaNs are equal.
pub fn same_arrays(one: &Tensor, other: &Tensor) -> Result<(), String> {
    let arrays = |t: &Tensor| t.levels().iter().flatten().chain(t.leaf()).cloned().collect::<Vec<_>>();
    for (k, (a, b)) in arrays(one).iter().zip(&arrays(other)).enumerate() {
        if a.len() != b.len() || a.prim() != b.prim() {
            return Err(format!("array {k} has {} elements after Assembly, {} here", a.len(), b.len()));
        }
        if let Some(at) = (0..a.len()).find(|&at| a.scalar(at) != b.scalar(at)) {
            let (a, b) = (a.scalar(at), b.scalar(at));
            return Err(format!("array {k} at {at} is {a} after Assembly, {b} here"));
        }
    }
    Ok(())
}

/// Returns the message of an error, followed by those of its causes.
pub fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

/// Runs a phase and turns its error or panic into a failure.
pub fn phase<T>(phase: &'static str, f: impl FnOnce() -> Result<T, String>) -> Result<T, Failure> {
    let what = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(what)) => what,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message"))
        }
    };
    Err(Failure { phase, what })
}
