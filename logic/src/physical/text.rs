//! Physical plans as text, which `read.rs` reads back.
//!
//! ```text
//! PLAN       := (physical DEFINE-OP.. (input TYPE).. QUERY.. (produces NAME..))
//! TYPE       := NAME DTYPE FILL (SIZE..) FORMAT
//! QUERY      := (query (for LOOP..) WHERE.. WRITE..)
//! LOOP       := (INDEX SIZE [LANES]) | (INDEX BLOCK OUTER SIZE [LANES]) | (INDEX SIZE OUTER SHIFT SIZE [LANES])
//! LANES      := (lanes COUNT)                        lanes fold iterations side by side
//! WHERE      := (where DEPTH [(since DEPTH)] (for LOOP..) WHERE.. (TEMPORARY OP VALUE EXPR)..)
//! TEMPORARY  := NAME | (NAME INDEX..)                an accumulator for each combination of indices
//! WRITE      := (write TYPE (COORDINATE..) [(fold OP)] [(drop-fills)]
//!                 [(workspace DEPTH FORMAT)] [(pattern NAME)] EXPR)
//! COORDINATE := SUBSCRIPT | (value EXPR)
//! EXPR       := VALUE | NAME | (coordinate FORM) | (OP EXPR..)
//!             | (at NAME READ.. [(workspace DEPTH FORMAT)] [(outside VALUE)])
//! READ       := COORDINATE | (gallop COORDINATE) | (follow COORDINATE)
//! FORMAT     := (LEVEL.. [pattern])
//! LEVEL      := KIND[?][*][@MODE[/BLOCK | %BLOCK | -BY]]   ? unordered, * not unique;
//!                                                    @ the mode; without it, the level's depth;
//!                                                    / outer part, % inner part, - skewed
//! ```
//! SUBSCRIPT and FORM are written as in Logic plans. The FILL of a TYPE is bare. Other values are
//! bare if their dtype is `bool`, `i64` or `f64`; otherwise they are written `(lit DTYPE VALUE)`. A
//! form that begins with `lit`, `coordinate` or `at` is never an operator, so operators cannot have
//! these names. A temporary cannot have the name `where`.

use super::{
    Access, Extent, Loop, Output, PhysicalPlan, PhysicalQuery, Protocol, ScalarExpr, StorageCoordinate, TemporaryFold,
    TemporaryNest, Workspace,
};
use crate::affine::Subscript;
use crate::dtype::Prim;
use crate::expr::ComputedFills;
use crate::field::Alias;
use crate::format::TensorType;
use crate::literal::{write_dtype, write_literal, write_value};
use crate::op::{Op, UserOp};
use crate::scalar::Scalar;
use crate::sexpr::Sexpr;
use crate::text::format::FormatDisplay;
use crate::text::{name_to_sexpr, subscript_to_sexpr};
use std::fmt::{self, Write};
use std::sync::Arc;

impl PhysicalPlan {
    /// Returns the user-defined operators that the plan applies, each once.
    fn user_ops(&self) -> Vec<Arc<UserOp>> {
        let mut ops = Vec::new();
        for query in &self.queries {
            query.temporaries.iter().for_each(|t| collect_nest_ops(t, &mut ops));
            for output in &query.outputs {
                collect_ops(output.fold.as_ref(), &output.value, &mut ops);
                collect_coordinate_ops(&output.subscripts, &mut ops);
            }
        }
        ops
    }
}

fn collect_nest_ops(t: &TemporaryNest, ops: &mut Vec<Arc<UserOp>>) {
    t.temporaries.iter().for_each(|inner| collect_nest_ops(inner, ops));
    t.folds.iter().for_each(|fold| collect_ops(Some(&fold.op), &fold.value, ops));
}

fn collect_coordinate_ops(coordinates: &[StorageCoordinate], ops: &mut Vec<Arc<UserOp>>) {
    for coordinate in coordinates {
        if let StorageCoordinate::Computed(expr) = coordinate {
            collect_ops(None, expr, ops);
        }
    }
}

fn collect_ops(op: Option<&Op>, expr: &ScalarExpr, ops: &mut Vec<Arc<UserOp>>) {
    let mut add = |op: Option<&Op>| match op {
        Some(Op::User(op)) if !ops.contains(op) => ops.push(op.clone()),
        _ => {}
    };
    add(op);
    match expr {
        ScalarExpr::Call(op, args) => {
            add(Some(op));
            args.iter().for_each(|arg| collect_ops(None, arg, ops));
        }
        ScalarExpr::Access(access) => collect_coordinate_ops(&access.subscripts, ops),
        ScalarExpr::Literal(_) | ScalarExpr::Coordinate(_) | ScalarExpr::Temporary(_) => {}
    }
}

