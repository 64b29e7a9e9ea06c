//! Invariants of the code base: headers, leftovers, sizes of files, dependency order, folders, the
//! English of comments and READMEs, cycles among files.

mod graph;

use std::fs;
use std::path::{Path, PathBuf};

/// The folders with code.
const FOLDERS: [&str; 9] = ["logic", "optimizer", "physical", "datasets", "sql", "bench", "src", "tests", "examples"];

/// The crates of the workspace, and their allowed dependencies within the workspace.
const ALLOWED_DEPENDENCIES: [(&str, &[&str]); 9] = [
    ("logic", &[]),
    ("optimizer", &["redpoll-logic"]),
    ("physical", &["redpoll-logic", "redpoll-golden"]),
    // The integration tests of `datasets` turn on its own test support.
    ("datasets", &["redpoll-logic", "redpoll-physical", "redpoll-datasets"]),
    // The tests of `sql` run regions on the sessions of `redpoll`.
    ("sql", &["redpoll", "redpoll-logic", "redpoll-physical", "redpoll-datasets", "redpoll-testing", "redpoll-golden"]),
    // The last crate is shared by tests.
    (
        ".",
        &[
            "redpoll-logic",
            "redpoll-optimizer",
            "redpoll-physical",
            "redpoll-datasets",
            "redpoll-sql",
            "redpoll-testing",
        ],
    ),
    ("tests/golden", &[]),
    ("tests/common", &["redpoll", "redpoll-logic", "redpoll-physical", "redpoll-optimizer"]),
    (
        "bench",
        &["redpoll", "redpoll-logic", "redpoll-physical", "redpoll-optimizer", "redpoll-datasets", "redpoll-testing"],
    ),
];

/// Largest number of lines of a file; longer files should be split.
const MAX_FILE_LINES: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every Rust file with its text.
fn rust_files() -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                collect(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    let mut found = Vec::new();
    FOLDERS.iter().for_each(|folder| collect(&root().join(folder), &mut found));
    assert!(found.len() > 100, "expected more than 100 Rust files, found {}", found.len());
    found
}

fn is_test(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "tests")
        || path.file_stem().is_some_and(|s| s.to_string_lossy().ends_with("tests"))
}

/// Every file starts with a `//!` header.
#[test]
fn files_start_with_a_header() {
    let bare: Vec<_> = rust_files().into_iter().filter(|(_, text)| !text.starts_with("//!")).map(|(p, _)| p).collect();
    assert!(bare.is_empty(), "files without a `//!` header: {bare:?}");
}

