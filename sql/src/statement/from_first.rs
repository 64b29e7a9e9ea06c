//! Queries with a `FROM` clause and without a `SELECT`.

use datafusion::sql::sqlparser::ast::{Select, SelectFlavor, SelectItem, VisitorMut, WildcardAdditionalOptions};
use std::ops::ControlFlow;

/// The visitor that selects all columns in `FROM t` without a `SELECT`.
pub(super) struct ColumnSelector;

impl VisitorMut for ColumnSelector {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.flavor = SelectFlavor::Standard;
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        ControlFlow::Continue(())
    }
}
