//! The tables of a schema, replaced in one step: a concurrent reader finds either the old or the
//! new table.

use crate::run_ends::plain_table;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::TableReference;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The tables of a schema by name. Tables in memory store plain arrays in place of run-end encoded
/// ones.
#[derive(Debug, Default)]
pub(crate) struct SchemaTables(RwLock<HashMap<String, Arc<dyn TableProvider>>>);

impl SchemaTables {
    /// Installs such tables as the default schema of a session, if it has one.
    ///
    /// # Errors
    /// If the catalog takes no schemas.
    pub(crate) fn install(state: &SessionState) -> Result<()> {
        let names = &state.config_options().catalog;
        match state.catalog_list().catalog(&names.default_catalog) {
            Some(catalog) => {
                catalog.register_schema(&names.default_schema, Arc::new(SchemaTables::default())).map(drop)
            }
            None => Ok(()),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, Arc<dyn TableProvider>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, Arc<dyn TableProvider>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a table, replacing one of the same name. In other kinds of schemas, the name is
/// missing for a moment.
///
/// # Errors
/// If there is no such schema, or it takes no tables.
pub(crate) fn replace_table(state: &SessionState, table: &str, provider: Arc<dyn TableProvider>) -> Result<()> {
    let reference = TableReference::from(table);
    let name = reference.table().to_owned();
    let schema = state.schema_for_ref(reference)?;
    let any: &dyn Any = &*schema;
    match any.downcast_ref::<SchemaTables>() {
        Some(tables) => drop(tables.write().insert(name, plain_table(provider)?)),
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
        Ok(self.read().get(name).cloned())
    }

    fn register_table(&self, name: String, table: Arc<dyn TableProvider>) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = plain_table(table)?;
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
    }
}
