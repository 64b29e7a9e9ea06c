//! Values that exist for both types of numbers.

/// A value for `f32` or for `f64`.
#[derive(Clone, Debug)]
pub(super) enum Typed<S, D> {
    Single(S),
    Double(D),
}

/// Computes a value with `$t` as the type of the numbers.
macro_rules! typed {
    ($prim:expr, $t:ident => $body:expr) => {
        match $prim {
            redpoll_logic::Prim::F32 => {
                type $t = f32;
                $crate::sparse::typed::Typed::Single($body)
            }
            _ => {
                type $t = f64;
                $crate::sparse::typed::Typed::Double($body)
            }
        }
    };
}
pub(super) use typed;

/// Computes a value of the same type of numbers from `$value`.
macro_rules! each {
    ($typed:expr, $value:ident => $body:expr) => {
        match $typed {
            $crate::sparse::typed::Typed::Single($value) => $crate::sparse::typed::Typed::Single($body),
            $crate::sparse::typed::Typed::Double($value) => $crate::sparse::typed::Typed::Double($body),
        }
    };
}
pub(super) use each;

/// Computes a value of one type from `$value`.
macro_rules! either {
    ($typed:expr, $value:ident => $body:expr) => {
        match $typed {
            $crate::sparse::typed::Typed::Single($value) => $body,
            $crate::sparse::typed::Typed::Double($value) => $body,
        }
    };
}
pub(super) use either;
