//! Tables that a database has for some statements only, such as the data frames of one call.

use crate::database::Database;
use crate::tables::{schema_tables, session_table};
use async_trait::async_trait;
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList, SchemaProvider,
    TableProvider,
};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionContext;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

impl Database {
    /// Returns a database with further tables, which hide tables of the same names in the default
    /// schema. The names are compared exactly; SQL converts unquoted identifiers to lower case.
    ///
    /// Statements that create, replace or drop tables in the new database change the tables of this
    /// database. Both databases share the engine and its caches. An option that is set afterwards,
    /// or a function that is registered afterwards, affects only the database in which this
    /// happens.
    ///
    /// ```
    /// use redpoll_sql::datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// use redpoll_sql::datafusion::arrow::util::display::array_value_to_string;
    /// use redpoll_sql::datafusion::catalog::TableProvider;
    /// use redpoll_sql::datafusion::datasource::MemTable;
    /// use std::sync::Arc;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 2]));
    /// let rows = RecordBatch::try_from_iter([("k", keys)])?;
    /// let frame: Arc<dyn TableProvider> = Arc::new(MemTable::try_new(rows.schema(), vec![vec![rows]])?);
    ///
    /// let database = redpoll::Session::default().database();
    /// let with_frame = database.with_tables([("t".to_owned(), frame)])?;
    /// with_frame.sql("CREATE TABLE counts AS SELECT k, count(*) AS n FROM t GROUP BY k").await?.collect().await?;
    /// let rows = database.sql("SELECT n FROM counts WHERE k = 2").await?.collect().await?;
    /// assert_eq!(array_value_to_string(rows[0].column(0), 0)?, "2");
    /// assert!(database.sql("SELECT * FROM t").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there is no default schema, or Arrow cannot decode a run-end encoded column.
    pub fn with_tables(&self, tables: impl IntoIterator<Item = (String, Arc<dyn TableProvider>)>) -> Result<Database> {
        let state = self.context().state();
        let catalogs = with_added_tables(&state, tables)?;
        let state = SessionStateBuilder::new_from_existing(state).with_catalog_list(catalogs).build();
        Ok(self.with_context(SessionContext::new_with_state(state)))
    }
}

/// Returns the catalogs of a session, with added tables in the default schema.
fn with_added_tables(
    state: &SessionState,
    added: impl IntoIterator<Item = (String, Arc<dyn TableProvider>)>,
) -> Result<Arc<dyn CatalogProviderList>> {
    let names = &state.config_options().catalog;
    let (catalog_name, schema_name) = (&names.default_catalog, &names.default_schema);
    let missing = || DataFusionError::Plan(format!("there is no default schema `{catalog_name}.{schema_name}`"));
    let catalog = state.catalog_list().catalog(catalog_name).ok_or_else(missing)?;
    let base = catalog.schema(schema_name).ok_or_else(missing)?;
    let columns = schema_tables(&base).map(|tables| tables.columns().clone());
    let mut tables = HashMap::new();
    for (name, table) in added {
        let table = match &columns {
            Some(columns) => session_table(table, columns)?,
            None => table,
        };
        tables.insert(name, table);
    }
    let catalogs = MemoryCatalogProviderList::new();
    for name in state.catalog_list().catalog_names() {
        if let Some(catalog) = state.catalog_list().catalog(&name) {
            catalogs.register_catalog(name, catalog);
        }
    }
    let schemas = MemoryCatalogProvider::new();
    for name in catalog.schema_names() {
        if let Some(schema) = catalog.schema(&name) {
            schemas.register_schema(&name, schema)?;
        }
    }
    schemas.register_schema(schema_name, Arc::new(AddedTables { tables, base }))?;
    catalogs.register_catalog(catalog_name.clone(), Arc::new(schemas));
    Ok(Arc::new(catalogs))
}

/// A schema with added tables. Statements create and drop tables in `base`.
#[derive(Debug)]
pub(crate) struct AddedTables {
    tables: HashMap<String, Arc<dyn TableProvider>>,
    /// The schema that is extended. An added table hides the table of the same name in this schema.
    pub(crate) base: Arc<dyn SchemaProvider>,
}

#[async_trait]
impl SchemaProvider for AddedTables {
    fn table_names(&self) -> Vec<String> {
        let names: BTreeSet<String> = self.tables.keys().cloned().chain(self.base.table_names()).collect();
        names.into_iter().collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match self.tables.get(name) {
            Some(table) => Ok(Some(table.clone())),
            None => self.base.table(name).await,
        }
    }

    fn register_table(&self, name: String, table: Arc<dyn TableProvider>) -> Result<Option<Arc<dyn TableProvider>>> {
        self.base.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        self.base.deregister_table(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.contains_key(name) || self.base.table_exist(name)
    }
}
