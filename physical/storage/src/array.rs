//! One array of a tensor: a typed view of an Arrow buffer, of device memory or of a file.

use super::device_bytes::DeviceBytes;
use super::file_array::{DeferredBytes, SourceFile};
use crate::Error;
use arrow_buffer::ArrowNativeType;
use arrow_buffer::Buffer;
use redpoll_logic::{Prim, Scalar};
use std::ops::Range;
use std::sync::Arc;

/// An array of primitives, in an Arrow buffer, in the memory of a device or in a file. Clones share
/// the memory. An array in the memory of a device is copied to the host when an element is first
/// read. An array in a file is mapped, or loaded when an element is first read. The first read
/// panics if the device is lost, or if the file to load from has changed or cannot be read;
/// [`Tensor::fetch`](super::Tensor::fetch) returns an error instead.
/// [`Tensor::check_files`](super::Tensor::check_files) reports changes of mapped files.
#[derive(Clone, Debug)]
pub struct Array {
    prim: Prim,
    memory: ArrayMemory,
}

/// The memory of an array.
#[derive(Clone, Debug)]
enum ArrayMemory {
    Host(Buffer),
    Device(Arc<DeviceBytes>),
    /// Bytes of a file, loaded when they are first read.
    Deferred(Arc<DeferredBytes>),
    /// Bytes of a mapped file.
    Mapped(Buffer, Arc<dyn SourceFile>),
}

/// A Rust type whose values an [`Array`] stores unchanged. The type `bool` does not implement the
/// trait, because an array stores a boolean as a byte; see [`Array::from_bools`].
pub trait Element: ArrowNativeType {
    /// The primitive of redpoll for this Rust type.
    const PRIM: Prim;
}

macro_rules! impl_element {
    ($($t:ty => $prim:ident),*) => {$(
        impl Element for $t {
            const PRIM: Prim = Prim::$prim;
        }
    )*};
}
impl_element!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

/// Runs `$body` with `$t` as the unsigned integer type of the primitive's width. The macro is for
/// code that moves values without interpreting them.
macro_rules! match_width {
    ($prim:expr, $t:ident => $body:expr) => {
        match $prim.bytes() {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            _ => {
                type $t = u64;
                $body
            }
        }
    };
}
pub(crate) use match_width;

impl Array {
    /// Returns the first `len` elements of `buffer` as `prim`s; `None` if the buffer is too short
    /// or not aligned.
    pub fn new(prim: Prim, buffer: Buffer, len: usize) -> Option<Array> {
        if len == 0 {
            return Some(Array::on_host(prim, Buffer::from_vec(Vec::<u64>::new())));
        }
        let bytes = len.checked_mul(prim.bytes())?;
        let aligned = buffer.as_ptr().align_offset(prim.bytes()) == 0;
        if bytes > buffer.len() || !aligned {
            return None;
        }
        let buffer = if bytes == buffer.len() { buffer } else { buffer.slice_with_length(0, bytes) };
        Some(Array::on_host(prim, buffer))
    }

    fn on_host(prim: Prim, buffer: Buffer) -> Array {
        Array { prim, memory: ArrayMemory::Host(buffer) }
    }

    /// Returns an array over all bytes of an allocation on a device.
    pub fn on_device(prim: Prim, bytes: Arc<DeviceBytes>) -> Array {
        Array { prim, memory: ArrayMemory::Device(bytes) }
    }

    /// Returns an array over all bytes of an array in a file, which are loaded when they are first
    /// read.
    pub fn deferred(prim: Prim, bytes: Arc<DeferredBytes>) -> Array {
        Array { prim, memory: ArrayMemory::Deferred(bytes) }
    }

