//! Indexing, and what is known of arrays besides their values: errors, notes, conversions.

use crate::draw::{Dense, Draw, numbers};
use crate::{Operation, check, oracle};
use ndarray::{Axis, Dimension, Slice};
use redpoll::logic::{Format, Prim};
use redpoll::{Array, Engine, Index, Note, Repeated, Session, index};

const INDEXING: &[Operation] = &[
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
                    let at = draw.within(-n, n);
                    indices.push(Index::At(at));
                    x = x.index_axis_move(Axis(axis), at.rem_euclid(n) as usize);
                    continue;
                }
                1 => indices.push(Index::from(..)),
                _ => {
                    let (index, list) = range(draw, n);
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
        let (m, n) = (draw.some(), draw.some());
        let (a, x) = draw.array(&[m, 2, n]);
        let part = x.index_axis_move(Axis(2), n - 1).slice_axis_move(Axis(0), Slice::from(1..));
        (a.slice(index![1.., Index::Ellipsis, -1]), part)
    }),
    ("slice of a range through Ellipsis and NewAxis", |draw| {
        let n = draw.size();
        let (a, x) = draw.array(&[2, n]);
        (a.slice(index![Index::Ellipsis, Index::NewAxis, (.., -1)]), {
            let mut y = x;
            y.invert_axis(Axis(1));
            y.insert_axis(Axis(1))
        })
    }),
    ("take", |draw| {
        let shape: Vec<usize> = (0..1 + draw.rng.index(3)).map(|_| draw.some()).collect();
        let (a, x) = draw.array(&shape);
        let (number, axis) = draw.axis(shape.len());
        let n = shape[axis] as i64;
        let list: Vec<i64> = (0..draw.size()).map(|_| draw.within(-n, n)).collect();
        let places: Vec<usize> = list.iter().map(|i| i.rem_euclid(n) as usize).collect();
        (a.take(list, number), x.select(Axis(axis), &places))
    }),
    ("take at an array", |draw| {
        let shape: Vec<usize> = (0..1 + draw.rng.index(2)).map(|_| draw.some()).collect();
        let (a, x) = draw.array(&shape);
        let (number, axis) = draw.axis(shape.len());
        let n = shape[axis] as i64;
        let k = draw.size();
        let (places, list) = draw.array_from(&[k], Prim::I64, 0, -n, n);
        let list: Vec<usize> = list.iter().map(|i| (*i as i64).rem_euclid(n) as usize).collect();
        (a.take(&places, number), x.select(Axis(axis), &list))
    }),
    ("points", |draw| {
        let (m, n, k) = (draw.some(), draw.some(), draw.size());
        let (a, x) = draw.array(&[m, n]);
        let (rows, i) = draw.array_from(&[k], Prim::I64, 0, 0, m as i64);
        let (columns, j) = draw.array_from(&[k], Prim::I64, 0, 0, n as i64);
        (a.slice(index![&rows, &columns]), oracle::map(&[&i, &j], |at| x[[at[0] as usize, at[1] as usize]]))
    }),
    ("gathers that broadcast", gathers),
    ("mask", |draw| {
        let (m, n) = (draw.size(), draw.size());
        let (a, x) = draw.array(&[m, n]);
        let mask: Vec<bool> = (0..n).map(|_| draw.rng.chance(50)).collect();
        draw.record.push(format!("{mask:?}"));
        let list: Vec<usize> = (0..n).filter(|k| mask[*k]).collect();
        (a.slice(index![.., mask]), x.select(Axis(1), &list))
    }),
    ("diff", |draw| {
        let shape: Vec<usize> = (0..1 + draw.rng.index(2)).map(|_| draw.size()).collect();
        let (a, mut x) = draw.array_of(&shape, Prim::I64);
        let ((number, axis), order) = (draw.axis(shape.len()), draw.rng.index(3));
        for _ in 0..order {
            let n = x.shape()[axis];
            let after = x.slice_axis(Axis(axis), Slice::from(1.min(n)..));
            let before = x.slice_axis(Axis(axis), Slice::from(..n.saturating_sub(1)));
            x = &after - &before;
        }
        (a.diff(order, number), x)
    }),
    ("take_along_axis", |draw| {
        let (m, n, k) = (draw.some(), draw.some(), draw.size());
        let (a, x) = draw.array(&[m, n]);
        let (places, list) = draw.array_from(&[m, k], Prim::I64, 0, -(n as i64), n as i64);
        let at = |row: usize, column: usize| (list[[row, column]] as i64).rem_euclid(n as i64) as usize;
        let expected = Dense::from_shape_fn(ndarray::IxDyn(&[m, k]), |p| x[[p[0], at(p[0], p[1])]]);
        (a.take_along_axis(&places, 1), expected)
    }),
];

