//! Histograms as bars; the bars of several series are side by side.

use super::axis::{GAP, MARK, Tick, bottom_axis, left_axis, round_step, short};
use super::bins::Bins;
use super::scene::{Anchor, Colour, FAINT, INK, LINE_HEIGHT, Part, Rectangle, Scene, fit, text_width};
use super::{Caption, MARGIN};
use crate::storage::Histogram;
use indicatif::HumanCount;

/// Colours of series, which people with any colour vision can tell apart (Okabe and Ito).
const COLOURS: [Colour; 6] = [
    [0x00, 0x72, 0xb2],
    [0xe6, 0x9f, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    [0xd5, 0x5e, 0x00],
];

/// A histogram that is drawn in one colour.
pub(super) struct Series {
    /// The name in the legend.
    pub(super) name: String,
    pub(super) histogram: Histogram,
}

/// Titles of the axes of a histogram.
pub(super) struct Titles {
    /// The quantity on the horizontal axis, such as `entries of a row`.
    pub(super) bins: String,
    /// The counted objects, in the plural, such as `rows`.
    pub(super) counts: String,
}

/// The vertical axis of a histogram: numbers from 0, or their logarithms.
struct CountAxis {
    most: u64,
    is_logarithmic: bool,
    pixels: u32,
}

impl CountAxis {
    /// Creates an axis, which is logarithmic if the counts above 0 differ by a factor of 100 or
    /// more.
    fn new(counts: &[Vec<u64>], pixels: u32) -> CountAxis {
        let all = || counts.iter().flatten().copied().filter(|count| *count > 0);
        let (least, most) = (all().min().unwrap_or(1), all().max().unwrap_or(1));
        CountAxis { most, is_logarithmic: most / least >= 100, pixels }
    }

    /// Returns the height of a count in pixels, at least 1 for counts above 0.
    fn height(&self, count: u64) -> u32 {
        // The factor 2 keeps the logarithm of a count of 1 above 0.
        let scale = |count: u64| if self.is_logarithmic { (count as f64 * 2.0).ln() } else { count as f64 };
        let height = (scale(count) / scale(self.most) * f64::from(self.pixels)).round() as u32;
        if count == 0 { 0 } else { height.clamp(1, self.pixels) }
    }

    fn ticks(&self) -> Vec<Tick> {
        let step = round_step(self.most, u64::from(self.pixels / 60).clamp(2, 8));
        let counts: Vec<u64> = match self.is_logarithmic {
            true => (0..20).map(|k| 10u64.pow(k)).take_while(|count| *count <= self.most).collect(),
            false => (0..).map_while(|k: u64| k.checked_mul(step)).take_while(|count| *count <= self.most).collect(),
        };
        counts.into_iter().map(|count| Tick { at: self.pixels - self.height(count), label: short(count) }).collect()
    }
}

/// Draws histograms on common axes.
pub(super) fn draw(series: &[Series], titles: &Titles, caption: Caption<'_>, details: &str, size: u32) -> Scene {
    let histograms: Vec<Histogram> = series.iter().map(|series| series.histogram.clone()).collect();
    let bins = Bins::of(&histograms);
    let counts: Vec<Vec<u64>> = histograms.iter().map(|histogram| bins.counts(histogram)).collect();
    let axis = CountAxis::new(&counts, size * 5 / 8);
    let ticks = axis.ticks();
    let bin_count = bins.iter().len() as u32;
    // Each bar is a whole number of pixels wide, and at least one pixel separates bins.
    let bar = ((size / bin_count).saturating_sub(1) / series.len() as u32).clamp(1, 64);
    let pitch = (bar * series.len() as u32) + (bar * series.len() as u32 / 4).max(1);
    let label_width = ticks.iter().map(|tick| text_width(&tick.label)).max().unwrap_or(0);
    let has_legend = series.len() > 1;
    let lines = if has_legend { 4 } else { 3 };
    let area = Rectangle {
        x: MARGIN + label_width + MARK + GAP + 1,
        y: MARGIN + lines * LINE_HEIGHT + 3 * GAP,
        width: (pitch * bin_count).max(160),
        height: axis.pixels,
    };
    let legend_width: u32 = series.iter().map(|series| 16 + text_width(&series.name) + 16).sum();
    let least_width = text_width(details).max(legend_width).max(text_width(caption.name).min(480));
    let page_width = (area.x + area.width + MARGIN).max(least_width + 2 * MARGIN);
    let mut scene = Scene::new(page_width, area.y + area.height + MARK + 2 * LINE_HEIGHT + 2 * GAP + MARGIN);
    scene.text((MARGIN, MARGIN + 8), Anchor::Start, INK, fit(caption.name, page_width - 2 * MARGIN));
    scene.text((MARGIN, MARGIN + LINE_HEIGHT + 8), Anchor::Start, FAINT, details);
    if has_legend {
        draw_legend(&mut scene, series);
    }
    let logarithmic = if axis.is_logarithmic { ", logarithmic" } else { "" };
    let title = format!("number of {}{logarithmic}", titles.counts);
    scene.text((MARGIN, area.y - 2 * GAP - 8), Anchor::Start, FAINT, title);
    left_axis(&mut scene, area, &ticks, true);
    for (k, counts) in (0..).zip(&counts) {
        let colour = COLOURS[k as usize % COLOURS.len()];
        for ((number, bin), count) in (0..).zip(bins.iter()).zip(counts) {
            let height = axis.height(*count);
            let x = area.x + number * pitch + (pitch - bar * series.len() as u32) / 2 + k * bar;
            let at = Rectangle { x, y: area.y + area.height - height, width: bar, height };
            let description = format!("{}: {} {}", bin.range(), HumanCount(*count), series[k as usize].name);
            scene.parts.push(Part::Rectangle { at, colour, description: Some(description) });
        }
    }
    scene.rectangle(Rectangle { x: area.x, y: area.y + area.height, width: area.width, height: 1 }, FAINT);
    bottom_axis(&mut scene, area, &bin_ticks(&bins, pitch));
    let powers = if bins.are_powers() { ", in bins that begin at powers of two" } else { "" };
    let below = area.y + area.height + MARK + GAP + LINE_HEIGHT + 12;
    scene.text((area.x, below), Anchor::Start, FAINT, format!("{}{powers}", titles.bins));
    scene
}

/// Returns a label for each bin, or for every second, third, .. bin if there is no room.
fn bin_ticks(bins: &Bins, pitch: u32) -> Vec<Tick> {
    let widest = bins.iter().map(|bin| text_width(&short(bin.first))).max().unwrap_or(0) + 10;
    let every = widest.div_ceil(pitch).max(1) as usize;
    let labels = (0..).zip(bins.iter()).step_by(every);
    labels.map(|(k, bin): (u32, _)| Tick { at: k * pitch + pitch / 2, label: short(bin.first) }).collect()
}

fn draw_legend(scene: &mut Scene, series: &[Series]) {
    let (mut x, y) = (MARGIN, MARGIN + 2 * LINE_HEIGHT + 10);
    for (k, series) in series.iter().enumerate() {
        scene.rectangle(Rectangle { x, y: y - 5, width: 10, height: 10 }, COLOURS[k % COLOURS.len()]);
        scene.text((x + 16, y), Anchor::Start, INK, &series.name);
        x += 16 + text_width(&series.name) + 16;
    }
}
