//! The fields of a nest: their sizes, and the replacement of fields by blocks and diagonals.

use crate::term::ModeCoordinate;
use redpoll_logic::{Affine, Field, Subscript};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Sizes of fields, and the blocks and skews that replace fields.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Sizes {
    sizes: FxHashMap<Field, u64>,
    splits: BTreeMap<Field, FieldSplit>,
    skews: Vec<FieldSkew>,
}

/// A field replaced by a diagonal and the coordinate along it: `field = diagonal + along - shift`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FieldSkew {
    pub(crate) field: Field,
    pub(crate) diagonal: Field,
    pub(crate) along: Field,
    pub(crate) shift: u64,
    /// The size of the field.
    pub(crate) size: u64,
}

/// A split of a field of the given size: `field = block * outer + inner`; `inner` is the key in
/// `Sizes::splits`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FieldSplit {
    pub(crate) block: u64,
    pub(crate) outer: Field,
    pub(crate) size: u64,
    /// Set when a tensor is stored in these blocks.
    pub(crate) is_stored: bool,
}

impl Sizes {
    pub(crate) fn insert(&mut self, field: Field, size: u64) {
        self.sizes.insert(field, size);
    }

    pub(crate) fn insert_split(&mut self, inner: Field, split: FieldSplit) {
        self.sizes.insert(inner.clone(), split.block);
        self.sizes.insert(split.outer.clone(), split.size.div_ceil(split.block));
        self.splits.insert(inner, split);
    }

    pub(crate) fn insert_skew(&mut self, skew: FieldSkew) {
        let empty = skew.size == 0 || self.get(&skew.along) == Some(0);
        let diagonals = if empty { 0 } else { skew.shift.saturating_add(skew.size) };
        self.sizes.insert(skew.diagonal.clone(), diagonals);
        self.skews.push(skew);
    }

    /// Copies from `from`, under new names, the splits whose inner field is one of `fields` and the
    /// skews with a part among `fields`; sizes are not copied. `name` returns the new name of each
    /// part of these splits and skews.
    pub(crate) fn copy_parts(&mut self, from: &Sizes, fields: &[Field], name: &dyn Fn(&Field) -> Field) {
        for (inner, split) in from.splits.iter().filter(|(inner, _)| fields.contains(inner)) {
            self.splits.insert(name(inner), FieldSplit { outer: name(&split.outer), ..split.clone() });
        }
        for skew in from.skews.iter().filter(|s| fields.contains(&s.diagonal) || fields.contains(&s.along)) {
            let skew = FieldSkew { diagonal: name(&skew.diagonal), along: name(&skew.along), ..skew.clone() };
            if !self.skews.contains(&skew) {
                self.skews.push(skew);
            }
        }
    }

    pub(crate) fn skews(&self) -> impl Iterator<Item = &FieldSkew> {
        self.skews.iter()
    }

    /// Returns whether loops over both fields provably take the same values inside equal outer
    /// loops.
    pub(crate) fn is_same_loop(&self, a: &Field, b: &Field) -> bool {
        let skew = |f| self.skew(f).map(|(s, other)| (other, s.diagonal == *f, s.shift, s.size));
        let is_split = self.split(a).is_some() || self.split(b).is_some();
        self.get(a) == self.get(b) && !is_split && (a == b || skew(a).eq(skew(b)))
    }

    /// Iterates over the skews in which the field is the diagonal or the coordinate along it, each
    /// with the other of these two parts.
    pub(crate) fn skew(&self, field: &Field) -> impl Iterator<Item = (&FieldSkew, &Field)> {
        self.skews.iter().filter_map(move |s| {
            let other = if s.diagonal == *field { Some(&s.along) } else { None };
            other.or((s.along == *field).then_some(&s.diagonal)).map(|other| (s, other))
        })
    }

    /// Returns the skew whose replaced field equals `form`.
    fn as_skew(&self, form: &Affine) -> Option<&FieldSkew> {
        let matches = |s: &&FieldSkew| {
            let parts = form.coefficient(&s.diagonal) == 1 && form.coefficient(&s.along) == 1;
            parts && form.terms.len() == 2 && i64::try_from(s.shift).is_ok_and(|shift| form.has_offset(-shift))
        };
        self.skews.iter().find(matches)
    }

