//! Replaces accesses that are discordant with the loop order by accesses to concordant copies.
//!
//! [`discordant_reads`] finds these accesses and chooses the format of a copy for each; the caller
//! plans the copies, one for each distinct (tensor, format), as queries of their own before the
//! reader. [`concordize`] then replaces the accesses. The copy's format has the modes in the order
//! in which the loops bind them. Trailing dense modes (blocks, rows) stay dense, and the other
//! levels are sparse lists, with one exception: the outermost level is dense if a list is inside
//! it, and its dimension is not much larger than the number of stored entries. A copy of a dense
//! tensor is dense.

use crate::access::fit::{LevelUse, fit, storage_coordinates};
use crate::facts::Facts;
use crate::schedule::isolate::{FoldPass, Schedule};
use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, Nest, NestKind, Node, Read, Target, Term, TypedAlias};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Alias, ComputedFills, Field, FloatMode, Format, LevelFormat, LevelKind, StorageMode};

/// A read that is discordant with the loops around it.
pub(crate) struct DiscordantRead {
    pub(crate) read: Read,
    loops: Vec<Field>,
    /// The format of a copy that the loops can walk.
    pub(crate) format: Format,
}

/// Discordant reads, each with the copy that replaces its tensor.
pub(crate) type ReplacedReads = Vec<(DiscordantRead, TypedAlias)>;

/// Returns the discordant reads of a schedule. Reads in the subscripts of a read come before the
/// read itself.
pub(crate) fn discordant_reads(facts: &Facts, schedule: &Schedule) -> Vec<DiscordantRead> {
    let mut found: Vec<DiscordantRead> = Vec::new();
    if schedule.kind == NestKind::Copy {
        return found;
    }
    let sizes = &schedule.sizes;
    schedule.each_value(&mut |value, loops| {
        each_inner_read_first(value, &mut |read| {
            let positions = |f: &Field| loops.iter().position(|g| g == f);
            let uses = fit(read, sizes, &positions, NestKind::Query, facts.mode());
            if uses.contains(&LevelUse::Discordant) && !found.iter().any(|other| other.is_at(read, loops)) {
                let format = copy_format(facts, read, sizes, loops);
                found.push(DiscordantRead { read: read.clone(), loops: loops.to_vec(), format });
            }
        });
    });
    found
}

impl DiscordantRead {
    fn is_at(&self, read: &Read, loops: &[Field]) -> bool {
        self.read == *read && self.loops == loops
    }
}

/// Visits the reads of a term, reads in subscripts first. The reads of temporaries, which have
/// loops of their own, are left out.
fn each_inner_read_first<'t>(term: &'t Term, f: &mut dyn FnMut(&'t Read)) {
    match term.node() {
        Node::Temporary(..) => {}
        Node::Access(read) => {
            for at in &read.coordinates {
                if let ModeCoordinate::Value(value) = at {
                    each_inner_read_first(value, f);
                }
            }
            f(read);
        }
        _ => term.children().iter().for_each(|child| each_inner_read_first(child, f)),
    }
}

/// Makes every access of the schedule concordant, by replacing the discordant reads.
pub(crate) fn concordize(mut schedule: Schedule, replaced: &ReplacedReads, mode: FloatMode) -> Schedule {
    if replaced.is_empty() {
        return schedule;
    }
    let order = &schedule.order;
    for target in &mut schedule.outputs {
        target.value = concordize_term(&target.value, order, replaced, mode);
        for at in &mut target.coordinates {
            if let ModeCoordinate::Value(t) = at {
                *at = ModeCoordinate::from_value(concordize_term(t, order, replaced, mode));
            }
        }
    }
    for pass in &mut schedule.temporaries {
        concordize_pass(pass, order, replaced, mode);
    }
    schedule
}

fn concordize_pass(pass: &mut FoldPass, outside: &[Field], replaced: &ReplacedReads, mode: FloatMode) {
    let loops = pass.loops(outside);
    for inner in &mut pass.temporaries {
        concordize_pass(inner, &loops, replaced, mode);
    }
    for (_, fold) in &mut pass.folds {
        fold.arg = concordize_term(&fold.arg, &loops, replaced, mode);
    }
}

