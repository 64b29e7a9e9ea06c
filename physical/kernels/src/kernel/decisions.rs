//! Runs that may end before their last chunk: every output is a scalar whose fold can be decided. A
//! fold is decided once no further value can change its result.
//!
//! A single thread ends its loop once all folds are decided. So several threads call the chunks of
//! such a loop in order, short chunks first. Once each fold is decided by some chunk, the run ends
//! with the last of these chunks. A chunk that fails ends the run likewise. Earlier chunks still
//! run, so the outcome equals that of a single thread.

use crate::Error;
use redpoll_compiler::notation::{Cut, Join, Program, TensorId};
use redpoll_logic::op::{Op, ShortCircuit};
use redpoll_logic::{DType, FloatMode, Prim};
use redpoll_storage::{Tensor, Values};

/// The conditions that decide the folds of a loop, by the number of the output.
pub(super) struct Decisions(Vec<ShortCircuit>);

impl Decisions {
    /// Returns the conditions if there are outputs, and each is a scalar whose fold can be decided
    /// and is worth a check. As in the loop of a single thread, only these folds are checked: folds
    /// of `bool`, folds by `choose` and similar operators, and folds by user-defined operators. The
    /// dtype must be a primitive.
    pub(super) fn of(program: &Program, cut: &Cut, mode: FloatMode) -> Option<Decisions> {
        let decision = |(id, join): &(TensorId, Join)| {
            let Join::Folded(op) = join else { return None };
            let ty = &program.tensors[id.index()].ty;
            let DType::Prim(prim) = ty.dtype else { return None };
            let end = op.short_circuit(&ty.dtype, mode).filter(|_| ty.format.levels.is_empty())?;
            let is_checked =
                prim == Prim::Bool || matches!(end, ShortCircuit::NotEqual(_)) || matches!(op, Op::User(_));
            is_checked.then_some(end)
        };
        cut.outputs.iter().map(decision).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()).map(Decisions)
    }
}

/// The early end of a run whose chunks are called in order, as determined by the chunks recorded so
/// far.
pub(super) struct EarlyEnd {
    decisions: Decisions,
    /// For each output, the first chunk that decides it.
    decided: Vec<Option<usize>>,
    /// The first chunk that failed, with its error.
    failed: Option<(usize, Error)>,
}

impl EarlyEnd {
    pub(super) fn of(decisions: Decisions) -> EarlyEnd {
        let decided = vec![None; decisions.0.len()];
        EarlyEnd { decisions, decided, failed: None }
    }

    /// Records the partial results of a chunk.
    pub(super) fn record(&mut self, chunk: usize, partials: &[Tensor]) -> Result<(), Error> {
        for ((end, first), partial) in self.decisions.0.iter().zip(&mut self.decided).zip(partials) {
            if first.is_none_or(|first| chunk < first) && end.can_stop(&partial.get(&[])?) {
                *first = Some(chunk);
            }
        }
        Ok(())
    }

    /// Records the failure of a chunk.
    pub(super) fn record_failure(&mut self, chunk: usize, error: Error) {
        if self.failed.as_ref().is_none_or(|(first, _)| chunk < *first) {
            self.failed = Some((chunk, error));
        }
    }

    /// Returns the last chunk that affects the result; `None` if the chunks recorded so far do not
    /// determine it.
    pub(super) fn last(&self) -> Option<usize> {
        let decided = self.decided.iter().copied().collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
        decided.into_iter().chain(self.failed.as_ref().map(|(chunk, _)| *chunk)).min()
    }

    /// Returns the last chunk that affects the result, or the failure of that chunk; `None` if all
    /// chunks affect the result. All chunks before the last one must have run.
    pub(super) fn outcome(self) -> Result<Option<usize>, Error> {
        let last = self.last();
        match self.failed {
            Some((chunk, error)) if Some(chunk) == last => Err(error),
            _ => Ok(last),
        }
    }
}

