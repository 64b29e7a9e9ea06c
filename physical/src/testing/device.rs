//! A device of CUDA that is emulated on the host: libraries with the functions of the driver and of the run-time compiler that
//! the bindings call, so that all of the code for devices runs on machines without one.
//!
//! It is strict where a device is lenient: memory is found out that is not the device's, not given back, or written beyond its
//! end; so are calls from threads without a context. Memory as new holds what nobody has written, and streams go on beside
//! each other. It says nothing about the memory model of a device or about its speed.

use libloading::Library;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What stands in front of a unit.
pub(crate) const BLOCK: &str = include_str!("device/block.h");
const DRIVER: &str = include_str!("device/driver.cpp");
const COMPILER: &str = include_str!("device/nvrtc.cpp");

/// How units are compiled: with floats as in [`crate::emit::cuda::OPTIONS`]. What C++ leaves undefined, overflow of integers with
/// a sign first of all, ends the process.
pub(crate) const UNIT: &[&str] = &[
    "-O1",
    "-ffp-contract=off",
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow",
    "-fsanitize-undefined-trap-on-error",
];

/// The C++ compiler of this machine, for a library.
pub(crate) fn compiler(options: &[&str]) -> Command {
    let mut command = Command::new(compiler_name());
    command.args(LIBRARY).args(options);
    command
}

const LIBRARY: &[&str] = &["-std=c++17", "-w", "-fPIC", "-shared", "-pthread"];

fn compiler_name() -> OsString {
    std::env::var_os("CXX").unwrap_or_else(|| "c++".into())
}

/// Libraries of an emulated device, found by whoever looks for `libcuda` and `libnvrtc` from now on.
pub struct EmulatedDevice {
    driver: Library,
    /// They are never unloaded, since the bindings keep what they have found.
    _compiler: Library,
}

impl EmulatedDevice {
    /// Makes the libraries in a folder, which is to stay as long as they are used.
    ///
    /// # Errors
    /// When the folder cannot be written or there is no C++ compiler.
    pub fn build(folder: &Path) -> io::Result<[PathBuf; 2]> {
        std::fs::write(folder.join("block.h"), BLOCK)?;
        let quoted =
            |name: &str, text: &str| format!("-D{name}=\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let units = [&[&*compiler_name().to_string_lossy()], LIBRARY, UNIT].concat().join(" ");
        // What was compiled for another emulation is not found in the cache.
        let hash = blake3::hash([BLOCK, &units].concat().as_bytes());
        let version = hash.as_bytes()[..3].iter().fold(0, |version, byte| version << 8 | u32::from(*byte));
        let defined = [
            quoted("EMULATED_FOLDER", &folder.to_string_lossy()),
            quoted("EMULATED_COMPILER", &units),
            format!("-DEMULATED_VERSION={version}"),
        ];
        let build = |name: &str, text: &str| {
            let [source, library] = [format!("{name}.cpp"), format!("{name}.so")].map(|file| folder.join(file));
            std::fs::write(&source, text)?;
            // Whoever looks for the name finds the library that is loaded under it.
            let output = compiler(&["-O1", &format!("-Wl,-soname,{name}.so")])
                .args(&defined)
                .arg("-o")
                .arg(&library)
                .arg(&source)
                .arg("-ldl")
                .output()?;
            match output.status.success() {
                true => Ok(library),
                false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
            }
        };
        Ok([build("libcuda", DRIVER)?, build("libnvrtc", COMPILER)?])
    }

    /// Loads the libraries of a folder into this process, before anything has looked for a device.
    ///
    /// # Errors
    /// As [`EmulatedDevice::build`], and when they cannot be loaded.
    pub fn load(folder: &Path) -> io::Result<EmulatedDevice> {
        // SAFETY: nothing runs when they are loaded.
        let load = |path: PathBuf| unsafe { Library::new(path) }.map_err(io::Error::other);
        let [driver, compiler] = EmulatedDevice::build(folder)?.map(load);
        Ok(EmulatedDevice { driver: driver?, _compiler: compiler? })
    }

    /// From now on so many calls of the driver are done, and none behind them: its device is gone. Without a number it is there
    /// again.
    pub fn fail_after(&self, calls: Option<u32>) {
        let calls = calls.map_or(-1, i64::from);
        // SAFETY: the function has this type.
        unsafe { self.driver.get::<unsafe extern "C" fn(i64)>(b"emulated_fail_after").expect("it is exported")(calls) }
    }

    /// The calls of the driver until now that [`EmulatedDevice::fail_after`] counts.
    pub fn calls(&self) -> u64 {
        self.number(b"emulated_calls")
    }

    /// The bytes of all devices that are in use.
    pub fn used(&self) -> u64 {
        self.number(b"emulated_used")
    }

    fn number(&self, name: &[u8]) -> u64 {
        // SAFETY: functions of such names have this type.
        unsafe { self.driver.get::<unsafe extern "C" fn() -> u64>(name).expect("it is exported")() }
    }
}
