//! Appends: rounds of a loop that add elements to the ends of lists, in the order of the rounds.
//!
//! Such a round increases a counter, mostly under a condition, and stores at the counter:
//! ```text
//! for q in lo..hi { .. if cond { grow list, n + 1; list[n] = value; n = n + 1 } .. }
//! ```
//! Lanes share the rounds if nothing else depends on the counter. A batch has at most one round for
//! each lane. In each round, the counter starts from its value before the batch, increased once for
//! each earlier round of the batch that appends.
//!
//! The exact conditions are:
//! - each counter is assigned once in the body, and this assignment adds a positive constant to it;
//! - one block has the assignments of all counters, with no statements but `if` around the block;
//! - in the body, a counter is read only by its own increase, and by statements of this block
//!   before the first increase;
//! - all growth is in this block, before the first increase, and each new length is a counter plus
//!   a constant;
//! - the arrays that are stored into at a counter have no other accesses in the body, and the
//!   positions of two rounds differ.

use super::independence::count_reads;
use super::nodes::{self, ActiveLanes, RoundCounter, TeamStmt};
use redpoll_compiler::assembly::{BinaryOp, Buffer, Expr, Extension, Function, Local, Stmt};
use redpoll_logic::{Prim, Scalar};
use std::collections::{HashMap, HashSet};

/// A branch of an `if`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Branch {
    /// The statements for a true condition.
    Then,
    /// The statements for a false condition.
    Other,
}

impl Branch {
    /// Returns the statements of this branch and of the other one.
    pub(crate) fn of<X: Extension>(self, stmt: &Stmt<X>) -> (&[Stmt<X>], &[Stmt<X>]) {
        let [then, other] = stmt.bodies();
        if self == Branch::Then { (then, other) } else { (other, then) }
    }
}

/// The path to a block of a loop. For each `if` around the block, outermost first, the path has the
/// index of the `if` in its list of statements, and the branch that contains the block.
pub(crate) type BlockPath = Vec<(usize, Branch)>;

/// Returns the path to the block that assigns a counter, and the block; `None` if other statements
/// than `if` are around the block.
fn append_block<X: Extension>(body: &[Stmt<X>], counter: Local) -> Option<(BlockPath, &[Stmt<X>])> {
    if body.iter().any(|s| matches!(s, Stmt::Assign(local, _) if *local == counter)) {
        return Some((Vec::new(), body));
    }
    body.iter().enumerate().filter(|(_, s)| matches!(s, Stmt::If { .. })).find_map(|(k, stmt)| {
        [Branch::Then, Branch::Other].into_iter().find_map(|branch| {
            let (mut path, block) = append_block(branch.of(stmt).0, counter)?;
            path.insert(0, (k, branch));
            Some((path, block))
        })
    })
}

/// The parts of a spread loop whose rounds append.
pub(crate) struct AppendingRounds<'s> {
    /// The poll before a batch, if there is one.
    pub(crate) poll: Option<&'s nodes::Stmt>,
    /// The body without the poll.
    pub(crate) body: &'s [nodes::Stmt],
    /// The path to the block that appends.
    pub(crate) path: BlockPath,
    /// The growth in this block.
    pub(crate) growth: Vec<nodes::Stmt>,
    /// The other statements of this block.
    pub(crate) appends: Vec<nodes::Stmt>,
}

