//! Computed arrays: results with and without kept tensors, the memory of kept tensors, and the work
//! that they save. Also reads of single elements, cancelled runs, and kept copies of inputs.

use redpoll::compiler::assembly::Counts;
use redpoll::logic::{FloatMode, Format, Prim};
use redpoll::storage::{Account, Tensor};
use redpoll::{Array, Config, Error, Session, Target, index};
use redpoll_testing::arrays::{check_computed, evict_kept};
use redpoll_testing::random::requested_seeds;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Computing arrays of random programs, and keeping and evicting their tensors, changes no result.
#[test]
fn kept_tensors_change_no_result() {
    let (mut computed, mut failures) = (0, Vec::new());
    for seed in requested_seeds().unwrap_or(0..300) {
        match check_computed(seed) {
            Ok(count) => computed += count,
            Err(failure) => failures.push(failure),
        }
    }
    let count = failures.len();
    failures.truncate(4);
    assert!(failures.is_empty(), "{count} failures:\n\n{}", failures.join("\n\n"));
    assert!(computed > 300 || requested_seeds().is_some(), "{computed} arrays are computed");
}

/// Returns a sparse matrix with ones on the diagonal and next to the diagonal.
fn band(session: &Session, n: u64) -> Array {
    let entries = (0..n).flat_map(|i| (i.saturating_sub(1)..(i + 2).min(n)).map(move |j| ([i, j], 1.0)));
    session.triples([n, n], Format::csr(), entries)
}

fn used(session: &Session) -> usize {
    session.limits().memory.used()
}

fn work(array: &Array) -> Counts {
    array.profile_with(Target::ASSEMBLY).unwrap().counts.unwrap()
}

fn values(array: &Array) -> Vec<f64> {
    array.to_vec().unwrap()
}

/// Expressions built before and after an array is computed read its tensor, as if the tensor were
/// an input. Until the array is computed, such expressions are fused with it.
#[test]
fn later_expressions_read_the_kept_tensor() {
    let session = Session::default();
    let a = band(&session, 40);
    let product = a.matmul(&a).to_csr();
    let before = product.max(1);
    let fused = work(&before);
    let tensor = product.compute().unwrap();
    let after = product.clone().max(1);
    let of_input = work(&session.array(tensor).max(1));
    assert_eq!([work(&before), work(&after)], [of_input; 2]);
    assert!(of_input.iterations * 2 < fused.iterations, "{of_input:?} is much less than {fused:?}");
    let named = (product.at(["i", "j"]) * product.at(["j", "k"])).sum("j");
    assert_eq!(values(&named.sum(..)), values(&a.matmul(&a).matmul(a.matmul(&a)).sum(..)));
}

/// After an array is computed, computing or collecting it again runs nothing.
#[test]
fn computed_arrays_are_not_computed_again() {
    let session = Session::default();
    let a = band(&session, 20);
    let product = a.matmul(&a);
    let address = |tensor: &Tensor| tensor.leaf()[0].buffer().as_ptr();
    let first = product.compute().unwrap();
    for again in [product.compute(), product.collect(), product.clone().compute(), product.collect_with(Target::LOGIC)]
    {
        assert_eq!(address(&again.unwrap()), address(&first));
    }
    let input = session.dense([2], [1.0, 2.0]);
    assert_eq!(address(&input.compute().unwrap()), address(&input.compute().unwrap()));
}

/// Arrays computed together share their common part.
#[test]
fn arrays_computed_together_share_passes() {
    let session = Session::default();
    let a = band(&session, 60);
    let product = a.matmul(&a).to_csr();
    let (rows, columns) = (product.max(1), product.max(0));
    let iterations = |arrays: &[&Array]| {
        let run = session.prepare_all(arrays.iter().copied()).unwrap().run_with(Target::ASSEMBLY).unwrap();
        run.counts.unwrap().iterations
    };
    let (alone, together) = (iterations(&[&rows]) + iterations(&[&columns]), iterations(&[&rows, &columns]));
    assert!(together < alone, "{together} iterations together, {alone} alone");
    let tensors = session.compute_all([&rows, &columns, &product]).unwrap();
    assert_eq!(tensors.len(), 3);
    assert_eq!(session.compute_all([]).unwrap().len(), 0);
    assert_eq!(iterations(&[&rows]), work(&session.array(tensors[0].clone())).iterations);
}

