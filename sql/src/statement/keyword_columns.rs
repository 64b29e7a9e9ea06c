//! Columns whose names are keywords, such as `user` and `current_user`.
//!
//! The parser reads these keywords as calls of functions without parentheses. If there is no such
//! function, DataFusion takes the call for a column. But the corrections of names and of merged
//! columns find only identifiers, so this module replaces such calls by identifiers.

use super::normalized;
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArguments, Ident, VisitorMut};
use std::ops::ControlFlow;

/// The visitor that replaces keywords by identifiers, except the names of functions of a session.
pub(super) struct KeywordColumns<'s>(pub(super) &'s SessionState);

impl KeywordColumns<'_> {
    /// Returns the identifiers that a call without parentheses stands for; `None` for other calls,
    /// and if the session has a function of this name.
    fn column(&self, call: &Function) -> Option<Vec<Ident>> {
        if call.args != FunctionArguments::None || call.over.is_some() || call.filter.is_some() {
            return None;
        }
        let parts = call.name.0.iter().map(|part| part.as_ident().cloned()).collect::<Option<Vec<Ident>>>()?;
        match &parts[..] {
            [name] if self.is_function(&normalized(name)) => None,
            _ => Some(parts),
        }
    }

    fn is_function(&self, name: &str) -> bool {
        self.0.scalar_functions().contains_key(name)
            || self.0.aggregate_functions().contains_key(name)
            || self.0.window_functions().contains_key(name)
    }
}

impl VisitorMut for KeywordColumns<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(call) = expr
            && let Some(mut parts) = self.column(call)
        {
            *expr = match parts.len() {
                1 => Expr::Identifier(parts.remove(0)),
                _ => Expr::CompoundIdentifier(parts),
            };
        }
        ControlFlow::Continue(())
    }
}
