//! The Logic expression of one fold over the rows of a join.

use super::all_true::{is_all_true, remove_all_true};
use super::order::field_order;
use crate::claim::{Comparison, Extremum, FieldId, LeafColumn, LeafId, LeafRole, LeafSource, Mask, Region};
use crate::encode::{EncodedRegion, GroupCache, Limb, Payload, Request, SharedRequest};
use crate::error::Result;
use crate::number::Number;
use crate::table::{ModeRange, TensorColumn};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Alias, DType, Expr, Field, Node, Scalar};
use redpoll_physical::storage::Tensor;
use std::collections::{BTreeMap, BTreeSet};

/// A fold over the rows of a join in each group. Rows with a NULL in one of the columns `valid` do
/// not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JoinFold {
    /// True if there is a row.
    Presence,
    /// The number of rows.
    Count {
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
    },
    /// The sum of a product.
    Sum {
        /// The factors, each of another leaf.
        factors: Vec<LeafColumn>,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
        /// The number type.
        number: Number,
        /// The limb of each factor; empty unless the factors are decimals.
        limbs: Vec<Limb>,
    },
    /// The code of a minimum or maximum.
    Extreme {
        /// The minimum or maximum.
        extremum: Extremum,
        /// The column.
        column: LeafColumn,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
    },
    /// A fold over a semiring.
    Semiring {
        /// The index of the region's aggregate.
        aggregate: usize,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
    },
    /// The number of distinct values of a field.
    CountDistinct {
        /// The field.
        field: FieldId,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
    },
    /// The sum of the distinct values of a field.
    SumDistinct {
        /// The field.
        field: FieldId,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
        /// The number type.
        number: Number,
    },
}

/// The leaves of a region as tables of a plan.
pub(super) struct LeafTables<'a> {
    region: &'a Region,
    encoded: &'a EncodedRegion,
    /// The name of each field.
    names: Vec<Field>,
    /// All fields in storage order.
    order: Vec<FieldId>,
    /// True for each field that every fold has.
    active: Vec<bool>,
    bindings: BTreeMap<Alias, Tensor>,
    aliases: BTreeMap<SharedRequest, Alias>,
    /// Boolean tensors that are true everywhere.
    all_true: BTreeSet<Alias>,
    group_cache: GroupCache<'a>,
}

