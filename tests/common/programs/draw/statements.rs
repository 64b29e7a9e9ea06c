//! Random statements, as text.

use super::Usage;
use super::tensors::Draw;
use redpoll_logic::{DType, Prim};
use std::collections::BTreeSet;

/// A variable in scope.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) prim: Prim,
    /// Half-open bounds of a variable that is a coordinate.
    pub(super) bounds: Option<(i64, i64)>,
}

/// The names and tensors that a statement may use.
#[derive(Clone, Default, Debug)]
pub(super) struct Scope {
    /// Enclosing loops, outermost first, with the half-open bounds of their indices.
    pub(super) loops: Vec<(String, i64, i64)>,
    pub(super) vars: Vec<Variable>,
    /// Tensors that may be read.
    pub(super) reads: BTreeSet<usize>,
    pub(super) writes: BTreeSet<usize>,
    /// Preferred target of assignments: a tensor, and the text of its access.
    pub(super) home: Option<(usize, String)>,
    /// The tensor that reads prefer.
    pub(super) favourite: Option<usize>,
    /// The target of the current assignment, which the value and the subscripts must not read.
    pub(super) forbidden: Option<usize>,
    /// Number of enclosing statements.
    pub(super) depth: usize,
    /// Number of enclosing `while` statements.
    pub(super) whiles: usize,
}

impl Scope {
    pub(super) fn is_input(&self, draw: &Draw<'_>, tensor: usize) -> bool {
        draw.tensors[tensor].usage == Usage::Input
    }

    pub(super) fn favours(&self, tensor: usize) -> bool {
        self.favourite == Some(tensor)
    }

    pub(super) fn within(&self, index: (String, i64, i64)) -> Scope {
        let mut inner = self.clone();
        inner.loops.push(index);
        inner.depth += 1;
        inner
    }

    pub(super) fn deeper(&self) -> Scope {
        Scope { depth: self.depth + 1, ..self.clone() }
    }
}

/// Largest depth of the loops that [`Draw::statement`] draws.
const DEEPEST: usize = 3;

