//! Writer of Binsparse: compressed rows or columns, sorted coordinates, or all elements, with the
//! fill value.

use super::binsparse::{DESCRIPTOR, TYPES};
use super::write::{ArchiveWriter, choose_layout, pointers};
use crate::content::{Content, Layout};
use crate::error::WriteError;
use crate::file_format::WriteOptions;
use crate::file_formats::shared;
use crate::memory::{Memory, bytes_of};
use crate::values::Values;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The version of the specification.
const VERSION: &str = "0.1.0";

pub(super) fn write(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    options.check_general("a .bsp.npz file")?;
    let layout = choose_layout(content, options, "a .bsp.npz file")?;
    let mut arrays = Arrays { archive: ArchiveWriter::new(out), types: Map::new() };
    let (shape, rank) = (&content.shape, content.shape.len());
    let (format, stored, fill) = if layout == Layout::Array {
        let values = shared::dense(content, &options.memory)?;
        arrays.write("values", &values)?;
        let format = match rank {
            1 => json!("DVEC"),
            2 => json!("DMATR"),
            0 => json!({ "level": element() }),
            _ => json!({ "level": { "level_desc": "dense", "rank": rank, "level": element() } }),
        };
        (format, values.len(), content.fill.clone())
    } else {
        let ((coordinates, values), fill) = shared::entries_with_fill(content, &options.memory)?;
        write_entries((&coordinates, &values), (shape, layout), &options.memory, &mut arrays)?;
        let format = match (layout, rank) {
            (Layout::Csr, _) => json!("CSR"),
            (Layout::Csc, _) => json!("CSC"),
            (_, 1) => json!("CVEC"),
            (_, 2) => json!("COOR"),
            _ => json!({ "level": { "level_desc": "sparse", "rank": rank, "level": element() } }),
        };
        (format, values.len(), fill)
    };
    arrays.write("fill_value", &Values::single(&fill))?;
    let Arrays { mut archive, types } = arrays;
    let mut header = json!({
        "version": VERSION,
        "format": if format.is_object() { json!("custom") } else { format.clone() },
        "shape": shape,
        "number_of_stored_values": stored,
        "data_types": types,
        "fill": true,
    });
    if format.is_object() {
        header["custom"] = format;
    }
    let mut descriptor = Map::new();
    descriptor.insert(DESCRIPTOR.into(), header);
    archive.wide_text(DESCRIPTOR, &format!("{:#}", Value::Object(descriptor)))?;
    Ok(archive.finish()?)
}

fn element() -> Value {
    json!({ "level_desc": "element" })
}

/// Writes entries sorted by their coordinates: by columns first for CSC, otherwise row-major.
fn write_entries(
    (coordinates, values): (&[Vec<u64>], &Values),
    (shape, layout): (&[u64], Layout),
    memory: &Memory,
    arrays: &mut Arrays<'_>,
) -> Result<(), WriteError> {
    let rank = shape.len();
    let modes: Vec<usize> = if layout == Layout::Csc { (0..rank).rev().collect() } else { (0..rank).collect() };
    let mut order: Vec<usize> = memory.allocate("the order of entries", values.len())?;
    order.extend(0..values.len());
    // The charge covers the sorted coordinates, the sorted values, and the scratch space of the
    // sort.
    memory.charge("entries in order", bytes_of(values.len(), 16 + 8 * rank + values.prim().bytes()))?;
    let key = |k: usize| modes.iter().map(move |&mode| coordinates[mode][k]);
    order.sort_by(|&a, &b| key(a).cmp(key(b)));
    let sorted = |mode: usize| order.iter().map(|&k| coordinates[mode][k]).collect::<Vec<u64>>();
    if let Layout::Csr | Layout::Csc = layout {
        let ptr = pointers(&coordinates[modes[0]], shape[modes[0]], memory)?;
        arrays.write("pointers_to_1", &Values::U64(ptr))?;
        arrays.write("indices_1", &Values::U64(sorted(modes[1])))?;
    } else {
        for (dimension, &mode) in modes.iter().enumerate() {
            arrays.write(&format!("indices_{dimension}"), &Values::U64(sorted(mode)))?;
        }
    }
    Ok(arrays.write("values", &values.gather(&order))?)
}

/// The arrays of an archive with their types.
struct Arrays<'a> {
    archive: ArchiveWriter<'a>,
    types: Map<String, Value>,
}

impl Arrays<'_> {
    /// Writes an array of one mode. Booleans are bytes.
    fn write(&mut self, name: &str, values: &Values) -> io::Result<()> {
        let (prim, length) = (values.prim(), values.len() as u64);
        let (ty, _) = TYPES.iter().find(|(_, of)| *of == prim).expect("each primitive has a type");
        self.types.insert(name.into(), json!(ty));
        match values {
            Values::Bool(flags) => {
                let bytes = Values::U8(flags.iter().map(|&flag| u8::from(flag)).collect());
                self.archive.array(name, &[length], &bytes)
            }
            _ => self.archive.array(name, &[length], values),
        }
    }
}
