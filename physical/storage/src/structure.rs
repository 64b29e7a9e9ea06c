//! The structure of a tensor: runs, blocks, bands, diagonals, symmetry, sizes of fibers.
//!
//! All numbers come from a few passes over the entries in row-major order. Fibers are those of the
//! last mode. The numbers suggest formats for a tensor; [`super::footprint`] measures the bytes of
//! formats.

use super::sort::sort_entries;
use super::{Tensor, Triples};
use crate::Error;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The structure of a tensor's entries. Entries are the stored elements. Elements with the fill
/// value do not count if the last level is dense, a band or run-length, since such a level also
/// stores coordinates that were not written. They do not count in a tensor of rank 0 either.
#[derive(Clone, PartialEq, Debug)]
pub struct Structure {
    /// The number of entries.
    pub entries: u64,
    /// The distribution of entries over the fibers of the last mode.
    pub fibers: FiberCounts,
    /// The number of runs along the last mode: adjacent entries of one fiber with the same value.
    pub runs: u64,
    /// The number of blocks along the last mode: adjacent entries of one fiber, whatever their
    /// values.
    pub blocks: u64,
    /// Further structure of a matrix; `None` for other tensors.
    pub matrix: Option<MatrixStructure>,
}

/// Numbers of entries of the fibers of the last mode.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FiberCounts {
    /// The number of fibers: the product of all dimensions but the last.
    pub count: u64,
    /// The number of fibers without entries.
    pub empty: u64,
    /// The least number of entries in a fiber; 0 if there are no fibers.
    pub min: u64,
    /// The largest number of entries in a fiber.
    pub max: u64,
}

/// The structure specific to matrices.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MatrixStructure {
    /// The lower bandwidth: the largest `i - j` of an entry, or 0.
    pub lower: u64,
    /// The upper bandwidth: the largest `j - i` of an entry, or 0.
    pub upper: u64,
    /// The number of diagonals with an entry.
    pub diagonals: u64,
    /// The relation to the transpose.
    pub symmetry: MatrixSymmetry,
}

/// The relation of a matrix to its transpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatrixSymmetry {
    /// Coordinates and values are those of the transpose.
    Exact,
    /// The coordinates are those of the transpose, but some value differs.
    Pattern,
    /// Some coordinates are not among those of the transpose, or the matrix is not square.
    None,
}

impl Structure {
    /// Returns the mean number of entries in a fiber, counting empty fibers; 0 if there are no
    /// fibers.
    pub fn mean_fiber(&self) -> f64 {
        mean(self.entries, self.fibers.count)
    }

    /// Returns the mean number of entries in a run; 0 if there are no runs.
    pub fn mean_run(&self) -> f64 {
        mean(self.entries, self.runs)
    }

    /// Returns the mean number of entries in a block; 0 if there are no blocks.
    pub fn mean_block(&self) -> f64 {
        mean(self.entries, self.blocks)
    }
}

fn mean(entries: u64, among: u64) -> f64 {
    if among == 0 { 0.0 } else { entries as f64 / among as f64 }
}

impl Tensor {
    /// Returns the structure of the tensor. A tensor of rank 0 has one fiber, with at most one
    /// entry.
    ///
    /// # Errors
    /// Those of [`Tensor::to_triples`].
    pub fn structure(&self) -> Result<Structure, Error> {
        self.fetch()?;
        Structure::of(&row_major(self)?)
    }
}

/// Returns the entries of a tensor, as [`Structure`] defines them, sorted row-major.
pub(super) fn row_major(tensor: &Tensor) -> Result<Triples, Error> {
    let triples = tensor.to_triples()?;
    let columns = triples.coordinates.iter().map(|c| Cow::Borrowed(&c[..])).collect();
    let sorted = sort_entries(columns, &triples.shape, 0)?;
    let Some(order) = sorted.order else { return Ok(triples) };
    let values = triples.values.gather(&order)?;
    Ok(Triples { shape: triples.shape, coordinates: sorted.columns, values })
}

/// The sequences that start at an entry.
pub(super) struct Starts {
    /// Whether a fiber of the last mode starts.
    pub(super) fiber: bool,
    /// Whether a block starts.
    pub(super) block: bool,
    /// Whether a run starts.
    pub(super) run: bool,
}

/// Returns the sequences that start at entry `k` of entries sorted row-major.
pub(super) fn starts_at(triples: &Triples, k: usize) -> Starts {
    let same_fiber = |(last, outer): (&Vec<u64>, &[Vec<u64>])| {
        let same = k > 0 && outer.iter().all(|c| c[k - 1] == c[k]);
        (same, same && last[k - 1] + 1 == last[k])
    };
    let (same, adjacent) = triples.coordinates.split_last().map_or((false, false), same_fiber);
    Starts { fiber: !same, block: !adjacent, run: !adjacent || !triples.values.are_same(k - 1, k) }
}

