//! Formats in one line: lists of words. Each level with its storage mode is a word, and the word
//! `pattern` follows if the leaf is a pattern.

use crate::error::Error;
use crate::format::{Format, LeafKind, StorageMode};
use crate::level::{LevelFormat, LevelKind};
use crate::sexpr::Sexpr;
use std::fmt::{self, Write};

/// A format in one line: its levels, each with its flags, and with its storage mode unless level
/// `k` stores mode `k`; then `pattern` for a pattern leaf.
pub struct FormatDisplay<'a>(
    /// The format.
    pub &'a Format,
);

impl fmt::Display for FormatDisplay<'_> {
    /// Writes `(dense sparse-list)`, `(dense@1 sparse-list@0)`,
    /// `(dense@0/2 sparse-list@1/3 dense@0%2 dense@1%3)` or `(sparse-list@1-0 dense@0)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        for (depth, (level, mode)) in self.0.levels.iter().zip(&self.0.modes).enumerate() {
            let kind = level.kind.traits().name;
            let flags = match (level.ordered, level.unique) {
                (true, true) => "",
                (true, false) => "*",
                (false, true) => "?",
                (false, false) => "?*",
            };
            let space = if depth > 0 { " " } else { "" };
            write!(f, "{space}{kind}{flags}")?;
            match *mode {
                StorageMode::Whole { mode } if mode == depth => {}
                StorageMode::Whole { mode } => write!(f, "@{mode}")?,
                StorageMode::Outer { mode, block } => write!(f, "@{mode}/{block}")?,
                StorageMode::Inner { mode, block } => write!(f, "@{mode}%{block}")?,
                StorageMode::Skew { mode, by } => write!(f, "@{mode}-{by}")?,
            }
        }
        f.write_str(if self.0.leaf == LeafKind::Pattern { " pattern)" } else { ")" })
    }
}

/// Reads the text of [`FormatDisplay`].
pub(crate) fn format_from_words(s: &Sexpr) -> Result<Format, Error> {
    let words = s.items("a format (LEVEL..)")?;
    let (leaf, words) = match words.split_last() {
        Some((last, rest)) if last.as_atom() == Some("pattern") => (LeafKind::Pattern, rest),
        _ => (LeafKind::Element, words),
    };
    let levels = words.iter().enumerate().map(|(depth, word)| {
        let text = word.word("a level")?;
        read_level(text, depth).ok_or_else(|| {
            word.error(format!("expected a level KIND[?][*][@MODE[/BLOCK | %BLOCK | -BY]], found {text}"))
        })
    });
    let (levels, modes) = levels.collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
    Ok(Format { levels, modes, leaf })
}

fn read_level(text: &str, depth: usize) -> Option<(LevelFormat, StorageMode)> {
    let (level, mode) = text.split_once('@').map_or((text, None), |(level, mode)| (level, Some(mode)));
    let kind = LevelKind::from_name(level.trim_end_matches(['?', '*']))?;
    let (ordered, unique) = match &level[kind.traits().name.len()..] {
        "" => (true, true),
        "*" => (true, false),
        "?" => (false, true),
        "?*" => (false, false),
        _ => return None,
    };
    let block = |m: &str, b: &str| Some((m.parse().ok()?, b.parse().ok()?));
    let mode = match mode {
        None => StorageMode::Whole { mode: depth },
        Some(text) => match (text.split_once('/'), text.split_once('%'), text.split_once('-')) {
            (Some((m, b)), ..) => block(m, b).map(|(mode, block)| StorageMode::Outer { mode, block })?,
            (_, Some((m, b)), _) => block(m, b).map(|(mode, block)| StorageMode::Inner { mode, block })?,
            (.., Some((m, b))) => StorageMode::Skew { mode: m.parse().ok()?, by: b.parse().ok()? },
            _ => StorageMode::Whole { mode: text.parse().ok()? },
        },
    };
    Some((LevelFormat { kind, ordered, unique }, mode))
}
