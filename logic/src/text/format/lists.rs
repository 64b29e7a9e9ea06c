//! Formats as lists of levels, and their shorthands.

use crate::error::Error;
use crate::format::{Format, LeafKind, StorageMode};
use crate::level::{LevelFormat, LevelKind};
use crate::sexpr::{Sexpr, read_one};
use crate::text::form_args;

/// A shorthand: its name, its rank if fixed, and the format for a rank. Block formats have the
/// default block sizes [`DENSE_BLOCK`] and [`SPARSE_BLOCK`]; other sizes are given in parentheses,
/// see [`BLOCK_SHORTHANDS`].
type Shorthand = (&'static str, Option<usize>, fn(usize) -> Format);
const SHORTHANDS: &[Shorthand] = &[
    ("dense", None, Format::dense),
    ("csf", None, Format::csf),
    ("coo", None, Format::coo),
    ("csr", Some(2), |_| Format::csr()),
    ("csc", Some(2), |_| Format::csc()),
    ("dcsr", Some(2), Format::csf),
    ("ell", None, |rank| Format::dense_above(LevelKind::FixedWidth, rank)),
    ("vbl", None, |rank| Format::dense_above(LevelKind::BlockList, rank)),
    ("band", None, |rank| Format::dense_above(LevelKind::Band, rank)),
    ("rle", None, |rank| Format::dense_above(LevelKind::RunLength, rank)),
    ("dcsc", Some(2), |_| Format::csf(2).permuted(&[1, 0])),
    ("dia", Some(2), |_| Format::dia()),
    ("bcsr", Some(2), |_| Format::bcsr(DENSE_BLOCK, DENSE_BLOCK)),
    ("csb", Some(2), |_| Format::csb(SPARSE_BLOCK, SPARSE_BLOCK)),
    ("mode-generic", None, |rank| Format::mode_generic(&vec![DENSE_BLOCK; rank])),
];

/// Default number of coordinates per mode in a dense block.
const DENSE_BLOCK: u64 = 4;

/// Default number of coordinates per mode in a sparse block.
const SPARSE_BLOCK: u64 = 256;

/// A block format whose block size is given per mode: its name, its syntax, the number of sizes if
/// fixed, and the format.
type BlockShorthand = (&'static str, &'static str, Option<usize>, fn(&[u64]) -> Format);
const BLOCK_SHORTHANDS: &[BlockShorthand] = &[
    ("bcsr", "(bcsr ROWS COLUMNS)", Some(2), |block| Format::bcsr(block[0], block[1])),
    ("csb", "(csb ROWS COLUMNS)", Some(2), |block| Format::csb(block[0], block[1])),
    ("mode-generic", "(mode-generic SIZE..)", None, Format::mode_generic),
];

/// Returns the syntax of the shorthands with block sizes.
pub fn block_shorthands() -> impl Iterator<Item = &'static str> {
    BLOCK_SHORTHANDS.iter().map(|(_, syntax, ..)| *syntax)
}

/// Returns the shorthands for tensors of the given rank: name, rank if fixed, and format.
pub fn shorthands(rank: usize) -> impl Iterator<Item = (&'static str, Option<usize>, Format)> {
    let fits = SHORTHANDS.iter().filter(move |(_, fixed, _)| fixed.is_none_or(|fixed| fixed == rank));
    fits.map(move |(name, fixed, build)| (*name, *fixed, build(rank)))
}

/// Parses a format such as `csr` or `(dense (sparse-list (element)))`, for a tensor of the given
/// rank.
///
/// # Errors
/// Returns an error if the text is not a valid format of that rank.
pub fn parse_format(text: &str, rank: usize) -> Result<Format, Error> {
    format_from_sexpr(&read_one(text)?, rank)
}

/// Reads a format for a tensor of the given rank.
///
/// # Errors
/// Returns an error if the s-expression is not a valid format of that rank.
pub fn format_from_sexpr(s: &Sexpr, rank: usize) -> Result<Format, Error> {
    let format = match (s.as_atom(), s.as_form()) {
        (Some(word), _) => parse_shorthand(s, word, rank)?,
        (_, Some(("modes", items))) => {
            let Some((inner, modes)) = items.split_last() else {
                return Err(s.error("expected (modes MODE.. LEVELS)"));
            };
            let modes = modes.iter().map(parse_mode).collect::<Result<Vec<_>, _>>()?;
            Format { modes, ..parse_levels(inner)? }
        }
        (_, Some((word, sizes))) => match BLOCK_SHORTHANDS.iter().find(|(name, ..)| *name == word) {
            Some(shorthand) => block_format(s, shorthand, sizes, rank)?,
            None => parse_levels(s)?,
        },
        _ => parse_levels(s)?,
    };
    if format.rank() != rank {
        return Err(s.error(format!("{s} is a format for {} modes, but the tensor has {rank}", format.rank())));
    }
    format.validate().map_err(|e| s.locate(e.into()))?;
    Ok(format)
}

fn parse_shorthand(s: &Sexpr, word: &str, rank: usize) -> Result<Format, Error> {
    let Some((_, fixed, build)) = SHORTHANDS.iter().find(|(name, ..)| *name == word) else {
        let candidates = SHORTHANDS.iter().map(|(name, ..)| *name);
        return Err(s.locate(Error::unknown("format", word, candidates)));
    };
    check_rank(s, fixed.unwrap_or(rank), rank)?;
    Ok(build(rank))
}

