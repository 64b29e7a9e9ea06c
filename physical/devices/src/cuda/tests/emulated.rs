//! Tests that generated text gives the bits of the other backends. The text is compiled as C++ for
//! the host. Each thread of a block runs as a coroutine with its own stack. The memory model and
//! the scheduling of a device are not tested here.

use super::PROGRAMS;
use crate::cuda::block::{teams, threads};
use crate::cuda::interface::{Address, DeviceBlock, DeviceFailure, DeviceInterface, DeviceKernel, LaunchShape};
use crate::cuda::launch::Argument;
use crate::cuda::memory::DevicePool;
use crate::cuda::runner::DeviceRunner;
use crate::cuda::{emit, entry_name};
use crate::grid::{
    Grid, GridPlan, GridProgram, GridRunner, Launch, LaunchOutcome, MemorySpace, TeamSize, Walks, WindowExtent, map_to,
};
use crate::launch::{Grids, grid_interpreter_in_teams};
use crate::testing::device::{BLOCK, UNIT, compiler};
use crate::tests::assembly::random::{inputs, random_functions};
use arrow_buffer::Buffer as ArrowBuffer;
use libloading::Library;
use redpoll_compiler::assembly::{BufferRole, Signature, Status};
use redpoll_compiler::lower::{Draft, InputLayout, ListLengths};
use redpoll_compiler::notation::{self, Role};
use redpoll_compiler::testing::examples::{DOT, function};
use redpoll_compiler::testing::{normal_form, skewed};
use redpoll_kernels::backend::{self, Backend, Code};
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::{Invocation, Limits, Workers};
use redpoll_logic::{FloatMode, Format, Scalar, TensorType};
use redpoll_storage::testing::concordant_formats_of_rank;
use redpoll_storage::{Tensor, Values, convert};
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

/// The kernel that stitches arrays.
const STITCH: &str = include_str!("../stitch.cu");

type EmulatedEntryPoint = unsafe extern "C" fn(Argument);
type StartFn = unsafe extern "C" fn(EmulatedEntryPoint, *const Argument, u32, u32, u32);
/// The shape of a launch: number of blocks, threads per block, bytes of memory per block.
type LaunchDims = (usize, u32, usize);

/// A device in this process, whose memory is the host's. The device counts bytes that are uploaded
/// and downloaded.
#[derive(Default)]
pub(in crate::cuda) struct Host {
    library: Mutex<Option<Library>>,
    uploaded: AtomicUsize,
    downloaded: AtomicUsize,
    /// Bytes of memory, if limited.
    memory_bytes: Option<usize>,
    allocated: Arc<AtomicUsize>,
}

/// Compiles grids and the kernel that stitches arrays for this machine. The launch state is in
/// variables of the library, so only one launch runs at a time.
///
/// # Panics
/// If there is no C++ compiler, or it rejects the text.
fn compile_library(grids: &[Grid], edit: TextEdit) -> Library {
    let unit = edit(emit(&grids.iter().collect::<Vec<_>>()).unwrap());
    let text = format!("{BLOCK}\n{unit}\n{STITCH}");
    let folder = tempfile::tempdir().unwrap();
    let [source, library] = ["unit.cpp", "unit.so"].map(|name| folder.path().join(name));
    std::fs::write(&source, &text).unwrap();
    let output = compiler(UNIT).arg("-o").arg(&library).arg(&source).output();
    let output = output.unwrap_or_else(|e| panic!("text of CUDA cannot be tested without a C++ compiler: {e}"));
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    // SAFETY: no code runs when the library is loaded.
    unsafe { Library::new(&library) }.unwrap()
}

impl Host {
    /// Creates a device for grids with edited text.
    pub(super) fn of(grids: &[Grid], edit: TextEdit) -> Arc<Host> {
        Arc::new(Host { library: Mutex::new(Some(compile_library(grids, edit))), ..Host::default() })
    }

    /// Creates a device without kernels, with `bytes` bytes of memory.
    pub(in crate::cuda) fn with_memory(bytes: usize) -> Arc<Host> {
        Arc::new(Host { memory_bytes: Some(bytes), ..Host::default() })
    }