/// What an index of a mode is, beside the lists of coordinates that are aligned.
enum At {
    One(usize),
    List(Vec<usize>),
    New,
    Gather(Dense),
}

/// Arrays of coordinates whose shapes align in all ways, among indices of all other kinds.
fn gathers(draw: &mut Draw) -> (Array, Dense) {
    let shape: Vec<usize> = (0..1 + draw.rng.index(4)).map(|_| draw.some()).collect();
    let (a, x) = draw.array(&shape);
    let aligned: Vec<usize> = (0..draw.rng.index(4)).map(|_| *draw.rng.pick(&[1, 2, 3, 3, 0])).collect();
    let (mut indices, mut ats) = (Vec::new(), Vec::new());
    for &size in &shape {
        if draw.rng.chance(15) {
            indices.push(Index::NewAxis);
            ats.push(At::New);
        }
        let n = size as i64;
        let (index, at) = match draw.rng.index(6) {
            0 => (Index::At(-1), At::One(size - 1)),
            1 => {
                let (index, list) = range(draw, n);
                (index, At::List(list))
            }
            _ => {
                let less = draw.rng.index(aligned.len() + 1);
                let own = aligned[less..].iter().map(|n| if draw.rng.chance(40) { 1 } else { *n });
                let own: Vec<usize> = own.collect();
                let prim = *draw.rng.pick(&[Prim::I64, Prim::I64, Prim::I8, Prim::U32]);
                let low = if prim.is_signed() { -n } else { 0 };
                let (places, list) = draw.array_from(&own, prim, 0, low, n);
                let list = list.mapv(|i| (i as i64).rem_euclid(n) as f64);
                match own[..] {
                    [_] if draw.rng.chance(30) => {
                        (Index::Take(list.iter().map(|i| *i as i64).collect()), At::Gather(list))
                    }
                    _ => (Index::from(&places), At::Gather(list)),
                }
            }
        };
        indices.push(index);
        ats.push(at);
    }
    let lists: Vec<&Dense> =
        ats.iter().filter_map(|at| if let At::Gather(list) = at { Some(list) } else { None }).collect();
    let common = oracle::common(&lists.iter().map(|list| list.shape()).collect::<Vec<_>>());
    draw.record.push(format!("{indices:?}"));
    let expected = read_at(&x, &ats, &common);
    (a.slice(indices), expected)
}