fn concordize_term(term: &Term, loops: &[Field], replaced: &ReplacedReads, mode: FloatMode) -> Term {
    let replacement = &mut |t: &Term| match t.node() {
        // The folds of temporaries have passes of their own.
        Node::Temporary(..) => Some(t.clone()),
        Node::Access(read) => Some(Term::access(concordize_read(read, loops, replaced, mode))),
        _ => None,
    };
    term.replace(replacement, mode)
}

fn concordize_read(read: &Read, loops: &[Field], replaced: &ReplacedReads, mode: FloatMode) -> Read {
    let copy = replaced.iter().find(|(discordant, _)| discordant.is_at(read, loops)).map(|(_, copy)| copy.clone());
    let (tensor, ty) = copy.unwrap_or_else(|| (read.tensor.clone(), read.ty.clone()));
    let coordinates = read.coordinates.iter().map(|at| match at {
        ModeCoordinate::Value(t) => ModeCoordinate::from_value(concordize_term(t, loops, replaced, mode)),
        ModeCoordinate::Subscript(_) => at.clone(),
    });
    Read { tensor, ty, coordinates: coordinates.collect(), outside: read.outside.clone() }
}

/// Returns the format of a concordant copy.
pub(crate) fn copy_format(facts: &Facts, read: &Read, sizes: &Sizes, order: &[Field]) -> Format {
    let source = &read.ty.format;
    let position = |at: &ModeCoordinate| {
        let last = at.fields().iter().filter_map(|f| order.iter().position(|g| g == f)).max();
        last.map_or(0, |p| p + 1)
    };
    let coordinates = storage_coordinates(&read.coordinates, source, &read.ty.shape, sizes, facts.mode());
    let keeps_blocks = read.outside.is_none() && coordinates.iter().all(|at| at.as_field().is_some());
    // Dense levels inside all sparse ones are blocks or rows of values; a dense level outside of a
    // sparse one may have many empty fibers.
    let sparse = source.levels.iter().rposition(|l| l.kind != LevelKind::Dense);
    let is_packed = |level: usize| sparse.is_none_or(|s| level > s);
    let mut modes: Vec<(usize, StorageMode, bool)> = if keeps_blocks {
        (0..coordinates.len()).map(|k| (position(&coordinates[k]), source.modes[k], is_packed(k))).collect()
    } else {
        let whole = |mode: usize| {
            let level = source.modes.iter().position(|m| *m == StorageMode::Whole { mode });
            (position(&read.coordinates[mode]), StorageMode::Whole { mode }, level.is_some_and(is_packed))
        };
        (0..read.coordinates.len()).map(whole).collect()
    };
    modes.sort_by_key(|(p, ..)| *p);
    let stored = facts.ask(&read.tensor, &read.ty, Question::Positions(source.levels.len())).estimate;
    let unpacked = modes.iter().rposition(|(.., packed)| !packed);
    let levels = modes.iter().enumerate().map(|(k, (_, mode, _))| {
        let is_cheap_dense =
            k == 0 && unpacked > Some(0) && mode.dimension(&read.ty.shape) as f64 <= 4.0 * stored + 16.0;
        let dense = sparse.is_none() || is_cheap_dense || unpacked.is_none_or(|u| k > u);
        LevelFormat::new(if dense { LevelKind::Dense } else { LevelKind::SparseList })
    });
    Format { levels: levels.collect(), modes: modes.iter().map(|(_, m, _)| *m).collect(), leaf: source.leaf }
}

/// Returns the nest that makes a copy.
pub(crate) fn copy_nest(read: &Read, format: Format, alias: Alias) -> Nest {
    let fields: Vec<Field> = (0..read.coordinates.len()).map(|k| Field::from(format!("c{k}"))).collect();
    let mut sizes = Sizes::default();
    for (field, &size) in fields.iter().zip(&read.ty.shape) {
        sizes.insert(field.clone(), size);
    }
    let coordinates: Vec<ModeCoordinate> = fields.iter().map(ModeCoordinate::field).collect();
    let source =
        Read { tensor: read.tensor.clone(), ty: read.ty.clone(), coordinates: coordinates.clone(), outside: None };
    let target = Target {
        alias,
        shape: read.ty.shape.clone(),
        fill: read.ty.fill.clone(),
        coordinates,
        fold: None,
        value: Term::access(source),
        format: Some(format),
        computed: ComputedFills::Keep,
    };
    Nest { outputs: vec![target], sizes, pins: Vec::new(), kind: NestKind::Copy }
}
