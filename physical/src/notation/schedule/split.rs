//! `split` and `collapse`: blocks of the rounds of a loop, and of the product of two loops.

use super::super::{Blocks, Expr, Index, Program, Rounds, Stmt, TensorId};
use super::extent::{div_ceil, div_floor, max, min, minus, plus, times};
use super::nest::{Loop, alone, find, replace};
use super::shares::{bounds_of, shares};
use super::{Product, new_index, unused};
use redpoll_logic::op::Builtin;

/// The loop of `name`, split.
pub(super) fn split(
    mut program: Program,
    name: &str,
    (outer, inner): (&str, &str),
    blocks: &Blocks,
) -> Result<Program, String> {
    let at = find(&program, name)?;
    let count = new_index(&mut program, outer)?;
    let bounds = stored(&mut program, blocks, &[at], outer)?;
    rename(&mut program, at, inner)?;
    let body = replace(program.body, at, &mut |l| {
        let (lo, hi) = &l.extent;
        let Cut { begin, end, blocks, even } = cut(&minus(hi, lo), blocks, bounds, count)?;
        let (begin, end) = (plus(lo, &begin), plus(lo, &end));
        let end = if even { end } else { min(end, hi.clone()) };
        let (outside, within) = l.rounds.of_blocks();
        let inside = Loop { extent: (begin, end), rounds: within, ..l };
        Ok(around(count, blocks, outside, inside))
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
    let inside = alone((*l.body).clone()).into_loop().map_err(drop)?;
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
    let bounds = stored(&mut program, blocks, &[outer_at, inner_at], outer)?;
    let body = replace(program.body, outer_at, &mut |l| {
        let changed = || format!("the loops of `{}` have changed since", product.name);
        let (l, inside) = directly_inside(l, inner_at).map_err(|()| changed())?;
        let ((low, high), (first, last)) = l.bounds().zip(inside.bounds()).ok_or_else(changed)?;
        let rounds = |lo: i64, hi: i64| hi.checked_sub(lo).map(|n| n.max(0));
        let (rows, row) = rounds(low, high).zip(rounds(first, last)).ok_or("a loop has too many rounds")?;
        let rounds = rows.checked_mul(row).ok_or("the product has too many rounds")?;
        let Cut { begin, end, blocks, .. } = cut(&Expr::int(rounds), blocks, bounds, count)?;
        let row = row.max(1);
        // The rounds of the product before those of this round of the outer loop.
        let before = times(&minus(&Expr::Index(l.index), &Expr::int(low)), row);
        let within = |at: &Expr| plus(&minus(at, &before), &Expr::int(first));
        let inner_extent = (max(Expr::int(first), within(&begin)), min(Expr::int(last), within(&end)));
        let low = Expr::int(low);
        let outer_extent =
            (plus(&low, &div_floor(&begin, row)), min(Expr::int(high), plus(&low, &div_ceil(&end, row))));
        let inside = Loop { extent: inner_extent, ..inside };
        let body = Box::new(inside.into());
        let (outside, within) = l.rounds.of_blocks();
        let rows = Loop { extent: outer_extent, rounds: within, body, ..l };
        Ok(around(count, blocks, outside, rows))
    })?;
    Ok(Program { body, ..program })
}

/// Where a block begins and ends among the rounds, counted from 0, and how many blocks there are.
struct Cut {
    begin: Expr,
    end: Expr,
    blocks: Expr,
    /// Whether the last block ends where the loop does.
    even: bool,
}

/// The bounds of blocks in position space, a further input.
fn stored(program: &mut Program, blocks: &Blocks, loops: &[Index], outer: &str) -> Result<Option<TensorId>, String> {
    match blocks {
        Blocks::Stored(blocks, of) => shares(program, of, loops, (outer, *blocks)).map(Some),
        Blocks::Of(_) | Blocks::Into(_) => Ok(None),
    }
}

/// The block of the number `count` of so many rounds.
fn cut(rounds: &Expr, blocks: &Blocks, bounds: Option<TensorId>, count: Index) -> Result<Cut, String> {
    let number = |n: &u64| i64::try_from(*n).ok().filter(|n| *n > 0).ok_or("there must be at least one");
    if let (Blocks::Stored(blocks, _), Some(bounds)) = (blocks, bounds) {
        let (begin, end) = bounds_of(bounds, count);
        return Ok(Cut { begin, end, blocks: Expr::int(number(blocks)?), even: true });
    }
    let (size, blocks) = match blocks {
        Blocks::Of(size) => {
            let size = number(size)?;
            (Expr::int(size), div_ceil(rounds, size))
        }
        // The last of them may be empty, where that is not known before.
        Blocks::Into(blocks) | Blocks::Stored(blocks, _) => {
            let blocks = number(blocks)?;
            let size = max(Expr::int(1), div_ceil(rounds, blocks));
            let blocks = size.as_int().map_or(Expr::int(blocks), |size| div_ceil(rounds, size));
            (size, blocks)
        }
    };
    let begin = sized(&Expr::Index(count), &size);
    let end = plus(&begin, &size);
    let all = size.as_int().zip(blocks.as_int()).map(|(size, blocks)| i128::from(size) * i128::from(blocks));
    let even = all.is_some() && all == rounds.as_int().map(i128::from);
    Ok(Cut { begin, end, blocks, even })
}

/// So many blocks around a loop.
fn around(count: Index, blocks: Expr, rounds: Rounds, inside: Loop) -> Stmt {
    Loop { index: count, extent: (Expr::int(0), blocks), rounds, body: Box::new(inside.into()) }.into()
}

/// So many blocks of a size.
fn sized(count: &Expr, size: &Expr) -> Expr {
    match size.as_int() {
        Some(size) => times(count, size),
        None => Expr::call(Builtin::Mul, [size.clone(), count.clone()]),
    }
}

fn rename(program: &mut Program, index: Index, name: &str) -> Result<(), String> {
    if program.indices[index.index()] != name {
        unused(program, name)?;
        program.indices[index.index()] = name.to_owned();
    }
    Ok(())
}
