//! Offsets of index maps as parameters, so that plans that differ only in the offsets of windows
//! become equal.
//!
//! [`find_offsets`] finds the constants of subscripts that [`Plan::lift_constants`] replaces by
//! parameters. A parameter ranges over the offsets for which the reads exceed the same bounds of
//! the field as in the plan: the lower bound, the upper bound, both or neither. A proof of the
//! optimizer for one value of the parameter therefore holds for all its values.
//!
//! Maps that read one table along one field share a parameter. The differences of their offsets
//! stay constants. These offsets remain constants:
//! - offsets along a field that the plan also reads without an index map
//! - offsets along a field whose least offset is 0, if some map reads more than one coordinate of
//!   the field: `x[1..] - x[..n-1]` must remain a difference of neighbors
//! - offsets with a single possible value, such as the offset of a window that covers the field
//! - unequal offsets, if some of their reads are out of bounds, as in image filters
//! - offsets along a field that the plan also reads at a quotient, at a remainder by a block larger
//!   than the field, at a subscript with a parameter or of unknown range, or entirely out of bounds

use super::{Expr, IndexMap, Node};
use crate::affine::{Affine, Parameter, Subscript};
use crate::field::{Alias, Field};
use crate::plan::Plan;
use std::collections::{HashMap, HashSet};

/// The least offset of one or more subscripts, which one parameter replaces in all of them. The
/// differences from this offset stay constants.
pub(super) struct SharedOffset {
    /// The offset in the plan.
    offset: i64,
    /// The least value that the offset may have.
    least: i64,
    /// The number of values that the offset may have.
    pub(super) size: u64,
    uses: Vec<OffsetUse>,
}

/// A subscript with a constant that a parameter may replace.
struct OffsetUse {
    /// The index map.
    expr: Expr,
    /// The number of the subscript in the map.
    number: usize,
    /// The constant of the subscript; for a remainder, the constant modulo the block size.
    offset: i64,
    /// The least and the greatest offset for which some read is in bounds, and the reads exceed the
    /// same bounds of the field as in the plan. For a remainder, the range of all offsets except 0.
    class: (i64, i64),
    /// Whether some reads are out of bounds.
    is_partial: bool,
    /// Whether the subscript has fields. If not, the map reads a single coordinate.
    has_fields: bool,
}

/// A field that index maps read: a mode of a tensor, or a field of another expression, given by the
/// address of the expression.
#[derive(Clone, PartialEq, Eq, Hash)]
enum IndexedField {
    Mode(Alias, usize),
    Field(usize, Field),
}

/// The uses of an indexed field.
#[derive(Default)]
struct FieldUses {
    uses: Vec<OffsetUse>,
    /// Whether the plan also reads the field without an offset that a parameter may replace.
    is_read_otherwise: bool,
}

/// Returns the offsets of a plan that become parameters, in the order in which the plan mentions
/// them.
pub(super) fn find_offsets(plan: &Plan) -> Vec<SharedOffset> {
    let mut search = OffsetSearch::default();
    for query in &plan.queries {
        search.visit(&query.expr);
        search.read(&query.expr, &mut Vec::new());
    }
    search.fields.into_iter().filter_map(FieldUses::shared_offset).collect()
}

impl SharedOffset {
    /// Returns the value of the parameter that replaces the offset.
    pub(super) fn value(&self) -> i64 {
        self.offset - self.least
    }

    /// Replaces the offset by a parameter in the index maps that use it. `maps` has the changed
    /// index maps, by the address of their expression.
    pub(super) fn replace(&self, parameter: &Parameter, maps: &mut HashMap<usize, IndexMap>) {
        for OffsetUse { expr, number, offset, .. } in &self.uses {
            let Node::Index { map, .. } = expr.node() else { continue };
            let map = maps.entry(expr.address()).or_insert_with(|| map.clone());
            let Some((_, Subscript::Affine(form) | Subscript::Inner(form, _))) = map.coordinates.get_mut(*number)
            else {
                continue;
            };
            let rest = Affine::constant(offset - self.value());
            form.constant = 0;
            *form = form.plus(&rest).plus(&Affine::parameter(parameter.clone()));
        }
    }
}

