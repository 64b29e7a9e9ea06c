//! The seeded generator, the same on every machine: a failure names its seed and comes back with it.

pub use redpoll_logic::testing::Rng;

/// The generator of a name and a number.
pub fn named(name: &str, number: u64) -> Rng {
    let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    Rng::new(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash) ^ number)
}
