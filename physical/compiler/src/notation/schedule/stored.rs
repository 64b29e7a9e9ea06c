//! Splits in position space: loops over blocks of the stored entries of an input. Additional inputs
//! hold the bounds of the blocks.

use super::super::linear::{Atom, Linear};
use super::super::stored_block::StoredBlock;
use super::super::tables::check_fibers;
use super::super::{Access, AccessSubscript, BlockInputs, Expr, Index, Program, Role, Stmt, TensorDecl, TensorId};
use super::extent::{form_expr, min, minus, plus};
use super::unroll::unused_name;
use redpoll_logic::TensorType;
use redpoll_logic::op::Builtin;
use redpoll_logic::physical::Protocol;
use redpoll_storage::{BlockPartition, StoredBlocks};
use std::ops::Range;
use std::sync::Arc;

/// The blocks of stored entries that a split makes.
#[derive(Clone, Copy)]
pub(super) struct StoredSplit {
    /// The index of the block inputs in [`Program::block_inputs`].
    inputs: usize,
    /// The maximum number of parts of a block, if this split divides the blocks of a previous
    /// split.
    parts: Option<i64>,
}

/// Splits a loop by the stored entries of `of`. The loop iterates over a storage mode of `of`, or
/// over a block of its stored entries. Also returns the number of this block, if there is one.
pub(super) fn stored_split(
    program: &mut Program,
    of: &str,
    at: Index,
    (name, blocks): (&str, BlockPartition),
) -> Result<(StoredSplit, Option<Linear>), String> {
    let mut found = None;
    program.body.walk(&mut |s| {
        if let Stmt::For { index, extent: Some(extent), .. } = s
            && *index == at
            && let Some(block) = StoredBlock::of(program, extent)
            && block.is_whole
        {
            found = Some((block.inputs, block.number));
        }
    });
    let Some((inputs, number)) = found else {
        return Ok((StoredSplit::whole(program, of, &[at], (name, blocks))?, None));
    };
    Ok((StoredSplit { inputs, parts: None }.divided(program, of, (name, blocks))?, Some(number)))
}

impl StoredSplit {
    /// Splits loops over adjacent storage modes of `of` into blocks of stored entries; adds the
    /// inputs that hold the bounds of the blocks.
    pub(super) fn whole(
        program: &mut Program,
        of: &str,
        loops: &[Index],
        (name, blocks): (&str, BlockPartition),
    ) -> Result<StoredSplit, String> {
        let id = program.tensors.iter().position(|t| t.name == of && t.role == Role::Input);
        let id = TensorId(id.ok_or_else(|| format!("there is no input `{of}`"))? as u32);
        check_blocks(blocks)?;
        let (modes, _) = find_access(program, id, loops)?;
        check_extents(program, id, loops, &modes)?;
        check_fibers(&program.tensors[id.index()], &modes)?;
        let inputs = add_block_inputs(program, id, StoredBlocks { modes, blocks }, name)?;
        Ok(StoredSplit { inputs, parts: None })
    }

    /// Divides each block of the split. The parts are the blocks of a finer partition of the whole
    /// loop, so the blocks of that partition must not extend over two blocks of this split.
    pub(super) fn divided(
        self,
        program: &mut Program,
        of: &str,
        (name, blocks): (&str, BlockPartition),
    ) -> Result<StoredSplit, String> {
        let BlockInputs { of: id, stored, .. } = &program.block_inputs[self.inputs];
        let (id, stored, decl) = (*id, stored.clone(), &program.tensors[id.index()]);
        let levels = &decl.ty.format.levels;
        let repeated = stored.modes.clone().find(|k| !levels[*k].unique);
        let are_single = stored.modes.end == levels.len() && repeated.is_none();
        let (parts, finer) = match (stored.blocks, blocks) {
            (BlockPartition::Into(n), BlockPartition::Into(m)) if decl.name == of => {
                (m, BlockPartition::Into(n.saturating_mul(m)))
            }
            (BlockPartition::Of(n), BlockPartition::Of(m)) if decl.name == of && are_single && n.is_multiple_of(m) => {
                (n / m, blocks)
            }
            (previous, _) => {
                let of = &decl.name;
                let how = match (previous, repeated) {
                    (BlockPartition::Into(_), _) => {
                        format!("split it by `into(M, stored({of}))` or by a number of rounds")
                    }
                    (BlockPartition::Of(n), None) if are_single => {
                        format!("split it by `of(M, stored({of}))` with a divisor M of {n}, or by a number of rounds")
                    }
                    (BlockPartition::Of(_), Some(k)) => format!(
                        "level {k} of `{of}` is not unique, so a round may have several entries; split it by a number \
                         of rounds"
                    ),
                    (BlockPartition::Of(_), None) => {
                        "a round may have several entries, so split it by a number of rounds".to_owned()
                    }
                };
                return Err(format!("the loop is a block of stored entries of `{of}` already; {how}"));
            }
        };
        check_blocks(finer)?;
        let inputs = add_block_inputs(program, id, StoredBlocks { blocks: finer, ..stored }, name)?;
        Ok(StoredSplit { inputs, parts: Some(parts as i64) })
    }
}

