//! Windows of memory that track the last accesses to each element.

use super::{Contents, Extent, Fault, Left};
use crate::assembly::{BufferClass, BufferDecl, InterpError};
use redpoll_logic::Prim;

/// A lane at a time: its accesses before a barrier are ordered before all accesses of its team
/// after the barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Who {
    pub(super) team: u32,
    pub(super) lane: u32,
    /// Number of barriers that the team has passed.
    pub(super) passed: u32,
}

impl Who {
    /// Returns whether this access is ordered before `other` in every schedule.
    fn is_before(self, other: Who) -> bool {
        self.team == other.team && (self.lane == other.lane || self.passed < other.passed)
    }
}

/// The kind of an access to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Load,
    Store,
    Atomic,
}

/// The last accesses of two different lanes. Of the lanes between two barriers, two suffice to
/// conflict with any third.
#[derive(Clone, Copy, Default)]
pub(super) struct Last([Option<Who>; 2]);

impl Last {
    fn add(&mut self, who: Who) {
        let [first, second] = &mut self.0;
        match (*first, *second) {
            // Lanes of two teams are never ordered, so any other lane conflicts with one of them.
            (Some(a), Some(b)) if a.team != b.team => {}
            (Some(a), _) if (a.team, a.lane) == (who.team, who.lane) => *first = Some(who),
            _ => (*first, *second) = (Some(who), *first),
        }
    }

    fn unordered(&self, who: Who) -> Option<Who> {
        self.0.into_iter().flatten().find(|last| !last.is_before(who))
    }
}

/// The last accesses to an element.
#[derive(Clone, Copy, Default)]
pub(super) struct Touched {
    store: Option<Who>,
    loads: Last,
    atomics: Last,
}

/// A piece of memory: a whole array, or the part of one that a chunk or a team has.
pub(super) struct Window {
    /// Position of the first element.
    pub(super) first: i64,
    /// Number of elements that the window may grow to.
    pub(super) room: usize,
    /// Number of elements that growth has asked for.
    pub(super) asked: usize,
    /// Number of elements.
    pub(super) len: usize,
    /// The values of the elements, followed by the rest of the memory.
    pub(super) elements: Vec<u64>,
    pub(super) touched: Vec<Touched>,
    pub(super) fill: u64,
    /// For a share of the memory of a block, the index in the arena of the window outside that it
    /// moves to.
    pub(super) outside: Option<usize>,
    /// Set when elements are uninitialized at first, as in the memory of a block.
    is_raw: bool,
}

/// The contents of uninitialized memory.
const ANYTHING: u64 = 0x5555_5555_5555_5555;

impl Window {
    /// Converts the window at the end of a launch.
    pub(super) fn left(mut self) -> Left {
        let len = self.len;
        self.elements.truncate(len);
        Left { first: self.first, asked: self.asked, len, contents: Contents::Here(self.elements) }
    }

    /// Creates a window of an extent, whose elements are uninitialized or have the fill value.
    pub(super) fn new(decl: &BufferDecl, Extent { first, len, room }: Extent, is_raw: bool) -> Window {
        let fill = decl.fill.to_bits().expect("fills of buffers are primitives");
        let fill = stored(decl, fill);
        let (elements, touched) = (Vec::new(), Vec::new());
        let mut window = Window { first, room, asked: len, len: 0, elements, touched, fill, outside: None, is_raw };
        window.grow(len);
        window
    }

    /// Creates an empty window in `share` elements of the memory of a block; it may move to a
    /// window outside.
    pub(super) fn of_block(decl: &BufferDecl, share: usize, outside: Option<usize>) -> Window {
        let (elements, touched) = (vec![ANYTHING; share], vec![Touched::default(); share]);
        let none = Extent { first: 0, len: 0, room: share };
        Window { elements, touched, outside, ..Window::new(decl, none, true) }
    }

    pub(super) fn grow(&mut self, len: usize) {
        self.len = self.len.max(len);
        if len > self.elements.len() {
            self.elements.resize(len, if self.is_raw { ANYTHING } else { self.fill });
            self.touched.resize(len, Touched::default());
        }
    }

    /// Returns the position of the first uninitialized element.
    pub(super) fn unwritten(&self) -> Option<i64> {
        let is_written = |touched: &Touched| touched.store.is_some();
        let found = self.touched[..self.len].iter().position(|touched| self.is_raw && !is_written(touched))?;
        Some(self.first + found as i64)
    }

