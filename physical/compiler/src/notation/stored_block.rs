//! Recognition of loops within one block of the stored entries of an input. A scheduled program
//! reads the bounds of such blocks from the inputs in [`Program::block_inputs`].

use super::linear::Linear;
use super::{AccessSubscript, Expr, Program};
use redpoll_logic::op::{Builtin, Op};

/// An extent within one block of stored entries.
pub(super) struct StoredBlock<'a> {
    /// The index of the block inputs in [`Program::block_inputs`].
    pub(super) inputs: usize,
    /// The subscripts of the fiber that is cut.
    pub(super) fiber: &'a [AccessSubscript],
    /// The number of the block within its fiber.
    pub(super) number: Linear,
    /// The number of rounds of the block before the begin of the extent.
    pub(super) skipped: Linear,
    /// The maximum number of rounds of the extent, if it is constant.
    pub(super) rounds: Option<i64>,
    /// True if the extent is the whole block.
    pub(super) is_whole: bool,
}

impl<'a> StoredBlock<'a> {
    /// Returns the block of an extent that begins `skipped` rounds after the begin of the block and
    /// ends at the end of the block or before; `None` for an extent of another form. The caller
    /// must check that `skipped` is not negative.
    pub(super) fn of(program: &'a Program, (lo, hi): &'a (Expr, Expr)) -> Option<StoredBlock<'a>> {
        let (Some(base), skipped) = split_sum(lo)? else { return None };
        let begin = match base {
            // A conditional makes the first block begin at 0 in fibers that are not stored, too.
            Expr::Call(Op::Builtin(Builtin::IfElse), args) if args[1].as_int() == Some(0) => &args[2],
            base => base,
        };
        let (inputs, fiber, number) = bound(program, begin)?;
        if let Expr::Call(Op::Builtin(Builtin::IfElse), args) = base {
            let Expr::Call(Op::Builtin(Builtin::Eq), sides) = &args[0] else { return None };
            let is_first = Linear::of(&sides[0]).as_ref() == Some(&number) && sides[1].as_int() == Some(0);
            is_first.then_some(())?;
        }
        let next = number.plus(&Linear::constant(1))?;
        let mut ends = Vec::new();
        collect_ends(hi, &mut ends);
        let is_end = |end: &&Expr| bound(program, end).is_some_and(|end| end == (inputs, fiber, next.clone()));
        ends.iter().find(|end| is_end(end))?;
        let distance = |end: &&Expr| match split_sum(end)? {
            (Some(other), form) if other == base => form.plus(&skipped.times(-1)?)?.as_constant(),
            _ => None,
        };
        let rounds = ends.iter().filter_map(distance).min();
        let is_whole = ends.len() == 1 && skipped.as_constant() == Some(0);
        Some(StoredBlock { inputs, fiber, number, skipped, rounds, is_whole })
    }
}

/// Returns the index of the block inputs, the fiber and the block number, if `read` reads the begin
/// of a block.
fn bound<'a>(program: &Program, read: &'a Expr) -> Option<(usize, &'a [AccessSubscript], Linear)> {
    let Expr::Access(access) = read else { return None };
    let inputs = program.block_inputs.iter().position(|inputs| inputs.begins == access.tensor)?;
    let (number, fiber) = access.subscripts.split_last()?;
    Some((inputs, fiber, Linear::of(&number.at)?))
}

/// Splits a sum into its only summand that is not a linear form, if there is one, and the linear
/// form of the other summands. Returns `None` if several summands are not linear forms.
fn split_sum(sum: &Expr) -> Option<(Option<&Expr>, Linear)> {
    if let Some(form) = Linear::of(sum) {
        return Some((None, form));
    }
    let Expr::Call(Op::Builtin(Builtin::Add), args) = sum else { return Some((Some(sum), Linear::constant(0))) };
    args.iter().try_fold((None, Linear::constant(0)), |(base, form), arg| {
        let (other, rest) = split_sum(arg)?;
        (base.is_none() || other.is_none()).then_some(())?;
        Some((base.or(other), form.plus(&rest)?))
    })
}

/// Collects the arguments of nested minima, or `end` itself if it is not a minimum.
fn collect_ends<'a>(end: &'a Expr, found: &mut Vec<&'a Expr>) {
    match end {
        Expr::Call(Op::Builtin(Builtin::Min), ends) => ends.iter().for_each(|end| collect_ends(end, found)),
        end => found.push(end),
    }
}
