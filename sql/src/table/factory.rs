//! `CREATE EXTERNAL TABLE e STORED AS MTX LOCATION 'graph.mtx'`.

use super::TensorTable;
use crate::error::Error;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::CreateExternalTable;
use redpoll_datasets::{ReadOptions, read};
use redpoll_logic::text::parse_format;
use std::sync::Arc;

/// Makes tables of files of tensors.
///
/// Options: `columns 'src, dst, weight'` names the columns (those of a declared schema count, too), `format 'csr'` says how
/// the tensor is stored.
#[derive(Debug, Default)]
pub(crate) struct TensorFactory;

impl TensorFactory {
    /// The file types that it knows, as `STORED AS` has them.
    pub(crate) const FILE_TYPES: [&'static str; 3] = ["MTX", "TNS", "NPZ"];
}

#[async_trait]
impl TableProviderFactory for TensorFactory {
    async fn create(&self, _: &dyn Session, cmd: &CreateExternalTable) -> DataFusionResult<Arc<dyn TableProvider>> {
        Ok(Arc::new(create(cmd)?))
    }
}

fn create(cmd: &CreateExternalTable) -> Result<TensorTable, Error> {
    let fault = |what: String| Error::Declaration { table: cmd.name.to_string(), what };
    let [location] = &cmd.locations[..] else {
        return Err(fault(format!("a tensor is read from one file, found {}", cmd.locations.len())));
    };
    let mut columns: Vec<String> = cmd.schema.fields().iter().map(|f| f.name().clone()).collect();
    let mut format = None;
    for (key, value) in &cmd.options {
        match key.strip_prefix("format.").unwrap_or(key) {
            "columns" => columns = value.split(',').map(|name| name.trim().to_string()).collect(),
            "format" | "storage" => format = Some(value.as_str()),
            key => return Err(fault(format!("unknown option `{key}`; there are `columns` and `storage`"))),
        }
    }
    let path = location.strip_prefix("file://").unwrap_or(location);
    open(path, columns, format).map_err(|e| match e {
        Error::Declaration { what, .. } => fault(what),
        e => e,
    })
}

/// The table of a file of a tensor; without names, its columns have the usual ones.
pub(crate) fn open(path: &str, columns: Vec<String>, format: Option<&str>) -> Result<TensorTable, Error> {
    let loaded = read(path, &ReadOptions::default())?;
    let rank = loaded.info.shape.len();
    let format = format.map(|text| {
        parse_format(text, rank)
            .map_err(|e| Error::Declaration { table: path.to_string(), what: format!("the format `{text}`: {e}") })
    });
    let (tensor, _) = loaded.into_tensor(format.transpose()?)?;
    if columns.is_empty() { TensorTable::new(tensor) } else { TensorTable::with_columns(tensor, columns) }
}
