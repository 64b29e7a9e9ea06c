//! Figures: the times of peers relative to redpoll, and the growth of times with the size of
//! inputs.

use crate::results::{Results, SideOutcome, SideStatus, WorkloadOutcome};
use crate::workload::Suite;
use crate::workloads::factor;
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const WIDTH: u32 = 900;
const ROW: u32 = 22;
/// Space for the legend to the right of all points, as a factor on a logarithmic axis.
const LEGEND_FACTOR: f64 = 6.0;

/// Writes a figure for each suite in which peers ran. The suite `scale` has a figure for each
/// workload instead. Returns the file names by suite.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write(folder: &Path, results: &Results) -> Result<BTreeMap<Suite, Vec<String>>> {
    let mut files: BTreeMap<Suite, Vec<String>> = BTreeMap::new();
    for suite in Suite::value_variants() {
        let outcomes: Vec<&WorkloadOutcome> = results.outcomes.iter().filter(|o| o.suite == *suite).collect();
        if *suite == Suite::Scale {
            for (name, outcomes) in group_by_workload(&outcomes) {
                let file = format!("scale-{name}.svg");
                draw_growth(&folder.join(&file), name, &outcomes)
                    .map_err(|error| anyhow!("cannot draw {file}: {error}"))?;
                files.entry(*suite).or_default().push(file);
            }
        } else if outcomes.iter().any(|o| o.peers().any(|side| o.ratio(side).is_some())) {
            let file = format!("{}.svg", suite.name());
            draw_ratios(&folder.join(&file), *suite, &outcomes)
                .map_err(|error| anyhow!("cannot draw {file}: {error}"))?;
            files.entry(*suite).or_default().push(file);
        }
    }
    Ok(files)
}

/// Groups the outcomes of one suite by workload, in order.
pub(super) fn group_by_workload<'a>(outcomes: &[&'a WorkloadOutcome]) -> Vec<(&'a str, Vec<&'a WorkloadOutcome>)> {
    let mut groups: Vec<(&str, Vec<&WorkloadOutcome>)> = Vec::new();
    for outcome in outcomes {
        match groups.iter_mut().find(|(name, _)| *name == outcome.name) {
            Some((_, group)) => group.push(outcome),
            None => groups.push((&outcome.name, vec![outcome])),
        }
    }
    groups
}

/// Returns a point for each size of the inputs at which the selected side ran: the size relative to
/// the smallest input, and the median time in seconds.
pub(super) fn points(outcomes: &[&WorkloadOutcome], select: impl Fn(&SideOutcome) -> bool) -> Vec<(f64, f64)> {
    let side = |outcome: &&WorkloadOutcome| {
        let side = outcome.sides.iter().find(|side| select(side) && side.status == SideStatus::Ran)?;
        Some((factor(&outcome.data)?, side.summary()?.median))
    };
    outcomes.iter().filter_map(side).collect()
}

fn drawing_area<'a>(path: &'a Path, height: u32) -> Result<Area<'a>, Box<dyn std::error::Error + 'a>> {
    let area = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    Ok(area)
}

