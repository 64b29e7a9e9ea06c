//! A DataFusion session with redpoll as an engine.

use crate::claim::UnclaimedReason;
use crate::correlated::RenameCorrelated;
use crate::dictionaries::UnpackDictionaries;
use crate::engine::Engine;
use crate::engines::Engines;
use crate::error::Error;
use crate::options::{RedpollOptions, TargetChoice};
use crate::planner::{RegionPlanner, SessionPlanner};
use crate::policy::{BackgroundJobs, Cache, ClaimRegions, unclaimed_aggregates};
use crate::same_names::physical_optimizer_rules;
use crate::semiring::{Semiring, SemiringFunction};
use crate::statement::{describe_as_query, on_deep_stack};
use crate::table::{TensorFactory, TensorFileFactory, TensorTable, tensor_of_rows};
use crate::tables::{SchemaTables, replace_table};
use datafusion::arrow::compute::concat_batches;
use datafusion::catalog::TableProvider;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::{AggregateUDF, LogicalPlan};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use redpoll_storage::Tensor;
use std::fmt;
use std::sync::Arc;

/// A DataFusion session in which redpoll may claim regions of queries. Clones are the same session.
///
/// Queries run on the caller's tokio runtime. A region runs on the runtime's threads for blocking
/// work, or on a thread of its own if it is prepared in the background.
///
/// ```
/// use redpoll::Session;
/// use redpoll_sql::Database;
/// use redpoll_sql::datafusion::arrow::util::pretty::pretty_format_batches;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let database: Database = Session::default().database();
/// for statement in [
///     "CREATE TABLE a (i BIGINT, k BIGINT, v BIGINT) AS VALUES (0, 0, 2), (1, 0, 3)",
///     "CREATE TABLE b (k BIGINT, j BIGINT, v BIGINT) AS VALUES (0, 0, 10), (1, 0, 100)",
/// ] {
///     database.sql(statement).await?.collect().await?;
/// }
/// let product = "SELECT i, j, sum(a.v * b.v) AS v FROM a JOIN b ON a.k = b.k GROUP BY i, j ORDER BY i";
/// let rows = database.sql(product).await?.collect().await?;
/// let expected = "\
/// +---+---+----+
/// | i | j | v  |
/// +---+---+----+
/// | 0 | 0 | 20 |
/// | 1 | 0 | 30 |
/// +---+---+----+";
/// assert_eq!(pretty_format_batches(&rows)?.to_string(), expected);
/// let tensor = database.tensor(product, Some(vec![2, 2])).await?;
/// assert_eq!(tensor.ty().shape, [2, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Database {
    context: SessionContext,
    pub(crate) cache: Arc<Cache>,
    /// The engines, one for each target.
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "the workers of clusters read them"))]
    pub(crate) engines: Arc<Engines>,
    background: Arc<BackgroundJobs>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("id", &self.context.session_id()).finish_non_exhaustive()
    }
}

/// Returns the default configuration of sessions. The table of a folder or pattern includes the
/// files of subfolders.
fn default_config() -> SessionConfig {
    let config = SessionConfig::new().with_information_schema(true);
    config.set_bool("datafusion.execution.listing_table_ignore_subdirectory", false)
}

impl Database {
    /// Returns a session in which `engine` runs the claimed regions. The configuration is
    /// DataFusion's default with the options of redpoll and two changes: there is an information
    /// schema, and the table of a folder or pattern includes the files of subfolders.
    pub fn new(engine: Arc<dyn Engine>) -> Database {
        Database::with_config(engine, default_config())
    }

