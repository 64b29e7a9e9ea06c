//! The verifier of physical plans. Rules:
//!
//! 1. Inputs and outputs have distinct aliases. An access reads an input or an output of an earlier
//!    query. Every produced alias is an input or an output.
//! 2. The indices of a query, including those of temporaries, are distinct and used only inside
//!    their loops. A loop over a block is inside the loop that counts the blocks. Lanes are a power
//!    of two up to [`Loop::MOST_LANES`]; only the innermost loop of a nest may have more than one.
//! 3. Temporaries have distinct names and follow those that they read. Their depth is at most the
//!    number of surrounding loops. Temporaries that start further out have one accumulator for each
//!    value of some of the loops in between, and accumulate along at least one of them. Others have
//!    a single accumulator.
//! 4. Accesses and outputs have one coordinate per storage mode; accesses also have one protocol
//!    per storage mode.
//! 5. The arguments of a call have the dtypes of the operator's signature, and the operator has no
//!    cases that depend on which arguments are stored. A fold has the dtype of its value. Computed
//!    coordinates are `i64`. The value of an output has the dtype of the output.
//! 6. A level that is walked or galloped is bound by a loop further in than those of the levels
//!    above, as an affine form of its index. It is ordered, unless the query is a conversion. A
//!    level that is followed supports lookup.
//! 7. An output without a fold writes each entry once: every loop index occurs in its subscripts.
//!    An output with a fold drops no values.
//! 8. Lists and singletons of an output are written in order, or a workspace takes the writes. In
//!    order means that the outermost loops bind all levels down to the last list or singleton, in
//!    the same order. A workspace has one level for each storage mode that the loops outside it do
//!    not fix, all of kinds that take random writes.
//! 9. An output with the pattern of a tensor drops no values and has no workspace. Its value reads
//!    that tensor at the same coordinates, in bounds and not through a workspace. Both have the
//!    same shape and levels, with one position per stored coordinate. The output may be written in
//!    any order.
//! 10. The workspace of an access covers the innermost storage modes, which are whole, with levels
//!     that take random writes. The loops outside the workspace bind the other modes. The access
//!     stays in bounds.

use super::{
    Access, Extent, Loop, Output, PhysicalPlan, PhysicalQuery, Place, Point, Protocol, Temporaries, Workspace,
};
use crate::affine::{Affine, Subscript};
use crate::dtype::DType;
use crate::expr::Computed;
use crate::field::{Alias, Field};
use crate::format::{LeafKind, StorageMode, TensorType};
use crate::level::Lookup;
use crate::op::Op;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A broken rule and the query that breaks it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("physical plan, query of `{query}`: {what}")]
pub struct VerifyError {
    /// First output of the query, or the plan.
    pub query: String,
    /// Description of the mistake.
    pub what: String,
}

/// Checks that a plan obeys all rules of this module.
///
/// # Errors
/// Returns the first broken rule, and its query.
pub fn verify(plan: &PhysicalPlan) -> Result<(), VerifyError> {
    let mut types: HashMap<Alias, Arc<TensorType>> = HashMap::new();
    let in_plan = |what: String| VerifyError { query: "the plan".to_owned(), what };
    for (alias, ty) in &plan.inputs {
        if types.insert(alias.clone(), ty.clone()).is_some() {
            return Err(in_plan(format!("input `{alias}` is listed twice")));
        }
    }
    for query in &plan.queries {
        let name = query.outputs.first().map_or("nothing", |o| o.alias.as_str()).to_owned();
        check_query(query, &types).map_err(|what| VerifyError { query: name, what })?;
        for output in &query.outputs {
            if types.insert(output.alias.clone(), output.ty.clone()).is_some() {
                return Err(in_plan(format!("`{}` is written twice, or is an input", output.alias)));
            }
        }
    }
    match plan.produces.iter().find(|alias| !types.contains_key(*alias)) {
        Some(unknown) => Err(in_plan(format!("it produces `{unknown}`, which no query writes"))),
        None => Ok(()),
    }
}

type Check = Result<(), String>;

