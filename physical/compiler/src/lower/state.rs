//! The cursors of the accesses of a program at some point of lowering.
//!
//! A subscript is *resolved* when the cursor of its access moves to the part of the tensor at the
//! coordinate of the subscript. Subscripts are resolved from the outermost to the innermost. A loop
//! resolves a subscript if the coordinate is known in each round of the loop, but not before.

use super::tree::{AccessId, TreeTerm};
use crate::assembly::{Expr, Local};
use crate::notation::{Index, TensorId};
use redpoll_logic::Scalar;
use redpoll_logic::physical::Protocol;
use std::rc::Rc;

/// The states of all accesses at some point of lowering. Each branch of the generated code has its
/// own state, so states are cloned often; clones share the subscripts.
#[derive(Clone, Default, Debug)]
pub(crate) struct LoweringState {
    accesses: Vec<AccessState>,
}

/// The state of one access: its tensor, its subscripts and its cursor.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AccessState {
    /// The tensor, or `None` for a mask, which has no storage.
    pub(crate) tensor: Option<TensorId>,
    /// One subscript for each storage mode.
    pub(crate) subscripts: Rc<Vec<LoweredSubscript>>,
    /// True if the access is the left side of assignments.
    pub(crate) writes: bool,
    /// The part of the tensor that is selected by the subscripts resolved so far.
    pub(crate) cursor: AccessCursor,
}

/// A subscript: see `notation::AccessSubscript`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LoweredSubscript {
    pub(crate) at: TreeTerm,
    pub(crate) protocol: Protocol,
    pub(crate) outside: Option<Scalar>,
    pub(crate) check: SubscriptCheck,
}

/// The treatment of coordinates out of bounds: see `notation::Bounds`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SubscriptCheck {
    Proved,
    Guarded,
    /// A coordinate out of bounds stops the kernel. The number identifies the check in the
    /// function.
    Checked(u32),
}

/// Checks at different sites compare equal, so that equal accesses share one check.
impl PartialEq for SubscriptCheck {
    fn eq(&self, other: &SubscriptCheck) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The part of its tensor that an access has reached.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum AccessCursor {
    /// Nothing is stored: every element below is this literal.
    Fill(Scalar),
    /// A subscript is out of bounds: the access is this literal, whatever its other subscripts are.
    OutOfBounds(Scalar),
    /// A fiber of a level, or a leaf.
    Fiber(Fiber),
    /// A scalar in locals, one for each primitive of its dtype: a temporary, or an accumulator
    /// moved out of its loop.
    Locals(Accumulator),
    /// A write that has no effect.
    Null,
    /// A coordinate out of bounds: any access there stops the kernel.
    Violation(Violation),
}

/// A coordinate out of bounds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Violation {
    /// The number of the check.
    pub(crate) site: u32,
    pub(crate) coordinate: Coordinate,
}

/// A coordinate whose value is computed where it is used.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Coordinate {
    Value(Expr),
    /// `scale * index + offset` in the rounds of a loop; `first` is the index of the first round.
    Affine {
        index: Option<Index>,
        scale: i64,
        offset: Expr,
        first: Expr,
    },
}

/// A scalar in locals.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Accumulator {
    /// One local for each primitive of the dtype.
    pub(crate) parts: Rc<Vec<Local>>,
    /// `bool` locals that a write sets, as in [`Fiber::dirty`].
    pub(crate) dirty: Vec<Local>,
}

/// A fiber of a tensor: positions `lo..hi` of the level above `level`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Fiber {
    /// The level from which the next subscript selects; the number of levels for a leaf.
    pub(crate) level: usize,
    /// The first position.
    pub(crate) lo: Expr,
    /// One past the last position; `None` if `lo` is the only one.
    pub(crate) hi: Option<Expr>,
    /// A `bool` that is true if the fiber is stored; `None` if the fiber is always stored. Reads of
    /// an absent fiber return the value of the first replacement that applies, or else the fill
    /// value.
    pub(crate) present: Option<Expr>,
    /// The literals that reads return where subscripts are out of bounds; the first that applies
    /// takes precedence. Where a literal applies, the fiber is absent.
    pub(crate) replacements: Vec<Replacement>,
    /// `bool` locals that every write below the fiber sets, because a parent stores a coordinate
    /// only if a value was written below the coordinate.
    pub(crate) dirty: Vec<Local>,
}

/// A literal that reads return in place of the stored value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Replacement {
    /// A `bool` that is false where the literal is read.
    pub(crate) in_bounds: Expr,
    pub(crate) value: Scalar,
}

impl Fiber {
    /// Returns the fiber of the whole tensor.
    pub(crate) fn root() -> Fiber {
        Fiber::at(0, super::build::int(0))
    }

    /// Returns the fiber at one position.
    pub(crate) fn at(level: usize, position: Expr) -> Fiber {
        Fiber { level, lo: position, hi: None, present: None, replacements: Vec::new(), dirty: Vec::new() }
    }

    /// Returns the fiber of the next level at one position, with the same presence, replacements
    /// and dirty flags.
    pub(crate) fn child(&self, position: Expr) -> Fiber {
        Fiber { level: self.level + 1, lo: position, hi: None, ..self.clone() }
    }

