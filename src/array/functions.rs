//! Table of elementwise functions that each apply one operator: name, operator, documentation and a
//! tested example.
//!
//! Functions of the Python Array API standard have the names that the standard gives them. Operands
//! are aligned, and dtypes promote as in the standard. A number takes the dtype of the array,
//! unless the number is of a higher kind (`bool` < integers < floats). Functions of floats convert
//! integers to `f64`.

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
    abs Abs "Computes the absolute value; integers wrap." [-2, 3] => i32: [2, 3];
    acos Acos "Computes the arc cosine." [1.0] => f64: [0.0];
    acosh Acosh "Computes the inverse hyperbolic cosine." [1.0] => f64: [0.0];
    asin Asin "Computes the arc sine." [0.0] => f64: [0.0];
    asinh Asinh "Computes the inverse hyperbolic sine." [0.0] => f64: [0.0];
    atan Atan "Computes the arc tangent." [0.0] => f64: [0.0];
    atanh Atanh "Computes the inverse hyperbolic tangent." [0.0] => f64: [0.0];
    bitwise_invert BitNot "Computes the complement of the bits; for `bool`, the negation." [0, 5] => i32: [-1, -6];
    cbrt Cbrt "Computes the cube root." [27.0] => f64: [3.0];
    ceil Ceil "Rounds up; integers are unchanged." [1.2, -1.2] => f64: [2.0, -1.0];
    cos Cos "Computes the cosine." [0.0] => f64: [1.0];
    cosh Cosh "Computes the hyperbolic cosine." [0.0] => f64: [1.0];
    erf Erf "Computes the error function." [0.0] => f64: [0.0];
    exp Exp "Computes `e^x`." [0.0] => f64: [1.0];
    exp2 Exp2 "Computes `2^x`." [3.0] => f64: [8.0];
    expm1 Expm1 "Computes `exp(x) - 1`, accurate near 0." [0.0] => f64: [0.0];
    floor Floor "Rounds down; integers are unchanged." [1.2, -1.2] => f64: [1.0, -2.0];
    isfinite IsFinite "Returns whether each value is neither NaN nor infinite." [1.0, 2.0] => bool: [true, true];
    isinf IsInf "Returns whether each value is infinite." [1.0, f64::INFINITY] => bool: [false, true];
    isnan IsNan "Returns whether each value is NaN. In the default float mode, results that depend on NaN are unspecified; see `FloatMode`." [1.0] => bool: [false];
    lgamma Lgamma "Computes the logarithm of the absolute value of the gamma function." [1.0] => f64: [0.0];
    log Log "Computes the natural logarithm." [1.0] => f64: [0.0];
    log10 Log10 "Computes the logarithm to base 10." [1000.0] => f64: [3.0];
    log1p Log1p "Computes `log(1 + x)`, accurate near 0." [0.0] => f64: [0.0];
    log2 Log2 "Computes the logarithm to base 2." [8.0] => f64: [3.0];
    logical_not Not "Returns whether each value is zero or false." [0, 2] => bool: [true, false];
    negative Neg "Computes the negation, as `-x`; integers wrap." [1, -2] => i32: [-1, 2];
    reciprocal Reciprocal "Computes `1 / x`." [4.0] => f64: [0.25];
    round Round "Rounds to the nearest integer, ties to even; integers are unchanged." [0.5, 1.5, -1.2] => f64: [0.0, 2.0, -1.0];
    sign Sign "Returns the sign as -1, 0 or 1, or NaN for NaN." [-7, 0, 3] => i32: [-1, 0, 1];
    sin Sin "Computes the sine." [0.0] => f64: [0.0];
    sinh Sinh "Computes the hyperbolic sine." [0.0] => f64: [0.0];
    sqrt Sqrt "Computes the square root." [9.0] => f64: [3.0];
    square Square "Computes `x * x`; integers wrap." [-3] => i32: [9];
    tan Tan "Computes the tangent." [0.0] => f64: [0.0];
    tanh Tanh "Computes the hyperbolic tangent." [0.0] => f64: [0.0];
    tgamma Tgamma "Computes the gamma function." [5.0] => f64: [24.0];
    trunc Trunc "Rounds towards zero; integers are unchanged." [1.7, -1.7] => f64: [1.0, -1.0];
}

