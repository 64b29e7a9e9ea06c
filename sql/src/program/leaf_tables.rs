//! The leaves of a join as tables of a plan, and the expressions that all folds share.

use super::all_true::{is_all_true, remove_all_true};
use super::order::field_order;
use crate::claim::{Comparison, FieldId, GroupedJoin, LeafColumn, LeafId, LeafRole, LeafSource, Mask, RegionField};
use crate::encode::{ColumnFold, EncodedJoin, GroupCache, Payload, SharedRequest, TensorRequest};
use crate::error::Result;
use crate::table::{ModeRange, TensorColumn};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Alias, DType, Expr, Field, Node, Scalar};
use redpoll_storage::Tensor;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The leaves of a join as tables of a plan.
pub(crate) struct LeafTables<'a> {
    pub(crate) join: &'a GroupedJoin,
    pub(crate) encoded: &'a EncodedJoin,
    /// The name of each field.
    names: Vec<Field>,
    /// All fields in storage order.
    order: Vec<FieldId>,
    /// True for each field that joins leaves, groups rows or is compared. Every fold has these
    /// fields.
    active: Vec<bool>,
    bindings: BTreeMap<Alias, Tensor>,
    aliases: HashMap<SharedRequest, Alias>,
    /// Boolean tensors that are true everywhere.
    all_true: BTreeSet<Alias>,
    group_cache: GroupCache<'a>,
}

