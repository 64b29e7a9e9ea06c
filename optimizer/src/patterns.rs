//! Finds outputs that store the same coordinates as one of their operands.
//!
//! In a scaled matrix or a sampled product, every operand but one is stored everywhere. The result
//! is fill where that operand is, and stored everywhere else. So the output shares the arrays of
//! the operand's levels; only values are written, in any order. (A product of two sparse operands
//! stores fewer entries than either of them, and a sum more, so these do not qualify.)

use crate::config::Subject;
use crate::context::Context;
use crate::fit::{Meeting, fit};
use crate::sizes::Sizes;
use crate::term::{At, NestKind, Node, Read, Target, Term};
use redpoll_logic::{ComputedFills, Field, FloatMode, Format, LeafKind, LevelKind};
use std::collections::BTreeSet;

/// The coordinates at which a term is stored, relative to an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    /// Everywhere.
    Everywhere,
    /// Exactly where the operand is stored.
    There,
    /// At other coordinates.
    Elsewhere,
}

/// Returns the operands that store exactly the coordinates of an output.
pub(crate) fn patterns(cx: &Context, target: &Target, sizes: &Sizes) -> Vec<Read> {
    let scatters = target.at.iter().any(|at| matches!(at, At::Value(_)));
    // Coordinates that the loops do not visit, off a diagonal or outside of a window, are not
    // stored by the output.
    let fields: BTreeSet<Field> = target.at.iter().flat_map(At::fields).collect();
    let visited: f64 = fields.iter().map(|f| sizes.of(f) as f64).product();
    if visited < target.shape.iter().map(|&n| n as f64).product() {
        return Vec::new();
    }
    let copies = matches!(target.value.node(), Node::Access(_));
    if !cx.config.subjects.contains(Subject::Layout) || target.computed == ComputedFills::Drop || scatters || copies {
        return Vec::new();
    }
    let mut found = Vec::new();
    candidates(target, &target.value, &mut found);
    found.retain(|read| vanishes(target, read, cx.mode()) && stored(cx, &target.value, read) == Stored::There);
    found
}

/// Returns the operand whose levels an output of this format shares.
pub(crate) fn pattern<'r>(patterns: &'r [Read], format: &Format) -> Option<&'r Read> {
    let same = |own: &Format| own.levels == format.levels && own.modes == format.modes;
    patterns.iter().filter(|_| format.leaf == LeafKind::Element).find(|read| same(&read.ty.format))
}

/// Returns the format of the first pattern that the loop order walks.
pub(crate) fn kept_format(cx: &Context, patterns: &[Read], sizes: &Sizes, order: &[Field]) -> Option<Format> {
    let position = |f: &Field| order.iter().position(|g| g == f);
    let walks = |read: &&Read| {
        let ordered = read.ty.format.levels.iter().all(|level| level.ordered);
        ordered && fit(read, sizes, &position, NestKind::Query, cx.mode()).iter().all(|m| *m == Meeting::Walk)
    };
    let read = patterns.iter().find(walks)?;
    Some(Format { leaf: LeafKind::Element, ..read.ty.format.clone() })
}

/// Collects the reads of a value at the output's coordinates whose formats have one position per
/// stored coordinate.
fn candidates(target: &Target, value: &Term, found: &mut Vec<Read>) {
    match value.node() {
        Node::Access(read) => {
            let levels = &read.ty.format.levels;
            let own_values = levels.iter().all(|l| !l.kind.traits().runs);
            let sparse = levels.iter().any(|l| l.kind != LevelKind::Dense);
            let here = read.at == target.at && read.ty.shape == target.shape && read.outside.is_none();
            if here && own_values && sparse && !found.contains(read) {
                found.push(read.clone());
            }
        }
        Node::Call(_, args) => args.iter().for_each(|arg| candidates(target, arg, found)),
        Node::Literal | Node::Coordinate(_) | Node::Fold(_) | Node::Temporary(..) => {}
    }
}

/// Returns whether nothing is written where an operand is fill.
fn vanishes(target: &Target, read: &Read, mode: FloatMode) -> bool {
    let fill = || Some(Term::literal(read.ty.fill.clone()));
    let absent = &mut |t: &Term| if matches!(t.node(), Node::Access(r) if r == read) { fill() } else { None };
    let left = target.value.replace(absent, mode);
    let Some(value) = left.as_literal() else { return false };
    match &target.fold {
        None => *value == target.fill,
        Some((op, _)) => op.eval_in(&[target.fill.clone(), value.clone()], mode).is_ok_and(|kept| kept == target.fill),
    }
}

/// Returns the coordinates at which loops over a term find stored entries.
fn stored(cx: &Context, term: &Term, read: &Read) -> Stored {
    if term.is_full() {
        return Stored::Everywhere;
    }
    match term.node() {
        Node::Literal | Node::Coordinate(_) => Stored::Everywhere,
        Node::Access(other) if other == read => Stored::There,
        Node::Access(_) | Node::Fold(_) | Node::Temporary(..) => Stored::Elsewhere,
        Node::Call(_, args) => {
            let joined = cx.deciding(term);
            let decides =
                |k: &usize| if joined.is_empty() { args[*k].as_literal().is_none() } else { joined.contains(k) };
            let parts = (0..args.len()).filter(decides).map(|k| stored(cx, &args[k], read));
            // Deciding arguments intersect, other arguments unite.
            let [first, last] = match joined.is_empty() {
                true => [Stored::Everywhere, Stored::There],
                false => [Stored::There, Stored::Everywhere],
            };
            parts.fold(last, |found, part| match (found, part) {
                (Stored::Elsewhere, _) | (_, Stored::Elsewhere) => Stored::Elsewhere,
                (found, part) if found == first || part == first => first,
                _ => last,
            })
        }
    }
}
