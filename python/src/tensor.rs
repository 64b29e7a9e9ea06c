//! Tensors: results and inputs as the arrays of their levels and their leaf.

use crate::buffer::{SharedBuffer, coordinates_of, values_of};
use crate::dtype::{dtype_name, prim_of, scalar, to_python};
use crate::error::exception;
use crate::index::coordinates;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use redpoll::logic::physical::FormatDisplay;
use redpoll::logic::text::{format_to_sexpr, parse_format};
use redpoll::logic::{Format, Prim, TensorType};
use redpoll::storage::levels::{ArrayClass, level};
use redpoll::storage::{self, convert};

/// The largest number of entries of a tensor whose pattern is counted. The count takes less than a
/// second.
const MAX_PATTERN_ENTRIES: u64 = 1 << 24;

/// A tensor: the arrays of its levels, outermost first, and of its leaf.
#[pyclass(frozen, module = "redpoll._core")]
pub(crate) struct Tensor(pub(crate) storage::Tensor);

/// Parses a format, such as `csr`, for a tensor of the given rank.
pub(crate) fn format(text: &str, rank: usize) -> PyResult<Format> {
    parse_format(text, rank).map_err(|error| PyValueError::new_err(format!("format '{text}': {error}")))
}

#[pymethods]
impl Tensor {
    /// Makes a tensor from the buffers of its levels, outermost first, and of its leaf. The leaf's
    /// numbers are shared. Coordinates and booleans are copied, unless their memory is immutable,
    /// such as the memory of another tensor.
    #[new]
    #[pyo3(signature = (shape, dtype, fill, format, levels, leaf))]
    fn new(
        py: Python<'_>,
        shape: Vec<u64>,
        dtype: &str,
        fill: &Bound<'_, PyAny>,
        format: &str,
        levels: Vec<Vec<Bound<'_, PyAny>>>,
        leaf: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let prim = prim_of(dtype)?;
        let format = self::format(format, shape.len())?;
        let mut arrays = Vec::with_capacity(levels.len());
        for (k, buffers) in levels.iter().enumerate() {
            let specs = format.levels.get(k).map_or(&[][..], |format| level(format.kind).arrays());
            let class = |at: usize| specs.get(at).map(|spec| spec.class);
            let read = |(at, buffer)| Ok(indices(coordinates_of(buffer)?, class(at)));
            arrays.push(buffers.iter().enumerate().map(read).collect::<PyResult<Vec<_>>>()?);
        }
        let leaf = leaf.iter().map(values_of).collect::<PyResult<Vec<_>>>()?;
        let ty = TensorType { shape, dtype: prim.into(), fill: scalar(fill, prim)?, format };
        let tensor = py.detach(|| storage::Tensor::try_new(ty, arrays, leaf));
        tensor.map(Tensor).map_err(|error| exception(error.into()))
    }

