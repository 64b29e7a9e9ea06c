//! Compares the optimizer's choices with all loop orders and output formats, over real and
//! generated inputs.
#![allow(clippy::print_stdout, reason = "the table is what the binary is for")]

use anyhow::{Context, Result};
use clap::Parser;
use redpoll::Engine;
use redpoll_bench::layouts::measure::{Note, Outcome, Settings, measure};
use redpoll_bench::layouts::problems::{CHOSEN, WORKLOADS, every_input, input};
use redpoll_bench::layouts::summary::{HEADING, row, table};
use redpoll_bench::layouts::watch::watched;
use redpoll_bench::machine::processor;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

/// The allocator of the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compares the optimizer's choices with all loop orders and output formats.
#[derive(Parser)]
#[command(name = "layouts", version, about)]
struct Cli {
    /// Run only groups whose name `workload/input/storage` contains one of these
    words: Vec<String>,
    /// Use every graph, matrix and tensor of the collection
    #[arg(long)]
    all: bool,
    /// Use the instant tier instead of the optimizing one, which avoids the C compiler
    #[arg(long)]
    instant: bool,
    /// Run plans whose cost is at most this multiple of the cheapest
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
    /// Measure one group of a workload, input and storage without some candidates; the program
    /// calls itself this way
    #[arg(long, hide = true, num_args = 3)]
    group: Vec<String>,
    #[arg(long, hide = true)]
    without: Vec<usize>,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    if let [workload, input, stored] = &cli.group[..] {
        return one(&cli, workload, input, stored);
    }
    let names = if cli.all { every_input()? } else { CHOSEN.iter().map(|name| (*name).to_owned()).collect() };
    println!("{}\n\n{HEADING}", processor());
    let mut outcomes: Vec<Outcome> = Vec::new();
    for name in names {
        if let Err(error) = groups_of(&cli, &name, &mut outcomes) {
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
fn groups_of(cli: &Cli, name: &str, outcomes: &mut Vec<Outcome>) -> Result<()> {
    let wanted = |workload: &str, stored: &str| {
        let id = format!("{workload}/{name}/{stored}");
        cli.words.is_empty() || cli.words.iter().any(|word| id.contains(word.as_str()))
    };
    let mut all = WORKLOADS.iter().flat_map(|w| w.stored.iter().map(|(stored, _)| (w.name, *stored)));
    if !all.any(|(workload, stored)| wanted(workload, stored)) {
        return Ok(());
    }
    let Some(content) = input(name)? else { return Ok(()) };
    for workload in WORKLOADS.iter().filter(|w| w.takes(&content)) {
        for (stored, _) in workload.stored.iter().filter(|(stored, _)| wanted(workload.name, stored)) {
            let arguments = |without: &[usize]| arguments(cli, [workload.name, name, stored], without);
            match watched(&arguments) {
                Ok(outcome) => {
                    println!("{}", row(&outcome));
                    outcomes.push(outcome);
                }
                Err(error) => println!("| {} | {name} | {stored} | {error:#} |", workload.name),
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

fn one(cli: &Cli, workload: &str, name: &str, stored: &str) -> Result<()> {
    let settings = Settings {
        engine: if cli.instant { Engine::Instant } else { Engine::Optimizing },
        screen: cli.screen,
        budget: Duration::from_millis(cli.budget),
        memory: cli.memory << 30,
    };
    let workload = WORKLOADS.iter().find(|w| w.name == workload).context("there is no such workload")?;
    let content = input(name)?.context("there is no such input")?;
    let groups = workload.groups(name, &content)?;
    let group = groups.iter().find(|g| g.stored == stored).context("there is no such group")?;
    let say = |note: &Note| println!("{}", serde_json::to_string(note).expect("notes are plain data"));
    let outcome = measure(group, settings, &cli.without, &mut { say })?;
    say(&Note::Outcome(Box::new(outcome)));
    Ok(())
}
