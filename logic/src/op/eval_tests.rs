//! Tests of the values of operators: the table in `eval.rs`, faults, and the dtypes of results.
//! Integer operators on all values of `i8`, and mathematical functions, are compared with Rust.

use super::*;
use crate::dtype::Prim;
use crate::scalar::Scalar;

/// Reads a value such as `7i8`, `-0.0f32`, `truebool` or `(1f32,2i64)`.
fn value(text: &str) -> Scalar {
    if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        let (value, coordinate) = inner.split_once(',').unwrap();
        return Op::from(Builtin::Pair).eval(&[self::value(value), self::value(coordinate)]).unwrap();
    }
    let prim = Prim::ALL.into_iter().find(|p| text.ends_with(p.name())).unwrap();
    let digits = text.strip_suffix(prim.name()).unwrap();
    match prim {
        Prim::Bool => Scalar::Bool(digits == "true"),
        Prim::F32 | Prim::F64 => Scalar::F64(digits.parse().unwrap()).cast(prim).unwrap(),
        _ => {
            let v = Scalar::I64(digits.parse::<i128>().unwrap() as i64);
            v.cast(prim).unwrap()
        }
    }
}

#[test]
fn edge_cases() {
    let rows = [
        ("+", "127i8 1i8", "-128i8"),
        ("-", "0u8 1u8", "255u8"),
        ("neg", "-128i8", "-128i8"),
        ("neg", "1u8", "255u8"),
        ("abs", "-128i8", "-128i8"),
        ("sign", "-0.0f64", "0f64"),
        ("sign", "-2.5f32", "-1f32"),
        ("sign", "nanf32", "nanf32"),
        ("square", "16i8", "0i8"),
        ("add-sat", "127i8 1i8", "127i8"),
        ("sub-sat", "0u8 1u8", "0u8"),
        ("mul-sat", "-128i8 127i8", "-128i8"),
        ("mul-sat", "18446744073709551615u64 18446744073709551615u64", "18446744073709551615u64"),
        ("add-sat", "1.5f32 1f32", "2.5f32"),
        ("floordiv", "-7i8 2i8", "-4i8"),
        ("floordiv", "7i8 -2i8", "-4i8"),
        ("floordiv", "-8i8 -2i8", "4i8"),
        ("floordiv", "7i8 0i8", "0i8"),
        ("floordiv", "-128i8 -1i8", "-128i8"),
        ("floordiv", "-7f64 2f64", "-4f64"),
        ("floordiv", "1f64 inff64", "0f64"),
        ("floordiv", "-1f64 inff64", "-1f64"),
        ("floordiv", "1f64 0f64", "inff64"),
        ("floordiv", "-0.5f64 1f64", "-1f64"),
        ("floordiv", "0f64 -1f64", "-0.0f64"),
        ("rem", "-7i8 2i8", "1i8"),
        ("rem", "7i8 -2i8", "-1i8"),
        ("rem", "7i8 0i8", "0i8"),
        ("rem", "-128i8 -1i8", "0i8"),
        ("rem", "-7.5f64 2f64", "0.5f64"),
        ("rem", "-1f64 inff64", "inff64"),
        ("rem", "4f64 -2f64", "-0.0f64"),
        ("rem", "1f64 0f64", "nanf64"),
        ("fmod", "-7i8 2i8", "-1i8"),
        ("fmod", "-7.5f64 2f64", "-1.5f64"),
        ("pow", "3i8 5i8", "-13i8"),
        ("pow", "2i8 -1i8", "0i8"),
        ("pow", "-1i8 -3i8", "-1i8"),
        ("pow", "-1i8 -2i8", "1i8"),
        ("pow", "1i8 -128i8", "1i8"),
        ("pow", "0i8 0i8", "1i8"),
        ("pow", "0i8 -1i8", "0i8"),
        ("pow", "2f32 0.5f32", "1.4142135f32"),
        ("shl", "1i8 7u8", "-128i8"),
        ("shl", "1i8 8u8", "0i8"),
        ("shl", "1i8 -1i64", "0i8"),
        ("shl", "1i64 256i64", "0i64"),
        ("shr", "-128i8 100i64", "-1i8"),
        ("shr", "128u8 100i64", "0u8"),
        ("shr", "-128i8 3u8", "-16i8"),
        ("min", "0f64 -0.0f64", "-0.0f64"),
        ("max", "-0.0f64 0f64", "0f64"),
        ("min", "nanf64 1f64", "nanf64"),
        ("max", "1f32 nanf32", "nanf32"),
        ("ldexp", "1f64 -1074i64", "5e-324f64"),
        ("ldexp", "1f32 4294967296i64", "inff32"),
        ("ldexp", "3f32 -9223372036854775807i64", "0f32"),
        ("copysign", "-3f64 -0.0f64", "-3f64"),
        ("copysign", "-3f64 nanf64", "3f64"),
        ("round", "2.5f64", "2f64"),
        ("round", "-0.5f32", "-0.0f32"),
        ("round", "3i8", "3i8"),
        ("choose", "-0.0f64 2f64", "2f64"),
        ("choose", "nanf64 2f64", "nanf64"),
        ("choose", "0i8 0i8 3i8 4i8", "3i8"),
        ("choose", "(0f32,0i64) (0f32,4i64)", "(0f32,4i64)"),
        ("coalesce", "nanf64 nanf64 2f64", "2f64"),
        ("coalesce", "0i8 1i8", "0i8"),
        ("eq", "nanf64 nanf64", "falsebool"),
        ("ne", "nanf64 nanf64", "truebool"),
        ("eq", "0f64 -0.0f64", "truebool"),
        ("ge", "nanf64 1f64", "falsebool"),
        ("lt", "falsebool truebool", "truebool"),
        ("eq", "(0f32,3i64) (-0.0f32,3i64)", "truebool"),
        ("eq", "(0f32,3i64) (0f32,4i64)", "falsebool"),
        ("minby", "(2f32,3i64) (2f32,1i64)", "(2f32,1i64)"),
        ("minby", "(-inff32,0i64) (nanf32,9i64)", "(nanf32,9i64)"),
        ("maxby", "(inff32,0i64) (nanf32,9i64)", "(nanf32,9i64)"),
        ("maxby", "(nanf32,9i64) (nanf32,8i64) (inff32,0i64)", "(nanf32,8i64)"),
        ("maxby", "(1f32,0i64) (2f32,9i64) (2f32,8i64)", "(2f32,8i64)"),
        ("minby", "(0f32,0i64) (-0.0f32,1i64)", "(0f32,0i64)"),
        ("and", "2i8 -1f64", "truebool"),
        ("xor", "truebool truebool truebool", "truebool"),
        ("not", "nanf64", "falsebool"),
        ("bnot", "truebool", "falsebool"),
        ("bnot", "0u8", "255u8"),
        ("cast-i8", "300f64", "127i8"),
        ("cast-u8", "-1f64", "0u8"),
        ("cast-i8", "nanf64", "0i8"),
        ("cast-i8", "300i64", "44i8"),
        ("cast-bool", "nanf64", "truebool"),
        ("ifelse", "0.0f64 1i8 2i16", "2i16"),
        ("reciprocal", "4u8", "0.25f64"),
        ("isinf", "inff32", "truebool"),
        ("isfinite", "3i8", "truebool"),
        ("isnan", "nanf32", "truebool"),
        ("second", "(1f32,7i64)", "7i64"),
        ("/", "1i8 0i8", "inff64"),
        ("*", "truebool truebool", "truebool"),
        ("+", "truebool truebool", "2i64"),
    ];
    for (op, args, expected) in rows {
        let args: Vec<Scalar> = args.split_whitespace().map(value).collect();
        let found = Op::from_name(op).unwrap().apply(&args);
        assert_eq!(found, Ok(value(expected)), "{op} {args:?}");
    }
}

