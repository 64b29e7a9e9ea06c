//! SQL on sessions: statements whose tables are files, tensors and lazy arrays; and arrays that are
//! made from the results of queries.
//!
//! [`Session::database`] gives the asynchronous interface of DataFusion; the other methods of this
//! module block.

mod block_on;
mod engine;

#[cfg(feature = "cluster")]
pub use redpoll_sql::{Cluster, Worker};
pub use redpoll_sql::{
    ComputeFn, Database, Engine, Load, ModeRange, Number, Outcome, Policy, RedpollOptions, RunError, RunLimits,
    STACK_SIZE, Semiring, TargetCheck, TargetChoice, TensorColumn, TensorTable, aggregates, claim, datafusion, message,
    silence_guarded_panics, with_deep_stack,
};

use crate::array::Array;
use crate::error::Error;
use crate::session::Session;
use block_on::block_on;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use std::path::Path;
use std::sync::Arc;

impl Session {
    /// Returns the SQL database of this session: its tables and the DataFusion context. Clones of a
    /// session share the database.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// session.sql("CREATE TABLE ratings AS VALUES (0, 1, 4.0)")?;
    /// assert!(session.database().context().table_exist("ratings")?);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn database(&self) -> Database {
        let database = self.database.get_or_init(|| {
            // The engine is a session without tables. With tables, the database would own itself.
            let engine = Arc::new(self.without_tables());
            match self.config().memory_limit {
                None => Database::new(engine),
                Some(bytes) => Database::with_memory_limit(engine, bytes),
            }
        });
        database.clone()
    }

    /// Returns a session with the same tables whose SQL runs on a cluster. Arrays still run in this
    /// process. The float mode of the session applies to the workers, and its limits do not.
    ///
    /// ```no_run
    /// use redpoll::sql::Cluster;
    ///
    /// let cluster = Cluster::new(["http://10.0.0.1:7400", "http://10.0.0.2:7400"], Some("secret"))?;
    /// let session = redpoll::Session::default().on_cluster(&cluster);
    /// session.sql("SELECT count(*) FROM 'edges.parquet' a JOIN 'edges.parquet' b ON a.dst = b.src")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "cluster")]
    pub fn on_cluster(&self, cluster: &Cluster) -> Session {
        self.with_database(self.database().on_cluster(cluster))
    }

    /// Runs statements separated by `;` and returns the rows of the last statement. The call
    /// blocks; [`Session::database`] is asynchronous.
    ///
    /// ```
    /// use redpoll::sql::datafusion::arrow::util::pretty::pretty_format_batches;
    ///
    /// let session = redpoll::Session::default();
    /// let karate = redpoll::datasets::sample("karate").expect("the sample ships with redpoll");
    /// let (edges, _) = redpoll::datasets::read_bytes(karate.file_name, karate.bytes, &Default::default())?.into_tensor(None)?;
    /// session.register("e", &session.array(edges), Some(&["src", "dst"]))?;
    /// let rows = session.sql(
    ///     "SELECT a.src, count(*) AS paths FROM e a JOIN e b ON a.dst = b.src
    ///      WHERE a.src < 2 GROUP BY a.src ORDER BY a.src",
    /// )?;
    /// assert_eq!(pretty_format_batches(&rows).unwrap().to_string(), "\
    /// +-----+-------+
    /// | src | paths |
    /// +-----+-------+
    /// | 0   | 69    |
    /// | 1   | 52    |
    /// +-----+-------+");
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the text is not SQL; then no statement has run. Also fails if a statement fails;
    /// then the statements before the failed one have run.
    pub fn sql(&self, statements: &str) -> Result<Vec<RecordBatch>, Error> {
        let database = self.database();
        block_on(async {
            let mut rows = Vec::new();
            for statement in database.statements(statements)? {
                rows = database.collect(database.execute(statement).await?).await?;
            }
            Ok(rows)
        })
    }

    /// Registers a file as a table, as `redpoll sql --table` does. A table of the same name is
    /// replaced.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-register-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("links.mtx");
    /// session.eye(3, 3, 0, redpoll::logic::Prim::F64).write(&path)?;
    /// session.register_file("links", &path)?;
    /// assert_eq!(session.array_of("SELECT i0, value FROM links", [3])?.to_vec::<f64>()?, [1.0; 3]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the file is missing, damaged or of an unknown format.
    pub fn register_file(&self, table: &str, file: impl AsRef<Path>) -> Result<(), Error> {
        let (database, file) = (self.database(), file.as_ref());
        block_on(async { database.register_file(table, file).await })
    }

    /// Registers an array as a table with one row per stored entry. The columns are a coordinate
    /// for each mode (`i0`, `i1`, .. by default) and the value (`value` by default). If `columns`
    /// names only the modes, there is no column of values. The array is computed on the first read
    /// and then cached.
    ///
    /// ```
    /// use redpoll::logic::Format;
    ///
    /// let session = redpoll::Session::default();
    /// let a = session.triples([3, 3], Format::csr(), [([0, 1], 2.0), ([1, 2], 3.0)]);
    /// session.register("paths", &a.matmul(&a), Some(&["src", "dst", "weight"]))?;
    /// let found = session.array_of("SELECT dst, weight FROM paths WHERE src = 0", [3])?;
    /// assert_eq!(found.to_vec::<f64>()?, [0.0, 0.0, 6.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if an operation of the array could not be applied, the number of names does not match
    /// the modes of the array, names repeat, or the values are structs.
    pub fn register(&self, table: &str, array: &Array, columns: Option<&[&str]>) -> Result<(), Error> {
        let ty = (array.shape()?, array.dtype()?);
        let columns = columns.map(|names| names.iter().map(ToString::to_string).collect());
        let array = array.clone();
        let compute: ComputeFn = Box::new(move || array.collect().map_err(engine::run_error));
        let provider = TensorTable::lazy(ty, columns, compute).map_err(DataFusionError::from)?;
        Ok(self.database().register_table(table, provider).map_err(DataFusionError::from)?)
    }

    /// Returns an array of the rows of a query. The last column has the values, and the other
    /// columns have the coordinates. The fill value is 0.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// session.sql("CREATE TABLE ratings AS VALUES (0, 1, 4.0), (1, 1, 5.0), (1, 0, 2.0)")?;
    /// let ratings = session.array_of("SELECT column1, column2, column3 FROM ratings", [2, 2])?;
    /// assert_eq!(ratings.sum(0).to_vec::<f64>()?, [2.0, 9.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the query fails, or the number of columns does not match the shape. Also fails if a
    /// coordinate or value is NULL, a coordinate is not an integer or is outside of the shape, or
    /// coordinates repeat.
    pub fn array_of(&self, query: &str, shape: impl IntoIterator<Item = u64>) -> Result<Array, Error> {
        let (database, shape) = (self.database(), shape.into_iter().collect());
        Ok(self.array(block_on(async { database.tensor(query, Some(shape)).await })?))
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Error {
        Error::Sql(Box::new(error))
    }
}
