//! Symmetry of leaves, from statistics, and of the arguments of a product.

use crate::algebra::graph::{Diagonal, Graph, Pair, slot_field};
use crate::algebra::language::{Kind, Slot, Use};
use crate::algebra::rules::Site;
use crate::context::Context;
use crate::term::{At, Nest, Node, Read};
use egg::Id;
use redpoll_logic::statistics::Fact;
use redpoll_logic::{Field, Scalar};
use std::collections::BTreeSet;

/// Largest number of fields that are restricted to one order.
const MOST_FIELDS: usize = 6;

/// Checks the symmetry of the leaves of a nest's graph, if it would make the nest invariant under
/// an exchange of fields.
pub(in crate::algebra) fn learn(cx: &Context, graph: &mut Graph, nest: &Nest, bound: &[Field]) {
    let mut reads: Vec<&Read> = Vec::new();
    nest.outputs.iter().for_each(|t| t.value.each_access(&mut |r| reads.push(r)));
    let pairs = (0..bound.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let may_be =
        |(a, b)| nest.sizes.of(&bound[a]) == nest.sizes.of(&bound[b]) && exchanges(&reads, &bound[a], &bound[b]);
    if !cx.measures() || !pairs.into_iter().any(may_be) {
        return;
    }
    let mut found = Vec::new();
    for (id, leaf) in graph.analysis.leaves() {
        let Node::Access(read) = leaf.term.node() else { continue };
        if read.outside.is_some() || cx.written_marginals(&read.tensor).is_some() {
            continue;
        }
        let slot = |mode: usize| {
            let field = read.at[mode].as_field()?;
            (0..leaf.sizes.len()).find(|k| slot_field(*k) == *field)
        };
        let mut pairs = Vec::new();
        for a in 0..read.at.len() {
            for b in 0..a {
                if let (Some(p), Some(q)) = (slot(b), slot(a))
                    && p != q
                    && leaf.sizes[p] == leaf.sizes[q]
                    && cx.has_fact(&read.tensor, &read.ty, Fact::Symmetric(b, a))
                {
                    let diagonal = match cx.has_fact(&read.tensor, &read.ty, Fact::OffDiagonal(b, a)) {
                        true => Diagonal::Empty,
                        false => Diagonal::Stored,
                    };
                    pairs.push(Pair { slots: [p as Slot, q as Slot], diagonal });
                }
            }
        }
        found.push((id, pairs));
    }
    graph.analysis.pairs.extend(found);
}

/// Returns whether a product of these accesses is invariant under exchanging two fields, if every
/// tensor is symmetric.
fn exchanges(reads: &[&Read], x: &Field, y: &Field) -> bool {
    let named = |exchange: bool| {
        let name = |at: &At| match at.as_field() {
            Some(f) if exchange && f == x => y.to_string(),
            Some(f) if exchange && f == y => x.to_string(),
            Some(f) => f.to_string(),
            None => format!("{at:?}"),
        };
        let named = |r: &&Read| (r.tensor.clone(), r.at.iter().map(name).collect::<BTreeSet<_>>());
        let mut all: Vec<_> = reads.iter().map(named).collect();
        all.sort();
        all
    };
    named(false) == named(true)
}

/// Returns the sets of reduced slots that can be exchanged without changing the product of the
/// arguments.
pub(super) fn alike(site: &Site<'_>, args: &[Use], bound: &[Slot]) -> Vec<Vec<Slot>> {
    let exchanged = |x: Slot, y: Slot| -> Vec<Use> {
        let other = |s: &Slot| match *s {
            s if s == x => y,
            s if s == y => x,
            s => s,
        };
        args.iter().map(|u| Use { class: u.class, slots: u.slots.iter().map(other).collect() }).collect()
    };
    let own = in_order(site.graph, args.to_vec());
    let mut sets: Vec<Vec<Slot>> = Vec::new();
    for slot in bound.iter().filter(|s| args.iter().any(|u| u.has(**s))) {
        let same = |set: &&mut Vec<Slot>| {
            site.size(set[0]) == site.size(*slot) && in_order(site.graph, exchanged(set[0], *slot)) == own
        };
        match sets.iter_mut().find(same) {
            Some(set) => set.push(*slot),
            None => sets.push(vec![*slot]),
        }
    }
    sets.retain(|set| (2..=MOST_FIELDS).contains(&set.len()));
    sets
}

/// Normalizes the arguments of a multiset: sorts the slots in which each is symmetric, then the
/// arguments.
fn in_order(graph: &Graph, mut args: Vec<Use>) -> Vec<Use> {
    for u in &mut args {
        u.class = graph.find(u.class);
        let pairs = pairs(graph, u.class);
        // Swaps pairs that are out of order until there are none.
        let places = || pairs.iter().map(|p| p.slots.map(usize::from));
        while let Some([a, b]) = places().find(|[a, b]| u.slots[*a] > u.slots[*b]) {
            u.slots.swap(a, b);
        }
    }
    args.sort();
    args
}

/// Returns whether some argument makes the product `none` where two slots are equal.
pub(super) fn apart(site: &Site<'_>, args: &[Use], [x, y]: [Slot; 2], none: &Scalar) -> bool {
    args.iter().any(|u| {
        let is = |pair: &Pair| {
            let of = pair.slots.map(|s| u.slots[usize::from(s)]);
            pair.diagonal == Diagonal::Empty && (of == [x, y] || of == [y, x])
        };
        site.graph[u.class].data.fill == *none && pairs(site.graph, u.class).iter().any(is)
    })
}

/// Returns the symmetric slot pairs of a class: those of its leaf, or those of the argument of a
/// call with one argument.
pub(super) fn pairs(graph: &Graph, class: Id) -> Vec<Pair> {
    for node in graph[class].iter() {
        match (node.kind, &node.args().collect::<Vec<_>>()[..]) {
            (Kind::Leaf(id), _) => return graph.analysis.pairs.get(&id).cloned().unwrap_or_default(),
            (Kind::Call(_), [only]) if only.class != class => {
                let of = |p: Pair| Pair { slots: p.slots.map(|s| only.slots[usize::from(s)]), ..p };
                return pairs(graph, only.class).into_iter().map(of).collect();
            }
            _ => {}
        }
    }
    Vec::new()
}
