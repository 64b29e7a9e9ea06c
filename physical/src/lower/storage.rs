//! The arrays of a program's tensors as buffers of the function, and their lifecycles.

use super::build::{int, load, local, max, min, mul, plus};
use super::cx::Cx;
use super::level::{At, Parents, Room, lowering};
use super::seeded::{self, Seeded};
use super::state::{Accumulator, Cursor, Fiber};
use super::unfilled::{folded_by, is_set_whole};
use super::value::Value;
use crate::assembly::{Buffer, BufferClass, BufferDecl, BufferRole, Expr, Local, Status, Stmt};
use crate::levels::{ArrayClass, Concatenation, array_prim, level, written_format};
use crate::notation::{Access, Index, Program, Role, Stmt as Notation, TensorDecl, TensorId};
use crate::special::Special;
use crate::storage::{Array, Tensor};
use redpoll_logic::{Format, LeafKind, LevelFormat, Prim, Scalar};
use std::borrow::Cow;
use std::rc::Rc;

/// Which array a buffer of the function is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binding {
    /// An array of a level of a tensor.
    Level {
        /// The tensor.
        tensor: TensorId,
        /// The level, outermost 0.
        level: usize,
        /// The array, in the order of the level's arrays.
        array: usize,
    },
    /// The values of one primitive of a tensor's leaf.
    Leaf {
        /// The tensor.
        tensor: TensorId,
        /// Which primitive of the dtype.
        part: usize,
    },
    /// Memory that only the function uses.
    Scratch,
    /// Where the function leaves the number of elements of each output array: levels in order, then leaves, of the
    /// outputs in order.
    Lengths,
}

/// What a parameter of the function is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParamSource {
    /// That number: the size of a storage mode.
    Dimension(u64),
    /// The number of elements of an input's array.
    Length {
        /// The tensor.
        tensor: TensorId,
        /// The level.
        level: usize,
        /// The array.
        array: usize,
    },
    /// The number of positions of an input's values.
    Positions(TensorId),
}

/// The types of the arrays of an input: narrow or wide.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// For each level the element types of its arrays.
    pub levels: Vec<Vec<Prim>>,
    /// The special values among what it stores.
    pub special: Special,
}

impl Layout {
    /// That of a tensor.
    pub fn of(tensor: &Tensor) -> Layout {
        let levels = tensor.levels().iter().map(|arrays| arrays.iter().map(Array::prim).collect()).collect();
        Layout { levels, special: tensor.special() }
    }

    /// Whether code for this layout may be run over a tensor: its arrays are alike, and the code asks for all special
    /// values that it has.
    pub fn fits(&self, tensor: &Tensor) -> bool {
        let mut levels = self.levels.iter().zip(tensor.levels());
        levels.all(|(prims, arrays)| arrays.iter().map(Array::prim).eq(prims.iter().copied()))
            && (self.special == Special::ALL || tensor.special().is_within(self.special))
    }
}

/// Whether positions of outputs take 32 bits or 64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PositionWidth {
    /// Below 2^31 positions; more end the kernel with a status.
    #[default]
    Narrow,
    /// Any number.
    Wide,
}

/// A tensor's arrays and counters in the function.
#[derive(Debug)]
pub(crate) struct TensorCode {
    pub(crate) levels: Vec<LevelCode>,
    pub(crate) leaf: Vec<Buffer>,
    /// The locals of a scalar that the program writes.
    pub(crate) scalar: Option<Accumulator>,
    /// Whether it has lived before when it is declared: its arrays hold what was there then.
    pub(crate) room: Room,
    /// Where the lengths of an output's arrays are recorded, and the first of them.
    pub(crate) lengths: Option<(Buffer, i64)>,
    /// The outermost coordinates that a call writes, of an output that goes on behind what earlier calls have left in its
    /// arrays.
    pub(crate) chunk: Option<(Local, Local)>,
    /// The input whose levels it has, and the number of positions of that one's values; it has no levels of its own then.
    pub(crate) pattern: Option<(TensorId, Expr)>,
    /// Whether it is an output of which every place is set, so that what it holds at first does not matter.
    pub(crate) whole: bool,
    /// The loop before which each place of it holds the fill value.
    pub(crate) folded_by: Option<Index>,
    /// Whether the program writes it by different subscripts: then several coordinates are looked up before any of them is
    /// written.
    pub(crate) scattered: bool,
}

