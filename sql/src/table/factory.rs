//! Tables of tensor files, as in `CREATE EXTERNAL TABLE e STORED AS MTX LOCATION 'graph.mtx'`.

use super::TensorTable;
use crate::error::Error;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::CreateExternalTable;
use redpoll_datasets::file_formats::FileFormat;
use redpoll_datasets::{Info, Memory, ReadOptions, open_as, read};
use redpoll_logic::literal::read_value;
use redpoll_logic::plural;
use redpoll_logic::sexpr::Sexpr;
use redpoll_logic::text::parse_format;
use std::path::Path;
use std::sync::Arc;

/// The factory of tables from files of tensors.
///
/// Options: `columns 'src, dst, weight'` names the columns, as a declared schema does. `storage
/// 'csr'` is the format of the tensor. `fill 'nan'` is the fill value: in a file that stores every
/// coordinate, entries with that value are not rows.
#[derive(Debug, Default)]
pub(crate) struct TensorFactory;

impl TensorFactory {
    /// The file types of `STORED AS` whose files have tensors.
    pub(crate) const FILE_TYPES: [&'static str; 4] = ["RPT", "MTX", "TNS", "NPZ"];
}

#[async_trait]
impl TableProviderFactory for TensorFactory {
    async fn create(
        &self,
        session: &dyn Session,
        cmd: &CreateExternalTable,
    ) -> DataFusionResult<Arc<dyn TableProvider>> {
        Ok(Arc::new(create(cmd, &remaining_memory(session.runtime_env()))?))
    }
}

/// The options of a declaration that concern the tensor.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TensorOptions<'a> {
    /// The format, as text.
    pub(crate) storage: Option<&'a str>,
    /// The fill value, as text.
    pub(crate) fill: Option<&'a str>,
    /// The format of the file, in place of the format that its name and first bytes show.
    pub(crate) file_format: Option<&'static FileFormat>,
}

fn create(cmd: &CreateExternalTable, memory: &Memory) -> Result<TensorTable, Error> {
    let fault = |message: String| Error::Declaration { table: cmd.name.to_string(), message };
    let [location] = &cmd.locations[..] else {
        return Err(fault(format!("expected the location of one file, found {} locations", cmd.locations.len())));
    };
    if !cmd.table_partition_cols.is_empty() || !cmd.order_exprs.is_empty() {
        return Err(fault("`PARTITIONED BY` and `WITH ORDER` do not apply to tensors".into()));
    }
    let mut columns: Vec<String> = cmd.schema.fields().iter().map(|f| f.name().clone()).collect();
    let mut options = TensorOptions::default();
    for (key, value) in &cmd.options {
        match key.strip_prefix("format.").unwrap_or(key) {
            "columns" => columns = value.split(',').map(|name| name.trim().to_string()).collect(),
            "storage" => options.storage = Some(value),
            "fill" => options.fill = Some(value),
            key => {
                return Err(fault(format!("unknown option `{key}`; the options are `columns`, `storage` and `fill`")));
            }
        }
    }
    let path = location.strip_prefix("file://").unwrap_or(location);
    // If the name has no known extension, the first bytes of the file determine the format.
    options.file_format = FileFormat::of_file_name(path).and_then(|_| declared_format(&cmd.file_type, path));
    let table = open_tensor(path, columns, options, memory).map_err(|e| match e {
        Error::Declaration { message, .. } => fault(message),
        e => e,
    })?;
    for (declared, actual) in cmd.schema.fields().iter().zip(table.schema().fields()) {
        if declared.data_type() != actual.data_type() {
            let (name, declared, actual) = (declared.name(), declared.data_type(), actual.data_type());
            return Err(fault(format!(
                "column `{name}` is declared as {declared}, but its type in the file is {actual}"
            )));
        }
    }
    Ok(table)
}

/// Returns the file format that a file type names. Returns `None` if the extension of the file
/// names a format of this type, which then is the format of the file, or if no format has the type.
pub(super) fn declared_format(file_type: &str, path: impl AsRef<Path>) -> Option<&'static FileFormat> {
    let file_type = file_type.to_lowercase();
    // `.bsp.npz` and `.npz` are two formats of one type.
    let is_type = |format: &FileFormat| format.extension.rsplit('.').next() == Some(&*file_type);
    match FileFormat::of_file_name(path).is_some_and(is_type) {
        true => None,
        false => FileFormat::of_extension(&file_type),
    }
}

/// Returns the memory that is left in the pool of a runtime, as the limit for reading a file.
pub(crate) fn remaining_memory(runtime: &RuntimeEnv) -> Memory {
    let pool = &runtime.memory_pool;
    match pool.memory_limit() {
        MemoryLimit::Finite(limit) => Memory::limited(limit.saturating_sub(pool.reserved())),
        _ => Memory::default(),
    }
}

/// Opens a file of a tensor as a table. If `columns` is empty, the columns have their default
/// names.
pub(crate) fn open_tensor(
    path: &str,
    columns: Vec<String>,
    options: TensorOptions<'_>,
    memory: &Memory,
) -> Result<TensorTable, Error> {
    let fault = |message: String| Error::Declaration { table: path.to_string(), message };
    let read_options =
        ReadOptions { memory: memory.clone(), file_format: options.file_format, ..ReadOptions::default() };
    let storage = |info: &Info| {
        let rank = info.shape.len();
        let parse = |text| {
            let modes = plural(rank as u64, "mode", "modes");
            parse_format(text, rank).map_err(|e| fault(format!("storage '{text}' for {rank} {modes}: {e}")))
        };
        options.storage.map(parse).transpose()
    };
    let tensor = match options.fill {
        None => open_as(path, &read_options, storage)?.tensor,
        Some(text) => {
            let loaded = read(path, &read_options)?;
            let storage = storage(&loaded.info)?.unwrap_or_else(|| loaded.default_format());
            let (mut content, _) = loaded.into_content()?;
            let dtype = content.fill.dtype();
            let fill = read_value(&dtype, &Sexpr::atom(text));
            content.fill = fill.map_err(|_| fault(format!("fill '{text}' is not a value of dtype {dtype}")))?;
            content.into_tensor(Some(storage))?
        }
    };
    if columns.is_empty() { TensorTable::new(tensor) } else { TensorTable::with_columns(tensor, columns) }
}
