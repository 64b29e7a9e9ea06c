//! `redpoll run`: runs a plan or a program over files.

use super::edge_list::EdgeListArgs;
use super::failure::CommandFailure;
use super::json::report_json;
use super::out::{OutArg, check_files};
use super::plan::{EDGE_LISTS, PlanArgs, note, write_schedule_table};
use super::summary::{StepTimes, print_values, report_text};
use super::values::count;
use crate::{Error, Phase, Placement, Prepared, Run};
use std::io::Write;
use std::time::{Duration, Instant};

/// Run a plan or a program over files and show its results, its plan and its times
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  redpoll run plans/triangles.rp --bind E=datasets/data/karate.mtx
  redpoll run 'degree(i) = A(i,j)' --bind A=datasets/data/karate.mtx --print
  redpoll run programs/bfs_push.rp --bind A=datasets/data/karate.mtx --bind source=0
  redpoll run spmv.rp --bind A=a.mtx.gz:csc --bind x=x.npy --out y=y.npy --repeat 10 --json
  redpoll run 'C(i,k) = A(i,j) * A(j,k)' --bind A=a.mtx --out C=c.npz:csr
  redpoll run 'mean(u) = R(u,m) / 5' --bind R=ratings.csv --bipartite --coordinates user,movie --value stars")]
pub(super) struct Args {
    #[command(flatten)]
    plan: PlanArgs,

    /// Run N more times after the first run, to measure the time of a warm run
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count)]
    repeat: u32,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Print the values of the results, without the middle of large results, in place of the plan
    /// and the times
    #[arg(long, conflicts_with_all = ["json", "repeat"])]
    print: bool,

    /// Write result NAME to FILE, in the file format of its extension. With FORMAT, a shorthand
    /// such as csr or a level list, a plan computes the result in this storage format. A result of
    /// a program, or a result that another query reads, is converted to it
    #[arg(long, value_name = "NAME=FILE[:FORMAT]")]
    out: Vec<OutArg>,

    #[command(flatten, next_help_heading = EDGE_LISTS)]
    edge_list: EdgeListArgs,
}

pub(super) fn run(args: &Args, limit: Option<usize>, out: &mut impl Write) -> Result<(), CommandFailure> {
    if args.plan.schedule_table {
        return write_schedule_table(out);
    }
    check_files(&args.out, &args.plan.input_files())?;
    let mut loaded = args.plan.load(&args.edge_list, limit)?;
    loaded.result_formats = args.out.iter().filter_map(OutArg::result_format).collect();
    let start = Instant::now();
    let prepared = args.plan.prepare(&loaded)?;
    for target in &args.out {
        target.check(&prepared)?;
    }
    let placement = prepared.placement();
    loaded.bar.wait("running");
    let first = prepared.run().map_err(|e| args.plan.in_plan(e))?;
    first.outputs.iter().try_for_each(|(_, tensor)| tensor.fetch().map_err(Error::from))?;
    let cold = start.elapsed();
    let warm = (0..args.repeat).map(|_| Ok(prepared.run()?.time)).collect::<Result<Vec<_>, CommandFailure>>()?;
    loaded.bar.clear();
    let step_times = step_times(&prepared, loaded.read, cold, warm);
    for target in &args.out {
        target
            .write((&prepared, &first), &loaded.names, &loaded.session.limits().memory)?
            .iter()
            .for_each(|text| note(text));
    }
    prepared.notes().iter().map(ToString::to_string).chain(prepared.tier_note()).for_each(|message| note(&message));
    show(args, &prepared, (&placement, &first), &step_times, out)
}

fn show(
    args: &Args,
    prepared: &Prepared,
    (placement, run): (&Placement, &Run),
    step_times: &StepTimes,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    match (args.json, args.print) {
        (true, _) => Ok(writeln!(out, "{}", report_json(prepared, placement, run, step_times)?)?),
        (false, true) => print_values(run, out),
        (false, false) => report_text(prepared, run, step_times, out),
    }
}

fn step_times(prepared: &Prepared, read: Duration, cold: Duration, mut warm: Vec<Duration>) -> StepTimes {
    let phases = |selected: &[Phase]| selected.iter().map(|p| prepared.timings().of(*p)).sum();
    warm.sort_unstable();
    StepTimes {
        read,
        optimize: phases(&[Phase::Parse, Phase::Verify, Phase::Optimize]),
        compile: phases(&[Phase::Notation, Phase::Compile]),
        cold,
        warm_best: warm.first().copied(),
        warm_median: median(&warm),
    }
}

/// Returns the median of sorted times: the middle time, or the mean of the two middle times.
/// Returns `None` if there are no times.
pub(super) fn median(sorted: &[Duration]) -> Option<Duration> {
    let upper = sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { *upper } else { (*upper + sorted[sorted.len() / 2 - 1]) / 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the medians of warm times.
    #[test]
    fn medians_are_in_the_middle() {
        let of = |times: &[u64]| median(&times.iter().map(|t| Duration::from_secs(*t)).collect::<Vec<_>>());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3]), Some(Duration::from_secs(3)));
        assert_eq!(of(&[1, 3]), Some(Duration::from_secs(2)));
        assert_eq!(of(&[1, 3, 9]), Some(Duration::from_secs(3)));
    }
}
