//! Analysis of whether rounds of the outermost loop can be cut into sections of the list that a
//! round iterates over.
//!
//! A section is a round that is restricted to a range of the stored positions of its list. Sections
//! of a round are equivalent to the round if each stored entry contributes to the outputs
//! independently. Entries contribute independently if each output has separate elements for each
//! stored entry, or is folded from all chunks anyway, or is folded from the sections of a round.
//! This analysis does not examine coordinates that are not stored. They contribute nothing if the
//! lowered code has a loop from one stored entry to the next.

use super::cut::{Cut, Join, fold_operator, is_dense};
use super::{Access, Expr, Index, Program, Role, Stmt, TensorId, Write};
use redpoll_logic::op::Op;
use redpoll_logic::{FloatMode, LevelKind};

/// The division of rounds of the outermost loop into sections.
#[derive(Clone, PartialEq, Debug)]
pub struct Sections {
    /// The input whose lists are cut. The list of a round is at the second level of the input,
    /// below the coordinate of the round at the first level.
    pub tensor: TensorId,
    /// The number of the input among the inputs.
    pub input: usize,
    /// The outputs with elements that several sections of a round write, each with the operator
    /// that folds the results of the sections in order.
    pub folds: Vec<(TensorId, Op)>,
}

/// Returns a division into sections of the rounds of a loop that is cut into chunks; `None` if the
/// rounds cannot be cut.
pub fn find_sections(program: &Program, cut: &Cut, mode: FloatMode) -> Option<Sections> {
    let mut writes: Vec<(&Access, &Write)> = Vec::new();
    let mut is_plain = program.tensors.iter().all(|t| t.role != Role::Local);
    let mut reads: Vec<&Access> = Vec::new();
    program.body.walk(&mut |s| {
        reads.extend(s.exprs().into_iter().flat_map(Expr::accesses));
        match s {
            Stmt::Assign { lhs, write, .. } => writes.push((lhs, write)),
            Stmt::While { .. } | Stmt::Where { .. } => is_plain = false,
            _ => {}
        }
    });
    let inputs = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
    let leader = |(input, (tensor, decl)): (usize, (TensorId, &super::TensorDecl))| {
        let own: Vec<&Access> = reads.iter().copied().filter(|a| a.tensor == tensor).collect();
        let [first, second, ..] = &decl.ty.format.levels[..] else { return None };
        let rows = matches!(first.kind, LevelKind::Dense | LevelKind::SparseList) && first.unique && first.ordered;
        let [row, entry, ..] = &own.first()?.subscripts[..] else { return None };
        let same = own.iter().all(|a| a.subscripts[0].at == row.at && a.subscripts[1].at == entry.at);
        let Expr::Index(inner_index) = entry.at else { return None };
        let fits = rows && second.kind == LevelKind::SparseList && second.unique && second.ordered;
        (fits && same && row.at == Expr::Index(cut.index)).then_some((input, tensor, inner_index))
    };
    // If several inputs qualify, no single input drives the loop.
    let mut leaders = inputs.enumerate().filter_map(leader);
    let (input, tensor, inner_index) = leaders.next().filter(|_| is_plain && leaders.next().is_none())?;
    let mut folds = Vec::new();
    for (id, join) in &cut.outputs {
        let own: Vec<_> = writes.iter().filter(|(lhs, _)| lhs.tensor == *id).collect();
        let decl = &program.tensors[id.index()];
        match join {
            Join::Appended(_) => return None,
            Join::Folded(_) => {}
            Join::Shared if determines(&own, &[cut.index, inner_index]) => {}
            Join::Shared => {
                let rows = own.iter().all(|(lhs, _)| lhs.subscripts[0].at == Expr::Index(cut.index));
                let op = fold_operator(decl, &mut own.iter().map(|(_, write)| *write), mode)?;
                if !rows || decl.pattern.is_some() || !is_dense(decl) {
                    return None;
                }
                folds.push((*id, op));
            }
        }
    }
    Some(Sections { tensor, input, folds })
}

/// Returns whether each index is the whole subscript of some mode, and of the same mode in all
/// writes.
fn determines(writes: &[&(&Access, &Write)], indices: &[Index]) -> bool {
    let mode = |lhs: &Access, index: Index| lhs.subscripts.iter().position(|s| s.at == Expr::Index(index));
    indices.iter().all(|index| {
        let mut modes = writes.iter().map(|(lhs, _)| mode(lhs, *index));
        let first = modes.next().flatten();
        first.is_some() && modes.all(|other| other == first)
    })
}
