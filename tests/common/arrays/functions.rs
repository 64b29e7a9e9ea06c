//! Element-wise functions, compared at every coordinate with the operator table or with plain
//! arithmetic.

use super::draw::{DenseArray, OperandSource};
use super::{Operation, oracle};
use redpoll::Array;
use redpoll::logic::op::{Body, Builtin, Op, UserOp, UserProperties};
use redpoll::logic::{DType, FloatMode, Prim};

macro_rules! unary {
    ($prims:expr; $($name:ident $op:ident)*) => {
        &[$((stringify!($name), |draw| {
            let prim = *draw.rng.pick($prims);
            let shape = draw.any_shape(0, 3);
            let (a, dense) = draw.array_with_dtype(&shape, prim);
            (a.$name(), draw.op(Builtin::$op, &[(&dense, prim)]))
        })),*]
    };
}

macro_rules! binary {
    ($prims:expr; $($name:ident $op:ident)*) => {
        &[$((stringify!($name), |draw| {
            let ((a, x, p), (b, y, q)) = pair(draw, $prims);
            (a.$name(&b), draw.op(Builtin::$op, &[(&x, p), (&y, q)]))
        })),*]
    };
}

const ANY: &[Prim] = &[Prim::I64, Prim::F64, Prim::F32, Prim::I8];
const FLOATS: &[Prim] = &[Prim::F64, Prim::F64, Prim::F32, Prim::I32];
const BITS: &[Prim] = &[Prim::I64, Prim::I32, Prim::U8];

pub const UNARY: &[Operation] = unary!(ANY; abs Abs ceil Ceil floor Floor negative Neg round Round sign Sign
    square Square trunc Trunc isfinite IsFinite isinf IsInf isnan IsNan logical_not Not);
pub const FLOAT_UNARY: &[Operation] = unary!(FLOATS; acos Acos acosh Acosh asin Asin asinh Asinh atan Atan atanh Atanh cbrt Cbrt
    cos Cos cosh Cosh erf Erf exp Exp exp2 Exp2 expm1 Expm1 lgamma Lgamma log Log log10 Log10 log1p Log1p log2 Log2
    reciprocal Reciprocal sin Sin sinh Sinh sqrt Sqrt tan Tan tanh Tanh tgamma Tgamma);
pub const BIT_UNARY: &[Operation] = unary!(BITS; bitwise_invert BitNot);
pub const BINARY: &[Operation] = binary!(ANY; add Add subtract Sub multiply Mul divide Div floor_divide FloorDiv remainder Rem fmod Fmod
    pow Pow maximum Max minimum Min equal Eq not_equal Ne less Lt less_equal Le greater Gt greater_equal Ge logical_and And
    logical_or Or logical_xor Xor choose Choose coalesce Coalesce atan2 Atan2 copysign Copysign hypot Hypot nextafter Nextafter
    add_saturating AddSat subtract_saturating SubSat multiply_saturating MulSat add_checked AddChecked
    subtract_checked SubChecked multiply_checked MulChecked);
/// Division and power functions in the strict mode, where quotients of zeros are NaN instead of 0.
pub const STRICT: &[Operation] = &[
    ("divide", |draw| strict(draw, Builtin::Div, |a, b| a.divide(b))),
    ("floor_divide", |draw| strict(draw, Builtin::FloorDiv, |a, b| a.floor_divide(b))),
    ("remainder", |draw| strict(draw, Builtin::Rem, |a, b| a.remainder(b))),
    ("fmod", |draw| strict(draw, Builtin::Fmod, |a, b| a.fmod(b))),
    ("pow", |draw| strict(draw, Builtin::Pow, |a, b| a.pow(b))),
];

fn strict(draw: &mut OperandSource, op: Builtin, of: fn(&Array, &Array) -> Array) -> (Array, DenseArray) {
    draw.set_mode(FloatMode::StrictIeee);
    let ((a, x, p), (b, y, q)) = pair(draw, ANY);
    (of(&a, &b), draw.op(op, &[(&x, p), (&y, q)]))
}

pub const BINARY_BITS: &[Operation] = binary!(BITS; bitwise_and BitAnd bitwise_or BitOr bitwise_xor BitXor
    bitwise_left_shift Shl bitwise_right_shift Shr);

