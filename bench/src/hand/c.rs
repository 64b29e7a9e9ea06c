//! Hand-written kernels in C. These kernels are compiled and called like kernels that the
//! optimizing tier emits, with the same compiler and flags, so that only the texts differ.

use crate::bound_kernel::BoundKernel;
use anyhow::{Context, Result};
use redpoll_kernels::c;
use std::fmt::Write;

/// The C texts, each under the name of its kernel.
const KERNELS: &str = include_str!("kernels.c");

/// The hand-written kernels: the name of the case with the same program, and the name in the C
/// text.
pub const NAMES: [(&str, &str); 4] =
    [("spmv", "SPMV"), ("spgemm", "SPGEMM"), ("triangles", "TRIANGLES"), ("mttkrp", "MTTKRP")];

/// Compiles the hand-written C text `name` for the program of a kernel.
///
/// # Errors
/// If the program has no kernel in C, there is no C compiler, or the compiler rejects the text.
pub fn compile_by_hand(kernel: &BoundKernel, name: &str) -> Result<BoundKernel> {
    let function = kernel.kernel.function();
    let unit = c::emit(&[function])?;
    let statuses = unit.find("\nenum {").context("the emitted C text does not define the statuses")?;
    let head =
        statuses + unit[statuses..].find("};\n").context("the definition of the statuses has no end")? + "};\n".len();
    let mut text = format!("{}\n#define {name}\n#define BUFFER(name) buffer_##name\nenum {{\n", &unit[..head]);
    for (number, buffer) in function.buffers.iter().enumerate() {
        let _ = writeln!(text, "    buffer_{} = {number},", buffer.name.replace('.', "_"));
    }
    let last = function.params.len().checked_sub(1).context("the program has no sizes")?;
    let _ = writeln!(text, "}};\n#define FIRST_SIZE frame->params[0]\n#define LAST_SIZE frame->params[{last}]\n");
    kernel.compile_text(&(text + KERNELS))
}
