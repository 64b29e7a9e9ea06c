//! Merges queries with the same loops over the same tensors into one nest with several outputs.
//!
//! Input and output: nests in order. A nest joins an earlier nest if both have the same accesses up
//! to loop names, and the loops of both may have any order. The later nest must not read what the
//! earlier nest or a nest in between writes. If no value contains a fold, the outputs that fold
//! continue to fold in place. Otherwise all folds become temporaries, provided that no access is
//! discordant in an order with the outputs' loops outermost. [`join_outside`] serves `algebra`:
//! there, reads inside of folds may differ.

use crate::access::fit::{LevelUse, fit};
use crate::term::sizes::{FieldSplit, Sizes};
use crate::term::unify::{canonicalize, match_loops};
use crate::term::{Fold, ModeCoordinate, Nest, NestKind, Node, Read, Target, Term, is_regroupable};
use redpoll_logic::{Field, FloatMode};
use std::collections::{BTreeMap, BTreeSet};

/// Joins each nest to the first earlier nest that allows it.
pub(crate) fn merge_queries(nests: Vec<Nest>, mode: FloatMode) -> Vec<Nest> {
    let mut merged: Vec<Nest> = Vec::new();
    for nest in nests {
        let reads_from = merged.iter().rposition(|m| reads_output_of(&nest, m)).map_or(0, |k| k + 1);
        let found = (reads_from..merged.len()).find_map(|k| Some((k, join(&merged[k], &nest, mode)?)));
        match found {
            Some((k, joined)) => merged[k] = joined,
            None => merged.push(nest),
        }
    }
    merged
}

/// Returns whether the nest reads an output of the other nest.
fn reads_output_of(nest: &Nest, other: &Nest) -> bool {
    let mut reads_output = false;
    nest.each_access(&mut |read| reads_output |= other.outputs.iter().any(|t| t.alias == read.tensor));
    reads_output
}

/// Returns whether the loops of a nest may have any order.
fn has_free_order(nest: &Nest, mode: FloatMode) -> bool {
    let is_pinned = |t: &Target| {
        let fold = t.fold.as_ref();
        fold.is_some_and(|(op, over)| over.len() > 1 && !is_regroupable(op, &t.value.dtype(), mode))
    };
    nest.kind == NestKind::Query && nest.pins.is_empty() && !nest.outputs.iter().any(is_pinned)
}

/// Joins both nests into one, if possible.
pub(crate) fn join(into: &Nest, nest: &Nest, mode: FloatMode) -> Option<Nest> {
    if !has_free_order(nest, mode) || !has_free_order(into, mode) {
        return None;
    }
    if nest.loops().len() == into.loops().len() && !has_folds(nest) && !has_folds(into) {
        let names = match_loops(&accesses(nest), &nest.loops(), &accesses(into), &into.loops())?;
        return append(into, nest, &|f| names.get(f).unwrap_or(f).clone(), mode);
    }
    if !has_folds(nest) && !has_folds(into) {
        return None;
    }
    let (into, nest) = (push_root_folds(into, mode)?, push_root_folds(nest, mode)?);
    // The other outputs have been matched with the first one.
    let first = Nest { outputs: into.outputs[..1].to_vec(), ..into.clone() };
    let (bound, into_bound) = (bound_fields(&nest), bound_fields(&first));
    let all = |n: &Nest, bound: &[Field]| n.loops().iter().chain(bound).cloned().collect::<Vec<_>>();
    let (loops, into_loops) = (all(&nest, &bound), all(&first, &into_bound));
    let names = match_loops(&accesses(&nest), &loops, &accesses(&first), &into_loops)?;
    let outer_stay_outer = nest.loops().iter().all(|f| into.loops().contains(&names[f]));
    let order = |f: &Field| into_loops.iter().position(|g| g == f);
    let walks = |r: &&Read| !fit(r, &into.sizes, &order, NestKind::Query, mode).contains(&LevelUse::Discordant);
    if !outer_stay_outer || nest.loops().len() != into.loops().len() || !accesses(&first).iter().all(walks) {
        return None;
    }
    append_with_fresh_fields(&into, &nest, &names, mode)
}

/// Joins two nests with the same reads outside of the folds in their values; reads inside the folds
/// may differ.
pub(crate) fn join_outside(into: &Nest, nest: &Nest, mode: FloatMode) -> Option<Nest> {
    if !has_free_order(nest, mode) || !has_free_order(into, mode) || nest.loops().len() != into.loops().len() {
        return None;
    }
    // The other outputs have been matched with the first one.
    let first = Nest { outputs: into.outputs[..1].to_vec(), ..into.clone() };
    let names = match_loops(&outer_reads(nest), &nest.loops(), &outer_reads(&first), &into.loops())?;
    append_with_fresh_fields(into, nest, &names, mode)
}

