//! The cache loads, removes and changes its own files only.

use super::{DiskCache, EntryKind, key};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Stores a library under the key of a text, with bytes that depend on the text.
fn keep(disk: &DiskCache, text: &str) -> PathBuf {
    let work = disk.work_folder().unwrap();
    let library = work.path().join("library");
    fs::write(&library, text.repeat(100)).unwrap();
    disk.insert(&key(EntryKind::Kernels, [text]), &library).unwrap()
}

fn found(disk: &DiskCache, text: &str) -> bool {
    disk.find(&key(EntryKind::Kernels, [text])).is_some()
}

/// Lists all files and folders below a folder, with their modes.
fn listing(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        all.push(format!("{} {:?}", entry.path().display(), entry.metadata().unwrap().permissions()));
        if entry.metadata().unwrap().is_dir() {
            all.extend(listing(&entry.path()));
        }
    }
    all.sort();
    all
}

fn age(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(30 * 24 * 3600);
    fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}

/// When the cache shrinks, other files and folders stay with their modes, even if their names are
/// like those of the cache.
#[test]
fn other_things_in_the_folder_stay() {
    let folder = tempfile::tempdir().unwrap();
    #[cfg(unix)]
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let checksum = blake3::hash(b"").to_hex();
    let old_work = "redpoll-work-notes.txt";
    let kinds = ["data", "work-2024", "kernels", "kernels-of-wheat", "redpoll-work-", "compiler-notes", &checksum];
    for name in kinds {
        let inside = folder.path().join(name).join("inside");
        fs::create_dir_all(&inside).unwrap();
        fs::write(inside.join("file"), "x".repeat(1000)).unwrap();
        fs::write(folder.path().join(name).join("file.so"), "x".repeat(1000)).unwrap();
    }
    fs::write(folder.path().join(old_work), "x").unwrap();
    kinds.iter().chain([&old_work]).for_each(|name| age(&folder.path().join(name)));
    let before = listing(folder.path());

    let disk = DiskCache::open(folder.path(), 1000).unwrap();
    // A foreign file in an entry.
    let entry = keep(&disk, "a").parent().unwrap().to_owned();
    fs::write(entry.join("notes"), "mine").unwrap();
    age(&entry);
    for text in ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"] {
        keep(&disk, text);
    }
    assert!(found(&disk, "l") && !found(&disk, "a"), "the cache was not shrunk");
    assert_eq!(fs::read_to_string(entry.join("notes")).unwrap(), "mine");
    let after = listing(folder.path());
    let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
    assert!(lost.is_empty(), "removed or changed: {lost:#?}");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(folder.path()).unwrap()) & 0o7777, 0o755);
}

/// Code that others may have written is not loaded.
#[cfg(unix)]
#[test]
fn entries_writable_by_others_are_not_used() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskCache::open(folder.path(), 1 << 20).unwrap();
    let library = keep(&disk, "a");
    let entry = library.parent().unwrap();
    assert!(found(&disk, "a") && disk.refused_entry().is_none());
    assert_eq!(
        (fs::metadata(entry).unwrap().mode() & 0o777, fs::metadata(&library).unwrap().mode() & 0o777),
        (0o700, 0o600)
    );

    let refused = || {
        let disk = DiskCache::open(folder.path(), 1 << 20).unwrap();
        assert!(!found(&disk, "a"));
        disk.refused_entry().unwrap().to_owned()
    };
    for mode in [0o720, 0o702, 0o1777] {
        chmod(entry, mode);
        assert!(refused().contains("others can write to it"), "{mode:o}: {}", refused());
    }
    chmod(entry, 0o755);
    chmod(&library, 0o606);
    assert!(refused().contains("others can write to it"), "{}", refused());
    chmod(&library, 0o644);
    assert!(found(&disk, "a"), "read access of others is harmless");
    if rustix::process::geteuid().is_root() {
        for path in [entry, &library] {
            chown(path, Some(12345), None).unwrap();
            assert!(refused().contains("it belongs to user 12345"), "{}", refused());
            assert!(library.exists(), "files of other users stay");
            chown(path, Some(0), None).unwrap();
        }
    }
    // Links are not followed.
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("entry");
    fs::rename(entry, &moved).unwrap();
    symlink(&moved, entry).unwrap();
    assert!(refused().contains("it is not a folder"), "{}", refused());

    for mode in [0o777, 0o1777, 0o770] {
        chmod(folder.path(), mode);
        let fault = DiskCache::open(folder.path(), 1 << 20).unwrap_err();
        assert!(fault.contains("others can write to it"), "{fault}");
        assert_eq!(fs::metadata(folder.path()).unwrap().mode() & 0o7777, mode, "the mode stays");
    }
}
