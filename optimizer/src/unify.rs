//! Equality up to the names of loops.

use crate::term::{At, Fold, Node, Read, Term};
use redpoll_logic::{Field, FloatMode};
use std::collections::{BTreeMap, BTreeSet};

/// The fold with its bound fields, and those of folds in it, numbered; equal folds become equal terms.
pub(crate) fn canonical(fold: &Fold, mode: FloatMode) -> Fold {
    number(fold, 0, mode)
}

fn number(fold: &Fold, depth: usize, mode: FloatMode) -> Fold {
    let name = |k: usize| Field::from(format!("#{depth}.{k}"));
    let arg = fold.arg.replace(
        &mut |t| match t.node() {
            Node::Fold(inner) => Some(Term::fold(number(inner, depth + 1, mode), t.fill().clone(), mode)),
            _ => None,
        },
        mode,
    );
    let with = |f: &Field| match fold.fields.iter().position(|g| g == f) {
        Some(k) => At::field(&name(k)),
        None => At::field(f),
    };
    let fields = (0..fold.fields.len()).map(name).collect();
    Fold { arg: arg.substitute(&with, mode), fields, ..fold.clone() }
}

/// The names that `loops` have among `other_loops` such that the accesses are the same; `None` when they are not, or do
/// not name every loop. Fields that are in neither list keep their names.
pub(crate) fn match_loops(
    accesses: &[&Read],
    loops: &[Field],
    others: &[&Read],
    other_loops: &[Field],
) -> Option<BTreeMap<Field, Field>> {
    if loops.len() != other_loops.len() {
        return None;
    }
    let names = assign(accesses, loops, others, other_loops, BTreeMap::new())?;
    let images: BTreeSet<&Field> = names.values().collect();
    if names.len() != loops.len() || images.len() != loops.len() {
        return None;
    }
    let hit = |other: &Read| accesses.iter().any(|a| same(a, other, loops, other_loops, &names).is_some());
    others.iter().all(|o| hit(o)).then_some(names)
}

/// Finds a partner for every access, the first that fits.
fn assign(
    accesses: &[&Read],
    loops: &[Field],
    others: &[&Read],
    other_loops: &[Field],
    names: BTreeMap<Field, Field>,
) -> Option<BTreeMap<Field, Field>> {
    let Some((first, rest)) = accesses.split_first() else { return Some(names) };
    others.iter().find_map(|other| {
        let names = same(first, other, loops, other_loops, &names)?;
        assign(rest, loops, others, other_loops, names)
    })
}

/// The names extended such that the accesses are equal.
fn same(
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
    for (x, y) in a.at.iter().zip(&b.at) {
        let (x, y) = (x.as_affine()?, y.as_affine()?);
        if x.constant != y.constant || x.terms.len() != y.terms.len() || x.terms.len() > 1 {
            return None;
        }
        for ((f, c), (g, d)) in x.terms.iter().zip(&y.terms) {
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
