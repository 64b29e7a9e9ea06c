//! Inference of the fields, dimensions, dtype and fill value of a node from the properties of its
//! arguments.

use super::fold::{aggregate_fill, fold_dtype};
use super::index::infer_index;
use super::{Expr, Info, Node};
use crate::dtype::DType;
use crate::error::{Error, plural};
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::mode::FloatMode;
use crate::op::{Op, cast_to};
use crate::scalar::Scalar;

/// Infers the properties of a node with well-formed arguments; the fill value is computed in the
/// float mode `mode`.
///
/// # Errors
/// Returns an error if the node is not well-formed.
pub(crate) fn infer(node: &Node, mode: FloatMode) -> Result<Info, Error> {
    match node {
        Node::Table { tensor, ty, fields } => table(tensor, ty, fields),
        Node::Literal(value) => Ok(Info {
            fields: Vec::new(),
            dimensions: Vec::new(),
            dtype: value.dtype(),
            fill: value.clone(),
            weak: false,
        }),
        Node::Coordinate(field) => Ok(Info {
            fields: vec![field.clone()],
            dimensions: vec![None],
            dtype: DType::I64,
            fill: Scalar::I64(0),
            weak: false,
        }),
        Node::MapJoin { op, args } => mapjoin(op, args, mode),
        Node::Aggregate { op, init, arg, fields } => aggregate(op, init, arg, fields, mode),
        Node::Scan { op, arg, field } => scan(op, arg, field),
        Node::Reorder { arg, fields } => reorder(arg, fields),
        Node::Relabel { arg, fields } => relabel(arg, fields),
        Node::Index { map, arg } => infer_index(map, arg),
        Node::Reformat { format, arg } => {
            let info = arg.info();
            // Unknown sizes count as 0 here; the verifier reports sizes that stay unknown.
            let shape = info.dimensions.iter().map(|d| d.unwrap_or(0)).collect();
            let (dtype, fill) = (info.dtype.clone(), info.fill.clone());
            TensorType { shape, dtype, fill, format: format.clone() }.validate()?;
            Ok(Info { weak: false, ..info.clone() })
        }
        Node::Refill { fill, arg, .. } => Ok(Info { fill: fill.clone(), weak: false, ..arg.info().clone() }),
    }
}

fn table(tensor: &Alias, ty: &TensorType, fields: &[Field]) -> Result<Info, Error> {
    let rank = ty.shape.len();
    if fields.len() != rank {
        let expected = format!("{rank} {}, one per mode of `{tensor}`", plural(rank as u64, "field", "fields"));
        return Err(Error::Fields { node: "table", found: fields.to_vec(), expected });
    }
    let mut info = Info {
        fields: Vec::new(),
        dimensions: Vec::new(),
        dtype: ty.dtype.clone(),
        fill: ty.fill.clone(),
        weak: false,
    };
    for (mode, (field, &size)) in fields.iter().zip(&ty.shape).enumerate() {
        if i64::try_from(size).is_err() {
            let problem = format!("mode {mode} has size {size}, above the limit 2^63 - 1");
            return Err(Error::Input { alias: tensor.clone(), problem });
        }
        match info.fields.iter().position(|f| f == field) {
            None => {
                info.fields.push(field.clone());
                info.dimensions.push(Some(size));
            }
            Some(k) if info.dimensions[k] == Some(size) => {}
            Some(k) => {
                let first = fields.iter().position(|f| f == field).unwrap_or(0);
                return Err(Error::Dimensions {
                    field: field.clone(),
                    first: (info.dimensions[k].unwrap_or(0), format!("mode {first} of `{tensor}`")),
                    second: (size, format!("mode {mode} of `{tensor}`")),
                });
            }
        }
    }
    Ok(info)
}

fn mapjoin(op: &Op, args: &[Expr], mode: FloatMode) -> Result<Info, Error> {
    let dtypes: Vec<DType> = args.iter().map(|a| a.info().dtype.clone()).collect();
    let signature = op.signature(&dtypes)?;
    let fills: Vec<Scalar> = args.iter().zip(&signature.args).map(|(a, t)| cast_to(&a.info().fill, t)).collect();
    let fill = op
        .bind_fills(&fills)?
        .eval_in(&fills, mode)
        .map_err(|fault| Error::Fault { location: format!("the fill value of (mapjoin {op} ..)"), fault })?;
    let mut info = Info { fields: Vec::new(), dimensions: Vec::new(), dtype: signature.result, fill, weak: false };
    for (position, arg) in args.iter().enumerate() {
        for (field, &size) in arg.info().fields.iter().zip(&arg.info().dimensions) {
            let Some(k) = info.fields.iter().position(|f| f == field) else {
                info.fields.push(field.clone());
                info.dimensions.push(size);
                continue;
            };
            match (info.dimensions[k], size) {
                (None, _) => info.dimensions[k] = size,
                (Some(_), None) => {}
                (Some(first), Some(second)) if first == second => {}
                (Some(first), Some(second)) => {
                    let earlier = args[..position].iter().find(|a| a.info().dimension(field) == Some(first));
                    return Err(Error::Dimensions {
                        field: field.clone(),
                        first: (first, earlier.map_or_else(String::new, |a| size_origin(a, field))),
                        second: (second, size_origin(arg, field)),
                    });
                }
            }
        }
    }
    Ok(info)
}

