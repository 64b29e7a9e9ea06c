//! Tests of all device code on machines without a device. The driver and the run-time compiler are
//! emulated in this process and receive the calls that the real driver and compiler would receive.
#![cfg(target_os = "linux")]

use redpoll::devices::cuda::Cuda;
use redpoll::devices::testing::device::EmulatedDevice;
use redpoll::kernels::run::Workers;
use redpoll::logic::testing::DataKind;
use redpoll::logic::{Alias, FloatMode, Format, Prim, Scalar, TensorType};
use redpoll::storage::{Tensor, Values};
use redpoll::{Bindings, Config, Error, Prepared, Run, Session, Target};
use redpoll_testing::device::{DEVICE_DECLINES, prepare, program_files, run_values};
use redpoll_testing::engines::interpret_case;
use redpoll_testing::random::{self, CaseParameters};
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, PoisonError, RwLock};
use std::time::Duration;
use tempfile::TempDir;

/// The device, with the folder of its libraries. Tests that make the device fail lock the device
/// exclusively.
static DEVICE: LazyLock<RwLock<(EmulatedDevice, TempDir)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    RwLock::new((EmulatedDevice::load(folder.path()).unwrap(), folder))
});

/// Every program file gives the values of the CPU on the device.
#[test]
fn program_files_give_the_values_of_the_host() {
    let _device = DEVICE.read().unwrap_or_else(PoisonError::into_inner);
    let mut files = 0;
    for (name, file) in program_files() {
        let prepared = prepare(&file);
        let [cpu, found] = [Target::CPU, Target::cuda(0)].map(|target| run_values(&prepared, target).unwrap());
        assert_eq!(found, cpu, "{name}");
        files += 1;
    }
    assert!(files > 60, "{files}");
}

/// The default seeds of random plans; `REDPOLL_SEEDS=LOW..HIGH` selects other seeds.
const SEEDS: Range<u64> = 0..16;
/// Least number of plans of the default seeds that must run on the device.
const MIN_RUN: usize = 9;

/// Random plans on a device give the values of the reference interpreter.
#[test]
fn random_plans_give_the_values_of_the_definition() {
    let _device = DEVICE.read().unwrap_or_else(PoisonError::into_inner);
    let seeds = random::requested_seeds().unwrap_or(SEEDS);
    let (mut equal, mut run_plans, mut declined) = (0, 0, 0);
    for seed in seeds.clone() {
        let data = [DataKind::Exact, DataKind::General, DataKind::Special][(seed % 3) as usize];
        let parameters =
            CaseParameters { data, mode: FloatMode::Relaxed, depth: 2, queries: 1 + (seed / 3 % 3) as usize };
        let (_, case) = random::draw_case(seed, parameters);
        let Ok(expected) = interpret_case(&case).unwrap() else { continue };
        let bindings: Bindings = case.inputs.iter().map(|(name, tensor, _)| (name.clone(), tensor.clone())).collect();
        let config = Config { target: Target::cuda(0), optimizer: case.config.clone(), ..Config::default() };
        let run = Session::new(config).prepare_plan(case.plan.clone(), &bindings).and_then(|prepared| prepared.run());
        let run = match run {
            Err(error) if error.to_string().contains(DEVICE_DECLINES) => {
                declined += 1;
                continue;
            }
            Err(error) if random::is_rejected(&error.to_string()) => continue,
            run => run.unwrap_or_else(|e| panic!("seed {seed}: {e}")),
        };
        run_plans += 1;
        for (name, tensor) in &run.outputs {
            let compared = expected[name].compare(&tensor.to_dense_scalars().unwrap(), case.exactness);
            equal += compared.unwrap_or_else(|e| panic!("seed {seed}: `{name}` {e}")).equal;
        }
    }
    eprintln!("{equal} values of {run_plans} plans are equal, {declined} plans are declined");
    assert!(equal > 0 && (seeds != SEEDS || run_plans >= MIN_RUN), "{equal} equal in {run_plans} plans");
}

