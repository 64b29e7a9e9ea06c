//! Elementwise functions that the table in `functions.rs` does not list: application of any
//! operator, the operators of Rust, selection, clamping, casts, and functions of signs and
//! logarithms.

use super::align::map;
use super::error::Cause;
use super::state::ArrayState;
use super::{Array, Operand};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Prim};
use std::ops;

impl Array {
    /// Aligns this array with the others and applies an operator elementwise. A user-defined
    /// operator is compiled into the kernels like a built-in operator.
    ///
    /// ```
    /// use redpoll::logic::op::{Body, Builtin, UserOp};
    /// use redpoll::logic::DType;
    ///
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([1, 2, 3]);
    /// assert_eq!(a.apply(Builtin::Pow, [2.into()]).to_vec::<i32>()?, [1, 4, 9]);
    ///
    /// // The remainder x mod 3, but 3 for multiples of 3.
    /// let remainder = Body::call(Builtin::Rem, [Body::Arg(0), Body::lit(3)]);
    /// let body = Body::If(remainder.clone().into(), remainder.into(), Body::lit(3).into());
    /// let op = UserOp::new("round_of_three", vec![("x".into(), DType::I64)], DType::I64, &body)?;
    /// assert_eq!(a.apply(op, []).to_vec::<i64>()?, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn apply(&self, op: impl Into<Op>, others: impl IntoIterator<Item = Operand>) -> Array {
        let others: Vec<Operand> = others.into_iter().collect();
        self.combine("apply", &others, |states| map(op, states))
    }

    /// Selects the element of `yes` where this array is nonzero or true, and the element of `no`
    /// elsewhere.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([3, -1, 0]);
    /// assert_eq!(a.greater(0).where_(&a, -1).to_vec::<i32>()?, [3, -1, -1]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn where_(&self, yes: impl Into<Operand>, no: impl Into<Operand>) -> Array {
        self.combine("where_", &[yes.into(), no.into()], |states| map(Builtin::IfElse, states))
    }

    /// Clamps the values to the range from `low` to `high`.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([-3, 1, 9]).clip(0, 5).to_vec::<i32>()?, [0, 1, 5]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn clip(&self, low: impl Into<Operand>, high: impl Into<Operand>) -> Array {
        self.combine("clip", &[low.into(), high.into()], |states| {
            let [x, low, high] = states else { unreachable!("three operands") };
            let above = map(Builtin::Max, &[x.clone(), low.clone()])?;
            map(Builtin::Min, &[above, high.clone()])
        })
    }

    /// Casts the values to a dtype. Integers wrap to narrower integers. Floats convert to integers
    /// by truncation and saturation, with NaN as 0. Numbers convert to `bool` by `x != 0`.
    ///
    /// ```
    /// # use redpoll::logic::Prim;
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([-1.5, 0.0, 2.7]).astype(Prim::I32).to_vec::<i32>()?, [-1, 0, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn astype(&self, dtype: impl Into<DType>) -> Array {
        let dtype = dtype.into();
        self.derive("astype", |state| state.cast(&dtype))
    }

    /// Computes `log(exp(x) + exp(y))` without intermediate overflow.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([1000.0, 0.0]);
    /// assert_eq!(a.logaddexp(&a).to_vec::<f64>()?, [1000.0 + 2f64.ln(), 2f64.ln()]);
    /// let bytes = session.vector([0u8, 1]).logaddexp(session.vector([1u8, 0]));
    /// assert_eq!(bytes.to_vec::<f64>()?, [1.3132616875182228; 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn logaddexp(&self, other: impl Into<Operand>) -> Array {
        self.combine("logaddexp", &[other.into()], |states| {
            let zero = ArrayState::number(0.0);
            // If no operand is a float, the operands are converted first, because a difference of
            // integers may wrap.
            let integers = !states.iter().any(|s| s.prim().is_some_and(Prim::is_float));
            let floats = states.iter().map(|s| if integers { s.to_float() } else { Ok(s.clone()) });
            let states = &floats.collect::<Result<Vec<ArrayState>, Cause>>()?[..];
            let [x, y] = states else { unreachable!("two operands") };
            // The difference of equal operands is set to 0, because `inf - inf` is NaN.
            let difference = map(Builtin::IfElse, &[map(Builtin::Eq, states)?, zero, map(Builtin::Sub, states)?])?;
            let down = map(Builtin::Neg, &[map(Builtin::Abs, &[difference])?])?;
            let rest = map(Builtin::Log1p, &[map(Builtin::Exp, &[down])?])?;
            map(Builtin::Add, &[map(Builtin::Max, &[x.clone(), y.clone()])?, rest])
        })
    }

    /// Returns whether the sign bit of each number is set. The bit is set in -0.0; a NaN has either
    /// sign.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([-1.0, -0.0, 0.0]).signbit().to_vec::<bool>()?, [true, true, false]);
    /// assert_eq!(session.vector([f64::NAN, -f64::NAN]).signbit().to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn signbit(&self) -> Array {
        self.combine("signbit", &[], |states| map(Builtin::SignBit, states))
    }

    /// Returns the array itself. Values that are `bool`s or structs are an error.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([-1, 2]).positive().to_vec::<i32>()?, [-1, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn positive(&self) -> Array {
        self.derive("positive", |state| match state.prim() {
            Some(Prim::Bool) | None => {
                Err(Cause::Shape(format!("values of dtype {} have no sign; cast first", state.expr.info().dtype)))
            }
            Some(_) => Ok(state.clone()),
        })
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<R: Into<Operand>> ops::$trait<R> for &Array {
            type Output = Array;

            #[track_caller]
            fn $method(self, right: R) -> Array {
                self.combine(stringify!($method), &[right.into()], |states| map(Builtin::$op, states))
            }
        }

        impl<R: Into<Operand>> ops::$trait<R> for Array {
            type Output = Array;

            #[track_caller]
            fn $method(self, right: R) -> Array {
                self.combine(stringify!($method), &[right.into()], |states| map(Builtin::$op, states))
            }
        }

        // A number on the left is a `bool`, `i64` or `f64`: with more types of integers or floats,
        // the type of a number without a suffix would be ambiguous. The number takes the dtype of
        // the array, unless the number is of a higher kind (`bool` < integers < floats).
        operator!(number $trait $method: bool i64 f64);
    )*};
    (number $trait:ident $method:ident: $($t:ty)*) => {$(
        impl ops::$trait<&Array> for $t {
            type Output = Array;

            #[track_caller]
            fn $method(self, right: &Array) -> Array {
                ops::$trait::$method(right.number(self), right)
            }
        }

        impl ops::$trait<Array> for $t {
            type Output = Array;

            #[track_caller]
            fn $method(self, right: Array) -> Array {
                ops::$trait::$method(right.number(self), right)
            }
        }
    )*};
}
operator!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem, BitAnd bitand BitAnd, BitOr bitor BitOr,
    BitXor bitxor BitXor, Shl shl Shl, Shr shr Shr);

macro_rules! sign {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl ops::$trait for &Array {
            type Output = Array;

            #[track_caller]
            fn $method(self) -> Array {
                self.combine(stringify!($method), &[], |states| map(Builtin::$op, states))
            }
        }

        impl ops::$trait for Array {
            type Output = Array;

            #[track_caller]
            fn $method(self) -> Array {
                ops::$trait::$method(&self)
            }
        }
    )*};
}
sign!(Neg neg Neg, Not not BitNot);
