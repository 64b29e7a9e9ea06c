//! The shapes of physical plans, and their results compared with the results of the Logic plans.

mod algebra;
mod decisions;
mod errors;
mod filters;
mod lanes;
mod layout;
mod multi_output;
mod patterns;
mod quality;
mod shapes;
mod structure;
mod work;

#[path = "../common/mod.rs"]
mod common;

use common::{InputSpec, InputSymmetry, compare, filled, input_statistics};
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::physical::verify::verify;
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Alias, Format, Plan, Scalar};
use redpoll_optimizer::{OptimizerConfig, Report, Subjects, optimize};
use std::sync::Arc;

fn input(name: &str, shape: &[u64], format: Format) -> InputSpec {
    filled(name, shape, format, Scalar::F64(0.0))
}

trait WithStored {
    /// Sets the number of positions of the last sparse level in the statistics.
    fn stored(self, count: f64) -> InputSpec;
}

impl WithStored for InputSpec {
    fn stored(self, count: f64) -> InputSpec {
        InputSpec { stored: Some(count), ..self }
    }
}

/// Parses a plan over inputs.
fn plan(text: &str, inputs: &[InputSpec]) -> Plan {
    let catalog = inputs.iter().map(|i| (Alias::from(i.name.as_str()), Arc::new(i.ty.clone()))).collect();
    redpoll_logic::text::parse(text, &catalog).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Makes a plan without rewriting, and checks it as [`check_rewritten`] does.
fn check_plain(text: &str, inputs: &[InputSpec], config: &OptimizerConfig) -> (PhysicalPlan, Report) {
    check_rewritten(text, inputs, &OptimizerConfig { subjects: Subjects::none(), ..config.clone() })
}

/// Makes a plan and verifies it; checks its results on several data sets if the inputs are small.
fn check_rewritten(text: &str, inputs: &[InputSpec], config: &OptimizerConfig) -> (PhysicalPlan, Report) {
    let plan = plan(text, inputs);
    let statistics = input_statistics(inputs);
    let (physical, report) =
        optimize(&plan, &Statistics::new(&statistics), config).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let coordinate_count: f64 =
        inputs.iter().map(|i| i.ty.shape.iter().map(|&n| n as f64).product::<f64>()).fold(0.0, f64::max);
    if coordinate_count <= 10_000.0 {
        compare(&plan, &physical, inputs, config.float_mode);
    } else {
        verify(&physical).unwrap_or_else(|e| panic!("{e}\n{physical}"));
    }
    (physical, report)
}
