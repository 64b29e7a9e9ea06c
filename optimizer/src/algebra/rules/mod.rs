//! The rules of the algebra as tables, one file or folder for each group of rules.
//!
//! A rule matches a node of a class and the nodes of its children's classes, and drafts equal
//! terms. Each rule has its equation beside its name. In equations, `+` and `*` stand for any two
//! operators that satisfy the law, according to the operator table.

mod aggregates;
mod distribution;
mod elimination;
mod fills;
mod filters;
mod identities;
mod symmetry;

use super::graph::{AlgebraGraph, ScopedNode, SlotScope, TermDraft, args_in_scope, equate};
use super::language::{ClassUse, ENode, NodeKind, SlotIndex};
use super::saturate::{MAX_NODES, MAX_VISITS};
use crate::config::{Subject, Subjects};
use crate::term::is_regroupable;
use egg::Id;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, FloatMode, Scalar};

pub(super) use filters::find_filters;
pub(super) use symmetry::find_symmetries;

/// Largest number of terms that a rule proposes for one node.
const MAX_DRAFTS: usize = 200;

/// A rule: proposes terms that are equal to a node of a class.
pub(super) struct RewriteRule {
    /// The name, in kebab case.
    pub(super) name: &'static str,
    pub(super) subject: Subject,
    /// The round in which the rule applies; `None` for a rule of both rounds.
    round: Option<Round>,
    /// The equation, for reports.
    pub(super) equation: &'static str,
    drafts: fn(&mut MatchSite<'_>, &ScopedNode),
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
pub(super) struct MatchSite<'g> {
    graph: &'g AlgebraGraph,
    scope: SlotScope,
    drafts: Vec<(TermDraft, SlotScope)>,
}

/// A fold in a child's class.
struct ChildFold {
    op: Op,
    init: Scalar,
    arg: ClassUse,
    bound: Vec<SlotIndex>,
    scope: SlotScope,
}

/// Iterates over all rules.
pub(super) fn rules() -> impl Iterator<Item = &'static RewriteRule> {
    let subjects = [symmetry::RULES, filters::RULES, aggregates::RULES, fills::RULES, elimination::RULES];
    subjects.into_iter().chain([distribution::RULES, identities::RULES]).flatten()
}

/// Returns the rules of some subjects in a round.
pub(super) fn rules_of_round(subjects: Subjects, round: Round) -> Vec<&'static RewriteRule> {
    rules().filter(|r| subjects.contains(r.subject) && r.round.is_none_or(|only| only == round)).collect()
}

/// Returns a node of a class, in the context of that class.
pub(super) fn open_node(graph: &AlgebraGraph, class: Id, node: &ENode) -> (SlotScope, ScopedNode) {
    let mut scope = SlotScope::of(graph, class);
    let node = scope.open_node(graph, &scope.class_use(class), node);
    (scope, node)
}

/// Returns the eliminations of a fold of a class, one for each field that can be eliminated. Each
/// has the number of coordinates over which the factors with the field are joined, the resulting
/// term, and the scope of the term.
pub(super) fn eliminations(graph: &AlgebraGraph, class: Id, node: &ENode) -> Vec<(f64, TermDraft, SlotScope)> {
    let (scope, node) = open_node(graph, class, node);
    let site = MatchSite { graph, scope, drafts: Vec::new() };
    let steps = elimination::elimination_steps(&site, &node);
    steps.into_iter().map(|(coordinate_count, draft)| (coordinate_count, draft, site.scope.clone())).collect()
}

impl RewriteRule {
    /// Adds the rule's terms for some nodes of a class, until the graph's index has more than
    /// `max_size` nodes, or another limit is reached. A node can have as many terms as the product
    /// of the numbers of nodes in its child classes.
    pub(super) fn apply(
        &self,
        graph: &mut AlgebraGraph,
        class: Id,
        nodes: &[(SlotScope, ScopedNode)],
        max_size: usize,
    ) {
        let class = graph.find(class);
        let is_within_limit = || graph.analysis.visits.get() <= MAX_VISITS;
        let nodes = nodes.iter().take_while(|_| is_within_limit());
        let drafts: Vec<_> =
            nodes.flat_map(|(scope, node)| self.drafts_for(graph, scope, node)).take(MAX_NODES).collect();
        for (draft, scope) in drafts {
            if graph.total_size() > max_size {
                return;
            }
            equate(graph, class, &draft, &scope, self.name);
        }
    }

