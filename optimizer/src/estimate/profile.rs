//! Profiles: the coordinates at which a term may differ from its fill, as a fraction and the
//! marginals of its fields.

use super::Bound;
use super::known::{Factor, Occupied};
use super::marginal::{Marginal, Spread, Throws, stored};
use super::order::{Order, compared};
use crate::context::Context;
use crate::fit::storage_at;
use crate::sizes::Sizes;
use crate::term::{At, Fold, Node, Read, Term};
use redpoll_logic::op::{Iteration, Op};
use redpoll_logic::statistics::{ModeSet, Question};
use redpoll_logic::{Alias, Field, Scalar};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Parameters of a profile: the sizes and bound fields, and the sense in which coordinates count.
#[derive(Clone, Copy)]
pub(crate) struct Over<'a> {
    pub(crate) sizes: &'a Sizes,
    pub(crate) bound: &'a Bound<'a>,
    pub(crate) sense: Sense,
}

/// The coordinates over the bound fields that count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Sense {
    /// Coordinates that a loop visits: every coordinate of a full level.
    Visited,
    /// Coordinates with a stored entry underneath.
    Filled,
}

/// The coordinates over the bound fields at which a term may differ from its fill.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Profile {
    /// The fraction of the coordinates.
    pub(crate) fraction: f64,
    /// The marginals of fields; other fields are even.
    pub(crate) marginals: BTreeMap<Field, Marginal>,
}

impl Profile {
    /// Returns an evenly spread profile.
    pub(crate) fn even(fraction: f64) -> Profile {
        Profile { fraction, marginals: BTreeMap::new() }
    }

    /// Returns the profile with the smaller fraction.
    pub(crate) fn rarer(self, other: Profile) -> Profile {
        if other.fraction < self.fraction { other } else { self }
    }

    /// Returns the union of profiles.
    fn union(parts: &[Profile]) -> Profile {
        let fraction = either(parts.iter().map(|p| p.fraction));
        let fields: BTreeSet<&Field> = parts.iter().flat_map(|p| p.marginals.keys()).collect();
        let of = |f: &Field| {
            Spread::Sum(parts.iter().map(|p| (p.fraction.into(), p.marginals.get(f).cloned())).collect()).into()
        };
        let marginals = fields.into_iter().map(|f| (f.clone(), of(f))).collect();
        Profile { fraction, marginals }
    }
}

