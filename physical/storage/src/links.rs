//! Links and paths along the stored elements of tensors. A link is the pair of coordinates of a
//! stored element in two modes. A path follows one link of each tensor, from a start coordinate to
//! an end coordinate. This module estimates the number of (start, end) pairs that paths connect.
//!
//! For example, the product of the matrices along a path has one element for each pair. Source of
//! the estimate: Horvitz and Thompson, "A generalization of sampling without replacement from a
//! finite universe". Starts are drawn in proportion to their number of links, so that a few starts
//! with most of the links do not distort the estimate.

use super::{Links, Tensor};
use redpoll_logic::statistics::ModeSet;

/// Limit on the number of starts drawn.
const MAX_STARTS: usize = 64;
/// Number of starts that are drawn in any case, unless the estimate is given up.
const MIN_STARTS: usize = 8;
/// Number of visited coordinates after which no start beyond [`MIN_STARTS`] is drawn.
const VISIT_BUDGET: usize = 1 << 14;
/// Limit on the number of coordinates visited from one start in one step. Beyond the limit, the
/// estimate is given up.
const MAX_STEP_VISITS: usize = 1 << 15;
/// The golden ratio minus 1: the fractional parts of its multiples are evenly spread, for any
/// number of them.
const GOLDEN_FRACTION: f64 = 0.618_033_988_749_894_9;

impl Tensor {
    /// Returns the links from one storage mode to another. Returns `None` if the modes are equal or
    /// do not exist, if any mode of the tensor is too long for 32-bit coordinates, or if the levels
    /// cannot be fetched.
    pub fn links(&self, from: usize, to: usize) -> Option<Links> {
        self.fetch_levels().ok()?;
        self.statistics.links(from, to, || {
            let shape = self.ty.format.storage_shape(&self.ty.shape);
            if from == to || from.max(to) >= shape.len() || shape.iter().any(|n| *n > 1 << 32) {
                return None;
            }
            let pairs = self.links_from_lists(from, to).or_else(|| {
                let keys = self.keys(&[from, to].map(|mode| ModeSet::default().with(mode)))?;
                Some(keys.into_iter().map(|(a, b)| (a as u32, b as u32)).collect())
            });
            pairs.map(Links::from)
        })
    }

    /// Returns the links, read from the arrays of the levels; `None` if positions do not match the
    /// stored elements one to one and in order, or memory is exhausted.
    fn links_from_lists(&self, from: usize, to: usize) -> Option<Vec<(u32, u32)>> {
        let has_no_runs = self.ty.format.levels.iter().all(|level| !level.kind.traits().runs);
        let columns = self.coordinates(self.exact_positions().filter(|_| has_no_runs)?).ok()??;
        let mut pairs: Vec<(u32, u32)> = columns[from].iter().copied().zip(columns[to].iter().copied()).collect();
        if !pairs.is_sorted() {
            pairs.sort_unstable();
        }
        pairs.dedup();
        Some(pairs)
    }
}

/// Estimates the number of (start, end) pairs that a path of links connects, from a sample of
/// starts; `None` if the path is empty, or a start leads to too many coordinates.
pub fn estimate_pairs(path: &[Links]) -> Option<f64> {
    let (first, rest) = path.split_first()?;
    if first.is_empty() {
        return Some(0.0);
    }
    let (mut sum, mut starts, mut visited) = (0.0, 0, 0);
    while starts < MAX_STARTS && (visited < VISIT_BUDGET || starts < MIN_STARTS) {
        let draw = ((starts as f64 + 0.5) * GOLDEN_FRACTION).fract() * first.len() as f64;
        let own = fiber(first, first[draw as usize].0);
        let mut reached: Vec<u32> = own.iter().map(|link| link.1).collect();
        for links in rest {
            let mut next = Vec::new();
            for at in reached {
                next.extend(fiber(links, at).iter().map(|link| link.1));
                if next.len() > MAX_STEP_VISITS {
                    return None;
                }
            }
            visited += next.len();
            next.sort_unstable();
            next.dedup();
            reached = next;
        }
        sum += reached.len() as f64 / own.len() as f64;
        starts += 1;
    }
    Some(first.len() as f64 * sum / starts as f64)
}

/// Returns the links that start at a coordinate.
fn fiber(links: &[(u32, u32)], from: u32) -> &[(u32, u32)] {
    let begin = links.partition_point(|link| link.0 < from);
    let length = links[begin..].partition_point(|link| link.0 == from);
    &links[begin..begin + length]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(pairs: impl IntoIterator<Item = (u32, u32)>) -> Links {
        let mut pairs: Vec<(u32, u32)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        pairs.into()
    }

    /// Estimates match the sizes of products of bands and blocks, whose paths often end at the same
    /// coordinate.
    #[test]
    fn pairs_are_counted_where_paths_meet() {
        let band = links((0..1000).flat_map(|i| (0..5).map(move |k| (i, i + k))).filter(|link| link.1 < 1000));
        let exact = |steps: u32| (0..1000u32).map(|i| f64::from((4 * steps + 1).min(1000 - i))).sum::<f64>();
        for steps in 1..=3 {
            let found = estimate_pairs(&vec![band.clone(); steps as usize]).expect("few coordinates");
            assert!((found / exact(steps) - 1.0).abs() < 0.03, "{steps} steps: {found} for {}", exact(steps));
        }
        let blocks = links((0..500).flat_map(|i| (0..10).map(move |k| (i, i / 10 * 10 + k))));
        assert_eq!(estimate_pairs(&[blocks.clone(), blocks]), Some(5000.0));
        // A hub: one start in a hundred has half of the links.
        let hub = links((0..99).map(|i| (i, 100 + i)).chain((0..99).map(|k| (99, 100 + k))));
        let back = links((100..199).map(|k| (k, 0)));
        let found = estimate_pairs(&[hub.clone(), back]).expect("few coordinates");
        assert!((found / 100.0 - 1.0).abs() < 0.1, "{found}");
        assert_eq!(estimate_pairs(&[links([]), hub]), Some(0.0));
        assert_eq!(estimate_pairs(&[]), None);
    }
}
