//! The arguments of both `run` and `explain`: a plan, the files of its tables, and the options for
//! compiling and running the plan. Also the notes that commands print on the files they read.

use super::bar::Bar;
use super::bind::{BindArg, NUMBER, RequiredInput, load};
use super::edge_list::EdgeListArgs;
use super::failure::{CommandFailure, similar_file};
use super::names::IndexNames;
use super::result_format::{ResultFormat, with_result_formats};
use super::stand_in::{StandInArgs, TableRead};
use super::style::TerminalStyle;
use super::values::threads;
use crate::compiler::notation::{TRANSFORMATIONS, TransformationText, is_program};
use crate::datasets::file_formats::FileFormat;
use crate::datasets::{Info, Memory};
use crate::kernels::run::Workers;
use crate::logic::text::{format_to_sexpr, free_tables};
use crate::logic::{Alias, DType, Expr, Field, FloatMode, Node, plural};
use crate::session::read_plan;
use crate::{Bindings, Config, Error, Phase, Prepared, Program, Session, Target, Timings};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use redpoll_optimizer::{Adaptivity, Subject, Subjects};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval of changes of the progress bar.
const BAR_INTERVAL: Duration = Duration::from_millis(200);

/// The forms of the argument that gives a plan.
const PLAN_FORMS: &str = "the first argument is the file of a plan, `-`, or a statement such as 'y(i) = A(i,j) * x(j)'";

/// The arguments that name a plan and its tables, and the options for compiling and running it.
#[derive(clap::Args)]
pub(super) struct PlanArgs {
    /// The file of a plan or of a program in Notation, `-` for standard input, or the text itself,
    /// such as the statement 'y(i) = A(i,j) * x(j)' in index notation
    #[arg(value_name = "PLAN", required_unless_present = "schedule_table")]
    plan: Option<PlanSource>,

    /// Read table NAME from FILE and store it in FORMAT, a shorthand such as csr or a level list;
    /// see `redpoll formats`. A table without indices may be a number: NAME=5
    #[arg(long, value_name = "NAME=FILE[:FORMAT]")]
    bind: Vec<BindArg>,

    /// The number of threads of kernels; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,

    /// Transform the loops of a query. The schedule begins with the name of the query, as in 'C:
    /// split(i, io, ii, 32) parallel(io)'; if the plan has a single result, the name may be omitted
    /// for the query of that result. See --schedule-table, and `redpoll explain` for the names of
    /// queries and loops. Without --strict, floats may be added or multiplied in another order;
    /// results do not change otherwise. May be given several times
    #[arg(long, value_name = "SCHEDULE")]
    schedule: Vec<String>,

    /// Print the transformations of schedules and their preconditions
    #[arg(long)]
    pub(super) schedule_table: bool,

    /// Use the plain path of the optimizer, which does not rewrite expressions
    #[arg(long, conflicts_with = "without")]
    plain: bool,

    /// Do not rewrite expressions by rules of this subject; may be given several times
    #[arg(long, value_name = "SUBJECT", value_parser = subject_parser())]
    without: Vec<Subject>,

    /// Do not replan during the first run. By default, the rest of the plan is replanned if the
    /// sizes of written tensors differ much from their estimates
    #[arg(long)]
    no_adapt: bool,

    /// Compute floats exactly as IEEE 754: 0/0 and 0*inf are NaN, stored or not, and sums keep
    /// their order. By default, 0/x and 0*x are zero for every x, so that empty rows stay empty
    #[arg(long)]
    strict: bool,

    /// The compiler of kernels on the CPU: instant, optimizing or auto. Instant is Cranelift, which
    /// takes a fraction of a millisecond. Optimizing is the C compiler of this machine; the command
    /// fails if there is none. With auto, a plan that runs long enough is also compiled by
    /// optimizing in the background
    #[arg(long, value_name = "TIER", value_parser = tier_parser())]
    tier: Option<Target>,

    /// The target that runs the plan: cpu, a device (cuda, cuda:1, ..), a tier (instant,
    /// optimizing), an interpreter (logic, notation, assembly, grid), or auto. With auto, the
    /// default, a device runs the plan if the device is expected to be faster, otherwise cpu
    #[arg(long, value_name = "TARGET")]
    engine: Option<Target>,
}

/// The heading of the options of edge lists.
pub(super) const EDGE_LISTS: &str =
    "Edge lists of --bind (.csv and .tsv files, and files without the extension of a format; detected by default)";

/// The source of the text of a plan.
#[derive(Clone, Debug)]
enum PlanSource {
    /// A file.
    File(PathBuf),
    /// Standard input.
    StandardInput,
    /// The argument itself.
    Text(String),
}

