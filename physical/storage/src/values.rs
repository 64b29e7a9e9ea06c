//! Columns of values: one array for each primitive of a dtype.

use super::array::{Array, Element, match_width, prim_bits, reserved_vec};
use crate::Error;
use arrow_buffer::ArrowNativeType;
use redpoll_logic::{DType, Prim, Scalar};

/// A list of values of one dtype. A struct is stored as one column for each of its primitives,
/// depth first.
#[derive(Clone, Debug)]
pub struct Values {
    dtype: DType,
    len: usize,
    columns: Vec<Array>,
}

impl Values {
    /// Returns values from columns, one for each primitive of the dtype, all of the same length.
    ///
    /// # Errors
    /// When the number, types or lengths of the columns do not match, or booleans are not 0 or 1.
    pub fn try_new(dtype: DType, columns: Vec<Array>) -> Result<Values, Error> {
        let prims = dtype.prims();
        let found: Vec<Prim> = columns.iter().map(Array::prim).collect();
        if prims != found {
            let names = |prims: &[Prim]| prims.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
            let (expected, found) = (names(&prims), names(&found));
            return Err(Error::InvalidTriples(format!(
                "values of dtype {dtype} need columns of {expected}, found {found}"
            )));
        }
        let len = columns.first().map_or(0, Array::len);
        if let Some(k) = columns.iter().position(|c| c.len() != len) {
            let other = columns[k].len();
            return Err(Error::InvalidTriples(format!("column 0 has {len} values, but column {k} has {other}")));
        }
        check_bools(&columns, len).map_err(Error::InvalidTriples)?;
        Ok(Values { dtype, len, columns })
    }

    /// Returns values from scalars of one dtype.
    ///
    /// # Errors
    /// When a scalar has another dtype.
    pub fn from_scalars(dtype: DType, scalars: &[Scalar]) -> Result<Values, Error> {
        if let Some(k) = scalars.iter().position(|s| s.dtype() != dtype) {
            let found = scalars[k].dtype();
            return Err(Error::DTypeMismatch { what: format!("value {k}"), expected: dtype, found });
        }
        let prims = dtype.prims();
        let mut bits = vec![Vec::with_capacity(scalars.len()); prims.len()];
        for scalar in scalars {
            for (column, part) in bits.iter_mut().zip(scalar.flatten()) {
                column.push(prim_bits(&part).1);
            }
        }
        let columns = prims.iter().zip(bits).map(|(&prim, bits)| {
            match_width!(prim, W => Array::from_words(prim, bits.into_iter().map(|b| b as W).collect()))
        });
        Ok(Values { columns: columns.collect(), dtype, len: scalars.len() })
    }

    /// Returns `len` copies of a value.
    ///
    /// # Errors
    /// When the values cannot be allocated.
    pub fn repeat(value: &Scalar, len: usize) -> Result<Values, Error> {
        let columns = value.flatten().iter().map(|part| Array::filled(part, len as u64)).collect::<Result<_, _>>()?;
        Ok(Values { dtype: value.dtype(), len, columns })
    }

    /// Returns `len` copies of `true`: the values of a pattern.
    ///
    /// # Errors
    /// When the values cannot be allocated.
    pub fn pattern(len: usize) -> Result<Values, Error> {
        Values::repeat(&Scalar::Bool(true), len)
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the columns, one for each primitive of the dtype.
    pub fn columns(&self) -> &[Array] {
        &self.columns
    }

    /// Returns value `k`.
    ///
    /// # Panics
    /// If there is no value `k`.
    pub fn get(&self, k: usize) -> Scalar {
        scalar_at(&self.dtype, &self.columns, k)
    }

    /// Returns whether two values are bitwise equal, where NaN equals NaN. Adjacent values that are
    /// equal in this sense form a run.
    pub(crate) fn are_same(&self, a: usize, b: usize) -> bool {
        let nan = |c: &Array| c.scalar(a).is_nan() && c.scalar(b).is_nan();
        self.columns.iter().all(|c| c.bits(a) == c.bits(b) || nan(c))
    }

    /// Returns the values at the indices `at`, in that order.
    ///
    /// # Errors
    /// When memory is exhausted.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn gather(&self, at: &[u64]) -> Result<Values, Error> {
        let columns = self.columns.iter().map(|column| gather(column, at)).collect::<Result<_, _>>()?;
        Ok(Values { dtype: self.dtype.clone(), len: at.len(), columns })
    }

    /// Returns the values at the indices `at`, in that order. The values at the indices `replaced`
    /// of the result come from `replacement` instead.
    pub(crate) fn gather_replacing(
        &self,
        at: &[u64],
        replaced: &[usize],
        replacement: &Values,
    ) -> Result<Values, Error> {
        let column = |(column, replacement): (&Array, &Array)| {
            match_width!(column.prim(), W => {
                let mut words = gather_words::<W>(column, at)?;
                replaced.iter().zip(replacement.words::<W>()).for_each(|(&k, &w)| words[k] = w);
                Ok::<_, Error>(Array::from_words(column.prim(), words))
            })
        };
        let columns = self.columns.iter().zip(&replacement.columns).map(column).collect::<Result<_, _>>()?;
        Ok(Values { dtype: self.dtype.clone(), len: at.len(), columns })
    }
}

impl<T: Element> From<Vec<T>> for Values {
    fn from(values: Vec<T>) -> Values {
        Values { dtype: T::PRIM.into(), len: values.len(), columns: vec![Array::from_vec(values)] }
    }
}

impl From<Vec<bool>> for Values {
    fn from(values: Vec<bool>) -> Values {
        Values { dtype: DType::BOOL, len: values.len(), columns: vec![Array::from_bools(values)] }
    }
}

/// Returns value `k` of columns with the primitives of a dtype.
pub(crate) fn scalar_at(dtype: &DType, columns: &[Array], k: usize) -> Scalar {
    let mut parts = columns.iter().map(|c| c.scalar(k));
    Scalar::unflatten(dtype, &mut parts).expect("the columns have the primitives of the dtype")
}

/// Returns the elements at the indices `at`, in that order.
pub(crate) fn gather(column: &Array, at: &[u64]) -> Result<Array, Error> {
    match_width!(column.prim(), W => Ok(Array::from_words(column.prim(), gather_words::<W>(column, at)?)))
}

fn gather_words<W: ArrowNativeType>(column: &Array, at: &[u64]) -> Result<Vec<W>, Error> {
    let words = column.words::<W>();
    let mut out = reserved_vec(at.len())?;
    out.extend(at.iter().map(|&k| words[k as usize]));
    Ok(out)
}

/// Checks that the first `len` elements of boolean columns are 0 or 1, as generated code requires.
pub(crate) fn check_bools(columns: &[Array], len: usize) -> Result<(), String> {
    for column in columns {
        let Some(bools) = column.bools() else { continue };
        if let Some(k) = bools[..len].iter().position(|&b| b > 1) {
            return Err(format!("booleans must be bytes of 0 or 1, found {} at index {k}", bools[k]));
        }
    }
    Ok(())
}
