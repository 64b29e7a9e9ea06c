//! Equality up to the names of loops.

use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, Node, Read, Term};
use redpoll_logic::{Affine, Field, FloatMode};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers the bound fields of a fold and of the folds inside it. Folds that are equal up to the
/// names of these fields become equal terms if the fields have equal sizes, and none is the inner
/// field of a block or a part of a diagonal. The new name of such a field contains its old name.
pub(crate) fn canonicalize(fold: &Fold, sizes: &Sizes, mode: FloatMode) -> Fold {
    number_fields(fold, 0, sizes, mode)
}

fn number_fields(fold: &Fold, depth: usize, sizes: &Sizes, mode: FloatMode) -> Fold {
    // Two loops over inner fields of blocks or parts of diagonals are the same only if they are
    // over the same field.
    let name = |k: usize| {
        let field = &fold.fields[k];
        Field::from(match sizes.get(field) {
            Some(size) if sizes.split(field).is_none() && sizes.skew(field).next().is_none() => {
                format!("#{depth}.{k}:{size}")
            }
            _ => format!("#{depth}.{k}:{field}"),
        })
    };
    let arg = fold.arg.replace(
        &mut |t| match t.node() {
            Node::Fold(inner) => Some(Term::fold(number_fields(inner, depth + 1, sizes, mode), t.fill().clone(), mode)),
            _ => None,
        },
        mode,
    );
    let with = |f: &Field| match fold.fields.iter().position(|g| g == f) {
        Some(k) => ModeCoordinate::field(&name(k)),
        None => ModeCoordinate::field(f),
    };
    let fields = (0..fold.fields.len()).map(name).collect();
    Fold { arg: arg.substitute(&with, mode), fields, ..fold.clone() }
}

/// Returns a mapping from the free fields of `fold` to those of `other` that makes the folds equal
/// up to bound fields. `None` for scans, and if no mapping between loops that take the same values
/// is found.
pub(crate) fn match_folds(fold: &Fold, other: &Fold, sizes: &Sizes, mode: FloatMode) -> Option<BTreeMap<Field, Field>> {
    if (&fold.op, &fold.init, fold.fields.len()) != (&other.op, &other.init, other.fields.len()) || fold.is_scan() {
        return None;
    }
    let mut names = BTreeMap::new();
    if !match_terms(&fold.arg, &other.arg, &mut names) {
        return None;
    }
    let images: BTreeSet<&Field> = names.values().collect();
    let bound = |names: &BTreeMap<Field, Field>| {
        fold.fields.iter().all(|f| names.get(f).is_none_or(|g| other.fields.contains(g)))
    };
    if images.len() != names.len() || !bound(&names) || !names.iter().all(|(a, b)| sizes.is_same_loop(a, b)) {
        return None;
    }
    names.retain(|field, _| !fold.fields.contains(field));
    let with = |f: &Field| ModeCoordinate::field(names.get(f).unwrap_or(f));
    let same = Fold { arg: fold.arg.substitute(&with, mode), ..fold.clone() };
    (canonicalize(&same, sizes, mode) == canonicalize(other, sizes, mode)).then_some(names)
}

/// Returns whether two terms have the same form, and extends the mapping from the first term's
/// fields to the second term's fields.
fn match_terms(a: &Term, b: &Term, names: &mut BTreeMap<Field, Field>) -> bool {
    let mut name = |f: &Field, g: &Field| names.insert(f.clone(), g.clone()).is_none_or(|known| known == *g);
    let mut affine = |a: &Affine, b: &Affine| {
        let pairs = a.terms.iter().zip(&b.terms);
        a.has_offset_of(b)
            && a.terms.len() == b.terms.len()
            && pairs.into_iter().all(|((f, c), (g, d))| c == d && name(f, g))
    };
    let same = match (a.node(), b.node()) {
        (Node::Literal, Node::Literal) => a.fill() == b.fill(),
        (Node::Coordinate(a), Node::Coordinate(b)) => affine(a, b),
        (Node::Access(a), Node::Access(b)) => {
            let both = a.coordinates.iter().zip(&b.coordinates);
            a.tensor == b.tensor
                && a.outside == b.outside
                && both.into_iter().all(|(x, y)| match (x.as_affine(), y.as_affine()) {
                    (Some(x), Some(y)) => affine(x, y),
                    _ => false,
                })
        }
        (Node::Call(f, xs), Node::Call(g, ys)) => f == g && xs.len() == ys.len(),
        (Node::Fold(f), Node::Fold(g)) => f.op == g.op && f.init == g.init && !f.is_scan() && !g.is_scan(),
        _ => false,
    };
    same && a.children().iter().zip(b.children()).all(|(x, y)| match_terms(x, y, names))
}