    /// Returns the bytes that were uploaded and downloaded since the last call.
    pub(in crate::cuda) fn transfers(&self) -> (usize, usize) {
        (self.uploaded.swap(0, Ordering::Relaxed), self.downloaded.swap(0, Ordering::Relaxed))
    }

    fn start(&self, entry: &str, argument: &Argument, (blocks, threads, bytes): LaunchDims) {
        let library = self.library.lock().unwrap();
        let library = library.as_ref().expect("the device has kernels");
        // SAFETY: the text exports these functions with these types. The argument refers to memory
        // of this host. Lowering, or a run of the grid by its interpreter, guarantees that the grid
        // stays within its windows.
        unsafe {
            let entry = library.get::<EmulatedEntryPoint>(entry.as_bytes()).unwrap();
            let start = library.get::<StartFn>(b"emulated_launch").unwrap();
            start(*entry, argument, blocks as u32, threads, bytes as u32);
        }
    }
}

/// Memory of the host, filled with the byte `0x55` at first; its bytes count as allocated.
struct HostBlock(Vec<u64>, usize, Arc<AtomicUsize>);

impl DeviceBlock for HostBlock {
    fn address(&self) -> Address {
        self.0.as_ptr() as Address
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        self.2.fetch_sub(self.1, Ordering::Relaxed);
    }
}

