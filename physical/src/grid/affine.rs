//! Positions that rounds of a loop access, as polynomials over loop invariants.
//!
//! Along a list, a position may use the coordinate of the round in place of the loop's variable,
//! since no two rounds have the same coordinate.

use super::known::names;
use crate::assembly::{BinaryOp, Buffer, Expr, Local, Stmt};
use redpoll_logic::Scalar;
use std::collections::{HashMap, HashSet};

/// Maximum number of steps into an expression and the definitions of its locals.
const MOST_STEPS: u32 = 16;

/// A sum of products. A product has factors in a fixed order and an integer coefficient.
#[derive(Clone, PartialEq, Debug, Default)]
struct Sum {
    products: Vec<(Vec<Expr>, i64)>,
}

impl Sum {
    fn constant(c: i64) -> Sum {
        Sum::of(Vec::new(), c)
    }

    fn of(factors: Vec<Expr>, times: i64) -> Sum {
        let mut sum = Sum::default();
        sum.add(factors, times);
        sum
    }

    fn add(&mut self, factors: Vec<Expr>, times: i64) {
        match self.products.iter_mut().find(|(f, _)| *f == factors) {
            Some((_, sum)) => *sum = sum.wrapping_add(times),
            None => self.products.push((factors, times)),
        }
        self.products.retain(|(_, times)| *times != 0);
        self.products.sort_by_cached_key(|(factors, _)| format!("{factors:?}"));
    }

    fn plus(mut self, other: &Sum, times: i64) -> Sum {
        other.products.iter().for_each(|(f, t)| self.add(f.clone(), t.wrapping_mul(times)));
        self
    }

    fn times(&self, other: &Sum) -> Sum {
        let mut product = Sum::default();
        for (f, t) in &self.products {
            for (g, u) in &other.products {
                let mut factors = [&f[..], &g[..]].concat();
                factors.sort_by_cached_key(|e| format!("{e:?}"));
                product.add(factors, t.wrapping_mul(*u));
            }
        }
        product
    }

    /// Splits the sum into the products with a factor and those without it.
    fn split(self, factor: &Expr) -> (Sum, Sum) {
        let (with, without) = self.products.into_iter().partition(|(f, _)| f.contains(factor));
        (Sum { products: with }, Sum { products: without })
    }
}

/// The positions of a round: `stride * by + base`, plus offsets below the stride.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Form {
    /// The variable of the loop, or the coordinate at that position.
    by: Expr,
    stride: Sum,
    base: Sum,
}

/// The context in which positions of a loop are analyzed.
pub(super) struct Forms<'a> {
    var: Local,
    /// An array whose element at the variable is different in each round.
    distinct: Option<Buffer>,
    /// The locals that the body assigns.
    assigned: &'a HashSet<Local>,
    /// The buffers that the body stores into.
    stored: &'a HashSet<Buffer>,
    /// Locals that the body assigns exactly once.
    names: HashMap<Local, &'a Expr>,
    /// The loops around an access, inside the loop in question: variable and bounds.
    around: Vec<(Local, &'a Expr, &'a Expr)>,
}

