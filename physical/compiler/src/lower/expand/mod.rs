//! Expansion of operators into machine operators.
//!
//! [`expand_in`] returns the application of an operator as Assembly expressions. The arguments may
//! have any dtypes that the operator takes. Under [`Laws::Ieee`], the values of these expressions
//! have the bits that [`Op::eval`] defines. Structs are flattened. Statements are pushed to the
//! [`StmtSink`]: loops of integer powers and repeated folds, loops and branches of user-defined
//! operators, faults of checked operators, and assignments of values that are used more than once.
//!
//! The returned expressions may contain the arguments. So until the expressions are used, the
//! caller must not assign a local or store an element that an argument reads. The statements of the
//! expansion assign only new locals and store nothing.
//!
//! [`Laws::Default`] has the known facts of the arguments. Machine arithmetic is that of IEEE 754,
//! so the code tests for the arguments on which the laws of the default mode give another value
//! (see [`super::guards`] and [`redpoll_logic::special`]).

mod float;
mod integer;
mod repeat;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod testing;
mod user;

pub(crate) use repeat::expand_repeat;

use super::guards::{ArgumentFacts, OperatorGuard, guard, of_call};
use super::value::{LoweredValue, StmtSink};
use crate::assembly::{BinaryOp, CompareOp, Expr, MathFn, Stmt, UnaryOp};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Prim, Scalar};

/// Returns the value of `op` applied to `args` by the laws of IEEE 754.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn expand(scope: &mut dyn StmtSink, op: &Op, args: &[LoweredValue]) -> LoweredValue {
    expand_in(scope, op, args, Laws::Ieee)
}

/// The laws that floats obey.
#[derive(Clone, Copy)]
pub(crate) enum Laws<'a> {
    /// The laws of IEEE 754.
    Ieee,
    /// The laws of the default mode, with the known facts of each argument.
    Default(&'a [ArgumentFacts<'a>]),
}

/// Returns the value of `op` applied to `args` by the laws of a float mode. The arguments are first
/// cast to the signature of `op`.
///
/// # Panics
/// If the operator does not take arguments of these dtypes; plans and programs are checked earlier.
pub(crate) fn expand_in(scope: &mut dyn StmtSink, op: &Op, args: &[LoweredValue], laws: Laws<'_>) -> LoweredValue {
    let dtypes: Vec<DType> = args.iter().map(|a| a.dtype.clone()).collect();
    let signature = op.signature(&dtypes).expect("the verifier has checked the operator's dtypes");
    let args: Vec<LoweredValue> = args.iter().zip(&signature.args).map(|(a, to)| coerce(a, to)).collect();
    match op {
        Op::Builtin(b) => builtin(scope, *b, &args, signature.result, laws),
        Op::User(u) => user::apply(scope, u, &args, laws),
    }
}

/// Returns `value` as an argument of dtype `to`: primitives are cast, and structs stay as they are.
pub(crate) fn coerce(value: &LoweredValue, to: &DType) -> LoweredValue {
    match (&value.dtype, to) {
        (DType::Prim(from), DType::Prim(p)) if from != p => LoweredValue::prim(*p, cast(*p, value.single().clone())),
        _ => value.clone(),
    }
}

/// Returns the value as constants, locals and parameters, so that it can be used more than once.
pub(crate) fn bind(scope: &mut dyn StmtSink, value: &LoweredValue) -> LoweredValue {
    let prims = value.dtype.prims();
    let parts = value.parts.iter().zip(prims).map(|(part, prim)| bind_part(scope, prim, part.clone())).collect();
    LoweredValue { dtype: value.dtype.clone(), parts }
}

fn bind_part(scope: &mut dyn StmtSink, prim: Prim, part: Expr) -> Expr {
    if matches!(part, Expr::Const(_) | Expr::Local(_) | Expr::Param(_)) {
        return part;
    }
    let local = scope.local("t", prim);
    scope.push(Stmt::Assign(local, part));
    Expr::Local(local)
}

