//! The tables of a schema. A table is replaced in one step: a concurrent reader finds either the
//! old or the new table.

use crate::added_tables::AddedTables;
use crate::columns::{ColumnStore, FileTable};
use crate::run_ends::plain_table;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::TableReference;
use datafusion::datasource::listing::ListingTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use std::any::Any;
use std::collections::HashMap;
use std::fs::Metadata;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

/// The tables of a schema by name. Tables in memory store plain arrays in place of run-end encoded
/// arrays.
#[derive(Debug)]
pub(crate) struct SchemaTables {
    tables: RwLock<HashMap<String, Arc<dyn TableProvider>>>,
    /// The tables of files that statements have named. The list of tables omits them.
    named_files: RwLock<HashMap<String, NamedFileTable>>,
    /// The columns of files that the session keeps.
    columns: Arc<ColumnStore>,
}

impl SchemaTables {
    /// Installs empty [`SchemaTables`] as the default schema of a session, if the default catalog
    /// exists.
    ///
    /// # Errors
    /// If the catalog does not accept schemas.
    pub(crate) fn install(state: &SessionState, columns: &Arc<ColumnStore>) -> Result<()> {
        let names = &state.config_options().catalog;
        match state.catalog_list().catalog(&names.default_catalog) {
            Some(catalog) => {
                let tables = SchemaTables {
                    tables: RwLock::default(),
                    named_files: RwLock::default(),
                    columns: columns.clone(),
                };
                catalog.register_schema(&names.default_schema, Arc::new(tables)).map(drop)
            }
            None => Ok(()),
        }
    }

    /// Returns the columns of files that the session keeps.
    pub(crate) fn columns(&self) -> &Arc<ColumnStore> {
        &self.columns
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, Arc<dyn TableProvider>>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, Arc<dyn TableProvider>>> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the [`SchemaTables`] of a session's schema, also if [`AddedTables`] wraps the schema;
/// `None` if the session uses another type of schema.
pub(crate) fn schema_tables(schema: &Arc<dyn SchemaProvider>) -> Option<&SchemaTables> {
    let any: &dyn Any = &**schema;
    match any.downcast_ref::<AddedTables>() {
        Some(added) => schema_tables(&added.base),
        None => any.downcast_ref(),
    }
}

/// The table of a file that a statement has named.
#[derive(Debug)]
struct NamedFileTable {
    version: NamedFileVersion,
    table: Arc<dyn TableProvider>,
}

/// The version of a file: its size and its time of modification; `None` if the size or time cannot
/// be read, as for a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NamedFileVersion(Option<(u64, SystemTime)>);

impl NamedFileVersion {
    /// Returns the present version of a file.
    pub(crate) fn of(path: &Path) -> NamedFileVersion {
        let version = |metadata: Metadata| Some((metadata.len(), metadata.modified().ok()?));
        NamedFileVersion(std::fs::metadata(path).ok().and_then(version))
    }
}

/// Returns the version of the file that a statement has named as a table; `None` if no statement
/// has named such a file, or the default schema is not [`SchemaTables`].
pub(crate) fn named_file_version(state: &SessionState, table: &str) -> Option<NamedFileVersion> {
    let schema = state.schema_for_ref(TableReference::bare(table)).ok()?;
    let files = schema_tables(&schema)?.named_files.read().unwrap_or_else(PoisonError::into_inner);
    files.get(table).map(|file| file.version)
}

/// Registers the table of a file that a statement names. [`SchemaTables`] does not list this table;
/// other schemas do.
///
/// # Errors
/// If there is no default schema, the schema does not accept tables, or Arrow cannot decode an
/// array.
pub(crate) fn add_named_file(
    state: &SessionState,
    table: &str,
    version: NamedFileVersion,
    provider: Arc<dyn TableProvider>,
) -> Result<()> {
    let schema = state.schema_for_ref(TableReference::bare(table))?;
    match schema_tables(&schema) {
        Some(tables) => {
            let file = NamedFileTable { version, table: session_table(provider, &tables.columns)? };
            let mut files = tables.named_files.write().unwrap_or_else(PoisonError::into_inner);
            files.insert(table.to_owned(), file);
            Ok(())
        }
        None => schema.register_table(table.to_owned(), provider).map(drop),
    }
}

/// Returns the table that a session registers for `table`: tables in memory store plain arrays, and
/// the columns of files are kept in `columns`.
///
/// # Errors
/// If Arrow cannot decode an array.
pub(crate) fn session_table(
    table: Arc<dyn TableProvider>,
    columns: &Arc<ColumnStore>,
) -> Result<Arc<dyn TableProvider>> {
    let any: Arc<dyn Any + Send + Sync> = table.clone();
    if let Ok(listing) = any.downcast::<ListingTable>() {
        return Ok(Arc::new(FileTable::new(listing, columns.clone())));
    }
    match table.downcast_ref::<FileTable>() {
        Some(files) => Ok(Arc::new(FileTable::new(files.listing().clone(), columns.clone()))),
        None => plain_table(table),
    }
}

/// Registers a table, and replaces a table of the same name. In schemas other than
/// [`SchemaTables`], the name is missing for a moment.
///
/// # Errors
/// If the schema does not exist or does not accept tables, or Arrow cannot decode an array.
pub(crate) fn replace_table(state: &SessionState, table: &str, provider: Arc<dyn TableProvider>) -> Result<()> {
    let reference = TableReference::from(table);
    let name = reference.table().to_owned();
    let schema = state.schema_for_ref(reference)?;
    match schema_tables(&schema) {
        Some(tables) => {
            let table = session_table(provider, &tables.columns)?;
            tables.write().insert(name, table);
        }
        None => {
            schema.deregister_table(&name)?;
            schema.register_table(name, provider)?;
        }
    }
    Ok(())
}

#[async_trait]
impl SchemaProvider for SchemaTables {
    fn table_names(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = self.read().get(name) {
            return Ok(Some(table.clone()));
        }
        let files = self.named_files.read().unwrap_or_else(PoisonError::into_inner);
        Ok(files.get(name).map(|file| file.table.clone()))
    }

    fn register_table(&self, name: String, table: Arc<dyn TableProvider>) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = session_table(table, &self.columns)?;
        let mut tables = self.write();
        if tables.contains_key(&name) {
            return Err(DataFusionError::Execution(format!("The table {name} already exists")));
        }
        Ok(tables.insert(name, table))
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.write().remove(name))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.read().contains_key(name)
            || self.named_files.read().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }
}
