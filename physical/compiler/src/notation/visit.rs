//! Constructors of expressions and statements, and traversals of programs: the children of
//! statements and expressions, rebuilding from changed children, and queries about nested
//! statements.
//!
//! Children are visited in the order of execution, so that passes over lifecycles can use the same
//! traversals.

use super::{Access, AccessSubscript, Expr, Stmt, TensorId};
use redpoll_logic::Scalar;
use redpoll_logic::op::Op;
use redpoll_logic::physical::Protocol;
use std::convert::Infallible;

impl Expr {
    /// Makes an `i64` constant.
    pub fn int(value: i64) -> Expr {
        Expr::Literal(Scalar::I64(value))
    }

    /// Makes a call of an operator.
    pub fn call(op: impl Into<Op>, args: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::Call(op.into(), args.into_iter().collect())
    }

    /// Returns the value of an `i64` constant; `None` for other expressions.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Expr::Literal(Scalar::I64(v)) => Some(*v),
            _ => None,
        }
    }

    /// Returns the direct subexpressions: arguments, or the subscripts of an access.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Literal(_) | Expr::Index(_) | Expr::Var(_) => Vec::new(),
            Expr::Access(a) => a.subscripts.iter().map(|s| &s.at).collect(),
            Expr::Call(_, args) => args.iter().collect(),
        }
    }

    /// Calls `f` with the expression and all subexpressions, including subscripts, outermost first.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }

    /// Returns every access in the expression, including those in subscripts.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        self.walk(&mut |e| {
            if let Expr::Access(a) = e {
                found.push(a);
            }
        });
        found
    }

    /// Applies `f` to all subexpressions and then to the expression itself.
    ///
    /// # Errors
    /// The errors of `f`.
    pub fn map<E>(self, f: &mut dyn FnMut(Expr) -> Result<Expr, E>) -> Result<Expr, E> {
        let rebuilt = match self {
            Expr::Access(a) => Expr::Access(a.map(f)?),
            Expr::Call(op, args) => Expr::Call(op, args.into_iter().map(|a| a.map(f)).collect::<Result<_, E>>()?),
            leaf => leaf,
        };
        f(rebuilt)
    }
}

impl Access {
    /// Applies `f` to the subscripts and their subexpressions, inside out.
    ///
    /// # Errors
    /// The errors of `f`.
    pub fn map<E>(self, f: &mut dyn FnMut(Expr) -> Result<Expr, E>) -> Result<Access, E> {
        let subscripts = self
            .subscripts
            .into_iter()
            .map(|s| Ok(AccessSubscript { at: s.at.map(f)?, ..s }))
            .collect::<Result<_, E>>()?;
        Ok(Access { subscripts, ..self })
    }
}

