//! Files as tables within a statement: `FROM 'data.csv'`, or `FROM read_csv('data.txt')` with
//! options.

use super::{normalized, visit};
use crate::database::Database;
use crate::row_format::RowReader;
use crate::tables::{NamedFileVersion, add_named_file, named_file_version};
use crate::text_columns::ColumnTypes;
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Expr as LogicalExpr;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DictionaryField, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, TableAlias, TableFactor,
    Value, VisitorMut,
};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A file that a statement reads as a table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NamedFile {
    /// The name of the table in the statement.
    pub(crate) table: String,
    /// The path of the file, or a folder or pattern.
    pub(crate) path: PathBuf,
    /// The reader, if the statement names one.
    pub(crate) reader: Option<RowReader>,
    /// The types that the statement gives to columns.
    pub(crate) types: SqlTypes,
}

/// Names of columns with types in SQL, such as `BIGINT`.
type SqlTypes = Vec<(String, String)>;

/// The functions that read a file, with their readers.
pub(super) const FUNCTIONS: [(&str, RowReader); 3] = [
    ("read_csv", RowReader::Text { delimiter: None, header: None, comment: None }),
    ("read_json", RowReader::Json),
    ("read_parquet", RowReader::Parquet),
];

impl Database {
    /// Makes tables of the files that a statement names, and replaces calls of functions that read
    /// files by the names of these tables. A file whose size or modification time has changed is
    /// read again.
    ///
    /// # Errors
    /// If a file is missing or damaged, or a function is called with wrong arguments.
    pub(super) async fn add_named_files(&self, statement: &mut Statement) -> Result<()> {
        let mut finder = FileFinder { files: Vec::new(), error: None };
        visit(statement, &mut finder);
        if let Statement::CopyTo(copy) = statement
            && let CopyToSource::Relation(name) = &copy.source
        {
            finder.relation(name);
        }
        if let Some(error) = finder.error {
            return Err(error);
        }
        let state = self.context().state();
        for file in finder.files {
            let is_table = self.context().table_exist(file.table.as_str()).unwrap_or(false);
            let version = NamedFileVersion::of(&file.path);
            if is_table && named_file_version(&state, &file.table).is_none_or(|found| found == version) {
                continue;
            }
            let types = column_types(self.context(), &file.types)?;
            let provider = self.table_of_file(&file.table, &file.path, file.reader, &types).await?;
            add_named_file(&state, &file.table, version, provider)?;
        }
        Ok(())
    }
}

/// The visitor that finds the files of a statement.
struct FileFinder {
    files: Vec<NamedFile>,
    error: Option<DataFusionError>,
}

impl FileFinder {
    fn add(&mut self, file: NamedFile) {
        if !self.files.contains(&file) {
            self.files.push(file);
        }
    }

    /// Adds the file that a quoted name refers to. A name in single quotes is always a file; a name
    /// in other quotes is a file only if the file exists.
    fn relation(&mut self, name: &ObjectName) {
        let [part] = &name.0[..] else { return };
        let Some(Ident { value, quote_style: Some(quote), .. }) = part.as_ident() else { return };
        let path = PathBuf::from(value);
        if *quote == '\'' || path.is_file() {
            self.add(NamedFile { table: value.clone(), path, reader: None, types: Vec::new() });
        }
    }
}

