//! Splits a nest into loop nests: folds inside a value become temporaries of the nest, or queries
//! of their own.
//!
//! Input: a nest and its loop order. Output: a [`Schedule`], or the folds that must be stored
//! because their fields are not the outermost loops, or because storing is cheaper. The caller
//! plans a query for the first of these folds, together with those that have the same loops, and
//! retries. Equal folds are computed once, and folds over the same loops at the same depth share
//! one pass.

use crate::context::Context;
use crate::estimate::{Profile, either};
use crate::intersection::conjuncts;
use crate::lookup::use_lookups;
use crate::loop_order::{inline_work, order_fold, place, sharing, stored_work};
use crate::pricing::visited;
use crate::sizes::Sizes;
use crate::term::{At, Fold, Nest, NestKind, Node, Read, Target, Term, regroups};
use crate::unify::{canonical, match_loops};
use redpoll_logic::{Alias, ComputedFills, Field};

/// A nest with a loop order in which each fold has its depth.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) order: Vec<Field>,
    pub(crate) temporaries: Vec<Pass>,
    pub(crate) outputs: Vec<Target>,
    pub(crate) sizes: Sizes,
    pub(crate) kind: NestKind,
}

/// Folds that are computed in one pass inside the outermost `depth` loops.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    /// Number of outermost loops of the nest around the pass.
    pub(crate) depth: usize,
    /// Number of loops outside of the folds' start; less than `depth` for scans.
    pub(crate) since: usize,
    pub(crate) order: Vec<Field>,
    pub(crate) temporaries: Vec<Pass>,
    pub(crate) folds: Vec<(Alias, Fold)>,
}

/// Returns the nest that stores a fold. The fill of its tensor is the fold's initial value.
pub(crate) fn fold_nest(cx: &Context, fold: &Fold, alias: &Alias, sizes: &Sizes, pins: &[Vec<Field>]) -> Nest {
    let free: Vec<Field> = fold.free().into_iter().collect();
    // A term stored for its own sake drops entries that are computed as fill.
    let stores = fold.is_stored() && *fold.arg.fill() == fold.init;
    let computed = if stores { ComputedFills::Drop } else { ComputedFills::Keep };
    let (folded, value) = match fold.is_scan() {
        true => (None, Term::fold(fold.clone(), fold.init.clone(), cx.mode())),
        false if stores => (None, fold.arg.clone()),
        false => (Some((fold.op.clone(), fold.fields.clone())), fold.arg.clone()),
    };
    let target = Target {
        alias: alias.clone(),
        shape: free.iter().map(|f| sizes.of(f)).collect(),
        fill: fold.init.clone(),
        at: free.iter().map(At::field).collect(),
        fold: folded,
        value,
        format: None,
        computed,
    };
    let nest = Nest { outputs: vec![target], sizes: sizes.clone(), pins: pins.to_vec(), kind: NestKind::Query };
    use_lookups(nest, cx.mode())
}

/// Moves a fold at the root of an output's value to the output, if the output's fill is the fold's
/// initial value.
pub(crate) fn root_folds(mut nest: Nest) -> Nest {
    for target in &mut nest.outputs {
        if let (None, Node::Fold(fold)) = (&target.fold, target.value.node())
            && fold.init == target.fill
            && !fold.is_scan()
            // Entries that equal the fill can only be dropped once the fold is complete.
            && target.computed == ComputedFills::Keep
        {
            let fold = fold.clone();
            target.fold = Some((fold.op, fold.fields));
            target.value = fold.arg;
        }
    }
    nest
}

