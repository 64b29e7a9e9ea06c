//! DataFusion's messages on statements that it cannot plan or run, in plain words: without syntax
//! trees and nodes of plans, and with the next step where it is known.

/// The start of DataFusion's messages on expressions that have no physical plan.
const UNPLANNED: &str = "Physical plan does not support logical expression ";

/// The middle of DataFusion's message on a column outside of `GROUP BY`.
const UNGROUPED: &str = " must be in GROUP BY or an aggregate function: While expanding wildcard, column \"";

/// The start of DataFusion's message on two columns with the same name.
const REPEATED: &str = "Projections require unique expression names but the expression ";

/// Parts of syntax trees and plans that a message may contain.
const TREE_PARTS: [&str; 3] = ["Ident { value: ", "span: Span(", "Column { relation: "];

/// Returns a message in plain words. Messages that have no plan and no syntax tree, and that this
/// module does not know, are returned unchanged.
pub(crate) fn in_plain_words(text: &str) -> String {
    let found = subquery_message(text).or_else(|| ungrouped_message(text)).or_else(|| repeated_message(text));
    found.unwrap_or_else(|| without_tree(text).to_owned())
}

/// Returns the message on a subquery that DataFusion does not turn into a join.
fn subquery_message(text: &str) -> Option<String> {
    let (_, expr) = text.split_once(UNPLANNED)?;
    let has_any = |starts: &[&str]| starts.iter().any(|start| expr.starts_with(start));
    if has_any(&["ScalarSubquery(", "OuterReferenceColumn("]) {
        return Some(
            "this correlated subquery cannot be run: it must be an aggregate, and its conditions on columns of the outer \
             query must compare with `=`; write it as a join with a grouped subquery"
                .to_owned(),
        );
    }
    has_any(&["InSubquery(", "Exists("]).then(|| {
        "this subquery of IN or EXISTS cannot be run: it must be a condition of WHERE, and have no LIMIT or aggregate if \
         it reads columns of the outer query; write it as a join with `SELECT DISTINCT`"
            .to_owned()
    })
}

/// Returns the message on a column that is neither in `GROUP BY` nor within an aggregate.
fn ungrouped_message(text: &str) -> Option<String> {
    let (before, after) = text.split_once(UNGROUPED)?;
    let (column, _) = after.split_once("\" must appear in the GROUP BY clause")?;
    let clause = before.strip_prefix("Column in ")?;
    if column.contains(['(', ')', '"']) {
        return Some(format!("`{column}` of {clause} must be in GROUP BY or within an aggregate"));
    }
    let name = column.rsplit('.').next()?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let name = if name.chars().all(is_plain) { name.to_owned() } else { format!("\"{name}\"") };
    Some(format!(
        "column `{name}` of {clause} must be in GROUP BY or within an aggregate; write `GROUP BY {name}`, or an aggregate \
         such as `min({name})`"
    ))
}

/// Returns the message on two columns of a selection that have the same name.
fn repeated_message(text: &str) -> Option<String> {
    let positions = text.strip_prefix(REPEATED)?.split("\" at position ").skip(1);
    let positions = positions.map(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let [first, second] = positions.collect::<Option<Vec<_>>>()?[..] else { return None };
    let (first, second) = (first + 1, second + 1);
    Some(format!("columns {first} and {second} of a selection have the same name; write `AS name` after one of them"))
}

/// Returns a message up to its syntax tree, with the name of the tree's first node. Messages
/// without a syntax tree are returned unchanged.
fn without_tree(text: &str) -> &str {
    if !TREE_PARTS.iter().any(|part| text.contains(part)) {
        return text;
    }
    let Some(brace) = text.find(" { ") else { return text };
    let start = text[..brace].rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
    let node = text[start..brace].split(['(', '[']).next().unwrap_or_default();
    text[..start + node.len()].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages end before their syntax trees; other messages with braces are complete.
    #[test]
    fn syntax_trees_are_omitted() {
        for (text, expected) in [
            (
                "Unsupported ast node Pivot { table: Table { name: ObjectName([Identifier(Ident { value: \"t\" }) }",
                "Unsupported ast node Pivot",
            ),
            (
                "Dot access not supported for non-string expr: Identifier(Ident { value: \"a\", quote_style: None })",
                "Dot access not supported for non-string expr: Identifier",
            ),
            ("no field { \"a\": 1 }", "no field { \"a\": 1 }"),
        ] {
            assert_eq!(in_plain_words(text), expected);
        }
    }
}
