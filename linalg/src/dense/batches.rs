//! The loop over the matrices of a stack, by one thread or several.
//!
//! All threads share the work on a large matrix, and the matrices follow one another. Small
//! matrices are distributed whole among the threads. Only the size of the matrices decides whether
//! threads share a matrix, so results do not depend on the number of threads.

use crate::context::{Reservation, is_shared};
use crate::real::Real;
use crate::{Context, Error};
use faer::Par;
use faer::dyn_stack::{MemBuffer, StackReq};
use rayon::prelude::*;

/// The least number of floating-point operations of a stack of small matrices that several threads
/// process.
const STACK: f64 = 1e6;

/// The matrices of a computation.
pub(super) struct Batch<const N: usize> {
    /// The name of the function.
    pub(super) function: &'static str,
    /// The number of matrices.
    pub(super) count: usize,
    /// The number of values of each output for one matrix.
    pub(super) outputs: [usize; N],
    /// The number of elements of the workspace.
    pub(super) workspace: usize,
    /// The number of floating-point operations for one matrix, roughly.
    pub(super) operations: f64,
}

/// Computes the outputs for each matrix. `workspace` makes the temporaries of one thread, and
/// `step` writes the outputs of one matrix.
///
/// # Errors
/// The error of the first failed matrix. Also when the outputs and workspaces do not fit into
/// memory, or the computation is cancelled.
pub(super) fn for_each_matrix<T: Real, W, const N: usize>(
    context: &Context,
    batch: &Batch<N>,
    workspace: impl Fn(Par) -> Result<W, Error> + Sync,
    step: impl Fn(&mut W, usize, [&mut [T]; N]) -> Result<(), Error> + Sync,
) -> Result<[Vec<T>; N], Error> {
    let Batch { function, count, outputs: lens, .. } = *batch;
    let len = |len: usize| count.checked_mul(len).ok_or(Error::TooLarge { function });
    let total =
        lens.iter().try_fold(0usize, |total, l| total.checked_add(len(*l)?).ok_or(Error::TooLarge { function }))?;
    // A stack may have any number of matrices without elements.
    if total == 0 {
        return Ok([const { Vec::new() }; N]);
    }
    // This charge ends when the function returns. The caller then charges the results.
    let _results = context.reserve::<T>(total)?;
    let mut outputs = [const { Vec::new() }; N];
    for (output, l) in outputs.iter_mut().zip(lens) {
        *output = zeros(function, len(l)?)?;
    }
    let run_range = |par: Par, first: usize, matrices: usize, mut slices: [&mut [T]; N]| -> Result<(), Error> {
        if matrices == 0 {
            return Ok(());
        }
        let _charge = context.reserve::<T>(batch.workspace)?;
        let mut own = workspace(par)?;
        for k in first..first + matrices {
            context.check_cancelled()?;
            let mut n = 0;
            let parts = slices.each_mut().map(|slice| {
                let part = split_off_front(slice, lens[n]);
                n += 1;
                part
            });
            step(&mut own, k, parts)?;
        }
        Ok(())
    };
    let mut slices = outputs.each_mut().map(Vec::as_mut_slice);
    let threads = context.threads.get();
    if is_shared(batch.operations) || threads == 1 || batch.operations * (count as f64) < STACK {
        context.run(batch.operations, |par| run_range(par, 0, count, slices))?;
        return Ok(outputs);
    }
    let tasks = count.min(4 * threads);
    let mut ranges = Vec::with_capacity(tasks);
    for task in 0..tasks {
        let (first, end) = (task * count / tasks, (task + 1) * count / tasks);
        let mut n = 0;
        let parts = slices.each_mut().map(|slice| {
            let part = split_off_front(slice, (end - first) * lens[n]);
            n += 1;
            part
        });
        ranges.push((first, end - first, parts));
    }
    let run = |(first, matrices, parts)| run_range(Par::Seq, first, matrices, parts);
    let results: Vec<Result<(), Error>> = match context.pool() {
        Some(pool) => pool.install(|| ranges.into_par_iter().map(run).collect()),
        None => ranges.into_iter().map(run).collect(),
    };
    results.into_iter().collect::<Result<(), Error>>()?;
    Ok(outputs)
}

/// Returns a vector of zeros.
///
/// # Errors
/// When the vector cannot be allocated.
pub(crate) fn zeros<T: Real>(function: &'static str, len: usize) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| Error::TooLarge { function })?;
    values.resize(len, T::default());
    Ok(values)
}

/// Returns memory for the temporaries of faer.
///
/// # Errors
/// When the memory cannot be allocated.
pub(crate) fn buffer(function: &'static str, scratch: StackReq) -> Result<MemBuffer, Error> {
    MemBuffer::try_new(scratch).map_err(|_| Error::TooLarge { function })
}

/// Returns memory for the temporaries of faer, charged to the memory limit until the reservation is
/// dropped.
///
/// # Errors
/// When the memory limit is reached, or the memory cannot be allocated.
pub(crate) fn charged_buffer(
    context: &Context,
    function: &'static str,
    scratch: StackReq,
) -> Result<(Reservation, MemBuffer), Error> {
    Ok((context.reserve::<u8>(scratch.size_bytes())?, buffer(function, scratch)?))
}

/// Cuts the first elements off a slice.
fn split_off_front<'a, T>(slice: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (front, rest) = std::mem::take(slice).split_at_mut(len);
    *slice = rest;
    front
}
