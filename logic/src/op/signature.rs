//! Dtypes of operators: promotion and the result dtype.
//!
//! Promotion ([`promote`]) follows NumPy and the Python Array API, extended to any number of
//! arguments so that their order does not matter:
//! - `bool` < integers < floats; within a kind, the wider dtype;
//! - signed with unsigned: the smallest signed dtype that represents both; `f64` for `u64` with a
//!   signed dtype, because no signed dtype represents both;
//! - integers with `f32`: `f32` if the integers are promoted to 16 bits or fewer, else `f64`;
//! - `bool` with any dtype: the other dtype.
//!
//! Structs are never promoted.

use super::builtin::{Arity, Builtin, DtypeRule};
use super::error::OpError;
use super::{Op, Signature};
use crate::dtype::{DType, Prim};

/// Returns the primitive to which the given primitives are promoted, by the rules of this module;
/// `None` for an empty input.
pub fn promote(prims: impl IntoIterator<Item = Prim>) -> Option<Prim> {
    let (mut any, mut signed, mut unsigned, mut float) = (false, 0, 0, 0);
    for p in prims {
        any = true;
        let kind = match p {
            Prim::Bool => continue,
            _ if p.is_float() => &mut float,
            _ if p.is_signed() => &mut signed,
            _ => &mut unsigned,
        };
        *kind = p.bits().max(*kind);
    }
    if !any {
        return None;
    }
    // Width of the signed dtype that represents all signed and unsigned inputs, if any is signed;
    // 128 if there is no such dtype.
    let mixed = if signed > 0 && unsigned > 0 { signed.max(2 * unsigned) } else { signed };
    Some(match (float, mixed, unsigned) {
        (64, _, _) | (_, 128, _) => Prim::F64,
        (32, s, u) if s.max(u) >= 32 => Prim::F64,
        (32, _, _) => Prim::F32,
        (_, 64, _) => Prim::I64,
        (_, 32, _) => Prim::I32,
        (_, 16, _) => Prim::I16,
        (_, 8, _) => Prim::I8,
        (_, _, 64) => Prim::U64,
        (_, _, 32) => Prim::U32,
        (_, _, 16) => Prim::U16,
        (_, _, 8) => Prim::U8,
        _ => Prim::Bool,
    })
}

impl Prim {
    /// Returns whether the primitive promotes to `to` ([`promote`]), like `can_cast` of the Python
    /// Array API. Explicit casts have no such limit.
    ///
    /// ```
    /// use redpoll_logic::Prim;
    ///
    /// assert!(Prim::I32.can_cast_to(Prim::F64) && Prim::U8.can_cast_to(Prim::I16));
    /// assert!(!Prim::F64.can_cast_to(Prim::I64) && !Prim::I64.can_cast_to(Prim::I32));
    /// ```
    pub fn can_cast_to(self, to: Prim) -> bool {
        promote([self, to]) == Some(to)
    }
}

impl Op {
    /// Returns the dtypes of a computation with arguments of dtypes `args`. Each argument is cast
    /// to its dtype in the signature before [`Op::eval`].
    ///
    /// # Errors
    /// Returns an error if the number of arguments or a dtype does not fit.
    pub fn signature(&self, args: &[DType]) -> Result<Signature, OpError> {
        if !self.arity().allows(args.len()) {
            return Err(OpError::Arity { op: self.name().to_owned(), expected: self.arity(), found: args.len() });
        }
        match self {
            Op::Builtin(b) => builtin(*b, args),
            Op::User(u) => u.signature(args),
        }
    }

    /// Returns the number of arguments that the operator takes. A user-defined operator that is
    /// declared associative takes two or more.
    pub fn arity(&self) -> Arity {
        match self {
            Op::Builtin(b) => b.arity(),
            Op::User(u) => u.arity(),
        }
    }
}

