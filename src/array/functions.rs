//! Table of the elementwise functions: name, operator, documentation and a tested example.
//!
//! Names are those of the Python Array API standard where it has the function. Operands are
//! aligned, numbers take the dtype of the array, and dtypes promote as in the standard. Functions
//! of floats convert integers to `f64`.

use super::align::map;
use super::{Array, Operand};
use redpoll_logic::op::Builtin;

macro_rules! functions {
    (unary: $($name:ident $op:ident $doc:literal $x:tt => $t:ty: $y:tt;)*) => {
        impl Array {$(
            #[doc = $doc]
            ///
            /// ```
            /// # let session = redpoll::Session::default();
            #[doc = concat!("let x = session.vector(", stringify!($x), ");")]
            #[doc = concat!("assert_eq!(x.", stringify!($name), "().to_vec::<", stringify!($t), ">()?, ",
                stringify!($y), ");")]
            /// # Ok::<(), redpoll::Error>(())
            /// ```
            #[track_caller]
            #[must_use]
            pub fn $name(&self) -> Array {
                self.combine(stringify!($name), &[], |states| map(Builtin::$op, states))
            }
        )*}
    };
    (binary: $($name:ident $op:ident $doc:literal $x:tt $y:tt => $t:ty: $z:tt;)*) => {
        impl Array {$(
            #[doc = $doc]
            ///
            /// ```
            /// # let session = redpoll::Session::default();
            #[doc = concat!("let (x, y) = (session.vector(", stringify!($x), "), session.vector(", stringify!($y), "));")]
            #[doc = concat!("assert_eq!(x.", stringify!($name), "(&y).to_vec::<", stringify!($t), ">()?, ",
                stringify!($z), ");")]
            /// # Ok::<(), redpoll::Error>(())
            /// ```
            #[track_caller]
            #[must_use]
            pub fn $name(&self, other: impl Into<Operand>) -> Array {
                self.combine(stringify!($name), &[other.into()], |states| map(Builtin::$op, states))
            }
        )*}
    };
}

functions! { unary:
    abs Abs "The absolute value." [-2, 3] => i32: [2, 3];
    acos Acos "The arc cosine." [1.0] => f64: [0.0];
    acosh Acosh "The inverse hyperbolic cosine." [1.0] => f64: [0.0];
    asin Asin "The arc sine." [0.0] => f64: [0.0];
    asinh Asinh "The inverse hyperbolic sine." [0.0] => f64: [0.0];
    atan Atan "The arc tangent." [0.0] => f64: [0.0];
    atanh Atanh "The inverse hyperbolic tangent." [0.0] => f64: [0.0];
    bitwise_invert BitNot "The complement of the bits; of `bool` its negation." [0, 5] => i32: [-1, -6];
    cbrt Cbrt "The cube root." [27.0] => f64: [3.0];
    ceil Ceil "Rounds up; integers stay." [1.2, -1.2] => f64: [2.0, -1.0];
    cos Cos "The cosine." [0.0] => f64: [1.0];
    cosh Cosh "The hyperbolic cosine." [0.0] => f64: [1.0];
    erf Erf "The error function." [0.0] => f64: [0.0];
    exp Exp "e to that power." [0.0] => f64: [1.0];
    exp2 Exp2 "2 to that power." [3.0] => f64: [8.0];
    expm1 Expm1 "`exp(x) - 1`, exact near 0." [0.0] => f64: [0.0];
    floor Floor "Rounds down; integers stay." [1.2, -1.2] => f64: [1.0, -2.0];
    isfinite IsFinite "Whether it is neither NaN nor infinite." [1.0, 2.0] => bool: [true, true];
    isinf IsInf "Whether it is infinite." [1.0, f64::INFINITY] => bool: [false, true];
    isnan IsNan "Whether it is NaN; the engine has to be in the strict mode to count on NaN." [1.0] => bool: [false];
    lgamma Lgamma "The logarithm of the absolute value of the gamma function." [1.0] => f64: [0.0];
    log Log "The natural logarithm." [1.0] => f64: [0.0];
    log10 Log10 "The logarithm to base 10." [1000.0] => f64: [3.0];
    log1p Log1p "`log(1 + x)`, exact near 0." [0.0] => f64: [0.0];
    log2 Log2 "The logarithm to base 2." [8.0] => f64: [3.0];
    logical_not Not "Whether it is zero or false." [0, 2] => bool: [true, false];
    negative Neg "The negation, as `-x`; of integers wrapping." [1, -2] => i32: [-1, 2];
    reciprocal Reciprocal "`1 / x`" [4.0] => f64: [0.25];
    round Round "Rounds to the nearest integer, ties to even; integers stay." [0.5, 1.5, -1.2] => f64: [0.0, 2.0, -1.0];
    sign Sign "-1, 0 or 1." [-7, 0, 3] => i32: [-1, 0, 1];
    sin Sin "The sine." [0.0] => f64: [0.0];
    sinh Sinh "The hyperbolic sine." [0.0] => f64: [0.0];
    sqrt Sqrt "The square root." [9.0] => f64: [3.0];
    square Square "`x * x`; of integers wrapping." [-3] => i32: [9];
    tan Tan "The tangent." [0.0] => f64: [0.0];
    tanh Tanh "The hyperbolic tangent." [0.0] => f64: [0.0];
    tgamma Tgamma "The gamma function." [5.0] => f64: [24.0];
    trunc Trunc "Rounds towards zero; integers stay." [1.7, -1.7] => f64: [1.0, -1.0];
}

