//! Initial contents of outputs. A buffer of an output need not start with fill values if all its
//! elements are written before any is read. For a streaming kernel, writing fill values would be a
//! large part of the work. Likewise, if one loop computes the whole fold of an element, the fold
//! need not read the element first.

use super::cx::Cx;
use super::level::AssembleMode;
use crate::assembly::{Buffer, Stmt as AssemblyStmt};
use crate::notation::{Access, AccessSubscript, Bounds, Expr, Index, Program, Role, Stmt, TensorDecl, TensorId, Write};
use redpoll_logic::{LeafKind, LevelFormat, LevelKind, StorageMode};
use redpoll_storage::levels::{ArrayClass, level};

/// Returns the buffers whose new elements may have any contents: the values of outputs whose
/// elements are all set, and the coordinates and values that lists append. `body` is the code of
/// the function.
pub(super) fn unfilled(cx: &Cx<'_>, body: &[AssemblyStmt]) -> Vec<Buffer> {
    let mut buffers = Vec::new();
    for (id, code) in cx.program.outputs().map(|id| (id, cx.tensor(id))) {
        if code.fully_set || is_set_along_pattern(cx.program, id) && code.leaf.iter().all(|leaf| stores(body, *leaf)) {
            buffers.extend_from_slice(&code.leaf);
        }
        if code.assemble_mode != AssembleMode::New {
            continue;
        }
        // An entry is appended with its coordinate, and with its value if the assignment does not
        // depend on the previous value.
        for list in code.levels.iter().filter(|list| list.format.kind == LevelKind::SparseList) {
            let arrays = level(list.format.kind).arrays().iter().zip(&list.arrays);
            buffers.extend(arrays.filter(|(spec, _)| spec.class == ArrayClass::Coordinate).map(|(_, array)| *array));
        }
        let appended = code.levels.last().is_some_and(|l| l.format.kind == LevelKind::SparseList && l.format.unique);
        if appended && is_only_set(cx.program, id) {
            buffers.extend_from_slice(&code.leaf);
        }
    }
    buffers
}

/// Returns whether every assignment of a tensor sets a value that does not depend on the previous
/// value, and the tensor is never thawed or swapped.
fn is_only_set(program: &Program, id: TensorId) -> bool {
    let mut only = true;
    program.body.walk(&mut |stmt| match stmt {
        Stmt::Assign { lhs, write, .. } if lhs.tensor == id => only &= *write == Write::Init,
        Stmt::Thaw(t) => only &= *t != id,
        Stmt::Swap(t, u) => only &= *t != id && *u != id,
        _ => {}
    });
    only
}

/// Returns whether a tensor is a dense output that one unconditional assignment sets at every
/// coordinate, in loops over all of its modes. Lowering then never skips the assignment. Loops
/// along the stored entries of another tensor are excluded, because in such loops skipping
/// coordinates saves more than not filling the output.
pub(super) fn is_fully_set(program: &Program, id: TensorId) -> bool {
    let decl = &program.tensors[id.index()];
    if decl.role != Role::Output || !is_plain(decl) {
        return false;
    }
    let Some(SoleAssignment { lhs, write: Write::Init, loops, conditional: false, .. }) =
        sole_assignment(&program.body, id)
    else {
        return false;
    };
    sets_each_coordinate(lhs, &loops, &decl.ty.shape)
        && !has_leading_level(program, &loops.iter().map(|(index, _)| *index).collect::<Vec<_>>())
}

/// Returns whether loops over whole modes, one for each subscript, run an assignment once at every
/// coordinate of a tensor with the given sizes of storage modes.
fn sets_each_coordinate(lhs: &Access, loops: &EnclosingLoops<'_>, sizes: &[u64]) -> bool {
    let covers = |at: &Expr, size: u64| {
        let all = Some((Expr::int(0), Expr::int(size as i64)));
        matches!(at, Expr::Index(index) if loops.iter().any(|(own, extent)| own == index && **extent == all))
    };
    let each_once = |index: &Index| lhs.subscripts.iter().filter(|s| s.at == Expr::Index(*index)).count() == 1;
    lhs.subscripts.len() == loops.len()
        && lhs.subscripts.iter().zip(sizes).all(|(s, size)| covers(&s.at, *size))
        && loops.iter().all(|(index, _)| each_once(index))
}

