//! What values of a type can be used for.

use datafusion::arrow::datatypes::DataType;

/// Whether equal values of the type are the same value, so that it can be a key. Zero of a float has two signs.
pub(super) fn is_key(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, value) => is_key(value),
        ty => is_ordered(ty) && !ty.is_floating(),
    }
}

/// Whether values of the type have an order that codes can keep.
pub(super) fn is_ordered(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, Boolean | Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | Date32 | Date64)
        || matches!(ty, Timestamp(..) | Time32(_) | Time64(_) | Decimal128(..) | Float32 | Float64)
        || ty.is_integer()
}
