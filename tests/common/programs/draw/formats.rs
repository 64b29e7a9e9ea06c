//! Random values and formats for the tensors of a program.

use super::forms::{Rejection, normal_form};
use super::{ProgramCase, ProgramTensor, Usage};
use redpoll_compiler::notation::ProgramRule;
use redpoll_logic::testing::{Rng, random_format};
use redpoll_logic::{Format, LeafKind, LevelFormat, LevelKind, Scalar, StorageMode, TensorType};
use redpoll_storage::{Tensor, Values};

/// Draws the values of an input at all coordinates: random values, runs, one run per row, or one
/// coordinate per row.
pub(super) fn draw_values(rng: &mut Rng, ty: &TensorType, below: Option<u64>) -> Vec<Scalar> {
    let elements: u64 = ty.shape.iter().product();
    let row = ty.shape.last().copied().unwrap_or(1).max(1);
    let prim = ty.dtype.prim().expect("inputs are primitives");
    let density = *rng.pick(&[0, 25, 50, 80, 100]);
    let pattern = rng.below(10);
    let one = |rng: &mut Rng| {
        let small = match below {
            Some(below) => rng.below(below) as i64,
            None if prim.is_signed() || prim.is_float() => rng.below(7) as i64 - 2,
            None => rng.below(5) as i64,
        };
        Scalar::I64(small).cast(prim).expect("a primitive")
    };
    let (mut run, mut begin, mut end) = (ty.fill.clone(), 0, 0);
    let mut all = Vec::new();
    for element in 0..elements {
        let column = element % row;
        if column == 0 {
            begin = rng.below(row + 1);
            end = if pattern == 6 { begin + 1 } else { begin + rng.below(row - begin.min(row) + 1) };
            run = one(rng);
        }
        all.push(match pattern {
            // Runs of equal values, across rows too.
            3..=5 => {
                if rng.chance(35) {
                    run = if rng.chance(density) { one(rng) } else { ty.fill.clone() };
                }
                run.clone()
            }
            6 | 7 => {
                if (begin..end).contains(&column) {
                    run.clone()
                } else {
                    ty.fill.clone()
                }
            }
            _ if rng.chance(density) => one(rng),
            _ => ty.fill.clone(),
        });
    }
    all
}

/// Returns the case with new formats, drawn by `draw_formats`.
pub fn redraw_formats(seed: u64, case: &ProgramCase) -> ProgramCase {
    let mut rng = Rng::new(seed ^ 0xf0e1);
    let mut case = case.clone();
    draw_formats(&mut rng, &mut case);
    case
}

/// Draws the formats of all tensors. If the program is rejected because it writes a tensor in an
/// order that the format does not accept, replaces this format by a format that accepts any order.
pub(super) fn draw_formats(rng: &mut Rng, case: &mut ProgramCase) {
    for tensor in &mut case.tensors {
        tensor.ty.format = draw_format(rng, tensor);
    }
    for k in 0..case.tensors.len() {
        let partner = case.tensors.iter().find(|t| case.tensors[k].swapped_with.as_ref() == Some(&t.name));
        if let Some(format) = partner.map(|t| t.ty.format.clone()) {
            case.tensors[k].ty.format = format;
        }
    }
    for _ in 0..case.tensors.len() {
        let Err(Rejection { rule: Some(ProgramRule::Order), message }) = normal_form(case) else { return };
        let named = |t: &&mut ProgramTensor| message.contains(&format!("`{}` is written", t.name));
        let Some(tensor) = case.tensors.iter_mut().find(named) else { return };
        tensor.ty.format = random_access_format(rng, tensor);
    }
}

/// Draws a format that supports the use of a tensor in the program.
fn draw_format(rng: &mut Rng, tensor: &ProgramTensor) -> Format {
    match tensor.constraints.usage {
        Usage::Input => input_format(rng, tensor),
        Usage::Mutable => {
            let rank = tensor.ty.shape.len();
            let order = rng.shuffled((0..rank).collect());
            if rng.chance(80) { Format::dense(rank) } else { Format::dense(rank).permuted(&order) }
        }
        Usage::Random => random_access_format(rng, tensor),
        Usage::Append => append_format(rng, tensor),
    }
}

