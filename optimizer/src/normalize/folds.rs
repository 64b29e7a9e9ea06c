//! Moves folds out of values: an aggregate at the root of a value to its output, another fold to a
//! nest that stores the result.

use crate::normalize::lookup::use_lookups;
use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, Nest, NestKind, Node, Target, Term};
use redpoll_logic::{Alias, ComputedFills, Field, FloatMode};

/// Moves an aggregate at the root of an output's value to the output, if the output does not fold
/// yet, its fill is the aggregate's initial value, and it stores computed fills.
pub(crate) fn move_root_folds(mut nest: Nest) -> Nest {
    for target in &mut nest.outputs {
        if let (None, Node::Fold(fold)) = (&target.fold, target.value.node())
            && fold.init == target.fill
            && !fold.is_scan()
            // Entries that equal the fill can only be dropped once the fold is complete.
            && target.computed == ComputedFills::Keep
        {
            let fold = fold.clone();
            target.fold = Some((fold.op, fold.fields));
            target.value = fold.arg;
        }
    }
    nest
}

/// Returns the nest that stores a fold. The fill of its tensor is the fold's initial value.
pub(crate) fn fold_nest(fold: &Fold, alias: &Alias, sizes: &Sizes, pins: &[Vec<Field>], mode: FloatMode) -> Nest {
    let free: Vec<Field> = fold.free().into_iter().collect();
    // A fold that only stores its argument, with the argument's fill, drops computed entries that
    // equal this fill.
    let stores = fold.is_stored() && *fold.arg.fill() == fold.init;
    let computed = if stores { ComputedFills::Drop } else { ComputedFills::Keep };
    let (folded, value) = match fold.is_scan() {
        true => (None, Term::fold(fold.clone(), fold.init.clone(), mode)),
        false if stores => (None, fold.arg.clone()),
        false => (Some((fold.op.clone(), fold.fields.clone())), fold.arg.clone()),
    };
    let target = Target {
        alias: alias.clone(),
        shape: free.iter().map(|f| sizes.of(f)).collect(),
        fill: fold.init.clone(),
        coordinates: free.iter().map(ModeCoordinate::field).collect(),
        fold: folded,
        value,
        format: None,
        computed,
    };
    let nest = Nest { outputs: vec![target], sizes: sizes.clone(), pins: pins.to_vec(), kind: NestKind::Query };
    use_lookups(nest, mode)
}

/// Returns the coordinates at which a stored fold is read.
pub(crate) fn stored_coordinates(nest: &Nest, fold: &Fold) -> Vec<ModeCoordinate> {
    let free = fold.free();
    debug_assert_eq!(free.len(), nest.outputs[0].shape.len());
    free.iter().map(ModeCoordinate::field).collect()
}