    /// Returns the fiber for code that runs only if the fiber is stored. There, all subscripts
    /// resolved so far are in bounds.
    pub(crate) fn stored(&self) -> Fiber {
        Fiber { present: None, replacements: Vec::new(), ..self.clone() }
    }

    /// Returns a fiber of the next level that is never stored, with the same replacements.
    pub(crate) fn absent_child(&self) -> Fiber {
        Fiber { present: Some(super::build::truth(false)), ..self.child(super::build::int(0)) }
    }

    /// Returns an absent fiber of the next level whose reads return a value, unless an earlier
    /// replacement applies.
    pub(crate) fn out_of_bounds(&self, value: &Scalar) -> Fiber {
        let mut child = self.absent_child();
        child.replacements.push(Replacement { in_bounds: super::build::truth(false), value: value.clone() });
        child
    }
}

impl LoweringState {
    /// Adds an access and returns its number.
    pub(crate) fn push(&mut self, acc: AccessState) -> AccessId {
        self.accesses.push(acc);
        AccessId(self.accesses.len() as u32 - 1)
    }

    /// Returns the number of an equal access. If there is no equal access, adds `acc`.
    pub(crate) fn intern(&mut self, acc: AccessState) -> AccessId {
        match self.accesses.iter().position(|a| *a == acc) {
            Some(at) => AccessId(at as u32),
            None => self.push(acc),
        }
    }

    /// Returns an access.
    pub(crate) fn access(&self, id: AccessId) -> &AccessState {
        &self.accesses[id.0 as usize]
    }

    /// Returns whether an access reads or writes one of `tensors`.
    pub(crate) fn is_access_of(&self, id: AccessId, tensors: &[TensorId]) -> bool {
        self.access(id).tensor.is_some_and(|t| tensors.contains(&t))
    }

    /// Sets the cursor of an access.
    pub(crate) fn set(&mut self, id: AccessId, cursor: AccessCursor) {
        self.accesses[id.0 as usize].cursor = cursor;
    }

    /// Returns the state in which the fiber of an access is present.
    pub(crate) fn assume_present(mut self, id: AccessId) -> LoweringState {
        if let AccessCursor::Fiber(fiber) = &mut self.accesses[id.0 as usize].cursor {
            *fiber = fiber.stored();
        }
        self
    }

    /// Resolves the next subscript of an access, to the given cursor. A write has no effect where
    /// the coordinate is out of bounds. A write into the pattern of an input has no effect where
    /// the input stores nothing. A read of a coordinate that is out of bounds or not stored becomes
    /// a literal, with two exceptions. If the fiber has replacements, or the coordinate is in
    /// bounds and a subscript below may read another value out of bounds, the cursor becomes an
    /// absent fiber.
    pub(crate) fn resolve(&mut self, id: AccessId, cursor: &AccessCursor) {
        let acc = &mut self.accesses[id.0 as usize];
        acc.cursor = match (cursor, &acc.cursor) {
            (AccessCursor::Fill(_) | AccessCursor::OutOfBounds(_), _) if acc.writes => AccessCursor::Null,
            (AccessCursor::OutOfBounds(value), AccessCursor::Fiber(fiber)) if !fiber.replacements.is_empty() => {
                AccessCursor::Fiber(fiber.out_of_bounds(value))
            }
            (AccessCursor::OutOfBounds(value), _) => AccessCursor::Fill(value.clone()),
            (AccessCursor::Fill(fill), AccessCursor::Fiber(fiber))
                if acc.can_differ_outside(fiber.level + 1, fill) || !fiber.replacements.is_empty() =>
            {
                AccessCursor::Fiber(fiber.absent_child())
            }
            _ => cursor.clone(),
        };
    }
}

impl AccessState {
    /// Returns whether a subscript from `level` down may read a value other than the fill value out
    /// of bounds.
    pub(crate) fn can_differ_outside(&self, level: usize, fill: &Scalar) -> bool {
        let differs = |s: &LoweredSubscript| s.outside.as_ref().is_some_and(|outside| outside != fill);
        self.tensor.is_some() && self.subscripts.iter().skip(level).any(differs)
    }

    /// Returns the subscripts that are not resolved yet.
    pub(crate) fn unresolved(&self) -> &[LoweredSubscript] {
        match &self.cursor {
            AccessCursor::Fiber(fiber) => self.subscripts.get(fiber.level..).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Returns whether an unresolved subscript contains `part`.
    pub(crate) fn has_unresolved(&self, part: &TreeTerm) -> bool {
        self.unresolved().iter().any(|sub| sub.at.any(&mut |t| t == part))
    }

    /// Returns the next unresolved subscript and the fiber that it selects from; `None` if no
    /// subscript is left.
    pub(crate) fn next_subscript(&self) -> Option<(&LoweredSubscript, &Fiber)> {
        match &self.cursor {
            AccessCursor::Fiber(fiber) => Some((self.subscripts.get(fiber.level)?, fiber)),
            _ => None,
        }
    }
}
