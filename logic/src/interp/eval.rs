//! Evaluation of expressions, entry by entry. The results of queries, and of aggregates and scans
//! with known sizes, are stored. Other nodes are evaluated at each read.

use super::apply::{Arithmetic, apply};
use super::value::BoundedValue;
use super::{DenseTensor, ReferenceResult};
use crate::affine::{Parameter, Subscript};
use crate::error::Error;
use crate::expr::{Expr, IndexMap, Node};
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::op::{Fault, Op, Signature};
use crate::plan::Query;
use crate::scalar::Scalar;
use std::collections::HashMap;
use std::rc::Rc;

/// Maximal number of entries of a stored table or of one fold.
const MAX_ENTRIES: u64 = 1 << 28;

/// The state of an evaluation: its arithmetic, the inputs, and the results so far.
pub(super) struct Evaluator {
    pub(super) arithmetic: Arithmetic,
    pub(super) tables: HashMap<Alias, Rc<StoredTable>>,
}

/// A stored table, row-major.
pub(super) struct StoredTable {
    pub(super) shape: Vec<u64>,
    pub(super) values: Vec<BoundedValue>,
}

/// An expression prepared for evaluation at coordinates in the order of its fields.
enum PreparedExpr {
    /// A table; mode k is read at the coordinate of field `slots[k]`.
    Table(Rc<StoredTable>, Vec<usize>),
    Literal(BoundedValue),
    Coordinate,
    /// An operator; each argument comes with the indices of its fields among the fields of the
    /// node.
    MapJoin(Op, Signature, Vec<(PreparedExpr, Vec<usize>)>),
    Reorder(Box<PreparedExpr>, Vec<usize>),
    Fold(Box<PreparedFold>),
    Scan(Box<PreparedScan>),
    Index {
        arg: Box<PreparedExpr>,
        fields: Vec<Field>,
        reads: Vec<ModeRead>,
        outside: Option<BoundedValue>,
    },
}

/// An aggregate, evaluated at given coordinates.
struct PreparedFold {
    op: Op,
    signature: Signature,
    init: BoundedValue,
    arg: PreparedExpr,
    /// Field indices of the argument: first the remaining fields, then the reduced ones in the
    /// order of the node.
    order: Vec<usize>,
    /// Sizes of the reduced fields.
    extents: Vec<u64>,
}

/// A scan, evaluated at given coordinates.
struct PreparedScan {
    op: Op,
    signature: Signature,
    arg: PreparedExpr,
    along: usize,
}

/// The subscript at which a field of an indexed table is read, and the size of the field if known.
struct ModeRead {
    subscript: Subscript,
    size: Option<u64>,
}

impl Evaluator {
    /// Evaluates all entries of a query.
    pub(super) fn query(&self, query: &Query) -> Result<ReferenceResult, Error> {
        let ty = query.result_type()?;
        let prepared = self.prepare(&query.expr)?;
        let values = self.materialize(&prepared, &ty.shape, &format!("`{}`", query.alias))?;
        Ok(ReferenceResult {
            fields: query.expr.info().fields.clone(),
            shape: ty.shape,
            dtype: ty.dtype,
            fill: ty.fill,
            mode: self.arithmetic.mode,
            may_fault: self.arithmetic.may_fault.get(),
            values,
        })
    }

    /// Checks the values of an input against the type in the plan; returns them as a table.
    pub(super) fn input(&self, alias: &Alias, ty: &TensorType, data: &DenseTensor) -> Result<StoredTable, Error> {
        let mismatch = |problem: String| Err(Error::Input { alias: alias.clone(), problem });
        if data.shape != ty.shape {
            return mismatch(format!("it has shape {:?}, but the plan expects {:?}", data.shape, ty.shape));
        }
        let entries = entry_count(&data.shape, &format!("`{alias}`"))?;
        if data.values.len() as u64 != entries {
            return mismatch(format!("it has {} values for {entries} entries", data.values.len()));
        }
        if let Some(value) = data.values.iter().find(|v| v.dtype() != ty.dtype) {
            return mismatch(format!("it has a value of dtype {}, but the plan expects {}", value.dtype(), ty.dtype));
        }
        let values = data.values.iter().map(|v| BoundedValue::from_scalar(v, self.arithmetic.mode)).collect();
        Ok(StoredTable { shape: data.shape.clone(), values })
    }

