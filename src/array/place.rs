//! Reads of stored arrays without a plan: whole tensors and single elements.

use super::error::{ArrayError, Cause};
use super::slice::resolve_coordinate;
use super::sources::{Source, Sources};
use super::state::ArrayState;
use super::{Array, Index, Value};
use crate::error::Error;
use crate::session::Session;
use redpoll_logic::expr::Node;
use redpoll_logic::{Expr, Field, Format, IndexMap, TensorType};
use redpoll_storage::{Tensor, Values};
use std::collections::HashMap;

impl Array {
    /// Returns the element at the given coordinates, one for each mode in order. A negative
    /// coordinate counts from the end.
    ///
    /// The element is read in place from a stored array: a tensor, a file, a computed array (see
    /// [`Array::compute`]), or a slice or permutation of one of these. For other arrays, a plan
    /// computes this element alone.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], 0..6);
    /// assert_eq!(a.get::<i32>([1, -1])?, 5);
    /// let squares = a.square();
    /// squares.compute()?;
    /// assert_eq!(squares.get::<i32>([1, 1])?, 16);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if the number of coordinates differs from the number
    /// of modes, a coordinate is out of range, or the dtype differs from `T`.
    #[track_caller]
    pub fn get<T: Value>(&self, coordinates: impl IntoIterator<Item = i64>) -> Result<T, Error> {
        let coordinates: Vec<i64> = coordinates.into_iter().collect();
        let element = self.derive("get", |state| {
            let (found, shape) = (coordinates.len(), state.shape());
            if found != shape.len() {
                return Err(Cause::Shape(format!(
                    "expected a coordinate for each of the {} modes of shape {shape:?}, found {found}",
                    shape.len()
                )));
            }
            for (i, size) in coordinates.iter().zip(shape) {
                resolve_coordinate(*i, size)?;
            }
            state.number_by_name(state.fields())
        });
        let tensor = element.slice(coordinates.into_iter().map(Index::from)).collect()?;
        match value(&tensor, &[])? {
            Some(value) => Ok(value),
            None => Err(ArrayError::dtype("get", &tensor.ty().dtype, T::PRIM)),
        }
    }

    /// Returns the tensor of an array that is a tensor in memory or has been computed (see
    /// [`Array::compute`]). Returns `None` for other arrays, for an array in a file, and if the
    /// tensor was evicted or computed in another float mode. Computes nothing and reads no file.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let squares = session.dense([2, 3], 0..6).square();
    /// assert!(squares.kept_tensor().is_none());
    /// squares.compute()?;
    /// assert_eq!(squares.kept_tensor().unwrap().ty().shape, [2, 3]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn kept_tensor(&self) -> Option<Tensor> {
        let state = self.state().ok()?;
        match state.expr.node() {
            #[cfg(feature = "files")]
            Node::Table { tensor, .. } if matches!(state.sources.get(tensor), Some(Source::File(_))) => None,
            _ => stored_tensor(&self.session, &state).ok().flatten(),
        }
    }

    /// Computes an array of one element, with any number of modes, and returns the element.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1.0, 2.0]).sum(..).item::<f64>()?, 3.0);
    /// assert_eq!(session.dense([1, 1], [7]).item::<i32>()?, 7);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if the number of elements is not 1, or the dtype
    /// differs from `T`.
    #[track_caller]
    pub fn item<T: Value>(&self) -> Result<T, Error> {
        let array = self.derive("item", |state| match state.shape() {
            shape if shape.iter().all(|size| *size == 1) => Ok(state.clone()),
            shape => Err(Cause::Shape(format!("expected one element, found an array of shape {shape:?}"))),
        });
        let tensor = array.collect()?;
        match value(&tensor, &vec![0; tensor.ty().shape.len()])? {
            Some(value) => Ok(value),
            None => Err(ArrayError::dtype("item", &tensor.ty().dtype, T::PRIM)),
        }
    }
}

