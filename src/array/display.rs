//! Text of arrays.

use super::Array;
use std::fmt;

impl fmt::Display for Array {
    /// Computes the array and writes its tensor: shape, dtype, fill value and format, and then the
    /// values. The tensor of an array without modes is written as its value alone. The middle of a
    /// large array is left out, and `{:.3}` writes three decimals. If the array cannot be computed,
    /// the error is written instead. The debug format computes nothing.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let text = session.dense([2, 2], [1.0, 0.0, 0.0, 2.5]).to_csr().to_string();
    /// assert_eq!(text, "2 x 2 f64, fill 0.0, (dense sparse-list), 2 stored\n  (0, 0)  1.0\n  (1, 1)  2.5");
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.collect() {
            Ok(tensor) => tensor.fmt(f),
            Err(error) => write!(f, "error: {error}"),
        }
    }
}

impl fmt::Debug for Array {
    /// Writes shape, dtype and fill value, or the error of an operation that could not be applied.
    /// Computes nothing.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let text = format!("{:?}", session.dense([1, 2], [1.0, 2.0]).sum(1));
    /// assert_eq!(text, "Array { shape: [1], dtype: f64, fill: 0.0, .. }");
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state() {
            Ok(state) => {
                let info = state.expr.info();
                let mut text = f.debug_struct("Array");
                text.field("shape", &state.shape()).field("dtype", &format_args!("{}", info.dtype));
                text.field("fill", &format_args!("{}", info.fill)).finish_non_exhaustive()
            }
            Err(error) => write!(f, "Array(error: {error})"),
        }
    }
}
