//! Writer of `.rpt` files: the schema, one record batch whose buffers are the arrays, and the
//! footer.
//!
//! The messages are built here rather than by the writer of `arrow-ipc`, which copies all buffers
//! of a batch before it writes them.

use super::message::{ALIGNMENT, END_OF_MESSAGES, MAGIC, START, write_message, write_zeros};
use super::schema::schema;
use crate::content::Content;
use crate::error::{Fault, WriteError};
use crate::file_format::WriteOptions;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::{
    Block, Buffer, FieldNode, FooterBuilder, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder,
};
use arrow_schema::Schema;
use flatbuffers::FlatBufferBuilder;
use redpoll_storage::{Array, Tensor};
use std::io::Write;

/// Number of bytes of the bounds of a large list: its start and its end.
const ENDS: u64 = 16;

/// Writes the arrays of a tensor.
pub(super) fn write(tensor: &Tensor, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    options.check_general("a .rpt file")?;
    if let Some(layout) = options.layout {
        let content = format!("the layout {layout} in a .rpt file");
        return Err(Fault::unsupported(content, "choose a storage format").into());
    }
    let unreadable = |e: redpoll_storage::Error| Fault::unsupported(e.to_string(), "compute the tensor again");
    tensor.fetch().map_err(unreadable)?;
    let stored = tensor.count_stored().map_err(unreadable)?;
    let schema = schema(tensor.ty(), stored, tensor.arrays());
    let lengths: Vec<u64> = tensor.arrays().map(|array| array.bytes() as u64).collect();
    let body = lengths.iter().map(|bytes| ALIGNMENT + bytes.next_multiple_of(ALIGNMENT)).sum::<u64>();
    out.write_all(&START)?;
    let start = START.len() as u64;
    let start = start + write_message(out, start, &schema_message(&schema))?;
    let metadata = write_message(out, start, &batch_message(tensor, body))?;
    for array in tensor.arrays() {
        out.write_all(&0i64.to_le_bytes())?;
        out.write_all(&(array.len() as i64).to_le_bytes())?;
        write_zeros(out, ALIGNMENT - ENDS)?;
        out.write_all(array.buffer())?;
        let bytes = array.bytes() as u64;
        write_zeros(out, bytes.next_multiple_of(ALIGNMENT) - bytes)?;
    }
    out.write_all(&END_OF_MESSAGES)?;
    let footer = footer(&schema, Block::new(start as i64, metadata as i32, body as i64));
    out.write_all(&footer)?;
    out.write_all(&(footer.len() as i32).to_le_bytes())?;
    Ok(out.write_all(MAGIC)?)
}

/// Stores entries in the default format of their content, and writes the arrays.
pub(super) fn write_content(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    options.memory.charge("the entries of the tensor", content.data.bytes())?;
    let format = content.default_format();
    let tensor = content.clone().into_tensor(Some(format));
    let tensor = tensor.map_err(|e| Fault::unsupported(e.to_string(), "choose another storage format"))?;
    write(&tensor, options, out)
}

fn schema_message(schema: &Schema) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let header = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, schema).as_union_value();
    finish_message(builder, MessageHeader::Schema, header, 0)
}

/// Returns the message before the data. A column has a node and two buffers for the list, and a
/// node and two buffers for its elements. The buffers for bitmaps of NULLs are empty.
fn batch_message(tensor: &Tensor, body: u64) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let nodes: Vec<FieldNode> =
        tensor.arrays().flat_map(|array| [FieldNode::new(1, 0), FieldNode::new(array.len() as i64, 0)]).collect();
    let mut offset = 0;
    let mut buffers_of = |array: &Array| {
        let (ends, elements, bytes) = (offset, offset + ALIGNMENT, array.bytes() as u64);
        offset = elements + bytes.next_multiple_of(ALIGNMENT);
        let buffer = |offset: u64, length: u64| Buffer::new(offset as i64, length as i64);
        [buffer(ends, 0), buffer(ends, ENDS), buffer(elements, 0), buffer(elements, bytes)]
    };
    let buffers: Vec<Buffer> = tensor.arrays().flat_map(&mut buffers_of).collect();
    let (nodes, buffers) = (builder.create_vector(&nodes), builder.create_vector(&buffers));
    let mut batch = RecordBatchBuilder::new(&mut builder);
    batch.add_length(1);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    let header = batch.finish().as_union_value();
    finish_message(builder, MessageHeader::RecordBatch, header, body)
}

fn finish_message<'a>(
    mut builder: FlatBufferBuilder<'a>,
    kind: MessageHeader,
    header: flatbuffers::WIPOffset<flatbuffers::UnionWIPOffset>,
    body: u64,
) -> Vec<u8> {
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(kind);
    message.add_header(header);
    message.add_bodyLength(body as i64);
    let message = message.finish();
    builder.finish(message, None);
    builder.finished_data().to_vec()
}

fn footer(schema: &Schema, block: Block) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, schema);
    let dictionaries = builder.create_vector::<Block>(&[]);
    let batches = builder.create_vector(&[block]);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    let footer = footer.finish();
    builder.finish(footer, None);
    builder.finished_data().to_vec()
}
