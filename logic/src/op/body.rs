//! The language of user-defined operators: small, typed and pure.
//!
//! [`check_body`] infers the dtype of a [`Body`] once and makes every conversion an explicit cast.
//! Evaluation and code generation can therefore apply operators to arguments of exactly their
//! signatures.

use super::builtin::Builtin;
use super::error::OpError;
use super::eval::Fault;
use super::{Op, promote};
use crate::dtype::{DType, Prim, StructType};
use crate::mode::FloatMode;
use crate::scalar::Scalar;
use std::sync::Arc;

/// Maximal number of iterations in one evaluation of an operator, summed over the loops of its
/// body. An operator applied by the body has a count of its own.
pub const STEP_LIMIT: u64 = 1 << 20;

/// An expression of a user-defined operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// An argument, counted from 0.
    Arg(usize),
    /// A variable of an enclosing `let` or `while`; an inner variable hides an outer one of the
    /// same name.
    Var(String),
    /// A constant.
    Lit(Scalar),
    /// An operator applied to arguments, which are cast to its signature.
    Call(Op, Vec<Body>),
    /// A conditional: condition, then-branch and else-branch; only one branch is evaluated.
    /// Branches of primitive dtypes are promoted.
    If(Box<Body>, Box<Body>, Box<Body>),
    /// A variable, its value, and the expression in which the variable is bound.
    Let(String, Box<Body>, Box<Body>),
    /// A loop with carried variables.
    While(Box<While>),
    /// A struct of the given members.
    Struct(Vec<(String, Body)>),
    /// A member of a struct, counted from 0.
    Member(Box<Body>, usize),
}

/// A loop. The variables `vars` start at their initial values. While `cond` is true, all variables
/// take the values of `steps` at once. Then `result` gives the value of the loop.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct While {
    /// Name and initial value of each variable; the initial values cannot refer to the variables.
    pub vars: Vec<(String, Body)>,
    /// Condition, cast to `bool` and evaluated before each iteration.
    pub cond: Body,
    /// Next value of each variable, of exactly the dtype of the variable.
    pub steps: Vec<Body>,
    /// Value of the loop.
    pub result: Body,
}

impl Body {
    /// Creates the application of `op` to `args`.
    pub fn call(op: impl Into<Op>, args: impl IntoIterator<Item = Body>) -> Body {
        Body::Call(op.into(), args.into_iter().collect())
    }

    /// Returns whether an evaluation can end in a [`Fault`](super::Fault), because the body has
    /// checked operators or loops.
    pub fn can_fault(&self) -> bool {
        match self {
            Body::Arg(_) | Body::Var(_) | Body::Lit(_) => false,
            Body::While(_) => true,
            Body::Call(op, args) => op.can_fault() || args.iter().any(Body::can_fault),
            Body::If(cond, then, other) => [cond, then, other].into_iter().any(|body| body.can_fault()),
            Body::Let(_, value, rest) => value.can_fault() || rest.can_fault(),
            Body::Struct(members) => members.iter().any(|(_, member)| member.can_fault()),
            Body::Member(of_struct, _) => of_struct.can_fault(),
        }
    }

    /// Returns the sum of `weight` over all applied operators.
    pub(super) fn op_weight(&self, weight: &dyn Fn(&Op) -> u64) -> u64 {
        let all = |bodies: &mut dyn Iterator<Item = &Body>| {
            bodies.fold(0, |n, body| u64::saturating_add(n, body.op_weight(weight)))
        };
        match self {
            Body::Arg(_) | Body::Var(_) | Body::Lit(_) => 0,
            Body::Call(op, args) => weight(op).saturating_add(all(&mut args.iter())),
            Body::If(cond, then, other) => all(&mut [cond, then, other].into_iter().map(|body| &**body)),
            Body::Let(_, value, rest) => all(&mut [value, rest].into_iter().map(|body| &**body)),
            Body::While(w) => {
                all(&mut w.vars.iter().map(|(_, first)| first).chain(&w.steps).chain([&w.cond, &w.result]))
            }
            Body::Struct(members) => all(&mut members.iter().map(|(_, member)| member)),
            Body::Member(of_struct, _) => of_struct.op_weight(weight),
        }
    }

    /// Creates a reference to the variable with the given name.
    pub fn var(name: &str) -> Body {
        Body::Var(name.to_owned())
    }

    /// Creates a constant.
    pub fn lit(value: impl Into<Scalar>) -> Body {
        Body::Lit(value.into())
    }
}

/// The names that a body may refer to, while the body is checked.
pub(super) struct BodyScope<'a> {
    pub(super) op: &'a str,
    pub(super) params: &'a [(String, DType)],
    pub(super) vars: Vec<(String, DType)>,
}

