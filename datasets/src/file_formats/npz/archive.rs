//! An NPZ archive: a zip file of `.npy` files, one for each array.

use super::header::{self, ElementType, NpyHeader};
use super::npy::{self, NpyArray};
use crate::error::{Fault, LocatedFault, Location, StreamError};
use crate::memory::{Memory, read_all};
use crate::text::quote;
use redpoll_logic::plural;
use std::io::{Cursor, Read};
use zip::ZipArchive;
use zip::result::ZipError;

/// An open archive.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    memory: &'a Memory,
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8], memory: &'a Memory) -> Result<Archive<'a>, LocatedFault> {
        // An empty archive begins with the end record of its directory, any other with an entry.
        if !bytes.starts_with(b"PK") {
            let found = quote(&bytes[..bytes.len().min(6)]);
            return Err(Fault::malformed("an archive, which begins with `PK`", found).at(Location::File));
        }
        let zip = ZipArchive::new(Cursor::new(bytes));
        let zip = zip.map_err(|e| archive_fault(&e, "archive").at(Location::File))?;
        Ok(Archive { zip, memory })
    }

    /// Charges memory for data that the reader derives from arrays.
    pub(super) fn charge(&self, purpose: &'static str, bytes: u64) -> Result<(), LocatedFault> {
        self.memory.charge(purpose, bytes).map_err(|fault| fault.at(Location::File))
    }

    /// Returns an empty vector with room for the given number of elements, charged to the memory
    /// limit.
    pub(super) fn allocate<T>(&self, purpose: &'static str, elements: u64) -> Result<Vec<T>, LocatedFault> {
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        self.memory.allocate(purpose, elements).map_err(|fault| fault.at(Location::File))
    }

    /// Returns the names of the arrays, without the extension `.npy`.
    fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().filter_map(Result::ok);
        names.filter_map(|name| name.strip_suffix(".npy").map(str::to_owned)).collect()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Returns the name of the only array.
    ///
    /// # Errors
    /// Fails if the archive has no array or several.
    pub(super) fn single_name(&self) -> Result<String, LocatedFault> {
        let mut names = self.names();
        names.sort_unstable();
        match names.as_slice() {
            [name] => Ok(name.clone()),
            _ => {
                let expected = "one dense array, or a sparse array of SciPy or PyData with its `format`";
                let text = names.iter().take(10).map(|name| quote(name.as_bytes())).collect::<Vec<_>>().join(", ");
                let found =
                    if names.is_empty() { "no array".to_owned() } else { format!("{} arrays: {text}", names.len()) };
                Err(Fault::malformed(expected, found).at(Location::File))
            }
        }
    }

    /// Reads the header of an array.
    pub(super) fn header(&mut self, name: &str) -> Result<NpyHeader, LocatedFault> {
        self.open_array(name, |_, header| Ok(header))
    }

    /// Reads an array of numbers.
    pub(super) fn array(&mut self, name: &str) -> Result<NpyArray, LocatedFault> {
        let memory = self.memory;
        self.open_array(name, |stream, header| {
            let payload = payload(stream, &header, memory)?;
            npy::array(&header, &payload, memory).map_err(|f| f.at(array_location(name)).into())
        })
    }

    /// Reads a string, such as the name of a sparse format.
    pub(super) fn text(&mut self, name: &str) -> Result<String, LocatedFault> {
        let memory = self.memory;
        self.open_array(name, |stream, header| {
            let ElementType::Text { width, .. } = header.element else {
                return Err(Fault::malformed("a text", "an array of numbers").at(array_location(name)).into());
            };
            let payload = payload(stream, &header, memory)?;
            npy::check_length(&header, &payload).map_err(|f| f.at(array_location(name)))?;
            // Names of formats and descriptors are ASCII. Each character then has one nonzero byte,
            // first or last according to the byte order.
            let bytes = payload.chunks(width).flat_map(|c| c.iter().copied().filter(|&b| b != 0).take(1));
            Ok(bytes.map(char::from).collect())
        })
    }

    /// Reads an array of nonnegative integers with `rank` modes. Returns the shape and the values.
    pub(super) fn naturals(&mut self, name: &str, rank: usize) -> Result<(Vec<u64>, Vec<u64>), LocatedFault> {
        let array = self.array(name)?;
        // NumPy gives an array made from an empty list a float dtype.
        let integers = !array.values.prim().is_float() || array.values.is_empty();
        if array.shape.len() != rank || !integers {
            let found_rank = array.shape.len() as u64;
            let found = format!("{} of {found_rank} {}", array.values.prim(), modes(found_rank));
            let expected = format!("integers of {rank} {}", modes(rank as u64));
            return Err(Fault::malformed(expected, found).at(array_location(name)));
        }
        let allocated = self.memory.allocate("coordinates", array.values.len());
        let mut naturals = allocated.map_err(|fault| fault.at(array_location(name)))?;
        for k in 0..array.values.len() {
            let value = array.values.get(k).to_i128().expect("an integer");
            let natural = u64::try_from(value).map_err(|_| {
                Fault::malformed("an integer that is not negative", value.to_string())
                    .at(Location::Entry(name.into(), k as u64))
            })?;
            naturals.push(natural);
        }
        Ok((array.shape, naturals))
    }

    fn open_array<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut dyn Read, NpyHeader) -> Result<T, StreamError>,
    ) -> Result<T, LocatedFault> {
        let opened = self.zip.by_name(&format!("{name}.npy"));
        let mut stream = opened.map_err(|e| archive_fault(&e, "array").at(array_location(name)))?;
        let result = header::read(&mut stream).and_then(|bytes| {
            let (header, _) = header::parse(&bytes).map_err(|f| f.at(array_location(name)))?;
            read(&mut stream, header)
        });
        result.map_err(|e| match e {
            StreamError::Io(_) => Fault::Damaged { content: "array" }.at(array_location(name)),
            StreamError::Fault(fault) => fault,
        })
    }
}

/// Returns the word for a number of modes.
pub(super) fn modes(rank: u64) -> &'static str {
    plural(rank, "mode", "modes")
}

/// Returns the fault of an archive, or of an array in the archive.
fn archive_fault(error: &ZipError, content: &'static str) -> Fault {
    match error {
        ZipError::FileNotFound => Fault::malformed("this array", "none"),
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => {
            let hint = "save it with numpy.savez_compressed or scipy.sparse.save_npz";
            Fault::unsupported(format!("the compression or encryption of the {content}"), hint)
        }
        _ => Fault::Damaged { content },
    }
}

fn array_location(name: &str) -> Location {
    Location::Array(name.into())
}

/// Reads at most one byte more than the header announces. The additional byte reveals an entry that
/// is too long; the rest of the entry, which may expand to any length, is not read.
fn payload(stream: &mut dyn Read, header: &NpyHeader, memory: &Memory) -> Result<Vec<u8>, StreamError> {
    let announced = header.payload_bytes().unwrap_or(u64::MAX);
    Ok(read_all(&mut stream.take(announced.saturating_add(1)), "an array of the archive", memory)?)
}
