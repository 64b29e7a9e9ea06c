//! Constants of plans as inputs, so that plans that differ only in constants are one plan.
//!
//! [`Plan::lift_constants`] replaces a literal argument of an operator by an input of rank 0. Two
//! plans become equal if their constants are of one class: every operator with a constant argument
//! has the same fill value in both. The fill value of the input represents the class: the operator
//! has that fill value for this constant, too.
//!
//! A value that an algebraic law may use (0, 1, -1, 2, infinities) and a constant that the fill
//! value of its operator depends on (`x + t`, whose fill value is `t`) stay literals.

use super::{Expr, Node};
use crate::dtype::Prim;
use crate::error::Error;
use crate::field::{Alias, Field};
use crate::format::{Format, TensorType};
use crate::op::{Builtin, Op, cast_to};
use crate::plan::{Plan, Query};
use crate::scalar::Scalar;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A constant of a plan that became an input.
#[derive(Clone, PartialEq, Debug)]
pub struct LiftedConstant {
    /// Name of the input.
    pub name: Alias,
    /// Type of the input: of rank 0 and dense, with the representative of the class as fill value.
    pub ty: Arc<TensorType>,
    /// Value of the constant.
    pub value: Scalar,
}

/// Candidates for the representative of a class, in this order. They are small and large values of
/// both signs, because most classes are the ranges between fill values.
const REPRESENTATIVES: [f64; 8] = [3.0, -3.0, 0.25, -0.25, 100.0, -100.0, 1e30, -1e30];

impl Plan {
    /// Returns the plan with constants replaced by inputs of rank 0, and these inputs. Fill values,
    /// dtypes and fields of all expressions stay the same.
    ///
    /// # Errors
    /// Returns an error if an expression of the plan is not well-formed in its float mode.
    pub fn lift_constants(&self) -> Result<(Plan, Vec<LiftedConstant>), Error> {
        let results = self.queries.iter().map(|query| query.alias.clone());
        let taken = self.inputs().into_iter().chain(results).collect();
        let mut lifting = Lifting { taken, number: 0, constants: Vec::new(), lifted: HashMap::new() };
        let mut queries = Vec::with_capacity(self.queries.len());
        for query in &self.queries {
            queries.push(Query { alias: query.alias.clone(), expr: lifting.expr(&query.expr)?.expr });
        }
        Ok((Plan { queries, produces: self.produces.clone() }, lifting.constants))
    }
}

/// A traversal that lifts constants.
struct Lifting {
    /// Names of inputs and results.
    taken: HashSet<Alias>,
    /// Number in the last name of a constant.
    number: usize,
    constants: Vec<LiftedConstant>,
    /// Expressions after the lifting by the address of the original, because plans share
    /// subexpressions.
    lifted: HashMap<usize, LiftedExpr>,
}

/// An expression after the lifting.
#[derive(Clone)]
struct LiftedExpr {
    expr: Expr,
    /// Whether the expression depends on coordinates. A comparison of a coordinate with a constant
    /// is a range of coordinates, which the plan knows.
    reads_coordinates: bool,
}

impl Lifting {
    fn expr(&mut self, expr: &Expr) -> Result<LiftedExpr, Error> {
        if let Some(lifted) = self.lifted.get(&expr.address()) {
            return Ok(lifted.clone());
        }
        let mut reads_coordinates = matches!(expr.node(), Node::Coordinate(_));
        let mut args = Vec::with_capacity(expr.node().args().len());
        for arg in expr.node().args() {
            let lifted = self.expr(arg)?;
            reads_coordinates |= lifted.reads_coordinates;
            args.push(lifted.expr);
        }
        let with_args = expr.with_args(args)?;
        let expr_with_inputs = match with_args.node() {
            Node::MapJoin { op, args } if takes_constants(op) && !reads_coordinates => {
                self.application(&with_args, op, args)?
            }
            _ => with_args,
        };
        let lifted = LiftedExpr { expr: expr_with_inputs, reads_coordinates };
        self.lifted.insert(expr.address(), lifted.clone());
        Ok(lifted)
    }

