//! Evaluation of expressions, entry by entry. The results of aggregates, scans and queries are
//! stored; other nodes are evaluated at each read.

use super::apply::{Arithmetic, apply};
use super::value::Value;
use super::{Dense, Interpreted};
use crate::affine::Subscript;
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
const PLACES: u64 = 1 << 28;

/// The state of an evaluation: the tables computed so far.
pub(super) struct Machine {
    pub(super) arithmetic: Arithmetic,
    pub(super) tables: HashMap<Alias, Rc<Stored>>,
}

/// A stored table, row-major.
pub(super) struct Stored {
    pub(super) shape: Vec<u64>,
    pub(super) values: Vec<Value>,
}

/// An expression prepared for evaluation; coordinates are given in the order of its fields.
enum Ready {
    /// A table; mode k is read at the coordinate of field `slots[k]`.
    Table(Rc<Stored>, Vec<usize>),
    Literal(Value),
    Coordinate,
    /// An operator; each argument has the indices of its fields among those of the node.
    MapJoin(Op, Signature, Vec<(Ready, Vec<usize>)>),
    Reorder(Box<Ready>, Vec<usize>),
    Fold(Box<Fold>),
    Prefix(Box<Prefix>),
    Index {
        arg: Box<Ready>,
        fields: Vec<Field>,
        reads: Vec<Read>,
        outside: Option<Value>,
    },
}

/// An aggregate, evaluated at given coordinates.
struct Fold {
    op: Op,
    signature: Signature,
    init: Value,
    arg: Ready,
    /// Field indices of the argument: first the kept fields, then the reduced ones in the order of
    /// the node.
    order: Vec<usize>,
    /// Sizes of the reduced fields.
    extents: Vec<u64>,
}

/// A scan, evaluated at given coordinates.
struct Prefix {
    op: Op,
    signature: Signature,
    arg: Ready,
    along: usize,
}

/// The subscript at which a field of an indexed table is read, and the size of the field if known.
struct Read {
    at: Subscript,
    size: Option<u64>,
}

impl Machine {
    /// Evaluates all entries of a query.
    pub(super) fn query(&self, query: &Query) -> Result<Interpreted, Error> {
        let ty = query.result_type()?;
        let ready = self.ready(&query.expr)?;
        let values = self.store(&ready, &ty.shape, &query.alias)?;
        Ok(Interpreted {
            fields: query.expr.info().fields.clone(),
            shape: ty.shape,
            dtype: ty.dtype,
            fill: ty.fill,
            mode: self.arithmetic.mode,
            may_fault: self.arithmetic.may_fault.get(),
            values,
        })
    }

    /// Checks the values of an input against the type in the plan.
    pub(super) fn input(&self, alias: &Alias, ty: &TensorType, data: &Dense) -> Result<Stored, Error> {
        let wrong = |what: String| Err(Error::Input { alias: alias.clone(), what });
        if data.shape != ty.shape {
            return wrong(format!("it has shape {:?}, the plan expects {:?}", data.shape, ty.shape));
        }
        let places = places(&data.shape, alias.as_str())?;
        if data.values.len() as u64 != places {
            return wrong(format!("it has {} values for {places} places", data.values.len()));
        }
        if let Some(value) = data.values.iter().find(|v| v.dtype() != ty.dtype) {
            return wrong(format!("it holds a value of dtype {}, the plan expects {}", value.dtype(), ty.dtype));
        }
        let values = data.values.iter().map(|v| Value::given(v, self.arithmetic.mode)).collect();
        Ok(Stored { shape: data.shape.clone(), values })
    }

    fn ready(&self, expr: &Expr) -> Result<Ready, Error> {
        let info = expr.info();
        let slots = |of: &[Field], among: &[Field]| -> Vec<usize> {
            let slot = |f| among.iter().position(|g| g == f).expect("the fields of an argument are known to the node");
            of.iter().map(slot).collect()
        };
        Ok(match expr.node() {
            Node::Table { tensor, fields, .. } => {
                let stored = self.tables.get(tensor).ok_or_else(|| Error::Input {
                    alias: tensor.clone(),
                    what: "the plan reads it, but it is not given".to_owned(),
                })?;
                Ready::Table(stored.clone(), slots(fields, &info.fields))
            }
            Node::Literal(value) => Ready::Literal(Value::given(value, self.arithmetic.mode)),
            Node::Coordinate(_) => Ready::Coordinate,
            Node::MapJoin { op, args } => {
                let dtypes: Vec<_> = args.iter().map(|a| a.info().dtype.clone()).collect();
                let ready = |a: &Expr| Ok((self.ready(a)?, slots(&a.info().fields, &info.fields)));
                Ready::MapJoin(
                    node_op(op, args)?,
                    op.signature(&dtypes)?,
                    args.iter().map(ready).collect::<Result<_, Error>>()?,
                )
            }
            Node::Aggregate { op, init, arg, fields } => {
                self.stored_if_sized(self.fold(op, init, arg, fields)?, &info.dimensions)?
            }
            Node::Scan { op, arg, field } => self.scan(op, arg, field)?,
            Node::Reorder { arg, fields } => {
                Ready::Reorder(Box::new(self.ready(arg)?), slots(&arg.info().fields, fields))
            }
            Node::Relabel { arg, .. } | Node::Reformat { arg, .. } | Node::Refill { arg, .. } => self.ready(arg)?,
            Node::Index { map, arg } => self.index(map, arg, &info.fields)?,
        })
    }

