//! Binsparse in an NPZ archive: a JSON descriptor in the array `binsparse`, the array `values`, and
//! the arrays of levels.
//!
//! Source: the Binsparse specification, version 0.1,
//! <https://graphblas.org/binsparse-specification>. A tensor is stored as levels, each of one or
//! more dimensions. A dense level has no arrays. A sparse level has an array `indices_D` for each
//! of its dimensions `D`. A sparse level below another level also has an array `pointers_to_D` for
//! its first dimension. Each named format (`CSR`, `COOR`, ..) stands for a list of levels. Values
//! may be `iso`: one value for all entries. Complex values, and structures such as symmetries, are
//! rejected.

use super::archive::Archive;
use super::sparse::{check_length, check_range, expand, pointers};
use crate::content::{Data, Layout, MAX_DIMENSION, MAX_RANK, element_count};
use crate::error::{Count, Fault, LocatedFault, Location};
use crate::memory::bytes_of;
use crate::text::quote;
use crate::values::{Values, map_values};
use redpoll_logic::{Prim, Scalar};
use serde_json::Value;

/// The name of the array with the descriptor, and the key of the descriptor in its JSON text.
pub(super) const DESCRIPTOR: &str = "binsparse";

/// The type names of the specification, with their primitives.
pub(super) const TYPES: [(&str, Prim); 11] = [
    ("bint8", Prim::Bool),
    ("int8", Prim::I8),
    ("int16", Prim::I16),
    ("int32", Prim::I32),
    ("int64", Prim::I64),
    ("uint8", Prim::U8),
    ("uint16", Prim::U16),
    ("uint32", Prim::U32),
    ("uint64", Prim::U64),
    ("float32", Prim::F32),
    ("float64", Prim::F64),
];

/// A level of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BinsparseLevel {
    /// All coordinates of this many dimensions.
    Dense(usize),
    /// Listed coordinates of this many dimensions.
    Sparse(usize),
}
use BinsparseLevel::{Dense, Sparse};

impl BinsparseLevel {
    fn rank(self) -> usize {
        match self {
            Dense(rank) | Sparse(rank) => rank,
        }
    }
}

/// The formats with names, their levels, and whether the modes are in reverse order.
const FORMATS: [(&str, &[BinsparseLevel], bool); 12] = [
    ("DVEC", &[Dense(1)], false),
    ("DMAT", &[Dense(1), Dense(1)], false),
    ("DMATR", &[Dense(1), Dense(1)], false),
    ("DMATC", &[Dense(1), Dense(1)], true),
    ("CVEC", &[Sparse(1)], false),
    ("CSR", &[Dense(1), Sparse(1)], false),
    ("CSC", &[Dense(1), Sparse(1)], true),
    ("DCSR", &[Sparse(1), Sparse(1)], false),
    ("DCSC", &[Sparse(1), Sparse(1)], true),
    ("COO", &[Sparse(2)], false),
    ("COOR", &[Sparse(2)], false),
    ("COOC", &[Sparse(2)], true),
];

/// The descriptor of a tensor.
pub(super) struct Descriptor {
    pub(super) shape: Vec<u64>,
    pub(super) dtype: Prim,
    pub(super) fill: Scalar,
    pub(super) stored: u64,
    levels: Vec<BinsparseLevel>,
    /// The mode of each dimension of the levels.
    modes: Vec<usize>,
    /// True if the array of values has one value for all entries.
    is_iso: bool,
}

impl Descriptor {
    /// Returns the layout that is closest to the levels and modes.
    pub(super) fn layout(&self) -> Layout {
        let in_order = self.modes.is_sorted();
        match (&self.levels[..], in_order) {
            ([Dense(1), Sparse(1)], true) => Layout::Csr,
            ([Dense(1), Sparse(1)], false) => Layout::Csc,
            (levels, true) if levels.iter().all(|level| matches!(level, Dense(_))) => Layout::Array,
            _ => Layout::Coordinate,
        }
    }
}

fn in_descriptor(fault: Fault) -> LocatedFault {
    fault.at(Location::Array(DESCRIPTOR.into()))
}

fn mismatch_fault(what: &str, found: &impl ToString) -> LocatedFault {
    in_descriptor(Fault::malformed(what, quote(found.to_string().as_bytes())))
}

