//! Runs kernels of the optimizing tier under GCC's sanitizers, with buffers of exactly the sizes
//! that the kernels may access: kernels of plan files, of program files, of random programs, and of
//! programs with coordinates out of bounds. If a check is removed from a kernel, the sanitizer
//! reports the access that the check prevents.

use redpoll_compiler::Error;
use redpoll_compiler::assembly::{Status, Stmt};
use redpoll_compiler::lower::{Draft, InputLayout};
use redpoll_compiler::notation::{self, Role, TensorId, apply_schedule, normalize, parse_with_inputs, verify_parallel};
use redpoll_kernels::testing::sanitized::{SanitizedKernel, run_sanitized};
use redpoll_logic::text::parse_format;
use redpoll_logic::{FloatMode, Format, Prim, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values, convert};
use redpoll_testing::data::ValueKind;
use redpoll_testing::engines::check;
use redpoll_testing::optimizing::{self, KernelSelection};
use redpoll_testing::program::{CaseChoice, ProgramFile};
use redpoll_testing::programs::{self, STACK, random_case};
use redpoll_testing::random::requested_seeds;
use redpoll_testing::rng;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Largest number of combinations of sizes and formats for each plan file.
const CASES: usize = 2;
/// The default seeds of random programs.
const SEEDS: Range<u64> = 0..1800;
/// Minimum number of random programs that run for the default seeds.
const MIN_RANDOM_PROGRAMS: usize = 2000;
/// Largest number of statements in a kernel of a random program that runs by default. Longer
/// kernels take most of the time and test the same code.
const MAX_STATEMENTS: usize = 500;
/// Number of kernels, or seeds, that are compiled together.
const BATCH_SIZE: usize = 48;

fn texts(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "rp"));
    paths.sort();
    let name = |p: &Path| p.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|p| (name(p), std::fs::read_to_string(p).unwrap())).collect()
}

/// A kernel and its input tensors.
type BoundKernel = (Draft, Vec<Tensor>);

/// Runs kernels and returns their statuses in no particular order. Panics if the sanitizer reports
/// an error.
fn run(kernels: &[BoundKernel]) -> Vec<Status> {
    run_parts(kernels.len(), &|part| Cow::Borrowed(&kernels[part]))
}

/// Runs the kernels of `cases` cases on all processors. Kernels of neighbouring cases are compiled
/// together.
fn run_parts<'a>(cases: usize, kernels: &(dyn Fn(Range<usize>) -> Cow<'a, [BoundKernel]> + Sync)) -> Vec<Status> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut statuses = Vec::new();
        while let first = next.fetch_add(BATCH_SIZE, Ordering::Relaxed)
            && first < cases
        {
            let part = first..(first + BATCH_SIZE).min(cases);
            let batch = run_batch(&kernels(part.clone()));
            statuses.extend(batch.unwrap_or_else(|report| panic!("kernels {part:?}: {report}")));
        }
        statuses
    };
    std::thread::scope(|scope| {
        let thread = |_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).unwrap();
        let threads: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from)).map(thread).collect();
        let statuses = threads.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e)));
        statuses.collect::<Vec<_>>().concat()
    })
}

