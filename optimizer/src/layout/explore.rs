//! Adds the ways to run each query to the e-graph.
//!
//! A query runs in the planned order, or in one of the orders that would be cheapest if every
//! tensor were stored in its best order. Each of its reads has a format that its tensor can have
//! and the order can walk, or the format of a copy for the order. Its output has the format that
//! the order writes, or one that a reader prefers.

use super::Planned;
use super::graph::LayoutGraph;
use crate::concordize::{copy_format, copy_nest};
use crate::context::Context;
use crate::fit::{Meeting, fit};
use crate::formats::choose_format;
use crate::isolate::{Pass, Schedule, isolate};
use crate::loop_order::{order_loops, orders_of_any_format};
use crate::pricing::conversion;
use crate::sizes::Sizes;
use crate::term::{At, NestKind, Node, Read, Stored, Term};
use crate::work::Event;
use crate::{cost, with_formats};
use redpoll_logic::{Alias, Field, Format, TensorType};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Number of orders of a query that are tried besides the planned one.
const ORDERS: usize = 4;
/// Largest number of formats of one read, and of an output besides the one that the order writes.
const FORMATS: usize = 3;
/// Largest number of combinations of formats for all reads of an order.
const COMBINATIONS: usize = 8;

/// A way to run a query.
#[derive(Clone)]
pub(super) struct Kernel {
    pub(super) query: usize,
    pub(super) order: Vec<Field>,
    /// For each output, the requested format if it differs from the one that the order writes.
    pub(super) asked: Vec<Option<Format>>,
    /// The formats of its outputs.
    pub(super) formats: Vec<Format>,
    /// Its reads, each with a format.
    pub(super) reads: Vec<(Read, Format)>,
    pub(super) cost: f64,
    /// Set when the kernel runs the query as in the previous plan.
    pub(super) as_planned: bool,
}

/// An order of a query's loops, with its reads and the loops around each.
struct Run {
    order: Vec<Field>,
    reads: Vec<(Read, Vec<Field>)>,
}

/// Returns the graph of all ways to run the queries.
pub(super) fn explore(cx: &mut Context, queries: &[Planned]) -> LayoutGraph {
    let written = queries.iter().flat_map(|query| &query.nest().outputs).map(|target| target.alias.clone()).collect();
    let (graph, names, wanted) = (LayoutGraph::default(), HashMap::new(), Vec::new());
    let mut explorer = Explorer { cx, graph, written, names, wanted };
    let runs: Vec<Vec<Run>> = queries.iter().map(|query| explorer.runs(query)).collect();
    for (query, runs) in queries.iter().zip(&runs) {
        explorer.want(query, runs);
    }
    for (number, (query, runs)) in queries.iter().zip(&runs).enumerate() {
        for run in runs {
            explorer.kernels(number, query, run);
        }
    }
    explorer.graph.egraph.rebuild();
    explorer.graph
}

struct Explorer<'e, 'c> {
    cx: &'e mut Context<'c>,
    graph: LayoutGraph,
    /// The tensors that the queries write; all others are given.
    written: HashSet<Alias>,
    /// The name and type of a tensor in a format other than the planned one.
    names: HashMap<(Alias, Format), Stored>,
    /// Formats of tensors that readers prefer.
    wanted: Vec<(Alias, Format)>,
}

impl Explorer<'_, '_> {
    /// Returns the orders of a query's loops that are explored.
    fn runs(&mut self, query: &Planned) -> Vec<Run> {
        let nest = query.nest();
        self.cx.memo.hold(&nest.sizes, &nest.pins);
        let mut orders = vec![query.order().to_vec()];
        for (order, _) in orders_of_any_format(self.cx, nest, ORDERS) {
            if !orders.contains(&order) {
                orders.push(order);
            }
        }
        let run = |order: Vec<Field>| {
            let schedule = isolate(self.cx, nest, &order).ok()?;
            let mut reads = Vec::new();
            each_read(&schedule, &mut |read, around| {
                if !reads.iter().any(|(known, _): &(Read, _)| known == read) {
                    reads.push((read.clone(), around.to_vec()));
                }
            });
            Some(Run { order, reads })
        };
        orders.into_iter().filter_map(run).collect()
    }