impl BodyScope<'_> {
    pub(super) fn fail<T>(&self, problem: String) -> Result<T, OpError> {
        Err(OpError::Definition { op: self.op.to_owned(), problem })
    }

    /// Checks that a name reads back from text as itself, and that a variable hides no parameter.
    pub(super) fn check_name(&self, kind: &str, name: &str) -> Result<(), OpError> {
        let is_delimiter = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | ';');
        if name.is_empty()
            || name.contains(is_delimiter)
            || name.parse::<f64>().is_ok()
            || ["true", "false"].contains(&name)
        {
            return self.fail(format!("`{name}` is not a valid {kind} name; choose a plain word"));
        }
        if kind == "variable" && self.params.iter().any(|(p, _)| p == name) {
            return self.fail(format!("variable `{name}` has the name of a parameter; choose another"));
        }
        Ok(())
    }
}

/// Heads of forms that are not applications of operators, in bodies and in physical plans.
pub(super) const FORMS: [&str; 8] = ["lit", "if", "let", "while", "struct", "member", "at", "coordinate"];

/// Returns whether the name already has a meaning, so that no new operator may have this name.
pub(super) fn is_reserved(name: &str) -> bool {
    FORMS.contains(&name) || Builtin::from_name(name).is_some()
}

/// Checks a body; returns it with every cast made explicit, and its dtype.
pub(super) fn check_body(scope: &mut BodyScope<'_>, body: &Body) -> Result<(Body, DType), OpError> {
    match body {
        Body::Arg(k) => match scope.params.get(*k) {
            Some((_, dtype)) => Ok((body.clone(), dtype.clone())),
            None => {
                scope.fail(format!("argument {k} does not exist; the operator has {} parameters", scope.params.len()))
            }
        },
        Body::Var(name) => match scope.vars.iter().rev().find(|(n, _)| n == name) {
            Some((_, dtype)) => Ok((body.clone(), dtype.clone())),
            None => scope.fail(format!("variable `{name}` is not bound; bind it with let or while")),
        },
        Body::Lit(value) => Ok((body.clone(), value.dtype())),
        Body::Call(op, args) => {
            let args = args.iter().map(|a| check_body(scope, a)).collect::<Result<Vec<_>, _>>()?;
            let dtypes: Vec<DType> = args.iter().map(|(_, t)| t.clone()).collect();
            if op.has_cases() {
                return scope
                    .fail(format!("operator `{op}` has cases, and a body can only apply operators without cases"));
            }
            let signature = match op.signature(&dtypes) {
                Ok(s) => s,
                Err(e) => return scope.fail(e.to_string()),
            };
            let args = args.into_iter().zip(&signature.args).map(|(a, to)| convert(a, to)).collect();
            Ok((Body::Call(op.clone(), args), signature.result))
        }
        Body::If(cond, then, other) => {
            let cond = check_condition(scope, cond)?;
            let (then, other) = (check_body(scope, then)?, check_body(scope, other)?);
            let dtype = match (&then.1, &other.1) {
                (DType::Prim(x), DType::Prim(y)) => promote([*x, *y]).expect("two primitives have a promotion").into(),
                (x, y) if x == y => x.clone(),
                (x, y) => {
                    return scope.fail(format!(
                        "the branches of an if have dtypes {x} and {y}, expected equal structs or two primitives"
                    ));
                }
            };
            let (then, other) = (convert(then, &dtype), convert(other, &dtype));
            Ok((Body::If(Box::new(cond), Box::new(then), Box::new(other)), dtype))
        }
        Body::Let(name, value, rest) => {
            let (value, dtype) = check_body(scope, value)?;
            scope.check_name("variable", name)?;
            scope.vars.push((name.clone(), dtype));
            let rest = check_body(scope, rest);
            scope.vars.pop();
            let (rest, dtype) = rest?;
            Ok((Body::Let(name.clone(), Box::new(value), Box::new(rest)), dtype))
        }
        Body::While(w) => {
            w.vars.iter().try_for_each(|(name, _)| scope.check_name("variable", name))?;
            let depth = scope.vars.len();
            let inits = w.vars.iter().map(|(_, init)| check_body(scope, init)).collect::<Result<Vec<_>, _>>()?;
            scope.vars.extend(w.vars.iter().zip(&inits).map(|((n, _), (_, t))| (n.clone(), t.clone())));
            let checked = check_loop(scope, w, inits);
            scope.vars.truncate(depth);
            checked
        }
        Body::Struct(members) => {
            let checked = members.iter().map(|(_, m)| check_body(scope, m)).collect::<Result<Vec<_>, _>>()?;
            let names = || members.iter().map(|(n, _)| n.clone());
            let dtype = DType::structure(names().zip(checked.iter().map(|(_, t)| t.clone())));
            Ok((Body::Struct(names().zip(checked.into_iter().map(|(m, _)| m)).collect()), dtype))
        }
        Body::Member(value, k) => {
            let (value, dtype) = check_body(scope, value)?;
            match &dtype {
                DType::Struct(s) if *k < s.members.len() => {
                    Ok((Body::Member(Box::new(value), *k), s.members[*k].1.clone()))
                }
                _ => scope.fail(format!("{dtype} has no member {k}")),
            }
        }
    }
}

