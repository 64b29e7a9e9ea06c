//! User-defined operators: a typed body with declared properties.
//!
//! Declarations are trusted: the engine rewrites plans and skips work based on them. Claims about
//! an iteration space are additionally tested on samples (`cases.rs`).

pub use super::body::{Body, STEP_LIMIT, While};
use super::body::{BodyEvaluation, BodyScope, check_body, eval_body, is_reserved};
use super::builtin::Arity;
use super::cases::Case;
use super::error::OpError;
use super::eval::Fault;
use super::{Op, Signature, promote};
use crate::dtype::DType;
use crate::mode::FloatMode;
use crate::scalar::Scalar;

/// A user-defined operator. Two operators are equal if their names, definitions and declarations
/// are equal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UserOp {
    name: String,
    params: Vec<(String, DType)>,
    result: DType,
    definition: Definition,
    properties: UserProperties,
    specializations: Vec<Specialization>,
    iteration: Option<Iteration>,
    fills: Option<Vec<Scalar>>,
    cases: Vec<Case>,
}

/// Maximal number of built-in operators that a body applies after all user-defined operators are
/// expanded. Without a limit, a short chain of definitions that each use the previous definition
/// twice would exhaust memory, because every use is expanded.
const MAX_EXPANDED_OPS: u64 = 1 << 12;

/// The computation of a user-defined operator's value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Definition {
    /// A checked expression with all casts explicit.
    Body(Body),
}

/// The declared properties of an operator, valid in both float modes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct UserProperties {
    /// True if the order of arguments does not matter.
    pub commutative: bool,
    /// True if `f(f(a, b), c) = f(a, f(b, c))`; the operator then takes two or more arguments.
    pub associative: bool,
    /// True if `f(a, a) = a`.
    pub idempotent: bool,
    /// Argument positions, and the values that can be dropped there.
    pub identity: Vec<(usize, Scalar)>,
    /// Argument positions, and the values that are the result if they occur there.
    pub annihilator: Vec<(usize, Scalar)>,
    /// Names of operators that the operator distributes over, in each argument.
    pub distributes_over: Vec<String>,
}

/// A special case: if the argument at `position` is `value`, the result is `result`, such as
/// `gcd(x, 0) = abs(x)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Specialization {
    /// Position of the argument.
    pub position: usize,
    /// Value of the argument.
    pub value: Scalar,
    /// Result, in terms of the arguments.
    pub result: Body,
}

/// A set of coordinates built from the stored sets of an operator's arguments: the domain of a
/// case, or the iteration space. Outside the iteration space, cases define the result; without
/// cases, the result is the result for the fill values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Iteration {
    /// The stored set of an argument.
    Arg(usize),
    /// The union of sets.
    Union(Vec<Iteration>),
    /// The intersection of sets.
    Intersection(Vec<Iteration>),
    /// The complement of a set.
    Complement(Box<Iteration>),
    /// All coordinates.
    All,
}

impl UserOp {
    /// Creates an operator with a body and no declarations.
    ///
    /// # Errors
    /// Returns an error if there are no parameters, a name is invalid or already taken, the body is
    /// not well-typed or applies too many operators, or its dtype is not `result`.
    pub fn new(name: &str, params: Vec<(String, DType)>, result: DType, body: &Body) -> Result<UserOp, OpError> {
        let mut op = UserOp {
            name: name.to_owned(),
            params,
            result,
            definition: Definition::Body(Body::Arg(0)),
            properties: UserProperties::default(),
            specializations: Vec::new(),
            iteration: None,
            fills: None,
            cases: Vec::new(),
        };
        if op.params.is_empty() {
            return op.fail("it has no parameters".to_owned());
        }
        if is_reserved(name) {
            return op.fail("the name is reserved; choose another".to_owned());
        }
        let scope = BodyScope { op: name, params: &op.params, vars: Vec::new() };
        scope.check_name("operator", name)?;
        for (k, (param, _)) in op.params.iter().enumerate() {
            scope.check_name("parameter", param)?;
            if op.params[..k].iter().any(|(p, _)| p == param) {
                return op.fail(format!("two parameters are named `{param}`"));
            }
        }
        op.definition = Definition::Body(op.check_result("the body", body)?);
        Ok(op)
    }

