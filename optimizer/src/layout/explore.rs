//! Adds the candidate kernels of each query to the e-graph.
//!
//! A query runs in the planned order, or in one of the orders that would be cheapest if every
//! tensor were stored in its best order. Each read of the query uses a format that its tensor can
//! have and that is concordant with the order, or the format of a copy made for the order. The
//! outputs of the query have the formats that the order writes; the only output of a query may
//! instead have a format that a reader prefers.

use super::graph::{CandidateKernel, LayoutGraph};
use crate::access::fit::{LevelUse, fit};
use crate::facts::Facts;
use crate::order::pricing::conversion_work;
use crate::order::search::{order_loops, orders_of_any_format};
use crate::output::formats::{choose_format, define_output};
use crate::schedule::concordize::{copy_format, copy_nest};
use crate::schedule::isolate::{FoldPlacement, isolate};
use crate::term::names::Names;
use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, Nest, NestKind, Node, Read, Term, TypedAlias};
use crate::work::{Event, cost};
use redpoll_logic::{Alias, Field, Format, TensorType};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Largest number of orders of a query that are tried besides the planned one.
const MAX_ORDERS: usize = 4;
/// Largest number of formats tried for one read, and for an output besides the format that the
/// order writes.
const MAX_FORMATS: usize = 3;
/// Largest number of combinations of formats for all reads of an order.
const MAX_COMBINATIONS: usize = 8;

/// A planned query whose layout may change.
pub(crate) struct LayoutQuery {
    pub(crate) nest: Nest,
    pub(crate) order: Vec<Field>,
    /// The formats of the query's outputs.
    pub(crate) formats: Vec<Format>,
}

/// An order of a query's loops, with the reads of the query and the loops around each read.
struct CandidateOrder {
    order: Vec<Field>,
    reads: Vec<(Read, Vec<Field>)>,
}

/// Returns the graph of the candidate kernels of the queries.
pub(super) fn explore(facts: &mut Facts, names: Names, queries: &[LayoutQuery]) -> LayoutGraph {
    let written = queries.iter().flat_map(|query| &query.nest.outputs).map(|target| target.alias.clone()).collect();
    let (graph, layouts, preferred) = (LayoutGraph::default(), HashMap::new(), Vec::new());
    let mut explorer = Explorer { facts, names, graph, written, layouts, preferred };
    let candidates: Vec<Vec<CandidateOrder>> = queries.iter().map(|query| explorer.candidate_orders(query)).collect();
    for (query, candidates) in queries.iter().zip(&candidates) {
        explorer.record_preferences(query, candidates);
    }
    for (number, (query, candidates)) in queries.iter().zip(&candidates).enumerate() {
        for candidate in candidates {
            explorer.add_kernels(number, query, candidate);
        }
    }
    explorer.graph.egraph.rebuild();
    explorer.graph
}

struct Explorer<'e, 'c> {
    facts: &'e mut Facts<'c>,
    /// The names in use, including those of the tensors in `layouts`.
    names: Names,
    graph: LayoutGraph,
    /// The tensors that the queries write; all other tensors are inputs.
    written: HashSet<Alias>,
    /// The name and type of a tensor in a format other than the planned one.
    layouts: HashMap<(Alias, Format), TypedAlias>,
    /// Formats of tensors that readers prefer.
    preferred: Vec<(Alias, Format)>,
}

impl Explorer<'_, '_> {
    /// Returns the orders of a query's loops that are explored, without those in which a fold would
    /// have to be stored first.
    fn candidate_orders(&mut self, query: &LayoutQuery) -> Vec<CandidateOrder> {
        let nest = &query.nest;
        self.facts.memo.retain_for(&nest.sizes, &nest.pins);
        let mut orders = vec![query.order.clone()];
        for (order, _) in orders_of_any_format(self.facts, nest, MAX_ORDERS) {
            if !orders.contains(&order) {
                orders.push(order);
            }
        }
        let candidate = |order: Vec<Field>| {
            let FoldPlacement::Placed(schedule) = isolate(self.facts, &mut self.names, nest, &order) else {
                return None;
            };
            let mut reads = Vec::new();
            schedule.each_value(&mut |value, outer_loops| {
                outer_reads(value, &mut |read| {
                    if !reads.iter().any(|(other, _): &(Read, _)| other == read) {
                        reads.push((read.clone(), outer_loops.to_vec()));
                    }
                });
            });
            Some(CandidateOrder { order, reads })
        };
        orders.into_iter().filter_map(candidate).collect()
    }

