//! Stacks of dense matrices: tensors whose last two modes are matrices.

use crate::context::Reservation;
use crate::real::{Real, cast_array};
use crate::{Context, Error};
use faer::{MatMut, MatRef};
use redpoll_logic::{Format, Prim, Scalar, TensorType};
use redpoll_storage::{Array, Tensor, convert_within};

/// A stack of matrices of numbers of type `T`, row by row.
pub(super) struct Stack<T> {
    /// The size of each mode before the matrices.
    pub(super) batch: Vec<u64>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    values: Array,
    /// The charge for values that were cast. The charge for other values belongs to their buffer.
    _charge: Option<Reservation>,
    _number: std::marker::PhantomData<T>,
}

impl<T: Real> Stack<T> {
    /// Returns the matrices of a tensor.
    ///
    /// # Errors
    /// When the tensor has fewer than two modes, its values are structs, or the memory limit is
    /// reached.
    pub(super) fn of(context: &Context, function: &'static str, tensor: &Tensor) -> Result<Stack<T>, Error> {
        let shape = &tensor.ty().shape;
        let [batch @ .., rows, columns] = &shape[..] else {
            return Err(Error::Shape { function, expected: "matrices, at least two modes", shape: shape.clone() });
        };
        Stack::with_shape(context, function, tensor, (batch.to_vec(), *rows, *columns))
    }

    /// Returns the matrices of a stack of square matrices.
    ///
    /// # Errors
    /// The errors of [`Stack::of`]; also when the matrices are not square.
    pub(super) fn square(context: &Context, function: &'static str, tensor: &Tensor) -> Result<Stack<T>, Error> {
        let shape = &tensor.ty().shape;
        match shape[..] {
            [.., rows, columns] if rows == columns => Stack::of(context, function, tensor),
            _ => Err(Error::Shape { function, expected: "square matrices", shape: shape.clone() }),
        }
    }

    /// Returns a vector as a stack of one matrix with one column.
    pub(super) fn column(context: &Context, function: &'static str, vector: &Tensor) -> Result<Stack<T>, Error> {
        Stack::with_shape(context, function, vector, (Vec::new(), vector.ty().shape[0], 1))
    }

    /// Returns the elements of a tensor as a stack of matrices with one element.
    pub(super) fn elements(context: &Context, function: &'static str, tensor: &Tensor) -> Result<Stack<T>, Error> {
        Stack::with_shape(context, function, tensor, (tensor.ty().shape.clone(), 1, 1))
    }

    fn with_shape(
        context: &Context,
        function: &'static str,
        tensor: &Tensor,
        (batch, rows, columns): (Vec<u64>, u64, u64),
    ) -> Result<Stack<T>, Error> {
        let too_large = || Error::TooLarge { function };
        let [rows, columns] = [rows, columns].map(usize::try_from);
        let (rows, columns) = (rows.map_err(|_| too_large())?, columns.map_err(|_| too_large())?);
        // The sizes of the matrices of an empty stack are bounded, too.
        rows.checked_mul(columns).filter(|size| *size < isize::MAX as usize / 8).ok_or_else(too_large)?;
        let dense = convert_within(tensor, &Format::dense(tensor.ty().shape.len()), &context.memory)?;
        dense.fetch()?;
        let [values] = dense.leaf() else {
            return Err(Error::DType { function, dtype: tensor.ty().dtype.clone() });
        };
        let is_shared = values.prim() == T::PRIM;
        let charge = if is_shared { None } else { Some(context.reserve::<T>(values.len())?) };
        Ok(Stack {
            batch,
            rows,
            columns,
            values: cast_array::<T>(values),
            _charge: charge,
            _number: Default::default(),
        })
    }

    /// Returns the number of matrices.
    pub(super) fn count(&self) -> usize {
        count_of(&self.batch)
    }

    /// Returns a matrix.
    pub(super) fn matrix(&self, k: usize) -> MatRef<'_, T> {
        MatRef::from_row_major_slice(self.numbers(k), self.rows, self.columns)
    }

    /// Returns the numbers of a matrix, row by row.
    pub(super) fn numbers(&self, k: usize) -> &[T] {
        let size = self.rows * self.columns;
        let values: &[T] = self.values.as_slice().expect("the values were cast");
        &values[k * size..(k + 1) * size]
    }

    /// Checks that a matrix has neither infinities nor NaN.
    pub(super) fn check_finite(&self, function: &'static str, k: usize) -> Result<(), Error> {
        match self.numbers(k).iter().all(|value| value.is_number()) {
            true => Ok(()),
            false => Err(Error::NotFinite { function, batch: self.index(k) }),
        }
    }

    /// Returns the index of matrix `k` in the stack.
    pub(super) fn index(&self, k: usize) -> Vec<u64> {
        index_in(&self.batch, k)
    }
}

