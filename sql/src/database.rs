//! A DataFusion session with redpoll in it.

use crate::background::Background;
use crate::cache::Cache;
use crate::claim::{self, ClaimRegions, Reason};
use crate::correlated::NameApart;
use crate::engine::Engine;
use crate::engines::Engines;
use crate::error::Error;
use crate::options::RedpollOptions;
use crate::planner::{RegionPlanner, SessionPlanner};
use crate::semiring::{Function, Semiring};
use crate::statement::on_deep_stack;
use crate::table::{TensorFactory, TensorFiles, TensorTable, entries};
use crate::tables::{Tables, replace};
use datafusion::arrow::compute::concat_batches;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::{AggregateUDF, LogicalPlan};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use redpoll_physical::storage::Tensor;
use std::fmt;
use std::sync::Arc;

/// A DataFusion session whose queries redpoll may claim. Clones are the same session.
#[derive(Clone)]
pub struct Database {
    context: SessionContext,
    pub(crate) cache: Arc<Cache>,
    background: Arc<Background>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("id", &self.context.session_id()).finish_non_exhaustive()
    }
}

/// Returns the configuration of sessions that are given none: a folder or pattern takes the files of folders inside, too.
fn default_config() -> SessionConfig {
    let config = SessionConfig::new().with_information_schema(true);
    config.set_bool("datafusion.execution.listing_table_ignore_subdirectory", false)
}

impl Database {
    /// A session with DataFusion's configuration for one process, whose regions an engine runs.
    pub fn new(engine: Arc<dyn Engine>) -> Database {
        Database::with_config(engine, default_config())
    }

    /// As [`Database::new`]; what DataFusion computes and what is read of files takes no more than that many bytes.
    ///
    /// # Panics
    /// When a runtime cannot be made that has no other settings.
    pub fn within(engine: Arc<dyn Engine>, bytes: usize) -> Database {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0).build_arc();
        Database::with_runtime(engine, default_config(), runtime.expect("a limit of memory is no fault"))
    }

    /// A session with that configuration.
    pub fn with_config(engine: Arc<dyn Engine>, config: SessionConfig) -> Database {
        Database::with_runtime(engine, config, Arc::default())
    }

    /// A session with that configuration, whose memory, files and caches are those of a runtime.
    pub fn with_runtime(engine: Arc<dyn Engine>, config: SessionConfig, runtime: Arc<RuntimeEnv>) -> Database {
        let config = config.with_option_extension(RedpollOptions::default());
        let (cache, background) = (Arc::<Cache>::default(), Arc::<Background>::default());
        let engines = Arc::new(Engines::new(engine));
        let regions = RegionPlanner { engines, cache: cache.clone(), background: Arc::downgrade(&background) };
        let planner = SessionPlanner { regions, _background: background.clone() };
        let mut builder = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features()
            .with_analyzer_rule(Arc::new(NameApart))
            .with_optimizer_rule(Arc::new(ClaimRegions { cache: cache.clone() }))
            .with_query_planner(Arc::new(planner));
        for file_type in TensorFactory::FILE_TYPES {
            builder = builder.with_table_factory(file_type.to_string(), Arc::new(TensorFactory));
        }
        let mut state = builder.build();
        for file_type in TensorFactory::FILE_TYPES {
            let files = Arc::new(TensorFiles(file_type));
            state.register_file_format(files, true).expect("formats of other engines are replaced");
        }
        Tables::install(&state).expect("a catalog in memory takes schemas");
        Database { context: SessionContext::new_with_state(state), cache, background }
    }

    /// The DataFusion session.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Every aggregate of an optimized plan that is not claimed, with the reason.
    pub fn declined(&self, plan: &LogicalPlan) -> Vec<(String, Reason)> {
        claim::declined(plan, self.context.state().config_options(), &self.cache)
    }

    /// Waits until every region that is to be prepared is: what was answered before finds its region ready then, if it can be
    /// prepared. Queries whose rows nobody has asked for yet are waited for, too.
    pub async fn prepared(&self) {
        self.background.idle().await;
    }

    /// Plans a statement; its rows are computed when they are asked for.
    ///
    /// # Errors
    /// When the text is no statement over the tables that there are.
    pub async fn sql(&self, text: &str) -> Result<DataFrame> {
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let statement = on_deep_stack(|| state.sql_to_statement(text, &dialect))?;
        self.execute(statement).await
    }

    /// The rows of a query as a tensor: coordinates in all columns but the last, values in the last. Without a shape, each
    /// mode ends at its largest coordinate.
    ///
    /// # Errors
    /// When the query fails, a coordinate is NULL, negative or no integer, or places repeat.
    pub async fn tensor(&self, query: &str, shape: Option<Vec<u64>>) -> Result<Tensor> {
        let frame = self.sql(query).await?;
        let schema = frame.schema().inner().clone();
        Ok(entries(&concat_batches(&schema, &self.collect(frame).await?)?, shape)?)
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
        self.register_table(table, provider)
    }

    /// Registers an aggregate function over a semiring, which regions may have.
    pub fn register_semiring(&self, semiring: Semiring) {
        self.context.register_udaf(AggregateUDF::from(Function::new(semiring)));
    }

    /// Registers the table of a tensor; a table of that name is replaced.
    ///
    /// # Errors
    /// When there is no such schema.
    pub fn register_table(&self, table: &str, provider: TensorTable) -> Result<(), Error> {
        replace(&self.context.state(), table, Arc::new(provider))
            .map_err(|e| Error::Declaration { table: table.to_string(), what: e.to_string() })
    }
}
