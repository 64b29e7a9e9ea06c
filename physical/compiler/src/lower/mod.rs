//! Lowering: from Notation to Assembly, loop by loop, with looplets.
//!
//! [`lower`] takes a program in normal form (see [`crate::notation`]) and returns a function over
//! the arrays of its tensors. A statement becomes a `Tree`, which names its accesses by number. A
//! `LoweringState` maps each number to the cursor of that access, such as a fiber, a literal or
//! locals. At each loop, `unfurl` returns a looplet for each access whose next subscript is a
//! linear form of the loop's index. The rules of `looplets` take those looplets apart until only
//! plain loops, conditions, loads and stores are left. Between any two steps, `simplify` simplifies
//! the statement with the operator table. Passes over the finished function then merge walks over
//! whole fibers (`collapse`) and turn walks into folds in lanes (`lanes`).

mod assign;
mod cleanup;
mod collapse;
mod constants;
mod convert;
mod cx;
mod draft;
pub(crate) mod expand;
mod guards;
mod integrate;
mod lanes;
pub(crate) mod level;
mod levels;
mod lists;
mod looplets;
mod options;
mod prove;
mod range;
mod search;
#[doc(hidden)]
pub mod seeded_fault;
mod short_circuit;
mod simplify;
mod sizes;
mod sparse_scalars;
mod special;
mod state;
mod stmt;
mod storage;
#[cfg(test)]
mod tests;
mod to_read;
mod tree;
mod unfilled;
mod unfurl;
mod unguarded;
mod value;

pub use draft::Draft;
pub use lists::ListLengths;
pub use options::{LoweringOptions, PositionWidth};
pub use storage::{Binding, InputLayout, ParamSource};
pub use to_read::lower_to_read;

pub use crate::assembly::build::{self, *};
pub use {
    cleanup::cleanup,
    lanes::{fold_walks_in_lanes, identity},
};
pub(crate) use {
    cx::Cx,
    level::{AssembleMode, LevelId, LevelLowering, Parents},
    looplets::{Looplet, Stepper},
    options::MeanLengths,
    state::{AccessCursor, Fiber},
    storage::{FunctionTables, LevelCode},
};

use crate::assembly::{Buffer, BufferClass, BufferDecl, BufferRole, Function, Stmt};
use crate::notation::{BoundsCheck, Cut, Obstacle, Program, Role, Stmt as Notation, TensorId, cut};
use redpoll_logic::{Prim, Scalar, Special};
use sizes::SizeNames;

/// A function, with the meaning of its buffers and parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct LoweredFunction {
    /// The function.
    pub function: Function,
    /// The meaning of each buffer.
    pub bindings: Vec<Binding>,
    /// The meaning of each parameter.
    pub params: Vec<ParamSource>,
    /// The buffers of outputs in which each element is written before it is read; their initial
    /// contents do not matter.
    pub unfilled: Vec<Buffer>,
    /// The special values (such as NaN) that each tensor may contain.
    pub specials: Vec<Special>,
    /// The checks of coordinates that can end a call of the function.
    pub checks: Vec<BoundsCheck>,
    /// The record of a failed check: a buffer and the element that receives the number of the
    /// check. The coordinate follows in the next element.
    pub failure: Option<(Buffer, i64)>,
    /// The cut of the outermost loop into the chunks that calls run, or the obstacle to a cut.
    /// Without a cut, every call runs the whole program.
    pub cut: Result<Cut, Obstacle>,
}

/// Returns the special values that each tensor of a program may contain, given those of its inputs.
pub fn specials(program: &Program, layouts: &[Option<InputLayout>]) -> Vec<Special> {
    special::Specials::of(program, layouts).tensors
}

/// Lowers a program in normal form. `layouts[t]` is the layout of tensor `t`, an input. A missing
/// layout or `None` stands for positions of the width in `options` and for no special values.
pub fn lower(program: &Program, layouts: &[Option<InputLayout>], options: LoweringOptions) -> LoweredFunction {
    lower_with(program, layouts, options, Purpose::Kernel)
}