impl DeviceInterface for Host {
    fn ordinal(&self) -> u32 {
        7
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn DeviceBlock>, DeviceFailure> {
        if self.allocated.fetch_add(bytes, Ordering::Relaxed) + bytes > self.memory_bytes.unwrap_or(usize::MAX) {
            self.allocated.fetch_sub(bytes, Ordering::Relaxed);
            return Err(DeviceFailure::OutOfMemory);
        }
        Ok(Box::new(HostBlock(vec![0x5555_5555_5555_5555; bytes.div_ceil(8)], bytes, self.allocated.clone())))
    }

    fn upload(&self, bytes: &[u8], to: Address) -> Result<(), DeviceFailure> {
        self.uploaded.fetch_add(bytes.len(), Ordering::Relaxed);
        // SAFETY: the caller holds the memory, which this host has allocated, as on a device.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(to as *mut u8, bytes.len()) };
        Ok(())
    }

    fn download(&self, from: Address, to: &mut [u8]) -> Result<(), DeviceFailure> {
        self.downloaded.fetch_add(to.len(), Ordering::Relaxed);
        // SAFETY: as above; the kernel has ended.
        unsafe { (from as *const u8).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn copy(&self, from: Address, to: Address, bytes: usize) -> Result<(), DeviceFailure> {
        // SAFETY: as above.
        unsafe { (from as *const u8).copy_to_nonoverlapping(to as *mut u8, bytes) };
        Ok(())
    }

    fn set(&self, at: Address, bytes: usize, byte: u8) -> Result<(), DeviceFailure> {
        // SAFETY: as above.
        unsafe { (at as *mut u8).write_bytes(byte, bytes) };
        Ok(())
    }

    fn stitch(&self, stitch: &Argument, _moves: usize) -> Result<(), DeviceFailure> {
        self.start("redpoll_stitch", stitch, (2, 4, 0));
        Ok(())
    }
}

/// A kernel of the library.
struct EmulatedKernel {
    host: Arc<Host>,
    number: usize,
}

impl DeviceKernel for EmulatedKernel {
    fn launch(
        &self,
        argument: &Argument,
        shape: LaunchShape,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Duration, DeviceFailure> {
        let start = Instant::now();
        let (host, entry, argument) = (self.host.clone(), entry_name(self.number), *argument);
        let teams = teams(shape.lanes);
        // Threads beyond the last team are always started. A device starts such threads only if the
        // last block is not full.
        let blocks = ((shape.teams + 1).div_ceil(teams), threads(shape.lanes), shape.share * teams);
        let launched = std::thread::spawn(move || host.start(&entry, &argument, blocks));
        while !launched.is_finished() {
            if cancelled() {
                // SAFETY: the word is in memory that the caller holds; kernels read it as
                // `volatile`.
                unsafe { (argument.cancel as *mut i32).write_volatile(1) };
            }
            std::thread::yield_now();
        }
        launched.join().map_err(|_| DeviceFailure::Driver("the emulation panicked".into()))?;
        Ok(start.elapsed())
    }
}

/// An edit of the generated text.
type TextEdit = fn(String) -> String;

/// The options of an emulation.
#[derive(Clone, Copy)]
pub(super) struct EmulationOptions {
    pub(super) team_size: TeamSize,
    /// Bytes of block memory for each team of a grid, by the number of the grid.
    pub(super) share: fn(usize) -> usize,
    /// Edit of the generated text.
    pub(super) edit: TextEdit,
}

impl Default for EmulationOptions {
    /// Returns options with automatic team sizes and unedited text, like a device. The shares of
    /// block memory are too small for some windows, and large enough for others.
    fn default() -> EmulationOptions {
        EmulationOptions {
            team_size: TeamSize::Automatic,
            share: |number| [72, 1 << 12, 0, 200][number % 4],
            edit: |text| text,
        }
    }
}

/// Kernels of drafts on an emulated device.
pub(super) struct Emulation {
    pub(super) host: Arc<Host>,
    pub(super) pool: Arc<DevicePool>,
    pub(super) kernels: Vec<Kernel>,
}

impl Emulation {
    /// Emulates the kernels of drafts on one device with a limit of bytes in use.
    pub(super) fn of<'a>(drafts: impl Iterator<Item = &'a Draft> + Clone, limit: usize) -> Emulation {
        Emulation::with_options(drafts, limit, EmulationOptions::default())
    }

    /// Emulates the kernels of drafts with the given options.
    pub(super) fn with_options<'a>(
        drafts: impl Iterator<Item = &'a Draft> + Clone,
        limit: usize,
        options: EmulationOptions,
    ) -> Emulation {
        let plans: Vec<GridPlan> = drafts.clone().map(|draft| GridPlan::of(draft, options.team_size)).collect();
        let grids: Vec<Grid> = plans.iter().flat_map(GridPlan::grids).cloned().collect();
        let host = Host::of(&grids, options.edit);
        let pool = DevicePool::of(host.clone(), limit);
        let backend: Arc<dyn Backend> = Arc::new(EmulatedBackend { pool: pool.clone(), options });
        let mut number = 0;
        let kernel = |(draft, plan): (&Draft, GridPlan)| {
            let grids = emulated_grids(plan, (&host, &pool), &mut number, options);
            Kernel::with_code(draft, &backend, Box::new(grids))
        };
        let kernels = drafts.zip(plans).map(kernel).collect();
        Emulation { host, pool, kernels }
    }
}

/// An emulated device as a backend: further kernels are compiled on demand, over the same memory.
struct EmulatedBackend {
    pool: Arc<DevicePool>,
    options: EmulationOptions,
}

impl fmt::Debug for EmulatedBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmulatedBackend")
    }
}

impl Backend for EmulatedBackend {
    fn name(&self) -> Cow<'static, str> {
        "emulated".into()
    }

    fn compile(&self, drafts: &[&Draft]) -> Result<Vec<Box<dyn Code>>, redpoll_kernels::Error> {
        let code = |draft: &&Draft| {
            let plan = GridPlan::of(draft, self.options.team_size);
            let grids: Vec<Grid> = plan.grids().cloned().collect();
            let host = Host::of(&grids, self.options.edit);
            Ok(Box::new(emulated_grids(plan, (&host, &self.pool), &mut 0, self.options)) as Box<dyn Code>)
        };
        drafts.iter().map(code).collect()
    }
}

/// Returns the grids of a plan. Their code in the library of the device begins at entry `number`.
fn emulated_grids(
    plan: GridPlan,
    (host, pool): (&Arc<Host>, &Arc<DevicePool>),
    number: &mut usize,
    options: EmulationOptions,
) -> Grids {
    let backend = Arc::new(EmulatedBackend { pool: pool.clone(), options });
    let grids = Grids::new(plan, backend, |grid| {
        let share = (options.share)(*number);
        let emulated = on_device(host, pool, (*number, grid), (2, share));
        *number += 1;
        Ok::<_, Infallible>(Box::new(emulated) as Box<dyn GridRunner>)
    });
    let Ok(grids) = grids;
    grids
}

