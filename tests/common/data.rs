//! Random tensors: entries for building storage, and dense values for the interpreters.

use crate::rng::Rng;
use redpoll_logic::interp::DenseTensor;
use redpoll_logic::{Prim, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values};
use std::ops::Range;
use std::sync::Arc;

/// Kinds of values to draw.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueKind {
    /// Small whole numbers, whose sums and products are exact.
    Exact,
    /// Floats from -4 to 4, and arbitrary integers.
    General,
    /// The values of `General`, and also NaN, infinities, zeros of both signs and extremes.
    Special,
}

/// Parameters of a drawn tensor.
#[derive(Clone, Debug)]
pub struct DrawOptions {
    /// Percentage of coordinates that have an entry.
    pub density: u64,
    /// Range of whole numbers to draw from; if `None`, the dtype and `kind` determine the values.
    pub values: Option<Range<i64>>,
    pub kind: ValueKind,
}

/// Draws the entries of a tensor of the given type; returns the entries and the dense values.
pub fn draw(rng: &mut Rng, ty: &TensorType, options: &DrawOptions) -> (Triples, DenseTensor) {
    let elements: usize = ty.shape.iter().product::<u64>() as usize;
    let mut dense = vec![ty.fill.clone(); elements];
    let (mut coordinates, mut values) = (vec![Vec::new(); ty.shape.len()], Vec::new());
    for (index, element) in dense.iter_mut().enumerate() {
        if !rng.chance(options.density) {
            continue;
        }
        // Some entries store the fill value.
        let value = if rng.chance(5) { ty.fill.clone() } else { draw_scalar(rng, ty, options) };
        let mut rest = index as u64;
        for (list, n) in coordinates.iter_mut().zip(&ty.shape).rev() {
            list.push(rest % n);
            rest /= n;
        }
        values.push(value.clone());
        *element = value;
    }
    let values = Values::from_scalars(ty.dtype.clone(), &values).expect("values of the dtype");
    (Triples { shape: ty.shape.clone(), coordinates, values }, DenseTensor { shape: ty.shape.clone(), values: dense })
}

/// Stores entries in the format of a type.
pub fn tensor(ty: &Arc<TensorType>, entries: &Triples) -> Tensor {
    let built = Tensor::from_triples(ty.clone(), entries, Duplicates::Error);
    built.unwrap_or_else(|e| panic!("{e}: {:?}", ty.format)).0
}

fn draw_scalar(rng: &mut Rng, ty: &TensorType, options: &DrawOptions) -> Scalar {
    let parts = ty.fill.flatten();
    let mut parts = parts.iter().map(|p| draw_prim(rng, p.prim().expect("a flat value"), options));
    Scalar::unflatten(&ty.dtype, &mut parts).expect("as many parts as the fill value has")
}

fn draw_prim(rng: &mut Rng, prim: Prim, options: &DrawOptions) -> Scalar {
    let integer = |v: i64| Scalar::I64(v).cast(prim).expect("a primitive");
    if let Some(range) = &options.values {
        return integer(range.start + rng.index((range.end - range.start) as usize) as i64);
    }
    match (options.kind, prim) {
        (_, Prim::Bool) => Scalar::Bool(rng.chance(50)),
        (ValueKind::Exact, p) if p.is_signed() => integer(rng.below(9) as i64 - 4),
        (ValueKind::Exact, _) => integer(rng.below(7) as i64),
        (_, p) if p.is_int() => match rng.below(4) {
            0 => Scalar::from_bits(p, rng.bits()),
            1 => integer(*rng.pick(&[0, 1, -1, 2, -2, 63, 64, 127, 128, 255, i64::MAX, i64::MIN])),
            _ => integer(rng.below(200) as i64 - 100),
        },
        (ValueKind::Special, p) if rng.chance(40) => {
            let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e300, -1e300, 1e-310, 1.0, -1.0];
            Scalar::F64(*rng.pick(&special)).cast(p).expect("a float")
        }
        (_, p) => Scalar::F64((rng.bits() as i64) as f64 * 4.0f64 / 9.3e18).cast(p).expect("a float"),
    }
}
