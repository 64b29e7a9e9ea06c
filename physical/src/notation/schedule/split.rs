//! `split` and `collapse`: blocks of the rounds of a loop, and of the product of two loops.

use super::super::{Access, Blocks, Expr, Index, Program, Role, Rounds, Shares, Stmt, Subscript, TensorDecl, TensorId};
use super::extent::{div_ceil, div_floor, max, min, minus, plus, times};
use super::nest::{Loop, find, replace};
use super::unroll::free_name;
use super::{Product, new_index, unused};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{DType, Format, Prim, Scalar, TensorType};
use std::sync::Arc;

/// The loop of `name`, split.
pub(super) fn split(
    mut program: Program,
    name: &str,
    (outer, inner): (&str, &str),
    blocks: &Blocks,
) -> Result<Program, String> {
    let at = find(&program, name)?;
    let count = new_index(&mut program, outer)?;
    let bounds = match blocks {
        Blocks::Stored(blocks, of) => Some((shares(&mut program, of, &[at], (outer, *blocks))?, *blocks)),
        Blocks::Of(_) | Blocks::Into(_) => None,
    };
    rename(&mut program, at, inner)?;
    let body = replace(program.body, at, &mut |l| {
        let (lo, hi) = &l.extent;
        if let Some((bounds, blocks)) = bounds {
            let extent = bounds_of(bounds, count);
            let inside = Loop { extent, rounds: Rounds::Ordered, ..l.clone() };
            return Ok(around(count, blocks, l.rounds, inside));
        }
        let rounds = minus(hi, lo);
        let (size, blocks) = cut(&rounds, blocks)?;
        let begin = plus(lo, &sized(&Expr::Index(count), &size));
        let end = plus(&begin, &size);
        // Where blocks have no rest, the last one ends where the loop does.
        let all = size.as_int().zip(blocks.as_int()).map(|(size, blocks)| i128::from(size) * i128::from(blocks));
        let even = all.is_some() && all == l.length();
        let end = if even { end } else { min(end, hi.clone()) };
        let inside = Loop { extent: (begin, end), rounds: Rounds::Ordered, ..l.clone() };
        Ok(Loop { index: count, extent: (Expr::int(0), blocks), rounds: l.rounds, body: Box::new(inside.into()) }
            .into())
    })?;
    Ok(Program { body, ..program })
}

/// Checks that two loops can be split as one.
pub(super) fn check_product(program: &Program, outer: &str, inner: &str) -> Result<(), String> {
    let [outer_at, inner_at] = [find(program, outer)?, find(program, inner)?];
    let mut nested = false;
    replace(program.body.clone(), outer_at, &mut |l| {
        nested = directly_inside(l, inner_at).is_ok();
        Ok(Stmt::Block(Vec::new()))
    })?;
    match nested {
        true => Ok(()),
        false => Err(format!(
            "the loop of `{inner}` is not directly inside of that of `{outer}`, or one of them has no constant extent"
        )),
    }
}

/// The loop directly inside, of that index, if both have constant extents.
fn directly_inside(l: Loop, inner: Index) -> Result<(Loop, Loop), ()> {
    let mut body = (*l.body).clone();
    while let Stmt::Block(stmts) = &mut body
        && stmts.len() == 1
    {
        body = stmts.swap_remove(0);
    }
    let inside = body.into_loop().map_err(drop)?;
    let fits = inside.index == inner && l.bounds().is_some() && inside.bounds().is_some();
    if fits { Ok((l, inside)) } else { Err(()) }
}

/// The product of two loops, split: blocks of its rounds, which begin and end within the rounds of the outer loop.
pub(super) fn split_product(
    mut program: Program,
    product: &Product,
    (outer, inner): (&str, &str),
    blocks: &Blocks,
) -> Result<Program, String> {
    check_product(&program, &product.outer, &product.inner)?;
    unused(&program, inner)?;
    let [outer_at, inner_at] = [find(&program, &product.outer)?, find(&program, &product.inner)?];
    let count = new_index(&mut program, outer)?;
    let stored = match blocks {
        Blocks::Stored(blocks, of) => {
            Some((shares(&mut program, of, &[outer_at, inner_at], (outer, *blocks))?, *blocks))
        }
        Blocks::Of(_) | Blocks::Into(_) => None,
    };
    let body = replace(program.body, outer_at, &mut |l| {
        let changed = || format!("the loops of `{}` have changed since", product.name);
        let (l, inside) = directly_inside(l, inner_at).map_err(|()| changed())?;
        let ((low, high), (first, last)) = l.bounds().zip(inside.bounds()).ok_or_else(changed)?;
        let (rows, row) = ((high - low).max(0), (last - first).max(0));
        let rounds = rows.checked_mul(row).ok_or("the product has too many rounds")?;
        let (begin, end, blocks) = match stored {
            Some((bounds, blocks)) => {
                let (begin, end) = bounds_of(bounds, count);
                (begin, end, Expr::int(blocks as i64))
            }
            None => {
                let (size, blocks) = cut(&Expr::int(rounds), blocks)?;
                let begin = sized(&Expr::Index(count), &size);
                let end = plus(&begin, &size);
                (begin, end, blocks)
            }
        };
        let row = row.max(1);
        // The rounds of the product before those of this round of the outer loop.
        let before = times(&minus(&Expr::Index(l.index), &Expr::int(low)), row);
        let within = |at: &Expr| plus(&minus(at, &before), &Expr::int(first));
        let inner_extent = (max(Expr::int(first), within(&begin)), min(Expr::int(last), within(&end)));
        let low = Expr::int(low);
        let outer_extent =
            (plus(&low, &div_floor(&begin, row)), min(Expr::int(high), plus(&low, &div_ceil(&end, row))));
        let inside = Loop { extent: inner_extent, ..inside };
        let around = Loop { extent: outer_extent, rounds: Rounds::Ordered, body: Box::new(inside.into()), ..l };
        Ok(Loop { index: count, extent: (Expr::int(0), blocks), rounds: l.rounds, body: Box::new(around.into()) }
            .into())
    })?;
    Ok(Program { body, ..program })
}

