//! Workloads over images: erosion and histograms, over pixels and over runs.

use super::arrays::{generate_image, generate_mask};
use super::matrices::{describe, require};
use super::{pictures, text};
use crate::runner::WorkloadRunner;
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
use anyhow::Result;
use redpoll::Array;

/// The formats of the images: dense, or runs of equal pixels.
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
        equation: "two rounds of erosion by a square of 3 x 3, with run-length input and result",
        data: pictures::DATA,
        make: erode_runs,
    },
    Workload {
        suite: Suite::Image,
        name: "masked_histogram",
        equation: "h_b = the number of pixels inside a run-length mask with values from 16 b to 16 b + 15",
        data: pictures::DATA,
        make: masked_histogram,
    },
];

fn format(data: &str) -> &'static str {
    if data == "run-length" { "(dense (run-length (element)))" } else { "dense" }
}

fn erosion(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let image = generate_mask(size.pick(4096, 1024, 12), 95)?;
    let (description, pixels) = (describe(data, &image), image.shape.iter().product::<u64>() as f64);
    WorkloadProblem::program(
        description,
        vec![WorkloadInput::new("I", image, format(data))?],
        1,
        |runner: &mut WorkloadRunner| {
            let image = runner.array("I")?;
            let shifted = |dy: i64, dx: i64| -> Array { image.pad([(dy, -dy), (dx, -dx)], false) };
            let eroded = shifted(1, 0)
                .logical_and(shifted(-1, 0))
                .logical_and(shifted(0, 1))
                .logical_and(shifted(0, -1))
                .logical_and(&image)
                .to_dense();
            Ok(vec![runner.collect(&eroded)?])
        },
    )
    .work(2.0 * pixels, 5.0 * pixels)
    .into_outcome()
}

fn histogram(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let image = generate_image(size.pick(4096, 1024, 12), 96)?;
    let (description, pixels) = (describe(data, &image), image.shape.iter().product::<u64>() as f64);
    let zero = crate::data::dense_of(&[256], redpoll::datasets::Values::I64(vec![0; 256]));
    let inputs = vec![WorkloadInput::new("I", image, format(data))?, WorkloadInput::new("zero", zero, "dense")?];
    WorkloadProblem::plan(
        description,
        inputs,
        1,
        "(plan (query h (mapjoin + (table zero b)
           (aggregate + 0 (mapjoin cast-i64 (mapjoin eq (table I i j) (coordinate b))) i j))) (produces h))",
    )
    .work(pixels, pixels)
    .into_outcome()
}

fn erode_runs(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let image = pictures::to_content(&require!(pictures::binary_image(data, size)));
    let (description, pixels) = (describe(data, &image), image.data.values().len() as f64);
    let inputs = vec![WorkloadInput::new("I", image, pictures::RUNS)?];
    let program = |runner: &mut WorkloadRunner| runner.run_text(text!("plans/erosion_runs.rp"));
    WorkloadProblem::program(description, inputs, 1, program).work(0.0, 12.0 * pixels).into_outcome()
}

fn masked_histogram(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let [image, mask, bins] = pictures::mask_inputs(&require!(pictures::binary_image(data, size)));
    let description = describe(data, &mask);
    let inputs = [("I", image, "dense"), ("M", mask, pictures::RUNS), ("bins", bins, "dense")];
    let inputs = inputs.into_iter().map(|(name, content, format)| WorkloadInput::new(name, content, format));
    let program = |runner: &mut WorkloadRunner| runner.run_text(text!("plans/histogram.rp"));
    WorkloadProblem::program(description, inputs.collect::<Result<_>>()?, 1, program).into_outcome()
}
