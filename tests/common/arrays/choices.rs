//! Random choices that are kept, so that a case can be drawn again with some of them changed: that is how cases are made
//! smaller without knowing what they are.

use crate::rng::Rng;

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Choices {
    /// What choices come from after those that are given.
    rng: Option<Rng>,
    given: Vec<u64>,
    taken: Vec<u64>,
}

impl Choices {
    /// Choices of a seed.
    pub fn of_seed(seed: u64) -> Choices {
        Choices { rng: Some(Rng::new(seed)), given: Vec::new(), taken: Vec::new() }
    }

    /// These choices, where they are possible, and then the first ones.
    pub fn of_list(given: Vec<u64>) -> Choices {
        Choices { rng: None, given, taken: Vec::new() }
    }

    /// All choices until now.
    pub fn taken(&self) -> &[u64] {
        &self.taken
    }

    /// Chooses a number below `n`; 0 when `n` is.
    pub fn below(&mut self, n: u64) -> u64 {
        let choice = match (self.given.get(self.taken.len()), &mut self.rng) {
            (Some(given), _) => (*given).min(n.saturating_sub(1)),
            (None, Some(rng)) => rng.below(n),
            (None, None) => 0,
        };
        self.taken.push(choice);
        choice
    }

    /// Chooses an index of a list of that length.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True `percent` times out of 100; the first choice is false.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) >= 100 - percent
    }

    /// Chooses from a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }

    /// The items in a random order; the first choice swaps each.
    pub fn shuffled<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        for k in (1..items.len()).rev() {
            items.swap(k, self.index(k + 1));
        }
        items
    }
}
