//! Transformation `precompute`: computes a part of an assignment's value in advance, into a
//! workspace.

use super::super::linear::Atom;
use super::super::types::dtype_of;
use super::super::{Access, AccessSubscript, Expr, Index, Program, Role, Stmt, TensorDecl, TensorId, Write};
use super::nest::{ChainLink, ForLoop, find, replace, split_chain, unwrap_block};
use super::new_index;
use super::unroll::unused_name;
use redpoll_logic::op::Op;
use redpoll_logic::{DType, FloatMode, Format, Scalar, TensorType};
use std::sync::Arc;

/// Computes a part of the assignment of `target` in advance, over the loops of `over`: the part
/// that reads the tensors `of` and no other tensors, or the whole value if `of` is empty.
///
/// The loops directly around the loops of `over` move into the producer as far as nothing outside
/// of the part depends on their indices. The workspace accumulates the rounds of the moved loops.
pub(super) fn precompute(
    mut program: Program,
    (workspace, format): (&str, Option<&Format>),
    (target, of): (&str, &[String]),
    over: &[[String; 3]],
    mode: FloatMode,
) -> Result<Program, String> {
    let tensor = |name: &str| {
        let at = program.tensors.iter().position(|t| t.name == name);
        at.map(|k| TensorId(k as u32)).ok_or_else(|| format!("there is no tensor `{name}`"))
    };
    let (target_id, of) = (tensor(target)?, of.iter().map(|n| tensor(n)).collect::<Result<Vec<_>, _>>()?);
    if program.tensors.iter().any(|t| t.name == workspace) {
        return Err(format!(
            "a tensor `{workspace}` already exists; choose another name, such as `{}`",
            unused_name(&program, workspace)
        ));
    }
    let old = over.iter().map(|[i, ..]| find(&program, i)).collect::<Result<Vec<_>, _>>()?;
    let path = assignment_path(&program, target_id, &old)?;
    let mut names = Vec::new();
    for [_, read, written] in over {
        names.push([new_index(&mut program, read)?, new_index(&mut program, written)?]);
    }
    let top = *path.first().ok_or_else(|| format!("no loop is around the assignment of `{target}`"))?;
    let mut decl = None;
    let body = replace(program.body.clone(), top, &mut |l| {
        let (links, inside) = split_chain(&program, l, &path)?;
        let part = PrecomputedPart::of(&program, inside, target_id, &of, mode)?;
        let id = TensorId(program.tensors.len() as u32);
        let precomputed = Splitter { program: &program, part, id, mode, target }.split(links, &old, &names)?;
        let shape = precomputed.shape;
        let format = format.cloned().unwrap_or_else(|| Format::dense(shape.len()));
        let ty = TensorType { shape, dtype: precomputed.dtype, fill: precomputed.fill, format };
        decl = Some(TensorDecl::new(workspace, Arc::new(ty), Role::Local));
        Ok(precomputed.stmt)
    })?;
    program.tensors.extend(decl);
    Ok(Program { body, ..program })
}

/// Returns the indices of the loops around the only assignment of a tensor; all of `over` must be
/// among them.
fn assignment_path(program: &Program, target: TensorId, over: &[Index]) -> Result<Vec<Index>, String> {
    let (mut path, mut found) = (Vec::new(), Vec::new());
    collect_paths(&program.body, target, &mut path, &mut found);
    let Ok([path]) = <[Vec<Index>; 1]>::try_from(found) else {
        let name = &program.tensors[target.index()].name;
        return Err(format!("`{name}` is not written by exactly one assignment"));
    };
    match over.iter().find(|i| !path.contains(i)) {
        Some(i) => Err(format!("the loop of `{}` is not around the assignment", program.indices[i.index()])),
        None => Ok(path),
    }
}

/// Collects the indices of the loops around each assignment of a tensor.
fn collect_paths(stmt: &Stmt, target: TensorId, path: &mut Vec<Index>, found: &mut Vec<Vec<Index>>) {
    match stmt {
        Stmt::Assign { lhs, .. } if lhs.tensor == target => found.push(path.clone()),
        Stmt::For { index, body, .. } => {
            path.push(*index);
            collect_paths(body, target, path, found);
            path.pop();
        }
        _ => stmt.children().into_iter().for_each(|s| collect_paths(s, target, path, found)),
    }
}

