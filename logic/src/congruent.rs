//! Congruence of plans: equality up to the names of inputs. Congruent plans can share a compiled
//! form. The file also lists the inputs of plans, and the tensors that expressions read.

use crate::affine::{Parameter, Subscript};
use crate::expr::{Expr, IndexMap, Node};
use crate::field::Alias;
use crate::plan::Plan;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

impl Plan {
    /// Returns the inputs that the plan reads, each once, in the order in which its expressions
    /// mention them.
    pub fn inputs(&self) -> Vec<Alias> {
        self.congruence().1
    }

    /// Returns a hash that is equal for congruent plans (see [`Plan::is_congruent`]), and the
    /// inputs.
    pub fn congruence(&self) -> (u64, Vec<Alias>) {
        let mut hasher = DefaultHasher::new();
        let mut traversal = PlanTraversal::default();
        for query in &self.queries {
            traversal.hash(&query.expr).hash(&mut hasher);
            query.alias.hash(&mut hasher);
            traversal.results.push(&query.alias);
        }
        self.produces.hash(&mut hasher);
        (hasher.finish(), traversal.inputs)
    }

    /// Returns whether the plans are equal after each input of this plan, in the order of
    /// [`Plan::inputs`], is renamed to the corresponding input of `other`.
    pub fn is_congruent(&self, other: &Plan) -> bool {
        if self.queries.len() != other.queries.len() || self.produces != other.produces {
            return false;
        }
        let mut comparison =
            PlanComparison { input_pairs: Vec::new(), results: Vec::new(), equal_pairs: HashSet::new() };
        self.queries.iter().zip(&other.queries).all(|(a, b)| {
            let equal = a.alias == b.alias && comparison.compare(&a.expr, &b.expr);
            comparison.results.push(&a.alias);
            equal
        })
    }
}

impl Expr {
    /// Returns the tensors that the expression reads, each once, in the order in which it mentions
    /// them.
    pub fn tables(&self) -> Vec<Alias> {
        let mut traversal = PlanTraversal::default();
        traversal.hash(self);
        traversal.inputs
    }
}

/// A traversal of the expressions of a plan, in order, that visits shared subexpressions once.
#[derive(Default)]
struct PlanTraversal<'p> {
    /// Results of the queries so far.
    results: Vec<&'p Alias>,
    /// Inputs so far.
    inputs: Vec<Alias>,
    /// Hashes of expressions, by address.
    hashes: HashMap<usize, u64>,
}

impl<'p> PlanTraversal<'p> {
    fn hash(&mut self, expr: &'p Expr) -> u64 {
        if let Some(hash) = self.hashes.get(&expr.address()) {
            return *hash;
        }
        let mut h = DefaultHasher::new();
        discriminant(expr.node()).hash(&mut h);
        match expr.node() {
            Node::Table { tensor, ty, fields } => {
                match self.input_number(tensor) {
                    Some(number) => number.hash(&mut h),
                    None => tensor.hash(&mut h),
                }
                (ty, fields).hash(&mut h);
            }
            Node::Literal(value) => (value, expr.info().weak).hash(&mut h),
            Node::Coordinate(field) => field.hash(&mut h),
            Node::MapJoin { op, .. } => op.hash(&mut h),
            Node::Aggregate { op, init, fields, .. } => (op, init, fields).hash(&mut h),
            Node::Scan { op, field, .. } => (op, field).hash(&mut h),
            Node::Reorder { fields, .. } | Node::Relabel { fields, .. } => fields.hash(&mut h),
            Node::Index { map, .. } => self.hash_map(map, &mut h),
            Node::Reformat { format, .. } => format.hash(&mut h),
            Node::Refill { fill, computed_fills, .. } => (fill, computed_fills).hash(&mut h),
        }
        for arg in expr.node().args() {
            self.hash(arg).hash(&mut h);
        }
        let hash = h.finish();
        self.hashes.insert(expr.address(), hash);
        hash
    }

