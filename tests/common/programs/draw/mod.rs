//! Random programs in Notation text, with their schedules and inputs.
//!
//! They are typed and small, and reach what plans never make: several writes of one tensor in one loop, variables and
//! conditions in loops over sparse levels, conditions on what the loop itself writes, computed subscripts, ranges of one
//! round and of none, `while`, `swap`, workspaces, and transformations of loops. Subscripts are in bounds by construction.
//! Everything is a function of a seed. The tests of `redpoll-physical` have this folder as a module of their own.

mod contraction;
mod expressions;
mod formats;
mod forms;
mod schedule;
mod statements;
mod templates;
mod tensors;

pub use formats::{redraw_formats, stored};
pub use forms::{Refusal, normal_form, written};
pub use tensors::random_case;

use redpoll_logic::literal::{write_dtype, write_literal, write_value};
use redpoll_logic::sexpr::Sexpr;
use redpoll_logic::text::format_to_sexpr;
use redpoll_logic::{FloatMode, Format, Scalar, TensorType};
use redpoll_physical::notation::{Program, Role, dimensionalize, lifecycles, parse, scopes};
use std::fmt;

/// Which programs are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The largest dimension.
    pub largest: u64,
    /// How many statements a program has, about.
    pub statements: u64,
    /// How many subscripts out of 100 may leave their dimension.
    pub unchecked: u64,
    /// How many programs out of 100 are a perfect nest with a schedule.
    pub contractions: u64,
    /// How many others out of 100 have a schedule.
    pub scheduled: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config { largest: 7, statements: 5, unchecked: 0, contractions: 15, scheduled: 40 }
    }
}

/// A tensor of a program.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: String,
    pub role: Role,
    pub ty: TensorType,
    /// The values of an input at all places, row-major.
    pub values: Vec<Scalar>,
    /// How its format may be drawn again.
    pub formats: Formats,
    /// The tensor with which it is swapped, whose format it has.
    pub twin: Option<String>,
}

/// Which formats a tensor of a program can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Formats {
    /// How it is used.
    pub usage: Usage,
    /// Some read has an `outside`, which blocks do not take.
    pub outside: bool,
    /// The innermost storage mode is met at one place alone.
    pub single: bool,
    /// Each place is written once at most.
    pub once: bool,
    /// The first modes in the order in which they are written.
    pub order: [usize; 3],
}

/// How a program uses a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    /// It is read.
    Input,
    /// It is read and written within one loop: a scalar or dense.
    Free,
    /// It is written in any order.
    Table,
    /// It is written in the order of its modes.
    Appended,
}

/// A program with its inputs.
#[derive(Clone, Debug)]
pub struct Case {
    pub tensors: Vec<Tensor>,
    /// The statements; every loop has a range.
    pub body: Vec<Sexpr>,
    /// Transformations of its loops, in order.
    pub schedule: Vec<Sexpr>,
    /// Loops whose ranges the text leaves out.
    pub implied: Vec<String>,
    pub mode: FloatMode,
}

impl Case {
    /// The text, formats included.
    pub fn text(&self) -> String {
        let ranges = |s: &Sexpr| without_ranges(s, &self.implied);
        self.form(|t| t.ty.format.clone(), self.body.iter().map(ranges), &self.schedule).pretty()
    }

    /// The program as it is written, ranges left out.
    fn written_with_implied(&self) -> Result<Program, Refusal> {
        let ranges = |s: &Sexpr| without_ranges(s, &self.implied);
        let text = self.form(|t| Format::dense(t.ty.shape.len()), self.body.iter().map(ranges), &[]).to_string();
        Ok(dimensionalize(lifecycles(scopes(parse(&text)?)?)?)?)
    }

    /// The text of the definition: all tensors are dense, all loops have ranges and stay as they are.
    pub fn definition(&self) -> String {
        self.form(|t| Format::dense(t.ty.shape.len()), self.body.iter().cloned(), &[]).to_string()
    }

    fn form(&self, format: impl Fn(&Tensor) -> Format, body: impl Iterator<Item = Sexpr>, schedule: &[Sexpr]) -> Sexpr {
        let declarations = self.tensors.iter().map(|t| declaration(t, &format(t)));
        let schedule = (!schedule.is_empty()).then(|| Sexpr::form("schedule", schedule.iter().cloned()));
        Sexpr::form("program", declarations.chain(schedule).chain(body))
    }

    /// The number of words of the text, by which cases are compared when they are shrunk.
    pub fn size(&self) -> usize {
        let data = self.tensors.iter().flat_map(|t| t.values.iter().filter(|v| **v != t.ty.fill)).count();
        self.text().split_whitespace().count() + data
    }
}

impl fmt::Display for Case {
    /// The text with the values of its inputs in comments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "; {:?}", self.mode)?;
        for tensor in self.tensors.iter().filter(|t| t.role == Role::Input) {
            let values: Vec<String> = tensor.values.iter().map(ToString::to_string).collect();
            writeln!(f, "; {} {:?} = [{}]", tensor.name, tensor.ty.shape, values.join(", "))?;
        }
        writeln!(f, "{}", self.text())
    }
}

fn declaration(tensor: &Tensor, format: &Format) -> Sexpr {
    let (ty, name) = (&tensor.ty, Sexpr::atom(tensor.name.as_str()));
    let role = match tensor.role {
        Role::Input => "input",
        Role::Output => "output",
        Role::Local => "local",
    };
    let (dtype, fill) = (write_dtype(&ty.dtype), write_value(&ty.fill));
    if ty.shape.is_empty() && tensor.role != Role::Input {
        return Sexpr::form(role, [name, dtype, fill]);
    }
    let shape = Sexpr::form("shape", ty.shape.iter().map(|n| Sexpr::atom(n.to_string())));
    Sexpr::form(role, [name, shape, dtype, fill, format_to_sexpr(format)])
}

/// A constant: bare where its dtype shows.
fn constant(value: &Scalar) -> String {
    match value {
        Scalar::Bool(_) | Scalar::I64(_) | Scalar::F64(_) => write_value(value).to_string(),
        _ => write_literal(value).to_string(),
    }
}

/// A statement with the ranges of some loops left out.
fn without_ranges(s: &Sexpr, loops: &[String]) -> Sexpr {
    let Some(items) = s.as_list() else { return s.clone() };
    let leaves = |index: &Sexpr| index.as_atom().is_some_and(|name| loops.iter().any(|l| l == name));
    let items = match items {
        [head, index, range, body @ ..]
            if head.as_atom() == Some("for") && leaves(index) && range.as_form().is_some_and(|(w, _)| w == "range") =>
        {
            [&items[..2], body].concat()
        }
        _ => items.to_vec(),
    };
    Sexpr::list(items.iter().map(|item| without_ranges(item, loops)))
}
