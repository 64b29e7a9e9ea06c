//! Detection of queries that only convert a tensor to another format.

use super::{Access, Extent, Output, PhysicalQuery, ScalarExpr, StorageCoordinate};
use crate::affine::{Affine, Subscript};
use crate::expr::ComputedFills;
use crate::field::{Alias, Field};
use crate::format::{StorageMode, TensorType};
use std::collections::BTreeSet;

impl PhysicalQuery {
    /// Returns the tensor that the query copies without any change but that of the format; `None`
    /// if the query does anything else. The copy has the same shape, dtype, fill value and entries.
    /// `types` returns the type of each tensor that the query may read.
    ///
    /// An engine may convert the storage of the tensor instead of running the loops. The verifier
    /// lets only such a query walk an unordered level.
    pub fn conversion_source<'q, 't>(&'q self, types: impl Fn(&Alias) -> Option<&'t TensorType>) -> Option<&'q Alias> {
        let [output] = &self.outputs[..] else { return None };
        let Output { ty, subscripts, fold: None, computed_fills: ComputedFills::Keep, value, .. } = output else {
            return None;
        };
        let ScalarExpr::Access(access) = value else { return None };
        let Access { tensor, subscripts: read, outside: None, .. } = access else { return None };
        let source = types(tensor)?;
        let same_type = source.shape == ty.shape && source.dtype == ty.dtype && source.fill == ty.fill;
        if !same_type || !self.temporaries.is_empty() {
            return None;
        }
        let coordinates = coordinates(ty, subscripts)?;
        (self.covers_tensor(ty, &coordinates) && coordinates == self::coordinates(source, read)?).then_some(tensor)
    }

    /// Returns whether the loops visit each coordinate of the tensor exactly once. The index of
    /// every loop must occur in one of the coordinates.
    fn covers_tensor(&self, ty: &TensorType, coordinates: &[Affine]) -> bool {
        let mut used: BTreeSet<&Field> = BTreeSet::new();
        let skews: Vec<Option<(&Field, &Field)>> =
            coordinates.iter().zip(&ty.shape).map(|(form, &size)| self.as_skew(form, size, coordinates)).collect();
        let covers = |form: &Affine, size: u64| match &form.terms[..] {
            _ if !form.has_offset(0) => false,
            [(field, 1)] => match self.extent(field) {
                Some(Extent::Range(n)) => *n == size,
                Some(Extent::Skew { n, outer, .. }) => *n == size && skews.contains(&Some((outer, field))),
                _ => false,
            },
            [(a, x), (b, y)] => [(a, x, b, y), (b, y, a, x)].into_iter().any(|(inner, one, outer, by)| {
                let is_block = |e: &Extent| match e {
                    Extent::Block { block, outer: counter, size: n } => {
                        counter == outer && *n == size && i64::try_from(*block) == Ok(*by)
                    }
                    Extent::Range(_) | Extent::Skew { .. } => false,
                };
                *one == 1 && self.extent(inner).is_some_and(is_block)
            }),
            _ => false,
        };
        for ((form, skew), size) in coordinates.iter().zip(&skews).zip(&ty.shape) {
            let unused = match skew {
                Some((diagonal, _)) => used.insert(*diagonal),
                None => covers(form, *size) && form.terms.iter().all(|(f, _)| used.insert(f)),
            };
            if !unused {
                return false;
            }
        }
        used.len() == self.loops.len()
    }

    fn extent(&self, field: &Field) -> Option<&Extent> {
        self.loops.iter().find(|l| l.index == *field).map(|l| &l.extent)
    }

    /// Returns the fields `(diagonal, along)` if the form is `diagonal + along - shift`, where
    /// `along` is another coordinate of the tensor. In the loops, the form must take every value of
    /// `0..size` once for each value of `along`.
    fn as_skew<'q>(&self, form: &'q Affine, size: u64, coordinates: &[Affine]) -> Option<(&'q Field, &'q Field)> {
        let [(a, 1), (b, 1)] = &form.terms[..] else { return None };
        let shift = u64::try_from(form.constant.checked_neg()?).ok().filter(|_| form.parameters.is_empty())?;
        let is_coordinate = |field: &Field| coordinates.iter().any(|c| c.as_field() == Some(field));
        let (diagonal, along) = [(a, b), (b, a)].into_iter().find(|(_, along)| is_coordinate(along))?;
        let (diagonals, length) = (shift.checked_add(size)?, shift + 1);
        let skewed = |n, outer: &Field| Extent::Skew { n, outer: outer.clone(), shift, size };
        let (d, r) = (self.extent(diagonal)?, self.extent(along)?);
        let all = (*d == Extent::Range(diagonals) && *r == skewed(length, diagonal))
            || (*r == Extent::Range(length) && *d == skewed(diagonals, along));
        all.then_some((diagonal, along))
    }
}

