//! Entries and layouts of stored tensors, and the errors of storing and listing entries.

use crate::content::{Data, Layout};
use crate::error::{Error, Fault, Location};
use crate::memory::Memory;
use crate::values::Values;
use redpoll_logic::{Format, LeafKind, Prim};
use redpoll_storage::{Array, Tensor};
use std::path::PathBuf;

/// Cause of a failure to store entries as a tensor, or to list the entries of a tensor.
pub(crate) enum StoreError {
    Storage(Box<redpoll_storage::Error>),
    Memory(Fault),
}

impl StoreError {
    /// Returns the fault of a file whose content causes the error.
    pub(crate) fn into_fault(self) -> Fault {
        match self {
            StoreError::Storage(source) => Fault::malformed("a tensor with entries", source.to_string()),
            StoreError::Memory(fault) => fault,
        }
    }

    /// Returns the error with the path of the file.
    pub(crate) fn with_path(self, path: PathBuf) -> Error {
        match self {
            StoreError::Storage(source) => Error::Storage { path, source },
            StoreError::Memory(fault) => fault.at(Location::File).into_error(path),
        }
    }
}

impl From<redpoll_storage::Error> for StoreError {
    fn from(error: redpoll_storage::Error) -> StoreError {
        StoreError::Storage(Box::new(error))
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> StoreError {
        StoreError::Memory(fault)
    }
}

/// Returns the entries of a tensor of primitives, with allocations charged to the memory.
pub(crate) fn entries_of_tensor(tensor: &Tensor, memory: &Memory) -> Result<Data, StoreError> {
    let ty = tensor.ty();
    let prim = ty.dtype.prim().expect("the values are primitives");
    let stored = tensor.count_stored()?;
    // Vectors of coordinates grow to up to twice their length, and values are copied once.
    let bytes = stored.saturating_mul((16 * ty.shape.len() + 2 * prim.bytes()) as u64);
    memory.charge("the entries of the tensor", bytes)?;
    if ty.format == Format::dense(ty.shape.len()) {
        tensor.fetch()?;
        let values = values_of(prim, &tensor.leaf()[0]);
        tensor.check_files()?;
        return Ok(Data::Dense(values));
    }
    let triples = tensor.to_triples()?;
    tensor.check_files()?;
    let values = values_of(prim, &triples.values.columns()[0]);
    Ok(Data::Triples { coordinates: triples.coordinates, values })
}

/// Returns the layout that is closest to a format: CSR, CSC, all elements, or else coordinates.
pub(crate) fn layout_of(format: &Format) -> Layout {
    let element = |format: Format| Format { leaf: LeafKind::Element, ..format };
    let element_format = element(format.clone());
    if element_format == Format::csr() {
        Layout::Csr
    } else if element_format == Format::csc() {
        Layout::Csc
    } else if format.is_dense() {
        Layout::Array
    } else {
        Layout::Coordinate
    }
}

/// Copies the values of an array.
fn values_of(prim: Prim, array: &Array) -> Values {
    macro_rules! copy {
        ($($variant:ident),*) => {
            match prim {
                Prim::Bool => Values::Bool(array.bools().expect("the array has the type of its dtype").iter().map(|&b| b != 0).collect()),
                $(Prim::$variant => Values::$variant(array.as_slice().expect("the array has the type of its dtype").to_vec()),)*
            }
        };
    }
    copy!(I8, I16, I32, I64, U8, U16, U32, U64, F32, F64)
}