/// A level's arrays and counters in the function.
#[derive(Clone, Debug)]
pub(crate) struct LevelCode {
    pub(crate) format: LevelFormat,
    /// The size of the storage mode.
    pub(crate) dimension: Expr,
    pub(crate) arrays: Vec<Buffer>,
    /// The number of own positions while writing.
    pub(crate) count: Option<Local>,
    /// What else the kind keeps in locals while writing.
    pub(crate) more: Vec<Local>,
    /// The number of slots of a hash table.
    pub(crate) slots: Option<Expr>,
    /// The fiber of a level of runs that is being written, and the coordinate behind its last run.
    pub(crate) open: Option<(Local, Local)>,
    /// A list that only writing needs.
    pub(crate) scratch: Option<Buffer>,
}

impl LevelCode {
    /// The counter of own positions of a level that is written.
    pub(crate) fn counter(&self) -> Local {
        self.count.expect("a level that is written counts its positions")
    }

    /// The fiber that is being written, and the coordinate behind its last run.
    pub(crate) fn open_fiber(&self) -> (Local, Local) {
        self.open.expect("a level of runs that is written has an open fiber")
    }

    /// All that is kept in locals while writing.
    fn locals(&self) -> impl Iterator<Item = Local> {
        let slots = match &self.slots {
            Some(Expr::Local(slots)) => Some(*slots),
            _ => None,
        };
        let open = self.open.into_iter().flat_map(|(fiber, covered)| [fiber, covered]);
        self.count.into_iter().chain(slots).chain(open).chain(self.more.iter().copied())
    }

    /// The slots of a hash table that is written.
    pub(crate) fn slot_counter(&self) -> Local {
        match &self.slots {
            Some(Expr::Local(l)) => *l,
            _ => unreachable!("a hash table that is written counts its slots"),
        }
    }
}

/// All that levels keep in locals while they are written, each once: levels that append together share their counter.
pub(crate) fn counters_of(levels: &[LevelCode]) -> Vec<Local> {
    let mut counters = Vec::new();
    for counter in levels.iter().flat_map(LevelCode::locals) {
        if !counters.contains(&counter) {
            counters.push(counter);
        }
    }
    counters
}

/// Buffers, bindings and parameters of a function.
pub(crate) struct Tables {
    pub(crate) bindings: Vec<Binding>,
    pub(crate) params: Vec<ParamSource>,
}

impl Tables {
    /// The size of a storage mode as a parameter, one for each number: programs that differ in sizes alone share code.
    pub(crate) fn dimension(&mut self, n: u64) -> Expr {
        self.param(ParamSource::Dimension(n))
    }

    fn param(&mut self, source: ParamSource) -> Expr {
        let at = self.params.iter().position(|p| *p == source).unwrap_or_else(|| {
            self.params.push(source);
            self.params.len() - 1
        });
        Expr::Param(crate::assembly::Param(at as u32))
    }

    pub(crate) fn buffer(&mut self, cx: &mut Cx<'_>, binding: Binding, decl: BufferDecl) -> Buffer {
        self.bindings.push(binding);
        cx.new_buffer(decl)
    }
}

