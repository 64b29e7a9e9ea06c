//! Writer of matrices.
//!
//! The field depends on the dtype. Floats are `real`. Integers are `integer`, or `unsigned-integer`
//! if a value exceeds 2^63 - 1. SciPy reads `unsigned-integer`; older readers do not. Booleans are
//! `pattern` in coordinate layout and `integer` in array layout.
//!
//! Numbers have the fewest digits that identify them in their dtype. The text of an `f32` gives the
//! same value when it is read as `f32`. Read as `f64`, it gives the `f64` nearest to the text,
//! which may be another value.

use super::super::shared::{self, NumberText};
use crate::content::{Content, Layout, Symmetry};
use crate::error::{Fault, WriteError};
use crate::file_format::WriteOptions;
use crate::memory::bytes_of;
use crate::values::{Values, match_values};
use redpoll_logic::Scalar;
use std::collections::HashMap;
use std::io::Write;

pub(super) fn write(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    if content.shape.len() != 2 {
        let content =
            format!("a tensor of rank {} in a Matrix Market file, which stores matrices", content.shape.len());
        return Err(Fault::unsupported(content, "write it as .tns or .npy").into());
    }
    let default_layout = if content.layout == Layout::Array { Layout::Array } else { Layout::Coordinate };
    match options.layout.unwrap_or(default_layout) {
        Layout::Coordinate => coordinate(content, options, out),
        Layout::Array => array(content, options, out),
        other => {
            let content = format!("the layout {other} in a Matrix Market file");
            Err(Fault::unsupported(content, "choose coordinate or array").into())
        }
    }
}

fn field(values: &Values, layout: Layout) -> &'static str {
    match values {
        Values::Bool(_) if layout == Layout::Coordinate => "pattern",
        Values::F32(_) | Values::F64(_) => "real",
        Values::U64(v) if v.iter().any(|&x| i64::try_from(x).is_err()) => "unsigned-integer",
        _ => "integer",
    }
}

/// Returns whether a file of this symmetry contains the entry at this row and column.
fn is_written(symmetry: Symmetry, row: u64, column: u64) -> bool {
    match symmetry {
        Symmetry::General => true,
        Symmetry::Symmetric => row >= column,
        Symmetry::SkewSymmetric => row > column,
    }
}

fn coordinate(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    let symmetry = options.symmetry;
    let (coordinates, values) = shared::entries(content, "Matrix Market coordinate", &options.memory)?;
    let (i, j) = (&coordinates[0], &coordinates[1]);
    check_symmetry(content, options, (i, j), &values)?;
    let (rows, columns) = (content.shape[0], content.shape[1]);
    let written = i.iter().zip(j).filter(|&(&i, &j)| is_written(symmetry, i, j)).count();
    let field = field(&values, Layout::Coordinate);
    writeln!(out, "%%MatrixMarket matrix coordinate {field} {symmetry}\n{rows} {columns} {written}")?;
    let entries = i.iter().zip(j);
    match_values!(&*values, v => for ((&i, &j), x) in entries.zip(v).filter(|&((&i, &j), _)| is_written(symmetry, i, j)) {
        match field {
            "pattern" => writeln!(out, "{} {}", i + 1, j + 1)?,
            _ => writeln!(out, "{} {} {}", i + 1, j + 1, NumberText(*x))?,
        }
    });
    Ok(())
}

fn array(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    let symmetry = options.symmetry;
    let values = shared::dense(content, &options.memory)?;
    let (rows, columns) = (content.shape[0], content.shape[1]);
    if symmetry != Symmetry::General {
        let (coordinates, stored) = shared::entries_of_dense(&content.shape, &values, &options.memory)?;
        check_symmetry(content, options, (&coordinates[0], &coordinates[1]), &stored)?;
    }
    let field = field(&values, Layout::Array);
    writeln!(out, "%%MatrixMarket matrix array {field} {symmetry}\n{rows} {columns}")?;
    if values.is_empty() {
        return Ok(());
    }
    match_values!(&*values, v => for j in 0..columns {
        for i in (0..rows).filter(|&i| is_written(symmetry, i, j)) {
            writeln!(out, "{}", NumberText(v[(i * columns + j) as usize]))?;
        }
    });
    Ok(())
}

/// Checks that the matrix has the requested symmetry.
fn check_symmetry(
    content: &Content,
    options: &WriteOptions,
    (i, j): (&[u64], &[u64]),
    values: &Values,
) -> Result<(), WriteError> {
    let symmetry = options.symmetry;
    if symmetry == Symmetry::General {
        return Ok(());
    }
    let asymmetry_fault = |i: u64, j: u64| {
        let content = match i == j {
            true => format!("a {symmetry} file of a matrix with the diagonal entry ({i}, {i})"),
            false => format!("a {symmetry} file of a matrix whose elements ({i}, {j}) and ({j}, {i}) disagree"),
        };
        WriteError::from(Fault::unsupported(content, "write it as general"))
    };
    if content.shape[0] != content.shape[1] {
        let content = format!("a {symmetry} file of a matrix of shape {} x {}", content.shape[0], content.shape[1]);
        return Err(Fault::unsupported(content, "write it as general").into());
    }
    if symmetry == Symmetry::SkewSymmetric
        && !matches!(values, Values::F64(_) | Values::F32(_))
        && !values.prim().is_signed()
    {
        let content = format!("a skew-symmetric file of a matrix of {}", values.prim());
        return Err(Fault::unsupported(content, "write it as general").into());
    }
    // Coordinates and index of each entry, in a hash table that reserves up to twice its size.
    options.memory.charge("a table of all entries", bytes_of(i.len(), 64))?;
    let indices: HashMap<(u64, u64), usize> = i.iter().zip(j).enumerate().map(|(k, (&i, &j))| ((i, j), k)).collect();
    let zero = Scalar::zero(values.prim());
    for (k, (&i, &j)) in i.iter().zip(j).enumerate() {
        let symmetric = match (indices.get(&(j, i)), symmetry) {
            // An element that is not stored is zero.
            (None, _) => values.get(k) == zero,
            (Some(_), Symmetry::SkewSymmetric) if i == j => values.get(k) == zero,
            (Some(&mirror), Symmetry::SkewSymmetric) => are_negatives(values, k, mirror),
            (Some(&mirror), _) => values.get(k) == values.get(mirror),
        };
        if !symmetric {
            return Err(asymmetry_fault(i, j));
        }
    }
    Ok(())
}

fn are_negatives(values: &Values, k: usize, mirror: usize) -> bool {
    let (a, b) = (values.get(k), values.get(mirror));
    match (a.to_i128(), b.to_i128()) {
        (Some(a), Some(b)) => a == -b,
        _ => a.to_f64().map(|a| -a) == b.to_f64(),
    }
}
