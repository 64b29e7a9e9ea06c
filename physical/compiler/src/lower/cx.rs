//! The context of lowering: the function under construction, the bindings, and the facts proved so
//! far.

use super::expand::Laws;
use super::guards::ArgumentFacts;
use super::level::LevelId;
use super::prove::Prover;
use super::special::Specials;
use super::state::{Coordinate, Violation};
use super::storage::TensorCode;
use super::tree::Tree;
use super::unguarded::GuardUse;
use super::value::{LoweredValue, StmtSink};
use super::{LoweringOptions, MeanLengths};
use crate::assembly::build::{self, add, and, int, is_cheap, is_register_only, lt, mul, not, split};
use crate::assembly::{Buffer, BufferDecl, CompareOp, Expr, Local, LocalDecl, Status, Stmt};
use crate::notation::{
    BoundsCheck, Cut, Index, Join, Program, Role, RoundCoordinates, Rounds, Site, Stmt as Notation, TensorId, Var,
    Write, bounds_checks, index_ranges,
};
use redpoll_logic::{FloatMode, Prim, Special};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Limit on the number of emitted statements. Beyond this limit, a loop that already occurs several
/// times in the code is not copied again. Without the limit, a long function could become much
/// longer, because each access may split a loop into cases, and the numbers of cases multiply.
const LONG_FUNCTION: usize = 1500;

/// The function under construction and the facts that are proved where code is being emitted.
pub(crate) struct Cx<'p> {
    pub(crate) program: &'p Program,
    pub(crate) mode: FloatMode,
    /// The facts about extents that are proved at this point.
    pub(crate) prover: Prover,
    pub(crate) locals: Vec<LocalDecl>,
    pub(crate) buffers: Vec<BufferDecl>,
    /// The arrays and counters of each tensor.
    pub(crate) tensors: Vec<TensorCode>,
    /// The values of loop indices that are bound.
    indices: Vec<Option<Expr>>,
    /// For each tensor, `true` if all its writes fold by one operator, and no `swap` exchanges the
    /// tensor.
    only_folded: Vec<bool>,
    /// The range of each loop index, computed on demand.
    index_ranges: OnceCell<Vec<Option<(i64, i64)>>>,
    /// The values of variables that are bound.
    vars: Vec<Option<LoweredValue>>,
    /// The form of rounds (lanes, unrolling) that the program requests for each loop.
    rounds: HashMap<Index, Rounds>,
    /// Number of open loops. A tensor declared inside a loop is declared again in every round.
    pub(crate) depth: usize,
    /// Number of times that the current statement occurs in the code.
    copies: u32,
    max_copies: u32,
    /// Approximate number of statements emitted, including those of dropped blocks.
    emitted: usize,
    out: Vec<Stmt>,
    /// The bounds of the chunk, until the loop that the chunk cuts takes them.
    chunk: Option<(Local, Local)>,
    /// The end of the loop that the chunk cuts, once that loop is lowered.
    chunk_end: Option<Expr>,
    /// The average lengths of the lists of inputs, by tensor and level, if the function is lowered
    /// for grids; otherwise `None`. In grids, the rounds of an intersection must not depend on each
    /// other.
    pub(crate) lengths: Option<&'p MeanLengths>,
    /// The sizes of storage modes other than 0 and 1, each with its parameter.
    pub(crate) sizes: Vec<(i64, Expr)>,
    /// The subscripts that are checked at run time.
    pub(crate) checks: Vec<BoundsCheck>,
    /// The record of a failed check: a buffer, and the element that receives the number of the
    /// check. The coordinate follows in the next element.
    pub(crate) failure: Option<(Buffer, i64)>,
    /// The cursors of walks to be folded in lanes, with the number of lanes.
    pub(crate) walks: Vec<(Local, u16)>,
    /// The special values that tensors and variables may contain.
    specials: Specials,
    /// The use of guards in the code that is being lowered.
    pub(crate) guard_use: GuardUse,
}

