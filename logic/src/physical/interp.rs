//! A naive interpreter of physical plans: every loop runs over its whole extent, every tensor is
//! dense.
//!
//! The interpreter ignores levels, protocols, workspaces and lanes, and thus defines the meaning of
//! a plan. Engines must agree with this interpreter, and this interpreter must agree with the
//! interpreter of Logic plans. Folds run in the order of the loops.

use super::{Access, Extent, Loop, Output, PhysicalPlan, ScalarExpr, StorageCoordinate, TemporaryNest};
use crate::affine::{Affine, Parameter};
use crate::field::{Alias, Field};
use crate::format::{StorageMode, TensorType};
use crate::mode::FloatMode;
use crate::op::Fault;
use crate::scalar::Scalar;
use std::collections::HashMap;

/// A tensor with all entries, row-major over the tensor modes.
#[derive(Clone, PartialEq, Debug)]
pub struct DenseTensor {
    /// Dimension of each mode.
    pub shape: Vec<u64>,
    /// Value of each entry.
    pub values: Vec<Scalar>,
}

/// The reason why a plan cannot be interpreted.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterpError {
    /// An operator faulted.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A name that is not bound where the plan uses it, an input that is missing, a parameter whose
    /// value is not one of the possible values, or a computed coordinate that is no `i64`.
    #[error("`{0}` is not bound where the plan uses it, or has no valid value")]
    Unbound(String),
    /// An out-of-bounds read or write that the plan does not allow.
    #[error("tensor `{tensor}` is accessed at {coordinates:?}, out of the bounds of its shape {shape:?}")]
    OutOfBounds {
        /// The tensor.
        tensor: Alias,
        /// Coordinates of the access.
        coordinates: Vec<i64>,
        /// Shape of the tensor.
        shape: Vec<u64>,
    },
    /// A second write to one entry of an output without a fold.
    #[error("output `{0}` has no fold, but writes an entry twice")]
    RepeatedWrite(Alias),
}

/// Runs a plan on dense inputs in a float mode; returns all tensors, including the inputs. The
/// inputs must match their types in the plan, which this function does not check.
///
/// # Errors
/// Returns an error if the plan is malformed, an input is missing, the value of a parameter is not
/// one of its possible values, or an operator faults.
pub fn interpret(
    plan: &PhysicalPlan,
    inputs: &HashMap<Alias, DenseTensor>,
    mode: FloatMode,
) -> Result<HashMap<Alias, DenseTensor>, InterpError> {
    let mut tensors = inputs.clone();
    let mut types: HashMap<Alias, TensorType> = plan.inputs.iter().map(|(a, t)| (a.clone(), (**t).clone())).collect();
    for query in &plan.queries {
        let (indices, temporaries) = (HashMap::new(), HashMap::new());
        let mut evaluation = NestEvaluation { mode, tensors: &tensors, types: &types, indices, temporaries };
        let mut results: Vec<(DenseTensor, Vec<bool>)> = query
            .outputs
            .iter()
            .map(|o| {
                let entries = o.ty.shape.iter().product::<u64>() as usize;
                (
                    DenseTensor { shape: o.ty.shape.clone(), values: vec![o.ty.fill.clone(); entries] },
                    vec![false; entries],
                )
            })
            .collect();
        evaluation.run_loops(&query.loops, &query.temporaries, 0, &mut |evaluation| {
            query.outputs.iter().zip(&mut results).try_for_each(|(o, (t, written))| evaluation.write(o, t, written))
        })?;
        for (output, (tensor, _)) in query.outputs.iter().zip(results) {
            types.insert(output.alias.clone(), (*output.ty).clone());
            tensors.insert(output.alias.clone(), tensor);
        }
    }
    Ok(tensors)
}

struct NestEvaluation<'a> {
    mode: FloatMode,
    tensors: &'a HashMap<Alias, DenseTensor>,
    types: &'a HashMap<Alias, TensorType>,
    indices: HashMap<Field, i64>,
    temporaries: HashMap<Alias, Accumulators<'a>>,
}

/// The accumulators of a temporary: one per combination of values of `indices`.
struct Accumulators<'a> {
    indices: &'a [Field],
    init: &'a Scalar,
    values: HashMap<Vec<i64>, Scalar>,
}

