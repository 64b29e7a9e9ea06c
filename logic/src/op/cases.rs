//! The iteration algebra of user-defined operators: iteration spaces, and results outside them.
//!
//! The stored set of an argument is the set of coordinates at which its value differs from its fill
//! value. The meaning of an application therefore depends on the fill values of its arguments, not
//! on formats. The *iteration* of an operator is a set of coordinates that is built from stored
//! sets. An operator `f` with an iteration but no cases *claims* that it returns `f(fills)`
//! everywhere outside the iteration. An operator with cases is *defined* everywhere: by its body in
//! the iteration, otherwise by the first case whose set contains the coordinates.
//!
//! [`UserOp::bind_fills`] specializes either kind to the fill values of its arguments. Cases become
//! conditions of the body, which every engine evaluates; a claim records the fill values for which
//! it was checked.

use super::body::Body;
use super::builtin::Builtin;
use super::error::OpError;
use super::eval::is_zero;
use super::integer::{bounds, wrap};
use super::user::{Definition, Iteration, UserOp};
use super::{Op, Signature};
use crate::dtype::{DType, Prim};
use crate::mode::FloatMode;
use crate::scalar::Scalar;

impl Op {
    /// Returns this operator of two arguments with a claim: wherever the argument at `position` has
    /// its fill value, the result equals the result for `fills`. The caller guarantees that the
    /// claim is true for all values of the other argument.
    pub(crate) fn claiming(&self, signature: &Signature, position: usize, fills: Vec<Scalar>) -> Op {
        let params = signature.args.iter().enumerate().map(|(k, dtype)| (format!("argument{k}"), dtype.clone()));
        let body = Body::call(self.clone(), [Body::Arg(0), Body::Arg(1)]);
        let op = UserOp::new("claiming", params.collect(), signature.result.clone(), &body);
        let op = op.expect("a built-in operator is well-typed in its signature");
        Op::from(op.with_claim(self.name(), Iteration::Arg(position), fills))
    }
}

/// One case of an operator's definition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Case {
    /// Set of coordinates at which the case applies, except those of the iteration and of earlier
    /// cases.
    pub domain: Iteration,
    /// Result at these coordinates, in terms of the arguments.
    pub result: Body,
}

/// Returns the name of an operator that is bound to fill values.
fn bound_name(name: &str, fills: &[Scalar]) -> String {
    let words: Vec<String> = fills.iter().map(Scalar::to_string).collect();
    format!("{name}@{}", words.join(",").replace(char::is_whitespace, "").replace(['(', ')'], "|"))
}

/// Maximum number of parameters for which all sets of stored arguments are enumerated.
const MAX_ENUMERATED_PARAMS: usize = 10;

/// Maximum number of applications that try to refute a claim.
const MAX_TRIALS: usize = 2000;

impl UserOp {
    /// Returns whether the operator is defined by cases. Such an operator can only be applied after
    /// it is bound to fill values.
    pub fn has_cases(&self) -> bool {
        !self.cases().is_empty()
    }

    /// Checks that the cases, if there are any, define the result everywhere.
    ///
    /// # Errors
    /// Returns an error in four cases: some set of stored arguments is in neither the iteration nor
    /// a case; the cases never apply; there are too many parameters to check; or the operator is
    /// associative.
    pub fn check_cases(&self) -> Result<(), OpError> {
        if !self.has_cases() {
            return Ok(());
        }
        if self.properties().associative {
            return self
                .fail("it is associative, but its cases require a fixed number of arguments; remove (associative) or the cases".into());
        }
        let n = self.params().len();
        let all = |set: &Iteration| *set == Iteration::All;
        if self.iteration().is_none_or(all) {
            return self
                .fail("its cases never apply, because its iteration is everywhere; add an (iteration SET), or choose a smaller SET".into());
        }
        if self.cases().iter().any(|c| all(&c.domain)) {
            return Ok(());
        }
        if n > MAX_ENUMERATED_PARAMS {
            return self.fail(format!(
                "it has {n} parameters, too many to check that its cases cover everything; add (elsewhere BODY)"
            ));
        }
        let sets = || self.iteration().into_iter().chain(self.cases().iter().map(|c| &c.domain));
        match subsets(n).find(|stored| !sets().any(|set| set.contains(stored))) {
            None => Ok(()),
            Some(undefined) => self.fail(format!(
                "its cases leave the result undefined if {}; add a case, or (elsewhere BODY)",
                self.describe_stored(&undefined)
            )),
        }
    }

