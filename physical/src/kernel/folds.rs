//! Partial results of chunks that are folded where they lie: on the device that has computed them, by a kernel made of the
//! output's operator.
//!
//! The partial results of a dense output are the rows of a matrix, and what is left is `c[j] = op` over `P[i, j]`, in the
//! order of the chunks `i`. So what a later kernel of the device reads does not travel.

use super::{Draft, Kernel};
use crate::Error;
use crate::notation::{
    Access, Expr, Index, Program, Role, Rounds, Stmt, Subscript, TensorDecl, TensorId, Write, normalize,
};
use crate::run::Limits;
use crate::storage::{Array, Tensor};
use redpoll_logic::op::Op;
use redpoll_logic::physical::Protocol;
use redpoll_logic::{FloatMode, Format, LeafKind, LevelKind, TensorType};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Makes kernels that run where others do.
pub(crate) type Maker = Arc<dyn Fn(&Draft) -> Result<Kernel, Error> + Send + Sync>;

/// The kernels that fold partial results.
#[derive(Default)]
pub(super) struct Folds(Mutex<HashMap<Key, Arc<Kernel>>>);

/// An output, and the shape of the matrix of its partial results.
type Key = (usize, [u64; 2]);

/// Whether partial results of this type are rows of a matrix.
pub(super) fn are_rows(ty: &TensorType) -> bool {
    let format = &ty.format;
    format.leaf == LeafKind::Element && format.levels.iter().all(|level| level.kind == LevelKind::Dense)
}

impl Folds {
    /// Folds partial results of an output, given its number and its operator: as many as said, in arrays that have those of
    /// one chunk behind those of the one before. Gives the arrays of the result.
    ///
    /// # Errors
    /// As [`Kernel::run`], and what the maker says.
    pub(super) fn fold(
        &self,
        (number, ty, op): (usize, &TensorType, &Op),
        (chunks, partials): (usize, Vec<Array>),
        maker: &Maker,
        limits: &Limits,
    ) -> Result<Vec<Array>, Error> {
        let places = partials.first().map_or(0, Array::len) / chunks.max(1);
        let shape = [chunks as u64, places as u64];
        let kernel = self.kernel((number, ty, op), shape, maker)?;
        let rows = kernel.program().tensors[0].ty.clone();
        let rows = Tensor::new_unchecked(rows, vec![Vec::new(); 2], partials);
        let folded = kernel.run_once(&[&rows], limits)?.outputs.swap_remove(0);
        Ok(folded.leaf().to_vec())
    }

    fn kernel(
        &self,
        (number, ty, op): (usize, &TensorType, &Op),
        shape: [u64; 2],
        maker: &Maker,
    ) -> Result<Arc<Kernel>, Error> {
        let mut kernels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&(number, shape)) {
            return Ok(kernel.clone());
        }
        // Floats are folded in the order of the chunks.
        let draft = Draft::new(&Arc::new(program(ty, op, shape)?), &[], FloatMode::StrictIeee);
        let kernel = Arc::new(maker(&draft)?);
        kernels.insert((number, shape), kernel.clone());
        Ok(kernel)
    }
}

/// `for j, i: c[j] op= P[i, j]`
fn program(ty: &TensorType, op: &Op, [chunks, places]: [u64; 2]) -> Result<Program, Error> {
    let dense = |shape: Vec<u64>| TensorType { format: Format::dense(shape.len()), shape, ..ty.clone() };
    let [i, j] = [0, 1].map(Index);
    let access = |tensor: u32, subscripts: &[Index]| {
        let at = |index: &Index| Subscript { at: Expr::Index(*index), protocol: Protocol::default(), outside: None };
        Access { tensor: TensorId(tensor), subscripts: subscripts.iter().map(at).collect() }
    };
    let rhs = Expr::Access(access(0, &[i, j]));
    let assign = Stmt::Assign { lhs: access(1, &[j]), write: Write::Fold(op.clone()), rhs };
    let along = |index, end: u64, body| Stmt::For {
        index,
        extent: Some((Expr::int(0), Expr::int(end as i64))),
        rounds: Rounds::Ordered,
        body: Box::new(body),
    };
    normalize(Program {
        tensors: vec![
            TensorDecl::new("P", Arc::new(dense(vec![chunks, places])), Role::Input),
            TensorDecl::new("c", Arc::new(dense(vec![places])), Role::Output),
        ],
        indices: vec!["i".into(), "j".into()],
        vars: Vec::new(),
        body: along(j, places, along(i, chunks, assign)),
        schedule: Vec::new(),
        shares: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Lanes;
    use crate::kernel::Engine;
    use redpoll_logic::Scalar;
    use redpoll_logic::op::Builtin;

    fn ty(fill: Scalar) -> TensorType {
        let dtype = fill.dtype();
        TensorType { shape: vec![2], dtype, fill, format: Format::dense(1) }
    }

    /// The fold of rows of two.
    fn folded(op: Builtin, fill: Scalar, rows: Array) -> Vec<Scalar> {
        let chunks = rows.len() / 2;
        let maker: Maker = Arc::new(|draft| Kernel::of(draft, Engine::Grid));
        let of = (0, &ty(fill), &Op::Builtin(op));
        let arrays = Folds::default().fold(of, (chunks, vec![rows]), &maker, &Limits::default()).unwrap();
        (0..2).map(|k| arrays[0].scalar(k)).collect()
    }

    /// Protects the order of the chunks, and that none is lost.
    #[test]
    fn rows_are_folded_in_their_order() {
        let sums =
            folded(Builtin::Add, Scalar::F64(0.0), Array::from_vec(vec![1e16, 1.0, 1.0, 2.0, -1e16, 4.0, 1.0, 8.0]));
        assert_eq!(sums, [1.0, 15.0].map(Scalar::F64));
        let products = folded(Builtin::Mul, Scalar::I8(1), Array::from_vec(vec![2i8, 3, -5, 7, 11, 13]));
        assert_eq!(products, [-110i8, 17].map(Scalar::I8));
        let least = folded(Builtin::Min, Scalar::F32(f32::INFINITY), Array::from_vec(vec![2f32, -3.0, 5.0, 7.0]));
        assert_eq!(least, [2.0, -3.0].map(Scalar::F32));
        let any = folded(Builtin::Or, Scalar::Bool(false), Array::from_bools([false, false, false, true]));
        assert_eq!(any, [false, true].map(Scalar::Bool));
    }

    /// Protects the time that it takes: neighbouring lanes have neighbouring places.
    #[test]
    fn lanes_share_the_places() {
        let program = program(&ty(Scalar::F64(0.0)), &Op::Builtin(Builtin::Add), [60, 1000]).unwrap();
        let draft = Draft::new(&Arc::new(program), &[], FloatMode::StrictIeee);
        let grid = draft.grids(Lanes::AsUseful).run.to_string();
        assert!(grid.contains("lanes 32") && grid.contains("spread j"), "{grid}");
    }
}
