//! The verifier of plans. Rules:
//!
//! 1. Every query binds an alias that no other query binds.
//! 2. A table reads an input or the result of an earlier query. The alias that a table reads is
//!    bound neither by the query that contains the table nor by a later query.
//! 3. The type of a table is valid: format, shape, dtype and fill value agree. A table that reads a
//!    result has the shape, dtype and fill value of that result.
//! 4. All tables of one input have the same type. A parameter is an input of the type
//!    [`Parameter::input_type`](crate::Parameter::input_type).
//! 5. The [`Info`](crate::expr::Info) of a node equals the result of inference, except that a
//!    literal may be weak or strong.
//! 6. A weak number occurs only as the whole expression of a query; arguments of nodes are strong.
//! 7. Every field of a query has a size.
//! 8. User-defined operators of the same name are equal, and none has the name of a built-in
//!    operator.
//! 9. The plan produces at least one result, and each result once. A query binds every result.

use crate::affine::Parameter;
use crate::error::Error;
use crate::expr::{Expr, Info, Node, infer};
use crate::field::Alias;
use crate::format::TensorType;
use crate::op::{Op, UserOp};
use crate::plan::{Plan, Query};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Checks that a plan obeys all rules of this module.
///
/// # Errors
/// Returns the first broken rule that is found, and the query or plan that breaks it.
pub fn verify(plan: &Plan) -> Result<(), Error> {
    let mut verifier = PlanVerifier {
        plan,
        results: HashMap::new(),
        inputs: HashMap::new(),
        ops: HashMap::new(),
        visited: HashSet::new(),
    };
    for query in &plan.queries {
        verifier
            .check_query(query)
            .map_err(|problem| Error::Plan { location: format!("query `{}`", query.alias), problem })?;
    }
    let fail = |problem: String| Err(Error::Plan { location: "the plan".to_owned(), problem });
    if plan.produces.is_empty() {
        return fail("it produces nothing".to_owned());
    }
    for (k, alias) in plan.produces.iter().enumerate() {
        if !verifier.results.contains_key(alias) {
            return fail(format!("it produces `{alias}`, which no query binds"));
        }
        if plan.produces[..k].contains(alias) {
            return fail(format!("it produces `{alias}` twice"));
        }
    }
    Ok(())
}

struct PlanVerifier<'a> {
    plan: &'a Plan,
    /// Types of the results so far.
    results: HashMap<Alias, TensorType>,
    inputs: HashMap<Alias, Arc<TensorType>>,
    ops: HashMap<String, Arc<UserOp>>,
    /// Addresses of the expressions that were already checked; plans share subexpressions.
    visited: HashSet<usize>,
}

