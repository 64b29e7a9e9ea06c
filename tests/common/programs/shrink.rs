//! Reduction of a failing program to the smallest program found that fails in the same phase.

use super::check::{ProgramOutcome, run};
use super::draw::{ProgramCase, ProgramTensor, store_values};
use crate::engines::PhaseFailure;
use redpoll_compiler::notation::Role;
use redpoll_logic::sexpr::{Sexpr, SexprKind};
use redpoll_logic::{Format, Scalar};

/// Largest number of candidates to run.
const MAX_RUNS: usize = 1500;

/// Returns the smallest case found that fails in the same phase, with its failure.
pub fn smallest_failure(case: &ProgramCase, failure: PhaseFailure) -> (ProgramCase, PhaseFailure) {
    let mut found = (case.clone(), failure);
    let mut remaining = MAX_RUNS;
    loop {
        let candidates = candidates(&found.0);
        let size = found.0.size();
        let better = candidates.into_iter().filter(|c| c.size() < size || is_simpler(c, &found.0)).find_map(|c| {
            remaining = remaining.checked_sub(1)?;
            match run(&c) {
                ProgramOutcome::Failed(f) if f.phase == found.1.phase => Some((c, f)),
                _ => None,
            }
        });
        match better {
            Some(better) if remaining > 0 => found = better,
            _ => return found,
        }
    }
}

/// Returns whether a case has the same size as another case, but simpler levels or smaller values.
fn is_simpler(one: &ProgramCase, other: &ProgramCase) -> bool {
    let weight = |c: &ProgramCase| {
        let formats: usize =
            c.tensors.iter().map(|t| t.ty.format.levels.iter().map(|l| l.kind as usize).sum::<usize>()).sum();
        let values: f64 = c.tensors.iter().flat_map(|t| &t.values).filter_map(Scalar::to_f64).map(f64::abs).sum();
        formats as f64 + values / 1000.0
    };
    one.size() == other.size() && weight(one) < weight(other)
}

/// Returns cases that differ from the given case by one step of reduction. Large steps come first.
fn candidates(case: &ProgramCase) -> Vec<ProgramCase> {
    let mut all = Vec::new();
    for k in 0..case.schedule.len() {
        let mut next = case.clone();
        next.schedule.remove(k);
        all.push(next);
    }
    if !case.implied_ranges.is_empty() {
        all.push(ProgramCase { implied_ranges: Vec::new(), ..case.clone() });
    }
    let text = case.body.iter().map(ToString::to_string).collect::<String>();
    let used = |t: &ProgramTensor| text.contains(&format!(" {}", t.name)) || text.contains(&format!("({}", t.name));
    if case.tensors.iter().any(|t| !used(t)) {
        let tensors = case.tensors.iter().filter(|t| used(t)).cloned().collect();
        all.push(ProgramCase { tensors, ..case.clone() });
    }
    let all_statements = Sexpr::list(case.body.iter().cloned());
    for body in smaller_expressions(&all_statements) {
        if let SexprKind::List(body) = body.kind {
            all.push(ProgramCase { body, ..case.clone() });
        }
    }
    for k in 0..case.tensors.len() {
        all.extend(plainer_tensors(&case.tensors[k]).into_iter().map(|tensor| {
            let mut next = case.clone();
            next.tensors[k] = tensor;
            next
        }));
    }
    all
}

/// Returns variants of an expression. In a variant, one part is removed, or replaced by one of its
/// own parts, by a constant, or by a smaller number.
fn smaller_expressions(s: &Sexpr) -> Vec<Sexpr> {
    let mut all = Vec::new();
    match &s.kind {
        SexprKind::Atom(word) => {
            if let Ok(n) = word.parse::<i64>() {
                let smaller = [0, 1, n / 2, n - n.signum()].into_iter().filter(|m| m.abs() < n.abs());
                all.extend(smaller.map(|m| Sexpr::atom(m.to_string())));
            }
        }
        SexprKind::Text(_) => {}
        SexprKind::List(items) => {
            let is_form = items.first().is_some_and(|head| head.as_atom().is_some());
            for k in usize::from(is_form)..items.len() {
                let mut rest = items.clone();
                rest.remove(k);
                all.push(Sexpr::list(rest));
            }
            for k in 0..items.len() {
                // Replace an item by one of its parts, or by its statements.
                let parts = items[k].as_list().unwrap_or_default();
                for part in parts.iter().filter(|p| p.as_list().is_some()) {
                    let mut next = items.clone();
                    next[k] = part.clone();
                    all.push(Sexpr::list(next));
                }
                if let Some((_, inner)) = items[k].as_form()
                    && inner.len() > 1
                {
                    let statements: Vec<Sexpr> = inner.iter().filter(|p| is_statement(p)).cloned().collect();
                    if statements.len() > 1 {
                        all.push(Sexpr::list(items[..k].iter().chain(&statements).chain(&items[k + 1..]).cloned()));
                    }
                }
                if k > 0 && is_form && items[k].as_list().is_some() && !is_statement(&items[k]) {
                    for leaf in ["0", "1", "true"] {
                        let mut next = items.clone();
                        next[k] = Sexpr::atom(leaf);
                        all.push(Sexpr::list(next));
                    }
                }
            }
            for k in 0..items.len() {
                for part in smaller_expressions(&items[k]) {
                    let mut next = items.clone();
                    next[k] = part;
                    all.push(Sexpr::list(next));
                }
            }
        }
    }
    all
}

fn is_statement(s: &Sexpr) -> bool {
    s.as_form().is_some_and(|(head, _)| {
        matches!(head, "for" | "if" | "let" | "while" | "where" | "block" | "declare" | "swap" | "init")
            || head.ends_with('=')
    })
}

/// Returns variants of a tensor: in a plainer format, or with values replaced by the fill value or
/// by 1.
fn plainer_tensors(tensor: &ProgramTensor) -> Vec<ProgramTensor> {
    let mut all = Vec::new();
    let rank = tensor.ty.shape.len();
    let dense = Format::dense(rank);
    if tensor.ty.format != dense {
        let mut next = tensor.clone();
        next.ty.format = dense;
        all.push(next);
        for k in 0..tensor.ty.format.levels.len() {
            let mut next = tensor.clone();
            next.ty.format.levels[k] = Format::dense(1).levels[0];
            all.push(next);
        }
    }
    if tensor.role == Role::Input {
        let with_values = |positions: &[usize], value: &Scalar| {
            let mut next = tensor.clone();
            positions.iter().for_each(|p| next.values[*p] = value.clone());
            next
        };
        let prim = tensor.ty.dtype.prim().expect("inputs are primitives");
        let all_positions: Vec<usize> = (0..tensor.values.len()).collect();
        all.push(with_values(&all_positions, &tensor.ty.fill));
        all.push(with_values(&all_positions, &Scalar::one(prim)));
        for at in all_positions {
            all.push(with_values(&[at], &tensor.ty.fill));
            all.push(with_values(&[at], &Scalar::one(prim)));
        }
        all.retain(|t| t.values != tensor.values || t.ty != tensor.ty);
        all.retain(|t| store_values(&t.ty, &t.ty.format, &t.values).is_ok());
    }
    all
}
