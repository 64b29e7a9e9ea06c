//! The arrays of a program's tensors as buffers of the function, and the code of their lifecycles.

use super::build::{int, load, local, max, min, mul, plus};
use super::cx::Cx;
use super::level::{AssembleMode, LevelId, Parents, lowering};
use super::options::PositionWidth;
use super::seeded_fault::SeededFault;
use super::sizes::SizeNames;
use super::state::{AccessCursor, Accumulator, Fiber};
use super::unfilled::{fold_loop, is_fully_set};
use super::value::LoweredValue;
use crate::assembly::{Buffer, BufferClass, BufferDecl, BufferRole, Expr, Local, Status, Stmt};
use crate::notation::{Access, Index, Program, Role, Stmt as Notation, TensorDecl, TensorId};
use redpoll_logic::{Format, LeafKind, LevelFormat, Prim, Scalar, Special};
use redpoll_storage::levels::{ArrayClass, Concatenation, array_prim, kernel_format, level};
use redpoll_storage::{Array, Tensor};
use std::borrow::Cow;
use std::rc::Rc;

/// The array that a buffer of the function stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binding {
    /// An array of a level of a tensor.
    Level {
        /// The tensor.
        tensor: TensorId,
        /// The level; 0 is the outermost.
        level: usize,
        /// The number of the array, in the order of the level's arrays.
        array: usize,
    },
    /// The values of one primitive of a tensor's leaf.
    Leaf {
        /// The tensor.
        tensor: TensorId,
        /// The number of the primitive in the dtype.
        part: usize,
    },
    /// Scratch memory of the function.
    Scratch,
    /// The buffer in which the function records the number of elements of each output array.
    /// Outputs are in order; each has the arrays of its levels, then those of its leaf. If the
    /// function has checks, the last two elements record a failed check.
    Lengths,
}

/// The meaning of a parameter of the function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParamSource {
    /// The size of a storage mode.
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

/// The layout of an input: the element types of its arrays, and the special values that it
/// contains.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InputLayout {
    /// The element types of the arrays of each level.
    pub levels: Vec<Vec<Prim>>,
    /// The special values among the stored values.
    pub special: Special,
}

impl InputLayout {
    /// Returns the layouts of the inputs of a program, by tensor; `None` for other tensors. A
    /// kernel for these inputs is lowered for these layouts.
    pub fn of_inputs(program: &Program, inputs: &[&Tensor]) -> Vec<Option<InputLayout>> {
        let mut inputs = inputs.iter();
        let of = |role: Role| (role == Role::Input).then(|| inputs.next().map(|t| InputLayout::of(t))).flatten();
        program.tensors.iter().map(|t| t.role).map(of).collect()
    }

    /// Returns the layout of a tensor.
    pub fn of(tensor: &Tensor) -> InputLayout {
        let levels = tensor.levels().iter().map(|arrays| arrays.iter().map(Array::prim).collect()).collect();
        InputLayout { levels, special: tensor.special() }
    }

    /// Returns whether code for this layout may run over a tensor: the arrays have the same types,
    /// and the code handles all special values of the tensor.
    pub fn fits(&self, tensor: &Tensor) -> bool {
        let mut levels = self.levels.iter().zip(tensor.levels());
        levels.all(|(prims, arrays)| arrays.iter().map(Array::prim).eq(prims.iter().copied()))
            && (self.special == Special::ALL || tensor.special().is_subset(self.special))
    }
}

/// The arrays and counters of a tensor in the function.
#[derive(Debug)]
pub(crate) struct TensorCode {
    pub(crate) levels: Vec<LevelCode>,
    pub(crate) leaf: Vec<Buffer>,
    /// The locals of a scalar. An input is loaded into them at the start, so that loops do not load
    /// it again.
    pub(crate) scalar: Option<Accumulator>,
    /// The treatment of existing positions by a declaration: they are reset if an earlier
    /// declaration or data that was rolled back may have left contents in the arrays.
    pub(crate) assemble_mode: AssembleMode,
    /// The buffer that records the lengths of an output's arrays, and the tensor's first element in
    /// it.
    pub(crate) lengths: Option<(Buffer, i64)>,
    /// The range of outermost coordinates that a call writes, for an output to which each call
    /// appends.
    pub(crate) chunk: Option<(Local, Local)>,
    /// The input whose levels the tensor shares, and the number of positions of that input's
    /// values. A tensor that shares levels has none of its own.
    pub(crate) pattern: Option<(TensorId, Expr)>,
    /// True for an output of which every element is set, so that the initial contents do not
    /// matter.
    pub(crate) fully_set: bool,
    /// The loop that computes the whole fold of each element. Before this loop, the element has the
    /// fill value.
    pub(crate) fold_loop: Option<Index>,
    /// True if the program writes the tensor with different subscripts. Several coordinates may
    /// then be looked up before any of them is written.
    pub(crate) scattered: bool,
}

