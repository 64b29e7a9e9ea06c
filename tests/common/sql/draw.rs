//! Random tables with NULLs and duplicates, and random aggregates over random joins of these
//! tables.
//!
//! A table has arbitrary rows, one row per key, no rows, or rows that are NULL in all columns but
//! one. The text columns `s` and `r` are arrays of several kinds: plain, large, views or
//! dictionaries. The column `r` may also consist of runs, or be all NULL. One table is a file that
//! is declared again with other options; two tables are tensors.

use super::query::{JoinClause, RandomQuery, WhereCondition};
use super::table::{COLUMNS, Declaration, SqlValue, TableColumn, TextArray};
use crate::rng::{Rng, named};
use redpoll::sql::Number;
use redpoll_logic::op::Builtin;
use std::collections::BTreeMap;

/// Number of seeds of a group. A group begins at a multiple of this number, and its seeds run in
/// order in one database.
pub const GROUP: u64 = 32;

/// Number of consecutive seeds that read the same tables.
const SAME_TABLES: u64 = 8;

/// Number of tables of rows; the last table is a file.
const TABLES: u64 = 5;

const KEYS: [&str; 6] = ["k", "j", "i", "s", "d", "b"];

/// Aggregate functions over semirings, which databases of random cases register. For some values
/// the second operator does not distribute over the first: sums that wrap, products of negative
/// values.
pub(super) const SEMIRINGS: [(&str, Builtin, Builtin, Number); 5] = [
    ("min_plus", Builtin::Min, Builtin::Add, Number::F64),
    ("max_product", Builtin::Max, Builtin::Mul, Number::F64),
    ("min_sum", Builtin::Min, Builtin::Add, Number::I64),
    ("min_product", Builtin::Min, Builtin::Mul, Number::I64),
    ("max_min", Builtin::Max, Builtin::Min, Number::I64),
];

const COMPARISONS: [&str; 5] = ["<", "<=", ">", ">=", "<>"];

/// Draws a value of a type.
fn value(rng: &mut Rng, ty: &str) -> SqlValue {
    if rng.chance(15) {
        return "NULL".into();
    }
    let n = rng.below(5);
    match ty {
        "VARCHAR" => text(n),
        "DATE" => date(n),
        "BOOLEAN" => if n.is_multiple_of(2) { "true" } else { "false" }.into(),
        "DOUBLE" if rng.chance(4) => format!("CAST('{}' AS DOUBLE)", ["inf", "-inf", "nan"][(n % 3) as usize]),
        "DOUBLE" => format!("{}", [0.5, -1.0, 2.0, 0.0, 3.25][n as usize]),
        "DECIMAL(12,2)" => ["1.25", "-0.50", "10.00", "0.00", "99.99"][n as usize].into(),
        _ if ty == "BIGINT" && rng.chance(3) => {
            format!("CAST({} AS BIGINT)", [i64::MAX, i64::MIN][(n % 2) as usize])
        }
        _ => format!("{}", n as i64 - 1),
    }
}

fn text(n: u64) -> SqlValue {
    format!("'{}'", ["", "a", "b", "ab", "c", "d"][n as usize])
}

fn date(n: u64) -> SqlValue {
    format!("DATE '2024-01-0{}'", n + 1)
}

/// The kind of rows that a table has.
#[derive(Clone, Copy, PartialEq, Debug)]
enum RowKind {
    /// Any rows, with duplicates and NULLs.
    Any,
    /// One row for each small key. Nearly all keys of the other tables are small keys.
    Keys,
    /// No rows.
    Empty,
    /// Rows that are NULL in all columns but one.
    Nulls,
}