/// Reads the descriptor, and the fill value.
pub(super) fn descriptor(archive: &mut Archive<'_>) -> Result<Descriptor, LocatedFault> {
    let text = archive.text(DESCRIPTOR)?;
    let all: Value = serde_json::from_str(&text).map_err(|e| in_descriptor(Fault::malformed("JSON", e.to_string())))?;
    let header = &all[DESCRIPTOR];
    let version = header["version"].as_str().unwrap_or_default();
    if !version.starts_with("0.") && !version.starts_with("1.") {
        return Err(mismatch_fault("a version 0 or 1 of Binsparse", &header["version"]));
    }
    if !matches!(&header["structure"], Value::Null) {
        let content = format!("the structure {}", header["structure"]);
        return Err(in_descriptor(Fault::unsupported(content, "write the tensor without a structure")));
    }
    let numbers = |value: &Value| value.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
    let shape = numbers(&header["shape"]).ok_or_else(|| mismatch_fault("a list of sizes", &header["shape"]))?;
    if let Some(&size) = shape.iter().find(|&&d| d > MAX_DIMENSION) {
        let fault = Fault::TooLarge { quantity: "a dimension", size: Count(Some(size)), limit: MAX_DIMENSION };
        return Err(in_descriptor(fault));
    }
    let rank = shape.len();
    if rank > MAX_RANK {
        let size = Count(Some(rank as u64));
        return Err(in_descriptor(Fault::TooLarge { quantity: "the number of modes", size, limit: MAX_RANK as u64 }));
    }
    let format = header["format"].as_str().unwrap_or_default();
    let named = FORMATS.iter().find(|(name, ..)| *name == format);
    let (levels, modes) = match named {
        Some((_, levels, is_reversed)) => {
            (levels.to_vec(), if *is_reversed { (0..rank).rev().collect() } else { (0..rank).collect() })
        }
        None if format == "custom" => custom_levels(&header["custom"], rank)?,
        None => return Err(mismatch_fault("a format of Binsparse", &format)),
    };
    let dimensions: usize = levels.iter().map(|level| level.rank()).sum();
    if dimensions != rank {
        return Err(mismatch_fault(&format!("a format of {rank} dimensions"), &format));
    }
    let stored = header["number_of_stored_values"].as_u64();
    let stored =
        stored.ok_or_else(|| mismatch_fault("a number of stored values", &header["number_of_stored_values"]))?;
    let (dtype, is_iso) = value_type(&header["data_types"]["values"])?;
    let fill = match header["fill"].as_bool() {
        Some(true) => {
            let (fill_type, _) = value_type(&header["data_types"]["fill_value"])?;
            super::sparse::fill(archive, if fill_type == Prim::Bool { Prim::Bool } else { dtype })?
        }
        _ => Scalar::zero(dtype),
    };
    if fill.prim() != Some(dtype) {
        return Err(mismatch_fault("a fill value of the type of the values", &fill));
    }
    Ok(Descriptor { shape, dtype, fill, stored, levels, modes, is_iso })
}

/// Reads the levels and the modes of their dimensions.
fn custom_levels(custom: &Value, rank: usize) -> Result<(Vec<BinsparseLevel>, Vec<usize>), LocatedFault> {
    let mut levels = Vec::new();
    let mut level = &custom["level"];
    loop {
        let of_rank = || {
            let rank = level["rank"].as_u64().filter(|n| (1..=MAX_RANK as u64).contains(n));
            rank.map(|n| n as usize).ok_or_else(|| mismatch_fault("the rank of a level", &level["rank"]))
        };
        match level["level_desc"].as_str() {
            Some("element") => break,
            Some("dense") => levels.push(Dense(of_rank()?)),
            Some("sparse") => levels.push(Sparse(of_rank()?)),
            _ => return Err(mismatch_fault("a level: element, dense or sparse", &level["level_desc"])),
        }
        if levels.len() > rank {
            return Err(mismatch_fault(&format!("at most {rank} levels"), &levels.len()));
        }
        level = &level["level"];
    }
    let modes = match &custom["transpose"] {
        Value::Null => (0..rank).collect(),
        list => {
            let modes: Option<Vec<usize>> = list
                .as_array()
                .and_then(|list| list.iter().map(|mode| mode.as_u64().map(|mode| mode as usize)).collect());
            let is_permutation =
                |modes: &Vec<usize>| modes.len() == rank && (0..rank).all(|mode| modes.contains(&mode));
            modes.filter(is_permutation).ok_or_else(|| mismatch_fault("a permutation of the modes", list))?
        }
    };
    Ok((levels, modes))
}

/// Reads the type of values, and whether there is one value for all entries.
fn value_type(name: &Value) -> Result<(Prim, bool), LocatedFault> {
    let text = name.as_str().unwrap_or_default();
    let iso = text.strip_prefix("iso[").and_then(|rest| rest.strip_suffix(']'));
    if text.contains("complex[") {
        return Err(in_descriptor(Fault::unsupported("complex values", "write the real and the imaginary parts")));
    }
    let found = TYPES.iter().find(|(name, _)| *name == iso.unwrap_or(text));
    found.map(|(_, prim)| (*prim, iso.is_some())).ok_or_else(|| mismatch_fault("a type of values", &text))
}

/// The positions of the levels read so far: the positions that the last sparse level lists, and the
/// dense dimensions below each listed position.
struct Positions {
    /// The coordinates of each listed position, by dimension.
    listed: Vec<Vec<u64>>,
    /// The number of listed positions.
    count: u64,
    /// The sizes of the dense dimensions below each listed position.
    dense: Vec<u64>,
}

