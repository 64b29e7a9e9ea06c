//! Analysis of whether the outermost loop of a program can be cut into chunks, and of how the
//! outputs of chunks are joined.
//!
//! A chunk is the program with the outermost loop restricted to a range of its rounds. Each chunk
//! has its own locals; the join of an output says whether the chunks share the memory of the
//! output. The statements around the loop run once in each chunk, so they must have no loops, and
//! may write only scalar locals. Each output is joined in one of three ways ([`Join`]):
//! - chunks write disjoint elements;
//! - chunks write disjoint ranges of the outermost coordinates;
//! - the outputs of chunks are folded by an associative operator that is idempotent or whose
//!   identity is the fill value.

use super::verify::{ProgramRule, location};
use super::{Access, Atom, Expr, Index, Linear, Program, Role, Rounds, Stmt, TensorDecl, TensorId, Write};
use crate::Error;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{FloatMode, LeafKind};
use redpoll_storage::levels::{Concatenation, kernel_format, level};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// All rounds of the outermost loop.
pub const ALL_ROUNDS: Range<i64> = i64::MIN / 2..i64::MAX / 2;

/// Maximum number of chunks of a loop whose results depend on the cuts. The cuts of such a loop
/// must not depend on the number of threads, so this constant limits their number.
pub const MAX_CHUNKS: u64 = 64;

/// The cut of a program's outermost loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Cut {
    /// The index of the loop.
    pub index: Index,
    /// The range of the index of the loop.
    pub rounds: Range<i64>,
    /// The inputs whose outermost level the loop iterates over: the number of each input, and the
    /// offset that its subscript adds to the index.
    pub drivers: Vec<(usize, i64)>,
    /// The numbers of the other inputs with more than one level, over whose fibers inner loops may
    /// iterate.
    pub followers: Vec<usize>,
    /// If there are no drivers: the numbers of the sparse inputs whose subscripts do not depend on
    /// the index, so that each round iterates over all of them.
    pub repeated: Vec<usize>,
    /// The outputs of the program, in their order, each with its join.
    pub outputs: Vec<(TensorId, Join)>,
    /// True if the results are bit-identical wherever the loop is cut. Three kinds of output may
    /// depend on the cuts:
    /// - A float fold over rounds is rounded in the order of the chunks.
    /// - A float zero that one round computes may change its sign if some level has runs or blocks:
    ///   where a run or block is cut in two, its ends are computed by other code than its middle.
    /// - A sparse output may store a different set of entries: where a run or block is cut in two,
    ///   the code for its ends may store fill values that the code for its middle skips, or the
    ///   reverse.
    pub exact: bool,
}

impl Cut {
    /// Returns the join of an output; `None` for other tensors.
    pub fn join(&self, output: TensorId) -> Option<&Join> {
        self.outputs.iter().find(|(id, _)| *id == output).map(|(_, join)| join)
    }

    /// Returns the numbers of the inputs that determine the positions of the cuts.
    pub fn cut_inputs(&self) -> impl Iterator<Item = usize> {
        self.drivers.iter().map(|(number, _)| number).chain(&self.followers).chain(&self.repeated).copied()
    }
}

/// The method of joining the outputs of chunks into one output.
#[derive(Clone, PartialEq, Debug)]
pub enum Join {
    /// All chunks write the same memory, each its own elements.
    Shared,
    /// Each chunk writes a range of the coordinates of the outermost level, in order. The arrays of
    /// a chunk are appended to the arrays of the previous chunk.
    Appended(RoundCoordinates),
    /// Each chunk folds starting from the fill value; the results are folded by the same operator,
    /// in the order of the chunks.
    Folded(Op),
}

/// The coordinates that each round writes in the outermost mode of an appended output. A round
/// writes coordinates from `factor * round + constant` on, below the first coordinate of the next
/// round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundCoordinates {
    factor: i64,
    constant: i64,
}

