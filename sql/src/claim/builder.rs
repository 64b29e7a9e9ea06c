//! The builder of a region, which collects the columns that leaves compute, the fields and
//! comparisons of the join, and the groups.

use super::computed::ComputedLeaf;
use super::grouped_join::{
    Comparison, FieldId, GroupColumn, LeafColumn, LeafRole, Mask, NullTreatment, OuterJoin, RegionField,
};
use super::join::{FlatJoin, FlatOuterJoin, leaf_column, leaves_of};
use super::reason::UnclaimedReason;
use super::terms::coalesce_of;
use super::types::is_key;
use crate::number::Number;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, NullEquality, ScalarValue, TableReference};
use datafusion::logical_expr::{Expr, ExprSchemable, when};
use std::collections::HashMap;
use std::sync::Arc;

/// A key that rows are grouped by.
enum GroupKey {
    Column(LeafColumn),
    /// The field of two keys of an outer join; the group key is the first of the two keys that is
    /// not NULL.
    Coalesced(FieldId),
}

/// A region under construction.
#[derive(Clone)]
pub(crate) struct RegionBuilder {
    pub(super) join: FlatJoin,
    /// The columns of all leaves, under the names that expressions use.
    pub(crate) schema: DFSchema,
    /// The expressions that each leaf computes, one per column.
    pub(super) leaf_exprs: Vec<Vec<Expr>>,
    pub(super) fields: Vec<RegionField>,
    pub(super) masks: Vec<Mask>,
    /// The leaves that are computed from other leaves.
    pub(super) computed: Vec<ComputedLeaf>,
    /// Columns of the leaves of anti-joins. A row of such a leaf with a NULL in one of these
    /// columns excludes no row of the join.
    pub(super) required: Vec<LeafColumn>,
    /// Columns that must not be NULL in any row.
    pub(super) non_null: Vec<LeafColumn>,
    pub(super) outers: Vec<OuterJoin>,
    /// Group keys that are floats.
    pub(super) float_keys: Vec<LeafColumn>,
    /// The leaf that computes expressions without columns.
    pub(crate) constant_leaf: usize,
}

impl RegionBuilder {
    /// Returns the builder of a region over a join.
    ///
    /// # Errors
    /// If DataFusion rejects the schema of all leaves.
    pub(super) fn new(join: FlatJoin) -> Result<RegionBuilder, UnclaimedReason> {
        let mut fields = Vec::new();
        for (leaf, (plan, _)) in join.leaves.iter().enumerate() {
            let padded = join.is_padded(leaf);
            for (k, field) in plan.schema().fields().iter().enumerate() {
                let nullable = padded || field.is_nullable();
                let field = field.as_ref().clone().with_name(k.to_string()).with_nullable(nullable);
                let Expr::Column(column) = leaf_column(leaf, k) else { unreachable!("a leaf column is a column") };
                fields.push((column.relation.or_else(|| Some(TableReference::bare(""))), Arc::new(field)));
            }
        }
        let schema = DFSchema::new_with_metadata(fields, HashMap::new())
            .map_err(|e| UnclaimedReason::Planning(e.to_string()))?;
        let is_joining = |leaf: &usize| join.leaves[*leaf].1 == LeafRole::Join;
        let mut leaves = (0..join.leaves.len()).filter(is_joining);
        let constant_leaf = leaves.clone().find(|leaf| !join.is_padded(*leaf)).or_else(|| leaves.next()).unwrap_or(0);
        let leaf_exprs = vec![Vec::new(); join.leaves.len()];
        Ok(RegionBuilder {
            join,
            schema,
            leaf_exprs,
            fields: Vec::new(),
            masks: Vec::new(),
            computed: Vec::new(),
            required: Vec::new(),
            non_null: Vec::new(),
            outers: Vec::new(),
            float_keys: Vec::new(),
            constant_leaf,
        })
    }

    /// Returns the column of a leaf that computes an expression; adds the column if the leaf has no
    /// such column. Never returns a key column of a leaf that an outer join pads, because such a
    /// column also has values in rows that the join adds.
    pub(crate) fn supply(&mut self, leaf: usize, expr: &Expr) -> LeafColumn {
        let existing = (0..self.leaf_exprs[leaf].len()).find(|&column| {
            self.leaf_exprs[leaf][column] == *expr && !self.is_padding_key(LeafColumn { leaf, column })
        });
        match existing {
            Some(column) => LeafColumn { leaf, column },
            None => self.supply_new(leaf, expr),
        }
    }

