//! Switch: one of two looplets, by a condition computed before the loop.
//!
//! ```text
//! loop(i, e, B[switch]) = if cond { loop(i, e, B[then]) } else { loop(i, e, B[other]) }
//! ```
//! A side on which the body has no effect is not emitted, so intersections stay small. A check of
//! bounds always branches. Other switches become *selects* if further copies of the body would be
//! too many, and the body has an effect on the second side of each switch. Copies are too many if
//! there are more than [`MAX_BRANCHES`] switches (one fewer if the body has loops), or the
//! statement has been copied often. A select reads the fiber under a presence flag (a leaf reads
//! `present ? val : fill`, an absent inner fiber is empty), and the body occurs only once. If one
//! side is a value for coordinates out of bounds, this value becomes a replacement of the fiber.

use super::{Head, Looplet, LoopletNest, lower_loop, violation};
use crate::assembly::build::{and, local, not};
use crate::assembly::{Expr, Local, Stmt};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::state::{AccessCursor, Fiber, Replacement};
use redpoll_logic::{Prim, Scalar};
use std::rc::Rc;

/// Limit on the number of switches for which bodies are copied.
pub(super) const MAX_BRANCHES: usize = 3;

pub(crate) fn lower(cx: &mut Cx<'_>, nest: LoopletNest) {
    let switches: Vec<usize> =
        (0..nest.heads.len()).filter(|&k| matches!(nest.heads[k].looplet, Looplet::Switch { .. })).collect();
    if let Some(check) = switches.iter().copied().find(|&k| is_bounds_check(&nest.heads[k].looplet)) {
        return branch(cx, &nest, check);
    }
    let annihilating = switches.iter().copied().find(|&k| match &nest.heads[k].looplet {
        Looplet::Switch { other, .. } => match &**other {
            Looplet::Run(cursor) => nest.only_fills_with(cx, &[(k, cursor.clone())]),
            _ => false,
        },
        _ => false,
    });
    let many = switches.len() > MAX_BRANCHES - usize::from(nest.body.has_loop());
    match annihilating {
        None if many || cx.is_copy_limited(&nest.body) => select(cx, nest),
        None => cx.with_copies(2, |cx| branch(cx, &nest, switches[0])),
        Some(at) => branch(cx, &nest, at),
    }
}

fn branch(cx: &mut Cx<'_>, nest: &LoopletNest, at: usize) {
    let Looplet::Switch { cond, then, other } = nest.heads[at].looplet.clone() else {
        unreachable!("the head is a switch");
    };
    let cond = cx.name_bool("hit", &cond);
    let (then, other) = if SeededFault::SwitchSides.is_active() { (other, then) } else { (then, other) };
    let is_check = is_bounds_check(&nest.heads[at].looplet);
    let then = cx.block(|cx| {
        if is_check {
            cx.prover.assume(&cond);
        }
        lower_loop(cx, nest.with_looplet(at, (*then).clone()));
    });
    let other = cx.block(|cx| match &*other {
        Looplet::Run(AccessCursor::Violation(violation)) if violation::lower(cx, nest, at, violation) => {}
        other => lower_loop(cx, nest.with_looplet(at, other.clone())),
    });
    cx.push_if(cond, then, other);
}

/// Returns whether the looplet is a check: the kernel stops if the condition is false.
fn is_bounds_check(looplet: &Looplet) -> bool {
    match looplet {
        Looplet::Switch { other, .. } => matches!(&**other, Looplet::Run(AccessCursor::Violation(_))),
        _ => false,
    }
}

/// Turns switches between a fiber and a literal into fibers under a presence flag; other switches
/// branch.
fn select(cx: &mut Cx<'_>, mut nest: LoopletNest) {
    let mut first_other = None;
    for k in 0..nest.heads.len() {
        if !matches!(nest.heads[k].looplet, Looplet::Switch { .. }) {
            continue;
        }
        match as_flagged_fiber(cx, &nest, k) {
            Some(looplet) => nest.heads[k].looplet = looplet,
            None => first_other = first_other.or(Some(k)),
        }
    }
    match first_other {
        Some(k) => cx.with_copies(2, |cx| branch(cx, &nest, k)),
        None => lower_loop(cx, nest),
    }
}

/// Returns a switch between a fiber and a literal as the fiber under a presence flag.
fn as_flagged_fiber(cx: &mut Cx<'_>, nest: &LoopletNest, head: usize) -> Option<Looplet> {
    let Head { looplet, members } = &nest.heads[head];
    let access = nest.state.access(members[0]);
    let (_, fiber) = access.next_subscript()?;
    FlaggedAccess { fiber, fill: cx.fill(access.tensor?) }.switch(cx, looplet)
}

/// An access whose fiber is read under presence flags.
pub(super) struct FlaggedAccess<'a> {
    /// The fiber before its next subscript is resolved.
    pub(super) fiber: &'a Fiber,
    /// The fill value of the tensor.
    pub(super) fill: AccessCursor,
}

