//! Indexing: slices, gathers, masks, and differences of neighbours.

use super::draw::{DenseArray, OperandSource};
use super::{Operation, oracle};
use ndarray::{Axis, Dimension, Slice};
use redpoll::logic::Prim;
use redpoll::{Array, Index, index};

pub const INDEXING: &[Operation] = &[
    ("slice by numbers and ranges", |draw| {
        let shape = draw.any_shape(0, 4);
        let (a, mut x) = draw.array(&shape);
        let mut indices = Vec::new();
        let mut axis = 0;
        let stop_early = draw.rng.index(shape.len() + 1);
        for size in shape.iter().take(stop_early) {
            let n = *size as i64;
            match draw.rng.index(4) {
                0 if n > 0 => {
                    let position = draw.number_in(-n, n);
                    indices.push(Index::Coordinate(position));
                    x = x.index_axis_move(Axis(axis), position.rem_euclid(n) as usize);
                    continue;
                }
                1 => indices.push(Index::from(..)),
                _ => {
                    let (index, list) = draw_range(draw, n);
                    indices.push(index);
                    x = x.select(Axis(axis), &list);
                }
            }
            axis += 1;
        }
        if draw.rng.chance(30) {
            indices.insert(0, Index::NewAxis);
            x = x.insert_axis(Axis(0));
        }
        draw.record.push(format!("{indices:?}"));
        (a.slice(indices), x)
    }),
    ("slice from the end", |draw| {
        let shape = draw.any_nonempty_shape(2, 4);
        let (a, x) = draw.array(&shape);
        let last = x.ndim() - 1;
        let part = x.index_axis_move(Axis(last), shape[last] - 1).slice_axis_move(Axis(0), Slice::from(1..));
        (a.slice(index![1.., Index::Ellipsis, -1]), part)
    }),
    ("slice of a range through Ellipsis and NewAxis", |draw| {
        let shape = draw.any_shape(1, 4);
        let (a, x) = draw.array(&shape);
        (a.slice(index![Index::Ellipsis, Index::NewAxis, (.., -1)]), {
            let (mut y, last) = (x, shape.len() - 1);
            y.invert_axis(Axis(last));
            y.insert_axis(Axis(last))
        })
    }),
    ("take", |draw| {
        let shape = draw.any_nonempty_shape(1, 4);
        let (a, x) = draw.array(&shape);
        let (number, axis) = draw.axis(shape.len());
        let n = shape[axis] as i64;
        let list: Vec<i64> = (0..draw.size()).map(|_| draw.number_in(-n, n)).collect();
        let indices_array: Vec<usize> = list.iter().map(|i| i.rem_euclid(n) as usize).collect();
        (a.take(list, number), x.select(Axis(axis), &indices_array))
    }),
    ("take at an array", |draw| {
        let shape = draw.any_nonempty_shape(1, 3);
        let (a, x) = draw.array(&shape);
        let (number, axis) = draw.axis(shape.len());
        let n = shape[axis] as i64;
        let k = draw.size();
        let (indices_array, list) = draw.array_in_range(&[k], Prim::I64, 0, -n, n);
        let list: Vec<usize> = list.iter().map(|i| (*i as i64).rem_euclid(n) as usize).collect();
        (a.take(&indices_array, number), x.select(Axis(axis), &list))
    }),
    ("points", |draw| {
        let (m, n, k) = (draw.nonzero_size(), draw.nonzero_size(), draw.size());
        let (a, x) = draw.array(&[m, n]);
        let (rows, i) = draw.array_in_range(&[k], Prim::I64, 0, 0, m as i64);
        let (columns, j) = draw.array_in_range(&[k], Prim::I64, 0, 0, n as i64);
        (a.slice(index![&rows, &columns]), oracle::map(&[&i, &j], |at| x[[at[0] as usize, at[1] as usize]]))
    }),
    ("gathers that broadcast", draw_gathers),
    ("mask", |draw| {
        let (m, n) = (draw.size(), draw.size());
        let (a, x) = draw.array(&[m, n]);
        let mask: Vec<bool> = (0..n).map(|_| draw.rng.chance(50)).collect();
        draw.record.push(format!("{mask:?}"));
        let list: Vec<usize> = (0..n).filter(|k| mask[*k]).collect();
        (a.slice(index![.., mask]), x.select(Axis(1), &list))
    }),
    ("diff", |draw| {
        let shape = draw.any_shape(1, 3);
        let (a, mut x) = draw.array_with_dtype(&shape, Prim::I64);
        let ((number, axis), order) = (draw.axis(shape.len()), draw.rng.index(3));
        draw.record.push(format!("order {order}"));
        for _ in 0..order {
            let n = x.shape()[axis];
            let after = x.slice_axis(Axis(axis), Slice::from(1.min(n)..));
            let before = x.slice_axis(Axis(axis), Slice::from(..n.saturating_sub(1)));
            x = &after - &before;
        }
        (a.diff(order, number), x)
    }),
    ("take_along_axis", |draw| {
        let (m, n, k) = (draw.nonzero_size(), draw.nonzero_size(), draw.size());
        let (a, x) = draw.array(&[m, n]);
        let (indices_array, list) = draw.array_in_range(&[m, k], Prim::I64, 0, -(n as i64), n as i64);
        let column_index = |row: usize, column: usize| (list[[row, column]] as i64).rem_euclid(n as i64) as usize;
        let expected = DenseArray::from_shape_fn(ndarray::IxDyn(&[m, k]), |p| x[[p[0], column_index(p[0], p[1])]]);
        (a.take_along_axis(&indices_array, 1), expected)
    }),
];