impl Positions {
    /// Returns the number of positions, or `None` if it exceeds `u64`.
    fn total(&self) -> Option<u64> {
        element_count(&self.dense).and_then(|below| below.checked_mul(self.count))
    }

    /// Returns the coordinates of the given positions, by dimension.
    fn coordinates(&self, archive: &Archive<'_>, positions: &[u64]) -> Result<Vec<Vec<u64>>, LocatedFault> {
        let dimensions = self.listed.len() + self.dense.len();
        archive.charge("coordinates", bytes_of(positions.len(), 8 * dimensions))?;
        let below = element_count(&self.dense).unwrap_or(u64::MAX).max(1);
        let listed = |column: &Vec<u64>| positions.iter().map(|p| column[(p / below) as usize]).collect();
        let mut coordinates: Vec<Vec<u64>> = self.listed.iter().map(listed).collect();
        let mut stride = below;
        for &size in &self.dense {
            stride /= size.max(1);
            coordinates.push(positions.iter().map(|p| p / stride % size).collect());
        }
        Ok(coordinates)
    }
}

/// Reads the entries.
pub(super) fn read(archive: &mut Archive<'_>, descriptor: &Descriptor) -> Result<Data, LocatedFault> {
    let sizes: Vec<u64> = descriptor.modes.iter().map(|&mode| descriptor.shape[mode]).collect();
    let too_large = || {
        in_descriptor(Fault::TooLarge { quantity: "the number of positions", size: Count(None), limit: MAX_DIMENSION })
    };
    let mut positions = Positions { listed: Vec::new(), count: 1, dense: Vec::new() };
    let mut first_dimension = 0;
    for &level in &descriptor.levels {
        match level {
            Dense(rank) => positions.dense.extend(&sizes[first_dimension..first_dimension + rank]),
            Sparse(rank) => {
                let mut lists = Vec::with_capacity(rank);
                for (dimension, &size) in sizes.iter().enumerate().skip(first_dimension).take(rank) {
                    let name = format!("indices_{dimension}");
                    let (_, list) = archive.naturals(&name, 1)?;
                    check_length(&name, lists.first().map_or(list.len(), Vec::len) as u64, list.len())?;
                    check_range(&name, descriptor.modes[dimension], size, &list)?;
                    lists.push(list);
                }
                let entries = lists[0].len();
                let parents = match first_dimension {
                    0 => vec![0; entries],
                    _ => {
                        let name = format!("pointers_to_{first_dimension}");
                        let total = positions.total().filter(|&n| n < MAX_DIMENSION).ok_or_else(too_large)?;
                        let ptr = pointers(archive, &name, total, entries)?;
                        check_length(&format!("indices_{first_dimension}"), ptr[ptr.len() - 1], entries)?;
                        expand(archive, &ptr)?
                    }
                };
                let listed = positions.coordinates(archive, &parents)?;
                positions = Positions {
                    listed: listed.into_iter().chain(lists).collect(),
                    count: entries as u64,
                    dense: Vec::new(),
                };
            }
        }
        first_dimension += level.rank();
    }
    let total = positions.total().filter(|&n| n <= MAX_DIMENSION).ok_or_else(too_large)?;
    let values = values(archive, descriptor, total)?;
    if descriptor.layout() == Layout::Array {
        return Ok(Data::Dense(values));
    }
    let mut all: Vec<u64> = archive.allocate("positions", total)?;
    all.extend(0..total);
    let mut by_mode = vec![Vec::new(); sizes.len()];
    for (column, &mode) in positions.coordinates(archive, &all)?.into_iter().zip(&descriptor.modes) {
        by_mode[mode] = column;
    }
    Ok(Data::Triples { coordinates: by_mode, values })
}

/// Reads the values of all positions.
fn values(archive: &mut Archive<'_>, descriptor: &Descriptor, total: u64) -> Result<Values, LocatedFault> {
    const NAME: &str = "values";
    let in_values = |fault: Fault| fault.at(Location::Array(NAME.into()));
    check_length(DESCRIPTOR, descriptor.stored, usize::try_from(total).unwrap_or(usize::MAX))?;
    let values = archive.array(NAME)?.values;
    let hint = "the values must fit the type in the descriptor";
    let overflow = |(_, value): (usize, Scalar)| {
        in_values(Fault::Overflow { value: value.to_string(), dtype: descriptor.dtype, hint })
    };
    archive.charge(NAME, bytes_of(values.len(), descriptor.dtype.bytes()))?;
    let values = values.convert(descriptor.dtype).map_err(overflow)?;
    if !descriptor.is_iso {
        check_length(NAME, total, values.len())?;
        return Ok(values);
    }
    check_length(NAME, 1, values.len())?;
    Ok(map_values!(values, v => {
        let mut all = archive.allocate(NAME, total)?;
        all.resize(total as usize, v[0]);
        all
    }))
}
