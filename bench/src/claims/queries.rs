//! The queries to measure: those of the SQL logic tests, those of TPC-H, and queries over real
//! graphs and tables.

use crate::files::{dataset, workspace};
use anyhow::{Context, Result};
use sqllogictest::{DefaultColumnType, Record, StatementExpect};
use std::fs;
use std::path::{Path, PathBuf};

/// Queries over the same tables.
pub(super) struct QueryGroup {
    /// The name of the group.
    pub(super) name: String,
    /// Statements, tables from files, and queries, in order.
    pub(super) steps: Vec<GroupStep>,
}

/// A step of a group.
pub(crate) enum GroupStep {
    /// A statement that changes the tables or the settings.
    Statement(String),
    /// The name of a table and its file.
    File(String, PathBuf),
    /// The name of a query and its text.
    Query(String, String),
}

impl QueryGroup {
    /// Returns the names of the queries.
    pub(super) fn queries(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match step {
            GroupStep::Query(name, _) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns a statement with the paths of the tests replaced by absolute paths.
    pub(super) fn expand_paths(&self, sql: &str, folder: &Path) -> String {
        let data = workspace().join("datasets").display().to_string();
        let test_folder = folder.join(&self.name).display().to_string();
        sql.replace("'../datasets", &format!("'{data}")).replace("$__TEST_DIR__", &test_folder)
    }
}

/// Returns all groups whose data are available.
pub(super) fn groups(copies: usize) -> Result<Vec<QueryGroup>> {
    let tests = workspace().join("sql/tests");
    let mut groups = Vec::new();
    for file in sorted_files(&tests.join("slt"), "slt")? {
        groups.push(logic_test_group(&file)?);
    }
    groups.extend(tpch_group(&tests.join("real/tpch.tables"), copies)?);
    for file in sorted_files(&tests.join("real"), "sql")? {
        groups.extend(real_groups(&file)?);
    }
    Ok(groups)
}

fn sorted_files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut paths: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    paths.sort();
    Ok(paths)
}

fn file_stem(file: &Path) -> String {
    file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// Reads a file of SQL logic tests: the statements that are expected to succeed, and all queries
/// except `EXPLAIN`.
fn logic_test_group(file: &Path) -> Result<QueryGroup> {
    let records = sqllogictest::parse_file::<DefaultColumnType>(file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let mut steps = Vec::new();
    for record in records {
        match record {
            Record::Statement { sql, expected: StatementExpect::Ok | StatementExpect::Count(_), .. } => {
                steps.push(GroupStep::Statement(sql));
            }
            Record::Query { sql, loc, .. } if !sql.trim_start().to_uppercase().starts_with("EXPLAIN") => {
                steps.push(GroupStep::Query(format!("line {}", loc.line()), sql));
            }
            _ => {}
        }
    }
    Ok(QueryGroup { name: file_stem(file), steps })
}

/// The key columns of TPC-H, each with the difference between the keys of one copy and of the next
/// copy. The difference is at least the number of keys, so no two copies share a key.
const KEYS: [(&str, i64); 4] = [("orderkey", 60_000), ("custkey", 1_500), ("partkey", 2_000), ("suppkey", 100)];

/// Returns the steps of [`tpch_group`]; `None` if the data are missing.
pub(crate) fn tpch_steps(copies: usize) -> Result<Option<Vec<GroupStep>>> {
    Ok(tpch_group(&workspace().join("sql/tests/real/tpch.tables"), copies)?.map(|group| group.steps))
}

/// Returns the 22 queries of TPC-H over `copies` copies of the tables at scale factor 0.01. The
/// tables `region` and `nation` have one copy.
fn tpch_group(tables: &Path, copies: usize) -> Result<Option<QueryGroup>> {
    let Some(folder) = dataset("tables/tpch_sf0.01") else { return Ok(None) };
    let mut steps = Vec::new();
    let text = fs::read_to_string(tables).with_context(|| format!("cannot read {}", tables.display()))?;
    for (table, columns) in text.lines().filter_map(|line| line.split_once(": ")) {
        steps.push(GroupStep::File(format!("{table}_read"), folder.join(format!("{table}.csv.zst"))));
        let names = columns.split(", ").filter_map(|column| column.split_once(' '));
        let once = matches!(table, "region" | "nation");
        let copy = |k: usize| {
            let of = |(name, ty): (&str, &str)| {
                let step = KEYS.iter().find(|(key, _)| name.ends_with(key)).map_or(0, |(_, step)| *step);
                match step * k as i64 {
                    0 => format!("CAST({name} AS {ty}) AS {name}"),
                    shift => format!("CAST({name} AS {ty}) + {shift} AS {name}"),
                }
            };
            let columns: Vec<String> = names.clone().map(of).collect();
            format!("SELECT {} FROM {table}_read", columns.join(", "))
        };
        let all: Vec<String> = (0..if once { 1 } else { copies }).map(copy).collect();
        steps.push(GroupStep::Statement(format!("CREATE TABLE {table} AS {}", all.join(" UNION ALL "))));
        steps.push(GroupStep::Statement(format!("DROP TABLE {table}_read")));
    }
    for k in 1..=22 {
        let file = folder.join(format!("queries/q{k:02}.sql.zst"));
        let compressed = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let sql = String::from_utf8(zstd::decode_all(&compressed[..])?)?;
        steps.push(GroupStep::Query(format!("q{k:02}"), sql.trim().trim_end_matches(';').to_owned()));
    }
    Ok(Some(QueryGroup { name: format!("tpch x{copies}"), steps }))
}

/// The graphs of the pattern queries. The queries run over each graph twice: as a tensor and as a
/// table.
const GRAPHS: [&str; 6] =
    ["nk_jazz", "netscience", "nk_celegans_metabolic", "email-Eu-core", "ca-HepTh", "lastfm-asia"];

/// Returns the groups of a file of queries. A file that lists tables is one group, and is left out
/// if a table is missing. A file without tables is two groups for each available graph.
fn real_groups(file: &Path) -> Result<Vec<QueryGroup>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (mut tables, mut queries) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some((table, file)) = line.strip_prefix("-- table: ").and_then(|t| t.split_once(" = ")) {
            tables.push((table, file));
        } else if let Some(name) = line.strip_prefix("-- query: ") {
            queries.push((name, String::new()));
        } else if let Some((_, sql)) = queries.last_mut() {
            *sql += line.trim_end_matches(';');
        }
    }
    let queries = || queries.iter().map(|(name, sql)| GroupStep::Query((*name).to_owned(), sql.clone()));
    let name = file_stem(file);
    if tables.is_empty() {
        let mut groups = Vec::new();
        for graph in GRAPHS {
            let Some(path) = dataset(&format!("graphs/{graph}.mtx.zst")) else { continue };
            let edges = "SELECT i0 AS src, i1 AS dst FROM g".to_owned();
            for (kind, make) in [("tensor", "CREATE VIEW e AS "), ("table", "CREATE TABLE e AS ")] {
                let open = [GroupStep::File("g".into(), path.clone()), GroupStep::Statement(format!("{make}{edges}"))];
                groups.push(QueryGroup {
                    name: format!("{graph} {kind}"),
                    steps: open.into_iter().chain(queries()).collect(),
                });
            }
        }
        return Ok(groups);
    }
    let mut steps = Vec::new();
    for (table, file) in tables {
        let Some(path) = dataset(&format!("tables/{name}/{file}")) else { return Ok(Vec::new()) };
        steps.push(GroupStep::File(table.to_owned(), path));
    }
    steps.extend(queries());
    Ok(vec![QueryGroup { name, steps }])
}