/// An index of one mode, or a new mode.
enum ModeIndex {
    Coordinate(usize),
    List(Vec<usize>),
    NewMode,
    Gather(DenseArray),
}

/// Draws an array and indices: gathers whose shapes align, mixed with indices of other kinds.
/// Returns the array at the indices, and the expected values.
fn draw_gathers(draw: &mut OperandSource) -> (Array, DenseArray) {
    let shape = draw.any_nonempty_shape(1, 5);
    let (a, x) = draw.array(&shape);
    let aligned: Vec<usize> = (0..draw.rng.index(4)).map(|_| *draw.rng.pick(&[1, 2, 3, 3, 0])).collect();
    let (mut indices, mut mode_indices) = (Vec::new(), Vec::new());
    for &size in &shape {
        if draw.rng.chance(15) {
            indices.push(Index::NewAxis);
            mode_indices.push(ModeIndex::NewMode);
        }
        let n = size as i64;
        let (index, mode_index) = match draw.rng.index(6) {
            0 => (Index::Coordinate(-1), ModeIndex::Coordinate(size - 1)),
            1 => {
                let (index, list) = draw_range(draw, n);
                (index, ModeIndex::List(list))
            }
            _ => {
                let skipped = draw.rng.index(aligned.len() + 1);
                let gather_shape = aligned[skipped..].iter().map(|n| if draw.rng.chance(40) { 1 } else { *n });
                let gather_shape: Vec<usize> = gather_shape.collect();
                let prim = *draw.rng.pick(&[Prim::I64, Prim::I64, Prim::I8, Prim::U32]);
                let low = if prim.is_signed() { -n } else { 0 };
                let (indices_array, list) = draw.array_in_range(&gather_shape, prim, 0, low, n);
                let list = list.mapv(|i| (i as i64).rem_euclid(n) as f64);
                match gather_shape[..] {
                    [_] if draw.rng.chance(30) => {
                        (Index::Take(list.iter().map(|i| *i as i64).collect()), ModeIndex::Gather(list))
                    }
                    _ => (Index::from(&indices_array), ModeIndex::Gather(list)),
                }
            }
        };
        indices.push(index);
        mode_indices.push(mode_index);
    }
    let lists: Vec<&DenseArray> = mode_indices
        .iter()
        .filter_map(|mode_index| if let ModeIndex::Gather(list) = mode_index { Some(list) } else { None })
        .collect();
    let aligned_shape = oracle::aligned_shape(&lists.iter().map(|list| list.shape()).collect::<Vec<_>>());
    draw.record.push(format!("{indices:?}"));
    let expected = read_at(&x, &mode_indices, &aligned_shape);
    (a.slice(indices), expected)
}

/// Reads `x` at indices. The result has the modes of `aligned_shape`, the common shape of all
/// gathers, at the position of the first gather.
fn read_at(x: &DenseArray, mode_indices: &[ModeIndex], aligned_shape: &[usize]) -> DenseArray {
    let first = mode_indices.iter().position(|mode_index| matches!(mode_index, ModeIndex::Gather(_)));
    let mut shape = Vec::new();
    for (k, mode_index) in mode_indices.iter().enumerate() {
        match mode_index {
            ModeIndex::Coordinate(_) => {}
            ModeIndex::NewMode => shape.push(1),
            ModeIndex::List(list) => shape.push(list.len()),
            ModeIndex::Gather(_) if first == Some(k) => shape.extend_from_slice(aligned_shape),
            ModeIndex::Gather(_) => {}
        }
    }
    DenseArray::from_shape_fn(ndarray::IxDyn(&shape), |coordinates| {
        let (mut rest, mut aligned) = (coordinates.slice().to_vec(), Vec::new());
        let mut source = Vec::new();
        for (k, mode_index) in mode_indices.iter().enumerate() {
            match mode_index {
                ModeIndex::Coordinate(i) => source.push(*i),
                ModeIndex::NewMode => drop(rest.remove(0)),
                ModeIndex::List(list) => source.push(list[rest.remove(0)]),
                ModeIndex::Gather(list) => {
                    if first == Some(k) {
                        aligned = rest.drain(..aligned_shape.len()).collect();
                    }
                    let gather_coordinates = &aligned[aligned.len() - list.ndim()..];
                    let gather_coordinates: Vec<usize> = gather_coordinates
                        .iter()
                        .zip(list.shape())
                        .map(|(i, n)| if *n == 1 { 0 } else { *i })
                        .collect();
                    source.push(list[ndarray::IxDyn(&gather_coordinates)] as usize);
                }
            }
        }
        x[ndarray::IxDyn(&source)]
    })
}

/// Draws a range, with the semantics of Python, over a mode of size `n`. Returns the range and the
/// coordinates that the range selects.
fn draw_range(draw: &mut OperandSource, n: i64) -> (Index, Vec<usize>) {
    let end = |draw: &mut OperandSource| draw.rng.chance(70).then(|| draw.rng.index(2 * n as usize + 5) as i64 - n - 2);
    let (start, stop) = (end(draw), end(draw));
    let step = *draw.rng.pick(&[1, 1, 2, 3, -1, -2]);
    let clamp = |i: i64, low: i64, high: i64| (if i < 0 { i + n } else { i }).clamp(low, high);
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let first = start.map_or(if step > 0 { low } else { high }, |i| clamp(i, low, high));
    let last = stop.map_or(if step > 0 { high } else { low }, |i| clamp(i, low, high));
    let mut list = Vec::new();
    let mut i = first;
    while (step > 0 && i < last) || (step < 0 && i > last) {
        list.push(i as usize);
        i += step;
    }
    (Index::Range { start, stop, step }, list)
}
