//! Pass `dimensionalize`: infers the extents of loops and the sizes of open dimensions from
//! accesses.
//!
//! Input: output of `insert_lifecycles` that passes `verify`. Output: every loop has an extent, no
//! dimension is open.
//!
//! - An access whose subscript is `i`, `i + c` or `c - i` implies that the loop of `i` runs over
//!   exactly the coordinates for which the subscript is in bounds. All such accesses of a loop
//!   without extent must agree. A read with an `outside`, a value for coordinates out of bounds,
//!   implies no extent. Accesses under a condition inside the loop are used only if there are no
//!   other accesses.
//! - For a mode that is stored in blocks or by diagonals, the subscripts of its storage modes
//!   together determine the coordinate of the mode: `i / b` and `i % b` determine `i`, and so do
//!   the diagonal `i - j + n - 1` and `j`.
//! - A loop is an error if it has no extent and no access implies one.
//! - The size of an open dimension is one more than the largest coordinate that linear subscripts
//!   write in its mode.
//! - A loop over `i` with constant bounds is an error if an access with the subscript `i`, `i + c`
//!   or `c - i` is out of bounds in some round. Exceptions are accesses with an `outside`, and
//!   accesses under a condition inside the loop.

use super::linear::{Atom, Linear};
use super::visit::infallible;
use super::{Access, Expr, Index, OPEN_DIMENSION, Program, Stmt, TensorId, Var};
use crate::Error;
use redpoll_logic::StorageMode;
use redpoll_logic::op::{Builtin, Op};
use std::collections::HashMap;
use std::sync::Arc;

/// Fills in the extents of loops and the open dimensions.
///
/// # Errors
/// When accesses disagree with each other or with a written extent, or imply no extent or size.
pub fn dimensionalize(program: Program) -> Result<Program, Error> {
    let mut d = Dimensions { uses: Vec::new(), ranges: HashMap::new(), open_loops: Vec::new(), program };
    let body = d.program.body.clone();
    UseCollector { d: &mut d, vars: HashMap::new(), conditions: HashMap::new(), open_conditions: 0 }.stmt(&body);
    while d.infer_loops()? || d.infer_open()? {}
    d.check_all_inferred()?;
    d.check_loop_bounds()?;
    let inferred: HashMap<Index, (i64, i64)> =
        d.open_loops.iter().filter_map(|i| Some((*i, d.ranges.get(i)?.bounds?))).collect();
    Ok(Program { body: set_extents(body, &inferred), ..d.program })
}

/// A coordinate of one mode that an access determines, as a linear form over loop indices and
/// variables.
struct SubscriptUse {
    tensor: TensorId,
    mode: TensorMode,
    at: Linear,
    write: bool,
    outside: bool,
    /// For each index of `at`, whether there is a condition between its loop and the access.
    guarded: HashMap<Index, bool>,
}

/// The mode of a tensor that a subscript belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TensorMode {
    /// A storage mode, by its level.
    Level(usize),
    /// A mode of the tensor that is stored in two parts or skewed.
    Composite(usize),
}

/// The bounds of a loop, `None` if they are not constant, and a description of their origin.
struct LoopRange {
    bounds: Option<(i64, i64)>,
    origin: String,
}

struct Dimensions {
    program: Program,
    uses: Vec<SubscriptUse>,
    ranges: HashMap<Index, LoopRange>,
    /// Loops without extent, in order.
    open_loops: Vec<Index>,
}

struct UseCollector<'a> {
    d: &'a mut Dimensions,
    vars: HashMap<Var, Linear>,
    /// For each bound index, the number of conditions around its loop.
    conditions: HashMap<Index, usize>,
    open_conditions: usize,
}

