//! Walks along lists as loops whose rounds lanes can share, and the folds of such loops.
//!
//! A walk that does more than fold one value is not a fold in lanes: an intersection searches other
//! lists in each round, and folds only if the coordinate is found. If rounds depend on each other
//! only through the values that they fold and the counters at which they append, each lane takes
//! rounds of its own, with a partial result of each fold:
//! ```text
//! while q < end { .. acc = acc op value ..; q = q + 1 }
//!   =  for q in q..end { .. acc = acc op value .. }
//! ```

use super::appends::appends_of_rounds;
use super::independence::{RoundFacts, count_reads, is_independent};
use super::nodes::RoundFold;
use redpoll_compiler::assembly::{BinaryOp, Buffer, CompareOp, Expr, Function, Local, LocalDecl, Stmt};
use redpoll_compiler::lower::{as_truth, identity, local, max, plus};
use redpoll_logic::{FloatMode, Prim};
use std::collections::HashSet;

/// The loops along lists whose rounds may be shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walks {
    pub(super) lanes: Vec<(Local, u16)>,
    /// The variable of each loop whose coordinates are unique, with the array of the coordinates.
    pub(super) list_coordinates: Vec<(Local, Buffer)>,
    /// The variables of loops that an interchange has made outermost. Lanes share these loops, not
    /// the loops inside them.
    pub(super) interchanged: Vec<Local>,
    pub(super) mode: FloatMode,
}

impl Walks {
    /// Returns an empty set of loops.
    pub fn none() -> Walks {
        let (lanes, list_coordinates, interchanged) = (Vec::new(), Vec::new(), Vec::new());
        Walks { lanes, list_coordinates, interchanged, mode: FloatMode::default() }
    }

    /// Returns the number of lanes for the loop with this variable; `None` if the loop has no entry
    /// in `lanes`.
    pub(super) fn lanes_of(&self, var: Local) -> Option<u16> {
        self.lanes.iter().find(|(other, _)| *other == var).map(|(_, lanes)| *lanes)
    }

    /// Returns the folds of the rounds of a loop; none if the loop has no entry in `lanes`.
    pub(super) fn folds(&self, f: &Function, (var, body): (Local, &[Stmt]), total_reads: &[u32]) -> Vec<RoundFold> {
        if self.lanes_of(var).is_some() { folds_of_rounds(f, body, total_reads, self.mode) } else { Vec::new() }
    }
}

/// Returns the array of coordinates of the loop with this variable, if no coordinate occurs twice.
pub(super) fn coordinates_of(list_coordinates: &[(Local, Buffer)], var: Local) -> Option<Buffer> {
    list_coordinates.iter().find(|(walk, _)| *walk == var).map(|(_, array)| *array)
}

/// Turns the walks whose cursors are in `walks` into `for` loops, if lanes can share the rounds.
/// Returns the function, and the entries of `walks` that are variables of `for` loops.
pub(super) fn walks_to_loops(mut f: Function, mut walks: Walks) -> (Function, Walks) {
    let mut total_reads = count_reads(&f, &f.body);
    let mut shared = Vec::new();
    let body = f.body.clone();
    f.body = block(&mut f, &walks, &mut total_reads, body, &mut shared);
    let is_loop =
        |var: Local| f.body.iter().any(|s| s.any(&mut |s| matches!(s, Stmt::For { var: other, .. } if *other == var)));
    walks.lanes.retain(|(var, _)| is_loop(*var));
    walks.list_coordinates.retain(|(var, _)| is_loop(*var));
    (f, walks)
}

fn block(
    f: &mut Function,
    walks: &Walks,
    total_reads: &mut Vec<u32>,
    body: Vec<Stmt>,
    shared: &mut Vec<Local>,
) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(body.len());
    for stmt in body {
        match stmt {
            Stmt::If { cond, then, other } => {
                let [then, other] = [then, other].map(|body| block(f, walks, total_reads, body, shared));
                out.push(Stmt::If { cond, then, other });
            }
            Stmt::For { var, lo, hi, body } => {
                let body = block(f, walks, total_reads, body, shared);
                out.push(Stmt::For { var, lo, hi, body });
            }
            Stmt::While { cond, body } => {
                // The innermost loop is shared, so that adjacent lanes read adjacent positions.
                let body = block(f, walks, total_reads, body, shared);
                let uses_lanes = |s: &Stmt| match s {
                    Stmt::Lanes(_) => true,
                    // Walks that add no lanes to a team leave the lanes to a walk around them.
                    Stmt::For { var, .. } => shared.contains(var) && walks.lanes_of(*var) != Some(1),
                    _ => false,
                };
                let lanes_are_used = body.iter().any(|s| s.any(&mut |s| uses_lanes(s)));
                match (!lanes_are_used).then(|| loop_of_walk(f, walks, total_reads, (&cond, &body))).flatten() {
                    Some((cursor, walk)) => {
                        shared.push(cursor);
                        out.extend(walk);
                    }
                    None => out.push(Stmt::While { cond, body }),
                }
            }
            other => out.push(other),
        }
    }
    out
}