/// Appends the outputs of `nest`, with renamed loops, to the outputs of `into`; folds in values get
/// new fields, or become an equal fold of `into`. `None` if equal loops differ in size or split.
fn append_with_fresh_fields(into: &Nest, nest: &Nest, names: &BTreeMap<Field, Field>, mode: FloatMode) -> Option<Nest> {
    let (mut sizes, bound) = (into.sizes.clone(), bound_fields(nest));
    let fresh: Vec<(Field, Field)> =
        bound.iter().map(|f| (f.clone(), fresh_field(f, &nest.sizes, &mut sizes))).collect();
    let name = |f: &Field| match fresh.iter().find(|(g, _)| g == f) {
        Some((_, new)) => new.clone(),
        None => names.get(f).unwrap_or(f).clone(),
    };
    sizes.copy_parts(&nest.sizes, &bound, &name);
    let into = Nest { sizes, ..into.clone() };
    let mut joined = append(&into, nest, &name, mode)?;
    // Folds that are equal up to field names become one term, so that they are priced once.
    let sizes = joined.sizes.clone();
    let mut folds: Vec<(&Term, Fold)> = Vec::new();
    into.outputs
        .iter()
        .for_each(|t| t.value.each_fold(&mut |term, fold| folds.push((term, canonicalize(fold, &into.sizes, mode)))));
    for target in &mut joined.outputs[into.outputs.len()..] {
        let mut same = |t: &Term| {
            let Node::Fold(fold) = t.node() else { return None };
            // A nested fold runs loops of its own, which need distinct names.
            if fold.arg.has_fold() {
                return None;
            }
            let same = canonicalize(fold, &sizes, mode);
            let has_same_loops =
                |f: &Fold| f.fields.iter().zip(&fold.fields).all(|(f, g)| joined.sizes.is_same_loop(f, g));
            let found = folds
                .iter()
                .find(|(term, like)| *like == same && matches!(term.node(), Node::Fold(f) if has_same_loops(f)));
            found.map(|(term, _)| (*term).clone())
        };
        target.value = target.value.replace(&mut same, mode);
    }
    Some(joined)
}

/// Appends the outputs of `nest`, with renamed fields, to the outputs of `into`. `None` if a loop
/// and the loop of its new name differ in size or split.
fn append(into: &Nest, nest: &Nest, name: &dyn Fn(&Field) -> Field, mode: FloatMode) -> Option<Nest> {
    // The last block of a split field may be cut, so loops of equal sizes may differ in their
    // splits.
    let split = |f: &Field| nest.sizes.split(f).map(|split| FieldSplit { outer: name(&split.outer), ..split.clone() });
    let is_same = |f: &Field| {
        let other = name(f);
        nest.sizes.of(f) == into.sizes.of(&other) && split(f).as_ref() == into.sizes.split(&other)
    };
    if !nest.loops().iter().all(is_same) {
        return None;
    }
    let with = |f: &Field| ModeCoordinate::field(&name(f));
    let names = |fields: &[Field]| fields.iter().map(name).collect();
    let mut joined = into.clone();
    joined.outputs.extend(nest.outputs.iter().map(|t| Target {
        value: t.value.rebind(&with, &names, mode),
        coordinates: t.coordinates.iter().map(|at| at.substitute(&with, mode)).collect(),
        fold: t.fold.clone().map(|(op, fields)| (op, names(&fields))),
        ..t.clone()
    }));
    Some(joined)
}

/// Moves the folds of outputs into their values, each with fields of its own. Returns `None` when a
/// coordinate of an output that folds is not a field, or when the remaining loops of the outputs
/// differ. With different loops, an output would be written repeatedly at the same coordinates.
fn push_root_folds(nest: &Nest, mode: FloatMode) -> Option<Nest> {
    let mut nest = nest.clone();
    let mut used = BTreeSet::new();
    for target in &mut nest.outputs {
        if let Some((op, fields)) = target.fold.take() {
            target.coordinates.iter().all(|at| at.as_field().is_some()).then_some(())?;
            let sizes = nest.sizes.clone();
            let own = |f: &Field| match used.insert(f.clone()) {
                true => f.clone(),
                false => fresh_field(f, &sizes, &mut nest.sizes),
            };
            let own: Vec<Field> = fields.iter().map(own).collect();
            let name = |f: &Field| fields.iter().position(|g| g == f).map_or(f, |k| &own[k]).clone();
            nest.sizes.copy_parts(&sizes, &fields, &name);
            let arg = target.value.substitute(&|f| ModeCoordinate::field(&name(f)), mode);
            let fold = Fold { op, init: target.fill.clone(), arg, fields: own, along: Vec::new() };
            target.value = Term::fold(fold, target.fill.clone(), mode);
        }
    }
    let loops = |t: &Target| t.loops().into_iter().collect::<BTreeSet<_>>();
    let same = nest.outputs.windows(2).all(|pair| loops(&pair[0]) == loops(&pair[1]));
    same.then_some(nest)
}

fn has_folds(nest: &Nest) -> bool {
    nest.outputs.iter().any(|t| t.value.has_fold())
}

/// Returns the fields that folds in the values bind, without folds in subscripts.
fn bound_fields(nest: &Nest) -> Vec<Field> {
    fn collect(term: &Term, found: &mut Vec<Field>) {
        if let Node::Fold(fold) = term.node() {
            found.extend(fold.fields.iter().cloned());
        }
        term.children().iter().for_each(|c| collect(c, found));
    }
    let mut found = Vec::new();
    nest.outputs.iter().for_each(|t| collect(&t.value, &mut found));
    let mut seen = BTreeSet::new();
    found.retain(|f| seen.insert(f.clone()));
    found
}

/// Adds a new field of the same size, which is not split or skewed, to `sizes`, and returns the new
/// field.
fn fresh_field(field: &Field, from: &Sizes, sizes: &mut Sizes) -> Field {
    let mut name = field.clone();
    let mut count = 2;
    while sizes.contains(&name) {
        name = Field::from(format!("{field}.{count}"));
        count += 1;
    }
    sizes.insert(name.clone(), from.of(field));
    name
}

/// Returns the accesses that [`Term::each_outer_access`] visits in the values.
fn outer_reads(nest: &Nest) -> Vec<&Read> {
    let mut found = Vec::new();
    nest.outputs.iter().for_each(|t| t.value.each_outer_access(&mut |r| found.push(r)));
    found
}

fn accesses(nest: &Nest) -> Vec<&Read> {
    let mut found = Vec::new();
    nest.outputs.iter().for_each(|t| t.value.each_access(&mut |r| found.push(r)));
    found
}