    pub(super) fn supply_new(&mut self, leaf: usize, expr: &Expr) -> LeafColumn {
        self.leaf_exprs[leaf].push(expr.clone());
        LeafColumn { leaf, column: self.leaf_exprs[leaf].len() - 1 }
    }

    /// Returns whether a column has the keys of a leaf that an outer join pads. Such a column also
    /// has values in rows that the join adds, where the expression itself is NULL.
    fn is_padding_key(&self, column: LeafColumn) -> bool {
        self.outers.iter().any(|outer| {
            let is = |leaf: usize, own: usize| column == LeafColumn { leaf, column: own };
            outer.keys.iter().any(|(kept, padded)| is(outer.padded, *padded) || outer.full && is(outer.kept, *kept))
        })
    }

    /// Returns the column of an expression. If the expression reads several leaves, the column
    /// belongs to a computed leaf.
    pub(crate) fn column(&mut self, expr: &Expr) -> Result<LeafColumn, UnclaimedReason> {
        self.check_computable(expr)?;
        match leaves_of(expr)[..] {
            [] => Ok(self.supply(self.constant_leaf, expr)),
            [leaf] => Ok(self.supply(leaf, expr)),
            _ => {
                let computed = self.compute(expr)?;
                self.column(&computed)
            }
        }
    }

    /// Returns the type of an expression over columns of leaves.
    pub(crate) fn type_of(&self, expr: &Expr) -> Result<DataType, UnclaimedReason> {
        expr.get_type(&self.schema).map_err(|e| UnclaimedReason::Planning(e.to_string()))
    }

    /// Returns the number type in which an expression is summed.
    pub(crate) fn number_of(&self, expr: &Expr) -> Result<Number, UnclaimedReason> {
        let ty = self.type_of(expr)?;
        let refusal = |ty| UnclaimedReason::Type { expr: format!("the sum of `{}`", self.source_text(expr)), ty };
        Number::of(&ty).ok_or_else(|| refusal(ty))
    }

    /// Checks that an expression can be computed for each row of a leaf before the join.
    pub(crate) fn check_computable(&self, expr: &Expr) -> Result<(), UnclaimedReason> {
        self.join.check_computable(expr)
    }

    /// Checks that the type of an expression can be a key, and returns its column as
    /// [`RegionBuilder::column`] does.
    pub(crate) fn key(&mut self, expr: &Expr) -> Result<LeafColumn, UnclaimedReason> {
        self.check_key(expr)?;
        self.column(expr)
    }

    fn check_key(&self, expr: &Expr) -> Result<(), UnclaimedReason> {
        let ty = self.type_of(expr)?;
        // Floats cast from integers have one zero and no NaN.
        let of_integers = matches!(expr, Expr::Cast(cast) if self.type_of(&cast.expr)?.is_integer());
        if !(is_key(&ty) || ty == DataType::Float64 && of_integers) {
            return Err(UnclaimedReason::Key { expr: self.source_text(expr), ty });
        }
        Ok(())
    }

    /// Returns the text of an expression, with columns under the names that they have in the query.
    pub(crate) fn source_text(&self, expr: &Expr) -> String {
        self.join.with_names(expr).to_string()
    }

    fn field_of(&self, column: LeafColumn) -> Option<FieldId> {
        self.fields.iter().position(|f| f.columns.iter().any(|tuple| tuple[..] == [column]))
    }

    /// Returns the field of a column. A column without a field gets one with the given treatment of
    /// NULLs.
    pub(crate) fn find_or_add_field(&mut self, column: LeafColumn, expr: &Expr, nulls: NullTreatment) -> FieldId {
        self.field_of(column).unwrap_or_else(|| self.add_field(vec![vec![column]], self.source_text(expr), nulls))
    }

    pub(super) fn add_field(&mut self, columns: Vec<Vec<LeafColumn>>, name: String, nulls: NullTreatment) -> FieldId {
        let field = self.fields.len();
        self.fields.push(RegionField { name, columns, domain: field, nulls });
        field
    }

