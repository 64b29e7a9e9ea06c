//! Indexing of arrays by coordinates, ranges, new modes, and lists of coordinates.

use super::align::map;
use super::error::Cause;
use super::join::along;
use super::shape::insert_mode;
use super::state::{ArrayState, ModeStyle, position, positions};
use super::{Array, Operand};
use crate::session::Session;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Affine, ComputedFills, DType, Expr, Field, FloatMode, IndexMap, Prim, Scalar, Subscript};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Index of one mode in [`Array::slice`]; [`index!`](crate::index) makes lists of indices.
#[derive(Clone, Debug)]
pub enum Index {
    /// One coordinate, at which the mode is read and dropped. A negative coordinate counts from the
    /// end.
    Coordinate(i64),
    /// Every `step`-th coordinate from `start` (included) to `stop` (excluded). As in Python,
    /// negative bounds count from the end, bounds beyond the mode are cut, and a negative step runs
    /// backwards.
    Range {
        /// The first coordinate; by default the first of the mode, or the last for a negative step.
        start: Option<i64>,
        /// The end, excluded; by default the range runs to the last coordinate of the mode, or to
        /// the first for a negative step.
        stop: Option<i64>,
        /// The distance between successive coordinates.
        step: i64,
    },
    /// Whole modes, as many as needed to give each mode an index.
    Ellipsis,
    /// A new mode of size 1.
    NewAxis,
    /// A list of coordinates to gather; negative ones count from the end.
    Take(Vec<i64>),
    /// A mask of the coordinates to keep, with one value for each coordinate of the mode.
    Mask(Vec<bool>),
    /// An array of integer coordinates to gather. Negative coordinates count from the end, and the
    /// value at a coordinate out of bounds is zero. The modes of this array replace the indexed
    /// mode. If several indices are arrays, lists or masks, they are aligned like operands, and the
    /// modes of the aligned arrays replace the first mode that one of them indexes.
    Gather(Array),
}

/// Makes a list of [`Index`]es from numbers, ranges, `(range, step)`, `Ellipsis`, `NewAxis`,
/// vectors of coordinates or booleans, and arrays of integers.
///
/// ```
/// use redpoll::{index, Index};
///
/// # let session = redpoll::Session::default();
/// let a = session.dense([2, 4], 0..8);
/// assert_eq!(a.slice(index![1, (.., -2)]).to_vec::<i32>()?, [7, 5]);
/// assert_eq!(a.slice(index![Index::Ellipsis, vec![3, 0]]).to_vec::<i32>()?, [3, 0, 7, 4]);
/// # Ok::<(), redpoll::Error>(())
/// ```
#[macro_export]
macro_rules! index {
    ($($index:expr),* $(,)?) => { [$($crate::Index::from($index)),*] };
}

