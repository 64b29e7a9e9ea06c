//! Filters: before a join, a factor is restricted to the coordinates that it shares with another
//! factor.
//!
//! If one factor differs from its fill at few coordinates of a field, another factor is restricted
//! to these coordinates before it is joined with the rest of the product. A filter takes one pass
//! over each of the two factors, which is cheap compared with loops that read the factors
//! repeatedly. A filter enters the graph of a nest only if, by estimate, it removes at least half
//! of the entries. Whole plans with and without the filter are compared. Source: Bernstein and
//! Chiu, "Using semi-joins to solve relational queries".

use super::{MatchSite, RewriteRule, Round, ScopedNode, Subject, TermDraft, select_value};
use crate::algebra::graph::{AlgebraGraph, Filter, slot_field};
use crate::algebra::language::{ClassUse, LeafId, NodeKind, SlotIndex};
use crate::facts::Facts;
use crate::term::{Fold, Nest, Node, Read, Term, is_regroupable};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Field, Scalar};

pub(super) const RULES: &[RewriteRule] = &[RewriteRule {
    name: "filter",
    subject: Subject::Filters,
    round: Some(Round::Gather),
    equation: "sum(j k, x(i j) * y(j k) * z(k l)) = sum(j k, x(i j) * w(j k) * z(k l))    \
               w(j k) = y(j k) * (exists l: z(k l) != 0), stored; y and z each have a field that the other lacks",
    drafts: filter,
}];

/// Largest fraction of a factor's entries that a filter may leave.
const MAX_KEPT_FRACTION: f64 = 0.5;
/// Least number of factors in a join that is filtered; with fewer, filtering costs as much as the
/// join.
const MIN_FACTORS: usize = 3;

/// Finds leaves of a nest's graph that lose at least half of their entries, by estimate, when
/// joined with another leaf.
pub(in crate::algebra) fn find_filters(facts: &Facts, graph: &mut AlgebraGraph, nest: &Nest) {
    let mut reads: Vec<&Read> = Vec::new();
    nest.outputs.iter().for_each(|t| t.value.each_access(&mut |r| reads.push(r)));
    if reads.len() < MIN_FACTORS {
        return;
    }
    let leaves: Vec<(LeafId, Vec<Field>, &Read)> =
        reads.iter().filter_map(|read| leaf_of(graph, read).map(|(id, fields)| (id, fields, *read))).collect();
    let mut found: Vec<Filter> = Vec::new();
    // A dense factor is looked up at coordinates of other factors, so filtering it saves nothing.
    let is_walked = |read: &Read| !read.ty.format.is_dense();
    for (of, fields, read) in leaves.iter().filter(|(.., read)| is_walked(read)) {
        for (by, others, other) in &leaves {
            let position = |f: &Field| others.iter().position(|g| g == f);
            let slots =
                fields.iter().enumerate().filter_map(|(k, f)| Some((k as SlotIndex, position(f)? as SlotIndex)));
            let shared: Vec<(SlotIndex, SlotIndex)> = slots.collect();
            let joins = !shared.is_empty() && shared.len() < fields.len().min(others.len());
            let filter = Filter { of: *of, by: *by, shared };
            if joins
                && !found.contains(&filter)
                && kept_fraction(facts, nest, read, (other, others, fields)) <= MAX_KEPT_FRACTION
            {
                found.push(filter);
            }
        }
    }
    graph.analysis.filters = found;
}

/// Returns the leaf of a read, with the fields of its slots.
fn leaf_of(graph: &AlgebraGraph, read: &Read) -> Option<(LeafId, Vec<Field>)> {
    let fields_read: Option<Vec<&Field>> = read.coordinates.iter().map(|at| at.as_field()).collect();
    let fields_read = fields_read.filter(|_| read.outside.is_none())?;
    graph.analysis.leaves().find_map(|(id, leaf)| {
        let Node::Access(leaf_read) = leaf.term.node() else { return None };
        if leaf_read.tensor != read.tensor
            || leaf_read.outside.is_some()
            || leaf_read.coordinates.len() != fields_read.len()
        {
            return None;
        }
        let field = |slot: usize| {
            let mode = leaf_read.coordinates.iter().position(|at| at.as_field() == Some(&slot_field(slot)))?;
            Some(fields_read[mode].clone())
        };
        let fields: Vec<Field> = (0..leaf.sizes.len()).map(field).collect::<Option<_>>()?;
        let same = |(leaf_at, at): (&crate::term::ModeCoordinate, &&Field)| {
            (0..fields.len()).any(|k| leaf_at.as_field() == Some(&slot_field(k)) && fields[k] == **at)
        };
        leaf_read.coordinates.iter().zip(&fields_read).all(same).then_some((id, fields))
    })
}

