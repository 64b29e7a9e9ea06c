//! The verifier of physical plans. Rules:
//!
//! 1. Inputs and outputs have distinct aliases. An access reads an input or an output of an earlier
//!    query. Every produced alias is an input or an output. A parameter is an input of the type
//!    [`Parameter::input_type`](crate::Parameter::input_type).
//! 2. The indices of a query, including those of temporaries, are distinct and used only inside
//!    their loops. A loop over a block is inside the loop that counts the blocks, and a skewed loop
//!    is inside the loop over its other index. Lanes are a power of two up to [`Loop::MAX_LANES`];
//!    only the innermost loop of a nest may have more than one.
//! 3. The names of temporaries differ from each other and from the indices. Temporaries follow
//!    those that they read. Their depth is at most the number of loops of the nest that they are
//!    in. A temporary whose fold starts at a smaller depth accumulates along at least one of the
//!    loops in between. The temporary has an accumulator for each combination of values of the
//!    indices of the other loops in between. Other temporaries have a single accumulator.
//! 4. Accesses and outputs have one coordinate per storage mode; accesses also have one protocol
//!    per storage mode.
//! 5. The arguments of a call have the dtypes of the operator's signature, and the operator has no
//!    cases that depend on which arguments are stored. The operator of a fold takes and returns the
//!    dtype of the folded value, which the initial value has too. The value of reads out of bounds
//!    has the dtype of the tensor. Computed coordinates are `i64`. The value of an output has the
//!    dtype of the output.
//! 6. The coordinate of a level that is walked or galloped is an affine form of loop indices. At
//!    least one of these loops is inside all loops that bind the levels above. The level is
//!    ordered, unless the query is a conversion. A level that is followed supports lookup.
//! 7. An output without a fold must write each entry at most once. The verifier checks that every
//!    loop index occurs in its subscripts. An output with a fold drops no values.
//! 8. An output with levels that only take appends, such as lists, is written in order or through a
//!    workspace. Writes are in order if the outermost loops bind all levels down to the last
//!    append-only level, in the order of the levels, and the coordinates ascend. A workspace has at
//!    least as many levels as there are storage modes that the loops outside it do not fix. The
//!    loops outside the workspace bind outermost levels in order, and each of these loops occurs in
//!    the coordinate of a storage mode that they fix. All levels of a workspace take random writes.
//! 9. An output with the pattern of a tensor drops no values and has no workspace. Its value reads
//!    that tensor at the same coordinates, in bounds and not through a workspace. The output and
//!    the tensor have the same shape and the same levels. There is at least one level, and one
//!    position per stored coordinate; the output has an element leaf. The output may be written in
//!    any order.
//! 10. The workspace of an access covers the innermost storage modes, which are whole, with levels
//!     that take random writes. The loops outside the workspace bind the other modes, whose
//!     coordinates are not computed. The access stays in bounds.

use super::{
    Access, Extent, Loop, Output, PhysicalPlan, PhysicalQuery, Protocol, ScalarExpr, StorageCoordinate, TemporaryNest,
    Workspace,
};
use crate::affine::{Affine, Parameter, Subscript};
use crate::dtype::DType;
use crate::error::plural;
use crate::expr::ComputedFills;
use crate::field::{Alias, Field};
use crate::format::{Format, LeafKind, StorageMode, TensorType};
use crate::level::Lookup;
use crate::op::Op;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A broken rule, and the query or plan that breaks it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{location}: {problem}")]
pub struct VerifyError {
    /// The query, named by its first output, or the plan.
    pub location: String,
    /// Description of the broken rule.
    pub problem: String,
}