/// Returns whether three conditions hold: a tensor is an output with the pattern of an input, its
/// levels are dense or unique sparse lists, and one unconditional assignment sets all of its stored
/// elements. The assignment is in loops over whole modes, which walk only that input. Its value is
/// computed from the input's element at the same coordinates, from elements of dense inputs and
/// from constants.
///
/// Lowering drops such an assignment only if its value is a constant, and then at all coordinates.
fn is_set_along_pattern(program: &Program, id: TensorId) -> bool {
    let decl = &program.tensors[id.index()];
    let format = &decl.ty.format;
    let is_walked = |level: &LevelFormat| match level.kind {
        LevelKind::Dense => true,
        LevelKind::SparseList => level.unique,
        _ => false,
    };
    let Some(input) = decl.pattern.filter(|_| format.leaf == LeafKind::Element && format.levels.iter().all(is_walked))
    else {
        return false;
    };
    let Some(SoleAssignment { lhs, rhs, write: Write::Init, loops, conditional: false }) =
        sole_assignment(&program.body, id)
    else {
        return false;
    };
    sets_each_coordinate(lhs, &loops, &format.storage_shape(&decl.ty.shape))
        && is_elementwise(program, rhs, &|access| {
            let at = |access: &Access| access.subscripts.iter().map(|s| s.at.clone()).collect::<Vec<_>>();
            access.tensor == input && at(access) == at(lhs)
        })
        && rhs.accesses().iter().any(|access| access.tensor == input)
}

/// Returns whether a value is made of constants, of elements of dense inputs within their bounds,
/// and of other accesses that `accepts` allows. Locals are excluded: where nothing was written to a
/// local, lowering knows its value and may drop the assignment.
fn is_elementwise(program: &Program, value: &Expr, accepts: &impl Fn(&Access) -> bool) -> bool {
    match value {
        Expr::Literal(_) => true,
        Expr::Index(_) | Expr::Var(_) => false,
        Expr::Call(_, args) => args.iter().all(|arg| is_elementwise(program, arg, accepts)),
        Expr::Access(access) => {
            let is_plain = |s: &AccessSubscript| {
                s.outside.is_none()
                    && matches!(s.bounds, Bounds::Proved)
                    && matches!(s.at, Expr::Index(_) | Expr::Literal(_))
            };
            let decl = &program.tensors[access.tensor.index()];
            let is_dense = decl.role == Role::Input && decl.ty.format.is_dense();
            accepts(access) || is_dense && access.subscripts.iter().all(is_plain)
        }
    }
}

/// Returns whether code stores into a buffer.
fn stores(body: &[AssemblyStmt], buffer: Buffer) -> bool {
    let mut is_store = |stmt: &AssemblyStmt| matches!(stmt, AssemblyStmt::Store { buffer: own, .. } if *own == buffer);
    body.iter().any(|stmt| stmt.any(&mut is_store))
}

/// Returns whether a tensor stores values in one or more dense levels of its own. Each level stores
/// one whole mode, in the order of the modes.
fn is_plain(decl: &TensorDecl) -> bool {
    let format = &decl.ty.format;
    let is_whole = |(k, mode): (usize, &StorageMode)| *mode == StorageMode::Whole { mode: k };
    decl.pattern.is_none()
        && format.leaf == LeafKind::Element
        && !format.levels.is_empty()
        && format.is_dense()
        && format.modes.iter().enumerate().all(is_whole)
}

