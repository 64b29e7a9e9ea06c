//! Tests of runs on threads: results have the same bits on any number of threads and in every run,
//! and runs can be cancelled, stay within their memory limit, and report their progress. A parallel
//! loop that cannot be cut is rejected.

use redpoll::kernels::run::Workers;
use redpoll::storage::{Status, Tensor};
use redpoll::{Bindings, Config, Error, Progress, Session, Target};
use redpoll_datasets::generate::{Distribution, GenerateOptions, Rmat, generate};
use redpoll_logic::text::parse_format;
use redpoll_logic::{Prim, Scalar};
use std::num::NonZero;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Plans over a skewed matrix `A` with enough entries for several chunks, and a matrix `B` with few
/// entries. The results are vectors over rows or columns, matrices, and numbers.
const PLANS: [&str; 9] = [
    "(plan (query y (aggregate + 0 (mapjoin * (table A i k) (table A k i)) k)) (produces y))",
    "(plan (query y (aggregate + 0 (table A i k) k)) (produces y))",
    "(plan (query y (aggregate + 0 (table A k i) k)) (produces y))",
    "(plan (query s (aggregate + 0 (table A i k) i k)) (produces s))",
    "(plan (query s (aggregate max 0 (table A i k) i k)) (produces s))",
    "(plan (query C (mapjoin + (table A i j) (table A j i))) (produces C))",
    "(plan (query C (mapjoin * 2 (table A i j))) (produces C))",
    "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))",
    "(plan (query s (aggregate + 0 (mapjoin * (table A i j) (table A j k) (table A i k)) i j k)) (produces s))",
];

fn bindings(dtype: Prim, format: &str) -> Bindings {
    let values = match dtype {
        Prim::F64 => Distribution::Normal { mean: 0.0, deviation: 1.0 },
        _ => Distribution::Integer { low: -9, high: 9 },
    };
    let tensor = |scale, edges, seed| {
        let options = GenerateOptions { seed, dtype: Some(dtype), values: Some(values), ..Default::default() };
        let content = generate(&Rmat::new(scale, edges), &options, &mut |_| {}).unwrap();
        content.into_tensor(Some(parse_format(format, 2).unwrap())).unwrap()
    };
    Bindings::new().with("A", tensor(12, 300_000, 1)).with("B", tensor(12, 3_000, 2))
}

fn session(threads: usize, target: Target) -> Session {
    let workers = Arc::new(Workers::new(NonZero::new(threads).unwrap()));
    Session::new(Config { target, workers, ..Config::default() })
}

/// Returns the bytes of the arrays of all results of a plan.
fn bits(session: &Session, plan: &str, bindings: &Bindings) -> Vec<Vec<u8>> {
    let outputs = session.prepare(plan, bindings).unwrap().run().unwrap().outputs;
    let arrays = |t: &Tensor| {
        let all = t.levels().iter().flatten().chain(t.leaf());
        all.map(|array| array.buffer().as_slice().to_vec()).collect::<Vec<_>>()
    };
    outputs.iter().flat_map(|(_, tensor)| arrays(tensor)).collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for (dtype, format) in [(Prim::F64, "csr"), (Prim::I64, "csr"), (Prim::F64, "dcsr"), (Prim::F64, "csc")] {
        let bindings = bindings(dtype, format);
        let sessions: Vec<Session> = [1, 2, 5].map(|threads| session(threads, Target::INSTANT)).into();
        for plan in PLANS {
            let found: Vec<_> = sessions.iter().map(|session| bits(session, plan, &bindings)).collect();
            assert!(found[0].iter().any(|array| array.iter().any(|byte| *byte != 0)), "{plan}");
            assert!(found.iter().all(|other| *other == found[0]), "{dtype} in {format}: {plan}");
        }
    }
}

#[test]
fn every_run_gives_the_same_bits() {
    let (bindings, session) = (bindings(Prim::F64, "csr"), session(3, Target::AUTO));
    for plan in [PLANS[1], PLANS[3], PLANS[5]] {
        let first = bits(&session, plan, &bindings);
        for run in 0..100 {
            assert!(bits(&session, plan, &bindings) == first, "run {run}: {plan}");
        }
    }
}

