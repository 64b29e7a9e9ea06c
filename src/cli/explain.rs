//! `redpoll explain`: shows the result of each phase on a plan as text, shows its queries as a
//! graph, or writes a page with both.

use super::edge_list::EdgeListArgs;
use super::failure::CommandFailure;
use super::html::write_page;
use super::out::check_not_input;
use super::plan::{EDGE_LISTS, LoadedPlan, PlanArgs, note, write_schedule_table};
use super::stand_in::StandInArgs;
use super::style::TerminalStyle;
use super::summary::PEAK_DESCRIPTION;
use crate::{Detail, Error, Explanation, Flow, OutputProfile, Prepared, Profile, Section, Target};
use clap::ValueEnum;
use indicatif::HumanBytes;
use redpoll_logic::plural;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Show the result of each phase on a plan
#[derive(clap::Args)]
#[command(after_help = "\
A plan depends on the formats and sizes of its tables. Tables without a file hold random numbers. A sparse table has
about 10 stored values for each coordinate of its first mode. The size of an index is taken from --size, the program,
or a table with a file; otherwise it is 1000.

Examples:
  redpoll explain 'y(i) = A(i,j) * x(j)'
  redpoll explain 'C(i,j) = A(i,k) * B(k,j)' --format A=csr --format B=csc --size i=5000 --c
  redpoll explain 'y(i) = A(i,j) * x(j)' --kernel
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx:coo
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx --section queries
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx --analyze
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx --analyze --html triangles.html
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx --output dot | dot -Tsvg > plan.svg")]
pub(super) struct Args {
    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    stand_ins: StandInArgs,

    /// Run the plan, and show the measurements of each query beside the estimates
    #[arg(long)]
    analyze: bool,

    /// The output: every phase as text, or the queries and the tensors between them as a graph
    #[arg(long, value_name = "FORM", value_enum, default_value_t = OutputForm::Text)]
    output: OutputForm,

    /// Write one page to FILE, with the plan as a graph, and the loops, formats, sizes, times and
    /// code of each query; measurements need --analyze
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "section", "assembly", "kernel", "CodeArgs"])]
    html: Option<PathBuf>,

    /// Show only the sections whose title begins with TITLE, such as queries or "assembly of y"
    #[arg(long, value_name = "TITLE", conflicts_with = "output")]
    section: Option<String>,

    /// Also show the Assembly of a program; the Assembly of a plan is always shown
    #[arg(long, conflicts_with_all = ["analyze", "output"])]
    assembly: bool,

    /// Show only the loops of each kernel as readable C, over plain arrays with short names,
    /// without the code that receives and grows the arrays
    #[arg(long, conflicts_with_all = ["analyze", "output", "assembly", "CodeArgs"])]
    kernel: bool,

    #[command(flatten)]
    code: CodeArgs,

    #[command(flatten, next_help_heading = EDGE_LISTS)]
    edge_list: EdgeListArgs,
}

/// Options that show the code of a target. At most one may be given.
#[derive(clap::Args)]
#[group(multiple = false, conflicts_with_all = ["analyze", "output"])]
struct CodeArgs {
    /// Also show the Cranelift IR
    #[arg(long)]
    clif: bool,

    /// Also show the C text that the optimizing tier compiles
    #[arg(long)]
    c: bool,

    /// Also show the grids of each kernel for devices, and the CUDA text of all kernels
    #[arg(long)]
    cuda: bool,

    /// Also show the text that a target generates, such as instant, optimizing or cuda
    #[arg(long, value_name = "TARGET")]
    code: Option<Target>,
}

impl CodeArgs {
    /// Returns the target whose text is shown.
    fn target(&self) -> Option<Target> {
        let shorthands = [(self.clif, Target::INSTANT), (self.c, Target::OPTIMIZING), (self.cuda, Target::cuda(0))];
        self.code.or_else(|| shorthands.into_iter().find_map(|(is_set, target)| is_set.then_some(target)))
    }
}

/// Output format of a plan.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputForm {
    /// Text
    Text,
    /// A graph for Graphviz
    Dot,
    /// A graph for Mermaid
    Mermaid,
}

pub(super) fn explain(args: &Args, limit: Option<usize>, out: &mut impl Write) -> Result<(), CommandFailure> {
    if args.plan.schedule_table {
        return write_schedule_table(out);
    }
    args.stand_ins.check()?;
    args.html.iter().try_for_each(|file| check_not_input("--html ", file, &args.plan.input_files()))?;
    let loaded = args.plan.load_or(&args.edge_list, limit, Some(&args.stand_ins))?;
    let prepared = args.plan.prepare(&loaded)?;
    if args.output != OutputForm::Text && prepared.plan().is_none() {
        return Err(Error::NoPlan.into());
    }
    if let Some(file) = &args.html {
        return page(file, args, &loaded, &prepared, out);
    }
    if args.kernel {
        return write_sections(prepared.kernels(), args.section.as_deref(), out);
    }
    if !args.analyze && args.output == OutputForm::Text {
        return write_sections(prepared.explain(detail(args, &prepared))?, args.section.as_deref(), out);
    }
    match args.analyze {
        true => analyze(&prepared, &loaded, args, out),
        false => graph(&prepared.flow()?, args.output, out),
    }
}

