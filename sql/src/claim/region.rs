//! Regions: a set of aggregates over one join, freed of DataFusion's plan nodes.

use crate::semiring::Semiring;
use crate::table::TensorTable;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue, TableReference};
use datafusion::logical_expr::Expr;
use redpoll_logic::Prim;

/// Which leaf of a region.
pub type LeafId = usize;

/// Which field of a region.
pub type FieldId = usize;

/// A column that a leaf supplies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LeafColumn {
    /// The leaf.
    pub leaf: LeafId,
    /// Its number among the columns of the leaf.
    pub column: usize,
}

/// A set of aggregates over one join.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Region {
    /// The tables that are joined.
    pub leaves: Vec<Leaf>,
    /// The outer joins among them, each after those whose rows it reads.
    pub outers: Vec<Outer>,
    /// The columns that join, group, are compared, or whose distinct values are folded.
    pub fields: Vec<RegionField>,
    /// The comparisons that rows must pass.
    pub masks: Vec<Mask>,
    /// The other conditions over several leaves that rows must pass.
    pub conditions: Vec<Condition>,
    /// The columns that must have values in all rows: comparisons with them decide which rows others keep out.
    pub total: Vec<LeafColumn>,
    /// The columns of the result that name a group, first to last.
    pub groups: Vec<GroupColumn>,
    /// The other columns of the result.
    pub aggregates: Vec<Aggregate>,
}

/// A table of the join.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Leaf {
    /// What users call it.
    pub name: String,
    /// Where its rows come from.
    pub source: Source,
    /// Whether its rows count, or just that there is one.
    pub role: Role,
    /// The types of its columns.
    pub columns: Vec<ColumnInfo>,
    /// The columns that must have values in the rows that keep others out.
    pub required: Vec<usize>,
    /// What each column is in a row that an outer join adds; nothing for a leaf to which none does.
    pub absent: Vec<ScalarValue>,
}

/// An outer join: a leaf gets a row without values for every key that another one has and it does not, so that the join of
/// both has what the outer join has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outer {
    /// The leaf all of whose rows are kept.
    pub kept: LeafId,
    /// The leaf that gets rows.
    pub padded: LeafId,
    /// The columns that are equal, those of the leaf that is kept first; those of a leaf that gets rows have no other use.
    pub keys: Vec<(usize, usize)>,
    /// Whether it holds the other way around, too (full outer join).
    pub full: bool,
}

/// A column of a leaf.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ColumnInfo {
    /// What users call it.
    pub name: String,
    /// Its type.
    pub ty: DataType,
}

/// Where the rows of a leaf come from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// An input of the node, which other leaves may read, too.
    Input {
        /// The number of the input.
        input: usize,
        /// Which of its columns each column of the leaf is.
        columns: Vec<usize>,
    },
    /// A tensor, bound as it is; each column is one of its modes or its value.
    Tensor {
        /// The tensor.
        table: TensorTable,
        /// What each column of the leaf is.
        columns: Vec<TensorColumn>,
        /// The entries that count are within all these.
        ranges: Vec<ModeRange>,
    },
}

/// A range of the coordinates of a mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModeRange {
    /// The mode.
    pub mode: usize,
    /// The first coordinate.
    pub low: u64,
    /// The one behind the last.
    pub high: u64,
}

/// What a column of a tensor's table is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TensorColumn {
    /// The coordinate in a mode.
    Mode(usize),
    /// The value.
    Value,
}

/// What the rows of a leaf do to the rows of the join.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Each row joins: rows of the result multiply.
    Joins,
    /// A row lets rows of others through, once (semi-join).
    Filters,
    /// A row keeps rows of others out (anti-join).
    Excludes,
}

/// A name for values that are equal: the field of a Logic table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RegionField {
    /// What users call it.
    pub name: String,
    /// The columns that hold it, one tuple of columns for each; those of one leaf may be several, which are then equal.
    pub columns: Vec<Vec<LeafColumn>>,
    /// Fields of the same domain have the same codes for the same values.
    pub domain: usize,
    /// What becomes of rows with a NULL in it.
    pub nulls: Nulls,
}

/// What becomes of rows with a NULL in a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Nulls {
    /// They join nothing.
    Drop,
    /// NULL is a value like others.
    Keep,
}

/// A comparison of two fields of one domain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mask {
    /// The left side.
    pub left: FieldId,
    /// The comparison.
    pub comparison: Comparison,
    /// The right side.
    pub right: FieldId,
    /// The leaf whose rows must pass to keep others out; `None` where the rows of the join must pass.
    pub within: Option<LeafId>,
}

/// A condition over fields of several leaves, which is computed for all their values beforehand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Condition {
    /// The fields.
    pub fields: Vec<FieldId>,
    /// The condition; part `p` of the tuple of the `k`-th field is the column [`Condition::column`] of `k` and `p`.
    pub expr: Expr,
    /// What users call it.
    pub name: String,
}

impl Condition {
    /// The column of a field's part.
    pub fn column(field: usize, part: usize) -> Column {
        Column::new(Some(TableReference::bare(format!("field#{field}"))), part.to_string())
    }
}

/// How two fields are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

/// A column of the result that names a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GroupColumn {
    /// The field that holds it.
    pub field: FieldId,
    /// Which of the columns of the field's tuple.
    pub part: usize,
}