impl<'a> NestEvaluation<'a> {
    fn run_loops(
        &mut self,
        loops: &'a [Loop],
        temporaries: &'a [TemporaryNest],
        depth: usize,
        body: &mut dyn FnMut(&mut Self) -> Result<(), InterpError>,
    ) -> Result<(), InterpError> {
        for t in temporaries {
            if t.start_depth == depth {
                self.start_folds(t);
            }
            if t.depth == depth {
                self.compute_folds(t)?;
            }
        }
        let Some(Loop { index, extent, .. }) = loops.get(depth) else { return body(self) };
        let bound = |f: &Field| self.indices.get(f).copied().ok_or_else(|| InterpError::Unbound(f.to_string()));
        let values = match extent {
            Extent::Range(n) => 0..*n as i64,
            Extent::Block { block, outer, size } => {
                0..(*block as i64).min(*size as i64 - *block as i64 * bound(outer)?)
            }
            Extent::Skew { n, outer, shift, size } => {
                let first = *shift as i64 - bound(outer)?;
                first.max(0)..(first + *size as i64).min(*n as i64)
            }
        };
        for i in values {
            self.indices.insert(index.clone(), i);
            self.run_loops(loops, temporaries, depth + 1, body)?;
        }
        self.indices.remove(index);
        Ok(())
    }

    fn start_folds(&mut self, t: &'a TemporaryNest) {
        for fold in &t.folds {
            let accumulators =
                Accumulators { indices: &fold.accumulator_indices, init: &fold.init, values: HashMap::new() };
            self.temporaries.insert(fold.name.clone(), accumulators);
        }
    }

    fn compute_folds(&mut self, t: &'a TemporaryNest) -> Result<(), InterpError> {
        let names = t.folds.iter().map(|f| &f.name);
        let mut sums = names.clone().map(|name| self.temporary(name)).collect::<Result<Vec<_>, _>>()?;
        self.run_loops(&t.loops, &t.temporaries, 0, &mut |evaluation| {
            for (fold, sum) in t.folds.iter().zip(&mut sums) {
                *sum = fold.op.eval_in(&[sum.clone(), evaluation.value(&fold.value)?], evaluation.mode)?;
            }
            Ok(())
        })?;
        for (name, sum) in names.zip(sums) {
            if let Some(accumulators) = self.temporaries.get_mut(name) {
                let key = accumulators.indices.iter().map(|f| self.indices.get(f).copied().unwrap_or(0)).collect();
                accumulators.values.insert(key, sum);
            }
        }
        Ok(())
    }

    /// Returns the value of a temporary, or its initial value before the first fold.
    fn temporary(&self, name: &Alias) -> Result<Scalar, InterpError> {
        let unbound = |name: &str| InterpError::Unbound(name.to_owned());
        let accumulators = self.temporaries.get(name).ok_or_else(|| unbound(name.as_str()))?;
        let key = accumulators.indices.iter().map(|f| self.indices.get(f).copied().ok_or_else(|| unbound(f.as_str())));
        let key = key.collect::<Result<Vec<_>, _>>()?;
        Ok(accumulators.values.get(&key).unwrap_or(accumulators.init).clone())
    }

    fn write(&self, output: &Output, tensor: &mut DenseTensor, written: &mut [bool]) -> Result<(), InterpError> {
        let value = self.value(&output.value)?;
        let (coordinates, is_computed) = self.tensor_coordinates(&output.ty, &output.subscripts)?;
        let Some(offset) = row_major_offset(&tensor.shape, &coordinates) else {
            if is_computed {
                return Ok(());
            }
            let (tensor, shape) = (output.alias.clone(), tensor.shape.clone());
            return Err(InterpError::OutOfBounds { tensor, coordinates, shape });
        };
        match &output.fold {
            Some(op) => tensor.values[offset] = op.eval_in(&[tensor.values[offset].clone(), value], self.mode)?,
            None if written[offset] => return Err(InterpError::RepeatedWrite(output.alias.clone())),
            None => tensor.values[offset] = value,
        }
        written[offset] = true;
        Ok(())
    }

