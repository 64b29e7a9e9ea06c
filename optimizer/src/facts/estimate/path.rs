//! Sizes of products along a path, from the links between the modes of the tensors.
//!
//! Estimates assume independent fields, but in bands, blocks and clusters, two paths from one
//! coordinate reach the same coordinate far more often than if the fields were independent.
//! Therefore, if a term joins two fields along tensors with two modes, as a matrix product does,
//! the statistics count the pairs that the path of the term connects. The path of a query
//! represents the tensor that the query writes.

use crate::access::fit::storage_coordinates;
use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, Node, Read, Target, Term};
use redpoll_logic::Field;
use redpoll_logic::statistics::Hop;

/// Largest number of hops of a path.
const MAX_HOPS: usize = 4;

/// A path from one field to another.
struct PathEdge {
    ends: [Field; 2],
    hops: Vec<Hop>,
}

impl PathEdge {
    /// Returns the reversed path.
    fn reversed(self) -> PathEdge {
        let [a, b] = self.ends;
        PathEdge { ends: [b, a], hops: self.hops.iter().rev().map(Hop::reversed).collect() }
    }
}

impl Facts<'_> {
    /// Returns the number of coordinates over two fields under which a term may differ from its
    /// fill, if the term joins the two fields along a path of several hops and the budget allows
    /// the question.
    pub(super) fn connected_coordinates(&self, term: &Term, sizes: &Sizes, fields: &[Field]) -> Option<f64> {
        if !self.may_measure() {
            return None;
        }
        let hops = self.path(term, sizes, fields)?;
        (hops.len() > 1).then(|| self.connected_pairs(&hops)).flatten()
    }

    /// Returns the path that produces an output, from its first mode to its second.
    pub(crate) fn path_of(&self, target: &Target, sizes: &Sizes) -> Option<Vec<Hop>> {
        let [x, y] = &target.coordinates[..] else { return None };
        let fields = [x.as_field()?.clone(), y.as_field()?.clone()];
        if self.may_measure() && self.skips_fill(target) { self.path(&target.value, sizes, &fields) } else { None }
    }

    /// Returns the path from the first to the second of two fields if it covers the whole term.
    fn path(&self, term: &Term, sizes: &Sizes, fields: &[Field]) -> Option<Vec<Hop>> {
        let [from, to] = fields else { return None };
        let mut edges = Vec::new();
        self.collect_edges(term, sizes, &mut edges)?;
        let (mut end, mut hops) = (from.clone(), Vec::new());
        while !edges.is_empty() {
            let mut own = (0..edges.len()).filter(|k| edges[*k].ends.contains(&end));
            let (next, None) = (own.next()?, own.next()) else { return None };
            let edge: PathEdge = edges.swap_remove(next);
            let edge = if edge.ends[0] == end { edge } else { edge.reversed() };
            hops.extend(edge.hops);
            end = edge.ends[1].clone();
        }
        (end == *to && from != to && hops.len() <= MAX_HOPS).then_some(hops)
    }

    /// Collects the paths that a term joins; returns `None` if the term joins anything else.
    fn collect_edges(&self, term: &Term, sizes: &Sizes, found: &mut Vec<PathEdge>) -> Option<()> {
        match term.node() {
            Node::Call(_, args) if args.len() == 1 => self.collect_edges(&args[0], sizes, found),
            Node::Call(_, args) => {
                let deciding = self.deciding_args(term);
                if deciding.is_empty() {
                    return None;
                }
                deciding.iter().try_for_each(|&k| self.collect_edges(&args[k], sizes, found))
            }
            // A full term restricts nothing.
            _ if term.is_full() => Some(()),
            Node::Access(read) => {
                found.push(self.edge(read, sizes)?);
                Some(())
            }
            Node::Fold(fold) | Node::Temporary(_, fold) => {
                let ends = <[Field; 2]>::try_from(fold.free().into_iter().collect::<Vec<_>>()).ok()?;
                let hops = (!fold.is_scan()).then(|| self.path(&fold.arg, sizes, &ends)).flatten()?;
                found.push(PathEdge { ends, hops });
                Some(())
            }
            Node::Literal | Node::Coordinate(_) => None,
        }
    }

    /// Returns the path of an access.
    fn edge(&self, read: &Read, sizes: &Sizes) -> Option<PathEdge> {
        if read.outside.is_some() {
            return None;
        }
        let fields = |at: &[ModeCoordinate]| -> Option<[Field; 2]> {
            let fields: Option<Vec<Field>> = at.iter().map(|at| at.as_field().cloned()).collect();
            <[Field; 2]>::try_from(fields?).ok().filter(|[a, b]| a != b)
        };
        if let Some(path) = self.written_path(&read.tensor) {
            return Some(PathEdge { ends: fields(&read.coordinates)?, hops: path?.to_vec() });
        }
        let coordinates = storage_coordinates(&read.coordinates, &read.ty.format, &read.ty.shape, sizes, self.mode());
        let hop = Hop { tensor: read.tensor.clone(), from: 0, to: 1 };
        Some(PathEdge { ends: fields(&coordinates)?, hops: vec![hop] })
    }
}