fn builtin(b: Builtin, args: &[DType]) -> Result<Signature, OpError> {
    let all = |prim: Prim, result: Prim| {
        Ok(Signature { args: vec![DType::Prim(prim); args.len()], result: DType::Prim(result) })
    };
    let same_struct = || match args {
        [DType::Struct(_), ..] if args.iter().all(|t| *t == args[0]) => Some(args[0].clone()),
        _ => None,
    };
    let mismatch = |expected: &str| OpError::Arguments {
        op: b.name().to_owned(),
        found: args.iter().map(DType::to_string).collect::<Vec<_>>().join(", "),
        expected: expected.to_owned(),
    };
    match b.dtype_rule() {
        DtypeRule::Arithmetic => {
            promoted(b, args).map(|p| if p == Prim::Bool { Prim::I64 } else { p }).and_then(|p| all(p, p))
        }
        DtypeRule::Same => promoted(b, args).and_then(|p| all(p, p)),
        DtypeRule::Float => promoted(b, args).map(to_float).and_then(|p| all(p, p)),
        DtypeRule::Logical => promoted(b, args).and_then(|_| all(Prim::Bool, Prim::Bool)),
        DtypeRule::Bits => {
            let p = promoted(b, args)?;
            if p.is_float() {
                return Err(mismatch("integers or bool with a common integer dtype; cast first"));
            }
            all(p, p)
        }
        DtypeRule::Shift => {
            let value = integer(b, args, 0, Prim::I64)?;
            let count = integer(b, args, 1, Prim::U8)?;
            Ok(Signature { args: vec![value.into(), count.into()], result: value.into() })
        }
        DtypeRule::Scale => {
            let value = to_float(prim(b, args, 0)?);
            let exponent = integer(b, args, 1, Prim::U8)?;
            Ok(Signature { args: vec![value.into(), exponent.into()], result: value.into() })
        }
        DtypeRule::Order => promoted(b, args).and_then(|p| all(p, Prim::Bool)),
        DtypeRule::Equality => match same_struct() {
            Some(_) => Ok(Signature { args: args.to_vec(), result: DType::BOOL }),
            None => promoted(b, args).and_then(|p| all(p, Prim::Bool)),
        },
        DtypeRule::Predicate => prim(b, args, 0).and_then(|p| all(p, Prim::Bool)),
        DtypeRule::Condition => {
            prim(b, args, 0)?;
            let value = match (&args[1], &args[2]) {
                (DType::Prim(x), DType::Prim(y)) => {
                    DType::Prim(promote([*x, *y]).expect("two primitives have a promotion"))
                }
                (x, y) if x == y => x.clone(),
                _ => return Err(mismatch("a condition, and two primitives or two structs of the same dtype")),
            };
            Ok(Signature { args: vec![DType::BOOL, value.clone(), value.clone()], result: value })
        }
        DtypeRule::Any => match same_struct() {
            Some(t) => Ok(Signature { args: args.to_vec(), result: t }),
            None => promoted(b, args).and_then(|p| all(p, p)),
        },
        DtypeRule::Cast => {
            let Builtin::Cast(to) = b else { unreachable!("only a cast has the rule of casts") };
            prim(b, args, 0).and_then(|p| all(p, to))
        }
        DtypeRule::Pair => {
            let value = prim(b, args, 0)?;
            integer(b, args, 1, Prim::I64)?;
            Ok(Signature { args: vec![value.into(), DType::I64], result: pair_type(value) })
        }
        DtypeRule::Member(k) => match &args[0] {
            DType::Struct(s) if s.members.len() == 2 => {
                Ok(Signature { args: args.to_vec(), result: s.members[k].1.clone() })
            }
            _ => Err(mismatch("a struct of two members")),
        },
        DtypeRule::PairFold => match same_struct() {
            Some(t) if pair_members(&t).is_some() => Ok(Signature { args: args.to_vec(), result: t }),
            _ => {
                Err(mismatch("structs of the same dtype with two members, a primitive value and an integer coordinate"))
            }
        },
    }
}

/// Returns the dtype `(struct (value T) (coordinate i64))` of argmin and argmax.
pub fn pair_type(value: Prim) -> DType {
    DType::structure([("value", DType::Prim(value)), ("coordinate", DType::I64)])
}

/// Returns the value and coordinate primitives of a dtype that [`Builtin::MinBy`] folds; `None` for
/// other dtypes.
pub(super) fn pair_members(dtype: &DType) -> Option<(Prim, Prim)> {
    let DType::Struct(s) = dtype else { return None };
    match &s.members[..] {
        [(_, DType::Prim(value)), (_, DType::Prim(coordinate))] if coordinate.is_int() => Some((*value, *coordinate)),
        _ => None,
    }
}

fn to_float(p: Prim) -> Prim {
    if p.is_float() { p } else { Prim::F64 }
}

fn promoted(b: Builtin, args: &[DType]) -> Result<Prim, OpError> {
    let prims = (0..args.len()).map(|k| prim(b, args, k)).collect::<Result<Vec<_>, _>>()?;
    Ok(promote(prims).expect("every operator has an argument"))
}

fn prim(b: Builtin, args: &[DType], position: usize) -> Result<Prim, OpError> {
    args[position].prim().ok_or_else(|| argument_error(b, args, position, "a number or bool"))
}

/// Returns the integer dtype of an argument, or `for_bool` for `bool`.
fn integer(b: Builtin, args: &[DType], position: usize, for_bool: Prim) -> Result<Prim, OpError> {
    match prim(b, args, position)? {
        Prim::Bool => Ok(for_bool),
        p if p.is_int() => Ok(p),
        _ => Err(argument_error(b, args, position, "an integer; cast first")),
    }
}

