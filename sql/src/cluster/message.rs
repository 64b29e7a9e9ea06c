//! The messages of redpoll's nodes in execution plans.

use super::region_message::RegionMessage;
use crate::error::Error;
use datafusion::arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use datafusion_proto::protobuf;
use std::fmt;

/// The version of the messages. A worker refuses messages of another version.
pub(super) const VERSION: u32 = 1;

/// A node of an execution plan. Its inputs travel with DataFusion's messages.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NodeMessage {
    /// The [`VERSION`] of the sender.
    #[prost(uint32, tag = "1")]
    pub(super) version: u32,
    #[prost(oneof = "Node", tags = "2, 3, 4, 5")]
    pub(super) node: Option<Node>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Node {
    #[prost(message, tag = "2")]
    Partition(PartitionMessage),
    #[prost(message, tag = "3")]
    Replicate(ReplicateMessage),
    #[prost(message, tag = "4")]
    Spread(SpreadMessage),
    #[prost(message, tag = "5")]
    TensorScan(TensorScanMessage),
}

/// A `PartitionExec`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PartitionMessage {
    #[prost(message, optional, tag = "1")]
    pub(super) region: Option<RegionMessage>,
    /// The schema of the rows of the region.
    #[prost(message, optional, tag = "2")]
    pub(super) schema: Option<protobuf::Schema>,
    /// The name of the target; empty for the worker's own target.
    #[prost(string, tag = "3")]
    pub(super) target: String,
    /// The `Division` of the region, as JSON.
    #[prost(string, tag = "4")]
    pub(super) division: String,
}

/// A `ReplicateExec`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReplicateMessage {
    /// For each divided field, the column with its values and the number of parts, as JSON.
    #[prost(string, tag = "1")]
    pub(super) divisions: String,
    #[prost(uint64, repeated, tag = "2")]
    pub(super) numbers: Vec<u64>,
}

/// A `SpreadExec`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SpreadMessage {
    #[prost(message, optional, tag = "1")]
    pub(super) schema: Option<protobuf::Schema>,
    /// The run-end encoded column for which DataFusion cannot run the region. If there is none,
    /// DataFusion's plan of the region is the second input.
    #[prost(message, optional, tag = "2")]
    pub(super) refused: Option<ColumnMessage>,
}

/// The name and type of a column.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ColumnMessage {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) ty: Option<protobuf::ArrowType>,
}

impl ColumnMessage {
    /// Returns the message of a column.
    ///
    /// # Errors
    /// If DataFusion has no message for the type.
    pub(super) fn new(name: &str, ty: &DataType) -> Result<ColumnMessage> {
        let ty = protobuf::ArrowType::try_from(ty).map_err(unsendable)?;
        Ok(ColumnMessage { name: name.to_owned(), ty: Some(ty) })
    }

    /// Returns the type of the column.
    ///
    /// # Errors
    /// If the message is malformed.
    pub(super) fn ty(&self) -> Result<DataType> {
        let ty = self.ty.as_ref().ok_or_else(|| malformed("a column has no type"))?;
        ty.try_into().map_err(malformed)
    }
}

/// A tensor as a table.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorMessage {
    /// The tensor as a file with its arrays (`.rpt`).
    #[prost(bytes = "vec", tag = "1")]
    pub(super) file: Vec<u8>,
    /// The names of the columns.
    #[prost(string, repeated, tag = "2")]
    pub(super) columns: Vec<String>,
}

/// A `TensorScan`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorScanMessage {
    #[prost(message, optional, tag = "1")]
    pub(super) table: Option<TensorMessage>,
    /// The ranges, the limit and the projection, as JSON of `ScanPart`.
    #[prost(string, tag = "2")]
    pub(super) scan: String,
}

/// Returns the error of a part of a plan that cannot be written as a message.
pub(super) fn unsendable(error: impl fmt::Display) -> DataFusionError {
    Error::Unsendable(error.to_string()).into()
}

/// Returns the error of a message that cannot be read.
pub(super) fn malformed(error: impl fmt::Display) -> DataFusionError {
    Error::Malformed(error.to_string()).into()
}
