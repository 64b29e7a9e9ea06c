//! Pattern counts on real graphs and joins of real tables: claimed, and compared with plain
//! DataFusion.
//!
//! The files are in the folder that `REDPOLL_DATASETS` names, or in `shared/datasets` next to the
//! checkout; without them, the tests check nothing. `REDPOLL_SQL_LARGE=1` adds the larger graphs,
//! and all rows of the tables.

use redpoll::sql::Database;
use redpoll_testing::sql::{agree, database, run};
use std::path::{Path, PathBuf};

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets");
    let folder = std::env::var_os("REDPOLL_DATASETS").map_or_else(beside, PathBuf::from);
    if !folder.is_dir() {
        eprintln!("no data sets in {}: the test checks nothing", folder.display());
        return None;
    }
    Some(folder)
}

fn is_large() -> bool {
    std::env::var_os("REDPOLL_SQL_LARGE").is_some()
}

/// The outcomes of the queries of a data set.
#[derive(Default)]
struct QueryOutcomes {
    claimed: Vec<String>,
    unclaimed: Vec<String>,
    failures: Vec<String>,
}

impl QueryOutcomes {
    async fn check(&mut self, database: &Database, name: &str, sql: &str) {
        match agree(database, sql).await {
            Ok(0) => self.unclaimed.push(name.to_string()),
            Ok(_) => self.claimed.push(name.to_string()),
            Err(why) => self.failures.push(format!("{name}: {why}")),
        }
    }

    fn report(&self, name: &str) {
        eprintln!("{name}: claimed {}; left to DataFusion {}", self.claimed.join(", "), self.unclaimed.join(", "));
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n\n"));
    }
}

/// The content of a query file: tables with their files, and names with their queries.
#[derive(Default)]
struct QueryFile {
    tables: Vec<(String, String)>,
    queries: Vec<(String, String)>,
}

/// Reads a query file.
fn queries(file: &Path) -> QueryFile {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut file_content = QueryFile::default();
    for line in text.lines() {
        if let Some((table, file)) = line.strip_prefix("-- table: ").and_then(|t| t.split_once(" = ")) {
            file_content.tables.push((table.into(), file.into()));
        } else if let Some(name) = line.strip_prefix("-- query: ") {
            file_content.queries.push((name.into(), String::new()));
        } else if let Some((_, sql)) = file_content.queries.last_mut() {
            *sql += line.trim_end_matches(';');
        }
    }
    file_content
}

/// Returns the folder of the query files.
fn real() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real")
}

/// Patterns are counted in several real graphs, which are registered as tensors.
#[tokio::test]
async fn patterns_of_graphs_are_counted() {
    let Some(folder) = folder() else { return };
    let patterns = queries(&real().join("patterns.sql")).queries;
    assert!(patterns.len() >= 12, "{} patterns", patterns.len());
    let small = ["karate", "dolphins", "chesapeake", "nk_lesmis", "polbooks"];
    let large = ["nk_jazz", "netscience", "nk_celegans_metabolic", "email-Eu-core"];
    let graphs = small.iter().chain(large.iter().filter(|_| is_large()));
    for graph in graphs {
        let database = database().await;
        let file = folder.join(format!("graphs/{graph}.mtx.zst"));
        database.register_file("g", &file).await.unwrap();
        let mut outcomes = QueryOutcomes::default();
        // The patterns read a table `e(src, dst)`.
        run(&database, "CREATE VIEW e AS SELECT i0 AS src, i1 AS dst FROM g").await.unwrap();
        for (name, sql) in &patterns {
            outcomes.check(&database, name, sql).await;
        }
        outcomes.report(graph);
        assert_eq!(outcomes.unclaimed, Vec::<String>::new(), "{graph}: queries that are not claimed");
    }
}

/// The folders of tables that have queries.
const FOLDERS: [&str; 6] = ["ldbc_snb_sf0.1", "lahman", "flights", "hin_yelp", "openflights", "gtfs_nyc_subway"];

/// Joins of real tables, with their keys, strings and NULLs, are claimed and agree with DataFusion.
#[tokio::test]
async fn real_tables_are_joined() {
    let Some(folder) = folder() else { return };
    for folder_name in FOLDERS {
        let database = database().await;
        let QueryFile { tables, queries } = queries(&real().join(format!("{folder_name}.sql")));
        assert!(queries.len() >= 2, "{folder_name} has {} queries", queries.len());
        for (table, file) in tables {
            let path = folder.join(format!("tables/{folder_name}/{file}"));
            database.register_file(&format!("{table}_all"), &path).await.unwrap();
            let rows = if is_large() { "" } else { " LIMIT 20000" };
            run(&database, &format!("CREATE TABLE {table} AS SELECT * FROM {table}_all{rows}")).await.unwrap();
        }
        let mut outcomes = QueryOutcomes::default();
        for (name, sql) in &queries {
            outcomes.check(&database, name, sql).await;
        }
        outcomes.report(folder_name);
        assert_eq!(outcomes.unclaimed, Vec::<String>::new(), "{folder_name}: queries that are not claimed");
    }
}
