//! Estimates: how much of the places of a term differs from its fill.
//!
//! `profile` has the estimates, `marginal` how skew enters them, `order` cuts and `path` structure, `most` the bounds, which are
//! never exceeded.

mod known;
mod marginal;
mod most;
mod order;
mod path;
mod profile;

pub(crate) use known::Known;
pub(crate) use marginal::{Marginal, Marginals, Pair, Throws};
pub(crate) use order::difference;
pub(crate) use profile::{Profile, either};

use profile::{Over, Sense};

use crate::context::Context;
use crate::sizes::Sizes;
use crate::term::{Node, Read, Target, Term};
use redpoll_logic::Field;
use std::rc::Rc;

/// Which fields are bound.
pub(crate) type Bound<'a> = dyn Fn(&Field) -> bool + 'a;

impl Context<'_> {
    /// The estimated fraction of the places over the bound fields below which the term may differ from its fill.
    pub(crate) fn support(&self, term: &Term, sizes: &Sizes, bound: &Bound) -> f64 {
        self.profile(term, Over { sizes, bound, sense: Sense::Visited }).fraction
    }

    /// The places over the bound fields at which all of some reads have something.
    pub(crate) fn met_by(&self, reads: &[&Read], sizes: &Sizes, bound: &Bound) -> Profile {
        let first = |k: &usize| !reads[..*k].contains(&reads[*k]);
        let own = |k: usize| self.profile_of(reads[k], sizes, bound);
        self.intersection(&(0..reads.len()).filter(first).map(own).collect::<Vec<_>>())
    }

    /// How many coordinates of a field a read has on average below the places over the bound fields that are come to, if it
    /// is known how its own are spread: fibers with more coordinates are come to more often.
    pub(crate) fn fiber_met(
        &self,
        read: &Read,
        met: &Profile,
        sizes: &Sizes,
        (bound, field): (&Bound, &Field),
    ) -> Option<f64> {
        let all = self.profile_of(read, sizes, &|f| f == field || bound(f));
        let both = met.marginals.iter().filter_map(|(f, of)| Some([of.clone(), all.marginals.get(f)?.clone()]));
        let bias = both.map(|both| self.overlap(&both)).reduce(|a, b| a * b)?;
        Some(bias * all.fraction * sizes.of(field) as f64)
    }

    fn profile_of(&self, read: &Read, sizes: &Sizes, bound: &Bound) -> Profile {
        self.profile(&Term::access(read.clone()), Over { sizes, bound, sense: Sense::Visited })
    }

    /// The estimated fraction of the places over the bound fields at which a comparison of coordinates holds; `None` where
    /// nothing is known of it, or fields of it are not bound.
    pub(crate) fn held(&self, comparison: &Term, sizes: &Sizes, bound: &Bound) -> Option<f64> {
        let Node::Call(op, args) = comparison.node() else { return None };
        order::compared(op, args, Over { sizes, bound, sense: Sense::Visited })
    }

    /// The estimated fraction of the places over all fields of a term where it differs from its fill.
    pub(crate) fn filled(&self, term: &Term, sizes: &Sizes) -> f64 {
        self.profile(term, Over { sizes, bound: &|_| true, sense: Sense::Filled }).fraction
    }

    /// The fraction of the places over the bound fields where an output is written.
    pub(crate) fn written(&self, target: &Target, sizes: &Sizes, bound: &Bound) -> f64 {
        if self.skips(target) { self.support(&target.value, sizes, bound) } else { 1.0 }
    }

    /// Whether nothing is written where the value is its fill.
    pub(crate) fn skips(&self, target: &Target) -> bool {
        match &target.fold {
            Some((op, _)) => op.is_identity(target.value.fill(), &target.value.dtype(), 1, self.mode()),
            None => *target.value.fill() == target.fill,
        }
    }

    /// The positions of the arguments of a call whose fill alone decides that the result is its fill.
    pub(crate) fn deciding(&self, term: &Term) -> Rc<[usize]> {
        self.memo.known.about(term, self.mode()).deciding.clone()
    }

    /// Where something is written to an output, over some of its fields.
    pub(crate) fn output_profile(&self, target: &Target, sizes: &Sizes, fields: &[Field]) -> Profile {
        if !self.skips(target) {
            return Profile::even(1.0);
        }
        let below = target.loops().into_iter().filter(|f| !fields.contains(f)).collect();
        self.met_below(&target.value, sizes, fields, below)
    }

    /// The fraction of the places over some of an output's fields below which something is written.
    pub(crate) fn output_support(&self, target: &Target, sizes: &Sizes, fields: &[Field]) -> f64 {
        self.output_profile(target, sizes, fields).fraction
    }

    /// How many writes an output gets.
    pub(crate) fn writes(&self, target: &Target, sizes: &Sizes) -> f64 {
        let places: f64 = target.loops().iter().map(|f| sizes.of(f) as f64).product();
        places * self.written(target, sizes, &|_| true)
    }
}
