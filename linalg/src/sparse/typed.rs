//! Values that exist for both types of numbers.

/// A value for `f32` or for `f64`.
#[derive(Clone, Debug)]
pub(super) enum Typed<S, D> {
    Single(S),
    Double(D),
}

/// Evaluates `$body` with `$t` as the type of the numbers, and wraps the result in `Typed`.
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

/// Evaluates `$body` with `$value` as the content of `$typed`, and wraps the result in the same
/// variant of `Typed`.
macro_rules! each {
    ($typed:expr, $value:ident => $body:expr) => {
        match $typed {
            $crate::sparse::typed::Typed::Single($value) => $crate::sparse::typed::Typed::Single($body),
            $crate::sparse::typed::Typed::Double($value) => $crate::sparse::typed::Typed::Double($body),
        }
    };
}
pub(super) use each;

/// Evaluates `$body` with `$value` as the content of `$typed`. The result has the same type for
/// both variants.
macro_rules! either {
    ($typed:expr, $value:ident => $body:expr) => {
        match $typed {
            $crate::sparse::typed::Typed::Single($value) => $body,
            $crate::sparse::typed::Typed::Double($value) => $body,
        }
    };
}
pub(super) use either;
