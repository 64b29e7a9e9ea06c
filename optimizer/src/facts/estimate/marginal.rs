//! Marginals: distributions of entries over the coordinates of one field, as expressions that are
//! evaluated on demand.
//!
//! A marginal has a factor for each coordinate, relative to the mean. Fields are assumed to be
//! independent given their marginals (the maximum-entropy distribution). So the product of two
//! terms has, at each coordinate of a shared field, the product of their factors. The mean of these
//! products is the ratio of the number of matches to the number for evenly spread entries. Two
//! power-law distributions match mostly at their hubs, the coordinates with many entries.

use redpoll_logic::statistics::{ModeSet, Weights};
use redpoll_logic::{Alias, TensorType};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The distribution of entries over the coordinates of a field. The marginal of a computed term
/// contains the marginals of the arguments. Marginals are keys of maps, so each stores its hash.
#[derive(Clone, Debug)]
pub(crate) struct Marginal(Arc<HashedMarginal>);

#[derive(Debug)]
struct HashedMarginal {
    hash: u64,
    kind: MarginalKind,
}

/// The kinds of marginals.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum MarginalKind {
    /// The distinct coordinates of a tensor in the storage modes `of`, counted at each coordinate
    /// of `mode`.
    Stored { tensor: Alias, of: ModeSet, mode: usize },
    /// The product of several marginals.
    Product(Vec<Marginal>),
    /// The sum of several marginals, each with its fraction of coordinates; `None` stands for
    /// evenly spread entries.
    Sum(Vec<(FloatBits, Option<Marginal>)>),
    /// The coordinates over the fields of `own` and `others` that the throws hit at least once,
    /// counted at each coordinate of the field of `own`.
    Hit { throws: Throws, own: Marginal, others: Vec<Marginal> },
    /// The pairs of coordinates of two fields in which the first precedes the second, counted at
    /// each coordinate of the field that `side` names.
    Ordered { pair: FieldPair, side: PairSide },
}

/// The marginals of two fields of one size; `None` stands for evenly spread entries.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct FieldPair {
    /// The marginal of the field whose coordinate is first.
    pub(crate) first: Option<Marginal>,
    /// The marginal of the field whose coordinate is second.
    pub(crate) second: Option<Marginal>,
    /// The marginal that orders the coordinates: ascending by its factors, then by coordinate;
    /// `None` if coordinates are ordered by coordinate alone.
    pub(crate) by: Option<Marginal>,
}

/// One field of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum PairSide {
    First,
    Second,
}

impl From<MarginalKind> for Marginal {
    fn from(kind: MarginalKind) -> Marginal {
        let mut hasher = DefaultHasher::new();
        kind.hash(&mut hasher);
        Marginal(Arc::new(HashedMarginal { hash: hasher.finish(), kind }))
    }
}

impl Hash for Marginal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

impl PartialEq for Marginal {
    fn eq(&self, other: &Marginal) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.hash == other.0.hash && self.0.kind == other.0.kind
    }
}

impl Eq for Marginal {}

/// An arbitrary order that is the same in every run.
impl Ord for Marginal {
    fn cmp(&self, other: &Marginal) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        self.0.hash.cmp(&other.0.hash).then_with(|| self.0.kind.cmp(&other.0.kind))
    }
}

impl PartialOrd for Marginal {
    fn partial_cmp(&self, other: &Marginal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Random throws: `count` throws at each coordinate, each hitting with probability `chance` times
/// the coordinate's factors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Throws {
    count: FloatBits,
    chance: FloatBits,
}

impl Throws {
    pub(crate) fn new(count: f64, chance: f64) -> Throws {
        Throws { count: count.into(), chance: chance.into() }
    }

