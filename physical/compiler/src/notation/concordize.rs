//! Pass `concordize`: makes each access concordant with the order of the loops.
//!
//! Input: output of `wrapperize`. Output: the subscript of each storage mode `k` of each access is
//! `a * i + r` with `a != 0`. The loop of `i` lies inside the loops of the indices of modes `0..k`,
//! and everything in `r` is bound outside of the loop of `i`. So all outer modes are resolved when
//! lowering reaches that loop.
//!
//! Other subscripts are a constant, a form whose deepest atom is a variable, or a form whose index
//! is bound too early: `A[j, i]` under loops `i`, `j`, or `A[i, i]`, or `w[i]` of a local that is
//! not dense and is declared inside of the loop of `i`. Each of these subscripts becomes the index
//! `s` of a new loop of one round, `for s in e..e+1`: a random access by seeking. The new loop is
//! placed just outside of the loop that resolves the next mode, or, if no loop resolves a later
//! mode, just around the statement of the access. Accesses that need the same loop share it (Finch,
//! concordization of index positions).
//!
//! For a write into appended levels, the new loop is placed as far outside as possible, so that the
//! loops that would repeat its coordinate lie inside of it. The new loop cannot be placed around a
//! `let` whose body, apart from inner loops and conditions, declares tensors or changes their
//! state. In that case, the new loop writes the value into a scalar local, and the `let` reads the
//! local.

use super::linear::{Atom, Linear};
use super::visit::infallible;
use super::{Access, AccessSubscript, Expr, Index, Program, Role, Rounds, Stmt, TensorDecl, TensorId, Var, Write};
use crate::lower::seeded_fault::SeededFault;
use redpoll_logic::op::Builtin;
use redpoll_logic::{DType, Format, Scalar, TensorType};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

/// Inserts loops of one round where an access is not concordant.
pub fn concordize(program: Program) -> Program {
    let mut c = Concordizer {
        depth: HashMap::new(),
        loops: Vec::new(),
        declared: HashMap::new(),
        loop_wrappers: HashMap::new(),
        stmt_wrappers: Vec::new(),
        indices: program.indices,
        tensors: program.tensors,
        vars: program.vars,
    };
    let body = c.stmt(program.body);
    let (schedule, block_inputs) = (program.schedule, program.block_inputs);
    Program { tensors: c.tensors, indices: c.indices, vars: c.vars, body, schedule, block_inputs }
}

struct Concordizer {
    indices: Vec<String>,
    tensors: Vec<TensorDecl>,
    vars: Vec<(String, DType)>,
    /// The depth of each bound atom: one more than the number of atoms bound before it.
    depth: HashMap<Atom, usize>,
    /// The enclosing loops, outermost first.
    loops: Vec<Index>,
    /// The number of atoms bound before each declaration.
    declared: HashMap<TensorId, usize>,
    /// Loops of one round to put around each loop in scope, outermost first.
    loop_wrappers: HashMap<Index, Vec<(Index, Expr)>>,
    /// Loops of one round to put around the current statement, outermost first.
    stmt_wrappers: Vec<(Index, Expr)>,
}

/// The direction of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessDirection {
    Read,
    Write,
}

fn wrap_in_single_rounds(single_rounds: Vec<(Index, Expr)>, body: Stmt) -> Stmt {
    single_rounds.into_iter().rev().fold(body, |body, (index, at)| {
        let end = match Linear::of(&at).and_then(|form| form.as_constant()?.checked_add(1)) {
            Some(end) => Expr::int(end),
            None => Expr::call(Builtin::Add, [at.clone(), Expr::int(1)]),
        };
        Stmt::For { index, extent: Some((at, end)), rounds: Rounds::Ordered, body: Box::new(body) }
    })
}

