//! Columns of values: one array for each primitive of a dtype.

use super::array::{Array, Element, match_width, prim_bits, reserved_vec};
use crate::Error;
use arrow::datatypes::ArrowNativeType;
use redpoll_logic::{DType, Prim, Scalar};

/// A list of values of one dtype; a struct is held as a column for each primitive in it, depth first.
#[derive(Clone, Debug)]
pub struct Values {
    dtype: DType,
    len: usize,
    columns: Vec<Array>,
}

impl Values {
    /// Values from columns, one for each primitive of the dtype, all of the same length.
    ///
    /// # Errors
    /// When number, types or lengths of the columns are others.
    pub fn try_new(dtype: DType, columns: Vec<Array>) -> Result<Values, Error> {
        let prims = dtype.prims();
        let found: Vec<Prim> = columns.iter().map(Array::prim).collect();
        if prims != found {
            let names = |prims: &[Prim]| prims.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
            let (expected, found) = (names(&prims), names(&found));
            return Err(Error::InvalidTriples(format!(
                "values of dtype {dtype} need columns {expected}, found {found}"
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

    /// Values from scalars of that dtype.
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

    /// `len` times the same value.
    ///
    /// # Errors
    /// When there is not so much memory.
    pub fn repeat(value: &Scalar, len: usize) -> Result<Values, Error> {
        let columns = value.flatten().iter().map(|part| Array::filled(part, len as u64)).collect::<Result<_, _>>()?;
        Ok(Values { dtype: value.dtype(), len, columns })
    }

    /// `len` times `true`: the values of a pattern.
    ///
    /// # Errors
    /// When there is not so much memory.
    pub fn pattern(len: usize) -> Result<Values, Error> {
        Values::repeat(&Scalar::Bool(true), len)
    }

    /// The dtype.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The columns.
    pub fn columns(&self) -> &[Array] {
        &self.columns
    }

    /// The value at `k`.
    ///
    /// # Panics
    /// When there is none.
    pub fn get(&self, k: usize) -> Scalar {
        scalar_at(&self.dtype, &self.columns, k)
    }

    /// Whether the values at two places are the same, bit by bit, NaN being equal to NaN: what makes a run.
    pub(crate) fn are_same(&self, a: usize, b: usize) -> bool {
        let nan = |c: &Array| c.scalar(a).is_nan() && c.scalar(b).is_nan();
        self.columns.iter().all(|c| c.bits(a) == c.bits(b) || nan(c))
    }

    /// The values at `at`, in that order.
    pub(crate) fn gather(&self, at: &[u64]) -> Result<Values, Error> {
        let columns = self.columns.iter().map(|column| gather(column, at)).collect::<Result<_, _>>()?;
        Ok(Values { dtype: self.dtype.clone(), len: at.len(), columns })
    }

    /// The values at `at`, in that order, then those at `places` among them replaced.
    pub(crate) fn gather_with(&self, at: &[u64], places: &[usize], replacement: &Values) -> Result<Values, Error> {
        let column = |(column, replacement): (&Array, &Array)| {
            match_width!(column.prim(), W => {
                let mut words = gather_words::<W>(column, at)?;
                places.iter().zip(replacement.words::<W>()).for_each(|(&k, &w)| words[k] = w);
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

/// The value at `k` of columns that hold a dtype.
pub(crate) fn scalar_at(dtype: &DType, columns: &[Array], k: usize) -> Scalar {
    let mut parts = columns.iter().map(|c| c.scalar(k));
    Scalar::unflatten(dtype, &mut parts).expect("the columns have the primitives of the dtype")
}

/// The elements at the given places, in that order.
pub(crate) fn gather(column: &Array, at: &[u64]) -> Result<Array, Error> {
    match_width!(column.prim(), W => Ok(Array::from_words(column.prim(), gather_words::<W>(column, at)?)))
}

fn gather_words<W: ArrowNativeType>(column: &Array, at: &[u64]) -> Result<Vec<W>, Error> {
    let words = column.words::<W>();
    let mut out = reserved_vec(at.len())?;
    out.extend(at.iter().map(|&k| words[k as usize]));
    Ok(out)
}

/// Checks that booleans are 0 or 1 among the first `len` elements, which generated code takes for granted.
pub(crate) fn check_bools(columns: &[Array], len: usize) -> Result<(), String> {
    for column in columns {
        let Some(bools) = column.bools() else { continue };
        if let Some(k) = bools[..len].iter().position(|&b| b > 1) {
            return Err(format!("booleans are bytes of 0 or 1, found {} at {k}", bools[k]));
        }
    }
    Ok(())
}
