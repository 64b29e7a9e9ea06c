//! Tests that in the default float mode, results depend on the values of operands, not on their
//! formats.
//!
//! At the coordinates of two matrices, all pairs of values occur, including infinities and NaN. The
//! values are stored or are fill values. Every binary operator with an annihilator, except checked
//! operators of integers, is applied to these matrices: in every pair of formats for `f64`, and in
//! equal formats for the other dtypes. Further tests check folds, products with poles, tensors with
//! more coordinates than 64 bits can count, and the strict mode.

use redpoll::{Bindings, Config, Note, Session, Target};
use redpoll_logic::interp::{DenseTensor, Exactness, interpret};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::text::{Catalog, parse, parse_format};
use redpoll_logic::{DType, FloatMode, Format, Prim, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values, convert};
use redpoll_testing::rng::Rng;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const FORMATS: [&str; 5] = ["csr", "coo", "dense", "(dense (hash (element)))", "rle"];

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// The values of rows of the first matrix or of columns of the second; `None` if nothing is stored.
const FLOATS: &[Option<f64>] =
    &[None, Some(0.0), Some(1.5), Some(-2.0), Some(INF), Some(-INF), Some(NAN), None, Some(1.0)];
const NUMBERS: &[Option<f64>] = &[None, Some(0.0), Some(1.0), Some(-1.0), Some(3.0), None, Some(-128.0), Some(127.0)];
const BOOLS: &[Option<f64>] = &[None, Some(0.0), Some(1.0), None];

/// The fill values of the two matrices.
const FLOAT_FILLS: &[[f64; 2]] =
    &[[0.0, 0.0], [0.0, 5.0], [2.0, 0.0], [0.0, INF], [INF, 0.0], [-INF, -INF], [0.0, NAN], [NAN, 1.0], [1.0, 1.0]];
const NUMBER_FILLS: &[[f64; 2]] = &[[0.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [127.0, -128.0]];
const BOOL_FILLS: &[[f64; 2]] = &[[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]];

/// Returns a matrix in which all entries of a row, or of a column, have the same value. Also
/// returns the values of the matrix at all coordinates, row-major.
fn matrix(values: &[Option<f64>], by_row: bool, (prim, fill): (Prim, f64), format: &str) -> (Tensor, Vec<Scalar>) {
    let n = values.len() as u64;
    let of = |v: f64| Scalar::F64(v).cast(prim).unwrap();
    let at = |i: u64, j: u64| values[if by_row { i } else { j } as usize];
    let coordinates: Vec<(u64, u64)> = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).collect();
    let entries: Vec<(u64, u64, Scalar)> =
        coordinates.iter().filter_map(|&(i, j)| at(i, j).map(|v| (i, j, of(v)))).collect();
    let scalars: Vec<Scalar> = entries.iter().map(|(.., v)| v.clone()).collect();
    let triples = Triples {
        shape: vec![n, n],
        coordinates: vec![entries.iter().map(|s| s.0).collect(), entries.iter().map(|s| s.1).collect()],
        values: Values::from_scalars(DType::Prim(prim), &scalars).unwrap(),
    };
    let format = parse_format(format, 2).unwrap();
    let ty = TensorType { shape: vec![n, n], dtype: DType::Prim(prim), fill: of(fill), format };
    let dense = coordinates.iter().map(|&(i, j)| of(at(i, j).unwrap_or(fill))).collect();
    (Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0, dense)
}

/// Returns the values at all coordinates, row-major.
fn all_values(tensor: &Tensor) -> Vec<Scalar> {
    let rank = tensor.ty().shape.len();
    let dense = convert(tensor, &Format::dense(rank)).unwrap();
    let count = tensor.ty().shape.iter().product::<u64>() as usize;
    (0..count).map(|k| dense.leaf()[0].scalar(k)).collect()
}

/// Returns whether two values are equal. Zeros of both signs are equal, and all NaNs are equal.
fn is_equal(a: &Scalar, b: &Scalar) -> bool {
    a == b || a.is_nan() && b.is_nan() || a.to_f64() == Some(0.0) && b.to_f64() == Some(0.0)
}

