//! The table of built-in operators: name in text, arity, dtype rule, description.
//!
//! Each row is one operator. [`Rule`] describes the dtype rules; `eval.rs` computes values;
//! `laws.rs` has the algebraic laws.

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
pub enum Rule {
    /// Arguments are promoted, `bool` to `i64`; the result has their dtype.
    Arithmetic,
    /// Arguments are promoted, and `bool` is kept; the result has their dtype.
    Same,
    /// Arguments are promoted, then integers and `bool` become `f64`; the result has their dtype.
    Float,
    /// Arguments are cast to `bool` (`x != 0`); the result is `bool`.
    Logical,
    /// Arguments are promoted and must be integers or `bool`; the result has their dtype.
    Bits,
    /// An integer (`bool` becomes `i64`) and a count of any integer dtype (`bool` becomes `u8`);
    /// the result has the dtype of the first.
    Shift,
    /// A float (integers and `bool` become `f64`) and an exponent of any integer dtype (`bool`
    /// becomes `u8`); the result has the dtype of the first.
    Scale,
    /// Arguments are promoted; the result is `bool`.
    Order,
    /// Like [`Rule::Order`]; arguments may also have one common struct dtype.
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
            pub fn rule(self) -> Rule {
                use Rule::*;
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
    Add "+" many Arithmetic, "Sum; of integers wrapping.";
    Sub "-" binary Arithmetic, "Difference; of integers wrapping.";
    Mul "*" many Same, "Product; of integers wrapping; of `bool` and.";
    Div "/" binary Float, "Quotient of floats.";
    Neg "neg" unary Arithmetic, "Negation; of integers wrapping.";
    Abs "abs" unary Same, "Absolute value; of integers wrapping.";
    Sign "sign" unary Same, "-1, 0 or 1; NaN of NaN, 0 of -0.";
    Min "min" many Same, "The smallest; NaN if any is; -0 is below 0.";
    Max "max" many Same, "The largest; NaN if any is; -0 is below 0.";
    Pow "pow" binary Arithmetic, "Power; of integers wrapping, rounded to zero for negative exponents.";
    FloorDiv "floordiv" binary Arithmetic, "Quotient rounded down; of integers 0 when dividing by 0.";
    Rem "rem" binary Arithmetic, "Remainder of floordiv, with the sign of the divisor; of integers 0 when dividing by 0.";
    And "and" many Logical, "Whether all hold.";
    Or "or" many Logical, "Whether any holds.";
    Xor "xor" many Logical, "Whether an odd number holds.";
    Not "not" unary Logical, "Whether it does not hold.";
    BitAnd "band" many Bits, "Bits and.";
    BitOr "bor" many Bits, "Bits or.";
    BitXor "bxor" many Bits, "Bits exclusive or.";
    BitNot "bnot" unary Bits, "Complement of the bits.";
    Shl "shl" binary Shift, "Shift left by an unsigned reading of the count; 0 from the width on.";
    Shr "shr" binary Shift, "Shift right by an unsigned reading of the count; all sign from the width on.";
    Ldexp "ldexp" binary Scale, "`x * 2^n`, rounded once.";
    Eq "eq" binary Equality, "Whether equal; NaN is not, -0 and 0 are.";
    Ne "ne" binary Equality, "Whether different.";
    Lt "lt" binary Order, "Whether less; false with NaN.";
    Le "le" binary Order, "Whether less or equal; false with NaN.";
    Gt "gt" binary Order, "Whether greater; false with NaN.";
    Ge "ge" binary Order, "Whether greater or equal; false with NaN.";
    IfElse "ifelse" ternary Condition, "The second if the first holds, else the third.";
    Choose "choose" many Any, "The first argument that is not zero, else the last.";
    Coalesce "coalesce" many Same, "The first argument that is not NaN, else the last.";
    MinBy "minby" many PairFold, "The pair with the smallest first member, among equals with the smallest second; NaN is first.";
    MaxBy "maxby" many PairFold, "The pair with the largest first member, among equals with the smallest second; NaN is first.";
    AddSat "add-sat" many Arithmetic, "Sum; of integers saturating.";
    SubSat "sub-sat" binary Arithmetic, "Difference; of integers saturating.";
    MulSat "mul-sat" many Arithmetic, "Product; of integers saturating.";
    AddChecked "add-checked" many Arithmetic, "Sum; integer overflow is a fault.";
    SubChecked "sub-checked" binary Arithmetic, "Difference; integer overflow is a fault.";
    MulChecked "mul-checked" many Arithmetic, "Product; integer overflow is a fault.";
    Sqrt "sqrt" unary Float, "Square root.";
    Cbrt "cbrt" unary Float, "Cube root.";
    Exp "exp" unary Float, "e^x";
    Exp2 "exp2" unary Float, "2^x";
    Expm1 "expm1" unary Float, "e^x - 1";
    Log "log" unary Float, "Natural logarithm.";
    Log2 "log2" unary Float, "Logarithm to base 2.";
    Log10 "log10" unary Float, "Logarithm to base 10.";
    Log1p "log1p" unary Float, "ln(1 + x)";
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
    Floor "floor" unary Same, "Rounds down; integers stay.";
    Ceil "ceil" unary Same, "Rounds up; integers stay.";
    Trunc "trunc" unary Same, "Rounds towards zero; integers stay.";
    Round "round" unary Same, "Rounds to nearest, ties to even; integers stay.";
    Erf "erf" unary Float, "The error function.";
    Tgamma "tgamma" unary Float, "The gamma function.";
    Lgamma "lgamma" unary Float, "The logarithm of the gamma function's absolute value.";
    Atan2 "atan2" binary Float, "The angle of the point (second, first).";
    Hypot "hypot" binary Float, "sqrt(x^2 + y^2) without overflow on the way.";
    Fmod "fmod" binary Arithmetic, "Remainder with the sign of the dividend; of integers 0 when dividing by 0.";
    Copysign "copysign" binary Float, "The first with the sign of the second; a NaN counts as positive.";
    Square "square" unary Arithmetic, "x * x; of integers wrapping.";
    Reciprocal "reciprocal" unary Float, "1 / x";
    IsNan "isnan" unary Predicate, "Whether it is NaN.";
    IsFinite "isfinite" unary Predicate, "Whether it is neither NaN nor infinite.";
    IsInf "isinf" unary Predicate, "Whether it is infinite.";
    SignBit "signbit" unary Predicate, "Whether the sign is set: of a negative number, of -0, of NaN as it is given.";
    Pair "pair" binary Pair, "The struct of a value and a coordinate.";
    First "first" unary Member(0), "The first member of a struct of two.";
    Second "second" unary Member(1), "The second member of a struct of two.";
}

impl Builtin {
    /// Returns the operator with the given name.
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
