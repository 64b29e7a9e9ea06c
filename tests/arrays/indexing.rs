//! Indexing, named modes, masks and conversions; also the errors, notes and profiles of arrays, and
//! the storage of results.

use ndarray::Axis;
use redpoll::logic::text::parse_format;
use redpoll::logic::{DType, FloatMode, Format, Prim};
use redpoll::{Bindings, Config, DuplicatePolicy, Note, Session, Target, index};
use redpoll_testing::arrays::draw::{OperandSource, dense_values};
use redpoll_testing::arrays::oracle;

/// Arrays of row coordinates and of column coordinates broadcast. If one array has the shape of a
/// column and the other the shape of a row, they select a submatrix.
#[test]
fn rows_and_columns_select_a_submatrix() {
    let session = Session::default();
    let a = session.dense([3, 4], 0..12);
    let (rows, columns) = (session.vector([2, 0]), session.vector([3, 0, 1]));
    let part = a.slice(index![&rows.expand_dims(1), &columns]);
    assert_eq!(part.to_vec::<i32>().unwrap(), [11, 8, 9, 3, 0, 1]);
    assert_eq!(a.slice(index![&rows, &columns.expand_dims(1)]).shape().unwrap(), [3, 2]);
}

/// The error of a chain of operators names the operation, the line and the cause.
#[test]
fn errors_name_the_line() {
    let session = Session::default();
    let (a, b) = (session.vector([1, 2]), session.vector([1, 2, 3]));
    let line = line!() + 1;
    let broken = (&a + &b).sum(0) * 2;
    let error = broken.collect().unwrap_err().to_string();
    assert!(error.contains("`add`") && error.contains(&format!("indexing.rs:{line}")), "{error}");
    let cases: Vec<(redpoll::Array, &str)> = vec![
        (a.sum(1), "axis 1 is out of range for an array of 1 mode"),
        (a.sum("i"), "there is no mode `i`; the array has no named modes"),
        (a.at(["i"]).sum("k"), "there is no mode `k`; the modes are named i"),
        (a.at(["i"]).by_position(["k"]), "there is no mode `k`; the modes are named i"),
        (a.at(["i"]).by_position([""; 0]), "expected each of the modes i once"),
        (
            a.at(["i"]) * b.at(["i"]),
            "mode `i` has size 2 in operand 1 of shape [2], but size 3 in operand 2 of shape [3]",
        ),
        (
            session.einsum("i,ik->k", [&a, &session.dense([3, 2], 0..6)]),
            "mode `i` has size 2 in operand 1 of shape [2], but size 3 in operand 2 of shape [3, 2]",
        ),
        (a.slice(index![5]), "coordinate 5 is out of range for a mode of size 2"),
        (a.slice(index![0, 0]), "2 indices"),
        (a.reshape([3]), "expected 2 elements, found 3"),
        (a.matmul(&b), "the first has 2 columns, the second 3 rows"),
        (a.concat([&session.dense([1, 1], [0])], 0), "differ outside of mode 0"),
        (a.squeeze(0), "expected size 1 in mode 0 of shape [2], found 2"),
        (session.einsum("ij->i", [&a]), "expected a name for each of the 1 modes of shape [2], found 2"),
        (session.einsum("i->k", [&a]), "in no operand"),
        (a.t(), "expected at least 2 modes, found 1"),
        (a.at(["i"]).t(), "the modes are named i; call `by_position` first"),
        (a.at(["i"]) + &b, "whose modes are numbered; name the numbered modes with `at`"),
        (a.take(&session.vector([0.5]), 0), "coordinates must be integers"),
        (session.dense([3], [1, 2]), "found 2 values"),
        (session.triples([2], Format::csf(1), [([5], 1)]), "`triples` at "),
    ];
    for (array, expected) in cases {
        let error = array.check().expect_err(expected).to_string();
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    }
}

/// Computed coordinates that are out of bounds gather zero. Constant coordinates are checked.
#[test]
fn gathers_out_of_bounds_are_zero() {
    let session = Session::default();
    let a = session.vector([10, 20, 30]);
    let coordinates = session.vector([0i64, 3, -1, -4, 1_000_000_000_000]);
    assert_eq!(a.take(&coordinates, 0).to_vec::<i32>().unwrap(), [10, 0, 30, 0, 0]);
    assert!(a.take(vec![3], 0).check().is_err(), "constant coordinates are checked");
}

