//! Replacement of constants by inputs, so that plans that differ only in constants become equal.
//!
//! [`Plan::lift_constants`] replaces literal arguments of some operators by inputs of rank 0. Two
//! values of a literal are of one class if the application that has the literal as an argument has
//! the same fill value for both. Plans whose literals differ only within such classes become equal.
//! The fill value of the input is a representative of the class, so that the fill value of the
//! application stays the same.
//!
//! The constants of index maps are offsets; `offsets.rs` decides which offsets become parameters.
//!
//! A value that an algebraic law may use (0, 1, -1, 2, infinities, NaN) stays a literal. So does a
//! constant beside an argument that depends on coordinates, and a constant on which the fill value
//! of the application depends, such as `t` in `x + t`. Exception: a constant of the last kind is
//! lifted if the other arguments store all their values, and no operator of the plan has cases. In
//! this case, the class of the constant is its sign. No value depends on the fill value of the
//! result, and the original fill value is restored after the run.

use super::offsets::find_offsets;
use super::{Expr, IndexMap, Node};
use crate::affine::Parameter;
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
    /// Type of the input, of rank 0 and dense. For a literal, the fill value is the representative
    /// of its class. For an offset, the type is [`Parameter::input_type`].
    pub ty: Arc<TensorType>,
    /// Value of the constant.
    pub value: Scalar,
}

/// A plan whose constants became inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct LiftedPlan {
    /// The plan.
    pub plan: Plan,
    /// The constants.
    pub constants: Vec<LiftedConstant>,
    /// The produced results whose fill values differ in the lifted plan, with their original fill
    /// values. All values of these results are stored.
    pub fills: Vec<(Alias, Scalar)>,
}

/// Candidates for the representative of a class, in this order. They are small and large values of
/// both signs, because most classes are ranges that are bounded by fill values.
const REPRESENTATIVES: [f64; 8] = [3.0, -3.0, 0.25, -0.25, 100.0, -100.0, 1e30, -1e30];

impl Plan {
    /// Returns the plan with inputs of rank 0 in place of constants and of offsets of index maps.
    /// The rules of this module and of `offsets.rs` decide which constants and offsets are
    /// replaced. Dtypes and fields of all expressions stay the same.
    ///
    /// # Errors
    /// Returns an error if an expression of the plan is not well-formed in its float mode.
    pub fn lift_constants(&self) -> Result<LiftedPlan, Error> {
        let results = self.queries.iter().map(|query| query.alias.clone());
        let mut visited = HashSet::new();
        let mut lifter = ConstantLifter {
            taken: self.inputs().into_iter().chain(results).collect(),
            number: 0,
            constants: Vec::new(),
            results: HashMap::new(),
            may_change_fills: !self.queries.iter().any(|query| has_cases(&query.expr, &mut visited)),
            maps: HashMap::new(),
            lifted: HashMap::new(),
        };
        lifter.lift_offsets(self);
        let (mut queries, mut fills) = (Vec::with_capacity(self.queries.len()), Vec::new());
        for Query { alias, expr } in &self.queries {
            let lifted = lifter.expr(expr)?.expr;
            let (fill, lifted_fill) = (&expr.info().fill, &lifted.info().fill);
            if fill != lifted_fill && self.produces.contains(alias) {
                fills.push((alias.clone(), fill.clone()));
            }
            lifter.results.insert(alias.clone(), lifted_fill.clone());
            queries.push(Query { alias: alias.clone(), expr: lifted });
        }
        let plan = Plan { queries, produces: self.produces.clone() };
        Ok(LiftedPlan { plan, constants: lifter.constants, fills })
    }
}

/// A traversal that lifts constants.
struct ConstantLifter {
    /// Names of inputs and results.
    taken: HashSet<Alias>,
    /// Number in the name of the last lifted constant.
    number: usize,
    constants: Vec<LiftedConstant>,
    /// The fill values of the results so far, after the lifting.
    results: HashMap<Alias, Scalar>,
    /// Whether fill values may change where all values are stored. Fill values must stay the same
    /// if the plan has operators with cases, which distinguish stored values from fill values.
    may_change_fills: bool,
    /// Index maps with parameters, by the address of the original expression.
    maps: HashMap<usize, IndexMap>,
    /// Expressions after the lifting, by the address of the original expression, because plans
    /// share subexpressions.
    lifted: HashMap<usize, LiftedExpr>,
}

