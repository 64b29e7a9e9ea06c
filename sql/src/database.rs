//! A DataFusion session with redpoll in it.

use crate::claim::ClaimRegions;
use crate::engine::Engine;
use crate::error::Error;
use crate::options::RedpollOptions;
use crate::planner::RegionPlanner;
use crate::table::{TensorFactory, TensorFiles, TensorTable, entries};
use datafusion::arrow::compute::concat_batches;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use redpoll_physical::storage::Tensor;
use std::sync::Arc;

/// A DataFusion session whose queries redpoll may claim. Clones are the same session.
#[derive(Clone)]
pub struct Database {
    context: SessionContext,
}

impl Database {
    /// A session with DataFusion's configuration for one process, whose regions an engine runs.
    pub fn new(engine: Arc<dyn Engine>) -> Database {
        Database::with_config(engine, SessionConfig::new().with_information_schema(true))
    }

    /// A session with that configuration.
    pub fn with_config(engine: Arc<dyn Engine>, config: SessionConfig) -> Database {
        let config = config.with_option_extension(RedpollOptions::default());
        let mut builder = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features()
            .with_optimizer_rule(Arc::new(ClaimRegions))
            .with_query_planner(Arc::new(RegionPlanner { engine, cache: Arc::default() }));
        for file_type in TensorFactory::FILE_TYPES {
            builder = builder.with_table_factory(file_type.to_string(), Arc::new(TensorFactory));
        }
        let mut state = builder.build();
        for file_type in TensorFactory::FILE_TYPES {
            let files = Arc::new(TensorFiles(file_type));
            state.register_file_format(files, true).expect("formats of other engines are replaced");
        }
        Database { context: SessionContext::new_with_state(state) }
    }

    /// The DataFusion session.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Plans a statement; its rows are computed when they are asked for.
    ///
    /// # Errors
    /// When the text is no statement over the tables that there are.
    pub async fn sql(&self, text: &str) -> Result<DataFrame> {
        self.context.sql(text).await
    }

    /// The rows of a query as a tensor: coordinates in all columns but the last, values in the last. Without a shape, each
    /// mode ends at its largest coordinate.
    ///
    /// # Errors
    /// When the query fails, a coordinate is NULL, negative or no integer, or places repeat.
    pub async fn tensor(&self, query: &str, shape: Option<Vec<u64>>) -> Result<Tensor> {
        let frame = self.sql(query).await?;
        let schema = frame.schema().inner().clone();
        Ok(entries(&concat_batches(&schema, &frame.collect().await?)?, shape)?)
    }

    /// Registers a tensor as a table; without names its columns are `i0`, `i1`, .., `value`.
    ///
    /// # Errors
    /// When the names do not fit the modes, or the values are structs.
    pub fn register_tensor(&self, table: &str, tensor: Tensor, columns: Option<Vec<String>>) -> Result<(), Error> {
        let provider = match columns {
            None => TensorTable::new(tensor)?,
            Some(names) => TensorTable::with_columns(tensor, names)?,
        };
        let registered = self.context.register_table(table, Arc::new(provider));
        registered.map(|_| ()).map_err(|e| Error::Declaration { table: table.to_string(), what: e.to_string() })
    }
}
