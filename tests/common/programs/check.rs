//! Runs a random program in every engine.
//!
//! The interpreter of Notation defines the results: it runs the written program over dense tensors.
//! The normal form of the program, in the drawn formats, then runs in the same interpreter and,
//! lowered, in all engines that [`run_kernel`] compares.

use super::draw::{ProgramCase, ProgramTensor, Rejection, normal_form, store_values, written_program};
use crate::engines::{
    EngineResults, KernelBounds, PhaseFailure, error_chain, interpret_notation, run_kernel, run_phase,
};
use redpoll_compiler::assembly::Counts;
use redpoll_compiler::notation::{InterpLimits, Program, Role, TensorId, run_with_mode};
use redpoll_logic::{Alias, Scalar};
use redpoll_storage::Tensor;
use std::collections::HashMap;
use std::iter;
use std::sync::Arc;

/// Limits of the interpreter that computes the expected results.
const DEFINITION_LIMITS: InterpLimits = InterpLimits { steps: 300_000, values: 100_000 };
/// Bounds for the kernels of programs. Even a few lines over sparse levels may give a long kernel.
const PROGRAM_BOUNDS: KernelBounds =
    KernelBounds { chunk_every: 2, max_statements: 30_000, max_optimized_statements: 500 };

/// Statistics of a program that passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramReport {
    /// Number of values of results, all of which are equal in every engine.
    pub equal: usize,
    /// Number of values of results that differ from the fill value.
    pub stored: usize,
    pub counts: Counts,
    /// Number of statements of the kernel.
    pub statements: usize,
}

/// The outcome of a case.
pub enum ProgramOutcome {
    Passed(ProgramReport),
    /// A pass rejects the program.
    Rejected(Rejection),
    /// The case shows nothing, for one of three reasons. The written program fails in the
    /// interpreter; the kernel is too long; or results differ, but some expected floats are NaN, or
    /// so large that they may have been rounded.
    Undefined(String),
    Failed(PhaseFailure),
}

/// Runs a case in all engines and compares the results with the results of the written program.
pub fn run(case: &ProgramCase) -> ProgramOutcome {
    match compare_engines(case) {
        Ok(outcome) => outcome,
        Err(failure) if failure.phase == "code size" => ProgramOutcome::Undefined(failure.message),
        Err(failure) => ProgramOutcome::Failed(failure),
    }
}

fn compare_engines(case: &ProgramCase) -> Result<ProgramOutcome, PhaseFailure> {
    let program = match run_phase("written program", || Ok(written_program(case)))? {
        Ok(program) => program,
        Err(rejection) => return Ok(ProgramOutcome::Rejected(rejection)),
    };
    let inputs = case.tensors.iter().filter(|t| is_input(t)).map(|t| (t.name.clone(), t.values.clone()));
    let expected_results =
        run_phase("definition", || Ok(run_with_mode(&program, &inputs.collect(), DEFINITION_LIMITS, case.mode)))?;
    let expected_results = match expected_results {
        Ok(expected_results) => expected_results,
        Err(error) => return Ok(ProgramOutcome::Undefined(error_chain(&error))),
    };
    let normal = match run_phase("normal form", || Ok(normal_form(case)))? {
        Ok(normal) => Arc::new(normal),
        Err(rejection) => return Ok(ProgramOutcome::Rejected(rejection)),
    };
    let found = run_engines(case, &normal)?;
    let mut checked = ProgramReport { counts: found.counts, statements: found.largest, ..ProgramReport::default() };
    for tensor in case.tensors.iter().filter(|t| t.role == Role::Output) {
        let expected = &expected_results[&tensor.name];
        checked.stored += expected.iter().filter(|v| **v != tensor.ty.fill).count();
        if let Err(failure) = compare(&found, &tensor.name, expected) {
            if expected_results.values().flatten().any(is_inexact) {
                return Ok(ProgramOutcome::Undefined("floats beyond whole numbers".to_owned()));
            }
            return Err(failure);
        }
        checked.equal += expected.len();
    }
    Ok(ProgramOutcome::Passed(checked))
}

