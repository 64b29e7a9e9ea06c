//! The work of a loop over several lists. The loop walks one list, merges or gallops several, or
//! caches fibers of some lists in byte maps and looks up the coordinates of the other lists there.
//! A list whose fill alone does not decide the value can also be searched for the coordinates of
//! the other lists, or advance to these coordinates by galloping.
//!
//! A fiber is worth caching if outer loops fix the fiber, and other loops run between these outer
//! loops and the loop that walks the fiber. The fiber is then read once and used many times. The
//! byte map is the workspace of Gustavson's algorithm (Two fast algorithms for sparse matrices,
//! 1978), used for an operand instead of a result.

use crate::term::{ModeCoordinate, Read};
use crate::work::{Event, Work, cost};
use redpoll_logic::{DType, LeafKind, LevelKind, Lookup, Prim, StorageMode};

/// A list that a loop reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ListLevel {
    pub(crate) kind: LevelKind,
    /// Number of fibers.
    pub(crate) fiber_count: f64,
    /// Average number of coordinates in a fiber, weighted by how often the loop reads the fiber.
    pub(crate) fiber_length: f64,
    /// Average number of coordinates in a fiber, unweighted.
    pub(crate) average_length: f64,
    /// Number of loops that determine the fiber; the loops inside of these read the fiber again.
    pub(crate) fixed_depth: usize,
    /// Set for a conjunct: the value has its fill wherever the access has its fill. The loop visits
    /// the intersection of the conjuncts.
    pub(crate) is_conjunct: bool,
    /// The workspace that can cache a fiber, if any.
    pub(crate) workspace: Option<FiberWorkspace>,
    /// Set if the list can be searched for a given coordinate.
    pub(crate) is_searchable: bool,
}

/// The protocol by which a loop reads a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListProtocol {
    /// Visits the list step by step, or by galloping.
    Walk,
    /// Looks coordinates up in a byte map that caches the fiber.
    Workspace,
    /// Searches the list for each coordinate of the conjuncts.
    Search,
    /// Advances by galloping to each coordinate of the conjuncts.
    Advance,
}

/// A byte map that caches a fiber of a list for repeated lookups.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct FiberWorkspace {
    /// Number of loops around the loop that fills the byte map with a fiber.
    pub(crate) depth: usize,
    /// Bytes of the byte map and of its values.
    bytes: f64,
}

/// Returns whether a level of a read can be searched for a given coordinate.
pub(crate) fn is_searchable(read: &Read, level: usize) -> bool {
    is_list(read, level) && has_whole_coordinates(read, level)
}

fn is_list(read: &Read, level: usize) -> bool {
    let format = &read.ty.format.levels[level];
    let traits = format.kind.traits();
    traits.lookup == Lookup::Search && !traits.runs && format.unique
}

/// Returns whether the level stores the unsplit coordinates of a mode, the read stays in bounds,
/// and all coordinates of the read are subscripts, not computed values.
fn has_whole_coordinates(read: &Read, level: usize) -> bool {
    let whole = matches!(read.ty.format.modes[level], StorageMode::Whole { .. });
    whole && read.outside.is_none() && read.coordinates.iter().all(|at| matches!(at, ModeCoordinate::Subscript(_)))
}

impl FiberWorkspace {
    /// Returns the workspace for a level of a read, if the level is the innermost one and its
    /// fibers can be cached. `loop_depth` loops surround the loop that walks the level, and the
    /// outermost `fixed_depth` of them determine the fiber.
    pub(crate) fn of(read: &Read, level: usize, fixed_depth: usize, loop_depth: usize) -> Option<FiberWorkspace> {
        let format = &read.ty.format;
        let innermost = level + 1 == format.levels.len();
        let dimension = format.storage_shape(&read.ty.shape)[level];
        // A fiber that depends on no loop is the same for all threads, and each thread would cache
        // it again.
        let is_reread = 0 < fixed_depth && fixed_depth < loop_depth;
        let fits = is_reread && innermost && is_list(read, level) && has_whole_coordinates(read, level);
        let fits = fits && dimension <= cost::BYTE_MAP_LIMIT;
        let value = match (format.leaf, &read.ty.dtype) {
            (LeafKind::Pattern, _) => 0,
            (_, DType::Prim(prim)) => prim.bytes(),
            _ => 2 * Prim::F64.bytes(),
        };
        fits.then(|| FiberWorkspace { depth: fixed_depth, bytes: dimension as f64 * (1 + value) as f64 })
    }
}

/// The rounds of a loop and of the loops around it.
pub(crate) struct LoopRounds<'r> {
    /// Rounds of the loop.
    pub(crate) own: f64,
    /// Rounds of the loops outside.
    pub(crate) outside: f64,
    /// Function that returns the rounds of a number of outermost loops.
    pub(crate) of: &'r dyn Fn(usize) -> f64,
}

