//! A naive interpreter of physical plans: every loop runs over its whole extent, every tensor is
//! dense.
//!
//! It ignores formats, protocols and workspaces, and thus defines the meaning of a plan. Engines
//! must agree with this interpreter, and this interpreter with that of the Logic plan. Folds run in
//! the order of the loops.

use super::{Access, Extent, Loop, Output, PhysicalPlan, Place, Point, Temporaries};
use crate::affine::Affine;
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
    /// A checked operator faulted.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A name is used where it is not bound; the plan is malformed.
    #[error("`{0}` is not bound where the plan uses it")]
    Unbound(String),
    /// A read or write is out of bounds, and the plan does not allow it.
    #[error("tensor `{tensor}` is accessed at {place:?}, outside of its shape {shape:?}")]
    Bounds {
        /// The tensor.
        tensor: Alias,
        /// Coordinates of the access.
        place: Vec<i64>,
        /// Shape of the tensor.
        shape: Vec<u64>,
    },
    /// An output without a fold writes an entry twice.
    #[error("output `{0}` has no fold and writes a place twice")]
    Rewritten(Alias),
}

/// Runs a plan on dense inputs in a float mode; returns all tensors, including the inputs.
///
/// # Errors
/// Returns an error if the plan is malformed or an operator faults.
pub fn interpret(
    plan: &PhysicalPlan,
    inputs: &HashMap<Alias, DenseTensor>,
    mode: FloatMode,
) -> Result<HashMap<Alias, DenseTensor>, InterpError> {
    let mut tensors = inputs.clone();
    let mut types: HashMap<Alias, TensorType> = plan.inputs.iter().map(|(a, t)| (a.clone(), (**t).clone())).collect();
    for query in &plan.queries {
        let (indices, temporaries) = (HashMap::new(), HashMap::new());
        let mut run = Run { mode, tensors: &tensors, types: &types, indices, temporaries };
        let mut results: Vec<(DenseTensor, Vec<bool>)> = query
            .outputs
            .iter()
            .map(|o| {
                let places = o.ty.shape.iter().product::<u64>() as usize;
                (
                    DenseTensor { shape: o.ty.shape.clone(), values: vec![o.ty.fill.clone(); places] },
                    vec![false; places],
                )
            })
            .collect();
        run.nest(&query.loops, &query.temporaries, 0, &mut |run| {
            query.outputs.iter().zip(&mut results).try_for_each(|(o, (t, seen))| run.write(o, t, seen))
        })?;
        for (output, (tensor, _)) in query.outputs.iter().zip(results) {
            types.insert(output.alias.clone(), (*output.ty).clone());
            tensors.insert(output.alias.clone(), tensor);
        }
    }
    Ok(tensors)
}

struct Run<'a> {
    mode: FloatMode,
    tensors: &'a HashMap<Alias, DenseTensor>,
    types: &'a HashMap<Alias, TensorType>,
    indices: HashMap<Field, i64>,
    temporaries: HashMap<Alias, Accumulators<'a>>,
}

/// The accumulators of a temporary, one for each combination of values of some indices.
struct Accumulators<'a> {
    at: &'a [Field],
    init: &'a Scalar,
    values: HashMap<Vec<i64>, Scalar>,
}

impl<'a> Run<'a> {
    fn nest(
        &mut self,
        loops: &'a [Loop],
        temporaries: &'a [Temporaries],
        depth: usize,
        body: &mut dyn FnMut(&mut Self) -> Result<(), InterpError>,
    ) -> Result<(), InterpError> {
        for t in temporaries {
            if t.since == depth {
                self.start(t);
            }
            if t.depth == depth {
                self.compute(t)?;
            }
        }
        let Some(Loop { index, extent, .. }) = loops.get(depth) else { return body(self) };
        let bound = |f: &Field| self.indices.get(f).copied().ok_or_else(|| InterpError::Unbound(f.to_string()));
        let values = match extent {
            Extent::Whole(n) => 0..*n as i64,
            Extent::Block { block, outer, size } => {
                0..(*block as i64).min(*size as i64 - *block as i64 * bound(outer)?)
            }
            Extent::Skew { n, with, shift, size } => {
                let first = *shift as i64 - bound(with)?;
                first.max(0)..(first + *size as i64).min(*n as i64)
            }
        };
        for i in values {
            self.indices.insert(index.clone(), i);
            self.nest(loops, temporaries, depth + 1, body)?;
        }
        self.indices.remove(index);
        Ok(())
    }

    fn start(&mut self, t: &'a Temporaries) {
        for fold in &t.folds {
            let none = Accumulators { at: &fold.at, init: &fold.init, values: HashMap::new() };
            self.temporaries.insert(fold.name.clone(), none);
        }
    }

