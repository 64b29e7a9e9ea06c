//! Finds outputs that store the same coordinates as one of their operands.
//!
//! In a scaled matrix or a sampled product, every operand but one is stored everywhere. The result
//! equals its fill where the remaining operand equals its fill, and is stored everywhere else. So
//! the output shares the arrays of this operand's levels; only values are written, in any order. (A
//! product of two sparse operands stores fewer entries than either operand, and a sum stores more,
//! so neither shares levels.)

use crate::access::fit::{LevelUse, fit};
use crate::config::Subject;
use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, NestKind, Node, Read, Target, Term};
use redpoll_logic::{ComputedFills, Field, FloatMode, Format, LeafKind, LevelKind};
use std::collections::BTreeSet;

/// The coordinates at which a term is stored, relative to an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StoredAt {
    /// Everywhere.
    Everywhere,
    /// Exactly where the operand is stored.
    Operand,
    /// At other or unknown coordinates.
    Other,
}

/// Returns the operands that store exactly the coordinates of an output. Returns none if
/// [`Subject::Layout`] is off, and none for four kinds of outputs: copies, scatters, outputs that
/// drop computed fills, and outputs with coordinates that the loops do not visit.
pub(crate) fn find_patterns(facts: &Facts, target: &Target, sizes: &Sizes) -> Vec<Read> {
    let scatters = target.coordinates.iter().any(|at| matches!(at, ModeCoordinate::Value(_)));
    // Coordinates that the loops do not visit, off a diagonal or outside of a window, are not
    // stored by the output.
    let fields: BTreeSet<Field> = target.coordinates.iter().flat_map(ModeCoordinate::fields).collect();
    let visited: f64 = fields.iter().map(|f| sizes.of(f) as f64).product();
    if visited < target.shape.iter().map(|&n| n as f64).product() {
        return Vec::new();
    }
    let copies = matches!(target.value.node(), Node::Access(_));
    if !facts.config.subjects.contains(Subject::Layout) || target.computed == ComputedFills::Drop || scatters || copies
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    collect_candidates(target, &target.value, &mut found);
    found.retain(|read| {
        is_fill_with(target, read, facts.mode()) && stored_at(facts, &target.value, read) == StoredAt::Operand
    });
    found
}

/// Returns the operand whose levels an output of this format shares, if there is one.
pub(crate) fn matching_pattern<'r>(patterns: &'r [Read], format: &Format) -> Option<&'r Read> {
    let same = |own: &Format| own.levels == format.levels && own.modes == format.modes;
    patterns.iter().filter(|_| format.leaf == LeafKind::Element).find(|read| same(&read.ty.format))
}

/// Returns the format of the first pattern that has ordered levels and that the loop order walks,
/// with an element leaf.
pub(crate) fn pattern_format(facts: &Facts, patterns: &[Read], sizes: &Sizes, order: &[Field]) -> Option<Format> {
    let position = |f: &Field| order.iter().position(|g| g == f);
    let walks = |read: &&Read| {
        let ordered = read.ty.format.levels.iter().all(|level| level.ordered);
        ordered && fit(read, sizes, &position, NestKind::Query, facts.mode()).iter().all(|m| *m == LevelUse::Walk)
    };
    let read = patterns.iter().find(walks)?;
    Some(Format { leaf: LeafKind::Element, ..read.ty.format.clone() })
}

/// Collects the reads of a value at the output's coordinates whose formats are not dense and have
/// one position per stored coordinate.
fn collect_candidates(target: &Target, value: &Term, found: &mut Vec<Read>) {
    match value.node() {
        Node::Access(read) => {
            let levels = &read.ty.format.levels;
            let own_values = levels.iter().all(|l| !l.kind.traits().runs);
            let sparse = levels.iter().any(|l| l.kind != LevelKind::Dense);
            let is_aligned =
                read.coordinates == target.coordinates && read.ty.shape == target.shape && read.outside.is_none();
            if is_aligned && own_values && sparse && !found.contains(read) {
                found.push(read.clone());
            }
        }
        Node::Call(_, args) => args.iter().for_each(|arg| collect_candidates(target, arg, found)),
        Node::Literal | Node::Coordinate(_) | Node::Fold(_) | Node::Temporary(..) => {}
    }
}

/// Returns whether the output keeps its fill where an operand has its fill.
fn is_fill_with(target: &Target, read: &Read, mode: FloatMode) -> bool {
    let fill = || Some(Term::literal(read.ty.fill.clone()));
    let absent = &mut |t: &Term| if matches!(t.node(), Node::Access(r) if r == read) { fill() } else { None };
    let rest = target.value.replace(absent, mode);
    let Some(value) = rest.as_literal() else { return false };
    match &target.fold {
        None => *value == target.fill,
        Some((op, _)) => {
            op.eval_in(&[target.fill.clone(), value.clone()], mode).is_ok_and(|folded| folded == target.fill)
        }
    }
}

/// Returns the coordinates at which loops over a term find stored entries.
fn stored_at(facts: &Facts, term: &Term, read: &Read) -> StoredAt {
    if term.is_full() {
        return StoredAt::Everywhere;
    }
    match term.node() {
        Node::Literal | Node::Coordinate(_) => StoredAt::Everywhere,
        Node::Access(other) if other == read => StoredAt::Operand,
        Node::Access(_) | Node::Fold(_) | Node::Temporary(..) => StoredAt::Other,
        Node::Call(_, args) => {
            let deciding = facts.deciding_args(term);
            let decides =
                |k: &usize| if deciding.is_empty() { args[*k].as_literal().is_none() } else { deciding.contains(k) };
            let parts = (0..args.len()).filter(decides).map(|k| stored_at(facts, &args[k], read));
            // The stored coordinates of deciding arguments are intersected. If no argument decides,
            // the stored coordinates of all arguments are united.
            let [dominant, neutral] = match deciding.is_empty() {
                true => [StoredAt::Everywhere, StoredAt::Operand],
                false => [StoredAt::Operand, StoredAt::Everywhere],
            };
            parts.fold(neutral, |found, part| match (found, part) {
                (StoredAt::Other, _) | (_, StoredAt::Other) => StoredAt::Other,
                (found, part) if found == dominant || part == dominant => dominant,
                _ => neutral,
            })
        }
    }
}
