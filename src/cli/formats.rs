//! `redpoll formats`: the storage formats in memory and in files.

use super::failure::CommandFailure;
use super::style::TerminalStyle;
use crate::datasets::file_formats::FILE_FORMATS;
use crate::logic::text::{block_shorthands, format_to_sexpr, shorthands};
use crate::logic::{Error, LevelKind, Lookup};
use crate::storage::levels::level;
use std::io::{self, Write};

/// List level kinds, format shorthands and file formats
#[derive(clap::Args)]
pub(super) struct Args {
    /// List only the level kind, shorthand or file format of this name, such as sparse-list, csr or
    /// .npz
    name: Option<String>,
}

/// A part of the listing.
struct Section {
    title: &'static str,
    /// The names and their lines.
    rows: Vec<(&'static str, String)>,
    /// The lines after the rows, which a listing of one name leaves out.
    remarks: Vec<String>,
}

pub(super) fn formats(args: &Args, out: &mut impl Write) -> Result<(), CommandFailure> {
    let style = TerminalStyle::of(&io::stdout());
    let mut sections = vec![level_kinds(), format_shorthands(), file_formats()];
    if let Some(name) = &args.name {
        let name = name.trim_start_matches('.');
        let names: Vec<&str> = sections.iter().flat_map(|section| &section.rows).map(|(name, _)| *name).collect();
        if !names.contains(&name) {
            let error = Error::unknown("format", name, names);
            return Err(CommandFailure::usage_with_hint(error.to_string(), "`redpoll formats` lists all formats"));
        }
        for section in &mut sections {
            section.rows.retain(|(known, _)| *known == name);
            section.remarks.clear();
        }
        sections.retain(|section| !section.rows.is_empty());
    }
    for (k, section) in sections.iter().enumerate() {
        if k > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", style.title(section.title))?;
        let rows = section.rows.iter().map(|(_, row)| row);
        rows.chain(&section.remarks).try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    Ok(())
}

fn level_kinds() -> Section {
    let row = |kind: LevelKind| {
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
        (p.name, format!("{:<17} arrays: {arrays:<12} {}", p.name, traits.join(", ")))
    };
    let leaves = "leaves: (element), one value per position; (pattern), no values, for dtype bool";
    Section { title: "level kinds", rows: LevelKind::all().map(row).collect(), remarks: vec![leaves.into()] }
}

fn format_shorthands() -> Section {
    let row = |(name, fixed, format): (&'static str, Option<usize>, _)| {
        let rank = fixed.map_or("any rank".to_owned(), |rank| format!("rank {rank}"));
        (name, format!("{name:<12} {rank:<9} {}", format_to_sexpr(&format)))
    };
    let blocks = format!("{}: blocks of the given size", block_shorthands().collect::<Vec<_>>().join(", "));
    let remarks = vec![blocks, "The level lists are shown for matrices.".into()];
    Section { title: "format shorthands", rows: shorthands(2).map(row).collect(), remarks }
}

fn file_formats() -> Section {
    let rows = FILE_FORMATS
        .iter()
        .map(|format| (format.extension, format!(".{:<11} {}: {}", format.extension, format.name, format.summary)));
    let remarks = vec!["A second extension .gz or .zst selects compression.".into()];
    Section { title: "file formats", rows: rows.collect(), remarks }
}