    fn prepare(&self, expr: &Expr) -> Result<PreparedExpr, Error> {
        let info = expr.info();
        let slots = |of: &[Field], among: &[Field]| -> Vec<usize> {
            let slot = |f| among.iter().position(|g| g == f).expect("a node has the fields of its arguments");
            of.iter().map(slot).collect()
        };
        Ok(match expr.node() {
            Node::Table { tensor, fields, .. } => {
                let stored = self.tables.get(tensor).ok_or_else(|| Error::Input {
                    alias: tensor.clone(),
                    problem: "the plan reads it, but it is missing".to_owned(),
                })?;
                PreparedExpr::Table(stored.clone(), slots(fields, &info.fields))
            }
            Node::Literal(value) => PreparedExpr::Literal(BoundedValue::from_scalar(value, self.arithmetic.mode)),
            Node::Coordinate(_) => PreparedExpr::Coordinate,
            Node::MapJoin { op, args } => {
                let dtypes: Vec<_> = args.iter().map(|a| a.info().dtype.clone()).collect();
                let prepare = |a: &Expr| Ok((self.prepare(a)?, slots(&a.info().fields, &info.fields)));
                PreparedExpr::MapJoin(
                    node_op(op, args)?,
                    op.signature(&dtypes)?,
                    args.iter().map(prepare).collect::<Result<_, Error>>()?,
                )
            }
            Node::Aggregate { op, init, arg, fields } => {
                self.materialize_if_sized(self.fold(op, init, arg, fields)?, &info.dimensions)?
            }
            Node::Scan { op, arg, field } => self.scan(op, arg, field)?,
            Node::Reorder { arg, fields } => {
                PreparedExpr::Reorder(Box::new(self.prepare(arg)?), slots(&arg.info().fields, fields))
            }
            Node::Relabel { arg, .. } | Node::Reformat { arg, .. } | Node::Refill { arg, .. } => self.prepare(arg)?,
            Node::Index { map, arg } => self.index(map, arg, &info.fields)?,
        })
    }

    fn index(&self, map: &IndexMap, arg: &Expr, fields: &[Field]) -> Result<PreparedExpr, Error> {
        let mut values = HashMap::new();
        for (_, subscript) in &map.coordinates {
            for (parameter, _) in &subscript.form().parameters {
                values.insert(parameter, self.parameter(parameter)?);
            }
        }
        let read = |(field, &size): (&Field, &Option<u64>)| {
            let mapped = map.coordinates.iter().find(|(f, _)| f == field);
            let bind = |(_, subscript): &(Field, Subscript)| subscript.bind(&|parameter| values[parameter]);
            ModeRead { subscript: mapped.map_or_else(|| Subscript::field(field.clone()), bind), size }
        };
        Ok(PreparedExpr::Index {
            arg: Box::new(self.prepare(arg)?),
            fields: fields.to_vec(),
            reads: arg.info().fields.iter().zip(&arg.info().dimensions).map(read).collect(),
            outside: map.outside.as_ref().map(|v| BoundedValue::from_scalar(v, self.arithmetic.mode)),
        })
    }

    /// Returns the value of a parameter.
    fn parameter(&self, parameter: &Parameter) -> Result<i64, Error> {
        let Parameter { input, size } = parameter;
        let fail = |problem: String| Error::Input { alias: input.clone(), problem };
        let table = self.tables.get(input).ok_or_else(|| fail("the plan reads it, but it is missing".to_owned()))?;
        match table.values.first().map(BoundedValue::scalar) {
            Some(Scalar::I64(value)) if parameter.has_value(value) => Ok(value),
            Some(value) => Err(fail(format!("it is {value}, but the plan expects a number in 0..{size}"))),
            None => Err(fail(format!("it has no value, but the plan expects a number in 0..{size}"))),
        }
    }

