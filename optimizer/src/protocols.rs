//! Chooses the protocol of each level of an access.
//!
//! A level whose coordinate is given when it is reached is followed; other levels are walked,
//! except in intersections. An intersection is a loop over several sparse levels whose fills each
//! annihilate the value. In it, hash tables and byte maps are followed if a list leads, and lists
//! that outer loops reread are held in byte maps. Lists of a union beside it are led or searched
//! where that is cheaper. The remaining lists gallop when they lead others, or when their fiber
//! lengths differ by more than [`cost::GALLOP_RATIO`].

use crate::context::Context;
use crate::cost;
use crate::fit::{Meeting, fit, storage_at};
use crate::intersection::{Hold, List, Rounds, Way, conjuncts, meet, searchable};
use crate::sizes::Sizes;
use crate::term::{NestKind, Read, Term};
use redpoll_logic::physical::{Protocol, Workspace};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, Format, LevelKind, Lookup};

/// The protocols of the accesses of one value.
pub(crate) struct Protocols(Vec<(Read, Through)>);

/// The protocols of the levels of an access, and its workspace.
#[derive(Clone)]
pub(crate) struct Through {
    pub(crate) protocols: Vec<Protocol>,
    pub(crate) workspace: Option<Workspace>,
}

impl Protocols {
    /// Returns the protocols of an access of the value.
    pub(crate) fn of(&self, read: &Read) -> Through {
        let found = self.0.iter().find(|(r, _)| r == read);
        found.map(|(_, through)| through.clone()).expect("every access of the value has protocols")
    }
}

/// A level of an access that a loop walks.
struct Member {
    access: usize,
    level: usize,
    /// The position of the loop.
    loop_at: usize,
    list: List,
}

/// Chooses the protocols of the accesses of a value inside loops of the given order. The reads in
/// `around` must differ from their fills for anything to be computed.
pub(crate) fn choose_protocols(
    cx: &Context,
    (value, around): (&Term, &[&Read]),
    sizes: &Sizes,
    order: &[Field],
    kind: NestKind,
) -> Protocols {
    let positions = |f: &Field| order.iter().position(|g| g == f);
    let mut chosen: Vec<(Read, Through)> = Vec::new();
    value.each_access(&mut |read| {
        if !chosen.iter().any(|(r, _)| r == read) {
            let meetings = fit(read, sizes, &positions, kind, cx.mode());
            let protocol = |m: &Meeting| if *m == Meeting::Walk { Protocol::Walk } else { Protocol::Follow };
            let protocols = meetings.iter().map(protocol).collect();
            chosen.push((read.clone(), Through { protocols, workspace: None }));
        }
    });
    let mut together: Vec<&Read> = Vec::new();
    conjuncts(cx, value, &mut together);
    let mut members: Vec<Member> = Vec::new();
    for (access, (read, through)) in chosen.iter().enumerate() {
        let spots = storage_at(&read.at, &read.ty.format, &read.ty.shape, sizes, cx.mode());
        let joined = together.contains(&read);
        let mut outside = 0;
        for (level, (at, protocol)) in spots.iter().zip(&through.protocols).enumerate() {
            let kind = read.ty.format.levels[level].kind;
            let Some(loop_at) = at.fields().iter().filter_map(positions).max() else { continue };
            if !kind.traits().full && *protocol == Protocol::Walk {
                let count = |levels| cx.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
                let fibers = count(level);
                let fiber = count(level + 1) / fibers.max(1.0);
                let hold = if joined { Hold::of(read, level, outside, loop_at) } else { None };
                let searchable = searchable(read, level);
                let list = List { kind, fibers, fiber, average: fiber, fixed: outside, joined, hold, searchable };
                members.push(Member { access, level, loop_at, list });
            }
            outside = outside.max(loop_at + 1);
        }
    }
    let rounds = |depth: usize| {
        let places: f64 = order[..depth].iter().map(|f| sizes.of(f) as f64).product();
        places * cx.support(value, sizes, &|f| order[..depth].contains(f))
    };
    together.extend(around);
    for loop_at in 0..order.len() {
        let mut met: Vec<&mut Member> = members.iter_mut().filter(|m| m.loop_at == loop_at).collect();
        if met.len() > 1 && met.iter().any(|m| m.list.joined) {
            if cx.measures() {
                let bound = |f: &Field| order[..loop_at].contains(f);
                let outside = cx.met_by(&together, sizes, &bound);
                for member in &mut met {
                    let read = &chosen[member.access].0;
                    let fiber = cx.fiber_met(read, &outside, sizes, (&bound, &order[loop_at]));
                    member.list.fiber = fiber.unwrap_or(member.list.fiber);
                }
            }
            meet_together(&met, &rounds, &mut chosen);
        }
    }
    Protocols(chosen)
}

/// Chooses the protocols of the levels that one loop walks; `rounds` returns the rounds of a number
/// of outermost loops.
fn meet_together(met: &[&mut Member], rounds: &dyn Fn(usize) -> f64, chosen: &mut [(Read, Through)]) {
    let (tables, lists): (Vec<&Member>, Vec<&Member>) =
        met.iter().map(|m| &**m).partition(|m| m.list.kind.traits().lookup == Lookup::Direct);
    if lists.is_empty() {
        return;
    }
    for table in tables.iter().filter(|m| m.list.joined) {
        chosen[table.access].1.protocols[table.level] = Protocol::Follow;
    }
    let fibers: Vec<List> = lists.iter().map(|m| m.list).collect();
    let at = lists[0].loop_at;
    let ways = if fibers.iter().any(|list| list.hold.is_some() || !list.joined) {
        meet(&fibers, &Rounds { own: rounds(at + 1), outside: rounds(at), of: rounds }).0
    } else {
        vec![Way::Walked; lists.len()]
    };
    for (member, way) in lists.iter().zip(&ways).filter(|(_, way)| matches!(way, Way::Held | Way::Searched)) {
        let (read, through) = &mut chosen[member.access];
        through.protocols[member.level] = Protocol::Follow;
        if let (Way::Held, Some(hold)) = (way, member.list.hold) {
            let format = Format::of_kinds(&[LevelKind::ByteMap], read.ty.format.leaf);
            through.workspace = Some(Workspace { depth: hold.depth, format });
        }
    }
    let leading = || lists.iter().zip(&ways).filter(|(m, way)| m.list.joined && **way == Way::Walked).map(|(m, _)| *m);
    // A table next to a single list shows how much of the list is needed.
    let lengths = || leading().chain(tables.iter().copied().filter(|m| m.list.joined)).map(|m| m.list.fiber);
    let (least, most) = (lengths().fold(f64::INFINITY, f64::min), lengths().fold(0.0, f64::max));
    let leads = ways.contains(&Way::Led);
    for member in leading().filter(|m| m.list.kind.traits().lookup == Lookup::Search) {
        if leads || lengths().count() > 1 && most > cost::GALLOP_RATIO * least.max(0.5) {
            chosen[member.access].1.protocols[member.level] = Protocol::Gallop;
        }
    }
}
