//! Matrices shared by several workloads.

use crate::data::{SMALL, generate_content, generate_with, read_real};
use crate::workload::{DataSize, MakeOutcome};
use anyhow::{Result, bail};
use redpoll::datasets::Content;
use redpoll::datasets::generate::{Amount, Banded, Blocks, Grid, Rmat, Stencil, Uniform};
use redpoll_logic::Prim;

/// Real matrices and their files.
const REAL_MATRICES: &[(&str, &str)] = &[
    ("bundle1", "matrices/bundle1_pattern.mtx.zst"),
    ("facebook", "graphs/facebook_combined.mtx.zst"),
    ("ca-AstroPh", "graphs/ca-AstroPh-cc1.mtx.zst"),
    ("dblp", "graphs/dblp-2010.mtx.zst"),
    ("usroads", "graphs/usroads.mtx.zst"),
    ("email-Eu-core", "graphs/email-Eu-core.mtx.zst"),
    ("bcsstk16", "matrices/bcsstk16.mtx.zst"),
];

/// Largest number of entries of inputs for the reference interpreter. Up to this number, a random
/// matrix replaces a real one.
const MAX_TINY_ENTRIES: u64 = 128;

/// Returns the square matrix of the given name with about `entries` entries. Real matrices have
/// their own number of entries and may be missing.
///
/// # Errors
/// If there is no matrix of that name, or its file cannot be read.
pub(super) fn square(name: &str, entries: u64, seed: u64) -> Result<Result<Content, MakeOutcome>> {
    let file = REAL_MATRICES.iter().find(|(short, _)| *short == name);
    Ok(Ok(match name {
        _ if file.is_some() && entries <= MAX_TINY_ENTRIES => return square("uniform", entries, seed),
        "uniform" => {
            let n = entries.div_ceil(16).next_power_of_two().max(16);
            generate_content(&Uniform { shape: vec![n, n], entries: Amount::Count(entries) }, seed)?
        }
        "rmat" => {
            generate_content(&Rmat::new(entries.div_ceil(16).next_power_of_two().max(16).ilog2(), entries), seed)?
        }
        "banded" => band(entries, 8, seed)?,
        "wide band" => band(entries, 50.min(entries / 16), seed)?,
        "blocks" => blocks(entries, 8, seed)?,
        "wide blocks" => blocks(entries, if entries < 1 << 16 { 8 } else { 64 }, seed)?,
        "grid" => {
            let side = ((entries / 5) as f64).sqrt() as u64;
            generate_with(&Grid { extents: vec![side, side], stencil: Stencil::Star }, seed, SMALL, Prim::F64)?
        }
        _ => match file {
            Some((_, file)) => return read_real(file),
            None => bail!("unknown matrix `{name}`"),
        },
    }))
}

/// Returns a matrix of full blocks of `side` by `side` elements, on average about four in each row
/// of blocks; tiny matrices have fewer.
fn blocks(entries: u64, side: u64, seed: u64) -> Result<Content> {
    let rows = (entries / (4 * side)).next_multiple_of(side).max(2 * side);
    let blocks = Amount::Count(entries / (side * side));
    generate_content(&Blocks { rows, columns: rows, block_rows: side, block_columns: side, blocks }, seed)
}

/// Returns a matrix with a full band: the main diagonal, and `bandwidth` diagonals on each side of
/// it.
fn band(entries: u64, bandwidth: u64, seed: u64) -> Result<Content> {
    let rows = entries.div_ceil(2 * bandwidth + 1);
    generate_content(&Banded { rows, columns: rows, below: bandwidth, above: bandwidth, density: 1.0 }, seed)
}

/// Returns the number of entries of a matrix at the given size.
pub(super) fn entry_count(size: DataSize) -> u64 {
    size.pick(4 << 20, 1 << 18, 100)
}

/// Describes data by name, shape and number of entries.
pub(super) fn describe(name: &str, content: &Content) -> String {
    let shape: Vec<String> = content.shape.iter().map(u64::to_string).collect();
    format!("{name}, {}, {} entries", shape.join(" x "), content.data.values().len())
}

/// Unwraps the content that a function such as [`square`] returns. If the function returns a
/// `MakeOutcome` instead, the macro returns it from the enclosing function.
macro_rules! require {
    ($content:expr) => {
        match $content? {
            Ok(content) => content,
            Err(outcome) => return Ok(outcome),
        }
    };
}
pub(super) use require;
