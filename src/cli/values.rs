//! Parsers of option values; their error messages say which values are expected.

use crate::logic::Prim;
use std::num::NonZero;
use std::str::FromStr;

/// Parses a number of threads.
pub(super) fn threads(text: &str) -> Result<NonZero<usize>, String> {
    text.parse().map_err(|_| "expected a whole number of at least 1".to_owned())
}

/// Parses a whole number.
pub(super) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number, such as 1000".to_owned())
}

/// Parses a real number.
pub(super) fn real(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number, such as 0.5".to_owned())
}

/// Parses one size of a list separated by commas.
pub(super) fn size(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected sizes separated by commas, such as 10,20".to_owned())
}

/// Parses one mode of a list separated by commas.
pub(super) fn mode(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected modes, counted from 0 and separated by commas, such as 0,2".to_owned())
}

/// Parses a number of repetitions.
pub(super) fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

/// Parses a dtype.
pub(super) fn dtype(name: &str) -> Result<Prim, String> {
    let known = || Prim::ALL.map(Prim::name).join(", ");
    Prim::from_name(name).ok_or_else(|| format!("expected one of {}", known()))
}
