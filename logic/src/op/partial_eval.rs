//! Partial evaluation of bodies with constant arguments.
//!
//! Calls with constant arguments are computed or simplified, constant conditions choose a branch,
//! and a loop whose condition is false before the first iteration becomes its result. The iteration
//! space thus follows from the cases that a body distinguishes, without declarations: `gcd(x, 0)`
//! is `abs(x)`.

use super::body::{Body, While};
use super::properties::Simplification;
use crate::dtype::DType;
use crate::mode::FloatMode;
use crate::scalar::Scalar;

/// Evaluates a checked body partially; returns the remaining body and its dtype.
pub(super) fn partial_eval(
    params: &[(String, DType)],
    constants: &[Option<Scalar>],
    mode: FloatMode,
    body: &Body,
) -> (Body, DType) {
    PartialEvaluator { params, constants, mode, vars: Vec::new() }.body(body)
}

/// Returns whether the body consists of arguments, constants and calls only.
pub(super) fn is_call_tree(body: &Body) -> bool {
    match body {
        Body::Arg(_) | Body::Lit(_) => true,
        Body::Call(_, args) => args.iter().all(is_call_tree),
        _ => false,
    }
}

struct PartialEvaluator<'a> {
    params: &'a [(String, DType)],
    constants: &'a [Option<Scalar>],
    mode: FloatMode,
    /// Variables in scope, innermost last, with their values if constant.
    vars: Vec<(&'a str, DType, Option<Scalar>)>,
}

impl<'a> PartialEvaluator<'a> {
    fn body(&mut self, body: &'a Body) -> (Body, DType) {
        match body {
            Body::Arg(k) => match &self.constants[*k] {
                Some(value) => literal(value.clone()),
                None => (body.clone(), self.params[*k].1.clone()),
            },
            Body::Var(name) => {
                let bound = self.vars.iter().rev().find(|(n, ..)| n == name);
                let (_, dtype, value) = bound.expect("a checked body binds its variables");
                match value {
                    Some(value) => literal(value.clone()),
                    None => (body.clone(), dtype.clone()),
                }
            }
            Body::Lit(value) => literal(value.clone()),
            Body::Call(op, args) => {
                let args: Vec<(Body, DType)> = args.iter().map(|a| self.body(a)).collect();
                self.call(op, args)
            }
            Body::If(cond, then, other) => match self.body(cond).0 {
                Body::Lit(value) => self.body(if value == Scalar::Bool(true) { then } else { other }),
                cond => {
                    let ((then, dtype), (other, _)) = (self.body(then), self.body(other));
                    if then == other && matches!(then, Body::Lit(_)) {
                        return (then, dtype);
                    }
                    (Body::If(Box::new(cond), Box::new(then), Box::new(other)), dtype)
                }
            },
            Body::Let(name, value, rest) => {
                let (value, dtype) = self.body(value);
                self.bind(name, value, dtype, rest)
            }
            Body::While(w) => self.loop_body(w),
            Body::Struct(members) => {
                let parts: Vec<(Body, DType)> = members.iter().map(|(_, m)| self.body(m)).collect();
                let names = || members.iter().map(|(n, _)| n.clone());
                let dtype = DType::structure(names().zip(parts.iter().map(|(_, t)| t.clone())));
                (Body::Struct(names().zip(parts.into_iter().map(|(b, _)| b)).collect()), dtype)
            }
            Body::Member(of, k) => {
                let (of, dtype) = self.body(of);
                let DType::Struct(ty) = &dtype else { unreachable!("a checked body takes members of structs") };
                match of {
                    Body::Lit(Scalar::Struct(_, values)) => literal(values[*k].clone()),
                    of => (Body::Member(Box::new(of), *k), ty.members[*k].1.clone()),
                }
            }
        }
    }

    fn call(&self, op: &super::Op, args: Vec<(Body, DType)>) -> (Body, DType) {
        let dtypes: Vec<DType> = args.iter().map(|(_, t)| t.clone()).collect();
        let signature = op.signature(&dtypes).expect("the arguments of a checked call fit the operator");
        let constants: Vec<Option<Scalar>> = args.iter().map(|(a, _)| constant(a)).collect();
        let call = |args: Vec<(Body, DType)>| Body::Call(op.clone(), args.into_iter().map(|(a, _)| a).collect());
        if constants.iter().all(Option::is_none) {
            return (call(args), signature.result);
        }
        match op.simplify(&signature, &constants, self.mode) {
            Some(Simplification::Value(value)) => literal(value),
            Some(Simplification::Arg(k)) if dtypes[k] == signature.result => {
                args.into_iter().nth(k).expect("a simplification names an existing argument")
            }
            Some(Simplification::Args(remaining)) => {
                let remaining = remaining.into_iter().map(|k| args[k].0.clone()).collect();
                (Body::Call(op.clone(), remaining), signature.result)
            }
            _ => (call(args), signature.result),
        }
    }

