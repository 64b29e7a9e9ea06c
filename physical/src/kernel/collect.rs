//! From the buffers that a function leaves to output tensors.

use crate::Error;
use crate::assembly::{Buffer, BufferClass};
use crate::lower::{Binding, Lowered};
use crate::notation::{Program, Role, TensorId};
use crate::run::Invocation;
use crate::storage::{Array, Tensor};
use redpoll_logic::Scalar;

/// The output tensors, in order. Their arrays are the function's buffers, not copies.
pub(super) fn collect(program: &Program, lowered: &Lowered, run: &mut Invocation) -> Result<Vec<Tensor>, Error> {
    let mut lengths = lengths(lowered, run).into_iter();
    let mut tensors = Vec::new();
    for (k, decl) in program.tensors.iter().enumerate().filter(|(_, d)| d.role == Role::Output) {
        let id = TensorId(k as u32);
        let mut levels = vec![Vec::new(); decl.ty.format.levels.len()];
        let mut leaf = Vec::new();
        for (b, binding) in lowered.bindings.iter().enumerate() {
            let place = match binding {
                Binding::Level { tensor, level, .. } if *tensor == id => &mut levels[*level],
                Binding::Leaf { tensor, .. } if *tensor == id => &mut leaf,
                _ => continue,
            };
            let length = lengths.next().ok_or_else(not_run)?;
            place.push(take(lowered, run, Buffer(b as u32), length)?);
        }
        tensors.push(Tensor::new_unchecked(decl.ty.clone(), levels, leaf));
    }
    Ok(tensors)
}

/// The recorded numbers of elements.
fn lengths(lowered: &Lowered, run: &Invocation) -> Vec<i64> {
    let Some(at) = lowered.bindings.iter().position(|b| *b == Binding::Lengths) else { return Vec::new() };
    (0..)
        .map_while(|k| match run.element(Buffer(at as u32), k)? {
            Scalar::I64(n) => Some(n),
            _ => None,
        })
        .collect()
}

fn take(lowered: &Lowered, run: &mut Invocation, buffer: Buffer, length: i64) -> Result<Array, Error> {
    let decl = &lowered.function.buffers[buffer.index()];
    debug_assert!(decl.class == BufferClass::Value || !decl.prim.is_float(), "indices are integers");
    let length = usize::try_from(length).map_err(|_| not_run())?;
    Array::new(decl.prim, run.take(buffer, length)?, length).ok_or_else(not_run)
}

fn not_run() -> Error {
    Error::InvalidInvocation("the kernel has not left its outputs; call it before collecting them".into())
}
