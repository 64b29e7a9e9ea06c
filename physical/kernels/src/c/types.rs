//! Primitive types and constants in C.

use redpoll_logic::{Prim, Scalar};

/// Returns the C type of a primitive, in memory and in registers.
pub fn c_type(prim: Prim) -> &'static str {
    match prim {
        Prim::Bool | Prim::U8 => "uint8_t",
        Prim::I8 => "int8_t",
        Prim::I16 => "int16_t",
        Prim::I32 => "int32_t",
        Prim::I64 => "int64_t",
        Prim::U16 => "uint16_t",
        Prim::U32 => "uint32_t",
        Prim::U64 => "uint64_t",
        Prim::F32 => "float",
        Prim::F64 => "double",
    }
}

/// Returns the unsigned integer type of the same width.
pub fn unsigned(prim: Prim) -> &'static str {
    match prim.bits() {
        1 | 8 => "uint8_t",
        16 => "uint16_t",
        32 => "uint32_t",
        _ => "uint64_t",
    }
}

/// Returns the least value of an integer type, as a macro of `stdint.h` or 0.
pub fn least(prim: Prim) -> String {
    if prim.is_signed() { format!("INT{}_MIN", prim.bits()) } else { "0".into() }
}

/// Returns the greatest value of an integer type, as a macro of `stdint.h`.
pub fn greatest(prim: Prim) -> String {
    format!("{}INT{}_MAX", if prim.is_signed() { "" } else { "U" }, prim.bits())
}

/// The type that the text of a constant, or of a loaded index, has in C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Typing {
    /// The type in Assembly: the text alone determines the width of arithmetic.
    Exact,
    /// Any type that can hold the value: an assignment, a parameter or the other operand converts
    /// the value.
    Weak,
}

/// Returns the text of a constant, and whether it starts with a sign.
pub fn literal(value: &Scalar, typing: Typing) -> (String, bool) {
    let text = match value {
        Scalar::Bool(v) => v.to_string(),
        Scalar::F32(v) => float(f64::from(*v), format!("{v:?}"), "f"),
        Scalar::F64(v) => float(*v, format!("{v:?}"), ""),
        _ => integer(value, typing),
    };
    let signed = text.starts_with('-');
    (text, signed)
}

/// Returns the shortest text that reads back as the same number.
fn float(value: f64, digits: String, suffix: &str) -> String {
    let (sign, builtin) = (if value.is_sign_negative() { "-" } else { "" }, suffix);
    if value.is_nan() {
        format!("__builtin_nan{builtin}(\"\")")
    } else if value.is_infinite() {
        format!("{sign}__builtin_inf{builtin}()")
    } else {
        digits + suffix
    }
}

/// Returns the text of an integer. In C, a constant that fits `int` has this type; with the suffix
/// `u`, it is `unsigned`.
fn integer(value: &Scalar, typing: Typing) -> String {
    let prim = value.prim().expect("constants of Assembly are primitives");
    let number = value.to_i128().expect("integers have integral values");
    let small = i32::try_from(number).is_ok();
    match prim {
        Prim::I64 if number == i128::from(i64::MIN) => "INT64_MIN".into(),
        Prim::I32 if number == i128::from(i32::MIN) => "INT32_MIN".into(),
        Prim::I64 | Prim::U64 if small && typing == Typing::Weak => number.to_string(),
        Prim::I64 if number < 0 => format!("-INT64_C({})", -number),
        Prim::I64 => format!("INT64_C({number})"),
        Prim::U64 => format!("UINT64_C({number})"),
        Prim::U32 if !small || typing == Typing::Exact => format!("{number}u"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Constants have the intended types in C.
    #[test]
    fn constants_have_their_types() {
        let check = |value: Scalar, exact: &str, weak: &str| {
            assert_eq!(literal(&value, Typing::Exact).0, exact, "{value:?}");
            assert_eq!(literal(&value, Typing::Weak).0, weak, "{value:?}");
        };
        check(Scalar::I64(5), "INT64_C(5)", "5");
        check(Scalar::I64(-5), "-INT64_C(5)", "-5");
        check(Scalar::I64(1 << 40), "INT64_C(1099511627776)", "INT64_C(1099511627776)");
        check(Scalar::I64(i64::MIN), "INT64_MIN", "INT64_MIN");
        check(Scalar::I32(i32::MIN), "INT32_MIN", "INT32_MIN");
        check(Scalar::U32(7), "7u", "7");
        check(Scalar::U32(u32::MAX), "4294967295u", "4294967295u");
        check(Scalar::U64(u64::MAX), "UINT64_C(18446744073709551615)", "UINT64_C(18446744073709551615)");
        check(Scalar::I8(-128), "-128", "-128");
        check(Scalar::F64(-0.0), "-0.0", "-0.0");
        check(Scalar::F64(0.1), "0.1", "0.1");
        check(Scalar::F32(0.1), "0.1f", "0.1f");
        check(Scalar::F64(1e300), "1e300", "1e300");
        check(Scalar::F32(f32::NEG_INFINITY), "-__builtin_inff()", "-__builtin_inff()");
        check(Scalar::Bool(true), "true", "true");
    }
}
