//! SQL: databases of tables, as the submodule `redpoll._core._sql` of builds with the feature
//! `sql`.
//!
//! A database keeps the tables that are registered. The tables of a call, which the Python layer
//! finds among arguments and variables, belong to the statements of this call alone, so calls on
//! several threads do not see each other's tables.

mod errors;
mod function;
mod names;
mod query;
mod table;
mod values;

use crate::array::{Array, Core};
use crate::arrow::ArrowTable;
use crate::dtype::prim_of;
use crate::operators::Operator;
use crate::run;
use crate::session::Session;
use errors::exception;
use function::Function;
use names::{Names, names_of};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use redpoll::logic::{FloatMode, Prim};
use redpoll::sql::datafusion::error::DataFusionError;
use redpoll::sql::datafusion::sql::parser::Statement;
use redpoll::sql::{Number, Semiring, TensorTable};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use table::Table;

/// The submodule; import `redpoll` instead.
#[pyo3::pymodule(submodule)]
pub(crate) mod _sql {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::Database;
    #[pymodule_export]
    use super::function::Function;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::values::{cells, rows};

    /// Lets `import redpoll._core._sql` find the submodule.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.py().import("sys")?.getattr("modules")?.set_item("redpoll._core._sql", module)
    }
}

/// Registered tables and functions, and the runs of statements that use them.
#[pyclass(frozen, module = "redpoll._core._sql")]
pub(crate) struct Database {
    inner: redpoll::sql::Database,
    /// The session that computes functions of SQL. Its floats follow IEEE 754, as DataFusion's do.
    strict: redpoll::Session,
    /// The tables that earlier calls made from arrays. The next call gets the same table for an
    /// array, because the database finds the encoded rows of a region by its tables.
    arrays: Mutex<Vec<ArrayTable>>,
}

/// The table of an array.
struct ArrayTable {
    array: Weak<Core>,
    columns: Option<Vec<String>>,
    table: TensorTable,
}

#[pymethods]
impl Database {
    /// Makes a database without tables. Its regions run in `session`.
    #[new]
    fn new(session: &Bound<'_, Session>) -> Database {
        let session = session.get().0.clone();
        let mut config = session.config().clone();
        config.optimizer.float_mode = FloatMode::StrictIeee;
        let engine = Arc::new(session.clone());
        let inner = match session.config().memory_limit {
            None => redpoll::sql::Database::new(engine),
            Some(bytes) => redpoll::sql::Database::with_memory_limit(engine, bytes),
        };
        let threads = session.config().workers.threads();
        inner.context().state_ref().write().config_mut().options_mut().execution.target_partitions = threads;
        redpoll::sql::silence_guarded_panics();
        Database { inner, strict: redpoll::Session::new(config), arrays: Mutex::default() }
    }

    /// Computes an array, unless an earlier call has made its table, and returns it as a table.
    /// `columns` has a name for each mode, and optionally one for the values; `None` means the
    /// names `i0`, `i1`, .., `value`.
    fn table_of_array(
        &self,
        py: Python<'_>,
        array: &Bound<'_, Array>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Table> {
        let core = array.get().core();
        if let Some(table) = self.known_table(&core, columns.as_ref()) {
            return Ok(Table(Arc::new(table)));
        }
        let inner = core.inner.clone();
        let tensor = run::run(py, core.work, move |cancel| inner.cancelled_by(cancel).compute())?;
        let table = match columns.clone() {
            None => TensorTable::new(tensor),
            Some(names) => TensorTable::with_columns(tensor, names),
        };
        let table = table.map_err(|error| exception(py, &error.into()))?;
        let known = ArrayTable { array: Arc::downgrade(&core), columns, table: table.clone() };
        self.arrays.lock().unwrap_or_else(PoisonError::into_inner).push(known);
        Ok(Table(Arc::new(table)))
    }

    /// Registers a table, and replaces a table of the same name.
    fn register(&self, py: Python<'_>, name: &str, table: &Bound<'_, Table>) -> PyResult<()> {
        let result = self.inner.register_provider(name, table.get().0.clone());
        result.map_err(|error| exception(py, &error.into()))
    }

    /// Registers a file, a folder or a pattern of files as a table.
    fn register_file(&self, py: Python<'_>, name: String, path: PathBuf) -> PyResult<()> {
        let database = self.inner.clone();
        query::run(py, async move { database.register_file(&name, &path).await })
    }

    /// Registers a function of rows, and replaces a function of the same name.
    fn register_function(&self, name: &str, function: &Bound<'_, Function>) {
        self.inner.context().register_udf(function.get().named(name, &self.strict));
    }

