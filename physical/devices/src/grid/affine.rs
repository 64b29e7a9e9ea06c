//! Positions that rounds of a loop access, as polynomials over the loop's variable and loop
//! invariants.
//!
//! Along a list, a position may use the coordinate of the round in place of the loop's variable,
//! since no two rounds have the same coordinate.

use super::constants::definitions;
use redpoll_compiler::assembly::{BinaryOp, Buffer, Expr, Local, Stmt};
use redpoll_logic::Scalar;
use std::collections::{HashMap, HashSet};

/// Maximum depth of the analysis of an expression, counting the definitions of its locals.
const MAX_STEPS: u32 = 16;

/// A sum of products. A product has factors in a fixed order and an integer coefficient.
#[derive(Clone, PartialEq, Debug, Default)]
struct Polynomial {
    products: Vec<(Vec<Expr>, i64)>,
}

impl Polynomial {
    fn constant(c: i64) -> Polynomial {
        Polynomial::of(Vec::new(), c)
    }

    fn of(factors: Vec<Expr>, times: i64) -> Polynomial {
        let mut sum = Polynomial::default();
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

    fn plus(mut self, other: &Polynomial, times: i64) -> Polynomial {
        other.products.iter().for_each(|(f, t)| self.add(f.clone(), t.wrapping_mul(times)));
        self
    }

    fn times(&self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial::default();
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
    fn split(self, factor: &Expr) -> (Polynomial, Polynomial) {
        let (with, without) = self.products.into_iter().partition(|(f, _)| f.contains(factor));
        (Polynomial { products: with }, Polynomial { products: without })
    }
}

/// The positions of a round: `stride * index + base`, plus offsets that are at least 0 and below
/// the absolute value of the stride.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PositionForm {
    /// The variable of the loop, or the coordinate that is loaded at the variable.
    index: Expr,
    stride: Polynomial,
    base: Polynomial,
}

/// The analysis of the positions that a loop accesses.
pub(super) struct FormAnalysis<'a> {
    var: Local,
    /// An array whose element at the variable is different in each round.
    coordinates: Option<Buffer>,
    /// The locals that the body assigns.
    assigned: &'a HashSet<Local>,
    /// The buffers that the body stores into, other than by atomic operations and appends.
    stored: &'a HashSet<Buffer>,
    /// Locals that the body assigns exactly once, by a plain assignment, with their values.
    definitions: HashMap<Local, &'a Expr>,
    /// The variables and bounds of the loops around an access, inside the analyzed loop.
    enclosing: Vec<(Local, &'a Expr, &'a Expr)>,
}

