//! Converts a schedule to a physical query: chooses formats, workspaces and patterns of outputs,
//! protocols of accesses, and lanes of loops.

mod lanes;
mod protocols;

use crate::access::fit::storage_coordinates;
use crate::emit::lanes::lanes;
use crate::emit::protocols::{AccessProtocols, Protocols, choose_protocols};
use crate::error::Error;
use crate::facts::Facts;
use crate::facts::estimate::conjuncts;
use crate::output::formats::{choose_format, define_output};
use crate::output::patterns::{find_patterns, matching_pattern};
use crate::output::workspace::workspace;
use crate::report::{Decision, OutputDecision};
use crate::schedule::isolate::{FoldPass, Schedule};
use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, NestKind, Node, Read, Target, Term};
use redpoll_logic::physical::{
    Access, Extent, Loop, Output, PhysicalQuery, ScalarExpr, StorageCoordinate, TemporaryFold, TemporaryNest,
};
use redpoll_logic::{Alias, Field, TensorType};
use std::sync::Arc;

/// Returns the query of a schedule and the decisions for it, and registers its outputs.
pub(crate) fn emit(
    facts: &mut Facts,
    schedule: &Schedule,
    mut decision: Decision,
) -> Result<(PhysicalQuery, Decision), Error> {
    let Schedule { order, sizes, .. } = schedule;
    let mut outputs = Vec::new();
    for target in &schedule.outputs {
        let format = choose_format(facts, target, sizes, order)?;
        let emitter = QueryEmitter { facts, sizes, order, kind: schedule.kind, outer_conjuncts: &[] };
        let patterns = find_patterns(facts, target, sizes);
        let pattern = matching_pattern(&patterns, &format).filter(|read| emitter.reads_directly(target, read));
        let pattern = pattern.map(|read| read.tensor.clone());
        let workspace = if pattern.is_some() { None } else { workspace(facts, target, &format, sizes, order) };
        let (shape, fill) = (target.shape.clone(), target.fill.clone());
        let ty = Arc::new(TensorType { shape, dtype: target.value.dtype(), fill, format });
        outputs.push(emitter.output(target, &ty, (workspace.clone(), pattern.clone())));
        let counts = define_output(facts, target, (target.alias.clone(), ty.clone()), sizes);
        let (alias, positions) = (target.alias.clone(), counts.iter().map(|c| c.estimate).collect());
        let max_stored = counts.last().map_or(1.0, |c| c.bound);
        decision.outputs.push(OutputDecision { alias, ty, positions, max_stored, workspace, pattern });
    }
    let mut outer_conjuncts = Vec::new();
    if let [target] = &schedule.outputs[..] {
        conjuncts(facts, &target.value, &mut outer_conjuncts);
    }
    let outermost = QueryEmitter { facts, sizes, order, kind: schedule.kind, outer_conjuncts: &outer_conjuncts };
    let temporaries = schedule.temporaries.iter().map(|pass| outermost.temporaries(pass, 0)).collect();
    let mut loops = loops(order, 0, sizes);
    if let ([Target { fold: Some((op, _)), coordinates, value, .. }], Some(last)) =
        (&schedule.outputs[..], loops.last_mut())
        && !coordinates.iter().any(|at| at.has(&last.index))
    {
        last.lanes = lanes(facts, order, sizes, (op, value));
    }
    Ok((PhysicalQuery { loops, temporaries, outputs }, decision))
}

/// Returns the loops of an order from depth `start` on; they run inside the loops before `start`.
fn loops(order: &[Field], start: usize, sizes: &Sizes) -> Vec<Loop> {
    let extent = |k: usize| {
        let (field, outside) = (&order[k], &order[..k]);
        let skew = sizes.skew(field).find(|(_, other)| outside.contains(other));
        // Without a loop over the blocks, a loop over the inner field has the length of a full
        // block.
        let block = sizes.split(field).filter(|b| order.contains(&b.outer));
        match (block, skew) {
            (Some(b), _) => Extent::Block { block: b.block, outer: b.outer.clone(), size: b.size },
            (None, Some((s, with))) => {
                Extent::Skew { n: sizes.of(field), outer: with.clone(), shift: s.shift, size: s.size }
            }
            (None, None) => Extent::Range(sizes.of(field)),
        }
    };
    (start..order.len()).map(|k| Loop { index: order[k].clone(), extent: extent(k), lanes: 1 }).collect()
}

/// A converter from the passes, outputs and values of a schedule to the temporaries, outputs and
/// values of a physical query.
struct QueryEmitter<'w, 'c> {
    facts: &'w Facts<'c>,
    sizes: &'w Sizes,
    order: &'w [Field],
    kind: NestKind,
    /// Conjuncts of the enclosing output and folds: where one of these reads has its fill value,
    /// nothing is computed.
    outer_conjuncts: &'w [&'w Read],
}

