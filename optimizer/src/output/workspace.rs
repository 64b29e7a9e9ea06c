//! Decides whether an output's writes are in the order of its levels, and chooses the workspace for
//! writes in another order.
//!
//! Levels such as lists, singletons, blocks and runs are append-only. So all levels from the
//! outermost to the last append-only level must be written in order: their loops must be outermost,
//! in the order of the levels. Dense, hash, byte-map and bit-map levels further inside take writes
//! in any order. If the loops have another order, only the first levels whose loops are outermost
//! and in order are fixed. A workspace over the other levels takes the writes of one iteration of
//! the loops that bind the fixed levels.
//!
//! A pattern leaf stores `true` alone. A fold other than a disjunction may change `true` to
//! `false`, so it writes into a workspace until the fold is complete.

use crate::access::fit::storage_coordinates;
use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, Target};
use crate::work::cost::BYTE_MAP_LIMIT;
use redpoll_logic::physical::Workspace;
use redpoll_logic::{Field, Format, LeafKind, LevelKind, is_ascending_mixed_radix};

/// The destination of an output's writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteDestination {
    /// The output itself.
    Output,
    /// A workspace inside `depth` loops, which fix the outermost `levels` levels.
    Workspace { depth: usize, levels: usize },
}

/// Returns the destination of an output's writes in a loop order.
pub(crate) fn write_destination(
    facts: &Facts,
    target: &Target,
    format: &Format,
    sizes: &Sizes,
    order: &[Field],
) -> WriteDestination {
    let appended = format.levels.iter().rposition(|l| !l.kind.traits().writes.is_random());
    // A fold other than a disjunction must be complete before its results go to a pattern leaf.
    let needs_complete_fold =
        format.leaf == LeafKind::Pattern && target.fold.as_ref().is_some_and(|(op, _)| !op.is_disjunction());
    if appended.is_none() && !needs_complete_fold {
        return WriteDestination::Output;
    }
    let coordinates = storage_coordinates(&target.coordinates, format, &target.shape, sizes, facts.mode());
    let (mut depth, mut levels) = (0, 0);
    for at in &coordinates {
        match next_depth(at, sizes, order, depth) {
            Some(next) => (depth, levels) = (next, levels + 1),
            None => break,
        }
    }
    if !needs_complete_fold && appended.is_some_and(|k| levels > k) {
        WriteDestination::Output
    } else {
        WriteDestination::Workspace { depth, levels }
    }
}

/// Returns the number of outermost loops up to and including this level's loops, if these are next
/// in the order and the coordinate ascends with them. A level whose fields are all bound has one
/// coordinate per iteration of the bound loops. If this coordinate is a computed value, and there
/// are loops inside, these would repeat the coordinate, so the result is `None`.
fn next_depth(at: &ModeCoordinate, sizes: &Sizes, order: &[Field], depth: usize) -> Option<usize> {
    let fields = at.fields();
    let count = fields.iter().filter(|f| !order[..depth].contains(f)).count();
    if count == 0 {
        let is_repeated = matches!(at, ModeCoordinate::Value(_)) && depth < order.len();
        return (!is_repeated).then_some(depth);
    }
    let form = at.as_affine()?;
    let own_loops = order.get(depth..depth + count)?;
    let digits: Vec<_> = own_loops.iter().map(|field| (form.coefficient(field), Some(sizes.of(field)))).collect();
    is_ascending_mixed_radix(&digits).then_some(depth + count)
}

/// Returns the workspace of an output; `None` if the writes go to the output itself.
pub(crate) fn workspace(
    facts: &Facts,
    target: &Target,
    format: &Format,
    sizes: &Sizes,
    order: &[Field],
) -> Option<Workspace> {
    let WriteDestination::Workspace { depth, levels } = write_destination(facts, target, format, sizes, order) else {
        return None;
    };
    let kinds = workspace_kinds(facts, target, format, sizes, order, (depth, levels));
    Some(Workspace { depth, format: Format::of_kinds(&kinds, LeafKind::Element) })
}

/// Returns the level kinds of a workspace inside `depth` loops, which fix the outermost `levels`
/// levels.
pub(crate) fn workspace_kinds(
    facts: &Facts,
    target: &Target,
    format: &Format,
    sizes: &Sizes,
    order: &[Field],
    (depth, levels): (usize, usize),
) -> Vec<LevelKind> {
    let dimensions = format.storage_shape(&target.shape);
    let coordinates = storage_coordinates(&target.coordinates, format, &target.shape, sizes, facts.mode());
    // A level is open if one of its loops is not among the outermost `depth` loops. A level inside
    // an open level may be fixed.
    let is_open = |k: &usize| coordinates[*k].fields().iter().any(|f| !order[..depth].contains(f));
    let mut single = true;
    (levels..format.levels.len())
        .filter(is_open)
        .map(|k| {
            let kind = match format.levels[k].kind {
                LevelKind::Dense => LevelKind::Dense,
                _ if single && dimensions[k] <= BYTE_MAP_LIMIT => LevelKind::ByteMap,
                _ => LevelKind::Hash,
            };
            single = false;
            kind
        })
        .collect()
}
