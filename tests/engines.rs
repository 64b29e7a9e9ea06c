//! Tests of prepared plans on all targets, through the library: equal results, reported errors,
//! memory limits, cached plans, and the choice of a target.

use redpoll::kernels::run::Workers;
use redpoll::logic::{Format, LeafKind, LevelFormat, LevelKind, Prim, Scalar, TensorType};
use redpoll::storage::testing::lost_tensor;
use redpoll::storage::{Array, Tensor, Values, convert};
use redpoll::{Bindings, Config, Detail, Error, Phase, Reason, Session, Target};
use redpoll_compiler::lower::InputLayout;
use redpoll_kernels::backend;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

fn matrix(shape: [u64; 2], fill: f64, format: &Format) -> Tensor {
    let count = shape[0] * shape[1];
    let value = |k: u64| if k * 7 % 5 < 2 { (k % 9) as f64 - 3.0 } else { fill };
    let values: Vec<Scalar> = (0..count).map(|k| Scalar::F64(value(k))).collect();
    let fill = Scalar::F64(fill);
    let ty = TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format: format.clone() };
    Tensor::from_dense(ty.clone(), &Values::from_scalars(ty.dtype, &values).unwrap()).unwrap()
}

/// Returns the values of every result at all coordinates.
fn values(session: &Session, text: &str, bindings: &Bindings, target: Target) -> Vec<(String, Vec<Scalar>)> {
    let run = session.prepare(text, bindings).unwrap().run_with(target).unwrap();
    assert_eq!(run.counts.is_some(), target == Target::ASSEMBLY, "{target:?}");
    run.outputs.iter().map(|(name, t)| (name.to_string(), t.to_dense_scalars().unwrap())).collect()
}

/// All targets give the same values.
#[test]
fn targets_agree() {
    let plans = [
        "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))",
        "(plan (query y (aggregate max -inf (table A i k) k)) (query z (mapjoin - (table A i k) (table y i)))
               (query s (aggregate + 0 (table z i k) i k)) (produces z s))",
        "(plan (query C (reformat (bcsr 2 3) (mapjoin + (table A i k) 1))) (query D (mapjoin * C C)) (produces D C))",
    ];
    let hash = Format::of_kinds(&[LevelKind::Hash, LevelKind::ByteMap], LeafKind::Element);
    for plan in plans {
        for format in [Format::dense(2), Format::csr(), Format::csc(), Format::coo(2), Format::bcsr(2, 2), hash.clone()]
        {
            let bindings =
                Bindings::new().with("A", matrix([5, 4], 0.0, &format)).with("B", matrix([4, 3], 0.0, &format));
            let expected = values(&Session::default(), plan, &bindings, Target::LOGIC);
            for target in Target::ALL {
                let found = values(&Session::default(), plan, &bindings, target);
                assert_eq!(found, expected, "{} on {format:?}: {plan}", target.name());
            }
        }
    }
}

/// If an input on a device is lost, every operation that needs the input reports the loss.
#[test]
fn lost_inputs_are_reported() {
    let plans = [
        "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table A k j)) k)) (query s (aggregate + 0 (table C i j) i j))
            (produces s))",
        "(plan (query T (mapjoin * (table A i j) (table A j i))) (query y (aggregate + 0 (table T i j) j)) (produces y))",
        "(plan (query C (reformat csc (table A i k))) (produces C))",
    ];
    for format in [Format::csr(), Format::coo(2), Format::dense(2), Format::bcsr(2, 2)] {
        let bindings = Bindings::new().with("A", lost_tensor(&matrix([4, 4], 0.0, &format)));
        for plan in plans {
            let session = Session::default();
            let prepared = session.prepare(plan, &bindings).unwrap();
            let mut failures = vec![("profile", prepared.profile(Target::INSTANT).err())];
            failures.extend(Target::ALL.map(|target| (target.name(), prepared.run_with(target).err())));
            // `flow` and `explain` do not read a dense matrix, because its type determines the
            // number of its values.
            if format != Format::dense(2) {
                failures.push(("flow", prepared.flow().err()));
                failures.push(("explain", prepared.explain(Detail::Assembly).err()));
            }
            for (what, failure) in failures {
                let message = failure.map(|error| error.to_string()).unwrap_or_default();
                assert!(message.contains("the device is lost"), "{what} of {plan}: {message:?}");
            }
        }
    }
}

