//! Profiles: the coordinates at which a term may differ from its fill, as a fraction and the
//! marginals of its fields.

use super::BoundFields;
use super::cache::{ModeOccupancy, TermFactor};
use super::marginal::{Marginal, MarginalKind, Throws, stored_marginal};
use super::order::{OrderCondition, comparison_fraction};
use crate::access::fit::storage_coordinates;
use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, Node, Read, Term};
use redpoll_logic::op::{Iteration, Op};
use redpoll_logic::statistics::{ModeSet, Question};
use redpoll_logic::{Alias, Field, Scalar};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Parameters of a profile: the sizes and bound fields, and the coordinates that count.
#[derive(Clone, Copy)]
pub(crate) struct ProfileQuery<'a> {
    pub(crate) sizes: &'a Sizes,
    pub(crate) bound: &'a BoundFields<'a>,
    pub(crate) kind: SupportKind,
}

/// The kind of coordinates that a profile counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SupportKind {
    /// Coordinates that a loop visits, including every coordinate of a full level.
    Visited,
    /// Coordinates under which an entry is stored.
    Stored,
}

/// The coordinates over the bound fields at which a term may differ from its fill.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SupportProfile {
    /// The number of these coordinates, as a fraction of all coordinates over the bound fields.
    pub(crate) fraction: f64,
    /// The marginals of fields; other fields are even.
    pub(crate) marginals: BTreeMap<Field, Marginal>,
}

impl SupportProfile {
    /// Returns an evenly spread profile.
    pub(crate) fn even(fraction: f64) -> SupportProfile {
        SupportProfile { fraction, marginals: BTreeMap::new() }
    }

    /// Returns the profile with the smaller fraction.
    pub(crate) fn rarer(self, other: SupportProfile) -> SupportProfile {
        if other.fraction < self.fraction { other } else { self }
    }

    /// Returns the union of profiles.
    fn union(parts: &[SupportProfile]) -> SupportProfile {
        let fraction = either(parts.iter().map(|p| p.fraction));
        let fields: BTreeSet<&Field> = parts.iter().flat_map(|p| p.marginals.keys()).collect();
        let of = |f: &Field| {
            MarginalKind::Sum(parts.iter().map(|p| (p.fraction.into(), p.marginals.get(f).cloned())).collect()).into()
        };
        let marginals = fields.into_iter().map(|f| (f.clone(), of(f))).collect();
        SupportProfile { fraction, marginals }
    }
}