fn aggregate(op: &Op, init: &Scalar, arg: &Expr, fields: &[Field], mode: FloatMode) -> Result<Info, Error> {
    check_fold("aggregate", op, arg, fields)?;
    if init.dtype() != arg.info().dtype {
        return Err(Error::Value {
            role: "initial value",
            value: init.to_string(),
            dtype: arg.info().dtype.clone(),
            advice: "give a value of that dtype",
        });
    }
    let fill = aggregate_fill(op, init, arg, fields, mode)?;
    let is_remaining = |k: &usize| !fields.contains(&arg.info().fields[*k]);
    let remaining: Vec<usize> = (0..arg.info().fields.len()).filter(is_remaining).collect();
    Ok(Info {
        fields: remaining.iter().map(|&k| arg.info().fields[k].clone()).collect(),
        dimensions: remaining.iter().map(|&k| arg.info().dimensions[k]).collect(),
        dtype: arg.info().dtype.clone(),
        fill,
        weak: false,
    })
}

fn scan(op: &Op, arg: &Expr, field: &Field) -> Result<Info, Error> {
    check_fold("scan", op, arg, std::slice::from_ref(field))?;
    let dtype = &arg.info().dtype;
    if !op.is_associative(dtype, FloatMode::Relaxed) {
        return Err(Error::Fold {
            op: op.name().to_owned(),
            node: "scan",
            dtype: dtype.clone(),
            reason: "it is not associative for this dtype".to_owned(),
        });
    }
    Ok(Info { weak: false, ..arg.info().clone() })
}

fn check_fold(node: &'static str, op: &Op, arg: &Expr, fields: &[Field]) -> Result<(), Error> {
    for (k, field) in fields.iter().enumerate() {
        if !arg.info().fields.contains(field) {
            return Err(Error::MissingField { node, field: field.clone(), fields: arg.info().fields.clone() });
        }
        if fields[..k].contains(field) {
            return Err(Error::Fields { node, found: fields.to_vec(), expected: "each field once".to_owned() });
        }
    }
    if op.has_cases() {
        return Err(Error::Fold {
            op: op.name().to_owned(),
            node,
            dtype: arg.info().dtype.clone(),
            reason: "it has cases that depend on which arguments are stored; use an operator without cases".to_owned(),
        });
    }
    let dtype = fold_dtype(op, &arg.info().dtype, node)?;
    if dtype == arg.info().dtype {
        return Ok(());
    }
    Err(Error::Fold {
        op: op.name().to_owned(),
        node,
        dtype: arg.info().dtype.clone(),
        reason: format!("it folds values of dtype {dtype}; cast the values first"),
    })
}

fn reorder(arg: &Expr, fields: &[Field]) -> Result<Info, Error> {
    let info = arg.info();
    let invalid = || Error::Fields {
        node: "reorder",
        found: fields.to_vec(),
        expected: format!("the fields {} in any order", field_list(&info.fields)),
    };
    if fields.len() != info.fields.len() {
        return Err(invalid());
    }
    let dimensions = fields.iter().enumerate().map(|(k, field)| {
        let position = info.fields.iter().position(|f| f == field).filter(|_| !fields[..k].contains(field));
        position.map(|position| info.dimensions[position]).ok_or_else(invalid)
    });
    Ok(Info { fields: fields.to_vec(), dimensions: dimensions.collect::<Result<_, _>>()?, weak: false, ..info.clone() })
}

fn relabel(arg: &Expr, fields: &[Field]) -> Result<Info, Error> {
    let info = arg.info();
    let distinct = fields.iter().enumerate().all(|(k, f)| !fields[..k].contains(f));
    if fields.len() != info.fields.len() || !distinct {
        let expected = format!("distinct names for the fields {}", field_list(&info.fields));
        return Err(Error::Fields { node: "relabel", found: fields.to_vec(), expected });
    }
    Ok(Info { fields: fields.to_vec(), weak: false, ..info.clone() })
}

fn field_list(fields: &[Field]) -> String {
    format!("({})", fields.iter().map(Field::as_str).collect::<Vec<_>>().join(" "))
}

/// Describes the modes of tensors, and the index maps, that give a field of an expression its size.
fn size_origin(expr: &Expr, field: &Field) -> String {
    let mut origins = Vec::new();
    collect_size_origins(expr, field, &mut origins);
    origins.join(" and ")
}

fn collect_size_origins(expr: &Expr, field: &Field, origins: &mut Vec<String>) {
    if expr.info().dimension(field).is_none() {
        return;
    }
    let mut add = |origin: String| {
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    };
    match expr.node() {
        Node::Table { tensor, fields, .. } => {
            let mode = fields.iter().position(|f| f == field).expect("the size of a field is that of a mode");
            add(format!("mode {mode} of `{tensor}`"));
        }
        Node::Index { map, arg } if map.dimensions.iter().any(|(introduced, _)| introduced == field) => {
            let read: Vec<String> = arg.tables().iter().map(|tensor| format!("`{tensor}`")).collect();
            add(if read.is_empty() { "an index map".to_owned() } else { format!("a part of {}", read.join(" and ")) });
        }
        Node::Literal(_) | Node::Coordinate(_) => {}
        Node::MapJoin { args, .. } => args.iter().for_each(|a| collect_size_origins(a, field, origins)),
        Node::Aggregate { arg, .. }
        | Node::Scan { arg, .. }
        | Node::Reorder { arg, .. }
        | Node::Reformat { arg, .. }
        | Node::Refill { arg, .. }
        | Node::Index { arg, .. } => collect_size_origins(arg, field, origins),
        Node::Relabel { arg, fields } => {
            if let Some(k) = fields.iter().position(|f| f == field) {
                collect_size_origins(arg, &arg.info().fields[k], origins);
            }
        }
    }
}
