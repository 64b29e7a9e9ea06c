//! Statistics of the stored coordinates of tensors, computed on request and memoized.
//!
//! A [`StatisticsSource`] answers [`Question`]s on tensors, from their arrays or from a catalog,
//! and may decline. [`Statistics`] memoizes the answers, and derives an answer from the type of the
//! tensor and from other answers if the source declines, so that [`Statistics::ask`] never fails.
//! Every [`Answer`] has an estimate, which may err in both directions, and a bound, which is never
//! exceeded.

use crate::field::Alias;
use crate::format::TensorType;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A set of storage modes of one tensor. Only the outermost 64 modes can be members.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ModeSet(u64);

impl ModeSet {
    /// Returns the set of the first `count` storage modes, at most 64.
    pub fn prefix(count: usize) -> ModeSet {
        ModeSet(if count >= 64 { u64::MAX } else { (1 << count) - 1 })
    }

    /// Adds a mode to the set; ignores a mode after the first 64.
    #[must_use]
    pub fn with(self, mode: usize) -> ModeSet {
        ModeSet(if mode < 64 { self.0 | 1 << mode } else { self.0 })
    }

    /// Returns whether the set contains the mode.
    pub fn contains(self, mode: usize) -> bool {
        mode < 64 && self.0 >> mode & 1 == 1
    }

    /// Iterates over the modes, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |&m| self.contains(m))
    }

    /// Returns the number of modes.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of modes, if the set is a prefix: modes 0, 1, .. without gaps.
    pub fn as_prefix(self) -> Option<usize> {
        (ModeSet::prefix(self.len()) == self).then(|| self.len())
    }

    /// Returns whether the set contains all modes of `other`.
    pub fn contains_all(self, other: ModeSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// Returns the union of the two sets.
    #[must_use]
    pub fn union(self, other: ModeSet) -> ModeSet {
        ModeSet(self.0 | other.0)
    }
}

impl FromIterator<usize> for ModeSet {
    fn from_iter<T: IntoIterator<Item = usize>>(modes: T) -> ModeSet {
        modes.into_iter().fold(ModeSet::default(), ModeSet::with)
    }
}

impl fmt::Debug for ModeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A question on a tensor. Modes are storage modes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Question {
    /// The number of positions below the given number of outermost levels; with all levels, the
    /// number of stored values. A dense level counts every coordinate.
    Positions(usize),
    /// The number of distinct coordinates of the stored entries in these modes.
    Distinct(ModeSet),
    /// The number of distinct coordinates in `of` among the entries that share one coordinate in
    /// `given`. The mean is the estimate, and the maximum is the bound (a degree constraint).
    Degree {
        /// Counted modes.
        of: ModeSet,
        /// Fixed modes.
        given: ModeSet,
    },
}

/// A property that a tensor has or lacks. Modes are tensor modes, not storage modes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// Exchanging the two modes leaves the tensor unchanged.
    Symmetric(usize, usize),
    /// All entries with equal coordinates in the two modes have the fill value.
    OffDiagonal(usize, usize),
}

/// A count of coordinates or positions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer {
    /// Expected count.
    pub estimate: f64,
    /// Upper bound of the count.
    pub bound: f64,
}

impl Answer {
    /// Creates the answer for an exact count.
    pub fn exact(count: u64) -> Answer {
        Answer { estimate: count as f64, bound: count as f64 }
    }

    /// Creates an answer from an estimate, which is clamped to the bound.
    pub fn new(estimate: f64, bound: f64) -> Answer {
        Answer { estimate: estimate.min(bound), bound }
    }
}

/// A hop along the stored entries of a tensor, from their coordinates in one storage mode to their
/// coordinates in another storage mode.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Hop {
    /// The tensor.
    pub tensor: Alias,
    /// Storage mode where the hop begins.
    pub from: usize,
    /// Storage mode where the hop ends.
    pub to: usize,
}

impl Hop {
    /// Returns the reverse hop.
    #[must_use]
    pub fn reversed(&self) -> Hop {
        Hop { tensor: self.tensor.clone(), from: self.to, to: self.from }
    }
}

/// A distribution over the coordinates of a mode: the count at each coordinate, relative to the
/// mean count.
pub type Weights = Arc<[f32]>;

