//! The number of bytes of a tensor, now and in other formats, and the number of occupied blocks of
//! a matrix.
//!
//! The arrays of levels are built, so their numbers of bytes are exact for every kind. Values are
//! counted and not built, since a format that stores fill values may have many more values than the
//! tensor has entries. A format with an array that could have more than `MAX_ELEMENTS` elements is
//! not measured.

use super::assemble::assemble_levels;
use super::structure::{Structure, row_major};
use super::triples::sorted_entries;
use super::{Duplicates, Tensor, Triples};
use crate::Error;
use crate::levels::level;
use redpoll_logic::{Format, LeafKind, LevelKind, TensorType};
use std::collections::HashMap;

/// The entries of a tensor in row-major order, with their structure, for many queries.
pub struct Survey {
    ty: TensorType,
    triples: Triples,
    structure: Structure,
}

/// Limit on the number of elements that are built only to count bytes.
const MAX_ELEMENTS: u64 = 1 << 28;

impl Tensor {
    /// Returns the number of bytes of all arrays. A buffer that several tensors share is counted
    /// for each of them.
    pub fn bytes(&self) -> u64 {
        self.arrays().map(|array| array.bytes() as u64).sum()
    }
}

impl Survey {
    /// Sorts the entries of a tensor and finds their structure.
    ///
    /// # Errors
    /// Like [`Tensor::to_triples`].
    pub fn of(tensor: &Tensor) -> Result<Survey, Error> {
        tensor.fetch()?;
        let triples = row_major(tensor)?;
        let structure = Structure::of(&triples)?;
        Ok(Survey { ty: TensorType::clone(tensor.ty()), triples, structure })
    }

    /// Returns the structure of the tensor.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// Returns the number of bytes of the tensor in a format; `None` if an array could have more
    /// than `MAX_ELEMENTS` elements, or the number of bytes or positions overflows.
    ///
    /// # Errors
    /// When the format does not fit the tensor or cannot store its entries, or memory is exhausted.
    pub fn bytes(&self, format: &Format) -> Result<Option<u64>, Error> {
        let ty = TensorType { format: format.clone(), ..self.ty.clone() };
        ty.validate()?;
        if self.elements(&ty) > MAX_ELEMENTS {
            return Ok(None);
        }
        let (mut entries, _) = sorted_entries(&ty, &self.triples, Duplicates::Error, 0)?;
        let levels = match assemble_levels(&ty, &mut entries) {
            Err(Error::TooManyPositions { .. }) => return Ok(None),
            levels => levels?,
        };
        let values: u64 = match format.leaf {
            LeafKind::Pattern => 0,
            LeafKind::Element => ty.dtype.prims().iter().map(|p| p.bytes() as u64).sum(),
        };
        let arrays: u64 = levels.arrays.iter().flatten().map(|array| array.buffer().len() as u64).sum();
        Ok(levels.len.checked_mul(values).and_then(|leaf| leaf.checked_add(arrays)))
    }

    /// Returns a bound on the number of elements in the largest array of a level, up to a small
    /// factor.
    fn elements(&self, ty: &TensorType) -> u64 {
        let entries = 2 * self.triples.len() as u64;
        let (mut parents, mut max) = (1u64, 0u64);
        for (format, dimension) in ty.format.levels.iter().zip(ty.format.storage_shape(&ty.shape)) {
            let (traits, full) = (format.kind.traits(), parents.saturating_mul(dimension));
            // A level of entries or runs has at most `elements` positions: each entry, the gap
            // before it, and a gap at the end of each fiber. The arrays of a band have about one
            // element for each parent. Arrays of other levels have at most one element for each
            // coordinate below each parent.
            let listed = traits.explicit && traits.compact || traits.runs;
            let elements = parents.saturating_add(entries);
            max = max.max(match level(format.kind).arrays() {
                [] => 0,
                _ if listed || format.kind == LevelKind::Band => elements,
                _ => full,
            });
            parents = if listed { full.min(elements) } else { full };
        }
        max
    }

    /// Returns the number of blocks of `rows` by `columns` that contain an entry of the matrix.
    ///
    /// # Panics
    /// If the tensor has fewer than two modes, or `rows` or `columns` is 0.
    pub fn occupied_blocks(&self, rows: u64, columns: u64) -> u64 {
        let [i, j] = [0, 1].map(|mode| &self.triples.coordinates[mode]);
        // Rows ascend, so a block is new unless its columns were last seen in the same row of
        // blocks.
        let mut last: HashMap<u64, u64> = HashMap::new();
        let new = |(i, j): (&u64, &u64)| last.insert(j / columns, i / rows) != Some(i / rows);
        i.iter().zip(j).map(new).filter(|new| *new).count() as u64
    }
}