impl Array {
    /// Returns a part of the array. The first [`Index`] selects coordinates of the first mode, and
    /// so on. The last modes need no index; a mode without an index is whole.
    ///
    /// ```
    /// use redpoll::{index, Index};
    ///
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], 0..6);
    /// assert_eq!(a.slice(index![1]).to_vec::<i32>()?, [3, 4, 5]);
    /// assert_eq!(a.slice(index![.., 1..]).to_vec::<i32>()?, [1, 2, 4, 5]);
    /// assert_eq!(a.slice(index![Index::NewAxis, Index::Ellipsis, -1]).shape()?, [1, 2]);
    /// assert_eq!(a.slice(index![vec![true, false]]).to_vec::<i32>()?, [0, 1, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn slice(&self, indices: impl IntoIterator<Item = Index>) -> Array {
        let indices: Vec<Index> = indices.into_iter().collect();
        self.derive("slice", |state| slice(self.session(), state.require_numbered()?, indices))
    }

    /// Gathers values along an axis: the index is a vector of coordinates, an array of integers, or
    /// another [`Index`].
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([10, 20, 30]);
    /// assert_eq!(a.take(vec![2, 0, 2], 0).to_vec::<i32>()?, [30, 10, 30]);
    /// let coordinates = session.vector([1, 1]);
    /// assert_eq!(a.take(&coordinates, 0).to_vec::<i32>()?, [20, 20]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn take(&self, indices: impl Into<Index>, axis: i64) -> Array {
        let index = indices.into();
        self.derive("take", |state| {
            let mode = super::axes::axis(axis, state.require_numbered()?.rank())?;
            let mut all = vec![Index::from(..); mode];
            all.push(index);
            slice(self.session(), state, all)
        })
    }

    /// Reads one value of the array for each element of `indices`. The element is the coordinate of
    /// the value along `axis`. The other modes of both arrays must have equal sizes. A negative
    /// coordinate counts from the end; the value at a coordinate out of bounds is zero.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], [1, 2, 3, 4, 5, 6]);
    /// let coordinates = session.dense([2, 1], [2, 0]);
    /// assert_eq!(a.take_along_axis(&coordinates, 1).to_vec::<i32>()?, [3, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn take_along_axis(&self, indices: impl Into<Operand>, axis: i64) -> Array {
        let floats = self.session().config().optimizer.float_mode;
        self.combine("take_along_axis", &[indices.into()], |states| {
            let [array, coordinates] = states else { unreachable!("two operands") };
            let mode = super::axes::axis(axis, array.require_numbered()?.rank())?;
            if coordinates.require_numbered()?.rank() != array.rank() {
                let (a, b) = (array.shape(), coordinates.shape());
                return Err(Cause::Shape(format!(
                    "coordinates of shape {b:?} do not match an array of shape {a:?}; both must have the same number of modes"
                )));
            }
            let coordinate = resolve_coordinates(coordinates, array.size(mode))?;
            let source = Field::from("source");
            let mut labels = positions(array.rank());
            labels[mode] = source.clone();
            let gathered = read_at(array.label(&labels)?, &[(source, coordinate.expr.clone())], floats)?;
            let sources = ArrayState::sources(states);
            ArrayState { sources, ..array.clone() }.number_modes(gathered, &positions(array.rank()))
        })
    }
}

fn slice(session: &Session, state: &ArrayState, indices: Vec<Index>) -> Result<ArrayState, Cause> {
    let rank = state.rank();
    let index_count = indices.iter().filter(|i| !matches!(i, Index::Ellipsis | Index::NewAxis)).count();
    let ellipses = indices.iter().filter(|i| matches!(i, Index::Ellipsis)).count();
    if index_count > rank || ellipses > 1 {
        let shape = state.shape();
        return Err(Cause::Shape(format!(
            "{index_count} indices and {ellipses} ellipses do not match shape {shape:?}; expected at most {rank} indices and one ellipsis"
        )));
    }
    let mut all: Vec<Index> = Vec::new();
    for index in indices {
        match index {
            Index::Ellipsis => all.extend(std::iter::repeat_n(Index::from(..), rank - index_count)),
            index => all.push(index),
        }
    }
    if ellipses == 0 {
        all.extend(std::iter::repeat_n(Index::from(..), rank - index_count));
    }
    // Modes are processed from last to first, so that dropped and inserted modes do not shift the
    // modes that are processed later.
    let mut gathers: Vec<(usize, ArrayState)> = Vec::new();
    let mut part = state.clone();
    let mut mode = rank;
    for index in all.into_iter().rev() {
        if !matches!(index, Index::NewAxis) {
            mode -= 1;
        }
        let rank_before = part.rank();
        part = match index {
            Index::Coordinate(i) => drop_mode(&part, mode, resolve_coordinate(i, part.size(mode))?)?,
            Index::Range { start, stop, step } => slice_range(&part, mode, start, stop, step)?,
            Index::NewAxis => insert_mode(&part, mode)?,
            Index::Take(list) => {
                let size = part.size(mode);
                let list = list.into_iter().map(|i| resolve_coordinate(i, size)).collect::<Result<Vec<_>, _>>()?;
                gathers.push((mode, coordinate_vector(session, list)?));
                part
            }
            Index::Mask(mask) => {
                if mask.len() as u64 != part.size(mode) {
                    let size = part.size(mode);
                    return Err(Cause::Shape(format!(
                        "a mask of length {} does not match mode {mode} of size {size}",
                        mask.len()
                    )));
                }
                let list = (0..).zip(mask).filter(|(_, is_kept)| *is_kept).map(|(i, _)| i).collect();
                gathers.push((mode, coordinate_vector(session, list)?));
                part
            }
            Index::Gather(array) => {
                let coordinates =
                    array.state.get().map_err(|e| Cause::Shape(format!("the array of coordinates: {e}")))?;
                gathers.push((mode, resolve_coordinates(coordinates.require_numbered()?, part.size(mode))?));
                part
            }
            Index::Ellipsis => unreachable!("ellipses were expanded"),
        };
        // A dropped or inserted mode changes the numbers of the gathered modes after it.
        let shift = part.rank() as i64 - rank_before as i64;
        let shifted = gathers.iter_mut().filter(|(at, _)| *at > mode || (*at == mode && shift > 0));
        shifted.for_each(|(at, _)| *at = (*at as i64 + shift) as usize);
    }
    gathers.reverse();
    if gathers.is_empty() { Ok(part) } else { gather(&part, &gathers, session.config().optimizer.float_mode) }
}

