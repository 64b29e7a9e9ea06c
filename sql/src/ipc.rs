//! Checks of Arrow files before they are read, because the Arrow reader allocates memory of any
//! length that a file states.

use crate::error::{Error, Result};
use datafusion::arrow::ipc::{Block, root_as_footer, root_as_message};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The first and last bytes of the file format, which the stream format lacks.
const MAGIC: &[u8; 6] = b"ARROW1";

/// The bytes before the length of a message, which streams of older writers lack.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Checks the structure of an Arrow file. In the file format, the end marker and the footer must be
/// valid, and all blocks must lie within the file. In the stream format, all messages up to the end
/// of the stream must be valid and lie within the file.
///
/// # Errors
/// If the structure is damaged, or the file cannot be read.
pub(crate) fn check(path: &Path) -> Result<()> {
    let damaged = |cause: String| Error::Damaged { input: format!("the file {}", path.display()), cause };
    let io_error = |source| redpoll_datasets::Error::Io { path: path.into(), source };
    let mut file = File::open(path).map_err(io_error)?;
    let size = file.metadata().map_err(io_error)?.len();
    let mut start = [0; MAGIC.len()];
    let is_file = size >= MAGIC.len() as u64 && file.read_exact(&mut start).is_ok() && start == *MAGIC;
    let defect = if is_file { check_file(&mut file, size) } else { check_stream(&mut file, size) };
    match defect {
        Ok(None) => Ok(()),
        Ok(Some(defect)) => Err(damaged(defect)),
        Err(source) => Err(io_error(source).into()),
    }
}

/// The defect of a file, if there is one.
type FileDefect = Option<String>;

/// Reads a part of a file; returns `None` if the part exceeds the file.
fn read_part(file: &mut File, size: u64, start: u64, bytes: u64) -> std::io::Result<Option<Vec<u8>>> {
    if start.checked_add(bytes).is_none_or(|end| end > size) {
        return Ok(None);
    }
    let mut part = vec![0; bytes as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut part)?;
    Ok(Some(part))
}

fn check_file(file: &mut File, size: u64) -> std::io::Result<FileDefect> {
    let end = size.checked_sub(10).filter(|&end| end >= 8);
    let tail = end.map_or(Ok(None), |end| read_part(file, size, end, 10))?;
    let Some((end, tail)) = end.zip(tail).filter(|(_, tail)| tail[4..] == *MAGIC) else {
        return Ok(Some("the end marker is missing".into()));
    };
    let length = i32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let length = u64::try_from(length).ok().filter(|&length| length <= end);
    let footer = length.map_or(Ok(None), |length| read_part(file, size, end - length, length))?;
    let Some(footer) = footer else { return Ok(Some("the footer exceeds the file".into())) };
    let footer = match root_as_footer(&footer) {
        Ok(footer) => footer,
        Err(e) => return Ok(Some(e.to_string())),
    };
    let lies_outside = |block: &Block| {
        let parts = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
        let end = parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(u64::try_from(part).ok()?));
        end.is_none_or(|end| end > size)
    };
    let outside = [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten().any(lies_outside);
    Ok(outside.then(|| "a block exceeds the file".into()))
}

fn check_stream(file: &mut File, size: u64) -> std::io::Result<FileDefect> {
    let mut at = 0;
    while let Some(mut length) = read_part(file, size, at, 4)? {
        at += 4;
        if length == CONTINUATION {
            let Some(next) = read_part(file, size, at, 4)? else { break };
            (length, at) = (next, at + 4);
        }
        let length = i32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        if length == 0 {
            return Ok(None);
        }
        let message = u64::try_from(length).map_or(Ok(None), |length| read_part(file, size, at, length))?;
        let Some(message) = message else { return Ok(Some("a message exceeds the file".into())) };
        at += message.len() as u64;
        let body = match root_as_message(&message) {
            Ok(message) => u64::try_from(message.bodyLength()).ok(),
            Err(e) => return Ok(Some(e.to_string())),
        };
        match body.and_then(|body| at.checked_add(body)).filter(|&end| end <= size) {
            Some(end) => at = end,
            None => return Ok(Some("the body of a message exceeds the file".into())),
        }
    }
    Ok(if at == size { None } else { Some("the file ends within a message".into()) })
}
