//! The file format of redpoll, `.rpt`: the arrays of a tensor as an Arrow IPC file.
//!
//! The file has one record batch of one row, with a column for each array: first the arrays of the
//! levels, outermost first, then the arrays of the leaf. A column is a large list whose only row is
//! the array. Columns are named `0.ptr`, `0.idx`, .. for levels, and `val` or `val.MEMBER` for the
//! leaf. Booleans are stored as bytes 0 and 1, as in memory. Any reader of Arrow files reads the
//! columns.
//!
//! The metadata of the schema has the type of the tensor in redpoll's text forms:
//!
//! | key | value |
//! |---|---|
//! | `redpoll:version` | `1` |
//! | `redpoll:shape` | the dimensions, such as `3 4` |
//! | `redpoll:fill` | the fill value with its dtype, such as `(lit f64 0.0)` |
//! | `redpoll:fill-bits` | the bits of the primitives of the fill value, in hexadecimal |
//! | `redpoll:format` | the format, such as `(dense (sparse-list (element)))` |
//! | `redpoll:stored` | the number of stored elements |
//!
//! The writer aligns each array to 64 bytes within the file and writes it without a copy. In files
//! of other programs, arrays may have any alignment, but only aligned floats are mapped. Compressed
//! bodies, several batches, NULLs and big-endian files are rejected.

mod check;
mod hashed;
mod message;
mod open;
mod read;
mod schema;
mod write;

use crate::entries::entries_of_tensor;
use crate::error::{Fault, LocatedFault, Location};
use crate::file_format::{FileFormat, ParsedFile, StoredFormat};
use crate::memory::{Memory, MemoryScope};

pub(crate) static RPT: FileFormat = FileFormat {
    name: "redpoll tensor",
    extension: "rpt",
    summary: "the arrays of a tensor in any storage format, with any dtype and fill value, as an Arrow IPC file",
    has_header: true,
    sniff: |start| start.starts_with(message::MAGIC),
    read: |bytes, options| entries(bytes, &options.memory),
    info: read::info,
    write: write::write_content,
    stored: Some(StoredFormat {
        read: read::read,
        open: open::open,
        record_written: open::record_written,
        write: write::write,
    }),
};

/// Reads the entries of the tensor.
fn entries(bytes: &[u8], memory: &Memory) -> Result<ParsedFile, LocatedFault> {
    let arrays = MemoryScope::new(memory);
    let (info, tensor) = read::read(bytes, arrays.memory())?;
    if tensor.ty().dtype.prim().is_none() {
        let content = format!("entries of dtype {}", tensor.ty().dtype);
        return Err(Fault::unsupported(content, "open the file as a tensor").at(Location::File));
    }
    let data = entries_of_tensor(&tensor, memory).map_err(|e| e.into_fault().at(Location::File))?;
    Ok((info, data).into())
}
