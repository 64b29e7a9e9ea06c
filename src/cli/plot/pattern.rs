//! The pattern of a tensor: a grid of cells, shaded by the number of entries in each cell.

use super::axis::{GAP, MARK, Tick, bottom_axis, left_axis, round_step, short};
use super::scene::{Anchor, Colour, FAINT, INK, LINE_HEIGHT, PAPER, Part, Raster, Rectangle, Scene, fit, text_width};
use super::{Caption, MARGIN};
use crate::storage::{self, Tensor};
use indicatif::HumanCount;

/// The two modes of a pattern. A vector has one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PatternModes {
    /// The mode from top to bottom; `None` if the pattern has a single row, as for a vector.
    pub(super) vertical: Option<usize>,
    /// The mode from left to right; `None` if the pattern has a single column, as for a scalar.
    pub(super) horizontal: Option<usize>,
}

impl PatternModes {
    /// Returns the titles of the axes: `row` and `column` for a matrix that is not transposed,
    /// otherwise the numbers of the modes. The title of an axis without a mode is empty.
    fn titles(self, rank: usize) -> [String; 2] {
        if rank == 2 && self == (PatternModes { vertical: Some(0), horizontal: Some(1) }) {
            return ["row", "column"].map(str::to_owned);
        }
        let title = |mode: Option<usize>| mode.map_or_else(String::new, |mode| format!("mode {mode}"));
        [title(self.vertical), title(self.horizontal)]
    }
}

/// Minimum length of a side of a pattern in pixels, before the side is rounded down to cells of
/// equal size. With this minimum, long and narrow matrices remain visible.
const SHORTEST: u32 = 48;
/// Least size of cells that are drawn with gaps between them, in pixels.
const SEPARATE: u32 = 8;
/// Width of the scale of shades, with its labels.
const SCALE: u32 = 96;
/// Shades of a cell with one entry and of the cell with the most entries.
const SHADES: [Colour; 2] = [[0x8f, 0xbd, 0xe8], [0x08, 0x2a, 0x5c]];

/// Numbers of entries by cell. A cell covers at least one coordinate of each drawn mode, unless the
/// mode has size 0.
struct CellCounts {
    rows: u32,
    columns: u32,
    /// The numbers, row by row.
    counts: Vec<u64>,
}

/// Axis of a pattern: its size in coordinates, cells and pixels.
#[derive(Clone, Copy)]
struct PatternAxis {
    size: u64,
    cells: u32,
    pixels: u32,
}

impl PatternAxis {
    /// Divides a size into at most `pixels` cells.
    fn new(size: u64, pixels: u32) -> PatternAxis {
        let cells = size.clamp(1, u64::from(pixels)) as u32;
        PatternAxis { size, cells, pixels: pixels / cells * cells }
    }

    /// Returns the cell of a coordinate.
    fn cell(self, coordinate: u64) -> u32 {
        (u128::from(coordinate) * u128::from(self.cells) / u128::from(self.size.max(1))) as u32
    }

    /// Returns ticks at round coordinates, each shifted by half a cell.
    fn ticks(self, count: u64) -> Vec<Tick> {
        let step = round_step(self.size, count);
        let coordinates = (0..).map_while(|k: u64| k.checked_mul(step)).take_while(|i| *i < self.size);
        let tick = |i| {
            let at = u128::from(i) * u128::from(self.pixels) / u128::from(self.size);
            Tick { at: at as u32 + self.pixels / self.cells / 2, label: short(i) }
        };
        coordinates.map(tick).collect()
    }
}

/// Returns the axes of a pattern whose longer side has about `size` pixels, vertical first.
fn axes(shape: [u64; 2], size: u32) -> [PatternAxis; 2] {
    let longest = shape[0].max(shape[1]).max(1);
    let pixels = |n: u64| {
        let side = u128::from(n) * u128::from(size) / u128::from(longest);
        (side as u32).max(SHORTEST.min(size))
    };
    shape.map(|n| PatternAxis::new(n, pixels(n)))
}

/// Counts the entries of a tensor by cell.
fn count(tensor: &Tensor, modes: PatternModes, axes: [PatternAxis; 2]) -> Result<CellCounts, storage::Error> {
    let [rows, columns] = axes.map(|axis| axis.cells);
    let mut counts = vec![0; rows as usize * columns as usize];
    tensor.for_each_entry(|coordinates| {
        let cell =
            |mode: Option<usize>, axis: PatternAxis| mode.map_or(0, |mode| axis.cell(coordinates[mode])) as usize;
        counts[cell(modes.vertical, axes[0]) * columns as usize + cell(modes.horizontal, axes[1])] += 1;
    })?;
    Ok(CellCounts { rows, columns, counts })
}

