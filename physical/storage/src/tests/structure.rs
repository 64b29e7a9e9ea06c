//! Structure, histograms and bytes compared with counts over all elements.

use super::*;
use crate::testing::formats_of_rank;
use crate::{Error, Histogram, MatrixStructure, MatrixSymmetry, SequenceLengths, Structure, Survey, convert};

/// Returns the entries of a sample, sorted.
fn sorted(sample: &TensorSample) -> Vec<(Vec<u64>, Scalar)> {
    let mut entries = sample.entries.clone();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries
}

/// Returns whether two values are bitwise equal in each primitive, where all NaN are equal.
pub(super) fn same(a: &Scalar, b: &Scalar) -> bool {
    let parts = |v: &Scalar| v.flatten();
    parts(a).iter().zip(parts(b)).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
}

/// Returns the number of sequences of adjacent entries along the last mode. `joined` decides, from
/// the values of two adjacent entries, whether both belong to one sequence.
fn pieces(entries: &[(Vec<u64>, Scalar)], joined: impl Fn(&Scalar, &Scalar) -> bool) -> u64 {
    let at = |coordinates: &[u64]| entries.iter().find(|(p, _)| p == coordinates).map(|(_, v)| v);
    let begins = |(coordinates, value): &&(Vec<u64>, Scalar)| {
        let Some((last, outer)) = coordinates.split_last() else { return true };
        let before = last.checked_sub(1).and_then(|i| at(&[outer, &[i]].concat()));
        !before.is_some_and(|before| joined(before, value))
    };
    entries.iter().filter(begins).count() as u64
}

/// Computes the structure of a sample element by element.
fn naive(sample: &TensorSample) -> Structure {
    let entries = sorted(sample);
    let outer = sample.shape.len().saturating_sub(1);
    let counts: Vec<u64> = all_coordinates(&sample.shape[..outer])
        .iter()
        .map(|fiber| entries.iter().filter(|(p, _)| p[..outer] == fiber[..]).count() as u64)
        .collect();
    let fibers = crate::FiberCounts {
        count: counts.len() as u64,
        empty: counts.iter().filter(|n| **n == 0).count() as u64,
        min: counts.iter().copied().min().unwrap_or(0),
        max: counts.iter().copied().max().unwrap_or(0),
    };
    let matrix = (sample.shape.len() == 2).then(|| {
        let at = |i: u64, j: u64| entries.iter().find(|(p, _)| p[..] == [i, j]).map(|(_, v)| v);
        let mirrored = |(p, _): &(Vec<u64>, Scalar)| at(p[1], p[0]).is_some();
        let equal = |(p, v): &(Vec<u64>, Scalar)| at(p[1], p[0]).is_some_and(|w| same(v, w));
        let square = sample.shape[0] == sample.shape[1];
        let mut offsets: Vec<i64> = entries.iter().map(|(p, _)| p[1] as i64 - p[0] as i64).collect();
        offsets.sort_unstable();
        offsets.dedup();
        MatrixStructure {
            lower: offsets.iter().map(|o| (-o).max(0) as u64).max().unwrap_or(0),
            upper: offsets.iter().map(|o| (*o).max(0) as u64).max().unwrap_or(0),
            diagonals: offsets.len() as u64,
            symmetry: match () {
                () if square && entries.iter().all(equal) => MatrixSymmetry::Exact,
                () if square && entries.iter().all(mirrored) => MatrixSymmetry::Pattern,
                () => MatrixSymmetry::None,
            },
        }
    });
    let entries_count = entries.len() as u64;
    Structure {
        entries: entries_count,
        fibers,
        runs: pieces(&entries, same),
        blocks: pieces(&entries, |_, _| true),
        matrix,
    }
}

/// Counts the coordinates of a mode by their number of entries.
fn degrees(sample: &TensorSample, mode: usize) -> Histogram {
    let mut histogram = Histogram::new();
    for i in 0..sample.shape[mode] {
        let degree = sample.entries.iter().filter(|(p, _)| p[mode] == i).count() as u64;
        *histogram.entry(degree).or_default() += 1;
    }
    histogram
}

/// Counts the sequences of adjacent entries along the last mode by length. `joined` decides as for
/// [`pieces`].
fn lengths(sample: &TensorSample, joined: impl Fn(&Scalar, &Scalar) -> bool) -> Histogram {
    let (mut histogram, mut length) = (Histogram::new(), 0);
    let mut before: Option<(Vec<u64>, Scalar)> = None;
    let end = |histogram: &mut Histogram, length: u64| {
        *histogram.entry(length).or_default() += 1;
    };
    for (coordinates, value) in sorted(sample) {
        let (last, outer) = coordinates.split_last().expect("the rank is at least 1");
        let continues = before.as_ref().is_some_and(|(place, other)| {
            place[..outer.len()] == *outer && place[outer.len()] + 1 == *last && joined(other, &value)
        });
        if !continues && length > 0 {
            end(&mut histogram, length);
        }
        length = if continues { length + 1 } else { 1 };
        before = Some((coordinates, value));
    }
    if length > 0 {
        end(&mut histogram, length);
    }
    histogram
}

