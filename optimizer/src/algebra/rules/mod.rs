//! The rules of the algebra, as tables: one file a subject.
//!
//! A rule looks at a node of a class, and at the nodes of its children's classes, and drafts terms that are equal to it.
//! Each has its equation beside its name. Operators are `+` and `*` in the equations; any pair for which the operators'
//! own tables grant the law takes their places.

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

/// So many terms a rule proposes for one node at most.
const MOST_DRAFTS: usize = 200;

/// A rule: terms that equal a node of a class.
pub(super) struct Rule {
    /// Its name, in kebab case.
    pub(super) name: &'static str,
    pub(super) subject: Subject,
    /// When it is tried; in both rounds unless one is named.
    round: Option<Round>,
    /// What it says.
    pub(super) equation: &'static str,
    drafts: fn(&mut Site<'_>, &Opened),
}

/// A round of rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Round {
    /// Aggregates and products are brought together.
    Gather,
    /// Aggregates go to where they are cheap.
    Spread,
}

/// Where a rule is tried: a node of a class, in the context of that class.
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

/// All rules.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    [symmetry::RULES, filters::RULES, aggregates::RULES, elimination::RULES, distribution::RULES, identities::RULES]
        .into_iter()
        .flatten()
}

/// The rules of some subjects in a round.
pub(super) fn of_round(subjects: Subjects, round: Round) -> Vec<&'static Rule> {
    rules().filter(|r| subjects.contains(r.subject) && r.round.is_none_or(|only| only == round)).collect()
}

/// A node of a class, in the context of that class.
pub(super) fn open(graph: &Graph, class: Id, node: &ENode) -> (Scope, Opened) {
    let mut scope = Scope::of(graph, class);
    let opened = scope.open(graph, &scope.whole(class), node);
    (scope, opened)
}

/// Every field that can be eliminated from a fold of a class: over how many places its factors join, and the term.
pub(super) fn eliminations(graph: &Graph, class: Id, node: &ENode) -> Vec<(f64, Draft, Scope)> {
    let (scope, opened) = open(graph, class, node);
    let site = Site { graph, scope, drafts: Vec::new() };
    let steps = elimination::steps(&site, &opened);
    steps.into_iter().map(|(places, draft)| (places, draft, site.scope.clone())).collect()
}

impl Rule {
    /// Makes all that the rule says of nodes of a class, in their contexts, equal to it, until there are more than `most`
    /// nodes in the graph's index: what a rule says of many nodes may be as much as the product of their numbers.
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

    /// What the rule says of a node in its context.
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

    /// Proposes a term that has the reduced slots of a fold.
    fn propose_in(&mut self, scope: Scope, draft: Draft) {
        if self.drafts.len() < MOST_DRAFTS {
            self.drafts.push((draft, scope));
        }
    }

    /// The calls of the class of a use.
    fn calls(&self, of: &Use) -> Vec<(Op, Vec<Use>)> {
        self.calls_of(of, |_| true)
    }

    /// The calls of some operators in the class of a use.
    fn calls_of(&self, of: &Use, wanted: impl Fn(&Op) -> bool) -> Vec<(Op, Vec<Use>)> {
        let call = |n: &ENode| {
            let (Kind::Call(op) | Kind::Multiset(op)) = n.kind else { return None };
            let op = self.graph.analysis.op(op);
            wanted(op).then(|| (op.clone(), opened_args(self.graph, of, n)))
        };
        self.graph[of.class].iter().filter_map(call).collect()
    }

    /// The folds of the class of a use but for those that only store it, each with the context in which its reduced slots are open.
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

    /// Whether a fold may be regrouped, and begins with its identity.
    fn is_free(&self, op: &Op, init: &Scalar) -> bool {
        let dtype = init.dtype();
        regroups(op, &dtype, self.mode()) && op.is_identity(init, &dtype, 1, self.mode())
    }

    /// The value from which a fold that can be regrouped begins without changing it.
    fn identity(&self, op: &Op, dtype: &DType) -> Option<Scalar> {
        let regroups = regroups(op, dtype, self.mode());
        regroups.then(|| op.fold_identity(dtype, self.mode())).flatten()
    }

    /// Whether `outer` distributes over `inner` at a position, all of one dtype.
    fn distributes(&self, outer: &Op, args: &[Use], at: usize, inner: &Op) -> bool {
        let dtype = self.dtype(&args[at]);
        let result = outer.signature(&args.iter().map(|a| self.dtype(a).clone()).collect::<Vec<_>>());
        result.is_ok_and(|s| s.result == *dtype && s.args[at] == *dtype)
            && outer.distributes_over(inner, dtype, at, self.mode())
    }
}

/// A call on classes.
fn call(op: &Op, args: impl IntoIterator<Item = Use>) -> Draft {
    Draft::Call(op.clone(), args.into_iter().map(Draft::Class).collect())
}

/// One value where a condition holds, else another.
fn one_of(holds: Draft, [value, other]: [Scalar; 2]) -> Draft {
    match (&value, &other) {
        (Scalar::Bool(true), Scalar::Bool(false)) => holds,
        _ => Draft::Call(Builtin::IfElse.into(), vec![holds, Draft::Literal(value), Draft::Literal(other)]),
    }
}
