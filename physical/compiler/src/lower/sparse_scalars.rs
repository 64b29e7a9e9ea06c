//! Sparse scalars: temporaries with a flag that records whether they were written.
//!
//! Some consumers do nothing while a temporary has its initial value. For example, they write the
//! fill value into a level that does not store it, or fold products with the temporary in a further
//! loop. The writes of such a temporary set a flag `written`, which guards the consumer:
//! ```text
//! where(consumer, producer)  =  producer; if written { consumer }
//! ```
//! If nothing was folded into the temporary, the consumer costs nothing and stores nothing.

use super::cx::Cx;
use super::simplify::simplify;
use super::state::{AccessCursor, LoweringState};
use super::tree::Tree;
use crate::assembly::Expr;
use crate::assembly::build::{and, local, or, truth};
use crate::notation::{Role, TensorId};
use redpoll_logic::{LevelKind, Prim};

/// Adds flags to the temporaries whose consumers profit from a flag, and returns whether there are
/// such temporaries.
pub(crate) fn add_flags(cx: &mut Cx<'_>, state: &LoweringState, tree: &Tree) -> bool {
    let mut flagged: Vec<TensorId> = Vec::new();
    each_where(tree, &mut |consumer| {
        let writes_sparse = |t: TensorId| {
            let levels = &cx.program.tensors[t.index()].ty.format.levels;
            levels.iter().any(|level| level.kind != LevelKind::Dense)
        };
        let mut pays = consumer.has_loop();
        consumer.for_each_assign(&mut |a| pays |= writes_sparse(a.tensor));
        if pays {
            flagged.extend(
                read_scalars(cx, state, consumer).into_iter().filter(|t| is_idle_without(cx, state, consumer, &[*t])),
            );
        }
    });
    for t in &flagged {
        let flag = cx.new_local("written", Prim::Bool);
        if let Some(accumulator) = &mut cx.tensors[t.index()].scalar
            && accumulator.dirty.is_empty()
        {
            accumulator.dirty.push(flag);
        }
    }
    !flagged.is_empty()
}

/// Returns a condition that is true if the consumer may have an effect. A temporary is needed if
/// the consumer has no effect while the temporary has its initial value; the condition is that all
/// needed temporaries were written. If no temporary is needed, but the consumer has no effect while
/// all temporaries have their initial values, the condition is that some temporary was written.
pub(crate) fn condition(cx: &Cx<'_>, state: &LoweringState, consumer: &Tree) -> Expr {
    let mut flagged: Vec<(TensorId, Expr)> = Vec::new();
    for t in read_scalars(cx, state, consumer) {
        let flags = cx.tensor(t).scalar.iter().flat_map(|accumulator| accumulator.dirty.clone());
        flagged.extend(flags.map(|flag| (t, local(flag))));
    }
    let all: Vec<TensorId> = flagged.iter().map(|(t, _)| *t).collect();
    let needed = flagged.iter().filter(|(t, _)| is_idle_without(cx, state, consumer, &[*t]));
    let needed = needed.fold(truth(true), |all, (_, flag)| and(&all, flag));
    if needed != truth(true) || all.len() < 2 || !is_idle_without(cx, state, consumer, &all) {
        return needed;
    }
    flagged.iter().fold(truth(false), |any, (_, flag)| or(&any, flag))
}

fn each_where<'t>(tree: &'t Tree, visit: &mut dyn FnMut(&'t Tree)) {
    match tree {
        Tree::Block(items) => items.iter().for_each(|t| each_where(t, visit)),
        Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } | Tree::While { body, .. } => {
            each_where(body, visit);
        }
        Tree::Where { consumer, producer } => {
            visit(consumer);
            each_where(producer, visit);
            each_where(consumer, visit);
        }
        Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Swap(..) | Tree::Assign(_) => {}
    }
}

/// Returns the scalar locals that a statement reads, without those that it declares itself.
fn read_scalars(cx: &Cx<'_>, state: &LoweringState, tree: &Tree) -> Vec<TensorId> {
    let own = tree.declared_tensors();
    let mut found: Vec<TensorId> = Vec::new();
    tree.for_each_term(&mut |t| {
        t.for_each_access(&mut |id| {
            let read = state
                .access(id)
                .tensor
                .filter(|t| cx.tensor(*t).scalar.is_some() && cx.program.tensors[t.index()].role == Role::Local);
            found.extend(read.filter(|t| !own.contains(t) && !found.contains(t)));
        });
    });
    found
}

/// Returns whether the consumer has no effect while the scalars `without` have their initial
/// values.
fn is_idle_without(cx: &Cx<'_>, state: &LoweringState, consumer: &Tree, without: &[TensorId]) -> bool {
    // A scalar that the consumer itself writes does not keep its initial value.
    let mut writes = false;
    consumer.for_each_assign(&mut |a| writes |= without.contains(&a.tensor));
    if writes {
        return false;
    }
    let mut initial = state.clone();
    for id in consumer.accesses() {
        let acc = state.access(id);
        if let Some(t) = acc.tensor.filter(|t| without.contains(t) && !acc.writes) {
            initial.set(id, AccessCursor::Fill(cx.program.tensors[t.index()].ty.fill.clone()));
        }
    }
    simplify(cx, &initial, consumer).is_empty()
}
