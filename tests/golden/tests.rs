//! Tests of the comparison, and of the folder of golden files of `physical`.

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

/// Files of dropped programs are found.
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

/// The texts of a program, in the order in which it is compiled.
const TEXTS: [&str; 4] = ["assembly.txt", "grid.txt", "kernel.c", "kernel.cu"];

/// Each golden folder of `physical` has a text that a test compares, and no file that none reads.
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
