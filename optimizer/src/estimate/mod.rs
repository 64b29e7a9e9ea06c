//! Estimates: the fraction of a term's coordinates at which it differs from its fill.
//!
//! `profile` has the estimates, `marginal` adds skew, `order` comparisons and `path` structure;
//! `most` has upper bounds, which always hold.

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

/// Predicate that tells which fields are bound.
pub(crate) type Bound<'a> = dyn Fn(&Field) -> bool + 'a;

impl Context<'_> {
    /// Returns the estimated fraction of coordinates over the bound fields under which the term may
    /// differ from its fill.
    pub(crate) fn support(&self, term: &Term, sizes: &Sizes, bound: &Bound) -> f64 {
        self.profile(term, Over { sizes, bound, sense: Sense::Visited }).fraction
    }

    /// Returns the profile of the coordinates over the bound fields at which all reads may differ
    /// from their fills.
    pub(crate) fn met_by(&self, reads: &[&Read], sizes: &Sizes, bound: &Bound) -> Profile {
        let first = |k: &usize| !reads[..*k].contains(&reads[*k]);
        let own = |k: usize| self.profile_of(reads[k], sizes, bound);
        self.intersection(&(0..reads.len()).filter(first).map(own).collect::<Vec<_>>())
    }

    /// Returns the average number of coordinates of `field` in a read's fibers at the bound
    /// coordinates of `met`. `None` if their common marginals are not available. Longer fibers are
    /// reached more often.
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

    /// Returns the estimated fraction of coordinates over the bound fields at which a comparison of
    /// coordinates is true. `None` if there is no estimate, or if some of its fields are not bound.
    pub(crate) fn held(&self, comparison: &Term, sizes: &Sizes, bound: &Bound) -> Option<f64> {
        let Node::Call(op, args) = comparison.node() else { return None };
        order::compared(op, args, Over { sizes, bound, sense: Sense::Visited })
    }

    /// Returns the estimated fraction of coordinates over all fields of a term at which it differs
    /// from its fill.
    pub(crate) fn filled(&self, term: &Term, sizes: &Sizes) -> f64 {
        self.profile(term, Over { sizes, bound: &|_| true, sense: Sense::Filled }).fraction
    }

    /// Returns the fraction of coordinates over the bound fields at which an output is written.
    pub(crate) fn written(&self, target: &Target, sizes: &Sizes, bound: &Bound) -> f64 {
        if self.skips(target) { self.support(&target.value, sizes, bound) } else { 1.0 }
    }

    /// Returns whether nothing is written where the value is its fill.
    pub(crate) fn skips(&self, target: &Target) -> bool {
        match &target.fold {
            Some((op, _)) => op.is_identity(target.value.fill(), &target.value.dtype(), 1, self.mode()),
            None => *target.value.fill() == target.fill,
        }
    }

    /// Returns the indices of the arguments whose fill alone makes the call return its fill.
    pub(crate) fn deciding(&self, term: &Term) -> Rc<[usize]> {
        self.memo.known.about(term, self.mode()).deciding.clone()
    }

    /// Returns the profile of an output's writes over some of its fields.
    pub(crate) fn output_profile(&self, target: &Target, sizes: &Sizes, fields: &[Field]) -> Profile {
        if !self.skips(target) {
            return Profile::even(1.0);
        }
        let below = target.loops().into_iter().filter(|f| !fields.contains(f)).collect();
        self.met_below(&target.value, sizes, fields, below)
    }

    /// Returns the fraction of coordinates over some of an output's fields under which something is
    /// written.
    pub(crate) fn output_support(&self, target: &Target, sizes: &Sizes, fields: &[Field]) -> f64 {
        self.output_profile(target, sizes, fields).fraction
    }

    /// Returns the number of writes to an output.
    pub(crate) fn writes(&self, target: &Target, sizes: &Sizes) -> f64 {
        let places: f64 = target.loops().iter().map(|f| sizes.of(f) as f64).product();
        places * self.written(target, sizes, &|_| true)
    }
}
