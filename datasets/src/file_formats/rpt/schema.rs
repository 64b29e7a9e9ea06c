//! The schema of a file: a column for each array, and the type of the tensor as metadata.

use crate::content::{MAX_DIMENSION, MAX_RANK};
use crate::error::{Count, Fault};
use crate::text::quote;
use arrow_ipc::{Endianness, Precision, Schema as SchemaReader, Type};
use arrow_schema::{Field, Schema};
use redpoll_logic::literal::{read_literal, write_literal};
use redpoll_logic::sexpr::read_one;
use redpoll_logic::text::{format_to_sexpr, parse_format};
use redpoll_logic::{DType, LeafKind, Prim, Scalar, TensorType, plural};
use redpoll_storage::levels::level;
use redpoll_storage::{Array, arrow_type};
use std::collections::HashMap;

/// The version of the format.
const VERSION: &str = "1";

/// The keys of the metadata.
const KEYS: [&str; 6] =
    ["redpoll:version", "redpoll:shape", "redpoll:fill", "redpoll:fill-bits", "redpoll:format", "redpoll:stored"];

/// The type of a tensor in a file, and its number of stored elements.
pub(super) struct TensorHeader {
    pub(super) ty: TensorType,
    pub(super) stored: u64,
}

/// Returns the names of the columns of a tensor.
pub(super) fn column_names(ty: &TensorType) -> Vec<String> {
    let levels = ty.format.levels.iter().enumerate();
    let mut names: Vec<String> =
        levels.flat_map(|(k, l)| level(l.kind).arrays().iter().map(move |spec| format!("{k}.{}", spec.name))).collect();
    if ty.format.leaf == LeafKind::Element {
        add_leaf_names(&ty.dtype, "val".into(), &mut names);
    }
    names
}

fn add_leaf_names(dtype: &DType, name: String, names: &mut Vec<String>) {
    match dtype {
        DType::Prim(_) => names.push(name),
        DType::Struct(ty) => ty.members.iter().for_each(|(m, t)| add_leaf_names(t, format!("{name}.{m}"), names)),
    }
}

/// Returns the Arrow schema for the arrays of a tensor.
pub(super) fn schema<'a>(ty: &TensorType, stored: u64, arrays: impl Iterator<Item = &'a Array>) -> Schema {
    let field = |(name, array): (String, &Array)| {
        let prim = if array.prim() == Prim::Bool { Prim::U8 } else { array.prim() };
        Field::new_large_list(name, Field::new("item", arrow_type(&DType::Prim(prim)), false), false)
    };
    let fields: Vec<Field> = column_names(ty).into_iter().zip(arrays).map(field).collect();
    let shape: Vec<String> = ty.shape.iter().map(u64::to_string).collect();
    let values = [
        VERSION.to_owned(),
        shape.join(" "),
        write_literal(&ty.fill).to_string(),
        fill_bits(&ty.fill),
        format_to_sexpr(&ty.format).to_string(),
        stored.to_string(),
    ];
    let metadata: HashMap<String, String> = KEYS.map(str::to_owned).into_iter().zip(values).collect();
    Schema::new_with_metadata(fields, metadata)
}

/// Returns the bits of the primitives of a value as text. The bits are stored beside the literal,
/// because the literal is the same for all NaNs.
fn fill_bits(fill: &Scalar) -> String {
    let bits = |part: &Scalar| format!("{:x}", part.to_bits().expect("flattened values are primitives"));
    fill.flatten().iter().map(bits).collect::<Vec<_>>().join(" ")
}

/// Reads the type of the tensor, and its number of stored elements.
pub(super) fn read_header(schema: &SchemaReader<'_>) -> Result<TensorHeader, Fault> {
    if schema.endianness() != Endianness::Little {
        return Err(Fault::unsupported("a big-endian file", "write it on a little-endian machine"));
    }
    let pairs = schema.custom_metadata().into_iter().flatten();
    let metadata: HashMap<&str, &str> = pairs.filter_map(|pair| Some((pair.key()?, pair.value()?))).collect();
    let Some(version) = metadata.get(KEYS[0]) else {
        let hint = "to query the file as a table in SQL, name it .arrow";
        return Err(Fault::unsupported("an Arrow file without the type of a tensor", hint));
    };
    if *version != VERSION {
        let content = format!("version {} of the file format", quote(version.as_bytes()));
        return Err(Fault::unsupported(content, format!("this version of redpoll reads version {VERSION}")));
    }
    let text = |key: &str| {
        let missing = || Fault::malformed(format!("`{key}` in the metadata"), "none");
        metadata.get(key).copied().ok_or_else(missing)
    };
    let invalid = |key: &str, text: &str| Fault::malformed(format!("a valid `{key}`"), quote(text.as_bytes()));
    let dimensions = |text: &str| text.split_ascii_whitespace().map(|n| n.parse().ok()).collect::<Option<Vec<u64>>>();
    let shape = dimensions(text(KEYS[1])?).ok_or_else(|| invalid(KEYS[1], metadata[KEYS[1]]))?;
    if let Some(&size) = shape.iter().find(|&&d| d > MAX_DIMENSION) {
        return Err(Fault::TooLarge { quantity: "a dimension", size: Count(Some(size)), limit: MAX_DIMENSION });
    }
    if shape.len() > MAX_RANK {
        let size = Count(Some(shape.len() as u64));
        return Err(Fault::TooLarge { quantity: "the number of modes", size, limit: MAX_RANK as u64 });
    }
    let literal = text(KEYS[2])?;
    let fill = read_one(literal).and_then(|form| read_literal(&form)).map_err(|_| invalid(KEYS[2], literal))?;
    let bits = text(KEYS[3])?;
    let fill = with_bits(&fill, bits).ok_or_else(|| invalid(KEYS[3], bits))?;
    let format = text(KEYS[4])?;
    let format = parse_format(format, shape.len()).map_err(|_| invalid(KEYS[4], format))?;
    let stored = text(KEYS[5])?.parse().map_err(|_| invalid(KEYS[5], metadata[KEYS[5]]))?;
    let ty = TensorType { shape, dtype: fill.dtype(), fill, format };
    ty.validate().map_err(|e| Fault::malformed("a valid type of a tensor", e.to_string()))?;
    Ok(TensorHeader { ty, stored })
}

