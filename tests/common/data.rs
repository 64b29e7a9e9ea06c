//! Random tensors: entries for building storage, and dense values for the interpreters.

use crate::rng::Rng;
use redpoll_logic::interp::DenseTensor;
use redpoll_logic::{Prim, Scalar, TensorType};
use redpoll_physical::storage::{Duplicates, Tensor, Triples, Values};
use std::ops::Range;
use std::sync::Arc;

/// Kinds of values to draw.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Small whole numbers, whose sums and products are exact.
    Exact,
    /// Floats from -4 to 4, and arbitrary integers.
    General,
    /// Also NaN, infinities, zeros of both signs and extremes.
    Special,
}

/// Parameters of a drawn tensor.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Percentage of coordinates that have an entry.
    pub density: u64,
    /// Range of whole numbers to draw from; without it, the dtype and kind decide.
    pub values: Option<Range<i64>>,
    pub kind: Kind,
}

/// Draws entries of a tensor of a type; returns them, and the dense values.
pub fn draw(rng: &mut Rng, ty: &TensorType, how: &Draw) -> (Triples, DenseTensor) {
    let places: usize = ty.shape.iter().product::<u64>() as usize;
    let mut dense = vec![ty.fill.clone(); places];
    let (mut coordinates, mut values) = (vec![Vec::new(); ty.shape.len()], Vec::new());
    for (at, slot) in dense.iter_mut().enumerate() {
        if !rng.chance(how.density) {
            continue;
        }
        // Some entries store the fill value.
        let value = if rng.chance(5) { ty.fill.clone() } else { scalar(rng, ty, how) };
        let mut rest = at as u64;
        for (list, n) in coordinates.iter_mut().zip(&ty.shape).rev() {
            list.push(rest % n);
            rest /= n;
        }
        values.push(value.clone());
        *slot = value;
    }
    let values = Values::from_scalars(ty.dtype.clone(), &values).expect("values of the dtype");
    (Triples { shape: ty.shape.clone(), coordinates, values }, DenseTensor { shape: ty.shape.clone(), values: dense })
}

/// Stores entries in the format of a type.
pub fn tensor(ty: &Arc<TensorType>, entries: &Triples) -> Tensor {
    let built = Tensor::from_triples(ty.clone(), entries, Duplicates::Error);
    built.unwrap_or_else(|e| panic!("{e}: {:?}", ty.format)).0
}

fn scalar(rng: &mut Rng, ty: &TensorType, how: &Draw) -> Scalar {
    let parts = ty.fill.flatten();
    let mut parts = parts.iter().map(|p| prim(rng, p.prim().expect("a flat value"), how));
    Scalar::unflatten(&ty.dtype, &mut parts).expect("as many parts as the fill value has")
}

fn prim(rng: &mut Rng, prim: Prim, how: &Draw) -> Scalar {
    let whole = |v: i64| Scalar::I64(v).cast(prim).expect("a primitive");
    if let Some(range) = &how.values {
        return whole(range.start + rng.index((range.end - range.start) as usize) as i64);
    }
    match (how.kind, prim) {
        (_, Prim::Bool) => Scalar::Bool(rng.chance(50)),
        (Kind::Exact, p) if p.is_signed() => whole(rng.below(9) as i64 - 4),
        (Kind::Exact, _) => whole(rng.below(7) as i64),
        (_, p) if p.is_int() => match rng.below(4) {
            0 => Scalar::from_bits(p, rng.bits()),
            1 => whole(*rng.pick(&[0, 1, -1, 2, -2, 63, 64, 127, 128, 255, i64::MAX, i64::MIN])),
            _ => whole(rng.below(200) as i64 - 100),
        },
        (Kind::Special, p) if rng.chance(40) => {
            let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e300, -1e300, 1e-310, 1.0, -1.0];
            Scalar::F64(*rng.pick(&special)).cast(p).expect("a float")
        }
        (_, p) => Scalar::F64((rng.bits() as i64) as f64 * 4.0f64 / 9.3e18).cast(p).expect("a float"),
    }
}
