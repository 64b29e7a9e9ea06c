//! Pass `inline_single_rounds`: a loop of one round that lies too far inside for an appended level
//! is replaced by its body.
//!
//! ```text
//! for j { for i in [e, e + 1) { C[i] += r } }  =  for j { C[e] += r }
//!                                                e a linear form, C appended to
//! ```
//! The coordinate of a write into an appended level must be resolved outside of all loops that
//! would repeat the coordinate. A loop of one round has the same coordinate at any depth. So the
//! coordinate replaces the index of the loop, and `concordize` decides where the coordinate is
//! resolved. Input: output of `dimensionalize`.

use super::linear::{Atom, Linear};
use super::visit::infallible;
use super::{Access, Expr, Index, Program, Rounds, Stmt, TensorId};
use std::collections::{HashMap, HashSet};

/// Replaces loops of one round by their bodies where a write must be resolved further outside.
pub fn inline_single_rounds(program: Program) -> Program {
    let mut search = MisplacedLoops::new(&program);
    search.stmt(&program.body);
    let misplaced = search.misplaced;
    if misplaced.is_empty() {
        return program;
    }
    let body = inline(program.body, &misplaced);
    Program { body, ..program }
}

/// The search for loops that lie too far inside.
struct MisplacedLoops<'a> {
    program: &'a Program,
    /// The bound atoms, outermost first.
    bound: Vec<Atom>,
    /// The enclosing `for` loops that may run more than once or are parallel, each as the number of
    /// atoms bound outside of it.
    repeated: Vec<usize>,
    /// The index values of the other enclosing `for` loops, which have one round.
    single: HashMap<Index, &'a Expr>,
    /// The number of atoms bound outside of each declaration.
    declared: HashMap<TensorId, usize>,
    misplaced: HashSet<Index>,
}

impl<'a> MisplacedLoops<'a> {
    fn new(program: &'a Program) -> MisplacedLoops<'a> {
        MisplacedLoops {
            program,
            bound: Vec::new(),
            repeated: Vec::new(),
            single: HashMap::new(),
            declared: HashMap::new(),
            misplaced: HashSet::new(),
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        let (bound, repeated) = (self.bound.len(), self.repeated.len());
        match stmt {
            Stmt::Declare(t) => drop(self.declared.insert(*t, bound)),
            Stmt::Assign { lhs, .. } => self.write(lhs),
            Stmt::Let { var, .. } => self.bound.push(Atom::Var(*var)),
            Stmt::For { index, extent, rounds, .. } => {
                match extent {
                    Some((lo, hi)) if *rounds != Rounds::Parallel && Linear::distance(lo, hi) == Some(1) => {
                        self.single.insert(*index, lo);
                    }
                    _ => self.repeated.push(bound),
                }
                self.bound.push(Atom::Index(*index));
            }
            _ => {}
        }
        stmt.children().into_iter().for_each(|s| self.stmt(s));
        self.bound.truncate(bound);
        self.repeated.truncate(repeated);
    }

    /// Collects the loops of one round that resolve an appended level of a write, but lie inside of
    /// a loop on which the coordinate does not depend.
    fn write(&mut self, lhs: &Access) {
        let appended = self.program.tensors[lhs.tensor.index()].appended_levels();
        let mut outside = self.declared.get(&lhs.tensor).copied().unwrap_or_default();
        for subscript in &lhs.subscripts[..appended.min(lhs.subscripts.len())] {
            let atoms = subscript.at.atoms();
            outside = atoms.iter().map(|atom| self.determined_depth(*atom)).fold(outside, usize::max);
            for atom in atoms {
                let Atom::Index(index) = atom else { continue };
                let depth = self.depth(atom);
                if self.single.contains_key(&index) && self.repeated.iter().any(|l| (outside..depth).contains(l)) {
                    self.misplaced.insert(index);
                }
            }
        }
    }

    /// Returns the number of atoms bound outside of an atom.
    fn depth(&self, atom: Atom) -> usize {
        self.bound.iter().position(|bound| *bound == atom).unwrap_or_default()
    }

    /// Returns the number of atoms that must be bound to determine the value of an atom.
    fn determined_depth(&self, atom: Atom) -> usize {
        match atom {
            Atom::Index(index) if self.single.contains_key(&index) => self.single[&index]
                .atoms()
                .into_iter()
                .map(|atom| self.determined_depth(atom))
                .max()
                .unwrap_or_default(),
            atom => self.depth(atom) + 1,
        }
    }
}

/// Replaces the loops of one round in `loops` by their bodies.
fn inline(stmt: Stmt, loops: &HashSet<Index>) -> Stmt {
    match stmt {
        Stmt::For { index, extent: Some((lo, _)), body, .. } if loops.contains(&index) => {
            inline(body.with_index(index, &lo), loops)
        }
        other => infallible(other.map_children(&mut |s| Ok(inline(s, loops)))),
    }
}