/// Returns the runner of a grid for `teams` teams, each with `share` bytes of block memory.
pub(super) fn on_device(
    host: &Arc<Host>,
    pool: &Arc<DevicePool>,
    (number, grid): (usize, Grid),
    (teams, share): (usize, usize),
) -> DeviceRunner {
    let entry = Box::new(EmulatedKernel { host: host.clone(), number });
    DeviceRunner { pool: pool.clone(), entry, grid, teams, share }
}

/// Random functions agree with the interpreter of grids, in teams of several sizes.
#[test]
fn random_functions_agree_on_the_host() {
    let space = |role: BufferRole| if role == BufferRole::Input { MemorySpace::Input } else { MemorySpace::Chunk };
    let functions = random_functions(30);
    let grids: Vec<Grid> = functions
        .iter()
        .zip([1, 4, 32, 64, 256].into_iter().cycle())
        .map(|(f, lanes)| map_to(f, f.buffers.iter().map(|b| space(b.role)).collect(), lanes, &Walks::none()))
        .collect();
    let inputs: Vec<Vec<ArrowBuffer>> = functions.iter().map(inputs).collect();
    check_grids(&grids, &inputs, (&[-3], 2..9));
}

/// Asserts that grids over inputs give the bits of the interpreter, in one chunk of one team.
fn check_grids(grids: &[Grid], inputs: &[Vec<ArrowBuffer>], (params, chunk): (&[i64], Range<i64>)) {
    let host = Host::of(grids, |text| text);
    let pool = DevicePool::of(host.clone(), usize::MAX);
    for (number, (grid, inputs)) in grids.iter().zip(inputs).enumerate() {
        let program = GridProgram::new(grid.clone()).unwrap();
        let emulated = on_device(&host, &pool, (number, grid.clone()), (1, 0));
        let (function, signature) = (&grid.function, Signature::of(&grid.function));
        let inputs = Invocation::new(&signature, inputs.clone(), params.to_vec(), Limits::default()).unwrap();
        // If the capacity is too small, both runners report that.
        for capacity in [4, 1024] {
            let extent = |space: &MemorySpace| match space {
                MemorySpace::Input => vec![],
                _ => vec![WindowExtent { first: 0, len: 0, capacity }],
            };
            let windows = grid.spaces.iter().map(extent).collect();
            let chunks: Vec<_> = std::iter::once(chunk.clone()).collect();
            let launch =
                Launch { inputs: &inputs, chunks: &chunks, sections: &[], windows, unfilled: &[], teams: 1, seed: 0 };
            let [expected, found] = [program.run(&launch).unwrap(), emulated.run(&launch).unwrap()];
            assert_eq!(found.outcome, expected.outcome, "{grid}");
            if expected.outcome == LaunchOutcome::OutOfCapacity {
                continue;
            }
            for (k, (expected, found)) in expected.windows.iter().zip(&found.windows).enumerate() {
                let decl = &function.buffers[k];
                let found = emulated.elements(decl, found).unwrap();
                for (expected, found) in expected.iter().zip(&found) {
                    let values =
                        |bits: &[u64]| bits.iter().map(|b| Scalar::from_bits(decl.prim, *b)).collect::<Vec<_>>();
                    let [expected, found] = [values(expected.elements()), values(found)];
                    assert_eq!(found, expected, "{}\n{grid}", decl.name);
                }
            }
        }
    }
}

/// Folds with several numbers of lanes combine the lanes in the order of the interpreter, in teams
/// of several sizes; otherwise rounded sums would differ.
#[test]
fn folds_agree_in_teams_of_any_size() {
    let mut grids = Vec::new();
    for lanes in [2, 16, 64, 256, 512] {
        let function = function(&DOT.replace("lanes 8", &format!("lanes {lanes}")));
        let spaces = [MemorySpace::Input, MemorySpace::Input, MemorySpace::Chunk];
        grids.extend([1, 4, 32, 64, 256].map(|team| map_to(&function, spaces.to_vec(), team, &Walks::none())));
    }
    let numbers = |by: f64| ArrowBuffer::from_vec((0..700).map(|k| by / f64::from(k + 1)).collect::<Vec<f64>>());
    let inputs = vec![vec![numbers(1.0), numbers(0.7)]; grids.len()];
    check_grids(&grids, &inputs, (&[], 0..700));
}

