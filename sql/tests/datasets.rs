//! Pattern counts on real graphs and joins of real tables: claimed, beside plain DataFusion.
//!
//! The files lie in the folder that `REDPOLL_DATASETS` names, or in `shared/datasets` beside the checkout; without them there
//! is nothing to test. `REDPOLL_SQL_LARGE=1` takes the larger graphs, too, and all rows of the tables.

mod common;

use common::{agree, database, run};
use redpoll::sql::Database;
use std::path::{Path, PathBuf};

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets");
    let folder = std::env::var_os("REDPOLL_DATASETS").map_or_else(beside, PathBuf::from);
    if !folder.is_dir() {
        eprintln!("no data sets in {}: nothing to check", folder.display());
        return None;
    }
    Some(folder)
}

fn is_large() -> bool {
    std::env::var_os("REDPOLL_SQL_LARGE").is_some()
}

/// What the queries of a place have come to.
#[derive(Default)]
struct Found {
    claimed: Vec<String>,
    left: Vec<String>,
    failures: Vec<String>,
}

impl Found {
    async fn check(&mut self, database: &Database, name: &str, sql: &str) {
        match agree(database, sql).await {
            Ok(0) => self.left.push(name.to_string()),
            Ok(_) => self.claimed.push(name.to_string()),
            Err(why) => self.failures.push(format!("{name}: {why}")),
        }
    }

    fn tell(&self, what: &str) {
        eprintln!("{what}: claimed {}; left {}", self.claimed.join(", "), self.left.join(", "));
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n\n"));
    }
}

/// Counts of patterns in a graph `e(src, dst)`.
const PATTERNS: [(&str, &str); 12] = [
    ("triangles", "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src"),
    (
        "ordered triangles",
        "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.dst AND a.src = c.src \
         AND a.src < a.dst AND b.src < b.dst",
    ),
    (
        "4-cycles",
        "SELECT count(*) FROM e a, e b, e c, e d WHERE a.dst = b.src AND b.dst = c.src AND c.dst = d.src AND d.dst = a.src \
         AND a.src <> b.dst AND b.src <> c.dst",
    ),
    (
        "4-cliques",
        "SELECT count(*) FROM e ab, e ac, e ad, e bc, e bd, e cd WHERE ab.src = ac.src AND ac.src = ad.src \
         AND ab.dst = bc.src AND bc.src = bd.src AND ac.dst = bc.dst AND bc.dst = cd.src AND ad.dst = bd.dst \
         AND bd.dst = cd.dst AND ab.src < ab.dst AND bc.src < bc.dst AND cd.src < cd.dst",
    ),
    (
        "tailed triangles",
        "SELECT count(*) FROM e a, e b, e c, e d WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src AND d.src = a.src",
    ),
    (
        "diamonds",
        "SELECT count(*) FROM e a, e b, e c, e d, e m WHERE a.src = m.src AND b.dst = m.dst AND a.dst = b.src \
      AND c.src = m.src AND d.dst = m.dst AND c.dst = d.src AND a.dst < c.dst",
    ),
    ("paths of 3", "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src"),
    ("stars of 3", "SELECT a.src, count(*) FROM e a, e b, e c WHERE a.src = b.src AND b.src = c.src GROUP BY a.src"),
    ("2 hops", "SELECT a.src, count(*), count(DISTINCT b.dst) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src"),
    (
        "triangles a node",
        "SELECT a.src, count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src GROUP BY a.src",
    ),
    (
        "common neighbours",
        "SELECT a.src, b.src, count(*) FROM e a JOIN e b ON a.dst = b.dst WHERE a.src < b.src GROUP BY a.src, b.src",
    ),
    (
        "wedges that are open",
        "SELECT count(*) FROM e a JOIN e b ON a.dst = b.src WHERE NOT EXISTS \
         (SELECT 1 FROM e c WHERE c.src = a.src AND c.dst = b.dst)",
    ),
];

