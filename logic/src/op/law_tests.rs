//! Tests that check the claimed properties of every operator against its values.
//!
//! The claims of [`Op`]'s methods are tested for each built-in operator, dtype and mode. Most
//! claims about one or two values are tested on all values of `bool`, `i8` and `u8`. The other
//! claims, and those on other dtypes, are tested on sample values; associativity also on random
//! integers. In the relaxed mode a claim does not apply to NaN, and floats agree up to rounding;
//! otherwise equality compares bits.

use super::user::tests::gcd;
use super::*;
use crate::dtype::Prim;
use crate::mode::FloatMode::{self, Relaxed, StrictIeee};
use crate::scalar::Scalar;
use proptest::prelude::*;

/// Returns sample values of a dtype; with `all`, all values of dtypes of at most 8 bits.
fn samples(dtype: &DType, mode: FloatMode, all: bool) -> Vec<Scalar> {
    let DType::Prim(p) = dtype else { return pairs(dtype, mode) };
    match p {
        _ if all && p.bits() <= 8 => (0..1 << p.bits()).map(|bits| Scalar::from_bits(*p, bits)).collect(),
        Prim::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        Prim::F32 | Prim::F64 => floats(mode).into_iter().filter_map(|v| Scalar::F64(v).cast(*p)).collect(),
        _ => {
            let top = p.bits() - u32::from(p.is_signed());
            let powers = [0, 1, 2, 6, (1 << (top / 2)) + 1, u64::MAX >> (64 - top)];
            let more = [0x9E37_79B9_7F4A_7C15u64];
            powers.iter().flat_map(|v| [*v, !v]).chain(more).map(|bits| Scalar::from_bits(*p, bits)).collect()
        }
    }
}

fn floats(mode: FloatMode) -> Vec<f64> {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    match mode {
        Relaxed => vec![-inf, -7.0, -3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 16.0, inf],
        StrictIeee => {
            vec![-inf, -1e300, -3.5, -1.0, -1e-320, -0.0, 0.0, 1e-40, 0.1, 0.5, 1.0, 2.5, 1e38, 1.7e308, inf, nan]
        }
    }
}

fn pairs(dtype: &DType, mode: FloatMode) -> Vec<Scalar> {
    let DType::Struct(ty) = dtype else { unreachable!("pairs are structs") };
    let coordinates = samples(&ty.members[1].1, mode, false).into_iter().take(3);
    let values = samples(&ty.members[0].1, mode, false);
    coordinates
        .flat_map(|c| values.iter().map(move |v| Scalar::Struct(ty.clone(), [v.clone(), c.clone()].into())))
        .collect()
}

fn dtypes() -> Vec<DType> {
    let structs = [Prim::I8, Prim::F32].map(pair_type);
    Prim::ALL.into_iter().map(DType::Prim).chain(structs).collect()
}

/// Returns whether the two sides of a claimed equation agree.
fn agree(left: &Result<Scalar, Fault>, right: &Result<Scalar, Fault>, mode: FloatMode) -> bool {
    match (left, right) {
        (Ok(l), Ok(r)) if mode == Relaxed => l.flatten().iter().zip(&r.flatten()).all(|(l, r)| close(l, r)),
        (Ok(l), Ok(r)) => l == r,
        (Err(_), Err(_)) => true,
        _ => false,
    }
}

fn close(l: &Scalar, r: &Scalar) -> bool {
    let epsilon = match l.prim() {
        Some(Prim::F32) => f64::from(f32::EPSILON),
        Some(Prim::F64) => f64::EPSILON,
        _ => return l == r,
    };
    let (l, r) = (l.to_f64().unwrap(), r.to_f64().unwrap());
    // The largest finite sample is 16, so the product of three samples, at most 4096, bounds the
    // terms that cancel.
    l.is_nan() || r.is_nan() || l == r || (l - r).abs() <= 8.0 * epsilon * 4096f64.max(l.abs())
}

