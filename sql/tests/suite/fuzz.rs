//! Random aggregates over random joins of random tables with NULLs and duplicates, beside plain DataFusion.
//!
//! Tables are of any rows, or hold every key just once, or none; their columns are plain arrays, views, dictionaries, runs or
//! nothing but NULLs; one is a file that is declared again with other options, two are tensors.
//!
//! `REDPOLL_SQL_CASES` says how many; `REDPOLL_SQL_SEED` where they start.

use crate::arrays::{kinds_of_text, register};
use crate::common::{agree, database, run};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, NullArray};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::DataType;
use redpoll::Session;
use redpoll::logic::Format;
use redpoll::sql::{Database, datafusion};
use std::path::Path;
use std::sync::Arc;

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

/// The tables that queries read: five of rows, the last one a file.
const TABLES: u64 = 5;

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

/// What the rows of a table are.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Rows {
    /// Any, with duplicates and NULLs.
    Any,
    /// One for each of the first keys, which are all that other tables have, or nearly.
    Keys,
    /// None.
    Empty,
    /// Some that are NULL in all columns but one.
    Nulls,
}

/// The rows of a table as SQL, each a list of values.
fn random_rows(rng: &mut Rng, kind: Rows) -> Vec<Vec<String>> {
    let cast = |value: String, ty: &str| format!("CAST({value} AS {ty})");
    let row = |rng: &mut Rng| COLUMNS.iter().map(|(_, ty)| cast(value(rng, ty), ty)).collect::<Vec<_>>();
    let count = match kind {
        Rows::Any => 1 + rng.below(14),
        Rows::Keys => 5 + rng.below(2),
        Rows::Empty => 1,
        Rows::Nulls => 1 + rng.below(4),
    };
    let mut all: Vec<Vec<String>> = Vec::new();
    for k in 0..count {
        let again = kind == Rows::Any && !all.is_empty() && rng.chance(20);
        let mut next = if again { rng.pick(&all).clone() } else { row(rng) };
        match kind {
            Rows::Keys => {
                // The keys of other tables, in their order, each once.
                let n = k as i64;
                for (column, (name, ty)) in COLUMNS.iter().enumerate() {
                    match *name {
                        "k" | "j" | "i" => next[column] = cast((n - 1).to_string(), ty),
                        "s" => next[column] = cast(format!("'{}'", ["", "a", "b", "ab", "c", "d"][k as usize]), ty),
                        "d" => next[column] = cast(format!("DATE '2024-01-0{}'", n + 1), ty),
                        _ => {}
                    }
                }
            }
            Rows::Nulls => {
                let kept = rng.below(COLUMNS.len() as u64) as usize;
                for (column, (_, ty)) in COLUMNS.iter().enumerate().filter(|(column, _)| *column != kept) {
                    next[column] = cast("NULL".into(), ty);
                }
            }
            Rows::Any | Rows::Empty => {}
        }
        all.push(next);
    }
    all
}

/// Declares the tables that queries read; gives what was done, as text.
async fn tables(database: &Database, rng: &mut Rng, folder: &Path) -> Vec<String> {
    let mut done = Vec::new();
    for table in 0..TABLES {
        let kind = match rng.below(10) {
            0..=4 => Rows::Any,
            5..=7 => Rows::Keys,
            8 => Rows::Empty,
            _ => Rows::Nulls,
        };
        let rows: Vec<String> = random_rows(rng, kind).iter().map(|row| format!("({})", row.join(","))).collect();
        let filter = if kind == Rows::Empty { " WHERE false" } else { "" };
        let names: Vec<String> =
            COLUMNS.iter().enumerate().map(|(k, (name, _))| format!("column{} AS {name}", k + 1)).collect();
        let select = format!("SELECT {} FROM (VALUES {}){filter}", names.join(", "), rows.join(","));
        let statements = match table + 1 < TABLES {
            true => vec![format!("CREATE OR REPLACE TABLE t{table} AS {select}")],
            false => of_file(rng, folder, table, &select),
        };
        for statement in &statements {
            run(database, statement).await.unwrap_or_else(|e| panic!("{statement}\n{e}"));
        }
        done.extend(statements);
        if table + 1 < TABLES {
            done.push(in_other_arrays(database, rng, table).await);
        }
    }
    done.extend(tensors(database, rng));
    done
}