/// Returns the affine form of each tensor coordinate, given the storage coordinates. Returns `None`
/// if a storage coordinate is computed or missing, or if the storage coordinates of a mode do not
/// combine to one affine form.
fn coordinates(ty: &TensorType, storage: &[StorageCoordinate]) -> Option<Vec<Affine>> {
    let subscript = |of: StorageMode| {
        let level = ty.format.modes.iter().position(|m| *m == of)?;
        match storage.get(level)? {
            StorageCoordinate::Subscript(s) => Some(s),
            StorageCoordinate::Computed(_) => None,
        }
    };
    let split = |mode: usize| {
        ty.format.modes.iter().find_map(|m| match m {
            StorageMode::Outer { mode: of, block } if *of == mode => Some(*block),
            _ => None,
        })
    };
    let affine = |of: StorageMode| match subscript(of)? {
        Subscript::Affine(form) => Some(form),
        Subscript::Outer(..) | Subscript::Inner(..) => None,
    };
    let skewed_by = |mode: usize| {
        ty.format.modes.iter().find_map(|m| match m {
            StorageMode::Skew { mode: of, by } if *of == mode => Some(*by),
            _ => None,
        })
    };
    let coordinate = |mode: usize| match (split(mode), skewed_by(mode)) {
        (None, None) => affine(StorageMode::Whole { mode }).cloned(),
        (None, Some(by)) => {
            let (diagonal, along) = (affine(StorageMode::Skew { mode, by })?, affine(StorageMode::Whole { mode: by })?);
            let shift = i64::try_from(ty.shape[by]).ok()?.checked_sub(1)?;
            diagonal.checked_plus(along)?.checked_plus(&Affine::constant(-shift))
        }
        (Some(block), _) => {
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

    /// Returns the tensor that `query` converts, in a plan with the inputs `A`, `B` and `F`.
    fn converts(query: &str) -> Option<String> {
        let text = format!(
            "(physical (input A f64 0.0 (4 6) (dense sparse-list)) (input B f64 0.0 (4 6) (dense@0/2 sparse-list@1/3 dense@0%2 dense@1%3))
               (input F f64 1.0 (4 6) (dense sparse-list)) {query} (produces C))"
        );
        let plan = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        verify::verify(&plan).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let types: HashMap<_, _> = plan.inputs.iter().cloned().collect();
        plan.queries[0].conversion_source(|t: &Alias| types.get(t).map(AsRef::as_ref)).map(ToString::to_string)
    }

    #[test]
    fn copies_of_whole_tensors() {
        let csc = "(query (for (i 4) (j 6)) (write C f64 0.0 (4 6) (dense@1 sparse-list@0) (j i) (workspace 0 (dense hash)) (at A i j)))";
        assert_eq!(converts(csc).as_deref(), Some("A"));
        let dense = "(query (for (i 4) (j 6)) (write C f64 0.0 (4 6) (dense dense) (i j) (at A i j)))";
        assert_eq!(converts(dense).as_deref(), Some("A"));
        let block = "(dense@0/2 sparse-list@1/3 dense@0%2 dense@1%3)";
        let coordinates = "((quot i 2) (quot j 3) (mod i 2) (mod j 3))";
        let blocked = format!(
            "(query (for (i 4) (j 6)) (write C f64 0.0 (4 6) {block} {coordinates} (workspace 0 (hash hash hash hash)) (at A i j)))"
        );
        assert_eq!(converts(&blocked).as_deref(), Some("A"));
        let loops = "(io 2) (jo 2) (ii 2 io 4) (ji 3 jo 6)";
        let unblocked = format!(
            "(query (for {loops}) (write C f64 0.0 (4 6) (dense dense) ((+ ii (* 2 io)) (+ ji (* 3 jo))) (at B io jo ii ji)))"
        );
        assert_eq!(converts(&unblocked).as_deref(), Some("B"));
        for loops in ["(d 9) (i 4 d 3 6)", "(i 4) (d 9 i 3 6)"] {
            let dia = format!(
                "(query (for {loops}) (write C f64 0.0 (4 6) (dense@1-0 dense@0) (d i) (at A (follow i) (follow (+ d i -3)))))"
            );
            assert_eq!(converts(&dia).as_deref(), Some("A"), "{loops}");
        }
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
        let part = "(query (for (d 4) (i 4 d 3 6)) (write C f64 0.0 (4 6) (dense@1-0 dense@0) (d i) (at A (follow i) (follow (+ d i -3)))))";
        assert_eq!(converts(part), None);
        let again = "(query (for (i 4) (j 6) (k 2)) (write C f64 0.0 (4 6) (dense dense) (i j) (fold max) (at A i j)))";
        assert_eq!(converts(again), None);
    }
}