    fn hash_map(&mut self, map: &'p IndexMap, h: &mut DefaultHasher) {
        (&map.dimensions, &map.outside).hash(h);
        for (field, at) in &map.coordinates {
            (field, discriminant(at)).hash(h);
            if let Subscript::Outer(_, block) | Subscript::Inner(_, block) = at {
                block.hash(h);
            }
            (at.form().constant, &at.form().terms).hash(h);
            for (Parameter { input, size }, c) in &at.form().parameters {
                (self.input_number(input), size, c).hash(h);
            }
        }
    }

    /// Returns the number of an input; `None` for the result of a query.
    fn input_number(&mut self, tensor: &Alias) -> Option<usize> {
        if self.results.contains(&tensor) {
            return None;
        }
        Some(self.inputs.iter().position(|t| t == tensor).unwrap_or_else(|| {
            self.inputs.push(tensor.clone());
            self.inputs.len() - 1
        }))
    }
}

/// A comparison of two plans.
struct PlanComparison<'p> {
    /// Corresponding inputs of the two plans.
    input_pairs: Vec<(&'p Alias, &'p Alias)>,
    results: Vec<&'p Alias>,
    /// Addresses of the pairs of expressions found equal.
    equal_pairs: HashSet<(usize, usize)>,
}

impl<'p> PlanComparison<'p> {
    fn compare(&mut self, a: &'p Expr, b: &'p Expr) -> bool {
        let key = (a.address(), b.address());
        if self.equal_pairs.contains(&key) {
            return true;
        }
        let equal_nodes = match (a.node(), b.node()) {
            (Node::Table { tensor: s, ty: x, fields: f }, Node::Table { tensor: t, ty: y, fields: g }) => {
                f == g && (Arc::ptr_eq(x, y) || x == y) && self.match_tensors(s, t)
            }
            (Node::Literal(x), Node::Literal(y)) => x == y && a.info().weak == b.info().weak,
            (Node::Coordinate(x), Node::Coordinate(y)) => x == y,
            (Node::MapJoin { op: x, .. }, Node::MapJoin { op: y, .. }) => x == y,
            (Node::Aggregate { op: x, init: u, fields: f, .. }, Node::Aggregate { op: y, init: v, fields: g, .. }) => {
                x == y && u == v && f == g
            }
            (Node::Scan { op: x, field: f, .. }, Node::Scan { op: y, field: g, .. }) => x == y && f == g,
            (Node::Reorder { fields: f, .. }, Node::Reorder { fields: g, .. })
            | (Node::Relabel { fields: f, .. }, Node::Relabel { fields: g, .. }) => f == g,
            (Node::Index { map: x, .. }, Node::Index { map: y, .. }) => self.compare_maps(x, y),
            (Node::Reformat { format: x, .. }, Node::Reformat { format: y, .. }) => x == y,
            (Node::Refill { fill: x, computed_fills: u, .. }, Node::Refill { fill: y, computed_fills: v, .. }) => {
                (x, u) == (y, v)
            }
            _ => false,
        };
        let (args, others) = (a.node().args(), b.node().args());
        let equal =
            equal_nodes && args.len() == others.len() && args.iter().zip(others).all(|(a, b)| self.compare(a, b));
        if equal {
            self.equal_pairs.insert(key);
        }
        equal
    }

    fn compare_maps(&mut self, a: &'p IndexMap, b: &'p IndexMap) -> bool {
        let same_shape =
            a.dimensions == b.dimensions && a.outside == b.outside && a.coordinates.len() == b.coordinates.len();
        let subscripts = a.coordinates.iter().zip(&b.coordinates);
        same_shape && subscripts.into_iter().all(|((f, x), (g, y))| f == g && self.compare_subscripts(x, y))
    }