impl UseCollector<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        for a in stmt.exprs().into_iter().flat_map(Expr::accesses) {
            self.access(a, false);
        }
        match stmt {
            Stmt::For { index, extent, .. } => {
                match extent {
                    None => self.d.open_loops.push(*index),
                    Some((lo, hi)) => {
                        let bounds = self.linear(lo).zip(self.linear(hi));
                        let bounds = bounds.and_then(|(lo, hi)| Some((lo.as_constant()?, hi.as_constant()?)));
                        self.d.ranges.insert(*index, LoopRange { bounds, origin: "its range".to_owned() });
                    }
                }
                self.conditions.insert(*index, self.open_conditions);
            }
            Stmt::If { .. } | Stmt::While { .. } => {
                self.open_conditions += 1;
                stmt.children().into_iter().for_each(|s| self.stmt(s));
                self.open_conditions -= 1;
                return;
            }
            Stmt::Let { var, value, .. } => {
                if let Some(form) = self.linear(value) {
                    self.vars.insert(*var, form);
                }
            }
            Stmt::Assign { lhs, .. } => self.access(lhs, true),
            _ => {}
        }
        stmt.children().into_iter().for_each(|s| self.stmt(s));
    }

    fn linear(&self, e: &Expr) -> Option<Linear> {
        Linear::of_with(e, &|v| self.vars.get(&v).cloned().unwrap_or(Linear::atom(Atom::Var(v))))
    }

    fn access(&mut self, a: &Access, write: bool) {
        let stored =
            (0..).zip(&a.subscripts).filter_map(|(level, s)| Some((TensorMode::Level(level), self.linear(&s.at)?)));
        let stored: Vec<_> = stored.collect();
        for (mode, at) in stored.into_iter().chain(self.composite_modes(a)) {
            let mut guarded = HashMap::new();
            for (atom, _) in &at.terms {
                if let Atom::Index(i) = atom {
                    guarded.insert(*i, self.conditions[i] < self.open_conditions);
                }
            }
            let outside = match mode {
                TensorMode::Level(level) => a.subscripts[level].outside.is_some(),
                TensorMode::Composite(_) => a.subscripts.iter().any(|s| s.outside.is_some()),
            };
            self.d.uses.push(SubscriptUse { tensor: a.tensor, mode, at, write, outside, guarded });
        }
    }

    /// Returns the modes that are not stored whole, each with the coordinate that the subscripts of
    /// an access together determine. Leaves out modes whose coordinate the subscripts do not
    /// determine.
    fn composite_modes(&self, a: &Access) -> Vec<(TensorMode, Linear)> {
        let ty = &self.d.program.tensors[a.tensor.index()].ty;
        let at = |mode: StorageMode| {
            let level = ty.format.modes.iter().position(|m| *m == mode)?;
            a.subscripts.get(level).map(|s| &s.at)
        };
        let coordinate = |mode: StorageMode| match mode {
            StorageMode::Outer { mode, block } => {
                let (outer, inner) = (at(StorageMode::Outer { mode, block })?, at(StorageMode::Inner { mode, block })?);
                let of = dividend(outer, Builtin::FloorDiv, block)?;
                (Some(of) == dividend(inner, Builtin::Rem, block)).then(|| self.linear(of))?
            }
            StorageMode::Skew { by, .. } => {
                let (diagonal, along) = (self.linear(at(mode)?)?, self.linear(at(StorageMode::Whole { mode: by })?)?);
                // A tensor without rows has as many diagonals as a tensor with one row.
                let last = i64::try_from(ty.shape[by].max(1)).ok().filter(|_| ty.shape[by] != OPEN_DIMENSION)? - 1;
                diagonal.plus(&along)?.plus(&Linear::constant(-last))
            }
            StorageMode::Whole { .. } | StorageMode::Inner { .. } => None,
        };
        ty.format.modes.iter().filter_map(|m| Some((TensorMode::Composite(m.mode()), coordinate(*m)?))).collect()
    }
}

/// Returns the dividend of `e`, if `e` is `op` with the divisor `divisor`.
fn dividend(e: &Expr, op: Builtin, divisor: u64) -> Option<&Expr> {
    let Expr::Call(Op::Builtin(found), args) = e else { return None };
    match &args[..] {
        [of, by] if *found == op && by.as_int().is_some_and(|by| u64::try_from(by) == Ok(divisor)) => Some(of),
        _ => None,
    }
}

