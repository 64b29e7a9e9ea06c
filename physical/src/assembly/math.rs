//! The functions of the mathematical library: a table of names, arities and addresses for every
//! engine.
//!
//! The interpreter calls these functions, and machine code calls the same ones by address. So all
//! engines that support them agree bit for bit on every machine.

use super::MathFn;
use std::sync::OnceLock;

/// The two implementations of a [`MathFn`] with their arity.
#[derive(Clone, Copy, Debug)]
pub enum MathImpl {
    /// Functions of one argument: on `f64` and on `f32`.
    One(extern "C" fn(f64) -> f64, extern "C" fn(f32) -> f32),
    /// Functions of two arguments: on `f64` and on `f32`.
    Two(extern "C" fn(f64, f64) -> f64, extern "C" fn(f32, f32) -> f32),
}

impl MathImpl {
    /// Returns the number of arguments.
    pub fn arity(self) -> usize {
        match self {
            MathImpl::One(..) => 1,
            MathImpl::Two(..) => 2,
        }
    }

    /// Returns the address of the implementation on `f64`, for generators of machine code.
    pub fn address_f64(self) -> usize {
        match self {
            MathImpl::One(f, _) => f as usize,
            MathImpl::Two(f, _) => f as usize,
        }
    }

    /// Returns the address of the implementation on `f32`, for generators of machine code.
    pub fn address_f32(self) -> usize {
        match self {
            MathImpl::One(_, f) => f as usize,
            MathImpl::Two(_, f) => f as usize,
        }
    }
}

impl MathFn {
    /// Returns the addresses of all functions, in the order of [`MathFn::ALL`]: for each the one on
    /// `f64`, then the one on `f32`.
    pub fn addresses() -> &'static [usize] {
        static ADDRESSES: OnceLock<Vec<usize>> = OnceLock::new();
        ADDRESSES.get_or_init(|| {
            let both = |f: &MathFn| [f.implementation().address_f64(), f.implementation().address_f32()];
            MathFn::ALL.iter().flat_map(both).collect()
        })
    }
}

/// The implementations by name: those of `libm`, except where they are wrong outside of the domain,
/// and `signbit`, which it lacks.
mod functions {
    pub(super) use libm::*;
    pub(super) use redpoll_logic::op::{acosh, acoshf};

    pub(super) fn signbit(x: f64) -> f64 {
        f64::from(u8::from(x.is_sign_negative()))
    }

    pub(super) fn signbitf(x: f32) -> f32 {
        f32::from(u8::from(x.is_sign_negative()))
    }
}

macro_rules! one {
    ($double:ident, $single:ident) => {{
        extern "C" fn double(x: f64) -> f64 {
            functions::$double(x)
        }
        extern "C" fn single(x: f32) -> f32 {
            functions::$single(x)
        }
        MathImpl::One(double, single)
    }};
}

macro_rules! two {
    ($double:ident, $single:ident) => {{
        extern "C" fn double(x: f64, y: f64) -> f64 {
            functions::$double(x, y)
        }
        extern "C" fn single(x: f32, y: f32) -> f32 {
            functions::$single(x, y)
        }
        MathImpl::Two(double, single)
    }};
}

macro_rules! scale {
    ($double:ident, $single:ident) => {{
        extern "C" fn double(x: f64, n: f64) -> f64 {
            functions::$double(x, n as i32)
        }
        extern "C" fn single(x: f32, n: f32) -> f32 {
            functions::$single(x, n as i32)
        }
        MathImpl::Two(double, single)
    }};
}

macro_rules! math_table {
    ($($name:ident $text:literal $arity:ident $double:ident $single:ident;)*) => {
        impl MathFn {
            /// Every function, in the order of declaration.
            pub const ALL: &[MathFn] = &[$(MathFn::$name),*];

            /// Returns the name in text forms.
            pub fn name(self) -> &'static str {
                match self {
                    $(MathFn::$name => $text,)*
                }
            }

            /// Returns the implementation that every engine calls.
            pub fn implementation(self) -> MathImpl {
                match self {
                    $(MathFn::$name => $arity!($double, $single),)*
                }
            }
        }
    };
}

math_table! {
    Exp "exp" one exp expf;
    Exp2 "exp2" one exp2 exp2f;
    Expm1 "expm1" one expm1 expm1f;
    Log "log" one log logf;
    Log2 "log2" one log2 log2f;
    Log10 "log10" one log10 log10f;
    Log1p "log1p" one log1p log1pf;
    Sin "sin" one sin sinf;
    Cos "cos" one cos cosf;
    Tan "tan" one tan tanf;
    Asin "asin" one asin asinf;
    Acos "acos" one acos acosf;
    Atan "atan" one atan atanf;
    Sinh "sinh" one sinh sinhf;
    Cosh "cosh" one cosh coshf;
    Tanh "tanh" one tanh tanhf;
    Asinh "asinh" one asinh asinhf;
    Acosh "acosh" one acosh acoshf;
    Atanh "atanh" one atanh atanhf;
    Cbrt "cbrt" one cbrt cbrtf;
    Pow "pow" two pow powf;
    Atan2 "atan2" two atan2 atan2f;
    Hypot "hypot" two hypot hypotf;
    Fmod "fmod" two fmod fmodf;
    Ldexp "ldexp" scale ldexp ldexpf;
    Erf "erf" one erf erff;
    Tgamma "tgamma" one tgamma tgammaf;
    Lgamma "lgamma" one lgamma lgammaf;
    SignBit "signbit" one signbit signbitf;
}
