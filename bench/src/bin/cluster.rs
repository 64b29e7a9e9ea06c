//! Prints the rows that the workers of a cluster would receive for patterns in graphs and for
//! queries of TPC-H, for each division of the region, counted exactly (`Database::loads`). A line
//! has the rows that the joins of DataFusion's own plan would distribute.
//!
//! Arguments select the queries whose names contain one of them; without arguments, all run.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::{Context, Result};
use redpoll::Session;
use redpoll::sql::Database;
use redpoll::sql::datafusion::arrow::util::display::array_value_to_string;
use redpoll::sql::datafusion::physical_plan::repartition::RepartitionExec;
use redpoll::sql::datafusion::physical_plan::{ExecutionPlan, Partitioning, collect};
use redpoll_bench::data::missing_file;
use redpoll_bench::files::dataset;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The numbers of workers.
const WORKERS: [usize; 5] = [4, 16, 64, 256, 1000];

/// The graphs.
const GRAPHS: [&str; 3] = ["ca-CondMat", "musae-git", "ego-Twitter"];

/// Queries over the edges of a graph. The last element counts the rows of joins of two tables that
/// DataFusion's plan would distribute again, if there are not too many for DataFusion.
const PATTERNS: [(&str, &str, Option<&str>); 3] = [
    (
        "triangles",
        "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src",
        Some("SELECT count(*) FROM e a JOIN e b ON a.dst = b.src"),
    ),
    (
        "4-cliques",
        "SELECT count(*) FROM e a, e b, e c, e d, e f, e g WHERE a.src = b.src AND a.src = c.src AND a.dst = d.src
         AND b.dst = d.dst AND a.dst = f.src AND c.dst = f.dst AND b.dst = g.src AND c.dst = g.dst",
        None,
    ),
    ("co-occurrence", "SELECT a.dst, count(*) FROM e a JOIN e b ON a.src = b.src GROUP BY a.dst", None),
];

/// The queries of TPC-H.
const TPCH: [usize; 3] = [3, 5, 10];

/// The columns of the tables of TPC-H.
const TABLES: &str = include_str!("../../../sql/tests/real/tpch.tables");

#[tokio::main]
async fn main() -> Result<()> {
    let filters: Vec<String> = std::env::args().skip(1).collect();
    let is_selected = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    println!("| query | data | workers | division | rows received / rows of inputs | MB | largest / mean |");
    println!("|---|---|---|---|---|---|---|");
    for graph in GRAPHS {
        let database = Session::default().database();
        let file = format!("graphs/{graph}.mtx.zst");
        database.register_file("g", &dataset(&file).with_context(|| missing_file(&file))?).await?;
        // The table has rows in memory, as tables of files do; a tensor is sent to all workers.
        run(&database, "CREATE TABLE e AS SELECT i0 AS src, i1 AS dst FROM g").await?;
        run(&database, "SET redpoll.claim = 'always'").await?;
        for (pattern, sql, joined) in PATTERNS.iter().filter(|(name, ..)| is_selected(name)) {
            if let Some(joined) = joined {
                let edges = count(&database, "SELECT count(*) FROM e").await?;
                let shuffled = 3 * edges + count(&database, joined).await?;
                println!("| {pattern} | {graph} | any | DataFusion's joins | {:.2} | | |", ratio(shuffled, edges));
            }
            print_loads(&database, (pattern, graph), sql).await?;
        }
    }
    let folder = "tables/tpch_sf0.01";
    let folder = dataset(folder).with_context(|| missing_file(folder))?;
    let plain = tempfile::tempdir()?;
    let database = tpch(&folder, plain.path()).await?;
    for (name, k) in TPCH.map(|k| (format!("TPC-H {k}"), k)).iter().filter(|(name, _)| is_selected(name)) {
        let sql = unpacked(&folder.join(format!("queries/q{k:02}.sql.zst")))?;
        let sql = sql.trim().trim_end_matches(';');
        let rows = print_loads(&database, (name, "scale 0.01"), sql).await?;
        let shuffled = shuffled_rows(&database, sql).await?;
        println!("| {name} | scale 0.01 | any | DataFusion's joins | {:.2} | | |", ratio(shuffled as u64, rows));
    }
    Ok(())
}