    /// Lifts the constant argument of an application of two arguments.
    fn application(&mut self, expr: &Expr, op: &Op, args: &[Expr]) -> Result<Expr, Error> {
        let [a, b] = args else { return Ok(expr.clone()) };
        let (position, other, value) = match (a.node(), b.node()) {
            (_, Node::Literal(value)) => (1, a, value),
            (Node::Literal(value), _) => (0, b, value),
            _ => return Ok(expr.clone()),
        };
        if is_special(value) || other.info().fields.is_empty() {
            return Ok(expr.clone());
        }
        let signature = op.signature(&args.iter().map(|a| a.info().dtype.clone()).collect::<Vec<_>>())?;
        let fill = cast_to(&other.info().fill, &signature.args[1 - position]);
        // The result outside of the other argument, for a value of the constant.
        let outside = |value: &Scalar| {
            let mut fills = [fill.clone(), fill.clone()];
            fills[position] = cast_to(value, &signature.args[position]);
            op.eval_in(&fills, expr.mode()).ok()
        };
        let is_representative = |candidate: &Scalar| outside(candidate).as_ref() == Some(&expr.info().fill);
        let mut candidates = REPRESENTATIVES.iter().filter_map(|x| representative(*x, value.dtype().prim()?));
        let Some(representative) = candidates.find(is_representative) else { return Ok(expr.clone()) };
        // An operator that the fill value of the other argument annihilates needs no claim.
        let mut known = [Some(fill.clone()), Some(fill)];
        known[position] = None;
        let is_annihilated = op.constant_result(&signature, &known, expr.mode()).as_ref() == Some(&expr.info().fill);
        let ty = TensorType {
            shape: Vec::new(),
            dtype: value.dtype(),
            fill: representative.clone(),
            format: Format::dense(0),
        };
        let ty = Arc::new(ty);
        let name = self.name();
        let constant = Expr::table(name.clone(), ty.clone(), [] as [Field; 0])?;
        self.constants.push(LiftedConstant { name, ty, value: value.clone() });
        let mut args = args.to_vec();
        args[position] = constant;
        let op = if is_annihilated {
            op.clone()
        } else {
            let fills: Vec<Scalar> =
                args.iter().zip(&signature.args).map(|(a, t)| cast_to(&a.info().fill, t)).collect();
            op.claiming(&signature, 1 - position, fills)
        };
        Expr::infer(Node::MapJoin { op, args })
    }

    /// Returns a new name for a constant.
    fn name(&mut self) -> Alias {
        loop {
            self.number += 1;
            let name = Alias::from(format!("constant{}", self.number));
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }
}

/// Returns whether constant arguments of an operator become inputs. An integer divisor, a number of
/// bits and an exponent stay: their value decides which instructions compute the operator.
fn takes_constants(op: &Op) -> bool {
    use Builtin::{Add, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Sub};
    matches!(op, Op::Builtin(Add | Sub | Mul | Div | Min | Max | Eq | Ne | Lt | Le | Gt | Ge))
}

/// Returns whether a law of an operator may use the value, or it has no class.
fn is_special(value: &Scalar) -> bool {
    match value.to_f64() {
        Some(x) => !x.is_finite() || [0.0, 1.0, -1.0, 2.0].contains(&x),
        None => true,
    }
}

/// Returns a candidate in a dtype, if the dtype has the value.
fn representative(candidate: f64, prim: Prim) -> Option<Scalar> {
    if prim == Prim::Bool {
        return None;
    }
    let scalar = Scalar::F64(candidate).cast(prim)?;
    (scalar.to_f64()? == candidate || prim == Prim::F32 && candidate.abs() > 1e20).then_some(scalar)
}

#[cfg(test)]
mod tests {
    use crate::op::Builtin;
    use crate::text::{Catalog, parse};
    use crate::{Alias, Expr, FloatMode, Format, Plan, Scalar, TensorType};
    use std::sync::Arc;

    fn plan(text: &str) -> Plan {
        let ty = |rank: usize, fill: f64| {
            let format = Format::dense(rank);
            Arc::new(TensorType { shape: vec![4; rank], dtype: crate::DType::F64, fill: Scalar::F64(fill), format })
        };
        let catalog: Catalog =
            [("A", ty(2, 0.0)), ("B", ty(2, 5.0))].into_iter().map(|(name, ty)| (Alias::from(name), ty)).collect();
        parse(text, &catalog).unwrap()
    }

    /// Returns the plan with an application of an operator to the matrix and a number.
    fn application(op: &str, table: &str, number: &str) -> Plan {
        plan(&format!("(plan (query R (mapjoin {op} (table {table} i j) {number})) (produces R))"))
    }

