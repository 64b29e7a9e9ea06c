//! Chooses the format of an output, and estimates its numbers of positions.
//!
//! A requested format is checked and used; an output that is cheaper dense has a dense request from
//! the loop order. Otherwise storage modes follow the loop order. A level is sparse if the
//! estimated fraction of its coordinates that are not fill is at most [`cost::DENSE_FRACTION`].
//!
//! Fill is proved from fills and operators: an operator preserves fill only if its properties say
//! so, and an output whose fill is not preserved is dense. The innermost level keeps runs, blocks
//! and bands of the operands where `structure` says so. If an operand stores exactly the same
//! coordinates, the output has its levels. An output with only dense levels is stored in the order
//! of its modes.

use crate::context::Context;
use crate::cost;
use crate::error::Error;
use crate::estimate::Marginal;
use crate::fit::storage_at;
use crate::patterns::{kept_format, pattern, patterns};
use crate::sizes::Sizes;
use crate::structure::{kept, runs};
use crate::term::{At, Target};
use crate::workspace::{Scope, order_of_writes};
use redpoll_logic::statistics::{Answer, Question};
use redpoll_logic::{Field, Format, LeafKind, LevelFormat, LevelKind, StorageMode, TensorType};

/// Returns the format of an output.
pub(crate) fn choose_format(cx: &Context, target: &Target, sizes: &Sizes, order: &[Field]) -> Result<Format, Error> {
    if let Some(format) = &target.format {
        let wrong = |what: String| Err(Error::Format { query: target.alias.clone(), what });
        if format.rank() != target.shape.len() {
            return wrong(format!("has {} modes where the result has {}", format.rank(), target.shape.len()));
        }
        let (shape, dtype, fill) = (target.shape.clone(), target.value.dtype(), target.fill.clone());
        let ty = TensorType { shape, dtype, fill, format: format.clone() };
        if let Err(error) = ty.validate() {
            return wrong(format!("is not one for its result: {error}"));
        }
        return Ok(format.clone());
    }
    let rank = target.shape.len();
    if target.at.iter().any(|at| matches!(at, At::Value(_))) {
        let places: f64 = target.shape.iter().map(|&n| n as f64).product();
        let dense = places <= cost::SCATTER_LIMIT || cx.writes(target, sizes) >= places / 4.0;
        return Ok(if dense { Format::dense(rank) } else { sparse_format(target, sizes, order) });
    }
    if let Some(format) = kept_format(cx, &patterns(cx, target, sizes), sizes, order) {
        return Ok(format);
    }
    let mut format = sparse_format(target, sizes, order);
    let dimensions = format.storage_shape(&target.shape);
    let spots = storage_at(&target.at, &format, &target.shape, sizes, cx.mode());
    let mut bound: Vec<Field> = Vec::new();
    let mut above = 1.0;
    for (k, at) in spots.iter().enumerate() {
        let fields = at.fields();
        let fraction = if fields.iter().all(|f| bound.contains(f)) {
            1.0 / dimensions[k].max(1) as f64
        } else {
            bound.extend(fields);
            let here = cx.output_support(target, sizes, &bound);
            let fraction = if above > 0.0 { here / above } else { 0.0 };
            above = here;
            fraction
        };
        // Blocks are dense inside.
        let inner = matches!(format.modes[k], StorageMode::Inner { .. });
        let full = fraction > cost::DENSE_FRACTION || dimensions[k] <= 1 || inner;
        if full {
            format.levels[k] = LevelFormat::new(LevelKind::Dense);
        }
        if let Some(field) =
            at.as_field().filter(|f| k + 1 == spots.len() && dimensions[k] > 1 && order.last() == Some(f))
            && let Some(kind) = kept(cx, target, sizes, field, (!full).then(|| fraction * dimensions[k] as f64))
        {
            let mut keeping = format.clone();
            keeping.levels[k] = LevelFormat::new(kind);
            if order_of_writes(cx, target, &keeping, sizes, order) == Scope::InOrder {
                format = keeping;
            }
        }
    }
    let dense = format.is_dense();
    Ok(if dense { Format::dense(rank) } else { format })
}

