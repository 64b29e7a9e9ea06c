//! The merge of outputs that each chunk has folded separately: the operator of the output folds
//! pairs of neighbours, again and again, until one result is left.
//!
//! The fold of two partial results is a separate kernel over tensors of the output's type, whatever
//! the format of the output is.

use super::{Draft, Kernel};
use crate::Error;
use crate::backend::Backend;
use crate::run::{Limits, Workers};
use redpoll_compiler::lower::InputLayout;
use redpoll_compiler::notation::{
    Access, AccessSubscript, Expr, Index, Program, Role, Rounds, Stmt, TensorDecl, TensorId, Write, normalize,
};
use redpoll_logic::TensorType;
use redpoll_logic::op::Op;
use redpoll_storage::Tensor;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The kernels that fold two partial results, by output and by the layouts of the two partial
/// results.
#[derive(Default)]
pub struct MergeKernels(Mutex<HashMap<MergeKernelKey, Arc<Kernel>>>);

type MergeKernelKey = (usize, [InputLayout; 2]);

impl MergeKernels {
    /// Folds the partial results of chunks for an output of a draft, given the number and the
    /// operator of the output. All backends give the same bits, and the merges are short, so the
    /// instant tier is a good choice for `backend`.
    ///
    /// # Errors
    /// Like [`Kernel::run_once`], and when the kernel of a fold cannot be made.
    ///
    /// # Panics
    /// When there are no partial results.
    pub fn merge(
        &self,
        draft: &Draft,
        (number, op): (usize, &Op),
        mut partials: Vec<Tensor>,
        (backend, limits): (&Arc<dyn Backend>, &Limits),
    ) -> Result<Tensor, Error> {
        let own = Limits { progress: None, ..limits.clone() }.with_workers(Workers::caller());
        while partials.len() > 1 {
            let mut merged: Vec<Option<Tensor>> = vec![None; partials.len().div_ceil(2)];
            let pairs = partials.chunks(2).zip(&mut merged);
            limits.workers.for_each(pairs, |(pair, merged)| {
                *merged = Some(match pair {
                    [a, b] => self
                        .kernel(draft, (number, op), [a, b], backend)?
                        .run_once(&[a, b], &own)?
                        .outputs
                        .swap_remove(0),
                    _ => pair[0].clone(),
                });
                Ok(())
            })?;
            partials = merged.into_iter().flatten().collect();
        }
        Ok(partials.swap_remove(0))
    }

    fn kernel(
        &self,
        draft: &Draft,
        (number, op): (usize, &Op),
        pair: [&Tensor; 2],
        backend: &Arc<dyn Backend>,
    ) -> Result<Arc<Kernel>, Error> {
        let mut kernels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (number, pair.map(InputLayout::of));
        if let Some(kernel) = kernels.get(&key) {
            return Ok(kernel.clone());
        }
        let program = Arc::new(pairwise(pair[0].ty(), op)?);
        let layouts = InputLayout::of_inputs(&program, &pair);
        let kernel = Arc::new(Kernel::compile(&draft.for_program(&program, &layouts), backend)?);
        kernels.insert(key, kernel.clone());
        Ok(kernel)
    }
}

/// Makes the program that computes `c = op(a, b)` at every coordinate.
fn pairwise(ty: &Arc<TensorType>, op: &Op) -> Result<Program, Error> {
    let decl = |name: &str, role| TensorDecl::new(name, ty.clone(), role);
    let sizes = ty.format.storage_shape(&ty.shape);
    let access = |tensor: u32| {
        let subscript = |k| AccessSubscript::in_bounds(Expr::Index(Index(k)));
        Access { tensor: TensorId(tensor), subscripts: (0..sizes.len() as u32).map(subscript).collect() }
    };
    let rhs = Expr::call(op.clone(), [0, 1].map(|k| Expr::Access(access(k))));
    let assign = Stmt::Assign { lhs: access(2), write: Write::Init, rhs };
    let body = (0..sizes.len() as u32).rev().fold(assign, |body, k| Stmt::For {
        index: Index(k),
        extent: Some((Expr::int(0), Expr::int(sizes[k as usize] as i64))),
        rounds: Rounds::Ordered,
        body: Box::new(body),
    });
    Ok(normalize(Program {
        tensors: vec![decl("a", Role::Input), decl("b", Role::Input), decl("c", Role::Output)],
        indices: (0..sizes.len()).map(|k| format!("i{k}")).collect(),
        vars: Vec::new(),
        body,
        schedule: Vec::new(),
        block_inputs: Vec::new(),
    })?)
}