/// Returns a square matrix with `size` rows, in which one in five coordinates is stored.
fn matrix(size: u64) -> Tensor {
    let value = |k: u64| if k % 5 == k / size % 5 { (k % 9 + 1) as f64 } else { 0.0 };
    let values: Vec<f64> = (0..size * size).map(value).collect();
    let (dtype, fill) = (Prim::F64.into(), Scalar::F64(0.0));
    let ty = TensorType { shape: vec![size, size], dtype, fill, format: Format::csr() };
    Tensor::from_dense(ty, &Values::from(values)).unwrap()
}

/// Three queries. The first counts the entries of its result before it writes them; the second
/// stores its result in another format than its operand.
const PLAN: &str = "(plan (query C (reformat csr (aggregate + 0 (mapjoin * (table A i k) (table A k j)) k)))
    (query D (reformat coo (mapjoin * (table C i j) 2))) (query y (aggregate + 0 (table D i j) j)) (produces D y))";

/// A plan for tests of `auto`, which chooses a device only for large amounts of work. The emulation
/// runs this product of dense matrices faster than [`PLAN`].
const DENSE_PLAN: &str = "(plan (query B (reformat dense (table A i j)))
    (query C (aggregate + 0 (mapjoin * (table B i k) (table B k j)) k))
    (query D (reformat coo (mapjoin * (table C i j) 2))) (query y (aggregate + 0 (table D i j) j)) (produces C D y))";
/// Number of rows for which `auto` chooses a device for [`DENSE_PLAN`], once the data are on the
/// device.
const MANY_ROWS: u64 = 280;

fn session(target: Target) -> Session {
    let workers = Workers::new(NonZero::new(1).unwrap()).into();
    Session::new(Config { target, workers, ..Config::default() })
}

fn results(run: &Run) -> Vec<Vec<Scalar>> {
    dense(&run.outputs)
}

fn dense(outputs: &[(Alias, Tensor)]) -> Vec<Vec<Scalar>> {
    outputs.iter().map(|(_, tensor)| tensor.to_dense_scalars().unwrap()).collect()
}

/// Inputs are transferred to a device once. Results stay on the device and can be inputs of other
/// plans.
#[test]
fn results_stay_on_the_device() {
    let _device = DEVICE.read().unwrap_or_else(PoisonError::into_inner);
    let inputs = Bindings::new().with("A", matrix(40));
    let expected = session(Target::CPU).prepare(PLAN, &inputs).unwrap().run().unwrap();
    let device = session(Target::cuda(0));
    let prepared = device.prepare(PLAN, &inputs).unwrap();
    let cuda = Cuda::open(0).unwrap();
    let input = inputs.get("A").unwrap();
    assert!(cuda.missing_bytes(&[input]) > 0);
    let run = prepared.run().unwrap();
    assert_eq!(cuda.missing_bytes(&[input]), 0);
    assert!(run.device_time.is_some_and(|time| time > Duration::ZERO));
    let outputs: Vec<&Tensor> = run.outputs.iter().map(|(_, tensor)| tensor).collect();
    assert!(outputs.iter().all(|tensor| !tensor.is_on_host()));
    assert_eq!(cuda.missing_bytes(&outputs), 0);
    let device_inputs = Bindings::new().with("D", run.get("D").unwrap().clone());
    let sum = "(plan (query s (aggregate + 0 (table D i j) i j)) (produces s))";
    let sums = [
        (&device, device_inputs),
        (&session(Target::CPU), Bindings::new().with("D", expected.get("D").unwrap().clone())),
    ]
    .map(|(session, inputs)| results(&session.prepare(sum, &inputs).unwrap().run().unwrap()));
    assert_eq!(sums[0], sums[1]);
    assert!(!run.get("D").unwrap().is_on_host(), "the input was transferred although a device has it");
    assert_eq!(results(&run), results(&expected));
}

/// The tensors of computed arrays stay on the device, where later expressions read them.
#[test]
fn kept_tensors_stay_on_the_device() {
    let _device = DEVICE.read().unwrap_or_else(PoisonError::into_inner);
    let [expected, found] = [Target::CPU, Target::cuda(0)].map(|target| {
        let session = session(target);
        let array = session.array(matrix(40));
        let product = array.matmul(&array).to_csr();
        let tensor = product.compute().unwrap();
        let rows = product.max(1).collect().unwrap();
        assert_eq!(tensor.is_on_host(), target == Target::CPU);
        rows.to_dense_scalars().unwrap()
    });
    assert_eq!(found, expected);
}

