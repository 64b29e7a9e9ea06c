//! The interpreter of Assembly, which checks every bound and counts the work.
//!
//! An [`Interpreter`] is a function with types and operators resolved once, so that repeated runs
//! are quick. An interpreter works on any [`Buffers`]. On the memory of machine code, an
//! interpreter must leave the same contents as machine code. Machine code is trusted to have no
//! access out of bounds and to store no index that does not fit; the interpreter reports such
//! faults as [`InterpFault`]s.

use super::eval::{BinaryFn, binary_fn};
use super::resolved::{ExprMemory, ResolvedExpr};
use super::{Buffer, BufferClass, Buffers, Function, Signature, Status, Stmt, verify};
use crate::Error;
use redpoll_logic::{Prim, plural};
use std::ops::{Add, Range};
use std::sync::Arc;

/// The work of interpreter runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Number of rounds of all loops, and of elements of lane folds.
    pub iterations: u64,
    /// Number of elements loaded.
    pub loads: u64,
    /// Number of elements stored.
    pub stores: u64,
    /// Number of bytes by which owned buffers grew, as requested, without spare capacity.
    pub allocated_bytes: u64,
}

impl Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            iterations: self.iterations + other.iterations,
            loads: self.loads + other.loads,
            stores: self.stores + other.stores,
            allocated_bytes: self.allocated_bytes + other.allocated_bytes,
        }
    }
}

/// A fault in a function, which machine code would not detect; or a run that exceeds its limit of
/// rounds. The cause is a mistake in lowering or in a function written by hand, bytes of an input
/// that are no `bool`, or a limit that is too low.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterpFault {
    /// An access outside of a buffer.
    #[error(
        "{access} of element {index} of buffer `{buffer}`, which has {len} {}",
        plural(*.len as u64, "element", "elements")
    )]
    OutOfBounds {
        /// The operation: `load`, `store` or `sort`.
        access: &'static str,
        /// The name of the buffer.
        buffer: String,
        /// The index of the element.
        index: i64,
        /// The number of elements.
        len: usize,
    },
    /// An index does not fit the width of its buffer.
    #[error("store of {value} into buffer `{buffer}` of {prim} indices")]
    IndexOverflow {
        /// The name of the buffer.
        buffer: String,
        /// The type of its elements.
        prim: Prim,
        /// The value.
        value: i64,
    },
    /// A byte of a buffer of `bool` is neither 0 nor 1.
    #[error("element {index} of bool buffer `{buffer}` is {byte}, expected 0 or 1")]
    NotBool {
        /// The name of the buffer.
        buffer: String,
        /// The index of the element.
        index: i64,
        /// The byte.
        byte: u64,
    },
    /// The run exceeded the limit of [`Interpreter::with_iteration_limit`].
    #[error("more than {0} rounds of loops")]
    TooManyIterations(u64),
}

/// Runs a function once over a chunk; use [`Interpreter`] for repeated runs.
///
/// # Errors
/// Returns the errors of [`Interpreter::new`] and [`Interpreter::run`].
pub fn interpret(function: &Function, on: &mut impl Buffers, chunk: Range<i64>) -> Result<(Status, Counts), Error> {
    let mut counts = Counts::default();
    let status = Interpreter::new(function)?.run(on, chunk, &mut counts)?;
    Ok((status, counts))
}

/// A function prepared for interpretation.
pub struct Interpreter {
    body: Vec<ResolvedStmt>,
    signature: Arc<Signature>,
    locals: usize,
    chunk: (usize, usize),
    iteration_limit: u64,
}

impl Interpreter {
    /// Verifies the function and resolves its types.
    ///
    /// # Errors
    /// [`Error::InvalidAssembly`] when the function breaks a rule of the verifier.
    pub fn new(function: &Function) -> Result<Interpreter, Error> {
        let faults = verify(function);
        if !faults.is_empty() {
            return Err(Error::invalid_assembly(&function.name, &faults));
        }
        Ok(Interpreter {
            body: resolve_block(function, &function.body),
            signature: Signature::of(function),
            locals: function.locals.len(),
            chunk: (function.chunk.0.index(), function.chunk.1.index()),
            iteration_limit: u64::MAX,
        })
    }

    /// Returns the signature of the function, from which invocations are made.
    pub fn signature(&self) -> &Arc<Signature> {
        &self.signature
    }

    /// Sets a limit on the number of rounds of loops and elements of lane folds in one run. A run
    /// that exceeds the limit stops with [`InterpFault::TooManyIterations`].
    #[must_use]
    pub fn with_iteration_limit(mut self, limit: u64) -> Interpreter {
        self.set_iteration_limit(limit);
        self
    }

    /// Sets a limit like [`Interpreter::with_iteration_limit`].
    pub fn set_iteration_limit(&mut self, limit: u64) {
        self.iteration_limit = limit;
    }

