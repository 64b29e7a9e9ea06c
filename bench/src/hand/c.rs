//! Kernels by hand in C, compiled by the compiler of the optimizing tier with its flags, and called as its kernels are:
//! what is compared is the text alone.

use crate::runnable::Runnable;
use anyhow::{Context, Result};
use redpoll_physical::emit::c;
use std::fmt::Write;

/// The texts, each under the name of its kernel.
const KERNELS: &str = include_str!("kernels.c");

/// The kernels by hand: the name of the case whose program they compute, and the one that the text has.
pub const NAMES: [(&str, &str); 4] =
    [("spmv", "SPMV"), ("spgemm", "SPGEMM"), ("triangles", "TRIANGLES"), ("mttkrp", "MTTKRP")];

/// The kernel by hand of that name for the program of a kernel.
///
/// # Errors
/// When there is no C compiler.
pub fn by_hand(kernel: &Runnable, name: &str) -> Result<Runnable> {
    let function = kernel.kernel.function();
    let unit = c::emit(&[function])?;
    let statuses = unit.find("\nenum {").context("a unit names the statuses")?;
    let head = statuses + unit[statuses..].find("};\n").context("an enumeration ends")? + "};\n".len();
    let mut text = format!("{}\n#define {name}\n#define BUFFER(name) buffer_##name\nenum {{\n", &unit[..head]);
    for (number, buffer) in function.buffers.iter().enumerate() {
        let _ = writeln!(text, "    buffer_{} = {number},", buffer.name.replace('.', "_"));
    }
    let last = function.params.len().checked_sub(1).context("a program has sizes")?;
    let _ = writeln!(text, "}};\n#define FIRST_SIZE frame->params[0]\n#define LAST_SIZE frame->params[{last}]\n");
    kernel.edited(&(text + KERNELS))
}
