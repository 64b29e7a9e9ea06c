//! Parsing of programs.

use super::declare::{Declarations, InputText, InputTypes, declarations, inputs};
use super::schedule::{parse_blocks, print_transformation, transformation};
use super::source_map::SourceMap;
use super::types::convert_number;
use crate::Error;
use crate::notation::from_physical::coordinates::storage_coordinate;
use crate::notation::types::dtype_of;
use crate::notation::{
    Access, AccessSubscript, BlockInputs, Bounds, Expr, Index, OPEN_DIMENSION, Program, Rounds, Site, Stmt, TensorId,
    Var, Write,
};
use redpoll_logic::Error as TextError;
use redpoll_logic::literal::{read_bare, read_literal, read_value};
use redpoll_logic::op::{Builtin, Op, UserOp};
use redpoll_logic::physical::Protocol;
use redpoll_logic::sexpr::{self, Sexpr, SexprKind, strip_byte_order_mark};
use redpoll_logic::text::{Operators, parse_name};
use redpoll_logic::{DType, Prim, Scalar, StorageMode, TensorType};
use redpoll_storage::StoredBlocks;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parses the text of a program.
///
/// # Errors
/// When the text is not of the form that the module describes, with the line and column of the
/// fault.
pub fn parse(text: &str) -> Result<Program, Error> {
    parse_with(text, &[])
}

/// Parses the text of a program that uses user-defined operators.
///
/// # Errors
/// Like [`parse`].
pub fn parse_with(text: &str, ops: &[Arc<UserOp>]) -> Result<Program, Error> {
    parse_with_inputs(text, ops, &|_| None).map(|(program, _)| program)
}

/// Parses the text of a program over the tensors bound to its inputs, which complete the types that
/// the text leaves open. Also returns the positions of statements, tensors and transformations.
///
/// # Errors
/// Like [`parse`]; also when a written type disagrees with the bound tensor.
pub fn parse_with_inputs(
    text: &str,
    ops: &[Arc<UserOp>],
    input_types: InputTypes<'_>,
) -> Result<(Program, SourceMap), Error> {
    program(text, ops, input_types).map_err(Error::ProgramText)
}

/// Returns the inputs of a text to which tensors can be bound, as written.
///
/// # Errors
/// Like [`parse`], for declarations only.
pub fn parse_inputs(text: &str) -> Result<Vec<InputText>, Error> {
    let read = || inputs(items(&sexpr::read_one(text)?)?);
    read().map_err(Error::ProgramText)
}

/// Returns whether a text is a program: after comments, it starts with `(program`.
pub fn is_program(text: &str) -> bool {
    let code = strip_byte_order_mark(text)
        .lines()
        .map(str::trim_start)
        .find(|line| !line.is_empty() && !line.starts_with(';'));
    let word = code.and_then(|line| line.strip_prefix('(')).map(str::trim_start);
    let rest = word.and_then(|word| word.strip_prefix("program"));
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_'))
}

fn items(all: &Sexpr) -> Result<&[Sexpr], TextError> {
    match all.as_form() {
        Some(("program", items)) => Ok(items),
        _ => Err(all.error("expected `(program ..)`")),
    }
}