/// Runs kernels that are compiled together.
///
/// # Errors
/// Returns the report of the sanitizer.
fn run_batch(kernels: &[BoundKernel]) -> Result<Vec<Status>, String> {
    let watch =
        |(draft, inputs): &BoundKernel| SanitizedKernel::new(draft, &inputs.iter().collect::<Vec<_>>()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let watched: Vec<SanitizedKernel> = kernels.iter().map(watch).collect();
    run_sanitized(&watched, folder.path())
}

#[test]
fn plan_files_access_only_their_memory() {
    let mut kernels = Vec::new();
    for (name, text) in texts("tests/files") {
        let file = ProgramFile::parse(&name, &text);
        let mut rng = rng::named(&name, 2);
        let formats = file.formats.iter().cycle().take(CASES.min(file.sizes.len().max(1)));
        for (size, formats) in formats.enumerate() {
            let (kind, mode) = (ValueKind::Exact, FloatMode::Relaxed);
            let choice = CaseChoice { size, formats: formats.clone(), kind, mode, seed: rng.bits() };
            optimizing::select_kernels(KernelSelection::All(size as u64));
            check(&file.case(&choice).unwrap()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        }
        kernels.extend(optimizing::drain_kernels());
    }
    assert!(kernels.len() > 100, "{}", kernels.len());
    run(&kernels);
}

/// Returns the kernel of a program over named tensors.
///
/// # Errors
/// Returns an error if the program is rejected.
fn kernel(text: &str, tensors: &[(&str, Tensor)], mode: FloatMode) -> Result<BoundKernel, Box<Error>> {
    let lookup = |name: &str| tensors.iter().find(|(n, _)| *n == name).map(|(_, t)| t.clone());
    let (parsed, _) = parse_with_inputs(text, &[], &|name| lookup(name).map(|t| t.ty().clone()))?;
    let program = Arc::new(normalize(apply_schedule(parsed, mode)?)?);
    verify_parallel(&program, mode)?;
    let input = |decl: &notation::TensorDecl| {
        let name = |t: TensorId| &program.tensors[t.index()].name;
        let Some(blocks) = program.block_inputs.iter().find(|b| b.inputs().any(|t| *name(t) == decl.name)) else {
            return lookup(&decl.name).unwrap();
        };
        let bounds = lookup(name(blocks.of)).unwrap().block_bounds(&blocks.stored).unwrap();
        if *name(blocks.begins) == decl.name { bounds.begins } else { bounds.counts.unwrap() }
    };
    let inputs: Vec<Tensor> = program.tensors.iter().filter(|t| t.role == Role::Input).map(input).collect();
    let layouts = InputLayout::of_inputs(&program, &inputs.iter().collect::<Vec<_>>());
    Ok((Draft::new(&program, &layouts, mode), inputs))
}

fn draft(text: &str, tensors: &[(&str, Tensor)]) -> BoundKernel {
    kernel(text, tensors, FloatMode::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns the kernel of a random program; `None` if the program is rejected, or if the kernel is
/// too long.
fn random_kernel(seed: u64, config: &programs::ProgramConfig, max_statements: usize) -> Option<BoundKernel> {
    let tensor = |t: &programs::ProgramTensor| {
        let dense = TensorType { format: Format::dense(t.ty.shape.len()), ..t.ty.clone() };
        let values = Values::from_scalars(dense.dtype.clone(), &t.values).unwrap();
        convert(&Tensor::from_dense(dense, &values).unwrap(), &t.ty.format).unwrap()
    };
    let case = random_case(seed, config);
    let inputs = case.tensors.iter().filter(|t| t.role == Role::Input);
    let tensors: Vec<(&str, Tensor)> = inputs.map(|t| (t.name.as_str(), tensor(t))).collect();
    let kernel = kernel(&case.text(), &tensors, case.mode).ok()?;
    let statements: usize = kernel.0.function().body.iter().map(Stmt::count).sum();
    (statements <= max_statements).then_some(kernel)
}

/// Random programs only access their own memory, both with coordinates in bounds and with
/// coordinates out of bounds.
#[test]
fn random_programs_access_only_their_memory() {
    let requested = requested_seeds();
    let (seeds, max_statements) = requested.clone().map_or((SEEDS, MAX_STATEMENTS), |seeds| (seeds, usize::MAX));
    let mut programs = 0;
    for unchecked in [0, 20] {
        let config = programs::ProgramConfig { unchecked, ..programs::ProgramConfig::default() };
        let kernels = |part: Range<usize>| {
            let seeds = part.map(|k| seeds.start + k as u64);
            seeds.filter_map(|seed| random_kernel(seed, &config, max_statements)).collect::<Vec<_>>().into()
        };
        let statuses = run_parts(seeds.clone().count(), &kernels);
        let out_of_bounds = statuses.iter().filter(|end| **end == Status::OutOfBounds).count();
        eprintln!(
            "{} kernels of random programs, of which {out_of_bounds} reached a coordinate out of bounds",
            statuses.len()
        );
        assert_eq!(out_of_bounds > 0, unchecked > 0, "{statuses:?}");
        programs += statuses.len();
    }
    assert!(requested.is_some() || programs >= MIN_RANDOM_PROGRAMS, "{programs} programs ran");
}

fn ty(shape: &[u64], prim: Prim, format: &str) -> TensorType {
    let format = parse_format(format, shape.len()).unwrap();
    TensorType { shape: shape.to_vec(), dtype: prim.into(), fill: Scalar::zero(prim), format }
}

/// Returns a graph of `n` vertices, with each edge in both directions.
fn graph(n: u64, format: &str) -> Tensor {
    let edges: Vec<(u64, u64)> = (0..n).flat_map(|i| [(i, (i * 7 + 3) % n), (i, (i * i + 1) % n)]).collect();
    let both: Vec<(u64, u64)> = edges.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect();
    let coordinates = vec![both.iter().map(|e| e.0).collect(), both.iter().map(|e| e.1).collect()];
    let triples = Triples { shape: vec![n, n], coordinates, values: Values::from(vec![1.0; both.len()]) };
    Tensor::from_triples(ty(&[n, n], Prim::F64, format), &triples, Duplicates::First).unwrap().0
}

fn integers(values: Vec<i64>, shape: &[u64]) -> Tensor {
    Tensor::from_dense(ty(shape, Prim::I64, "dense"), &Values::from(values)).unwrap()
}

fn floats(shape: &[u64]) -> Tensor {
    let count = shape.iter().product::<u64>();
    let values: Vec<f64> = (0..count).map(|k| k as f64).collect();
    Tensor::from_dense(ty(shape, Prim::F64, "dense"), &Values::from(values)).unwrap()
}

#[test]
fn programs_access_only_their_memory() {
    let mut kernels = Vec::new();
    for (_, text) in texts("programs") {
        for (n, format) in [(1, "dcsr"), (13, "csr"), (13, "coo"), (13, "dense")] {
            let given = [
                ("A", graph(n, format)),
                ("B", if text.contains("columns of B") { floats(&[n, 5]) } else { graph(n, format) }),
                ("x", floats(&[n])),
                ("preference", floats(&[n])),
                ("source", integers(vec![n as i64 / 2], &[])),
                ("sources", integers(vec![n as i64 / 2, 0], &[2])),
            ];
            // Other numbers have their declared values.
            let inputs = notation::parse_inputs(&text).unwrap();
            let missing = inputs.iter().filter(|i| given.iter().all(|(name, _)| *name != i.name));
            let declared = missing.map(|i| (i.name.as_str(), Tensor::scalar(i.value.as_ref().unwrap()).unwrap()));
            let tensors: Vec<(&str, Tensor)> = given.iter().cloned().chain(declared).collect();
            kernels.push(draft(&text, &tensors));
        }
    }
    let statuses = run(&kernels);
    assert!(statuses.iter().all(|end| *end == Status::Done), "{statuses:?}");
}

const SCATTER: &str = "(program (input I (shape m)) (output y (shape 3) f64 0.0 (FORMAT (element)))
  (for i (+= (y (I i)) 1)))";

#[test]
fn coordinates_out_of_bounds_access_nothing() {
    let mut kernels = Vec::new();
    let invalid = [-1, 3, 3_000_000_000, i64::MIN, i64::MAX - 1];
    for at in invalid {
        let tensors = |at: i64| {
            vec![
                ("I", integers(vec![0, 2, at, 1], &[4])),
                ("k", integers(vec![at], &[])),
                ("x", floats(&[3])),
                ("A", graph(3, "csr")),
                ("D", graph(3, "dcsr")),
            ]
        };
        for format in ["dense", "hash", "byte-map", "bit-map"] {
            kernels.push(draft(&SCATTER.replace("FORMAT", format), &tensors(at)));
        }
        let gathers = [
            "(+= s (x (I i)))",
            "(for j (+= s (A (I i) j)))",
            "(for j (+= s (D (I i) j)))",
            "(+= s (A 1 (I i)))",
            "(+= s (x k))",
            "(for j (range k (max k (+ k 1))) (+= s (x j)))",
            "(for j (range k 3) (if (gt (I i) 5) (+= s (A j 2))))",
            "(= (y 1 (I i)) 2)",
            "(= (y (I i) 1) 2)",
            "(for j (range 0 3) (+= s (x (+ j k))))",
        ];
        for body in gathers {
            let text = format!(
                "(program (input I (shape m)) (input k i64 0) (input x (shape n)) (input A (shape n n)) (input D (shape n n))
                   (output s f64 0.0) (output y (shape 3 3) f64 0.0) (for i (range 0 4) {body}))"
            );
            kernels.push(draft(&text, &tensors(at)));
        }
    }
    let statuses = run(&kernels);
    let out_of_bounds = statuses.iter().filter(|end| **end == Status::OutOfBounds).count();
    assert!(out_of_bounds * 10 > statuses.len() * 7, "{statuses:?}");
}

/// If a kernel has no checks, the sanitizer detects the access that a check would prevent.
#[test]
fn kernels_without_checks_are_reported() {
    for (at, format) in [(3, "dense"), (-1, "dense"), (70, "bit-map")] {
        let inputs = [("I", integers(vec![0, 2, at, 1], &[4]))];
        let (draft, inputs) = draft(&SCATTER.replace("FORMAT", format), &inputs);
        let watch = || SanitizedKernel::new(&draft, &inputs.iter().collect::<Vec<_>>()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(run_sanitized(&[watch()], folder.path()).unwrap(), [Status::OutOfBounds]);
        let report = run_sanitized(&[watch().without_checks()], folder.path()).unwrap_err();
        assert!(report.contains("heap-buffer-overflow"), "{report}");
    }
}