impl<'a> Forms<'a> {
    pub(super) fn new(
        (var, distinct): (Local, Option<Buffer>),
        body: &'a [Stmt],
        assigned: &'a HashSet<Local>,
        stored: &'a HashSet<Buffer>,
    ) -> Forms<'a> {
        Forms { var, distinct, assigned, stored, names: names(body), around: Vec::new() }
    }

    /// Calls `f` on every access in statements, with its form if it has one, until `f` returns
    /// `false`.
    pub(super) fn each_access(&mut self, body: &'a [Stmt], f: &mut dyn FnMut(Buffer, Option<Form>) -> bool) -> bool {
        body.iter().all(|stmt| self.accesses(stmt, f))
    }

    fn accesses(&mut self, stmt: &'a Stmt, f: &mut dyn FnMut(Buffer, Option<Form>) -> bool) -> bool {
        let inner = match stmt {
            Stmt::Lanes(fold) => Some((fold.var, &fold.lo, &fold.hi)),
            Stmt::For { var, lo, hi, .. } => Some((*var, lo, hi)),
            _ => None,
        };
        // The bounds are analyzed as if inside their loop; they do not mention its variable.
        self.around.extend(inner);
        let mut go_on = true;
        stmt.for_each_expr(&mut |e| {
            e.any(&mut |e| {
                if let Expr::Load { buffer, at } = e {
                    go_on = go_on && f(*buffer, self.form(at));
                }
                !go_on
            });
        });
        if let Stmt::Store { buffer, at, .. } = stmt {
            go_on = go_on && f(*buffer, self.form(at));
        }
        let [first, second] = stmt.bodies();
        go_on = go_on && self.each_access(first, f) && self.each_access(second, f);
        if inner.is_some() {
            self.around.pop();
        }
        go_on
    }

    /// Returns the form of a position; `None` if two rounds may access the same position.
    fn form(&self, at: &Expr) -> Option<Form> {
        let var = Expr::Local(self.var);
        let coordinate = self.distinct.map(|buffer| Expr::Load { buffer, at: Box::new(var.clone()) });
        let sum = self.sum(at, 0)?;
        let is_in = |by: &Expr| sum.products.iter().any(|(factors, _)| factors.contains(by));
        let by = [Some(var), coordinate].into_iter().flatten().find(is_in)?;
        let (mine, rest) = sum.split(&by);
        let [(factors, times)] = &mine.products[..] else { return None };
        let mut factors = factors.clone();
        factors.remove(factors.iter().position(|f| *f == by)?);
        let stride = Sum::of(factors, *times);
        if !self.stays(&stride) {
            return None;
        }
        let base = self.base(rest, &stride)?;
        Some(Form { by, stride, base })
    }

    /// Returns a position without its offset, which is below the stride: the variable of a loop
    /// from 0 up to the stride, or a constant.
    fn base(&self, rest: Sum, stride: &Sum) -> Option<Sum> {
        for (inner, lo, hi) in &self.around {
            let (offset, without) = rest.clone().split(&Expr::Local(*inner));
            if offset.products.is_empty() {
                continue;
            }
            let covers = offset == Sum::of(vec![Expr::Local(*inner)], 1)
                && self.sum(lo, 0)? == Sum::default()
                && self.sum(hi, 0)? == *stride;
            return (covers && self.stays(&without)).then_some(without);
        }
        if !self.stays(&rest) {
            return None;
        }
        let [(factors, stride)] = &stride.products[..] else { return None };
        if !factors.is_empty() {
            // The stride may be 0.
            return None;
        }
        let constant = rest.products.iter().find(|(f, _)| f.is_empty()).map_or(0, |(_, c)| *c);
        Some(rest.plus(&Sum::constant(constant.rem_euclid(stride.saturating_abs())), -1))
    }

    /// Returns whether a sum is invariant in the loop.
    fn stays(&self, sum: &Sum) -> bool {
        let varies = |e: &Expr| {
            e.any(&mut |e| match e {
                Expr::Local(local) => *local == self.var || self.assigned.contains(local),
                Expr::Load { buffer, .. } => self.stored.contains(buffer),
                _ => false,
            })
        };
        !sum.products.iter().any(|(factors, _)| factors.iter().any(varies))
    }

    fn sum(&self, e: &Expr, steps: u32) -> Option<Sum> {
        if steps > MOST_STEPS {
            return None;
        }
        let of = |e: &Expr| self.sum(e, steps + 1);
        Some(match e {
            Expr::Const(Scalar::I64(c)) => Sum::constant(*c),
            Expr::Local(local) if self.names.contains_key(local) => of(self.names[local])?,
            Expr::Binary(BinaryOp::Add, a, b) => of(a)?.plus(&of(b)?, 1),
            Expr::Binary(BinaryOp::Sub, a, b) => of(a)?.plus(&of(b)?, -1),
            Expr::Binary(BinaryOp::Mul, a, b) => of(a)?.times(&of(b)?),
            _ => Sum::of(vec![e.clone()], 1),
        })
    }
}
