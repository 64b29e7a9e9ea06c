//! Chooses the protocol of each level of an access.
//!
//! A level is followed if its coordinate is known when the loops reach it; otherwise it is walked.
//! Loops that read several sparse levels are exceptions if some of these levels are conjuncts. The
//! value has its fill value wherever one conjunct has its fill value, so the loop only visits the
//! intersection of the conjuncts. In such a loop:
//! - Conjuncts with direct lookup, such as hash tables, are followed if the loop also reads lists.
//! - Conjunct lists that outer loops reread are cached in byte maps where that is cheaper.
//! - Lists that are not conjuncts are searched, or advance by galloping, where that is cheaper.
//! - The remaining conjunct lists gallop in two cases, if their levels support search: lists that
//!   are not conjuncts advance to the coordinates of the conjuncts, or the fiber lengths of the
//!   conjuncts differ by more than a factor of [`cost::GALLOP_RATIO`].

use crate::access::fit::{LevelUse, fit, storage_coordinates};
use crate::access::intersection::{
    FiberWorkspace, ListLevel, ListProtocol, LoopRounds, cheapest_protocols, is_searchable,
};
use crate::facts::Facts;
use crate::facts::estimate::conjuncts;
use crate::term::sizes::Sizes;
use crate::term::{NestKind, Read, Term};
use crate::work::cost;
use redpoll_logic::physical::{Protocol, Workspace};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, Format, LevelKind, Lookup};

/// The protocols of the accesses of one value.
pub(crate) struct Protocols(Vec<(Read, AccessProtocols)>);

/// The protocols of the levels of an access, and its workspace.
#[derive(Clone)]
pub(crate) struct AccessProtocols {
    pub(crate) protocols: Vec<Protocol>,
    pub(crate) workspace: Option<Workspace>,
}

impl Protocols {
    /// Returns the protocols of an access of the value.
    pub(crate) fn of(&self, read: &Read) -> AccessProtocols {
        let found = self.0.iter().find(|(r, _)| r == read);
        found.map(|(_, protocols)| protocols.clone()).expect("every access of the value has protocols")
    }
}

/// A level of an access that a loop walks.
struct WalkedLevel {
    access: usize,
    level: usize,
    /// Number of loops outside of the loop.
    loop_depth: usize,
    list: ListLevel,
}

/// Chooses the protocols of the accesses of a value inside loops of the given order. Where one of
/// the reads in `outer_conjuncts` has its fill value, nothing is computed.
pub(crate) fn choose_protocols(
    facts: &Facts,
    (value, outer_conjuncts): (&Term, &[&Read]),
    sizes: &Sizes,
    order: &[Field],
    kind: NestKind,
) -> Protocols {
    let positions = |f: &Field| order.iter().position(|g| g == f);
    let mut chosen: Vec<(Read, AccessProtocols)> = Vec::new();
    value.each_access(&mut |read| {
        if !chosen.iter().any(|(r, _)| r == read) {
            let uses = fit(read, sizes, &positions, kind, facts.mode());
            let protocol =
                |level_use: &LevelUse| if *level_use == LevelUse::Walk { Protocol::Walk } else { Protocol::Follow };
            let protocols = uses.iter().map(protocol).collect();
            chosen.push((read.clone(), AccessProtocols { protocols, workspace: None }));
        }
    });
    let mut conjunct_reads: Vec<&Read> = Vec::new();
    conjuncts(facts, value, &mut conjunct_reads);
    let mut walked: Vec<WalkedLevel> = Vec::new();
    for (access, (read, own)) in chosen.iter().enumerate() {
        let coordinates = storage_coordinates(&read.coordinates, &read.ty.format, &read.ty.shape, sizes, facts.mode());
        let is_conjunct = conjunct_reads.contains(&read);
        let mut outside = 0;
        for (level, (at, protocol)) in coordinates.iter().zip(&own.protocols).enumerate() {
            let kind = read.ty.format.levels[level].kind;
            let Some(loop_depth) = at.fields().iter().filter_map(positions).max() else { continue };
            if !kind.traits().full && *protocol == Protocol::Walk {
                let count = |levels| facts.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
                let fiber_count = count(level);
                let fiber_length = count(level + 1) / fiber_count.max(1.0);
                let workspace = if is_conjunct { FiberWorkspace::of(read, level, outside, loop_depth) } else { None };
                let is_searchable = is_searchable(read, level);
                let list = ListLevel {
                    kind,
                    fiber_count,
                    fiber_length,
                    average_length: fiber_length,
                    fixed_depth: outside,
                    is_conjunct,
                    workspace,
                    is_searchable,
                };
                walked.push(WalkedLevel { access, level, loop_depth, list });
            }
            outside = outside.max(loop_depth + 1);
        }
    }
    let rounds = |depth: usize| {
        let coordinate_count: f64 = order[..depth].iter().map(|f| sizes.of(f) as f64).product();
        coordinate_count * facts.support(value, sizes, &|f| order[..depth].contains(f))
    };
    conjunct_reads.extend(outer_conjuncts);
    for loop_depth in 0..order.len() {
        let mut levels: Vec<&mut WalkedLevel> = walked.iter_mut().filter(|m| m.loop_depth == loop_depth).collect();
        if levels.len() > 1 && levels.iter().any(|m| m.list.is_conjunct) {
            if facts.may_measure() {
                let bound = |f: &Field| order[..loop_depth].contains(f);
                let outside = facts.joint_profile(&conjunct_reads, sizes, &bound);
                for level in &mut levels {
                    let read = &chosen[level.access].0;
                    let length = facts.reached_fiber_length(read, &outside, sizes, (&bound, &order[loop_depth]));
                    level.list.fiber_length = length.unwrap_or(level.list.fiber_length);
                }
            }
            choose_loop_protocols(&levels, &rounds, &mut chosen);
        }
    }
    Protocols(chosen)
}

