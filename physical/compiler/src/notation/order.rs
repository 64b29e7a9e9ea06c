//! The check that appended levels are written in order.
//!
//! A level whose kind takes no random writes gets its coordinates fiber by fiber, ascending. So a
//! tensor with such levels must be written in order from its declaration on, in all levels from the
//! outermost to the last appended level. The loops that resolve these levels are the outermost
//! ones, in the order of the levels. Each coordinate ascends with the loops that resolve its level,
//! and all other repeated loops lie inside of the resolving loops. Several writes of one tensor
//! reach its entries by the same loops, or by paths that ascend from one write to the next
//! (`write_path`). Random writes need a workspace: a local with levels that take random writes,
//! such as dense, hash or byte-map levels. The optimizer inserts a workspace wherever a plan needs
//! one.

use super::linear::{Atom, Linear};
use super::stored_block::StoredBlock;
use super::verify::{ProgramRule, location};
use super::write_path::{PathLevel, RepeatedLoop, WritePath, ascend};
use super::{Access, Expr, Index, Program, Stmt, TensorId, Var};
use crate::Error;
use redpoll_logic::LevelKind;
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

/// A tensor with appended levels, between its declaration and its freeze.
struct AppendedTensor {
    /// The number of binders outside of the declaration.
    start_depth: usize,
    /// The distinct paths of the writes so far.
    write_paths: Vec<WritePath>,
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
                drop(
                    self.tensors
                        .insert(*t, AppendedTensor { start_depth: self.binders.len(), write_paths: Vec::new() }),
                );
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

