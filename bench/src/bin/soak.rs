//! Everything random for a given time: plans and programs through every engine, and mutated files of every format.
//!
//! ```text
//! cargo run --release -p redpoll-bench --bin soak -- --minutes 60 [--first SEED] [--only plans|programs|files]
//! ```
//! Counts are printed at the end, and each failure with its seed as a small text that stands by itself. The status is 1
//! when something failed. A seed gives the same case on every machine.
#![allow(clippy::print_stdout, reason = "the report is what the binary is for")]

use anyhow::Result;
use clap::{Parser, ValueEnum};
use redpoll::datasets::{Content, read_bytes, write_bytes};
use redpoll::logic::testing::Data;
use redpoll::logic::{DType, FloatMode, Format, Prim, Scalar, TensorType};
use redpoll::physical::storage::{Tensor, Values};
use redpoll_testing::engines::Failure;
use redpoll_testing::optimizing::{self, Taken};
use redpoll_testing::programs::{self, Config, random_case, redraw_formats};
use redpoll_testing::random::{self, Flavour};
use redpoll_testing::rng::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Cases whose kernels the C compiler gets at once.
const BLOCK: u64 = 32;
/// Of so many blocks one goes through the optimizing tier.
const OPTIMIZED: u64 = 8;
/// Failures of a kind that are shown in full.
const SHOWN: usize = 10;

#[derive(Parser)]
struct Arguments {
    /// For how long.
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// The first seed.
    #[arg(long, default_value_t = 1_000_000)]
    first: u64,
    /// One kind of cases alone.
    #[arg(long)]
    only: Option<Kind>,
}

/// A kind of random cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Kind {
    Plans,
    Programs,
    Files,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Plans, Kind::Programs, Kind::Files];

    fn run(self, seed: u64) -> Verdict {
        match self {
            Kind::Plans => plan(seed),
            Kind::Programs => program(seed),
            Kind::Files => file(seed),
        }
    }
}

/// How a case went.
enum Verdict {
    Sound,
    /// It is refused, or not defined.
    Passed,
    /// A text that shows what is wrong.
    Wrong(String),
}

