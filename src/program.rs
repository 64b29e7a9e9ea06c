//! Programs in Notation text, prepared and run over tensors.

use crate::Target;
use crate::bindings::Bindings;
use crate::dump;
use crate::engine::{Layouts, Placement, Stage, StageLoops};
use crate::error::{Error, UnboundTable};
use crate::executable::{Executable, run_or_restart};
use crate::explain::{Detail, Section, kernel_sections, section, source_section};
use crate::run::Run;
use crate::session::Session;
use crate::timings::{Phase, Timings};
use redpoll_compiler::notation::{
    self, InputText, Role, apply_schedule, bounds_checks, normalize, parse_inputs, parse_with_inputs, verify_parallel,
};
use redpoll_kernels::run::Limits;
use redpoll_logic::{Alias, DType, Format, Scalar, TensorType};
use redpoll_storage::{Tensor, Values, convert};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program in Notation text: loops over tensors that are accessed by index, in the form described
/// in the module [`notation`](redpoll_compiler::notation). Types of inputs that the text leaves
/// open are those of the bound tensors.
#[derive(Clone, Debug)]
pub struct Program {
    text: Arc<str>,
    inputs: Arc<[InputText]>,
}

/// A compiled program with the tensors that it reads.
pub struct PreparedProgram {
    pub(crate) compiled: Arc<CompiledProgram>,
    limits: Limits,
    bindings: Bindings,
    timings: Timings,
}

/// The compiled form of a program, which does not depend on the values of tensors, except for the
/// assumed ranges.
pub(crate) struct CompiledProgram {
    pub(crate) executable: Executable,
    /// Inputs whose values are derived from other inputs.
    derived_inputs: Vec<DerivedInput>,
    /// Assumed ranges of the values of inputs. Coordinates that are in bounds for these values are
    /// not checked.
    assumed_ranges: Vec<AssumedRange>,
}

impl CompiledProgram {
    /// Returns whether the values of the inputs are in the assumed ranges.
    fn covers(&self, bindings: &Bindings) -> bool {
        self.assumed_ranges.iter().all(|(input, (least, greatest))| {
            let range = bindings.get(input.as_str()).and_then(Tensor::value_range);
            range.is_some_and(|(a, b)| least <= &a && &b <= greatest)
        })
    }
}

/// An input with the bounds of blocks of another input, such that each block has an equal share of
/// its stored entries.
struct DerivedInput {
    input: String,
    of: String,
    modes: usize,
    blocks: u64,
}

impl DerivedInput {
    fn all_of(program: &notation::Program) -> Vec<DerivedInput> {
        let name = |t: notation::TensorId| program.tensors[t.index()].name.clone();
        let one = |s: &notation::Shares| DerivedInput {
            input: name(s.input),
            of: name(s.of),
            modes: s.modes,
            blocks: s.blocks,
        };
        program.shares.iter().map(one).collect()
    }
}

/// Adds the derived inputs to the bindings.
fn with_derived_inputs(derived: &[DerivedInput], mut bindings: Bindings) -> Bindings {
    for DerivedInput { input, of, modes, blocks } in derived {
        if let Some(bounds) = bindings.get(of).map(|tensor| tensor.equal_shares(*modes, *blocks)) {
            bindings.insert(input.as_str(), bounds);
        }
    }
    bindings
}

impl Program {
    /// Parses the declarations of a program.
    ///
    /// # Errors
    /// Fails, with line and column, if the text is not a program.
    pub fn new(text: &str) -> Result<Program, Error> {
        let inputs =
            parse_inputs(text).map_err(|source| Error::Program { at: None, source: Box::new(source.into()) })?;
        Ok(Program { text: text.into(), inputs: inputs.into() })
    }

    /// Returns the inputs as declared in the text.
    pub fn inputs(&self) -> &[InputText] {
        &self.inputs
    }

    /// Converts the bound tensors to the inputs of the program: unbound numbers take their declared
    /// values, and tensors are converted to the declared formats.
    fn bind(&self, bindings: &Bindings) -> Result<Bindings, Error> {
        let bound = |i: &&InputText| bindings.get(&i.name).is_none() && i.value.is_none();
        let missing = self.inputs.iter().filter(bound);
        let missing: Vec<_> = missing.map(|i| UnboundTable { table: i.name.as_str().into(), rank: i.rank }).collect();
        if !missing.is_empty() {
            return Err(Error::UnboundTables(missing));
        }
        let tensor = |input: &InputText| {
            let tensor = match (bindings.get(&input.name), &input.value) {
                (Some(tensor), _) if tensor.ty().shape.is_empty() => number(&tensor.get(&[])?)?,
                (Some(tensor), _) => match &input.format {
                    Some(format) if format.rank() == tensor.ty().shape.len() => convert(tensor, format)?,
                    _ => tensor.clone(),
                },
                (None, value) => number(value.as_ref().expect("missing inputs were reported"))?,
            };
            Ok((Alias::from(input.name.as_str()), tensor))
        };
        self.inputs.iter().map(tensor).collect()
    }
}