/// An assignment with the part that is computed in advance.
struct PrecomputedPart {
    lhs: Access,
    write: Write,
    value: Expr,
    /// The operator around the part, the position of the part among the arguments, and the other
    /// arguments; `None` if the part is the whole value.
    around: Option<(Op, usize, Vec<Expr>)>,
}

impl PrecomputedPart {
    fn of(
        program: &Program,
        inside: Stmt,
        target: TensorId,
        of: &[TensorId],
        mode: FloatMode,
    ) -> Result<PrecomputedPart, String> {
        let not_alone = || "the loops contain other statements besides the assignment".to_owned();
        let Stmt::Assign { lhs, write, rhs } = unwrap_block(inside) else { return Err(not_alone()) };
        if lhs.tensor != target {
            return Err(not_alone());
        }
        if of.is_empty() {
            return Ok(PrecomputedPart { lhs, write, value: rhs, around: None });
        }
        let only = |e: &Expr| e.accesses().iter().all(|a| of.contains(&a.tensor));
        let reads = |e: &Expr, t: &TensorId| e.accesses().iter().any(|a| a.tensor == *t);
        let names = || {
            let names: Vec<String> = of.iter().map(|t| format!("`{}`", program.tensors[t.index()].name)).collect();
            names.join(", ")
        };
        if let Some(t) = of.iter().find(|t| !reads(&rhs, t)) {
            return Err(format!("the assignment does not read `{}`", program.tensors[t.index()].name));
        }
        if only(&rhs) {
            return Ok(PrecomputedPart { lhs, write, value: rhs, around: None });
        }
        let Expr::Call(op, args) = rhs else { return Err(format!("no part of the value reads only {}", names())) };
        let (part_args, rest): (Vec<Expr>, Vec<Expr>) =
            args.iter().cloned().partition(|e| !e.accesses().is_empty() && only(e));
        if part_args.is_empty() || of.iter().any(|t| rest.iter().any(|e| reads(e, t))) {
            return Err(format!(
                "an argument of the outermost operator `{op}` reads one of {} together with another tensor",
                names()
            ));
        }
        let at = args.iter().position(|e| *e == part_args[0]).unwrap_or(0);
        let dtype = dtype_of(program, &part_args[0])?;
        if part_args.len() > 1 && !(op.is_associative(&dtype, mode) && op.is_commutative(&dtype, mode)) {
            return Err(format!("the arguments that read {} cannot be combined: `{op}` cannot be regrouped", names()));
        }
        let value = match <[Expr; 1]>::try_from(part_args) {
            Ok([only]) => only,
            Err(several) => Expr::Call(op.clone(), several),
        };
        Ok(PrecomputedPart { lhs, write, value, around: Some((op, at.min(rest.len()), rest)) })
    }

    /// Returns the assignment with the workspace in place of the part.
    fn consumer(&self, workspace: Expr) -> Stmt {
        let rhs = match &self.around {
            None => workspace,
            Some((op, at, rest)) => {
                let mut args = rest.clone();
                args.insert(*at, workspace);
                Expr::Call(op.clone(), args)
            }
        };
        Stmt::Assign { lhs: self.lhs.clone(), write: self.write.clone(), rhs }
    }
}

struct Splitter<'a> {
    program: &'a Program,
    part: PrecomputedPart,
    /// The workspace.
    id: TensorId,
    mode: FloatMode,
    target: &'a str,
}

/// The transformed statement, and the type of the workspace.
struct Precomputation {
    stmt: Stmt,
    shape: Vec<u64>,
    dtype: DType,
    fill: Scalar,
}

