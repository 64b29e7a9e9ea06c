//! Mutations of files, drawn by a seed: changes of bytes, words, lines, and the rest of a part.

use super::samples::{self, FileSample};
use redpoll_logic::testing::Rng;

/// Words that readers treat specially, or that are at the limits of number types.
const WORDS: [&str; 40] = [
    "0",
    "1",
    "-1",
    "2.0",
    "1.5",
    "3",
    "-0.0",
    "1e3",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "99999999999999999999999",
    "%",
    "#",
    "# dims 3 3",
    "\"",
    "\"\"",
    ",",
    ";",
    "\t",
    "\r",
    "\r\n",
    "\n\n",
    "\u{feff}",
    "general",
    "symmetric",
    "x",
    "\u{e9}",
];

/// A change of a part of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
enum FileEdit {
    /// An overwritten byte.
    Byte { at: u64, byte: u8 },
    /// A flipped bit.
    Flip { at: u64, bit: u8 },
    /// Removed bytes.
    Cut { at: u64, length: u64 },
    /// A truncation of the part.
    Truncate { at: u64 },
    /// An inserted word.
    Insert { at: u64, word: &'static str },
    /// A word in place of another word.
    Replace { at: u64, word: &'static str },
    /// A repeated line.
    Repeat { at: u64 },
    /// A removed line.
    Drop { at: u64 },
    /// The rest of the first part of another sample in place of the rest of this part.
    Splice { at: u64, other: u64, from: u64 },
    /// Eight bytes, overwritten by the `i64` that a word denotes, or by the largest `i64` if the
    /// word denotes none.
    Number { at: u64, word: &'static str },
}

/// A sample with edits; each edit changes one part of the sample.
#[derive(Clone, Debug)]
pub(super) struct Mutation {
    sample: &'static FileSample,
    edits: Vec<(u64, FileEdit)>,
}

impl Mutation {
    /// Returns the mutation of a seed: one to four edits of a sample.
    pub(super) fn from_seed(seed: u64) -> Mutation {
        let mut random = Rng::new(seed);
        let sample = random.pick(samples::all());
        let count = 1 + random.below(4).min(random.below(4));
        let edits = (0..count).map(|_| (random.bits(), draw_edit(&mut random))).collect();
        Mutation { sample, edits }
    }

    /// Returns the name of the file.
    pub(super) fn name(&self) -> &'static str {
        self.sample.name
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut sample = self.sample.clone();
        for (part, edit) in &self.edits {
            let part = (part % sample.parts.len() as u64) as usize;
            apply(edit, &mut sample.parts[part].1);
        }
        sample.bytes()
    }

    /// Returns the mutations that have one edit fewer.
    pub(super) fn reductions(&self) -> impl Iterator<Item = Mutation> {
        (0..self.edits.len()).map(|without| {
            let mut fewer = self.clone();
            fewer.edits.remove(without);
            fewer
        })
    }
}

fn draw_edit(random: &mut Rng) -> FileEdit {
    let at = random.bits();
    let word = *random.pick(&WORDS);
    match random.below(12) {
        0 => FileEdit::Byte { at, byte: random.bits() as u8 },
        1 => FileEdit::Flip { at, bit: random.below(8) as u8 },
        2 => FileEdit::Cut { at, length: 1 + random.below(8) },
        3 => FileEdit::Truncate { at },
        4 | 5 => FileEdit::Insert { at, word },
        6 | 7 => FileEdit::Replace { at, word },
        8 => FileEdit::Repeat { at },
        9 => FileEdit::Drop { at },
        10 => FileEdit::Splice { at, other: random.bits(), from: random.bits() },
        _ => FileEdit::Number { at, word },
    }
}

/// Maps a number to an offset from 0 to `length`, both included.
fn offset(at: u64, length: usize) -> usize {
    (at % (length as u64 + 1)) as usize
}

/// Returns the range around an offset that is delimited by `ends`.
fn enclosing_range(bytes: &[u8], at: usize, ends: fn(&u8) -> bool) -> std::ops::Range<usize> {
    let start = bytes[..at].iter().rposition(ends).map_or(0, |k| k + 1);
    let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |k| at + k);
    start..end
}

fn apply(edit: &FileEdit, bytes: &mut Vec<u8>) {
    let length = bytes.len();
    let between_words: fn(&u8) -> bool = |b| b.is_ascii_whitespace() || matches!(b, b',' | b';');
    let line_end: fn(&u8) -> bool = |b| *b == b'\n';
    match *edit {
        FileEdit::Byte { .. } | FileEdit::Flip { .. } if length == 0 => {}
        FileEdit::Byte { at, byte } => bytes[(at % length as u64) as usize] = byte,
        FileEdit::Flip { at, bit } => bytes[(at % length as u64) as usize] ^= 1 << bit,
        FileEdit::Cut { at, length: cut } => {
            let start = offset(at, length);
            bytes.drain(start..(start + cut as usize).min(length));
        }
        FileEdit::Truncate { at } => bytes.truncate(offset(at, length)),
        FileEdit::Insert { at, word } => {
            let at = offset(at, length);
            bytes.splice(at..at, word.bytes());
        }
        FileEdit::Replace { at, word } => {
            let range = enclosing_range(bytes, offset(at, length), between_words);
            bytes.splice(range, word.bytes());
        }
        FileEdit::Repeat { at } => {
            let range = enclosing_range(bytes, offset(at, length), line_end);
            let line = [&bytes[range.clone()], b"\n"].concat();
            bytes.splice(range.start..range.start, line);
        }
        FileEdit::Drop { at } => {
            let range = enclosing_range(bytes, offset(at, length), line_end);
            bytes.drain(range.start..(range.end + 1).min(length));
        }
        FileEdit::Splice { at, other, from } => {
            let all = samples::all();
            let other = &all[(other % all.len() as u64) as usize].parts[0].1;
            bytes.truncate(offset(at, length));
            bytes.extend(&other[offset(from, other.len())..]);
        }
        FileEdit::Number { at, word } => {
            let number = word.parse::<i64>().unwrap_or(i64::MAX).to_le_bytes();
            // Numbers in binary arrays are aligned to eight bytes, counted from the end.
            let distance = 8 * (1 + at % (length as u64 / 8).max(1)) as usize;
            if let Some(start) = length.checked_sub(distance) {
                bytes[start..start + 8].copy_from_slice(&number);
            }
        }
    }
}
