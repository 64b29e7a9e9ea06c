//! The interpreter of Notation, an independent definition of programs for differential tests.
//!
//! The interpreter executes a program as written, over tensors stored densely by their storage
//! modes. Loops ascend, folds have exactly the order of the loops, and `Op::eval_in` defines the
//! values. A program runs if its lifecycles are explicit, its loops have extents, and no dimension
//! is open. So tests of a pass can run a program before and after the pass, and compare the runs.

use super::dense_values::DenseValues;
use super::text::{label, print_expr};
use super::verify::verify;
use super::{Access, AccessSubscript, Bounds, Expr, Index, OPEN_DIMENSION, Program, Role, Site, Stmt, TensorId, Write};
use crate::{Error, OutOfBounds};
use redpoll_logic::cursor::TextPosition;
use redpoll_logic::op::Fault;
use redpoll_logic::{DType, FloatMode, Scalar};
use std::collections::HashMap;

/// Limits of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterpLimits {
    /// Maximum number of steps: statements executed, conditions tested, and expressions evaluated,
    /// with all their subexpressions.
    pub steps: u64,
    /// Maximum number of values of all inputs and of all tensors declared so far.
    pub values: u64,
}

impl Default for InterpLimits {
    /// Returns limits for a run that takes some seconds and some hundreds of megabytes.
    fn default() -> InterpLimits {
        InterpLimits { steps: 100_000_000, values: 10_000_000 }
    }
}

/// A reason why the interpreter stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopCause {
    /// An input is missing.
    #[error("input `{0}` is missing")]
    MissingInput(String),
    /// An input has the wrong number of values.
    #[error("input `{tensor}` has {found} values, expected {expected}, one for each coordinate of its storage modes")]
    InputSize {
        /// The input.
        tensor: String,
        /// The number of values given.
        found: usize,
        /// The number of values expected.
        expected: u64,
    },
    /// An input has a value of another dtype.
    #[error("input `{tensor}` has a value of dtype {found}, expected {expected}")]
    InputDType {
        /// The input.
        tensor: String,
        /// The dtype of the value.
        found: DType,
        /// The dtype of the tensor.
        expected: DType,
    },
    /// A loop without extent, or a tensor with an open dimension.
    #[error("{0} is unknown; normalize the program first")]
    NotNormalized(String),
    /// A read or write out of bounds.
    #[error(transparent)]
    OutOfBounds(Box<OutOfBounds>),
    /// `Write::Init` found a value other than the fill value.
    #[error("`{access}` at {coordinates:?} is initialized after another write; fold or overwrite")]
    InitializedTwice {
        /// The access.
        access: String,
        /// The coordinates over the storage modes.
        coordinates: Vec<i64>,
    },
    /// The run exceeded the limit of steps.
    #[error("more than {0} steps; raise the limit, or look for a loop that does not end")]
    StepLimit(u64),
    /// The tensors exceed the limit of values.
    #[error("more than {0} values; raise the limit, or use smaller dimensions")]
    ValueLimit(u64),
    /// An operator has no value for its arguments.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Runs a program on inputs by name, within the default limits. Returns its outputs by name.
///
/// # Errors
/// When the program does not pass `verify`, inputs do not fit it, or the run stops; see
/// [`StopCause`].
pub fn run(program: &Program, inputs: &HashMap<String, DenseValues>) -> Result<HashMap<String, DenseValues>, Error> {
    run_with_limits(program, inputs, InterpLimits::default())
}

/// Runs a program like [`run`], within given limits.
///
/// # Errors
/// Like [`run`].
pub fn run_with_limits(
    program: &Program,
    inputs: &HashMap<String, DenseValues>,
    limits: InterpLimits,
) -> Result<HashMap<String, DenseValues>, Error> {
    run_with_mode(program, inputs, limits, FloatMode::default())
}

/// Runs a program like [`run_with_limits`], in a float mode.
///
/// # Errors
/// Like [`run`].
pub fn run_with_mode(
    program: &Program,
    inputs: &HashMap<String, DenseValues>,
    limits: InterpLimits,
    mode: FloatMode,
) -> Result<HashMap<String, DenseValues>, Error> {
    verify(program)?;
    let mut m = ProgramRun {
        program,
        limits,
        mode,
        steps: 0,
        values: 0,
        shapes: program.tensors.iter().map(|t| t.ty.format.storage_shape(&t.ty.shape)).collect(),
        tensors: vec![Vec::new(); program.tensors.len()],
        indices: vec![0; program.indices.len()],
        vars: vec![Scalar::Bool(false); program.vars.len()],
        path: Vec::new(),
    };
    for k in 0..program.tensors.len() {
        m.input(k, inputs).map_err(|cause| Error::ProgramStopped { at: "inputs".to_owned(), cause })?;
    }
    m.stmt(&program.body)?;
    let outputs = program.tensors.iter().zip(m.tensors).filter(|(t, _)| t.role == Role::Output);
    Ok(outputs.map(|(t, values)| (t.name.clone(), values)).collect())
}

