//! AcceptRun: a write that takes whole runs at once. Other writes of the body are repeated as many
//! times as the run has coordinates.
//!
//! ```text
//! loop(i, [lo, hi), B[accept_run])
//!     = B[accept_run := accept_run(lo, hi)]          (1)
//!     = for i in lo..hi { B[accept_run(i, i + 1)] }  otherwise
//! ```
//! Form (1) applies if all other looplets are resolved, `i` does not occur elsewhere in B, and
//! [`integrate::repeat_writes`] can repeat the other writes of B.

use super::{Looplet, LoopletNest, lower_loop};
use crate::assembly::build::plus;
use crate::lower::cx::Cx;
use crate::lower::integrate;
use crate::lower::tree::{AccessId, Assign};
use std::rc::Rc;

pub(crate) fn lower(cx: &mut Cx<'_>, mut nest: LoopletNest) {
    let all_runs = nest.heads.iter().all(|h| matches!(h.looplet, Looplet::AcceptRun(_)));
    let point = cx.prover.eq(&nest.extent.hi, &plus(&nest.extent.lo, 1));
    let accepting: Vec<AccessId> = nest.heads.iter().flat_map(|h| h.members.iter().copied()).collect();
    let needs_index = || integrate::needs_index(&nest.state, &nest.body, nest.extent.index, &accepting);
    if all_runs && !point && !needs_index() {
        let (lo, hi) = (nest.extent.lo.clone(), nest.extent.hi.clone());
        let accepts = |a: &Assign| nest.heads.iter().any(|h| h.members.contains(&a.lhs));
        let Some(body) = integrate::repeat_writes(cx, &nest, &nest.body, &accepts) else { return write_each(cx, nest) };
        nest.body = Rc::new(body);
        nest.extent.index.into_iter().for_each(|index| cx.unbind_index(index));
        return cx.if_below(&lo, &hi, |cx| {
            for head in &mut nest.heads {
                if let Looplet::AcceptRun(accept) = &head.looplet {
                    head.looplet = accept.clone()(cx, &lo, &hi);
                }
            }
            let single =
                LoopletNest { extent: super::LoopExtent { index: None, hi: plus(&lo, 1), lo: lo.clone() }, ..nest };
            lower_loop(cx, single);
        });
    }
    write_each(cx, nest);
}

/// Writes the coordinates one by one.
fn write_each(cx: &mut Cx<'_>, mut nest: LoopletNest) {
    for head in &mut nest.heads {
        if let Looplet::AcceptRun(accept) = &head.looplet {
            let accept = accept.clone();
            head.looplet = Looplet::Lookup(Rc::new(move |cx, i| accept(cx, i, &plus(i, 1))));
        }
    }
    lower_loop(cx, nest);
}

#[cfg(test)]
mod tests {
    use super::super::{Head, LoopExtent, Looplet};
    use super::*;
    use crate::assembly::Stmt;
    use crate::assembly::build::int;
    use crate::lower::LoweringOptions;
    use crate::lower::special::Specials;
    use crate::lower::state::{AccessCursor, AccessState, Accumulator, LoweringState};
    use crate::lower::tree::{Tree, TreeTerm};
    use crate::notation::{Index, Program, Role, TensorDecl, TensorId, Write};
    use redpoll_logic::{Format, Prim, Scalar, TensorType};
    use std::sync::Arc;

    /// Returns the code of `for i in 0..5 { s = rhs }`, where `s` accepts runs.
    fn code(rhs: TreeTerm) -> Vec<Stmt> {
        let ty = TensorType { shape: vec![], dtype: Prim::I64.into(), fill: Scalar::I64(0), format: Format::dense(0) };
        let program = Program {
            tensors: vec![TensorDecl::new("s", Arc::new(ty), Role::Local)],
            indices: vec!["i".into()],
            vars: vec![],
            body: crate::notation::Stmt::Block(vec![]),
            schedule: vec![],
            block_inputs: vec![],
        };
        let mut cx = Cx::new(&program, Specials::of(&program, &[]), LoweringOptions::default());
        let parts = Rc::new(vec![cx.new_local("s", Prim::I64)]);
        let (first, last) = (cx.new_local("first", Prim::I64), cx.new_local("last", Prim::I64));
        let mut state = LoweringState::default();
        let acc = AccessState {
            tensor: Some(TensorId(0)),
            subscripts: Rc::default(),
            writes: true,
            cursor: AccessCursor::Null,
        };
        let id = state.push(acc);
        state.set(id, AccessCursor::Locals(Accumulator { parts: parts.clone(), dirty: vec![] }));
        let accept: super::super::looplet::AcceptRunFn = Rc::new(move |cx, lo, hi| {
            cx.assign(first, lo.clone());
            cx.assign(last, hi.clone());
            Looplet::Run(AccessCursor::Locals(Accumulator { parts: parts.clone(), dirty: vec![] }))
        });
        let assign = Assign { tensor: TensorId(0), lhs: id, write: Write::Overwrite, rhs, repetitions: Vec::new() };
        lower(
            &mut cx,
            LoopletNest {
                extent: LoopExtent { index: Some(Index(0)), lo: int(0), hi: int(5) },
                heads: vec![Head { looplet: Looplet::AcceptRun(accept), members: vec![id] }],
                body: Rc::new(Tree::Assign(assign)),
                state,
                early_exit: None,
            },
        );
        cx.finish()
    }

    #[test]
    fn a_run_is_written_once_and_other_values_one_by_one() {
        let run = code(TreeTerm::Lit(Scalar::I64(7)));
        assert!(
            matches!(&run[..], [Stmt::Assign(..), Stmt::Assign(_, last), Stmt::Assign(..)] if *last == int(5)),
            "{run:?}"
        );
        let each = code(TreeTerm::Index(Index(0)));
        assert!(matches!(&each[..], [Stmt::For { body, .. }] if body.len() == 3), "{each:?}");
    }
}