    /// Returns the first `len` elements of a buffer of mapped floats; `None` if the buffer is too
    /// short or not aligned, or if the elements are not floats. Only floats are mapped, because
    /// addresses may depend on elements of other types, and another process could change the file.
    pub fn mapped(prim: Prim, buffer: Buffer, len: usize, file: Arc<dyn SourceFile>) -> Option<Array> {
        let array = Array::new(prim, buffer, len).filter(|_| prim.is_float())?;
        let ArrayMemory::Host(buffer) = array.memory else { unreachable!("arrays of buffers are on the host") };
        Some(Array { prim, memory: ArrayMemory::Mapped(buffer, file) })
    }

    /// Returns the elements of a vector as an array, without a copy.
    pub fn from_vec<T: Element>(values: Vec<T>) -> Array {
        Array::on_host(T::PRIM, Buffer::from_vec(values))
    }

    /// Returns an array of booleans, one byte each.
    pub fn from_bools(values: impl IntoIterator<Item = bool>) -> Array {
        Array::on_host(Prim::Bool, Buffer::from_vec(values.into_iter().map(u8::from).collect::<Vec<u8>>()))
    }

    /// Returns an array of `len` copies of a primitive.
    ///
    /// # Errors
    /// When the array cannot be allocated.
    pub(crate) fn filled(value: &Scalar, len: u64) -> Result<Array, Error> {
        let (prim, bits) = prim_bits(value);
        match_width!(prim, W => Ok(Array::on_host(prim, Buffer::from_vec(filled_vec(bits as W, len)?))))
    }

    /// Returns positions, coordinates or flags as elements of type `prim`, which must be wide
    /// enough for them. If `prim` is not `i32`, `i64`, `u32` or `u8`, the elements are `u64`.
    pub fn from_indices(prim: Prim, values: impl Iterator<Item = u64>) -> Array {
        match prim {
            Prim::I32 => Array::from_vec(values.map(|v| v as i32).collect()),
            Prim::I64 => Array::from_vec(values.map(|v| v as i64).collect()),
            Prim::U32 => Array::from_vec(values.map(|v| v as u32).collect()),
            Prim::U8 => Array::from_vec(values.map(|v| v as u8).collect()),
            _ => Array::from_vec(values.collect::<Vec<u64>>()),
        }
    }

    /// Returns the type of the elements.
    pub fn prim(&self) -> Prim {
        self.prim
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.bytes() / self.prim.bytes()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        match &self.memory {
            ArrayMemory::Host(buffer) | ArrayMemory::Mapped(buffer, _) => buffer.len(),
            ArrayMemory::Device(device) => device.bytes(),
            ArrayMemory::Deferred(bytes) => bytes.bytes(),
        }
    }

    /// Returns the bytes on the host. Bytes on a device are copied to the host first, and bytes in
    /// a file that is not mapped are loaded.
    ///
    /// # Panics
    /// If the bytes are on a device that is lost, or must be loaded from a file that has changed or
    /// cannot be read.
    pub fn buffer(&self) -> &Buffer {
        self.try_buffer().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the bytes like [`Array::buffer`].
    ///
    /// # Errors
    /// The error of the device or of the file.
    pub(crate) fn try_buffer(&self) -> Result<&Buffer, Error> {
        match &self.memory {
            ArrayMemory::Host(buffer) | ArrayMemory::Mapped(buffer, _) => Ok(buffer),
            ArrayMemory::Device(device) => device.fetch(),
            ArrayMemory::Deferred(bytes) => bytes.load(),
        }
    }

    /// Returns whether the bytes are in allocated memory of this process: not mapped, not still in
    /// a file, and not only on a device.
    pub(crate) fn is_in_memory(&self) -> bool {
        match &self.memory {
            ArrayMemory::Host(_) => true,
            ArrayMemory::Device(device) => device.is_on_host(),
            ArrayMemory::Deferred(bytes) => bytes.loaded().is_some(),
            ArrayMemory::Mapped(..) => false,
        }
    }

    /// Returns the array, with a copy of its bytes in memory if they are mapped.
    pub(crate) fn copied(&self) -> Array {
        match &self.memory {
            ArrayMemory::Mapped(buffer, _) => Array::on_host(self.prim, Buffer::from_slice_ref(buffer)),
            _ => self.clone(),
        }
    }

    /// Loads the bytes if they are in a file that is not mapped.
    pub(crate) fn load(&self) -> Result<(), Error> {
        if let ArrayMemory::Deferred(bytes) = &self.memory { bytes.load().map(drop) } else { Ok(()) }
    }

    /// Checks that the file of a mapped array has not changed.
    pub(crate) fn check_file(&self) -> Result<(), Error> {
        if let ArrayMemory::Mapped(_, file) = &self.memory { file.check() } else { Ok(()) }
    }

    /// Returns the device allocation of an array made by [`Array::on_device`], or reinterpreted
    /// from such an array; `None` for all other arrays.
    pub fn device_bytes(&self) -> Option<&Arc<DeviceBytes>> {
        match &self.memory {
            ArrayMemory::Device(device) => Some(device),
            ArrayMemory::Host(_) | ArrayMemory::Deferred(_) | ArrayMemory::Mapped(..) => None,
        }
    }

    /// Returns the elements if they have type `T`; for booleans see [`Array::bools`].
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        (self.prim == T::PRIM).then(|| self.buffer().typed_data())
    }