    /// Returns whether the common fields have equal sizes, and the blocks and skews are equal.
    pub(crate) fn agrees_with(&self, other: &Sizes) -> bool {
        let same = |(field, size): (&Field, &u64)| self.get(field).is_none_or(|own| own == *size);
        other.sizes.iter().all(same) && self.splits == other.splits && self.skews == other.skews
    }

    /// Adds the fields of `other`, which must agree with these sizes.
    pub(crate) fn extend(&mut self, other: &Sizes) {
        other.each(&mut |field, size| {
            self.sizes.entry(field.clone()).or_insert(size);
        });
    }

    /// Visits every field with its size.
    pub(crate) fn each(&self, f: &mut dyn FnMut(&Field, u64)) {
        self.sizes.iter().for_each(|(field, size)| f(field, *size));
    }

    pub(crate) fn get(&self, field: &Field) -> Option<u64> {
        self.sizes.get(field).copied()
    }

    /// Returns the size of a field of the nest.
    pub(crate) fn of(&self, field: &Field) -> u64 {
        self.get(field).expect("every field of a nest has a size")
    }

    pub(crate) fn split(&self, inner: &Field) -> Option<&FieldSplit> {
        self.splits.get(inner)
    }

    /// Returns whether the field is part of no split and of no skew. A loop over a part does not
    /// always take all values of the part, for example in a partial last block.
    pub(crate) fn is_whole(&self, field: &Field) -> bool {
        let part = self.splits.contains_key(field) || self.splits.values().any(|b| b.outer == *field);
        !part && self.skew(field).next().is_none()
    }

    pub(crate) fn contains(&self, field: &Field) -> bool {
        self.sizes.contains_key(field)
    }

    /// Returns the outer field, inner field and block of the split field that equals `form`.
    pub(crate) fn as_split(&self, form: &Affine) -> Option<(&Field, &Field, u64)> {
        let [(a, ca), (b, cb)] = &form.terms[..] else { return None };
        let found = |inner: &Field, outer: &Field, step: i64, stride: i64| {
            let (inner, b) = self.splits.get_key_value(inner)?;
            let split = b.outer == *outer && step == 1 && stride == b.block as i64 && form.has_offset(0);
            split.then_some((&b.outer, inner, b.block))
        };
        found(a, b, *ca, *cb).or_else(|| found(b, a, *cb, *ca))
    }

    /// Returns whether `at` is provably within `0..size`.
    pub(crate) fn is_within(&self, at: &ModeCoordinate, size: u64) -> bool {
        match at {
            ModeCoordinate::Subscript(s) => {
                if let Some((_, inner, _)) = self.as_split(s.form()) {
                    // Loops over a split field never exceed its size, although the sizes of its
                    // pieces alone would allow larger values.
                    return self.splits[inner].size <= size && matches!(s, Subscript::Affine(_));
                }
                if let Some(skew) = self.as_skew(s.form()) {
                    return skew.size <= size && matches!(s, Subscript::Affine(_));
                }
                // A field of size 0 has no values, so nothing is out of bounds.
                s.form().terms.iter().any(|(f, _)| self.get(f) == Some(0))
                    || s.range(&|f| self.get(f)).is_some_and(|(low, high)| low >= 0 && (high as u64) < size)
            }
            ModeCoordinate::Value(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both parts of a copied split or skew have their new names.
    #[test]
    fn copied_parts_are_renamed_together() {
        let [i, d, o, k] = ["i", "d", "o", "k"].map(Field::from);
        let mut from = Sizes::default();
        from.insert(i.clone(), 5);
        let skew = FieldSkew { field: "j".into(), diagonal: d.clone(), along: i.clone(), shift: 4, size: 5 };
        from.insert_skew(skew.clone());
        let split = FieldSplit { block: 2, outer: o.clone(), size: 5, is_stored: true };
        from.insert_split(k.clone(), split.clone());
        let name = |f: &Field| Field::from(format!("{f}.2"));
        let mut sizes = Sizes::default();
        sizes.copy_parts(&from, &[d.clone(), k.clone()], &name);
        let renamed = FieldSkew { diagonal: name(&d), along: name(&i), ..skew };
        assert_eq!(sizes.skew(&name(&d)).collect::<Vec<_>>(), [(&renamed, &name(&i))]);
        assert_eq!(sizes.split(&name(&k)), Some(&FieldSplit { outer: name(&o), ..split }));
        assert!(sizes.split(&k).is_none() && sizes.skew(&d).next().is_none());
    }
}
