//! Special values in a program: the infinities and NaN that its tensors and variables may contain,
//! given the special values of its inputs.

use super::cx::Cx;
use super::guards::{ArgumentFacts, of_call};
use super::simplify::dtype_of;
use super::state::{AccessCursor, LoweringState};
use super::storage::InputLayout;
use super::tree::TreeTerm;
use crate::notation::{self, Expr, Program, Role, Stmt, Write};
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
        self.typed_expr(program, e).0
    }

    /// Returns the special values of an expression and its dtype, or all special values and `None`
    /// if an operator does not fit its arguments.
    fn typed_expr(&mut self, program: &Program, e: &Expr) -> (Special, Option<DType>) {
        let special = match e {
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
                let (specials, dtypes): (Vec<Special>, Vec<Option<DType>>) =
                    args.iter().map(|arg| self.typed_expr(program, arg)).unzip();
                let dtypes: Option<Vec<DType>> = dtypes.into_iter().collect();
                let Some((dtypes, signature)) = dtypes.and_then(|d| op.signature(&d).ok().map(|s| (d, s))) else {
                    return (Special::ALL, None);
                };
                let fact = |(arg, special)| ArgumentFacts { special, constant: literal(arg) };
                let facts: Vec<ArgumentFacts<'_>> = args.iter().zip(specials).map(fact).collect();
                return (of_call(op, &facts, &dtypes, &signature.result), Some(signature.result));
            }
        };
        (special, notation::dtype_of(program, e).ok())
    }
}

fn literal(e: &Expr) -> Option<&redpoll_logic::Scalar> {
    match e {
        Expr::Literal(value) => Some(value),
        _ => None,
    }
}

/// The known facts of a term and of its arguments.
pub(crate) struct TermFacts<'t> {
    /// The special values of the term, and its value if it is a literal.
    pub(crate) facts: ArgumentFacts<'t>,
    dtype: DType,
    /// The facts of the arguments of a call.
    pub(crate) args: Vec<TermFacts<'t>>,
}

impl<'t> TermFacts<'t> {
    /// Returns the facts of a term.
    pub(crate) fn of(cx: &Cx<'_>, state: &LoweringState, t: &'t TreeTerm) -> TermFacts<'t> {
        let leaf = |special| TermFacts {
            facts: ArgumentFacts { special, constant: t.as_lit() },
            dtype: dtype_of(cx, state, t),
            args: Vec::new(),
        };
        match t {
            TreeTerm::Lit(value) => leaf(Special::of_scalar(value)),
            TreeTerm::Index(_) => leaf(Special::NONE),
            TreeTerm::Var(var) => leaf(cx.special_of_var(*var)),
            TreeTerm::Access(id) => match (&state.access(*id).cursor, state.access(*id).tensor) {
                (AccessCursor::Fill(value), _) => leaf(Special::of_scalar(value)),
                (_, Some(tensor)) => leaf(cx.special(tensor)),
                (_, None) => leaf(Special::NONE),
            },
            TreeTerm::Value(value) if value.dtype.prims().iter().any(|p| p.is_float()) => leaf(Special::ALL),
            TreeTerm::Value(_) => leaf(Special::NONE),
            TreeTerm::Call(op, args) => {
                let args: Vec<TermFacts<'t>> = args.iter().map(|arg| TermFacts::of(cx, state, arg)).collect();
                let dtypes: Vec<DType> = args.iter().map(|arg| arg.dtype.clone()).collect();
                let facts: Vec<ArgumentFacts<'t>> = args.iter().map(|arg| arg.facts).collect();
                let signature = op.signature(&dtypes).expect("the verifier has checked the operator's dtypes");
                let special = of_call(op, &facts, &dtypes, &signature.result);
                TermFacts { facts: ArgumentFacts { special, constant: None }, dtype: signature.result, args }
            }
        }
    }
}