    fn index(&self, map: &IndexMap, arg: &Expr, fields: &[Field]) -> Result<Ready, Error> {
        let read = |(field, &size): (&Field, &Option<u64>)| {
            let mapped = map.coordinates.iter().find(|(f, _)| f == field);
            Read { at: mapped.map_or_else(|| Subscript::field(field.clone()), |(_, at)| at.clone()), size }
        };
        Ok(Ready::Index {
            arg: Box::new(self.ready(arg)?),
            fields: fields.to_vec(),
            reads: arg.info().fields.iter().zip(&arg.info().dimensions).map(read).collect(),
            outside: map.outside.as_ref().map(|v| Value::given(v, self.arithmetic.mode)),
        })
    }

    fn fold(&self, op: &Op, init: &Scalar, arg: &Expr, reduced: &[Field]) -> Result<Ready, Error> {
        let info = arg.info();
        let position = |f: &Field| info.fields.iter().position(|g| g == f).expect("checked by inference");
        let kept = (0..info.fields.len()).filter(|&k| !reduced.contains(&info.fields[k]));
        let order: Vec<usize> = kept.chain(reduced.iter().map(position)).collect();
        let extents: Vec<u64> = reduced.iter().map(|f| info.dimension(f).expect("checked by inference")).collect();
        places(&extents, "the extent of an aggregate")?;
        let signature = op.signature(&[info.dtype.clone(), info.dtype.clone()])?;
        let init = Value::given(init, self.arithmetic.mode);
        Ok(Ready::Fold(Box::new(Fold { op: op.clone(), signature, init, arg: self.ready(arg)?, order, extents })))
    }

    /// Stores the table if its sizes are known here; otherwise it is evaluated at each read.
    fn stored_if_sized(&self, ready: Ready, dimensions: &[Option<u64>]) -> Result<Ready, Error> {
        let Some(shape) = dimensions.iter().copied().collect::<Option<Vec<u64>>>() else { return Ok(ready) };
        let values = self.store(&ready, &shape, &Alias::from("an aggregate"))?;
        let slots = (0..shape.len()).collect();
        Ok(Ready::Table(Rc::new(Stored { shape, values }), slots))
    }

    fn scan(&self, op: &Op, arg: &Expr, field: &Field) -> Result<Ready, Error> {
        let info = arg.info();
        let along = info.fields.iter().position(|f| f == field).expect("checked by inference");
        let signature = op.signature(&[info.dtype.clone(), info.dtype.clone()])?;
        let ready = self.ready(arg)?;
        let Some(shape) = info.shape() else {
            return Ok(Ready::Prefix(Box::new(Prefix { op: op.clone(), signature, arg: ready, along })));
        };
        let mut values = self.store(&ready, &shape, &Alias::from("a scan"))?;
        let stride: usize = shape[along + 1..].iter().product::<u64>() as usize;
        for k in 0..values.len() {
            if !(k / stride).is_multiple_of(shape[along] as usize) {
                let pair = [values[k - stride].clone(), values[k].clone()];
                values[k] = apply(op, &signature, &pair, &self.arithmetic).map_err(|f| fault(op, f))?;
            }
        }
        let slots = (0..shape.len()).collect();
        Ok(Ready::Table(Rc::new(Stored { shape, values }), slots))
    }

    fn store(&self, ready: &Ready, shape: &[u64], what: &Alias) -> Result<Vec<Value>, Error> {
        places(shape, what.as_str())?;
        all_places(shape).map(|place| self.at(ready, &place)).collect()
    }