/// Draws the pattern of a tensor.
pub(super) fn draw(
    tensor: &Tensor,
    modes: PatternModes,
    caption: Caption<'_>,
    size: u32,
) -> Result<Scene, storage::Error> {
    let shape = &tensor.ty().shape;
    let size_of = |mode: Option<usize>| mode.map_or(1, |mode| shape[mode]);
    let axes = axes([size_of(modes.vertical), size_of(modes.horizontal)], size);
    let cells = count(tensor, modes, axes)?;
    let ticks = axes.map(|axis| axis.ticks(u64::from(axis.pixels / 60).clamp(2, 10)));
    let label_width = ticks[0].iter().map(|tick| text_width(&tick.label)).max().unwrap_or(0);
    let [height, width] = axes.map(|axis| axis.pixels);
    let area = Rectangle {
        x: MARGIN + label_width.max(24) + MARK + GAP + 1,
        y: MARGIN + 3 * LINE_HEIGHT + GAP,
        width,
        height,
    };
    let entries: u64 = cells.counts.iter().sum();
    let details = format!("{}, {} entries", caption.shape, HumanCount(entries));
    let least_width = text_width(&details).max(text_width(caption.name).min(480));
    let scale_width = if cells.most() > 1 { SCALE } else { 0 };
    let page_width = (area.x + width + scale_width + 2 * MARGIN).max(MARGIN + least_width + MARGIN);
    let least_height = if cells.most() > 1 { 5 * LINE_HEIGHT } else { 0 };
    let page_height = area.y + height.max(least_height) + MARK + 2 * LINE_HEIGHT + GAP + MARGIN;
    let mut scene = Scene::new(page_width, page_height);
    scene.text((MARGIN, MARGIN + 8), Anchor::Start, INK, fit(caption.name, page_width - 2 * MARGIN));
    scene.text((MARGIN, MARGIN + LINE_HEIGHT + 8), Anchor::Start, FAINT, details);
    let [vertical, horizontal] = modes.titles(shape.len());
    scene.text((MARGIN, area.y - GAP - 9), Anchor::Start, FAINT, vertical);
    let below = area.y + height + MARK + GAP + LINE_HEIGHT + 12;
    scene.text((area.x + width / 2, below), Anchor::Middle, FAINT, horizontal);
    left_axis(&mut scene, area, &ticks[0], false);
    bottom_axis(&mut scene, area, &ticks[1]);
    scene.frame(area, FAINT);
    scene.parts.push(Part::Raster { x: area.x, y: area.y, raster: raster(&cells, axes) });
    if cells.most() > 1 {
        draw_scale(&mut scene, area, cells.most());
    }
    Ok(scene)
}

impl CellCounts {
    /// Returns the largest number of entries of a cell.
    fn most(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or(0)
    }
}

/// Returns the image of the cells.
fn raster(cells: &CellCounts, axes: [PatternAxis; 2]) -> Raster {
    let [height, width] = axes.map(|axis| axis.pixels / axis.cells);
    let mut raster = Raster::new(axes[1].pixels, axes[0].pixels, PAPER);
    let most = cells.most();
    // Gaps between large cells let readers tell adjacent entries apart.
    let gap = u32::from(height.min(width) >= SEPARATE);
    for (row, counts) in (0..cells.rows).zip(cells.counts.chunks_exact(cells.columns as usize)) {
        for (column, count) in (0..).zip(counts).filter(|(_, count)| **count > 0) {
            let (x, y) = (column * width, row * height);
            raster.fill(Rectangle { x, y, width: width - gap, height: height - gap }, shade(*count, most));
        }
    }
    raster
}

/// Returns the shade of a number of entries, by its logarithm; the darkest shade if `most` is 1.
fn shade(count: u64, most: u64) -> Colour {
    let part = if most > 1 { (count as f64).ln() / (most as f64).ln() } else { 1.0 };
    let mix = |k: usize| {
        let [light, dark] = SHADES.map(|shade| f64::from(shade[k]));
        (light + (dark - light) * part).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

/// Draws the scale of shades to the right of the area.
fn draw_scale(scene: &mut Scene, area: Rectangle, most: u64) {
    let height = area.height.clamp(3 * LINE_HEIGHT, 160);
    let (x, y) = (area.x + area.width + MARGIN, area.y + LINE_HEIGHT);
    scene.text((x, area.y + 4), Anchor::Start, FAINT, "entries");
    for k in 0..height {
        let part = f64::from(height - 1 - k) / f64::from(height - 1);
        let count = (most as f64).powf(part).round().max(1.0) as u64;
        scene.rectangle(Rectangle { x, y: y + k, width: 14, height: 1 }, shade(count, most));
    }
    scene.text((x + 14 + GAP, y + 8), Anchor::Start, INK, short(most));
    scene.text((x + 14 + GAP, y + height - 8), Anchor::Start, INK, "1");
}
