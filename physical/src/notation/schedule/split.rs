//! `split` and `collapse`: blocks of the rounds of a loop, and of the product of two loops.

use super::super::{Blocks, Expr, Index, Program, Rounds, Stmt};
use super::extent::{div_ceil, div_floor, max, min, minus, plus, times};
use super::nest::{Loop, find, replace};
use super::{Product, new_index, unused};

/// The loop of `name`, split.
pub(super) fn split(
    mut program: Program,
    name: &str,
    (outer, inner): (&str, &str),
    blocks: Blocks,
) -> Result<Program, String> {
    let at = find(&program, name)?;
    let count = new_index(&mut program, outer)?;
    rename(&mut program, at, inner)?;
    let body = replace(program.body, at, &mut |l| {
        let (lo, hi) = &l.extent;
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
    blocks: Blocks,
) -> Result<Program, String> {
    check_product(&program, &product.outer, &product.inner)?;
    unused(&program, inner)?;
    let [outer_at, inner_at] = [find(&program, &product.outer)?, find(&program, &product.inner)?];
    let count = new_index(&mut program, outer)?;
    let body = replace(program.body, outer_at, &mut |l| {
        let changed = || format!("the loops of `{}` have changed since", product.name);
        let (l, inside) = directly_inside(l, inner_at).map_err(|()| changed())?;
        let ((low, high), (first, last)) = l.bounds().zip(inside.bounds()).ok_or_else(changed)?;
        let (rows, row) = ((high - low).max(0), (last - first).max(0));
        let rounds = rows.checked_mul(row).ok_or("the product has too many rounds")?;
        let (size, blocks) = cut(&Expr::int(rounds), blocks)?;
        let begin = sized(&Expr::Index(count), &size);
        let end = plus(&begin, &size);
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
fn cut(rounds: &Expr, blocks: Blocks) -> Result<(Expr, Expr), String> {
    let number = |n: u64| i64::try_from(n).ok().filter(|n| *n > 0).ok_or("there must be at least one");
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
    }
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
