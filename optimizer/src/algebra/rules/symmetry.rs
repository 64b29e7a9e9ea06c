//! Symmetry: an aggregate over symmetric tensors looks at each set of coordinates in one order only.
//!
//! Whether a tensor is symmetric takes a pass over it, so that is asked just where a plan could use it; what is found
//! becomes a fact that the plan relies on.

use super::aggregates::repeated;
use super::{Draft, Opened, Rule, Site, Subject};
use crate::algebra::graph::{Graph, Pair, slot_field};
use crate::algebra::language::{Kind, Slot, Use};
use crate::context::Context;
use crate::term::{At, Nest, Node, Read, regroups};
use egg::Id;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::statistics::Fact;
use redpoll_logic::{Field, Prim, Scalar};
use std::collections::BTreeSet;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "cut-symmetric",
        subject: Subject::Symmetry,
        round: None,
        equation: "sum(i j, x) = 2 * sum(i j, x * (i > j))    x symmetric, empty where i = j",
        drafts: cut,
    },
    Rule {
        name: "orient-symmetric",
        subject: Subject::Symmetry,
        round: None,
        equation: "sum(i j k, x(i j) * x(j k) * x(i k)) = 6 * sum(i j k, y(i j) * y(j k) * y(i k))    \
                   y(i j) = x(i j) * (rank(i) < rank(j)), stored; ranks by how many places i has in x; x as above",
        drafts: orient,
    },
];

/// The most fields that are cut to one order.
const MOST_FIELDS: usize = 6;

/// Asks what is true of the leaves of a nest's graph, where the nest would be the same with fields exchanged if they were
/// symmetric.
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
                    // The cheaper question first.
                    && cx.holds(&read.tensor, &read.ty, Fact::OffDiagonal(b, a))
                    && cx.holds(&read.tensor, &read.ty, Fact::Symmetric(b, a))
                {
                    pairs.push((p as Slot, q as Slot));
                }
            }
        }
        found.push((id, pairs));
    }
    graph.analysis.pairs.extend(found);
}

/// Whether a product of these accesses is the same with two fields exchanged, if every tensor is symmetric.
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

/// A fold of a product that is the same with some of its slots exchanged, and is nothing where two of them are equal.
struct Joined<'n> {
    op: &'n Op,
    init: &'n Scalar,
    bound: &'n [Slot],
    product: Op,
    args: Vec<Use>,
    /// Those slots.
    slots: Vec<Slot>,
    /// What leaves a product as it is, and what makes it nothing.
    values: [Scalar; 2],
}

impl Joined<'_> {
    /// The fold of a product of those factors, as often as the slots have orders.
    fn over(&self, site: &Site<'_>, factors: Vec<Draft>) -> Option<Draft> {
        let product = Draft::Call(self.product.clone(), factors);
        let once = Draft::Fold(self.op.clone(), self.init.clone(), Box::new(product), self.bound.to_vec());
        let orders = (1..=self.slots.len() as i64).product();
        repeated(site, self.op, &self.init.dtype(), once, Some(orders))
    }
}

fn joined<'n>(site: &Site<'_>, node: &'n Opened) -> Vec<Joined<'n>> {
    let Opened::Fold { op, init, arg, bound } = node else { return Vec::new() };
    let none = |pairs: &Vec<Pair>| pairs.is_empty();
    if site.graph.analysis.pairs.values().all(none) || !site.is_free(op, init) {
        return Vec::new();
    }
    let (mut found, dtype) = (Vec::new(), site.dtype(arg).clone());
    for (product, args) in site.calls(arg) {
        let (one, none) = (product.fold_identity(&dtype, site.mode()), product.annihilator(&dtype, 0, site.mode()));
        let (Some(one), Some(none)) = (one, none) else { continue };
        if !regroups(&product, &dtype, site.mode()) || !op.is_identity(&none, &dtype, 1, site.mode()) {
            continue;
        }
        for slots in alike(site, &args, bound).into_iter().filter(|slots| apart(site, &args, slots, &none)) {
            let (product, args, values) = (product.clone(), args.clone(), [one.clone(), none.clone()]);
            found.push(Joined { op, init, bound, product, args, slots, values });
        }
    }
    found
}

fn cut(site: &mut Site<'_>, node: &Opened) {
    for joined in joined(site, node) {
        let above = |pair: &[Slot]| Draft::Above { above: pair[0], below: pair[1], values: joined.values.clone() };
        let masks = joined.slots.windows(2).map(above);
        let factors = joined.args.iter().cloned().map(Draft::Class).chain(masks).collect();
        if let Some(all) = joined.over(site, factors) {
            site.propose(all);
        }
    }
}

