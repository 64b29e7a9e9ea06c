//! The text form of values and dtypes.
//!
//! A bare word is a weak value: `true`, `7`, `-1.5`, `1e-3`, `inf`, `nan`. A strong value names its
//! dtype: `(lit f32 1.5)`, `(lit (struct (value f32) (coordinate i64)) (1.5 7))`. A printed literal
//! reads back as an equal value, with the same bits unless it is a NaN.

use crate::dtype::{DType, Prim};
use crate::error::Error;
use crate::scalar::Scalar;
use crate::sexpr::{Sexpr, SexprKind};

/// Reads a weak value: a `bool`, an `i64`, a `u64` if `i64` is too narrow, else an `f64`; `None` if
/// `word` is no value.
pub fn read_bare(word: &str) -> Option<Scalar> {
    let prims = [Prim::Bool, Prim::I64, Prim::U64, Prim::F64];
    prims.into_iter().find_map(|p| read_prim(p, word))
}

/// Reads a literal `(lit DTYPE VALUE)`.
///
/// # Errors
/// Returns an error if `form` is no literal, if its dtype is invalid, or if its value does not fit
/// the dtype.
pub fn read_literal(form: &Sexpr) -> Result<Scalar, Error> {
    match form.as_form() {
        Some(("lit", [dtype, value])) => read_value(&read_dtype(dtype)?, value),
        _ => Err(form.error(format!("expected (lit DTYPE VALUE), found {form}"))),
    }
}

/// Reads a value of the given dtype: a word, or a list of the values of a struct's members.
///
/// # Errors
/// Returns a syntax error if `value` is no value of that dtype.
pub fn read_value(dtype: &DType, value: &Sexpr) -> Result<Scalar, Error> {
    let error = || value.error(format!("expected a value of dtype {dtype}, found {value}"));
    match (dtype, &value.kind) {
        (DType::Prim(p), SexprKind::Atom(word)) => read_prim(*p, word).ok_or_else(error),
        (DType::Struct(ty), SexprKind::List(items)) if items.len() == ty.members.len() => {
            let members = ty.members.iter().zip(items).map(|((_, t), item)| read_value(t, item));
            Ok(Scalar::Struct(ty.clone(), members.collect::<Result<Vec<_>, _>>()?.into()))
        }
        _ => Err(error()),
    }
}

/// Reads a value that is bare or a literal `(lit DTYPE VALUE)`.
///
/// # Errors
/// Returns an error if `form` is neither a bare value nor a valid literal.
pub fn read_scalar(form: &Sexpr) -> Result<Scalar, Error> {
    match form.as_atom().and_then(read_bare) {
        Some(value) => Ok(value),
        None => read_literal(form),
    }
}

/// Reads a value of a primitive dtype; `None` if `word` is no value of that dtype.
pub fn read_prim(prim: Prim, word: &str) -> Option<Scalar> {
    // Rust parses other words as floats too (`infinity`, `NaN`); here these words are names.
    let is_named = ["inf", "-inf", "nan"].contains(&word);
    let is_float = is_named || word.contains(|c: char| c.is_ascii_digit());
    Some(match prim {
        Prim::Bool => Scalar::Bool(word.parse().ok()?),
        Prim::I8 => Scalar::I8(word.parse().ok()?),
        Prim::I16 => Scalar::I16(word.parse().ok()?),
        Prim::I32 => Scalar::I32(word.parse().ok()?),
        Prim::I64 => Scalar::I64(word.parse().ok()?),
        Prim::U8 => Scalar::U8(word.parse().ok()?),
        Prim::U16 => Scalar::U16(word.parse().ok()?),
        Prim::U32 => Scalar::U32(word.parse().ok()?),
        Prim::U64 => Scalar::U64(word.parse().ok()?),
        Prim::F32 => Scalar::F32(word.parse().ok().filter(|_| is_float)?),
        Prim::F64 => Scalar::F64(word.parse().ok().filter(|_| is_float)?),
    })
}

