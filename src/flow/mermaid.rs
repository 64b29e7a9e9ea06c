//! Graphs for Mermaid.

use super::graph::{FlowGraph, FlowNodeKind, escape_lines};
use std::fmt::Write;

pub(super) fn print(graph: &FlowGraph) -> String {
    let mut text = String::from("flowchart TD\n");
    let mut line = |words: String| writeln!(text, "  {words}").expect("writing to a string cannot fail");
    for (number, node) in graph.nodes.iter().enumerate() {
        let (open, close) = match node.kind {
            FlowNodeKind::Input => ("([", "])"),
            FlowNodeKind::Query => ("[", "]"),
            FlowNodeKind::Result => ("[[", "]]"),
        };
        line(format!("n{number}{open}\"{}\"{close}", label(&node.lines)));
    }
    for edge in &graph.edges {
        line(format!("n{} -->|\"{}\"| n{}", edge.from, label(&edge.lines), edge.to));
    }
    text
}

/// Joins lines to the text of a quoted string. Mermaid has no backslash escapes, so characters with
/// a meaning in Mermaid, Markdown or HTML become numeric entities, which Mermaid writes without
/// `&`.
fn label(lines: &[String]) -> String {
    let special = ['"', '#', '&', '<', '>', '\\', '`', '%', '*', '_', ';'];
    let escape = |c: char| special.contains(&c).then(|| format!("#{};", u32::from(c)));
    escape_lines(lines, "<br/>", escape)
}

#[cfg(test)]
mod tests {
    use super::label;

    /// Checks that characters with a meaning in Mermaid are escaped in labels.
    #[test]
    fn labels_are_escaped() {
        let cases = [
            (&["A"][..], "A"),
            (&["A", "(dense@1 sparse-list@0)"], "A<br/>(dense@1 sparse-list@0)"),
            (&["say \"A\""], "say #34;A#34;"),
            (&["a\\n #quot; <br/>"], "a#92;n #35;quot#59; #60;br/#62;"),
            (&["%%{init}%%", "`*_`"], "#37;#37;{init}#37;#37;<br/>#96;#42;#95;#96;"),
            (&["a\nb\t"], "a b "),
        ];
        for (lines, expected) in cases {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            assert_eq!(label(&lines), expected, "{lines:?}");
        }
    }
}
