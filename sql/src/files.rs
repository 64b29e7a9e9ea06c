//! Tables of files, and statements of texts.

use crate::csv;
use crate::database::Database;
use crate::error::Error;
use crate::guard::guarded;
use crate::ipc;
use crate::statement::{deep, on_deep_stack};
use crate::table::{Declared, open};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::options::ArrowReadOptions;
use datafusion::prelude::{CsvReadOptions, DataFrame, ParquetReadOptions};
use datafusion::sql::parser::{DFParser, Statement};
use std::path::Path;
use std::sync::Arc;

impl Database {
    /// Registers a file as a table, by its extension: tensors of the formats that `redpoll_datasets` reads, compressed or
    /// not, `.csv`, `.parquet` and `.arrow` as DataFusion reads them, and `.csv.gz` and `.csv.zst`, which are read into memory.
    /// A table of that name is replaced.
    ///
    /// # Errors
    /// When the file is missing, damaged or of no known format.
    pub async fn register_file(&self, table: &str, file: &Path) -> Result<()> {
        guarded(&format!("the file {}", file.display()), self.register(table, file)).await
    }

    async fn register(&self, table: &str, file: &Path) -> Result<()> {
        let path = file.to_str().ok_or_else(|| DataFusionError::Plan(format!("{}: no text", file.display())))?;
        if !file.exists() {
            return Err(DataFusionError::Plan(format!("table `{table}`: there is no file {path}")));
        }
        let context = self.context();
        context.deregister_table(table)?;
        match file.extension().and_then(|e| e.to_str()) {
            Some("csv") => context.register_csv(table, path, CsvReadOptions::new()).await,
            Some("parquet") => context.register_parquet(table, path, ParquetReadOptions::default()).await,
            Some("arrow") => {
                ipc::check(file)?;
                context.register_arrow(table, path, ArrowReadOptions::default()).await
            }
            Some("gz" | "zst")
                if file.file_stem().is_some_and(|stem| Path::new(stem).extension() == Some("csv".as_ref())) =>
            {
                let rows = csv::read(file).map_err(DataFusionError::from)?;
                context.register_table(table, Arc::new(rows)).map(|_| ())
            }
            _ => {
                let tensor =
                    open(path, Vec::new(), Declared::default()).map_err(|e: Error| DataFusionError::from(e))?;
                context.register_table(table, Arc::new(tensor)).map(|_| ())
            }
        }
    }

    /// The statements of a text, separated by `;`.
    ///
    /// # Errors
    /// When the text is no SQL.
    pub fn statements(&self, text: &str) -> Result<Vec<Statement>> {
        Ok(on_deep_stack(|| DFParser::parse_sql(text))?.into())
    }

    /// The rows of a query, computed where there is room for expressions that are nested deeply.
    ///
    /// # Errors
    /// When the query fails.
    pub async fn collect(&self, frame: DataFrame) -> Result<Vec<RecordBatch>> {
        deep(frame.collect()).await
    }

    /// Plans a statement; its rows are computed when they are asked for.
    ///
    /// # Errors
    /// When the statement does not fit the tables that there are.
    pub async fn execute(&self, statement: Statement) -> Result<DataFrame> {
        let planned = deep(async { self.context().execute_logical_plan(self.plan(statement).await?).await });
        guarded("the statement", planned).await
    }
}
