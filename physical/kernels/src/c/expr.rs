//! Expressions: C text with as few parentheses as the grammar and readers need.
//!
//! C promotes narrower types to `int`, and converts operands of different types to one type. So
//! results of arithmetic on narrow types are cast back. The text of a constant, or of a load of a
//! narrow index, need not have the type of the expression in Assembly if another operand, an
//! assignment or a parameter converts it to that type ([`Typing`]).

use super::facts::LocalFacts;
use super::helpers::{Dialect, Helpers};
use super::names::Identifiers;
use super::types::{Typing, c_type, literal};
use crate::vectors::steps_by_one;
use redpoll_compiler::assembly::{BinaryOp, BufferClass, CompareOp, Expr, Function, Local, UnaryOp};
use redpoll_logic::{Prim, Scalar};

/// The precedence of a text, from loose to tight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Precedence {
    /// `c ? a : b`
    Choice,
    /// `a || b`, only in text for readers.
    Or,
    /// `a && b`
    And,
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
struct ExprText(String, Precedence);

/// The context in which expressions of a function are written.
pub struct ExprWriter<'a> {
    pub function: &'a Function,
    pub names: &'a Identifiers,
    pub helpers: &'a mut Helpers,
    pub facts: LocalFacts,
    /// The variable of the enclosing lane fold, and the offset of the current lane; `None` outside
    /// of lane folds.
    pub lane: Option<(Local, usize)>,
    /// The type of the vectors in which the text computes adjacent elements of a lane fold; `None`
    /// if the text computes single elements.
    pub vector: Option<VectorType>,
}

/// A type of vectors.
#[derive(Clone)]
pub struct VectorType {
    pub name: String,
    /// The number of elements.
    pub width: usize,
}

