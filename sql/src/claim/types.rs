//! Properties of column types: whether values of a type can be keys, and whether codes preserve
//! their order.

use datafusion::arrow::datatypes::DataType;

/// Returns whether the type can be a key: codes can preserve the order of the values, and equal
/// values are identical. Equal floats may differ, because zero has two signs. A dictionary can be a
/// key if the type of its values can.
pub(super) fn is_key(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, value) => is_key(value),
        ty => is_ordered(ty) && !ty.is_floating(),
    }
}

/// Returns whether codes can preserve the order of the type's values. Returns `false` for
/// dictionaries, whatever the type of their values is.
pub(crate) fn is_ordered(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, Boolean | Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | Date32 | Date64)
        || matches!(ty, Timestamp(..) | Time32(_) | Time64(_) | Decimal128(..) | Float32 | Float64)
        || ty.is_integer()
}
