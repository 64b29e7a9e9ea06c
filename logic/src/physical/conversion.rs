//! Queries that do nothing but bring a tensor into another format.

use super::{Access, Extent, Output, PhysicalQuery, Place, Point};
use crate::affine::{Affine, Subscript};
use crate::field::{Alias, Field};
use crate::format::{StorageMode, TensorType};
use std::collections::BTreeSet;

impl PhysicalQuery {
    /// The tensor of which the query makes a copy with the same shape, dtype, fill value and value at every place, if
    /// it does just that. `types` has the type of each tensor that it may read. Engines may convert storage instead of
    /// running loops; a level that is not ordered can be read in no other way.
    pub fn converts<'q, 't>(&'q self, types: impl Fn(&Alias) -> Option<&'t TensorType>) -> Option<&'q Alias> {
        let [Output { ty, subscripts, fold: None, value: Point::Access(access), .. }] = &self.outputs[..] else {
            return None;
        };
        let Access { tensor, subscripts: read, outside: None, .. } = access else { return None };
        let source = types(tensor)?;
        let same = source.shape == ty.shape && source.dtype == ty.dtype && source.fill == ty.fill;
        if !same || !self.temporaries.is_empty() {
            return None;
        }
        let coordinates = coordinates(ty, subscripts)?;
        (self.visits_all(ty, &coordinates) && coordinates == self::coordinates(source, read)?).then_some(tensor)
    }

    /// Whether the loops, all of them, take the coordinates through every place of the tensor.
    fn visits_all(&self, ty: &TensorType, coordinates: &[Affine]) -> bool {
        let mut used: BTreeSet<&Field> = BTreeSet::new();
        let extent = |field: &Field| self.loops.iter().find(|l| l.index == *field).map(|l| &l.extent);
        let covers = |form: &Affine, size: u64| match &form.terms[..] {
            _ if form.constant != 0 => false,
            [(field, 1)] => extent(field) == Some(&Extent::Whole(size)),
            [(a, x), (b, y)] => [(a, x, b, y), (b, y, a, x)].into_iter().any(|(inner, one, outer, by)| {
                let is_block = |e: &Extent| match e {
                    Extent::Block { block, outer: counts, size: n } => {
                        counts == outer && *n == size && i64::try_from(*block) == Ok(*by)
                    }
                    Extent::Whole(_) => false,
                };
                *one == 1 && extent(inner).is_some_and(is_block)
            }),
            _ => false,
        };
        let mut fields = coordinates.iter().flat_map(|form| form.terms.iter().map(|(f, _)| f));
        let distinct = fields.all(|f| used.insert(f));
        let whole = coordinates.iter().zip(&ty.shape).all(|(form, size)| covers(form, *size));
        distinct && whole && used.len() == self.loops.len()
    }
}

/// The coordinate of each mode of a tensor that is met at a place a storage mode; `None` where one is a value, or the
/// parts of a split mode do not make one affine form.
fn coordinates(ty: &TensorType, places: &[Place]) -> Option<Vec<Affine>> {
    let subscript = |of: StorageMode| {
        let level = ty.format.modes.iter().position(|m| *m == of)?;
        match &places[level] {
            Place::Subscript(s) => Some(s),
            Place::Value(_) => None,
        }
    };
    let split = |mode: usize| {
        ty.format.modes.iter().find_map(|m| match m {
            StorageMode::Outer { mode: of, block } if *of == mode => Some(*block),
            _ => None,
        })
    };
    let coordinate = |mode: usize| match split(mode) {
        None => match subscript(StorageMode::Whole { mode })? {
            Subscript::Affine(form) => Some(form.clone()),
            Subscript::Outer(..) | Subscript::Inner(..) => None,
        },
        Some(block) => {
            let outer = subscript(StorageMode::Outer { mode, block })?;
            match (outer, subscript(StorageMode::Inner { mode, block })?) {
                (Subscript::Outer(a, by), Subscript::Inner(b, of)) if a == b && *by == block && *of == block => {
                    Some(a.clone())
                }
                (Subscript::Affine(outer), Subscript::Affine(inner)) => {
                    inner.checked_plus(&outer.checked_times(i64::try_from(block).ok()?)?)
                }
                _ => None,
            }
        }
    };
    (0..ty.shape.len()).map(coordinate).collect()
}