fn run(session: &Session, text: &str, bindings: &Bindings) -> Vec<Tensor> {
    let prepared = session.prepare(text, bindings).unwrap_or_else(|e| panic!("{e}: {text}"));
    prepared.run().unwrap_or_else(|e| panic!("{e}: {text}")).outputs.into_iter().map(|(_, t)| t).collect()
}

fn session(target: Target, mode: FloatMode) -> Session {
    let mut config = Config { target, ..Config::default() };
    config.optimizer.float_mode = mode;
    Session::new(config)
}

/// Returns the binary operators of a dtype for which at least one of `values`, as an argument,
/// determines the result. Checked operators of integers are excluded.
fn annihilated_operators(prim: Prim, values: &[Option<f64>]) -> Vec<Builtin> {
    let dtypes = [DType::Prim(prim), DType::Prim(prim)];
    let has_annihilator = |b: &&Builtin| {
        let op = Op::Builtin(**b);
        let Ok(signature) = op.signature(&dtypes) else { return false };
        let checked = matches!(b, Builtin::AddChecked | Builtin::SubChecked | Builtin::MulChecked);
        !(checked && prim.is_int())
            && signature.result.prim().is_some()
            && values.iter().flatten().any(|v| {
                (0..2).any(|k| {
                    let mut constant_args = [None, None];
                    constant_args[k] = Some(Scalar::F64(*v).cast(prim).unwrap());
                    op.constant_result(&signature, &constant_args, FloatMode::Relaxed).is_some()
                })
            })
    };
    Builtin::ALL.iter().filter(has_annihilator).copied().collect()
}

/// Returns whether the result is undetermined: a sum of opposite infinities, or a difference of
/// equal infinities. Each infinity is an annihilator.
fn is_undetermined(b: Builtin, x: &Scalar, y: &Scalar) -> bool {
    let (Some(x), Some(y)) = (x.to_f64(), y.to_f64()) else { return false };
    let sign = if matches!(b, Builtin::Sub | Builtin::SubSat | Builtin::SubChecked) { -1.0 } else { 1.0 };
    let sum = matches!(
        b,
        Builtin::Add | Builtin::AddSat | Builtin::AddChecked | Builtin::Sub | Builtin::SubSat | Builtin::SubChecked
    );
    sum && x.is_infinite() && y.is_infinite() && x != sign * y
}

fn check_operators(prim: Prim, values: &[Option<f64>], fills: &[[f64; 2]], pairs: &[[&str; 2]]) {
    let operators = annihilated_operators(prim, values);
    assert!(operators.len() >= 4, "{operators:?} on {prim}");
    let names: Vec<String> = (0..operators.len()).map(|k| format!("R{k}")).collect();
    let queries: Vec<String> = names
        .iter()
        .zip(&operators)
        .map(|(name, b)| format!("(query {name} (mapjoin {b} (table A i j) (table B i j)))"))
        .collect();
    let text = format!("(plan {} (produces {}))", queries.join(" "), names.join(" "));
    let session = session(Target::INSTANT, FloatMode::Relaxed);
    for [fill_a, fill_b] in fills {
        for [format_a, format_b] in pairs {
            let (a, x) = matrix(values, true, (prim, *fill_a), format_a);
            let (b, y) = matrix(values, false, (prim, *fill_b), format_b);
            let outputs = run(&session, &text, &Bindings::from_iter([("A", a), ("B", b)]));
            for (op, output) in operators.iter().zip(&outputs) {
                let signature = Op::Builtin(*op).signature(&[DType::Prim(prim), DType::Prim(prim)]).unwrap();
                for (k, found) in all_values(output).iter().enumerate() {
                    let args: Vec<Scalar> = [&x[k], &y[k]]
                        .iter()
                        .zip(&signature.args)
                        .map(|(v, to)| redpoll_logic::op::cast_to(v, to))
                        .collect();
                    if is_undetermined(*op, &args[0], &args[1]) {
                        continue;
                    }
                    let expected = Op::Builtin(*op).eval_in(&args, FloatMode::Relaxed).unwrap();
                    let n = values.len();
                    assert!(
                        is_equal(found, &expected),
                        "{op} on {prim} of {args:?}, fills {fill_a} {fill_b}, formats {format_a} {format_b}, at {} {}: \
                         expected {expected}, found {found}",
                        k / n,
                        k % n
                    );
                }
            }
        }
    }
}