impl FlaggedAccess<'_> {
    /// Returns a switch between a fiber and a literal as the fiber under a presence flag.
    fn switch(&self, cx: &mut Cx<'_>, looplet: &Looplet) -> Option<Looplet> {
        let Looplet::Switch { cond, then, other } = looplet else { return None };
        match (self.literal(then), self.literal(other)) {
            (_, Some(literal)) => self.present_if(cx, then, cond, literal),
            (Some(literal), None) => self.present_if(cx, other, &not(cond), literal),
            (None, None) => None,
        }
    }

    /// Returns the literal that a run reads: the fill value, or a value for coordinates out of
    /// bounds; `None` for other looplets.
    fn literal<'l>(&self, looplet: &'l Looplet) -> Option<&'l AccessCursor> {
        match looplet {
            Looplet::Run(cursor) if *cursor == self.fill => Some(cursor),
            Looplet::Run(cursor @ AccessCursor::OutOfBounds(_)) => Some(cursor),
            _ => None,
        }
    }

    /// Converts a looplet that finds a fiber: the result finds the fiber under the flag `present`,
    /// and reads `otherwise` where the flag is false. Nothing is loaded there. Returns `None` for
    /// other looplets.
    pub(super) fn present_if(
        &self,
        cx: &mut Cx<'_>,
        looplet: &Looplet,
        present: &Expr,
        otherwise: &AccessCursor,
    ) -> Option<Looplet> {
        match looplet {
            Looplet::Run(AccessCursor::Fiber(fiber)) => Some(self.flagged(fiber, present, otherwise)),
            Looplet::Run(AccessCursor::Fill(_)) if *otherwise != self.fill => {
                Some(self.flagged(&self.fiber.absent_child(), present, otherwise))
            }
            Looplet::Run(AccessCursor::OutOfBounds(value)) => {
                Some(self.flagged(&self.fiber.out_of_bounds(value), present, otherwise))
            }
            Looplet::Thunk { preamble, body, epilogue } if epilogue.is_empty() => {
                let preamble = vec![guard_code(cx, present, preamble)];
                let body = Rc::new(self.present_if(cx, body, present, otherwise)?);
                Some(Looplet::Thunk { preamble, body, epilogue: Vec::new() })
            }
            Looplet::Switch { cond, then, other } if self.literal(other) == Some(otherwise) => {
                Some(Looplet::Switch { cond: and(present, cond), then: then.clone(), other: other.clone() })
            }
            Looplet::Switch { cond, then, other } => {
                let hit = cx.new_local("hit", Prim::Bool);
                let preamble = vec![guard_code(cx, present, &[Stmt::Assign(hit, cond.clone())])];
                let (then, other) = (then.clone(), other.clone());
                let found = self.switch(cx, &Looplet::Switch { cond: local(hit), then, other })?;
                let body = Rc::new(self.present_if(cx, &found, present, otherwise)?);
                Some(Looplet::Thunk { preamble, body, epilogue: Vec::new() })
            }
            Looplet::Lookup(lookup) => {
                let (lookup, present, otherwise) = (lookup.clone(), present.clone(), otherwise.clone());
                let (fiber, fill) = (self.fiber.clone(), self.fill.clone());
                Some(Looplet::Lookup(Rc::new(move |cx, i| {
                    let access = FlaggedAccess { fiber: &fiber, fill: fill.clone() };
                    let mut found = None;
                    let code = cx.block(|cx| found = Some(lookup(cx, i)));
                    let found = found.expect("the block has run");
                    if !code.is_empty() {
                        let code = guard_code(cx, &present, &code);
                        cx.push(code);
                    }
                    access.present_if(cx, &found, &present, &otherwise).unwrap_or_else(|| Looplet::Switch {
                        cond: present.clone(),
                        then: Rc::new(found),
                        other: Rc::new(Looplet::Run(otherwise.clone())),
                    })
                })))
            }
            _ => None,
        }
    }

    /// Returns a fiber below the access under a further presence flag.
    fn flagged(&self, fiber: &Fiber, cond: &Expr, otherwise: &AccessCursor) -> Looplet {
        let present = match &fiber.present {
            None => cond.clone(),
            Some(outer) => and(outer, cond),
        };
        let present = if SeededFault::SelectPresence.is_active() { None } else { Some(present) };
        // A fiber from `Fiber::stored` lacks the replacements of the access.
        let outer = &self.fiber.replacements;
        let inner = fiber.replacements.strip_prefix(&outer[..]).unwrap_or(&fiber.replacements);
        let own = match otherwise {
            AccessCursor::OutOfBounds(value) => Some(value),
            // If `cond` is false, the fill value takes precedence over the fiber's own literals.
            AccessCursor::Fill(fill) if !inner.is_empty() => Some(fill),
            _ => None,
        };
        let own = own.map(|value| Replacement { in_bounds: cond.clone(), value: value.clone() });
        let replacements = outer.iter().cloned().chain(own).chain(inner.iter().cloned()).collect();
        Looplet::Run(AccessCursor::Fiber(Fiber { present, replacements, ..fiber.clone() }))
    }
}

/// Returns code that runs under a condition; the locals that the code assigns are zero otherwise.
fn guard_code(cx: &Cx<'_>, cond: &Expr, code: &[Stmt]) -> Stmt {
    fn assigned(code: &[Stmt], found: &mut Vec<Local>) {
        for stmt in code {
            match stmt {
                Stmt::Assign(local, _) if !found.contains(local) => found.push(*local),
                _ => stmt.bodies().into_iter().for_each(|body| assigned(body, found)),
            }
        }
    }
    let mut locals = Vec::new();
    assigned(code, &mut locals);
    let zero = |local: Local| Expr::Const(Scalar::zero(cx.locals[local.0 as usize].prim));
    let other = locals.into_iter().map(|local| Stmt::Assign(local, zero(local))).collect();
    Stmt::If { cond: cond.clone(), then: code.to_vec(), other }
}
