//! Random programs: chains of operations that take, and sometimes share, results of earlier
//! operations. Plain arithmetic computes the expected results.

use super::draw::{Dense, Draw, Node, is_tame, numbers};
use super::{Choices, Operation, functions, indexing, products, reductions, shapes};
use crate::engines::{Failure, chain, phase};
use crate::random::is_refused;
use redpoll::logic::{DType, FloatMode, Prim};
use redpoll::{Array, Config, Engine};
use redpoll_optimizer::{Choice, Worth};

/// The groups of operations in programs. Each group is equally likely.
pub const GROUPS: &[&[Operation]] = &[
    functions::UNARY,
    functions::OF_FLOATS,
    functions::OF_BITS,
    functions::BINARY,
    functions::BINARY,
    functions::BINARY,
    functions::BINARY_BITS,
    functions::OTHERS,
    reductions::FOLDS,
    reductions::FOLDS,
    reductions::MOMENTS,
    reductions::PLACES,
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

/// Operations whose intermediate results are rounded, even if their values look exact. The code
/// adds `divide` by name.
const ROUNDED: &[&[Operation]] = &[functions::OF_FLOATS, reductions::MOMENTS];

/// Largest number of elements of a result that becomes an operand. `MOST_MODES` limits its modes.
const MOST_PLACES: usize = 200;
const MOST_MODES: usize = 5;

/// Interpreters that run small programs, in addition to machine code.
const INTERPRETERS: [Engine; 3] = [Engine::LogicInterpreter, Engine::NotationInterpreter, Engine::AssemblyInterpreter];

/// The outcome of a program.
#[derive(Debug)]
pub enum Outcome {
    Agrees,
    /// The optimizer refuses a scan by an operator without identity.
    Refused,
    Failed(Failure),
}

/// A program after its run.
#[derive(Debug)]
pub struct Checked {
    pub outcome: Outcome,
    /// The operations in order. The flag is set if an operand is an earlier result.
    pub operations: Vec<(&'static str, bool)>,
    /// The program, one line per operation.
    pub text: String,
    /// The choices that determine the program.
    pub choices: Vec<u64>,
    /// Number of choices before each operation.
    pub starts: Vec<usize>,
}

/// The result of one operation.
struct Step {
    name: String,
    array: Array,
    dense: Dense,
    /// Set when the values of this and all earlier results are exact.
    is_exact: bool,
}

/// A program that is drawn but not run.
struct Drawn {
    draw: Draw,
    steps: Vec<Step>,
    operations: Vec<(&'static str, bool)>,
    text: String,
    starts: Vec<usize>,
    /// The failure of an operation that could not be applied.
    failure: Option<Failure>,
}

/// Returns a program as text, without running it.
pub fn text(choices: Choices) -> String {
    drawn(choices).text
}

/// Draws a program and runs it.
pub fn run(choices: Choices) -> Checked {
    let Drawn { mut draw, steps, operations, mut text, starts, failure } = drawn(choices);
    let outcome = match failure {
        Some(failure) => Outcome::Failed(failure),
        None => check(&mut draw, &steps, &mut text),
    };
    let choices = draw.rng.taken().to_vec();
    text += &format!("\nchoices {choices:?}");
    Checked { outcome, operations, text, choices, starts }
}

fn drawn(mut choices: Choices) -> Drawn {
    let (config, text) = config(&mut choices);
    let draw = Draw::program(choices, config);
    let mut drawn = Drawn { draw, steps: Vec::new(), operations: Vec::new(), text, starts: Vec::new(), failure: None };
    for number in 0..1 + drawn.draw.rng.index(7) {
        let Drawn { draw, steps, operations, text, starts, failure } = &mut drawn;
        starts.push(draw.rng.taken().len());
        let group = *draw.rng.pick(GROUPS);
        let (name, operation) = *draw.rng.pick(group);
        draw.record.clear();
        let result = phase("drawing", || Ok(operation(draw)));
        *text += &format!("\nv{number} = {name}: {}", draw.record.join("; "));
        operations.push((name, draw.record.iter().any(|r| r.starts_with('v'))));
        match result.and_then(|(array, dense)| add(draw, operations, array, dense)) {
            Ok(step) => steps.push(step),
            Err(failed) => {
                *failure = Some(failed);
                break;
            }
        }
    }
    drawn
}

/// Draws a configuration of the optimizer; returns it with its description.
fn config(choices: &mut Choices) -> (Config, String) {
    let mut config = Config::default();
    if choices.chance(25) {
        config.optimizer.float_mode = FloatMode::StrictIeee;
    }
    if choices.chance(50) {
        config.optimizer.worth = Worth(0.0);
        config.optimizer.choice = Choice::Drawn(choices.below(1000));
    }
    let text = format!("{:?}, {:?}", config.optimizer.float_mode, config.optimizer.choice);
    (config, text)
}

/// Checks the shape of a result and adds the result. Later operations may take small results with
/// exact values as operands.
fn add(draw: &mut Draw, operations: &[(&str, bool)], array: Array, dense: Dense) -> Result<Step, Failure> {
    let number = operations.len() - 1;
    let is_rounded =
        |name: &str| ROUNDED.iter().any(|group| group.iter().any(|(rounded, _)| *rounded == name)) || name == "divide";
    let (shape, dtype) = phase("array", || {
        let shape = array.shape().map_err(|e| chain(&e))?;
        Ok((shape, array.dtype().map_err(|e| chain(&e))?))
    })?;
    if shape.iter().map(|n| *n as usize).collect::<Vec<_>>() != dense.shape() {
        return Err(Failure { phase: "shape", what: format!("v{number} is {shape:?}, expected {:?}", dense.shape()) });
    }
    let name = format!("v{number}");
    let prim = dtype.prim();
    let is_kept = !is_rounded(operations[number].0) || operations[number].0 == "divide";
    let is_tame = is_kept && prim.is_some_and(|prim| dense.iter().all(|v| is_tame(*v, prim, false)));
    if let (DType::Prim(prim), true) = (dtype, is_tame && dense.len() <= MOST_PLACES && dense.ndim() <= MOST_MODES) {
        draw.keep(Node { name: name.clone(), array: array.clone(), dense: dense.clone(), prim });
    }
    let is_exact = is_tame && !operations.iter().any(|(name, _)| is_rounded(name));
    Ok(Step { name, array, dense, is_exact })
}

/// Computes the last result and some others together, and compares them with the expected ones.
fn check(draw: &mut Draw, steps: &[Step], text: &mut String) -> Outcome {
    let asked: Vec<&Step> =
        steps.iter().enumerate().filter(|(k, _)| k + 1 == steps.len() || draw.rng.chance(25)).map(|(_, s)| s).collect();
    let names: Vec<&str> = asked.iter().map(|step| step.name.as_str()).collect();
    *text += &format!("\ncollect {}", names.join(", "));
    let compared =
        phase("engine", || draw.session.collect_all(asked.iter().map(|step| &step.array)).map_err(|e| chain(&e)));
    let compared = compared.and_then(|tensors| {
        asked.iter().zip(&tensors).try_for_each(|(step, tensor)| compare("values", step, &numbers(tensor)))
    });
    let compared = compared.and_then(|()| {
        let last = steps.last().expect("a program has an operation");
        for engine in INTERPRETERS {
            if last.dense.len() <= 40 && draw.rng.chance(15) {
                let found = phase("interpreter", || last.array.collect_with(engine).map_err(|e| chain(&e)))?;
                compare(engine.name(), last, &numbers(&found))?;
            }
        }
        Ok(())
    });
    match compared {
        Ok(()) => Outcome::Agrees,
        Err(failure) if is_refused(&failure.what) => Outcome::Refused,
        Err(failure) => Outcome::Failed(failure),
    }
}

/// Compares a result with the expected one: exactly, or within a tolerance if values are rounded.
fn compare(phase: &'static str, step: &Step, found: &Dense) -> Result<(), Failure> {
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
    Err(Failure { phase, what: format!("{} is {found}, expected {}", step.name, step.dense) })
}
