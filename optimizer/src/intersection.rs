//! What a loop takes that meets lists: to walk one, to merge several or to gallop, or to hold fibers of some in byte maps,
//! in which the coordinates of the others are looked up.
//!
//! A fiber can be held where a loop that it does not depend on stands between the loops that fix it and the one that walks
//! it: it is read once for many times that it is met. This is the workspace of Gustavson's algorithm (Two fast algorithms
//! for sparse matrices, 1978) on the side of what is read.

use crate::context::Context;
use crate::cost;
use crate::term::{At, Node, Read, Term};
use crate::work::{Event, Work};
use redpoll_logic::{DType, LeafKind, LevelKind, Lookup, Prim, StorageMode};

/// A list that a loop meets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct List {
    pub(crate) kind: LevelKind,
    /// How many fibers there are.
    pub(crate) fibers: f64,
    /// Coordinates of a fiber that the loop meets.
    pub(crate) fiber: f64,
    /// Coordinates of a fiber, each counted once.
    pub(crate) average: f64,
    /// How many loops are outside of where the fiber is known: those between come back to it.
    pub(crate) fixed: usize,
    /// Whether the fill of the access alone decides that the value is its fill: the loop goes where all such have something.
    pub(crate) joined: bool,
    pub(crate) hold: Option<Hold>,
    /// Whether known coordinates can be searched for.
    pub(crate) searchable: bool,
}

/// How a list is gone through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Step by step, or in leaps.
    Walked,
    /// In a byte map in which it is held, by what the others lead to.
    Held,
    /// By a search for each coordinate that the others lead to.
    Searched,
    /// In leaps to where those that decide lead, from where it stands.
    Led,
}

/// That fibers can be held.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hold {
    /// How many loops are outside of where a fiber is filled in.
    pub(crate) depth: usize,
    /// Bytes of the byte map.
    bytes: f64,
}

/// Whether coordinates of a level of a read can be searched for, once they are known.
pub(crate) fn searchable(read: &Read, level: usize) -> bool {
    is_list(read, level) && has_whole_places(read, level)
}

fn is_list(read: &Read, level: usize) -> bool {
    let format = &read.ty.format.levels[level];
    let traits = format.kind.traits();
    traits.lookup == Lookup::Search && !traits.runs && format.unique
}

/// Whether the level has the coordinates of a mode as they are, and the read stays inside of them.
fn has_whole_places(read: &Read, level: usize) -> bool {
    let whole = matches!(read.ty.format.modes[level], StorageMode::Whole { .. });
    whole && read.outside.is_none() && read.at.iter().all(|at| matches!(at, At::Subscript(_)))
}