    /// Records the formats that a query prefers for the tensors it reads.
    fn want(&mut self, query: &Planned, runs: &[Run]) {
        let sizes = &query.nest().sizes;
        for (read, around) in runs.iter().flat_map(|run| &run.reads) {
            if !self.graph.conversions.contains_key(&read.tensor) {
                self.graph.conversions.insert(read.tensor.clone(), conversion(self.cx, read).cost());
                if !self.written.contains(&read.tensor) {
                    self.graph.give(&read.tensor, &read.ty.format);
                }
            }
            if !self.suits(read, sizes, around) {
                let format = copy_format(self.cx, read, sizes, around);
                let wish = (read.tensor.clone(), format);
                if !self.wanted.contains(&wish) {
                    self.wanted.push(wish);
                }
            }
        }
    }

    /// Adds the kernels of a query in one order.
    fn kernels(&mut self, number: usize, query: &Planned, run: &Run) {
        let nest = query.nest();
        let outputs: Vec<Alias> = nest.outputs.iter().map(|target| target.alias.clone()).collect();
        let mut combinations: Vec<Vec<(Read, Format)>> = vec![Vec::new()];
        for (read, around) in &run.reads {
            let formats = self.formats(read, &nest.sizes, around);
            let longer = |known: Vec<(Read, Format)>| {
                let with = |format: &Format| [&known[..], &[(read.clone(), format.clone())]].concat();
                formats.iter().map(with).collect::<Vec<_>>()
            };
            combinations = combinations.into_iter().flat_map(longer).take(COMBINATIONS).collect();
        }
        let mut asked: Vec<Vec<Option<Format>>> = vec![vec![None; outputs.len()]];
        if let [target] = &nest.outputs[..]
            && target.format.is_none()
            && !target.at.iter().any(|at| matches!(at, At::Value(_)))
        {
            let own = self.wanted.iter().filter(|(tensor, _)| *tensor == target.alias);
            asked.extend(own.take(FORMATS).map(|(_, format)| vec![Some(format.clone())]));
        }
        for (first, reads) in combinations.into_iter().enumerate() {
            for asked in &asked {
                let Some((cost, formats)) = self.price(query, &run.order, &reads, asked) else { continue };
                let as_planned = first == 0 && run.order == query.order() && formats == query.formats;
                if asked.iter().flatten().next().is_some() && self.is_known(number, run, &reads, &formats) {
                    continue;
                }
                let (order, asked, reads) = (run.order.clone(), asked.clone(), reads.clone());
                self.graph.run(Kernel { query: number, order, asked, formats, reads, cost, as_planned }, &outputs);
            }
        }
    }

    fn is_known(&self, query: usize, run: &Run, reads: &[(Read, Format)], formats: &[Format]) -> bool {
        let same = |k: &Kernel| k.query == query && k.order == run.order && k.reads == reads && k.formats == formats;
        self.graph.kernels.iter().any(same)
    }

    /// Returns the formats that a read may have inside these loops; the planned one, or that of a
    /// copy, is first.
    fn formats(&mut self, read: &Read, sizes: &Sizes, around: &[Field]) -> Vec<Format> {
        let mut all = Vec::new();
        let walks = |format: &Format| {
            let ty = Arc::new(TensorType { format: format.clone(), ..(*read.ty).clone() });
            !self.meets(&Read { ty, ..read.clone() }, sizes, around, |meeting, _| meeting == Meeting::Discordant)
        };
        let copy = (!self.suits(read, sizes, around)).then(|| copy_format(self.cx, read, sizes, around));
        let known = self.graph.formats(&read.tensor).into_iter().filter(walks);
        let own = walks(&read.ty.format).then(|| read.ty.format.clone());
        for format in own.into_iter().chain(copy).chain(known) {
            if !all.contains(&format) {
                all.push(format);
            }
        }
        all.truncate(FORMATS);
        all
    }

    /// Returns whether a read can be walked, or looked up without a search, inside these loops.
    fn suits(&self, read: &Read, sizes: &Sizes, around: &[Field]) -> bool {
        !self.meets(read, sizes, around, |meeting, follow| {
            meeting == Meeting::Discordant
                || meeting == Meeting::Follow && matches!(follow, Event::Search | Event::FollowHash)
        })
    }