/// An expression after the lifting.
#[derive(Clone)]
struct LiftedExpr {
    expr: Expr,
    /// Whether the expression depends on coordinates. Constants beside such an expression stay
    /// literals, because a comparison of a coordinate with a constant is a range of coordinates,
    /// which must be known to the compiler.
    reads_coordinates: bool,
    /// Whether the values at all coordinates are known to be stored or computed, so that no value
    /// depends on the fill value.
    stores_all: bool,
}

impl ConstantLifter {
    /// Replaces the offsets of index maps by parameters.
    fn lift_offsets(&mut self, plan: &Plan) {
        let ty = Arc::new(Parameter::input_type());
        for offset in find_offsets(plan) {
            let parameter = Parameter { input: self.name(), size: offset.size };
            offset.replace(&parameter, &mut self.maps);
            let value = Scalar::I64(offset.value());
            self.constants.push(LiftedConstant { name: parameter.input, ty: ty.clone(), value });
        }
    }

    fn expr(&mut self, expr: &Expr) -> Result<LiftedExpr, Error> {
        if let Some(lifted) = self.lifted.get(&expr.address()) {
            return Ok(lifted.clone());
        }
        let mut reads_coordinates = matches!(expr.node(), Node::Coordinate(_));
        let (mut args, mut args_store_all) = (Vec::with_capacity(expr.node().args().len()), true);
        for arg in expr.node().args() {
            let lifted = self.expr(arg)?;
            reads_coordinates |= lifted.reads_coordinates;
            args_store_all &= lifted.stores_all || lifted.expr.info().fields.is_empty();
            args.push(lifted.expr);
        }
        let stores_all = match expr.node() {
            Node::Table { tensor, ty, .. } => ty.format.is_dense() && !self.results.contains_key(tensor),
            Node::MapJoin { .. } | Node::Aggregate { .. } | Node::Reorder { .. } | Node::Relabel { .. } => {
                args_store_all
            }
            Node::Index { map, .. } => args_store_all && map.outside.is_none(),
            _ => false,
        };
        let with_args = match (expr.node(), self.maps.remove(&expr.address())) {
            (_, Some(map)) => args.swap_remove(0).index(map)?,
            (Node::Table { tensor, ty, fields }, _) => {
                match self.results.get(tensor).filter(|fill| **fill != ty.fill) {
                    Some(fill) => {
                        let ty = TensorType { fill: fill.clone(), ..TensorType::clone(ty) };
                        Expr::table(tensor.clone(), ty.into(), fields.iter().cloned())?
                    }
                    None => expr.clone(),
                }
            }
            _ => expr.with_args(args)?,
        };
        let is_application = matches!(with_args.node(), Node::MapJoin { .. });
        let expr_with_inputs = match is_application && !reads_coordinates {
            true => self.application(&with_args, args_store_all)?,
            false => with_args,
        };
        let lifted = LiftedExpr { expr: expr_with_inputs, reads_coordinates, stores_all };
        self.lifted.insert(expr.address(), lifted.clone());
        Ok(lifted)
    }

    /// Lifts the constant arguments of an application. `stores_all` is set if all arguments with
    /// fields store all their values.
    fn application(&mut self, expr: &Expr, stores_all: bool) -> Result<Expr, Error> {
        let mut lifted = expr.clone();
        for position in 0..expr.node().args().len() {
            lifted = self.argument(&lifted, position, stores_all)?;
        }
        Ok(lifted)
    }

