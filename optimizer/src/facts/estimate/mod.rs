//! Estimates: the fraction of a term's coordinates at which the term differs from its fill.
//!
//! `profile` computes the estimates. `marginal` refines them for skewed entries, `order` for
//! comparisons of coordinates, and `path` for products along tensors with two modes. `upper_bound`
//! computes upper bounds, which always hold. `cache` keeps the results for terms.

mod cache;
mod marginal;
mod order;
mod path;
mod profile;
mod upper_bound;

pub(crate) use cache::EstimateCache;
pub(crate) use marginal::{FieldPair, Marginal, MarginalCache, Throws};
pub(crate) use order::difference;
pub(crate) use profile::{SupportProfile, either};

use profile::{ProfileQuery, SupportKind};

use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{Node, Read, Target, Term};
use redpoll_logic::Field;
use std::rc::Rc;

/// Predicate that says which fields are bound.
pub(crate) type BoundFields<'a> = dyn Fn(&Field) -> bool + 'a;

impl Facts<'_> {
    /// Returns the estimated fraction of coordinates over the bound fields under which the term may
    /// differ from its fill.
    pub(crate) fn support(&self, term: &Term, sizes: &Sizes, bound: &BoundFields) -> f64 {
        self.profile(term, ProfileQuery { sizes, bound, kind: SupportKind::Visited }).fraction
    }

    /// Returns the profile of the coordinates over the bound fields at which all reads may differ
    /// from their fills.
    pub(crate) fn joint_profile(&self, reads: &[&Read], sizes: &Sizes, bound: &BoundFields) -> SupportProfile {
        let first = |k: &usize| !reads[..*k].contains(&reads[*k]);
        let own = |k: usize| self.profile_of(reads[k], sizes, bound);
        self.intersection(&(0..reads.len()).filter(first).map(own).collect::<Vec<_>>())
    }

    /// Returns the average length, along `field`, of the fibers of a read at the coordinates of
    /// `reached`. This average can exceed the average over all coordinates, because longer fibers
    /// are reached more often. `None` if the read and `reached` share no marginal.
    pub(crate) fn reached_fiber_length(
        &self,
        read: &Read,
        reached: &SupportProfile,
        sizes: &Sizes,
        (bound, field): (&BoundFields, &Field),
    ) -> Option<f64> {
        let all = self.profile_of(read, sizes, &|f| f == field || bound(f));
        let shared = reached.marginals.iter().filter_map(|(f, of)| Some([of.clone(), all.marginals.get(f)?.clone()]));
        let bias = shared.map(|pair| self.overlap(&pair)).reduce(|a, b| a * b)?;
        Some(bias * all.fraction * sizes.of(field) as f64)
    }

    fn profile_of(&self, read: &Read, sizes: &Sizes, bound: &BoundFields) -> SupportProfile {
        self.profile(&Term::access(read.clone()), ProfileQuery { sizes, bound, kind: SupportKind::Visited })
    }

    /// Returns the estimated fraction of coordinates over the bound fields at which a comparison of
    /// coordinates is true. `None` if there is no estimate, or if some fields of the comparison are
    /// not bound.
    pub(crate) fn true_fraction(&self, comparison: &Term, sizes: &Sizes, bound: &BoundFields) -> Option<f64> {
        let Node::Call(op, args) = comparison.node() else { return None };
        order::comparison_fraction(op, args, ProfileQuery { sizes, bound, kind: SupportKind::Visited })
    }

    /// Returns the estimated fractions of coordinates over the bound fields under which a condition
    /// may be true, and under which it may be false.
    pub(crate) fn truth_fractions(&self, condition: &Term, sizes: &Sizes, bound: &BoundFields) -> [f64; 2] {
        let query = ProfileQuery { sizes, bound, kind: SupportKind::Visited };
        self.truth_profiles(condition, query).map(|profile| profile.fraction)
    }

    /// Returns the estimated fraction of coordinates over all fields of a term at which the term
    /// differs from its fill.
    pub(crate) fn filled_fraction(&self, term: &Term, sizes: &Sizes) -> f64 {
        self.profile(term, ProfileQuery { sizes, bound: &|_| true, kind: SupportKind::Stored }).fraction
    }

    /// Returns the estimated fraction of coordinates over the bound fields under which an output is
    /// written.
    pub(crate) fn written_fraction(&self, target: &Target, sizes: &Sizes, bound: &BoundFields) -> f64 {
        if self.skips_fill(target) { self.support(&target.value, sizes, bound) } else { 1.0 }
    }

    /// Returns whether nothing is written where the output's value is the fill of the value.
    pub(crate) fn skips_fill(&self, target: &Target) -> bool {
        match &target.fold {
            Some((op, _)) => op.skips(target.value.fill(), &target.fill, &target.value.dtype(), self.mode()),
            None => *target.value.fill() == target.fill,
        }
    }

    /// Returns the indices of the arguments whose fill alone makes the call return its fill.
    pub(crate) fn deciding_args(&self, term: &Term) -> Rc<[usize]> {
        self.memo.estimates.summary(term, self.mode()).deciding.clone()
    }

    /// Returns the profile of an output's writes over some fields of the output.
    pub(crate) fn output_profile(&self, target: &Target, sizes: &Sizes, fields: &[Field]) -> SupportProfile {
        if !self.skips_fill(target) {
            return SupportProfile::even(1.0);
        }
        let below = target.loops().into_iter().filter(|f| !fields.contains(f)).collect();
        self.projected_profile(&target.value, sizes, fields, below)
    }

    /// Returns the fraction of coordinates over some of an output's fields under which something is
    /// written.
    pub(crate) fn output_support(&self, target: &Target, sizes: &Sizes, fields: &[Field]) -> f64 {
        self.output_profile(target, sizes, fields).fraction
    }

    /// Returns the estimated number of writes to an output.
    pub(crate) fn write_count(&self, target: &Target, sizes: &Sizes) -> f64 {
        let coordinate_count: f64 = target.loops().iter().map(|f| sizes.of(f) as f64).product();
        coordinate_count * self.written_fraction(target, sizes, &|_| true)
    }
}

/// Collects the accesses, outside of folds, for which the term has its fill wherever the access has
/// its fill.
pub(crate) fn conjuncts<'t>(facts: &Facts, term: &'t Term, found: &mut Vec<&'t Read>) {
    match term.node() {
        Node::Access(read) => found.push(read),
        Node::Call(_, args) if args.len() == 1 => conjuncts(facts, &args[0], found),
        Node::Call(_, args) => facts.deciding_args(term).iter().for_each(|k| conjuncts(facts, &args[*k], found)),
        _ => {}
    }
}