impl Concordizer {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        let outer = std::mem::take(&mut self.stmt_wrappers);
        let stmt = infallible(stmt.map_exprs(&mut |e| {
            Ok::<_, Infallible>(match e {
                Expr::Access(a) => Expr::Access(self.access(a, AccessDirection::Read)),
                other => other,
            })
        }));
        let stmt = match stmt {
            Stmt::Assign { lhs, write, rhs } => {
                Stmt::Assign { lhs: self.access(lhs, AccessDirection::Write), write, rhs }
            }
            other => other,
        };
        let mut single_rounds = std::mem::replace(&mut self.stmt_wrappers, outer);
        match &stmt {
            Stmt::For { index, .. } => {
                self.depth.insert(Atom::Index(*index), self.depth.len() + 1);
                self.loops.push(*index);
            }
            Stmt::Declare(t) => drop(self.declared.insert(*t, self.depth.len())),
            Stmt::Let { var, .. } => drop(self.depth.insert(Atom::Var(*var), self.depth.len() + 1)),
            _ => {}
        }
        let stmt = infallible(stmt.map_children(&mut |s| Ok::<_, Infallible>(self.stmt(s))));
        if let Stmt::For { index, .. } = &stmt {
            single_rounds.extend(self.loop_wrappers.remove(index).unwrap_or_default());
            self.loops.pop();
        }
        match stmt {
            Stmt::Let { var, value, body } if !single_rounds.is_empty() && body.changes_lifecycles() => {
                self.bind_through_local(single_rounds, var, value, body)
            }
            stmt => wrap_in_single_rounds(single_rounds, stmt),
        }
    }

    fn bind_through_local(
        &mut self,
        single_rounds: Vec<(Index, Expr)>,
        var: Var,
        value: Expr,
        body: Box<Stmt>,
    ) -> Stmt {
        let tensor = TensorId(self.tensors.len() as u32);
        let dtype = self.vars[var.index()].1.clone();
        let zeros: Vec<Scalar> = dtype.prims().into_iter().map(Scalar::zero).collect();
        let fill = Scalar::unflatten(&dtype, &mut zeros.into_iter()).expect("a dtype consists of its primitives");
        let names = |n: &u32| self.tensors.iter().all(|t| t.name != format!("t{n}"));
        let name = format!("t{}", (tensor.0..).find(names).expect("some number is unused"));
        let ty = Arc::new(TensorType { shape: Vec::new(), dtype, fill, format: Format::dense(0) });
        self.tensors.push(TensorDecl::new(name, ty, Role::Local));
        let access = Access { tensor, subscripts: Vec::new() };
        let assign = Stmt::Assign { lhs: access.clone(), write: Write::Init, rhs: value };
        let producer = Box::new(Stmt::block([wrap_in_single_rounds(single_rounds, assign), Stmt::Freeze(tensor)]));
        let consumer = Box::new(Stmt::Let { var, value: Expr::Access(access), body });
        Stmt::block([Stmt::Declare(tensor), Stmt::Where { consumer, producer }])
    }

    fn access(&mut self, a: Access, direction: AccessDirection) -> Access {
        let forms: Vec<Linear> =
            a.subscripts.iter().map(|s| Linear::of(&s.at).expect("wrapperize leaves linear subscripts")).collect();
        let own = self.resolving_loops(a.tensor, &forms);
        let appended =
            if direction == AccessDirection::Write { self.tensors[a.tensor.index()].appended_levels() } else { 0 };
        // For each list of shared loops of one round, the number of its loops that already enclose
        // this access.
        let mut used: HashMap<Option<Index>, usize> = HashMap::new();
        let mut subscripts = Vec::with_capacity(own.len());
        for (k, s) in a.subscripts.into_iter().enumerate() {
            if own[k].is_some() {
                subscripts.push(s);
                continue;
            }
            let next = match k < appended {
                true => self.outermost_loop(a.tensor, &forms[..=k]),
                false => own[k..].iter().find_map(|i| *i),
            };
            let index = self.single_round_index(next, s.at, used.entry(next).or_default());
            subscripts.push(AccessSubscript { at: Expr::Index(index), ..s });
        }
        Access { subscripts, ..a }
    }

    /// Returns the outermost enclosing loop that lies inside of the binders of all atoms in the
    /// subscripts and begins after the declaration of the tensor; `None` if there is no such loop.
    fn outermost_loop(&self, tensor: TensorId, forms: &[Linear]) -> Option<Index> {
        let atoms = forms.iter().flat_map(|form| form.terms.iter().map(|(atom, _)| self.depth[atom]));
        let outside = atoms.chain(self.declared.get(&tensor).copied()).max().unwrap_or_default();
        self.loops.iter().copied().find(|index| self.depth[&Atom::Index(*index)] > outside)
    }

    /// Returns the loop that resolves each subscript; `None` for a subscript that no loop resolves
    /// inside of the binders of all atoms in the outer subscripts.
    fn resolving_loops(&self, tensor: TensorId, forms: &[Linear]) -> Vec<Option<Index>> {
        let depth = |atom: Atom| self.depth[&atom];
        // A fiber is looked up where the loop over the fiber begins, so the loop must begin after
        // the declaration.
        let declared = self.declared.get(&tensor).filter(|_| self.tensors[tensor.index()].is_looked_up());
        let mut resolved = declared.copied().unwrap_or(0);
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

    /// Returns the index of a loop of one round at `at`. The loop is placed around the loop of
    /// `next`, or around the current statement if `next` is `None`, and inside of the first `used`
    /// loops there. Reuses an existing loop, or adds one.
    fn single_round_index(&mut self, next: Option<Index>, at: Expr, used: &mut usize) -> Index {
        let list = match next {
            Some(index) => self.loop_wrappers.entry(index).or_default(),
            None => &mut self.stmt_wrappers,
        };
        let position = (*used..list.len())
            .find(|&k| list[k].1 == at || SeededFault::SharedRound.is_active())
            .unwrap_or_else(|| {
                let fresh = Index(self.indices.len() as u32);
                self.indices.push(format!("s{}", fresh.0));
                list.push((fresh, at));
                list.len() - 1
            });
        *used = position + 1;
        list[position].0
    }
}