impl Hold {
    /// How the innermost level of a read can be held, where the loop that walks it has `here` loops outside, and the
    /// levels outside of it are known after `fixed` of them.
    pub(crate) fn of(read: &Read, level: usize, fixed: usize, here: usize) -> Option<Hold> {
        let format = &read.ty.format;
        let innermost = level + 1 == format.levels.len();
        let places = format.storage_shape(&read.ty.shape)[level];
        // What no loop fixes is a tensor of its own; threads would each fill it in again.
        let again = 0 < fixed && fixed < here;
        let fits = again && innermost && is_list(read, level) && has_whole_places(read, level);
        let fits = fits && places <= cost::BYTE_MAP_LIMIT;
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

/// How the lists that a loop meets are gone through, and what that takes.
pub(crate) fn meet(lists: &[List], rounds: &Rounds<'_>) -> (Vec<Way>, Work) {
    let ways = vec![Way::Walked; lists.len()];
    let mut best = (ways.clone(), walk(lists, &ways, rounds));
    let mut lowest = best.1.cost();
    // Some list that decides leads.
    let leads = lists.iter().filter(|list| list.joined).count();
    if leads == 0 || lists.len() == 1 {
        return best;
    }
    let mut longest: Vec<usize> = (0..lists.len()).filter(|k| lists[*k].hold.is_some()).collect();
    longest.sort_by(|a, b| lists[*b].fiber.total_cmp(&lists[*a].fiber));
    longest.truncate(leads - 1);
    // Lists that do not decide are asked for what the others lead to; those that can leap take them along.
    let asked = match lists.iter().all(|list| list.searchable) {
        true => Way::Led,
        false => Way::Searched,
    };
    let is_asked = |list: &List| !list.joined && list.searchable;
    let asked: Vec<Way> = lists.iter().map(|l| if is_asked(l) { asked } else { Way::Walked }).collect();
    let starts = if asked == ways { vec![ways] } else { vec![ways, asked] };
    for mut ways in starts {
        let mut consider = |ways: &[Way]| {
            let (steps, fills) = (walk(lists, ways, rounds) + look_up(lists, ways, rounds), fill(lists, ways, rounds));
            let cost = steps.cost() + fills.cost() / cost::HOLD_RISK;
            if cost < lowest {
                lowest = cost;
                best = (ways.to_vec(), steps + fills);
            }
        };
        if ways.iter().any(|way| *way != Way::Walked) {
            consider(&ways);
        }
        for k in &longest {
            ways[*k] = Way::Held;
            consider(&ways);
        }
    }
    best
}

/// The coordinates of the shortest list that leads, in each fiber.
pub(crate) fn least(lists: &[List], ways: &[Way]) -> f64 {
    walked(lists, ways).map(|list| list.fiber).fold(f64::INFINITY, f64::min)
}

fn walked<'l>(lists: &'l [List], ways: &'l [Way]) -> impl Iterator<Item = &'l List> + Clone {
    lists.iter().zip(ways).filter(|(_, way)| **way == Way::Walked).map(|(list, _)| list)
}

/// Steps along the lists that are walked.
fn walk(lists: &[List], ways: &[Way], rounds: &Rounds<'_>) -> Work {
    let mut work = Work::NONE;
    let mut walked = walked(lists, ways);
    let all = walked.clone();
    if let (Some(list), None) = (walked.next(), walked.next()) {
        work.add(cost::walk(list.kind), rounds.own.max(rounds.outside * list.fiber));
        return work;
    }
    let (shortest, longest) = (least(lists, ways), all.clone().map(|list| list.fiber).fold(0.0, f64::max));
    if longest > cost::GALLOP_RATIO * shortest.max(0.5) && all.clone().all(|list| list.joined) {
        work.add(Event::Gallop, rounds.outside * shortest * (1.0 + longest / shortest.max(0.5)).log2());
        return work;
    }
    all.for_each(|list| work.add(Event::Merge, rounds.outside * list.fiber));
    work
}

/// To fill in the fibers that are held.
fn fill(lists: &[List], ways: &[Way], rounds: &Rounds<'_>) -> Work {
    let mut work = Work::NONE;
    let holds = lists.iter().zip(ways).filter(|(_, way)| **way == Way::Held);
    for (list, hold) in holds.filter_map(|(list, _)| Some((list, list.hold?))) {
        let fills = (rounds.of)(hold.depth);
        work.add(Event::Enter, fills);
        for event in [cost::walk(list.kind), Event::WriteMap, Event::Clear] {
            work.add(event, fills * list.average);
        }
    }
    work
}

/// To look up what the lists that are walked lead to.
fn look_up(lists: &[List], ways: &[Way], rounds: &Rounds<'_>) -> Work {
    let mut work = Work::NONE;
    let steps = rounds.own.max(rounds.outside * least(lists, ways));
    for (list, way) in lists.iter().zip(ways) {
        match (way, list.hold) {
            (Way::Walked, _) => {}
            (Way::Held, Some(hold)) => {
                work.add(Event::FollowHeld, steps);
                work.miss(steps, hold.bytes);
            }
            (Way::Led, _) => {
                // The further apart is what it is asked for, the more a leap passes over.
                let apart = list.fiber / least(lists, ways).max(0.5);
                match apart > 1.0 {
                    true => work.add(Event::Gallop, cost::LED_LEAP * steps * (1.5 + apart.log2())),
                    false => work.add(Event::Merge, cost::LED_STEP * rounds.outside * list.fiber),
                }
            }
            (Way::Held | Way::Searched, _) => work.add(cost::follow(list.kind), steps),
        }
    }
    work
}

/// The accesses whose fill alone decides that the value is its fill.
pub(crate) fn conjuncts<'t>(cx: &Context, term: &'t Term, found: &mut Vec<&'t Read>) {
    match term.node() {
        Node::Access(read) => found.push(read),
        Node::Call(_, args) if args.len() == 1 => conjuncts(cx, &args[0], found),
        Node::Call(_, args) => cx.deciding(term).iter().for_each(|k| conjuncts(cx, &args[*k], found)),
        _ => {}
    }
}