functions! { binary:
    add Add "The sum, as `x + y`; of integers wrapping." [1, 2] [10, 20] => i32: [11, 22];
    add_checked AddChecked "The sum; integer overflow stops the run with an error." [1, 2] [10, 20] => i32: [11, 22];
    add_saturating AddSat "The sum; integers saturate." [i8::MAX] [1i8] => i8: [127];
    atan2 Atan2 "The angle of the point `(y, x)`, of which this array has `y`." [0.0] [1.0] => f64: [0.0];
    bitwise_and BitAnd "Both bits, as `x & y`." [6, 5] [3, 4] => i32: [2, 4];
    bitwise_left_shift Shl "Bits shifted left, as `x << y`." [1, 3] [4, 1] => i32: [16, 6];
    bitwise_or BitOr "Any bit, as `x | y`." [6, 5] [3, 2] => i32: [7, 7];
    bitwise_right_shift Shr "Bits shifted right, as `x >> y`." [16, -3] [4, 1] => i32: [1, -2];
    bitwise_xor BitXor "Bits that differ, as `x ^ y`." [6, 5] [3, 5] => i32: [5, 0];
    choose Choose "`x`, or `y` where `x` is zero." [0, 5] [7, 8] => i32: [7, 5];
    coalesce Coalesce "`x`, or `y` where `x` is NaN." [1.0] [7.0] => f64: [1.0];
    copysign Copysign "`x` with the sign of `y`." [1.0, 2.0] [-3.0, 3.0] => f64: [-1.0, 2.0];
    divide Div "The quotient, as `x / y`; of integers in `f64`. In the default float mode 0 over anything is 0, see `FloatMode`." [1, 6] [4, 3] => f64: [0.25, 2.0];
    equal Eq "Whether they are equal." [1, 2] [1, 3] => bool: [true, false];
    floor_divide FloorDiv "The quotient rounded down; 0 for integers over 0, and in the default float mode for 0 over anything." [7, -7] [2, 2] => i32: [3, -4];
    fmod Fmod "The remainder with the sign of the dividend; in the default float mode that of 0 is 0." [7, -7] [3, 3] => i32: [1, -1];
    greater Gt "Whether `x` is greater." [1, 2] [1, 1] => bool: [false, true];
    greater_equal Ge "Whether `x` is greater or equal." [1, 2] [1, 3] => bool: [true, false];
    hypot Hypot "`sqrt(x^2 + y^2)`, without overflow on the way." [3.0] [4.0] => f64: [5.0];
    ldexp Ldexp "`x * 2^y`, rounded once." [0.75] [3] => f64: [6.0];
    less Lt "Whether `x` is less." [1, 2] [1, 3] => bool: [false, true];
    less_equal Le "Whether `x` is less or equal." [1, 2] [1, 1] => bool: [true, false];
    logical_and And "Whether both are true or not zero." [1, 2] [0, 3] => bool: [false, true];
    logical_or Or "Whether any is true or not zero." [0, 2] [0, 0] => bool: [false, true];
    logical_xor Xor "Whether one of the two is true or not zero." [0, 2] [1, 1] => bool: [true, false];
    maximum Max "The larger one." [1, 5] [3, 4] => i32: [3, 5];
    minimum Min "The smaller one." [1, 5] [3, 4] => i32: [1, 4];
    multiply Mul "The product, as `x * y`; of integers wrapping." [2, 3] [4, 5] => i32: [8, 15];
    multiply_checked MulChecked "The product; integer overflow stops the run with an error." [2] [4] => i32: [8];
    multiply_saturating MulSat "The product; integers saturate." [100i8] [2i8] => i8: [127];
    not_equal Ne "Whether they differ." [1, 2] [1, 3] => bool: [false, true];
    pow Pow "`x` to the power `y`; of integers wrapping." [2, 3] [5, 2] => i32: [32, 9];
    remainder Rem "The remainder of `floor_divide`, with the sign of `y`, as `x % y`; in the default float mode that of 0 is 0." [7, -7] [3, 3] => i32: [1, 2];
    subtract Sub "The difference, as `x - y`; of integers wrapping." [1, 2] [3, 1] => i32: [-2, 1];
    subtract_checked SubChecked "The difference; integer overflow stops the run with an error." [5] [3] => i32: [2];
    subtract_saturating SubSat "The difference; integers saturate." [i8::MIN] [1i8] => i8: [-128];
}