/// Conversions store the same arrays on a device as on the host. The interpreter of grids stands in
/// for the device.
#[test]
fn conversions_of_any_target_store_the_same() {
    use LevelKind::{Dense, Hash, SparseList};
    let [lists, hash, rows] = [[SparseList, SparseList], [Dense, Hash], [SparseList, Dense]]
        .map(|kinds| Format::of_kinds(&kinds, LeafKind::Element));
    let formats =
        [Format::dense(2), Format::csr(), Format::csc(), Format::coo(2), Format::bcsr(2, 2), lists, hash, rows];
    for from in &formats {
        for to in ["dense", "csr", "csc", "coo", "(bcsr 2 2)", "dcsr"] {
            let bindings = Bindings::new().with("A", matrix([5, 4], 0.0, from));
            let plan = format!("(plan (query C (reformat {to} (table A i j))) (produces C))");
            let [expected, found] = [Target::INSTANT, Target::GRID].map(|target| {
                let run = Session::default().prepare(&plan, &bindings).unwrap().run_with(target).unwrap();
                run.outputs[0].1.clone()
            });
            let arrays = |tensor: &Tensor| -> Vec<Vec<Scalar>> {
                let all = tensor.levels().iter().flatten().chain(tensor.leaf());
                all.map(|array| (0..array.len()).map(|k| array.scalar(k)).collect()).collect()
            };
            assert_eq!(arrays(&found), arrays(&expected), "{from:?} to {to}");
        }
    }
}

/// If a result exceeds the memory limit, the run fails with an error that names the query and the
/// phase `Run`.
#[test]
fn memory_limits_apply() {
    let session = Session::new(Config { memory_limit: Some(100), ..Config::default() });
    let bindings = Bindings::new().with("A", matrix([50, 40], 0.0, &Format::csr()));
    let plan = "(plan (query C (mapjoin * 2 (table A i j))) (produces C))";
    let error = session.prepare(plan, &bindings).unwrap().run().unwrap_err();
    assert!(matches!(&error, Error::Query { phase: Phase::Run, query, .. } if query == "C"), "{error}");
    assert!(error.to_string().contains("memory limit"), "{error}");
}

/// Arrays of conversions, which no kernel allocates, count towards the memory limit.
#[test]
fn memory_limits_apply_to_conversions() {
    let bindings = Bindings::new().with("A", matrix([50, 40], 0.0, &Format::csr()));
    let plan = "(plan (query C (reformat csc (table A i j))) (produces C))";
    let session = |limit| Session::new(Config { memory_limit: Some(limit), ..Config::default() });
    let error = session(1000).prepare(plan, &bindings).unwrap().run().unwrap_err();
    assert!(error.to_string().contains("memory limit"), "{error}");
    let session = session(1 << 20);
    let run = session.prepare(plan, &bindings).unwrap().run().unwrap();
    assert!(session.limits().memory.used() > 0);
    drop(run);
    assert_eq!(session.limits().memory.used(), 0);
}

