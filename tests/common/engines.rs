//! Runs one plan in every engine and compares the results.
//!
//! The reference interpreter of Logic defines the results. [`check`] makes two physical plans: a
//! plain plan, without rewrites, and a rewritten plan. Each query of a physical plan becomes a
//! program, which the interpreter of Notation runs. The program is lowered to Assembly and runs in
//! three ways: in the bounds-checked interpreter, which counts operations; as machine code; and as
//! a grid of teams in random order. The outputs of these three runs must agree bit by bit; all NaNs
//! are equal. The program also runs as a grid in the schedule chosen for its inputs and, with
//! `REDPOLL_DEVICE=N` in the environment, on CUDA device N. The results of the programs in Notation
//! and in Assembly, and of these two runs, are compared with the reference. Kernels that are not
//! too long are offered to the optimizing tier, which checks all kernels, a sample, or none; see
//! [`optimizing`].

use crate::device::DEVICE_DECLINES;
use crate::optimizing;
use redpoll_compiler::assembly::{Counts, Stmt};
use redpoll_compiler::lower::{Draft, InputLayout, ListLengths};
use redpoll_compiler::notation::{self, Program, Role, dense_values, from_physical, value_index};
use redpoll_devices::launch::{CudaBackend, grid_interpreter};
use redpoll_kernels::backend::{self, Backend};
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::{Limits, Workers};
use redpoll_logic::interp::{ComparisonCounts, DenseTensor, Exactness, ReferenceResult, interpret};
use redpoll_logic::physical::{Output, PhysicalPlan};
use redpoll_logic::statistics::{NoStatistics, Statistics};
use redpoll_logic::text::{Catalog, parse};
use redpoll_logic::{Alias, FloatMode, Plan, Scalar, TensorType, verify};
use redpoll_optimizer::{Choice, CostThreshold, OptimizerConfig, Subjects, optimize};
use redpoll_storage::{Tensor, convert};
use std::cell::Cell;
use std::collections::HashMap;
use std::iter;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

/// Largest number of threads of a kernel that runs in chunks.
const MAX_THREADS: usize = 3;
/// Iteration limit of kernels, so that a kernel that does not terminate fails.
const MAX_ROUNDS: u64 = 50_000_000;
/// The phase of failures on a device.
const DEVICE_PHASE: &str = "device";
/// Largest number of statements of a kernel on a device. The compiler of the device takes seconds
/// for longer kernels.
const MAX_DEVICE_STATEMENTS: usize = 300;
/// Bounds for the kernels of plans. The bounds hold for all formats.
const PLAN_BOUNDS: KernelBounds = KernelBounds { chunk_every: 4, max_statements: 8000, max_optimized_statements: 1000 };

/// A plan with its inputs.
pub struct EngineCase {
    pub plan: Plan,
    /// Every input, as a stored tensor and as dense values.
    pub inputs: Vec<(Alias, Tensor, DenseTensor)>,
    pub config: OptimizerConfig,
    pub exactness: Exactness,
}

/// An error message, with the phase that failed.
#[derive(Debug)]
pub struct PhaseFailure {
    pub phase: &'static str,
    pub message: String,
}

