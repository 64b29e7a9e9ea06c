//! Random programs: chains of operations that take, and sometimes share, results of earlier
//! operations. Plain arithmetic computes the expected results.

use super::draw::{DenseArray, EarlierResult, OperandSource, dense_values, is_exact_in};
use super::{Operation, RecordedChoices, functions, indexing, products, reductions, shapes};
use crate::engines::{PhaseFailure, error_chain, run_phase};
use crate::random::is_rejected;
use redpoll::logic::{DType, FloatMode, Prim};
use redpoll::{Array, Config, Target};
use redpoll_optimizer::{Choice, CostThreshold};

/// The groups of operations in programs. Each entry is equally likely, so a group with several
/// entries is drawn more often.
pub const GROUPS: &[&[Operation]] = &[
    functions::UNARY,
    functions::FLOAT_UNARY,
    functions::BIT_UNARY,
    functions::BINARY,
    functions::BINARY,
    functions::BINARY,
    functions::BINARY_BITS,
    functions::OTHERS,
    reductions::FOLDS,
    reductions::FOLDS,
    reductions::MOMENTS,
    reductions::ARG_EXTREMES,
    reductions::SCANS,
    shapes::SHAPES,
    shapes::SHAPES,
    shapes::JOINS,
    shapes::JOINS,
    shapes::TRIANGLES,
    shapes::NEIGHBOURHOODS,
    shapes::SCATTERS,
    shapes::CONSTANTS,
    indexing::INDEXING,
    indexing::INDEXING,
    products::PRODUCTS,
    products::PRODUCTS,
    products::EINSUMS,
];

/// Operations that round intermediate results, even if their results look exact. [`add_result`]
/// also counts `divide` and `mean` as rounded.
const ROUNDED: &[&[Operation]] = &[functions::FLOAT_UNARY, reductions::MOMENTS];

/// Largest number of elements of a result that becomes an operand.
const MAX_ELEMENTS: usize = 200;
/// Largest number of modes of a result that becomes an operand.
const MAX_MODES: usize = 5;

/// Interpreters that run some small programs, in addition to machine code.
const INTERPRETERS: [Target; 3] = [Target::LOGIC, Target::NOTATION, Target::ASSEMBLY];

/// The outcome of a program.
#[derive(Debug)]
pub enum ArrayOutcome {
    Agrees,
    /// The optimizer rejects a scan by an operator without identity, or a checked operator
    /// overflows at the fill values of its operands.
    Rejected,
    Failed(PhaseFailure),
}

