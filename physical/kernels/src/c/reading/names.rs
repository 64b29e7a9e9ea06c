//! Names of buffers and locals for readers.

use super::{for_each_part, for_each_stmt};
use redpoll_compiler::assembly::{CompareOp, Expr, Function, Local, Stmt};
use std::collections::HashMap;

/// Splits the name of a buffer into tensor and part, such as `A.idx1` into `A` and `idx1`; `None`
/// if the name has no dot.
fn part_of(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.')
}

/// Returns the tensor and the level whose coordinates a buffer holds, given the name of the buffer.
pub(super) fn list_of(name: &str) -> Option<(String, usize)> {
    let (tensor, part) = part_of(name)?;
    Some((tensor.to_owned(), part.strip_prefix("idx")?.parse().ok()?))
}

/// Gives buffers and locals the names that textbooks use: `A_ptr` and `A_idx` for the only list of
/// `A`, and `x` for a dense tensor. Positions of `A` are named `pA`, or `pA1` at level 1 if `A` has
/// several lists. Coordinates at level 1 of `A` are named `jA`.
pub(super) fn give_names(function: &mut Function) {
    let parts: Vec<Option<(String, String)>> = function
        .buffers
        .iter()
        .map(|decl| part_of(&decl.name).map(|(tensor, part)| (tensor.to_owned(), part.to_owned())))
        .collect();
    let lists = |tensor: &str| {
        let is_list = |(of, part): &&(String, String)| of == tensor && part.starts_with("idx");
        parts.iter().flatten().filter(is_list).count()
    };
    let is_alone = |tensor: &str| parts.iter().flatten().filter(|(of, _)| of == tensor).count() == 1;
    let mut locals: HashMap<Local, String> = HashMap::new();
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Assign(local, Expr::Load { buffer, .. }) = stmt
            && let Some((tensor, part)) = &parts[buffer.index()]
            && let Some(level) = part.strip_prefix("idx").and_then(|level| level.parse::<usize>().ok())
        {
            let letter = ["i", "j", "k", "l"].get(level).map_or_else(|| format!("i{level}"), |l| (*l).to_owned());
            locals.entry(*local).or_insert_with(|| format!("{letter}{tensor}"));
        }
    });
    for_each_part(&function.body, &mut |e| {
        if let Expr::Load { buffer, at } = e
            && let Expr::Local(position) = **at
            // The midpoint of a binary search keeps its name.
            && function.locals[position.index()].name != "mid"
            && let Some((tensor, part)) = &parts[buffer.index()]
            && (part.starts_with("idx") || part == "val" && !is_alone(tensor))
        {
            let level = part.trim_start_matches(|c: char| !c.is_ascii_digit());
            let suffix = if lists(tensor) > 1 { level } else { "" };
            locals.entry(position).or_insert_with(|| format!("p{tensor}{suffix}"));
        }
    });
    // Locals that bound a loop over positions of a list are named after the variable of the loop,
    // such as `pA_begin` and `pA_end`.
    let mut ends: HashMap<Local, String> = HashMap::new();
    for_each_stmt(&function.body, &mut |stmt| {
        let (var, lo, hi) = match stmt {
            Stmt::For { var, lo, hi, .. } => (var, lo, hi),
            Stmt::Lanes(fold) => (&fold.var, &fold.lo, &fold.hi),
            _ => return,
        };
        let Some(name) = locals.get(var).filter(|name| name.starts_with('p')) else { return };
        for (bound, suffix) in [(lo, "begin"), (hi, "end")] {
            if let Expr::Local(bound) = bound
                && !locals.contains_key(bound)
            {
                ends.entry(*bound).or_insert_with(|| format!("{name}_{suffix}"));
            }
        }
    });
    for_each_part(&function.body, &mut |e| {
        if let Expr::Compare(CompareOp::Lt, a, b) = e
            && let (Expr::Local(position), Expr::Local(end)) = (&**a, &**b)
            && let Some(name) = locals.get(position).filter(|name| name.starts_with('p'))
            && !locals.contains_key(end)
        {
            ends.entry(*end).or_insert_with(|| format!("{name}_end"));
        }
    });
    locals.extend(ends);
    for (local, name) in locals {
        function.locals[local.index()].name = name;
    }
    for (decl, part) in function.buffers.iter_mut().zip(&parts) {
        let Some((tensor, part)) = part else { continue };
        let kind = part.trim_end_matches(|c: char| c.is_ascii_digit());
        decl.name = match kind {
            "val" if is_alone(tensor) => tensor.clone(),
            "ptr" | "idx" if lists(tensor) <= 1 => format!("{tensor}_{kind}"),
            _ => format!("{tensor}_{part}"),
        };
    }
}
