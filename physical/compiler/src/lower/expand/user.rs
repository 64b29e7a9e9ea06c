//! Bodies of user-defined operators in Assembly.

use super::{Laws, LoweredValue, StmtSink, assign, bind, block, expand_in, select_value, un, variable};
use crate::assembly::{Expr, Stmt, UnaryOp};
use crate::lower::guards::{ArgumentFacts, can_generate};
use redpoll_logic::op::{Body, Definition, UserOp, While};
use redpoll_logic::{DType, Scalar, Special};

/// Returns the operator applied to arguments of its signature; arguments beyond its parameters are
/// folded from the left.
pub(super) fn apply(scope: &mut dyn StmtSink, op: &UserOp, args: &[LoweredValue], laws: Laws<'_>) -> LoweredValue {
    let Definition::Body(body) = op.definition();
    let special = match laws {
        Laws::Ieee => None,
        Laws::Default(facts) if can_generate(body) || facts.iter().any(|k| k.special != Special::NONE) => {
            Some(Special::ALL)
        }
        Laws::Default(_) => Some(Special::NONE),
    };
    let (first, rest) = args.split_at(op.params().len().min(args.len()));
    let mut value = expand_body(scope, body, first, special);
    for arg in rest {
        value = expand_body(scope, body, &[value, arg.clone()], special);
    }
    value
}

/// Returns the value of a checked body for the given arguments. `special` has the special values
/// that may arise in the body in the default mode; `None` selects IEEE 754.
fn expand_body(scope: &mut dyn StmtSink, body: &Body, args: &[LoweredValue], special: Option<Special>) -> LoweredValue {
    let args: Vec<LoweredValue> = args.iter().map(|a| bind(scope, a)).collect();
    Expansion { args: &args, vars: Vec::new(), special }.value(scope, body)
}

struct Expansion<'a> {
    /// The arguments as locals, constants and parameters.
    args: &'a [LoweredValue],
    vars: Vec<(&'a str, LoweredValue)>,
    /// The special values of arguments and results in the default mode; `None` for IEEE 754.
    special: Option<Special>,
}

impl<'a> Expansion<'a> {
    fn value(&mut self, scope: &mut dyn StmtSink, body: &'a Body) -> LoweredValue {
        match body {
            Body::Arg(k) => self.args[*k].clone(),
            Body::Var(name) => {
                let bound = self.vars.iter().rev().find(|(n, _)| n == name);
                bound.expect("a checked body binds its variables").1.clone()
            }
            Body::Lit(value) => LoweredValue::constant(value),
            Body::Call(op, args) => {
                let args: Vec<LoweredValue> = args.iter().map(|a| self.value(scope, a)).collect();
                let Some(special) = self.special else { return expand_in(scope, op, &args, Laws::Ieee) };
                let constants: Vec<Option<Scalar>> = args.iter().map(LoweredValue::as_constant).collect();
                let facts = constants.iter().map(|constant| ArgumentFacts { special, constant: constant.as_ref() });
                expand_in(scope, op, &args, Laws::Default(&facts.collect::<Vec<_>>()))
            }
            Body::If(cond, then, other) => {
                let cond = self.value(scope, cond).single().clone();
                if then.can_fault() || other.can_fault() {
                    self.branch(scope, cond, then, other)
                } else {
                    let (then, other) = (self.value(scope, then), self.value(scope, other));
                    select_value(scope, cond, &then, &other)
                }
            }
            Body::Let(name, value, rest) => {
                let value = self.value(scope, value);
                let value = bind(scope, &value);
                self.vars.push((name, value));
                let result = self.value(scope, rest);
                self.vars.pop();
                result
            }
            Body::While(w) => self.repeat(scope, w),
            Body::Struct(members) => {
                let values: Vec<LoweredValue> = members.iter().map(|(_, m)| self.value(scope, m)).collect();
                let names = members.iter().map(|(n, _)| n.clone());
                let dtype = DType::structure(names.zip(values.iter().map(|v| v.dtype.clone())));
                LoweredValue { dtype, parts: values.into_iter().flat_map(|v| v.parts).collect() }
            }
            Body::Member(of, k) => {
                let of = self.value(scope, of);
                let DType::Struct(ty) = &of.dtype else { unreachable!("a checked body takes members of structs") };
                let before: usize = ty.members[..*k].iter().map(|(_, t)| t.prims().len()).sum();
                let dtype = ty.members[*k].1.clone();
                let parts = of.parts[before..before + dtype.prims().len()].to_vec();
                LoweredValue { dtype, parts }
            }
        }
    }

    /// Returns the value of a conditional; only the branch that is taken runs.
    fn branch(&mut self, scope: &mut dyn StmtSink, cond: Expr, then: &'a Body, other: &'a Body) -> LoweredValue {
        let (mut yes, value) = block(scope, |scope| self.value(scope, then));
        let result = value.dtype.prims().into_iter().map(|p| Expr::Local(scope.local("if", p))).collect();
        let result = LoweredValue { dtype: value.dtype.clone(), parts: result };
        let (assigns, ()) = block(scope, |scope| assign(scope, &result, &value));
        yes.extend(assigns);
        let (no, ()) = block(scope, |scope| {
            let value = self.value(scope, other);
            assign(scope, &result, &value);
        });
        scope.push(Stmt::If { cond, then: yes, other: no });
        result
    }

    fn repeat(&mut self, scope: &mut dyn StmtSink, w: &'a While) -> LoweredValue {
        let depth = self.vars.len();
        let inits: Vec<LoweredValue> = w.vars.iter().map(|(_, init)| self.value(scope, init)).collect();
        let vars = w.vars.iter().zip(inits).map(|((name, _), init)| (name.as_str(), variable(scope, name, &init)));
        let vars: Vec<_> = vars.collect();
        self.vars.extend(vars);

        let (before, cond) = block(scope, |scope| self.value(scope, &w.cond).single().clone());
        let (steps, ()) = block(scope, |scope| self.step(scope, w, depth));
        if before.is_empty() {
            scope.push(Stmt::While { cond, body: steps });
        } else {
            let stop = Stmt::If { cond: un(UnaryOp::Not, cond), then: vec![Stmt::Break], other: Vec::new() };
            let body = before.into_iter().chain([stop]).chain(steps).collect();
            scope.push(Stmt::While { cond: Expr::Const(Scalar::Bool(true)), body });
        }
        let result = self.value(scope, &w.result);
        self.vars.truncate(depth);
        result
    }

    /// Assigns all variables their new values at once. If there are several, all values are
    /// computed before the first assignment, because later steps read the old values.
    fn step(&mut self, scope: &mut dyn StmtSink, w: &'a While, depth: usize) {
        let next: Vec<LoweredValue> = w.steps.iter().map(|s| self.value(scope, s)).collect();
        let values: Vec<LoweredValue> = match &next[..] {
            [only] => vec![only.clone()],
            _ => next.iter().map(|v| super::bind_fresh(scope, v)).collect(),
        };
        for (k, value) in values.iter().enumerate() {
            assign(scope, &self.vars[depth + k].1, value);
        }
    }
}
