//! Estimates: how much of the places of a term differs from its fill.

use crate::context::Context;
use crate::fit::storage_at;
use crate::sizes::Sizes;
use crate::term::{At, Fold, Node, Read, Target, Term};
use redpoll_logic::op::{Iteration, Op};
use redpoll_logic::statistics::{ModeSet, Question};
use redpoll_logic::{Field, FloatMode, Scalar};
use std::collections::BTreeSet;

/// Which fields are bound.
pub(crate) type Bound<'a> = dyn Fn(&Field) -> bool + 'a;

impl Context<'_> {
    /// The estimated fraction of the places over the bound fields below which the term may differ from its fill.
    pub(crate) fn support(&self, term: &Term, sizes: &Sizes, bound: &Bound) -> f64 {
        match term.node() {
            Node::Literal => 0.0,
            Node::Coordinate(_) => 1.0,
            Node::Access(read) => self.access_support(read, sizes, bound),
            Node::Call(op, args) => self.call_support(op, args, term.fill(), sizes, bound),
            Node::Fold(fold) | Node::Temporary(_, fold) => self.fold_support(fold, sizes, bound),
        }
    }

    fn access_support(&self, read: &Read, sizes: &Sizes, bound: &Bound) -> f64 {
        if read.outside.as_ref().is_some_and(|v| *v != read.ty.fill) {
            return 1.0;
        }
        let format = &read.ty.format;
        let spots = storage_at(&read.at, format, &read.ty.shape, sizes, self.mode());
        let known = |at: &At| at.fields().iter().all(bound);
        let modes: ModeSet = (0..spots.len()).filter(|&k| known(&spots[k])).collect();
        let dimensions = format.storage_shape(&read.ty.shape);
        let places: f64 = modes.iter().map(|k| dimensions[k] as f64).product();
        if places == 0.0 {
            return 0.0;
        }
        // Positions count runs; how many places those cover is not asked for.
        if modes.iter().any(|k| format.levels[k].kind.traits().runs) {
            return 1.0;
        }
        let question = modes.as_prefix().map_or(Question::Distinct(modes), Question::Positions);
        (self.ask(&read.tensor, &read.ty, question).estimate / places).clamp(0.0, 1.0)
    }

    fn call_support(&self, op: &Op, args: &[Term], fill: &Scalar, sizes: &Sizes, bound: &Bound) -> f64 {
        if let ("ifelse", [condition, x, y]) = (op.name(), args)
            && x.fill() == y.fill()
        {
            // One of both is met wherever the condition is not its fill, the other one everywhere.
            let [asked, x, y] = [condition, x, y].map(|t| self.support(t, sizes, bound));
            return match *condition.fill() == Scalar::Bool(true) {
                true => either([x, asked * y]),
                false => either([asked * x, y]),
            };
        }
        if let Op::User(user) = op
            && let (Some(set), Some(_)) = (user.iteration(), user.fills())
        {
            return set_support(set, &args.iter().map(|a| self.support(a, sizes, bound)).collect::<Vec<_>>());
        }
        let joined = deciding(op, args, fill, self.mode());
        if joined.is_empty() {
            either(args.iter().map(|a| self.support(a, sizes, bound)))
        } else {
            joined.iter().map(|&k| self.support(&args[k], sizes, bound)).product()
        }
    }

    fn fold_support(&self, fold: &Fold, sizes: &Sizes, bound: &Bound) -> f64 {
        // After the first place that differs all others may.
        if fold.is_scan() {
            return 1.0;
        }
        let outside = self.support(&fold.arg, sizes, &|f| bound(f) && !fold.fields.contains(f));
        let places: f64 = fold.fields.iter().map(|f| sizes.of(f) as f64).product();
        let full = self.support(&fold.arg, sizes, &|_| true);
        outside.min(1.0 - (1.0 - full).powf(places))
    }

    /// The fraction of the places over the bound fields where an output is written.
    pub(crate) fn written(&self, target: &Target, sizes: &Sizes, bound: &Bound) -> f64 {
        let skipped = match &target.fold {
            Some((op, _)) => op.is_identity(target.value.fill(), &target.value.dtype(), 1, self.mode()),
            None => *target.value.fill() == target.fill,
        };
        if skipped { self.support(&target.value, sizes, bound) } else { 1.0 }
    }

    /// The fraction of the places over some of an output's fields below which something is written.
    pub(crate) fn output_support(&self, target: &Target, sizes: &Sizes, fields: &BTreeSet<Field>) -> f64 {
        let full = self.written(target, sizes, &|_| true);
        let partial = self.written(target, sizes, &|f| fields.contains(f));
        let loops = target.loops();
        let below = loops.iter().filter(|f| !fields.contains(*f)).map(|f| sizes.of(f) as f64);
        partial.min(1.0 - (1.0 - full).powf(below.product()))
    }

    /// How many writes an output gets.
    pub(crate) fn writes(&self, target: &Target, sizes: &Sizes) -> f64 {
        let places: f64 = target.loops().iter().map(|f| sizes.of(f) as f64).product();
        places * self.written(target, sizes, &|_| true)
    }
}

/// The positions of the arguments whose fill alone decides that the result is its fill.
pub(crate) fn deciding(op: &Op, args: &[Term], fill: &Scalar, mode: FloatMode) -> Vec<usize> {
    let Ok(signature) = op.signature(&args.iter().map(Term::dtype).collect::<Vec<_>>()) else { return Vec::new() };
    let decides = |k: &usize| {
        let known: Vec<Option<Scalar>> = (0..args.len()).map(|m| (m == *k).then(|| args[m].fill().clone())).collect();
        op.annihilates(&signature, &known, mode).as_ref() == Some(fill)
    };
    (0..args.len()).filter(decides).collect()
}

/// The fraction of the places that are in a set of an iteration algebra, given those of the arguments.
fn set_support(set: &Iteration, args: &[f64]) -> f64 {
    match set {
        Iteration::Arg(k) => args.get(*k).copied().unwrap_or(1.0),
        Iteration::Union(of) => either(of.iter().map(|s| set_support(s, args))),
        Iteration::Intersection(of) => of.iter().map(|s| set_support(s, args)).product(),
        Iteration::Complement(of) => 1.0 - set_support(of, args),
        Iteration::All => 1.0,
    }
}

/// The fraction of the union of independent parts.
pub(crate) fn either(parts: impl IntoIterator<Item = f64>) -> f64 {
    1.0 - parts.into_iter().map(|p| 1.0 - p).product::<f64>()
}
