//! The check that appended levels are written in order.
//!
//! A level whose kind takes no random writes gets its coordinates fiber by fiber, ascending. So a
//! tensor with such levels must be written in order from its declaration on, in all levels from the
//! outermost to the last appended one. The loops that resolve these levels are the outermost ones,
//! in the order of the levels. Each coordinate ascends with the loops that resolve its level, and
//! all other repeated loops lie inside of them. Several writes of one tensor reach its entries by
//! the same loops. Random writes need a workspace: a local with levels that take them, such as
//! dense, hash or byte-map levels. The optimizer inserts a workspace wherever a plan needs one.

use super::linear::{Atom, Linear};
use super::verify::{ProgramRule, location};
use super::{Access, Expr, Index, Program, Stmt, TensorId, Var};
use crate::Error;
use redpoll_logic::is_ascending_mixed_radix;
use redpoll_logic::op::{Builtin, Op};
use std::collections::HashMap;

/// Checks the order of writes of a program in normal form.
pub(super) fn check(program: &Program) -> Result<(), Error> {
    let mut c = WriteOrderVerifier { program, path: Vec::new(), binders: Vec::new(), tensors: HashMap::new() };
    c.stmt(&program.body)
}

/// A binder or loop around a statement.
#[derive(Clone, Copy)]
enum EnclosingBinder<'a> {
    Loop { index: Index, extent: &'a (Expr, Expr) },
    Let { var: Var, value: &'a Expr },
    While,
}

/// A loop that may run more than once.
struct RepeatedLoop {
    /// The number of the binder.
    binder: usize,
    index: Index,
    /// The maximum number of rounds, if it is constant.
    rounds: Option<i64>,
}

/// A tensor with appended levels, between its declaration and its freeze.
struct AppendedTensor {
    /// The number of binders outside of the declaration.
    start_depth: usize,
    /// The path of the first write: for each level that is written in order, its subscript, and the
    /// loop inside of the declaration that resolves the subscript.
    write_path: Option<Vec<(Option<Index>, Linear)>>,
}

struct WriteOrderVerifier<'a> {
    program: &'a Program,
    path: Vec<&'a Stmt>,
    binders: Vec<EnclosingBinder<'a>>,
    tensors: HashMap<TensorId, AppendedTensor>,
}

