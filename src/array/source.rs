//! Arrays over tensors and values.

use super::Array;
use super::error::{ArrayError, Cause};
use super::operand::Operand;
use super::state::{Sources, State, Style, positions};
use crate::session::Session;
use redpoll_logic::{Alias, Expr, Format, Scalar, TensorType};
use redpoll_physical::storage::{Array as Buffer, Element, Tensor, Values};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl Session {
    /// The array of a tensor's values.
    pub fn array(&self, tensor: Tensor) -> Array {
        // Numbers, so that no two tensors of a process share a name.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = Alias::from(format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let fields = positions(tensor.ty().shape.len());
        let expr = Expr::table(name.clone(), tensor.ty().clone(), fields).expect("one field a mode, none twice");
        Array::new(self.clone(), State { expr, style: Style::Positional, sources: Sources::one(name, tensor) })
    }

    /// The array of values, row-major, in a dense tensor of fill value zero.
    #[track_caller]
    pub fn dense<T: Element>(
        &self,
        shape: impl IntoIterator<Item = u64>,
        values: impl IntoIterator<Item = T>,
    ) -> Array {
        let location = Location::caller();
        let shape: Vec<u64> = shape.into_iter().collect();
        let make = || -> Result<Tensor, Cause> {
            let dtype = T::PRIM.into();
            let values = Values::try_new(T::PRIM.into(), vec![Buffer::from_vec(values.into_iter().collect())])?;
            let format = Format::dense(shape.len());
            Ok(Tensor::from_dense(TensorType { shape, dtype, fill: Scalar::zero(T::PRIM), format }, &values)?)
        };
        match make() {
            Ok(tensor) => self.array(tensor),
            Err(cause) => Array {
                session: self.clone(),
                state: Err(Arc::new(ArrayError { operation: "dense", location, cause })),
            },
        }
    }
}

impl Array {
    /// A number as an array of the same session.
    pub(crate) fn number(&self, number: impl Into<Scalar>) -> Array {
        let state = Operand::from(number.into()).state();
        Array { session: self.session.clone(), state }
    }
}
