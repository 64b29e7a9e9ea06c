//! Translation of coordinates of a query to expressions of a program, and proofs about their
//! values.

use super::{QueryTranslator, Role, access, invalid};
use crate::Error;
use crate::notation::{Atom, Expr, Index, Linear, TensorId, Var};
use redpoll_logic::op::Builtin;
use redpoll_logic::physical::{self, Extent, ScalarExpr, StorageCoordinate};
use redpoll_logic::{Affine, Alias, Field, Parameter, StorageMode, Subscript, TensorType, is_ascending_mixed_radix};
use std::sync::Arc;

/// Returns the number of coordinates in block `outer` of a mode of size `size`: `block`, or fewer
/// in the last block.
pub(super) fn block_end(block: u64, size: u64, outer: Expr) -> Result<Expr, Error> {
    if block == 0 {
        return Err(invalid("a block has size 0"));
    }
    if size.is_multiple_of(block) {
        return self::size(block);
    }
    let before = Expr::call(Builtin::Mul, [self::size(block)?, outer]);
    Ok(Expr::call(Builtin::Min, [self::size(block)?, Expr::call(Builtin::Sub, [self::size(size)?, before])]))
}

/// Returns a size as an `i64` constant.
pub(super) fn size(n: u64) -> Result<Expr, Error> {
    i64::try_from(n).map(Expr::int).map_err(|_| invalid(format!("size {n} does not fit an i64")))
}

/// Returns `block * outer + inner`.
pub(super) fn join_block(block: u64, outer: &Expr, inner: &Expr) -> Result<Expr, Error> {
    let before = Expr::call(Builtin::Mul, [size(block)?, outer.clone()]);
    Ok(Expr::call(Builtin::Add, [before, inner.clone()]))
}

/// Returns the coordinate that a level with the storage mode `mode` stores for the coordinate `at`
/// of its tensor mode. A skewed mode is an error.
pub(in crate::notation) fn storage_coordinate(mode: StorageMode, at: Expr) -> Result<Expr, Error> {
    match mode {
        StorageMode::Whole { .. } => Ok(at),
        StorageMode::Outer { block, .. } => Ok(Expr::call(Builtin::FloorDiv, [at, Expr::int(block as i64)])),
        StorageMode::Inner { block, .. } => Ok(Expr::call(Builtin::Rem, [at, Expr::int(block as i64)])),
        StorageMode::Skew { .. } => Err(invalid("a workspace has a skewed mode")),
    }
}

/// Returns the conditions under which the coordinate of a skewed mode of size `n` is in bounds. The
/// coordinate is `diagonal + along - (length - 1)`, where `along` is the coordinate of the other
/// mode, of size `length`, that skews this mode.
pub(super) fn diagonal_conditions(diagonal: Expr, along: Expr, length: u64, n: u64) -> Result<[Expr; 2], Error> {
    let sum = Expr::call(Builtin::Add, [diagonal, along]);
    let mode_coordinate = Expr::call(Builtin::Sub, [sum, size(length.saturating_sub(1))?]);
    Ok([
        Expr::call(Builtin::Ge, [mode_coordinate.clone(), Expr::int(0)]),
        Expr::call(Builtin::Lt, [mode_coordinate, size(n)?]),
    ])
}

/// Returns the level that stores a mode whole.
pub(super) fn level_of_mode(ty: &TensorType, mode: usize) -> Result<usize, Error> {
    let found = ty.format.modes.iter().position(|m| *m == StorageMode::Whole { mode });
    found.ok_or_else(|| invalid(format!("mode {mode} is not stored whole, but it skews another mode")))
}

