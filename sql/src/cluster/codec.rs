//! The codec of redpoll's nodes in execution plans.

use super::message::{
    Node, NodeMessage, PartitionMessage, ReplicateMessage, SpreadMessage, TensorMessage, TensorScanMessage, VERSION,
};
use super::region_message::RegionMessage;
use crate::claim::FieldId;
use crate::engines::Engines;
use crate::error::Error;
use crate::options::TargetChoice;
use crate::policy::Cache;
use crate::run::RegionRunner;
use crate::spread::{DataFusionPlan, DividedRegion, PartitionExec, PartitionInput, ReplicateExec, SpreadExec};
use crate::table::{ScanPart, TensorScan, TensorTable};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf;
use prost::Message;
use redpoll_datasets::{ReadOptions, WriteOptions, open_bytes, write_tensor_bytes};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The name under which the bytes of tensors are written and read. It determines the file format.
const TENSOR: &str = "tensor.rpt";

/// The codec of a coordinator or of a worker.
#[derive(Clone, Debug)]
pub(super) struct RegionCodec {
    /// The engines of decoded regions, by target.
    pub(super) engines: Arc<Engines>,
    /// The cache from which entries are dropped if decoded regions need memory.
    pub(super) cache: Arc<Cache>,
}

/// The parts of a [`DividedRegion`] that are JSON.
#[derive(Serialize, Deserialize)]
struct DivisionText {
    inputs: Vec<PartitionInput>,
    fields: Vec<(FieldId, usize)>,
    has_states: bool,
    null_if_zero: Vec<usize>,
}

/// Returns the error of a message that cannot be written or read.
pub(super) fn malformed(error: impl fmt::Display) -> DataFusionError {
    DataFusionError::Plan(format!("a part of the plan cannot be sent to a worker: {error}"))
}

/// Returns the message of the table of a tensor. A lazy tensor is computed.
///
/// # Errors
/// If the tensor cannot be computed or written.
pub(super) fn tensor_message(table: &TensorTable) -> Result<TensorMessage> {
    let file = write_tensor_bytes(TENSOR, table.tensor()?, &WriteOptions::default()).map_err(Error::from)?;
    let columns = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    Ok(TensorMessage { file, columns })
}

/// Returns the table of a tensor.
///
/// # Errors
/// If the message is malformed.
pub(super) fn tensor_table(message: &TensorMessage) -> Result<TensorTable> {
    let opened = open_bytes(TENSOR, &message.file, &ReadOptions::default(), None).map_err(Error::from)?;
    Ok(TensorTable::with_columns(opened.tensor, message.columns.clone())?)
}

fn schema_message(schema: &Schema) -> Result<Option<protobuf::Schema>> {
    Ok(Some(protobuf::Schema::try_from(schema).map_err(malformed)?))
}

fn schema_of(message: Option<&protobuf::Schema>) -> Result<SchemaRef> {
    let message = message.ok_or_else(|| malformed("a node has no schema"))?;
    Ok(Arc::new(Schema::try_from(message).map_err(malformed)?))
}

fn partition_message(plan: &PartitionExec, target: &TargetChoice) -> Result<PartitionMessage> {
    let divided = plan.divided();
    let division = DivisionText {
        inputs: divided.inputs.clone(),
        fields: divided.fields.clone(),
        has_states: divided.has_states,
        null_if_zero: divided.null_if_zero.clone(),
    };
    Ok(PartitionMessage {
        region: Some(RegionMessage::new(&divided.region)?),
        schema: schema_message(&plan.runner().schema)?,
        target: target.name().unwrap_or_default().to_owned(),
        division: serde_json::to_string(&division).map_err(malformed)?,
    })
}

impl RegionCodec {
    fn partition(
        &self,
        message: &PartitionMessage,
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
    ) -> Result<PartitionExec> {
        let region = message.region.as_ref().ok_or_else(|| malformed("a partition has no region"))?;
        let region = Arc::new(region.region(context)?);
        let DivisionText { inputs: of_partition, fields, has_states, null_if_zero } =
            serde_json::from_str(&message.division).map_err(malformed)?;
        if of_partition.len() != inputs.len() {
            return Err(malformed("a partition has the wrong number of inputs"));
        }
        let target = Some(message.target.as_str()).filter(|target| !target.is_empty());
        let engine = self.engines.named(target).map_err(Error::from)?;
        let runner = RegionRunner { region: region.clone(), engine, schema: schema_of(message.schema.as_ref())? };
        let divided = DividedRegion { region, inputs: of_partition, fields, has_states, null_if_zero };
        let state = (self.cache.clone(), TargetChoice::default());
        Ok(PartitionExec::new(runner, Arc::new(divided), inputs.to_vec(), state).on_worker())
    }

    fn spread(&self, message: &SpreadMessage, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<SpreadExec> {
        let [merged, plan] = inputs else { return Err(malformed("a merge of partitions needs two inputs")) };
        let datafusion_plan = DataFusionPlan::Execution { plan: plan.clone(), fallback: None };
        let schema = schema_of(message.schema.as_ref())?;
        Ok(SpreadExec::new(merged.clone(), datafusion_plan, self.cache.clone(), schema))
    }
}

fn replicate(message: &ReplicateMessage, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<ReplicateExec> {
    let [input] = inputs else { return Err(malformed("copies of rows need one input")) };
    let divisions = serde_json::from_str(&message.divisions).map_err(malformed)?;
    Ok(ReplicateExec::over(input.clone(), divisions, message.numbers.as_slice().into()))
}

fn tensor_scan(message: &TensorScanMessage) -> Result<TensorScan> {
    let table = message.table.as_ref().ok_or_else(|| malformed("a scan has no tensor"))?;
    let part: ScanPart = serde_json::from_str(&message.scan).map_err(malformed)?;
    TensorScan::of_part(tensor_table(table)?, part)
}

impl PhysicalExtensionCodec for RegionCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let node = if let Some(plan) = node.downcast_ref::<PartitionExec>() {
            Node::Partition(partition_message(plan, plan.target())?)
        } else if let Some(plan) = node.downcast_ref::<ReplicateExec>() {
            let divisions = serde_json::to_string(plan.divisions()).map_err(malformed)?;
            Node::Replicate(ReplicateMessage { divisions, numbers: plan.numbers().to_vec() })
        } else if node.is::<SpreadExec>() {
            Node::Spread(SpreadMessage { schema: schema_message(&node.schema())? })
        } else if let Some(scan) = node.downcast_ref::<TensorScan>() {
            let text = serde_json::to_string(scan.part()).map_err(malformed)?;
            Node::TensorScan(TensorScanMessage { table: Some(tensor_message(scan.table())?), scan: text })
        } else {
            return Err(malformed(format!("the node {} is not known", node.name())));
        };
        buffer.extend(NodeMessage { version: VERSION, node: Some(node) }.encode_to_vec());
        Ok(())
    }

    fn try_decode(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let message = NodeMessage::decode(buffer).map_err(malformed)?;
        if message.version != VERSION {
            let found = message.version;
            return Err(malformed(format!("the worker reads messages of version {VERSION}, found version {found}")));
        }
        Ok(match message.node.ok_or_else(|| malformed("a message is empty"))? {
            Node::Partition(message) => Arc::new(self.partition(&message, inputs, context)?),
            Node::Replicate(message) => Arc::new(replicate(&message, inputs)?),
            Node::Spread(message) => Arc::new(self.spread(&message, inputs)?),
            Node::TensorScan(message) => Arc::new(tensor_scan(&message)?),
        })
    }
}
