//! Sorting of buffers of indices.

use super::block::Block;
use redpoll_logic::Prim;
use std::ops::Range;

/// Runs `$body` with `$t` as the Rust type of an integer primitive.
macro_rules! by_index {
    ($prim:expr, $t:ident => $body:expr) => {
        match $prim {
            Prim::I8 => by_index!(@ i8, $t, $body),
            Prim::I16 => by_index!(@ i16, $t, $body),
            Prim::I32 => by_index!(@ i32, $t, $body),
            Prim::I64 => by_index!(@ i64, $t, $body),
            Prim::U8 => by_index!(@ u8, $t, $body),
            Prim::U16 => by_index!(@ u16, $t, $body),
            Prim::U32 => by_index!(@ u32, $t, $body),
            Prim::U64 => by_index!(@ u64, $t, $body),
            Prim::Bool | Prim::F32 | Prim::F64 => unreachable!("the verifier admits integers only"),
        }
    };
    (@ $rust:ty, $t:ident, $body:expr) => {{
        type $t = $rust;
        $body
    }};
}

/// Sorts a range of elements in ascending order.
pub(super) fn sort(block: &mut Block, prim: Prim, range: Range<usize>) {
    by_index!(prim, T => block.as_native_mut::<T>()[range].sort_unstable());
}

/// Elements of any width, read as `i64`.
#[derive(Clone, Copy)]
enum Indices<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
}

impl<'a> Indices<'a> {
    fn new(block: &'a Block, prim: Prim) -> Indices<'a> {
        match prim {
            Prim::I8 => Indices::I8(block.as_native()),
            Prim::I16 => Indices::I16(block.as_native()),
            Prim::I32 => Indices::I32(block.as_native()),
            Prim::U8 => Indices::U8(block.as_native()),
            Prim::U16 => Indices::U16(block.as_native()),
            Prim::U32 => Indices::U32(block.as_native()),
            // A `u64` index is loaded as the `i64` of the same bits, and is compared as such.
            _ => Indices::I64(block.as_native()),
        }
    }

    fn get(self, at: usize) -> i64 {
        match self {
            Indices::I8(s) => s[at].into(),
            Indices::I16(s) => s[at].into(),
            Indices::I32(s) => s[at].into(),
            Indices::I64(s) => s[at],
            Indices::U8(s) => s[at].into(),
            Indices::U16(s) => s[at].into(),
            Indices::U32(s) => s[at].into(),
        }
    }
}

/// Sorts the numbers `k` in a range of `perm` by `(major[k], minor[k], k)`; the last key makes the order unique.
pub(super) fn sort_by(
    (perm, perm_prim): (&mut Block, Prim),
    (major, major_prim): (&Block, Prim),
    (minor, minor_prim): (&Block, Prim),
    range: Range<usize>,
) {
    let (major, minor) = (Indices::new(major, major_prim), Indices::new(minor, minor_prim));
    by_index!(perm_prim, T => perm.as_native_mut::<T>()[range].sort_unstable_by_key(|k| {
        (major.get(*k as usize), minor.get(*k as usize), *k)
    }));
}
