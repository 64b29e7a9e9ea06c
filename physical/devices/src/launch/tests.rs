//! Repeated runs of a kernel, which reuse the sizes of windows and the chunks of the previous run.

use super::*;
use crate::grid::{GridProgram, TeamSize};
use redpoll_compiler::testing::normal_form;
use redpoll_logic::{FloatMode, Format, Prim, Scalar, TensorType};
use redpoll_storage::{Values, convert};

const SIZE: u64 = 60;

/// The square of a sparse matrix. The lists of the workspace `w` grow with the number of entries in
/// a row of the result.
const SQUARE: &str = "(program (input A (type (shape 60 60) f64 0.0 csr)) (output C (type (shape 60 60) f64 0.0 csr))
    (local w (type (shape 60) f64 0.0 (hash (element))))
    (for i (where (for j (+= (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (A k j))))))))";

/// Returns a matrix whose rows have `per_row` entries each.
fn matrix(per_row: u64) -> Tensor {
    let ty = TensorType {
        shape: vec![SIZE, SIZE],
        dtype: Prim::F64.into(),
        fill: Scalar::F64(0.0),
        format: Format::dense(2),
    };
    let value = |at: u64| if (at % SIZE + at / SIZE * 7) % SIZE < per_row { 1.0 } else { 0.0 };
    let dense = Values::from((0..SIZE * SIZE).map(value).collect::<Vec<f64>>());
    convert(&Tensor::from_dense(ty, &dense).unwrap(), &Format::csr()).unwrap()
}

/// Returns a kernel and its grids, planned for the lengths of the lists of an input.
fn square(a: &Tensor) -> (Kernel, Grids) {
    let program = Arc::new(normal_form(SQUARE));
    let draft = Draft::new(&program, &[], FloatMode::default());
    let draft = draft.with_lists(redpoll_compiler::lower::ListLengths::of(&program, &[Some(a)]));
    let runner = |grid| Ok::<_, crate::Error>(Box::new(GridProgram::new(grid)?) as Box<dyn GridRunner>);
    let grids = Grids::new(GridPlan::of(&draft, TeamSize::Exact(2)), grid_interpreter(), runner).unwrap();
    (Kernel::compile(&draft, &grid_interpreter()).unwrap(), grids)
}

/// The first run finds the sizes of windows by repeated launches. Later runs begin with these
/// sizes, and a run over smaller inputs reduces the sizes.
#[test]
fn windows_begin_with_the_sizes_of_the_run_before() {
    let (dense, sparse) = (matrix(40), matrix(1));
    let (kernel, grids) = square(&dense);
    let launches = |input: &Tensor| {
        let before = grids.launches.load(Ordering::Relaxed);
        let outcome = grids.run(&kernel, &[input], &Limits::default()).unwrap();
        let expected = kernel.run(&[input], &Limits::default()).unwrap();
        assert_eq!(outcome.outputs[0].to_dense_scalars().unwrap(), expected.outputs[0].to_dense_scalars().unwrap());
        grids.launches.load(Ordering::Relaxed) - before
    };
    let needed = || grids.needed.lock().unwrap().iter().copied().max().unwrap();
    let first = launches(&dense);
    assert!(first > 2, "{first}");
    assert_eq!(launches(&dense), 2, "one launch counts, one computes");
    let large = needed();
    assert_eq!(launches(&sparse), 2);
    assert!(needed() < large, "{} {large}", needed());
    assert!(launches(&dense) > 2);
}

/// A run over the same tensors reuses the chunks of the previous run; a run over other tensors gets
/// new chunks.
#[test]
fn chunks_are_those_of_the_run_before() {
    let inputs = [matrix(40), matrix(40)];
    let (kernel, grids) = square(&inputs[0]);
    let limits = Limits::default().with_workers(&Arc::new(Workers::new(3.try_into().unwrap()).without_grain()));
    let cut = kernel.draft().lowered().cut.as_ref().unwrap();
    let chunks = |input: &Tensor| grids.chunks(kernel.draft(), cut, &[input], &limits);
    let first = chunks(&inputs[0]);
    assert!(first.rounds.len() > 1);
    assert!(Arc::ptr_eq(&first, &chunks(&inputs[0].clone())));
    assert!(!Arc::ptr_eq(&first, &chunks(&inputs[1])));
}
