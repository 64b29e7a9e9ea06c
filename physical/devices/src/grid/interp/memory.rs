//! Windows of memory that track the last accesses to each element.

use super::{Contents, GridFault, ResultWindow, WindowExtent};
use redpoll_compiler::assembly::{BufferClass, BufferDecl, InterpFault};
use redpoll_logic::Prim;

/// The lane and the time of an access. Accesses before a barrier are ordered before all accesses of
/// the team after the barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AccessPoint {
    pub(super) team: u32,
    pub(super) lane: u32,
    /// Number of barriers that the team has passed.
    pub(super) barriers_passed: u32,
}

impl AccessPoint {
    /// Returns whether this access is ordered before `other` in every schedule.
    fn is_before(self, other: AccessPoint) -> bool {
        self.team == other.team && (self.lane == other.lane || self.barriers_passed < other.barriers_passed)
    }
}

/// The kind of an access to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessKind {
    Load,
    Store,
    Atomic,
}

/// The last accesses of up to two different lanes. Two are enough to find races, since every lane
/// differs from at least one of them.
#[derive(Clone, Copy, Default)]
pub(super) struct LastAccesses([Option<AccessPoint>; 2]);

impl LastAccesses {
    fn add(&mut self, point: AccessPoint) {
        let [first, second] = &mut self.0;
        match (*first, *second) {
            // Accesses of different teams are never ordered, so an access of any lane is unordered
            // with at least one of these two.
            (Some(a), Some(b)) if a.team != b.team => {}
            (Some(a), _) if (a.team, a.lane) == (point.team, point.lane) => *first = Some(point),
            _ => (*first, *second) = (Some(point), *first),
        }
    }

    fn unordered(&self, point: AccessPoint) -> Option<AccessPoint> {
        self.0.into_iter().flatten().find(|last| !last.is_before(point))
    }
}

/// The last accesses to an element.
#[derive(Clone, Copy, Default)]
pub(super) struct AccessHistory {
    store: Option<AccessPoint>,
    loads: LastAccesses,
    atomics: LastAccesses,
}

/// A window of memory: a whole array, or the part of an array that belongs to a chunk or a team.
pub(super) struct Window {
    /// Position of the first element.
    pub(super) first: i64,
    /// Number of elements that the window may grow to.
    pub(super) capacity: usize,
    /// Number of elements that growth has requested.
    pub(super) requested: usize,
    /// Number of elements.
    pub(super) len: usize,
    /// The values of the elements, followed by the rest of the memory.
    pub(super) elements: Vec<u64>,
    pub(super) history: Vec<AccessHistory>,
    pub(super) fill: u64,
    /// If this window is a share of the memory of a block: the index in the arena of the window to
    /// which the contents move.
    pub(super) outside: Option<usize>,
    /// Set when elements are uninitialized at first, as in the memory of a block.
    is_uninitialized: bool,
}

/// The contents of uninitialized memory.
const UNINITIALIZED: u64 = 0x5555_5555_5555_5555;

impl Window {
    /// Converts the window to a result at the end of a launch.
    pub(super) fn into_result(mut self) -> ResultWindow {
        let len = self.len;
        self.elements.truncate(len);
        ResultWindow { first: self.first, requested: self.requested, len, contents: Contents::Host(self.elements) }
    }

    /// Creates a window of an extent, whose elements are uninitialized or have the fill value.
    pub(super) fn new(
        decl: &BufferDecl,
        WindowExtent { first, len, capacity }: WindowExtent,
        is_uninitialized: bool,
    ) -> Window {
        let fill = decl.fill.to_bits().expect("fill values of buffers are primitives");
        let fill = decl.stored(fill);
        let (elements, history) = (Vec::new(), Vec::new());
        let mut window = Window {
            first,
            capacity,
            requested: len,
            len: 0,
            elements,
            history,
            fill,
            outside: None,
            is_uninitialized,
        };
        window.grow(len);
        window
    }

    /// Creates an empty window with room for `share` elements in the memory of a block. If the
    /// window outgrows its share, its contents move to the window `outside`.
    pub(super) fn of_block(decl: &BufferDecl, share: usize, outside: Option<usize>) -> Window {
        let (elements, history) = (vec![UNINITIALIZED; share], vec![AccessHistory::default(); share]);
        let none = WindowExtent { first: 0, len: 0, capacity: share };
        Window { elements, history, outside, ..Window::new(decl, none, true) }
    }

