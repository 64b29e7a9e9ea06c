//! The join of a region, without nodes of DataFusion's plans: its tables, its comparisons and its
//! groups.

use crate::table::{ModeRange, TensorColumn, TensorTable};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue, TableReference};
use datafusion::logical_expr::Expr;
use serde::{Deserialize, Serialize};

/// Index of a leaf of a join.
pub type LeafId = usize;

/// Index of a field of a join.
pub type FieldId = usize;

/// A column of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct LeafColumn {
    /// The leaf.
    pub leaf: LeafId,
    /// The index among the columns of the leaf.
    pub column: usize,
}

/// A join of tables, whose rows are grouped.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GroupedJoin {
    /// The joined tables.
    pub leaves: Vec<Leaf>,
    /// The outer joins among the leaves, each after the outer joins whose rows it reads.
    pub outers: Vec<OuterJoin>,
    /// The fields, which are the values by which rows are joined, grouped or compared, or whose
    /// distinct values are folded.
    pub fields: Vec<RegionField>,
    /// Comparisons that rows of the join, or rows of an excluding leaf, must pass.
    pub masks: Vec<Mask>,
    /// Columns that must not be NULL in any row, because anti-joins compare values with these
    /// columns.
    pub non_null: Vec<LeafColumn>,
    /// Group keys that are floats. A key must not be NaN or a negative zero, because its group may
    /// also contain values with other bits.
    pub float_keys: Vec<LeafColumn>,
    /// The group columns of the result, in order.
    pub groups: Vec<GroupColumn>,
}

/// A table of a join.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Leaf {
    /// The name of the table in the query, or a made-up name if the leaf is another plan. For a
    /// computed leaf, the text of its condition or of its results.
    pub name: String,
    /// The origin of the rows.
    pub source: LeafSource,
    /// The effect of the leaf's rows on the rows of the join.
    pub role: LeafRole,
    /// The names and types of the columns.
    pub columns: Vec<ColumnInfo>,
    /// Indices of columns of an anti-join's leaf. A row of the leaf excludes other rows only if
    /// none of these columns is NULL.
    pub required: Vec<usize>,
    /// The value of each column in rows that outer joins add; empty if no outer join pads the leaf.
    pub padding: Vec<ScalarValue>,
}

/// An outer join. The padded leaf gets a row for each key that only the kept leaf has. The other
/// columns of this row have the values of their expressions in a row of NULLs. An inner join with
/// the padded leaf then has the rows of the outer join.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct OuterJoin {
    /// The leaf whose rows are all kept.
    pub kept: LeafId,
    /// The leaf that gets added rows.
    pub padded: LeafId,
    /// The pairs of equal columns; the column of the kept leaf comes first. The key columns of a
    /// padded leaf have no other use.
    pub keys: Vec<(usize, usize)>,
    /// True if the kept leaf is padded, too (full outer join).
    pub full: bool,
}

/// A column of a leaf.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ColumnInfo {
    /// The name of the column in the query.
    pub name: String,
    /// The type of the column.
    pub ty: DataType,
}

/// The origin of a leaf's rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LeafSource {
    /// An input of the region, which other leaves may share.
    Input {
        /// The index of the input.
        input: usize,
        /// The input's column for each column of the leaf.
        columns: Vec<usize>,
    },
    /// A tensor, bound unchanged; each column of the leaf is a mode or the value of the tensor.
    Tensor {
        /// The tensor.
        table: TensorTable,
        /// The mode or value of each column.
        columns: Vec<TensorColumn>,
        /// Ranges of coordinates; only entries within all of them count.
        ranges: Vec<ModeRange>,
    },
    /// Combinations of values of other leaves.
    Computed(Combinations),
}

/// The effect of a leaf's rows on the rows of a join.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum LeafRole {
    /// Each matching row of the leaf gives a row of the join (inner join).
    Join,
    /// Rows of other leaves pass once if a row of this leaf matches them (semi-join).
    SemiJoin,
    /// Rows of other leaves pass if no row of this leaf matches them (anti-join). Such a leaf is
    /// called an excluding leaf.
    AntiJoin,
}

/// A class of equal values, which is a field of the Logic plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RegionField {
    /// The name of the field in messages.
    pub name: String,
    /// The columns of the field, one tuple of columns for each occurrence. If a leaf has several
    /// occurrences, a row joins only if their values are equal.
    pub columns: Vec<Vec<LeafColumn>>,
    /// The id of the domain. Fields of one domain share the codes of values.
    pub domain: usize,
    /// The treatment of NULLs in the field.
    pub nulls: NullTreatment,
}

/// The treatment of rows with a NULL in a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum NullTreatment {
    /// A row with a NULL joins nothing.
    Drop,
    /// NULL is a value like any other.
    Keep,
}