/// The values at indices, those of aligned lists, which have this shape, where the first list is.
fn read_at(x: &Dense, ats: &[At], common: &[usize]) -> Dense {
    let first = ats.iter().position(|at| matches!(at, At::Gather(_)));
    let mut shape = Vec::new();
    for (k, at) in ats.iter().enumerate() {
        match at {
            At::One(_) => {}
            At::New => shape.push(1),
            At::List(list) => shape.push(list.len()),
            At::Gather(_) if first == Some(k) => shape.extend_from_slice(common),
            At::Gather(_) => {}
        }
    }
    Dense::from_shape_fn(ndarray::IxDyn(&shape), |place| {
        let (mut rest, mut aligned) = (place.slice().to_vec(), Vec::new());
        let mut source = Vec::new();
        for (k, at) in ats.iter().enumerate() {
            match at {
                At::One(i) => source.push(*i),
                At::New => drop(rest.remove(0)),
                At::List(list) => source.push(list[rest.remove(0)]),
                At::Gather(list) => {
                    if first == Some(k) {
                        aligned = rest.drain(..common.len()).collect();
                    }
                    let own = &aligned[aligned.len() - list.ndim()..];
                    let own: Vec<usize> =
                        own.iter().zip(list.shape()).map(|(i, n)| if *n == 1 { 0 } else { *i }).collect();
                    source.push(list[ndarray::IxDyn(&own)] as usize);
                }
            }
        }
        x[ndarray::IxDyn(&source)]
    })
}

/// A range of Python's kind over a mode of size `n`, and the coordinates in it.
fn range(draw: &mut Draw, n: i64) -> (Index, Vec<usize>) {
    let end = |draw: &mut Draw| draw.rng.chance(70).then(|| draw.rng.index(2 * n as usize + 5) as i64 - n - 2);
    let (start, stop) = (end(draw), end(draw));
    let step = *draw.rng.pick(&[1, 1, 2, 3, -1, -2]);
    let place = |i: i64, low: i64, high: i64| (if i < 0 { i + n } else { i }).clamp(low, high);
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let first = start.map_or(if step > 0 { low } else { high }, |i| place(i, low, high));
    let last = stop.map_or(if step > 0 { high } else { low }, |i| place(i, low, high));
    let mut list = Vec::new();
    let mut at = first;
    while (step > 0 && at < last) || (step < 0 && at > last) {
        list.push(at as usize);
        at += step;
    }
    (Index::Range { start, stop, step }, list)
}

/// Protects slices, gathers and masks.
#[test]
fn indexing() {
    check(INDEXING);
}

/// Protects the submatrix of some rows and columns, whose lists of coordinates stand across each other.
#[test]
fn rows_and_columns_make_a_submatrix() {
    let session = Session::default();
    let a = session.dense([3, 4], 0..12);
    let (rows, columns) = (session.vector([2, 0]), session.vector([3, 0, 1]));
    let part = a.slice(index![&rows.expand_dims(1), &columns]);
    assert_eq!(part.to_vec::<i32>().unwrap(), [11, 8, 9, 3, 0, 1]);
    assert_eq!(a.slice(index![&rows, &columns.expand_dims(1)]).shape().unwrap(), [3, 2]);
}

/// Protects what a chain of operators tells when it cannot be applied: the operation, the line, the cause.
#[test]
fn errors_name_the_line() {
    let session = Session::default();
    let (a, b) = (session.vector([1, 2]), session.vector([1, 2, 3]));
    let line = line!() + 1;
    let broken = (&a + &b).sum(0) * 2;
    let error = broken.collect().unwrap_err().to_string();
    assert!(error.contains("`add`") && error.contains(&format!("indexing.rs:{line}")), "{error}");
    let cases: Vec<(redpoll::Array, &str)> = vec![
        (a.sum(1), "axis 1 of an array of 1 modes"),
        (a.slice(index![5]), "coordinate 5 of a mode of size 2"),
        (a.slice(index![0, 0]), "2 indices"),
        (a.reshape([3]), "2 places are not 3"),
        (a.matmul(&b), "2 columns meet 3 rows"),
        (a.concat([&session.dense([1, 1], [0])], 0), "differ outside of mode 0"),
        (a.squeeze(0), "has size 2, not 1"),
        (session.einsum("ij->i", [&a]), "2 names for the 1 modes"),
        (session.einsum("i->k", [&a]), "in no operand"),
        (a.t(), "takes 2 modes or more"),
        (a.at(["i"]).t(), "the modes are named i; use `by_position`"),
        (a.at(["i"]) + &b, "meets one with numbered modes"),
        (a.take(&session.vector([0.5]), 0), "coordinates are integers"),
        (session.dense([3], [1, 2]), "found 2 values"),
        (session.triples([2], Format::csf(1), [([5], 1)]), "5"),
    ];
    for (array, expected) in cases {
        let error = array.check().expect_err(expected).to_string();
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    }
}

