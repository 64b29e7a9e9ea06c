//! Matrix Market, `.mtx`: matrices as text, entry by entry or place by place.
//!
//! After R. F. Boisvert, R. Pozo and K. A. Remington, *The Matrix Market Exchange Formats: Initial Design*,
//! NISTIR 5935 (1996). Where the text leaves room we follow SciPy:
//! - Keywords are taken in any case; `double` means `real`; `unsigned-integer` is SciPy's field for values from 2^63.
//! - Blank lines may stand anywhere, and comments between entries and after them too.
//! - Integers may be written as real numbers, as `3.0`, where these are whole. Values in a pattern say nothing.
//! - The specification wants a symmetric file to hold the lower triangle. An entry above the diagonal is accepted and
//!   mirrored like any other, so a file that holds both triangles counts each entry twice: they come out as duplicates.
//! - The diagonal of a skew-symmetric matrix is zero; an entry there is an error unless its value is zero.
//! - `complex` and `hermitian` are refused: redpoll has no complex dtype.

mod header;
mod read;
mod write;

use super::FileFormat;

pub(crate) static MATRIX_MARKET: FileFormat = FileFormat {
    name: "Matrix Market",
    extension: "mtx",
    summary: "matrices as text: coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric",
    sniff: |start| {
        start.len() >= header::BANNER.len() && start[..header::BANNER.len()].eq_ignore_ascii_case(header::BANNER)
    },
    read: |bytes, options| read::read(bytes, &options.memory).map(Into::into),
    info: |stream, _| header::info(stream),
    write: write::write,
};
