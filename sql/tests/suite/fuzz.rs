//! Random aggregates over random joins of random tables with NULLs and duplicates, beside plain DataFusion.
//!
//! `REDPOLL_SQL_CASES` says how many; `REDPOLL_SQL_SEED` where they start.

use crate::common::{agree, database, run};
use redpoll::sql::Database;

/// A generator of random numbers (xorshift), so that a seed gives the same cases everywhere.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// The columns of every table, with what makes a value of each.
const COLUMNS: [(&str, &str); 9] = [
    ("k", "BIGINT"),
    ("j", "BIGINT"),
    ("i", "INT"),
    ("s", "VARCHAR"),
    ("d", "DATE"),
    ("b", "BOOLEAN"),
    ("v", "BIGINT"),
    ("x", "DOUBLE"),
    ("p", "DECIMAL(12,2)"),
];

const KEYS: [&str; 6] = ["k", "j", "i", "s", "d", "b"];

fn value(rng: &mut Rng, ty: &str) -> String {
    if rng.chance(15) {
        return "NULL".into();
    }
    let n = rng.below(5);
    match ty {
        "VARCHAR" => format!("'{}'", ["", "a", "b", "ab", "c"][n as usize]),
        "DATE" => format!("DATE '2024-01-0{}'", n + 1),
        "BOOLEAN" => if n.is_multiple_of(2) { "true" } else { "false" }.into(),
        "DOUBLE" if rng.chance(4) => ["'inf'", "'-inf'", "'nan'"][(n % 3) as usize].into(),
        "DOUBLE" => format!("{}", [0.5, -1.0, 2.0, 0.0, 3.25][n as usize]),
        "DECIMAL(12,2)" => ["1.25", "-0.50", "10.00", "0.00", "99.99"][n as usize].into(),
        _ if ty == "BIGINT" && rng.chance(3) => {
            ["9223372036854775807", "-9223372036854775808"][(n % 2) as usize].into()
        }
        _ => format!("{}", n as i64 - 1),
    }
}

async fn tables(database: &Database, rng: &mut Rng) -> Vec<String> {
    let mut statements = Vec::new();
    for table in 0..4 {
        let rows = if rng.chance(5) { 0 } else { 1 + rng.below(14) };
        let row = |rng: &mut Rng| {
            let values: Vec<String> =
                COLUMNS.iter().map(|(_, ty)| format!("CAST({} AS {ty})", value(rng, ty))).collect();
            format!("({})", values.join(","))
        };
        let mut all: Vec<String> = Vec::new();
        for _ in 0..rows.max(1) {
            let again = !all.is_empty() && rng.chance(20);
            let next = if again { rng.pick(&all).clone() } else { row(rng) };
            all.push(next);
        }
        let filter = if rows == 0 { " WHERE false" } else { "" };
        let names: Vec<String> =
            COLUMNS.iter().enumerate().map(|(k, (name, _))| format!("column{} AS {name}", k + 1)).collect();
        statements.push(format!(
            "CREATE OR REPLACE TABLE t{table} AS SELECT {} FROM (VALUES {}){filter}",
            names.join(", "),
            all.join(",")
        ));
    }
    for statement in &statements {
        run(database, statement).await.unwrap_or_else(|e| panic!("{statement}\n{e}"));
    }
    statements
}

fn predicate(rng: &mut Rng, table: &str) -> String {
    match rng.below(7) {
        0 => format!("{table}.v > {}", rng.below(4)),
        1 => format!("{table}.s = 'a'"),
        2 => format!("{table}.x IS NOT NULL"),
        3 => format!("{table}.k IS NULL"),
        4 => format!("{table}.d >= DATE '2024-01-02'"),
        5 => format!("{table}.i + 1 < {}", rng.below(4)),
        _ => format!("({table}.b OR {table}.s LIKE '%b')"),
    }
}

fn aggregate(rng: &mut Rng, tables: &[String]) -> String {
    let (a, b) = (rng.pick(tables).clone(), rng.pick(tables).clone());
    let filter = if rng.chance(10) { format!(" FILTER (WHERE {})", predicate(rng, &b)) } else { String::new() };
    let key = rng.pick(&KEYS);
    let call = match rng.below(29) {
        0 | 1 => "count(*)".to_string(),
        2 => format!("count({a}.{key})"),
        3 => format!("count(DISTINCT {a}.{key})"),
        4 => format!("sum({a}.v)"),
        5 => format!("sum({a}.x)"),
        6 => format!("sum({a}.v * {b}.v)"),
        7 => format!("sum({a}.x * {b}.x)"),
        8 => format!("sum({a}.v + 2 * {b}.k)"),
        9 => format!("sum({a}.v * {b}.k - {b}.v)"),
        10 => format!("min({a}.{key})"),
        11 => format!("max({a}.{key})"),
        12 => format!("avg({a}.x)"),
        13 => format!("avg({a}.i)"),
        14 => format!("sum(CASE WHEN {a}.v > 1 THEN {a}.v ELSE 0 END)"),
        15 => format!("bool_or({a}.b)"),
        16 => format!("bool_and({a}.b)"),
        17 => format!("sum({a}.p)"),
        18 => format!("max({a}.x)"),
        19 => format!("sum({a}.p * {b}.p)"),
        20 => format!("avg({a}.p * {b}.p - {b}.p)"),
        21 => format!("sum(DISTINCT {a}.v)"),
        22 => format!("avg(DISTINCT {a}.i)"),
        23 => format!("sum(DISTINCT {a}.p)"),
        24 => format!("sum(DISTINCT {a}.i + {a}.k)"),
        25 => format!("sum(coalesce({a}.v, 1) + coalesce({b}.v, 0))"),
        26 => format!("sum({a}.k * coalesce({b}.i, 3))"),
        27 => format!("max(coalesce({a}.s, 'none'))"),
        _ => format!("sum({a}.i)"),
    };
    format!("{call}{filter}")
}

