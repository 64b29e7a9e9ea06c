//! Splits fields into blocks where tensors are stored in blocks, or read at quotients and
//! remainders of fields.
//!
//! Input: a nest. Output: candidate nests, of which the cheapest is taken. There is one nest for
//! each choice of fields that are split into stored blocks. If that nest reads at quotients or
//! remainders, a variant of the nest splits the fields of these as well. A split field `i` becomes
//! `block * i.o + i.i` everywhere. Blocked accesses are then walked, and other accesses read at the
//! coordinate `block * i.o + i.i`. Without the split, blocked accesses need an unblocked copy, and
//! reads at `i / block` and `i mod block` (a reshape, a tile, a repeat, a Kronecker product) look
//! up each coordinate.

use crate::term::sizes::{FieldSplit, Sizes};
use crate::term::{ModeCoordinate, Nest, Node, Term};
use redpoll_logic::{Affine, Field, FloatMode, StorageMode, Subscript, TensorType};

/// Largest number of choices of blocks.
const MAX_CANDIDATES: usize = 16;

/// Largest number of rounds of splits at quotients. Each round splits the fields of innermost
/// quotients, including fields that an earlier round has introduced, so a quotient that contains
/// another quotient takes a further round.
const MAX_ROUNDS: usize = 4;

/// Returns a nest for each choice of blocks, up to [`MAX_CANDIDATES`] choices. Their variants with
/// further splits at quotients and remainders, if any, come first.
pub(crate) fn split_candidates(nest: &Nest, mode: FloatMode) -> Vec<Nest> {
    let nest = &resolve_quotients(nest, mode);
    let mut blocks: Vec<(Field, Vec<u64>)> = Vec::new();
    let mut add_block = |at: &ModeCoordinate, block: u64| {
        // A part of a split or of a diagonal is not split again: its loop obeys the bounds of the
        // whole field, and the loops of its own parts would not.
        let Some(field) = at.as_field().filter(|f| nest.sizes.is_whole(f)) else { return };
        match blocks.iter_mut().find(|(f, _)| f == field) {
            Some((_, sizes)) if !sizes.contains(&block) => sizes.push(block),
            Some(_) => {}
            None => blocks.push((field.clone(), vec![block])),
        }
    };
    for target in &nest.outputs {
        target
            .value
            .each_access(&mut |r| outer_modes(&r.ty).for_each(|(mode, block)| add_block(&r.coordinates[mode], block)));
        for m in target.format.iter().flat_map(|f| &f.modes) {
            if let StorageMode::Outer { mode, block } = *m
                && let Some(at) = target.coordinates.get(mode)
            {
                add_block(at, block);
            }
        }
    }
    let mut choices: Vec<Vec<(Field, u64)>> = vec![Vec::new()];
    for (field, sizes) in blocks {
        let options = sizes.into_iter().map(Some).chain([None]);
        choices = options
            .flat_map(|option| {
                let field = &field;
                choices.iter().map(move |c| c.iter().cloned().chain(option.map(|b| (field.clone(), b))).collect())
            })
            .take(MAX_CANDIDATES)
            .collect();
    }
    let blocked: Vec<Nest> = choices.iter().map(|choice| split(nest, choice, SplitReason::Blocks, mode)).collect();
    let divided: Vec<Nest> = blocked.iter().filter_map(|nest| split_at_quotients(nest, mode)).collect();
    divided.into_iter().chain(blocked).collect()
}

fn outer_modes(ty: &TensorType) -> impl Iterator<Item = (usize, u64)> {
    ty.format.modes.iter().filter_map(|m| match *m {
        StorageMode::Outer { mode, block } => Some((mode, block)),
        _ => None,
    })
}

