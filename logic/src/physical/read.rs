//! The reader of physical plans in text form; `text.rs` has the grammar.

use super::{
    Access, Extent, Loop, Output, PhysicalPlan, PhysicalQuery, Protocol, ScalarExpr, StorageCoordinate, TemporaryFold,
    TemporaryNest, Workspace,
};
use crate::affine::{Affine, Subscript};
use crate::error::Error;
use crate::expr::ComputedFills;
use crate::field::Alias;
use crate::format::TensorType;
use crate::literal::{read_bare, read_dtype, read_literal, read_scalar, read_value};
use crate::sexpr::{Sexpr, read_one};
use crate::text::format::format_from_words;
use crate::text::{Operators, parse_field, parse_name, parse_subscript};
use std::sync::Arc;

/// Reads a plan from text, without verifying it.
///
/// # Errors
/// Returns an error with its position if the text is not a plan.
pub fn parse(text: &str) -> Result<PhysicalPlan, Error> {
    let form = read_one(text)?;
    let Some(("physical", items)) = form.as_form() else {
        return Err(form.error("expected (physical (input ..).. (query ..).. (produces ..))"));
    };
    let mut reader = PhysicalReader { ops: Operators::default() };
    let mut plan = PhysicalPlan { inputs: Vec::new(), queries: Vec::new(), produces: Vec::new() };
    for item in items {
        match item.as_form() {
            Some(("define-op", _)) => reader.ops.define(item)?,
            Some(("input", parts)) => {
                let (alias, ty, rest) = read_typed_tensor(item, parts)?;
                if !rest.is_empty() {
                    return Err(item.error("expected (input NAME DTYPE FILL (SIZE..) FORMAT)"));
                }
                plan.inputs.push((alias, ty));
            }
            Some(("query", [loops, rest @ ..])) => plan.queries.push(reader.query(loops, rest)?),
            Some(("produces", names)) => {
                plan.produces = names.iter().map(alias).collect::<Result<_, _>>()?;
            }
            _ => return Err(item.error("expected (define-op ..), (input ..), (query LOOPS ..) or (produces ..)")),
        }
    }
    Ok(plan)
}

struct PhysicalReader {
    ops: Operators,
}

impl PhysicalReader {
    fn query(&self, loops: &Sexpr, rest: &[Sexpr]) -> Result<PhysicalQuery, Error> {
        let mut query = PhysicalQuery { loops: read_loops(loops)?, temporaries: Vec::new(), outputs: Vec::new() };
        for item in rest {
            match item.as_form() {
                Some(("where", _)) => query.temporaries.push(self.temporary_nest(item)?),
                Some(("write", parts)) => query.outputs.push(self.output(item, parts)?),
                _ => return Err(item.error("expected (where ..) or (write ..)")),
            }
        }
        Ok(query)
    }

    fn temporary_nest(&self, s: &Sexpr) -> Result<TemporaryNest, Error> {
        let Some(("where", [depth, clauses @ ..])) = s.as_form() else {
            return Err(s.error("expected (where DEPTH [(since DEPTH)] (for LOOP..) (NAME OP VALUE EXPR)..)"));
        };
        let depth = depth.number("a number of loops")?;
        let (start_depth, clauses) = match clauses.split_first().map(|(first, rest)| (first.as_form(), rest)) {
            Some((Some(("since", [start])), rest)) => (start.number("a number of loops")?, rest),
            _ => (depth, clauses),
        };
        let Some((loops, rest)) = clauses.split_first() else { return Err(s.error("expected (for LOOP..)")) };
        let loops = read_loops(loops)?;
        let mut nest = TemporaryNest { depth, start_depth, loops, temporaries: Vec::new(), folds: Vec::new() };
        for item in rest {
            match item.as_list() {
                Some([head, ..]) if head.as_atom() == Some("where") => {
                    nest.temporaries.push(self.temporary_nest(item)?);
                }
                Some([accumulator, op, init, value]) => {
                    let (name, accumulator_indices) = match accumulator.as_list() {
                        Some([name, indices @ ..]) => {
                            (alias(name)?, indices.iter().map(parse_field).collect::<Result<_, _>>()?)
                        }
                        _ => (alias(accumulator)?, Vec::new()),
                    };
                    let (op, init, value) = (self.ops.read_name(op)?, read_scalar(init)?, self.expr(value)?);
                    nest.folds.push(TemporaryFold { name, accumulator_indices, op, init, value });
                }
                _ => return Err(item.error("expected (where ..) or (NAME OP VALUE EXPR)")),
            }
        }
        Ok(nest)
    }

    fn output(&self, s: &Sexpr, parts: &[Sexpr]) -> Result<Output, Error> {
        let (alias, ty, rest) = read_typed_tensor(s, parts)?;
        let [coordinates, clauses @ .., value] = rest else {
            return Err(s.error("expected (write NAME DTYPE FILL (SIZE..) FORMAT (COORDINATE..) .. EXPR)"));
        };
        let coordinates = coordinates.items("the coordinates of the write")?;
        let subscripts = coordinates.iter().map(|c| self.storage_coordinate(c)).collect::<Result<_, _>>()?;
        let value = self.expr(value)?;
        let (computed_fills, fold, workspace, pattern) = (ComputedFills::Keep, None, None, None);
        let mut output = Output { alias, ty, subscripts, fold, computed_fills, workspace, pattern, value };
        for clause in clauses {
            match clause.as_form() {
                Some(("drop-fills", [])) => output.computed_fills = ComputedFills::Drop,
                Some(("fold", [op])) => output.fold = Some(self.ops.read_name(op)?),
                Some(("pattern", [tensor])) => output.pattern = Some(self::alias(tensor)?),
                _ => match read_workspace(clause)? {
                    Some(workspace) => output.workspace = Some(workspace),
                    None => {
                        let expected = "expected (fold OP), (drop-fills), (workspace DEPTH FORMAT) or (pattern NAME)";
                        return Err(clause.error(expected));
                    }
                },
            }
        }
        Ok(output)
    }

