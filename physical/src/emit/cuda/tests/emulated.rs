//! Generated text runs: compiled as C++ for the host, with a thread for each lane, it gives the bits of the other engines.
//!
//! What a device does otherwise (its memory model, its scheduling) is not seen here.

use super::PROGRAMS;
use crate::Error;
use crate::assembly::BufferRole;
use crate::emit::cuda::launch::{Address, Argument, Device, run};
use crate::emit::cuda::uploads::Uploads;
use crate::emit::cuda::{emit, entry_name};
use crate::emit::tests::random::{inputs, random_functions};
use crate::grid::{End, Extent, Grid, Lanes, Launch, Launched, Lists, Place, Program, Runner, map_to};
use crate::kernel::{Draft, Engine, Grids, Kernel};
use crate::notation::{self, Role};
use crate::run::{Invocation, Limits, Signature, Workers};
use crate::storage::{Tensor, Values, convert};
use crate::testing::{concordant_formats_of_rank, normal_form, skewed};
use arrow::buffer::Buffer;
use libloading::Library;
use redpoll_logic::{FloatMode, Format, Scalar, TensorType};
use std::convert::Infallible;
use std::num::NonZero;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

/// What stands in front of units and behind them.
const HOST: &str = include_str!("emulated.cpp");

type Entry = unsafe extern "C" fn(Argument);
type Start = unsafe extern "C" fn(Entry, *const Argument, u32, u32);

/// A unit in this process. What it runs on is in variables of its own, so it runs one launch at a time.
struct Unit {
    library: Mutex<Library>,
    uploads: Uploads<Vec<u64>>,
}

impl Unit {
    /// Compiles grids for this machine.
    ///
    /// # Panics
    /// When there is no C++ compiler, or it does not take the text.
    fn of(grids: &[Grid]) -> Arc<Unit> {
        let text = format!("{HOST}\n{}", emit(&grids.iter().collect::<Vec<_>>()).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let [source, library] = ["unit.cpp", "unit.so"].map(|name| folder.path().join(name));
        std::fs::write(&source, &text).unwrap();
        let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
        let mut command = Command::new(compiler);
        // Floats as in `emit::cuda::OPTIONS`. What C++ leaves undefined, overflow of integers with a sign first of all, ends
        // the process.
        command.args(["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-pthread", "-ffp-contract=off"]);
        command.arg("-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow");
        command.args(["-fsanitize-undefined-trap-on-error", "-o"]);
        let output = command.arg(&library).arg(&source).output();
        let output = output.unwrap_or_else(|e| panic!("text of CUDA cannot be tested without a C++ compiler: {e}"));
        assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: nothing runs when the library is loaded but the constructor of an empty vector.
        let library = Mutex::new(unsafe { Library::new(&library) }.unwrap());
        Arc::new(Unit { library, uploads: Uploads::of_at_most(1 << 20) })
    }
}

/// A grid of a unit.
struct Emulated {
    unit: Arc<Unit>,
    number: usize,
    grid: Grid,
    teams: usize,
}

impl Runner for Emulated {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn teams(&self) -> usize {
        self.teams
    }

    fn run(&self, launch: &Launch<'_>) -> Result<Launched, Error> {
        run(&mut Host { of: self, memory: Vec::new(), inputs: Vec::new() }, &self.grid, launch)
    }
}

/// Memory of one launch.
struct Host<'a> {
    of: &'a Emulated,
    memory: Vec<Vec<u64>>,
    inputs: Vec<Arc<Vec<u64>>>,
}

/// Memory of so many bytes, and more.
fn words(bytes: usize) -> Vec<u64> {
    vec![0x5555_5555_5555_5555; bytes.div_ceil(8)]
}

fn bytes_of(words: &mut [u64], bytes: usize) -> &mut [u8] {
    assert!(bytes <= 8 * words.len());
    // SAFETY: the words are initialized, there are as many, and bytes have no alignment.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), bytes) }
}

impl Host<'_> {
    fn take(&mut self, bytes: usize) -> &mut [u8] {
        self.memory.push(words(bytes));
        bytes_of(self.memory.last_mut().unwrap(), bytes)
    }
}

