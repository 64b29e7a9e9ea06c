//! Expressions and branches as a person writes them: merges compare coordinates with each other,
//! not with their minimum, and negations are part of comparisons.

use super::super::facts::Minima;
use redpoll_compiler::assembly::{BinaryOp, CompareOp, Expr, Function, Local, Stmt, UnaryOp};
use redpoll_logic::{Prim, Scalar};

/// Rewrites the expressions and branches of a function.
pub(super) fn write_plainly(function: &mut Function) {
    let body = std::mem::take(&mut function.body);
    function.body = block(function, body, &mut BranchFacts::default());
}

/// Facts about `i64` locals at a point of a function.
#[derive(Clone, Default)]
struct BranchFacts {
    minima: Minima,
    /// Comparisons that are true.
    compared: Vec<(CompareOp, Local, Local)>,
}

impl BranchFacts {
    fn forget(&mut self, local: Local) {
        self.minima.forget(local);
        self.compared.retain(|(_, a, b)| *a != local && *b != local);
    }

    fn forget_assigned(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| stmt.for_each_assigned(&mut |local| self.forget(local)));
    }

    /// Records an assignment.
    fn assign(&mut self, function: &Function, local: Local, value: &Expr) {
        self.forget(local);
        self.minima.assign(function, local, value);
    }

    /// Returns these facts, with `comparison` added if there is one.
    fn with(&self, comparison: Option<(CompareOp, Local, Local)>) -> BranchFacts {
        let mut facts = self.clone();
        facts.compared.extend(comparison);
        facts
    }

    /// Returns whether `a <= b`; `None` if the facts do not decide this.
    fn at_most(&self, a: Local, b: Local) -> Option<bool> {
        self.compared.iter().find_map(|&(op, x, y)| match op {
            CompareOp::Eq if (x, y) == (a, b) || (y, x) == (a, b) => Some(true),
            CompareOp::Lt | CompareOp::Le if (x, y) == (a, b) => Some(true),
            CompareOp::Lt if (y, x) == (a, b) => Some(false),
            _ => None,
        })
    }

    /// Returns the operand that a minimum is equal to; `None` if the facts do not decide this.
    fn least(&self, minimum: Local) -> Option<Local> {
        let [_, a, b] = self.minima.iter().find(|[m, ..]| *m == minimum)?;
        self.at_most(a, b).map(|first| if first { a } else { b })
    }

    /// Returns `x <= y` for the comparison `x == min(x, y)`, as a constant if the facts decide it.
    fn with_other_side(&self, a: &Expr, b: &Expr) -> Option<Expr> {
        let (Expr::Local(a), Expr::Local(b)) = (a, b) else { return None };
        let (x, y) = self.minima.iter().find_map(|[minimum, x, y]| match () {
            () if [minimum, x] == [*a, *b] || [minimum, x] == [*b, *a] => Some((x, y)),
            () if [minimum, y] == [*a, *b] || [minimum, y] == [*b, *a] => Some((y, x)),
            () => None,
        })?;
        Some(self.at_most(x, y).map_or_else(|| compare(CompareOp::Le, x, y), |le| Expr::Const(Scalar::Bool(le))))
    }

    /// Rewrites an expression.
    fn plain(&self, function: &Function, e: &Expr) -> Expr {
        e.replace(&|e| match e {
            Expr::Local(local) => self.least(*local).map(Expr::Local),
            Expr::Compare(CompareOp::Eq, a, b) => self.with_other_side(a, b),
            Expr::Binary(BinaryOp::And, a, b) => Some(both(self.plain(function, a), self.plain(function, b))),
            Expr::Binary(BinaryOp::Add, a, b) => match **b {
                Expr::Const(Scalar::I64(by)) if by < 0 && by > i64::MIN => {
                    let by = Expr::Const(Scalar::I64(-by));
                    Some(Expr::Binary(BinaryOp::Sub, Box::new(self.plain(function, a)), Box::new(by)))
                }
                _ => None,
            },
            Expr::Unary(UnaryOp::Not, a) => Some(negated(function, self.plain(function, a))),
            _ => None,
        })
    }
}

fn compare(op: CompareOp, a: Local, b: Local) -> Expr {
    Expr::Compare(op, Box::new(Expr::Local(a)), Box::new(Expr::Local(b)))
}

/// Returns `a and b`, simplified; `x <= y and y <= x` becomes `x == y`.
fn both(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Expr::Const(Scalar::Bool(true)), e) | (e, Expr::Const(Scalar::Bool(true))) => e,
        (Expr::Compare(CompareOp::Le, x, y), Expr::Compare(CompareOp::Le, v, w)) if x == w && y == v => {
            Expr::Compare(CompareOp::Eq, x, y)
        }
        (a, b) => Expr::Binary(BinaryOp::And, Box::new(a), Box::new(b)),
    }
}

