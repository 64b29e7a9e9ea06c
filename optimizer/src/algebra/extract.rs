//! Extraction: of every class the node whose term the planner makes the cheapest query of.
//!
//! A class is priced as a query of its own, by the cost model that plans it in the end: the best order of its loops, with
//! the folds inside of it computed in place or stored, whichever is cheaper. The best nodes of the children stand in the
//! node that is priced, so the choice is a dynamic program over classes; it is repeated until nothing changes, since
//! classes of an e-graph may contain each other. The root's candidates are priced whole, what they share counted once.

use super::graph::{FoldKind, Graph, slot_field};
use super::language::{ENode, Kind};
use crate::context::Context;
use crate::cost;
use crate::isolate::root_folds;
use crate::loop_order::estimate_loops;
use crate::sizes::Sizes;
use crate::term::{At, Fold, Nest, NestKind, Node, Target, Term};
use egg::{Id, Language};
use redpoll_logic::{Alias, Computed, Field};
use std::collections::HashMap;

/// Rounds of the dynamic program after which it is left as it is.
const MOST_ROUNDS: usize = 6;

/// The choice of a node for each class.
pub(super) struct Extraction<'g, 'c> {
    graph: &'g Graph,
    cx: &'g Context<'c>,
    best: HashMap<Id, (f64, ENode)>,
    prices: HashMap<String, f64>,
}

/// A term from the graph.
pub(super) struct Extracted {
    pub(super) term: Term,
    /// The sizes of its fields, those of its folds included.
    pub(super) sizes: Sizes,
    /// The rules that made its nodes, each once.
    pub(super) rules: Vec<&'static str>,
}

/// The names of a plan's fields.
#[derive(Clone, Default)]
pub(super) struct Pool {
    /// Those that fields of folds may have, with their sizes.
    pub(super) names: Vec<(Field, u64)>,
    /// Those that no other field may have.
    pub(super) reserved: Vec<Field>,
}

/// Names for the fields of folds.
struct Names {
    /// Names of the plan that are not used yet.
    pool: Pool,
    taken: usize,
    extracted: Extracted,
}

impl<'g, 'c> Extraction<'g, 'c> {
    /// Chooses a node for every class.
    pub(super) fn run(graph: &'g Graph, cx: &'g Context<'c>) -> Extraction<'g, 'c> {
        let mut extraction = Extraction { graph, cx, best: HashMap::new(), prices: HashMap::new() };
        let mut classes: Vec<Id> = graph.classes().map(|c| c.id).collect();
        classes.sort();
        for _ in 0..MOST_ROUNDS {
            let changed = classes.iter().filter(|class| extraction.improve(**class)).count();
            if changed == 0 {
                break;
            }
        }
        extraction
    }

    /// Whether some node of the class is better than what was known.
    fn improve(&mut self, class: Id) -> bool {
        let mut nodes: Vec<&ENode> = self.graph[class].iter().collect();
        if let [only] = nodes[..] {
            // There is nothing to choose.
            let ready = only.children().iter().all(|c| self.best.contains_key(&self.graph.find(*c)));
            return ready && self.best.insert(class, (0.0, only.clone())).is_none();
        }
        // Those with few loops first: what they cost bounds what is worth a look.
        nodes.sort_by_key(|n| (self.loops(n), *n));
        let mut changed = false;
        for node in nodes {
            let best = self.best.get(&class).map_or(f64::INFINITY, |(cost, _)| *cost);
            let Some(cost) = self.price(class, node, best) else { continue };
            if cost < best {
                self.best.insert(class, (cost, node.clone()));
                changed = true;
            }
        }
        changed
    }

    /// How many loops the node has around its argument.
    fn loops(&self, node: &ENode) -> usize {
        match node.kind {
            Kind::Fold(id, _) => self.graph.analysis.fold(id).bound.len(),
            _ => 0,
        }
    }

