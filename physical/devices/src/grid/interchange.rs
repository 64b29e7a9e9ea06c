//! Loop interchange: the innermost dense loop becomes the outermost loop of its nest, so that each
//! lane accumulates its elements in registers.
//!
//! A product of a sparse matrix and a dense one adds a row of the dense matrix for each entry:
//! ```text
//! while q < end {
//!     i = idx[q]
//!     for j in 0..n { y[r + j] = y[r + j] + a[q] * b[i * n + j] }
//!     q = q + 1
//! }
//! ```
//! Lanes share the rounds of `j`. For each entry, the lanes load and store the elements of `y`, and
//! they wait for each other between two entries. After the interchange, each lane takes one value
//! of `j`, and walks along the entries by itself:
//! ```text
//! if q < end {
//!     for j in 0..n {
//!         q' = q
//!         acc = y[r + j]
//!         while q' < end { i = idx[q']; acc = acc + a[q'] * b[i * n + j]; q' = q' + 1 }
//!         y[r + j] = acc
//!     }
//! }
//! ```
//! The lanes of a warp load the same entry at the same time, in one access, and load adjacent
//! elements of `b`. Each element is computed in the order of the original nest, so its bits are
//! the same. Source: R. Allen, K. Kennedy, "Optimizing Compilers for Modern Architectures", 2001,
//! sections 5.2 (interchange) and 8.3 (scalar replacement).

use super::independence::{EarlyReads, RoundFacts, count_reads};
use super::map::{can_spread, fold_of_store};
use redpoll_compiler::assembly::{Buffer, BufferClass, CompareOp, Expr, Function, Local, LocalDecl, Stmt};
use redpoll_compiler::lower::identity;
use redpoll_logic::{FloatMode, Prim};
use std::collections::HashSet;

/// Interchanges all nests of a function for which this is possible; `atomic` tests whether all
/// accesses to a buffer are folds by atomic operations. Returns the function, and the variables of
/// the loops that have become outermost.
pub(super) fn interchange_loops(mut f: Function, atomic: &dyn Fn(Buffer) -> bool) -> (Function, Vec<Local>) {
    let total_reads = count_reads(&f, &f.body);
    let body = std::mem::take(&mut f.body);
    let mut interchange = Interchange { f, total_reads, atomic, outermost: Vec::new() };
    let body = interchange.block(body);
    let Interchange { f, outermost, .. } = interchange;
    (Function { body, ..f }, outermost)
}

struct Interchange<'a> {
    /// The function without its body; new locals are added.
    f: Function,
    /// Number of reads of each local in the original function.
    total_reads: Vec<u32>,
    atomic: &'a dyn Fn(Buffer) -> bool,
    outermost: Vec<Local>,
}

/// A nest: the innermost loop is a `for` that contains assignments and stores, and every other loop
/// contains assignments and one loop.
struct Nest {
    /// Assignments of the original nest whose values are the same in all rounds.
    invariants: Vec<Stmt>,
    /// The loops without these assignments.
    loops: Stmt,
    /// The locals that the loops assign.
    varying: HashSet<Local>,
    /// The varying locals that the nest may read before it assigns them.
    carried: Vec<Local>,
}

/// An element that a nest folds into, kept in a local.
struct Accumulator {
    buffer: Buffer,
    at: Expr,
    acc: Local,
    /// The value of the local before the nest.
    first: Expr,
    /// The value of the element after the nest.
    last: Expr,
}

