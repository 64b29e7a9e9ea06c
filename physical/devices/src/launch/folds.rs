//! Kernels that fold partial results on the device that computed them. The result stays on the
//! device, so a later kernel reads the result without a transfer.
//!
//! The partial results of a dense output are the rows of a matrix `P`, in the order of the chunks.
//! The rows are divided into groups of consecutive rows: either one group of all rows, or a group
//! for each round that was cut into sections. The result `y` has one row for each group:
//! ```text
//! for j, p: y[j] op= P[p, j]                     one group
//! for g, p in group g, j: y[g, j] op= P[p, j]    several groups
//! ```
//! Here `p` is the number of a row, `j` the number of an element in a row, and `g` the number of a
//! group. If there is one group, the loop over the rows is innermost, and lanes share the rows if
//! their order does not matter. If in addition a row has one element, the loop over the rows is the
//! only loop.

use redpoll_compiler::lower::Draft;
use redpoll_compiler::notation::{
    Access, AccessSubscript, Expr, Index, Program, Role, Rounds, Stmt, TensorDecl, TensorId, Write, normalize,
};
use redpoll_kernels::Error;
use redpoll_kernels::backend::Backend;
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::Limits;
use redpoll_logic::op::Op;
use redpoll_logic::{DType, FloatMode, Format, LeafKind, LevelKind, Prim, Scalar, TensorType};
use redpoll_storage::{Array, Tensor};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of cached kernels. Each kernel is for one shape. A plan that runs repeatedly on
/// the same data needs few shapes.
const MAX_KERNELS: usize = 64;

/// The cache of kernels that fold partial results.
#[derive(Default)]
pub(super) struct FoldKernels(Mutex<HashMap<FoldKernelKey, Arc<Kernel>>>);

/// The number of an output; then the numbers of groups, of rows, and of elements in a row.
type FoldKernelKey = (usize, [u64; 3]);

/// An output whose partial results are folded: its number, type and operator, and the mode of
/// floats. The strict mode folds floats in the order of the rows.
#[derive(Clone, Copy)]
pub(super) struct FoldedOutput<'a> {
    pub(super) number: usize,
    pub(super) ty: &'a TensorType,
    pub(super) op: &'a Op,
    pub(super) mode: FloatMode,
}

/// The partial results of one output, as a matrix.
pub(super) struct Partials {
    /// The row after the last row of each group. The first group begins at row 0, and each other
    /// group at the end of the previous group.
    pub(super) ends: Vec<usize>,
    /// The elements of the matrix in row-major order, an array for each primitive of the dtype.
    pub(super) arrays: Vec<Array>,
}

/// Returns whether partial results of this type are rows of a matrix: all levels are dense, and the
/// leaf stores values.
pub(super) fn is_matrix_row(ty: &TensorType) -> bool {
    let format = &ty.format;
    format.leaf == LeafKind::Element && format.is_dense()
}

impl FoldKernels {
    /// Folds the rows of each group. Returns the elements of the results, a row for each group, in
    /// an array for each primitive of the dtype.
    ///
    /// # Errors
    /// The errors of [`Kernel::run_once`] and of the backend.
    pub(super) fn fold(
        &self,
        of: FoldedOutput<'_>,
        partials: Partials,
        backend: &Arc<dyn Backend>,
        limits: &Limits,
    ) -> Result<Vec<Array>, Error> {
        let Partials { ends, arrays } = partials;
        let rows = ends.last().copied().unwrap_or(0);
        let elements = arrays.first().map_or(0, Array::len) / rows.max(1);
        let kernel = self.kernel(of, [ends.len(), rows, elements].map(|n| n as u64), backend)?;
        let types: Vec<Arc<TensorType>> = kernel.program().tensors.iter().map(|decl| decl.ty.clone()).collect();
        let mut inputs = vec![Tensor::new_unchecked(types[0].clone(), vec![Vec::new(); types[0].shape.len()], arrays)];
        if ends.len() > 1 {
            let ends = Array::from_indices(Prim::I32, [0].into_iter().chain(ends).map(|end| end as u64));
            let members = Array::from_indices(Prim::U32, 0..rows as u64);
            let levels = vec![Vec::new(), vec![ends, members]];
            inputs.push(Tensor::new_unchecked(types[1].clone(), levels, Vec::new()));
        }
        let folded = kernel.run_once(&inputs.iter().collect::<Vec<_>>(), limits)?.outputs.swap_remove(0);
        Ok(folded.leaf().to_vec())
    }