    /// Replaces the declared properties of the operator.
    ///
    /// # Errors
    /// Returns an error if a property does not fit the parameters or the dtype of the result.
    pub fn with_properties(mut self, properties: UserProperties) -> Result<UserOp, OpError> {
        let p = &properties;
        let same_dtypes = self.params.iter().all(|(_, t)| *t == self.params[0].1);
        let is_closed_binary = same_dtypes && self.params.len() == 2 && self.result == self.params[0].1;
        if p.commutative && !same_dtypes {
            return self.fail("it is declared commutative, but the dtypes of its parameters differ".to_owned());
        }
        if (p.associative || p.idempotent) && !is_closed_binary {
            return self.fail(
                "it is declared associative or idempotent, which requires two parameters of the result's dtype"
                    .to_owned(),
            );
        }
        for (role, declared) in [("identity", &p.identity), ("annihilator", &p.annihilator)] {
            for (position, value) in declared {
                self.check_argument(role, *position, value)?;
            }
        }
        if let Some((k, _)) = p.annihilator.iter().find(|(_, v)| v.dtype() != self.result) {
            return self
                .fail(format!("the annihilator at argument {k} does not have the result's dtype {}", self.result));
        }
        // The result is the other argument if the identity is dropped.
        if let Some((k, _)) =
            p.identity.iter().find(|(k, _)| self.params.len() != 2 || self.params[1 - k].1 != self.result)
        {
            return self.fail(format!(
                "the identity at argument {k} requires two parameters, and a result of the other parameter's dtype"
            ));
        }
        self.properties = properties;
        Ok(self)
    }

    /// Adds a special case to the operator.
    ///
    /// # Errors
    /// Returns an error if the operator has no argument at `position` of the dtype of `value`, or
    /// if the result is not well-typed, applies too many operators or does not have the operator's
    /// dtype.
    pub fn with_specialization(mut self, position: usize, value: Scalar, result: &Body) -> Result<UserOp, OpError> {
        self.check_argument("special case", position, &value)?;
        let result = self.check_result("a special case", result)?;
        self.specializations.push(Specialization { position, value, result });
        Ok(self)
    }

    /// Sets the iteration space of the operator. Outside the iteration space, the result is the
    /// result for the fill values, unless there are cases.
    ///
    /// # Errors
    /// Returns an error if the set names an argument that does not exist.
    pub fn with_iteration(mut self, iteration: Iteration) -> Result<UserOp, OpError> {
        self.check_set("iteration", &iteration)?;
        self.iteration = Some(iteration);
        Ok(self)
    }

    /// Restricts the claim of the iteration space to arguments with the given fill values.
    ///
    /// # Errors
    /// Returns an error unless there is one fill value per parameter, of the dtype of the
    /// parameter.
    pub fn with_fills(mut self, fills: Vec<Scalar>) -> Result<UserOp, OpError> {
        if fills.len() != self.params.len() {
            return self.fail(format!(
                "it has {} fill values, expected {}, one per parameter",
                fills.len(),
                self.params.len()
            ));
        }
        fills.iter().enumerate().try_for_each(|(k, fill)| self.check_argument("fill value", k, fill))?;
        self.fills = Some(fills);
        Ok(self)
    }

    /// Adds a case for the result outside the iteration space. The cases together must define the
    /// result everywhere outside this space, which [`UserOp::check_cases`] checks; a case on
    /// [`Iteration::All`] covers all remaining coordinates.
    ///
    /// # Errors
    /// Returns an error if the set names an argument that does not exist, or if the result is not
    /// well-typed, applies too many operators or does not have the operator's dtype.
    pub fn with_case(mut self, domain: Iteration, result: &Body) -> Result<UserOp, OpError> {
        self.check_set("case", &domain)?;
        let result = self.check_result("a case", result)?;
        self.cases.push(Case { domain, result });
        Ok(self)
    }

    /// Returns the name in text forms.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name and dtype of each parameter.
    pub fn params(&self) -> &[(String, DType)] {
        &self.params
    }

    /// Returns the dtype of the result.
    pub fn result(&self) -> &DType {
        &self.result
    }

    /// Returns the definition of the operator's value.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Returns the declared properties.
    pub fn properties(&self) -> &UserProperties {
        &self.properties
    }

    /// Returns the special cases.
    pub fn specializations(&self) -> &[Specialization] {
        &self.specializations
    }

    /// Returns the declared iteration space; `None` if the iteration space is derived from fill
    /// values and properties.
    pub fn iteration(&self) -> Option<&Iteration> {
        self.iteration.as_ref()
    }

    /// Returns the fill values for which the iteration space is declared; `None` if the iteration
    /// space is declared for all fill values, or not declared.
    pub fn fills(&self) -> Option<&[Scalar]> {
        self.fills.as_deref()
    }