impl Facts<'_> {
    /// Returns the profile of a term over the bound fields.
    pub(crate) fn profile(&self, term: &Term, query: ProfileQuery<'_>) -> SupportProfile {
        match term.node() {
            Node::Literal => SupportProfile::even(0.0),
            Node::Coordinate(_) => SupportProfile::even(1.0),
            _ => self.factor(term, query).profile.clone(),
        }
    }

    /// Returns a term as a factor of a conjunction.
    fn factor(&self, term: &Term, query: ProfileQuery<'_>) -> Rc<TermFactor> {
        let compute = || match term.node() {
            Node::Access(read) => self.access_factor(read, query),
            Node::Call(op, args) => TermFactor { profile: self.call_profile(op, args, term, query), access: None },
            Node::Fold(fold) | Node::Temporary(_, fold) => {
                TermFactor { profile: self.fold_profile(fold, query), access: None }
            }
            Node::Literal | Node::Coordinate(_) => TermFactor { profile: self.profile(term, query), access: None },
        };
        self.memo.estimates.factor(term, query, compute)
    }

    fn access_factor(&self, read: &Read, query: ProfileQuery<'_>) -> TermFactor {
        let coordinates =
            storage_coordinates(&read.coordinates, &read.ty.format, &read.ty.shape, query.sizes, self.mode());
        let profile = self.access_profile(read, &coordinates, query);
        let bound = coordinates.into_iter().enumerate().filter(|(_, at)| at.all_fields(query.bound));
        TermFactor { profile, access: Some((read.tensor.clone(), bound.collect())) }
    }

    fn access_profile(&self, read: &Read, coordinates: &[ModeCoordinate], query: ProfileQuery<'_>) -> SupportProfile {
        if read.outside.as_ref().is_some_and(|v| *v != read.ty.fill) {
            return SupportProfile::even(1.0);
        }
        let modes: ModeSet = (0..coordinates.len()).filter(|&k| coordinates[k].all_fields(query.bound)).collect();
        let compute = || self.occupancy(read, modes, query.kind);
        let ModeOccupancy { fraction, marginals: mode_marginals } =
            &*self.memo.estimates.occupancy(read, modes, query.kind, compute);
        let mut marginals: BTreeMap<Field, Vec<Marginal>> = BTreeMap::new();
        for (k, marginal) in mode_marginals {
            if let Some(field) = coordinates[*k].as_field() {
                marginals.entry(field.clone()).or_default().push(marginal.clone());
            }
        }
        // If a field subscripts several modes, an entry must have the field's coordinate in all of
        // them.
        self.joint(*fraction, marginals, &[*fraction])
    }

    fn occupancy(&self, read: &Read, modes: ModeSet, kind: SupportKind) -> ModeOccupancy {
        let format = &read.ty.format;
        let dimensions = format.storage_shape(&read.ty.shape);
        let coordinate_count: f64 = modes.iter().map(|k| dimensions[k] as f64).product();
        if coordinate_count == 0.0 {
            return ModeOccupancy { fraction: 0.0, marginals: Vec::new() };
        }
        let unique = |k: usize| format.levels[..k].iter().all(|l| l.unique);
        let runs = |k: usize| format.levels[..k].iter().any(|l| l.kind.traits().runs);
        let visited =
            |k: usize| kind == SupportKind::Visited || format.levels[..k].iter().all(|l| !l.kind.traits().full);
        let question = match modes.as_prefix() {
            Some(k) if !runs(k) && (unique(k) && visited(k) || k == dimensions.len()) => Question::Positions(k),
            _ => Question::Distinct(modes),
        };
        let fraction = (self.ask(&read.tensor, &read.ty, question).estimate / coordinate_count).clamp(0.0, 1.0);
        let marginal = |k| Some((k, self.marginal(&read.tensor, &read.ty, modes, k)?));
        ModeOccupancy { fraction, marginals: modes.iter().filter_map(marginal).collect() }
    }

    /// Returns the marginal of `mode` among the storage modes `of`; `None` if the marginal is even
    /// or unknown.
    fn marginal(&self, tensor: &Alias, ty: &redpoll_logic::TensorType, of: ModeSet, mode: usize) -> Option<Marginal> {
        match self.written_marginals(tensor) {
            Some(marginals) => marginals.get(mode).filter(|_| of.len() == ty.format.levels.len())?.clone(),
            None => stored_marginal(tensor, ty, of, mode)
                .filter(|marginal| self.may_measure() && self.has_weights(marginal)),
        }
    }

    /// Returns the profile of a conjunction of terms. `fraction` is the fraction of the conjunction
    /// if all terms were even, `marginals` has the terms' marginals of each field, and `fractions`
    /// has the fractions of the terms.
    fn joint(&self, fraction: f64, marginals: BTreeMap<Field, Vec<Marginal>>, fractions: &[f64]) -> SupportProfile {
        let mut fraction = fraction;
        let mut product = BTreeMap::new();
        for (field, mut of) in marginals {
            fraction *= self.overlap(&of);
            match of.len() {
                0 => {}
                1 => drop(product.insert(field, of.remove(0))),
                _ => drop(product.insert(field, MarginalKind::Product(of).into())),
            }
        }
        let smallest = fractions.iter().copied().fold(1.0, f64::min);
        SupportProfile { fraction: fraction.min(smallest), marginals: product }
    }

    fn call_profile(&self, op: &Op, args: &[Term], term: &Term, query: ProfileQuery<'_>) -> SupportProfile {
        let fill = term.fill();
        if let ("ifelse", [condition, x, y]) = (op.name(), args) {
            let [is_true, is_false] = self.truth_profiles(condition, query);
            let branch = |branch: &Term, reached: SupportProfile| match branch.fill() == fill {
                true => self.intersection([&reached, &self.profile(branch, query)]),
                false => reached,
            };
            return SupportProfile::union(&[branch(x, is_true), branch(y, is_false)]);
        }
        if let Op::User(user) = op
            && let (Some(set), Some(_)) = (user.iteration(), user.fills())
        {
            return self.set_profile(set, &args.iter().map(|a| self.profile(a, query)).collect::<Vec<_>>());
        }
        if let Some(fraction) = comparison_fraction(op, args, query) {
            return SupportProfile::even(if *fill == Scalar::Bool(true) { 1.0 - fraction } else { fraction });
        }
        if !self.deciding_args(term).is_empty() {
            let mut conjunction = Conjunction::default();
            self.collect_conditions(term, query, &mut conjunction);
            let factors = without_implied(&conjunction.factors);
            let all = self.intersection(factors.into_iter().map(|f| &f.profile));
            return conjunction.orders.iter().fold(all, |profile, order| self.restrict_to_order(profile, order));
        }
        let mut distinct: Vec<&Term> = Vec::new();
        args.iter().for_each(|a| {
            if !distinct.contains(&a) {
                distinct.push(a);
            }
        });
        let parts: Vec<SupportProfile> = distinct.into_iter().map(|a| self.profile(a, query)).collect();
        SupportProfile::union(&parts)
    }

    /// Returns two profiles: of the coordinates at which a condition may be true, and of those at
    /// which it may be false.
    pub(super) fn truth_profiles(&self, condition: &Term, query: ProfileQuery<'_>) -> [SupportProfile; 2] {
        if let Node::Call(op, args) = condition.node()
            && let Some(fraction) = comparison_fraction(op, args, query)
        {
            return [fraction, 1.0 - fraction].map(SupportProfile::even);
        }
        let (changed, any) = (self.profile(condition, query), SupportProfile::even(1.0));
        if *condition.fill() == Scalar::Bool(true) { [any, changed] } else { [changed, any] }
    }

    /// Collects the conditions that must all be true for a term to differ from its fill.
    fn collect_conditions(&self, term: &Term, query: ProfileQuery<'_>, found: &mut Conjunction) {
        if let Some(order) = self.order_condition(term, query) {
            return found.orders.push(order);
        }
        if let Node::Call(_, args) = term.node() {
            let deciding = self.deciding_args(term);
            if !deciding.is_empty() {
                return deciding.iter().for_each(|&k| self.collect_conditions(&args[k], query, found));
            }
        }
        found.factors.push(self.factor(term, query));
    }

    /// Returns the intersection of profiles.
    pub(crate) fn intersection<'p>(&self, parts: impl IntoIterator<Item = &'p SupportProfile>) -> SupportProfile {
        let mut fractions: Vec<f64> = Vec::new();
        let mut marginals: BTreeMap<Field, Vec<Marginal>> = BTreeMap::new();
        for part in parts {
            fractions.push(part.fraction);
            for (field, marginal) in &part.marginals {
                marginals.entry(field.clone()).or_default().push(marginal.clone());
            }
        }
        self.joint(fractions.iter().product(), marginals, &fractions)
    }

    /// Returns the profile of a set in the iteration of a user-defined operator, given the profiles
    /// of the arguments.
    fn set_profile(&self, set: &Iteration, args: &[SupportProfile]) -> SupportProfile {
        match set {
            Iteration::Arg(k) => args.get(*k).cloned().unwrap_or(SupportProfile::even(1.0)),
            Iteration::Union(of) => {
                let parts: Vec<SupportProfile> = of.iter().map(|s| self.set_profile(s, args)).collect();
                SupportProfile::union(&parts)
            }
            Iteration::Intersection(of) => {
                let parts: Vec<SupportProfile> = of.iter().map(|s| self.set_profile(s, args)).collect();
                self.intersection(&parts)
            }
            Iteration::Complement(of) => SupportProfile::even(1.0 - self.set_profile(of, args).fraction),
            Iteration::All => SupportProfile::even(1.0),
        }
    }

    fn fold_profile(&self, fold: &Fold, query: ProfileQuery<'_>) -> SupportProfile {
        // A scan that differs from its fill at one coordinate may differ at all later ones.
        if fold.is_scan() {
            return SupportProfile::even(1.0);
        }
        let (retained, mut below): (Vec<Field>, Vec<Field>) = fold.free().into_iter().partition(|f| (query.bound)(f));
        below.extend(fold.fields.iter().cloned());
        self.projected_profile(fold.fill_source(), query.sizes, &retained, below)
    }

    /// Returns the profile of the coordinates over the fields `retained` under which a term may
    /// differ from its fill for some coordinates of the fields `below`.
    pub(super) fn projected_profile(
        &self,
        term: &Term,
        sizes: &Sizes,
        retained: &[Field],
        mut below: Vec<Field>,
    ) -> SupportProfile {
        let kind = SupportKind::Stored;
        let outside = self.profile(term, ProfileQuery { sizes, bound: &|f| retained.contains(f), kind });
        // A field that only one access mentions, alone in its coordinate, needs no projection: the
        // statistics of its tensor count only coordinates with stored entries below them.
        let summary = self.memo.estimates.summary(term, self.mode());
        below.retain(|f| summary.mentions.get(f).is_some_and(|count| *count > 1));
        if below.is_empty() {
            return outside;
        }
        let bound = |f: &Field| retained.contains(f) || below.contains(f);
        let full = self.profile(term, ProfileQuery { sizes, bound: &bound, kind });
        let mut found = project(self, full, sizes, &below, retained);
        if let Some(pairs) = self.connected_coordinates(term, sizes, retained) {
            let coordinate_count: f64 = retained.iter().map(|f| sizes.of(f) as f64).product();
            found.fraction = (pairs / coordinate_count).min(1.0);
        }
        outside.rarer(found)
    }
}