impl<'a> LeafTables<'a> {
    pub(super) fn new(join: &'a GroupedJoin, encoded: &'a EncodedJoin) -> LeafTables<'a> {
        let groups = join.group_fields();
        let masked = |k: FieldId| join.masks.iter().any(|m| m.left == k || m.right == k);
        let active = |(k, field): (FieldId, &RegionField)| field.columns.len() > 1 || groups.contains(&k) || masked(k);
        let active: Vec<bool> = join.fields.iter().enumerate().map(active).collect();
        LeafTables {
            join,
            encoded,
            names: (0..join.fields.len()).map(|k| Field::from(format!("f{k}"))).collect(),
            order: field_order(join, &active),
            active,
            bindings: BTreeMap::new(),
            aliases: HashMap::new(),
            all_true: BTreeSet::new(),
            group_cache: GroupCache::default(),
        }
    }

    /// Returns the name of a field.
    pub(crate) fn field(&self, field: FieldId) -> &Field {
        &self.names[field]
    }

    pub(super) fn into_bindings(self) -> Vec<(Alias, Tensor)> {
        self.bindings.into_iter().collect()
    }

    /// Adds a tensor under the name of a table.
    pub(crate) fn bind(&mut self, alias: Alias, tensor: Tensor) {
        self.bindings.insert(alias, tensor);
    }

    /// Returns the fields that are not folded: the group fields, and `extra_field`.
    fn result_fields(&self, extra_field: Option<FieldId>) -> Vec<&Field> {
        self.join.group_fields().into_iter().chain(extra_field).map(|f| &self.names[f]).collect()
    }

    /// Removes factors that are 1 everywhere, as [`remove_all_true`] does. Returns the other
    /// factors, and the number by which their product must be multiplied.
    pub(crate) fn remove_all_true(&self, args: Vec<Expr>, extra_field: Option<FieldId>) -> (Vec<Expr>, i64) {
        let is_all_true = |arg: &Expr| match arg.node() {
            Node::Table { tensor, .. } => self.all_true.contains(tensor),
            _ => false,
        };
        let result_fields = self.result_fields(extra_field);
        remove_all_true(args, is_all_true, |field| result_fields.contains(&field))
    }

    /// Folds all fields except the group fields and `extra_field`.
    pub(crate) fn reduce(
        &self,
        op: impl Into<Op>,
        init: Scalar,
        arg: Expr,
        extra_field: Option<FieldId>,
    ) -> Result<Expr> {
        let result_fields = self.result_fields(extra_field);
        let folded: Vec<Field> = arg.info().fields.iter().filter(|f| !result_fields.contains(f)).cloned().collect();
        if folded.is_empty() { Ok(arg) } else { Ok(Expr::aggregate(op, init, arg, folded)?) }
    }

    /// Returns an expression over the fields that is true at the coordinates where the join has a
    /// row without a NULL in the columns `valid`.
    pub(crate) fn presence(&mut self, valid: &[LeafColumn], extra_field: Option<FieldId>) -> Result<Expr> {
        let args = self.factors(|_| Some(Payload::Presence), valid, extra_field)?;
        combine(Builtin::And, self.remove_all_true(args, extra_field).0)
    }

    /// Returns the factors of a row: a factor of each leaf for which `payload` returns a value, and
    /// the masks that restrict no semi-join or anti-join leaf. The factor of a semi-join or
    /// anti-join leaf is the filter of the leaf; the factor of any other leaf is the table of the
    /// leaf.
    pub(crate) fn factors(
        &mut self,
        payload: impl Fn(LeafId) -> Option<Payload>,
        valid: &[LeafColumn],
        extra_field: Option<FieldId>,
    ) -> Result<Vec<Expr>> {
        let mut factors = Vec::new();
        for leaf in 0..self.join.leaves.len() {
            let Some(payload) = payload(leaf) else { continue };
            factors.push(match self.join.leaves[leaf].role {
                LeafRole::SemiJoin | LeafRole::AntiJoin => self.filter(leaf)?,
                LeafRole::Join => self.leaf_table(leaf, payload, valid, extra_field)?,
            });
        }
        factors.extend(self.masks());
        Ok(factors)
    }

    /// Returns the masks that restrict no semi-join or anti-join leaf.
    fn masks(&self) -> impl Iterator<Item = Expr> {
        let masks = self.join.masks.iter().filter(|mask| self.filtering_leaf(mask).is_none());
        masks.map(|mask| self.mask(mask))
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

    /// Returns the semi-join or anti-join leaf whose rows a mask restricts: the mask's
    /// `excluding_leaf`, or the leaf that alone has one of the compared fields. Returns `None` if
    /// the mask restricts the rows of the join.
    fn filtering_leaf(&self, mask: &Mask) -> Option<LeafId> {
        mask.excluding_leaf.or_else(|| [mask.left, mask.right].into_iter().find_map(|field| self.only_leaf(field)))
    }

    /// Returns the semi-join or anti-join leaf that alone has columns of a field.
    fn only_leaf(&self, field: FieldId) -> Option<LeafId> {
        let mut leaves = self.join.fields[field].columns.iter().flatten().map(|c| c.leaf);
        let leaf = leaves.next()?;
        (self.join.leaves[leaf].role != LeafRole::Join && leaves.all(|l| l == leaf)).then_some(leaf)
    }

    /// Returns an expression that is true if a semi-join leaf has a row, or an anti-join leaf has
    /// no row. Fields that only this leaf has are folded.
    fn filter(&mut self, leaf: LeafId) -> Result<Expr> {
        let join = self.join;
        let required = join.leaves[leaf].required.iter().map(|&column| LeafColumn { leaf, column });
        let rows = self.leaf_table(leaf, Payload::Presence, &required.collect::<Vec<_>>(), None)?;
        let masks =
            join.masks.iter().filter(|mask| self.filtering_leaf(mask) == Some(leaf)).map(|mask| self.mask(mask));
        let passing = combine(Builtin::And, [rows].into_iter().chain(masks).collect())?;
        let is_own = |name: &Field| match self.names.iter().position(|n| n == name) {
            Some(field) => self.only_leaf(field) == Some(leaf),
            // This mode of a tensor is not a field of the join.
            None => true,
        };
        let folded: Vec<Field> = passing.info().fields.iter().filter(|f| is_own(f)).cloned().collect();
        let matches = match folded.is_empty() {
            true => passing,
            false => Expr::aggregate(Builtin::Or, Scalar::Bool(false), passing, folded)?,
        };
        match join.leaves[leaf].role {
            LeafRole::AntiJoin => Ok(Expr::mapjoin(Builtin::Not, [matches])?),
            LeafRole::Join | LeafRole::SemiJoin => Ok(matches),
        }
    }

    /// Returns the table of a leaf. The table has those fields of the leaf that are `active`, and
    /// `extra_field` if the leaf has this field. The table of a tensor has a field for each mode.
    pub(crate) fn leaf_table(
        &mut self,
        leaf: LeafId,
        payload: Payload,
        valid: &[LeafColumn],
        extra_field: Option<FieldId>,
    ) -> Result<Expr> {
        if self.join.tensor(leaf).is_some() {
            return self.tensor_table(leaf, &payload);
        }
        let of_leaf: Vec<FieldId> = self.join.fields_of(leaf).collect();
        let is_used = |&f: &FieldId| self.active[f] || extra_field == Some(f);
        let fields: Vec<FieldId> = self.order.iter().copied().filter(|f| of_leaf.contains(f) && is_used(f)).collect();
        let valid = valid.iter().filter(|c| c.leaf == leaf).map(|c| c.column).collect();
        let request = TensorRequest { leaf, fields: fields.clone(), payload, valid };
        let shared = self.encoded.shared_request(self.join, &request);
        let alias = match self.aliases.get(&shared) {
            Some(alias) => alias.clone(),
            None => {
                let alias = Alias::from(format!("t{}", self.aliases.len()));
                let tensor = self.encoded.tensor(self.join, &request, &mut self.group_cache)?;
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

    /// Returns the table of a leaf that is a tensor, restricted to the ranges of coordinates that
    /// the leaf reads.
    fn tensor_table(&mut self, leaf: LeafId, payload: &Payload) -> Result<Expr> {
        let LeafSource::Tensor { table, columns, ranges } = &self.join.leaves[leaf].source else {
            unreachable!("the leaf is a tensor")
        };
        let (tensor, part) = match payload {
            Payload::Presence | Payload::Count => (table.pattern()?, "rows"),
            Payload::Column { .. } => (table.values()?, "values"),
        };
        // Leaves of the same tensor share one alias, so that the optimizer finds symmetries between
        // them.
        let first = self.join.leaves.iter().position(|l| match &l.source {
            LeafSource::Tensor { table: other, .. } => other == table,
            LeafSource::Input { .. } | LeafSource::Computed(_) => false,
        });
        let alias = Alias::from(format!("{part}{}", first.unwrap_or(leaf)));
        let mut names: Vec<Field> = (0..table.shape().len()).map(|mode| mode_field(leaf, mode)).collect();
        let mut sizes = Vec::new();
        for (k, field) in self.join.fields.iter().enumerate() {
            for column in field.columns.iter().flatten().filter(|c| c.leaf == leaf) {
                if let TensorColumn::Mode(mode) = columns[column.column] {
                    names[mode] = self.names[k].clone();
                    sizes.push((self.names[k].clone(), table.shape()[mode], self.encoded.size(self.join, k)));
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
        if let Payload::Column { fold: ColumnFold::Sum(number), .. } = payload {
            expr = expr.cast(&DType::from(number.prim()))?;
        }
        if masks.is_empty() {
            return Ok(expr);
        }
        let op = if expr.info().dtype == DType::BOOL { Builtin::And } else { Builtin::Mul };
        combine(op, [expr].into_iter().chain(masks).collect())
    }
}

/// Returns the field of a mode that is not a field of the join.
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
pub(crate) fn combine(op: impl Into<Op>, mut args: Vec<Expr>) -> Result<Expr> {
    match args.len() {
        1 => Ok(args.swap_remove(0)),
        _ => Ok(Expr::mapjoin(op, args)?),
    }
}