/// Returns the fraction of a read's entries at which another read differs from its fill.
fn kept_fraction(facts: &Facts, nest: &Nest, read: &Read, (other, others, fields): (&Read, &[Field], &[Field])) -> f64 {
    let mode = facts.mode();
    let differs = |read: &Read| {
        let args = vec![Term::access(read.clone()), Term::literal(read.ty.fill.clone())];
        Term::call(&Builtin::Ne.into(), args, mode)
    };
    let own = others.iter().filter(|f| !fields.contains(f)).cloned().collect();
    let absent = Scalar::Bool(false);
    let fold =
        Fold { op: Builtin::Or.into(), init: absent.clone(), arg: differs(other), fields: own, along: Vec::new() };
    let both = Term::call(&Builtin::And.into(), vec![differs(read), Term::fold(fold, absent, mode)], mode);
    let support = |term: &Term| facts.support(term, &nest.sizes, &|f| fields.contains(f));
    support(&both) / support(&differs(read)).max(f64::MIN_POSITIVE)
}

fn filter(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return };
    if site.graph.analysis.filters.is_empty() || bound.is_empty() || !site.can_regroup(op, init) {
        return;
    }
    let dtype = site.dtype(arg).clone();
    for (product, args) in site.calls(arg).into_iter().filter(|(_, args)| args.len() >= MIN_FACTORS) {
        let (one, none) = (product.fold_identity(&dtype, site.mode()), product.annihilator(&dtype, 0, site.mode()));
        let (Some(one), Some(none)) = (one, none) else { continue };
        if !is_regroupable(&product, &dtype, site.mode()) || !op.is_identity(&none, &dtype, 1, site.mode()) {
            continue;
        }
        let filtered = |arg: &ClassUse| {
            let masks: Vec<TermDraft> =
                args.iter().filter_map(|by| filter_mask(site, arg, by, [&one, &none])).collect();
            if masks.is_empty() {
                return TermDraft::Class(arg.clone());
            }
            let all =
                TermDraft::Call(product.clone(), [TermDraft::Class(arg.clone())].into_iter().chain(masks).collect());
            TermDraft::Fold(op.clone(), none.clone(), Box::new(all), Vec::new())
        };
        let factors: Vec<TermDraft> = args.iter().map(filtered).collect();
        if factors.iter().any(|factor| !matches!(factor, TermDraft::Class(_))) {
            let product = TermDraft::Call(product, factors);
            site.propose(TermDraft::Fold(op.clone(), init.clone(), Box::new(product), bound.clone()));
        }
    }
}

/// Drafts a mask that leaves the factor `of` unchanged where the factor `by` differs from its fill,
/// and annihilates `of` elsewhere. `None` if no [`Filter`] exists for the two factors, or if the
/// fill of `by` is not the annihilator.
fn filter_mask(site: &MatchSite<'_>, of: &ClassUse, by: &ClassUse, [one, none]: [&Scalar; 2]) -> Option<TermDraft> {
    let leaf = |u: &ClassUse| {
        let mut nodes = site.graph[u.class].iter();
        nodes.find_map(|n| if let NodeKind::Leaf(id) = n.kind { Some(id) } else { None })
    };
    let (leaf_of, leaf_by) = (leaf(of)?, leaf(by)?);
    let is_shared = |(a, b): &(SlotIndex, SlotIndex)| of.slots[usize::from(*a)] == by.slots[usize::from(*b)];
    let matches = |f: &&Filter| f.of == leaf_of && f.by == leaf_by && f.shared.iter().all(is_shared);
    site.graph.analysis.filters.iter().find(matches).filter(|_| site.fill(by) == none)?;
    let own: Vec<SlotIndex> = by.slots.iter().copied().filter(|s| !of.has(*s)).collect();
    let fill = TermDraft::Literal(site.fill(by).clone());
    let differs = TermDraft::Call(Builtin::Ne.into(), vec![TermDraft::Class(by.clone()), fill]);
    let exists = TermDraft::Fold(Builtin::Or.into(), Scalar::Bool(false), Box::new(differs), own);
    Some(select_value(exists, [one.clone(), none.clone()]))
}