    fn compare_subscripts(&mut self, a: &'p Subscript, b: &'p Subscript) -> bool {
        let same_kind = match (a, b) {
            (Subscript::Affine(_), Subscript::Affine(_)) => true,
            (Subscript::Outer(_, x), Subscript::Outer(_, y)) | (Subscript::Inner(_, x), Subscript::Inner(_, y)) => {
                x == y
            }
            _ => false,
        };
        let (a, b) = (a.form(), b.form());
        same_kind
            && (a.constant, &a.terms, a.parameters.len()) == (b.constant, &b.terms, b.parameters.len())
            && a.parameters
                .iter()
                .zip(&b.parameters)
                .all(|((p, c), (q, d))| p.size == q.size && c == d && self.match_tensors(&p.input, &q.input))
    }

    fn match_tensors(&mut self, a: &'p Alias, b: &'p Alias) -> bool {
        match (self.results.contains(&a), self.results.contains(&b)) {
            (true, true) => return a == b,
            (false, false) => {}
            _ => return false,
        }
        match self.input_pairs.iter().find(|(x, y)| *x == a || *y == b) {
            Some((x, y)) => *x == a && *y == b,
            None => {
                self.input_pairs.push((a, b));
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::field::Alias;
    use crate::op::Builtin;
    use crate::plan::Plan;
    use crate::text::{Catalog, parse};
    use crate::{Expr, Format, Prim, Query, Scalar, TensorType};
    use std::sync::Arc;

    fn plan(text: &str) -> Plan {
        let ty = |shape: Vec<u64>| {
            let format = Format::dense(shape.len());
            Arc::new(TensorType { shape, dtype: Prim::F64.into(), fill: Scalar::F64(0.0), format })
        };
        let catalog: Catalog = [("A", 2), ("B", 2), ("C", 2), ("x", 1)]
            .map(|(name, rank)| (Alias::from(name), ty(vec![4; rank])))
            .into_iter()
            .collect();
        parse(text, &catalog).unwrap()
    }

    fn congruent(a: &str, b: &str) -> bool {
        let (a, b) = (plan(a), plan(b));
        let congruent = a.is_congruent(&b);
        assert_eq!(congruent, b.is_congruent(&a));
        if congruent {
            assert_eq!(a.congruence().0, b.congruence().0);
            assert_eq!(a.inputs().len(), b.inputs().len());
        }
        congruent
    }

    #[test]
    fn names_of_inputs_do_not_matter() {
        let product = |a: &str, b: &str| {
            format!("(plan (query R (aggregate + 0 (mapjoin * (table {a} i k) (table {b} k j)) k)) (produces R))")
        };
        assert!(congruent(&product("A", "B"), &product("B", "C")));
        assert!(congruent(&product("A", "A"), &product("C", "C")));
        assert!(!congruent(&product("A", "B"), &product("A", "A")));
        assert!(!congruent(&product("A", "A"), &product("A", "B")));
        assert_eq!(plan(&product("B", "A")).inputs(), ["B", "A"].map(Alias::from));
    }

    /// Asserts that a shared subexpression is visited once, so that the time is not exponential in
    /// the depth.
    #[test]
    fn shared_subexpressions_are_visited_once() {
        let mut plan = plan("(plan (query R (mapjoin + (table A i k) (table B k j))) (produces R))");
        let Query { expr, .. } = &mut plan.queries[0];
        for _ in 0..60 {
            *expr = Expr::mapjoin(Builtin::Add, [expr.clone(), expr.clone()]).unwrap();
        }
        assert_eq!(expr.tables(), ["A", "B"].map(Alias::from));
        assert_eq!(plan.inputs(), ["A", "B"].map(Alias::from));
        assert!(plan.is_congruent(&plan));
    }

    #[test]
    fn everything_else_matters() {
        let base =
            "(plan (query R (mapjoin + (table A i j) 2)) (query S (aggregate max -inf (table R i j) j)) (produces S))";
        assert!(congruent(base, base));
        for (from, to) in [
            ("+", "*"),
            (" 2)", " 3)"),
            ("max -inf", "max 0"),
            ("(table R i j) j", "(table R i j) i"),
            ("(produces S)", "(produces S R)"),
            ("(table R i j)", "(table B i j)"),
            ("(table A i j)", "(table A j i)"),
        ] {
            assert!(!congruent(base, &base.replacen(from, to, 1)), "{to}");
        }
    }
}