    /// Sets an element to the fill value, even if it is beyond the length of the window.
    pub(super) fn make(&mut self, decl: &BufferDecl, element: usize, who: Who) -> Result<(), Fault> {
        self.meet(decl, element, who, Access::Store)?;
        self.elements[element] = self.fill;
        Ok(())
    }

    /// Returns the index of the element for an access, unless the access is a fault.
    pub(super) fn touch(&mut self, decl: &BufferDecl, at: i64, who: Who, access: Access) -> Result<usize, Fault> {
        let len = self.len;
        let element = at.checked_sub(self.first).and_then(|at| usize::try_from(at).ok()).filter(|at| *at < len);
        let Some(element) = element else {
            let what = match access {
                Access::Load => "load",
                Access::Store => "store",
                Access::Atomic => "atomic operation",
            };
            if element_room(at, self.first, self.room) && access == Access::Load {
                return Err(Fault::Unwritten { buffer: decl.name.clone(), index: at });
            }
            let (buffer, index) = (decl.name.clone(), at);
            return Err(InterpError::OutOfBounds { access: what, buffer, index, len }.into());
        };
        if access != Access::Store && self.is_raw && self.touched[element].store.is_none() {
            return Err(Fault::Unwritten { buffer: decl.name.clone(), index: at });
        }
        self.meet(decl, element, who, access)?;
        Ok(element)
    }

    /// Records an access to an element, unless it races with another one.
    fn meet(&mut self, decl: &BufferDecl, element: usize, who: Who, access: Access) -> Result<(), Fault> {
        let touched = &mut self.touched[element];
        let store = touched.store.filter(|last| !last.is_before(who));
        let other = match access {
            Access::Load => store.or(touched.atomics.unordered(who)),
            Access::Store => store.or(touched.loads.unordered(who)).or(touched.atomics.unordered(who)),
            Access::Atomic => store.or(touched.loads.unordered(who)),
        };
        if let Some(other) = other {
            return Err(Fault::Race {
                buffer: decl.name.clone(),
                index: self.first + element as i64,
                one: (other.team, other.lane),
                other: (who.team, who.lane),
            });
        }
        match access {
            Access::Load => touched.loads.add(who),
            Access::Store => *touched = Touched { store: Some(who), ..Touched::default() },
            Access::Atomic => touched.atomics.add(who),
        }
        Ok(())
    }

    /// Loads a value.
    pub(super) fn load(&mut self, decl: &BufferDecl, at: i64, who: Who) -> Result<u64, Fault> {
        let element = self.touch(decl, at, who, Access::Load)?;
        Ok(self.elements[element])
    }

    /// Stores a value.
    pub(super) fn store(&mut self, decl: &BufferDecl, at: i64, value: u64, who: Who) -> Result<(), Fault> {
        let element = self.touch(decl, at, who, Access::Store)?;
        self.put(decl, element, value)
    }

    /// Sets an element; an index must fit the width of its buffer.
    pub(super) fn put(&mut self, decl: &BufferDecl, element: usize, value: u64) -> Result<(), Fault> {
        let kept = stored(decl, value);
        if decl.class == BufferClass::Index && kept != value {
            let (buffer, prim, value) = (decl.name.clone(), decl.prim, value as i64);
            return Err(InterpError::IndexOverflow { buffer, prim, value }.into());
        }
        self.elements[element] = kept;
        Ok(())
    }
}

/// Returns whether a position lies in the capacity of a window.
fn element_room(at: i64, first: i64, room: usize) -> bool {
    at.checked_sub(first).and_then(|at| usize::try_from(at).ok()).is_some_and(|at| at < room)
}

/// Returns the value that a load finds after `bits` were stored: the low bits, sign-extended to
/// `i64` for a signed index.
pub(crate) fn stored(decl: &BufferDecl, bits: u64) -> u64 {
    let unused = 64 - 8 * decl.prim.bytes() as u32;
    let low = bits << unused;
    if decl.class == BufferClass::Index && decl.prim.is_signed() {
        ((low as i64) >> unused) as u64
    } else {
        debug_assert!(decl.prim != Prim::Bool || bits <= 1);
        low >> unused
    }
}