/// The size of blocks, and their number.
fn cut(rounds: &Expr, blocks: &Blocks) -> Result<(Expr, Expr), String> {
    let number = |n: &u64| i64::try_from(*n).ok().filter(|n| *n > 0).ok_or("there must be at least one");
    match blocks {
        Blocks::Of(size) => {
            let size = number(size)?;
            Ok((Expr::int(size), div_ceil(rounds, size)))
        }
        // The last of them may be empty, where that is not known before.
        Blocks::Into(count) => {
            let count = number(count)?;
            let size = max(Expr::int(1), div_ceil(rounds, count));
            let blocks = size.as_int().map_or(Expr::int(count), |size| div_ceil(rounds, size));
            Ok((size, blocks))
        }
        Blocks::Stored(..) => unreachable!("these have bounds of their own"),
    }
}

/// A further input: the bounds of blocks of the loops of those indices, which go through the outermost storage modes of a
/// tensor.
fn shares(program: &mut Program, of: &str, loops: &[Index], (name, blocks): (&str, u64)) -> Result<TensorId, String> {
    if blocks > Shares::MOST_BLOCKS {
        return Err(format!("{blocks} blocks are more than {}", Shares::MOST_BLOCKS));
    }
    let id = program.tensors.iter().position(|t| t.name == of && t.role == Role::Input);
    let id = TensorId(id.ok_or_else(|| format!("there is no input `{of}`"))? as u32);
    let dimensions = {
        let ty = &program.tensors[id.index()].ty;
        ty.format.storage_shape(&ty.shape)
    };
    let mut through = false;
    program.body.walk(&mut |s| {
        for access in s.exprs().into_iter().flat_map(Expr::accesses).filter(|a| a.tensor == id) {
            let at =
                |(k, index): (usize, &Index)| access.subscripts.get(k).is_some_and(|s| s.at == Expr::Index(*index));
            through |= loops.iter().enumerate().all(at);
        }
    });
    let mut whole = true;
    program.body.walk(&mut |s| {
        if let Stmt::For { index, extent, .. } = s
            && let Some(mode) = loops.iter().position(|i| i == index)
        {
            let bounds = extent.as_ref().and_then(|(lo, hi)| lo.as_int().zip(hi.as_int()));
            whole &= bounds == dimensions.get(mode).map(|n| (0, *n as i64));
        }
    });
    if !through || !whole {
        return Err(format!("the loop does not go through the outermost storage of `{of}`, from its begin to its end"));
    }
    let name = format!("{of} by {name}");
    let name = if program.tensors.iter().any(|t| t.name == name) { free_name(program, &name) } else { name };
    let dtype = DType::Prim(Prim::I64);
    let ty = TensorType { shape: vec![blocks + 1], dtype, fill: Scalar::I64(0), format: Format::dense(1) };
    let input = TensorId(program.tensors.len() as u32);
    program.tensors.push(TensorDecl { name, ty: Arc::new(ty), role: Role::Input });
    program.shares.push(Shares { input, of: id, modes: loops.len(), blocks });
    Ok(input)
}

/// Where the block of that number begins and ends.
fn bounds_of(bounds: TensorId, number: Index) -> (Expr, Expr) {
    let bound = |at| {
        let subscripts = vec![Subscript { at, protocol: Protocol::Walk, outside: None }];
        Expr::Access(Access { tensor: bounds, subscripts })
    };
    (bound(Expr::Index(number)), bound(plus(&Expr::Index(number), &Expr::int(1))))
}

/// So many blocks around a loop.
fn around(count: Index, blocks: u64, rounds: Rounds, inside: Loop) -> Stmt {
    let extent = (Expr::int(0), Expr::int(blocks as i64));
    Loop { index: count, extent, rounds, body: Box::new(inside.into()) }.into()
}

/// So many blocks of a size.
fn sized(count: &Expr, size: &Expr) -> Expr {
    match size.as_int() {
        Some(size) => times(count, size),
        None => Expr::call(redpoll_logic::op::Builtin::Mul, [size.clone(), count.clone()]),
    }
}

fn rename(program: &mut Program, index: Index, name: &str) -> Result<(), String> {
    if program.indices[index.index()] != name {
        unused(program, name)?;
        program.indices[index.index()] = name.to_owned();
    }
    Ok(())
}