/// Folds the partial results of chunks in order by built-in operators. The folds need no kernel,
/// whose overhead would exceed the operations. Returns `None` if an output has another operator, or
/// an operation fails.
pub(super) fn fold_values(cut: &Cut, partials: &[(usize, Vec<Tensor>)]) -> Result<Option<Vec<Tensor>>, Error> {
    let mut folded = Vec::new();
    for (output, (_, join)) in cut.outputs.iter().enumerate() {
        let Join::Folded(op @ Op::Builtin(_)) = join else { return Ok(None) };
        let mut all = partials.iter().map(|(_, partials)| partials[output].get(&[]));
        let mut value = all.next().expect("a run has a chunk")?;
        for next in all {
            let Ok(next) = op.eval(&[value, next?]) else { return Ok(None) };
            value = next;
        }
        let ty = partials[0].1[output].ty();
        folded.push(Tensor::from_dense(ty.clone(), &Values::from_scalars(ty.dtype.clone(), &[value])?)?);
    }
    Ok(Some(folded))
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use crate::backend::{self, Backend};
    use crate::kernel::{Kernel, Outcome};
    use crate::run::{Limits, Workers};
    use redpoll_compiler::assembly::Counts;
    use redpoll_compiler::notation::{normalize, parse};
    use redpoll_logic::{FloatMode, Scalar};
    use redpoll_storage::{Tensor, Values};
    use std::num::NonZero;
    use std::sync::Arc;

    const FIRST_HIT: &str = "(for i (if (gt (x i) 0) (choose= (s) (+ i 1))))";

    /// Makes a kernel over a vector `x`. Returns the kernel and the vector, which has ones at
    /// `hits`.
    fn kernel_over(n: usize, hits: &[usize], body: &str, backend: &Arc<dyn Backend>) -> (Kernel, Tensor) {
        let text = format!(
            "(program (input x (type (shape {n}) i64 0 dense)) (output s (type (shape) i64 0 dense))
               (output t (type (shape) bool false dense)) {body})"
        );
        let program = Arc::new(normalize(parse(&text).unwrap()).unwrap());
        let mut values = vec![0i64; n];
        hits.iter().for_each(|hit| values[*hit] = 1);
        let x = Tensor::from_dense(program.tensors[0].ty.clone(), &Values::from(values)).unwrap();
        (Kernel::new(&program, &[], FloatMode::default(), backend).unwrap(), x)
    }

    fn workers(threads: usize) -> Workers {
        Workers::new(NonZero::new(threads).unwrap())
    }

    fn run(kernel: &Kernel, x: &Tensor, workers: Workers) -> Result<Outcome, Error> {
        kernel.run(&[x], &Limits::default().with_workers(&Arc::new(workers)))
    }

    /// A search on several threads does no work after the rounds that decide it.
    #[test]
    fn an_early_hit_takes_the_rounds_of_one_thread() {
        let n = 1_000_000;
        let both = "(for i (if (gt (x i) 0) (block (choose= (s) (+ i 1)) (or= (t) true))))";
        for body in [FIRST_HIT, both] {
            let (kernel, x) = kernel_over(n, &[5, 77, n - 1], body, &backend::interpreter());
            let of = |threads: usize| -> (Scalar, Counts) {
                let outcome = run(&kernel, &x, workers(threads)).unwrap();
                (outcome.outputs[0].get(&[]).unwrap(), outcome.counts.unwrap())
            };
            let (one, two) = (of(1), of(2));
            assert_eq!((&one.0, &two.0), (&Scalar::I64(6), &Scalar::I64(6)), "{body}");
            assert_eq!((one.1.iterations, two.1.iterations), (6, 6), "{body}");
        }
    }

    /// A search that is decided in its first rounds starts no threads, even if each round has many
    /// steps; a longer search starts threads.
    #[test]
    fn an_early_hit_starts_no_threads() {
        for (rows, columns) in [(1_000_000, 1), (1000, 1000), (64, 16_384)] {
            let text = format!(
                "(program (input x (type (shape {rows} {columns}) i64 0 (dense (dense (element)))))
                   (output t (type (shape) bool false dense)) (for i (for j (or= (t) (gt (x i j) 0)))))"
            );
            let program = Arc::new(normalize(parse(&text).unwrap()).unwrap());
            let kernel = Kernel::new(&program, &[], FloatMode::default(), &backend::interpreter()).unwrap();
            for (hit, starts) in [(0, false), (rows * columns - 1, true)] {
                let mut values = vec![0i64; rows * columns];
                values[hit] = 1;
                let x = Tensor::from_dense(program.tensors[0].ty.clone(), &Values::from(values)).unwrap();
                let [one, two] = [1, 2].map(|threads| {
                    let workers = Arc::new(workers(threads));
                    let outcome = kernel.run(&[&x], &Limits::default().with_workers(&workers)).unwrap();
                    assert_eq!(outcome.outputs[0].get(&[]).unwrap(), Scalar::Bool(true));
                    assert_eq!(workers.have_started(), starts && threads > 1, "{rows} x {columns}, {hit}");
                    outcome.counts.unwrap().iterations
                });
                assert!(two == one || starts, "{rows} x {columns}: {one} steps on one thread, {two} on two");
            }
        }
    }

    /// The first hit is the result, wherever chunks begin, and a run without a hit has a result
    /// too.
    #[test]
    fn the_first_hit_is_found_wherever_it_is() {
        let n = 300;
        for hits in [&[][..], &[0], &[1, 2], &[5, 299], &[150, 151], &[298], &[0, 299], &[40, 80, 120, 160, 200]] {
            for backend in [&backend::interpreter(), &backend::instant()] {
                let (kernel, x) = kernel_over(n, hits, FIRST_HIT, backend);
                for threads in [1, 2, 5] {
                    let outcome = run(&kernel, &x, workers(threads).without_grain()).unwrap();
                    let expected = hits.first().map_or(0, |hit| *hit as i64 + 1);
                    assert_eq!(outcome.outputs[0].get(&[]).unwrap(), Scalar::I64(expected), "{hits:?} on {threads}");
                }
            }
        }
    }

    /// Folds may be decided by different chunks: a chunk that decides only one fold does not end
    /// the run.
    #[test]
    fn all_folds_are_decided_before_a_run_ends() {
        let body =
            "(for i (block (if (gt (x i) 0) (choose= (s) (+ i 1))) (if (and (gt (x i) 0) (gt i 200)) (or= (t) true))))";
        for threads in [1, 2, 5] {
            let (kernel, x) = kernel_over(300, &[3, 250], body, &backend::instant());
            let outcome = run(&kernel, &x, workers(threads).without_grain()).unwrap();
            let found: Vec<Scalar> = outcome.outputs.iter().map(|t| t.get(&[]).unwrap()).collect();
            assert_eq!(found, [Scalar::I64(4), Scalar::Bool(true)], "on {threads}");
        }
    }

    /// A failure counts only if a single thread would reach its round.
    #[test]
    fn a_failure_after_the_deciding_round_does_not_count() {
        let body = "(for i (if (gt (x i) 0) (choose= (s) (add-checked (+ i 1) (* (ge i 200) 9223372036854775807)))))";
        for threads in [1, 2, 5] {
            let (kernel, x) = kernel_over(300, &[3, 250], body, &backend::instant());
            let outcome = run(&kernel, &x, workers(threads).without_grain()).unwrap();
            assert_eq!(outcome.outputs[0].get(&[]).unwrap(), Scalar::I64(4), "on {threads}");
            let (kernel, x) = kernel_over(300, &[250, 260], body, &backend::instant());
            assert!(run(&kernel, &x, workers(threads).without_grain()).is_err(), "on {threads}");
        }
    }
}
