//! Programs in Notation text, prepared and run over tensors.

use crate::config::Engine;
use crate::dump;
use crate::engine::{Layouts, Loops, Placement, Stage};
use crate::error::{Error, Unbound};
use crate::executable::{Executable, run_or_restart};
use crate::explain::{Detail, Section, c_text, code_of, section};
use crate::prepared::Run;
use crate::session::{Bindings, Session};
use crate::timings::{Phase, Timings};
use redpoll_logic::{Alias, DType, Format, Scalar, TensorType};
use redpoll_physical::notation::{
    self, InputText, Role, checks, inputs_of, normalize, parse_over, scheduled, verify_parallel,
};
use redpoll_physical::run::Limits;
use redpoll_physical::storage::{Tensor, Values, convert};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program in Notation text: loops over tensors that are accessed by index, in the form that the module
/// [`notation`](redpoll_physical::notation) describes. What its text leaves open of the types of inputs comes from the
/// tensors that are bound to them.
#[derive(Clone, Debug)]
pub struct Program {
    text: Arc<str>,
    inputs: Arc<[InputText]>,
}

/// A program with the tensors that it reads and the kernel that computes it.
pub struct PreparedProgram {
    pub(crate) made: Arc<MadeProgram>,
    limits: Limits,
    bindings: Bindings,
    timings: Timings,
}

/// All that is made of a program and does not depend on the values of tensors.
pub(crate) struct MadeProgram {
    pub(crate) executable: Executable,
    /// What is read off its inputs.
    shares: Vec<ReadOff>,
    /// The least and the greatest values of inputs that it was made for: it does not check coordinates that follow.
    assumed: Vec<AssumedRange>,
}

impl MadeProgram {
    /// Whether the values of inputs are among those that it was made for.
    fn fits(&self, bindings: &Bindings) -> bool {
        self.assumed.iter().all(|(input, (least, greatest))| {
            let range = bindings.get(input.as_str()).and_then(Tensor::value_range);
            range.is_some_and(|(a, b)| least <= &a && &b <= greatest)
        })
    }
}

/// An input with the bounds of blocks of another one that have equal shares of what it stores.
struct ReadOff {
    input: String,
    of: String,
    modes: usize,
    blocks: u64,
}

impl ReadOff {
    fn all(program: &notation::Program) -> Vec<ReadOff> {
        let name = |t: notation::TensorId| program.tensors[t.index()].name.clone();
        let one =
            |s: &notation::Shares| ReadOff { input: name(s.input), of: name(s.of), modes: s.modes, blocks: s.blocks };
        program.shares.iter().map(one).collect()
    }
}

/// The bindings with what is read off them.
fn with_shares(shares: &[ReadOff], mut bindings: Bindings) -> Bindings {
    for ReadOff { input, of, modes, blocks } in shares {
        if let Some(bounds) = bindings.get(of).map(|tensor| tensor.equal_shares(*modes, *blocks)) {
            bindings.insert(input.as_str(), bounds);
        }
    }
    bindings
}

impl Program {
    /// The program of a text, its declarations read.
    ///
    /// # Errors
    /// When the text is no program, with line and column.
    pub fn new(text: &str) -> Result<Program, Error> {
        let inputs = inputs_of(text).map_err(|source| Error::Program { at: None, source: Box::new(source) })?;
        Ok(Program { text: text.into(), inputs: inputs.into() })
    }

    /// Its inputs, and what the text says of them.
    pub fn inputs(&self) -> &[InputText] {
        &self.inputs
    }

    /// The tensors of its inputs as the program takes them: numbers that need not be bound have their values, and
    /// tensors are stored in the format that the text asks for, if it does.
    fn bind(&self, bindings: &Bindings) -> Result<Bindings, Error> {
        let bound = |i: &&InputText| bindings.get(&i.name).is_none() && i.value.is_none();
        let missing = self.inputs.iter().filter(bound);
        let missing: Vec<_> = missing.map(|i| Unbound { table: i.name.as_str().into(), rank: i.rank }).collect();
        if !missing.is_empty() {
            return Err(Error::Unbound(missing));
        }
        let tensor = |input: &InputText| {
            let tensor = match (bindings.get(&input.name), &input.value) {
                (Some(tensor), _) if tensor.ty().shape.is_empty() => number(&tensor.get(&[])?)?,
                (Some(tensor), _) => match &input.format {
                    Some(format) if format.rank() == tensor.ty().shape.len() => convert(tensor, format)?,
                    _ => tensor.clone(),
                },
                (None, value) => number(value.as_ref().expect("what is missing was told"))?,
            };
            Ok((Alias::from(input.name.as_str()), tensor))
        };
        self.inputs.iter().map(tensor).collect()
    }
}

