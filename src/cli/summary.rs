//! The human-readable output of `redpoll run`: results, plan, times and memory, or the values of
//! the results.

use super::failure::CommandFailure;
use super::style::TerminalStyle;
use crate::logic::physical::FormatDisplay;
use crate::logic::{Alias, Scalar, plural};
use crate::storage::Tensor;
use crate::{Prepared, Run};
use indicatif::HumanBytes;
use std::io::{self, Write};
use std::time::Duration;

/// Times of the steps of a run.
pub(super) struct StepTimes {
    /// Time of reading the plan, and the files of its tables into tensors.
    pub(super) read: Duration,
    /// Time to parse, verify and optimize the plan or program.
    pub(super) optimize: Duration,
    /// Time to translate the optimized form to Notation and to compile the kernels.
    pub(super) compile: Duration,
    /// Time from text to results in the first run.
    pub(super) cold: Duration,
    /// Time of the fastest later run, if there are later runs.
    pub(super) warm_best: Option<Duration>,
    /// Median time of the later runs, if there are any.
    pub(super) warm_median: Option<Duration>,
}

/// Description of the peak memory of a run.
pub(super) const PEAK_DESCRIPTION: &str = "peak memory of results, tensors between queries, and workspaces";

/// Writes results, plan, times and memory. A program has no plan.
pub(super) fn report_text(
    prepared: &Prepared,
    run: &Run,
    times: &StepTimes,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let style = TerminalStyle::of(&io::stdout());
    writeln!(out, "{}", style.title("results"))?;
    for (name, tensor) in &run.outputs {
        writeln!(out, "  {}", result(name, tensor)?)?;
    }
    if let Some(physical) = prepared.physical() {
        writeln!(out, "\n{}", style.title("plan"))?;
        for line in physical.to_string().trim_end().lines() {
            writeln!(out, "  {line}")?;
        }
    }
    writeln!(out, "\n{}", style.title("times and memory"))?;
    let rows = [
        ("read", Some(times.read), "from files to tensors"),
        ("optimize", Some(times.optimize), "parsing, verification and optimization"),
        ("compile", Some(times.compile), "compilation to kernels"),
        ("cold", Some(times.cold), "from text to results in the first run"),
        ("warm", times.warm_median, "a later run, median"),
        ("best", times.warm_best, "the fastest later run"),
    ];
    for (name, time, what) in rows {
        if let Some(time) = time {
            writeln!(out, "  {name:<9} {:>10}   {what}", readable(time))?;
        }
    }
    Ok(writeln!(out, "  {:<9} {:>10}   {PEAK_DESCRIPTION}", "memory", HumanBytes(run.peak_bytes as u64).to_string())?)
}

/// Writes the values of all results; the middle of a large result is left out.
pub(super) fn print_values(run: &Run, out: &mut impl Write) -> Result<(), CommandFailure> {
    let style = TerminalStyle::of(&io::stdout());
    for (k, (name, tensor)) in run.outputs.iter().enumerate() {
        if k > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}\n{}", style.title(name.as_str()), tensor.to_string().trim_end())?;
    }
    Ok(())
}

/// Formats a result in one line: the value of a scalar, or a summary of a tensor.
fn result(name: &Alias, tensor: &Tensor) -> Result<String, CommandFailure> {
    let ty = tensor.ty();
    if ty.shape.is_empty()
        && let Ok(value) = tensor.get(&[])
    {
        return Ok(format!("{name} = {value}    {}", ty.dtype));
    }
    let sum = match (tensor.integer_sum()?, tensor.sum()?) {
        (Some(sum), _) => format!(", sum {sum}"),
        (None, Some(sum)) => format!(", sum {}", Scalar::F64(sum)),
        (None, None) => String::new(),
    };
    let shape: Vec<String> = ty.shape.iter().map(u64::to_string).collect();
    let (nonfill, stored) = (tensor.count_differing_from_fill()?, tensor.count_stored()?);
    let values = plural(nonfill, "value", "values");
    Ok(format!(
        "{name}    {} {}, {nonfill} {values} other than {}, {stored} stored{sum}, format {}",
        shape.join(" x "),
        ty.dtype,
        ty.fill,
        FormatDisplay(&ty.format)
    ))
}

/// Formats a time with at least three digits and a suitable unit.
fn readable(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts units and digits of times.
    #[test]
    fn times_are_readable() {
        let cases = [(0, "0.00 us"), (1_500, "1.50 us"), (45_600_000, "45.6 ms"), (123_400_000_000, "123 s")];
        for (nanos, expected) in cases {
            assert_eq!(readable(Duration::from_nanos(nanos)), expected);
        }
    }
}
