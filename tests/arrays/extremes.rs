//! Parameters at the limits of their types: they work, or an error gives the reason. No call panics
//! or runs forever, and no parameter wraps around. Further tests check the size of plans, and the
//! fill values of the strict mode.

use redpoll::logic::{FloatMode, Format, Prim, Scalar};
use redpoll::{Array, Config, Index, Session, index};

/// Returns the values of an array that can be computed.
fn values(array: &Array) -> Vec<i64> {
    array.astype(Prim::I64).to_vec::<i64>().unwrap()
}

/// Returns the error of an array that cannot be computed.
fn error(array: &Array) -> String {
    let error = array.collect().expect_err("it cannot be computed");
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

#[test]
fn diagonals_beyond_the_matrix() {
    let session = Session::default();
    let a = session.dense([2, 3], 1..7);
    let all = [1, 2, 3, 4, 5, 6];
    for (k, lower, upper) in [
        (i64::MIN, [0; 6], all),
        (i64::MAX, all, [0; 6]),
        (i64::MIN + 1, [0; 6], all),
        (3, all, [0; 6]),
        (-2, [0; 6], all),
    ] {
        assert_eq!((values(&a.tril(k)), values(&a.triu(k))), (lower.to_vec(), upper.to_vec()), "{k}");
        assert_eq!(values(&a.diagonal(k)), [0; 0], "{k}");
        assert_eq!(values(&a.trace(k)), [0], "{k}");
        assert_eq!(values(&session.eye(2, 3, k, Prim::F64)), [0; 6], "{k}");
    }
    assert_eq!(values(&a.band(i64::MAX, i64::MAX)), all);
    assert_eq!(values(&a.band(i64::MIN, i64::MAX)), [0; 6]);
    assert_eq!(values(&a.band(i64::MAX, i64::MIN)), [0; 6]);
    assert_eq!(values(&a.band(i64::MIN, i64::MIN)), [0; 6]);
    for k in [i64::MIN, i64::MAX] {
        error(&session.vector([1, 2]).diagonal_matrix(k));
    }
}

#[test]
fn unit_matrices_of_any_size() {
    let session = Session::default();
    let n = 1u64 << 40;
    let unit = session.eye(n, n, 0, Prim::I64);
    assert_eq!(unit.shape().unwrap(), [n, n]);
    assert_eq!(values(&unit.slice(index![7..9, 6..10])), [0, 1, 0, 0, 0, 0, 1, 0]);
    let corner = session.eye(n, n, 1, Prim::I64).slice(index![-2.., -2..]);
    assert_eq!(values(&corner), [0, 1, 0, 0]);
    let v = session.triples([n], Format::csf(1), [([5], 3i64), ([1 << 39], 4)]);
    assert_eq!(values(&unit.matmul(&v).slice(index![vec![4, 5, 1 << 39]])), [0, 3, 4]);
    assert_eq!(values(&session.eye(n, 2, -1, Prim::U8).slice(index![..3])), [0, 0, 1, 0, 0, 1]);
    error(&session.eye(u64::MAX, 1, 0, Prim::F64));
    let largest = 1u64 << 61;
    assert_eq!(values(&session.eye(largest, largest, i64::MIN, Prim::U8).slice(index![-2.., ..2])), [0; 4]);
}

#[test]
fn shifts_and_paddings_at_the_ends() {
    let session = Session::default();
    let a = session.vector([1, 2, 3]);
    // -2^63 = -2 and 2^63 - 1 = 1 modulo 3.
    assert_eq!(values(&a.roll(i64::MIN, 0)), [3, 1, 2]);
    assert_eq!(values(&a.roll(i64::MAX, 0)), [3, 1, 2]);
    assert_eq!(values(&session.vector([4]).roll(i64::MIN, 0)), [4]);
    for widths in
        [(i64::MAX, 0), (0, i64::MAX), (i64::MAX, i64::MAX), (i64::MIN, 0), (0, i64::MIN), (i64::MIN, i64::MAX)]
    {
        error(&a.pad([widths], 0));
    }
    let wide = session.triples([3], Format::csf(1), [([1], 2)]).pad([(1 << 60, 1 << 60)], 0);
    assert_eq!(values(&wide.slice(index![(1i64 << 60)..(1 << 60) + 3])), [0, 2, 0]);
    for times in [u64::MAX, 1 << 62] {
        error(&a.tile([times]));
        error(&a.repeat(times, 0));
    }
    let half = session.full([i64::MAX as u64], 1);
    error(&half.concat([&half], 0));
    error(&half.stack([&half], 0).reshape([-1]));
    error(&session.vector([1]).convolve(&half, redpoll::Overlap::Full));
}

#[test]
fn coordinates_and_steps_at_the_ends() {
    let session = Session::default();
    let a = session.vector([1, 2, 3]);
    let all = |start, stop, step| Index::Range { start, stop, step };
    for step in [i64::MIN, i64::MIN + 1, -3] {
        assert_eq!(values(&a.slice([all(None, None, step)])), [3], "{step}");
    }
    for step in [i64::MAX, 3] {
        assert_eq!(values(&a.slice([all(None, None, step)])), [1], "{step}");
    }
    assert_eq!(values(&a.slice([all(Some(i64::MIN), Some(i64::MAX), 1)])), [1, 2, 3]);
    assert_eq!(values(&a.slice([all(Some(i64::MAX), Some(i64::MIN), -1)])), [3, 2, 1]);
    for at in [i64::MIN, i64::MAX, 3, -4] {
        error(&a.slice(index![at]));
        error(&a.take(vec![at], 0));
    }
    let coordinates = session.vector([i64::MIN, i64::MAX, -4, 3, -3]);
    assert_eq!(values(&a.take(&coordinates, 0)), [0, 0, 0, 0, 1]);
    assert_eq!(values(&a.take(&session.vector([u64::MAX, 1 << 63, 2]), 0)), [0, 0, 3]);
    for shape in [vec![i64::MAX, i64::MAX], vec![i64::MIN, 1], vec![-1, i64::MAX], vec![i64::MAX, 4, 0], vec![-1, 0]] {
        error(&a.reshape(shape));
    }
    assert_eq!(values(&a.reshape([1, -1, 1])), [1, 2, 3]);
    error(&a.sliding_window(u64::MAX, 0));
    error(&a.chunks(u64::MAX, 0));
    assert_eq!(values(&a.chunks(1 << 40, 0).slice(index![0, ..4])), [1, 2, 3, 0]);
}

#[test]
fn ranges_at_the_ends() {
    let session = Session::default();
    assert_eq!(values(&session.arange(i64::MIN, i64::MAX, i64::MAX)), [i64::MIN, -1, i64::MAX - 1]);
    assert_eq!(values(&session.arange(i64::MAX, i64::MIN, i64::MIN)), [i64::MAX, -1]);
    assert_eq!(values(&session.arange(0, i64::MIN, 1)), [0; 0]);
    assert_eq!(values(&session.arange(-1, i64::MAX - 1, 1).slice(index![..2])), [-1, 0]);
    error(&session.arange(i64::MIN, i64::MAX, 1));
    let floats = |array: &Array| array.to_vec::<f64>().unwrap();
    assert_eq!(floats(&session.linspace(-3.0, 7.7, 2)), [-3.0, 7.7]);
    assert_eq!(floats(&session.linspace(1.0, 0.0, 50))[49], 0.0);
    assert_eq!(floats(&session.linspace(1.0, 1e-300, 5)), [1.0, 0.75, 0.5, 0.25, 1e-300]);
    assert_eq!(floats(&session.linspace(2.0, 9.0, 1)), [2.0]);
    assert_eq!(floats(&session.linspace(2.0, 9.0, 0)), [0.0; 0]);
    assert_eq!(floats(&session.linspace(-1e308, 1e308, 3)), [-1e308, 0.0, 1e308]);
    assert_eq!(floats(&session.linspace(0.0, 5e-324, 3)), [0.0, 0.0, 5e-324]);
    assert_eq!(floats(&session.linspace(3.0, 3.0, 3)), [3.0; 3]);
    assert_eq!(floats(&session.linspace(0.0, 1.0, 1 << 62).slice(index![-1..])), [1.0]);
    error(&session.linspace(0.0, 1.0, u64::MAX));
    let seventh = session.linspace(0.1, 0.7, 7).to_vec::<f64>().unwrap();
    let numpy: Vec<f64> = (0..7).map(|i| if i == 6 { 0.7 } else { 0.1 + f64::from(i) * ((0.7 - 0.1) / 6.0) }).collect();
    assert_eq!(seventh, numpy);
    assert_eq!(session.linspace(0.0, 0.3, 4).astype(Prim::F32).to_vec::<f32>().unwrap()[3], 0.3);
}

/// The expression of a difference must not double in size with each order.
#[test]
fn differences_of_a_high_order() {
    let session = Session::default();
    let n = 130i64;
    // The differences of order k of k-th powers are the factorial of k, modulo 2^64.
    let powers = |k: u32| session.vector((0..n).map(|i| i.wrapping_pow(k)));
    for order in [1usize, 2, 5, 20, 100] {
        let factorial = (1..=order as i64).fold(1, i64::wrapping_mul);
        let found = powers(order as u32).diff(order, 0);
        assert_eq!(values(&found), vec![factorial; n as usize - order], "{order}");
    }
    assert_eq!(values(&powers(1).diff(200, 0)), [0; 0]);
    assert_eq!(values(&powers(1).diff(usize::MAX, 0)), [0; 0]);
    assert_eq!(values(&session.vector([1u8, 0, 0, 0, 0, 0, 0]).diff(6, 0)), [1]);
    // The differences grow with the order, so the rounding errors stay small relative to the
    // differences.
    let noise: Vec<f64> = (0..n).map(|i| ((i * 7919 + i * i * 31) % 101) as f64 / 101.0 - 0.5).collect();
    let mut expected = noise.clone();
    for _ in 0..100 {
        expected = expected.windows(2).map(|w| w[1] - w[0]).collect();
    }
    let found = session.vector(noise).diff(100, 0).to_vec::<f64>().unwrap();
    let scale = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-9 * scale), "{found:?}\n{expected:?}");
}

