//! What the accesses of a program have come to at some point of lowering.

use super::tree::{AccId, Term};
use crate::assembly::{Expr, Local};
use crate::notation::{Index, TensorId};
use redpoll_logic::Scalar;
use redpoll_logic::physical::Protocol;
use std::rc::Rc;

/// The accesses at some point of lowering. Branches of the generated code have their own; so it is cheap to clone.
#[derive(Clone, Default, Debug)]
pub(crate) struct State {
    accs: Vec<Acc>,
}

/// One access: which tensor, by which subscripts, and how far it has come.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Acc {
    /// The tensor; `None` for a mask, a tensor without storage.
    pub(crate) tensor: Option<TensorId>,
    /// One subscript a storage mode.
    pub(crate) subscripts: Rc<Vec<Sub>>,
    /// Whether it is the left side of assignments.
    pub(crate) writes: bool,
    /// How far it has come.
    pub(crate) cursor: Cursor,
}

/// A subscript: see `notation::Subscript`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sub {
    pub(crate) at: Term,
    pub(crate) protocol: Protocol,
    pub(crate) outside: Option<Scalar>,
    pub(crate) check: Check,
}

/// What is to be done about the bounds of a coordinate: see `notation::Bounds`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Check {
    Proved,
    Guarded,
    /// The run ends where it comes to the coordinate out of bounds; the number is of a site of the function.
    Checked(u32),
}

/// Checks at different sites are equal: one does for both.
impl PartialEq for Check {
    fn eq(&self, other: &Check) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// How far an access has come.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cursor {
    /// Everything below is this literal: nothing is stored here.
    Fill(Scalar),
    /// The access is this literal, whatever its other subscripts are: a subscript is out of bounds.
    Outside(Scalar),
    /// A fiber of a level, or a leaf.
    Fiber(Fiber),
    /// A scalar held in locals, one a primitive: a temporary, or an accumulator taken out of its loop.
    Locals(Accumulator),
    /// A write that goes nowhere.
    Null,
    /// A coordinate out of bounds: the run ends where something comes here.
    Fails(Violation),
}

/// A coordinate out of bounds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Violation {
    /// The number of the site.
    pub(crate) site: u32,
    pub(crate) coordinate: Coordinate,
}

/// A coordinate that is known where it is met.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Coordinate {
    Known(Expr),
    /// `scale * index + offset` in the rounds of a loop, of which `first` is the first one.
    Along {
        index: Option<Index>,
        scale: i64,
        offset: Expr,
        first: Expr,
    },
}

/// A scalar held in locals.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Accumulator {
    /// One local for each primitive of the dtype.
    pub(crate) parts: Rc<Vec<Local>>,
    /// `bool` locals to be set by a write, as in [`Fiber::dirty`].
    pub(crate) dirty: Vec<Local>,
}

/// A fiber of a tensor: positions `lo..hi` of the level above `level`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Fiber {
    /// The level that the next subscript meets; the number of levels for a leaf.
    pub(crate) level: usize,
    /// The first position.
    pub(crate) lo: Expr,
    /// One past the last position; `None`: just `lo`.
    pub(crate) hi: Option<Expr>,
    /// A `bool` that says whether the fiber is stored at all; `None`: it is. If not, all reads give the fill value.
    pub(crate) present: Option<Expr>,
    /// `bool` locals to be set by a write below: parents keep a coordinate only if something was written there.
    pub(crate) dirty: Vec<Local>,
}

impl Fiber {
    /// The whole tensor.
    pub(crate) fn root() -> Fiber {
        Fiber::at(0, super::build::int(0))
    }

    /// One position.
    pub(crate) fn at(level: usize, position: Expr) -> Fiber {
        Fiber { level, lo: position, hi: None, present: None, dirty: Vec::new() }
    }

    /// The fiber of the next level at one position, with the same presence and dirty flags.
    pub(crate) fn child(&self, position: Expr) -> Fiber {
        Fiber { level: self.level + 1, lo: position, hi: None, ..self.clone() }
    }
}

impl State {
    /// Adds an access.
    pub(crate) fn push(&mut self, acc: Acc) -> AccId {
        self.accs.push(acc);
        AccId(self.accs.len() as u32 - 1)
    }

    /// The number of an equal access, added if there is none.
    pub(crate) fn intern(&mut self, acc: Acc) -> AccId {
        match self.accs.iter().position(|a| *a == acc) {
            Some(at) => AccId(at as u32),
            None => self.push(acc),
        }
    }

    /// An access.
    pub(crate) fn acc(&self, id: AccId) -> &Acc {
        &self.accs[id.0 as usize]
    }

    /// Whether an access is of one of those tensors.
    pub(crate) fn reads_any(&self, id: AccId, tensors: &[TensorId]) -> bool {
        self.acc(id).tensor.is_some_and(|t| tensors.contains(&t))
    }

    /// Moves an access on.
    pub(crate) fn set(&mut self, id: AccId, cursor: Cursor) {
        self.accs[id.0 as usize].cursor = cursor;
    }

    /// The state where what an access has come to is stored.
    pub(crate) fn with_present(mut self, id: AccId) -> State {
        if let Cursor::Fiber(fiber) = &mut self.accs[id.0 as usize].cursor {
            fiber.present = None;
        }
        self
    }

    /// Moves an access on to what it has met. A write where nothing is stored, in the pattern of an input, vanishes. A fiber
    /// that is not stored is a literal, unless a subscript below may read something else out of bounds: then it stays a
    /// fiber, which is absent.
    pub(crate) fn meet(&mut self, id: AccId, cursor: &Cursor) {
        let acc = &mut self.accs[id.0 as usize];
        acc.cursor = match (cursor, &acc.cursor) {
            (Cursor::Fill(_) | Cursor::Outside(_), _) if acc.writes => Cursor::Null,
            (Cursor::Outside(value), _) => Cursor::Fill(value.clone()),
            (Cursor::Fill(fill), Cursor::Fiber(fiber)) if acc.reads_outside_from(fiber.level + 1, fill) => {
                let absent = Some(super::build::truth(false));
                Cursor::Fiber(Fiber { present: absent, ..fiber.child(super::build::int(0)) })
            }
            _ => cursor.clone(),
        };
    }
}

impl Acc {
    /// Whether a subscript of that level or of one below it may read something other than the fill value out of bounds.
    pub(crate) fn reads_outside_from(&self, level: usize, fill: &Scalar) -> bool {
        let differs = |s: &Sub| s.outside.as_ref().is_some_and(|outside| outside != fill);
        self.tensor.is_some() && self.subscripts.iter().skip(level).any(differs)
    }

    /// The subscripts that have not been met yet.
    pub(crate) fn open(&self) -> &[Sub] {
        match &self.cursor {
            Cursor::Fiber(fiber) => self.subscripts.get(fiber.level..).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Whether a subscript that has not been met yet has that part.
    pub(crate) fn waits_for(&self, part: &Term) -> bool {
        self.open().iter().any(|sub| sub.at.any(&mut |t| t == part))
    }

    /// The subscript that it waits for, and the fiber that it meets; `None` when nothing is left to be met.
    pub(crate) fn next(&self) -> Option<(&Sub, &Fiber)> {
        match &self.cursor {
            Cursor::Fiber(fiber) => Some((self.subscripts.get(fiber.level)?, fiber)),
            _ => None,
        }
    }
}