/// A provider of statistics of stored entries.
pub trait StatisticsSource {
    /// Returns the answer, or `None` if the answer is unknown or too expensive to compute.
    fn answer(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Option<Answer>;

    /// Returns the distribution of the distinct coordinates in the storage modes `of` over the
    /// coordinates of `mode`, one of these modes. Returns `None` if the distribution is unknown;
    /// callers then assume a uniform one.
    fn marginal(&self, tensor: &Alias, ty: &TensorType, of: ModeSet, mode: usize) -> Option<Weights> {
        let _ = (tensor, ty, of, mode);
        None
    }

    /// Returns the number of pairs of a first and a last coordinate that the path connects: the
    /// number of stored entries of the product of the matrices along the path. Returns `None` if
    /// unknown.
    fn connected_pairs(&self, path: &[Hop]) -> Option<f64> {
        let _ = path;
        None
    }

    /// Returns whether the tensor has the property; `false` if unknown.
    fn has_fact(&self, tensor: &Alias, ty: &TensorType, fact: Fact) -> bool {
        let _ = (tensor, ty, fact);
        false
    }
}

/// A source without any data: all statistics are derived from types.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStatistics;

impl StatisticsSource for NoStatistics {
    fn answer(&self, _: &Alias, _: &TensorType, _: Question) -> Option<Answer> {
        None
    }
}

/// A catalog with a list for each tensor: the numbers of positions below each level, outermost
/// level first.
#[derive(Clone, Debug, Default)]
pub struct PositionCounts(FxHashMap<Alias, Vec<Answer>>);

impl PositionCounts {
    /// Sets the answers to [`Question::Positions`] of a tensor, for 1, 2, .. levels.
    pub fn insert(&mut self, tensor: Alias, counts: Vec<Answer>) {
        self.0.insert(tensor, counts);
    }
}

impl StatisticsSource for PositionCounts {
    fn answer(&self, tensor: &Alias, _: &TensorType, question: Question) -> Option<Answer> {
        match question {
            Question::Positions(levels) => self.0.get(tensor)?.get(levels.checked_sub(1)?).copied(),
            _ => None,
        }
    }
}

/// Memoized answers to all questions.
pub struct Statistics<'a> {
    source: &'a dyn StatisticsSource,
    memo: RefCell<FxHashMap<(Alias, Question), Answer>>,
    marginals: RefCell<FxHashMap<(Alias, ModeSet, usize), Option<Weights>>>,
    facts: RefCell<BTreeMap<(Alias, Fact), bool>>,
    paths: RefCell<FxHashMap<Vec<Hop>, Option<f64>>>,
}

