//! Sliding windows and chunks, which are maps of coordinates and copy nothing; also convolutions,
//! which sum products over such windows.

use super::axes::axis;
use super::error::Cause;
use super::reduce::fold;
use super::state::{ArrayState, position, positions};
use super::{Array, Axes, Operand};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, Field, IndexMap, Scalar, Subscript};

/// The part of a convolution to compute, for an array of size `n` and a kernel of size `k`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// All elements where array and kernel overlap: size `n + k - 1`.
    Full,
    /// One element per element of the array, on which the kernel is centered: size `n`.
    Same,
    /// The elements where the whole kernel lies within the array: size `n - k + 1`, or 0 if the
    /// kernel is larger than the array.
    Valid,
}

impl Array {
    /// Returns all windows of `size` adjacent elements along an axis. In the result, a coordinate
    /// of the axis is the start of a window, and a new last mode has the offsets within the window.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let pairs = session.vector([1, 2, 4]).sliding_window(2, 0);
    /// assert_eq!(pairs.shape()?, [2, 2]);
    /// assert_eq!(pairs.to_vec::<i32>()?, [1, 2, 2, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn sliding_window(&self, size: u64, axis: i64) -> Array {
        self.derive("sliding_window", |state| {
            let mode = self::axis(axis, state.require_numbered()?.rank())?;
            let n = state.size(mode);
            if size == 0 || size > n {
                return Err(Cause::Shape(format!(
                    "expected a window size from 1 to {n}, the size of mode {mode}, found {size}"
                )));
            }
            let (begin, within) = (position(mode), Field::from("window"));
            let at = Affine::field(begin.clone()).plus(&Affine::field(within.clone()));
            let expr = state.expr.clone().index(IndexMap {
                coordinates: vec![(begin.clone(), Subscript::Affine(at))],
                dimensions: vec![(begin, n - size + 1), (within.clone(), size)],
                outside: None,
            })?;
            let order: Vec<Field> = positions(state.rank()).into_iter().chain([within]).collect();
            state.number_modes(expr, &order)
        })
    }

    /// Splits a mode into chunks of `size` elements: the mode of chunks is followed by the mode of
    /// offsets within a chunk. A last, partial chunk is padded with zeros.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let chunks = session.vector([1, 2, 3]).chunks(2, 0);
    /// assert_eq!(chunks.shape()?, [2, 2]);
    /// assert_eq!(chunks.sum(1).to_vec::<i64>()?, [3, 3]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn chunks(&self, size: u64, axis: i64) -> Array {
        self.derive("chunks", |state| {
            let mode = self::axis(axis, state.require_numbered()?.rank())?;
            let n = state.size(mode);
            let step = i64::try_from(size).ok().filter(|step| *step > 0);
            let step = step.ok_or_else(|| {
                Cause::Shape(format!("expected a chunk size of at least 1 that fits an `i64`, found {size}"))
            })?;
            let zero = Scalar::zero(state.prim().ok_or_else(|| Cause::Shape("structs have no zero".to_owned()))?);
            let (chunk, within) = (position(mode), Field::from("within"));
            let at = Affine::field(chunk.clone()).times(step).plus(&Affine::field(within.clone()));
            let expr = state.expr.clone().index(IndexMap {
                coordinates: vec![(chunk.clone(), Subscript::Affine(at))],
                dimensions: vec![(chunk, n.div_ceil(size)), (within.clone(), size)],
                outside: (n % size != 0).then_some(zero),
            })?;
            let mut order = positions(state.rank());
            order.insert(mode + 1, within);
            state.number_modes(expr, &order)
        })
    }

    /// Convolves the array with a kernel that has the same number of modes:
    /// `out[i] = sum(kernel[t] * self[i - t], t)`. The first `i` of a mode in which the kernel has
    /// size `k` is 0 for [`Overlap::Full`], `(k - 1) / 2` (rounded down) for [`Overlap::Same`], and
    /// `k - 1` for [`Overlap::Valid`]. The array is zero beyond its bounds.
    ///
    /// ```
    /// use redpoll::Overlap;
    ///
    /// # let session = redpoll::Session::default();
    /// let (a, kernel) = (session.vector([1, 0, 2]), session.vector([1, 10]));
    /// assert_eq!(a.convolve(&kernel, Overlap::Full).to_vec::<i32>()?, [1, 10, 2, 20]);
    /// assert_eq!(a.convolve(&kernel, Overlap::Valid).to_vec::<i32>()?, [10, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn convolve(&self, kernel: impl Into<Operand>, overlap: Overlap) -> Array {
        self.combine("convolve", &[kernel.into()], |states| {
            let [array, kernel] = states else { unreachable!("two operands") };
            let (rank, taps) = (array.require_numbered()?.rank(), kernel.require_numbered()?.shape());
            if taps.len() != rank || taps.contains(&0) {
                let shape = array.shape();
                return Err(Cause::Shape(format!(
                    "a kernel of shape {taps:?} does not match an array of shape {shape:?}; both must have the same \
                     number of modes, and no mode of the kernel may have size 0"
                )));
            }
            let windows = tap_windows(array, &taps, overlap)?;
            let product = super::align::map(Builtin::Mul, &[windows, kernel.clone()])?;
            let axes: Vec<i64> = (rank..2 * rank).map(|k| k as i64).collect();
            fold(&product, &Axes::from(&axes[..]), Builtin::Add, Scalar::I64(0))
        })
    }
}

/// Returns the elements of the array at `i + first - tap`, where `first` depends on the overlap.
/// The first modes range over the elements `i` of the convolution, and the last modes over the taps
/// of the kernel.
fn tap_windows(array: &ArrayState, taps: &[u64], overlap: Overlap) -> Result<ArrayState, Cause> {
    let rank = taps.len();
    let overflow = || {
        Cause::Shape(format!(
            "the convolution of shape {:?} with a kernel of shape {taps:?} does not fit 64 bits",
            array.shape()
        ))
    };
    let (mut coordinates, mut dimensions) = (Vec::new(), Vec::new());
    let tap_modes: Vec<Field> = (0..rank).map(|k| Field::from(format!("tap{k}"))).collect();
    for (mode, (tap, &k)) in tap_modes.iter().zip(taps).enumerate() {
        let n = array.size(mode);
        let (first, size) = match overlap {
            Overlap::Full => (0, n.checked_add(k - 1).ok_or_else(overflow)?),
            Overlap::Same => ((k - 1) / 2, n),
            Overlap::Valid => (k - 1, (n + 1).saturating_sub(k)),
        };
        let first = i64::try_from(first).map_err(|_| overflow())?;
        let coordinate = Affine::field(position(mode)).plus(&Affine::constant(first));
        coordinates.push((position(mode), Subscript::Affine(coordinate.plus(&Affine::field(tap.clone()).times(-1)))));
        dimensions.extend([(position(mode), size), (tap.clone(), k)]);
    }
    let zero = Scalar::zero(array.prim().ok_or_else(|| Cause::Shape("structs have no zero".to_owned()))?);
    let outside = (overlap != Overlap::Valid).then_some(zero);
    let expr = array.expr.clone().index(IndexMap { coordinates, dimensions, outside })?;
    let order: Vec<Field> = positions(rank).into_iter().chain(tap_modes).collect();
    array.number_modes(expr, &order)
}