pub const OTHERS: &[Operation] = &[
    ("ldexp", |draw| {
        let shape = draw.any_shape(0, 3);
        let (a, x) = draw.array_with_dtype(&shape, Prim::F64);
        let (b, y) = draw.array_with_dtype(&shape, Prim::I32);
        (a.ldexp(&b), draw.op(Builtin::Ldexp, &[(&x, Prim::F64), (&y, Prim::I32)]))
    }),
    ("where_", |draw| {
        let ((a, x, p), (b, y, q)) = pair(draw, &[Prim::I64]);
        let (c, z) = draw.array(&[]);
        (a.less(&b).where_(&a, &c), {
            assert_eq!((p, q), (Prim::I64, Prim::I64));
            oracle::map(&[&x, &y, &z], |v| if v[0] < v[1] { v[0] } else { v[2] })
        })
    }),
    ("clip", |draw| {
        let shape = draw.any_shape(0, 3);
        let (a, x) = draw.array(&shape);
        // The dtype of the array must be able to represent the bounds.
        let (low, high) = match a.dtype().expect("an array").prim() {
            Some(Prim::Bool) => (0, 1),
            Some(prim) if !prim.is_signed() => (0, 2),
            _ => (-1, 2),
        };
        (a.clip(low, high), x.mapv(|v| v.clamp(f64::from(low), f64::from(high))))
    }),
    ("astype", |draw| {
        let shape = draw.any_shape(0, 3);
        let from = *draw.rng.pick(&[Prim::F64, Prim::I64, Prim::I8]);
        let to = *draw.rng.pick(&[Prim::Bool, Prim::F32, Prim::U8, Prim::I16]);
        let (a, x) = draw.array_with_dtype(&shape, from);
        (a.astype(to), draw.op(Builtin::Cast(to), &[(&x, from)]))
    }),
    ("logaddexp", |draw| {
        let shape = draw.any_shape(0, 3);
        let (a, x) = draw.array_with_dtype(&shape, Prim::F64);
        let (exp, log1p) = (Op::from(Builtin::Exp), Op::from(Builtin::Log1p));
        let call = |op: &Op, v: f64| op.apply(&[v.into()]).unwrap().to_f64().unwrap();
        (a.logaddexp(1.0), x.mapv(|v| v.max(1.0) + call(&log1p, call(&exp, -(v - 1.0).abs()))))
    }),
    ("signbit", |draw| {
        let shape = draw.any_shape(0, 3);
        let is_negative = |x: DenseArray| x.mapv(|v| f64::from(v.is_sign_negative()));
        if draw.rng.chance(50) {
            let (a, x) = draw.new_array(&shape, Prim::F64);
            return (a.signbit(), is_negative(x));
        }
        // Zeros of earlier results may have either sign; the sum with 0.25 is never -0.
        let (a, x) = draw.array_with_dtype(&shape, Prim::F64);
        ((&a + 0.25).signbit(), is_negative(x + 0.25))
    }),
    ("operators", |draw| {
        let ((a, x, _), (b, y, _)) = pair(draw, &[Prim::F64]);
        (-(&a + 2.0 * &b - 1.0) / 4.0, oracle::map(&[&x, &y], |v| -(v[0] + 2.0 * v[1] - 1.0) / 4.0))
    }),
    ("named", |draw| {
        let (m, n) = (draw.size(), draw.size());
        let ((a, x), (b, y)) = (draw.array(&[m, n]), draw.array(&[n, m]));
        (
            (a.at(["i", "j"]) * b.at(["j", "i"])).by_position(["i", "j"]),
            oracle::map(&[&x, &y.t().to_owned()], |v| v[0] * v[1]),
        )
    }),
    ("user-defined", |draw| {
        let ((a, x, _), (b, y, _)) = pair(draw, &[Prim::I64]);
        (a.apply(distance(), [(&b).into()]), oracle::map(&[&x, &y], |v| (v[0] - v[1]).abs()))
    }),
];

/// Returns the user-defined operator `|x - y|`, declared commutative.
fn distance() -> UserOp {
    let params = vec![("x".to_owned(), DType::I64), ("y".to_owned(), DType::I64)];
    let body = Body::call(Builtin::Abs, [Body::call(Builtin::Sub, [Body::Arg(0), Body::Arg(1)])]);
    let op = UserOp::new("distance", params, DType::I64, &body).unwrap();
    op.with_properties(UserProperties { commutative: true, ..UserProperties::default() }).unwrap()
}

/// Draws two arrays whose shapes align.
fn pair(draw: &mut OperandSource, prims: &[Prim]) -> ((Array, DenseArray, Prim), (Array, DenseArray, Prim)) {
    let shape = draw.any_shape(0, 4);
    let (p, q) = (*draw.rng.pick(prims), *draw.rng.pick(prims));
    let (mut one, mut other) = (shape.clone(), shape);
    for side in [&mut one, &mut other] {
        let cut = draw.rng.index(side.len() + 1);
        if draw.rng.chance(30) {
            side.drain(..cut);
        }
        for size in side.iter_mut() {
            if draw.rng.chance(20) {
                *size = 1;
            }
        }
    }
    let (a, x) = draw.array_with_dtype(&one, p);
    let (b, y) = draw.array_with_dtype(&other, q);
    ((a, x, p), (b, y, q))
}
