//! Random expressions and plans.

use super::data::{random_input, random_value};
use super::maps::random_map;
use super::{CaseConfig, RandomCase, RandomInput, Rng, random_format};
use crate::affine::{Affine, Subscript};
use crate::dtype::{DType, Prim};
use crate::expr::{Expr, IndexMap, Node, fold_dtype};
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::mode::FloatMode;
use crate::op::{Arity, Builtin, DtypeRule, Op, UserOp};
use crate::plan::{Plan, Query};
use crate::scalar::Scalar;
use crate::sexpr::read_one;
use std::sync::Arc;

/// Names of fields.
const FIELDS: [&str; 6] = ["i", "j", "k", "l", "m", "n"];

/// Operators that are frequent in real plans, and therefore drawn more often.
const COMMON: [Builtin; 8] = {
    use Builtin::*;
    [Add, Mul, Add, Mul, Min, Max, Sub, IfElse]
};

/// Largest number of nodes of an expression that is drawn again.
const MAX_SHARED_NODES: usize = 12;

/// User-defined operators in random plans.
const USER_OPS: [&str; 2] = [
    "(define-op (gcd (x i64) (y i64)) i64
       (while ((a (abs x)) (b (abs y))) (ne b 0) (b (rem a b)) a)
       (commutative) (special (y 0) (abs x)) (special (x 0) (abs y)))",
    "(define-op (smooth (x f64) (y f64)) f64 (if (lt x y) (* x 0.5) (+ y 1)))",
];

/// Generates the case of a seed.
pub fn random_case(seed: u64, config: &CaseConfig) -> RandomCase {
    let mut rng = Rng::new(seed);
    let pool = random_pool(&mut rng, config);
    let inputs: Vec<RandomInput> = (0..2 + rng.index(3))
        .map(|n| {
            let rank = *rng.pick(&[0, 1, 1, 2, 2, 2, 3]);
            let shape = (0..rank).map(|_| rng.pick(&pool).1).collect();
            random_input(&mut rng, Alias::from(format!("T{n}")), shape, config.data)
        })
        .collect();
    let tables = inputs.iter().map(|i| (i.alias.clone(), i.ty.clone())).collect();
    let ops = USER_OPS.iter().map(|text| {
        let form = read_one(text).expect("a definition of this file is well-formed");
        Op::from(UserOp::read(&form, &|name| Op::from_name(name)).expect("a definition of this file is accepted"))
    });
    let mut generator = PlanGenerator { rng, config, pool, tables, ops: ops.collect(), drawn: Vec::new() };
    let plan = generator.plan();
    RandomCase { plan, inputs }
}

/// Draws fields and their sizes, with few different sizes so that tensors can be joined.
fn random_pool(rng: &mut Rng, config: &CaseConfig) -> Vec<(Field, u64)> {
    let size = |rng: &mut Rng| match rng.below(20) {
        0 => 0,
        1 | 2 => 1,
        _ => 2 + rng.below(config.dimension.saturating_sub(1).max(1)),
    };
    let sizes = [size(rng), size(rng), size(rng)];
    let fields = FIELDS.iter().take(config.fields.max(1));
    fields.map(|f| (Field::from(*f), sizes[rng.below(5).saturating_sub(2) as usize])).collect()
}

pub(super) struct PlanGenerator<'a> {
    pub(super) rng: Rng,
    config: &'a CaseConfig,
    /// All fields and their sizes; a field has the same size wherever it occurs.
    pub(super) pool: Vec<(Field, u64)>,
    /// Tensors that can be read.
    tables: Vec<(Alias, Arc<TensorType>)>,
    ops: Vec<Op>,
    /// Expressions of the plan that may be drawn again: small expressions that are not leaves.
    drawn: Vec<Expr>,
}

