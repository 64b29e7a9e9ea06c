//! Traversals of statements and expressions.

use super::{Expr, Local, Stmt};

impl Expr {
    /// Calls `f` on each direct operand.
    pub fn for_each_child<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        match self {
            Expr::Const(_) | Expr::Local(_) | Expr::Param(_) => {}
            Expr::Load { at: e, .. } | Expr::Unary(_, e) | Expr::Cast(_, e) => f(e),
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => {
                f(a);
                f(b);
            }
            Expr::Select(c, a, b) => {
                f(c);
                f(a);
                f(b);
            }
            Expr::Math(_, args) => args.iter().for_each(f),
        }
    }

    /// Returns whether `test` is true for the expression or any subexpression.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(test));
        found
    }

    /// Substitutes expressions for locals.
    #[must_use]
    pub fn substitute_locals(&self, with: &dyn Fn(Local) -> Expr) -> Expr {
        let part = |e: &Expr| Box::new(e.substitute_locals(with));
        match self {
            Expr::Const(_) | Expr::Param(_) => self.clone(),
            Expr::Local(local) => with(*local),
            Expr::Load { buffer, at } => Expr::Load { buffer: *buffer, at: part(at) },
            Expr::Unary(op, e) => Expr::Unary(*op, part(e)),
            Expr::Cast(prim, e) => Expr::Cast(*prim, part(e)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, part(a), part(b)),
            Expr::Compare(op, a, b) => Expr::Compare(*op, part(a), part(b)),
            Expr::Select(c, a, b) => Expr::Select(part(c), part(a), part(b)),
            Expr::Math(f, args) => Expr::Math(*f, args.iter().map(|e| e.substitute_locals(with)).collect()),
        }
    }

    /// Returns whether the expression reads the local.
    pub fn mentions(&self, local: Local) -> bool {
        self.any(&mut |e| *e == Expr::Local(local))
    }
}

impl Stmt {
    /// Calls `f` on each expression directly in the statement, without those in bodies.
    pub fn for_each_expr<'s>(&'s self, f: &mut dyn FnMut(&'s Expr)) {
        match self {
            Stmt::Assign(_, e) | Stmt::If { cond: e, .. } | Stmt::While { cond: e, .. } | Stmt::Grow { len: e, .. } => {
                f(e);
            }
            Stmt::Store { at: a, value: b, .. }
            | Stmt::For { lo: a, hi: b, .. }
            | Stmt::Sort { lo: a, hi: b, .. }
            | Stmt::SortBy { lo: a, hi: b, .. } => {
                f(a);
                f(b);
            }
            Stmt::Lanes(fold) => {
                f(&fold.lo);
                f(&fold.hi);
                f(&fold.value);
            }
            Stmt::Break | Stmt::Swap(..) | Stmt::Return(_) => {}
        }
    }

    /// Returns the bodies of the statement: two for an `If`, one for a loop.
    pub fn bodies(&self) -> [&[Stmt]; 2] {
        match self {
            Stmt::If { then, other, .. } => [then, other],
            Stmt::While { body, .. } | Stmt::For { body, .. } => [body, &[]],
            _ => [&[], &[]],
        }
    }

    /// Calls `f` on each local that the statement or a nested one assigns, including loop
    /// variables.
    pub fn for_each_assigned(&self, f: &mut dyn FnMut(Local)) {
        match self {
            Stmt::Assign(local, _) => f(*local),
            Stmt::For { var, .. } => f(*var),
            Stmt::Lanes(fold) => {
                f(fold.acc);
                f(fold.var);
            }
            _ => {}
        }
        for stmt in self.bodies().into_iter().flatten() {
            stmt.for_each_assigned(f);
        }
    }

    /// Renames the locals that the statement reads or assigns.
    pub fn rename(&mut self, to: &dyn Fn(Local) -> Local) {
        let renamed = |e: &mut Expr| *e = e.substitute_locals(&|l| Expr::Local(to(l)));
        match self {
            Stmt::Assign(local, e) => {
                *local = to(*local);
                renamed(e);
            }
            Stmt::If { cond: e, .. } | Stmt::While { cond: e, .. } | Stmt::Grow { len: e, .. } => renamed(e),
            Stmt::For { var, lo, hi, .. } => {
                *var = to(*var);
                [lo, hi].into_iter().for_each(renamed);
            }
            Stmt::Store { at: a, value: b, .. }
            | Stmt::Sort { lo: a, hi: b, .. }
            | Stmt::SortBy { lo: a, hi: b, .. } => [a, b].into_iter().for_each(renamed),
            Stmt::Lanes(fold) => {
                (fold.acc, fold.var) = (to(fold.acc), to(fold.var));
                [&mut fold.lo, &mut fold.hi, &mut fold.value].into_iter().for_each(renamed);
            }
            Stmt::Break | Stmt::Swap(..) | Stmt::Return(_) => {}
        }
        match self {
            Stmt::If { then, other, .. } => then.iter_mut().chain(other).for_each(|s| s.rename(to)),
            Stmt::While { body, .. } | Stmt::For { body, .. } => body.iter_mut().for_each(|s| s.rename(to)),
            _ => {}
        }
    }

    /// Returns the number of statements, including nested ones and the statement itself.
    pub fn count(&self) -> usize {
        1 + self.bodies().into_iter().flatten().map(Stmt::count).sum::<usize>()
    }

    /// Returns whether the body of a loop contains a loop. The rounds of such an outer loop may
    /// take long, so each of them first checks for cancellation.
    pub fn has_loop(body: &[Stmt]) -> bool {
        let is_loop = |s: &Stmt| matches!(s, Stmt::While { .. } | Stmt::For { .. } | Stmt::Lanes(_));
        body.iter().any(|s| s.any(&mut |s| is_loop(s)))
    }

    /// Returns whether `test` is true for the statement or any nested one.
    pub fn any(&self, test: &mut dyn FnMut(&Stmt) -> bool) -> bool {
        test(self) || self.bodies().into_iter().flatten().any(|s| s.any(test))
    }
}
