//! Transformation `reorder`: permutes nested loops.

use super::super::linear::Atom;
use super::super::{Expr, Index, Program, Stmt};
use super::nest::{ChainLink, ForLoop, find, replace, split_chain};
use super::order_independence::check_order_independence;
use redpoll_logic::FloatMode;
use std::collections::VecDeque;

/// Nests the loops of `names` in the order of `names`. Other loops between these loops keep their
/// positions. Conditions and variables keep their order; each stands as far outside as the indices
/// and variables in its expression allow, inside of the outermost loop.
pub(super) fn reorder(program: Program, names: &[String], mode: FloatMode) -> Result<Program, String> {
    let order = names.iter().map(|name| find(&program, name)).collect::<Result<Vec<_>, _>>()?;
    if (1..order.len()).any(|k| order[..k].contains(&order[k])) {
        return Err("a loop is named twice".to_owned());
    }
    let top = outermost(&program.body, &order).ok_or("no loop is named")?;
    let body = replace(program.body.clone(), top, &mut |l| {
        let nest = Stmt::from(l.clone());
        let (links, inside) = split_chain(&program, l, &order)?;
        let moved: Vec<Index> = loops(&links).map(|l| l.index).collect();
        check_order_independence(&program, &nest, &moved, mode)?;
        Ok(reorder_links(&program, links, &order)?.into_iter().rev().fold(inside, |body, link| link.wrap(body)))
    })?;
    Ok(Program { body, ..program })
}

fn loops(links: &[ChainLink]) -> impl Iterator<Item = &ForLoop> {
    links.iter().filter_map(|link| if let ChainLink::Loop(l) = link { Some(l) } else { None })
}

/// Returns the loop of `among` that comes first in a preorder walk.
fn outermost(body: &Stmt, among: &[Index]) -> Option<Index> {
    let mut found = None;
    body.walk(&mut |s| {
        if let Stmt::For { index, .. } = s
            && among.contains(index)
        {
            found = found.or(Some(*index));
        }
    });
    found
}

/// Reorders the links of a chain so that the loops of `order` are in that order.
fn reorder_links(program: &Program, links: Vec<ChainLink>, order: &[Index]) -> Result<Vec<ChainLink>, String> {
    let bound_here: Vec<Atom> = links.iter().filter_map(bound_atom).collect();
    let mut reordered = order.iter().filter_map(|index| loops(&links).find(|l| l.index == *index).cloned());
    let mut sorted: Vec<ForLoop> = Vec::new();
    for l in loops(&links) {
        sorted.push(if order.contains(&l.index) { reordered.next().ok_or("a loop is missing")? } else { l.clone() });
    }
    let mut others: VecDeque<ChainLink> =
        links.into_iter().filter(|link| !matches!(link, ChainLink::Loop(_))).collect();
    let (mut found, mut bound): (Vec<ChainLink>, Vec<Atom>) = (Vec::new(), Vec::new());
    let missing =
        |e: &Expr, bound: &[Atom]| e.atoms().into_iter().find(|a| bound_here.contains(a) && !bound.contains(a));
    for l in sorted {
        if let Some(atom) = [&l.extent.0, &l.extent.1].into_iter().find_map(|e| missing(e, &bound)) {
            let name = |atom: Atom| match atom {
                Atom::Index(i) => program.indices[i.index()].clone(),
                Atom::Var(v) => program.vars[v.index()].0.clone(),
            };
            let (inner, outer) = (name(atom), name(Atom::Index(l.index)));
            return Err(format!(
                "the extent of the loop of `{outer}` depends on `{inner}`, which would be inside of it"
            ));
        }
        bound.push(Atom::Index(l.index));
        found.push(ChainLink::Loop(l));
        while let Some(ChainLink::If(e) | ChainLink::Let(_, e)) = others.front()
            && missing(e, &bound).is_none()
        {
            let link = others.pop_front();
            bound.extend(link.as_ref().and_then(bound_atom));
            found.extend(link);
        }
    }
    found.extend(others);
    Ok(found)
}

/// Returns the atom that a link binds.
fn bound_atom(link: &ChainLink) -> Option<Atom> {
    match link {
        ChainLink::Loop(l) => Some(Atom::Index(l.index)),
        ChainLink::Let(var, _) => Some(Atom::Var(*var)),
        ChainLink::If(_) => None,
    }
}
