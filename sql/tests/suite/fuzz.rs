//! Random aggregates over random joins of random tables with NULLs and duplicates, compared with
//! plain DataFusion.
//!
//! `redpoll_testing::sql` draws and compares the queries. `REDPOLL_SQL_CASES` is the number of
//! cases; `REDPOLL_SQL_SEED` is the first seed.

use redpoll_testing::sql::{
    CaseRunner, CaseStep, Declaration, RandomQuery, SqlCase, SqlOutcome, TableColumn, TextArray, query,
    smallest_failure,
};

/// A class of queries: its name, lists of words, and excluded words. A query of the class contains
/// a word of each list, and no excluded word.
type Shape = (&'static str, &'static [&'static [&'static str]], &'static [&'static str]);

/// The classes of queries. In a test of at least 200 cases, a query of each class must be claimed.
const SHAPES: [Shape; 14] = [
    ("anti-join", &[&["LEFT ANTI JOIN", "NOT EXISTS"]], &[]),
    ("anti-join of one table", &[&["LEFT ANTI JOIN", "NOT EXISTS"]], &[" q1", " w ON"]),
    ("semi-join", &[&["LEFT SEMI JOIN", "WHERE EXISTS", "AND EXISTS"]], &[]),
    ("NOT IN", &[&["NOT IN"]], &[]),
    ("IN", &[&[" IN ("]], &["NOT IN"]),
    ("outer join", &[&["LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]], &[]),
    ("tensor", &[&[" m w ", " e w "]], &[]),
    (
        "group of a key",
        &[&["ANTI JOIN", "SEMI JOIN", "EXISTS"], &["GROUP BY q0.k", "GROUP BY q0.j", "GROUP BY q0.s"]],
        &[],
    ),
    ("distinct count of a key", &[&["ANTI JOIN", "SEMI JOIN", "EXISTS"], &["count(DISTINCT q"]], &[]),
    ("SELECT DISTINCT", &[&["SELECT DISTINCT"]], &[]),
    ("other arrays", &[&[".r)", ".r IS"]], &[]),
    ("file", &[&["t4 q"]], &[]),
    ("NULL equals NULL", &[&["IS NOT DISTINCT FROM"]], &[]),
    ("groups of groups", &[&["FROM (SELECT"]], &[]),
];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Claimed queries have the same rows as in plain DataFusion.
#[test]
fn random_queries_agree() {
    let (cases, first) = (number("REDPOLL_SQL_CASES", 240), number("REDPOLL_SQL_SEED", 0));
    let (mut claimed, mut failures) = (0, Vec::new());
    let mut shapes = [0; SHAPES.len()];
    let mut runner = CaseRunner::default();
    for seed in first..first + cases {
        match runner.run(seed) {
            SqlOutcome::Agrees(0) | SqlOutcome::Rejected => {}
            SqlOutcome::Agrees(_) => {
                claimed += 1;
                let sql = query(seed).to_string();
                let has = |words: &[&str]| words.iter().any(|word| sql.contains(word));
                for (count, (_, with, without)) in shapes.iter_mut().zip(SHAPES) {
                    *count += usize::from(with.iter().all(|words| has(words)) && !has(without));
                }
            }
            SqlOutcome::Failed(failure) => {
                let case = SqlCase::of(seed);
                let (case, failure) = smallest_failure(&case, failure.phase).unwrap_or((case, failure));
                failures.push(format!("seed {seed}: {}: {}\n{case}", failure.phase, failure.message));
            }
        }
        if failures.len() > 3 {
            break;
        }
    }
    let counts: Vec<String> = SHAPES.iter().zip(shapes).map(|((name, ..), count)| format!("{name}: {count}")).collect();
    eprintln!("{claimed} of {cases} queries were claimed; {}", counts.join(", "));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(5 * claimed > 2 * cases as usize, "just {claimed} of {cases} queries were claimed");
    assert!(cases < 200 || !shapes.contains(&0), "a shape was never claimed: {}", counts.join(", "));
}

/// If a declaration fails, its case fails, even if the query after the declaration agrees.
#[test]
fn failed_declarations_are_reported() {
    let columns = vec![TableColumn { index: 0, text: TextArray::Default, values: vec!["no_such_column".into()] }];
    let declaration = Declaration::Rows { name: "t".into(), columns };
    let (aggregates, from) = (vec!["count(*)".into()], "(VALUES (1)) q0".into());
    let query = RandomQuery { aggregates, from, ..RandomQuery::default() };
    let case = SqlCase { steps: vec![CaseStep::Declare(declaration), CaseStep::Query(query)] };
    assert!(case.failure("declaration").is_some());
    assert!(case.failure("rows").is_none());
}