functions! { binary:
    add Add "Computes the sum, as `x + y`; integers wrap." [1, 2] [10, 20] => i32: [11, 22];
    add_checked AddChecked "Computes the sum; integer overflow stops the run with an error." [1, 2] [10, 20] => i32: [11, 22];
    add_saturating AddSat "Computes the sum; integers saturate." [i8::MAX] [1i8] => i8: [127];
    atan2 Atan2 "Computes the angle of a point. This array holds the second coordinate of the point, and the operand holds the first." [0.0] [1.0] => f64: [0.0];
    bitwise_and BitAnd "Computes the bitwise and, as `x & y`." [6, 5] [3, 4] => i32: [2, 4];
    bitwise_left_shift Shl "Shifts the bits left, as `x << y`. A shift by the number of bits or more gives 0." [1, 3] [4, 1] => i32: [16, 6];
    bitwise_or BitOr "Computes the bitwise or, as `x | y`." [6, 5] [3, 2] => i32: [7, 7];
    bitwise_right_shift Shr "Shifts the bits right, as `x >> y`. A shift by the number of bits or more gives copies of the sign bit, or 0 for unsigned integers." [16, -3] [4, 1] => i32: [1, -2];
    bitwise_xor BitXor "Computes the bitwise exclusive or, as `x ^ y`." [6, 5] [3, 5] => i32: [5, 0];
    choose Choose "Returns `x`, or `y` where `x` is zero." [0, 5] [7, 8] => i32: [7, 5];
    coalesce Coalesce "Returns `x`, or `y` where `x` is NaN." [1.0] [7.0] => f64: [1.0];
    copysign Copysign "Returns `x` with the sign of `y`." [1.0, 2.0] [-3.0, 3.0] => f64: [-1.0, 2.0];
    divide Div "Computes the quotient, as `x / y`; integers are divided in `f64`. In the default float mode, 0 divided by anything is 0; see `FloatMode`." [1, 6] [4, 3] => f64: [0.25, 2.0];
    equal Eq "Returns whether `x` equals `y`." [1, 2] [1, 3] => bool: [true, false];
    floor_divide FloorDiv "Computes the quotient rounded down. An integer divided by 0 is 0. In the default float mode, 0 divided by anything is 0." [7, -7] [2, 2] => i32: [3, -4];
    fmod Fmod "Computes the remainder with the sign of the dividend. The remainder of an integer divided by 0 is 0. In the default float mode, the remainder of 0 is 0." [7, -7] [3, 3] => i32: [1, -1];
    greater Gt "Returns whether `x > y`." [1, 2] [1, 1] => bool: [false, true];
    greater_equal Ge "Returns whether `x >= y`." [1, 2] [1, 3] => bool: [true, false];
    nextafter Nextafter "Returns the next float after `x` in the direction of `y`." [1.0] [2.0] => f64: [1.0 + f64::EPSILON];
    hypot Hypot "Computes `sqrt(x^2 + y^2)` without intermediate overflow." [3.0] [4.0] => f64: [5.0];
    ldexp Ldexp "Computes `x * 2^y`, rounded once." [0.75] [3] => f64: [6.0];
    less Lt "Returns whether `x < y`." [1, 2] [1, 3] => bool: [false, true];
    less_equal Le "Returns whether `x <= y`." [1, 2] [1, 1] => bool: [true, false];
    logical_and And "Returns whether both values are true or nonzero." [1, 2] [0, 3] => bool: [false, true];
    logical_or Or "Returns whether at least one value is true or nonzero." [0, 2] [0, 0] => bool: [false, true];
    logical_xor Xor "Returns whether exactly one value is true or nonzero." [0, 2] [1, 1] => bool: [true, false];
    maximum Max "Returns the larger value." [1, 5] [3, 4] => i32: [3, 5];
    minimum Min "Returns the smaller value." [1, 5] [3, 4] => i32: [1, 4];
    multiply Mul "Computes the product, as `x * y`; integers wrap." [2, 3] [4, 5] => i32: [8, 15];
    multiply_checked MulChecked "Computes the product; integer overflow stops the run with an error." [2] [4] => i32: [8];
    multiply_saturating MulSat "Computes the product; integers saturate." [100i8] [2i8] => i8: [127];
    not_equal Ne "Returns whether `x` differs from `y`." [1, 2] [1, 3] => bool: [false, true];
    pow Pow "Computes `x^y`; integers wrap. For integers, a negative exponent gives 0, except for bases 1 and -1." [2, 3] [5, 2] => i32: [32, 9];
    remainder Rem "Computes `x % y`: the remainder of `floor_divide`, which has the sign of `y`. The remainder of an integer divided by 0 is 0. In the default float mode, the remainder of 0 is 0." [7, -7] [3, 3] => i32: [1, 2];
    subtract Sub "Computes the difference, as `x - y`; integers wrap." [1, 2] [3, 1] => i32: [-2, 1];
    subtract_checked SubChecked "Computes the difference; integer overflow stops the run with an error." [5] [3] => i32: [2];
    subtract_saturating SubSat "Computes the difference; integers saturate." [i8::MIN] [1i8] => i8: [-128];
}
