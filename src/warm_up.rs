//! Warm-up of the compiler, so that the first plan of a process does not wait for the start-up.
//!
//! At first use, pages of the compiler's code are loaded, the machine is detected, threads are
//! started, the heap grows, and the e-graph calibrates a clock. These steps take as long as
//! compiling several kernels. A small plan that runs in the background, and an e-graph created
//! beside it, trigger these steps while the caller reads its files.

use crate::bindings::Bindings;
use crate::config::Config;
use crate::session::Session;
use redpoll_logic::{DType, Format, Scalar, TensorType};
use redpoll_storage::{Tensor, Values};
use std::sync::Once;

/// A merge of two matrices into a sparse matrix. Its kernel has loads, stores, branches, nested
/// loops, and arrays that grow. The plan is minimal because the caller's first plan may be compiled
/// at the same time.
const PLAN: &str = "(plan
    (query C (reformat csr (mapjoin + (table A i k) (table B i k))))
    (produces C))";

/// Prepares and runs a small plan and creates an e-graph in the background, once per process.
pub(crate) fn warm_up() {
    static ONCE: Once = Once::new();
    // Errors are ignored: an error that also concerns the caller's plan is reported for that plan.
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
    Session::without_warm_up(config).prepare(PLAN, &bindings).ok()?.run().ok().map(drop)
}

#[cfg(test)]
mod tests {
    /// Asserts that the plan runs, because errors of the warm-up are ignored.
    #[test]
    fn the_plan_runs() {
        assert_eq!(super::run(), Some(()));
    }
}