/// Statistics of a case that passed.
#[derive(Clone, Debug, Default)]
pub struct CaseReport {
    pub compared: ComparisonCounts,
    pub counts: Counts,
    /// Number of statements of the largest kernel.
    pub largest: usize,
    /// Set when a checked operator of the plan overflows.
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
pub fn check(case: &EngineCase) -> Result<CaseReport, PhaseFailure> {
    let expected = interpret_case(case)?;
    let plain = plain_plan(case)?;
    let report = check_plan(case, &plain, &expected)?;
    check_rewritten(case, &plan(case)?, &plain, &expected)?;
    Ok(report)
}

/// Checks a rewritten plan of a case if the plan differs from the plain plan; returns whether the
/// two plans differ.
pub fn check_rewritten(
    case: &EngineCase,
    rewritten: &PhysicalPlan,
    plain: &PhysicalPlan,
    expected: &ExpectedResults,
) -> Result<bool, PhaseFailure> {
    if rewritten == plain {
        return Ok(false);
    }
    check_plan(case, rewritten, expected)
        .map_err(|f| PhaseFailure { message: format!("rewritten plan: {}", f.message), ..f })?;
    Ok(true)
}

/// The results of the reference interpreter, or its error.
pub type ExpectedResults = Result<HashMap<Alias, ReferenceResult>, redpoll_logic::Error>;

/// Runs a physical plan of a case in all engines and compares the results with the expected
/// results.
pub fn check_plan(
    case: &EngineCase,
    physical: &PhysicalPlan,
    expected: &ExpectedResults,
) -> Result<CaseReport, PhaseFailure> {
    match expected {
        Ok(expected) => match compare_engines(case, physical, expected) {
            // A checked operator overflows for a value that the definition does not determine.
            Err(f) if is_overflow(&f) && expected.values().any(|result| result.may_fault) => Ok(faulted()),
            report => report,
        },
        // A checked operator overflows in the reference interpreter. An engine that does not need
        // the value may succeed.
        Err(_) => match run(physical, case) {
            Err(f) if !is_overflow(&f) => Err(f),
            _ => Ok(faulted()),
        },
    }
}

fn is_overflow(failure: &PhaseFailure) -> bool {
    failure.message.to_lowercase().contains("overflow")
}

fn faulted() -> CaseReport {
    CaseReport { faulted: true, ..CaseReport::default() }
}

/// Runs a case in the reference interpreter.
pub fn interpret_case(case: &EngineCase) -> Result<ExpectedResults, PhaseFailure> {
    let inputs = case.inputs.iter().map(|(a, _, d)| (a.clone(), d.clone())).collect();
    run_phase("logic", || Ok(interpret(&case.plan, &inputs, case.config.float_mode)))
}

/// Returns the physical plan of a case, rewritten even if its data are small.
pub fn plan(case: &EngineCase) -> Result<PhysicalPlan, PhaseFailure> {
    optimize_case(case, &OptimizerConfig { rewrite_threshold: CostThreshold(0.0), ..case.config.clone() })
}

/// Returns a physical plan of a case, drawn from the plans that the rules find.
pub fn draw_plan(case: &EngineCase, seed: u64) -> Result<PhysicalPlan, PhaseFailure> {
    optimize_case(
        case,
        &OptimizerConfig { rewrite_threshold: CostThreshold(0.0), choice: Choice::Random(seed), ..case.config.clone() },
    )
}

/// Returns the physical plan of a case without rewrites.
pub fn plain_plan(case: &EngineCase) -> Result<PhysicalPlan, PhaseFailure> {
    optimize_case(case, &OptimizerConfig { subjects: Subjects::none(), ..case.config.clone() })
}

fn optimize_case(case: &EngineCase, config: &OptimizerConfig) -> Result<PhysicalPlan, PhaseFailure> {
    run_phase("optimizer", || {
        let (physical, _) = optimize(&case.plan, &Statistics::new(&NoStatistics), config).map_err(|e| e.to_string())?;
        Ok(physical)
    })
}

fn compare_engines(
    case: &EngineCase,
    physical: &PhysicalPlan,
    expected: &HashMap<Alias, ReferenceResult>,
) -> Result<CaseReport, PhaseFailure> {
    let run = run(physical, case)?;
    let mut report = CaseReport { counts: run.counts, largest: run.largest, ..CaseReport::default() };
    for alias in &case.plan.produces {
        let expected = &expected[alias];
        let mut compare = |phase: &'static str, found: &[Scalar]| {
            let compared = expected
                .compare(found, case.exactness)
                .map_err(|e| PhaseFailure { phase, message: format!("`{alias}` {e}\n{physical}") })?;
            report.compared.equal += compared.equal;
            report.compared.skipped += compared.skipped;
            Ok::<(), PhaseFailure>(())
        };
        compare("notation", &run.notation[alias])?;
        let tensor = &run.assembly[alias];
        let dense =
            |t: &Tensor| t.to_dense_scalars().map_err(|e| PhaseFailure { phase: "storage", message: e.to_string() });
        compare("assembly", &dense(tensor)?)?;
        for grids in &run.grids {
            compare(grids.phase, &dense(&grids.tensors[alias])?)?;
        }
        if tensor.ty().fill.dtype() != expected.dtype || tensor.ty().shape != expected.shape {
            let (ty, shape) = (tensor.ty(), &expected.shape);
            return Err(PhaseFailure { phase: "types", message: format!("`{alias}` is {ty:?}, expected {shape:?}") });
        }
    }
    Ok(report)
}

/// The inputs, and the results of all queries that have run, by engine.
pub struct EngineResults {
    pub notation: HashMap<Alias, Vec<Scalar>>,
    pub assembly: HashMap<Alias, Tensor>,
    /// Results of the interpreter of grids, and of the requested device.
    pub grids: Vec<GridResults>,
    pub counts: Counts,
    pub largest: usize,
}

