//! Memory shared with Python by its buffer protocol, without copies where sharing is safe.
//!
//! [`values_of`] and [`coordinates_of`] read the buffer of a Python object, such as a NumPy array,
//! as an array of redpoll, and [`SharedBuffer`] exports an array of redpoll to Python as a
//! read-only buffer.
//!
//! Kernels trust validated coordinates and booleans, and would read out of bounds if Python changed
//! them later. So coordinates and booleans are copied, unless they belong to a [`SharedBuffer`] or
//! to `bytes`.

use arrow_buffer::{Buffer, MutableBuffer};
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use redpoll::logic::Prim;
use redpoll::storage::Array;
use std::ffi::{c_int, c_void};
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// Returns the values of a Python object as an array of redpoll. Numbers are shared: the array
/// keeps the object, and sees later changes of its values. Booleans are copied, unless their memory
/// is immutable.
///
/// # Errors
/// Raises the exceptions of [`coordinates_of`].
pub(crate) fn values_of(object: &Bound<'_, PyAny>) -> PyResult<Array> {
    let (prim, buffer) = typed_buffer(object)?;
    // Kernels rely on booleans of 0 or 1, which another view of their bytes could change.
    if prim == Prim::Bool && !is_frozen(object) { copied(prim, &buffer) } else { shared(prim, buffer) }
}

/// Returns the coordinates or positions of a Python object as an array of redpoll, which does not
/// change when the object changes.
///
/// # Errors
/// Raises `TypeError` if the elements are not primitives of redpoll in native byte order, and
/// `BufferError` if they are not contiguous or not aligned. An object without a buffer raises the
/// exception of the buffer protocol.
pub(crate) fn coordinates_of(object: &Bound<'_, PyAny>) -> PyResult<Array> {
    let (prim, buffer) = typed_buffer(object)?;
    if is_frozen(object) { shared(prim, buffer) } else { copied(prim, &buffer) }
}

/// Returns whether the memory of an object is known to be immutable. Such memory belongs to a
/// [`SharedBuffer`] or to `bytes`, possibly through a few arrays of NumPy and memory views. The
/// flag `writeable` of an array of NumPy proves nothing, because another array may write to the
/// same memory.
fn is_frozen(object: &Bound<'_, PyAny>) -> bool {
    let Ok(ndarray) = object.py().import("numpy").and_then(|numpy| numpy.getattr("ndarray")) else { return false };
    let mut owner = object.clone();
    for _ in 0..MAX_VIEWS {
        if owner.is_exact_instance_of::<SharedBuffer>() || owner.is_exact_instance_of::<PyBytes>() {
            return true;
        }
        let next = match owner.is_exact_instance_of::<PyMemoryView>() {
            true => owner.getattr("obj"),
            // Only NumPy itself sets the base of an array, to the owner of the memory.
            false if owner.get_type().is(&ndarray) => owner.getattr("base"),
            false => return false,
        };
        let Ok(next) = next else { return false };
        owner = next;
    }
    false
}

/// Returns the buffer of an object, with the primitive of its elements.
fn typed_buffer(object: &Bound<'_, PyAny>) -> PyResult<(Prim, PyUntypedBuffer)> {
    let buffer = PyUntypedBuffer::get(object)?;
    let element = match buffer.format().to_bytes().first() {
        // `from_format` ignores the byte order.
        Some(order) if FOREIGN_BYTE_ORDERS.contains(order) => ElementType::Unknown,
        _ => ElementType::from_format(buffer.format()),
    };
    let prim = match (element, buffer.item_size()) {
        (ElementType::Bool, _) => Prim::Bool,
        (ElementType::SignedInteger { .. }, 1) => Prim::I8,
        (ElementType::SignedInteger { .. }, 2) => Prim::I16,
        (ElementType::SignedInteger { .. }, 4) => Prim::I32,
        (ElementType::SignedInteger { .. }, 8) => Prim::I64,
        (ElementType::UnsignedInteger { .. }, 1) => Prim::U8,
        (ElementType::UnsignedInteger { .. }, 2) => Prim::U16,
        (ElementType::UnsignedInteger { .. }, 4) => Prim::U32,
        (ElementType::UnsignedInteger { .. }, 8) => Prim::U64,
        (ElementType::Float { .. }, 4) => Prim::F32,
        (ElementType::Float { .. }, 8) => Prim::F64,
        _ => {
            let format = buffer.format().to_string_lossy();
            let message = format!("redpoll has no dtype for buffers of format '{format}'; convert the elements first");
            return Err(PyTypeError::new_err(message));
        }
    };
    if !buffer.is_c_contiguous() {
        return Err(PyBufferError::new_err("the buffer is not contiguous in row-major order; copy it first"));
    }
    Ok((prim, buffer))
}