    /// Returns the cases outside the iteration space; the first case that applies gives the result.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Returns the operator under another name, for arguments of known fill values. A `body`
    /// replaces the body, the cases and the iteration space. Without `body`, the claim of the
    /// iteration space is restricted to `fills`. Without `body` and `fills`, the iteration space is
    /// dropped, because it is declared for other fill values.
    pub(super) fn with_binding(&self, name: String, body: Option<Body>, fills: Option<Vec<Scalar>>) -> UserOp {
        let mut op = UserOp { name, cases: Vec::new(), ..self.clone() };
        if fills.is_none() || body.is_some() {
            op.iteration = None;
        }
        op.fills = fills.filter(|_| op.iteration.is_some());
        if let Some(body) = body {
            op.definition = Definition::Body(body);
        }
        op
    }

    pub(super) fn arity(&self) -> Arity {
        match self.properties.associative {
            true => Arity::AtLeast(2),
            false => Arity::Exact(self.params.len()),
        }
    }

    pub(super) fn signature(&self, args: &[DType]) -> Result<Signature, OpError> {
        let expected = |k: usize| self.params[k.min(self.params.len() - 1)].1.clone();
        for (k, found) in args.iter().enumerate() {
            let fits = match (found, expected(k)) {
                (DType::Prim(from), DType::Prim(to)) => promote([*from, to]) == Some(to),
                (found, expected) => *found == expected,
            };
            if !fits {
                return Err(OpError::Argument {
                    op: self.name.clone(),
                    position: k,
                    found: found.clone(),
                    expected: format!("{} or a dtype that promotes to it; cast first", expected(k)),
                });
            }
        }
        Ok(Signature { args: (0..args.len()).map(expected).collect(), result: self.result.clone() })
    }

    pub(super) fn eval(&self, args: &[Scalar], mode: FloatMode) -> Result<Scalar, Fault> {
        if args.len() > self.params.len() {
            let first = self.eval(&args[..2], mode)?;
            return args[2..].iter().try_fold(first, |acc, x| self.eval(&[acc, x.clone()], mode));
        }
        let Definition::Body(body) = &self.definition;
        self.eval_body(body, args, mode)
    }

    /// Evaluates a body over the arguments: the definition, or the result of a special case.
    pub(super) fn eval_body(&self, body: &Body, args: &[Scalar], mode: FloatMode) -> Result<Scalar, Fault> {
        eval_body(&mut BodyEvaluation { op: &self.name, args, mode, vars: Vec::new(), steps: 0 }, body)
    }

    /// Returns the number of built-in operators that the operator applies after all user-defined
    /// operators are expanded: the maximum over its body, its special cases and its cases. The
    /// bodies have passed `check_result`, or consist of such bodies, so the count is small.
    fn expanded_ops(&self) -> u64 {
        let Definition::Body(body) = &self.definition;
        let special = self.specializations.iter().map(|s| &s.result).chain(self.cases.iter().map(|c| &c.result));
        special.chain([body]).map(|body| body.op_weight(&expanded_weight)).max().unwrap_or_default()
    }

    fn check_result(&mut self, role: &str, body: &Body) -> Result<Body, OpError> {
        let size = body.op_weight(&expanded_weight);
        if size > MAX_EXPANDED_OPS {
            return self.fail(format!(
                "{role} applies {size} operators after expansion of user-defined ones, above the limit {MAX_EXPANDED_OPS}; \
                 bind repeated values with let"
            ));
        }
        let mut scope = BodyScope { op: &self.name, params: &self.params, vars: Vec::new() };
        let (body, dtype) = check_body(&mut scope, body)?;
        if dtype != self.result {
            return self
                .fail(format!("{role} has dtype {dtype}, expected the result's dtype {}; cast it", self.result));
        }
        Ok(body)
    }

    fn check_argument(&self, role: &str, position: usize, value: &Scalar) -> Result<(), OpError> {
        match self.params.get(position) {
            None => self.fail(format!(
                "the {role} names argument {position}, but the operator has {} parameters",
                self.params.len()
            )),
            Some((_, dtype)) if *dtype != value.dtype() => self.fail(format!(
                "the {role} {value} of argument {position} has dtype {}, expected {dtype}",
                value.dtype()
            )),
            Some(_) => Ok(()),
        }
    }