impl RoundCoordinates {
    /// Limit on the factor and on the absolute value of the constant, so that the coordinates of
    /// the round [`RoundCoordinates::max_round`] are beyond all coordinates of tensors with
    /// dimensions up to `2^61`.
    const MAX: i64 = 1 << 31;

    /// The coordinates if each round `i` writes only the coordinate `i`.
    pub const ROUND: RoundCoordinates = RoundCoordinates { factor: 1, constant: 0 };

    /// Returns the coordinates of rounds that write `width` coordinates from
    /// `factor * round + constant` on; `None` if the coordinates of the rounds are not ascending
    /// and disjoint, or if the factor or the absolute value of the constant exceeds
    /// [`RoundCoordinates::MAX`].
    fn of_span(CoordinateSpan { factor, constant, width }: CoordinateSpan) -> Option<RoundCoordinates> {
        let fits = (1..=RoundCoordinates::MAX).contains(&factor) && width <= factor;
        let offsets = -RoundCoordinates::MAX..=RoundCoordinates::MAX;
        (fits && offsets.contains(&constant)).then_some(RoundCoordinates { factor, constant })
    }

    /// Returns the greatest number of a round whose coordinates are computed without overflow. A
    /// chunk may begin and end far outside of the loop ([`ALL_ROUNDS`]), so round numbers are
    /// clamped to this maximum in both directions.
    pub fn max_round(self) -> i64 {
        (ALL_ROUNDS.end - RoundCoordinates::MAX) / self.factor
    }

    /// Returns the factor and the constant.
    pub fn form(self) -> (i64, i64) {
        (self.factor, self.constant)
    }

    /// Returns the first coordinate of a round.
    pub fn first(self, round: i64) -> i64 {
        let max = self.max_round();
        self.factor * round.clamp(-max, max) + self.constant
    }
}

/// A reason why the outermost loop of a program cannot be cut. The names in the variants are names
/// of tensors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// The program has no outermost loop, or several, or the only one is a `while`.
    SeveralLoops,
    /// Rounds may share the contents of this local: it is declared outside of the loop, and either
    /// has levels or is changed in the loop.
    CarriedLocal(String),
    /// The number of rounds is computed at run time.
    OpenExtent,
    /// This output is written outside of the loop.
    WrittenOutside(String),
    /// This output is read or changes its state within the loop.
    ReadInside(String),
    /// Several rounds may write one element of this output, and the writes are not folds by one
    /// operator that can be regrouped by chunks.
    NotFolded(String),
    /// This output is appended to, and its outermost coordinate has neither of two forms. One form
    /// is the index of the loop, possibly multiplied by a positive factor, plus a constant. The
    /// other form is for a loop over blocks of a constant number of rounds: the index of the loop
    /// over the rounds of one block.
    Appended(String),
    /// This output is appended to, and arrays of its format cannot be concatenated.
    NotConcatenated(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::SeveralLoops => write!(f, "there is not exactly one outermost loop, or it is a `while`"),
            Obstacle::CarriedLocal(local) => write!(f, "rounds share the local `{local}`"),
            Obstacle::OpenExtent => write!(f, "the extent of the outermost loop is computed at run time"),
            Obstacle::WrittenOutside(output) => write!(f, "`{output}` is written outside of the loop"),
            Obstacle::ReadInside(output) => {
                write!(f, "`{output}` is read, declared, frozen, thawed or swapped inside of the loop")
            }
            Obstacle::NotFolded(output) => {
                write!(
                    f,
                    "several rounds may write one element of `{output}`, and the writes are not folds by one operator \
                     that can be regrouped"
                )
            }
            Obstacle::NotConcatenated(output) => {
                write!(
                    f,
                    "`{output}` is appended to, and its format cannot be put together from chunks; give it dense and \
                     sparse-list levels, such as csr"
                )
            }
            Obstacle::Appended(output) => {
                write!(
                    f,
                    "`{output}` is appended to, and its outermost coordinate is neither the index of this loop nor, if \
                     this loop is over blocks of a constant number of rounds, the index of the loop over the rounds of \
                     one block, as `ii` in `split(i, io, ii, 64)`; blocks of stored entries and blocks of a product do \
                     not append in chunks"
                )
            }
        }
    }
}