fn all_pairs() -> Vec<[&'static str; 2]> {
    FORMATS.iter().flat_map(|a| FORMATS.map(|b| [*a, b])).collect()
}

#[test]
fn floats() {
    check_operators(Prim::F64, FLOATS, FLOAT_FILLS, &all_pairs());
}

#[test]
fn narrow_floats() {
    check_operators(Prim::F32, FLOATS, &FLOAT_FILLS[..4], &FORMATS.map(|f| [f, f]));
}

#[test]
fn integers_and_booleans() {
    let equal_formats = FORMATS.map(|f| [f, f]);
    check_operators(Prim::I8, NUMBERS, NUMBER_FILLS, &equal_formats);
    check_operators(Prim::U8, NUMBERS, &NUMBER_FILLS[..2], &equal_formats);
    check_operators(Prim::Bool, BOOLS, BOOL_FILLS, &equal_formats);
}

/// A product is zero if a factor is zero, even where the other factor has a pole, and even if
/// several operators compute the fill value.
#[test]
fn products_with_poles_are_zero_if_a_factor_is_zero() {
    let values: &[Option<f64>] = &[None, Some(0.0), Some(1.0), Some(2.0), Some(0.5), None];
    type Definition = fn(f64, f64) -> f64;
    let pairs: [(&str, Definition); 7] = [
        ("(mapjoin * (table A i j) (mapjoin log (table B i j)))", |a, b| if a == 0.0 { 0.0 } else { a * b.ln() }),
        ("(mapjoin * (table A i j) (mapjoin reciprocal (table B i j)))", |a, b| if a == 0.0 { 0.0 } else { a / b }),
        ("(mapjoin * (table A i j) (mapjoin / 1 (table B i j)))", |a, b| if a == 0.0 { 0.0 } else { a / b }),
        (
            "(mapjoin * (mapjoin / (table A i j) (table B i j)) (table A i j))",
            |a, b| {
                if a == 0.0 { 0.0 } else { a / b * a }
            },
        ),
        ("(mapjoin * (table A i j) (mapjoin pow (table B i j) -1))", |a, b| if a == 0.0 { 0.0 } else { a / b }),
        ("(mapjoin / (mapjoin * (table A i j) (table B i j)) (table B i j))", |a, b| if b == 0.0 { 0.0 } else { a }),
        ("(mapjoin + 1 (mapjoin fmod (table A i j) (table B i j)))", |a, b| 1.0 + if a == 0.0 { 0.0 } else { a % b }),
    ];
    for (expr, expected) in pairs {
        let text = format!("(plan (query C {expr}) (produces C))");
        for [format_a, format_b] in all_pairs() {
            let (a, x) = matrix(values, true, (Prim::F64, 0.0), format_a);
            let (b, y) = matrix(values, false, (Prim::F64, 0.0), format_b);
            for target in [Target::INSTANT, Target::NOTATION] {
                let bindings = Bindings::from_iter([("A", a.clone()), ("B", b.clone())]);
                let found = run(&session(target, FloatMode::Relaxed), &text, &bindings).remove(0);
                for (k, found) in all_values(&found).iter().enumerate() {
                    let [a, b] = [&x[k], &y[k]].map(|v| v.to_f64().unwrap());
                    let expected = Scalar::F64(expected(a, b));
                    assert!(
                        is_equal(found, &expected),
                        "{expr} of {a} {b} in {format_a} {format_b}: {found}, not {expected}"
                    );
                }
            }
        }
    }
}

