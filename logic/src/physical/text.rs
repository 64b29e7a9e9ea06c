//! Physical plans as text, which `read.rs` reads back.
//!
//! ```text
//! PLAN      := (physical DEFINE-OP.. (input TYPE).. QUERY.. (produces NAME..))
//! TYPE      := NAME DTYPE FILL (SIZE..) FORMAT
//! QUERY     := (query (for LOOP..) WHERE.. WRITE..)
//! LOOP      := (INDEX SIZE [LANES]) | (INDEX BLOCK OUTER SIZE [LANES]) | (INDEX SIZE WITH SHIFT SIZE [LANES])
//! LANES     := (lanes COUNT)                         lanes fold iterations side by side
//! WHERE     := (where DEPTH [(since DEPTH)] (for LOOP..) WHERE.. (FOLDED OP VALUE POINT)..)
//! FOLDED    := NAME | (NAME INDEX..)                 an accumulator for each value of the indices
//! WRITE     := (write TYPE (PLACE..) [(fold OP)] [(drop-fills)]
//!                [(workspace DEPTH FORMAT)] [(pattern NAME)] POINT)
//! PLACE     := SUBSCRIPT | (value POINT)
//! POINT     := VALUE | NAME | (coordinate FORM) | (at NAME READ.. [(outside VALUE)]) | (OP POINT..)
//! READ      := PLACE | (gallop PLACE) | (follow PLACE)
//! FORMAT    := (LEVEL.. [pattern])
//! LEVEL     := KIND[?][*][@MODE[/BLOCK | %BLOCK]]      ? unordered, * not unique; the mode, unless it equals the depth
//! ```
//! Subscripts and forms are those of Logic plans. Values of dtype `bool`, `i64` or `f64` are bare;
//! others are written `(lit DTYPE VALUE)`. `lit`, `coordinate`, `at` and `where` are reserved and
//! cannot name operators or temporaries.

use super::{
    Access, Extent, Fold, Loop, Output, PhysicalPlan, PhysicalQuery, Place, Point, Protocol, Temporaries, Workspace,
};
use crate::affine::Subscript;
use crate::dtype::Prim;
use crate::expr::Computed;
use crate::field::Alias;
use crate::format::{Format, LeafKind, StorageMode, TensorType};
use crate::literal::{write_dtype, write_literal, write_value};
use crate::op::{Op, UserOp};
use crate::scalar::Scalar;
use crate::sexpr::Sexpr;
use crate::text::{name_to_sexpr, subscript_to_sexpr};
use std::fmt::{self, Write};
use std::sync::Arc;

impl PhysicalPlan {
    /// Returns the user-defined operators that the plan applies, each once.
    fn user_ops(&self) -> Vec<Arc<UserOp>> {
        let mut ops = Vec::new();
        for query in &self.queries {
            query.temporaries.iter().for_each(|t| ops_of_temporaries(t, &mut ops));
            for output in &query.outputs {
                ops_of(output.fold.as_ref(), &output.value, &mut ops);
                ops_of_places(&output.subscripts, &mut ops);
            }
        }
        ops
    }
}

fn ops_of_temporaries(t: &Temporaries, ops: &mut Vec<Arc<UserOp>>) {
    t.temporaries.iter().for_each(|inner| ops_of_temporaries(inner, ops));
    t.folds.iter().for_each(|fold| ops_of(Some(&fold.op), &fold.value, ops));
}

fn ops_of_places(places: &[Place], ops: &mut Vec<Arc<UserOp>>) {
    for place in places {
        if let Place::Value(point) = place {
            ops_of(None, point, ops);
        }
    }
}

fn ops_of(op: Option<&Op>, point: &Point, ops: &mut Vec<Arc<UserOp>>) {
    let mut add = |op: Option<&Op>| match op {
        Some(Op::User(op)) if !ops.contains(op) => ops.push(op.clone()),
        _ => {}
    };
    add(op);
    match point {
        Point::Call(op, args) => {
            add(Some(op));
            args.iter().for_each(|arg| ops_of(None, arg, ops));
        }
        Point::Access(access) => ops_of_places(&access.subscripts, ops),
        Point::Literal(_) | Point::Coordinate(_) | Point::Temporary(_) => {}
    }
}

impl fmt::Display for PhysicalPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(physical")?;
        for op in self.user_ops() {
            write!(f, "\n  {}", op.to_sexpr())?;
        }
        for (alias, ty) in &self.inputs {
            write!(f, "\n  (input {})", Typed(alias, ty))?;
        }
        for query in &self.queries {
            write!(f, "\n{query}")?;
        }
        let names: Vec<String> = self.produces.iter().map(name).collect();
        write!(f, "\n  (produces {}))", names.join(" "))
    }
}

