//! Real matrices from the collection of data sets, if the data are available: the folder
//! `shared/datasets` next to the checkout, or the folder in `REDPOLL_DATASETS`.

use super::largest;
use redpoll::linalg;
use redpoll::logic::Prim;
use redpoll::prelude::*;
use std::path::{Path, PathBuf};

fn matrix(session: &Session, name: &str) -> Option<Array> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/datasets");
    let folder = std::env::var_os("REDPOLL_DATASETS").map_or_else(beside, PathBuf::from);
    let path = folder.join("matrices").join(format!("{name}.mtx.zst"));
    path.exists().then(|| session.read(path).unwrap())
}

/// Returns the largest residual of a system, relative to the matrix and the solution.
fn backward_error(a: &Array, x: &Array, b: &Array) -> f64 {
    largest(&(a.matmul(x) - b)) / (largest(a) * largest(x) + largest(b))
}

/// Systems with symmetric and unsymmetric matrices of circuits, structures, reservoirs and chemical
/// plants have solutions with small residuals.
#[test]
fn residuals_of_real_matrices_are_small() {
    let session = Session::default();
    for name in ["west0067", "orsirr_1", "bayer10", "494_bus", "bcsstk16", "rajat19", "superlu_big"] {
        let Some(a) = matrix(&session, name) else { continue };
        let b = session.ones([a.shape().unwrap()[0]], Prim::F64);
        let error = backward_error(&a, &linalg::spsolve(&a, &b).unwrap(), &b);
        assert!(error < 1e-12, "{name} {error:e}");
        if ["494_bus", "bcsstk16"].contains(&name) {
            let x = linalg::sparse_cholesky(&a).unwrap().solve(&b).unwrap();
            assert!(backward_error(&a, &x, &b) < 1e-12, "{name}");
        }
    }
}

/// The least-squares solutions of the sparse QR factorization agree with those of the dense
/// function `lstsq`.
#[test]
fn least_squares_of_real_matrices() {
    let session = Session::default();
    for name in ["well1033", "illc1033"] {
        let Some(a) = matrix(&session, name) else { continue };
        let b = session.ones([a.shape().unwrap()[0]], Prim::F64);
        let x = linalg::sparse_qr(&a).unwrap().solve(&b).unwrap();
        let gradient = a.t().matmul(a.matmul(&x) - &b);
        assert!(largest(&gradient) < 1e-9, "{name} {:e}", largest(&gradient));
        let expected = linalg::lstsq(&a, &b, None).unwrap().x;
        assert!(largest(&(&x - &expected)) < 1e-6 * largest(&expected), "{name}");
    }
}
