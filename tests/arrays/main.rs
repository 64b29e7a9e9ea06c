//! Lazy arrays. `operations.rs` compares each operation in the tables of `redpoll_testing::arrays`
//! with plain `ndarray` arithmetic; data, shapes (with sizes 0 and 1), fill values, dtypes, formats
//! and axes are random. The other files have tests of one subject each.
//!
//! In `operations.rs`, values are small whole numbers, and NaN in a few tests, so that sums and
//! products are exact and need no tolerance. Every case runs as machine code; some small cases also
//! run in the interpreters.

mod computed;
mod constants;
mod deep;
mod extremes;
mod files;
mod formats;
mod gradient;
mod indexing;
mod operations;
mod ordered;
mod programs;

use redpoll::Target;
use redpoll_testing::arrays::Operation;
use redpoll_testing::arrays::draw::{DenseArray, OperandSource, dense_values};
use redpoll_testing::engines::error_chain;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Cases per operation, unless `REDPOLL_CASES` sets their number.
const CASES: u64 = 8;

/// The engines of some small cases: machine code and the interpreters of Logic, Notation and
/// Assembly.
const INTERPRETERS: [Target; 4] = [Target::INSTANT, Target::LOGIC, Target::NOTATION, Target::ASSEMBLY];

/// Largest number of elements of a result for the interpreters.
const SMALL: usize = 40;

/// Checks the operations of a table, or only those whose names contain `REDPOLL_ONLY`, on several
/// cases each, and reports the failures.
pub(crate) fn check(table: &[Operation]) {
    let requested = std::env::var("REDPOLL_CASES").ok().and_then(|n| n.parse().ok());
    let only = std::env::var("REDPOLL_ONLY").unwrap_or_default();
    let mut failures = Vec::new();
    for (name, operation) in table.iter().filter(|(name, _)| name.contains(&only)) {
        let seed = name.bytes().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
        for case in 0..requested.unwrap_or(CASES) {
            let mut draw = OperandSource::new(seed.wrapping_mul(1000).wrapping_add(case));
            let (lazy, expected) = operation(&mut draw);
            let engines: &[Target] = match case % 4 == 0 && expected.len() <= SMALL {
                true => &INTERPRETERS,
                false => &[Target::INSTANT],
            };
            for target in engines {
                let found = catch_unwind(AssertUnwindSafe(|| lazy.collect_with(*target).map(|t| dense_values(&t))));
                let problem = match found {
                    Ok(Ok(found)) if is_equal(&found, &expected) => continue,
                    Ok(Ok(found)) => format!("expected {expected:?}\nfound {found:?}"),
                    Ok(Err(error)) => format!("error: {}", error_chain(&error)),
                    Err(_) => "panic".to_owned(),
                };
                let record = draw.record.join("\n  ");
                failures.push(format!("{name} case {case} on target {}:\n  {record}\n{problem}", target.name()));
                break;
            }
        }
    }
    let count = failures.len();
    failures.truncate(12);
    assert!(failures.is_empty(), "{count} failures:\n\n{}", failures.join("\n\n"));
}

/// Returns whether shapes and values are equal. All NaNs are equal.
fn is_equal(a: &DenseArray, b: &DenseArray) -> bool {
    a.shape() == b.shape() && a.iter().zip(b).all(|(x, y)| x == y || (x.is_nan() && y.is_nan()))
}