/// Returns the cheapest candidate protocols for the lists of a loop, and their work. In the
/// comparison, the cost of filling workspaces is divided by [`cost::WORKSPACE_RISK`].
pub(crate) fn cheapest_protocols(lists: &[ListLevel], rounds: &LoopRounds<'_>) -> (Vec<ListProtocol>, Work) {
    let protocols = vec![ListProtocol::Walk; lists.len()];
    let mut best = (protocols.clone(), walk_work(lists, &protocols, rounds));
    let mut lowest = best.1.cost();
    // At least one conjunct must be walked.
    let conjunct_count = lists.iter().filter(|list| list.is_conjunct).count();
    if conjunct_count == 0 || lists.len() == 1 {
        return best;
    }
    let mut longest: Vec<usize> = (0..lists.len()).filter(|k| lists[*k].workspace.is_some()).collect();
    longest.sort_by(|a, b| lists[*b].fiber_length.total_cmp(&lists[*a].fiber_length));
    longest.truncate(conjunct_count - 1);
    // Searchable lists that are not conjuncts are searched for the coordinates of the conjuncts. If
    // all lists of the loop are searchable, those that are not conjuncts advance to these
    // coordinates instead.
    let follower = match lists.iter().all(|list| list.is_searchable) {
        true => ListProtocol::Advance,
        false => ListProtocol::Search,
    };
    let follows = |list: &ListLevel| !list.is_conjunct && list.is_searchable;
    let following: Vec<ListProtocol> =
        lists.iter().map(|l| if follows(l) { follower } else { ListProtocol::Walk }).collect();
    let starts = if following == protocols { vec![protocols] } else { vec![protocols, following] };
    for mut protocols in starts {
        let mut consider = |protocols: &[ListProtocol]| {
            let (steps, fills) = (
                walk_work(lists, protocols, rounds) + lookup_work(lists, protocols, rounds),
                fill_work(lists, protocols, rounds),
            );
            let cost = steps.cost() + fills.cost() / cost::WORKSPACE_RISK;
            if cost < lowest {
                lowest = cost;
                best = (protocols.to_vec(), steps + fills);
            }
        };
        if protocols.iter().any(|protocol| *protocol != ListProtocol::Walk) {
            consider(&protocols);
        }
        for k in &longest {
            protocols[*k] = ListProtocol::Workspace;
            consider(&protocols);
        }
    }
    best
}

/// Returns the length of the shortest walked list.
pub(crate) fn shortest_walked_length(lists: &[ListLevel], protocols: &[ListProtocol]) -> f64 {
    walked_lists(lists, protocols).map(|list| list.fiber_length).fold(f64::INFINITY, f64::min)
}

fn walked_lists<'l>(
    lists: &'l [ListLevel],
    protocols: &'l [ListProtocol],
) -> impl Iterator<Item = &'l ListLevel> + Clone {
    lists.iter().zip(protocols).filter(|(_, protocol)| **protocol == ListProtocol::Walk).map(|(list, _)| list)
}

/// Returns the work of the steps along walked lists.
fn walk_work(lists: &[ListLevel], protocols: &[ListProtocol], rounds: &LoopRounds<'_>) -> Work {
    let mut work = Work::NONE;
    let mut walked = walked_lists(lists, protocols);
    let all = walked.clone();
    if let (Some(list), None) = (walked.next(), walked.next()) {
        work.add(cost::walk(list.kind), rounds.own.max(rounds.outside * list.fiber_length));
        return work;
    }
    let (shortest, longest) =
        (shortest_walked_length(lists, protocols), all.clone().map(|list| list.fiber_length).fold(0.0, f64::max));
    if longest > cost::GALLOP_RATIO * shortest.max(0.5) && all.clone().all(|list| list.is_conjunct) {
        work.add(Event::Gallop, rounds.outside * shortest * (1.0 + longest / shortest.max(0.5)).log2());
        return work;
    }
    all.for_each(|list| work.add(Event::Merge, rounds.outside * list.fiber_length));
    work
}

/// Returns the work of filling workspaces with fibers.
fn fill_work(lists: &[ListLevel], protocols: &[ListProtocol], rounds: &LoopRounds<'_>) -> Work {
    let mut work = Work::NONE;
    let cached = lists.iter().zip(protocols).filter(|(_, protocol)| **protocol == ListProtocol::Workspace);
    for (list, workspace) in cached.filter_map(|(list, _)| Some((list, list.workspace?))) {
        let fills = (rounds.of)(workspace.depth);
        work.add(Event::Enter, fills);
        for event in [cost::walk(list.kind), Event::WriteMap, Event::Clear] {
            work.add(event, fills * list.average_length);
        }
    }
    work
}

/// Returns the work of looking up the coordinates of the walked lists in the other lists.
fn lookup_work(lists: &[ListLevel], protocols: &[ListProtocol], rounds: &LoopRounds<'_>) -> Work {
    let mut work = Work::NONE;
    let steps = rounds.own.max(rounds.outside * shortest_walked_length(lists, protocols));
    for (list, protocol) in lists.iter().zip(protocols) {
        match (protocol, list.workspace) {
            (ListProtocol::Walk, _) => {}
            (ListProtocol::Workspace, Some(workspace)) => {
                work.add(Event::FollowWorkspace, steps);
                work.add_misses(steps, workspace.bytes);
            }
            (ListProtocol::Advance, _) => {
                // The further apart the queried coordinates are, the longer the leaps are.
                let distance = list.fiber_length / shortest_walked_length(lists, protocols).max(0.5);
                match distance > 1.0 {
                    true => work.add(Event::Gallop, cost::ADVANCE_LEAP * steps * (1.5 + distance.log2())),
                    false => work.add(Event::Merge, cost::ADVANCE_STEP * rounds.outside * list.fiber_length),
                }
            }
            (ListProtocol::Workspace | ListProtocol::Search, _) => work.add(cost::follow(list.kind), steps),
        }
    }
    work
}