impl<'p> Cx<'p> {
    pub(crate) fn new(program: &'p Program, specials: Specials, options: LoweringOptions) -> Cx<'p> {
        let mut requested = HashMap::new();
        program.body.walk(&mut |s| {
            if let Notation::For { index, rounds, .. } = s {
                requested.insert(*index, *rounds);
            }
        });
        Cx {
            program,
            rounds: requested,
            mode: options.mode,
            prover: Prover::default(),
            locals: Vec::new(),
            buffers: Vec::new(),
            tensors: Vec::new(),
            indices: vec![None; program.indices.len()],
            index_ranges: OnceCell::new(),
            only_folded: find_only_folded(program),
            vars: vec![None; program.vars.len()],
            depth: 0,
            copies: 1,
            max_copies: options.max_copies,
            emitted: 0,
            out: Vec::new(),
            chunk: None,
            chunk_end: None,
            lengths: None,
            sizes: Vec::new(),
            checks: bounds_checks(program),
            failure: None,
            walks: Vec::new(),
            specials,
            guard_use: GuardUse::Guarded,
        }
    }

    /// Returns the number of lanes that the program requests for a loop, if it requests lanes.
    pub(crate) fn lanes(&self, index: Index) -> Option<u8> {
        match self.rounds.get(&index) {
            Some(Rounds::Lanes(lanes)) => Some(*lanes),
            _ => None,
        }
    }

    /// Appends a loop along the entries of steppers, unrolled as often as the program requests for
    /// the index. No loop is unrolled in a function for grids.
    pub(crate) fn push_steps(&mut self, index: Option<Index>, cond: Expr, body: Vec<Stmt>) {
        let copies = match index.and_then(|index| self.rounds.get(&index)) {
            Some(Rounds::Unrolled(copies)) if self.lengths.is_none() => *copies,
            _ => 1,
        };
        let guard = Stmt::If { cond: not(&cond), then: vec![Stmt::Break], other: Vec::new() };
        let single = if copies > 1 { body.clone() } else { Vec::new() };
        let mut unrolled = body;
        for _ in 1..copies {
            unrolled.push(guard.clone());
            unrolled.extend(single.iter().cloned());
        }
        self.push(Stmt::While { cond, body: unrolled });
    }

    /// Records the cursor of the loop with condition `more` for a fold in lanes, if the program
    /// requests lanes for the loop and the condition compares the cursor with an end.
    pub(crate) fn request_lanes(&mut self, index: Index, more: &Expr) {
        if let (Some(lanes), Expr::Compare(CompareOp::Lt, cursor, _)) = (self.lanes(index), more)
            && let Expr::Local(cursor) = **cursor
        {
            self.walks.push((cursor, u16::from(lanes)));
        }
    }

    /// Takes the code emitted so far in the current block.
    pub(crate) fn finish(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.out)
    }

    /// Returns the parameter that stands for a size, if there is such a parameter.
    pub(crate) fn size(&self, n: i64) -> Option<Expr> {
        self.sizes.iter().find(|(size, _)| *size == n).map(|(_, param)| param.clone())
    }

    /// Returns the number of the check of a subscript.
    pub(crate) fn check_number(&self, tensor: TensorId, mode: usize, site: &Arc<Site>) -> u32 {
        let is_same = |c: &BoundsCheck| c.tensor == tensor && c.mode == mode && Arc::ptr_eq(&c.site, site);
        self.checks.iter().position(is_same).expect("every check of the program is listed") as u32
    }

    /// Emits code that records a coordinate out of bounds and ends the run.
    pub(crate) fn fail(&mut self, violation: &Violation) {
        let (buffer, first) = self.failure.expect("a function with checks has a record of the failed check");
        let coordinate = match &violation.coordinate {
            Coordinate::Value(coordinate) => coordinate.clone(),
            Coordinate::Affine { index, scale, offset, first } => {
                // A loop whose rounds are all equal is lowered as its first round alone; its index
                // then has no value.
                let round = index.and_then(|i| self.index(i)).unwrap_or(first);
                add(&mul(&int(*scale), round), offset)
            }
        };
        let record = [int(i64::from(violation.site)), coordinate];
        for (at, value) in (first..).zip(record) {
            self.push(Stmt::store(buffer, int(at), value));
        }
        self.push(Stmt::Return(Status::OutOfBounds));
    }