fn builtin(scope: &mut dyn StmtSink, b: Builtin, args: &[LoweredValue], result: DType, laws: Laws<'_>) -> LoweredValue {
    use Builtin::*;
    let parts = match (b, args) {
        (Pair, [value, coordinate]) => [&value.parts[..], &coordinate.parts[..]].concat(),
        (First | Second, [pair]) => {
            let from = if b == First { 0 } else { pair.parts.len() - result.prims().len() };
            pair.parts[from..from + result.prims().len()].to_vec()
        }
        (IfElse, [cond, then, other]) => return select_value(scope, cond.single().clone(), then, other),
        (Cast(to), [x]) => vec![coerce(x, &DType::Prim(to)).single().clone()],
        (_, [x]) => {
            let prim = x.dtype.prim().expect("unary operators take primitives");
            vec![unary(scope, b, prim, x.single().clone())]
        }
        (_, [first, rest @ ..]) => {
            let Laws::Default(facts) = laws else {
                return rest
                    .iter()
                    .fold(first.clone(), |acc, y| binary(scope, b, &acc, y, &result, OperatorGuard::None));
            };
            let mut special = facts[0];
            return rest.iter().zip(&facts[1..]).fold(first.clone(), |acc, (y, next)| {
                let guard = guard(b, &special, next);
                special =
                    ArgumentFacts { special: of_call(&b.into(), &[special, *next], &[], &result), constant: None };
                binary(scope, b, &acc, y, &result, guard)
            });
        }
        (_, []) => unreachable!("operator `{b}` without arguments"),
    };
    LoweredValue { dtype: result, parts }
}

/// Returns `cond ? then : other`, part by part.
fn select_value(scope: &mut dyn StmtSink, cond: Expr, then: &LoweredValue, other: &LoweredValue) -> LoweredValue {
    match cond {
        Expr::Const(Scalar::Bool(true)) => return then.clone(),
        Expr::Const(Scalar::Bool(false)) => return other.clone(),
        _ => {}
    }
    let cond = if then.parts.len() > 1 { bind_part(scope, Prim::Bool, cond) } else { cond };
    let parts = then.parts.iter().zip(&other.parts).map(|(t, o)| select(cond.clone(), t.clone(), o.clone())).collect();
    LoweredValue { dtype: then.dtype.clone(), parts }
}

fn unary(scope: &mut dyn StmtSink, b: Builtin, prim: Prim, x: Expr) -> Expr {
    use Builtin::*;
    match b {
        Not | BitNot => un(UnaryOp::Not, x),
        IsNan | IsFinite | IsInf if !prim.is_float() => Expr::Const(Scalar::Bool(b == IsFinite)),
        SignBit if prim == Prim::Bool || !prim.is_signed() => Expr::Const(Scalar::Bool(false)),
        SignBit if !prim.is_float() => negative(prim, x),
        Neg => un(UnaryOp::Neg, x),
        Abs if prim.is_signed() => un(UnaryOp::Abs, x),
        Square => {
            let x = bind_part(scope, prim, x);
            bin(BinaryOp::Mul, x.clone(), x)
        }
        _ if prim.is_float() => float::unary(scope, b, prim, x),
        Sign => integer::sign(scope, prim, x),
        Abs | Floor | Ceil | Trunc | Round => x,
        _ => unreachable!("unary operator `{b}` on {prim}"),
    }
}

fn binary(
    scope: &mut dyn StmtSink,
    b: Builtin,
    x: &LoweredValue,
    y: &LoweredValue,
    result: &DType,
    guard: OperatorGuard,
) -> LoweredValue {
    use Builtin::*;
    match b {
        Choose => {
            let x = bind(scope, x);
            let stored = x.dtype.prims().into_iter().zip(&x.parts).map(|(p, part)| nonzero(p, part.clone()));
            let cond = stored.reduce(|a, b| bin(BinaryOp::Or, a, b)).expect("a struct has members");
            select_value(scope, cond, &x, y)
        }
        MinBy | MaxBy => pair_fold(scope, b, x, y),
        Eq | Ne => {
            let (op, join) = if b == Eq { (CompareOp::Eq, BinaryOp::And) } else { (CompareOp::Ne, BinaryOp::Or) };
            let parts = x.parts.iter().zip(&y.parts).map(|(p, q)| cmp(op, p.clone(), q.clone()));
            let all = parts.reduce(|a, b| bin(join, a, b)).expect("a struct has members");
            LoweredValue::prim(Prim::Bool, all)
        }
        _ => {
            let prim = x.dtype.prim().expect("the operator takes primitives");
            let (u, v) = (x.single().clone(), y.single().clone());
            let part = match b {
                Shl | Shr => integer::shift(b, prim, u, y),
                Ldexp => float::ldexp(prim, u, y),
                _ if prim.is_float() && guard != OperatorGuard::None => {
                    float::guarded_binary(scope, (b, guard), prim, u, v)
                }
                _ => numeric(scope, b, prim, u, v),
            };
            LoweredValue { dtype: result.clone(), parts: vec![part] }
        }
    }
}

