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
//! | `(input A (shape n m) f64 0.0 csr)` | the short form for hand-written programs: accesses have one subscript per mode of the tensor |
//! | `(local t f64 0.0)` | a scalar with its fill value; an input has this value if no tensor is bound |
//! | `(block s ..)` | a sequence; implied where a body has several statements |
//! | `(for i (range lo hi) s)` `(for i s)` `(parallel-for i s)` `(lanes-for 4 i s)` `(unrolled-for 4 i s)` | loops, with or without extent; the chunks of `parallel-for` must be able to run in parallel; `lanes-for` may fold its rounds in the given number of lanes; `unrolled-for` handles the given number of stored entries per round of its code |
//! | `(if c s)` `(while c s)` `(let v e s)` | condition, loop under a condition, variable |
//! | `(where consumer producer)` | the producer, then the consumer |
//! | `(declare t)` `(freeze t)` `(thaw t)` | lifecycles |
//! | `(swap t u)` | exchanges the contents of two locals |
//! | `(init (y i) e)` `(= (y i) e)` `(+= (y i) e)` `(min= (y i) e)` | initialize, overwrite, fold by any operator |
//! | `(A i (+ j 1))`, `(access A i j)` | an access; the long form for quoted names, and for names that are operators or words that begin another expression, subscript or range |
//! | `(gallop i)` `(follow i)` `(walk i)` | a subscript with a protocol; the default is walk |
//! | `(outside 0.0 (+ i -1))` | a subscript of a read, with the value that the read has if this subscript is out of bounds; if several subscripts are out of bounds, the read has the value given for the one whose storage mode is outermost |
//! | `(* a b)`, `(call f a b)` | an operator; the long form for user-defined operators |
//! | `1` `1.5` `true` `(lit f32 1.5)` `(fill A)` `n` | constants: `i64`, `f64`, `bool`, any; a fill value; a size |
//! | `"a b"` | a name that is not a word |
//! | `(block-inputs A (modes 0 2) (into 8) b)` | `(modes 0 2)` is the half-open range of storage modes 0 and 1 of `A`, whose stored entries are cut into 8 blocks with equal shares; the input `b`, which is computed and not bound, has the begin of each block |
//! | `(block-inputs A (modes 1 2) (of 64) b n)` | the same for blocks of 64 stored entries of each fiber; `n` has the number of blocks of each fiber |
//! | `(pattern y A)` | the output `y` stores a value for each stored entry of the input `A`, and shares its levels |
//! | `(schedule (split i io ii 64) ..)` | transformations of the loops, in order; the module `schedule` lists them |
//!
//! Hand-written programs may leave out parts that can be inferred: extents, lifecycles, dtypes of
//! variables, casts of arguments to an operator's signature. A bare number takes the dtype of the
//! other arguments, or of the tensor that it is written to.
//!
//! # Types that are left open
//! Sizes need not be written. In `(shape n m)` names stand for sizes, which inputs determine and
//! which other tensors and expressions use. The parts of an input that are `_` or left out at the
//! end come from the bound tensor ([`parse_with_inputs`]). For an output or local, the default fill
//! value is zero, and the default format is dense.
//! ```text
//! (input A (shape n n))                         any square matrix
//! (input source i64 0)                          a number, 0 if none is given
//! (local next (shape n) (dtype A) _ (byte-map (element)))
//! ```
//! Accesses to a tensor that is declared in the short form have one subscript per mode of the
//! tensor, in the order of modes. So a program that leaves formats open runs over any format. Over
//! `csc`, `(A i j)` is still row `i` and column `j`. [`print()`] writes the form `(type ..)`, in
//! which accesses have one subscript per storage mode.
//!
//! # Coordinates out of bounds
//! A subscript without `outside` must be in bounds. If the module `bounds` cannot prove this from
//! loops and conditions, the subscript is checked at run time. The check of a read may be skipped
//! where the value cannot affect the result. A run that finds a coordinate out of bounds ends with
//! an error that names the subscript.

mod declare;
mod parse;
mod print;
mod schedule;
mod source_map;
mod types;

pub use declare::{InputText, InputTypes};
pub use parse::{is_program, parse, parse_inputs, parse_with, parse_with_inputs};
pub(super) use print::label;
pub use print::{print, print_expr};
pub(super) use schedule::print_transformation;
pub use source_map::SourceMap;
pub(super) use types::tensor_type;

/// Words that begin an expression, a subscript or a range; a tensor of such a name is accessed by
/// the long form.
const RESERVED: [&str; 9] = ["access", "call", "fill", "lit", "walk", "gallop", "follow", "outside", "range"];

#[cfg(test)]
mod tests;