    /// What a query for the class would cost that computes it as the node says, if that is less than `most`; `None` while
    /// a child has no choice.
    fn price(&mut self, class: Id, node: &ENode, most: f64) -> Option<f64> {
        if let Kind::Leaf(_) = node.kind {
            return Some(0.0);
        }
        let facts = &self.graph[class].data;
        let fields: Vec<Field> = (0..facts.sizes.len()).map(slot_field).collect();
        let extracted = self.term(class, Some(node), &fields, Pool::default())?;
        let key = extracted.term.to_string();
        if let Some(known) = self.prices.get(&key) {
            return Some(*known);
        }
        let fill = match extracted.term.node() {
            Node::Fold(fold) => fold.init.clone(),
            _ => extracted.term.fill().clone(),
        };
        let target = Target {
            alias: Alias::from("priced"),
            shape: facts.sizes.clone(),
            fill,
            at: fields.iter().map(At::field).collect(),
            fold: None,
            value: extracted.term,
            format: None,
            computed: Computed::Keep,
        };
        let nest = Nest { outputs: vec![target], sizes: extracted.sizes, pins: Vec::new(), kind: NestKind::Query };
        let nest = root_folds(nest);
        if self.cx.writes(&nest.outputs[0], &nest.sizes) * cost::COMPUTE >= most {
            return None;
        }
        self.cx.memo.clear();
        let cost = estimate_loops(self.cx, &nest).map_or(f64::INFINITY, |o| o.cost);
        self.prices.insert(key, cost);
        Some(cost)
    }

    /// The term of a class over fields, by the chosen nodes, the given one at its top. Fields of folds are named from the
    /// pool where one of their size is left.
    pub(super) fn term(&self, class: Id, top: Option<&ENode>, fields: &[Field], pool: Pool) -> Option<Extracted> {
        let mut sizes = Sizes::default();
        for (field, size) in fields.iter().zip(&self.graph[class].data.sizes) {
            sizes.insert(field.clone(), *size);
        }
        let extracted = Extracted { term: Term::literal(redpoll_logic::Scalar::Bool(false)), sizes, rules: Vec::new() };
        let mut names = Names { pool, taken: 0, extracted };
        let term = self.build(class, top, fields, &mut names, &mut Vec::new())?;
        Some(Extracted { term, ..names.extracted })
    }

    fn build(
        &self,
        class: Id,
        node: Option<&ENode>,
        fields: &[Field],
        names: &mut Names,
        path: &mut Vec<Id>,
    ) -> Option<Term> {
        let class = self.graph.find(class);
        if path.contains(&class) {
            return None;
        }
        let node = match node {
            Some(node) => node,
            None => &self.best.get(&class)?.1,
        };
        let mode = self.cx.mode();
        if let Some(rule) = self.graph.analysis.rules.get(node)
            && !names.extracted.rules.contains(rule)
        {
            names.extracted.rules.push(rule);
        }
        path.push(class);
        let mut over = fields.to_vec();
        let bound = match node.kind {
            Kind::Fold(id, _) => {
                let sizes = &self.graph.analysis.fold(id).bound;
                let bound: Vec<Field> = sizes.iter().map(|size| names.fresh(*size)).collect();
                over.extend(bound.iter().cloned());
                bound
            }
            _ => Vec::new(),
        };
        let args = node.args().map(|u| {
            let fields: Vec<Field> = u.slots.iter().map(|s| over[usize::from(*s)].clone()).collect();
            self.build(u.class, None, &fields, names, path)
        });
        let args: Option<Vec<Term>> = args.collect();
        path.pop();
        let mut args = args?;
        Some(match node.kind {
            Kind::Leaf(id) => {
                let leaf = self.graph.analysis.leaf(id);
                let place = |f: &Field| (0..fields.len()).find(|k| slot_field(*k) == *f);
                let with = |f: &Field| At::field(&fields[place(f).expect("a leaf has the fields of its slots")]);
                leaf.term.substitute(&with, mode)
            }
            Kind::Call(op) | Kind::Multiset(op) => Term::call(self.graph.analysis.op(op), args, mode),
            Kind::Fold(id, _) => {
                let FoldKind { op, init, .. } = self.graph.analysis.fold(id).clone();
                let arg = args.pop().expect("a fold has an argument");
                let fill = self.graph[class].data.fill.clone();
                Term::fold(Fold { op, init, arg, fields: bound, along: Vec::new() }, fill, mode)
            }
        })
    }
}

impl Names {
    fn fresh(&mut self, size: u64) -> Field {
        let field = match self.pool.names.iter().position(|(_, of)| *of == size) {
            Some(at) => self.pool.names.remove(at).0,
            None => loop {
                self.taken += 1;
                let field = Field::from(format!("e{}", self.taken));
                if !self.pool.reserved.contains(&field) {
                    break field;
                }
            },
        };
        self.extracted.sizes.insert(field.clone(), size);
        field
    }
}