fn check_blocks(blocks: BlockPartition) -> Result<(), String> {
    match blocks {
        BlockPartition::Into(blocks) if blocks > BlockInputs::MAX_BLOCKS => {
            Err(format!("{blocks} blocks exceed the maximum of {}", BlockInputs::MAX_BLOCKS))
        }
        _ => Ok(()),
    }
}

/// Adds the inputs that hold the bounds of blocks of `of`; returns the index of these inputs in
/// [`Program::block_inputs`].
fn add_block_inputs(program: &mut Program, of: TensorId, stored: StoredBlocks, name: &str) -> Result<usize, String> {
    let TensorDecl { name: tensor, ty, .. } = program.tensors[of.index()].clone();
    let begins_type =
        stored.begins_type(&ty).ok_or_else(|| format!("the loops over `{tensor}` have too many rounds"))?;
    let counts_type = stored.counts_type(&ty);
    let mut add_input = |name: String, ty: TensorType| {
        let name = if program.tensors.iter().any(|t| t.name == name) { unused_name(program, &name) } else { name };
        program.tensors.push(TensorDecl::new(name, Arc::new(ty), Role::Input));
        TensorId(program.tensors.len() as u32 - 1)
    };
    let begins = add_input(format!("{tensor} by {name}"), begins_type);
    let counts = counts_type.map(|ty| add_input(format!("number of {name} of {tensor}"), ty));
    program.block_inputs.push(BlockInputs { of, stored, begins, counts });
    Ok(program.block_inputs.len() - 1)
}

/// Returns the storage modes of a tensor over which the loops iterate, outermost first, and the
/// subscripts of the modes before this range.
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
            "the loop must be inside of the loops that determine the coordinate of `{}` in storage mode {k}; \
             this coordinate must depend on indices alone, without an `outside`",
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
    /// The number of blocks, unless the partition gives it.
    pub(super) count: Option<Expr>,
    /// The number of the block among the blocks of the whole loop.
    pub(super) number: Linear,
}

impl StoredSplit {
    /// Returns the bounds of block `count` as rounds of `loops`; the expressions read the inputs
    /// that hold the bounds. `around` is the number of the block that this split divides, if there
    /// is one.
    pub(super) fn bounds(
        self,
        program: &Program,
        loops: &[Index],
        (around, count): (Option<&Linear>, Index),
    ) -> Result<StoredBounds, String> {
        let BlockInputs { of, stored, begins, counts } = &program.block_inputs[self.inputs];
        let (_, fiber) = find_access(program, *of, loops)?;
        let divided = self.parts.zip(around);
        let before = match divided {
            Some((parts, block)) => block.times(parts).ok_or("the loop has too many blocks")?,
            None => Linear::constant(0),
        };
        let number = before.plus(&Linear::atom(Atom::Index(count))).ok_or("the loop has too many blocks")?;
        // The begins are read by lookup, because a walk would end the loop at the last coordinate
        // of the begins.
        let bound = |at: Expr| {
            let at = AccessSubscript { protocol: Protocol::Follow, ..AccessSubscript::in_bounds(at) };
            let subscripts = fiber.iter().cloned().chain([at]).collect();
            Expr::Access(Access { tensor: *begins, subscripts })
        };
        let number_expr = form_expr(&number);
        let begin = bound(number_expr.clone());
        let levels = &program.tensors[of.index()].ty.format.levels[..stored.modes.start];
        let begin = match levels.iter().all(|level| level.kind.traits().full) {
            true => begin,
            // All bounds of a fiber that is not stored are the fill value, which is the number of
            // rounds. The condition makes the first block of such a fiber begin at 0.
            false => {
                let is_first = Expr::call(Builtin::Eq, [number_expr.clone(), Expr::int(0)]);
                Expr::call(Builtin::IfElse, [is_first, Expr::int(0), begin])
            }
        };
        let end = bound(plus(&number_expr, &Expr::int(1)));
        let total = counts.map(|tensor| Expr::Access(Access { tensor, subscripts: fiber.clone() }));
        let count = match (self.parts, total) {
            (Some(parts), Some(total)) => Some(min(Expr::int(parts), minus(&total, &form_expr(&before)))),
            (Some(parts), None) => Some(Expr::int(parts)),
            (None, total) => total,
        };
        Ok(StoredBounds { begin, end, count, number })
    }
}
