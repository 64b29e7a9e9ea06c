//! Checks of the optimizing tier on kernels that have already run in another engine. The selected
//! kernels of a thread are compiled together, because starting a C compiler takes longer than
//! running a kernel. Only [`KernelSelection::Each`] compiles each kernel separately.

use crate::engines::{compare_arrays, error_chain};
use redpoll_compiler::lower::Draft;
use redpoll_kernels::CacheFolder;
use redpoll_kernels::backend::{Backend, OptimizingBackend};
use redpoll_kernels::c::{Toolchain, ToolchainOptions};
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::Limits;
use redpoll_storage::Tensor;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Number of kernels in a sample.
const SAMPLE_SIZE: u64 = 8;
/// Selection of the kernels that a thread checks in the optimizing tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelSelection {
    /// A sample of fixed size, all kernels equally likely.
    Sample,
    /// All kernels. The value is the label with which failures of these kernels are reported.
    All(u64),
    /// No kernels.
    None,
    /// All kernels, each compiled and checked immediately, which is slow.
    Each,
}

struct RecordedRun {
    label: Option<u64>,
    draft: Draft,
    inputs: Vec<Tensor>,
    limits: Limits,
    outputs: Vec<Tensor>,
}

/// Results of the checks on one thread.
#[derive(Debug, Default)]
pub struct TierReport {
    /// Number of kernels offered while the selection was not [`KernelSelection::None`].
    pub offered: u64,
    /// Number of kernels whose results were compared.
    pub kernels: u64,
    /// Messages of failures, each with the label of its kernel. If the kernels cannot be compiled,
    /// there is one message, with the label of the first kernel.
    pub failures: Vec<(Option<u64>, String)>,
}

struct ThreadKernels {
    selection: KernelSelection,
    runs: Vec<RecordedRun>,
    report: TierReport,
}

thread_local! {
    static THREAD: RefCell<ThreadKernels> = const {
        RefCell::new(ThreadKernels {
            selection: KernelSelection::Sample,
            runs: Vec::new(),
            report: TierReport { offered: 0, kernels: 0, failures: Vec::new() },
        })
    };
}

/// Selects the kernels that this thread records or checks from now on.
pub fn select_kernels(selection: KernelSelection) {
    THREAD.with_borrow_mut(|thread| thread.selection = selection);
}

/// Records a kernel with its inputs, limits and outputs if the selection of this thread includes
/// the kernel. With [`KernelSelection::Each`], checks the kernel immediately instead.
///
/// # Errors
/// With [`KernelSelection::Each`], returns the failure of the check.
pub fn offer(kernel: &Kernel, (inputs, limits): (&[&Tensor], &Limits), outputs: &[Tensor]) -> Result<(), String> {
    let run = |label| {
        let inputs = inputs.iter().map(|t| (*t).clone()).collect();
        RecordedRun { label, draft: kernel.draft().clone(), inputs, limits: limits.clone(), outputs: outputs.to_vec() }
    };
    THREAD.with_borrow_mut(|thread| {
        thread.report.offered += u64::from(thread.selection != KernelSelection::None);
        let offered = thread.report.offered;
        match thread.selection {
            KernelSelection::Sample => {
                let random_slot = offered.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % offered;
                let slot = if offered <= SAMPLE_SIZE { offered - 1 } else { random_slot };
                match thread.runs.get_mut(slot as usize) {
                    Some(other) => *other = run(None),
                    None if slot < SAMPLE_SIZE => thread.runs.push(run(None)),
                    None => {}
                }
                Ok(())
            }
            KernelSelection::All(label) => {
                thread.runs.push(run(Some(label)));
                Ok(())
            }
            KernelSelection::None => Ok(()),
            KernelSelection::Each => {
                let mut report = TierReport::default();
                check(&[run(None)], &mut report);
                report.failures.pop().map_or(Ok(()), |(_, message)| Err(message))
            }
        }
    })
}

/// Removes the kernels that this thread has recorded, and starts a new report. Returns the kernels
/// with their inputs.
pub fn drain_kernels() -> Vec<(Draft, Vec<Tensor>)> {
    THREAD.with_borrow_mut(|thread| {
        thread.report = TierReport::default();
        std::mem::take(&mut thread.runs).into_iter().map(|run| (run.draft, run.inputs)).collect()
    })
}

/// Compiles and checks all kernels that this thread has recorded. Returns the report, and starts a
/// new report.
pub fn check_recorded() -> TierReport {
    THREAD.with_borrow_mut(|thread| {
        check(&std::mem::take(&mut thread.runs), &mut thread.report);
        std::mem::take(&mut thread.report)
    })
}

/// Compiles kernels and compares their outputs with the recorded outputs. A missing C compiler is a
/// failure, so that untested kernels do not pass.
fn check(runs: &[RecordedRun], report: &mut TierReport) {
    /// The toolchain of all threads. It has a cache, because the same kernels recur until the code
    /// generator changes.
    static TOOLCHAIN: LazyLock<Arc<Toolchain>> = LazyLock::new(|| {
        // A busy machine takes minutes to compile dozens of kernels.
        let compiler_time = Duration::from_secs(600);
        let cache = CacheFolder::At(cache_folder());
        Arc::new(Toolchain::new(ToolchainOptions { cache, compiler_time, ..ToolchainOptions::default() }))
    });
    if runs.is_empty() {
        return;
    }
    let drafts: Vec<&Draft> = runs.iter().map(|run| &run.draft).collect();
    let backend: Arc<dyn Backend> = Arc::new(OptimizingBackend::new(&TOOLCHAIN));
    let kernels = match Kernel::compile_all(&drafts, &backend) {
        Ok(kernels) => kernels,
        Err(error) => {
            return report.failures.push((runs[0].label, format!("optimizing tier: {}", error_chain(&error))));
        }
    };
    for (kernel, run) in kernels.iter().zip(runs) {
        report.kernels += 1;
        if let Err(message) = compare(kernel, run) {
            let message = format!("optimizing tier: {message}\n{}", kernel.function());
            report.failures.push((run.label, message));
        }
    }
}

/// Returns the cache folder of compiled kernels, in the target folder of the running binary or else
/// in the folder for temporary files.
fn cache_folder() -> PathBuf {
    let binary = std::env::current_exe().unwrap_or_default();
    let target = binary.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map_or_else(|| std::env::temp_dir().join("redpoll-tests"), |target| target.join("tmp")).join("kernels")
}

fn compare(kernel: &Kernel, run: &RecordedRun) -> Result<(), String> {
    let inputs: Vec<&Tensor> = run.inputs.iter().collect();
    let found = kernel.run(&inputs, &run.limits).map_err(|e| error_chain(&e))?.outputs;
    run.outputs.iter().zip(&found).try_for_each(|(expected, found)| compare_arrays(expected, found))
}
