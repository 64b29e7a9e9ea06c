//! Schedules: transformations of the loops of a program that users request.
//!
//! Input: a program with a schedule. Output: an equivalent program without a schedule. The
//! preconditions of the transformations ensure equivalence; a violated precondition is an error.
//! [`verify_parallel`](super::verify_parallel) checks the precondition of `parallel` after
//! normalization. Transformations run after loops have extents and before subscripts are made
//! concordant. The result is verified afterwards like any other program.
//!
//! [`TRANSFORMATIONS`] lists the transformations with their effects and preconditions.
//!
//! In the relaxed float mode, a transformation may change the order in which floats are added.
//!
//! Source: Kjolstad, "Sparse Tensor Algebra Compilation", chapter 6, except for `lanes`.

mod bound;
mod extent;
mod nest;
mod order_independence;
mod precompute;
mod reorder;
mod split;
mod stored;
mod table;
mod unroll;

pub use table::{TRANSFORMATIONS, TransformationText};

use super::text::print_transformation;
use super::verify::{ProgramRule, verify};
use super::{Index, Program, Rounds, Stmt, Transformation, dimensionalize, insert_lifecycles, resolve_scopes};
use crate::Error;
use nest::{find, replace};
use redpoll_logic::FloatMode;
use split::LoopProduct;

/// Applies the schedule of a program, and returns the program without a schedule.
///
/// # Errors
/// When the program breaks a rule of Notation, or a precondition of a transformation does not hold;
/// the error names the transformation and the obstacle.
pub fn apply_schedule(program: Program, mode: FloatMode) -> Result<Program, Error> {
    if program.schedule.is_empty() {
        return Ok(program);
    }
    let program = insert_lifecycles(resolve_scopes(program)?)?;
    verify(&program)?;
    let mut program = dimensionalize(program)?;
    let schedule = std::mem::take(&mut program.schedule);
    let mut products = Vec::new();
    for transformation in &schedule {
        let fail = |what| {
            let at = print_transformation(transformation).to_string();
            Err(Error::InvalidProgram { rule: ProgramRule::Schedule, at, what })
        };
        program = match apply(program, &mut products, transformation, mode) {
            Ok(program) => insert_lifecycles(resolve_scopes(program)?)?,
            Err(what) => return fail(what),
        };
    }
    Ok(program)
}

fn apply(
    program: Program,
    products: &mut Vec<LoopProduct>,
    transformation: &Transformation,
    mode: FloatMode,
) -> Result<Program, String> {
    check_single_loops(&program, products, transformation)?;
    let product = |name: &String| products.iter().position(|p| p.name == *name);
    match transformation {
        Transformation::Split { index, outer, inner, blocks, stored } => {
            let blocks = (*blocks, stored.as_deref());
            let Some(at) = product(index) else {
                return split::split(program, index, (outer, inner), blocks);
            };
            let (program, rest) = split::split_product(program, products.remove(at), (outer, inner), blocks)?;
            products.push(rest);
            Ok(program)
        }
        Transformation::Collapse { outer, inner, product: name } => {
            check_unused(&program, name)?;
            let inner_loops = match product(inner) {
                Some(at) => products[at].loops().to_vec(),
                None => vec![inner.clone()],
            };
            let combined = match product(outer) {
                Some(at) => products[at].with_inner(&program, &inner_loops, name)?,
                None => LoopProduct::new(&program, outer, &inner_loops, name)?,
            };
            products.retain(|p| p.name != *outer && p.name != *inner);
            products.push(combined);
            Ok(program)
        }
        Transformation::Reorder(names) => reorder::reorder(program, names, mode),
        Transformation::Bound { index, rounds } => bound::bound(program, index, *rounds),
        Transformation::Precompute { workspace, target, of, over, format } => {
            precompute::precompute(program, (workspace, format.as_ref()), (target, of), over, mode)
        }
        Transformation::Parallel(index) => {
            let at = find(&program, index)?;
            let body = replace(program.body, at, &mut |l| Ok(nest::ForLoop { rounds: Rounds::Parallel, ..l }.into()))?;
            Ok(Program { body, ..program })
        }
        Transformation::Lanes { index, lanes } => {
            let at = find(&program, index)?;
            let rounds =
                Rounds::with_lanes(*lanes).ok_or_else(|| format!("expected 2, 4, 8 or 16 lanes, found {lanes}"))?;
            let body = replace(program.body.clone(), at, &mut |l| {
                let l = nest::ForLoop { rounds, ..l };
                order_independence::check_order_independence(&program, &l.clone().into(), &[at], mode)?;
                Ok(l.into())
            })?;
            Ok(Program { body, ..program })
        }
        Transformation::Unroll { index, copies } => unroll::unroll(program, index, *copies),
    }
}

/// Checks that a transformation of single loops does not name a product of loops, unless a loop has
/// the same name.
fn check_single_loops(
    program: &Program,
    products: &[LoopProduct],
    transformation: &Transformation,
) -> Result<(), String> {
    let loops: Vec<&String> = match transformation {
        Transformation::Split { .. } | Transformation::Collapse { .. } => return Ok(()),
        Transformation::Reorder(loops) => loops.iter().collect(),
        Transformation::Precompute { over, .. } => over.iter().map(|[index, ..]| index).collect(),
        Transformation::Bound { index, .. }
        | Transformation::Parallel(index)
        | Transformation::Lanes { index, .. }
        | Transformation::Unroll { index, .. } => vec![index],
    };
    let named = |product: &&LoopProduct| loops.contains(&&product.name) && check_unused(program, &product.name).is_ok();
    match products.iter().find(named) {
        Some(product) => {
            let (name, loops) = (&product.name, product.loops().join("`, `"));
            Err(format!(
                "`{name}` is the product of the loops `{loops}` and not a loop; name one of these loops, or split the \
                 product, as in `split({name}, {name}_o, {name}_i, into(4))`, and name the loop over blocks"
            ))
        }
        None => Ok(()),
    }
}

/// Checks that no loop has the given name.
fn check_unused(program: &Program, name: &str) -> Result<(), String> {
    let mut found = false;
    program.body.walk(&mut |s| {
        if let Stmt::For { index, .. } = s {
            found |= program.indices[index.index()] == name;
        }
    });
    if found { Err(format!("a loop of `{name}` already exists; choose another name")) } else { Ok(()) }
}

/// Adds an index with the given name, which no loop may have yet.
fn new_index(program: &mut Program, name: &str) -> Result<Index, String> {
    check_unused(program, name)?;
    program.indices.push(name.to_owned());
    Ok(Index(program.indices.len() as u32 - 1))
}