    /// Lifts an argument of an application if the argument is a constant that can become an input;
    /// otherwise returns the application unchanged.
    fn argument(&mut self, expr: &Expr, position: usize, stores_all: bool) -> Result<Expr, Error> {
        let Node::MapJoin { op, args } = expr.node() else { return Ok(expr.clone()) };
        let Node::Literal(value) = args[position].node() else { return Ok(expr.clone()) };
        let has_fields = |arg: &Expr| !arg.info().fields.is_empty();
        if !takes_constant(op, position, value) || is_special(value) || !args.iter().any(has_fields) {
            return Ok(expr.clone());
        }
        let signature = op.signature(&args.iter().map(|a| a.info().dtype.clone()).collect::<Vec<_>>())?;
        let fills: Vec<Scalar> = args.iter().zip(&signature.args).map(|(a, t)| cast_to(&a.info().fill, t)).collect();
        // The fill value of the result, for a value of the constant.
        let result_fill = |value: &Scalar| {
            let mut fills = fills.clone();
            fills[position] = cast_to(value, &signature.args[position]);
            op.eval_in(&fills, expr.mode()).ok()
        };
        let keeps_fill = |candidate: &Scalar| result_fill(candidate).as_ref() == Some(&expr.info().fill);
        let Some(prim) = value.dtype().prim() else { return Ok(expr.clone()) };
        let candidates: Vec<Scalar> = REPRESENTATIVES.iter().filter_map(|x| representative(*x, prim)).collect();
        let keeping = candidates.iter().find(|candidate| keeps_fill(candidate));
        // If the fill values of the other arguments decide the result, no claim (see
        // [`Op::claiming`]) is needed.
        let mut known: Vec<Option<Scalar>> = fills.iter().cloned().map(Some).collect();
        known[position] = None;
        let is_decided = op.constant_result(&signature, &known, expr.mode()).as_ref() == Some(&expr.info().fill);
        let claims = |args: &[Expr]| {
            let fills = args.iter().zip(&signature.args).map(|(a, t)| cast_to(&a.info().fill, t)).collect();
            (args.len() == 2).then(|| op.claiming(&signature, 1 - position, fills))
        };
        let is_negative = |x: &Scalar| x.to_f64().is_some_and(|x| x < 0.0);
        let same_sign = candidates.iter().find(|candidate| is_negative(candidate) == is_negative(value));
        let (representative, needs_claim) = match (keeping, same_sign) {
            (Some(representative), _) => (representative, !is_decided && !stores_all),
            (None, Some(representative)) if stores_all && self.may_change_fills => (representative, false),
            _ => return Ok(expr.clone()),
        };
        let mut args = args.clone();
        let ty = TensorType {
            shape: Vec::new(),
            dtype: value.dtype(),
            fill: representative.clone(),
            format: Format::dense(0),
        };
        let (name, ty) = (self.name(), Arc::new(ty));
        args[position] = Expr::table(name.clone(), ty.clone(), [] as [Field; 0])?;
        let op = match needs_claim.then(|| claims(&args)) {
            None => op.clone(),
            Some(Some(claiming)) => claiming,
            Some(None) => return Ok(expr.clone()),
        };
        self.constants.push(LiftedConstant { name, ty, value: value.clone() });
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

/// Returns whether a constant argument of an operator may become an input. An integer divisor, a
/// shift count, and an exponent that is a multiple of 1/2 stay literals, because these values
/// decide which instructions compute the operator. So do the condition of `ifelse`, and the
/// arguments of all operators that are not listed.
fn takes_constant(op: &Op, position: usize, value: &Scalar) -> bool {
    use Builtin::{Add, Div, Eq, Ge, Gt, IfElse, Le, Lt, Max, Min, Mul, Ne, Pow, Sub};
    match op {
        Op::Builtin(Add | Sub | Mul | Div | Min | Max | Eq | Ne | Lt | Le | Gt | Ge) => true,
        Op::Builtin(IfElse) => position > 0,
        Op::Builtin(Pow) => position == 0 || value.to_f64().is_some_and(|exponent| (2.0 * exponent).fract() != 0.0),
        _ => false,
    }
}

/// Returns whether an expression has an operator with cases, outside the subexpressions in
/// `visited`.
fn has_cases(expr: &Expr, visited: &mut HashSet<usize>) -> bool {
    visited.insert(expr.address())
        && (expr.node().op().is_some_and(Op::has_cases) || expr.node().args().iter().any(|arg| has_cases(arg, visited)))
}

/// Returns whether a law of an operator may use the value, or the value is a struct, which has no
/// class.
fn is_special(value: &Scalar) -> bool {
    match value.to_f64() {
        Some(x) => !x.is_finite() || [0.0, 1.0, -1.0, 2.0].contains(&x),
        None => true,
    }
}

/// Casts a candidate to a primitive; returns `None` if the primitive cannot represent the
/// candidate. An `f32` may round the largest candidates.
fn representative(candidate: f64, prim: Prim) -> Option<Scalar> {
    if prim == Prim::Bool {
        return None;
    }
    let scalar = Scalar::F64(candidate).cast(prim)?;
    (scalar.to_f64()? == candidate || prim == Prim::F32 && candidate.abs() > 1e20).then_some(scalar)
}

#[cfg(test)]
mod tests {
    use super::LiftedPlan;
    use crate::op::Builtin;
    use crate::text::{Catalog, parse};
    use crate::{Alias, Expr, FloatMode, Format, Plan, Scalar, TensorType};
    use std::sync::Arc;

    /// Returns a plan over the sparse matrices `A` and `B`, and the dense matrix `D`.
    fn plan(text: &str) -> Plan {
        let ty = |fill: f64, format: Format| {
            Arc::new(TensorType { shape: vec![4, 4], dtype: crate::DType::F64, fill: Scalar::F64(fill), format })
        };
        let types = [("A", ty(0.0, Format::csr())), ("B", ty(5.0, Format::csr())), ("D", ty(0.0, Format::dense(2)))];
        let catalog: Catalog = types.into_iter().map(|(name, ty)| (Alias::from(name), ty)).collect();
        parse(text, &catalog).unwrap()
    }

    /// Returns the plan with an application of an operator to a matrix and a number.
    fn application(op: &str, table: &str, number: &str) -> Plan {
        plan(&format!("(plan (query R (mapjoin {op} (table {table} i j) {number})) (produces R))"))
    }

    /// Returns whether two numbers are of one class: their plans become equal.
    fn are_one_class(op: &str, table: &str, numbers: [&str; 2]) -> bool {
        let [one, other] = numbers.map(|number| application(op, table, number).lift_constants().unwrap());
        one.constants.len() == 1 && other.constants.len() == 1 && one.plan == other.plan
    }

    /// Asserts that two numbers beside a sparse matrix are of one class only if they give the same
    /// fill value. Beside the dense matrix, numbers that give different fill values are of one
    /// class if their signs are equal.
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
            ("pow", "A", ["2.25", "3.25"]),
            ("+", "D", ["2.5", "3.5"]),
            ("+", "D", ["-2.5", "-3.5"]),
            ("min", "D", ["-2.5", "-3.5"]),
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
            ("+", "D", ["2.5", "-3.5"]),
        ] {
            assert!(!are_one_class(op, table, numbers), "{op} {table} {numbers:?}");
        }
    }