    /// Returns the number of outermost levels that are written in order.
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
        let loops = self.repeated_loops(binders);
        let (mut resolved, mut levels) = (0, Vec::new());
        for (mode, subscript) in lhs.subscripts.iter().take(self.appended_levels(lhs.tensor)).enumerate() {
            let form = Linear::of(&subscript.at).and_then(|form| self.expand(form, tensor.start_depth));
            // A variable is constant in the loops inside of its `let`, but rounds of other loops
            // may change its value.
            let is_constant = |form: &&Linear| loops_around_variables(form, binders, &loops) <= resolved;
            let next = form.as_ref().filter(is_constant).and_then(|form| advance(form, &loops, resolved));
            let (Some(form), Some(next)) = (form, next) else {
                let what = match loops.get(resolved) {
                    Some(l) => {
                        let index = &self.program.indices[l.index.index()];
                        format!("its coordinate of level {mode} is not proved to ascend with the loop of `{index}`")
                    }
                    None => format!("its coordinate of level {mode} is not proved to ascend"),
                };
                return self
                    .fail(format!("`{name}` is written out of order: {what}, but {}", self.append_rule(lhs.tensor)));
            };
            let (resolved_by, outside) = resolution(&subscript.at, binders, &loops);
            if let Some(l) = loops[next..].first().filter(|_| outside > next) {
                let index = &self.program.indices[l.index.index()];
                let what = format!("each round of the loop of `{index}` repeats its coordinate of level {mode}");
                return self
                    .fail(format!("`{name}` is written out of order: {what}, but {}", self.append_rule(lhs.tensor)));
            }
            let format = &self.program.tensors[lhs.tensor.index()].ty.format.levels[mode];
            let is_list = matches!(format.kind, LevelKind::Dense | LevelKind::SparseList) && format.unique;
            levels.push(PathLevel { resolved_by, form, resolved: next, is_list });
            resolved = next;
        }
        let path = WritePath { levels, loops };
        if !tensor.write_paths.iter().all(|earlier| earlier.is_same(&path) || earlier.is_before(&path)) {
            return self.fail(format!(
                "`{name}` is written by a second statement over other loops or by another subscript, but {}; \
                 copies that `unroll` makes append in order if their loop has a constant number of rounds and its \
                 index is a coordinate",
                self.append_rule(lhs.tensor)
            ));
        }
        if !tensor.write_paths.iter().any(|earlier| earlier.is_same(&path)) {
            self.tensors.get_mut(&lhs.tensor).expect("it was found above").write_paths.push(path);
        }
        Ok(())
    }

    /// Returns the loops among the binders that may run more than once, or whose begin is not a
    /// linear form. A loop over the rounds of a block of stored entries, or of a part of a block,
    /// is merged with the loops over blocks and parts directly around it. Together, these loops
    /// ascend like one loop.
    fn repeated_loops(&self, binders: &[EnclosingBinder<'_>]) -> Vec<RepeatedLoop> {
        let mut loops: Vec<RepeatedLoop> = Vec::new();
        for (binder, enclosing) in binders.iter().enumerate() {
            let Some((index, rounds)) = self.rounds(enclosing) else { continue };
            let mut blocks = Vec::new();
            if let EnclosingBinder::Loop { extent, .. } = enclosing
                && let Some(block) = StoredBlock::of(self.program, extent)
            {
                let over_blocks = loops_over_blocks(&block, &loops, binders);
                blocks = loops.drain(loops.len() - over_blocks..).flat_map(RepeatedLoop::into_indices).collect();
            }
            loops.push(RepeatedLoop { binder, index, rounds, blocks });
        }
        loops
    }

    /// Returns the index of a loop, with the maximum number of its rounds if a constant maximum is
    /// proved. Returns `None` for other binders, and for a loop of at most one round whose begin is
    /// a linear form.
    fn rounds(&self, binder: &EnclosingBinder<'_>) -> Option<(Index, Option<i64>)> {
        let EnclosingBinder::Loop { index, extent: (lo, hi) } = binder else { return None };
        let count = max_rounds(lo, hi);
        (count.is_none_or(|n| n > 1) || Linear::of(lo).is_none()).then_some((*index, count))
    }

    /// Expands the atoms of a form that are bound inside of the declaration. A variable becomes its
    /// value if this value is a linear form. An index becomes the begin of its loop if the begin is
    /// a linear form, plus an offset unless the loop has at most one round. Atoms bound outside of
    /// the declaration are constant inside. Returns `None` on overflow.
    fn expand(&self, form: Linear, start_depth: usize) -> Option<Linear> {
        let mut sum = Linear::constant(form.constant);
        for (atom, factor) in form.terms {
            let inner = self.binders[start_depth..].iter().find_map(|binder| match (binder, atom) {
                (EnclosingBinder::Loop { index, extent }, Atom::Index(i)) if *index == i => {
                    let lo = Linear::of(&extent.0).and_then(|lo| self.expand(lo, start_depth));
                    Some(match (self.rounds(binder), lo) {
                        (None, lo) => lo,
                        // Here the atom stands for the offset of the index from the begin of the
                        // loop. The begin may depend on outer loops.
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
            let inner = inner.unwrap_or_else(|| Some(Linear::atom(atom)));
            sum = sum.plus(&inner?.times(factor)?)?;
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
/// of repeated loops down to this loop, inclusive.
fn resolution(subscript: &Expr, binders: &[EnclosingBinder<'_>], repeated: &[RepeatedLoop]) -> (Option<Index>, usize) {
    let atoms = subscript.atoms();
    let mentioned = |binder: &EnclosingBinder<'_>| match binder {
        EnclosingBinder::Loop { index, .. } => atoms.contains(&Atom::Index(*index)),
        _ => false,
    };
    let Some(at) = binders.iter().rposition(mentioned) else { return (None, 0) };
    let EnclosingBinder::Loop { index, .. } = binders[at] else { unreachable!("only loops are mentioned") };
    (Some(index), repeated.iter().filter(|l| l.binder <= at).count())
}

/// Returns the number of repeated loops around the innermost variable of an expanded form.
fn loops_around_variables(form: &Linear, binders: &[EnclosingBinder<'_>], repeated: &[RepeatedLoop]) -> usize {
    let is_in_form = |binder: &EnclosingBinder<'_>| match binder {
        EnclosingBinder::Let { var, .. } => form.terms.iter().any(|(atom, _)| *atom == Atom::Var(*var)),
        _ => false,
    };
    binders.iter().rposition(is_in_form).map_or(0, |at| repeated.iter().filter(|l| l.binder <= at).count())
}

/// Returns the maximum number of rounds from `lo` to `hi`, if a constant maximum is proved. Each
/// argument of a `max` in `lo` gives such a maximum, since the `max` is at least that argument.
pub(super) fn max_rounds(lo: &Expr, hi: &Expr) -> Option<i64> {
    if let Expr::Call(Op::Builtin(Builtin::Max), begins) = lo {
        return begins.iter().filter_map(|lo| max_rounds(lo, hi)).min();
    }
    let begin = Linear::of(lo)?.times(-1)?;
    upper_bounds(hi).iter().filter_map(|end| end.plus(&begin)?.as_constant()).min()
}

/// Returns linear forms that are upper bounds of an expression. A `min` is at most each of its
/// arguments.
fn upper_bounds(expr: &Expr) -> Vec<Linear> {
    if let Some(form) = Linear::of(expr) {
        return vec![form];
    }
    match expr {
        Expr::Call(Op::Builtin(Builtin::Min), args) => args.iter().flat_map(upper_bounds).collect(),
        Expr::Call(Op::Builtin(Builtin::Add), args) => {
            args.iter().map(upper_bounds).fold(vec![Linear::constant(0)], |sums, bounds| {
                sums.iter().flat_map(|sum| bounds.iter().filter_map(|bound| sum.plus(bound))).collect()
            })
        }
        Expr::Call(Op::Builtin(Builtin::FloorDiv), args) => {
            let Some(by) = args[1].as_int().filter(|by| *by > 0) else { return Vec::new() };
            let constants = upper_bounds(&args[0]).into_iter().filter_map(|bound| bound.as_constant());
            constants.map(|bound| Linear::constant(bound.div_euclid(by))).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the number of innermost loops among `loops` that only select the block of stored
/// entries, or the part of a block, that another loop inside of them iterates over. Together with
/// that loop, they iterate over the rounds of several blocks in order. The loops over blocks come
/// first, then the loops over parts of a block. Returns 0 if the order is not proved.
fn loops_over_blocks(block: &StoredBlock<'_>, loops: &[RepeatedLoop], binders: &[EnclosingBinder<'_>]) -> usize {
    let step = |form: &Linear, l: &RepeatedLoop| form.coefficient(Atom::Index(l.index));
    let is_fiber = |l: &RepeatedLoop| block.fiber.iter().any(|s| s.at.atoms().contains(&Atom::Index(l.index)));
    let over_parts =
        loops.iter().rev().take_while(|l| step(&block.skipped, l) != 0 && step(&block.number, l) == 0).count();
    let (outer, parts) = loops.split_at(loops.len() - over_parts);
    let over_blocks =
        outer.iter().rev().take_while(|l| step(&block.number, l) != 0 && step(&block.skipped, l) == 0).count();
    let blocks = &outer[outer.len() - over_blocks..];
    // A part begins no earlier than its block.
    let is_not_negative = |(atom, step): &(Atom, i64)| {
        *step > 0
            && binders.iter().any(|binder| match binder {
                EnclosingBinder::Loop { index, extent } => {
                    *atom == Atom::Index(*index) && extent.0.as_int().is_some_and(|lo| lo >= 0)
                }
                _ => false,
            })
    };
    let is_within = block.skipped.constant >= 0 && block.skipped.terms.iter().all(is_not_negative);
    let steps = |form: &Linear, loops: &[RepeatedLoop]| -> Vec<(i64, Option<i64>)> {
        loops.iter().map(|l| (step(form, l), l.rounds)).collect()
    };
    let mut part_steps = steps(&block.skipped, parts);
    part_steps.extend((!parts.is_empty()).then_some((1, block.rounds)));
    let ascends = is_within && ascend(&part_steps) && ascend(&steps(&block.number, blocks));
    match ascends && !blocks.iter().chain(parts).any(is_fiber) {
        true => over_parts + over_blocks,
        false => 0,
    }
}

/// Returns the number of loops that resolve the levels down to this level, given that the first
/// `resolved` loops resolve the levels above. Returns `None` if the next loops do not resolve this
/// level, or its coordinate does not ascend with these loops.
fn advance(form: &Linear, loops: &[RepeatedLoop], resolved: usize) -> Option<usize> {
    let step = |l: &RepeatedLoop| form.coefficient(Atom::Index(l.index));
    let count = loops[resolved..].iter().filter(|l| step(l) != 0).count();
    let (mut own, mut next) = (Vec::new(), resolved);
    while own.len() < count {
        let l = &loops[next];
        next += 1;
        match step(l) {
            0 if l.rounds.is_some_and(|n| n <= 1) => {}
            0 => return None,
            step => own.push((step, l.rounds)),
        }
    }
    ascend(&own).then_some(next)
}
