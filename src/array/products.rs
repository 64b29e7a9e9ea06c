//! Products of arrays: sums of products over shared modes, outer products, and Kronecker products.

use super::align::label_with_broadcast;
use super::axes::axis;
use super::error::Cause;
use super::shape::insert_mode;
use super::state::{ArrayState, position};
use super::{Array, Operand};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, Expr, Field, IndexMap, Scalar, Subscript};

/// The modes that [`Array::tensordot`] sums over.
#[derive(Clone, Debug)]
pub enum Contraction {
    /// This many of the last modes of the first array, and of the first modes of the second array.
    Count(usize),
    /// Modes of the first array and of the second, pair by pair.
    Pairs(Vec<i64>, Vec<i64>),
}

impl From<usize> for Contraction {
    fn from(count: usize) -> Contraction {
        Contraction::Count(count)
    }
}

impl<const N: usize> From<([i64; N], [i64; N])> for Contraction {
    fn from((first, second): ([i64; N], [i64; N])) -> Contraction {
        Contraction::Pairs(first.to_vec(), second.to_vec())
    }
}

impl Array {
    /// Computes the matrix product, a sum over the last mode of the first array and the
    /// second-to-last mode of the second array. A vector is a row on the left and a column on the
    /// right. Modes before the last two are broadcast.
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
            matmul(a.require_numbered()?, b.require_numbered()?)
        })
    }

    /// Computes the sum of products over pairs of modes. The remaining modes of the first array
    /// come before those of the second.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (a, b) = (session.dense([2, 2], [1, 2, 3, 4]), session.dense([2, 2], [1, 0, 0, 1]));
    /// assert_eq!(a.tensordot(&b, 2).to_vec::<i32>()?, [5]);
    /// assert_eq!(a.tensordot(&b, ([0], [0])).to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn tensordot(&self, other: impl Into<Operand>, over: impl Into<Contraction>) -> Array {
        let over = over.into();
        self.combine("tensordot", &[other.into()], |states| {
            let [a, b] = states else { unreachable!("two operands") };
            let (ra, rb) = (a.require_numbered()?.rank(), b.require_numbered()?.rank());
            let pairs: Vec<(usize, usize)> = match &over {
                Contraction::Count(n) if *n > ra.min(rb) => {
                    let (a, b) = (a.shape(), b.shape());
                    return Err(Cause::Shape(format!("cannot contract {n} modes of shapes {a:?} and {b:?}")));
                }
                Contraction::Count(n) => (ra - n..ra).zip(0..*n).collect(),
                Contraction::Pairs(of_a, of_b) if of_a.len() != of_b.len() => {
                    let (a, b) = (of_a.len(), of_b.len());
                    return Err(Cause::Shape(format!("cannot contract {a} axes of an array with {b} of another")));
                }
                Contraction::Pairs(of_a, of_b) => {
                    let pair = |(i, k): (&i64, &i64)| Ok((axis(*i, ra)?, axis(*k, rb)?));
                    of_a.iter().zip(of_b).map(pair).collect::<Result<_, Cause>>()?
                }
            };
            contract(a, b, &pairs)
        })
    }

    /// Computes the sum of products along an axis of both arrays; the other modes are broadcast.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1, 2, 3, 4]);
    /// assert_eq!(a.vecdot(&session.vector([1, 10]), -1).to_vec::<i32>()?, [21, 43]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn vecdot(&self, other: impl Into<Operand>, axis: i64) -> Array {
        self.combine("vecdot", &[other.into()], |states| {
            let to_end = |state: &ArrayState| {
                let rank = state.require_numbered()?.rank();
                let at = super::axes::axis(axis, rank)?;
                let order: Vec<usize> = (0..rank).filter(|k| *k != at).chain([at]).collect();
                super::shape::permute(state, &order)
            };
            let (row, column) = (to_end(&states[0])?, to_end(&states[1])?);
            let (n, k) = (row.size(row.rank() - 1), column.size(column.rank() - 1));
            if n != k {
                return Err(Cause::Shape(format!("sizes {n} and {k} along axis {axis} differ")));
            }
            let product = super::align::map(Builtin::Mul, &[row, column])?;
            super::reduce::fold(&product, &(-1).into(), Builtin::Add, Scalar::I64(0))
        })
    }

    /// Computes the product of NumPy's `dot`: a sum over the last mode of the first array and the
    /// second-to-last mode of the second array (of a vector, its only mode). The other modes of the
    /// first array come before those of the second. A scalar operand multiplies each value.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([1, 2, 3]);
    /// assert_eq!(a.dot(&a).to_vec::<i32>()?, [14]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn dot(&self, other: impl Into<Operand>) -> Array {
        self.combine("dot", &[other.into()], |states| {
            let [a, b] = states else { unreachable!("two operands") };
            match (a.require_numbered()?.rank(), b.require_numbered()?.rank()) {
                (0, _) | (_, 0) => super::align::map(Builtin::Mul, states),
                (ra, rb) => contract(a, b, &[(ra - 1, rb.saturating_sub(2))]),
            }
        })
    }

    /// Computes all products of a value of the first array and a value of the second. The modes of
    /// the first array come before those of the second.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (a, b) = (session.vector([1, 2]), session.vector([3, 4]));
    /// assert_eq!(a.outer(&b).to_vec::<i32>()?, [3, 4, 6, 8]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn outer(&self, other: impl Into<Operand>) -> Array {
        self.combine("outer", &[other.into()], |states| {
            let [a, b] = states else { unreachable!("two operands") };
            a.require_numbered()?;
            b.require_numbered()?;
            contract(a, b, &[])
        })
    }

    /// Computes the Kronecker product: each value of the first array times the whole second array.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (a, b) = (session.vector([1, 10]), session.vector([1, 2, 3]));
    /// assert_eq!(a.kron(&b).to_vec::<i32>()?, [1, 2, 3, 10, 20, 30]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn kron(&self, other: impl Into<Operand>) -> Array {
        self.combine("kron", &[other.into()], |states| {
            let rank = states.iter().map(ArrayState::rank).max().unwrap_or(0);
            let padded = |state: &ArrayState| {
                (state.require_numbered()?.rank()..rank).try_fold(state.clone(), |state, _| insert_mode(&state, 0))
            };
            kron(&padded(&states[0])?, &padded(&states[1])?)
        })
    }
}

