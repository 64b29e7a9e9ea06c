//! A sample of the kernels that a thread has run, for the optimizing tier: compiled together, since starting a C compiler
//! takes longer than a kernel.

use super::engines::{chain, same_arrays};
use redpoll_physical::emit::c::Toolchain;
use redpoll_physical::kernel::{Draft, Kernel};
use redpoll_physical::run::Limits;
use redpoll_physical::storage::Tensor;
use std::cell::RefCell;

/// Kernels in a sample.
const MOST: u64 = 8;

struct Sampled {
    draft: Draft,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

thread_local! {
    static SAMPLE: RefCell<(u64, Vec<Sampled>)> = const { RefCell::new((0, Vec::new())) };
}

/// Takes a kernel with what it has made of its inputs into the sample, or not: all kernels are equally likely to be in it.
pub(crate) fn sample(kernel: &Kernel, inputs: &[&Tensor], outputs: &[Tensor]) {
    SAMPLE.with_borrow_mut(|(seen, sample)| {
        *seen += 1;
        let place =
            if *seen <= MOST { *seen - 1 } else { seen.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % *seen };
        if place < MOST {
            let inputs = inputs.iter().map(|t| (*t).clone()).collect();
            let sampled = Sampled { draft: kernel.draft().clone(), inputs, outputs: outputs.to_vec() };
            match sample.get_mut(place as usize) {
                Some(other) => *other = sampled,
                None => sample.push(sampled),
            }
        }
    });
}

/// Compiles the sample of this thread, compares what its kernels give, and forgets it. Without a C compiler it fails: what
/// cannot be tested must not look tested.
pub(crate) fn check_sample() -> Result<(), String> {
    let (_, sample) = SAMPLE.take();
    let drafts: Vec<&Draft> = sample.iter().map(|s| &s.draft).collect();
    let kernels =
        Kernel::optimizing(&drafts, Toolchain::host()).map_err(|e| format!("optimizing tier: {}", chain(&e)))?;
    for (kernel, Sampled { inputs, outputs, .. }) in kernels.iter().zip(&sample) {
        let at = |what: String| format!("optimizing tier: {what}\n{}", kernel.function());
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let found = kernel.run(&inputs, &Limits::default()).map_err(|e| at(chain(&e)))?.outputs;
        for (expected, found) in outputs.iter().zip(&found) {
            same_arrays(expected, found).map_err(at)?;
        }
    }
    Ok(())
}
