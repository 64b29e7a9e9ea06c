//! Seeded generators of matrices and tensors: the same arrays on every machine.

use crate::arrays::{Csf3, Csr};

/// A small generator of pseudo-random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A value whose sums and products are exact, so that every order of additions gives the same bits: an integer from
    /// -8 to 8 without 0.
    pub fn value(&mut self) -> f64 {
        let magnitude = (1 + self.below(8)) as f64;
        if self.below(2) == 0 { magnitude } else { -magnitude }
    }

    /// So many values.
    pub fn values(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.value()).collect()
    }
}

/// A matrix of `per_row` entries in every row (fewer where they meet), at places drawn uniformly.
pub fn uniform(rows: usize, cols: usize, per_row: usize, seed: u64) -> Csr {
    let mut random = Random(seed);
    let (mut ptr, mut idx, mut row) = (vec![0], Vec::with_capacity(rows * per_row), Vec::with_capacity(per_row));
    for _ in 0..rows {
        row.clear();
        row.extend((0..per_row).map(|_| random.below(cols as u64) as u32));
        row.sort_unstable();
        row.dedup();
        idx.extend_from_slice(&row);
        ptr.push(idx.len() as i32);
    }
    let val = random.values(idx.len());
    Csr { rows, cols, ptr, idx, val }
}

/// The places of an R-MAT graph of `2^scale` vertices and at most `edges` edges, drawn with the probabilities of
/// Graph500 (0.57, 0.19, 0.19, 0.05), sorted, each once.
/// Source: Chakrabarti, Zhan, Faloutsos, "R-MAT: A Recursive Model for Graph Mining", 2004.
fn rmat_places(scale: u32, edges: usize, random: &mut Random) -> Vec<(u32, u32)> {
    let mut places = Vec::with_capacity(edges);
    for _ in 0..edges {
        let (mut i, mut j) = (0, 0);
        for _ in 0..scale {
            let (down, right) = match random.below(100) {
                0..57 => (0, 0),
                57..76 => (0, 1),
                76..95 => (1, 0),
                _ => (1, 1),
            };
            (i, j) = (2 * i + down, 2 * j + right);
        }
        places.push((i, j));
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// An R-MAT matrix, with a skewed distribution of entries over rows and columns.
pub fn rmat(scale: u32, edges: usize, seed: u64) -> Csr {
    let mut random = Random(seed);
    let places = rmat_places(scale, edges, &mut random);
    let n = 1 << scale;
    let val = random.values(places.len());
    Csr::from_places(n, n, &places, val)
}

/// A tensor of at most `entries` entries at places drawn uniformly.
pub fn uniform_tensor(shape: [usize; 3], entries: usize, seed: u64) -> Csf3 {
    let mut random = Random(seed);
    let place = |random: &mut Random| shape.map(|n| random.below(n as u64) as u32);
    let mut places: Vec<[u32; 3]> = (0..entries).map(|_| place(&mut random)).collect();
    places.sort_unstable();
    places.dedup();
    let val = random.values(places.len());
    Csf3::from_places(shape, &places, val)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_are_the_same_every_time_and_make_valid_tensors() {
        assert_eq!(rmat(8, 1000, 3), rmat(8, 1000, 3));
        assert_ne!(rmat(8, 1000, 3), rmat(8, 1000, 4));
        for matrix in [uniform(30, 7, 4, 1), rmat(6, 300, 2), rmat(6, 300, 2).upper()] {
            assert_eq!(matrix.tensor().unwrap().count_stored(), matrix.idx.len() as u64);
        }
        let tensor = uniform_tensor([5, 6, 7], 60, 5);
        assert_eq!(tensor.tensor().unwrap().count_stored(), tensor.val.len() as u64);
    }
}