/// Returns an operator applied to two primitives of one dtype.
fn numeric(scope: &mut dyn StmtSink, b: Builtin, prim: Prim, x: Expr, y: Expr) -> Expr {
    use Builtin::*;
    match b {
        Mul if prim == Prim::Bool => bin(BinaryOp::And, x, y),
        Add => bin(BinaryOp::Add, x, y),
        Sub => bin(BinaryOp::Sub, x, y),
        Mul => bin(BinaryOp::Mul, x, y),
        Min => bin(BinaryOp::Min, x, y),
        Max => bin(BinaryOp::Max, x, y),
        And | BitAnd => bin(BinaryOp::And, x, y),
        Or | BitOr => bin(BinaryOp::Or, x, y),
        Xor | BitXor => bin(BinaryOp::Xor, x, y),
        Lt => cmp(CompareOp::Lt, x, y),
        Le => cmp(CompareOp::Le, x, y),
        Gt => cmp(CompareOp::Lt, y, x),
        Ge => cmp(CompareOp::Le, y, x),
        Coalesce if prim.is_float() => {
            let x = bind_part(scope, prim, x);
            select(cmp(CompareOp::Eq, x.clone(), x.clone()), x, y)
        }
        Coalesce => x,
        _ if prim.is_float() => float::binary(scope, b, prim, x, y),
        _ => integer::binary(scope, b, prim, x, y),
    }
}

/// Returns `minby` or `maxby` of two pairs, ordered as in [`Op::eval`]: NaN wins over numbers, and
/// the smaller coordinate wins a tie.
fn pair_fold(scope: &mut dyn StmtSink, b: Builtin, x: &LoweredValue, y: &LoweredValue) -> LoweredValue {
    let (x, y) = (bind(scope, x), bind(scope, y));
    let prim = x.dtype.prims()[0];
    let (v, w) = (|| x.parts[0].clone(), || y.parts[0].clone());
    let (c, d) = (|| x.parts[1].clone(), || y.parts[1].clone());
    let minimum = b == Builtin::MinBy;
    let better = if minimum { cmp(CompareOp::Lt, v(), w()) } else { cmp(CompareOp::Lt, w(), v()) };
    let equal = bind_part(scope, Prim::Bool, cmp(CompareOp::Eq, v(), w()));
    let (better, tied) = if prim.is_float() {
        let nan = |e: &dyn Fn() -> Expr| cmp(CompareOp::Ne, e(), e());
        let (v_nan, w_nan) = (bind_part(scope, Prim::Bool, nan(&v)), bind_part(scope, Prim::Bool, nan(&w)));
        let nan_first = bin(BinaryOp::And, v_nan.clone(), un(UnaryOp::Not, w_nan.clone()));
        let both = bin(BinaryOp::And, v_nan, w_nan);
        (bin(BinaryOp::Or, better, nan_first), bin(BinaryOp::Or, equal.clone(), both))
    } else {
        (better, equal.clone())
    };
    let earlier = bin(BinaryOp::And, tied, cmp(CompareOp::Le, c(), d()));
    let take = bind_part(scope, Prim::Bool, bin(BinaryOp::Or, better, earlier));
    let mut value = select(take.clone(), v(), w());
    if prim.is_float() {
        // For two zeros at one coordinate, `minby` prefers -0 and `maxby` 0, like `min` and `max`.
        let same = bin(BinaryOp::And, equal, cmp(CompareOp::Eq, c(), d()));
        value = select(same, bin(if minimum { BinaryOp::Min } else { BinaryOp::Max }, v(), w()), value);
    }
    LoweredValue { dtype: x.dtype.clone(), parts: vec![value, select(take, c(), d())] }
}