impl<'a> WriteOrderVerifier<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), Error> {
        self.path.push(stmt);
        let binder = match stmt {
            Stmt::For { index, extent: Some(extent), .. } => Some(EnclosingBinder::Loop { index: *index, extent }),
            Stmt::Let { var, value, .. } => Some(EnclosingBinder::Let { var: *var, value }),
            Stmt::While { .. } => Some(EnclosingBinder::While),
            _ => None,
        };
        self.binders.extend(binder);
        match stmt {
            Stmt::Declare(t) if self.appended_levels(*t) > 0 => {
                drop(self.tensors.insert(*t, AppendedTensor { start_depth: self.binders.len(), write_path: None }));
            }
            Stmt::Thaw(t) if self.appended_levels(*t) > 0 => {
                let name = &self.program.tensors[t.index()].name;
                return self
                    .fail(format!("`{name}` is written again after it was frozen, but {}", self.append_rule(*t)));
            }
            Stmt::Assign { lhs, .. } => self.write(lhs)?,
            _ => stmt.children().into_iter().try_for_each(|s| self.stmt(s))?,
        }
        self.binders.truncate(self.binders.len() - usize::from(binder.is_some()));
        self.path.pop();
        Ok(())
    }

    /// Returns the number of levels, from the outermost one on, that are written in order.
    fn appended_levels(&self, t: TensorId) -> usize {
        self.program.tensors[t.index()].appended_levels()
    }

    fn write(&mut self, lhs: &Access) -> Result<(), Error> {
        let Some(tensor) = self.tensors.get(&lhs.tensor) else { return Ok(()) };
        let binders = &self.binders[tensor.start_depth..];
        let name = &self.program.tensors[lhs.tensor.index()].name;
        if binders.iter().any(|b| matches!(b, EnclosingBinder::While)) {
            return self
                .fail(format!("every round of a `while` writes `{name}` again, but {}", self.append_rule(lhs.tensor)));
        }
        let repeated = self.repeated_loops(binders);
        let loops: Vec<(Index, Option<i64>)> = repeated.iter().map(|l| (l.index, l.rounds)).collect();
        let (mut resolved, mut write_path) = (0, Vec::new());
        for (mode, subscript) in lhs.subscripts.iter().take(self.appended_levels(lhs.tensor)).enumerate() {
            let form = Linear::of(&subscript.at).and_then(|form| self.expand(form, tensor.start_depth));
            let next = form.as_ref().and_then(|form| advance(form, &loops, resolved));
            let (Some(form), Some(next)) = (form, next) else {
                let what = match loops.get(resolved) {
                    Some((index, _)) => {
                        let index = &self.program.indices[index.index()];
                        format!("its coordinate of level {mode} does not ascend with the loop of `{index}`")
                    }
                    None => format!("its coordinate of level {mode} is not proved to ascend"),
                };
                return self
                    .fail(format!("`{name}` is written out of order: {what}, but {}", self.append_rule(lhs.tensor)));
            };
            let (resolved_by, outside) = resolution(&subscript.at, &form, binders, &repeated);
            if let Some((index, _)) = loops[next..].first().filter(|_| outside > next) {
                let index = &self.program.indices[index.index()];
                let what = format!("each round of the loop of `{index}` repeats its coordinate of level {mode}");
                return self
                    .fail(format!("`{name}` is written out of order: {what}, but {}", self.append_rule(lhs.tensor)));
            }
            write_path.push((resolved_by, form));
            resolved = next;
        }
        match &tensor.write_path {
            Some(first) if *first != write_path => self.fail(format!(
                "`{name}` is written by a second statement over other loops or by another subscript, but {}",
                self.append_rule(lhs.tensor)
            )),
            Some(_) => Ok(()),
            None => {
                self.tensors.get_mut(&lhs.tensor).expect("it was found above").write_path = Some(write_path);
                Ok(())
            }
        }
    }

    /// Returns the loops among the binders that may run more than once. A loop over blocks of
    /// stored entries directly around the loop over the rounds of a block is left out, since the
    /// coordinates of both together ascend like those of one loop.
    fn repeated_loops(&self, binders: &[EnclosingBinder<'_>]) -> Vec<RepeatedLoop> {
        let mut loops: Vec<RepeatedLoop> = Vec::new();
        for (binder, enclosing) in binders.iter().enumerate() {
            let Some((index, rounds)) = self.rounds(enclosing) else { continue };
            if let (Some(outer), EnclosingBinder::Loop { extent, .. }) = (loops.last(), enclosing)
                && self.is_block(extent, outer.index)
            {
                loops.pop();
            }
            loops.push(RepeatedLoop { binder, index, rounds });
        }
        loops
    }

    /// Returns whether an extent is the block of stored entries whose number is the outer index.
    fn is_block(&self, (lo, hi): &(Expr, Expr), outer: Index) -> bool {
        // The first block begins at 0 in fibers that are not stored, too.
        let is_first = Expr::call(Builtin::Eq, [Expr::Index(outer), Expr::int(0)]);
        let lo = match lo {
            Expr::Call(Op::Builtin(Builtin::IfElse), args) if args[0] == is_first && args[1].as_int() == Some(0) => {
                &args[2]
            }
            lo => lo,
        };
        let (Expr::Access(begin), Expr::Access(end)) = (lo, hi) else { return false };
        let is_bound = self.program.block_inputs.iter().any(|inputs| inputs.begins == begin.tensor);
        let (Some((number, fiber)), Some((next, other))) = (begin.subscripts.split_last(), end.subscripts.split_last())
        else {
            return false;
        };
        is_bound
            && begin.tensor == end.tensor
            && fiber == other
            && !fiber.iter().any(|s| s.at.atoms().contains(&Atom::Index(outer)))
            && number.at == Expr::Index(outer)
            && Linear::distance(&number.at, &next.at) == Some(1)
    }

    /// Returns a loop that may run more than once, or whose begin is not a linear form, with the
    /// maximum number of its rounds if this maximum is constant.
    fn rounds(&self, binder: &EnclosingBinder<'_>) -> Option<(Index, Option<i64>)> {
        let EnclosingBinder::Loop { index, extent: (lo, hi) } = binder else { return None };
        let count = max_rounds(lo, hi);
        (count.is_none_or(|n| n > 1) || Linear::of(lo).is_none()).then_some((*index, count))
    }

    /// Returns the form over the loops inside of the declaration that run more than once, and over
    /// variables with values that are no linear forms, such as values that were read. Atoms bound
    /// outside of the declaration are constant inside, so they are omitted. Returns `None` if the
    /// begin of a loop is not a linear form, or a coefficient overflows.
    fn expand(&self, form: Linear, start_depth: usize) -> Option<Linear> {
        let mut sum = Linear::constant(form.constant);
        for (atom, factor) in form.terms {
            let inner = self.binders[start_depth..].iter().find_map(|binder| match (binder, atom) {
                (EnclosingBinder::Loop { index, extent }, Atom::Index(i)) if *index == i => {
                    let lo = Linear::of(&extent.0).and_then(|lo| self.expand(lo, start_depth));
                    Some(match (self.rounds(binder), lo) {
                        (None, lo) => lo,
                        // The index is its offset within the loop plus the begin of the loop, which
                        // may depend on outer loops.
                        (Some(_), Some(lo)) => lo.plus(&Linear::atom(atom)),
                        (Some(_), None) => Some(Linear::atom(atom)),
                    })
                }
                (EnclosingBinder::Let { var, value }, Atom::Var(v)) if *var == v => Some(match Linear::of(value) {
                    Some(value) => self.expand(value, start_depth),
                    None => Some(Linear::atom(atom)),
                }),
                _ => None,
            });
            if let Some(inner) = inner {
                sum = sum.plus(&inner?.times(factor)?)?;
            }
        }
        Some(sum)
    }

    fn append_rule(&self, t: TensorId) -> String {
        let levels = &self.program.tensors[t.index()].ty.format.levels;
        let last = self.appended_levels(t) - 1;
        let kind = levels[last].kind.traits().name;
        format!(
            "its level {last} is a {kind} level, which is appended to; write into a local with dense, hash or byte-map \
             levels first, and copy it in order"
        )
    }

    fn fail<T>(&self, what: String) -> Result<T, Error> {
        Err(Error::InvalidProgram { rule: ProgramRule::Order, at: location(self.program, &self.path), what })
    }
}

