//! The rules of the algebra as tables, one file per subject.
//!
//! A rule matches a node of a class and the nodes of its children's classes, and drafts equal
//! terms. Each rule has its equation beside its name. In equations, `+` and `*` stand for any pair
//! of operators for which the operators' tables grant the law.

mod aggregates;
mod distribution;
mod elimination;
mod filters;
mod identities;
mod symmetry;

use super::graph::{Draft, Graph, Opened, Scope, equate, opened_args};
use super::language::{ENode, Kind, Slot, Use};
use super::saturate::{MOST_LOOKS, MOST_NODES};
use crate::config::{Subject, Subjects};
use crate::term::regroups;
use egg::Id;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, FloatMode, Scalar};

pub(super) use filters::{Filter, learn_filters};
pub(super) use symmetry::learn;

/// Largest number of terms that a rule proposes for one node.
const MOST_DRAFTS: usize = 200;

/// A rule: proposes terms that are equal to a node of a class.
pub(super) struct Rule {
    /// The name, in kebab case.
    pub(super) name: &'static str,
    pub(super) subject: Subject,
    /// The round in which the rule applies; both if `None`.
    round: Option<Round>,
    /// The equation, for reports.
    pub(super) equation: &'static str,
    drafts: fn(&mut Site<'_>, &Opened),
}

/// A round of rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Round {
    /// Brings aggregates and products together.
    Gather,
    /// Moves aggregates to where they are cheap.
    Spread,
}

/// A match of a rule: a node of a class, in the context of that class.
pub(super) struct Site<'g> {
    graph: &'g Graph,
    scope: Scope,
    drafts: Vec<(Draft, Scope)>,
}

/// A fold in a child's class.
struct Inner {
    op: Op,
    init: Scalar,
    arg: Use,
    bound: Vec<Slot>,
    scope: Scope,
}

/// Iterates over all rules.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    [symmetry::RULES, filters::RULES, aggregates::RULES, elimination::RULES, distribution::RULES, identities::RULES]
        .into_iter()
        .flatten()
}

/// Returns the rules of some subjects in a round.
pub(super) fn of_round(subjects: Subjects, round: Round) -> Vec<&'static Rule> {
    rules().filter(|r| subjects.contains(r.subject) && r.round.is_none_or(|only| only == round)).collect()
}

/// Returns a node of a class, in the context of that class.
pub(super) fn open(graph: &Graph, class: Id, node: &ENode) -> (Scope, Opened) {
    let mut scope = Scope::of(graph, class);
    let opened = scope.open(graph, &scope.whole(class), node);
    (scope, opened)
}

/// Returns, for every field that can be eliminated from a fold of a class, the number of
/// coordinates over which its factors join, and the resulting term.
pub(super) fn eliminations(graph: &Graph, class: Id, node: &ENode) -> Vec<(f64, Draft, Scope)> {
    let (scope, opened) = open(graph, class, node);
    let site = Site { graph, scope, drafts: Vec::new() };
    let steps = elimination::steps(&site, &opened);
    steps.into_iter().map(|(places, draft)| (places, draft, site.scope.clone())).collect()
}

impl Rule {
    /// Adds the rule's terms for some nodes of a class, until the graph's index has more than
    /// `most` nodes. The number of terms can be the product of the numbers of nodes.
    pub(super) fn apply(&self, graph: &mut Graph, class: Id, nodes: &[(Scope, Opened)], most: usize) {
        let class = graph.find(class);
        let looks = || graph.analysis.looks.get() <= MOST_LOOKS;
        let nodes = nodes.iter().take_while(|_| looks());
        let drafts: Vec<_> = nodes.flat_map(|(scope, node)| self.of(graph, scope, node)).take(MOST_NODES).collect();
        for (draft, scope) in drafts {
            if graph.total_size() > most {
                return;
            }
            equate(graph, class, &draft, &scope, self.name);
        }
    }