impl FieldUses {
    /// Returns the least offset of the uses, if a parameter may replace it.
    fn shared_offset(self) -> Option<SharedOffset> {
        let FieldUses { uses, is_read_otherwise } = self;
        let offset = uses.iter().map(|used| used.offset).min()?;
        let is_structure = offset == 0 && uses.iter().any(|used| used.has_fields);
        let differ = uses.iter().any(|used| used.offset != offset);
        if is_read_otherwise || is_structure || (differ && uses.iter().any(|used| used.is_partial)) {
            return None;
        }
        let least = uses.iter().map(|used| used.class.0 - (used.offset - offset)).max()?;
        let greatest = uses.iter().map(|used| used.class.1 - (used.offset - offset)).min()?;
        let size = u64::try_from(greatest.checked_sub(least)?.checked_add(1)?).ok()?;
        (size > 1).then_some(SharedOffset { offset, least, size, uses })
    }
}

/// A search for the index maps of a plan.
#[derive(Default)]
struct OffsetSearch {
    /// The uses of each field, in the order in which the plan mentions them.
    fields: Vec<FieldUses>,
    numbers: HashMap<IndexedField, usize>,
    visited: HashSet<usize>,
}

impl OffsetSearch {
    fn visit(&mut self, expr: &Expr) {
        if !self.visited.insert(expr.address()) {
            return;
        }
        if let Node::Index { map, arg } = expr.node() {
            for number in 0..map.coordinates.len() {
                self.add_use(expr, map, arg, number);
            }
        }
        let is_link = matches!(expr.node(), Node::Index { .. } | Node::Reorder { .. });
        for arg in expr.node().args() {
            self.visit(arg);
            if !is_link {
                self.read(arg, &mut Vec::new());
            }
        }
    }

    /// Adds a subscript to the uses of its field, or records that its constant must remain.
    fn add_use(&mut self, expr: &Expr, map: &IndexMap, arg: &Expr, number: usize) {
        let (field, subscript) = &map.coordinates[number];
        let indexed = indexed_field(arg, field);
        let size = arg.info().dimension(field);
        let offset_use = size.and_then(|size| OffsetUse::new(expr, (number, subscript), size, map.outside.is_some()));
        match offset_use {
            Some(offset_use) => self.of(indexed).uses.push(offset_use),
            None => self.of(indexed).is_read_otherwise = true,
        }
    }

    /// Records the fields that a chain of index maps and reorders leaves unmapped. `mapped` has the
    /// fields that the outer maps of the chain replace by subscripts.
    fn read(&mut self, expr: &Expr, mapped: &mut Vec<Field>) {
        match expr.node() {
            Node::Index { map, arg } => {
                mapped.extend(map.coordinates.iter().map(|(field, _)| field.clone()));
                self.read(arg, mapped);
            }
            Node::Reorder { arg, .. } => self.read(arg, mapped),
            _ => {
                for field in expr.info().fields.iter().filter(|field| !mapped.contains(field)) {
                    self.of(indexed_field(expr, field)).is_read_otherwise = true;
                }
            }
        }
    }

    fn of(&mut self, field: IndexedField) -> &mut FieldUses {
        let number = *self.numbers.entry(field).or_insert_with(|| {
            self.fields.push(FieldUses::default());
            self.fields.len() - 1
        });
        &mut self.fields[number]
    }
}