    fn kernel(&self, of: FoldedOutput<'_>, shape: [u64; 3], backend: &Arc<dyn Backend>) -> Result<Arc<Kernel>, Error> {
        let mut kernels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&(of.number, shape)) {
            return Ok(kernel.clone());
        }
        if kernels.len() >= MAX_KERNELS {
            kernels.clear();
        }
        let draft = Draft::new(&Arc::new(program(of, shape)?), &[], of.mode).without_sizes();
        let kernel = Arc::new(Kernel::compile(&draft, backend)?);
        kernels.insert((of.number, shape), kernel.clone());
        Ok(kernel)
    }
}

/// Makes the program that the module documentation shows.
fn program(of: FoldedOutput<'_>, shape: [u64; 3]) -> Result<Program, Error> {
    Ok(normalize(if shape[0] == 1 { program_of_rows(of, shape) } else { program_of_groups(of, shape) })?)
}

/// Returns the type of a dense tensor with the dtype and the fill value of the output.
fn dense(of: FoldedOutput<'_>, shape: Vec<u64>) -> Arc<TensorType> {
    Arc::new(TensorType { format: Format::dense(shape.len()), shape, ..of.ty.clone() })
}

/// Returns an access to the tensor with this number.
fn access(tensor: u32, subscripts: &[Index]) -> Access {
    let at = |index: &Index| AccessSubscript::in_bounds(Expr::Index(*index));
    Access { tensor: TensorId(tensor), subscripts: subscripts.iter().map(at).collect() }
}

/// Wraps a statement in loops that begin at 0. `indices` has the index and the end of each loop,
/// innermost first.
fn loops(body: Stmt, indices: &[(Index, u64)]) -> Stmt {
    indices.iter().fold(body, |body, (index, end)| Stmt::For {
        index: *index,
        extent: Some((Expr::int(0), Expr::int(*end as i64))),
        rounds: Rounds::Ordered,
        body: Box::new(body),
    })
}

/// Makes a program of tensors and loops.
fn program_of(tensors: Vec<TensorDecl>, indices: &[&str], body: Stmt) -> Program {
    let indices = indices.iter().map(|name| (*name).to_owned()).collect();
    Program { tensors, indices, vars: Vec::new(), body, schedule: Vec::new(), block_inputs: Vec::new() }
}

/// Makes the program for one group.
fn program_of_rows(of: FoldedOutput<'_>, [_, rows, elements]: [u64; 3]) -> Program {
    let [p, j] = [0, 1].map(Index);
    // A loop with one round would hide that all rows fold into one element.
    let (row, element, ends) = match elements {
        1 => (vec![p], vec![], vec![(p, rows)]),
        _ => (vec![p, j], vec![j], vec![(p, rows), (j, elements)]),
    };
    let fold = Stmt::Assign {
        lhs: access(1, &element),
        write: Write::Fold(of.op.clone()),
        rhs: Expr::Access(access(0, &row)),
    };
    let shape = |indices: &[Index]| indices.iter().map(|i| if *i == p { rows } else { elements }).collect();
    let tensors = vec![
        TensorDecl::new("P", dense(of, shape(&row)), Role::Input),
        TensorDecl::new("y", dense(of, shape(&element)), Role::Output),
    ];
    program_of(tensors, &["p", "j"][..row.len()], loops(fold, &ends))
}