impl Interchange<'_> {
    fn block(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(body.len());
        for mut stmt in body {
            let locals = self.f.locals.len();
            if let Some(stmts) = self.interchanged(&stmt) {
                out.extend(stmts);
                continue;
            }
            self.f.locals.truncate(locals);
            for nested in stmt.bodies_mut().into_iter().flatten() {
                *nested = self.block(std::mem::take(nested));
            }
            out.push(stmt);
        }
        out
    }

    /// Returns the statements that replace a nest. Returns `None` in these cases:
    /// - the statement is not a nest, or other code reads a local that the nest assigns;
    /// - the bounds of the innermost loop vary, or `accumulate` rejects its stores;
    /// - rounds of the innermost loop may depend on each other, or on other elements of the stored
    ///   arrays.
    fn interchanged(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let is_entered = entry_condition(stmt)?;
        let own_reads = count_reads(&self.f, std::slice::from_ref(stmt));
        let Nest { invariants, mut loops, varying, carried } = Nest::of(stmt)?;
        let is_read_elsewhere = |local: Local| own_reads[local.index()] != self.total_reads[local.index()];
        if assigned_locals(stmt).into_iter().any(is_read_elsewhere) {
            return None;
        }
        let (var, lo, hi, stores) = innermost_mut(&mut loops)?;
        if [&*lo, &*hi].into_iter().any(|bound| reads_any(bound, &varying)) || self.carries(stores, &own_reads) {
            return None;
        }
        let (var, lo, hi, mut stores) = (*var, lo.clone(), hi.clone(), std::mem::take(stores));
        let accumulators = self.accumulate(&mut stores, var, &varying)?;
        replace_innermost(&mut loops, stores);
        let copies: Vec<(Local, Local)> = carried.into_iter().map(|local| (local, self.copy_of(local))).collect();
        loops.rename(&|l| copies.iter().find(|(from, _)| *from == l).map_or(l, |(_, to)| *to));
        let mut body: Vec<Stmt> = copies.iter().map(|(from, to)| Stmt::Assign(*to, Expr::Local(*from))).collect();
        body.extend(accumulators.iter().map(|a| Stmt::Assign(a.acc, a.first.clone())));
        body.push(loops);
        body.extend(accumulators.iter().map(|a| Stmt::store(a.buffer, a.at.clone(), a.last.clone())));
        let facts = RoundFacts { folds: &[], coordinates: None, appends: None, atomic: self.atomic };
        // No other code reads the locals that the rounds assign.
        let reads = count_reads(&self.f, &body);
        if !can_spread(&self.f, (var, &lo, &hi, &body), &reads, facts) || reads_stored(&body, &accumulators) {
            return None;
        }
        self.outermost.push(var);
        let then = vec![Stmt::For { var, lo, hi, body }];
        Some(invariants.into_iter().chain([Stmt::If { cond: is_entered, then, other: Vec::new() }]).collect())
    }

    /// Returns whether the rounds of the innermost loop assign a local that is read in a later
    /// round or outside of this loop, such as the running sum of a scan. `reads` has the number of
    /// reads of each local in the nest.
    fn carries(&self, body: &[Stmt], reads: &[u32]) -> bool {
        let own_reads = count_reads(&self.f, body);
        body.iter().flat_map(assigned_locals).any(|local| {
            let is_read_elsewhere = own_reads[local.index()] != reads[local.index()];
            is_read_elsewhere || is_read_early(body, local)
        })
    }

    /// Turns the stores of the innermost loop into assignments of accumulators. Returns `None` in
    /// these cases: there is no store; a position depends on a load, or on a local that the nest
    /// assigns, other than `var`; two stores have the same array; a stored array does not have
    /// values; a store into an atomic array is not a fold with an identity.
    fn accumulate(&mut self, body: &mut [Stmt], var: Local, varying: &HashSet<Local>) -> Option<Vec<Accumulator>> {
        let mut accumulators: Vec<Accumulator> = Vec::new();
        for stmt in body {
            let Stmt::Store { buffer, at, value, .. } = stmt else { continue };
            let (buffer, at) = (*buffer, at.clone());
            let decl = &self.f.buffers[buffer.index()];
            let is_fixed = !at.any(&mut |e| match e {
                Expr::Local(local) => *local != var && varying.contains(local),
                Expr::Load { .. } => true,
                _ => false,
            });
            let is_first = accumulators.iter().all(|other| other.buffer != buffer);
            if !is_fixed || !is_first || decl.class != BufferClass::Value {
                return None;
            }
            let prim = decl.value_prim();
            let old = Expr::Load { buffer, at: Box::new(at.clone()) };
            let acc = self.local("acc", prim);
            let (first, last) = if (self.atomic)(buffer) {
                // Additions of floats in another order give other bits, and there are no atomic
                // minima of floats.
                let (op, _) = fold_of_store(buffer, &at, value).filter(|_| !prim.is_float())?;
                let first = Expr::Const(identity(op, prim, FloatMode::StrictIeee)?);
                (first, Expr::Binary(op, Box::new(old.clone()), Box::new(Expr::Local(acc))))
            } else {
                (old.clone(), Expr::Local(acc))
            };
            let value = value.replace(&|e| (*e == old).then_some(Expr::Local(acc)));
            *stmt = Stmt::Assign(acc, value);
            accumulators.push(Accumulator { buffer, at, acc, first, last });
        }
        (!accumulators.is_empty()).then_some(accumulators)
    }

    fn local(&mut self, name: &str, prim: Prim) -> Local {
        self.f.locals.push(LocalDecl { name: name.into(), prim });
        Local(self.f.locals.len() as u32 - 1)
    }

    fn copy_of(&mut self, local: Local) -> Local {
        let LocalDecl { name, prim } = self.f.locals[local.index()].clone();
        self.local(&format!("lane_{name}"), prim)
    }
}