#[cfg(test)]
mod tests {
    use crate::field::Alias;
    use crate::physical::{parse, verify};
    use std::collections::HashMap;

    /// Which tensor the first query of a plan converts.
    fn converts(query: &str) -> Option<String> {
        let text = format!(
            "(physical (input A f64 0.0 (4 6) (dense sparse-list)) (input B f64 0.0 (4 6) (dense@0/2 sparse-list@1/3 dense@0%2 dense@1%3))
               (input F f64 1.0 (4 6) (dense sparse-list)) {query} (produces C))"
        );
        let plan = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        verify::verify(&plan).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let types: HashMap<_, _> = plan.inputs.iter().cloned().collect();
        plan.queries[0].converts(|t: &Alias| types.get(t).map(AsRef::as_ref)).map(ToString::to_string)
    }

    #[test]
    fn copies_of_whole_tensors() {
        let csc = "(query (for (i 4) (j 6)) (write C f64 0.0 (4 6) (dense@1 sparse-list@0) (j i) (workspace 0 (dense hash)) (at A i j)))";
        assert_eq!(converts(csc).as_deref(), Some("A"));
        let dense = "(query (for (i 4) (j 6)) (write C f64 0.0 (4 6) (dense dense) (i j) (at A i j)))";
        assert_eq!(converts(dense).as_deref(), Some("A"));
        let block = "(dense@0/2 sparse-list@1/3 dense@0%2 dense@1%3)";
        let places = "((quot i 2) (quot j 3) (mod i 2) (mod j 3))";
        let blocked = format!(
            "(query (for (i 4) (j 6)) (write C f64 0.0 (4 6) {block} {places} (workspace 0 (hash hash hash hash)) (at A i j)))"
        );
        assert_eq!(converts(&blocked).as_deref(), Some("A"));
        let loops = "(io 2) (jo 2) (ii 2 io 4) (ji 3 jo 6)";
        let unblocked = format!(
            "(query (for {loops}) (write C f64 0.0 (4 6) (dense dense) ((+ ii (* 2 io)) (+ ji (* 3 jo))) (at B io jo ii ji)))"
        );
        assert_eq!(converts(&unblocked).as_deref(), Some("B"));
    }

    #[test]
    fn everything_else() {
        let write = |rest: &str| format!("(query (for (i 4) (j 6)) (write C {rest}))");
        for rest in [
            "f64 1.0 (4 6) (dense dense) (i j) (at A i j)",
            "f64 0.0 (4 6) (dense dense) (i j) (at F i j)",
            "f64 0.0 (4 6) (dense dense) (i j) (fold +) (at A i j)",
            "f64 0.0 (4 6) (dense dense) (i j) (neg (at A i j))",
            "f64 0.0 (6 4) (dense dense) (j i) (at A i j)",
        ] {
            assert_eq!(converts(&write(rest)), None, "{rest}");
        }
        let part = "(query (for (i 3) (j 6)) (write C f64 0.0 (4 6) (dense dense) (i j) (at A i j)))";
        assert_eq!(converts(part), None);
        let moved = "(query (for (i 4) (j 5)) (write C f64 0.0 (4 6) (dense dense) (i j) (at A i (+ j 1))))";
        assert_eq!(converts(moved), None);
        let again = "(query (for (i 4) (j 6) (k 2)) (write C f64 0.0 (4 6) (dense dense) (i j) (fold max) (at A i j)))";
        assert_eq!(converts(again), None);
    }
}