/// Returns the cut of the outermost loop of a program in normal form.
///
/// # Errors
/// Returns the obstacle if the loop cannot be cut.
pub fn cut(program: &Program, mode: FloatMode) -> Result<Cut, Obstacle> {
    let (index, extent, body) = outermost_loop(&program.body)?;
    if let Some(local) = carried_local(program) {
        return Err(Obstacle::CarriedLocal(program.tensors[local.index()].name.clone()));
    }
    let rounds = extent.0.as_int().zip(extent.1.as_int()).ok_or(Obstacle::OpenExtent)?;
    let writes = BodyAccesses::of(body);
    let mut all = Vec::new();
    program.body.walk(&mut |s| {
        if let Stmt::Assign { lhs, .. } = s {
            all.push(lhs.tensor);
        }
    });
    let mut outputs = Vec::new();
    for id in program.outputs() {
        let decl = &program.tensors[id.index()];
        let own: Vec<_> = writes.assigns.iter().filter(|(lhs, _)| lhs.tensor == id).collect();
        if all.iter().filter(|t| **t == id).count() != own.len() {
            return Err(Obstacle::WrittenOutside(decl.name.clone()));
        }
        if writes.other_uses.contains(&id) {
            return Err(Obstacle::ReadInside(decl.name.clone()));
        }
        let join = output_join(decl, &own, &|at| writes.span(at, index), mode);
        let obstacle = || match decl.appended_levels() {
            0 => Obstacle::NotFolded(decl.name.clone()),
            _ if is_concatenated(decl) => Obstacle::Appended(decl.name.clone()),
            _ => Obstacle::NotConcatenated(decl.name.clone()),
        };
        outputs.push((id, join.ok_or_else(obstacle)?));
    }
    let single = program
        .tensors
        .iter()
        .flat_map(|decl| &decl.ty.format.levels)
        .all(|format| level(format.kind).concatenation() != Concatenation::None);
    let is_cut_sensitive = |(id, join): &(TensorId, Join)| {
        let decl = &program.tensors[id.index()];
        let floats = decl.ty.dtype.prims().iter().any(|p| p.is_float());
        !is_dense(decl) || floats && (*join != Join::Shared || !single)
    };
    let exact = !outputs.iter().any(is_cut_sensitive);
    let drivers = drivers(program, index);
    let ranks = program.tensors.iter().filter(|d| d.role == Role::Input).map(|d| d.ty.format.levels.len());
    let follows = |(k, rank): &(usize, usize)| *rank > 1 && !drivers.iter().any(|(driver, _)| driver == k);
    let followers = ranks.enumerate().filter(follows).map(|(k, _)| k).collect();
    let repeated = if drivers.is_empty() { repeated(program, &writes, index) } else { Vec::new() };
    Ok(Cut { index, rounds: rounds.0..rounds.1, drivers, followers, repeated, outputs, exact })
}

/// Returns the number of each input whose outermost coordinate is the index plus a constant, and
/// that constant.
fn drivers(program: &Program, index: Index) -> Vec<(usize, i64)> {
    let mut found: Vec<(TensorId, i64)> = Vec::new();
    program.body.walk(&mut |s| {
        for access in s.exprs().into_iter().flat_map(Expr::accesses) {
            let form = access.subscripts.first().and_then(|s| Linear::of(&s.at));
            if let Some(Linear { terms, constant }) = form
                && terms[..] == [(Atom::Index(index), 1)]
                && !found.iter().any(|(tensor, _)| *tensor == access.tensor)
            {
                found.push((access.tensor, constant));
            }
        }
    });
    let inputs = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
    let shift = |id| found.iter().find(|(tensor, _)| *tensor == id).map(|(_, shift)| *shift);
    inputs.enumerate().filter_map(|(number, (id, _))| Some((number, shift(id)?))).collect()
}

