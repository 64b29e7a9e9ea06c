//! Sorting of buffers of indices.

use super::block::MemoryBlock;
use redpoll_logic::Prim;
use std::cell::RefCell;
use std::ops::Range;

/// Expands to `$body` with `$t` as the Rust type of an integer primitive.
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

/// Minimum number of elements for sorting by marks.
const MIN_MARKED: usize = 24;
/// Maximum number of marks per element.
const MARKS_PER_ELEMENT: u64 = 64;
/// Maximum number of marks: 256 KiB, which fit the caches of a core.
const MAX_MARKS: u64 = 1 << 21;

thread_local! {
    /// One bit for each number between the least and the greatest element; all bits are 0 between
    /// two sorts.
    static MARKS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Sorts a range of elements in ascending order.
///
/// At least `MIN_MARKED` distinct, non-negative numbers that lie close together are marked in a bit
/// set and read in order; other elements are sorted by comparisons.
pub(super) fn sort(block: &mut MemoryBlock, prim: Prim, range: Range<usize>) {
    by_index!(prim, T => {
        let elements = &mut block.as_native_mut::<T>()[range];
        #[allow(clippy::unnecessary_cast, reason = "one of the types is `i64`")]
        let sorted = elements.len() >= MIN_MARKED && sort_by_marks(elements, |x| x as i64, |x| x as T);
        if !sorted {
            elements.sort_unstable();
        }
    });
}

/// Sorts distinct non-negative numbers by marks. Returns `false`, with the elements unchanged, if a
/// number is negative, the numbers are too far apart, or two are equal.
fn sort_by_marks<T: Copy>(elements: &mut [T], number: impl Fn(T) -> i64, element: impl Fn(i64) -> T) -> bool {
    let bounds = |(least, greatest): (i64, i64), x: &T| (least.min(number(*x)), greatest.max(number(*x)));
    let (least, greatest) = elements.iter().fold((i64::MAX, i64::MIN), bounds);
    // Negative values are sorted by comparisons, and so are `u64` values that are negative as
    // `i64`.
    let Some(last) = greatest.checked_sub(least).filter(|_| least >= 0).map(|last| last as u64) else { return false };
    if last >= MAX_MARKS.min(MARKS_PER_ELEMENT * elements.len() as u64) {
        return false;
    }
    MARKS.with_borrow_mut(|marks| {
        let words = (last / 64 + 1) as usize;
        if marks.len() < words {
            marks.resize(words, 0);
        }
        let marks = &mut marks[..words];
        for x in elements.iter() {
            let at = (number(*x) - least) as u64;
            marks[(at / 64) as usize] |= 1 << (at % 64);
        }
        let all = marks.iter().map(|word| word.count_ones() as usize).sum::<usize>() == elements.len();
        if !all {
            marks.fill(0);
            return false;
        }
        let mut sorted = elements.iter_mut();
        for (k, word) in marks.iter_mut().enumerate() {
            let (first, mut bits) = (least + 64 * k as i64, std::mem::take(word));
            while bits != 0 {
                if let Some(slot) = sorted.next() {
                    *slot = element(first + i64::from(bits.trailing_zeros()));
                }
                bits &= bits - 1;
            }
        }
        true
    })
}

/// Elements of any width, read as `i64`.
#[derive(Clone, Copy)]
enum IndexSlice<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
}

impl<'a> IndexSlice<'a> {
    fn new(block: &'a MemoryBlock, prim: Prim) -> IndexSlice<'a> {
        match prim {
            Prim::I8 => IndexSlice::I8(block.as_native()),
            Prim::I16 => IndexSlice::I16(block.as_native()),
            Prim::I32 => IndexSlice::I32(block.as_native()),
            Prim::U8 => IndexSlice::U8(block.as_native()),
            Prim::U16 => IndexSlice::U16(block.as_native()),
            Prim::U32 => IndexSlice::U32(block.as_native()),
            // A `u64` index is loaded as the `i64` of the same bits, and compared as such.
            _ => IndexSlice::I64(block.as_native()),
        }
    }

    fn get(self, at: usize) -> i64 {
        match self {
            IndexSlice::I8(s) => s[at].into(),
            IndexSlice::I16(s) => s[at].into(),
            IndexSlice::I32(s) => s[at].into(),
            IndexSlice::I64(s) => s[at],
            IndexSlice::U8(s) => s[at].into(),
            IndexSlice::U16(s) => s[at].into(),
            IndexSlice::U32(s) => s[at].into(),
        }
    }
}

/// Sorts the numbers `k` in a range of `perm` by `(major[k], minor[k], k)`; the last key makes the
/// order unique.
pub(super) fn sort_by(
    (perm, perm_prim): (&mut MemoryBlock, Prim),
    (major, major_prim): (&MemoryBlock, Prim),
    (minor, minor_prim): (&MemoryBlock, Prim),
    range: Range<usize>,
) {
    let (major, minor) = (IndexSlice::new(major, major_prim), IndexSlice::new(minor, minor_prim));
    by_index!(perm_prim, T => perm.as_native_mut::<T>()[range].sort_unstable_by_key(|k| {
        (major.get(*k as usize), minor.get(*k as usize), *k)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Marks sort distinct numbers that lie close together; other numbers are rejected, and no
        /// mark is left.
        #[test]
        fn marks_sort_different_numbers(
            numbers in proptest::collection::vec(0..3000i64, 0..200),
            low in prop_oneof![Just(0), Just(1 << 40), Just(i64::MAX - 3000)],
        ) {
            let mut elements: Vec<i64> = numbers.iter().map(|n| n + low).collect();
            let different: BTreeSet<i64> = elements.iter().copied().collect();
            let before = elements.clone();
            let done = sort_by_marks(&mut elements, |x| x, |x| x);
            let first = *different.first().unwrap_or(&0);
            let near = different.last().is_some_and(|last| ((last - first) as u64) < MARKS_PER_ELEMENT * before.len() as u64);
            prop_assert_eq!(done, near && different.len() == before.len());
            prop_assert_eq!(elements, if done { different.into_iter().collect() } else { before });
            MARKS.with_borrow(|marks| assert!(marks.iter().all(|word| *word == 0)));
        }
    }

    #[test]
    fn negative_numbers_and_those_far_apart_are_compared() {
        let far = [5, i64::MAX, 0, 1 << 30];
        for numbers in [&[-1, 3, 2][..], &[i64::MIN, i64::MAX], &far] {
            let mut elements = numbers.to_vec();
            assert!(!sort_by_marks(&mut elements, |x| x, |x| x));
            assert_eq!(elements, numbers);
        }
    }
}