/// Returns a matrix with its upper triangle mirrored; if not `exact`, some mirrored values are
/// replaced by the fill value.
pub(super) fn mirrored(mut sample: TensorSample, exact: bool) -> TensorSample {
    let n = sample.shape[0].min(sample.shape[1]);
    sample.shape = vec![n, n];
    sample.entries.retain(|(p, _)| p[0] <= p[1] && p[1] < n);
    let fill = sample.fill.clone();
    let other = |k: usize, v: &Scalar| if !exact && k.is_multiple_of(3) { fill.clone() } else { v.clone() };
    let below: Vec<_> = sample.entries.iter().enumerate().filter(|(_, (p, _))| p[0] < p[1]).collect();
    let below: Vec<_> = below.into_iter().map(|(k, (p, v))| (vec![p[1], p[0]], other(k, v))).collect();
    sample.entries.extend(below);
    sample
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The structure equals the one that [`naive`] computes, also for nearly symmetric matrices.
    #[test]
    fn structure_is_that_of_the_entries(sample in (1usize..4).prop_flat_map(any_sample), exact in any::<bool>()) {
        let list = |rank: usize| Format::csf(rank);
        prop_assert_eq!(sample.tensor(&list(sample.shape.len())).structure().unwrap(), naive(&sample));
        if sample.shape.len() == 2 {
            let sample = mirrored(sample, exact);
            prop_assert_eq!(sample.tensor(&list(2)).structure().unwrap(), naive(&sample));
            prop_assert_eq!(sample.tensor(&list(2).permuted(&[1, 0])).structure().unwrap(), naive(&sample));
        }
    }

    /// Histograms count the entries of every coordinate, and the lengths of all runs and blocks.
    #[test]
    fn histograms_are_those_of_the_entries(
        sample in (1usize..4).prop_flat_map(any_sample),
        pick in any::<proptest::sample::Index>(),
    ) {
        let list = sample.tensor(&Format::csf(sample.shape.len()));
        for mode in 0..sample.shape.len() {
            prop_assert_eq!(list.degrees(mode).unwrap(), degrees(&sample, mode));
        }
        let lengths = SequenceLengths { runs: lengths(&sample, same), blocks: lengths(&sample, |_, _| true) };
        prop_assert_eq!(list.sequence_lengths().unwrap(), lengths);
        let formats = formats_of_rank(sample.shape.len());
        if let Ok(other) = convert(&list, pick.get(&formats)) {
            let entries = other.to_triples().unwrap();
            let mut visited = vec![Vec::new(); sample.shape.len()];
            other.for_each_entry(|c| visited.iter_mut().zip(c).for_each(|(list, i)| list.push(*i))).unwrap();
            prop_assert_eq!(visited, entries.coordinates);
        }
    }

    /// The bytes reported for a format are those of the tensor in that format.
    #[test]
    fn bytes_are_those_of_the_converted_tensor(
        sample in (0usize..4).prop_flat_map(any_sample),
        picks in proptest::collection::vec(any::<proptest::sample::Index>(), 6),
    ) {
        let formats = formats_of_rank(sample.shape.len());
        let tensor = sample.tensor(&Format::csf(sample.shape.len()));
        let survey = Survey::of(&tensor).unwrap();
        for pick in picks {
            let format = pick.get(&formats);
            match convert(&tensor, format) {
                Ok(converted) => prop_assert_eq!(survey.bytes(format).unwrap(), Some(converted.bytes()), "{:?}", format),
                Err(Error::SecondRun { .. }) => prop_assert!(survey.bytes(format).is_err()),
                Err(other) => panic!("{other}"),
            }
        }
    }

    /// Counts of occupied blocks, by which block sizes are chosen, are exact.
    #[test]
    fn blocks_are_counted(sample in any_sample(2), rows in 1u64..5, columns in 1u64..5) {
        let survey = Survey::of(&sample.tensor(&Format::csr())).unwrap();
        let mut blocks: Vec<_> = sample.entries.iter().map(|(p, _)| (p[0] / rows, p[1] / columns)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        prop_assert_eq!(survey.occupied_blocks(rows, columns), blocks.len() as u64);
    }
}

/// The bytes of a huge format are computed, or unknown: no huge array is built.
#[test]
fn nothing_huge_is_built() {
    let n = 1u64 << 31;
    let ty = TensorType { shape: vec![n, n], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::csf(2) };
    let triples =
        Triples { shape: vec![n, n], coordinates: vec![vec![0, n - 1], vec![n - 1, 0]], values: vec![1.0, 2.0].into() };
    let (tensor, _) = Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap();
    let survey = Survey::of(&tensor).unwrap();
    assert_eq!(survey.bytes(&Format::csr()).unwrap(), None);
    assert_eq!(survey.bytes(&Format::dense(2)).unwrap(), None);
    assert_eq!(survey.bytes(&Format::dia()).unwrap(), Some(8 + 2 * 4 + 2 * n * 8));
    assert_eq!(survey.bytes(&Format::coo(2)).unwrap(), Some(tensor.bytes() - 3 * 4));
}

/// Degrees of a huge mode take memory for its entries alone.
#[test]
fn degrees_of_a_huge_mode_are_counted() {
    let n = 1u64 << 40;
    let ty = TensorType { shape: vec![n, n], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::coo(2) };
    let coordinates = vec![vec![0, 7, 7, n - 1], vec![3, 3, n - 1, 3]];
    let triples = Triples { shape: vec![n, n], coordinates, values: vec![1.0, 2.0, 3.0, 4.0].into() };
    let (tensor, _) = Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap();
    assert_eq!(tensor.degrees(0).unwrap(), [(0, n - 3), (1, 2), (2, 1)].into());
    assert_eq!(tensor.degrees(1).unwrap(), [(0, n - 2), (1, 1), (3, 1)].into());
}