/// Returns the coordinate that a number selects in a mode; a negative number counts from the end.
pub(super) fn resolve_coordinate(i: i64, size: u64) -> Result<i64, Cause> {
    let n = i64::try_from(size).unwrap_or(i64::MAX);
    let at = if i < 0 { i + n } else { i };
    let out_of_range = || {
        Cause::Shape(format!(
            "coordinate {i} is out of range for a mode of size {size}; coordinates are {}..{size}",
            -n
        ))
    };
    if (0..n).contains(&at) { Ok(at) } else { Err(out_of_range()) }
}

fn drop_mode(state: &ArrayState, mode: usize, at: i64) -> Result<ArrayState, Cause> {
    let coordinates = vec![(position(mode), Subscript::Affine(Affine::constant(at)))];
    let expr = state.expr.clone().index(IndexMap { coordinates, dimensions: Vec::new(), outside: None })?;
    let order = expr.info().fields.clone();
    state.number_modes(expr, &order)
}

pub(super) fn slice_range(
    state: &ArrayState,
    mode: usize,
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
) -> Result<ArrayState, Cause> {
    if step == 0 {
        return Err(Cause::Shape("the step of a range must not be 0".to_owned()));
    }
    let n = i64::try_from(state.size(mode)).unwrap_or(i64::MAX);
    let (lowest, highest) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let resolve_bound = |i: i64| (if i < 0 { i.saturating_add(n) } else { i }).clamp(lowest, highest);
    let first = start.map_or(if step > 0 { lowest } else { highest }, resolve_bound);
    let past_last = stop.map_or(if step > 0 { highest } else { lowest }, resolve_bound);
    let count = if step > 0 { past_last - first } else { first - past_last };
    let size = count.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
    if (first, step, size) == (0, 1, n.unsigned_abs()) {
        return Ok(state.clone());
    }
    let form = match size {
        0 | 1 => Affine::constant(first),
        _ => Affine::field(position(mode)).times(step).plus(&Affine::constant(first)),
    };
    along(state, mode, size, Subscript::Affine(form))
}

fn coordinate_vector(session: &Session, list: Vec<i64>) -> Result<ArrayState, Cause> {
    let array = session.vector(list);
    array.state.get().map_err(|e| Cause::Shape(e.to_string()))
}

