//! Reduction of a failing case to the smallest case found that fails in the same phase.

use super::query::RandomQuery;
use super::runner::{CaseStep, SqlCase};
use super::table::{Declaration, TableColumn, TextArray};
use crate::engines::PhaseFailure;

/// The largest number of candidates that are run.
const MAX_RUNS: usize = 600;

/// Returns the smallest case found that fails in the same phase, with its failure; `None` if the
/// case does not fail again.
pub fn smallest_failure(case: &SqlCase, phase: &str) -> Option<(SqlCase, PhaseFailure)> {
    let mut remaining = MAX_RUNS;
    let mut fails = |case: &SqlCase| {
        remaining = remaining.checked_sub(1)?;
        case.failure(phase)
    };
    let last = last_declarations(case);
    let mut found = match fails(&last) {
        Some(failure) => (last, failure),
        None => (case.clone(), fails(case)?),
    };
    // Removes earlier steps in ever smaller pieces, and then parts of the remaining steps.
    let mut piece = found.0.steps.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at + 1 < found.0.steps.len() {
            let end = (at + piece).min(found.0.steps.len() - 1);
            let mut next = found.0.clone();
            next.steps.drain(at..end);
            match fails(&next) {
                Some(failure) => found = (next, failure),
                None => at = end,
            }
        }
        piece /= 2;
    }
    while let Some(better) = candidates(&found.0).into_iter().find_map(|next| fails(&next).map(|f| (next, f))) {
        found = better;
    }
    Some(found)
}

/// Returns the last query with the last declaration of every table.
fn last_declarations(case: &SqlCase) -> SqlCase {
    let mut declared: Vec<Declaration> = Vec::new();
    for step in &case.steps {
        let CaseStep::Declare(next) = step else { continue };
        let mut next = next.clone();
        let before = declared.iter().position(|d| d.name() == next.name()).map(|at| declared.remove(at));
        if let (Declaration::File { contents: contents @ None, .. }, Some(before)) = (&mut next, before) {
            *contents = before.columns().cloned();
        }
        declared.push(next);
    }
    let query = case.steps.last().cloned();
    SqlCase { steps: declared.into_iter().map(CaseStep::Declare).chain(query).collect() }
}

/// Returns cases that differ from the given case in one part; cases with changes in later steps
/// come first.
fn candidates(case: &SqlCase) -> Vec<SqlCase> {
    let mut all = Vec::new();
    let mut add = |at: usize, step: CaseStep| {
        let mut next = case.clone();
        next.steps[at] = step;
        all.push(next);
    };
    let text = case.to_string();
    for (at, step) in case.steps.iter().enumerate().rev() {
        match step {
            CaseStep::Query(query) => {
                query.smaller().into_iter().for_each(|q: RandomQuery| add(at, CaseStep::Query(q)));
            }
            CaseStep::Declare(declaration) => {
                smaller(declaration, &text).into_iter().for_each(|d| add(at, CaseStep::Declare(d)));
            }
        }
    }
    all
}

/// Returns smaller declarations: with fewer rows, columns or entries, with simpler columns, or with
/// rows in place of a file.
fn smaller(declaration: &Declaration, text: &str) -> Vec<Declaration> {
    match declaration {
        Declaration::Rows { name, columns } => {
            let with = |columns| Declaration::Rows { name: name.clone(), columns };
            smaller_columns(columns, text).into_iter().map(with).collect()
        }
        Declaration::File { name, contents, header } => {
            let rows =
                contents.iter().map(|columns| Declaration::Rows { name: name.clone(), columns: columns.clone() });
            let contents = contents.iter().flat_map(|columns| smaller_columns(columns, text));
            let with = |columns| Declaration::File { name: name.clone(), contents: Some(columns), header: *header };
            rows.chain(contents.map(with)).collect()
        }
        Declaration::Tensor { name, shape, entries } => {
            let without = |coordinates: &[u64; 2]| {
                let mut entries = entries.clone();
                entries.remove(coordinates);
                Declaration::Tensor { name: name.clone(), shape: *shape, entries }
            };
            entries.keys().map(without).collect()
        }
    }
}

/// Returns variants of columns: with fewer rows, without the columns that no query names, without
/// one column, with the default kind of array for one column, or with one more NULL.
fn smaller_columns(columns: &[TableColumn], text: &str) -> Vec<Vec<TableColumn>> {
    let rows = columns.first().map_or(0, |c| c.values.len());
    let mut all = Vec::new();
    let without = |low: usize, high: usize| {
        let mut next = columns.to_vec();
        next.iter_mut().for_each(|column| drop(column.values.drain(low..high)));
        next
    };
    if rows > 2 {
        all.push(without(0, rows / 2));
        all.push(without(rows / 2, rows));
    }
    let named = |c: &TableColumn| {
        ["z", "y", "q0", "q1", "q2", "q3"].iter().any(|t| text.contains(&format!("{t}.{}", c.name())))
    };
    let remaining_columns: Vec<TableColumn> = columns.iter().filter(|c| named(c)).cloned().collect();
    if remaining_columns.len() < columns.len() && !remaining_columns.is_empty() {
        all.push(remaining_columns);
    }
    all.extend((0..rows).map(|row| without(row, row + 1)));
    for (k, column) in columns.iter().enumerate() {
        if columns.len() > 1 {
            let mut next = columns.to_vec();
            next.remove(k);
            all.push(next);
        }
        if column.text != TextArray::Default {
            let mut next = columns.to_vec();
            next[k].text = TextArray::Default;
            all.push(next);
        }
    }
    for (k, column) in columns.iter().enumerate() {
        for row in (0..rows).filter(|row| column.values[*row] != "NULL") {
            let mut next = columns.to_vec();
            next[k].values[row] = "NULL".to_owned();
            all.push(next);
        }
    }
    all
}
