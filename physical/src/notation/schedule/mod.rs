//! Schedules: transformations of the loops of a program that its author asks for.
//!
//! Input: a program with a schedule. Output: a program without one that computes the same: each transformation has a
//! precondition that says so, and one that does not hold is an error. Programs are transformed once their loops have
//! extents, before subscripts are brought into order; whether what comes out can be lowered is checked afterwards, as for
//! any program.
//!
//! | text | what it does | precondition |
//! |---|---|---|
//! | `(reorder k i j)` | these loops stand inside of each other in that order | rounds can come in any order; no extent depends on a loop that would be inside; between the loops stand only loops, conditions and variables |
//! | `(split i io ii 64)` `(split i io ii (into 4))` | a loop over blocks of rounds around a loop over the rounds of a block: so many rounds a block, or so many blocks | none: rounds stay in order |
//! | `(split i io ii (into 4 (stored A)))` | the same, in position space: blocks of equal shares of what `A` stores, which are read off its arrays | `A` is an input that the loop goes through at its outermost storage mode; of a product, at the two outermost ones |
//! | `(collapse i j p)` | `split` can cut the product `p` of two loops, whose blocks begin and end within the rounds of the outer one; inside of a block both loops keep their names, and what the block has of the product can be split again; either loop may be a product itself | one loop is directly inside of the other, both extents are constant |
//! | `(bound i 64)` | nothing; it is an error when a loop has another number of rounds | the number of rounds is constant |
//! | `(precompute w y (A B) (j jc jp))` | what the assignment of `y` makes of `A` and `B` is computed before, over the loop of `j`, into a workspace; `()` stands for all that it computes | those loops are the innermost ones; the operator around the part distributes over that of the assignment where the workspace gathers several rounds |
//! | `(parallel i)` | chunks of the loop can run at once | as `verify_parallel` says |
//! | `(lanes i 4)` | rounds are folded in so many lanes, side by side, where they do nothing but fold one value | 2, 4, 8 or 16 lanes; rounds can come in any order |
//! | `(unroll i)` `(unroll i 4)` | the body stands once for each round, or that many times in a round; what is left is guarded where the number of rounds is known only when the loop begins. A loop from one stored entry to the next meets that many of them in a round | without a number of copies, the number of rounds has a constant bound |
//!
//! Values of floats may be added in another order, as everywhere in redpoll where the mode of floats is relaxed.
//! Source: Kjolstad, "Sparse Tensor Algebra Compilation", chapter 6, but for `lanes`.

mod any_order;
mod extent;
mod nest;
mod precompute;
mod reorder;
mod shares;
mod split;
mod unroll;

use super::text::print_transformation;
use super::verify::{Rule, verify};
use super::{Index, Program, Rounds, Stmt, Transformation, dimensionalize, lifecycles, scopes};
use crate::Error;
use nest::{find, replace};
use redpoll_logic::FloatMode;
use split::Product;

/// The program after its schedule.
///
/// # Errors
/// When the program breaks a rule of Notation, or a precondition of a transformation does not hold, with the
/// transformation and what is in its way.
pub fn scheduled(program: Program, mode: FloatMode) -> Result<Program, Error> {
    if program.schedule.is_empty() {
        return Ok(program);
    }
    let program = lifecycles(scopes(program)?)?;
    verify(&program)?;
    let mut program = dimensionalize(program)?;
    let schedule = std::mem::take(&mut program.schedule);
    let mut products = Vec::new();
    for transformation in &schedule {
        let fail = |what| {
            let at = print_transformation(transformation).to_string();
            Err(Error::InvalidProgram { rule: Rule::Schedule, at, what })
        };
        program = match apply(program, &mut products, transformation, mode) {
            Ok(program) => lifecycles(scopes(program)?)?,
            Err(what) => return fail(what),
        };
    }
    Ok(program)
}

fn apply(
    program: Program,
    products: &mut Vec<Product>,
    transformation: &Transformation,
    mode: FloatMode,
) -> Result<Program, String> {
    let product = |name: &String| products.iter().position(|p| p.name == *name);
    match transformation {
        Transformation::Split { index, outer, inner, blocks } => match product(index) {
            Some(at) => {
                let (program, within) = split::split_product(program, products.remove(at), (outer, inner), blocks)?;
                products.push(within);
                Ok(program)
            }
            None => split::split(program, index, (outer, inner), blocks),
        },
        Transformation::Collapse { outer, inner, product: name } => {
            unused(&program, name)?;
            let inside = match product(inner) {
                Some(at) => products[at].loops().to_vec(),
                None => vec![inner.clone()],
            };
            let made = match product(outer) {
                Some(at) => products[at].with_inner(&program, &inside, name)?,
                None => Product::new(&program, outer, &inside, name)?,
            };
            products.retain(|p| p.name != *outer && p.name != *inner);
            products.push(made);
            Ok(program)
        }
        Transformation::Reorder(names) => reorder::reorder(program, names, mode),
        Transformation::Bound { index, rounds } => {
            let at = find(&program, index)?;
            let mut found = None;
            replace(program.body.clone(), at, &mut |l| {
                found = l.length();
                Ok(l.into())
            })?;
            match found {
                Some(n) if n == i128::from(*rounds) => Ok(program),
                Some(n) => Err(format!("the loop of `{index}` has {n} rounds")),
                None => Err(format!("how many rounds the loop of `{index}` has is known only when it begins")),
            }
        }
        Transformation::Precompute { workspace, target, of, over, format } => {
            precompute::precompute(program, (workspace, format.as_ref()), (target, of), over, mode)
        }
        Transformation::Parallel(index) => {
            let at = find(&program, index)?;
            let body = replace(program.body, at, &mut |l| Ok(nest::Loop { rounds: Rounds::Parallel, ..l }.into()))?;
            Ok(Program { body, ..program })
        }
        Transformation::Lanes { index, lanes } => {
            let at = find(&program, index)?;
            let rounds =
                Rounds::in_lanes(*lanes).ok_or_else(|| format!("there are 2, 4, 8 or 16 lanes, not {lanes}"))?;
            let body = replace(program.body.clone(), at, &mut |l| {
                let l = nest::Loop { rounds, ..l };
                any_order::any_order(&program, &l.clone().into(), &[at], mode)?;
                Ok(l.into())
            })?;
            Ok(Program { body, ..program })
        }
        Transformation::Unroll { index, copies } => unroll::unroll(program, index, *copies),
    }
}

/// Checks that no loop has that name.
fn unused(program: &Program, name: &str) -> Result<(), String> {
    let mut found = false;
    program.body.walk(&mut |s| {
        if let Stmt::For { index, .. } = s {
            found |= program.indices[index.index()] == name;
        }
    });
    if found { Err(format!("there is a loop of `{name}`; take another name")) } else { Ok(()) }
}

/// A further index of that name.
fn new_index(program: &mut Program, name: &str) -> Result<Index, String> {
    unused(program, name)?;
    program.indices.push(name.to_owned());
    Ok(Index(program.indices.len() as u32 - 1))
}