/// Makes the buffers and counters of a tensor.
pub(crate) fn tensor_code(
    cx: &mut Cx<'_>,
    tables: &mut Tables,
    (id, decl): (TensorId, &TensorDecl),
    layout: Option<&Layout>,
    (width, room): (PositionWidth, Room),
) -> TensorCode {
    let role = if decl.role == Role::Input { BufferRole::Input } else { BufferRole::Owned };
    let prims = decl.ty.dtype.prims();
    let fills = decl.ty.fill.flatten();
    let rank = decl.ty.format.levels.len();
    let scalar = (rank == 0 && decl.role != Role::Input).then(|| Accumulator {
        parts: Rc::new(prims.iter().map(|p| cx.new_local(&decl.name, *p)).collect()),
        dirty: Vec::new(),
    });
    let shape = decl.ty.format.storage_shape(&decl.ty.shape);
    let formats: Cow<'_, Format> = match role {
        BufferRole::Input => Cow::Borrowed(&decl.ty.format),
        BufferRole::Owned => written_format(&decl.ty.format),
    };
    let mut levels: Vec<LevelCode> = Vec::new();
    let pattern = decl.pattern.map(|of| (of, tables.param(ParamSource::Positions(of))));
    let own = if pattern.is_some() { 0 } else { rank };
    for (k, (format, n)) in formats.levels.iter().zip(&shape).enumerate().take(own) {
        let mut arrays = Vec::new();
        for (a, spec) in level(format.kind).arrays().iter().enumerate() {
            let positions = if width == PositionWidth::Wide { u64::MAX } else { 0 };
            let prim = layout.map_or_else(|| array_prim(spec.class, *n, positions), |l| l.levels[k][a]);
            let class = match spec.class {
                ArrayClass::Flag | ArrayClass::Word => BufferClass::Value,
                _ => BufferClass::Index,
            };
            let name = format!("{}.{}{}", decl.name, spec.name, k);
            let binding = Binding::Level { tensor: id, level: k, array: a };
            let fill = new_element(spec.class, prim);
            arrays.push(tables.buffer(cx, binding, BufferDecl { name, prim, class, role, fill }));
        }
        let mut code = LevelCode {
            format: *format,
            dimension: tables.dimension(*n),
            arrays,
            count: None,
            more: Vec::new(),
            slots: None,
            open: None,
            scratch: None,
        };
        lowering(format.kind).tables(cx, tables, At { tensor: id, level: k }, (role, &mut code));
        levels.push(code);
    }
    share_counters(&mut levels);
    let leaf = match decl.ty.format.leaf {
        LeafKind::Pattern => Vec::new(),
        LeafKind::Element if scalar.is_some() && decl.role == Role::Local => Vec::new(),
        LeafKind::Element => (0..prims.len())
            .map(|part| {
                let suffix = if prims.len() == 1 { String::new() } else { part.to_string() };
                let decl = BufferDecl {
                    name: format!("{}.val{suffix}", decl.name),
                    prim: prims[part],
                    class: BufferClass::Value,
                    role,
                    fill: fills[part].clone(),
                };
                tables.buffer(cx, Binding::Leaf { tensor: id, part }, decl)
            })
            .collect(),
    };
    let (whole, folded_by) = (is_set_whole(cx.program, id), folded_by(cx.program, id));
    let scattered = is_scattered(cx.program, id);
    TensorCode { levels, leaf, scalar, room, lengths: None, chunk: None, pattern, whole, folded_by, scattered }
}

/// Whether a tensor is written by different subscripts.
fn is_scattered(program: &Program, id: TensorId) -> bool {
    let mut places: Vec<&Access> = Vec::new();
    program.body.walk(&mut |s| match s {
        Notation::Assign { lhs, .. } if lhs.tensor == id && !places.contains(&lhs) => places.push(lhs),
        _ => {}
    });
    places.len() > 1
}

/// What new elements of an array hold: positions and flags 0, coordinates that are bounds one that no dimension exceeds.
fn new_element(class: ArrayClass, prim: Prim) -> Scalar {
    match (class, prim) {
        (ArrayClass::Bound, Prim::U32) => Scalar::U32(u32::MAX),
        (ArrayClass::Bound, _) => Scalar::U64(i64::MAX as u64),
        _ => Scalar::zero(prim),
    }
}

/// The levels of a COO chain, a list that is not unique and the singletons below it, append together: the innermost
/// counts for all.
fn share_counters(levels: &mut [LevelCode]) {
    for k in (1..levels.len()).rev() {
        if !levels[k - 1].format.unique {
            levels[k - 1].count = levels[k].count;
        }
    }
}

impl Tables {
    /// The number of elements of an input's array.
    pub(crate) fn length(&mut self, at: At, array: usize) -> Expr {
        self.param(ParamSource::Length { tensor: at.tensor, level: at.level, array })
    }
}

