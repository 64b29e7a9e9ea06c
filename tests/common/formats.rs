//! Combinations of formats: all of them if there are few, otherwise a set that covers all pairs of
//! levels.

use crate::rng::Rng;
use redpoll_logic::{Format, LevelKind};
use redpoll_storage::testing::{concordant_formats_of_rank, formats_of_rank};
use std::collections::BTreeSet;

/// Largest number of combinations of formats to enumerate.
const MAX_COMBINATIONS: usize = 450;

/// Returns the features of a format that are combined with those of another: the kind of the level
/// at each depth, and whether its coordinates are unique.
fn features(format: &Format) -> Vec<(usize, u8)> {
    let kind = |k: LevelKind, unique: bool| k as u8 * 2 + u8::from(unique);
    let levels = format.levels.iter().enumerate();
    levels.map(|(depth, l)| (depth, kind(l.kind, l.unique))).collect()
}

/// Returns combinations of formats for operands of the given ranks.
///
/// For one or two operands with at most `MAX_COMBINATIONS` combinations, these are all
/// combinations. Otherwise, for one or two operands, all concordant combinations come first, within
/// the same limit. Then at least `min_count` combinations are drawn, until each level of each
/// operand is paired with each level of every other operand.
pub fn combinations(rng: &mut Rng, ranks: &[usize], min_count: usize) -> Vec<Vec<Format>> {
    let all: Vec<Vec<Format>> = ranks.iter().map(|r| formats_of_rank(*r)).collect();
    let count: usize = all.iter().map(Vec::len).product();
    if ranks.len() <= 2 && count <= MAX_COMBINATIONS {
        return product(&all);
    }
    let mut chosen = Vec::new();
    let concordant: Vec<Vec<Format>> = ranks.iter().map(|r| concordant_formats_of_rank(*r)).collect();
    if ranks.len() <= 2 && concordant.iter().map(Vec::len).product::<usize>() <= MAX_COMBINATIONS {
        chosen = product(&concordant);
    }
    let mut missing = BTreeSet::new();
    for (a, formats_a) in all.iter().enumerate() {
        for (b, formats_b) in all.iter().enumerate().skip(a + 1) {
            let feature_set = |formats: &[Format]| formats.iter().flat_map(features).collect::<BTreeSet<_>>();
            for x in feature_set(formats_a) {
                missing.extend(feature_set(formats_b).into_iter().map(|y| (a, x, b, y)));
            }
        }
    }
    let min_count = chosen.len() + min_count;
    while chosen.len() < min_count || !missing.is_empty() {
        let mut next: Vec<Format> = all.iter().map(|formats| rng.pick(formats).clone()).collect();
        if !missing.is_empty() {
            let (a, x, b, y) = *missing.iter().nth(rng.index(missing.len())).expect("it is not empty");
            for (operand, feature) in [(a, x), (b, y)] {
                let matching: Vec<&Format> = all[operand].iter().filter(|f| features(f).contains(&feature)).collect();
                next[operand] = (*rng.pick(&matching)).clone();
            }
        }
        missing.retain(|(a, x, b, y)| !(features(&next[*a]).contains(x) && features(&next[*b]).contains(y)));
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