/// Steps that each use the previous array twice must not double the plan.
#[test]
fn sums_of_an_array_with_itself_do_not_double_the_plan() {
    let session = Session::default();
    let mut a = session.vector([1u64, 2, 3]);
    for _ in 0..40 {
        a = &a + &a;
    }
    assert_eq!(a.to_vec::<u64>().unwrap(), [1 << 40, 2 << 40, 3 << 40]);
}

/// The comparison of two queries that read one tensor many times must not try all pairings of their
/// reads.
#[test]
fn products_of_many_reads_are_computed_together() {
    let session = Session::default();
    let (v, w, u) = (session.vector([2, 3]), session.vector([5, 7]), session.vector([11, 13]));
    let product =
        |last: &Array| session.einsum("a,b,c,d,e,f,g,h,i,j->abcdefghij", [&v, &v, &v, &v, &v, &v, &v, &v, &v, last]);
    let results = session.collect_all([&product(&w), &product(&u)]).unwrap();
    let ends = |k: usize| {
        let values = results[k].to_dense_scalars().unwrap();
        [values[0].to_f64().unwrap(), values[1023].to_f64().unwrap()]
    };
    assert_eq!((ends(0), ends(1)), ([2560.0, 137_781.0], [5632.0, 255_879.0]));
}

/// In the strict mode, the quotient of a matrix and itself is NaN where nothing is stored, and 1 at
/// the entries of the matrix.
#[test]
fn strict_quotients_of_one_matrix_keep_its_entries() {
    let mut config = Config::default();
    config.optimizer.float_mode = FloatMode::StrictIeee;
    let eye = Session::new(config).eye(2, 2, 1, Prim::I64);
    for quotient in [&eye / &eye, eye.floor_divide(eye.astype(Prim::F64))] {
        let values = quotient.to_vec::<f64>().unwrap();
        assert_eq!(values.iter().map(|value| value.is_nan()).collect::<Vec<_>>(), [true, false, true, true]);
        assert_eq!(values[1], 1.0);
    }
}

