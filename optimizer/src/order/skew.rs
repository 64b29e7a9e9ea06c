//! Replaces fields by diagonals where tensors are stored by diagonals.
//!
//! Input: a nest. Output: candidate nests, one for each choice of replaced fields; the cheapest is
//! taken. A field `j` that is skewed by `i` becomes `d + i - shift` everywhere, with `d` the index
//! of the diagonal. Accesses by diagonals are then walked, and other accesses read at the
//! coordinate `d + i - shift`. Without the replacement, accesses by diagonals look up each
//! diagonal.

use crate::term::sizes::FieldSkew;
use crate::term::{ModeCoordinate, Nest, Term, is_regroupable};
use redpoll_logic::{Affine, Field, FloatMode, Format, StorageMode, Subscript};

/// Largest number of candidates.
const MAX_CANDIDATES: usize = 4;

/// Returns the nest itself and a nest for each choice of replaced fields, at most
/// [`MAX_CANDIDATES`] in all.
pub(crate) fn skew_candidates(nest: &Nest, mode: FloatMode) -> Vec<Nest> {
    let mut pairs: Vec<(Field, Field)> = Vec::new();
    let mut add_pair = |at: &[ModeCoordinate], format: &Format| {
        for m in &format.modes {
            let StorageMode::Skew { mode, by } = *m else { continue };
            let (Some(field), Some(along)) =
                (at.get(mode).and_then(ModeCoordinate::as_field), at.get(by).and_then(ModeCoordinate::as_field))
            else {
                continue;
            };
            let pair = (field.clone(), along.clone());
            if field != along && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    };
    for target in &nest.outputs {
        target.value.each_access(&mut |r| add_pair(&r.coordinates, &r.ty.format));
        target.format.iter().for_each(|format| add_pair(&target.coordinates, format));
    }
    pairs.retain(|(field, along)| can_skew(nest, field, along, mode));
    let mut candidates = vec![nest.clone()];
    for (field, along) in pairs {
        let can_replace = |n: &&Nest| {
            let replaced = |f: &Field| n.sizes.skews().any(|s| s.field == *f);
            n.sizes.skew(&field).next().is_none() && !replaced(&field) && !replaced(&along)
        };
        let skewed: Vec<Nest> = candidates.iter().filter(can_replace).map(|n| skew(n, &field, &along, mode)).collect();
        candidates.extend(skewed);
        candidates.truncate(MAX_CANDIDATES);
    }
    candidates
}

/// Returns whether diagonals may replace the field: `along` is bound wherever `field` is, no pin
/// has `field`, and coordinates may be visited diagonal by diagonal. `field` must be whole or the
/// inner part of a split into full blocks, and `along` must not be the inner part of a split.
fn can_skew(nest: &Nest, field: &Field, along: &Field, mode: FloatMode) -> bool {
    let is_pinned = nest.pins.iter().flatten().any(|f| f == field);
    // A loop along a diagonal would run past the end of a partial last block.
    let even = nest.sizes.split(field).is_some_and(|b| b.size.is_multiple_of(b.block));
    let can_replace = (nest.sizes.is_whole(field) || even) && nest.sizes.split(along).is_none();
    can_replace
        && !is_pinned
        && nest.outputs.iter().all(|target| {
            let loops = target.loops();
            // For a fixed coordinate of `field`, the coordinates of `along` descend from one
            // diagonal to the next.
            let in_order = target
                .fold
                .as_ref()
                .is_none_or(|(op, fields)| !fields.contains(along) || is_regroupable(op, &target.value.dtype(), mode));
            (!loops.contains(field) || loops.contains(along))
                && in_order
                && folds_allow_skew(&target.value, field, along, mode)
        })
}

fn folds_allow_skew(term: &Term, field: &Field, along: &Field, mode: FloatMode) -> bool {
    let mut all_fit = true;
    term.each_fold(&mut |_, fold| {
        // Both coordinates ascend along a diagonal, but a scan needs the loop over its own field.
        let scans = fold.along.contains(field) || fold.along.contains(along);
        let fits = match (fold.fields.contains(field), fold.fields.contains(along)) {
            _ if scans => false,
            (true, true) => is_regroupable(&fold.op, &fold.arg.dtype(), mode),
            (true, false) => fold.arg.fields().contains(along),
            _ => true,
        };
        all_fit &= fits && folds_allow_skew(&fold.arg, field, along, mode);
    });
    all_fit
}

fn skew(nest: &Nest, field: &Field, along: &Field, mode: FloatMode) -> Nest {
    let mut nest = nest.clone();
    let mut diagonal = Field::from(format!("{field}.d"));
    while nest.sizes.contains(&diagonal) {
        diagonal = Field::from(format!("{diagonal}d"));
    }
    let (size, shift) = (nest.sizes.of(field), nest.sizes.of(along).saturating_sub(1));
    let parts = FieldSkew { field: field.clone(), diagonal: diagonal.clone(), along: along.clone(), shift, size };
    nest.sizes.insert_skew(parts);
    let sum = Affine::field(diagonal.clone()).plus(&Affine::field(along.clone()));
    let form = sum.plus(&Affine::constant(-(shift as i64)));
    let with = |f: &Field| match f == field {
        true => ModeCoordinate::Subscript(Subscript::Affine(form.clone())),
        false => ModeCoordinate::field(f),
    };
    let pieces = |fields: &[Field]| {
        let replaced = |f: &Field| if f == field { diagonal.clone() } else { f.clone() };
        fields.iter().map(replaced).collect::<Vec<_>>()
    };
    for target in &mut nest.outputs {
        target.value = target.value.rebind(&with, &pieces, mode);
        target.coordinates = target.coordinates.iter().map(|at| at.substitute(&with, mode)).collect();
        target.fold = target.fold.take().map(|(op, fields)| (op, pieces(&fields)));
    }
    nest
}