/// A number selects a device, and a number without a device is an error.
#[test]
fn devices_are_selected_by_number() {
    let _device = DEVICE.read().unwrap_or_else(PoisonError::into_inner);
    let inputs = Bindings::new().with("A", matrix(20));
    let run = |target| session(target).prepare(PLAN, &inputs).and_then(|prepared| prepared.run());
    let [first, second] = [0, 1].map(|ordinal| results(&run(Target::cuda(ordinal)).unwrap()));
    assert_eq!(first, second);
    assert_eq!(first, results(&run(Target::CPU).unwrap()));
    // Results on the first device are transferred to the second through the host.
    let device_inputs = Bindings::new().with("A", run(Target::cuda(0)).unwrap().get("D").unwrap().clone());
    let run_on_second = session(Target::cuda(1)).prepare(PLAN, &device_inputs).unwrap().run().unwrap();
    assert_eq!(
        results(&run_on_second),
        results(&session(Target::CPU).prepare(PLAN, &device_inputs).unwrap().run().unwrap())
    );
    let error = run(Target::cuda(2)).err().unwrap().to_string();
    assert!(error.contains("CUDA device 2 cannot be used: invalid device ordinal"), "{error}");
}

/// Several threads share one device.
#[test]
fn threads_share_a_device() {
    let _device = DEVICE.read().unwrap_or_else(PoisonError::into_inner);
    let inputs = Bindings::new().with("A", matrix(30));
    let expected = results(&session(Target::CPU).prepare(PLAN, &inputs).unwrap().run().unwrap());
    let prepared = session(Target::cuda(0)).prepare(PLAN, &inputs).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(results(&prepared.run().unwrap()), expected);
                }
            });
        }
    });
}

/// For this plan, `auto` chooses the CPU while the data are only on the host, and the device when
/// the data are already on the device.
#[test]
fn auto_prefers_the_device_that_has_the_data() {
    let _device = DEVICE.read().unwrap_or_else(PoisonError::into_inner);
    let inputs = Bindings::new().with("A", matrix(MANY_ROWS));
    let auto = session(Target::AUTO);
    let prepared = auto.prepare(DENSE_PLAN, &inputs).unwrap();
    assert_eq!(prepared.placement().target, Target::CPU, "{}", prepared.placement());
    let expected = prepared.run().unwrap();
    prepared.run_with(Target::cuda(0)).unwrap();
    assert_eq!(prepared.placement().target, Target::cuda(0), "{}", prepared.placement());
    let run = prepared.run().unwrap();
    assert!(run.device_time.is_some());
    assert_eq!(results(&run), results(&expected));
}

