//! An emulated CUDA device on the host: libraries with the functions of the driver and of the
//! run-time compiler that the bindings call, so that all device code runs on machines without a
//! device.
//!
//! The emulation is stricter than a device: it detects copies to and from memory outside of the
//! device, writes within 256 bytes before or after an allocation or after the memory of a block,
//! and calls from threads without a context. The emulation counts the bytes in use, so that tests
//! find leaks. New memory is poisoned, and streams run concurrently. The memory model of a device
//! and its speed are not emulated.

use libloading::Library;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The text that precedes a unit, so that the unit compiles as C++.
pub(crate) const BLOCK: &str = include_str!("device/block.h");
const DRIVER: &str = include_str!("device/driver.cpp");
const COMPILER: &str = include_str!("device/nvrtc.cpp");

/// Compiler options for libraries.
const LIBRARY: &[&str] = &["-std=c++17", "-w", "-fPIC", "-shared", "-pthread"];
/// Additional compiler options for units. Floats are computed as with [`crate::cuda::OPTIONS`].
/// Signed overflow, invalid shifts, divisions of integers by zero, and casts of floats out of range
/// end the process.
pub(crate) const UNIT: &[&str] = &[
    "-O1",
    "-ffp-contract=off",
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow",
    "-fsanitize-undefined-trap-on-error",
];

/// Returns the command that compiles a library with the compiler that `CXX` names, or else with
/// `c++`.
pub(crate) fn compiler(options: &[&str]) -> Command {
    let mut command = Command::new(compiler_name());
    command.args(LIBRARY).args(options);
    command
}

fn compiler_name() -> OsString {
    std::env::var_os("CXX").unwrap_or_else(|| "c++".into())
}

/// Libraries of an emulated device, found by later look-ups of `libcuda` and `libnvrtc`.
pub struct EmulatedDevice {
    driver: Library,
    /// Kept in memory, since the bindings keep pointers into the library.
    _compiler: Library,
}

impl EmulatedDevice {
    /// Builds the libraries in a folder, which must exist while the libraries are used. Returns the
    /// paths of the driver and of the run-time compiler.
    ///
    /// # Errors
    /// If the folder is not writable, there is no C++ compiler, or the compiler fails.
    pub fn build(folder: &Path) -> io::Result<[PathBuf; 2]> {
        std::fs::write(folder.join("block.h"), BLOCK)?;
        let quoted =
            |name: &str, text: &str| format!("-D{name}=\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let units = [&[&*compiler_name().to_string_lossy()], LIBRARY, UNIT].concat().join(" ");
        // The version is part of the keys of cached units, so that units that were compiled for
        // another emulation are not reused.
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
            // A later look-up of this `soname` finds the library that is loaded already.
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

    /// Builds the libraries in a folder and loads them into this process. The process must not have
    /// looked up a device before.
    ///
    /// # Errors
    /// The errors of [`EmulatedDevice::build`], or an error if the libraries cannot be loaded.
    pub fn load(folder: &Path) -> io::Result<EmulatedDevice> {
        // SAFETY: when the libraries are loaded, only constructors of C++ standard types run.
        let load = |path: PathBuf| unsafe { Library::new(path) }.map_err(io::Error::other);
        let [driver, compiler] = EmulatedDevice::build(folder)?.map(load);
        Ok(EmulatedDevice { driver: driver?, _compiler: compiler? })
    }

    /// Makes the driver fail after `calls` more calls, as if its device were lost; `None` restores
    /// the device.
    pub fn fail_after(&self, calls: Option<u32>) {
        let calls = calls.map_or(-1, i64::from);
        // SAFETY: the function has this type.
        unsafe {
            self.driver.get::<unsafe extern "C" fn(i64)>(b"emulated_fail_after").expect("the library exports it")(
                calls,
            );
        }
    }

    /// Returns the number of driver calls so far that [`EmulatedDevice::fail_after`] counts.
    pub fn calls(&self) -> u64 {
        self.number(b"emulated_calls")
    }

    /// Returns the number of bytes in use on all devices.
    pub fn used(&self) -> u64 {
        self.number(b"emulated_used")
    }

    fn number(&self, name: &[u8]) -> u64 {
        // SAFETY: the functions with these names have this type.
        unsafe { self.driver.get::<unsafe extern "C" fn() -> u64>(name).expect("the library exports it")() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a kernel in a block of 32 threads that share 64 bytes. Returns the message of the
    /// failure; `None` if the kernel completes.
    fn failure_message(kernel: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let [source, program] = ["main.cpp", "main"].map(|name| folder.path().join(name));
        let text = format!(
            "{BLOCK}\nstatic void kernel(emulated_argument) {{ {kernel} }}\n\
             int main() {{ const emulated_argument argument = {{}}; emulated_launch(kernel, &argument, 1, 32, 64); }}\n"
        );
        std::fs::write(&source, text).unwrap();
        let built = Command::new(compiler_name()).args(["-std=c++17", "-w", "-o"]).args([&program, &source]).output();
        let built = built.unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(program).output().unwrap();
        (!ran.status.success()).then(|| String::from_utf8_lossy(&ran.stderr).into_owned())
    }

    /// The checks of blocks find faults of barriers, masks and shuffles, and writes beyond the
    /// memory of a block.
    #[test]
    fn faults_of_blocks_are_found() {
        let cases = [
            ("if (threadIdx.x != 3) __syncwarp(~0u);", "threads wait for threads that never arrive"),
            // Either the waiting threads or the threads that arrive later report the fault.
            ("if (threadIdx.x != 3) __syncthreads();", "threads"),
            ("if (threadIdx.x % 2) __syncwarp(~0u); else __any_sync(~0u, 1);", "or call different functions"),
            ("__syncwarp(0xffu);", "a mask without the calling lane"),
            ("__syncwarp(0x55555555u << threadIdx.x % 2);", "the lanes of a mask are not a range"),
            ("__shfl_sync(0xffu << threadIdx.x / 8 * 8, 1, 20, 32);", "a shuffle from a lane outside of the mask"),
            ("rp_shared[8] = 1;", "the block wrote beyond its memory"),
        ];
        for (kernel, words) in cases {
            let message = failure_message(kernel).unwrap_or_else(|| panic!("no fault was found: {kernel}"));
            assert!(message.contains(words), "{kernel}: {message}");
        }
        let sound = "__syncwarp(~0u); if (__shfl_sync(~0u, threadIdx.x, 5, 8) % 8 != 5) std::abort(); rp_shared[7] = 1; \
                     if (!__any_sync(0xffu << threadIdx.x / 8 * 8, threadIdx.x % 8 == 2)) std::abort(); \
                     if (__shfl_down_sync(~0u, threadIdx.x, 4, 16) != threadIdx.x + (threadIdx.x % 16 < 12 ? 4 : 0)) std::abort(); \
                     if (__ballot_sync(~0u, threadIdx.x % 3 == 0) != 0x49249249u) std::abort();";
        assert_eq!(failure_message(sound), None);
    }
}
