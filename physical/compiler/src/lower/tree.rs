//! The form of a program during lowering: Notation with a number for every access.
//!
//! The cursor of an access (a fiber, a literal, ..) changes from step to step and differs between
//! branches, so it lives in the [`super::state::LoweringState`]. The tree only records where
//! accesses occur.

use super::value::LoweredValue;
use crate::assembly::Expr as Code;
use crate::notation::{Index, TensorId, Var, Write};
use redpoll_logic::op::Op;
use redpoll_logic::{DType, Scalar};
use std::rc::Rc;

/// The number of an access: an access of the program, or a mask that lowering adds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct AccessId(pub(crate) u32);

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Tree {
    Block(Vec<Tree>),
    Loop { index: Index, lo: TreeTerm, hi: TreeTerm, body: Rc<Tree> },
    If { cond: TreeTerm, body: Rc<Tree> },
    Let { var: Var, value: TreeTerm, body: Rc<Tree> },
    While { cond: TreeTerm, body: Rc<Tree> },
    Where { consumer: Rc<Tree>, producer: Rc<Tree> },
    Declare(TensorId),
    Freeze(TensorId),
    Thaw(TensorId),
    Swap(TensorId, TensorId),
    Assign(Assign),
}

/// An assignment, executed as many times as the product of `repetitions`, each time with the same
/// value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Assign {
    pub(crate) tensor: TensorId,
    pub(crate) lhs: AccessId,
    pub(crate) write: Write,
    pub(crate) rhs: TreeTerm,
    /// The factors, each at least 1; the product of the factors may overflow 64 bits.
    pub(crate) repetitions: Vec<Code>,
}