/// Levels with unordered coordinates are sorted before loops read them.
#[test]
fn unordered_input_is_sorted_first() {
    let unordered = LevelFormat { ordered: false, ..LevelFormat::new(LevelKind::SparseList) };
    let free = Format { levels: vec![LevelFormat::new(LevelKind::Dense), unordered], ..Format::csr() };
    let ty = TensorType { shape: vec![3, 4], dtype: Prim::F64.into(), fill: Scalar::F64(0.0), format: free };
    let idx = vec![3u32, 0, 2, 3, 1];
    let levels = vec![vec![], vec![Array::from_vec(vec![0i32, 2, 2, 5]), Array::from_vec(idx)]];
    let a = Tensor::try_new(ty, levels, vec![Array::from_vec(vec![1.0f64, 2.0, 3.0, 4.0, 5.0])]).unwrap();
    let dense = TensorType { shape: vec![4], format: Format::dense(1), ..(**a.ty()).clone() };
    let ones = [1.0, 10.0, 100.0, 1000.0].map(Scalar::F64);
    let x = Tensor::from_dense(dense, &Values::from_scalars(Prim::F64.into(), &ones).unwrap()).unwrap();
    let bindings = Bindings::new().with("A", a).with("x", x);
    let cases: [(&str, &[f64]); 4] = [
        (
            "(plan (query y (aggregate + 0 (mapjoin * (table A i k) (table x k)) k)) (produces y))",
            &[1002.0, 0.0, 4350.0],
        ),
        (
            "(plan (query C (mapjoin + (table A i j) (table A i j))) (produces C))",
            &[4.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 6.0, 8.0],
        ),
        (
            "(plan (query C (reformat csc (table A i j))) (produces C))",
            &[2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 3.0, 4.0],
        ),
        ("(plan (query s (aggregate + 0 (table A i j) i j)) (produces s))", &[15.0]),
    ];
    for (plan, expected) in cases {
        for target in Target::ALL {
            let found = values(&Session::default(), plan, &bindings, target).remove(0).1;
            let expected: Vec<Scalar> = expected.iter().copied().map(Scalar::F64).collect();
            assert_eq!(found, expected, "{} on {plan}", target.name());
        }
    }
}

/// A plan for tensors of other types is rejected before it runs.
#[test]
fn plans_for_tensors_of_other_types_are_rejected() {
    let (session, csr) = (Session::default(), matrix([5, 4], 0.0, &Format::csr()));
    let bindings = Bindings::new().with("A", csr.clone());
    let text = "(plan (query C (mapjoin * 2 (table A i j))) (produces C))";
    let plan = session.prepare(text, &bindings).unwrap().plan().unwrap().clone();
    assert!(session.prepare_plan(plan.clone(), &bindings).is_ok());
    let coo = Bindings::new().with("A", convert(&csr, &Format::coo(2)).unwrap());
    let error = session.prepare_plan(plan.clone(), &coo).err().unwrap();
    assert!(error.to_string().contains("table `A`") && error.to_string().contains("formats differ"), "{error}");
    let error = session.prepare_plan(plan, &Bindings::new()).err().unwrap();
    assert!(matches!(error, Error::UnboundTables(_)), "{error}");
}

/// A kernel for arrays of other widths is rejected, because it would read out of bounds.
#[test]
fn kernels_for_other_layouts_are_rejected() {
    use redpoll::compiler::notation::{normalize, parse};
    use redpoll::kernels::kernel::Kernel;
    use redpoll::kernels::run::Limits;
    use redpoll::logic::FloatMode;
    use redpoll::storage::Array;

    let text =
        "(program (input x (type (shape 4) f64 0 (sparse-list (element)))) (output s (type (shape) f64 0 (element)))
        (for i (+= (s) (x i))))";
    let program = Arc::new(normalize(parse(text).unwrap()).unwrap());
    let ty = program.tensors[0].ty.clone();
    let val = Array::from_vec(vec![1.5, 2.0]);
    let of = |ptr: Array, idx: Array| Tensor::try_new(ty.clone(), vec![vec![ptr, idx]], vec![val.clone()]).unwrap();
    let narrow = of(Array::from_vec(vec![0i32, 2]), Array::from_vec(vec![1u32, 3]));
    let wide = of(Array::from_vec(vec![0i64, 2]), Array::from_vec(vec![1u64, 3]));
    for (inputs, others) in [(&narrow, &wide), (&wide, &narrow)] {
        let layouts = InputLayout::of_inputs(&program, &[inputs]);
        let kernel = Kernel::new(&program, &layouts, FloatMode::Relaxed, &backend::instant()).unwrap();
        let outcome = kernel.run(&[inputs], &Limits::default()).unwrap();
        assert_eq!(outcome.outputs[0].sum().unwrap(), Some(3.5));
        let error = kernel.run(&[others], &Limits::default()).unwrap_err();
        assert!(error.to_string().contains("layouts of these inputs"), "{error}");
    }
}