/// Results of folds stay within the error bound of the reference interpreter, in every pair of
/// formats.
#[test]
fn folds_stay_within_the_bound_of_the_interpreter() {
    let queries = [
        "(aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)",
        "(aggregate + 0 (mapjoin / (table A i j) (table B i j)) j)",
        "(aggregate max -inf (mapjoin * (table A i j) (mapjoin log (table B i j))) j)",
        "(aggregate * 1 (mapjoin * (table A i j) (table B i j)) i)",
        "(aggregate + 0 (table A i j) i j)",
        "(mapjoin / (table A i j) (aggregate + 0 (table A i k) k))",
        "(mapjoin * (table A i j) (mapjoin reciprocal (aggregate + 0 (table B i k) k)))",
        "(aggregate min inf (mapjoin + (table A i k) (table B k j)) k)",
    ];
    let (mut rng, n) = (Rng::new(17), 6u64);
    let mut skipped = BTreeMap::new();
    for query in queries {
        let text = format!("(plan (query C {query}) (produces C))");
        let tropical = query.contains("min inf");
        let fill = if tropical { INF } else { 0.0 };
        for [format_a, format_b] in all_pairs() {
            let mut dense: HashMap<_, DenseTensor> = HashMap::new();
            let mut bound = Vec::new();
            for (name, format) in [("A", format_a), ("B", format_b)] {
                let entries: Vec<(u64, u64, f64)> = (1..n)
                    .flat_map(|i| (0..n).map(move |j| (i, j)))
                    .filter_map(|(i, j)| {
                        let special = *rng.pick(&[0.0, INF, 1.0, 2.0]);
                        let value = if rng.chance(15) { special } else { rng.below(5) as f64 - 1.0 };
                        rng.chance(40).then_some((i, j, value))
                    })
                    .collect();
                let mut values = vec![Scalar::F64(fill); (n * n) as usize];
                entries.iter().for_each(|(i, j, v)| values[(i * n + j) as usize] = Scalar::F64(*v));
                let triples = Triples {
                    shape: vec![n, n],
                    coordinates: vec![entries.iter().map(|d| d.0).collect(), entries.iter().map(|d| d.1).collect()],
                    values: Values::from(entries.iter().map(|d| d.2).collect::<Vec<f64>>()),
                };
                let format = parse_format(format, 2).unwrap();
                let ty = TensorType { shape: vec![n, n], dtype: DType::F64, fill: fill.into(), format };
                bound.push((name, Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0));
                dense.insert(name.into(), DenseTensor { shape: vec![n, n], values });
            }
            let catalog: Catalog = bound.iter().map(|(name, t)| (*name, t.ty().clone())).collect();
            let plan = parse(&text, &catalog).unwrap();
            let expected = interpret(&plan, &dense, FloatMode::Relaxed).unwrap();
            let found =
                run(&session(Target::INSTANT, FloatMode::Relaxed), &text, &Bindings::from_iter(bound)).remove(0);
            let compared = expected["C"].compare(&all_values(&found), Exactness::Bounded);
            let compared = compared.unwrap_or_else(|e| panic!("{query} in {format_a} {format_b}: {e}"));
            let counts = skipped.entry(query.to_owned()).or_insert((0, 0));
            *counts = (counts.0 + compared.skipped, counts.1 + compared.equal);
        }
    }
    assert!(
        skipped.values().all(|(skipped, equal)| 3 * equal > *skipped),
        "numbers of skipped and of equal values: {skipped:?}"
    );
}

