//! Chooses how an access goes through each of its levels.
//!
//! A level whose coordinate is known when it is met is followed; the others are walked, except in an intersection:
//! where one loop meets several sparse levels under operators that each of their fills annihilates, lists gallop when
//! the lengths of their fibers differ by more than [`cost::GALLOP_RATIO`], and hash tables and byte maps are followed
//! when some list leads.

use crate::context::Context;
use crate::cost;
use crate::estimate::deciding;
use crate::fit::{Meeting, Positions, fit, storage_at};
use crate::sizes::Sizes;
use crate::term::{NestKind, Node, Read, Term};
use redpoll_logic::physical::Protocol;
use redpoll_logic::statistics::Question;
use redpoll_logic::{LevelKind, Lookup};

/// The protocols of the accesses of one value.
pub(crate) struct Protocols(Vec<(Read, Vec<Protocol>)>);

impl Protocols {
    /// The protocols of an access of the value.
    pub(crate) fn of(&self, read: &Read) -> Vec<Protocol> {
        let found = self.0.iter().find(|(r, _)| r == read);
        found.map(|(_, p)| p.clone()).expect("every access of the value has protocols")
    }
}

/// A level of an access that a loop walks.
struct Member {
    access: usize,
    level: usize,
    kind: LevelKind,
    loop_at: usize,
    fiber: f64,
}

/// Chooses the protocols of the accesses of a value.
pub(crate) fn choose_protocols(
    cx: &Context,
    value: &Term,
    sizes: &Sizes,
    positions: &Positions,
    kind: NestKind,
) -> Protocols {
    let mut chosen: Vec<(Read, Vec<Protocol>)> = Vec::new();
    value.each_access(&mut |read| {
        if !chosen.iter().any(|(r, _)| r == read) {
            let meetings = fit(read, sizes, positions, kind, cx.mode());
            let protocol = |m: &Meeting| if *m == Meeting::Walk { Protocol::Walk } else { Protocol::Follow };
            chosen.push((read.clone(), meetings.iter().map(protocol).collect()));
        }
    });
    let mut together: Vec<&Read> = Vec::new();
    conjuncts(cx, value, &mut together);
    let mut members: Vec<Member> = Vec::new();
    for (access, (read, protocols)) in chosen.iter().enumerate() {
        if !together.contains(&read) {
            continue;
        }
        let spots = storage_at(&read.at, &read.ty.format, &read.ty.shape, sizes, cx.mode());
        for (level, (at, protocol)) in spots.iter().zip(protocols).enumerate() {
            let kind = read.ty.format.levels[level].kind;
            let Some(loop_at) = at.fields().iter().filter_map(positions).max() else { continue };
            if !kind.traits().full && *protocol == Protocol::Walk {
                let count = |levels| cx.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
                let fiber = count(level + 1) / count(level).max(1.0);
                members.push(Member { access, level, kind, loop_at, fiber });
            }
        }
    }
    for member in &members {
        let peers = || members.iter().filter(|m| m.loop_at == member.loop_at && m.access != member.access);
        let fibers = || peers().map(|m| m.fiber).chain([member.fiber]);
        let (least, most) = (fibers().fold(f64::INFINITY, f64::min), fibers().fold(0.0, f64::max));
        let table = |kind: LevelKind| kind.traits().lookup == Lookup::Direct;
        let protocol = &mut chosen[member.access].1[member.level];
        if table(member.kind) && peers().any(|m| !table(m.kind)) {
            *protocol = Protocol::Follow;
        } else if member.kind.traits().lookup == Lookup::Search
            && peers().count() > 0
            && most > cost::GALLOP_RATIO * least.max(0.5)
        {
            *protocol = Protocol::Gallop;
        }
    }
    Protocols(chosen)
}

/// The accesses whose fill alone decides that the value is its fill.
fn conjuncts<'t>(cx: &Context, term: &'t Term, found: &mut Vec<&'t Read>) {
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
