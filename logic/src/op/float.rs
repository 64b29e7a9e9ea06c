//! Float arithmetic of operators, for both widths: by IEEE 754, and as the default mode defines it.

use super::builtin::Builtin;
use super::elementary;

macro_rules! float_operators {
    ($t:ty, $unary:ident, $binary:ident, $relaxed:ident, $floordiv:ident, $rem:ident, $copysign:ident, $min:ident,
     [$($variant:ident $f:path,)*], [$($variant2:ident $f2:path,)*]) => {
        pub(super) fn $unary(b: Builtin, x: $t) -> $t {
            match b {
                $(Builtin::$variant => $f(x),)*
                Builtin::Neg => -x,
                Builtin::Abs => x.abs(),
                Builtin::Sign if x == 0.0 || x.is_nan() => x.abs(),
                Builtin::Sign => (1.0 as $t).copysign(x),
                Builtin::Floor => x.floor(),
                Builtin::Ceil => x.ceil(),
                Builtin::Trunc => x.trunc(),
                Builtin::Round => x.round_ties_even(),
                Builtin::Square => x * x,
                Builtin::Reciprocal => 1.0 / x,
                _ => unreachable!("unary operator `{}` on a float", b.name()),
            }
        }

        pub(super) fn $binary(b: Builtin, x: $t, y: $t) -> $t {
            match b {
                $(Builtin::$variant2 => $f2(x, y),)*
                Builtin::Add | Builtin::AddSat | Builtin::AddChecked => x + y,
                Builtin::Sub | Builtin::SubSat | Builtin::SubChecked => x - y,
                Builtin::Mul | Builtin::MulSat | Builtin::MulChecked => x * y,
                Builtin::Div => x / y,
                Builtin::Min => $min(x, y),
                Builtin::Max => -$min(-x, -y),
                Builtin::FloorDiv => $floordiv(x, y),
                Builtin::Rem => $rem(x, y),
                Builtin::Copysign => $copysign(x, y),
                _ => unreachable!("binary operator `{}` on a float", b.name()),
            }
        }

        /// Evaluates in the default mode: by IEEE 754, unless an argument decides the result. A
        /// dividend of zero is returned as the quotient.
        pub(super) fn $relaxed(b: Builtin, x: $t, y: $t) -> $t {
            use Builtin::*;
            let plain = $binary(b, x, y);
            match b {
                Div if x == 0.0 => return x,
                Div if y.is_infinite() => return 0.0,
                _ if !plain.is_nan() => return plain,
                _ => {}
            }
            match b {
                Mul | MulSat | MulChecked if x == 0.0 || y == 0.0 => 0.0,
                FloorDiv | Rem | Fmod if x == 0.0 => 0.0,
                Add | AddSat | AddChecked | Sub | SubSat | SubChecked if x.is_infinite() && y.is_nan() => x,
                Add | AddSat | AddChecked if x.is_nan() && y.is_infinite() => y,
                Sub | SubSat | SubChecked if x.is_nan() && y.is_infinite() => -y,
                Min if x == <$t>::NEG_INFINITY || y == <$t>::NEG_INFINITY => <$t>::NEG_INFINITY,
                Max if x == <$t>::INFINITY || y == <$t>::INFINITY => <$t>::INFINITY,
                _ => plain,
            }
        }

        fn $min(x: $t, y: $t) -> $t {
            if x.is_nan() || x < y || (x == y && x.is_sign_negative()) { x } else { y }
        }

        fn $copysign(x: $t, y: $t) -> $t {
            if y < 0.0 || (y == 0.0 && 1.0 / y < 0.0) { -x.abs() } else { x.abs() }
        }

        fn $rem(x: $t, y: $t) -> $t {
            let r = Builtin::Fmod;
            let r = $binary(r, x, y);
            match r {
                _ if r == 0.0 => $copysign(0.0, y),
                _ if (r < 0.0) != (y < 0.0) => r + y,
                _ => r,
            }
        }

        fn $floordiv(x: $t, y: $t) -> $t {
            if y == 0.0 {
                return x / y;
            }
            let r = $binary(Builtin::Fmod, x, y);
            let q = (x - r) / y;
            let q = if r != 0.0 && (r < 0.0) != (y < 0.0) { q - 1.0 } else { q };
            if q == 0.0 { $copysign(0.0, x / y) } else { q.round_ties_even() }
        }
    };
}

float_operators!(
    f64, unary64, binary64, relaxed64, floordiv64, rem64, copysign64, min64,
    [
        Sqrt libm::sqrt, Cbrt elementary::cbrt, Exp elementary::exp, Exp2 elementary::exp2, Expm1 elementary::expm1,
        Log elementary::log, Log2 elementary::log2, Log10 elementary::log10, Log1p elementary::log1p, Sin libm::sin,
        Cos libm::cos, Tan libm::tan, Asin elementary::asin, Acos elementary::acos, Atan elementary::atan,
        Sinh elementary::sinh, Cosh elementary::cosh, Tanh elementary::tanh, Asinh elementary::asinh,
        Acosh elementary::acosh, Atanh elementary::atanh, Erf libm::erf, Tgamma libm::tgamma, Lgamma libm::lgamma,
    ],
    [Pow libm::pow, Atan2 libm::atan2, Hypot libm::hypot, Nextafter libm::nextafter, Fmod libm::fmod,]
);
float_operators!(
    f32, unary32, binary32, relaxed32, floordiv32, rem32, copysign32, min32,
    [
        Sqrt libm::sqrtf, Cbrt elementary::cbrtf, Exp elementary::expf, Exp2 elementary::exp2f,
        Expm1 elementary::expm1f, Log elementary::logf, Log2 elementary::log2f, Log10 elementary::log10f,
        Log1p elementary::log1pf, Sin libm::sinf, Cos libm::cosf, Tan libm::tanf, Asin elementary::asinf,
        Acos elementary::acosf, Atan elementary::atanf, Sinh elementary::sinhf, Cosh elementary::coshf,
        Tanh elementary::tanhf, Asinh elementary::asinhf, Acosh elementary::acoshf, Atanh elementary::atanhf,
        Erf libm::erff, Tgamma libm::tgammaf, Lgamma libm::lgammaf,
    ],
    [Pow libm::powf, Atan2 libm::atan2f, Hypot libm::hypotf, Nextafter libm::nextafterf, Fmod libm::fmodf,]
);