/// Kept tensors count against the memory limit until the last array that needs them is dropped.
#[test]
fn memory_is_released_with_the_arrays() {
    let session = Session::default();
    let a = session.dense([64, 64], (0..4096).map(f64::from));
    let bytes = 64 * 64 * 8;
    let product = a.matmul(&a);
    product.compute().unwrap();
    assert_eq!(used(&session), bytes);
    let (clone, derived, fused) = (product.clone(), &product + 1.0, a.matmul(&a).sum(..));
    drop(product);
    assert_eq!(used(&session), bytes);
    drop(clone);
    assert_eq!(used(&session), bytes, "`derived` reads the tensor");
    let sum = values(&derived.sum(..));
    derived.compute().unwrap();
    assert_eq!(used(&session), bytes, "`derived` is computed, so the product is dropped");
    assert_eq!((values(&derived.sum(..)), values(&fused).len()), (sum, 1));
    drop(derived);
    assert_eq!(used(&session), 0);
}

/// A loop keeps at most three tensors at a time, however many rounds it has.
#[test]
fn loops_keep_one_tensor() {
    let session = Session::default();
    let bytes = 100 * 8;
    let walk = band(&session, 100) / 3.0;
    let mut state = session.vector((0..100).map(f64::from));
    let mut expected: Vec<f64> = values(&state);
    for round in 0..100 {
        state = walk.matmul(&state);
        state.compute().unwrap();
        let at = |i: usize| expected.get(i).copied().unwrap_or(0.0);
        expected = (0..100usize).map(|i| (at(i.wrapping_sub(1)) + at(i) + at(i + 1)) / 3.0).collect();
        // The tensor at the end of a chain of origins is kept until the arrays computed from it are
        // dropped.
        assert!(used(&session) <= 3 * bytes, "round {round}");
        if round % 7 == 0 {
            evict_kept(&session);
        }
    }
    let near = values(&state).iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near);
    drop(state);
    assert_eq!(used(&session), 0);
}

/// Kept tensors are evicted when other results need their memory. Evicted tensors are computed
/// again where they are needed.
#[test]
fn tensors_are_evicted_at_the_memory_limit() {
    let bytes = 64 * 64 * 8;
    let session = Session::new(Config { memory_limit: Some(5 * bytes / 2), ..Config::default() });
    let a = session.dense([64, 64], (0..4096).map(|k| f64::from(k % 7)));
    let arrays: Vec<Array> = (0..4).map(|k| &a + f64::from(k)).collect();
    let sums: Vec<Array> = arrays.iter().map(|array| array.sum(..)).collect();
    for array in &arrays {
        array.compute().unwrap();
        assert!(used(&session) <= 2 * bytes);
        array.get::<f64>([1, 1]).unwrap();
    }
    assert_eq!(used(&session), 2 * bytes);
    let sum = values(&a.sum(..))[0];
    for (k, (array, earlier)) in arrays.iter().zip(&sums).enumerate() {
        let expected = [sum + 4096.0 * k as f64];
        assert_eq!([values(earlier), values(&array.sum(..))], [expected, expected]);
    }
    assert_eq!(used(&session), 2 * bytes, "reads of evicted tensors keep nothing");
    arrays[0].compute().unwrap();
    assert_eq!(used(&session), 2 * bytes);
}