/// Draws a format whose levels accept writes in any order.
fn random_access_format(rng: &mut Rng, tensor: &ProgramTensor) -> Format {
    let rank = tensor.ty.shape.len();
    let kinds: Vec<LevelKind> = LevelKind::general().filter(|k| k.traits().writes.is_random()).collect();
    let level_kinds: Vec<LevelKind> = (0..rank).map(|_| *rng.pick(&kinds)).collect();
    let format = Format::of_kinds(&level_kinds, LeafKind::Element);
    if rank > 0 && !tensor.constraints.has_outside && rng.chance(8) {
        let (cut, block) = (rng.index(rank), 1 + rng.below(3));
        let others = (0..rank).filter(|mode| *mode != cut).map(|mode| StorageMode::Whole { mode });
        let modes: Vec<StorageMode> = std::iter::once(StorageMode::Outer { mode: cut, block })
            .chain(others)
            .chain([StorageMode::Inner { mode: cut, block }])
            .collect();
        let levels = modes.iter().map(|_| LevelFormat::new(*rng.pick(&kinds))).collect();
        return Format { levels, modes, leaf: LeafKind::Element };
    }
    let order = rng.shuffled((0..rank).collect());
    if rng.chance(75) { format } else { format.permuted(&order) }
}

/// Draws a format with levels of any kind, whose storage order is the order of the writes.
fn append_format(rng: &mut Rng, tensor: &ProgramTensor) -> Format {
    let rank = tensor.ty.shape.len();
    let order = write_order(tensor);
    let mut format = if rng.chance(15) {
        Format::coo(rank)
    } else {
        let kinds: Vec<LevelKind> = LevelKind::general().collect();
        let mut level_kinds: Vec<LevelKind> = (0..rank).map(|_| *rng.pick(&kinds)).collect();
        if tensor.constraints.is_single && rng.chance(40) {
            level_kinds[rank - 1] = *rng.pick(&[LevelKind::Pinpoint, LevelKind::Interval]);
        }
        Format::of_kinds(&level_kinds, LeafKind::Element)
    };
    let explicit = format.levels.last().is_some_and(|l| l.kind.traits().explicit);
    // Entries of a pattern leaf are always `true`.
    if explicit && tensor.constraints.written_once && tensor.ty.fill == Scalar::Bool(false) && rng.chance(50) {
        format.leaf = LeafKind::Pattern;
    }
    format.permuted(&order)
}

/// Returns the modes in the order in which a tensor is written.
fn write_order(tensor: &ProgramTensor) -> Vec<usize> {
    tensor.constraints.order[..tensor.ty.shape.len()].to_vec()
}

/// Draws a format with levels of any kind that can store the values.
fn input_format(rng: &mut Rng, tensor: &ProgramTensor) -> Format {
    let (ty, rank) = (&tensor.ty, tensor.ty.shape.len());
    if rank > 0 && rng.chance(25) {
        let kinds: Vec<LevelKind> = LevelKind::general().collect();
        let mut level_kinds: Vec<LevelKind> = (0..rank).map(|_| *rng.pick(&kinds)).collect();
        level_kinds[rank - 1] = *rng.pick(&[LevelKind::Pinpoint, LevelKind::Interval]);
        let format = Format::of_kinds(&level_kinds, LeafKind::Element);
        if store_values(ty, &format, &tensor.values).is_ok() {
            return format;
        }
    }
    loop {
        let format = random_format(rng, rank, &ty.dtype, &ty.fill);
        let whole = format.modes.iter().all(|m| matches!(m, StorageMode::Whole { .. }));
        let blocked = format.modes.iter().all(|m| !matches!(m, StorageMode::Skew { .. }));
        if whole || (blocked && !tensor.constraints.has_outside) {
            return format;
        }
    }
}

/// Stores dense values in a format.
pub fn store_values(
    ty: &TensorType,
    format: &Format,
    values: &[Scalar],
) -> Result<Tensor, Box<redpoll_storage::Error>> {
    let ty = TensorType { format: format.clone(), ..ty.clone() };
    let values = Values::from_scalars(ty.dtype.clone(), values)?;
    Ok(Tensor::from_dense(ty, &values)?)
}