/// Reads a dtype: `f64`, `(struct (value f64) (coordinate i64))`.
///
/// # Errors
/// Returns an error if `form` is no dtype, or if two members of a struct have the same name.
pub fn read_dtype(form: &Sexpr) -> Result<DType, Error> {
    if let Some(word) = form.as_atom() {
        let names = Prim::ALL.map(Prim::name);
        return Prim::from_name(word).map(DType::Prim).ok_or_else(|| form.locate(Error::unknown("dtype", word, names)));
    }
    let Some(("struct", members @ [_, ..])) = form.as_form() else {
        return Err(form.error(format!("expected a dtype, found {form}")));
    };
    let mut dtypes: Vec<(String, DType)> = Vec::with_capacity(members.len());
    for member in members {
        let Some([name, dtype]) = member.as_list() else {
            return Err(member.error(format!("expected (MEMBER DTYPE), found {member}")));
        };
        let name = name.word("the name of a member")?;
        if dtypes.iter().any(|(n, _)| n == name) {
            return Err(member.error(format!("two members are named `{name}`")));
        }
        dtypes.push((name.to_owned(), read_dtype(dtype)?));
    }
    Ok(DType::structure(dtypes))
}

/// Writes a value as a strong literal.
pub fn write_literal(value: &Scalar) -> Sexpr {
    Sexpr::form("lit", [write_dtype(&value.dtype()), write_value(value)])
}

/// Writes a value without its dtype.
pub fn write_value(value: &Scalar) -> Sexpr {
    match value {
        Scalar::Struct(_, members) => Sexpr::list(members.iter().map(write_value)),
        _ => Sexpr::atom(value.to_string()),
    }
}

/// Writes a dtype.
pub fn write_dtype(dtype: &DType) -> Sexpr {
    match dtype {
        DType::Prim(p) => Sexpr::atom(p.name()),
        DType::Struct(ty) => {
            let member = |(name, t): &(String, DType)| Sexpr::list([Sexpr::atom(name), write_dtype(t)]);
            Sexpr::form("struct", ty.members.iter().map(member))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::pair_type;
    use crate::sexpr::read_one;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn round_trip(value: &Scalar) {
        let text = write_literal(value).to_string();
        assert_eq!(read_literal(&read_one(&text).unwrap()).unwrap(), *value, "{text}");
    }

    #[test]
    fn bare_words() {
        for (word, value) in [
            ("true", Some(Scalar::Bool(true))),
            ("-7", Some(Scalar::I64(-7))),
            ("18446744073709551615", Some(Scalar::U64(u64::MAX))),
            ("1e3", Some(Scalar::F64(1000.0))),
            ("-0.0", Some(Scalar::F64(-0.0))),
            ("-inf", Some(Scalar::F64(f64::NEG_INFINITY))),
            ("nan", Some(Scalar::F64(f64::NAN))),
            ("99999999999999999999", Some(Scalar::F64(1e20))),
            ("infinity", None),
            ("NaN", None),
            ("+", None),
            ("x1", None),
        ] {
            assert_eq!(read_bare(word), value, "{word}");
        }
    }

    #[test]
    fn structs_read_back() {
        let DType::Struct(ty) = pair_type(Prim::F32) else { unreachable!("a pair is a struct") };
        round_trip(&Scalar::Struct(ty, [Scalar::F32(0.1), Scalar::I64(-3)].into()));
    }

    #[test]
    fn errors_have_positions() {
        #[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
        fn check(text: &str, expected: Expect) {
            expected.assert_eq(&read_literal(&read_one(text).unwrap()).unwrap_err().to_string());
        }
        check("(lit u8 256)", expect!["line 1, column 9: expected a value of dtype u8, found 256"]);
        check("(lit i8 1.5)", expect!["line 1, column 9: expected a value of dtype i8, found 1.5"]);
        check("(lit f6 1)", expect!["line 1, column 6: unknown dtype `f6`; did you mean `f64`?"]);
        check("(lit (struct (a i8) (a i8)) (1 2))", expect!["line 1, column 21: two members are named `a`"]);
        check(
            "(lit (struct (a i8)) (1 2))",
            expect!["line 1, column 22: expected a value of dtype (struct (a i8)), found (1 2)"],
        );
    }

    proptest! {
        #[test]
        fn every_value_reads_back(bits: u64) {
            for prim in Prim::ALL {
                round_trip(&Scalar::from_bits(prim, bits));
            }
        }
    }
}
