//! A session of queries that count the rows of joins over five tables. The session imitates a
//! person or a program that explores data: the queries differ in their tables, joins and constants.
//! The tables and queries are modelled on STATS-CEB (Han et al., Cardinality Estimation in DBMS: A
//! Comprehensive Benchmark Evaluation, VLDB 2022).

use crate::rng::named;
use redpoll_logic::testing::Rng;
use std::fmt::Write;

/// A table of the session.
struct SessionTable {
    name: &'static str,
    /// Number of rows at a scale of 100 percent.
    rows: u64,
    /// The columns that refer to rows of another table: name, table, skew.
    references: &'static [(&'static str, &'static str, u64)],
    /// The other columns: name, number of values, skew.
    attributes: &'static [(&'static str, u64, u64)],
}

/// The tables, each after the tables that it refers to. With a skew of `s`, a value is the smallest
/// of `s` drawn values.
const TABLES: [SessionTable; 5] = [
    SessionTable {
        name: "users",
        rows: 8_000,
        references: &[],
        attributes: &[("reputation", 10_000, 3), ("upvotes", 500, 3), ("views", 300, 2), ("joined", 3_000, 1)],
    },
    SessionTable {
        name: "posts",
        rows: 20_000,
        references: &[("owner", "users", 2)],
        attributes: &[("kind", 4, 2), ("score", 60, 2), ("views", 4_000, 3), ("answers", 12, 2), ("created", 3_000, 1)],
    },
    SessionTable {
        name: "comments",
        rows: 30_000,
        references: &[("post", "posts", 2), ("author", "users", 2)],
        attributes: &[("score", 20, 3), ("created", 3_000, 1)],
    },
    SessionTable {
        name: "votes",
        rows: 24_000,
        references: &[("post", "posts", 2), ("author", "users", 2)],
        attributes: &[("kind", 12, 2), ("bounty", 10, 4), ("created", 3_000, 1)],
    },
    SessionTable {
        name: "badges",
        rows: 8_000,
        references: &[("owner", "users", 2)],
        attributes: &[("class", 3, 1), ("awarded", 3_000, 1)],
    },
];

/// Returns the names of the session's tables and the queries that compute their rows, in the
/// dialect of DataFusion. If `percent` is 100, the tables have 90,000 rows in total.
pub fn session_tables(percent: u64) -> Vec<(&'static str, String)> {
    let rows = |table: &SessionTable| (table.rows * percent / 100).max(1);
    // A multiplicative hash of the row number.
    let draw = |salt: u64, values: u64| {
        let factor = 2_654_435_761u64.wrapping_mul(2 * salt + 1) % 1_000_000_007;
        format!("(((value + {salt}) * {factor}) % 1000000007) % {values}")
    };
    let column = |salt: &mut u64, values: u64, skew: u64| {
        let draws: Vec<String> = (0..skew)
            .map(|_| {
                *salt += 1;
                draw(*salt, values)
            })
            .collect();
        if draws.len() == 1 { draws.concat() } else { format!("least({})", draws.join(", ")) }
    };
    let mut salt = 0;
    let select = |table: &SessionTable| {
        let mut columns = vec!["value AS id".to_owned()];
        for (name, target, skew) in table.references {
            let target = TABLES.iter().find(|other| other.name == *target).expect("a reference to a listed table");
            columns.push(format!("{} AS {name}", column(&mut salt, rows(target), *skew)));
        }
        for (name, values, skew) in table.attributes {
            columns.push(format!("{} AS {name}", column(&mut salt, *values, *skew)));
        }
        (table.name, format!("SELECT {} FROM generate_series(0, {})", columns.join(", "), rows(table) - 1))
    };
    TABLES.iter().map(select).collect()
}

/// Returns `count` different queries of a session. Each query counts the rows of a join of two to
/// five tables along references, with conditions on attributes.
pub fn session_queries(count: usize, seed: u64) -> Vec<String> {
    let mut rng = named("session", seed);
    let mut queries = Vec::new();
    while queries.len() < count {
        let query = query(&mut rng);
        if !queries.contains(&query) {
            queries.push(query);
        }
    }
    queries
}

/// Returns the columns that refer to the rows of `target` or are the key of `target`, each with the
/// index of its table.
fn keys_of(target: &str) -> Vec<(usize, &'static str)> {
    let mut keys = Vec::new();
    for (k, table) in TABLES.iter().enumerate() {
        if table.name == target {
            keys.push((k, "id"));
        }
        keys.extend(table.references.iter().filter(|(_, to, _)| *to == target).map(|(name, ..)| (k, *name)));
    }
    keys
}

fn query(rng: &mut Rng) -> String {
    let mut tables = vec![rng.index(TABLES.len())];
    let size = 2 + rng.index(4);
    let mut joins = Vec::new();
    while tables.len() < size {
        // Join a chosen table with another table, on keys that refer to the same table.
        let keys = keys_of(rng.pick::<&str>(&["users", "posts"]));
        let (inside, outside): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(table, _)| tables.contains(table));
        if inside.is_empty() || outside.is_empty() {
            continue;
        }
        let ((a, left), (b, right)) = (*rng.pick(&inside), *rng.pick(&outside));
        joins.push(format!("{}.{left} = {}.{right}", TABLES[a].name, TABLES[b].name));
        tables.push(b);
    }
    let mut conditions = joins;
    for &table in &tables {
        let SessionTable { name, attributes, .. } = &TABLES[table];
        for (attribute, values, _) in rng.shuffled(attributes.to_vec()).into_iter().take(rng.index(3)) {
            let bound = rng.below(values);
            conditions.push(match rng.index(4) {
                0 => format!("{name}.{attribute} >= {}", bound / 2),
                1 => format!("{name}.{attribute} <= {bound}"),
                2 => format!("{name}.{attribute} = {}", bound / 8),
                _ => format!("{name}.{attribute} BETWEEN {} AND {}", bound / 3, bound),
            });
        }
    }
    let names: Vec<&str> = tables.iter().map(|&table| TABLES[table].name).collect();
    let mut sql = format!("SELECT count(*) FROM {}", names.join(", "));
    let _ = write!(sql, " WHERE {}", conditions.join(" AND "));
    sql
}
