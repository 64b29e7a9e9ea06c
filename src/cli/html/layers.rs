//! The layers of an acyclic graph, and the order of the nodes in each layer: the first two steps of
//! layered drawing (Sugiyama, Tagawa and Toda, 1981).
//!
//! A node lies below all nodes that have an edge to it. A node without incoming edges lies directly
//! above the highest node that it has an edge to. An edge over several layers goes through a stop
//! in each layer between its ends; all edges from one node share these stops. The order of a layer
//! follows the barycenters of neighbours, and the orders with the fewest crossings are kept.

use std::collections::HashMap;

/// A node of the layered graph: a node of the graph, or a stop of long edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    /// A node, by its index.
    Node(usize),
    /// A stop of the edges from a node, by the index of the node.
    Stop(usize),
}

/// A graph in layers.
pub(super) struct Layers {
    pub(super) items: Vec<Item>,
    /// The items of each layer, from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// The items in the next layer that each item leads to.
    pub(super) below: Vec<Vec<usize>>,
    /// The items in the previous layer that lead to each item.
    pub(super) above: Vec<Vec<usize>>,
    /// The items along each edge, from its first node to its last.
    pub(super) paths: Vec<Vec<usize>>,
}

/// Number of sweeps through the layers, in each direction.
const SWEEPS: usize = 8;

impl Layers {
    /// Arranges `count` nodes in layers.
    pub(super) fn of(count: usize, edges: &[(usize, usize)]) -> Layers {
        let depths = depths(count, edges);
        let height = depths.iter().max().map_or(0, |depth| depth + 1);
        let mut layered = Layers {
            items: (0..count).map(Item::Node).collect(),
            layers: vec![Vec::new(); height],
            below: vec![Vec::new(); count],
            above: vec![Vec::new(); count],
            paths: Vec::with_capacity(edges.len()),
        };
        for (node, depth) in depths.iter().enumerate() {
            layered.layers[*depth].push(node);
        }
        let mut stops: HashMap<(usize, usize), usize> = HashMap::new();
        for (from, to) in edges {
            let mut path = vec![*from];
            for depth in depths[*from] + 1..depths[*to] {
                path.push(*stops.entry((*from, depth)).or_insert_with(|| layered.add_stop(*from, depth)));
            }
            path.push(*to);
            path.windows(2).for_each(|pair| layered.connect(pair[0], pair[1]));
            layered.paths.push(path);
        }
        layered.sort();
        layered
    }

    /// Connects two items of neighbouring layers, once.
    fn connect(&mut self, from: usize, to: usize) {
        if !self.below[from].contains(&to) {
            self.below[from].push(to);
            self.above[to].push(from);
        }
    }

    /// Adds a stop to a layer, for the edges from a node. Returns the item.
    fn add_stop(&mut self, from: usize, depth: usize) -> usize {
        let item = self.items.len();
        self.items.push(Item::Stop(from));
        self.layers[depth].push(item);
        self.below.push(Vec::new());
        self.above.push(Vec::new());
        item
    }

    /// Orders the layers by barycenters, in sweeps down and up.
    fn sort(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for _ in 0..SWEEPS {
            for depth in 1..self.layers.len() {
                self.sort_layer(depth, depth - 1);
            }
            best = self.better(best);
            for depth in (1..self.layers.len()).rev() {
                self.sort_layer(depth - 1, depth);
            }
            best = self.better(best);
        }
        self.layers = best.1;
    }

    fn better(&self, best: (usize, Vec<Vec<usize>>)) -> (usize, Vec<Vec<usize>>) {
        let crossings = self.crossings();
        if crossings < best.0 { (crossings, self.layers.clone()) } else { best }
    }

    /// Sorts a layer by the mean index of the neighbours that an item has in the layer `other`. The
    /// key of an item without neighbours is its own index in its layer.
    fn sort_layer(&mut self, depth: usize, other: usize) {
        let places = self.places(other);
        let neighbours = if other < depth { &self.above } else { &self.below };
        let key = |(place, item): (usize, &usize)| {
            let near = &neighbours[*item];
            let sum: usize = near.iter().map(|n| places[*n]).sum();
            let center = if near.is_empty() { place as f64 } else { sum as f64 / near.len() as f64 };
            (center, *item)
        };
        let mut keyed: Vec<(f64, usize)> = self.layers[depth].iter().enumerate().map(key).collect();
        keyed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        self.layers[depth] = keyed.into_iter().map(|(_, item)| item).collect();
    }

