//! The work of a loop over several lists: it walks one, merges or gallops several, or holds fibers
//! of some in byte maps, in which the coordinates of the others are looked up.
//!
//! A fiber can be held if the list is independent of some loop between the loops that fix the fiber
//! and the loop that walks it: it is read once and used many times. This is the workspace of
//! Gustavson's algorithm (Two fast algorithms for sparse matrices, 1978), on the side of reads.

use crate::context::Context;
use crate::cost;
use crate::term::{At, Node, Read, Term};
use crate::work::{Event, Work};
use redpoll_logic::{DType, LeafKind, LevelKind, Lookup, Prim, StorageMode};

/// A list that a loop reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct List {
    pub(crate) kind: LevelKind,
    /// Number of fibers.
    pub(crate) fibers: f64,
    /// Average number of coordinates in a fiber, weighted by how often the loop reads it.
    pub(crate) fiber: f64,
    /// Average number of coordinates in a fiber, unweighted.
    pub(crate) average: f64,
    /// Number of loops that determine the fiber; the loops after these reread it.
    pub(crate) fixed: usize,
    /// Set when the fill of the access alone makes the value a fill; the loop visits the
    /// intersection of these lists.
    pub(crate) joined: bool,
    pub(crate) hold: Option<Hold>,
    /// Set when a given coordinate can be searched for.
    pub(crate) searchable: bool,
}

/// The way a loop reads a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Step by step, or by galloping.
    Walked,
    /// Looked up in a byte map that holds the fiber.
    Held,
    /// Searched for each coordinate of the other lists.
    Searched,
    /// Advanced by galloping to each coordinate of the deciding lists.
    Led,
}

/// The option to hold fibers of a list.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hold {
    /// Number of loops outside of the filling of a fiber.
    pub(crate) depth: usize,
    /// Bytes of the byte map.
    bytes: f64,
}

/// Returns whether given coordinates of a level of a read can be searched for.
pub(crate) fn searchable(read: &Read, level: usize) -> bool {
    is_list(read, level) && has_whole_places(read, level)
}

fn is_list(read: &Read, level: usize) -> bool {
    let format = &read.ty.format.levels[level];
    let traits = format.kind.traits();
    traits.lookup == Lookup::Search && !traits.runs && format.unique
}

/// Returns whether the level stores the unsplit coordinates of a mode, and the read stays within
/// its bounds.
fn has_whole_places(read: &Read, level: usize) -> bool {
    let whole = matches!(read.ty.format.modes[level], StorageMode::Whole { .. });
    whole && read.outside.is_none() && read.at.iter().all(|at| matches!(at, At::Subscript(_)))
}

impl Hold {
    /// Returns how the innermost level of a read can be held, if the loop that walks it has `here`
    /// loops outside and `fixed` of them determine its fiber.
    pub(crate) fn of(read: &Read, level: usize, fixed: usize, here: usize) -> Option<Hold> {
        let format = &read.ty.format;
        let innermost = level + 1 == format.levels.len();
        let places = format.storage_shape(&read.ty.shape)[level];
        // A fiber that depends on no loop is a whole tensor, and each thread would fill it again.
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

/// The rounds of a loop and of the loops around it.
pub(crate) struct Rounds<'r> {
    /// Rounds of the loop.
    pub(crate) own: f64,
    /// Rounds of the loops outside.
    pub(crate) outside: f64,
    /// Function that returns the rounds of a number of outermost loops.
    pub(crate) of: &'r dyn Fn(usize) -> f64,
}

/// Returns the cheapest way to read the lists of a loop, and its work.
pub(crate) fn meet(lists: &[List], rounds: &Rounds<'_>) -> (Vec<Way>, Work) {
    let ways = vec![Way::Walked; lists.len()];
    let mut best = (ways.clone(), walk(lists, &ways, rounds));
    let mut lowest = best.1.cost();
    // At least one deciding list must lead.
    let leads = lists.iter().filter(|list| list.joined).count();
    if leads == 0 || lists.len() == 1 {
        return best;
    }
    let mut longest: Vec<usize> = (0..lists.len()).filter(|k| lists[*k].hold.is_some()).collect();
    longest.sort_by(|a, b| lists[*b].fiber.total_cmp(&lists[*a].fiber));
    longest.truncate(leads - 1);
    // Lists that do not decide are queried for the coordinates of the others; if all lists are
    // searchable, they can be led.
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

/// Returns the length of the shortest leading list.
pub(crate) fn least(lists: &[List], ways: &[Way]) -> f64 {
    walked(lists, ways).map(|list| list.fiber).fold(f64::INFINITY, f64::min)
}

fn walked<'l>(lists: &'l [List], ways: &'l [Way]) -> impl Iterator<Item = &'l List> + Clone {
    lists.iter().zip(ways).filter(|(_, way)| **way == Way::Walked).map(|(list, _)| list)
}

/// Returns the work of the steps along walked lists.
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

/// Returns the work of filling the held fibers.
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

/// Returns the work of looking up the coordinates of the walked lists in the other lists.
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
                // The further apart the queried coordinates are, the longer are the leaps.
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

/// Collects the accesses whose fill alone makes the value a fill.
pub(crate) fn conjuncts<'t>(cx: &Context, term: &'t Term, found: &mut Vec<&'t Read>) {
    match term.node() {
        Node::Access(read) => found.push(read),
        Node::Call(_, args) if args.len() == 1 => conjuncts(cx, &args[0], found),
        Node::Call(_, args) => cx.deciding(term).iter().for_each(|k| conjuncts(cx, &args[*k], found)),
        _ => {}
    }
}