/// Quotients of sparse matrices, and products with logarithms or reciprocals, store at most the
/// entries of the first operand.
#[test]
fn quotients_of_sparse_matrices_are_sparse() {
    let n = 20_000u64;
    let mut rng = Rng::new(3);
    let mut draw = |format: Format| {
        let mut coordinates: Vec<[u64; 2]> = (0..4000).map(|_| [rng.below(n), rng.below(n)]).collect();
        coordinates.sort_unstable();
        coordinates.dedup();
        let ty = TensorType { shape: vec![n, n], dtype: DType::F64, fill: 0.0.into(), format };
        let triples = Triples {
            shape: vec![n, n],
            coordinates: (0..2).map(|m| coordinates.iter().map(|p| p[m]).collect()).collect(),
            values: Values::from((0..coordinates.len()).map(|k| 1.0 + k as f64).collect::<Vec<f64>>()),
        };
        Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0
    };
    for format in [Format::csr(), Format::coo(2)] {
        let (a, b) = (draw(format.clone()), draw(format));
        let bindings = Bindings::from_iter([("A", a), ("B", b)]);
        for expr in [
            "(mapjoin / (table A i j) (table B i j))",
            "(mapjoin fmod (table A i j) (table B i j))",
            "(mapjoin rem (table A i j) (table B i j))",
            "(mapjoin * (table A i j) (mapjoin log (table B i j)))",
            "(mapjoin * (table A i j) (mapjoin reciprocal (table B i j)))",
            "(mapjoin / (table A i j) (aggregate + 0 (table A i k) k))",
        ] {
            let text = format!("(plan (query C {expr}) (produces C))");
            let found = run(&session(Target::INSTANT, FloatMode::Relaxed), &text, &bindings).remove(0);
            assert_eq!(found.ty().fill, Scalar::F64(0.0), "{expr}");
            assert!(found.count_stored().unwrap() <= 4000, "{expr} stores {}", found.count_stored().unwrap());
        }
    }
}