/// Returns an array over the memory of a buffer, which stays exported as long as the array lives.
fn shared(prim: Prim, buffer: PyUntypedBuffer) -> PyResult<Array> {
    let (len, bytes) = (buffer.item_count(), buffer.len_bytes());
    let memory = match NonNull::new(buffer.buf_ptr().cast::<u8>()) {
        Some(start) if bytes > 0 => {
            let owner = Arc::new(AssertUnwindSafe(buffer));
            // SAFETY: The contiguous buffer has this many bytes, and the owner keeps it exported,
            // so that Python neither frees nor moves it.
            unsafe { Buffer::from_custom_allocation(start, bytes, owner) }
        }
        _ => Buffer::from_vec(Vec::<u64>::new()),
    };
    Array::new(prim, memory, len)
        .ok_or_else(|| PyBufferError::new_err("the buffer is not aligned to its elements; copy it first"))
}

/// Returns a copy of the current elements of a buffer.
fn copied(prim: Prim, buffer: &PyUntypedBuffer) -> PyResult<Array> {
    let (len, bytes) = (buffer.item_count(), buffer.len_bytes());
    let mut memory = MutableBuffer::from_len_zeroed(bytes);
    if bytes > 0 {
        // SAFETY: The contiguous buffer has this many bytes, and is exported until the copy ends.
        // Bytes are copied from raw memory, without a reference to memory that others may write.
        unsafe { std::ptr::copy_nonoverlapping(buffer.buf_ptr().cast::<u8>(), memory.as_mut_ptr(), bytes) };
    }
    Ok(Array::new(prim, memory.into(), len).expect("a new allocation is aligned and long enough"))
}

/// The first characters of the formats of buffers in the byte order of other machines.
const FOREIGN_BYTE_ORDERS: &[u8] = if cfg!(target_endian = "little") { b">!" } else { b"<" };

/// The largest number of objects that [`is_frozen`] examines: the views of the memory, and its
/// owner.
const MAX_VIEWS: usize = 8;

/// An array of redpoll as a read-only buffer of one dimension.
#[pyclass(frozen, module = "redpoll._core")]
pub(crate) struct SharedBuffer {
    array: Array,
    /// The number of elements. The shape of an exported buffer points to this field.
    len: ffi::Py_ssize_t,
    /// The bytes of an element. The stride of an exported buffer points to this field.
    stride: ffi::Py_ssize_t,
}

impl SharedBuffer {
    /// Returns the buffer of an array. The elements must be in the memory of the host.
    pub(crate) fn new(array: Array) -> SharedBuffer {
        let (len, stride) = (array.len() as ffi::Py_ssize_t, array.prim().bytes() as ffi::Py_ssize_t);
        SharedBuffer { array, len, stride }
    }
}

#[pymethods]
impl SharedBuffer {
    /// The name of the dtype of the elements.
    #[getter]
    fn dtype(&self) -> &'static str {
        crate::dtype::name_of(self.array.prim())
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// Exports the elements.
    ///
    /// # Safety
    /// `view` is null or points to memory for a buffer; the interpreter guarantees this.
    unsafe fn __getbuffer__(slf: Bound<'_, SharedBuffer>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("the view is null"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("arrays of redpoll are read-only; copy the array first"));
        }
        let this = slf.get();
        let requested = |flag: c_int| flags & flag == flag;
        let when = |flag: c_int, pointer: *const ffi::Py_ssize_t| match requested(flag) {
            true => pointer.cast_mut(),
            false => std::ptr::null_mut(),
        };
        let format = match requested(ffi::PyBUF_FORMAT) {
            true => crate::dtype::format_of(this.array.prim()).as_ptr().cast_mut(),
            false => std::ptr::null_mut(),
        };
        let buffer = ffi::Py_buffer {
            buf: this.array.buffer().as_ptr().cast_mut().cast::<c_void>(),
            len: this.len * this.stride,
            readonly: 1,
            itemsize: this.stride,
            format,
            ndim: 1,
            shape: when(ffi::PyBUF_ND, &raw const this.len),
            strides: when(ffi::PyBUF_STRIDES, &raw const this.stride),
            suboffsets: std::ptr::null_mut(),
            internal: std::ptr::null_mut(),
            obj: slf.clone().into_ptr(),
        };
        // SAFETY: `view` is not null. The memory, the shape and the stride belong to the frozen
        // object, to which the buffer has a reference until it is released.
        unsafe { view.write(buffer) };
        Ok(())
    }
}