    fn storage_coordinate(&self, s: &Sexpr) -> Result<StorageCoordinate, Error> {
        match s.as_form() {
            Some(("value", [expr])) => self.expr(expr).map(StorageCoordinate::Computed),
            _ => parse_subscript(s).map(StorageCoordinate::Subscript),
        }
    }

    fn expr(&self, s: &Sexpr) -> Result<ScalarExpr, Error> {
        if let Some(word) = s.as_atom() {
            return match read_bare(word) {
                Some(value) => Ok(ScalarExpr::Literal(value)),
                None => alias(s).map(ScalarExpr::Temporary),
            };
        }
        match s.as_form() {
            None => alias(s).map(ScalarExpr::Temporary),
            Some(("lit", _)) => read_literal(s).map(ScalarExpr::Literal),
            Some(("coordinate", [form])) => affine(form).map(ScalarExpr::Coordinate),
            Some(("at", [tensor, reads @ ..])) => self.access(tensor, reads).map(ScalarExpr::Access),
            Some((_, args)) => {
                let op = self.ops.read_name(&s.as_list().expect("a form is a list")[0])?;
                Ok(ScalarExpr::Call(op, args.iter().map(|a| self.expr(a)).collect::<Result<_, _>>()?))
            }
        }
    }

    fn access(&self, tensor: &Sexpr, reads: &[Sexpr]) -> Result<Access, Error> {
        let (outside, reads) = match reads.split_last().map(|(last, rest)| (last.as_form(), rest)) {
            Some((Some(("outside", [value])), rest)) => (Some(read_scalar(value)?), rest),
            _ => (None, reads),
        };
        let workspace = reads.last().map_or(Ok(None), read_workspace)?;
        let reads = if workspace.is_some() { &reads[..reads.len() - 1] } else { reads };
        let read = |s: &Sexpr| match s.as_form() {
            Some(("gallop", [coordinate])) => Ok((self.storage_coordinate(coordinate)?, Protocol::Gallop)),
            Some(("follow", [coordinate])) => Ok((self.storage_coordinate(coordinate)?, Protocol::Follow)),
            _ => Ok((self.storage_coordinate(s)?, Protocol::Walk)),
        };
        let reads = reads.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        let (subscripts, protocols) = reads.into_iter().unzip();
        Ok(Access { tensor: alias(tensor)?, subscripts, protocols, workspace, outside })
    }
}

/// Reads `(workspace DEPTH FORMAT)`; returns `None` for other forms.
fn read_workspace(s: &Sexpr) -> Result<Option<Workspace>, Error> {
    let Some(("workspace", [depth, format])) = s.as_form() else { return Ok(None) };
    Ok(Some(Workspace { depth: depth.number("a number of loops")?, format: format_from_words(format)? }))
}

/// Reads `NAME DTYPE FILL (SIZE..) FORMAT`; returns the name, the type and the parts that follow.
fn read_typed_tensor<'a>(s: &Sexpr, parts: &'a [Sexpr]) -> Result<(Alias, Arc<TensorType>, &'a [Sexpr]), Error> {
    let [name, dtype, fill, shape, format, rest @ ..] = parts else {
        return Err(s.error("expected NAME DTYPE FILL (SIZE..) FORMAT"));
    };
    let dtype = read_dtype(dtype)?;
    let fill = read_value(&dtype, fill)?;
    let shape = shape.items("the sizes of the modes")?.iter().map(|n| n.number("a size"));
    let shape = shape.collect::<Result<Vec<u64>, _>>()?;
    let ty = TensorType { shape, dtype, fill, format: format_from_words(format)? };
    Ok((alias(name)?, Arc::new(ty), rest))
}

fn read_loops(s: &Sexpr) -> Result<Vec<Loop>, Error> {
    let Some(("for", loops)) = s.as_form() else { return Err(s.error(format!("expected (for LOOP..), found {s}"))) };
    let one = |s: &Sexpr| {
        let parts = s.as_list().unwrap_or_default();
        let (parts, lanes) = match parts.split_last().map(|(last, parts)| (last.as_form(), parts)) {
            Some((Some(("lanes", [count])), parts)) => (parts, count.number("a number of lanes")?),
            _ => (parts, 1),
        };
        let (index, extent) = match parts {
            [index, size] => (index, Extent::Range(size.number("a size")?)),
            [index, block, outer, size] => {
                let (block, size) = (block.number("the size of a block")?, size.number("a size")?);
                (index, Extent::Block { block, outer: parse_field(outer)?, size })
            }
            [index, n, outer, shift, size] => {
                let (n, shift, size) = (n.number("a size")?, shift.number("a shift")?, size.number("a size")?);
                (index, Extent::Skew { n, outer: parse_field(outer)?, shift, size })
            }
            _ => {
                let expected = "expected (INDEX SIZE), (INDEX BLOCK OUTER SIZE) or (INDEX SIZE OUTER SHIFT SIZE)";
                return Err(s.error(expected));
            }
        };
        Ok(Loop { index: parse_field(index)?, extent, lanes })
    };
    loops.iter().map(one).collect()
}

fn alias(s: &Sexpr) -> Result<Alias, Error> {
    parse_name(s, "a name").map(Alias::from)
}

fn affine(s: &Sexpr) -> Result<Affine, Error> {
    match parse_subscript(s)? {
        Subscript::Affine(form) => Ok(form),
        _ => Err(s.error(format!("expected an affine form, found {s}"))),
    }
}
