//! The text forms of formats: lists of levels and shorthands, which users write, and lists of
//! words, which physical plans contain.

mod lists;
mod words;

pub use lists::{block_shorthands, format_from_sexpr, format_to_sexpr, parse_format, shorthands};
pub use words::FormatDisplay;
pub(crate) use words::format_from_words;
