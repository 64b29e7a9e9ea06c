//! Random index maps. A field has the same size wherever it occurs, so a map cannot resize a field.
//! Instead, a map replaces one or two fields by subscripts over fields of the pool.

use super::generate::PlanGenerator;
use crate::affine::{Affine, Subscript};
use crate::expr::{Expr, IndexMap};
use crate::field::Field;

/// Reads the expression through a random map. Returns `None` in four cases: the expression has no
/// fields, a field has an unknown size, the pool has no field to introduce, or the map is invalid.
pub(super) fn random_map(g: &mut PlanGenerator<'_>, arg: Expr) -> Option<Expr> {
    let fields = arg.info().fields.clone();
    let sizes: Vec<u64> = fields.iter().map(|f| arg.info().dimension(f)).collect::<Option<_>>()?;
    if fields.is_empty() {
        return None;
    }
    let at = g.rng.index(fields.len());
    let (field, size) = (fields[at].clone(), sizes[at] as i64);
    // Candidates for introduced fields: the fields of the pool, without the unmapped fields of the
    // argument.
    let free = |g: &PlanGenerator<'_>, mapped: &[&Field]| -> Vec<(Field, u64)> {
        let is_unmapped = |f: &Field| fields.contains(f) && !mapped.contains(&f);
        g.pool.iter().filter(|(f, _)| !is_unmapped(f)).cloned().collect()
    };
    let new = g.rng.shuffled(free(g, &[&field]));
    let (first, n) = new.first()?.clone();
    let n = n as i64;
    let form = Affine::field(first.clone());
    let plus = |form: Affine, by: i64| form.plus(&Affine::constant(by));
    let (coordinates, introduced) = match g.rng.below(8) {
        // Window, or an offset if the window does not fit.
        0 | 1 => {
            let by = if n <= size { g.rng.below((size - n + 1) as u64) as i64 } else { g.rng.below(5) as i64 - 2 };
            (vec![(field, Subscript::Affine(plus(form, by)))], vec![first])
        }
        // Reverse.
        2 => (vec![(field, Subscript::Affine(plus(form.times(-1), size.max(n) - 1)))], vec![first]),
        // Stride.
        3 => (vec![(field, Subscript::Affine(plus(form.times(2), g.rng.below(2) as i64)))], vec![first]),
        // Toeplitz.
        4 if new.len() > 1 => {
            let second = new[1].0.clone();
            let form = form.plus(&Affine::field(second.clone()));
            (vec![(field, Subscript::Affine(form))], vec![first, second])
        }
        // Split.
        5 if new.len() > 1 => {
            let (second, block) = new[1].clone();
            let form = form.times(block.max(1) as i64).plus(&Affine::field(second.clone()));
            (vec![(field, Subscript::Affine(form))], vec![first, second])
        }
        // Diagonal.
        6 if fields.len() > 1 => {
            let other = fields[(at + 1) % fields.len()].clone();
            let both = g.rng.pick(&free(g, &[&field, &other])).0.clone();
            let at = Subscript::field(both.clone());
            (vec![(field, at.clone()), (other, at)], vec![both])
        }
        // Merge.
        7 if fields.len() > 1 => {
            let second = (at + 1) % fields.len();
            let (other, block) = (fields[second].clone(), sizes[second].max(1));
            let both = g.rng.pick(&free(g, &[&field, &other])).0.clone();
            let form = Affine::field(both.clone());
            (vec![(field, Subscript::Outer(form.clone(), block)), (other, Subscript::Inner(form, block))], vec![both])
        }
        _ => (vec![(field, Subscript::Affine(form))], vec![first]),
    };
    let dimensions = introduced.into_iter().map(|f| {
        let size = g.pool.iter().find(|(p, _)| *p == f).map_or(0, |(_, n)| *n);
        (f, size)
    });
    let mut map = IndexMap { coordinates, dimensions: dimensions.collect(), outside: None };
    let in_bounds = if g.rng.chance(50) { arg.clone().index(map.clone()).ok() } else { None };
    in_bounds.or_else(|| {
        map.outside = Some(g.value_out_of_bounds(&arg.info().dtype));
        arg.index(map).ok()
    })
}
