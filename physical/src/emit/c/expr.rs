//! Expressions: C text with as few parentheses as the grammar and readers need.
//!
//! C promotes narrower types to `int`, and converts operands of different types to one. So results
//! of arithmetic on narrow types are cast back. A constant or a narrow index is written with its
//! own type only if no other operand, assignment or parameter converts it ([`Typing`]).

use super::facts::Facts;
use super::helpers::{Dialect, Helpers};
use super::names::Names;
use super::types::{Typing, c_type, literal};
use crate::assembly::{BinaryOp, BufferClass, CompareOp, Expr, Function, Local, UnaryOp};
use redpoll_logic::{Prim, Scalar};

/// The precedence of a text, from loose to tight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::emit) enum Tight {
    /// `c ? a : b`
    Choice,
    /// `a && b`
    Both,
    /// `a & b` and similar, never mixed without parentheses.
    Bits,
    /// `a < b`, `a == b`
    Compare,
    /// `a + b`
    Sum,
    /// `a * b`
    Product,
    /// `-a`, `(int32_t)a`
    Prefix,
    /// `a`, `a[i]`, `f(a)`
    Atom,
}

/// A text and its precedence.
pub(in crate::emit) struct Text(String, Tight);

/// The context in which expressions of a function are written.
pub(in crate::emit) struct Exprs<'a> {
    pub(in crate::emit) function: &'a Function,
    pub(in crate::emit) names: &'a Names,
    pub(in crate::emit) helpers: &'a mut Helpers,
    pub(in crate::emit) facts: Facts,
    /// Inside a lane of a fold: the fold's variable, and the offset to add to it.
    pub(in crate::emit) lane: Option<(Local, usize)>,
}