/// Returns a number as a tensor whose type is independent of its value, so that one kernel serves
/// all numbers.
fn number(value: &Scalar) -> Result<Tensor, Error> {
    let dtype: DType = value.dtype();
    let zeros: Vec<Scalar> = dtype.prims().into_iter().map(Scalar::zero).collect();
    let fill = Scalar::unflatten(&dtype, &mut zeros.into_iter()).expect("a dtype consists of its primitives");
    let values = Values::from_scalars(dtype.clone(), std::slice::from_ref(value))?;
    Ok(Tensor::from_dense(TensorType { shape: Vec::new(), dtype, fill, format: Format::dense(0) }, &values)?)
}

impl Session {
    /// Compiles a program in Notation to a kernel. The session caches the kernel for the same text
    /// and tensors of the same types.
    ///
    /// # Errors
    /// Fails if an input is not bound, a tensor does not have the declared type, or the program
    /// breaks a rule. The error has line and column if they are known.
    pub fn prepare_program(&self, program: &Program, bindings: &Bindings) -> Result<PreparedProgram, Error> {
        let bindings = program.bind(bindings)?;
        let mut timings = Timings::default();
        let config = self.config();
        let bypasses_cache = config.dump.is_some() || config.load.is_some();
        let found = if bypasses_cache { None } else { self.program_cache().find(&program.text, &bindings) };
        let compiled = match found.filter(|compiled| compiled.covers(&bindings)) {
            Some(compiled) => compiled,
            None => {
                let compiled = Arc::new(compile(self, &program.text, &bindings, &mut timings)?);
                self.program_cache().insert(&program.text, &bindings, &compiled);
                compiled
            }
        };
        let bindings = with_derived_inputs(&compiled.derived_inputs, bindings);
        let prepared = PreparedProgram { compiled, limits: self.limits().clone(), bindings, timings };
        if let Some(folder) = &config.dump {
            let executable = &prepared.compiled.executable;
            let folder = dump::folder_of(&program.text, &executable.produces, folder);
            dump::write(&folder, &prepared.explain(Detail::Code(Target::INSTANT))?, executable)?;
        }
        Ok(prepared)
    }
}

fn compile(
    session: &Session,
    text: &str,
    bindings: &Bindings,
    timings: &mut Timings,
) -> Result<CompiledProgram, Error> {
    session.config().check_environment()?;
    let ty = |name: &str| bindings.get(name).map(|tensor| tensor.ty().clone());
    let (source_program, marks) = timings
        .time(Phase::Parse, || parse_with_inputs(text, &[], &ty).map_err(Box::new))
        .map_err(|source| Error::Program { at: None, source: Box::new((*source).into()) })?;
    let mode = session.config().optimizer.float_mode;
    let normal = timings.time(Phase::Notation, || {
        let transformed = apply_schedule(source_program.clone(), mode).map_err(Box::new)?;
        let normal = normalize(transformed).map_err(Box::new)?;
        verify_parallel(&normal, mode).map_err(Box::new).map(|()| normal)
    });
    let normal = normal.map(|normal| remove_proved_checks(normal, bindings));
    let (normal, assumed_ranges) =
        normal.map_err(|source| Error::Program { at: marks.position(&source), source: Box::new((*source).into()) })?;
    let derived_inputs = DerivedInput::all_of(&normal);
    let bindings = with_derived_inputs(&derived_inputs, bindings.clone());
    let outputs = normal.tensors.iter().filter(|t| t.role == Role::Output);
    let produces: Vec<Alias> = outputs.map(|t| Alias::from(t.name.as_str())).collect();
    let name = produces.iter().map(Alias::as_str).collect::<Vec<_>>().join(", ");
    // The number of iterations of a `while` is unknown, so the cost is taken as infinite.
    let loops = StageLoops::of_program(name, f64::INFINITY, (source_program, normal), &Layouts::of(&bindings));
    let edited_text = dump::read_edited(session.config(), text, &produces)?;
    let executable = Executable::new(session.config(), vec![Stage::of_program(loops)], produces, edited_text);
    timings.time(Phase::Compile, || executable.compile())?;
    Ok(CompiledProgram { executable, derived_inputs, assumed_ranges })
}

/// A tensor, and the least and the greatest of its assumed values.
type AssumedRange = (Alias, (i64, i64));