/// The statements that declare a table of a file of CSV once more: the same file with other rows or options.
fn of_file(rng: &mut Rng, folder: &Path, table: u64, select: &str) -> Vec<String> {
    let file = folder.join("t.csv").display().to_string();
    let columns: Vec<String> =
        COLUMNS.iter().chain(&[("r", "VARCHAR")]).map(|(name, ty)| format!("{name} {ty}")).collect();
    let header = *rng.pick(&["true", "false"]);
    let mut statements = Vec::new();
    if rng.chance(60) || !folder.join("t.csv").exists() {
        statements
            .push(format!("COPY (SELECT *, s AS r FROM ({select})) TO '{file}' OPTIONS ('format.has_header' 'false')"));
    }
    statements.push(format!("DROP TABLE IF EXISTS t{table}"));
    // A first row that is taken for a header is none.
    statements.push(format!(
        "CREATE EXTERNAL TABLE t{table} ({}) STORED AS CSV LOCATION '{file}' OPTIONS ('format.has_header' '{header}')",
        columns.join(", ")
    ));
    statements
}

/// Stores columns of a table in other arrays, and adds the column `r`, which is `s` in any kind of array.
async fn in_other_arrays(database: &Database, rng: &mut Rng, table: u64) -> String {
    let rows = database.sql(&format!("SELECT * FROM t{table}")).await.unwrap();
    let schema = rows.schema().inner().clone();
    let rows = concat_batches(&schema, &rows.collect().await.unwrap()).unwrap();
    let text = cast(rows.column_by_name("s").unwrap(), &DataType::Utf8).unwrap();
    let mut kinds = kinds_of_text(&text.as_string::<i32>().iter().collect::<Vec<_>>());
    kinds.push(("nothing", Arc::new(NullArray::new(text.len()))));
    let (kind, column) = rng.pick(&kinds).clone();
    let mut shown = kind.to_owned();
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    for ((name, _), own) in COLUMNS.iter().zip(rows.columns()) {
        let is_plain = !rng.chance(30);
        columns.push((
            name,
            match *name {
                "s" if !is_plain => {
                    // The last two are no text for every function.
                    let (kind, column) = rng.pick(&kinds[..kinds.len() - 2]).clone();
                    shown += &format!(", s: {kind}");
                    column
                }
                _ => own.clone(),
            },
        ));
    }
    columns.push(("r", column));
    register(database, &format!("t{table}"), columns);
    format!("t{table}.r: {shown}")
}

/// Declares two tensors as tables: `m` with the columns k, j and v, and `e` without places in its first mode, at times.
fn tensors(database: &Database, rng: &mut Rng) -> Vec<String> {
    let session = Session::default();
    let mut done = Vec::new();
    for name in ["m", "e"] {
        let shape = if name == "e" && rng.chance(50) { [0, 3] } else { [1 + rng.below(4), 1 + rng.below(5)] };
        let mut places = std::collections::BTreeMap::new();
        if shape[0] > 0 {
            for _ in 0..rng.below(7) {
                places.insert([rng.below(shape[0]), rng.below(shape[1])], rng.below(9) as f64 - 4.0);
            }
        }
        done.push(format!("{name}: {shape:?} {places:?}"));
        let tensor = session.triples(shape, Format::csf(2), places).collect().unwrap();
        database.register_tensor(name, tensor, Some(["k", "j", "v"].map(String::from).to_vec())).unwrap();
    }
    done
}

