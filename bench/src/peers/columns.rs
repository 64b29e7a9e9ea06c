//! Tables of inputs for engines that take SQL, with a column for each mode (`i`, `j`, ..) and a
//! column `v` of values.

use crate::protocol::{InputFile, WorkloadTask};
use anyhow::{Result, bail};
use redpoll::datasets::{Data, ReadOptions, Values, read};

/// The columns of modes.
pub(super) const MODES: [&str; 4] = ["i", "j", "k", "l"];

/// Returns the table name of an input. Names of tables are case-insensitive, so a prefix
/// distinguishes `A` from `a`.
pub(super) fn table_name(name: &str) -> String {
    format!("{}_{}", if name.chars().all(char::is_uppercase) { "m" } else { "v" }, name.to_lowercase())
}

/// Reads the files of an input and returns its coordinates by mode and its values.
pub(super) fn read_columns(input: &InputFile, task: &WorkloadTask) -> Result<(Vec<Vec<i32>>, Values)> {
    let read = |suffix: &str| {
        let path = task.folder.join(format!("{}{suffix}.npy", input.name));
        match read(&path, &ReadOptions::default())?.data {
            Data::Dense(values) => Ok(values),
            Data::Triples { .. } => bail!("expected an array in {}", path.display()),
        }
    };
    if !input.dense {
        let (Values::I64(coords), values) = (read(".coords")?, read(".values")?) else {
            bail!("expected coordinates of i64")
        };
        let count = values.len().max(1);
        let columns = coords.chunks(count).take(input.shape.len()).map(|c| c.iter().map(|i| *i as i32).collect());
        return Ok((columns.collect(), values));
    }
    let values = read("")?;
    Ok((dense_coordinates(&input.shape, values.len()), values))
}

/// Returns the row-major coordinates of a dense array of `count` values, by mode.
pub(super) fn dense_coordinates(shape: &[u64], count: usize) -> Vec<Vec<i32>> {
    let mut columns = vec![Vec::with_capacity(count); shape.len()];
    for number in 0..count as u64 {
        let mut rest = number;
        for (column, size) in columns.iter_mut().zip(shape).rev() {
            column.push((rest % size) as i32);
            rest /= size;
        }
    }
    columns
}
