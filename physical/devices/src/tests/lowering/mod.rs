//! Tests that the interpreter of Assembly, the instant tier and the interpreter of grids agree with
//! the interpreter of Notation. The programs run in random formats of their inputs and outputs, on
//! random data.

pub(crate) mod appends;
mod bounds;
mod faults;
mod levels;
mod patterns;
mod programs;
mod schedules;
mod swaps;
mod unfilled;
mod writes;

use crate::launch::{grid_interpreter, grid_interpreter_in_teams};
use redpoll_compiler::lower::{Draft, InputLayout, ListLengths, LoweringOptions};
use redpoll_compiler::notation::{
    DenseValues, Program, Role, TensorId, cut, dense_values, normalize, parse, print, run,
};
use redpoll_kernels::backend::{self, Backend};
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::{Limits, Workers};
use redpoll_logic::{FloatMode, Format, Scalar, TensorType};
use redpoll_storage::testing::concordant_formats_of_rank;
use redpoll_storage::{Tensor, Values};
use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Arc, LazyLock};

/// A small generator of pseudo-random numbers (splitmix64).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Returns the formats in which a tensor is tested.
fn formats(ty: &TensorType, role: Role) -> Vec<Format> {
    let plain = ty.format.modes.iter().enumerate().all(|(k, m)| *m == redpoll_logic::StorageMode::Whole { mode: k });
    let single = ty.format.levels.iter().any(|l| l.kind.traits().single);
    if !plain || single || role == Role::Local || ty.shape.is_empty() {
        return vec![ty.format.clone()];
    }
    let random = |f: &Format| f.levels.iter().all(|l| l.kind.traits().writes.is_random());
    let dense = ty.format == Format::dense(ty.shape.len());
    let mut all = concordant_formats_of_rank(ty.shape.len());
    // An output whose format takes random writes may be written out of order, so it gets only such
    // formats.
    if role == Role::Output && (dense || random(&ty.format)) {
        all.retain(random);
    }
    all
}

/// Returns random data of a type: fill values and small integers, in a random proportion.
fn data(ty: &TensorType, rng: &mut Rng) -> DenseValues {
    let density = [0, 2, 5, 10][rng.below(4)];
    dense_values(ty, &mut |_| {
        if rng.below(10) >= density {
            return ty.fill.clone();
        }
        let prim = ty.dtype.prim().expect("inputs are primitives");
        Scalar::I64(rng.below(5) as i64 - if prim.is_signed() { 2 } else { 0 }).cast(prim).expect("a primitive")
    })
}

fn tensor(ty: &Arc<TensorType>, contents: &DenseValues) -> Tensor {
    let row_major = Arc::new(TensorType { format: Format::dense(ty.shape.len()), ..(**ty).clone() });
    let mut values = Vec::new();
    let count: u64 = ty.shape.iter().product();
    for k in 0..count {
        let mut rest = k;
        let mut at: Vec<u64> = ty.shape.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
        at.reverse();
        values.push(contents[redpoll_compiler::notation::value_index(ty, &at)].clone());
    }
    let values = Values::from_scalars(ty.dtype.clone(), &values).expect("the values have the dtype");
    let dense = Tensor::from_dense(row_major, &values).expect("there is a value for each element");
    redpoll_storage::convert(&dense, &ty.format).expect("every format converts")
}

/// The backend that runs a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TestRunner {
    /// The interpreter of Assembly.
    Interpreter,
    /// The instant tier.
    Instant,
    /// The interpreter of grids.
    Grid,
    /// The interpreter of grids, with teams of this many lanes.
    Teams(u32),
}

impl TestRunner {
    fn backend(self) -> Arc<dyn Backend> {
        match self {
            TestRunner::Interpreter => backend::interpreter(),
            TestRunner::Instant => backend::instant(),
            TestRunner::Grid => grid_interpreter(),
            TestRunner::Teams(lanes) => grid_interpreter_in_teams(lanes),
        }
    }
}

