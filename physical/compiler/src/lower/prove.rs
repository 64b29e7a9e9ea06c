//! The prover of extents: difference bounds between locals, parameters and constants.
//!
//! A fact is `x - y <= c` for two symbols `x` and `y`. A symbol is zero, or an expression that
//! reads no memory, such as a local or `0 - n`; the prover looks into such an expression only if it
//! is a `min` or `max`. A claim of that form is proved by a shortest path from `x` to `y` in the
//! graph with an edge from `x` to `y` for each fact. Facts are scoped: the facts of a branch are
//! dropped after the branch. A local may occur in a fact only if it does not change while the fact
//! is in scope. An unproved claim costs a guard.

use super::build::{is_register_only, split};
use crate::assembly::{BinaryOp, CompareOp, Expr};
use smallvec::{SmallVec, smallvec};

/// The number of a symbol: 0 for zero, `k + 1` for the symbol `k` of [`Prover::symbols`].
type SymbolId = usize;

/// The facts in scope.
#[derive(Default, Debug)]
pub(crate) struct Prover {
    /// The symbols of the facts, each once.
    symbols: Vec<Expr>,
    /// The facts `x - y <= c`, as `(x, y, c)`.
    facts: Vec<(SymbolId, SymbolId, i64)>,
}

/// The numbers of symbols and facts when a scope was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FactScope {
    symbols: usize,
    facts: usize,
}

impl Prover {
    /// Opens a scope.
    pub(crate) fn open(&self) -> FactScope {
        FactScope { symbols: self.symbols.len(), facts: self.facts.len() }
    }

    /// Drops all facts added since the scope was opened.
    pub(crate) fn close(&mut self, scope: FactScope) {
        self.symbols.truncate(scope.symbols);
        self.facts.truncate(scope.facts);
    }

    /// Adds the fact `a <= b`. If `a` is a `max`, or else if `b` is a `min`, adds a fact for each
    /// argument. Ignores a fact about an expression that reads memory.
    pub(crate) fn assume_le(&mut self, a: &Expr, b: &Expr) {
        if let Expr::Binary(BinaryOp::Max, x, y) = a {
            self.assume_le(x, b);
            self.assume_le(y, b);
        } else if let Expr::Binary(BinaryOp::Min, x, y) = b {
            self.assume_le(a, x);
            self.assume_le(a, y);
        } else if let (Some((x, c)), Some((y, d))) = (linear(a), linear(b)) {
            let (x, y) = (self.intern(x), self.intern(y));
            self.facts.push((x, y, d.saturating_sub(c)));
        }
    }

    /// Adds as facts the comparisons of `i64` by `<` and `<=` that are parts of a conjunction.
    pub(crate) fn assume(&mut self, cond: &Expr) {
        match cond {
            Expr::Binary(BinaryOp::And, a, b) => {
                self.assume(a);
                self.assume(b);
            }
            Expr::Compare(CompareOp::Le, a, b) => self.assume_le(a, b),
            Expr::Compare(CompareOp::Lt, a, b) => self.assume_le(&super::build::plus(a, 1), b),
            _ => {}
        }
    }

    /// Adds `a == b` as facts.
    pub(crate) fn assume_eq(&mut self, a: &Expr, b: &Expr) {
        self.assume_le(a, b);
        self.assume_le(b, a);
    }

    /// Returns whether `a <= b` follows from the facts.
    pub(crate) fn le(&self, a: &Expr, b: &Expr) -> bool {
        match (a, b) {
            (Expr::Binary(BinaryOp::Max, x, y), _) => self.le(x, b) && self.le(y, b),
            (_, Expr::Binary(BinaryOp::Min, x, y)) => self.le(a, x) && self.le(a, y),
            (Expr::Binary(BinaryOp::Min, x, y), _) => self.le(x, b) || self.le(y, b),
            (_, Expr::Binary(BinaryOp::Max, x, y)) => self.le(a, x) || self.le(a, y),
            _ => match (linear(a), linear(b)) {
                (Some((x, c)), Some((y, d))) => self.is_at_most(x, y, d.saturating_sub(c)),
                _ => a == b,
            },
        }
    }

    /// Returns whether `a < b` follows from the facts.
    pub(crate) fn lt(&self, a: &Expr, b: &Expr) -> bool {
        self.le(&super::build::plus(a, 1), b)
    }

    /// Returns whether `a == b` follows from the facts.
    pub(crate) fn eq(&self, a: &Expr, b: &Expr) -> bool {
        a == b || (self.le(a, b) && self.le(b, a))
    }

    /// Returns the number of a symbol of the facts; `None` is zero.
    fn find(&self, symbol: Option<&Expr>) -> Option<SymbolId> {
        match symbol {
            None => Some(0),
            Some(e) => self.symbols.iter().position(|s| s == e).map(|k| k + 1),
        }
    }

    /// Returns the number of a symbol, and adds the symbol if no fact in scope contains it.
    fn intern(&mut self, symbol: Option<&Expr>) -> SymbolId {
        self.find(symbol).unwrap_or_else(|| {
            self.symbols.extend(symbol.cloned());
            self.symbols.len()
        })
    }

    /// Returns whether `x - y <= limit` follows from the facts (Bellman-Ford; there are few facts).
    fn is_at_most(&self, x: Option<&Expr>, y: Option<&Expr>, limit: i64) -> bool {
        if x == y {
            return limit >= 0;
        }
        let (Some(x), Some(y)) = (self.find(x), self.find(y)) else { return false };
        let mut distances: SmallVec<[Option<i64>; 32]> = smallvec![None; self.symbols.len() + 1];
        distances[x] = Some(0);
        for _ in 0..=self.facts.len() {
            let mut changed = false;
            for &(from, to, w) in &self.facts {
                let Some(distance) = distances[from].map(|d| d.saturating_add(w)) else { continue };
                if distances[to].is_none_or(|d| distance < d) {
                    if to == y && distance <= limit {
                        return true;
                    }
                    distances[to] = Some(distance);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        false
    }
}

/// Returns the symbol and constant of an expression of the form `symbol + constant`; `None` if it
/// reads memory.
fn linear(e: &Expr) -> Option<(Option<&Expr>, i64)> {
    let (base, c) = split(e);
    base.is_none_or(is_register_only).then_some((base, c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::build::{int, local, max, min, plus, sub};
    use crate::assembly::{Local, Param};

    #[test]
    fn chains_of_facts_prove_and_scopes_forget() {
        let (i, n, stop) = (local(Local(0)), Expr::Param(Param(0)), local(Local(1)));
        let mut prover = Prover::default();
        prover.assume_le(&int(0), &i);
        prover.assume_le(&plus(&i, 1), &n);
        assert!(prover.lt(&i, &n) && prover.lt(&int(0), &n) && !prover.lt(&int(1), &n));
        let scope = prover.open();
        prover.assume_le(&stop, &min(&n, &plus(&i, 3)));
        assert!(prover.le(&stop, &n) && prover.le(&stop, &plus(&i, 3)) && !prover.le(&stop, &i));
        assert!(prover.le(&min(&stop, &i), &n) && prover.le(&i, &max(&stop, &n)));
        prover.close(scope);
        assert!(!prover.le(&stop, &n));
        let difference = sub(&n, &stop);
        prover.assume_le(&i, &plus(&difference, -2));
        assert!(prover.lt(&int(1), &difference) && !prover.lt(&int(2), &difference));
    }
}