/// Places the folds of a nest.
pub(crate) fn isolate(cx: &mut Context, nest: &Nest, order: &[Field]) -> Result<Schedule, Vec<Term>> {
    let frame = Frame { start: 0, full: order.to_vec(), passes: Vec::new() };
    let (sizes, pins) = (&nest.sizes, &nest.pins[..]);
    let mut placer = Placer { cx, sizes, pins, outputs: &nest.outputs, frames: vec![frame], stored: Vec::new() };
    let mut outputs = Vec::new();
    for target in &nest.outputs {
        let value = placer.rewrite(&target.value);
        let places = target.at.iter().map(|at| match at {
            At::Value(t) => At::from_value(placer.rewrite(t)),
            At::Subscript(_) => at.clone(),
        });
        let at = places.collect();
        outputs.push(Target { value, at, ..target.clone() });
    }
    if !placer.stored.is_empty() {
        return Err(placer.stored);
    }
    let temporaries = placer.frames.pop().map(|f| f.passes).unwrap_or_default();
    Ok(Schedule { order: order.to_vec(), temporaries, outputs, sizes: nest.sizes.clone(), kind: nest.kind })
}

/// The open loops around a term: those of the nest, or of a pass and the loops around it.
struct Frame {
    start: usize,
    /// All loops from the outermost of the nest on.
    full: Vec<Field>,
    passes: Vec<Pass>,
}

struct Placer<'p, 'c> {
    cx: &'p mut Context<'c>,
    sizes: &'p Sizes,
    pins: &'p [Vec<Field>],
    outputs: &'p [Target],
    frames: Vec<Frame>,
    stored: Vec<Term>,
}

impl Placer<'_, '_> {
    /// Replaces the folds of a term by temporaries.
    fn rewrite(&mut self, term: &Term) -> Term {
        let mode = self.cx.mode();
        term.replace(
            &mut |t| match t.node() {
                Node::Fold(fold) => Some(self.place(t, fold)),
                _ => None,
            },
            mode,
        )
    }

    fn place(&mut self, term: &Term, fold: &Fold) -> Term {
        let free = fold.free();
        let found = self.frames.iter().enumerate().find_map(|(k, frame)| {
            let depth = place(&frame.full, fold, &free)?;
            let since = since(&frame.full, fold, depth);
            (since >= frame.start).then_some((k, depth, since))
        });
        let Some((frame, depth, since)) = found.filter(|(k, depth, _)| self.pays(*k, *depth, fold)) else {
            if !self.stored.contains(term) {
                self.stored.push(term.clone());
            }
            return term.clone();
        };
        let inside = self.frames.split_off(frame + 1);
        let name = self.schedule(fold, depth, since);
        self.frames.extend(inside);
        Term::temporary(name, fold.clone(), term.fill().clone())
    }

    /// Returns whether computing the fold in place costs no more than storing it.
    fn pays(&self, frame: usize, depth: usize, fold: &Fold) -> bool {
        // A scan in place is computed once per coordinate, as in a query of its own.
        if depth == 0 || fold.is_scan() {
            return true;
        }
        let prefix = &self.frames[frame].full[..depth];
        let visited = |t: &Target| visited(self.cx, t, self.sizes, &|f| prefix.contains(f));
        let reach = either(self.outputs.iter().map(visited));
        let mut joined = Vec::new();
        if let ([target], true) = (self.outputs, self.cx.measures()) {
            conjuncts(self.cx, &target.value, &mut joined);
        }
        let marginals = self.cx.met_by(&joined, self.sizes, &|f| prefix.contains(f)).marginals;
        let inside = (prefix, &Profile { fraction: reach, marginals });
        let inline = inline_work(self.cx, fold, self.sizes, self.pins, inside).cost();
        let mut all: Vec<&Fold> = Vec::new();
        for target in self.outputs {
            target.value.each_fold(&mut |_, f| {
                if !all.contains(&f) {
                    all.push(f);
                }
            });
        }
        let sharing = sharing(fold, &all, self.sizes, self.cx.mode()) as f64;
        inline.is_finite() && inline <= stored_work(self.cx, fold, self.sizes, self.pins).cost() / sharing
    }