/// A cancelled run ends on all threads, and the session can be used again.
#[test]
fn runs_on_threads_can_be_cancelled() {
    let (bindings, session) = (bindings(Prim::F64, "csr"), session(2, Target::INSTANT));
    let cancel = session.limits().cancel.clone();
    cancel.store(true, Ordering::Relaxed);
    let prepared = session.prepare(PLANS[8], &bindings).unwrap();
    match prepared.run().unwrap_err() {
        Error::Query { source, .. } => {
            assert!(matches!(*source, redpoll::kernels::Error::KernelStopped(Status::Cancelled)), "{source}");
        }
        other => panic!("{other}"),
    }
    cancel.store(false, Ordering::Relaxed);
    assert!(prepared.run().is_ok());
    assert_eq!(session.limits().memory.used(), 0);
}

/// All threads share the memory limit.
#[test]
fn memory_limits_apply_on_threads() {
    let workers = Arc::new(Workers::new(NonZero::new(2).unwrap()));
    let session = Session::new(Config { memory_limit: Some(1 << 20), workers, ..Config::default() });
    let error = session.prepare(PLANS[6], &bindings(Prim::F64, "csr")).unwrap().run().unwrap_err();
    assert!(error.to_string().contains("memory limit"), "{error}");
    assert_eq!(session.limits().memory.used(), 0);
}

/// Runs that append lists allocate at most twice the bytes of their results, apart from the buffer
/// of one row in each thread. This holds for the first run and for runs that reuse the sizes of the
/// previous run.
#[test]
fn lists_appended_by_threads_take_at_most_twice_their_bytes() {
    let bindings = bindings(Prim::F64, "csr");
    let sum = "(plan (query C (mapjoin + (table A i j) (table B i j))) (produces C))";
    for (threads, plan) in [(2, sum), (5, sum), (2, PLANS[7]), (5, PLANS[7])] {
        let prepared = session(threads, Target::INSTANT).prepare(plan, &bindings).unwrap();
        for k in 0..4 {
            let run = prepared.run().unwrap();
            let bytes: u64 = run.outputs.iter().map(|(_, tensor)| tensor.bytes()).sum();
            // Each thread has its own buffer for a row of 4096 coordinates.
            let max_bytes = 2 * bytes as usize + threads * (64 << 10);
            assert!(
                run.peak_bytes <= max_bytes,
                "run {k} on {threads} threads: {} for {bytes}, {plan}",
                run.peak_bytes
            );
        }
    }
}

/// A loop that is marked as parallel but cannot be cut into chunks is rejected with the reason.
#[test]
fn loops_that_cannot_be_cut_are_rejected() {
    let text = "(program (input x (type (shape 4) f64 0.0 dense)) (output y (type (shape 4) f64 0.0 dense))
  (parallel-for i (= (y 0) (x i))))";
    let x = Tensor::from_dense(
        redpoll_logic::TensorType {
            shape: vec![4],
            dtype: Prim::F64.into(),
            fill: Scalar::F64(0.0),
            format: redpoll_logic::Format::dense(1),
        },
        &vec![1.0, 2.0, 3.0, 4.0].into(),
    );
    let bindings = Bindings::new().with("x", x.unwrap());
    let program = redpoll::Program::new(text).unwrap();
    let error = Session::default().prepare_program(&program, &bindings).err().unwrap();
    let chain = format!("{error}: {}", std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default());
    assert!(chain.contains("`i` cannot be cut into chunks: several rounds may write one element of `y`"), "{chain}");
}

/// Progress is reported by one thread at a time: as queries start, and as their chunks end.
#[test]
fn runs_report_their_progress() {
    const PLAN: &str = "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))
        (query s (aggregate max 0 (table C i j) i j)) (produces C s))";
    let (bindings, reports) = (bindings(Prim::I64, "csr"), Arc::new(Mutex::new(Vec::<Progress>::new())));
    let shared = reports.clone();
    let session = session(3, Target::INSTANT).on_progress(Duration::ZERO, move |progress| {
        // The lock fails if calls overlap.
        shared.try_lock().unwrap().push(progress.clone());
    });
    let prepared = session.prepare(PLAN, &bindings).unwrap();
    assert!(reports.lock().unwrap().is_empty());
    prepared.run().unwrap();
    let reports = std::mem::take(&mut *reports.lock().unwrap());
    let queries = reports[0].queries;
    assert!(reports.iter().all(|p| p.queries == queries && p.finished < queries && (0.0..=1.0).contains(&p.fraction)));
    assert!(reports.is_sorted_by_key(|p| p.finished) && reports.is_sorted_by_key(|p| p.elapsed));
    assert_eq!(reports.iter().filter(|p| p.fraction == 0.0).count(), queries);
    assert!(reports.iter().any(|p| &*p.query == "C" && p.fraction > 0.0), "{reports:?}");
}
