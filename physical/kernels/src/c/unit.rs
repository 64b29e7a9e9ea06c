//! Translation units: the C text of one or more kernels that are compiled at once.

use super::function;
use super::helpers::{Dialect, Helpers};
use super::stmt::status_name;
use crate::Error;
use redpoll_compiler::assembly::{Function, Signature, Status, verify};
use std::fmt::Write;
use std::sync::Arc;

/// Returns the name under which a unit exports the kernel with this number.
pub fn entry_name(number: usize) -> String {
    format!("redpoll_kernel_{number}")
}

/// The head of every unit: the calling convention of kernels, as in `run::frame`.
pub(super) const HEAD: &str = "\
#include <stdbool.h>
#include <stdint.h>

#define RP_UNLIKELY(condition) __builtin_expect(condition, 0)
#define RP_NOINLINE __attribute__((noinline))

// Grows a buffer to `length` elements, which may move it. If memory is exhausted, the kernel ends.
#define RP_GROW(buffer, number, length)                                                        \\
    do {                                                                                       \\
        const int64_t rp_length = length;                                                      \\
        if (RP_UNLIKELY(rp_length > buffer##__capacity)) {                                     \\
            const int32_t status = frame->callbacks->grow(frame->host, number, rp_length);     \\
            if (status) return status;                                                         \\
            buffer = frame->buffers[number].data;                                              \\
            buffer##__capacity = frame->buffers[number].len;                                   \\
        }                                                                                      \\
    } while (0)

// Ends the kernel if the caller has cancelled it.
#define RP_POLL()                                                                              \\
    do {                                                                                       \\
        if (RP_UNLIKELY(*frame->cancel)) return RP_CANCELLED;                                  \\
    } while (0)

// Exchanges the memory of two buffers.
#define RP_SWAP(a, a_number, b, b_number)                                                      \\
    do {                                                                                       \\
        frame->callbacks->swap(frame->host, a_number, b_number);                               \\
        a = frame->buffers[a_number].data;                                                     \\
        a##__capacity = frame->buffers[a_number].len;                                          \\
        b = frame->buffers[b_number].data;                                                     \\
        b##__capacity = frame->buffers[b_number].len;                                          \\
    } while (0)

typedef struct {
    void *data;
    uint64_t len;
} rp_slot;

typedef struct {
    int32_t (*grow)(void *host, uint32_t buffer, int64_t len);
    void (*sort)(void *host, uint32_t buffer, int64_t lo, int64_t hi);
    void (*sort_by)(void *host, uint32_t perm, uint32_t major, uint32_t minor, int64_t lo, int64_t hi);
    void (*swap)(void *host, uint32_t a, uint32_t b);
} rp_callbacks;

typedef struct {
    const rp_slot *buffers;
    const int64_t *params;
    int64_t chunk_lo, chunk_hi;
    void *host;
    const rp_callbacks *callbacks;
    int32_t status;
    const void *trampoline;
    const uintptr_t *math;
    const volatile uint8_t *cancel;
} rp_frame;
";

/// Version of the calling convention; increased when kernels of older texts can no longer be
/// called.
const CONVENTION: u32 = 2;

/// Returns the line of a unit that identifies the calling convention, and the buffers and
/// parameters of the unit's kernels.
pub(super) fn interface(signatures: &[Arc<Signature>]) -> String {
    let hash = blake3::hash(format!("{CONVENTION} {signatures:?}").as_bytes()).to_hex();
    format!("// Kernels of redpoll, interface {}.", &hash[..16])
}

/// Prints functions as one translation unit; the kernel of function `k` is exported as
/// [`entry_name`]`(k)`.
///
/// # Errors
/// [`InvalidAssembly`](redpoll_compiler::Error::InvalidAssembly) if the verifier rejects a
/// function.
pub fn emit(functions: &[&Function]) -> Result<String, Error> {
    let mut helpers = Helpers::new(Dialect::C);
    let mut kernels = String::new();
    for (k, f) in functions.iter().enumerate() {
        let faults = verify(f);
        if !faults.is_empty() {
            return Err(redpoll_compiler::Error::invalid_assembly(&f.name, &faults).into());
        }
        kernels.push('\n');
        function::write(f, &entry_name(k), &mut helpers, &mut kernels);
    }
    let signatures: Vec<_> = functions.iter().map(|f| Signature::of(f)).collect();
    let mut text = format!("{}\n\n{HEAD}\nenum {{\n", interface(&signatures));
    for status in Status::ALL {
        let _ = writeln!(text, "    {} = {},", status_name(*status), *status as i32);
    }
    text.push_str("};\n");
    for helper in helpers.texts() {
        text.push('\n');
        text.push_str(helper);
    }
    Ok(text + &kernels)
}