/// Returns the element of a tensor at coordinates, or `None` if its dtype is not `T`.
fn value<T: Value>(tensor: &Tensor, coordinates: &[u64]) -> Result<Option<T>, Error> {
    let dtype = &tensor.ty().dtype;
    if *dtype != T::PRIM.into() {
        return Ok(None);
    }
    let values = Values::from_scalars(dtype.clone(), &[tensor.get(coordinates)?])?;
    Ok(T::of_buffer(&values.columns()[0]).and_then(|values| values.first().copied()))
}

/// Returns the tensor of an array that is a table or has been computed. Returns `None` for other
/// arrays, and if the tensor of a computed array was evicted or does not serve the float mode.
///
/// # Errors
/// Fails if the array is in a file that cannot be read or has changed.
pub(super) fn stored_tensor(session: &Session, state: &ArrayState) -> Result<Option<Tensor>, Error> {
    stored(session, &state.expr, &state.sources)
}

/// Reads the element of an array without modes from a stored tensor, and returns the tensor that a
/// plan would compute; `None` if a plan must compute the element.
///
/// # Errors
/// Fails if the stored array was on a device that lost it, or is in a file that cannot be read or
/// has changed.
pub(super) fn stored_element(session: &Session, state: &ArrayState) -> Result<Option<Tensor>, Error> {
    let Some((tensor, coordinates)) = find_element(session, state)? else { return Ok(None) };
    let value = tensor.get(&coordinates)?;
    let (dtype, fill) = (tensor.ty().dtype.clone(), tensor.ty().fill.clone());
    let ty = TensorType { shape: Vec::new(), dtype: dtype.clone(), fill, format: Format::dense(0) };
    Ok(Some(Tensor::from_dense(ty, &Values::from_scalars(dtype, &[value])?)?))
}

/// Returns the stored tensor that an expression without fields reads, and the coordinates at which
/// the expression reads the tensor. The expression may only rename, reorder and index modes, and
/// must not define a value for coordinates out of bounds; for other expressions, returns `None`.
fn find_element(session: &Session, state: &ArrayState) -> Result<Option<(Tensor, Vec<u64>)>, Error> {
    let mut expr = &state.expr;
    if !expr.info().fields.is_empty() {
        return Ok(None);
    }
    let mut coordinates: HashMap<&Field, i64> = HashMap::new();
    loop {
        let fields = &expr.info().fields;
        if let Some(tensor) = stored(session, expr, &state.sources)? {
            let coordinates: Option<_> =
                fields.iter().map(|field| u64::try_from(*coordinates.get(field)?).ok()).collect();
            return Ok(coordinates.map(|coordinates| (tensor, coordinates)));
        }
        expr = match expr.node() {
            Node::Reorder { arg, .. } => arg,
            Node::Relabel { arg, .. } => {
                let renamed = arg.info().fields.iter().zip(fields);
                let renamed: Option<_> = renamed.map(|(from, to)| Some((from, *coordinates.get(to)?))).collect();
                let Some(renamed) = renamed else { return Ok(None) };
                coordinates = renamed;
                arg
            }
            Node::Index { map: IndexMap { coordinates: subscripts, outside: None, .. }, arg } => {
                let at = |field: &Field| coordinates.get(field).copied().unwrap_or_default();
                let read = |field: &Field| match subscripts.iter().find(|(mapped, _)| *mapped == *field) {
                    Some((_, subscript)) => subscript.evaluate(&at),
                    None => at(field),
                };
                coordinates = arg.info().fields.iter().map(|field| (field, read(field))).collect();
                arg
            }
            _ => return Ok(None),
        };
    }
}

fn stored(session: &Session, expr: &Expr, sources: &Sources) -> Result<Option<Tensor>, Error> {
    let mode = session.config().optimizer.float_mode;
    let Node::Table { tensor, .. } = expr.node() else {
        return Ok(session.kept_tensors().find(expr).and_then(|kept| kept.read(mode)));
    };
    match sources.get(tensor) {
        Some(Source::Kept(kept)) => Ok(kept.read_table(mode)),
        Some(source) => source.input(),
        None => Ok(None),
    }
}