    pub(super) fn grow(&mut self, len: usize) {
        self.len = self.len.max(len);
        if len > self.elements.len() {
            self.elements.resize(len, if self.is_uninitialized { UNINITIALIZED } else { self.fill });
            self.history.resize(len, AccessHistory::default());
        }
    }

    /// Returns the position of the first element that was never written, if the window began
    /// uninitialized.
    pub(super) fn unwritten(&self) -> Option<i64> {
        let is_written = |history: &AccessHistory| history.store.is_some();
        let found =
            self.history[..self.len].iter().position(|history| self.is_uninitialized && !is_written(history))?;
        Some(self.first + found as i64)
    }

    /// Sets an element to the fill value, even if it is beyond the length of the window.
    pub(super) fn initialize(
        &mut self,
        decl: &BufferDecl,
        element: usize,
        point: AccessPoint,
    ) -> Result<(), GridFault> {
        self.record(decl, element, point, AccessKind::Store)?;
        self.elements[element] = self.fill;
        Ok(())
    }

    /// Records an access and returns the index of its element, unless the access is a fault.
    pub(super) fn check_access(
        &mut self,
        decl: &BufferDecl,
        at: i64,
        point: AccessPoint,
        kind: AccessKind,
    ) -> Result<usize, GridFault> {
        let len = self.len;
        let element = at.checked_sub(self.first).and_then(|at| usize::try_from(at).ok()).filter(|at| *at < len);
        let Some(element) = element else {
            let name = match kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Atomic => "atomic operation",
            };
            if is_in_capacity(at, self.first, self.capacity) && kind == AccessKind::Load {
                return Err(GridFault::Unwritten { buffer: decl.name.clone(), index: at });
            }
            let (buffer, index) = (decl.name.clone(), at);
            return Err(InterpFault::OutOfBounds { access: name, buffer, index, len }.into());
        };
        if kind != AccessKind::Store && self.is_uninitialized && self.history[element].store.is_none() {
            return Err(GridFault::Unwritten { buffer: decl.name.clone(), index: at });
        }
        self.record(decl, element, point, kind)?;
        Ok(element)
    }

    /// Records an access to an element, unless it races with another one.
    fn record(
        &mut self,
        decl: &BufferDecl,
        element: usize,
        point: AccessPoint,
        kind: AccessKind,
    ) -> Result<(), GridFault> {
        let history = &mut self.history[element];
        let store = history.store.filter(|last| !last.is_before(point));
        let other = match kind {
            AccessKind::Load => store.or(history.atomics.unordered(point)),
            AccessKind::Store => store.or(history.loads.unordered(point)).or(history.atomics.unordered(point)),
            AccessKind::Atomic => store.or(history.loads.unordered(point)),
        };
        if let Some(other) = other {
            return Err(GridFault::Race {
                buffer: decl.name.clone(),
                index: self.first + element as i64,
                first: (other.team, other.lane),
                second: (point.team, point.lane),
            });
        }
        match kind {
            AccessKind::Load => history.loads.add(point),
            AccessKind::Store => *history = AccessHistory { store: Some(point), ..AccessHistory::default() },
            AccessKind::Atomic => history.atomics.add(point),
        }
        Ok(())
    }

    /// Loads a value.
    pub(super) fn load(&mut self, decl: &BufferDecl, at: i64, point: AccessPoint) -> Result<u64, GridFault> {
        let element = self.check_access(decl, at, point, AccessKind::Load)?;
        Ok(self.elements[element])
    }

    /// Stores a value.
    pub(super) fn store(
        &mut self,
        decl: &BufferDecl,
        at: i64,
        value: u64,
        point: AccessPoint,
    ) -> Result<(), GridFault> {
        let element = self.check_access(decl, at, point, AccessKind::Store)?;
        self.set(decl, element, value)
    }

    /// Sets an element; an index must fit the width of its buffer.
    pub(super) fn set(&mut self, decl: &BufferDecl, element: usize, value: u64) -> Result<(), GridFault> {
        debug_assert!(decl.prim != Prim::Bool || value <= 1);
        let stored = decl.stored(value);
        if decl.class == BufferClass::Index && stored != value {
            let (buffer, prim, value) = (decl.name.clone(), decl.prim, value as i64);
            return Err(InterpFault::IndexOverflow { buffer, prim, value }.into());
        }
        self.elements[element] = stored;
        Ok(())
    }
}

/// Returns whether a position lies in the capacity of a window.
fn is_in_capacity(at: i64, first: i64, capacity: usize) -> bool {
    at.checked_sub(first).and_then(|at| usize::try_from(at).ok()).is_some_and(|at| at < capacity)
}
