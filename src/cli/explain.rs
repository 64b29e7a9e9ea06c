//! `redpoll explain`: shows what becomes of a plan, phase by phase.

use super::failure::Failure;
use super::plan::PlanArgs;
use super::runnable::Runnable;
use super::style::Style;
use crate::Detail;
use std::io::{self, Write};

/// Show what each phase makes of a plan
#[derive(clap::Args)]
#[command(after_help = "\
The tables are bound as for `redpoll run`, since formats and sizes decide the plan.

Example:
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx:coo")]
pub(super) struct Args {
    #[command(flatten)]
    plan: PlanArgs,

    /// Show the Assembly of a program, too; that of a plan is shown anyway
    #[arg(long)]
    assembly: bool,

    /// Show the code that Cranelift takes, too
    #[arg(long)]
    clif: bool,

    /// Show the C text that the optimizing tier compiles, too
    #[arg(long, conflicts_with = "clif")]
    c: bool,
}

pub(super) fn explain(args: &Args, out: &mut impl Write) -> Result<(), Failure> {
    let loaded = args.plan.load()?;
    let prepared = args.plan.prepare(&loaded)?;
    let style = Style::of(&io::stdout());
    let detail = match (args.clif, args.c) {
        (true, _) => Detail::Clif,
        (_, true) => Detail::C,
        _ if matches!(prepared, Runnable::Program(_)) && !args.assembly => Detail::Notation,
        _ => Detail::Assembly,
    };
    for section in prepared.explain(detail)? {
        writeln!(out, "{}\n{}\n", style.title(&format!("== {} ==", section.title)), section.text.trim_end())?;
    }
    Ok(())
}