    /// Runs the function over a chunk, and adds the work to `counts`.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the invocation has another signature; [`Error::Interp`]
    /// for an [`InterpFault`].
    pub fn run(&self, on: &mut impl Buffers, chunk: Range<i64>, counts: &mut Counts) -> Result<Status, Error> {
        on.signature().check(&self.signature)?;
        let mut locals = vec![0; self.locals];
        locals[self.chunk.0] = chunk.start as u64;
        locals[self.chunk.1] = chunk.end as u64;
        let (limit, signature) = (self.iteration_limit, &*self.signature);
        let mut run = FunctionRun { memory: CountingMemory { on, signature, counts }, locals, limit, rounds: 0 };
        Ok(match run.block(&self.body)? {
            StmtOutcome::Return(status) => status,
            StmtOutcome::Next | StmtOutcome::Break => Status::Done,
        })
    }
}

/// A statement with its types resolved.
enum ResolvedStmt {
    Assign(usize, ResolvedExpr),
    Store(Buffer, ResolvedExpr, ResolvedExpr),
    If(ResolvedExpr, Vec<ResolvedStmt>, Vec<ResolvedStmt>),
    While(ResolvedExpr, Vec<ResolvedStmt>),
    For(usize, ResolvedExpr, ResolvedExpr, Vec<ResolvedStmt>),
    Break,
    Lanes {
        acc: usize,
        op: BinaryFn,
        identity: u64,
        lanes: usize,
        var: usize,
        lo: ResolvedExpr,
        hi: ResolvedExpr,
        value: ResolvedExpr,
    },
    Grow(Buffer, ResolvedExpr),
    Sort(Buffer, ResolvedExpr, ResolvedExpr),
    SortBy([Buffer; 3], ResolvedExpr, ResolvedExpr),
    Swap(Buffer, Buffer),
    Return(Status),
}

const VERIFIED: &str = "the function was verified";

fn resolve_block(f: &Function, stmts: &[Stmt]) -> Vec<ResolvedStmt> {
    stmts.iter().map(|s| resolve_stmt(f, s)).collect()
}

fn resolve_stmt(f: &Function, s: &Stmt) -> ResolvedStmt {
    match s {
        Stmt::Assign(local, value) => ResolvedStmt::Assign(local.index(), ResolvedExpr::new(f, value)),
        Stmt::Store { buffer, at, value, .. } => {
            ResolvedStmt::Store(*buffer, ResolvedExpr::new(f, at), ResolvedExpr::new(f, value))
        }
        Stmt::If { cond, then, other } => {
            ResolvedStmt::If(ResolvedExpr::new(f, cond), resolve_block(f, then), resolve_block(f, other))
        }
        Stmt::While { cond, body } => ResolvedStmt::While(ResolvedExpr::new(f, cond), resolve_block(f, body)),
        Stmt::For { var, lo, hi, body } => {
            ResolvedStmt::For(var.index(), ResolvedExpr::new(f, lo), ResolvedExpr::new(f, hi), resolve_block(f, body))
        }
        Stmt::Break => ResolvedStmt::Break,
        Stmt::Lanes(fold) => ResolvedStmt::Lanes {
            acc: fold.acc.index(),
            op: binary_fn(fold.op, f.locals[fold.acc.index()].prim).expect(VERIFIED),
            identity: fold.identity.to_bits().expect(VERIFIED),
            lanes: usize::from(fold.lanes),
            var: fold.var.index(),
            lo: ResolvedExpr::new(f, &fold.lo),
            hi: ResolvedExpr::new(f, &fold.hi),
            value: ResolvedExpr::new(f, &fold.value),
        },
        Stmt::Grow { buffer, len } => ResolvedStmt::Grow(*buffer, ResolvedExpr::new(f, len)),
        Stmt::Sort { buffer, lo, hi } => {
            ResolvedStmt::Sort(*buffer, ResolvedExpr::new(f, lo), ResolvedExpr::new(f, hi))
        }
        Stmt::SortBy { perm, major, minor, lo, hi } => {
            ResolvedStmt::SortBy([*perm, *major, *minor], ResolvedExpr::new(f, lo), ResolvedExpr::new(f, hi))
        }
        Stmt::Swap(a, b) => ResolvedStmt::Swap(*a, *b),
        Stmt::Return(status) => ResolvedStmt::Return(*status),
        Stmt::Extension(never) => match *never {},
    }
}

enum StmtOutcome {
    Next,
    Break,
    Return(Status),
}

struct FunctionRun<'a, B> {
    memory: CountingMemory<'a, B>,
    locals: Vec<u64>,
    limit: u64,
    rounds: u64,
}