/// Protects reads at coordinates out of bounds, which nobody can check before they are computed: they give zero.
#[test]
fn gathers_out_of_bounds_are_zero() {
    let session = Session::default();
    let a = session.vector([10, 20, 30]);
    let places = session.vector([0i64, 3, -1, -4, 1_000_000_000_000]);
    assert_eq!(a.take(&places, 0).to_vec::<i32>().unwrap(), [10, 0, 30, 0, 0]);
    assert!(a.take(vec![3], 0).check().is_err(), "coordinates that are known are checked");
}

/// Protects reductions by name: what is kept, what stays named.
#[test]
fn named_modes_reduce_by_name() {
    let session = Session::default();
    let a = session.dense([2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 9.0]).at(["i", "j"]);
    assert_eq!(a.mean("j").to_vec::<f64>().unwrap(), [2.0, 6.0]);
    assert_eq!(a.var("j", 0.0).by_position(["i"]).to_vec::<f64>().unwrap(), [2.0 / 3.0, 14.0 / 3.0]);
    assert_eq!((&a - a.mean("j")).sum("j").to_vec::<f64>().unwrap(), [0.0, 0.0]);
    assert_eq!(a.argmax("i").to_vec::<i64>().unwrap(), [1, 1, 1]);
    assert_eq!(a.max(redpoll::Axes::from("i").keep()).shape().unwrap(), [1, 3]);
    assert_eq!(a.sum(["i", "j"]).to_vec::<f64>().unwrap(), [24.0]);
    assert!(a.sum("k").check().is_err());
}

/// Protects results of arrays that are computed together.
#[test]
fn arrays_are_collected_together() {
    let mut draw = Draw::new(7);
    let (a, x) = draw.array_of(&[3, 4], Prim::F64);
    let (b, y) = draw.array_of(&[4], Prim::F64);
    let results = draw.session.collect_all([&a.matmul(&b), &(&a * &b), &a]).unwrap();
    let product = oracle::map(&[&x, &y], |v| v[0] * v[1]);
    assert_eq!(numbers(&results[0]), product.sum_axis(Axis(1)));
    assert_eq!(numbers(&results[1]), product);
    assert_eq!(numbers(&results[2]), x);
}

/// Protects the note on results that densify: it comes when they do, and only then.
#[test]
fn dense_results_of_sparse_operands_are_noted() {
    let session = Session::default();
    let sparse = session.triples([100, 100], Format::csr(), (0..50).map(|k| ([k, k], 1.0)));
    let dense = session.dense([100, 100], vec![2.0; 10_000]);
    let notes = |array: &redpoll::Array| array.prepare().unwrap().notes();
    assert!(notes(&(&sparse * 3.0)).is_empty());
    assert!(notes(&(&sparse * &dense)).is_empty());
    assert!(notes(&sparse.sum(..)).is_empty());
    assert!(notes(&(&sparse + &dense).to_dense()).is_empty(), "it was asked to be dense");
    let found = notes(&(&sparse + &dense));
    assert!(matches!(&found[..], [Note::Densifies { result: true, places: 10_000, .. }]), "{found:?}");
    assert!(found[0].to_string().starts_with("result `result` is dense: all 10000 places are stored"), "{}", found[0]);
    let sections = (&sparse + &dense).explain().unwrap();
    assert!(sections.iter().any(|s| s.title == "notes"));
}