/// Draws the ratios of a suite: a row for each workload and data that peers ran, and in each row a
/// dot with its interval for each of these peers. Times are relative to redpoll, on a logarithmic
/// axis.
fn draw_ratios<'a>(
    path: &'a Path,
    suite: Suite,
    outcomes: &[&WorkloadOutcome],
) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let rows: Vec<&&WorkloadOutcome> =
        outcomes.iter().filter(|o| o.peers().any(|side| o.ratio(side).is_some())).collect();
    let mut peers: Vec<&str> = Vec::new();
    let (mut low, mut high) = (0.5f64, 2.0f64);
    for (side, ratio) in rows.iter().flat_map(|o| o.peers().filter_map(|side| Some((side, o.ratio(side)?)))) {
        (low, high) = (low.min(ratio.low), high.max(ratio.high));
        if !peers.contains(&side.peer.as_str()) {
            peers.push(&side.peer);
        }
    }
    let area = drawing_area(path, 120 + ROW * rows.len() as u32)?;
    let count = i32::try_from(rows.len())?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{}: time relative to redpoll", suite.name()), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(230)
        .build_cartesian_2d((low / 1.3..high * LEGEND_FACTOR).log_scale(), (0..count).into_segmented())?;
    let name = |k: i32| rows.get((count - 1 - k) as usize).map_or(String::new(), |o| format!("{} {}", o.name, o.data));
    chart
        .configure_mesh()
        .y_labels(rows.len() + 1)
        .y_label_formatter(&|value| match value {
            SegmentValue::CenterOf(k) | SegmentValue::Exact(k) => name(*k),
            SegmentValue::Last => String::new(),
        })
        .x_label_formatter(&|x| format!("{x}"))
        .disable_y_mesh()
        .light_line_style(WHITE)
        .draw()?;
    chart.draw_series(LineSeries::new(
        [(1.0, SegmentValue::Exact(0)), (1.0, SegmentValue::Last)],
        BLACK.stroke_width(2),
    ))?;
    for (k, peer) in peers.iter().enumerate() {
        let color = Palette99::pick(k).to_rgba();
        let marks = rows.iter().enumerate().filter_map(|(row, outcome)| {
            let side = outcome.peers().find(|side| side.peer == *peer)?;
            Some((SegmentValue::CenterOf(count - 1 - row as i32), outcome.ratio(side)?))
        });
        let marks: Vec<_> = marks.collect();
        let lines =
            marks.iter().map(|(row, r)| PathElement::new(vec![(r.low, row.clone()), (r.high, row.clone())], color));
        chart.draw_series(lines)?;
        chart
            .draw_series(marks.iter().map(|(row, r)| Circle::new((r.median, row.clone()), 4, color.filled())))?
            .label(*peer)
            .legend(move |position| Circle::new(position, 4, color.filled()));
    }
    chart
        .configure_series_labels()
        .border_style(BLACK)
        .background_style(WHITE.mix(0.8))
        .position(SeriesLabelPosition::UpperRight)
        .draw()?;
    Ok(area.present()?)
}

/// Draws the growth of a workload: a line for each side, with time in seconds by size of inputs, on
/// logarithmic axes.
fn draw_growth<'a>(
    path: &'a Path,
    name: &str,
    outcomes: &[&WorkloadOutcome],
) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for side in outcomes.iter().flat_map(|o| &o.sides) {
        let label = if side.is_redpoll() { format!("redpoll {}", side.mode) } else { side.peer.clone() };
        if !lines.iter().any(|(existing, _)| *existing == label) {
            let points = points(outcomes, |other| other.peer == side.peer && other.mode == side.mode);
            if !points.is_empty() {
                lines.push((label, points));
            }
        }
    }
    let all = || lines.iter().flat_map(|(_, points)| points);
    let (fastest, slowest) = all().fold((f64::MAX, f64::MIN), |(low, high), (_, y)| (low.min(*y), high.max(*y)));
    let max_size = all().fold(2.0f64, |max, (x, _)| max.max(*x));
    let area = drawing_area(path, 480)?;
    if lines.is_empty() {
        return Ok(area.present()?);
    }
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{name}: seconds by size of inputs"), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(70)
        .build_cartesian_2d((0.9..max_size * LEGEND_FACTOR).log_scale(), (fastest / 1.5..slowest * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("size relative to the smallest input")
        .x_label_formatter(&|x| format!("{x}"))
        .y_label_formatter(&|y| format!("{y:e}"))
        .draw()?;
    for (k, (label, points)) in lines.iter().enumerate() {
        let color = Palette99::pick(k).to_rgba();
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, color.filled())))?;
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
    }
    chart
        .configure_series_labels()
        .border_style(BLACK)
        .background_style(WHITE.mix(0.8))
        .position(SeriesLabelPosition::UpperRight)
        .draw()?;
    Ok(area.present()?)
}