/// Reads a format with a block size per mode.
fn block_format(s: &Sexpr, shorthand: &BlockShorthand, sizes: &[Sexpr], rank: usize) -> Result<Format, Error> {
    let (_, syntax, count, build) = shorthand;
    if count.is_some_and(|count| count != sizes.len()) {
        return Err(s.error(format!("expected {syntax}, found {s}")));
    }
    check_rank(s, sizes.len(), rank)?;
    let block = sizes.iter().map(|size| size.number("the size of a block")).collect::<Result<Vec<u64>, _>>()?;
    Ok(build(&block))
}

fn check_rank(s: &Sexpr, expected: usize, rank: usize) -> Result<(), Error> {
    if expected == rank {
        return Ok(());
    }
    Err(s.error(format!("{s} is a format for {expected} modes, but the tensor has {rank}")))
}

/// Reads nested levels `(KIND FLAG.. LEVELS)` down to the leaf; level k stores mode k.
fn parse_levels(s: &Sexpr) -> Result<Format, Error> {
    let (mut current, mut levels) = (s, Vec::new());
    let leaf = loop {
        let word = match (current.as_atom(), current.as_form()) {
            (Some(word), _) | (_, Some((word, []))) => word,
            (_, Some((kind, rest))) => {
                let (level, inner) = parse_level(current, kind, rest)?;
                levels.push(level);
                current = inner;
                continue;
            }
            _ => return Err(current.error(format!("expected a level or leaf, found {current}"))),
        };
        break match word {
            "element" => LeafKind::Element,
            "pattern" => LeafKind::Pattern,
            _ => {
                return Err(
                    current.error(format!("expected (element) or (pattern) below the last level, found {current}"))
                );
            }
        };
    };
    let modes = (0..levels.len()).map(|mode| StorageMode::Whole { mode }).collect();
    Ok(Format { levels, modes, leaf })
}

fn parse_level<'a>(s: &Sexpr, kind: &str, rest: &'a [Sexpr]) -> Result<(LevelFormat, &'a Sexpr), Error> {
    let Some(kind) = LevelKind::from_name(kind) else {
        return Err(s.locate(Error::unknown("level", kind, LevelKind::all().map(|k| k.traits().name))));
    };
    let mut level = LevelFormat::new(kind);
    let (inner, flags) = rest.split_last().expect("a form without arguments is a leaf");
    for flag in flags {
        match flag.as_atom() {
            Some("non-unique") => level.unique = false,
            Some("unordered") => level.ordered = false,
            _ => return Err(flag.error(format!("expected a flag, non-unique or unordered, found {flag}"))),
        }
    }
    Ok((level, inner))
}

fn parse_mode(s: &Sexpr) -> Result<StorageMode, Error> {
    let parts = |s| -> Result<(usize, u64), Error> {
        let [mode, block] = form_args(s, "a mode and the size of a block")?;
        Ok((mode.number("a mode")?, block.number("the size of a block")?))
    };
    match s.as_form() {
        Some(("outer", _)) => parts(s).map(|(mode, block)| StorageMode::Outer { mode, block }),
        Some(("inner", _)) => parts(s).map(|(mode, block)| StorageMode::Inner { mode, block }),
        Some(("skew", _)) => {
            let [mode, by] = form_args(s, "a mode and the mode that skews it")?;
            Ok(StorageMode::Skew { mode: mode.number("a mode")?, by: by.number("a mode")? })
        }
        _ => {
            let expected = "a mode, (outer MODE BLOCK), (inner MODE BLOCK) or (skew MODE BY)";
            Ok(StorageMode::Whole { mode: s.number(expected)? })
        }
    }
}

/// Writes a format as a level list, with its modes unless each level `k` stores mode `k`.
pub fn format_to_sexpr(format: &Format) -> Sexpr {
    let leaf = match format.leaf {
        LeafKind::Element => "element",
        LeafKind::Pattern => "pattern",
    };
    let levels = format.levels.iter().rev().fold(Sexpr::form(leaf, []), |inner, level| {
        let kind = level.kind.traits().name;
        let flags = [(level.unique, "non-unique"), (level.ordered, "unordered")];
        let flags = flags.into_iter().filter(|(is_set, _)| !is_set).map(|(_, flag)| Sexpr::atom(flag));
        Sexpr::form(kind, flags.chain([inner]))
    });
    let in_order = format.modes.iter().enumerate().all(|(k, m)| *m == StorageMode::Whole { mode: k });
    if in_order {
        return levels;
    }
    let modes = format.modes.iter().map(|m| match *m {
        StorageMode::Whole { mode } => integer(mode),
        StorageMode::Outer { mode, block } => Sexpr::form("outer", [integer(mode), integer(block)]),
        StorageMode::Inner { mode, block } => Sexpr::form("inner", [integer(mode), integer(block)]),
        StorageMode::Skew { mode, by } => Sexpr::form("skew", [integer(mode), integer(by)]),
    });
    Sexpr::form("modes", modes.chain([levels]))
}

fn integer(n: impl std::fmt::Display) -> Sexpr {
    Sexpr::atom(n.to_string())
}