impl Exprs<'_> {
    /// Returns the text of an expression that an assignment, a parameter or an index converts.
    pub(in crate::emit) fn value(&mut self, e: &Expr) -> String {
        self.text(e, Typing::Weak).0
    }

    /// Returns the text of an expression as a side of a comparison.
    pub(in crate::emit) fn bound(&mut self, e: &Expr) -> String {
        wrap(self.text(e, Typing::Weak), Tight::Sum)
    }

    /// Returns the text of a step of a fold, which combines the named lane with a value.
    pub(in crate::emit) fn fold(&mut self, op: BinaryOp, acc: Local, lane: &str, value: &Expr) -> String {
        let value = self.text(value, Typing::Weak);
        self.folded(op, acc, Text(lane.to_owned(), Tight::Atom), value)
    }

    /// Returns the text of two lanes combined.
    pub(in crate::emit) fn fold_names(&mut self, op: BinaryOp, acc: Local, a: &str, b: &str) -> String {
        let (a, b) = (Text(a.to_owned(), Tight::Atom), Text(b.to_owned(), Tight::Atom));
        self.folded(op, acc, a, b)
    }

    fn folded(&mut self, op: BinaryOp, acc: Local, a: Text, b: Text) -> String {
        let prim = self.function.locals[acc.index()].prim;
        match self.wrapping(op, prim) {
            Some(helper) => format!("{helper}({}, {})", a.0, b.0),
            None => self.combine(op, prim, a, b).0,
        }
    }

    /// Returns the text of a loop condition. The sides of an `and` become separate tests, since
    /// their outcomes are mostly predictable.
    pub(in crate::emit) fn condition(&mut self, e: &Expr) -> String {
        self.tests(e).0
    }

    fn tests(&mut self, e: &Expr) -> Text {
        let Expr::Binary(BinaryOp::And, a, b) = e else {
            return self.text(e, Typing::Weak);
        };
        let (a, b) = (self.tests(a), self.tests(b));
        Text(format!("{} && {}", wrap(a, Tight::Both), wrap(b, Tight::Compare)), Tight::Both)
    }

    fn text(&mut self, e: &Expr, typing: Typing) -> Text {
        match e {
            Expr::Const(value) => {
                let (text, signed) = literal(value, typing);
                Text(text, if signed { Tight::Sum } else { Tight::Atom })
            }
            Expr::Local(local) => {
                let name = &self.names.locals[local.index()];
                match self.lane {
                    Some((var, offset)) if var == *local && offset > 0 => {
                        Text(format!("{name} + {offset}"), Tight::Sum)
                    }
                    _ => Text(name.clone(), Tight::Atom),
                }
            }
            Expr::Param(param) => Text(self.names.params[param.index()].clone(), Tight::Atom),
            Expr::Load { buffer, at } => {
                let at = self.value(at);
                let load = Text(format!("{}[{at}]", self.names.buffers[buffer.index()]), Tight::Atom);
                match self.element(e) {
                    Some(prim) if prim == Prim::U64 || (prim != Prim::I64 && typing == Typing::Exact) => {
                        cast(Prim::I64, load)
                    }
                    _ => load,
                }
            }
            Expr::Unary(op, a) => self.unary(*op, a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Compare(op, a, b) => {
                let symbol = match op {
                    CompareOp::Eq => "==",
                    CompareOp::Ne => "!=",
                    CompareOp::Lt => "<",
                    CompareOp::Le => "<=",
                };
                if *op == CompareOp::Eq
                    && let Some((a, b, natural)) = self.facts.as_at_most(a, b)
                {
                    let name = |local: Local| {
                        let name = &self.names.locals[local.index()];
                        if natural { format!("(uint64_t){name}") } else { name.clone() }
                    };
                    return infix("<=", &name(a), &name(b), Tight::Compare);
                }
                let (a, b) = self.operands(a, b);
                // C allows comparisons of comparisons without parentheses, but they are hard to
                // read.
                infix(symbol, &wrap(a, Tight::Sum), &wrap(b, Tight::Sum), Tight::Compare)
            }
            Expr::Select(cond, a, b) => {
                let cond = self.text(cond, Typing::Weak);
                let (a, b) = self.operands(a, b);
                let (cond, a, b) = (wrap(cond, Tight::Both), wrap(a, Tight::Both), wrap(b, Tight::Both));
                Text(format!("{cond} ? {a} : {b}"), Tight::Choice)
            }
            Expr::Cast(to, a) => self.cast(*to, a),
            Expr::Math(function, args) => {
                let prim = self.function.prim_of(&args[0]);
                let helper = self.helpers.math(*function, prim);
                let args: Vec<String> = args.iter().map(|a| self.value(a)).collect();
                Text(format!("{helper}(frame, {})", args.join(", ")), Tight::Atom)
            }
        }
    }

    /// Returns the type in memory of an index that the expression loads.
    fn element(&self, e: &Expr) -> Option<Prim> {
        let Expr::Load { buffer, .. } = e else { return None };
        let decl = &self.function.buffers[buffer.index()];
        (decl.class == BufferClass::Index).then_some(decl.prim)
    }

    /// Returns whether the text of an expression has another type in C unless its context converts
    /// it.
    fn is_weak(&self, e: &Expr) -> bool {
        matches!(e, Expr::Const(_)) || self.element(e).is_some_and(|prim| prim != Prim::I64 && prim != Prim::U64)
    }

    /// Returns the texts of two operands of one type, at least one of which has that type in C.
    fn operands(&mut self, a: &Expr, b: &Expr) -> (Text, Text) {
        let left = if self.is_weak(b) { Typing::Exact } else { Typing::Weak };
        (self.text(a, left), self.text(b, Typing::Weak))
    }

    fn call(&mut self, helper: &str, args: &[&Expr]) -> Text {
        let args: Vec<String> = args.iter().map(|a| self.value(a)).collect();
        Text(format!("{helper}({})", args.join(", ")), Tight::Atom)
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr) -> Text {
        let prim = self.function.prim_of(a);
        let suffix = if prim == Prim::F32 { "f" } else { "" };
        let builtin = match op {
            UnaryOp::Neg | UnaryOp::Not => {
                let symbol = match (op, prim) {
                    (UnaryOp::Neg, _) => "-",
                    (_, Prim::Bool) => "!",
                    _ => "~",
                };
                if op == UnaryOp::Neg && self.helpers.dialect == Dialect::Cuda && overflows(prim) {
                    let helper = self.helpers.neg(prim);
                    return self.call(&helper, &[a]);
                }
                let a = self.text(a, Typing::Exact);
                let text = Text(format!("{symbol}{}", wrap(a, Tight::Atom)), Tight::Prefix);
                return narrow(prim, text);
            }
            UnaryOp::Abs if prim.is_float() => "fabs",
            UnaryOp::Abs if prim.is_signed() => {
                let helper = self.helpers.abs(prim);
                return self.call(&helper, &[a]);
            }
            UnaryOp::Abs => return self.text(a, Typing::Exact),
            UnaryOp::TrailingZeros | UnaryOp::LeadingZeros => {
                let helper = self.helpers.count_zeros(op, prim);
                return self.call(&helper, &[a]);
            }
            UnaryOp::Sqrt => "sqrt",
            UnaryOp::Floor => "floor",
            UnaryOp::Ceil => "ceil",
            UnaryOp::Trunc => "trunc",
            // Rounds in the current rounding mode, which is to nearest, ties to even.
            UnaryOp::Round => "rint",
        };
        self.call(&format!("__builtin_{builtin}{suffix}"), &[a])
    }

    /// Returns the text of an assigned value. Minima and maxima of floats that fold into the local
    /// itself use a helper that stays in vector registers.
    pub(in crate::emit) fn assigned(&mut self, local: Local, value: &Expr) -> String {
        if let Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) = value
            && **a == Expr::Local(local)
            && self.function.prim_of(a).is_float()
        {
            let helper = self.helpers.folded_choice(*op, self.function.prim_of(a));
            return self.call(&helper, &[a, b]).0;
        }
        self.value(value)
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Text {
        let prim = self.function.prim_of(a);
        let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem);
        if divides && prim.is_int() && is_plain_divisor(b) {
            let (a, b) = self.operands(a, b);
            return join(if op == BinaryOp::Div { "/" } else { "%" }, Tight::Product, a, b);
        }
        if op == BinaryOp::Sub && prim.is_float() && is_zero(a) {
            let helper = self.helpers.sub_from_zero(prim);
            return self.call(&helper, &[b]);
        }
        let is_position = |e: &Expr| self.facts.is_position(self.function, e);
        let in_range = matches!(op, BinaryOp::Add | BinaryOp::Sub) && is_position(a) && is_position(b);
        if !in_range && let Some(helper) = self.wrapping(op, prim) {
            return self.call(&helper, &[a, b]);
        }
        let (a, b) = self.operands(a, b);
        self.combine(op, prim, a, b)
    }

    /// Returns the helper for an operator that may overflow, for dialects in which overflow is
    /// undefined.
    fn wrapping(&mut self, op: BinaryOp, prim: Prim) -> Option<String> {
        let overflows = match op {
            BinaryOp::Add | BinaryOp::Sub => overflows(prim),
            BinaryOp::Mul => overflows(prim) || prim == Prim::U16,
            _ => false,
        };
        (self.helpers.dialect == Dialect::Cuda && overflows).then(|| self.helpers.binary(op, prim))
    }

    /// Returns the text of an operator on two texts, at least one of which has its type in C.
    fn combine(&mut self, op: BinaryOp, prim: Prim, a: Text, b: Text) -> Text {
        let (symbol, tight) = match op {
            BinaryOp::Add => ("+", Tight::Sum),
            BinaryOp::Sub => ("-", Tight::Sum),
            BinaryOp::Mul => ("*", Tight::Product),
            BinaryOp::Div if prim.is_float() => ("/", Tight::Product),
            BinaryOp::And => ("&", Tight::Bits),
            BinaryOp::Or => ("|", Tight::Bits),
            BinaryOp::Min if prim == Prim::Bool => ("&", Tight::Bits),
            BinaryOp::Max if prim == Prim::Bool => ("|", Tight::Bits),
            BinaryOp::Xor => ("^", Tight::Bits),
            _ => {
                let helper = self.helpers.binary(op, prim);
                return Text(format!("{helper}({}, {})", a.0, b.0), Tight::Atom);
            }
        };
        narrow(prim, join(symbol, tight, a, b))
    }

    fn cast(&mut self, to: Prim, a: &Expr) -> Text {
        let from = self.function.prim_of(a);
        if from == to {
            return self.text(a, Typing::Exact);
        }
        if to == Prim::Bool {
            let zero = match from {
                Prim::F64 => "0.0",
                Prim::F32 => "0.0f",
                _ => "0",
            };
            let a = self.text(a, Typing::Exact);
            return infix("!=", &wrap(a, Tight::Sum), zero, Tight::Compare);
        }
        if from.is_float() && to.is_int() {
            let helper = self.helpers.float_to_int(from, to);
            return self.call(&helper, &[a]);
        }
        let a = self.text(a, Typing::Weak);
        cast(to, a)
    }
}

