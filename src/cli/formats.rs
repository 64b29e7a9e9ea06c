//! `redpoll formats`: the storage formats in memory and in files.

use super::failure::CommandFailure;
use super::style::TerminalStyle;
use crate::datasets::file_formats::FILE_FORMATS;
use crate::logic::text::{block_shorthands, format_to_sexpr, shorthands};
use crate::logic::{LevelKind, Lookup};
use crate::storage::levels::level;
use std::io::{self, Write};

/// List level kinds, format shorthands and file formats
#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn formats(_: &Args, out: &mut impl Write) -> Result<(), CommandFailure> {
    let style = TerminalStyle::of(&io::stdout());
    writeln!(out, "{}", style.title("level kinds"))?;
    for kind in LevelKind::all() {
        let arrays: Vec<&str> = level(kind).arrays().iter().map(|a| a.name).collect();
        let arrays = if arrays.is_empty() { "none".to_owned() } else { arrays.join(" ") };
        let p = kind.traits();
        let traits = [
            (p.full, "full"),
            (p.branchless, "branchless"),
            (p.single, "one entry per fiber"),
            (p.compact, "compact"),
            (p.lookup == Lookup::Direct, "direct lookup"),
            (p.lookup == Lookup::Search, "lookup by search"),
            (p.writes.is_random(), "random writes"),
            (!p.writes.is_random(), "append"),
        ];
        let traits: Vec<&str> = traits.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect();
        writeln!(out, "  {:<17} arrays: {arrays:<12} {}", p.name, traits.join(", "))?;
    }
    writeln!(out, "  leaves: (element), one value per position; (pattern), no values, for dtype bool")?;

    writeln!(out, "\n{}", style.title("format shorthands"))?;
    for (name, fixed, format) in shorthands(2) {
        let rank = fixed.map_or("any rank".to_owned(), |rank| format!("rank {rank}"));
        writeln!(out, "  {name:<12} {rank:<9} {}", format_to_sexpr(&format))?;
    }
    writeln!(out, "  {}: blocks of the given size", block_shorthands().collect::<Vec<_>>().join(", "))?;
    writeln!(out, "  The level lists are shown for matrices.")?;

    writeln!(out, "\n{}", style.title("file formats"))?;
    for format in FILE_FORMATS {
        writeln!(out, "  .{:<11} {}: {}", format.extension, format.name, format.summary)?;
    }
    writeln!(out, "  A second extension .gz or .zst selects compression.")?;
    Ok(())
}
