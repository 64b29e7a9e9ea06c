//! Rust types of the values of arrays.

use redpoll_logic::{Prim, Scalar};
use redpoll_storage::{Array as Buffer, Element};

/// A Rust type of the values of arrays: `bool`, integers of 8 to 64 bits, `f32` and `f64`.
pub trait Value: Copy + Into<Scalar> + sealed::Sealed {
    /// The corresponding primitive type.
    const PRIM: Prim;

    /// Moves the values to a buffer; booleans take a byte each.
    fn into_buffer(values: Vec<Self>) -> Buffer;

    /// Copies the values of a buffer, or returns `None` if they have another type.
    fn of_buffer(buffer: &Buffer) -> Option<Vec<Self>>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! impl_value {
    ($($t:ty)*) => {$(
        impl sealed::Sealed for $t {}

        impl Value for $t {
            const PRIM: Prim = <$t as Element>::PRIM;

            fn into_buffer(values: Vec<$t>) -> Buffer {
                Buffer::from_vec(values)
            }

            fn of_buffer(buffer: &Buffer) -> Option<Vec<$t>> {
                buffer.as_slice::<$t>().map(<[$t]>::to_vec)
            }
        }
    )*};
}
impl_value!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl sealed::Sealed for bool {}

impl Value for bool {
    const PRIM: Prim = Prim::Bool;

    fn into_buffer(values: Vec<bool>) -> Buffer {
        Buffer::from_bools(values)
    }

    fn of_buffer(buffer: &Buffer) -> Option<Vec<bool>> {
        buffer.bools().map(|bytes| bytes.iter().map(|b| *b != 0).collect())
    }
}
