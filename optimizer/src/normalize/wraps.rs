//! Replaces reads at remainders that wrap around once, as in a rotation, by two reads at affine
//! coordinates.
//!
//! ```text
//! A[form mod b]   =   if form < b*(q + 1) then A[form - b*q] else A[form - b*(q + 1)]
//!                     b*q <= form < b*(q + 2)
//! ```
//! Both reads have affine coordinates, so their loops visit the entries of `A`. A read that is out
//! of bounds returns the fill value, and the condition selects the other read. A remainder stays as
//! it is if a split of a loop into blocks can remove the remainder.

use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, Read, Term};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, FloatMode, Scalar, Subscript};

/// Largest number of remainders in a read that are replaced; each doubles the number of reads.
const MAX_WRAPS: usize = 3;

/// Returns the read as a term in which affine coordinates replace the first [`MAX_WRAPS`]
/// remainders that wrap around once.
pub(super) fn unwrap_remainders(read: Read, sizes: &Sizes, mode: FloatMode) -> Term {
    unwrap_first(read, sizes, mode, MAX_WRAPS)
}

fn unwrap_first(read: Read, sizes: &Sizes, mode: FloatMode, limit: usize) -> Term {
    let wraps = read.coordinates.iter().map(|at| wrap(at, sizes, mode));
    let first = wraps.enumerate().find_map(|(k, parts)| Some((k, parts?)));
    let Some((k, [before, after])) = first.filter(|_| limit > 0) else { return Term::access(read) };
    let is_before =
        Term::call(&Builtin::Lt.into(), vec![Term::coordinate(after.clone()), Term::literal(Scalar::I64(0))], mode);
    let part = |form: Affine| {
        let mut part = Read { outside: Some(read.ty.fill.clone()), ..read.clone() };
        part.coordinates[k] = ModeCoordinate::Subscript(Subscript::Affine(form));
        unwrap_first(part, sizes, mode, limit - 1)
    };
    Term::call(&Builtin::IfElse.into(), vec![is_before, part(before), part(after)], mode)
}

/// Returns the two affine forms that a remainder equals: the second where the second is not
/// negative, the first elsewhere. `None` unless the coordinate is a remainder that wraps around
/// exactly once and that no split removes.
fn wrap(at: &ModeCoordinate, sizes: &Sizes, mode: FloatMode) -> Option<[Affine; 2]> {
    let ModeCoordinate::Subscript(Subscript::Inner(form, by)) = at else { return None };
    let (low, high) = Subscript::Affine(form.clone()).range(&|f| sizes.get(f))?;
    let by = i64::try_from(*by).ok().filter(|by| *by > 0)?;
    let quotient = low.div_euclid(by);
    if high.div_euclid(by) != quotient + 1 || !sizes.splits_for(at, mode).is_empty() {
        return None;
    }
    let less = |times: i64| form.checked_plus(&Affine::constant(times.checked_mul(-by)?));
    Some([less(quotient)?, less(quotient + 1)?])
}
