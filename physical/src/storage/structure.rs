//! What structure a tensor has: runs, blocks, bands, diagonals, symmetry, how full its fibers are.
//!
//! Everything is counted in one pass over the entries in row-major order, fibers being those of the last mode; symmetry
//! takes a second order. Which formats suit a tensor follows from these numbers; what each takes in bytes is in
//! [`super::footprint`].

use super::sort::sort_entries;
use super::{Tensor, Triples};
use crate::Error;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What structure the entries of a tensor have: those places that are stored, without such as a dense level, a band or a
/// run-length level stores for their neighbours' sake and that hold the fill value.
#[derive(Clone, PartialEq, Debug)]
pub struct Structure {
    /// The number of entries.
    pub entries: u64,
    /// How they are spread over the fibers of the last mode.
    pub fibers: FiberCounts,
    /// Runs along the last mode: adjacent entries of one fiber with one value.
    pub runs: u64,
    /// Blocks along the last mode: adjacent entries of one fiber, whatever their values.
    pub blocks: u64,
    /// What else there is to say of a matrix.
    pub matrix: Option<MatrixStructure>,
}

/// Numbers of entries of the fibers of the last mode.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FiberCounts {
    /// The number of fibers: the product of all dimensions but the last.
    pub count: u64,
    /// How many of them have no entry.
    pub empty: u64,
    /// The fewest entries of a fiber; 0 where there is no fiber.
    pub fewest: u64,
    /// The most entries of a fiber.
    pub most: u64,
}

/// What there is to say of a matrix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MatrixStructure {
    /// How far entries reach below the main diagonal: the largest `i - j`, or 0.
    pub lower: u64,
    /// How far entries reach above the main diagonal: the largest `j - i`, or 0.
    pub upper: u64,
    /// The number of diagonals with an entry.
    pub diagonals: u64,
    /// Whether it equals its transpose.
    pub symmetry: Symmetry,
}

/// Whether a matrix equals its transpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    /// Places and values are those of the transpose.
    Exact,
    /// The places are those of the transpose, some value is another.
    Pattern,
    /// Some place is not one of the transpose.
    None,
}

impl Structure {
    /// The mean number of entries of a fiber, of the empty ones, too; 0 where there is no fiber.
    pub fn mean_fiber(&self) -> f64 {
        mean(self.entries, self.fibers.count)
    }

    /// The mean number of entries of a run; 0 where there is none.
    pub fn mean_run(&self) -> f64 {
        mean(self.entries, self.runs)
    }

    /// The mean number of entries of a block; 0 where there is none.
    pub fn mean_block(&self) -> f64 {
        mean(self.entries, self.blocks)
    }
}

fn mean(entries: u64, among: u64) -> f64 {
    if among == 0 { 0.0 } else { entries as f64 / among as f64 }
}

impl Tensor {
    /// What structure the tensor has. A tensor of rank 0 is one fiber of one place.
    ///
    /// # Errors
    /// When the memory is exceeded.
    pub fn structure(&self) -> Result<Structure, Error> {
        self.fetch()?;
        Structure::of(&row_major(self)?)
    }
}

/// The entries of a tensor, sorted row-major.
pub(super) fn row_major(tensor: &Tensor) -> Result<Triples, Error> {
    let triples = tensor.to_triples()?;
    let columns = triples.coordinates.iter().map(|c| Cow::Borrowed(&c[..])).collect();
    let sorted = sort_entries(columns, &triples.shape, 0)?;
    let Some(order) = sorted.order else { return Ok(triples) };
    let values = triples.values.gather(&order)?;
    Ok(Triples { shape: triples.shape, coordinates: sorted.columns, values })
}

impl Structure {
    /// The structure of entries that are sorted row-major, each place once.
    pub(super) fn of(triples: &Triples) -> Result<Structure, Error> {
        let (mut runs, mut blocks) = (0, 0);
        let (mut filled, mut fewest, mut most, mut of_fiber) = (0, u64::MAX, 0, 0);
        let (outer, last) = match triples.coordinates.split_last() {
            Some((last, outer)) => (outer, &last[..]),
            None => (&[][..], &[][..]),
        };
        for k in 0..triples.len() {
            let same_fiber = k > 0 && outer.iter().all(|c| c[k - 1] == c[k]);
            let adjacent = same_fiber && last[k - 1] + 1 == last[k];
            blocks += u64::from(!adjacent);
            runs += u64::from(!adjacent || !triples.values.are_same(k - 1, k));
            if !same_fiber {
                (filled, of_fiber) = (filled + 1, 0);
            }
            of_fiber += 1;
            most = most.max(of_fiber);
            let ends = k + 1 == triples.len() || outer.iter().any(|c| c[k] != c[k + 1]);
            fewest = if ends { fewest.min(of_fiber) } else { fewest };
        }
        let count = triples.shape.iter().rev().skip(1).fold(1u64, |n, d| n.saturating_mul(*d));
        let fewest = if filled < count || filled == 0 { 0 } else { fewest };
        let fibers = FiberCounts { count, empty: count - filled, fewest, most };
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

/// Whether the entries of a square matrix, sorted row-major, are those of its transpose: met in their order, those of column
/// `j` are the entries of row `j` in their order.
fn matrix_symmetry(triples: &Triples) -> Symmetry {
    let (rows, columns) = (&triples.coordinates[0], &triples.coordinates[1]);
    // Where the rows that have entries begin, and how far they have been matched.
    let mut next: HashMap<u64, usize> = HashMap::new();
    for (k, i) in rows.iter().enumerate() {
        next.entry(*i).or_insert(k);
    }
    let mut same = true;
    for k in 0..rows.len() {
        let Some(mirrored) = next.get_mut(&columns[k]) else { return Symmetry::None };
        if rows.get(*mirrored) != Some(&columns[k]) || columns[*mirrored] != rows[k] {
            return Symmetry::None;
        }
        same &= triples.values.are_same(k, *mirrored);
        *mirrored += 1;
    }
    if same { Symmetry::Exact } else { Symmetry::Pattern }
}

/// Whether entries that are sorted row-major are the same when two modes are exchanged: with their columns exchanged, and
/// sorted again, they are.
pub(super) fn symmetry(triples: &Triples, a: usize, b: usize) -> Result<Symmetry, Error> {
    if triples.shape[a] != triples.shape[b] {
        return Ok(Symmetry::None);
    }
    if let [_, _] = triples.shape[..] {
        return Ok(matrix_symmetry(triples));
    }
    let mut columns: Vec<Cow<'_, [u64]>> = triples.coordinates.iter().map(|c| Cow::Borrowed(&c[..])).collect();
    columns.swap(a, b);
    let sorted = sort_entries(columns, &triples.shape, 0)?;
    if sorted.columns != triples.coordinates {
        return Ok(Symmetry::None);
    }
    let mirrored = |k: usize| sorted.order.as_ref().map_or(k, |order| order[k] as usize);
    let exact = (0..triples.len()).all(|k| triples.values.are_same(k, mirrored(k)));
    Ok(if exact { Symmetry::Exact } else { Symmetry::Pattern })
}