    /// Returns the rule's terms for a node in its context.
    fn of(&self, graph: &Graph, scope: &Scope, node: &Opened) -> Vec<(Draft, Scope)> {
        let mut site = Site { graph, scope: scope.clone(), drafts: Vec::new() };
        (self.drafts)(&mut site, node);
        site.drafts
    }
}

impl Site<'_> {
    fn mode(&self) -> FloatMode {
        self.graph.analysis.mode
    }

    fn dtype(&self, of: &Use) -> &DType {
        &self.graph[of.class].data.dtype
    }

    fn fill(&self, of: &Use) -> &Scalar {
        &self.graph[of.class].data.fill
    }

    fn size(&self, slot: Slot) -> u64 {
        self.scope.0[usize::from(slot)]
    }

    fn propose(&mut self, draft: Draft) {
        self.propose_in(self.scope.clone(), draft);
    }

    /// Proposes a term in a scope that contains the reduced slots of a fold.
    fn propose_in(&mut self, scope: Scope, draft: Draft) {
        if self.drafts.len() < MOST_DRAFTS {
            self.drafts.push((draft, scope));
        }
    }

    /// Returns the calls in a used class.
    fn calls(&self, of: &Use) -> Vec<(Op, Vec<Use>)> {
        self.calls_of(of, |_| true)
    }

    /// Returns the calls of some operators in a used class.
    fn calls_of(&self, of: &Use, wanted: impl Fn(&Op) -> bool) -> Vec<(Op, Vec<Use>)> {
        let call = |n: &ENode| {
            let (Kind::Call(op) | Kind::Multiset(op)) = n.kind else { return None };
            let op = self.graph.analysis.op(op);
            wanted(op).then(|| (op.clone(), opened_args(self.graph, of, n)))
        };
        self.graph[of.class].iter().filter_map(call).collect()
    }

    /// Returns the folds in a used class, without those that only store it, each with its reduced
    /// slots added to the context.
    fn folds(&self, of: &Use) -> Vec<Inner> {
        let fold = |n: &ENode| {
            if !matches!(n.kind, Kind::Fold(..)) {
                return None;
            }
            let mut scope = self.scope.clone();
            match scope.open(self.graph, of, n) {
                Opened::Fold { op, init, arg, bound } if !bound.is_empty() => {
                    Some(Inner { op, init, arg, bound, scope })
                }
                _ => None,
            }
        };
        self.graph[of.class].iter().filter_map(fold).collect()
    }

    /// Returns whether a fold may be regrouped and starts from its identity.
    fn is_free(&self, op: &Op, init: &Scalar) -> bool {
        let dtype = init.dtype();
        regroups(op, &dtype, self.mode()) && op.is_identity(init, &dtype, 1, self.mode())
    }

    /// Returns the identity of a fold that may be regrouped.
    fn identity(&self, op: &Op, dtype: &DType) -> Option<Scalar> {
        let regroups = regroups(op, dtype, self.mode());
        regroups.then(|| op.fold_identity(dtype, self.mode())).flatten()
    }

    /// Returns whether `outer` distributes over `inner` at a position, with all values of one
    /// dtype.
    fn distributes(&self, outer: &Op, args: &[Use], at: usize, inner: &Op) -> bool {
        let dtype = self.dtype(&args[at]);
        let result = outer.signature(&args.iter().map(|a| self.dtype(a).clone()).collect::<Vec<_>>());
        result.is_ok_and(|s| s.result == *dtype && s.args[at] == *dtype)
            && outer.distributes_over(inner, dtype, at, self.mode())
    }
}

/// Drafts a call on classes.
fn call(op: &Op, args: impl IntoIterator<Item = Use>) -> Draft {
    Draft::Call(op.clone(), args.into_iter().map(Draft::Class).collect())
}

/// Drafts one value where a condition is true, else another value.
fn one_of(holds: Draft, [value, other]: [Scalar; 2]) -> Draft {
    match (&value, &other) {
        (Scalar::Bool(true), Scalar::Bool(false)) => holds,
        _ => Draft::Call(Builtin::IfElse.into(), vec![holds, Draft::Literal(value), Draft::Literal(other)]),
    }
}