    /// Evaluates the rest of a body in which a variable is bound.
    fn bind(&mut self, name: &'a str, value: Body, dtype: DType, rest: &'a Body) -> (Body, DType) {
        self.vars.push((name, dtype, constant(&value)));
        let (rest, dtype) = self.body(rest);
        self.vars.pop();
        let body = match (constant(&value), rest) {
            (Some(_), rest) => rest,
            (None, Body::Var(n)) if n == name => value,
            (None, rest) => Body::Let(name.to_owned(), Box::new(value), Box::new(rest)),
        };
        (body, dtype)
    }

    fn loop_body(&mut self, w: &'a While) -> (Body, DType) {
        let inits: Vec<(Body, DType)> = w.vars.iter().map(|(_, init)| self.body(init)).collect();
        let depth = self.vars.len();
        let enter = |r: &mut Self, first: bool| {
            r.vars.truncate(depth);
            let vars = w
                .vars
                .iter()
                .zip(&inits)
                .map(|((name, _), (init, dtype))| (name.as_str(), dtype.clone(), constant(init).filter(|_| first)));
            r.vars.extend(vars);
        };
        enter(self, true);
        let begins = self.body(&w.cond).0 != Body::lit(false);
        if !begins {
            let (mut result, dtype) = self.body(&w.result);
            self.vars.truncate(depth);
            // The initial values of a loop refer to variables outside of the loop. So a `let`
            // below, which binds a variable of the loop, must not hide a variable that an initial
            // value mentions.
            let names_of_inits = |body: &Body| w.vars.iter().any(|(n, _)| mentions(body, n));
            let open: Vec<_> = w.vars.iter().zip(&inits).filter(|(_, (init, _))| constant(init).is_none()).collect();
            if let Body::Var(name) = &result
                && let Some((_, (init, _))) = open.iter().find(|((n, _), _)| n == name)
            {
                return (init.clone(), dtype);
            }
            if !open.iter().any(|(_, (init, _))| names_of_inits(init)) {
                for ((name, _), (init, _)) in open.into_iter().rev() {
                    result = Body::Let(name.clone(), Box::new(init.clone()), Box::new(result));
                }
                return (result, dtype);
            }
        }
        enter(self, false);
        let (cond, steps) = (self.body(&w.cond).0, w.steps.iter().map(|s| self.body(s).0).collect());
        let (result, dtype) = self.body(&w.result);
        self.vars.truncate(depth);
        let vars = w.vars.iter().zip(inits).map(|((n, _), (init, _))| (n.clone(), init)).collect();
        (Body::While(Box::new(While { vars, cond, steps, result })), dtype)
    }
}

fn literal(value: Scalar) -> (Body, DType) {
    let dtype = value.dtype();
    (Body::Lit(value), dtype)
}

fn constant(body: &Body) -> Option<Scalar> {
    match body {
        Body::Lit(value) => Some(value.clone()),
        _ => None,
    }
}

/// Returns whether a variable of the given name occurs.
fn mentions(body: &Body, name: &str) -> bool {
    match body {
        Body::Arg(_) | Body::Lit(_) => false,
        Body::Var(n) => n == name,
        Body::Call(_, args) => args.iter().any(|a| mentions(a, name)),
        Body::If(c, t, o) => [c, t, o].into_iter().any(|b| mentions(b, name)),
        Body::Let(_, value, rest) => mentions(value, name) || mentions(rest, name),
        Body::While(w) => {
            let inits = w.vars.iter().map(|(_, init)| init);
            inits.chain(&w.steps).chain([&w.cond, &w.result]).any(|b| mentions(b, name))
        }
        Body::Struct(members) => members.iter().any(|(_, m)| mentions(m, name)),
        Body::Member(of, _) => mentions(of, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::user::tests::gcd;
    use crate::op::{Builtin, Definition};

    #[test]
    fn constant_arguments_decide_loops_and_conditions() {
        let gcd = gcd();
        let Definition::Body(body) = gcd.definition();
        let abs = |k| Body::call(Builtin::Abs, [Body::Arg(k)]);
        let residual = |constants: [Option<i64>; 2]| {
            partial_eval(gcd.params(), &constants.map(|v| v.map(Scalar::I64)), FloatMode::Relaxed, body).0
        };
        assert_eq!(residual([None, Some(0)]), abs(0), "the loop does not begin");
        assert!(matches!(residual([Some(0), None]), Body::While(_)), "the loop may begin");
        let body = Body::If(
            Box::new(Body::call(Builtin::Ne, [Body::Arg(0), Body::lit(0i64)])),
            Box::new(Body::call(Builtin::Add, [Body::Arg(0), Body::Arg(1)])),
            Box::new(Body::lit(5i64)),
        );
        let residual = |constants: [Option<i64>; 2]| {
            partial_eval(gcd.params(), &constants.map(|v| v.map(Scalar::I64)), FloatMode::Relaxed, &body).0
        };
        assert_eq!(residual([Some(0), None]), Body::lit(5i64));
        assert_eq!(
            residual([None, Some(0)]),
            Body::If(
                Box::new(Body::call(Builtin::Ne, [Body::Arg(0), Body::lit(0i64)])),
                Box::new(Body::Arg(0)),
                Box::new(Body::lit(5i64)),
            )
        );
    }
}
