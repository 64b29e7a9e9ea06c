//! The start of lowering: replaces every access of Notation with a numbered access, whose cursor is
//! the root of its tensor. A loop bound that equals a size, or is slightly less than a size,
//! becomes an expression of the parameter for that size.

use super::cx::Cx;
use super::state::{AccessState, LoweredSubscript, LoweringState, SubscriptCheck};
use super::storage::{FunctionTables, ParamSource};
use super::tree::{AccessId, Assign, Tree, TreeTerm, code_term, int};
use crate::assembly::build::plus;
use crate::assembly::{Expr as Code, Param};
use crate::notation::{Access, Bounds, Expr, Index, Program, Stmt};
use redpoll_logic::Scalar;
use std::rc::Rc;

/// The largest difference between a size and a loop bound that is derived from the size.
const MAX_MARGIN: u64 = 16;
/// The smallest bound that becomes a larger size minus a constant. A smaller bound that is not a
/// size itself stays a constant, because its loop may be unrolled.
const MIN_BOUND: u64 = 64;

/// Converts the program of the context to a tree and a state.
pub(crate) fn convert(cx: &Cx<'_>, tables: &FunctionTables) -> (LoweringState, Tree) {
    let mut conversion = Conversion { cx, tables, state: LoweringState::default() };
    let program: &Program = cx.program;
    let tree = conversion.stmt(&program.body);
    (conversion.state, tree)
}

struct Conversion<'a, 'p> {
    cx: &'a Cx<'p>,
    tables: &'a FunctionTables,
    state: LoweringState,
}

impl Conversion<'_, '_> {
    fn stmt(&mut self, stmt: &Stmt) -> Tree {
        match stmt {
            Stmt::Block(items) => Tree::Block(items.iter().map(|s| self.stmt(s)).collect()),
            Stmt::For { index, extent, body, .. } => {
                let (lo, hi) = extent.as_ref().expect("in normal form every loop has an extent");
                let (lo, hi) = (self.bound(*index, lo), self.bound(*index, hi));
                Tree::Loop { index: *index, lo, hi, body: Rc::new(self.stmt(body)) }
            }
            Stmt::If { cond, body } => Tree::If { cond: self.term(cond), body: Rc::new(self.stmt(body)) },
            Stmt::Let { var, value, body } => {
                Tree::Let { var: *var, value: self.term(value), body: Rc::new(self.stmt(body)) }
            }
            Stmt::While { cond, body } => Tree::While { cond: self.term(cond), body: Rc::new(self.stmt(body)) },
            Stmt::Where { consumer, producer } => {
                let producer = Rc::new(self.stmt(producer));
                Tree::Where { consumer: Rc::new(self.stmt(consumer)), producer }
            }
            Stmt::Declare(t) => Tree::Declare(*t),
            Stmt::Freeze(t) => Tree::Freeze(*t),
            Stmt::Thaw(t) => Tree::Thaw(*t),
            Stmt::Swap(t, u) => Tree::Swap(*t, *u),
            Stmt::Assign { lhs, write, rhs } => Tree::Assign(Assign {
                tensor: lhs.tensor,
                lhs: self.access(lhs, true),
                write: write.clone(),
                rhs: self.term(rhs),
                repetitions: Vec::new(),
            }),
        }
    }

    /// Converts a bound of a loop. A literal above 1 that is the size of a storage mode becomes the
    /// parameter for that size. A large literal that is slightly less than a size becomes the
    /// parameter minus a constant, so that loops that leave out margins, as in a stencil, share
    /// code for all sizes. If several sizes are equal, the parameter is the one named after the
    /// index of the loop, or else the first.
    fn bound(&mut self, index: Index, e: &Expr) -> TreeTerm {
        let Expr::Literal(Scalar::I64(n)) = e else { return self.term(e) };
        let margin = |p: &ParamSource| match *p {
            ParamSource::Dimension(size) if *n > 1 && size >= *n as u64 => Some(size - *n as u64),
            _ => None,
        };
        let name = self.tables.size_names.as_ref().map(|names| names.of_loop(index));
        let is_other = |k: usize| name.is_some_and(|name| self.tables.names[k] != name);
        let margins = self.tables.params.iter().enumerate().filter_map(|(k, p)| Some((margin(p)?, is_other(k), k)));
        match margins.min() {
            Some((margin, _, k)) if margin <= MAX_MARGIN && (margin == 0 || *n as u64 >= MIN_BOUND) => {
                code_term(plus(&Code::Param(Param(k as u32)), -(margin as i64)))
            }
            _ => int(*n),
        }
    }

    fn term(&mut self, e: &Expr) -> TreeTerm {
        match e {
            Expr::Literal(value) => TreeTerm::Lit(value.clone()),
            Expr::Index(i) => TreeTerm::Index(*i),
            Expr::Var(v) => TreeTerm::Var(*v),
            Expr::Access(access) => TreeTerm::Access(self.access(access, false)),
            Expr::Call(op, args) => TreeTerm::Call(op.clone(), args.iter().map(|a| self.term(a)).collect()),
        }
    }

    fn access(&mut self, access: &Access, writes: bool) -> AccessId {
        let subscripts = access
            .subscripts
            .iter()
            .enumerate()
            .map(|(mode, s)| {
                let check = match &s.bounds {
                    _ if s.outside.is_some() => SubscriptCheck::Proved,
                    Bounds::Proved => SubscriptCheck::Proved,
                    Bounds::Guarded => SubscriptCheck::Guarded,
                    Bounds::Checked(site) => SubscriptCheck::Checked(self.cx.check_number(access.tensor, mode, site)),
                };
                LoweredSubscript { at: self.term(&s.at), protocol: s.protocol, outside: s.outside.clone(), check }
            })
            .collect();
        let cursor = self.cx.root(access.tensor);
        self.state.intern(AccessState { tensor: Some(access.tensor), subscripts: Rc::new(subscripts), writes, cursor })
    }
}
