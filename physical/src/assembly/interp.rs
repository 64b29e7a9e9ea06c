//! The interpreter of Assembly, which checks every bound and counts the work.
//!
//! A [`Program`] is a function with types and operators resolved once, so that repeated runs are
//! quick. It works on the same [`Invocation`] as machine code and must leave it with the same
//! contents. Faults that machine code is trusted not to have (an access out of bounds, an index
//! that does not fit) are an [`InterpError`] here.

use super::eval::{BinaryFn, binary_fn};
use super::node::{Memory, Node};
use super::{Buffer, BufferClass, Function, Status, Stmt, verify};
use crate::Error;
use crate::run::{Invocation, Signature};
use redpoll_logic::Prim;
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

/// A fault of the program that machine code would not detect. Lowering's fault, never the user's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterpError {
    /// An access outside of a buffer.
    #[error("{access} of element {index} of buffer `{buffer}`, which has {len}")]
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
    #[error("element {index} of buffer `{buffer}` of bool is {byte}")]
    NotBool {
        /// The name of the buffer.
        buffer: String,
        /// The index of the element.
        index: i64,
        /// The byte.
        byte: u64,
    },
    /// The run exceeded the limit of rounds.
    #[error("more than {0} rounds of loops")]
    TooManyIterations(u64),
}

/// Runs a function once over a chunk; use [`Program`] for repeated runs.
///
/// # Errors
/// Like [`Program::new`] and [`Program::run`].
pub fn interpret(function: &Function, on: &mut Invocation, chunk: Range<i64>) -> Result<(Status, Counts), Error> {
    let mut counts = Counts::default();
    let status = Program::new(function)?.run(on, chunk, &mut counts)?;
    Ok((status, counts))
}

/// A function prepared for interpretation.
pub struct Program {
    body: Vec<Op>,
    signature: Arc<Signature>,
    locals: usize,
    chunk: (usize, usize),
    iteration_limit: u64,
}

