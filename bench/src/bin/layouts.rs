//! Compares the optimizer's choices with all loop orders and several output formats, over real and
//! generated inputs.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::{Context, Result};
use clap::Parser;
use redpoll::Target;
use redpoll_bench::layouts::measure::{ExperimentSettings, GroupOutcome, ProgressMessage, measure};
use redpoll_bench::layouts::problems::{DEFAULT_INPUTS, WORKLOADS, all_inputs, load_input};
use redpoll_bench::layouts::summary::{HEADING, row, table};
use redpoll_bench::layouts::watch::measure_watched;
use redpoll_bench::machine::processor;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compares the optimizer's choices with all loop orders and output formats.
#[derive(Parser)]
#[command(name = "layouts", version, about)]
struct Cli {
    /// Run only groups whose name `workload/input/formats` contains one of these
    words: Vec<String>,
    /// Use every graph, matrix and tensor of the collection
    #[arg(long)]
    all: bool,
    /// Use the instant tier, which needs no C compiler, instead of the optimizing tier
    #[arg(long)]
    instant: bool,
    /// Run plans whose cost is at most this multiple of the lowest cost
    #[arg(long, value_name = "FACTOR", default_value_t = 60.0)]
    screen: f64,
    /// Milliseconds for the repeated runs of a plan
    #[arg(long, value_name = "MS", default_value_t = 40)]
    budget: u64,
    /// GiB that a plan may allocate
    #[arg(long, value_name = "GIB", default_value_t = 2)]
    memory: usize,
    /// Write all measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure one group, given by its workload, input and formats; the program starts itself with
    /// this option
    #[arg(long, hide = true, num_args = 3)]
    group: Vec<String>,
    #[arg(long, hide = true)]
    without: Vec<usize>,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    if let [workload, input, formats] = &cli.group[..] {
        return measure_group(&cli, workload, input, formats);
    }
    let names = if cli.all { all_inputs()? } else { DEFAULT_INPUTS.iter().map(|name| (*name).to_owned()).collect() };
    println!("{}\n\n{HEADING}", processor());
    let mut outcomes: Vec<GroupOutcome> = Vec::new();
    for name in names {
        if let Err(error) = measure_input(&cli, &name, &mut outcomes) {
            println!("| - | {name} | - | {error:#} |");
        }
    }
    println!("\n{}", table(&outcomes));
    if let Some(path) = cli.json {
        serde_json::to_writer(File::create(path)?, &outcomes)?;
    }
    Ok(())
}

/// Measures the selected groups of an input.
fn measure_input(cli: &Cli, name: &str, outcomes: &mut Vec<GroupOutcome>) -> Result<()> {
    let is_selected = |workload: &str, formats: &str| {
        let id = format!("{workload}/{name}/{formats}");
        cli.words.is_empty() || cli.words.iter().any(|word| id.contains(word.as_str()))
    };
    let mut all = WORKLOADS.iter().flat_map(|w| w.formats.iter().map(|(formats, _)| (w.name, *formats)));
    if !all.any(|(workload, formats)| is_selected(workload, formats)) {
        return Ok(());
    }
    let Some(content) = load_input(name)? else { return Ok(()) };
    for workload in WORKLOADS.iter().filter(|w| w.accepts(&content)) {
        for (formats, _) in workload.formats.iter().filter(|(formats, _)| is_selected(workload.name, formats)) {
            let arguments = |without: &[usize]| arguments(cli, [workload.name, name, formats], without);
            match measure_watched(&arguments) {
                Ok(outcome) => {
                    println!("{}", row(&outcome));
                    outcomes.push(outcome);
                }
                Err(error) => println!("| {} | {name} | {formats} | {error:#} |", workload.name),
            }
        }
    }
    Ok(())
}

fn arguments(cli: &Cli, group: [&str; 3], without: &[usize]) -> Vec<String> {
    let numbers = [
        ("--screen", cli.screen.to_string()),
        ("--budget", cli.budget.to_string()),
        ("--memory", cli.memory.to_string()),
    ];
    let mut all: Vec<String> = numbers.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
    if cli.instant {
        all.push("--instant".into());
    }
    all.extend(without.iter().flat_map(|k| ["--without".to_owned(), k.to_string()]));
    all.extend(["--group"].iter().chain(&group).map(|word| (*word).to_owned()));
    all
}

fn measure_group(cli: &Cli, workload: &str, name: &str, formats: &str) -> Result<()> {
    let settings = ExperimentSettings {
        target: if cli.instant { Target::INSTANT } else { Target::OPTIMIZING },
        screen: cli.screen,
        budget: Duration::from_millis(cli.budget),
        memory: cli.memory << 30,
    };
    let workload = WORKLOADS.iter().find(|w| w.name == workload).context("unknown workload")?;
    let content = load_input(name)?.context("the input is missing")?;
    let groups = workload.groups(name, &content)?;
    let group = groups.iter().find(|g| g.formats == formats).context("unknown combination of formats")?;
    let send =
        |message: &ProgressMessage| println!("{}", serde_json::to_string(message).expect("messages are plain data"));
    let outcome = measure(group, settings, &cli.without, &mut { send })?;
    send(&ProgressMessage::Complete(Box::new(outcome)));
    Ok(())
}
