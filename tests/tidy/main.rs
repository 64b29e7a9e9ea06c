//! Invariants of the code base: headers, leftovers, sizes of files, dependency order, folders, the
//! English of comments and READMEs, cycles among files.

mod graph;

use std::fs;
use std::path::{Path, PathBuf};

/// The folders with code.
const FOLDERS: [&str; 9] = ["logic", "optimizer", "physical", "datasets", "sql", "bench", "src", "tests", "examples"];

/// The crates of the workspace as folders of their manifests, and their allowed dependencies within
/// the workspace, those of tests included.
const ALLOWED_DEPENDENCIES: [(&str, &[&str]); 12] = [
    ("logic", &["redpoll-golden"]),
    ("optimizer", &["redpoll-logic"]),
    ("physical/storage", &["redpoll-logic"]),
    ("physical/compiler", &["redpoll-logic", "redpoll-storage", "redpoll-golden"]),
    ("physical/kernels", &["redpoll-logic", "redpoll-storage", "redpoll-compiler", "redpoll-golden"]),
    (
        "physical/devices",
        &["redpoll-logic", "redpoll-storage", "redpoll-compiler", "redpoll-kernels", "redpoll-golden"],
    ),
    // The integration tests of `datasets` turn on its own test support.
    ("datasets", &["redpoll-logic", "redpoll-storage", "redpoll-datasets"]),
    // The tests of `sql` run regions on the sessions of `redpoll`.
    ("sql", &["redpoll", "redpoll-logic", "redpoll-storage", "redpoll-datasets", "redpoll-testing", "redpoll-golden"]),
    // The last crate is shared by tests.
    (
        ".",
        &[
            "redpoll-logic",
            "redpoll-optimizer",
            "redpoll-storage",
            "redpoll-compiler",
            "redpoll-kernels",
            "redpoll-devices",
            "redpoll-datasets",
            "redpoll-sql",
            "redpoll-testing",
        ],
    ),
    (
        "tests/common",
        &[
            "redpoll",
            "redpoll-logic",
            "redpoll-optimizer",
            "redpoll-storage",
            "redpoll-compiler",
            "redpoll-kernels",
            "redpoll-devices",
        ],
    ),
    ("tests/golden", &[]),
    (
        "bench",
        &[
            "redpoll",
            "redpoll-logic",
            "redpoll-optimizer",
            "redpoll-storage",
            "redpoll-compiler",
            "redpoll-kernels",
            "redpoll-devices",
            "redpoll-datasets",
            "redpoll-testing",
        ],
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

/// Returns the names of the crates of the workspace that the sections of a manifest name whose
/// title the test accepts, in the order of the manifest.
fn dependencies(folder: &str, accepts: impl Fn(&str) -> bool) -> Vec<String> {
    let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let sections = manifest.split("\n[").filter(|section| section.split(']').next().is_some_and(&accepts));
    let lines = sections.flat_map(str::lines).filter(|line| line.starts_with("redpoll"));
    lines.map(|line| line.split(['.', ' ', '=']).next().unwrap().to_owned()).collect()
}

/// Crates depend in one direction: `logic` on none, `optimizer` and the crates of `physical` not on
/// each other, and of those each only on the ones below.
#[test]
fn crates_depend_downwards() {
    for (folder, allowed) in ALLOWED_DEPENDENCIES {
        for name in dependencies(folder, |title| title.ends_with("dependencies") && !title.starts_with("workspace")) {
            assert!(allowed.contains(&&*name), "{folder} depends on {name}, allowed are {allowed:?}");
        }
    }
}

/// The picture of the crates in `ARCHITECTURE.md` has the dependencies of the manifests.
#[test]
fn the_picture_of_the_crates_is_true() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, rest) = text.split_once("```text\ncrates\n").expect("ARCHITECTURE.md has a picture of the crates");
    let (picture, _) = rest.split_once("```").unwrap();
    let mut drawn: Vec<(String, Vec<String>)> = Vec::new();
    for line in picture.lines().filter(|line| !line.trim().is_empty()) {
        let (name, below) = line.split_once("->").unwrap_or((line, ""));
        let mut below: Vec<String> = below.split_whitespace().map(str::to_owned).collect();
        below.sort_unstable();
        drawn.push((name.trim().to_owned(), below));
    }
    let package = |folder: &str| {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let (_, after) = manifest.split_once("[package]\nname = \"").unwrap();
        after.split('"').next().unwrap().to_owned()
    };
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (folder, _) in ALLOWED_DEPENDENCIES {
        let mut below = dependencies(folder, |title| title == "dependencies");
        below.sort_unstable();
        found.push((package(folder), below));
    }
    drawn.sort_unstable();
    found.sort_unstable();
    assert_eq!(drawn, found, "the picture, and the manifests");
}

/// The largest share of the code in one crate, in percent of the lines without tests.
const CRATE_PERCENT: usize = 35;

/// No crate has most of the code.
#[test]
fn crates_share_the_code() {
    let lines = CRATES.map(|(sources, root_module)| graph::Crate::parse(&root().join(sources), root_module).lines());
    let all: usize = lines.iter().sum();
    for ((sources, _), lines) in CRATES.iter().zip(lines) {
        assert!(100 * lines <= CRATE_PERCENT * all, "{sources} has {lines} of {all} lines");
    }
}

/// The crates, as the folder and the root module of their sources.
const CRATES: [(&str, &str); 11] = [
    ("logic/src", "lib.rs"),
    ("optimizer/src", "lib.rs"),
    ("physical/storage/src", "lib.rs"),
    ("physical/compiler/src", "lib.rs"),
    ("physical/kernels/src", "lib.rs"),
    ("physical/devices/src", "lib.rs"),
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
        "physical/storage/src/array.rs",
        "physical/kernels/src",
        "physical/devices/src/cuda/device.rs",
        "physical/devices/src/testing/device.rs",
        // A trait of kernels, whose call of code is unsafe.
        "physical/devices/src/launch/mod.rs",
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
    let others = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    let crates = ["storage", "compiler", "kernels", "devices"].map(|name| root().join("physical").join(name));
    let crates = crates.map(|folder| folder.join("README.md"));
    for path in readmes.iter().chain(&others).chain(&crates) {
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
