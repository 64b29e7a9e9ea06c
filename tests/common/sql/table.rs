//! Tables of random cases: rows, files and tensors, and the statements that declare them.

use super::arrays::{dictionary_of_null, register};
use super::compare::run;
use redpoll::Session;
use redpoll::logic::Format;
use redpoll::sql::Database;
use redpoll::sql::datafusion::arrow::array::AsArray;
use redpoll::sql::datafusion::arrow::compute::{cast, concat_batches};
use redpoll::sql::datafusion::arrow::datatypes::DataType;
use redpoll::sql::datafusion::error::{DataFusionError, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// The columns of tables, with their types. The column `r` has the values of `s`, in a kind of
/// array that is drawn separately.
pub const COLUMNS: [(&str, &str); 10] = [
    ("k", "BIGINT"),
    ("j", "BIGINT"),
    ("i", "INT"),
    ("s", "VARCHAR"),
    ("d", "DATE"),
    ("b", "BOOLEAN"),
    ("v", "BIGINT"),
    ("x", "DOUBLE"),
    ("p", "DECIMAL(12,2)"),
    ("r", "VARCHAR"),
];

/// A kind of array of texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextArray {
    /// The kind of array that SQL uses for `VARCHAR`.
    Default,
    Plain,
    Large,
    View,
    Dictionary,
    /// A dictionary whose keys are never NULL, but whose values include NULL.
    DictionaryOfNull,
    Runs,
    /// An array of NULLs, whatever the texts are.
    AllNull,
}

impl TextArray {
    /// Returns the expression that casts a text to this kind.
    fn of(self, text: &str) -> String {
        let arrow = match self {
            TextArray::Default => return text.to_owned(),
            TextArray::AllNull => return "NULL".to_owned(),
            TextArray::Plain => "Utf8",
            TextArray::Large => "LargeUtf8",
            TextArray::View => "Utf8View",
            TextArray::Dictionary | TextArray::DictionaryOfNull => "Dictionary(Int8, Utf8)",
            TextArray::Runs => "RunEndEncoded(\"run_ends\": non-null Int32, \"values\": Utf8)",
        };
        format!("arrow_cast({text}, '{arrow}')")
    }
}

/// A value as SQL.
pub type SqlValue = String;

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableColumn {
    /// The index in [`COLUMNS`].
    pub index: usize,
    pub text: TextArray,
    /// The values of all rows.
    pub values: Vec<SqlValue>,
}

impl TableColumn {
    pub fn name(&self) -> &'static str {
        COLUMNS[self.index].0
    }
}

/// The declaration of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Declaration {
    /// A table in memory.
    Rows { name: String, columns: Vec<TableColumn> },
    /// A CSV file. The declaration also writes the file, unless `contents` is `None`. `header` says
    /// whether the first row is read as a header.
    File { name: String, contents: Option<Vec<TableColumn>>, header: bool },
    /// A tensor with two modes. The table has the coordinates of its entries as columns k and j,
    /// and the values as column v.
    Tensor { name: String, shape: [u64; 2], entries: BTreeMap<[u64; 2], i64> },
}

impl Declaration {
    pub fn name(&self) -> &str {
        let (Declaration::Rows { name, .. } | Declaration::File { name, .. } | Declaration::Tensor { name, .. }) = self;
        name
    }

    /// Returns the columns whose values the declaration writes, if any.
    pub fn columns(&self) -> Option<&Vec<TableColumn>> {
        match self {
            Declaration::Rows { columns, .. } => Some(columns),
            Declaration::File { contents, .. } => contents.as_ref(),
            Declaration::Tensor { .. } => None,
        }
    }

