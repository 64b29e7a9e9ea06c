//! Notation: the loops that compute a query.
//!
//! A [`Program`] is a statement over tensors that are accessed by index: loops, conditions,
//! variables, lifecycles (declare, freeze, thaw, swap) and assignments. The statement contains no
//! code for the levels in which a tensor is stored; lowering ([`crate::lower`]) adds that code with
//! looplets.
//!
//! Programs come from physical queries ([`from_physical`]) or from text ([`parse`]). [`verify`]
//! checks them, [`run`] interprets them, and [`normalize`] brings them into the form that lowering
//! takes.
//!
//! # The normal form
//! [`normalize`] establishes these rules. [`verify_normal`] checks rules 1 to 5, 8 and 10, and of
//! rule 6 the positions of the loops of one round. It does not reject loops without rounds, which
//! rule 3 excludes.
//! 1. All rules of the module `verify` hold. Lifecycles are explicit. Each output and each used
//!    local is declared. A tensor is frozen before it is read, and an output at the end. A frozen
//!    tensor is thawed before it is written again.
//! 2. Each `for` and `let` binds an index or variable of its own; ids are unique in the program,
//!    names may repeat.
//! 3. Each `for` has an extent `(lo, hi)` of `i64` expressions over outer indices and variables,
//!    and over reads as far as rule 10 allows. An inferred extent is a pair of literals, `(0, n)`
//!    for a plain subscript. No dimension is open. Loops that provably have no rounds are dropped.
//! 4. Each subscript is a linear form: `atom`, `(* c atom)`, or a flat `(+ term .. c)` of such
//!    terms. An atom is an index or a variable and occurs at most once; coefficients `c` are
//!    literals other than 0 and 1. Terms are ordered from the deepest bound atom to the outermost;
//!    a constant other than 0 is last. [`Linear::of`] reads the form.
//! 5. The deepest atom of each subscript is a loop index, called `i_k` for storage mode `k`. So the
//!    subscript is `a * i_k + r` with a literal `a` other than 0, and everything in `r` is bound
//!    outside of the loop of `i_k`. This loop *resolves* mode `k` of the access: the coordinate is
//!    known inside of the loop. In each access (read or write), the loop of `i_k` lies strictly
//!    inside the loop of `i_(k-1)` and inside the binders of all atoms in the subscripts of modes
//!    `0..k`. So all outer modes are resolved when lowering reaches the loop of `i_k`, and a loop
//!    resolves at most one mode of an access. The loops that resolve a tensor with a level that is
//!    not dense lie inside of its declaration.
//! 6. A subscript that violates rule 5 gets a loop of one round: `(for s (range e (+ e 1)) ..)`
//!    with subscript `s`, where `e` is a linear form; the extent is two literals if `e` is
//!    constant. These are plain loops; `s` occurs in subscripts only. Loops of one round that
//!    resolve an appended level lie outside of all loops that would repeat their coordinate.
//! 7. Reads with an `outside` keep it on the same subscript. Protocols stay with their subscripts.
//! 8. The schedule is empty: [`apply_schedule`] transforms the loops before [`normalize`], which
//!    rejects a program that has a schedule.
//! 9. Each subscript has its proof of being in bounds, or a check ([`prove_bounds`]).
//! 10. Reads occur in right-hand sides, conditions, values of `let` and, in hand-written and
//!     scheduled programs, in extents, never in subscripts.

mod bounds;
mod concordize;
mod cut;
mod dense_values;
mod dimensionalize;
mod empty_loops;
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
mod schedule;
mod scopes;
mod sections;
mod single_rounds;
mod stored_block;
mod tables;
mod text;
mod types;
mod verify;
mod visit;
mod wrapperize;
mod write_path;

pub(crate) use bounds::index_ranges;
pub use bounds::{BoundsCheck, Ranges, bounds_checks, prove_bounds};
pub use concordize::concordize;
pub use cut::{ALL_ROUNDS, MAX_CHUNKS};
pub use cut::{Cut, Join, Obstacle, RoundCoordinates, cut, verify_parallel};
pub use dense_values::{DenseValues, dense_values, value_index};
pub use dimensionalize::dimensionalize;
pub use empty_loops::drop_empty_loops;
pub use from_physical::from_physical;
pub use initialize::initialize;
pub use interp::{InterpLimits, StopCause, run, run_with_limits, run_with_mode};
pub use join_rounds::join_rounds;
pub use lifecycles::insert_lifecycles;
pub use linear::{Atom, Linear};
pub use nodes::*;
pub use pattern::verify_patterns;
pub use schedule::{TRANSFORMATIONS, TransformationText, apply_schedule};
pub use scopes::resolve_scopes;
pub use sections::{Sections, find_sections};
pub use single_rounds::inline_single_rounds;
pub use text::{
    InputText, InputTypes, SourceMap, is_program, parse, parse_inputs, parse_with, parse_with_inputs, print, print_expr,
};
pub use types::dtype_of;
pub use verify::{ProgramRule, verify, verify_normal};
pub use wrapperize::wrapperize;

use crate::Error;

/// Brings a program into the normal form that lowering takes; see the module docs.
///
/// # Errors
/// When the program breaks a rule of Notation, an extent or dimension cannot be inferred, or
/// accesses contradict each other or a written extent.
pub fn normalize(program: Program) -> Result<Program, Error> {
    normalize_with_ranges(program, &|_| None)
}

/// Normalizes a program like [`normalize`], given the least and the greatest values of inputs where
/// these are available.
///
/// # Errors
/// Like [`normalize`].
pub fn normalize_with_ranges(program: Program, ranges: Ranges<'_>) -> Result<Program, Error> {
    let program = with_lifecycles(program)?;
    verify(&program)?;
    into_normal_form(program, ranges)
}

/// Normalizes a program of [`from_physical`] like [`normalize`]. The program is verified only in
/// its normal form, because the translation of a valid query follows the rules of Notation.
///
/// # Errors
/// Like [`normalize`].
pub fn normalize_translated(program: Program) -> Result<Program, Error> {
    let program = with_lifecycles(program)?;
    debug_assert_eq!(verify(&program).map_err(|e| e.to_string()), Ok(()), "{}", print(&program));
    into_normal_form(program, &|_| None)
}

fn with_lifecycles(program: Program) -> Result<Program, Error> {
    insert_lifecycles(resolve_scopes(program)?)
}

fn into_normal_form(program: Program, ranges: Ranges<'_>) -> Result<Program, Error> {
    let program = dimensionalize(program)?;
    let program = wrapperize(drop_empty_loops(inline_single_rounds(program)));
    let program = initialize(join_rounds(concordize(program)));
    verify_normal(&program)?;
    Ok(prove_bounds(program, ranges))
}

#[cfg(test)]
mod tests;