    fn check_set(&self, role: &str, set: &Iteration) -> Result<(), OpError> {
        match set.args().into_iter().find(|k| *k >= self.params.len()) {
            Some(k) => self
                .fail(format!("the {role} names argument {k}, but the operator has {} parameters", self.params.len())),
            None => Ok(()),
        }
    }

    pub(super) fn fail<T>(&self, problem: String) -> Result<T, OpError> {
        Err(OpError::Definition { op: self.name.clone(), problem })
    }
}

impl Iteration {
    /// Returns the arguments that the set mentions, with repetitions.
    pub fn args(&self) -> Vec<usize> {
        match self {
            Iteration::Arg(k) => vec![*k],
            Iteration::Union(sets) | Iteration::Intersection(sets) => sets.iter().flat_map(Iteration::args).collect(),
            Iteration::Complement(set) => set.args(),
            Iteration::All => Vec::new(),
        }
    }

    /// Returns whether the set contains the coordinates at which exactly the marked arguments are
    /// stored.
    pub fn contains(&self, stored: &[bool]) -> bool {
        match self {
            Iteration::Arg(k) => stored[*k],
            Iteration::Union(sets) => sets.iter().any(|i| i.contains(stored)),
            Iteration::Intersection(sets) => sets.iter().all(|i| i.contains(stored)),
            Iteration::Complement(set) => !set.contains(stored),
            Iteration::All => true,
        }
    }
}