    /// Returns the tensor coordinates for the given storage coordinates, and whether any of them is
    /// computed.
    fn tensor_coordinates(
        &self,
        ty: &TensorType,
        storage: &[StorageCoordinate],
    ) -> Result<(Vec<i64>, bool), InterpError> {
        let mut coordinates = vec![0; ty.shape.len()];
        let mut skewed = Vec::new();
        for (mode, coordinate) in ty.format.modes.iter().zip(storage) {
            let i = match coordinate {
                StorageCoordinate::Subscript(s) => {
                    self.affine(s.form())?;
                    s.bind(&|parameter| self.parameter(parameter).unwrap_or(0)).evaluate(&|f| self.indices[f])
                }
                StorageCoordinate::Computed(expr) => match self.value(expr)? {
                    Scalar::I64(v) => v,
                    other => return Err(InterpError::Unbound(format!("coordinate {other}"))),
                },
            };
            match *mode {
                StorageMode::Whole { mode } => coordinates[mode] = i,
                StorageMode::Outer { mode, block } => coordinates[mode] += i * block as i64,
                StorageMode::Inner { mode, .. } => coordinates[mode] += i,
                StorageMode::Skew { mode, by } => {
                    skewed.push((mode, by));
                    coordinates[mode] += i - (ty.shape[by] as i64 - 1);
                }
            }
        }
        for (mode, by) in skewed {
            coordinates[mode] += coordinates[by];
        }
        Ok((coordinates, storage.iter().any(|c| matches!(c, StorageCoordinate::Computed(_)))))
    }

    fn affine(&self, form: &Affine) -> Result<i64, InterpError> {
        if let Some((unbound, _)) = form.terms.iter().find(|(f, _)| !self.indices.contains_key(f)) {
            return Err(InterpError::Unbound(unbound.to_string()));
        }
        if let Some((unbound, _)) = form.parameters.iter().find(|(parameter, _)| self.parameter(parameter).is_none()) {
            return Err(InterpError::Unbound(unbound.to_string()));
        }
        Ok(form.bind(&|parameter| self.parameter(parameter).unwrap_or(0)).evaluate(&|f| self.indices[f]))
    }

    /// Returns the value of a parameter; `None` if the input is missing or its value is not one of
    /// the possible values.
    fn parameter(&self, parameter: &Parameter) -> Option<i64> {
        match self.tensors.get(&parameter.input)?.values[..] {
            [Scalar::I64(value)] => Some(value).filter(|value| parameter.has_value(*value)),
            _ => None,
        }
    }

    fn value(&self, expr: &ScalarExpr) -> Result<Scalar, InterpError> {
        Ok(match expr {
            ScalarExpr::Literal(value) => value.clone(),
            ScalarExpr::Coordinate(form) => Scalar::I64(self.affine(form)?),
            ScalarExpr::Temporary(name) => self.temporary(name)?,
            ScalarExpr::Access(access) => self.read(access)?,
            ScalarExpr::Call(op, args) => {
                let args = args.iter().map(|a| self.value(a)).collect::<Result<Vec<_>, _>>()?;
                op.eval_in(&args, self.mode)?
            }
        })
    }

    fn read(&self, access: &Access) -> Result<Scalar, InterpError> {
        let unbound = || InterpError::Unbound(access.tensor.to_string());
        let (tensor, ty) = (self.tensors.get(&access.tensor), self.types.get(&access.tensor));
        let (tensor, ty) = (tensor.ok_or_else(unbound)?, ty.ok_or_else(unbound)?);
        let (coordinates, _) = self.tensor_coordinates(ty, &access.subscripts)?;
        match (row_major_offset(&tensor.shape, &coordinates), &access.outside) {
            (Some(offset), _) => Ok(tensor.values[offset].clone()),
            (None, Some(outside)) => Ok(outside.clone()),
            (None, None) => {
                let (tensor, shape) = (access.tensor.clone(), tensor.shape.clone());
                Err(InterpError::OutOfBounds { tensor, coordinates, shape })
            }
        }
    }
}

/// Returns the index of an entry among all entries; `None` if a coordinate is out of bounds.
fn row_major_offset(shape: &[u64], coordinates: &[i64]) -> Option<usize> {
    shape.iter().zip(coordinates).try_fold(0, |offset, (&n, &i)| {
        let i = usize::try_from(i).ok().filter(|&i| (i as u64) < n)?;
        Some(offset * n as usize + i)
    })
}