    /// Returns the probability that a coordinate is hit, given the product of its factors.
    pub(crate) fn hit_probability(self, factor: f64) -> f64 {
        let chance = (self.chance.value() * factor).min(1.0);
        -(self.count.value() * (-chance).ln_1p()).exp_m1()
    }
}

/// A float with equality, order and hash, by its bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct FloatBits(u64);

impl From<f64> for FloatBits {
    fn from(x: f64) -> FloatBits {
        FloatBits(x.to_bits())
    }
}

impl FloatBits {
    fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// Cache of evaluated marginals.
#[derive(Default)]
pub(crate) struct MarginalCache {
    weights: RefCell<FxHashMap<Marginal, Option<Weights>>>,
    overlaps: RefCell<FxHashMap<Vec<Marginal>, f64>>,
    spectra: RefCell<FxHashMap<Marginal, Arc<Spectrum>>>,
    hits: RefCell<FxHashMap<(Throws, Vec<Marginal>), f64>>,
    ordered_fractions: RefCell<FxHashMap<FieldPair, Option<f64>>>,
    orders: RefCell<FxHashMap<Marginal, Arc<[u32]>>>,
}

/// Function that returns the weights of a tensor's marginal.
pub(crate) type WeightSource<'a> = dyn Fn(&Alias, ModeSet, usize) -> Option<Weights> + 'a;

/// Histogram of factors: the fraction of coordinates for each logarithm of a factor, with [`STEP`]
/// steps per doubling. The remaining coordinates have the factor 0.
type Spectrum = BTreeMap<i32, f64>;

/// Number of steps per doubling of a factor.
const STEP: f64 = 4.0;

impl MarginalCache {
    /// Returns the mean product of the factors of several marginals of one field: the ratio of the
    /// number of matches to the number for evenly spread entries.
    pub(crate) fn overlap(&self, of: &[Marginal], source: &WeightSource<'_>) -> f64 {
        let [_, _, ..] = of else { return 1.0 };
        let mut key = of.to_vec();
        key.sort();
        if let Some(found) = self.overlaps.borrow().get(&key) {
            return *found;
        }
        let weights: Vec<Weights> = of.iter().filter_map(|m| self.weights(m, source)).collect();
        let overlap = if weights.len() < 2 { 1.0 } else { mean(product(&weights).iter().copied()) };
        self.overlaps.borrow_mut().insert(key, overlap);
        overlap
    }

    /// Returns the fraction of coordinates over fields with these marginals that are hit at least
    /// once.
    pub(crate) fn hit_fraction(&self, throws: Throws, fields: &[Marginal], source: &WeightSource<'_>) -> f64 {
        let mut key = (throws, fields.to_vec());
        key.1.sort();
        if let Some(found) = self.hits.borrow().get(&key) {
            return *found;
        }
        let hit = |(bin, part): (&i32, &f64)| part * throws.hit_probability(factor(*bin));
        let hit = self.spectrum_of(fields, source).iter().map(hit).sum();
        self.hits.borrow_mut().insert(key, hit);
        hit
    }

    /// Returns the spectrum of the products of the factors of several fields.
    fn spectrum_of(&self, fields: &[Marginal], source: &WeightSource<'_>) -> Spectrum {
        fields.iter().fold(BTreeMap::from([(0, 1.0)]), |all, field| {
            let own = self.spectrum(field, source);
            let mut product = Spectrum::new();
            for (a, x) in &all {
                for (b, y) in own.iter() {
                    *product.entry(a + b).or_default() += x * y;
                }
            }
            product
        })
    }

    fn spectrum(&self, of: &Marginal, source: &WeightSource<'_>) -> Arc<Spectrum> {
        if let Some(found) = self.spectra.borrow().get(of) {
            return found.clone();
        }
        let mut spectrum = Spectrum::new();
        match self.weights(of, source) {
            None => drop(spectrum.insert(0, 1.0)),
            Some(weights) => {
                let part = 1.0 / weights.len().max(1) as f64;
                for weight in weights.iter().filter(|w| **w > 0.0) {
                    *spectrum.entry(bin(f64::from(*weight))).or_default() += part;
                }
            }
        }
        let spectrum = Arc::new(spectrum);
        self.spectra.borrow_mut().insert(of.clone(), spectrum.clone());
        spectrum
    }

    /// Returns the fraction of pairs of entries in which the coordinate of the first field precedes
    /// that of the second, in the order of the pair; `None` if neither marginal is available.
    pub(crate) fn ordered_fraction(&self, pair: &FieldPair, source: &WeightSource<'_>) -> Option<f64> {
        if let Some(found) = self.ordered_fractions.borrow().get(pair) {
            return *found;
        }
        let share = self.ordered_weights(pair, PairSide::First, source).map(|pairs| mean(pairs.iter().copied()));
        self.ordered_fractions.borrow_mut().insert(pair.clone(), share);
        share
    }

    /// Returns, for each coordinate of one field of a pair, its factor times the fraction of the
    /// other field's entries that are after it (`First`) or before it (`Second`).
    fn ordered_weights(&self, pair: &FieldPair, side: PairSide, source: &WeightSource<'_>) -> Option<Vec<f32>> {
        let of = |m: &Option<Marginal>| m.as_ref().and_then(|m| self.weights(m, source));
        let (own, other) = match side {
            PairSide::First => (of(&pair.first), of(&pair.second)),
            PairSide::Second => (of(&pair.second), of(&pair.first)),
        };
        let len = own.iter().chain(&other).map(|w| w.len()).min()?;
        let at = |w: &Option<Weights>, k: usize| w.as_ref().map_or(1.0, |w| f64::from(w[k]));
        let order = pair.by.as_ref().and_then(|by| self.ascending_order(by, source)).filter(|order| order.len() == len);
        let coordinate = |k: usize| order.as_ref().map_or(k, |order| order[k] as usize);
        let (mut weight_beyond, mut found) = (0.0, vec![0.0; len]);
        for k in 0..len {
            let k = coordinate(if side == PairSide::First { len - 1 - k } else { k });
            // `<` excludes equal coordinates and `<=` includes them; here they count one half.
            found[k] = (at(&own, k) * (weight_beyond + at(&other, k) / 2.0) / len as f64) as f32;
            weight_beyond += at(&other, k);
        }
        Some(found)
    }