/// The names in scope at one point of a query.
struct Scope<'a> {
    types: &'a HashMap<Alias, Arc<TensorType>>,
    /// Surrounding loops, outermost first.
    loops: Vec<Loop>,
    temporaries: HashMap<Alias, DType>,
    /// Indices and temporaries of the query so far.
    names: BTreeSet<String>,
    copies: bool,
}

fn check_query(query: &PhysicalQuery, types: &HashMap<Alias, Arc<TensorType>>) -> Check {
    let copies = query.converts(|t| types.get(t).map(AsRef::as_ref)).is_some();
    let mut scope = Scope { types, loops: Vec::new(), temporaries: HashMap::new(), names: BTreeSet::new(), copies };
    scope.nest(&query.loops, &query.temporaries, &mut |scope| {
        query.outputs.iter().try_for_each(|o| scope.output(o).map_err(|e| format!("output `{}`: {e}", o.alias)))
    })
}

impl Scope<'_> {
    /// Checks loops with the temporaries between them, then the body.
    fn nest(&mut self, loops: &[Loop], temporaries: &[Temporaries], body: &mut dyn FnMut(&mut Self) -> Check) -> Check {
        if let Some(t) = temporaries.iter().find(|t| t.depth > loops.len()) {
            return Err(format!("temporaries at depth {} under {} loops", t.depth, loops.len()));
        }
        for t in temporaries {
            let between = loops.get(t.since..t.depth);
            let between =
                between.ok_or_else(|| format!("temporaries start at depth {}, inside of {}", t.since, t.depth))?;
            for fold in &t.folds {
                let mut places = fold.at.iter().map(|f| between.iter().position(|l| l.index == *f));
                let ascending = places.clone().is_sorted() && places.all(|p| p.is_some());
                if !ascending || (t.since < t.depth && fold.at.len() >= between.len()) {
                    return Err(format!(
                        "temporary `{}` has accumulators for {} of the {} loops since it started",
                        fold.name,
                        fold.at.len(),
                        between.len()
                    ));
                }
            }
        }
        let outside = self.loops.len();
        for depth in 0..=loops.len() {
            for t in temporaries.iter().filter(|t| t.depth == depth) {
                self.temporaries(t)?;
            }
            if let Some(l) = loops.get(depth) {
                if l.lanes != 1 && depth + 1 < loops.len() {
                    return Err(format!("the loop of `{}` has lanes, and others inside of it", l.index));
                }
                self.enter(l)?;
            }
        }
        body(self)?;
        self.loops.truncate(outside);
        Ok(())
    }

    fn enter(&mut self, l: &Loop) -> Check {
        if !self.names.insert(l.index.to_string()) {
            return Err(format!("index `{}` is bound twice", l.index));
        }
        if !l.lanes.is_power_of_two() || l.lanes > Loop::MOST_LANES {
            return Err(format!("the loop of `{}` has {} lanes, no power of two up to 16", l.index, l.lanes));
        }
        if let Extent::Block { block, outer, size } = &l.extent {
            let found = self.loops.iter().find(|o| o.index == *outer);
            let counts = Extent::Whole(size.div_ceil(*block));
            if found.is_none_or(|o| o.extent != counts) {
                return Err(format!("the loop of `{}` over blocks is not inside of one over {counts:?}", l.index));
            }
        }
        if let Extent::Skew { with, .. } = &l.extent
            && !self.loops.iter().any(|o| o.index == *with)
        {
            return Err(format!("the loop of `{}` over a diagonal is not inside of that of `{with}`", l.index));
        }
        self.loops.push(l.clone());
        Ok(())
    }

    fn temporaries(&mut self, t: &Temporaries) -> Check {
        let mut found = Vec::new();
        self.nest(&t.loops, &t.temporaries, &mut |scope| {
            for fold in &t.folds {
                let dtype = scope.point(&fold.value)?;
                folds(&fold.op, &dtype)?;
                if fold.init.dtype() != dtype {
                    return Err(format!("temporary `{}` of {dtype} starts from {}", fold.name, fold.init));
                }
                found.push((fold.name.clone(), dtype));
            }
            Ok(())
        })?;
        for (name, dtype) in found {
            if !self.names.insert(name.to_string()) {
                return Err(format!("temporary `{name}` is defined twice"));
            }
            self.temporaries.insert(name, dtype);
        }
        Ok(())
    }

    fn point(&self, point: &Point) -> Result<DType, String> {
        match point {
            Point::Literal(value) => Ok(value.dtype()),
            Point::Coordinate(form) => self.affine(form).map(|()| DType::I64),
            Point::Temporary(name) => {
                self.temporaries.get(name).cloned().ok_or_else(|| format!("temporary `{name}` is not in scope"))
            }
            Point::Access(access) => self.access(access).map_err(|e| format!("access of `{}`: {e}", access.tensor)),
            Point::Call(op, args) => {
                let dtypes = args.iter().map(|a| self.point(a)).collect::<Result<Vec<_>, _>>()?;
                if op.has_cases() {
                    return Err(format!(
                        "operator `{op}` has cases by what is stored; bind it to the fills of its arguments"
                    ));
                }
                let signature = op.signature(&dtypes).map_err(|e| e.to_string())?;
                if signature.args != dtypes {
                    return Err(format!("arguments of `{op}` are not cast to its signature"));
                }
                Ok(signature.result)
            }
        }
    }

    fn affine(&self, form: &Affine) -> Check {
        match form.terms.iter().find(|(f, _)| self.position(f).is_none()) {
            Some((unbound, _)) => Err(format!("index `{unbound}` is not bound")),
            None => Ok(()),
        }
    }

    fn position(&self, field: &Field) -> Option<usize> {
        self.loops.iter().position(|l| l.index == *field)
    }

    /// Returns the number of loops that bind a coordinate, up to the innermost one that the
    /// coordinate depends on.
    fn bound(&self, place: &Place) -> Result<usize, String> {
        let mut fields = Vec::new();
        match place {
            Place::Subscript(s) => {
                self.affine(s.form())?;
                fields.extend(s.form().terms.iter().map(|(f, _)| f.clone()));
            }
            Place::Value(point) => {
                if self.point(point)? != DType::I64 {
                    return Err(format!("coordinate {point} is not an i64"));
                }
                point_fields(point, &mut fields);
            }
        }
        Ok(fields.iter().filter_map(|f| self.position(f)).map(|p| p + 1).max().unwrap_or(0))
    }

    fn access(&self, access: &Access) -> Result<DType, String> {
        let ty = self.types.get(&access.tensor).ok_or("it is not known here")?;
        let levels = &ty.format.levels;
        if access.subscripts.len() != levels.len() || access.protocols.len() != levels.len() {
            return Err(format!("it has not one place and protocol for each of {} levels", levels.len()));
        }
        if access.outside.as_ref().is_some_and(|v| v.dtype() != ty.dtype) {
            return Err("its outside value has another dtype".to_owned());
        }
        let held = access.workspace.as_ref().map_or(&[][..], |w| &w.format.levels);
        if let Some(workspace) = &access.workspace {
            self.held(access, workspace, ty)?;
        }
        let levels = levels[..levels.len() - held.len()].iter().chain(held);
        let mut outside = 0;
        for ((place, protocol), level) in access.subscripts.iter().zip(&access.protocols).zip(levels) {
            let bound = self.bound(place)?;
            match protocol {
                Protocol::Walk | Protocol::Gallop => {
                    if !matches!(place, Place::Subscript(Subscript::Affine(_))) || bound <= outside {
                        return Err(format!(
                            "level {place} is walked, but bound outside of its fiber or not by steps of an index"
                        ));
                    }
                    if !level.ordered && !self.copies {
                        return Err(format!("level {place} is walked, but not ordered"));
                    }
                }
                Protocol::Follow => {
                    if level.lookup() == Lookup::Never {
                        return Err(format!("level {place} cannot be looked up"));
                    }
                }
            }
            outside = outside.max(bound);
        }
        Ok(ty.dtype.clone())
    }

    /// Checks that the workspace of an access can store a fiber of the tensor.
    fn held(&self, access: &Access, workspace: &Workspace, ty: &TensorType) -> Check {
        let Workspace { depth, format } = workspace;
        let modes = &ty.format.modes;
        let Some(first) = modes.len().checked_sub(format.levels.len()).filter(|first| *first < modes.len()) else {
            return Err(format!("its workspace has {} levels, of {}", format.levels.len(), modes.len()));
        };
        let whole = |(k, mode): (usize, &StorageMode)| *mode == StorageMode::Whole { mode: k };
        let are_whole = modes[first..].iter().all(|mode| matches!(mode, StorageMode::Whole { .. }));
        if access.outside.is_some() || !are_whole || !format.modes.iter().enumerate().all(whole) {
            return Err("its workspace has modes that are not whole, or that it may leave".to_owned());
        }
        for place in &access.subscripts[..first] {
            if !matches!(place, Place::Subscript(_)) || self.bound(place)? > *depth {
                return Err(format!("its workspace inside of {depth} loops does not find level {place} bound"));
            }
        }
        match format.levels.iter().find(|l| !l.kind.traits().writes.is_random()) {
            Some(l) => Err(format!("its workspace has a {:?} level, which takes no random writes", l.kind)),
            None if *depth > self.loops.len() => Err(format!("its workspace is inside of {depth} loops")),
            None => Ok(()),
        }
    }

    fn output(&self, output: &Output) -> Check {
        let (ty, levels) = (&output.ty, &output.ty.format.levels);
        if output.subscripts.len() != levels.len() {
            return Err(format!("it has {} places for {} levels", output.subscripts.len(), levels.len()));
        }
        let dtype = self.point(&output.value)?;
        if dtype != ty.dtype {
            return Err(format!("its value is {dtype}, its type {}", ty.dtype));
        }
        let mut fields = Vec::new();
        for place in &output.subscripts {
            self.bound(place)?;
            place_fields(place, &mut fields);
        }
        match &output.fold {
            Some(_) if output.computed == Computed::Drop => {
                return Err(
                    "it drops fill values, but folds: what a fold comes to is not known while it goes on".to_owned()
                );
            }
            Some(op) => folds(op, &dtype)?,
            None => {
                if let Some(l) = self.loops.iter().find(|l| !fields.contains(&l.index)) {
                    return Err(format!("it has no fold, but loop `{}` writes its places again", l.index));
                }
            }
        }
        if let Some(pattern) = &output.pattern {
            return self.pattern(output, pattern).map_err(|e| format!("its pattern is that of `{pattern}`, {e}"));
        }
        let listed = levels.iter().rposition(|l| !l.kind.traits().writes.is_random());
        let (fixed, depth) = self.in_order(&output.subscripts);
        match &output.workspace {
            None if listed.is_none_or(|last| fixed > last) => Ok(()),
            None => Err(format!("its levels are not written in order beyond {fixed}, and it has no workspace")),
            Some(w) => {
                let fixed = levels.len().saturating_sub(w.format.levels.len());
                if w.depth > depth || !self.fixes(&output.subscripts[..fixed], w.depth) {
                    return Err(format!(
                        "its workspace inside of {} loops does not find {fixed} levels fixed",
                        w.depth
                    ));
                }
                match w.format.levels.iter().find(|l| !l.kind.traits().writes.is_random()) {
                    Some(l) => Err(format!("its workspace has a {:?} level, which takes no random writes", l.kind)),
                    None => Ok(()),
                }
            }
        }
    }

    /// Checks that an output can share the pattern of a tensor. The optimizer guarantees that the
    /// value is the fill value wherever the tensor has its own; engines verify this property on
    /// programs.
    fn pattern(&self, output: &Output, pattern: &Alias) -> Check {
        let fails = |what: &str| Err(what.to_owned());
        let Some(ty) = self.types.get(pattern) else { return fails("which is not known here") };
        let (own, of) = (&output.ty.format, &ty.format);
        if output.ty.shape != ty.shape || own.modes != of.modes || own.levels != of.levels {
            return fails("which has another shape or other levels");
        }
        if own.leaf == LeafKind::Pattern || of.levels.is_empty() || of.levels.iter().any(|l| l.kind.traits().runs) {
            return fails("but not each of its places has a value of its own");
        }
        if output.computed == Computed::Drop || output.workspace.is_some() {
            return fails("but it drops values, or has a workspace");
        }
        match reads_at(&output.value, pattern, &output.subscripts) {
            true => Ok(()),
            false => fails("which its value does not read at the same places, in bounds and through no workspace"),
        }
    }

    /// Returns the number of outermost levels that are written in the order of the outermost loops,
    /// and the number of those loops.
    fn in_order(&self, places: &[Place]) -> (usize, usize) {
        let (mut levels, mut depth) = (0, 0);
        for place in places {
            let mut fields = Vec::new();
            place_fields(place, &mut fields);
            let new: BTreeSet<usize> = fields.iter().filter_map(|f| self.position(f)).filter(|&p| p >= depth).collect();
            let next = depth + new.len();
            let ascending = new.iter().copied().eq(depth..next);
            if !ascending || (!new.is_empty() && !self.is_monotone(place, depth)) {
                break;
            }
            (levels, depth) = (levels + 1, next);
        }
        (levels, depth)
    }

    /// Returns whether the coordinate ascends in the lexicographic order of the loops from `depth`
    /// on. It does if it is an affine form in which a step of each loop exceeds the total range of
    /// the loops inside.
    fn is_monotone(&self, place: &Place, depth: usize) -> bool {
        let Place::Subscript(Subscript::Affine(form)) = place else { return false };
        let mut reach: i128 = 0;
        self.loops[depth..].iter().rev().filter(|l| form.coefficient(&l.index) != 0).all(|l| {
            let step = i128::from(form.coefficient(&l.index));
            let rounds = match &l.extent {
                Extent::Whole(n) | Extent::Skew { n, .. } => *n,
                Extent::Block { block, .. } => *block,
            };
            let ascends = step > reach;
            reach += step * i128::from(rounds.saturating_sub(1));
            ascends
        })
    }

    /// Returns whether the coordinates depend on exactly the outermost `depth` loops.
    fn fixes(&self, places: &[Place], depth: usize) -> bool {
        let mut fields = Vec::new();
        places.iter().for_each(|p| place_fields(p, &mut fields));
        let positions: BTreeSet<usize> = fields.iter().filter_map(|f| self.position(f)).collect();
        positions.into_iter().eq(0..depth)
    }
}