/// Chooses the protocols of the levels that one loop walks; `rounds(n)` is the number of rounds of
/// the `n` outermost loops.
fn choose_loop_protocols(
    levels: &[&mut WalkedLevel],
    rounds: &dyn Fn(usize) -> f64,
    chosen: &mut [(Read, AccessProtocols)],
) {
    let (tables, lists): (Vec<&WalkedLevel>, Vec<&WalkedLevel>) =
        levels.iter().map(|m| &**m).partition(|m| m.list.kind.traits().lookup == Lookup::Direct);
    if lists.is_empty() {
        return;
    }
    for table in tables.iter().filter(|m| m.list.is_conjunct) {
        chosen[table.access].1.protocols[table.level] = Protocol::Follow;
    }
    let list_levels: Vec<ListLevel> = lists.iter().map(|m| m.list).collect();
    let loop_depth = lists[0].loop_depth;
    let list_protocols = if list_levels.iter().any(|list| list.workspace.is_some() || !list.is_conjunct) {
        cheapest_protocols(
            &list_levels,
            &LoopRounds { own: rounds(loop_depth + 1), outside: rounds(loop_depth), of: rounds },
        )
        .0
    } else {
        vec![ListProtocol::Walk; lists.len()]
    };
    for (level, list_protocol) in lists
        .iter()
        .zip(&list_protocols)
        .filter(|(_, list_protocol)| matches!(list_protocol, ListProtocol::Workspace | ListProtocol::Search))
    {
        let (read, own) = &mut chosen[level.access];
        own.protocols[level.level] = Protocol::Follow;
        if let (ListProtocol::Workspace, Some(fiber)) = (list_protocol, level.list.workspace) {
            let format = Format::of_kinds(&[LevelKind::ByteMap], read.ty.format.leaf);
            own.workspace = Some(Workspace { depth: fiber.depth, format });
        }
    }
    let leading = || {
        lists
            .iter()
            .zip(&list_protocols)
            .filter(|(m, list_protocol)| m.list.is_conjunct && **list_protocol == ListProtocol::Walk)
            .map(|(m, _)| *m)
    };
    // Conjuncts with direct lookup are included, so that a loop with a single list compares the
    // length of this list with their fiber lengths.
    let lengths =
        || leading().chain(tables.iter().copied().filter(|m| m.list.is_conjunct)).map(|m| m.list.fiber_length);
    let (shortest, longest) = (lengths().fold(f64::INFINITY, f64::min), lengths().fold(0.0, f64::max));
    let leads = list_protocols.contains(&ListProtocol::Advance);
    for level in leading().filter(|m| m.list.kind.traits().lookup == Lookup::Search) {
        if leads || lengths().count() > 1 && longest > cost::GALLOP_RATIO * shortest.max(0.5) {
            chosen[level.access].1.protocols[level.level] = Protocol::Gallop;
        }
    }
}