/// Casts coordinates to `i64`, and adds the size of the mode to negative coordinates, which count
/// from the end.
fn resolve_coordinates(coordinates: &ArrayState, size: u64) -> Result<ArrayState, Cause> {
    let prim = coordinates.prim().filter(|p| p.is_int());
    let Some(prim) = prim else {
        let found = &coordinates.expr.info().dtype;
        return Err(Cause::Shape(format!(
            "coordinates must be integers, found {found}; cast them, or pass a mask as a list of booleans"
        )));
    };
    let coordinates = coordinates.cast(&DType::I64)?;
    if !prim.is_signed() {
        return Ok(coordinates);
    }
    let before = map(Builtin::Lt, &[coordinates.clone(), ArrayState::number(0i64)])?;
    let from_end = map(Builtin::Add, &[coordinates.clone(), ArrayState::number(size as i64)])?;
    map(Builtin::IfElse, &[before, from_end, coordinates])
}

/// Gathers values at coordinates of the given modes. The modes of the arrays of coordinates replace
/// the first gathered mode.
fn gather(state: &ArrayState, gathers: &[(usize, ArrayState)], floats: FloatMode) -> Result<ArrayState, Cause> {
    let (coordinates, _) =
        super::align::align(&gathers.iter().map(|(_, coordinates)| coordinates.clone()).collect::<Vec<_>>())?;
    // An aligned expression lacks the modes of size 1 along which it is broadcast.
    let rank = gathers.iter().map(|(_, coordinates)| coordinates.rank()).max().unwrap_or(0);
    let coordinate_fields: Vec<Field> = (0..rank).map(|k| Field::from(format!("coordinate{k}"))).collect();
    let mut order: Vec<Field> = Vec::new();
    for mode in 0..state.rank() {
        match gathers.iter().position(|(at, _)| *at == mode) {
            Some(0) => order.extend(coordinate_fields.iter().cloned()),
            Some(_) => {}
            None => order.push(position(mode)),
        }
    }
    let mut conditions = Vec::new();
    for ((mode, _), coordinate) in gathers.iter().zip(coordinates) {
        let names: Vec<Field> = coordinate
            .info()
            .fields
            .iter()
            .map(|f| {
                let at = positions(rank).iter().position(|p| p == f).expect("arrays of coordinates are positional");
                coordinate_fields[at].clone()
            })
            .collect();
        conditions.push((position(*mode), coordinate.relabel(names)?));
    }
    let expr = read_at(state.expr.clone(), &conditions, floats)?;
    let sources = ArrayState::sources(gathers.iter().map(|(_, coordinates)| coordinates).chain([state]));
    ArrayState { style: ModeStyle::Positional, sources, ..state.clone() }.number_modes(expr, &order)
}

/// Reads an expression `x` at a coordinate of each given field `f`:
/// `aggregate(choose, 0, ifelse(f = coordinate and .., x, 0), f ..)`. Only the element at the
/// coordinates passes the condition, so the fold returns that element, or 0 if a coordinate is out
/// of bounds.
fn read_at(expr: Expr, at: &[(Field, Expr)], floats: FloatMode) -> Result<Expr, Cause> {
    let prim = expr.info().dtype.prim().ok_or_else(|| Cause::Shape("structs have no zero".to_owned()))?;
    if prim.is_float() && floats == FloatMode::StrictIeee {
        return read_at_strict(&expr, at, prim);
    }
    let zero = Expr::literal(Scalar::zero(prim));
    let mut value = expr;
    for (field, coordinate) in at {
        let is_read = Expr::mapjoin(Builtin::Eq, [Expr::coordinate(field.clone()), coordinate.clone()])?;
        value = Expr::mapjoin(Builtin::IfElse, [is_read, value, zero.clone()])?;
    }
    let op = Op::from(Builtin::Choose);
    debug_assert!(op.fold_identity(&value.info().dtype, FloatMode::Relaxed).is_some());
    Ok(Expr::aggregate(op, Scalar::zero(prim), value, at.iter().map(|(f, _)| f.clone()))?)
}

