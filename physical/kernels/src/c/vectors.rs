//! Lane folds on vectors, which gcc and clang have as an extension of C.
//!
//! If lanes are scalar variables, the compiler keeps the lanes in vectors only during full rounds.
//! For the few remaining elements, the compiler extracts the lanes from the vectors, and afterwards
//! combines the lanes in scalar code, too. So the text uses vectors itself, wherever it can.

use super::expr::{VectorType, is_zero};
use super::names::{lane, partial, rest};
use super::stmt::{SerialDialect, StmtWriter};
use super::types::{Typing, c_type, literal};
use crate::vectors::absorbs;
use redpoll_compiler::assembly::{BinaryOp, BufferClass, Expr, Function, LaneFold, Local, UnaryOp};
use redpoll_logic::Prim;

/// Maximum size of a vector in bytes; a fold with few lanes has smaller vectors.
const VECTOR_BYTES: usize = 32;

impl StmtWriter<'_, SerialDialect> {
    /// Writes a lane fold on vectors: full rounds of all lanes, then vectors of the remaining
    /// elements, then a vector with the last elements and identities, then the combination of the
    /// lanes in halves. Writes nothing and returns `false` if the fold cannot run on vectors.
    pub(super) fn lanes_on_vectors(&mut self, fold: &LaneFold) -> bool {
        let Some((prim, width)) = vector_of(self.exprs.function, fold) else { return false };
        let ty = self.exprs.helpers.vector(prim, width);
        let (var, acc) = (self.local(fold.var), self.local(fold.acc));
        let lanes = usize::from(fold.lanes);
        let vectors: Vec<String> = (0..lanes / width).map(|k| lane(&acc, k)).collect();
        let identity = literal(&fold.identity, Typing::Exact).0;
        let identities = format!("{{{}}}", vec![identity; width].join(", "));
        self.line("{");
        self.depth += 1;
        let starts = vectors.iter().skip(1).map(|name| format!(", {name} = {}", vectors[0]));
        self.line(&format!("{ty} {} = {identities}{};", vectors[0], starts.collect::<String>()));
        self.lane_rounds(fold, |s| {
            vectors.iter().enumerate().for_each(|(k, name)| s.fold_vector(fold, (k * width, width), name, ""));
        });
        let rest = rest(&var);
        for (k, name) in vectors.iter().enumerate().take(vectors.len() - 1) {
            self.fold_vector(fold, (k * width, width), name, &format!("if ({rest} >= {}) ", (k + 1) * width));
        }
        let vector = VectorType { name: ty.clone(), width };
        self.nest(&format!("if ({rest} & {})", width - 1), |s| {
            let partial = partial(&acc);
            s.line(&format!("{ty} {partial} = {identities};"));
            if lanes > width {
                s.line(&format!("{var} += {rest} & {};", lanes - width));
            }
            for k in 0..width - 1 {
                let head = if k == 0 { String::new() } else { format!("if (({rest} & {}) > {k}) ", width - 1) };
                let value = s.lane_value(fold, k);
                s.line(&format!("{head}{partial}[{k}] = {value};"));
            }
            s.exprs.vector = Some(vector.clone());
            for (k, name) in vectors.iter().enumerate() {
                let folded = s.exprs.fold_names(fold.op, fold.acc, name, &partial);
                let is_else = if k == 0 { "" } else { "else " };
                let head =
                    if k + 1 == vectors.len() { String::new() } else { format!("if ({rest} < {}) ", (k + 1) * width) };
                s.line(&format!("{is_else}{head}{name} = {folded};"));
            }
            s.exprs.vector = None;
        });
        self.line("}");
        self.exprs.vector = Some(vector);
        self.combine_halves(fold, &vectors);
        self.exprs.vector = None;
        let names: Vec<String> = (0..width).map(|k| lane(&acc, vectors.len() + k)).collect();
        let elements: Vec<String> =
            names.iter().enumerate().map(|(k, name)| format!("{name} = {}[{k}]", vectors[0])).collect();
        for elements in elements.chunks(4) {
            self.line(&format!("{} {};", c_type(prim), elements.join(", ")));
        }
        self.combine_halves(fold, &names);
        self.combine((fold.op, fold.acc), &acc, &names[0]);
        self.depth -= 1;
        self.line("}");
        true
    }

    /// Writes the step that folds a vector of elements into the vector of lanes `name`. The first
    /// element has the offset `number` from the current one. The text `head` precedes the step.
    fn fold_vector(&mut self, fold: &LaneFold, (number, width): (usize, usize), name: &str, head: &str) {
        let prim = self.exprs.function.locals[fold.acc.index()].prim;
        self.exprs.lane = Some((fold.var, number));
        self.exprs.vector = Some(VectorType { name: self.exprs.helpers.vector(prim, width), width });
        let folded = self.exprs.fold(fold.op, fold.acc, name, &fold.value);
        (self.exprs.lane, self.exprs.vector) = (None, None);
        self.line(&format!("{head}{name} = {folded};"));
    }

    /// Returns the text of the value that the fold takes at offset `number` from the current
    /// element.
    fn lane_value(&mut self, fold: &LaneFold, number: usize) -> String {
        self.exprs.lane = Some((fold.var, number));
        let value = self.exprs.value(&fold.value);
        self.exprs.lane = None;
        value
    }
}

/// Returns the type and the number of the elements in a vector of a lane fold; `None` if the fold
/// cannot run on vectors.
fn vector_of(function: &Function, fold: &LaneFold) -> Option<(Prim, usize)> {
    let prim = function.locals[fold.acc.index()].prim;
    let width = usize::from(fold.lanes).min(VECTOR_BYTES / prim.bytes());
    let is_foldable = absorbs(fold.op, &fold.identity) && has_vectors(fold.op) && prim.bytes() >= 4 && width >= 2;
    let is_value = fold.value.mentions(fold.var) && is_vector(function, &fold.value, fold.var, prim);
    (is_foldable && is_value).then_some((prim, width))
}

/// Returns whether C can compute an expression on vectors of adjacent elements, with the same bits
/// as on scalars. Such an expression consists of invariants, operators that C or a helper has for
/// vectors, loads of values, and casts.
fn is_vector(function: &Function, e: &Expr, var: Local, prim: Prim) -> bool {
    if !e.mentions(var) {
        return function.prim_of(e) == prim;
    }
    let are_vectors = |operands: &[&Expr]| operands.iter().all(|e| is_vector(function, e, var, prim));
    match e {
        Expr::Load { buffer, .. } => {
            let decl = &function.buffers[buffer.index()];
            decl.class == BufferClass::Value && decl.prim == prim
        }
        Expr::Cast(to, _) => *to == prim,
        Expr::Unary(UnaryOp::Neg, a) => are_vectors(&[a]),
        Expr::Unary(UnaryOp::Abs, a) => prim.is_float() && are_vectors(&[a]),
        Expr::Binary(op, a, b) => {
            let has_vectors = match op {
                BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max => true,
                BinaryOp::Sub => !(prim.is_float() && is_zero(a)),
                BinaryOp::Div => prim.is_float(),
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => prim.is_int(),
                _ => false,
            };
            has_vectors && are_vectors(&[a, b])
        }
        _ => false,
    }
}

/// Returns whether C or a helper has the operator of a fold for vectors.
fn has_vectors(op: BinaryOp) -> bool {
    use BinaryOp::{Add, And, Max, Min, Mul, Or, Xor};
    matches!(op, Add | Mul | Min | Max | And | Or | Xor)
}
