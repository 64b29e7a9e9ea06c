//! The check of the rule **tables**: every id is in its table, and the tables are well-formed. See
//! the module `verify`.

use super::verify::ProgramRule;
use super::{Expr, OPEN_DIMENSION, Program, Role, Shares, Stmt};
use crate::Error;
use redpoll_logic::{DType, Format, Prim};
use std::collections::HashSet;

/// Checks the rule **tables**.
pub(super) fn check(program: &Program) -> Result<(), Error> {
    let fail = |what: String| Err(Error::InvalidProgram { rule: ProgramRule::Tables, at: "program".to_owned(), what });
    let mut names = HashSet::new();
    for tensor in &program.tensors {
        let (name, ty) = (&tensor.name, &tensor.ty);
        if !names.insert(name) {
            return fail(format!("two tensors are called `{name}`; rename one"));
        }
        if ty.format.levels.len() != ty.format.modes.len() || ty.format.rank() != ty.shape.len() {
            let (levels, modes, rank) = (ty.format.levels.len(), ty.format.modes.len(), ty.shape.len());
            return fail(format!(
                "the format of `{name}` has {levels} levels and {modes} storage modes for {rank} modes"
            ));
        }
        if ty.fill.dtype() != ty.dtype {
            return fail(format!("`{name}` has dtype {}, but a fill value of dtype {}", ty.dtype, ty.fill.dtype()));
        }
        if let Some(level) = ty.format.levels.iter().position(|l| !l.ordered && tensor.role == Role::Input) {
            return fail(format!("level {level} of `{name}` is unordered; convert it to an ordered format first"));
        }
        for (mode, &n) in ty.shape.iter().enumerate() {
            let open = n == OPEN_DIMENSION && tensor.role != Role::Input;
            if n > i64::MAX as u64 && !open {
                return fail(format!("the size of mode {mode} of `{name}` does not fit an i64"));
            }
        }
    }
    if program.tensors.iter().any(|t| t.pattern.is_some_and(|of| of.index() >= program.tensors.len())) {
        return fail("a tensor has the pattern of a tensor that is not in the program's tables".to_owned());
    }
    for shares in &program.shares {
        let [Some(input), Some(of)] = [shares.input, shares.of].map(|t| program.tensors.get(t.index())) else {
            return fail("the bounds of shares name a tensor that is not in the program's tables".to_owned());
        };
        let bounds = (shares.blocks <= Shares::MAX_BLOCKS).then(|| vec![shares.blocks + 1]);
        let is_vector = Some(&input.ty.shape) == bounds.as_ref()
            && input.ty.format == Format::dense(1)
            && input.ty.dtype == DType::Prim(Prim::I64);
        if input.role != Role::Input || of.role != Role::Input || !is_vector {
            let blocks = shares.blocks;
            return fail(format!(
                "the bounds of {blocks} blocks of an input are an input, too, a dense vector of {blocks} + 1 numbers of \
                 i64; `{}` of `{}` is not",
                input.name, of.name
            ));
        }
        let levels = of.ty.format.levels.len();
        if shares.modes == 0 || shares.modes > levels {
            return fail(format!(
                "`{}` has {levels} storage modes, so {} of them cannot be cut",
                of.name, shares.modes
            ));
        }
    }
    let mut bad = None;
    program.body.walk(&mut |s| {
        let bound = match s {
            Stmt::For { index, .. } => index.index() < program.indices.len(),
            Stmt::Let { var, .. } => var.index() < program.vars.len(),
            Stmt::Declare(t) | Stmt::Freeze(t) | Stmt::Thaw(t) => t.index() < program.tensors.len(),
            Stmt::Swap(t, u) => t.index().max(u.index()) < program.tensors.len(),
            Stmt::Assign { lhs, .. } => lhs.tensor.index() < program.tensors.len(),
            _ => true,
        };
        if !bound {
            bad = Some("a statement");
        }
        for e in s.exprs() {
            e.walk(&mut |e| {
                let exists = match e {
                    Expr::Index(i) => i.index() < program.indices.len(),
                    Expr::Var(v) => v.index() < program.vars.len(),
                    Expr::Access(a) => a.tensor.index() < program.tensors.len(),
                    Expr::Literal(_) | Expr::Call(..) => true,
                };
                if !exists {
                    bad = Some("an expression");
                }
            });
        }
    });
    match bad {
        Some(what) => fail(format!("{what} names an index, variable or tensor that is not in the program's tables")),
        None => Ok(()),
    }
}
