//! Tests of results on a device: later kernels read the results in place, users fetch each result
//! once, and all results stay within a limit. Also tests the cancellation of launches.

use super::emulated::{CUTTING, Emulation, EmulationOptions, tensor};
use crate::grid::{GridPlan, TeamSize};
use redpoll_compiler::assembly::Status;
use redpoll_compiler::lower::Draft;
use redpoll_compiler::notation::Role;
use redpoll_compiler::testing::{normal_form, skewed};
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::Limits;
use redpoll_kernels::{Error, backend};
use redpoll_logic::{FloatMode, Scalar};
use redpoll_storage::{Array, Tensor};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A product of sparse matrices, whose rows are appended.
const PRODUCT: &str = "(program (input A (type (shape 40 40) f64 0.0 csr)) (input B (type (shape 40 40) f64 0.0 csr))
    (output C (type (shape 40 40) f64 0.0 csr)) (local w (type (shape 40) f64 0.0 (byte-map (element))))
    (for i (where (for j (init (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (B k j))))))))";
/// A scaling of the product's columns.
const SCALED: &str = "(program (input C (type (shape 40 40) f64 0.0 csr)) (input x (type (shape 40) f64 0.0 dense))
    (output D (type (shape 40 40) f64 0.0 csr)) (for i (for j (init (D i j) (* (C i j) (x j))))))";

fn draft(text: &str) -> (Draft, Vec<Tensor>) {
    let program = Arc::new(normal_form(text));
    let inputs = program.tensors.iter().filter(|t| t.role == Role::Input).enumerate();
    let tensors: Vec<Tensor> = inputs.map(|(number, decl)| tensor(&decl.ty, number)).collect();
    (Draft::new(&program, &[], FloatMode::default()), tensors)
}

fn output(kernel: &Kernel, inputs: &[&Tensor], limits: &Limits) -> Result<Tensor, Error> {
    Ok(kernel.run(inputs, limits)?.outputs.swap_remove(0))
}

fn scalars(tensor: &Tensor) -> Vec<Scalar> {
    tensor.to_dense_scalars().unwrap()
}

/// Intermediates stay on the device, and results are downloaded once, at the first access.
#[test]
fn intermediates_stay_on_the_device() {
    let [(product, inputs), (scaled, others)] = [PRODUCT, SCALED].map(draft);
    let Emulation { host, kernels, .. } = Emulation::of([&product, &scaled].into_iter(), usize::MAX);
    let limits = Limits::default().with_workers(&CUTTING);
    let [a, b, x] = [&inputs[0], &inputs[1], &others[1]];
    let [one, two] = [&product, &scaled].map(|draft| Kernel::compile(draft, &backend::interpreter()).unwrap());
    let c_here = output(&one, &[a, b], &limits).unwrap();
    let expected = output(&two, &[&c_here, x], &limits).unwrap();

    let c = output(&kernels[0], &[a, b], &limits).unwrap();
    assert!(!c.is_on_host());
    host.transfers();
    // This run uploads the input from the host, in addition to the tables that the next run uploads
    // too.
    output(&kernels[1], &[&c_here, x], &limits).unwrap();
    let from_here = host.transfers();
    let d = output(&kernels[1], &[&c, x], &limits).unwrap();
    let there = host.transfers();
    // The host fetched the ends of the rows, because they determine where the loop is cut.
    let ends: Vec<bool> = c.arrays().map(|array| array.device_bytes().unwrap().is_on_host()).collect();
    assert_eq!(ends, [true, false, false]);
    let ptr = c.arrays().next().unwrap().bytes();
    assert_eq!(from_here.0 as u64 - there.0 as u64, c.bytes() + x.bytes());
    assert_eq!(there.1 - from_here.1, ptr);

    assert!(!d.is_on_host());
    let bytes = |tensor: &Tensor| tensor.arrays().map(Array::bytes).sum::<usize>();
    d.clone().fetch().unwrap();
    assert_eq!(host.transfers(), (0, bytes(&d)));
    assert_eq!(scalars(&d), scalars(&expected));
    d.fetch().unwrap();
    assert_eq!(host.transfers(), (0, 0), "the array is on the host already");

    let on_host = output(&Kernel::compile(&scaled, &backend::instant()).unwrap(), &[&c, x], &limits).unwrap();
    assert_eq!(scalars(&on_host), scalars(&expected), "the CPU reads results on a device");
    assert_eq!(host.transfers(), (0, bytes(&c) - ptr));
}