/// A number as a tensor whose type does not tell its value: kernels for other numbers are the same.
fn number(value: &Scalar) -> Result<Tensor, Error> {
    let dtype: DType = value.dtype();
    let zeros: Vec<Scalar> = dtype.prims().into_iter().map(Scalar::zero).collect();
    let fill = Scalar::unflatten(&dtype, &mut zeros.into_iter()).expect("a dtype is made of its primitives");
    let values = Values::from_scalars(dtype.clone(), std::slice::from_ref(value))?;
    Ok(Tensor::from_dense(TensorType { shape: Vec::new(), dtype, fill, format: Format::dense(0) }, &values)?)
}

impl Session {
    /// Takes a program in Notation all the way to a kernel. The session keeps it: the same text over tensors of the same
    /// types is made once.
    ///
    /// # Errors
    /// When an input is not bound, a tensor is not of the type that the text asks for, or the program breaks a rule;
    /// with line and column where they are known.
    pub fn prepare_program(&self, program: &Program, bindings: &Bindings) -> Result<PreparedProgram, Error> {
        let bindings = program.bind(bindings)?;
        let mut timings = Timings::default();
        let config = self.config();
        let by_text = config.dump.is_some() || config.load.is_some();
        let found = if by_text { None } else { self.programs().find(&program.text, &bindings) };
        let made = match found.filter(|made| made.fits(&bindings)) {
            Some(made) => made,
            None => {
                let made = Arc::new(make(self, &program.text, &bindings, &mut timings)?);
                self.programs().keep(&program.text, &bindings, &made);
                made
            }
        };
        let bindings = with_shares(&made.shares, bindings);
        let prepared = PreparedProgram { made, limits: self.limits().clone(), bindings, timings };
        if let Some(folder) = &config.dump {
            let executable = &prepared.made.executable;
            let folder = dump::folder_of(&program.text, &executable.produces, folder);
            dump::write(&folder, &prepared.explain(Detail::Clif)?, executable)?;
        }
        Ok(prepared)
    }
}

fn make(session: &Session, text: &str, bindings: &Bindings, timings: &mut Timings) -> Result<MadeProgram, Error> {
    session.config().check_environment()?;
    let ty = |name: &str| bindings.get(name).map(|tensor| tensor.ty().clone());
    let (written, marks) = timings
        .time(Phase::Parse, || parse_over(text, &[], &ty).map_err(Box::new))
        .map_err(|source| Error::Program { at: None, source })?;
    let mode = session.config().optimizer.float_mode;
    let normal = timings.time(Phase::Notation, || {
        let transformed = scheduled(written.clone(), mode).map_err(Box::new)?;
        let normal = normalize(transformed).map_err(Box::new)?;
        verify_parallel(&normal, mode).map_err(Box::new).map(|()| normal)
    });
    let normal = normal.map(|normal| over_values(normal, bindings));
    let (normal, assumed) = normal.map_err(|source| Error::Program { at: marks.position(&source), source })?;
    let shares = ReadOff::all(&normal);
    let bindings = with_shares(&shares, bindings.clone());
    let outputs = normal.tensors.iter().filter(|t| t.role == Role::Output);
    let produces: Vec<Alias> = outputs.map(|t| Alias::from(t.name.as_str())).collect();
    let name = produces.iter().map(Alias::as_str).collect::<Vec<_>>().join(", ");
    // How many rounds a `while` takes is not known, so much is expected.
    let loops = Loops::of_program(name, f64::INFINITY, (written, normal), &Layouts::of(&bindings));
    let edited = dump::edited(session.config(), text, &produces)?;
    let executable = Executable::new(session.config(), vec![Stage::of_program(loops)], produces, edited);
    timings.time(Phase::Compile, || executable.compile())?;
    Ok(MadeProgram { executable, shares, assumed })
}

/// A tensor, and the least and the greatest value that it is taken to have.
type AssumedRange = (Alias, (i64, i64));