    /// Asserts that numbers remain literals if fill values, laws or ranges of coordinates depend on
    /// them.
    #[test]
    fn other_literals_remain() {
        for text in [
            "(mapjoin + (table A i j) 2.5)",
            "(mapjoin * (table A i j) 1.0)",
            "(mapjoin * (table A i j) 2.0)",
            "(mapjoin gt (table A i j) inf)",
            "(mapjoin * (table A i j) (mapjoin lt (coordinate i) 3))",
            "(mapjoin ifelse (mapjoin lt (table A i j) 0.5) 2.5 0.0)",
        ] {
            let plan = plan(&format!("(plan (query R {text}) (produces R))"));
            let lifted = plan.lift_constants().unwrap();
            let constants: Vec<Scalar> = lifted.constants.into_iter().map(|constant| constant.value).collect();
            assert!(constants.iter().all(|value| *value == Scalar::F64(0.5)), "{text}: {constants:?}");
            assert!(constants.len() == 1 || lifted.plan == plan, "{text}");
        }
    }

    /// Asserts that a branch of `ifelse` is lifted if the condition selects the other branch at
    /// fill values.
    #[test]
    fn choices_are_lifted() {
        let choice = |condition: &str| {
            let text = format!("(mapjoin ifelse (mapjoin gt (table A i j) {condition}) 2.5 7.5)");
            let plan = plan(&format!("(plan (query R {text}) (produces R))"));
            plan.lift_constants().unwrap().constants.into_iter().map(|constant| constant.value).collect::<Vec<_>>()
        };
        assert_eq!(choice("0.0"), [2.5].map(Scalar::F64));
        assert_eq!(choice("-1.0"), [7.5].map(Scalar::F64));
    }

