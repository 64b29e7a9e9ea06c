//! Merges queries that go through the same loops over the same tensors into one nest with several outputs.
//!
//! Input and output: nests in order. A nest joins an earlier one when both read the same accesses up to the names of
//! loops, when it reads nothing that is written in between, and when neither pins an order.

use crate::term::{At, Nest, NestKind, Read, Target, regroups};
use crate::unify::match_loops;
use redpoll_logic::FloatMode;

/// The nests, merged.
pub(crate) fn merge_queries(nests: Vec<Nest>, mode: FloatMode) -> Vec<Nest> {
    let mut merged: Vec<Nest> = Vec::new();
    for nest in nests {
        let reads_from = merged.iter().rposition(|m| reads(&nest, m)).map_or(0, |k| k + 1);
        let found = (reads_from..merged.len()).find_map(|k| Some((k, renamed(&nest, &merged[k], mode)?)));
        match found {
            Some((k, targets)) => merged[k].outputs.extend(targets),
            None => merged.push(nest),
        }
    }
    merged
}

/// Whether the nest reads an output of another.
fn reads(nest: &Nest, other: &Nest) -> bool {
    accesses(nest).iter().any(|r| other.outputs.iter().any(|t| t.alias == r.tensor))
}

/// The outputs of a nest in terms of the loops of another.
fn renamed(nest: &Nest, into: &Nest, mode: FloatMode) -> Option<Vec<Target>> {
    let free = |n: &Nest| {
        let pinned = n.outputs.iter().any(|t| {
            t.fold.as_ref().is_some_and(|(op, fields)| fields.len() > 1 && !regroups(op, &t.value.dtype(), mode))
        });
        n.kind == NestKind::Query && n.pins.is_empty() && !pinned
    };
    let loops = into.loops();
    if !free(nest) || !free(into) || nest.outputs.iter().any(|t| t.loops().len() != loops.len()) {
        return None;
    }
    let mut folds = 0;
    nest.outputs.iter().for_each(|t| t.value.each_fold(&mut |_, _| folds += 1));
    let names = match_loops(&accesses(nest), &nest.loops(), &accesses(into), &loops)?;
    let sizes_agree = names.iter().all(|(f, g)| nest.sizes.of(f) == into.sizes.of(g));
    if folds > 0 || !sizes_agree {
        return None;
    }
    let with = |f: &redpoll_logic::Field| At::field(names.get(f).unwrap_or(f));
    let targets = nest.outputs.iter().map(|t| Target {
        value: t.value.substitute(&with, mode),
        at: t.at.iter().map(|at| at.substitute(&with, mode)).collect(),
        fold: t.fold.clone().map(|(op, fields)| (op, fields.iter().map(|f| names[f].clone()).collect())),
        ..t.clone()
    });
    Some(targets.collect())
}

fn accesses(nest: &Nest) -> Vec<&Read> {
    let mut found = Vec::new();
    nest.outputs.iter().for_each(|t| t.value.each_access(&mut |r| found.push(r)));
    found
}
