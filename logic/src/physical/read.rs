//! The reader of physical plans in text form; `text.rs` has the grammar.

use super::{
    Access, Extent, Fold, Loop, Output, PhysicalPlan, PhysicalQuery, Place, Point, Protocol, Temporaries, Workspace,
};
use crate::affine::{Affine, Subscript};
use crate::error::Error;
use crate::expr::Computed;
use crate::field::Alias;
use crate::format::{Format, LeafKind, StorageMode, TensorType};
use crate::level::{LevelFormat, LevelKind};
use crate::literal::{read_bare, read_dtype, read_literal, read_value};
use crate::op::{Builtin, Op, UserOp};
use crate::scalar::Scalar;
use crate::sexpr::{Sexpr, read_one};
use crate::text::{field, name, parse_subscript};
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
    let mut reader = Reader { ops: Vec::new() };
    let mut plan = PhysicalPlan { inputs: Vec::new(), queries: Vec::new(), produces: Vec::new() };
    for item in items {
        match item.as_form() {
            Some(("define-op", _)) => {
                let op = UserOp::read(item, &|name| reader.find_op(name))?;
                reader.ops.push(Op::User(Arc::new(op)));
            }
            Some(("input", parts)) => {
                let (alias, ty, rest) = typed(item, parts)?;
                if !rest.is_empty() {
                    return Err(item.error("expected (input NAME DTYPE FILL (SIZE..) FORMAT)"));
                }
                plan.inputs.push((alias, ty));
            }
            Some(("query", [loops, rest @ ..])) => plan.queries.push(reader.query(loops, rest)?),
            Some(("produces", names)) => {
                plan.produces = names.iter().map(alias).collect::<Result<_, _>>()?;
            }
            _ => return Err(item.error("expected (input ..), (query ..) or (produces ..)")),
        }
    }
    Ok(plan)
}

struct Reader {
    ops: Vec<Op>,
}

impl Reader {
    fn query(&self, loops: &Sexpr, rest: &[Sexpr]) -> Result<PhysicalQuery, Error> {
        let mut query = PhysicalQuery { loops: read_loops(loops)?, temporaries: Vec::new(), outputs: Vec::new() };
        for item in rest {
            match item.as_form() {
                Some(("where", _)) => query.temporaries.push(self.temporaries(item)?),
                Some(("write", parts)) => query.outputs.push(self.output(item, parts)?),
                _ => return Err(item.error("expected (where ..) or (write ..)")),
            }
        }
        Ok(query)
    }

    fn temporaries(&self, s: &Sexpr) -> Result<Temporaries, Error> {
        let Some(("where", [depth, clauses @ ..])) = s.as_form() else {
            return Err(s.error("expected (where DEPTH [(since DEPTH)] (for LOOP..) (NAME OP VALUE POINT)..)"));
        };
        let depth = depth.number("a number of loops")?;
        let (since, clauses) = match clauses.split_first().map(|(first, rest)| (first.as_form(), rest)) {
            Some((Some(("since", [since])), rest)) => (since.number("a number of loops")?, rest),
            _ => (depth, clauses),
        };
        let Some((loops, rest)) = clauses.split_first() else { return Err(s.error("expected (for LOOP..)")) };
        let loops = read_loops(loops)?;
        let mut read = Temporaries { depth, since, loops, temporaries: Vec::new(), folds: Vec::new() };
        for item in rest {
            match item.as_list() {
                Some([head, ..]) if head.as_atom() == Some("where") => read.temporaries.push(self.temporaries(item)?),
                Some([named, op, init, value]) => {
                    let (name, at) = match named.as_list() {
                        Some([name, at @ ..]) => (alias(name)?, at.iter().map(field).collect::<Result<_, _>>()?),
                        _ => (alias(named)?, Vec::new()),
                    };
                    let (op, init, value) = (self.op(op)?, scalar(init)?, self.point(value)?);
                    read.folds.push(Fold { name, at, op, init, value });
                }
                _ => return Err(item.error("expected (where ..) or (NAME OP VALUE POINT)")),
            }
        }
        Ok(read)
    }

