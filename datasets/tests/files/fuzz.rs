//! Fuzz tests: damaged files give an error or a valid tensor, without panics, hangs or excessive
//! allocations.

use proptest::prelude::*;
use redpoll_datasets::sample;
use redpoll_datasets::testing::{check_bytes, samples};
use std::sync::LazyLock;

/// Valid files of every format and layout, and a sample of real data.
static FILES: LazyLock<Vec<(&'static str, Vec<u8>)>> =
    LazyLock::new(|| samples().into_iter().chain([("a.tns", sample("berkeley").unwrap().bytes.to_vec())]).collect());

/// The indices of text files.
static TEXTS: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let is_text = |k: &usize| std::str::from_utf8(&FILES[*k].1).is_ok();
    (0..FILES.len()).filter(is_text).collect()
});

/// Checks that every reader gives an error or a valid tensor.
fn check_readers(name: &str, bytes: &[u8]) {
    check_bytes(name, bytes).unwrap_or_else(|message| panic!("{name}: {message}"));
}

#[test]
fn every_truncation() {
    for (name, bytes) in FILES.iter() {
        for length in 0..bytes.len() {
            check_readers(name, &bytes[..length]);
        }
    }
}

/// Asserts that messages stay in one line if the name of an array contains a line end.
#[test]
fn line_ends_in_names_of_arrays() {
    for (name, bytes) in FILES.iter().filter(|(name, _)| name.ends_with(".npz")) {
        for at in (1..bytes.len()).filter(|at| bytes[*at..].starts_with(b".npy")) {
            let mut bytes = bytes.clone();
            bytes[at - 1] = b'\n';
            check_readers(name, &bytes);
        }
        // The name of an array occurs in a local header and in the central directory.
        let all: Vec<usize> = (1..bytes.len()).filter(|at| bytes[*at..].starts_with(b".npy")).collect();
        let mut bytes = bytes.clone();
        all.iter().for_each(|at| bytes[at - 1] = b'\n');
        check_readers(name, &bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes(
        file in 0..FILES.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (name, bytes) = &FILES[file];
        let mut bytes = bytes.clone();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check_readers(name, &bytes);
    }

    /// Checks text files in which a few bytes are overwritten by digits, signs, separators and
    /// other special characters. Such files stay almost well-formed.
    #[test]
    fn overwritten_text(
        file in prop::sample::select(TEXTS.clone()),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0123456789 \n\t.-+eE%#,;\"x".to_vec())), 1..6),
    ) {
        let (name, bytes) = &FILES[file];
        let mut bytes = bytes.clone();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check_readers(name, &bytes);
    }
}
