//! PTX of units, with a cache on disk that the processes of a user share.

use super::unit::OPTIONS;
use redpoll_kernels::cache::{DiskCache, EntryKind, key, open};
use redpoll_kernels::{CacheFolder, MAX_CACHE_BYTES};
use std::sync::LazyLock;

/// All that determines the PTX of a unit, apart from the fixed options.
#[derive(Clone, Copy)]
pub(super) struct Unit<'a> {
    /// The text in CUDA C++.
    pub(super) text: &'a str,
    /// The target, such as `compute_90`.
    pub(super) architecture: &'a str,
    /// The version of the compiler.
    pub(super) compiler: &'a str,
}

/// Returns the PTX of a unit, from disk or by `compile`. PTX that cannot be cached is compiled
/// again at the next call.
pub(super) fn ptx(
    unit: Unit<'_>,
    disk: Option<&DiskCache>,
    compile: impl FnOnce() -> Result<String, String>,
) -> Result<String, String> {
    let key = key(EntryKind::Ptx, [unit.compiler, unit.architecture, &OPTIONS.join(" "), unit.text]);
    if let Some(ptx) = disk.and_then(|disk| disk.read_note(&key)) {
        return Ok(ptx);
    }
    let ptx = compile()?;
    if let Some(disk) = disk {
        let _ = disk.write_note(&key, &ptx);
    }
    Ok(ptx)
}

/// Returns the user's cache, which also has the kernels of the C tier; `None` if there is no such
/// cache or it cannot be opened.
pub(super) fn disk() -> Option<&'static DiskCache> {
    static DISK: LazyLock<Option<DiskCache>> = LazyLock::new(|| open(&CacheFolder::User, MAX_CACHE_BYTES)?.ok());
    DISK.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Units compile once for each text, architecture and compiler.
    #[test]
    fn units_are_compiled_once() {
        let folder = tempfile::tempdir().unwrap();
        let disk = open(&CacheFolder::At(folder.path().to_owned()), 1 << 20).unwrap().unwrap();
        let compiled = Cell::new(0);
        let compile = || {
            compiled.set(compiled.get() + 1);
            Ok(format!("ptx {}", compiled.get()))
        };
        let unit = Unit { text: "text", architecture: "compute_90", compiler: "13.0" };
        let others = [Unit { text: "other", ..unit }, Unit { architecture: "compute_75", ..unit }];
        for (k, unit) in [unit].into_iter().chain(others).chain([Unit { compiler: "12.9", ..unit }]).enumerate() {
            for _ in 0..2 {
                assert_eq!(ptx(unit, Some(&disk), compile).unwrap(), format!("ptx {}", k + 1));
            }
        }
        assert_eq!(ptx(unit, None, compile).unwrap(), "ptx 5", "without a cache the unit is compiled again");
        let refused = Unit { text: "refused", ..unit };
        assert_eq!(ptx(refused, Some(&disk), || Err("no".into())).unwrap_err(), "no");
        assert_eq!(ptx(refused, Some(&disk), compile).unwrap(), "ptx 6", "failures are not cached");
    }
}
