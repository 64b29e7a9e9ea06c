//! Splits a nest into loop nests: folds inside a value become temporaries of the nest, or queries
//! of their own.
//!
//! Input: a nest and its loop order. Output: a [`Schedule`], or the folds to store first, because
//! no loops of the nest can compute them or because storing them is cheaper. The caller plans a
//! query for the first of these folds, together with the other folds that can be joined with it,
//! and retries. Equal folds at one depth are computed once. A fold joins the pass of a fold that
//! reads the same tensors in the same loops, at the same depth, if neither contains folds and the
//! joining fold can be regrouped or reduces at most one field.

use crate::facts::Facts;
use crate::facts::estimate::{SupportProfile, conjuncts, either};
use crate::order::pricing::{inline_depth, visited_fraction};
use crate::order::search::{count_equal_folds, inline_work, order_fold, stored_work};
use crate::term::names::Names;
use crate::term::sizes::Sizes;
use crate::term::unify::{canonicalize, match_loops};
use crate::term::{Fold, ModeCoordinate, Nest, NestKind, Node, Read, Target, Term, is_regroupable};
use redpoll_logic::{Alias, Field};

/// A nest in a loop order, with the depth at which each fold is computed.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) order: Vec<Field>,
    pub(crate) temporaries: Vec<FoldPass>,
    pub(crate) outputs: Vec<Target>,
    pub(crate) sizes: Sizes,
    pub(crate) kind: NestKind,
}

/// Folds that are computed in one pass inside the outermost `depth` loops.
#[derive(Clone, Debug)]
pub(crate) struct FoldPass {
    /// Number of loops around the pass, counted from the outermost one. They are loops of the nest,
    /// followed by loops of the passes that contain this pass, if there are any.
    pub(crate) depth: usize,
    /// Number of loops around the initialization of the folds; less than `depth` for scans.
    pub(crate) start_depth: usize,
    pub(crate) order: Vec<Field>,
    pub(crate) temporaries: Vec<FoldPass>,
    pub(crate) folds: Vec<(Alias, Fold)>,
}

impl Schedule {
    /// Visits the values and computed coordinates of the outputs and the arguments of the folds,
    /// each with the loops around it.
    pub(crate) fn each_value<'s>(&'s self, f: &mut dyn FnMut(&'s Term, &[Field])) {
        for target in &self.outputs {
            f(&target.value, &self.order);
            for at in &target.coordinates {
                if let ModeCoordinate::Value(value) = at {
                    f(value, &self.order);
                }
            }
        }
        self.temporaries.iter().for_each(|pass| pass.each_value(&self.order, f));
    }
}

impl FoldPass {
    fn each_value<'s>(&'s self, outside: &[Field], f: &mut dyn FnMut(&'s Term, &[Field])) {
        let order = self.loops(outside);
        self.temporaries.iter().for_each(|inner| inner.each_value(&order, f));
        self.folds.iter().for_each(|(_, fold)| f(&fold.arg, &order));
    }

    /// Returns the loops around the pass, then its own loops; `outside` are the loops of the
    /// schedule or of the pass that contains this pass.
    pub(crate) fn loops(&self, outside: &[Field]) -> Vec<Field> {
        outside[..self.depth].iter().chain(&self.order).cloned().collect()
    }
}

/// The result of placing the folds of a nest in its loops.
pub(crate) enum FoldPlacement<T> {
    /// Every fold has a depth in the loops.
    Placed(T),
    /// The folds to store first, each because no loops of the nest can compute it or because
    /// storing it is cheaper.
    StoreFirst(Vec<Term>),
}