#[test]
fn checked_operators_fault() {
    for (op, args) in [("add-checked", "127i8 1i8"), ("sub-checked", "0u8 1u8"), ("mul-checked", "-128i8 -1i8")] {
        let args: Vec<Scalar> = args.split_whitespace().map(value).collect();
        let found = Op::from_name(op).unwrap().apply(&args);
        assert!(matches!(found, Err(OpError::Fault(Fault::Overflow { .. }))), "{op} {args:?}: {found:?}");
    }
    let sum = Op::from(Builtin::AddChecked).apply(&[Scalar::I8(127), Scalar::F32(1.0)]);
    assert_eq!(sum, Ok(Scalar::F32(128.0)), "floats do not overflow");
}

/// An operator on `i8` with its implementation in Rust.
type Row8 = (&'static str, fn(i8, i8) -> i8);

#[test]
fn bytes_agree_with_rust() {
    let rows: [Row8; 14] = [
        ("+", i8::wrapping_add),
        ("-", i8::wrapping_sub),
        ("*", i8::wrapping_mul),
        ("add-sat", i8::saturating_add),
        ("sub-sat", i8::saturating_sub),
        ("mul-sat", i8::saturating_mul),
        ("fmod", |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) }),
        ("floordiv", |a, b| if b == 0 { 0 } else { (f64::from(a) / f64::from(b)).floor() as i64 as i8 }),
        ("rem", |a, b| match b {
            0 => 0,
            _ => (f64::from(a) - (f64::from(a) / f64::from(b)).floor() * f64::from(b)) as i8,
        }),
        ("min", |a, b| a.min(b)),
        ("band", |a, b| a & b),
        ("shl", |a, b| a.checked_shl(u32::from(b as u8)).unwrap_or(0)),
        ("shr", |a, b| a >> (b as u8).min(7)),
        ("pow", |a, b| match (a, b) {
            (_, 0..) => (0..b).fold(1, |p: i8, _| p.wrapping_mul(a)),
            (1, _) => 1,
            (-1, _) => [1, -1][usize::from(b % 2 != 0)],
            _ => 0,
        }),
    ];
    for (name, rust) in rows {
        let op = Op::from_name(name).unwrap();
        for a in i8::MIN..=i8::MAX {
            for b in i8::MIN..=i8::MAX {
                let found = op.eval(&[Scalar::I8(a), Scalar::I8(b)]);
                assert_eq!(found, Ok(Scalar::I8(rust(a, b))), "{a} {name} {b}");
            }
        }
    }
}