/// The memory of a run, with counts of its accesses.
struct CountingMemory<'a, B> {
    on: &'a mut B,
    signature: &'a Signature,
    counts: &'a mut Counts,
}

impl<B: Buffers> FunctionRun<'_, B> {
    fn block(&mut self, ops: &[ResolvedStmt]) -> Result<StmtOutcome, InterpFault> {
        for op in ops {
            match self.op(op)? {
                StmtOutcome::Next => {}
                other => return Ok(other),
            }
        }
        Ok(StmtOutcome::Next)
    }

    fn op(&mut self, op: &ResolvedStmt) -> Result<StmtOutcome, InterpFault> {
        match op {
            ResolvedStmt::Assign(local, value) => self.locals[*local] = self.eval(value)?,
            ResolvedStmt::Store(buffer, at, value) => {
                let at = self.eval(at)? as i64;
                let value = self.eval(value)?;
                self.memory.store(*buffer, at, value)?;
            }
            ResolvedStmt::If(cond, then, other) => {
                let branch = if self.eval(cond)? != 0 { then } else { other };
                return self.block(branch);
            }
            ResolvedStmt::While(cond, body) => {
                while self.eval(cond)? != 0 {
                    if self.memory.on.is_cancelled() {
                        return Ok(StmtOutcome::Return(Status::Cancelled));
                    }
                    self.count_round()?;
                    match self.block(body)? {
                        StmtOutcome::Next => {}
                        StmtOutcome::Break => break,
                        done @ StmtOutcome::Return(_) => return Ok(done),
                    }
                }
            }
            ResolvedStmt::For(var, lo, hi, body) => {
                let (lo, hi) = self.range(lo, hi)?;
                for k in lo..hi {
                    if self.memory.on.is_cancelled() {
                        return Ok(StmtOutcome::Return(Status::Cancelled));
                    }
                    self.count_round()?;
                    self.locals[*var] = k as u64;
                    match self.block(body)? {
                        StmtOutcome::Next => {}
                        StmtOutcome::Break => break,
                        done @ StmtOutcome::Return(_) => return Ok(done),
                    }
                }
            }
            ResolvedStmt::Break => return Ok(StmtOutcome::Break),
            ResolvedStmt::Lanes { acc, op, identity, lanes, var, lo, hi, value } => {
                let (lo, hi) = self.range(lo, hi)?;
                let mut partials = vec![*identity; *lanes];
                for (k, lane) in (lo..hi).zip((0..*lanes).cycle()) {
                    self.count_round()?;
                    self.locals[*var] = k as u64;
                    partials[lane] = op(partials[lane], self.eval(value)?);
                }
                while partials.len() > 1 {
                    let upper = partials.split_off(partials.len() / 2);
                    for (lane, partial) in upper.into_iter().enumerate() {
                        partials[lane] = op(partials[lane], partial);
                    }
                }
                self.locals[*acc] = op(self.locals[*acc], partials[0]);
            }
            ResolvedStmt::Grow(buffer, len) => {
                let len = self.eval(len)? as i64;
                let before = self.memory.on.len(*buffer);
                let status = self.memory.on.grow(*buffer, len);
                if status != Status::Done {
                    return Ok(StmtOutcome::Return(status));
                }
                let grown = self.memory.on.len(*buffer) - before;
                self.memory.counts.allocated_bytes +=
                    (grown * self.memory.signature.buffers[buffer.index()].prim.bytes()) as u64;
            }
            ResolvedStmt::Sort(buffer, lo, hi) => {
                let (lo, hi) = self.range(lo, hi)?;
                if let Some(range) = self.memory.sort_range(*buffer, lo, hi)? {
                    self.memory.on.sort(*buffer, range);
                }
            }
            ResolvedStmt::SortBy([perm, major, minor], lo, hi) => {
                let (lo, hi) = self.range(lo, hi)?;
                if let Some(range) = self.memory.sort_range(*perm, lo, hi)? {
                    for at in range.clone() {
                        let k = self.memory.on.read(*perm, at) as i64;
                        self.memory.check("sort", *major, k)?;
                        self.memory.check("sort", *minor, k)?;
                    }
                    self.memory.on.sort_by(*perm, *major, *minor, range);
                }
            }
            ResolvedStmt::Swap(a, b) => self.memory.on.swap(*a, *b),
            ResolvedStmt::Return(status) => return Ok(StmtOutcome::Return(*status)),
        }
        Ok(StmtOutcome::Next)
    }

    fn range(&mut self, lo: &ResolvedExpr, hi: &ResolvedExpr) -> Result<(i64, i64), InterpFault> {
        Ok((self.eval(lo)? as i64, self.eval(hi)? as i64))
    }

    fn count_round(&mut self) -> Result<(), InterpFault> {
        self.memory.counts.iterations += 1;
        self.rounds += 1;
        if self.rounds > self.limit { Err(InterpFault::TooManyIterations(self.limit)) } else { Ok(()) }
    }

    fn eval(&mut self, node: &ResolvedExpr) -> Result<u64, InterpFault> {
        node.eval(&self.locals, &mut self.memory)
    }
}