/// The arrays and counters of a level in the function.
#[derive(Clone, Debug)]
pub(crate) struct LevelCode {
    pub(crate) format: LevelFormat,
    /// The size of the storage mode.
    pub(crate) dimension: Expr,
    pub(crate) arrays: Vec<Buffer>,
    /// The counter of the positions, runs or entries that are written so far.
    pub(crate) count: Option<Local>,
    /// Further locals of the level kind during writing.
    pub(crate) extra_locals: Vec<Local>,
    /// The number of slots of a hash table.
    pub(crate) slots: Option<Expr>,
    /// The fiber of a level of runs that is being written, and one past the last coordinate of its
    /// last run.
    pub(crate) open_fiber: Option<(Local, Local)>,
    /// The list of written positions, which is used during writing. At the outermost level, the
    /// list is also an array of the level.
    pub(crate) scratch: Option<Buffer>,
}

impl LevelCode {
    /// Returns the counter of the positions of a level that is written.
    pub(crate) fn counter(&self) -> Local {
        self.count.expect("a level that is written counts its positions")
    }

    /// Returns the fiber that is being written, and one past the last coordinate of its last run.
    pub(crate) fn open_fiber(&self) -> (Local, Local) {
        self.open_fiber.expect("a level of runs that is written has an open fiber")
    }

    /// Returns all locals of the level during writing.
    fn locals(&self) -> impl Iterator<Item = Local> {
        let slots = match &self.slots {
            Some(Expr::Local(slots)) => Some(*slots),
            _ => None,
        };
        let open = self.open_fiber.into_iter().flat_map(|(fiber, covered)| [fiber, covered]);
        self.count.into_iter().chain(slots).chain(open).chain(self.extra_locals.iter().copied())
    }

    /// Returns the local with the number of slots of a hash table that is written.
    pub(crate) fn slot_counter(&self) -> Local {
        match &self.slots {
            Some(Expr::Local(l)) => *l,
            _ => unreachable!("a hash table that is written counts its slots"),
        }
    }
}

/// Returns all locals of levels that are written, each once: levels that append together share
/// their counter.
pub(crate) fn counters_of(levels: &[LevelCode]) -> Vec<Local> {
    let mut counters = Vec::new();
    for counter in levels.iter().flat_map(LevelCode::locals) {
        if !counters.contains(&counter) {
            counters.push(counter);
        }
    }
    counters
}

/// The bindings and parameters of a function.
pub(crate) struct FunctionTables {
    pub(crate) bindings: Vec<Binding>,
    pub(crate) params: Vec<ParamSource>,
    /// The name of each parameter.
    pub(crate) names: Vec<String>,
    /// The names of sizes, for a function that people read.
    pub(crate) size_names: Option<SizeNames>,
}

impl FunctionTables {
    /// Returns the size of a storage mode as a parameter, so that programs that differ only in
    /// sizes share code. Equal sizes share one parameter, unless they have different names for
    /// readers.
    pub(crate) fn dimension(&mut self, n: u64, at: LevelId) -> Expr {
        let name = self.size_names.as_ref().map(|names| names.of_mode(at));
        self.param(ParamSource::Dimension(n), name)
    }

    fn param(&mut self, source: ParamSource, name: Option<String>) -> Expr {
        let name = name.unwrap_or_else(|| param_name(&source));
        let known = self.params.iter().zip(&self.names).position(|(p, n)| *p == source && *n == name);
        let at = known.unwrap_or_else(|| {
            self.params.push(source);
            self.names.push(name);
            self.params.len() - 1
        });
        Expr::Param(crate::assembly::Param(at as u32))
    }

    pub(crate) fn buffer(&mut self, cx: &mut Cx<'_>, binding: Binding, decl: BufferDecl) -> Buffer {
        self.bindings.push(binding);
        cx.new_buffer(decl)
    }
}

