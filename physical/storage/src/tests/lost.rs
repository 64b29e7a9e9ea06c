//! Tensors whose device is lost.

use crate::testing::lost_tensor;
use crate::{MemoryBudget, Survey, Tensor, Values, convert, convert_within};
use redpoll_logic::statistics::{Fact, ModeSet};
use redpoll_logic::{DType, Format, Scalar, TensorType};
use std::sync::Arc;

/// Returns a matrix with all arrays on a lost device.
fn matrix() -> Tensor {
    let ty = TensorType { shape: vec![2, 3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::csr() };
    let values: Vec<Scalar> = [1.0, 0.0, 2.0, 0.0, 3.0, 4.0].map(Scalar::F64).to_vec();
    lost_tensor(&Tensor::from_dense(ty, &Values::from_scalars(DType::F64, &values).unwrap()).unwrap())
}

/// Operations that can fail report the driver's error and do not panic.
#[test]
fn a_lost_device_is_an_error() {
    let a = matrix();
    let budget = Arc::new(MemoryBudget::new(usize::MAX));
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
        ("level_positions", a.level_positions().err()),
        ("count_stored", a.count_stored().err()),
        ("count_differing_from_fill", a.count_differing_from_fill().err()),
        ("sum", a.sum().err()),
        ("with_fill", a.with_fill(&Scalar::F64(1.0)).err()),
        ("survey", Survey::of(&a).err()),
    ];
    for (what, failure) in failures {
        let message = failure.map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains("the device is lost"), "{what}: {message:?}");
    }
}

/// Statistics of a tensor on a lost device are unknown, and a request for them does not panic.
#[test]
fn statistics_of_a_lost_device_are_unknown() {
    let (a, modes) = (matrix(), [0, 1].map(|mode| ModeSet::default().with(mode)));
    assert_eq!(a.distinct(modes[0]), None);
    assert_eq!(a.distinct(modes[0].union(modes[1])), None);
    assert_eq!(a.degree(modes[0], modes[1]), None);
    assert!(a.marginal(modes[0], 0).is_none() && a.links(0, 1).is_none());
    assert!(!a.holds(Fact::Symmetric(0, 1)) && !a.holds(Fact::OffDiagonal(0, 1)));
}