/// One operator on one dtype, in one float mode.
struct LawCase {
    op: Op,
    dtype: DType,
    mode: FloatMode,
}

impl LawCase {
    fn eval(&self, args: &[&Scalar]) -> Result<Scalar, Fault> {
        self.op.eval_in(&args.iter().map(|a| (*a).clone()).collect::<Vec<_>>(), self.mode)
    }

    fn assert(&self, law: &str, values: &[&Scalar], left: &Result<Scalar, Fault>, right: &Result<Scalar, Fault>) {
        assert!(
            agree(left, right, self.mode),
            "{law} of {} on {} in {:?} fails for {values:?}: {left:?} is not {right:?}",
            self.op,
            self.dtype,
            self.mode
        );
    }

    fn values(&self) -> Vec<Scalar> {
        samples(&self.dtype, self.mode, true)
    }

    fn edges(&self) -> Vec<Scalar> {
        samples(&self.dtype, self.mode, false)
    }

    /// Returns the signature on this dtype; `None` if the operator rejects this dtype, or computes
    /// in another one.
    fn signature(&self, count: usize) -> Option<Signature> {
        let alike = self.op.signature(&vec![self.dtype.clone(); count]);
        let s = alike.or_else(|_| self.op.signature(&[self.dtype.clone(), DType::I64])).ok()?;
        (s.args[0] == self.dtype || self.op == Op::Builtin(Builtin::IfElse)).then_some(s)
    }

    fn check(&self) {
        let (op, t, mode) = (&self.op, &self.dtype, self.mode);
        let claims = op.is_commutative(t, mode)
            || op.is_associative(t, mode)
            || op.is_idempotent(t, mode)
            || op.repeat_method(t, mode).is_some()
            || op.inverse(t, mode).is_some();
        if let Some(signature) = self.signature(2) {
            self.binary(&signature);
        } else {
            // Logical operators accept any dtype, and their claims are about `bool`.
            assert!(!claims || *t != DType::BOOL, "{op} claims properties on {t}, in which it does not compute");
        }
    }

    fn binary(&self, signature: &Signature) {
        let (op, t, mode) = (&self.op, &self.dtype, self.mode);
        let (values, edges) = (self.values(), self.edges());
        if op.is_commutative(t, mode) {
            for a in &values {
                for b in &values {
                    self.assert("commutativity", &[a, b], &self.eval(&[a, b]), &self.eval(&[b, a]));
                }
            }
        }
        if op.is_associative(t, mode) {
            assert_eq!(op.arity(), Arity::AtLeast(2), "{op} is associative, so it must take any number of arguments");
            self.triples(&values, &edges, "associativity", |a, b, c| {
                (self.chain(self.eval(&[a, b]), c, true), self.chain(self.eval(&[b, c]), a, false))
            });
            self.triples(&edges, &edges, "folding from the left", |a, b, c| {
                (self.chain(self.eval(&[a, b]), c, true), self.eval(&[a, b, c]))
            });
        }
        if op.is_idempotent(t, mode) {
            for a in &values {
                self.assert("idempotence", &[a], &self.eval(&[a, a]), &Ok(a.clone()));
            }
        }
        for position in 0..2 {
            let apply = |constant: &Scalar, x: &Scalar| match position {
                0 => self.eval(&[constant, x]),
                _ => self.eval(&[x, constant]),
            };
            let others = samples(&signature.args[1 - position], mode, true);
            if let Some(e) = op.identity(t, position, mode) {
                assert!(op.is_identity(&e, t, position, mode));
                let e = cast_to(&e, &signature.args[position]);
                for a in &others {
                    self.assert("identity", &[&e, a], &apply(&e, a), &Ok(a.clone()));
                }
            }
            if let Some(z) = op.annihilator(t, position, mode) {
                for a in &others {
                    self.assert("annihilator", &[&z, a], &apply(&z, a), &Ok(z.clone()));
                }
            }
        }
        if let Some(e) = op.fold_identity(t, mode) {
            for a in &values {
                self.assert("identity of folds", &[&e, a], &self.eval(&[&e, a]), &Ok(a.clone()));
                self.assert("identity of folds", &[a, &e], &self.eval(&[a, &e]), &Ok(a.clone()));
            }
        }
        if let Some(inverse) = op.inverse(t, mode) {
            for a in &values {
                for b in &values {
                    let undone = self.eval(&[a, b]).and_then(|v| inverse.eval_in(&[v, b.clone()], mode));
                    self.assert("inverse", &[a, b], &undone, &Ok(a.clone()));
                }
            }
        }
        if let Some(tail) = op.tail(t, mode) {
            self.triples(&values, &edges, "tail", |a, b, c| {
                let right = tail.eval_in(&[b.clone(), c.clone()], mode);
                (self.chain(self.eval(&[a, b]), c, true), self.chain(right, a, false))
            });
        }
        if let Some(stop) = op.short_circuit(t, mode) {
            for a in values.iter().filter(|a| stop.can_stop(a)) {
                for b in &values {
                    self.assert("short circuit", &[a, b], &self.eval(&[a, b]), &Ok(a.clone()));
                }
            }
        }
        if signature.result == *t && signature.args[1] == *t {
            self.repeats(&values);
        }
    }