    fn meets(&self, read: &Read, sizes: &Sizes, around: &[Field], is: impl Fn(Meeting, Event) -> bool) -> bool {
        let positions = |field: &Field| around.iter().position(|f| f == field);
        let meetings = fit(read, sizes, &positions, NestKind::Query, self.cx.mode());
        meetings.iter().zip(&read.ty.format.levels).any(|(meeting, level)| is(*meeting, cost::follow(level.kind)))
    }

    /// Returns the cost of a query in an order with these formats, and the formats of its outputs.
    fn price(
        &mut self,
        query: &Planned,
        order: &[Field],
        reads: &[(Read, Format)],
        asked: &[Option<Format>],
    ) -> Option<(f64, Vec<Format>)> {
        let named: Vec<(&Read, Stored)> =
            reads.iter().map(|(read, format)| (read, self.stored(read, format))).collect();
        let mode = self.cx.mode();
        let mut nest = query
            .nest()
            .clone()
            .reading(&mut |read| named.iter().find(|(own, _)| *own == read).map(|(_, other)| other.clone()), mode);
        nest.pins.push(order.to_vec());
        for (target, format) in nest.outputs.iter_mut().zip(asked) {
            target.format = format.clone().or(target.format.take());
        }
        self.cx.memo.hold(&nest.sizes, &nest.pins);
        let ordered = order_loops(self.cx, &nest).filter(|ordered| ordered.work.cost().is_finite())?;
        let nest = with_formats(&nest, &ordered.dense);
        let formats = nest.outputs.iter().map(|target| choose_format(self.cx, target, &nest.sizes, order).ok());
        Some((ordered.work.cost(), formats.collect::<Option<_>>()?))
    }

    /// Returns the name and type of a tensor in a format, and registers it.
    fn stored(&mut self, read: &Read, format: &Format) -> Stored {
        if read.ty.format == *format {
            return (read.tensor.clone(), read.ty.clone());
        }
        let key = (read.tensor.clone(), format.clone());
        if let Some(known) = self.names.get(&key) {
            return known.clone();
        }
        let cx = &mut *self.cx;
        let alias = cx.fresh(&read.tensor);
        let nest = copy_nest(read, format.clone(), alias.clone());
        let target = &nest.outputs[0];
        cx.memo.hold(&nest.sizes, &nest.pins);
        let ty = Arc::new(TensorType { format: format.clone(), ..(*read.ty).clone() });
        cx.define_output(target, (alias.clone(), ty.clone()), &nest.sizes);
        self.names.insert(key, (alias.clone(), ty.clone()));
        (alias, ty)
    }
}

/// Visits every read of a schedule, with the loops around it.
fn each_read(schedule: &Schedule, f: &mut dyn FnMut(&Read, &[Field])) {
    for target in &schedule.outputs {
        outer_reads(&target.value, &mut |read| f(read, &schedule.order));
        for at in &target.at {
            if let At::Value(value) = at {
                outer_reads(value, &mut |read| f(read, &schedule.order));
            }
        }
    }
    schedule.temporaries.iter().for_each(|pass| each_read_of(pass, &schedule.order, f));
}

fn each_read_of(pass: &Pass, outside: &[Field], f: &mut dyn FnMut(&Read, &[Field])) {
    let order: Vec<Field> = outside[..pass.depth].iter().chain(&pass.order).cloned().collect();
    pass.temporaries.iter().for_each(|inner| each_read_of(inner, &order, f));
    pass.folds.iter().for_each(|(_, fold)| outer_reads(&fold.arg, &mut |read| f(read, &order)));
}

/// Visits the reads of a term without those of temporaries, which have loops of their own.
fn outer_reads(term: &Term, f: &mut dyn FnMut(&Read)) {
    match term.node() {
        Node::Temporary(..) => {}
        Node::Access(read) => {
            f(read);
            for at in &read.at {
                if let At::Value(value) = at {
                    outer_reads(value, f);
                }
            }
        }
        _ => term.children().iter().for_each(|child| outer_reads(child, f)),
    }
}
