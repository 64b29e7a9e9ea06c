//! Transformation `unroll`: repeats the body of a loop within a round.

use super::super::linear::{Atom, Linear};
use super::super::order::max_rounds;
use super::super::visit::infallible;
use super::super::{Expr, Index, Program, Rounds, Stmt, TensorId};
use super::extent::{div_floor, max, minus, plus, times};
use super::nest::{ForLoop, find, replace_once};
use redpoll_logic::op::Builtin;
use std::collections::HashMap;
use std::convert::Infallible;

/// Unrolls the loop of `name` with `copies` copies of its body per round, followed by the remaining
/// rounds. If `copies` is `None`, there is one copy for each round, or for each round up to a
/// proved maximum. If the number of rounds is computed at run time, a copy is guarded by a
/// condition if the loop may not have its round. A loop over stored entries is only marked, as
/// [`Rounds::Unrolled`], unless `copies` is 1.
pub(super) fn unroll(mut program: Program, name: &str, copies: Option<u64>) -> Result<Program, String> {
    let at = find(&program, name)?;
    let count = Index(program.indices.len() as u32);
    let round = Index(count.0 + 1);
    program.indices.extend([name.to_owned(), format!("{name}_copy")]);
    replace_once(program, at, |program, l| {
        let round = Some(round).filter(|_| appends(program, &l));
        let mut unroller = LoopUnroller { program, name, copied: false, round };
        let iterates_entries = unroller.iterates_entries(&l);
        match l.length() {
            _ if iterates_entries && copies != Some(1) => unroll_entries(l, copies),
            Some(length) => unroller.of_length(&l, count, length, copies),
            None => unroller.of_open_length(&l, count, copies),
        }
    })
}

struct LoopUnroller<'a> {
    /// The program, to which the locals of copies are added.
    program: &'a mut Program,
    name: &'a str,
    /// True if a copy already uses the locals of the original body; later copies get new locals.
    copied: bool,
    /// The index of a loop of one round around each copy, used if the rounds append to a tensor.
    /// Such loops resolve the appended coordinates one after the other.
    round: Option<Index>,
}

impl LoopUnroller<'_> {
    /// Unrolls a loop with a constant number of rounds.
    fn of_length(&mut self, l: &ForLoop, count: Index, length: i128, copies: Option<u64>) -> Result<Stmt, String> {
        let length = u64::try_from(length).map_err(|_| "the loop has too many rounds".to_owned())?;
        let copies = copies.unwrap_or(length).min(length);
        check_copies(copies)?;
        if copies == 0 {
            return Ok(Stmt::Block(Vec::new()));
        }
        let (lo, size) = (&l.extent.0, copies as i64);
        let blocks = (length / copies) as i64;
        if blocks == 1 {
            let block = self.copies(l, lo, copies);
            let rest = self.copies(l, &plus(lo, &Expr::int(size)), length - copies);
            return Ok(Stmt::block([block, rest]));
        }
        let begin = plus(lo, &times(&Expr::Index(count), size));
        let block = Box::new(self.copies(l, &begin, copies));
        let extent = (Expr::int(0), Expr::int(blocks));
        let blocks_of = ForLoop { index: count, extent, rounds: l.rounds, body: block };
        let rest = self.copies(l, &plus(lo, &Expr::int(size * blocks)), length % copies);
        Ok(Stmt::block([blocks_of.into(), rest]))
    }

    /// Unrolls a loop whose number of rounds is computed at run time. The number must have a bound
    /// if no number of copies is given.
    fn of_open_length(&mut self, l: &ForLoop, count: Index, copies: Option<u64>) -> Result<Stmt, String> {
        let (lo, hi) = &l.extent;
        let round_bound = max_copies(l);
        let name = self.name;
        let copies = copies.or(round_bound).ok_or_else(|| {
            format!(
                "the number of rounds of the loop of `{name}` is computed at run time; specify the number of copies"
            )
        })?;
        check_copies(copies)?;
        if round_bound.is_some_and(|bound| bound <= copies) {
            return Ok(self.guarded(l, lo, round_bound.unwrap_or(copies)));
        }
        if copies == 0 {
            return Err("expected at least one copy".to_owned());
        }
        let size = copies as i64;
        let blocks = div_floor(&max(Expr::int(0), minus(hi, lo)), size);
        let begin = plus(lo, &times(&Expr::Index(count), size));
        let block = Box::new(self.copies(l, &begin, copies));
        let extent = (Expr::int(0), blocks.clone());
        let blocks_of = ForLoop { index: count, extent, rounds: l.rounds, body: block };
        let rest = self.guarded(l, &plus(lo, &times(&blocks, size)), copies - 1);
        Ok(Stmt::block([blocks_of.into(), rest]))
    }

    /// Makes copies of the body for `count` rounds from `from` on, each under the condition that
    /// the loop has the round.
    fn guarded(&mut self, l: &ForLoop, from: &Expr, count: u64) -> Stmt {
        let copy = |k: u64| {
            let at = plus(from, &Expr::int(k as i64));
            let cond = Expr::call(Builtin::Lt, [at.clone(), l.extent.1.clone()]);
            Stmt::If { cond, body: Box::new(self.copies(l, &at, 1)) }
        };
        Stmt::block((0..count).map(copy))
    }

    /// Returns whether the body may read, by the index of the loop, a level that does not store all
    /// coordinates. The loop then iterates over stored entries. A subscript that is not a linear
    /// form counts as a use of the index.
    fn iterates_entries(&self, l: &ForLoop) -> bool {
        let mut found = false;
        l.body.walk(&mut |s| {
            for access in s.exprs().into_iter().flat_map(Expr::accesses) {
                let decl = &self.program.tensors[access.tensor.index()];
                for (subscript, level) in access.subscripts.iter().zip(&decl.ty.format.levels) {
                    let uses = Linear::of(&subscript.at).is_none_or(|at| at.coefficient(Atom::Index(l.index)) != 0);
                    found |= uses && !level.kind.traits().full;
                }
            }
        });
        found
    }

    /// Makes copies of the body for `count` rounds from `from` on.
    fn copies(&mut self, l: &ForLoop, from: &Expr, count: u64) -> Stmt {
        let copy = |k: u64| {
            let at = plus(from, &Expr::int(k as i64));
            let body = match self.round {
                Some(index) => {
                    let body = Box::new((*l.body).clone().with_index(l.index, &Expr::Index(index)));
                    ForLoop { index, extent: (at.clone(), plus(&at, &Expr::int(1))), rounds: Rounds::default(), body }
                        .into()
                }
                None => (*l.body).clone().with_index(l.index, &at),
            };
            if std::mem::replace(&mut self.copied, true) { rename_locals(self.program, body) } else { body }
        };
        Stmt::block((0..count).map(copy))
    }
}

