//! Tests of kernels that run over tensors whose device is lost.

use crate::launch::grid_interpreter;
use redpoll_compiler::lower::Draft;
use redpoll_compiler::testing::normal_form;
use redpoll_kernels::backend;
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::Limits;
use redpoll_logic::{DType, FloatMode, Format, Scalar, TensorType};
use redpoll_storage::testing::lost_tensor;
use redpoll_storage::{Array, Tensor, Values};
use std::sync::Arc;

/// Returns a matrix with all arrays on a lost device.
fn matrix() -> Tensor {
    let ty = TensorType { shape: vec![2, 3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::csr() };
    let values: Vec<Scalar> = [1.0, 0.0, 2.0, 0.0, 3.0, 4.0].map(Scalar::F64).to_vec();
    lost_tensor(&Tensor::from_dense(ty, &Values::from_scalars(DType::F64, &values).unwrap()).unwrap())
}

/// Runs report the driver's error and do not panic.
#[test]
fn a_run_over_a_lost_device_is_an_error() {
    let a = matrix();
    let text = "(program (input A (type (shape 2 3) f64 0.0 csr)) (input x (type (shape 3) f64 0.0 dense))
        (output y (type (shape 2) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))";
    let draft = Draft::new(&Arc::new(normal_form(text)), &[], FloatMode::default());
    let ty = TensorType { shape: vec![3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::dense(1) };
    let x = Tensor::new_unchecked(Arc::new(ty), vec![Vec::new()], vec![Array::from_vec(vec![1.0; 3])]);
    for backend in [backend::interpreter(), backend::instant(), grid_interpreter()] {
        let failure = Kernel::compile(&draft, &backend).unwrap().run(&[&a, &x], &Limits::default()).err();
        let message = failure.map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains("the device is lost"), "{}: {message:?}", backend.name());
    }
}