/// A single action of a statement, for visits in the order of execution.
pub(crate) enum TreeAction<'t> {
    /// The evaluation of a term.
    Term(&'t TreeTerm),
    /// An assignment, after the evaluation of its right side.
    Assign(&'t Assign),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TreeTerm {
    Lit(Scalar),
    Index(Index),
    Var(Var),
    Access(AccessId),
    Call(Op, Vec<TreeTerm>),
    /// A value that has been lowered already.
    Value(LoweredValue),
}

impl Tree {
    /// Returns the statement that does nothing.
    pub(crate) fn empty() -> Tree {
        Tree::Block(Vec::new())
    }

    /// Returns whether the statement does nothing.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Tree::Block(items) if items.is_empty())
    }

    /// Returns the number of loops in the statement.
    pub(crate) fn count_loops(&self) -> u32 {
        match self {
            Tree::Block(items) => items.iter().map(Tree::count_loops).sum(),
            Tree::If { body, .. } | Tree::Let { body, .. } => body.count_loops(),
            Tree::Where { consumer, producer } => consumer.count_loops() + producer.count_loops(),
            Tree::Loop { body, .. } | Tree::While { body, .. } => 1 + body.count_loops(),
            Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Swap(..) | Tree::Assign(_) => 0,
        }
    }

    /// Returns whether the statement contains a loop.
    pub(crate) fn has_loop(&self) -> bool {
        self.count_loops() > 0
    }

    /// Calls `visit` on every outermost term of the statement and of its parts.
    pub(crate) fn for_each_term(&self, visit: &mut dyn FnMut(&TreeTerm)) {
        match self {
            Tree::Block(items) => items.iter().for_each(|t| t.for_each_term(visit)),
            Tree::Loop { lo, hi, body, .. } => {
                visit(lo);
                visit(hi);
                body.for_each_term(visit);
            }
            Tree::If { cond: term, body } | Tree::Let { value: term, body, .. } | Tree::While { cond: term, body } => {
                visit(term);
                body.for_each_term(visit);
            }
            Tree::Where { consumer, producer } => {
                producer.for_each_term(visit);
                consumer.for_each_term(visit);
            }
            Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Swap(..) => {}
            Tree::Assign(a) => visit(&a.rhs),
        }
    }

    /// Calls `visit` on every assignment.
    pub(crate) fn for_each_assign(&self, visit: &mut dyn FnMut(&Assign)) {
        match self {
            Tree::Block(items) => items.iter().for_each(|t| t.for_each_assign(visit)),
            Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } | Tree::While { body, .. } => {
                body.for_each_assign(visit);
            }
            Tree::Where { consumer, producer } => {
                producer.for_each_assign(visit);
                consumer.for_each_assign(visit);
            }
            Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Swap(..) => {}
            Tree::Assign(a) => visit(a),
        }
    }

    /// Calls `visit` on every outermost term and every assignment, in the order in which one round
    /// of each loop executes them.
    pub(crate) fn for_each_action<'t>(&'t self, visit: &mut dyn FnMut(TreeAction<'t>)) {
        match self {
            Tree::Block(items) => items.iter().for_each(|t| t.for_each_action(visit)),
            Tree::Loop { lo, hi, body, .. } => {
                visit(TreeAction::Term(lo));
                visit(TreeAction::Term(hi));
                body.for_each_action(visit);
            }
            Tree::If { cond: term, body } | Tree::Let { value: term, body, .. } | Tree::While { cond: term, body } => {
                visit(TreeAction::Term(term));
                body.for_each_action(visit);
            }
            Tree::Where { consumer, producer } => {
                producer.for_each_action(visit);
                consumer.for_each_action(visit);
            }
            Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Swap(..) => {}
            Tree::Assign(a) => {
                visit(TreeAction::Term(&a.rhs));
                visit(TreeAction::Assign(a));
            }
        }
    }

    /// Returns the accesses in the statement, each once, reads before writes.
    pub(crate) fn accesses(&self) -> Vec<AccessId> {
        let mut found = Vec::new();
        let mut note = |id: AccessId| {
            if !found.contains(&id) {
                found.push(id);
            }
        };
        self.for_each_term(&mut |t| t.for_each_access(&mut note));
        self.for_each_assign(&mut |a| note(a.lhs));
        found
    }

    /// Calls `visit` on every tensor that the statement declares, freezes, thaws or swaps.
    pub(crate) fn for_each_lifecycle(&self, visit: &mut dyn FnMut(TensorId)) {
        match self {
            Tree::Block(items) => items.iter().for_each(|t| t.for_each_lifecycle(visit)),
            Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } | Tree::While { body, .. } => {
                body.for_each_lifecycle(visit);
            }
            Tree::Where { consumer, producer } => {
                producer.for_each_lifecycle(visit);
                consumer.for_each_lifecycle(visit);
            }
            Tree::Declare(t) | Tree::Freeze(t) | Tree::Thaw(t) => visit(*t),
            Tree::Swap(t, u) => {
                visit(*t);
                visit(*u);
            }
            Tree::Assign(_) => {}
        }
    }

    /// Returns the tensors that the statement swaps.
    pub(crate) fn swapped_tensors(&self) -> Vec<TensorId> {
        match self {
            Tree::Block(items) => items.iter().flat_map(Tree::swapped_tensors).collect(),
            Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } | Tree::While { body, .. } => {
                body.swapped_tensors()
            }
            Tree::Where { consumer, producer } => [producer.swapped_tensors(), consumer.swapped_tensors()].concat(),
            Tree::Swap(t, u) => vec![*t, *u],
            Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Assign(_) => Vec::new(),
        }
    }

    /// Returns the tensors whose contents the statement may change: those it assigns, declares or
    /// swaps.
    pub(crate) fn written_tensors(&self) -> Vec<TensorId> {
        let mut written = [self.declared_tensors(), self.swapped_tensors()].concat();
        self.for_each_assign(&mut |a| written.push(a.tensor));
        written
    }

    /// Returns the tensors that the statement declares.
    pub(crate) fn declared_tensors(&self) -> Vec<TensorId> {
        match self {
            Tree::Block(items) => items.iter().flat_map(Tree::declared_tensors).collect(),
            Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } | Tree::While { body, .. } => {
                body.declared_tensors()
            }
            Tree::Where { consumer, producer } => [producer.declared_tensors(), consumer.declared_tensors()].concat(),
            Tree::Declare(t) => vec![*t],
            Tree::Freeze(_) | Tree::Thaw(_) | Tree::Swap(..) | Tree::Assign(_) => Vec::new(),
        }
    }

    /// Returns the statement with every outermost term and every assignment replaced, without
    /// simplification. `assign` takes the assignment with its right side replaced.
    pub(crate) fn map(
        &self,
        term: &mut dyn FnMut(&TreeTerm) -> TreeTerm,
        assign: &mut dyn FnMut(Assign) -> Tree,
    ) -> Tree {
        match self {
            Tree::Block(items) => Tree::Block(items.iter().map(|t| t.map(term, assign)).collect()),
            Tree::Loop { index, lo, hi, body } => {
                Tree::Loop { index: *index, lo: term(lo), hi: term(hi), body: Rc::new(body.map(term, assign)) }
            }
            Tree::If { cond, body } => Tree::If { cond: term(cond), body: Rc::new(body.map(term, assign)) },
            Tree::Let { var, value, body } => {
                Tree::Let { var: *var, value: term(value), body: Rc::new(body.map(term, assign)) }
            }
            Tree::While { cond, body } => Tree::While { cond: term(cond), body: Rc::new(body.map(term, assign)) },
            Tree::Where { consumer, producer } => {
                let producer = Rc::new(producer.map(term, assign));
                Tree::Where { consumer: Rc::new(consumer.map(term, assign)), producer }
            }
            Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Swap(..) => self.clone(),
            Tree::Assign(a) => {
                let rhs = term(&a.rhs);
                assign(Assign { rhs, ..a.clone() })
            }
        }
    }
}