/// Returns the innermost loop among the binders whose index occurs in a subscript, and the number
/// of repeated loops outside of the subscript: up to this loop, and up to the innermost variable of
/// the expanded form.
fn resolution(
    subscript: &Expr,
    form: &Linear,
    binders: &[EnclosingBinder<'_>],
    repeated: &[RepeatedLoop],
) -> (Option<Index>, usize) {
    let atoms = subscript.atoms();
    let mentioned = |binder: &EnclosingBinder<'_>| match binder {
        EnclosingBinder::Loop { index, .. } => atoms.contains(&Atom::Index(*index)),
        EnclosingBinder::Let { var, .. } => form.terms.iter().any(|(atom, _)| *atom == Atom::Var(*var)),
        EnclosingBinder::While => false,
    };
    let index = binders.iter().rev().find_map(|binder| match binder {
        EnclosingBinder::Loop { index, .. } if mentioned(binder) => Some(*index),
        _ => None,
    });
    let outside =
        binders.iter().rposition(mentioned).map_or(0, |at| repeated.iter().filter(|l| l.binder <= at).count());
    (index, outside)
}

/// Returns the maximum number of rounds from `lo` to `hi`, if a constant maximum is proved. A `min`
/// of ends is at most each end, and a `max` of begins is at least each begin.
pub(super) fn max_rounds(lo: &Expr, hi: &Expr) -> Option<i64> {
    let least = |bounds: &mut dyn Iterator<Item = Option<i64>>| bounds.flatten().min();
    match (lo, hi) {
        (_, Expr::Call(Op::Builtin(Builtin::Min), ends)) => least(&mut ends.iter().map(|hi| max_rounds(lo, hi))),
        (Expr::Call(Op::Builtin(Builtin::Max), begins), _) => least(&mut begins.iter().map(|lo| max_rounds(lo, hi))),
        _ => Linear::distance(lo, hi),
    }
}

/// Returns the number of loops that resolve the levels up to this one, given that the first
/// `resolved` loops resolve the levels above. Returns `None` if the next loops are not those of
/// this level, or its coordinate does not ascend with them.
fn advance(form: &Linear, loops: &[(Index, Option<i64>)], resolved: usize) -> Option<usize> {
    let step = |index: Index| form.coefficient(Atom::Index(index));
    let count = loops[resolved..].iter().filter(|(index, _)| step(*index) != 0).count();
    let (mut own, mut next) = (Vec::new(), resolved);
    while own.len() < count {
        let (index, rounds) = loops[next];
        next += 1;
        match step(index) {
            0 if rounds.is_some_and(|n| n <= 1) => {}
            0 => return None,
            step => own.push((step, rounds)),
        }
    }
    let digits: Vec<_> =
        own.into_iter().map(|(step, rounds)| (step, rounds.map(|n| n.max(1).cast_unsigned()))).collect();
    is_ascending_mixed_radix(&digits).then_some(next)
}