/// Programs that use barriers, sorts and block memory give the bits of the interpreter if teams are
/// blocks.
#[test]
fn programs_agree_in_blocks() {
    let drafts: Vec<_> = PROGRAMS.iter().map(|text| draft(normal_form(text))).collect();
    for lanes in [64, 256] {
        check_with_options(
            &drafts,
            EmulationOptions { team_size: TeamSize::Exact(lanes), ..EmulationOptions::default() },
        );
    }
}

/// The product of two sparse vectors. Lanes search the list of one vector for the coordinates of
/// the other vector.
pub(super) const DOT_OF_LISTS: &str =
    "(program (input x (type (shape 6000) f64 0.0 csf)) (input y (type (shape 6000) f64 0.0 csf))
    (output s (type (shape) f64 0.0 dense)) (for i (+= (s) (* (x i) (y i)))))";

/// Programs whose teams are blocks, each with the number of lanes of a team. They compute, in this
/// order: a dense fold, a fold along lists, two folds with different numbers of lanes, a fold over
/// the rounds of chunks, and two intersections.
pub(super) const LONG: &[(&str, u32)] = &[
    (
        "(program (input A (type (shape 3 2100) f64 0.0 dense)) (input x (type (shape 2100) f64 0.0 dense))
           (output y (type (shape 3) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))",
        256,
    ),
    (
        "(program (input A (type (shape 3 2000) f64 0.0 csr)) (input x (type (shape 2000) f64 0.0 dense))
           (output y (type (shape 3) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))",
        64,
    ),
    (
        "(program (input A (type (shape 3 1200) i32 0 dense)) (input B (type (shape 3 20) i64 5 dense))
           (output y (type (shape 3) i32 0 dense)) (output z (type (shape 3) i64 5 dense))
           (for i (block (for j (+= (y i) (A i j))) (for k (min= (z i) (B i k))))))",
        128,
    ),
    (
        "(program (input x (type (shape 70000) f64 0.0 dense)) (input y (type (shape 70000) f64 0.0 dense))
           (output s (type (shape) f64 0.0 dense)) (for i (+= (s) (* (x i) (y i)))))",
        128,
    ),
    (
        "(program (input A (type (shape 3 2000) f64 0.0 csr)) (input B (type (shape 3 2000) f64 0.0 csr))
           (output y (type (shape 3) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (B i j))))))",
        64,
    ),
    (DOT_OF_LISTS, 256),
];

/// The lengths of folds determine the size of teams; each size gives the bits of the interpreter.
#[test]
fn long_folds_agree_in_blocks() {
    let drafts: Vec<_> = LONG.iter().map(|(text, _)| draft(normal_form(text))).collect();
    for ((draft, _), (text, lanes)) in drafts.iter().zip(LONG) {
        assert_eq!(GridPlan::of(draft, TeamSize::Automatic).run.lanes, *lanes, "{text}");
    }
    check_drafts(&drafts);
}

/// If the lanes of a block search lists, programs give the bits of the interpreter.
#[test]
fn intersections_agree_in_blocks() {
    let drafts: Vec<_> = skewed::INTERSECTIONS.iter().map(|text| skewed::draft(text)).collect();
    for lanes in [64, 256] {
        check_with_options(
            &drafts,
            EmulationOptions { team_size: TeamSize::Exact(lanes), ..EmulationOptions::default() },
        );
    }
}

