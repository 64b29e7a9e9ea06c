//! The table of built-in operators: name in text, arity, dtype rule, description.
//!
//! Each row is one operator; the casts, one per primitive, have no rows. [`DtypeRule`] describes
//! the dtype rules; `eval.rs` computes values; `laws.rs` has the algebraic laws.

use crate::dtype::Prim;
use std::fmt;

/// The number of arguments that an operator takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arity {
    /// Exactly this many.
    Exact(usize),
    /// At least this many; further arguments are folded from the left.
    AtLeast(usize),
}

impl Arity {
    /// Returns whether this number of arguments is allowed.
    pub fn allows(self, count: usize) -> bool {
        match self {
            Arity::Exact(n) => count == n,
            Arity::AtLeast(n) => count >= n,
        }
    }
}

impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arity::Exact(1) => f.write_str("1 argument"),
            Arity::Exact(n) => write!(f, "{n} arguments"),
            Arity::AtLeast(n) => write!(f, "{n} or more arguments"),
        }
    }
}

/// The rule that derives an operator's dtypes from those of its arguments. "Promoted" refers to
/// [`promote`](crate::op::promote).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DtypeRule {
    /// Arguments are promoted, then `bool` becomes `i64`; the result has their dtype.
    Arithmetic,
    /// Arguments are promoted, and `bool` is kept; the result has their dtype.
    Same,
    /// Arguments are promoted, then integers and `bool` become `f64`; the result has their dtype.
    Float,
    /// Arguments are cast to `bool` (`x != 0`); the result is `bool`.
    Logical,
    /// Arguments are promoted to an integer dtype or `bool`; the result has their dtype. If they
    /// would be promoted to a float, such as `u64` with `i64`, the arguments are rejected.
    Bits,
    /// An integer (`bool` becomes `i64`) and a count of any integer dtype (`bool` becomes `u8`);
    /// the result has the dtype of the first argument.
    Shift,
    /// A float (integers and `bool` become `f64`) and an exponent of any integer dtype (`bool`
    /// becomes `u8`); the result has the dtype of the first argument.
    Scale,
    /// Arguments are promoted; the result is `bool`.
    Order,
    /// Like [`DtypeRule::Order`]; arguments may also have one common struct dtype.
    Equality,
    /// One primitive argument, which is not cast; the result is `bool`.
    Predicate,
    /// A condition, cast to `bool`, and two arguments that are promoted or have one common struct
    /// dtype; the result has their dtype.
    Condition,
    /// Arguments are promoted or have one common struct dtype; the result has their dtype.
    Any,
    /// One primitive argument, which is not promoted; the result has the primitive of the cast.
    Cast,
    /// A primitive value and an integer or `bool` coordinate, cast to `i64`; the result is
    /// `(struct (value T) (coordinate i64))`.
    Pair,
    /// A struct of two members; the result is one of them.
    Member(usize),
    /// Structs of one dtype with two members, a primitive and an integer; the result has their
    /// dtype.
    PairFold,
}

macro_rules! arity {
    (unary) => {
        Arity::Exact(1)
    };
    (binary) => {
        Arity::Exact(2)
    };
    (ternary) => {
        Arity::Exact(3)
    };
    (many) => {
        Arity::AtLeast(2)
    };
}

macro_rules! builtins {
    ($($variant:ident $name:literal $arity:ident $rule:expr, $doc:literal;)*) => {
        /// A built-in operator.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Builtin {
            $(#[doc = $doc] $variant,)*
            /// The total conversion to a primitive, `Scalar::cast`.
            Cast(Prim),
        }

        impl Builtin {
            /// All built-in operators, in the order of the table; casts last.
            pub const ALL: &'static [Builtin] = &[
                $(Builtin::$variant,)*
                Builtin::Cast(Prim::Bool), Builtin::Cast(Prim::I8), Builtin::Cast(Prim::I16), Builtin::Cast(Prim::I32),
                Builtin::Cast(Prim::I64), Builtin::Cast(Prim::U8), Builtin::Cast(Prim::U16), Builtin::Cast(Prim::U32),
                Builtin::Cast(Prim::U64), Builtin::Cast(Prim::F32), Builtin::Cast(Prim::F64),
            ];

            /// Returns the name in text forms, such as `+` or `cast-f64`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Builtin::$variant => $name,)*
                    Builtin::Cast(to) => cast_name(to),
                }
            }

            /// Returns the number of arguments that the operator takes.
            pub fn arity(self) -> Arity {
                match self {
                    $(Builtin::$variant => arity!($arity),)*
                    Builtin::Cast(_) => Arity::Exact(1),
                }
            }

            /// Returns the rule for the operator's dtypes.
            pub fn dtype_rule(self) -> DtypeRule {
                use DtypeRule::*;
                match self {
                    $(Builtin::$variant => $rule,)*
                    Builtin::Cast(_) => Cast,
                }
            }

            /// Returns a description of the operator in one line.
            pub fn doc(self) -> &'static str {
                match self {
                    $(Builtin::$variant => $doc,)*
                    Builtin::Cast(_) => "The total conversion to a primitive.",
                }
            }
        }
    };
}