/// Implements [`read_at`] for floats in the strict mode, where `choose` would lose a -0. Elements
/// at other coordinates are replaced by -0, which is the exact identity of addition.
fn read_at_strict(expr: &Expr, at: &[(Field, Expr)], prim: Prim) -> Result<Expr, Cause> {
    let zero = |v: f64| Scalar::F64(v).cast(prim).expect("a float casts to a float");
    let (mut value, mut inside) = (expr.clone(), Vec::new());
    for (field, coordinate) in at {
        let is_read = Expr::mapjoin(Builtin::Eq, [Expr::coordinate(field.clone()), coordinate.clone()])?;
        value = Expr::mapjoin(Builtin::IfElse, [is_read, value, Expr::literal(zero(-0.0))])?;
        let size = expr.info().dimension(field).expect("sizes of arrays are constant");
        inside.push(Expr::mapjoin(Builtin::Ge, [coordinate.clone(), Expr::number(0)])?);
        inside.push(Expr::mapjoin(Builtin::Lt, [coordinate.clone(), Expr::number(size as i64)])?);
    }
    let found = Expr::aggregate(Builtin::Add, zero(-0.0), value, at.iter().map(|(f, _)| f.clone()))?;
    let inside = Expr::mapjoin(Builtin::And, inside)?;
    let read = Expr::mapjoin(Builtin::IfElse, [inside, found.clone(), Expr::literal(zero(0.0))])?;
    let read = read.reorder(found.info().fields.clone())?;
    // The fill value that is inferred for the sum is a multiple of the fill value of `expr`. The
    // result gets the fill value of `expr` instead.
    let fill = expr.fill_in(FloatMode::StrictIeee)?;
    Ok(if read.info().fill == fill { read } else { read.refill(Some(fill), ComputedFills::Keep)? })
}

impl Index {
    fn range(start: Option<i64>, stop: Option<i64>) -> Index {
        Index::Range { start, stop, step: 1 }
    }
}

impl From<i64> for Index {
    fn from(at: i64) -> Index {
        Index::Coordinate(at)
    }
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Index {
        Index::range(None, None)
    }
}

impl From<Range<i64>> for Index {
    fn from(range: Range<i64>) -> Index {
        Index::range(Some(range.start), Some(range.end))
    }
}

impl From<RangeFrom<i64>> for Index {
    fn from(range: RangeFrom<i64>) -> Index {
        Index::range(Some(range.start), None)
    }
}

impl From<RangeTo<i64>> for Index {
    fn from(range: RangeTo<i64>) -> Index {
        Index::range(None, Some(range.end))
    }
}

impl From<RangeInclusive<i64>> for Index {
    fn from(range: RangeInclusive<i64>) -> Index {
        Index::range(Some(*range.start()), range.end().checked_add(1).filter(|end| *end != 0))
    }
}

impl From<RangeToInclusive<i64>> for Index {
    fn from(range: RangeToInclusive<i64>) -> Index {
        Index::range(None, range.end.checked_add(1).filter(|end| *end != 0))
    }
}

macro_rules! impl_from_stepped_range {
    ($($range:ty),*) => {$(
        /// Combines a range with its step.
        impl From<($range, i64)> for Index {
            fn from((range, step): ($range, i64)) -> Index {
                match range.into() {
                    Index::Range { start, stop, .. } => Index::Range { start, stop, step },
                    other => unreachable!("a range became {other:?}"),
                }
            }
        }
    )*};
}
impl_from_stepped_range!(
    RangeFull,
    Range<i64>,
    RangeFrom<i64>,
    RangeTo<i64>,
    RangeInclusive<i64>,
    RangeToInclusive<i64>
);

impl From<Vec<i64>> for Index {
    fn from(list: Vec<i64>) -> Index {
        Index::Take(list)
    }
}

impl From<Vec<bool>> for Index {
    fn from(mask: Vec<bool>) -> Index {
        Index::Mask(mask)
    }
}

impl From<&Array> for Index {
    fn from(coordinates: &Array) -> Index {
        Index::Gather(coordinates.clone())
    }
}
