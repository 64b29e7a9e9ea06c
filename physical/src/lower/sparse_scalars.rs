//! Sparse scalars: temporaries that know whether they were written.
//!
//! Where a consumer does nothing as long as a temporary holds what it started from, as a write of the fill value into a
//! level that leaves it out, or a product over a further loop, the temporary gets a flag that its writes set, and
//! ```text
//! where(consumer, producer)  =  producer; if written { consumer }
//! ```
//! A fold that nothing was folded into costs its consumer nothing, and nothing is stored for it.

use super::build::{and, local, or, truth};
use super::cx::Cx;
use super::simplify::simplify;
use super::state::{Cursor, State};
use super::tree::Tree;
use crate::assembly::Expr;
use crate::notation::{Role, TensorId};
use redpoll_logic::{LevelKind, Prim};

/// Gives flags to the temporaries that some consumer asks; whether there are any.
pub(crate) fn flag(cx: &mut Cx<'_>, state: &State, tree: &Tree) -> bool {
    let mut asked: Vec<TensorId> = Vec::new();
    each_where(tree, &mut |consumer| {
        let writes_sparse = |t: TensorId| {
            let levels = &cx.program.tensors[t.index()].ty.format.levels;
            levels.iter().any(|level| level.kind != LevelKind::Dense)
        };
        let mut pays = consumer.has_loop();
        consumer.for_each_assign(&mut |a| pays |= writes_sparse(a.tensor));
        if pays {
            asked.extend(scalars(cx, state, consumer).into_iter().filter(|t| idle_without(cx, state, consumer, &[*t])));
        }
    });
    for t in &asked {
        let flag = cx.new_local("written", Prim::Bool);
        if let Some(held) = &mut cx.tensors[t.index()].scalar
            && held.dirty.is_empty()
        {
            held.dirty.push(flag);
        }
    }
    !asked.is_empty()
}

/// When the consumer does something: where temporaries without which it does nothing have been written.
pub(crate) fn condition(cx: &Cx<'_>, state: &State, consumer: &Tree) -> Expr {
    let mut flagged: Vec<(TensorId, Expr)> = Vec::new();
    for t in scalars(cx, state, consumer) {
        let flags = cx.tensor(t).scalar.iter().flat_map(|held| held.dirty.clone());
        flagged.extend(flags.map(|flag| (t, local(flag))));
    }
    let all: Vec<TensorId> = flagged.iter().map(|(t, _)| *t).collect();
    let needed = flagged.iter().filter(|(t, _)| idle_without(cx, state, consumer, &[*t]));
    let needed = needed.fold(truth(true), |all, (_, flag)| and(&all, flag));
    if needed != truth(true) || all.len() < 2 || !idle_without(cx, state, consumer, &all) {
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

/// The scalar locals that a statement reads.
fn scalars(cx: &Cx<'_>, state: &State, tree: &Tree) -> Vec<TensorId> {
    let mut found: Vec<TensorId> = Vec::new();
    tree.for_each_term(&mut |t| {
        t.for_each_access(&mut |id| {
            let read = state
                .acc(id)
                .tensor
                .filter(|t| cx.tensor(*t).scalar.is_some() && cx.program.tensors[t.index()].role == Role::Local);
            found.extend(read.filter(|t| !found.contains(t)));
        });
    });
    found
}

/// Whether nothing is left to be done when these scalars hold what they started from.
fn idle_without(cx: &Cx<'_>, state: &State, consumer: &Tree, without: &[TensorId]) -> bool {
    // What the consumer writes itself it does not find as it was.
    let mut writes = false;
    consumer.for_each_assign(&mut |a| writes |= without.contains(&a.tensor));
    if writes {
        return false;
    }
    let mut known = state.clone();
    for id in consumer.accesses() {
        let acc = state.acc(id);
        if let Some(t) = acc.tensor.filter(|t| without.contains(t) && !acc.writes) {
            known.set(id, Cursor::Fill(cx.program.tensors[t.index()].ty.fill.clone()));
        }
    }
    simplify(cx, &known, consumer).is_empty()
}