impl PlanVerifier<'_> {
    fn check_query(&mut self, query: &Query) -> Result<(), String> {
        if self.results.contains_key(&query.alias) {
            return Err("its alias is bound twice".to_owned());
        }
        self.check_expr(&query.expr)?;
        let ty = query.result_type().map_err(|e| e.to_string())?;
        self.results.insert(query.alias.clone(), ty);
        Ok(())
    }

    fn check_expr(&mut self, expr: &Expr) -> Result<(), String> {
        if !self.visited.insert(expr.address()) {
            return Ok(());
        }
        for arg in expr.node().args() {
            self.check_expr(arg)?;
            if arg.info().weak {
                return Err(format!("argument {arg} of {expr} is weak"));
            }
        }
        if let Some(op) = expr.node().op() {
            self.check_op(op)?;
        }
        if let Node::Table { tensor, ty, .. } = expr.node() {
            self.check_table(tensor, ty)?;
        }
        for Parameter { input, .. } in expr.node().parameters() {
            if self.plan.queries.iter().any(|query| query.alias == *input) {
                return Err(format!("parameter `{input}` is a result, expected an input"));
            }
            self.check_table(input, &Arc::new(Parameter::input_type()))?;
        }
        let weak = expr.info().weak && matches!(expr.node(), Node::Literal(_));
        let inferred = infer(expr.node(), expr.mode()).map_err(|e| format!("{expr}: {e}"))?;
        if (Info { weak, ..inferred }) != *expr.info() {
            return Err(format!("the properties of {expr} differ from the inferred ones"));
        }
        Ok(())
    }

    fn check_table(&mut self, tensor: &Alias, ty: &Arc<TensorType>) -> Result<(), String> {
        ty.validate().map_err(|e| format!("table `{tensor}`: {e}"))?;
        if let Some(result) = self.results.get(tensor) {
            let same_type = result.shape == ty.shape && result.dtype == ty.dtype && result.fill == ty.fill;
            return if same_type {
                Ok(())
            } else {
                Err(format!("table `{tensor}` has another type than the query of that name"))
            };
        }
        if self.plan.queries.iter().any(|q| q.alias == *tensor) {
            return Err(format!("table `{tensor}` is read before it is bound"));
        }
        match self.inputs.get(tensor) {
            Some(previous) if previous == ty => Ok(()),
            Some(_) => Err(format!("input `{tensor}` is read with two types")),
            None => {
                self.inputs.insert(tensor.clone(), ty.clone());
                Ok(())
            }
        }
    }

    fn check_op(&mut self, op: &Op) -> Result<(), String> {
        let Op::User(user) = op else { return Ok(()) };
        if Op::from_name(user.name()).is_some() {
            return Err(format!("user-defined operator `{op}` has the name of a built-in operator"));
        }
        match self.ops.get(user.name()) {
            Some(previous) if previous == user => Ok(()),
            Some(_) => Err(format!("two operators are named `{op}`")),
            None => {
                self.ops.insert(user.name().to_owned(), user.clone());
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::op::Builtin;
    use expect_test::{Expect, expect};

    fn ty(shape: &[u64]) -> Arc<TensorType> {
        let format = Format::dense(shape.len());
        Arc::new(TensorType { shape: shape.to_vec(), dtype: crate::DType::F64, fill: 0.0.into(), format })
    }

    fn table(name: &str, n: u64) -> Expr {
        Expr::table(name, ty(&[n]), ["i"]).unwrap()
    }

    #[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
    fn check(queries: Vec<(&str, Expr)>, produces: &[&str], expected: Expect) {
        let queries = queries.into_iter().map(|(a, expr)| Query { alias: a.into(), expr }).collect();
        let plan = Plan { queries, produces: produces.iter().map(|&p| p.into()).collect() };
        expected.assert_eq(&verify(&plan).map_or_else(|e| e.to_string(), |()| "ok".to_owned()));
    }

    /// The constructors of expressions guarantee rules 5 and 6. Another test covers rule 8.
    #[test]
    fn rules_that_constructors_do_not_guarantee() {
        check(vec![("C", table("A", 3)), ("D", table("C", 3))], &["D", "C"], expect!["ok"]);
        check(vec![("C", Expr::number(1i64))], &["C"], expect!["ok"]);
        check(vec![("C", table("A", 3)), ("C", table("A", 3))], &["C"], expect!["query `C`: its alias is bound twice"]);
        check(
            vec![("D", table("C", 3)), ("C", table("A", 3))],
            &["C"],
            expect!["query `D`: table `C` is read before it is bound"],
        );
        check(vec![("C", table("C", 3))], &["C"], expect!["query `C`: table `C` is read before it is bound"]);
        check(
            vec![("C", table("A", 3)), ("D", table("C", 4))],
            &["C"],
            expect!["query `D`: table `C` has another type than the query of that name"],
        );
        check(
            vec![("C", table("A", 3)), ("D", table("A", 4))],
            &["C"],
            expect!["query `D`: input `A` is read with two types"],
        );
        check(
            vec![("C", Expr::coordinate("i"))],
            &["C"],
            expect!["query `C`: the size of field `i` is unknown in query `C`; join with a table that has the field"],
        );
        check(vec![("C", table("A", 3))], &[], expect!["the plan: it produces nothing"]);
        check(vec![("C", table("A", 3))], &["A"], expect!["the plan: it produces `A`, which no query binds"]);
        check(vec![("C", table("A", 3))], &["C", "C"], expect!["the plan: it produces `C` twice"]);
        let misfit =
            TensorType { shape: vec![3], dtype: crate::DType::I64, fill: 0.0.into(), format: Format::dense(1) };
        let misfit = Expr::table("A", misfit.into(), ["i"]).unwrap();
        check(
            vec![("C", misfit)],
            &["C"],
            expect!["query `C`: table `A`: the fill value 0.0 has dtype f64, but the tensor has dtype i64"],
        );
    }

    #[test]
    fn operators_of_the_same_name_are_equal() {
        let text = |c: &str| format!("(define-op (f (x f64) (y f64)) f64 (+ (* {c} x) y))");
        let op =
            |c| crate::op::UserOp::read(&crate::sexpr::read_one(&text(c)).unwrap(), &|n| Op::from_name(n)).unwrap();
        let join = |c, t| Expr::mapjoin(op(c), [table(t, 3), table(t, 3)]).unwrap();
        let both = |c, d| Expr::mapjoin(Builtin::Add, [join(c, "A"), join(d, "B")]).unwrap();
        check(vec![("C", both("1.5", "1.5"))], &["C"], expect!["ok"]);
        check(vec![("C", both("1.5", "2.5"))], &["C"], expect!["query `C`: two operators are named `f`"]);
    }
}
