//! Tests of the algebra. Every rule is tested against the interpreter, alone or with the rule that
//! creates its matches. The operators of folds and products range over all pairs in which the
//! product distributes over the fold in both arguments, for four dtypes. Casts and inverses have
//! lists of operators of their own. The choice of terms is compared with the cheapest of all terms
//! and with greedy elimination.

use super::extract::Extraction;
use super::graph::{Algebra, AlgebraGraph, insert};
use super::names::FieldPool;
use super::rules::{self, RewriteRule};
use super::saturate::StopReason;
use super::{ReplacementChoice, output_fields, output_term};
use crate::config::{CostThreshold, OptimizerConfig};
use crate::facts::Facts;
use crate::order::search::order_loops_below;
use crate::term::{Nest, is_regroupable};
use common::{InputSpec, InputSymmetry, compare, filled, input_statistics};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Alias, DType, Field, FloatMode, Format, Prim, Scalar};
use std::collections::BTreeMap;
use std::sync::Arc;

#[path = "../../tests/common/mod.rs"]
mod common;

/// Returns the nest with a term made by the rules: the node with index `number` among those that
/// rules added to the root class.
fn alternative(facts: &Facts, nest: &Nest, chosen: &[&'static RewriteRule], number: usize) -> Option<Nest> {
    let target = nest.outputs.first().filter(|_| nest.outputs.len() == 1)?;
    let mut graph = AlgebraGraph::new(Algebra::new(facts.mode()));
    let mut names: Vec<Field> = output_fields(target);
    let root = insert(&mut graph, &output_term(target, facts), &mut names, &nest.sizes);
    graph.rebuild();
    let bound: Vec<Field> =
        super::all_fields(nest).into_iter().filter(|f| !output_fields(target).contains(f)).collect();
    rules::find_symmetries(facts, &mut graph, nest, &bound);
    rules::find_filters(facts, &mut graph, nest);
    super::saturate(&mut graph, chosen, 3);
    let mut extraction = Extraction::new(&graph, facts);
    extraction.choose(root.class);
    let class = graph.find(root.class);
    let mut nodes: Vec<_> = graph[class].iter().filter(|n| graph.analysis.rules.contains_key(n)).collect();
    nodes.sort();
    let slots: Vec<Field> = root.slots.iter().map(|s| names[usize::from(*s)].clone()).collect();
    let terms = nodes.into_iter().filter_map(|n| {
        extraction.term(class, Some(n), &slots, FieldPool { names: Vec::new(), reserved: slots.clone() })
    });
    let extracted = terms.into_iter().nth(number)?;
    Some(super::with_value(nest, extracted))
}

/// Runs a plan with the first three alternative terms that the rules produce, and compares the
/// results with those of the original plan; returns the number of alternatives, at most 3.
fn check(text: &str, inputs: &[InputSpec], mode: FloatMode, chosen: &[&'static RewriteRule]) -> usize {
    let catalog = inputs.iter().map(|i| (Alias::from(i.name.as_str()), Arc::new(i.ty.clone()))).collect();
    let plan = redpoll_logic::text::parse(text, &catalog).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let config =
        OptimizerConfig { float_mode: mode, rewrite_threshold: CostThreshold(0.0), ..OptimizerConfig::default() };
    let statistics = input_statistics(inputs);
    let mut found = 0;
    loop {
        let mut is_replaced = false;
        let mut rewrite = |facts: &Facts, nest: Nest, _: f64| match alternative(facts, &nest, chosen, found) {
            Some(new) => {
                is_replaced = true;
                ReplacementChoice::from(new)
            }
            None => ReplacementChoice::from(nest),
        };
        let planned = crate::optimize::plan_with_rewrite(&plan, &Statistics::new(&statistics), &config, &mut rewrite);
        let (physical, _) = planned.unwrap_or_else(|e| panic!("{e}\n{text}"));
        if !is_replaced || found == 3 {
            return found;
        }
        compare(&plan, &physical, inputs, mode);
        found += 1;
    }
}

fn op_name(op: Builtin) -> String {
    Op::Builtin(op).name().to_owned()
}

/// The dtypes on which laws differ.
const DTYPES: &[Prim] = &[Prim::Bool, Prim::I64, Prim::U16, Prim::F64];

/// Returns tables with these fills. `S`, `Z` and `D` are symmetric, and `D` stores its diagonal.
/// `Z`, `D` and `H` have the fill `annihilator`.
fn inputs(dtype: Prim, fills: [i64; 3], annihilator: &Scalar) -> Vec<InputSpec> {
    let fill = |k: usize| Scalar::I64(fills[k]).cast(dtype).expect("a small number");
    let csr = redpoll_logic::text::parse_format("csr", 2).expect("csr is a format");
    vec![
        filled("A", &[3, 4], csr.clone(), fill(0)),
        filled("B", &[4, 2], csr.clone(), fill(1)),
        filled("x", &[4], Format::dense(1), fill(2)),
        InputSpec { symmetry: InputSymmetry::OffDiagonal, ..filled("S", &[4, 4], csr.clone(), fill(0)) },
        InputSpec { symmetry: InputSymmetry::OffDiagonal, ..filled("Z", &[4, 4], csr.clone(), annihilator.clone()) },
        InputSpec { symmetry: InputSymmetry::WithDiagonal, ..filled("D", &[4, 4], csr.clone(), annihilator.clone()) },
        filled("G", &[4, 4], csr.clone(), fill(1)),
        InputSpec { stored: Some(1.0), ..filled("H", &[4, 3], csr, annihilator.clone()) },
    ]
}

/// Terms that match the left sides of rules. `F` is the operator of the folds, `E` its identity,
/// and `M` the operator of the products.
const TERMS: &[&str] = &[
    "(aggregate F E (mapjoin M (table A i j) (table B j k)) i j)",
    "(aggregate F E (mapjoin M (table A i j) (table x j)) j)",
    "(mapjoin M (aggregate F E (table A i j) j) (table A i k))",
    "(mapjoin M (table A i k) (aggregate F E (mapjoin M (table A i j) (table x j)) j))",
    "(aggregate F E (mapjoin M (table A i j) (aggregate F E (mapjoin M (table B j k) (table x j)) k)) j)",
    "(aggregate F E (mapjoin F (table A i j) (mapjoin M (table A i j) (table x j))) j)",
    "(mapjoin F (mapjoin M (table A i j) (table x j)) (mapjoin M (table A i j) (table x i2)))",
    "(mapjoin F (mapjoin M (table A i j) (table x j)) (mapjoin M (table B j k) (table x j)))",
    "(mapjoin M (table A i j) (mapjoin F (table x j) (table B j k)))",
    "(aggregate F E (mapjoin F (table A i j) (table x j) (table A i j)) j)",
    "(aggregate F E (mapjoin M (table S i j) (table S j k) (table S i k)) i j k)",
    "(aggregate F E (mapjoin M (table S i j) (table x i) (table x j)) i j)",
    "(aggregate F E (mapjoin M (table S i j) (table S k i) (table S k j) (table A l k)) i j)",
    "(aggregate F E (mapjoin M (table A i j) (table G j k) (table H k l)) j k)",
    "(aggregate F E (mapjoin M (table G i j) (table x j) (table G j k) (table H k l)) i j k l)",
    "(aggregate F E (mapjoin M (table Z i j) (table Z j k) (table Z i k)) i j k)",
    "(aggregate F E (mapjoin M (table D i j) (table x i) (table x j)) i j)",
    "(aggregate F E (mapjoin M (table D i j) (table D j k) (table D i k)) i j k)",
    "(aggregate F E (mapjoin M (table D i j) (table D k i) (table D k j) (table A l k)) i j)",
    "(aggregate F E (mapjoin M (table D i j) (table D i k) (table D i l) (table D j k) (table D j l) (table D k l)) i j k l)",
];

#[test]
fn every_rule_holds_for_every_pair_of_operators_that_it_claims() {
    let mut tries: BTreeMap<&str, usize> = BTreeMap::new();
    for mode in [FloatMode::Relaxed, FloatMode::StrictIeee] {
        for &prim in DTYPES {
            let dtype = DType::Prim(prim);
            for fold in Builtin::ALL.iter().copied() {
                let op = Op::Builtin(fold);
                let Some(identity) = op.fold_identity(&dtype, mode) else { continue };
                if !is_regroupable(&op, &dtype, mode) {
                    continue;
                }
                for product in Builtin::ALL.iter().copied() {
                    let outer = Op::Builtin(product);
                    let distributes = (0..2).all(|at| outer.distributes_over(&op, &dtype, at, mode));
                    if !distributes || outer.signature(&[dtype.clone(), dtype.clone()]).is_err() {
                        continue;
                    }
                    for (k, term) in TERMS.iter().enumerate() {
                        let words = [("F", op_name(fold)), ("M", op_name(product)), ("E", identity.to_string())];
                        let term = words.iter().fold((*term).to_owned(), |term, (word, with)| {
                            term.replace(&format!("({word} "), &format!("({with} "))
                                .replace(&format!(" {word} "), &format!(" {with} "))
                        });
                        let text = format!("(plan (query R {term}) (produces R))");
                        let fills = [[0, 0, 0], [1, 0, 2], [2, 1, 1]][k % 3];
                        let annihilator = outer.annihilator(&dtype, 0, mode).unwrap_or_else(|| identity.clone());
                        let inputs = inputs(prim, fills, &annihilator);
                        for rule in rules::rules() {
                            // These rules match only terms that other rules create.
                            let chosen: Vec<&'static RewriteRule> = match rule.name {
                                "merge-aggregates" | "flatten" | "repeat" => rules::rules()
                                    .filter(|r| r.name == rule.name || is_prerequisite(rule.name, r.name))
                                    .collect(),
                                _ => vec![rule],
                            };
                            *tries.entry(rule.name).or_default() += check(&text, &inputs, mode, &chosen);
                        }
                    }
                }
            }
        }
    }
    for prim in [Prim::I64, Prim::U16, Prim::F64] {
        let name = op_name(Builtin::Cast(prim));
        for product in ["and", "*", "min"] {
            let texts = [
                format!("(mapjoin {name} (mapjoin {product} (table A i j) (table B j k)))"),
                format!("(aggregate + 0 (mapjoin {name} (mapjoin {product} (table A i j) (table x j))) j)"),
            ];
            for (text, fills) in texts.iter().zip([[0, 1, 0], [1, 0, 1]]) {
                let text = format!("(plan (query R {text}) (produces R))");
                let rule = rules::rules().filter(|r| r.name == "cast-product").collect::<Vec<_>>();
                for mode in [FloatMode::Relaxed, FloatMode::StrictIeee] {
                    *tries.entry("cast-product").or_default() +=
                        3 * check(&text, &inputs(Prim::Bool, fills, &Scalar::Bool(false)), mode, &rule);
                }
            }
        }
    }
    for (outer, inner) in [("-", "+"), ("+", "-"), ("/", "*"), ("xor", "xor"), ("bitxor", "bitxor")] {
        let texts = [
            format!("(mapjoin {outer} (mapjoin {inner} (table A i j) (table x j)) (table x j))"),
            format!("(aggregate max MIN (mapjoin {outer} (mapjoin {inner} (table A i j) (table x j)) (table x j)) j)"),
            format!(
                "(mapjoin {outer} (mapjoin {inner} (mapjoin {inner} (table A i j) (table x j)) (table A i j)) (table A i j))"
            ),
        ];
        let rule = rules::rules().filter(|r| r.name == "inverse").collect::<Vec<_>>();
        for &prim in DTYPES {
            let dtype = DType::Prim(prim);
            let least = Op::Builtin(Builtin::Max).fold_identity(&dtype, FloatMode::Relaxed);
            for (text, fills) in texts.iter().zip([[0, 1, 0], [1, 0, 1], [2, 1, 2]]) {
                let text = text.replace("MIN", &least.as_ref().map_or(String::new(), ToString::to_string));
                let text = format!("(plan (query R {text}) (produces R))");
                let inputs = inputs(prim, fills, &Scalar::Bool(false));
                if !accepts(&text, &inputs) {
                    continue;
                }
                for mode in [FloatMode::Relaxed, FloatMode::StrictIeee] {
                    *tries.entry("inverse").or_default() += 3 * check(&text, &inputs, mode, &rule);
                }
            }
        }
    }
    for rule in rules::rules() {
        assert!(tries.get(rule.name).is_some_and(|n| *n >= 20), "`{}` ({}): {tries:?}", rule.name, rule.equation);
    }
}

/// Returns whether the operators of a plan accept the dtypes of its tables.
fn accepts(text: &str, inputs: &[InputSpec]) -> bool {
    let catalog = inputs.iter().map(|i| (Alias::from(i.name.as_str()), Arc::new(i.ty.clone()))).collect();
    redpoll_logic::text::parse(text, &catalog).is_ok()
}

/// Returns whether a rule needs the rule `other` to create its matches.
fn is_prerequisite(rule: &str, other: &str) -> bool {
    match rule {
        "merge-aggregates" => other == "pull-aggregate",
        "repeat" => other == "split-aggregate",
        _ => other == "distribute",
    }
}

/// Returns the cost of the chosen term of a nest, the cost of the cheapest term, and the number of
/// terms.
fn chosen_and_cheapest(facts: &Facts, nest: &Nest) -> Option<(f64, f64, usize)> {
    let super::SaturatedNest { graph, root, fields, .. } = super::saturate_nest(facts, nest);
    let chosen = super::best_terms(facts, nest, Extraction::new(&graph, facts), (root, &fields)).planned.first()?.cost;
    let mut extraction = Extraction::new(&graph, facts);
    let mut cheapest = f64::INFINITY;
    let terms = extraction.terms(root, usize::MAX, f64::INFINITY)?;
    for (_, choices) in &terms {
        extraction.set_choices(choices);
        let Some(extracted) = extraction.term(root, None, &fields, super::field_pool(nest)) else { continue };
        let new = super::with_value(nest, extracted);
        facts.memo.retain_for(&new.sizes, &new.pins);
        if let Some(ordered) = order_loops_below(facts, &new, cheapest) {
            cheapest = cheapest.min(ordered.work.cost());
        }
    }
    Some((chosen, cheapest, terms.len()))
}

/// In joins of up to five factors, the chosen term costs as much as the cheapest of all terms.
#[test]
fn the_chosen_term_costs_as_much_as_the_cheapest() {
    let shapes: [(&str, &[&str], &str); 9] = [
        ("chain of 3", &["i j", "j k", "k l"], "j k"),
        ("chain of 4", &["i j", "j k", "k l", "l m"], "j k l"),
        ("chain with a vector", &["i j", "j k", "k l", "l"], "j k l"),
        ("triangle", &["i j", "j k", "i k"], "i j k"),
        ("cycle of 4", &["i j", "j k", "k l", "i l"], "i j k l"),
        ("star of 4", &["i", "i j", "i k", "i l"], "i j k l"),
        ("chain of 5", &["i j", "j k", "k l", "l m", "m n"], "j k l m"),
        ("cycle of 5", &["i j", "j k", "k l", "l m", "m i"], "i j k l m"),
        ("tree of 5", &["i j", "i k", "j l", "j m", "m"], "j k l m"),
    ];
    let mut state = 7u64;
    let mut draw = |from: &[u64]| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from[(state >> 33) as usize % from.len()]
    };
    for (name, factors, bound) in shapes {
        for _ in 0..4 {
            let sizes: BTreeMap<char, u64> = "ijklmn".chars().map(|f| (f, draw(&[20, 100, 1000, 5000]))).collect();
            let inputs: Vec<InputSpec> = factors
                .iter()
                .enumerate()
                .map(|(k, fields)| {
                    let shape: Vec<u64> = fields.split(' ').map(|f| sizes[&f.chars().next().unwrap()]).collect();
                    let format = if shape.len() == 2 { Format::csr() } else { Format::dense(1) };
                    let degree = draw(&[1, 3, 10]);
                    let stored = (shape[0] * degree.min(*shape.last().unwrap())) as f64;
                    InputSpec { stored: Some(stored), ..filled(&format!("T{k}"), &shape, format, Scalar::F64(0.0)) }
                })
                .collect();
            let tables: String =
                factors.iter().enumerate().map(|(k, fields)| format!("(table T{k} {fields}) ")).collect();
            let text = format!("(plan (query R (aggregate + 0.0 (mapjoin * {tables}) {bound})) (produces R))");
            let catalog = inputs.iter().map(|i| (Alias::from(i.name.as_str()), Arc::new(i.ty.clone()))).collect();
            let plan = redpoll_logic::text::parse(&text, &catalog).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let statistics = input_statistics(&inputs);
            let config = OptimizerConfig { rewrite_threshold: CostThreshold(0.0), ..OptimizerConfig::default() };
            let mut found = None;
            let mut rewrite = |facts: &Facts, nest: Nest, _: f64| {
                found = chosen_and_cheapest(facts, &nest);
                ReplacementChoice::from(nest)
            };
            crate::optimize::plan_with_rewrite(&plan, &Statistics::new(&statistics), &config, &mut rewrite)
                .unwrap_or_else(|e| panic!("{e}\n{text}"));
            let (chosen, cheapest, terms) = found.expect("the nest has terms");
            assert!(
                terms > 1 && chosen <= cheapest,
                "{name}: {chosen} chosen, {cheapest} the cheapest of {terms} terms\n{text}"
            );
        }
    }
}

