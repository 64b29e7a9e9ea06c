//! Warming up: the first plan of a process would wait for what no later one waits for.
//!
//! Pages of the compiler's code are read when first executed, the description of the machine is made when first asked
//! for, threads are started, the heap grows and the e-graph has a clock calibrated. That takes as long as compiling several kernels; a small plan that is
//! taken all the way in the background has it done while the caller reads its files.

use crate::config::Config;
use crate::session::{Bindings, Session};
use redpoll_logic::{DType, Format, Scalar, TensorType};
use redpoll_physical::storage::{Tensor, Values};
use std::sync::Once;

/// Two matrices merged into a sparse one: loads and stores, branches, loops in loops, growth. No more than that, since the
/// caller's first plan may be compiled at the same time.
const PLAN: &str = "(plan
    (query C (reformat csr (mapjoin + (table A i k) (table B i k))))
    (produces C))";

/// Takes a small plan to its results in the background, once a process.
pub(crate) fn warm_up() {
    static ONCE: Once = Once::new();
    // What fails here fails for the caller's plan as well, and is told there.
    ONCE.call_once(|| {
        rayon::spawn(|| {
            let _ = run();
        });
        rayon::spawn(redpoll_optimizer::warm_up);
    });
}

fn run() -> Option<()> {
    let ones = |format: Format| {
        let shape = vec![2; format.levels.len()];
        let values = Values::repeat(&Scalar::F64(1.0), 1 << shape.len()).ok()?;
        let ty = TensorType { shape, dtype: DType::F64, fill: Scalar::F64(0.0), format };
        Tensor::from_dense(ty, &values).ok()
    };
    let matrix = ones(Format::csr())?;
    let bindings = Bindings::new().with("A", matrix.clone()).with("B", matrix);
    let config = Config { dump: None, load: None, ..Config::default() };
    Session::cold(config).prepare(PLAN, &bindings).ok()?.run().ok().map(drop)
}

#[cfg(test)]
mod tests {
    /// Protects the plan from being refused, which nobody would notice.
    #[test]
    fn the_plan_runs() {
        assert_eq!(super::run(), Some(()));
    }
}