    /// Adds the fields of equalities, outer joins and comparisons, and the masks of comparisons.
    pub(super) fn add_join_fields(&mut self) -> Result<(), UnclaimedReason> {
        for (left, right, nulls) in std::mem::take(&mut self.join.equalities) {
            let nulls = match nulls {
                NullEquality::NullEqualsNothing => NullTreatment::Drop,
                NullEquality::NullEqualsNull => NullTreatment::Keep,
            };
            self.check_same_type(&left, &right)?;
            let (a, b) = (self.key(&left)?, self.key(&right)?);
            let excluding = [a, b].into_iter().find(|c| self.join.leaves[c.leaf].1 == LeafRole::AntiJoin);
            if let Some(column) = excluding {
                let other = if a == column { b } else { a };
                // Values that equal the same column of an excluding leaf need not equal each other.
                if self.field_of(column).is_some_and(|field| self.field_of(other) != Some(field)) {
                    let compared = if a == column { &left } else { &right };
                    let problem = "is compared with several expressions; write the other comparison as a condition of \
                                   the outer query";
                    return Err(UnclaimedReason::AntiJoin { condition: self.source_text(compared), problem });
                }
                if nulls == NullTreatment::Drop {
                    self.required.push(column);
                }
            }
            let (a, b) = (
                self.find_or_add_field(a, &left, NullTreatment::Keep),
                self.find_or_add_field(b, &right, NullTreatment::Keep),
            );
            self.merge_fields(a, b);
            // A row with a NULL matches no row of an excluding leaf, so the row stays.
            if nulls == NullTreatment::Drop && excluding.is_none() {
                let field = a.min(b);
                self.fields[field].nulls = NullTreatment::Drop;
            }
        }
        self.add_outer_fields()?;
        for (left, comparison, right) in std::mem::take(&mut self.join.comparisons) {
            self.check_same_type(&left, &right)?;
            let (a, b) = (self.key(&left)?, self.key(&right)?);
            // A row of an excluding leaf excludes nothing if its compared column is NULL. The other
            // compared column must have no NULL.
            let excludes = |c: LeafColumn| self.join.leaves[c.leaf].1 == LeafRole::AntiJoin;
            let excluding = [a, b].into_iter().find(|&c| excludes(c));
            if let Some(column) = excluding {
                self.required.push(column);
                self.non_null.push(if a == column { b } else { a });
            }
            let (left, right) = (
                self.find_or_add_field(a, &left, NullTreatment::Drop),
                self.find_or_add_field(b, &right, NullTreatment::Drop),
            );
            // A field that existed before may keep NULLs. A comparison without an excluding leaf
            // makes the field drop them.
            for field in [left, right].into_iter().filter(|_| excluding.is_none()) {
                self.fields[field].nulls = NullTreatment::Drop;
            }
            if left == right {
                // Both sides are equal, so all rows pass the comparison or none does.
                if !matches!(comparison, Comparison::Le | Comparison::Ge) {
                    let leaf = excluding.map_or(self.constant_leaf, |column| column.leaf);
                    self.join.conditions.push((leaf, Expr::Literal(ScalarValue::from(false), None)));
                }
                continue;
            }
            let (from, to) = (self.fields[right].domain, self.fields[left].domain);
            self.fields.iter_mut().filter(|f| f.domain == from).for_each(|f| f.domain = to);
            self.masks.push(Mask { left, comparison, right, excluding_leaf: excluding.map(|column| column.leaf) });
        }
        Ok(())
    }

    /// Adds the fields of outer joins. A kept row with a NULL key joins a row that is added for
    /// this key.
    fn add_outer_fields(&mut self) -> Result<(), UnclaimedReason> {
        for FlatOuterJoin { kept, padded, keys, full } in self.join.outers.clone() {
            let mut columns = Vec::new();
            for (left, right) in &keys {
                self.check_same_type(left, right)?;
                self.check_key(left)?;
                self.check_key(right)?;
                let a = if full { self.supply_new(kept, left) } else { self.column(left)? };
                let b = self.supply_new(padded, right);
                let (a_field, b_field) = (
                    self.find_or_add_field(a, left, NullTreatment::Keep),
                    self.add_field(vec![vec![b]], self.source_text(right), NullTreatment::Keep),
                );
                self.merge_fields(a_field, b_field);
                columns.push((a.column, b.column));
            }
            self.outers.push(OuterJoin { kept, padded, keys: columns, full });
        }
        Ok(())
    }

