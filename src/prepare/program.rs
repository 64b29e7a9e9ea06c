//! The phases from a program in Notation text to its kernel, in order.

use crate::bindings::Bindings;
use crate::config::Config;
use crate::dump;
use crate::engine::{Layouts, Stage, StageLoops};
use crate::error::Error;
use crate::executable::Executable;
use crate::program::Program;
use crate::schedules::Schedules;
use crate::timings::{Phase, Timings};
use redpoll_compiler::notation::{
    self, Role, apply_schedule, bounds_checks, normalize, parse_with_inputs, verify_parallel, verify_patterns,
};
use redpoll_logic::Alias;
use redpoll_storage::Tensor;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program with the ranges of input values that its kernel assumes.
pub(crate) struct CompiledProgram {
    pub(crate) text: Arc<str>,
    /// Assumed ranges of the values of inputs. The kernel does not check coordinates that are in
    /// bounds for all values in these ranges.
    pub(crate) assumed_ranges: Vec<AssumedRange>,
}

/// A tensor, and the least and the greatest of its assumed values.
pub(crate) type AssumedRange = (Alias, (i64, i64));

impl CompiledProgram {
    /// Returns whether the values of the inputs are in the assumed ranges.
    pub(crate) fn covers(&self, bindings: &Bindings) -> bool {
        self.assumed_ranges.iter().all(|(input, (least, greatest))| {
            let range = bindings.get(input.as_str()).and_then(Tensor::value_range);
            range.is_some_and(|(a, b)| least <= &a && &b <= greatest)
        })
    }
}

/// Runs all phases on a program for the tensors that are bound to its inputs.
pub(super) fn compile_program(
    config: &Config,
    (program, schedules): (&Program, &Schedules),
    bindings: &Bindings,
    timings: &mut Timings,
) -> Result<(CompiledProgram, Executable), Error> {
    let text = &program.text;
    let ty = |name: &str| bindings.get(name).map(|tensor| tensor.ty().clone());
    let (mut source_program, marks) = timings
        .time(Phase::Parse, || parse_with_inputs(text, &[], &ty).map_err(Box::new))
        .map_err(|source| Error::Program { at: None, source: Box::new((*source).into()) })?;
    let results = source_program.outputs().map(|t| Alias::from(source_program.tensors[t.index()].name.as_str()));
    let added = schedules.of_program(&results.collect::<Vec<_>>())?;
    source_program.schedule.extend(added);
    let mode = config.optimizer.float_mode;
    let normal = timings.time(Phase::Notation, || {
        let transformed = apply_schedule(source_program.clone(), mode).map_err(Box::new)?;
        let normal = normalize(transformed).map_err(Box::new)?;
        verify_patterns(&normal, mode).map_err(Box::new)?;
        verify_parallel(&normal, mode).map_err(Box::new).map(|()| normal)
    });
    let normal = normal.map(|normal| remove_proved_checks(normal, bindings));
    let (normal, assumed_ranges) =
        normal.map_err(|source| Error::Program { at: marks.position(&source), source: Box::new((*source).into()) })?;
    let outputs = normal.tensors.iter().filter(|t| t.role == Role::Output);
    let produces: Vec<Alias> = outputs.map(|t| Alias::from(t.name.as_str())).collect();
    let name = produces.iter().map(Alias::as_str).collect::<Vec<_>>().join(", ");
    // The number of iterations of a `while` is unknown, so the cost of any program is taken as
    // infinite.
    let loops = StageLoops::of_program(name, f64::INFINITY, (source_program, normal), &Layouts::of(bindings));
    let edited_text = dump::read_edited(config, || format!("{text}{schedules}"), &produces)?;
    let executable = Executable::new(config, vec![Stage::of_program(loops)], produces, edited_text);
    timings.time(Phase::Compile, || executable.compile())?;
    Ok((CompiledProgram { text: text.clone(), assumed_ranges }, executable))
}

/// Removes the checks of coordinates that the values of bound tensors prove to be in bounds.
/// Returns the program and the assumed ranges of the values. Each range is widened to `0..n`, so
/// that the kernel also serves other values: `n` is the smallest size of a storage mode of the
/// program that exceeds all bound values of the input.
fn remove_proved_checks(program: notation::Program, bindings: &Bindings) -> (notation::Program, Vec<AssumedRange>) {
    let before = bounds_checks(&program).len();
    if before == 0 {
        return (program, Vec::new());
    }
    let sizes = program.tensors.iter().flat_map(|t| t.ty.format.storage_shape(&t.ty.shape));
    let last: Vec<i64> = sizes.filter_map(|n| i64::try_from(n).ok()).map(|n| n - 1).collect();
    let queried = RefCell::new(BTreeMap::new());
    let range = |id: notation::TensorId| {
        let decl = &program.tensors[id.index()];
        // Inputs of rank 0 are expected to change between runs.
        if decl.role != Role::Input || decl.ty.shape.is_empty() {
            return None;
        }
        let (least, greatest) = bindings.get(decl.name.as_str())?.value_range().filter(|(least, _)| *least >= 0)?;
        let range = (least.min(0), *last.iter().filter(|n| **n >= greatest).min()?);
        queried.borrow_mut().insert(Alias::from(decl.name.as_str()), range);
        Some(range)
    };
    let proved = notation::prove_bounds(program.clone(), &range);
    if bounds_checks(&proved).len() == before {
        (program, Vec::new())
    } else {
        (proved, queried.into_inner().into_iter().collect())
    }
}