/// Joins whose graph reaches a limit are planned no worse than greedily.
#[test]
fn stars_and_cliques_of_ten_are_no_worse_than_greedy() {
    let star: Vec<(usize, usize)> = (1..=10).map(|k| (0, k)).collect();
    let clique: Vec<(usize, usize)> = (0..10).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    for (name, edges, last) in [("star", star, 10), ("clique", clique, 9)] {
        let matrix = |k: usize| {
            let ty = filled(&format!("T{k}"), &[2000, 2000], Format::csr(), Scalar::F64(0.0));
            InputSpec { stored: Some(20_000.0 + 1700.0 * k as f64), ..ty }
        };
        let inputs: Vec<InputSpec> = (0..edges.len()).map(matrix).collect();
        let tables: String = edges.iter().enumerate().map(|(k, (a, b))| format!("(table T{k} x{a} x{b}) ")).collect();
        let bound: String = (0..=last).map(|v| format!("x{v} ")).collect();
        let text = format!("(plan (query R (aggregate + 0.0 (mapjoin * {tables}) {bound})) (produces R))");
        let catalog = inputs.iter().map(|i| (Alias::from(i.name.as_str()), Arc::new(i.ty.clone()))).collect();
        let plan = redpoll_logic::text::parse(&text, &catalog).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (statistics, config) = (
            input_statistics(&inputs),
            OptimizerConfig { rewrite_threshold: CostThreshold(0.0), ..OptimizerConfig::default() },
        );
        let mut found = None;
        let mut rewrite = |facts: &Facts, nest: Nest, before: f64| {
            let super::SaturatedNest { graph, stop, .. } = super::saturate_nest(facts, &nest);
            let greedy = super::greedy_candidate(facts, &nest, (f64::INFINITY, f64::INFINITY))
                .map_or(f64::INFINITY, |greedy| greedy.cost);
            let chosen = super::rewrite(facts, nest, before);
            let nest = &chosen.chosen.tasks[0].nest;
            facts.memo.retain_for(&nest.sizes, &nest.pins);
            let cost = order_loops_below(facts, nest, f64::INFINITY).map(|ordered| ordered.work.cost());
            found = Some((stop, graph.total_number_of_nodes(), cost, greedy));
            chosen
        };
        let planned = crate::optimize::plan_with_rewrite(&plan, &Statistics::new(&statistics), &config, &mut rewrite);
        planned.unwrap_or_else(|e| panic!("{name}: {e}"));
        let (stop, nodes, chosen, greedy) = found.expect("the nest was rewritten");
        assert!(matches!(stop, StopReason::Nodes | StopReason::Visits), "{name}: {stop}");
        assert!(nodes <= 2 * super::saturate::MAX_NODES, "{name}: {nodes} nodes");
        assert!(chosen.is_some_and(|chosen| chosen <= 1.0001 * greedy), "{name}: {chosen:?} chosen, {greedy} greedy");
    }
}
