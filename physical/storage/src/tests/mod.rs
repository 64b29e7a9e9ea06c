//! Tests of whole tensors.

mod errors;
mod exchange;
mod lost;
mod measure;
mod roundtrip;
mod run_ends;
mod structure;

use super::{Duplicates, Tensor, Triples, Values};
use proptest::prelude::*;
use redpoll_logic::{DType, Format, LeafKind, Prim, Scalar, TensorType};
use std::collections::BTreeMap;

/// A tensor as a map of the elements that differ from the fill value.
pub(super) type Model = BTreeMap<Vec<u64>, Scalar>;

/// Entries with distinct coordinates, and the shape, dtype and fill value.
#[derive(Clone, Debug)]
pub(super) struct TensorSample {
    pub(super) shape: Vec<u64>,
    pub(super) dtype: DType,
    pub(super) fill: Scalar,
    pub(super) entries: Vec<(Vec<u64>, Scalar)>,
}

impl TensorSample {
    pub(super) fn ty(&self, format: &Format) -> TensorType {
        TensorType {
            shape: self.shape.clone(),
            dtype: self.dtype.clone(),
            fill: self.fill.clone(),
            format: format.clone(),
        }
    }

    pub(super) fn triples(&self) -> Triples {
        let scalars: Vec<Scalar> = self.entries.iter().map(|(_, v)| v.clone()).collect();
        Triples {
            shape: self.shape.clone(),
            coordinates: (0..self.shape.len()).map(|m| self.entries.iter().map(|(p, _)| p[m]).collect()).collect(),
            values: Values::from_scalars(self.dtype.clone(), &scalars).unwrap(),
        }
    }

    pub(super) fn model(&self) -> Model {
        self.entries.iter().filter(|(_, v)| *v != self.fill).cloned().collect()
    }

    pub(super) fn tensor(&self, format: &Format) -> Tensor {
        let (tensor, duplicates) = Tensor::from_triples(self.ty(format), &self.triples(), Duplicates::Error).unwrap();
        assert_eq!(duplicates, 0);
        tensor.validate().unwrap();
        tensor
    }
}

pub(super) fn model_of(triples: &Triples, fill: &Scalar) -> Model {
    let entries = (0..triples.len()).map(|k| (triples.coordinates_of(k), triples.values.get(k)));
    entries.filter(|(_, v)| v != fill).collect()
}

/// Returns the coordinates of every element of a shape, row-major.
pub(super) fn all_coordinates(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![Vec::new()], |all, &n| {
        all.into_iter().flat_map(|p| (0..n).map(move |i| [&p[..], &[i]].concat())).collect()
    })
}

/// Returns a few values of a primitive, including zero and, for floats, an infinity and NaN.
pub(super) fn values_of(prim: Prim) -> Vec<Scalar> {
    match prim {
        Prim::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        Prim::F32 => [0.0, 1.5, -2.0, f32::NAN, f32::INFINITY].map(Scalar::F32).to_vec(),
        Prim::F64 => [0.0, 1.5, -2.0, f64::NAN, f64::NEG_INFINITY].map(Scalar::F64).to_vec(),
        _ => [0, 1, 5, u64::MAX].map(|bits| Scalar::from_bits(prim, bits)).to_vec(),
    }
}

fn any_dtype() -> impl Strategy<Value = DType> {
    let prim = proptest::sample::select(Prim::ALL.to_vec()).prop_map(DType::Prim).boxed();
    let pair = (prim.clone(), prim.clone()).prop_map(|(a, b)| DType::structure([("a", a), ("b", b)])).boxed();
    prop_oneof![4 => prim, 1 => pair]
}

fn any_value(dtype: &DType) -> BoxedStrategy<Scalar> {
    let parts: Vec<_> = dtype.prims().into_iter().map(|p| proptest::sample::select(values_of(p))).collect();
    let dtype = dtype.clone();
    parts.prop_map(move |parts| Scalar::unflatten(&dtype, &mut parts.into_iter()).unwrap()).boxed()
}

/// Returns random tensors of a rank: small dimensions including 0 and 1, entries in random order,
/// some of them explicit fill values.
pub(super) fn any_sample(rank: usize) -> impl Strategy<Value = TensorSample> {
    let shape = proptest::collection::vec(prop_oneof![1 => 0u64..2, 6 => 2u64..8], rank);
    (shape, any_dtype(), 0.0..1.0f64).prop_flat_map(|(shape, dtype, density)| {
        let all_coordinates = all_coordinates(&shape);
        let n = all_coordinates.len();
        let value = any_value(&dtype);
        let stored = proptest::collection::vec((proptest::bool::weighted(density), value.clone()), n);
        (Just(all_coordinates).prop_shuffle(), stored, value).prop_map(move |(all_coordinates, stored, fill)| {
            let entries = all_coordinates.into_iter().zip(stored).filter(|(_, (s, _))| *s).map(|(p, (_, v))| (p, v));
            TensorSample { shape: shape.clone(), dtype: dtype.clone(), fill, entries: entries.collect() }
        })
    })
}

/// Returns the format with a pattern leaf.
pub(super) fn pattern(format: &Format) -> Format {
    Format { leaf: LeafKind::Pattern, ..format.clone() }
}
