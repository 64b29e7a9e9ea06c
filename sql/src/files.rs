//! Tables of files, and parsing and execution of statements.

use crate::comparisons::with_comparisons;
use crate::database::Database;
use crate::error::Error;
use crate::guard::{guard_future, name_input};
use crate::json::{self, JsonForm};
use crate::open_quotes::{self, Quoting, Reading};
use crate::row_format::{RowFormat, RowReader, TextFormat};
use crate::statement::{changed_option, declared_input, describe_as_query, on_deep_stack, with_deep_stack};
use crate::table::{TensorOptions, open_tensor, remaining_memory};
use crate::tables::replace_table;
use crate::text_columns::{ColumnTypes, with_types};
use crate::{compressed, ipc};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::datasource::listing::{ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::options::{ArrowReadOptions, JsonReadOptions, ReadOptions};
use datafusion::prelude::{CsvReadOptions, DataFrame, ParquetReadOptions};
use datafusion::sql::parser::{DFParser, Statement};
use futures::TryStreamExt;
use redpoll_datasets::Compression;
use redpoll_datasets::file_formats::FILE_FORMATS;
use redpoll_logic::sexpr::strip_byte_order_mark;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a table.
#[derive(Clone, Copy)]
struct RowFiles<'a> {
    /// The path of a file or a folder, or a pattern.
    path: &'a str,
    files: &'a [&'a Path],
    /// The extension of all files.
    extension: &'a str,
    /// The given types of columns of delimited text; the types of other columns are inferred.
    types: &'a ColumnTypes,
}

impl Database {
    /// Registers a file as a table. The extension, in upper or lower case, determines the format:
    ///
    /// - `.csv`, `.tsv`, `.tab` and `.psv` have a header, unless the first line has numbers and no
    ///   other text; for `.txt`, the first lines show the delimiter, the header and comments;
    /// - `.ndjson`, `.jsonl` and `.json`; `.parquet`; `.arrow`;
    /// - all other files, and `.txt` in the Matrix Market format, are tensors in the formats that
    ///   `redpoll_datasets` reads.
    ///
    /// Text compressed by gzip or zstd, such as `.csv.gz`, is read into memory; DataFusion reads
    /// other files of rows during queries. A folder, subfolders included, or a pattern such as
    /// `data/*.csv`, is one table of all its files. All its files must be uncompressed files of
    /// rows with the same extension. Files with another extension are skipped if their names begin
    /// with a dot or an underscore; otherwise they are an error. A table of the same name is
    /// replaced.
    ///
    /// # Errors
    /// If the file is missing, damaged or of an unknown format, the files of a folder or pattern
    /// cannot be one table, or `table` names an SQL schema that does not exist. After an error, an
    /// earlier table of the same name stays.
    pub async fn register_file(&self, table: &str, file: &Path) -> Result<()> {
        let provider = self.table_of_file(table, file, None, &ColumnTypes::new()).await?;
        replace_table(&self.context().state(), table, provider)
    }

    /// Returns the table of a file, a folder or a pattern. Without a `reader`, the extension
    /// determines the format. `types` has the types of some columns of delimited text; the types of
    /// all other columns are inferred.
    ///
    /// # Errors
    /// If the file is missing, damaged or of an unknown format, the files of a folder or pattern
    /// cannot be one table, or `types` names a column that the table does not have.
    pub(crate) async fn table_of_file(
        &self,
        table: &str,
        file: &Path,
        reader: Option<RowReader>,
        types: &ColumnTypes,
    ) -> Result<Arc<dyn TableProvider>> {
        let input = format!("the file {}", file.display());
        let opened = guard_future(&input, self.open_file(table, file, reader, types)).await;
        opened.map_err(|error| name_input(&input, error))
    }

    async fn open_file(
        &self,
        table: &str,
        file: &Path,
        reader: Option<RowReader>,
        types: &ColumnTypes,
    ) -> Result<Arc<dyn TableProvider>> {
        let fault = |message: String| DataFusionError::Plan(format!("table `{table}`: {message}"));
        let path = file.to_str().ok_or_else(|| fault(format!("the path {} is not valid UTF-8", file.display())))?;
        if !file.exists() && path.contains("://") {
            return Err(fault(format!("{path} is no local file; download the file")));
        }
        if !file.exists() && !is_pattern(path) {
            return Err(fault(format!("there is no file {path}")));
        }
        if !file.is_file() {
            return self.table_of_files(table, path, reader, types).await;
        }
        let (extension, compressed) = extension(file);
        let memory = remaining_memory(&self.context().runtime_env());
        match row_format(extension, file, reader).map_err(|e| io_error(file, e))? {
            None => match open_tensor(path, Vec::new(), TensorOptions::default(), &memory) {
                Ok(tensor) => Ok(Arc::new(tensor)),
                Err(Error::Data(error)) if matches!(*error, redpoll_datasets::Error::UnknownFormat { .. }) => {
                    Err(fault(format!(
                        "the format of {path} is unknown; the extensions of tables are {}, and `read_csv('{path}')` \
                         reads delimited text with any extension",
                        known_extensions()
                    )))
                }
                Err(error) => Err(error.into()),
            },
            Some(RowFormat::Parquet | RowFormat::Arrow) if compressed => Err(fault(format!(
                "{path} is compressed as a whole, which is not supported for .{extension} files; decompress it"
            ))),
            Some(rows) if compressed => {
                Ok(Arc::new(compressed::read(file, rows, types, &memory).map_err(DataFusionError::from)?))
            }
            Some(rows) => {
                if rows == RowFormat::Arrow {
                    ipc::check(file).map_err(DataFusionError::from)?;
                }
                self.listing_table(table, rows, RowFiles { path, files: &[file], extension, types }).await
            }
        }
    }