/// Returns the value that has the bits in `text`; `None` if the text is malformed, or if the bits
/// denote another value than `value`. All NaNs count as equal.
fn with_bits(value: &Scalar, text: &str) -> Option<Scalar> {
    let prims = value.dtype().prims();
    let words = text.split_ascii_whitespace().map(|word| u64::from_str_radix(word, 16).ok());
    let words: Vec<u64> = words.collect::<Option<_>>()?;
    let parts = (words.len() == prims.len()).then(|| prims.iter().zip(&words))?;
    let parts: Vec<Scalar> = parts.map(|(prim, bits)| Scalar::from_bits(*prim, *bits)).collect();
    let same = |(a, b): (&Scalar, &Scalar)| a == b || a.is_nan() && b.is_nan();
    let agree = value.flatten().iter().zip(&parts).all(same);
    if agree { Scalar::unflatten(&value.dtype(), &mut parts.into_iter()) } else { None }
}

/// Reads the types of the elements of all columns, and checks their names.
pub(super) fn read_columns(schema: &SchemaReader<'_>, ty: &TensorType) -> Result<Vec<Prim>, Fault> {
    let names = column_names(ty);
    let fields: Vec<_> = schema.fields().into_iter().flatten().collect();
    if fields.len() != names.len() {
        let columns = plural(names.len() as u64, "column", "columns");
        let expected = format!("{} {columns} for the arrays of the format", names.len());
        return Err(Fault::malformed(expected, fields.len().to_string()));
    }
    let mut prims = Vec::with_capacity(fields.len());
    for (field, name) in fields.into_iter().zip(&names) {
        let found = field.name().unwrap_or_default();
        if found != name {
            return Err(Fault::malformed(format!("the column `{name}`"), quote(found.as_bytes())));
        }
        let item = field.children().filter(|list| list.len() == 1).map(|list| list.get(0));
        let item = item.filter(|_| field.type_type() == Type::LargeList && field.dictionary().is_none());
        let prim = item.filter(|item| item.dictionary().is_none()).and_then(|item| match item.type_type() {
            Type::Int => item.type_as_int().and_then(|int| integer(int.bitWidth(), int.is_signed())),
            Type::FloatingPoint => item.type_as_floating_point().and_then(|float| match float.precision() {
                Precision::SINGLE => Some(Prim::F32),
                Precision::DOUBLE => Some(Prim::F64),
                _ => None,
            }),
            _ => None,
        });
        let expected = || Fault::malformed(format!("a large list of numbers in the column `{name}`"), "another type");
        prims.push(prim.ok_or_else(expected)?);
    }
    // Booleans are stored as bytes.
    let leaf = if ty.format.leaf == LeafKind::Element { ty.dtype.prims() } else { Vec::new() };
    let start = prims.len() - leaf.len();
    for (prim, expected) in prims[start..].iter_mut().zip(leaf) {
        if expected == Prim::Bool && *prim == Prim::U8 {
            *prim = Prim::Bool;
        }
    }
    Ok(prims)
}

fn integer(bits: i32, is_signed: bool) -> Option<Prim> {
    let is_integer =
        |prim: &Prim| prim.is_int() && i64::from(prim.bits()) == i64::from(bits) && prim.is_signed() == is_signed;
    Prim::ALL.into_iter().find(is_integer)
}

/// Returns the error of a file whose header and arrays disagree on the number of stored elements.
pub(super) fn stored_fault(expected: u64, found: u64) -> Fault {
    Fault::malformed(format!("{expected} stored elements as in the metadata"), found.to_string())
}
