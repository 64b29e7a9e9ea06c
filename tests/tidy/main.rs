//! Tests of invariants of the code base: file headers, unfinished code, file sizes, unsafe code,
//! dependencies of crates, folders and files, and the English of comments and READMEs.

mod graph;

use std::fs;
use std::path::{Path, PathBuf};

/// The folders with code.
const FOLDERS: [&str; 12] = [
    "logic",
    "optimizer",
    "physical",
    "datasets",
    "linalg",
    "sql",
    "python",
    "bench",
    "docs",
    "src",
    "tests",
    "examples",
];

/// Largest number of lines of a file, tests aside; longer files should be split.
const MAX_FILE_LINES: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every Rust file of [`FOLDERS`] with its text.
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

/// Files are small, except tests, whose tables may be long.
#[test]
fn files_stay_small() {
    let long = |(path, text): &(PathBuf, String)| !is_test(path) && text.lines().count() > MAX_FILE_LINES;
    let long: Vec<_> = rust_files().into_iter().filter(long).map(|(p, t)| (p, t.lines().count())).collect();
    assert!(long.is_empty(), "files of more than {MAX_FILE_LINES} lines: {long:?}");
}

/// A crate with its dependencies within the workspace, sorted.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct CrateDependencies {
    name: String,
    dependencies: Vec<String>,
    /// The dependencies that the tests of the crate add.
    test_dependencies: Vec<String>,
}

/// Returns the folders of the crates, with `.` for the root.
fn crate_folders() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, after) = manifest.split_once("members = [").expect("the root manifest has members");
    let (members, _) = after.split_once(']').unwrap();
    let folders = members.split('"').skip(1).step_by(2).map(str::to_owned);
    folders.chain([".".to_owned()]).collect()
}

/// Returns the dependencies of a crate according to its manifest.
fn manifest_dependencies(folder: &str) -> CrateDependencies {
    let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let (_, after) = manifest.split_once("[package]\nname = \"").unwrap();
    let name = after.split('"').next().unwrap().to_owned();
    let names_in = |accepts: &dyn Fn(&str) -> bool| -> Vec<String> {
        let sections = manifest.split("\n[").filter(|section| section.split(']').next().is_some_and(accepts));
        let lines = sections.flat_map(str::lines).filter(|line| line.starts_with("redpoll"));
        let mut names: Vec<String> = lines.map(|line| line.split(['.', ' ', '=']).next().unwrap().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let is_of_tests = |title: &str| title.ends_with("dev-dependencies");
    let is_of_crate =
        |title: &str| title.ends_with("dependencies") && !is_of_tests(title) && !title.starts_with("workspace");
    let dependencies = names_in(&is_of_crate);
    let mut test_dependencies = names_in(&is_of_tests);
    test_dependencies.retain(|added| *added != name && !dependencies.contains(added));
    CrateDependencies { name, dependencies, test_dependencies }
}

/// Returns the crates in the picture of `ARCHITECTURE.md`, from top to bottom.
fn drawn_dependencies() -> Vec<CrateDependencies> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, rest) = text.split_once("```text\ncrates\n").expect("ARCHITECTURE.md has a picture of the crates");
    let (picture, _) = rest.split_once("```").unwrap();
    let names = |list: &str| {
        let mut names: Vec<String> = list.split_whitespace().map(str::to_owned).collect();
        names.sort_unstable();
        names
    };
    let line = |line: &str| {
        let (name, lists) = line.split_once(" ->").unwrap_or_else(|| panic!("no arrow: {line}"));
        let (dependencies, test_dependencies) = lists.split_once("; tests:").unwrap_or((lists, ""));
        let (dependencies, test_dependencies) = (names(dependencies), names(test_dependencies));
        CrateDependencies { name: name.to_owned(), dependencies, test_dependencies }
    };
    picture.lines().map(line).collect()
}

/// Each crate depends only on crates above it in the picture of `ARCHITECTURE.md`. Dependencies of
/// tests are exempt.
#[test]
fn crates_depend_on_crates_above_them() {
    let mut above: Vec<String> = Vec::new();
    for CrateDependencies { name, dependencies, .. } in drawn_dependencies() {
        let is_above = dependencies.iter().all(|dependency| above.contains(dependency));
        assert!(is_above, "{name} depends on {dependencies:?}, above are {above:?}");
        above.push(name);
    }
}

/// The manifests have the dependencies of the picture in `ARCHITECTURE.md`, and no other
/// dependencies within the workspace.
#[test]
fn crate_dependencies_match_the_architecture() {
    let mut drawn = drawn_dependencies();
    let mut found: Vec<_> = crate_folders().iter().map(|folder| manifest_dependencies(folder)).collect();
    drawn.sort_unstable();
    found.sort_unstable();
    assert_eq!(drawn, found, "the dependencies in ARCHITECTURE.md and in the manifests differ");
}

/// The files of the optimizer that all its folders may use.
const OPTIMIZER_DATA: [&str; 3] = ["config.rs", "error.rs", "report.rs"];