builtins! {
    Add "+" many Arithmetic, "Sum; wraps for integers.";
    Sub "-" binary Arithmetic, "Difference; wraps for integers.";
    Mul "*" many Same, "Product; wraps for integers, `and` for `bool`.";
    Div "/" binary Float, "Quotient, as a float.";
    Neg "neg" unary Arithmetic, "Negation; wraps for integers.";
    Abs "abs" unary Same, "Absolute value; wraps for integers.";
    Sign "sign" unary Same, "Sign: -1, 0 or 1; NaN for NaN, 0 for -0.";
    Min "min" many Same, "Minimum; NaN if any argument is NaN (in the default mode, -inf if any is -inf); -0 is less than 0.";
    Max "max" many Same, "Maximum; NaN if any argument is NaN (in the default mode, inf if any is inf); -0 is less than 0.";
    Pow "pow" binary Arithmetic, "Power; wraps for integers, where a negative exponent gives 0, except for bases 1 and -1.";
    FloorDiv "floordiv" binary Arithmetic, "Quotient, rounded down; 0 for integers divided by 0.";
    Rem "rem" binary Arithmetic, "Remainder of floordiv, with the sign of the divisor; 0 for integers divided by 0.";
    And "and" many Logical, "True if all arguments are true.";
    Or "or" many Logical, "True if any argument is true.";
    Xor "xor" many Logical, "True if an odd number of arguments is true.";
    Not "not" unary Logical, "True if the argument is false.";
    BitAnd "band" many Bits, "Bitwise and.";
    BitOr "bor" many Bits, "Bitwise or.";
    BitXor "bxor" many Bits, "Bitwise exclusive or.";
    BitNot "bnot" unary Bits, "Bitwise complement.";
    Shl "shl" binary Shift, "Shift left; the count is read as unsigned, and counts of the width or more give 0.";
    Shr "shr" binary Shift, "Shift right; the count is read as unsigned, and counts of the width or more give copies of the sign bit, or 0 for unsigned integers.";
    Ldexp "ldexp" binary Scale, "`x * 2^n`, rounded once.";
    Eq "eq" binary Equality, "True if the arguments are equal; false for NaN, true for -0 and 0.";
    Ne "ne" binary Equality, "True if the arguments differ.";
    Lt "lt" binary Order, "True if the first argument is less; false for NaN.";
    Le "le" binary Order, "True if the first argument is less or equal; false for NaN.";
    Gt "gt" binary Order, "True if the first argument is greater; false for NaN.";
    Ge "ge" binary Order, "True if the first argument is greater or equal; false for NaN.";
    IfElse "ifelse" ternary Condition, "The second argument if the first is true, else the third.";
    Choose "choose" many Any, "The first argument that is not zero, else the last.";
    Coalesce "coalesce" many Same, "The first argument that is not NaN, else the last.";
    MinBy "minby" many PairFold, "The pair with the smallest first member; ties go to the smallest second member; NaN is chosen over all numbers.";
    MaxBy "maxby" many PairFold, "The pair with the largest first member; ties go to the smallest second member; NaN is chosen over all numbers.";
    AddSat "add-sat" many Arithmetic, "Sum; saturates for integers.";
    SubSat "sub-sat" binary Arithmetic, "Difference; saturates for integers.";
    MulSat "mul-sat" many Arithmetic, "Product; saturates for integers.";
    AddChecked "add-checked" many Arithmetic, "Sum; integer overflow is a fault.";
    SubChecked "sub-checked" binary Arithmetic, "Difference; integer overflow is a fault.";
    MulChecked "mul-checked" many Arithmetic, "Product; integer overflow is a fault.";
    Sqrt "sqrt" unary Float, "Square root.";
    Cbrt "cbrt" unary Float, "Cube root.";
    Exp "exp" unary Float, "Exponential function, e^x.";
    Exp2 "exp2" unary Float, "Power of two, 2^x.";
    Expm1 "expm1" unary Float, "Exponential function minus one, e^x - 1.";
    Log "log" unary Float, "Natural logarithm.";
    Log2 "log2" unary Float, "Logarithm to base 2.";
    Log10 "log10" unary Float, "Logarithm to base 10.";
    Log1p "log1p" unary Float, "Natural logarithm of one plus the argument, ln(1 + x).";
    Sin "sin" unary Float, "Sine.";
    Cos "cos" unary Float, "Cosine.";
    Tan "tan" unary Float, "Tangent.";
    Asin "asin" unary Float, "Arc sine.";
    Acos "acos" unary Float, "Arc cosine.";
    Atan "atan" unary Float, "Arc tangent.";
    Sinh "sinh" unary Float, "Hyperbolic sine.";
    Cosh "cosh" unary Float, "Hyperbolic cosine.";
    Tanh "tanh" unary Float, "Hyperbolic tangent.";
    Asinh "asinh" unary Float, "Inverse hyperbolic sine.";
    Acosh "acosh" unary Float, "Inverse hyperbolic cosine.";
    Atanh "atanh" unary Float, "Inverse hyperbolic tangent.";
    Floor "floor" unary Same, "Rounds down; does not change integers.";
    Ceil "ceil" unary Same, "Rounds up; does not change integers.";
    Trunc "trunc" unary Same, "Rounds towards zero; does not change integers.";
    Round "round" unary Same, "Rounds to nearest, ties to even; does not change integers.";
    Erf "erf" unary Float, "The error function.";
    Tgamma "tgamma" unary Float, "The gamma function.";
    Lgamma "lgamma" unary Float, "The logarithm of the gamma function's absolute value.";
    Atan2 "atan2" binary Float, "The angle of the point (x, y), with the arguments in the order y, x.";
    Hypot "hypot" binary Float, "sqrt(x^2 + y^2), without intermediate overflow.";
    Nextafter "nextafter" binary Float, "The next float after the first argument in the direction of the second, or the second if both are equal.";
    Fmod "fmod" binary Arithmetic, "Remainder with the sign of the dividend; 0 for integers divided by 0.";
    Copysign "copysign" binary Float, "The absolute value of the first argument, with the sign of the second; a NaN counts as positive.";
    Square "square" unary Arithmetic, "Square, x * x; wraps for integers.";
    Reciprocal "reciprocal" unary Float, "Reciprocal, 1 / x.";
    IsNan "isnan" unary Predicate, "True if the argument is NaN.";
    IsFinite "isfinite" unary Predicate, "True if the argument is neither NaN nor infinite.";
    IsInf "isinf" unary Predicate, "True if the argument is infinite.";
    SignBit "signbit" unary Predicate, "True if the sign bit is set: for negative numbers, for -0, and for NaN with that bit.";
    Pair "pair" binary Pair, "The struct of a value and a coordinate.";
    First "first" unary Member(0), "The first member of a struct of two members.";
    Second "second" unary Member(1), "The second member of a struct of two members.";
}