#[derive(Default)]
struct Tally {
    sound: u64,
    passed: u64,
    kernels: u64,
    wrong: Vec<(Option<u64>, String)>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let kinds: Vec<Kind> = arguments.only.map_or_else(|| Kind::ALL.to_vec(), |kind| vec![kind]);
    let end = Instant::now() + Duration::from_secs_f64(60.0 * arguments.minutes);
    std::panic::set_hook(Box::new(|_| {}));
    let tallies: Vec<Mutex<Tally>> = kinds.iter().map(|_| Mutex::new(Tally::default())).collect();
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while Instant::now() < end {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let turn = number as usize % kinds.len();
                    let block = number / kinds.len() as u64;
                    run_block(kinds[turn], arguments.first, block, &tallies[turn]);
                }
            });
        }
    });
    let blocks = next.into_inner() / kinds.len() as u64;
    println!("seeds {}..{}", arguments.first, arguments.first + blocks * BLOCK);
    let mut failed = false;
    for (kind, tally) in kinds.iter().zip(tallies) {
        let tally = tally.into_inner().expect("no thread has panicked");
        failed |= !tally.wrong.is_empty();
        report(*kind, &tally);
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn report(kind: Kind, tally: &Tally) {
    let Tally { sound, passed, kernels, wrong } = tally;
    let wrongs = wrong.len();
    println!("{kind:?}: {sound} sound, {passed} refused or undefined, {kernels} kernels by the C tier, {wrongs} wrong");
    for (seed, text) in wrong.iter().take(SHOWN) {
        let seed = seed.map_or_else(|| "unknown".to_owned(), |seed| seed.to_string());
        println!("--- {kind:?}, seed {seed}\n{text}");
    }
}

fn run_block(kind: Kind, first: u64, block: u64, tally: &Mutex<Tally>) {
    let optimized = block.is_multiple_of(OPTIMIZED);
    for seed in (0..BLOCK).map(|k| first + block * BLOCK + k) {
        optimizing::take(if optimized { Taken::All(seed) } else { Taken::None });
        let verdict = catch_unwind(AssertUnwindSafe(|| kind.run(seed)));
        let mut tally = tally.lock().expect("no thread has panicked");
        match verdict {
            Ok(Verdict::Sound) => tally.sound += 1,
            Ok(Verdict::Passed) => tally.passed += 1,
            Ok(Verdict::Wrong(text)) => tally.wrong.push((Some(seed), text)),
            Err(_) => tally.wrong.push((Some(seed), "panic outside of a phase".to_owned())),
        }
    }
    let checked = optimizing::finish();
    let mut tally = tally.lock().expect("no thread has panicked");
    tally.kernels += checked.kernels;
    tally.wrong.extend(checked.failures);
}

fn plan(seed: u64) -> Verdict {
    let (data, mode) = match seed % 4 {
        0 => (Data::Exact, FloatMode::Relaxed),
        1 => (Data::General, FloatMode::Relaxed),
        2 => (Data::Special, FloatMode::Relaxed),
        _ => (Data::Special, FloatMode::StrictIeee),
    };
    let flavour = Flavour { data, mode, depth: 2 + (seed / 4 % 3) as usize, queries: 1 + (seed / 12 % 3) as usize };
    let (_, case) = random::case(seed, flavour);
    match random::run(seed, &case, |_| {}) {
        random::Outcome::Done(_) => Verdict::Sound,
        random::Outcome::Refused => Verdict::Passed,
        random::Outcome::Failed(failure) => {
            optimizing::take(Taken::None);
            let (case, failure) = random::smallest_failure(seed, case, failure.phase);
            Verdict::Wrong(format!("{mode:?}\n{}\n{}: {}", case.plan, failure.phase, failure.what))
        }
    }
}

fn program(seed: u64) -> Verdict {
    let case = random_case(seed, &Config::default());
    let case = if seed.is_multiple_of(2) { case } else { redraw_formats(seed, &case) };
    match programs::run(&case) {
        programs::Outcome::Done(_) => Verdict::Sound,
        programs::Outcome::Refused(_) | programs::Outcome::Undefined(_) => Verdict::Passed,
        programs::Outcome::Failed(failure) => {
            optimizing::take(Taken::None);
            let Failure { phase, what } = failure;
            let (case, failure) = programs::smallest_failure(&case, Failure { phase, what });
            Verdict::Wrong(format!("{case}{}: {}", failure.phase, failure.what))
        }
    }
}

/// The extensions of what can be written.
const EXTENSIONS: [&str; 10] = ["mtx", "tns", "csv", "tsv", "npy", "npz", "mtx.gz", "tns.zst", "npy.gz", "csv.zst"];

/// A file that was written and damaged; reading it is an error or not, but nothing worse.
fn file(seed: u64) -> Verdict {
    let mut rng = Rng::new(seed ^ 0xf11e);
    let shape = vec![1 + rng.below(6), 1 + rng.below(6)];
    let prim = *rng.pick(&[Prim::F64, Prim::I64, Prim::F32, Prim::I32]);
    let fill = Scalar::zero(prim);
    let values: Vec<Scalar> = (0..shape.iter().product())
        .map(|_| Scalar::I64(rng.below(5) as i64 - 1).cast(prim).expect("a primitive"))
        .collect();
    let format = if rng.chance(50) { Format::csr() } else { Format::coo(2) };
    let ty = TensorType { shape, dtype: DType::Prim(prim), fill, format };
    let values = Values::from_scalars(ty.dtype.clone(), &values).expect("values of the dtype");
    let tensor = Tensor::from_dense(ty, &values).expect("a matrix");
    let name = format!("a.{}", rng.pick(&EXTENSIONS));
    let written = Content::of_tensor(&name, &tensor).and_then(|c| write_bytes(&name, &c, &Default::default()));
    let Ok(bytes) = written else { return Verdict::Passed };
    let bytes = mutated(&mut rng, bytes);
    let read = || -> Option<()> {
        let loaded = read_bytes(&name, &bytes, &Default::default()).ok()?;
        let places = loaded.info.shape.iter().try_fold(1u64, |n, m| n.checked_mul(*m))?;
        if places < 1 << 20 {
            let (tensor, _) = loaded.into_tensor(None).ok()?;
            tensor.validate().expect("what was read is valid");
        }
        Some(())
    };
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(_) => Verdict::Sound,
        Err(_) => Verdict::Wrong(format!("reading {name} panics: {bytes:?}")),
    }
}

/// Bytes with some of them changed, left out, doubled or added.
fn mutated(rng: &mut Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.index(bytes.len());
        let end = (at + 1 + rng.index(8)).min(bytes.len());
        match rng.below(6) {
            0 => bytes[at] = rng.bits() as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 => bytes.truncate(at),
            _ => {
                let words: [&[u8]; 8] = [b"-1", b"0", b"9223372036854775808", b"nan", b"\n", b" ", b"\"", b"1e400"];
                let word = *rng.pick(&words);
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
    bytes
}
