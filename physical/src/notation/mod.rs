//! Notation: in which loops a query is computed.
//!
//! A [`Program`] is a statement over tensors that are accessed by index: loops, conditions, lifecycles (declare, freeze,
//! thaw) and assignments. It says nothing of how tensors are stored; lowering (`crate::lower`) does that with looplets.
//!
//! Programs come from physical queries ([`from_physical`]) or from text ([`parse`]); they are checked by [`verify`],
//! executed by [`run`], and brought by [`normalize`] into the form that lowering takes.
//!
//! # The normal form
//! [`normalize`] gives, [`verify_normal`] checks:
//! 1. All rules of the module `verify` hold. Lifecycles are explicit: a `declare` for each output and each used local,
//!    `freeze` before reads and, for outputs, at the end, `thaw` before further writes.
//! 2. Each `for` and `let` binds an index or variable of its own; ids are unique in the program, names may repeat.
//! 3. Each `for` has an extent `(lo, hi)`, `i64` expressions of what is bound outside. An extent that was inferred is a
//!    pair of literals, `(0, n)` for a plain subscript. No dimension is open.
//! 4. Each subscript is a linear form: `atom`, `(* c atom)`, or a flat `(+ term .. c)` of such terms, where an atom is an
//!    index or a variable, each at most once, coefficients `c` are literals other than 0 and 1, terms are ordered from
//!    the deepest bound atom to the outermost, the constant, if not 0, is last. [`Linear::of`] reads it.
//! 5. The deepest atom of each subscript is a loop index, call it `i_k` for storage mode `k`: so the subscript is
//!    `a * i_k + r`, `a` a literal other than 0, and everything in `r` is bound outside of the loop of `i_k`. In each
//!    access, reads and writes alike, the loop of `i_k` lies strictly inside the loop of `i_(k-1)` and inside everything
//!    that the subscripts of modes `0..k` mention. So when lowering reaches the loop of `i_k`, all outer modes are
//!    resolved, and a loop resolves at most one mode of an access. The loops that resolve a tensor with other levels than
//!    dense ones lie inside of its declaration.
//! 6. Accesses that were not so have loops of one round: `(for s (range e (+ e 1)) ..)` with subscript `s`, `e` a linear
//!    form (two literals when it is constant). They are plain loops; `s` occurs in subscripts only. Those that resolve a
//!    level which is appended to stand outside of all loops that meet their coordinate again.
//! 7. Reads with an `outside` keep it on the same subscript. Protocols stay with their subscripts.
//! 8. The schedule is empty: [`scheduled`] has transformed the loops.
//! 9. Each subscript says how it is known to be in bounds ([`bounds`]).
//! 10. Reads occur in right-hand sides, conditions, values of `let` and, in hand-written programs, in extents, never in
//!     subscripts.

mod bounds;
mod concordize;
mod cut;
mod dimensionalize;
mod from_physical;
mod initialize;
mod interp;
mod join_rounds;
mod lifecycles;
mod linear;
mod nodes;
mod normal;
mod order;
mod pattern;
mod places;
mod schedule;
mod scopes;
mod sections;
mod single_rounds;
mod text;
mod types;
mod verify;
mod visit;
mod wrapperize;

pub use bounds::{Checked, Ranges, bounds, checks};
pub use concordize::concordize;
pub(crate) use cut::{ALL, MOST_CHUNKS};
pub use cut::{Cut, Join, Obstacle, cut, verify_parallel};
pub use dimensionalize::dimensionalize;
pub use from_physical::from_physical;
pub use initialize::initialize;
pub use interp::{Limits, Stop, run, run_in, run_within};
pub use join_rounds::join_rounds;
pub use lifecycles::lifecycles;
pub use linear::{Atom, Linear};
pub use nodes::*;
pub use places::{Places, place_of, places_of};
pub use schedule::scheduled;
pub use scopes::scopes;
pub use sections::{Sections, sections};
pub use single_rounds::single_rounds;
pub use text::{Bound, InputText, Marks, inputs_of, is_program, parse, parse_over, parse_with, print, print_expr};
pub use types::dtype_of;
pub use verify::{Rule, verify, verify_normal};
pub use wrapperize::wrapperize;

use crate::Error;

/// Brings a program into the form that lowering takes; the module states it.
///
/// # Errors
/// When the program breaks a rule of Notation, or an extent or dimension cannot be inferred.
pub fn normalize(program: Program) -> Result<Program, Error> {
    normalize_over(program, &|_| None)
}

/// As [`normalize`], with the least and the greatest values of inputs that are known.
///
/// # Errors
/// As [`normalize`].
pub fn normalize_over(program: Program, ranges: Ranges<'_>) -> Result<Program, Error> {
    let program = scopes(program)?;
    let program = lifecycles(program)?;
    verify(&program)?;
    let program = dimensionalize(program)?;
    let program = wrapperize(single_rounds(program));
    let program = initialize(join_rounds(concordize(program)));
    verify_normal(&program)?;
    Ok(bounds(program, ranges))
}

#[cfg(test)]
mod tests;