/// A block of statements in an outer scope.
struct BlockSink<'a> {
    outer: &'a mut dyn StmtSink,
    stmts: Vec<Stmt>,
}

impl StmtSink for BlockSink<'_> {
    fn local(&mut self, name: &str, prim: Prim) -> crate::assembly::Local {
        self.outer.local(name, prim)
    }

    fn push(&mut self, stmt: Stmt) {
        self.stmts.push(stmt);
    }
}

/// Returns the statements that `fill` emits, and its result.
fn block<T>(scope: &mut dyn StmtSink, fill: impl FnOnce(&mut dyn StmtSink) -> T) -> (Vec<Stmt>, T) {
    let mut inner = BlockSink { outer: scope, stmts: Vec::new() };
    let result = fill(&mut inner);
    (inner.stmts, result)
}

/// Returns new locals that start with the value, for loops that change these locals.
fn variable(scope: &mut dyn StmtSink, name: &str, value: &LoweredValue) -> LoweredValue {
    let parts = value.dtype.prims().into_iter().zip(&value.parts).map(|(prim, part)| {
        let local = scope.local(name, prim);
        scope.push(Stmt::Assign(local, part.clone()));
        Expr::Local(local)
    });
    let parts = parts.collect();
    LoweredValue { dtype: value.dtype.clone(), parts }
}

/// Assigns a value to the locals of which `to` consists. Parts of the value that read these locals
/// see their old values.
fn assign(scope: &mut dyn StmtSink, to: &LoweredValue, value: &LoweredValue) {
    let value = if value.parts.len() > 1 { bind_fresh(scope, value) } else { value.clone() };
    for (local, part) in to.parts.iter().zip(value.parts) {
        let Expr::Local(local) = local else { unreachable!("variables are locals") };
        if part != Expr::Local(*local) {
            scope.push(Stmt::Assign(*local, part));
        }
    }
}

/// Binds a value like [`bind`], but copies locals, too, since they may be about to change.
fn bind_fresh(scope: &mut dyn StmtSink, value: &LoweredValue) -> LoweredValue {
    if value.parts.iter().all(|p| matches!(p, Expr::Const(_) | Expr::Param(_))) {
        return value.clone();
    }
    variable(scope, "t", value)
}

fn un(op: UnaryOp, x: Expr) -> Expr {
    Expr::Unary(op, Box::new(x))
}

fn bin(op: BinaryOp, x: Expr, y: Expr) -> Expr {
    Expr::Binary(op, Box::new(x), Box::new(y))
}

fn cmp(op: CompareOp, x: Expr, y: Expr) -> Expr {
    Expr::Compare(op, Box::new(x), Box::new(y))
}

fn select(cond: Expr, then: Expr, other: Expr) -> Expr {
    Expr::Select(Box::new(cond), Box::new(then), Box::new(other))
}

fn math(f: MathFn, args: Vec<Expr>) -> Expr {
    Expr::Math(f, args)
}

fn cast(to: Prim, x: Expr) -> Expr {
    match x {
        Expr::Const(value) => Expr::Const(value.cast(to).expect("constants of Assembly are primitives")),
        _ => Expr::Cast(to, Box::new(x)),
    }
}

/// Returns a small integer as a constant of a primitive dtype.
fn number(prim: Prim, v: i8) -> Expr {
    cast(prim, Expr::Const(Scalar::I8(v)))
}

fn nonzero(prim: Prim, x: Expr) -> Expr {
    if prim == Prim::Bool { x } else { cmp(CompareOp::Ne, x, number(prim, 0)) }
}

fn negative(prim: Prim, x: Expr) -> Expr {
    cmp(CompareOp::Lt, x, number(prim, 0))
}