/// Results of one engine that runs grids. The schedule is chosen for the inputs, so lanes may run
/// along lists, and rounds may be cut into sections.
pub struct GridResults {
    /// The phase of failures of this engine.
    pub phase: &'static str,
    pub tensors: HashMap<Alias, Tensor>,
    backend: Arc<dyn Backend>,
}

impl EngineResults {
    /// Creates results that consist of the inputs, each with its name, stored tensor and dense
    /// values.
    pub fn new(inputs: impl IntoIterator<Item = (Alias, Tensor, Vec<Scalar>)>) -> EngineResults {
        let (mut notation, mut assembly) = (HashMap::new(), HashMap::new());
        for (alias, tensor, dense) in inputs {
            notation.insert(alias.clone(), dense);
            assembly.insert(alias, tensor);
        }
        let device = requested_device().map(|device| (DEVICE_PHASE, device));
        let engines = iter::once(("schedule of grids", grid_interpreter())).chain(device);
        let grids = engines.map(|(phase, backend)| GridResults { phase, tensors: assembly.clone(), backend });
        EngineResults { grids: grids.collect(), notation, assembly, counts: Counts::default(), largest: 0 }
    }
}

/// Returns the CUDA device on which kernels also run: the device whose number is in the environment
/// variable `REDPOLL_DEVICE`.
fn requested_device() -> Option<Arc<dyn Backend>> {
    let number = std::env::var("REDPOLL_DEVICE").ok()?;
    let ordinal = number.parse().unwrap_or_else(|_| panic!("REDPOLL_DEVICE is `{number}`, expected a number"));
    Some(Arc::new(CudaBackend::new(ordinal)))
}

/// Runs every query of a physical plan in the interpreter of Notation, and as a kernel in all
/// engines.
pub fn run(physical: &PhysicalPlan, case: &EngineCase) -> Result<EngineResults, PhaseFailure> {
    let mut types: HashMap<Alias, Arc<TensorType>> = physical.inputs.iter().cloned().collect();
    let inputs = case.inputs.iter().map(|(alias, tensor, dense)| (alias.clone(), tensor.clone(), dense.values.clone()));
    let mut run = EngineResults::new(inputs);
    for query in &physical.queries {
        let at = |f: PhaseFailure| PhaseFailure { message: format!("{}\n{physical}", f.message), ..f };
        let program = run_phase("translation", || {
            let program = from_physical(query, &types).map_err(|e| e.to_string())?;
            notation::normalize(program).map_err(|e| e.to_string())
        });
        let program = Arc::new(program.map_err(at)?);
        interpret_notation(&program, case.config.float_mode, &mut run).map_err(at)?;
        run_kernel(&program, case.config.float_mode, PLAN_BOUNDS, &mut run).map_err(at)?;
        if let Some(source) = query.conversion_source(|t| types.get(t).map(AsRef::as_ref)) {
            run_phase("conversion", || compare_conversion(&run.assembly, source, &query.outputs[0])).map_err(at)?;
        }
        types.extend(query.outputs.iter().map(|o| (o.alias.clone(), o.ty.clone())));
    }
    Ok(run)
}

/// Runs a program in the interpreter of Notation, in a float mode.
pub fn interpret_notation(program: &Program, mode: FloatMode, run: &mut EngineResults) -> Result<(), PhaseFailure> {
    let outputs = run_phase("notation", || {
        let of = |role: Role| program.tensors.iter().filter(move |t| t.role == role);
        let inputs = of(Role::Input).map(|t| {
            let dense = &run.notation[t.name.as_str()];
            let at =
                |coordinates: &[u64]| coordinates.iter().zip(&t.ty.shape).fold(0, |at, (i, n)| at * n + i) as usize;
            (t.name.clone(), dense_values(&t.ty, &mut |coordinates| dense[at(coordinates)].clone()))
        });
        let outputs = notation::run_with_mode(program, &inputs.collect(), notation::InterpLimits::default(), mode)
            .map_err(|e| error_chain(&e))?;
        let dense = of(Role::Output).map(|t| {
            let found = &outputs[&t.name];
            let dense = all_coordinates(&t.ty.shape)
                .map(|coordinates| found[value_index(&t.ty, &coordinates)].clone())
                .collect();
            (Alias::from(t.name.as_str()), dense)
        });
        Ok(dense.collect::<Vec<(Alias, Vec<Scalar>)>>())
    })?;
    run.notation.extend(outputs);
    Ok(())
}

