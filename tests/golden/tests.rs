//! Tests of the comparison of files and pages, and of the golden folders of `physical`.

use super::markdown::rust_cells;
use super::pages::{Output, Page};
use super::{compare, only};
use std::fs;
use std::path::Path;

/// The message names the file, the first line that differs, and the variable.
#[test]
fn differences_are_located() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.c");
    fs::write(&path, "a\nb\nc\n").unwrap();
    assert_eq!(compare(&path, "a\nb\nc\n", false), Ok(()));
    for (found, expected) in [
        ("a\nB\nc\n", r#":2: expected "b\n", found "B\n""#),
        ("a\nb\nc\nd\n", r#":4: expected the end of the text, found "d\n""#),
        ("a\nb\nc", r#":3: expected "c\n", found "c""#),
        ("", r#":1: expected "a\n", found the end of the text"#),
    ] {
        let message = compare(&path, found, false).unwrap_err();
        let expected = format!("{}{expected}; REDPOLL_BLESS=1 rewrites the file, review its diff", path.display());
        assert_eq!(message, expected);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\nc\n");
}

/// A missing file is an error, and blessing writes it, even if it is empty.
#[test]
fn blessing_writes_files() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("text", "a\n"), ("empty", "")] {
        let path = folder.path().join(name).join("kernel.c");
        let message = compare(&path, text, false).unwrap_err();
        assert!(message.starts_with("cannot read ") && message.ends_with("; REDPOLL_BLESS=1 writes it"), "{message}");
        assert_eq!(compare(&path, text, true), Ok(()));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(compare(&path, text, false), Ok(()));
    }
}

/// Files of removed programs are found.
#[test]
fn files_of_no_program_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for program in ["spmv", "spgemm"] {
        assert_eq!(compare(&folder.path().join(program).join("kernel.c"), "", true), Ok(()));
    }
    assert_eq!(only(folder.path(), "kernel.c", &["spmv", "spgemm"]), Ok(()));
    assert_eq!(only(folder.path(), "kernel.cu", &[]), Ok(()));
    let message = only(folder.path(), "kernel.c", &["spmv"]).unwrap_err();
    let path = folder.path().join("spgemm/kernel.c");
    assert_eq!(message, format!("{} belongs to no test, remove it", path.display()));
}

/// The files with the texts of a program, in the order of the steps of compilation.
const TEXTS: [&str; 5] = ["assembly.txt", "reading.c", "grid.txt", "kernel.c", "kernel.cu"];

/// Each golden folder of `physical` has a text that a test compares, and only files that tests
/// read.
#[test]
fn golden_folders_have_texts() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../physical/golden");
    for folder in fs::read_dir(golden).unwrap() {
        let folder = folder.unwrap().path();
        let names = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let (texts, others): (Vec<_>, Vec<_>) = names.partition(|name| TEXTS.contains(&&name[..]));
        assert!(!texts.is_empty(), "{} has no text", folder.display());
        assert!(others.iter().all(|name| name == "program.rp"), "{} has other files: {others:?}", folder.display());
    }
}

const PAGE: &str = "# A title\n\nSee [there](x.md).\n\n```rust\nf();\n```\n\n```text\none\n```\n\n```csv file=a.csv\n1\n```\n\n\
    ```rust\ng();\n```\n\n| redpoll in Rust | other |\n|---|---|\n| `a`, `\\|b\\|` | `c` |\n\n```console\n$ date\nin [..] ms\n```\n";

fn page() -> Page {
    Page::parse(Path::new("."), Path::new("page.md"), PAGE.to_owned())
}

/// Blocks and expressions of tables are found, with their lines.
#[test]
fn pages_are_parsed() {
    let page = page();
    let blocks: Vec<_> = page.blocks.iter().map(|block| (block.language(), &block.text[..], block.line)).collect();
    let expected = [("rust", "f();\n", 6), ("text", "one\n", 10), ("csv", "1\n", 14), ("rust", "g();\n", 18)];
    assert_eq!(blocks[..4], expected);
    assert_eq!(blocks[4], ("console", "$ date\nin [..] ms\n", 26));
    assert_eq!(page.blocks_of("rust").collect::<Vec<_>>(), [0, 3]);
    assert_eq!(page.blocks[2].file_name(), Some("a.csv"));
    assert_eq!(rust_cells(PAGE), [("a".to_owned(), 23), ("|b|".to_owned(), 23)]);
}

/// Outputs that differ or are missing are reported; wildcards match.
#[test]
fn outputs_are_compared() {
    let output = |block, within, text: &str| Output { block, within, text: text.to_owned() };
    let good = [output(0, false, "one\n"), output(3, false, ""), output(4, true, "$ date\nin 5.1 ms\n")];
    assert_eq!(page().compare(&good, false), Ok(()));
    for (bad, message) in [
        (output(0, false, "two\n"), r#"page.md:10: expected "one\n", found "two\n""#),
        (output(0, false, ""), "page.md:10: expected \"one\\n\", found the end of the text"),
        (output(3, false, "one\n"), r#"page.md:18: the output is not shown: "one\n""#),
        (output(4, true, "$ date\nin 5 s\n"), r#"page.md:27: expected "in [..] ms\n", found "in 5 s\n""#),
    ] {
        let found = page().compare(&[bad], false).unwrap_err();
        assert!(found.starts_with(message), "{found}");
    }
}

/// Blessing writes outputs into the page, and keeps wildcards that match.
#[test]
fn blessing_writes_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let page = Page::parse(folder.path(), Path::new("page.md"), PAGE.to_owned());
    let output = |block, within, text: &str| Output { block, within, text: text.to_owned() };
    let found = [output(0, false, "two\n"), output(3, false, "new\n"), output(4, true, "$ date\nin 5.1 ms\nmore\n")];
    assert_eq!(page.compare(&found, true), Ok(()));
    let text = fs::read_to_string(folder.path().join("page.md")).unwrap();
    let expected = PAGE.replace("one\n", "two\n").replace("g();\n```", "g();\n```\n\n```text\nnew\n```");
    assert_eq!(text, expected.replace("in [..] ms\n", "in [..] ms\nmore\n"));
}
