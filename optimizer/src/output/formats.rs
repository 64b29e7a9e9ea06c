//! Chooses the format of an output, and registers its estimated sizes.
//!
//! A requested format is checked and used; the choice of the loop order requests dense formats
//! where they are cheaper. Otherwise storage modes follow the loop order. A level is sparse if the
//! estimated fraction of its coordinates with values other than the fill is at most
//! [`cost::DENSE_FRACTION`]. The inner part of a block and a level of size 0 or 1 are always dense.
//! A scattered output is dense if it is small or full enough, and otherwise consists of sparse
//! lists.
//!
//! The optimizer derives the coordinates at which a value equals its fill from the fills of the
//! operands and the properties of the operators alone. An output is dense if these do not prove
//! that the value equals its fill anywhere. The innermost level inherits runs, blocks and bands of
//! the operands where `structure` says so. If the loops walk an operand that stores exactly the
//! same coordinates, the output has the levels of that operand. An output with only dense levels is
//! stored in the order of its modes.

use crate::access::fit::storage_coordinates;
use crate::error::Error;
use crate::facts::estimate::Marginal;
use crate::facts::{Facts, WrittenTensorFacts};
use crate::output::patterns::{find_patterns, matching_pattern, pattern_format};
use crate::output::structure::{inherited_kind, run_count};
use crate::output::workspace::{WriteDestination, write_destination};
use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, Target};
use crate::work::cost;
use redpoll_logic::statistics::{Answer, Question};
use redpoll_logic::{Alias, Field, Format, LeafKind, LevelFormat, LevelKind, StorageMode, TensorType};
use std::sync::Arc;

/// Returns the format of an output; an error if a requested format does not fit.
pub(crate) fn choose_format(facts: &Facts, target: &Target, sizes: &Sizes, order: &[Field]) -> Result<Format, Error> {
    if let Some(format) = &target.format {
        let mismatch = |what: String| Err(Error::Format { query: target.alias.clone(), what });
        if format.rank() != target.shape.len() {
            let (found, expected) = (format.rank(), target.shape.len());
            return mismatch(format!(
                "has {found} modes, but its result has {expected}; request one with {expected} modes"
            ));
        }
        let (shape, dtype, fill) = (target.shape.clone(), target.value.dtype(), target.fill.clone());
        let ty = TensorType { shape, dtype, fill, format: format.clone() };
        if let Err(error) = ty.validate() {
            return mismatch(format!("does not fit its result: {error}"));
        }
        return Ok(format.clone());
    }
    let rank = target.shape.len();
    if target.coordinates.iter().any(|at| matches!(at, ModeCoordinate::Value(_))) {
        let coordinate_count: f64 = target.shape.iter().map(|&n| n as f64).product();
        let dense =
            coordinate_count <= cost::SCATTER_LIMIT || facts.write_count(target, sizes) >= coordinate_count / 4.0;
        return Ok(if dense { Format::dense(rank) } else { sparse_format(target, sizes, order) });
    }
    if let Some(format) = pattern_format(facts, &find_patterns(facts, target, sizes), sizes, order) {
        return Ok(format);
    }
    let mut format = sparse_format(target, sizes, order);
    let dimensions = format.storage_shape(&target.shape);
    let coordinates = storage_coordinates(&target.coordinates, &format, &target.shape, sizes, facts.mode());
    let mut bound: Vec<Field> = Vec::new();
    let mut outer_support = 1.0;
    for (k, at) in coordinates.iter().enumerate() {
        let fields = at.fields();
        let fraction = if fields.iter().all(|f| bound.contains(f)) {
            1.0 / dimensions[k].max(1) as f64
        } else {
            bound.extend(fields);
            let support = facts.output_support(target, sizes, &bound);
            let fraction = if outer_support > 0.0 { support / outer_support } else { 0.0 };
            outer_support = support;
            fraction
        };
        // Blocks are dense inside.
        let is_inner = matches!(format.modes[k], StorageMode::Inner { .. });
        let full = fraction > cost::DENSE_FRACTION || dimensions[k] <= 1 || is_inner;
        if full {
            format.levels[k] = LevelFormat::new(LevelKind::Dense);
        }
        if let Some(field) =
            at.as_field().filter(|f| k + 1 == coordinates.len() && dimensions[k] > 1 && order.last() == Some(f))
            && let Some(kind) =
                inherited_kind(facts, target, sizes, field, (!full).then(|| fraction * dimensions[k] as f64))
        {
            let mut inheriting = format.clone();
            inheriting.levels[k] = LevelFormat::new(kind);
            if write_destination(facts, target, &inheriting, sizes, order) == WriteDestination::Output {
                format = inheriting;
            }
        }
    }
    let is_dense = format.is_dense();
    Ok(if is_dense { Format::dense(rank) } else { format })
}