fn argument_error(b: Builtin, args: &[DType], position: usize, expected: &str) -> OpError {
    OpError::Argument {
        op: b.name().to_owned(),
        position,
        found: args[position].clone(),
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
    fn check(op: &str, args: &str, expected: Expect) {
        let args: Vec<DType> = args.split_whitespace().map(|n| dtype(n).expect("a dtype of the test")).collect();
        let op = Op::Builtin(Builtin::from_name(op).expect("an operator of the test"));
        expected.assert_eq(&match op.signature(&args) {
            Ok(s) => {
                let args: Vec<String> = s.args.iter().map(DType::to_string).collect();
                format!("{} -> {}", args.join(" "), s.result)
            }
            Err(e) => e.to_string(),
        });
    }

    fn dtype(name: &str) -> Option<DType> {
        match name.strip_prefix("pair-") {
            Some(value) => Prim::from_name(value).map(pair_type),
            None => Prim::from_name(name).map(DType::Prim),
        }
    }

    #[test]
    fn promotion_follows_numpy() {
        let rows = [
            ("i8 i8", "i8"),
            ("i8 i32", "i32"),
            ("u8 u32", "u32"),
            ("i8 u8", "i16"),
            ("i8 u16", "i32"),
            ("i64 u8", "i64"),
            ("u32 i8", "i64"),
            ("u64 i8", "f64"),
            ("u64 u8", "u64"),
            ("bool i8", "i8"),
            ("bool bool", "bool"),
            ("bool f32", "f32"),
            ("i16 f32", "f32"),
            ("u16 f32", "f32"),
            ("i32 f32", "f64"),
            ("u32 f32", "f64"),
            ("i64 f32", "f64"),
            ("u64 f32", "f64"),
            ("f32 f64", "f64"),
            ("i8 u8 f32", "f32"),
            ("i16 u16 f32", "f64"),
        ];
        for (args, expected) in rows {
            let prims: Vec<Prim> = args.split_whitespace().filter_map(Prim::from_name).collect();
            assert_eq!(promote(prims.iter().copied()).unwrap().name(), expected, "{args}");
            assert_eq!(promote(prims.iter().rev().copied()).unwrap().name(), expected, "{args} reversed");
        }
        assert_eq!(promote([]), None);
    }

    #[test]
    fn each_rule() {
        check("+", "i8 u8 bool", expect!["i16 i16 i16 -> i16"]);
        check("+", "bool bool", expect!["i64 i64 -> i64"]);
        check("*", "bool bool", expect!["bool bool -> bool"]);
        check("/", "i8 i8", expect!["f64 f64 -> f64"]);
        check("/", "f32 i8", expect!["f32 f32 -> f32"]);
        check("sqrt", "u8", expect!["f64 -> f64"]);
        check("floor", "u8", expect!["u8 -> u8"]);
        check("and", "f64 i8", expect!["bool bool -> bool"]);
        check("band", "u8 i8", expect!["i16 i16 -> i16"]);
        check("shl", "u8 i64", expect!["u8 i64 -> u8"]);
        check("shr", "bool bool", expect!["i64 u8 -> i64"]);
        check("ldexp", "f32 i64", expect!["f32 i64 -> f32"]);
        check("lt", "u8 f32", expect!["f32 f32 -> bool"]);
        check(
            "eq",
            "pair-f32 pair-f32",
            expect![[r#"(struct (value f32) (coordinate i64)) (struct (value f32) (coordinate i64)) -> bool"#]],
        );
        check("isnan", "i8", expect!["i8 -> bool"]);
        check("ifelse", "i8 u8 i8", expect!["bool i16 i16 -> i16"]);
        check("choose", "i8 i8 i64", expect!["i64 i64 i64 -> i64"]);
        check("cast-u8", "f64", expect!["f64 -> u8"]);
        check("pair", "f32 u8", expect!["f32 i64 -> (struct (value f32) (coordinate i64))"]);
        check("first", "pair-u8", expect!["(struct (value u8) (coordinate i64)) -> u8"]);
        check("second", "pair-u8", expect!["(struct (value u8) (coordinate i64)) -> i64"]);
        check(
            "minby",
            "pair-u8 pair-u8",
            expect![
                "(struct (value u8) (coordinate i64)) (struct (value u8) (coordinate i64)) -> (struct (value u8) (coordinate i64))"
            ],
        );
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        check("-", "i8", expect!["operator `-` takes 2 arguments, found 1"]);
        check("+", "i8", expect!["operator `+` takes 2 or more arguments, found 1"]);
        check(
            "band",
            "u64 i64",
            expect![
                "the arguments of operator `band` have dtypes u64, i64, expected integers or bool with a common integer dtype; cast first"
            ],
        );
        check("shl", "f32 i8", expect!["argument 0 of operator `shl` has dtype f32, expected an integer; cast first"]);
        check(
            "+",
            "pair-f32 i8",
            expect![
                "argument 0 of operator `+` has dtype (struct (value f32) (coordinate i64)), expected a number or bool"
            ],
        );
        check(
            "minby",
            "f32 f32",
            expect![
                "the arguments of operator `minby` have dtypes f32, f32, expected structs of the same dtype with two members, a primitive value and an integer coordinate"
            ],
        );
        check(
            "first",
            "f32",
            expect!["the arguments of operator `first` have dtypes f32, expected a struct of two members"],
        );
        check(
            "ifelse",
            "bool pair-f32 f32",
            expect![
                "the arguments of operator `ifelse` have dtypes bool, (struct (value f32) (coordinate i64)), f32, expected a condition, and two primitives or two structs of the same dtype"
            ],
        );
    }
}