/// Checks that a plan obeys all rules of this module.
///
/// # Errors
/// Returns the first broken rule that is found, and the query or plan that breaks it.
pub fn verify(plan: &PhysicalPlan) -> Result<(), VerifyError> {
    let mut types: HashMap<Alias, Arc<TensorType>> = HashMap::new();
    let in_plan = |problem: String| VerifyError { location: "the plan".to_owned(), problem };
    for (alias, ty) in &plan.inputs {
        if types.insert(alias.clone(), ty.clone()).is_some() {
            return Err(in_plan(format!("input `{alias}` is listed twice")));
        }
    }
    for query in &plan.queries {
        let location = match query.outputs.first() {
            Some(output) => format!("query of `{}`", output.alias),
            None => "query without outputs".to_owned(),
        };
        let is_input = |parameter: &Parameter| {
            plan.inputs.iter().any(|(alias, ty)| *alias == parameter.input && **ty == Parameter::input_type())
        };
        if let Some(parameter) = query.parameters().into_iter().find(|parameter| !is_input(parameter)) {
            let problem =
                format!("parameter `{}` is not a dense `i64` input of rank 0 with fill value 0", parameter.input);
            return Err(VerifyError { location, problem });
        }
        check_query(query, &types).map_err(|problem| VerifyError { location, problem })?;
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

/// Success, or the description of a broken rule.
type CheckResult = Result<(), String>;

/// The names in scope at one point of a query.
struct QueryScope<'a> {
    types: &'a HashMap<Alias, Arc<TensorType>>,
    /// Surrounding loops, outermost first.
    loops: Vec<Loop>,
    temporaries: HashMap<Alias, DType>,
    /// Indices and temporaries of the query so far.
    names: BTreeSet<String>,
    /// True if the query only converts a tensor to another format.
    is_conversion: bool,
}

fn check_query(query: &PhysicalQuery, types: &HashMap<Alias, Arc<TensorType>>) -> CheckResult {
    let is_conversion = query.conversion_source(|t| types.get(t).map(AsRef::as_ref)).is_some();
    let (temporaries, names) = (HashMap::new(), BTreeSet::new());
    let mut scope = QueryScope { types, loops: Vec::new(), temporaries, names, is_conversion };
    scope.check_nest(&query.loops, &query.temporaries, &mut |scope| {
        query.outputs.iter().try_for_each(|o| scope.check_output(o).map_err(|e| format!("output `{}`: {e}", o.alias)))
    })
}

impl QueryScope<'_> {
    /// Checks loops with the temporaries between them, then the body.
    fn check_nest(
        &mut self,
        loops: &[Loop],
        temporaries: &[TemporaryNest],
        body: &mut dyn FnMut(&mut Self) -> CheckResult,
    ) -> CheckResult {
        if let Some(t) = temporaries.iter().find(|t| t.depth > loops.len()) {
            let count = loops.len();
            let noun = plural(count as u64, "loop", "loops");
            return Err(format!("temporaries at depth {}, but the nest has {count} {noun}", t.depth));
        }
        for t in temporaries {
            let (start, depth) = (t.start_depth, t.depth);
            let between = loops.get(start..depth);
            let between =
                between.ok_or_else(|| format!("temporaries at depth {depth} start further in, at depth {start}"))?;
            for fold in &t.folds {
                let indices = &fold.accumulator_indices;
                let mut positions = indices.iter().map(|f| between.iter().position(|l| l.index == *f));
                let ascending = positions.clone().is_sorted() && positions.all(|p| p.is_some());
                if !ascending || (start < depth && indices.len() >= between.len()) {
                    return Err(format!(
                        "temporary `{}` has accumulators for {} indices, expected indices of some, not all, of the {} \
                         loops between its start and its depth, in the order of the loops",
                        fold.name,
                        indices.len(),
                        between.len()
                    ));
                }
            }
        }
        let outside = self.loops.len();
        for depth in 0..=loops.len() {
            for t in temporaries.iter().filter(|t| t.depth == depth) {
                self.check_temporaries(t)?;
            }
            if let Some(l) = loops.get(depth) {
                if l.lanes != 1 && depth + 1 < loops.len() {
                    return Err(format!("the loop over `{}` has lanes, but is not the innermost loop", l.index));
                }
                self.enter_loop(l)?;
            }
        }
        body(self)?;
        self.loops.truncate(outside);
        Ok(())
    }

    fn enter_loop(&mut self, l: &Loop) -> CheckResult {
        if !self.names.insert(l.index.to_string()) {
            return Err(format!("index `{}` is bound twice", l.index));
        }
        if !l.lanes.is_power_of_two() || l.lanes > Loop::MAX_LANES {
            return Err(format!(
                "the loop over `{}` has {} lanes, expected a power of two up to {}",
                l.index,
                l.lanes,
                Loop::MAX_LANES
            ));
        }
        if let Extent::Block { block, outer, size } = &l.extent {
            let outer_loop = self.loops.iter().find(|o| o.index == *outer);
            let blocks = size.div_ceil((*block).max(1));
            if outer_loop.is_none_or(|o| o.extent != Extent::Range(blocks)) {
                return Err(format!(
                    "the loop over `{}` runs over a block, but is not inside a loop over `{outer}` of extent {blocks}",
                    l.index
                ));
            }
        }
        if let Extent::Skew { outer, .. } = &l.extent
            && !self.loops.iter().any(|o| o.index == *outer)
        {
            return Err(format!("the loop over `{}` is skewed, but is not inside the loop over `{outer}`", l.index));
        }
        self.loops.push(l.clone());
        Ok(())
    }

    fn check_temporaries(&mut self, t: &TemporaryNest) -> CheckResult {
        let mut dtypes = Vec::new();
        self.check_nest(&t.loops, &t.temporaries, &mut |scope| {
            for fold in &t.folds {
                let dtype = scope.expr_dtype(&fold.value)?;
                check_fold(&fold.op, &dtype)?;
                let init = fold.init.dtype();
                if init != dtype {
                    return Err(format!(
                        "temporary `{}` has dtype {dtype}, but its initial value is {init}",
                        fold.name
                    ));
                }
                dtypes.push((fold.name.clone(), dtype));
            }
            Ok(())
        })?;
        for (name, dtype) in dtypes {
            if !self.names.insert(name.to_string()) {
                return Err(format!("temporary `{name}` is defined twice"));
            }
            self.temporaries.insert(name, dtype);
        }
        Ok(())
    }

    fn expr_dtype(&self, expr: &ScalarExpr) -> Result<DType, String> {
        match expr {
            ScalarExpr::Literal(value) => Ok(value.dtype()),
            ScalarExpr::Coordinate(form) => self.check_affine(form).map(|()| DType::I64),
            ScalarExpr::Temporary(name) => {
                self.temporaries.get(name).cloned().ok_or_else(|| format!("temporary `{name}` is not in scope"))
            }
            ScalarExpr::Access(access) => {
                self.access_dtype(access).map_err(|e| format!("access of `{}`: {e}", access.tensor))
            }
            ScalarExpr::Call(op, args) => {
                let dtypes = args.iter().map(|a| self.expr_dtype(a)).collect::<Result<Vec<_>, _>>()?;
                if op.has_cases() {
                    return Err(format!(
                        "operator `{op}` has cases that depend on which arguments are stored; bind it to the fill values \
                         of its arguments"
                    ));
                }
                let signature = op.signature(&dtypes).map_err(|e| e.to_string())?;
                if signature.args != dtypes {
                    return Err(format!("the arguments of `{op}` are not cast to its signature"));
                }
                Ok(signature.result)
            }
        }
    }

    fn check_affine(&self, form: &Affine) -> CheckResult {
        match form.terms.iter().find(|(f, _)| self.loop_position(f).is_none()) {
            Some((unbound, _)) => Err(format!("index `{unbound}` is not bound")),
            None => Ok(()),
        }
    }

    fn loop_position(&self, field: &Field) -> Option<usize> {
        self.loops.iter().position(|l| l.index == *field)
    }

    /// Checks a coordinate. Returns the number of loops down to the innermost one whose index
    /// occurs in the coordinate; 0 if no index occurs. Indices on which only a temporary depends do
    /// not count.
    fn binding_depth(&self, coordinate: &StorageCoordinate) -> Result<usize, String> {
        let mut fields = Vec::new();
        match coordinate {
            StorageCoordinate::Subscript(s) => {
                self.check_affine(s.form())?;
                fields.extend(s.form().terms.iter().map(|(f, _)| f.clone()));
            }
            StorageCoordinate::Computed(expr) => {
                let dtype = self.expr_dtype(expr)?;
                if dtype != DType::I64 {
                    return Err(format!("coordinate {expr} has dtype {dtype}, expected i64"));
                }
                collect_expr_fields(expr, &mut fields);
            }
        }
        Ok(fields.iter().filter_map(|f| self.loop_position(f)).map(|p| p + 1).max().unwrap_or(0))
    }

    fn access_dtype(&self, access: &Access) -> Result<DType, String> {
        let ty = self.types.get(&access.tensor).ok_or("it is neither an input nor the output of an earlier query")?;
        let levels = &ty.format.levels;
        if access.subscripts.len() != levels.len() || access.protocols.len() != levels.len() {
            return Err(format!(
                "it has {} coordinates and {} protocols, expected one of each for {} levels",
                access.subscripts.len(),
                access.protocols.len(),
                levels.len()
            ));
        }
        if let Some(outside) = access.outside.as_ref().filter(|v| v.dtype() != ty.dtype) {
            return Err(format!("its value out of bounds has dtype {}, expected {}", outside.dtype(), ty.dtype));
        }
        let workspace_levels = access.workspace.as_ref().map_or(&[][..], |w| &w.format.levels);
        if let Some(workspace) = &access.workspace {
            self.check_workspace(access, workspace, ty)?;
        }
        let levels = levels[..levels.len() - workspace_levels.len()].iter().chain(workspace_levels);
        let mut outer_depth = 0;
        for ((coordinate, protocol), level) in access.subscripts.iter().zip(&access.protocols).zip(levels) {
            let depth = self.binding_depth(coordinate)?;
            match protocol {
                Protocol::Walk | Protocol::Gallop => {
                    let is_affine = matches!(coordinate, StorageCoordinate::Subscript(Subscript::Affine(_)));
                    if !is_affine || depth <= outer_depth {
                        return Err(format!(
                            "the level at {coordinate} is walked, but no loop inside the loops of the outer levels binds \
                             its coordinate as an affine form"
                        ));
                    }
                    if !level.ordered && !self.is_conversion {
                        return Err(format!("the level at {coordinate} is walked, but not ordered"));
                    }
                }
                Protocol::Follow => {
                    if level.lookup() == Lookup::Unsupported {
                        return Err(format!("the level at {coordinate} is followed, but does not support lookup"));
                    }
                }
            }
            outer_depth = outer_depth.max(depth);
        }
        Ok(ty.dtype.clone())
    }

    /// Checks that the workspace of an access can store a fiber of the tensor.
    fn check_workspace(&self, access: &Access, workspace: &Workspace, ty: &TensorType) -> CheckResult {
        let Workspace { depth, format } = workspace;
        let modes = &ty.format.modes;
        let Some(first) = modes.len().checked_sub(format.levels.len()).filter(|first| *first < modes.len()) else {
            return Err(format!("its workspace has {} levels, expected 1 to {}", format.levels.len(), modes.len()));
        };
        let whole = |(k, mode): (usize, &StorageMode)| *mode == StorageMode::Whole { mode: k };
        let are_whole = modes[first..].iter().all(|mode| matches!(mode, StorageMode::Whole { .. }));
        if access.outside.is_some() {
            return Err("it has a workspace and a value out of bounds, expected at most one of them".to_owned());
        }
        if !are_whole || !format.modes.iter().enumerate().all(whole) {
            return Err("its workspace has storage modes that are not whole".to_owned());
        }
        for coordinate in &access.subscripts[..first] {
            if !matches!(coordinate, StorageCoordinate::Subscript(_)) {
                return Err(format!("its workspace is below the computed coordinate {coordinate}"));
            }
            if self.binding_depth(coordinate)? > *depth {
                return Err(format!("its workspace at depth {depth} is outside the loops that bind {coordinate}"));
            }
        }
        check_random_writes(format)?;
        let loops = self.loops.len();
        if *depth > loops {
            return Err(format!("its workspace is at depth {depth}, but {loops} loops surround the access"));
        }
        Ok(())
    }

    fn check_output(&self, output: &Output) -> CheckResult {
        let (ty, levels) = (&output.ty, &output.ty.format.levels);
        if output.subscripts.len() != levels.len() {
            return Err(format!("it has {} coordinates for {} levels", output.subscripts.len(), levels.len()));
        }
        let dtype = self.expr_dtype(&output.value)?;
        if dtype != ty.dtype {
            return Err(format!("its value has dtype {dtype}, expected {}", ty.dtype));
        }
        let mut fields = Vec::new();
        for coordinate in &output.subscripts {
            self.binding_depth(coordinate)?;
            collect_coordinate_fields(coordinate, &mut fields);
        }
        match &output.fold {
            Some(_) if output.computed_fills == ComputedFills::Drop => {
                return Err("it drops fill values, but has a fold, whose result is not final at a write".to_owned());
            }
            Some(op) => check_fold(op, &dtype)?,
            None => {
                if let Some(l) = self.loops.iter().find(|l| !fields.contains(&l.index)) {
                    return Err(format!(
                        "it has no fold, but the loop over `{}` writes its entries repeatedly",
                        l.index
                    ));
                }
            }
        }
        if let Some(pattern) = &output.pattern {
            return self.check_pattern(output, pattern).map_err(|e| format!("it has the pattern of `{pattern}`, {e}"));
        }
        let listed = levels.iter().rposition(|l| !l.kind.traits().writes.is_random());
        let (ordered, depth) = self.ordered_prefix(&output.subscripts);
        match &output.workspace {
            None if listed.is_none_or(|last| ordered > last) => Ok(()),
            None => Err(format!("only its outermost {ordered} levels are written in order, and it has no workspace")),
            Some(w) => {
                let others = levels.len().saturating_sub(w.format.levels.len());
                let loops = output.subscripts.iter().map(|at| self.loop_positions(at));
                let fixed: Vec<_> = loops.filter(|loops| loops.iter().all(|&l| l < w.depth)).collect();
                let are_all = fixed.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().eq(0..w.depth);
                if w.depth > depth || fixed.len() < others || !are_all {
                    return Err(format!(
                        "its workspace is at depth {}, but the loops outside it do not fix the {others} levels that the \
                         workspace lacks",
                        w.depth
                    ));
                }
                check_random_writes(&w.format)
            }
        }
    }

    /// Checks that an output can share the pattern of a tensor. The optimizer guarantees that the
    /// value is the fill value of the output wherever the tensor has its fill value; engines verify
    /// this property on programs.
    fn check_pattern(&self, output: &Output, pattern: &Alias) -> CheckResult {
        let fails = |reason: &str| Err(reason.to_owned());
        let Some(ty) = self.types.get(pattern) else {
            return fails("which is neither an input nor the output of an earlier query");
        };
        let (own, other) = (&output.ty.format, &ty.format);
        if output.ty.shape != ty.shape || own.modes != other.modes || own.levels != other.levels {
            return fails("which has another shape or other levels");
        }
        let has_runs = other.levels.iter().any(|l| l.kind.traits().runs);
        if own.leaf == LeafKind::Pattern || other.levels.is_empty() || has_runs {
            return fails("but does not store a value for each of its coordinates");
        }
        if output.computed_fills == ComputedFills::Drop || output.workspace.is_some() {
            return fails("but drops values or has a workspace");
        }
        match reads_at(&output.value, pattern, &output.subscripts) {
            true => Ok(()),
            false => fails("which its value does not read at the same coordinates, in bounds and without a workspace"),
        }
    }

    /// Returns the number of outermost levels that are written in the order of the outermost loops,
    /// and the number of those loops. A computed coordinate is written in order only if the levels
    /// above it bind all loops: along any further loop, the coordinate may repeat or descend.
    fn ordered_prefix(&self, coordinates: &[StorageCoordinate]) -> (usize, usize) {
        let (mut levels, mut depth) = (0, 0);
        for coordinate in coordinates {
            let new: BTreeSet<usize> = self.loop_positions(coordinate).into_iter().filter(|&p| p >= depth).collect();
            let next = depth + new.len();
            let ascending = new.iter().copied().eq(depth..next);
            let is_repeated = matches!(coordinate, StorageCoordinate::Computed(_)) && next < self.loops.len();
            if !ascending || is_repeated || (!new.is_empty() && !self.is_monotone(coordinate, depth)) {
                break;
            }
            (levels, depth) = (levels + 1, next);
        }
        (levels, depth)
    }

    /// Returns whether the coordinate certainly ascends in the lexicographic order of the loops
    /// from `depth` on: it is an affine form, and a step of each loop that occurs in it adds more
    /// than all rounds of the loops inside.
    fn is_monotone(&self, coordinate: &StorageCoordinate, depth: usize) -> bool {
        let StorageCoordinate::Subscript(Subscript::Affine(form)) = coordinate else { return false };
        let mut reach: i128 = 0;
        self.loops[depth..].iter().rev().filter(|l| form.coefficient(&l.index) != 0).all(|l| {
            let step = i128::from(form.coefficient(&l.index));
            let rounds = match &l.extent {
                Extent::Range(n) | Extent::Skew { n, .. } => *n,
                Extent::Block { block, .. } => *block,
            };
            let ascends = step > reach;
            reach += step * i128::from(rounds.saturating_sub(1));
            ascends
        })
    }

    /// Returns the positions of the loops whose indices occur in a coordinate.
    fn loop_positions(&self, coordinate: &StorageCoordinate) -> BTreeSet<usize> {
        let mut fields = Vec::new();
        collect_coordinate_fields(coordinate, &mut fields);
        fields.iter().filter_map(|f| self.loop_position(f)).collect()
    }
}