impl<'a> FormAnalysis<'a> {
    pub(super) fn new(
        (var, coordinates): (Local, Option<Buffer>),
        body: &'a [Stmt],
        assigned: &'a HashSet<Local>,
        stored: &'a HashSet<Buffer>,
    ) -> FormAnalysis<'a> {
        FormAnalysis { var, coordinates, assigned, stored, definitions: definitions(body), enclosing: Vec::new() }
    }

    /// Calls `f` on the accesses of statements until `f` returns `false`. Each call gets the array,
    /// and the form of the position if the position has one. Returns whether `f` accepted all
    /// accesses.
    pub(super) fn all_accesses(
        &mut self,
        body: &'a [Stmt],
        f: &mut dyn FnMut(Buffer, Option<PositionForm>) -> bool,
    ) -> bool {
        body.iter().all(|stmt| self.all_accesses_of(stmt, f))
    }

    fn all_accesses_of(&mut self, stmt: &'a Stmt, f: &mut dyn FnMut(Buffer, Option<PositionForm>) -> bool) -> bool {
        let inner = match stmt {
            Stmt::Lanes(fold) => Some((fold.var, &fold.lo, &fold.hi)),
            Stmt::For { var, lo, hi, .. } => Some((*var, lo, hi)),
            _ => None,
        };
        // The bounds are analyzed as if inside their loop. This is safe: if a bound mentions the
        // variable of the loop, positions with that variable have no form.
        self.enclosing.extend(inner);
        let mut accepted = true;
        stmt.for_each_expr(&mut |e| {
            e.any(&mut |e| {
                if let Expr::Load { buffer, at } = e {
                    accepted = accepted && f(*buffer, self.form(at));
                }
                !accepted
            });
        });
        if let Stmt::Store { buffer, at, .. } = stmt {
            accepted = accepted && f(*buffer, self.form(at));
        }
        let [first, second] = stmt.bodies();
        accepted = accepted && self.all_accesses(first, f) && self.all_accesses(second, f);
        if inner.is_some() {
            self.enclosing.pop();
        }
        accepted
    }

    /// Returns the form of a position; `None` if no form proves that different rounds access
    /// different positions.
    fn form(&self, at: &Expr) -> Option<PositionForm> {
        let var = Expr::Local(self.var);
        let coordinates = self.coordinates.filter(|buffer| !self.stored.contains(buffer));
        let coordinate = coordinates.map(|buffer| Expr::Load { buffer, at: Box::new(var.clone()) });
        let sum = self.sum(at, 0)?;
        let is_in = |index: &Expr| sum.products.iter().any(|(factors, _)| factors.contains(index));
        let index = [Some(var), coordinate].into_iter().flatten().find(is_in)?;
        let (with_index, rest) = sum.split(&index);
        let [(factors, times)] = &with_index.products[..] else { return None };
        let mut factors = factors.clone();
        factors.remove(factors.iter().position(|f| *f == index)?);
        let stride = Polynomial::of(factors, *times);
        if !self.is_invariant(&stride) {
            return None;
        }
        let base = self.base(rest, &stride)?;
        Some(PositionForm { index, stride, base })
    }

    /// Returns the base of a position, which is `rest` without an offset; `rest` is the position
    /// without the product that contains the index. If `rest` contains the variable of a loop
    /// inside the analyzed loop, the offset is this variable, which must run over `0..stride`.
    /// Otherwise the stride must be a constant, and the offset is the remainder of the constant in
    /// `rest` by the stride. Returns `None` if a condition is not met, or if the base varies in the
    /// analyzed loop.
    fn base(&self, rest: Polynomial, stride: &Polynomial) -> Option<Polynomial> {
        for (inner, lo, hi) in &self.enclosing {
            let (offset, without) = rest.clone().split(&Expr::Local(*inner));
            if offset.products.is_empty() {
                continue;
            }
            let covers = offset == Polynomial::of(vec![Expr::Local(*inner)], 1)
                && self.sum(lo, 0)? == Polynomial::default()
                && self.sum(hi, 0)? == *stride;
            return (covers && self.is_invariant(&without)).then_some(without);
        }
        if !self.is_invariant(&rest) {
            return None;
        }
        let [(factors, stride)] = &stride.products[..] else { return None };
        if !factors.is_empty() {
            // The stride may be 0.
            return None;
        }
        let constant = rest.products.iter().find(|(f, _)| f.is_empty()).map_or(0, |(_, c)| *c);
        Some(rest.plus(&Polynomial::constant(constant.rem_euclid(stride.saturating_abs())), -1))
    }

    /// Returns whether a sum is invariant in the loop.
    fn is_invariant(&self, sum: &Polynomial) -> bool {
        let varies = |e: &Expr| {
            e.any(&mut |e| match e {
                Expr::Local(local) => *local == self.var || self.assigned.contains(local),
                Expr::Load { buffer, .. } => self.stored.contains(buffer),
                _ => false,
            })
        };
        !sum.products.iter().any(|(factors, _)| factors.iter().any(varies))
    }

    fn sum(&self, e: &Expr, steps: u32) -> Option<Polynomial> {
        if steps > MAX_STEPS {
            return None;
        }
        let of = |e: &Expr| self.sum(e, steps + 1);
        Some(match e {
            Expr::Const(Scalar::I64(c)) => Polynomial::constant(*c),
            Expr::Local(local) if self.definitions.contains_key(local) => of(self.definitions[local])?,
            Expr::Binary(BinaryOp::Add, a, b) => of(a)?.plus(&of(b)?, 1),
            Expr::Binary(BinaryOp::Sub, a, b) => of(a)?.plus(&of(b)?, -1),
            Expr::Binary(BinaryOp::Mul, a, b) => of(a)?.times(&of(b)?),
            _ => Polynomial::of(vec![e.clone()], 1),
        })
    }
}
