//! Names of coordinates in bound edge lists. Files whose tables share an index share the numbers of
//! names, so that tables are joined by name.

use crate::datasets::file_formats::edge_list::Dictionary;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The indices of a bound table, and the names of its coordinates.
pub(super) struct TableNames<'a> {
    pub(super) file: &'a Path,
    /// The index of each mode.
    pub(super) indices: &'a [String],
    /// The names of the coordinates of each mode. It is empty if no mode has names.
    pub(super) names: Vec<Option<Arc<Dictionary>>>,
}

/// The names of the coordinates of each index.
pub(super) type IndexNames = BTreeMap<String, Arc<Dictionary>>;

/// Returns the names of each index that has names in one of the tables: the names of all of its
/// modes, numbered in order of the tables. Two indices have the same names if a table numbers the
/// names of both as one set.
pub(super) fn index_names(tables: &[TableNames<'_>]) -> IndexNames {
    let modes = |table| TableNames::named_modes(table);
    let mut sets: Vec<BTreeSet<&str>> = Vec::new();
    for table in tables {
        for (index, names) in modes(table) {
            let one_set = modes(table).filter(|(_, other)| Arc::ptr_eq(names, other)).map(|(other, _)| other);
            let mut set: BTreeSet<&str> = one_set.chain([index]).collect();
            let (joined, others) = sets.into_iter().partition(|other| !other.is_disjoint(&set));
            sets = others;
            Vec::into_iter(joined).for_each(|other| set.extend(other));
            sets.push(set);
        }
    }
    let mut all = IndexNames::new();
    for set in sets {
        let named = tables.iter().flat_map(modes).filter(|(index, _)| set.contains(index));
        let names = Arc::new(named.flat_map(|(_, names)| names.names()).collect::<Dictionary>());
        all.extend(set.into_iter().map(|index| (index.to_owned(), names.clone())));
    }
    all
}

/// Returns a note for each index that has names in one table and numbers in another.
pub(super) fn notes(tables: &[TableNames<'_>], names: &IndexNames) -> Vec<String> {
    let numbered = |index: &String| {
        let has_numbers = |table: &&TableNames<'_>| {
            let mut modes = table.indices.iter().enumerate();
            modes.any(|(mode, other)| other == index && table.names.get(mode).is_none_or(Option::is_none))
        };
        tables.iter().find(has_numbers)
    };
    let note = |index: &String| {
        let named = tables.iter().find(|table| table.named_modes().any(|(other, _)| other == index))?;
        let (numbered, named) = (numbered(index)?.file.display(), named.file.display());
        Some(format!(
            "index `{index}` has numbers in {numbered} and names in {named}; the tables are joined by number, and the \
             names are numbered from 0 in order of appearance"
        ))
    };
    names.keys().filter_map(note).collect()
}

impl TableNames<'_> {
    /// Returns the modes with names, except the modes without an index.
    fn named_modes(&self) -> impl Iterator<Item = (&str, &Arc<Dictionary>)> {
        let modes = self.indices.iter().zip(&self.names).filter(|(index, _)| !index.is_empty());
        modes.filter_map(|(index, names)| Some((index.as_str(), names.as_ref()?)))
    }

    /// Returns the names with which the file must be read again, or `None` if the names of the file
    /// have the right numbers.
    pub(super) fn renumbered(&self, names: &IndexNames) -> Option<Vec<Option<Arc<Dictionary>>>> {
        let differs = self.named_modes().any(|(index, own)| *names[index] != **own);
        let of_mode = |(index, own): (&String, &Option<Arc<Dictionary>>)| own.as_ref().and(names.get(index)).cloned();
        differs.then(|| self.indices.iter().zip(&self.names).map(of_mode).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dictionary(names: &str) -> Option<Arc<Dictionary>> {
        Some(Arc::new(names.split(' ').collect()))
    }

    fn listing(names: &IndexNames) -> String {
        let line = |(index, names): (&String, &Arc<Dictionary>)| {
            format!("{index}: {}\n", names.names().collect::<Vec<_>>().join(" "))
        };
        names.iter().map(line).collect()
    }

    /// Checks that names are joined over shared indices, and over one set of vertices in a table,
    /// and that only files whose numbers change are read again.
    #[test]
    fn names_are_joined_by_index() {
        let indices = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (ij, jk, l, i) = (indices("i j"), indices("j k"), indices("l"), indices("i"));
        let table = |indices, names| TableNames { file: Path::new("t.csv"), indices, names };
        let vertices = dictionary("a b c");
        let tables = [
            table(&ij, vec![dictionary("x y"), dictionary("a")]),
            table(&jk, vec![vertices.clone(), vertices]),
            table(&l, vec![dictionary("x")]),
            table(&i, Vec::new()),
        ];
        let names = index_names(&tables);
        assert_eq!(listing(&names), "i: x y\nj: a b c\nk: a b c\nl: x\n");
        let renumbered = tables.each_ref().map(|table| table.renumbered(&names));
        assert_eq!(renumbered, [Some(vec![dictionary("x y"), dictionary("a b c")]), None, None, None]);
        let [note] = &notes(&tables, &names)[..] else { panic!("one index has names and numbers") };
        assert!(note.starts_with("index `i` has numbers in t.csv and names in t.csv;"), "{note}");
    }
}