/// Returns a mapping from `loops` to `other_loops` that makes the accesses equal; `None` if no such
/// mapping is found, or if the accesses do not mention every loop. Fields in neither list keep
/// their names.
pub(crate) fn match_loops(
    accesses: &[&Read],
    loops: &[Field],
    others: &[&Read],
    other_loops: &[Field],
) -> Option<BTreeMap<Field, Field>> {
    if loops.len() != other_loops.len() {
        return None;
    }
    let nothing = BTreeMap::new();
    let has_match = |a: &&Read| others.iter().any(|o| match_reads(a, o, loops, other_loops, &nothing).is_some());
    if !accesses.iter().all(has_match) {
        return None;
    }
    let names = match_accesses(accesses, loops, others, other_loops, nothing, &mut BTreeSet::new())?;
    let images: BTreeSet<&Field> = names.values().collect();
    if names.len() != loops.len() || images.len() != loops.len() {
        return None;
    }
    let has_match = |other: &Read| accesses.iter().any(|a| match_reads(a, other, loops, other_loops, &names).is_some());
    others.iter().all(|o| has_match(o)).then_some(names)
}

/// Largest number of partial mappings that are tried. The limit exists because matching is as hard
/// as graph isomorphism.
const MAX_TRIED: usize = 2000;

/// Finds a partner for every access by backtracking. Accesses of one tensor have many partners that
/// lead to the same mapping, so each combination of remaining accesses and mapping is tried only
/// once.
fn match_accesses(
    accesses: &[&Read],
    loops: &[Field],
    others: &[&Read],
    other_loops: &[Field],
    names: BTreeMap<Field, Field>,
    tried: &mut BTreeSet<(usize, BTreeMap<Field, Field>)>,
) -> Option<BTreeMap<Field, Field>> {
    let Some((first, rest)) = accesses.split_first() else { return Some(names) };
    if tried.len() == MAX_TRIED || !tried.insert((rest.len(), names.clone())) {
        return None;
    }
    others.iter().find_map(|other| {
        let names = match_reads(first, other, loops, other_loops, &names)?;
        match_accesses(rest, loops, others, other_loops, names, tried)
    })
}

/// Returns the mapping, extended so that it makes the accesses equal; `None` if that is impossible,
/// or if a coordinate is not affine.
fn match_reads(
    a: &Read,
    b: &Read,
    loops: &[Field],
    other_loops: &[Field],
    names: &BTreeMap<Field, Field>,
) -> Option<BTreeMap<Field, Field>> {
    if a.tensor != b.tensor || a.outside != b.outside {
        return None;
    }
    let mut names = names.clone();
    for (x, y) in a.coordinates.iter().zip(&b.coordinates) {
        let (x, y) = (x.as_affine()?, y.as_affine()?);
        if !x.has_offset_of(y) || x.terms.len() != y.terms.len() {
            return None;
        }
        for [(f, c), (g, d)] in paired_terms(x, y) {
            let bound = (loops.contains(f), other_loops.contains(g));
            let fits = match bound {
                (true, true) => names.get(f).is_none_or(|known| known == g),
                (false, false) => f == g,
                _ => false,
            };
            if c != d || !fits {
                return None;
            }
            if bound.0 {
                names.insert(f.clone(), g.clone());
            }
        }
    }
    Some(names)
}

/// Returns the terms of two affine forms in pairs: equal terms first, the others in their order.
fn paired_terms<'t>(x: &'t Affine, y: &'t Affine) -> Vec<[&'t (Field, i64); 2]> {
    let (same, rest): (Vec<_>, Vec<_>) = x.terms.iter().partition(|term| y.terms.contains(term));
    let others = y.terms.iter().filter(|term| !same.contains(term));
    same.iter().map(|term| [*term; 2]).chain(rest.iter().copied().zip(others).map(<[_; 2]>::from)).collect()
}
