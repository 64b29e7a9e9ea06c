//! Tensors whose elements all have one known value at a point of a program: tensors not written
//! since their declaration, and local scalars to which only literals were assigned or folded.
//!
//! ```text
//! t = -inf; for k in 0..100 { t = max(t, 0.0) }; y[j] = t   ~>   y[j] = 0.0
//! ```
//! If the producer of such a scalar reads only fill values, the scalar is a constant. If this
//! constant is the fill value of the output, the consumer stores nothing.

use super::cx::Cx;
use super::integrate::{IndexedPairs, is_repeat_invariant};
use super::tree::{Assign, Tree, TreeTerm};
use crate::assembly::build::int;
use crate::notation::{Index, Role, TensorId, Write};
use redpoll_logic::Scalar;
use redpoll_logic::op::{Builtin, Op};
use std::rc::Rc;

/// The known values at a point of a program.
#[derive(Clone, Default)]
pub(crate) struct Constants(Vec<(TensorId, Scalar)>);

impl Constants {
    /// Returns the value of all elements of a tensor, if it is known.
    pub(crate) fn value(&self, tensor: TensorId) -> Option<&Scalar> {
        self.0.iter().find(|(t, _)| *t == tensor).map(|(_, value)| value)
    }

    /// Records a declaration, after which all elements have the fill value.
    pub(crate) fn declare(&mut self, cx: &Cx<'_>, tensor: TensorId) {
        self.forget(&[tensor]);
        self.0.push((tensor, cx.program.tensors[tensor.index()].ty.fill.clone()));
    }

    /// Records an assignment.
    pub(crate) fn assign(&mut self, cx: &Cx<'_>, a: &Assign) {
        let value = self.assigned_value(cx, a);
        self.forget(&[a.tensor]);
        self.0.extend(value.map(|value| (a.tensor, value)));
    }

    /// Returns the value that an assignment gives a local scalar, if it is known.
    fn assigned_value(&self, cx: &Cx<'_>, a: &Assign) -> Option<Scalar> {
        let tensor = &cx.program.tensors[a.tensor.index()];
        let (dtype, old) = (&tensor.ty.dtype, self.value(a.tensor)?);
        let value = constant(&a.rhs)?;
        if tensor.role != Role::Local || !tensor.ty.shape.is_empty() {
            return None;
        }
        let assigned = match &a.write {
            Write::Init | Write::Overwrite => value.clone(),
            Write::Fold(op) if a.repetitions.is_empty() || is_repeat_invariant(cx, a) => {
                op.eval_in(&[old.clone(), value.clone()], cx.mode).ok()?
            }
            Write::Fold(_) => return None,
        };
        (assigned.dtype() == *dtype).then_some(assigned)
    }

    /// Removes the values of tensors.
    pub(crate) fn forget(&mut self, tensors: &[TensorId]) {
        self.0.retain(|(t, _)| !tensors.contains(t));
    }

    /// Removes the values of the tensors that a statement swaps, and those that it assigns but does
    /// not declare.
    pub(crate) fn forget_assigned(&mut self, tree: &Tree) {
        let own = tree.declared_tensors();
        let mut changed = tree.swapped_tensors();
        tree.for_each_assign(&mut |a| {
            if !own.contains(&a.tensor) {
                changed.push(a.tensor);
            }
        });
        self.forget(&changed);
    }

    /// Removes the values that `other` does not contain.
    pub(crate) fn retain_shared(&mut self, other: &Constants) {
        self.0.retain(|known| other.0.contains(known));
    }

    /// Returns the values that are known after a statement.
    pub(crate) fn after(mut self, cx: &Cx<'_>, tree: &Tree) -> Constants {
        match tree {
            _ if self.0.is_empty() => {}
            Tree::Block(items) => return items.iter().fold(self, |known, item| known.after(cx, item)),
            Tree::Let { body, .. } => return self.after(cx, body),
            Tree::Where { consumer, producer } => return self.after(cx, producer).after(cx, consumer),
            Tree::Declare(t) => self.declare(cx, *t),
            Tree::Assign(a) => self.assign(cx, a),
            Tree::Swap(t, u) => self.forget(&[*t, *u]),
            Tree::Freeze(_) | Tree::Thaw(_) => {}
            Tree::If { body, .. } => {
                let taken = self.clone().after(cx, body);
                self.retain_shared(&taken);
            }
            Tree::While { .. } => self.forget_assigned(tree),
            Tree::Loop { index, lo, hi, body } => {
                let written = body.written_tensors();
                if !self.0.iter().any(|(tensor, _)| written.contains(tensor)) {
                    return self;
                }
                let body = &first_pairs(cx, body, *index, lo);
                let first = self.clone().after(cx, body);
                // If the first round changes nothing, no round does. Otherwise, the later rounds
                // change nothing if the second changes nothing.
                let is_unchanged = self.0.iter().all(|known| first.0.contains(known));
                let mut after = if is_unchanged { first.clone() } else { first.clone().after(cx, body) };
                after.retain_shared(&first);
                if !is_below(cx, lo, hi) {
                    after.retain_shared(&self);
                }
                return after;
            }
        }
        self
    }
}

/// Returns the value of a term that consists of literals and the operators `pair`, `+` and `*`;
/// `None` for other terms.
fn constant(term: &TreeTerm) -> Option<Scalar> {
    match term {
        TreeTerm::Lit(value) => Some(value.clone()),
        TreeTerm::Call(op @ Op::Builtin(Builtin::Pair | Builtin::Add | Builtin::Mul), args) => {
            op.apply(&args.iter().map(constant).collect::<Option<Vec<_>>>()?).ok()
        }
        _ => None,
    }
}

/// Replaces the index by its first value in the folds of (value, coordinate) pairs in a loop body,
/// if this value is a literal and these folds select the pairs of the first round. Otherwise,
/// returns the body unchanged.
fn first_pairs(cx: &Cx<'_>, body: &Rc<Tree>, index: Index, lo: &TreeTerm) -> Rc<Tree> {
    let pairs = IndexedPairs::of(cx, body, index, lo);
    let is_first = matches!(lo, TreeTerm::Lit(_)) && !pairs.slopes.is_empty() && pairs.slopes.iter().all(|c| *c > 0);
    if is_first { Rc::new(pairs.body) } else { body.clone() }
}

/// Returns whether a loop with these bounds is known to have at least one round.
fn is_below(cx: &Cx<'_>, lo: &TreeTerm, hi: &TreeTerm) -> bool {
    let code = |bound: &TreeTerm| match bound {
        TreeTerm::Lit(Scalar::I64(n)) => Some(int(*n)),
        TreeTerm::Value(value) => Some(value.single().clone()),
        _ => None,
    };
    code(lo).zip(code(hi)).is_some_and(|(lo, hi)| cx.prover.lt(&lo, &hi))
}