fn matmul(a: &ArrayState, b: &ArrayState) -> Result<ArrayState, Cause> {
    let (shape_a, shape_b) = (a.shape(), b.shape());
    let (ra, rb) = (shape_a.len(), shape_b.len());
    if ra == 0 || rb == 0 {
        return Err(Cause::Shape("a scalar has no matrix product; use `*`".to_owned()));
    }
    let (row, inner, column) = (Field::from("row"), Field::from("inner"), Field::from("column"));
    let (k, n) = (shape_a[ra - 1], shape_b[rb.saturating_sub(2)]);
    if k != n {
        return Err(Cause::Shape(format!(
            "shapes {shape_a:?} and {shape_b:?} do not match: the first has {k} columns, the second {n} rows"
        )));
    }
    // The modes before those of the matrices are batches, which are aligned by their numbers. The
    // modes of the matrices have names instead of numbers.
    let batches = ra.max(rb).saturating_sub(2);
    let batch = |rank: usize| (batches - rank.saturating_sub(2)..batches).map(position);
    let matrix_a = if ra == 1 { vec![inner.clone()] } else { vec![row.clone(), inner.clone()] };
    let matrix_b = if rb == 1 { vec![inner.clone()] } else { vec![inner.clone(), column.clone()] };
    let fields_a: Vec<Field> = batch(ra).chain(matrix_a).collect();
    let fields_b: Vec<Field> = batch(rb).chain(matrix_b).collect();
    let exprs = label_with_broadcast(&[(a, fields_a), (b, fields_b)])?;
    let mut order: Vec<Field> = (0..batches).map(position).collect();
    order.extend((ra > 1).then_some(row));
    order.extend((rb > 1).then_some(column));
    sum_of_products(a, b, exprs, vec![inner], &order)
}

/// Computes the sum of products over pairs of modes.
fn contract(a: &ArrayState, b: &ArrayState, pairs: &[(usize, usize)]) -> Result<ArrayState, Cause> {
    let mut fields_a: Vec<Field> = (0..a.rank()).map(|k| Field::from(format!("a{k}"))).collect();
    let mut fields_b: Vec<Field> = (0..b.rank()).map(|k| Field::from(format!("b{k}"))).collect();
    let mut inner = Vec::new();
    for (n, (i, k)) in pairs.iter().enumerate() {
        if a.size(*i) != b.size(*k) {
            let (a, b) = (a.shape(), b.shape());
            return Err(Cause::Shape(format!("mode {i} of shape {a:?} and mode {k} of shape {b:?} differ in size")));
        }
        if let Some(pair) = pairs[..n].iter().find(|(p, q)| p == i || q == k) {
            return Err(Cause::RepeatedAxis(if pair.0 == *i { *i as i64 } else { *k as i64 }));
        }
        let field = Field::from(format!("inner{n}"));
        fields_a[*i] = field.clone();
        fields_b[*k] = field.clone();
        inner.push(field);
    }
    let order: Vec<Field> = fields_a.iter().chain(&fields_b).filter(|f| !inner.contains(f)).cloned().collect();
    let exprs = vec![a.label(&fields_a)?, b.label(&fields_b)?];
    sum_of_products(a, b, exprs, inner, &order)
}

/// Multiplies two expressions, sums the product over fields, and orders the modes of the sum.
fn sum_of_products(
    a: &ArrayState,
    b: &ArrayState,
    exprs: Vec<Expr>,
    inner: Vec<Field>,
    order: &[Field],
) -> Result<ArrayState, Cause> {
    let product = Expr::mapjoin(Builtin::Mul, exprs)?;
    let sum = if inner.is_empty() { product } else { Expr::aggregate(Builtin::Add, Scalar::I64(0), product, inner)? };
    ArrayState { sources: ArrayState::sources([a, b]), ..a.clone() }.number_modes(sum, order)
}

/// Computes `a[i / n] * b[i % n]` in every mode, where `n` is the size of the mode in `b`.
fn kron(a: &ArrayState, b: &ArrayState) -> Result<ArrayState, Cause> {
    let side = |state: &ArrayState, part: &dyn Fn(Affine, u64) -> Subscript| {
        let (mut coordinates, mut dimensions) = (Vec::new(), Vec::new());
        for mode in 0..state.rank() {
            let (m, n) = (a.size(mode), b.size(mode));
            let size =
                m.checked_mul(n).ok_or_else(|| Cause::Shape(format!("size {m} times {n} does not fit 64 bits")))?;
            dimensions.push((position(mode), size));
            coordinates.push((position(mode), part(Affine::field(position(mode)), n.max(1))));
        }
        Ok::<Expr, Cause>(state.expr.clone().index(IndexMap { coordinates, dimensions, outside: None })?)
    };
    let exprs = vec![side(a, &Subscript::Outer)?, side(b, &Subscript::Inner)?];
    let order: Vec<Field> = (0..a.rank()).map(position).collect();
    sum_of_products(a, b, exprs, Vec::new(), &order)
}
