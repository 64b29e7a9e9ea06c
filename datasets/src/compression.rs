//! Compression of files of any format.

use crate::error::Error;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;

/// Compression of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// gzip, in one or more members.
    Gzip,
    /// zstd, in one or more frames.
    Zstd,
}

struct CompressionRow {
    compression: Compression,
    name: &'static str,
    extension: &'static str,
    magic: &'static [u8],
}

const TABLE: [CompressionRow; 2] = [
    CompressionRow { compression: Compression::Gzip, name: "gzip", extension: "gz", magic: &[0x1f, 0x8b] },
    CompressionRow { compression: Compression::Zstd, name: "zstd", extension: "zst", magic: &[0x28, 0xb5, 0x2f, 0xfd] },
];

/// The compression level of zstd: its default, a compromise between ratio and speed.
const ZSTD_LEVEL: i32 = 3;

impl Compression {
    /// Returns the compression of an extension such as `gz`; [`Compression::None`] for any other
    /// extension.
    pub fn of_extension(extension: &str) -> Compression {
        let row = TABLE.iter().find(|row| row.extension.eq_ignore_ascii_case(extension));
        row.map_or(Compression::None, |row| row.compression)
    }

    /// Detects the compression by the first bytes of a file; [`Compression::None`] if no known
    /// compression has these first bytes.
    pub fn of_content(start: &[u8]) -> Compression {
        TABLE.iter().find(|row| start.starts_with(row.magic)).map_or(Compression::None, |row| row.compression)
    }

    /// Returns the name: `none`, `gzip` or `zstd`.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.compression == self).map_or("none", |row| row.name)
    }

    /// Returns the decompressed stream.
    ///
    /// # Errors
    /// Fails if the decoder cannot allocate memory.
    pub fn decoder<'a>(self, stream: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Compression::None => Box::new(stream),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(stream)),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(stream)?),
        })
    }

    /// Calls `write` with a stream that compresses into `sink`, and then finishes the compression.
    pub(crate) fn encode<E: From<io::Error>>(
        self,
        sink: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Compression::None => write(sink),
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(sink, flate2::Compression::default());
                write(&mut encoder)?;
                encoder.finish()?;
                Ok(())
            }
            Compression::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(sink, ZSTD_LEVEL)?;
                write(&mut encoder)?;
                encoder.finish()?;
                Ok(())
            }
        }
    }

    /// Returns the error of a failed stream: [`Error::Compressed`], or [`Error::Io`] if the stream
    /// is not compressed or the error is one of the system.
    pub(crate) fn stream_error(self, path: &Path, source: io::Error) -> Error {
        match self {
            Compression::None => Error::Io { path: path.into(), source },
            _ if source.raw_os_error().is_some() => Error::Io { path: path.into(), source },
            _ => Error::Compressed { path: path.into(), compression: self.name(), source },
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that errors of the system are not taken for damage of the compressed stream.
    #[test]
    fn errors_of_the_system_are_no_damage() {
        let error = |source| Compression::Gzip.stream_error(Path::new("a.mtx.gz"), source);
        assert!(matches!(error(io::Error::from_raw_os_error(5)), Error::Io { .. }));
        assert!(matches!(error(io::ErrorKind::UnexpectedEof.into()), Error::Compressed { .. }));
    }
}