    /// Returns the coordinates of a marginal in ascending order of their factors.
    fn ascending_order(&self, of: &Marginal, source: &WeightSource<'_>) -> Option<Arc<[u32]>> {
        if let Some(found) = self.orders.borrow().get(of) {
            return Some(found.clone());
        }
        let weights = self.weights(of, source)?;
        let mut order: Vec<u32> = (0..u32::try_from(weights.len()).ok()?).collect();
        order.sort_by(|a, b| weights[*a as usize].total_cmp(&weights[*b as usize]));
        let order: Arc<[u32]> = order.into();
        self.orders.borrow_mut().insert(of.clone(), order.clone());
        Some(order)
    }

    /// Returns whether the factors of a marginal are available and uneven.
    pub(crate) fn has_weights(&self, of: &Marginal, source: &WeightSource<'_>) -> bool {
        self.weights(of, source).is_some()
    }

    /// Returns the factors of a marginal; `None` if they are even or not available.
    fn weights(&self, of: &Marginal, source: &WeightSource<'_>) -> Option<Weights> {
        if let Some(found) = self.weights.borrow().get(of) {
            return found.clone();
        }
        let weights = match &of.0.kind {
            MarginalKind::Stored { tensor, of, mode } => source(tensor, *of, *mode),
            MarginalKind::Product(of) => {
                let factors: Vec<Weights> = of.iter().filter_map(|m| self.weights(m, source)).collect();
                (!factors.is_empty()).then(|| divide_by_mean(product(&factors)))
            }
            MarginalKind::Sum(of) => self.sum_weights(of, source),
            MarginalKind::Ordered { pair, side } => self.ordered_weights(pair, *side, source).map(divide_by_mean),
            MarginalKind::Hit { throws, own, others } => self.weights(own, source).map(|weights| {
                let others = self.spectrum_of(others, source);
                let hit = |weight: f64| -> f64 {
                    others.iter().map(|(bin, part)| part * throws.hit_probability(weight * factor(*bin))).sum()
                };
                let mut bins: FxHashMap<i32, f64> = FxHashMap::default();
                let mut hit_of = |w: f64| *bins.entry(bin(w)).or_insert_with_key(|bin| hit(factor(*bin)));
                divide_by_mean(
                    weights.iter().map(|w| if *w > 0.0 { hit_of(f64::from(*w)) as f32 } else { 0.0 }).collect(),
                )
            }),
        };
        self.weights.borrow_mut().insert(of.clone(), weights.clone());
        weights
    }

