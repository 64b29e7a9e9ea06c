//! Program files, and their runs, for tests that compare devices with the CPU.

use crate::data::ValueKind;
use crate::program::{CaseChoice, ProgramFile};
use redpoll::storage::Tensor;
use redpoll::{Bindings, Prepared, Session, Target};
use redpoll_logic::{FloatMode, Format, Scalar};
use std::path::Path;

/// Part of the error with which a device declines a program.
pub const DEVICE_DECLINES: &str = "is a function of the host; run this query on the CPU";

/// Returns all program files with their names, sorted by path.
pub fn program_files() -> impl Iterator<Item = (String, ProgramFile)> {
    // The folder in the binary does not exist on a machine that did not build the binary. The
    // environment variable names the folder there.
    let root =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into());
    let folder = Path::new(&root).join("tests/files");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "rp"));
    paths.sort();
    paths.into_iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let file = ProgramFile::parse(&name, &std::fs::read_to_string(&path).unwrap());
        (name, file)
    })
}

/// Prepares a program with exact data, and with the first sizes and formats of its header. If the
/// header has no formats, all inputs are dense.
pub fn prepare(file: &ProgramFile) -> Prepared {
    let dense = || file.ranks().into_iter().map(Format::dense).collect();
    let formats = file.formats.first().cloned().unwrap_or_else(dense);
    let choice = CaseChoice { size: 0, formats, kind: ValueKind::Exact, mode: FloatMode::Relaxed, seed: 3 };
    let case = file.case(&choice).unwrap_or_else(|e| panic!("{}: {e}", file.name));
    let session = Session::default();
    let bindings: Bindings = case.inputs.into_iter().map(|(name, tensor, _)| (name, tensor)).collect();
    session.prepare_plan(case.plan, &bindings).unwrap_or_else(|e| panic!("{}: {e}", file.name))
}

/// Runs a program and returns the values of all results. Zeros lose their sign, because a sum in
/// chunks may start from a zero of the other sign.
///
/// # Errors
/// Returns the errors of the run, and of copying results to the host.
pub fn run_values(prepared: &Prepared, target: Target) -> Result<Vec<Vec<Scalar>>, redpoll::Error> {
    let run = prepared.run_with(target)?;
    let unsigned = |value: Scalar| match value {
        Scalar::F64(x) => Scalar::F64(x + 0.0),
        Scalar::F32(x) => Scalar::F32(x + 0.0),
        other => other,
    };
    let values = |tensor: &Tensor| Ok(tensor.to_dense_scalars()?.into_iter().map(unsigned).collect());
    run.outputs.iter().map(|(_, tensor)| values(tensor)).collect()
}
