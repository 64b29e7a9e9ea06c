//! Transformations `split` and `collapse`: blocks of the rounds of a loop, or of a product of
//! loops.

use super::super::linear::Linear;
use super::super::{Expr, Index, Program, Rounds, Stmt};
use super::extent::{div_ceil, div_floor, max, min, minus, plus, times};
use super::nest::{ForLoop, find, replace, replace_once, unwrap_block};
use super::stored::{StoredBounds, StoredSplit, stored_split};
use super::{check_unused, new_index};
use crate::lower::seeded_fault::SeededFault;
use redpoll_logic::op::Builtin;
use redpoll_storage::BlockPartition;

/// Splits the loop of `name` into blocks of its rounds, or of the stored entries of an input.
pub(super) fn split(
    mut program: Program,
    name: &str,
    (outer, inner): (&str, &str),
    (blocks, stored): (BlockPartition, Option<&str>),
) -> Result<Program, String> {
    let at = find(&program, name)?;
    let count = new_index(&mut program, outer)?;
    let (stored, around) = match stored {
        Some(of) => stored_split(&mut program, of, at, (outer, blocks)).map(|(split, around)| (Some(split), around))?,
        None => (None, None),
    };
    let split = BlockSplit { blocks, stored };
    let stored = split.stored_bounds(&program, &[at], (around.as_ref(), count))?;
    rename(&mut program, at, inner)?;
    replace_once(program, at, |_, l| {
        let (lo, hi) = &l.extent;
        // The bounds of a block of stored entries are rounds of the original loop, before any
        // split.
        let first = if stored.is_some() { Expr::int(0) } else { lo.clone() };
        let BlockBounds { begin, end, blocks, is_even } = split.cut_block(&minus(hi, lo), stored, count)?;
        let (begin, end) = (plus(&first, &begin), plus(&first, &end));
        let end = if is_even || SeededFault::LastBlock.is_active() { end } else { min(end, hi.clone()) };
        let (outside, within) = l.rounds.split_modes();
        let inside = ForLoop { extent: (begin, end), rounds: within, ..l };
        Ok(wrap_in_blocks(count, blocks, outside, inside))
    })
}

/// Perfectly nested loops whose rounds are split as one sequence.
pub(super) struct LoopProduct {
    pub(super) name: String,
    /// The names of the loops, outermost first.
    loops: Vec<String>,
    /// The bounds of the loops before the product was split.
    bounds: Vec<(i64, i64)>,
    /// The previous splits of the product, each with the name of the loop over blocks.
    splits: Vec<(String, BlockSplit)>,
}

impl LoopProduct {
    /// Makes the product of two loops; the inner loop may be a product itself.
    pub(super) fn new(program: &Program, outer: &str, inner: &[String], name: &str) -> Result<LoopProduct, String> {
        let loops: Vec<String> = [outer.to_owned()].into_iter().chain(inner.iter().cloned()).collect();
        let at = loops.iter().map(|l| find(program, l)).collect::<Result<Vec<_>, _>>()?;
        let mut found = Ok(Vec::new());
        replace(program.body.clone(), at[0], &mut |l| {
            found = nested(l, &at[1..]).map(|(nest, _)| nest);
            Ok(Stmt::Block(Vec::new()))
        })?;
        let name_of = |index: Index| &program.indices[index.index()];
        let nest = found.map_err(|NotNested { outer, inner, found }| {
            let [outer, inner] = [outer, inner].map(name_of);
            match found.map(name_of) {
                Some(found) => {
                    format!("the loop directly inside the loop of `{outer}` is `{found}`, expected `{inner}`")
                }
                None => format!("the only statement in the loop of `{outer}` must be the loop of `{inner}`"),
            }
        })?;
        let bounds = nest.iter().map(|l| ForLoop::bounds(l).ok_or_else(|| name_of(l.index)));
        let bounds = bounds.collect::<Result<Vec<_>, _>>();
        let bounds = bounds.map_err(|index| format!("the loop of `{index}` has no constant extent"))?;
        Ok(LoopProduct { name: name.to_owned(), loops, bounds, splits: Vec::new() })
    }

    /// Makes the product of an unsplit product and the loops `inner` directly inside of it.
    pub(super) fn with_inner(&self, program: &Program, inner: &[String], name: &str) -> Result<LoopProduct, String> {
        let rest: Vec<String> = self.loops[1..].iter().chain(inner).cloned().collect();
        match self.splits.is_empty() {
            true => LoopProduct::new(program, &self.loops[0], &rest, name),
            false => Err(format!(
                "`{}` is a block of a product that was split; collapse its loops before the split",
                self.name
            )),
        }
    }

    /// Returns the names of the loops.
    pub(super) fn loops(&self) -> &[String] {
        &self.loops
    }
}

