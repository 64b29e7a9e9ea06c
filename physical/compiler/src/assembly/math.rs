//! The functions of the mathematical library: a table of names, arities and addresses for every
//! backend.
//!
//! The interpreter calls these functions, and machine code of the instant tier calls the same
//! functions by address. Text for a C or CUDA compiler contains the steps of elementary functions,
//! and calls the other functions by address. So all backends that support a function agree bit for
//! bit on every machine.

use super::MathFn;
use redpoll_logic::op::elementary::{self, Expansion};
use std::sync::OnceLock;

/// The two implementations of a [`MathFn`] with their arity.
#[derive(Clone, Copy, Debug)]
pub enum MathImpl {
    /// Functions of one argument: on `f64` and on `f32`.
    Unary(extern "C" fn(f64) -> f64, extern "C" fn(f32) -> f32),
    /// Functions of two arguments: on `f64` and on `f32`.
    Binary(extern "C" fn(f64, f64) -> f64, extern "C" fn(f32, f32) -> f32),
}

impl MathImpl {
    /// Returns the number of arguments.
    pub fn arity(self) -> usize {
        match self {
            MathImpl::Unary(..) => 1,
            MathImpl::Binary(..) => 2,
        }
    }

    /// Returns the address of the implementation on `f64`, for generators of machine code.
    pub fn address_f64(self) -> usize {
        match self {
            MathImpl::Unary(f, _) => f as usize,
            MathImpl::Binary(f, _) => f as usize,
        }
    }

    /// Returns the address of the implementation on `f32`, for generators of machine code.
    pub fn address_f32(self) -> usize {
        match self {
            MathImpl::Unary(_, f) => f as usize,
            MathImpl::Binary(_, f) => f as usize,
        }
    }
}

impl MathFn {
    /// Returns the steps that compute an elementary function on `f64`. On `f32`, the value of the
    /// function is the rounded result of these steps. Returns `None` for functions that must be
    /// called.
    pub fn expansion(self) -> Option<&'static Expansion> {
        static EXPANSIONS: [OnceLock<Option<Expansion>>; MathFn::ALL.len()] =
            [const { OnceLock::new() }; MathFn::ALL.len()];
        EXPANSIONS[self as usize].get_or_init(|| elementary::expansion(self.name())).as_ref()
    }

    /// Returns the addresses of all functions, in the order of [`MathFn::ALL`]. Each function has
    /// two addresses: that of its implementation on `f64`, then that of its implementation on
    /// `f32`.
    pub fn addresses() -> &'static [usize] {
        static ADDRESSES: OnceLock<Vec<usize>> = OnceLock::new();
        ADDRESSES.get_or_init(|| {
            let both = |f: &MathFn| [f.implementation().address_f64(), f.implementation().address_f32()];
            MathFn::ALL.iter().flat_map(both).collect()
        })
    }
}

/// The implementations by name: elementary functions in plain float arithmetic, and all other
/// functions from the crate `libm`.
mod functions {
    pub(super) use libm::*;
    pub(super) use redpoll_logic::op::elementary::{
        acos, acosf, acosh, acoshf, asin, asinf, asinh, asinhf, atan, atanf, atanh, atanhf, cbrt, cbrtf, cosh, coshf,
        exp, exp2, exp2f, expf, expm1, expm1f, log, log1p, log1pf, log2, log2f, log10, log10f, logf, signbit, signbitf,
        sinh, sinhf, tanh, tanhf,
    };
}

macro_rules! unary {
    ($double:ident, $single:ident) => {{
        extern "C" fn double(x: f64) -> f64 {
            functions::$double(x)
        }
        extern "C" fn single(x: f32) -> f32 {
            functions::$single(x)
        }
        MathImpl::Unary(double, single)
    }};
}

macro_rules! binary {
    ($double:ident, $single:ident) => {{
        extern "C" fn double(x: f64, y: f64) -> f64 {
            functions::$double(x, y)
        }
        extern "C" fn single(x: f32, y: f32) -> f32 {
            functions::$single(x, y)
        }
        MathImpl::Binary(double, single)
    }};
}

macro_rules! scaling {
    ($double:ident, $single:ident) => {{
        extern "C" fn double(x: f64, n: f64) -> f64 {
            functions::$double(x, n as i32)
        }
        extern "C" fn single(x: f32, n: f32) -> f32 {
            functions::$single(x, n as i32)
        }
        MathImpl::Binary(double, single)
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

            /// Returns the implementation that every backend calls if it supports the function.
            pub fn implementation(self) -> MathImpl {
                match self {
                    $(MathFn::$name => $arity!($double, $single),)*
                }
            }
        }
    };
}

math_table! {
    Exp "exp" unary exp expf;
    Exp2 "exp2" unary exp2 exp2f;
    Expm1 "expm1" unary expm1 expm1f;
    Log "log" unary log logf;
    Log2 "log2" unary log2 log2f;
    Log10 "log10" unary log10 log10f;
    Log1p "log1p" unary log1p log1pf;
    Sin "sin" unary sin sinf;
    Cos "cos" unary cos cosf;
    Tan "tan" unary tan tanf;
    Asin "asin" unary asin asinf;
    Acos "acos" unary acos acosf;
    Atan "atan" unary atan atanf;
    Sinh "sinh" unary sinh sinhf;
    Cosh "cosh" unary cosh coshf;
    Tanh "tanh" unary tanh tanhf;
    Asinh "asinh" unary asinh asinhf;
    Acosh "acosh" unary acosh acoshf;
    Atanh "atanh" unary atanh atanhf;
    Cbrt "cbrt" unary cbrt cbrtf;
    Pow "pow" binary pow powf;
    Atan2 "atan2" binary atan2 atan2f;
    Hypot "hypot" binary hypot hypotf;
    Fmod "fmod" binary fmod fmodf;
    Ldexp "ldexp" scaling ldexp ldexpf;
    Erf "erf" unary erf erff;
    Tgamma "tgamma" unary tgamma tgammaf;
    Lgamma "lgamma" unary lgamma lgammaf;
    SignBit "signbit" unary signbit signbitf;
    Nextafter "nextafter" binary nextafter nextafterf;
}