impl PlanGenerator<'_> {
    fn plan(&mut self) -> Plan {
        let mut queries: Vec<Query> = Vec::new();
        for n in 0..1 + self.rng.index(self.config.queries.max(1)) {
            let expr = self.expr(self.config.depth);
            let expr = self.finish(expr);
            let query = Query { alias: Alias::from(format!("Q{n}")), expr };
            let ty = query.result_type().expect("every field of a finished expression has a size");
            self.tables.push((query.alias.clone(), Arc::new(ty)));
            queries.push(query);
        }
        let last = queries.len() - 1;
        let results = (0..queries.len()).filter(|&n| n == last || self.rng.chance(40)).collect::<Vec<_>>();
        let produces = results.into_iter().map(|n| queries[n].alias.clone()).collect();
        Plan { queries, produces }
    }

    /// Gives every field of the expression a size, and sometimes reformats the result.
    fn finish(&mut self, mut expr: Expr) -> Expr {
        while let Some(k) = expr.info().dimensions.iter().position(Option::is_none) {
            let field = expr.info().fields[k].clone();
            let sized = self.sized(&field);
            let args = [Expr::literal(true), expr, sized];
            expr = Expr::mapjoin(Builtin::IfElse, args).expect("both branches have the same dtype");
        }
        if self.rng.chance(25) {
            let (dtype, fill) = (expr.info().dtype.clone(), expr.info().fill.clone());
            let format = random_format(&mut self.rng, expr.info().fields.len(), &dtype, &fill);
            expr = expr.reformat(format).expect("the format was drawn for this expression");
        }
        expr
    }

    /// Creates a `bool` expression that has the field with its size: a literal broadcast along the
    /// field.
    fn sized(&mut self, field: &Field) -> Expr {
        let size = self.size(field);
        let map = IndexMap { coordinates: vec![], dimensions: vec![(field.clone(), size)], outside: None };
        Expr::literal(false).index(map).expect("a literal can be read anywhere")
    }

    fn size(&self, field: &Field) -> u64 {
        self.pool.iter().find(|(f, _)| f == field).map_or(0, |(_, n)| *n)
    }

    /// Draws an expression of any primitive dtype; sometimes repeats an expression of the plan.
    pub(super) fn expr(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf();
        }
        if !self.drawn.is_empty() && self.rng.chance(8) {
            return self.rng.pick(&self.drawn).clone();
        }
        let expr = self.node(depth);
        if !expr.node().args().is_empty() && count_nodes(&expr) <= MAX_SHARED_NODES {
            self.drawn.push(expr.clone());
        }
        expr
    }

    /// Draws a new expression of any primitive dtype.
    fn node(&mut self, depth: usize) -> Expr {
        let kind = self.rng.below(21);
        let expr = match kind {
            0..=9 => self.mapjoin(depth),
            10..=14 => self.aggregate(depth),
            15 => self.scan(depth),
            16 => self.reorder(depth),
            17 => self.relabel(depth),
            18 => {
                let arg = self.expr(depth - 1);
                random_map(self, arg)
            }
            19 => self.compared_scan(depth),
            20 => self.fold_beside_window(depth),
            _ => None,
        };
        // Replaces an invalid node, such as one whose fill value faults, by a leaf.
        expr.unwrap_or_else(|| self.leaf())
    }

    /// Draws an expression of the given primitive.
    fn expr_of(&mut self, prim: Prim, depth: usize) -> Expr {
        let expr = self.expr(depth);
        expr.cast(&DType::Prim(prim)).expect("random expressions have primitive dtypes")
    }

    fn leaf(&mut self) -> Expr {
        match self.rng.below(10) {
            0 => {
                let prim = *self.rng.pick(&Prim::ALL);
                Expr::literal(random_value(&mut self.rng, prim, self.config.data))
            }
            1 => Expr::coordinate(self.rng.pick(&self.pool).0.clone()),
            _ => self.table().unwrap_or_else(|| Expr::coordinate(self.pool[0].0.clone())),
        }
    }

    /// Draws a table with random fields that match the sizes of its modes.
    fn table(&mut self) -> Option<Expr> {
        let (alias, ty) = self.rng.pick(&self.tables).clone();
        let mut fields: Vec<Field> = Vec::new();
        for size in &ty.shape {
            let fits: Vec<Field> = self.pool.iter().filter(|(_, n)| n == size).map(|(f, _)| f.clone()).collect();
            let unused: Vec<Field> = fits.iter().filter(|f| !fields.contains(f)).cloned().collect();
            // Draws a diagonal if no unused field fits, and rarely otherwise.
            let among = if unused.is_empty() || self.rng.chance(5) { &fits } else { &unused };
            fields.push(self.rng.pick(among).clone());
        }
        Expr::table(alias, ty, fields).ok()
    }

    fn operator(&mut self) -> Op {
        match self.rng.below(20) {
            0 => self.rng.pick(&self.ops).clone(),
            1..=9 => Op::Builtin(*self.rng.pick(&COMMON)),
            _ => Op::Builtin(*self.rng.pick(Builtin::ALL)),
        }
    }

    fn mapjoin(&mut self, depth: usize) -> Option<Expr> {
        let op = self.operator();
        let args = self.args(&op, depth - 1);
        let join = Expr::mapjoin(op, args).ok()?;
        // Extracts a member, because expressions must be of primitive dtypes.
        if join.info().dtype.prim().is_some() {
            return Some(join);
        }
        let member = if self.rng.chance(50) { Builtin::First } else { Builtin::Second };
        Expr::mapjoin(member, [join]).ok()
    }

    /// Draws arguments that suit an operator.
    fn args(&mut self, op: &Op, depth: usize) -> Vec<Expr> {
        let count = match op.arity() {
            Arity::Exact(n) => n,
            Arity::AtLeast(n) => n + self.rng.below(6).saturating_sub(2).min(2) as usize,
        };
        let builtin = match op {
            Op::Builtin(b) => *b,
            Op::User(u) => {
                let params: Vec<DType> = u.params().iter().map(|(_, t)| t.clone()).collect();
                let prims = (0..count).filter_map(|k| params[k.min(params.len() - 1)].prim()).collect::<Vec<_>>();
                return prims.into_iter().map(|p| self.expr_of(p, depth)).collect();
            }
        };
        match builtin.dtype_rule() {
            DtypeRule::Bits => {
                let prim =
                    *self.rng.pick(&[Prim::Bool, Prim::I8, Prim::I32, Prim::I64, Prim::U8, Prim::U16, Prim::U64]);
                (0..count).map(|_| self.expr_of(prim, depth)).collect()
            }
            DtypeRule::Shift => {
                let prim = *self.rng.pick(&[Prim::I8, Prim::I16, Prim::I64, Prim::U8, Prim::U32, Prim::U64]);
                vec![self.expr_of(prim, depth), self.small_count(depth)]
            }
            DtypeRule::Scale => {
                let prim = *self.rng.pick(&[Prim::F32, Prim::F64]);
                vec![self.expr_of(prim, depth), self.small_count(depth)]
            }
            DtypeRule::Condition => vec![self.expr_of(Prim::Bool, depth), self.expr(depth), self.expr(depth)],
            DtypeRule::Pair => vec![self.expr(depth), self.coordinate_or_integer(depth)],
            DtypeRule::Member(_) => self.pairs(1, depth),
            DtypeRule::PairFold => self.pairs(count, depth),
            DtypeRule::Equality if self.rng.chance(10) => self.pairs(count, depth),
            _ if self.rng.chance(50) => {
                let prim = *self.rng.pick(&Prim::ALL);
                (0..count).map(|_| self.expr_of(prim, depth)).collect()
            }
            _ => {
                // One argument may be a bare number.
                let bare = if count > 1 && self.rng.chance(25) { self.rng.index(count) } else { count };
                let small = self.rng.below(4) as i64;
                (0..count).map(|k| if k == bare { Expr::number(small) } else { self.expr(depth) }).collect()
            }
        }
    }

    fn small_count(&mut self, depth: usize) -> Expr {
        if self.rng.chance(50) {
            return Expr::number(self.rng.below(10) as i64);
        }
        self.expr_of(Prim::U8, depth)
    }

    fn coordinate_or_integer(&mut self, depth: usize) -> Expr {
        if self.rng.chance(70) {
            return Expr::coordinate(self.rng.pick(&self.pool).0.clone());
        }
        self.expr_of(Prim::I64, depth)
    }

    /// Draws structs of one dtype.
    fn pairs(&mut self, count: usize, depth: usize) -> Vec<Expr> {
        let prim = *self.rng.pick(&[Prim::F64, Prim::F32, Prim::I64, Prim::U8, Prim::Bool]);
        let pair = |g: &mut Self| {
            let args = [g.expr_of(prim, depth), g.coordinate_or_integer(depth)];
            Expr::mapjoin(Builtin::Pair, args).expect("a primitive and an integer form a pair")
        };
        (0..count).map(|_| pair(self)).collect()
    }

    fn aggregate(&mut self, depth: usize) -> Option<Expr> {
        let op = match self.rng.below(10) {
            0..=5 => Op::Builtin(*self.rng.pick(&[
                Builtin::Add,
                Builtin::Add,
                Builtin::Mul,
                Builtin::Min,
                Builtin::Max,
                Builtin::Or,
            ])),
            6 => Op::Builtin(*self.rng.pick(&[Builtin::MinBy, Builtin::MaxBy])),
            _ => self.operator(),
        };
        let folds_pairs = matches!(&op, Op::Builtin(b) if b.dtype_rule() == DtypeRule::PairFold);
        let arg = if folds_pairs { self.pairs(1, depth - 1).pop()? } else { self.expr(depth - 1) };
        let info = arg.info().clone();
        let sized: Vec<Field> = info.fields.iter().filter(|f| info.dimension(f).is_some()).cloned().collect();
        let count = self.rng.index(sized.len().min(3) + 1).max(1).min(sized.len());
        let fields: Vec<Field> = self.rng.shuffled(sized).into_iter().take(count).collect();
        let dtype = fold_dtype(&op, &info.dtype, "fold").ok()?;
        let init = match op.fold_identity(&dtype, FloatMode::Relaxed) {
            Some(identity) if self.rng.chance(75) => identity,
            _ => self.value(&dtype),
        };
        let aggregate = Expr::aggregate(op, init, arg, fields).ok()?;
        if aggregate.info().dtype.prim().is_some() {
            return Some(aggregate);
        }
        Expr::mapjoin(*self.rng.pick(&[Builtin::First, Builtin::Second]), [aggregate]).ok()
    }

    /// Draws a join of two folds of one expression by one operator: one over a field, and one over
    /// a window of this field. The window has another size than the field.
    fn fold_beside_window(&mut self, depth: usize) -> Option<Expr> {
        let arg = self.expr(depth - 1);
        let info = arg.info().clone();
        let sized = info.fields.iter().filter_map(|f| Some((f.clone(), info.dimension(f)?)));
        let (field, size) = self.rng.shuffled(sized.collect()).pop()?;
        let others = self.pool.iter().filter(|(f, n)| *n != size && !info.fields.contains(f)).cloned();
        let (window, n) = self.rng.shuffled(others.collect()).pop()?;
        let first = self.rng.below(size.saturating_sub(n) + 1) as i64;
        let form = Affine::field(window.clone()).plus(&Affine::constant(first));
        let map = IndexMap {
            coordinates: vec![(field.clone(), Subscript::Affine(form))],
            dimensions: vec![(window.clone(), n)],
            outside: (n > size).then(|| self.value(&info.dtype)),
        };
        let part = arg.clone().index(map).ok()?;
        let op = *self.rng.pick(&[Builtin::Add, Builtin::Max, Builtin::Min, Builtin::Mul]);
        let init = Op::Builtin(op).fold_identity(&info.dtype, FloatMode::Relaxed)?;
        let mut args = vec![
            Expr::aggregate(op, init.clone(), arg, [field]).ok()?,
            Expr::aggregate(op, init, part, [window]).ok()?,
        ];
        if self.rng.chance(50) {
            args.swap(0, 1);
        }
        Expr::mapjoin(*self.rng.pick(&[Builtin::Add, Builtin::Sub, Builtin::Max, Builtin::Eq]), args).ok()
    }

    fn value(&mut self, dtype: &DType) -> Scalar {
        let data = self.config.data;
        let parts: Vec<Scalar> = dtype.prims().into_iter().map(|p| random_value(&mut self.rng, p, data)).collect();
        Scalar::unflatten(dtype, &mut parts.into_iter()).expect("there is one value per primitive")
    }

    fn scan(&mut self, depth: usize) -> Option<Expr> {
        // Scans by `choose` are rare, because the strict mode rejects them: `choose` has no
        // identity for floats in that mode.
        let op = if self.rng.chance(8) {
            Builtin::Choose
        } else {
            *self.rng.pick(&[Builtin::Add, Builtin::Mul, Builtin::Min, Builtin::Max, Builtin::Or])
        };
        let arg = self.expr(depth - 1);
        let sized = arg.info().fields.iter().filter(|f| arg.info().dimension(f).is_some()).cloned();
        let sized: Vec<Field> = sized.collect();
        if sized.is_empty() {
            return None;
        }
        Expr::scan(op, arg, self.rng.pick(&sized).clone()).ok()
    }

    /// Draws a comparison of a scan with the coordinate along which the scan runs: a loop-carried
    /// value is compared with the loop index.
    fn compared_scan(&mut self, depth: usize) -> Option<Expr> {
        let scan = self.scan(depth)?;
        let Node::Scan { field, .. } = scan.node() else { return None };
        let mut args = vec![scan.clone(), Expr::coordinate(field.clone())];
        if self.rng.chance(30) {
            args.swap(0, 1);
        }
        let ops = [Builtin::Lt, Builtin::Le, Builtin::Gt, Builtin::Ge, Builtin::Eq, Builtin::Ne];
        Expr::mapjoin(*self.rng.pick(&ops), args).ok()
    }

    fn reorder(&mut self, depth: usize) -> Option<Expr> {
        let arg = self.expr(depth - 1);
        let fields = self.rng.shuffled(arg.info().fields.clone());
        arg.reorder(fields).ok()
    }

    /// Renames each field to any field of the same size.
    fn relabel(&mut self, depth: usize) -> Option<Expr> {
        let arg = self.expr(depth - 1);
        let mut names: Vec<Field> = Vec::new();
        for field in &arg.info().fields {
            let size = self.size(field);
            let fits = self.pool.iter().filter(|(f, n)| *n == size && !names.contains(f)).map(|(f, _)| f.clone());
            let fits: Vec<Field> = fits.collect();
            names.push(self.rng.pick(&fits).clone());
        }
        arg.relabel(names).ok()
    }

    /// Draws a value for reads out of bounds.
    pub(super) fn value_out_of_bounds(&mut self, dtype: &DType) -> Scalar {
        self.value(dtype)
    }
}

/// Returns the number of nodes of an expression.
fn count_nodes(expr: &Expr) -> usize {
    1 + expr.node().args().iter().map(count_nodes).sum::<usize>()
}
