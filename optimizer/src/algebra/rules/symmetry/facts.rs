//! Detection of symmetry: of leaves, from statistics, and of products, from their arguments.

use crate::algebra::graph::{AlgebraGraph, Diagonal, SymmetricSlots, slot_field};
use crate::algebra::language::{ClassUse, NodeKind, SlotIndex};
use crate::algebra::rules::MatchSite;
use crate::facts::Facts;
use crate::term::{ModeCoordinate, Nest, Node, Read};
use egg::Id;
use redpoll_logic::statistics::Fact;
use redpoll_logic::{Field, Scalar};
use std::collections::BTreeSet;

/// Largest number of fields that are restricted to one order.
const MAX_ORDERED_FIELDS: usize = 6;

/// Checks the symmetry of the leaves of a nest's graph, if measuring is allowed and symmetry would
/// make the nest invariant under an exchange of fields. Skips tensors that the plan writes, and
/// reads that may be out of bounds.
pub(in crate::algebra) fn find_symmetries(facts: &Facts, graph: &mut AlgebraGraph, nest: &Nest, bound: &[Field]) {
    let mut reads: Vec<&Read> = Vec::new();
    nest.outputs.iter().for_each(|t| t.value.each_access(&mut |r| reads.push(r)));
    let pairs = (0..bound.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let is_candidate =
        |(a, b)| nest.sizes.of(&bound[a]) == nest.sizes.of(&bound[b]) && may_exchange(&reads, &bound[a], &bound[b]);
    if !facts.may_measure() || !pairs.into_iter().any(is_candidate) {
        return;
    }
    let mut found = Vec::new();
    for (id, leaf) in graph.analysis.leaves() {
        let Node::Access(read) = leaf.term.node() else { continue };
        if read.outside.is_some() || facts.written_marginals(&read.tensor).is_some() {
            continue;
        }
        let slot = |mode: usize| {
            let field = read.coordinates[mode].as_field()?;
            (0..leaf.sizes.len()).find(|k| slot_field(*k) == *field)
        };
        let mut pairs = Vec::new();
        for a in 0..read.coordinates.len() {
            for b in 0..a {
                if let (Some(p), Some(q)) = (slot(b), slot(a))
                    && p != q
                    && leaf.sizes[p] == leaf.sizes[q]
                    && facts.has_fact(&read.tensor, &read.ty, Fact::Symmetric(b, a))
                {
                    let diagonal = match facts.has_fact(&read.tensor, &read.ty, Fact::OffDiagonal(b, a)) {
                        true => Diagonal::Empty,
                        false => Diagonal::Stored,
                    };
                    pairs.push(SymmetricSlots { slots: [p as SlotIndex, q as SlotIndex], diagonal });
                }
            }
        }
        found.push((id, pairs));
    }
    graph.analysis.pairs.extend(found);
}

/// Returns whether a product of these accesses would be invariant under exchanging two fields, if
/// every tensor were symmetric.
fn may_exchange(reads: &[&Read], x: &Field, y: &Field) -> bool {
    let named = |exchange: bool| {
        let name = |at: &ModeCoordinate| match at.as_field() {
            Some(f) if exchange && f == x => y.to_string(),
            Some(f) if exchange && f == y => x.to_string(),
            Some(f) => f.to_string(),
            None => format!("{at:?}"),
        };
        let named = |r: &&Read| (r.tensor.clone(), r.coordinates.iter().map(name).collect::<BTreeSet<_>>());
        let mut all: Vec<_> = reads.iter().map(named).collect();
        all.sort();
        all
    };
    named(false) == named(true)
}

/// Returns the sets of two to [`MAX_ORDERED_FIELDS`] reduced slots that can be exchanged without
/// changing the product of the arguments.
pub(super) fn exchangeable_slots(site: &MatchSite<'_>, args: &[ClassUse], bound: &[SlotIndex]) -> Vec<Vec<SlotIndex>> {
    let exchange = |x: SlotIndex, y: SlotIndex| -> Vec<ClassUse> {
        let other = |s: &SlotIndex| match *s {
            s if s == x => y,
            s if s == y => x,
            s => s,
        };
        args.iter().map(|u| ClassUse { class: u.class, slots: u.slots.iter().map(other).collect() }).collect()
    };
    let own = in_order(site.graph, args.to_vec());
    let mut sets: Vec<Vec<SlotIndex>> = Vec::new();
    for slot in bound.iter().filter(|s| args.iter().any(|u| u.has(**s))) {
        let same = |set: &&mut Vec<SlotIndex>| {
            site.size(set[0]) == site.size(*slot) && in_order(site.graph, exchange(set[0], *slot)) == own
        };
        match sets.iter_mut().find(same) {
            Some(set) => set.push(*slot),
            None => sets.push(vec![*slot]),
        }
    }
    sets.retain(|set| (2..=MAX_ORDERED_FIELDS).contains(&set.len()));
    sets
}

/// Normalizes the arguments of a multiset: sorts the symmetric slots of each argument, then the
/// arguments.
fn in_order(graph: &AlgebraGraph, mut args: Vec<ClassUse>) -> Vec<ClassUse> {
    for u in &mut args {
        u.class = graph.find(u.class);
        let pairs = symmetric_pairs(graph, u.class);
        // Swaps the slots of pairs that are out of order until every pair is in order.
        let slot_pairs = || pairs.iter().map(|p| p.slots.map(usize::from));
        while let Some([a, b]) = slot_pairs().find(|[a, b]| u.slots[*a] > u.slots[*b]) {
            u.slots.swap(a, b);
        }
    }
    args.sort();
    args
}

/// Returns whether some argument makes the product the annihilator `none` where two slots are
/// equal.
pub(super) fn annihilates_diagonal(
    site: &MatchSite<'_>,
    args: &[ClassUse],
    [x, y]: [SlotIndex; 2],
    none: &Scalar,
) -> bool {
    args.iter().any(|u| {
        let matches = |pair: &SymmetricSlots| {
            let of = pair.slots.map(|s| u.slots[usize::from(s)]);
            pair.diagonal == Diagonal::Empty && (of == [x, y] || of == [y, x])
        };
        site.graph[u.class].data.fill == *none && symmetric_pairs(site.graph, u.class).iter().any(matches)
    })
}

/// Returns the symmetric slot pairs of a class: those of its leaf, or those of the argument of a
/// call with one argument; none for other classes.
pub(super) fn symmetric_pairs(graph: &AlgebraGraph, class: Id) -> Vec<SymmetricSlots> {
    for node in graph[class].iter() {
        match (node.kind, &node.args().collect::<Vec<_>>()[..]) {
            (NodeKind::Leaf(id), _) => return graph.analysis.pairs.get(&id).cloned().unwrap_or_default(),
            (NodeKind::Call(_), [only]) if only.class != class => {
                let of = |p: SymmetricSlots| SymmetricSlots { slots: p.slots.map(|s| only.slots[usize::from(s)]), ..p };
                return symmetric_pairs(graph, only.class).into_iter().map(of).collect();
            }
            _ => {}
        }
    }
    Vec::new()
}
