//! Measures functions that depend on the order of values, relative to a sort of the stored values
//! alone. The inputs are a vector and a matrix, each with 10^6 values at 10^12 coordinates.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::Result;
use redpoll::prelude::*;
use redpoll_bench::pairs::Pairs;
use std::hint::black_box;
use std::time::Duration;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ENTRIES: u64 = 1_000_000;

/// Time for the pairs of one function over one array.
const BUDGET: Duration = Duration::from_secs(3);

/// A function over an array.
type Function = fn(&Array) -> std::result::Result<(), redpoll::Error>;

const FUNCTIONS: [(&str, Function); 7] = [
    ("sort", |a| a.sort(-1, SortOrder::Ascending).map(drop)),
    ("argsort", |a| a.argsort(-1, SortOrder::Ascending).map(drop)),
    ("top_k of 100", |a| a.top_k(100, -1).map(drop)),
    ("unique_counts", |a| a.unique_counts().map(drop)),
    ("unique, with counts and inverse", |a| a.unique().map(drop)),
    ("median", |a| a.median(..).map(drop)),
    ("isin of 1,000 values", |a| a.isin(a.session().arange(0.0, 1000.0, 1.0)).map(drop)),
];

fn main() -> Result<()> {
    let session = Session::default();
    let mut arrays = Vec::new();
    for shape in [vec![1_000_000_000_000], vec![1_000_000, 1_000_000]] {
        let format = Format::coo(shape.len());
        let random = session.random(shape).entries(ENTRIES).seed(1).normal(0.0, 1.0).format(format);
        let tensor = random.array()?.collect()?;
        let values: Vec<f64> = tensor.leaf()[0].as_slice().expect("values are f64").to_vec();
        arrays.push((session.array(tensor), values));
    }
    println!("Time relative to a sort of the stored values alone, as the median of pairs.\n");
    println!("| function | vector of 10^12 | matrix of 10^6 x 10^6 |\n|---|---|---|");
    for (name, function) in FUNCTIONS {
        let mut row = format!("| {name} |");
        for (array, values) in &arrays {
            function(array)?;
            let sort_alone = || {
                let mut sorted = values.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                black_box(sorted);
            };
            let pairs = Pairs::measure(BUDGET, 5, || function(array).expect("the first call succeeded"), sort_alone);
            row += &format!(" {:.2} |", pairs.median_ratio());
        }
        println!("{row}");
    }
    Ok(())
}
