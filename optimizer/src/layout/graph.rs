//! The e-graph of a plan's layouts.

use crate::term::Read;
use egg::{EGraph, Id, Language};
use redpoll_logic::{Alias, Field, Format};
use std::collections::HashMap;

/// The kind of a node, without the child classes: a kernel, or a source of a tensor in a format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum LayoutSource {
    /// A tensor that no query of the graph writes, by the index of its layout.
    Input(usize),
    /// The kernel with this index. The kernel reads the children and writes all outputs of its
    /// query. The class of a kernel is not a tensor.
    Kernel(usize),
    /// The output with this index among the outputs of the child, which is a kernel.
    Output(usize),
    /// A conversion of the child to the layout with this index.
    Conversion(usize),
}

/// A node of the e-graph: its kind, and the classes of its children.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct LayoutNode {
    pub(super) source: LayoutSource,
    children: Vec<Id>,
}

impl Language for LayoutNode {
    type Discriminant = LayoutSource;

    fn discriminant(&self) -> LayoutSource {
        self.source
    }

    fn matches(&self, other: &LayoutNode) -> bool {
        self.source == other.source && self.children.len() == other.children.len()
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// A query in a loop order, with the formats of its tensors.
#[derive(Clone)]
pub(crate) struct CandidateKernel {
    pub(crate) query: usize,
    pub(crate) order: Vec<Field>,
    /// For each output, the format that a reader prefers, if the kernel writes this format and not
    /// the one of the order.
    pub(crate) requested: Vec<Option<Format>>,
    /// The formats of the query's outputs.
    pub(crate) formats: Vec<Format>,
    /// The query's reads, each with a format.
    pub(crate) reads: Vec<(Read, Format)>,
    pub(crate) cost: f64,
    /// Set when the kernel runs the query as in the previous plan.
    pub(crate) is_previous: bool,
}

/// The sources of the tensors of a plan, and their costs.
#[derive(Default)]
pub(super) struct LayoutGraph {
    pub(super) egraph: EGraph<LayoutNode, ()>,
    /// The kernels of all queries, by index.
    pub(super) kernels: Vec<CandidateKernel>,
    /// The class of each kernel, with the classes of its outputs.
    kernel_classes: Vec<(Id, Vec<Id>)>,
    /// The layouts by index: a tensor, its format, and the class of the tensor in this format.
    layouts: Vec<(Alias, Format, Id)>,
    /// The cost of converting each tensor.
    pub(super) conversions: HashMap<Alias, f64>,
}

impl LayoutGraph {
    /// Adds a tensor that no query of the graph writes, in its given format.
    pub(super) fn add_input(&mut self, tensor: &Alias, format: &Format) {
        let number = self.layouts.len();
        let class = self.egraph.add(LayoutNode { source: LayoutSource::Input(number), children: Vec::new() });
        self.layouts.push((tensor.clone(), format.clone(), class));
    }

    /// Adds a kernel of a query that writes the tensors `outputs`.
    pub(super) fn add_kernel(&mut self, kernel: CandidateKernel, outputs: &[Alias]) {
        let children = kernel.reads.iter().map(|(read, format)| self.convert(&read.tensor, format)).collect();
        let kernel_class = self.egraph.add(LayoutNode { source: LayoutSource::Kernel(self.kernels.len()), children });
        let mut written = Vec::new();
        for (number, (tensor, format)) in outputs.iter().zip(&kernel.formats).enumerate() {
            let output =
                self.egraph.add(LayoutNode { source: LayoutSource::Output(number), children: vec![kernel_class] });
            written.push(output);
            match self.find(tensor, format) {
                Some(class) => {
                    self.egraph.union(class, output);
                }
                None => self.layouts.push((tensor.clone(), format.clone(), output)),
            }
        }
        self.kernel_classes.push((kernel_class, written));
        self.kernels.push(kernel);
    }

    /// Returns the formats that a tensor can have so far.
    pub(super) fn formats(&self, tensor: &Alias) -> Vec<Format> {
        let own = self.layouts.iter().filter(|(of, ..)| of == tensor);
        own.map(|(_, format, _)| format.clone()).collect()
    }

    /// Returns the class of a tensor in a format. Adds conversions to this format from the other
    /// formats that the tensor has so far.
    fn convert(&mut self, tensor: &Alias, format: &Format) -> Id {
        let number = self.layouts.iter().position(|(of, other, _)| of == tensor && other == format);
        let others = self.layouts.iter().filter(|(of, other, _)| of == tensor && other != format);
        let others: Vec<Id> = others.map(|(.., class)| *class).collect();
        let to = number.unwrap_or(self.layouts.len());
        for from in others {
            let node = self.egraph.add(LayoutNode { source: LayoutSource::Conversion(to), children: vec![from] });
            match self.find(tensor, format) {
                Some(class) => {
                    self.egraph.union(class, node);
                }
                None => self.layouts.push((tensor.clone(), format.clone(), node)),
            }
        }
        self.find(tensor, format).expect("a tensor has a layout before it is read")
    }

    fn find(&self, tensor: &Alias, format: &Format) -> Option<Id> {
        let own = self.layouts.iter().find(|(of, other, _)| of == tensor && other == format);
        own.map(|(.., class)| self.egraph.find(*class))
    }

    /// Returns the tensor of each class, without the classes of kernels.
    pub(super) fn tensors(&self) -> HashMap<Id, &Alias> {
        self.layouts.iter().map(|(tensor, _, class)| (self.egraph.find(*class), tensor)).collect()
    }

    /// Iterates over the classes that a kernel reads.
    pub(super) fn reads(&self, kernel: usize) -> impl Iterator<Item = Id> {
        let node = &self.egraph[self.kernel_classes[kernel].0].nodes[0];
        node.children.iter().map(|class| self.egraph.find(*class))
    }

    /// Returns the classes that a kernel writes.
    pub(super) fn writes(&self, kernel: usize) -> Vec<Id> {
        self.kernel_classes[kernel].1.iter().map(|class| self.egraph.find(*class)).collect()
    }

    /// Returns whether a class is a tensor that no query of the graph writes, in its given format.
    pub(super) fn is_input(&self, class: Id) -> bool {
        self.egraph[class].nodes.iter().any(|node| matches!(node.source, LayoutSource::Input(_)))
    }

    /// Returns whether a class can be converted from a class that satisfies the predicate.
    pub(super) fn can_convert(&self, class: Id, from: impl Fn(Id) -> bool) -> bool {
        let is_conversion = |node: &LayoutNode| {
            matches!(node.source, LayoutSource::Conversion(_)) && from(self.egraph.find(node.children[0]))
        };
        self.egraph[class].nodes.iter().any(is_conversion)
    }

    /// Returns the orders of a query with the costs of their cheapest kernels.
    pub(super) fn orders(&self, query: usize) -> Vec<(Vec<Field>, f64)> {
        let mut orders: Vec<(Vec<Field>, f64)> = Vec::new();
        for kernel in self.kernels.iter().filter(|kernel| kernel.query == query) {
            match orders.iter_mut().find(|(order, _)| *order == kernel.order) {
                Some((_, cost)) => *cost = cost.min(kernel.cost),
                None => orders.push((kernel.order.clone(), kernel.cost)),
            }
        }
        orders
    }

    /// Returns the kernels of each query, cheapest first.
    pub(super) fn kernels_by_query(&self) -> Vec<Vec<usize>> {
        let count = self.kernels.iter().map(|kernel| kernel.query + 1).max().unwrap_or(0);
        let mut all = vec![Vec::new(); count];
        for (number, kernel) in self.kernels.iter().enumerate() {
            all[kernel.query].push(number);
        }
        for kernels in &mut all {
            kernels.sort_by(|a: &usize, b| self.kernels[*a].cost.total_cmp(&self.kernels[*b].cost));
        }
        all
    }
}