/// A run that needs more memory evicts the kept tensors that it reads, and computes their values
/// again.
#[test]
fn runs_evict_the_tensors_that_they_read() {
    let bytes = 64 * 64 * 8;
    let session = Session::new(Config { memory_limit: Some(3 * bytes / 2), ..Config::default() });
    let a = session.dense([64, 64], (0..4096).map(|k| f64::from(k % 7)));
    let shifted = &a + 1.0;
    shifted.compute().unwrap();
    let doubled = &shifted * 2.0;
    assert_eq!(doubled.collect().unwrap().get(&[0, 1]).unwrap(), 4.0.into());
    assert_eq!(used(&session), 0);
    shifted.compute().unwrap();
    assert_eq!(used(&session), bytes);
}

/// Elements have the same values in a lazy array, in its computed array, and in views of the
/// computed array. Wrong types and wrong coordinates are errors.
#[test]
fn elements_are_read_in_place() {
    let session = Session::default();
    let a = session.dense([3, 4], (0..12).map(i64::from));
    let squares = a.square().permute_dims([1, 0]);
    assert_eq!(squares.get::<i64>([1, 2]).unwrap(), 81);
    squares.compute().unwrap();
    let part = squares.slice(index![1.., (.., -1)]);
    for array in [
        squares.clone(),
        squares.expand_dims(0).squeeze(0),
        part.pad([(1, 0), (0, 0)], 0).flip(1).slice(index![.., ..]),
    ] {
        assert_eq!([array.get::<i64>([1, 2]).unwrap(), array.get::<i64>([-3, -1]).unwrap()], [81; 2]);
    }
    assert_eq!(part.slice(index![0, 0]).to_vec::<i64>().unwrap(), [81]);
    assert_eq!(squares.at(["i", "j"]).get::<i64>([3, 0]).unwrap(), 9);
    assert_eq!(squares.slice(index![0..3, ..]).at(["i", "i"]).get::<i64>([2]).unwrap(), 100);
    for error in [squares.get::<f64>([0, 0]).unwrap_err(), squares.to_vec::<f64>().unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("computed.rs") && text.contains("`astype(Prim::F64)`"), "{text}");
    }
    for (coordinates, text) in [(vec![0], "a coordinate for each of the 2 modes"), (vec![0, 3], "out of range")] {
        let error = squares.get::<i64>(coordinates).unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("computed.rs"), "{error}");
    }
    let number = squares.sum(..);
    number.compute().unwrap();
    assert_eq!(number.get::<i64>([]).unwrap(), 506);
}

/// Explanations list the kept tensors that a plan reads, by their names in the plan.
#[test]
fn explanations_list_kept_tensors() {
    let session = Session::default();
    let a = band(&session, 10);
    let product = a.matmul(&a);
    let section = |array: &Array| array.explain().unwrap().into_iter().find(|s| s.title == "computed arrays");
    assert!(section(&product.sum(1)).is_none());
    let tensor = product.compute().unwrap();
    // A plan with other names may be in the cache.
    session.array(tensor).sum(1).collect().unwrap();
    let text = section(&product.sum(1)).unwrap().text;
    assert!(text.contains("is the kept tensor of a computed array: [10, 10] of f64"), "{text}");
    let name = text.split('`').nth(1).unwrap();
    assert!(product.sum(1).prepare().unwrap().plan().unwrap().to_string().contains(&format!("(table {name} ")));
}

/// A session does not read a tensor that was kept in another float mode, because its values may
/// differ.
#[test]
fn tensors_of_another_float_mode_are_not_read() {
    let mut config = Config::default();
    config.optimizer.float_mode = FloatMode::StrictIeee;
    let (strict, relaxed) = (Session::new(config), Session::default());
    let zeros = || strict.zeros([2], Prim::F64);
    let (computed, lazy) = (zeros() / zeros(), zeros() / zeros());
    computed.compute().unwrap();
    assert!(computed.get::<f64>([0]).unwrap().is_nan());
    let added = |quotient: &Array| values(&(relaxed.vector([1.0, 1.0]) + quotient));
    assert_eq!(added(&computed), added(&lazy));
    relaxed.compute_all([&computed]).unwrap();
    assert!(values(&computed)[0].is_nan(), "the strict session keeps its own tensor");
}