impl OffsetUse {
    /// Returns the use of a subscript of a mode of the given size; `None` if the constant of the
    /// subscript must remain.
    fn new(expr: &Expr, (number, at): (usize, &Subscript), size: u64, is_permissive: bool) -> Option<OffsetUse> {
        let form = at.form();
        let (low, high) = at.range(&|field| expr.info().dimension(field))?;
        match at {
            _ if !form.parameters.is_empty() => return None,
            Subscript::Outer(..) => return None,
            Subscript::Inner(_, block) if *block > size => return None,
            // The parameter may rotate the mode by any number of coordinates except 0.
            Subscript::Inner(_, block) => {
                let block = i64::try_from(*block).ok()?;
                return Some(OffsetUse {
                    expr: expr.clone(),
                    number,
                    offset: form.constant.rem_euclid(block),
                    class: (1, block - 1),
                    is_partial: false,
                    has_fields: !form.terms.is_empty(),
                });
            }
            Subscript::Affine(_) => {}
        }
        let (offset, last) = (form.constant, i64::try_from(size).ok()? - 1);
        let (low, high) = (low.checked_sub(offset)?, high.checked_sub(offset)?);
        let (below, above) = (offset + low < 0, offset + high > last);
        if offset + high < 0 || offset + low > last || ((below || above) && !is_permissive) {
            return None;
        }
        // The bounds of `OffsetUse::class`.
        let least = if below { high.checked_neg()? } else { low.checked_neg()? };
        let greatest = if above { last.checked_sub(low)? } else { last.checked_sub(high)? };
        let least = if above { least.max(last.checked_sub(high)?.checked_add(1)?) } else { least };
        let greatest = if below { greatest.min(low.checked_neg()?.checked_sub(1)?) } else { greatest };
        Some(OffsetUse {
            expr: expr.clone(),
            number,
            offset,
            class: (least, greatest),
            is_partial: below || above,
            has_fields: !form.terms.is_empty(),
        })
    }
}

/// Follows a field of `expr` through reorders, and through index maps whose argument has the field.
/// Returns the field of the expression below them, or the mode if that expression is a table.
fn indexed_field(expr: &Expr, field: &Field) -> IndexedField {
    match expr.node() {
        Node::Index { arg, .. } if arg.info().fields.contains(field) => indexed_field(arg, field),
        Node::Reorder { arg, .. } => indexed_field(arg, field),
        Node::Table { tensor, fields, .. } => {
            let mode = fields.iter().position(|f| f == field).unwrap_or_default();
            IndexedField::Mode(tensor.clone(), mode)
        }
        _ => IndexedField::Field(expr.address(), field.clone()),
    }
}

#[cfg(test)]
mod tests {
    use crate::text::{Catalog, parse};
    use crate::{Format, LiftedPlan, Plan, Scalar, TensorType, verify};

    fn plan(expr: &str) -> Plan {
        let ty =
            TensorType { shape: vec![10, 8], dtype: crate::DType::F64, fill: Scalar::F64(0.0), format: Format::csr() };
        let catalog: Catalog = [("A", ty.clone()), ("B", ty)].into_iter().collect();
        parse(&format!("(plan (query R {expr}) (produces R))"), &catalog).unwrap()
    }

    /// Lifts the offsets of an expression; returns the text of the lifted expression, and the
    /// values of its parameters.
    fn lifted(expr: &str) -> (String, Vec<i64>) {
        let plan = plan(expr);
        let LiftedPlan { plan: lifted, constants, .. } = plan.lift_constants().unwrap();
        verify(&lifted).unwrap();
        assert_eq!(lifted.queries[0].result_type().unwrap(), plan.queries[0].result_type().unwrap());
        let value = |value: &Scalar| i64::try_from(value.to_i128().unwrap()).unwrap();
        (lifted.queries[0].expr.to_string(), constants.iter().map(|c| value(&c.value)).collect())
    }

