//! The features of the processor, as a text that differs if code for one processor may not run on
//! another.

use std::sync::OnceLock;

/// Returns the CPUID words of an x86-64 processor, without the words that differ from core to core;
/// the name of the architecture for other processors.
pub(super) fn features() -> &'static str {
    static FEATURES: OnceLock<String> = OnceLock::new();
    FEATURES.get_or_init(query)
}

#[cfg(target_arch = "x86_64")]
fn query() -> String {
    use std::arch::x86_64::__cpuid_count;
    use std::fmt::Write;
    let mut text = String::new();
    // Vendor, model and features; state that the system saves (AVX, AVX-512); AVX10; extended
    // features.
    for (leaf, part) in [(0, 0), (1, 0), (7, 0), (7, 1), (0xd, 0), (0xd, 1), (0x24, 0), (0x8000_0001, 0)] {
        let registers = __cpuid_count(leaf, part);
        // This register has the number of the core in leaf 1, and the size of the state in use in
        // leaf 0xd. Both may differ from core to core.
        let ebx = if leaf == 1 || leaf == 0xd { 0 } else { registers.ebx };
        let _ = write!(text, "{:x} {ebx:x} {:x} {:x};", registers.eax, registers.ecx, registers.edx);
    }
    text
}

#[cfg(not(target_arch = "x86_64"))]
fn query() -> String {
    std::env::consts::ARCH.into()
}