/// Splits a nest into a schedule. Temporaries take new names, even if folds must be stored first.
pub(crate) fn isolate(facts: &Facts, names: &mut Names, nest: &Nest, order: &[Field]) -> FoldPlacement<Schedule> {
    let frame = LoopFrame { start: 0, full: order.to_vec(), passes: Vec::new() };
    let (sizes, pins) = (&nest.sizes, &nest.pins[..]);
    let mut placer =
        Placer { facts, names, sizes, pins, outputs: &nest.outputs, frames: vec![frame], stored: Vec::new() };
    let mut outputs = Vec::new();
    for target in &nest.outputs {
        let value = placer.rewrite(&target.value);
        let coordinates = target.coordinates.iter().map(|at| match at {
            ModeCoordinate::Value(t) => ModeCoordinate::from_value(placer.rewrite(t)),
            ModeCoordinate::Subscript(_) => at.clone(),
        });
        let coordinates = coordinates.collect();
        outputs.push(Target { value, coordinates, ..target.clone() });
    }
    if !placer.stored.is_empty() {
        return FoldPlacement::StoreFirst(placer.stored);
    }
    let temporaries = placer.frames.pop().map(|f| f.passes).unwrap_or_default();
    FoldPlacement::Placed(Schedule {
        order: order.to_vec(),
        temporaries,
        outputs,
        sizes: nest.sizes.clone(),
        kind: nest.kind,
    })
}

/// The open loops around a term: all loops of the nest, or the loops around a pass and those of the
/// pass.
struct LoopFrame {
    start: usize,
    /// All open loops, outermost first.
    full: Vec<Field>,
    passes: Vec<FoldPass>,
}

/// The state of placing the folds of a nest in its loops.
struct Placer<'p, 'c> {
    facts: &'p Facts<'c>,
    names: &'p mut Names,
    sizes: &'p Sizes,
    pins: &'p [Vec<Field>],
    outputs: &'p [Target],
    frames: Vec<LoopFrame>,
    stored: Vec<Term>,
}

impl Placer<'_, '_> {
    /// Replaces the folds of a term by temporaries.
    fn rewrite(&mut self, term: &Term) -> Term {
        let mode = self.facts.mode();
        term.replace(
            &mut |t| match t.node() {
                Node::Fold(fold) => Some(self.place_fold(t, fold)),
                _ => None,
            },
            mode,
        )
    }

    fn place_fold(&mut self, term: &Term, fold: &Fold) -> Term {
        let free = fold.free();
        let found = self.frames.iter().enumerate().find_map(|(k, frame)| {
            let depth = inline_depth(&frame.full, fold, &free)?;
            let start_depth = start_depth(&frame.full, fold, depth);
            (start_depth >= frame.start).then_some((k, depth, start_depth))
        });
        let Some((frame, depth, start_depth)) =
            found.filter(|(k, depth, _)| self.is_cheaper_in_place(*k, *depth, fold))
        else {
            if !self.stored.contains(term) {
                self.stored.push(term.clone());
            }
            return term.clone();
        };
        let inside = self.frames.split_off(frame + 1);
        let name = self.schedule(fold, depth, start_depth);
        self.frames.extend(inside);
        Term::temporary(name, fold.clone(), term.fill().clone())
    }

    /// Returns whether computing the fold in place costs no more than storing it. A fold outside of
    /// all loops, and a scan, are not compared, and are computed in place.
    fn is_cheaper_in_place(&self, frame: usize, depth: usize, fold: &Fold) -> bool {
        // In place, a scan is computed once per coordinate, and a fold outside of all loops once,
        // as in a query of its own.
        if depth == 0 || fold.is_scan() {
            return true;
        }
        let prefix = &self.frames[frame].full[..depth];
        let fraction = |t: &Target| visited_fraction(self.facts, t, self.sizes, &|f| prefix.contains(f));
        let reach = either(self.outputs.iter().map(fraction));
        let mut conjunct_reads = Vec::new();
        if let ([target], true) = (self.outputs, self.facts.may_measure()) {
            conjuncts(self.facts, &target.value, &mut conjunct_reads);
        }
        let marginals = self.facts.joint_profile(&conjunct_reads, self.sizes, &|f| prefix.contains(f)).marginals;
        let inside = (prefix, &SupportProfile { fraction: reach, marginals });
        let inline = inline_work(self.facts, fold, self.sizes, self.pins, inside).cost();
        let mut all: Vec<&Fold> = Vec::new();
        for target in self.outputs {
            target.value.each_fold(&mut |_, f| {
                if !all.contains(&f) {
                    all.push(f);
                }
            });
        }
        let equal_folds = count_equal_folds(fold, &all, self.sizes, self.facts.mode()) as f64;
        inline.is_finite() && inline <= stored_work(self.facts, fold, self.sizes, self.pins).cost() / equal_folds
    }

