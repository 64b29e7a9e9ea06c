//! Runs every plan file in every engine, with combinations of formats, sizes, data and float modes.
//!
//! A failure prints the plan, formats, sizes and seed of the first few failing cases. `cargo test
//! --test files NAME` runs one file again, with the same cases. The optimizing tier runs a sample
//! of the kernels of each file, since a C compiler takes longer than everything else. With
//! `REDPOLL_OPTIMIZED=N`, all kernels of the first N cases of each file run in this tier, except
//! long kernels. `REDPOLL_COMBINATIONS` sets the number of random combinations of formats.

use libtest_mimic::{Arguments, Failed, Trial};
use redpoll_logic::{FloatMode, Format};
use redpoll_testing::data::ValueKind;
use redpoll_testing::engines::{CaseReport, PhaseFailure, check};
use redpoll_testing::formats::combinations;
use redpoll_testing::optimizing::{self, KernelSelection};
use redpoll_testing::program::{CaseChoice, ProgramFile};
use redpoll_testing::rng;
use std::path::Path;

/// The default number of random combinations of formats for each file, in addition to the
/// combinations in its header. `matrix.rs` covers pairs of levels.
const COMBINATIONS: usize = 50;
/// Number of cases whose kernels are compiled together, among the cases that `REDPOLL_OPTIMIZED`
/// selects.
const BATCH_SIZE: usize = 40;
/// Number of failures of a file that are shown in full.
const MAX_SHOWN: usize = 3;

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

fn number_from_environment(name: &str) -> Option<usize> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{text}`")))
}

fn check_file(file: &ProgramFile) -> Result<(), Failed> {
    let optimized = number_from_environment("REDPOLL_OPTIMIZED").unwrap_or(0);
    let (mut total, mut faulted, mut kernels) = (CaseReport::default(), 0, 0);
    let (mut failures, mut details) = (Vec::new(), Vec::new());
    let choices = case_choices(file);
    let mut fail = |choice: Option<&CaseChoice>, phase: &str, message: &str| {
        if details.len() < MAX_SHOWN {
            let case = choice.map_or_else(|| file.name.clone(), |choice| describe_choice(file, choice));
            details.push(format!("--- {case}\n{message}\n"));
        }
        failures.push(format!("{phase}: {}", message.lines().next().unwrap_or("")));
    };
    let mut finish = |fail: &mut dyn FnMut(Option<&CaseChoice>, &str, &str)| {
        let checked = optimizing::check_recorded();
        kernels += checked.kernels;
        for (case, message) in checked.failures {
            fail(case.map(|case| &choices[case as usize]), "optimizing tier", &message);
        }
    };
    for (case, choice) in choices.iter().enumerate() {
        if case <= optimized && (case == optimized || case % BATCH_SIZE == 0) {
            finish(&mut fail);
        }
        optimizing::select_kernels(if case < optimized {
            KernelSelection::All(case as u64)
        } else {
            KernelSelection::Sample
        });
        match file
            .case(choice)
            .map_err(|message| PhaseFailure { phase: "parse", message })
            .and_then(|case| check(&case))
        {
            Ok(report) => {
                total.compared.equal += report.compared.equal;
                total.compared.skipped += report.compared.skipped;
                faulted += usize::from(report.faulted);
            }
            Err(failure) => fail(Some(choice), failure.phase, &failure.message),
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
    Err(format!("{count} failures in {cases} cases:\n{}\n{}", failures.join("\n"), details.join("\n")).into())
}

/// Returns the runs of a file. The combinations of formats in its header run at all sizes, with
/// several kinds of data and both float modes. Random combinations of formats run at one size each.
fn case_choices(file: &ProgramFile) -> Vec<CaseChoice> {
    let mut rng = rng::named(&file.name, 1);
    let mut choices = Vec::new();
    let kinds = [
        (ValueKind::Exact, FloatMode::Relaxed),
        (ValueKind::General, FloatMode::Relaxed),
        (ValueKind::Exact, FloatMode::StrictIeee),
        (ValueKind::Special, FloatMode::StrictIeee),
    ];
    let mut add = |formats: Vec<Format>, size: usize, (kind, mode): (ValueKind, FloatMode), seed: u64| {
        choices.push(CaseChoice { size, formats, kind, mode, seed });
    };
    for formats in &file.formats {
        for size in 0..file.sizes.len() {
            kinds.iter().for_each(|kind| add(formats.clone(), size, *kind, rng.bits()));
        }
    }
    let count = number_from_environment("REDPOLL_COMBINATIONS").unwrap_or(COMBINATIONS);
    for formats in combinations(&mut rng, &file.ranks(), count) {
        let size = if rng.chance(70) { 0 } else { rng.index(file.sizes.len()) };
        let kind = *rng.pick(&[kinds[0], kinds[0], kinds[1], kinds[2], kinds[3]]);
        add(formats, size, kind, rng.bits());
    }
    choices
}

fn describe_choice(file: &ProgramFile, choice: &CaseChoice) -> String {
    let format = |f: &Format| redpoll_logic::text::format_to_sexpr(f).to_string();
    let inputs = file.inputs.iter().zip(&choice.formats).map(|(i, f)| {
        let shape = file.shape(i, choice.size);
        format!("{} {shape:?} fill {} {}", i.name, i.fill, format(f))
    });
    let (kind, mode, seed) = (choice.kind, choice.mode, choice.seed);
    format!("{}, {kind:?} data, {mode:?}, seed {seed}\n{}", file.name, inputs.collect::<Vec<_>>().join("\n"))
}