    /// Returns the field of two keys of an outer join, if `expr` is the `coalesce` of both keys.
    fn coalesced_field(&self, expr: &Expr) -> Option<FieldId> {
        let (x, y) = coalesce_of(expr)?;
        for (flat, outer) in self.join.outers.iter().zip(&self.outers) {
            let is = |(a, b): &(Expr, Expr)| a == x && b == y || a == y && b == x;
            if let Some(k) = flat.keys.iter().position(is) {
                return self.field_of(LeafColumn { leaf: outer.padded, column: outer.keys[k].1 });
            }
        }
        None
    }

    fn check_same_type(&self, left: &Expr, right: &Expr) -> Result<(), UnclaimedReason> {
        let (a, b) = (self.type_of(left)?, self.type_of(right)?);
        if a == b {
            Ok(())
        } else {
            Err(UnclaimedReason::TypeMismatch { expr: self.source_text(right), ty: b, other: a })
        }
    }

    /// Merges two fields. At this point all fields come from equalities and outer joins, and each
    /// has its own domain.
    fn merge_fields(&mut self, a: FieldId, b: FieldId) {
        if a == b {
            return;
        }
        let (kept, removed) = (a.min(b), a.max(b));
        let field = self.fields.remove(removed);
        self.fields[kept].columns.extend(field.columns);
        if field.nulls == NullTreatment::Drop {
            self.fields[kept].nulls = NullTreatment::Drop;
        }
        self.fields.iter_mut().enumerate().for_each(|(k, f)| f.domain = k);
    }

    /// Adds the fields of the group keys, and returns the group columns. Columns of one leaf that
    /// are used only as group keys form one field together.
    pub(super) fn group_by(&mut self, exprs: &[Expr]) -> Result<Vec<GroupColumn>, UnclaimedReason> {
        let mut keys = Vec::new();
        for expr in exprs {
            keys.push(match self.coalesced_field(expr) {
                Some(field) => GroupKey::Coalesced(field),
                None if self.type_of(expr)?.is_floating() => {
                    let column = self.column(expr)?;
                    self.float_keys.push(column);
                    GroupKey::Column(column)
                }
                None => GroupKey::Column(self.key(expr)?),
            });
        }
        let mut key_fields: Vec<(usize, FieldId)> = Vec::new();
        let mut groups = Vec::new();
        for (key, expr) in keys.iter().zip(exprs) {
            let column = match key {
                GroupKey::Column(column) => column,
                GroupKey::Coalesced(field) => {
                    groups.push(GroupColumn { field: *field, part: 0 });
                    continue;
                }
            };
            if let Some(field) = self.field_of(*column).filter(|f| key_fields.iter().all(|(_, b)| b != f)) {
                groups.push(GroupColumn { field, part: 0 });
                continue;
            }
            let text = self.source_text(expr);
            match key_fields.iter().find(|(leaf, _)| *leaf == column.leaf) {
                None => {
                    let field = self.add_field(vec![vec![*column]], text, NullTreatment::Keep);
                    key_fields.push((column.leaf, field));
                    groups.push(GroupColumn { field, part: 0 });
                }
                Some(&(_, field)) => {
                    let key_field = &mut self.fields[field];
                    let tuple = &mut key_field.columns[0];
                    let part = tuple.iter().position(|c| c == column).unwrap_or_else(|| {
                        tuple.push(*column);
                        key_field.name = format!("{}, {text}", key_field.name);
                        tuple.len() - 1
                    });
                    groups.push(GroupColumn { field, part });
                }
            }
        }
        Ok(groups)
    }

    /// Returns the column that is not NULL exactly in the rows in which a condition is true.
    pub(crate) fn condition_column(&mut self, condition: &Expr) -> Result<LeafColumn, UnclaimedReason> {
        let passes = when(condition.clone(), Expr::Literal(ScalarValue::from(true), None)).end();
        self.column(&passes.map_err(|e| UnclaimedReason::Planning(e.to_string()))?)
    }
}