impl ExprWriter<'_> {
    /// Returns the text of an expression that an assignment, a parameter or an index converts.
    pub fn value(&mut self, e: &Expr) -> String {
        self.text(e, Typing::Weak).0
    }

    /// Returns the text of an expression as a side of a comparison.
    pub fn bound(&mut self, e: &Expr) -> String {
        parenthesize(self.text(e, Typing::Weak), Precedence::Sum)
    }

    /// Returns the text of a step of a fold, which combines the named lane with a value.
    pub fn fold(&mut self, op: BinaryOp, acc: Local, lane: &str, value: &Expr) -> String {
        let value = self.text(value, Typing::Weak);
        self.combine_in_fold(op, acc, ExprText(lane.to_owned(), Precedence::Atom), value)
    }

    /// Returns the text that combines two lanes.
    pub fn fold_names(&mut self, op: BinaryOp, acc: Local, a: &str, b: &str) -> String {
        let (a, b) = (ExprText(a.to_owned(), Precedence::Atom), ExprText(b.to_owned(), Precedence::Atom));
        self.combine_in_fold(op, acc, a, b)
    }

    fn combine_in_fold(&mut self, op: BinaryOp, acc: Local, a: ExprText, b: ExprText) -> String {
        let prim = self.function.locals[acc.index()].prim;
        match self.wrapping_helper(op, prim) {
            Some(helper) => format!("{helper}({}, {})", a.0, b.0),
            None => self.combine(op, prim, a, b).0,
        }
    }

    /// Returns the text of a loop condition. The sides of an `and` become separate tests, since
    /// their outcomes are mostly predictable.
    pub fn condition(&mut self, e: &Expr) -> String {
        self.condition_text(e).0
    }

    fn condition_text(&mut self, e: &Expr) -> ExprText {
        let Expr::Binary(BinaryOp::And, a, b) = e else {
            return self.text(e, Typing::Weak);
        };
        let (a, b) = (self.condition_text(a), self.condition_text(b));
        ExprText(
            format!("{} && {}", parenthesize(a, Precedence::And), parenthesize(b, Precedence::Compare)),
            Precedence::And,
        )
    }

    /// Returns the text of an expression as a vector. The text is one of three: a scalar, which C
    /// converts to a vector of equal elements; a loaded vector; a vector built from its elements.
    /// Returns `None` in two cases: the expression is an operator whose operands are written as
    /// vectors, or the text computes single elements.
    fn vector_text(&mut self, e: &Expr) -> Option<ExprText> {
        let (var, number) = self.lane?;
        let vector = self.vector.take()?;
        let text = match e {
            e if !e.mentions(var) => Some(cast(self.function.prim_of(e), self.text(e, Typing::Exact))),
            Expr::Load { buffer, at } if steps_by_one(at, var) => {
                let (at, buffer, ty) = (self.value(at), &self.names.buffers[buffer.index()], &vector.name);
                Some(ExprText(format!("*(const {ty} *)&{buffer}[{at}]"), Precedence::Prefix))
            }
            Expr::Load { .. } | Expr::Cast(..) => {
                let elements: Vec<String> = (number..number + vector.width)
                    .map(|number| {
                        self.lane = Some((var, number));
                        self.value(e)
                    })
                    .collect();
                self.lane = Some((var, number));
                Some(ExprText(format!("({}){{{}}}", vector.name, elements.join(", ")), Precedence::Atom))
            }
            _ => None,
        };
        self.vector = Some(vector);
        text
    }

    /// Returns the text of an expression as a vector for an argument of a helper. C converts a
    /// scalar to a vector only if the other operand of an operator is a vector, so a vector of
    /// zeros is subtracted from a scalar.
    fn vector_argument(&mut self, e: &Expr, vector: &VectorType) -> String {
        let is_invariant = self.lane.is_none_or(|(var, _)| !e.mentions(var));
        let text = self.text(e, Typing::Exact);
        match is_invariant {
            true => format!("{} - ({}){{0}}", parenthesize(text, Precedence::Sum), vector.name),
            false => text.0,
        }
    }

    fn text(&mut self, e: &Expr, typing: Typing) -> ExprText {
        if let Some(text) = self.vector_text(e) {
            return text;
        }
        // Text for readers omits the types of constants and indices.
        let reading = self.helpers.dialect == Dialect::Reading;
        let typing = if reading { Typing::Weak } else { typing };
        match e {
            Expr::Const(value) => {
                let (text, signed) = literal(value, typing);
                ExprText(text, if signed { Precedence::Sum } else { Precedence::Atom })
            }
            Expr::Local(local) => {
                let name = &self.names.locals[local.index()];
                match self.lane {
                    Some((var, offset)) if var == *local && offset > 0 => {
                        ExprText(format!("{name} + {offset}"), Precedence::Sum)
                    }
                    _ => ExprText(name.clone(), Precedence::Atom),
                }
            }
            Expr::Param(param) => ExprText(self.names.params[param.index()].clone(), Precedence::Atom),
            Expr::Load { buffer, at } => {
                let at = self.value(at);
                let load = ExprText(format!("{}[{at}]", self.names.buffers[buffer.index()]), Precedence::Atom);
                match self.element(e) {
                    Some(prim) if !reading && prim == Prim::U64 || (prim != Prim::I64 && typing == Typing::Exact) => {
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
                    && !reading
                    && let Some((a, b, non_negative)) = self.facts.as_at_most(a, b)
                {
                    let name = |local: Local| {
                        let name = &self.names.locals[local.index()];
                        if non_negative { format!("(uint64_t){name}") } else { name.clone() }
                    };
                    return infix("<=", &name(a), &name(b), Precedence::Compare);
                }
                let (a, b) = self.operands(a, b);
                // C accepts `a < b == c` without parentheses, but readers misread it.
                infix(symbol, &parenthesize(a, Precedence::Sum), &parenthesize(b, Precedence::Sum), Precedence::Compare)
            }
            Expr::Select(cond, a, b) => {
                let cond = self.text(cond, Typing::Weak);
                let (a, b) = self.operands(a, b);
                let (cond, a, b) = (
                    parenthesize(cond, Precedence::And),
                    parenthesize(a, Precedence::And),
                    parenthesize(b, Precedence::And),
                );
                ExprText(format!("{cond} ? {a} : {b}"), Precedence::Choice)
            }
            Expr::Cast(to, a) => self.cast(*to, a),
            Expr::Math(function, args) => {
                let prim = self.function.prim_of(&args[0]);
                let helper = self.helpers.math(*function, prim);
                let args: Vec<String> = args.iter().map(|a| self.value(a)).collect();
                let frame = if reading || function.expansion().is_some() { "" } else { "frame, " };
                ExprText(format!("{helper}({frame}{})", args.join(", ")), Precedence::Atom)
            }
        }
    }

    /// Returns the stored type of the index that an expression loads; `None` for other expressions.
    fn element(&self, e: &Expr) -> Option<Prim> {
        let Expr::Load { buffer, .. } = e else { return None };
        let decl = &self.function.buffers[buffer.index()];
        (decl.class == BufferClass::Index).then_some(decl.prim)
    }

    /// Returns whether the text of an expression with [`Typing::Weak`] may have another type in C
    /// than the expression.
    fn is_weak(&self, e: &Expr) -> bool {
        matches!(e, Expr::Const(_)) || self.element(e).is_some_and(|prim| prim != Prim::I64 && prim != Prim::U64)
    }

    /// Returns the texts of two operands of one type, at least one of which has that type in C.
    fn operands(&mut self, a: &Expr, b: &Expr) -> (ExprText, ExprText) {
        let left = if self.is_weak(b) { Typing::Exact } else { Typing::Weak };
        (self.text(a, left), self.text(b, Typing::Weak))
    }

    fn call(&mut self, helper: &str, args: &[&Expr]) -> ExprText {
        let args: Vec<String> = args.iter().map(|a| self.value(a)).collect();
        ExprText(format!("{helper}({})", args.join(", ")), Precedence::Atom)
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr) -> ExprText {
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
                let text = ExprText(format!("{symbol}{}", parenthesize(a, Precedence::Atom)), Precedence::Prefix);
                return narrow(prim, text);
            }
            UnaryOp::Abs
                if prim.is_float()
                    && let Some(vector) = self.vector.clone() =>
            {
                let helper = self.helpers.vector_abs(prim, vector.width);
                return ExprText(format!("{helper}({})", self.vector_argument(a, &vector)), Precedence::Atom);
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
        let prefix = if self.helpers.dialect == Dialect::Reading { "" } else { "__builtin_" };
        self.call(&format!("{prefix}{builtin}{suffix}"), &[a])
    }

    /// Returns the text of an assigned value. Minima and maxima of floats that fold into the local
    /// itself use the helper for folds.
    pub fn assignment(&mut self, local: Local, value: &Expr) -> String {
        if let Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) = value
            && **a == Expr::Local(local)
            && self.function.prim_of(a).is_float()
        {
            let helper = self.helpers.fold_min_max(*op, self.function.prim_of(a));
            return self.call(&helper, &[a, b]).0;
        }
        self.value(value)
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> ExprText {
        let prim = self.function.prim_of(a);
        if let (Some(vector), BinaryOp::Min | BinaryOp::Max) = (self.vector.clone(), op) {
            let helper = self.helpers.vector_min_max(op, prim, vector.width);
            let (a, b) = (self.vector_argument(a, &vector), self.vector_argument(b, &vector));
            return ExprText(format!("{helper}({a}, {b})"), Precedence::Atom);
        }
        let is_division = matches!(op, BinaryOp::Div | BinaryOp::Rem);
        if is_division && prim.is_int() && is_plain_divisor(b) {
            let (a, b) = self.operands(a, b);
            return join(if op == BinaryOp::Div { "/" } else { "%" }, Precedence::Product, a, b);
        }
        let reading = self.helpers.dialect == Dialect::Reading;
        if reading && matches!(op, BinaryOp::Shl | BinaryOp::Shr) && is_shift_within(prim, b) {
            let (a, b) = self.operands(a, b);
            return join(if op == BinaryOp::Shl { "<<" } else { ">>" }, Precedence::Bits, a, b);
        }
        if op == BinaryOp::Sub && prim.is_float() && is_zero(a) && !reading {
            let helper = self.helpers.sub_from_zero(prim);
            return self.call(&helper, &[b]);
        }
        let is_position = |e: &Expr| self.facts.is_position(self.function, e);
        let in_range = matches!(op, BinaryOp::Add | BinaryOp::Sub) && is_position(a) && is_position(b);
        if !in_range && let Some(helper) = self.wrapping_helper(op, prim) {
            return self.call(&helper, &[a, b]);
        }
        let (a, b) = self.operands(a, b);
        self.combine(op, prim, a, b)
    }

    /// Returns the helper for an operator that may overflow, for dialects in which overflow is
    /// undefined.
    fn wrapping_helper(&mut self, op: BinaryOp, prim: Prim) -> Option<String> {
        let overflows = match op {
            BinaryOp::Add | BinaryOp::Sub => overflows(prim),
            BinaryOp::Mul => overflows(prim) || prim == Prim::U16,
            _ => false,
        };
        (self.helpers.dialect == Dialect::Cuda && overflows).then(|| self.helpers.binary(op, prim))
    }

    /// Returns the text of an operator on two texts, at least one of which has the type `prim` in
    /// C.
    fn combine(&mut self, op: BinaryOp, prim: Prim, a: ExprText, b: ExprText) -> ExprText {
        let conditions = prim == Prim::Bool && self.helpers.dialect == Dialect::Reading;
        let (symbol, precedence) = match op {
            BinaryOp::And | BinaryOp::Min if conditions => ("&&", Precedence::And),
            BinaryOp::Or | BinaryOp::Max if conditions => ("||", Precedence::Or),
            BinaryOp::Add => ("+", Precedence::Sum),
            BinaryOp::Sub => ("-", Precedence::Sum),
            BinaryOp::Mul => ("*", Precedence::Product),
            BinaryOp::Div if prim.is_float() => ("/", Precedence::Product),
            BinaryOp::And => ("&", Precedence::Bits),
            BinaryOp::Or => ("|", Precedence::Bits),
            BinaryOp::Min if prim == Prim::Bool => ("&", Precedence::Bits),
            BinaryOp::Max if prim == Prim::Bool => ("|", Precedence::Bits),
            BinaryOp::Xor => ("^", Precedence::Bits),
            _ => {
                let helper = match &self.vector {
                    Some(vector) => self.helpers.vector_min_max(op, prim, vector.width),
                    None => self.helpers.binary(op, prim),
                };
                return ExprText(format!("{helper}({}, {})", a.0, b.0), Precedence::Atom);
            }
        };
        narrow(prim, join(symbol, precedence, a, b))
    }

    fn cast(&mut self, to: Prim, a: &Expr) -> ExprText {
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
            return infix("!=", &parenthesize(a, Precedence::Sum), zero, Precedence::Compare);
        }
        let reading = self.helpers.dialect == Dialect::Reading;
        if reading && from == Prim::Bool {
            return self.text(a, Typing::Weak);
        }
        if from.is_float() && to.is_int() && !reading {
            let helper = self.helpers.float_to_int(from, to);
            return self.call(&helper, &[a]);
        }
        let a = self.text(a, Typing::Weak);
        cast(to, a)
    }
}