impl From<String> for PlanSource {
    fn from(argument: String) -> PlanSource {
        match argument.as_str() {
            "-" => PlanSource::StandardInput,
            // Names of files rarely contain `=` or `(`.
            text if text.contains(['=', '(']) && !Path::new(text).exists() => PlanSource::Text(argument),
            _ => PlanSource::File(argument.into()),
        }
    }
}

impl fmt::Display for PlanSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanSource::File(path) => write!(f, "{}", path.display()),
            PlanSource::StandardInput => f.write_str("standard input"),
            PlanSource::Text(_) => f.write_str("the plan"),
        }
    }
}

impl PlanSource {
    fn read(&self) -> Result<String, CommandFailure> {
        let text = match self {
            PlanSource::Text(text) => return Ok(text.clone()),
            PlanSource::File(path) if path.as_os_str().is_empty() => {
                return Err(CommandFailure::usage(format!("the plan is empty; {PLAN_FORMS}")));
            }
            PlanSource::File(path) if path.exists() && FileFormat::of_file_name(path).is_some() => {
                let hint = format!("bind the data to a table: redpoll run 'y(i) = A(i,j)' --bind A={self}");
                return Err(CommandFailure::new(format!("{self}: the file has data, not a plan"), hint));
            }
            PlanSource::File(path) => std::fs::read_to_string(path),
            PlanSource::StandardInput => io::read_to_string(io::stdin()),
        };
        text.map_err(|e| {
            let similar = match self {
                PlanSource::File(path) if e.kind() == io::ErrorKind::NotFound => similar_file(path),
                _ => None,
            };
            CommandFailure::new(format!("{self}: {e}"), similar.unwrap_or_else(|| PLAN_FORMS.to_owned()))
        })
    }
}

/// A plan with its data.
pub(super) struct LoadedPlan {
    /// The text of the plan.
    pub(super) text: String,
    /// The tensors of the tables.
    pub(super) bindings: Bindings,
    /// The names of the coordinates of indices.
    pub(super) names: IndexNames,
    /// The formats of results that options set.
    pub(super) result_formats: Vec<ResultFormat>,
    /// The session that prepares the plan.
    pub(super) session: Session,
    /// The time of reading the plan and the files, and of drawing random tensors for other tables.
    pub(super) read: Duration,
    /// The bar that shows the progress of runs.
    pub(super) bar: Arc<Bar>,
}

impl PlanArgs {
    /// Reads the plan and the files of its tables. The tables and all derived data count against
    /// the memory limit.
    pub(super) fn load(&self, edge_list: &EdgeListArgs, limit: Option<usize>) -> Result<LoadedPlan, CommandFailure> {
        self.load_or(edge_list, limit, None)
    }

    /// Reads the plan like [`PlanArgs::load`]. With `stand_ins`, unbound tables and inputs are
    /// bound to the tensors that [`StandInArgs::tensor`] returns.
    pub(super) fn load_or(
        &self,
        edge_list: &EdgeListArgs,
        limit: Option<usize>,
        stand_ins: Option<&StandInArgs>,
    ) -> Result<LoadedPlan, CommandFailure> {
        let start = Instant::now();
        let bar = Arc::new(Bar::new());
        let shown = bar.clone();
        let session = self.session(limit)?.on_progress(BAR_INTERVAL, move |progress| shown.show_run(progress));
        let memory = Memory::of(session.limits().memory.clone());
        let text = self.source().read()?;
        let required = self.required_inputs(&text)?;
        let (mut bindings, names) = load((&self.bind, edge_list), &required, &memory, &mut note)?;
        let result_formats = stand_ins.map(|s| s.result_formats(&text, &required)).unwrap_or_default();
        if let Some(stand_ins) = stand_ins {
            let unbound: Vec<&RequiredInput> = required.iter().filter(|i| bindings.get(&i.name).is_none()).collect();
            stand_ins.check_formats(&unbound, &result_formats)?;
            let bound = required.iter().filter_map(|input| Some((input, bindings.get(&input.name)?)));
            let sizes = bound.flat_map(|(input, tensor)| input.fields.iter().cloned().zip(tensor.ty().shape.clone()));
            let sizes: HashMap<String, u64> = sizes.filter(|(field, _)| !field.is_empty()).collect();
            let mut notes = Vec::new();
            for input in unbound {
                if let Some((tensor, note)) = stand_ins.tensor(input, &sizes, &session)? {
                    bindings.insert(input.name.as_str(), tensor);
                    notes.extend(note);
                }
            }
            let bound: Vec<&str> = self.bind.iter().map(|bind| bind.name.as_str()).collect();
            stand_ins.check_sizes(&table_reads(&text, &required, &bindings), &bound)?;
            notes.iter().for_each(|text| note(text));
        }
        Ok(LoadedPlan { text, bindings, names, result_formats, session, read: start.elapsed(), bar })
    }