/// Returns the loop that computes the whole fold of each element of an output; `None` if there is
/// no such loop. The loops around that loop are the loops over the output's modes, and no other
/// statement writes the output, so each element has the fill value until the loop runs. Levels with
/// one entry or run in each fiber are excluded: their coordinates share a position.
pub(super) fn fold_loop(program: &Program, id: TensorId) -> Option<Index> {
    let decl = &program.tensors[id.index()];
    if decl.role != Role::Output || decl.ty.format.levels.iter().any(|level| level.kind.traits().single) {
        return None;
    }
    let SoleAssignment { lhs, write: Write::Fold(_), loops, .. } = sole_assignment(&program.body, id)? else {
        return None;
    };
    let outside = loops.get(..lhs.subscripts.len())?;
    let each_once =
        |(index, _): &(Index, _)| lhs.subscripts.iter().filter(|s| s.at == Expr::Index(*index)).count() == 1;
    outside.iter().all(each_once).then(|| loops.get(outside.len())).flatten().map(|(index, _)| *index)
}

type EnclosingLoops<'a> = Vec<(Index, &'a Option<(Expr, Expr)>)>;

/// The only assignment that writes a tensor.
struct SoleAssignment<'a> {
    lhs: &'a Access,
    rhs: &'a Expr,
    write: &'a Write,
    /// The enclosing loops, outermost first.
    loops: EnclosingLoops<'a>,
    /// True if the assignment is under a condition.
    conditional: bool,
}

/// Returns the only assignment of a tensor that is declared once and never thawed or swapped;
/// `None` if there is no such assignment, or it is within a `while`.
fn sole_assignment(body: &Stmt, id: TensorId) -> Option<SoleAssignment<'_>> {
    let mut writes = 0;
    let mut lifetimes = 0;
    body.walk(&mut |stmt| match stmt {
        Stmt::Assign { lhs, .. } if lhs.tensor == id => writes += 1,
        Stmt::Declare(t) if *t == id => lifetimes += 1,
        Stmt::Thaw(t) if *t == id => lifetimes += 2,
        Stmt::Swap(t, u) if [t, u].contains(&&id) => lifetimes += 2,
        _ => {}
    });
    if (writes, lifetimes) == (1, 1) { find(body, id, &mut Vec::new(), false) } else { None }
}

fn find<'a>(
    stmt: &'a Stmt,
    id: TensorId,
    loops: &mut EnclosingLoops<'a>,
    conditional: bool,
) -> Option<SoleAssignment<'a>> {
    match stmt {
        Stmt::Block(items) => items.iter().find_map(|item| find(item, id, loops, conditional)),
        Stmt::For { index, extent, body, .. } => {
            loops.push((*index, extent));
            let found = find(body, id, loops, conditional);
            loops.pop();
            found
        }
        Stmt::Let { body, .. } => find(body, id, loops, conditional),
        Stmt::If { body, .. } => find(body, id, loops, true),
        Stmt::Where { consumer, producer } => {
            find(producer, id, loops, conditional).or_else(|| find(consumer, id, loops, conditional))
        }
        Stmt::Assign { lhs, write, rhs } if lhs.tensor == id => {
            Some(SoleAssignment { lhs, rhs, write, loops: loops.clone(), conditional })
        }
        _ => None,
    }
}

/// Returns whether a read uses the index of one of these loops at a level that is not dense.
fn has_leading_level(program: &Program, loops: &[Index]) -> bool {
    let mut found = false;
    program.body.walk(&mut |stmt| {
        for access in stmt.exprs().into_iter().flat_map(Expr::accesses) {
            let levels = &program.tensors[access.tensor.index()].ty.format.levels;
            found |= access.subscripts.iter().zip(levels).any(|(subscript, level)| {
                let mut uses_loop = false;
                subscript.at.walk(&mut |e| uses_loop |= matches!(e, Expr::Index(index) if loops.contains(index)));
                uses_loop && level.kind != LevelKind::Dense
            });
        }
    });
    found
}
