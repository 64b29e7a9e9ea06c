//! Linear forms of subscripts, `a*i + invariant`, and their conversion from and to expressions.
//!
//! Lowering uses a [`Linear`] to find the loop that resolves a subscript, and the shift and stride.
//! Passes compare subscripts as [`Linear`] forms, so equal sums that are written differently are
//! equal.

use super::{Expr, Index, Var};
use redpoll_logic::Prim;
use redpoll_logic::op::{Builtin, Op};

/// An index or variable in a linear form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atom {
    /// A loop index.
    Index(Index),
    /// A variable.
    Var(Var),
}

/// The form `constant + sum of coefficient * atom`. Terms are sorted by atom and have non-zero
/// coefficients, so two forms compare equal if they have equal values for every assignment of
/// values to the atoms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Linear {
    /// Atoms and their coefficients.
    pub terms: Vec<(Atom, i64)>,
    /// The constant.
    pub constant: i64,
}

impl Atom {
    /// Returns the atom as an expression.
    pub fn to_expr(self) -> Expr {
        match self {
            Atom::Index(i) => Expr::Index(i),
            Atom::Var(v) => Expr::Var(v),
        }
    }
}

impl Expr {
    /// Returns the indices and variables inside, with repetitions.
    pub(crate) fn atoms(&self) -> Vec<Atom> {
        let mut found = Vec::new();
        self.walk(&mut |e| match e {
            Expr::Index(i) => found.push(Atom::Index(*i)),
            Expr::Var(v) => found.push(Atom::Var(*v)),
            _ => {}
        });
        found
    }

    /// Returns whether a variable is inside.
    fn has_vars(&self) -> bool {
        self.atoms().iter().any(|atom| matches!(atom, Atom::Var(_)))
    }
}

impl Linear {
    /// Makes a constant form.
    pub fn constant(constant: i64) -> Linear {
        Linear { terms: Vec::new(), constant }
    }

    /// Makes the form of a single atom.
    pub fn atom(atom: Atom) -> Linear {
        Linear { terms: vec![(atom, 1)], constant: 0 }
    }

    /// Returns `hi - lo` if both are linear forms and their difference is constant; `None`
    /// otherwise, and on overflow.
    pub(crate) fn distance(lo: &Expr, hi: &Expr) -> Option<i64> {
        Linear::of(hi)?.plus(&Linear::of(lo)?.times(-1)?)?.as_constant()
    }

    /// Returns the linear form of an `i64` expression. The expression combines indices, variables
    /// and literals by sums, differences, negations and products with a constant. A cast to `i64`
    /// is allowed around an expression without variables, which is `i64` already. Returns `None` if
    /// the expression is not linear, or folding its constants would overflow.
    pub fn of(expr: &Expr) -> Option<Linear> {
        Linear::of_with(expr, &|v| Linear::atom(Atom::Var(v)))
    }

    /// Returns the linear form like [`Linear::of`], with a form substituted for each variable.
    pub fn of_with(expr: &Expr, vars: &dyn Fn(Var) -> Linear) -> Option<Linear> {
        match expr {
            Expr::Literal(_) => expr.as_int().map(Linear::constant),
            Expr::Index(i) => Some(Linear::atom(Atom::Index(*i))),
            Expr::Var(v) => Some(vars(*v)),
            Expr::Access(_) | Expr::Call(Op::User(_), _) => None,
            // Casts of variables may round, saturate, or widen a sum that has wrapped around.
            Expr::Call(Op::Builtin(Builtin::Cast(_)), args) if args.iter().any(Expr::has_vars) => None,
            Expr::Call(Op::Builtin(op), args) => {
                let mut args = args.iter().map(|a| Linear::of_with(a, vars)).collect::<Option<Vec<_>>>()?.into_iter();
                let first = args.next()?;
                match op {
                    Builtin::Add => args.try_fold(first, |sum, a| sum.plus(&a)),
                    Builtin::Sub => first.plus(&args.next()?.times(-1)?),
                    Builtin::Mul => args.try_fold(first, |product, a| product.multiply(&a)),
                    Builtin::Neg => first.times(-1),
                    Builtin::Cast(Prim::I64) => Some(first),
                    _ => None,
                }
            }
        }
    }

    /// Returns the sum; `None` on overflow.
    pub fn plus(&self, other: &Linear) -> Option<Linear> {
        let mut sum = Linear { terms: self.terms.clone(), constant: self.constant.checked_add(other.constant)? };
        for (atom, c) in &other.terms {
            match sum.terms.binary_search_by(|(a, _)| a.cmp(atom)) {
                Ok(at) => sum.terms[at].1 = sum.terms[at].1.checked_add(*c)?,
                Err(at) => sum.terms.insert(at, (*atom, *c)),
            }
        }
        sum.terms.retain(|(_, c)| *c != 0);
        Some(sum)
    }

    /// Returns the form times a constant; `None` on overflow.
    pub fn times(&self, factor: i64) -> Option<Linear> {
        if factor == 0 {
            return Some(Linear::constant(0));
        }
        let terms = self.terms.iter().map(|(a, c)| Some((*a, c.checked_mul(factor)?))).collect::<Option<_>>()?;
        Some(Linear { terms, constant: self.constant.checked_mul(factor)? })
    }

    fn multiply(&self, other: &Linear) -> Option<Linear> {
        match (self.as_constant(), other.as_constant()) {
            (_, Some(c)) => self.times(c),
            (Some(c), _) => other.times(c),
            _ => None,
        }
    }

    /// Returns the constant if the form has no atoms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Returns the index if the form is an index alone.
    pub fn as_index(&self) -> Option<Index> {
        match self.terms[..] {
            [(Atom::Index(i), 1)] if self.constant == 0 => Some(i),
            _ => None,
        }
    }

    /// Returns the coefficient of an atom; 0 if it does not occur.
    pub fn coefficient(&self, atom: Atom) -> i64 {
        self.terms.iter().find(|(a, _)| *a == atom).map_or(0, |(_, c)| *c)
    }

    /// Returns the form without its term of `atom`.
    pub fn without(&self, atom: Atom) -> Linear {
        Linear { terms: self.terms.iter().copied().filter(|(a, _)| *a != atom).collect(), constant: self.constant }
    }

    /// Returns the term whose atom has the greatest `depth`; `None` for a constant form.
    pub fn deepest<D: Ord>(&self, depth: &dyn Fn(Atom) -> D) -> Option<(Atom, i64)> {
        self.terms.iter().copied().max_by_key(|(a, _)| depth(*a))
    }

    /// Returns the form as an expression, terms by descending `depth`, the constant last: `i`, `3`,
    /// `(+ i 1)`, `(+ ii (* 4 io) 2)`.
    pub fn to_expr<D: Ord>(&self, depth: &dyn Fn(Atom) -> D) -> Expr {
        let mut terms = self.terms.clone();
        terms.sort_by_key(|(a, _)| std::cmp::Reverse(depth(*a)));
        let mut parts: Vec<Expr> = terms
            .into_iter()
            .map(|(a, c)| if c == 1 { a.to_expr() } else { Expr::call(Builtin::Mul, [Expr::int(c), a.to_expr()]) })
            .collect();
        if self.constant != 0 || parts.is_empty() {
            parts.push(Expr::int(self.constant));
        }
        match parts.len() {
            1 => parts.swap_remove(0),
            _ => Expr::call(Builtin::Add, parts),
        }
    }
}
