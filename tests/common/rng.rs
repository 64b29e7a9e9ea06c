//! The seeded generator. The same seed gives the same numbers on every machine, so that a failure
//! can be reproduced from its seed.

pub use redpoll_logic::testing::Rng;

/// Returns a generator whose seed depends on a name and a number.
pub fn named(name: &str, number: u64) -> Rng {
    let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    Rng::new(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash) ^ number)
}