#[test]
fn every_operator_evaluates_to_the_dtype_it_promises() {
    let dtypes = || Prim::ALL.into_iter().map(DType::Prim).chain([pair_type(Prim::F32)]);
    let zero = |t: &DType| Scalar::unflatten(t, &mut t.prims().into_iter().map(Scalar::zero)).unwrap();
    for b in Builtin::ALL {
        let op = Op::Builtin(*b);
        let mut accepted = 0;
        for (first, second) in dtypes().flat_map(|t| dtypes().map(move |u| (t.clone(), u))) {
            for count in 1..=4 {
                let args: Vec<DType> = [&first, &second, &second, &first].into_iter().take(count).cloned().collect();
                let Ok(signature) = op.signature(&args) else { continue };
                accepted += 1;
                let values: Vec<Scalar> = signature.args.iter().map(zero).collect();
                let found = op.eval(&values).unwrap();
                assert_eq!(found.dtype(), signature.result, "{op} on {args:?}");
                // A signature is a fixed point: its own dtypes give the same signature.
                assert_eq!(op.signature(&signature.args), Ok(signature), "{op} on {args:?}");
            }
        }
        assert!(accepted > 0, "{op} accepts nothing");
    }
}

/// Asserts that functions agree with the standard library of Rust: NaN and infinities are the same,
/// and finite values are close.
#[test]
fn functions_agree_with_rust_outside_of_their_domains() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    type Functions = (&'static str, fn(f64) -> f64, fn(f32) -> f32);
    let functions: [Functions; 22] = [
        ("sqrt", f64::sqrt, f32::sqrt),
        ("cbrt", f64::cbrt, f32::cbrt),
        ("exp", f64::exp, f32::exp),
        ("exp2", f64::exp2, f32::exp2),
        ("expm1", f64::exp_m1, f32::exp_m1),
        ("log", f64::ln, f32::ln),
        ("log2", f64::log2, f32::log2),
        ("log10", f64::log10, f32::log10),
        ("log1p", f64::ln_1p, f32::ln_1p),
        ("sin", f64::sin, f32::sin),
        ("cos", f64::cos, f32::cos),
        ("tan", f64::tan, f32::tan),
        ("asin", f64::asin, f32::asin),
        ("acos", f64::acos, f32::acos),
        ("atan", f64::atan, f32::atan),
        ("sinh", f64::sinh, f32::sinh),
        ("cosh", f64::cosh, f32::cosh),
        ("tanh", f64::tanh, f32::tanh),
        ("asinh", f64::asinh, f32::asinh),
        ("acosh", f64::acosh, f32::acosh),
        ("atanh", f64::atanh, f32::atanh),
        ("reciprocal", f64::recip, f32::recip),
    ];
    let values = [
        -inf, -1e300, -1e30, -32767.0, -1e4, -2.5, -2.0, -1.5, -1.0, -0.5, -1e-30, -0.0, 0.0, 1e-30, 0.5, 0.999, 1.0,
        1.5, 2.0, 700.0, 1e4, 32767.0, 1e30, 1e300, inf, nan,
    ];
    for (name, wide, narrow) in functions {
        let op = Op::from_name(name).unwrap();
        let of = |x: Scalar| op.eval(&[x]).unwrap().to_f64().unwrap();
        for x in values {
            for (found, expected, unit) in
                [(of(Scalar::F64(x)), wide(x), 1e-9), (of(Scalar::F32(x as f32)), f64::from(narrow(x as f32)), 1e-4)]
            {
                // Argument reduction of trigonometric functions is more precise in `libm` than on
                // some systems.
                let near = found == expected || (found - expected).abs() <= unit * expected.abs().max(1.0);
                let same = if expected.is_finite() { near } else { found.to_string() == expected.to_string() };
                assert!(same, "{name}({x}) is {found}, expected {expected}");
            }
        }
    }
    for (name, x) in [("tgamma", -1.0), ("tgamma", -inf), ("pow", -1.5), ("fmod", inf), ("lgamma", nan)] {
        let op = Op::from_name(name).unwrap();
        let args = [Scalar::F64(x), Scalar::F64(0.5)];
        let arity = if op.signature(&[crate::DType::F64]).is_ok() { 1 } else { 2 };
        assert!(op.eval(&args[..arity]).unwrap().is_nan(), "{name}({x})");
    }
}