    /// Asserts that offsets become parameters. A parameter ranges over the offsets whose reads
    /// exceed the same bounds of the field as the reads of the plan.
    #[test]
    fn windows_have_parameters() {
        for (expr, text, values) in [
            (
                "(window j 3 6 (table A i j))",
                "(index (map ((j (+ j (parameter constant1 6)))) ((j 3))) (table A i j))",
                vec![3],
            ),
            (
                "(map ((j (+ (* -1 j) 5))) ((j 3)) (table A i j))",
                "(index (map ((j (+ (* -1 j) (parameter constant1 6) 2))) ((j 3))) (table A i j))",
                vec![3],
            ),
            (
                "(map ((i 4)) () (table A i j))",
                "(index (map ((i (parameter constant1 10))) ()) (table A i j))",
                vec![4],
            ),
            (
                "(map ((i 0)) () (table A i j))",
                "(index (map ((i (parameter constant1 10))) ()) (table A i j))",
                vec![0],
            ),
            (
                "(map ((j (mod (+ j 11) 8))) ((j 8)) (table A i j))",
                "(index (map ((j (mod (+ j (parameter constant1 7) 1) 8))) ((j 8))) (table A i j))",
                vec![2],
            ),
            (
                "(offset j 2 0.0 (table A i j))",
                "(index (map ((j (+ j (parameter constant1 7) 1))) ((j 8)) 0.0) (table A i j))",
                vec![1],
            ),
            (
                "(offset j -2 0.0 (table A i j))",
                "(index (map ((j (+ j (parameter constant1 7) -7))) ((j 8)) 0.0) (table A i j))",
                vec![5],
            ),
        ] {
            let (map, table) = expr[1..expr.len() - 1].rsplit_once(" (table").unwrap();
            assert_eq!(lifted(&format!("(index ({map}) (table{table})")), (text.to_owned(), values), "{expr}");
        }
    }

    /// Asserts that windows of one table share a parameter, and windows of different tables do not.
    #[test]
    fn windows_of_one_table_share_a_parameter() {
        let window = |table: &str, low: u64| format!("(index (window j {low} {}) (table {table} i j))", low + 3);
        let sum = |a: String, b: String| lifted(&format!("(mapjoin + {a} {b})"));
        let (text, values) = sum(window("A", 4), window("A", 2));
        assert_eq!(values, [2]);
        assert!(text.contains("(+ j (parameter constant1 4) 2)") && text.contains("(+ j (parameter constant1 4))"));
        let (_, values) = sum(window("A", 4), window("B", 2));
        assert_eq!(values, [4, 2]);
    }

    /// Asserts that offsets remain constants if they decide the structure of an expression.
    #[test]
    fn structure_remains() {
        for expr in [
            "(index (window j 0 3) (table A i j))",
            "(index (window j 0 8) (table A i j))",
            "(index (reverse j) (table A i j))",
            "(index (stride j 3) (table A i j))",
            "(mapjoin - (index (window j 1 8) (table A i j)) (index (window j 0 7) (table A i j)))",
            "(mapjoin - (table A i j) (index (offset j 1 0.0) (table A i j)))",
            "(mapjoin + (index (offset j 1 0.0) (table A i j)) (index (offset j -1 0.0) (table A i j)))",
            "(index (permissive j 9 12 0.0) (table A i j))",
        ] {
            let plan = plan(expr);
            let lifted = plan.lift_constants().unwrap();
            assert_eq!((lifted.plan, lifted.constants), (plan, Vec::new()), "{expr}");
        }
    }

    /// Asserts that plans that differ in an offset become equal, and that the text names the
    /// parameter as an input.
    #[test]
    fn texts_have_parameters() {
        let lifted = plan("(index (window j 3 6) (table A i j))").lift_constants().unwrap().plan;
        let (a, b) = (lifted.to_string(), plan("(index (window j 4 7) (table A i j))"));
        assert_eq!(b.lift_constants().unwrap().plan, lifted);
        let free: Vec<String> =
            crate::text::free_tables(&a).unwrap().into_iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(free, ["constant1", "A"]);
        assert_eq!(lifted.inputs(), ["constant1", "A"].map(crate::Alias::from));
    }
}