    /// Records the formats that a query prefers for tensors whose formats do not suit its loops.
    /// Adds to the graph the cost of converting each tensor that the query reads, and, as inputs,
    /// the tensors that no query writes.
    fn record_preferences(&mut self, query: &LayoutQuery, candidates: &[CandidateOrder]) {
        let sizes = &query.nest.sizes;
        for (read, outer_loops) in candidates.iter().flat_map(|candidate| &candidate.reads) {
            if !self.graph.conversions.contains_key(&read.tensor) {
                self.graph.conversions.insert(read.tensor.clone(), conversion_work(self.facts, read).cost());
                if !self.written.contains(&read.tensor) {
                    self.graph.add_input(&read.tensor, &read.ty.format);
                }
            }
            if !self.is_suitable(read, sizes, outer_loops) {
                let format = copy_format(self.facts, read, sizes, outer_loops);
                let preference = (read.tensor.clone(), format);
                if !self.preferred.contains(&preference) {
                    self.preferred.push(preference);
                }
            }
        }
    }

    /// Adds the kernels of a query in one order.
    fn add_kernels(&mut self, number: usize, query: &LayoutQuery, candidate: &CandidateOrder) {
        let nest = &query.nest;
        let outputs: Vec<Alias> = nest.outputs.iter().map(|target| target.alias.clone()).collect();
        let mut combinations: Vec<Vec<(Read, Format)>> = vec![Vec::new()];
        for (read, outer_loops) in &candidate.reads {
            let formats = self.formats(read, &nest.sizes, outer_loops);
            let extended = |reads: Vec<(Read, Format)>| {
                let with = |format: &Format| [&reads[..], &[(read.clone(), format.clone())]].concat();
                formats.iter().map(with).collect::<Vec<_>>()
            };
            combinations = combinations.into_iter().flat_map(extended).take(MAX_COMBINATIONS).collect();
        }
        let mut requested: Vec<Vec<Option<Format>>> = vec![vec![None; outputs.len()]];
        if let [target] = &nest.outputs[..]
            && target.format.is_none()
            && !target.coordinates.iter().any(|at| matches!(at, ModeCoordinate::Value(_)))
        {
            let own = self.preferred.iter().filter(|(tensor, _)| *tensor == target.alias);
            requested.extend(own.take(MAX_FORMATS).map(|(_, format)| vec![Some(format.clone())]));
        }
        for (first, reads) in combinations.into_iter().enumerate() {
            for requested in &requested {
                let Some((cost, formats)) = self.price(query, &candidate.order, &reads, requested) else { continue };
                let is_previous = first == 0 && candidate.order == query.order && formats == query.formats;
                if requested.iter().flatten().next().is_some() && self.has_kernel(number, candidate, &reads, &formats) {
                    continue;
                }
                let (order, requested, reads) = (candidate.order.clone(), requested.clone(), reads.clone());
                self.graph.add_kernel(
                    CandidateKernel { query: number, order, requested, formats, reads, cost, is_previous },
                    &outputs,
                );
            }
        }
    }

    fn has_kernel(
        &self,
        query: usize,
        candidate: &CandidateOrder,
        reads: &[(Read, Format)],
        formats: &[Format],
    ) -> bool {
        let same = |k: &CandidateKernel| {
            k.query == query && k.order == candidate.order && k.reads == reads && k.formats == formats
        };
        self.graph.kernels.iter().any(same)
    }

    /// Returns the formats that a read may have inside these loops, at most [`MAX_FORMATS`]. The
    /// planned format is first, or the format of a copy if the planned one is discordant.
    fn formats(&mut self, read: &Read, sizes: &Sizes, outer_loops: &[Field]) -> Vec<Format> {
        let mut all = Vec::new();
        let walks = |format: &Format| {
            let ty = Arc::new(TensorType { format: format.clone(), ..(*read.ty).clone() });
            !self.any_level(&Read { ty, ..read.clone() }, sizes, outer_loops, |level_use, _| {
                level_use == LevelUse::Discordant
            })
        };
        let copy =
            (!self.is_suitable(read, sizes, outer_loops)).then(|| copy_format(self.facts, read, sizes, outer_loops));
        let explored = self.graph.formats(&read.tensor).into_iter().filter(walks);
        let own = walks(&read.ty.format).then(|| read.ty.format.clone());
        for format in own.into_iter().chain(copy).chain(explored) {
            if !all.contains(&format) {
                all.push(format);
            }
        }
        all.truncate(MAX_FORMATS);
        all
    }