/// Writes the page of a plan. With `--analyze`, the plan runs first, and the page has the
/// measurements of the run.
fn page(
    file: &Path,
    args: &Args,
    loaded: &LoadedPlan,
    prepared: &Prepared,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let profile = args.analyze.then(|| measure(prepared, loaded)).transpose()?;
    write_page(file, &loaded.text, prepared, profile.as_ref())?;
    let run = if args.analyze { "as it ran" } else { "not run; --analyze runs it" };
    Ok(writeln!(out, "{}    a page of the plan, {run}", file.display())?)
}

fn detail(args: &Args, prepared: &Prepared) -> Detail {
    match args.code.target() {
        Some(target) => Detail::Code(target),
        None if prepared.plan().is_none() && !args.assembly => Detail::Notation,
        None => Detail::Assembly,
    }
}

/// Runs the plan and returns the measurements of the run.
fn measure(prepared: &Prepared, loaded: &LoadedPlan) -> Result<Profile, CommandFailure> {
    loaded.bar.wait("running");
    let profile = prepared.profile(loaded.session.config().target);
    loaded.bar.clear();
    Ok(profile?)
}

/// Runs the plan and shows the measurements of the run.
fn analyze(prepared: &Prepared, loaded: &LoadedPlan, args: &Args, out: &mut impl Write) -> Result<(), CommandFailure> {
    let profile = measure(prepared, loaded)?;
    profile.notes.iter().for_each(|message| note(&message.to_string()));
    if args.output != OutputForm::Text {
        return graph(&profile.flow, args.output, out);
    }
    let section = |title: &str, text: String| Section { title: title.to_owned(), text };
    let mut sections = Vec::new();
    match prepared.physical() {
        Some(physical) => {
            sections.push(section("physical plan", physical.to_string()));
            sections.push(section("queries", profile.flow.to_string()));
        }
        None => sections.push(section("results", results(&profile))),
    }
    sections.push(section("times and memory", times(&profile)));
    write_sections(Explanation::from_iter(sections), args.section.as_deref(), out)
}

/// Formats the sizes of the results of a program.
fn results(profile: &Profile) -> String {
    let outputs = profile.queries.iter().flat_map(|query| &query.outputs);
    let line = |output: &OutputProfile| {
        format!("{}: {} stored {}\n", output.alias, output.stored, plural(output.stored, "value", "values"))
    };
    outputs.map(line).collect()
}

/// Formats the time of each phase, the time of the run, and the peak memory of the run.
fn times(profile: &Profile) -> String {
    let phases = profile.phases.iter().map(|(phase, time)| (phase.name(), time));
    let rows = phases.chain([("run", profile.time)]);
    let times: String = rows.map(|(name, time)| format!("{name:<12} {time:>10.1?}\n")).collect();
    format!("{times}{:<12} {:>10}   {PEAK_DESCRIPTION}", "memory", HumanBytes(profile.peak_bytes as u64).to_string())
}

fn graph(flow: &Flow, form: OutputForm, out: &mut impl Write) -> Result<(), CommandFailure> {
    let text = match form {
        OutputForm::Text => flow.to_string(),
        OutputForm::Dot => flow.to_dot(),
        OutputForm::Mermaid => flow.to_mermaid(),
    };
    Ok(write!(out, "{text}")?)
}

/// Writes all sections, or only the sections whose title begins with `title`.
fn write_sections(sections: Explanation, title: Option<&str>, out: &mut impl Write) -> Result<(), CommandFailure> {
    let style = TerminalStyle::of(&io::stdout());
    let heading = |section: &Section| style.title(&format!("== {} ==", section.title));
    let Some(title) = title else {
        let mut texts = sections.iter().map(|section| (heading(section), section.text.trim_end()));
        return Ok(texts.try_for_each(|(heading, text)| writeln!(out, "{heading}\n{text}\n"))?);
    };
    let (found, others): (Vec<Section>, Vec<Section>) =
        sections.into_iter().partition(|section| section.title.starts_with(title));
    if found.is_empty() {
        let titles: Vec<&str> = others.iter().map(|section| section.title.as_str()).collect();
        let message = format!("the explanation has no section whose title begins with `{title}`");
        return Err(CommandFailure::usage_with_hint(message, format!("the titles are: {}", titles.join(", "))));
    }
    for (k, section) in found.iter().enumerate() {
        let gap = if k == 0 { "" } else { "\n" };
        writeln!(out, "{gap}{}\n{}", heading(section), section.text.trim_end())?;
    }
    Ok(())
}