fn program(text: &str, ops: &[Arc<UserOp>], input_types: InputTypes<'_>) -> Result<(Program, SourceMap), TextError> {
    let all = sexpr::read_one(text)?;
    let items = items(&all)?;
    let Declarations { tensors, by_tensor_mode, sizes } = declarations(items, input_types)?;
    let program = Program {
        tensors,
        indices: Vec::new(),
        vars: Vec::new(),
        body: Stmt::Block(Vec::new()),
        schedule: Vec::new(),
        block_inputs: Vec::new(),
    };
    let mut p = ProgramParser {
        program,
        by_tensor_mode,
        sizes,
        scope: Vec::new(),
        ops: Operators::with(ops),
        source_map: SourceMap::default(),
        depth: 0,
    };
    let mut body = Vec::new();
    for item in items {
        match item.as_form() {
            Some(("input" | "output" | "local", [name, ..])) => {
                p.source_map.tensor(parse_name(name, "the name of a tensor")?, item.position);
            }
            Some(("block-inputs", [of, modes, blocks, begins, counts @ ..])) if counts.len() < 2 => {
                let (of, begins) = (p.tensor_named(of)?, p.tensor_named(begins)?);
                let counts = counts.first().map(|counts| p.tensor_named(counts)).transpose()?;
                let Some(("modes", [start, end])) = modes.as_form() else {
                    return Err(modes.error(format!("expected `(modes 0 1)`, found {modes}")))?;
                };
                let modes = start.number("a storage mode")?..end.number("a storage mode")?;
                let (blocks, None) = parse_blocks(blocks)? else {
                    return Err(blocks.error(format!("expected `(into 4)` or `(of 64)`, found {blocks}")))?;
                };
                p.program.block_inputs.push(BlockInputs { of, stored: StoredBlocks { modes, blocks }, begins, counts });
            }
            Some(("pattern", [output, of])) => {
                let (output, of) = (p.tensor_named(output)?, p.tensor_named(of)?);
                p.program.tensors[output.index()].pattern = Some(of);
            }
            Some(("schedule", transformations)) => {
                for item in transformations {
                    let transformation = transformation(item)?;
                    p.source_map.form(print_transformation(&transformation).to_string(), item.position);
                    p.program.schedule.push(transformation);
                }
            }
            _ => body.push(p.stmt(item)?),
        }
    }
    Ok((Program { body: single_or_block(body), ..p.program }, p.source_map))
}

/// Wraps the statements of a body in a block, unless there is a single one.
fn single_or_block(mut stmts: Vec<Stmt>) -> Stmt {
    if stmts.len() == 1 { stmts.swap_remove(0) } else { Stmt::Block(stmts) }
}

#[derive(Clone, Copy)]
enum ScopedName {
    Index(Index),
    Var(Var),
}

struct ProgramParser {
    program: Program,
    /// For each tensor, `true` if its accesses have one subscript per mode of the tensor instead of
    /// per storage mode.
    by_tensor_mode: Vec<bool>,
    /// The named sizes.
    sizes: BTreeMap<String, u64>,
    /// The names in scope, the innermost last.
    scope: Vec<(String, ScopedName)>,
    ops: Operators,
    source_map: SourceMap,
    /// The number of enclosing statements.
    depth: usize,
}

impl ProgramParser {
    fn body(&mut self, stmts: &[Sexpr]) -> Result<Stmt, TextError> {
        Ok(single_or_block(stmts.iter().map(|s| self.stmt(s)).collect::<Result<_, _>>()?))
    }

    fn stmt(&mut self, s: &Sexpr) -> Result<Stmt, TextError> {
        let entry = self.source_map.begin(self.depth, s.position);
        self.depth += 1;
        let stmt = self.statement(s)?;
        self.depth -= 1;
        self.source_map.end(entry, &self.program, &stmt);
        Ok(stmt)
    }