/// The first two loops that are not perfectly nested, and the loop found in place of the inner one.
struct NotNested {
    outer: Index,
    inner: Index,
    /// The only statement in the outer loop, if it is a loop.
    found: Option<Index>,
}

/// Returns `outer` and the loops of `inner` with the body of the innermost loop, if these loops are
/// perfectly nested.
fn nested(outer: ForLoop, inner: &[Index]) -> Result<(Vec<ForLoop>, Stmt), NotNested> {
    let mut nest = vec![outer];
    for index in inner {
        let last = nest.last().expect("there is an outer loop");
        let inside = unwrap_block((*last.body).clone()).into_loop().ok();
        let not_nested = NotNested { outer: last.index, inner: *index, found: inside.as_ref().map(|l| l.index) };
        nest.push(inside.filter(|l| l.index == *index).ok_or(not_nested)?);
    }
    let body = (*nest.last().expect("there is an outer loop").body).clone();
    Ok((nest, body))
}

/// Splits a product of loops into blocks of its rounds, or of the stored entries of an input. The
/// blocks may begin and end within rounds of the outer loops. The rounds of a block form a product
/// again, named `inner`.
pub(super) fn split_product(
    mut program: Program,
    mut product: LoopProduct,
    (outer, inner): (&str, &str),
    (blocks, stored): (BlockPartition, Option<&str>),
) -> Result<(Program, LoopProduct), String> {
    check_unused(&program, inner)?;
    let at = product.loops.iter().map(|l| find(&program, l)).collect::<Result<Vec<_>, _>>()?;
    let count = new_index(&mut program, outer)?;
    let stored = match (stored, product.splits.last()) {
        (None, _) => None,
        (Some(of), None) => Some(StoredSplit::whole(&mut program, of, &at, (outer, blocks))?),
        (Some(of), Some((_, BlockSplit { stored: Some(previous), .. }))) => {
            Some(previous.divided(&mut program, of, (outer, blocks))?)
        }
        (Some(of), Some(_)) => {
            return Err(format!(
                "`{}` is a block of rounds; split the whole product by the stored entries of `{of}` first, and its \
                 blocks by a number of rounds",
                product.name
            ));
        }
    };
    let mut counts: Vec<Index> =
        product.splits.iter().map(|(name, _)| find(&program, name)).collect::<Result<_, _>>()?;
    counts.push(count);
    product.splits.push((outer.to_owned(), BlockSplit { blocks, stored }));
    let range = product.range(&program, &at, &counts)?;
    let body = replace(program.body, at[0], &mut |l| {
        let changed = || format!("the loops of `{}` have changed since it was collapsed", product.name);
        let (nest, body) = nested(l, &at[1..]).map_err(|_| changed())?;
        let (outside, within) = nest[0].rounds.split_modes();
        let mut nest: Vec<ForLoop> =
            nest.into_iter().zip(product.extents(&at, &range)).map(|(l, extent)| ForLoop { extent, ..l }).collect();
        nest[0].rounds = within;
        let inside = nest.into_iter().rev().fold(body, |body, l| ForLoop { body: Box::new(body), ..l }.into());
        Ok(ForLoop {
            index: count,
            extent: (Expr::int(0), range.blocks.clone()),
            rounds: outside,
            body: Box::new(inside),
        }
        .into())
    })?;
    product.name = inner.to_owned();
    Ok((Program { body, ..program }, product))
}

/// A range of the rounds of a product, and the number of blocks of its last split.
struct ProductRange {
    begin: Expr,
    end: Expr,
    blocks: Expr,
}

impl LoopProduct {
    /// Multiplies the numbers of rounds of the loops from number `from` on.
    fn rounds(&self, from: usize) -> Result<i64, String> {
        let rounds = |(lo, hi): &(i64, i64)| hi.checked_sub(*lo).map(|n| n.max(0));
        let all = self.bounds[from..].iter().try_fold(1i64, |all, l| all.checked_mul(rounds(l)?));
        all.ok_or_else(|| "the product has too many rounds".to_owned())
    }

    /// Returns the range of rounds in the current block of the last split, within the current
    /// blocks of the previous splits.
    fn range(&self, program: &Program, loops: &[Index], counts: &[Index]) -> Result<ProductRange, String> {
        let all = Expr::int(self.rounds(0)?);
        let mut range = ProductRange { begin: Expr::int(0), end: all, blocks: Expr::int(1) };
        let mut around: Option<Linear> = None;
        for ((_, split), count) in self.splits.iter().zip(counts) {
            let stored = split.stored_bounds(program, loops, (around.as_ref(), *count))?;
            around = stored.as_ref().map(|bounds| bounds.number.clone());
            // The bounds of a block of stored entries are rounds of the whole product.
            if stored.is_some() {
                range.begin = Expr::int(0);
            }
            let BlockBounds { begin, end, blocks, is_even } =
                split.cut_block(&minus(&range.end, &range.begin), stored, *count)?;
            let last = plus(&range.begin, &end);
            let end = if is_even { last } else { min(last, range.end) };
            range = ProductRange { begin: plus(&range.begin, &begin), end, blocks };
        }
        Ok(range)
    }