impl Device for Host<'_> {
    fn upload(&mut self, bytes: &[u8]) -> Result<Address, Error> {
        let to = self.take(bytes.len());
        to.copy_from_slice(bytes);
        Ok(to.as_ptr() as Address)
    }

    fn input(&mut self, array: &Buffer) -> Result<Address, Error> {
        let put = |bytes: &[u8]| {
            let mut words = words(bytes.len());
            bytes_of(&mut words, bytes.len()).copy_from_slice(bytes);
            Ok(words)
        };
        let memory = self.of.unit.uploads.memory(array, put)?;
        let address = memory.as_ptr() as Address;
        self.inputs.push(memory);
        Ok(address)
    }

    fn filled(&mut self, elements: usize, size: usize, fill: u64) -> Result<Address, Error> {
        let to = self.take(elements * size);
        to.chunks_mut(size).for_each(|element| element.copy_from_slice(&fill.to_le_bytes()[..size]));
        Ok(to.as_ptr() as Address)
    }

    fn download(&self, from: Address, to: &mut [u8]) -> Result<(), Error> {
        // SAFETY: the memory was made by this host, which lives, and the kernel is at its end.
        unsafe { (from as *const u8).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn launch(&mut self, grid: &Grid, argument: &Argument, teams: usize) -> Result<(), Error> {
        let library = self.of.unit.library.lock().unwrap();
        // SAFETY: the text exports these functions of these types; the argument leads to memory of this host, and the
        // interpreters have run the same grid on the same launch without leaving its windows.
        unsafe {
            let entry = library.get::<Entry>(entry_name(self.of.number).as_bytes()).unwrap();
            let start = library.get::<Start>(b"emulated_launch").unwrap();
            // A block has threads beyond the last team.
            start(*entry, argument, grid.lanes, teams as u32 + 1);
        }
        Ok(())
    }
}

/// Protects every operator on every type, every statement, and folds in any number of lanes.
#[test]
fn random_functions_agree_on_the_host() {
    let place = |role: BufferRole| if role == BufferRole::Input { Place::Input } else { Place::Chunk };
    let functions = random_functions(30);
    let grids: Vec<Grid> = functions
        .iter()
        .zip([1, 4, 32].into_iter().cycle())
        .map(|(f, lanes)| map_to(f, f.buffers.iter().map(|b| place(b.role)).collect(), lanes))
        .collect();
    let unit = Unit::of(&grids);
    for (number, (function, grid)) in functions.iter().zip(&grids).enumerate() {
        let program = Program::new(grid.clone()).unwrap();
        let emulated = Emulated { unit: unit.clone(), number, grid: grid.clone(), teams: 1 };
        let signature = Signature::of(function);
        let inputs = Invocation::new(&signature, inputs(function), vec![-3], Limits::default()).unwrap();
        // Of a short room both say that it is too short.
        for room in [4, 1024] {
            let extent = |place: &Place| match place {
                Place::Input => vec![],
                _ => vec![Extent { first: 0, len: 0, room }],
            };
            let windows = grid.places.iter().map(extent).collect();
            let chunks: Vec<_> = std::iter::once(2..9).collect();
            let launch = Launch { inputs: &inputs, chunks: &chunks, sections: &[], windows, teams: 1, seed: 0 };
            let [expected, found] = [program.run(&launch).unwrap(), emulated.run(&launch).unwrap()];
            assert_eq!(found.end, expected.end, "{grid}");
            if expected.end == End::NoRoom {
                continue;
            }
            for (k, (expected, found)) in expected.windows.iter().zip(&found.windows).enumerate() {
                let decl = &function.buffers[k];
                for (expected, found) in expected.iter().zip(found) {
                    let values =
                        |bits: &[u64]| bits.iter().map(|b| Scalar::from_bits(decl.prim, *b)).collect::<Vec<_>>();
                    let [expected, found] = [expected, found].map(|w| values(w.elements()));
                    assert_eq!(found, expected, "{}\n{grid}", decl.name);
                }
            }
        }
    }
}

/// An input of a program with some data.
fn tensor(ty: &Arc<TensorType>, number: usize) -> Tensor {
    let places: u64 = ty.shape.iter().product();
    let prim = ty.dtype.prim().unwrap();
    let value = |k: u64| match k * (7 + number as u64) % 5 {
        0..2 => Scalar::I64((k % 7) as i64 + 1).cast(prim).unwrap(),
        _ => ty.fill.clone(),
    };
    let values: Vec<Scalar> = (0..places).map(value).collect();
    let values = Values::from_scalars(ty.dtype.clone(), &values).unwrap();
    let dense = TensorType { format: Format::dense(ty.shape.len()), ..(**ty).clone() };
    convert(&Tensor::from_dense(dense, &values).unwrap(), &ty.format).unwrap()
}

/// Protects windows, counts and what is made of them: programs as a whole, in many chunks and in one.
#[test]
fn programs_agree_on_the_host() {
    check(PROGRAMS.iter().map(|text| normal_form(text)));
}

/// Protects rounds that are cut into sections, whose partial results are folded, and lists that teams of any size share.
#[test]
fn rounds_in_sections_agree_on_the_host() {
    agree(&skewed::PROGRAMS.iter().map(|text| skewed::draft(text)).collect::<Vec<_>>());
}

/// Protects the code of every level below every other.
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
    let draft = |program: notation::Program| {
        let program = Arc::new(program);
        let inputs = program.tensors.iter().filter(|t| t.role == Role::Input).enumerate();
        let tensors: Vec<Tensor> = inputs.map(|(number, decl)| tensor(&decl.ty, number)).collect();
        let layouts = Kernel::layouts(&program, &tensors.iter().collect::<Vec<_>>());
        let lists = Lists::of(&program, &tensors.iter().map(Some).collect::<Vec<_>>());
        (Draft::new(&program, &layouts, FloatMode::default()).over(lists), tensors)
    };
    agree(&programs.map(draft).collect::<Vec<_>>());
}

