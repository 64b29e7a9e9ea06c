//! Calls of the functions of `redpoll-linalg` with the tensors of arrays.

use super::LinalgError;
use crate::array::Array;
use crate::error::Error;
use crate::session::Session;
use redpoll_linalg::Context;
use redpoll_storage::Tensor;
use std::num::NonZero;

/// Computes arrays in one plan, and calls a function with their tensors under the limits of the
/// session of the first array.
///
/// # Errors
/// The errors of [`Array::collect`], and those of the function.
pub(super) fn call<R, const N: usize>(
    arrays: [&Array; N],
    function: impl FnOnce(&Context, [&Tensor; N]) -> Result<R, LinalgError>,
) -> Result<R, Error> {
    let session = arrays[0].session();
    let tensors = session.collect_all(arrays)?;
    let result = function(&context(session), std::array::from_fn(|k| &tensors[k]))?;
    tensors.iter().try_for_each(Tensor::check_files)?;
    Ok(result)
}

/// Calls a function of one array that returns a tensor.
///
/// # Errors
/// The errors of [`call`].
pub(super) fn unary(
    a: &Array,
    function: impl FnOnce(&Context, &Tensor) -> Result<Tensor, LinalgError>,
) -> Result<Array, Error> {
    Ok(a.session().array(call([a], |context, [a]| function(context, a))?))
}

/// Returns the limits of a session.
pub(super) fn context(session: &Session) -> Context {
    let limits = session.limits();
    let threads = NonZero::new(limits.workers.threads()).unwrap_or(NonZero::<usize>::MIN);
    Context { threads, memory: limits.memory.clone(), cancel: limits.cancel.clone() }
}
