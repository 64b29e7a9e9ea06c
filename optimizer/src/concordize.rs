//! Replaces accesses that are discordant with the loop order by accesses to concordant copies.
//!
//! Input and output: a schedule. Each distinct (tensor, format) is copied once, by a query of its
//! own before the reader. The copy's format has the modes in the order in which the loops bind
//! them. Its outermost level is dense when the pointers cost little, trailing dense modes (blocks,
//! rows) stay dense, and the others are sparse lists.

use crate::context::Context;
use crate::error::Error;
use crate::fit::{LevelUse, fit, storage_coordinates};
use crate::isolate::{FoldPass, Schedule};
use crate::plan_task;
use crate::sizes::Sizes;
use crate::term::{ModeCoordinate, Nest, NestKind, Node, Read, Target, Term, TypedAlias};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Alias, ComputedFills, Field, Format, LevelFormat, LevelKind, StorageMode, TensorType};
use std::sync::Arc;

/// Makes every access of the schedule concordant.
pub(crate) fn concordize(cx: &mut Context, mut schedule: Schedule) -> Result<Schedule, Error> {
    let (sizes, kind) = (schedule.sizes.clone(), schedule.kind);
    if kind == NestKind::Copy {
        return Ok(schedule);
    }
    let order = schedule.order.clone();
    for target in &mut schedule.outputs {
        target.value = concordize_term(cx, &target.value, &sizes, &order)?;
        for at in &mut target.coordinates {
            if let ModeCoordinate::Value(t) = at {
                *at = ModeCoordinate::from_value(concordize_term(cx, t, &sizes, &order)?);
            }
        }
    }
    for pass in &mut schedule.temporaries {
        concordize_pass(cx, pass, &sizes, &order)?;
    }
    Ok(schedule)
}

fn concordize_pass(cx: &mut Context, pass: &mut FoldPass, sizes: &Sizes, outside: &[Field]) -> Result<(), Error> {
    let order: Vec<Field> = outside[..pass.depth].iter().chain(&pass.order).cloned().collect();
    for inner in &mut pass.temporaries {
        concordize_pass(cx, inner, sizes, &order)?;
    }
    for (_, fold) in &mut pass.folds {
        fold.arg = concordize_term(cx, &fold.arg, sizes, &order)?;
    }
    Ok(())
}

fn concordize_term(cx: &mut Context, term: &Term, sizes: &Sizes, order: &[Field]) -> Result<Term, Error> {
    let mode = cx.mode();
    let mut error = None;
    let result = term.replace(
        &mut |t| match t.node() {
            // The folds of temporaries have passes of their own.
            Node::Temporary(..) => Some(t.clone()),
            Node::Access(read) => match concordize_read(cx, read, sizes, order) {
                Ok(read) => Some(Term::access(read)),
                Err(e) => {
                    error = Some(e);
                    Some(t.clone())
                }
            },
            _ => None,
        },
        mode,
    );
    error.map_or(Ok(result), Err)
}

fn concordize_read(cx: &mut Context, read: &Read, sizes: &Sizes, order: &[Field]) -> Result<Read, Error> {
    let mut coordinates = Vec::new();
    for a in &read.coordinates {
        coordinates.push(match a {
            ModeCoordinate::Value(t) => ModeCoordinate::from_value(concordize_term(cx, t, sizes, order)?),
            ModeCoordinate::Subscript(_) => a.clone(),
        });
    }
    let read = Read { coordinates, ..read.clone() };
    let positions = |f: &Field| order.iter().position(|g| g == f);
    if !fit(&read, sizes, &positions, NestKind::Query, cx.mode()).contains(&LevelUse::Discordant) {
        return Ok(read);
    }
    let format = copy_format(cx, &read, sizes, order);
    let (tensor, ty) = plan_copy(cx, &read, format)?;
    Ok(Read { tensor, ty, ..read })
}

/// Returns the name and type of a copy of a read's tensor in another format, and plans the copy if
/// there is none.
pub(crate) fn plan_copy(cx: &mut Context, read: &Read, format: Format) -> Result<TypedAlias, Error> {
    let ty = Arc::new(TensorType { format: format.clone(), ..(*read.ty).clone() });
    if let Some((.., alias)) = cx.copies.iter().find(|(t, f, _)| *t == read.tensor && *f == format) {
        return Ok((alias.clone(), ty));
    }
    let alias = cx.names.fresh(&read.tensor);
    plan_task(cx, copy_nest(read, format.clone(), alias.clone()).into())?;
    cx.copies.push((read.tensor.clone(), format, alias.clone()));
    Ok((alias, ty))
}

/// Returns the format of a concordant copy.
pub(crate) fn copy_format(cx: &Context, read: &Read, sizes: &Sizes, order: &[Field]) -> Format {
    let source = &read.ty.format;
    let position = |at: &ModeCoordinate| {
        let last = at.fields().iter().filter_map(|f| order.iter().position(|g| g == f)).max();
        last.map_or(0, |p| p + 1)
    };
    let coordinates = storage_coordinates(&read.coordinates, source, &read.ty.shape, sizes, cx.mode());
    let keeps_blocks = read.outside.is_none() && coordinates.iter().all(|at| at.as_field().is_some());
    // Dense levels inside all sparse ones are blocks or rows of values; dense levels outside may
    // store few of their coordinates.
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
    let stored = cx.ask(&read.tensor, &read.ty, Question::Positions(source.levels.len())).estimate;
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
