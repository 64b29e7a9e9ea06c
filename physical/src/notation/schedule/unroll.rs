//! `unroll`: copies of the body of a loop, one after the other.

use super::super::linear::{Atom, Linear};
use super::super::visit::sure;
use super::super::{Expr, Index, Program, Stmt, TensorId};
use super::MOST_COPIES;
use super::extent::{plus, times};
use super::nest::{Loop, find, replace};
use std::collections::HashMap;
use std::convert::Infallible;

/// The loop of `name` with so many copies of its body in a round, then the rounds that are left; with a copy for each round
/// where no number is given.
pub(super) fn unroll(mut program: Program, name: &str, copies: Option<u64>) -> Result<Program, String> {
    let at = find(&program, name)?;
    let count = Index(program.indices.len() as u32);
    program.indices.push(name.to_owned());
    let mut copier = Copier { program: program.clone(), name, copied: false };
    let body = replace(program.body, at, &mut |l| {
        let unknown = || format!("how many rounds the loop of `{name}` has is known only when it begins; split it");
        let length = l.length().and_then(|n| u64::try_from(n).ok()).ok_or_else(unknown)?;
        let copies = copies.unwrap_or(length).min(length);
        if copies > MOST_COPIES {
            return Err(format!("that makes {copies} copies, more than {MOST_COPIES}"));
        }
        if copies == 0 {
            return Ok(Stmt::Block(Vec::new()));
        }
        copier.check(&l)?;
        let (lo, size) = (&l.extent.0, copies as i64);
        let blocks = (length / copies) as i64;
        if blocks == 1 {
            let whole = copier.copies(&l, lo, copies);
            let rest = copier.copies(&l, &plus(lo, &Expr::int(size)), length - copies);
            return Ok(Stmt::block([whole, rest]));
        }
        let begin = plus(lo, &times(&Expr::Index(count), size));
        let block = Box::new(copier.copies(&l, &begin, copies));
        let extent = (Expr::int(0), Expr::int(blocks));
        let blocks_of = Loop { index: count, extent, rounds: l.rounds, body: block };
        let rest = copier.copies(&l, &plus(lo, &Expr::int(size * blocks)), length % copies);
        Ok(Stmt::block([blocks_of.into(), rest]))
    })?;
    Ok(Program { body, tensors: copier.program.tensors, ..program })
}

struct Copier<'a> {
    /// With the tensors of the copies.
    program: Program,
    name: &'a str,
    /// Whether there is a copy that has the locals of the body itself.
    copied: bool,
}

impl Copier<'_> {
    /// Checks that nothing is searched for round by round.
    fn check(&self, l: &Loop) -> Result<(), String> {
        let mut found = None;
        l.body.walk(&mut |s| {
            for access in s.exprs().into_iter().flat_map(Expr::accesses) {
                let decl = &self.program.tensors[access.tensor.index()];
                for (subscript, level) in access.subscripts.iter().zip(&decl.ty.format.levels) {
                    let uses = Linear::of(&subscript.at).is_none_or(|at| at.coefficient(Atom::Index(l.index)) != 0);
                    if uses && !level.kind.traits().full {
                        found = Some(decl.name.clone());
                    }
                }
            }
        });
        let name = self.name;
        match found {
            Some(tensor) => Err(format!(
                "`{tensor}` does not store all coordinates of `{name}`: the loop goes from one stored to the next"
            )),
            None => Ok(()),
        }
    }

    /// So many copies of the body, from a round on.
    fn copies(&mut self, l: &Loop, from: &Expr, count: u64) -> Stmt {
        let copy = |k: u64| {
            let at = plus(from, &Expr::int(k as i64));
            let body = with_index((*l.body).clone(), l.index, &at);
            if std::mem::replace(&mut self.copied, true) { self.renamed(body) } else { body }
        };
        Stmt::block((0..count).map(copy))
    }

    /// A body whose own locals are other tensors.
    fn renamed(&mut self, body: Stmt) -> Stmt {
        let mut own: HashMap<TensorId, TensorId> = HashMap::new();
        body.walk(&mut |s| {
            if let Stmt::Declare(t) = s {
                let mut decl = self.program.tensors[t.index()].clone();
                decl.name = free_name(&self.program, &decl.name);
                own.insert(*t, TensorId(self.program.tensors.len() as u32));
                self.program.tensors.push(decl);
            }
        });
        if own.is_empty() { body } else { with_tensors(body, &|t| own.get(&t).copied().unwrap_or(t)) }
    }
}

/// A name like another that no tensor has.
pub(super) fn free_name(program: &Program, like: &str) -> String {
    let taken = |name: &String| program.tensors.iter().any(|t| t.name == *name);
    (2..).map(|k| format!("{like}_{k}")).find(|name| !taken(name)).expect("numbers do not run out")
}

/// A statement with an expression in the place of an index.
pub(super) fn with_index(stmt: Stmt, index: Index, at: &Expr) -> Stmt {
    let one = &mut |e| Ok::<_, Infallible>(if e == Expr::Index(index) { at.clone() } else { e });
    let stmt = sure(stmt.map_exprs(one));
    sure(stmt.map_children(&mut |s| Ok(with_index(s, index, at))))
}

fn with_tensors(stmt: Stmt, to: &dyn Fn(TensorId) -> TensorId) -> Stmt {
    let one = &mut |e| {
        Ok::<_, Infallible>(match e {
            Expr::Access(mut a) => {
                a.tensor = to(a.tensor);
                Expr::Access(a)
            }
            e => e,
        })
    };
    let stmt = match sure(stmt.map_exprs(one)) {
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
    sure(stmt.map_children(&mut |s| Ok(with_tensors(s, to))))
}
