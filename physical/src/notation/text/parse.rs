//! Parsing of programs.

use super::types::{fit, read_name, read_tensor_type};
use crate::Error;
use crate::notation::types::dtype_of;
use crate::notation::{
    Access, Expr, Index, Program, Role, Schedule, Stmt, Subscript, TensorDecl, TensorId, Var, Write,
};
use redpoll_logic::Error as TextError;
use redpoll_logic::literal::{read_bare, read_dtype, read_literal, read_value};
use redpoll_logic::op::{Builtin, Op, UserOp};
use redpoll_logic::physical::Protocol;
use redpoll_logic::sexpr::{self, Sexpr, SexprKind};
use redpoll_logic::{DType, Format, Prim, TensorType};
use std::sync::Arc;

/// The program of a text.
///
/// # Errors
/// When the text is not of the form that the module describes, with the line and column.
pub fn parse(text: &str) -> Result<Program, Error> {
    parse_with(text, &[])
}

/// The program of a text that uses user-defined operators.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(text: &str, ops: &[Arc<UserOp>]) -> Result<Program, Error> {
    program(text, ops).map_err(Error::ProgramText)
}

fn program(text: &str, ops: &[Arc<UserOp>]) -> Result<Program, TextError> {
    let all = sexpr::read_one(text)?;
    let Some(("program", items)) = all.as_form() else {
        return Err(all.error("expected `(program ..)`"));
    };
    let empty = Program { tensors: Vec::new(), indices: Vec::new(), vars: Vec::new(), body: Stmt::Block(Vec::new()) };
    let mut p = Parser { program: empty, scope: Vec::new(), ops };
    let mut body = Vec::new();
    for item in items {
        match item.as_form() {
            Some(("input", rest)) => p.tensor(item, rest, Role::Input)?,
            Some(("output", rest)) => p.tensor(item, rest, Role::Output)?,
            Some(("local", rest)) => p.tensor(item, rest, Role::Local)?,
            _ => body.push(p.stmt(item)?),
        }
    }
    Ok(Program { body: one(body), ..p.program })
}

/// The statement of a body: what stands alone is not wrapped.
fn one(mut stmts: Vec<Stmt>) -> Stmt {
    if stmts.len() == 1 { stmts.swap_remove(0) } else { Stmt::Block(stmts) }
}

#[derive(Clone, Copy)]
enum Symbol {
    Index(Index),
    Var(Var),
}

struct Parser<'a> {
    program: Program,
    /// What names mean, the innermost last.
    scope: Vec<(String, Symbol)>,
    ops: &'a [Arc<UserOp>],
}