    /// Returns the extents of the loops for a range of the rounds.
    fn extents(&self, loops: &[Index], range: &ProductRange) -> Vec<(Expr, Expr)> {
        let (mut begin, mut end) = (range.begin.clone(), range.end.clone());
        let mut extents = Vec::new();
        for (k, (index, (lo, hi))) in loops.iter().zip(&self.bounds).enumerate() {
            let row = self.rounds(k + 1).expect("all rounds can be counted").max(1);
            let (first, last) =
                (plus(&Expr::int(*lo), &div_floor(&begin, row)), plus(&Expr::int(*lo), &div_ceil(&end, row)));
            // The range begins within the first loop. For an inner loop, the range may begin before
            // the current round of the outer loops.
            let first = if k == 0 { first } else { max(Expr::int(*lo), first) };
            extents.push((first, min(Expr::int(*hi), last)));
            let before = times(&minus(&Expr::Index(*index), &Expr::int(*lo)), row);
            (begin, end) = (minus(&begin, &before), minus(&end, &before));
        }
        extents
    }
}

/// The begin and the end of a block among the rounds, counted from 0, and the number of blocks.
struct BlockBounds {
    begin: Expr,
    end: Expr,
    blocks: Expr,
    /// True if the last block provably ends at the end of the loop.
    is_even: bool,
}

/// A split of a loop or a product of loops into blocks.
struct BlockSplit {
    blocks: BlockPartition,
    /// The blocks of stored entries; `None` if the split cuts rounds.
    stored: Option<StoredSplit>,
}

impl BlockSplit {
    /// Returns the bounds of the block with the number `count`, as rounds of `loops`, if the split
    /// cuts stored entries; otherwise `None`. `around` is the number of the enclosing block, if
    /// this split divides a block.
    fn stored_bounds(
        &self,
        program: &Program,
        loops: &[Index],
        (around, count): (Option<&Linear>, Index),
    ) -> Result<Option<StoredBounds>, String> {
        self.stored.map(|split| split.bounds(program, loops, (around, count))).transpose()
    }

    /// Returns the bounds of the block with the number `count` in a loop of `rounds` rounds. If the
    /// split cuts stored entries, `stored` has these bounds.
    fn cut_block(&self, rounds: &Expr, stored: Option<StoredBounds>, count: Index) -> Result<BlockBounds, String> {
        let number = |n: u64| {
            i64::try_from(n).ok().filter(|n| *n > 0).ok_or("the size and the number of blocks must be at least 1")
        };
        if let Some(StoredBounds { begin, end, count, .. }) = stored {
            let blocks = match (count, self.blocks) {
                (Some(count), _) => count,
                (None, BlockPartition::Into(n) | BlockPartition::Of(n)) => Expr::int(number(n)?),
            };
            return Ok(BlockBounds { begin, end, blocks, is_even: true });
        }
        let (size, blocks) = match self.blocks {
            BlockPartition::Of(size) => {
                let size = number(size)?;
                (Expr::int(size), div_ceil(rounds, size))
            }
            // Trailing blocks may be empty if the number of rounds is computed at run time.
            BlockPartition::Into(blocks) => {
                let blocks = number(blocks)?;
                let size = max(Expr::int(1), div_ceil(rounds, blocks));
                let blocks = size.as_int().map_or(Expr::int(blocks), |size| div_ceil(rounds, size));
                (size, blocks)
            }
        };
        let begin = block_begin(&Expr::Index(count), &size);
        let end = plus(&begin, &size);
        let all = size.as_int().zip(blocks.as_int()).map(|(size, blocks)| i128::from(size) * i128::from(blocks));
        let is_even = all.is_some() && all == rounds.as_int().map(i128::from);
        Ok(BlockBounds { begin, end, blocks, is_even })
    }
}

/// Wraps a loop over blocks around a loop.
fn wrap_in_blocks(count: Index, blocks: Expr, rounds: Rounds, inside: ForLoop) -> Stmt {
    ForLoop { index: count, extent: (Expr::int(0), blocks), rounds, body: Box::new(inside.into()) }.into()
}

/// Returns `count * size`.
fn block_begin(count: &Expr, size: &Expr) -> Expr {
    match size.as_int() {
        Some(size) => times(count, size),
        None => Expr::call(Builtin::Mul, [size.clone(), count.clone()]),
    }
}

fn rename(program: &mut Program, index: Index, name: &str) -> Result<(), String> {
    if program.indices[index.index()] != name {
        check_unused(program, name)?;
        program.indices[index.index()] = name.to_owned();
    }
    Ok(())
}