/// Where many places are at a few coordinates, each is looked at from the other end. Source: Chiba and Nishizeki, "Arboricity
/// and subgraph listing algorithms".
fn orient(site: &mut Site<'_>, node: &Opened) {
    for joined in joined(site, node).into_iter().filter(|joined| joined.slots.len() > 2) {
        let ends = |arg: &Use| {
            let place = |slot: &Slot| joined.slots.iter().position(|s| s == slot);
            match arg.slots[..] {
                [a, b] if !pairs(site.graph, arg.class).is_empty() => Some([place(&a)?, place(&b)?]),
                _ => None,
            }
        };
        let Some(ranked) = joined.args.iter().find(|arg| ends(arg).is_some()) else { continue };
        let mut scope = site.scope.clone();
        let size = site.size(joined.slots[0]);
        // Ranks are numbers below the square of the size.
        if size >= 1 << 31 {
            continue;
        }
        scope.0.push(size);
        let counted = (scope.0.len() - 1) as Slot;
        let rank = |at: usize| rank(site, ranked, [joined.slots[at], counted]);
        let factor = |arg: &Use| match ends(arg) {
            None => Draft::Class(arg.clone()),
            Some([a, b]) => {
                let before = Draft::Call(Builtin::Lt.into(), vec![rank(a.min(b)), rank(a.max(b))]);
                let factors = vec![Draft::Class(arg.clone()), one_of(before, joined.values.clone())];
                let product = Draft::Call(joined.product.clone(), factors);
                Draft::Fold(joined.op.clone(), joined.init.clone(), Box::new(product), Vec::new())
            }
        };
        let factors = joined.args.iter().map(factor).collect();
        if let Some(all) = joined.over(site, factors) {
            site.propose_in(scope, all);
        }
    }
}

/// The rank of a slot among those of its size: by how many places it has in a table, and of as many by its coordinate.
fn rank(site: &Site<'_>, table: &Use, [slot, counted]: [Slot; 2]) -> Draft {
    let own = Draft::Class(Use { class: table.class, slots: [slot, counted].into_iter().collect() });
    let number = |n: u64| Draft::Literal(Scalar::I64(n as i64));
    let differs = Draft::Call(Builtin::Ne.into(), vec![own, Draft::Literal(site.fill(table).clone())]);
    let one = Draft::Call(Builtin::Cast(Prim::I64).into(), vec![differs]);
    let count = Draft::Fold(Builtin::Add.into(), Scalar::I64(0), Box::new(one), vec![counted]);
    let scaled = Draft::Call(Builtin::Mul.into(), vec![count, number(site.size(slot))]);
    Draft::Call(Builtin::Add.into(), vec![scaled, Draft::Coordinate(slot)])
}

/// One value where a condition holds, else another.
fn one_of(holds: Draft, [value, other]: [Scalar; 2]) -> Draft {
    match (&value, &other) {
        (Scalar::Bool(true), Scalar::Bool(false)) => holds,
        _ => Draft::Call(Builtin::IfElse.into(), vec![holds, Draft::Literal(value), Draft::Literal(other)]),
    }
}

/// The sets of reduced slots that can be exchanged without changing the product of the arguments.
fn alike(site: &Site<'_>, args: &[Use], bound: &[Slot]) -> Vec<Vec<Slot>> {
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

/// Arguments of a multiset in one order, with the slots in which they are symmetric in one order, too.
fn in_order(graph: &Graph, mut args: Vec<Use>) -> Vec<Use> {
    for u in &mut args {
        u.class = graph.find(u.class);
        let pairs = pairs(graph, u.class);
        // Pairs of neighbours that are out of order, until there are none.
        while let Some(pair) = pairs.iter().find(|p| u.slots[usize::from(p.0)] > u.slots[usize::from(p.1)]) {
            u.slots.swap(usize::from(pair.0), usize::from(pair.1));
        }
    }
    args.sort();
    args
}

/// Whether for every two of the slots some argument makes the product `none` where they are equal.
fn apart(site: &Site<'_>, args: &[Use], slots: &[Slot], none: &Scalar) -> bool {
    let apart = |x: Slot, y: Slot| {
        args.iter().any(|u| {
            let is = |pair: &Pair| {
                let of = [pair.0, pair.1].map(|s| u.slots[usize::from(s)]);
                of == [x, y] || of == [y, x]
            };
            site.graph[u.class].data.fill == *none && pairs(site.graph, u.class).iter().any(is)
        })
    };
    slots.iter().enumerate().all(|(k, x)| slots[..k].iter().all(|y| apart(*x, *y)))
}

/// The slots in which a class is symmetric and off the diagonal: of a leaf those that were asked for, of a map of one
/// argument those of that.
fn pairs(graph: &Graph, class: Id) -> Vec<Pair> {
    for node in graph[class].iter() {
        match (node.kind, &node.args().collect::<Vec<_>>()[..]) {
            (Kind::Leaf(id), _) => return graph.analysis.pairs.get(&id).cloned().unwrap_or_default(),
            (Kind::Call(_), [only]) if only.class != class => {
                let of = |p: Pair| (only.slots[usize::from(p.0)], only.slots[usize::from(p.1)]);
                return pairs(graph, only.class).into_iter().map(of).collect();
            }
            _ => {}
        }
    }
    Vec::new()
}