    /// Returns a session like [`Database::new`], whose computations and file reads take at most
    /// `bytes` of memory.
    ///
    /// # Panics
    /// If DataFusion cannot create a runtime with a memory limit.
    pub fn with_memory_limit(engine: Arc<dyn Engine>, bytes: usize) -> Database {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0).build_arc();
        Database::with_runtime(engine, default_config(), runtime.expect("DataFusion accepts any memory limit"))
    }

    /// Returns a session with the given configuration.
    pub fn with_config(engine: Arc<dyn Engine>, config: SessionConfig) -> Database {
        Database::with_runtime(engine, config, Arc::default())
    }

    /// Returns a session with the given configuration, and with the memory, files and caches of
    /// `runtime`.
    pub fn with_runtime(engine: Arc<dyn Engine>, config: SessionConfig, runtime: Arc<RuntimeEnv>) -> Database {
        let config = config.with_option_extension(RedpollOptions {
            engine: TargetChoice::session(engine.target_check()),
            ..RedpollOptions::default()
        });
        let (cache, background) = (Arc::<Cache>::default(), Arc::<BackgroundJobs>::default());
        let engines = Arc::new(Engines::new(engine));
        let regions =
            RegionPlanner { engines: engines.clone(), cache: cache.clone(), background: Arc::downgrade(&background) };
        let planner = SessionPlanner { regions, _background: background.clone() };
        let mut builder = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features()
            .with_analyzer_rule(Arc::new(RenameCorrelated))
            .with_analyzer_rule(Arc::new(UnpackDictionaries))
            .with_optimizer_rule(Arc::new(ClaimRegions { cache: cache.clone() }))
            .with_physical_optimizer_rules(physical_optimizer_rules())
            .with_query_planner(Arc::new(planner));
        for file_type in TensorFactory::FILE_TYPES {
            builder = builder.with_table_factory(file_type.to_string(), Arc::new(TensorFactory));
        }
        let mut state = builder.build();
        for file_type in TensorFactory::FILE_TYPES {
            let files = Arc::new(TensorFileFactory(file_type));
            state.register_file_format(files, true).expect("registration replaces other formats");
        }
        SchemaTables::install(&state, &cache.columns).expect("the default catalog accepts schemas");
        Database { context: SessionContext::new_with_state(state), cache, engines, background }
    }

    /// Returns the DataFusion session.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Returns the same database over another DataFusion session, whose state is derived from the
    /// state of this session.
    pub(crate) fn with_context(&self, context: SessionContext) -> Database {
        Database { context, ..self.clone() }
    }

    /// Returns the aggregates of an optimized plan that are not claimed, each with the reason.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database = redpoll::Session::default().database();
    /// let frame = database.sql("SELECT count(*) FROM (VALUES (1), (2)) GROUP BY column1").await?;
    /// let unclaimed = database.unclaimed_aggregates(&frame.into_optimized_plan()?);
    /// let (_, reason) = &unclaimed[0];
    /// assert!(reason.to_string().contains("a single table"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn unclaimed_aggregates(&self, plan: &LogicalPlan) -> Vec<(String, UnclaimedReason)> {
        unclaimed_aggregates(plan, self.context.state().config_options(), &self.cache)
    }

    /// Waits until no region is left to prepare. Some regions are prepared only after DataFusion
    /// has answered a running query; then the wait lasts at least until that query is answered or
    /// dropped.
    pub async fn wait_until_prepared(&self) {
        self.background.wait_until_idle().await;
    }

    /// Plans a statement. The rows of a query are computed when they are asked for; `SET` and
    /// statements that create or drop tables are executed at once.
    ///
    /// # Errors
    /// If the text is not one valid statement over the registered tables, or the statement is
    /// executed at once and fails.
    pub async fn sql(&self, text: &str) -> Result<DataFrame> {
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let described = describe_as_query(text);
        let text = described.as_deref().unwrap_or(text);
        let statement = on_deep_stack(|| state.sql_to_statement(text, &dialect));
        self.execute(statement.map_err(|error| self.with_file_types(error))?).await
    }

    /// Returns the rows of a query as a tensor: the last column has the values, the other columns
    /// have coordinates. Without a shape, the dimension of each mode is its largest coordinate plus
    /// one.
    ///
    /// # Errors
    /// If the query fails or has no columns, a coordinate is NULL, negative, no integer or outside
    /// of `shape`, or coordinates repeat. Also if the values contain a NULL or have a type that
    /// tensors cannot store.
    pub async fn tensor(&self, query: &str, shape: Option<Vec<u64>>) -> Result<Tensor> {
        let frame = self.sql(query).await?;
        let schema = frame.schema().inner().clone();
        Ok(tensor_of_rows(&concat_batches(&schema, &self.collect(frame).await?)?, shape)?)
    }

    /// Registers a tensor as a table; without names, its columns are `i0`, `i1`, .., `value`.
    ///
    /// # Errors
    /// The errors of [`TensorTable::with_columns`] and [`Database::register_table`].
    pub fn register_tensor(&self, table: &str, tensor: Tensor, columns: Option<Vec<String>>) -> Result<(), Error> {
        let provider = match columns {
            None => TensorTable::new(tensor)?,
            Some(names) => TensorTable::with_columns(tensor, names)?,
        };
        self.register_table(table, provider)
    }

    /// Registers the aggregate function of a semiring, and replaces a function of the same name.
    /// Regions may contain calls of the function.
    pub fn register_semiring(&self, semiring: Semiring) {
        self.context.register_udaf(AggregateUDF::from(SemiringFunction::new(semiring)));
    }

    /// Registers the table of a tensor, and replaces a table of the same name.
    ///
    /// # Errors
    /// If the schema of the table does not exist, or does not accept tables.
    pub fn register_table(&self, table: &str, provider: TensorTable) -> Result<(), Error> {
        self.register_provider(table, Arc::new(provider))
    }

    /// Registers a table of DataFusion, and replaces a table of the same name. A concurrent query
    /// finds either the old or the new table.
    ///
    /// # Errors
    /// If the schema of the table does not exist or does not accept tables, or Arrow cannot decode
    /// a run-end encoded column.
    pub fn register_provider(&self, table: &str, provider: Arc<dyn TableProvider>) -> Result<(), Error> {
        replace_table(&self.context.state(), table, provider)
            .map_err(|e| Error::Declaration { table: table.to_string(), message: e.to_string() })
    }
}
