//! Every engine on one prepared plan, through the library: they agree, intermediates and blocks included.

use redpoll::logic::{Format, LeafKind, LevelKind, Scalar, TensorType};
use redpoll::physical::storage::{Tensor, Values, convert};
use redpoll::{Bindings, Config, Engine, Error, Phase, Session};

fn matrix(shape: [u64; 2], fill: f64, format: &Format) -> Tensor {
    let count = shape[0] * shape[1];
    let value = |k: u64| if k * 7 % 5 < 2 { (k % 9) as f64 - 3.0 } else { fill };
    let values: Vec<Scalar> = (0..count).map(|k| Scalar::F64(value(k))).collect();
    let fill = Scalar::F64(fill);
    let ty = TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format: format.clone() };
    Tensor::from_dense(ty.clone(), &Values::from_scalars(ty.dtype, &values).unwrap()).unwrap()
}

/// Every place of every result of a run.
fn values(session: &Session, text: &str, bindings: &Bindings, engine: Engine) -> Vec<(String, Vec<Scalar>)> {
    let run = session.prepare(text, bindings).unwrap().run_with(engine).unwrap();
    assert_eq!(run.counts.is_some(), engine == Engine::AssemblyInterpreter, "{engine:?}");
    run.outputs.iter().map(|(name, t)| (name.to_string(), t.to_dense_scalars().unwrap())).collect()
}

/// Protects the one way that all engines are driven through.
#[test]
fn engines_agree() {
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
            let expected = values(&Session::default(), plan, &bindings, Engine::LogicInterpreter);
            for engine in Engine::ALL {
                let found = values(&Session::default(), plan, &bindings, engine);
                assert_eq!(found, expected, "{} on {format:?}: {plan}", engine.name());
            }
        }
    }
}

/// Protects the memory limit: a result that exceeds it is an error of its phase, not an end of the process.
#[test]
fn a_memory_limit_holds() {
    let session = Session::new(Config { memory_limit: Some(100), ..Config::default() });
    let bindings = Bindings::new().with("A", matrix([50, 40], 0.0, &Format::csr()));
    let plan = "(plan (query C (mapjoin * 2 (table A i j))) (produces C))";
    let error = session.prepare(plan, &bindings).unwrap().run().unwrap_err();
    assert!(matches!(&error, Error::Query { phase: Phase::Run, query, .. } if query == "C"), "{error}");
    assert!(error.to_string().contains("memory limit"), "{error}");
}

/// Protects plans that were made for other tensors: types are compared before anything runs.
#[test]
fn a_plan_for_other_tensors_is_refused() {
    let (session, csr) = (Session::default(), matrix([5, 4], 0.0, &Format::csr()));
    let bindings = Bindings::new().with("A", csr.clone());
    let text = "(plan (query C (mapjoin * 2 (table A i j))) (produces C))";
    let plan = session.prepare(text, &bindings).unwrap().plan().clone();
    assert!(session.prepare_plan(plan.clone(), &bindings).is_ok());
    let coo = Bindings::new().with("A", convert(&csr, &Format::coo(2)).unwrap());
    let error = session.prepare_plan(plan.clone(), &coo).err().unwrap();
    assert!(error.to_string().contains("table `A`") && error.to_string().contains("formats differ"), "{error}");
    let error = session.prepare_plan(plan, &Bindings::new()).err().unwrap();
    assert!(matches!(error, Error::Unbound(_)), "{error}");
}

/// Protects kernels from arrays of another width than they were made for, which they would read out of bounds.
#[test]
fn a_kernel_for_other_layouts_is_refused() {
    use redpoll::logic::FloatMode;
    use redpoll::physical::kernel::{Engine, Kernel};
    use redpoll::physical::notation::{normalize, parse};
    use redpoll::physical::run::Limits;
    use redpoll::physical::storage::Array;

    let text =
        "(program (input x (type (shape 4) f64 0 (sparse-list (element)))) (output s (type (shape) f64 0 (element)))
        (for i (+= (s) (x i))))";
    let program = std::sync::Arc::new(normalize(parse(text).unwrap()).unwrap());
    let ty = program.tensors[0].ty.clone();
    let val = Array::from_vec(vec![1.5, 2.0]);
    let of = |ptr: Array, idx: Array| Tensor::try_new(ty.clone(), vec![vec![ptr, idx]], vec![val.clone()]).unwrap();
    let narrow = of(Array::from_vec(vec![0i32, 2]), Array::from_vec(vec![1u32, 3]));
    let wide = of(Array::from_vec(vec![0i64, 2]), Array::from_vec(vec![1u64, 3]));
    for (inputs, others) in [(&narrow, &wide), (&wide, &narrow)] {
        let layouts = Kernel::layouts(&program, &[inputs]);
        let kernel = Kernel::new(&program, &layouts, FloatMode::Relaxed, Engine::Instant).unwrap();
        let outcome = kernel.run(&[inputs], &Limits::default()).unwrap();
        assert_eq!(outcome.outputs[0].sum(), Some(3.5));
        let error = kernel.run(&[others], &Limits::default()).unwrap_err();
        assert!(error.to_string().contains("layouts of its inputs"), "{error}");
    }
}