    fn statement(&mut self, s: &Sexpr) -> Result<Stmt, TextError> {
        let (head, rest) = s.as_form().ok_or_else(|| s.error(format!("expected a statement, found {s}")))?;
        Ok(match (head, rest) {
            ("block", stmts) => Stmt::Block(stmts.iter().map(|s| self.stmt(s)).collect::<Result<_, _>>()?),
            ("for", [index, rest @ ..]) => self.for_loop(index, rest, Rounds::Ordered)?,
            ("parallel-for", [index, rest @ ..]) => self.for_loop(index, rest, Rounds::Parallel)?,
            ("lanes-for", [count, index, rest @ ..]) => {
                let lanes = count.as_atom().and_then(|word| Rounds::with_lanes(word.parse().ok()?));
                let expected = || count.error(format!("expected a number of lanes, 2, 4, 8 or 16, found {count}"));
                self.for_loop(index, rest, lanes.ok_or_else(expected)?)?
            }
            ("unrolled-for", [count, index, rest @ ..]) => {
                let rounds = count.as_atom().and_then(|word| Rounds::with_copies(word.parse().ok()?));
                let max = Rounds::MAX_COPIES;
                let expected = || count.error(format!("expected a number of copies, 2 to {max}, found {count}"));
                self.for_loop(index, rest, rounds.ok_or_else(expected)?)?
            }
            ("if", [cond, body @ ..]) => Stmt::If { cond: self.expr(cond)?, body: Box::new(self.body(body)?) },
            ("while", [cond, body @ ..]) => Stmt::While { cond: self.expr(cond)?, body: Box::new(self.body(body)?) },
            ("let", [name, value, body @ ..]) => {
                let text = parse_name(name, "the name of a variable")?;
                let (at, value) = (value, self.expr(value)?);
                let dtype = dtype_of(&self.program, &value).map_err(|e| at.error(e))?;
                let var = Var(self.program.vars.len() as u32);
                self.program.vars.push((text.to_owned(), dtype));
                self.scope.push((text.to_owned(), ScopedName::Var(var)));
                let body = Box::new(self.body(body)?);
                self.scope.pop();
                Stmt::Let { var, value, body }
            }
            ("where", [consumer, producer]) => {
                Stmt::Where { consumer: Box::new(self.stmt(consumer)?), producer: Box::new(self.stmt(producer)?) }
            }
            ("declare", [t]) => Stmt::Declare(self.tensor_named(t)?),
            ("freeze", [t]) => Stmt::Freeze(self.tensor_named(t)?),
            ("thaw", [t]) => Stmt::Thaw(self.tensor_named(t)?),
            ("swap", [t, u]) => Stmt::Swap(self.tensor_named(t)?, self.tensor_named(u)?),
            ("init", [lhs, rhs]) => self.assign(lhs, Write::Init, rhs)?,
            ("=", [lhs, rhs]) => self.assign(lhs, Write::Overwrite, rhs)?,
            (head, [lhs, rhs]) if head.ends_with('=') => {
                let op = self.ops.named(&head[..head.len() - 1], s)?;
                self.assign(lhs, Write::Fold(op), rhs)?
            }
            _ => return Err(s.error(format!("expected a statement, found {s}"))),
        })
    }

    fn for_loop(&mut self, index: &Sexpr, rest: &[Sexpr], rounds: Rounds) -> Result<Stmt, TextError> {
        let name = parse_name(index, "the name of an index")?;
        let (extent, body) = match rest.split_first().map(|(first, body)| (first.as_form(), body)) {
            Some((Some(("range", [lo, hi])), body)) => (Some((self.expr(lo)?, self.expr(hi)?)), body),
            _ => (None, rest),
        };
        let index = Index(self.program.indices.len() as u32);
        self.program.indices.push(name.to_owned());
        self.scope.push((name.to_owned(), ScopedName::Index(index)));
        let body = Box::new(self.body(body)?);
        self.scope.pop();
        Ok(Stmt::For { index, extent, rounds, body })
    }

    fn assign(&mut self, lhs: &Sexpr, write: Write, rhs: &Sexpr) -> Result<Stmt, TextError> {
        let Expr::Access(target) = self.expr(lhs)? else {
            return Err(lhs.error(format!("expected an access to a tensor, found {lhs}")));
        };
        let dtype = self.program.tensors[target.tensor.index()].ty.dtype.clone();
        let value = self.expr(rhs)?;
        Ok(Stmt::Assign { lhs: target, write, rhs: convert_bare(value, is_bare(rhs), &dtype) })
    }

    fn tensor_named(&self, s: &Sexpr) -> Result<TensorId, TextError> {
        let name = parse_name(s, "the name of a tensor")?;
        self.find(name).ok_or_else(|| self.unknown(s, "tensor", name))
    }

    fn find(&self, name: &str) -> Option<TensorId> {
        self.program.tensors.iter().position(|t| t.name == name).map(|k| TensorId(k as u32))
    }

    fn unknown(&self, s: &Sexpr, kind: &'static str, name: &str) -> TextError {
        let tensors = self.program.tensors.iter().map(|t| t.name.as_str());
        let scope = self.scope.iter().map(|(n, _)| n.as_str());
        let ops = Builtin::ALL.iter().map(|b| b.name());
        s.locate(match kind {
            "tensor" => TextError::unknown(kind, name, tensors),
            "name" => TextError::unknown(kind, name, tensors.chain(scope)),
            _ => TextError::unknown(kind, name, tensors.chain(ops)),
        })
    }

