//! Codes of the columns of `min` and `max`. Among the rows of a group, the minimum or maximum has
//! the largest code.

use super::EncodedJoin;
use super::domain::{Domain, MISSING};
use crate::claim::LeafColumn;
use crate::error::Result;
use datafusion::arrow::array::ArrayRef;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError};

/// The minimum or maximum of values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Extremum {
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// The codes of a column's values, from 1 on; the extremum has the largest code.
#[derive(Debug)]
pub struct ExtremeCodes {
    domain: Domain,
    extremum: Extremum,
    codes: Vec<u64>,
}

impl EncodedJoin {
    /// Returns the codes of a column for an extremum, which are computed once.
    ///
    /// # Errors
    /// If Arrow refuses a computation, or the allowance is exhausted.
    ///
    /// # Panics
    /// If the leaf is a tensor.
    pub fn extremes(&self, column: LeafColumn, extremum: Extremum) -> Result<Arc<ExtremeCodes>> {
        let mut cache = self.extremes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(extremes) = cache.get(&(column, extremum)) {
            return Ok(extremes.clone());
        }
        let rows = self.rows(column.leaf).expect("the leaf has rows");
        self.allowance.reserve("the codes", rows.len() * size_of::<u64>())?;
        let (domain, codes) = Domain::new(&[vec![rows.column(column.column).clone()]], None)?;
        let codes = domain.without_nulls(codes.into_iter().next().unwrap_or_default());
        let mut extremes = ExtremeCodes { domain, extremum, codes: Vec::new() };
        extremes.codes =
            codes.into_iter().map(|code| if code == MISSING { 0 } else { extremes.encode(code) }).collect();
        let extremes = Arc::new(extremes);
        cache.insert((column, extremum), extremes.clone());
        Ok(extremes)
    }
}

impl ExtremeCodes {
    /// Returns the code of each row; 0 for NULL.
    pub fn codes(&self) -> &[u64] {
        &self.codes
    }

    fn encode(&self, code: u64) -> u64 {
        match self.extremum {
            Extremum::Max => code + 1,
            Extremum::Min => self.domain.size() - code,
        }
    }

    /// Returns the values of codes that are not 0.
    ///
    /// # Errors
    /// If Arrow refuses a computation.
    pub fn decode(&self, codes: &[u64]) -> Result<ArrayRef> {
        let codes: Vec<u64> = match self.extremum {
            Extremum::Max => codes.iter().map(|c| c.saturating_sub(1)).collect(),
            Extremum::Min => codes.iter().map(|c| self.domain.size() - (*c).max(1)).collect(),
        };
        Ok(self.domain.decode(&codes)?.swap_remove(0))
    }
}
