//! Physical plans as text, for reports and snapshots.

use super::{Access, Extent, Fold, Loop, Output, PhysicalPlan, PhysicalQuery, Place, Point, Protocol, Temporaries};
use crate::field::Alias;
use crate::format::{Format, LeafKind, LevelKind, StorageMode};
use std::fmt::{self, Write};

impl fmt::Display for PhysicalPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(physical")?;
        for (alias, ty) in &self.inputs {
            let shape: Vec<String> = ty.shape.iter().map(u64::to_string).collect();
            write!(f, "\n  (input {alias} {} ({}) {})", ty.dtype, shape.join(" "), FormatWords(&ty.format))?;
        }
        for query in &self.queries {
            write!(f, "\n{query}")?;
        }
        let names: Vec<&str> = self.produces.iter().map(Alias::as_str).collect();
        write!(f, "\n  (produces {}))", names.join(" "))
    }
}

impl fmt::Display for PhysicalQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  (query (for{})", Loops(&self.loops))?;
        for temporaries in &self.temporaries {
            write_temporaries(f, temporaries, 4)?;
        }
        for output in &self.outputs {
            write!(f, "\n    {output}")?;
        }
        f.write_char(')')
    }
}

fn write_temporaries(f: &mut fmt::Formatter<'_>, t: &Temporaries, indent: usize) -> fmt::Result {
    write!(f, "\n{:indent$}(where {} (for{})", "", t.depth, Loops(&t.loops))?;
    for inner in &t.temporaries {
        write_temporaries(f, inner, indent + 2)?;
    }
    for Fold { name, op, init, value } in &t.folds {
        write!(f, "\n{:indent$}  ({name} {op} {init} {value})", "")?;
    }
    f.write_char(')')
}

struct Loops<'a>(&'a [Loop]);

impl fmt::Display for Loops<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Loop { index, extent } in self.0 {
            match extent {
                Extent::Whole(n) => write!(f, " ({index} {n})")?,
                Extent::Block { block, outer, size } => write!(f, " ({index} {block} {outer} {size})")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Output {
    /// `(write NAME DTYPE FILL FORMAT (PLACES) [(fold OP)] [(workspace DEPTH FORMAT)] VALUE)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = &self.ty;
        write!(
            f,
            "(write {} {} {} {} ({})",
            self.alias,
            ty.dtype,
            ty.fill,
            FormatWords(&ty.format),
            places(&self.subscripts)
        )?;
        if let Some(op) = &self.fold {
            write!(f, " (fold {op})")?;
        }
        if let Some(w) = &self.workspace {
            write!(f, " (workspace {} {})", w.depth, FormatWords(&w.format))?;
        }
        write!(f, " {})", self.value)
    }
}

fn places(places: &[Place]) -> String {
    places.iter().map(Place::to_string).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Subscript(s) => s.fmt(f),
            Place::Value(p) => write!(f, "(value {p})"),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Point::Literal(s) => s.fmt(f),
            Point::Coordinate(a) => write!(f, "(coordinate {a})"),
            Point::Temporary(name) => name.fmt(f),
            Point::Access(a) => a.fmt(f),
            Point::Call(op, args) => {
                write!(f, "({op}")?;
                args.iter().try_for_each(|a| write!(f, " {a}"))?;
                f.write_char(')')
            }
        }
    }
}

impl fmt::Display for Access {
    /// `(at TENSOR PLACES [(outside VALUE)])`; a level that is not walked is marked by its protocol.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(at {}", self.tensor)?;
        for (place, protocol) in self.subscripts.iter().zip(&self.protocols) {
            match protocol {
                Protocol::Walk => write!(f, " {place}")?,
                Protocol::Gallop => write!(f, " (gallop {place})")?,
                Protocol::Follow => write!(f, " (follow {place})")?,
            }
        }
        if let Some(value) = &self.outside {
            write!(f, " (outside {value})")?;
        }
        f.write_char(')')
    }
}

/// A format in one line: its levels, each with its storage mode where that is not the mode of its depth.
pub struct FormatWords<'a>(
    /// The format.
    pub &'a Format,
);

impl fmt::Display for FormatWords<'_> {
    /// `(dense sparse-list)`, `(dense@1 sparse-list@0)`, `(dense@0/2 sparse-list@1/3 dense@0%2 dense@1%3)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        for (depth, (level, mode)) in self.0.levels.iter().zip(&self.0.modes).enumerate() {
            let kind = match level.kind {
                LevelKind::Dense => "dense",
                LevelKind::SparseList => "sparse-list",
                LevelKind::Singleton => "singleton",
                LevelKind::Hash => "hash",
                LevelKind::ByteMap => "byte-map",
            };
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
            }
        }
        f.write_str(if self.0.leaf == LeafKind::Pattern { " pattern)" } else { ")" })
    }
}