/// The code has no unfinished parts.
#[test]
fn code_has_no_unfinished_parts() {
    let leftovers = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!("));
    for (path, text) in rust_files() {
        for leftover in &leftovers {
            assert!(!text.contains(leftover.as_str()), "{} has {leftover}..)", path.display());
        }
    }
}

/// Files are small. Tests are tables, which may be long.
#[test]
fn files_stay_small() {
    let long = |(path, text): &(PathBuf, String)| !is_test(path) && text.lines().count() > MAX_FILE_LINES;
    let long: Vec<_> = rust_files().into_iter().filter(long).map(|(p, t)| (p, t.lines().count())).collect();
    assert!(long.is_empty(), "files of more than {MAX_FILE_LINES} lines: {long:?}");
}

/// Crates depend in one direction: `logic` on none, `optimizer` and `physical` not on each other.
#[test]
fn crates_depend_downwards() {
    for (folder, allowed) in ALLOWED_DEPENDENCIES {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let sections = manifest.split("\n[").filter(|s| s.contains("dependencies]") && !s.starts_with("workspace"));
        for line in sections.flat_map(str::lines).filter(|line| line.starts_with("redpoll")) {
            let name = line.split(['.', ' ', '=']).next().unwrap();
            assert!(allowed.contains(&name), "{folder} depends on {name}, allowed are {allowed:?}");
        }
    }
}

/// The crates, as the folder and the root module of their sources.
const CRATES: [(&str, &str); 8] = [
    ("logic/src", "lib.rs"),
    ("optimizer/src", "lib.rs"),
    ("physical/src", "lib.rs"),
    ("datasets/src", "lib.rs"),
    ("sql/src", "lib.rs"),
    ("src", "lib.rs"),
    ("bench/src", "lib.rs"),
    ("tests/common", "lib.rs"),
];

/// The largest share of a crate's lines, in percent, in files that all depend on each other.
const COMPONENT_PERCENT: usize = 25;

/// Crates with a larger component, in percent, and the reason.
const LARGER_COMPONENTS: [(&str, usize, &str); 0] = [];

/// Files can be read in an order: few of a crate depend on each other in a circle.
#[test]
fn files_depend_in_one_direction() {
    for (sources, root_module) in CRATES {
        let parsed = graph::Crate::parse(&root().join(sources), root_module);
        let component = parsed.largest_component();
        let lines: usize = component.iter().map(|file| file.lines).sum();
        let percent = (100 * lines).div_ceil(parsed.lines());
        let larger = LARGER_COMPONENTS.iter().find(|(name, ..)| *name == sources);
        let allowed = larger.map_or(COMPONENT_PERCENT, |(_, percent, _)| *percent);
        let files: Vec<_> = component.iter().map(|file| file.path.display().to_string()).collect();
        assert!(percent <= allowed, "{sources}: {percent}% of the lines depend on each other: {files:?}");
        let outgrown = larger.is_some() && percent <= COMPONENT_PERCENT;
        assert!(!outgrown, "{sources}: {percent}%, drop its exception");
    }
}

/// Every folder with code has a README.
#[test]
fn folders_have_a_readme() {
    let missing: Vec<_> = FOLDERS.iter().filter(|f| !root().join(f).join("README.md").is_file()).collect();
    assert!(missing.is_empty(), "folders without README.md: {missing:?}");
}

/// Unsafe code occurs only where code is loaded, called and given memory.
#[test]
fn unsafe_code_stays_in_allowed_files() {
    let allowed = [
        "physical/src/run",
        "physical/src/emit",
        "physical/src/kernel",
        "physical/src/storage/array.rs",
        // Functions for tests that call machine code.
        "physical/src/assembly/examples.rs",
        "physical/src/testing/device.rs",
        // Hand-written loops of benchmarks, which trust validated arrays like kernels do.
        "bench/src/hand.rs",
    ];
    for (path, text) in rust_files() {
        let inside = is_test(&path) || allowed.iter().any(|a| path.starts_with(a));
        let has = text
            .lines()
            .map(str::trim_start)
            .any(|l| !l.starts_with("//") && (l.contains("unsafe {") || l.starts_with("unsafe ")));
        assert!(inside || !has, "{} has unsafe code", path.display());
    }
}

/// The longest comment line, in columns.
const COMMENT_COLUMNS: usize = 100;
/// The longest sentence of a README, in words.
const SENTENCE_WORDS: usize = 35;

/// Words that a doc comment does not open with: they begin a free relative or a fragment.
const OPENINGS: [&str; 10] = ["What", "Who", "Where", "That", "So", "Of", "As", "Which", "Whatever", "How"];

/// The comment lines of a file with their numbers, code blocks and tables aside.
fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().enumerate().filter_map(move |(k, line)| {
        let comment = line.trim_start();
        let words = comment.strip_prefix("//")?.trim_start_matches(['/', '!']).trim_start();
        if words.starts_with("```") {
            code = !code;
        }
        (!code && !words.starts_with(['`', '|'])).then_some((k + 1, line))
    })
}

/// Checks that comments wrap where editors split their windows.
#[test]
fn comments_wrap() {
    for (path, text) in rust_files() {
        for (k, line) in comments(&text) {
            let columns = line.chars().count();
            assert!(columns <= COMMENT_COLUMNS || line.contains("://"), "{}:{k} has {columns} columns", path.display());
        }
    }
}

/// Checks that doc comments say what an item is or does: they, and their sections, open with a noun
/// or a verb.
#[test]
fn docs_open_with_a_noun_or_a_verb() {
    for (path, text) in rust_files() {
        let mut inside = false;
        for (k, line) in text.lines().enumerate() {
            let doc = line.trim_start().strip_prefix("/// ");
            if let (Some(doc), false) = (doc, inside) {
                let first = doc.split_whitespace().next().unwrap_or_default();
                assert!(!OPENINGS.contains(&first), "{}:{} opens with `{first}`", path.display(), k + 1);
            }
            let line = line.trim_start();
            inside = line.starts_with("///") && !line.starts_with("/// #");
        }
    }
}

/// Checks that comments count with "this many" or with a name.
#[test]
fn comments_do_not_say_so_many() {
    let phrase = ["so", "many"].join(" ");
    for (path, text) in rust_files() {
        for (k, line) in comments(&text) {
            assert!(!line.to_lowercase().contains(&phrase), "{}:{k} says \"{phrase}\"", path.display());
        }
    }
}

/// Checks that READMEs can be read aloud.
#[test]
fn sentences_of_readmes_are_short() {
    let readmes = FOLDERS.map(|folder| root().join(folder).join("README.md"));
    let others = ["README.md", "ARCHITECTURE.md"].map(|name| root().join(name));
    for path in readmes.iter().chain(&others) {
        let text = fs::read_to_string(path).unwrap();
        let mut code = false;
        for (k, line) in text.lines().enumerate() {
            code ^= line.trim_start().starts_with("```");
            if code || line.trim_start().starts_with('|') {
                continue;
            }
            let mut words = 0;
            for word in line.split_whitespace() {
                words += 1;
                assert!(words <= SENTENCE_WORDS, "{}:{} has a longer sentence: {line}", path.display(), k + 1);
                if word.ends_with(['.', '?', '!', ':']) {
                    words = 0;
                }
            }
        }
    }
}
