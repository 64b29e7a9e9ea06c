//! A query in parts, which can be removed one by one.

use std::fmt;

/// Aggregates over the groups of a join.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RandomQuery {
    pub distinct: bool,
    pub groups: Vec<String>,
    pub aggregates: Vec<String>,
    /// The first table.
    pub from: String,
    pub joins: Vec<JoinClause>,
    pub wheres: Vec<WhereCondition>,
    pub having: Option<String>,
    /// True if the result is the number of groups.
    pub counted: bool,
}

/// A join with one more table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinClause {
    pub kind: &'static str,
    pub table: String,
    pub on: Vec<String>,
}

/// A condition: the text before its conjuncts, the conjuncts, and the text after them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WhereCondition {
    pub before: String,
    pub conjuncts: Vec<String>,
    pub after: &'static str,
}

impl WhereCondition {
    /// Returns a condition that is one text, without conjuncts that can be removed.
    pub fn plain(text: String) -> WhereCondition {
        WhereCondition { before: text, conjuncts: Vec::new(), after: "" }
    }
}

impl fmt::Display for WhereCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.before, self.conjuncts.join(" AND "), self.after)
    }
}

impl fmt::Display for JoinClause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {} {}", self.kind, self.table)?;
        if self.on.is_empty() { Ok(()) } else { write!(f, " ON {}", self.on.join(" AND ")) }
    }
}

impl fmt::Display for RandomQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aggregates = self.aggregates.iter().enumerate().map(|(k, call)| format!("{call} AS a{k}"));
        let select: Vec<String> = self.groups.iter().cloned().chain(aggregates).collect();
        if self.counted {
            f.write_str("SELECT count(*) FROM (")?;
        }
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        write!(f, "SELECT {distinct}{} FROM {}", select.join(", "), self.from)?;
        self.joins.iter().try_for_each(|join| join.fmt(f))?;
        for (k, condition) in self.wheres.iter().enumerate() {
            write!(f, " {} {condition}", if k == 0 { "WHERE" } else { "AND" })?;
        }
        if !self.distinct && !self.groups.is_empty() {
            write!(f, " GROUP BY {}", self.groups.join(", "))?;
        }
        if let Some(having) = &self.having {
            write!(f, " HAVING {having}")?;
        }
        f.write_str(if self.counted { ")" } else { "" })
    }
}

impl RandomQuery {
    /// Returns queries with some part removed or replaced by a simpler part; some of these queries
    /// are not valid.
    pub fn smaller(&self) -> Vec<RandomQuery> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut RandomQuery)| {
            let mut next = self.clone();
            change(&mut next);
            if next != *self {
                all.push(next);
            }
        };
        add(&|q| q.counted = false);
        add(&|q| q.having = None);
        for k in 0..self.joins.len() {
            add(&|q| drop(q.joins.remove(k)));
            // Also removes the joins after this join.
            add(&|q| q.joins.truncate(k));
            for c in 0..if self.joins[k].on.len() > 1 { self.joins[k].on.len() } else { 0 } {
                add(&|q| drop(q.joins[k].on.remove(c)));
            }
        }
        for k in 0..self.wheres.len() {
            add(&|q| drop(q.wheres.remove(k)));
            for c in 0..if self.wheres[k].conjuncts.len() > 1 { self.wheres[k].conjuncts.len() } else { 0 } {
                add(&|q| drop(q.wheres[k].conjuncts.remove(c)));
            }
        }
        for k in 0..self.groups.len() {
            add(&|q| drop(q.groups.remove(k)));
        }
        for k in 0..self.aggregates.len() {
            add(&|q| drop(q.aggregates.remove(k)));
            add(&|q| {
                if let Some((call, _)) = q.aggregates[k].split_once(" FILTER") {
                    q.aggregates[k] = call.to_owned();
                }
            });
            add(&|q| q.aggregates[k] = "count(*)".to_owned());
        }
        all
    }
}