/// Walks combine the folds of lanes in the order of the interpreter of grids, in teams of several
/// sizes; otherwise rounded sums would differ.
#[test]
fn walks_agree_in_teams_of_any_size() {
    let (draft, inputs) = draft(normal_form(DOT_OF_LISTS));
    let reciprocals = |tensor: &Tensor| {
        let values = (0..).map(|k| 1.0 / f64::from(k + 1)).zip(tensor.to_dense_scalars().unwrap());
        let values = values.map(|(by, v)| if v == Scalar::F64(0.0) { 0.0 } else { by }).collect::<Vec<f64>>();
        let dense = TensorType { format: Format::dense(1), ..(**tensor.ty()).clone() };
        convert(&Tensor::from_dense(dense, &Values::from(values)).unwrap(), &tensor.ty().format).unwrap()
    };
    let inputs: Vec<Tensor> = inputs.iter().map(reciprocals).collect();
    let sum = |kernel: &Kernel| {
        let outputs = kernel.run(&inputs.iter().collect::<Vec<_>>(), &Limits::default()).unwrap().outputs;
        outputs[0].fetch().unwrap();
        outputs[0].to_dense_scalars().unwrap()
    };
    let mut sums = Vec::new();
    for lanes in [4, 32, 64, 256] {
        let options = EmulationOptions { team_size: TeamSize::Exact(lanes), ..EmulationOptions::default() };
        let emulated = &Emulation::with_options([&draft].into_iter(), usize::MAX, options).kernels[0];
        let found = sum(emulated);
        assert_eq!(found, sum(&Kernel::compile(&draft, &grid_interpreter_in_teams(lanes)).unwrap()), "{lanes}");
        sums.push(found);
    }
    assert!(sums.windows(2).any(|two| two[0] != two[1]), "no sum is rounded: {sums:?}");
}

/// If one lane is cancelled, all lanes of its team leave together, across warps.
#[test]
fn lanes_of_any_team_leave_together() {
    let (draft, inputs) = draft(normal_form(DOT_OF_LISTS));
    fn cancelled_in(text: &str, lane: u32) -> String {
        let poll = "++own_rounds % RP_ROUNDS == 0 && *launch.cancel != 0";
        assert!(text.contains(poll));
        text.replace(poll, &format!("++own_rounds % 8 == 0 && lane == {lane}"))
    }
    let cases: [(u32, TextEdit); 4] = [
        (4, |text| cancelled_in(&text, 3)),
        (32, |text| cancelled_in(&text, 31)),
        (64, |text| cancelled_in(&text, 63)),
        (256, |text| cancelled_in(&text, 100)),
    ];
    for (lanes, edit) in cases {
        let options = EmulationOptions { team_size: TeamSize::Exact(lanes), edit, ..EmulationOptions::default() };
        let kernel = &Emulation::with_options([&draft].into_iter(), usize::MAX, options).kernels[0];
        let error = kernel.run(&inputs.iter().collect::<Vec<_>>(), &Limits::default()).unwrap_err();
        assert!(matches!(error, redpoll_kernels::Error::KernelStopped(Status::Cancelled)), "{lanes}: {error}");
    }
}

/// Returns an input of a program with some data.
pub(super) fn tensor(ty: &Arc<TensorType>, number: usize) -> Tensor {
    let elements: u64 = ty.shape.iter().product();
    let prim = ty.dtype.prim().unwrap();
    let value = |k: u64| match k * (7 + number as u64) % 5 {
        0..2 => Scalar::I64((k % 7) as i64 + 1).cast(prim).unwrap(),
        _ => ty.fill.clone(),
    };
    let values: Vec<Scalar> = (0..elements).map(value).collect();
    let values = Values::from_scalars(ty.dtype.clone(), &values).unwrap();
    let dense = TensorType { format: Format::dense(ty.shape.len()), ..(**ty).clone() };
    convert(&Tensor::from_dense(dense, &values).unwrap(), &ty.format).unwrap()
}

/// Whole programs, with windows, counts and gathered arrays, give the bits of the interpreter.
#[test]
fn programs_agree_on_the_host() {
    check(PROGRAMS.iter().map(|text| normal_form(text)));
}

/// Rounds that are cut into sections, and lists that lanes share, give the bits of the interpreter.
#[test]
fn rounds_in_sections_agree_on_the_host() {
    check_drafts(&skewed::PROGRAMS.iter().map(|text| skewed::draft(text)).collect::<Vec<_>>());
}