fn query(rng: &mut Rng) -> String {
    let count = 1 + rng.below(4) as usize;
    let names: Vec<String> = (0..count).map(|k| format!("q{k}")).collect();
    let mut from = format!("t{} q0", rng.below(4));
    for (k, name) in names.iter().enumerate().skip(1) {
        let other = rng.pick(&names[..k]).clone();
        let key = *rng.pick(&KEYS);
        let mut on = match key {
            "k" if rng.chance(30) => format!("{name}.k = {other}.j"),
            "i" if rng.chance(30) => format!("{name}.i = {other}.k"),
            key => format!("{name}.{key} = {other}.{key}"),
        };
        if rng.chance(25) {
            let third = rng.pick(&names[..k]).clone();
            let key = rng.pick(&KEYS);
            on += &format!(" AND {name}.{key} = {third}.{key}");
        }
        if rng.chance(15) {
            let comparison = rng.pick(&["<", "<=", ">", ">=", "<>"]);
            let key = rng.pick(&KEYS[..5]);
            on += &format!(" AND {name}.{key} {comparison} {other}.{key}");
        }
        from += &match rng.below(20) {
            0 => format!(" CROSS JOIN t{} {name}", rng.below(4)),
            1..=3 => format!(" LEFT JOIN t{} {name} ON {on}", rng.below(4)),
            4 => format!(" RIGHT JOIN t{} {name} ON {on}", rng.below(4)),
            5..=6 => format!(" FULL JOIN t{} {name} ON {on}", rng.below(4)),
            _ => format!(" JOIN t{} {name} ON {on}", rng.below(4)),
        };
    }
    let mut wheres = Vec::new();
    for _ in 0..rng.below(3) {
        let table = rng.pick(&names).clone();
        wheres.push(predicate(rng, &table));
    }
    if rng.chance(20) {
        let (table, key, t) = (rng.pick(&names).clone(), *rng.pick(&KEYS), rng.below(4));
        let not = if rng.chance(20) { "NOT " } else { "" };
        let more = if rng.chance(40) { format!(" AND z.v <> {table}.v") } else { String::new() };
        wheres.push(match rng.below(2) {
            0 => format!("{not}EXISTS (SELECT 1 FROM t{t} z WHERE z.{key} = {table}.{key}{more})"),
            _ => format!("{table}.{key} {not}IN (SELECT {key} FROM t{t} z WHERE z.x > 0)"),
        });
    }
    let wheres = if wheres.is_empty() { String::new() } else { format!(" WHERE {}", wheres.join(" AND ")) };
    let mut groups: Vec<String> = Vec::new();
    for _ in 0..rng.below(4) {
        let table = rng.pick(&names).clone();
        let group = match rng.below(8) {
            0 => format!("{table}.k + 1"),
            1 => format!("{table}.i % 2"),
            2 if names.len() > 1 => {
                let key = rng.pick(&KEYS);
                format!("coalesce({}.{key}, {}.{key})", names[0], names[1])
            }
            _ => format!("{table}.{}", rng.pick(&KEYS)),
        };
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let count = rng.below(4) + u64::from(groups.is_empty());
    let aggregates: Vec<String> = (0..count).map(|k| format!("{} AS a{k}", aggregate(rng, &names))).collect();
    let select: Vec<String> = groups.iter().cloned().chain(aggregates).collect();
    if groups.is_empty() {
        return format!("SELECT {} FROM {from}{wheres}", select.join(", "));
    }
    let having = if rng.chance(15) { " HAVING count(*) > 1" } else { "" };
    format!("SELECT {} FROM {from}{wheres} GROUP BY {}{having}", select.join(", "), groups.join(", "))
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Protects the semantics of everything that is claimed.
#[tokio::test]
async fn random_queries_agree() {
    let (cases, seed) = (number("REDPOLL_SQL_CASES", 120), number("REDPOLL_SQL_SEED", 1));
    let database = database().await;
    let (mut claimed, mut failures) = (0, Vec::new());
    let mut made = Vec::new();
    for case in 0..cases {
        let mut rng = Rng((seed + case).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| {
            rng.next();
        });
        if case % 8 == 0 {
            made = tables(&database, &mut rng).await;
        }
        let sql = query(&mut rng);
        match agree(&database, &sql).await {
            Ok(regions) => claimed += usize::from(regions > 0),
            Err(why) => failures.push(format!("case {case}: {why}\n{}", made.join(";\n"))),
        }
        if failures.len() > 3 {
            break;
        }
    }
    eprintln!("{claimed} of {cases} queries were claimed");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(5 * claimed > 2 * cases as usize, "just {claimed} of {cases} queries were claimed");
}
