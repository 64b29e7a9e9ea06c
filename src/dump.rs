//! Every phase of a plan in a folder, and edited C text from there.

use crate::config::Config;
use crate::error::Error;
use crate::explain::Detail;
use crate::prepared::Prepared;
use redpoll_logic::Plan;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file with the C text of all kernels of a plan.
const KERNELS: &str = "kernels.c";

/// The folder of a plan: it has the same name in every process.
fn folder_of(plan: &Plan, folder: &Path) -> PathBuf {
    // FNV-1a: a name need not withstand anybody.
    let hash = plan
        .to_string()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let names: String = plan.produces.iter().map(|name| format!("{name}-")).collect();
    let letters = names.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_').take(40);
    folder.join(format!("{}{hash:016x}", letters.collect::<String>()))
}

/// Writes the text of every phase into a folder of the plan.
pub(crate) fn write(prepared: &Prepared, folder: &Path) -> Result<(), Error> {
    let folder = folder_of(&prepared.made.plan, folder);
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(|source| Error::Dump { path: folder.join(name), source })
    };
    fs::create_dir_all(&folder).map_err(|source| Error::Dump { path: folder.clone(), source })?;
    for (k, section) in prepared.explain(Detail::Clif)?.iter().enumerate() {
        let name: String = section.title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        write(&format!("{k:02}-{name}.txt"), &section.text)?;
    }
    write(KERNELS, &prepared.made.optimizing.text(&prepared.made.stages)?)
}

/// The C text of a plan from the folder of an earlier dump, if there is one.
pub(crate) fn edited(config: &Config, plan: &Plan) -> Result<Option<String>, Error> {
    let Some(folder) = &config.load else { return Ok(None) };
    let path = folder_of(plan, folder).join(KERNELS);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Dump { path, source }),
    }
}
