//! The graph of a page as SVG: boxes in layers from top to bottom, and curves between them.

use super::graph::{Edge, Graph, Node, NodeKind};
use super::layers::{Item, Layers};
use super::places::middles;
use maud::{Markup, html};
use std::fmt::Write;

/// Width of a character in pixels; the style sheet sets a monospaced font of this width.
const CHARACTER: f64 = 7.2;
/// Height of a line of text in pixels.
const LINE: f64 = 16.0;
/// Space around the text of a box.
const PADDING: f64 = 10.0;
/// Space between layers.
const GAP: f64 = 44.0;
/// Space around the drawing.
const MARGIN: f64 = 12.0;
/// Largest number of characters of a line in a box; the title element of the box has the whole
/// text.
const MOST_CHARACTERS: usize = 44;
/// Width of a stop: the point at which an edge crosses a layer between the layers of its two ends.
const STOP: f64 = 4.0;

/// Place of a box in pixels: the horizontal middle, the top, and the size.
#[derive(Clone, Copy)]
struct BoxPlace {
    x: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// Draws the graph.
pub(super) fn draw(graph: &Graph) -> Markup {
    let edges: Vec<(usize, usize)> = graph.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let layers = Layers::of(graph.nodes.len(), &edges);
    let places = places(graph, &layers);
    let extent = |end: &dyn Fn(&BoxPlace) -> f64| places.iter().map(end).fold(0.0, f64::max) + MARGIN;
    let (width, height) = (extent(&|p| p.x + p.width / 2.0), extent(&|p| p.top + p.height));
    html! {
        svg.graph width=(rounded(width)) height=(rounded(height)) role="img" aria-label="graph of the plan"
            viewBox=(format!("0 0 {} {}", rounded(width), rounded(height))) xmlns="http://www.w3.org/2000/svg" {
            defs {
                marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" {
                    path.arrow d="M0 0L8 4L0 8z" {}
                }
            }
            @for (edge, path) in graph.edges.iter().zip(&layers.paths) { (draw_edge(edge, path, &places)) "\n" }
            @for (node, place) in graph.nodes.iter().zip(&places) { (draw_node(node, place)) "\n" }
        }
    }
}

/// Returns the places of all items.
fn places(graph: &Graph, layers: &Layers) -> Vec<BoxPlace> {
    let size = |item: &Item| match item {
        Item::Stop(_) => (STOP, 0.0),
        Item::Node(node) => {
            let lines = &graph.nodes[*node].lines;
            let longest = lines.iter().map(|line| line.chars().count().min(MOST_CHARACTERS)).max().unwrap_or(0);
            (longest as f64 * CHARACTER + 2.0 * PADDING, lines.len() as f64 * LINE + 2.0 * PADDING)
        }
    };
    let sizes: Vec<(f64, f64)> = layers.items.iter().map(size).collect();
    let widths: Vec<f64> = sizes.iter().map(|(width, _)| *width).collect();
    let middles = middles(layers, &widths);
    let mut places = vec![BoxPlace { x: 0.0, top: 0.0, width: 0.0, height: 0.0 }; sizes.len()];
    let mut top = MARGIN;
    for layer in &layers.layers {
        let highest = layer.iter().map(|item| sizes[*item].1).fold(0.0, f64::max);
        for item in layer {
            let (width, height) = sizes[*item];
            // Stops are as high as their layer, so that edges pass beside the boxes of the layer.
            let height = if matches!(layers.items[*item], Item::Stop(_)) { highest } else { height };
            let x = middles[*item] + MARGIN;
            places[*item] = BoxPlace { x, top: top + (highest - height) / 2.0, width, height };
        }
        top += highest + GAP;
    }
    places
}

fn draw_node(node: &Node, place: &BoxPlace) -> Markup {
    let kind = match node.kind {
        NodeKind::Table => "table",
        NodeKind::Query => "query",
        NodeKind::Intermediate => "intermediate",
        NodeKind::Result => "result",
    };
    let radius = if node.kind == NodeKind::Query { 3 } else { 12 };
    let left = place.x - place.width / 2.0;
    let drawing = html! {
        g class=(format!("node {kind}")) {
            title { (node.lines.join("\n")) }
            rect x=(rounded(left)) y=(rounded(place.top)) width=(rounded(place.width)) height=(rounded(place.height))
                rx=(radius) {}
            @for (k, line) in node.lines.iter().enumerate() {
                text x=(rounded(place.x)) y=(rounded(place.top + PADDING + (k as f64 + 0.78) * LINE))
                    text-anchor="middle" class=[(k == 0).then_some("name")] { (shortened(line)) }
            }
        }
    };
    match node.query {
        Some(number) => html! { a href=(format!("#{}", query_anchor(number))) { (drawing) } },
        None => drawing,
    }
}

/// Returns the HTML anchor of the part of the page about a query.
pub(super) fn query_anchor(number: usize) -> String {
    format!("query-{}", number + 1)
}

fn shortened(line: &str) -> String {
    if line.chars().count() <= MOST_CHARACTERS {
        return line.to_owned();
    }
    line.chars().take(MOST_CHARACTERS - 1).chain(['…']).collect()
}

/// Draws an edge as vertical lines through its stops and curves between layers.
fn draw_edge(edge: &Edge, path: &[usize], places: &[BoxPlace]) -> Markup {
    let mut curve = String::new();
    let mut write = |text: std::fmt::Arguments<'_>| curve.write_fmt(text).expect("writing to a string cannot fail");
    for (k, pair) in path.windows(2).enumerate() {
        let (from, to) = (&places[pair[0]], &places[pair[1]]);
        let (start, end) = (from.top + from.height, to.top);
        if k == 0 {
            write(format_args!("M{} {}", rounded(from.x), rounded(start)));
        } else {
            write(format_args!("V{}", rounded(start)));
        }
        let middle = rounded((start + end) / 2.0);
        write(format_args!(
            "C{} {middle} {} {middle} {} {}",
            rounded(from.x),
            rounded(to.x),
            rounded(to.x),
            rounded(end)
        ));
    }
    html! {
        path.edge d=(curve) marker-end="url(#arrow)" {
            @if !edge.description.is_empty() { title { (edge.description) } }
        }
    }
}

fn rounded(number: f64) -> String {
    format!("{number:.0}")
}