/// Draws the rows of a table, each a list of values.
fn random_rows(rng: &mut Rng, kind: RowKind) -> Vec<Vec<SqlValue>> {
    let columns = &COLUMNS[..COLUMNS.len() - 1];
    let count = match kind {
        RowKind::Any => 1 + rng.below(14),
        RowKind::Keys => 5 + rng.below(2),
        RowKind::Empty => 0,
        RowKind::Nulls => 1 + rng.below(4),
    };
    let mut all: Vec<Vec<SqlValue>> = Vec::new();
    for k in 0..count {
        let is_repeated = kind == RowKind::Any && !all.is_empty() && rng.chance(20);
        let mut next: Vec<SqlValue> = match is_repeated {
            true => rng.pick(&all).clone(),
            false => columns.iter().map(|(_, ty)| value(rng, ty)).collect(),
        };
        match kind {
            RowKind::Keys => {
                // The keys of other tables, in order, each once.
                for (column, (name, _)) in columns.iter().enumerate() {
                    match *name {
                        "k" | "j" | "i" => next[column] = (k as i64 - 1).to_string(),
                        "s" => next[column] = text(k),
                        "d" => next[column] = date(k),
                        _ => {}
                    }
                }
            }
            RowKind::Nulls => {
                let filled_column = rng.index(columns.len());
                (0..columns.len())
                    .filter(|column| *column != filled_column)
                    .for_each(|column| next[column] = "NULL".into());
            }
            RowKind::Any | RowKind::Empty => {}
        }
        all.push(next);
    }
    all
}

/// Draws the columns of a table: `s` is in a kind of array that every function accepts as text, and
/// `r` is in any kind.
fn random_columns(rng: &mut Rng) -> Vec<TableColumn> {
    let kind = match rng.below(10) {
        0..=4 => RowKind::Any,
        5..=7 => RowKind::Keys,
        8 => RowKind::Empty,
        _ => RowKind::Nulls,
    };
    let rows = random_rows(rng, kind);
    let texts = [
        TextArray::Plain,
        TextArray::Large,
        TextArray::View,
        TextArray::Dictionary,
        TextArray::DictionaryOfNull,
        TextArray::Runs,
        TextArray::AllNull,
    ];
    let mut column = |index: usize| {
        let from = if COLUMNS[index].0 == "r" { 3 } else { index };
        let text = match COLUMNS[index].0 {
            "r" => *rng.pick(&texts),
            "s" if rng.chance(30) => *rng.pick(&texts[..texts.len() - 2]),
            _ => TextArray::Default,
        };
        TableColumn { index, text, values: rows.iter().map(|row| row[from].clone()).collect() }
    };
    (0..COLUMNS.len()).map(&mut column).collect()
}

/// Returns the declarations before the query of a seed.
pub fn declarations(seed: u64) -> Vec<Declaration> {
    if !seed.is_multiple_of(SAME_TABLES) {
        return Vec::new();
    }
    let rng = &mut named("tables of SQL", seed);
    let mut all = Vec::new();
    for table in 0..TABLES {
        let (name, columns) = (format!("t{table}"), random_columns(rng));
        all.push(match table + 1 < TABLES {
            true => Declaration::Rows { name, columns },
            false => {
                // A file stores plain text, so all columns have the default kind of array.
                let plain = columns.into_iter().map(|column| TableColumn { text: TextArray::Default, ..column });
                let written = seed.is_multiple_of(GROUP) || rng.chance(60);
                let contents = written.then(|| plain.collect());
                Declaration::File { name, contents, header: rng.chance(50) }
            }
        });
    }
    for name in ["m", "e"] {
        let shape = if name == "e" && rng.chance(50) { [0, 3] } else { [1 + rng.below(4), 1 + rng.below(5)] };
        let mut entries = BTreeMap::new();
        for _ in 0..if shape[0] > 0 { rng.below(7) } else { 0 } {
            entries.insert([rng.below(shape[0]), rng.below(shape[1])], rng.below(9) as i64 - 4);
        }
        all.push(Declaration::Tensor { name: name.into(), shape, entries });
    }
    all
}

/// Draws a condition on the rows of a table.
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

/// Draws an expression that reads two tables.
fn spanning_expression(rng: &mut Rng, a: &str, b: &str) -> String {
    match rng.below(9) {
        0 => format!("{a}.k + {b}.j"),
        1 => format!("CASE WHEN {a}.b OR {b}.b THEN {a}.i END"),
        2 => format!("CASE WHEN {a}.k > {b}.j THEN {b}.v ELSE {a}.k END"),
        3 => format!("abs({a}.k - {b}.i)"),
        4 => format!("({a}.v % 3) * ({b}.v % 2) + greatest({a}.j, {b}.j)"),
        5 => format!("{a}.k = {b}.k"),
        6 => format!("concat({a}.s, {b}.s)"),
        7 => format!("coalesce({a}.d, {b}.d)"),
        _ => format!("{a}.x + {b}.x"),
    }
}