/// The program without the checks of coordinates that the values of bound tensors make needless, and what it takes for
/// granted of these. Ranges of values are widened to the sizes of the program, so that it serves for other values, too.
fn over_values(program: notation::Program, bindings: &Bindings) -> (notation::Program, Vec<AssumedRange>) {
    let before = checks(&program).len();
    if before == 0 {
        return (program, Vec::new());
    }
    let sizes = program.tensors.iter().flat_map(|t| t.ty.format.storage_shape(&t.ty.shape));
    let last: Vec<i64> = sizes.filter_map(|n| i64::try_from(n).ok()).map(|n| n - 1).collect();
    let asked = RefCell::new(BTreeMap::new());
    let range = |id: notation::TensorId| {
        let decl = &program.tensors[id.index()];
        // Numbers are expected to change from run to run.
        if decl.role != Role::Input || decl.ty.shape.is_empty() {
            return None;
        }
        let (least, greatest) = bindings.get(decl.name.as_str())?.value_range().filter(|(least, _)| *least >= 0)?;
        let range = (least.min(0), *last.iter().filter(|n| **n >= greatest).min()?);
        asked.borrow_mut().insert(Alias::from(decl.name.as_str()), range);
        Some(range)
    };
    let proved = notation::bounds(program.clone(), &range);
    if checks(&proved).len() == before {
        (program, Vec::new())
    } else {
        (proved, asked.into_inner().into_iter().collect())
    }
}

/// An error of a run; one that the program's text makes is told as those of its text are.
fn of_program(error: Error) -> Error {
    match error {
        Error::Query { source, .. } if matches!(*source, redpoll_physical::Error::OutOfBounds(_)) => {
            Error::Program { at: None, source }
        }
        other => other,
    }
}

impl PreparedProgram {
    /// The names of its results, in order.
    pub fn produces(&self) -> &[Alias] {
        &self.made.executable.produces
    }

    /// How long each phase took until it was prepared.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// Runs it on the engine of its session.
    ///
    /// # Errors
    /// When the kernel stops: the memory limit, cancellation, a checked operator.
    pub fn run(&self) -> Result<Run, Error> {
        self.run_with(self.made.executable.config.engine)
    }

    /// Runs it on a given engine; there is no Logic plan that the interpreter of Logic could run.
    ///
    /// # Errors
    /// As [`PreparedProgram::run`]; and when the engine has nothing to run, or a tensor is too large for it.
    pub fn run_with(&self, engine: Engine) -> Result<Run, Error> {
        let none = || Err(Error::NoLogic);
        let executable = &self.made.executable;
        let on = (&self.bindings, &self.limits);
        let run = run_or_restart(engine, |engine| executable.run(engine, on, &none, &mut |_| Ok(())));
        let (run, lost) = run.map_err(of_program)?;
        if let Some(error) = lost {
            executable.decline(&error);
        }
        Ok(run)
    }

    /// As [`Prepared::placement`](crate::Prepared::placement).
    pub fn placement(&self) -> Placement {
        self.made.executable.next_run(&self.bindings)
    }

    /// The tier whose machine code the next run on [`Engine::Cpu`] calls.
    pub fn tier(&self) -> Engine {
        self.made.executable.tier()
    }

    /// Waits until the optimizing tier is there, if it is being compiled in the background.
    pub fn wait_for_take_over(&self) {
        self.made.executable.optimizing.wait();
    }

    /// What a user may want to know of the optimizing tier.
    pub fn tier_note(&self) -> Option<String> {
        self.made.executable.tier_note()
    }

    /// How its coordinates are known to be in bounds: which inputs were looked at, and which checks stayed.
    fn bounds(&self, program: &notation::Program) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (input, (least, greatest)) in &self.made.assumed {
            lines.push(format!("the values of `{input}` were looked at once: they are between {least} and {greatest}"));
        }
        for check in checks(program) {
            let (site, mode) = (&check.site, check.mode);
            let (line, column) = (site.at.line, site.at.column);
            lines.push(format!(
                "line {line}, column {column}: `{}` of `{}` is checked where it is met, against the size of mode {mode} of `{}`",
                site.subscript, site.access, site.tensor
            ));
        }
        if lines.is_empty() {
            lines.push("all coordinates are proved to be in bounds; none is checked when the program runs".to_owned());
        }
        lines.join("\n") + "\n"
    }

    /// The program as it was read, in normal form, and below as far as is asked for.
    ///
    /// # Errors
    /// When the code of the kernel is asked for, and cannot be made.
    pub fn explain(&self, detail: Detail) -> Result<Vec<Section>, Error> {
        let executable = &self.made.executable;
        let mut sections = Vec::new();
        for stage in executable.stages.iter() {
            let Some(loops) = stage.loops() else { continue };
            sections.push(section("program", notation::print(&loops.written)));
            sections.push(section("normal form", notation::print(&loops.program)));
            sections.push(section("bounds", self.bounds(&loops.program)));
            sections.extend(code_of(loops, &stage.name, executable, detail)?);
        }
        sections.push(section("engine", self.placement().to_string()));
        sections.extend(c_text(executable, detail)?);
        Ok(sections)
    }
}
