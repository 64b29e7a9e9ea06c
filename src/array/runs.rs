//! Matrices of step functions, built from their runs.

use super::Array;
use super::error::Cause;
use super::value::Value;
use crate::session::Session;
use redpoll_logic::{Format, LevelKind, Scalar, TensorType};
use redpoll_storage::{Array as Buffer, Tensor};
use std::panic::Location;

impl Session {
    /// Returns a matrix of step functions, one for each row, that is stored in runs of equal
    /// values. A run is a pair of the column at which the run begins and its value. The run extends
    /// to the next run or to the end of the row. The first run of a row begins at column 0, and
    /// each further run begins after the start of the previous run.
    ///
    /// The work of a fold along the rows is proportional to the number of runs.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let steps = session.runs(6, [vec![(0, 1.5), (4, 2.0)], vec![(0, 7.0)]]);
    /// assert_eq!(steps.sum(1).to_vec::<f64>()?, [10.0, 42.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn runs<T: Value, R: IntoIterator<Item = (u64, T)>>(
        &self,
        columns: u64,
        rows: impl IntoIterator<Item = R>,
    ) -> Array {
        self.array_from("runs", Location::caller(), step_functions(columns, rows))
    }
}

fn step_functions<T: Value, R: IntoIterator<Item = (u64, T)>>(
    columns: u64,
    rows: impl IntoIterator<Item = R>,
) -> Result<Tensor, Cause> {
    let last = i64::try_from(columns).map_err(|e| Cause::Shape(format!("{columns} columns: {e}")))?;
    let (mut ptr, mut right, mut values) = (vec![0i64], Vec::new(), Vec::new());
    for (row, runs) in rows.into_iter().enumerate() {
        let mut next = 0;
        for (start, value) in runs {
            let is_first = next == 0;
            if start >= columns || if is_first { start != 0 } else { start < next } {
                let expected =
                    if is_first { "at column 0".to_owned() } else { format!("a column in {next}..{columns}") };
                return Err(Cause::Shape(format!(
                    "row {row} has a run that begins at column {start}, expected {expected}"
                )));
            }
            // A run ends where the next run begins.
            if !is_first {
                right.push(start as i64);
            }
            values.push(value);
            next = start + 1;
        }
        match (next, columns) {
            (0, 0) => {}
            (0, _) => return Err(Cause::Shape(format!("row {row} has no run, expected one that begins at column 0"))),
            _ => right.push(last),
        }
        ptr.push(right.len() as i64);
    }
    let ty = TensorType {
        shape: vec![ptr.len() as u64 - 1, columns],
        dtype: T::PRIM.into(),
        fill: Scalar::zero(T::PRIM),
        format: Format::dense_above(LevelKind::RunLength, 2),
    };
    let levels = vec![Vec::new(), vec![Buffer::from_vec(ptr), Buffer::from_vec(right)]];
    Ok(Tensor::try_new(ty, levels, vec![T::into_buffer(values)])?)
}

#[cfg(test)]
mod tests {
    use crate::Session;

    /// Asserts the values and the number of positions of a small matrix of step functions, and the
    /// shapes of empty matrices.
    #[test]
    fn runs_cover_their_columns() {
        let session = Session::default();
        let steps = session.runs(4, [vec![(0, 1), (1, 2), (3, 0)], vec![(0, 5)]]);
        assert_eq!(steps.to_vec::<i32>().unwrap(), [1, 2, 2, 0, 5, 5, 5, 5]);
        assert_eq!(steps.collect().unwrap().positions(), 4);
        assert_eq!(session.runs(1, [[(0, true)]]).to_vec::<bool>().unwrap(), [true]);
        assert_eq!(session.runs(0, [[(0, 1.0); 0]; 2]).shape().unwrap(), [2, 0]);
        assert_eq!(session.runs(3, [[(0, 1.0)]; 0]).shape().unwrap(), [0, 3]);
    }

    /// Asserts that runs cause an error that names their row if they do not cover the row, do not
    /// ascend, or begin after the row ends. Too many columns are an error, too.
    #[test]
    fn incomplete_runs_are_errors() {
        for (columns, runs, message) in [
            (4, vec![], "row 1 has no run, expected one that begins at column 0"),
            (4, vec![(1, 2)], "row 1 has a run that begins at column 1, expected at column 0"),
            (4, vec![(0, 2), (2, 1), (2, 3)], "row 1 has a run that begins at column 2, expected a column in 3..4"),
            (4, vec![(0, 2), (4, 1)], "row 1 has a run that begins at column 4, expected a column in 1..4"),
        ] {
            let found = Session::default().runs(columns, [vec![(0, 1)], runs]).shape().unwrap_err().to_string();
            assert!(found.ends_with(message) && found.contains("runs"), "{found}");
        }
        let found = Session::default().runs(0, [[(0, 1)]]).shape().unwrap_err().to_string();
        assert!(found.ends_with("expected at column 0"), "{found}");
        assert!(Session::default().runs(u64::MAX, [[(0, 1)]]).shape().is_err());
    }
}