    /// Returns the files that the plan and its tables are read from.
    pub(super) fn input_files(&self) -> Vec<&Path> {
        let plan = match &self.plan {
            Some(PlanSource::File(file)) => Some(file.as_path()),
            _ => None,
        };
        plan.into_iter().chain(self.bind.iter().map(|bind| bind.file.as_path())).collect()
    }

    /// Returns the tables or inputs that a text reads.
    fn required_inputs(&self, text: &str) -> Result<Vec<RequiredInput>, CommandFailure> {
        if !is_program(text) {
            let tables = free_tables(text).map_err(|e| self.in_plan(Error::Parse(e)))?;
            let table = |(name, fields): (Alias, Vec<Field>)| RequiredInput {
                name: name.to_string(),
                fields: fields.iter().map(|field| field.as_str().to_owned()).collect(),
                dtype: None,
                number: None,
                format: None,
            };
            return Ok(tables.into_iter().map(table).collect());
        }
        let program = Program::new(text).map_err(|e| self.in_plan(e))?;
        let inputs = program.inputs().iter().map(|i| RequiredInput {
            name: i.name.clone(),
            fields: i.shape.iter().map(|size| size.clone().unwrap_or_default()).collect(),
            dtype: i.dtype.clone(),
            number: (i.rank() == 0).then(|| i.dtype.clone().unwrap_or(NUMBER)),
            format: i.format.as_ref().map(|f| format_to_sexpr(f).to_string()),
        });
        Ok(inputs.collect())
    }

    /// Compiles the loaded plan or program.
    pub(super) fn prepare(&self, loaded: &LoadedPlan) -> Result<Prepared, CommandFailure> {
        let schedules = self.schedule.iter().map(|text| text.parse().map_err(Error::Schedule));
        let schedules = schedules.collect::<Result<Vec<_>, _>>().map_err(|e| self.in_plan(e))?;
        let LoadedPlan { text, bindings, result_formats, session, .. } = loaded;
        if result_formats.is_empty() || is_program(text) {
            return session.prepare_scheduled(text, bindings, &schedules).map_err(|e| self.in_plan(e));
        }
        let mut timings = Timings::default();
        let (text, plan) = timings.time(Phase::Parse, || read_plan(text, bindings)).map_err(|e| self.in_plan(e))?;
        let plan = with_result_formats(plan, result_formats)?;
        session.prepare_read_plan((text, plan), bindings, &schedules, timings).map_err(|e| self.in_plan(e))
    }

    fn source(&self) -> &PlanSource {
        self.plan.as_ref().expect("the parser requires a plan")
    }

    /// Prefixes errors in the text of the plan with the source of the text, such as the file name.
    /// Errors of the verifier get this prefix only if the source is a file.
    pub(super) fn in_plan(&self, error: Error) -> CommandFailure {
        let is_of_options = !self.schedule.is_empty() && error.is_schedule_fault();
        let failure = self.located(error);
        match failure {
            // The schedules of the options do not fit the plan.
            CommandFailure::Error { error, hint } if is_of_options => {
                CommandFailure::Usage { message: error.to_string(), hint }
            }
            other => other,
        }
    }

    fn located(&self, error: Error) -> CommandFailure {
        match error {
            Error::Parse(e) => CommandFailure::Error { error: format!("{}: {e}", self.source()).into(), hint: None },
            e @ Error::Program { .. } => {
                let words = e.to_string();
                let words = words.strip_prefix("program, ").unwrap_or(&words);
                CommandFailure::Error { error: format!("{}: {words}", self.source()).into(), hint: None }
            }
            Error::Verify(e) if matches!(self.source(), PlanSource::File(_)) => {
                CommandFailure::Error { error: format!("{}: {e}", self.source()).into(), hint: None }
            }
            other => other.into(),
        }
    }

    /// Returns the target that the options choose.
    fn target(&self) -> Result<Target, CommandFailure> {
        match (self.engine, self.tier) {
            (None, tier) => Ok(tier.unwrap_or_default()),
            (Some(engine), None) => Ok(engine),
            (Some(Target::CPU), Some(Target::AUTO)) => Ok(Target::CPU),
            (Some(Target::CPU), Some(tier)) => Ok(tier),
            (Some(engine), Some(tier)) if engine == tier => Ok(engine),
            (Some(engine), Some(tier)) => Err(CommandFailure::usage(format!(
                "`--tier {tier}` chooses a compiler of the CPU; use it alone or with `--engine cpu`, not with `--engine {engine}`"
            ))),
        }
    }