/// Returns whether arithmetic on a type can overflow the signed type in which C computes it.
fn overflows(prim: Prim) -> bool {
    prim.is_signed() && prim.is_int() && prim.bits() >= 32
}

/// Returns whether C's division by an expression is correct: a constant other than 0 and -1.
fn is_plain_divisor(e: &Expr) -> bool {
    matches!(e, Expr::Const(by) if by.to_i128().is_some_and(|by| by != 0 && by != -1) && !matches!(by, Scalar::Bool(_)))
}

/// Returns whether an expression is the positive zero of a float type.
fn is_zero(e: &Expr) -> bool {
    match e {
        Expr::Const(Scalar::F32(x)) => x.to_bits() == 0,
        Expr::Const(Scalar::F64(x)) => x.to_bits() == 0,
        _ => false,
    }
}

/// Joins operands with a left-associative operator.
fn join(symbol: &str, tight: Tight, a: Text, b: Text) -> Text {
    let (left, right) = match tight {
        // The relative precedence of these operators is easily mistaken.
        Tight::Bits => (Tight::Prefix, Tight::Prefix),
        Tight::Sum => (Tight::Sum, Tight::Product),
        _ => (Tight::Product, Tight::Prefix),
    };
    infix(symbol, &wrap(a, left), &wrap(b, right), tight)
}

fn infix(symbol: &str, a: &str, b: &str, tight: Tight) -> Text {
    Text(format!("{a} {symbol} {b}"), tight)
}

fn cast(to: Prim, a: Text) -> Text {
    Text(format!("({}){}", c_type(to), wrap(a, Tight::Atom)), Tight::Prefix)
}

/// Casts the result of an operation that C computes in `int` back to a narrower type.
fn narrow(prim: Prim, text: Text) -> Text {
    if prim.is_int() && prim.bits() < 32 { cast(prim, text) } else { text }
}

/// Returns the text, in parentheses if its precedence is below `at_least`.
fn wrap(text: Text, at_least: Tight) -> String {
    let Text(text, tight) = text;
    if tight >= at_least { text } else { format!("({text})") }
}
