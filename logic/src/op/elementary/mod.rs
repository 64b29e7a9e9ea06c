//! Elementary functions in plain float arithmetic: exponentials, logarithms, hyperbolic functions
//! and their inverses, inverse trigonometric functions, the cube root, and the sign bit.
//!
//! Each function is written once, for any type with float arithmetic (`Real`). With `f64`, it
//! computes a value. With a type that records operations, it yields an [`Expansion`], from which
//! backends generate code. Both give the same bits on every machine, apart from the bits of NaN,
//! because each step is exact or rounded as IEEE 754 demands. There are no branches and no tables,
//! so compilers can compute several arguments at a time on vectors.
//!
//! Results differ from the exact values by less than 3 units in the last place. Functions of
//! `f32` are rounded results of the functions of `f64`.
//!
//! The reductions of arguments are those of Muller, "Elementary Functions", 2016. The polynomials
//! are minimax approximations for the error relative to the result of the function.

mod bits;
mod exponential;
mod logarithm;
mod real;
mod recorded;
mod root;
mod sign;
#[cfg(test)]
mod tests;
mod trigonometric;

pub use recorded::{Expansion, Operation, Step};

macro_rules! functions {
    ($($module:ident: $(#[doc = $doc:literal] $name:ident $single:ident;)*)*) => {
        $($(
            #[doc = $doc]
            pub fn $name(x: f64) -> f64 {
                $module::$name(x)
            }

            #[doc = concat!("Computes [`", stringify!($name), "`] in single precision.")]
            pub fn $single(x: f32) -> f32 {
                $name(f64::from(x)) as f32
            }
        )*)*

        /// Returns the steps of the function with this name, or `None` if this module does not
        /// define the function.
        pub fn expansion(name: &str) -> Option<Expansion> {
            match name {
                $($(stringify!($name) => Some(Expansion::record(|x| $module::$name(x))),)*)*
                _ => None,
            }
        }
    };
}

functions! {
    exponential:
        /// Computes `e^x`; 0 or infinity where the result leaves the range of floats.
        exp expf;
        /// Computes `2^x`; exact at integers.
        exp2 exp2f;
        /// Computes `exp(x) - 1` without cancellation near 0.
        expm1 expm1f;
        /// Computes the hyperbolic sine.
        sinh sinhf;
        /// Computes the hyperbolic cosine.
        cosh coshf;
        /// Computes the hyperbolic tangent.
        tanh tanhf;
    logarithm:
        /// Computes the natural logarithm; NaN below 0, and negative infinity at 0.
        log logf;
        /// Computes the logarithm to base 2; exact at powers of 2.
        log2 log2f;
        /// Computes the logarithm to base 10.
        log10 log10f;
        /// Computes `log(1 + x)` without cancellation near 0.
        log1p log1pf;
        /// Computes the inverse hyperbolic sine.
        asinh asinhf;
        /// Computes the inverse hyperbolic cosine; NaN below 1.
        acosh acoshf;
        /// Computes the inverse hyperbolic tangent; NaN beyond 1 in magnitude.
        atanh atanhf;
    trigonometric:
        /// Computes the inverse sine; NaN beyond 1 in magnitude.
        asin asinf;
        /// Computes the inverse cosine; NaN beyond 1 in magnitude.
        acos acosf;
        /// Computes the inverse tangent.
        atan atanf;
    root:
        /// Computes the cube root.
        cbrt cbrtf;
    sign:
        /// Returns 1 if the sign bit is set, otherwise 0.
        signbit signbitf;
}