    /// Returns the table of a folder or a pattern.
    async fn table_of_files(
        &self,
        table: &str,
        path: &str,
        reader: Option<RowReader>,
        types: &ColumnTypes,
    ) -> Result<Arc<dyn TableProvider>> {
        let fault = |message: String| DataFusionError::Plan(format!("table `{table}`: {message}"));
        let path = if Path::new(path).is_dir() && !path.ends_with('/') { format!("{path}/") } else { path.to_owned() };
        let url = ListingTableUrl::parse(&path)?;
        let state = self.context().state();
        let store = self.context().runtime_env().object_store(&url)?;
        let files: Vec<_> = url.list_all_files(&state, store.as_ref(), "").await?.try_collect().await?;
        let files: Vec<PathBuf> = files.iter().map(|file| Path::new("/").join(file.location.as_ref())).collect();
        let mut files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        files.sort_unstable();
        let Some(&first) = files.iter().find(|file| !is_hidden(file)) else {
            return Err(fault(format!("{path} has no files")));
        };
        let (extension, compressed) = extension(first);
        // Scans read a hidden file only if it has the extension of the other files.
        files.retain(|file| !is_hidden(file) || file.extension() == first.extension());
        if let Some(other) = files.iter().find(|file| self::extension(file).0 != extension) {
            let (first, other) = (first.display(), other.display());
            return Err(fault(format!(
                "the files of {path} have different extensions, such as {first} and {other}; select one kind, as in `folder/*.csv`"
            )));
        }
        if files.iter().any(|file| self::extension(file).1) || compressed {
            return Err(fault(format!("{path} has compressed files; decompress them, or make each a table")));
        }
        if extension.eq_ignore_ascii_case("arrow") {
            files.iter().try_for_each(|file| ipc::check(file)).map_err(DataFusionError::from)?;
        }
        match row_format(extension, first, reader).map_err(|e| io_error(first, e))? {
            Some(rows) => {
                self.listing_table(table, rows, RowFiles { path: &path, files: &files, extension, types }).await
            }
            None => Err(fault(format!(
                "the files of {path} are tensors or have an unknown format; a tensor is read from a single file"
            ))),
        }
    }

    /// Returns a table of files that DataFusion reads.
    async fn listing_table(
        &self,
        table: &str,
        rows: RowFormat,
        RowFiles { path, files, extension, types }: RowFiles<'_>,
    ) -> Result<Arc<dyn TableProvider>> {
        let context = self.context();
        let (config, defaults) = (context.copied_config(), context.copied_table_options());
        let extension = format!(".{extension}");
        let options = match rows {
            RowFormat::Text(text) => {
                let options = CsvReadOptions::new().delimiter(text.delimiter).has_header(text.header);
                let newlines_in_values = text.has_line_breaks(files)?;
                let options = CsvReadOptions { comment: text.comment, newlines_in_values, ..options };
                options.file_extension(&extension).to_listing_options(&config, defaults)
            }
            RowFormat::Json { array } => {
                let options = JsonReadOptions { newline_delimited: !array, ..JsonReadOptions::default() };
                options.file_extension(&extension).to_listing_options(&config, defaults)
            }
            RowFormat::Parquet => {
                ParquetReadOptions::default().file_extension(&extension).to_listing_options(&config, defaults)
            }
            RowFormat::Arrow => {
                let options = ArrowReadOptions { file_extension: &extension, ..ArrowReadOptions::default() };
                options.to_listing_options(&config, defaults)
            }
        };
        let url = ListingTableUrl::parse(path)?.with_table_ref(table.into());
        let schema = match rows {
            RowFormat::Text(text) => {
                let typed = with_types(&columns_of_text(text, files)?, types);
                Arc::new(typed.map_err(|e| DataFusionError::Plan(format!("table `{table}`: {e}")))?)
            }
            RowFormat::Json { array } => {
                let form = if array { JsonForm::Array } else { JsonForm::Lines };
                let inferred = options.infer_schema(&context.state(), &url).await;
                let inferred = inferred.map_err(|error| json::place_inference(error, files, form))?;
                Arc::new(json::in_order_of_keys(&inferred, files, form))
            }
            RowFormat::Parquet | RowFormat::Arrow => options.infer_schema(&context.state(), &url).await?,
        };
        if schema.fields().is_empty() {
            return Err(DataFusionError::Plan(format!("table `{table}`: {path} has no columns; is it empty?")));
        }
        let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
        let cache = context.runtime_env().cache_manager.get_file_statistic_cache();
        Ok(Arc::new(ListingTable::try_new(config)?.with_cache(cache)))
    }