    fn sum_weights(&self, of: &[(FloatBits, Option<Marginal>)], source: &WeightSource<'_>) -> Option<Weights> {
        let parts: Vec<(f64, Option<Weights>)> =
            of.iter().map(|(part, m)| (part.value(), m.as_ref().and_then(|m| self.weights(m, source)))).collect();
        let len = parts.iter().filter_map(|(_, w)| w.as_ref()).map(|w| w.len()).min()?;
        let even: f64 = parts.iter().filter(|(_, w)| w.is_none()).map(|(part, _)| part).sum();
        let at = |k: usize| -> f64 {
            let weighted = parts.iter().filter_map(|(part, w)| w.as_ref().map(|w| part * f64::from(w[k])));
            even + weighted.sum::<f64>()
        };
        Some(divide_by_mean((0..len).map(|k| at(k) as f32).collect()))
    }
}

fn bin(weight: f64) -> i32 {
    (weight.log2() * STEP).round() as i32
}

fn factor(bin: i32) -> f64 {
    (f64::from(bin) / STEP).exp2()
}

fn product(of: &[Weights]) -> Vec<f32> {
    let len = of.iter().map(|w| w.len()).min().unwrap_or(0);
    (0..len).map(|k| of.iter().map(|w| w[k]).product()).collect()
}

fn mean(of: impl ExactSizeIterator<Item = f32>) -> f64 {
    let count = of.len().max(1) as f64;
    of.map(f64::from).sum::<f64>() / count
}

/// Divides factors by their mean.
fn divide_by_mean(mut weights: Vec<f32>) -> Weights {
    let mean = mean(weights.iter().copied()) as f32;
    if mean > 0.0 {
        weights.iter_mut().for_each(|w| *w /= mean);
    }
    weights.into()
}

/// Returns the marginal of `mode` among the storage modes `of`; `None` if all levels down to the
/// last of these modes are full, which makes the marginal even.
pub(crate) fn stored_marginal(tensor: &Alias, ty: &TensorType, of: ModeSet, mode: usize) -> Option<Marginal> {
    let level_count = of.iter().max().map_or(0, |last| last + 1);
    let is_full = ty.format.levels[..level_count].iter().all(|l| l.kind.traits().full);
    (!is_full).then(|| MarginalKind::Stored { tensor: tensor.clone(), of, mode }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_weights(name: &str) -> Option<Weights> {
        match name {
            "hub" => Some(vec![4.0, 0.0, 0.0, 0.0].into()),
            "half" => Some(vec![2.0, 2.0, 0.0, 0.0].into()),
            _ => None,
        }
    }

    fn marginal(name: &str) -> Marginal {
        MarginalKind::Stored { tensor: name.into(), of: ModeSet::prefix(2), mode: 0 }.into()
    }

    /// Hubs match more often than evenly spread coordinates.
    #[test]
    fn skewed_fields_overlap_where_both_are_frequent() {
        let marginals = MarginalCache::default();
        let source = |tensor: &Alias, _: ModeSet, _: usize| test_weights(tensor.as_str());
        let overlap =
            |names: &[&str]| marginals.overlap(&names.iter().map(|n| marginal(n)).collect::<Vec<_>>(), &source);
        assert_eq!(overlap(&["hub", "hub"]), 4.0);
        assert_eq!(overlap(&["hub", "half"]), 2.0);
        assert_eq!(overlap(&["half", "half", "half"]), 4.0);
        assert_eq!(overlap(&["hub", "even"]), 1.0);
        let both = MarginalKind::Product(vec![marginal("hub"), marginal("half")]).into();
        assert_eq!(marginals.overlap(&[both, marginal("half")], &source), 2.0);
        let sum = MarginalKind::Sum(vec![(0.5.into(), Some(marginal("hub"))), (0.5.into(), None)]).into();
        assert_eq!(marginals.overlap(&[sum, marginal("hub")], &source), 2.5);
    }

    /// Throws at a hub hit the same coordinates repeatedly.
    #[test]
    fn throws_at_few_coordinates_hit_few_of_them() {
        let marginals = MarginalCache::default();
        let source = |tensor: &Alias, _: ModeSet, _: usize| test_weights(tensor.as_str());
        let many_throws = |throws: f64| Throws::new(1e9, throws / 1e9);
        let hit = |throws: f64, names: &[&str]| {
            marginals.hit_fraction(many_throws(throws), &names.iter().map(|n| marginal(n)).collect::<Vec<_>>(), &source)
        };
        assert!((hit(100.0, &["hub"]) - 0.25).abs() < 1e-9);
        assert!((hit(100.0, &["hub", "half"]) - 0.125).abs() < 1e-9);
        assert!((hit(1e-6, &["hub", "half"]) - 1e-6).abs() < 1e-9);
        assert!((hit(1.0, &["even"]) - (1.0 - (-1.0f64).exp())).abs() < 1e-6);
        let hit =
            MarginalKind::Hit { throws: many_throws(100.0), own: marginal("hub"), others: vec![marginal("half")] }
                .into();
        assert_eq!(marginals.overlap(&[hit, marginal("hub")], &source), 4.0);
    }

    /// The result size of a join that is restricted to one order depends on the positions of the
    /// hubs.
    #[test]
    fn pairs_in_one_order_depend_on_the_positions_of_hubs() {
        let marginals = MarginalCache::default();
        let source = |tensor: &Alias, _: ModeSet, _: usize| test_weights(tensor.as_str());
        let fraction = |first: Option<&str>, second: Option<&str>, by: Option<&str>| {
            let [first, second, by] = [first, second, by].map(|name| name.map(marginal));
            marginals.ordered_fraction(&FieldPair { first, second, by }, &source)
        };
        assert_eq!(fraction(None, None, None), None);
        assert_eq!(fraction(Some("hub"), Some("hub"), None), Some(0.5));
        assert_eq!(fraction(Some("hub"), None, None), Some(0.875));
        assert_eq!(fraction(None, Some("hub"), None), Some(0.125));
        // By factor, the hub is the last coordinate.
        assert_eq!(fraction(Some("hub"), None, Some("hub")), Some(0.125));
        let pair = FieldPair { first: Some(marginal("hub")), second: Some(marginal("half")), by: None };
        let second: Marginal = MarginalKind::Ordered { pair, side: PairSide::Second }.into();
        // The first coordinate equals that of the hub and counts one half; the second counts fully.
        assert_eq!(marginals.weights(&second, &source).unwrap()[..], [4.0 / 3.0, 8.0 / 3.0, 0.0, 0.0]);
    }
}