impl Nest {
    /// Returns a statement as a nest; `None` if the statement is not a nest of two or more loops.
    fn of(stmt: &Stmt) -> Option<Nest> {
        let is_nest = loop_body(stmt)?.iter().any(|s| loop_body(s).is_some()) && has_shape(stmt);
        if !is_nest {
            return None;
        }
        let mut varying: HashSet<Local> = assigned_locals(stmt).into_iter().collect();
        let is_carried = |local: &Local| is_read_early(std::slice::from_ref(stmt), *local);
        let mut carried: Vec<Local> = varying.iter().copied().filter(is_carried).collect();
        carried.sort_unstable_by_key(|local| local.index());
        let (mut loops, mut invariants) = (stmt.clone(), Vec::new());
        take_invariants(&mut loops, &carried, &mut varying, &mut invariants);
        Some(Nest { invariants, loops, varying, carried })
    }
}

/// Returns whether statements may read a local before they assign it.
fn is_read_early(stmts: &[Stmt], local: Local) -> bool {
    let search = EarlyReads { varying: &HashSet::from([local]) };
    search.block(stmts, &mut HashSet::new()).is_none()
}

/// Returns whether the loops of a statement have the shape of a [`Nest`]: the innermost loop is a
/// `for` that contains assignments and stores, and every other loop contains assignments and one
/// loop.
fn has_shape(stmt: &Stmt) -> bool {
    let Some(body) = loop_body(stmt) else { return false };
    let mut loops = body.iter().filter(|s| loop_body(s).is_some());
    match loops.next() {
        Some(inner) => {
            let others = body.iter().filter(|s| loop_body(s).is_none());
            loops.next().is_none() && others.clone().all(|s| matches!(s, Stmt::Assign(..))) && has_shape(inner)
        }
        None => {
            let is_dense = matches!(stmt, Stmt::For { .. });
            is_dense && body.iter().all(|s| matches!(s, Stmt::Assign(..) | Stmt::Store { .. }))
        }
    }
}

/// Moves assignments out of the loops around the innermost loop if they load nothing and their
/// values are the same in every round.
fn take_invariants(stmt: &mut Stmt, carried: &[Local], varying: &mut HashSet<Local>, invariants: &mut Vec<Stmt>) {
    let times = |stmt: &Stmt, local: Local| assigned_locals(stmt).into_iter().filter(|other| *other == local).count();
    let single: HashSet<Local> = varying.iter().copied().filter(|local| times(stmt, *local) == 1).collect();
    let mut nest = Some(stmt);
    while let Some(body) = nest.and_then(loop_body_mut) {
        if body.iter().all(|s| loop_body(s).is_none()) {
            break;
        }
        body.retain(|s| {
            let Stmt::Assign(local, value) = s else { return true };
            let is_invariant = single.contains(local)
                && !carried.contains(local)
                && !reads_any(value, varying)
                && !value.any(&mut |e| matches!(e, Expr::Load { .. }));
            if is_invariant {
                varying.remove(local);
                invariants.push(s.clone());
            }
            !is_invariant
        });
        nest = body.iter_mut().find(|s| loop_body(s).is_some());
    }
}

/// Returns the condition under which a loop has rounds.
fn entry_condition(stmt: &Stmt) -> Option<Expr> {
    match stmt {
        Stmt::While { cond, .. } => Some(cond.clone()),
        Stmt::For { lo, hi, .. } => Some(Expr::Compare(CompareOp::Lt, Box::new(lo.clone()), Box::new(hi.clone()))),
        _ => None,
    }
}

fn loop_body(stmt: &Stmt) -> Option<&[Stmt]> {
    match stmt {
        Stmt::While { body, .. } | Stmt::For { body, .. } => Some(body),
        _ => None,
    }
}

fn loop_body_mut(stmt: &mut Stmt) -> Option<&mut Vec<Stmt>> {
    match stmt {
        Stmt::While { body, .. } | Stmt::For { body, .. } => Some(body),
        _ => None,
    }
}

/// Returns the variable, the bounds and the body of the innermost loop of a nest.
fn innermost_mut(stmt: &mut Stmt) -> Option<(&mut Local, &mut Expr, &mut Expr, &mut Vec<Stmt>)> {
    let inner = loop_body(stmt)?.iter().position(|s| loop_body(s).is_some());
    match (inner, stmt) {
        (Some(inner), stmt) => innermost_mut(&mut loop_body_mut(stmt)?[inner]),
        (None, Stmt::For { var, lo, hi, body }) => Some((var, lo, hi, body)),
        (None, _) => None,
    }
}

