//! Tests that over hypersparse operands, the work and memory of array methods and operators depend
//! on the number of entries, and do not grow with the sizes of the modes.
//!
//! A use is a call of a method, or a plan with an operator. Each use runs at sizes n, 4n and 16n
//! with the same few hundred entries. The interpreter of Assembly counts the work. `exceptions`
//! lists the uses whose work grows, each with the reason.

mod exceptions;
mod methods;
mod nodes;
mod operands;

use exceptions::INHERENT;
use operands::{Operands, SIZES, shape_in};
use redpoll::{Error, Prepared, Target};
use redpoll_logic::Format;
use redpoll_logic::text::parse_format;
use redpoll_testing::engines::error_chain;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

/// Largest growth of work and memory, relative to the growth of the operands.
const GROWTH: f64 = 1.5;

/// Number of bytes by which memory may grow in addition, because buffers grow in steps.
const SLACK: f64 = 4096.0;

/// Number of steps by which work may grow in addition, because searches in larger ranges take more
/// steps.
const SEARCH_STEPS: f64 = 256.0;

/// Time after which a run is cancelled. Such a run visits all coordinates, and would take too long.
const GIVE_UP: Duration = Duration::from_secs(30);

/// The formats of matrices.
const FORMATS: [&str; 8] = [
    "coo",
    "csr",
    "csc",
    "dcsr",
    "(modes 1 0 (sparse-list (sparse-list (element))))",
    "(sparse-list (fixed-width (element)))",
    "(sparse-list (block-list (element)))",
    "(sparse-list (sparse-run-length (element)))",
];

/// Runs a use at each size. Returns the counts if its work or memory grows, or the error of a run.
fn growth(format: &Format, prepare: &dyn Fn(&Operands) -> Result<Prepared, Error>) -> Option<String> {
    let mut found: Vec<[f64; 3]> = Vec::new();
    for n in SIZES {
        let operands = Operands::new(n, format);
        let cancel = operands.session.limits().cancel.clone();
        let (done, is_done) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if is_done.recv_timeout(GIVE_UP) == Err(mpsc::RecvTimeoutError::Timeout) {
                cancel.store(true, Ordering::Relaxed);
            }
        });
        let run = prepare(&operands).and_then(|prepared| prepared.run_with(Target::ASSEMBLY));
        drop(done);
        watch.join().expect("the watch does not panic");
        let run = match run {
            Ok(run) => run,
            Err(error) => return Some(format!("at {n}: {}", error_chain(&error))),
        };
        let counts = run.counts.unwrap_or_default();
        let work = counts.iterations + counts.loads + counts.stores;
        found.push([work as f64, run.peak_bytes as f64, operands.bytes as f64]);
        let ([work, bytes, size], [new_work, new_bytes, new_size]) = (found[0], found[found.len() - 1]);
        let allowed = GROWTH * new_size / size;
        if new_work > allowed * work + SEARCH_STEPS || new_bytes > allowed * bytes + SLACK {
            return Some(format!("work, bytes and bytes of the operands: {found:?}"));
        }
    }
    None
}

/// Checks uses in all of the given formats, except the uses in [`INHERENT`]. The environment
/// variable `REDPOLL_ONLY` selects the uses whose names contain its value.
fn check<'u, U: 'u>(
    formats: &[&str],
    uses: impl Iterator<Item = (&'u str, U)>,
    prepare: impl Fn(&U, &Operands) -> Result<Prepared, Error>,
) {
    let only = std::env::var("REDPOLL_ONLY").unwrap_or_default();
    let is_exception = |name: &str| INHERENT.iter().any(|(other, _)| *other == name);
    let mut failures = Vec::new();
    for (name, own) in uses.filter(|(name, _)| name.contains(&only) && !is_exception(name)) {
        for text in formats {
            let format = parse_format(text, 2).expect("a format");
            assert!(shape_in(&format, SIZES[0]).contains(&SIZES[0]), "no mode of {text} grows");
            let failure = growth(&format, &|operands| prepare(&own, operands));
            failures.extend(failure.map(|failure| format!("{name} over {text}: {failure}")));
        }
    }
    assert!(failures.is_empty(), "{} uses grow:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn methods_follow_the_entries() {
    let methods = methods::ELEMENTWISE.iter().chain(methods::METHODS);
    check(&FORMATS, methods.map(|(name, make)| (*name, make)), |make, operands| make(operands).prepare());
}

#[test]
fn nodes_follow_the_entries() {
    let plans = nodes::plans();
    let uses = plans.iter().map(|(name, text)| (name.as_str(), text));
    check(&FORMATS[..4], uses, |text, operands| {
        let bindings = operands.tensors.iter().map(|(name, t)| (*name, t.clone())).collect();
        operands.session.prepare(text, &bindings)
    });
}

/// Each public function that returns an array has a use, or is listed here with the reason.
#[test]
fn every_method_has_a_use() {
    const UNUSED: &[&str] = &[
        // These functions store operands, set options, or return the same array.
        "array",
        "builder",
        "dense",
        "vector",
        "triples",
        "runs",
        "from_ndarray",
        "from_record_batch",
        "from_sprs",
        "build",
        "check",
        "cancelled_by",
        "keep",
        "format",
        "fill",
        "duplicates",
        // These functions visit all coordinates of rows with entries, although the structure of the
        // operands does not require this.
        "nan_var",
        "nan_std",
        // This function takes a list with a count for each coordinate.
        "repeat_each",
    ];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/array");
    let mut missing = Vec::new();
    // The functions in subfolders compute their results immediately, without a plan.
    for entry in std::fs::read_dir(folder).expect("the sources of arrays") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(path).expect("readable");
        let lines: Vec<&str> = text.lines().collect();
        for (k, line) in lines.iter().enumerate() {
            let name = match line.trim_start().strip_prefix("pub fn ") {
                // The result type may be lines below the name.
                Some(rest)
                    if lines[k..].iter().find(|l| l.ends_with('{')).is_some_and(|l| l.contains("-> Array {")) =>
                {
                    rest.split(['(', '<']).next()
                }
                // A row of a table of functions.
                None if line.starts_with("    ") && (line.contains(" => ") || line.contains("| Format")) => {
                    line.split_whitespace().next().filter(|_| line.contains(" \""))
                }
                _ => None,
            };
            let Some(name) =
                name.filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit()))
            else {
                continue;
            };
            let mut uses = methods::ELEMENTWISE.iter().chain(methods::METHODS).map(|(name, _)| *name);
            if !uses.any(|used| used.split(' ').next() == Some(name)) && !UNUSED.contains(&name) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "methods without a use: {missing:?}");
}