impl<'a> LeafTables<'a> {
    pub(super) fn new(region: &'a Region, encoded: &'a EncodedRegion) -> LeafTables<'a> {
        let groups = region.group_fields();
        let masked = |k: FieldId| region.masks.iter().any(|m| m.left == k || m.right == k);
        let conditioned = |k: FieldId| region.conditions.iter().any(|c| c.fields.contains(&k));
        let active = |(k, field): (FieldId, &crate::claim::RegionField)| {
            field.columns.len() > 1 || groups.contains(&k) || masked(k) || conditioned(k)
        };
        let active: Vec<bool> = region.fields.iter().enumerate().map(active).collect();
        LeafTables {
            region,
            encoded,
            names: (0..region.fields.len()).map(|k| Field::from(format!("f{k}"))).collect(),
            order: field_order(region, &active),
            active,
            bindings: BTreeMap::new(),
            aliases: BTreeMap::new(),
            all_true: BTreeSet::new(),
            group_cache: GroupCache::default(),
        }
    }

    pub(super) fn field(&self, field: FieldId) -> &Field {
        &self.names[field]
    }

    pub(super) fn into_bindings(self) -> Vec<(Alias, Tensor)> {
        self.bindings.into_iter().collect()
    }

    /// Returns the expression of a fold; its fields are the group fields.
    pub(super) fn fold(&mut self, fold: &JoinFold) -> Result<Expr> {
        match fold {
            JoinFold::Presence => {
                let row = self.presence(&[], None)?;
                self.reduce(Builtin::Or, Scalar::Bool(false), row, None)
            }
            JoinFold::Count { valid } => self.sum(&[], valid, Number::I64, &[]),
            JoinFold::Sum { factors, valid, number, limbs } => self.sum(factors, valid, *number, limbs),
            JoinFold::Extreme { extremum, column, valid } => self.extreme(*extremum, *column, valid),
            JoinFold::Semiring { aggregate, valid } => self.semiring(*aggregate, valid),
            JoinFold::CountDistinct { field, valid } => {
                let values = self.occurring_values(*field, valid)?.cast(&DType::I64)?;
                self.reduce(Builtin::Add, Scalar::I64(0), values, None)
            }
            JoinFold::SumDistinct { field, valid, number } => {
                let values = self.occurring_values(*field, valid)?;
                let value = self.value(*field, *number)?;
                let product = Expr::mapjoin(Builtin::Mul, [value, values])?;
                self.reduce(Builtin::Add, Scalar::zero(number.prim()), product, None)
            }
        }
    }

    /// Returns an expression that is true for the values of a field that occur in a group.
    fn occurring_values(&mut self, field: FieldId, valid: &[LeafColumn]) -> Result<Expr> {
        let row = self.presence(valid, Some(field))?;
        self.reduce(Builtin::Or, Scalar::Bool(false), row, Some(field))
    }

    /// Returns the value of each code of a field.
    fn value(&mut self, field: FieldId, number: Number) -> Result<Expr> {
        let name = self.names[field].clone();
        let domain = self.encoded.domain(self.region, field);
        let value = match domain.range_start() {
            Some(first) => Expr::mapjoin(Builtin::Add, [Expr::coordinate(name), Expr::literal(Scalar::I64(first))])?,
            None => {
                let alias = Alias::from(format!("v{}", self.region.fields[field].domain));
                let values = domain.numbers(number)?;
                let value = Expr::table(alias.clone(), values.ty().clone(), [name])?;
                self.bindings.insert(alias, values);
                value
            }
        };
        Ok(value.cast(&DType::from(number.prim()))?)
    }

    /// Returns the fields that are not folded: the group fields, and `extra_field`.
    fn result_fields(&self, extra_field: Option<FieldId>) -> Vec<&Field> {
        self.region.group_fields().into_iter().chain(extra_field).map(|f| &self.names[f]).collect()
    }

    /// Removes factors that are 1 everywhere. Returns the rest, and the number by which their
    /// product must be multiplied.
    fn remove_all_true(&self, args: Vec<Expr>, kept_field: Option<FieldId>) -> (Vec<Expr>, i64) {
        let is_all_true = |arg: &Expr| match arg.node() {
            Node::Table { tensor, .. } => self.all_true.contains(tensor),
            _ => false,
        };
        let result_fields = self.result_fields(kept_field);
        remove_all_true(args, is_all_true, |field| result_fields.contains(&field))
    }

    /// Folds all fields except the group fields and `kept_field`.
    fn reduce(&self, op: impl Into<Op>, init: Scalar, arg: Expr, kept_field: Option<FieldId>) -> Result<Expr> {
        let result_fields = self.result_fields(kept_field);
        let folded: Vec<Field> = arg.info().fields.iter().filter(|f| !result_fields.contains(f)).cloned().collect();
        if folded.is_empty() { Ok(arg) } else { Ok(Expr::aggregate(op, init, arg, folded)?) }
    }

    fn sum(&mut self, factors: &[LeafColumn], valid: &[LeafColumn], number: Number, limbs: &[Limb]) -> Result<Expr> {
        let dtype = DType::from(number.prim());
        let mut args = Vec::new();
        for leaf in 0..self.region.leaves.len() {
            args.push(match self.region.leaves[leaf].role {
                LeafRole::SemiJoin | LeafRole::AntiJoin => self.filter(leaf)?,
                LeafRole::Join => {
                    let payload = match factors.iter().position(|c| c.leaf == leaf) {
                        None => Payload::Count,
                        Some(k) => match limbs.get(k) {
                            None => Payload::Sum(factors[k].column, number),
                            Some(limb) => Payload::Limb(factors[k].column, *limb),
                        },
                    };
                    self.leaf_table(leaf, payload, valid, None)?
                }
            });
        }
        args.extend(self.conditions()?);
        let (mut args, times) = self.remove_all_true(args, None);
        // The first factor is cast to the number type, which is then the type of the product; later
        // booleans need no cast.
        let is_number = |arg: &Expr| arg.info().dtype != DType::BOOL;
        if let Some(first) = args.iter().position(is_number) {
            args.swap(0, first);
        }
        for (k, arg) in args.iter_mut().enumerate() {
            if k == 0 || is_number(arg) {
                *arg = arg.clone().cast(&dtype)?;
            }
        }
        let mut product = join(Builtin::Mul, args)?;
        let mut finite = true;
        for factor in factors {
            finite &= number != Number::F64 || self.encoded.absolute_sum(self.region, *factor)?.is_finite();
        }
        if !finite {
            // If there is no row, an infinite factor must give 0, not NaN.
            let identity = Expr::literal(Scalar::zero(number.prim()));
            product = Expr::mapjoin(Builtin::IfElse, [self.presence(valid, None)?, product, identity])?;
        }
        let sum = self.reduce(Builtin::Add, Scalar::zero(number.prim()), product, None)?;
        match times {
            1 => Ok(sum),
            times => Ok(Expr::mapjoin(Builtin::Mul, [sum, Expr::literal(Scalar::I64(times)).cast(&dtype)?])?),
        }
    }

    /// Returns an expression that is true if there is a row.
    fn presence(&mut self, valid: &[LeafColumn], distinct: Option<FieldId>) -> Result<Expr> {
        let mut args = Vec::new();
        for leaf in 0..self.region.leaves.len() {
            args.push(match self.region.leaves[leaf].role {
                LeafRole::SemiJoin | LeafRole::AntiJoin => self.filter(leaf)?,
                LeafRole::Join => self.leaf_table(leaf, Payload::Presence, valid, distinct)?,
            });
        }
        args.extend(self.conditions()?);
        join(Builtin::And, self.remove_all_true(args, distinct).0)
    }

    fn extreme(&mut self, extremum: Extremum, column: LeafColumn, valid: &[LeafColumn]) -> Result<Expr> {
        let mut args = vec![self.leaf_table(column.leaf, Payload::Extreme(column.column, extremum), valid, None)?];
        let mut rows = Vec::new();
        for leaf in (0..self.region.leaves.len()).filter(|&leaf| leaf != column.leaf) {
            rows.push(match self.region.leaves[leaf].role {
                LeafRole::SemiJoin | LeafRole::AntiJoin => self.filter(leaf)?,
                LeafRole::Join => self.leaf_table(leaf, Payload::Presence, valid, None)?,
            });
        }
        rows.extend(self.conditions()?);
        for row in rows {
            let [all, none] = [u64::MAX, 0].map(|code| Expr::literal(Scalar::U64(code)));
            args.push(Expr::mapjoin(Builtin::IfElse, [row, all, none])?);
        }
        let lowest = join(Builtin::Min, args)?;
        self.reduce(Builtin::Max, Scalar::U64(0), lowest, None)
    }

    fn semiring(&mut self, aggregate: usize, valid: &[LeafColumn]) -> Result<Expr> {
        let (semiring, factors) = self.region.semiring(aggregate);
        let mut args = Vec::new();
        for factor in factors {
            args.push(self.leaf_table(factor.leaf, Payload::SemiringFold(factor.column, aggregate), valid, None)?);
        }
        let product = join(semiring.times().clone(), args)?;
        // If there is no row, the result is the identity, whatever the factors are.
        let identity = Expr::literal(semiring.zero());
        let product = Expr::mapjoin(Builtin::IfElse, [self.presence(valid, None)?, product, identity])?;
        self.reduce(semiring.plus().clone(), semiring.zero(), product, None)
    }

    /// Returns the masks that are not folded with a semi-join or anti-join leaf, and the tables of
    /// other conditions.
    fn conditions(&mut self) -> Result<Vec<Expr>> {
        let region = self.region;
        let masks = region.masks.iter().filter(|mask| self.filtering_leaf(mask).is_none());
        let mut all: Vec<Expr> = masks.map(|mask| self.mask(mask)).collect();
        for (k, condition) in region.conditions.iter().enumerate() {
            let alias = Alias::from(format!("c{k}"));
            if !self.bindings.contains_key(alias.as_str()) {
                self.bindings.insert(alias.clone(), self.encoded.condition_tensor(region, condition)?);
            }
            let ty = self.bindings[alias.as_str()].ty().clone();
            all.push(Expr::table(alias, ty, condition.fields.iter().map(|&f| self.names[f].clone()))?);
        }
        Ok(all)
    }

    fn mask(&self, mask: &Mask) -> Expr {
        let op = match mask.comparison {
            Comparison::Lt => Builtin::Lt,
            Comparison::Le => Builtin::Le,
            Comparison::Gt => Builtin::Gt,
            Comparison::Ge => Builtin::Ge,
            Comparison::Ne => Builtin::Ne,
        };
        let sides = [mask.left, mask.right].map(|f| Expr::coordinate(self.names[f].clone()));
        Expr::mapjoin(op, sides).expect("two coordinates can be compared")
    }

    /// Returns the semi-join or anti-join leaf whose rows a mask restricts: its `excluding_leaf`,
    /// or the leaf that alone has one of the compared fields.
    fn filtering_leaf(&self, mask: &Mask) -> Option<LeafId> {
        mask.excluding_leaf.or_else(|| [mask.left, mask.right].into_iter().find_map(|field| self.only_leaf(field)))
    }

    /// Returns the semi-join or anti-join leaf that alone has columns of a field.
    fn only_leaf(&self, field: FieldId) -> Option<LeafId> {
        let mut leaves = self.region.fields[field].columns.iter().flatten().map(|c| c.leaf);
        let leaf = leaves.next()?;
        (self.region.leaves[leaf].role != LeafRole::Join && leaves.all(|l| l == leaf)).then_some(leaf)
    }

    /// Returns an expression that is true if a semi-join leaf has a row, or an anti-join leaf has
    /// none. Fields that only this leaf has are folded.
    fn filter(&mut self, leaf: LeafId) -> Result<Expr> {
        let region = self.region;
        let required = region.leaves[leaf].required.iter().map(|&column| LeafColumn { leaf, column });
        let rows = self.leaf_table(leaf, Payload::Presence, &required.collect::<Vec<_>>(), None)?;
        let masks =
            region.masks.iter().filter(|mask| self.filtering_leaf(mask) == Some(leaf)).map(|mask| self.mask(mask));
        let passing = join(Builtin::And, [rows].into_iter().chain(masks).collect())?;
        let is_own = |name: &Field| match self.names.iter().position(|n| n == name) {
            Some(field) => self.only_leaf(field) == Some(leaf),
            // This mode of a tensor is no field of the region.
            None => true,
        };
        let folded: Vec<Field> = passing.info().fields.iter().filter(|f| is_own(f)).cloned().collect();
        let matches = match folded.is_empty() {
            true => passing,
            false => Expr::aggregate(Builtin::Or, Scalar::Bool(false), passing, folded)?,
        };
        match region.leaves[leaf].role {
            LeafRole::AntiJoin => Ok(Expr::mapjoin(Builtin::Not, [matches])?),
            LeafRole::Join | LeafRole::SemiJoin => Ok(matches),
        }
    }

    /// Returns the table of a leaf, with the fields that all folds have, and `extra_field`.
    fn leaf_table(
        &mut self,
        leaf: LeafId,
        payload: Payload,
        valid: &[LeafColumn],
        extra_field: Option<FieldId>,
    ) -> Result<Expr> {
        if self.region.tensor(leaf).is_some() {
            return self.tensor_table(leaf, payload);
        }
        let has_field = |&f: &FieldId| self.region.fields[f].columns.iter().flatten().any(|c| c.leaf == leaf);
        let is_used = |&f: &FieldId| self.active[f] || extra_field == Some(f);
        let fields: Vec<FieldId> = self.order.iter().copied().filter(|f| has_field(f) && is_used(f)).collect();
        let valid = valid.iter().filter(|c| c.leaf == leaf).map(|c| c.column).collect();
        let request = Request { leaf, fields: fields.clone(), payload, valid };
        let shared = self.encoded.shared_request(self.region, &request);
        let alias = match self.aliases.get(&shared) {
            Some(alias) => alias.clone(),
            None => {
                let alias = Alias::from(format!("t{}", self.aliases.len()));
                let tensor = self.encoded.tensor(self.region, &request, &mut self.group_cache)?;
                if is_all_true(&tensor) {
                    self.all_true.insert(alias.clone());
                }
                self.bindings.insert(alias.clone(), tensor);
                self.aliases.insert(shared, alias.clone());
                alias
            }
        };
        let ty = self.bindings[alias.as_str()].ty().clone();
        Ok(Expr::table(alias, ty, fields.iter().map(|&f| self.names[f].clone()))?)
    }

    /// Returns the table of a leaf that is a tensor.
    fn tensor_table(&mut self, leaf: LeafId, payload: Payload) -> Result<Expr> {
        let LeafSource::Tensor { table, columns, ranges } = &self.region.leaves[leaf].source else {
            unreachable!("the leaf is a tensor")
        };
        let (tensor, part) = match payload {
            Payload::Presence | Payload::Count => (table.pattern()?, "rows"),
            Payload::Sum(..) | Payload::Limb(..) | Payload::Extreme(..) | Payload::SemiringFold(..) => {
                (table.values()?, "values")
            }
        };
        // Leaves of the same tensor share one alias, so that the optimizer finds symmetries between
        // them.
        let first = self.region.leaves.iter().position(|l| match &l.source {
            LeafSource::Tensor { table: other, .. } => other == table,
            LeafSource::Input { .. } => false,
        });
        let alias = Alias::from(format!("{part}{}", first.unwrap_or(leaf)));
        let mut names: Vec<Field> = (0..table.shape().len()).map(|mode| mode_field(leaf, mode)).collect();
        let mut sizes = Vec::new();
        for (k, field) in self.region.fields.iter().enumerate() {
            for column in field.columns.iter().flatten().filter(|c| c.leaf == leaf) {
                if let TensorColumn::Mode(mode) = columns[column.column] {
                    names[mode] = self.names[k].clone();
                    sizes.push((self.names[k].clone(), table.shape()[mode], self.encoded.size(self.region, k)));
                }
            }
        }
        let masks = ranges.iter().flat_map(|range| bounds(&names[range.mode], range, table.shape()[range.mode]));
        let masks: Vec<Expr> = masks.collect();
        let mut expr = Expr::table(alias.clone(), tensor.ty().clone(), names)?;
        self.bindings.insert(alias, tensor.clone());
        for (field, dimension, size) in sizes {
            if size < dimension {
                expr = expr.window(field, 0, size)?;
            }
        }
        if let Payload::Sum(_, number) = payload {
            expr = expr.cast(&DType::from(number.prim()))?;
        }
        if masks.is_empty() {
            return Ok(expr);
        }
        let op = if expr.info().dtype == DType::BOOL { Builtin::And } else { Builtin::Mul };
        join(op, [expr].into_iter().chain(masks).collect())
    }
}

/// Returns the field of a mode that is not a field of the region.
fn mode_field(leaf: LeafId, mode: usize) -> Field {
    Field::from(format!("l{leaf}m{mode}"))
}

/// Returns the comparisons that restrict a mode of the given size to a range of coordinates.
fn bounds(field: &Field, range: &ModeRange, size: u64) -> Vec<Expr> {
    let compare = |op: Builtin, bound: u64| {
        let bound = Expr::literal(Scalar::I64(i64::try_from(bound).unwrap_or(i64::MAX)));
        Expr::mapjoin(op, [Expr::coordinate(field.clone()), bound]).expect("a coordinate can be compared with a number")
    };
    let low = (range.low > 0).then(|| compare(Builtin::Ge, range.low));
    let high = (range.high < size).then(|| compare(Builtin::Lt, range.high));
    low.into_iter().chain(high).collect()
}

/// Applies an operator to all arguments; a single argument is returned unchanged.
fn join(op: impl Into<Op>, mut args: Vec<Expr>) -> Result<Expr> {
    match args.len() {
        1 => Ok(args.swap_remove(0)),
        _ => Ok(Expr::mapjoin(op, args)?),
    }
}
