//! Graphs for Graphviz.

use super::graph::{FlowGraph, FlowNodeKind, escape_lines};
use std::fmt::Write;

pub(super) fn print(graph: &FlowGraph) -> String {
    let mut text = String::from("digraph plan {\n  node [shape=box];\n");
    let mut line = |words: String| writeln!(text, "  {words}").expect("writing to a string cannot fail");
    for (number, node) in graph.nodes.iter().enumerate() {
        let shape = match node.kind {
            FlowNodeKind::Input => "shape=ellipse, ",
            FlowNodeKind::Query => "",
            FlowNodeKind::Result => "shape=ellipse, peripheries=2, ",
        };
        line(format!("n{number} [{shape}label=\"{}\"];", label(&node.lines)));
    }
    for edge in &graph.edges {
        line(format!("n{} -> n{} [label=\"{}\"];", edge.from, edge.to, label(&edge.lines)));
    }
    text.push_str("}\n");
    text
}

/// Joins lines to the text of a quoted string, and escapes backslashes and quotes.
pub(crate) fn label(lines: &[String]) -> String {
    let escape = |c: char| matches!(c, '"' | '\\').then(|| format!("\\{c}"));
    escape_lines(lines, "\\n", escape)
}

#[cfg(test)]
mod tests {
    use super::label;

    /// Checks that characters with a meaning in Graphviz are escaped in labels.
    #[test]
    fn labels_are_escaped() {
        let cases = [
            (&["A"][..], "A"),
            (&["A", "f64 2 x 3"], "A\\nf64 2 x 3"),
            (&["say \"A\""], "say \\\"A\\\""),
            (&["a\\n\\"], "a\\\\n\\\\"),
            (&["a\nb\tc\0"], "a b c "),
            (&["{a|b} <c> & ü"], "{a|b} <c> & ü"),
        ];
        for (lines, expected) in cases {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            assert_eq!(label(&lines), expected, "{lines:?}");
        }
    }
}
