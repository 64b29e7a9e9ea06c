//! Axes: the modes along which an operation runs.

use super::error::Cause;
use super::state::{ArrayState, ModeStyle};
use super::{Array, ArrayError};
use crate::error::Error;
use redpoll_logic::Field;
use std::ops::RangeFull;
use std::panic::Location;

/// Modes of an array: all of them (`..`), numbers (negative ones count from the end), or names.
/// [`Axes::keep`] makes reductions keep these modes, with size 1.
///
/// ```
/// use redpoll::Axes;
///
/// # let session = redpoll::Session::default();
/// let a = session.dense([2, 3], 0..6);
/// assert_eq!(a.sum([0, -1]).to_vec::<i64>()?, [15]);
/// assert_eq!(a.sum(Axes::from(1).keep()).shape()?, [2, 1]);
/// assert_eq!(a.at(["i", "j"]).sum("j").to_vec::<i64>()?, [3, 12]);
/// # Ok::<(), redpoll::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes {
    selection: Selection,
    pub(crate) keep: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Selection {
    All,
    Numbers(Vec<i64>),
    Names(Vec<Field>),
}

impl Axes {
    /// Makes reductions along these axes keep the reduced modes, with size 1.
    ///
    /// ```
    /// use redpoll::Axes;
    ///
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], 0..6);
    /// assert_eq!(a.max(Axes::from(1).keep()).shape()?, [2, 1]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[must_use]
    pub fn keep(self) -> Axes {
        Axes { keep: true, ..self }
    }

    fn of(selection: Selection) -> Axes {
        Axes { selection, keep: false }
    }

    /// Returns the numbers of the modes of an array that the axes select, in ascending order.
    pub(crate) fn resolve(&self, state: &ArrayState) -> Result<Vec<usize>, Cause> {
        let fields = &state.expr.info().fields;
        let mut found = match &self.selection {
            Selection::All => (0..fields.len()).collect(),
            Selection::Numbers(numbers) => numbers.iter().map(|k| axis(*k, fields.len())).collect::<Result<_, _>>()?,
            Selection::Names(names) => {
                let find = |name: &Field| {
                    let at = fields.iter().position(|f| f == name).filter(|_| state.style == ModeStyle::Named);
                    at.ok_or_else(|| Cause::UnknownMode { name: name.clone(), names: state.names() })
                };
                names.iter().map(find).collect::<Result<Vec<_>, _>>()?
            }
        };
        found.sort_unstable();
        if let Some(pair) = found.windows(2).find(|w| w[0] == w[1]) {
            return Err(Cause::RepeatedAxis(pair[0] as i64));
        }
        Ok(found)
    }
}

/// Returns the mode of an axis number, which counts from the end if negative.
pub(crate) fn axis(number: i64, rank: usize) -> Result<usize, Cause> {
    let from_end = if number < 0 { number + rank as i64 } else { number };
    usize::try_from(from_end).ok().filter(|k| *k < rank).ok_or(Cause::Axis { axis: number, rank })
}

impl Array {
    /// Returns the mode that an axis number selects, and the size of this mode.
    ///
    /// # Errors
    /// Fails if the array carries an error, its modes are named, or there is no such axis.
    #[track_caller]
    pub(super) fn mode_of(&self, operation: &'static str, number: i64) -> Result<(usize, u64), Error> {
        let state = self.state()?;
        let location = Location::caller();
        let mode = state.require_numbered().and_then(|state| axis(number, state.rank()));
        let mode = mode.map_err(|cause| ArrayError::at(operation, location, cause))?;
        Ok((mode, state.size(mode)))
    }
}

impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Axes {
        Axes::of(Selection::All)
    }
}

impl From<i64> for Axes {
    fn from(number: i64) -> Axes {
        Axes::of(Selection::Numbers(vec![number]))
    }
}

impl<const N: usize> From<[i64; N]> for Axes {
    fn from(numbers: [i64; N]) -> Axes {
        Axes::of(Selection::Numbers(numbers.to_vec()))
    }
}

impl From<&[i64]> for Axes {
    fn from(numbers: &[i64]) -> Axes {
        Axes::of(Selection::Numbers(numbers.to_vec()))
    }
}

impl From<Vec<Field>> for Axes {
    fn from(names: Vec<Field>) -> Axes {
        Axes::of(Selection::Names(names))
    }
}

impl From<&str> for Axes {
    fn from(name: &str) -> Axes {
        Axes::of(Selection::Names(vec![name.into()]))
    }
}

impl<const N: usize> From<[&str; N]> for Axes {
    fn from(names: [&str; N]) -> Axes {
        Axes::of(Selection::Names(names.map(Field::from).to_vec()))
    }
}