/// Returns the negation of a condition, as a comparison if possible. The negation of `a < b` for
/// floats is not `b <= a`, since both are false if an operand is NaN.
fn negated(function: &Function, e: Expr) -> Expr {
    let Expr::Compare(op, a, b) = e else { return Expr::Unary(UnaryOp::Not, Box::new(e)) };
    let is_float = function.prim_of(&a).is_float();
    match op {
        CompareOp::Eq => Expr::Compare(CompareOp::Ne, a, b),
        CompareOp::Ne => Expr::Compare(CompareOp::Eq, a, b),
        CompareOp::Lt if !is_float => Expr::Compare(CompareOp::Le, b, a),
        CompareOp::Le if !is_float => Expr::Compare(CompareOp::Lt, b, a),
        op => Expr::Unary(UnaryOp::Not, Box::new(Expr::Compare(op, a, b))),
    }
}

fn block(function: &Function, body: Vec<Stmt>, facts: &mut BranchFacts) -> Vec<Stmt> {
    let mut out = Vec::new();
    for mut stmt in body {
        if matches!(stmt, Stmt::While { .. } | Stmt::For { .. } | Stmt::Lanes(_)) {
            facts.forget_assigned(std::slice::from_ref(&stmt));
        }
        stmt.for_each_expr_mut(&mut |e| *e = facts.plain(function, e));
        match stmt {
            Stmt::Assign(local, value) => {
                facts.assign(function, local, &value);
                out.push(Stmt::Assign(local, value));
            }
            Stmt::If { cond, then, other } => out.extend(branch(function, cond, (then, other), facts)),
            mut stmt => {
                for body in stmt.bodies_mut().into_iter().flatten() {
                    *body = block(function, std::mem::take(body), &mut facts.clone());
                }
                out.push(stmt);
            }
        }
    }
    out
}

/// Rewrites the branches of an `if` whose condition is already rewritten. If a test of `b <= a` is
/// the whole `then` branch of a test of `a <= b`, both tests become one test of `a == b`. Its
/// `else` branch tests `a < b` or `b < a`, or is empty if both outcomes of that test do nothing.
fn branch(
    function: &Function,
    cond: Expr,
    (mut then, other): (Vec<Stmt>, Vec<Stmt>),
    facts: &mut BranchFacts,
) -> Vec<Stmt> {
    if let Expr::Const(Scalar::Bool(taken)) = cond {
        return block(function, if taken { then } else { other }, facts);
    }
    let before = facts.clone();
    facts.forget_assigned(&then);
    facts.forget_assigned(&other);
    let branch = |body, fact| block(function, body, &mut before.with(fact));
    let when = |cond, then, other| vec![Stmt::If { cond, then, other }];
    let compared = compared_locals(function, &cond);
    if let Some((CompareOp::Le, a, b)) = compared
        && let [Stmt::If { cond: inner, .. }] = &then[..]
        && before.plain(function, inner) == compare(CompareOp::Le, b, a)
        && let Some(Stmt::If { then: equal, other: less, .. }) = then.pop()
    {
        let equal = branch(equal, Some((CompareOp::Eq, a, b)));
        let (less, greater) = (branch(less, Some((CompareOp::Lt, a, b))), branch(other, Some((CompareOp::Lt, b, a))));
        let unequal = match (less.is_empty(), greater.is_empty()) {
            (true, true) => Vec::new(),
            (true, false) => when(compare(CompareOp::Lt, b, a), greater, Vec::new()),
            (false, _) => when(compare(CompareOp::Lt, a, b), less, greater),
        };
        return when(compare(CompareOp::Eq, a, b), equal, unequal);
    }
    let otherwise = compared.and_then(|(op, a, b)| match op {
        CompareOp::Lt => Some((CompareOp::Le, b, a)),
        CompareOp::Le => Some((CompareOp::Lt, b, a)),
        CompareOp::Eq | CompareOp::Ne => None,
    });
    when(cond, branch(then, compared), branch(other, otherwise))
}

/// Returns the operator and the operands of a condition that compares two `i64` locals.
fn compared_locals(function: &Function, cond: &Expr) -> Option<(CompareOp, Local, Local)> {
    let Expr::Compare(op, a, b) = cond else { return None };
    let (Expr::Local(a), Expr::Local(b)) = (&**a, &**b) else { return None };
    (function.locals[a.index()].prim == Prim::I64).then_some((*op, *a, *b))
}
