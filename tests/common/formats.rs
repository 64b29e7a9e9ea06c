//! Combinations of formats for several operands: all combinations if there are few, otherwise a
//! random set in which each operand has each kind of level.

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

/// Returns all combinations of formats for operands of the given ranks, if there are at most
/// `count`. Otherwise returns at least `count` random combinations, in which each operand has each
/// kind of level at each depth.
pub fn combinations(rng: &mut Rng, ranks: &[usize], count: usize) -> Vec<Vec<Format>> {
    let all: Vec<Vec<Format>> = ranks.iter().map(|r| formats_of_rank(*r)).collect();
    if all.iter().map(Vec::len).try_fold(1, usize::checked_mul).is_some_and(|total| total <= count) {
        return product(&all);
    }
    let levels = |(operand, formats): (usize, &Vec<Format>)| {
        formats.iter().flat_map(|format| features(operand, format)).collect::<Vec<_>>()
    };
    let mut missing: BTreeSet<Feature> = all.iter().enumerate().flat_map(levels).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count || !missing.is_empty() {
        let draw = |(operand, formats): (usize, &Vec<Format>)| {
            let is_missing = |f: &&Format| features(operand, f).iter().any(|feature| missing.contains(feature));
            let preferred: Vec<&Format> = formats.iter().filter(is_missing).collect();
            let format = if preferred.is_empty() { rng.pick(formats) } else { *rng.pick(&preferred) };
            format.clone()
        };
        let next: Vec<Format> = all.iter().enumerate().map(draw).collect();
        for feature in next.iter().enumerate().flat_map(|(operand, format)| features(operand, format)) {
            missing.remove(&feature);
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