    /// Applies the operator to `of` and `x`, in this order if `left` is set, else in the opposite
    /// order.
    fn chain(&self, of: Result<Scalar, Fault>, x: &Scalar, left: bool) -> Result<Scalar, Fault> {
        of.and_then(|v| if left { self.eval(&[&v, x]) } else { self.eval(&[x, &v]) })
    }

    fn triples(
        &self,
        first: &[Scalar],
        rest: &[Scalar],
        law: &str,
        sides: impl Fn(&Scalar, &Scalar, &Scalar) -> (Result<Scalar, Fault>, Result<Scalar, Fault>),
    ) {
        for a in first {
            for b in rest {
                for c in rest {
                    let (left, right) = sides(a, b, c);
                    self.assert(law, &[a, b, c], &left, &right);
                }
            }
        }
    }

    fn repeats(&self, values: &[Scalar]) {
        for x in values {
            let mut folded = Ok(x.clone());
            for n in 1..20 {
                if let Some(found) = eval_repeat(&self.op, x, n, self.mode) {
                    self.assert(&format!("repeat of {n}"), &[x], &found, &folded);
                }
                folded = self.chain(folded, x, true);
            }
        }
    }

    fn distributes(&self, other: &Op) {
        for position in 0..2 {
            if !self.op.distributes_over(other, &self.dtype, position, self.mode) {
                continue;
            }
            let count = if self.op.arity() == Arity::Exact(1) { 1 } else { 2 };
            // Logical operators accept any dtype, and their claims are about `bool`.
            let Some(Signature { args, .. }) = self.signature(count) else { continue };
            let outer = |x: &Scalar, a: &Scalar| match (args.len(), position) {
                (1, _) => self.eval(&[x]),
                (_, 0) => self.eval(&[x, a]),
                _ => self.eval(&[a, x]),
            };
            // The other argument may have another dtype, such as the exponent of ldexp.
            let others = samples(args.get(1 - position).unwrap_or(&DType::BOOL), self.mode, true);
            self.triples(&others, &self.edges(), &format!("distribution over {other} at {position}"), |a, b, c| {
                let left = other.eval_in(&[b.clone(), c.clone()], self.mode).and_then(|v| outer(&v, a));
                let right = outer(b, a).and_then(|l| outer(c, a).and_then(|r| other.eval_in(&[l, r], self.mode)));
                (left, right)
            });
        }
    }

