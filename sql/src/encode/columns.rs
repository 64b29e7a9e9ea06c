//! Columns with their codes, and the union of the domains of several such columns.

use super::domain::{Domain, DomainValues, max_range};
use crate::error::Result;
use datafusion::arrow::array::ArrayRef;
use std::sync::Arc;

/// The codes of a column, or of a tuple of columns, in all rows of a table or of a leaf.
#[derive(Debug)]
pub struct EncodedColumns {
    /// The values of the codes.
    pub(crate) domain: Domain,
    /// The code of each row.
    pub(crate) codes: Arc<Vec<u64>>,
}

/// A map from the codes of a domain to the codes of a union of domains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Recoding {
    /// The codes are the same.
    Same,
    /// The difference between new and old codes, with the old and the new code of NULL.
    Shift { by: u64, null: Option<(u64, u64)> },
    /// The new code of each code.
    Table(Vec<u64>),
}

impl EncodedColumns {
    /// Encodes a tuple of columns; `chunks` has the arrays of the tuple for each chunk of rows.
    ///
    /// # Errors
    /// If Arrow refuses a computation.
    pub(crate) fn new(chunks: &[Vec<ArrayRef>]) -> Result<EncodedColumns> {
        let (domain, mut codes) = Domain::new(chunks, None)?;
        let codes = if codes.len() == 1 { codes.swap_remove(0) } else { codes.concat() };
        Ok(EncodedColumns { domain, codes: Arc::new(codes) })
    }

    /// Returns the size of the codes and of the domain's values in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.codes.len() * size_of::<u64>() + self.domain.bytes()
    }
}

impl Recoding {
    /// Returns whether all codes stay the same.
    pub(super) fn is_same(&self) -> bool {
        *self == Recoding::Same
    }

    /// Returns the new codes of the selected rows.
    pub(super) fn apply(&self, codes: &[u64], selection: Option<&[u32]>) -> Vec<u64> {
        match self {
            Recoding::Same => select(codes, selection, |code| code),
            Recoding::Shift { by, null: None } => select(codes, selection, |code| code.wrapping_add(*by)),
            Recoding::Shift { by, null: Some((from, to)) } => {
                select(codes, selection, |code| if code == *from { *to } else { code.wrapping_add(*by) })
            }
            Recoding::Table(table) => select(codes, selection, |code| table[code as usize]),
        }
    }
}

fn select(codes: &[u64], selection: Option<&[u32]>, recode: impl Fn(u64) -> u64) -> Vec<u64> {
    match selection {
        None => codes.iter().map(|&code| recode(code)).collect(),
        Some(rows) => rows.iter().map(|&row| recode(codes[row as usize])).collect(),
    }
}

/// Returns the domain of all values of several domains, and the recoding of each of these domains.
/// `rows` is the number of rows with these values, and `extent` has the same meaning as in
/// [`Domain::new`].
///
/// # Errors
/// If Arrow refuses a computation.
pub(super) fn union(domains: &[&Domain], rows: usize, extent: Option<u64>) -> Result<(Domain, Vec<Recoding>)> {
    if let (None, [domain]) = (extent, domains) {
        return Ok(((*domain).clone(), vec![Recoding::Same]));
    }
    if let Some(union) = extent.is_none().then(|| union_of_ranges(domains, rows)).flatten() {
        return Ok(union);
    }
    let values = domains.iter().map(|domain| domain.decode(&(0..domain.count()).collect::<Vec<_>>()));
    let (union, codes) = Domain::new(&values.collect::<Result<Vec<_>>>()?, extent)?;
    Ok((union, codes.into_iter().map(Recoding::Table).collect()))
}