/// Returns whether sums, differences and negations of a type can overflow the signed type in which
/// C computes them.
fn overflows(prim: Prim) -> bool {
    prim.is_signed() && prim.is_int() && prim.bits() >= 32
}

/// Returns whether the division of C gives the results of Assembly for this divisor: a constant
/// other than 0 and -1.
fn is_plain_divisor(e: &Expr) -> bool {
    matches!(e, Expr::Const(by) if by.to_i128().is_some_and(|by| by != 0 && by != -1) && !matches!(by, Scalar::Bool(_)))
}

/// Returns whether an expression is a constant from 0 up to, but not including, the width of a
/// type.
fn is_shift_within(prim: Prim, e: &Expr) -> bool {
    matches!(e, Expr::Const(by) if by.to_i128().is_some_and(|by| (0..i128::from(prim.bits())).contains(&by)))
}

/// Returns whether an expression is the positive zero of a float type.
pub(super) fn is_zero(e: &Expr) -> bool {
    match e {
        Expr::Const(Scalar::F32(x)) => x.to_bits() == 0,
        Expr::Const(Scalar::F64(x)) => x.to_bits() == 0,
        _ => false,
    }
}

/// Joins operands with a left-associative operator.
fn join(symbol: &str, precedence: Precedence, a: ExprText, b: ExprText) -> ExprText {
    let (left, right) = match precedence {
        // The relative precedence of these operators is easily mistaken.
        Precedence::Bits => (Precedence::Prefix, Precedence::Prefix),
        // Chains of one operator need no parentheses; mixed operators have them.
        Precedence::And | Precedence::Or if a.1 == precedence => (precedence, Precedence::Compare),
        Precedence::And | Precedence::Or => (Precedence::Compare, Precedence::Compare),
        Precedence::Sum => (Precedence::Sum, Precedence::Product),
        _ => (Precedence::Product, Precedence::Prefix),
    };
    infix(symbol, &parenthesize(a, left), &parenthesize(b, right), precedence)
}

fn infix(symbol: &str, a: &str, b: &str, precedence: Precedence) -> ExprText {
    ExprText(format!("{a} {symbol} {b}"), precedence)
}

fn cast(to: Prim, a: ExprText) -> ExprText {
    ExprText(format!("({}){}", c_type(to), parenthesize(a, Precedence::Atom)), Precedence::Prefix)
}

/// Casts the result of an operation that C computes in `int` back to a narrower type.
fn narrow(prim: Prim, text: ExprText) -> ExprText {
    if prim.is_int() && prim.bits() < 32 { cast(prim, text) } else { text }
}

/// Returns the text, in parentheses if its precedence is below `at_least`.
fn parenthesize(text: ExprText, at_least: Precedence) -> String {
    let ExprText(text, precedence) = text;
    if precedence >= at_least { text } else { format!("({text})") }
}
