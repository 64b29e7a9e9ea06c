//! What a loop takes that meets lists: to walk one, to merge several or to gallop, or to hold fibers of some in byte maps,
//! in which the coordinates of the others are looked up.
//!
//! A fiber can be held where a loop that it does not depend on stands between the loops that fix it and the one that walks
//! it: it is read once for many times that it is met. This is the workspace of Gustavson's algorithm (Two fast algorithms
//! for sparse matrices, 1978) on the side of what is read.

use crate::context::Context;
use crate::cost;
use crate::estimate::deciding;
use crate::term::{At, Node, Read, Term};
use crate::work::{Event, Work};
use redpoll_logic::{DType, LeafKind, LevelKind, Lookup, Prim, StorageMode};

/// A list that a loop walks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct List {
    pub(crate) kind: LevelKind,
    /// Coordinates of a fiber.
    pub(crate) fiber: f64,
    pub(crate) hold: Option<Hold>,
}

/// That fibers can be held.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hold {
    /// How many loops are outside of where a fiber is filled in.
    pub(crate) depth: usize,
    /// Bytes of the byte map.
    bytes: f64,
}

impl Hold {
    /// How the innermost level of a read can be held, where the loop that walks it has `here` loops outside, and the
    /// levels outside of it are known after `fixed` of them.
    pub(crate) fn of(read: &Read, level: usize, fixed: usize, here: usize) -> Option<Hold> {
        let format = &read.ty.format;
        let (traits, unique) = (format.levels[level].kind.traits(), format.levels[level].unique);
        let is_list = traits.lookup == Lookup::Search && !traits.runs && unique;
        let whole = matches!(format.modes[level], StorageMode::Whole { .. });
        let innermost = level + 1 == format.levels.len();
        let places = format.storage_shape(&read.ty.shape)[level];
        let affine = read.outside.is_none() && read.at.iter().all(|at| matches!(at, At::Subscript(_)));
        // What no loop fixes is a tensor of its own; threads would each fill it in again.
        let again = 0 < fixed && fixed < here;
        let fits = again && is_list && whole && innermost && affine && places <= cost::BYTE_MAP_LIMIT;
        let value = match (format.leaf, &read.ty.dtype) {
            (LeafKind::Pattern, _) => 0,
            (_, DType::Prim(prim)) => prim.bytes(),
            _ => 2 * Prim::F64.bytes(),
        };
        fits.then(|| Hold { depth: fixed, bytes: places as f64 * (1 + value) as f64 })
    }
}

/// The rounds of a loop, and of those around it.
pub(crate) struct Rounds<'r> {
    /// Of the loop.
    pub(crate) own: f64,
    /// Of the loops outside of it.
    pub(crate) outside: f64,
    /// Of so many loops, the outermost ones.
    pub(crate) of: &'r dyn Fn(usize) -> f64,
}

/// Which of the lists that a loop meets under one conjunction are held, and what it takes to go through all of them.
pub(crate) fn meet(lists: &[List], rounds: &Rounds<'_>) -> (Vec<bool>, Work) {
    let mut held = vec![false; lists.len()];
    let mut best = (held.clone(), walk(lists, &held, rounds));
    let mut longest: Vec<usize> = (0..lists.len()).filter(|k| lists[*k].hold.is_some()).collect();
    longest.sort_by(|a, b| lists[*b].fiber.total_cmp(&lists[*a].fiber));
    // Some list leads.
    for k in longest.into_iter().take(lists.len().saturating_sub(1)) {
        held[k] = true;
        let work = walk(lists, &held, rounds) + hold(lists, &held, rounds);
        if work.cost() < best.1.cost() {
            best = (held.clone(), work);
        }
    }
    best
}

/// The coordinates of the shortest list that leads, in each fiber.
pub(crate) fn least(lists: &[List], held: &[bool]) -> f64 {
    leading(lists, held).map(|list| list.fiber).fold(f64::INFINITY, f64::min)
}

fn leading<'l>(lists: &'l [List], held: &'l [bool]) -> impl Iterator<Item = &'l List> {
    lists.iter().zip(held).filter(|(_, held)| !**held).map(|(list, _)| list)
}

/// Steps along the lists that are not held.
fn walk(lists: &[List], held: &[bool], rounds: &Rounds<'_>) -> Work {
    let mut work = Work::NONE;
    let mut leading = leading(lists, held);
    let (first, second) = (leading.next(), leading.next());
    if let (Some(list), None) = (first, second) {
        work.add(cost::walk(list.kind), rounds.own.max(rounds.outside * list.fiber));
        return work;
    }
    let shortest = least(lists, held);
    let longest = self::leading(lists, held).map(|list| list.fiber).fold(0.0, f64::max);
    if longest > cost::GALLOP_RATIO * shortest.max(0.5) {
        work.add(Event::Gallop, rounds.outside * shortest * (1.0 + longest / shortest.max(0.5)).log2());
        return work;
    }
    for list in self::leading(lists, held) {
        work.add(Event::Merge, rounds.outside * list.fiber);
    }
    work
}

/// To fill in the fibers that are held, and to look up in them what the others lead to.
fn hold(lists: &[List], held: &[bool], rounds: &Rounds<'_>) -> Work {
    let mut work = Work::NONE;
    let steps = rounds.own.max(rounds.outside * least(lists, held));
    for (list, _) in lists.iter().zip(held).filter(|(_, held)| **held) {
        let Some(hold) = list.hold else { continue };
        let fills = (rounds.of)(hold.depth);
        work.add(Event::Enter, fills);
        for event in [cost::walk(list.kind), Event::WriteMap, Event::Clear] {
            work.add(event, fills * list.fiber);
        }
        work.add(cost::follow(LevelKind::ByteMap), steps);
        work.miss(steps, hold.bytes);
    }
    work
}

/// The accesses whose fill alone decides that the value is its fill.
pub(crate) fn conjuncts<'t>(cx: &Context, term: &'t Term, found: &mut Vec<&'t Read>) {
    match term.node() {
        Node::Access(read) => found.push(read),
        Node::Call(_, args) if args.len() == 1 => conjuncts(cx, &args[0], found),
        Node::Call(op, args) => {
            for k in deciding(op, args, term.fill(), cx.mode()) {
                conjuncts(cx, &args[k], found);
            }
        }
        _ => {}
    }
}
