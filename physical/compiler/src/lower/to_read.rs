//! Lowering to code for readers, in which size parameters are named after indices where possible.

use super::sizes::SizeNames;
use super::{InputLayout, LoweringOptions, Purpose, lower, lower_with};
use crate::assembly::{Expr as Code, Function, Param, Stmt as CodeStmt};
use crate::notation::Program;

/// Lowers a program like [`lower`], with size parameters named after indices, such as `n_i`.
/// Indices that access the same mode from end to end share a parameter. A storage mode that no loop
/// iterates over from end to end has a parameter of its own, such as `A_n0`. If the separate
/// parameters would change the code, returns the function of [`lower`].
pub fn lower_to_read(program: &Program, layouts: &[Option<InputLayout>], options: LoweringOptions) -> Function {
    let shared = lower(program, layouts, options);
    let named = lower_with(program, layouts, options, Purpose::Text(SizeNames::of(program)));
    let shared_param = |param: Param| {
        let source = &named.params[param.index()];
        let at = shared.params.iter().position(|p| p == source).expect("both functions have the same sizes");
        Code::Param(Param(at as u32))
    };
    let mut body = named.function.body.clone();
    replace_params(&mut body, &shared_param);
    if body == shared.function.body { named.function } else { shared.function }
}

fn replace_params(body: &mut [CodeStmt], with: &dyn Fn(Param) -> Code) {
    let replaced = |e: &Code| match e {
        Code::Param(param) => Some(with(*param)),
        _ => None,
    };
    for stmt in body {
        stmt.for_each_expr_mut(&mut |e| *e = e.replace(&replaced));
        stmt.bodies_mut().into_iter().flatten().for_each(|body| replace_params(body, with));
    }
}