/// Gathers at gathered coordinates have kernels of moderate size: each coordinate is one variable.
/// If each use of a coordinate were written out, lowering would not end.
#[test]
fn gathers_at_gathered_coordinates_end() {
    for float_mode in [FloatMode::Relaxed, FloatMode::StrictIeee] {
        let mut config = Config::default();
        config.optimizer.float_mode = float_mode;
        let session = Session::new(config);
        let a = session.dense([3, 1], [2.0f32, 0.0, 1.0]).reformat(Format::csf(2));
        let rows = session.vector([2i64, 0, 1]).reformat(parse_format("(sparse-list (element))", 1).unwrap());
        let columns = session.vector([0i64, 0, -1]).reformat(parse_format("(run-length (element))", 1).unwrap());
        let gathered = a.slice(index![&rows, &columns]);
        let coordinates = gathered.astype(DType::I64);
        let twice = gathered.take(&coordinates, 0);
        let thrice = twice.take(&twice.astype(DType::I64), 0);
        assert_eq!(gathered.to_vec::<f32>().unwrap(), [1.0, 2.0, 0.0]);
        assert_eq!(twice.to_vec::<f32>().unwrap(), [2.0, 0.0, 1.0]);
        assert_eq!(thrice.to_vec::<f32>().unwrap(), [1.0, 2.0, 0.0]);
    }
}

/// Reductions by name keep the names of the other modes.
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

/// Arrays that are computed together have the values that plain `ndarray` arithmetic gives.
#[test]
fn arrays_are_collected_together() {
    let mut draw = OperandSource::new(7);
    let (a, x) = draw.array_with_dtype(&[3, 4], Prim::F64);
    let (b, y) = draw.array_with_dtype(&[4], Prim::F64);
    let results = draw.session.collect_all([&a.matmul(&b), &(&a * &b), &a]).unwrap();
    let product = oracle::map(&[&x, &y], |v| v[0] * v[1]);
    assert_eq!(dense_values(&results[0]), product.sum_axis(Axis(1)));
    assert_eq!(dense_values(&results[1]), product);
    assert_eq!(dense_values(&results[2]), x);
}

/// The note on densified results appears exactly when a result is densified without a request.
#[test]
fn dense_results_of_sparse_operands_are_noted() {
    let session = Session::default();
    let sparse = session.triples([100, 100], Format::csr(), (0..50).map(|k| ([k, k], 1.0)));
    let dense = session.dense([100, 100], vec![2.0; 10_000]);
    let notes = |array: &redpoll::Array| array.prepare().unwrap().notes();
    assert!(notes(&(&sparse * 3.0)).is_empty());
    assert!(notes(&(&sparse * &dense)).is_empty());
    assert!(notes(&sparse.sum(..)).is_empty());
    assert!(notes(&(&sparse + &dense).to_dense()).is_empty(), "a dense result was requested");
    let found = notes(&(&sparse + &dense));
    assert!(matches!(&found[..], [Note::DenseStorage { is_result: true, elements: 10_000, .. }]), "{found:?}");
    assert!(
        found[0].to_string().starts_with("result `result` is dense: all 10000 elements are stored"),
        "{}",
        found[0]
    );
    let sections = (&sparse + &dense).explain().unwrap();
    assert!(sections.iter().any(|s| s.title == "notes"));
}

/// The quotient of a sparse array and itself has a note on the float modes; the quotient of a dense
/// array and itself has none.
#[test]
fn quotients_of_dense_operands_are_not_noted() {
    let session = Session::default();
    let notes = |array: &redpoll::Array| (array / array).prepare().unwrap().notes();
    let sparse = session.triples([100], Format::csf(1), [([7], 1.0)]);
    assert!(matches!(notes(&sparse)[..], [Note::FloatModeDifference { .. }]));
    assert_eq!(notes(&session.dense([100], vec![2.0; 100])), []);
}

/// Results of sparse operands store few entries, in a format that is not dense.
#[test]
fn results_of_sparse_operands_stay_sparse() {
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
    for (name, array, max_stored) in cases {
        let prepared = array.prepare().unwrap();
        // A product with the transposed matrix copies the matrix in another order.
        let notes: Vec<Note> = prepared.notes().into_iter().filter(|n| !matches!(n, Note::Copy { .. })).collect();
        assert!(notes.is_empty(), "{name}: {notes:?}");
        let result = &prepared.run().unwrap().outputs[0].1;
        assert!(
            result.count_stored().unwrap() <= max_stored,
            "{name} stores {}, not {max_stored}",
            result.count_stored().unwrap()
        );
    }
}