    /// Schedules the fold inside the outermost `depth` loops of the innermost frame; returns the
    /// name of its temporary.
    fn schedule(&mut self, fold: &Fold, depth: usize, start_depth: usize) -> Alias {
        let frame = self.frames.last().expect("the frame of the nest is always open");
        let prefix = frame.full[..depth].to_vec();
        let ordered = order_fold(self.facts, fold, self.sizes, self.pins, (&prefix, &SupportProfile::even(1.0)));
        let order = ordered.map_or_else(|| fold.fields.clone(), |o| o.order);
        let full = prefix.iter().chain(&order).cloned().collect();
        self.frames.push(LoopFrame { start: depth, full, passes: Vec::new() });
        let arg = self.rewrite(&fold.arg);
        let inner = self.frames.pop().expect("the frame was pushed above").passes;
        let fold = Fold { arg, ..fold.clone() };
        let canonical = canonicalize(&fold, self.sizes, self.facts.mode());
        let mode = self.facts.mode();
        let frame = self.frames.last_mut().expect("the frame of the nest is always open");
        for (name, other) in frame.passes.iter().filter(|p| p.depth == depth).flat_map(|p| &p.folds) {
            if canonicalize(other, self.sizes, mode) == canonical {
                return name.clone();
            }
        }
        let name = self.names.fresh(&Alias::from("t"));
        let frame = self.frames.last_mut().expect("the frame of the nest is always open");
        let regroup = is_regroupable(&fold.op, &fold.arg.dtype(), mode) || fold.fields.len() <= 1;
        let later = frame.passes.iter().rposition(|p| reads_pass(&fold.arg, p)).map_or(0, |k| k + 1);
        for pass in &mut frame.passes[later..] {
            let is_compatible = (pass.depth, pass.start_depth) == (depth, start_depth)
                && pass.temporaries.is_empty()
                && inner.is_empty()
                && regroup;
            if let Some(renamed) = is_compatible.then(|| rename_for_pass(pass, &fold, self.sizes, mode)).flatten() {
                pass.folds.push((name.clone(), renamed));
                return name;
            }
        }
        frame.passes.push(FoldPass {
            depth,
            start_depth,
            order,
            temporaries: inner,
            folds: vec![(name.clone(), fold)],
        });
        name
    }
}

/// Returns the number of loops around the initialization of a fold that is computed inside `depth`
/// loops.
fn start_depth(order: &[Field], fold: &Fold, depth: usize) -> usize {
    order[..depth].iter().position(|f| fold.along.contains(f)).unwrap_or(depth)
}

/// Returns whether the term reads a temporary of the pass.
fn reads_pass(term: &Term, pass: &FoldPass) -> bool {
    match term.node() {
        Node::Temporary(name, _) => {
            pass.folds.iter().any(|(n, _)| n == name) || pass.temporaries.iter().any(|p| reads_pass(term, p))
        }
        _ => term.children().iter().any(|c| reads_pass(c, pass)),
    }
}

/// Rewrites the fold to the loops of a pass; `None` unless the pass reads the same tensors at the
/// same coordinates, in equal loops.
fn rename_for_pass(pass: &FoldPass, fold: &Fold, sizes: &Sizes, mode: redpoll_logic::FloatMode) -> Option<Fold> {
    let (_, first) = pass.folds.first()?;
    let (mut pass_reads, mut reads): (Vec<&Read>, Vec<&Read>) = (Vec::new(), Vec::new());
    first.arg.each_access(&mut |r| pass_reads.push(r));
    fold.arg.each_access(&mut |r| reads.push(r));
    let names = match_loops(&reads, &fold.fields, &pass_reads, &first.fields)?;
    let same = |f: &Field| names.get(f).is_none_or(|g| sizes.is_same_loop(f, g));
    if !fold.fields.iter().all(same) {
        return None;
    }
    let with = |f: &Field| ModeCoordinate::field(names.get(f).unwrap_or(f));
    let fields = fold.fields.iter().map(|f| names[f].clone()).collect();
    Some(Fold { arg: fold.arg.substitute(&with, mode), fields, ..fold.clone() })
}
