//! Traversals and rewrites of statements and expressions.

use super::{Expr, Extension, Local, Stmt};

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
        self.replace(&|e| match e {
            Expr::Local(local) => Some(with(*local)),
            _ => None,
        })
    }

    /// Replaces each subexpression for which `with` returns another expression. The operands of a
    /// replaced subexpression are not searched.
    #[must_use]
    pub fn replace(&self, with: &dyn Fn(&Expr) -> Option<Expr>) -> Expr {
        if let Some(other) = with(self) {
            return other;
        }
        let part = |e: &Expr| Box::new(e.replace(with));
        match self {
            Expr::Const(_) | Expr::Local(_) | Expr::Param(_) => self.clone(),
            Expr::Load { buffer, at } => Expr::Load { buffer: *buffer, at: part(at) },
            Expr::Unary(op, e) => Expr::Unary(*op, part(e)),
            Expr::Cast(prim, e) => Expr::Cast(*prim, part(e)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, part(a), part(b)),
            Expr::Compare(op, a, b) => Expr::Compare(*op, part(a), part(b)),
            Expr::Select(c, a, b) => Expr::Select(part(c), part(a), part(b)),
            Expr::Math(f, args) => Expr::Math(*f, args.iter().map(|e| e.replace(with)).collect()),
        }
    }

    /// Returns whether the expression reads the local.
    pub fn mentions(&self, local: Local) -> bool {
        self.any(&mut |e| *e == Expr::Local(local))
    }
}

impl<X: Extension> Stmt<X> {
    /// Calls `f` on each expression of the statement, except those in its bodies.
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
            Stmt::Extension(added) => added.for_each_expr(f),
        }
    }

    /// Returns the bodies of the statement: two for an `If`, one for a loop, none for others. Empty
    /// slices fill the array.
    pub fn bodies(&self) -> [&[Stmt<X>]; 2] {
        match self {
            Stmt::If { then, other, .. } => [then, other],
            Stmt::While { body, .. } | Stmt::For { body, .. } => [body, &[]],
            Stmt::Extension(added) => [added.body().unwrap_or_default(), &[]],
            _ => [&[], &[]],
        }
    }

    /// Returns the bodies of the statement, mutably.
    pub fn bodies_mut(&mut self) -> [Option<&mut Vec<Stmt<X>>>; 2] {
        match self {
            Stmt::If { then, other, .. } => [Some(then), Some(other)],
            Stmt::While { body, .. } | Stmt::For { body, .. } => [Some(body), None],
            Stmt::Extension(added) => [added.body_mut(), None],
            _ => [None, None],
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
            Stmt::Extension(added) => added.for_each_assigned(f),
            _ => {}
        }
        for stmt in self.bodies().into_iter().flatten() {
            stmt.for_each_assigned(f);
        }
    }

    /// Returns the number of statements, including nested ones and the statement itself.
    pub fn count(&self) -> usize {
        1 + self.bodies().into_iter().flatten().map(Stmt::count).sum::<usize>()
    }

    /// Returns whether the body of a loop contains a loop or a lane fold. The rounds of such an
    /// outer loop may take long, so each round first checks for cancellation.
    pub fn has_loop(body: &[Stmt<X>]) -> bool {
        let is_loop = |s: &Stmt<X>| match s {
            Stmt::While { .. } | Stmt::For { .. } | Stmt::Lanes(_) => true,
            Stmt::Extension(added) => added.body().is_some(),
            _ => false,
        };
        body.iter().any(|s| s.any(&mut |s| is_loop(s)))
    }

    /// Returns whether `test` is true for the statement or any nested one.
    pub fn any(&self, test: &mut dyn FnMut(&Stmt<X>) -> bool) -> bool {
        test(self) || self.bodies().into_iter().flatten().any(|s| s.any(test))
    }

    /// Converts the statement to a statement of another machine: `active` converts the lanes of a
    /// store, `block` converts bodies.
    ///
    /// # Errors
    /// Returns the extension if the statement is an extension. The caller converts it.
    pub fn convert<Y: Extension>(
        &self,
        active: impl FnOnce(X::ActiveLanes) -> Y::ActiveLanes,
        block: impl Fn(&[Stmt<X>]) -> Vec<Stmt<Y>>,
    ) -> Result<Stmt<Y>, &X> {
        Ok(match self {
            Stmt::Assign(local, value) => Stmt::Assign(*local, value.clone()),
            Stmt::Store { active: lanes, buffer, at, value } => {
                Stmt::Store { active: active(*lanes), buffer: *buffer, at: at.clone(), value: value.clone() }
            }
            Stmt::If { cond, then, other } => Stmt::If { cond: cond.clone(), then: block(then), other: block(other) },
            Stmt::While { cond, body } => Stmt::While { cond: cond.clone(), body: block(body) },
            Stmt::For { var, lo, hi, body } => {
                Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body: block(body) }
            }
            Stmt::Break => Stmt::Break,
            Stmt::Lanes(fold) => Stmt::Lanes(fold.clone()),
            Stmt::Grow { buffer, len } => Stmt::Grow { buffer: *buffer, len: len.clone() },
            Stmt::Sort { buffer, lo, hi } => Stmt::Sort { buffer: *buffer, lo: lo.clone(), hi: hi.clone() },
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                Stmt::SortBy { perm: *perm, major: *major, minor: *minor, lo: lo.clone(), hi: hi.clone() }
            }
            Stmt::Swap(a, b) => Stmt::Swap(*a, *b),
            Stmt::Return(status) => Stmt::Return(*status),
            Stmt::Extension(added) => return Err(added),
        })
    }
}

impl Stmt {
    /// Calls `f` on each expression of the statement, except those in its bodies.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Stmt::Assign(_, e) | Stmt::If { cond: e, .. } | Stmt::While { cond: e, .. } | Stmt::Grow { len: e, .. } => {
                f(e);
            }
            Stmt::Store { at: a, value: b, .. }
            | Stmt::For { lo: a, hi: b, .. }
            | Stmt::Sort { lo: a, hi: b, .. }
            | Stmt::SortBy { lo: a, hi: b, .. } => [a, b].into_iter().for_each(f),
            Stmt::Lanes(fold) => [&mut fold.lo, &mut fold.hi, &mut fold.value].into_iter().for_each(f),
            Stmt::Break | Stmt::Swap(..) | Stmt::Return(_) => {}
            Stmt::Extension(never) => match *never {},
        }
    }

    /// Renames the locals that the statement and nested ones read or assign.
    pub fn rename(&mut self, to: &dyn Fn(Local) -> Local) {
        match self {
            Stmt::Assign(local, _) | Stmt::For { var: local, .. } => *local = to(*local),
            Stmt::Lanes(fold) => (fold.acc, fold.var) = (to(fold.acc), to(fold.var)),
            _ => {}
        }
        self.for_each_expr_mut(&mut |e| *e = e.substitute_locals(&|l| Expr::Local(to(l))));
        self.bodies_mut().into_iter().flatten().flatten().for_each(|s| s.rename(to));
    }
}