/// Protects results from storing what they do not have: so many entries come out, in a format that is not dense.
#[test]
fn sparse_stays_sparse() {
    let session = Session::default();
    let a = session.triples([60, 60], Format::csr(), (0..60).map(|k| ([k, (k * 7) % 60], k as f64 + 1.0)));
    let degree = a.sum(1).maximum(1.0).expand_dims(1);
    let cases: Vec<(&str, redpoll::Array, u64)> = vec![
        ("concat", a.concat([&a], 1), 120),
        ("stack", a.stack([&a], 0), 120),
        ("roll", a.roll(3, 1), 60),
        ("flip", a.flip(0), 60),
        ("tile", a.tile([2, 1]), 120),
        ("pad", a.pad([(1, 2), (3, 4)], 0.0), 60),
        ("reshape", a.reshape([30, -1]), 60),
        ("transpose", a.t(), 60),
        ("slice", a.slice(index![.., (.., 2)]), 60),
        ("matmul", a.matmul(a.t()), 60),
        ("kron", a.slice(index![..6, ..]).kron(session.eye(2, 2, 0, Prim::F64)), 12),
        ("exp", a.exp(), 60),
        ("plus the unit", &a + session.eye(60, 60, 0, Prim::F64), 120),
        ("where", a.greater(5.0).where_(&a, 0.0), 60),
        ("over degrees", &a / degree, 60),
    ];
    for (name, array, most) in cases {
        let prepared = array.prepare().unwrap();
        assert!(prepared.notes().is_empty(), "{name}: {:?}", prepared.notes());
        let result = &prepared.run().unwrap().outputs[0].1;
        assert!(result.count_stored().unwrap() <= most, "{name} stores {}, not {most}", result.count_stored().unwrap());
    }
}

/// Protects profiles: every query, what it stored, and counts of the interpreter.
#[test]
fn profiles_show_every_query() {
    let session = Session::default();
    let a = session.triples([10, 10], Format::csr(), (0..10).map(|k| ([k, 9 - k], 1.0)));
    let profile = a.matmul(&a).profile_with(Engine::AssemblyInterpreter).unwrap();
    assert!(profile.counts.is_some_and(|c| c.iterations > 0));
    assert!(profile.queries.iter().all(|q| !q.outputs.is_empty()));
    let last = profile.queries.last().unwrap();
    assert_eq!(last.outputs[0].stored, 10);
    assert!(profile.to_string().contains("iterations"));
}

/// Protects conversions: entries, builders, dense arrays, record batches, matrices, and back.
#[test]
fn conversions_go_and_come_back() {
    for seed in 0..20 {
        let mut draw = Draw::new(100 + seed);
        let shape = draw.any_shape(1, 4);
        let (a, x) = draw.array_of(&shape, Prim::F64);
        assert_eq!(a.to_ndarray::<f64>().unwrap(), x);
        assert_eq!(numbers(&draw.session.from_ndarray(&x).collect().unwrap()), x);
        let fill = a.fill().unwrap().to_f64().unwrap();
        let mut builder = draw.session.builder(shape.iter().map(|n| *n as u64)).fill(fill).repeated(Repeated::Error);
        let entries = draw.rng.shuffled(a.entries::<f64>().unwrap());
        builder.extend(entries);
        assert_eq!(numbers(&builder.build().collect().unwrap()), x, "{shape:?}");
        let nonzero = a.nonzero().unwrap();
        let expected: Vec<Vec<i64>> = (0..shape.len())
            .map(|k| x.indexed_iter().filter(|(_, v)| **v != 0.0).map(|(at, _)| at[k] as i64).collect())
            .collect();
        let found: Vec<Vec<i64>> = nonzero.iter().map(|list| list.to_vec().unwrap()).collect();
        assert_eq!(found, expected);
        if let [m, n] = shape[..] {
            let (zero, x) = draw.array_from(&[m, n], Prim::F64, 0, -3, 4);
            let matrix = zero.to_sprs::<f64>().unwrap();
            assert_eq!(numbers(&draw.session.from_sprs(matrix.view()).collect().unwrap()), x);
            assert_eq!(numbers(&draw.session.from_sprs(matrix.transpose_view()).collect().unwrap()), x.t());
        }
    }
}