impl Dimensions {
    /// Returns the size of a mode; `None` if it is open.
    fn size(&self, t: TensorId, mode: TensorMode) -> Option<i64> {
        let ty = &self.program.tensors[t.index()].ty;
        let storage = match mode {
            TensorMode::Level(level) => ty.format.modes[level],
            TensorMode::Composite(mode) => StorageMode::Whole { mode },
        };
        (ty.shape[storage.mode()] != OPEN_DIMENSION).then(|| storage.dimension(&ty.shape) as i64)
    }

    fn describe(&self, u: &SubscriptUse) -> String {
        let tensor = &self.program.tensors[u.tensor.index()];
        let whole = tensor.ty.format.modes.iter().all(|m| matches!(m, StorageMode::Whole { .. }));
        let (split, number) = match u.mode {
            TensorMode::Level(level) => (if whole { "" } else { "storage " }, level),
            TensorMode::Composite(mode) => ("", mode),
        };
        match self.size(u.tensor, u.mode) {
            Some(n) => format!("{split}mode {number} of `{}`, whose size is {n}", tensor.name),
            None => format!("{split}mode {number} of `{}`", tensor.name),
        }
    }

    /// Returns the range of `index` for which the subscript is in bounds; `None` if the subscript
    /// implies no extent of the loop (see the module), or the dimension is open.
    fn implied_range(&self, u: &SubscriptUse, index: Index) -> Option<(i64, i64)> {
        let ([(atom, a)], false) = (&u.at.terms[..], u.outside) else { return None };
        let (n, c) = (self.size(u.tensor, u.mode)?, u.at.constant);
        match (*atom == Atom::Index(index), a) {
            (true, 1) => Some((c.checked_neg()?, n.checked_sub(c)?)),
            (true, -1) => Some((c.checked_sub(n)?.checked_add(1)?, c.checked_add(1)?)),
            _ => None,
        }
    }

    /// Gives loops the extents that their accesses imply; returns whether any loop got one.
    fn infer_loops(&mut self) -> Result<bool, Error> {
        let mut found = Vec::new();
        for &index in self.open_loops.iter().filter(|i| !self.ranges.contains_key(i)) {
            let implied: Vec<(&SubscriptUse, (i64, i64))> =
                self.uses.iter().filter_map(|u| Some((u, self.implied_range(u, index)?))).collect();
            let free: Vec<_> = implied.iter().filter(|(u, _)| !u.guarded[&index]).collect();
            let counted = if free.is_empty() { implied.iter().collect() } else { free };
            let Some((first, bounds)) = counted.first() else { continue };
            if let Some((other, found)) = counted.iter().find(|(_, b)| b != bounds) {
                return Err(self.mismatch(index, *bounds, self.describe(first), *found, other));
            }
            found.push((index, LoopRange { bounds: Some(*bounds), origin: self.describe(first) }));
        }
        let any = !found.is_empty();
        self.ranges.extend(found);
        Ok(any)
    }

    fn mismatch(
        &self,
        index: Index,
        bounds: (i64, i64),
        origin: String,
        found: (i64, i64),
        other: &SubscriptUse,
    ) -> Error {
        let text = |(lo, hi): (i64, i64)| format!("{lo}..{hi}");
        Error::DimensionMismatch {
            index: self.program.indices[index.index()].as_str().into(),
            expected: text(bounds).into(),
            expected_by: origin.into(),
            found: text(found).into(),
            found_by: self.describe(other).into(),
            remedy: match self.open_loops.contains(&index) {
                true => "give the loop a range, and give an `outside` to reads that are out of bounds there",
                false => {
                    "shorten the range, give an `outside` to reads that are out of bounds, or guard writes with an `if`"
                }
            },
        }
    }