    /// Returns the index of each item of a layer within the layer.
    fn places(&self, depth: usize) -> Vec<usize> {
        let mut places = vec![0; self.items.len()];
        self.layers[depth].iter().enumerate().for_each(|(place, item)| places[*item] = place);
        places
    }

    /// Counts the pairs of edges between neighbouring layers that cross.
    pub(super) fn crossings(&self) -> usize {
        (1..self.layers.len()).map(|depth| self.crossings_above(depth)).sum()
    }

    fn crossings_above(&self, depth: usize) -> usize {
        let places = self.places(depth);
        let ends = self.layers[depth - 1].iter().flat_map(|item| {
            let mut ends: Vec<usize> = self.below[*item].iter().map(|to| places[*to]).collect();
            ends.sort_unstable();
            ends
        });
        // Two edges cross if the edge that starts further left ends further right. A Fenwick tree
        // counts such pairs.
        let size = self.layers[depth].len();
        let mut tree = vec![0; size + 1];
        let (mut crossings, mut count) = (0, 0);
        for end in ends {
            let mut not_after = 0;
            let mut k = end + 1;
            while k > 0 {
                not_after += tree[k];
                k &= k - 1;
            }
            crossings += count - not_after;
            let mut k = end + 1;
            while k <= size {
                tree[k] += 1;
                k += k & k.wrapping_neg();
            }
            count += 1;
        }
        crossings
    }
}

/// Returns the layer of each node: the length of the longest path to it. A node without incoming
/// edges is moved down to the layer above its nearest reader.
fn depths(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut depths = vec![0; count];
    // Each pass settles at least one more node, and the first pass nearly always settles all nodes.
    for _ in 0..count {
        let mut changed = false;
        for (from, to) in edges {
            if depths[*to] <= depths[*from] {
                depths[*to] = depths[*from] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let (mut has_above, mut nearest) = (vec![false; count], vec![None; count]);
    for (from, to) in edges {
        has_above[*to] = true;
        nearest[*from] = nearest[*from].into_iter().chain([depths[*to]]).min();
    }
    let inputs = (0..count).filter(|node| !has_above[*node]);
    let lowered: Vec<(usize, usize)> = inputs.filter_map(|node| Some((node, nearest[node]?))).collect();
    lowered.into_iter().for_each(|(node, reader)| depths[node] = reader - 1);
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(layers: &Layers) -> Vec<Vec<Item>> {
        layers.layers.iter().map(|layer| layer.iter().map(|item| layers.items[*item]).collect()).collect()
    }

    /// Asserts that layers follow longest paths, inputs lie above their first readers, and long
    /// edges have stops.
    #[test]
    fn layers_follow_longest_paths() {
        use Item::{Node, Stop};
        let layers = Layers::of(5, &[(0, 1), (1, 2), (2, 3), (0, 3), (4, 3)]);
        let [first, second, third, last] = &names(&layers)[..] else { panic!("{:?}", names(&layers)) };
        assert_eq!((&first[..], &last[..]), (&[Node(0)][..], &[Node(3)][..]));
        assert!(second.contains(&Stop(0)) && second.contains(&Node(1)) && second.len() == 2, "{second:?}");
        assert!(third.contains(&Node(4)) && third.contains(&Stop(0)) && third.len() == 3, "{third:?}");
        assert_eq!(layers.paths[3].len(), 4);
        // Edges from one node share their stops.
        let layers = Layers::of(5, &[(0, 1), (1, 2), (2, 3), (2, 4), (0, 3), (0, 4)]);
        assert_eq!(layers.items.len(), 5 + 2);
        assert_eq!(layers.paths[4][..3], layers.paths[5][..3]);
        assert!(Layers::of(0, &[]).layers.is_empty());
        assert_eq!(names(&Layers::of(1, &[])), [[Node(0)]]);
    }

    /// Asserts that sweeps remove the crossings of a graph that can be drawn without crossings.
    #[test]
    fn sweeps_remove_crossings() {
        let edges: Vec<(usize, usize)> = (0..6).map(|k| (k, 11 - k)).collect();
        let layers = Layers::of(12, &edges);
        assert_eq!(layers.crossings(), 0, "{:?}", names(&layers));
        // The complete bipartite graph of 3 and 3 has 9 crossings in any order.
        let edges: Vec<(usize, usize)> = (0..9).map(|k| (k / 3, 3 + k % 3)).collect();
        assert_eq!(Layers::of(6, &edges).crossings(), 9);
    }
}