impl fmt::Display for PhysicalPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(physical")?;
        for op in self.user_ops() {
            write!(f, "\n  {}", op.to_sexpr())?;
        }
        for (alias, ty) in &self.inputs {
            write!(f, "\n  (input {})", TypedTensor(alias, ty))?;
        }
        for query in &self.queries {
            write!(f, "\n{query}")?;
        }
        let names: Vec<String> = self.produces.iter().map(name).collect();
        write!(f, "\n  (produces {}))", names.join(" "))
    }
}

/// The name of a tensor and its type, written as `TYPE`.
struct TypedTensor<'a>(&'a Alias, &'a TensorType);

impl fmt::Display for TypedTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TypedTensor(alias, ty) = self;
        let shape: Vec<String> = ty.shape.iter().map(u64::to_string).collect();
        let (dtype, fill) = (write_dtype(&ty.dtype), write_value(&ty.fill));
        write!(f, "{} {dtype} {fill} ({}) {}", name(alias), shape.join(" "), FormatDisplay(&ty.format))
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
        write!(f, "  (query (for{})", LoopList(&self.loops))?;
        for nest in &self.temporaries {
            write_nest(f, nest, 4)?;
        }
        for output in &self.outputs {
            write!(f, "\n    {output}")?;
        }
        f.write_char(')')
    }
}

fn write_nest(f: &mut fmt::Formatter<'_>, t: &TemporaryNest, indent: usize) -> fmt::Result {
    write!(f, "\n{:indent$}(where {}", "", t.depth)?;
    if t.start_depth != t.depth {
        write!(f, " (since {})", t.start_depth)?;
    }
    write!(f, " (for{})", LoopList(&t.loops))?;
    for inner in &t.temporaries {
        write_nest(f, inner, indent + 2)?;
    }
    for fold in &t.folds {
        let TemporaryFold { op, init, value: term, .. } = fold;
        let indices = &fold.accumulator_indices;
        let indices: String = indices.iter().map(|index| format!(" {}", name_to_sexpr(index.as_str()))).collect();
        let temporary = if indices.is_empty() { name(&fold.name) } else { format!("({}{indices})", name(&fold.name)) };
        write!(f, "\n{:indent$}  ({temporary} {op} {} {term})", "", value(init))?;
    }
    f.write_char(')')
}

struct LoopList<'a>(&'a [Loop]);

impl fmt::Display for LoopList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Loop { index, extent, lanes } in self.0 {
            write!(f, " ({}", name_to_sexpr(index.as_str()))?;
            match extent {
                Extent::Range(n) => write!(f, " {n}")?,
                Extent::Block { block, outer, size } => {
                    write!(f, " {block} {} {size}", name_to_sexpr(outer.as_str()))?;
                }
                Extent::Skew { n, outer, shift, size } => {
                    write!(f, " {n} {} {shift} {size}", name_to_sexpr(outer.as_str()))?;
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
        write!(f, "(write {} ({})", TypedTensor(&self.alias, &self.ty), coordinates(&self.subscripts))?;
        if let Some(op) = &self.fold {
            write!(f, " (fold {op})")?;
        }
        if self.computed_fills == ComputedFills::Drop {
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
        write!(f, "(workspace {} {})", self.depth, FormatDisplay(&self.format))
    }
}

fn coordinates(coordinates: &[StorageCoordinate]) -> String {
    coordinates.iter().map(StorageCoordinate::to_string).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for StorageCoordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageCoordinate::Subscript(s) => subscript_to_sexpr(s).fmt(f),
            StorageCoordinate::Computed(expr) => write!(f, "(value {expr})"),
        }
    }
}

impl fmt::Display for ScalarExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarExpr::Literal(literal) => value(literal).fmt(f),
            ScalarExpr::Coordinate(a) => {
                write!(f, "(coordinate {})", subscript_to_sexpr(&Subscript::Affine(a.clone())))
            }
            ScalarExpr::Temporary(alias) => f.write_str(&name(alias)),
            ScalarExpr::Access(a) => a.fmt(f),
            ScalarExpr::Call(op, args) => {
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
        for (coordinate, protocol) in self.subscripts.iter().zip(&self.protocols) {
            match protocol {
                Protocol::Walk => write!(f, " {coordinate}")?,
                Protocol::Gallop => write!(f, " (gallop {coordinate})")?,
                Protocol::Follow => write!(f, " (follow {coordinate})")?,
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
