//! Dtypes of expressions.

use super::{Expr, Program};
use redpoll_logic::DType;

/// Returns the dtype of an expression of the program.
///
/// # Errors
/// When an operator does not fit its arguments, or an argument lacks a cast.
///
/// # Panics
/// When a tensor or variable is not in the program's tables.
pub fn dtype_of(program: &Program, expr: &Expr) -> Result<DType, String> {
    Ok(match expr {
        Expr::Literal(value) => value.dtype(),
        Expr::Index(_) => DType::I64,
        Expr::Var(v) => program.vars[v.index()].1.clone(),
        Expr::Access(a) => program.tensors[a.tensor.index()].ty.dtype.clone(),
        Expr::Call(op, args) => {
            let found = args.iter().map(|a| dtype_of(program, a)).collect::<Result<Vec<_>, _>>()?;
            let signature = op.signature(&found).map_err(|e| e.to_string())?;
            if let Some(k) = (0..found.len()).find(|&k| found[k] != signature.args[k]) {
                let (found, expected) = (&found[k], &signature.args[k]);
                return Err(format!(
                    "argument {k} of operator `{op}` has dtype {found}, expected {expected}; put a cast around it"
                ));
            }
            signature.result
        }
    })
}
