//! Images.

use super::arrays::{picture, stencil};
use super::matrices::{present, words};
use super::{pictures, text};
use crate::runner::Runner;
use crate::workload::{Input, Made, Problem, Size, Suite, Workload};
use anyhow::Result;
use redpoll::Array;

/// Dense images, and images of runs.
const DATA: &[&str] = &["dense", "run-length"];

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Image,
        name: "erosion",
        equation: "the pixels whose four neighbours are all set",
        data: DATA,
        make: erosion,
    },
    Workload {
        suite: Suite::Image,
        name: "histogram",
        equation: "h_b = the number of pixels with value b",
        data: DATA,
        make: histogram,
    },
    Workload {
        suite: Suite::Image,
        name: "erosion_2",
        equation: "two rounds of erosion by a square of 3 x 3, of runs to runs",
        data: pictures::DATA,
        make: eroded_runs,
    },
    Workload {
        suite: Suite::Image,
        name: "masked_histogram",
        equation: "h_b = the number of pixels of a mask of runs with value 16 b to 16 b + 15",
        data: pictures::DATA,
        make: masked_histogram,
    },
];

fn format(data: &str) -> &'static str {
    if data == "run-length" { "(dense (run-length (element)))" } else { "dense" }
}

fn erosion(data: &str, size: Size) -> Result<Made> {
    let image = stencil(size.pick(4096, 1024, 12), 95)?;
    let (words, pixels) = (words(data, &image), image.shape.iter().product::<u64>() as f64);
    Problem::program(words, vec![Input::new("I", image, format(data))?], 1, |runner: &mut Runner| {
        let image = runner.array("I")?;
        let moved = |dy: i64, dx: i64| -> Array { image.pad([(dy, -dy), (dx, -dx)], false) };
        let eroded = moved(1, 0)
            .logical_and(moved(-1, 0))
            .logical_and(moved(0, 1))
            .logical_and(moved(0, -1))
            .logical_and(&image)
            .to_dense();
        Ok(vec![runner.collect(&eroded)?])
    })
    .work(2.0 * pixels, 5.0 * pixels)
    .made()
}

fn histogram(data: &str, size: Size) -> Result<Made> {
    let image = picture(size.pick(4096, 1024, 12), 96)?;
    let (words, pixels) = (words(data, &image), image.shape.iter().product::<u64>() as f64);
    let zero = crate::data::dense_of(&[256], redpoll::datasets::Values::I64(vec![0; 256]));
    let inputs = vec![Input::new("I", image, format(data))?, Input::new("zero", zero, "dense")?];
    Problem::plan(
        words,
        inputs,
        1,
        "(plan (query h (mapjoin + (table zero b)
           (aggregate + 0 (mapjoin cast-i64 (mapjoin eq (table I i j) (coordinate b))) i j))) (produces h))",
    )
    .work(pixels, pixels)
    .made()
}

fn eroded_runs(data: &str, size: Size) -> Result<Made> {
    let image = pictures::bits(&present!(pictures::binary(data, size)));
    let (words, pixels) = (words(data, &image), image.data.values().len() as f64);
    let inputs = vec![Input::new("I", image, pictures::RUNS)?];
    let program = |runner: &mut Runner| runner.text(text!("plans/erosion_runs.rp"));
    Problem::program(words, inputs, 1, program).work(0.0, 12.0 * pixels).made()
}

fn masked_histogram(data: &str, size: Size) -> Result<Made> {
    let [image, mask, bins] = pictures::masked(&present!(pictures::binary(data, size)));
    let words = words(data, &mask);
    let inputs = [("I", image, "dense"), ("M", mask, pictures::RUNS), ("bins", bins, "dense")];
    let inputs = inputs.into_iter().map(|(name, content, format)| Input::new(name, content, format));
    let program = |runner: &mut Runner| runner.text(text!("plans/histogram.rp"));
    Problem::program(words, inputs.collect::<Result<_>>()?, 1, program).made()
}
