//! Lowering: from Notation to Assembly, loop by loop, with looplets.
//!
//! [`lower`] takes a program in normal form (see [`crate::notation`]) and gives a function over the arrays of its
//! tensors. A statement is kept as a `Tree` whose accesses are numbers; what each access has come to stands in a
//! `State`. At a loop, the accesses that it resolves show the looplets of their fibers (`unfurl`), and the rules of
//! `looplets` take them apart until plain loops, conditions, loads and stores are left. Between any two steps the
//! statement is simplified with the operator table (`simplify`).

mod assign;
mod build;
mod cleanup;
mod convert;
mod cx;
mod expand;
mod integrate;
mod lanes;
mod level;
mod levels;
mod looplets;
mod prove;
mod range;
mod search;
pub(crate) mod seeded;
mod short_circuit;
mod simplify;
mod sparse_scalars;
mod special;
mod state;
mod stmt;
mod storage;
#[cfg(test)]
mod tests;
mod tree;
mod unfilled;
mod unfurl;
mod value;

pub use storage::{Binding, Layout, ParamSource, PositionWidth};

pub(crate) use {
    build::*,
    cleanup::cleanup,
    cx::Cx,
    lanes::{identity, walks_in_lanes},
    level::{At, LevelLowering, Parents, Room},
    looplets::{Looplet, Stepper},
    state::{Cursor, Fiber},
    storage::{LevelCode, Tables},
};

use crate::assembly::{Buffer, BufferClass, BufferDecl, BufferRole, Function, Stmt};
use crate::notation::{Checked, Cut, Obstacle, Program, Role, Stmt as Notation, TensorId, cut};
use crate::special::Special;
use redpoll_logic::{FloatMode, Prim, Scalar};
use std::collections::HashMap;

/// How to lower.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// What may be assumed of floats.
    pub mode: FloatMode,
    /// The width of positions in outputs.
    pub width: PositionWidth,
    /// A loop whose copies, times one more than the loops in it, are more than this is not copied further: rules that
    /// emit a body several times give way to those that emit it once. So code grows with the product of the copies up
    /// to here, and with their sum beyond.
    pub most_copies: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { mode: FloatMode::default(), width: PositionWidth::default(), most_copies: 16 }
    }
}

/// A function and what its buffers and parameters stand for.
#[derive(Clone, PartialEq, Debug)]
pub struct Lowered {
    /// The code.
    pub function: Function,
    /// What each buffer is.
    pub bindings: Vec<Binding>,
    /// What each parameter is.
    pub params: Vec<ParamSource>,
    /// The buffers of outputs whose elements are all written before they are read: what they hold at first does not matter.
    pub unfilled: Vec<Buffer>,
    /// The special values that each tensor may have.
    pub specials: Vec<Special>,
    /// The checks of coordinates that the function may end with.
    pub checks: Vec<Checked>,
    /// Where a check that has failed is recorded: its number at an element of a buffer, and the coordinate at the next one.
    pub failure: Option<(Buffer, i64)>,
    /// How the outermost loop is cut into the chunks that the function takes; where it is not, every call runs all of it.
    pub cut: Result<Cut, Obstacle>,
}

/// How many entries the lists of a level have on average, as far as that is known.
pub(crate) type Lengths = HashMap<(TensorId, usize), f64>;

/// Returns the special values that each tensor of a program may have, given those of its inputs.
pub fn specials(program: &Program, layouts: &[Option<Layout>]) -> Vec<Special> {
    special::Specials::of(program, layouts).tensors
}

/// Lowers a program in normal form. `layouts` has the array types of each input that differ from the narrow ones, by
/// tensor.
pub fn lower(program: &Program, layouts: &[Option<Layout>], options: Options) -> Lowered {
    lower_for(program, layouts, options, None)
}

/// The same with rounds of intersections that do not depend on each other, where lists are long: one of them leads, and the
/// others are searched.
pub(crate) fn lower_in_rounds(
    program: &Program,
    layouts: &[Option<Layout>],
    options: Options,
    lengths: &Lengths,
) -> Lowered {
    lower_for(program, layouts, options, Some(lengths))
}