    /// Returns whether the code so far ends with a return, so that code after it is unreachable.
    fn has_ended(&self) -> bool {
        matches!(self.out.last(), Some(Stmt::Return(_)))
    }

    /// Returns whether the level belongs to a local tensor that is never swapped, and every read of
    /// the level is a lookup.
    pub(crate) fn is_lookup_only(&self, at: LevelId) -> bool {
        let is_local = self.program.tensors[at.tensor.index()].role == Role::Local;
        is_local && self.program.body.is_only_followed(at.tensor, at.level)
    }

    /// Adds a local.
    pub(crate) fn new_local(&mut self, name: &str, prim: Prim) -> Local {
        self.locals.push(LocalDecl { name: name.to_string(), prim });
        Local(self.locals.len() as u32 - 1)
    }

    /// Adds a buffer.
    pub(crate) fn new_buffer(&mut self, decl: BufferDecl) -> Buffer {
        self.buffers.push(decl);
        Buffer(self.buffers.len() as u32 - 1)
    }

    /// Appends a statement, unless the code so far ends with a return.
    pub(crate) fn push(&mut self, stmt: Stmt) {
        if !self.has_ended() {
            self.emitted += 1;
            self.out.push(stmt);
        }
    }

    /// Appends statements, unless the code so far ends with a return.
    pub(crate) fn extend(&mut self, stmts: Vec<Stmt>) {
        if !self.has_ended() {
            self.emitted += stmts.len();
            self.out.extend(stmts);
        }
    }

    /// Returns the code of the current block so far.
    pub(crate) fn code(&mut self) -> &mut Vec<Stmt> {
        &mut self.out
    }

    /// Emits `local = value`.
    pub(crate) fn assign(&mut self, local: Local, value: Expr) {
        self.push(Stmt::Assign(local, value));
    }

    /// Returns the code that `emit` emits as a separate block. Facts learned in it are dropped
    /// afterwards, because the block may not run.
    pub(crate) fn block(&mut self, emit: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        let outer = std::mem::take(&mut self.out);
        let scope = self.prover.open();
        emit(self);
        self.prover.close(scope);
        std::mem::replace(&mut self.out, outer)
    }

    /// Returns the body of a loop that `emit` emits. A tensor declared in it is declared again in
    /// every round.
    pub(crate) fn loop_block(&mut self, emit: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        self.depth += 1;
        let body = self.block(emit);
        self.depth -= 1;
        body
    }

    /// Calls `emit` for one of several pieces of code that all contain the current statement;
    /// `parts` is the number of these pieces.
    pub(crate) fn with_copies(&mut self, parts: u32, emit: impl FnOnce(&mut Self)) {
        let outer = self.copies;
        self.copies = outer.saturating_mul(parts.max(1));
        emit(self);
        self.copies = outer;
    }

    /// Returns whether a loop with this body must not be copied further. A copy of the loop also
    /// copies the loops in its body.
    pub(crate) fn is_copy_limited(&self, body: &Tree) -> bool {
        self.is_limited_after(1, body)
    }

    /// Returns whether a loop with this body must not be copied further after it has been cut into
    /// this many parts.
    pub(crate) fn is_limited_after(&self, parts: u32, body: &Tree) -> bool {
        let copies = self.copies.saturating_mul(parts);
        let in_long_code = copies > 1 && self.emitted > LONG_FUNCTION;
        in_long_code || copies.saturating_mul(1 + body.count_loops()) > self.max_copies
    }

    /// Calls `emit` and returns whether it emitted any code.
    pub(crate) fn emits_code(&mut self, emit: impl FnOnce(&mut Self)) -> bool {
        let before = self.out.len();
        emit(self);
        self.out.len() > before
    }