    fn fold(&self, op: &Op, init: &Scalar, arg: &Expr, reduced: &[Field]) -> Result<PreparedExpr, Error> {
        let info = arg.info();
        let position = |f: &Field| info.fields.iter().position(|g| g == f).expect("checked by inference");
        let remaining = (0..info.fields.len()).filter(|&k| !reduced.contains(&info.fields[k]));
        let order: Vec<usize> = remaining.chain(reduced.iter().map(position)).collect();
        let extents: Vec<u64> = reduced.iter().map(|f| info.dimension(f).expect("checked by inference")).collect();
        entry_count(&extents, "the extent of an aggregate")?;
        let signature = op.signature(&[info.dtype.clone(), info.dtype.clone()])?;
        let init = BoundedValue::from_scalar(init, self.arithmetic.mode);
        Ok(PreparedExpr::Fold(Box::new(PreparedFold {
            op: op.clone(),
            signature,
            init,
            arg: self.prepare(arg)?,
            order,
            extents,
        })))
    }

    /// Evaluates and stores all entries of an aggregate if its dimensions are known. Otherwise
    /// returns the aggregate as it is, and each read evaluates an entry.
    fn materialize_if_sized(&self, prepared: PreparedExpr, dimensions: &[Option<u64>]) -> Result<PreparedExpr, Error> {
        let Some(shape) = dimensions.iter().copied().collect::<Option<Vec<u64>>>() else { return Ok(prepared) };
        let values = self.materialize(&prepared, &shape, "an aggregate")?;
        let slots = (0..shape.len()).collect();
        Ok(PreparedExpr::Table(Rc::new(StoredTable { shape, values }), slots))
    }

    fn scan(&self, op: &Op, arg: &Expr, field: &Field) -> Result<PreparedExpr, Error> {
        let info = arg.info();
        let along = info.fields.iter().position(|f| f == field).expect("checked by inference");
        let signature = op.signature(&[info.dtype.clone(), info.dtype.clone()])?;
        let prepared = self.prepare(arg)?;
        let Some(shape) = info.shape() else {
            return Ok(PreparedExpr::Scan(Box::new(PreparedScan { op: op.clone(), signature, arg: prepared, along })));
        };
        let mut values = self.materialize(&prepared, &shape, "a scan")?;
        let stride: usize = shape[along + 1..].iter().product::<u64>() as usize;
        for k in 0..values.len() {
            if !(k / stride).is_multiple_of(shape[along] as usize) {
                let pair = [values[k - stride].clone(), values[k].clone()];
                values[k] = apply(op, &signature, &pair, &self.arithmetic).map_err(|f| fault(op, f))?;
            }
        }
        let slots = (0..shape.len()).collect();
        Ok(PreparedExpr::Table(Rc::new(StoredTable { shape, values }), slots))
    }

    fn materialize(&self, expr: &PreparedExpr, shape: &[u64], name: &str) -> Result<Vec<BoundedValue>, Error> {
        entry_count(shape, name)?;
        all_coordinates(shape).map(|coordinates| self.entry(expr, &coordinates)).collect()
    }