/// Returns the numbers of the sparse inputs whose subscripts do not depend on the index.
fn repeated(program: &Program, writes: &BodyAccesses, index: Index) -> Vec<usize> {
    let mut dependent: Vec<TensorId> = Vec::new();
    program.body.walk(&mut |s| {
        for access in s.exprs().into_iter().flat_map(Expr::accesses) {
            if access.subscripts.iter().any(|s| writes.depends_on(&s.at, index)) {
                dependent.push(access.tensor);
            }
        }
    });
    let inputs = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
    let is_sparse = |decl: &TensorDecl| !decl.ty.format.is_dense();
    inputs
        .enumerate()
        .filter(|(_, (id, decl))| is_sparse(decl) && !dependent.contains(id))
        .map(|(number, _)| number)
        .collect()
}

/// Checks that each loop marked as parallel can be cut into chunks.
///
/// # Errors
/// Returns [`Error::InvalidProgram`] with the obstacle if a loop cannot be cut.
pub fn verify_parallel(program: &Program, mode: FloatMode) -> Result<(), Error> {
    fn check<'a>(
        program: &'a Program,
        cut: &Result<Cut, Obstacle>,
        stmt: &'a Stmt,
        path: &mut Vec<&'a Stmt>,
    ) -> Result<(), Error> {
        path.push(stmt);
        if let Stmt::For { index, rounds: Rounds::Parallel, .. } = stmt {
            let reason = match cut {
                Ok(cut) if cut.index == *index => None,
                Ok(cut) => Some(format!(
                    "the loop of `{}` is around it, and only the outermost one can be parallel",
                    program.indices[cut.index.index()]
                )),
                Err(Obstacle::OpenExtent) => {
                    Some(format!("{}; split into a given number of blocks, `into(N, ..)`", Obstacle::OpenExtent))
                }
                Err(obstacle) => Some(obstacle.to_string()),
            };
            if let Some(reason) = reason {
                let what = format!("`{}` cannot be cut into chunks: {reason}", program.indices[index.index()]);
                return Err(Error::InvalidProgram { rule: ProgramRule::Parallel, at: location(program, path), what });
            }
        }
        stmt.children().into_iter().try_for_each(|s| check(program, cut, s, path))?;
        path.pop();
        Ok(())
    }
    check(program, &cut(program, mode), &program.body, &mut Vec::new())
}

/// The range of a subscript in one round of the cut loop: `width` coordinates from
/// `factor * index + constant` on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CoordinateSpan {
    factor: i64,
    constant: i64,
    width: i64,
}

/// Returns the join of an output with these writes; `None` if the output cannot be joined. `span`
/// returns the range of a subscript in one round of the cut loop, if it depends only on that loop
/// and at most one inner loop.
fn output_join(
    decl: &TensorDecl,
    writes: &[&(&Access, &Write)],
    span: &dyn Fn(&Expr) -> Option<CoordinateSpan>,
    mode: FloatMode,
) -> Option<Join> {
    let ty = &*decl.ty;
    // Rounds write disjoint ranges if the stride of the ranges is at least their width.
    let disjoint_span = |k: usize| {
        let mut at = writes.iter().map(|(lhs, _)| span(&lhs.subscripts[k].at));
        let first = at.next().flatten()?;
        (at.all(|other| other == Some(first)) && first.width <= first.factor.abs()).then_some(first)
    };
    let rank = ty.format.levels.len();
    if is_dense(decl) && (0..rank).any(|k| disjoint_span(k).is_some()) {
        return Some(Join::Shared);
    }
    if is_concatenated(decl)
        && rank > 0
        && let Some(coordinates) = disjoint_span(0).and_then(RoundCoordinates::of_span)
    {
        return Some(Join::Appended(coordinates));
    }
    fold_operator(decl, &mut writes.iter().map(|(_, write)| *write), mode).map(Join::Folded)
}

