//! Writes the libraries of an emulated CUDA device into a folder, for any program whose
//! `LD_LIBRARY_PATH` names the folder:
//! `cargo run -p redpoll-devices --features testing --example emulated_device -- FOLDER`.

use redpoll_devices::testing::device::EmulatedDevice;
use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| io::Error::other("usage: emulated_device FOLDER"))?;
    std::fs::create_dir_all(&folder)?;
    // The path is absolute, because programs with any working directory compile units in this
    // folder.
    EmulatedDevice::build(&std::fs::canonicalize(folder)?)?;
    Ok(())
}