impl VisitorMut for FileFinder {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        self.relation(relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, args, alias, .. } = factor else { return ControlFlow::Continue(()) };
        let (Some(call), [part]) = (&args, &name.0[..]) else { return ControlFlow::Continue(()) };
        let function = part.as_ident().map(normalized).unwrap_or_default();
        let Some((_, reader)) = FUNCTIONS.iter().find(|(known, _)| *known == function) else {
            return ControlFlow::Continue(());
        };
        match read_call(&function, *reader, &call.args) {
            Ok((path, reader, types)) => {
                let list: Vec<String> = call.args.iter().map(ToString::to_string).collect();
                let table = format!("{function}({})", list.join(", "));
                *name = ObjectName::from(vec![Ident::with_quote('"', &table)]);
                *args = None;
                let name = Ident::new(function);
                alias.get_or_insert(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
                self.add(NamedFile { table, path, reader: Some(reader), types });
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Parses the SQL types of columns.
///
/// # Errors
/// If a text is not a type.
fn column_types(context: &SessionContext, types: &SqlTypes) -> Result<ColumnTypes> {
    let state = context.state();
    let parse = |(column, sql): &(String, String)| match state
        .create_logical_expr(&format!("CAST(NULL AS {sql})"), &DFSchema::empty())
    {
        Ok(LogicalExpr::Cast(cast)) => Ok((column.clone(), cast.field.data_type().clone())),
        _ => Err(DataFusionError::Plan(format!(
            "column `{column}`: expected an SQL type such as BIGINT, DOUBLE, VARCHAR or DATE, found `{sql}`"
        ))),
    };
    types.iter().map(parse).collect()
}

/// Returns the path, the reader, and the types of columns of a call of a function that reads a
/// file.
fn read_call(function: &str, mut reader: RowReader, args: &[FunctionArg]) -> Result<(PathBuf, RowReader, SqlTypes)> {
    let usage = |problem: String| {
        let options = match function {
            "read_csv" => ", header = true, delim = ',', comment = '#', types = {'COLUMN': 'VARCHAR'}",
            _ => "",
        };
        DataFusionError::Plan(format!("{problem}; write `{function}('FILE'{options})`"))
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(path)), options @ ..] = args else {
        return Err(usage(format!("`{function}` needs a file")));
    };
    let path = text_of(path).ok_or_else(|| usage(format!("`{function}` needs a file in quotes, found `{path}`")))?;
    let mut types = Vec::new();
    for option in options {
        let no_option = || usage(format!("`{function}` has no option `{option}`"));
        let (name, value) = option_of(option).ok_or_else(no_option)?;
        let RowReader::Text { delimiter, header, comment } = &mut reader else { return Err(no_option()) };
        let byte = || match text_of(value).as_deref().map(str::as_bytes) {
            Some([byte]) => Ok(Some(*byte)),
            Some(br"\t") => Ok(Some(b'\t')),
            _ => Err(usage(format!("`{name}` must be one character in quotes, found `{value}`"))),
        };
        match name.as_str() {
            "header" | "has_header" => {
                *header = match value {
                    Expr::Value(value) if value.value == Value::Boolean(true) => Some(true),
                    Expr::Value(value) if value.value == Value::Boolean(false) => Some(false),
                    _ => return Err(usage(format!("`{name}` must be true or false, found `{value}`"))),
                }
            }
            "delim" | "delimiter" | "sep" => *delimiter = byte()?,
            "comment" => *comment = byte()?,
            "types" | "dtypes" => {
                types = types_of(value)
                    .ok_or_else(|| usage(format!("`{name}` must be columns with types in braces, found `{value}`")))?;
            }
            _ => return Err(no_option()),
        }
    }
    Ok((path.into(), reader, types))
}

/// Returns the columns and types of an expression such as `{'a': 'VARCHAR', 'b': 'DATE'}`; `None`
/// for other expressions.
fn types_of(expr: &Expr) -> Option<SqlTypes> {
    let Expr::Dictionary(fields) = expr else { return None };
    let of_field = |DictionaryField { key, value }: &DictionaryField| Some((key.value.clone(), text_of(value)?));
    fields.iter().map(of_field).collect()
}

/// Returns the text of a string literal; `None` for other expressions.
fn text_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    }
}

/// Returns the name and the value of an argument `name = value` or `name => value`.
fn option_of(arg: &FunctionArg) -> Option<(String, &Expr)> {
    match arg {
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => Some((normalized(name), value)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Eq, right })) => {
            match &**left {
                Expr::Identifier(name) => Some((normalized(name), right)),
                _ => None,
            }
        }
        _ => None,
    }
}