    /// Evaluates one entry.
    fn at(&self, ready: &Ready, place: &[u64]) -> Result<Value, Error> {
        Ok(match ready {
            Ready::Table(stored, slots) => {
                let at = stored.shape.iter().zip(slots).fold(0, |at, (n, &slot)| at * n + place[slot]);
                stored.values[at as usize].clone()
            }
            Ready::Literal(value) => value.clone(),
            Ready::Coordinate => Value::given(&Scalar::I64(place[0] as i64), self.arithmetic.mode),
            Ready::MapJoin(op, signature, args) => {
                let arg = |(arg, slots): &(Ready, Vec<usize>)| self.at(arg, &pick(place, slots));
                let args = args.iter().map(arg).collect::<Result<Vec<_>, _>>()?;
                apply(op, signature, &args, &self.arithmetic).map_err(|f| fault(op, f))?
            }
            Ready::Reorder(arg, slots) => self.at(arg, &pick(place, slots))?,
            Ready::Fold(fold) => self.fold_at(fold, place)?,
            Ready::Prefix(prefix) => {
                let Prefix { op, signature, arg, along } = &**prefix;
                let mut at = place.to_vec();
                at[*along] = 0;
                let mut acc = self.at(arg, &at)?;
                for i in 1..=place[*along] {
                    at[*along] = i;
                    let next = self.at(arg, &at)?;
                    acc = apply(op, signature, &[acc, next], &self.arithmetic).map_err(|f| fault(op, f))?;
                }
                acc
            }
            Ready::Index { arg, fields, reads, outside } => {
                let coordinate = |f: &Field| {
                    let slot = fields.iter().position(|g| g == f).expect("checked by inference");
                    place[slot] as i64
                };
                let at: Option<Vec<u64>> = reads
                    .iter()
                    .map(|read| {
                        let at = u64::try_from(read.at.evaluate(&coordinate)).ok()?;
                        (read.size.is_none_or(|n| at < n)).then_some(at)
                    })
                    .collect();
                match (at, outside) {
                    (Some(at), _) => self.at(arg, &at)?,
                    (None, Some(outside)) => outside.clone(),
                    (None, None) => unreachable!("inference proves reads without a value outside in bounds"),
                }
            }
        })
    }

    /// Folds ascending coordinates, with the first reduced field outermost.
    fn fold_at(&self, fold: &Fold, kept: &[u64]) -> Result<Value, Error> {
        let mut place = vec![0; fold.order.len()];
        kept.iter().zip(&fold.order).for_each(|(&i, &k)| place[k] = i);
        let mut acc = fold.init.clone();
        for at in all_places(&fold.extents) {
            at.iter().zip(&fold.order[kept.len()..]).for_each(|(&i, &k)| place[k] = i);
            let next = self.at(&fold.arg, &place)?;
            acc = apply(&fold.op, &fold.signature, &[acc, next], &self.arithmetic).map_err(|f| fault(&fold.op, f))?;
        }
        Ok(acc)
    }
}

/// Binds an operator with cases to the fill values of its arguments.
fn node_op(op: &Op, args: &[Expr]) -> Result<Op, Error> {
    if !op.has_cases() {
        return Ok(op.clone());
    }
    let fills: Vec<Scalar> = args.iter().map(|a| a.info().fill.clone()).collect();
    Ok(op.bound_to(&fills)?)
}

fn pick(place: &[u64], slots: &[usize]) -> Vec<u64> {
    slots.iter().map(|&k| place[k]).collect()
}

fn fault(op: &Op, fault: Fault) -> Error {
    Error::Fault { place: format!("an application of `{op}`"), fault }
}

/// Returns the number of entries of a shape.
fn places(shape: &[u64], what: &str) -> Result<u64, Error> {
    let places: u128 = if shape.contains(&0) {
        0
    } else {
        shape.iter().try_fold(1u128, |n, &d| n.checked_mul(u128::from(d))).unwrap_or(u128::MAX)
    };
    match u64::try_from(places) {
        Ok(n) if n <= PLACES => Ok(n),
        _ => Err(Error::TooLarge { what: format!("`{what}`"), places, limit: PLACES }),
    }
}

/// Iterates over all coordinates of a shape, row-major.
pub(super) fn all_places(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
    let shape = shape.to_vec();
    let mut next = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
    std::iter::from_fn(move || {
        let current = next.clone()?;
        let mut place = current.clone();
        next = None;
        for k in (0..shape.len()).rev() {
            place[k] += 1;
            if place[k] < shape[k] {
                next = Some(place);
                break;
            }
            place[k] = 0;
        }
        Some(current)
    })
}