const INTERPRETER: [TestRunner; 1] = [TestRunner::Interpreter];
const RUNNERS: [TestRunner; 3] = [TestRunner::Interpreter, TestRunner::Instant, TestRunner::Grid];
/// The interpreter of Assembly, and teams of every kind: one lane, a warp, blocks.
const TEAMS: [TestRunner; 5] = [
    TestRunner::Interpreter,
    TestRunner::Teams(1),
    TestRunner::Teams(32),
    TestRunner::Teams(64),
    TestRunner::Teams(256),
];

/// Checks the program in `cases` combinations of formats by three backends, and in its own formats
/// by teams of every kind.
fn check(text: &str, cases: usize) {
    compare_runners(text, cases, &RUNNERS)
        .and_then(|()| compare_runners(text, 1, &TEAMS))
        .unwrap_or_else(|message| panic!("{message}"));
}

/// Checks that backends agree with the interpreter of Notation in `cases` combinations of formats,
/// of which the first has the declared formats. The error describes the first difference or
/// failure.
fn compare_runners(text: &str, cases: usize, runners: &[TestRunner]) -> Result<(), String> {
    let mut rng = Rng(text.len() as u64);
    let parsed = parse(text).map_err(|e| format!("{e}\n{text}"))?;
    for case in 0..cases {
        let mut program = parsed.clone();
        if case > 0 {
            for decl in &mut program.tensors {
                let all = formats(&decl.ty, decl.role);
                let format = all[rng.below(all.len())].clone();
                decl.ty = Arc::new(TensorType { format, ..(*decl.ty).clone() });
            }
            patterns::share_formats(&mut program);
        }
        let program = Arc::new(normalize(program).map_err(|e| format!("{e}\n{text}"))?);
        compare_in_formats(&program, &program, &mut rng, runners)?;
    }
    Ok(())
}

/// Number of rounds after which a kernel is assumed not to terminate.
const ITERATION_LIMIT: u64 = 1_000_000;

/// Checks that a kernel cut into chunks computes the same bits on one thread and on several, and
/// returns these bits. They must equal the bits of a single call if the cut is exact; otherwise the
/// values must be equal up to the signs of zeros.
fn compare_in_chunks(kernel: &Kernel, inputs: &[&Tensor], single_call: &[Tensor]) -> Result<Vec<Vec<u8>>, String> {
    static WORKERS: LazyLock<[Arc<Workers>; 2]> =
        LazyLock::new(|| [1, 3].map(|n| Arc::new(Workers::new(NonZero::new(n).unwrap()).without_grain())));
    let run = |workers: &Arc<Workers>| {
        let outcome = kernel.run(inputs, &Limits::default().with_workers(workers));
        let outputs = outcome.map_err(|e| format!("in chunks: {e}"))?.outputs;
        outputs.iter().try_for_each(|t| t.validate().map_err(|e| format!("in chunks: {e}")))?;
        Ok::<_, String>(outputs)
    };
    let (alone, shared) = (run(&WORKERS[0])?, run(&WORKERS[1])?);
    let bits = |outputs: &[Tensor]| {
        let arrays = outputs.iter().flat_map(Tensor::arrays);
        arrays.map(|array| array.buffer().as_slice().to_vec()).collect::<Vec<_>>()
    };
    if bits(&alone) != bits(&shared) {
        return Err(format!("three threads compute {shared:?}, one thread {alone:?}"));
    }
    let exact = cut(kernel.program(), FloatMode::default()).is_ok_and(|cut| cut.exact);
    if exact && bits(single_call) != bits(&alone) {
        return Err(format!("chunks compute {alone:?}, a single call {single_call:?}; the bits must be equal"));
    }
    for (single_call, parts) in single_call.iter().zip(&alone) {
        let [single_call, parts] = [single_call, parts].map(|t| t.to_dense_scalars().unwrap());
        if !single_call.iter().zip(&parts).all(|(a, b)| is_equal(a, b)) {
            return Err(format!("chunks compute {parts:?}, a single call {single_call:?}"));
        }
    }
    Ok(bits(&alone))
}

/// Returns whether two scalars are equal or both zero.
fn is_equal(a: &Scalar, b: &Scalar) -> bool {
    a == b || a.to_f64() == Some(0.0) && b.to_f64() == Some(0.0)
}

