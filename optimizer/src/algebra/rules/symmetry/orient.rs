//! Symmetric joins oriented by rank: each set of coordinates is visited once, from the coordinate
//! with the fewest entries.

use super::facts::symmetric_pairs;
use crate::algebra::graph::TermDraft;
use crate::algebra::language::{ClassUse, SlotIndex};
use crate::algebra::rules::{MatchSite, ScopedNode, select_value};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Prim, Scalar};

/// Orients entries like edges of a graph, from the coordinate of low degree to that of high degree.
/// Orientation pays for tensors in which a few coordinates have many entries. Source: Chiba and
/// Nishizeki, "Arboricity and subgraph listing algorithms".
pub(super) fn orient(site: &mut MatchSite<'_>, node: &ScopedNode) {
    for product_fold in super::symmetric_products(site, node)
        .into_iter()
        .filter(|product_fold| product_fold.slots.len() > 2 && product_fold.is_off_diagonal())
    {
        let ends = |arg: &ClassUse| {
            let position = |slot: &SlotIndex| product_fold.slots.iter().position(|s| s == slot);
            match arg.slots[..] {
                [a, b] if !symmetric_pairs(site.graph, arg.class).is_empty() => Some([position(&a)?, position(&b)?]),
                _ => None,
            }
        };
        let Some(ranked) = product_fold.args.iter().find(|arg| ends(arg).is_some()) else { continue };
        let mut scope = site.scope.clone();
        let size = site.size(product_fold.slots[0]);
        // Ranks are less than `(size + 1)^2`, which must fit an `i64`.
        if size >= 1 << 31 {
            continue;
        }
        scope.0.push(size);
        let counted = (scope.0.len() - 1) as SlotIndex;
        let rank = |at: usize| rank(site, ranked, [product_fold.slots[at], counted]);
        let factor = |arg: &ClassUse| match ends(arg) {
            None => TermDraft::Class(arg.clone()),
            Some([a, b]) => {
                let before = TermDraft::Call(Builtin::Lt.into(), vec![rank(a.min(b)), rank(a.max(b))]);
                let factors = vec![TermDraft::Class(arg.clone()), select_value(before, product_fold.values.clone())];
                let product = TermDraft::Call(product_fold.product.clone(), factors);
                TermDraft::Fold(product_fold.op.clone(), product_fold.init.clone(), Box::new(product), Vec::new())
            }
        };
        let product = TermDraft::Call(product_fold.product.clone(), product_fold.args.iter().map(factor).collect());
        if let Some(all) = product_fold.in_all_orders(site, product) {
            site.propose_in(scope, all);
        }
    }
}

/// Drafts the rank of a coordinate: by its number of entries in a table, then by the coordinate
/// itself.
fn rank(site: &MatchSite<'_>, table: &ClassUse, [slot, counted]: [SlotIndex; 2]) -> TermDraft {
    let own = TermDraft::Class(ClassUse { class: table.class, slots: [slot, counted].into_iter().collect() });
    let number = |n: u64| TermDraft::Literal(Scalar::I64(n as i64));
    let differs = TermDraft::Call(Builtin::Ne.into(), vec![own, TermDraft::Literal(site.fill(table).clone())]);
    let one = TermDraft::Call(Builtin::Cast(Prim::I64).into(), vec![differs]);
    let count = TermDraft::Fold(Builtin::Add.into(), Scalar::I64(0), Box::new(one), vec![counted]);
    let scaled = TermDraft::Call(Builtin::Mul.into(), vec![count, number(site.size(slot))]);
    TermDraft::Call(Builtin::Add.into(), vec![scaled, TermDraft::Coordinate(slot)])
}
