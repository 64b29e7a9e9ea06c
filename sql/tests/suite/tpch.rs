//! The 22 queries of TPC-H at scale factor 0.01: claimed, unclaimed, and compared with the stored
//! answers.
//!
//! The tables are in the folder that `REDPOLL_DATASETS` names, or in `shared/datasets` next to the
//! checkout; without them, the test checks nothing. The README's table is compared with the claimed
//! regions; `REDPOLL_BLESS=1` writes the table.

use redpoll::sql::Database;
use redpoll_testing::sql::{Cell, agree, database, rows, run};
use std::path::{Path, PathBuf};

/// The tables with their columns.
const TABLES: &str = include_str!("../real/tpch.tables");

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets");
    let folder = std::env::var_os("REDPOLL_DATASETS").map_or_else(beside, PathBuf::from).join("tables/tpch_sf0.01");
    if !folder.is_dir() {
        eprintln!("no tables of TPC-H in {}: the test checks nothing", folder.display());
        return None;
    }
    Some(folder)
}

fn unpacked(path: &Path) -> String {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    String::from_utf8(zstd::decode_all(file).unwrap()).unwrap()
}

async fn tpch(folder: &Path, plain: &Path) -> Database {
    let database = database().await;
    for (table, columns) in TABLES.lines().filter_map(|line| line.split_once(": ")) {
        let file = plain.join(format!("{table}.csv"));
        std::fs::write(&file, unpacked(&folder.join(format!("{table}.csv.zst")))).unwrap();
        let create = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV LOCATION '{}' OPTIONS ('format.has_header' 'true')",
            file.display()
        );
        run(&database, &create).await.unwrap();
    }
    database
}

/// The answers of TPC-H are right, and the README shows which queries are claimed.
#[tokio::test]
async fn queries_agree_and_give_the_stored_answers() {
    let Some(folder) = folder() else { return };
    let plain = tempfile::tempdir().unwrap();
    let database = tpch(&folder, plain.path()).await;
    let mut failures = Vec::new();
    let mut lines = vec![
        "| query | claimed | reasons for aggregates left to DataFusion |".to_string(),
        "|---|---|---|".to_string(),
    ];
    for k in 1..=22 {
        let text = unpacked(&folder.join(format!("queries/q{k:02}.sql.zst")));
        let sql = text.trim().trim_end_matches(';');
        match agree(&database, sql).await {
            Ok(claimed) => {
                let claimed = if claimed == 0 { "".to_string() } else { claimed.to_string() };
                lines.push(format!("| {k} | {claimed} | {} |", reasons(&database, sql).await.join("; ")));
            }
            Err(why) => failures.push(format!("q{k:02}: {why}")),
        }
        let answer = unpacked(&folder.join(format!("answers/q{k:02}.csv.zst")));
        match run(&database, sql).await {
            Ok(batches) => {
                if let Err(why) = is_answer(&rows(&batches), &answer) {
                    failures.push(format!("q{k:02}, stored answer: {why}"));
                }
            }
            Err(e) => failures.push(format!("q{k:02}: {e}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    check_readme(&lines.join("\n"));
}

/// Returns the distinct reasons why regions of a query were not claimed.
async fn reasons(database: &Database, sql: &str) -> Vec<String> {
    let explained = rows(&run(database, &format!("EXPLAIN VERBOSE {sql}")).await.unwrap());
    let mut reasons = Vec::new();
    for row in explained {
        let Cell::Text(plan) = &row[1] else { continue };
        if let Some((_, reason)) = plan.split_once("\nnot claimed by redpoll: ") {
            let reason = reason.replace('|', "\\|");
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    reasons
}

/// Checks that the README has the table between the marks.
fn check_readme(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- TPC-H: written by a test -->\n", "\n<!-- TPC-H: end -->");
    let (before, rest) = text.split_once(begin).expect("the README has the begin mark of the table");
    let (_, after) = rest.split_once(end).expect("the README has the end mark of the table");
    redpoll_golden::check(&path, &format!("{before}{begin}{table}{end}{after}"));
}

/// Checks that rows equal an answer. Numbers may differ by 0.01 plus a relative error of 1e-9.
fn is_answer(found: &[Vec<Cell>], answer: &str) -> Result<(), String> {
    let expected: Vec<Vec<&str>> = answer.lines().skip(1).map(|line| line.split('|').collect()).collect();
    if expected.len() != found.len() {
        return Err(format!("expected {} rows, found {}", expected.len(), found.len()));
    }
    for (row, expected) in found.iter().zip(&expected) {
        for (cell, expected) in row.iter().zip(expected) {
            let text = match cell {
                Cell::Float(v) => v.to_string(),
                Cell::Text(t) => t.clone(),
            };
            let equal = match (text.parse::<f64>(), expected.trim().parse::<f64>()) {
                (Ok(a), Ok(b)) => (a - b).abs() <= 0.01 + 1e-9 * b.abs(),
                _ => text.trim() == expected.trim() || text == "NULL" && expected.is_empty(),
            };
            if !equal {
                return Err(format!("expected {expected}, found {text} in {row:?}"));
            }
        }
    }
    Ok(())
}