/// Searches by lanes, and folds in these searches, give the bits of the interpreter.
#[test]
fn intersections_agree_on_the_host() {
    check_drafts(&skewed::INTERSECTIONS.iter().map(|text| skewed::draft(text)).collect::<Vec<_>>());
}

/// Programs give the interpreter's bits if the first input has any concordant, unsplit format. Each
/// format is tested with one program, and every general level kind occurs inside every other.
#[test]
fn inputs_of_all_formats_agree_on_the_host() {
    let programs = [
        "(program (input A (type (shape 5 7) f64 0.0 csr)) (input x (type (shape 7) f64 0.0 dense))
           (output y (type (shape 5) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))",
        "(program (input A (type (shape 5 7) i32 0 csr)) (output C (type (shape 5 7) i32 0 csr))
           (for i (for j (init (C i j) (* (A i j) 3)))))",
        "(program (input A (type (shape 5 7) i64 0 csr)) (input B (type (shape 5 7) i64 0 dcsr))
           (output s (type (shape 7) i64 0 dense)) (for i (for j (+= (s j) (* (A i j) (B i j))))))",
    ];
    let formats = concordant_formats_of_rank(2).into_iter().zip(programs.into_iter().cycle());
    check(formats.map(|(format, text)| {
        let mut program = notation::parse(text).unwrap();
        let decl = &mut program.tensors[0];
        decl.ty = Arc::new(TensorType { format, ..(*decl.ty).clone() });
        notation::normalize(program).unwrap()
    }));
}

/// Asserts that programs in normal form give the bits of the interpreter.
fn check(programs: impl Iterator<Item = notation::Program>) {
    check_drafts(&programs.map(draft).collect::<Vec<_>>());
}

/// Returns the draft of a program in normal form over inputs with some data.
pub(super) fn draft(program: notation::Program) -> (Draft, Vec<Tensor>) {
    let program = Arc::new(program);
    let inputs = program.tensors.iter().filter(|t| t.role == Role::Input).enumerate();
    let tensors: Vec<Tensor> = inputs.map(|(number, decl)| tensor(&decl.ty, number)).collect();
    let layouts = InputLayout::of_inputs(&program, &tensors.iter().collect::<Vec<_>>());
    let lists = ListLengths::of(&program, &tensors.iter().map(Some).collect::<Vec<_>>());
    (Draft::new(&program, &layouts, FloatMode::default()).with_lists(lists), tensors)
}

/// Asserts that drafts over inputs give the bits of the interpreter.
fn check_drafts(drafts: &[(Draft, Vec<Tensor>)]) {
    check_with_options(drafts, EmulationOptions::default());
}

/// Asserts that drafts over inputs, emulated with the options, give the bits of the interpreter.
pub(super) fn check_with_options(drafts: &[(Draft, Vec<Tensor>)], options: EmulationOptions) {
    let Emulation { kernels, .. } = Emulation::with_options(drafts.iter().map(|(draft, _)| draft), usize::MAX, options);
    for ((draft, tensors), emulated) in drafts.iter().zip(kernels) {
        let interpreted = Kernel::compile(draft, &backend::interpreter()).unwrap();
        let inputs: Vec<&Tensor> = tensors.iter().collect();
        for limits in [Limits::default(), Limits::default().with_workers(&CUTTING)] {
            let text = || format!("{}\n{}", notation::print(draft.program()), draft.function());
            let run =
                |kernel: &Kernel| kernel.run(&inputs, &limits).unwrap_or_else(|e| panic!("{e}\n{}", text())).outputs;
            for (expected, found) in run(&interpreted).iter().zip(&run(&emulated)) {
                found.fetch().unwrap();
                let arrays = |t: &Tensor| t.arrays().map(|a| (0..a.len()).map(|k| a.scalar(k)).collect()).collect();
                let [expected, found]: [Vec<Vec<Scalar>>; 2] = [arrays(expected), arrays(found)];
                assert_eq!(found, expected, "{}", text());
            }
        }
    }
}

/// Workers that cut loops wherever they can be cut.
pub(super) static CUTTING: LazyLock<Arc<Workers>> =
    LazyLock::new(|| Arc::new(Workers::new(NonZero::new(2).expect("not 0")).without_grain()));
