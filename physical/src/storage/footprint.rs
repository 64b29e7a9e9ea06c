//! What a tensor takes in bytes, and what it would take in other formats.
//!
//! The arrays of levels are what the levels themselves build, so that these numbers are exact for every kind there is
//! and will be; the values, which formats that store places for their neighbours' sake multiply, are counted and never
//! built. A format whose arrays of levels would be out of proportion is not measured.

use super::assemble::assemble_levels;
use super::structure::{Structure, row_major};
use super::triples::sorted_entries;
use super::{Duplicates, Tensor, Triples};
use crate::Error;
use crate::levels::level;
use redpoll_logic::{Format, LeafKind, LevelKind, TensorType};
use std::collections::HashMap;

/// The entries of a tensor at hand, sorted once for many questions.
pub struct Survey {
    ty: TensorType,
    triples: Triples,
    structure: Structure,
}

/// More elements than this are not built for the sake of knowing how many they are.
const MOST_ELEMENTS: u64 = 1 << 28;

impl Tensor {
    /// The bytes of all arrays. Buffers that are shared with other tensors count in each.
    pub fn bytes(&self) -> u64 {
        self.arrays().map(|array| array.bytes() as u64).sum()
    }
}

impl Survey {
    /// Looks through a tensor.
    ///
    /// # Errors
    /// When the memory is exceeded.
    pub fn of(tensor: &Tensor) -> Result<Survey, Error> {
        tensor.fetch()?;
        let triples = row_major(tensor)?;
        let structure = Structure::of(&triples)?;
        Ok(Survey { ty: TensorType::clone(tensor.ty()), triples, structure })
    }

    /// The structure of the tensor.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The bytes that the tensor takes in a format; `None` when its levels would need arrays out of proportion.
    ///
    /// # Errors
    /// When the format does not go with the tensor or cannot hold its entries, or the memory is exceeded.
    pub fn bytes(&self, format: &Format) -> Result<Option<u64>, Error> {
        let ty = TensorType { format: format.clone(), ..self.ty.clone() };
        ty.validate()?;
        if self.elements(&ty) > MOST_ELEMENTS {
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

    /// The most elements that an array of a level has, or more.
    fn elements(&self, ty: &TensorType) -> u64 {
        let entries = 2 * self.triples.len() as u64;
        let (mut parents, mut most) = (1u64, 0u64);
        for (format, dimension) in ty.format.levels.iter().zip(ty.format.storage_shape(&ty.shape)) {
            let (traits, places) = (format.kind.traits(), parents.saturating_mul(dimension));
            // What lists entries or runs has at most so many positions: an entry and the gap before it, and a gap at the
            // end of each fiber. What else has arrays has an element for each of its places at most.
            let listed = traits.explicit && traits.compact || traits.runs;
            let elements = parents.saturating_add(entries);
            most = most.max(match level(format.kind).arrays() {
                [] => 0,
                _ if listed || format.kind == LevelKind::Band => elements,
                _ => places,
            });
            parents = if listed { places.min(elements) } else { places };
        }
        most
    }

    /// The blocks of so many rows and columns that hold an entry of the matrix.
    ///
    /// # Panics
    /// When it is no matrix.
    pub fn occupied_blocks(&self, rows: u64, columns: u64) -> u64 {
        let [i, j] = [0, 1].map(|mode| &self.triples.coordinates[mode]);
        // Rows ascend, so that a block is new when it was last seen further up.
        let mut last: HashMap<u64, u64> = HashMap::new();
        let new = |(i, j): (&u64, &u64)| last.insert(j / columns, i / rows) != Some(i / rows);
        i.iter().zip(j).map(new).filter(|new| *new).count() as u64
    }
}