    /// Returns whether each level of a read can be walked inside these loops, or looked up without
    /// a search and without a hash table.
    fn is_suitable(&self, read: &Read, sizes: &Sizes, outer_loops: &[Field]) -> bool {
        !self.any_level(read, sizes, outer_loops, |level_use, follow| {
            level_use == LevelUse::Discordant
                || level_use == LevelUse::Follow && matches!(follow, Event::Search | Event::FollowHash)
        })
    }

    fn any_level(
        &self,
        read: &Read,
        sizes: &Sizes,
        outer_loops: &[Field],
        is: impl Fn(LevelUse, Event) -> bool,
    ) -> bool {
        let positions = |field: &Field| outer_loops.iter().position(|f| f == field);
        let uses = fit(read, sizes, &positions, NestKind::Query, self.facts.mode());
        uses.iter().zip(&read.ty.format.levels).any(|(level_use, level)| is(*level_use, cost::follow(level.kind)))
    }

    /// Returns the cost of a query in an order with these formats, and the formats of its outputs.
    /// `None` if the cost is infinite, or if a requested format does not fit.
    fn price(
        &mut self,
        query: &LayoutQuery,
        order: &[Field],
        reads: &[(Read, Format)],
        requested: &[Option<Format>],
    ) -> Option<(f64, Vec<Format>)> {
        let named: Vec<(&Read, TypedAlias)> =
            reads.iter().map(|(read, format)| (read, self.register_layout(read, format))).collect();
        let mode = self.facts.mode();
        let mut nest = query.nest.clone().replace_reads(
            &mut |read| named.iter().find(|(own, _)| *own == read).map(|(_, other)| other.clone()),
            mode,
        );
        nest.pins.push(order.to_vec());
        for (target, format) in nest.outputs.iter_mut().zip(requested) {
            target.format = format.clone().or(target.format.take());
        }
        self.facts.memo.retain_for(&nest.sizes, &nest.pins);
        let ordered = order_loops(self.facts, &nest).filter(|ordered| ordered.work.cost().is_finite())?;
        let nest = nest.with_dense_outputs(&ordered.dense);
        let formats = nest.outputs.iter().map(|target| choose_format(self.facts, target, &nest.sizes, order).ok());
        Some((ordered.work.cost(), formats.collect::<Option<_>>()?))
    }

    /// Returns the name and type of a tensor in a format. Registers the tensor under a new name if
    /// the format is not the planned one.
    fn register_layout(&mut self, read: &Read, format: &Format) -> TypedAlias {
        if read.ty.format == *format {
            return (read.tensor.clone(), read.ty.clone());
        }
        let key = (read.tensor.clone(), format.clone());
        if let Some(cached) = self.layouts.get(&key) {
            return cached.clone();
        }
        let facts = &mut *self.facts;
        let alias = self.names.fresh(&read.tensor);
        let nest = copy_nest(read, format.clone(), alias.clone());
        let target = &nest.outputs[0];
        facts.memo.retain_for(&nest.sizes, &nest.pins);
        let ty = Arc::new(TensorType { format: format.clone(), ..(*read.ty).clone() });
        define_output(facts, target, (alias.clone(), ty.clone()), &nest.sizes);
        self.layouts.insert(key, (alias.clone(), ty.clone()));
        (alias, ty)
    }
}

/// Visits the reads of a term without those of temporaries, which have loops of their own.
fn outer_reads(term: &Term, f: &mut dyn FnMut(&Read)) {
    match term.node() {
        Node::Temporary(..) => {}
        Node::Access(read) => {
            f(read);
            for at in &read.coordinates {
                if let ModeCoordinate::Value(value) = at {
                    outer_reads(value, f);
                }
            }
        }
        _ => term.children().iter().for_each(|child| outer_reads(child, f)),
    }
}
