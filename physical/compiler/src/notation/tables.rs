//! The check of the rule **tables**: every id is in its table, and the tables are well-formed. See
//! the module `verify`.

use super::text::tensor_type;
use super::verify::ProgramRule;
use super::{BlockInputs, Expr, OPEN_DIMENSION, Program, Role, Stmt, TensorDecl, TensorId};
use crate::Error;
use redpoll_storage::BlockPartition;
use std::collections::HashSet;
use std::ops::Range;

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
    program.block_inputs.iter().try_for_each(|inputs| check_block_inputs(program, inputs).or_else(fail))?;
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

/// Checks that the tensor that is cut into blocks is an input, that the partition can cut its
/// modes, and that the bounds of the blocks are inputs of the expected types.
fn check_block_inputs(program: &Program, inputs: &BlockInputs) -> Result<(), String> {
    let input = |t: TensorId| match program.tensors.get(t.index()) {
        Some(decl) if decl.role == Role::Input => Ok(decl),
        Some(decl) => Err(format!("`block-inputs` names `{}`, which is not an input", decl.name)),
        None => Err("`block-inputs` names a tensor that is not in the program's tables".to_owned()),
    };
    let (of, stored) = (input(inputs.of)?, &inputs.stored);
    let levels = of.ty.format.levels.len();
    if stored.modes.is_empty() || stored.modes.end > levels {
        let modes = &stored.modes;
        return Err(format!("`{}` has {levels} storage modes, so modes {modes:?} cannot be cut", of.name));
    }
    check_fibers(of, &stored.modes)?;
    if let BlockPartition::Into(blocks) = stored.blocks
        && blocks > BlockInputs::MAX_BLOCKS
    {
        return Err(format!("{blocks} blocks exceed the maximum of {}", BlockInputs::MAX_BLOCKS));
    }
    let begins = stored.begins_type(&of.ty).ok_or_else(|| format!("`{}` has too many coordinates to cut", of.name))?;
    let counts = stored.counts_type(&of.ty);
    match (stored.blocks, inputs.counts) {
        (BlockPartition::Of(size), None) => {
            return Err(format!("`(of {size})` needs an input for the numbers of blocks"));
        }
        (BlockPartition::Into(blocks), Some(_)) => {
            return Err(format!("`(into {blocks})` must not have an input for the numbers of blocks"));
        }
        _ => {}
    }
    for (found, expected) in inputs.inputs().zip([begins].into_iter().chain(counts)) {
        let found = input(found)?;
        if *found.ty != expected {
            return Err(format!(
                "`{}` cannot have the bounds of blocks of `{}`: its type is {}, not {}",
                found.name,
                of.name,
                tensor_type(&found.ty),
                tensor_type(&expected)
            ));
        }
    }
    Ok(())
}

/// Checks that the entries of each fiber over `modes` are adjacent.
pub(super) fn check_fibers(of: &TensorDecl, modes: &Range<usize>) -> Result<(), String> {
    match of.ty.format.levels[..modes.start].iter().position(|level| !level.unique) {
        Some(k) => {
            Err(format!("level {k} of `{}` is not unique, so the entries below a coordinate are not adjacent", of.name))
        }
        None => Ok(()),
    }
}