/// A column of the result that is computed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Aggregate {
    /// How many rows have all these columns; of no column, how many rows.
    Count(Vec<LeafColumn>),
    /// A sum of products.
    Sum(Sum),
    /// A sum of products over the number of rows that have a value.
    Average(Sum),
    /// The smallest or largest value of a column.
    Extreme {
        /// Which of the two.
        end: End,
        /// The column.
        column: LeafColumn,
        /// A row counts when all these columns have values, too.
        valid: Vec<LeafColumn>,
    },
    /// A fold over a semiring.
    Fold {
        /// The semiring.
        semiring: Semiring,
        /// The arguments, of one leaf each.
        factors: Vec<LeafColumn>,
        /// A row counts when all these columns have values.
        valid: Vec<LeafColumn>,
    },
    /// How many values a column has in a group, NULL not among them.
    CountDistinct {
        /// The field that holds the column.
        field: FieldId,
        /// The column.
        column: LeafColumn,
        /// A row counts when all these columns have values, too.
        valid: Vec<LeafColumn>,
    },
    /// The sum of the values that a column has in a group, each once, or their mean.
    OverDistinct {
        /// The field that holds the column.
        field: FieldId,
        /// The column.
        column: LeafColumn,
        /// A row counts when all these columns have values, too.
        valid: Vec<LeafColumn>,
        /// The type in which it is computed.
        ty: Number,
        /// Whether the mean is asked for.
        mean: bool,
    },
}

/// Which end of an order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum End {
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// A sum over rows of a sum of products.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sum {
    /// What is summed, in cases that have no rows in common; rows of none do not count.
    pub cases: Vec<Case>,
    /// Whether every row is in a case.
    pub covers: bool,
    /// What must not exceed the type that it was computed in.
    pub narrow: Vec<Narrow>,
    /// The type in which it is computed.
    pub ty: Number,
}

/// What is summed in the rows in which all guards have values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Case {
    /// The columns that have values in the rows of the case.
    pub guards: Vec<LeafColumn>,
    /// A row counts when all these columns have values, too.
    pub valid: Vec<LeafColumn>,
    /// The products; each has at most one column of a leaf.
    pub terms: Vec<Term>,
}

/// A sum of products of integers that is to stay within the type in which it was written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Narrow {
    /// The factors of each product.
    pub products: Vec<Vec<LeafColumn>>,
    /// The largest number of the type.
    pub most: u64,
}

impl Sum {
    /// The terms of all cases.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.cases.iter().flat_map(|case| &case.terms)
    }
}

/// A product.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// Whether it is subtracted.
    pub negative: bool,
    /// Its factors, of one leaf each.
    pub factors: Vec<LeafColumn>,
}

/// The numbers that sums are computed in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Number {
    /// `BIGINT`, which wraps.
    I64,
    /// `BIGINT UNSIGNED`, which wraps.
    U64,
    /// `DOUBLE`.
    F64,
    /// `DECIMAL` of that many digits behind the point, as integers of 128 bits in limbs.
    Decimal(i8),
}

impl Number {
    /// The primitive that kernels compute in.
    pub fn prim(self) -> Prim {
        match self {
            Number::I64 | Number::Decimal(_) => Prim::I64,
            Number::U64 => Prim::U64,
            Number::F64 => Prim::F64,
        }
    }

    /// The numbers of an Arrow type.
    pub fn of(ty: &DataType) -> Option<Number> {
        match ty {
            DataType::Int64 => Some(Number::I64),
            DataType::UInt64 => Some(Number::U64),
            DataType::Float64 => Some(Number::F64),
            DataType::Decimal128(_, scale) => Some(Number::Decimal(*scale)),
            _ => None,
        }
    }
}

impl Region {
    /// The fields that a leaf has columns of.
    pub fn fields_of(&self, leaf: LeafId) -> impl Iterator<Item = FieldId> {
        let holds = move |field: &RegionField| field.columns.iter().flatten().any(|c| c.leaf == leaf);
        self.fields.iter().enumerate().filter(move |(_, f)| holds(f)).map(|(k, _)| k)
    }

    /// The semiring of an aggregate, and its arguments.
    ///
    /// # Panics
    /// When the aggregate is no fold over a semiring.
    pub fn semiring(&self, aggregate: usize) -> (&Semiring, &[LeafColumn]) {
        match &self.aggregates[aggregate] {
            Aggregate::Fold { semiring, factors, .. } => (semiring, factors),
            other => unreachable!("{other:?} is no fold over a semiring"),
        }
    }

    /// The type of a column.
    pub fn column(&self, column: LeafColumn) -> &ColumnInfo {
        &self.leaves[column.leaf].columns[column.column]
    }

    /// The fields of groups, each once, in order.
    pub fn group_fields(&self) -> Vec<FieldId> {
        let mut fields = Vec::new();
        for group in &self.groups {
            if !fields.contains(&group.field) {
                fields.push(group.field);
            }
        }
        fields
    }
}

impl Region {
    /// The tensor of a leaf that is bound as it is.
    pub fn tensor(&self, leaf: LeafId) -> Option<(&TensorTable, &[TensorColumn])> {
        match &self.leaves[leaf].source {
            Source::Tensor { table, columns, .. } => Some((table, columns)),
            Source::Input { .. } => None,
        }
    }

    /// The input that the rows of a leaf are read from.
    pub fn input(&self, leaf: LeafId) -> Option<usize> {
        match &self.leaves[leaf].source {
            Source::Input { input, .. } => Some(*input),
            Source::Tensor { .. } => None,
        }
    }

    /// The input that a column is read from, and its number there.
    pub fn input_column(&self, column: LeafColumn) -> Option<(usize, usize)> {
        match &self.leaves[column.leaf].source {
            Source::Input { input, columns } => Some((*input, columns[column.column])),
            Source::Tensor { .. } => None,
        }
    }
}