/// Quotients of zeros are NaN in the strict mode. In the default mode, the prepared plan has a note
/// about such quotients, unless the format stores all elements.
#[test]
fn quotients_of_zeros_are_nan_if_strict_and_noted_otherwise() {
    let values: &[Option<f64>] = &[None, Some(0.0), Some(2.0)];
    let text =
        "(plan (query C (mapjoin / (table A i j) (table B i j))) (query D (mapjoin + (table C i j) 1)) (produces C D))";
    for format in FORMATS {
        let (a, x) = matrix(values, true, (Prim::F64, 0.0), format);
        let (b, y) = matrix(values, false, (Prim::F64, 0.0), format);
        let bindings = Bindings::from_iter([("A", a), ("B", b)]);
        for target in [Target::INSTANT, Target::LOGIC, Target::NOTATION] {
            let found = run(&session(target, FloatMode::StrictIeee), text, &bindings);
            for (k, (c, d)) in all_values(&found[0]).iter().zip(&all_values(&found[1])).enumerate() {
                let quotient = x[k].to_f64().unwrap() / y[k].to_f64().unwrap();
                assert!(is_equal(c, &Scalar::F64(quotient)), "{format} at {k}: {c}, not {quotient}");
                assert!(is_equal(d, &Scalar::F64(quotient + 1.0)), "{format} at {k}: {d}");
            }
        }
        let notes = session(Target::INSTANT, FloatMode::Relaxed).prepare(text, &bindings).unwrap().notes();
        let modes: Vec<&Note> = notes.iter().filter(|n| matches!(n, Note::FloatModeDifference { .. })).collect();
        if ["dense", "rle"].contains(&format) {
            assert!(modes.is_empty(), "{modes:?}");
            continue;
        }
        let expected = "query `C`: for elements that are not stored, (/ 0.0 0.0) is 0.0; in the strict mode (`--strict`) it is nan";
        assert_eq!(modes.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
        let strict = session(Target::INSTANT, FloatMode::StrictIeee).prepare(text, &bindings).unwrap().notes();
        assert!(!strict.iter().any(|n| matches!(n, Note::FloatModeDifference { .. })), "{strict:?}");
    }
}

/// Folds are correct over more coordinates than 64 bits can count.
#[test]
fn folds_count_more_coordinates_than_64_bits() {
    let n = 1u64 << 33;
    let tensor = |fill: Scalar, value: Scalar| {
        let ty = TensorType { shape: vec![n, n], dtype: fill.dtype(), fill, format: Format::csf(2) };
        let values = Values::from_scalars(value.dtype(), &[value]).unwrap();
        let triples = Triples { shape: vec![n, n], coordinates: vec![vec![7], vec![12]], values };
        Tensor::from_triples(Arc::new(ty), &triples, Duplicates::Error).unwrap().0
    };
    let session = session(Target::INSTANT, FloatMode::Relaxed);
    let fold = |expr: &str, p: &Tensor| {
        let text = format!("(plan (query s {expr}) (produces s))");
        let run = session.prepare(&text, &Bindings::from_iter([("P", p.clone())])).and_then(|prepared| prepared.run());
        run.map(|r| r.outputs[0].1.leaf()[0].scalar(0)).map_err(|e| e.to_string())
    };
    let floats = tensor(0.0.into(), 5.0.into());
    let all = 2f64.powi(66);
    assert_eq!(fold("(aggregate + 0 (mapjoin + (table P i j) 1) i j)", &floats), Ok((all + 5.0).into()));
    assert_eq!(
        fold("(aggregate + 0 (aggregate + 0 (mapjoin + (table P i j) 1) j) i)", &floats),
        Ok((all + 5.0).into())
    );
    assert_eq!(fold("(aggregate * 1 (table P i j) i j)", &floats), Ok(0.0.into()));
    assert_eq!(fold("(aggregate + 0 (table P i j) i j)", &tensor(1.0.into(), 5.0.into())), Ok((all + 4.0).into()));
    let mean = format!("(mapjoin / (aggregate + 0 (mapjoin + (table P i j) 1) i j) {all})");
    assert_eq!(fold(&mean, &floats), Ok(1.0.into()));
    // Modulo 2^64, the sum of 2^66 - 1 ones and a 5 is 4, and the product of 2^66 - 1 factors 2 and
    // a 5 is 0.
    let ones = tensor(1i64.into(), 5i64.into());
    assert_eq!(fold("(aggregate + 0 (table P i j) i j)", &ones), Ok(4i64.into()));
    assert_eq!(fold("(aggregate * 1 (table P i j) i j)", &tensor(2i64.into(), 5i64.into())), Ok(0i64.into()));
    assert_eq!(fold("(aggregate bxor 0 (table P i j) i j)", &ones), Ok(4i64.into()));
    assert!(fold("(aggregate add-checked 0 (table P i j) i j)", &ones).is_err());
    assert_eq!(fold("(aggregate add-checked 0 (table P i j) i j)", &tensor(0i64.into(), 5i64.into())), Ok(5i64.into()));
    let p = session.array(floats);
    assert_eq!((p + 1.0).mean(..).to_vec::<f64>().unwrap(), [1.0]);
}

/// In strict mode, `0 * inf` is NaN, so a product with an input does not have the input's pattern.
/// In the default mode, the same program runs.
#[test]
fn patterns_of_programs_are_proved_in_the_mode_of_the_session() {
    let text = "(program
      (input A (type (shape n m) f64 0.0 csr)) (input x (type (shape m) f64 0.0 dense))
      (output D (type (shape n m) f64 0.0 csr)) (pattern D A)
      (for i (for j (+= (D i j) (* (A i j) (x j))))))";
    let (a, _) = matrix(FLOATS, true, (Prim::F64, 0.0), "csr");
    let n = FLOATS.len();
    let ty = TensorType { shape: vec![n as u64], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::dense(1) };
    let x = Tensor::from_dense(Arc::new(ty), &Values::from(vec![INF; n])).unwrap();
    let bindings = Bindings::new().with("A", a).with("x", x);
    let prepare = |mode: FloatMode| {
        let mut config = Config::default();
        config.optimizer.float_mode = mode;
        Session::new(config).prepare(text, &bindings).and_then(|prepared| prepared.run()).map(|run| run.outputs.len())
    };
    assert_eq!(prepare(FloatMode::Relaxed).unwrap(), 1);
    let error = prepare(FloatMode::StrictIeee).unwrap_err().to_string();
    assert!(error.contains("is not proved to keep its fill value where `A` has its fill value"), "{error}");
}