impl Context<'_> {
    /// Returns the profile of a term over the bound fields.
    pub(crate) fn profile(&self, term: &Term, over: Over<'_>) -> Profile {
        match term.node() {
            Node::Literal => Profile::even(0.0),
            Node::Coordinate(_) => Profile::even(1.0),
            _ => self.factor(term, over).profile.clone(),
        }
    }

    /// Returns a term as a factor of a conjunction.
    fn factor(&self, term: &Term, over: Over<'_>) -> Rc<Factor> {
        let compute = || match term.node() {
            Node::Access(read) => self.access_factor(read, over),
            Node::Call(op, args) => Factor { profile: self.call_profile(op, args, term, over), stored: None },
            Node::Fold(fold) | Node::Temporary(_, fold) => {
                Factor { profile: self.fold_profile(fold, over), stored: None }
            }
            Node::Literal | Node::Coordinate(_) => Factor { profile: self.profile(term, over), stored: None },
        };
        self.memo.known.factor(term, over, compute)
    }

    fn access_factor(&self, read: &Read, over: Over<'_>) -> Factor {
        let spots = storage_at(&read.at, &read.ty.format, &read.ty.shape, over.sizes, self.mode());
        let profile = self.access_profile(read, &spots, over);
        let known = spots.into_iter().enumerate().filter(|(_, at)| at.all_fields(over.bound));
        Factor { profile, stored: Some((read.tensor.clone(), known.collect())) }
    }

    fn access_profile(&self, read: &Read, spots: &[At], over: Over<'_>) -> Profile {
        if read.outside.as_ref().is_some_and(|v| *v != read.ty.fill) {
            return Profile::even(1.0);
        }
        let modes: ModeSet = (0..spots.len()).filter(|&k| spots[k].all_fields(over.bound)).collect();
        let compute = || self.occupied(read, modes, over.sense);
        let Occupied { fraction, spread } = &*self.memo.known.occupied(read, modes, over.sense, compute);
        let mut marginals: BTreeMap<Field, Vec<Marginal>> = BTreeMap::new();
        for (k, marginal) in spread {
            if let Some(field) = spots[*k].as_field() {
                marginals.entry(field.clone()).or_default().push(marginal.clone());
            }
        }
        // If a field subscripts several modes, all of them must have its coordinate.
        self.met(*fraction, marginals, &[*fraction])
    }

    fn occupied(&self, read: &Read, modes: ModeSet, sense: Sense) -> Occupied {
        let format = &read.ty.format;
        let dimensions = format.storage_shape(&read.ty.shape);
        let places: f64 = modes.iter().map(|k| dimensions[k] as f64).product();
        if places == 0.0 {
            return Occupied { fraction: 0.0, spread: Vec::new() };
        }
        let unique = |k: usize| format.levels[..k].iter().all(|l| l.unique);
        let runs = |k: usize| format.levels[..k].iter().any(|l| l.kind.traits().runs);
        let visited = |k: usize| sense == Sense::Visited || format.levels[..k].iter().all(|l| !l.kind.traits().full);
        let question = match modes.as_prefix() {
            Some(k) if !runs(k) && (unique(k) && visited(k) || k == dimensions.len()) => Question::Positions(k),
            _ => Question::Distinct(modes),
        };
        let fraction = (self.ask(&read.tensor, &read.ty, question).estimate / places).clamp(0.0, 1.0);
        let marginal = |k| Some((k, self.marginal(&read.tensor, &read.ty, modes, k)?));
        Occupied { fraction, spread: modes.iter().filter_map(marginal).collect() }
    }

    /// Returns the marginal of a storage mode among others.
    fn marginal(&self, tensor: &Alias, ty: &redpoll_logic::TensorType, of: ModeSet, mode: usize) -> Option<Marginal> {
        match self.written_marginals(tensor) {
            Some(marginals) => marginals.get(mode).filter(|_| of.len() == ty.format.levels.len())?.clone(),
            None => stored(tensor, ty, of, mode).filter(|marginal| self.measures() && self.is_known(marginal)),
        }
    }

    /// Returns the profile of a conjunction of terms: `fraction` is its size if all were even,
    /// `marginals` are those of each field, and `alone` are the terms' own fractions.
    fn met(&self, fraction: f64, marginals: BTreeMap<Field, Vec<Marginal>>, alone: &[f64]) -> Profile {
        let mut fraction = fraction;
        let mut product = BTreeMap::new();
        for (field, mut of) in marginals {
            fraction *= self.overlap(&of);
            match of.len() {
                0 => {}
                1 => drop(product.insert(field, of.remove(0))),
                _ => drop(product.insert(field, Spread::Product(of).into())),
            }
        }
        let least = alone.iter().copied().fold(1.0, f64::min);
        Profile { fraction: fraction.min(least), marginals: product }
    }

    fn call_profile(&self, op: &Op, args: &[Term], term: &Term, over: Over<'_>) -> Profile {
        let fill = term.fill();
        if let ("ifelse", [condition, x, y]) = (op.name(), args)
            && x.fill() == y.fill()
        {
            // One branch counts wherever the condition is not its fill, the other everywhere.
            let [asked, x, y] = [condition, x, y].map(|t| self.profile(t, over));
            return match *condition.fill() == Scalar::Bool(true) {
                true => Profile::union(&[x, self.intersection([&asked, &y])]),
                false => Profile::union(&[self.intersection([&asked, &x]), y]),
            };
        }
        if let Op::User(user) = op
            && let (Some(set), Some(_)) = (user.iteration(), user.fills())
        {
            return self.set_profile(set, &args.iter().map(|a| self.profile(a, over)).collect::<Vec<_>>());
        }
        if let Some(holds) = compared(op, args, over) {
            return Profile::even(if *fill == Scalar::Bool(true) { 1.0 - holds } else { holds });
        }
        if !self.deciding(term).is_empty() {
            let mut joined = Conjunction::default();
            self.conjunction(term, over, &mut joined);
            let kept = distinct(&joined.factors);
            let all = self.intersection(kept.into_iter().map(|f| &f.profile));
            return joined.orders.iter().fold(all, |profile, order| self.ordered(profile, order));
        }
        let mut different: Vec<&Term> = Vec::new();
        args.iter().for_each(|a| {
            if !different.contains(&a) {
                different.push(a);
            }
        });
        let parts: Vec<Profile> = different.into_iter().map(|a| self.profile(a, over)).collect();
        Profile::union(&parts)
    }

    /// Collects the conditions that must all be true for a term to differ from its fill.
    fn conjunction(&self, term: &Term, over: Over<'_>, found: &mut Conjunction) {
        if let Some(order) = self.order_of(term, over) {
            return found.orders.push(order);
        }
        if let Node::Call(_, args) = term.node() {
            let deciding = self.deciding(term);
            if !deciding.is_empty() {
                return deciding.iter().for_each(|&k| self.conjunction(&args[k], over, found));
            }
        }
        found.factors.push(self.factor(term, over));
    }

    /// Returns the intersection of profiles.
    pub(crate) fn intersection<'p>(&self, parts: impl IntoIterator<Item = &'p Profile>) -> Profile {
        let mut fractions: Vec<f64> = Vec::new();
        let mut marginals: BTreeMap<Field, Vec<Marginal>> = BTreeMap::new();
        for part in parts {
            fractions.push(part.fraction);
            for (field, marginal) in &part.marginals {
                marginals.entry(field.clone()).or_default().push(marginal.clone());
            }
        }
        self.met(fractions.iter().product(), marginals, &fractions)
    }

    /// Returns the profile of a set of an iteration algebra, given those of the arguments.
    fn set_profile(&self, set: &Iteration, args: &[Profile]) -> Profile {
        match set {
            Iteration::Arg(k) => args.get(*k).cloned().unwrap_or(Profile::even(1.0)),
            Iteration::Union(of) => {
                let parts: Vec<Profile> = of.iter().map(|s| self.set_profile(s, args)).collect();
                Profile::union(&parts)
            }
            Iteration::Intersection(of) => {
                let parts: Vec<Profile> = of.iter().map(|s| self.set_profile(s, args)).collect();
                self.intersection(&parts)
            }
            Iteration::Complement(of) => Profile::even(1.0 - self.set_profile(of, args).fraction),
            Iteration::All => Profile::even(1.0),
        }
    }

    fn fold_profile(&self, fold: &Fold, over: Over<'_>) -> Profile {
        // After the first coordinate that differs, all later ones may.
        if fold.is_scan() {
            return Profile::even(1.0);
        }
        let (kept, mut below): (Vec<Field>, Vec<Field>) = fold.free().into_iter().partition(|f| (over.bound)(f));
        below.extend(fold.fields.iter().cloned());
        self.met_below(&fold.arg, over.sizes, &kept, below)
    }

    /// Returns the profile over the fields `kept` under which a term may differ from its fill for
    /// some coordinates of the fields `below`.
    pub(super) fn met_below(&self, term: &Term, sizes: &Sizes, kept: &[Field], mut below: Vec<Field>) -> Profile {
        let sense = Sense::Filled;
        let outside = self.profile(term, Over { sizes, bound: &|f| kept.contains(f), sense });
        // For a field that joins nothing, the tensor's own statistics include the levels below.
        let about = self.memo.known.about(term, self.mode());
        below.retain(|f| about.mentions.get(f).is_some_and(|count| *count > 1));
        if below.is_empty() {
            return outside;
        }
        let bound = |f: &Field| kept.contains(f) || below.contains(f);
        let full = self.profile(term, Over { sizes, bound: &bound, sense });
        let mut found = projected(self, full, sizes, &below, kept);
        if let Some(pairs) = self.connected(term, sizes, kept) {
            let places: f64 = kept.iter().map(|f| sizes.of(f) as f64).product();
            found.fraction = (pairs / places).min(1.0);
        }
        outside.rarer(found)
    }
}

