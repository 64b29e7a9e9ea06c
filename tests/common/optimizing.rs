//! Kernels that were run, for the optimizing tier: compiled together, since starting a C compiler takes longer than a
//! kernel. A thread takes all its kernels, or a sample of them.

use crate::engines::{chain, same_arrays};
use redpoll_physical::emit::c::{CacheFolder, Options, Toolchain};
use redpoll_physical::kernel::{Draft, Kernel};
use redpoll_physical::run::Limits;
use redpoll_physical::storage::Tensor;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Kernels in a sample.
const SAMPLE: u64 = 8;
/// Which kernels of a thread go through the optimizing tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// A few, all equally likely.
    Sample,
    /// All, under a label.
    All(u64),
    /// None.
    None,
    /// Each at once, which takes long.
    Each,
}

struct Run {
    label: Option<u64>,
    draft: Draft,
    inputs: Vec<Tensor>,
    limits: Limits,
    outputs: Vec<Tensor>,
}

/// What the kernels of a thread have given.
#[derive(Debug, Default)]
pub struct Checked {
    /// Kernels that were offered, by threads that take some.
    pub offered: u64,
    /// Kernels whose results were compared.
    pub kernels: u64,
    /// What is wrong, by label.
    pub failures: Vec<(Option<u64>, String)>,
}

struct Thread {
    taken: Taken,
    runs: Vec<Run>,
    checked: Checked,
}

thread_local! {
    static THREAD: RefCell<Thread> = const {
        RefCell::new(Thread {
            taken: Taken::Sample,
            runs: Vec::new(),
            checked: Checked { offered: 0, kernels: 0, failures: Vec::new() },
        })
    };
}

/// Says which kernels of this thread are taken from now on.
pub fn take(taken: Taken) {
    THREAD.with_borrow_mut(|thread| thread.taken = taken);
}

/// Takes a kernel with what it has made of its inputs within these limits, or not.
///
/// # Errors
/// What is wrong with it, if each is compiled at once.
pub fn offer(kernel: &Kernel, (inputs, limits): (&[&Tensor], &Limits), outputs: &[Tensor]) -> Result<(), String> {
    let run = |label| {
        let inputs = inputs.iter().map(|t| (*t).clone()).collect();
        Run { label, draft: kernel.draft().clone(), inputs, limits: limits.clone(), outputs: outputs.to_vec() }
    };
    THREAD.with_borrow_mut(|thread| {
        thread.checked.offered += u64::from(thread.taken != Taken::None);
        let seen = thread.checked.offered;
        match thread.taken {
            Taken::Sample => {
                let drawn = seen.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % seen;
                let place = if seen <= SAMPLE { seen - 1 } else { drawn };
                match thread.runs.get_mut(place as usize) {
                    Some(other) => *other = run(None),
                    None if place < SAMPLE => thread.runs.push(run(None)),
                    None => {}
                }
                Ok(())
            }
            Taken::All(label) => {
                thread.runs.push(run(Some(label)));
                Ok(())
            }
            Taken::None => Ok(()),
            Taken::Each => {
                let mut checked = Checked::default();
                check(&[run(None)], &mut checked);
                checked.failures.pop().map_or(Ok(()), |(_, what)| Err(what))
            }
        }
    })
}

/// The kernels that this thread has taken and what they were run over; forgets them.
pub fn taken() -> Vec<(Draft, Vec<Tensor>)> {
    THREAD.with_borrow_mut(|thread| {
        thread.checked = Checked::default();
        std::mem::take(&mut thread.runs).into_iter().map(|run| (run.draft, run.inputs)).collect()
    })
}

/// Compiles the kernels that this thread has taken, all at once; gives what they gave, and forgets them.
pub fn finish() -> Checked {
    THREAD.with_borrow_mut(|thread| {
        check(&std::mem::take(&mut thread.runs), &mut thread.checked);
        std::mem::take(&mut thread.checked)
    })
}

/// Compiles kernels and compares what they give. Without a C compiler that is a failure: what cannot be tested must not
/// look tested.
fn check(runs: &[Run], checked: &mut Checked) {
    /// The same kernels come again as long as the code that makes them stays.
    static TOOLCHAIN: LazyLock<Arc<Toolchain>> = LazyLock::new(|| {
        // A busy machine takes minutes for dozens of kernels.
        let compiler_time = Duration::from_secs(600);
        let cache = CacheFolder::At(kernels_folder());
        Arc::new(Toolchain::new(Options { cache, compiler_time, ..Options::default() }))
    });
    if runs.is_empty() {
        return;
    }
    let drafts: Vec<&Draft> = runs.iter().map(|run| &run.draft).collect();
    let kernels = match Kernel::optimizing(&drafts, &TOOLCHAIN) {
        Ok(kernels) => kernels,
        Err(error) => return checked.failures.push((runs[0].label, format!("optimizing tier: {}", chain(&error)))),
    };
    for (kernel, run) in kernels.iter().zip(runs) {
        checked.kernels += 1;
        if let Err(what) = compare(kernel, run) {
            let what = format!("optimizing tier: {what}\n{}", kernel.function());
            checked.failures.push((run.label, what));
        }
    }
}

/// Returns the folder of compiled kernels: it lies in the target folder that the running binary was built into.
fn kernels_folder() -> PathBuf {
    let binary = std::env::current_exe().unwrap_or_default();
    let target = binary.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map_or_else(|| std::env::temp_dir().join("redpoll-tests"), |target| target.join("tmp")).join("kernels")
}

fn compare(kernel: &Kernel, run: &Run) -> Result<(), String> {
    let inputs: Vec<&Tensor> = run.inputs.iter().collect();
    let found = kernel.run(&inputs, &run.limits).map_err(|e| chain(&e))?.outputs;
    run.outputs.iter().zip(&found).try_for_each(|(expected, found)| same_arrays(expected, found))
}
