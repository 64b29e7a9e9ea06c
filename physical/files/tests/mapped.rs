//! Tests of mapped files: the process keeps running when a mapped file is truncated or changed, and
//! checks report the change. Faults of other mappings end the process.
#![cfg(target_os = "linux")]

use redpoll_files::{FileChange, MappedFile};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const BYTES: u64 = 1 << 20;

fn write_file(path: &Path) {
    fs::write(path, vec![7; BYTES as usize]).unwrap();
}

fn mapped(path: &Path) -> Arc<MappedFile> {
    MappedFile::open(File::open(path).unwrap()).unwrap().expect("files are mapped on Linux")
}

fn sum(file: &Arc<MappedFile>) -> u64 {
    file.range(0..BYTES).unwrap().as_ref().iter().map(|&b| u64::from(b)).sum()
}

#[test]
fn a_file_that_stays_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write_file(&path);
    let file = mapped(&path);
    assert_eq!((sum(&file), file.check()), (7 * BYTES, Ok(())));
    assert!(file.range(1..BYTES + 1).is_none() && file.range(3..3).is_some());
    // Neither a new name nor the loss of the only name changes the content.
    fs::rename(&path, folder.path().join("b")).unwrap();
    fs::remove_file(folder.path().join("b")).unwrap();
    assert_eq!((sum(&file), file.check()), (7 * BYTES, Ok(())));
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    assert!(MappedFile::open(File::open(&empty).unwrap()).unwrap().is_none());
}

#[test]
fn lost_pages_are_zeros_and_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write_file(&path);
    let file = mapped(&path);
    assert_eq!(sum(&file), 7 * BYTES);
    let half = OpenOptions::new().write(true).open(&path).unwrap();
    half.set_len(BYTES / 2).unwrap();
    let threads: Vec<_> = (0..4).map(|_| file.clone()).map(|file| std::thread::spawn(move || sum(&file))).collect();
    threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 7 * BYTES / 2));
    assert_eq!(file.check(), Err(FileChange::Lost));
    // The loss is remembered, and other mappings are not affected.
    half.set_len(BYTES).unwrap();
    assert_eq!(file.check(), Err(FileChange::Lost));
    drop(file);
    let again = mapped(&path);
    assert_eq!((sum(&again), again.check()), (7 * BYTES / 2, Ok(())));
}

#[test]
fn changes_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write_file(&path);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
    let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
    writer.set_modified(old).unwrap();
    let file = mapped(&path);
    writer.seek(SeekFrom::Start(BYTES / 3)).unwrap();
    writer.write_all(b"changed").unwrap();
    assert_eq!(file.check(), Err(FileChange::Changed));
    // A forged time of modification does not hide the change.
    writer.set_modified(old).unwrap();
    assert_eq!(file.check(), Err(FileChange::Changed));
    let file = mapped(&path);
    writer.set_len(BYTES + 1).unwrap();
    assert_eq!(file.check(), Err(FileChange::Changed));
}

/// The environment variable that is set in the child process, which runs the test below again.
const CHILD: &str = "REDPOLL_TEST_FOREIGN_FAULT";

/// A fault that no mapping of this crate causes ends the process as it would without the handler.
#[test]
fn foreign_faults_end_the_process() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write_file(&path);
    if std::env::var_os(CHILD).is_some() {
        let guarded = mapped(&path);
        assert_eq!(sum(&guarded), 7 * BYTES);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        // SAFETY: the mapping is only read; the fault that a read causes is the purpose.
        let foreign = unsafe { memmap2::Mmap::map(&file).unwrap() };
        file.set_len(0).unwrap();
        std::process::exit(i32::from(foreign[0]));
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let status = child.args(["foreign_faults_end_the_process", "--exact"]).env(CHILD, "1").output().unwrap().status;
    assert_eq!(status.signal(), Some(libc::SIGBUS));
}