/// Sums of columns, with a partial result for each chunk.
const SUMS: &str = "(program (input A (type (shape 40 900) f64 0.0 csr)) (output s (type (shape 900) f64 0.0 dense))
    (for i (for j (+= (s j) (A i j)))))";
/// A scaling of the columns by their sums.
const SCALED_BY_SUMS: &str =
    "(program (input A (type (shape 40 900) f64 0.0 csr)) (input s (type (shape 900) f64 0.0 dense))
    (output B (type (shape 40 900) f64 0.0 csr)) (for i (for j (init (B i j) (* (A i j) (s j))))))";

/// Partial results are folded on the device, in the order of the chunks, and are not downloaded.
#[test]
fn partial_results_are_folded_on_the_device() {
    let [(sums, inputs), (scaled, _)] = [SUMS, SCALED_BY_SUMS].map(draft);
    let Emulation { host, kernels, .. } = Emulation::of([&sums, &scaled].into_iter(), usize::MAX);
    let limits = Limits::default().with_workers(&CUTTING);
    let a = &inputs[0];
    let [one, two] = [&sums, &scaled].map(|draft| Kernel::compile(draft, &backend::interpreter()).unwrap());
    let here = output(&one, &[a], &limits).unwrap();
    let expected = output(&two, &[a, &here], &limits).unwrap();
    let s = output(&kernels[0], &[a], &limits).unwrap();
    let (_, back) = host.transfers();
    // Each of the 40 chunks has a partial result.
    assert!(back < 4 * here.bytes() as usize, "only tables are downloaded, found {back} bytes");
    assert!(!s.is_on_host());
    output(&kernels[1], &[a, &here], &limits).unwrap();
    let from_here = host.transfers();
    let b = output(&kernels[1], &[a, &s], &limits).unwrap();
    let there = host.transfers();
    assert_eq!((from_here.0 - there.0, there.1), (here.bytes() as usize, from_here.1));
    assert_eq!(scalars(&b), scalars(&expected));
    assert_eq!(scalars(&s), scalars(&here));
}

/// The device gathers all rows: the rows that are folded from sections, and the rows that are not
/// cut.
#[test]
fn sections_are_gathered_on_the_device() {
    let text = "(program (input A (type (shape 7 60) f64 0.0 csr)) (input X (type (shape 60 400) f64 0.0 dense))
        (output Y (type (shape 7 400) f64 0.0 dense))
        (for i (for j (for k (+= (Y i k) (* (A i j) (X j k)))))))";
    let (draft, inputs) = skewed::draft(text);
    assert!(GridPlan::of(&draft, TeamSize::Automatic).sections.is_some());
    let Emulation { host, kernels, .. } = Emulation::of([&draft].into_iter(), usize::MAX);
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let here = output(&Kernel::compile(&draft, &backend::interpreter()).unwrap(), &inputs, &Limits::default()).unwrap();
    for limits in [Limits::default(), Limits::default().with_workers(&CUTTING)] {
        let y = output(&kernels[0], &inputs, &limits).unwrap();
        let (_, back) = host.transfers();
        assert!(back < here.bytes() as usize, "only tables are downloaded, found {back} bytes");
        assert!(!y.is_on_host());
        assert_eq!(scalars(&y), scalars(&here));
        host.transfers();
    }
}

