//! Dumps of every phase of a plan or program to a folder, and loading of edited C text from such a
//! folder.

use crate::config::Config;
use crate::error::Error;
use crate::executable::Executable;
use crate::explain::Section;
use redpoll_logic::Alias;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// File of the C text of all kernels of a plan or program.
const KERNELS: &str = "kernels.c";

/// Returns the subfolder of `folder` for a plan or program with this text and these results. The
/// name is the same in every process.
pub(crate) fn folder_of(text: &str, produces: &[Alias], folder: &Path) -> PathBuf {
    // FNV-1a suffices: names need not resist attacks.
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let names: String = produces.iter().map(|name| format!("{name}-")).collect();
    let letters = names.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_').take(40);
    folder.join(format!("{}{hash:016x}", letters.collect::<String>()))
}

/// Writes the text of every phase, and the C text of the kernels, to a folder.
pub(crate) fn write(folder: &Path, sections: &[Section], executable: &Executable) -> Result<(), Error> {
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(|source| Error::Dump { path: folder.join(name), source })
    };
    fs::create_dir_all(folder).map_err(|source| Error::Dump { path: folder.to_owned(), source })?;
    for (k, section) in sections.iter().enumerate() {
        let name: String = section.title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        write(&format!("{k:02}-{name}.txt"), &section.text)?;
    }
    write(KERNELS, &executable.optimizing_tier.text(&executable.stages)?)
}

/// Returns the C text of a plan or program from an earlier dump, if the configuration names a
/// folder that has the text. `text` returns the text of the plan or program.
pub(crate) fn read_edited(
    config: &Config,
    text: impl FnOnce() -> String,
    produces: &[Alias],
) -> Result<Option<String>, Error> {
    let Some(folder) = &config.load else { return Ok(None) };
    let path = folder_of(&text(), produces, folder).join(KERNELS);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Dump { path, source }),
    }
}
