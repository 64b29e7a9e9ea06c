//! Pass `concordize`: the order of an access's subscripts becomes the order of the loops.
//!
//! Input: output of `wrapperize`. Output: the subscript of each storage mode `k` of each access is `a * i + r` with
//! `a != 0`, where the loop of `i` lies inside the loops of the indices of modes `0..k`, and everything in `r` is bound
//! outside of the loop of `i`. So when lowering reaches that loop, the outer modes are resolved.
//!
//! A subscript that is not so (a constant, a variable, an index that is bound too early: `A[j, i]` under loops `i`, `j`,
//! or `A[i, i]`) becomes a loop of one round, `for s in e..e+1`, and the subscript `s`: a random access by seeking. It
//! stands just outside of the loop that resolves the next mode, or just around the statement of the access, and
//! accesses that need the same one share it (Finch, concordization of index positions).

use super::linear::{Atom, Linear};
use super::{Access, Expr, Index, Program, Schedule, Stmt, Subscript};
use redpoll_logic::op::Builtin;
use std::collections::HashMap;
use std::convert::Infallible;

/// Puts in loops of one round where an access is not in loop order.
pub fn concordize(program: Program) -> Program {
    let mut c =
        Concordize { depth: HashMap::new(), around: HashMap::new(), here: Vec::new(), indices: program.indices };
    let body = c.stmt(program.body);
    Program { indices: c.indices, body, ..program }
}

struct Concordize {
    indices: Vec<String>,
    /// How many atoms are bound outside of each.
    depth: HashMap<Atom, usize>,
    /// Loops of one round to put around each loop in scope, outermost first.
    around: HashMap<Index, Vec<(Index, Expr)>>,
    /// Loops of one round to put around the statement at hand, outermost first.
    here: Vec<(Index, Expr)>,
}

fn infallible<T>(r: Result<T, Infallible>) -> T {
    match r {
        Ok(v) => v,
        Err(never) => match never {},
    }
}

fn wrap(singles: Vec<(Index, Expr)>, body: Stmt) -> Stmt {
    singles.into_iter().rev().fold(body, |body, (index, at)| {
        let end = match Linear::of(&at).and_then(|form| form.as_constant()?.checked_add(1)) {
            Some(end) => Expr::int(end),
            None => Expr::call(Builtin::Add, [at.clone(), Expr::int(1)]),
        };
        Stmt::For { index, extent: Some((at, end)), schedule: Schedule::Sequential, body: Box::new(body) }
    })
}

impl Concordize {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        let outer = std::mem::take(&mut self.here);
        let stmt = infallible(stmt.map_exprs(&mut |e| {
            Ok::<_, Infallible>(match e {
                Expr::Access(a) => Expr::Access(self.access(a)),
                other => other,
            })
        }));
        let stmt = match stmt {
            Stmt::Assign { lhs, write, rhs } => Stmt::Assign { lhs: self.access(lhs), write, rhs },
            other => other,
        };
        let mut singles = std::mem::replace(&mut self.here, outer);
        match &stmt {
            Stmt::For { index, .. } => drop(self.depth.insert(Atom::Index(*index), self.depth.len() + 1)),
            Stmt::Let { var, .. } => drop(self.depth.insert(Atom::Var(*var), self.depth.len() + 1)),
            _ => {}
        }
        let stmt = infallible(stmt.map_children(&mut |s| Ok::<_, Infallible>(self.stmt(s))));
        if let Stmt::For { index, .. } = &stmt {
            singles.extend(self.around.remove(index).unwrap_or_default());
        }
        wrap(singles, stmt)
    }

    fn access(&mut self, a: Access) -> Access {
        let forms: Vec<Linear> =
            a.subscripts.iter().map(|s| Linear::of(&s.at).expect("wrapperize leaves linear subscripts")).collect();
        let own = self.own_loops(&forms);
        // Where this access stands among the shared loops of one round, by the loop that they are around.
        let mut used: HashMap<Option<Index>, usize> = HashMap::new();
        let mut subscripts = Vec::with_capacity(own.len());
        for (k, s) in a.subscripts.into_iter().enumerate() {
            if own[k].is_some() {
                subscripts.push(s);
                continue;
            }
            let next = own[k..].iter().find_map(|i| *i);
            let single = self.single(next, s.at, used.entry(next).or_default());
            subscripts.push(Subscript { at: Expr::Index(single), ..s });
        }
        Access { subscripts, ..a }
    }

    /// The loop that resolves each subscript; `None` when none comes late enough.
    fn own_loops(&self, forms: &[Linear]) -> Vec<Option<Index>> {
        let depth = |atom: Atom| self.depth[&atom];
        let mut resolved = 0;
        forms
            .iter()
            .map(|form| {
                let deepest = form.deepest(&depth).map(|(atom, _)| atom);
                let at = deepest.map_or(0, depth);
                let own = match deepest {
                    Some(Atom::Index(i)) if at > resolved => Some(i),
                    _ => None,
                };
                resolved = resolved.max(at);
                own
            })
            .collect()
    }

    /// The index of a loop of one round at `at`, around the loop of `next` or the statement at hand, that lies inside
    /// of the first `used` ones there.
    fn single(&mut self, next: Option<Index>, at: Expr, used: &mut usize) -> Index {
        let list = match next {
            Some(index) => self.around.entry(index).or_default(),
            None => &mut self.here,
        };
        let place = (*used..list.len()).find(|&k| list[k].1 == at).unwrap_or_else(|| {
            let fresh = Index(self.indices.len() as u32);
            self.indices.push(format!("s{}", fresh.0));
            list.push((fresh, at));
            list.len() - 1
        });
        *used = place + 1;
        list[place].0
    }
}