    /// Returns the elements as bytes 0 and 1 if they are booleans.
    pub fn bools(&self) -> Option<&[u8]> {
        (self.prim == Prim::Bool).then(|| self.buffer().as_slice())
    }

    /// Returns an array of the same bytes with the element type `prim`. Returns `None` if the
    /// widths differ, `prim` is `bool`, or mapped floats would become whole numbers. A negative
    /// `i32` index becomes a `u32` index of at least 2^31.
    pub fn reinterpret(&self, prim: Prim) -> Option<Array> {
        let is_mapped = matches!(self.memory, ArrayMemory::Mapped(..));
        let same_width = prim.bytes() == self.prim.bytes();
        // Addresses may depend on whole numbers, so arrays of whole numbers are never mapped.
        let is_safe = prim != Prim::Bool && (prim.is_float() || !is_mapped);
        (same_width && is_safe).then(|| Array { prim, memory: self.memory.clone() })
    }

    /// Returns the elements `start..start + len`. The slice shares the buffer of the array on the
    /// host. Elements on a device are copied to the host first, and elements in a file that is not
    /// mapped are loaded.
    ///
    /// # Panics
    /// If the range exceeds the array, or for the reasons given at [`Array::buffer`].
    pub fn slice(&self, start: usize, len: usize) -> Array {
        let width = self.prim.bytes();
        let buffer = self.buffer().slice_with_length(start * width, len * width);
        match &self.memory {
            ArrayMemory::Mapped(_, file) => {
                Array { prim: self.prim, memory: ArrayMemory::Mapped(buffer, file.clone()) }
            }
            _ => Array::on_host(self.prim, buffer),
        }
    }

    /// Returns element `k`.
    ///
    /// # Panics
    /// If the array has no element `k`, or for the reasons given at [`Array::buffer`].
    pub fn scalar(&self, k: usize) -> Scalar {
        Scalar::from_bits(self.prim, self.bits(k))
    }

    /// Returns the bits of element `k`, zero-extended.
    pub fn bits(&self, k: usize) -> u64 {
        match self.prim.bytes() {
            1 => u64::from(self.words::<u8>()[k]),
            2 => u64::from(self.words::<u16>()[k]),
            4 => u64::from(self.words::<u32>()[k]),
            _ => self.words::<u64>()[k],
        }
    }

    /// Returns the elements as unsigned integers. The width of `W` must be the width of an element.
    pub(crate) fn words<W: ArrowNativeType>(&self) -> &[W] {
        debug_assert_eq!(size_of::<W>(), self.prim.bytes());
        self.buffer().typed_data()
    }

