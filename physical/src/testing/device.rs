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

/// How libraries are compiled.
const LIBRARY: &[&str] = &["-std=c++17", "-w", "-fPIC", "-shared", "-pthread"];
/// How units are compiled, beside that: with floats as in [`crate::emit::cuda::OPTIONS`]. What C++ leaves undefined, overflow of integers with
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program says that runs a kernel by a block of 32 threads which share 64 bytes; `None` where it runs to its end.
    fn said(kernel: &str) -> Option<String> {
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

    /// Protects what blocks are checked for from passing everything.
    #[test]
    fn broken_blocks_are_seen() {
        let cases = [
            ("if (threadIdx.x != 3) __syncwarp(~0u);", "threads wait for others that do not come"),
            // It may be seen by those who wait, or by those who come later.
            ("if (threadIdx.x != 3) __syncthreads();", "threads"),
            ("if (threadIdx.x % 2) __syncwarp(~0u); else __any_sync(~0u, 1);", "or do not do the same"),
            ("__syncwarp(0xffu);", "a mask without the lane that names it"),
            ("__syncwarp(0x55555555u << threadIdx.x % 2);", "the lanes of a mask are no range"),
            ("__shfl_sync(0xffu << threadIdx.x / 8 * 8, 1, 20, 32);", "a shuffle from a lane that is not named"),
            ("rp_shared[8] = 1;", "the block wrote behind its memory"),
        ];
        for (kernel, words) in cases {
            let said = said(kernel).unwrap_or_else(|| panic!("not seen: {kernel}"));
            assert!(said.contains(words), "{kernel}: {said}");
        }
        let sound = "__syncwarp(~0u); if (__shfl_sync(~0u, threadIdx.x, 5, 8) % 8 != 5) std::abort(); rp_shared[7] = 1; \
                     if (!__any_sync(0xffu << threadIdx.x / 8 * 8, threadIdx.x % 8 == 2)) std::abort(); \
                     if (__shfl_down_sync(~0u, threadIdx.x, 4, 16) != threadIdx.x + (threadIdx.x % 16 < 12 ? 4 : 0)) std::abort();";
        assert_eq!(said(sound), None);
    }
}