impl Cx<'_> {
    /// The tensor whose levels a tensor has: its own, but for one with the pattern of an input.
    pub(crate) fn levels_of(&self, tensor: TensorId) -> TensorId {
        self.tensor(tensor).pattern.as_ref().map_or(tensor, |(of, _)| *of)
    }

    /// The positions above the outermost level that a tensor has of its own: values, where it has none.
    fn roots(&self, tensor: TensorId) -> Expr {
        self.tensor(tensor).pattern.as_ref().map_or(int(1), |(_, positions)| positions.clone())
    }

    /// A level's arrays and counters.
    pub(crate) fn level(&self, at: At) -> &LevelCode {
        &self.tensor(at.tensor).levels[at.level]
    }

    /// Whether a level below has arrays, rather than values alone.
    pub(crate) fn has_arrays_below(&self, at: At) -> bool {
        self.tensor(at.tensor).levels[at.level + 1..].iter().any(|l| !l.arrays.is_empty())
    }

    /// The fill value of a tensor as what an access meets.
    pub(crate) fn fill(&self, tensor: TensorId) -> Cursor {
        Cursor::Fill(self.program.tensors[tensor.index()].ty.fill.clone())
    }

    /// Where an access of a tensor begins.
    pub(crate) fn root(&self, tensor: TensorId) -> Cursor {
        match &self.tensor(tensor).scalar {
            Some(held) => Cursor::Locals(held.clone()),
            None => Cursor::Fiber(Fiber::root()),
        }
    }

    /// Starts the life of a tensor: every place holds the fill value.
    pub(crate) fn declare(&mut self, tensor: TensorId) {
        let fills = Value::constant(&self.program.tensors[tensor.index()].ty.fill);
        if let Some(held) = self.tensor(tensor).scalar.clone() {
            for (part, fill) in held.parts.iter().zip(fills.parts) {
                self.assign(*part, fill);
            }
            for flag in held.dirty {
                self.assign(flag, super::build::truth(false));
            }
            return;
        }
        for level in 0..self.tensor(tensor).levels.len() {
            let at = At { tensor, level };
            let goes_on = self.tensor(tensor).chunk.and(self.left(at));
            match self.level(at).count.zip(goes_on) {
                Some((counter, left)) => self.assign(counter, left),
                None => lowering(self.level(at).format.kind).declare(self, at),
            }
        }
        let (room, roots) = (self.tensor(tensor).room, self.roots(tensor));
        self.assemble(At { tensor, level: 0 }, (&int(0), &roots), room);
    }

    /// Makes room below the positions `lo..hi` of the level above, or for values; what is there is reset if asked.
    pub(crate) fn assemble(&mut self, at: At, (lo, hi): (&Expr, &Expr), room: Room) {
        if at.level < self.tensor(at.tensor).levels.len() {
            return lowering(self.level(at).format.kind).assemble(self, at, (lo, hi), room);
        }
        let fills = Value::constant(&self.program.tensors[at.tensor.index()].ty.fill);
        for (k, buffer) in self.tensor(at.tensor).leaf.clone().into_iter().enumerate() {
            if room != Room::Again {
                self.push(Stmt::Grow { buffer, len: hi.clone() });
            }
            if room != Room::Fresh {
                self.store_range(buffer, (lo, hi), &fills.parts[k]);
            }
        }
    }

    /// `buffer[lo..hi] = value`
    pub(crate) fn store_range(&mut self, buffer: Buffer, (lo, hi): (&Expr, &Expr), value: &Expr) {
        if plus(lo, 1) == *hi {
            return self.push(Stmt::Store { buffer, at: lo.clone(), value: value.clone() });
        }
        let var = self.new_local("p", Prim::I64);
        let body = vec![Stmt::Store { buffer, at: local(var), value: value.clone() }];
        self.push(Stmt::For { var, lo: lo.clone(), hi: hi.clone(), body });
    }

    /// Exchanges the memory and the counters of two tensors of one type.
    pub(crate) fn swap(&mut self, t: TensorId, u: TensorId) {
        let parts = |cx: &Self, t: TensorId| {
            let code = cx.tensor(t);
            // A list may be an array of its level, too.
            let buffers = |level: &LevelCode| {
                let list = level.scratch.filter(|list| !level.arrays.contains(list));
                level.arrays.iter().copied().chain(list).collect::<Vec<_>>()
            };
            let counters = counters_of(&code.levels);
            let buffers: Vec<Buffer> = code
                .levels
                .iter()
                .flat_map(buffers)
                .chain(code.leaf.iter().copied().filter(|_| !seeded::is(Seeded::SwapLeaf)))
                .collect();
            (buffers, counters)
        };
        let ((t_buffers, t_counters), (u_buffers, u_counters)) = (parts(self, t), parts(self, u));
        for (a, b) in t_buffers.into_iter().zip(u_buffers) {
            self.push(Stmt::Swap(a, b));
        }
        for (a, b) in t_counters.into_iter().zip(u_counters) {
            let kept = self.new_local("kept", self.locals[a.index()].prim);
            self.assign(kept, local(a));
            self.assign(a, local(b));
            self.assign(b, local(kept));
        }
    }

    /// The own positions of a level that earlier calls have left, as they have recorded them; none where the level has no
    /// arrays.
    fn left(&self, at: At) -> Option<Expr> {
        let code = self.tensor(at.tensor);
        let (buffer, first) = code.lengths?;
        // The last array of a list has an element for each position.
        let arrays: usize = code.levels[..=at.level].iter().map(|l| l.arrays.len()).sum();
        let recorded = !code.levels[at.level].arrays.is_empty();
        recorded.then(|| load(buffer, int(first + arrays as i64 - 1)))
    }

    /// The own positions of a level below which this call may have written, given those of its parents.
    fn written(&mut self, at: At, (lo, hi): (Expr, Expr), own: &Expr) -> (Expr, Expr) {
        let n = self.level(at).dimension.clone();
        let Some((first, last)) = self.tensor(at.tensor).chunk else { return (int(0), own.clone()) };
        match level(self.level(at).format.kind).concatenation() {
            Concatenation::Full if at.level == 0 => {
                let clamped = [first, last].map(|i| max(&min(&local(i), &n), &int(0)));
                clamped.map(|i| self.name("written", &i)).into()
            }
            Concatenation::Full => [lo, hi].map(|p| self.name("written", &mul(&p, &n))).into(),
            Concatenation::Entry => (lo, hi),
            _ => (self.left(at).map_or_else(|| int(0), |left| self.name("written", &left)), own.clone()),
        }
    }

    /// Ends writing. An output's array lengths are recorded.
    pub(crate) fn freeze(&mut self, tensor: TensorId) {
        let mut recorded = Vec::new();
        let mut parents = Parents { count: self.roots(tensor), written: (int(0), int(1)) };
        for level in 0..self.tensor(tensor).levels.len() {
            let at = At { tensor, level };
            let kind = lowering(self.level(at).format.kind);
            let own = kind.freeze(self, at, &parents);
            let own = self.name("positions", &own);
            recorded.extend(kind.lengths(self, at, (&parents.count, &own)));
            let written = self.written(at, parents.written, &own);
            parents = Parents { count: own, written };
        }
        let positions = parents.count;
        let leaves = self.tensor(tensor).leaf.clone();
        if let Some(held) = self.tensor(tensor).scalar.clone() {
            for (buffer, part) in leaves.iter().zip(held.parts.iter()) {
                self.push(Stmt::Grow { buffer: *buffer, len: int(1) });
                self.push(Stmt::Store { buffer: *buffer, at: int(0), value: local(*part) });
            }
        }
        recorded.extend(leaves.iter().map(|_| positions.clone()));
        if let Some((buffer, first)) = self.tensor(tensor).lengths {
            for (k, length) in recorded.into_iter().enumerate() {
                self.push(Stmt::Store { buffer, at: int(first + k as i64), value: length });
            }
        }
    }
}

impl Cx<'_> {
    /// Ends the kernel if a number of positions does not fit the elements of `ptr`.
    pub(crate) fn check_positions(&mut self, ptr: Buffer, positions: &Expr) {
        if self.buffers[ptr.index()].prim == Prim::I32 {
            let fits = super::build::lt(positions, &int(1 << 31));
            self.push_if(super::build::not(&fits), vec![Stmt::Return(Status::PositionOverflow)], Vec::new());
        }
    }
}