    /// Specializes the operator to the fill values of its arguments, which have the dtypes of its
    /// parameters. Returns the operator unchanged in three cases: it has no iteration; the fill
    /// values and the parameters differ in number; or its claim is already for these fill values.
    /// Drops a claim if the definition makes the claim only for other fill values.
    ///
    /// # Errors
    /// Returns an error if the operator claims the same result everywhere outside its iteration and
    /// a trial with these fill values refutes the claim. Also returns the errors of
    /// [`UserOp::check_cases`].
    pub fn bind_fills(&self, fills: &[Scalar]) -> Result<UserOp, OpError> {
        let Some(iteration) = self.iteration().filter(|_| fills.len() == self.params().len()) else {
            return Ok(self.clone());
        };
        if self.fills() == Some(fills) && !self.has_cases() {
            return Ok(self.clone());
        }
        let name = bound_name(self.name(), fills);
        if !self.has_cases() {
            if self.fills().is_some() {
                return Ok(self.with_binding(name, None, None));
            }
            self.check_claim(iteration, fills)?;
            return Ok(self.with_binding(name, None, Some(fills.to_vec())));
        }
        self.check_cases()?;
        let Definition::Body(body) = self.definition();
        let remainder = self.cases().split_last().map(|(last, rest)| {
            // The last case takes all remaining coordinates, because the cases cover everything.
            rest.iter().rfold(last.result.clone(), |other, case| conditional(&case.domain, fills, &case.result, other))
        });
        let remainder = remainder.unwrap_or_else(|| body.clone());
        Ok(self.with_binding(name, Some(conditional(iteration, fills, body, remainder)), Some(fills.to_vec())))
    }

    /// Returns the operator with a claim for fill values, under a name made of `name` and the fill
    /// values.
    fn with_claim(mut self, name: &str, iteration: Iteration, fills: Vec<Scalar>) -> UserOp {
        self = self.with_iteration(iteration).expect("the set is one of the arguments");
        self.with_binding(bound_name(name, &fills), None, Some(fills))
    }

    /// Checks the claim of the operator for the fill values that its own definition names.
    ///
    /// # Errors
    /// Returns an error if a trial refutes the claim.
    pub(super) fn check_declared_claim(&self) -> Result<(), OpError> {
        match (self.iteration(), self.fills()) {
            (Some(iteration), Some(fills)) if !self.has_cases() => self.check_claim(iteration, fills),
            _ => Ok(()),
        }
    }

