//! Blocks in position space: new inputs with the bounds of blocks of the stored entries of another
//! input.

use super::super::linear::Atom;
use super::super::tables::check_fibers;
use super::super::{Access, AccessSubscript, BlockInputs, Expr, Index, Program, Role, Stmt, TensorDecl, TensorId};
use super::extent::plus;
use super::unroll::unused_name;
use redpoll_logic::TensorType;
use redpoll_logic::op::Builtin;
use redpoll_logic::physical::Protocol;
use redpoll_storage::{BlockPartition, StoredBlocks};
use std::ops::Range;
use std::sync::Arc;

/// Adds the inputs with the bounds of blocks for the loops of those indices, which iterate over
/// adjacent storage modes of `of`; returns their number in [`Program::block_inputs`].
pub(super) fn add_block_inputs(
    program: &mut Program,
    of: &str,
    loops: &[Index],
    (name, blocks): (&str, BlockPartition),
) -> Result<usize, String> {
    if let BlockPartition::Into(blocks) = blocks
        && blocks > BlockInputs::MAX_BLOCKS
    {
        return Err(format!("{blocks} blocks exceed the maximum of {}", BlockInputs::MAX_BLOCKS));
    }
    let id = program.tensors.iter().position(|t| t.name == of && t.role == Role::Input);
    let id = TensorId(id.ok_or_else(|| format!("there is no input `{of}`"))? as u32);
    let (modes, _) = find_access(program, id, loops)?;
    check_extents(program, id, loops, &modes)?;
    check_fibers(&program.tensors[id.index()], &modes)?;
    let ty = program.tensors[id.index()].ty.clone();
    let stored = StoredBlocks { modes, blocks };
    let begins_type = stored.begins_type(&ty).ok_or_else(|| format!("the loops over `{of}` have too many rounds"))?;
    let counts_type = stored.counts_type(&ty);
    let mut add_input = |name: String, ty: TensorType| {
        let name = if program.tensors.iter().any(|t| t.name == name) { unused_name(program, &name) } else { name };
        program.tensors.push(TensorDecl::new(name, Arc::new(ty), Role::Input));
        TensorId(program.tensors.len() as u32 - 1)
    };
    let begins = add_input(format!("{of} by {name}"), begins_type);
    let counts = counts_type.map(|ty| add_input(format!("number of {name} of {of}"), ty));
    program.block_inputs.push(BlockInputs { of: id, stored, begins, counts });
    Ok(program.block_inputs.len() - 1)
}

/// Returns the storage modes of a tensor over which the loops iterate, outermost first, and the
/// subscripts of the modes before them.
fn find_access(
    program: &Program,
    of: TensorId,
    loops: &[Index],
) -> Result<(Range<usize>, Vec<AccessSubscript>), String> {
    let mut found = None;
    program.body.walk(&mut |s| {
        for access in s.exprs().into_iter().flat_map(Expr::accesses).filter(|a| a.tensor == of) {
            let is_at = |first: &usize| {
                let mut pairs = loops.iter().zip(&access.subscripts[*first..]);
                pairs.all(|(index, subscript)| subscript.at == Expr::Index(*index))
            };
            let first = (0..=access.subscripts.len().saturating_sub(loops.len())).find(is_at);
            let complete = first.filter(|first| first + loops.len() <= access.subscripts.len());
            found = found
                .take()
                .or_else(|| complete.map(|first| (first..first + loops.len(), access.subscripts[..first].to_vec())));
        }
    });
    let (modes, fiber) = found.ok_or_else(|| not_iterated(program, of))?;
    let around = loops_around(program, loops[0]);
    let is_known = |s: &AccessSubscript| {
        s.outside.is_none() && s.at.atoms().iter().all(|atom| around.iter().any(|i| *atom == Atom::Index(*i)))
    };
    match fiber.iter().position(|s| !is_known(s)) {
        Some(k) => Err(format!(
            "the loop must be inside of the loops that determine the coordinate of `{}` in storage mode {k}",
            program.tensors[of.index()].name
        )),
        None => Ok((modes, fiber)),
    }
}

fn not_iterated(program: &Program, of: TensorId) -> String {
    format!(
        "the loop must iterate over one storage mode of `{}` from begin to end; the loops of a product must iterate over \
         adjacent storage modes in order",
        program.tensors[of.index()].name
    )
}

/// Checks that the loops iterate over all coordinates of the modes.
fn check_extents(program: &Program, of: TensorId, loops: &[Index], modes: &Range<usize>) -> Result<(), String> {
    let sizes = {
        let ty = &program.tensors[of.index()].ty;
        ty.format.storage_shape(&ty.shape)
    };
    let mut is_complete = true;
    program.body.walk(&mut |s| {
        if let Stmt::For { index, extent, .. } = s
            && let Some(k) = loops.iter().position(|i| i == index)
        {
            let bounds = extent.as_ref().and_then(|(lo, hi)| lo.as_int().zip(hi.as_int()));
            is_complete &= bounds == Some((0, sizes[modes.start + k] as i64));
        }
    });
    if is_complete { Ok(()) } else { Err(not_iterated(program, of)) }
}

/// Returns the indices of the loops around the loop of an index.
fn loops_around(program: &Program, inner: Index) -> Vec<Index> {
    fn search(stmt: &Stmt, inner: Index, around: &mut Vec<Index>) -> bool {
        let own = match stmt {
            Stmt::For { index, .. } if *index == inner => return true,
            Stmt::For { index, .. } => Some(*index),
            _ => None,
        };
        around.extend(own);
        if stmt.children().into_iter().any(|s| search(s, inner, around)) {
            return true;
        }
        around.truncate(around.len() - usize::from(own.is_some()));
        false
    }
    let mut around = Vec::new();
    search(&program.body, inner, &mut around);
    around
}

/// The first round of a block, the end of its rounds, and the number of blocks.
pub(super) struct StoredBounds {
    pub(super) begin: Expr,
    pub(super) end: Expr,
    /// The number of blocks, if it depends on the stored entries.
    pub(super) count: Option<Expr>,
}

/// Returns the bounds of block `number` of the rounds of loops, as reads of the inputs with the
/// number `inputs` in [`Program::block_inputs`].
pub(super) fn stored_bounds(
    program: &Program,
    inputs: usize,
    loops: &[Index],
    number: Index,
) -> Result<StoredBounds, String> {
    let BlockInputs { of, stored, begins, counts } = &program.block_inputs[inputs];
    let (_, fiber) = find_access(program, *of, loops)?;
    // The begins are looked up. A walk over the begins would cut the loop where they end.
    let bound = |at: Expr| {
        let at = AccessSubscript { protocol: Protocol::Follow, ..AccessSubscript::in_bounds(at) };
        let subscripts = fiber.iter().cloned().chain([at]).collect();
        Expr::Access(Access { tensor: *begins, subscripts })
    };
    let begin = bound(Expr::Index(number));
    let levels = &program.tensors[of.index()].ty.format.levels[..stored.modes.start];
    let begin = match levels.iter().all(|level| level.kind.traits().full) {
        true => begin,
        // The bounds of a fiber that is not stored are the fill value, which is the end.
        false => {
            let is_first = Expr::call(Builtin::Eq, [Expr::Index(number), Expr::int(0)]);
            Expr::call(Builtin::IfElse, [is_first, Expr::int(0), begin])
        }
    };
    let end = bound(plus(&Expr::Index(number), &Expr::int(1)));
    let count = counts.map(|tensor| Expr::Access(Access { tensor, subscripts: fiber.clone() }));
    Ok(StoredBounds { begin, end, count })
}
