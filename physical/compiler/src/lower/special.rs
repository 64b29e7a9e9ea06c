//! Special values in a program: the infinities and NaN that its tensors and variables may contain,
//! given the special values of its inputs.

use super::cx::Cx;
use super::guards::{ArgumentFacts, of_call};
use super::simplify::dtype_of;
use super::state::{AccessCursor, LoweringState};
use super::storage::InputLayout;
use super::tree::TreeTerm;
use crate::notation::{self, Expr, Program, Role, Stmt, Write};
use redpoll_logic::op::Op;
use redpoll_logic::{DType, Prim, Special};

/// The special values that each tensor and each variable may contain.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Specials {
    pub(crate) tensors: Vec<Special>,
    pub(crate) vars: Vec<Special>,
}

impl Specials {
    /// Propagates the special values of inputs through the program to a fixed point.
    pub(crate) fn of(program: &Program, layouts: &[Option<InputLayout>]) -> Specials {
        let tensors = program.tensors.iter().enumerate().map(|(k, decl)| {
            let given = layouts.get(k).and_then(Option::as_ref).filter(|_| decl.role == Role::Input);
            Special::of_scalar(&decl.ty.fill).union(given.map_or(Special::NONE, |layout| layout.special))
        });
        let mut specials = Specials { tensors: tensors.collect(), vars: vec![Special::NONE; program.vars.len()] };
        let dtypes = program.tensors.iter().map(|t| &t.ty.dtype).chain(program.vars.iter().map(|(_, dtype)| dtype));
        if !dtypes.flat_map(DType::prims).any(Prim::is_float) {
            return specials;
        }
        loop {
            let before = specials.clone();
            program.body.walk(&mut |stmt| specials.stmt(program, stmt));
            if specials == before {
                return specials;
            }
        }
    }

    fn stmt(&mut self, program: &Program, stmt: &Stmt) {
        match stmt {
            Stmt::Assign { lhs, write, rhs } => {
                let value = ArgumentFacts { special: self.expr(program, rhs), constant: literal(rhs) };
                let to = lhs.tensor.index();
                let before = ArgumentFacts { special: self.tensors[to], constant: None };
                let written = match write {
                    Write::Init | Write::Overwrite => value.special,
                    Write::Fold(op) => {
                        let dtype = &program.tensors[to].ty.dtype;
                        let value = ArgumentFacts { constant: None, ..value };
                        of_call(op, &[before, value], &[dtype.clone(), dtype.clone()], dtype).union(value.special)
                    }
                };
                self.tensors[to] = before.special.union(written);
            }
            Stmt::Let { var, value, .. } => {
                let special = self.expr(program, value);
                self.vars[var.index()] = self.vars[var.index()].union(special);
            }
            Stmt::Swap(a, b) => {
                let both = self.tensors[a.index()].union(self.tensors[b.index()]);
                self.tensors[a.index()] = both;
                self.tensors[b.index()] = both;
            }
            _ => {}
        }
    }

    fn expr(&mut self, program: &Program, e: &Expr) -> Special {
        match e {
            Expr::Literal(value) => Special::of_scalar(value),
            Expr::Index(_) => Special::NONE,
            Expr::Var(var) => self.vars[var.index()],
            Expr::Access(access) => {
                // After an access is resolved, lowering cannot distinguish reads out of bounds from
                // other reads. So the values that are read out of bounds count as values of the
                // tensor.
                let outside = access.subscripts.iter().filter_map(|s| s.outside.as_ref());
                let outside = outside.fold(Special::NONE, |set, value| set.union(Special::of_scalar(value)));
                let of = &mut self.tensors[access.tensor.index()];
                *of = of.union(outside);
                *of
            }
            Expr::Call(op, args) => {
                let specials: Vec<Special> = args.iter().map(|arg| self.expr(program, arg)).collect();
                let dtypes: Option<Vec<DType>> = args.iter().map(|arg| notation::dtype_of(program, arg).ok()).collect();
                let facts =
                    args.iter().zip(specials).map(|(arg, special)| ArgumentFacts { special, constant: literal(arg) });
                dtypes.map_or(Special::ALL, |dtypes| special_of_call(op, &facts.collect::<Vec<_>>(), &dtypes))
            }
        }
    }
}

fn literal(e: &Expr) -> Option<&redpoll_logic::Scalar> {
    match e {
        Expr::Literal(value) => Some(value),
        _ => None,
    }
}

fn special_of_call(op: &Op, facts: &[ArgumentFacts<'_>], dtypes: &[DType]) -> Special {
    op.signature(dtypes).map_or(Special::ALL, |signature| of_call(op, facts, dtypes, &signature.result))
}

/// Returns the known facts of a term: its special values, and its value if it is a literal.
pub(crate) fn argument_facts<'t>(cx: &Cx<'_>, state: &LoweringState, t: &'t TreeTerm) -> ArgumentFacts<'t> {
    let special = match t {
        TreeTerm::Lit(value) => return ArgumentFacts { special: Special::of_scalar(value), constant: Some(value) },
        TreeTerm::Index(_) => Special::NONE,
        TreeTerm::Var(var) => cx.special_of_var(*var),
        TreeTerm::Access(id) => match (&state.access(*id).cursor, state.access(*id).tensor) {
            (AccessCursor::Fill(value), _) => Special::of_scalar(value),
            (_, Some(tensor)) => cx.special(tensor),
            (_, None) => Special::NONE,
        },
        TreeTerm::Value(value) if value.dtype.prims().iter().any(|p| p.is_float()) => Special::ALL,
        TreeTerm::Value(_) => Special::NONE,
        TreeTerm::Call(op, args) => {
            let dtypes: Vec<DType> = args.iter().map(|arg| dtype_of(cx, state, arg)).collect();
            special_of_call(op, &args.iter().map(|arg| argument_facts(cx, state, arg)).collect::<Vec<_>>(), &dtypes)
        }
    };
    ArgumentFacts { special, constant: None }
}