/// A comparison of two fields of one domain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Mask {
    /// The left side.
    pub left: FieldId,
    /// The comparison.
    pub comparison: Comparison,
    /// The right side.
    pub right: FieldId,
    /// The excluding leaf whose rows are compared; `None` if the rows of the join must pass.
    pub excluding_leaf: Option<LeafId>,
}

/// The rows of a leaf that is computed from other leaves: a row for each combination of the other
/// leaves' values that passes the condition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Combinations {
    /// The columns whose distinct values are combined, as a tuple of columns for each of the other
    /// leaves.
    pub sources: Vec<Vec<LeafColumn>>,
    /// The condition that combinations must pass.
    pub condition: Option<Expr>,
    /// The columns of the leaf: the values of the sources, and expressions over these values. These
    /// expressions and the condition refer to values by [`Combinations::column`].
    pub exprs: Vec<Expr>,
}

impl Combinations {
    /// The prefix of the relation names of sources in expressions.
    const SOURCE: &str = "source#";

    /// Returns the column by which expressions refer to element `part` of the tuple of a source.
    pub fn column(source: usize, part: usize) -> Column {
        Column::new(Some(TableReference::bare(format!("{}{source}", Combinations::SOURCE))), part.to_string())
    }

    /// Returns the source of a column made by [`Combinations::column`], and the index of the
    /// column's element in the tuple of the source.
    pub fn as_part(column: &Column) -> Option<(usize, usize)> {
        let source = column.relation.as_ref()?.table().strip_prefix(Combinations::SOURCE)?.parse().ok()?;
        Some((source, column.name.parse().ok()?))
    }

    /// Returns the columns of the leaf that have the tuple of a source.
    ///
    /// # Panics
    /// If the leaf lacks an element of the tuple.
    pub fn columns_of_source(&self, source: usize) -> Vec<usize> {
        let column_of = |part| {
            let part = Expr::Column(Combinations::column(source, part));
            self.exprs.iter().position(|e| *e == part).expect("a computed leaf has the values of its sources")
        };
        (0..self.sources[source].len()).map(column_of).collect()
    }
}

/// A comparison operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Comparison {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `<>`
    Ne,
}

/// A group column of the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct GroupColumn {
    /// The field of the group key.
    pub field: FieldId,
    /// The index within the field's tuple of columns.
    pub part: usize,
}

impl GroupedJoin {
    /// Returns the fields that have columns of a leaf.
    pub fn fields_of(&self, leaf: LeafId) -> impl Iterator<Item = FieldId> {
        let holds = move |field: &RegionField| field.columns.iter().flatten().any(|c| c.leaf == leaf);
        self.fields.iter().enumerate().filter(move |(_, f)| holds(f)).map(|(k, _)| k)
    }

    /// Returns the name and type of a column.
    pub fn column(&self, column: LeafColumn) -> &ColumnInfo {
        &self.leaves[column.leaf].columns[column.column]
    }

    /// Returns the names of columns, separated by commas.
    pub(crate) fn names(&self, columns: &[LeafColumn]) -> String {
        columns.iter().map(|&c| self.column(c).name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the fields of the group columns, each once, in order.
    pub fn group_fields(&self) -> Vec<FieldId> {
        let mut fields = Vec::new();
        for group in &self.groups {
            if !fields.contains(&group.field) {
                fields.push(group.field);
            }
        }
        fields
    }

    /// Returns whether any leaf is a tensor.
    pub fn has_tensors(&self) -> bool {
        self.leaves.iter().any(|leaf| matches!(leaf.source, LeafSource::Tensor { .. }))
    }

    /// Returns the tensor of a leaf, and the mode or value of each column of the leaf; `None` if
    /// the leaf is not a tensor.
    pub fn tensor(&self, leaf: LeafId) -> Option<(&TensorTable, &[TensorColumn])> {
        match &self.leaves[leaf].source {
            LeafSource::Tensor { table, columns, .. } => Some((table, columns)),
            LeafSource::Input { .. } | LeafSource::Computed(_) => None,
        }
    }

    /// Returns the input of a leaf; `None` for tensors and computed leaves.
    pub fn input(&self, leaf: LeafId) -> Option<usize> {
        match &self.leaves[leaf].source {
            LeafSource::Input { input, .. } => Some(*input),
            LeafSource::Tensor { .. } | LeafSource::Computed(_) => None,
        }
    }

    /// Returns the input of a column, and the column's index in the input; `None` for tensors and
    /// computed leaves.
    pub fn input_column(&self, column: LeafColumn) -> Option<(usize, usize)> {
        match &self.leaves[column.leaf].source {
            LeafSource::Input { input, columns } => Some((*input, columns[column.column])),
            LeafSource::Tensor { .. } | LeafSource::Computed(_) => None,
        }
    }
}