/// Removes the checks of coordinates that are in bounds by the values of bound tensors, and returns
/// the assumed ranges. Ranges are widened to sizes of the program, so that the kernel also serves
/// other values.
fn remove_proved_checks(program: notation::Program, bindings: &Bindings) -> (notation::Program, Vec<AssumedRange>) {
    let before = bounds_checks(&program).len();
    if before == 0 {
        return (program, Vec::new());
    }
    let sizes = program.tensors.iter().flat_map(|t| t.ty.format.storage_shape(&t.ty.shape));
    let last: Vec<i64> = sizes.filter_map(|n| i64::try_from(n).ok()).map(|n| n - 1).collect();
    let queried = RefCell::new(BTreeMap::new());
    let range = |id: notation::TensorId| {
        let decl = &program.tensors[id.index()];
        // Numbers are expected to change between runs.
        if decl.role != Role::Input || decl.ty.shape.is_empty() {
            return None;
        }
        let (least, greatest) = bindings.get(decl.name.as_str())?.value_range().filter(|(least, _)| *least >= 0)?;
        let range = (least.min(0), *last.iter().filter(|n| **n >= greatest).min()?);
        queried.borrow_mut().insert(Alias::from(decl.name.as_str()), range);
        Some(range)
    };
    let proved = notation::prove_bounds(program.clone(), &range);
    if bounds_checks(&proved).len() == before {
        (program, Vec::new())
    } else {
        (proved, queried.into_inner().into_iter().collect())
    }
}

/// Converts an error of a run: an error caused by the program's text is reported like other errors
/// of the text.
fn program_error(error: Error) -> Error {
    match error {
        Error::Query { source, .. } if matches!(*source, redpoll_kernels::Error::OutOfBounds(_)) => {
            Error::Program { at: None, source }
        }
        other => other,
    }
}

impl PreparedProgram {
    /// Returns the names of the results, in order.
    pub fn produces(&self) -> &[Alias] {
        &self.compiled.executable.produces
    }

    /// Returns the time of each phase of the preparation.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// Runs the program on the target of its session.
    ///
    /// # Errors
    /// Fails if the kernel stops because of the memory limit, cancellation, or a checked operator.
    pub fn run(&self) -> Result<Run, Error> {
        self.run_with(self.compiled.executable.config.target)
    }

    /// Runs the program on a given target, other than the interpreter of Logic: a program has no
    /// Logic plan.
    ///
    /// # Errors
    /// The errors of [`PreparedProgram::run`]; also if the target is the interpreter of Logic, or a
    /// tensor is too large for the target.
    pub fn run_with(&self, target: Target) -> Result<Run, Error> {
        let no_logic = || Err(Error::NoLogic);
        let executable = &self.compiled.executable;
        let on = (&self.bindings, &self.limits);
        let run = run_or_restart(target, |target| executable.run(target, on, &no_logic, &mut |_| Ok(())));
        let (run, device_error) = run.map_err(program_error)?;
        if let Some(error) = device_error {
            executable.decline(&error);
        }
        Ok(run)
    }

    /// Returns the placement, as [`PreparedPlan::placement`](crate::PreparedPlan::placement) does.
    pub fn placement(&self) -> Placement {
        self.compiled.executable.next_placement(&self.bindings)
    }

    /// Returns the tier that the next run on [`Target::CPU`] uses.
    pub fn tier(&self) -> Target {
        self.compiled.executable.tier()
    }

    /// Waits for the optimizing tier, if it is being compiled in the background.
    pub fn wait_for_optimizing_tier(&self) {
        self.compiled.executable.optimizing_tier.wait();
    }

    /// Returns a note on the optimizing tier for the user.
    pub fn tier_note(&self) -> Option<String> {
        self.compiled.executable.tier_note()
    }

    /// Describes how coordinates are bounded: the inputs whose ranges were read, and the remaining
    /// checks.
    fn describe_bounds(&self, program: &notation::Program) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (input, (least, greatest)) in &self.compiled.assumed_ranges {
            lines.push(format!("the values of `{input}` were scanned once; they are between {least} and {greatest}"));
        }
        for check in bounds_checks(program) {
            let (site, mode) = (&check.site, check.mode);
            let (line, column) = (site.at.line, site.at.column);
            lines.push(format!(
                "line {line}, column {column}: `{}` of `{}` is checked at run time against the size of mode {mode} of `{}`",
                site.subscript, site.access, site.tensor
            ));
        }
        if lines.is_empty() {
            lines.push("all coordinates are proved to be in bounds; none is checked at run time".to_owned());
        }
        lines.join("\n") + "\n"
    }

    /// Returns the program as written, in normal form, and in lower forms up to the level of
    /// detail.
    ///
    /// # Errors
    /// Fails if the requested code of the kernel cannot be generated.
    pub fn explain(&self, detail: Detail) -> Result<Vec<Section>, Error> {
        let executable = &self.compiled.executable;
        let mut sections = Vec::new();
        for stage in executable.stages.iter() {
            let Some(loops) = stage.loops() else { continue };
            sections.push(section("program", notation::print(&loops.source_program)));
            sections.push(section("normal form", notation::print(&loops.program)));
            sections.push(section("bounds", self.describe_bounds(&loops.program)));
            sections.extend(kernel_sections(loops, &stage.name, executable, detail)?);
        }
        sections.push(section("engine", self.placement().to_string()));
        sections.extend(source_section(executable, detail)?);
        Ok(sections)
    }
}