/// Returns whether an output of this format can be made by concatenation of arrays that chunks
/// append to.
fn is_concatenated(TensorDecl { ty, pattern, .. }: &TensorDecl) -> bool {
    let written = kernel_format(&ty.format);
    let levels = || written.levels.iter().all(|l| level(l.kind).concatenation() != Concatenation::None);
    pattern.is_none() && *written == ty.format && levels()
}

/// Returns the operator by which all these writes fold into an output, if partial folds that start
/// from the fill value can be folded by the same operator.
pub(super) fn fold_operator(
    decl: &TensorDecl,
    writes: &mut dyn Iterator<Item = &Write>,
    mode: FloatMode,
) -> Option<Op> {
    let ty = &*decl.ty;
    let mut ops = writes.map(|write| match write {
        Write::Fold(op) => Some(op),
        Write::Init | Write::Overwrite => None,
    });
    let op = ops.next().flatten()?;
    let own = op.signature(&[ty.dtype.clone(), ty.dtype.clone()]).is_ok_and(|s| s.result == ty.dtype);
    let starts_from_identity = op.fold_identity(&ty.dtype, mode).is_some_and(|identity| identity == ty.fill);
    let is_regroupable =
        op.is_associative(&ty.dtype, mode) && (starts_from_identity || op.is_idempotent(&ty.dtype, mode));
    (own && is_regroupable && ops.all(|other| other == Some(op))).then(|| op.clone())
}

/// Returns whether the stored entries are fixed in advance: the output has the pattern of an input,
/// or all levels are dense and the leaf has values.
pub(super) fn is_dense(TensorDecl { ty, pattern, .. }: &TensorDecl) -> bool {
    pattern.is_some() || ty.format.leaf == LeafKind::Element && ty.format.is_dense()
}

/// The reads and writes of a loop's body.
struct BodyAccesses<'a> {
    assigns: Vec<(&'a Access, &'a Write)>,
    /// The tensors that are read, declared, frozen, thawed or swapped.
    other_uses: Vec<TensorId>,
    /// The first value of each loop's index, and the maximum number of rounds, for loops with a
    /// linear begin and a constant maximum.
    loops: HashMap<Index, (Linear, i64)>,
}

impl<'a> BodyAccesses<'a> {
    fn of(body: &'a Stmt) -> BodyAccesses<'a> {
        let mut found = BodyAccesses { assigns: Vec::new(), other_uses: Vec::new(), loops: HashMap::new() };
        body.walk(&mut |s| {
            found.other_uses.extend(s.exprs().into_iter().flat_map(Expr::accesses).map(|a| a.tensor));
            match s {
                Stmt::Assign { lhs, write, .. } => found.assigns.push((lhs, write)),
                Stmt::Declare(t) | Stmt::Freeze(t) | Stmt::Thaw(t) => found.other_uses.push(*t),
                Stmt::Swap(t, u) => found.other_uses.extend([*t, *u]),
                Stmt::For { index, extent: Some((lo, hi)), .. } => {
                    if let Some(lo) = Linear::of(lo)
                        && let Some(rounds) = max_rounds(&lo, hi)
                    {
                        found.loops.insert(*index, (lo, rounds));
                    }
                }
                _ => {}
            }
        });
        found
    }

    /// Returns the range of a subscript in a round of the loop of `index`. Returns `None` if the
    /// subscript is not linear or does not depend on that loop. Also returns `None` if the
    /// subscript depends on variables, on several inner loops, on an inner loop without a constant
    /// maximum of rounds, or on an inner loop of several rounds by a stride other than 1.
    fn span(&self, at: &Expr, index: Index) -> Option<CoordinateSpan> {
        let form = Linear::of(at)?;
        let inner = form.terms.iter().find(|(atom, _)| *atom != Atom::Index(index)).copied();
        let (first, width) = match inner {
            None => (form, 1),
            Some((atom @ Atom::Index(i), step)) => {
                let (lo, rounds) = self.loops.get(&i)?;
                // The rounds cover consecutive coordinates from the first on only if the stride is
                // 1.
                if *rounds != 1 && step != 1 {
                    return None;
                }
                (form.without(atom).plus(&lo.times(step)?)?, *rounds)
            }
            Some((Atom::Var(_), _)) => return None,
        };
        match first.terms[..] {
            [(Atom::Index(i), factor)] if i == index => {
                Some(CoordinateSpan { factor, constant: first.constant, width })
            }
            _ => None,
        }
    }
}

impl BodyAccesses<'_> {
    /// Returns whether a subscript depends on an index, directly or through the begin of an inner
    /// loop in `loops`. A subscript with a variable counts as dependent.
    fn depends_on(&self, at: &Expr, index: Index) -> bool {
        let by = |atom: &Atom| match atom {
            Atom::Index(i) => {
                let begins = |(lo, _): &(Linear, i64)| lo.coefficient(Atom::Index(index)) != 0;
                *i == index || self.loops.get(i).is_some_and(begins)
            }
            Atom::Var(_) => true,
        };
        at.atoms().iter().any(by)
    }
}

