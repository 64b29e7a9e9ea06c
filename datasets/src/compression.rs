//! Compressed streams around any file format.

use crate::error::Error;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip, in one or more members.
    Gzip,
    /// zstd, in one or more frames.
    Zstd,
}

struct Row {
    compression: Compression,
    name: &'static str,
    extension: &'static str,
    magic: &'static [u8],
}

const TABLE: [Row; 2] = [
    Row { compression: Compression::Gzip, name: "gzip", extension: "gz", magic: &[0x1f, 0x8b] },
    Row { compression: Compression::Zstd, name: "zstd", extension: "zst", magic: &[0x28, 0xb5, 0x2f, 0xfd] },
];

/// Level 3 of zstd and 6 of gzip are their own defaults: good ratios at the speed of a disk.
const ZSTD_LEVEL: i32 = 3;

impl Compression {
    /// The compression that an extension such as `gz` names.
    pub fn of_extension(extension: &str) -> Compression {
        let row = TABLE.iter().find(|row| row.extension.eq_ignore_ascii_case(extension));
        row.map_or(Compression::None, |row| row.compression)
    }

    /// The compression that the first bytes of a file tell.
    pub fn of_content(start: &[u8]) -> Compression {
        TABLE.iter().find(|row| start.starts_with(row.magic)).map_or(Compression::None, |row| row.compression)
    }

    /// Its name: `none`, `gzip` or `zstd`.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.compression == self).map_or("none", |row| row.name)
    }

    /// The stream without its compression.
    ///
    /// # Errors
    /// When the decoder has no memory.
    pub fn decoder<'a>(self, stream: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Compression::None => Box::new(stream),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(stream)),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(stream)?),
        })
    }

    /// Gives `write` a stream that compresses into `sink`, and ends it.
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

    /// The error for a stream that failed: the decoder's, or the system's when there is no decoder.
    pub(crate) fn stream_error(self, path: &Path, source: io::Error) -> Error {
        match self {
            Compression::None => Error::Io { path: path.into(), source },
            _ => Error::Compressed { path: path.into(), compression: self.name(), source },
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