impl<'s> AppendingRounds<'s> {
    /// Splits the body of a verified loop whose rounds append at counters.
    pub(crate) fn of(body: &'s [nodes::Stmt], counters: &[RoundCounter]) -> AppendingRounds<'s> {
        let is_poll = |s: &&nodes::Stmt| **s == nodes::Stmt::Extension(TeamStmt::Poll(ActiveLanes::Lead));
        let poll = body.first().filter(is_poll);
        let body = &body[usize::from(poll.is_some())..];
        let (path, block) = append_block(body, counters[0].local).expect("the grid was verified");
        let (growth, appends) = block.iter().cloned().partition(|s| matches!(s, nodes::Stmt::Grow { .. }));
        AppendingRounds { poll, body, path, growth, appends }
    }
}

/// The appends of the rounds of a loop.
pub(super) struct Appends {
    /// The counters.
    pub(super) counters: Vec<RoundCounter>,
    /// The arrays that are stored into at a counter.
    pub(super) buffers: HashSet<Buffer>,
    /// The body without growth and without the increases of the counters.
    pub(super) rest: Vec<Stmt>,
}

/// Returns the appends of the rounds of a loop with this body; `None` if its rounds do not append,
/// or append in a way that lanes cannot share.
pub(super) fn appends_of_rounds(f: &Function, body: &[Stmt]) -> Option<Appends> {
    let reads = count_reads(f, body);
    let mut times: HashMap<Local, u32> = HashMap::new();
    body.iter().for_each(|s| s.for_each_assigned(&mut |local| *times.entry(local).or_default() += 1));
    // A local that is read only to increase it is a fold, not a counter.
    let is_counter = |counter: &RoundCounter| {
        let local = counter.local;
        times[&local] == 1 && reads[local.index()] > 1 && f.locals[local.index()].prim == Prim::I64
    };
    let mut increases = Vec::new();
    body.iter().for_each(|s| {
        s.any(&mut |s| {
            increases.extend(increase(s));
            false
        });
    });
    let mut counters = increases.into_iter().filter(|counter| is_counter(counter)).peekable();
    let (path, block) = append_block(body, counters.peek()?.local)?;
    let counters: Vec<RoundCounter> = counters.filter(|counter| append_block(body, counter.local).is_some()).collect();
    let is_increase = |s: &Stmt| increase(s).is_some_and(|found| counters.contains(&found));
    let first = block.iter().position(is_increase)?;
    let (before, after) = block.split_at(first);
    let before_reads = count_reads(f, before);
    let is_read_before_only = |RoundCounter { local, .. }: &RoundCounter| {
        block.iter().any(|s| increase(s).is_some_and(|found| found.local == *local))
            && reads[local.index()] == before_reads[local.index()] + 1
    };
    let is_growth = |s: &Stmt| match s {
        Stmt::Grow { len, .. } => at_counter(len, &counters).is_some(),
        _ => false,
    };
    let direct_growth = before.iter().filter(|s| is_growth(s)).count();
    if !counters.iter().all(is_read_before_only) || count_growth(body) != direct_growth {
        return None;
    }
    let buffers = appended_buffers(body, &counters)?;
    let block = before.iter().filter(|s| !is_growth(s)).chain(after.iter().filter(|s| !is_increase(s)));
    let block = block.cloned().collect();
    let rest = with_block(body, &path, block);
    Some(Appends { counters, buffers, rest })
}

/// Returns the counter that a statement increases by a positive constant.
fn increase(stmt: &Stmt) -> Option<RoundCounter> {
    let Stmt::Assign(local, Expr::Binary(BinaryOp::Add, old, by)) = stmt else { return None };
    match (&**old, &**by) {
        (Expr::Local(l), Expr::Const(Scalar::I64(by))) if l == local && *by > 0 => {
            Some(RoundCounter { local: *local, by: *by })
        }
        _ => None,
    }
}

/// Returns the counter and the constant of a sum of both; the constant is 0 for a counter alone.
fn at_counter(e: &Expr, counters: &[RoundCounter]) -> Option<(RoundCounter, i64)> {
    let (local, offset) = match e {
        Expr::Local(local) => (local, 0),
        Expr::Binary(BinaryOp::Add, a, b) => match (&**a, &**b) {
            (Expr::Local(local), Expr::Const(Scalar::I64(offset))) => (local, *offset),
            _ => return None,
        },
        _ => return None,
    };
    counters.iter().find(|counter| counter.local == *local).map(|counter| (*counter, offset))
}

fn count_growth(body: &[Stmt]) -> usize {
    let mut count = 0;
    body.iter().for_each(|s| {
        s.any(&mut |s| {
            count += usize::from(matches!(s, Stmt::Grow { .. }));
            false
        });
    });
    count
}

/// Returns the arrays that are stored into at a counter. Returns `None` if the body loads from such
/// an array, if it also stores into the array at positions without a counter, or if two rounds may
/// store at one position.
fn appended_buffers(body: &[Stmt], counters: &[RoundCounter]) -> Option<HashSet<Buffer>> {
    let mentions_counter = |e: &Expr| counters.iter().any(|counter| e.mentions(counter.local));
    let mut stores: Vec<(Buffer, &Expr)> = Vec::new();
    let mut loaded = HashSet::new();
    for stmt in body {
        find_accesses(stmt, &mut stores, &mut loaded);
    }
    let mut found: HashMap<Buffer, Local> = HashMap::new();
    for (buffer, at) in stores.iter().filter(|(_, at)| mentions_counter(at)) {
        let (counter, offset) = at_counter(at, counters)?;
        let owner = *found.entry(*buffer).or_insert(counter.local);
        if !(0..counter.by).contains(&offset) || owner != counter.local {
            return None;
        }
    }
    let is_appended = |buffer: &Buffer| found.contains_key(buffer);
    let is_other = |(buffer, at): &(Buffer, &Expr)| is_appended(buffer) && !mentions_counter(at);
    let is_separate = !stores.iter().any(is_other) && !loaded.iter().any(is_appended);
    is_separate.then(|| found.into_keys().collect())
}

fn find_accesses<'s>(stmt: &'s Stmt, stores: &mut Vec<(Buffer, &'s Expr)>, loaded: &mut HashSet<Buffer>) {
    if let Stmt::Store { buffer, at, .. } = stmt {
        stores.push((*buffer, at));
    }
    stmt.for_each_expr(&mut |e| {
        e.any(&mut |e| {
            if let Expr::Load { buffer, .. } = e {
                loaded.insert(*buffer);
            }
            false
        });
    });
    stmt.bodies().into_iter().flatten().for_each(|s| find_accesses(s, stores, loaded));
}

/// Returns the body with another block at the end of a path.
fn with_block(body: &[Stmt], path: &[(usize, Branch)], block: Vec<Stmt>) -> Vec<Stmt> {
    let Some(((at, branch), path)) = path.split_first() else { return block };
    let mut body = body.to_vec();
    if let Stmt::If { then, other, .. } = &mut body[*at] {
        let inner = if *branch == Branch::Then { then } else { other };
        *inner = with_block(inner, path, block);
    }
    body
}
