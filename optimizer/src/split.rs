//! Splits fields into blocks where tensors are stored in blocks, or read at quotients and
//! remainders of fields.
//!
//! Input: a nest. Output: candidate nests, one for each choice of split fields; the cheapest is
//! taken. A split field `i` becomes `block * i.o + i.i` everywhere. Blocked accesses are then
//! walked, and other accesses read at that form. Without the split, blocked accesses need an
//! unblocked copy, and reads at `i / block` and `i mod block` (a reshape, a tile, a repeat, a
//! Kronecker product) look up each coordinate.

use crate::sizes::{Block, Sizes};
use crate::term::{At, Nest, Node, Term};
use redpoll_logic::{Affine, Field, FloatMode, StorageMode, Subscript, TensorType};

/// Largest number of candidates.
const CANDIDATES: usize = 16;

/// Largest number of times that fields which result from a split are split again.
const ROUNDS: usize = 4;

/// Returns a nest for each choice of splits; the first has the most.
pub(crate) fn split_candidates(nest: &Nest, mode: FloatMode) -> Vec<Nest> {
    let nest = &resolved(nest, mode);
    let mut blocks: Vec<(Field, Vec<u64>)> = Vec::new();
    let mut offer = |at: &At, block: u64| {
        // A diagonal has the bounds of the whole field.
        let Some(field) = at.as_field().filter(|f| nest.sizes.skew(f).next().is_none()) else { return };
        match blocks.iter_mut().find(|(f, _)| f == field) {
            Some((_, sizes)) if !sizes.contains(&block) => sizes.push(block),
            Some(_) => {}
            None => blocks.push((field.clone(), vec![block])),
        }
    };
    for target in &nest.outputs {
        target.value.each_access(&mut |r| outer_modes(&r.ty).for_each(|(mode, block)| offer(&r.at[mode], block)));
        for m in target.format.iter().flat_map(|f| &f.modes) {
            if let StorageMode::Outer { mode, block } = *m
                && let Some(at) = target.at.get(mode)
            {
                offer(at, block);
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
            .take(CANDIDATES)
            .collect();
    }
    let stored: Vec<Nest> = choices.iter().map(|choice| split(nest, choice, Origin::Stored, mode)).collect();
    let divided: Vec<Nest> = stored.iter().filter_map(|nest| divided(nest, mode)).collect();
    divided.into_iter().chain(stored).collect()
}

fn outer_modes(ty: &TensorType) -> impl Iterator<Item = (usize, u64)> {
    ty.format.modes.iter().filter_map(|m| match *m {
        StorageMode::Outer { mode, block } => Some((mode, block)),
        _ => None,
    })
}

/// Splits the fields that accesses read at quotients and remainders; returns `None` when there are
/// none.
fn divided(nest: &Nest, mode: FloatMode) -> Option<Nest> {
    let mut found: Option<Nest> = None;
    for _ in 0..ROUNDS {
        let nest = found.as_ref().unwrap_or(nest);
        let mut choice: Vec<(Field, u64)> = Vec::new();
        for target in &nest.outputs {
            target.value.each_access(&mut |read| {
                for (field, block) in read.at.iter().flat_map(|at| nest.sizes.wanted(at, mode)) {
                    let whole = nest.sizes.is_whole(&field);
                    match choice.iter_mut().find(|(f, _)| *f == field) {
                        // The larger block is split first, the smaller one within it.
                        Some((_, known)) => *known = block.max(*known),
                        None if whole => choice.push((field, block)),
                        None => {}
                    }
                }
            });
        }
        if choice.is_empty() {
            break;
        }
        found = Some(resolved(&split(nest, &choice, Origin::Read, mode), mode));
    }
    found
}

/// Resolves the quotients and remainders that the sizes of fields decide.
fn resolved(nest: &Nest, mode: FloatMode) -> Nest {
    let mut nest = nest.clone();
    let sizes = &nest.sizes;
    for target in &mut nest.outputs {
        target.value = resolved_term(&target.value, sizes, mode);
    }
    nest
}

fn resolved_term(term: &Term, sizes: &Sizes, mode: FloatMode) -> Term {
    term.replace(
        &mut |t| {
            let Node::Access(read) = t.node() else { return None };
            let within = |at: &At| match at {
                At::Value(t) => At::from_value(resolved_term(t, sizes, mode)),
                At::Subscript(_) => at.clone(),
            };
            let read = crate::term::Read { at: read.at.iter().map(within).collect(), ..read.clone() };
            Some(Term::access(sizes.resolve(&read, mode)))
        },
        mode,
    )
}

/// The reason why a field is split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A tensor is stored in blocks.
    Stored,
    /// A tensor is read at a quotient or remainder.
    Read,
}

fn split(nest: &Nest, choice: &[(Field, u64)], origin: Origin, mode: FloatMode) -> Nest {
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
        if origin == Origin::Read && size.is_multiple_of(*block) {
            nest.sizes.insert(outer.clone(), size / block);
            nest.sizes.insert(inner.clone(), *block);
        } else {
            let stored = origin == Origin::Stored;
            nest.sizes.insert_block(inner.clone(), Block { block: *block, outer: outer.clone(), size, stored });
        }
        let form = Affine::field(outer.clone()).times(*block as i64).plus(&Affine::field(inner.clone()));
        let with = |f: &Field| match f == field {
            true => At::Subscript(Subscript::Affine(form.clone())),
            false => At::field(f),
        };
        let pieces = |fields: &[Field]| {
            let split = |f: &Field| if f == field { vec![outer.clone(), inner.clone()] } else { vec![f.clone()] };
            fields.iter().flat_map(split).collect::<Vec<_>>()
        };
        for target in &mut nest.outputs {
            target.value = target.value.rebind(&with, &pieces, mode);
            target.at = target.at.iter().map(|at| at.substitute(&with, mode)).collect();
            target.fold = target.fold.take().map(|(op, fields)| (op, pieces(&fields)));
        }
        for pin in nest.pins.iter_mut().flatten().filter(|f| *f == field) {
            *pin = outer.clone();
        }
    }
    nest
}