/// Threads compute and read one array at the same time.
#[test]
fn threads_share_computed_arrays() {
    fn assert_send_and_sync<T: Send + Sync>(_: &T) {}
    let session = Session::default();
    let a = band(&session, 30);
    let product = Arc::new(a.matmul(&a));
    assert_send_and_sync(&*product);
    let expected = values(&product.sum(1));
    std::thread::scope(|scope| {
        for k in 0..8 {
            let (product, expected, session) = (&product, &expected, &session);
            scope.spawn(move || {
                for round in 0..20 {
                    match (k + round) % 4 {
                        0 => drop(product.compute().unwrap()),
                        1 => evict_kept(session),
                        _ => assert_eq!(values(&product.sum(1)), *expected),
                    }
                }
            });
        }
    });
    product.compute().unwrap();
    drop(product);
    assert_eq!(used(&session), 0);
}

/// Every computation of an array with an error reports the error, and keeps nothing.
#[test]
fn errors_keep_nothing() {
    let session = Session::default();
    let (a, b) = (session.vector([1, 2]), session.vector([1, 2, 3]));
    assert!((&a + &b).compute().is_err());
    let overflow = session.vector([i32::MAX]).add_checked(1);
    assert!(overflow.compute().is_err() && overflow.compute().is_err());
    assert_eq!(used(&session), 0);
    assert!(session.limits().memory.charge(1));
    session.limits().memory.release(1);
}

/// A cancel flag stops the runs of its own session and arrays. The runs of other sessions and
/// arrays, which share caches and kept tensors, continue.
#[test]
fn a_cancel_flag_stops_its_own_runs() {
    let session = Session::default();
    let a = session.dense([64, 64], (0..4096).map(f64::from));
    let product = a.matmul(&a);
    let (set, clear) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let stops = |result: Result<Tensor, Error>| result.unwrap_err().to_string().contains("cancelled");
    assert!(stops(product.cancelled_by(&set).collect()));
    assert!(session.cancelled_by(&set).compute_all([&product]).is_err_and(|error| stops(Err(error))));
    let tensor = product.cancelled_by(&clear).compute().unwrap();
    assert_eq!(used(&session), 64 * 64 * 8, "both arrays share the kept tensor");
    assert_eq!(product.cancelled_by(&set).collect().unwrap().identity(), tensor.identity());
}

/// From the second conversion of an input to the same format on, the copy is kept as long as the
/// input, and later runs read it. At the memory limit, copies are dropped.
#[test]
fn repeated_conversions_of_an_input_are_kept() {
    let session = Session::new(Config { memory_limit: Some(1 << 20), ..Config::default() });
    let coo = || session.triples([600, 500], Format::coo(2), (0..500).map(|i| ([i, (7 * i) % 500], i as f64)));
    let (a, b) = (coo(), coo());
    let row = |a: &Array, k: i64| values(&a.slice(index![k, ..]));
    let before = used(&session);
    let of_runs: Vec<usize> = [3, 5, 9]
        .map(|k| {
            assert_eq!(row(&a, k)[(7 * k as usize) % 500], k as f64);
            used(&session)
        })
        .into();
    assert_eq!(of_runs[0], before, "one conversion keeps nothing");
    assert!(of_runs[1] > before && of_runs[2] == of_runs[1], "{before} bytes, then {of_runs:?}");
    let columns = values(&a.sum(0));
    row(&b, 3);
    row(&b, 5);
    assert!(used(&session) > of_runs[1], "another input has copies of its own");
    assert_eq!(values(&a.sum(0)), columns);
    drop(b);
    assert_eq!(used(&session), of_runs[1]);
    let large = session.full([(1 << 17) - 1000], 1.0) + 1.0;
    assert_eq!(large.collect().map(|_| ()).map_err(|e| e.to_string()), Ok(()), "the copy is evicted");
    assert_eq!(row(&a, 11)[77], 11.0);
}
