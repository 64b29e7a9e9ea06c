//! Every rule alone, for every pair of operators and dtype that it claims, against the interpreter.

use super::extract::{Extraction, Pool};
use super::graph::{Algebra, Graph, insert};
use super::rules::{self, Rule};
use super::{fields, whole};
use crate::config::Config;
use crate::context::Context;
use crate::isolate::root_folds;
use crate::term::Nest;
use common::{Input, compare, counts, filled};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Alias, DType, Field, FloatMode, Format, Prim, Scalar};
use std::collections::BTreeMap;
use std::sync::Arc;

#[path = "../../tests/common/mod.rs"]
mod common;

/// The nest with its term as the rules say, at one node of the root's class each; the first `skip` ones are left out.
fn alternative(cx: &Context, nest: &Nest, chosen: &[&'static Rule], number: usize) -> Option<Nest> {
    let target = nest.outputs.first().filter(|_| nest.outputs.len() == 1)?;
    let mut graph = Graph::new(Algebra::new(cx.mode()));
    let mut names: Vec<Field> = fields(target);
    let root = insert(&mut graph, &whole(target, cx), &mut names, &nest.sizes);
    graph.rebuild();
    let runner = egg::Runner::<_, _, ()>::new(Algebra::new(cx.mode()))
        .with_egraph(graph)
        .with_iter_limit(3)
        .run(&chosen.iter().map(|r| rules::rewrite(r)).collect::<Vec<_>>());
    let graph = runner.egraph;
    let extraction = Extraction::run(&graph, cx);
    let class = graph.find(root.class);
    let mut nodes: Vec<_> = graph[class].iter().filter(|n| graph.analysis.rules.contains_key(n)).collect();
    nodes.sort();
    let slots: Vec<Field> = root.slots.iter().map(|s| names[usize::from(*s)].clone()).collect();
    let terms = nodes
        .into_iter()
        .filter_map(|n| extraction.term(class, Some(n), &slots, Pool { names: Vec::new(), reserved: slots.clone() }));
    let extracted = terms.into_iter().nth(number)?;
    let mut new = nest.clone();
    extracted.sizes.each(&mut |field, size| new.sizes.insert(field.clone(), size));
    new.outputs[0].fold = None;
    new.outputs[0].value = extracted.term;
    Some(root_folds(new))
}

/// Runs a plan with every alternative that the rules give for it, and says how many there are.
fn check(text: &str, inputs: &[Input], mode: FloatMode, chosen: &[&'static Rule]) -> usize {
    let catalog = inputs.iter().map(|i| (Alias::from(i.name.as_str()), Arc::new(i.ty.clone()))).collect();
    let plan = redpoll_logic::text::parse(text, &catalog).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let config = Config { float_mode: mode, ..Config::default() };
    let counts = counts(inputs);
    let mut found = 0;
    loop {
        let mut taken = false;
        let mut rewrite = |cx: &mut Context, nest: Nest| match alternative(cx, &nest, chosen, found) {
            Some(new) => {
                taken = true;
                new
            }
            None => nest,
        };
        let planned = crate::planned(&plan, &Statistics::new(&counts), &config, &mut rewrite);
        let (physical, _) = planned.unwrap_or_else(|e| panic!("{e}\n{text}"));
        if !taken || found == 3 {
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

fn inputs(dtype: Prim, fills: [i64; 3]) -> Vec<Input> {
    let fill = |k: usize| Scalar::I64(fills[k]).cast(dtype).expect("a small number");
    let csr = redpoll_logic::text::parse_format("csr", 2).expect("it is a format");
    vec![
        filled("A", &[3, 4], csr.clone(), fill(0)),
        filled("B", &[4, 2], csr, fill(1)),
        filled("x", &[4], Format::dense(1), fill(2)),
    ]
}

/// Terms in which rules find their left sides: folds `F` from `E` and products `M`.
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
                if !crate::term::regroups(&op, &dtype, mode) {
                    continue;
                }
                for product in Builtin::ALL.iter().copied() {
                    let outer = Op::Builtin(product);
                    let grants = (0..2).all(|at| outer.distributes_over(&op, &dtype, at, mode));
                    if !grants || outer.signature(&[dtype.clone(), dtype.clone()]).is_err() {
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
                        for rule in rules::rules() {
                            // Aggregates of aggregates come of pulling.
                            let chosen: Vec<&'static Rule> = match rule.name {
                                "merge-aggregates" | "flatten" | "repeat" => {
                                    rules::rules().filter(|r| r.name == rule.name || helps(rule.name, r.name)).collect()
                                }
                                _ => vec![rule],
                            };
                            *tries.entry(rule.name).or_default() += check(&text, &inputs(prim, fills), mode, &chosen);
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
                        3 * check(&text, &inputs(Prim::Bool, fills), mode, &rule);
                }
            }
        }
    }
    for rule in rules::rules() {
        assert!(tries.get(rule.name).is_some_and(|n| *n >= 20), "`{}` ({}): {tries:?}", rule.name, rule.equation);
    }
}

/// Whether a rule makes what another one looks for.
fn helps(rule: &str, other: &str) -> bool {
    match rule {
        "merge-aggregates" => other == "pull-aggregate",
        "repeat" => other == "split-aggregate",
        _ => other == "distribute",
    }
}