/// Profiles report every query, its stored entries, and the counts of the interpreter.
#[test]
fn profiles_show_every_query() {
    let session = Session::default();
    let a = session.triples([10, 10], Format::csr(), (0..10).map(|k| ([k, 9 - k], 1.0)));
    let profile = a.matmul(&a).profile_with(Target::ASSEMBLY).unwrap();
    assert!(profile.counts.is_some_and(|c| c.iterations > 0));
    assert!(profile.queries.iter().all(|q| !q.outputs.is_empty()));
    let last = profile.queries.last().unwrap();
    assert_eq!(last.outputs[0].stored, 10);
    assert!(profile.to_string().contains("iterations"));
}

/// Arrays have the same values after a conversion to `ndarray` and back, and if a builder rebuilds
/// them from their entries. Matrices have the same values after a conversion to `sprs` and back.
/// `nonzero` lists the coordinates of the nonzero values.
#[test]
fn conversions_round_trip() {
    for seed in 0..20 {
        let mut draw = OperandSource::new(100 + seed);
        let shape = draw.any_shape(1, 4);
        let (a, x) = draw.array_with_dtype(&shape, Prim::F64);
        assert_eq!(a.to_ndarray::<f64>().unwrap(), x);
        assert_eq!(dense_values(&draw.session.from_ndarray(&x).collect().unwrap()), x);
        let fill = a.fill().unwrap().to_f64().unwrap();
        let mut builder =
            draw.session.builder(shape.iter().map(|n| *n as u64)).fill(fill).duplicates(DuplicatePolicy::Error);
        let entries = draw.rng.shuffled(a.entries::<f64>().unwrap());
        builder.extend(entries);
        assert_eq!(dense_values(&builder.build().collect().unwrap()), x, "{shape:?}");
        let nonzero = a.nonzero().unwrap();
        let expected: Vec<Vec<i64>> = (0..shape.len())
            .map(|k| x.indexed_iter().filter(|(_, v)| **v != 0.0).map(|(at, _)| at[k] as i64).collect())
            .collect();
        let found: Vec<Vec<i64>> = nonzero.iter().map(|list| list.to_vec().unwrap()).collect();
        assert_eq!(found, expected);
        if let [m, n] = shape[..] {
            let (zero, x) = draw.array_in_range(&[m, n], Prim::F64, 0, -3, 4);
            let matrix = zero.to_sprs::<f64>().unwrap();
            assert_eq!(dense_values(&draw.session.from_sprs(matrix.view()).collect().unwrap()), x);
            assert_eq!(dense_values(&draw.session.from_sprs(matrix.transpose_view()).collect().unwrap()), x.t());
        }
    }
}

/// A mask selects the same elements in each of several formats, whether or not the mask is stored
/// like the array. Pairs are rejected as masks.
#[test]
fn masks_of_every_storage_select_the_same_elements() {
    let session = Session::default();
    let values: Vec<f64> = (0..60).map(|k| if k % 7 == 0 { f64::from(k) - 20.0 } else { 0.0 }).collect();
    let dense = session.dense([6, 10], values.clone());
    let selected = |keep: &dyn Fn(f64) -> bool| values.iter().copied().filter(|v| keep(*v)).collect::<Vec<_>>();
    let formats = [Format::csr(), Format::coo(2), Format::csf(2), Format::csc(), Format::dense(2)];
    for format in formats {
        let a = session.array(redpoll::storage::convert(&dense.collect().unwrap(), &format).unwrap());
        assert_eq!(a.select(&a.greater(3.0)).unwrap().to_vec::<f64>().unwrap(), selected(&|v| v > 3.0), "{format:?}");
        assert_eq!(a.select(&a.less(3.0)).unwrap().to_vec::<f64>().unwrap(), selected(&|v| v < 3.0), "{format:?}");
        assert_eq!(
            a.select(&dense.less(-1.0)).unwrap().to_vec::<f64>().unwrap(),
            selected(&|v| v < -1.0),
            "{format:?}"
        );
        assert_eq!(
            a.nonzero().unwrap()[1].to_vec::<i64>().unwrap(),
            dense.nonzero().unwrap()[1].to_vec::<i64>().unwrap()
        );
    }
    let plan = "(plan (query a (aggregate minby (pair inf max) (mapjoin pair (table A i j) (coordinate j)) j)) \
                (produces a))";
    let bindings = Bindings::new().with("A", dense.collect().unwrap());
    let run = session.prepare(plan, &bindings).unwrap().run().unwrap();
    let pairs = session.array(run.outputs[0].1.clone());
    let error = session.vector([1.0; 6]).select(&pairs).unwrap_err().to_string();
    assert!(error.contains("neither true nor false"), "{error}");
    assert!(pairs.nonzero().is_err() && pairs.argwhere().is_err());
}