    /// Returns an `i64` expression that equals `e` and is cheap to repeat. If `e` is not cheap, its
    /// base (`e` without a constant term) is assigned to a local, which inherits the bounds proved
    /// for the base.
    pub(crate) fn name(&mut self, label: &str, e: &Expr) -> Expr {
        if is_cheap(e) {
            return e.clone();
        }
        let (base, offset) = split(e);
        let base = base.expect("an expression without base is cheap").clone();
        let named = self.new_local(label, Prim::I64);
        self.assign(named, base.clone());
        let named = Expr::Local(named);
        self.prover.assume_le(&named, &base);
        self.prover.assume_le(&base, &named);
        build::plus(&named, offset)
    }

    /// Returns a `bool` expression that equals `e` and is cheap to repeat. If `e` reads memory, its
    /// value is assigned to a local.
    pub(crate) fn name_bool(&mut self, label: &str, e: &Expr) -> Expr {
        if is_register_only(e) {
            return e.clone();
        }
        let named = self.new_local(label, Prim::Bool);
        self.assign(named, e.clone());
        Expr::Local(named)
    }

    /// Appends `if cond { then } else { other }` in its simplest form. Constant conditions are
    /// decided, and empty branches are dropped. If `other` is empty, and the only statement of
    /// `then` is an `if` without `else` whose condition reads no memory, the two conditions are
    /// merged.
    pub(crate) fn push_if(&mut self, cond: Expr, mut then: Vec<Stmt>, other: Vec<Stmt>) {
        match build::as_truth(&cond) {
            Some(true) => return self.extend(then),
            Some(false) => return self.extend(other),
            None => {}
        }
        if then.is_empty() && other.is_empty() {
            return;
        }
        if then.is_empty() {
            return self.push_if(not(&cond), other, Vec::new());
        }
        if other.is_empty()
            && let [Stmt::If { cond: inner, then: innermost, other: no_stmts }] = &mut then[..]
            && no_stmts.is_empty()
            && is_register_only(inner)
        {
            let cond = and(&cond, inner);
            let then = std::mem::take(innermost);
            return self.push(Stmt::If { cond, then, other });
        }
        if !self.has_ended() {
            self.out.push(Stmt::If { cond, then, other });
        }
    }

    /// Emits code that runs if `lo < hi`. The code has no guard if `lo < hi` is proved; no code is
    /// emitted if `lo < hi` is disproved.
    pub(crate) fn if_below(&mut self, lo: &Expr, hi: &Expr, emit: impl FnOnce(&mut Self)) {
        if self.prover.lt(lo, hi) {
            return emit(self);
        }
        if self.prover.le(hi, lo) {
            return;
        }
        let scope = self.prover.open();
        self.prover.assume_le(&build::plus(lo, 1), hi);
        let then = self.block(emit);
        self.prover.close(scope);
        self.push_if(lt(lo, hi), then, Vec::new());
    }

    /// Cuts the next loop to a chunk, and records the range of coordinates that the chunk writes in
    /// each output to which chunks append.
    pub(crate) fn set_chunk(&mut self, chunk: (Local, Local), cut: &Cut) {
        self.chunk = Some(chunk);
        for (tensor, join) in &cut.outputs {
            if let Join::Appended(coordinates) = join {
                let written = match *coordinates == RoundCoordinates::ROUND {
                    true => chunk,
                    false => {
                        (self.first_coordinate(*coordinates, chunk.0), self.first_coordinate(*coordinates, chunk.1))
                    }
                };
                self.tensors[tensor.index()].chunk = Some(written);
            }
        }
    }

    /// Returns a local with the first coordinate that a round writes, computed like
    /// [`RoundCoordinates::first`].
    fn first_coordinate(&mut self, coordinates: RoundCoordinates, round: Local) -> Local {
        let (factor, constant) = coordinates.form();
        let limit = int(coordinates.max_round());
        let round = build::max(&build::min(&Expr::Local(round), &limit), &int(-coordinates.max_round()));
        let first = self.new_local("first", Prim::I64);
        self.assign(first, add(&mul(&int(factor), &round), &int(constant)));
        first
    }

    /// Takes the bounds of the chunk to which the next loop is cut.
    pub(crate) fn take_chunk(&mut self) -> Option<(Expr, Expr)> {
        self.chunk.take().map(|(lo, hi)| (Expr::Local(lo), Expr::Local(hi)))
    }