/// Asserts that drafts over inputs give the bits of the interpreter.
fn agree(drafts: &[(Draft, Vec<Tensor>)]) {
    let plans: Vec<_> = drafts.iter().map(|(draft, _)| draft.grids(Lanes::AsUseful)).collect();
    let grids: Vec<Grid> = plans.iter().flat_map(|p| p.count.iter().chain([&p.run])).cloned().collect();
    let unit = Unit::of(&grids);
    let mut number = 0;
    for ((draft, tensors), plan) in drafts.iter().zip(plans) {
        let grids = Grids::new(plan, |grid| {
            number += 1;
            let emulated = Emulated { unit: unit.clone(), number: number - 1, grid, teams: 2 };
            Ok::<_, Infallible>(Box::new(emulated) as Box<dyn Runner>)
        });
        let Ok(grids) = grids;
        let emulated = Kernel::on_grids(draft, grids);
        let interpreted = Kernel::of(draft, Engine::Interpreter).unwrap();
        let inputs: Vec<&Tensor> = tensors.iter().collect();
        for limits in [Limits::default(), Limits::default().on(&CUTTING)] {
            let text = || format!("{}\n{}", notation::print(draft.program()), draft.function());
            let run =
                |kernel: &Kernel| kernel.run(&inputs, &limits).unwrap_or_else(|e| panic!("{e}\n{}", text())).outputs;
            for (expected, found) in run(&interpreted).iter().zip(&run(&emulated)) {
                let arrays = |t: &Tensor| t.arrays().map(|a| (0..a.len()).map(|k| a.scalar(k)).collect()).collect();
                let [expected, found]: [Vec<Vec<Scalar>>; 2] = [arrays(expected), arrays(found)];
                assert_eq!(found, expected, "{}", text());
            }
        }
    }
}

/// Workers that cut loops wherever they can be cut.
static CUTTING: LazyLock<Arc<Workers>> =
    LazyLock::new(|| Arc::new(Workers::new(NonZero::new(2).expect("not 0")).cutting_all()));
