//! Regions as messages. Values and expressions of DataFusion travel in DataFusion's messages, and
//! the other parts of a region as JSON.

use super::check::check_region;
use super::codec::{tensor_message, tensor_table};
use super::message::{ColumnMessage, TensorMessage, malformed, unsendable};
use crate::aggregates::Aggregate;
use crate::claim::{
    ColumnInfo, Combinations, GroupColumn, GroupedJoin, Leaf, LeafColumn, LeafRole, LeafSource, Mask, OuterJoin,
    Region, RegionField,
};
use crate::table::{ModeRange, TensorColumn};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion_proto::logical_plan::DefaultLogicalExtensionCodec;
use datafusion_proto::logical_plan::from_proto::parse_expr;
use datafusion_proto::logical_plan::to_proto::serialize_expr;
use datafusion_proto::protobuf;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A [`Region`].
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RegionMessage {
    #[prost(message, repeated, tag = "1")]
    leaves: Vec<LeafMessage>,
    /// The other parts, as JSON of [`RegionText`].
    #[prost(string, tag = "2")]
    text: String,
}

/// The parts of a region that are JSON.
#[derive(Serialize, Deserialize)]
struct RegionText<'a> {
    outers: Cow<'a, [OuterJoin]>,
    fields: Cow<'a, [RegionField]>,
    masks: Cow<'a, [Mask]>,
    non_null: Cow<'a, [LeafColumn]>,
    float_keys: Cow<'a, [LeafColumn]>,
    groups: Cow<'a, [GroupColumn]>,
    aggregates: Cow<'a, [Aggregate]>,
}

/// A [`Leaf`].
#[derive(Clone, PartialEq, prost::Message)]
struct LeafMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    columns: Vec<ColumnMessage>,
    #[prost(message, repeated, tag = "3")]
    padding: Vec<protobuf::ScalarValue>,
    /// The other parts, as JSON of [`LeafText`].
    #[prost(string, tag = "4")]
    text: String,
    /// The tensor, if the source is one.
    #[prost(message, optional, tag = "5")]
    tensor: Option<TensorMessage>,
    /// The condition and the expressions of a computed leaf.
    #[prost(message, optional, tag = "6")]
    condition: Option<protobuf::LogicalExprNode>,
    #[prost(message, repeated, tag = "7")]
    exprs: Vec<protobuf::LogicalExprNode>,
}

/// The parts of a leaf that are JSON.
#[derive(Serialize, Deserialize)]
struct LeafText {
    role: LeafRole,
    required: Vec<usize>,
    source: SourceText,
}

/// The parts of a [`LeafSource`] that are JSON.
#[derive(Serialize, Deserialize)]
enum SourceText {
    Input { input: usize, columns: Vec<usize> },
    Tensor { columns: Vec<TensorColumn>, ranges: Vec<ModeRange> },
    Computed { sources: Vec<Vec<LeafColumn>> },
}

impl RegionMessage {
    /// Returns the message of a region.
    ///
    /// # Errors
    /// If a tensor cannot be computed or written, an expression calls a function that cannot
    /// travel, or the operators of a semiring are not built in.
    pub(super) fn new(region: &Region) -> Result<RegionMessage> {
        let GroupedJoin { leaves, outers, fields, masks, non_null, float_keys, groups } = &region.join;
        let text = RegionText {
            outers: outers.into(),
            fields: fields.into(),
            masks: masks.into(),
            non_null: non_null.into(),
            float_keys: float_keys.into(),
            groups: groups.into(),
            aggregates: (&region.aggregates).into(),
        };
        Ok(RegionMessage {
            leaves: leaves.iter().map(leaf_message).collect::<Result<_>>()?,
            text: serde_json::to_string(&text).map_err(unsendable)?,
        })
    }

    /// Returns the region. `context` has the functions that expressions call.
    ///
    /// # Errors
    /// If the message or the region is malformed, or a function is unknown.
    pub(super) fn region(&self, context: &TaskContext) -> Result<Region> {
        let leaves: Vec<Leaf> = self.leaves.iter().map(|leaf| leaf_of(leaf, context)).collect::<Result<_>>()?;
        let text: RegionText<'_> = serde_json::from_str(&self.text).map_err(malformed)?;
        let join = GroupedJoin {
            leaves,
            outers: text.outers.into_owned(),
            fields: text.fields.into_owned(),
            masks: text.masks.into_owned(),
            non_null: text.non_null.into_owned(),
            float_keys: text.float_keys.into_owned(),
            groups: text.groups.into_owned(),
        };
        let region = Region { join, aggregates: text.aggregates.into_owned() };
        check_region(&region)?;
        Ok(region)
    }
}

fn leaf_message(leaf: &Leaf) -> Result<LeafMessage> {
    let column = |column: &ColumnInfo| ColumnMessage::new(&column.name, &column.ty);
    let value = |value: &ScalarValue| protobuf::ScalarValue::try_from(value).map_err(unsendable);
    let expr = |expr: &Expr| serialize_expr(expr, &DefaultLogicalExtensionCodec {}).map_err(unsendable);
    let mut message = LeafMessage {
        name: leaf.name.clone(),
        columns: leaf.columns.iter().map(column).collect::<Result<_>>()?,
        padding: leaf.padding.iter().map(value).collect::<Result<_>>()?,
        ..LeafMessage::default()
    };
    let source = match &leaf.source {
        LeafSource::Input { input, columns } => SourceText::Input { input: *input, columns: columns.clone() },
        LeafSource::Tensor { table, columns, ranges } => {
            message.tensor = Some(tensor_message(table)?);
            SourceText::Tensor { columns: columns.clone(), ranges: ranges.clone() }
        }
        LeafSource::Computed(combinations) => {
            message.condition = combinations.condition.as_ref().map(expr).transpose()?;
            message.exprs = combinations.exprs.iter().map(expr).collect::<Result<_>>()?;
            SourceText::Computed { sources: combinations.sources.clone() }
        }
    };
    let text = LeafText { role: leaf.role, required: leaf.required.clone(), source };
    message.text = serde_json::to_string(&text).map_err(unsendable)?;
    Ok(message)
}

fn leaf_of(message: &LeafMessage, context: &TaskContext) -> Result<Leaf> {
    let column = |column: &ColumnMessage| Ok(ColumnInfo { name: column.name.clone(), ty: column.ty()? });
    let value = |value: &protobuf::ScalarValue| ScalarValue::try_from(value).map_err(malformed);
    let expr = |expr: &protobuf::LogicalExprNode| {
        parse_expr(expr, context, &DefaultLogicalExtensionCodec {}).map_err(malformed)
    };
    let text: LeafText = serde_json::from_str(&message.text).map_err(malformed)?;
    let source = match text.source {
        SourceText::Input { input, columns } => LeafSource::Input { input, columns },
        SourceText::Tensor { columns, ranges } => {
            let tensor = message.tensor.as_ref().ok_or_else(|| malformed("a leaf has no tensor"))?;
            LeafSource::Tensor { table: tensor_table(tensor)?, columns, ranges }
        }
        SourceText::Computed { sources } => LeafSource::Computed(Combinations {
            sources,
            condition: message.condition.as_ref().map(expr).transpose()?,
            exprs: message.exprs.iter().map(expr).collect::<Result<_>>()?,
        }),
    };
    Ok(Leaf {
        name: message.name.clone(),
        source,
        role: text.role,
        columns: message.columns.iter().map(column).collect::<Result<_>>()?,
        required: text.required,
        padding: message.padding.iter().map(value).collect::<Result<_>>()?,
    })
}