/// Returns all coordinates of a shape, row-major.
fn all_coordinates(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let count: u64 = shape.iter().product();
    (0..count).map(move |mut at| {
        let mut coordinates = vec![0; shape.len()];
        for (c, n) in coordinates.iter_mut().zip(shape).rev() {
            (*c, at) = (at % n, at / n);
        }
        coordinates
    })
}

/// Returns the default limits or, if `chunked` is set, limits whose workers cut every loop that can
/// be cut into chunks, and run the chunks on `threads` threads. `threads` is at most
/// [`MAX_THREADS`].
fn limits(chunked: bool, threads: usize) -> Limits {
    static WORKERS: LazyLock<[Arc<Workers>; MAX_THREADS]> =
        LazyLock::new(|| [1, 2, 3].map(|n| Arc::new(Workers::new(NonZero::new(n).expect("not 0")).without_grain())));
    if chunked { Limits::default().with_workers(&WORKERS[threads - 1]) } else { Limits::default() }
}

/// Bounds on the kernels of a case, and the selection of the kernels that run in chunks.
#[derive(Clone, Copy, Debug)]
pub struct KernelBounds {
    /// A divisor: kernels run in chunks if their number of statements is a multiple of this number.
    pub chunk_every: usize,
    /// Largest number of statements of a kernel.
    pub max_statements: usize,
    /// Largest number of statements of a kernel in the optimizing tier. The C compiler takes
    /// seconds for thousands of statements.
    pub max_optimized_statements: usize,
}

/// Runs a program in normal form in the interpreter of Assembly, as machine code and on grids, and
/// adds the results to `run`. Offers kernels that are not too long to the optimizing tier.
pub fn run_kernel(
    program: &Arc<Program>,
    mode: FloatMode,
    bounds: KernelBounds,
    run: &mut EngineResults,
) -> Result<(), PhaseFailure> {
    let KernelBounds { chunk_every, max_statements, max_optimized_statements } = bounds;
    let of = |role: Role| program.tensors.iter().filter(move |t| t.role == role);
    let inputs: Vec<&Tensor> = of(Role::Input).map(|t| &run.assembly[t.name.as_str()]).collect();
    let draft = Draft::new(program, &InputLayout::of_inputs(program, &inputs), mode);
    let compile =
        |draft: &Draft, backend: &Arc<dyn Backend>| Kernel::compile(draft, backend).map_err(|e| error_chain(&e));
    let interpreter =
        run_phase("lowering", || Ok(compile(&draft, &backend::interpreter())?.with_iteration_limit(MAX_ROUNDS)))?;
    let statements: usize = interpreter.function().body.iter().map(Stmt::count).sum();
    let chunked = statements.is_multiple_of(chunk_every);
    // Successive calls of a chunked kernel use different numbers of threads.
    let threads = Cell::new(0);
    let call = |kernel: &Kernel| {
        threads.set(threads.get() % MAX_THREADS + 1);
        kernel.run(&inputs, &limits(chunked, threads.get())).map_err(|e| error_chain(&e))
    };
    if statements > max_statements {
        let message = format!("{statements} statements\n{}", notation::print(program));
        return Err(PhaseFailure { phase: "code size", message });
    }
    let with_code = |f: PhaseFailure| {
        let (program, function) = (notation::print(program), interpreter.function());
        PhaseFailure { message: format!("{}\n{program}\n{function}", f.message), ..f }
    };
    let found = run_phase("assembly", || {
        let found = call(&interpreter)?;
        for (output, decl) in found.outputs.iter().zip(of(Role::Output)) {
            output.validate().map_err(|e| format!("`{}` is not valid: {}", decl.name, error_chain(&e)))?;
        }
        Ok(found)
    });
    let found = found.map_err(with_code)?;
    // Long kernels with an even number of statements are compiled with low effort, all others with
    // high effort.
    let draft = draft.with_expected_steps(if statements.is_multiple_of(2) { 0.0 } else { f64::INFINITY });
    let kernel = run_phase("compilation", || compile(&draft, &backend::instant())).map_err(with_code)?;
    let compare = |kernel: &Kernel| {
        let outcome = call(kernel)?;
        for ((one, other), decl) in found.outputs.iter().zip(&outcome.outputs).zip(of(Role::Output)) {
            compare_arrays(one, other).map_err(|e| format!("`{}`: {e}", decl.name))?;
        }
        Ok(())
    };
    run_phase("machine code", || compare(&kernel)).map_err(with_code)?;
    run_phase("grid", || compare(&compile(&draft, &grid_interpreter())?.with_iteration_limit(MAX_ROUNDS)))
        .map_err(with_code)?;
    let mut scheduled = Vec::new();
    for grids in &run.grids {
        if grids.phase == DEVICE_PHASE && statements > MAX_DEVICE_STATEMENTS {
            scheduled.push(found.outputs.clone());
            continue;
        }
        let results = run_phase(grids.phase, || match run_on_grids(program, mode, &limits(chunked, 2), grids) {
            Err(message) if message.contains(DEVICE_DECLINES) => Ok(found.outputs.clone()),
            results => results,
        });
        scheduled.push(results.map_err(with_code)?);
    }
    if statements <= max_optimized_statements {
        run_phase("optimizing tier", || optimizing::offer(&kernel, (&inputs, &limits(chunked, 3)), &found.outputs))
            .map_err(with_code)?;
    }
    let counts = found.counts.expect("the interpreter counts");
    run.counts.iterations += counts.iterations;
    run.counts.loads += counts.loads;
    run.counts.stores += counts.stores;
    run.counts.allocated_bytes += counts.allocated_bytes;
    run.largest = run.largest.max(statements);
    for (grids, results) in run.grids.iter_mut().zip(scheduled) {
        grids.tensors.extend(of(Role::Output).map(|t| Alias::from(t.name.as_str())).zip(results));
    }
    run.assembly.extend(of(Role::Output).map(|t| Alias::from(t.name.as_str())).zip(found.outputs));
    Ok(())
}

