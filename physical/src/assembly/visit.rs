//! Walks over statements and expressions: what an expression is made of, what a statement reads and assigns.

use super::{Expr, Local, Stmt};

impl Expr {
    /// Calls `f` on each direct part.
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

    /// Whether `test` holds for the expression or any part of it.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(test));
        found
    }

    /// The expression with others in the place of locals.
    #[must_use]
    pub fn with_locals(&self, with: &dyn Fn(Local) -> Expr) -> Expr {
        let part = |e: &Expr| Box::new(e.with_locals(with));
        match self {
            Expr::Const(_) | Expr::Param(_) => self.clone(),
            Expr::Local(local) => with(*local),
            Expr::Load { buffer, at } => Expr::Load { buffer: *buffer, at: part(at) },
            Expr::Unary(op, e) => Expr::Unary(*op, part(e)),
            Expr::Cast(prim, e) => Expr::Cast(*prim, part(e)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, part(a), part(b)),
            Expr::Compare(op, a, b) => Expr::Compare(*op, part(a), part(b)),
            Expr::Select(c, a, b) => Expr::Select(part(c), part(a), part(b)),
            Expr::Math(f, args) => Expr::Math(*f, args.iter().map(|e| e.with_locals(with)).collect()),
        }
    }

    /// Whether it reads the local.
    pub fn mentions(&self, local: Local) -> bool {
        self.any(&mut |e| *e == Expr::Local(local))
    }
}

impl Stmt {
    /// Calls `f` on each expression directly in the statement, bodies not included.
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

    /// The bodies of the statement: two for an `If`, one for a loop.
    pub fn bodies(&self) -> [&[Stmt]; 2] {
        match self {
            Stmt::If { then, other, .. } => [then, other],
            Stmt::While { body, .. } | Stmt::For { body, .. } => [body, &[]],
            _ => [&[], &[]],
        }
    }

    /// Calls `f` on each local that the statement or anything in it assigns, loop variables included.
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

    /// Puts other locals in the place of locals, read or assigned.
    pub fn rename(&mut self, to: &dyn Fn(Local) -> Local) {
        let renamed = |e: &mut Expr| *e = e.with_locals(&|l| Expr::Local(to(l)));
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

    /// The number of statements in it, itself included.
    pub fn count(&self) -> usize {
        1 + self.bodies().into_iter().flatten().map(Stmt::count).sum::<usize>()
    }

    /// Whether there is a loop in the body of a loop. The rounds of such a one take time in the product of lengths, so that
    /// each of them begins by looking whether the kernel is to stop.
    pub fn any_loop(body: &[Stmt]) -> bool {
        let is_loop = |s: &Stmt| matches!(s, Stmt::While { .. } | Stmt::For { .. } | Stmt::Lanes(_));
        body.iter().any(|s| s.any(&mut |s| is_loop(s)))
    }

    /// Whether `test` holds for the statement or any statement in it.
    pub fn any(&self, test: &mut dyn FnMut(&Stmt) -> bool) -> bool {
        test(self) || self.bodies().into_iter().flatten().any(|s| s.any(test))
    }
}