fn check_loop(scope: &mut BodyScope<'_>, w: &While, inits: Vec<(Body, DType)>) -> Result<(Body, DType), OpError> {
    if w.steps.len() != w.vars.len() {
        return scope.fail(format!("a while has {} variables, but {} steps", w.vars.len(), w.steps.len()));
    }
    let cond = check_condition(scope, &w.cond)?;
    let mut steps = Vec::with_capacity(w.steps.len());
    for ((name, _), (step, (_, dtype))) in w.vars.iter().zip(w.steps.iter().zip(&inits)) {
        let (step, found) = check_body(scope, step)?;
        if found != *dtype {
            return scope.fail(format!("the step of `{name}` has dtype {found}, expected {dtype}; cast it"));
        }
        steps.push(step);
    }
    let (result, dtype) = check_body(scope, &w.result)?;
    let vars = w.vars.iter().zip(inits).map(|((n, _), (init, _))| (n.clone(), init)).collect();
    Ok((Body::While(Box::new(While { vars, cond, steps, result })), dtype))
}

fn check_condition(scope: &mut BodyScope<'_>, cond: &Body) -> Result<Body, OpError> {
    match check_body(scope, cond)? {
        (_, DType::Struct(_)) => scope.fail("a condition is a struct; compare its members".to_owned()),
        checked => Ok(convert(checked, &DType::BOOL)),
    }
}

fn convert((body, from): (Body, DType), to: &DType) -> Body {
    match to {
        DType::Prim(p) if from != *to => cast(body, *p),
        _ => body,
    }
}

fn cast(body: Body, to: Prim) -> Body {
    match body {
        Body::Lit(value) => Body::Lit(value.cast(to).expect("a checked literal is a primitive")),
        _ => Body::call(Builtin::Cast(to), [body]),
    }
}

/// The state of one evaluation.
pub(super) struct BodyEvaluation<'a> {
    pub(super) op: &'a str,
    pub(super) args: &'a [Scalar],
    pub(super) mode: FloatMode,
    pub(super) vars: Vec<(&'a str, Scalar)>,
    pub(super) steps: u64,
}

/// Evaluates a checked body.
pub(super) fn eval_body<'a>(evaluation: &mut BodyEvaluation<'a>, body: &'a Body) -> Result<Scalar, Fault> {
    match body {
        Body::Arg(k) => Ok(evaluation.args[*k].clone()),
        Body::Var(name) => {
            let bound = evaluation.vars.iter().rev().find(|(n, _)| n == name);
            Ok(bound.expect("a checked body binds its variables").1.clone())
        }
        Body::Lit(value) => Ok(value.clone()),
        Body::Call(op, args) => {
            let args = args.iter().map(|a| eval_body(evaluation, a)).collect::<Result<Vec<_>, _>>()?;
            op.eval_in(&args, evaluation.mode)
        }
        Body::If(cond, then, other) => {
            let branch = if eval_condition(evaluation, cond)? { then } else { other };
            eval_body(evaluation, branch)
        }
        Body::Let(name, value, rest) => {
            let value = eval_body(evaluation, value)?;
            evaluation.vars.push((name, value));
            let result = eval_body(evaluation, rest);
            evaluation.vars.pop();
            result
        }
        Body::While(w) => {
            let depth = evaluation.vars.len();
            let inits = w.vars.iter().map(|(_, init)| eval_body(evaluation, init)).collect::<Result<Vec<_>, _>>()?;
            evaluation.vars.extend(w.vars.iter().zip(inits).map(|((n, _), v)| (n.as_str(), v)));
            while eval_condition(evaluation, &w.cond)? {
                evaluation.steps += 1;
                if evaluation.steps > STEP_LIMIT {
                    return Err(Fault::StepLimit { op: evaluation.op.to_owned(), limit: STEP_LIMIT });
                }
                let next = w.steps.iter().map(|s| eval_body(evaluation, s)).collect::<Result<Vec<_>, _>>()?;
                for (var, value) in evaluation.vars[depth..].iter_mut().zip(next) {
                    var.1 = value;
                }
            }
            let result = eval_body(evaluation, &w.result);
            evaluation.vars.truncate(depth);
            result
        }
        Body::Struct(members) => {
            let values = members.iter().map(|(_, m)| eval_body(evaluation, m)).collect::<Result<Vec<_>, _>>()?;
            let types = members.iter().zip(&values).map(|((n, _), v)| (n.clone(), v.dtype())).collect();
            Ok(Scalar::Struct(Arc::new(StructType { members: types }), values.into()))
        }
        Body::Member(value, k) => match eval_body(evaluation, value)? {
            Scalar::Struct(_, members) => Ok(members[*k].clone()),
            other => unreachable!("a checked body takes members of structs, found {}", other.dtype()),
        },
    }
}

fn eval_condition<'a>(evaluation: &mut BodyEvaluation<'a>, cond: &'a Body) -> Result<bool, Fault> {
    Ok(eval_body(evaluation, cond)? == Scalar::Bool(true))
}
