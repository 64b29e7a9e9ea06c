//! Pass `single_rounds`: loops of one round that stand too far inside for what they write become their bodies.
//!
//! ```text
//! for j { for i in [e, e + 1) { C[i] += r } }  =  for j { C[e] += r }          e a linear form, C appended to
//! ```
//! A write into a level that is appended to must be resolved outside of all loops that meet its coordinate again and again.
//! A loop of one round does not move its coordinate, wherever it stands; so its index gives way to its value, and
//! `concordize` decides where the constant is resolved. Input: output of `dimensionalize`.

use super::linear::{Atom, Linear};
use super::visit::sure;
use super::{Access, Expr, Index, Program, Rounds, Stmt, TensorId};
use std::collections::{HashMap, HashSet};

/// Replaces loops of one round by their bodies where a write is to be resolved further outside.
pub fn single_rounds(program: Program) -> Program {
    let mut search = Search::new(&program);
    search.stmt(&program.body);
    let misplaced = search.misplaced;
    if misplaced.is_empty() {
        return program;
    }
    let body = inlined(program.body, &misplaced);
    Program { body, ..program }
}

/// The search for loops that stand too far inside.
struct Search<'a> {
    program: &'a Program,
    /// What is bound around, outermost first.
    bound: Vec<Atom>,
    /// The loops around that may run more than once, by how many atoms are bound outside of them.
    repeated: Vec<usize>,
    /// The first values of the loops of one round around.
    single: HashMap<Index, &'a Expr>,
    /// How many atoms are bound outside of each declaration.
    declared: HashMap<TensorId, usize>,
    misplaced: HashSet<Index>,
}

impl<'a> Search<'a> {
    fn new(program: &'a Program) -> Search<'a> {
        Search {
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

    /// Notes the loops of one round that resolve an appended level of a write inside of a loop that does not move it.
    fn write(&mut self, lhs: &Access) {
        let appended = self.program.tensors[lhs.tensor.index()].appended_levels();
        let mut outside = self.declared.get(&lhs.tensor).copied().unwrap_or_default();
        for subscript in &lhs.subscripts[..appended.min(lhs.subscripts.len())] {
            let atoms = subscript.at.atoms();
            outside = atoms.iter().map(|atom| self.fixed(*atom)).fold(outside, usize::max);
            for atom in atoms {
                let Atom::Index(index) = atom else { continue };
                let depth = self.depth(atom);
                if self.single.contains_key(&index) && self.repeated.iter().any(|l| (outside..depth).contains(l)) {
                    self.misplaced.insert(index);
                }
            }
        }
    }

    /// How many atoms are bound outside of an atom.
    fn depth(&self, atom: Atom) -> usize {
        self.bound.iter().position(|bound| *bound == atom).unwrap_or_default()
    }

    /// How many atoms are bound where the value of an atom is known.
    fn fixed(&self, atom: Atom) -> usize {
        match atom {
            Atom::Index(index) if self.single.contains_key(&index) => {
                self.single[&index].atoms().into_iter().map(|atom| self.fixed(atom)).max().unwrap_or_default()
            }
            atom => self.depth(atom) + 1,
        }
    }
}

/// The statement with the bodies of those loops of one round in their place.
fn inlined(stmt: Stmt, loops: &HashSet<Index>) -> Stmt {
    match stmt {
        Stmt::For { index, extent: Some((lo, _)), body, .. } if loops.contains(&index) => {
            inlined(body.with_index(index, &lo), loops)
        }
        other => sure(other.map_children(&mut |s| Ok(inlined(s, loops)))),
    }
}