    /// Returns whether two numbers are of one class: their plans become one.
    fn are_one_class(op: &str, table: &str, numbers: [&str; 2]) -> bool {
        let [one, other] = numbers.map(|number| application(op, table, number).lift_constants().unwrap());
        let is_lifted = |(_, constants): &(Plan, Vec<super::LiftedConstant>)| constants.len() == 1;
        is_lifted(&one) && is_lifted(&other) && one.0 == other.0
    }

    /// A class has the numbers with the same fill values, of which the representative is one.
    #[test]
    fn classes_are_ranges_between_fill_values() {
        for (op, table, numbers) in [
            ("*", "A", ["2.5", "1e9"]),
            ("/", "A", ["2.5", "7.0"]),
            ("gt", "A", ["2.5", "1e9"]),
            ("gt", "A", ["-2.5", "-0.125"]),
            ("gt", "B", ["3.5", "4.75"]),
            ("gt", "B", ["5.5", "1e9"]),
            ("min", "A", ["2.5", "7.0"]),
            ("eq", "A", ["2.5", "-7.0"]),
        ] {
            assert!(are_one_class(op, table, numbers), "{op} {table} {numbers:?}");
        }
        for (op, table, numbers) in [
            ("gt", "A", ["2.5", "-2.5"]),
            ("gt", "A", ["2.5", "0.0"]),
            ("gt", "B", ["3.5", "7.0"]),
            ("+", "A", ["2.5", "3.5"]),
            ("*", "B", ["2.5", "3.5"]),
            ("min", "A", ["-2.5", "-3.5"]),
            ("pow", "A", ["2.5", "3.5"]),
            ("*", "A", ["2.5", "1.0"]),
        ] {
            assert!(!are_one_class(op, table, numbers), "{op} {table} {numbers:?}");
        }
    }

    /// Numbers on which fill values, laws or ranges of coordinates depend remain literals.
    #[test]
    fn other_literals_remain() {
        for text in [
            "(mapjoin + (table A i j) 2.5)",
            "(mapjoin * (table A i j) 1.0)",
            "(mapjoin * (table A i j) 2.0)",
            "(mapjoin gt (table A i j) inf)",
            "(mapjoin * (table A i j) (mapjoin lt (coordinate i) 3))",
            "(mapjoin ifelse (mapjoin gt (table A i j) 0.0) 2.5 0.0)",
        ] {
            let plan = plan(&format!("(plan (query R {text}) (produces R))"));
            let (lifted, constants) = plan.lift_constants().unwrap();
            assert_eq!((lifted, constants), (plan, Vec::new()), "{text}");
        }
    }

    /// A shared subexpression is visited once, so that the time is not exponential in the depth.
    #[test]
    fn shared_subexpressions_are_visited_once() {
        let mut plan = plan("(plan (query R (mapjoin * (table A i j) 2.5)) (produces R))");
        let expr = &mut plan.queries[0].expr;
        for _ in 0..60 {
            let doubled = Expr::mapjoin(Builtin::Add, [expr.clone(), expr.clone()]).unwrap();
            *expr = Expr::mapjoin(Builtin::Mul, [doubled, Expr::number(0.75)]).unwrap();
        }
        let (_, constants) = plan.lift_constants().unwrap();
        assert_eq!(constants.len(), 61);
        assert_eq!(constants[60].name, "constant61".into());
    }

    /// The types of all results stay the same, in both modes, and names do not collide.
    #[test]
    fn results_keep_their_types() {
        let text = "(plan (query constant1 (mapjoin * 2.5 (mapjoin max (table A i j) -3.5)))
            (query R (aggregate + 0.0 (mapjoin * (table constant1 i j) 4.5 (table B i j)) j))
            (query S (mapjoin - (mapjoin / (table A i j) 0.5) (mapjoin min 7.5 (table A i j)))) (produces R S))";
        for mode in [FloatMode::Relaxed, FloatMode::StrictIeee] {
            let plan = plan(text).to_mode(mode).unwrap();
            let (lifted, constants) = plan.lift_constants().unwrap();
            let values: Vec<Scalar> = constants.iter().map(|constant| constant.value.clone()).collect();
            assert_eq!(values, [-3.5, 2.5, 0.5, 7.5].map(Scalar::F64), "{lifted}");
            assert!(constants.iter().all(|constant| constant.name != "constant1".into()));
            for (one, other) in plan.queries.iter().zip(&lifted.queries) {
                assert_eq!(one.result_type().unwrap(), other.result_type().unwrap());
            }
            crate::verify(&lifted).unwrap();
        }
    }
}
