//! Random expressions and subscripts, as text.

use super::constant;
use super::statements::{StatementScope, Variable};
use super::tensors::{ProgramDraft, TensorDraft};
use redpoll_logic::{DType, Prim, Scalar};

/// Casts an expression to a primitive, unless the expression already has that primitive.
fn cast(text: String, from: Prim, to: Prim) -> String {
    if from == to { text } else { format!("(cast-{to} {text})") }
}

impl ProgramDraft<'_> {
    /// Draws an expression of exactly the given primitive.
    pub(super) fn expr(&mut self, scope: &StatementScope, prim: Prim, depth: usize) -> String {
        if depth == 0 || self.rng.chance(25) {
            return self.leaf(scope, prim);
        }
        if prim == Prim::Bool {
            return self.condition(scope, depth);
        }
        let arg = |draft: &mut Self| draft.expr(scope, prim, depth - 1);
        match self.rng.below(14) {
            0..=3 => format!("(+ {} {})", arg(self), arg(self)),
            4 if prim.is_signed() || prim.is_float() || prim == Prim::U8 && self.is_narrow => {
                format!("(- {} {})", arg(self), arg(self))
            }
            // A product has either two inputs, or an expression and a small constant as factors, so
            // that floats stay exact.
            4..=6 => {
                let factor = if self.rng.chance(50) { self.small_constant(prim) } else { Scalar::one(prim) };
                let leaf = self.product(scope, prim);
                if self.rng.chance(50) { leaf } else { format!("(* {} {})", arg(self), constant(&factor)) }
            }
            7 => format!("(min {} {})", arg(self), arg(self)),
            8 => format!("(max {} {})", arg(self), arg(self)),
            9 => {
                let condition = self.condition(scope, depth - 1);
                format!("(ifelse {condition} {} {})", arg(self), arg(self))
            }
            10 => format!("(choose {} {})", arg(self), arg(self)),
            11 if prim.is_int() => {
                let op = if self.rng.chance(50) { "floordiv" } else { "rem" };
                let by = Scalar::I64(2 + self.rng.below(2) as i64).cast(prim).expect("a primitive");
                format!("({op} {} {})", arg(self), constant(&by))
            }
            12 if prim.is_signed() || prim.is_float() => format!("(abs {})", arg(self)),
            _ => {
                let condition = self.condition(scope, depth - 1);
                cast(condition, Prim::Bool, prim)
            }
        }
    }

    /// Draws the product of two inputs, whose values are small. A small constant replaces an input
    /// that cannot be read.
    fn product(&mut self, scope: &StatementScope, prim: Prim) -> String {
        let factor = |draft: &mut Self| {
            let read =
                draft.read(scope, &|draft, t| draft.tensors[t].upper_bound.is_none() && scope.is_input(draft, t));
            let (text, found) = read.unwrap_or_else(|| (constant(&draft.small_constant(prim)), prim));
            cast(text, found, prim)
        };
        format!("(* {} {})", factor(self), factor(self))
    }

    fn leaf(&mut self, scope: &StatementScope, prim: Prim) -> String {
        match self.rng.below(12) {
            0 | 1 => constant(&self.small_constant(prim)),
            2 | 3 if !scope.loops.is_empty() => {
                let (index, ..) = self.rng.pick(&scope.loops).clone();
                cast(index, Prim::I64, prim)
            }
            4 | 5 if !scope.vars.is_empty() => {
                let var = self.rng.pick(&scope.vars).clone();
                cast(var.name, var.prim, prim)
            }
            _ => match self.read(scope, &|_, _| true) {
                Some((text, found)) => cast(text, found, prim),
                None => constant(&self.small_constant(prim)),
            },
        }
    }

    /// Draws an expression of dtype `bool`.
    pub(super) fn condition(&mut self, scope: &StatementScope, depth: usize) -> String {
        let comparison = |draft: &mut Self| *draft.rng.pick(&["lt", "le", "gt", "ge", "eq", "ne"]);
        let indices: Vec<String> = scope.loops.iter().map(|(name, ..)| name.clone()).collect();
        match self.rng.below(12) {
            // Masks compare an index with another index, a variable, a number or a read.
            0..=3 if !indices.is_empty() => {
                let op = comparison(self);
                let index = self.rng.pick(&indices).clone();
                let vars: Vec<String> =
                    scope.vars.iter().filter(|v| v.prim == Prim::I64).map(|v| v.name.clone()).collect();
                let other = match self.rng.below(5) {
                    0 | 1 if !vars.is_empty() => self.rng.pick(&vars).clone(),
                    2 if indices.len() > 1 => self.rng.pick(&indices).clone(),
                    3 => self.leaf(scope, Prim::I64),
                    _ => self.rng.below(5).to_string(),
                };
                let other = if self.rng.chance(20) { format!("(+ {other} {})", self.rng.below(3)) } else { other };
                if self.rng.chance(70) { format!("({op} {index} {other})") } else { format!("({op} {other} {index})") }
            }
            4 | 5 => {
                let op = comparison(self);
                match self.read(scope, &|_, _| true) {
                    Some((text, prim)) => format!("({op} {text} {})", constant(&self.small_constant(prim))),
                    None => "true".to_owned(),
                }
            }
            6 if depth > 0 => {
                let op = *self.rng.pick(&["and", "or", "and", "xor"]);
                format!("({op} {} {})", self.condition(scope, depth - 1), self.condition(scope, depth - 1))
            }
            7 if depth > 0 => format!("(not {})", self.condition(scope, depth - 1)),
            8 if depth > 0 => {
                let op = comparison(self);
                let prim = *self.rng.pick(&[if self.is_narrow { Prim::U8 } else { Prim::I64 }, Prim::F64]);
                format!("({op} {} {})", self.expr(scope, prim, depth - 1), self.expr(scope, prim, depth - 1))
            }
            _ => match self.read(scope, &|draft, t| draft.tensors[t].prim() == Some(Prim::Bool)) {
                Some((text, _)) => text,
                None => match self.read(scope, &|_, _| true) {
                    Some((text, prim)) => format!("(ne {text} {})", constant(&Scalar::zero(prim))),
                    None => "false".to_owned(),
                },
            },
        }
    }

    /// Draws a read of a suitable tensor; returns its text and primitive.
    fn read(&mut self, scope: &StatementScope, is_suitable: &dyn Fn(&Self, usize) -> bool) -> Option<(String, Prim)> {
        let candidates: Vec<usize> =
            scope.reads.iter().copied().filter(|t| scope.forbidden != Some(*t) && is_suitable(self, *t)).collect();
        if candidates.is_empty() {
            return None;
        }
        for _ in 0..3 {
            let preferred: Vec<usize> = candidates.iter().copied().filter(|t| scope.prefers(*t)).collect();
            let pick = if !preferred.is_empty() && self.rng.chance(50) { &preferred } else { &candidates };
            let tensor = *self.rng.pick(pick);
            if let Some(text) = self.read_tensor(scope, tensor) {
                return Some(match self.tensors[tensor].dtype {
                    DType::Prim(prim) => (text, prim),
                    // The other member may be infinite, and its products NaN.
                    DType::Struct(_) => (format!("(second {text})"), Prim::I64),
                });
            }
        }
        None
    }

    fn read_tensor(&mut self, scope: &StatementScope, tensor: usize) -> Option<String> {
        let TensorDraft { name, shape, dtype, .. } = self.tensors[tensor].clone();
        let permissive = dtype.prim().is_some() && self.rng.chance(25);
        // The storage order decides which of several `outside` values applies, so an access uses
        // one value only. If a dimension is 0, every read is out of bounds, so every subscript has
        // an `outside`: otherwise the bounds check of another subscript could fail before `outside`
        // applies.
        let value = dtype.prim().map(|prim| strip_dtype(&constant(&self.small_constant(prim))).to_owned());
        let empty = shape.contains(&0);
        let mut subscripts = String::new();
        for (mode, n) in shape.iter().enumerate() {
            let outside = empty || permissive && self.rng.chance(60);
            let coordinate = if outside { None } else { self.coordinate_in_bounds(scope, *n, mode) };
            let mut at = match coordinate {
                Some(at) => at,
                None => {
                    let value = value.as_ref()?;
                    self.tensors[tensor].has_outside = true;
                    format!("(outside {value} {})", self.any_coordinate(scope))
                }
            };
            match self.rng.below(12) {
                0 => at = format!("(gallop {at})"),
                1 => at = format!("(follow {at})"),
                _ => {}
            }
            subscripts += &format!(" {at}");
        }
        Some(if shape.is_empty() { name } else { format!("({name}{subscripts})") })
    }

    /// Draws a coordinate that may be out of bounds.
    fn any_coordinate(&mut self, scope: &StatementScope) -> String {
        let Some((index, ..)) = (!scope.loops.is_empty()).then(|| self.rng.pick(&scope.loops).clone()) else {
            return (self.rng.below(9) as i64 - 1).to_string();
        };
        let (other, ..) = self.rng.pick(&scope.loops).clone();
        match self.rng.below(12) {
            0..=2 => format!("(- {index} {})", 1 + self.rng.below(3)),
            3 | 4 => format!("(+ {index} {})", 1 + self.rng.below(3)),
            5 => format!("(- {} {index})", self.rng.below(7)),
            6 => format!("(- (* 2 {index}) {})", self.rng.below(4)),
            7 if other != index => format!("(- {index} {other})"),
            8 => match self.gather(scope, u64::MAX) {
                Some(read) => format!("(- {read} {})", self.rng.below(2)),
                None => (self.rng.below(9) as i64 - 1).to_string(),
            },
            9 | 10 => match self.coordinate_variable(scope) {
                Some(variable) => format!("(+ {index} {variable})"),
                None => format!("(- {index} 1)"),
            },
            _ => (self.rng.below(9) as i64 - 1).to_string(),
        }
    }

    /// Draws a variable that is a coordinate, or a read of an input whose values are coordinates.
    fn coordinate_variable(&mut self, scope: &StatementScope) -> Option<String> {
        let coordinates = scope.vars.iter().filter(|v| v.bounds.is_some()).map(|v| v.name.clone());
        let coordinates: Vec<String> = coordinates.collect();
        if coordinates.is_empty() { self.gather(scope, u64::MAX) } else { Some(self.rng.pick(&coordinates).clone()) }
    }

    /// Draws a coordinate below `n` or, in `unchecked` percent of the calls, any coordinate.
    /// Returns `None` if no coordinate below `n` can be expressed. Subscripts that are indices
    /// often follow the order of the loops, so that many accesses are concordant.
    pub(super) fn coordinate_in_bounds(&mut self, scope: &StatementScope, n: u64, mode: usize) -> Option<String> {
        if self.config.unchecked > 0 && self.rng.chance(self.config.unchecked) {
            return Some(self.any_coordinate(scope));
        }
        for _ in 0..5 {
            if let Some(at) = self.try_coordinate_in_bounds(scope, n as i64, mode) {
                return Some(at);
            }
        }
        let fitting = scope.loops.iter().filter(|(_, lo, hi)| is_within(*lo, *hi, n as i64));
        let fitting: Vec<String> = fitting.map(|(name, ..)| name.clone()).collect();
        match fitting.is_empty() {
            false => Some(self.rng.pick(&fitting).clone()),
            true if n > 0 => Some(self.rng.below(n).to_string()),
            true => None,
        }
    }

    fn try_coordinate_in_bounds(&mut self, scope: &StatementScope, n: i64, mode: usize) -> Option<String> {
        let loops = &scope.loops;
        let any = |draft: &mut Self| (!loops.is_empty()).then(|| draft.rng.pick(loops).clone());
        match self.rng.below(24) {
            0..=13 => {
                let fitting: Vec<_> = loops.iter().filter(|(_, lo, hi)| is_within(*lo, *hi, n)).collect();
                let plain = fitting.get(mode).filter(|_| self.rng.chance(50));
                Some(plain.or(fitting.get(self.rng.index(fitting.len())))?.0.clone())
            }
            14 | 15 => {
                let (index, lo, hi) = any(self)?;
                let room = n - (hi - lo);
                if room < 0 || lo >= hi {
                    return None;
                }
                let by = self.rng.below(room as u64 + 1) as i64 - lo;
                Some(if by < 0 { format!("(- {index} {})", -by) } else { format!("(+ {index} {by})") })
            }
            16 => {
                let (index, lo, hi) = any(self)?;
                let room = n - (hi - lo);
                (room >= 0 && lo < hi)
                    .then(|| format!("(- {} {index})", hi - 1 + self.rng.below(room as u64 + 1) as i64))
            }
            17 => {
                let (index, lo, hi) = any(self)?;
                (lo >= 0 && lo < hi && 2 * (hi - 1) < n).then(|| format!("(* 2 {index})"))
            }
            18 => (n > 0).then(|| self.rng.below(n as u64).to_string()),
            19 => {
                let fitting = |v: &&Variable| v.bounds.is_some_and(|(lo, hi)| is_within(lo, hi, n));
                let fitting: Vec<String> = scope.vars.iter().filter(fitting).map(|v| v.name.clone()).collect();
                (!fitting.is_empty()).then(|| self.rng.pick(&fitting).clone())
            }
            20 => self.gather(scope, n.max(0) as u64),
            21 => {
                let e = self.coordinate(scope)?;
                (n > 0).then(|| format!("(max 0 (min {} {e}))", n - 1))
            }
            22 => {
                let e = self.coordinate(scope)?;
                (n > 0).then(|| format!("(rem {e} {n})"))
            }
            _ => {
                let (a, b) = (any(self)?, any(self)?);
                let sum = is_within(a.1 + b.1, a.2 + b.2 - 1, n) && a.1 < a.2 && b.1 < b.2;
                if sum && a.0 != b.0 && self.rng.chance(60) {
                    return Some(format!("(+ {} {})", a.0, b.0));
                }
                (a.1 >= 0 && a.1 < a.2 && (a.2 - 1) / 2 < n).then(|| format!("(floordiv {} 2)", a.0))
            }
        }
    }

    /// Draws an `i64` expression for a computed subscript. Returns `None` within another computed
    /// subscript, because computed subscripts do not nest.
    fn coordinate(&mut self, scope: &StatementScope) -> Option<String> {
        if self.subscript {
            return None;
        }
        self.subscript = true;
        let coordinate = self.expr(scope, Prim::I64, 1);
        self.subscript = false;
        Some(coordinate)
    }

    /// Draws a read of an input whose values are coordinates below `n`; `None` if there is no such
    /// input.
    pub(super) fn gather(&mut self, scope: &StatementScope, n: u64) -> Option<String> {
        let fitting =
            |t: &&usize| self.tensors[**t].upper_bound.is_some_and(|below| below <= n) && scope.reads.contains(*t);
        let all: Vec<usize> = (0..self.tensors.len()).collect();
        let fitting: Vec<usize> = all.iter().filter(fitting).copied().collect();
        if fitting.is_empty() {
            return None;
        }
        let tensor = *self.rng.pick(&fitting);
        let TensorDraft { name, shape, .. } = self.tensors[tensor].clone();
        let [size] = shape[..] else { return Some(name) };
        let plain: Vec<String> = scope
            .loops
            .iter()
            .filter(|(_, lo, hi)| is_within(*lo, *hi, size as i64))
            .map(|(name, ..)| name.clone())
            .collect();
        match plain.is_empty() {
            false => Some(format!("({name} {})", self.rng.pick(&plain))),
            true if size > 0 => Some(format!("({name} {})", self.rng.below(size))),
            true => None,
        }
    }
}

/// Returns whether all coordinates of a loop are in `0..n`.
fn is_within(lo: i64, hi: i64, n: i64) -> bool {
    lo >= hi || (lo >= 0 && hi <= n)
}

/// Returns the value of a literal without its dtype. A value of `outside` has the dtype of its
/// tensor.
fn strip_dtype(constant: &str) -> &str {
    constant
        .strip_prefix("(lit ")
        .and_then(|rest| rest.split_once(' '))
        .map_or(constant, |(_, v)| v.trim_end_matches(')'))
}