/// Results on a device count against the limit of host memory while they live.
#[test]
fn results_on_the_device_are_charged() {
    let (product, inputs) = draft(PRODUCT);
    let Emulation { kernels, pool, .. } = Emulation::of([&product].into_iter(), usize::MAX);
    let limits = Limits::memory(1 << 20);
    let before = pool.available(usize::MAX);
    let c = output(&kernels[0], &[&inputs[0], &inputs[1]], &limits).unwrap();
    assert_eq!(limits.memory.used() as u64, c.bytes());
    c.fetch().unwrap();
    let buffer = c.leaf()[0].buffer().clone();
    drop(c);
    assert!(limits.memory.used() >= buffer.len());
    drop(buffer);
    assert_eq!((limits.memory.used(), pool.available(usize::MAX)), (0, before));
    let error = output(&kernels[0], &[&inputs[0], &inputs[1]], &Limits::memory(2000)).unwrap_err();
    assert!(matches!(error, Error::KernelStopped(Status::OutOfMemory)), "{error}");
}

/// A device evicts buffers to stay within its limit. If evictions do not free enough memory, the
/// error names the kernel.
#[test]
fn the_limit_of_the_device_is_kept() {
    let [(product, inputs), (scaled, others)] = [PRODUCT, SCALED].map(draft);
    let whole = Emulation::of([&product, &scaled].into_iter(), usize::MAX);
    let limits = Limits::default().with_workers(&CUTTING);
    let [a, b, x] = [&inputs[0], &inputs[1], &others[1]];
    let run = |emulation: &Emulation, limits: &Limits| {
        let c = output(&emulation.kernels[0], &[a, b], limits)?;
        let d = output(&emulation.kernels[1], &[&c, x], limits)?;
        Ok::<_, Error>((c, d))
    };
    let (c, d) = run(&whole, &limits).unwrap();
    let values = [&c, &d].map(scalars);

    let under = |bytes: usize| run(&whole, &Limits { device_memory: bytes, ..limits.clone() });
    let least = (1..64).map(|k| k << 10).find(|bytes| under(*bytes).is_ok()).unwrap();
    let (c, d) = under(least).unwrap();
    assert_eq!([&c, &d].map(scalars), values);
    let error = under(least / 4).unwrap_err();
    let Error::Device(source) = &error else { panic!("{error}") };
    let source = source.downcast_ref();
    let Some(crate::Error::DeviceMemory { ordinal: 7, kernel, requested, limit, .. }) = source else {
        panic!("{error}")
    };
    assert!(*limit == least / 4 && *requested > 0 && !kernel.is_empty(), "{error}");
}

/// Cancellation prevents chunks from beginning, and ends a running chunk.
#[test]
fn launches_are_cancelled() {
    // Each row is a chunk and takes a while; all rows together take far longer than the wait.
    let text =
        "(program (input A (type (shape 1000 1000) f64 0.0 dense)) (input B (type (shape 1000 1000) f64 0.0 dense))
        (output C (type (shape 1000 1000) f64 0.0 dense))
        (for i (for j (for k (+= (C i j) (* (A i k) (B k j)))))))";
    let (product, inputs) = draft(text);
    let emulation = |team_size| {
        Emulation::with_options(
            [&product].into_iter(),
            usize::MAX,
            EmulationOptions { team_size, ..EmulationOptions::default() },
        )
    };
    let [warps, blocks] = [TeamSize::Automatic, TeamSize::Exact(64)].map(emulation);
    let limits = || [Limits::default().with_workers(&CUTTING), Limits::default()];
    for (kernel, limits) in [&warps, &blocks].into_iter().flat_map(|e| limits().map(|limits| (&e.kernels[0], limits))) {
        let cancel = limits.cancel.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                cancel.store(true, Ordering::Relaxed);
            });
            let error = output(kernel, &[&inputs[0], &inputs[1]], &limits).unwrap_err();
            assert!(matches!(error, Error::KernelStopped(Status::Cancelled)), "{error}");
        });
    }
}