    /// Schedules the fold inside the outermost `depth` loops of the innermost frame; returns its
    /// name.
    fn schedule(&mut self, fold: &Fold, depth: usize, since: usize) -> Alias {
        let frame = self.frames.last().expect("the frame of the nest is always open");
        let prefix = frame.full[..depth].to_vec();
        let ordered = order_fold(self.cx, fold, self.sizes, self.pins, (&prefix, &Profile::even(1.0)));
        let order = ordered.map_or_else(|| fold.fields.clone(), |o| o.order);
        let full = prefix.iter().chain(&order).cloned().collect();
        self.frames.push(Frame { start: depth, full, passes: Vec::new() });
        let arg = self.rewrite(&fold.arg);
        let inner = self.frames.pop().expect("it was just pushed").passes;
        let fold = Fold { arg, ..fold.clone() };
        let like = canonical(&fold, self.cx.mode());
        let mode = self.cx.mode();
        let frame = self.frames.last_mut().expect("the frame of the nest is always open");
        for (name, known) in frame.passes.iter().filter(|p| p.depth == depth).flat_map(|p| &p.folds) {
            if canonical(known, mode) == like {
                return name.clone();
            }
        }
        let name = self.cx.fresh(&Alias::from("t"));
        let frame = self.frames.last_mut().expect("the frame of the nest is always open");
        let regroup = regroups(&fold.op, &fold.arg.dtype(), mode) || fold.fields.len() <= 1;
        let later = frame.passes.iter().rposition(|p| depends(&fold.arg, p)).map_or(0, |k| k + 1);
        for pass in &mut frame.passes[later..] {
            let alike = (pass.depth, pass.since) == (depth, since)
                && pass.temporaries.is_empty()
                && inner.is_empty()
                && regroup;
            if let Some(renamed) = alike.then(|| join(pass, &fold, self.sizes, mode)).flatten() {
                pass.folds.push((name.clone(), renamed));
                return name;
            }
        }
        frame.passes.push(Pass { depth, since, order, temporaries: inner, folds: vec![(name.clone(), fold)] });
        name
    }
}

/// Returns the number of loops outside of the start of a fold inside `depth` loops.
fn since(order: &[Field], fold: &Fold, depth: usize) -> usize {
    order[..depth].iter().position(|f| fold.along.contains(f)).unwrap_or(depth)
}

/// Returns whether the term reads a temporary of the pass.
fn depends(term: &Term, pass: &Pass) -> bool {
    match term.node() {
        Node::Temporary(name, _) => {
            pass.folds.iter().any(|(n, _)| n == name) || pass.temporaries.iter().any(|p| depends(term, p))
        }
        _ => term.children().iter().any(|c| depends(c, pass)),
    }
}

/// Rewrites the fold to the loops of a pass that reads the same tensors at the same coordinates.
fn join(pass: &Pass, fold: &Fold, sizes: &Sizes, mode: redpoll_logic::FloatMode) -> Option<Fold> {
    let (_, first) = pass.folds.first()?;
    let (mut there, mut here): (Vec<&Read>, Vec<&Read>) = (Vec::new(), Vec::new());
    first.arg.each_access(&mut |r| there.push(r));
    fold.arg.each_access(&mut |r| here.push(r));
    let names = match_loops(&here, &fold.fields, &there, &first.fields)?;
    let same = |f: &Field| names.get(f).is_none_or(|g| sizes.alike(f, g));
    if !fold.fields.iter().all(same) {
        return None;
    }
    let with = |f: &Field| At::field(names.get(f).unwrap_or(f));
    let fields = fold.fields.iter().map(|f| names[f].clone()).collect();
    Some(Fold { arg: fold.arg.substitute(&with, mode), fields, ..fold.clone() })
}

/// Returns the coordinates at which a stored fold is read.
pub(crate) fn stored_read(nest: &Nest, fold: &Fold) -> Vec<At> {
    let free = fold.free();
    debug_assert_eq!(free.len(), nest.outputs[0].shape.len());
    free.iter().map(At::field).collect()
}