/// Cancelled runs end although their launches are pending.
#[test]
fn cancelled_launches_end() {
    let _device = DEVICE.read().unwrap_or_else(PoisonError::into_inner);
    let inputs = Bindings::new().with("A", matrix(600));
    let device = session(Target::cuda(0));
    let prepared = device.prepare(PLAN, &inputs).unwrap();
    // The first run compiles the kernels.
    prepared.run().unwrap();
    let cancel = &device.limits().cancel;
    let error = std::thread::scope(|scope| {
        let run = scope.spawn(|| prepared.run());
        std::thread::sleep(Duration::from_millis(100));
        cancel.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    let error = error.expect_err("the run is cancelled").to_string();
    assert!(error.contains("cancelled"), "{error}");
}

/// Returns the results of a plan on the CPU for a matrix of the given size.
fn expected(plan: &str, size: u64) -> Vec<Vec<Scalar>> {
    let inputs = Bindings::new().with("A", matrix(size));
    results(&session(Target::CPU).prepare(plan, &inputs).unwrap().run().unwrap())
}

/// Repeats a run until the device has recovered, because cudarc reports errors of earlier calls at
/// later calls.
fn wait_for_recovery(run: impl Fn() -> Result<Run, Error>) {
    assert!((0..5).any(|_| run().is_ok()), "the device exists, but no run succeeds");
}

/// Returns the bytes in use after a plan over a small input has run; this run also frees unused
/// memory.
fn used_by_small_input(device: &EmulatedDevice) -> u64 {
    let inputs = Bindings::new().with("A", matrix(4));
    let session = session(Target::cuda(0));
    wait_for_recovery(|| session.prepare(PLAN, &inputs)?.run());
    device.used()
}

/// Runs a plan repeatedly on a device that fails after 0, `step`, 2 `step`, .. calls, until a run
/// ends before the device fails. Returns the outcomes of all earlier runs.
fn run_with_failures<T>(
    device: &EmulatedDevice,
    target: Target,
    (plan, size, step): (&str, u64, usize),
    run: impl Fn(&Prepared) -> T,
) -> Vec<T> {
    let inputs = || Bindings::new().with("A", matrix(size));
    let mut outcomes = Vec::new();
    for calls in (0..).step_by(step) {
        let session = session(target);
        // This run compiles the kernels.
        wait_for_recovery(|| session.prepare(plan, &inputs())?.run_with(Target::cuda(0)));
        let prepared = session.prepare(plan, &inputs()).unwrap();
        let before = device.calls();
        device.fail_after(Some(calls));
        let found = run(&prepared);
        device.fail_after(None);
        if device.calls() - before <= u64::from(calls) {
            break;
        }
        outcomes.push(found);
    }
    outcomes
}

/// Whichever call of the driver fails first, the run either succeeds with the right results or
/// returns an error that names the device. In both cases, all memory is freed.
#[test]
fn device_failures_are_reported() {
    let device = DEVICE.write().unwrap_or_else(PoisonError::into_inner);
    let expected = expected(PLAN, 30);
    let used = used_by_small_input(&device.0);
    let outcomes = run_with_failures(&device.0, Target::cuda(0), (PLAN, 30, 1), Prepared::run);
    let mut failed = 0;
    for (calls, run) in outcomes.into_iter().enumerate() {
        // If calls that free memory at the end fail, the run still succeeds.
        let result = run.map(|run| assert_eq!(results(&run), expected, "{calls}")).map_err(|error| error.to_string());
        let names_the_device = |result: &String| result.contains("on CUDA device 0: an illegal memory access");
        assert!(result.as_ref().err().is_none_or(names_the_device), "{calls}: {result:?}");
        failed += usize::from(result.is_err());
    }
    assert!(failed > 100, "{failed}");
    assert_eq!(used_by_small_input(&device.0), used);
}

/// If the device has lost the tensor of an array, a run on the CPU computes the tensor again, even
/// while the device fails.
#[test]
fn lost_tensors_are_computed_again() {
    let device = DEVICE.write().unwrap_or_else(PoisonError::into_inner);
    let used = used_by_small_input(&device.0);
    let session = session(Target::cuda(0));
    let array = session.array(matrix(30));
    let product = array.matmul(&array).to_csr();
    let expected = product.max(1).collect_with(Target::CPU).unwrap().to_dense_scalars().unwrap();
    assert!((0..5).any(|_| product.compute().is_ok()));
    device.0.fail_after(Some(0));
    let rows = product.max(1).collect_with(Target::CPU);
    device.0.fail_after(None);
    assert_eq!(rows.unwrap().to_dense_scalars().unwrap(), expected);
    drop(product);
    drop(array);
    assert_eq!(used_by_small_input(&device.0), used);
}

/// With `auto`, the CPU replaces a failing device, and the profile lists each query once.
#[test]
fn auto_continues_without_the_device() {
    let device = DEVICE.write().unwrap_or_else(PoisonError::into_inner);
    let expected = expected(DENSE_PLAN, MANY_ROWS);
    let run = |prepared: &Prepared| prepared.profile(Target::AUTO);
    let outcomes = run_with_failures(&device.0, Target::AUTO, (DENSE_PLAN, MANY_ROWS, 5), run);
    assert!(outcomes.len() > 20, "{}", outcomes.len());
    for (calls, profile) in outcomes.into_iter().enumerate() {
        let profile = profile.unwrap_or_else(|e| panic!("{calls}: {e}"));
        let queries: Vec<&str> = profile.queries.iter().map(|query| query.name.as_str()).collect();
        assert_eq!(queries, ["B", "C", "D", "y"], "{calls}");
        assert_eq!(dense(&profile.outputs), expected, "{calls}");
    }
}