impl Builtin {
    /// Returns the operator with the given name; `None` if no built-in operator has that name.
    pub fn from_name(name: &str) -> Option<Builtin> {
        Builtin::ALL.iter().copied().find(|b| b.name() == name)
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn cast_name(to: Prim) -> &'static str {
    match to {
        Prim::Bool => "cast-bool",
        Prim::I8 => "cast-i8",
        Prim::I16 => "cast-i16",
        Prim::I32 => "cast-i32",
        Prim::I64 => "cast-i64",
        Prim::U8 => "cast-u8",
        Prim::U16 => "cast-u16",
        Prim::U32 => "cast-u32",
        Prim::U64 => "cast-u64",
        Prim::F32 => "cast-f32",
        Prim::F64 => "cast-f64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_found_again() {
        let names: HashSet<_> = Builtin::ALL.iter().map(|b| b.name()).collect();
        assert_eq!(names.len(), Builtin::ALL.len());
        for b in Builtin::ALL {
            assert_eq!(Builtin::from_name(b.name()), Some(*b));
        }
        assert_eq!(Builtin::from_name("plus"), None);
    }

    #[test]
    fn every_prim_has_its_cast() {
        for p in Prim::ALL {
            assert_eq!(Builtin::Cast(p).name(), format!("cast-{p}"));
            assert!(Builtin::ALL.contains(&Builtin::Cast(p)));
        }
    }
}