/// Replaces the innermost loop of a nest with statements.
fn replace_innermost(stmt: &mut Stmt, with: Vec<Stmt>) {
    let Some(body) = loop_body_mut(stmt) else { return };
    let Some(at) = body.iter().position(|s| loop_body(s).is_some()) else { return };
    if loop_body(&body[at]).is_some_and(|inner| inner.iter().any(|s| loop_body(s).is_some())) {
        replace_innermost(&mut body[at], with);
    } else {
        body.splice(at..=at, with);
    }
}

/// Returns the locals that a statement assigns, once for each assignment.
fn assigned_locals(stmt: &Stmt) -> Vec<Local> {
    let mut locals = Vec::new();
    stmt.for_each_assigned(&mut |local| locals.push(local));
    locals
}

fn reads_any(e: &Expr, locals: &HashSet<Local>) -> bool {
    e.any(&mut |e| matches!(e, Expr::Local(local) if locals.contains(local)))
}

/// Returns whether statements load from the arrays of accumulators, apart from one load for each
/// accumulator, in its first or last value.
fn reads_stored(body: &[Stmt], accumulators: &[Accumulator]) -> bool {
    let is_stored = |buffer: Buffer| accumulators.iter().any(|a| a.buffer == buffer);
    let mut loads = 0;
    for stmt in body {
        stmt.any(&mut |s| {
            s.for_each_expr(&mut |e| {
                e.any(&mut |e| {
                    loads += usize::from(matches!(e, Expr::Load { buffer, .. } if is_stored(*buffer)));
                    false
                });
            });
            false
        });
    }
    loads != accumulators.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::map::atomic_buffers;
    use crate::grid::nodes::MemorySpace;
    use redpoll_compiler::assembly::text::parse;
    use redpoll_compiler::assembly::{BufferRole, Signature, VecBuffers, interpret, verify};

    /// A product of a sparse matrix and a dense one, with two parameters. `TYPE` and `ZERO` stand
    /// for the type of the values and its zero, `ENTRY` for the code that runs for each entry, and
    /// `AFTER` for the code after a row of entries.
    const PRODUCT: &str = "\
fn product($rows, $columns) {
  input ptr: index i64
  input idx: index i64
  input a: value TYPE
  input b: value TYPE
  owned y: value TYPE fill ZERO
  local lo: i64 local hi: i64 local i: i64 local q: i64 local end: i64
  local k: i64 local row: i64 local start: i64 local j: i64 local other: i64
  chunk lo, hi
  grow y, ($rows * $columns) + 8
  for i in 0..$rows {
    q = ptr[i]
    end = ptr[i + 1]
    start = 0
    while q < end {
      k = idx[q]
      row = i * $columns
      start = k * $columns
      ENTRY
      q = q + 1
    }
    AFTER
  }
}
";
    const ADD_ROW: &str = "for j in 0..$columns { y[row + j] = y[row + j] + (a[q] * b[start + j]) }";
    const PARAMS: [i64; 2] = [5, 37];

    fn product(ty: &str, entry: &str, after: &str) -> Function {
        let zero = if ty == "f64" { "0.0" } else { "0" };
        let text = PRODUCT.replace("TYPE", ty).replace("ZERO", zero).replace("ENTRY", entry).replace("AFTER", after);
        let function = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(verify(&function), [], "{text}");
        function
    }

    /// Interchanges the loops of a function whose owned buffers are in `space`, and compares the
    /// results before and after. Returns the text of the new function, and whether loops have been
    /// interchanged.
    fn interchanged(function: &Function, space: MemorySpace) -> (String, bool) {
        let spaces = function.buffers.iter().map(|decl| match decl.role {
            BufferRole::Input => MemorySpace::Input,
            BufferRole::Owned => space,
        });
        let atomic = atomic_buffers(function, &spaces.collect::<Vec<_>>());
        let (found, outermost) = interchange_loops(function.clone(), &|buffer| atomic.contains(&buffer));
        assert_eq!(verify(&found), [], "{found}");
        assert_eq!(results(&found), results(function), "{found}");
        (found.to_string(), !outermost.is_empty())
    }

    fn results(function: &Function) -> Vec<u64> {
        // The second row has no entries.
        let ptr = vec![0, 3, 3, 4, 9, 12];
        let idx = vec![0, 2, 3, 1, 0, 1, 2, 3, 4, 1, 3, 4];
        let values = |n: u64| {
            (0..n).map(|k| if function.buffers[2].prim.is_float() { (k as f64 / 3.0).to_bits() } else { k * k % 11 })
        };
        let inputs = vec![ptr, idx, values(12).collect(), values(5 * 37 + 8).collect()];
        let mut buffers = VecBuffers::new(&Signature::of(function), inputs, PARAMS.to_vec(), 1 << 20).unwrap();
        interpret(function, &mut buffers, 0..5).unwrap();
        buffers.elements(Buffer(4)).to_vec()
    }

    #[test]
    fn rows_are_accumulated_in_registers() {
        let (text, changed) = interchanged(&product("f64", ADD_ROW, ""), MemorySpace::Shared);
        let nest = "    row = i * $columns
    if q < end {
      for j in 0..$columns {
        lane_q = q
        acc = y[row + j]
        while lane_q < end {
          k = idx[lane_q]
          start = k * $columns
          acc = acc + (a[lane_q] * b[start + j])
          lane_q = lane_q + 1
        }
        y[row + j] = acc
      }
    }
";
        assert!(changed && text.contains(nest), "{text}");
    }

    /// Several teams may fold into one shared integer, so the accumulator starts from the identity,
    /// not from the old value.
    #[test]
    fn atomic_folds_begin_with_the_identity() {
        let (text, changed) = interchanged(&product("i64", ADD_ROW, ""), MemorySpace::Shared);
        assert!(changed && text.contains("acc = 0\n") && text.contains("y[row + j] = y[row + j] + acc"), "{text}");
        let (text, changed) = interchanged(&product("i64", ADD_ROW, ""), MemorySpace::Chunk);
        assert!(changed && text.contains("acc = y[row + j]") && text.contains("y[row + j] = acc"), "{text}");
    }

    /// A dense loop around the innermost one is interchanged as well. The loop of `i`, whose
    /// variable is part of the position, stays outside.
    #[test]
    fn dense_loops_are_interchanged_too() {
        let entry = "for k in 0..4 { for j in 0..$columns { y[row + j] = y[row + j] + (a[k] * b[k + j]) } }";
        let (text, changed) = interchanged(&product("f64", entry, ""), MemorySpace::Shared);
        assert!(changed, "{text}");
        let is_loop = |line: &&str| line.starts_with("for ") || line.starts_with("while ");
        let loops: Vec<&str> = text.lines().map(str::trim).filter(is_loop).collect();
        let expected = ["for i in 0..$rows {", "for j in 0..$columns {", "while lane_q < end {", "for k in 0..4 {"];
        assert_eq!(loops, expected, "{text}");
    }

    #[test]
    fn other_nests_stay_as_they_are() {
        let cases = [
            ("the cursor is read after the nest", ADD_ROW, "other = q"),
            ("a local of the nest is read after it", ADD_ROW, "other = start"),
            (
                "the position changes from entry to entry",
                "for j in 0..$columns { y[start + j] = y[start + j] + (a[q] * b[row + j]) }",
                "",
            ),
            ("another element is loaded", "for j in 0..$columns { y[row + j] = y[row + j] + y[start + j] }", ""),
            ("all rounds fold into one element", "for j in 0..$columns { y[row] = y[row] + b[start + j] }", ""),
            (
                "rounds overlap",
                "for j in 0..$columns { y[row + j] = y[row + j] + b[start + j] y[(row + j) + 1] = 1 }",
                "",
            ),
            ("the bounds vary", "for j in 0..k { y[row + j] = y[row + j] + (a[q] * b[start + j]) }", ""),
            (
                "rounds carry a count, as in a scan",
                "other = -1 for j in 0..$columns { other = other + 1 y[row + j] = y[row + j] + b[start + other] }",
                "",
            ),
            (
                "a local of a round is read by the next entry",
                "other = 0 for j in 0..$columns { other = row + j y[other] = y[other] + b[start + j] } k = other",
                "",
            ),
            ("an entry does more", "for j in 0..$columns { y[row + j] = y[row + j] + a[q] } y[i] = 1", ""),
            (
                "a condition is around the loop",
                "if k < 3 { for j in 0..$columns { y[row + j] = y[row + j] + a[q] } }",
                "",
            ),
        ];
        for (name, entry, after) in cases {
            for ty in ["f64", "i64"] {
                let entry = if ty == "f64" { entry.replace("= 1", "= 1.0") } else { entry.to_owned() };
                let (text, changed) = interchanged(&product(ty, &entry, after), MemorySpace::Chunk);
                assert!(!changed, "{name}: {text}");
            }
        }
    }
}