/// Projects a profile to the fields `retained`. The result counts a coordinate once if there is an
/// entry at any coordinates of the fields `below`.
fn project(facts: &Facts, full: SupportProfile, sizes: &Sizes, below: &[Field], retained: &[Field]) -> SupportProfile {
    let coordinate_count: f64 = below.iter().map(|f| sizes.of(f) as f64).product();
    let throws = Throws::new(coordinate_count, full.fraction);
    let retained = |(f, _): &(Field, Marginal)| retained.contains(f);
    let (fields, marginals): (Vec<Field>, Vec<Marginal>) = full.marginals.into_iter().filter(retained).unzip();
    let fraction =
        if marginals.is_empty() { throws.hit_probability(1.0) } else { facts.hit_fraction(throws, &marginals) };
    let hit = |k: usize| {
        let others = marginals.iter().enumerate().filter(|(m, _)| *m != k).map(|(_, m)| m.clone()).collect();
        MarginalKind::Hit { throws, own: marginals[k].clone(), others }.into()
    };
    let marginals = fields.into_iter().enumerate().map(|(k, f)| (f, hit(k))).collect();
    SupportProfile { fraction, marginals }
}

/// Removes factors that others imply: an entry in some modes of a tensor implies an entry in each
/// subset of these modes.
fn without_implied(factors: &[Rc<TermFactor>]) -> Vec<&TermFactor> {
    let implied = |k: usize| {
        let Some((tensor, modes)) = &factors[k].access else { return false };
        let implies = |(m, other): (usize, &Rc<TermFactor>)| {
            let Some((of, other_modes)) = &other.access else { return false };
            let is_subset = of == tensor && m != k && modes.iter().all(|mode| other_modes.contains(mode));
            is_subset && (other_modes.len() > modes.len() || m < k)
        };
        factors.iter().enumerate().any(implies)
    };
    (0..factors.len()).filter(|k| !implied(*k)).map(|k| &*factors[k]).collect()
}

/// Conditions that must all be true.
#[derive(Default)]
struct Conjunction {
    /// Terms that must differ from their fills.
    factors: Vec<Rc<TermFactor>>,
    orders: Vec<OrderCondition>,
}

/// Returns the fraction of the union of independent parts.
pub(crate) fn either(parts: impl IntoIterator<Item = f64>) -> f64 {
    1.0 - parts.into_iter().map(|p| 1.0 - p).product::<f64>()
}