    /// Registers an aggregate function that combines its arguments by `product`, and folds the rows
    /// by `sum`.
    fn register_semiring(
        &self,
        py: Python<'_>,
        name: &str,
        sum: &Bound<'_, Operator>,
        product: &Bound<'_, Operator>,
        dtype: &str,
    ) -> PyResult<()> {
        let number = match prim_of(dtype)? {
            Prim::F64 => Number::F64,
            Prim::I64 => Number::I64,
            _ => {
                let message = format!("a semiring of SQL is over 'float64' or 'int64', found '{dtype}'");
                return Err(PyTypeError::new_err(message));
            }
        };
        let semiring = Semiring::new(name, sum.get().op().clone(), product.get().op().clone(), number);
        self.inner.register_semiring(semiring.map_err(|error| exception(py, &error.into()))?);
        Ok(())
    }

    /// Drops a table; returns whether the table existed.
    fn drop(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let dropped = self.inner.context().deregister_table(name);
        dropped.map(|table| table.is_some()).map_err(|error| exception(py, &error))
    }

    /// Returns the names of the tables, in alphabetical order.
    fn tables(&self) -> Vec<String> {
        let state = self.inner.context().state();
        let names = &state.config_options().catalog;
        let catalog = self.inner.context().catalog(&names.default_catalog);
        let schema = catalog.and_then(|catalog| catalog.schema(&names.default_schema));
        let mut names = schema.map_or_else(Vec::new, |schema| schema.table_names());
        names.sort_unstable();
        names
    }

    /// Runs the statements of a text, and returns the rows of the last statement. `lookup(kind,
    /// name, is_known)` returns the [`Table`] or [`Function`] of a name that a statement uses, or
    /// `None`; `kind` is `table` or `function`, and `is_known` says whether the database has the
    /// name.
    fn sql(&self, py: Python<'_>, text: &str, lookup: &Bound<'_, PyAny>) -> PyResult<ArrowTable> {
        let mut rows = None;
        for statement in self.statements(py, text)? {
            let database = self.for_statement(&statement, lookup)?;
            rows = Some(query::run(py, query::rows(database, statement))?);
        }
        rows.ok_or_else(|| PyValueError::new_err("expected a statement of SQL, found none"))
    }

    /// Returns the title and the text of each form of the plan of a statement, and for a query the
    /// reasons why aggregates are not claimed. `analyze` runs the statement.
    fn explain(
        &self,
        py: Python<'_>,
        text: &str,
        lookup: &Bound<'_, PyAny>,
        analyze: bool,
    ) -> PyResult<Vec<(String, String)>> {
        let statements = <[Statement; 1]>::try_from(self.statements(py, text)?);
        let [statement] = statements.map_err(|found| {
            PyValueError::new_err(format!("expected one statement to explain, found {}", found.len()))
        })?;
        let database = self.for_statement(&statement, lookup)?;
        query::run(py, query::explain(database, statement, analyze))
    }
}

impl Database {
    /// Returns the table of an array with the given columns, if an earlier call has made the table.
    /// Forgets the tables of arrays that no longer exist.
    fn known_table(&self, core: &Arc<Core>, columns: Option<&Vec<String>>) -> Option<TensorTable> {
        let mut arrays = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        arrays.retain(|known| known.array.strong_count() > 0);
        let is_same = |known: &&ArrayTable| {
            std::ptr::eq(known.array.as_ptr(), Arc::as_ptr(core)) && known.columns.as_ref() == columns
        };
        arrays.iter().find(is_same).map(|known| known.table.clone())
    }

    fn statements(&self, py: Python<'_>, text: &str) -> PyResult<Vec<Statement>> {
        py.detach(|| self.inner.statements(text)).map_err(|error| exception(py, &error))
    }

    /// Returns the database with the tables and functions that `lookup` finds for a statement.
    fn for_statement(&self, statement: &Statement, lookup: &Bound<'_, PyAny>) -> PyResult<redpoll::sql::Database> {
        let py = lookup.py();
        let Names { tables, functions } =
            names_of(self.inner.context(), statement).map_err(|error| exception(py, &error))?;
        let (mut found_tables, mut found_functions) = (Vec::new(), Vec::new());
        for (name, is_known) in tables {
            let found = lookup.call1(("table", &name, is_known))?;
            if !found.is_none() {
                found_tables.push((name, found.cast::<Table>()?.get().0.clone()));
            }
        }
        for (name, is_known) in functions {
            let found = lookup.call1(("function", &name, is_known))?;
            if !found.is_none() {
                found_functions.push(found.cast::<Function>()?.get().named(&name, &self.strict));
            }
        }
        if found_tables.is_empty() && found_functions.is_empty() {
            return Ok(self.inner.clone());
        }
        let database = self.inner.with_tables(found_tables).map_err(|error: DataFusionError| exception(py, &error))?;
        for function in found_functions {
            database.context().register_udf(function);
        }
        Ok(database)
    }
}
