//! The check of outputs with the pattern of an input; see the rules of the module `verify`.
//!
//! A write at coordinates where the input stores nothing is dropped, so such a write must leave the
//! fill value of the output unchanged. The check proves this from the properties of the operators.
//! It assumes only that the input has its fill value at the subscripts of the write; all other
//! values that are read may be arbitrary.

use super::linear::{Atom, Linear};
use super::types::dtype_of;
use super::verify::{ProgramRule, location};
use super::{Access, Expr, OPEN_DIMENSION, Program, Role, Stmt, TensorId, Write};
use crate::Error;
use redpoll_logic::{FloatMode, LeafKind, Scalar};
use std::collections::HashMap;

/// Checks the outputs of a program that have the patterns of inputs. A program does not record the
/// float mode that it was made for, so a proof in either mode suffices.
pub(super) fn check(program: &Program) -> Result<(), Error> {
    check_in(program, &[FloatMode::Relaxed, FloatMode::StrictIeee])
}

/// Checks the outputs of a program that have the patterns of inputs, for runs in a float mode. In
/// strict mode, `0 * x` may be NaN, so the product with an input does not keep the fill value 0.
///
/// # Errors
/// When an output does not fit its pattern.
pub fn verify_patterns(program: &Program, mode: FloatMode) -> Result<(), Error> {
    check_in(program, &[mode])
}

fn check_in(program: &Program, modes: &[FloatMode]) -> Result<(), Error> {
    let mut c = PatternVerifier { program, modes, values: HashMap::new(), path: Vec::new() };
    for decl in &program.tensors {
        let Some(of) = decl.pattern else { continue };
        let (own, input) = (&decl.ty, &program.tensors[of.index()].ty);
        if decl.role != Role::Output || program.tensors[of.index()].role != Role::Input {
            return c.fail(&decl.name, of, "; only outputs can have patterns, and only of inputs");
        }
        let is_different = |(a, b): (&u64, &u64)| a != b && *a != OPEN_DIMENSION;
        let shapes = own.shape.len() != input.shape.len() || own.shape.iter().zip(&input.shape).any(is_different);
        if shapes || own.format.modes != input.format.modes || own.format.levels != input.format.levels {
            return c.fail(&decl.name, of, ", but another shape or other levels");
        }
        let levels = &input.format.levels;
        if own.format.leaf == LeafKind::Pattern || levels.is_empty() || levels.iter().any(|l| l.kind.traits().runs) {
            return c.fail(&decl.name, of, ", but a pattern needs levels without runs, and a leaf with values");
        }
    }
    if program.tensors.iter().any(|t| t.pattern.is_some()) { c.stmt(&program.body) } else { Ok(()) }
}

struct PatternVerifier<'a> {
    program: &'a Program,
    /// The float modes; each write must keep the fill value in at least one of them.
    modes: &'a [FloatMode],
    /// The values of variables, and of indices of loops of one round.
    values: HashMap<Atom, &'a Expr>,
    path: Vec<&'a Stmt>,
}

