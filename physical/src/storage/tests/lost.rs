//! Tensors whose device is lost.

use crate::Error;
use crate::kernel::{Draft, Engine, Kernel};
use crate::run::{Limits, MemoryBudget};
use crate::storage::away::{Away, Remote};
use crate::storage::footprint::Survey;
use crate::storage::{Array, Tensor, convert, convert_within};
use crate::testing::normal_form;
use redpoll_logic::{DType, FloatMode, Format, Prim, Scalar, TensorType};
use std::sync::Arc;

#[derive(Debug)]
struct Lost(usize);

fn lost() -> Error {
    Error::Device { ordinal: 3, kernel: "f".into(), message: "it is gone".into() }
}

impl Remote for Lost {
    fn bytes(&self) -> usize {
        self.0
    }

    fn fetch(&self, _: &mut [u8]) -> Result<(), Error> {
        Err(lost())
    }

    fn forget(&self) {}
}

/// A matrix of which nothing is here.
fn matrix() -> Tensor {
    let ty = TensorType { shape: vec![2, 3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::csr() };
    let budget = Arc::new(MemoryBudget::new(usize::MAX));
    let array = |prim: Prim, len: usize| {
        Array::left_away(prim, Away::new(Box::new(Lost(len * prim.bytes())), &budget).expect("it has room"))
    };
    Tensor::new_unchecked(
        Arc::new(ty),
        vec![Vec::new(), vec![array(Prim::I32, 3), array(Prim::U32, 4)]],
        vec![array(Prim::F64, 4)],
    )
}

/// Protects users from panics: what can fail says what the driver does.
#[test]
fn a_lost_device_is_told_as_an_error() {
    let a = matrix();
    let budget = Arc::new(MemoryBudget::new(usize::MAX));
    let text = "(program (input A (type (shape 2 3) f64 0.0 csr)) (input x (type (shape 3) f64 0.0 dense))
        (output y (type (shape 2) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))";
    let draft = Draft::new(&Arc::new(normal_form(text)), &[], FloatMode::default());
    let ty = TensorType { shape: vec![3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::dense(1) };
    let x = Tensor::new_unchecked(Arc::new(ty), vec![Vec::new()], vec![Array::from_vec(vec![1.0; 3])]);
    let run = |engine| Kernel::of(&draft, engine).unwrap().run(&[&a, &x], &Limits::default()).err();
    let all = 0..u64::MAX;
    let failures = [
        ("fetch", a.fetch().err()),
        ("convert", convert(&a, &Format::dense(2)).err()),
        ("convert_within", convert_within(&a, &Format::coo(2), &budget).err()),
        ("get", a.get(&[0, 0]).err()),
        ("to_triples", a.to_triples().err()),
        ("to_triples_within", a.to_triples_within(&[all.clone(), all.clone()], 1).err()),
        ("to_dense_scalars", a.to_dense_scalars().err()),
        ("to_record_batch", a.to_record_batch(&["i", "j"]).err()),
        ("to_record_batch_within", a.to_record_batch_within(&["i", "j"], &[all.clone(), all], 1).err()),
        ("structure", a.structure().err()),
        ("survey", Survey::of(&a).err()),
        ("interpreted", run(Engine::Interpreter)),
        ("instant", run(Engine::Instant)),
        ("grid", run(Engine::Grid)),
    ];
    for (what, failure) in failures {
        assert_eq!(failure.map(|e| e.to_string()), Some(lost().to_string()), "{what}");
    }
}