    /// Returns the least and the greatest value of a form; `None` if a bound is not constant.
    fn interval(&self, form: &Linear) -> Option<(i64, i64)> {
        form.terms.iter().try_fold((form.constant, form.constant), |(lo, hi), (atom, c)| {
            let Atom::Index(i) = atom else { return None };
            let (first, end) = self.ranges.get(i)?.bounds?;
            let (a, b) = (first.checked_mul(*c)?, end.checked_sub(1)?.checked_mul(*c)?);
            Some((lo.checked_add(a.min(b))?, hi.checked_add(a.max(b))?))
        })
    }

    /// Returns whether the loop of some index in the form provably has no rounds.
    fn empty(&self, form: &Linear) -> bool {
        form.terms.iter().any(|(atom, _)| match atom {
            Atom::Index(i) => self.ranges.get(i).and_then(|r| r.bounds).is_some_and(|(lo, hi)| lo >= hi),
            Atom::Var(_) => false,
        })
    }

    /// Sets the size of one open dimension for which all written subscripts have constant bounds;
    /// returns whether there was such a dimension.
    fn infer_open(&mut self) -> Result<bool, Error> {
        for k in 0..self.program.tensors.len() {
            let ty = &self.program.tensors[k].ty;
            for mode in (0..ty.shape.len()).filter(|&m| ty.shape[m] == OPEN_DIMENSION) {
                let level = ty.format.modes.iter().position(|s| *s == StorageMode::Whole { mode });
                let written = level.map_or(TensorMode::Composite(mode), TensorMode::Level);
                let writes: Vec<&SubscriptUse> =
                    self.uses.iter().filter(|u| u.write && u.tensor.index() == k && u.mode == written).collect();
                if level.is_none() && writes.is_empty() {
                    return Err(self.open_mode(k, mode));
                }
                let sizes: Option<Vec<i64>> = writes
                    .into_iter()
                    .map(|u| if self.empty(&u.at) { Some(0) } else { self.interval(&u.at)?.1.checked_add(1) })
                    .collect();
                if let Some(size) = sizes.and_then(|s| s.into_iter().max()) {
                    let tensor = &mut self.program.tensors[k];
                    Arc::make_mut(&mut tensor.ty).shape[mode] = size.max(0) as u64;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn open_mode(&self, tensor: usize, mode: usize) -> Error {
        let name = &self.program.tensors[tensor].name;
        Error::UnknownDimension {
            what: format!("the size of mode {mode} of `{name}`"),
            hint: "write it into the shape".to_owned(),
        }
    }

    fn check_all_inferred(&self) -> Result<(), Error> {
        if let Some(i) = self.open_loops.iter().find(|i| !self.ranges.contains_key(i)) {
            return Err(Error::UnknownDimension {
                what: format!("the extent of loop `{}`", self.program.indices[i.index()]),
                hint: "no access bounds it; give it a range".to_owned(),
            });
        }
        for (k, tensor) in self.program.tensors.iter().enumerate() {
            if let Some(mode) = tensor.ty.shape.iter().position(|&n| n == OPEN_DIMENSION) {
                return Err(self.open_mode(k, mode));
            }
        }
        Ok(())
    }

    fn check_loop_bounds(&self) -> Result<(), Error> {
        for u in self.uses.iter().filter(|u| !u.outside && !u.guarded.values().any(|g| *g)) {
            let [(Atom::Index(index), _)] = u.at.terms[..] else { continue };
            let range = &self.ranges[&index];
            let (Some((lo, hi)), Some(implied_range)) = (range.bounds, self.implied_range(u, index)) else { continue };
            if lo < hi && (lo < implied_range.0 || hi > implied_range.1) {
                return Err(self.mismatch(index, (lo, hi), range.origin.clone(), implied_range, u));
            }
        }
        Ok(())
    }
}

fn set_extents(stmt: Stmt, inferred: &HashMap<Index, (i64, i64)>) -> Stmt {
    let stmt = match stmt {
        Stmt::For { index, extent: None, rounds, body } => {
            let extent = inferred.get(&index).map(|(lo, hi)| (Expr::int(*lo), Expr::int(*hi)));
            Stmt::For { index, extent, rounds, body }
        }
        other => other,
    };
    infallible(stmt.map_children(&mut |s| Ok(set_extents(s, inferred))))
}