impl Splitter<'_> {
    /// Builds the consumer and the producer, each in its own copy of the loops over the workspace,
    /// and wraps the remaining links around both.
    fn split(&self, mut links: Vec<ChainLink>, old: &[Index], names: &[[Index; 2]]) -> Result<Precomputation, String> {
        let position = |i: &Index| links.iter().position(|link| matches!(link, ChainLink::Loop(l) if l.index == *i));
        let first = old.iter().filter_map(position).min().unwrap_or(links.len());
        let is_over = |link: &ChainLink| matches!(link, ChainLink::Loop(l) if old.contains(&l.index));
        if links[first..].iter().any(|link| !is_over(link)) {
            return Err("the loops over which the part is computed are not the innermost ones".to_owned());
        }
        let over = links.split_off(first);
        // The innermost of the remaining loops move into the producer as far as nothing outside of
        // the part depends on them.
        let consumer_needs: Vec<Atom> = self.consumer_atoms();
        let mut accumulated = Vec::new();
        while let Some(ChainLink::Loop(l)) = links.last()
            && !consumer_needs.contains(&Atom::Index(l.index))
        {
            accumulated.extend(links.pop());
        }
        accumulated.reverse();
        let (dtype, write, fill) = self.write(!accumulated.is_empty())?;
        let mut shape = Vec::new();
        for link in &over {
            let ChainLink::Loop(l) = link else { continue };
            let size = l.bounds().filter(|(lo, _)| *lo == 0).and_then(|(_, hi)| u64::try_from(hi).ok());
            let name = &self.program.indices[l.index.index()];
            shape.push(size.ok_or_else(|| format!("the loop of `{name}` does not run from 0 to a constant"))?);
        }
        let side = |stmt: Stmt, which: usize| {
            over.iter().rev().fold(stmt, |body, link| {
                let ChainLink::Loop(l) = link else { return body };
                let k = old.iter().position(|i| *i == l.index).expect("the loop is one of `old`");
                let fresh = names[k][which];
                let body = body.with_index(l.index, &Expr::Index(fresh));
                ForLoop { index: fresh, body: Box::new(body), ..l.clone() }.into()
            })
        };
        let order = over.iter().filter_map(|link| if let ChainLink::Loop(l) = link { Some(l.index) } else { None });
        let access =
            Access { tensor: self.id, subscripts: order.map(|i| AccessSubscript::in_bounds(Expr::Index(i))).collect() };
        let consumer = Box::new(side(self.part.consumer(Expr::Access(access.clone())), 0));
        let assign = Stmt::Assign { lhs: access, write, rhs: self.part.value.clone() };
        let producer = accumulated.into_iter().rev().fold(side(assign, 1), |body, link| link.wrap(body));
        let both = Stmt::Where { consumer, producer: Box::new(producer) };
        let stmt = links.into_iter().rev().fold(both, |body, link| link.wrap(body));
        Ok(Precomputation { stmt, shape, dtype, fill })
    }

    /// Returns the atoms that occur in the assignment outside of the part.
    fn consumer_atoms(&self) -> Vec<Atom> {
        let rest = self.part.around.iter().flat_map(|(_, _, rest)| rest);
        self.part.lhs.subscripts.iter().map(|s| &s.at).chain(rest).flat_map(Expr::atoms).collect()
    }

    /// Returns the dtype of the workspace, the kind of its write, and its fill value.
    fn write(&self, accumulates: bool) -> Result<(DType, Write, Scalar), String> {
        let PrecomputedPart { lhs, write, value, around } = &self.part;
        let dtype = dtype_of(self.program, value)?;
        let zero = || {
            let mut zeros = dtype.prims().into_iter().map(Scalar::zero);
            Scalar::unflatten(&dtype, &mut zeros).expect("a dtype consists of its primitives")
        };
        if !accumulates {
            return Ok((dtype.clone(), Write::Init, zero()));
        }
        let target = self.target;
        let Write::Fold(op) = write else {
            return Err(format!("`{target}` is not folded, so several rounds of the part cannot be accumulated"));
        };
        let to = &self.program.tensors[lhs.tensor.index()].ty.dtype;
        let identity = op.fold_identity(&dtype, self.mode);
        let identity =
            identity.filter(|_| dtype == *to && op.is_associative(to, self.mode) && op.is_commutative(to, self.mode));
        let identity = identity.ok_or_else(|| format!("`{op}` cannot be regrouped for the values of the part"))?;
        if let Some((outer, at, _)) = around
            && !outer.distributes_over(op, &dtype, *at, self.mode)
        {
            return Err(format!("`{outer}` around the part does not distribute over `{op}`"));
        }
        Ok((dtype, Write::Fold(op.clone()), identity))
    }
}
