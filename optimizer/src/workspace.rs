//! Whether an output's writes come in the order of its levels, and the workspace that takes them when they do not.
//!
//! Lists and singletons are appended to, so everything from the outermost level to the last such level must be written
//! in order: its loops are the outermost ones, in the order of the levels. Dense, hash and byte-map levels inside of
//! that take writes as they come. When the order is another one, the outermost levels whose loops do come first and in
//! order stay fixed, and a workspace over the other levels takes the writes of one round of those loops.

use crate::context::Context;
use crate::cost::BYTE_MAP_LIMIT;
use crate::fit::storage_at;
use crate::sizes::Sizes;
use crate::term::{At, Target};
use redpoll_logic::physical::Workspace;
use redpoll_logic::{Field, Format, LeafKind, LevelKind, Writes};

/// Where the writes of an output go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// Into the output.
    InOrder,
    /// Into a workspace inside of `depth` loops, which fix the outermost `levels` levels.
    Workspace { depth: usize, levels: usize },
}

/// Where the writes of an output go in that order of loops.
pub(crate) fn order_of_writes(cx: &Context, target: &Target, format: &Format, sizes: &Sizes, order: &[Field]) -> Scope {
    let appended = format.levels.iter().rposition(|l| l.kind.traits().writes != Writes::Random);
    let Some(appended) = appended else { return Scope::InOrder };
    let spots = storage_at(&target.at, format, &target.shape, sizes, cx.mode());
    let (mut depth, mut levels) = (0, 0);
    for at in &spots {
        match advance(at, sizes, order, depth) {
            Some(further) => (depth, levels) = (further, levels + 1),
            None => break,
        }
    }
    if levels > appended { Scope::InOrder } else { Scope::Workspace { depth, levels } }
}

/// How many loops are outside once this level's loops are taken from the order too, if they come next in it and the
/// coordinate ascends with them. A level whose fields are all bound already has one place a round.
fn advance(at: &At, sizes: &Sizes, order: &[Field], depth: usize) -> Option<usize> {
    let fields = at.fields();
    let count = fields.iter().filter(|f| !order[..depth].contains(f)).count();
    if count == 0 {
        return Some(depth);
    }
    let form = at.as_affine()?;
    let taken = order.get(depth..depth + count)?;
    // From the innermost loop on: a step of a loop is further than those inside of it reach.
    let mut reach: i64 = 0;
    for field in taken.iter().rev() {
        let step = form.coefficient(field);
        if step <= reach {
            return None;
        }
        let last = i64::try_from(sizes.of(field).saturating_sub(1)).ok()?;
        reach = reach.checked_add(step.checked_mul(last)?)?;
    }
    Some(depth + count)
}

/// The workspace of an output, if it needs one.
pub(crate) fn workspace(
    cx: &Context,
    target: &Target,
    format: &Format,
    sizes: &Sizes,
    order: &[Field],
) -> Option<Workspace> {
    let Scope::Workspace { depth, levels } = order_of_writes(cx, target, format, sizes, order) else { return None };
    let kinds = workspace_kinds(cx, target, format, sizes, order, (depth, levels));
    Some(Workspace { depth, format: Format::of_kinds(&kinds, LeafKind::Element) })
}

/// The levels of a workspace inside of `depth` loops, which fix the outermost `levels` levels.
pub(crate) fn workspace_kinds(
    cx: &Context,
    target: &Target,
    format: &Format,
    sizes: &Sizes,
    order: &[Field],
    (depth, levels): (usize, usize),
) -> Vec<LevelKind> {
    let dimensions = format.storage_shape(&target.shape);
    let spots = storage_at(&target.at, format, &target.shape, sizes, cx.mode());
    // A level may be fixed below one that is not: two loops that make up one coordinate fix one more each.
    let is_open = |k: &usize| spots[*k].fields().iter().any(|f| !order[..depth].contains(f));
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
