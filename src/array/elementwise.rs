//! Functions applied at every place.

use super::align::map;
use super::{Array, Operand};
use redpoll_logic::op::{Builtin, Op};
use std::ops;

impl Array {
    /// An operator at every place of this array and others, aligned.
    ///
    /// ```
    /// # use redpoll::logic::op::Builtin;
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([3], [1, 2, 3]);
    /// assert_eq!(a.apply(Builtin::Pow, [2.into()]).to_vec::<i32>()?, [1, 4, 9]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn apply(&self, op: impl Into<Op>, others: impl IntoIterator<Item = Operand>) -> Array {
        let others: Vec<Operand> = others.into_iter().collect();
        self.combine("apply", &others, |states| map(op, states))
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

        operator!(number $trait $method: bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
    )*};
    (number $trait:ident $method:ident: $($t:ty)*) => {$(
        impl ops::$trait<&Array> for $t {
            type Output = Array;

            #[track_caller]
            fn $method(self, right: &Array) -> Array {
                right.number(self).$method(right)
            }
        }

        impl ops::$trait<Array> for $t {
            type Output = Array;

            #[track_caller]
            fn $method(self, right: Array) -> Array {
                right.number(self).$method(right)
            }
        }
    )*};
}
operator!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem, BitAnd bitand BitAnd, BitOr bitor BitOr,
    BitXor bitxor BitXor, Shl shl Shl, Shr shr Shr);

impl ops::Neg for &Array {
    type Output = Array;

    #[track_caller]
    fn neg(self) -> Array {
        self.combine("neg", &[], |states| map(Builtin::Neg, states))
    }
}

impl ops::Neg for Array {
    type Output = Array;

    #[track_caller]
    fn neg(self) -> Array {
        -&self
    }
}