/// Draws an aggregate that is not a sum of products, and whose expression or filter reads two
/// tables.
fn spanning_aggregate(rng: &mut Rng, a: &str, b: &str) -> String {
    let value = match rng.below(3) {
        0 => format!("CASE WHEN {a}.k > {b}.j THEN {a}.v * {b}.v END"),
        1 => format!("greatest({a}.i, {b}.k) - {a}.j"),
        _ => format!("{a}.v * CASE WHEN {a}.b AND ({a}.b OR {b}.b) THEN {b}.j ELSE {b}.k END"),
    };
    match rng.below(6) {
        0 => format!("sum({value})"),
        1 => format!("sum(CASE WHEN {a}.b OR {b}.b THEN {a}.p ELSE {b}.p END)"),
        2 => format!("count({})", spanning_expression(rng, a, b)),
        3 => format!("count(DISTINCT {})", spanning_expression(rng, a, b)),
        4 => format!("{}({})", rng.pick(&["min", "max"]), spanning_expression(rng, a, b)),
        _ => format!("sum({a}.v) FILTER (WHERE {a}.k + {b}.j > 1 OR {b}.b)"),
    }
}

/// Draws an aggregate over the rows of tables.
fn aggregate(rng: &mut Rng, tables: &[String]) -> String {
    let (a, b) = (rng.pick(tables).clone(), rng.pick(tables).clone());
    if a != b && rng.chance(15) {
        return spanning_aggregate(rng, &a, &b);
    }
    let filter = if rng.chance(10) { format!(" FILTER (WHERE {})", predicate(rng, &b)) } else { String::new() };
    let key = rng.pick(&KEYS);
    let call = match rng.below(36) {
        29 => format!("count({a}.r)"),
        30 => format!("count(DISTINCT {a}.r)"),
        31 => format!("count(DISTINCT {a}.{key})"),
        32 => format!("sum({a}.v) - sum({b}.k)"),
        33..=35 => {
            let (name, .., number) = *rng.pick(&SEMIRINGS);
            let column = if number == Number::F64 { "x" } else { *rng.pick(&["v", "i", "k"]) };
            let second = if a == b { String::new() } else { format!(", {b}.{column}") };
            format!("{name}({a}.{column}{second})")
        }
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

/// Draws the conditions that join the table `name` with one or more of the tables `names` by keys.
fn join_conditions(rng: &mut Rng, name: &str, names: &[String]) -> Vec<String> {
    let other = rng.pick(names).clone();
    let key = *rng.pick(&KEYS);
    let equal = if rng.chance(7) { "IS NOT DISTINCT FROM" } else { "=" };
    let mut on = vec![match key {
        "k" if rng.chance(30) => format!("({name}.k {equal} {other}.j)"),
        "i" if rng.chance(30) => format!("({name}.i {equal} {other}.k)"),
        "j" if rng.chance(15) => format!("({name}.j {equal} {other}.k + 1)"),
        "s" if rng.chance(15) => format!("({name}.r {equal} {other}.s)"),
        key => format!("({name}.{key} {equal} {other}.{key})"),
    }];
    if rng.chance(25) {
        let third = rng.pick(names).clone();
        let key = rng.pick(&KEYS);
        on.push(format!("{name}.{key} = {third}.{key}"));
    }
    if rng.chance(15) {
        let comparison = rng.pick(&COMPARISONS);
        let key = rng.pick(&KEYS[..5]);
        on.push(format!("{name}.{key} {comparison} {other}.{key}"));
    }
    on
}

/// Draws a semi-join or anti-join condition on the rows of a table; also returns the key that it
/// compares.
fn membership_condition(rng: &mut Rng, names: &[String]) -> (WhereCondition, String) {
    let (table, key, t) = (rng.pick(names).clone(), *rng.pick(&KEYS), rng.below(TABLES));
    let own = format!("{table}.{key}");
    let not = if rng.chance(60) { "NOT " } else { "" };
    let further_condition = match rng.below(8) {
        6 | 7 if key == "k" || key == "j" => {
            let comparison = rng.pick(&COMPARISONS);
            Some(format!("z.{key} {comparison} {}.{}", rng.pick(names), rng.pick(&["k", "j"])))
        }
        0 => Some(format!("z.v <> {table}.v")),
        1 => Some(format!("z.j = {}.j", rng.pick(names))),
        2 => Some(predicate(rng, "z")),
        _ => None,
    };
    let (before, conjuncts) = match rng.below(6) {
        0..=2 => (
            format!("{not}EXISTS (SELECT 1 FROM t{t} z WHERE "),
            [format!("z.{key} = {own}")].into_iter().chain(further_condition).collect(),
        ),
        3 => (format!("{own} {not}IN (SELECT z.{key} FROM t{t} z WHERE "), vec![format!("z.{key} IS NOT NULL")]),
        4 => (format!("{own} {not}IN (SELECT {key} FROM t{t} z WHERE "), vec!["z.x > 0".to_owned()]),
        _ => {
            let w = rng.below(TABLES);
            (
                format!("{not}EXISTS (SELECT 1 FROM t{t} z JOIN t{w} y ON z.j = y.j WHERE "),
                vec![format!("z.{key} = {own}"), format!("y.k = {table}.k")],
            )
        }
    };
    (WhereCondition { before, conjuncts, after: ")" }, own)
}

/// Draws a semi-join or anti-join query, grouped or counted by the joined key.
fn semi_join_query(rng: &mut Rng) -> RandomQuery {
    let (key, t, z) = (*rng.pick(&KEYS), rng.below(TABLES), rng.below(TABLES));
    let further_condition = match rng.below(4) {
        0 => Some(format!("z.{0} = q0.{0}", rng.pick(&KEYS))),
        1 => Some(format!("z.k {} q0.j", rng.pick(&["<", ">=", "<>"]))),
        _ => None,
    };
    let on: Vec<String> = [format!("z.{key} = q0.{key}")].into_iter().chain(further_condition).collect();
    let mut query = RandomQuery { from: format!("t{t} q0"), ..RandomQuery::default() };
    match rng.below(4) {
        0 => {
            let before = format!("NOT EXISTS (SELECT 1 FROM t{z} z WHERE ");
            query.wheres.push(WhereCondition { before, conjuncts: on, after: ")" });
        }
        1 => {
            let before = format!("q0.{key} NOT IN (SELECT z.{key} FROM t{z} z WHERE ");
            query.wheres.push(WhereCondition { before, conjuncts: vec![format!("z.{key} IS NOT NULL")], after: ")" });
        }
        kind => {
            let kind = if kind == 2 { "LEFT ANTI JOIN" } else { "LEFT SEMI JOIN" };
            query.joins.push(JoinClause { kind, table: format!("t{z} z"), on });
        }
    }
    let of_rows = aggregate(rng, &["q0".to_owned()]);
    match rng.below(4) {
        0 => {
            query.distinct = true;
            query.groups = vec![format!("q0.{key}")];
        }
        1 => query.aggregates = vec![format!("count(DISTINCT q0.{key})"), of_rows],
        _ => {
            query.groups = vec![format!("q0.{key}")];
            query.aggregates = vec!["count(*)".to_owned(), of_rows];
        }
    }
    query
}

/// Returns the query of a seed.
pub fn query(seed: u64) -> RandomQuery {
    let rng = &mut named("queries of SQL", seed);
    if rng.chance(12) {
        return semi_join_query(rng);
    }
    let count = if rng.chance(25) { 1 } else { 1 + rng.index(4) };
    let names: Vec<String> = (0..count).map(|k| format!("q{k}")).collect();
    let mut query = RandomQuery { from: format!("t{} q0", rng.below(TABLES)), ..RandomQuery::default() };
    for (k, name) in names.iter().enumerate().skip(1) {
        let on = join_conditions(rng, name, &names[..k]);
        let table = format!("t{} {name}", rng.below(TABLES));
        query.joins.push(match rng.below(20) {
            0 => JoinClause { kind: "CROSS JOIN", table, on: Vec::new() },
            1..=3 => JoinClause { kind: "LEFT JOIN", table, on },
            4 => JoinClause { kind: "RIGHT JOIN", table, on },
            5..=6 => JoinClause { kind: "FULL JOIN", table, on },
            _ => JoinClause { kind: "JOIN", table, on },
        });
    }
    // The keys of semi-joins and anti-joins. Queries that group by such a key, or count its values,
    // are planned differently.
    let mut semi_join_keys: Vec<String> = Vec::new();
    if rng.chance(if count == 1 { 60 } else { 20 }) {
        let kind = *rng.pick(&["LEFT SEMI JOIN", "LEFT ANTI JOIN", "LEFT ANTI JOIN"]);
        let table = format!("t{} z", rng.below(TABLES));
        let on = join_conditions(rng, "z", &names);
        let words = on.iter().flat_map(|on| on.split([' ', '(', ')']));
        semi_join_keys.extend(words.filter(|word| word.starts_with('q')).map(str::to_owned));
        query.joins.push(JoinClause { kind, table, on });
    }
    let tensor = rng.chance(15).then(|| *rng.pick(&["m", "m", "e"]));
    if let Some(tensor) = tensor {
        let (kind, other) = (*rng.pick(&["JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"]), rng.pick(&names).clone());
        let further_condition = rng.chance(30).then(|| format!("w.j = {other}.j"));
        let on = [format!("w.k = {other}.k")].into_iter().chain(further_condition).collect();
        query.joins.push(JoinClause { kind, table: format!("{tensor} w"), on });
    }
    for _ in 0..rng.below(3) {
        let table = rng.pick(&names).clone();
        query.wheres.push(WhereCondition::plain(predicate(rng, &table)));
    }
    if rng.chance(8) && names.len() > 1 {
        let (a, b) = (&names[0], &names[1]);
        query.wheres.push(WhereCondition::plain(match rng.below(3) {
            0 => format!("{a}.k + {b}.j < {b}.i + 3"),
            1 => format!("coalesce({a}.s, {b}.s) > 'a'"),
            _ => format!("({a}.b OR {b}.v > 1)"),
        }));
    }
    for _ in 0..if rng.chance(35) { 1 + rng.below(2) } else { 0 } {
        let (condition, key) = membership_condition(rng, &names);
        query.wheres.push(condition);
        semi_join_keys.push(key);
    }
    select(rng, &mut query, &names, &semi_join_keys, tensor);
    query
}

/// Draws the groups and aggregates of a query over the tables `names`; `semi_join_keys` are keys of
/// semi-joins and anti-joins.
fn select(rng: &mut Rng, query: &mut RandomQuery, names: &[String], semi_join_keys: &[String], tensor: Option<&str>) {
    let groups = &mut query.groups;
    for _ in 0..rng.below(4) {
        let table = rng.pick(names).clone();
        let group = match rng.below(10) {
            9 if names.len() > 1 => {
                let (a, b) = (rng.pick(names).clone(), rng.pick(names).clone());
                spanning_expression(rng, &a, &b)
            }
            0 => format!("{table}.k + 1"),
            1 => format!("{table}.i % 2"),
            2 if names.len() > 1 => {
                let key = rng.pick(&KEYS);
                format!("coalesce({}.{key}, {}.{key})", names[0], names[1])
            }
            3 if tensor.is_some() => (*rng.pick(&["w.k", "w.j"])).to_owned(),
            4..=5 if !semi_join_keys.is_empty() => rng.pick(semi_join_keys).clone(),
            6 if rng.chance(30) => format!("{table}.r"),
            _ => format!("{table}.{}", rng.pick(&KEYS)),
        };
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    if !semi_join_keys.is_empty() && rng.chance(40) {
        *groups = vec![rng.pick(semi_join_keys).clone()];
    }
    let is_grouped = !groups.is_empty();
    let count = rng.below(4) + u64::from(!is_grouped);
    query.aggregates = (0..count).map(|_| aggregate(rng, names)).collect();
    if !semi_join_keys.is_empty() && rng.chance(25) {
        query.aggregates.push(format!("count(DISTINCT {})", rng.pick(semi_join_keys)));
    }
    if tensor.is_some() && rng.chance(60) {
        query.aggregates.push((*rng.pick(&["sum(w.v)", "count(w.v)", "max(w.j)"])).to_owned());
    }
    if is_grouped {
        query.distinct = query.aggregates.is_empty() && rng.chance(50);
        query.having = (!query.distinct && rng.chance(15)).then(|| "count(*) > 1".to_owned());
        query.counted = !query.distinct && rng.chance(10);
    }
}
