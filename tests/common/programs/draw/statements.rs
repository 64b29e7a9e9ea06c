//! Random statements, as text.

use super::Usage;
use super::tensors::ProgramDraft;
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
pub(super) struct StatementScope {
    /// Enclosing loops, outermost first, with the half-open bounds of their indices.
    pub(super) loops: Vec<(String, i64, i64)>,
    pub(super) vars: Vec<Variable>,
    /// Tensors that may be read.
    pub(super) reads: BTreeSet<usize>,
    pub(super) writes: BTreeSet<usize>,
    /// Preferred target of assignments: a tensor, and the text of its access.
    pub(super) target: Option<(usize, String)>,
    /// The tensor that reads prefer.
    pub(super) preferred_read: Option<usize>,
    /// The target of the current assignment, which the value and the subscripts must not read.
    pub(super) forbidden: Option<usize>,
    /// Number of enclosing statements.
    pub(super) depth: usize,
    /// Number of enclosing `while` statements.
    pub(super) whiles: usize,
}

impl StatementScope {
    pub(super) fn is_input(&self, draft: &ProgramDraft<'_>, tensor: usize) -> bool {
        draft.tensors[tensor].usage == Usage::Input
    }

    pub(super) fn prefers(&self, tensor: usize) -> bool {
        self.preferred_read == Some(tensor)
    }

    pub(super) fn with_loop(&self, index: (String, i64, i64)) -> StatementScope {
        let mut inner = self.clone();
        inner.loops.push(index);
        inner.depth += 1;
        inner
    }

    pub(super) fn nested(&self) -> StatementScope {
        StatementScope { depth: self.depth + 1, ..self.clone() }
    }
}

/// Largest depth of the loops that [`ProgramDraft::statement`] draws.
const MAX_LOOP_DEPTH: usize = 3;