    /// Tries up to [`MAX_TRIALS`] sample arguments outside the iteration; returns an error if the
    /// result for some sample differs from the result for the fill values. Does not check an
    /// operator that has more than [`MAX_ENUMERATED_PARAMS`] parameters or faults on the fill
    /// values.
    fn check_claim(&self, iteration: &Iteration, fills: &[Scalar]) -> Result<(), OpError> {
        let n = self.params().len();
        let Ok(expected) = self.eval(fills, FloatMode::default()) else { return Ok(()) };
        if n > MAX_ENUMERATED_PARAMS {
            return Ok(());
        }
        let samples: Vec<Vec<Scalar>> = fills.iter().map(samples).collect();
        let mut trials = 0;
        for stored in subsets(n).filter(|stored| !iteration.contains(stored)) {
            let combinations =
                stored.iter().zip(&samples).filter(|(s, _)| **s).map(|(_, of)| of.len()).product::<usize>();
            for number in 0..combinations {
                trials += 1;
                if trials > MAX_TRIALS {
                    return Ok(());
                }
                let mut number = number;
                let args: Vec<Scalar> = (0..n)
                    .map(|k| {
                        if !stored[k] {
                            return fills[k].clone();
                        }
                        let sample = samples[k][number % samples[k].len()].clone();
                        number /= samples[k].len();
                        sample
                    })
                    .collect();
                if let Ok(found) = self.eval(&args, FloatMode::default())
                    && !are_equal(&found, &expected)
                {
                    let words = |values: &[Scalar]| values.iter().map(Scalar::to_string).collect::<Vec<_>>().join(", ");
                    return self.fail(format!(
                        "its iteration excludes coordinates at which {}, but there `{name}({})` is {found}, and `{name}({})` of \
                         the fill values is {expected}; widen the iteration, or define the result with (case SET BODY) \
                         or (elsewhere BODY)",
                        self.describe_stored(&stored),
                        words(&args),
                        words(fills),
                        name = self.name(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Describes the set of stored arguments in words.
    fn describe_stored(&self, stored: &[bool]) -> String {
        let names: Vec<String> =
            self.params().iter().zip(stored).filter(|(_, s)| **s).map(|((name, _), _)| format!("`{name}`")).collect();
        match &names[..] {
            [] => "no argument is stored".to_owned(),
            [one] => format!("{one} alone is stored"),
            [first @ .., last] => format!("{} and {last} alone are stored", first.join(", ")),
        }
    }
}

/// Iterates over all sets of stored arguments.
fn subsets(n: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1usize << n).map(move |bits| (0..n).map(|k| bits >> k & 1 == 1).collect())
}

/// Returns sample values of the dtype of `fill` that differ from `fill`: small values of both
/// signs, and the least and the greatest value.
fn samples(fill: &Scalar) -> Vec<Scalar> {
    const INTEGERS: [i64; SAMPLE_COUNT - 2] = [2, -1, 0, 5, 1, -3, 6];
    const FLOATS: [f64; SAMPLE_COUNT] = [2.0, -1.5, 0.0, 7.0, 1.0, -3.0, 0.1, f64::INFINITY, f64::NEG_INFINITY];
    let of_prim = |p: Prim, k: usize| match p {
        Prim::Bool => Scalar::Bool(k % 2 == 1),
        _ if p.is_float() => Scalar::F64(FLOATS[k]).cast(p).expect("a primitive casts to a primitive"),
        // For an unsigned dtype, a negative number wraps to a number near the maximum.
        _ if k < INTEGERS.len() => wrap(p, i128::from(INTEGERS[k])),
        _ => {
            let (least, largest) = bounds(p);
            wrap(p, if k + 1 == SAMPLE_COUNT { least } else { largest })
        }
    };
    let dtype = fill.dtype();
    let sample = |k: usize| match &dtype {
        DType::Prim(p) => Some(of_prim(*p, k)),
        DType::Struct(_) => Scalar::unflatten(&dtype, &mut dtype.prims().into_iter().map(|p| of_prim(p, k))),
    };
    let mut samples: Vec<Scalar> = Vec::new();
    for value in (0..SAMPLE_COUNT).filter_map(sample) {
        if !are_equal(&value, fill) && !samples.contains(&value) {
            samples.push(value);
        }
    }
    samples
}

/// Number of candidates for the sample values of a dtype.
const SAMPLE_COUNT: usize = 9;

/// Returns whether two values are equal, with both zeros equal.
fn are_equal(a: &Scalar, b: &Scalar) -> bool {
    a == b || (a.dtype() == b.dtype() && is_zero(a) && is_zero(b))
}

/// Returns a body that evaluates `then` in the set and `other` outside.
fn conditional(set: &Iteration, fills: &[Scalar], then: &Body, other: Body) -> Body {
    match membership_test(set, fills) {
        Body::Lit(Scalar::Bool(true)) => then.clone(),
        Body::Lit(Scalar::Bool(false)) => other,
        cond => Body::If(Box::new(cond), Box::new(then.clone()), Box::new(other)),
    }
}

/// Returns a body that tests whether the coordinates are in the set.
fn membership_test(set: &Iteration, fills: &[Scalar]) -> Body {
    let all = |op: Builtin, of: &[Iteration], none: bool| match of {
        [] => Body::lit(none),
        [one] => membership_test(one, fills),
        _ => Body::call(op, of.iter().map(|s| membership_test(s, fills))),
    };
    match set {
        Iteration::Arg(k) if fills[*k].is_nan() => {
            Body::call(Builtin::Not, [Body::call(Builtin::IsNan, [Body::Arg(*k)])])
        }
        Iteration::Arg(k) => Body::call(Builtin::Ne, [Body::Arg(*k), Body::Lit(fills[*k].clone())]),
        Iteration::Union(of) => all(Builtin::Or, of, false),
        Iteration::Intersection(of) => all(Builtin::And, of, true),
        Iteration::Complement(of) => Body::call(Builtin::Not, [membership_test(of, fills)]),
        Iteration::All => Body::lit(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;
    use crate::sexpr::read_one;
    use expect_test::{Expect, expect};

    fn op(text: &str) -> Result<UserOp, crate::error::Error> {
        UserOp::read(&read_one(text).unwrap(), &|name| Op::from_name(name))
    }

    fn fills(values: [i64; 2]) -> [Scalar; 2] {
        values.map(Scalar::I64)
    }

    #[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
    fn check_error(text: &str, with: [i64; 2], expected: Expect) {
        let error = match op(text) {
            Err(error) => error.to_string(),
            Ok(op) => op.bind_fills(&fills(with)).unwrap_err().to_string(),
        };
        expected.assert_eq(&error);
    }

    #[test]
    fn cases_depend_on_the_arguments_that_differ_from_their_fill_values() {
        let text = "(define-op (f (x i64) (y i64)) i64 (* x y) (iteration (intersection x y))
            (case (intersection x (complement y)) x) (elsewhere (- y 1)))";
        let f = op(text).unwrap().bind_fills(&fills([0, 7])).unwrap();
        for (x, y, expected) in [(2, 3, 6), (2, 7, 2), (0, 3, 2), (0, 7, 6)] {
            assert_eq!(f.eval(&fills([x, y]), FloatMode::default()), Ok(Scalar::I64(expected)), "f({x}, {y})");
        }
        assert_eq!(op(&op(text).unwrap().to_sexpr().to_string()).unwrap(), op(text).unwrap(), "f reads back");
        let bound = op(&f.to_sexpr().to_string()).unwrap();
        assert_eq!(bound, f, "the bound operator reads back");
    }

    #[test]
    fn claims_are_tested() {
        let meet = "(define-op (f (x i64) (y i64)) i64 (* x y) (iteration (intersection x y)))";
        assert!(op(meet).unwrap().bind_fills(&fills([0, 0])).is_ok());
        check_error(
            meet,
            [0, 1],
            expect![
                "in the definition of operator `f`: its iteration excludes coordinates at which `x` alone is stored, but there `f(2, 1)` is 2, and `f(0, 1)` of the fill values is 0; widen the iteration, or define the result with (case SET BODY) or (elsewhere BODY)"
            ],
        );
        // The trials include negative integers and the least and greatest value of the dtype, also
        // for fill values that the definition names.
        for (body, refuted) in [
            ("(min x y) (iteration y)", "f(-1, 0)"),
            ("(max x y) (iteration y) (fills 0 0)", "f(2, 0)"),
            ("(max (- 0 x) y) (iteration y) (fills 0 0)", "f(-1, 0)"),
            ("(+ (if (lt x -9223372036854775807) 1 0) y) (iteration y)", "f(-9223372036854775808, 0)"),
            ("(if (gt x 1000) x y) (iteration y)", "f(9223372036854775807, 0)"),
            ("(* x (if (lt y 0) 1 0)) (iteration (intersection x (complement y)))", "`x` and `y` alone are stored"),
            ("(if (lt (- y 1) y) x 1) (iteration x)", "f(0, -9223372036854775808)"),
        ] {
            let defined = op(&format!("(define-op (f (x i64) (y i64)) i64 {body})"));
            let error = defined.and_then(|op| Ok(op.bind_fills(&fills([0, 0]))?)).unwrap_err().to_string();
            assert!(error.contains(refuted), "{body}: {error}");
        }
        for body in
            ["(* x y) (iteration (intersection x y))", "(+ x y) (iteration (union x y))", "(- x y) (iteration all)"]
        {
            let op = op(&format!("(define-op (f (x i64) (y i64)) i64 {body})")).unwrap();
            assert!(op.bind_fills(&fills([0, 0])).is_ok(), "{body}");
        }
        let narrow = op("(define-op (f (x u8) (y u8)) u8 (if (gt x 250) x y) (iteration y))").unwrap();
        assert!(narrow.bind_fills(&[Scalar::U8(0), Scalar::U8(0)]).is_err());
        let fixed =
            op("(define-op (f (x i64) (y i64)) i64 (* x y) (iteration (intersection x y)) (fills 0 0))").unwrap();
        assert_eq!(fixed.bind_fills(&fills([0, 0])).unwrap().iteration(), fixed.iteration());
        assert_eq!(fixed.bind_fills(&fills([0, 1])).unwrap().iteration(), None, "the claim is for other fills");
    }

    #[test]
    fn incomplete_cases_are_rejected() {
        let head = "(define-op (f (x i64) (y i64)) i64 (+ x y)";
        check_error(
            &format!("{head} (iteration (intersection x y)) (case (intersection x (complement y)) x))"),
            [0, 0],
            expect![
                "line 1, column 1: in the definition of operator `f`: its cases leave the result undefined if no argument is stored; add a case, or (elsewhere BODY)"
            ],
        );
        check_error(
            &format!("{head} (case x y))"),
            [0, 0],
            expect![
                "line 1, column 1: in the definition of operator `f`: its cases never apply, because its iteration is everywhere; add an (iteration SET), or choose a smaller SET"
            ],
        );
        check_error(
            &format!("{head} (associative) (iteration x) (elsewhere 0))"),
            [0, 0],
            expect![
                "line 1, column 1: in the definition of operator `f`: it is associative, but its cases require a fixed number of arguments; remove (associative) or the cases"
            ],
        );
        check_error(
            &format!("{head} (iteration x) (case z 0))"),
            [0, 0],
            expect!["line 1, column 64: unknown parameter `z`; did you mean `x` or `y`?"],
        );
    }
}