    fn session(&self, memory_limit: Option<usize>) -> Result<Session, CommandFailure> {
        let target = self.target()?;
        let subjects = if self.plain { Subjects::none() } else { Subjects::default() };
        let mut config = Config { target, memory_limit, ..Config::default() };
        if self.strict {
            config.optimizer.float_mode = FloatMode::StrictIeee;
        }
        if let Some(threads) = self.threads {
            config.workers = Arc::new(Workers::new(threads));
        }
        config.optimizer.subjects = self.without.iter().fold(subjects, |subjects, subject| subjects.without(*subject));
        if self.no_adapt {
            config.optimizer.adaptivity = Adaptivity::Off;
        }
        Ok(Session::new(config))
    }
}

/// Returns the indices of all reads of tables of a plan, or the declared sizes of the inputs of a
/// program. Returns the first read of each table if the plan is invalid.
fn table_reads(text: &str, required: &[RequiredInput], bindings: &Bindings) -> Vec<TableRead> {
    let first = || required.iter().map(|i| TableRead { table: i.name.clone(), fields: i.fields.clone() }).collect();
    if is_program(text) {
        return first();
    }
    let Ok((_, plan)) = read_plan(text, bindings) else { return first() };
    let mut reads = Vec::new();
    let mut visited = HashSet::new();
    let mut rest: Vec<&Expr> = plan.queries.iter().map(|query| &query.expr).collect();
    while let Some(expr) = rest.pop() {
        if !visited.insert(expr.address()) {
            continue;
        }
        if let Node::Table { tensor, fields, .. } = expr.node() {
            let fields = fields.iter().map(|field| field.as_str().to_owned()).collect();
            reads.push(TableRead { table: tensor.to_string(), fields });
        }
        rest.extend(expr.node().args());
    }
    reads
}

/// Writes the transformations that `--schedule` accepts.
pub(super) fn write_schedule_table(out: &mut impl Write) -> Result<(), CommandFailure> {
    let style = TerminalStyle::of(&io::stdout());
    for TransformationText { forms, effect, precondition } in TRANSFORMATIONS {
        forms.iter().try_for_each(|form| writeln!(out, "{}", style.title(form)))?;
        writeln!(out, "  effect: {effect}\n  precondition: {precondition}")?;
    }
    Ok(())
}

fn tier_parser() -> impl TypedValueParser<Value = Target> {
    PossibleValuesParser::new([Target::INSTANT, Target::OPTIMIZING, Target::AUTO].map(Target::name))
        .map(|name| name.parse().expect("the parser accepts only names of targets"))
}

fn subject_parser() -> impl TypedValueParser<Value = Subject> {
    let named = |name: String| Subject::ALL.into_iter().find(|(_, known)| *known == name).map(|(subject, _)| subject);
    PossibleValuesParser::new(Subject::ALL.map(|(_, name)| name))
        .map(move |name| named(name).expect("the parser accepts only names of subjects"))
}

/// Returns notes on the guesses by which an ambiguous edge list was read. One note says whether the
/// first record was taken for the header or an entry. Another says that two columns of names were
/// taken for one set of vertices, although they share no name.
pub(super) fn edge_list_notes(file: &Path, info: &Info) -> Vec<String> {
    /// Commands with the options of edge lists.
    const COMMANDS: &str = "`redpoll run` and `redpoll convert`";
    let file = file.display();
    let header = info.header_guess.as_ref().map(|guess| {
        let (header, role) = if guess.is_header() { (false, "an entry") } else { (true, "the header") };
        format!("{file}: {guess}; `--header {header}` of {COMMANDS} reads it as {role}")
    });
    let separate = info.separate_names.as_ref();
    let separate = separate.map(|names| format!("{file}: {names}; `--bipartite` of {COMMANDS} keeps them apart"));
    header.into_iter().chain(separate).collect()
}

/// Returns the note on a file with repeated coordinates; `None` if no coordinates are repeated.
pub(super) fn repetition_note(file: &Path, repeated: usize, info: &Info) -> Option<String> {
    let (file, entries) = (file.display(), plural(repeated as u64, "entry has", "entries have"));
    let effect = if info.dtype == DType::BOOL {
        "booleans at equal coordinates were kept once (as i64, they would be counted)"
    } else {
        "values at equal coordinates were added"
    };
    (repeated > 0).then(|| format!("{file}: {repeated} {entries} repeated coordinates; {effect}"))
}

/// Prints a note for the user.
pub(super) fn note(message: &str) {
    let mut err = io::stderr().lock();
    let style = TerminalStyle::of(&err);
    // Errors when writing to standard error are ignored.
    let _ = writeln!(err, "{} {message}", style.hint("note:"));
}
