//! Symmetric joins oriented by rank: each set of coordinates is visited from the coordinate with
//! the fewest entries.

use super::facts::pairs;
use crate::algebra::graph::Draft;
use crate::algebra::language::{Slot, Use};
use crate::algebra::rules::{Opened, Site, one_of};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Prim, Scalar};

/// Orients edges from low to high degree, for tensors in which a few coordinates have many entries.
/// Source: Chiba and Nishizeki, "Arboricity and subgraph listing algorithms".
pub(super) fn orient(site: &mut Site<'_>, node: &Opened) {
    for joined in super::joined(site, node).into_iter().filter(|joined| joined.slots.len() > 2 && joined.is_apart()) {
        let ends = |arg: &Use| {
            let place = |slot: &Slot| joined.slots.iter().position(|s| s == slot);
            match arg.slots[..] {
                [a, b] if !pairs(site.graph, arg.class).is_empty() => Some([place(&a)?, place(&b)?]),
                _ => None,
            }
        };
        let Some(ranked) = joined.args.iter().find(|arg| ends(arg).is_some()) else { continue };
        let mut scope = site.scope.clone();
        let size = site.size(joined.slots[0]);
        // Ranks are less than the square of the size.
        if size >= 1 << 31 {
            continue;
        }
        scope.0.push(size);
        let counted = (scope.0.len() - 1) as Slot;
        let rank = |at: usize| rank(site, ranked, [joined.slots[at], counted]);
        let factor = |arg: &Use| match ends(arg) {
            None => Draft::Class(arg.clone()),
            Some([a, b]) => {
                let before = Draft::Call(Builtin::Lt.into(), vec![rank(a.min(b)), rank(a.max(b))]);
                let factors = vec![Draft::Class(arg.clone()), one_of(before, joined.values.clone())];
                let product = Draft::Call(joined.product.clone(), factors);
                Draft::Fold(joined.op.clone(), joined.init.clone(), Box::new(product), Vec::new())
            }
        };
        let product = Draft::Call(joined.product.clone(), joined.args.iter().map(factor).collect());
        if let Some(all) = joined.in_all_orders(site, product) {
            site.propose_in(scope, all);
        }
    }
}

/// Drafts the rank of a coordinate: by its number of entries in a table, then by the coordinate
/// itself.
fn rank(site: &Site<'_>, table: &Use, [slot, counted]: [Slot; 2]) -> Draft {
    let own = Draft::Class(Use { class: table.class, slots: [slot, counted].into_iter().collect() });
    let number = |n: u64| Draft::Literal(Scalar::I64(n as i64));
    let differs = Draft::Call(Builtin::Ne.into(), vec![own, Draft::Literal(site.fill(table).clone())]);
    let one = Draft::Call(Builtin::Cast(Prim::I64).into(), vec![differs]);
    let count = Draft::Fold(Builtin::Add.into(), Scalar::I64(0), Box::new(one), vec![counted]);
    let scaled = Draft::Call(Builtin::Mul.into(), vec![count, number(site.size(slot))]);
    Draft::Call(Builtin::Add.into(), vec![scaled, Draft::Coordinate(slot)])
}
