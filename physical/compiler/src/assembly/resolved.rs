//! Expressions with their types resolved once, for interpreters.

use super::eval::{BinaryFn, CompareFn, UnaryFn, binary_fn, cast_bits, compare_fn, unary_fn};
use super::{Buffer, Expr, Function, MathImpl};
use redpoll_logic::Prim;

/// An expression of a verified function. Values are passed as `u64`: their bits, zero-extended.
pub enum ResolvedExpr {
    /// A constant.
    Const(u64),
    /// The value of a local.
    Local(usize),
    /// The value of a parameter.
    Param(usize),
    /// An element of a buffer.
    Load(Buffer, Box<ResolvedExpr>),
    /// An operator on one argument.
    Unary(UnaryFn, Box<ResolvedExpr>),
    /// An operator on two arguments.
    Binary(BinaryFn, Box<[ResolvedExpr; 2]>),
    /// A comparison.
    Compare(CompareFn, Box<[ResolvedExpr; 2]>),
    /// A condition, and the values for true and false; all are evaluated.
    Select(Box<[ResolvedExpr; 3]>),
    /// A cast from the first type to the second.
    Cast(Prim, Prim, Box<ResolvedExpr>),
    /// A function of the mathematical library on arguments of a type.
    Math(MathImpl, Prim, Vec<ResolvedExpr>),
}

/// The buffers and parameters that expressions read.
pub trait ExprMemory {
    /// The fault of a load.
    type Fault;

    /// Returns the value of a parameter.
    fn param(&self, number: usize) -> i64;

    /// Loads an element as a value.
    fn load(&mut self, buffer: Buffer, at: i64) -> Result<u64, Self::Fault>;
}

const VERIFIED: &str = "the function was verified";

impl ResolvedExpr {
    /// Resolves an expression of a verified function.
    pub fn new(f: &Function, e: &Expr) -> ResolvedExpr {
        match e {
            Expr::Const(value) => ResolvedExpr::Const(value.to_bits().expect(VERIFIED)),
            Expr::Local(local) => ResolvedExpr::Local(local.index()),
            Expr::Param(param) => ResolvedExpr::Param(param.index()),
            Expr::Load { buffer, at } => ResolvedExpr::Load(*buffer, Box::new(ResolvedExpr::new(f, at))),
            Expr::Unary(op, a) => {
                ResolvedExpr::Unary(unary_fn(*op, f.prim_of(a)).expect(VERIFIED), Box::new(ResolvedExpr::new(f, a)))
            }
            Expr::Binary(op, a, b) => {
                let op = binary_fn(*op, f.prim_of(a)).expect(VERIFIED);
                ResolvedExpr::Binary(op, Box::new([ResolvedExpr::new(f, a), ResolvedExpr::new(f, b)]))
            }
            Expr::Compare(op, a, b) => ResolvedExpr::Compare(
                compare_fn(*op, f.prim_of(a)),
                Box::new([ResolvedExpr::new(f, a), ResolvedExpr::new(f, b)]),
            ),
            Expr::Select(c, a, b) => ResolvedExpr::Select(Box::new([
                ResolvedExpr::new(f, c),
                ResolvedExpr::new(f, a),
                ResolvedExpr::new(f, b),
            ])),
            Expr::Cast(to, a) => ResolvedExpr::Cast(f.prim_of(a), *to, Box::new(ResolvedExpr::new(f, a))),
            Expr::Math(function, args) => {
                let args: Vec<ResolvedExpr> = args.iter().map(|a| ResolvedExpr::new(f, a)).collect();
                ResolvedExpr::Math(function.implementation(), f.prim_of(e), args)
            }
        }
    }

    /// Evaluates the expression over the given locals and memory.
    pub fn eval<M: ExprMemory>(&self, locals: &[u64], memory: &mut M) -> Result<u64, M::Fault> {
        Ok(match self {
            ResolvedExpr::Const(bits) => *bits,
            ResolvedExpr::Local(local) => locals[*local],
            ResolvedExpr::Param(param) => memory.param(*param) as u64,
            ResolvedExpr::Load(buffer, at) => {
                let at = at.eval(locals, memory)? as i64;
                memory.load(*buffer, at)?
            }
            ResolvedExpr::Unary(f, a) => f(a.eval(locals, memory)?),
            ResolvedExpr::Binary(f, args) => f(args[0].eval(locals, memory)?, args[1].eval(locals, memory)?),
            ResolvedExpr::Compare(f, args) => {
                u64::from(f(args[0].eval(locals, memory)?, args[1].eval(locals, memory)?))
            }
            ResolvedExpr::Select(parts) => {
                let [cond, then, other] = &**parts;
                let (cond, then) = (cond.eval(locals, memory)?, then.eval(locals, memory)?);
                let other = other.eval(locals, memory)?;
                if cond != 0 { then } else { other }
            }
            ResolvedExpr::Cast(from, to, a) => cast_bits(*from, *to, a.eval(locals, memory)?),
            ResolvedExpr::Math(function, prim, args) => {
                let x = args[0].eval(locals, memory)?;
                let y = args.get(1).map_or(Ok(0), |y| y.eval(locals, memory))?;
                match (function, prim) {
                    (MathImpl::Unary(f, _), Prim::F64) => f(f64::from_bits(x)).to_bits(),
                    (MathImpl::Binary(f, _), Prim::F64) => f(f64::from_bits(x), f64::from_bits(y)).to_bits(),
                    (MathImpl::Unary(_, f), _) => u64::from(f(f32::from_bits(x as u32)).to_bits()),
                    (MathImpl::Binary(_, f), _) => {
                        u64::from(f(f32::from_bits(x as u32), f32::from_bits(y as u32)).to_bits())
                    }
                }
            }
        })
    }
}
