//! Kernels of the C tier under the sanitizers of GCC, in a separate process. The memory of each
//! buffer ends with its last element, so that the sanitizers report accesses beyond that element.

use crate::c::{emit, entry_name};
use crate::kernel::Kernel;
use crate::run::Limits;
use crate::{Error, backend};
use redpoll_compiler::assembly::{BufferRole, Buffers, Function, MathFn, MathImpl, Status, Stmt};
use redpoll_compiler::lower::Draft;
use redpoll_compiler::notation::ALL_ROUNDS;
use redpoll_storage::Tensor;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const HOST: &str = include_str!("sanitized.c");

/// The flags of the C tier that affect results, and the sanitizers. Optimizations are left out,
/// since they take most of the compile time.
const FLAGS: &[&str] = &[
    "-std=c11",
    "-O0",
    "-w",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];
/// Flags that make the checks short, to halve the compile time: function calls that check accesses,
/// and traps that do not describe the undefined behavior.
const TERSE: &[&str] = &["--param", "asan-instrumentation-with-call-threshold=0", "-fsanitize-undefined-trap-on-error"];

/// A kernel and its inputs.
pub struct SanitizedKernel {
    function: Function,
    params: Vec<i64>,
    /// The bytes of each buffer; empty for owned buffers.
    arrays: Vec<Vec<u8>>,
}

impl SanitizedKernel {
    /// Returns the kernel of a draft over tensors.
    ///
    /// # Errors
    /// The errors of [`Kernel::compile`] and [`Kernel::bind`], for example if tensors do not fit
    /// the program.
    pub fn new(draft: &Draft, inputs: &[&Tensor]) -> Result<SanitizedKernel, Error> {
        let function = draft.function().clone();
        let bound = Kernel::compile(draft, &backend::interpreter())?.bind(inputs, &Limits::default())?;
        let buffers = (0..).map(redpoll_compiler::assembly::Buffer).zip(&function.buffers);
        let bytes = buffers.map(|(buffer, decl)| match decl.role {
            BufferRole::Input => bound.input(buffer).as_slice().to_vec(),
            BufferRole::Owned => Vec::new(),
        });
        Ok(SanitizedKernel { arrays: bytes.collect(), params: bound.params().to_vec(), function })
    }

    /// Returns the kernel without its bounds checks: it continues as if all coordinates were in
    /// bounds.
    #[must_use]
    pub fn without_checks(mut self) -> SanitizedKernel {
        fn unchecked(body: Vec<Stmt>) -> Vec<Stmt> {
            let fails = |body: &[Stmt]| body.last() == Some(&Stmt::Return(Status::OutOfBounds));
            let one = |stmt: Stmt| match stmt {
                Stmt::If { then, other, .. } if fails(&other) => unchecked(then),
                Stmt::If { cond, then, other } => {
                    vec![Stmt::If { cond, then: unchecked(then), other: unchecked(other) }]
                }
                Stmt::While { cond, body } => vec![Stmt::While { cond, body: unchecked(body) }],
                Stmt::For { var, lo, hi, body } => vec![Stmt::For { var, lo, hi, body: unchecked(body) }],
                other => vec![other],
            };
            body.into_iter().flat_map(one).collect()
        }
        self.function.body = unchecked(std::mem::take(&mut self.function.body));
        self
    }

    fn data(&self, data: &mut Vec<u8>) {
        let counts = [
            self.function.buffers.len() as u64,
            self.params.len() as u64,
            ALL_ROUNDS.start as u64,
            ALL_ROUNDS.end as u64,
        ];
        counts.iter().for_each(|n| data.extend(n.to_le_bytes()));
        self.params.iter().for_each(|n| data.extend(n.to_le_bytes()));
        for (decl, bytes) in self.function.buffers.iter().zip(&self.arrays) {
            let is_input = u32::from(decl.role == BufferRole::Input);
            let numbers = [decl.prim.bytes() as u32, u32::from(decl.prim.is_signed()), is_input, 0];
            numbers.iter().for_each(|n| data.extend(n.to_le_bytes()));
            let fill = decl.fill.to_bits().expect("fills of buffers are primitives");
            [fill, bytes.len() as u64].iter().for_each(|n| data.extend(n.to_le_bytes()));
        }
        self.arrays.iter().for_each(|bytes| data.extend(bytes));
    }
}