impl Structure {
    /// Returns the structure of entries that are sorted row-major, with distinct coordinates.
    pub(super) fn of(triples: &Triples) -> Result<Structure, Error> {
        let (mut runs, mut blocks) = (0, 0);
        let (mut filled, mut min, mut max, mut of_fiber) = (0, u64::MAX, 0, 0);
        let outer = triples.coordinates.split_last().map_or(&[][..], |(_, outer)| outer);
        for k in 0..triples.len() {
            let starts = starts_at(triples, k);
            blocks += u64::from(starts.block);
            runs += u64::from(starts.run);
            if starts.fiber {
                (filled, of_fiber) = (filled + 1, 0);
            }
            of_fiber += 1;
            max = max.max(of_fiber);
            let ends = k + 1 == triples.len() || outer.iter().any(|c| c[k] != c[k + 1]);
            min = if ends { min.min(of_fiber) } else { min };
        }
        let count = triples.shape.iter().rev().skip(1).fold(1u64, |n, d| n.saturating_mul(*d));
        let min = if filled < count || filled == 0 { 0 } else { min };
        let fibers = FiberCounts { count, empty: count - filled, min, max };
        let matrix = (triples.shape.len() == 2).then(|| MatrixStructure::of(triples)).transpose()?;
        Ok(Structure { entries: triples.len() as u64, fibers, runs, blocks, matrix })
    }
}

impl MatrixStructure {
    fn of(triples: &Triples) -> Result<MatrixStructure, Error> {
        let (rows, columns) = (&triples.coordinates[0], &triples.coordinates[1]);
        let (mut lower, mut upper) = (0, 0);
        let mut diagonals = HashSet::new();
        for (&i, &j) in rows.iter().zip(columns) {
            lower = lower.max(i.saturating_sub(j));
            upper = upper.max(j.saturating_sub(i));
            diagonals.insert(j.wrapping_sub(i));
        }
        let symmetry = symmetry(triples, 0, 1)?;
        Ok(MatrixStructure { lower, upper, diagonals: diagonals.len() as u64, symmetry })
    }
}

/// Compares the entries of a square matrix, sorted row-major, with its transpose. In row-major
/// order, the entries of column `j` match those of row `j` one after the other.
fn matrix_symmetry(triples: &Triples) -> MatrixSymmetry {
    let (rows, columns) = (&triples.coordinates[0], &triples.coordinates[1]);
    // The start of each row with entries, advanced as entries are matched.
    let mut next: HashMap<u64, usize> = HashMap::new();
    for (k, i) in rows.iter().enumerate() {
        next.entry(*i).or_insert(k);
    }
    let mut same = true;
    for k in 0..rows.len() {
        let Some(mirrored) = next.get_mut(&columns[k]) else { return MatrixSymmetry::None };
        if rows.get(*mirrored) != Some(&columns[k]) || columns[*mirrored] != rows[k] {
            return MatrixSymmetry::None;
        }
        same &= triples.values.are_same(k, *mirrored);
        *mirrored += 1;
    }
    if same { MatrixSymmetry::Exact } else { MatrixSymmetry::Pattern }
}

/// Compares entries that are sorted row-major with the entries after an exchange of two modes,
/// which match only if the modes have equal sizes. For ranks above 2, the columns of the modes are
/// exchanged and the entries are sorted again.
pub(super) fn symmetry(triples: &Triples, a: usize, b: usize) -> Result<MatrixSymmetry, Error> {
    if triples.shape[a] != triples.shape[b] {
        return Ok(MatrixSymmetry::None);
    }
    if let [_, _] = triples.shape[..] {
        return Ok(matrix_symmetry(triples));
    }
    let mut columns: Vec<Cow<'_, [u64]>> = triples.coordinates.iter().map(|c| Cow::Borrowed(&c[..])).collect();
    columns.swap(a, b);
    let sorted = sort_entries(columns, &triples.shape, 0)?;
    if sorted.columns != triples.coordinates {
        return Ok(MatrixSymmetry::None);
    }
    let mirrored = |k: usize| sorted.order.as_ref().map_or(k, |order| order[k] as usize);
    let exact = (0..triples.len()).all(|k| triples.values.are_same(k, mirrored(k)));
    Ok(if exact { MatrixSymmetry::Exact } else { MatrixSymmetry::Pattern })
}