impl QueryTranslator<'_> {
    fn find_loop(&self, field: &Field) -> Result<(Index, &Extent), Error> {
        let found = self.loops.iter().rev().find(|(f, _, _)| f == field);
        found.map(|(_, i, e)| (*i, *e)).ok_or_else(|| invalid(format!("no loop binds the index `{field}` here")))
    }

    /// Returns the bounds of a loop.
    pub(super) fn extent(&self, extent: &Extent) -> Result<(Expr, Expr), Error> {
        let end = match extent {
            Extent::Range(n) => size(*n)?,
            Extent::Block { block, outer, size } => block_end(*block, *size, Expr::Index(self.find_loop(outer)?.0))?,
            Extent::Skew { n, outer, shift, size } => {
                let outer = Expr::Index(self.find_loop(outer)?.0);
                let first = Expr::call(Builtin::Sub, [self::size(*shift)?, outer]);
                let end = Expr::call(Builtin::Add, [first.clone(), self::size(*size)?]);
                let hi = Expr::call(Builtin::Min, [self::size(*n)?, end]);
                return Ok((Expr::call(Builtin::Max, [Expr::int(0), first]), hi));
            }
        };
        Ok((Expr::int(0), end))
    }

    /// Returns the variable of a parameter.
    fn parameter(&self, parameter: &Parameter) -> Result<Var, Error> {
        let found = self.parameters.iter().find(|(p, ..)| *p == parameter).map(|(_, var, _)| *var);
        found.ok_or_else(|| invalid(format!("unknown {parameter}")))
    }

    /// Translates an affine form; the terms of inner indices come first.
    pub(super) fn affine(&self, form: &Affine) -> Result<Expr, Error> {
        let mut linear = Linear::constant(form.constant);
        let parameters = form.parameters.iter().map(|(p, c)| Ok::<_, Error>((Atom::Var(self.parameter(p)?), c)));
        let terms = form.terms.iter().map(|(field, c)| Ok((Atom::Index(self.find_loop(field)?.0), c)));
        for term in parameters.chain(terms) {
            let (atom, c) = term?;
            let term = Linear::atom(atom).times(*c);
            linear = term.and_then(|t| linear.plus(&t)).ok_or_else(|| invalid(format!("{form} overflows an i64")))?;
        }
        // Indices are numbered in the order of their loops, and all loops are inside of the binders
        // of the parameters.
        Ok(linear.to_expr(&|atom| match atom {
            Atom::Index(i) => (1, i.index()),
            Atom::Var(v) => (0, v.index()),
        }))
    }

    /// Translates the coordinate at a storage mode.
    pub(super) fn coordinate(&self, coordinate: &StorageCoordinate) -> Result<Expr, Error> {
        let (form, block, op) = match coordinate {
            StorageCoordinate::Computed(point) => return self.point(point),
            StorageCoordinate::Subscript(Subscript::Affine(form)) => return self.affine(form),
            StorageCoordinate::Subscript(Subscript::Outer(form, block)) => (form, *block, Builtin::FloorDiv),
            StorageCoordinate::Subscript(Subscript::Inner(form, block)) => (form, *block, Builtin::Rem),
        };
        if block == 0 {
            return Err(invalid("a block has size 0"));
        }
        match (self.split(form, block)?, op) {
            (Some((quotient, _)), Builtin::FloorDiv) => self.affine(&quotient),
            (Some((_, remainder)), _) => self.affine(&remainder),
            (None, op) => Ok(Expr::call(op, [self.affine(form)?, size(block)?])),
        }
    }

    /// Returns `quotient` and `remainder` with `form = block * quotient + remainder` and
    /// `0 <= remainder < block`, if the extents of the loops prove these bounds.
    fn split(&self, form: &Affine, block: u64) -> Result<Option<(Affine, Affine)>, Error> {
        let Some(b) = i64::try_from(block).ok().filter(|b| *b > 0) else { return Ok(None) };
        let (quotient, remainder) = form.divide(b);
        let inside = self.interval(&remainder)?.is_some_and(|(lo, hi)| lo >= 0 && hi < i128::from(b));
        Ok(inside.then_some((quotient, remainder)))
    }

    /// Returns a lower and an upper bound of the values of a form; `None` if the loop of an index
    /// in the form has no rounds.
    fn interval(&self, form: &Affine) -> Result<Option<(i128, i128)>, Error> {
        let mut range = (i128::from(form.constant), i128::from(form.constant));
        let mut add = |c: i64, first: u64, rounds: u64| {
            let (a, b) =
                (i128::from(c) * i128::from(first), i128::from(c) * (i128::from(first) + i128::from(rounds) - 1));
            range = (range.0 + a.min(b), range.1 + a.max(b));
        };
        // `block * outer + inner` is a coordinate of the whole mode, so it is less than `size` in
        // the ragged last block too.
        let mut pairs: Vec<&Field> = Vec::new();
        for (field, c) in &form.terms {
            let (block, outer, size) = match self.find_loop(field)?.1 {
                Extent::Range(_) => continue,
                Extent::Block { block, outer, size } => (block, outer, size),
                // The sum of a diagonal and the coordinate along it is a coordinate of the skewed
                // mode plus a constant shift.
                Extent::Skew { outer, shift, size, .. } if form.coefficient(outer) == *c => {
                    pairs.extend([field, outer]);
                    if *size == 0 {
                        return Ok(None);
                    }
                    add(*c, *shift, *size);
                    continue;
                }
                Extent::Skew { .. } => continue,
            };
            if i128::from(form.coefficient(outer)) == i128::from(*c) * i128::from(*block) {
                pairs.extend([field, outer]);
                if *size == 0 {
                    return Ok(None);
                }
                add(*c, 0, *size);
            }
        }
        form.parameters.iter().for_each(|(parameter, c)| add(*c, 0, parameter.size));
        for (field, c) in form.terms.iter().filter(|(field, _)| !pairs.contains(&field)) {
            let rounds = match self.find_loop(field)?.1 {
                Extent::Range(n) => *n,
                Extent::Block { block, size, .. } => *block.min(size),
                Extent::Skew { n, .. } => *n,
            };
            if rounds == 0 {
                return Ok(None);
            }
            add(*c, 0, rounds);
        }
        Ok(Some(range))
    }

    /// Returns an input and its type.
    pub(super) fn input(&self, name: &Alias) -> Result<(TensorId, Arc<TensorType>), Error> {
        let position = self.tensors.iter().position(|t| t.role == Role::Input && t.name == name.as_str());
        let k = position.ok_or_else(|| invalid(format!("unknown tensor `{name}`")))?;
        Ok((TensorId(k as u32), self.tensors[k].ty.clone()))
    }

    /// Translates a read. Keeps the value `outside` only on modes whose coordinate may be out of
    /// bounds. A ragged last block and the ends of diagonals contain padding: coordinates inside of
    /// the levels, but outside of the tensor. If the read has an `outside`, comparisons guard the
    /// reads of padding.
    pub(super) fn read(&self, a: &physical::Access) -> Result<Expr, Error> {
        let (tensor, ty) = self.input(&a.tensor)?;
        let modes = &ty.format.modes;
        if a.subscripts.len() != modes.len() || a.protocols.len() != modes.len() {
            let (subscripts, protocols) = (a.subscripts.len(), a.protocols.len());
            return Err(invalid(format!(
                "an access to `{}` has {subscripts} subscripts and {protocols} protocols, expected {} of each",
                a.tensor,
                modes.len()
            )));
        }
        if ty.shape.contains(&0) {
            // Every coordinate is out of bounds, so the read returns `outside`. A read without an
            // `outside` never runs, because an empty loop encloses it.
            return Ok(Expr::Literal(a.outside.clone().unwrap_or_else(|| ty.fill.clone())));
        }
        if let Some(workspace) = &a.workspace {
            return self.read_workspace(a, workspace);
        }
        let at = a.subscripts.iter().map(|s| self.coordinate(s)).collect::<Result<Vec<_>, _>>()?;
        let mut access = access(tensor, at);
        let mut guards = Vec::new();
        for m in 0..modes.len() {
            let n = ty.shape[modes[m].mode()];
            access.subscripts[m].protocol = a.protocols[m];
            if let (StorageMode::Skew { by, .. }, Some(_)) = (modes[m], &a.outside) {
                let at = |level: usize| access.subscripts[level].at.clone();
                guards.extend(diagonal_conditions(at(m), at(level_of_mode(&ty, by)?), ty.shape[by], n)?);
            }
            let mode_size = if let StorageMode::Skew { .. } = modes[m] { modes[m].dimension(&ty.shape) } else { n };
            if self.is_in_bounds(&a.subscripts[m], mode_size)? {
                continue;
            }
            access.subscripts[m].outside.clone_from(&a.outside);
            if let StorageMode::Inner { mode, block } = modes[m]
                && block > 0
                && !n.is_multiple_of(block)
            {
                let outer = modes.iter().position(|s| *s == StorageMode::Outer { mode, block });
                let mode_coordinate = match (&a.subscripts[m], outer) {
                    (StorageCoordinate::Subscript(s), _) => self.affine(s.form())?,
                    (StorageCoordinate::Computed(_), Some(o)) => {
                        join_block(block, &access.subscripts[o].at, &access.subscripts[m].at)?
                    }
                    (StorageCoordinate::Computed(_), None) => {
                        return Err(invalid(format!(
                            "the format of `{}` has blocks without their outer part",
                            a.tensor
                        )));
                    }
                };
                guards.push(Expr::call(Builtin::Lt, [mode_coordinate, size(n)?]));
            }
        }
        let read = Expr::Access(access);
        Ok(match &a.outside {
            None => read,
            Some(v) => guards
                .into_iter()
                .fold(read, |read, guard| Expr::call(Builtin::IfElse, [guard, read, Expr::Literal(v.clone())])),
        })
    }

    /// Returns whether a coordinate of a mode of size `n` is provably in bounds.
    fn is_in_bounds(&self, coordinate: &StorageCoordinate, n: u64) -> Result<bool, Error> {
        match coordinate {
            StorageCoordinate::Subscript(s) => {
                Ok(self.interval(s.form())?.is_none_or(|(lo, hi)| lo >= 0 && hi < i128::from(n)))
            }
            StorageCoordinate::Computed(_) => Ok(false),
        }
    }

    /// Returns whether the enclosing loops determine the coordinate.
    pub(super) fn is_fixed(&self, coordinate: &StorageCoordinate) -> bool {
        match coordinate {
            StorageCoordinate::Subscript(s) => s.form().terms.iter().all(|(field, _)| self.find_loop(field).is_ok()),
            StorageCoordinate::Computed(point) => self.is_point_fixed(point),
        }
    }

    fn is_point_fixed(&self, point: &ScalarExpr) -> bool {
        match point {
            ScalarExpr::Literal(_) => true,
            ScalarExpr::Coordinate(form) => form.terms.iter().all(|(field, _)| self.find_loop(field).is_ok()),
            ScalarExpr::Temporary(name) => self.temporaries.iter().any(|(n, ..)| n == name),
            ScalarExpr::Access(a) => a.subscripts.iter().all(|p| self.is_fixed(p)),
            ScalarExpr::Call(_, args) => args.iter().all(|a| self.is_point_fixed(a)),
        }
    }

    /// Returns the subscripts of the outputs. Replaces outer and inner parts of blocks by affine
    /// forms where the extents of the loops allow this.
    pub(super) fn resolve_coordinates(&mut self) -> Result<Vec<Vec<StorageCoordinate>>, Error> {
        let query = self.query;
        self.loops = query.loops.iter().map(|l| (l.index.clone(), Index(0), &l.extent)).collect();
        let resolve = |coordinate: &StorageCoordinate| {
            Ok(match coordinate {
                StorageCoordinate::Subscript(Subscript::Outer(form, block)) => match self.split(form, *block)? {
                    Some((quotient, _)) => Subscript::Affine(quotient).into(),
                    None => coordinate.clone(),
                },
                StorageCoordinate::Subscript(Subscript::Inner(form, block)) => match self.split(form, *block)? {
                    Some((_, remainder)) => Subscript::Affine(remainder).into(),
                    None => coordinate.clone(),
                },
                StorageCoordinate::Subscript(Subscript::Affine(_)) | StorageCoordinate::Computed(_) => {
                    coordinate.clone()
                }
            })
        };
        let output_coordinates: Result<Vec<Vec<_>>, Error> =
            query.outputs.iter().map(|o| o.subscripts.iter().map(resolve).collect()).collect();
        self.loops.clear();
        if let Some(o) = query.outputs.iter().find(|o| o.subscripts.len() != o.ty.format.modes.len()) {
            let (found, expected) = (o.subscripts.len(), o.ty.format.modes.len());
            return Err(invalid(format!("output `{}` has {found} subscripts, expected {expected}", o.alias)));
        }
        output_coordinates
    }

    /// Returns whether different rounds of the enclosing loops provably write different entries of
    /// an output, because its subscripts determine the indices of all these loops.
    ///
    /// Uses only the subscripts that the enclosing loops fix. A subscript determines its indices if
    /// different values of the indices always give different subscripts; examples are a single
    /// index, and `block * outer + inner`. Indices that are already determined by other subscripts
    /// are treated as constants.
    pub(super) fn writes_distinct_entries(&self, output: usize) -> bool {
        let mut determined: Vec<&Field> = Vec::new();
        loop {
            let before = determined.len();
            for coordinate in self.output_coordinates[output].iter().filter(|s| self.is_fixed(s)) {
                let StorageCoordinate::Subscript(Subscript::Affine(form)) = coordinate else { continue };
                let open: Vec<_> = form.terms.iter().filter(|(f, _)| !determined.contains(&f)).collect();
                if self.is_injective(&open) {
                    determined.extend(open.into_iter().map(|(f, _)| f));
                }
            }
            if determined.len() == before {
                return self.loops.iter().all(|(f, _, _)| determined.contains(&f));
            }
        }
    }

    /// Returns whether the sum of these terms provably differs for different values of their
    /// indices.
    fn is_injective(&self, terms: &[&(Field, i64)]) -> bool {
        let count = |field: &Field| {
            let (_, _, extent) = self.loops.iter().find(|(f, _, _)| f == field)?;
            Some(match extent {
                Extent::Range(n) | Extent::Skew { n, .. } => *n,
                Extent::Block { block, .. } => *block,
            })
        };
        let digits = terms.iter().map(|(field, step)| Some((step.checked_abs()?, count(field))));
        let Some(mut digits) = digits.collect::<Option<Vec<_>>>() else { return false };
        // An index with a single value cannot change the sum.
        digits.retain(|(_, count)| count.is_none_or(|n| n > 1));
        digits.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
        is_ascending_mixed_radix(&digits)
    }
}