    /// Evaluates one entry.
    fn entry(&self, expr: &PreparedExpr, coordinates: &[u64]) -> Result<BoundedValue, Error> {
        Ok(match expr {
            PreparedExpr::Table(stored, slots) => {
                let offset =
                    stored.shape.iter().zip(slots).fold(0, |offset, (n, &slot)| offset * n + coordinates[slot]);
                stored.values[offset as usize].clone()
            }
            PreparedExpr::Literal(value) => value.clone(),
            PreparedExpr::Coordinate => {
                BoundedValue::from_scalar(&Scalar::I64(coordinates[0] as i64), self.arithmetic.mode)
            }
            PreparedExpr::MapJoin(op, signature, args) => {
                let arg = |(arg, slots): &(PreparedExpr, Vec<usize>)| self.entry(arg, &select(coordinates, slots));
                let args = args.iter().map(arg).collect::<Result<Vec<_>, _>>()?;
                apply(op, signature, &args, &self.arithmetic).map_err(|f| fault(op, f))?
            }
            PreparedExpr::Reorder(arg, slots) => self.entry(arg, &select(coordinates, slots))?,
            PreparedExpr::Fold(fold) => self.fold_entry(fold, coordinates)?,
            PreparedExpr::Scan(scan) => {
                let PreparedScan { op, signature, arg, along } = &**scan;
                let mut coordinates = coordinates.to_vec();
                let last = std::mem::take(&mut coordinates[*along]);
                let mut acc = self.entry(arg, &coordinates)?;
                for i in 1..=last {
                    coordinates[*along] = i;
                    let next = self.entry(arg, &coordinates)?;
                    acc = apply(op, signature, &[acc, next], &self.arithmetic).map_err(|f| fault(op, f))?;
                }
                acc
            }
            PreparedExpr::Index { arg, fields, reads, outside } => {
                let coordinate = |f: &Field| {
                    let slot = fields.iter().position(|g| g == f).expect("checked by inference");
                    coordinates[slot] as i64
                };
                let in_bounds: Option<Vec<u64>> = reads
                    .iter()
                    .map(|read| {
                        let i = u64::try_from(read.subscript.evaluate(&coordinate)).ok()?;
                        (read.size.is_none_or(|n| i < n)).then_some(i)
                    })
                    .collect();
                match (in_bounds, outside) {
                    (Some(coordinates), _) => self.entry(arg, &coordinates)?,
                    (None, Some(outside)) => outside.clone(),
                    (None, None) => unreachable!(
                        "inference proves that reads are in bounds if the map has no value for reads out of bounds"
                    ),
                }
            }
        })
    }

    /// Folds entries in ascending order of their reduced coordinates; the first reduced field is
    /// outermost.
    fn fold_entry(&self, fold: &PreparedFold, remaining: &[u64]) -> Result<BoundedValue, Error> {
        let mut coordinates = vec![0; fold.order.len()];
        remaining.iter().zip(&fold.order).for_each(|(&i, &k)| coordinates[k] = i);
        let mut acc = fold.init.clone();
        for reduced in all_coordinates(&fold.extents) {
            reduced.iter().zip(&fold.order[remaining.len()..]).for_each(|(&i, &k)| coordinates[k] = i);
            let next = self.entry(&fold.arg, &coordinates)?;
            acc = apply(&fold.op, &fold.signature, &[acc, next], &self.arithmetic).map_err(|f| fault(&fold.op, f))?;
        }
        Ok(acc)
    }
}

/// Binds an operator with cases to the fill values of its arguments; returns other operators
/// unchanged.
fn node_op(op: &Op, args: &[Expr]) -> Result<Op, Error> {
    if !op.has_cases() {
        return Ok(op.clone());
    }
    let fills: Vec<Scalar> = args.iter().map(|a| a.info().fill.clone()).collect();
    Ok(op.bind_fills(&fills)?)
}

fn select(coordinates: &[u64], slots: &[usize]) -> Vec<u64> {
    slots.iter().map(|&k| coordinates[k]).collect()
}

fn fault(op: &Op, fault: Fault) -> Error {
    Error::Fault { location: format!("an application of `{op}`"), fault }
}

/// Returns the number of entries of a shape; more than [`MAX_ENTRIES`] are an error.
fn entry_count(shape: &[u64], name: &str) -> Result<u64, Error> {
    let entries: u128 = if shape.contains(&0) {
        0
    } else {
        shape.iter().try_fold(1u128, |n, &d| n.checked_mul(u128::from(d))).unwrap_or(u128::MAX)
    };
    match u64::try_from(entries) {
        Ok(n) if n <= MAX_ENTRIES => Ok(n),
        _ => Err(Error::TooLarge { tensor: name.to_owned(), entries, limit: MAX_ENTRIES }),
    }
}

/// Iterates over all coordinates of a shape, row-major.
pub(super) fn all_coordinates(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
    let shape = shape.to_vec();
    let mut next = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
    std::iter::from_fn(move || {
        let current = next.clone()?;
        let mut coordinates = current.clone();
        next = None;
        for k in (0..shape.len()).rev() {
            coordinates[k] += 1;
            if coordinates[k] < shape[k] {
                next = Some(coordinates);
                break;
            }
            coordinates[k] = 0;
        }
        Some(current)
    })
}
