//! Runs every program file on a CUDA device, if the machine has a device. A device gives the values
//! of the CPU, or declines the program for a reason in the table of `physical/devices/README.md`.
//! Without a device, the CUDA text is still emitted, so the test finds declined programs on any
//! machine.

use redpoll::devices::cuda::Cuda;
use redpoll::{Detail, Prepared, Target};
use redpoll_testing::device::{DEVICE_DECLINES, prepare, program_files, run_values};

/// A device computes the values of the CPU, or declines the program with the message
/// [`DEVICE_DECLINES`].
#[test]
fn program_files_run_on_a_device_or_are_declined() {
    let device = Cuda::open(0);
    if let Err(reason) = &device {
        eprintln!("no program ran on a device: {reason}");
    }
    let (mut accepted, mut declined, mut failed) = (0, Vec::new(), Vec::new());
    for (name, file) in program_files() {
        let prepared = prepare(&file);
        let text = cuda_text(&prepared);
        if text.starts_with("// ") {
            assert!(text.contains(DEVICE_DECLINES), "{name}: {text}");
            declined.push(name);
            continue;
        }
        assert!(text.contains("__global__") || !has_loops(&prepared), "{name}");
        accepted += 1;
        if device.is_ok() {
            let [cpu, found] = [Target::CPU, Target::cuda(0)].map(|target| run_values(&prepared, target));
            match found {
                Err(error) => failed.push(format!("{name}: {error}")),
                Ok(found) if found != cpu.unwrap() => failed.push(format!("{name}: other values than on the CPU")),
                Ok(_) => {}
            }
        }
    }
    // All failures are reported, since a device is rarely available.
    assert!(failed.is_empty(), "{} of {accepted} programs fail:\n{}", failed.len(), failed.join("\n"));
    eprintln!("{accepted} programs are accepted, declined: {}", declined.join(", "));
    assert!(accepted > 3 * declined.len() && accepted > 40, "{accepted} accepted, {declined:?} declined");
}

fn cuda_text(prepared: &Prepared) -> String {
    let sections = prepared.explain(Detail::Code(Target::cuda(0))).unwrap();
    sections.into_iter().find(|section| section.title == "cuda").unwrap().text
}

fn has_loops(prepared: &Prepared) -> bool {
    prepared.flow().unwrap().queries.iter().any(|query| !query.is_conversion)
}