impl Stmt {
    /// Makes a sequence of statements. The contents of a block among the statements take its place,
    /// and a single statement is not wrapped.
    pub fn block(stmts: impl IntoIterator<Item = Stmt>) -> Stmt {
        let mut flat = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Block(inner) => flat.extend(inner),
                stmt => flat.push(stmt),
            }
        }
        match flat.len() {
            1 => flat.swap_remove(0),
            _ => Stmt::Block(flat),
        }
    }

    /// Returns the direct substatements, in the order of execution: the producer of a `where` is
    /// first.
    pub fn children(&self) -> Vec<&Stmt> {
        match self {
            Stmt::Block(stmts) => stmts.iter().collect(),
            Stmt::For { body, .. } | Stmt::If { body, .. } | Stmt::Let { body, .. } | Stmt::While { body, .. } => {
                vec![body]
            }
            Stmt::Where { consumer, producer } => vec![producer, consumer],
            Stmt::Declare(_) | Stmt::Freeze(_) | Stmt::Thaw(_) | Stmt::Swap(..) | Stmt::Assign { .. } => Vec::new(),
        }
    }

    /// Applies `f` to the direct substatements, in the order of execution.
    ///
    /// # Errors
    /// The errors of `f`.
    pub fn map_children<E>(self, f: &mut dyn FnMut(Stmt) -> Result<Stmt, E>) -> Result<Stmt, E> {
        let mut one = |s: Box<Stmt>| f(*s).map(Box::new);
        Ok(match self {
            Stmt::For { index, extent, rounds, body } => Stmt::For { index, extent, rounds, body: one(body)? },
            Stmt::If { cond, body } => Stmt::If { cond, body: one(body)? },
            Stmt::Let { var, value, body } => Stmt::Let { var, value, body: one(body)? },
            Stmt::While { cond, body } => Stmt::While { cond, body: one(body)? },
            Stmt::Where { consumer, producer } => {
                let producer = one(producer)?;
                Stmt::Where { consumer: one(consumer)?, producer }
            }
            Stmt::Block(stmts) => Stmt::Block(stmts.into_iter().map(f).collect::<Result<_, E>>()?),
            leaf => leaf,
        })
    }

    /// Returns the expressions that the statement itself evaluates, apart from nested statements.
    /// These expressions include the subscripts of a written access, but not the access.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Stmt::For { extent: Some((lo, hi)), .. } => vec![lo, hi],
            Stmt::If { cond: e, .. } | Stmt::While { cond: e, .. } | Stmt::Let { value: e, .. } => vec![e],
            Stmt::Assign { lhs, rhs, .. } => lhs.subscripts.iter().map(|s| &s.at).chain([rhs]).collect(),
            _ => Vec::new(),
        }
    }

    /// Applies `f` to the expressions of [`Stmt::exprs`] and their subexpressions, inside out.
    ///
    /// # Errors
    /// The errors of `f`.
    pub fn map_exprs<E>(self, f: &mut dyn FnMut(Expr) -> Result<Expr, E>) -> Result<Stmt, E> {
        Ok(match self {
            Stmt::For { index, extent, rounds, body } => {
                let extent = match extent {
                    Some((lo, hi)) => Some((lo.map(f)?, hi.map(f)?)),
                    None => None,
                };
                Stmt::For { index, extent, rounds, body }
            }
            Stmt::If { cond, body } => Stmt::If { cond: cond.map(f)?, body },
            Stmt::While { cond, body } => Stmt::While { cond: cond.map(f)?, body },
            Stmt::Let { var, value, body } => Stmt::Let { var, value: value.map(f)?, body },
            Stmt::Assign { lhs, write, rhs } => Stmt::Assign { lhs: lhs.map(f)?, write, rhs: rhs.map(f)? },
            other => other,
        })
    }

    /// Substitutes an expression for an index, in the statement and in nested statements.
    pub(super) fn with_index(self, index: super::Index, at: &Expr) -> Stmt {
        let one = &mut |e| Ok(if e == Expr::Index(index) { at.clone() } else { e });
        infallible(infallible(self.map_exprs(one)).map_children(&mut |s| Ok(s.with_index(index, at))))
    }

    /// Returns whether the statement declares, freezes, thaws or swaps tensors. Bodies of loops,
    /// `if` and `while` are not searched.
    pub(super) fn changes_lifecycles(&self) -> bool {
        match self {
            Stmt::Declare(_) | Stmt::Freeze(_) | Stmt::Thaw(_) | Stmt::Swap(..) => true,
            Stmt::For { .. } | Stmt::If { .. } | Stmt::While { .. } => false,
            _ => self.children().into_iter().any(Stmt::changes_lifecycles),
        }
    }

    /// Calls `f` with the statement and all nested statements, in the order of execution, outermost
    /// first.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Stmt)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }

    /// Returns whether the statement or a nested statement changes the state of the tensor or swaps
    /// it.
    pub fn changes_state(&self, tensor: TensorId) -> bool {
        let mut found = false;
        self.walk(&mut |s| {
            found |= match s {
                Stmt::Declare(t) | Stmt::Freeze(t) | Stmt::Thaw(t) => *t == tensor,
                Stmt::Swap(a, b) => *a == tensor || *b == tensor,
                _ => false,
            };
        });
        found
    }

    /// Returns whether all reads of a level of a tensor, in the statement and in nested statements,
    /// use the protocol `follow`, and the tensor is not swapped.
    pub fn is_only_followed(&self, tensor: TensorId, level: usize) -> bool {
        let mut only = true;
        self.walk(&mut |s| {
            let reads = s.exprs().into_iter().flat_map(Expr::accesses).filter(|a| a.tensor == tensor);
            only &= reads.into_iter().all(|a| a.subscripts[level].protocol == Protocol::Follow);
            only &= !matches!(s, Stmt::Swap(a, b) if *a == tensor || *b == tensor);
        });
        only
    }

    /// Returns the tensors that the statement itself reads, apart from nested statements, once for
    /// each access.
    pub fn direct_reads(&self) -> Vec<TensorId> {
        self.exprs().into_iter().flat_map(Expr::accesses).map(|a| a.tensor).collect()
    }
}

/// Unwraps the result of a traversal whose function cannot fail.
pub(super) fn infallible<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}
