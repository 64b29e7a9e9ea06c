//! Construction of output tensors from the buffers of a function.

use crate::Error;
use crate::run::Invocation;
use redpoll_compiler::assembly::{Buffer, BufferClass};
use redpoll_compiler::lower::{Binding, LoweredFunction};
use redpoll_compiler::notation::{Program, TensorId};
use redpoll_logic::{Scalar, Special, TensorType};
use redpoll_storage::levels::kernel_format;
use redpoll_storage::{Array, MemoryBudget, Tensor, convert_within};
use std::borrow::Cow;
use std::sync::Arc;

/// Returns the buffers of output tensors, each with the number of elements after a call, in the
/// order of the outputs.
pub(super) fn output_lengths(
    program: &Program,
    lowered: &LoweredFunction,
    run: &Invocation,
) -> Result<Vec<(Buffer, usize)>, Error> {
    lengths_where(program, lowered, run, |_| true)
}

/// Returns the buffers of one output, like [`output_lengths`].
pub(super) fn lengths_of_output(
    program: &Program,
    lowered: &LoweredFunction,
    run: &Invocation,
    id: TensorId,
) -> Result<Vec<(Buffer, usize)>, Error> {
    lengths_where(program, lowered, run, |output| output == id)
}

/// Returns the buffers of the outputs that pass a test. The last complete call has recorded the
/// number of elements of each buffer of an output.
fn lengths_where(
    program: &Program,
    lowered: &LoweredFunction,
    run: &Invocation,
    test: impl Fn(TensorId) -> bool,
) -> Result<Vec<(Buffer, usize)>, Error> {
    let record = lowered.bindings.iter().position(|b| *b == Binding::Lengths).map(|at| Buffer(at as u32));
    let length = |k: usize| match run.element(record?, k)? {
        Scalar::I64(n) => usize::try_from(n).ok(),
        _ => None,
    };
    let mut lengths = Vec::with_capacity(lowered.bindings.len());
    let mut buffers = 0;
    for id in program.outputs() {
        for (buffer, binding) in (0..).map(Buffer).zip(&lowered.bindings) {
            if !matches!(binding, Binding::Level { tensor, .. } | Binding::Leaf { tensor, .. } if *tensor == id) {
                continue;
            }
            if test(id) {
                lengths.push((buffer, length(buffers).ok_or_else(missing_outputs)?));
            }
            buffers += 1;
        }
    }
    Ok(lengths)
}

/// Makes an output tensor from buffers with the given numbers of elements after a call. The buffers
/// of the function become the arrays of the tensor without copies, except as [`assemble_output`]
/// says.
pub(super) fn output_tensor(
    program: &Program,
    lowered: &LoweredFunction,
    (id, output_lengths): (TensorId, &[(Buffer, usize)]),
    (run, inputs): (&mut Invocation, &[&Tensor]),
) -> Result<Tensor, Error> {
    let memory = run.limits().memory.clone();
    let array = |buffer: Buffer| {
        let (_, length) = *output_lengths.iter().find(|(other, _)| *other == buffer).ok_or_else(missing_outputs)?;
        take_array(lowered, run, buffer, length)
    };
    assemble_output(program, lowered, (id, array), (inputs, &memory))
}

/// Makes an output tensor from arrays; `array` returns the array of a buffer. The tensor is marked
/// as free of special values if the function was lowered for such an output. An output is converted
/// if kernels do not write its format directly; an output with the pattern of an input shares the
/// arrays of the input's levels.
pub fn assemble_output(
    program: &Program,
    lowered: &LoweredFunction,
    (id, mut array): (TensorId, impl FnMut(Buffer) -> Result<Array, Error>),
    (inputs, memory): (&[&Tensor], &Arc<MemoryBudget>),
) -> Result<Tensor, Error> {
    let ty = &program.tensors[id.index()].ty;
    let mut levels = vec![Vec::new(); ty.format.levels.len()];
    let mut leaf = Vec::new();
    for (buffer, binding) in (0..).map(Buffer).zip(&lowered.bindings) {
        match binding {
            Binding::Level { tensor, level, .. } if *tensor == id => levels[*level].push(array(buffer)?),
            Binding::Leaf { tensor, .. } if *tensor == id => leaf.push(array(buffer)?),
            _ => {}
        }
    }
    let regular = |tensor: Tensor| match lowered.specials[id.index()] {
        Special::NONE => tensor.with_special(Special::NONE),
        _ => tensor,
    };
    if let Some(input) = program.pattern_input(id, inputs) {
        return Ok(regular(Tensor::new_unchecked(ty.clone(), input.levels().to_vec(), leaf)));
    }
    Ok(regular(match kernel_format(&ty.format) {
        Cow::Borrowed(_) => Tensor::new_unchecked(ty.clone(), levels, leaf),
        Cow::Owned(format) => {
            let written = Arc::new(TensorType { format, ..TensorType::clone(ty) });
            let written = Tensor::new_unchecked(written, levels, leaf);
            convert_within(&written, &ty.format, memory)?
        }
    }))
}

fn take_array(lowered: &LoweredFunction, run: &mut Invocation, buffer: Buffer, length: usize) -> Result<Array, Error> {
    let decl = &lowered.function.buffers[buffer.index()];
    debug_assert!(decl.class == BufferClass::Value || !decl.prim.is_float(), "indices are integers");
    Array::new(decl.prim, run.take(buffer, length)?, length).ok_or_else(missing_outputs)
}

fn missing_outputs() -> Error {
    Error::InvalidInvocation(
        "the kernel has not completed a call, so its outputs cannot be collected; call the kernel first".into(),
    )
}