/// A cached plan serves congruent plans over other tensors, and no other plans.
#[test]
fn congruent_plans_are_optimized_once() {
    let plan = |a: &str, b: &str| {
        format!("(plan (query C (aggregate + 0 (mapjoin * (table {a} i k) (table {b} k j)) k)) (produces C))")
    };
    let session = Session::default();
    let (small, large) = (matrix([5, 5], 0.0, &Format::csr()), matrix([5, 5], 2.0, &Format::csr()));
    let bindings = Bindings::new().with("A", small.clone()).with("B", small.clone()).with("D", large);
    let is_optimized = |text: &str, bindings: &Bindings| {
        let prepared = session.prepare(text, bindings).unwrap();
        let run = prepared.run().unwrap();
        let expected = prepared.run_with(Target::LOGIC).unwrap();
        assert_eq!(run.outputs[0].1.to_dense_scalars().unwrap(), expected.outputs[0].1.to_dense_scalars().unwrap());
        prepared.timings().of(Phase::Optimize) > Duration::ZERO
    };
    assert!(is_optimized(&plan("A", "B"), &bindings));
    assert!(!is_optimized(&plan("A", "B"), &bindings));
    assert!(!is_optimized(&plan("B", "A"), &bindings));
    let other = Bindings::new().with("X", matrix([5, 5], 0.0, &Format::csr())).with("Y", small);
    assert!(!is_optimized(&plan("X", "Y"), &other));
    assert!(is_optimized(&plan("A", "A"), &bindings), "one input is not two");
    assert!(is_optimized(&plan("A", "D"), &bindings), "another fill value");
    let dense = Bindings::new()
        .with("A", matrix([5, 5], 0.0, &Format::dense(2)))
        .with("B", matrix([5, 5], 0.0, &Format::csr()));
    assert!(is_optimized(&plan("A", "B"), &dense), "another format");
}

