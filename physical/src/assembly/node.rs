//! Expressions with their types resolved once, for interpreters.

use super::eval::{BinaryFn, CompareFn, UnaryFn, binary_fn, cast_bits, compare_fn, unary_fn};
use super::{Buffer, Expr, Function, MathImpl};
use redpoll_logic::Prim;

/// An expression of a verified function; values are bits zero-extended to 64.
pub(crate) enum Node {
    Const(u64),
    Local(usize),
    Param(usize),
    Load(Buffer, Box<Node>),
    Unary(UnaryFn, Box<Node>),
    Binary(BinaryFn, Box<[Node; 2]>),
    Compare(CompareFn, Box<[Node; 2]>),
    Select(Box<[Node; 3]>),
    Cast(Prim, Prim, Box<Node>),
    Math(MathImpl, Prim, Vec<Node>),
}

/// The buffers and parameters that expressions read.
pub(crate) trait Memory {
    /// The fault of a load.
    type Fault;

    /// Returns the value of a parameter.
    fn param(&self, number: usize) -> i64;

    /// Loads an element as a value.
    fn load(&mut self, buffer: Buffer, at: i64) -> Result<u64, Self::Fault>;
}

const VERIFIED: &str = "the function was verified";

impl Node {
    /// Resolves an expression of a verified function.
    pub(crate) fn new(f: &Function, e: &Expr) -> Node {
        match e {
            Expr::Const(value) => Node::Const(value.to_bits().expect(VERIFIED)),
            Expr::Local(local) => Node::Local(local.index()),
            Expr::Param(param) => Node::Param(param.index()),
            Expr::Load { buffer, at } => Node::Load(*buffer, Box::new(Node::new(f, at))),
            Expr::Unary(op, a) => Node::Unary(unary_fn(*op, f.prim_of(a)).expect(VERIFIED), Box::new(Node::new(f, a))),
            Expr::Binary(op, a, b) => {
                let op = binary_fn(*op, f.prim_of(a)).expect(VERIFIED);
                Node::Binary(op, Box::new([Node::new(f, a), Node::new(f, b)]))
            }
            Expr::Compare(op, a, b) => {
                Node::Compare(compare_fn(*op, f.prim_of(a)), Box::new([Node::new(f, a), Node::new(f, b)]))
            }
            Expr::Select(c, a, b) => Node::Select(Box::new([Node::new(f, c), Node::new(f, a), Node::new(f, b)])),
            Expr::Cast(to, a) => Node::Cast(f.prim_of(a), *to, Box::new(Node::new(f, a))),
            Expr::Math(function, args) => {
                let args: Vec<Node> = args.iter().map(|a| Node::new(f, a)).collect();
                Node::Math(function.implementation(), f.prim_of(e), args)
            }
        }
    }

    /// Evaluates the expression over the given locals and memory.
    pub(crate) fn eval<M: Memory>(&self, locals: &[u64], memory: &mut M) -> Result<u64, M::Fault> {
        Ok(match self {
            Node::Const(bits) => *bits,
            Node::Local(local) => locals[*local],
            Node::Param(param) => memory.param(*param) as u64,
            Node::Load(buffer, at) => {
                let at = at.eval(locals, memory)? as i64;
                memory.load(*buffer, at)?
            }
            Node::Unary(f, a) => f(a.eval(locals, memory)?),
            Node::Binary(f, args) => f(args[0].eval(locals, memory)?, args[1].eval(locals, memory)?),
            Node::Compare(f, args) => u64::from(f(args[0].eval(locals, memory)?, args[1].eval(locals, memory)?)),
            Node::Select(parts) => {
                let [cond, then, other] = &**parts;
                let (cond, then) = (cond.eval(locals, memory)?, then.eval(locals, memory)?);
                let other = other.eval(locals, memory)?;
                if cond != 0 { then } else { other }
            }
            Node::Cast(from, to, a) => cast_bits(*from, *to, a.eval(locals, memory)?),
            Node::Math(function, prim, args) => {
                let x = args[0].eval(locals, memory)?;
                let y = args.get(1).map_or(Ok(0), |y| y.eval(locals, memory))?;
                match (function, prim) {
                    (MathImpl::One(f, _), Prim::F64) => f(f64::from_bits(x)).to_bits(),
                    (MathImpl::Two(f, _), Prim::F64) => f(f64::from_bits(x), f64::from_bits(y)).to_bits(),
                    (MathImpl::One(_, f), _) => u64::from(f(f32::from_bits(x as u32)).to_bits()),
                    (MathImpl::Two(_, f), _) => {
                        u64::from(f(f32::from_bits(x as u32), f32::from_bits(y as u32)).to_bits())
                    }
                }
            }
        })
    }
}