/// In the strict mode, a lazy array reports the fill value that it has when it is computed. A read
/// at arrays of coordinates keeps the fill value.
#[test]
fn strict_fill_values_are_those_of_the_results() {
    let mut config = Config::default();
    config.optimizer.float_mode = FloatMode::StrictIeee;
    let session = Session::new(config);
    let eye = session.eye(2, 2, 1, Prim::F64);
    let rows = session.vector([1i64, 0, 1, 0]);
    for (array, expected) in [
        (&eye / &eye, f64::NAN),
        (eye.refill(-0.25).take(&rows, 0), -0.25),
        (&eye.refill(-0.25).take(&rows, 0) * 2.0, -0.5),
    ] {
        let lazy = array.fill().unwrap();
        let computed = array.collect().unwrap().ty().fill.clone();
        for fill in [lazy, computed] {
            let Scalar::F64(fill) = fill else { panic!("{fill} is no float") };
            assert!(fill == expected || fill.is_nan() && expected.is_nan(), "{fill}, expected {expected}");
        }
    }
}

#[test]
fn collecting_no_arrays_gives_no_tensors() {
    assert!(Session::default().collect_all([]).unwrap().is_empty());
}

/// Numbers that the dtype cannot represent are compared by value.
#[test]
fn integers_are_compared_with_numbers_out_of_range() {
    let session = Session::default();
    let (bytes, small) = (session.vector([0u8, 7, 255]), session.vector([-128i8, 0, 127]));
    let truth = |array: &Array| array.to_vec::<bool>().unwrap();
    assert_eq!(truth(&bytes.greater(-1)), [true; 3]);
    assert_eq!(truth(&bytes.less(-1)), [false; 3]);
    assert_eq!(truth(&bytes.less_equal(256)), [true; 3]);
    assert_eq!(truth(&small.equal(1000)), [false; 3]);
    assert_eq!(truth(&small.not_equal(-1000)), [true; 3]);
    assert_eq!(truth(&session.vector([0u64, u64::MAX]).greater_equal(-5)), [true; 2]);
    assert_eq!(truth(&session.vector([i64::MIN, i64::MAX]).less(u64::MAX)), [true; 2]);
    assert_eq!(truth(&session.vector([f32::MAX, f32::INFINITY]).less(1e300)), [true, false]);
    assert_eq!(bytes.greater(-1).count_nonzero(..).to_vec::<i64>().unwrap(), [3]);
    assert!((&bytes + 300).check().is_err(), "`u8` cannot represent 300, so the sum is an error");
}

/// The number of an element among 2^64 elements does not fit into `i64`.
#[test]
fn positions_beyond_i64_are_an_error() {
    let session = Session::default();
    let a = session.triples([1 << 32, 1 << 32], Format::csf(2), [([3, 5], 2.0)]);
    assert!(error(&a.argmax(..)).contains("one axis at a time"));
    assert_eq!(a.argmax(1).max(..).to_vec::<i64>().unwrap(), [5]);
}