impl<'a> Statistics<'a> {
    /// Creates statistics whose answers come from the source.
    pub fn new(source: &'a dyn StatisticsSource) -> Statistics<'a> {
        Statistics {
            source,
            memo: RefCell::default(),
            marginals: RefCell::default(),
            facts: RefCell::default(),
            paths: RefCell::default(),
        }
    }

    /// Returns the number of stored values.
    pub fn stored_values(&self, tensor: &Alias, ty: &TensorType) -> Answer {
        self.ask(tensor, ty, Question::Positions(ty.format.levels.len()))
    }

    /// Returns the answer to a question: from the source, or else derived from the type and from
    /// other answers.
    pub fn ask(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Answer {
        let key = (tensor.clone(), question);
        if let Some(answer) = self.memo.borrow().get(&key) {
            return *answer;
        }
        let answer = self.source.answer(tensor, ty, question);
        let answer = answer.unwrap_or_else(|| derive_answer(ty, question, &|q| self.ask(tensor, ty, q)));
        self.memo.borrow_mut().insert(key, answer);
        answer
    }

    /// Returns the answer of the source to [`StatisticsSource::marginal`].
    pub fn marginal(&self, tensor: &Alias, ty: &TensorType, of: ModeSet, mode: usize) -> Option<Weights> {
        let key = (tensor.clone(), of, mode);
        if let Some(answer) = self.marginals.borrow().get(&key) {
            return answer.clone();
        }
        let weights = self.source.marginal(tensor, ty, of, mode);
        self.marginals.borrow_mut().insert(key, weights.clone());
        weights
    }

    /// Returns the number of pairs of a first and a last coordinate that the path connects; `None`
    /// if unknown.
    pub fn connected_pairs(&self, path: &[Hop]) -> Option<f64> {
        if let Some(answer) = self.paths.borrow().get(path) {
            return *answer;
        }
        let pairs = self.source.connected_pairs(path);
        self.paths.borrow_mut().insert(path.to_vec(), pairs);
        pairs
    }

    /// Returns whether the tensor has the property; `false` if unknown.
    pub fn has_fact(&self, tensor: &Alias, ty: &TensorType, fact: Fact) -> bool {
        let ask = || self.source.has_fact(tensor, ty, fact);
        *self.facts.borrow_mut().entry((tensor.clone(), fact)).or_insert_with(ask)
    }

    /// Returns all facts asked for so far, with their truth values. A plan that depends on these
    /// facts is valid for all tensors with the same facts.
    pub fn facts(&self) -> Vec<(Alias, Fact, bool)> {
        self.facts.borrow().iter().map(|((tensor, fact), holds)| (tensor.clone(), *fact, *holds)).collect()
    }

    /// Returns the answer that follows from the type and from position counts, which are cheap to
    /// find.
    pub fn derive(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Answer {
        match question {
            Question::Positions(_) => self.ask(tensor, ty, question),
            _ => derive_answer(ty, question, &|q| self.derive(tensor, ty, q)),
        }
    }
}

/// Derives an answer from the type and from other answers.
fn derive_answer(ty: &TensorType, question: Question, ask: &dyn Fn(Question) -> Answer) -> Answer {
    let sizes = ty.format.storage_shape(&ty.shape);
    let dense_size = |modes: ModeSet| modes.iter().filter_map(|m| sizes.get(m)).map(|&n| n as f64).product::<f64>();
    match question {
        Question::Positions(0) => Answer::exact(1),
        Question::Positions(levels) => {
            let above = ask(Question::Positions(levels - 1));
            let size = sizes[levels - 1] as f64;
            let traits = ty.format.levels[levels - 1].kind.traits();
            let fiber = match (traits.full, traits.branchless) {
                (true, _) => size,
                (_, true) => 1.0,
                _ => size.sqrt().ceil(),
            };
            Answer::new(above.estimate * fiber, above.bound * size)
        }
        Question::Distinct(modes) => {
            let all = dense_size(modes);
            let cover = (0..=sizes.len()).find(|&k| modes.iter().all(|m| m < k)).unwrap_or(sizes.len());
            // Positions count runs, not the coordinates that the runs cover.
            if ty.format.levels[..cover].iter().any(|l| l.kind.traits().runs) {
                return Answer::new(all, all);
            }
            let positions = ask(Question::Positions(cover));
            let above = &ty.format.levels[..cover];
            let repeated = above.iter().any(|l| !l.unique);
            let estimate = match modes.as_prefix() {
                Some(k) if k < sizes.len() && above.iter().any(|l| l.kind.traits().full) => {
                    expected_occupied(ask(Question::Positions(sizes.len())).estimate, all)
                }
                Some(k) if k == sizes.len() || !repeated => positions.estimate,
                _ => expected_occupied(positions.estimate, all),
            };
            Answer::new(estimate, positions.bound.min(all))
        }
        Question::Degree { of, given } => {
            let both = ask(Question::Distinct(of.union(given)));
            let fixed = ask(Question::Distinct(given));
            Answer::new(both.estimate / fixed.estimate.max(1.0), both.bound.min(dense_size(of)))
        }
    }
}

/// Returns the expected number of bins that `throws` independent uniform throws hit, out of `bins`
/// bins.
fn expected_occupied(throws: f64, bins: f64) -> f64 {
    if bins <= 1.0 { bins.min(throws) } else { -bins * (throws * (-1.0 / bins).ln_1p()).exp_m1() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::format::Format;
    use crate::scalar::Scalar;

    fn ty(shape: &[u64], format: Format) -> TensorType {
        TensorType { shape: shape.to_vec(), dtype: DType::F64, fill: Scalar::F64(0.0), format }
    }

    #[test]
    fn counts_are_taken_from_the_source_and_the_rest_is_derived() {
        let mut counts = PositionCounts::default();
        let a = Alias::from("A");
        counts.insert(a.clone(), vec![Answer::exact(100), Answer::exact(300)]);
        let stats = Statistics::new(&counts);
        let csr = ty(&[100, 1000], Format::csr());
        assert_eq!(stats.stored_values(&a, &csr), Answer::exact(300));
        let columns = stats.ask(&a, &csr, Question::Distinct(ModeSet::default().with(1)));
        assert!(columns.estimate > 250.0 && columns.estimate < 300.0, "{columns:?}");
        assert_eq!(columns.bound, 300.0);
        let degree = Question::Degree { of: ModeSet::default().with(1), given: ModeSet::prefix(1) };
        // Three hundred entries thrown into a hundred rows leave some rows empty.
        let filled = 100.0 * (1.0 - 0.99_f64.powi(300));
        let degree = stats.ask(&a, &csr, degree).estimate;
        assert!((degree - 300.0 / filled).abs() < 1e-9, "{degree}");
    }

    #[test]
    fn types_alone_give_an_estimate_under_the_bound() {
        let stats = Statistics::new(&NoStatistics);
        let a = Alias::from("A");
        for format in [Format::dense(2), Format::csr(), Format::csf(2), Format::coo(2), Format::bcsr(3, 4)] {
            let ty = ty(&[10, 20], format);
            let stored = stats.stored_values(&a, &ty);
            assert!(stored.estimate <= stored.bound && stored.estimate >= 1.0, "{stored:?}");
        }
        let empty = ty(&[0, 20], Format::csr());
        assert_eq!(stats.stored_values(&Alias::from("E"), &empty), Answer::exact(0));
    }

    #[test]
    fn occupied_bins_are_at_most_throws_and_bins() {
        for (throws, bins) in [(0.0, 5.0), (1.0, 1.0), (10.0, 3.0), (3.0, 1e12), (0.0, 0.0)] {
            let hit = expected_occupied(throws, bins);
            assert!(hit <= throws + 1e-9 && hit <= bins + 1e-9 && hit >= 0.0, "{throws} {bins} {hit}");
        }
    }
}