impl<'a> PatternVerifier<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), Error> {
        self.path.push(stmt);
        let pattern = |t: &TensorId| self.program.tensors[t.index()].pattern;
        let reads = stmt.exprs().into_iter().flat_map(Expr::accesses).map(|a| a.tensor);
        for tensor in reads.chain(if let Stmt::Thaw(t) = stmt { Some(*t) } else { None }) {
            if let Some(of) = pattern(&tensor) {
                let name = &self.program.tensors[tensor.index()].name;
                return self.fail(name, of, ", and is read or thawed; give it levels of its own");
            }
        }
        match stmt {
            Stmt::For { index, extent: Some((lo, hi)), .. } => {
                let rounds = Linear::of(hi).zip(Linear::of(lo)).and_then(|(hi, lo)| hi.plus(&lo.times(-1)?));
                if rounds.is_some_and(|n| n.as_constant() == Some(1)) {
                    self.values.insert(Atom::Index(*index), lo);
                }
            }
            Stmt::Let { var, value, .. } => drop(self.values.insert(Atom::Var(*var), value)),
            Stmt::Assign { lhs, write, rhs } => {
                if let Some(of) = pattern(&lhs.tensor)
                    && !self.preserves_fill((lhs, of), write, rhs)
                {
                    let (name, input) =
                        (&self.program.tensors[lhs.tensor.index()].name, &self.program.tensors[of.index()].name);
                    let what = format!(
                        ", but is not proved to keep its fill value where `{input}` has its fill value; multiply by `{input}` \
                         at the same subscripts, or give `{name}` levels of its own"
                    );
                    return self.fail(name, of, &what);
                }
            }
            _ => {}
        }
        stmt.children().into_iter().try_for_each(|s| self.stmt(s))?;
        self.path.pop();
        Ok(())
    }

    /// Returns whether a write provably keeps the output's fill value where the input has its own
    /// fill value. An overwrite is never accepted.
    fn preserves_fill(&self, access: (&Access, TensorId), write: &Write, rhs: &Expr) -> bool {
        let fill = &self.program.tensors[access.0.tensor.index()].ty.fill;
        self.modes.iter().any(|&mode| {
            let Some(value) = self.value_at_fill(rhs, access, mode) else { return false };
            match write {
                Write::Init => value == *fill,
                Write::Overwrite => false,
                Write::Fold(op) => op.eval_in(&[fill.clone(), value], mode).is_ok_and(|result| result == *fill),
            }
        })
    }

    /// Returns the value of an expression if an input has its fill value at the subscripts of an
    /// access; `None` if this condition does not determine the value.
    fn value_at_fill(&self, e: &Expr, (lhs, of): (&Access, TensorId), mode: FloatMode) -> Option<Scalar> {
        match e {
            Expr::Literal(value) => Some(value.clone()),
            Expr::Index(_) => None,
            Expr::Var(v) => self.value_at_fill(self.values.get(&Atom::Var(*v))?, (lhs, of), mode),
            Expr::Access(a) => {
                let same = a.subscripts.iter().zip(&lhs.subscripts).all(|(x, y)| {
                    x.outside.is_none()
                        && (x.at == y.at || self.form(&x.at).is_some_and(|x| self.form(&y.at) == Some(x)))
                });
                (a.tensor == of && same).then(|| self.program.tensors[of.index()].ty.fill.clone())
            }
            Expr::Call(op, args) => {
                let dtypes = args.iter().map(|a| dtype_of(self.program, a).ok()).collect::<Option<Vec<_>>>()?;
                let signature = op.signature(&dtypes).ok()?;
                let values: Vec<Option<Scalar>> = args.iter().map(|a| self.value_at_fill(a, (lhs, of), mode)).collect();
                // A result that is constant by IEEE 754 is the result in both modes.
                let result = |mode| op.constant_result(&signature, &values, mode);
                result(mode).or_else(|| result(FloatMode::StrictIeee))
            }
        }
    }

    /// Returns the linear form of a subscript, with the values of variables and of loops of one
    /// round substituted.
    fn form(&self, e: &Expr) -> Option<Linear> {
        let form = Linear::of(e)?;
        form.terms.iter().try_fold(Linear::constant(form.constant), |sum, (atom, factor)| {
            let own = match self.values.get(atom) {
                Some(value) => self.form(value)?,
                None => Linear::atom(*atom),
            };
            sum.plus(&own.times(*factor)?)
        })
    }

    fn fail(&self, output: &str, of: TensorId, what: &str) -> Result<(), Error> {
        let of = &self.program.tensors[of.index()].name;
        let what = format!("`{output}` has the pattern of `{of}`{what}");
        Err(Error::InvalidProgram { rule: ProgramRule::Pattern, at: location(self.program, &self.path), what })
    }
}
