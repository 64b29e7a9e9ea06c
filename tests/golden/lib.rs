//! Golden files: expected texts in separate files, which are reviewed like code.
//!
//! A test compares the text that it computes with the file. With `REDPOLL_BLESS=1`, the test writes
//! the file instead, and the change is reviewed as a diff.

pub mod markdown;
pub mod pages;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::{env, fs, io};

/// Name of the environment variable that makes tests write golden files instead of comparing them.
const BLESS: &str = "REDPOLL_BLESS";

/// Returns whether tests write golden files instead of comparing them.
pub fn is_blessing() -> bool {
    env::var_os(BLESS).is_some()
}

/// Compares a text with a file; with `REDPOLL_BLESS=1`, writes the file.
///
/// # Panics
/// Panics if the text of the file differs, or if the file cannot be read or written. The message
/// names the file, the first line that differs, and the variable.
#[track_caller]
pub fn check(path: &Path, found: &str) {
    compare(path, found, is_blessing()).unwrap_or_else(|message| panic!("{message}"));
}

/// Compares the text of each program with the file `folder/PROGRAM/file`, or writes the file, like
/// [`check`]. Also asserts that no other program has a file of this name, because such a file
/// belongs to a removed test.
///
/// # Panics
/// Panics if the text of a file differs, or if a file cannot be read or written, or belongs to no
/// program. The message lists all of these files.
#[track_caller]
pub fn check_all<'a>(folder: &str, file: &str, found: impl IntoIterator<Item = (&'a str, String)>) {
    let folder = Path::new(folder);
    let mut programs = Vec::new();
    let mut messages = Vec::new();
    for (program, text) in found {
        messages.extend(compare(&folder.join(program).join(file), &text, is_blessing()).err());
        programs.push(program);
    }
    messages.extend(only(folder, file, &programs).err());
    assert!(messages.is_empty(), "{}", messages.join("\n"));
}

/// Compares a text with a file, or writes the file; the error names the first difference.
fn compare(path: &Path, found: &str, bless: bool) -> Result<(), String> {
    let shown = path.display();
    let expected = match fs::read_to_string(path) {
        Ok(expected) => expected,
        Err(e) if e.kind() == io::ErrorKind::NotFound && bless => String::new(),
        Err(e) => return Err(format!("cannot read {shown}: {e}; {BLESS}=1 writes it")),
    };
    if expected == found && path.exists() {
        return Ok(());
    }
    if bless {
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        return folder.and_then(|()| fs::write(path, found)).map_err(|e| format!("cannot write {shown}: {e}"));
    }
    let (number, expected, found) = first_difference(&expected, found);
    Err(format!("{shown}:{number}: expected {expected}, found {found}; {BLESS}=1 rewrites the file, review its diff"))
}

/// Returns the number of the first line that differs, and this line in both texts.
fn first_difference(expected: &str, found: &str) -> (usize, String, String) {
    let [expected, found] = [expected, found].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let equal = expected.iter().zip(&found).take_while(|(expected, found)| expected == found).count();
    let line = |text: &[&str]| text.get(equal).map_or("the end of the text".to_string(), |line| format!("{line:?}"));
    (equal + 1, line(&expected), line(&found))
}

/// Checks that in `folder`, only the folders of the given programs have a file with the name
/// `file`. The error lists the files in other folders.
fn only(folder: &Path, file: &str, programs: &[&str]) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let mut left: Vec<String> = entries
        .map(|entry| entry.expect("the folder can be read").file_name().to_string_lossy().into_owned())
        .filter(|program| folder.join(program).join(file).exists() && !programs.contains(&&program[..]))
        .map(|program| format!("{} belongs to no test, remove it", folder.join(program).join(file).display()))
        .collect();
    left.sort();
    if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
}