/// Compiles kernels in a folder and runs them one after the other; returns their statuses.
///
/// # Errors
/// The report of the sanitizer on the first kernel with a fault, and the function of that kernel;
/// or the messages of the verifier, of the compiler or of the system.
pub fn run_sanitized(kernels: &[SanitizedKernel], folder: &Path) -> Result<Vec<Status>, String> {
    let terse = run_compiled(kernels, folder, TERSE)?;
    if terse.statuses.len() == kernels.len() {
        return Ok(terse.statuses);
    }
    let reported = &kernels[terse.statuses.len()..][..1];
    let single_run = run_compiled(reported, folder, &[])?;
    let report = if single_run.statuses.is_empty() { single_run.report } else { terse.report };
    Err(format!("{report}\n{}", reported[0].function))
}

/// The statuses of the kernels before the first one with a fault, and the report of the fault. If
/// no kernel has a fault, all kernels have a status, and the report has no meaning.
struct KernelStatuses {
    statuses: Vec<Status>,
    report: String,
}

/// Compiles kernels and runs them one after the other, up to the first one with a fault.
fn run_compiled(kernels: &[SanitizedKernel], folder: &Path, flags: &[&str]) -> Result<KernelStatuses, String> {
    let (source, binary, input) = (folder.join("sanitized.c"), folder.join("sanitized"), folder.join("sanitized.bin"));
    let functions: Vec<&Function> = kernels.iter().map(|k| &k.function).collect();
    let text = emit(&functions).map_err(|e| e.to_string())?;
    let mut data = Vec::new();
    kernels.iter().for_each(|k| k.data(&mut data));
    let failed = |e: std::io::Error| e.to_string();
    std::fs::write(&source, text + &tables(kernels.len()) + HOST).map_err(failed)?;
    std::fs::write(&input, data).map_err(failed)?;
    let compiler = std::env::var("CC").unwrap_or_else(|_| "gcc".into());
    let mut compile = Command::new(&compiler);
    compile.args(FLAGS).args(flags).arg("-o").arg(&binary).arg(&source).arg("-lm");
    let compiled = compile.output().map_err(|e| format!("{compiler}: {e}"))?;
    if !compiled.status.success() {
        return Err(format!("{compiler}: {}", String::from_utf8_lossy(&compiled.stderr)));
    }
    let run = Command::new(&binary).arg(&input).env("ASAN_OPTIONS", "detect_leaks=0").output().map_err(failed)?;
    let (messages, statuses_text) = (String::from_utf8_lossy(&run.stderr), String::from_utf8_lossy(&run.stdout));
    let statuses: Vec<Status> = statuses_text.lines().filter_map(|l| Status::from_code(l.parse().ok()?)).collect();
    if !run.status.success() && statuses.len() == kernels.len() {
        return Err(format!("after the kernels: {}: {messages}", run.status));
    }
    let words: Vec<&str> = messages.lines().filter(|l| !l.starts_with("kernel ")).take(12).collect();
    Ok(KernelStatuses { statuses, report: format!("{}: {}", run.status, words.join("\n")) })
}

/// Returns the text of two tables: the entries of the kernels, and the functions of the
/// mathematical library in the order of the frame's table.
fn tables(kernels: usize) -> String {
    let mut text = String::from("\n#include <math.h>\nstatic double host_ldexp_f64(double, double);\n");
    text.push_str("static float host_ldexp_f32(float, float);\n");
    text.push_str("static double host_signbit_f64(double x) { return __builtin_signbit(x) ? 1 : 0; }\n");
    text.push_str("static float host_signbit_f32(float x) { return __builtin_signbit(x) ? 1 : 0; }\n");
    text.push_str("static const uintptr_t math[] = {\n");
    for function in MathFn::ALL {
        let _ = match (function, function.implementation()) {
            (MathFn::Ldexp, _) => writeln!(text, "    (uintptr_t)host_ldexp_f64, (uintptr_t)host_ldexp_f32,"),
            // `signbit` is a macro in C.
            (MathFn::SignBit, _) => writeln!(text, "    (uintptr_t)host_signbit_f64, (uintptr_t)host_signbit_f32,"),
            (_, MathImpl::Unary(..) | MathImpl::Binary(..)) => {
                writeln!(text, "    (uintptr_t){0}, (uintptr_t){0}f,", function.name())
            }
        };
    }
    text.push_str("};\nstatic int32_t (*const entries[])(rp_frame *) = {\n");
    for k in 0..kernels {
        let _ = writeln!(text, "    {},", entry_name(k));
    }
    text.push_str("};\n");
    text
}