/// Returns the cursor of a walk, and the walk as a loop; `None` if the statement is not a walk in
/// `walks`, or if its rounds are not independent. If other code reads the cursor, a new local saves
/// the first position, and an assignment of the cursor follows the loop; the number of reads of the
/// new local is added to `total_reads`.
fn loop_of_walk(
    f: &mut Function,
    walks: &Walks,
    total_reads: &mut Vec<u32>,
    (cond, body): (&Expr, &[Stmt]),
) -> Option<(Local, Vec<Stmt>)> {
    let Expr::Compare(CompareOp::Lt, q, end) = cond else { return None };
    let Expr::Local(q) = **q else { return None };
    walks.lanes_of(q)?;
    let [rounds @ .., next] = body else { return None };
    let mut assigned = HashSet::new();
    rounds.iter().for_each(|s| {
        s.for_each_assigned(&mut |l| {
            assigned.insert(l);
        });
    });
    let fixed = !end.any(&mut |e| match e {
        Expr::Local(l) => *l == q || assigned.contains(l),
        Expr::Load { .. } => true,
        _ => false,
    });
    if *next != Stmt::Assign(q, plus(&local(q), 1)) || assigned.contains(&q) || !fixed {
        return None;
    }
    let folds = folds_of_rounds(f, rounds, total_reads, walks.mode);
    let coordinates = coordinates_of(&walks.list_coordinates, q);
    let appends = appends_of_rounds(f, rounds);
    let facts = RoundFacts { folds: &folds, coordinates, appends: appends.as_ref(), atomic: &|_| false };
    if !is_independent(f, (q, rounds), total_reads, facts) {
        return None;
    }
    let (own_reads, hi) = (count_reads(f, body)[q.index()], (**end).clone());
    let rounds = |lo: Expr| Stmt::For { var: q, lo, hi: hi.clone(), body: rounds.to_vec() };
    // The condition of the walk reads the cursor as well.
    if total_reads[q.index()] == own_reads + 1 {
        return Some((q, vec![rounds(local(q))]));
    }
    let from = Local(f.locals.len() as u32);
    f.locals.push(LocalDecl { name: "from".into(), prim: Prim::I64 });
    let set_cursor = Stmt::Assign(q, max(&local(from), &hi));
    let stmts = vec![Stmt::Assign(from, local(q)), rounds(local(from)), set_cursor];
    total_reads.push(count_reads(f, &stmts)[from.index()]);
    Some((q, stmts))
}

/// Returns the folds of the rounds of a loop. A fold is a local into which rounds fold by one
/// operator that may be regrouped. The loop reads the local only to fold into it, and code outside
/// of the loop reads it, too. `total_reads` has the number of reads of each local in the whole
/// function.
pub(super) fn folds_of_rounds(f: &Function, body: &[Stmt], total_reads: &[u32], mode: FloatMode) -> Vec<RoundFold> {
    let inside_reads = count_reads(f, body);
    // For each local: the operator, and the number of its reads by folds.
    let mut seen: Vec<(Local, Option<BinaryOp>, u32)> = Vec::new();
    let mut note = |acc: Local, op: Option<BinaryOp>, times: u32| match seen.iter_mut().find(|(l, ..)| *l == acc) {
        Some((_, first, count)) => {
            *first = first.filter(|first| Some(*first) == op);
            *count += times;
        }
        None => seen.push((acc, op, times)),
    };
    for stmt in body {
        stmt.any(&mut |s| {
            match s {
                Stmt::Assign(acc, Expr::Binary(op, old, value)) if **old == local(*acc) && !value.mentions(*acc) => {
                    note(*acc, Some(*op), 1);
                }
                // Setting a flag to `true` is a fold by `or`.
                Stmt::Assign(acc, value) if as_truth(value) == Some(true) => note(*acc, Some(BinaryOp::Or), 0),
                Stmt::Lanes(fold) => {
                    note(fold.acc, Some(fold.op).filter(|_| !fold.value.mentions(fold.acc)), 1);
                    note(fold.var, None, 0);
                }
                Stmt::Assign(other, _) | Stmt::For { var: other, .. } => note(*other, None, 0),
                _ => {}
            }
            false
        });
    }
    let folded = |(acc, op, times): (Local, Option<BinaryOp>, u32)| {
        let op = op.filter(|_| inside_reads[acc.index()] == times && total_reads[acc.index()] > times)?;
        let identity = identity(op, f.locals[acc.index()].prim, mode)?;
        Some(RoundFold { acc, op, identity })
    };
    seen.into_iter().filter_map(folded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_compiler::assembly::text::parse;
    use redpoll_compiler::assembly::verify;

    /// The rounds of a walk may contain a walk whose cursor is read later and which therefore needs
    /// a new local. The order in which locals are checked varies from run to run, so the test
    /// repeats the conversion.
    #[test]
    fn walks_contain_walks_with_new_locals() {
        let text = "\
fn nested() {
  input ptr: index i64
  owned y: value i64 fill 0
  local lo: i64 local hi: i64
  local p: i64 local p_end: i64 local q: i64 local q_end: i64
  chunk lo, hi
  p = ptr[0]
  p_end = ptr[1]
  while p < p_end {
    q = ptr[2]
    q_end = ptr[3]
    while q < q_end {
      q = q + 1
    }
    y[p] = q
    p = p + 1
  }
}
";
        let f = parse(text).unwrap();
        let [p, q] = [Local(2), Local(4)];
        for _ in 0..64 {
            let walks = Walks { lanes: vec![(p, 32), (q, 1)], ..Walks::none() };
            let (loops, _) = walks_to_loops(f.clone(), walks);
            assert_eq!(loops.locals.len(), f.locals.len() + 1, "{loops}");
            assert_eq!(verify(&loops), [], "{loops}");
        }
    }
}
