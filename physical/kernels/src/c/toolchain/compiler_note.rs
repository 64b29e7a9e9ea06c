//! Notes on C compilers in the cache on disk: a process that finds its kernels in the cache need
//! not start a compiler to learn the version of the compiler.
//!
//! The key of a note is derived from the name of the compiler and from the environment. The note
//! holds the compiler that an earlier process found, and a stamp of its file: the path with
//! symbolic links resolved, the size and the modification time. If the stamp has changed, the
//! compiler is queried again.

use super::compiler::Compiler;
use crate::cache::{DiskCache, EntryKind, key};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{env, fs};

/// Prefixes of the environment variables from which the crate `cc` derives the compiler and its
/// arguments.
const VARIABLE_PREFIXES: &[&str] = &[
    "CC",
    "CFLAGS",
    "COMPILER_PATH",
    "CRATE_CC_",
    "CROSS_COMPILE",
    "GCC_",
    "HOST_C",
    "MACOSX_",
    "PATH",
    "RUSTC_",
    "SDKROOT",
    "TARGET_C",
];

/// Separator of the parts of a note; paths, arguments and variables cannot contain it.
const SEPARATOR: char = '\0';

/// The cache key of a note on a compiler.
pub(super) struct CompilerNote {
    key: String,
}

impl CompilerNote {
    /// Returns the key of the note on the compiler of this name in the environment of this process.
    pub(super) fn for_command(command: Option<&Path>) -> CompilerNote {
        let is_relevant = |name: &OsString| {
            name.to_str().is_some_and(|name| VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        };
        let mut variables: Vec<_> = env::vars_os().filter(|(name, _)| is_relevant(name)).collect();
        variables.sort();
        CompilerNote { key: key(EntryKind::Compiler, [&format!("{command:?} {variables:?}")]) }
    }

    /// Returns the noted compiler, if its file is unchanged.
    pub(super) fn find(&self, disk: &DiskCache) -> Option<Compiler> {
        let text = disk.read_note(&self.key)?;
        let mut parts = text.split(SEPARATOR);
        let stamp = parts.next()?;
        let path = PathBuf::from(parts.next()?);
        let version = parts.next()?.to_owned();
        let count: usize = parts.next()?.parse().ok()?;
        let args: Vec<OsString> = parts.by_ref().take(count).map(OsString::from).collect();
        let rest: Vec<OsString> = parts.map(OsString::from).collect();
        let env = rest.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        let is_unchanged = args.len() == count && rest.len().is_multiple_of(2) && file_stamp(&path)? == stamp;
        is_unchanged.then_some(Compiler { path, args, env, version })
    }

    /// Notes a compiler. If that fails, the next process queries the compiler again.
    pub(super) fn write(&self, disk: &DiskCache, compiler: &Compiler) {
        if let Some(text) = note_text(compiler) {
            let _ = disk.write_note(&self.key, &text);
        }
    }
}

/// Returns the note on a compiler; `None` if it cannot be written as text or its file is not found.
fn note_text(compiler: &Compiler) -> Option<String> {
    let Compiler { path, args, env, version } = compiler;
    let (stamp, count) = (file_stamp(path)?, args.len().to_string());
    let mut parts = vec![stamp.as_str(), path.to_str()?, version, &count];
    for arg in args.iter().chain(env.iter().flat_map(|(name, value)| [name, value])) {
        parts.push(arg.to_str()?);
    }
    let is_valid = parts.iter().all(|part| !part.contains(SEPARATOR));
    is_valid.then(|| parts.join(&SEPARATOR.to_string()))
}

/// Returns the path, the size and the modification time of the file of a program as text; `None` if
/// they cannot be read. A name without a folder is looked up in `PATH`.
fn file_stamp(program: &Path) -> Option<String> {
    let found = if program.components().count() > 1 {
        program.to_owned()
    } else {
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())?
    };
    let file = fs::canonicalize(found).ok()?;
    let metadata = fs::metadata(&file).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", file.to_str()?, metadata.len(), modified.as_nanos()))
}
