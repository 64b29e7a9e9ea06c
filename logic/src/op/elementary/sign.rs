//! The sign of a float.

use super::real::Real;

pub(super) fn signbit<R: Real>(x: R) -> R {
    let one = x.number(1.0);
    R::select(one.copysign(x).is_below(0.0), one, x.number(0.0))
}
