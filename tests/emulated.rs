//! All of the code for devices on machines without one: driver and run-time compiler are emulated in this process, so what is
//! asked of them is what a device would be asked.
#![cfg(target_os = "linux")]

mod common;

use common::device::{prepared, program_files, values};
use redpoll::Engine;
use redpoll::physical::testing::device::EmulatedDevice;
use std::sync::{LazyLock, RwLock};
use tempfile::TempDir;

/// The device, in whose folder its libraries lie. Who lets it fail has it alone.
static DEVICE: LazyLock<RwLock<(EmulatedDevice, TempDir)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    RwLock::new((EmulatedDevice::load(folder.path()).unwrap(), folder))
});

/// Protects what stands between plans and the driver: every program file has the values of the CPU.
#[test]
fn program_files_run_as_on_the_host() {
    let _device = DEVICE.read().unwrap();
    let mut ran = 0;
    for (name, file) in program_files() {
        let prepared = prepared(&file);
        let [cpu, found] = [Engine::Cpu, Engine::Cuda(0)].map(|engine| values(&prepared, engine));
        assert_eq!(found, cpu, "{name}");
        ran += 1;
    }
    assert!(ran > 60, "{ran}");
}