    /// Checks simplifications for every proper subset of constant arguments, at sample values.
    fn simplifies(&self, count: usize) {
        let Some(signature) = self.signature(count) else { return };
        let domains: Vec<Vec<Scalar>> = signature.args.iter().map(|t| samples(t, self.mode, false)).collect();
        let all = tuples(&domains);
        for subset in 1..(1 << count) - 1u32 {
            for args in &all {
                let constants: Vec<Option<Scalar>> =
                    args.iter().enumerate().map(|(k, a)| (subset >> k & 1 == 1).then(|| a.clone())).collect();
                let Some(simplified) = self.op.simplify(&signature, &constants, self.mode) else { continue };
                let right = match &simplified {
                    Simplification::Value(value) => Ok(value.clone()),
                    Simplification::Arg(k) => Ok(args[*k].clone()),
                    Simplification::Args(remaining) => {
                        self.eval(&remaining.iter().map(|k| &args[*k]).collect::<Vec<_>>())
                    }
                    Simplification::Body(body) => match &self.op {
                        Op::User(u) => u.eval_body(body, args, self.mode),
                        Op::Builtin(_) => unreachable!("built-in operators have no special cases"),
                    },
                };
                let args: Vec<&Scalar> = args.iter().collect();
                self.assert(&format!("{simplified:?} from {constants:?}"), &args, &self.eval(&args), &right);
            }
        }
    }
}

fn tuples(domains: &[Vec<Scalar>]) -> Vec<Vec<Scalar>> {
    domains.iter().fold(vec![Vec::new()], |tuples, domain| {
        let extend = |tuple: &Vec<Scalar>| {
            domain.iter().map(|v| tuple.iter().cloned().chain([v.clone()]).collect()).collect::<Vec<_>>()
        };
        tuples.iter().flat_map(extend).collect()
    })
}

fn cases() -> impl Iterator<Item = LawCase> {
    let ops = || Builtin::ALL.iter().map(|b| Op::Builtin(*b)).chain([Op::from(gcd())]);
    ops().flat_map(|op| {
        dtypes().into_iter().flat_map(move |dtype| {
            let op = op.clone();
            [Relaxed, StrictIeee].map(move |mode| LawCase { op: op.clone(), dtype: dtype.clone(), mode })
        })
    })
}

#[test]
fn claims_of_one_operator_hold() {
    // gcd of `i64::MIN` wraps to a negative number, for which the declared laws are false.
    cases().filter(|c| matches!(c.op, Op::Builtin(_))).for_each(|c| c.check());
}

#[test]
fn claims_of_two_operators_hold() {
    for case in cases() {
        for other in Builtin::ALL {
            case.distributes(&Op::Builtin(*other));
        }
    }
}

#[test]
fn simplification_keeps_the_value() {
    for case in cases().filter(|c| matches!(c.op, Op::Builtin(_))) {
        case.simplifies(2);
        if case.op.arity() != Arity::Exact(3) {
            continue;
        }
        case.simplifies(3);
    }
    for name in ["+", "-", "*", "min", "and", "choose", "coalesce", "add-sat"] {
        for dtype in [DType::Prim(Prim::I8), DType::BOOL, DType::F64] {
            for mode in [Relaxed, StrictIeee] {
                LawCase { op: Op::from_name(name).unwrap(), dtype: dtype.clone(), mode }.simplifies(3);
            }
        }
    }
}

#[test]
fn constants_are_cast_by_the_signature() {
    let (add, dtypes) = (Op::from(Builtin::Add), [DType::Prim(Prim::I8), DType::F64]);
    let signature = add.signature(&dtypes).unwrap();
    let simplify = |constants: [Option<Scalar>; 2]| add.simplify(&signature, &constants, Relaxed);
    assert_eq!(simplify([Some(Scalar::I8(1)), Some(Scalar::F64(0.5))]), Some(Simplification::Value(Scalar::F64(1.5))));
    assert_eq!(simplify([Some(Scalar::I8(0)), None]), Some(Simplification::Arg(1)));
    assert_eq!(simplify([Some(Scalar::I8(1)), None]), None);
}