/// Returns a format of sparse lists over the storage modes, in loop order.
pub(crate) fn sparse_format(target: &Target, sizes: &Sizes, order: &[Field]) -> Format {
    let position = |f: &Field| order.iter().position(|g| g == f).map_or(0, |p| p + 1);
    let mut modes: Vec<(usize, StorageMode)> = Vec::new();
    for (mode, at) in target.at.iter().enumerate() {
        match at.as_affine().and_then(|form| sizes.as_split(form)) {
            Some((outer, inner, block)) if sizes.block(inner).is_some_and(|b| b.stored) => {
                modes.push((position(outer), StorageMode::Outer { mode, block }));
                modes.push((position(inner), StorageMode::Inner { mode, block }));
            }
            _ => {
                let last = at.fields().iter().map(position).max().unwrap_or(0);
                modes.push((last, StorageMode::Whole { mode }));
            }
        }
    }
    modes.sort_by_key(|(p, _)| *p);
    let levels = vec![LevelFormat::new(LevelKind::SparseList); modes.len()];
    Format { levels, modes: modes.into_iter().map(|(_, m)| m).collect(), leaf: LeafKind::Element }
}

/// Returns the numbers of positions of each level of an output, with upper bounds.
pub(crate) fn count_positions(cx: &Context, target: &Target, format: &Format, sizes: &Sizes) -> Vec<Answer> {
    positions(cx, target, format, sizes, &|fields| match cx.measures() {
        true => cx.output_most(target, sizes, fields),
        false => f64::INFINITY,
    })
}

/// Returns the estimated numbers of positions of each level of an output; faster, because it skips
/// the bounds.
pub(crate) fn estimate_positions(cx: &Context, target: &Target, format: &Format, sizes: &Sizes) -> Vec<f64> {
    let counts = positions(cx, target, format, sizes, &|_| f64::INFINITY);
    counts.into_iter().map(|count| count.estimate).collect()
}

fn positions(
    cx: &Context,
    target: &Target,
    format: &Format,
    sizes: &Sizes,
    most_over: &dyn Fn(&[Field]) -> f64,
) -> Vec<Answer> {
    if let Some(read) = pattern(&patterns(cx, target, sizes), format) {
        let count = |levels| cx.ask(&read.tensor, &read.ty, Question::Positions(levels));
        return (1..=format.levels.len()).map(count).collect();
    }
    let dimensions = format.storage_shape(&target.shape);
    let spots = storage_at(&target.at, format, &target.shape, sizes, cx.mode());
    let writes = cx.writes(target, sizes);
    let mut bound: Vec<Field> = Vec::new();
    let (mut places, mut above) = (1.0, Answer::exact(1));
    let scatters = spots.iter().any(|at| matches!(at, At::Value(_)));
    let mut counts = Vec::new();
    for (k, at) in spots.iter().enumerate() {
        let size = dimensions[k] as f64;
        places *= size;
        bound.extend(at.fields());
        let most = Answer { estimate: above.estimate * size, bound: above.bound * size };
        let traits = format.levels[k].kind.traits();
        let runs = at.as_field().filter(|_| traits.runs).and_then(|field| runs(cx, &target.value, sizes, field));
        above = if let Some(runs) = runs {
            Answer::new((above.estimate * runs).min(most.estimate), most.bound)
        } else if traits.full {
            most
        } else {
            let here = if scatters { writes } else { places * cx.output_support(target, sizes, &bound) };
            Answer::new(here.min(most.estimate), most_over(&bound).min(most.bound))
        };
        counts.push(above);
    }
    counts
}

/// Returns the marginals of an output's entries, per storage mode.
pub(crate) fn spread(cx: &Context, target: &Target, format: &Format, sizes: &Sizes) -> Vec<Option<Marginal>> {
    let spots = storage_at(&target.at, format, &target.shape, sizes, cx.mode());
    let profile = cx.output_profile(target, sizes, &target.at.iter().flat_map(At::fields).collect::<Vec<_>>());
    spots.iter().map(|at| at.as_field().and_then(|f| profile.marginals.get(f).cloned())).collect()
}