/// Returns the number of matrices of a stack, or the largest number if there are more.
pub(super) fn count_of(batch: &[u64]) -> usize {
    if batch.contains(&0) {
        return 0;
    }
    let count = batch.iter().try_fold(1u64, |count, size| count.checked_mul(*size));
    count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
}

/// Returns the coordinates of element `k` of a shape, in row-major order.
pub(super) fn index_in(shape: &[u64], k: usize) -> Vec<u64> {
    let mut rest = k as u64;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|size| {
            let coordinate = rest % size;
            rest /= size;
            coordinate
        })
        .collect();
    index.reverse();
    index
}

/// Returns a dense tensor of row-major values. The shape of the tensor is the shape of the stack,
/// followed by the shape of one matrix. The tensor is charged to the memory limit.
pub(crate) fn tensor_of<T: Real>(
    context: &Context,
    batch: &[u64],
    matrix: &[usize],
    values: Vec<T>,
) -> Result<Tensor, Error> {
    array_tensor(context, batch, matrix, Array::from_vec(values))
}

/// Returns a dense tensor like [`tensor_of`], of an array with any type of elements.
pub(super) fn array_tensor(context: &Context, batch: &[u64], matrix: &[usize], values: Array) -> Result<Tensor, Error> {
    let shape: Vec<u64> = batch.iter().copied().chain(matrix.iter().map(|size| *size as u64)).collect();
    let (rank, prim): (usize, Prim) = (shape.len(), values.prim());
    let ty = TensorType { shape, dtype: prim.into(), fill: Scalar::zero(prim), format: Format::dense(rank) };
    let tensor = Tensor::try_new(ty, vec![Vec::new(); rank], vec![values])?;
    let exceeded = || redpoll_storage::Error::Stopped(redpoll_storage::Status::OutOfMemory);
    Ok(tensor.charged(&context.memory).ok_or_else(exceeded)?)
}

/// Copies a matrix to a row-major slice.
pub(crate) fn copy_rows<T: Real>(from: MatRef<'_, T>, to: &mut [T]) {
    MatMut::from_row_major_slice_mut(to, from.nrows(), from.ncols()).copy_from(from);
}

/// The pairs of matrices of two stacks that are broadcast against each other.
pub(super) struct Broadcast {
    /// The size of each mode of the common stack.
    pub(super) batch: Vec<u64>,
    left: Vec<u64>,
    right: Vec<u64>,
}

impl Broadcast {
    /// Aligns the modes of two stacks from the last to the first. A mode of size 1 fits any size.
    /// Returns `None` if two sizes do not fit.
    pub(super) fn of(left: &[u64], right: &[u64]) -> Option<Broadcast> {
        let rank = left.len().max(right.len());
        let padded = |sizes: &[u64]| [vec![1; rank - sizes.len()], sizes.to_vec()].concat();
        let (left, right) = (padded(left), padded(right));
        let common = |(l, r): (&u64, &u64)| match (*l, *r) {
            (1, size) | (size, 1) => Some(size),
            (l, r) => (l == r).then_some(l),
        };
        let batch: Vec<u64> = left.iter().zip(&right).map(common).collect::<Option<_>>()?;
        Some(Broadcast { batch, left, right })
    }

    /// Returns the number of pairs.
    pub(super) fn count(&self) -> usize {
        count_of(&self.batch)
    }

    /// Returns the numbers of the two matrices of pair `k` in their stacks.
    pub(super) fn pair(&self, k: usize) -> (usize, usize) {
        let index = index_in(&self.batch, k);
        let number = |sizes: &[u64]| {
            let step = |number: u64, (i, size): (&u64, &u64)| number * size + if *size == 1 { 0 } else { *i };
            index.iter().zip(sizes).fold(0, step) as usize
        };
        (number(&self.left), number(&self.right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Modes of size 1 and missing modes repeat their matrices.
    #[test]
    fn stacks_are_broadcast_from_the_last_mode() {
        let pairs = Broadcast::of(&[2, 1], &[3]).unwrap();
        let all: Vec<_> = (0..pairs.count()).map(|k| pairs.pair(k)).collect();
        assert_eq!(
            (pairs.batch.as_slice(), all.as_slice()),
            (&[2, 3][..], &[(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)][..])
        );
        assert_eq!(Broadcast::of(&[0], &[1]).unwrap().batch, [0]);
        assert!(Broadcast::of(&[2], &[3]).is_none());
    }
}
