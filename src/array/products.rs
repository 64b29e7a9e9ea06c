//! Products that sum over shared modes.

use super::error::Cause;
use super::state::{State, Style, position, positions};
use super::{Array, Operand};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Expr, Field, Scalar};

impl Array {
    /// The matrix product over the last mode of the first and the last but one of the second; a vector is a row on the
    /// left and a column on the right. Modes before these two are aligned with broadcasting.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1.0, 2.0, 0.0, 3.0]);
    /// let x = session.dense([2], [10.0, 1.0]);
    /// assert_eq!(a.matmul(&x).to_vec::<f64>()?, [12.0, 3.0]);
    /// assert_eq!(a.matmul(&a).to_vec::<f64>()?, [1.0, 8.0, 0.0, 9.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn matmul(&self, other: impl Into<Operand>) -> Array {
        self.combine("matmul", &[other.into()], |states| {
            let [a, b] = states else { unreachable!("two operands") };
            matmul(a.by_number()?, b.by_number()?)
        })
    }
}

fn matmul(a: &State, b: &State) -> Result<State, Cause> {
    let (shape_a, shape_b) = (a.shape(), b.shape());
    let (ra, rb) = (shape_a.len(), shape_b.len());
    if ra == 0 || rb == 0 {
        return Err(Cause::Shape("a scalar has no matrix product; use `*`".to_owned()));
    }
    let (row, inner, column) = (Field::from("row"), Field::from("inner"), Field::from("column"));
    let (k, n) = (shape_a[ra - 1], shape_b[rb.saturating_sub(2)]);
    if k != n {
        return Err(Cause::Shape(format!("shapes {shape_a:?} and {shape_b:?}: {k} columns meet {n} rows")));
    }
    // Modes before the matrices are aligned as batches: the matrices' own modes are held apart by their names.
    let batches = ra.max(rb).saturating_sub(2);
    let batch = |rank: usize| (batches - rank.saturating_sub(2)..batches).map(position);
    let own_a = if ra == 1 { vec![inner.clone()] } else { vec![row.clone(), inner.clone()] };
    let own_b = if rb == 1 { vec![inner.clone()] } else { vec![inner.clone(), column.clone()] };
    let fields_a: Vec<Field> = batch(ra).chain(own_a).collect();
    let fields_b: Vec<Field> = batch(rb).chain(own_b).collect();
    let exprs = super::align::one_place_modes([(a, &fields_a), (b, &fields_b)])?;
    let product = Expr::mapjoin(Builtin::Mul, exprs)?;
    let sum = Expr::aggregate(Builtin::Add, Scalar::I64(0), product, [inner])?;
    let mut order: Vec<Field> = (0..batches).map(position).collect();
    order.extend((ra > 1).then_some(row));
    order.extend((rb > 1).then_some(column));
    let rank = order.len();
    let expr = sum.reorder(order)?.relabel(positions(rank))?;
    Ok(State { expr, style: Style::Positional, sources: State::sources([a, b]) })
}