/// Lowers a program like [`lower`], but intersects long lists in rounds that do not depend on each
/// other: one list leads, and the others are searched.
pub(crate) fn lower_in_rounds(
    program: &Program,
    layouts: &[Option<InputLayout>],
    options: LoweringOptions,
    lengths: &MeanLengths,
) -> LoweredFunction {
    lower_with(program, layouts, options, Purpose::Grid(lengths))
}

/// The use of a lowered function.
enum Purpose<'p> {
    /// A kernel.
    Kernel,
    /// Grids, given the lengths of the lists of inputs.
    Grid(&'p MeanLengths),
    /// A text for readers, with these names of sizes.
    Text(SizeNames),
}

fn lower_with<'p>(
    program: &'p Program,
    layouts: &[Option<InputLayout>],
    options: LoweringOptions,
    purpose: Purpose<'p>,
) -> LoweredFunction {
    let (lengths, size_names) = match purpose {
        Purpose::Kernel => (None, None),
        Purpose::Grid(lengths) => (Some(lengths), None),
        Purpose::Text(size_names) => (None, Some(size_names)),
    };
    let specials = special::Specials::of(program, layouts);
    let mut cx = Cx::new(program, specials.clone(), options);
    cx.lengths = lengths;
    let chunk = (cx.new_local("chunk_lo", Prim::I64), cx.new_local("chunk_hi", Prim::I64));
    let redeclared = redeclared_tensors(program);
    let mut tables = FunctionTables { bindings: Vec::new(), params: Vec::new(), names: Vec::new(), size_names };
    for (k, decl) in program.tensors.iter().enumerate() {
        let id = TensorId(k as u32);
        let written = decl.role != Role::Input;
        let reset = redeclared.contains(&id) || written && levels::has_joined_fibers(&decl.ty.format);
        let mode = if reset { AssembleMode::GrowAndReset } else { AssembleMode::New };
        let layout = layouts.get(k).and_then(Option::as_ref);
        let code = storage::tensor_code(&mut cx, &mut tables, (id, decl), layout, (options.width, mode));
        cx.tensors.push(code);
    }
    reset_counters(&mut cx);
    record_lengths(&mut cx, &mut tables);
    for (k, source) in tables.params.iter().enumerate() {
        if let ParamSource::Dimension(n) = source {
            let param = crate::assembly::Expr::Param(crate::assembly::Param(k as u32));
            // The sizes 0 and 1 change the shape of the code; all other sizes share one shape.
            if *n <= 1 {
                cx.prover.assume_eq(&param, &int(*n as i64));
            } else {
                cx.prover.assume_le(&int(2), &param);
                // Equal sizes have different parameters only if sizes have names.
                if let Some(equal) = cx.size(*n as i64) {
                    cx.prover.assume_eq(&param, &equal);
                }
                cx.sizes.push((*n as i64, param));
            }
        }
    }
    let cut = cut(program, options.mode);
    if let Ok(cut) = &cut {
        cx.set_chunk(chunk, cut);
    }
    let (mut state, mut tree) = convert::convert(&cx, &tables);
    if sparse_scalars::add_flags(&mut cx, &state, &tree) {
        (state, tree) = convert::convert(&cx, &tables);
    }
    stmt::lower_resolved(&mut cx, state, &tree);
    if cut.is_ok() {
        clear_locals(&mut cx, &redeclared);
    }
    let body = cx.finish();
    let unfilled = unfilled::unfilled(&cx, &body);
    let function =
        Function { name: "kernel".into(), buffers: cx.buffers, params: tables.names, locals: cx.locals, chunk, body };
    let mut function = cleanup(function);
    // The lanes of a device share the walk of each fiber, so code for devices keeps one walk per
    // fiber.
    if lengths.is_none() {
        let walks;
        (function, walks) = collapse::collapse(function, options.mode);
        cx.walks.extend(walks);
    }
    let function = fold_walks_in_lanes(function, &cx.walks, options.mode);
    let (checks, failure) = (cx.checks, cx.failure);
    let specials = specials.tensors;
    LoweredFunction {
        function,
        bindings: tables.bindings,
        params: tables.params,
        unfilled,
        specials,
        checks,
        failure,
        cut,
    }
}

