//! Correction of column names whose case in a statement differs from the case in the table. In
//! names without quotes, SQL does not distinguish upper and lower case, but DataFusion does.
//!
//! An identifier without quotes is a name in lower case. If no table has a column of that name, but
//! the tables have exactly one other spelling of the name, the identifier gets that spelling. A
//! name that is found in lower case keeps its meaning.

use super::wildcards::named_columns;
use super::{normalized, visit};
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, VisitorMut, WildcardAdditionalOptions,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Respells a column if an error says that its lower-case name is missing, and the tables of the
/// statement have exactly one other spelling. The column stays if the name may refer to something
/// else in the statement. Returns whether the statement was changed.
pub(super) fn respell(statement: &mut Statement, error: &DataFusionError, columns: &BTreeSet<String>) -> bool {
    let Some((field, valid_fields)) = missing_column(error) else { return false };
    // The error does not list the columns of enclosing queries.
    let listed = other_spelling(field, valid_fields);
    let Some(spelling) = listed.or_else(|| one_spelling(&field.name, columns.iter().map(String::as_str))) else {
        return false;
    };
    let table = field.relation.as_ref().map(|relation| relation.table().to_owned());
    let mut definitions =
        NameDefinitions { name: &field.name, has_other: false, table: table.as_deref(), table_count: 0 };
    visit(statement, &mut definitions);
    let is_plain = match table {
        // If only one table has the name that qualifies the column, that table lacks the lower-case
        // name.
        Some(_) => definitions.table_count == 1,
        // An unqualified name may refer to another definition of the lower-case name in the
        // statement.
        None => !definitions.has_other && !columns.contains(&field.name),
    };
    let mut respeller = Respeller { name: &field.name, table: table.as_deref(), spelling, changed: false };
    if is_plain {
        visit(statement, &mut respeller);
    }
    respeller.changed
}

/// Returns whether two errors say that the same column is missing, where names that differ only in
/// case are the same.
pub(super) fn misses_same_name(a: &DataFusionError, b: &DataFusionError) -> bool {
    match (missing_column(a), missing_column(b)) {
        (Some((a, _)), Some((b, _))) => a.name.eq_ignore_ascii_case(&b.name),
        _ => false,
    }
}

/// Returns whether an error says that a column is missing.
pub(super) fn misses_column(error: &DataFusionError) -> bool {
    missing_column(error).is_some()
}

/// Returns the column that is missing according to an error, and the columns that the error lists.
fn missing_column(error: &DataFusionError) -> Option<(&Column, &[Column])> {
    let DataFusionError::SchemaError(schema_error, _) = error.find_root() else { return None };
    match schema_error.as_ref() {
        SchemaError::FieldNotFound { field, valid_fields } => Some((field, valid_fields)),
        _ => None,
    }
}

/// Returns the only other spelling of a column's name, among the columns of its table.
fn other_spelling(field: &Column, valid: &[Column]) -> Option<String> {
    let of_table = |column: &&Column| match (&field.relation, &column.relation) {
        (Some(wanted), Some(relation)) => wanted.resolved_eq(relation) || wanted.table() == relation.table(),
        (Some(_), None) => false,
        (None, _) => true,
    };
    one_spelling(&field.name, valid.iter().filter(of_table).map(|column| column.name.as_str()))
}

/// Returns the only other spelling of a name, if there is exactly one.
fn one_spelling<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let spellings: BTreeSet<&str> = names.filter(|other| other.eq_ignore_ascii_case(name)).collect();
    let mut spellings = spellings.into_iter();
    match (spellings.next(), spellings.next()) {
        (Some(spelling), None) if spelling != name => Some(spelling.to_owned()),
        _ => None,
    }
}

/// The visitor that finds definitions of a name within a statement, such as `x + 1 AS name`.
struct NameDefinitions<'s> {
    name: &'s str,
    /// True if such a definition was found.
    has_other: bool,
    /// The table that qualifies the name, if any.
    table: Option<&'s str>,
    /// Number of tables that have the name `table`.
    table_count: usize,
}

impl NameDefinitions<'_> {
    fn is_name(&self, ident: &Ident) -> bool {
        normalized(ident) == self.name
    }
}

impl VisitorMut for NameDefinitions<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &select.projection {
            let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
            let last = match expr {
                Expr::Identifier(ident) => Some(ident),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            self.has_other |= self.is_name(alias) && !last.is_some_and(|ident| self.is_name(ident));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let alias = match &*factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
            _ => None,
        };
        self.has_other |= alias.is_some_and(|alias| alias.columns.iter().any(|column| self.is_name(&column.name)));
        let name = match (alias, &*factor) {
            (Some(alias), _) => Some(normalized(&alias.name)),
            (None, TableFactor::Table { name, .. }) => name.0.last().and_then(ObjectNamePart::as_ident).map(normalized),
            _ => None,
        };
        self.table_count += usize::from(name.is_some() && name.as_deref() == self.table);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.has_other |= table.alias.columns.iter().any(|column| self.is_name(&column.name));
        }
        ControlFlow::Continue(())
    }
}

/// The visitor that respells a column wherever the column is read.
struct Respeller<'s> {
    name: &'s str,
    /// The table that qualifies the name, if any.
    table: Option<&'s str>,
    spelling: String,
    changed: bool,
}

impl Respeller<'_> {
    fn respell(&mut self, ident: &mut Ident) {
        if ident.quote_style.is_none() && normalized(ident) == self.name {
            ident.value.clone_from(&self.spelling);
            ident.quote_style = Some('"');
            self.changed = true;
        }
    }

    /// Respells the columns that the options of `*` name. DataFusion takes these names in the case
    /// in which they are written.
    fn respell_options(&mut self, options: &mut WildcardAdditionalOptions) {
        for ident in named_columns(options) {
            if ident.quote_style.is_none() && ident.value == self.name {
                ident.value.clone_from(&self.spelling);
                ident.quote_style = Some('"');
                self.changed = true;
            }
        }
    }
}

impl VisitorMut for Respeller<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match (expr, self.table) {
            (Expr::Identifier(ident), None) => self.respell(ident),
            (Expr::CompoundIdentifier(parts), Some(table)) => {
                if let [.., qualifier, last] = &mut parts[..]
                    && normalized(qualifier) == table
                {
                    self.respell(last);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            match (item, self.table) {
                (SelectItem::Wildcard(options), None) => self.respell_options(options),
                (
                    SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options),
                    Some(table),
                ) => {
                    let qualifier = name.0.last().and_then(ObjectNamePart::as_ident).map(normalized);
                    if qualifier.as_deref() == Some(table) {
                        self.respell_options(options);
                    }
                }
                _ => {}
            }
        }
        for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
            let Some(JoinConstraint::Using(columns)) = constraint(&mut join.join_operator) else { continue };
            for part in columns.iter_mut().flat_map(|column| &mut column.0) {
                if let ObjectNamePart::Identifier(ident) = part {
                    self.respell(ident);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the constraint of a join; `None` for joins that take no constraint.
pub(super) fn constraint(join: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    use JoinOperator::*;
    match join {
        Join(constraint)
        | Inner(constraint)
        | Left(constraint)
        | LeftOuter(constraint)
        | Right(constraint)
        | RightOuter(constraint)
        | FullOuter(constraint)
        | Semi(constraint)
        | LeftSemi(constraint)
        | RightSemi(constraint)
        | Anti(constraint)
        | LeftAnti(constraint)
        | RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}
