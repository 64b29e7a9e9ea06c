//! Combinations of formats: all of them if there are few, otherwise a set that covers all pairs of
//! levels.

use crate::rng::Rng;
use redpoll_logic::{Format, LevelKind};
use redpoll_storage::testing::formats_of_rank;
use std::collections::BTreeSet;

/// A level of an operand: the operand, the depth, and the kind with the uniqueness of coordinates.
type Feature = (usize, usize, u8);

/// Returns the levels of the format of an operand.
fn features(operand: usize, format: &Format) -> Vec<Feature> {
    let kind = |kind: LevelKind, unique: bool| kind as u8 * 2 + u8::from(unique);
    format.levels.iter().enumerate().map(|(depth, l)| (operand, depth, kind(l.kind, l.unique))).collect()
}

/// Returns the pairs of levels of a combination, with the smaller one first.
fn pairs(combination: &[Format]) -> Vec<(Feature, Feature)> {
    let all: Vec<Feature> = combination.iter().enumerate().flat_map(|(k, format)| features(k, format)).collect();
    (0..all.len()).flat_map(|k| all[k + 1..].iter().map(|b| (all[k], *b)).collect::<Vec<_>>()).collect()
}

/// Returns all pairs of levels that combinations of the given formats can have.
fn possible_pairs(formats: &[Vec<Format>]) -> BTreeSet<(Feature, Feature)> {
    let mut possible = BTreeSet::new();
    for (k, candidates) in formats.iter().enumerate() {
        let levels = |k: usize| formats[k].iter().flat_map(|format| features(k, format)).collect::<BTreeSet<_>>();
        let own = levels(k);
        for other in k + 1..formats.len() {
            let others = levels(other);
            possible.extend(own.iter().flat_map(|a| others.iter().map(|b| (*a, *b))));
        }
        for format in candidates {
            let levels = features(k, format);
            possible.extend(
                (0..levels.len()).flat_map(|d| levels[d + 1..].iter().map(|b| (levels[d], *b)).collect::<Vec<_>>()),
            );
        }
    }
    possible
}

/// Returns combinations of formats for operands of the given ranks: all combinations if there are
/// at most `max_enumerated`, otherwise at least `min_drawn` random ones, in which each level of each
/// operand meets each level at every other place.
pub fn combinations(rng: &mut Rng, ranks: &[usize], min_drawn: usize, max_enumerated: usize) -> Vec<Vec<Format>> {
    let all: Vec<Vec<Format>> = ranks.iter().map(|r| formats_of_rank(*r)).collect();
    if all.iter().map(Vec::len).try_fold(1, usize::checked_mul).is_some_and(|count| count <= max_enumerated) {
        return product(&all);
    }
    let mut missing = possible_pairs(&all);
    let mut chosen = Vec::new();
    while chosen.len() < min_drawn || !missing.is_empty() {
        let mut next: Vec<Format> = all.iter().map(|formats| rng.pick(formats).clone()).collect();
        if !missing.is_empty() {
            let (a, b) = *missing.iter().nth(rng.index(missing.len())).expect("it is not empty");
            for operand in [a.0, b.0] {
                let wanted: Vec<Feature> = [a, b].into_iter().filter(|feature| feature.0 == operand).collect();
                let has_wanted = |f: &&Format| {
                    let levels = features(operand, f);
                    wanted.iter().all(|feature| levels.contains(feature))
                };
                let matching: Vec<&Format> = all[operand].iter().filter(has_wanted).collect();
                next[operand] = (*rng.pick(&matching)).clone();
            }
        }
        for pair in pairs(&next) {
            missing.remove(&pair);
        }
        chosen.push(next);
    }
    chosen
}

fn product(lists: &[Vec<Format>]) -> Vec<Vec<Format>> {
    lists.iter().fold(vec![Vec::new()], |prefixes, list| {
        let extend = |prefix: &Vec<Format>| {
            list.iter().map(|f| [&prefix[..], std::slice::from_ref(f)].concat()).collect::<Vec<_>>()
        };
        prefixes.iter().flat_map(extend).collect()
    })
}
