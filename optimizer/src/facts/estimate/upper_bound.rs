//! Upper bounds on the number of coordinates at which a term can differ from its fill, for any
//! contents of its tensors within the bounds of their statistics.
//!
//! A conjunction is bounded along chains. A step of a chain adds fields of one factor. If the
//! factor is a tensor, the step multiplies the bound by the largest number of distinct coordinates
//! of these fields for fixed coordinates of the earlier fields (a degree constraint). If the factor
//! is another term, the step multiplies the bound by the bound of the whole term. Alternatively, a
//! step adds one field and multiplies the bound by the field's size. The smallest product over all
//! chains is the bound. Source: Deeds, Suciu, Balazinska, Cai, "Degree Sequence Bound for Join
//! Cardinality Estimation", section 2.

use crate::access::fit::storage_coordinates;
use crate::facts::Facts;
use crate::facts::estimate::difference;
use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, Node, Read, Target, Term};
use redpoll_logic::op::{Builtin, Iteration, Op};
use redpoll_logic::statistics::{ModeSet, Question};
use redpoll_logic::{Field, Scalar};
use std::collections::BTreeSet;

/// Largest number of fields for which chains are searched.
const MAX_FIELDS: usize = 8;

/// A factor of a conjunction, with its bound.
enum ChainFactor<'t> {
    /// An access, with the storage modes that each determine a field.
    Access(&'t Read, Vec<(usize, Field)>),
    /// Any other term, with the bound over all of its fields.
    Term(&'t Term, f64),
}

impl Facts<'_> {
    /// Returns an upper bound on the number of coordinates over some of an output's fields under
    /// which something can be written.
    pub(crate) fn max_output_coordinates(&self, target: &Target, sizes: &Sizes, fields: &[Field]) -> f64 {
        if self.skips_fill(target) {
            self.max_coordinates(&target.value, sizes, fields)
        } else {
            coordinate_count(sizes, fields)
        }
    }

    /// Returns an upper bound on the number of coordinates over the fields under which the term can
    /// differ from its fill.
    pub(crate) fn max_coordinates(&self, term: &Term, sizes: &Sizes, fields: &[Field]) -> f64 {
        let all = coordinate_count(sizes, fields);
        let sum = |terms: &[Term]| terms.iter().map(|t| self.max_coordinates(t, sizes, fields)).sum::<f64>();
        let bound = match term.node() {
            Node::Literal => 0.0,
            Node::Coordinate(_) => all,
            Node::Access(_) => self.chain_bound(&[term], sizes, fields),
            Node::Fold(fold) | Node::Temporary(_, fold) if fold.is_scan() => all,
            Node::Fold(fold) | Node::Temporary(_, fold) => self.max_coordinates(fold.fill_source(), sizes, fields),
            Node::Call(Op::User(user), args) if user.iteration().is_some() && user.fills().is_some() => {
                let parts: Vec<f64> = args.iter().map(|a| self.max_coordinates(a, sizes, fields)).collect();
                user.iteration().map_or(all, |set| set_bound(set, &parts, all))
            }
            Node::Call(op, args) if op.name() == "ifelse" && args.len() == 3 => {
                let [is_true, is_false] = self.max_truths(&args[0], sizes, fields);
                let branch = |branch: &Term, reached: f64| match branch.fill() == term.fill() {
                    true => self.max_coordinates(branch, sizes, fields).min(reached),
                    false => reached,
                };
                branch(&args[1], is_true) + branch(&args[2], is_false)
            }
            Node::Call(_, args) if self.deciding_args(term).is_empty() => sum(args),
            Node::Call(..) => {
                let mut factors = Vec::new();
                self.collect_conjuncts(term, &mut factors);
                self.chain_bound(&factors, sizes, fields)
            }
        };
        bound.min(all)
    }

    /// Returns upper bounds on the numbers of coordinates at which a condition is true, and at
    /// which it is false.
    fn max_truths(&self, condition: &Term, sizes: &Sizes, fields: &[Field]) -> [f64; 2] {
        let all = coordinate_count(sizes, fields);
        if let Node::Call(Op::Builtin(Builtin::Eq), args) = condition.node()
            && let Some(form) = difference(args)
            && form.terms.iter().all(|(f, _)| fields.contains(f))
        {
            // The coordinates of the other fields determine the coordinate of each field in the
            // equation.
            let largest = form.terms.iter().map(|(f, _)| sizes.of(f)).max().unwrap_or(1);
            return [all / largest.max(1) as f64, all];
        }
        let changed = self.max_coordinates(condition, sizes, fields);
        if *condition.fill() == Scalar::Bool(true) { [all, changed] } else { [changed, all] }
    }

    /// Collects the subterms that must all differ from their fills for a term to differ from its
    /// fill.
    fn collect_conjuncts<'t>(&self, term: &'t Term, found: &mut Vec<&'t Term>) {
        if let Node::Call(_, args) = term.node() {
            let deciding = self.deciding_args(term);
            if !deciding.is_empty() {
                return deciding.iter().for_each(|&k| self.collect_conjuncts(&args[k], found));
            }
        }
        found.push(term);
    }

    fn chain_bound(&self, factors: &[&Term], sizes: &Sizes, fields: &[Field]) -> f64 {
        let all: BTreeSet<Field> = factors.iter().flat_map(|t| t.fields()).chain(fields).cloned().collect();
        let all: Vec<Field> = all.into_iter().filter(|f| sizes.contains(f)).collect();
        if all.len() > MAX_FIELDS {
            return f64::INFINITY;
        }
        let set = |fields: &mut dyn Iterator<Item = &Field>| -> usize {
            fields.filter_map(|f| all.iter().position(|g| g == f)).fold(0, |set, k| set | 1 << k)
        };
        let target = set(&mut fields.iter());
        let chain_factors: Vec<(usize, ChainFactor)> = factors
            .iter()
            .filter_map(|term| {
                let factor = self.chain_factor(term, sizes)?;
                let own = match &factor {
                    ChainFactor::Access(_, modes) => set(&mut modes.iter().map(|(_, f)| f)),
                    ChainFactor::Term(term, _) => set(&mut term.fields().iter()),
                };
                Some((own, factor))
            })
            .collect();
        let mut bounds = vec![f64::INFINITY; 1 << all.len()];
        bounds[0] = 1.0;
        let mut lowest = f64::INFINITY;
        for done in 0..bounds.len() {
            let bound = bounds[done];
            if done & target == target {
                lowest = lowest.min(bound);
            }
            for (k, field) in all.iter().enumerate() {
                let next = &mut bounds[done | 1 << k];
                *next = next.min(bound * sizes.of(field) as f64);
            }
            for (own, factor) in &chain_factors {
                for new in [own & !done, own & target & !done] {
                    if new != 0 {
                        let is_in =
                            |set: usize, f: &Field| all.iter().position(|g| g == f).is_some_and(|k| set >> k & 1 == 1);
                        let times = self.degree(factor, &|f| is_in(new, f), &|f| is_in(done, f));
                        bounds[done | new] = bounds[done | new].min(bound * times);
                    }
                }
            }
        }
        lowest
    }

    /// Returns a term as a factor of a chain; `None` if the term bounds nothing.
    fn chain_factor<'t>(&self, term: &'t Term, sizes: &Sizes) -> Option<ChainFactor<'t>> {
        let Node::Access(read) = term.node() else {
            // The bound is computed once; otherwise each chain would visit nested folds again.
            let bound = || self.max_coordinates(term, sizes, term.fields());
            return (!matches!(term.node(), Node::Coordinate(_))).then(|| ChainFactor::Term(term, bound()));
        };
        if read.outside.as_ref().is_some_and(|v| *v != read.ty.fill) {
            return None;
        }
        let coordinates = storage_coordinates(&read.coordinates, &read.ty.format, &read.ty.shape, sizes, self.mode());
        let field = |at: &ModeCoordinate| match &at.as_affine()?.terms[..] {
            [(field, _)] => Some(field.clone()),
            _ => None,
        };
        let modes: Vec<_> = coordinates.iter().enumerate().filter_map(|(k, at)| Some((k, field(at)?))).collect();
        // An access bounds nothing if none of its coordinates depends on exactly one field.
        (!modes.is_empty()).then_some(ChainFactor::Access(read, modes))
    }

    /// Returns an upper bound on the number of distinct coordinates of the new fields for fixed
    /// coordinates of the given fields.
    fn degree(&self, factor: &ChainFactor, new: &dyn Fn(&Field) -> bool, given: &dyn Fn(&Field) -> bool) -> f64 {
        match factor {
            ChainFactor::Access(read, modes) => {
                let of = |which: &dyn Fn(&Field) -> bool| -> ModeSet {
                    modes.iter().filter(|(_, f)| which(f)).map(|(k, _)| *k).collect()
                };
                let (of, given) = (of(new), of(given));
                let question = if given.is_empty() { Question::Distinct(of) } else { Question::Degree { of, given } };
                self.ask(&read.tensor, &read.ty, question).bound
            }
            ChainFactor::Term(_, bound) => *bound,
        }
    }
}

fn coordinate_count(sizes: &Sizes, fields: &[Field]) -> f64 {
    fields.iter().map(|f| sizes.of(f) as f64).product()
}

/// Returns the upper bound of a set in the iteration of a user-defined operator, given the bounds
/// of the arguments.
fn set_bound(set: &Iteration, args: &[f64], all: f64) -> f64 {
    match set {
        Iteration::Arg(k) => args.get(*k).copied().unwrap_or(all),
        Iteration::Union(of) => of.iter().map(|s| set_bound(s, args, all)).sum(),
        Iteration::Intersection(of) => of.iter().map(|s| set_bound(s, args, all)).fold(all, f64::min),
        Iteration::Complement(_) | Iteration::All => all,
    }
}
