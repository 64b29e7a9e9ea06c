//! Quotients and remainders of coordinates: replaces `form / b` and `form mod b` by affine forms
//! where the sizes of fields allow it, such as after a split into blocks. Finds splits of fields
//! after which these quotients and remainders may be affine.

use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, Node, Read, Term};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Affine, Field, FloatMode, Scalar, Subscript};

impl Sizes {
    /// Returns `(quotient, rest)` with `form = by * quotient + rest` and `0 <= rest < by`, if the
    /// sizes of the fields prove the bounds of `rest`.
    pub(crate) fn divide(&self, form: &Affine, by: u64) -> Option<(Affine, Affine)> {
        let by = i64::try_from(by).ok().filter(|by| *by > 0)?;
        let (quotient, rest) = form.divide(by);
        let (low, high) = Subscript::Affine(rest.clone()).range(&|f| self.get(f))?;
        (low >= 0 && high < by).then_some((quotient, rest))
    }

    /// Replaces quotients, remainders and computed values in the coordinates of a read by simpler
    /// subscripts where the sizes of fields allow it. Drops the value of reads out of bounds if the
    /// new coordinates are provably in bounds.
    pub(crate) fn resolve(&self, read: &Read, mode: FloatMode) -> Read {
        let coordinates: Vec<ModeCoordinate> = read
            .coordinates
            .iter()
            .map(|at| self.as_subscript(&at.value(mode)).map_or(at.clone(), ModeCoordinate::Subscript))
            .collect();
        let inside = || coordinates.iter().zip(&read.ty.shape).all(|(at, &n)| self.is_within(at, n));
        let outside = read.outside.clone().filter(|_| coordinates == read.coordinates || !inside());
        Read { coordinates, outside, ..read.clone() }
    }

    /// Returns an `i64` term as a function of fields and parameters only; `None` for other terms,
    /// and if the value may overflow.
    fn as_subscript(&self, term: &Term) -> Option<Subscript> {
        let found = match term.node() {
            Node::Coordinate(form) => Subscript::Affine(form.clone()),
            Node::Literal => match term.fill() {
                Scalar::I64(value) => Subscript::Affine(Affine::constant(*value)),
                _ => return None,
            },
            Node::Call(Op::Builtin(op), args) => {
                let parts = args.iter().map(|a| self.as_subscript(a)).collect::<Option<Vec<_>>>()?;
                self.call(*op, &parts)?
            }
            _ => return None,
        };
        // Terms wrap around on overflow, but affine forms do not.
        let empty = found.form().terms.iter().any(|(f, _)| self.get(f) == Some(0));
        (empty || found.range(&|f| self.get(f)).is_some()).then_some(found)
    }

    fn call(&self, op: Builtin, parts: &[Subscript]) -> Option<Subscript> {
        use Subscript::{Affine as Form, Inner, Outer};
        Some(match (op, parts) {
            (Builtin::Add, [first, rest @ ..]) => {
                let mut sum = affine(first)?.clone();
                for part in rest {
                    sum = sum.checked_plus(affine(part)?)?;
                }
                Form(sum)
            }
            (Builtin::Sub, [a, b]) => Form(affine(a)?.checked_plus(&affine(b)?.checked_times(-1)?)?),
            (Builtin::Neg, [a]) => Form(affine(a)?.checked_times(-1)?),
            (Builtin::Mul, [a, b]) => match (constant(a), constant(b)) {
                (_, Some(by)) => Form(affine(a)?.checked_times(by)?),
                (Some(by), _) => Form(affine(b)?.checked_times(by)?),
                _ => return None,
            },
            (Builtin::FloorDiv | Builtin::Rem, [of, by]) => {
                let by = u64::try_from(constant(by)?).ok().filter(|by| *by > 0)?;
                match (op, of) {
                    (Builtin::FloorDiv, Form(form)) => match self.divide(form, by) {
                        Some((quotient, _)) => Form(quotient),
                        None => Outer(form.clone(), by),
                    },
                    (Builtin::Rem, Form(form)) => match self.divide(form, by) {
                        Some((_, rest)) => Form(rest),
                        None => Inner(form.clone(), by),
                    },
                    (Builtin::FloorDiv, Outer(form, first)) => Outer(form.clone(), first.checked_mul(by)?),
                    (Builtin::Rem, Inner(form, first)) if first % by == 0 => Inner(form.clone(), by),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// Returns fields and the sizes of blocks. After a split of these fields into such blocks, the
    /// innermost quotients and remainders in the coordinate may be affine.
    pub(crate) fn splits_for(&self, at: &ModeCoordinate, mode: FloatMode) -> Vec<(Field, u64)> {
        let mut found = Vec::new();
        self.collect_splits(&at.value(mode), &mut found);
        found
    }

    fn collect_splits(&self, term: &Term, found: &mut Vec<(Field, u64)>) {
        let Node::Call(op, args) = term.node() else { return };
        let before = found.len();
        args.iter().for_each(|a| self.collect_splits(a, found));
        let (Op::Builtin(Builtin::FloorDiv | Builtin::Rem), [of, by]) = (op, &args[..]) else { return };
        let (Some(Subscript::Affine(form)), Some(Scalar::I64(by))) = (self.as_subscript(of), by.as_literal()) else {
            return;
        };
        if found.len() == before
            && *by > 0
            && form.has_offset(form.constant)
            && form.constant % by == 0
            && self.divide(&form, *by as u64).is_none()
        {
            found.extend(self.block_splits(&form, *by));
        }
    }

    /// Returns the splits after which each term whose coefficient is not a multiple of `by` stays
    /// below `by`; no splits if such a coefficient is negative or does not divide `by`, or if the
    /// terms stay below `by` without splits.
    fn block_splits(&self, form: &Affine, by: i64) -> Vec<(Field, u64)> {
        let mut found = Vec::new();
        for (field, c) in form.terms.iter().filter(|(_, c)| c % by != 0) {
            if *c <= 0 || by % c != 0 {
                return Vec::new();
            }
            let block = (by / c) as u64;
            if self.of(field) > block {
                found.push((field.clone(), block));
            }
        }
        found
    }
}

fn affine(subscript: &Subscript) -> Option<&Affine> {
    match subscript {
        Subscript::Affine(form) => Some(form),
        _ => None,
    }
}

fn constant(subscript: &Subscript) -> Option<i64> {
    affine(subscript)?.as_constant()
}
