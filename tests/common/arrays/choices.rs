//! Recorded random choices. A case can be drawn again with some choices changed, so that cases
//! shrink without knowledge of their content.

use crate::rng::Rng;

/// A source of choices that records them.
#[derive(Clone, Debug)]
pub struct RecordedChoices {
    /// Source of the choices after the end of `given`; without a source, these choices are 0.
    rng: Option<Rng>,
    given: Vec<u64>,
    recorded: Vec<u64>,
}

impl RecordedChoices {
    /// Returns a source of choices drawn from a seed.
    pub fn from_seed(seed: u64) -> RecordedChoices {
        RecordedChoices { rng: Some(Rng::new(seed)), given: Vec::new(), recorded: Vec::new() }
    }

    /// Returns a source of the given choices, limited to their ranges, followed by zeros.
    pub fn from_list(given: Vec<u64>) -> RecordedChoices {
        RecordedChoices { rng: None, given, recorded: Vec::new() }
    }

    /// Returns all choices so far.
    pub fn recorded(&self) -> &[u64] {
        &self.recorded
    }

    /// Chooses a number below `n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let choice = match (self.given.get(self.recorded.len()), &mut self.rng) {
            (Some(given), _) => (*given).min(n.saturating_sub(1)),
            (None, Some(rng)) => rng.below(n),
            (None, None) => 0,
        };
        self.recorded.push(choice);
        choice
    }

    /// Chooses an index of a list of the given length.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Returns true with a probability of `percent` out of 100. The choice 0 gives false, unless
    /// `percent` is 100.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) >= 100 - percent
    }

    /// Chooses an item of a list, which must not be empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }

    /// Returns the items in random order. With choices of 0, each item is swapped with the first.
    pub fn shuffled<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        for k in (1..items.len()).rev() {
            items.swap(k, self.index(k + 1));
        }
        items
    }
}
