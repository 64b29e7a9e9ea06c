//! Blocks in position space: a new input with the bounds of equal shares of the stored entries of
//! another input.

use super::super::{Access, AccessSubscript, Expr, Index, Program, Role, Shares, Stmt, TensorDecl, TensorId};
use super::extent::plus;
use super::unroll::unused_name;
use redpoll_logic::{DType, Format, Prim, Scalar, TensorType};
use std::sync::Arc;

/// Adds an input with the bounds of blocks for the loops of those indices, which iterate over the
/// outermost storage modes of `of`.
pub(super) fn add_shares(
    program: &mut Program,
    of: &str,
    loops: &[Index],
    (name, blocks): (&str, u64),
) -> Result<TensorId, String> {
    if blocks > Shares::MAX_BLOCKS {
        return Err(format!("{blocks} blocks exceed the maximum of {}", Shares::MAX_BLOCKS));
    }
    let id = program.tensors.iter().position(|t| t.name == of && t.role == Role::Input);
    let id = TensorId(id.ok_or_else(|| format!("there is no input `{of}`"))? as u32);
    let dimensions = {
        let ty = &program.tensors[id.index()].ty;
        ty.format.storage_shape(&ty.shape)
    };
    let mut iterates = false;
    program.body.walk(&mut |s| {
        for access in s.exprs().into_iter().flat_map(Expr::accesses).filter(|a| a.tensor == id) {
            let at =
                |(k, index): (usize, &Index)| access.subscripts.get(k).is_some_and(|s| s.at == Expr::Index(*index));
            iterates |= loops.iter().enumerate().all(at);
        }
    });
    let mut is_complete = true;
    program.body.walk(&mut |s| {
        if let Stmt::For { index, extent, .. } = s
            && let Some(mode) = loops.iter().position(|i| i == index)
        {
            let bounds = extent.as_ref().and_then(|(lo, hi)| lo.as_int().zip(hi.as_int()));
            is_complete &= bounds == dimensions.get(mode).map(|n| (0, *n as i64));
        }
    });
    if !iterates || !is_complete {
        return Err(format!("the loop does not iterate over all outermost storage modes of `{of}`, from begin to end"));
    }
    let name = format!("{of} by {name}");
    let name = if program.tensors.iter().any(|t| t.name == name) { unused_name(program, &name) } else { name };
    let dtype = DType::Prim(Prim::I64);
    let ty = TensorType { shape: vec![blocks + 1], dtype, fill: Scalar::I64(0), format: Format::dense(1) };
    let input = TensorId(program.tensors.len() as u32);
    program.tensors.push(TensorDecl::new(name, Arc::new(ty), Role::Input));
    program.shares.push(Shares { input, of: id, modes: loops.len(), blocks });
    Ok(input)
}

/// Returns the begin and the end of a block.
pub(super) fn block_bounds(bounds: TensorId, number: Index) -> (Expr, Expr) {
    let bound = |at| {
        let subscripts = vec![AccessSubscript::in_bounds(at)];
        Expr::Access(Access { tensor: bounds, subscripts })
    };
    (bound(Expr::Index(number)), bound(plus(&Expr::Index(number), &Expr::int(1))))
}