impl Parser<'_> {
    fn tensor(&mut self, at: &Sexpr, rest: &[Sexpr], role: Role) -> Result<(), TextError> {
        let (name, ty) = match rest {
            [name, ty] => (name, read_tensor_type(ty)?),
            [name, dtype, fill] => {
                let dtype = read_dtype(dtype)?;
                let fill = read_value(&dtype, fill)?;
                (name, TensorType { shape: Vec::new(), dtype, fill, format: Format::dense(0) })
            }
            _ => return Err(at.error("expected `(ROLE name (type ..))` or `(ROLE name dtype fill)`")),
        };
        let name = read_name(name, "the name of a tensor")?.to_owned();
        self.program.tensors.push(TensorDecl { name, ty: Arc::new(ty), role });
        Ok(())
    }

    fn body(&mut self, stmts: &[Sexpr]) -> Result<Stmt, TextError> {
        Ok(one(stmts.iter().map(|s| self.stmt(s)).collect::<Result<_, _>>()?))
    }

    fn stmt(&mut self, s: &Sexpr) -> Result<Stmt, TextError> {
        let (head, rest) = s.as_form().ok_or_else(|| s.error(format!("expected a statement, found {s}")))?;
        Ok(match (head, rest) {
            ("block", stmts) => Stmt::Block(stmts.iter().map(|s| self.stmt(s)).collect::<Result<_, _>>()?),
            ("for", [index, rest @ ..]) => self.a_loop(index, rest, Schedule::Sequential)?,
            ("parallel-for", [index, rest @ ..]) => self.a_loop(index, rest, Schedule::Parallel)?,
            ("if", [cond, body @ ..]) => Stmt::If { cond: self.expr(cond)?, body: Box::new(self.body(body)?) },
            ("while", [cond, body @ ..]) => Stmt::While { cond: self.expr(cond)?, body: Box::new(self.body(body)?) },
            ("let", [name, value, body @ ..]) => {
                let text = read_name(name, "the name of a variable")?;
                let (at, value) = (value, self.expr(value)?);
                let dtype = dtype_of(&self.program, &value).map_err(|e| at.error(e))?;
                let var = Var(self.program.vars.len() as u32);
                self.program.vars.push((text.to_owned(), dtype));
                self.scope.push((text.to_owned(), Symbol::Var(var)));
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
            ("init", [lhs, rhs]) => self.assign(lhs, Write::Init, rhs)?,
            ("=", [lhs, rhs]) => self.assign(lhs, Write::Overwrite, rhs)?,
            (head, [lhs, rhs]) if head.ends_with('=') => {
                let op = self.op(&head[..head.len() - 1], s)?;
                self.assign(lhs, Write::Fold(op), rhs)?
            }
            _ => return Err(s.error(format!("expected a statement, found {s}"))),
        })
    }

    fn a_loop(&mut self, index: &Sexpr, rest: &[Sexpr], schedule: Schedule) -> Result<Stmt, TextError> {
        let name = read_name(index, "the name of an index")?;
        let (extent, body) = match rest.split_first().map(|(first, body)| (first.as_form(), body)) {
            Some((Some(("range", [lo, hi])), body)) => (Some((self.expr(lo)?, self.expr(hi)?)), body),
            _ => (None, rest),
        };
        let index = Index(self.program.indices.len() as u32);
        self.program.indices.push(name.to_owned());
        self.scope.push((name.to_owned(), Symbol::Index(index)));
        let body = Box::new(self.body(body)?);
        self.scope.pop();
        Ok(Stmt::For { index, extent, schedule, body })
    }

    fn assign(&mut self, lhs: &Sexpr, write: Write, rhs: &Sexpr) -> Result<Stmt, TextError> {
        let Expr::Access(place) = self.expr(lhs)? else {
            return Err(lhs.error(format!("expected a place of a tensor, found {lhs}")));
        };
        let dtype = self.program.tensors[place.tensor.index()].ty.dtype.clone();
        let value = self.expr(rhs)?;
        Ok(Stmt::Assign { lhs: place, write, rhs: adapt(value, is_bare(rhs), &dtype) })
    }

    fn tensor_named(&self, s: &Sexpr) -> Result<TensorId, TextError> {
        let name = read_name(s, "the name of a tensor")?;
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
            "operator" => TextError::unknown(kind, name, ops),
            "name" => TextError::unknown(kind, name, tensors.chain(scope)),
            _ => TextError::unknown(kind, name, tensors.chain(ops)),
        })
    }

    fn op(&self, name: &str, at: &Sexpr) -> Result<Op, TextError> {
        let user = || self.ops.iter().find(|u| u.name() == name).map(|u| Op::User(u.clone()));
        Op::from_name(name).or_else(user).ok_or_else(|| self.unknown(at, "operator", name))
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

    fn symbol(&self, s: &Sexpr, name: &str) -> Result<Expr, TextError> {
        match self.scope.iter().rev().find(|(n, _)| n == name) {
            Some((_, Symbol::Index(i))) => Ok(Expr::Index(*i)),
            Some((_, Symbol::Var(v))) => Ok(Expr::Var(*v)),
            None => match self.find(name) {
                Some(tensor) => Ok(Expr::Access(Access { tensor, subscripts: Vec::new() })),
                None => Err(self.unknown(s, "name", name)),
            },
        }
    }

    fn form(&mut self, s: &Sexpr, head: &str, rest: &[Sexpr]) -> Result<Expr, TextError> {
        match (head, rest) {
            ("lit", _) => Ok(Expr::Literal(read_literal(s)?)),
            ("access", [tensor, subscripts @ ..]) => {
                let tensor = self.tensor_named(tensor)?;
                self.access(tensor, subscripts)
            }
            ("call", [op, args @ ..]) => {
                let op = self.op(read_name(op, "the name of an operator")?, op)?;
                self.call(s, op, args)
            }
            _ => match (Op::from_name(head), self.find(head)) {
                (Some(op), _) => self.call(s, op, rest),
                (None, Some(tensor)) => self.access(tensor, rest),
                (None, None) => Err(self.unknown(s, "tensor or operator", head)),
            },
        }
    }

    fn access(&mut self, tensor: TensorId, subscripts: &[Sexpr]) -> Result<Expr, TextError> {
        let dtype = self.program.tensors[tensor.index()].ty.dtype.clone();
        let subscripts = subscripts.iter().map(|s| self.subscript(s, &dtype)).collect::<Result<_, _>>()?;
        Ok(Expr::Access(Access { tensor, subscripts }))
    }

    fn subscript(&mut self, s: &Sexpr, dtype: &DType) -> Result<Subscript, TextError> {
        let protocol = |name: &str| match name {
            "walk" => Some(Protocol::Walk),
            "gallop" => Some(Protocol::Gallop),
            "follow" => Some(Protocol::Follow),
            _ => None,
        };
        match s.as_form() {
            Some((head, [inner])) if protocol(head).is_some() => {
                let protocol = protocol(head).unwrap_or_default();
                Ok(Subscript { protocol, ..self.subscript(inner, dtype)? })
            }
            Some(("outside", [value, inner])) => {
                let value = match value.as_form() {
                    Some(("lit", _)) => read_literal(value)?,
                    _ => read_value(dtype, value)?,
                };
                Ok(Subscript { outside: Some(value), ..self.subscript(inner, dtype)? })
            }
            _ => Ok(Subscript { at: self.expr(s)?, protocol: Protocol::Walk, outside: None }),
        }
    }

    /// An operator with its arguments brought to the dtypes of the signature. Arguments that fit stay as they are.
    fn call(&mut self, s: &Sexpr, op: Op, texts: &[Sexpr]) -> Result<Expr, TextError> {
        let mut args = texts.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
        let dtypes = |p: &Program, args: &[Expr]| {
            args.iter().map(|a| dtype_of(p, a)).collect::<Result<Vec<_>, _>>().map_err(|e| s.error(e))
        };
        let mut found = dtypes(&self.program, &args)?;
        let mut signature = op.signature(&found).map_err(|e| s.locate(e.into()))?;
        if signature.args != found {
            // Bare numbers take the dtype that they meet.
            let strong = found.iter().zip(texts).filter(|(_, t)| !is_bare(t)).filter_map(|(d, _)| d.prim());
            if let Some(met) = redpoll_logic::op::promote(strong) {
                args = args.into_iter().zip(texts).map(|(a, t)| adapt(a, is_bare(t), &met.into())).collect();
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

fn is_bare(s: &Sexpr) -> bool {
    s.as_atom().is_some_and(|word| read_bare(word).is_some())
}

/// A bare number in that dtype, when the dtype holds it.
fn adapt(e: Expr, is_bare: bool, dtype: &DType) -> Expr {
    match (e, dtype.prim()) {
        (Expr::Literal(v), Some(prim)) if is_bare => Expr::Literal(fit(&v, prim).unwrap_or(v)),
        (e, _) => e,
    }
}

fn cast(e: Expr, prim: Prim) -> Expr {
    match e {
        Expr::Literal(v) => Expr::Literal(v.cast(prim).expect("a primitive casts to a primitive")),
        e => Expr::call(Builtin::Cast(prim), [e]),
    }
}
