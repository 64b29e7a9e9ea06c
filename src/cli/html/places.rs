//! Places of boxes in layers: the last step of layered drawing.
//!
//! The best place of an item is in the middle of its neighbours. The places must keep the order of
//! a layer and the minimum distances between its items. An isotonic regression finds the places
//! with the smallest sum of squared deviations from the best places, by pooling adjacent violators.

use super::layers::Layers;

/// Space between the boxes of a layer.
const SPACE: f64 = 28.0;
/// Number of sweeps through the layers, in each direction.
const SWEEPS: usize = 6;

/// Returns the horizontal middle of each item, for boxes of the given widths. The leftmost box
/// begins at 0.
pub(super) fn middles(layers: &Layers, widths: &[f64]) -> Vec<f64> {
    let mut middles = vec![0.0; layers.items.len()];
    for layer in &layers.layers {
        let offsets = offsets(layer, widths);
        let middle = offsets.last().copied().unwrap_or(0.0) / 2.0;
        layer.iter().zip(&offsets).for_each(|(item, offset)| middles[*item] = offset - middle);
    }
    for _ in 0..SWEEPS {
        layers.layers.iter().for_each(|layer| place(layer, &layers.above, widths, &mut middles));
        layers.layers.iter().rev().for_each(|layer| place(layer, &layers.below, widths, &mut middles));
    }
    let left = middles.iter().zip(widths).map(|(middle, width)| middle - width / 2.0).fold(f64::INFINITY, f64::min);
    middles.iter().map(|middle| middle - left).collect()
}

/// Returns the minimum distance of each item of a layer from the first item of the layer.
fn offsets(layer: &[usize], widths: &[f64]) -> Vec<f64> {
    let mut at = 0.0;
    let mut before: Option<usize> = None;
    let offset = |item: &usize| {
        if let Some(before) = before {
            at += (widths[before] + widths[*item]) / 2.0 + SPACE;
        }
        before = Some(*item);
        at
    };
    layer.iter().map(offset).collect()
}

/// Moves the items of a layer towards the middles of their neighbours.
fn place(layer: &[usize], neighbours: &[Vec<usize>], widths: &[f64], middles: &mut [f64]) {
    let offsets = offsets(layer, widths);
    let wanted = layer.iter().zip(&offsets).map(|(item, offset)| {
        let near = &neighbours[*item];
        let sum: f64 = near.iter().map(|n| middles[*n]).sum();
        let middle = if near.is_empty() { middles[*item] } else { sum / near.len() as f64 };
        middle - offset
    });
    let placed = regression(wanted);
    for ((item, offset), start) in layer.iter().zip(&offsets).zip(placed) {
        middles[*item] = start + offset;
    }
}

/// Returns the ascending numbers with the smallest sum of squared differences from the given
/// numbers.
fn regression(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    // Pools of adjacent numbers with their means and counts.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for number in numbers {
        pools.push((number, 1));
        while let [.., (a, n), (b, m)] = pools[..]
            && a > b
        {
            pools.truncate(pools.len() - 2);
            pools.push(((a * n as f64 + b * m as f64) / (n + m) as f64, n + m));
        }
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that ascending numbers stay the same, and that numbers out of order are replaced by
    /// their mean.
    #[test]
    fn regressions_ascend() {
        let cases = [(&[][..], &[][..]), (&[1.0, 2.0], &[1.0, 2.0]), (&[3.0, 1.0], &[2.0, 2.0])];
        for (numbers, expected) in cases.into_iter().chain([(&[5.0, 1.0, 3.0, 9.0][..], &[3.0, 3.0, 3.0, 9.0][..])]) {
            assert_eq!(regression(numbers.iter().copied()), expected, "{numbers:?}");
        }
    }

    /// Asserts that boxes of a layer keep their order and do not overlap, and that a chain is
    /// straight.
    #[test]
    fn boxes_do_not_overlap() {
        let edges = [(0, 2), (1, 2), (2, 3), (0, 3), (1, 4), (3, 4)];
        let layers = Layers::of(5, &edges);
        let widths: Vec<f64> = (0..layers.items.len()).map(|k| 10.0 + 7.0 * k as f64).collect();
        let middles = middles(&layers, &widths);
        for pair in layers.layers.iter().flat_map(|layer| layer.windows(2)) {
            let [a, b] = [pair[0], pair[1]];
            let space = middles[b] - middles[a] - (widths[a] + widths[b]) / 2.0;
            assert!(space > SPACE - 1e-6, "{a} and {b}: {space}");
        }
        let chain = Layers::of(3, &[(0, 1), (1, 2)]);
        assert_eq!(super::middles(&chain, &[40.0, 10.0, 20.0]), [20.0; 3]);
    }
}
