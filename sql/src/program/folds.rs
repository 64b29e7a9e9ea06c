//! The folds of a region, and the columns of its result.

use super::fold::JoinFold;
use crate::claim::Region;
use crate::encode::{EncodedJoin, EncodedRows};
use crate::error::Result;
use crate::results::ResultColumn;

/// The folds of a region, and the columns of its result.
#[derive(Default, Debug)]
pub struct RegionFolds {
    /// The folds.
    pub folds: FoldList,
    /// The result columns that are not groups, in order.
    pub(crate) columns: Vec<Box<dyn ResultColumn>>,
    /// The fold whose value is 0 for groups without rows, and for no other group; `None` for a
    /// region without groups, whose result is one row.
    pub presence: Option<FoldId>,
}

impl RegionFolds {
    /// Returns the folds of a region over its encoded rows.
    ///
    /// # Errors
    /// If the region must be left to DataFusion because of the values of an aggregate, or a tensor
    /// cannot be read.
    pub fn new(region: &Region, encoded: &EncodedJoin) -> Result<RegionFolds> {
        let mut folds = FoldList::default();
        let rows = EncodedRows { join: &region.join, encoded };
        let columns = region.aggregates.iter().map(|aggregate| aggregate.as_dyn().result(rows, &mut folds));
        let columns = columns.collect::<Result<_>>()?;
        let presence = (!region.join.groups.is_empty()).then(|| {
            let counts = folds.iter().any(|f| matches!(f, JoinFold::Count { .. } | JoinFold::Sum { .. }));
            folds.find_or_add(if counts { JoinFold::Count { valid: Vec::new() } } else { JoinFold::Presence })
        });
        Ok(RegionFolds { folds, columns, presence })
    }
}

/// Index of a fold in a [`FoldList`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FoldId(usize);

impl FoldId {
    /// Returns the index as a number.
    pub fn index(self) -> usize {
        self.0
    }
}

/// The folds of a region, without duplicates.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FoldList(Vec<JoinFold>);

impl FoldList {
    /// Returns the id of a fold; adds the fold if the list does not have it.
    pub(crate) fn find_or_add(&mut self, fold: JoinFold) -> FoldId {
        FoldId(self.0.iter().position(|f| *f == fold).unwrap_or_else(|| {
            self.0.push(fold);
            self.0.len() - 1
        }))
    }

    /// Returns the folds in the order of their indices.
    pub fn iter(&self) -> std::slice::Iter<'_, JoinFold> {
        self.0.iter()
    }
}