/// Runs a program on grids. The schedule is chosen for the inputs, so it may differ from the
/// schedule of the other engines.
fn run_on_grids(
    program: &Arc<Program>,
    mode: FloatMode,
    limits: &Limits,
    grids: &GridResults,
) -> Result<Vec<Tensor>, String> {
    let inputs = program.tensors.iter().filter(|t| t.role == Role::Input);
    let inputs: Vec<&Tensor> = inputs.map(|t| &grids.tensors[t.name.as_str()]).collect();
    let lists = ListLengths::of(program, &inputs.iter().map(|t| Some(*t)).collect::<Vec<_>>());
    let draft = Draft::new(program, &InputLayout::of_inputs(program, &inputs), mode).with_lists(lists);
    let kernel = Kernel::compile(&draft, &grids.backend).map_err(|e| error_chain(&e))?.with_iteration_limit(MAX_ROUNDS);
    Ok(kernel.run(&inputs, limits).map_err(|e| error_chain(&e))?.outputs)
}

/// Checks that a storage conversion gives the values of the kernel. If a query only copies a
/// tensor, sessions run a storage conversion in place of a kernel.
fn compare_conversion(tensors: &HashMap<Alias, Tensor>, source: &Alias, output: &Output) -> Result<(), String> {
    let converted = convert(&tensors[source], &output.ty.format).map_err(|e| error_chain(&e))?;
    converted.validate().map_err(|e| error_chain(&e))?;
    let dense = |t: &Tensor| t.to_dense_scalars().map_err(|e| error_chain(&e));
    if dense(&converted)? == dense(&tensors[&output.alias])? {
        return Ok(());
    }
    Err(format!("`{source}` as {} differs from the values of the kernel", output.alias))
}

/// Compares the arrays of two tensors bit by bit; all NaNs are equal.
pub fn compare_arrays(one: &Tensor, other: &Tensor) -> Result<(), String> {
    let arrays = |t: &Tensor| t.levels().iter().flatten().chain(t.leaf()).cloned().collect::<Vec<_>>();
    for (k, (a, b)) in arrays(one).iter().zip(&arrays(other)).enumerate() {
        if a.len() != b.len() || a.prim() != b.prim() {
            return Err(format!(
                "array {k} has {} elements in the interpreter of Assembly, {} in this engine",
                a.len(),
                b.len()
            ));
        }
        if let Some(at) = (0..a.len()).find(|&at| a.scalar(at) != b.scalar(at)) {
            let (a, b) = (a.scalar(at), b.scalar(at));
            return Err(format!("array {k} at {at} is {a} in the interpreter of Assembly, {b} in this engine"));
        }
    }
    Ok(())
}

/// Returns the message of an error, followed by the messages of its causes.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain(source)),
        None => error.to_string(),
    }
}

/// Runs a phase and turns its error or panic into a failure.
pub fn run_phase<T>(phase: &'static str, f: impl FnOnce() -> Result<T, String>) -> Result<T, PhaseFailure> {
    let message = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(message)) => message,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message"))
        }
    };
    Err(PhaseFailure { phase, message })
}