impl TreeTerm {
    /// Calls `visit` on every access in the term.
    pub(crate) fn for_each_access(&self, visit: &mut dyn FnMut(AccessId)) {
        match self {
            TreeTerm::Access(id) => visit(*id),
            TreeTerm::Call(_, args) => args.iter().for_each(|a| a.for_each_access(visit)),
            TreeTerm::Lit(_) | TreeTerm::Index(_) | TreeTerm::Var(_) | TreeTerm::Value(_) => {}
        }
    }

    /// Returns whether `test` is true for the term or any part of the term.
    pub(crate) fn any(&self, test: &mut dyn FnMut(&TreeTerm) -> bool) -> bool {
        test(self) || matches!(self, TreeTerm::Call(_, args) if args.iter().any(|a| a.any(test)))
    }

    /// Returns the term with parts replaced, top down. If `replace` returns `None` for a part, the
    /// arguments of that part are visited.
    pub(crate) fn replace(&self, replace: &mut dyn FnMut(&TreeTerm) -> Option<TreeTerm>) -> TreeTerm {
        match (replace(self), self) {
            (Some(term), _) => term,
            (None, TreeTerm::Call(op, args)) => {
                TreeTerm::Call(op.clone(), args.iter().map(|a| a.replace(replace)).collect())
            }
            (None, _) => self.clone(),
        }
    }

    /// Returns the literal, if the term is one.
    pub(crate) fn as_lit(&self) -> Option<&Scalar> {
        match self {
            TreeTerm::Lit(s) => Some(s),
            _ => None,
        }
    }
}

/// Returns an `i64` literal.
pub(crate) fn int(v: i64) -> TreeTerm {
    TreeTerm::Lit(Scalar::I64(v))
}

/// Returns an `i64` expression as a term.
pub(crate) fn code_term(code: Code) -> TreeTerm {
    TreeTerm::Value(LoweredValue { dtype: DType::I64, parts: vec![code] })
}