/// Returns the number of built-in operators that an operator applies after expansion.
fn expanded_weight(op: &Op) -> u64 {
    match op {
        Op::Builtin(_) => 1,
        Op::User(op) => op.expanded_ops(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::op::body::FORMS;
    use crate::op::{Builtin, Op};
    use expect_test::{Expect, expect};

    fn i64s(names: &[&str]) -> Vec<(String, DType)> {
        names.iter().map(|n| ((*n).to_owned(), DType::I64)).collect()
    }

    pub(in crate::op) fn gcd() -> UserOp {
        let body = Body::While(Box::new(While {
            vars: vec![
                ("a".to_owned(), Body::call(Builtin::Abs, [Body::Arg(0)])),
                ("b".to_owned(), Body::call(Builtin::Abs, [Body::Arg(1)])),
            ],
            cond: Body::call(Builtin::Ne, [Body::var("b"), Body::lit(0i64)]),
            steps: vec![Body::var("b"), Body::call(Builtin::Rem, [Body::var("a"), Body::var("b")])],
            result: Body::var("a"),
        }));
        UserOp::new("gcd", i64s(&["x", "y"]), DType::I64, &body)
            .and_then(|op| {
                op.with_properties(UserProperties { commutative: true, associative: true, ..Default::default() })
            })
            .and_then(|op| op.with_specialization(0, 0i64.into(), &Body::call(Builtin::Abs, [Body::Arg(1)])))
            .and_then(|op| op.with_specialization(1, 0i64.into(), &Body::call(Builtin::Abs, [Body::Arg(0)])))
            .unwrap()
    }

    fn value(op: &Op, args: &[i64]) -> Scalar {
        op.apply(&args.iter().map(|v| Scalar::I64(*v)).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn gcd_runs() {
        let gcd = Op::from(gcd());
        assert_eq!(value(&gcd, &[12, 18]), Scalar::I64(6));
        assert_eq!(value(&gcd, &[0, -7]), Scalar::I64(7));
        assert_eq!(value(&gcd, &[12, 18, 27]), Scalar::I64(3), "an associative operator folds");
        assert_eq!(gcd.apply(&[Scalar::U8(12), Scalar::Bool(true)]), Ok(Scalar::I64(1)), "arguments are promoted");
    }

    #[test]
    fn structs_let_and_if() {
        let pair = Body::Struct(vec![("s".to_owned(), Body::var("m")), ("t".to_owned(), Body::lit(2i8))]);
        let body = Body::Let(
            "m".to_owned(),
            Box::new(Body::If(Box::new(Body::Arg(0)), Box::new(Body::Arg(1)), Box::new(Body::lit(-1i64)))),
            Box::new(Body::call(Builtin::Mul, [Body::Member(Box::new(pair), 0), Body::lit(3i8)])),
        );
        let op = Op::from(UserOp::new("f", i64s(&["c", "x"]), DType::I64, &body).unwrap());
        assert_eq!(value(&op, &[5, 4]), Scalar::I64(12));
        assert_eq!(value(&op, &[0, 4]), Scalar::I64(-3));
    }

    /// Asserts that no operator has the name of a form. In a physical plan, `(at x)` is an access,
    /// and `(coordinate i)` a coordinate.
    #[test]
    fn names_of_forms_are_reserved() {
        for name in FORMS.into_iter().chain(["max"]) {
            let error = UserOp::new(name, i64s(&["x"]), DType::I64, &Body::Arg(0)).unwrap_err().to_string();
            assert!(error.contains("the name is reserved"), "{name}: {error}");
        }
    }

    #[test]
    fn an_endless_loop_is_a_fault() {
        let body = Body::While(Box::new(While {
            vars: vec![("a".to_owned(), Body::Arg(0))],
            cond: Body::lit(true),
            steps: vec![Body::var("a")],
            result: Body::var("a"),
        }));
        let op = Op::from(UserOp::new("spin", i64s(&["x"]), DType::I64, &body).unwrap());
        assert_eq!(
            op.apply(&[Scalar::I64(1)]),
            Err(Fault::StepLimit { op: "spin".to_owned(), limit: STEP_LIMIT }.into())
        );
    }

    #[test]
    fn iteration_is_an_algebra_of_sets() {
        use Iteration::{Arg, Complement, Intersection, Union};
        let only_one = Union(vec![
            Intersection(vec![Arg(0), Complement(Box::new(Arg(1)))]),
            Intersection(vec![Arg(1), Complement(Box::new(Arg(0)))]),
        ]);
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            assert_eq!(only_one.contains(&[a, b]), a != b);
        }
    }

    #[test]
    fn invalid_definitions_are_rejected() {
        let check = |body: Body, expected: Expect| {
            let error = UserOp::new("f", i64s(&["x", "y"]), DType::I64, &body).unwrap_err();
            expected.assert_eq(&error.to_string());
        };
        check(
            Body::Arg(2),
            expect!["in the definition of operator `f`: argument 2 does not exist; the operator has 2 parameters"],
        );
        check(
            Body::var("z"),
            expect!["in the definition of operator `f`: variable `z` is not bound; bind it with let or while"],
        );
        check(
            Body::lit(1.0f64),
            expect![
                "in the definition of operator `f`: the body has dtype f64, expected the result's dtype i64; cast it"
            ],
        );
        check(
            Body::call(Builtin::Neg, [Body::Arg(0), Body::Arg(1)]),
            expect!["in the definition of operator `f`: operator `neg` takes 1 argument, found 2"],
        );
        check(
            Body::While(Box::new(While {
                vars: vec![("a".to_owned(), Body::lit(1i8))],
                cond: Body::lit(true),
                steps: vec![Body::Arg(0)],
                result: Body::var("a"),
            })),
            expect!["in the definition of operator `f`: the step of `a` has dtype i64, expected i8; cast it"],
        );
        check(
            Body::Member(Box::new(Body::Arg(0)), 1),
            expect!["in the definition of operator `f`: i64 has no member 1"],
        );

        let hiding = Body::Let("x".to_owned(), Box::new(Body::Arg(0)), Box::new(Body::var("x")));
        check(
            hiding,
            expect!["in the definition of operator `f`: variable `x` has the name of a parameter; choose another"],
        );
        for (name, params) in [("while", ["x", "y"]), ("+", ["x", "y"]), ("f", ["x", "x"]), ("f", ["x", "1e5"])] {
            assert!(UserOp::new(name, i64s(&params), DType::I64, &Body::Arg(0)).is_err(), "{name} {params:?}");
        }

        let error = gcd()
            .with_properties(UserProperties { identity: vec![(2, 0i64.into())], ..Default::default() })
            .unwrap_err();
        expect![
            "in the definition of operator `gcd`: the identity names argument 2, but the operator has 2 parameters"
        ]
        .assert_eq(&error.to_string());
        let error = gcd()
            .with_properties(UserProperties { annihilator: vec![(0, 1i8.into())], ..Default::default() })
            .unwrap_err();
        expect!["in the definition of operator `gcd`: the annihilator 1 of argument 0 has dtype i8, expected i64"]
            .assert_eq(&error.to_string());
        let error = gcd().with_iteration(Iteration::Arg(5)).unwrap_err();
        expect![
            "in the definition of operator `gcd`: the iteration names argument 5, but the operator has 2 parameters"
        ]
        .assert_eq(&error.to_string());
        let error = Op::from(gcd()).signature(&[DType::F64, DType::I64]).unwrap_err();
        expect!["argument 0 of operator `gcd` has dtype f64, expected i64 or a dtype that promotes to it; cast first"]
            .assert_eq(&error.to_string());
    }
}