/// Returns a format of sparse lists over the storage modes, in loop order.
pub(crate) fn sparse_format(target: &Target, sizes: &Sizes, order: &[Field]) -> Format {
    let position = |f: &Field| order.iter().position(|g| g == f).map_or(0, |p| p + 1);
    let mut modes: Vec<(usize, StorageMode)> = Vec::new();
    for (mode, at) in target.coordinates.iter().enumerate() {
        match at.as_affine().and_then(|form| sizes.as_split(form)) {
            Some((outer, inner, block)) if sizes.split(inner).is_some_and(|b| b.is_stored) => {
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

/// Returns the numbers of positions of each level of an output, with upper bounds. If measuring is
/// not allowed, the bounds follow from the dimensions alone, except for an output that shares the
/// levels of an operand.
fn count_positions(facts: &Facts, target: &Target, format: &Format, sizes: &Sizes) -> Vec<Answer> {
    output_positions(facts, target, format, sizes, &|fields| match facts.may_measure() {
        true => facts.max_output_coordinates(target, sizes, fields),
        false => f64::INFINITY,
    })
}

/// Returns the estimated numbers of positions of each level of an output, without the bounds, which
/// take longer to compute.
pub(crate) fn estimate_positions(facts: &Facts, target: &Target, format: &Format, sizes: &Sizes) -> Vec<f64> {
    let counts = output_positions(facts, target, format, sizes, &|_| f64::INFINITY);
    counts.into_iter().map(|count| count.estimate).collect()
}

fn output_positions(
    facts: &Facts,
    target: &Target,
    format: &Format,
    sizes: &Sizes,
    max_over: &dyn Fn(&[Field]) -> f64,
) -> Vec<Answer> {
    if let Some(read) = matching_pattern(&find_patterns(facts, target, sizes), format) {
        let count = |levels| facts.ask(&read.tensor, &read.ty, Question::Positions(levels));
        return (1..=format.levels.len()).map(count).collect();
    }
    let dimensions = format.storage_shape(&target.shape);
    let coordinates = storage_coordinates(&target.coordinates, format, &target.shape, sizes, facts.mode());
    let writes = facts.write_count(target, sizes);
    let mut bound: Vec<Field> = Vec::new();
    let (mut coordinate_count, mut outer_positions) = (1.0, Answer::exact(1));
    let scatters = coordinates.iter().any(|at| matches!(at, ModeCoordinate::Value(_)));
    let mut counts = Vec::new();
    for (k, at) in coordinates.iter().enumerate() {
        let size = dimensions[k] as f64;
        coordinate_count *= size;
        bound.extend(at.fields());
        let full_level = Answer { estimate: outer_positions.estimate * size, bound: outer_positions.bound * size };
        let traits = format.levels[k].kind.traits();
        let runs =
            at.as_field().filter(|_| traits.runs).and_then(|field| run_count(facts, &target.value, sizes, field));
        outer_positions = if let Some(runs) = runs {
            Answer::new((outer_positions.estimate * runs).min(full_level.estimate), full_level.bound)
        } else if traits.full {
            full_level
        } else {
            let estimate =
                if scatters { writes } else { coordinate_count * facts.output_support(target, sizes, &bound) };
            Answer::new(estimate.min(full_level.estimate), max_over(&bound).min(full_level.bound))
        };
        counts.push(outer_positions);
    }
    counts
}

/// Returns the marginals of an output's entries, per storage mode.
fn output_marginals(facts: &Facts, target: &Target, format: &Format, sizes: &Sizes) -> Vec<Option<Marginal>> {
    let coordinates = storage_coordinates(&target.coordinates, format, &target.shape, sizes, facts.mode());
    let profile = facts.output_profile(
        target,
        sizes,
        &target.coordinates.iter().flat_map(ModeCoordinate::fields).collect::<Vec<_>>(),
    );
    coordinates.iter().map(|at| at.as_field().and_then(|f| profile.marginals.get(f).cloned())).collect()
}

/// Registers an output of a query under a name and type; returns the numbers of its positions.
pub(crate) fn define_output(
    facts: &mut Facts,
    target: &Target,
    (alias, ty): (Alias, Arc<TensorType>),
    sizes: &Sizes,
) -> Vec<Answer> {
    let counts = count_positions(facts, target, &ty.format, sizes);
    let marginals = output_marginals(facts, target, &ty.format, sizes);
    let (path, counted_marginal) = (facts.path_of(target, sizes), facts.output_count_marginal(target, sizes));
    let written = WrittenTensorFacts { counts: counts.clone(), marginals, path, counted_marginal };
    facts.define(alias, ty, written);
    counts
}