    /// The sizes of the modes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.ty().shape)
    }

    /// The name of the dtype.
    #[getter]
    fn dtype(&self) -> String {
        dtype_name(&self.0.ty().dtype)
    }

    /// The value of the elements that are not stored.
    #[getter]
    fn fill<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.ty().fill)
    }

    /// The text of the format, which `Tensor` accepts as an argument.
    #[getter]
    fn format(&self) -> String {
        format_to_sexpr(&self.0.ty().format).to_string()
    }

    /// The levels of the format, as readable text.
    #[getter]
    fn level_names(&self) -> String {
        FormatDisplay(&self.0.ty().format).to_string()
    }

    /// The number of bytes of all arrays.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.arrays().map(storage::Array::bytes).sum()
    }

    /// The number of stored elements.
    #[getter]
    fn stored(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.0.count_stored()).map_err(|error| exception(error.into()))
    }

    /// Whether every element is stored in row-major order.
    #[getter]
    fn is_dense(&self) -> bool {
        self.0.ty().format == Format::dense(self.0.ty().shape.len())
    }

    /// Returns the buffers of each level, outermost first. Arrays of `uint32` and `uint64`, such as
    /// coordinates, are exported with signed dtypes, as in SciPy.
    fn levels(&self, py: Python<'_>) -> PyResult<Vec<Vec<SharedBuffer>>> {
        self.fetch(py)?;
        let signed = |array: &storage::Array| {
            let prim = match array.prim() {
                Prim::U32 => Prim::I32,
                Prim::U64 => Prim::I64,
                other => other,
            };
            SharedBuffer::new(array.reinterpret(prim).unwrap_or_else(|| array.clone()))
        };
        Ok(self.0.levels().iter().map(|arrays| arrays.iter().map(signed).collect()).collect())
    }

    /// Returns the buffers of the values, one for each primitive of the dtype.
    fn leaf(&self, py: Python<'_>) -> PyResult<Vec<SharedBuffer>> {
        self.fetch(py)?;
        Ok(self.0.leaf().iter().cloned().map(SharedBuffer::new).collect())
    }

    /// Returns the text of the tensor: shape, dtype, fill value and format, and then the values.
    /// The text of a tensor without modes is its value alone.
    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_string())
    }

    fn __repr__(&self) -> String {
        let ty = self.0.ty();
        format!("<redpoll.Tensor shape={:?} {} {}>", ty.shape, dtype_name(&ty.dtype), self.level_names())
    }

    /// Returns the tensor in another format.
    fn convert(&self, py: Python<'_>, format: &str) -> PyResult<Tensor> {
        let format = self::format(format, self.0.ty().shape.len())?;
        py.detach(|| convert(&self.0, &format)).map(Tensor).map_err(|error| exception(error.into()))
    }

    /// Counts the entries in each cell of a grid. Entries are the stored elements; elements with
    /// the fill value count only if the last level lists its coordinates. The rows of the grid
    /// divide the modes before the last mode, flattened in row-major order. The columns divide the
    /// last mode. The counts are in row-major order.
    ///
    /// Returns `None` for a tensor without modes, and for a tensor that may have too many entries
    /// to be counted quickly.
    fn pattern(&self, py: Python<'_>, rows: usize, columns: usize) -> PyResult<Option<Vec<u64>>> {
        let ty = self.0.ty();
        let has_runs = ty.format.levels.iter().any(|level| level.kind.traits().runs);
        // A run may have any number of elements.
        let entries = match has_runs {
            true => ty.shape.iter().fold(1u64, |size, n| size.saturating_mul(*n)),
            false => self.0.positions(),
        };
        let ([leading @ .., last], true) = (&ty.shape[..], entries <= MAX_PATTERN_ENTRIES) else {
            return Ok(None);
        };
        let height: u128 = leading.iter().map(|n| u128::from(*n)).product();
        let cell = |at: u128, size: u128, cells: usize| (at * cells as u128 / size.max(1)) as usize;
        let mut counts = vec![0; rows * columns];
        let count = |at: &[u64]| {
            let modes = at.iter().zip(leading);
            let row = modes.fold(0u128, |row, (i, size)| row * u128::from(*size) + u128::from(*i));
            let column = cell(at[leading.len()].into(), (*last).into(), columns);
            counts[cell(row, height, rows) * columns + column] += 1;
        };
        py.detach(|| self.0.for_each_entry(count)).map_err(|error| exception(error.into()))?;
        Ok(Some(counts))
    }

    /// Returns the element at the given coordinates.
    fn get<'py>(&self, py: Python<'py>, at: Vec<i64>) -> PyResult<Bound<'py, PyAny>> {
        let at = coordinates(&at, &self.0.ty().shape)?;
        let value = self.0.get(&at).map_err(|error| exception(error.into()))?;
        to_python(py, &value)
    }
}

impl Tensor {
    /// Copies arrays on a device or in a file to memory.
    fn fetch(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.fetch()).map_err(|error| exception(error.into()))
    }
}

/// Reinterprets the signed coordinates of other libraries as unsigned coordinates. Negative
/// coordinates become large coordinates, which the validation of the tensor rejects.
fn indices(array: storage::Array, class: Option<ArrayClass>) -> storage::Array {
    let prim = match (class, array.prim()) {
        (Some(ArrayClass::Coordinate | ArrayClass::Bound), Prim::I32) => Prim::U32,
        (Some(ArrayClass::Coordinate | ArrayClass::Bound), Prim::I64) => Prim::U64,
        _ => return array,
    };
    array.reinterpret(prim).unwrap_or(array)
}
