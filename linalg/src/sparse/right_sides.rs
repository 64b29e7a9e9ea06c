//! The right sides of systems of equations, which become their solutions.

use crate::context::Reservation;
use crate::dense::stack::{copy_rows, tensor_of};
use crate::dense::zeros;
use crate::real::{Real, cast_array};
use crate::{Context, Error};
use faer::{MatMut, MatRef};
use redpoll_logic::{DType, Format};
use redpoll_storage::{Tensor, convert_within};

/// One or several columns of numbers, column by column.
pub(super) struct RightSides<T> {
    function: &'static str,
    rows: usize,
    columns: usize,
    /// Whether the right side is a vector, not a matrix with one column.
    is_vector: bool,
    values: Vec<T>,
    _charge: Reservation,
}

impl<T: Real> RightSides<T> {
    /// Copies the right sides for a matrix with this many rows: a vector, or the columns of a
    /// matrix.
    ///
    /// # Errors
    /// When the shape does not fit, the values are no real numbers, or memory is exhausted.
    pub(super) fn of(
        context: &Context,
        function: &'static str,
        b: &Tensor,
        matrix: (usize, usize),
    ) -> Result<RightSides<T>, Error> {
        let shape = &b.ty().shape;
        let (is_vector, columns) = match shape[..] {
            [_] => (true, 1),
            [_, columns] => (false, columns),
            _ => return Err(Error::Shape { function, expected: "a vector or a matrix", shape: shape.clone() }),
        };
        let rows = matrix.0;
        if shape[0] != rows as u64 {
            let (left, right) = (vec![rows as u64, matrix.1 as u64], shape.clone());
            let expected = "one row for each equation";
            return Err(Error::Mismatch { function, left, right, expected });
        }
        let DType::Prim(_) = b.ty().dtype else {
            return Err(Error::DType { function, dtype: b.ty().dtype.clone() });
        };
        let columns = usize::try_from(columns).map_err(|_| Error::TooLarge { function })?;
        let size = rows.checked_mul(columns).ok_or(Error::TooLarge { function })?;
        // The copies before and after the solution; faer's workspace is charged apart.
        let charge = context.reserve::<T>(size.saturating_mul(2))?;
        let dense = convert_within(b, &Format::dense(shape.len()), &context.memory)?;
        dense.fetch()?;
        let mut values = zeros(function, size)?;
        let numbers = cast_array::<T>(&dense.leaf()[0]);
        let numbers = numbers.as_slice::<T>().expect("the values were cast");
        MatMut::from_column_major_slice_mut(&mut values, rows, columns).copy_from(MatRef::from_row_major_slice(
            &numbers[..size],
            rows,
            columns,
        ));
        Ok(RightSides { function, rows, columns, is_vector, values, _charge: charge })
    }

    /// Returns the number of right sides.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn as_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_column_major_slice_mut(&mut self.values, self.rows, self.columns)
    }

    /// Returns the first rows as a dense tensor.
    pub(super) fn into_tensor(self, context: &Context, rows: usize) -> Result<Tensor, Error> {
        let solutions = MatRef::from_column_major_slice(&self.values, self.rows, self.columns).subrows(0, rows);
        let mut out = zeros(self.function, rows * self.columns)?;
        copy_rows(solutions, &mut out);
        let shape = [rows, self.columns];
        tensor_of(context, &[], if self.is_vector { &shape[..1] } else { &shape }, out)
    }
}