fn lower_for<'p>(
    program: &'p Program,
    layouts: &[Option<Layout>],
    options: Options,
    lengths: Option<&'p Lengths>,
) -> Lowered {
    let specials = special::Specials::of(program, layouts);
    let mut cx = Cx::new(program, specials.clone(), options);
    cx.lengths = lengths;
    let chunk = (cx.new_local("chunk_lo", Prim::I64), cx.new_local("chunk_hi", Prim::I64));
    let again = declared_again(program);
    let mut tables = Tables { bindings: Vec::new(), params: Vec::new() };
    for (k, decl) in program.tensors.iter().enumerate() {
        let id = TensorId(k as u32);
        let written = decl.role != Role::Input;
        let reset = again.contains(&id) || written && levels::join::any_joins_fibers(&decl.ty.format);
        let room = if reset { Room::Reset } else { Room::Fresh };
        let layout = layouts.get(k).and_then(Option::as_ref);
        let code = storage::tensor_code(&mut cx, &mut tables, (id, decl), layout, (options.width, room));
        cx.tensors.push(code);
    }
    reset_counters(&mut cx);
    record_lengths(&mut cx, &mut tables);
    for (k, source) in tables.params.iter().enumerate() {
        if let ParamSource::Dimension(n) = source {
            let param = crate::assembly::Expr::Param(crate::assembly::Param(k as u32));
            // The sizes 0 and 1 decide the shape of the code; all others share it.
            if *n <= 1 {
                cx.prover.assume_eq(&param, &int(*n as i64));
            } else {
                cx.prover.assume_le(&int(2), &param);
                cx.sizes.push((*n as i64, param));
            }
        }
    }
    let cut = cut(program, options.mode);
    if let Ok(cut) = &cut {
        cx.set_chunk(chunk, cut);
    }
    let (mut state, mut tree) = convert::convert(&cx, &tables);
    if sparse_scalars::flag(&mut cx, &state, &tree) {
        (state, tree) = convert::convert(&cx, &tables);
    }
    stmt::lower_resolved(&mut cx, state, &tree);
    if cut.is_ok() {
        clear_locals(&mut cx, &again);
    }
    let body = cx.finish();
    let unfilled = unfilled::unfilled(&cx);
    let function = Function {
        name: "kernel".into(),
        buffers: cx.buffers,
        params: tables.params.iter().map(param_name).collect(),
        locals: cx.locals,
        chunk,
        body,
    };
    let function = walks_in_lanes(cleanup(function), &cx.walks, options.mode);
    let (checks, failure) = (cx.checks, cx.failure);
    let specials = specials.tensors;
    Lowered { function, bindings: tables.bindings, params: tables.params, unfilled, specials, checks, failure, cut }
}

fn param_name(source: &ParamSource) -> String {
    match source {
        ParamSource::Dimension(n) => format!("n{n}"),
        ParamSource::Length { tensor, level, array } => format!("len{}_{level}_{array}", tensor.0),
        ParamSource::Positions(tensor) => format!("positions{}", tensor.0),
    }
}

/// Sets the counters of tensors that are declared again to 0: their first declaration finds nothing to be cleared.
fn reset_counters(cx: &mut Cx<'_>) {
    for k in 0..cx.tensors.len() {
        let again = cx.tensors[k].room == Room::Reset;
        let counters: Vec<_> = cx.tensors[k].levels.iter().filter_map(|l| l.count.filter(|_| again)).collect();
        for counter in counters {
            cx.assign(counter, int(0));
        }
    }
}

/// Leaves the memory of locals that are declared again as it was at first: the next chunk begins with it.
fn clear_locals(cx: &mut Cx<'_>, again: &[TensorId]) {
    let locals = again.iter().filter(|t| cx.program.tensors[t.index()].role == Role::Local);
    for local in locals.copied().collect::<Vec<_>>() {
        cx.declare(local);
    }
}

/// Adds the buffer of lengths and says which of them each output records.
fn record_lengths(cx: &mut Cx<'_>, tables: &mut Tables) {
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
    // Which check has failed, and the coordinate.
    if !cx.checks.is_empty() {
        cx.failure = Some((buffer, first));
        first += 2;
    }
    cx.push(Stmt::Grow { buffer, len: int(first) });
}

/// The tensors whose declaration may find what an earlier life has left: those declared again, and those that they
/// exchange their memory with.
fn declared_again(program: &Program) -> Vec<TensorId> {
    let all = (0..program.tensors.len() as u32).map(TensorId);
    let mut again: Vec<TensorId> = all.filter(|t| is_declared_again(&program.body, *t)).collect();
    loop {
        let before = again.len();
        program.body.walk(&mut |s| {
            if let Notation::Swap(t, u) = s {
                for (t, u) in [(t, u), (u, t)] {
                    if again.contains(t) && !again.contains(u) {
                        again.push(*u);
                    }
                }
            }
        });
        if again.len() == before {
            return again;
        }
    }
}

/// Whether the tensor is declared more than once, or in a loop.
fn is_declared_again(body: &Notation, id: TensorId) -> bool {
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