/// Adds the buffers and counters of a tensor.
pub(crate) fn tensor_code(
    cx: &mut Cx<'_>,
    tables: &mut FunctionTables,
    (id, decl): (TensorId, &TensorDecl),
    layout: Option<&InputLayout>,
    (width, assemble_mode): (PositionWidth, AssembleMode),
) -> TensorCode {
    let role = if decl.role == Role::Input { BufferRole::Input } else { BufferRole::Owned };
    let prims = decl.ty.dtype.prims();
    let fills = decl.ty.fill.flatten();
    let rank = decl.ty.format.levels.len();
    let is_scalar = rank == 0 && (decl.role != Role::Input || decl.ty.format.leaf == LeafKind::Element);
    let scalar = is_scalar.then(|| Accumulator {
        parts: Rc::new(prims.iter().map(|p| cx.new_local(&decl.name, *p)).collect()),
        dirty: Vec::new(),
    });
    let shape = decl.ty.format.storage_shape(&decl.ty.shape);
    let formats: Cow<'_, Format> = match role {
        BufferRole::Input => Cow::Borrowed(&decl.ty.format),
        BufferRole::Owned => kernel_format(&decl.ty.format),
    };
    let mut levels: Vec<LevelCode> = Vec::new();
    let pattern = decl.pattern.map(|of| (of, tables.param(ParamSource::Positions(of), None)));
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
            let fill = initial_element(spec.class, prim);
            arrays.push(tables.buffer(cx, binding, BufferDecl { name, prim, class, role, fill }));
        }
        let mut code = LevelCode {
            format: *format,
            dimension: tables.dimension(*n, LevelId { tensor: id, level: k }),
            arrays,
            count: None,
            extra_locals: Vec::new(),
            slots: None,
            open_fiber: None,
            scratch: None,
        };
        lowering(format.kind).add_counters(cx, tables, LevelId { tensor: id, level: k }, (role, &mut code));
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
    if let (Some(scalar), Role::Input) = (&scalar, decl.role) {
        for (part, buffer) in scalar.parts.iter().zip(&leaf) {
            cx.assign(*part, load(*buffer, int(0)));
        }
    }
    let (fully_set, fold_loop) = (is_fully_set(cx.program, id), fold_loop(cx.program, id));
    let scattered = is_scattered(cx.program, id);
    TensorCode {
        levels,
        leaf,
        scalar,
        assemble_mode,
        lengths: None,
        chunk: None,
        pattern,
        fully_set,
        fold_loop,
        scattered,
    }
}

/// Returns whether the program writes a tensor with different subscripts.
fn is_scattered(program: &Program, id: TensorId) -> bool {
    let mut targets: Vec<&Access> = Vec::new();
    program.body.walk(&mut |s| match s {
        Notation::Assign { lhs, .. } if lhs.tensor == id && !targets.contains(&lhs) => targets.push(lhs),
        _ => {}
    });
    targets.len() > 1
}

/// Returns the initial element of an array. In an array of bounds, the element is a value that no
/// dimension exceeds; in all other arrays, the element is 0.
fn initial_element(class: ArrayClass, prim: Prim) -> Scalar {
    match (class, prim) {
        (ArrayClass::Bound, Prim::U32) => Scalar::U32(u32::MAX),
        (ArrayClass::Bound, _) => Scalar::U64(i64::MAX as u64),
        _ => Scalar::zero(prim),
    }
}

/// Shares one counter among the levels of a COO chain: a list with repeated coordinates, and the
/// singletons below it. The levels of a chain append together, so the counter of the innermost
/// level counts the positions of all.
fn share_counters(levels: &mut [LevelCode]) {
    for k in (1..levels.len()).rev() {
        if !levels[k - 1].format.unique {
            levels[k - 1].count = levels[k].count;
        }
    }
}

impl FunctionTables {
    /// Returns the number of elements of an input's array as a parameter.
    pub(crate) fn length(&mut self, at: LevelId, array: usize) -> Expr {
        self.param(ParamSource::Length { tensor: at.tensor, level: at.level, array }, None)
    }
}