    /// Parses the statements of a text, separated by `;`. The first statement may be `DESCRIBE` of
    /// a call such as `read_csv('FILE')`.
    ///
    /// # Errors
    /// If the text is not valid SQL.
    pub fn statements(&self, text: &str) -> Result<Vec<Statement>> {
        let text = strip_byte_order_mark(text);
        let described = describe_as_query(text);
        let statements = on_deep_stack(|| DFParser::parse_sql(described.as_deref().unwrap_or(text)));
        Ok(statements.map_err(|error| self.with_file_types(error))?.into())
    }

    /// Collects the rows of a query, on a stack that is large enough for deeply nested expressions.
    ///
    /// # Errors
    /// If the query fails.
    pub async fn collect(&self, frame: DataFrame) -> Result<Vec<RecordBatch>> {
        let plan = frame.logical_plan().clone();
        with_deep_stack(frame.collect()).await.map_err(|error| with_comparisons(error, &plan))
    }

    /// Plans a statement. Queries, `EXPLAIN`, `COPY` and `INSERT` run when the rows of the result
    /// are asked for; `SET`, `RESET`, and statements that create or drop tables are executed at
    /// once.
    ///
    /// # Errors
    /// If the statement does not fit the registered tables, names a file that cannot be read, or is
    /// executed at once and fails.
    pub async fn execute(&self, statement: Statement) -> Result<DataFrame> {
        let frame = with_deep_stack(async {
            let plan = self.plan(statement).await?;
            let (option, input) = (changed_option(&plan), declared_input(&plan));
            let frame = self.context().execute_logical_plan(plan).await;
            frame.map_err(|error| match (option, input) {
                (Some(option), _) => self.with_option(&option, &error),
                (None, Some(input)) => name_input(&input, error),
                (None, None) => error,
            })
        });
        guard_future("a file of the statement", frame).await
    }
}

/// Returns the format of the rows of a file; `None` if the file is a tensor or its extension is
/// unknown.
fn row_format(extension: &str, file: &Path, reader: Option<RowReader>) -> std::io::Result<Option<RowFormat>> {
    match reader {
        Some(reader) => reader.format(extension, file).map(Some),
        None => RowFormat::from_extension(extension, file),
    }
}

/// Infers the columns of files of delimited text.
///
/// # Errors
/// If [`TextFormat::infer_columns`] fails. If one of the files has an open quote or cannot be read,
/// the error says so instead.
pub(crate) fn columns_of_text(text: TextFormat, files: &[&Path]) -> Result<Schema> {
    text.infer_columns(files).map_err(|error| open_quote_error(files, text).unwrap_or(error))
}

/// Returns the error of the first file of delimited text that has an open quote or cannot be read;
/// `None` if there is no such file.
fn open_quote_error(files: &[&Path], text: TextFormat) -> Option<DataFusionError> {
    let quoting = Quoting::new(text.delimiter, text.comment);
    let check = |file: &&Path| open_quotes::check(file, quoting, Reading::Whole, || false).err();
    files.iter().find_map(check).map(DataFusionError::from)
}

/// Returns the error of a file that cannot be read.
pub(crate) fn io_error(file: &Path, source: std::io::Error) -> Error {
    redpoll_datasets::Error::Io { path: file.into(), source }.into()
}

/// Returns the extension of a file, without the extension of its compression, and whether the file
/// is compressed.
pub(crate) fn extension(file: &Path) -> (&str, bool) {
    let last = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    match Compression::of_extension(last) {
        Compression::None => (last, false),
        _ => {
            let inner = file.file_stem().map(Path::new).and_then(Path::extension);
            (inner.and_then(OsStr::to_str).unwrap_or_default(), true)
        }
    }
}

/// Lists the extensions of files that can be tables.
fn known_extensions() -> String {
    let tensors = FILE_FORMATS.iter().map(|format| format.extension);
    let tensors = tensors.filter(|extension| !RowFormat::EXTENSIONS.contains(extension));
    let extensions = RowFormat::EXTENSIONS.into_iter().chain(tensors).map(|extension| format!(".{extension}"));
    extensions.collect::<Vec<_>>().join(", ")
}

/// Returns whether a path contains characters of a pattern.
fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// Returns whether a file is hidden: its name begins with a dot or an underscore. Hidden files do
/// not decide the extension of the files of a table.
fn is_hidden(file: &Path) -> bool {
    file.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(['.', '_']))
}
