//! Shared parts of readers and writers: a check of the length of a file, the sparse entries and
//! dense elements of a tensor, and numbers as text.

use crate::content::{Content, Data, element_count};
use crate::error::{Count, Fault};
use crate::memory::{Memory, bytes_of};
use crate::values::Values;
use redpoll_logic::{Scalar, plural};
use std::borrow::Cow;
use std::fmt;

/// Coordinates, one vector per mode, and values.
pub(crate) type SparseEntries<'a> = (Cow<'a, [Vec<u64>]>, Cow<'a, Values>);

/// Returns the entries of a tensor for a file with fill value zero: the stored entries, or the
/// nonzero elements of a dense tensor. Stored `false` is dropped, because Matrix Market files and
/// edge lists have no values for booleans.
///
/// # Errors
/// Fails if the entries are sparse with a fill value other than zero, or the memory limit is
/// exceeded.
pub(crate) fn entries<'a>(content: &'a Content, file: &str, memory: &Memory) -> Result<SparseEntries<'a>, Fault> {
    match &content.data {
        Data::Dense(values) => {
            let (coordinates, values) = entries_of_dense(&content.shape, values, memory)?;
            Ok((Cow::Owned(coordinates), Cow::Owned(values)))
        }
        Data::Triples { coordinates, values } => {
            if content.fill != Scalar::zero(content.prim()) {
                let content = format!("the fill value {} in a {file} file, whose missing entries are 0", content.fill);
                let hint = "write it as .rpt or .npz, or write all elements, as in .npy";
                return Err(Fault::unsupported(content, hint));
            }
            let Values::Bool(v) = values else { return Ok((Cow::Borrowed(coordinates), Cow::Borrowed(values))) };
            memory.charge("entries", bytes_of(v.len(), (content.shape.len() + 2) * size_of::<u64>()))?;
            let indices: Vec<usize> = (0..v.len()).filter(|&k| v[k]).collect();
            let coordinates = coordinates.iter().map(|c| indices.iter().map(|&k| c[k]).collect()).collect();
            Ok((Cow::Owned(coordinates), Cow::Owned(values.gather(&indices))))
        }
    }
}

/// Checks that the number of bytes after a header is the number of bytes of the elements.
/// `expected` is `None` if the elements have 2^64 or more bytes.
pub(crate) fn check_element_bytes(expected: Option<u64>, found: u64) -> Result<(), Fault> {
    match expected {
        Some(expected) if expected == found => Ok(()),
        Some(expected) if expected < found => Err(Fault::malformed(
            format!("the end of the file after {expected} {} of elements", plural(expected, "byte", "bytes")),
            format!("{} more {}", found - expected, plural(found - expected, "byte", "bytes")),
        )),
        _ => Err(Fault::Truncated { content: "elements", expected: Count(expected), found }),
    }
}

/// Returns the entries and the fill value of a tensor, for a file that has a fill value. The
/// entries of a dense tensor are its nonzero elements, with the fill value zero.
///
/// # Errors
/// Fails if the memory limit is exceeded.
pub(crate) fn entries_with_fill<'a>(
    content: &'a Content,
    memory: &Memory,
) -> Result<(SparseEntries<'a>, Scalar), Fault> {
    match &content.data {
        Data::Dense(values) => {
            let (coordinates, values) = entries_of_dense(&content.shape, values, memory)?;
            Ok(((Cow::Owned(coordinates), Cow::Owned(values)), Scalar::zero(content.prim())))
        }
        Data::Triples { coordinates, values } => {
            Ok(((Cow::Borrowed(coordinates), Cow::Borrowed(values)), content.fill.clone()))
        }
    }
}

/// Returns whether each mode has an entry at its last coordinate.
pub(crate) fn determines_shape(coordinates: &[Vec<u64>], shape: &[u64]) -> bool {
    coordinates.iter().zip(shape).all(|(c, &d)| c.iter().max().is_some_and(|&last| last + 1 == d))
}

/// Returns the entries of a row-major tensor that are not zero (`-0.0` and NaN are kept).
///
/// # Errors
/// Fails if the memory limit is exceeded.
pub(crate) fn entries_of_dense(
    shape: &[u64],
    values: &Values,
    memory: &Memory,
) -> Result<(Vec<Vec<u64>>, Values), Fault> {
    let zero = Scalar::zero(values.prim());
    let is_nonzero = |k: &usize| values.get(*k) != zero;
    let count = (0..values.len()).filter(is_nonzero).count();
    memory.charge("entries", bytes_of(count, (shape.len() + 1) * size_of::<u64>() + values.prim().bytes()))?;
    let mut indices: Vec<usize> = Vec::with_capacity(count);
    indices.extend((0..values.len()).filter(is_nonzero));
    let mut coordinates = vec![Vec::with_capacity(indices.len()); shape.len()];
    for &index in &indices {
        let mut rest = index as u64;
        for (mode, &dimension) in shape.iter().enumerate().rev() {
            coordinates[mode].push(rest % dimension);
            rest /= dimension;
        }
    }
    Ok((coordinates, values.gather(&indices)))
}

/// Returns all elements of a tensor, row-major.
///
/// # Errors
/// Fails if the memory limit is exceeded.
pub(crate) fn dense<'a>(content: &'a Content, memory: &Memory) -> Result<Cow<'a, Values>, Fault> {
    let Data::Triples { coordinates, values } = &content.data else { return Ok(Cow::Borrowed(content.data.values())) };
    let count = element_count(&content.shape);
    let too_large =
        || Fault::TooLarge { quantity: "the number of elements", size: Count(count), limit: isize::MAX as u64 };
    let count = count.and_then(|n| usize::try_from(n).ok()).ok_or_else(too_large)?;
    let position = |k: usize| {
        let horner = |at: u64, (c, &d): (&Vec<u64>, &u64)| at * d + c[k];
        coordinates.iter().zip(&content.shape).fold(0, horner) as usize
    };
    let fill = &content.fill;
    macro_rules! scatter {
        ($($variant:ident),*) => {
            match (values, fill) {
                $((Values::$variant(v), Scalar::$variant(fill)) => {
                    let mut all = memory.allocate("all elements", count)?;
                    all.resize(count, *fill);
                    for (k, &x) in v.iter().enumerate() {
                        all[position(k)] = x;
                    }
                    Values::$variant(all)
                })*
                (v, fill) => unreachable!("a fill value {fill} of a tensor of {}", v.prim()),
            }
        };
    }
    Ok(Cow::Owned(scatter!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64)))
}

/// A number formatted as text that parses to the same value in C, Fortran and Python, with the
/// fewest significant digits. Booleans are 1 and 0.
pub(crate) struct NumberText<T>(pub(crate) T);

macro_rules! integer_text {
    ($($t:ty),*) => {$(
        impl fmt::Display for NumberText<$t> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
integer_text!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! float_text {
    ($($t:ty),*) => {$(
        impl fmt::Display for NumberText<$t> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if self.0.is_nan() { f.write_str("nan") } else { write!(f, "{:?}", self.0) }
            }
        }
    )*};
}
float_text!(f32, f64);

impl fmt::Display for NumberText<bool> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "1" } else { "0" })
    }
}
