//! `redpoll explain --html`: one page with the graph of a plan, and the loops, formats, sizes,
//! times and code of each query.
//!
//! `collect.rs` fills the content of a page (`page.rs`) with the code from `forms.rs`, and
//! `render.rs` writes the page as HTML. The graph (`graph.rs`) is drawn in layers: `layers.rs`
//! assigns nodes to layers and orders them, `places.rs` places the boxes, `drawing.rs` writes SVG.

mod collect;
mod drawing;
mod forms;
mod graph;
mod layers;
mod page;
mod places;
mod render;
#[cfg(test)]
mod tests;

use super::failure::CommandFailure;
use crate::datasets::write_file;
use crate::{Prepared, Profile};
use std::path::Path;

/// Writes the page of a plan or program. `source` is its text. Without a profile, the page says
/// that the plan has not run.
pub(super) fn write_page(
    file: &Path,
    source: &str,
    prepared: &Prepared,
    profile: Option<&Profile>,
) -> Result<(), CommandFailure> {
    let page = collect::collect(source, prepared, profile)?;
    Ok(write_file(file, render::render(&page).as_bytes())?)
}