    /// Returns an array of a primitive from unsigned integers of the same width.
    pub(crate) fn from_words<W: ArrowNativeType>(prim: Prim, words: Vec<W>) -> Array {
        debug_assert_eq!(size_of::<W>(), prim.bytes());
        Array::on_host(prim, Buffer::from_vec(words))
    }

    /// Returns the elements as positions, coordinates or flags.
    ///
    /// # Panics
    /// If the elements have no index type: validation of tensors rejects such arrays. Also for the
    /// reasons given at [`Array::buffer`].
    pub(crate) fn indices(&self) -> Indices<'_> {
        match self.prim {
            Prim::I32 => Indices::I32(self.buffer().typed_data()),
            Prim::I64 => Indices::I64(self.buffer().typed_data()),
            Prim::U32 => Indices::U32(self.buffer().typed_data()),
            Prim::U64 => Indices::U64(self.buffer().typed_data()),
            Prim::U8 => Indices::U8(self.buffer().typed_data()),
            other => unreachable!("an array of {other} cannot have indices"),
        }
    }
}

/// The elements of an array of positions, coordinates or flags.
#[derive(Clone, Copy)]
pub(crate) enum Indices<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    U8(&'a [u8]),
}

impl Indices<'_> {
    /// Returns element `k`. A negative element becomes a number of at least 2^63.
    #[inline]
    pub(crate) fn get(self, k: u64) -> u64 {
        let k = k as usize;
        match self {
            Indices::I32(s) => i64::from(s[k]) as u64,
            Indices::I64(s) => s[k] as u64,
            Indices::U32(s) => u64::from(s[k]),
            Indices::U64(s) => s[k],
            Indices::U8(s) => u64::from(s[k]),
        }
    }

    /// Returns the elements of a range, like [`Indices::get`].
    pub(crate) fn to_vec(self, range: Range<u64>) -> Vec<u64> {
        let range = range.start as usize..range.end as usize;
        match self {
            Indices::I32(s) => s[range].iter().map(|&x| i64::from(x) as u64).collect(),
            Indices::I64(s) => s[range].iter().map(|&x| x as u64).collect(),
            Indices::U32(s) => s[range].iter().map(|&x| u64::from(x)).collect(),
            Indices::U64(s) => s[range].to_vec(),
            Indices::U8(s) => s[range].iter().map(|&x| u64::from(x)).collect(),
        }
    }

    /// Returns the number of elements.
    pub(crate) fn len(self) -> u64 {
        let len = match self {
            Indices::I32(s) => s.len(),
            Indices::I64(s) => s.len(),
            Indices::U32(s) => s.len(),
            Indices::U64(s) => s.len(),
            Indices::U8(s) => s.len(),
        };
        len as u64
    }
}

/// Returns the primitive type and the bits of a scalar. The scalar must not be a struct.
pub(crate) fn prim_bits(value: &Scalar) -> (Prim, u64) {
    value.prim().zip(value.to_bits()).expect("flattened scalars are primitives")
}

/// Returns a vector of `len` copies of `value`.
///
/// # Errors
/// When the vector cannot be allocated.
pub(crate) fn filled_vec<T: Clone>(value: T, len: u64) -> Result<Vec<T>, Error> {
    let count = usize::try_from(len).map_err(|_| Error::TooLarge { elements: len, bytes: size_of::<T>() })?;
    let mut vec = reserved_vec(count)?;
    vec.resize(count, value);
    Ok(vec)
}

/// Returns an empty vector with capacity for `len` elements.
///
/// # Errors
/// When the vector cannot be allocated.
pub(crate) fn reserved_vec<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut vec = Vec::new();
    let too_large = |_| Error::TooLarge { elements: len as u64, bytes: size_of::<T>() };
    vec.try_reserve_exact(len).map_err(too_large)?;
    Ok(vec)
}
