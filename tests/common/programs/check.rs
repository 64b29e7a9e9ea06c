//! Runs a random program in every engine.
//!
//! The interpreter of Notation defines the results: it runs the written program over dense tensors.
//! The normal form of the program, in the drawn formats, then runs in the same interpreter and,
//! lowered, in all engines that [`run_kernel`] compares.

use super::draw::{Case, Refusal, Tensor as Declared, normal_form, stored, written};
use crate::engines::{Bounds, Failure, Run, chain, interpret_notation, phase, run_kernel};
use redpoll_logic::{Alias, Scalar};
use redpoll_physical::assembly::Counts;
use redpoll_physical::notation::{Limits, Program, Role, run_in};
use redpoll_physical::storage::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// Limits of the interpreter for the definition.
const MOST: Limits = Limits { steps: 300_000, places: 100_000 };
/// Bounds for the kernels of programs. Even a few lines over sparse levels may give a long kernel.
const OF_PROGRAMS: Bounds = Bounds { chunked: 2, most_statements: 30_000, most_optimized: 500 };

/// Statistics of a program that passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked {
    /// Number of values that equal those of the definition.
    pub equal: usize,
    /// Number of values of results that differ from the fill value.
    pub stored: usize,
    pub counts: Counts,
    /// Number of statements of the kernel.
    pub statements: usize,
}

/// The outcome of a case.
pub enum Outcome {
    Done(Checked),
    /// A pass refuses the program.
    Refused(Refusal),
    /// The definition fails, floats exceed the range of exact whole numbers, or the kernel is too
    /// long.
    Undefined(String),
    Failed(Failure),
}

/// Runs a case in all engines and compares the results with the definition.
pub fn run(case: &Case) -> Outcome {
    match agree(case) {
        Ok(outcome) => outcome,
        Err(failure) if failure.phase == "code size" => Outcome::Undefined(failure.what),
        Err(failure) => Outcome::Failed(failure),
    }
}

fn agree(case: &Case) -> Result<Outcome, Failure> {
    let program = match phase("written program", || Ok(written(case)))? {
        Ok(program) => program,
        Err(refusal) => return Ok(Outcome::Refused(refusal)),
    };
    let inputs = case.tensors.iter().filter(|t| is_input(t)).map(|t| (t.name.clone(), t.values.clone()));
    let defined = phase("definition", || Ok(run_in(&program, &inputs.collect(), MOST, case.mode)))?;
    let defined = match defined {
        Ok(defined) => defined,
        Err(error) => return Ok(Outcome::Undefined(chain(&error))),
    };
    let normal = match phase("normal form", || Ok(normal_form(case)))? {
        Ok(normal) => Arc::new(normal),
        Err(refusal) => return Ok(Outcome::Refused(refusal)),
    };
    let found = engines(case, &normal)?;
    let mut checked = Checked { counts: found.counts, statements: found.largest, ..Checked::default() };
    for tensor in case.tensors.iter().filter(|t| t.role == Role::Output) {
        let expected = &defined[&tensor.name];
        checked.stored += expected.iter().filter(|v| **v != tensor.ty.fill).count();
        if let Err(failure) = compare(&found, &tensor.name, expected) {
            if defined.values().flatten().any(inexact) {
                return Ok(Outcome::Undefined("floats beyond whole numbers".to_owned()));
            }
            return Err(failure);
        }
        checked.equal += expected.len();
    }
    Ok(Outcome::Done(checked))
}

/// Runs a program in normal form in all engines; returns the results.
fn engines(case: &Case, program: &Arc<Program>) -> Result<Run, Failure> {
    let mut run = Run::default();
    let mut bind = |name: &str, tensor: Tensor, dense: Vec<Scalar>| {
        run.notation.insert(Alias::from(name), dense);
        run.assembly.insert(Alias::from(name), tensor.clone());
        run.grids.insert(Alias::from(name), tensor);
    };
    let mut tensors: HashMap<&str, Tensor> = HashMap::new();
    for tensor in case.tensors.iter().filter(|t| is_input(t)) {
        let made = stored(&tensor.ty, &tensor.ty.format, &tensor.values);
        let made = made.map_err(|e| Failure { phase: "inputs", what: chain(&e) })?;
        tensors.insert(&tensor.name, made.clone());
        bind(&tensor.name, made, tensor.values.clone());
    }
    for shares in &program.shares {
        let [name, of] = [shares.input, shares.of].map(|t| program.tensors[t.index()].name.as_str());
        let bounds = tensors[of].equal_shares(shares.modes, shares.blocks);
        let dense = bounds.to_dense_scalars().map_err(|e| Failure { phase: "inputs", what: chain(&e) })?;
        bind(name, bounds, dense);
    }
    interpret_notation(program, case.mode, &mut run)?;
    run_kernel(program, case.mode, OF_PROGRAMS, &mut run)?;
    Ok(run)
}

/// Compares one result of every engine with its definition.
fn compare(found: &Run, name: &str, expected: &[Scalar]) -> Result<(), Failure> {
    let dense = |phase: &'static str, tensor: &Tensor| {
        tensor.to_dense_scalars().map_err(|e| Failure { phase, what: chain(&e) })
    };
    let all = [
        ("notation", found.notation[name].clone()),
        ("assembly", dense("assembly", &found.assembly[name])?),
        ("schedule of grids", dense("schedule of grids", &found.grids[name])?),
    ];
    for (phase, values) in all {
        let differs = values.len() != expected.len() || expected.iter().zip(&values).any(|(a, b)| !same(a, b));
        if differs {
            let text = |values: &[Scalar]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let what = format!("`{name}` is [{}], expected [{}]", text(&values), text(expected));
            return Err(Failure { phase, what });
        }
    }
    Ok(())
}

/// Returns whether two values are equal. Zeros of both signs are equal.
fn same(a: &Scalar, b: &Scalar) -> bool {
    let unsigned = |s: &Scalar| match s {
        Scalar::F64(x) => Scalar::F64(x + 0.0),
        Scalar::F32(x) => Scalar::F32(x + 0.0),
        other => other.clone(),
    };
    let flat = |s: &Scalar| s.flatten().iter().map(unsigned).collect::<Vec<_>>();
    flat(a) == flat(b)
}

/// Returns whether a float is NaN, or finite and so large that sums of such floats may be rounded.
fn inexact(value: &Scalar) -> bool {
    value.flatten().iter().any(|v| match v {
        Scalar::F64(x) => x.is_nan() || (x.is_finite() && x.abs() > 2f64.powi(48)),
        Scalar::F32(x) => x.is_nan() || (x.is_finite() && x.abs() > 2f32.powi(20)),
        _ => false,
    })
}

fn is_input(tensor: &Declared) -> bool {
    tensor.role == Role::Input
}
