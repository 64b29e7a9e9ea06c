//! The paths by which several writes reach the entries of one tensor, and their order.

use super::Index;
use super::linear::{Atom, Linear};
use redpoll_logic::is_ascending_mixed_radix;

/// A loop that may have more than one round, or whose begin is not a linear form.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct RepeatedLoop {
    /// The number of the loop among the binders since the declaration.
    pub(super) binder: usize,
    pub(super) index: Index,
    /// The maximum number of rounds, if a constant maximum is proved.
    pub(super) rounds: Option<i64>,
    /// The loops that are merged with this loop. If this loop iterates over the rounds of a block
    /// or of a part of a block, these are the loops over blocks and parts directly around it.
    pub(super) blocks: Vec<Index>,
}

impl RepeatedLoop {
    /// Returns the indices of the merged loops and of this loop, outermost first.
    pub(super) fn into_indices(self) -> impl Iterator<Item = Index> {
        self.blocks.into_iter().chain([self.index])
    }
}

/// The part of a write path that resolves one level.
#[derive(PartialEq)]
pub(super) struct PathLevel {
    /// The innermost loop inside of the declaration whose index occurs in the subscript, if there
    /// is one.
    pub(super) resolved_by: Option<Index>,
    /// The coordinate as a linear form, in which the atoms bound inside of the declaration are
    /// expanded.
    pub(super) form: Linear,
    /// The number of repeated loops that resolve this level and the levels above.
    pub(super) resolved: usize,
    /// True if several loops can append to one fiber: the level is dense or a sparse list, and
    /// unique.
    pub(super) is_list: bool,
}

/// The path of a write whose coordinates ascend with its loops.
pub(super) struct WritePath {
    /// The levels that are written in order, outermost first.
    pub(super) levels: Vec<PathLevel>,
    /// The repeated loops from the declaration to the write, outermost first.
    pub(super) loops: Vec<RepeatedLoop>,
}

impl WritePath {
    /// Returns whether another write reaches its entries by the same loops and subscripts.
    pub(super) fn is_same(&self, other: &WritePath) -> bool {
        let path = |l: &PathLevel| (l.resolved_by, l.form.clone());
        self.levels.iter().map(path).eq(other.levels.iter().map(path))
    }

    /// Returns whether the coordinates of this write and of a later write are proved to ascend in
    /// the order of the program. At the first level where the paths differ, different loops must
    /// resolve the two coordinates; loops around both writes must resolve all levels above.
    ///
    /// Let `r` be the rounds of the loops around both writes that resolve no level above. The
    /// coordinates at this level are
    /// ```text
    /// earlier: a r + b,  0 <= b <= reach        later: a r + distance
    /// ```
    /// These coordinates ascend if `reach < distance`, and if `a r` plus any number from 0 to
    /// `distance` is below all such sums of the next rounds `r`.
    pub(super) fn is_before(&self, later: &WritePath) -> bool {
        let common = self.loops.iter().zip(&later.loops).take_while(|(a, b)| a == b).count();
        let indices = |path: &WritePath| -> Vec<Index> {
            path.loops[common..].iter().cloned().flat_map(RepeatedLoop::into_indices).collect()
        };
        let later_indices = indices(later);
        // A loop around both writes is missing from `common` if only one path merges it with loops
        // over blocks. The order is not proved then.
        if indices(self).iter().any(|index| later_indices.contains(index)) {
            return false;
        }
        let differs = |(a, b): (&PathLevel, &PathLevel)| (a.resolved_by, &a.form) != (b.resolved_by, &b.form);
        let Some(level) = self.levels.iter().zip(&later.levels).position(differs) else { return false };
        // The code of one loop resolves the coordinates of its writes together, not in the order of
        // the writes.
        if self.levels[level].resolved_by == later.levels[level].resolved_by || !self.levels[level].is_list {
            return false;
        }
        let resolved = if level == 0 { 0 } else { self.levels[level - 1].resolved };
        if resolved > common {
            return false;
        }
        let (from, to) = (&self.levels[level].form, &later.levels[level].form);
        let step = |form: &Linear, l: &RepeatedLoop| form.coefficient(Atom::Index(l.index));
        let own = || self.loops[common..].iter().filter(|l| step(from, l) != 0);
        let reach = own().try_fold(0i64, |reach, l| {
            let (step, rounds) = (step(from, l), l.rounds?);
            reach.checked_add(step.checked_mul(rounds.max(1) - 1)?).filter(|_| step > 0)
        });
        let first = own().fold(from.clone(), |form, l| form.without(Atom::Index(l.index)));
        let distance = first.times(-1).and_then(|first| to.plus(&first)?.as_constant());
        let Some((reach, distance)) = reach.zip(distance) else { return false };
        let mut digits: Vec<_> = self.loops[resolved..common].iter().map(|l| (step(from, l), l.rounds)).collect();
        digits.push((1, distance.checked_add(1)));
        reach < distance && ascend(&digits)
    }
}

/// Returns whether a coordinate ascends with loops of these steps and maximum numbers of rounds,
/// outermost first.
pub(super) fn ascend(steps: &[(i64, Option<i64>)]) -> bool {
    let digits: Vec<_> = steps.iter().map(|(step, n)| (*step, n.map(|n| n.max(1).cast_unsigned()))).collect();
    is_ascending_mixed_radix(&digits)
}