/// Projects a profile to the fields `kept`: coordinates with an entry for some coordinates of the
/// fields `below`.
fn projected(cx: &Context, full: Profile, sizes: &Sizes, below: &[Field], kept: &[Field]) -> Profile {
    let places: f64 = below.iter().map(|f| sizes.of(f) as f64).product();
    let throws = Throws::new(places, full.fraction);
    let kept = |(f, _): &(Field, Marginal)| kept.contains(f);
    let (fields, marginals): (Vec<Field>, Vec<Marginal>) = full.marginals.into_iter().filter(kept).unzip();
    let fraction = if marginals.is_empty() { throws.hit(1.0) } else { cx.hit(throws, &marginals) };
    let hit = |k: usize| {
        let others = marginals.iter().enumerate().filter(|(m, _)| *m != k).map(|(_, m)| m.clone()).collect();
        Spread::Hit { throws, own: marginals[k].clone(), others }.into()
    };
    let marginals = fields.into_iter().enumerate().map(|(k, f)| (f, hit(k))).collect();
    Profile { fraction, marginals }
}

/// Removes factors that others imply: an entry in some modes of a tensor implies one in fewer
/// modes.
fn distinct(factors: &[Rc<Factor>]) -> Vec<&Factor> {
    let implied = |k: usize| {
        let Some((tensor, modes)) = &factors[k].stored else { return false };
        let implies = |(m, other): (usize, &Rc<Factor>)| {
            let Some((of, more)) = &other.stored else { return false };
            let fewer = of == tensor && m != k && modes.iter().all(|mode| more.contains(mode));
            fewer && (more.len() > modes.len() || m < k)
        };
        factors.iter().enumerate().any(implies)
    };
    (0..factors.len()).filter(|k| !implied(*k)).map(|k| &*factors[k]).collect()
}

/// Conditions that must all be true.
#[derive(Default)]
struct Conjunction {
    /// Terms that must differ from their fills.
    factors: Vec<Rc<Factor>>,
    orders: Vec<Order>,
}

/// Returns the fraction of the union of independent parts.
pub(crate) fn either(parts: impl IntoIterator<Item = f64>) -> f64 {
    1.0 - parts.into_iter().map(|p| 1.0 - p).product::<f64>()
}