#[test]
fn every_row_of_constant_results_is_used() {
    for (ops, positions, when, then, kinds) in laws::CONSTANT_RESULTS {
        for b in *ops {
            for dtype in Prim::ALL.map(DType::Prim) {
                for mode in [Relaxed, StrictIeee] {
                    if properties::dtype_kind(*b, &dtype, mode) & kinds == 0 {
                        continue;
                    }
                    let op = Op::Builtin(*b);
                    let signature = op
                        .signature(&[dtype.clone(), dtype.clone()])
                        .or_else(|_| op.signature(&[dtype.clone(), DType::I64]));
                    let signature = signature.unwrap();
                    for position in 0..2 {
                        if positions & properties::position_bit(position) == 0 {
                            continue;
                        }
                        let mut constants = vec![None, None];
                        constants[position] = Some(properties::constant(*when, &signature.args[position]));
                        let expected = properties::constant(*then, &signature.result);
                        let found = op.constant_result(&signature, &constants, mode);
                        assert_eq!(found, Some(expected), "{op} on {dtype} in {mode:?} with {constants:?}");
                    }
                }
            }
        }
    }
}

/// Asserts that if a law decides the result from one argument, evaluation gives the same result for
/// every sample of the other argument except an opposite infinity. The result therefore does not
/// depend on the format.
#[test]
fn constant_results_equal_values_in_the_default_mode() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let values = [-inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, inf, nan];
    let same = |a: &Scalar, b: &Scalar| a == b || a.to_f64() == Some(0.0) && b.to_f64() == Some(0.0);
    let mut decided = 0;
    for (op, prim) in Builtin::ALL.iter().flat_map(|b| [Prim::F32, Prim::F64].map(|p| (Op::from(*b), p))) {
        let dtypes = [DType::Prim(prim), DType::Prim(prim)];
        let Ok(signature) = op.signature(&dtypes) else { continue };
        let of = |v: f64, k: usize| cast_to(&Scalar::F64(v), &signature.args[k]);
        for (k, v, x) in (0..2).flat_map(|k| values.iter().flat_map(move |v| values.map(|x| (k, *v, x)))) {
            let mut constants = [None, None];
            constants[k] = Some(of(v, k));
            let Some(law) = op.constant_result(&signature, &constants, Relaxed) else { continue };
            let args = if k == 0 { [of(v, 0), of(x, 1)] } else { [of(x, 0), of(v, 1)] };
            let value = op.eval_in(&args, Relaxed).unwrap();
            let opposite = v.is_infinite() && x.is_infinite() && value.is_nan();
            assert!(same(&law, &value) || opposite, "{op} on {prim} of {args:?}: {law} by law, {value} by values");
            decided += 1;
        }
    }
    assert!(decided > 1000, "{decided} pairs decided");
}

#[test]
fn zeros_and_infinities_in_the_default_mode() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let value = |name: &str, x: f64, y: f64, mode| {
        let args = [Scalar::F64(x), Scalar::F64(y)];
        Op::from_name(name).unwrap().eval_in(&args, mode).unwrap().to_f64().unwrap()
    };
    for (name, x, y, expected) in [
        ("/", 0.0, 0.0, 0.0),
        ("/", 0.0, nan, 0.0),
        ("/", inf, inf, 0.0),
        ("/", 3.0, 0.0, inf),
        ("floordiv", 0.0, 0.0, 0.0),
        ("rem", 0.0, 0.0, 0.0),
        ("fmod", 0.0, 0.0, 0.0),
        ("*", 0.0, inf, 0.0),
        ("*", nan, 0.0, 0.0),
        ("+", inf, nan, inf),
        ("-", nan, inf, -inf),
        ("min", nan, -inf, -inf),
        ("max", inf, nan, inf),
    ] {
        assert_eq!(value(name, x, y, Relaxed), expected, "{x} {name} {y}");
    }
    for (name, x, y) in [("/", 5.0, nan), ("fmod", 1.0, 0.0), ("rem", 1.0, 0.0), ("*", inf, nan), ("+", inf, -inf)] {
        assert!(value(name, x, y, Relaxed).is_nan(), "{x} {name} {y}");
    }
    for (name, x, y) in [("/", 0.0, 0.0), ("fmod", 0.0, 0.0), ("rem", 0.0, 0.0), ("*", 0.0, inf), ("min", nan, -inf)] {
        assert!(value(name, x, y, StrictIeee).is_nan(), "{x} {name} {y}");
    }
}