/// Sets to 0 the position counters of tensors whose declarations reset memory, so that the first
/// declaration finds nothing to clear.
fn reset_counters(cx: &mut Cx<'_>) {
    for k in 0..cx.tensors.len() {
        let redeclared = cx.tensors[k].assemble_mode == AssembleMode::GrowAndReset;
        let counters: Vec<_> = cx.tensors[k].levels.iter().filter_map(|l| l.count.filter(|_| redeclared)).collect();
        for counter in counters {
            cx.assign(counter, int(0));
        }
    }
}

/// Resets the memory of local tensors that are declared again, because the next chunk expects this
/// memory in its initial state.
fn clear_locals(cx: &mut Cx<'_>, redeclared: &[TensorId]) {
    let locals = redeclared.iter().filter(|t| cx.program.tensors[t.index()].role == Role::Local);
    for local in locals.copied().collect::<Vec<_>>() {
        cx.declare(local);
    }
}

/// Adds the buffer of lengths if there are outputs or checks. Reserves elements of this buffer for
/// each output and for the record of a failed check.
fn record_lengths(cx: &mut Cx<'_>, tables: &mut FunctionTables) {
    let outputs: Vec<usize> = cx.program.outputs().map(TensorId::index).collect();
    if outputs.is_empty() && cx.checks.is_empty() {
        return;
    }
    let decl = BufferDecl {
        name: "lengths".into(),
        prim: Prim::I64,
        class: BufferClass::Index,
        role: BufferRole::Owned,
        fill: Scalar::I64(0),
    };
    let buffer = tables.buffer(cx, Binding::Lengths, decl);
    let mut first = 0;
    for k in outputs {
        let code = &mut cx.tensors[k];
        code.lengths = Some((buffer, first));
        first += (code.levels.iter().map(|l| l.arrays.len()).sum::<usize>() + code.leaf.len()) as i64;
    }
    // Two elements for a failed check: its number and the coordinate.
    if !cx.checks.is_empty() {
        cx.failure = Some((buffer, first));
        first += 2;
    }
    cx.push(Stmt::Grow { buffer, len: int(first) });
}

/// Returns the tensors whose declaration may find contents of an earlier declaration: tensors that
/// are declared again, and tensors that exchange their memory with such a tensor.
fn redeclared_tensors(program: &Program) -> Vec<TensorId> {
    let all = (0..program.tensors.len() as u32).map(TensorId);
    let mut redeclared: Vec<TensorId> = all.filter(|t| is_redeclared(&program.body, *t)).collect();
    loop {
        let before = redeclared.len();
        program.body.walk(&mut |s| {
            if let Notation::Swap(t, u) = s {
                for (t, u) in [(t, u), (u, t)] {
                    if redeclared.contains(t) && !redeclared.contains(u) {
                        redeclared.push(*u);
                    }
                }
            }
        });
        if redeclared.len() == before {
            return redeclared;
        }
    }
}

/// Returns whether the tensor is declared more than once, or in a loop.
fn is_redeclared(body: &Notation, id: TensorId) -> bool {
    fn declarations(stmt: &Notation, id: TensorId) -> usize {
        match stmt {
            Notation::Block(items) => items.iter().map(|s| declarations(s, id)).sum(),
            Notation::For { body, .. } | Notation::While { body, .. } => 2 * declarations(body, id),
            Notation::If { body, .. } | Notation::Let { body, .. } => declarations(body, id),
            Notation::Where { consumer, producer } => declarations(consumer, id) + declarations(producer, id),
            Notation::Declare(t) => usize::from(*t == id),
            Notation::Freeze(_) | Notation::Thaw(_) | Notation::Swap(..) | Notation::Assign { .. } => 0,
        }
    }
    declarations(body, id) > 1
}