/// Each folder of the optimizer uses only its own files, [`OPTIMIZER_DATA`], and folders above it
/// in the table of `lib.rs`.
#[test]
fn optimizer_folders_use_those_above_them() {
    let sources = root().join("optimizer/src");
    let text = fs::read_to_string(sources.join("lib.rs")).unwrap();
    let (_, table) = text.split_once("//! | folder | contents |\n").expect("lib.rs has the table of folders");
    let rows = table.lines().skip(1).map_while(|line| line.strip_prefix("//! | `"));
    let folders: Vec<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
    assert!(folders.len() > 10, "{folders:?}");
    let rank = |path: &Path| {
        let first = path.iter().next().unwrap();
        folders.iter().position(|folder| first == *folder)
    };
    let parsed = graph::Crate::parse(&sources, "lib.rs");
    let mut count = 0;
    for (from, to) in parsed.dependencies().filter(|(from, _)| from.iter().count() > 1) {
        let from_rank = rank(from).unwrap_or_else(|| panic!("no row has the folder of {}", from.display()));
        let is_above = rank(to).is_some_and(|to_rank| to_rank <= from_rank);
        let is_data = OPTIMIZER_DATA.iter().any(|file| to == Path::new(file));
        assert!(is_above || is_data, "{} uses {}", from.display(), to.display());
        count += 1;
    }
    assert!(count > 100, "{count} dependencies");
}

/// Largest percentage of the lines of code, without tests, that one crate may have.
const CRATE_PERCENT: usize = 35;

/// No crate has more than [`CRATE_PERCENT`] percent of the code.
#[test]
fn crates_share_the_code() {
    let lines = CRATES.map(|(sources, root_module)| graph::Crate::parse(&root().join(sources), root_module).lines());
    let all: usize = lines.iter().sum();
    for ((sources, _), lines) in CRATES.iter().zip(lines) {
        assert!(100 * lines <= CRATE_PERCENT * all, "{sources} has {lines} of {all} lines");
    }
}

/// The crates that together have nearly all of the code: the folder of the sources, and the root
/// module.
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

/// Largest percentage of a crate's lines that may be in files that all depend on each other.
const COMPONENT_PERCENT: usize = 25;

/// Few files of a crate depend on each other in a cycle, so that the files can be read in order.
#[test]
fn files_depend_in_one_direction() {
    for (sources, root_module) in CRATES {
        let parsed = graph::Crate::parse(&root().join(sources), root_module);
        let component = parsed.largest_component();
        let lines: usize = component.iter().map(|file| file.lines).sum();
        let percent = (100 * lines).div_ceil(parsed.lines());
        let files: Vec<_> = component.iter().map(|file| file.path.display().to_string()).collect();
        assert!(percent <= COMPONENT_PERCENT, "{sources}: {percent}% of the lines depend on each other: {files:?}");
    }
}

/// Returns the folders that need a README: [`FOLDERS`], and the folders of the crates of
/// `physical`.
fn readme_folders() -> Vec<String> {
    let crates = crate_folders().into_iter().filter(|folder| folder.starts_with("physical/"));
    FOLDERS.map(str::to_owned).into_iter().chain(crates).collect()
}

/// Every folder with code has a README, also each crate of `physical`.
#[test]
fn folders_have_a_readme() {
    let folders = readme_folders();
    assert!(folders.len() > FOLDERS.len(), "{folders:?}");
    let missing: Vec<_> = folders.iter().filter(|f| !root().join(f).join("README.md").is_file()).collect();
    assert!(missing.is_empty(), "folders without README.md: {missing:?}");
}

/// Apart from tests, unsafe code occurs only in the listed files. These files call compiled code or
/// the driver of a device, give memory to compiled code, share memory with Python, map files, or
/// skip bounds checks.
#[test]
fn unsafe_code_stays_in_allowed_files() {
    let allowed = [
        "physical/storage/src/array.rs",
        "physical/kernels/src",
        "physical/files/src/mapping",
        "physical/devices/src/cuda/device.rs",
        "physical/devices/src/testing/device.rs",
        // The implementation of a trait of kernels whose method is unsafe.
        "physical/devices/src/launch/mod.rs",
        // Memory that is shared with Python: buffers, and streams of Arrow.
        "python/src/buffer.rs",
        "python/src/arrow.rs",
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

/// Words that must not open a doc comment, because they begin a free relative clause or a fragment.
const OPENINGS: [&str; 10] = ["What", "Who", "Where", "That", "So", "Of", "As", "Which", "Whatever", "How"];

/// Returns the comment lines of a file with their numbers, except code blocks, tables, and lines
/// that begin with code.
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

/// Checks that comment lines without an address have at most [`COMMENT_COLUMNS`] columns.
#[test]
fn comments_wrap() {
    for (path, text) in rust_files() {
        for (k, line) in comments(&text) {
            let columns = line.chars().count();
            assert!(columns <= COMMENT_COLUMNS || line.contains("://"), "{}:{k} has {columns} columns", path.display());
        }
    }
}

/// Checks that neither doc comments nor their sections open with one of [`OPENINGS`]. A doc comment
/// opens with a noun or a verb, so that it says what the item is or does.
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

/// Checks that comments do not say "so" followed by "many", which leaves open how many.
#[test]
fn comments_do_not_say_so_many() {
    let phrase = ["so", "many"].join(" ");
    for (path, text) in rust_files() {
        for (k, line) in comments(&text) {
            assert!(!line.to_lowercase().contains(&phrase), "{}:{k} says \"{phrase}\"", path.display());
        }
    }
}

/// Checks that no sentence of a README, of `ARCHITECTURE.md` or of `CONTRIBUTING.md` has more than
/// [`SENTENCE_WORDS`] words.
#[test]
fn sentences_of_readmes_are_short() {
    let readmes = readme_folders().into_iter().map(|folder| root().join(folder).join("README.md"));
    let others = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    for path in readmes.chain(others) {
        let text = fs::read_to_string(&path).unwrap();
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
