//! The folds of a region, and the columns of its result.

use super::fold::{FoldList, JoinFold};
use crate::aggregates::EncodedRows;
use crate::claim::Region;
use crate::encode::EncodedRegion;
use crate::error::Result;
use crate::results::ResultColumn;

/// The folds of a region, and the columns of its result.
#[derive(Default, Debug)]
pub struct RegionFolds {
    /// The folds.
    pub folds: FoldList,
    /// The result columns that are not groups, in order.
    pub(crate) columns: Vec<Box<dyn ResultColumn>>,
    /// The fold that is not 0 for groups with rows; `None` for a region without groups, whose
    /// result is one row.
    pub presence: Option<usize>,
}

impl RegionFolds {
    /// Returns the folds of a region over its encoded rows.
    ///
    /// # Errors
    /// If the values of an aggregate do not fit kernels.
    pub fn new(region: &Region, encoded: &EncodedRegion) -> Result<RegionFolds> {
        let mut folds = FoldList::default();
        let rows = EncodedRows { join: &region.join, encoded };
        let columns = region.aggregates.iter().map(|aggregate| aggregate.as_dyn().result(rows, &mut folds));
        let columns = columns.collect::<Result<_>>()?;
        let presence = (!region.join.groups.is_empty()).then(|| {
            let counts = folds.iter().any(|f| matches!(f, JoinFold::Count { .. } | JoinFold::Sum { .. }));
            folds.index(if counts { JoinFold::Count { valid: Vec::new() } } else { JoinFold::Presence })
        });
        Ok(RegionFolds { folds, columns, presence })
    }
}