async fn run(database: &Database, sql: &str) -> Result<()> {
    database.sql(sql).await?.collect().await?;
    Ok(())
}

fn unpacked(path: &Path) -> Result<String> {
    let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
    Ok(String::from_utf8(zstd::decode_all(file)?)?)
}

/// Returns a database with the tables of TPC-H, which are unpacked to the folder `plain`.
async fn tpch(folder: &Path, plain: &Path) -> Result<Database> {
    let database = Session::default().database();
    for (table, columns) in TABLES.lines().filter_map(|line| line.split_once(": ")) {
        let file = plain.join(format!("{table}.csv"));
        std::fs::write(&file, unpacked(&folder.join(format!("{table}.csv.zst")))?)?;
        let create = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV LOCATION '{}' OPTIONS ('format.has_header' 'true')",
            file.display()
        );
        run(&database, &create).await?;
    }
    Ok(database)
}

/// Returns the number that a query counts.
async fn count(database: &Database, sql: &str) -> Result<u64> {
    let rows = database.sql(sql).await?.collect().await?;
    let column = rows.first().context("a count has a row")?.column(0);
    Ok(array_value_to_string(column, 0)?.parse()?)
}

fn ratio(rows: u64, of: u64) -> f64 {
    rows as f64 / of as f64
}

/// Prints the loads of a query for all numbers of workers, and returns the number of rows of the
/// inputs.
async fn print_loads(database: &Database, (query, data): (&str, &str), sql: &str) -> Result<u64> {
    run(database, "SET redpoll.claim = 'always'").await?;
    let mut inputs = 0;
    for workers in WORKERS.into_iter().filter_map(NonZero::new) {
        for load in database.loads(sql, workers).await? {
            // One worker that reads all rows reads each once.
            let is_whole = load.division.is_empty();
            inputs = if is_whole { load.rows } else { inputs };
            println!(
                "| {query} | {data} | {workers} | {}{} | {:.2} | {:.1} | {:.2} |",
                if is_whole { "one worker" } else { &load.division },
                if load.is_chosen { " (chosen)" } else { "" },
                ratio(load.rows, inputs),
                load.bytes as f64 / 1e6,
                ratio(load.largest * workers.get() as u64, load.rows),
            );
        }
    }
    Ok(inputs)
}

/// Runs a query in DataFusion with hash joins over partitions, and returns the number of rows that
/// the plan distributes by a hash.
async fn shuffled_rows(database: &Database, sql: &str) -> Result<usize> {
    let settings = |enabled: bool, threshold: usize| {
        [
            format!("SET redpoll.enabled = {enabled}"),
            format!("SET datafusion.optimizer.hash_join_single_partition_threshold = {threshold}"),
            format!("SET datafusion.optimizer.hash_join_single_partition_threshold_rows = {threshold}"),
        ]
    };
    for setting in settings(false, 0) {
        run(database, &setting).await?;
    }
    let plan = database.sql(sql).await?.create_physical_plan().await?;
    collect(plan.clone(), database.context().task_ctx()).await?;
    for setting in settings(true, 1 << 17) {
        run(database, &setting).await?;
    }
    Ok(rows_by_hash(&plan))
}

/// Returns the number of rows that a plan has distributed by a hash.
fn rows_by_hash(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let below: usize = plan.children().into_iter().map(rows_by_hash).sum();
    let is_hashed = |plan: &RepartitionExec| matches!(plan.partitioning(), Partitioning::Hash(..));
    let rows = match plan.downcast_ref::<RepartitionExec>().is_some_and(is_hashed) {
        true => plan.metrics().and_then(|metrics| metrics.output_rows()).unwrap_or(0),
        false => 0,
    };
    below + rows
}