struct ProgramRun<'a> {
    program: &'a Program,
    limits: InterpLimits,
    mode: FloatMode,
    steps: u64,
    /// Number of values of all inputs and of all tensors declared so far.
    values: u64,
    shapes: Vec<Vec<u64>>,
    tensors: Vec<DenseValues>,
    indices: Vec<i64>,
    vars: Vec<Scalar>,
    /// The enclosing loops, outermost first.
    path: Vec<Index>,
}

/// The target of an access.
enum AccessTarget {
    Element(usize),
    /// Out of bounds; the read returns this value.
    Outside(Scalar),
}

impl<'a> ProgramRun<'a> {
    fn input(&mut self, k: usize, inputs: &HashMap<String, DenseValues>) -> Result<(), StopCause> {
        let tensor = &self.program.tensors[k];
        if tensor.ty.shape.contains(&OPEN_DIMENSION) {
            return Err(StopCause::NotNormalized(format!("the shape of `{}`", tensor.name)));
        }
        if tensor.role != Role::Input {
            return Ok(());
        }
        let values = inputs.get(&tensor.name).ok_or_else(|| StopCause::MissingInput(tensor.name.clone()))?;
        let expected = self.count(k)?;
        if values.len() as u64 != expected {
            return Err(StopCause::InputSize { tensor: tensor.name.clone(), found: values.len(), expected });
        }
        if let Some(v) = values.iter().find(|v| v.dtype() != tensor.ty.dtype) {
            let (tensor, expected) = (tensor.name.clone(), tensor.ty.dtype.clone());
            return Err(StopCause::InputDType { tensor, found: v.dtype(), expected });
        }
        self.tensors[k].clone_from(values);
        Ok(())
    }

    /// Returns the number of values of a tensor, and counts them against the limit.
    fn count(&mut self, k: usize) -> Result<u64, StopCause> {
        let limit = self.limits.values;
        let count =
            self.shapes[k].iter().try_fold(1u64, |n, d| n.checked_mul(*d)).ok_or(StopCause::ValueLimit(limit))?;
        self.values = self.values.saturating_sub(self.tensors[k].len() as u64).saturating_add(count);
        if self.values > limit { Err(StopCause::ValueLimit(limit)) } else { Ok(count) }
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), Error> {
        self.step().map_err(|cause| self.stopped(stmt, cause))?;
        match stmt {
            Stmt::Block(stmts) => stmts.iter().try_for_each(|s| self.stmt(s)),
            Stmt::For { index, extent, body, .. } => {
                let (lo, hi) = self.extent(extent.as_ref()).map_err(|cause| self.stopped(stmt, cause))?;
                self.path.push(*index);
                for i in lo..hi {
                    self.indices[index.index()] = i;
                    self.stmt(body)?;
                }
                self.path.pop();
                Ok(())
            }
            Stmt::If { cond, body } => match self.condition(cond).map_err(|cause| self.stopped(stmt, cause))? {
                true => self.stmt(body),
                false => Ok(()),
            },
            Stmt::While { cond, body } => {
                while self.condition(cond).map_err(|cause| self.stopped(stmt, cause))? {
                    self.stmt(body)?;
                }
                Ok(())
            }
            Stmt::Let { var, value, body } => {
                self.vars[var.index()] = self.eval(value).map_err(|cause| self.stopped(stmt, cause))?;
                self.stmt(body)
            }
            Stmt::Where { consumer, producer } => {
                self.stmt(producer)?;
                self.stmt(consumer)
            }
            Stmt::Declare(t) => self.declare(*t).map_err(|cause| self.stopped(stmt, cause)),
            Stmt::Freeze(_) | Stmt::Thaw(_) => Ok(()),
            Stmt::Swap(t, u) => {
                self.tensors.swap(t.index(), u.index());
                Ok(())
            }
            Stmt::Assign { lhs, write, rhs } => self.assign(lhs, write, rhs).map_err(|cause| self.stopped(stmt, cause)),
        }
    }

    fn step(&mut self) -> Result<(), StopCause> {
        self.steps += 1;
        if self.steps > self.limits.steps { Err(StopCause::StepLimit(self.limits.steps)) } else { Ok(()) }
    }