/// Returns the union of ranges as a range; `None` if a domain is no range, or the union has far
/// more integers than there are rows.
fn union_of_ranges(domains: &[&Domain], rows: usize) -> Option<(Domain, Vec<Recoding>)> {
    let mut ranges = Vec::new();
    for domain in domains {
        let DomainValues::Range { min, ty, null } = &domain.values else { return None };
        ranges.push((*min, domain.count() - u64::from(null.is_some()), *null, ty));
    }
    let filled = || ranges.iter().filter(|(_, count, ..)| *count > 0);
    let min = filled().map(|(min, ..)| *min).min().unwrap_or(0);
    let end = filled().map(|(min, count, ..)| i128::from(*min) + i128::from(*count)).max().unwrap_or(0);
    let size = u128::try_from(end - i128::from(min)).ok().filter(|&size| size <= max_range(rows))? as u64;
    let null = ranges.iter().any(|(.., null, _)| null.is_some()).then_some(size);
    let recoding = |&(own_min, _, own_null, _): &(i64, u64, Option<u64>, _)| {
        let nulls = own_null.zip(null);
        match own_min.wrapping_sub(min) as u64 {
            0 if nulls.is_none_or(|(own, of_union)| own == of_union) => Recoding::Same,
            by => Recoding::Shift { by, null: nulls },
        }
    };
    let recodings = ranges.iter().map(recoding).collect();
    let ty = ranges.first()?.3.clone();
    Some((Domain::range((min, size), null, ty), recodings))
}

#[cfg(test)]
mod tests {
    use super::super::domain::MISSING;
    use super::*;
    use datafusion::arrow::array::{Array, Int64Array, StringArray};

    /// Codes of a union decode to the values of the rows, for all rows and for selected rows, and
    /// NULL has one code.
    #[test]
    fn unions_keep_the_values_of_rows() {
        let integers =
            |values: &[Option<i64>]| -> ArrayRef { Arc::new(values.iter().copied().collect::<Int64Array>()) };
        let strings =
            |values: &[Option<&str>]| -> ArrayRef { Arc::new(values.iter().copied().collect::<StringArray>()) };
        let sets: Vec<Vec<ArrayRef>> = vec![
            vec![integers(&[Some(5), Some(3), None]), integers(&[Some(4), Some(9)])],
            vec![integers(&[Some(1), Some(1 << 50)]), integers(&[Some(7), None]), integers(&[])],
            vec![integers(&[Some(0)]), integers(&[Some(i64::MAX)]), integers(&[Some(i64::MIN)])],
            vec![integers(&[None]), integers(&[None, None])],
            vec![strings(&[Some("b"), None, Some("a")]), strings(&[Some("c"), Some("a")])],
            vec![integers(&[Some(2), Some(2), Some(8)])],
        ];
        for columns in sets {
            let parts: Vec<EncodedColumns> =
                columns.iter().map(|column| EncodedColumns::new(&[vec![column.clone()]]).unwrap()).collect();
            let rows = columns.iter().map(Array::len).sum();
            let domains: Vec<&Domain> = parts.iter().map(|part| &part.domain).collect();
            let (domain, recodings) = union(&domains, rows, None).unwrap();
            for ((column, part), recoding) in columns.iter().zip(&parts).zip(&recodings) {
                let codes = recoding.apply(&part.codes, None);
                assert_eq!(domain.decode(&codes).unwrap(), std::slice::from_ref(column));
                let nulls = codes.iter().filter(|code| Some(**code) == domain.null()).count();
                assert_eq!(nulls, column.null_count());
                let reversed: Vec<u32> = (0..column.len() as u32).rev().collect();
                let selected = recoding.apply(&part.codes, Some(&reversed));
                assert!(selected.iter().eq(codes.iter().rev()));
            }
            let all: Vec<u64> = (0..domain.count()).filter(|code| Some(*code) != domain.null()).collect();
            let values = domain.decode(&all).unwrap().swap_remove(0);
            assert_eq!(values.null_count(), 0);
        }
    }

    /// Values beyond the dimension of a tensor get the code `MISSING`.
    #[test]
    fn values_beyond_a_dimension_are_missing() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(-1), Some(0), Some(3), Some(4), None]));
        let part = EncodedColumns::new(&[vec![column]]).unwrap();
        let (domain, recodings) = union(&[&part.domain], 5, Some(4)).unwrap();
        assert_eq!(domain.count(), 4);
        assert_eq!(recodings[0].apply(&part.codes, None), [MISSING, 0, 3, MISSING, MISSING]);
    }
}
