//! Columns that the options of `*` name: `EXCLUDE (..)`, `EXCEPT (..)` and `REPLACE (..)`.
//!
//! DataFusion ignores the replacement of a column that does not exist or is written in another
//! case. To find such a column, the statement is also planned with the replaced columns excluded,
//! where DataFusion checks the names.

use super::{normalized, visit};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ExceptSelectItem, ExcludeSelectItem, Expr, Ident, ObjectName, ObjectNamePart, ReplaceSelectElement, Select,
    SelectItem, VisitorMut, WildcardAdditionalOptions,
};
use std::iter;
use std::mem;
use std::ops::ControlFlow;

/// Returns the columns that the options of a `*` exclude or replace.
pub(super) fn named_columns(options: &mut WildcardAdditionalOptions) -> Vec<&mut Ident> {
    let WildcardAdditionalOptions { opt_exclude, opt_except, opt_replace, .. } = options;
    let excepted = opt_except.iter_mut();
    let excepted = excepted.flat_map(|e| iter::once(&mut e.first_element).chain(&mut e.additional_elements));
    let excluded: &mut [ObjectName] = match opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => std::slice::from_mut(name),
        Some(ExcludeSelectItem::Multiple(names)) => names,
        None => &mut [],
    };
    let excluded = excluded.iter_mut().flat_map(|name| &mut name.0).filter_map(|part| match part {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    });
    let replaced = opt_replace.iter_mut().flat_map(|replace| &mut replace.items).map(|item| &mut item.column_name);
    excepted.chain(excluded).chain(replaced).collect()
}

/// Returns the statement with each `* REPLACE (x AS c)` as `* EXCLUDE (c), x AS c`, in which
/// DataFusion checks the name `c`. The columns have another order. Returns `None` if the statement
/// replaces no columns.
pub(super) fn with_excluded_replacements(statement: &Statement) -> Option<Statement> {
    struct Excluder(bool);
    impl VisitorMut for Excluder {
        type Break = ();

        fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
            let mut projection = Vec::new();
            for mut item in mem::take(&mut select.projection) {
                let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = &mut item else {
                    projection.push(item);
                    continue;
                };
                let replaced = take_replaced(options);
                self.0 |= !replaced.is_empty();
                projection.push(item);
                projection.extend(replaced.into_iter().map(|ReplaceSelectElement { expr, column_name, .. }| {
                    SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', column_name.value) }
                }));
            }
            select.projection = projection;
            ControlFlow::Continue(())
        }
    }
    let (mut statement, mut excluder) = (statement.clone(), Excluder(false));
    visit(&mut statement, &mut excluder);
    excluder.0.then_some(statement)
}

/// Removes the replacements of a `*`, and excludes their columns.
fn take_replaced(options: &mut WildcardAdditionalOptions) -> Vec<ReplaceSelectElement> {
    let replaced: Vec<ReplaceSelectElement> =
        options.opt_replace.take().into_iter().flat_map(|replace| replace.items).map(|item| *item).collect();
    let names = replaced.iter().map(|item| item.column_name.clone());
    match &mut options.opt_except {
        _ if replaced.is_empty() => {}
        Some(ExceptSelectItem { additional_elements, .. }) => additional_elements.extend(names),
        None => {
            let earlier = match options.opt_exclude.take() {
                Some(ExcludeSelectItem::Single(name)) => vec![name],
                Some(ExcludeSelectItem::Multiple(names)) => names,
                None => Vec::new(),
            };
            let names = earlier.into_iter().chain(names.map(|name| ObjectName::from(vec![name]))).collect();
            options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
        }
    }
    replaced
}

/// Returns the items that a `*` with options selects, from the items of all columns with their
/// names. Returns `None` if there are options other than `EXCLUDE`, `EXCEPT` and `REPLACE`, or if
/// they name a column that does not exist.
pub(super) fn selected_items(
    options: &WildcardAdditionalOptions,
    items: Vec<(String, SelectItem)>,
) -> Option<Vec<SelectItem>> {
    if options.opt_ilike.is_some() || options.opt_rename.is_some() || options.opt_alias.is_some() {
        return None;
    }
    let exact = |ident: &Ident| items.iter().map(|(name, _)| name).find(|name| **name == ident.value);
    let other_case = |ident: &Ident| items.iter().map(|(name, _)| name).find(|name| **name == normalized(ident));
    let column = |ident: &Ident| exact(ident).or_else(|| other_case(ident)).cloned();
    let mut options = options.clone();
    let replaced: Option<Vec<(String, Expr)>> = options.opt_replace.take().map_or_else(
        || Some(Vec::new()),
        |replace| replace.items.into_iter().map(|item| Some((column(&item.column_name)?, item.expr))).collect(),
    );
    let replaced = replaced?;
    let excluded =
        named_columns(&mut options).into_iter().map(|ident| column(ident)).collect::<Option<Vec<String>>>()?;
    let kept = items.into_iter().filter(|(name, _)| !excluded.contains(name));
    let selected = kept.map(|(name, item)| match replaced.iter().find(|(other, _)| *other == name) {
        Some((_, expr)) => SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', name) },
        None => item,
    });
    Some(selected.collect())
}
