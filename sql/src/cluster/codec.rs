//! The codec of redpoll's nodes in execution plans.

use super::check::{check_division, check_replication, check_scan, check_schema};
use super::message::{
    ColumnMessage, Node, NodeMessage, PartitionMessage, ReplicateMessage, SpreadMessage, TensorMessage,
    TensorScanMessage, VERSION, malformed, unsendable,
};
use super::region_message::RegionMessage;
use crate::engines::Engines;
use crate::error::Error;
use crate::options::TargetChoice;
use crate::policy::Cache;
use crate::run::RegionRunner;
use crate::spread::{DataFusionPlan, DividedRegion, Division, PartitionExec, ReplicateExec, SpreadExec};
use crate::table::{ScanPart, TensorScan, TensorTable};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf;
use prost::Message;
use redpoll_datasets::{ReadOptions, WriteOptions, open_bytes, write_tensor_bytes};
use redpoll_logic::FloatMode;
use std::sync::Arc;

/// The name under which the bytes of tensors are written and read. It determines the file format.
const TENSOR: &str = "tensor.rpt";

/// The codec of a coordinator or of a worker.
#[derive(Clone, Debug)]
pub(super) struct RegionCodec {
    /// The engines of decoded regions, by target.
    pub(super) engines: Arc<Engines>,
    /// The float mode of decoded regions.
    pub(super) float_mode: FloatMode,
    /// The cache from which entries are dropped if decoded regions need memory.
    pub(super) cache: Arc<Cache>,
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
    let opened = open_bytes(TENSOR, &message.file, &ReadOptions::default(), None).map_err(malformed)?;
    TensorTable::with_columns(opened.tensor, message.columns.clone()).map_err(malformed)
}

fn schema_message(schema: &Schema) -> Result<Option<protobuf::Schema>> {
    Ok(Some(protobuf::Schema::try_from(schema).map_err(unsendable)?))
}

fn schema_of(message: Option<&protobuf::Schema>) -> Result<SchemaRef> {
    let message = message.ok_or_else(|| malformed("a node has no schema"))?;
    Ok(Arc::new(Schema::try_from(message).map_err(malformed)?))
}

fn partition_message(plan: &PartitionExec) -> Result<PartitionMessage> {
    let DividedRegion { region, division } = plan.divided();
    Ok(PartitionMessage {
        region: Some(RegionMessage::new(region)?),
        schema: schema_message(&plan.runner().schema)?,
        target: plan.target().name().unwrap_or_default().to_owned(),
        division: serde_json::to_string(division).map_err(unsendable)?,
    })
}

fn replicate_message(plan: &ReplicateExec) -> Result<ReplicateMessage> {
    let divisions = serde_json::to_string(plan.divisions()).map_err(unsendable)?;
    Ok(ReplicateMessage { divisions, numbers: plan.numbers().to_vec() })
}

fn spread_message(plan: &SpreadExec) -> Result<SpreadMessage> {
    let refused = match plan.datafusion_plan() {
        DataFusionPlan::Execution { .. } => None,
        DataFusionPlan::Refused { column, ty, .. } => Some(ColumnMessage::new(column, ty)?),
        DataFusionPlan::Logical(_) => return Err(unsendable("workers do not plan DataFusion's plan of a region")),
    };
    Ok(SpreadMessage { schema: schema_message(&plan.schema())?, refused })
}

fn scan_message(scan: &TensorScan) -> Result<TensorScanMessage> {
    let part = serde_json::to_string(scan.part()).map_err(unsendable)?;
    Ok(TensorScanMessage { table: Some(tensor_message(scan.table())?), scan: part })
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
        let division: Division = serde_json::from_str(&message.division).map_err(malformed)?;
        let schema = schema_of(message.schema.as_ref())?;
        check_schema(&region, &schema)?;
        check_division(&region, &division, &schema, inputs)?;
        let target = Some(message.target.as_str()).filter(|target| !target.is_empty());
        let engine = self.engines.named(target, self.float_mode).map_err(Error::from)?;
        let runner = RegionRunner { region: region.clone(), engine, schema };
        let divided = Arc::new(DividedRegion { region, division });
        let state = (self.cache.clone(), TargetChoice::default());
        Ok(PartitionExec::new(runner, divided, inputs.to_vec(), state).on_worker())
    }

    fn spread(&self, message: &SpreadMessage, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<SpreadExec> {
        let (merged, datafusion_plan) = match (inputs, &message.refused) {
            ([merged, plan], None) => (merged, DataFusionPlan::Execution { plan: plan.clone(), fallback: None }),
            ([merged], Some(column)) => {
                let (column, ty) = (column.name.clone(), column.ty()?);
                (merged, DataFusionPlan::Refused { column, ty, fallback: None })
            }
            _ => return Err(malformed("a merge of partitions has the wrong number of inputs")),
        };
        let schema = schema_of(message.schema.as_ref())?;
        if inputs.iter().any(|input| input.schema().fields().len() != schema.fields().len()) {
            return Err(malformed("a merge of partitions has inputs with the wrong number of columns"));
        }
        Ok(SpreadExec::new(merged.clone(), datafusion_plan, self.cache.clone(), schema))
    }
}

fn replicate(message: &ReplicateMessage, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<ReplicateExec> {
    let [input] = inputs else { return Err(malformed("copies of rows need one input")) };
    let divisions: Vec<(Option<usize>, usize)> = serde_json::from_str(&message.divisions).map_err(malformed)?;
    check_replication(&divisions, &message.numbers, &input.schema())?;
    Ok(ReplicateExec::over(input.clone(), divisions, message.numbers.as_slice().into()))
}

fn tensor_scan(message: &TensorScanMessage, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<TensorScan> {
    let table = message.table.as_ref().ok_or_else(|| malformed("a scan has no tensor"))?;
    let table = tensor_table(table)?;
    let part: ScanPart = serde_json::from_str(&message.scan).map_err(malformed)?;
    if !inputs.is_empty() {
        return Err(malformed("a scan has inputs"));
    }
    check_scan(&table, &part)?;
    TensorScan::of_part(table, part)
}

impl PhysicalExtensionCodec for RegionCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let node = if let Some(plan) = node.downcast_ref::<PartitionExec>() {
            Node::Partition(partition_message(plan)?)
        } else if let Some(plan) = node.downcast_ref::<ReplicateExec>() {
            Node::Replicate(replicate_message(plan)?)
        } else if let Some(plan) = node.downcast_ref::<SpreadExec>() {
            Node::Spread(spread_message(plan)?)
        } else if let Some(scan) = node.downcast_ref::<TensorScan>() {
            Node::TensorScan(scan_message(scan)?)
        } else {
            return Err(unsendable(format!("the node {} is not known", node.name())));
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
            Node::TensorScan(message) => Arc::new(tensor_scan(&message, inputs)?),
        })
    }
}