impl Program {
    /// Verifies the function and resolves its types.
    ///
    /// # Errors
    /// [`Error::InvalidAssembly`] when the function breaks a rule of the verifier.
    pub fn new(function: &Function) -> Result<Program, Error> {
        let faults = verify(function);
        if !faults.is_empty() {
            return Err(Error::invalid_assembly(&function.name, &faults));
        }
        Ok(Program {
            body: block(function, &function.body),
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

    /// Sets a limit of rounds of loops in one run, after which it stops with
    /// [`InterpError::TooManyIterations`].
    pub fn with_iteration_limit(mut self, limit: u64) -> Program {
        self.iteration_limit = limit;
        self
    }

    /// Runs the function over a chunk, and adds the work to `counts`.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the invocation has another signature; [`Error::Interp`]
    /// for a fault of the program.
    pub fn run(&self, on: &mut Invocation, chunk: Range<i64>, counts: &mut Counts) -> Result<Status, Error> {
        on.check(&self.signature)?;
        let mut locals = vec![0; self.locals];
        locals[self.chunk.0] = chunk.start as u64;
        locals[self.chunk.1] = chunk.end as u64;
        let (limit, signature) = (self.iteration_limit, &*self.signature);
        let mut machine = Machine { memory: Counted { on, signature, counts }, locals, limit, rounds: 0 };
        Ok(match machine.block(&self.body)? {
            Flow::Return(status) => status,
            Flow::Next | Flow::Break => Status::Done,
        })
    }
}

/// A statement with its types resolved.
enum Op {
    Assign(usize, Node),
    Store(Buffer, Node, Node),
    If(Node, Vec<Op>, Vec<Op>),
    While(Node, Vec<Op>),
    For(usize, Node, Node, Vec<Op>),
    Break,
    Lanes { acc: usize, op: BinaryFn, identity: u64, lanes: usize, var: usize, lo: Node, hi: Node, value: Node },
    Grow(Buffer, Node),
    Sort(Buffer, Node, Node),
    SortBy([Buffer; 3], Node, Node),
    Swap(Buffer, Buffer),
    Return(Status),
}

const VERIFIED: &str = "the function was verified";

fn block(f: &Function, stmts: &[Stmt]) -> Vec<Op> {
    stmts.iter().map(|s| stmt(f, s)).collect()
}

fn stmt(f: &Function, s: &Stmt) -> Op {
    match s {
        Stmt::Assign(local, value) => Op::Assign(local.index(), Node::new(f, value)),
        Stmt::Store { buffer, at, value } => Op::Store(*buffer, Node::new(f, at), Node::new(f, value)),
        Stmt::If { cond, then, other } => Op::If(Node::new(f, cond), block(f, then), block(f, other)),
        Stmt::While { cond, body } => Op::While(Node::new(f, cond), block(f, body)),
        Stmt::For { var, lo, hi, body } => Op::For(var.index(), Node::new(f, lo), Node::new(f, hi), block(f, body)),
        Stmt::Break => Op::Break,
        Stmt::Lanes(fold) => Op::Lanes {
            acc: fold.acc.index(),
            op: binary_fn(fold.op, f.locals[fold.acc.index()].prim).expect(VERIFIED),
            identity: fold.identity.to_bits().expect(VERIFIED),
            lanes: usize::from(fold.lanes),
            var: fold.var.index(),
            lo: Node::new(f, &fold.lo),
            hi: Node::new(f, &fold.hi),
            value: Node::new(f, &fold.value),
        },
        Stmt::Grow { buffer, len } => Op::Grow(*buffer, Node::new(f, len)),
        Stmt::Sort { buffer, lo, hi } => Op::Sort(*buffer, Node::new(f, lo), Node::new(f, hi)),
        Stmt::SortBy { perm, major, minor, lo, hi } => {
            Op::SortBy([*perm, *major, *minor], Node::new(f, lo), Node::new(f, hi))
        }
        Stmt::Swap(a, b) => Op::Swap(*a, *b),
        Stmt::Return(status) => Op::Return(*status),
    }
}

enum Flow {
    Next,
    Break,
    Return(Status),
}

struct Machine<'a> {
    memory: Counted<'a>,
    locals: Vec<u64>,
    limit: u64,
    rounds: u64,
}

/// The memory of a run, with counts of its accesses.
struct Counted<'a> {
    on: &'a mut Invocation,
    signature: &'a Signature,
    counts: &'a mut Counts,
}

impl Machine<'_> {
    fn block(&mut self, ops: &[Op]) -> Result<Flow, InterpError> {
        for op in ops {
            match self.op(op)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn op(&mut self, op: &Op) -> Result<Flow, InterpError> {
        match op {
            Op::Assign(local, value) => self.locals[*local] = self.eval(value)?,
            Op::Store(buffer, at, value) => {
                let at = self.eval(at)? as i64;
                let value = self.eval(value)?;
                self.memory.store(*buffer, at, value)?;
            }
            Op::If(cond, then, other) => {
                let taken = if self.eval(cond)? != 0 { then } else { other };
                return self.block(taken);
            }
            Op::While(cond, body) => {
                while self.eval(cond)? != 0 {
                    if self.memory.on.is_cancelled() {
                        return Ok(Flow::Return(Status::Cancelled));
                    }
                    self.count_round()?;
                    match self.block(body)? {
                        Flow::Next => {}
                        Flow::Break => break,
                        done @ Flow::Return(_) => return Ok(done),
                    }
                }
            }
            Op::For(var, lo, hi, body) => {
                let (lo, hi) = self.range(lo, hi)?;
                for k in lo..hi {
                    if self.memory.on.is_cancelled() {
                        return Ok(Flow::Return(Status::Cancelled));
                    }
                    self.count_round()?;
                    self.locals[*var] = k as u64;
                    match self.block(body)? {
                        Flow::Next => {}
                        Flow::Break => break,
                        done @ Flow::Return(_) => return Ok(done),
                    }
                }
            }
            Op::Break => return Ok(Flow::Break),
            Op::Lanes { acc, op, identity, lanes, var, lo, hi, value } => {
                let (lo, hi) = self.range(lo, hi)?;
                let mut parts = vec![*identity; *lanes];
                for (k, lane) in (lo..hi).zip((0..*lanes).cycle()) {
                    self.count_round()?;
                    self.locals[*var] = k as u64;
                    parts[lane] = op(parts[lane], self.eval(value)?);
                }
                while parts.len() > 1 {
                    let upper = parts.split_off(parts.len() / 2);
                    for (lane, part) in upper.into_iter().enumerate() {
                        parts[lane] = op(parts[lane], part);
                    }
                }
                self.locals[*acc] = op(self.locals[*acc], parts[0]);
            }
            Op::Grow(buffer, len) => {
                let len = self.eval(len)? as i64;
                let before = self.memory.on.len(*buffer);
                let status = self.memory.on.grow(*buffer, len);
                if status != Status::Done {
                    return Ok(Flow::Return(status));
                }
                let grown = self.memory.on.len(*buffer) - before;
                self.memory.counts.allocated_bytes +=
                    (grown * self.memory.signature.buffers[buffer.index()].prim.bytes()) as u64;
            }
            Op::Sort(buffer, lo, hi) => {
                let (lo, hi) = self.range(lo, hi)?;
                if let Some(range) = self.memory.sort_range(*buffer, lo, hi)? {
                    self.memory.on.sort(*buffer, range);
                }
            }
            Op::SortBy([perm, major, minor], lo, hi) => {
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
            Op::Swap(a, b) => self.memory.on.swap(*a, *b),
            Op::Return(status) => return Ok(Flow::Return(*status)),
        }
        Ok(Flow::Next)
    }

    fn range(&mut self, lo: &Node, hi: &Node) -> Result<(i64, i64), InterpError> {
        Ok((self.eval(lo)? as i64, self.eval(hi)? as i64))
    }

    fn count_round(&mut self) -> Result<(), InterpError> {
        self.memory.counts.iterations += 1;
        self.rounds += 1;
        if self.rounds > self.limit { Err(InterpError::TooManyIterations(self.limit)) } else { Ok(()) }
    }

    fn eval(&mut self, node: &Node) -> Result<u64, InterpError> {
        node.eval(&self.locals, &mut self.memory)
    }
}

impl Counted<'_> {
    /// Returns the element as an offset, or an error if the buffer does not have it.
    fn check(&self, access: &'static str, buffer: Buffer, index: i64) -> Result<usize, InterpError> {
        let len = self.on.len(buffer);
        usize::try_from(index).ok().filter(|at| *at < len).ok_or_else(|| InterpError::OutOfBounds {
            access,
            buffer: self.signature.buffers[buffer.index()].name.clone(),
            index,
            len,
        })
    }

    /// Returns the range of elements to sort; `None` if it is empty.
    fn sort_range(&self, buffer: Buffer, lo: i64, hi: i64) -> Result<Option<Range<usize>>, InterpError> {
        if lo >= hi {
            return Ok(None);
        }
        let first = self.check("sort", buffer, lo)?;
        let last = self.check("sort", buffer, hi - 1)?;
        Ok(Some(first..last + 1))
    }

    fn store(&mut self, buffer: Buffer, index: i64, bits: u64) -> Result<(), InterpError> {
        self.counts.stores += 1;
        let at = self.check("store", buffer, index)?;
        self.on.write(buffer, at, bits);
        let decl = &self.signature.buffers[buffer.index()];
        if decl.class == BufferClass::Index && self.on.read(buffer, at) != bits {
            return Err(InterpError::IndexOverflow { buffer: decl.name.clone(), prim: decl.prim, value: bits as i64 });
        }
        Ok(())
    }
}

impl Memory for Counted<'_> {
    type Fault = InterpError;

    fn param(&self, number: usize) -> i64 {
        self.on.params()[number]
    }

    fn load(&mut self, buffer: Buffer, index: i64) -> Result<u64, InterpError> {
        self.counts.loads += 1;
        let at = self.check("load", buffer, index)?;
        let bits = self.on.read(buffer, at);
        let decl = &self.signature.buffers[buffer.index()];
        if decl.prim == Prim::Bool && bits > 1 {
            return Err(InterpError::NotBool { buffer: decl.name.clone(), index, byte: bits });
        }
        Ok(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::parse;
    use super::*;
    use crate::run::Limits;
    use arrow::buffer::Buffer as ArrowBuffer;

    /// Checks the error of a function with these statements.
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
        let program = Program::new(&parse(&text).unwrap()).unwrap().with_iteration_limit(1000);
        let inputs = [ArrowBuffer::from_vec(vec![1.0f64; 3]), ArrowBuffer::from_vec(vec![0u8, 1, 2])];
        let mut on = Invocation::new(program.signature(), inputs, vec![], Limits::default()).unwrap();
        let error = program.run(&mut on, 0..1, &mut Counts::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("interpreting assembly: {expected}"), "{body}");
    }

    #[test]
    fn faults_of_programs_are_errors() {
        let rows = [
            ("x = src[3]", "load of element 3 of buffer `src`, which has 3"),
            ("x = src[-1]", "load of element -1 of buffer `src`, which has 3"),
            ("x = select(true, 1.0, src[4])", "load of element 4 of buffer `src`, which has 3"),
            ("out[0] = 1.0", "store of element 0 of buffer `out`, which has 0"),
            // The capacity is eight elements, but only one was requested.
            ("grow out, 1 out[1] = 1.0", "store of element 1 of buffer `out`, which has 1"),
            ("grow idx, 2 sort idx in 0..3", "sort of element 2 of buffer `idx`, which has 2"),
            (
                "grow perm, 2 perm[1] = 7 grow idx, 7 sort_by perm by idx, idx in 0..2",
                "sort of element 7 of buffer `idx`, which has 7",
            ),
            ("grow idx, 1 idx[0] = 4294967296", "store of 4294967296 into buffer `idx` of u32 indices"),
            ("grow idx, 1 idx[0] = -1", "store of -1 into buffer `idx` of u32 indices"),
            ("b = flag[2]", "element 2 of buffer `flag` of bool is 2"),
            ("while true { }", "more than 1000 rounds of loops"),
        ];
        for (body, expected) in rows {
            check(body, expected);
        }
    }
}
