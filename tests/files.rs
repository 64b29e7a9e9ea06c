//! Every plan file through every engine, over combinations of formats, sizes, data and float modes.
//!
//! A failure prints the plan, formats, sizes and seed of the first few cases; `cargo test --test files NAME` runs one
//! file again, with the same cases.

mod common;

use common::data::Kind;
use common::engines::{Failure, Report, check};
use common::formats::combinations;
use common::optimizing;
use common::program::{Choice, ProgramFile};
use common::rng;
use libtest_mimic::{Arguments, Failed, Trial};
use redpoll_logic::{FloatMode, Format};
use std::path::Path;

/// Combinations of formats that are drawn for one or two operands, beside the pairs that are enumerated.
const DRAWN: usize = 100;
/// Combinations that are drawn for more operands.
const DRAWN_OF_MANY: usize = 200;
/// Failures of a file that are shown in full.
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
    let (mut total, mut cases, mut faulted) = (Report::default(), 0, 0);
    let (mut failures, mut shown) = (Vec::new(), Vec::new());
    for choice in choices(file) {
        cases += 1;
        let checked = file.case(&choice).map_err(|what| Failure { phase: "parse", what }).and_then(|case| check(&case));
        match checked {
            Ok(report) => {
                total.compared.equal += report.compared.equal;
                total.compared.skipped += report.compared.skipped;
                faulted += usize::from(report.faulted);
            }
            Err(failure) => {
                if shown.len() < SHOWN {
                    shown.push(format!("--- {}\n{}\n", describe(file, &choice), failure.what));
                }
                let first = failure.what.lines().next().unwrap_or("").to_owned();
                failures.push(format!("{}: {first}", failure.phase));
            }
        }
    }
    let (equal, skipped) = (total.compared.equal, total.compared.skipped);
    eprintln!("{}: {cases} cases, {equal} values equal, {skipped} not determined, {faulted} plans fault", file.name);
    if failures.is_empty() {
        let wrong: Vec<String> = optimizing::finish().failures.into_iter().map(|(_, what)| what).collect();
        return if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) };
    }
    let count = failures.len();
    failures.sort();
    failures.dedup();
    failures.truncate(20);
    Err(format!("{count} of {cases} cases fail:\n{}\n{}", failures.join("\n"), shown.join("\n")).into())
}

/// The runs of a file: its own combinations of formats at all sizes, in both float modes; then the drawn ones, each at
/// the first size or another.
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