    fn compute(&mut self, t: &'a Temporaries) -> Result<(), InterpError> {
        let names = t.folds.iter().map(|f| &f.name);
        let mut sums = names.clone().map(|name| self.temporary(name)).collect::<Result<Vec<_>, _>>()?;
        self.nest(&t.loops, &t.temporaries, 0, &mut |run| {
            for (fold, sum) in t.folds.iter().zip(&mut sums) {
                *sum = fold.op.eval_in(&[sum.clone(), run.value(&fold.value)?], run.mode)?;
            }
            Ok(())
        })?;
        for (name, sum) in names.zip(sums) {
            if let Some(found) = self.temporaries.get_mut(name) {
                let at = found.at.iter().map(|f| self.indices.get(f).copied().unwrap_or(0)).collect();
                found.values.insert(at, sum);
            }
        }
        Ok(())
    }

    /// Returns the value of a temporary, initially `init`.
    fn temporary(&self, name: &Alias) -> Result<Scalar, InterpError> {
        let unbound = |name: &str| InterpError::Unbound(name.to_owned());
        let found = self.temporaries.get(name).ok_or_else(|| unbound(name.as_str()))?;
        let at = found.at.iter().map(|f| self.indices.get(f).copied().ok_or_else(|| unbound(f.as_str())));
        let at = at.collect::<Result<Vec<_>, _>>()?;
        Ok(found.values.get(&at).unwrap_or(found.init).clone())
    }

    fn write(&self, output: &Output, tensor: &mut DenseTensor, seen: &mut [bool]) -> Result<(), InterpError> {
        let value = self.value(&output.value)?;
        let (place, by_value) = self.place(&output.ty, &output.subscripts)?;
        let Some(at) = offset(&tensor.shape, &place) else {
            if by_value {
                return Ok(());
            }
            return Err(InterpError::Bounds { tensor: output.alias.clone(), place, shape: tensor.shape.clone() });
        };
        match &output.fold {
            Some(op) => tensor.values[at] = op.eval_in(&[tensor.values[at].clone(), value], self.mode)?,
            None if seen[at] => return Err(InterpError::Rewritten(output.alias.clone())),
            None => tensor.values[at] = value,
        }
        seen[at] = true;
        Ok(())
    }

    /// Returns the tensor coordinates for the given storage coordinates, and whether any of them is
    /// computed.
    fn place(&self, ty: &TensorType, places: &[Place]) -> Result<(Vec<i64>, bool), InterpError> {
        let mut coordinates = vec![0; ty.shape.len()];
        let mut skewed = Vec::new();
        for (mode, place) in ty.format.modes.iter().zip(places) {
            let at = match place {
                Place::Subscript(s) => {
                    self.affine(s.form())?;
                    s.evaluate(&|f| self.indices[f])
                }
                Place::Value(point) => match self.value(point)? {
                    Scalar::I64(v) => v,
                    other => return Err(InterpError::Unbound(format!("coordinate {other}"))),
                },
            };
            match *mode {
                StorageMode::Whole { mode } => coordinates[mode] = at,
                StorageMode::Outer { mode, block } => coordinates[mode] += at * block as i64,
                StorageMode::Inner { mode, .. } => coordinates[mode] += at,
                StorageMode::Skew { mode, by } => {
                    skewed.push((mode, by));
                    coordinates[mode] += at - (ty.shape[by] as i64 - 1);
                }
            }
        }
        for (mode, by) in skewed {
            coordinates[mode] += coordinates[by];
        }
        Ok((coordinates, places.iter().any(|p| matches!(p, Place::Value(_)))))
    }

    fn affine(&self, form: &Affine) -> Result<i64, InterpError> {
        match form.terms.iter().find(|(f, _)| !self.indices.contains_key(f)) {
            Some((unbound, _)) => Err(InterpError::Unbound(unbound.to_string())),
            None => Ok(form.evaluate(&|f| self.indices[f])),
        }
    }

    fn value(&self, point: &Point) -> Result<Scalar, InterpError> {
        Ok(match point {
            Point::Literal(value) => value.clone(),
            Point::Coordinate(form) => Scalar::I64(self.affine(form)?),
            Point::Temporary(name) => self.temporary(name)?,
            Point::Access(access) => self.read(access)?,
            Point::Call(op, args) => {
                let args = args.iter().map(|a| self.value(a)).collect::<Result<Vec<_>, _>>()?;
                op.eval_in(&args, self.mode)?
            }
        })
    }

    fn read(&self, access: &Access) -> Result<Scalar, InterpError> {
        let unbound = || InterpError::Unbound(access.tensor.to_string());
        let (tensor, ty) = (self.tensors.get(&access.tensor), self.types.get(&access.tensor));
        let (tensor, ty) = (tensor.ok_or_else(unbound)?, ty.ok_or_else(unbound)?);
        let (place, _) = self.place(ty, &access.subscripts)?;
        match (offset(&tensor.shape, &place), &access.outside) {
            (Some(at), _) => Ok(tensor.values[at].clone()),
            (None, Some(outside)) => Ok(outside.clone()),
            (None, None) => {
                Err(InterpError::Bounds { tensor: access.tensor.clone(), place, shape: tensor.shape.clone() })
            }
        }
    }
}

fn offset(shape: &[u64], place: &[i64]) -> Option<usize> {
    shape.iter().zip(place).try_fold(0, |at, (&n, &i)| {
        let inside = usize::try_from(i).ok().filter(|&i| (i as u64) < n)?;
        Some(at * n as usize + inside)
    })
}