/// Splits the fields that accesses read at quotients and remainders; returns `None` when there are
/// no such fields.
fn split_at_quotients(nest: &Nest, mode: FloatMode) -> Option<Nest> {
    let mut found: Option<Nest> = None;
    for _ in 0..MAX_ROUNDS {
        let nest = found.as_ref().unwrap_or(nest);
        let mut choice: Vec<(Field, u64)> = Vec::new();
        for target in &nest.outputs {
            target.value.each_access(&mut |read| {
                for (field, block) in read.coordinates.iter().flat_map(|at| nest.sizes.splits_for(at, mode)) {
                    let is_whole = nest.sizes.is_whole(&field);
                    match choice.iter_mut().find(|(f, _)| *f == field) {
                        // The larger block is split first, the smaller one within it.
                        Some((_, largest)) => *largest = block.max(*largest),
                        None if is_whole => choice.push((field, block)),
                        None => {}
                    }
                }
            });
        }
        if choice.is_empty() {
            break;
        }
        found = Some(resolve_quotients(&split(nest, &choice, SplitReason::Quotient, mode), mode));
    }
    found
}

/// Replaces quotients and remainders by affine forms where the sizes of fields allow it.
fn resolve_quotients(nest: &Nest, mode: FloatMode) -> Nest {
    let mut nest = nest.clone();
    let sizes = &nest.sizes;
    for target in &mut nest.outputs {
        target.value = resolve_term(&target.value, sizes, mode);
    }
    nest
}

fn resolve_term(term: &Term, sizes: &Sizes, mode: FloatMode) -> Term {
    term.replace(
        &mut |t| {
            let Node::Access(read) = t.node() else { return None };
            let resolve_coordinate = |at: &ModeCoordinate| match at {
                ModeCoordinate::Value(t) => ModeCoordinate::from_value(resolve_term(t, sizes, mode)),
                ModeCoordinate::Subscript(_) => at.clone(),
            };
            let read = crate::term::Read {
                coordinates: read.coordinates.iter().map(resolve_coordinate).collect(),
                ..read.clone()
            };
            Some(Term::access(sizes.resolve(&read, mode)))
        },
        mode,
    )
}

/// The reason why a field is split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SplitReason {
    /// A tensor is stored in blocks.
    Blocks,
    /// A tensor is read at a quotient or remainder.
    Quotient,
}

fn split(nest: &Nest, choice: &[(Field, u64)], reason: SplitReason, mode: FloatMode) -> Nest {
    let mut nest = nest.clone();
    for (field, block) in choice {
        let name = |suffix: &str| {
            let mut name = Field::from(format!("{field}.{suffix}"));
            while nest.sizes.contains(&name) {
                name = Field::from(format!("{name}{suffix}"));
            }
            name
        };
        let (outer, inner) = (name("o"), name("i"));
        let size = nest.sizes.of(field);
        if reason == SplitReason::Quotient && size.is_multiple_of(*block) {
            nest.sizes.insert(outer.clone(), size / block);
            nest.sizes.insert(inner.clone(), *block);
        } else {
            let is_stored = reason == SplitReason::Blocks;
            nest.sizes.insert_split(inner.clone(), FieldSplit { block: *block, outer: outer.clone(), size, is_stored });
        }
        let form = Affine::field(outer.clone()).times(*block as i64).plus(&Affine::field(inner.clone()));
        let with = |f: &Field| match f == field {
            true => ModeCoordinate::Subscript(Subscript::Affine(form.clone())),
            false => ModeCoordinate::field(f),
        };
        let pieces = |fields: &[Field]| {
            let split = |f: &Field| if f == field { vec![outer.clone(), inner.clone()] } else { vec![f.clone()] };
            fields.iter().flat_map(split).collect::<Vec<_>>()
        };
        for target in &mut nest.outputs {
            target.value = target.value.rebind(&with, &pieces, mode);
            target.coordinates = target.coordinates.iter().map(|at| at.substitute(&with, mode)).collect();
            target.fold = target.fold.take().map(|(op, fields)| (op, pieces(&fields)));
        }
        for pin in nest.pins.iter_mut().flatten().filter(|f| *f == field) {
            *pin = outer.clone();
        }
    }
    nest
}