/// A program after its run.
#[derive(Debug)]
pub struct ArrayReport {
    pub outcome: ArrayOutcome,
    /// The operations in order, each with a flag that is set if an operand is an earlier result.
    pub operations: Vec<(&'static str, bool)>,
    /// The program, one line per operation.
    pub text: String,
    /// The choices that determine the program.
    pub choices: Vec<u64>,
    /// Number of choices before each operation.
    pub starts: Vec<usize>,
}

/// The result of one operation.
#[derive(Clone)]
pub(super) struct ProgramStep {
    pub(super) name: String,
    pub(super) array: Array,
    pub(super) dense: DenseArray,
    /// Set when the values of this result are exact and neither its operation nor an earlier
    /// operation rounds.
    pub(super) is_exact: bool,
}

/// A program that is drawn but not run.
pub(super) struct ArrayProgram {
    draw: OperandSource,
    pub(super) steps: Vec<ProgramStep>,
    operations: Vec<(&'static str, bool)>,
    pub(super) text: String,
    starts: Vec<usize>,
    /// The failure of an operation that could not be applied, or whose result does not have the
    /// expected shape.
    pub(super) failure: Option<PhaseFailure>,
}

/// Returns a program as text, without running it.
pub fn program_text(choices: RecordedChoices) -> String {
    draw_program(choices, &mut |_| ()).text
}

/// Draws a program and runs it.
pub fn run(choices: RecordedChoices) -> ArrayReport {
    let ArrayProgram { mut draw, steps, operations, mut text, starts, failure } = draw_program(choices, &mut |_| ());
    let outcome = match failure {
        Some(failure) if overflows_at_fill(&failure.message) => ArrayOutcome::Rejected,
        Some(failure) => ArrayOutcome::Failed(failure),
        None => check(&mut draw, &steps, &mut text),
    };
    let choices = draw.rng.recorded().to_vec();
    text += &format!("\nchoices {choices:?}");
    ArrayReport { outcome, operations, text, choices, starts }
}

/// Returns whether an error says that a checked operator has no value at the fill values of its
/// operands.
fn overflows_at_fill(error: &str) -> bool {
    error.contains("in the fill value of") && error.contains("overflowed")
}

/// Draws a program. `observer` is called after each step, before the next step is drawn.
pub(super) fn draw_program(mut choices: RecordedChoices, observer: &mut dyn FnMut(&ProgramStep)) -> ArrayProgram {
    let (config, text) = draw_config(&mut choices);
    let draw = OperandSource::program(choices, config);
    let mut program =
        ArrayProgram { draw, steps: Vec::new(), operations: Vec::new(), text, starts: Vec::new(), failure: None };
    for number in 0..1 + program.draw.rng.index(7) {
        let ArrayProgram { draw, steps, operations, text, starts, failure } = &mut program;
        starts.push(draw.rng.recorded().len());
        let group = *draw.rng.pick(GROUPS);
        let (name, operation) = *draw.rng.pick(group);
        draw.record.clear();
        let result = run_phase("drawing", || Ok(operation(draw)));
        *text += &format!("\nv{number} = {name}: {}", draw.record.join("; "));
        operations.push((name, draw.record.iter().any(|record| is_result(record))));
        match result.and_then(|(array, dense)| add_result(draw, operations, array, dense)) {
            Ok(step) => {
                observer(&step);
                steps.push(step);
            }
            Err(step_failure) => {
                *failure = Some(step_failure);
                break;
            }
        }
    }
    program
}

/// Returns whether a record is that of an earlier result, such as `v3` or `v3.astype(f32)`.
fn is_result(record: &str) -> bool {
    record.strip_prefix('v').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

/// Draws a configuration of the optimizer; returns it with its description.
fn draw_config(choices: &mut RecordedChoices) -> (Config, String) {
    let mut config = Config::default();
    if choices.chance(25) {
        config.optimizer.float_mode = FloatMode::StrictIeee;
    }
    if choices.chance(50) {
        config.optimizer.rewrite_threshold = CostThreshold(0.0);
        config.optimizer.choice = Choice::Random(choices.below(1000));
    }
    let text = format!("{:?}, {:?}", config.optimizer.float_mode, config.optimizer.choice);
    (config, text)
}

/// Checks the shape of a result and returns its step. If the result is small, its values are exact
/// and its operation is not in [`ROUNDED`], later operations may take the result as an operand.
fn add_result(
    draw: &mut OperandSource,
    operations: &[(&str, bool)],
    array: Array,
    dense: DenseArray,
) -> Result<ProgramStep, PhaseFailure> {
    let number = operations.len() - 1;
    // A mean may be computed as a sum of quotients.
    let divides = |name: &str| name == "divide" || name == "mean";
    let is_rounded =
        |name: &str| ROUNDED.iter().any(|group| group.iter().any(|(rounded, _)| *rounded == name)) || divides(name);
    let (shape, dtype) = run_phase("array", || {
        let shape = array.shape().map_err(|e| error_chain(&e))?;
        Ok((shape, array.dtype().map_err(|e| error_chain(&e))?))
    })?;
    if shape.iter().map(|n| *n as usize).collect::<Vec<_>>() != dense.shape() {
        return Err(PhaseFailure {
            phase: "shape",
            message: format!("v{number} is {shape:?}, expected {:?}", dense.shape()),
        });
    }
    let name = format!("v{number}");
    let prim = dtype.prim();
    let is_operand_candidate = !is_rounded(operations[number].0) || divides(operations[number].0);
    let has_exact_values =
        is_operand_candidate && prim.is_some_and(|prim| dense.iter().all(|v| is_exact_in(*v, prim, false)));
    if let (DType::Prim(prim), true) =
        (dtype, has_exact_values && dense.len() <= MAX_ELEMENTS && dense.ndim() <= MAX_MODES)
    {
        draw.add_result(EarlierResult { name: name.clone(), array: array.clone(), dense: dense.clone(), prim });
    }
    let is_exact = has_exact_values && !operations.iter().any(|(name, _)| is_rounded(name));
    Ok(ProgramStep { name, array, dense, is_exact })
}

/// Computes the last result and some other results together, and compares all of them with the
/// expected results. If the last result is small, some interpreters compute this result again.
fn check(draw: &mut OperandSource, steps: &[ProgramStep], text: &mut String) -> ArrayOutcome {
    let requested: Vec<&ProgramStep> =
        steps.iter().enumerate().filter(|(k, _)| k + 1 == steps.len() || draw.rng.chance(25)).map(|(_, s)| s).collect();
    let names: Vec<&str> = requested.iter().map(|step| step.name.as_str()).collect();
    *text += &format!("\ncollect {}", names.join(", "));
    let compared = run_phase("target", || {
        draw.session.collect_all(requested.iter().map(|step| &step.array)).map_err(|e| error_chain(&e))
    });
    let compared = compared.and_then(|tensors| {
        requested.iter().zip(&tensors).try_for_each(|(step, tensor)| compare("values", step, &dense_values(tensor)))
    });
    let compared = compared.and_then(|()| {
        let last = steps.last().expect("a program has an operation");
        for target in INTERPRETERS {
            if last.dense.len() <= 40 && draw.rng.chance(15) {
                let found = run_phase("interpreter", || last.array.collect_with(target).map_err(|e| error_chain(&e)))?;
                compare(target.name(), last, &dense_values(&found))?;
            }
        }
        Ok(())
    });
    match compared {
        Ok(()) => ArrayOutcome::Agrees,
        Err(failure) if is_rejected(&failure.message) => ArrayOutcome::Rejected,
        Err(failure) => ArrayOutcome::Failed(failure),
    }
}

/// Compares a result with the expected result: exactly if the step is exact, otherwise within a
/// tolerance.
pub(super) fn compare(phase: &'static str, step: &ProgramStep, found: &DenseArray) -> Result<(), PhaseFailure> {
    let tolerance = match step.array.dtype().ok().and_then(|dtype| dtype.prim()) {
        _ if step.is_exact => 0.0,
        Some(Prim::F32) => 1e-4,
        _ => 1e-8,
    };
    let near = |x: f64, y: f64| {
        x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0)
    };
    if found.shape() == step.dense.shape() && found.iter().zip(&step.dense).all(|(x, y)| near(*x, *y)) {
        return Ok(());
    }
    Err(PhaseFailure { phase, message: format!("{} is {found}, expected {}", step.name, step.dense) })
}