impl ProgramDraft<'_> {
    /// Draws one to three statements.
    pub(super) fn body(&mut self, scope: &StatementScope) -> String {
        let count = 1 + self.rng.index(3).min(self.budget as usize);
        let statements: Vec<String> = (0..count).map(|_| self.statement(scope)).filter(|s| !s.is_empty()).collect();
        match statements.is_empty() {
            true => self.assignment(scope).unwrap_or_else(|| "(block)".to_owned()),
            false => statements.join(" "),
        }
    }

    /// Draws a statement; returns an empty text if no tensor can be written.
    pub(super) fn statement(&mut self, scope: &StatementScope) -> String {
        self.budget = self.budget.saturating_sub(1);
        let has_budget = self.budget > 0 && scope.depth < 5;
        let kind = self.rng.below(100);
        let loops = if scope.loops.is_empty() { 70 } else { 30 };
        let statement = match kind {
            k if k < loops && has_budget && scope.loops.len() < MAX_LOOP_DEPTH => Some(self.loop_statement(scope)),
            k if k < loops => self.assignment(scope),
            70..=79 if has_budget => {
                let condition = self.condition(scope, 1);
                Some(format!("(if {condition} {})", self.body(&scope.nested())))
            }
            80..=88 if has_budget => Some(self.binding(scope)),
            89..=91 if has_budget && scope.whiles < 2 => Some(self.counted_while(scope)),
            92..=95 if has_budget => Some(self.workspace(scope)),
            _ => self.assignment(scope),
        };
        statement.or_else(|| self.assignment(scope)).unwrap_or_default()
    }

    fn loop_statement(&mut self, scope: &StatementScope) -> String {
        let index = self.new_name('i');
        let (range, lo, hi) = self.range(scope);
        let inner = scope.with_loop((index.clone(), lo, hi));
        let body = self.body(&inner);
        format!("(for {index} {range} {body})")
    }

    /// Draws a range; returns its text and the half-open bounds of its coordinates.
    pub(super) fn range(&mut self, scope: &StatementScope) -> (String, i64, i64) {
        let n = self.pick_size() as i64;
        let at = self.rng.below(n as u64 + 1) as i64;
        let text = |lo: String, hi: String| format!("(range {lo} {hi})");
        let fitting: Vec<_> =
            scope.loops.iter().filter(|(_, lo, hi)| lo < hi && *lo >= 0 && *hi <= 8).cloned().collect();
        let outer = (!fitting.is_empty()).then(|| self.rng.pick(&fitting).clone());
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
                let e = match self.is_narrow {
                    true => format!("(cast-i64 {})", self.expr(scope, Prim::U8, 2)),
                    false => self.expr(scope, Prim::I64, 1),
                };
                (text("0".into(), format!("(min {n} {e})")), 0, n)
            }
            _ => (text("0".into(), n.to_string()), 0, n),
        }
    }

    fn binding(&mut self, scope: &StatementScope) -> String {
        let name = self.new_name('v');
        let (value, prim, bounds) = self.value(scope);
        let mut inner = scope.nested();
        inner.vars.push(Variable { name: name.clone(), prim, bounds });
        let body = self.body(&inner);
        format!("(let {name} {value} {body})")
    }

    fn value(&mut self, scope: &StatementScope) -> (String, Prim, Option<(i64, i64)>) {
        let n = self.pick_size().max(1) as i64;
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
                let last = if self.is_narrow { Prim::U8 } else { Prim::I64 };
                let prim = *self.rng.pick(&[Prim::F64, Prim::I64, Prim::Bool, last]);
                // Without the cast, a constant would take the dtype of its context.
                (format!("(cast-{prim} {})", self.expr(scope, prim, 2)), prim, None)
            }
        }
    }

    /// Draws an assignment to a tensor that the scope may write. Returns `None` if there is no such
    /// tensor, or if the drawn tensor has no coordinate in bounds.
    pub(super) fn assignment(&mut self, scope: &StatementScope) -> Option<String> {
        let target = scope.target.clone().filter(|_| self.rng.chance(65));
        let (tensor, access) = match target {
            Some(target) => target,
            None => {
                let candidates: Vec<usize> =
                    scope.writes.iter().copied().filter(|t| !self.has_single_access(*t)).collect();
                if candidates.is_empty() {
                    return scope.target.clone().map(|(tensor, access)| self.assign(scope, tensor, &access));
                }
                let tensor = *self.rng.pick(&candidates);
                (tensor, self.target_access(scope, tensor)?)
            }
        };
        Some(self.assign(scope, tensor, &access))
    }

    /// Returns whether all writes of a tensor use one access.
    fn has_single_access(&self, tensor: usize) -> bool {
        let tensor = &self.tensors[tensor];
        tensor.written_once || tensor.usage == Usage::Append
    }

    fn target_access(&mut self, scope: &StatementScope, tensor: usize) -> Option<String> {
        let inner = StatementScope { forbidden: Some(tensor), reads: without(&scope.reads, tensor), ..scope.clone() };
        let (name, shape) = (self.tensors[tensor].name.clone(), self.tensors[tensor].shape.clone());
        if shape.is_empty() {
            return Some(name);
        }
        let mut text = name;
        for (mode, n) in shape.iter().enumerate() {
            text += &format!(" {}", self.coordinate_in_bounds(&inner, *n, mode)?);
        }
        Some(format!("({text})"))
    }

    /// Draws an assignment to the given access.
    pub(super) fn assign(&mut self, scope: &StatementScope, tensor: usize, access: &str) -> String {
        let scope = &StatementScope { forbidden: Some(tensor), reads: without(&scope.reads, tensor), ..scope.clone() };
        let (dtype, once) = (self.tensors[tensor].dtype.clone(), self.tensors[tensor].written_once);
        let DType::Prim(prim) = dtype else {
            let op = if self.rng.chance(70) { "minby=" } else { "maxby=" };
            let coordinate = match scope.loops.last() {
                Some((index, ..)) if self.rng.chance(70) => index.clone(),
                _ => self.expr(scope, Prim::I64, 1),
            };
            let depth = self.rng.index(3);
            return format!("({op} {access} (pair {} {coordinate}))", self.expr(scope, Prim::F64, depth));
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
                let factor = self.small_constant(prim);
                return format!("(*= {access} {})", super::constant(&factor));
            }
            _ => "+=",
        };
        format!("({op} {access} {value})")
    }
}

fn without(set: &BTreeSet<usize>, tensor: usize) -> BTreeSet<usize> {
    set.iter().copied().filter(|t| *t != tensor).collect()
}