    fn expr(&mut self, s: &Sexpr) -> Result<Expr, TextError> {
        match &s.kind {
            SexprKind::Atom(word) => match read_bare(word) {
                Some(value) => Ok(Expr::Literal(value)),
                None => self.symbol(s, word),
            },
            SexprKind::Text(name) => self.symbol(s, name),
            SexprKind::List(_) => {
                let (head, rest) = s.as_form().ok_or_else(|| s.error(format!("expected an expression, found {s}")))?;
                self.form(s, head, rest)
            }
        }
    }

    fn symbol(&mut self, s: &Sexpr, name: &str) -> Result<Expr, TextError> {
        match self.scope.iter().rev().find(|(n, _)| n == name) {
            Some((_, ScopedName::Index(i))) => Ok(Expr::Index(*i)),
            Some((_, ScopedName::Var(v))) => Ok(Expr::Var(*v)),
            None => match self.find(name) {
                Some(tensor) => self.access(s, tensor, &[]),
                None => match self.sizes.get(name) {
                    Some(n) => Ok(Expr::Literal(Scalar::I64(i64::try_from(*n).map_err(|e| s.error(e.to_string()))?))),
                    None => Err(self.unknown(s, "name", name)),
                },
            },
        }
    }

    fn form(&mut self, s: &Sexpr, head: &str, rest: &[Sexpr]) -> Result<Expr, TextError> {
        match (head, rest) {
            ("lit", _) => Ok(Expr::Literal(read_literal(s)?)),
            ("access", [tensor, subscripts @ ..]) => {
                let tensor = self.tensor_named(tensor)?;
                self.access(s, tensor, subscripts)
            }
            ("fill", [tensor]) => {
                let tensor = self.tensor_named(tensor)?;
                Ok(Expr::Literal(self.program.tensors[tensor.index()].ty.fill.clone()))
            }
            ("call", [op, args @ ..]) => {
                let op = self.ops.named(parse_name(op, "the name of an operator")?, op)?;
                self.call(s, op, args)
            }
            _ => match (Op::from_name(head), self.find(head)) {
                (Some(op), _) => self.call(s, op, rest),
                (None, Some(tensor)) => self.access(s, tensor, rest),
                (None, None) => Err(self.unknown(s, "tensor or operator", head)),
            },
        }
    }

    fn access(&mut self, s: &Sexpr, tensor: TensorId, subscripts: &[Sexpr]) -> Result<Expr, TextError> {
        let dtype = self.program.tensors[tensor.index()].ty.dtype.clone();
        let mut read = Vec::with_capacity(subscripts.len());
        for text in subscripts {
            let subscript = self.subscript(text, &dtype)?;
            let tensor = self.program.tensors[tensor.index()].name.clone();
            let site = Site { at: s.position, tensor, access: s.to_string(), subscript: text.to_string() };
            read.push(AccessSubscript { bounds: Bounds::Checked(Arc::new(site)), ..subscript });
        }
        let subscripts = read;
        let subscripts = if self.by_tensor_mode[tensor.index()] {
            self.storage_subscripts(s, tensor, &subscripts)?
        } else {
            subscripts
        };
        Ok(Expr::Access(Access { tensor, subscripts }))
    }

    /// Converts subscripts of the modes of a tensor to subscripts of its storage modes.
    fn storage_subscripts(
        &self,
        s: &Sexpr,
        tensor: TensorId,
        subscripts: &[AccessSubscript],
    ) -> Result<Vec<AccessSubscript>, TextError> {
        let tensor = &self.program.tensors[tensor.index()];
        let (name, rank) = (&tensor.name, tensor.ty.shape.len());
        if subscripts.len() != rank {
            let found = subscripts.len();
            return Err(
                s.error(format!("access to `{name}` has {found} subscripts, expected {rank}, one for each mode"))
            );
        }
        let one = |mode: &StorageMode| {
            let subscript = subscripts[mode.mode()].clone();
            if !matches!(mode, StorageMode::Whole { .. }) && subscript.outside.is_some() {
                let how = "in blocks or by diagonals, which cannot be read out of bounds; use an `if`";
                return Err(s.error(format!("`{name}` is stored {how}")));
            }
            let at = match mode {
                StorageMode::Skew { by, .. } => {
                    let along = subscripts[*by].at.clone();
                    diagonal(&tensor.ty, *by, subscript.at, along).map_err(|what| s.error(what))?
                }
                _ => storage_coordinate(*mode, subscript.at).map_err(|e| s.error(e.to_string()))?,
            };
            Ok(AccessSubscript { at, ..subscript })
        };
        tensor.ty.format.modes.iter().map(one).collect()
    }

