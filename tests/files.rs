//! Every plan file through every engine, over combinations of formats, sizes, data and float modes.
//!
//! A failure prints the plan, formats, sizes and seed of the first few cases. `cargo test --test
//! files NAME` runs one file again, with the same cases. The optimizing tier runs a sample of the
//! kernels of each file, since a C compiler takes longer than everything else. `REDPOLL_OPTIMIZED`
//! sets the number of cases of each file, from the first, whose kernels all run in this tier.

use libtest_mimic::{Arguments, Failed, Trial};
use redpoll_logic::{FloatMode, Format};
use redpoll_testing::data::Kind;
use redpoll_testing::engines::{Failure, Report, check};
use redpoll_testing::formats::combinations;
use redpoll_testing::optimizing::{self, Taken};
use redpoll_testing::program::{Choice, ProgramFile};
use redpoll_testing::rng;
use std::path::Path;

/// Number of random combinations of formats for one or two operands, in addition to the enumerated
/// pairs.
const DRAWN: usize = 100;
/// Number of random combinations of formats for more operands.
const DRAWN_OF_MANY: usize = 200;
/// Number of cases whose kernels are compiled together.
const TOGETHER: usize = 40;
/// Number of failures of a file that are shown in full.
const SHOWN: usize = 3;

fn main() {
    let arguments = Arguments::from_args();
    std::panic::set_hook(Box::new(|_| {}));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the folder of plans").map(|e| e.expect("a file").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "rp"));
    paths.sort();
    let trials = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("a plan");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Trial::test(name.clone(), move || check_file(&ProgramFile::parse(&name, &text)))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn check_file(file: &ProgramFile) -> Result<(), Failed> {
    let optimized = std::env::var("REDPOLL_OPTIMIZED")
        .map_or(0, |count| count.parse().expect("REDPOLL_OPTIMIZED is a number of cases of each file"));
    let (mut total, mut faulted, mut kernels) = (Report::default(), 0, 0);
    let (mut failures, mut shown) = (Vec::new(), Vec::new());
    let choices = choices(file);
    let mut fail = |choice: Option<&Choice>, phase: &str, what: &str| {
        if shown.len() < SHOWN {
            let case = choice.map_or_else(|| file.name.clone(), |choice| describe(file, choice));
            shown.push(format!("--- {case}\n{what}\n"));
        }
        failures.push(format!("{phase}: {}", what.lines().next().unwrap_or("")));
    };
    let mut finish = |fail: &mut dyn FnMut(Option<&Choice>, &str, &str)| {
        let checked = optimizing::finish();
        kernels += checked.kernels;
        for (case, what) in checked.failures {
            fail(case.map(|case| &choices[case as usize]), "optimizing tier", &what);
        }
    };
    for (case, choice) in choices.iter().enumerate() {
        if case <= optimized && (case == optimized || case % TOGETHER == 0) {
            finish(&mut fail);
        }
        optimizing::take(if case < optimized { Taken::All(case as u64) } else { Taken::Sample });
        match file.case(choice).map_err(|what| Failure { phase: "parse", what }).and_then(|case| check(&case)) {
            Ok(report) => {
                total.compared.equal += report.compared.equal;
                total.compared.skipped += report.compared.skipped;
                faulted += usize::from(report.faulted);
            }
            Err(failure) => fail(Some(choice), failure.phase, &failure.what),
        }
    }
    finish(&mut fail);
    let (cases, equal, skipped) = (choices.len(), total.compared.equal, total.compared.skipped);
    eprintln!(
        "{}: {cases} cases, {equal} values equal, {skipped} not determined, {faulted} plans fault; {kernels} kernels by \
         the optimizing tier",
        file.name
    );
    if failures.is_empty() {
        return Ok(());
    }
    let count = failures.len();
    failures.sort();
    failures.dedup();
    failures.truncate(20);
    Err(format!("{count} failures in {cases} cases:\n{}\n{}", failures.join("\n"), shown.join("\n")).into())
}

/// Returns the runs of a file: its own combinations of formats at all sizes in both float modes,
/// then the random combinations, each at one size.
fn choices(file: &ProgramFile) -> Vec<Choice> {
    let mut rng = rng::named(&file.name, 1);
    let mut choices = Vec::new();
    let kinds = [
        (Kind::Exact, FloatMode::Relaxed),
        (Kind::General, FloatMode::Relaxed),
        (Kind::Exact, FloatMode::StrictIeee),
        (Kind::Special, FloatMode::StrictIeee),
    ];
    let mut add = |formats: Vec<Format>, size: usize, (kind, mode): (Kind, FloatMode), seed: u64| {
        choices.push(Choice { size, formats, kind, mode, seed });
    };
    for formats in &file.formats {
        for size in 0..file.sizes.len() {
            kinds.iter().for_each(|kind| add(formats.clone(), size, *kind, rng.bits()));
        }
    }
    let ranks = file.ranks();
    for formats in combinations(&mut rng, &ranks, if ranks.len() > 2 { DRAWN_OF_MANY } else { DRAWN }) {
        let size = if rng.chance(70) { 0 } else { rng.index(file.sizes.len()) };
        let kind = *rng.pick(&[kinds[0], kinds[0], kinds[1], kinds[2], kinds[3]]);
        add(formats, size, kind, rng.bits());
    }
    choices
}

fn describe(file: &ProgramFile, choice: &Choice) -> String {
    let format = |f: &Format| redpoll_logic::text::format_to_sexpr(f).to_string();
    let inputs = file.inputs.iter().zip(&choice.formats).map(|(i, f)| {
        let shape = file.shape(i, choice.size);
        format!("{} {shape:?} fill {} {}", i.name, i.fill, format(f))
    });
    let (kind, mode, seed) = (choice.kind, choice.mode, choice.seed);
    format!("{}, {kind:?} data, {mode:?}, seed {seed}\n{}", file.name, inputs.collect::<Vec<_>>().join("\n"))
}