    fn stopped(&self, stmt: &Stmt, cause: StopCause) -> Error {
        if let StopCause::OutOfBounds(error) = cause {
            return Error::OutOfBounds(error);
        }
        let enclosing =
            self.path.iter().map(|i| format!("{} = {}", self.program.indices[i.index()], self.indices[i.index()]));
        let at = enclosing.chain(label(self.program, stmt)).collect::<Vec<_>>().join(", ");
        Error::ProgramStopped { at, cause }
    }

    fn extent(&mut self, extent: Option<&(Expr, Expr)>) -> Result<(i64, i64), StopCause> {
        let (lo, hi) = extent.ok_or_else(|| StopCause::NotNormalized("the extent".to_owned()))?;
        Ok((self.coordinate(lo)?, self.coordinate(hi)?))
    }

    fn declare(&mut self, t: TensorId) -> Result<(), StopCause> {
        let count = self.count(t.index())?;
        let fill = &self.program.tensors[t.index()].ty.fill;
        let values = &mut self.tensors[t.index()];
        values.clear();
        values.resize(count as usize, fill.clone());
        Ok(())
    }

    fn assign(&mut self, lhs: &Access, write: &Write, rhs: &Expr) -> Result<(), StopCause> {
        let value = self.eval(rhs)?;
        let AccessTarget::Element(element) = self.locate(lhs)? else {
            unreachable!("verify allows no `outside` in a write")
        };
        let old_value = &self.tensors[lhs.tensor.index()][element];
        let value = match write {
            Write::Overwrite => value,
            Write::Fold(op) => op.eval_in(&[old_value.clone(), value], self.mode)?,
            Write::Init => {
                if *old_value != self.program.tensors[lhs.tensor.index()].ty.fill {
                    let access = print_expr(self.program, &Expr::Access(lhs.clone()));
                    let coordinates =
                        lhs.subscripts.iter().map(|s| self.coordinate(&s.at)).collect::<Result<_, _>>()?;
                    return Err(StopCause::InitializedTwice { access, coordinates });
                }
                value
            }
        };
        self.tensors[lhs.tensor.index()][element] = value;
        Ok(())
    }

    fn locate(&mut self, a: &Access) -> Result<AccessTarget, StopCause> {
        let mut element = 0;
        for (mode, s) in a.subscripts.iter().enumerate() {
            let coordinate = self.coordinate(&s.at)?;
            let size = self.shapes[a.tensor.index()][mode];
            match (u64::try_from(coordinate), &s.outside) {
                (Ok(c), _) if c < size => element = element * size as usize + c as usize,
                (_, Some(value)) => return Ok(AccessTarget::Outside(value.clone())),
                (_, None) => {
                    let site = self.site(a, s);
                    return Err(StopCause::OutOfBounds(Box::new(OutOfBounds { site, mode, coordinate, size })));
                }
            }
        }
        Ok(AccessTarget::Element(element))
    }

    /// Returns the site of a subscript: its text in the program, or its printed form if it has
    /// none.
    fn site(&self, a: &Access, s: &AccessSubscript) -> Site {
        match &s.bounds {
            Bounds::Checked(site) => (**site).clone(),
            Bounds::Proved | Bounds::Guarded => Site {
                at: TextPosition::default(),
                tensor: self.program.tensors[a.tensor.index()].name.clone(),
                access: print_expr(self.program, &Expr::Access(a.clone())),
                subscript: print_expr(self.program, &s.at),
            },
        }
    }

    fn coordinate(&mut self, e: &Expr) -> Result<i64, StopCause> {
        match self.eval(e)? {
            Scalar::I64(v) => Ok(v),
            _ => unreachable!("verify allows just i64 coordinates"),
        }
    }

    fn condition(&mut self, e: &Expr) -> Result<bool, StopCause> {
        self.step()?;
        Ok(self.eval(e)? == Scalar::Bool(true))
    }

    fn eval(&mut self, e: &Expr) -> Result<Scalar, StopCause> {
        self.step()?;
        Ok(match e {
            Expr::Literal(v) => v.clone(),
            Expr::Index(i) => Scalar::I64(self.indices[i.index()]),
            Expr::Var(v) => self.vars[v.index()].clone(),
            Expr::Access(a) => match self.locate(a)? {
                AccessTarget::Element(element) => self.tensors[a.tensor.index()][element].clone(),
                AccessTarget::Outside(value) => value,
            },
            Expr::Call(op, args) => {
                let args = args.iter().map(|a| self.eval(a)).collect::<Result<Vec<_>, _>>()?;
                op.eval_in(&args, self.mode)?
            }
        })
    }
}