/// Returns whether the rounds of a loop may write different coordinates of a level that is appended
/// to.
fn appends(program: &Program, l: &ForLoop) -> bool {
    let mut found = false;
    let depends = |atom: &Atom| matches!(atom, Atom::Var(_)) || *atom == Atom::Index(l.index);
    l.body.walk(&mut |s| {
        if let Stmt::Assign { lhs, .. } = s {
            let appended = program.tensors[lhs.tensor.index()].appended_levels();
            found |= lhs.subscripts.iter().take(appended).any(|s| s.at.atoms().iter().any(depends));
        }
    });
    found
}

/// Replaces the locals declared in a copy of a body by new locals.
pub(super) fn rename_locals(program: &mut Program, body: Stmt) -> Stmt {
    let mut renamed: HashMap<TensorId, TensorId> = HashMap::new();
    body.walk(&mut |s| {
        if let Stmt::Declare(t) = s {
            let mut decl = program.tensors[t.index()].clone();
            decl.name = unused_name(program, &decl.name);
            renamed.insert(*t, TensorId(program.tensors.len() as u32));
            program.tensors.push(decl);
        }
    });
    if renamed.is_empty() { body } else { rename_tensors(body, &|t| renamed.get(&t).copied().unwrap_or(t)) }
}

/// Marks a loop over stored entries to handle `copies` entries per round.
fn unroll_entries(l: ForLoop, copies: Option<u64>) -> Result<Stmt, String> {
    let bound = max_copies(&l).filter(|max| *max <= Rounds::MAX_COPIES);
    let copies = copies
        .or(bound)
        .ok_or("the number of stored entries is known only at run time; specify the number of copies")?;
    check_copies(copies)?;
    let rounds = Rounds::with_copies(copies).unwrap_or(l.rounds);
    Ok(ForLoop { rounds, ..l }.into())
}

/// Returns a constant upper bound of the number of rounds of a loop, if one is proved.
fn max_copies(l: &ForLoop) -> Option<u64> {
    max_rounds(&l.extent.0, &l.extent.1).and_then(|n| u64::try_from(n.max(0)).ok())
}

fn check_copies(copies: u64) -> Result<(), String> {
    match copies {
        0..=Rounds::MAX_COPIES => Ok(()),
        _ => Err(format!("{copies} copies exceed the maximum of {}", Rounds::MAX_COPIES)),
    }
}

/// Returns a name that no tensor has, derived from the name `like`.
pub(super) fn unused_name(program: &Program, like: &str) -> String {
    let is_taken = |name: &String| program.tensors.iter().any(|t| t.name == *name);
    (2..).map(|k| format!("{like}_{k}")).find(|name| !is_taken(name)).expect("some number is unused")
}

fn rename_tensors(stmt: Stmt, to: &dyn Fn(TensorId) -> TensorId) -> Stmt {
    let one = &mut |e| {
        Ok::<_, Infallible>(match e {
            Expr::Access(mut a) => {
                a.tensor = to(a.tensor);
                Expr::Access(a)
            }
            e => e,
        })
    };
    let stmt = match infallible(stmt.map_exprs(one)) {
        Stmt::Declare(t) => Stmt::Declare(to(t)),
        Stmt::Freeze(t) => Stmt::Freeze(to(t)),
        Stmt::Thaw(t) => Stmt::Thaw(to(t)),
        Stmt::Swap(t, u) => Stmt::Swap(to(t), to(u)),
        Stmt::Assign { mut lhs, write, rhs } => {
            lhs.tensor = to(lhs.tensor);
            Stmt::Assign { lhs, write, rhs }
        }
        other => other,
    };
    infallible(stmt.map_children(&mut |s| Ok(rename_tensors(s, to))))
}
