//! Tests with files in redpoll's own format that are cut or changed while they are open. Every use
//! returns the values that the file had when it was opened, or an error; the process does not
//! crash. Also tests which parts of an open file count against the memory limit.
#![allow(clippy::print_stdout, reason = "the child process of a test reports by its output")]
#![cfg(all(target_os = "linux", feature = "files"))]

use redpoll::Config;
use redpoll::logic::{DType, Scalar, TensorType};
use redpoll::prelude::*;
use redpoll::storage::{Tensor, Values};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const ROWS: u64 = 512;
const COLUMNS: u64 = 1024;

/// Writes a matrix of equal values, all stored.
fn write_matrix(path: &Path, format: Format, value: f64) {
    let ty = TensorType { shape: vec![ROWS, COLUMNS], dtype: DType::F64, fill: Scalar::F64(0.0), format };
    let values = Values::from(vec![value; (ROWS * COLUMNS) as usize]);
    Session::default().array(Tensor::from_dense(ty, &values).unwrap()).write(path).unwrap();
}

/// Writes a matrix of ones, and returns its path.
fn matrix(folder: &TempDir, format: Format) -> PathBuf {
    let path = folder.path().join("a.rpt");
    write_matrix(&path, format, 1.0);
    path
}

fn sum(session: &Session, path: &Path) -> Result<f64, redpoll::Error> {
    session.read(path)?.sum(..).item::<f64>()
}

/// Name of the environment variable with the path of the file that a child process reads.
const CHILD: &str = "REDPOLL_TEST_MAPPED_FILE";

/// Runs kernels on a file until a run fails, and prints the error.
fn run_until_error(path: &Path) {
    let session = Session::default();
    let matrix = session.read(path).unwrap();
    let prepared = matrix.sum(..).prepare().unwrap();
    println!("ready");
    std::io::stdout().flush().unwrap();
    loop {
        if let Err(error) = prepared.run() {
            println!("error: {error}");
            return;
        }
    }
}

/// Changes a file while a child process runs kernels on it, and returns the output of the child.
fn output_of_child(test: &str, format: Format, change: impl FnOnce(&fs::File)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = matrix(&folder, format);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(CHILD, &path).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("ready") {
        assert!(output.read_line(&mut text).unwrap() > 0, "the child ended: {text}");
    }
    change(&OpenOptions::new().write(true).open(&path).unwrap());
    output.read_to_string(&mut text).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {text}");
    text
}

#[test]
fn a_file_that_is_cut_while_kernels_run_is_an_error() {
    if let Some(path) = std::env::var_os(CHILD) {
        return run_until_error(Path::new(&path));
    }
    for format in [Format::dense(2), Format::csr()] {
        let cut = |file: &fs::File| file.set_len(4096).unwrap();
        let text = output_of_child("a_file_that_is_cut_while_kernels_run_is_an_error", format, cut);
        // The error depends on which page a kernel reads first after the cut.
        assert!(
            text.contains("is lost: the file was cut") || text.contains("has changed since it was opened"),
            "{text}"
        );
    }
}

#[test]
fn a_file_that_is_changed_while_kernels_run_is_an_error() {
    if let Some(path) = std::env::var_os(CHILD) {
        return run_until_error(Path::new(&path));
    }
    let name = "a_file_that_is_changed_while_kernels_run_is_an_error";
    let change = |file: &fs::File| file.write_all_at(&[0x40; 1 << 16], 1 << 20).unwrap();
    let text = output_of_child(name, Format::dense(2), change);
    assert!(text.contains("has changed since it was opened; open it again"), "{text}");
}

/// Coordinates never come from a changed file: the coordinates are loaded once, and compared with
/// the record of the validated file.
#[test]
fn changed_coordinates_are_never_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = matrix(&folder, Format::csr());
    let (session, total) = (Session::default(), (ROWS * COLUMNS) as f64);
    let (early, late) = (session.read(&path).unwrap(), session.read(&path).unwrap());
    assert_eq!(early.sum(..).item::<f64>().unwrap(), total);
    let bytes = fs::read(&path).unwrap();
    // Between the header and the values, the file has only `ptr` and `idx`.
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(&[0xee; 4096], 4096).unwrap();
    file.set_modified(modified).unwrap();
    let error = late.sum(..).item::<f64>().unwrap_err().to_string();
    assert!(error.contains("has changed since it was opened"), "{error}");
    let error = early.sum(0).to_vec::<f64>().unwrap_err().to_string();
    assert!(error.contains("has changed since it was opened"), "{error}");
    // A file that is opened after the change is validated again.
    let error = sum(&session, &path).unwrap_err().to_string();
    assert!(error.contains("a.rpt") && error.contains("invalid tensor"), "{error}");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(sum(&session, &path).unwrap(), total);
    // A file that replaces an open file does not affect the tensor of the open file.
    let open = session.read(&path).unwrap();
    write_matrix(&path, Format::csr(), 2.0);
    assert_eq!(open.sum(..).item::<f64>().unwrap(), total);
    assert_eq!(sum(&session, &path).unwrap(), 2.0 * total);
}

/// Mapped values do not count against the memory limit, but loaded coordinates do.
#[test]
fn mapped_values_need_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = matrix(&folder, Format::dense(2));
    let session = Session::new(Config { memory_limit: Some(1 << 20), ..Config::default() });
    assert_eq!(sum(&session, &path).unwrap(), (ROWS * COLUMNS) as f64);
    let path = matrix(&folder, Format::csr());
    let error = sum(&session, &path).unwrap_err().to_string();
    assert!(error.contains("memory"), "{error}");
}