    /// Returns the rule's terms for a node in its context.
    fn drafts_for(&self, graph: &AlgebraGraph, scope: &SlotScope, node: &ScopedNode) -> Vec<(TermDraft, SlotScope)> {
        let mut site = MatchSite { graph, scope: scope.clone(), drafts: Vec::new() };
        (self.drafts)(&mut site, node);
        site.drafts
    }
}

impl MatchSite<'_> {
    fn mode(&self) -> FloatMode {
        self.graph.analysis.mode
    }

    fn dtype(&self, of: &ClassUse) -> &DType {
        &self.graph[of.class].data.dtype
    }

    fn fill(&self, of: &ClassUse) -> &Scalar {
        &self.graph[of.class].data.fill
    }

    fn is_full(&self, of: &ClassUse) -> bool {
        self.graph[of.class].data.is_full
    }

    fn size(&self, slot: SlotIndex) -> u64 {
        self.scope.0[usize::from(slot)]
    }

    fn propose(&mut self, draft: TermDraft) {
        self.propose_in(self.scope.clone(), draft);
    }

    /// Proposes a term in a scope that contains the reduced slots of a fold. Terms after the first
    /// [`MAX_DRAFTS`] are dropped.
    fn propose_in(&mut self, scope: SlotScope, draft: TermDraft) {
        if self.drafts.len() < MAX_DRAFTS {
            self.drafts.push((draft, scope));
        }
    }

    /// Returns the calls in a used class.
    fn calls(&self, of: &ClassUse) -> Vec<(Op, Vec<ClassUse>)> {
        self.calls_of(of, |_| true)
    }

    /// Returns the calls of some operators in a used class.
    fn calls_of(&self, of: &ClassUse, is_wanted: impl Fn(&Op) -> bool) -> Vec<(Op, Vec<ClassUse>)> {
        let call = |n: &ENode| {
            let (NodeKind::Call(op) | NodeKind::Multiset(op)) = n.kind else { return None };
            let op = self.graph.analysis.op(op);
            is_wanted(op).then(|| (op.clone(), args_in_scope(self.graph, of, n)))
        };
        self.graph[of.class].iter().filter_map(call).collect()
    }

    /// Returns the folds in a used class that reduce slots, each with these slots added to the
    /// context. Folds over no slots, which only store the argument, are left out.
    fn folds(&self, of: &ClassUse) -> Vec<ChildFold> {
        let fold = |n: &ENode| {
            if !matches!(n.kind, NodeKind::Fold(..)) {
                return None;
            }
            let mut scope = self.scope.clone();
            match scope.open_node(self.graph, of, n) {
                ScopedNode::Fold { op, init, arg, bound } if !bound.is_empty() => {
                    Some(ChildFold { op, init, arg, bound, scope })
                }
                _ => None,
            }
        };
        self.graph[of.class].iter().filter_map(fold).collect()
    }

    /// Returns whether a fold may be regrouped and starts from its identity.
    fn can_regroup(&self, op: &Op, init: &Scalar) -> bool {
        let dtype = init.dtype();
        is_regroupable(op, &dtype, self.mode()) && op.is_identity(init, &dtype, 1, self.mode())
    }

    /// Returns the identity of a fold that may be regrouped.
    fn identity(&self, op: &Op, dtype: &DType) -> Option<Scalar> {
        let can_regroup = is_regroupable(op, dtype, self.mode());
        can_regroup.then(|| op.fold_identity(dtype, self.mode())).flatten()
    }

    /// Returns whether `outer` distributes over `inner` in the argument with index `at`, and the
    /// result has the dtype of this argument.
    fn distributes(&self, outer: &Op, args: &[ClassUse], at: usize, inner: &Op) -> bool {
        let dtype = self.dtype(&args[at]);
        let result = outer.signature(&args.iter().map(|a| self.dtype(a).clone()).collect::<Vec<_>>());
        result.is_ok_and(|s| s.result == *dtype && s.args[at] == *dtype)
            && outer.distributes_over(inner, dtype, at, self.mode())
    }
}

/// Drafts a call on classes.
fn call(op: &Op, args: impl IntoIterator<Item = ClassUse>) -> TermDraft {
    TermDraft::Call(op.clone(), args.into_iter().map(TermDraft::Class).collect())
}

/// Drafts one value where a condition is true, else another value.
fn select_value(holds: TermDraft, [value, other]: [Scalar; 2]) -> TermDraft {
    match (&value, &other) {
        (Scalar::Bool(true), Scalar::Bool(false)) => holds,
        _ => TermDraft::Call(Builtin::IfElse.into(), vec![holds, TermDraft::Literal(value), TermDraft::Literal(other)]),
    }
}