    fn subscript(&mut self, s: &Sexpr, dtype: &DType) -> Result<AccessSubscript, TextError> {
        let protocol = |name: &str| match name {
            "walk" => Some(Protocol::Walk),
            "gallop" => Some(Protocol::Gallop),
            "follow" => Some(Protocol::Follow),
            _ => None,
        };
        match s.as_form() {
            Some((head, [inner])) if protocol(head).is_some() => {
                let protocol = protocol(head).unwrap_or_default();
                Ok(AccessSubscript { protocol, ..self.subscript(inner, dtype)? })
            }
            Some(("outside", [value, inner])) => {
                let value = match value.as_form() {
                    Some(("lit", _)) => read_literal(value)?,
                    _ => read_value(dtype, value)?,
                };
                Ok(AccessSubscript { outside: Some(value), ..self.subscript(inner, dtype)? })
            }
            _ => Ok(AccessSubscript::in_bounds(self.expr(s)?)),
        }
    }

    /// Makes a call with its arguments cast to the dtypes of the signature. Arguments that fit are
    /// unchanged.
    fn call(&mut self, s: &Sexpr, op: Op, texts: &[Sexpr]) -> Result<Expr, TextError> {
        let mut args = texts.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
        let dtypes = |p: &Program, args: &[Expr]| {
            args.iter().map(|a| dtype_of(p, a)).collect::<Result<Vec<_>, _>>().map_err(|e| s.error(e))
        };
        let mut found = dtypes(&self.program, &args)?;
        let mut signature = op.signature(&found).map_err(|e| s.locate(e.into()))?;
        if signature.args != found {
            // Bare numbers take the dtype of the other arguments.
            let fixed = found.iter().zip(texts).filter(|(_, t)| !is_bare(t)).filter_map(|(d, _)| d.prim());
            if let Some(dtype) = redpoll_logic::op::promote(fixed) {
                args = args.into_iter().zip(texts).map(|(a, t)| convert_bare(a, is_bare(t), &dtype.into())).collect();
                found = dtypes(&self.program, &args)?;
                signature = op.signature(&found).map_err(|e| s.locate(e.into()))?;
            }
        }
        let args = args.into_iter().zip(found).zip(signature.args).map(|((a, from), to)| match to.prim() {
            Some(prim) if from != to => cast(a, prim),
            _ => a,
        });
        Ok(Expr::Call(op, args.collect()))
    }
}

/// Returns the diagonal `at - along + n - 1`: `at` is the coordinate of the skewed mode, `along`
/// the coordinate of mode `by`, which skews that mode, and `n` the size of mode `by`.
fn diagonal(ty: &TensorType, by: usize, at: Expr, along: Expr) -> Result<Expr, String> {
    let size = ty.shape[by];
    if size == OPEN_DIMENSION {
        return Err(format!("a tensor stored by diagonals needs the size of its mode {by}; write it into the shape"));
    }
    let last = i64::try_from(size.max(1)).map_err(|e| e.to_string())? - 1;
    let difference = Expr::call(Builtin::Sub, [at, along]);
    Ok(Expr::call(Builtin::Add, [difference, Expr::int(last)]))
}

fn is_bare(s: &Sexpr) -> bool {
    s.as_atom().is_some_and(|word| read_bare(word).is_some())
}

/// Converts a bare number to a dtype, as [`convert_number`] does. Other expressions do not change,
/// nor do numbers that cannot be converted.
fn convert_bare(e: Expr, is_bare: bool, dtype: &DType) -> Expr {
    match (e, dtype.prim()) {
        (Expr::Literal(v), Some(prim)) if is_bare => Expr::Literal(convert_number(&v, prim).unwrap_or(v)),
        (e, _) => e,
    }
}

fn cast(e: Expr, prim: Prim) -> Expr {
    match e {
        Expr::Literal(v) => Expr::Literal(v.cast(prim).expect("a primitive casts to a primitive")),
        e => Expr::call(Builtin::Cast(prim), [e]),
    }
}
