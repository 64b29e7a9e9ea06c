//! Oracles of operations, in plain `ndarray` arithmetic.

use super::draw::DenseArray;
use ndarray::{ArrayD, Axis, Dimension, IxDyn};
use redpoll::logic::op::{Op, cast_to};
use redpoll::logic::{DType, FloatMode, Scalar};

/// Returns the shape to which arrays of the given shapes align.
pub fn aligned_shape(shapes: &[&[usize]]) -> Vec<usize> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let size = |k: usize| {
        let sizes = shapes.iter().filter_map(|s| (k + s.len()).checked_sub(rank).map(|mode| s[mode]));
        sizes.into_iter().find(|n| *n != 1).unwrap_or(1)
    };
    (0..rank).map(size).collect()
}

/// Applies a function at every coordinate of aligned arrays.
pub fn map(arrays: &[&DenseArray], f: impl Fn(&[f64]) -> f64) -> DenseArray {
    let shapes: Vec<&[usize]> = arrays.iter().map(|a| a.shape()).collect();
    let shape = aligned_shape(&shapes);
    let views: Vec<_> = arrays.iter().map(|a| a.broadcast(IxDyn(&shape)).unwrap()).collect();
    ArrayD::from_shape_fn(IxDyn(&shape), |coordinates| f(&views.iter().map(|v| v[&coordinates]).collect::<Vec<_>>()))
}

/// Applies an operator at every coordinate, in a float mode and with arguments of the given dtypes.
pub fn op(op: impl Into<Op>, arrays: &[(&DenseArray, redpoll::logic::Prim)], mode: FloatMode) -> DenseArray {
    let op = op.into();
    let dtypes: Vec<DType> = arrays.iter().map(|(_, prim)| DType::Prim(*prim)).collect();
    let signature = op.signature(&dtypes).unwrap();
    let dense: Vec<&DenseArray> = arrays.iter().map(|(a, _)| *a).collect();
    map(&dense, |values| {
        let scalars: Vec<Scalar> =
            values.iter().zip(arrays).map(|(v, (_, prim))| Scalar::F64(*v).cast(*prim).unwrap()).collect();
        let scalars: Vec<Scalar> = scalars.iter().zip(&signature.args).map(|(v, to)| cast_to(v, to)).collect();
        op.eval_in(&scalars, mode).unwrap().to_f64().unwrap()
    })
}

/// Folds an array along axes. With `keep_dims`, the result keeps these axes with size 1. Otherwise,
/// the result drops these axes.
pub fn fold(array: &DenseArray, axes: &[usize], keep_dims: bool, f: impl Fn(&[f64]) -> f64) -> DenseArray {
    let rank = array.ndim();
    let rest: Vec<usize> = (0..rank).filter(|k| !axes.contains(k)).collect();
    let order: Vec<usize> = rest.iter().chain(axes).copied().collect();
    let permuted = array.view().permuted_axes(order);
    let outer: Vec<usize> = rest.iter().map(|k| array.shape()[*k]).collect();
    let folded = ArrayD::from_shape_fn(IxDyn(&outer), |coordinates| {
        let mut part = permuted.view();
        for i in coordinates.slice() {
            part = part.index_axis_move(Axis(0), *i);
        }
        f(&part.iter().copied().collect::<Vec<f64>>())
    });
    if !keep_dims {
        return folded;
    }
    let shape: Vec<usize> = (0..rank).map(|k| if axes.contains(&k) { 1 } else { array.shape()[k] }).collect();
    reshape(&folded, &shape)
}

/// Returns the same values, row-major, in another shape.
pub fn reshape(array: &DenseArray, shape: &[usize]) -> DenseArray {
    ArrayD::from_shape_vec(IxDyn(shape), array.iter().copied().collect()).unwrap()
}

/// Returns an array of the given shape that reads another array at mapped coordinates; coordinates
/// that map to `None` have the value `outside`.
pub fn read(
    array: &DenseArray,
    shape: &[usize],
    map_coordinates: impl Fn(&[usize]) -> Option<Vec<usize>>,
    outside: f64,
) -> DenseArray {
    ArrayD::from_shape_fn(IxDyn(shape), |coordinates| {
        let coordinates: Vec<usize> = coordinates.slice().to_vec();
        map_coordinates(&coordinates).map_or(outside, |from| array[IxDyn(&from)])
    })
}

/// Computes a sum of products with the given sum and product; each sum begins with `start`. Letters
/// name the modes of each array and of the result.
pub fn einsum(
    arrays: &[(&DenseArray, &[char])],
    result: &[char],
    start: f64,
    sum: impl Fn(f64, f64) -> f64,
    product: impl Fn(f64, f64) -> f64,
) -> DenseArray {
    let mut sizes: Vec<(char, usize)> = Vec::new();
    for (array, letters) in arrays {
        for (letter, size) in letters.iter().zip(array.shape()) {
            if sizes.iter().all(|(l, _)| l != letter) {
                sizes.push((*letter, *size));
            }
        }
    }
    let size = |letter: char| sizes.iter().find(|(l, _)| *l == letter).unwrap().1;
    let shape: Vec<usize> = result.iter().map(|l| size(*l)).collect();
    let mut out = ArrayD::from_elem(IxDyn(&shape), start);
    let all: Vec<usize> = sizes.iter().map(|(_, n)| *n).collect();
    for coordinates in ndarray::indices(IxDyn(&all)) {
        let index_of = |letters: &[char]| {
            let coordinates: Vec<usize> =
                letters.iter().map(|l| coordinates[sizes.iter().position(|(m, _)| m == l).unwrap()]).collect();
            IxDyn(&coordinates)
        };
        let mut values = arrays.iter().map(|(array, letters)| array[index_of(letters)]);
        let first = values.next().unwrap();
        let term = values.fold(first, &product);
        let slot = &mut out[index_of(result)];
        *slot = sum(*slot, term);
    }
    out
}