#[test]
fn common_semirings_are_distributive() {
    let distributes = |f: &str, g: &str, dtype: Prim, mode| {
        let (f, g) = (Op::from_name(f).unwrap(), Op::from_name(g).unwrap());
        f.distributes_over(&g, &dtype.into(), 0, mode) && f.distributes_over(&g, &dtype.into(), 1, mode)
    };
    for (f, g, dtype) in [
        ("*", "+", Prim::I64),
        ("*", "+", Prim::F64),
        ("+", "min", Prim::F32),
        ("+", "max", Prim::F64),
        ("add-sat", "min", Prim::I32),
        ("mul-sat", "max", Prim::U32),
        ("min", "max", Prim::I8),
        ("max", "min", Prim::F64),
        ("and", "or", Prim::Bool),
        ("or", "and", Prim::Bool),
        ("and", "xor", Prim::Bool),
        ("*", "or", Prim::Bool),
        ("band", "bor", Prim::U64),
        ("band", "bxor", Prim::U64),
    ] {
        assert!(distributes(f, g, dtype, Relaxed), "{f} distributes over {g} on {dtype}");
    }
    // Wrapping, rounding or signs break these laws.
    for (f, g, dtype, mode) in [
        ("+", "min", Prim::I64, Relaxed),
        ("*", "max", Prim::I64, Relaxed),
        ("*", "max", Prim::U64, Relaxed),
        ("*", "max", Prim::F64, Relaxed),
        ("*", "+", Prim::F64, StrictIeee),
        ("+", "min", Prim::F64, StrictIeee),
        ("mul-sat", "add-sat", Prim::I64, Relaxed),
    ] {
        assert!(!distributes(f, g, dtype, mode), "{f} does not distribute over {g} on {dtype} in {mode:?}");
    }
}

#[test]
fn float_modes_differ_where_they_must() {
    let t = DType::F64;
    let op = |name| Op::from_name(name).unwrap();
    assert!(op("+").is_associative(&t, Relaxed) && !op("+").is_associative(&t, StrictIeee));
    assert_eq!(op("*").annihilator(&t, 0, Relaxed), Some(Scalar::F64(0.0)));
    assert_eq!(op("*").annihilator(&t, 0, StrictIeee), Some(Scalar::F64(f64::NAN)));
    assert_eq!(op("+").fold_identity(&t, StrictIeee), Some(Scalar::F64(-0.0)));
    assert!(op("+").is_identity(&Scalar::F64(-0.0), &t, 0, Relaxed));
    assert!(!op("+").is_identity(&Scalar::F64(0.0), &t, 0, StrictIeee));
    assert!(op("min").is_idempotent(&t, StrictIeee));
}