impl<B: Buffers> CountingMemory<'_, B> {
    /// Returns the index of an element as an offset, or an error if the buffer does not have the
    /// element.
    fn check(&self, access: &'static str, buffer: Buffer, index: i64) -> Result<usize, InterpFault> {
        let len = self.on.len(buffer);
        usize::try_from(index).ok().filter(|at| *at < len).ok_or_else(|| InterpFault::OutOfBounds {
            access,
            buffer: self.signature.buffers[buffer.index()].name.clone(),
            index,
            len,
        })
    }

    /// Returns the range of elements to sort; `None` if it is empty, and an error if the buffer
    /// does not have all of its elements.
    fn sort_range(&self, buffer: Buffer, lo: i64, hi: i64) -> Result<Option<Range<usize>>, InterpFault> {
        if lo >= hi {
            return Ok(None);
        }
        let first = self.check("sort", buffer, lo)?;
        let last = self.check("sort", buffer, hi - 1)?;
        Ok(Some(first..last + 1))
    }

    fn store(&mut self, buffer: Buffer, index: i64, bits: u64) -> Result<(), InterpFault> {
        self.counts.stores += 1;
        let at = self.check("store", buffer, index)?;
        self.on.write(buffer, at, bits);
        let decl = &self.signature.buffers[buffer.index()];
        if decl.class == BufferClass::Index && self.on.read(buffer, at) != bits {
            return Err(InterpFault::IndexOverflow { buffer: decl.name.clone(), prim: decl.prim, value: bits as i64 });
        }
        Ok(())
    }
}

impl<B: Buffers> ExprMemory for CountingMemory<'_, B> {
    type Fault = InterpFault;

    fn param(&self, number: usize) -> i64 {
        self.on.params()[number]
    }

    fn load(&mut self, buffer: Buffer, index: i64) -> Result<u64, InterpFault> {
        self.counts.loads += 1;
        let at = self.check("load", buffer, index)?;
        let bits = self.on.read(buffer, at);
        let decl = &self.signature.buffers[buffer.index()];
        if decl.prim == Prim::Bool && bits > 1 {
            return Err(InterpFault::NotBool { buffer: decl.name.clone(), index, byte: bits });
        }
        Ok(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::VecBuffers;
    use super::super::text::parse;
    use super::*;

    /// Checks the error of a function with the statements `body`.
    fn check(body: &str, expected: &str) {
        let text = format!(
            "fn f() {{
               input src: value f64
               input flag: value bool
               owned out: value f64
               owned idx: index u32
               owned perm: index i8
               local lo: i64 local hi: i64 local x: f64 local b: bool
               chunk lo, hi
               {body}
             }}"
        );
        let program = Interpreter::new(&parse(&text).unwrap()).unwrap().with_iteration_limit(1000);
        let inputs = vec![vec![1.0f64.to_bits(); 3], vec![0, 1, 2]];
        let mut on = VecBuffers::new(program.signature(), inputs, vec![], usize::MAX).unwrap();
        let error = program.run(&mut on, 0..1, &mut Counts::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("interpreting assembly: {expected}"), "{body}");
    }

    #[test]
    fn faults_of_programs_are_errors() {
        let rows = [
            ("x = src[3]", "load of element 3 of buffer `src`, which has 3 elements"),
            ("x = src[-1]", "load of element -1 of buffer `src`, which has 3 elements"),
            ("x = select(true, 1.0, src[4])", "load of element 4 of buffer `src`, which has 3 elements"),
            ("out[0] = 1.0", "store of element 0 of buffer `out`, which has 0 elements"),
            // The memory may have room for more elements, but only one was requested.
            ("grow out, 1 out[1] = 1.0", "store of element 1 of buffer `out`, which has 1 element"),
            ("grow idx, 2 sort idx in 0..3", "sort of element 2 of buffer `idx`, which has 2 elements"),
            (
                "grow perm, 2 perm[1] = 7 grow idx, 7 sort_by perm by idx, idx in 0..2",
                "sort of element 7 of buffer `idx`, which has 7 elements",
            ),
            ("grow idx, 1 idx[0] = 4294967296", "store of 4294967296 into buffer `idx` of u32 indices"),
            ("grow idx, 1 idx[0] = -1", "store of -1 into buffer `idx` of u32 indices"),
            ("b = flag[2]", "element 2 of bool buffer `flag` is 2, expected 0 or 1"),
            ("while true { }", "more than 1000 rounds of loops"),
        ];
        for (body, expected) in rows {
            check(body, expected);
        }
    }
}
