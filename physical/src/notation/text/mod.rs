//! The text form of programs: s-expressions.
//!
//! ```text
//! (program
//!   (input A (type (shape 4 5) f64 0.0 csr))
//!   (input x (type (shape 5) f64 0.0 dense))
//!   (output y (type (shape _) f64 0.0 dense))
//!   (for i (for j (+= (y i) (* (A i j) (x j))))))
//! ```
//!
//! | text | meaning |
//! |---|---|
//! | `(input A TYPE)` `(output y TYPE)` `(local w TYPE)` | a tensor; `_` in a shape is an open dimension |
//! | `(local t f64 0.0)` | a scalar local with its fill value |
//! | `(block s ..)` | one after the other; also where several statements stand in a body |
//! | `(for i (range lo hi) s)` `(for i s)` `(parallel-for i s)` | loops, with or without extent |
//! | `(if c s)` `(while c s)` `(let v e s)` | condition, loop under a condition, variable |
//! | `(where consumer producer)` | the producer, then the consumer |
//! | `(declare t)` `(freeze t)` `(thaw t)` | lifecycles |
//! | `(init (y i) e)` `(= (y i) e)` `(+= (y i) e)` `(min= (y i) e)` | initialize, overwrite, fold by any operator |
//! | `(A i (+ j 1))`, `(access A i j)` | a place; the long form for names that are operators or words of this table |
//! | `(gallop i)` `(follow i)` `(walk i)` | a subscript with a protocol; walk is understood |
//! | `(outside 0.0 (+ i -1))` | a subscript that gives a value out of bounds |
//! | `(* a b)`, `(call f a b)` | an operator; the long form for user-defined ones |
//! | `1` `1.5` `true` `(lit f32 1.5)` | constants: `i64`, `f64`, `bool`, any |
//! | `"a b"` | a name that is no word |
//!
//! Hand-written programs may leave out what can be inferred: extents, lifecycles, dtypes of variables, casts of
//! arguments to an operator's signature. A bare number then takes the dtype of what it meets.

mod parse;
mod print;
mod types;

pub use parse::{parse, parse_with};
pub(super) use print::label;
pub use print::{print, print_expr};

/// Words that start a form, so that a tensor of that name is accessed by the long form.
const RESERVED: [&str; 8] = ["access", "call", "lit", "walk", "gallop", "follow", "outside", "range"];

#[cfg(test)]
mod tests;
