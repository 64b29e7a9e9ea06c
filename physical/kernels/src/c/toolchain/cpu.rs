//! The features of the processor, as a text that differs if code for one processor may not run on
//! another.

use std::sync::OnceLock;

/// Returns the CPUID words with the features of an x86-64 processor, without the words that differ
/// from core to core, and the vector features that the system has enabled. Returns the name of the
/// architecture for other processors.
pub(super) fn features() -> &'static str {
    static FEATURES: OnceLock<String> = OnceLock::new();
    FEATURES.get_or_init(query)
}

#[cfg(target_arch = "x86_64")]
fn query() -> String {
    use std::arch::x86_64::__cpuid_count;
    use std::fmt::Write;
    let mut text = String::new();
    // Vendor, model and features; state that the processor can save (AVX, AVX-512); AVX10; extended
    // features.
    for (leaf, part) in [(0, 0), (1, 0), (7, 0), (7, 1), (0xd, 0), (0xd, 1), (0x24, 0), (0x8000_0001, 0)] {
        let registers = __cpuid_count(leaf, part);
        // This register has the number of the core in leaf 1, and the size of the state in use in
        // leaf 0xd. Both may differ from core to core.
        let ebx = if leaf == 1 || leaf == 0xd { 0 } else { registers.ebx };
        let _ = write!(text, "{:x} {ebx:x} {:x} {:x};", registers.eax, registers.ecx, registers.edx);
    }
    // CPUID reports the features of the processor; these checks also require that the system saves
    // the registers (XCR0).
    let enabled = [
        ("avx", std::is_x86_feature_detected!("avx")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
        ("avx512bw", std::is_x86_feature_detected!("avx512bw")),
        ("avx512dq", std::is_x86_feature_detected!("avx512dq")),
        ("avx512vl", std::is_x86_feature_detected!("avx512vl")),
        ("fma", std::is_x86_feature_detected!("fma")),
        ("bmi2", std::is_x86_feature_detected!("bmi2")),
    ];
    for (name, _) in enabled.iter().filter(|(_, enabled)| *enabled) {
        let _ = write!(text, "{name};");
    }
    text
}

#[cfg(not(target_arch = "x86_64"))]
fn query() -> String {
    std::env::consts::ARCH.into()
}
