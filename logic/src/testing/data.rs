//! Random values, fill values, formats and inputs.

use super::{DataKind, RandomInput, Rng};
use crate::dtype::{DType, Prim};
use crate::field::Alias;
use crate::format::{Format, LeafKind, StorageMode, TensorType};
use crate::interp::DenseTensor;
use crate::level::{LevelFormat, LevelKind};
use crate::scalar::Scalar;

/// Draws a value of a primitive type.
pub fn random_value(rng: &mut Rng, prim: Prim, data: DataKind) -> Scalar {
    let small = rng.below(11) as i64 - 5;
    if !prim.is_float() {
        return match rng.below(10) {
            0 => Scalar::from_bits(prim, rng.bits()),
            1 => {
                Scalar::from_bits(prim, *rng.pick(&[0, u64::MAX, 1 << (prim.bits() - 1), (1 << (prim.bits() - 1)) - 1]))
            }
            _ if prim == Prim::Bool => Scalar::Bool(rng.chance(50)),
            _ if prim.is_signed() => Scalar::from_bits(prim, small as u64),
            _ => Scalar::from_bits(prim, small.unsigned_abs()),
        };
    }
    let mantissa = (rng.bits() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0;
    let general = mantissa * f64::from(rng.below(12) as i32 - 6).exp2();
    let value = match data {
        DataKind::Exact => small as f64,
        DataKind::Special if rng.chance(30) => {
            *rng.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e300, -1e300, 1e-300, 1e30, 1e-30])
        }
        DataKind::General | DataKind::Special if rng.chance(20) => small as f64,
        DataKind::General | DataKind::Special => general,
    };
    Scalar::F64(value).cast(prim).expect("a primitive casts to a primitive")
}

/// Draws a fill value: often zero, otherwise one, an infinity, another value or, in special data,
/// NaN.
pub fn random_fill(rng: &mut Rng, prim: Prim, data: DataKind) -> Scalar {
    match rng.below(10) {
        0..=4 => Scalar::zero(prim),
        5 => Scalar::one(prim),
        6 | 7 if prim.is_float() => {
            let infinity = *rng.pick(&[f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY]);
            Scalar::F64(infinity).cast(prim).expect("a primitive casts to a primitive")
        }
        8 if prim.is_float() && data == DataKind::Special => {
            Scalar::F64(f64::NAN).cast(prim).expect("a primitive casts to a primitive")
        }
        _ => random_value(rng, prim, if data == DataKind::Special { DataKind::General } else { data }),
    }
}

/// Draws a valid format for tensors of the given rank, dtype and fill value: COO, a format with one
/// mode cut into blocks or skewed, or levels of the kinds in [`LevelKind::general`]. Without
/// blocks, the modes may have any order. A `bool` tensor with the fill value `false` may get a
/// pattern leaf.
pub fn random_format(rng: &mut Rng, rank: usize, dtype: &DType, fill: &Scalar) -> Format {
    let mut format = match rng.below(10) {
        0 | 1 if rank > 0 => Format::coo(rank),
        2 if rank > 0 => random_blocked_format(rng, rank),
        3 if rank > 1 => random_skewed_format(rng, rank),
        _ => {
            let general: Vec<LevelKind> = LevelKind::general().collect();
            let kinds: Vec<LevelKind> = (0..rank).map(|_| *rng.pick(&general)).collect();
            Format::of_kinds(&kinds, LeafKind::Element)
        }
    };
    let whole = format.modes.iter().all(|m| matches!(m, StorageMode::Whole { .. }));
    if whole && rng.chance(50) {
        let order = rng.shuffled((0..rank).collect());
        format = format.permuted(&order);
    }
    let lists = format.levels.last().is_some_and(|l| l.kind.traits().explicit);
    if lists && *dtype == DType::BOOL && *fill == Scalar::Bool(false) && rng.chance(30) {
        format.leaf = LeafKind::Pattern;
    }
    format
}

/// Draws a format with one mode cut into blocks. The outermost level stores the block numbers, the
/// next levels store the other modes, and the innermost level stores the coordinates within a
/// block.
fn random_blocked_format(rng: &mut Rng, rank: usize) -> Format {
    let (cut, block) = (rng.index(rank), 1 + rng.below(4));
    let others = (0..rank).filter(|&mode| mode != cut).map(|mode| StorageMode::Whole { mode });
    let modes: Vec<StorageMode> = std::iter::once(StorageMode::Outer { mode: cut, block })
        .chain(others)
        .chain([StorageMode::Inner { mode: cut, block }])
        .collect();
    let general: Vec<LevelKind> = LevelKind::general().collect();
    let levels = modes.iter().map(|_| LevelFormat::new(*rng.pick(&general))).collect();
    Format { levels, modes, leaf: LeafKind::Element }
}

/// Draws a format with one mode skewed by another, and the modes in any order.
fn random_skewed_format(rng: &mut Rng, rank: usize) -> Format {
    let order = rng.shuffled((0..rank).collect::<Vec<_>>());
    let (mode, by) = (order[0], order[1]);
    let modes = rng.shuffled((0..rank).collect()).into_iter().map(|m| match m == mode {
        true => StorageMode::Skew { mode, by },
        false => StorageMode::Whole { mode: m },
    });
    let general: Vec<LevelKind> = LevelKind::general().collect();
    let levels = (0..rank).map(|_| LevelFormat::new(*rng.pick(&general))).collect();
    Format { levels, modes: modes.collect(), leaf: LeafKind::Element }
}

/// Draws an input of the given shape.
pub(super) fn random_input(rng: &mut Rng, alias: Alias, shape: Vec<u64>, data: DataKind) -> RandomInput {
    let prim = *rng.pick(&[&Prim::ALL[..], &[Prim::F64, Prim::F64, Prim::F32, Prim::I64, Prim::Bool]].concat());
    let fill = random_fill(rng, prim, data);
    let dtype = DType::Prim(prim);
    let format = random_format(rng, shape.len(), &dtype, &fill);
    let density = *rng.pick(&[0, 20, 40, 70, 100]);
    let entries: u64 = shape.iter().product();
    let values =
        (0..entries).map(|_| if rng.chance(density) { random_value(rng, prim, data) } else { fill.clone() }).collect();
    let ty = TensorType { shape: shape.clone(), dtype, fill, format };
    RandomInput { alias, ty: ty.into(), data: DenseTensor { shape, values } }
}