    /// Sets the end of the loop that the chunk cuts.
    pub(crate) fn set_chunk_end(&mut self, end: Expr) {
        self.chunk_end = Some(end);
    }

    /// Returns the end of the loop that the chunk cuts.
    pub(crate) fn chunk_end(&self) -> Option<&Expr> {
        self.chunk_end.as_ref()
    }

    /// Binds a loop index to a value.
    pub(crate) fn bind_index(&mut self, index: Index, value: Expr) {
        self.set_index(index, Some(value));
    }

    /// Unbinds a loop index.
    pub(crate) fn unbind_index(&mut self, index: Index) {
        self.set_index(index, None);
    }

    /// Binds a loop index to a value, or unbinds it.
    pub(crate) fn set_index(&mut self, index: Index, value: Option<Expr>) {
        self.indices[index.index()] = value;
    }

    /// Returns the least and the greatest value of a loop index, if they are known.
    pub(crate) fn index_range(&self, index: Index) -> Option<(i64, i64)> {
        *self.index_ranges.get_or_init(|| index_ranges(self.program)).get(index.index())?
    }

    /// Returns the value of a loop index, if it is bound.
    pub(crate) fn index(&self, index: Index) -> Option<&Expr> {
        self.indices[index.index()].as_ref()
    }

    /// Returns the name of a loop index.
    pub(crate) fn index_name(&self, index: Index) -> &'p str {
        &self.program.indices[index.index()]
    }

    /// Binds a variable to a value, or unbinds it, and returns its previous value.
    pub(crate) fn bind_var(&mut self, var: Var, value: Option<LoweredValue>) -> Option<LoweredValue> {
        std::mem::replace(&mut self.vars[var.index()], value)
    }

    /// Returns the value of a variable, if it is bound.
    pub(crate) fn var(&self, var: Var) -> Option<&LoweredValue> {
        self.vars[var.index()].as_ref()
    }

    /// Returns whether all writes of a tensor fold by one operator and no `swap` exchanges the
    /// tensor, so that its elements are folds that start with its fill value.
    pub(crate) fn is_only_folded(&self, id: TensorId) -> bool {
        self.only_folded[id.index()]
    }

    /// Returns the special values that a tensor may contain.
    pub(crate) fn special(&self, id: TensorId) -> Special {
        self.specials.tensors[id.index()]
    }

    /// Returns the special values that a variable may have.
    pub(crate) fn special_of_var(&self, var: Var) -> Special {
        self.specials.vars[var.index()]
    }

    /// Returns the laws of floats in this mode for arguments with the given facts.
    pub(crate) fn laws<'a>(&self, facts: &'a [ArgumentFacts<'a>]) -> Laws<'a> {
        if self.mode == FloatMode::Relaxed { Laws::Default(facts) } else { Laws::Ieee }
    }

    /// Returns the arrays and counters of a tensor.
    pub(crate) fn tensor(&self, id: TensorId) -> &TensorCode {
        &self.tensors[id.index()]
    }
}

/// Returns, for each tensor, whether all its writes fold by one operator, and no `swap` exchanges
/// the tensor.
fn find_only_folded(program: &Program) -> Vec<bool> {
    let mut writes: Vec<Option<&Write>> = vec![None; program.tensors.len()];
    let mut only_folded = vec![true; program.tensors.len()];
    program.body.walk(&mut |s| match s {
        Notation::Assign { lhs, write, .. } => {
            let k = lhs.tensor.index();
            let is_first_or_same = writes[k].is_none_or(|first| first == write);
            only_folded[k] &= matches!(write, Write::Fold(_)) && is_first_or_same;
            writes[k] = Some(write);
        }
        Notation::Swap(t, u) => [t, u].into_iter().for_each(|t| only_folded[t.index()] = false),
        _ => {}
    });
    only_folded
}

impl StmtSink for Cx<'_> {
    fn local(&mut self, name: &str, prim: Prim) -> Local {
        self.new_local(name, prim)
    }

    fn push(&mut self, stmt: Stmt) {
        Cx::push(self, stmt);
    }
}