/// Protects the counts of patterns on graphs of several kinds, which are tensors.
#[tokio::test]
async fn patterns_of_graphs_are_counted() {
    let Some(folder) = folder() else { return };
    let small = ["karate", "dolphins", "chesapeake", "nk_lesmis", "polbooks"];
    let large = ["nk_jazz", "netscience", "nk_celegans_metabolic", "email-Eu-core"];
    let graphs = small.iter().chain(large.iter().filter(|_| is_large()));
    for graph in graphs {
        let database = database().await;
        let file = folder.join(format!("graphs/{graph}.mtx.zst"));
        database.register_file("g", &file).await.unwrap();
        let mut found = Found::default();
        // The names of the columns do not matter; with them the queries read better.
        run(&database, "CREATE VIEW e AS SELECT i0 AS src, i1 AS dst FROM g").await.unwrap();
        for (name, sql) in PATTERNS {
            found.check(&database, name, sql).await;
        }
        found.tell(graph);
        assert_eq!(found.left, ["wedges that are open"], "{graph}: other patterns are to be claimed");
    }
}

/// Names with what they stand for.
type Named = &'static [(&'static str, &'static str)];

/// Folders with their tables, a file each, and the queries over them.
const TABLES: [(&str, Named, Named); 6] = [
    (
        "ldbc_snb_sf0.1",
        &[
            ("person", "Person"),
            ("knows", "Person_knows_Person"),
            ("interest", "Person_hasInterest_Tag"),
            ("located", "Person_isLocatedIn_Place"),
            ("part", "Place_isPartOf_Place"),
            ("tag", "Tag"),
        ],
        &[
            (
                "friends of friends",
                "SELECT a.\"Person_src\", count(*) FROM knows a JOIN knows b ON a.\"Person_dst\" = b.\"Person_src\" GROUP BY 1",
            ),
            (
                "triangles of friends",
                "SELECT count(*) FROM knows a, knows b, knows c WHERE a.\"Person_dst\" = b.\"Person_src\" \
                 AND b.\"Person_dst\" = c.\"Person_dst\" AND a.\"Person_src\" = c.\"Person_src\"",
            ),
            (
                "tags that friends share",
                "SELECT x.\"Tag_dst\", count(*) FROM knows k, interest x, interest y WHERE k.\"Person_src\" = x.\"Person_src\" \
                 AND k.\"Person_dst\" = y.\"Person_src\" AND x.\"Tag_dst\" = y.\"Tag_dst\" GROUP BY 1",
            ),
            (
                "browsers by place",
                "SELECT part.\"Place_dst\", person.\"browserUsed\", count(*), min(person.birthday), max(person.birthday) \
                 FROM person, located, part WHERE person.id = located.\"Person_src\" \
                 AND located.\"Place_dst\" = part.\"Place_src\" GROUP BY 1, 2",
            ),
        ],
    ),
    (
        "lahman",
        &[("people", "People"), ("college", "CollegePlaying"), ("schools", "Schools"), ("salaries", "Salaries")],
        &[
            (
                "players of schools",
                "SELECT s.state, count(*), count(DISTINCT c.\"playerID\") FROM college c JOIN schools s \
                 ON c.\"schoolID\" = s.\"schoolID\" GROUP BY s.state",
            ),
            (
                "salaries by school",
                "SELECT c.\"schoolID\", sum(m.salary), count(m.salary), max(m.salary) FROM college c JOIN salaries m \
                 ON c.\"playerID\" = m.\"playerID\" GROUP BY c.\"schoolID\"",
            ),
            (
                "born in the same town",
                "SELECT a.\"birthCountry\", count(*) FROM people a JOIN people b ON a.\"birthCity\" = b.\"birthCity\" \
                 AND a.\"birthYear\" = b.\"birthYear\" WHERE a.\"playerID\" < b.\"playerID\" GROUP BY 1",
            ),
            (
                "paid at the same time",
                "SELECT count(*), sum(CAST(a.salary AS DOUBLE) * b.salary) FROM salaries a JOIN salaries b \
                 ON a.\"teamID\" = b.\"teamID\" AND a.\"yearID\" = b.\"yearID\"",
            ),
        ],
    ),
    (
        "flights",
        &[("planes", "planes"), ("airports", "airports"), ("weather", "weather")],
        &[
            (
                "zones",
                "SELECT a.tz, count(*), avg(b.alt) FROM airports a JOIN airports b ON a.tzone = b.tzone GROUP BY a.tz",
            ),
            (
                "models",
                "SELECT a.manufacturer, count(*), max(b.seats) FROM planes a JOIN planes b ON a.model = b.model \
                 AND a.year = b.year GROUP BY a.manufacturer",
            ),
        ],
    ),
    (
        "hin_yelp",
        &[("rated", "user_business"), ("category", "business_category"), ("city", "business_city")],
        &[
            (
                "ratings by category",
                "SELECT c.category, count(*), avg(CAST(r.rating AS DOUBLE)) FROM rated r JOIN category c \
                 ON r.business = c.business GROUP BY c.category",
            ),
            (
                "who rated the same",
                "SELECT a.\"user\", count(*) FROM rated a JOIN rated b ON a.business = b.business \
                 WHERE a.\"user\" < 300 AND b.\"user\" < 300 GROUP BY 1",
            ),
            (
                "cities with categories",
                "SELECT city.city, count(*), count(DISTINCT c.category) FROM city JOIN category c \
                 ON city.business = c.business GROUP BY city.city",
            ),
        ],
    ),
    (
        "openflights",
        &[("routes", "routes"), ("airports", "airports"), ("airlines", "airlines")],
        &[
            (
                "one stop",
                "SELECT a.src, b.dst, count(*) FROM routes a JOIN routes b ON a.dst = b.src WHERE a.src < 'B' AND b.dst < 'C' \
                 GROUP BY a.src, b.dst",
            ),
            (
                "countries",
                "SELECT x.country, y.country, count(*) FROM routes r JOIN airports x ON r.src = x.iata \
                 JOIN airports y ON r.dst = y.iata GROUP BY x.country, y.country",
            ),
        ],
    ),
    (
        "gtfs_nyc_subway",
        &[("trips", "trips"), ("routes", "routes"), ("stops", "stops"), ("transfers", "transfers")],
        &[
            (
                "trips by route",
                "SELECT r.route_long_name, count(*), count(DISTINCT t.service_id) FROM trips t JOIN routes r \
                 ON t.route_id = r.route_id GROUP BY 1",
            ),
            (
                "transfers by name",
                "SELECT a.stop_name, count(*) FROM transfers t JOIN stops a ON t.from_stop_id = a.stop_id \
                 JOIN stops b ON t.to_stop_id = b.stop_id WHERE a.stop_id <> b.stop_id GROUP BY 1",
            ),
        ],
    ),
];

/// Protects real keys, strings and NULLs: joins of tables as they are found.
#[tokio::test]
async fn real_tables_are_joined() {
    let Some(folder) = folder() else { return };
    for (place, tables, queries) in TABLES {
        let database = database().await;
        for (table, file) in tables {
            let path = folder.join(format!("tables/{place}/{file}.csv.zst"));
            database.register_file(&format!("{table}_all"), &path).await.unwrap();
            let rows = if is_large() { "" } else { " LIMIT 20000" };
            run(&database, &format!("CREATE TABLE {table} AS SELECT * FROM {table}_all{rows}")).await.unwrap();
        }
        let mut found = Found::default();
        for (name, sql) in queries {
            found.check(&database, name, sql).await;
        }
        found.tell(place);
        assert_eq!(found.left, Vec::<String>::new(), "{place}: to be claimed");
    }
}