impl QueryEmitter<'_, '_> {
    /// Converts a pass to temporaries; `start` is the number of loops outside of the surrounding
    /// temporaries.
    fn temporaries(&self, pass: &FoldPass, start: usize) -> TemporaryNest {
        let QueryEmitter { facts, sizes, kind, .. } = *self;
        let order: Vec<Field> = self.order[..pass.depth].iter().chain(&pass.order).cloned().collect();
        let emitter = QueryEmitter { order: &order, ..*self };
        // The loops from `start_depth` to `depth` index the accumulators of a fold, except the
        // loops along which a scan runs.
        let accumulator_indices = |fold: &crate::term::Fold| {
            let between = order[pass.start_depth..pass.depth].iter();
            between.filter(|f| !fold.along.contains(f)).cloned().collect()
        };
        let fold = |(name, fold): &(Alias, crate::term::Fold)| TemporaryFold {
            name: name.clone(),
            accumulator_indices: accumulator_indices(fold),
            op: fold.op.clone(),
            init: fold.init.clone(),
            value: emitter.value(&fold.arg),
        };
        let mut loops = loops(&order, pass.depth, sizes);
        if let ([(_, fold)], Some(last)) = (&pass.folds[..], loops.last_mut()) {
            last.lanes = lanes(facts, &order, sizes, (&fold.op, &fold.arg));
        }
        let mut outer_conjuncts = self.outer_conjuncts.to_vec();
        if let [(_, fold)] = &pass.folds[..] {
            conjuncts(facts, &fold.arg, &mut outer_conjuncts);
        }
        let inner = QueryEmitter { facts, sizes, order: &order, kind, outer_conjuncts: &outer_conjuncts };
        TemporaryNest {
            depth: pass.depth - start,
            start_depth: pass.start_depth - start,
            loops,
            temporaries: pass.temporaries.iter().map(|below| inner.temporaries(below, pass.depth)).collect(),
            folds: pass.folds.iter().map(fold).collect(),
        }
    }

    fn output(
        &self,
        target: &Target,
        ty: &Arc<TensorType>,
        (workspace, pattern): (Option<redpoll_logic::physical::Workspace>, Option<Alias>),
    ) -> Output {
        let coordinates =
            storage_coordinates(&target.coordinates, &ty.format, &ty.shape, self.sizes, self.facts.mode());
        let subscripts = coordinates.into_iter().map(|at| match at {
            ModeCoordinate::Subscript(s) => StorageCoordinate::Subscript(s),
            ModeCoordinate::Value(t) => StorageCoordinate::Computed(self.value(&t)),
        });
        Output {
            alias: target.alias.clone(),
            ty: ty.clone(),
            subscripts: subscripts.collect(),
            fold: target.fold.as_ref().map(|(op, _)| op.clone()),
            computed_fills: target.computed,
            workspace,
            pattern,
            value: self.value(&target.value),
        }
    }

    /// Returns whether a read in the value of an output uses no workspace.
    fn reads_directly(&self, target: &Target, read: &Read) -> bool {
        self.protocols(&target.value).of(read).workspace.is_none()
    }

    fn value(&self, term: &Term) -> ScalarExpr {
        self.point(term, &self.protocols(term))
    }

    fn protocols(&self, value: &Term) -> Protocols {
        choose_protocols(self.facts, (value, self.outer_conjuncts), self.sizes, self.order, self.kind)
    }

    fn point(&self, term: &Term, protocols: &Protocols) -> ScalarExpr {
        match term.node() {
            Node::Literal => ScalarExpr::Literal(term.fill().clone()),
            Node::Coordinate(form) => ScalarExpr::Coordinate(form.clone()),
            Node::Temporary(name, _) => ScalarExpr::Temporary(name.clone()),
            Node::Access(read) => ScalarExpr::Access(self.access(read, protocols)),
            Node::Call(op, args) => {
                ScalarExpr::Call(op.clone(), args.iter().map(|a| self.point(a, protocols)).collect())
            }
            Node::Fold(_) => unreachable!("a schedule has temporaries in place of folds"),
        }
    }

    fn access(&self, read: &Read, protocols: &Protocols) -> Access {
        let coordinates =
            storage_coordinates(&read.coordinates, &read.ty.format, &read.ty.shape, self.sizes, self.facts.mode());
        let subscripts = coordinates.into_iter().map(|at| match at {
            ModeCoordinate::Subscript(s) => StorageCoordinate::Subscript(s),
            ModeCoordinate::Value(t) => StorageCoordinate::Computed(self.value(&t)),
        });
        let AccessProtocols { protocols, workspace } = protocols.of(read);
        Access {
            tensor: read.tensor.clone(),
            subscripts: subscripts.collect(),
            protocols,
            workspace,
            outside: read.outside.clone(),
        }
    }
}