    /// Returns the statements, with comments for columns and tensors that no statement can declare.
    pub fn statements(&self, file: &str) -> Vec<String> {
        match self {
            Declaration::Rows { name, columns } => {
                let of_null = columns.iter().filter(|c| c.text == TextArray::DictionaryOfNull);
                let comments = of_null.map(|c| {
                    format!("-- {name}.{} is a dictionary whose values include NULL and whose keys do not", c.name())
                });
                [format!("CREATE OR REPLACE TABLE {name} AS {}", select(columns))].into_iter().chain(comments).collect()
            }
            Declaration::File { name, contents, header } => {
                let copy = contents.iter().map(|columns| {
                    format!("COPY ({}) TO '{file}' OPTIONS ('format.has_header' 'false')", select(columns))
                });
                let columns = contents.as_ref().map_or_else(
                    || COLUMNS.iter().collect::<Vec<_>>(),
                    |columns| columns.iter().map(|c| &COLUMNS[c.index]).collect(),
                );
                let columns: Vec<String> = columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
                let declare = format!(
                    "CREATE EXTERNAL TABLE {name} ({}) STORED AS CSV LOCATION '{file}' OPTIONS ('format.has_header' \
                     '{header}')",
                    columns.join(", ")
                );
                copy.chain([format!("DROP TABLE IF EXISTS {name}"), declare]).collect()
            }
            Declaration::Tensor { name, shape, entries } => {
                vec![format!(
                    "-- {name} is a tensor of shape {shape:?} with the columns k, j, v and the values {entries:?}"
                )]
            }
        }
    }

    /// Declares the table; its file is in `folder`.
    ///
    /// # Errors
    /// Returns an error if a statement fails, or if the table cannot be registered.
    pub async fn declare(&self, database: &Database, folder: &Path) -> Result<()> {
        let file = folder.join("t.csv").display().to_string();
        for statement in self.statements(&file).iter().filter(|s| !s.starts_with("--")) {
            let failed = |e: DataFusionError| DataFusionError::Execution(format!("{statement}: {e}"));
            run(database, statement).await.map_err(failed)?;
        }
        match self {
            Declaration::Rows { name, columns } if columns.iter().any(|c| c.text == TextArray::DictionaryOfNull) => {
                let kinds: Vec<TextArray> = columns.iter().map(|c| c.text).collect();
                replace_dictionaries_of_null(database, name, &kinds).await?;
            }
            Declaration::Tensor { name, shape, entries } => {
                let triples = entries.iter().map(|(coordinates, value)| (*coordinates, *value as f64));
                let tensor = Session::default().triples(*shape, Format::csf(2), triples);
                let tensor = tensor.collect().map_err(|e| DataFusionError::External(Box::new(e)))?;
                let columns = ["k", "j", "v"].map(String::from).to_vec();
                database.register_tensor(name, tensor, Some(columns))?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns a query whose result has the given columns.
fn select(columns: &[TableColumn]) -> String {
    let rows = columns.first().map_or(0, |c| c.values.len());
    let expressions = columns.iter().enumerate().map(|(k, column)| {
        let (name, ty) = COLUMNS[column.index];
        format!("{} AS {name}", column.text.of(&format!("CAST(column{} AS {ty})", k + 1)))
    });
    let row = |row: usize| {
        let values: Vec<&str> = columns.iter().map(|c| c.values[row].as_str()).collect();
        format!("({})", values.join(", "))
    };
    let (rows, filter) = match rows {
        0 => (format!("({})", vec!["NULL"; columns.len()].join(", ")), " WHERE false"),
        _ => ((0..rows).map(row).collect::<Vec<_>>().join(", "), ""),
    };
    format!("SELECT {} FROM (VALUES {rows}){filter}", expressions.collect::<Vec<_>>().join(", "))
}

/// Replaces the columns of kind [`TextArray::DictionaryOfNull`] by dictionaries whose values
/// include NULL, because no statement can create such dictionaries.
async fn replace_dictionaries_of_null(database: &Database, name: &str, kinds: &[TextArray]) -> Result<()> {
    let rows = database.sql(&format!("SELECT * FROM {name}")).await?;
    let schema = rows.schema().inner().clone();
    let rows = concat_batches(&schema, &rows.collect().await?)?;
    let mut columns = Vec::new();
    for ((field, column), kind) in schema.fields().iter().zip(rows.columns()).zip(kinds) {
        let column = match kind {
            TextArray::DictionaryOfNull => {
                let text = cast(column, &DataType::Utf8)?;
                dictionary_of_null(&text.as_string::<i32>().iter().collect::<Vec<_>>())
            }
            _ => column.clone(),
        };
        columns.push((field.name().as_str(), column));
    }
    register(database, name, columns);
    Ok(())
}
