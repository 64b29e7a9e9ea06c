//! Random programs in Notation text, with their schedules and inputs.
//!
//! A seed determines the whole case. The programs are typed and small, and contain constructs that
//! plans seldom or never produce:
//! - several writes to one tensor in one loop,
//! - variables and conditions in loops over sparse levels,
//! - conditions on tensors that the loop itself writes,
//! - computed subscripts, and ranges of one round or no rounds,
//! - `while`, `swap` and workspaces,
//! - transformations of loops.
//!
//! Subscripts are in bounds by construction, unless [`ProgramConfig::unchecked`] is set. The tests
//! of `redpoll-devices` include this folder as a module.

mod contraction;
mod expressions;
mod formats;
mod forms;
mod schedule;
mod statements;
mod templates;
mod tensors;

pub use formats::{redraw_formats, store_values};
pub use forms::{Rejection, normal_form, written_program};
pub use tensors::random_case;

use redpoll_compiler::notation::{Program, Role, dimensionalize, insert_lifecycles, parse, resolve_scopes};
use redpoll_logic::literal::{write_dtype, write_literal, write_value};
use redpoll_logic::sexpr::Sexpr;
use redpoll_logic::text::format_to_sexpr;
use redpoll_logic::{FloatMode, Format, Scalar, TensorType};
use std::fmt;

/// Parameters of random programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramConfig {
    /// The largest dimension.
    pub max_dimension: u64,
    /// Approximate number of statements per program.
    pub statements: u64,
    /// Percentage of subscripts that may be out of bounds.
    pub unchecked: u64,
    /// Percentage of programs that are a perfect nest with a schedule.
    pub contractions: u64,
    /// Percentage of the other programs that have a schedule.
    pub scheduled: u64,
}

impl Default for ProgramConfig {
    fn default() -> ProgramConfig {
        ProgramConfig { max_dimension: 7, statements: 5, unchecked: 0, contractions: 15, scheduled: 40 }
    }
}

/// A tensor of a program.
#[derive(Clone, Debug)]
pub struct ProgramTensor {
    pub name: String,
    pub role: Role,
    pub ty: TensorType,
    /// Values of an input at all coordinates, row-major; empty for other roles.
    pub values: Vec<Scalar>,
    /// Constraints on the format, for drawing formats again.
    pub constraints: FormatConstraints,
    /// Name of the tensor with which this tensor is swapped. Both tensors have the same format.
    pub swapped_with: Option<String>,
}

/// Constraints on the format of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatConstraints {
    /// Use of the tensor in the program.
    pub usage: Usage,
    /// Set when some read has an `outside`, which blocked formats do not support.
    pub has_outside: bool,
    /// Set when the innermost storage mode is written at a constant coordinate.
    pub is_single: bool,
    /// Set when each coordinate is written at most once.
    pub written_once: bool,
    /// Modes in the order of the writes. A tensor of rank `r` uses the first `r` elements.
    pub order: [usize; 3],
}

/// The use of a tensor in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    /// Read only.
    Input,
    /// Read and written within one loop; a scalar or dense.
    Mutable,
    /// Written in any order.
    Random,
    /// Written in ascending order of coordinates, with modes in [`FormatConstraints::order`].
    Append,
}

/// A program with its inputs.
#[derive(Clone, Debug)]
pub struct ProgramCase {
    pub tensors: Vec<ProgramTensor>,
    /// The statements. Every loop has a range.
    pub body: Vec<Sexpr>,
    /// Transformations of the loops, in order.
    pub schedule: Vec<Sexpr>,
    /// Loops whose ranges the text omits.
    pub implied_ranges: Vec<String>,
    pub mode: FloatMode,
}

impl ProgramCase {
    /// Returns the program text, with formats and schedule.
    pub fn text(&self) -> String {
        let omit_ranges = |s: &Sexpr| without_ranges(s, &self.implied_ranges);
        self.form(|t| t.ty.format.clone(), self.body.iter().map(omit_ranges), &self.schedule).pretty()
    }

    /// Infers the implied ranges; returns the program with dense tensors and without the schedule.
    fn program_with_inferred_ranges(&self) -> Result<Program, Rejection> {
        let omit_ranges = |s: &Sexpr| without_ranges(s, &self.implied_ranges);
        let text = self.form(|t| Format::dense(t.ty.shape.len()), self.body.iter().map(omit_ranges), &[]).to_string();
        Ok(dimensionalize(insert_lifecycles(resolve_scopes(parse(&text)?)?)?)?)
    }

    /// Returns the text of the program that defines the expected results: the program as drawn,
    /// with dense tensors, all ranges, and no schedule.
    pub fn definition(&self) -> String {
        self.form(|t| Format::dense(t.ty.shape.len()), self.body.iter().cloned(), &[]).to_string()
    }

    fn form(
        &self,
        format: impl Fn(&ProgramTensor) -> Format,
        body: impl Iterator<Item = Sexpr>,
        schedule: &[Sexpr],
    ) -> Sexpr {
        let declarations = self.tensors.iter().map(|t| declaration(t, &format(t)));
        let schedule = (!schedule.is_empty()).then(|| Sexpr::form("schedule", schedule.iter().cloned()));
        Sexpr::form("program", declarations.chain(schedule).chain(body))
    }

    /// Returns the size that shrinking reduces: the number of words of the text, plus the number of
    /// input values that differ from the fill value.
    pub fn size(&self) -> usize {
        let data = self.tensors.iter().flat_map(|t| t.values.iter().filter(|v| **v != t.ty.fill)).count();
        self.text().split_whitespace().count() + data
    }
}

impl fmt::Display for ProgramCase {
    /// Writes the text, after comments with the float mode and the values of the inputs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "; {:?}", self.mode)?;
        for tensor in self.tensors.iter().filter(|t| t.role == Role::Input) {
            let values: Vec<String> = tensor.values.iter().map(ToString::to_string).collect();
            writeln!(f, "; {} {:?} = [{}]", tensor.name, tensor.ty.shape, values.join(", "))?;
        }
        writeln!(f, "{}", self.text())
    }
}

fn declaration(tensor: &ProgramTensor, format: &Format) -> Sexpr {
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

/// Formats a constant, without its dtype if the value alone determines it.
fn constant(value: &Scalar) -> String {
    match value {
        Scalar::Bool(_) | Scalar::I64(_) | Scalar::F64(_) => write_value(value).to_string(),
        _ => write_literal(value).to_string(),
    }
}

/// Returns a statement without the ranges of the given loops.
fn without_ranges(s: &Sexpr, loops: &[String]) -> Sexpr {
    let Some(items) = s.as_list() else { return s.clone() };
    let omits_range = |index: &Sexpr| index.as_atom().is_some_and(|name| loops.iter().any(|l| l == name));
    let items = match items {
        [head, index, range, body @ ..]
            if head.as_atom() == Some("for")
                && omits_range(index)
                && range.as_form().is_some_and(|(w, _)| w == "range") =>
        {
            [&items[..2], body].concat()
        }
        _ => items.to_vec(),
    };
    Sexpr::list(items.iter().map(|item| without_ranges(item, loops)))
}
