//! Matrix Market, `.mtx`: matrices as text, in coordinate or array layout.
//!
//! Specified in R. F. Boisvert, R. Pozo and K. A. Remington, *The Matrix Market Exchange Formats:
//! Initial Design*, NISTIR 5935 (1996). Where the specification is open, the reader follows SciPy:
//! - Keywords are case-insensitive. `double` means `real`, and `unsigned-integer` is SciPy's field
//!   for unsigned values.
//! - Blank lines may appear anywhere after the banner, and comments also between and after entries.
//! - Integers may be written as real numbers such as `3.0`. Values in a pattern are ignored.
//! - The specification requires a symmetric file to have only the lower triangle. An entry above
//!   the diagonal is also mirrored, so a file with both triangles yields each entry off the
//!   diagonal twice, as duplicates.
//! - The diagonal of a skew-symmetric matrix is zero; a nonzero entry there is an error.
//! - `complex` and `hermitian` are rejected: redpoll has no complex dtype.

mod header;
mod read;
mod write;

use crate::file_format::FileFormat;
pub(crate) use read::element_line;

pub(crate) static MATRIX_MARKET: FileFormat = FileFormat {
    name: "Matrix Market",
    extension: "mtx",
    summary: "matrices as text: coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric",
    has_header: true,
    sniff: |start| {
        start.len() >= header::BANNER.len() && start[..header::BANNER.len()].eq_ignore_ascii_case(header::BANNER)
    },
    read: |bytes, options| read::read(bytes, &options.memory).map(Into::into),
    info: |stream, _| header::info(stream),
    write: write::write,
    stored: None,
};
