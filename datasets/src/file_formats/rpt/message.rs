//! Framing of Arrow IPC files: the magic bytes, and messages with their lengths.
//!
//! Source: the Apache Arrow specification, "Serialization and Interprocess Communication (IPC)".

use crate::error::{Count, Fault, Location, StreamError};
use crate::memory::{Memory, read_all};
use std::io::{self, Read, Write};

/// The first and last bytes of a file.
pub(super) const MAGIC: &[u8; 6] = b"ARROW1";

/// The magic bytes with their padding.
pub(super) const START: [u8; 8] = *b"ARROW1\0\0";

/// The bytes before the length of a message.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];

/// The mark after the last message.
pub(super) const END_OF_MESSAGES: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The alignment of arrays in the files that redpoll writes, in bytes.
pub(super) const ALIGNMENT: u64 = 64;

/// Number of bytes before a message: the continuation and the length.
pub(super) const PREFIX: u64 = 8;

/// Maximum length of a message, not counting the data after it.
const MAX_MESSAGE: u64 = 1 << 24;

/// Reader of the messages in a stream.
pub(super) struct MessageReader<'a> {
    stream: &'a mut dyn Read,
    /// The number of bytes read.
    pub(super) position: u64,
    memory: &'a Memory,
}

impl<'a> MessageReader<'a> {
    /// Reads the magic bytes with their padding.
    pub(super) fn open(stream: &'a mut dyn Read, memory: &'a Memory) -> Result<MessageReader<'a>, StreamError> {
        let mut reader = MessageReader { stream, position: 0, memory };
        match reader.group()? {
            Some(START) => Ok(reader),
            _ => Err(Fault::malformed("an Arrow file, which starts with `ARROW1`", "other bytes")
                .at(Location::File)
                .into()),
        }
    }

    /// Reads eight bytes; returns `None` if the stream ends earlier.
    fn group(&mut self) -> Result<Option<[u8; 8]>, StreamError> {
        let mut group = [0; 8];
        match self.stream.read_exact(&mut group) {
            Ok(()) => {
                self.position += 8;
                Ok(Some(group))
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Reads the next message. Within the first [`ALIGNMENT`] bytes of the file, zeros before a
    /// message are padding and are skipped.
    pub(super) fn message(&mut self) -> Result<Vec<u8>, StreamError> {
        let length = loop {
            match self.group()? {
                Some([0xff, 0xff, 0xff, 0xff, length @ ..]) => break i32::from_le_bytes(length),
                Some([0, 0, 0, 0, 0, 0, 0, 0]) if self.position <= ALIGNMENT => {}
                Some(_) => return Err(Fault::malformed("a message", "other bytes").at(Location::File).into()),
                None => return Err(truncated("a message", PREFIX, 0)),
            }
        };
        let Some(length) = u64::try_from(length).ok().filter(|&length| length > 0 && length <= MAX_MESSAGE) else {
            let found = format!("the length {length}");
            return Err(Fault::malformed(format!("a message of 1 to {MAX_MESSAGE} bytes"), found)
                .at(Location::File)
                .into());
        };
        let message = read_all(&mut (&mut *self.stream).take(length), "a message", self.memory)?;
        self.position += message.len() as u64;
        if (message.len() as u64) < length {
            return Err(truncated("a message", length, message.len() as u64));
        }
        Ok(message)
    }
}

fn truncated(content: &'static str, expected: u64, found: u64) -> StreamError {
    Fault::Truncated { content, expected: Count(Some(expected)), found }.at(Location::File).into()
}

/// Checks that the mark for the end of the messages follows the record batch, and that the file
/// ends with the magic bytes. `read` reads bytes of the file at an offset.
pub(super) fn check_end<E: From<Fault>>(
    size: u64,
    body_end: u64,
    mut read: impl FnMut(&mut [u8], u64) -> Result<(), E>,
) -> Result<(), E> {
    let (mut mark, mut magic) = ([0; END_OF_MESSAGES.len()], [0; MAGIC.len()]);
    let truncated = || Fault::Truncated { content: "the file", expected: Count(Some(body_end)), found: size };
    let last = size.checked_sub(magic.len() as u64).ok_or_else(truncated)?;
    read(&mut magic, last)?;
    if magic != *MAGIC {
        return Err(
            Fault::malformed("`ARROW1` at the end of the file", "other bytes; the file may be truncated").into()
        );
    }
    if body_end.saturating_add((mark.len() + magic.len()) as u64) > size {
        return Err(truncated().into());
    }
    read(&mut mark, body_end)?;
    if mark != END_OF_MESSAGES {
        return Err(Fault::malformed("one record batch", "more data after the first one").into());
    }
    Ok(())
}

/// Writes a message, padded so that the data after it are aligned. `position` is the number of
/// bytes written before the message. Returns the number of bytes of the message, including prefix
/// and padding.
pub(super) fn write_message(out: &mut dyn Write, position: u64, message: &[u8]) -> io::Result<u64> {
    let padded = (position + PREFIX + message.len() as u64).next_multiple_of(ALIGNMENT) - position;
    let length = i32::try_from(padded - PREFIX).map_err(|_| io::Error::other("the schema is too large"))?;
    out.write_all(&CONTINUATION)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(message)?;
    write_zeros(out, padded - PREFIX - message.len() as u64)?;
    Ok(padded)
}

/// Writes `count` zeros, fewer than [`ALIGNMENT`].
pub(super) fn write_zeros(out: &mut dyn Write, count: u64) -> io::Result<()> {
    out.write_all(&[0; ALIGNMENT as usize][..count as usize])
}