fn predicate(rng: &mut Rng, table: &str) -> String {
    match rng.below(9) {
        7 => format!("{table}.r IS NOT NULL"),
        8 => format!("{table}.v IS NULL"),
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
    let call = match rng.below(33) {
        29 => format!("count({a}.r)"),
        30 => format!("count(DISTINCT {a}.r)"),
        31 => format!("count(DISTINCT {a}.{key})"),
        32 => format!("sum({a}.v) - sum({b}.k)"),
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

/// A condition that joins two tables by keys.
fn on(rng: &mut Rng, name: &str, names: &[String]) -> String {
    let other = rng.pick(names).clone();
    let key = *rng.pick(&KEYS);
    let equal = if rng.chance(7) { "IS NOT DISTINCT FROM" } else { "=" };
    let mut on = match key {
        "k" if rng.chance(30) => format!("({name}.k {equal} {other}.j)"),
        "i" if rng.chance(30) => format!("({name}.i {equal} {other}.k)"),
        "j" if rng.chance(15) => format!("({name}.j {equal} {other}.k + 1)"),
        "s" if rng.chance(15) => format!("({name}.r {equal} {other}.s)"),
        key => format!("({name}.{key} {equal} {other}.{key})"),
    };
    if rng.chance(25) {
        let third = rng.pick(names).clone();
        let key = rng.pick(&KEYS);
        on += &format!(" AND {name}.{key} = {third}.{key}");
    }
    if rng.chance(15) {
        let comparison = rng.pick(&["<", "<=", ">", ">=", "<>"]);
        let key = rng.pick(&KEYS[..5]);
        on += &format!(" AND {name}.{key} {comparison} {other}.{key}");
    }
    on
}

/// A condition on the rows of another table, with the key that it asks for.
fn membership(rng: &mut Rng, names: &[String]) -> (String, String) {
    let (table, key, t) = (rng.pick(names).clone(), *rng.pick(&KEYS), rng.below(TABLES));
    let own = format!("{table}.{key}");
    let not = if rng.chance(60) { "NOT " } else { "" };
    let more = match rng.below(8) {
        6 | 7 if key == "k" || key == "j" => {
            let comparison = rng.pick(&["<", "<=", ">", ">=", "<>"]);
            format!(" AND z.{key} {comparison} {}.{}", rng.pick(names), rng.pick(&["k", "j"]))
        }
        0 => format!(" AND z.v <> {table}.v"),
        1 => format!(" AND z.j = {}.j", rng.pick(names)),
        2 => format!(" AND {}", predicate(rng, "z")),
        _ => String::new(),
    };
    let condition = match rng.below(6) {
        0..=2 => format!("{not}EXISTS (SELECT 1 FROM t{t} z WHERE z.{key} = {own}{more})"),
        3 => format!("{own} {not}IN (SELECT z.{key} FROM t{t} z WHERE z.{key} IS NOT NULL)"),
        4 => format!("{own} {not}IN (SELECT {key} FROM t{t} z WHERE z.x > 0)"),
        _ => {
            let w = rng.below(TABLES);
            format!(
                "{not}EXISTS (SELECT 1 FROM t{t} z JOIN t{w} y ON z.j = y.j WHERE z.{key} = {own} AND y.k = {table}.k)"
            )
        }
    };
    (condition, own)
}

/// Rows that another table lets through or keeps out, grouped or counted by the key that is asked for.
fn kept_by_key(rng: &mut Rng) -> String {
    let (key, t, z) = (*rng.pick(&KEYS), rng.below(TABLES), rng.below(TABLES));
    let more = match rng.below(4) {
        0 => format!(" AND z.{0} = q0.{0}", rng.pick(&KEYS)),
        1 => format!(" AND z.k {} q0.j", rng.pick(&["<", ">=", "<>"])),
        _ => String::new(),
    };
    let kept = match rng.below(4) {
        0 => format!("WHERE NOT EXISTS (SELECT 1 FROM t{z} z WHERE z.{key} = q0.{key}{more})"),
        1 => format!("WHERE q0.{key} NOT IN (SELECT z.{key} FROM t{z} z WHERE z.{key} IS NOT NULL)"),
        2 => format!("LEFT ANTI JOIN t{z} z ON z.{key} = q0.{key}{more}"),
        _ => format!("LEFT SEMI JOIN t{z} z ON z.{key} = q0.{key}{more}"),
    };
    let names = ["q0".to_owned()];
    let of_rows = aggregate(rng, &names);
    match rng.below(4) {
        0 => format!("SELECT DISTINCT q0.{key} FROM t{t} q0 {kept}"),
        1 => format!("SELECT count(DISTINCT q0.{key}) AS a0, {of_rows} AS a1 FROM t{t} q0 {kept}"),
        _ => format!("SELECT q0.{key}, count(*) AS a0, {of_rows} AS a1 FROM t{t} q0 {kept} GROUP BY q0.{key}"),
    }
}

fn query(rng: &mut Rng) -> String {
    if rng.chance(12) {
        return kept_by_key(rng);
    }
    let count = if rng.chance(25) { 1 } else { 1 + rng.below(4) as usize };
    let names: Vec<String> = (0..count).map(|k| format!("q{k}")).collect();
    let mut from = format!("t{} q0", rng.below(TABLES));
    for (k, name) in names.iter().enumerate().skip(1) {
        let on = on(rng, name, &names[..k]);
        let t = rng.below(TABLES);
        from += &match rng.below(20) {
            0 => format!(" CROSS JOIN t{t} {name}"),
            1..=3 => format!(" LEFT JOIN t{t} {name} ON {on}"),
            4 => format!(" RIGHT JOIN t{t} {name} ON {on}"),
            5..=6 => format!(" FULL JOIN t{t} {name} ON {on}"),
            _ => format!(" JOIN t{t} {name} ON {on}"),
        };
    }
    // The keys of tables that let rows through or keep them out: what is grouped or counted by them has a shape of its own.
    let mut asked: Vec<String> = Vec::new();
    if rng.chance(if count == 1 { 60 } else { 20 }) {
        let (kind, t) = (*rng.pick(&["LEFT SEMI", "LEFT ANTI", "LEFT ANTI"]), rng.below(TABLES));
        let on = on(rng, "z", &names);
        asked.extend(on.split([' ', '(', ')']).filter(|word| word.starts_with('q')).map(str::to_owned));
        from += &format!(" {kind} JOIN t{t} z ON {on}");
    }
    let tensor = rng.chance(15).then(|| *rng.pick(&["m", "m", "e"]));
    if let Some(tensor) = tensor {
        let (kind, other) = (*rng.pick(&["JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"]), rng.pick(&names).clone());
        let more = if rng.chance(30) { format!(" AND w.j = {other}.j") } else { String::new() };
        from += &format!(" {kind} {tensor} w ON w.k = {other}.k{more}");
    }
    let mut wheres = Vec::new();
    for _ in 0..rng.below(3) {
        let table = rng.pick(&names).clone();
        wheres.push(predicate(rng, &table));
    }
    if rng.chance(8) && names.len() > 1 {
        wheres.push(format!("({}.b OR {}.v > 1)", names[0], names[1]));
    }
    for _ in 0..if rng.chance(35) { 1 + rng.below(2) } else { 0 } {
        let (condition, key) = membership(rng, &names);
        wheres.push(condition);
        asked.push(key);
    }
    let wheres = if wheres.is_empty() { String::new() } else { format!(" WHERE {}", wheres.join(" AND ")) };
    let mut groups: Vec<String> = Vec::new();
    for _ in 0..rng.below(4) {
        let table = rng.pick(&names).clone();
        let group = match rng.below(9) {
            0 => format!("{table}.k + 1"),
            1 => format!("{table}.i % 2"),
            2 if names.len() > 1 => {
                let key = rng.pick(&KEYS);
                format!("coalesce({}.{key}, {}.{key})", names[0], names[1])
            }
            3 if tensor.is_some() => rng.pick(&["w.k", "w.j"]).to_string(),
            4..=5 if !asked.is_empty() => rng.pick(&asked).clone(),
            6 if rng.chance(30) => format!("{table}.r"),
            _ => format!("{table}.{}", rng.pick(&KEYS)),
        };
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    if !asked.is_empty() && rng.chance(40) {
        groups = vec![rng.pick(&asked).clone()];
    }
    let count = rng.below(4) + u64::from(groups.is_empty());
    let mut aggregates: Vec<String> = (0..count).map(|_| aggregate(rng, &names)).collect();
    if !asked.is_empty() && rng.chance(25) {
        aggregates.push(format!("count(DISTINCT {})", rng.pick(&asked)));
    }
    if tensor.is_some() && rng.chance(60) {
        aggregates.push(rng.pick(&["sum(w.v)", "count(w.v)", "max(w.j)"]).to_string());
    }
    let aggregates = aggregates.iter().enumerate().map(|(k, call)| format!("{call} AS a{k}"));
    let select: Vec<String> = groups.iter().cloned().chain(aggregates).collect();
    if groups.is_empty() {
        return format!("SELECT {} FROM {from}{wheres}", select.join(", "));
    }
    if select.len() == groups.len() && rng.chance(50) {
        return format!("SELECT DISTINCT {} FROM {from}{wheres}", select.join(", "));
    }
    let having = if rng.chance(15) { " HAVING count(*) > 1" } else { "" };
    let grouped = format!("SELECT {} FROM {from}{wheres} GROUP BY {}{having}", select.join(", "), groups.join(", "));
    if rng.chance(10) { format!("SELECT count(*) FROM ({grouped})") } else { grouped }
}

/// A shape of queries: its name, lists of words of which a query has one each, and words that it does not have.
type Shape = (&'static str, &'static [&'static [&'static str]], &'static [&'static str]);

/// The shapes of which some must be claimed.
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

/// Protects the semantics of everything that is claimed.
#[tokio::test]
async fn random_queries_agree() {
    let (cases, seed) = (number("REDPOLL_SQL_CASES", 240), number("REDPOLL_SQL_SEED", 1));
    let database = database().await;
    let folder = tempfile::tempdir().unwrap();
    let (mut claimed, mut failures) = (0, Vec::new());
    let mut shapes = [0; SHAPES.len()];
    let mut made = Vec::new();
    for case in 0..cases {
        let mut rng = Rng((seed + case).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| {
            rng.next();
        });
        if case % 8 == 0 {
            made = tables(&database, &mut rng, folder.path()).await;
        }
        let sql = query(&mut rng);
        match agree(&database, &sql).await {
            Ok(0) => {}
            Ok(_) => {
                claimed += 1;
                let has = |words: &[&str]| words.iter().any(|word| sql.contains(word));
                for (count, (_, with, without)) in shapes.iter_mut().zip(SHAPES) {
                    *count += usize::from(with.iter().all(|words| has(words)) && !has(without));
                }
            }
            Err(why) => failures.push(format!("case {case}: {why}\n{}", made.join(";\n"))),
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