fn folds(op: &Op, dtype: &DType) -> Check {
    let signature = op.signature(&[dtype.clone(), dtype.clone()]).map_err(|e| e.to_string())?;
    if signature.result != *dtype || signature.args.iter().any(|t| t != dtype) {
        return Err(format!("operator `{op}` does not fold in {dtype}"));
    }
    Ok(())
}

/// Returns whether a value reads the tensor directly at the given coordinates.
fn reads_at(value: &Point, tensor: &Alias, places: &[Place]) -> bool {
    match value {
        Point::Literal(_) | Point::Coordinate(_) | Point::Temporary(_) => false,
        Point::Access(a) => {
            a.tensor == *tensor && a.subscripts == places && a.outside.is_none() && a.workspace.is_none()
        }
        Point::Call(_, args) => args.iter().any(|arg| reads_at(arg, tensor, places)),
    }
}

fn place_fields(place: &Place, fields: &mut Vec<Field>) {
    match place {
        Place::Subscript(s) => fields.extend(s.form().terms.iter().map(|(f, _)| f.clone())),
        Place::Value(point) => point_fields(point, fields),
    }
}

fn point_fields(point: &Point, fields: &mut Vec<Field>) {
    match point {
        Point::Literal(_) | Point::Temporary(_) => {}
        Point::Coordinate(form) => fields.extend(form.terms.iter().map(|(f, _)| f.clone())),
        Point::Access(a) => a.subscripts.iter().for_each(|p| place_fields(p, fields)),
        Point::Call(_, args) => args.iter().for_each(|a| point_fields(a, fields)),
    }
}