    fn output(&self, s: &Sexpr, parts: &[Sexpr]) -> Result<Output, Error> {
        let (alias, ty, rest) = typed(s, parts)?;
        let [places, clauses @ .., value] = rest else {
            return Err(s.error("expected (write NAME DTYPE FILL (SIZE..) FORMAT (PLACE..) .. POINT)"));
        };
        let places = places.items("the places of the write")?;
        let subscripts = places.iter().map(|p| self.place(p)).collect::<Result<_, _>>()?;
        let value = self.point(value)?;
        let (computed, fold, workspace, pattern) = (Computed::Keep, None, None, None);
        let mut output = Output { alias, ty, subscripts, fold, computed, workspace, pattern, value };
        for clause in clauses {
            match clause.as_form() {
                Some(("drop-fills", [])) => output.computed = Computed::Drop,
                Some(("fold", [op])) => output.fold = Some(self.op(op)?),
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

    fn place(&self, s: &Sexpr) -> Result<Place, Error> {
        match s.as_form() {
            Some(("value", [point])) => self.point(point).map(Place::Value),
            _ => parse_subscript(s).map(Place::Subscript),
        }
    }

    fn point(&self, s: &Sexpr) -> Result<Point, Error> {
        if let Some(word) = s.as_atom() {
            return match read_bare(word) {
                Some(value) => Ok(Point::Literal(value)),
                None => alias(s).map(Point::Temporary),
            };
        }
        match s.as_form() {
            None => alias(s).map(Point::Temporary),
            Some(("lit", _)) => read_literal(s).map(Point::Literal),
            Some(("coordinate", [form])) => affine(form).map(Point::Coordinate),
            Some(("at", [tensor, reads @ ..])) => self.access(tensor, reads).map(Point::Access),
            Some((_, args)) => {
                let op = self.op(&s.as_list().expect("a form is a list")[0])?;
                Ok(Point::Call(op, args.iter().map(|a| self.point(a)).collect::<Result<_, _>>()?))
            }
        }
    }

    fn access(&self, tensor: &Sexpr, reads: &[Sexpr]) -> Result<Access, Error> {
        let (outside, reads) = match reads.split_last().map(|(last, rest)| (last.as_form(), rest)) {
            Some((Some(("outside", [value])), rest)) => (Some(scalar(value)?), rest),
            _ => (None, reads),
        };
        let workspace = reads.last().map_or(Ok(None), read_workspace)?;
        let reads = if workspace.is_some() { &reads[..reads.len() - 1] } else { reads };
        let read = |s: &Sexpr| match s.as_form() {
            Some(("gallop", [place])) => Ok((self.place(place)?, Protocol::Gallop)),
            Some(("follow", [place])) => Ok((self.place(place)?, Protocol::Follow)),
            _ => Ok((self.place(s)?, Protocol::Walk)),
        };
        let reads = reads.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        let (subscripts, protocols) = reads.into_iter().unzip();
        Ok(Access { tensor: alias(tensor)?, subscripts, protocols, workspace, outside })
    }

    fn op(&self, s: &Sexpr) -> Result<Op, Error> {
        let word = s.word("an operator")?;
        self.find_op(word).ok_or_else(|| {
            let known = Builtin::ALL.iter().map(|b| b.name()).chain(self.ops.iter().map(Op::name));
            s.locate(Error::unknown("operator", word, known))
        })
    }

    fn find_op(&self, name: &str) -> Option<Op> {
        self.ops.iter().find(|op| op.name() == name).cloned().or_else(|| Op::from_name(name))
    }
}

/// Reads `(workspace DEPTH FORMAT)`; returns `None` for other forms.
fn read_workspace(s: &Sexpr) -> Result<Option<Workspace>, Error> {
    let Some(("workspace", [depth, format])) = s.as_form() else { return Ok(None) };
    Ok(Some(Workspace { depth: depth.number("a number of loops")?, format: read_format(format)? }))
}

/// Reads `NAME DTYPE FILL (SIZE..) FORMAT`; returns the parts that follow.
fn typed<'a>(s: &Sexpr, parts: &'a [Sexpr]) -> Result<(Alias, Arc<TensorType>, &'a [Sexpr]), Error> {
    let [named, dtype, fill, shape, format, rest @ ..] = parts else {
        return Err(s.error("expected NAME DTYPE FILL (SIZE..) FORMAT"));
    };
    let dtype = read_dtype(dtype)?;
    let fill = read_value(&dtype, fill)?;
    let shape = shape.items("the sizes of the modes")?.iter().map(|n| n.number("a size"));
    let shape = shape.collect::<Result<Vec<u64>, _>>()?;
    let ty = TensorType { shape, dtype, fill, format: read_format(format)? };
    Ok((alias(named)?, Arc::new(ty), rest))
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
            [index, size] => (index, Extent::Whole(size.number("a size")?)),
            [index, block, outer, size] => {
                let (block, size) = (block.number("the places of a block")?, size.number("a size")?);
                (index, Extent::Block { block, outer: field(outer)?, size })
            }
            [index, n, with, shift, size] => {
                let (n, shift, size) = (n.number("a size")?, shift.number("a shift")?, size.number("a size")?);
                (index, Extent::Skew { n, with: field(with)?, shift, size })
            }
            _ => {
                let expected = "expected (INDEX SIZE), (INDEX BLOCK OUTER SIZE) or (INDEX SIZE WITH SHIFT SIZE)";
                return Err(s.error(expected));
            }
        };
        Ok(Loop { index: field(index)?, extent, lanes })
    };
    loops.iter().map(one).collect()
}

fn read_format(s: &Sexpr) -> Result<Format, Error> {
    let words = s.items("a format (LEVEL..)")?;
    let (leaf, words) = match words.split_last() {
        Some((last, rest)) if last.as_atom() == Some("pattern") => (LeafKind::Pattern, rest),
        _ => (LeafKind::Element, words),
    };
    let levels = words.iter().enumerate().map(|(depth, word)| {
        let text = word.word("a level")?;
        read_level(text, depth).ok_or_else(|| word.error(format!("expected a level KIND[?][*][@MODE], found {text}")))
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

fn alias(s: &Sexpr) -> Result<Alias, Error> {
    name(s, "a name").map(Alias::from)
}

fn affine(s: &Sexpr) -> Result<Affine, Error> {
    match parse_subscript(s)? {
        Subscript::Affine(form) => Ok(form),
        _ => Err(s.error(format!("expected an affine form, found {s}"))),
    }
}

fn scalar(s: &Sexpr) -> Result<Scalar, Error> {
    match s.as_atom().and_then(read_bare) {
        Some(value) => Ok(value),
        None => read_literal(s),
    }
}
