//! The suite `structure`: structured storage compared with unstructured storage, and different
//! algorithms compared with each other. All variants of a workload compute the same results and are
//! measured in the same run. The speedups that papers report are listed beside the variants.
//!
//! The speedups are from the paper on Finch (W. Ahrens and others, *Finch: Sparse and Structured
//! Tensor Programming with Control Flow*, 2024) and from the paper on sparse array programming (R.
//! Henry and others, *Compilation of Sparse Array Programming Models*, 2021). The baselines of
//! these papers are other libraries; the baselines here are variants that redpoll itself runs.

mod arrays;
mod graphs;
mod images;
mod products;

use super::matrices::describe;
use super::{first_result, text};
use crate::workload::{Variant, Workload, WorkloadInput};
use anyhow::Result;
use redpoll::datasets::Content;
use redpoll_logic::text::parse_format;
use redpoll_storage::Survey;

pub(super) const FAMILIES: &[&[Workload]] =
    &[products::WORKLOADS, images::WORKLOADS, arrays::WORKLOADS, graphs::WORKLOADS];

/// A format to compare, and the result that a paper reports for this format.
type FormatCandidate = (&'static str, Option<&'static str>);

/// Largest size of a tensor in a measured format, as a multiple of its size in the baseline format.
const MAX_SIZE_RATIO: u64 = 8;

/// Returns the candidates that store the tensor within [`MAX_SIZE_RATIO`] times the size of the
/// baseline, which is the first candidate.
fn practical_formats<'a>(content: &Content, candidates: &'a [FormatCandidate]) -> Result<Vec<&'a FormatCandidate>> {
    let rank = content.shape.len();
    let baseline = parse_format(candidates[0].0, rank)?;
    let survey = Survey::of(&content.clone().into_tensor(Some(baseline.clone()))?)?;
    let max_bytes = survey.bytes(&baseline)?.map_or(u64::MAX, |bytes| bytes.saturating_mul(MAX_SIZE_RATIO));
    let mut practical = Vec::new();
    for candidate in candidates {
        let bytes = survey.bytes(&parse_format(candidate.0, rank)?)?;
        if bytes.is_some_and(|bytes| bytes <= max_bytes) {
            practical.push(candidate);
        }
    }
    Ok(practical)
}

/// Creates a variant that runs the text of a plan or program over inputs in the given formats.
fn text_variant(name: &str, inputs: &[(&str, &Content, &str)], text: &'static str) -> Result<Variant> {
    let inputs = inputs.iter().map(|(name, content, format)| WorkloadInput::new(name, (*content).clone(), format));
    Ok(Variant::from_text(name, inputs.collect::<Result<_>>()?, text))
}

use super::matrices::require;
