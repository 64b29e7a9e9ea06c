//! Checks that each folder uses only folders above it in the table of `lib.rs`.

use std::fs;
use std::path::{Path, PathBuf};

/// Files at the top that hold plain data, and may be used everywhere.
const DATA: [&str; 4] = ["config", "error", "report", "state"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable").map(|e| e.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[test]
fn folders_use_those_above_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let root = fs::read_to_string(source.join("lib.rs")).expect("lib.rs is readable");
    let table = root.split("//! | folder | contents |").nth(1).expect("lib.rs has the table of folders");
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("//! | `"));
    let folders: Vec<&str> = rows.map(|row| row.split('`').next().expect("a name")).collect();
    assert!(folders.len() > 10, "{folders:?}");
    let mut used = 0;
    for (at, folder) in folders.iter().enumerate() {
        for path in sources(&source.join(folder)).iter().filter(|path| !path.ends_with("tests.rs")) {
            let text = fs::read_to_string(path).expect("the file is readable");
            let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            for name in code.split("crate::").skip(1) {
                let name = name.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().expect("a part");
                let is_above = folders[..=at].contains(&name);
                let is_public_type = name.is_empty();
                assert!(is_above || is_public_type || DATA.contains(&name), "{} uses `{name}`", path.display());
                used += usize::from(is_above);
            }
        }
    }
    assert!(used > 100, "{used} paths");
}