/// Checks that kernels of a program compute what the interpreter of Notation computes for `oracle`
/// from the same inputs.
fn compare_in_formats(
    program: &Arc<Program>,
    oracle: &Program,
    rng: &mut Rng,
    runners: &[TestRunner],
) -> Result<(), String> {
    let mut contents = HashMap::new();
    let mut tensors = Vec::new();
    for (id, decl) in (0..).map(TensorId).zip(&program.tensors).filter(|(_, t)| t.role == Role::Input) {
        if let Some(blocks) = program.block_inputs.iter().find(|b| b.inputs().any(|t| t == id)) {
            let inputs = program.tensors[..blocks.of.index()].iter().filter(|t| t.role == Role::Input);
            let of: &Tensor = &tensors[inputs.count()];
            let bounds = of.block_bounds(&blocks.stored).unwrap();
            let bounds = if blocks.begins == id { bounds.begins } else { bounds.counts.unwrap() };
            contents.insert(decl.name.clone(), bounds.to_dense_scalars().unwrap());
            tensors.push(bounds);
            continue;
        }
        let values = data(&decl.ty, rng);
        tensors.push(tensor(&decl.ty, &values));
        contents.insert(decl.name.clone(), values);
    }
    let inputs: Vec<&Tensor> = tensors.iter().collect();
    let expected = run(oracle, &contents).map_err(|e| format!("{e}\n{}", print(oracle)))?;
    let layouts = InputLayout::of_inputs(program, &inputs);
    // In a third of the cases, rules that copy the bodies of loops are disabled.
    let copies = if rng.below(3) == 0 { 0 } else { LoweringOptions::default().max_copies };
    let options = LoweringOptions { max_copies: copies, ..LoweringOptions::default() };
    let mut in_chunks: Option<Vec<Vec<u8>>> = None;
    let draft = Draft::with_options(program, &layouts, options);
    // Over lists marked as long, lanes share the work where they can, which changes the order in
    // which floats are added.
    let long = draft.clone().with_lists(ListLengths::all(program, 8.0));
    let grids = runners.iter().filter(|runner| matches!(runner, TestRunner::Grid | TestRunner::Teams(_)));
    let drafts = runners.iter().map(|runner| (*runner, &draft)).chain(grids.map(|runner| (*runner, &long)));
    for (runner, draft) in drafts {
        let fail = |what: String, kernel: Option<&Kernel>| {
            let code = kernel.map(|k| k.function().to_string()).unwrap_or_default();
            format!("{runner:?}: {what} on {contents:?}\n{}\n{code}", print(program))
        };
        let kernel = Kernel::compile(draft, &runner.backend());
        let kernel = kernel.map_err(|e| fail(e.to_string(), None))?.with_iteration_limit(ITERATION_LIMIT);
        let outcome = kernel.run(&inputs, &Limits::default()).map_err(|e| fail(e.to_string(), Some(&kernel)))?;
        let outputs = program.tensors.iter().filter(|t| t.role == Role::Output);
        for (decl, output) in outputs.zip(&outcome.outputs) {
            output.validate().map_err(|e| fail(e.to_string(), Some(&kernel)))?;
            patterns::are_shared(decl, output, &inputs).map_err(|e| fail(e, Some(&kernel)))?;
            let expected = tensor(&decl.ty, &expected[&decl.name]).to_dense_scalars().unwrap();
            let found = output.to_dense_scalars().unwrap();
            if !expected.iter().zip(&found).all(|(a, b)| is_equal(a, b)) {
                let what = format!("`{}` expected {expected:?}, found {found:?}", decl.name);
                return Err(fail(what, Some(&kernel)));
            }
        }
        let bits = compare_in_chunks(&kernel, &inputs, &outcome.outputs).map_err(|what| fail(what, Some(&kernel)))?;
        if draft.lists().is_none() && *in_chunks.get_or_insert_with(|| bits.clone()) != bits {
            return Err(fail(
                "the bits computed in chunks differ from those of the first runner".into(),
                Some(&kernel),
            ));
        }
    }
    Ok(())
}
