//! Values as vectors, one variant per primitive type, and their checked conversion.

use redpoll_logic::{Prim, Scalar};

/// Values of one primitive type, such as the values of the entries of a file.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is the primitive of its name")]
pub enum Values {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Runs `$body` with `$v` bound to the vector inside of a [`Values`].
macro_rules! match_values {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            $crate::Values::Bool($v) => $body,
            $crate::Values::I8($v) => $body,
            $crate::Values::I16($v) => $body,
            $crate::Values::I32($v) => $body,
            $crate::Values::I64($v) => $body,
            $crate::Values::U8($v) => $body,
            $crate::Values::U16($v) => $body,
            $crate::Values::U32($v) => $body,
            $crate::Values::U64($v) => $body,
            $crate::Values::F32($v) => $body,
            $crate::Values::F64($v) => $body,
        }
    };
}
pub(crate) use match_values;

/// Runs `$body` like [`match_values`], and wraps the vector that `$body` returns in the same
/// variant of [`Values`].
macro_rules! map_values {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            $crate::Values::Bool($v) => $crate::Values::Bool($body),
            $crate::Values::I8($v) => $crate::Values::I8($body),
            $crate::Values::I16($v) => $crate::Values::I16($body),
            $crate::Values::I32($v) => $crate::Values::I32($body),
            $crate::Values::I64($v) => $crate::Values::I64($body),
            $crate::Values::U8($v) => $crate::Values::U8($body),
            $crate::Values::U16($v) => $crate::Values::U16($body),
            $crate::Values::U32($v) => $crate::Values::U32($body),
            $crate::Values::U64($v) => $crate::Values::U64($body),
            $crate::Values::F32($v) => $crate::Values::F32($body),
            $crate::Values::F64($v) => $crate::Values::F64($body),
        }
    };
}
pub(crate) use map_values;

impl Values {
    /// Returns an empty vector of the given primitive type.
    pub fn empty(prim: Prim) -> Values {
        match prim {
            Prim::Bool => Values::Bool(Vec::new()),
            Prim::I8 => Values::I8(Vec::new()),
            Prim::I16 => Values::I16(Vec::new()),
            Prim::I32 => Values::I32(Vec::new()),
            Prim::I64 => Values::I64(Vec::new()),
            Prim::U8 => Values::U8(Vec::new()),
            Prim::U16 => Values::U16(Vec::new()),
            Prim::U32 => Values::U32(Vec::new()),
            Prim::U64 => Values::U64(Vec::new()),
            Prim::F32 => Values::F32(Vec::new()),
            Prim::F64 => Values::F64(Vec::new()),
        }
    }

    /// Returns a vector of one value.
    pub(crate) fn single(value: &Scalar) -> Values {
        let mut values = Values::empty(value.prim().expect("a primitive value"));
        values.push(value);
        values
    }

    /// Returns the primitive type of the values.
    pub fn prim(&self) -> Prim {
        match self {
            Values::Bool(_) => Prim::Bool,
            Values::I8(_) => Prim::I8,
            Values::I16(_) => Prim::I16,
            Values::I32(_) => Prim::I32,
            Values::I64(_) => Prim::I64,
            Values::U8(_) => Prim::U8,
            Values::U16(_) => Prim::U16,
            Values::U32(_) => Prim::U32,
            Values::U64(_) => Prim::U64,
            Values::F32(_) => Prim::F32,
            Values::F64(_) => Prim::F64,
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match_values!(self, v => v.len())
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value at index `k`.
    ///
    /// # Panics
    /// Panics if `k` is out of bounds.
    pub fn get(&self, k: usize) -> Scalar {
        match_values!(self, v => Scalar::from(v[k]))
    }

    /// Returns the values at the given indices, in the order of the indices.
    pub(crate) fn gather(&self, indices: &[usize]) -> Values {
        map_values!(self, v => indices.iter().map(|&k| v[k]).collect())
    }

    /// Appends a value of the same primitive type.
    pub(crate) fn push(&mut self, value: &Scalar) {
        macro_rules! push {
            ($($variant:ident),*) => {
                match (self, value) {
                    $((Values::$variant(v), Scalar::$variant(x)) => v.push(*x),)*
                    (v, x) => unreachable!("a value {x} among values of {}", v.prim()),
                }
            };
        }
        push!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64);
    }

    /// Converts the values to `prim`. An integer type must represent each value exactly. A float
    /// type may round values, but must not round a finite value to infinity. Booleans represent
    /// only 0 and 1.
    ///
    /// # Errors
    /// Returns the index and the value of the first value that does not fit.
    pub(crate) fn convert(self, prim: Prim) -> Result<Values, (usize, Scalar)> {
        if self.prim() == prim {
            return Ok(self);
        }
        let mut converted = Values::empty(prim);
        for k in 0..self.len() {
            let value = self.get(k);
            let cast = value.cast(prim).expect("neither side is a struct");
            if !preserves(&value, &cast) {
                return Err((k, value));
            }
            converted.push(&cast);
        }
        Ok(converted)
    }
}

/// Returns whether a cast preserves the value, up to rounding to a float.
fn preserves(value: &Scalar, cast: &Scalar) -> bool {
    match (value, cast) {
        (_, Scalar::Bool(cast)) => value.to_f64() == Some(f64::from(*cast)),
        (_, Scalar::F32(_) | Scalar::F64(_)) => {
            let (from, to) = (value.to_f64(), cast.to_f64());
            from.is_some_and(f64::is_finite) == to.is_some_and(f64::is_finite)
        }
        (Scalar::F32(_) | Scalar::F64(_), _) => {
            let from = value.to_f64().expect("a float");
            // 2^63 and 2^64 saturate when cast, so the cast value is compared as `i128`.
            from.fract() == 0.0 && cast.to_i128() == Some(from as i128)
        }
        _ => value.to_i128() == cast.to_i128(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_rejects_values_that_do_not_fit() {
        let fits = |values: Values, prim| values.convert(prim).map_err(|(k, _)| k);
        assert_eq!(fits(Values::I64(vec![1, -128]), Prim::I8), Ok(Values::I8(vec![1, -128])));
        assert_eq!(fits(Values::I64(vec![1, 128]), Prim::I8), Err(1));
        assert_eq!(fits(Values::I64(vec![-1]), Prim::U64), Err(0));
        assert_eq!(fits(Values::F64(vec![2.0, 2.5]), Prim::I64), Err(1));
        assert_eq!(fits(Values::F64(vec![9_223_372_036_854_775_808.0]), Prim::I64), Err(0));
        assert_eq!(fits(Values::F64(vec![f64::NAN]), Prim::I64), Err(0));
        assert_eq!(fits(Values::F64(vec![1e300]), Prim::F32), Err(0));
        assert_eq!(fits(Values::F64(vec![0.1, f64::INFINITY]), Prim::F32), Ok(Values::F32(vec![0.1, f32::INFINITY])));
        assert_eq!(fits(Values::F64(vec![0.0, 1.0]), Prim::Bool), Ok(Values::Bool(vec![false, true])));
        for value in [2.0, 0.5, -1.0, f64::NAN] {
            assert_eq!(fits(Values::F64(vec![1.0, value]), Prim::Bool), Err(1), "{value}");
        }
        assert_eq!(fits(Values::U64(vec![u64::MAX]), Prim::Bool), Err(0));
        assert_eq!(fits(Values::Bool(vec![true]), Prim::F64), Ok(Values::F64(vec![1.0])));
    }
}