/// A tensor with its type.
struct Typed<'a>(&'a Alias, &'a TensorType);

impl fmt::Display for Typed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Typed(alias, ty) = self;
        let shape: Vec<String> = ty.shape.iter().map(u64::to_string).collect();
        let (dtype, fill) = (write_dtype(&ty.dtype), write_value(&ty.fill));
        write!(f, "{} {dtype} {fill} ({}) {}", name(alias), shape.join(" "), FormatWords(&ty.format))
    }
}

fn name(alias: &Alias) -> String {
    name_to_sexpr(alias.as_str()).to_string()
}

/// Writes a value whose dtype does not follow from the context.
fn value(value: &Scalar) -> Sexpr {
    match value.prim() {
        Some(Prim::Bool | Prim::I64 | Prim::F64) => write_value(value),
        _ => write_literal(value),
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
    write!(f, "\n{:indent$}(where {}", "", t.depth)?;
    if t.since != t.depth {
        write!(f, " (since {})", t.since)?;
    }
    write!(f, " (for{})", Loops(&t.loops))?;
    for inner in &t.temporaries {
        write_temporaries(f, inner, indent + 2)?;
    }
    for fold in &t.folds {
        let Fold { op, init, value: folded, .. } = fold;
        let at: String = fold.at.iter().map(|field| format!(" {}", name_to_sexpr(field.as_str()))).collect();
        let named = if at.is_empty() { name(&fold.name) } else { format!("({}{at})", name(&fold.name)) };
        write!(f, "\n{:indent$}  ({named} {op} {} {folded})", "", value(init))?;
    }
    f.write_char(')')
}

struct Loops<'a>(&'a [Loop]);

impl fmt::Display for Loops<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Loop { index, extent, lanes } in self.0 {
            write!(f, " ({}", name_to_sexpr(index.as_str()))?;
            match extent {
                Extent::Whole(n) => write!(f, " {n}")?,
                Extent::Block { block, outer, size } => {
                    write!(f, " {block} {} {size}", name_to_sexpr(outer.as_str()))?;
                }
                Extent::Skew { n, with, shift, size } => {
                    write!(f, " {n} {} {shift} {size}", name_to_sexpr(with.as_str()))?;
                }
            }
            if *lanes != 1 {
                write!(f, " (lanes {lanes})")?;
            }
            f.write_char(')')?;
        }
        Ok(())
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(write {} ({})", Typed(&self.alias, &self.ty), places(&self.subscripts))?;
        if let Some(op) = &self.fold {
            write!(f, " (fold {op})")?;
        }
        if self.computed == Computed::Drop {
            f.write_str(" (drop-fills)")?;
        }
        if let Some(workspace) = &self.workspace {
            write!(f, " {workspace}")?;
        }
        if let Some(pattern) = &self.pattern {
            write!(f, " (pattern {})", name(pattern))?;
        }
        write!(f, " {})", self.value)
    }
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(workspace {} {})", self.depth, FormatWords(&self.format))
    }
}

fn places(places: &[Place]) -> String {
    places.iter().map(Place::to_string).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Subscript(s) => subscript_to_sexpr(s).fmt(f),
            Place::Value(p) => write!(f, "(value {p})"),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Point::Literal(literal) => value(literal).fmt(f),
            Point::Coordinate(a) => {
                write!(f, "(coordinate {})", subscript_to_sexpr(&Subscript::Affine(a.clone())))
            }
            Point::Temporary(alias) => f.write_str(&name(alias)),
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(at {}", name(&self.tensor))?;
        for (place, protocol) in self.subscripts.iter().zip(&self.protocols) {
            match protocol {
                Protocol::Walk => write!(f, " {place}")?,
                Protocol::Gallop => write!(f, " (gallop {place})")?,
                Protocol::Follow => write!(f, " (follow {place})")?,
            }
        }
        if let Some(workspace) = &self.workspace {
            write!(f, " {workspace}")?;
        }
        if let Some(outside) = &self.outside {
            write!(f, " (outside {})", value(outside))?;
        }
        f.write_char(')')
    }
}

/// A format in one line: its levels, each with its storage mode unless that is the mode of its
/// depth.
pub struct FormatWords<'a>(
    /// The format.
    pub &'a Format,
);

impl fmt::Display for FormatWords<'_> {
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