/// Makes the program for several groups.
fn program_of_groups(of: FoldedOutput<'_>, [groups, rows, elements]: [u64; 3]) -> Program {
    let members = TensorType {
        shape: vec![groups, rows],
        dtype: DType::Prim(Prim::Bool),
        fill: Scalar::Bool(false),
        format: Format::of_kinds(&[LevelKind::Dense, LevelKind::SparseList], LeafKind::Pattern),
    };
    let [g, p, j] = [0, 1, 2].map(Index);
    let fold = Stmt::Assign {
        lhs: access(2, &[g, j]),
        write: Write::Fold(of.op.clone()),
        rhs: Expr::Access(access(0, &[p, j])),
    };
    let body = Stmt::If { cond: Expr::Access(access(1, &[g, p])), body: Box::new(fold) };
    let tensors = vec![
        TensorDecl::new("P", dense(of, vec![rows, elements]), Role::Input),
        TensorDecl::new("groups", Arc::new(members), Role::Input),
        TensorDecl::new("y", dense(of, vec![groups, elements]), Role::Output),
    ];
    program_of(tensors, &["g", "p", "j"], loops(body, &[(j, elements), (p, rows), (g, groups)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Grid, GridPlan, TeamSize};
    use crate::launch::grid_interpreter;
    use redpoll_logic::Scalar;
    use redpoll_logic::op::Builtin;

    fn ty(fill: Scalar) -> TensorType {
        let dtype = fill.dtype();
        TensorType { shape: vec![2], dtype, fill, format: Format::dense(1) }
    }

    /// Folds groups of rows; each row has two elements.
    fn folded(op: Builtin, fill: Scalar, ends: &[usize], rows: Array) -> Vec<Scalar> {
        let backend = grid_interpreter();
        let of = FoldedOutput { number: 0, ty: &ty(fill), op: &Op::Builtin(op), mode: FloatMode::StrictIeee };
        let partials = Partials { ends: ends.to_vec(), arrays: vec![rows] };
        let arrays = FoldKernels::default().fold(of, partials, &backend, &Limits::default()).unwrap();
        (0..arrays[0].len()).map(|k| arrays[0].scalar(k)).collect()
    }

    /// Rows are folded in the order of the chunks, and no row is lost.
    #[test]
    fn rows_are_folded_in_their_order() {
        let sums = |ends: &[usize]| {
            let rows = Array::from_vec(vec![1e16, 1.0, 1.0, 2.0, -1e16, 4.0, 1.0, 8.0]);
            folded(Builtin::Add, Scalar::F64(0.0), ends, rows)
        };
        assert_eq!(sums(&[4]), [1.0, 15.0].map(Scalar::F64));
        assert_eq!(sums(&[1, 4]), [1e16, 1.0, -1e16, 14.0].map(Scalar::F64));
        assert_eq!(sums(&[3, 4]), [0.0, 7.0, 1.0, 8.0].map(Scalar::F64));
        let products = Array::from_vec(vec![2i8, 3, -5, 7, 11, 13]);
        assert_eq!(folded(Builtin::Mul, Scalar::I8(1), &[3], products), [-110i8, 17].map(Scalar::I8));
        let least = Array::from_vec(vec![2f32, -3.0, 5.0, 7.0]);
        assert_eq!(folded(Builtin::Min, Scalar::F32(f32::INFINITY), &[2], least), [2.0, -3.0].map(Scalar::F32));
        let any = Array::from_bools([false, false, false, true]);
        assert_eq!(folded(Builtin::Or, Scalar::Bool(false), &[2], any), [false, true].map(Scalar::Bool));
    }

    /// Returns the grid that folds rows of a type.
    fn grid(prim: Prim, shape: [u64; 3]) -> Grid {
        let ty = ty(Scalar::zero(prim));
        let of = FoldedOutput { number: 0, ty: &ty, op: &Op::Builtin(Builtin::Add), mode: FloatMode::StrictIeee };
        let draft = Draft::new(&Arc::new(program(of, shape).unwrap()), &[], of.mode).without_sizes();
        GridPlan::of(&draft, TeamSize::Automatic).run
    }

    /// Neighbouring lanes process neighbouring elements, so that their accesses are coalesced.
    #[test]
    fn lanes_share_the_elements() {
        for groups in [1, 7] {
            let grid = grid(Prim::F64, [groups, 60, 1000]).to_string();
            assert!(grid.contains("lanes 32") && grid.contains("spread j"), "{grid}");
        }
    }

    /// Lanes share the rows of single integers, whose order does not matter. Floats are folded in
    /// the order of the rows.
    #[test]
    fn lanes_share_the_rows_of_single_integers() {
        let text = grid(Prim::I64, [1, 8000, 1]).to_string();
        assert!(text.contains("lanes 16 for p"), "{text}");
        let text = grid(Prim::F64, [1, 8000, 1]).to_string();
        assert!(!text.contains("lanes 16 for p"), "{text}");
    }

    /// Sizes above 1 do not change the text, so that one compilation serves all of them.
    #[test]
    fn sizes_do_not_change_the_code() {
        let text = |shape| grid(Prim::F64, shape);
        assert_eq!(text([1, 60, 1000]), text([1, 64, 2000]));
        assert_eq!(text([5, 60, 1]), text([7, 90, 1]));
        assert_ne!(text([5, 60, 1]), text([5, 60, 2]));
    }
}