/// Runs a program in normal form in all engines; returns the results.
fn run_engines(case: &ProgramCase, program: &Arc<Program>) -> Result<EngineResults, PhaseFailure> {
    let mut tensors: HashMap<&str, Tensor> = HashMap::new();
    let mut inputs = Vec::new();
    for tensor in case.tensors.iter().filter(|t| is_input(t)) {
        let tensor_data = store_values(&tensor.ty, &tensor.ty.format, &tensor.values);
        let tensor_data = tensor_data.map_err(|e| PhaseFailure { phase: "inputs", message: error_chain(&e) })?;
        tensors.insert(&tensor.name, tensor_data.clone());
        inputs.push((Alias::from(&*tensor.name), tensor_data, tensor.values.clone()));
    }
    for blocks in &program.block_inputs {
        let fail = |e| PhaseFailure { phase: "inputs", message: error_chain(&e) };
        let name = |t: TensorId| program.tensors[t.index()].name.as_str();
        let bounds = tensors[name(blocks.of)].block_bounds(&blocks.stored).map_err(fail)?;
        for (input, tensor) in blocks.inputs().zip([bounds.begins].into_iter().chain(bounds.counts)) {
            let dense = tensor.to_dense_scalars().map_err(fail)?;
            inputs.push((Alias::from(name(input)), tensor, dense));
        }
    }
    let mut run = EngineResults::new(inputs);
    interpret_notation(program, case.mode, &mut run)?;
    run_kernel(program, case.mode, PROGRAM_BOUNDS, &mut run)?;
    Ok(run)
}

/// Compares one result of every engine with the expected values.
fn compare(found: &EngineResults, name: &str, expected: &[Scalar]) -> Result<(), PhaseFailure> {
    let dense = |phase: &'static str, tensor: &Tensor| {
        tensor.to_dense_scalars().map_err(|e| PhaseFailure { phase, message: error_chain(&e) })
    };
    let tensors = found.grids.iter().map(|grids| (grids.phase, &grids.tensors[name]));
    let tensors = iter::once(("assembly", &found.assembly[name])).chain(tensors);
    let stored = tensors.map(|(phase, tensor)| Ok((phase, dense(phase, tensor)?)));
    for found in iter::once(Ok(("notation", found.notation[name].clone()))).chain(stored) {
        let (phase, values) = found?;
        let differs = values.len() != expected.len() || expected.iter().zip(&values).any(|(a, b)| !is_equal(a, b));
        if differs {
            let text = |values: &[Scalar]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("`{name}` is [{}], expected [{}]", text(&values), text(expected));
            return Err(PhaseFailure { phase, message });
        }
    }
    Ok(())
}

/// Returns whether two values are equal. Zeros of both signs are equal.
fn is_equal(a: &Scalar, b: &Scalar) -> bool {
    let unsigned = |s: &Scalar| match s {
        Scalar::F64(x) => Scalar::F64(x + 0.0),
        Scalar::F32(x) => Scalar::F32(x + 0.0),
        other => other.clone(),
    };
    let flat = |s: &Scalar| s.flatten().iter().map(unsigned).collect::<Vec<_>>();
    flat(a) == flat(b)
}

/// Returns whether a float is NaN, or finite and so large that sums of such floats may be rounded.
fn is_inexact(value: &Scalar) -> bool {
    value.flatten().iter().any(|v| match v {
        Scalar::F64(x) => x.is_nan() || (x.is_finite() && x.abs() > 2f64.powi(48)),
        Scalar::F32(x) => x.is_nan() || (x.is_finite() && x.abs() > 2f32.powi(20)),
        _ => false,
    })
}

fn is_input(tensor: &ProgramTensor) -> bool {
    tensor.role == Role::Input
}