/// Returns a constant upper bound of `hi - lo`; `None` if none is found. An end that is a `min` is
/// at most each of its arguments.
fn max_rounds(lo: &Linear, hi: &Expr) -> Option<i64> {
    match hi {
        Expr::Call(Op::Builtin(Builtin::Min), ends) => ends.iter().filter_map(|end| max_rounds(lo, end)).min(),
        _ => Linear::of(hi)?.plus(&lo.times(-1)?)?.as_constant(),
    }
}

/// Returns the index, extent and body of the only outermost loop.
fn outermost_loop(body: &Stmt) -> Result<(Index, (&Expr, &Expr), &Stmt), Obstacle> {
    fn collect<'a>(stmt: &'a Stmt, found: &mut Vec<&'a Stmt>) {
        match stmt {
            Stmt::For { .. } | Stmt::While { .. } => found.push(stmt),
            _ => stmt.children().into_iter().for_each(|s| collect(s, found)),
        }
    }
    let mut loops = Vec::new();
    collect(body, &mut loops);
    match loops[..] {
        [Stmt::For { index, extent: Some((lo, hi)), body, .. }] => Ok((*index, (lo, hi), body)),
        [Stmt::For { .. }] => Err(Obstacle::OpenExtent),
        _ => Err(Obstacle::SeveralLoops),
    }
}

/// Returns a local that is declared outside of the outermost loop and whose contents rounds may
/// share: the loop assigns, thaws or swaps the local, or the local has levels, whose arrays each
/// chunk would write.
fn carried_local(program: &Program) -> Option<TensorId> {
    fn around(stmt: &Stmt, found: &mut Vec<TensorId>) {
        match stmt {
            Stmt::For { .. } | Stmt::While { .. } => {}
            Stmt::Declare(t) => found.push(*t),
            _ => stmt.children().into_iter().for_each(|s| around(s, found)),
        }
    }
    let mut locals = Vec::new();
    around(&program.body, &mut locals);
    locals.retain(|t| program.tensors[t.index()].role == Role::Local);
    let mut carried = locals.iter().copied().find(|t| !program.tensors[t.index()].ty.format.levels.is_empty());
    program.body.walk(&mut |s| {
        if let Stmt::For { body, .. } = s {
            body.walk(&mut |s| match s {
                Stmt::Thaw(t) | Stmt::Swap(t, _) if locals.contains(t) => carried = Some(*t),
                Stmt::Swap(_, t) if locals.contains(t) => carried = Some(*t),
                Stmt::Assign { lhs, .. } if locals.contains(&lhs.tensor) => carried = Some(lhs.tensor),
                _ => {}
            });
        }
    });
    carried
}
