//! Iteration over entries; histograms of coordinates by degree; histograms of runs and blocks by
//! length.

use super::Tensor;
use crate::Error;
use crate::structure::{row_major, starts_at};
use std::collections::BTreeMap;

/// The number of sequences of each length, or of coordinates of each degree.
pub type Histogram = BTreeMap<u64, u64>;

/// Lengths of the runs and blocks of a tensor along its last mode, as in
/// [`Structure`](super::Structure).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SequenceLengths {
    /// The number of runs of each length. A run has adjacent entries of one fiber with the same
    /// value.
    pub runs: Histogram,
    /// The number of blocks of each length. A block has adjacent entries of one fiber with any
    /// values.
    pub blocks: Histogram,
}

impl Tensor {
    /// Calls `visit(coordinates)` for each entry as [`Structure`](super::Structure) defines it, in
    /// storage order. The memory that the function allocates does not depend on the number of
    /// entries.
    ///
    /// # Errors
    /// Like [`Tensor::fetch`] and [`Tensor::check_files`].
    pub fn for_each_entry(&self, mut visit: impl FnMut(&[u64])) -> Result<(), Error> {
        self.fetch()?;
        let skip = (!self.is_listed()).then(|| self.fill_test());
        self.for_each_stored(|coordinates, p| {
            if skip.as_ref().is_none_or(|fill| !fill.is_fill(p)) {
                visit(coordinates);
            }
        });
        self.check_files()
    }

    /// Returns the number of coordinates of a mode for each degree. The degree of a coordinate is
    /// its number of entries. Coordinates without entries have degree 0.
    ///
    /// # Errors
    /// Like [`Tensor::for_each_entry`].
    ///
    /// # Panics
    /// If the tensor has no such mode.
    pub fn degrees(&self, mode: usize) -> Result<Histogram, Error> {
        let dimension = self.ty.shape[mode];
        let mut degrees = Histogram::new();
        let mut occupied = 0;
        let mut add = |degree: u64| {
            occupied += 1;
            *degrees.entry(degree).or_default() += 1;
        };
        // Counters for all coordinates take less memory than a list of the entries, unless most
        // coordinates are empty.
        if dimension <= self.positions().max(1 << 16) {
            let mut counts = vec![0u64; dimension as usize];
            self.for_each_entry(|coordinates| counts[coordinates[mode] as usize] += 1)?;
            counts.into_iter().filter(|count| *count > 0).for_each(&mut add);
        } else {
            let mut entries = Vec::new();
            self.for_each_entry(|coordinates| entries.push(coordinates[mode]))?;
            entries.sort_unstable();
            entries.chunk_by(|a, b| a == b).for_each(|equal| add(equal.len() as u64));
        }
        if occupied < dimension {
            degrees.insert(0, dimension - occupied);
        }
        Ok(degrees)
    }

    /// Returns the lengths of the runs and blocks along the last mode.
    ///
    /// # Errors
    /// Like [`Tensor::to_triples`].
    pub fn sequence_lengths(&self) -> Result<SequenceLengths, Error> {
        let triples = row_major(self)?;
        let mut lengths = SequenceLengths::default();
        let (mut run, mut block) = (0, 0);
        let end = |histogram: &mut Histogram, length: &mut u64| {
            if *length > 0 {
                *histogram.entry(*length).or_default() += 1;
            }
            *length = 0;
        };
        for k in 0..triples.len() {
            let starts = starts_at(&triples, k);
            if starts.run {
                end(&mut lengths.runs, &mut run);
            }
            if starts.block {
                end(&mut lengths.blocks, &mut block);
            }
            (run, block) = (run + 1, block + 1);
        }
        end(&mut lengths.runs, &mut run);
        end(&mut lengths.blocks, &mut block);
        Ok(lengths)
    }
}