    /// Asserts that lifting returns the original fill values of results whose fill values change.
    /// Fill values may change if all values are stored.
    #[test]
    fn fill_values_of_dense_results_are_returned() {
        let text = "(plan (query R (mapjoin + (table D i j) 2.5)) (query S (mapjoin * (table R i j) (table A i j)))
            (query T (mapjoin - 7.5 (table R i j))) (produces R S T))";
        let plan = plan(text);
        let lifted = plan.lift_constants().unwrap();
        crate::verify(&lifted.plan).unwrap();
        assert_eq!(lifted.constants.len(), 1);
        let fill = |query: usize| lifted.plan.queries[query].expr.info().fill.clone();
        assert_eq!([0, 1, 2].map(fill), [3.0, 0.0, 4.5].map(Scalar::F64));
        let fills = [("R", 2.5), ("T", 5.0)].map(|(name, fill)| (Alias::from(name), Scalar::F64(fill)));
        assert_eq!(lifted.fills, fills);
    }

    /// Asserts that a shared subexpression is visited once, so that the time is not exponential in
    /// the depth.
    #[test]
    fn shared_subexpressions_are_visited_once() {
        let mut plan = plan("(plan (query R (mapjoin * (table A i j) 2.5)) (produces R))");
        let expr = &mut plan.queries[0].expr;
        for _ in 0..60 {
            let doubled = Expr::mapjoin(Builtin::Add, [expr.clone(), expr.clone()]).unwrap();
            *expr = Expr::mapjoin(Builtin::Mul, [doubled, Expr::number(0.75)]).unwrap();
        }
        let constants = plan.lift_constants().unwrap().constants;
        assert_eq!(constants.len(), 61);
        assert_eq!(constants[60].name, "constant61".into());
    }

    /// Asserts that all results keep their types in both float modes, and that names do not
    /// collide.
    #[test]
    fn results_keep_their_types() {
        let text = "(plan (query constant1 (mapjoin * 2.5 (mapjoin max (table A i j) -3.5)))
            (query R (aggregate + 0.0 (mapjoin * (table constant1 i j) 4.5 (table B i j)) j))
            (query S (mapjoin - (mapjoin / (table A i j) 0.5) (mapjoin min 7.5 (table A i j)))) (produces R S))";
        for mode in [FloatMode::Relaxed, FloatMode::StrictIeee] {
            let plan = plan(text).to_mode(mode).unwrap();
            let LiftedPlan { plan: lifted, constants, fills } = plan.lift_constants().unwrap();
            assert_eq!(fills, []);
            let values: Vec<Scalar> = constants.iter().map(|constant| constant.value.clone()).collect();
            // In the strict mode, a zero does not decide a product of three factors.
            let expected = match mode {
                FloatMode::Relaxed => &[-3.5, 2.5, 4.5, 0.5, 7.5][..],
                FloatMode::StrictIeee => &[-3.5, 2.5, 0.5, 7.5],
            };
            assert_eq!(values, expected.iter().map(|x| Scalar::F64(*x)).collect::<Vec<_>>(), "{lifted}");
            assert!(constants.iter().all(|constant| constant.name != "constant1".into()));
            for (one, other) in plan.queries.iter().zip(&lifted.queries) {
                assert_eq!(one.result_type().unwrap(), other.result_type().unwrap());
            }
            crate::verify(&lifted).unwrap();
        }
    }
}
