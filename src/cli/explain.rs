//! `redpoll explain`: shows the forms of a plan, phase by phase, or its queries as a graph.

use super::failure::Failure;
use super::plan::{PlanArgs, note};
use super::runnable::Runnable;
use super::style::Style;
use super::summary::HELD;
use crate::{Detail, Engine, Flow, Prepared, Profile, Section};
use clap::ValueEnum;
use indicatif::HumanBytes;
use std::io::{self, Write};

/// Show the result of each phase on a plan
#[derive(clap::Args)]
#[command(after_help = "\
The tables are bound as for `redpoll run`, since formats and sizes decide the plan.

Examples:
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx:coo
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx --analyze
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx --format dot | dot -Tsvg > plan.svg")]
pub(super) struct Args {
    #[command(flatten)]
    plan: PlanArgs,

    /// Run the plan, and show the measurements of each query beside the estimates
    #[arg(long)]
    analyze: bool,

    /// The output: every phase as text, or the queries and the tensors between them as a graph
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,

    /// Also show the Assembly of a program; that of a plan is always shown
    #[arg(long, conflicts_with_all = ["analyze", "format"])]
    assembly: bool,

    /// Also show the Cranelift IR
    #[arg(long, conflicts_with_all = ["analyze", "format"])]
    clif: bool,

    /// Also show the C text that the optimizing tier compiles
    #[arg(long, conflicts_with_all = ["clif", "analyze", "format"])]
    c: bool,

    /// Also show the grids of each kernel for devices, and the CUDA text of all kernels
    #[arg(long, conflicts_with_all = ["clif", "c", "analyze", "format"])]
    cuda: bool,
}

/// Output format of a plan.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text
    Text,
    /// A graph for Graphviz
    Dot,
    /// A graph for Mermaid
    Mermaid,
}

pub(super) fn explain(args: &Args, limit: Option<usize>, out: &mut impl Write) -> Result<(), Failure> {
    let loaded = args.plan.load(limit)?;
    let prepared = args.plan.prepare(&loaded)?;
    if !args.analyze && args.format == Form::Text {
        return sections(&prepared.explain(detail(args, &prepared))?, out);
    }
    let Runnable::Plan(prepared) = prepared else {
        let what = if args.analyze { "--analyze" } else { "--format" };
        return Err(Failure::new(
            format!("a program in Notation has no queries that {what} could show"),
            "without it, `redpoll explain` shows the program as it was read and in normal form",
        ));
    };
    match args.analyze {
        true => analyze(&prepared, loaded.session.config().engine, args.format, out),
        false => graph(&prepared.flow()?, args.format, out),
    }
}

fn detail(args: &Args, prepared: &Runnable) -> Detail {
    match (args.clif, args.c) {
        _ if args.cuda => Detail::Cuda,
        (true, _) => Detail::Clif,
        (_, true) => Detail::C,
        _ if matches!(prepared, Runnable::Program(_)) && !args.assembly => Detail::Notation,
        _ => Detail::Assembly,
    }
}

/// Runs the plan and shows its measurements.
fn analyze(prepared: &Prepared, engine: Engine, form: Form, out: &mut impl Write) -> Result<(), Failure> {
    let profile = prepared.profile(engine)?;
    profile.notes.iter().for_each(|message| note(&message.to_string()));
    if form != Form::Text {
        return graph(&profile.flow, form, out);
    }
    let section = |title: &str, text: String| Section { title: title.to_owned(), text };
    let physical = section("physical plan", prepared.physical().to_string());
    sections(
        &[physical, section("queries", profile.flow.to_string()), section("times and memory", times(&profile))],
        out,
    )
}

/// Formats the times of the phases and the run, and its peak of memory.
fn times(profile: &Profile) -> String {
    let phases = profile.phases.iter().map(|(phase, time)| (phase.name(), time));
    let rows = phases.chain([("run", profile.time)]);
    let times: String = rows.map(|(name, time)| format!("{name:<12} {time:>10.1?}\n")).collect();
    format!("{times}{:<12} {:>10}   {HELD}", "held", HumanBytes(profile.held as u64).to_string())
}

fn graph(flow: &Flow, form: Form, out: &mut impl Write) -> Result<(), Failure> {
    let text = match form {
        Form::Text => flow.to_string(),
        Form::Dot => flow.to_dot(),
        Form::Mermaid => flow.to_mermaid(),
    };
    Ok(write!(out, "{text}")?)
}

fn sections(sections: &[Section], out: &mut impl Write) -> Result<(), Failure> {
    let style = Style::of(&io::stdout());
    for section in sections {
        writeln!(out, "{}\n{}\n", style.title(&format!("== {} ==", section.title)), section.text.trim_end())?;
    }
    Ok(())
}