impl Cx<'_> {
    /// Returns the tensor that owns the levels of a tensor: the tensor itself, or the input whose
    /// pattern it has.
    pub(crate) fn levels_of(&self, tensor: TensorId) -> TensorId {
        self.tensor(tensor).pattern.as_ref().map_or(tensor, |(of, _)| *of)
    }

    /// Returns the number of positions above the outermost level of a tensor. For a tensor with the
    /// pattern of an input, returns the number of values of that input.
    fn roots(&self, tensor: TensorId) -> Expr {
        self.tensor(tensor).pattern.as_ref().map_or(int(1), |(_, positions)| positions.clone())
    }

    /// Returns the arrays and counters of a level.
    pub(crate) fn level(&self, at: LevelId) -> &LevelCode {
        &self.tensor(at.tensor).levels[at.level]
    }

    /// Returns whether any level below `at` has arrays.
    pub(crate) fn has_arrays_below(&self, at: LevelId) -> bool {
        self.tensor(at.tensor).levels[at.level + 1..].iter().any(|l| !l.arrays.is_empty())
    }

    /// Returns the cursor of a tensor's fill value.
    pub(crate) fn fill(&self, tensor: TensorId) -> AccessCursor {
        AccessCursor::Fill(self.program.tensors[tensor.index()].ty.fill.clone())
    }

    /// Returns the cursor at which an access of a tensor starts.
    pub(crate) fn root(&self, tensor: TensorId) -> AccessCursor {
        match &self.tensor(tensor).scalar {
            Some(accumulator) => AccessCursor::Locals(accumulator.clone()),
            None => AccessCursor::Fiber(Fiber::root()),
        }
    }

    /// Declares a tensor: every element has the fill value. In an output to which calls append, the
    /// entries of earlier calls stay.
    pub(crate) fn declare(&mut self, tensor: TensorId) {
        let fills = LoweredValue::constant(&self.program.tensors[tensor.index()].ty.fill);
        if let Some(accumulator) = self.tensor(tensor).scalar.clone() {
            for (part, fill) in accumulator.parts.iter().zip(fills.parts) {
                self.assign(*part, fill);
            }
            for flag in accumulator.dirty {
                self.assign(flag, super::build::truth(false));
            }
            return;
        }
        for level in 0..self.tensor(tensor).levels.len() {
            let at = LevelId { tensor, level };
            let recorded = self.tensor(tensor).chunk.and(self.recorded_positions(at));
            match self.level(at).count.zip(recorded) {
                Some((counter, positions)) => self.assign(counter, positions),
                None => lowering(self.level(at).format.kind).declare(self, at),
            }
        }
        let (mode, roots) = (self.tensor(tensor).assemble_mode, self.roots(tensor));
        self.assemble(LevelId { tensor, level: 0 }, (&int(0), &roots), mode);
    }

    /// Assembles memory for the fibers of a level, or for values, below the positions `lo..hi` of
    /// the level above. `mode` says whether the arrays grow, and whether existing positions are
    /// reset.
    pub(crate) fn assemble(&mut self, at: LevelId, (lo, hi): (&Expr, &Expr), mode: AssembleMode) {
        if at.level < self.tensor(at.tensor).levels.len() {
            return lowering(self.level(at).format.kind).assemble(self, at, (lo, hi), mode);
        }
        let fills = LoweredValue::constant(&self.program.tensors[at.tensor.index()].ty.fill);
        for (k, buffer) in self.tensor(at.tensor).leaf.clone().into_iter().enumerate() {
            if mode != AssembleMode::ResetOnly {
                self.push(Stmt::Grow { buffer, len: hi.clone() });
            }
            if mode != AssembleMode::New {
                self.store_range(buffer, (lo, hi), &fills.parts[k]);
            }
        }
    }

    /// Emits `buffer[lo..hi] = value`.
    pub(crate) fn store_range(&mut self, buffer: Buffer, (lo, hi): (&Expr, &Expr), value: &Expr) {
        if plus(lo, 1) == *hi {
            return self.push(Stmt::store(buffer, lo.clone(), value.clone()));
        }
        let var = self.new_local("p", Prim::I64);
        let body = vec![Stmt::store(buffer, local(var), value.clone())];
        self.push(Stmt::For { var, lo: lo.clone(), hi: hi.clone(), body });
    }

    /// Swaps the memory and the counters of two tensors of one type.
    pub(crate) fn swap(&mut self, t: TensorId, u: TensorId) {
        let parts = |cx: &Self, t: TensorId| {
            let code = cx.tensor(t);
            // The scratch list may also be an array of the level; the array is then swapped once.
            let buffers = |level: &LevelCode| {
                let list = level.scratch.filter(|list| !level.arrays.contains(list));
                level.arrays.iter().copied().chain(list).collect::<Vec<_>>()
            };
            let counters = counters_of(&code.levels);
            let buffers: Vec<Buffer> = code
                .levels
                .iter()
                .flat_map(buffers)
                .chain(code.leaf.iter().copied().filter(|_| !SeededFault::SwapLeaf.is_active()))
                .collect();
            (buffers, counters)
        };
        let ((t_buffers, t_counters), (u_buffers, u_counters)) = (parts(self, t), parts(self, u));
        for (a, b) in t_buffers.into_iter().zip(u_buffers) {
            self.push(Stmt::Swap(a, b));
        }
        for (a, b) in t_counters.into_iter().zip(u_counters) {
            let saved = self.new_local("saved", self.locals[a.index()].prim);
            self.assign(saved, local(a));
            self.assign(a, local(b));
            self.assign(b, local(saved));
        }
    }

    /// Returns the number of positions that earlier calls have recorded for a level; `None` for a
    /// level without arrays, and for a tensor whose lengths are not recorded.
    fn recorded_positions(&self, at: LevelId) -> Option<Expr> {
        let code = self.tensor(at.tensor);
        let (buffer, first) = code.lengths?;
        // The last array of a list has one element for each position.
        let arrays: usize = code.levels[..=at.level].iter().map(|l| l.arrays.len()).sum();
        let recorded = !code.levels[at.level].arrays.is_empty();
        recorded.then(|| load(buffer, int(first + arrays as i64 - 1)))
    }

    /// Returns the range of positions of a level whose fibers the current call of the function may
    /// have written, given the range of parent positions.
    fn written_range(&mut self, at: LevelId, (lo, hi): (Expr, Expr), own: &Expr) -> (Expr, Expr) {
        let n = self.level(at).dimension.clone();
        let Some((first, last)) = self.tensor(at.tensor).chunk else { return (int(0), own.clone()) };
        match level(self.level(at).format.kind).concatenation() {
            Concatenation::Full if at.level == 0 => {
                let clamped = [first, last].map(|i| max(&min(&local(i), &n), &int(0)));
                clamped.map(|i| self.name("written", &i)).into()
            }
            Concatenation::Full => [lo, hi].map(|p| self.name("written", &mul(&p, &n))).into(),
            Concatenation::Entry => (lo, hi),
            _ => {
                let recorded = self.recorded_positions(at);
                (recorded.map_or_else(|| int(0), |positions| self.name("written", &positions)), own.clone())
            }
        }
    }

    /// Ends writing: freezes the levels, stores the value of a scalar in its leaf if it has one,
    /// and records the array lengths of an output.
    pub(crate) fn freeze(&mut self, tensor: TensorId) {
        let mut recorded = Vec::new();
        let mut parents = Parents { count: self.roots(tensor), written: (int(0), int(1)) };
        for level in 0..self.tensor(tensor).levels.len() {
            let at = LevelId { tensor, level };
            let kind = lowering(self.level(at).format.kind);
            let own = kind.freeze(self, at, &parents);
            let own = self.name("positions", &own);
            recorded.extend(kind.lengths(self, at, (&parents.count, &own)));
            let written = self.written_range(at, parents.written, &own);
            parents = Parents { count: own, written };
        }
        let positions = parents.count;
        let leaves = self.tensor(tensor).leaf.clone();
        if let Some(accumulator) = self.tensor(tensor).scalar.clone() {
            for (buffer, part) in leaves.iter().zip(accumulator.parts.iter()) {
                self.push(Stmt::Grow { buffer: *buffer, len: int(1) });
                self.push(Stmt::store(*buffer, int(0), local(*part)));
            }
        }
        recorded.extend(leaves.iter().map(|_| positions.clone()));
        if let Some((buffer, first)) = self.tensor(tensor).lengths {
            for (k, length) in recorded.into_iter().enumerate() {
                self.push(Stmt::store(buffer, int(first + k as i64), length));
            }
        }
    }
}

impl Cx<'_> {
    /// Emits code that stops the kernel if the number of positions overflows the element type of
    /// `ptr`.
    pub(crate) fn check_positions(&mut self, ptr: Buffer, positions: &Expr) {
        if self.buffers[ptr.index()].prim == Prim::I32 {
            let fits = super::build::lt(positions, &int(1 << 31));
            self.push_if(super::build::not(&fits), vec![Stmt::Return(Status::PositionOverflow)], Vec::new());
        }
    }
}

fn param_name(source: &ParamSource) -> String {
    match source {
        ParamSource::Dimension(n) => format!("n{n}"),
        ParamSource::Length { tensor, level, array } => format!("len{}_{level}_{array}", tensor.0),
        ParamSource::Positions(tensor) => format!("positions{}", tensor.0),
    }
}