impl Draw<'_> {
    /// Draws one to three statements.
    pub(super) fn body(&mut self, scope: &Scope) -> String {
        let count = 1 + self.rng.index(3).min(self.budget as usize);
        let statements: Vec<String> = (0..count).map(|_| self.statement(scope)).filter(|s| !s.is_empty()).collect();
        match statements.is_empty() {
            true => self.assignment(scope).unwrap_or_else(|| "(block)".to_owned()),
            false => statements.join(" "),
        }
    }

    /// Draws a statement; empty if no tensor can be written.
    pub(super) fn statement(&mut self, scope: &Scope) -> String {
        self.budget = self.budget.saturating_sub(1);
        let room = self.budget > 0 && scope.depth < 5;
        let kind = self.rng.below(100);
        let loops = if scope.loops.is_empty() { 70 } else { 30 };
        let made = match kind {
            k if k < loops && room && scope.loops.len() < DEEPEST => Some(self.a_loop(scope)),
            k if k < loops => self.assignment(scope),
            70..=79 if room => {
                let condition = self.condition(scope, 1);
                Some(format!("(if {condition} {})", self.body(&scope.deeper())))
            }
            80..=88 if room => Some(self.binding(scope)),
            89..=91 if room && scope.whiles < 2 => Some(self.turns(scope)),
            92..=95 if room => Some(self.workspace(scope)),
            _ => self.assignment(scope),
        };
        made.or_else(|| self.assignment(scope)).unwrap_or_default()
    }

    fn a_loop(&mut self, scope: &Scope) -> String {
        let index = self.fresh('i');
        let (range, lo, hi) = self.range(scope);
        let inner = scope.within((index.clone(), lo, hi));
        let body = self.body(&inner);
        format!("(for {index} {range} {body})")
    }

    /// Draws a range; returns its text and the half-open bounds of its coordinates.
    pub(super) fn range(&mut self, scope: &Scope) -> (String, i64, i64) {
        let n = self.any_size() as i64;
        let at = self.rng.below(n as u64 + 1) as i64;
        let text = |lo: String, hi: String| format!("(range {lo} {hi})");
        let fits: Vec<_> = scope.loops.iter().filter(|(_, lo, hi)| lo < hi && *lo >= 0 && *hi <= 8).cloned().collect();
        let outer = (!fits.is_empty()).then(|| self.rng.pick(&fits).clone());
        match (self.rng.below(24), outer) {
            (0..=11, _) => (text("0".into(), n.to_string()), 0, n),
            (12 | 13, _) => {
                let to = at + self.rng.below((n - at) as u64 + 1) as i64;
                (text(at.to_string(), to.to_string()), at, to)
            }
            (14, _) if at < n => (text(at.to_string(), (at + 1).to_string()), at, at + 1),
            (15, _) => (text(at.to_string(), at.to_string()), at, at),
            (16, Some((i, lo, _))) => (text(i, n.to_string()), lo, n),
            (17, Some((i, _, hi))) => (text("0".into(), format!("(+ {i} 1)")), 0, hi),
            (18, Some((i, lo, hi))) => (text(i.clone(), format!("(+ {i} 1)")), lo, hi),
            (19, Some((i, lo, hi))) => {
                let (lo, hi) = ((lo - 1).max(0), (hi + 1).min(n).max(0));
                (text(format!("(max 0 (- {i} 1))"), format!("(min {n} (+ {i} 2))")), lo, hi)
            }
            (20, Some((i, lo, hi))) => (text("0".into(), format!("(min {n} {i})")), 0, (hi - 1).min(n).max(lo.min(0))),
            (21 | 22, _) => match (self.gather(scope, 8), self.gather(scope, 8)) {
                (Some(a), Some(b)) if self.rng.chance(50) => (text(a, b), 0, 8),
                (Some(a), _) if self.rng.chance(50) => (text(a.clone(), format!("(+ {a} 1)")), 0, 8),
                (Some(a), _) => (text("0".into(), a), 0, 8),
                _ => (text("0".into(), n.to_string()), 0, n),
            },
            (23, _) => {
                let e = self.expr(scope, Prim::I64, 1);
                (text("0".into(), format!("(min {n} {e})")), 0, n)
            }
            _ => (text("0".into(), n.to_string()), 0, n),
        }
    }

    fn binding(&mut self, scope: &Scope) -> String {
        let name = self.fresh('v');
        let (value, prim, bounds) = self.value(scope);
        let mut inner = scope.deeper();
        inner.vars.push(Variable { name: name.clone(), prim, bounds });
        let body = self.body(&inner);
        format!("(let {name} {value} {body})")
    }

    fn value(&mut self, scope: &Scope) -> (String, Prim, Option<(i64, i64)>) {
        let n = self.any_size().max(1) as i64;
        if let (0..=3, Some(read)) = (self.rng.below(10), self.gather(scope, n as u64)) {
            return (read, Prim::I64, Some((0, n)));
        }
        match self.rng.below(8) {
            0 | 1 => {
                let e = self.expr(scope, Prim::I64, 1);
                (format!("(max 0 (min {} {e}))", n - 1), Prim::I64, Some((0, n)))
            }
            2 => {
                let e = self.expr(scope, Prim::I64, 1);
                (format!("(rem {e} {n})"), Prim::I64, Some((0, n)))
            }
            _ => {
                let prim = *self.rng.pick(&[Prim::F64, Prim::I64, Prim::Bool, Prim::I64]);
                // Without the cast, a constant would take the dtype of its context.
                (format!("(cast-{prim} {})", self.expr(scope, prim, 2)), prim, None)
            }
        }
    }

    /// Draws an assignment to a tensor that the scope may write; `None` if there is none.
    pub(super) fn assignment(&mut self, scope: &Scope) -> Option<String> {
        let home = scope.home.clone().filter(|_| self.rng.chance(65));
        let (tensor, place) = match home {
            Some(home) => home,
            None => {
                let among: Vec<usize> = scope.writes.iter().copied().filter(|t| !self.at_one_place(*t)).collect();
                if among.is_empty() {
                    return scope.home.clone().map(|(tensor, place)| self.assign(scope, tensor, &place));
                }
                let tensor = *self.rng.pick(&among);
                (tensor, self.place(scope, tensor)?)
            }
        };
        Some(self.assign(scope, tensor, &place))
    }

    /// Returns whether all writes of a tensor use one access.
    fn at_one_place(&self, tensor: usize) -> bool {
        let tensor = &self.tensors[tensor];
        tensor.once || tensor.usage == Usage::Appended
    }

    fn place(&mut self, scope: &Scope, tensor: usize) -> Option<String> {
        let inner = Scope { forbidden: Some(tensor), reads: without(&scope.reads, tensor), ..scope.clone() };
        let (name, shape) = (self.tensors[tensor].name.clone(), self.tensors[tensor].shape.clone());
        if shape.is_empty() {
            return Some(name);
        }
        let mut text = name;
        for (mode, n) in shape.iter().enumerate() {
            text += &format!(" {}", self.inside(&inner, *n, mode)?);
        }
        Some(format!("({text})"))
    }

    /// Draws an assignment to the given access.
    pub(super) fn assign(&mut self, scope: &Scope, tensor: usize, place: &str) -> String {
        let scope = &Scope { forbidden: Some(tensor), reads: without(&scope.reads, tensor), ..scope.clone() };
        let (dtype, once) = (self.tensors[tensor].dtype.clone(), self.tensors[tensor].once);
        let DType::Prim(prim) = dtype else {
            let op = if self.rng.chance(70) { "minby=" } else { "maxby=" };
            let coordinate = match scope.loops.last() {
                Some((index, ..)) if self.rng.chance(70) => index.clone(),
                _ => self.expr(scope, Prim::I64, 1),
            };
            let depth = self.rng.index(3);
            return format!("({op} {place} (pair {} {coordinate}))", self.expr(scope, Prim::F64, depth));
        };
        let depth = self.rng.index(3);
        let value = self.expr(scope, prim, depth);
        let op = match (self.rng.below(24), prim) {
            _ if once => "init",
            (0..=6, _) => "=",
            (7..=10, Prim::Bool) => "or=",
            (11 | 12, Prim::Bool) => "and=",
            (13 | 14, Prim::Bool) => "xor=",
            (15, Prim::Bool) => "choose=",
            (_, Prim::Bool) => "=",
            (7..=14, _) => "+=",
            (15 | 16, _) => "min=",
            (17 | 18, _) => "max=",
            (19, _) => "choose=",
            (20, _) => "-=",
            (21 | 22, _) => {
                let factor = self.small(prim);
                return format!("(*= {place} {})", super::constant(&factor));
            }
            _ => "+=",
        };
        format!("({op} {place} {value})")
    }
}

fn without(set: &BTreeSet<usize>, tensor: usize) -> BTreeSet<usize> {
    set.iter().copied().filter(|t| *t != tensor).collect()
}
