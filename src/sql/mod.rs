//! SQL on sessions: statements over tables of files, tensors and lazy arrays, and arrays of their results.
//!
//! [`Session::database`] is the asynchronous interface, DataFusion's own; what stands here waits for results.

mod block_on;
mod engine;

pub use redpoll_sql::{
    Compute, Database, Engine, Outcome, Policy, RedpollOptions, RunError, RunsOn, STACK, Semiring, Stop, TensorTable,
    claim, datafusion, deep, message, silence_guarded_panics,
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
    /// The SQL session of this session: the tables that statements read, and DataFusion around them. Clones of a session
    /// have the same one.
    pub fn database(&self) -> Database {
        let made = self.database.get_or_init(|| {
            // What runs the regions needs no tables; with its own it would keep itself alive.
            let engine = Arc::new(self.without_tables());
            match self.config().memory_limit {
                None => Database::new(engine),
                Some(bytes) => Database::within(engine, bytes),
            }
        });
        made.clone()
    }

    /// Runs statements, separated by `;`, and gives the rows of the last one. It blocks until they are there;
    /// [`Session::database`] does not.
    ///
    /// ```
    /// use redpoll::sql::datafusion::arrow::util::pretty::pretty_format_batches;
    ///
    /// let session = redpoll::Session::default();
    /// let karate = redpoll::datasets::sample("karate").expect("it ships with redpoll");
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
    /// When the text is no SQL over the tables that there are, or a statement fails; those before it have run.
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

    /// Registers a file as a table, as `redpoll sql --table` does; a table of that name is replaced.
    ///
    /// # Errors
    /// When the file is missing, damaged or of no known format.
    pub fn register_file(&self, table: &str, file: impl AsRef<Path>) -> Result<(), Error> {
        let (database, file) = (self.database(), file.as_ref());
        block_on(async { database.register_file(table, file).await })
    }

    /// Registers an array as a table, with a row for each stored place: a column for each mode, `i0`, `i1`, .. or those
    /// names, then one of values, `value` or that name; with names for the modes alone there is none. The array is computed
    /// when the table is first read, and then kept.
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
    /// When the array could not be made, the names do not fit its modes, or its values are structs.
    pub fn register(&self, table: &str, array: &Array, columns: Option<&[&str]>) -> Result<(), Error> {
        let ty = (array.shape()?, array.dtype()?);
        let columns = columns.map(|names| names.iter().map(ToString::to_string).collect());
        let array = array.clone();
        let compute: Compute = Box::new(move || array.collect().map_err(engine::run_error));
        let provider = TensorTable::lazy(ty, columns, compute).map_err(DataFusionError::from)?;
        Ok(self.database().register_table(table, provider).map_err(DataFusionError::from)?)
    }

    /// The array of the rows of a query: coordinates in all columns but the last, values in the last. Places without a row
    /// have the value 0.
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
    /// When the query fails, a coordinate or a value is NULL, a coordinate is no integer or lies outside of the shape, places
    /// repeat, or there are not as many columns of coordinates as the shape has modes.
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