/// Checks that the format of a workspace takes random writes.
fn check_random_writes(format: &Format) -> CheckResult {
    match format.levels.iter().map(|l| l.kind.traits()).find(|traits| !traits.writes.is_random()) {
        Some(traits) => Err(format!("its workspace has a {} level, which does not take random writes", traits.name)),
        None => Ok(()),
    }
}

fn check_fold(op: &Op, dtype: &DType) -> CheckResult {
    let signature = op.signature(&[dtype.clone(), dtype.clone()]).map_err(|e| e.to_string())?;
    if signature.result != *dtype || signature.args.iter().any(|t| t != dtype) {
        return Err(format!("operator `{op}` does not fold values of dtype {dtype}"));
    }
    Ok(())
}

/// Returns whether a value reads the tensor directly at the given coordinates.
fn reads_at(value: &ScalarExpr, tensor: &Alias, coordinates: &[StorageCoordinate]) -> bool {
    match value {
        ScalarExpr::Literal(_) | ScalarExpr::Coordinate(_) | ScalarExpr::Temporary(_) => false,
        ScalarExpr::Access(a) => {
            a.tensor == *tensor && a.subscripts == coordinates && a.outside.is_none() && a.workspace.is_none()
        }
        ScalarExpr::Call(_, args) => args.iter().any(|arg| reads_at(arg, tensor, coordinates)),
    }
}

fn collect_coordinate_fields(coordinate: &StorageCoordinate, fields: &mut Vec<Field>) {
    match coordinate {
        StorageCoordinate::Subscript(s) => fields.extend(s.form().terms.iter().map(|(f, _)| f.clone())),
        StorageCoordinate::Computed(expr) => collect_expr_fields(expr, fields),
    }
}

fn collect_expr_fields(expr: &ScalarExpr, fields: &mut Vec<Field>) {
    match expr {
        ScalarExpr::Literal(_) | ScalarExpr::Temporary(_) => {}
        ScalarExpr::Coordinate(form) => fields.extend(form.terms.iter().map(|(f, _)| f.clone())),
        ScalarExpr::Access(a) => a.subscripts.iter().for_each(|c| collect_coordinate_fields(c, fields)),
        ScalarExpr::Call(_, args) => args.iter().for_each(|a| collect_expr_fields(a, fields)),
    }
}
