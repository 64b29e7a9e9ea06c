//! Expressions as Graphviz graphs.

use crate::flow::label;
use redpoll_logic::expr::{Node, topological_order};
use redpoll_logic::{Expr, Field};
use std::collections::HashMap;
use std::fmt::Write;
use std::ptr;

/// Returns the graph of an expression: one node per subexpression, even if it is shared, and edges
/// from arguments to the nodes that use them.
pub(crate) fn dot(expr: &Expr) -> String {
    let mut graph = ExprGraph { text: String::from("digraph array {\n  node [shape=box];\n"), numbers: HashMap::new() };
    topological_order([expr], |_| true).iter().for_each(|node| graph.draw(node));
    graph.text.push_str("}\n");
    graph.text
}

struct ExprGraph {
    text: String,
    /// Numbers of the nodes drawn so far, by address.
    numbers: HashMap<*const Node, usize>,
}

impl ExprGraph {
    /// Draws a node whose arguments are drawn already.
    fn draw(&mut self, expr: &Expr) {
        let number = self.numbers.len();
        self.numbers.insert(ptr::from_ref(expr.node()), number);
        let label = label(&[title(expr.node()), type_label(expr)]);
        let mut line = |text: String| writeln!(self.text, "  {text}").expect("writing to a string cannot fail");
        line(format!("n{number} [label=\"{label}\"];"));
        for arg in expr.node().args() {
            line(format!("n{} -> n{number};", self.numbers[&ptr::from_ref(arg.node())]));
        }
    }
}

/// Returns a one-line description of a node.
fn title(node: &Node) -> String {
    match node {
        Node::Table { tensor, .. } => tensor.to_string(),
        Node::Literal(value) => value.to_string(),
        Node::Coordinate(field) => format!("coordinate {field}"),
        Node::MapJoin { op, .. } => op.to_string(),
        Node::Aggregate { op, init, fields, .. } => format!("{op} over {} from {init}", field_list(fields)),
        Node::Scan { op, field, .. } => format!("running {op} along {field}"),
        Node::Reorder { fields, .. } => format!("reorder to {}", field_list(fields)),
        Node::Relabel { fields, .. } => format!("relabel to {}", field_list(fields)),
        Node::Index { map, .. } => {
            let reads: Vec<String> = map.coordinates.iter().map(|(f, at)| format!("{f} at {at}")).collect();
            format!("index {}", reads.join(", "))
        }
        Node::Reformat { .. } => "reformat".to_owned(),
        Node::Refill { fill, .. } => format!("refill with {fill}"),
    }
}

/// Returns the dtype and the fields of an expression as text, with the size of a field where the
/// size is known.
fn type_label(expr: &Expr) -> String {
    let info = expr.info();
    let size = |(field, size): (&Field, &Option<u64>)| match size {
        Some(n) => format!("{field}={n}"),
        None => field.to_string(),
    };
    let sizes: Vec<String> = info.fields.iter().zip(&info.dimensions).map(size).collect();
    format!("{}[{}]", info.dtype, sizes.join(" "))
}

fn field_list(fields: &[Field]) -> String {
    fields.iter().map(Field::as_str).collect::<Vec<_>>().join(" ")
}