/// Results share the level arrays of an operand, whose positions are narrow or wide. The test
/// covers all targets that run over stored tensors, several threads, and results that later queries
/// read.
#[test]
fn scaled_matrices_share_the_arrays_of_their_levels() {
    let text = "(plan (query B (mapjoin * (table A i j) (table x i))) (query C (mapjoin * B (table x i)))
        (query s (aggregate + 0 (mapjoin abs C) i j)) (produces B C s))";
    let (rows, columns) = (0..40u32, |i: u32| [i % 15, 15 + i % 15]);
    let idx: Vec<u32> = rows.clone().flat_map(columns).collect();
    let ends: Vec<i32> = (0..=40).map(|i| 2 * i).collect();
    let narrow = [Array::from_vec(ends.clone()), Array::from_vec(idx.clone())];
    let wide = [
        Array::from_vec(ends.into_iter().map(i64::from).collect::<Vec<_>>()),
        Array::from_vec(idx.into_iter().map(u64::from).collect::<Vec<_>>()),
    ];
    let values = Array::from_vec(rows.flat_map(|i| [f64::from(i) - 7.0, 3.0]).collect::<Vec<_>>());
    let fill = Scalar::F64(0.0);
    let ty = TensorType { shape: vec![40, 30], dtype: fill.dtype(), fill, format: Format::csr() };
    let vector = TensorType { shape: vec![40], format: Format::dense(1), ..ty.clone() };
    let x = Array::from_vec((0..40).map(|k| f64::from(k % 5 + 1)).collect::<Vec<_>>());
    let x = Tensor::try_new(vector, vec![Vec::new()], vec![x]).unwrap();
    for lists in [narrow, wide] {
        let a = Tensor::try_new(ty.clone(), vec![Vec::new(), lists.to_vec()], vec![values.clone()]).unwrap();
        let bindings = Bindings::new().with("A", a.clone()).with("x", x.clone());
        let arrays = |t: &Tensor| t.levels().iter().flatten().map(|a| a.buffer().as_ptr()).collect::<Vec<_>>();
        let workers = Arc::new(Workers::new(NonZero::new(3).unwrap()).without_grain());
        let session = Session::new(Config { workers, ..Config::default() });
        let prepared = session.prepare(text, &bindings).unwrap();
        let expected = prepared.run_with(Target::LOGIC).unwrap();
        for target in Target::ALL {
            let run = prepared.run_with(target).unwrap();
            for ((name, found), (_, expected)) in run.outputs.iter().zip(&expected.outputs) {
                assert_eq!(
                    found.to_dense_scalars().unwrap(),
                    expected.to_dense_scalars().unwrap(),
                    "{target:?}: {name}"
                );
            }
            if !matches!(target, Target::LOGIC | Target::NOTATION) {
                assert_eq!(arrays(&run.outputs[0].1), arrays(&a), "{target:?}");
                assert_eq!(arrays(&run.outputs[1].1), arrays(&a), "{target:?}");
            }
        }
    }
}

/// Expensive plans run on a device, or on the CPU with the reason that no device can be used. Small
/// plans run on the CPU.
#[test]
fn expensive_plans_prefer_a_device() {
    let session = Session::default();
    let matrix = session.array(matrix([1500, 1500], 0.0, &Format::dense(2)));
    let placement = matrix.matmul(&matrix).prepare().unwrap().placement();
    match placement.reason {
        Reason::NoDevice(reason) => assert!(reason.contains("CUDA device 0 cannot be used"), "{reason}"),
        Reason::Compared { cpu, device, .. } => assert!(cpu > Duration::from_millis(100) && device < cpu),
        other => panic!("{other}"),
    }
    let little = session.vector([1.0, 2.0]).sum(..).prepare().unwrap().placement();
    assert!(matches!(little.reason, Reason::LittleWork { .. }), "{little}");
}

/// If the product of sizes exceeds the range of positions, the run fails, even if the product
/// modulo 2^64 is small.
#[test]
fn sizes_do_not_wrap_around() {
    let vector = |n: u64| matrix([1, n], 0.0, &Format::dense(2)).to_dense_scalars().unwrap();
    let x = |n: u64| {
        let ty =
            TensorType { shape: vec![n], dtype: Prim::F64.into(), fill: Scalar::F64(0.0), format: Format::dense(1) };
        Tensor::from_dense(ty.clone(), &Values::from_scalars(ty.dtype, &vector(n)).unwrap()).unwrap()
    };
    let text = "(plan (query C (mapjoin + (table x i) (table x j) (table x k) (table x l))) (produces C))";
    for n in [65_535, 65_536, 65_537] {
        for target in [Target::INSTANT, Target::ASSEMBLY, Target::GRID] {
            for threads in [1, 2] {
                let workers = Arc::new(Workers::new(NonZero::new(threads).unwrap()));
                let session = Session::new(Config { target, workers, ..Config::default() });
                let bindings = Bindings::new().with("x", x(n));
                let run = session.prepare(text, &bindings).and_then(|prepared| prepared.run());
                let error = run.unwrap_err().to_string();
                assert!(error.contains("exceed the 9223372036854775807 positions"), "{n}, {target:?}: {error}");
            }
        }
    }
}