#[test]
fn folds_skip_what_their_start_absorbs() {
    for (name, t) in [("min", DType::F64), ("max", Prim::I32.into()), ("or", DType::BOOL), ("+", DType::F64)] {
        let (op, values) = (Op::from_name(name).unwrap(), samples(&t, Relaxed, false));
        let fold = |x: &Scalar, y: &Scalar| op.eval_in(&[x.clone(), y.clone()], Relaxed).unwrap();
        let mut absorbed = 0;
        for init in &values {
            for value in values.iter().filter(|value| op.skips(value, init, &t, Relaxed)) {
                absorbed += usize::from(!op.is_identity(value, &t, 1, Relaxed));
                for x in &values {
                    assert_eq!(fold(&fold(init, x), value), fold(init, x), "{name} from {init} over {x} and {value}");
                }
            }
        }
        assert_eq!(absorbed > 0, name != "+", "{name} absorbs {absorbed} values");
    }
    let max = Op::from_name("max").unwrap();
    assert!(max.skips(&Scalar::F64(0.0), &Scalar::F64(0.0), &DType::F64, StrictIeee));
    assert!(!max.skips(&Scalar::F64(0.0), &Scalar::F64(-1.0), &DType::F64, Relaxed));
}

#[test]
fn repeats_of_many_need_no_loop() {
    let many = 1u64 << 60;
    let repeat = |name: &str, x: Scalar, mode| eval_repeat(&Op::from_name(name).unwrap(), &x, many, mode);
    assert_eq!(repeat("+", Scalar::I64(5), Relaxed), Some(Ok(Scalar::I64(5 << 60))));
    assert_eq!(repeat("+", Scalar::F64(0.5), Relaxed), Some(Ok(Scalar::F64(f64::powi(2.0, 59)))));
    assert_eq!(repeat("+", Scalar::F64(0.0), StrictIeee), Some(Ok(Scalar::F64(0.0))), "a strict fold that settles");
    assert_eq!(repeat("+", Scalar::F64(0.5), StrictIeee), None);
    assert_eq!(repeat("*", Scalar::I8(3), Relaxed), Some(Ok(Scalar::I8(1))));
    assert_eq!(repeat("add-sat", Scalar::I8(-3), Relaxed), Some(Ok(Scalar::I8(-128))));
    assert!(matches!(repeat("add-checked", Scalar::I8(1), Relaxed), Some(Err(Fault::Overflow { .. }))));
    assert_eq!(repeat("add-checked", Scalar::I8(0), Relaxed), Some(Ok(Scalar::I8(0))));
    assert_eq!(repeat("xor", Scalar::Bool(true), Relaxed), Some(Ok(Scalar::Bool(false))));
    assert_eq!(repeat("min", Scalar::F64(2.5), StrictIeee), Some(Ok(Scalar::F64(2.5))));
    assert_eq!(eval_repeat(&Op::from_name("+").unwrap(), &Scalar::I64(5), 0, Relaxed), None);
}

#[test]
fn special_cases_of_user_operators_apply() {
    let op = Op::from(gcd());
    let case = LawCase { op: op.clone(), dtype: DType::I64, mode: Relaxed };
    case.simplifies(2);
    let signature = op.signature(&[DType::I64, DType::I64]).unwrap();
    let found = op.simplify(&signature, &[None, Some(Scalar::I64(0))], Relaxed);
    assert_eq!(found, Some(Simplification::Body(Body::call(Builtin::Abs, [Body::Arg(0)]))));
    assert_eq!(op.simplify(&signature, &[None, Some(Scalar::I64(4))], Relaxed), None);
    assert_eq!(op.repeat_method(&DType::I64, Relaxed), Some(RepeatMethod::Doubling));
    assert!(!op.is_associative(&DType::F64, Relaxed), "declared for i64 alone");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn claims_hold_on_random_integers(a: u64, b: u64, c: u64) {
        for case in cases().filter(|c| matches!(c.op, Op::Builtin(_)) && c.mode == Relaxed) {
            let Some(p) = case.dtype.prim().filter(|p| p.is_int()) else { continue };
            let values = [a, b, c].map(|bits| Scalar::from_bits(p, bits));
            if case.dtype.prim().is_some() && case.op.is_associative(&case.dtype, case.mode) {
                case.triples(&values, &values, "associativity", |a, b, c| {
                    (case.chain(case.eval(&[a, b]), c, true), case.chain(case.eval(&[b, c]), a, false))
                });
            }
        }
    }
}
