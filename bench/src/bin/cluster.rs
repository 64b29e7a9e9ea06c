//! Prints the rows that workers of a cluster would receive for triangles, 4-cliques, co-occurrences and
//! queries of TPC-H, for each division of the region, counted exactly (`Database::loads`).
//!
//! Arguments select the queries whose names contain one of them; without arguments, all run. The data
//! are in the folder that `REDPOLL_DATASETS` names, or in `shared/datasets` next to the checkout.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::{Context, Result};
use redpoll::Session;
use redpoll::sql::Database;
use redpoll_bench::data::datasets_folder;
use std::num::NonZero;

/// The numbers of workers.
const WORKERS: [usize; 5] = [4, 16, 64, 256, 1000];

/// The graphs.
const GRAPHS: [&str; 3] = ["ca-CondMat", "musae-git", "ego-Twitter"];

/// The patterns in graphs, as the condition of a count over edges with the given aliases.
const PATTERNS: [(&str, &str); 3] = [
    ("triangles", "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src"),
    (
        "4-cliques",
        "SELECT count(*) FROM e a, e b, e c, e d, e f, e g WHERE a.src = b.src AND a.src = c.src AND a.dst = d.src \
         AND b.dst = d.dst AND a.dst = f.src AND c.dst = f.dst AND b.dst = g.src AND c.dst = g.dst",
    ),
    ("co-occurrence", "SELECT a.dst, b.dst, count(*) FROM e a JOIN e b ON a.src = b.src GROUP BY a.dst, b.dst"),
];

#[tokio::main]
async fn main() -> Result<()> {
    let filters: Vec<String> = std::env::args().skip(1).collect();
    let is_selected = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    let folder = datasets_folder().context("no data: set REDPOLL_DATASETS")?;
    println!("| query | data | workers | division | chosen | rows sent / rows | bytes sent | largest / mean |");
    println!("|---|---|---|---|---|---|---|---|");
    for graph in GRAPHS {
        let session = Session::default();
        session.register_file("g", folder.join(format!("graphs/{graph}.mtx.zst")))?;
        // Tensors would be sent to all workers as they are. The edges of a pattern go upwards.
        session.sql("CREATE TABLE e AS SELECT i0 AS src, i1 AS dst FROM g")?;
        for (pattern, sql) in PATTERNS.iter().filter(|(name, _)| is_selected(name)) {
            print_loads(&session.database(), (pattern, graph), sql).await?;
        }
    }
    Ok(())
}

/// Prints the loads of a query for all numbers of workers.
async fn print_loads(database: &Database, (query, data): (&str, &str), sql: &str) -> Result<()> {
    database.sql("SET redpoll.claim = 'always'").await?.collect().await?;
    let mut table = None;
    for workers in WORKERS.into_iter().filter_map(NonZero::new) {
        for load in database.loads(sql, workers).await? {
            // One worker that reads everything receives each row of the inputs once.
            let rows = *table.get_or_insert(load.rows) as f64;
            println!(
                "| {query} | {data} | {workers} | {} | {} | {:.2} | {:.1} MB | {:.2} |",
                if load.division.is_empty() { "one worker" } else { &load.division },
                if load.is_chosen { "yes" } else { "" },
                load.rows as f64 / rows,
                load.bytes as f64 / 1e6,
                load.largest as f64 * workers.get() as f64 / load.rows as f64,
            );
        }
    }
    Ok(())
}
