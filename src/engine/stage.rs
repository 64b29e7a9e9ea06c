//! A stage: one query of a physical plan, or one program in Notation, with its kernels. Also the
//! expected layouts of tensors, for which kernels are lowered.

use super::block_inputs::BlockInputs;
use super::{TierChoice, TierTrial};
use crate::bindings::Bindings;
use crate::config::Config;
use crate::error::Error;
use crate::schedules::Scheduling;
use crate::target::{TARGET_COUNT, Target};
use crate::timings::Phase;
use lru::LruCache;
use redpoll_compiler::lower::{Draft, InputLayout, ListLengths, specials};
use redpoll_compiler::notation::{
    Program, Role, TensorDecl, apply_schedule, from_physical, normalize, normalize_translated, verify_parallel,
};
use redpoll_kernels::kernel::Kernel;
use redpoll_logic::physical::{Output, PhysicalQuery};
use redpoll_logic::{Alias, FloatMode, Format, LevelFormat, Special, TensorType};
use redpoll_optimizer::{AdaptivePlan, Decision, OutputDecision};
use redpoll_storage::Tensor;
use redpoll_storage::levels::{array_prim, level};
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Maximum number of kernels that [`StageLoops`] keeps for inputs with unexpected layouts.
const OTHER_KERNELS: NonZeroUsize = NonZeroUsize::new(4).expect("not zero");

/// One query, or a program in Notation, with its kernels. Clones share the kernels.
#[derive(Clone)]
pub(crate) struct Stage {
    /// The names of the outputs, for messages.
    pub(crate) name: String,
    /// The tensors that the stage reads, in the order of the inputs.
    pub(crate) reads: Vec<Alias>,
    /// The tensors that the stage writes, in the order of the outputs.
    pub(crate) writes: Vec<Alias>,
    /// The estimated bytes of the written tensors, in the order of the query's outputs; empty for a
    /// program.
    pub(crate) output_bytes: Vec<(Alias, f64)>,
    /// The tensors that the stage reads and that neither a later stage nor the user needs.
    pub(crate) last_read: Vec<Alias>,
    /// The work that computes the outputs.
    pub(crate) work: StageWork,
}

/// The work that computes the outputs of a stage.
#[derive(Clone)]
pub(crate) enum StageWork {
    /// Conversion of storage to the format of this type. If there are loops, they convert a source
    /// that is on a device.
    Conversion(Arc<TensorType>, Option<Arc<StageLoops>>),
    /// Execution of loops.
    Loops(Arc<StageLoops>),
}

/// The target of a kernel, and the layouts of the inputs for which the kernel was lowered.
type KernelKey = (Target, Vec<Option<InputLayout>>);

/// The loops of a query or a program, in source form and in normal form, and the kernels compiled
/// from the normal form.
pub(crate) struct StageLoops {
    name: String,
    /// The estimated cost.
    cost: f64,
    /// The program as translated from the physical query, or as parsed.
    pub(crate) source_program: Program,
    /// The program in normal form.
    pub(crate) program: Arc<Program>,
    /// The expected layout of each tensor of the program, see [`Layouts`]; `None` for a tensor that
    /// is not an input.
    layouts: Vec<Option<InputLayout>>,
    /// The lengths of the lists of bound inputs.
    lists: ListLengths,
    /// The program lowered for the expected layouts.
    draft: OnceLock<Draft>,
    /// The kernels for inputs of the expected layouts, by the slots of their targets.
    kernels: [OnceLock<Kernel>; TARGET_COUNT],
    /// Kernels for inputs of other layouts, by target and layouts.
    other_kernels: Mutex<LruCache<KernelKey, Arc<Kernel>>>,
    /// The inputs whose values are computed from other inputs.
    pub(crate) block_inputs: BlockInputs,
    /// The trial that chooses between the tiers.
    pub(crate) trial: TierTrial,
}

/// Options for compiling kernels.
#[derive(Clone, Copy)]
pub(crate) struct KernelOptions<'a> {
    /// The target that runs the kernels.
    pub(crate) target: Target,
    pub(crate) config: &'a Config,
}

impl KernelOptions<'_> {
    /// Returns the float mode.
    pub(crate) fn mode(&self) -> FloatMode {
        self.config.optimizer.float_mode
    }
}

impl Stage {
    /// Builds the stages of a plan, in order. Stages in `first` are reused for the first queries.
    pub(crate) fn build_all(
        adaptive: &AdaptivePlan,
        bindings: &Bindings,
        scheduling: Scheduling<'_>,
        first: &[Stage],
    ) -> Result<Vec<Stage>, Error> {
        let AdaptivePlan { physical: plan, report, .. } = adaptive;
        let mut types: HashMap<Alias, Arc<TensorType>> = plan.inputs.iter().cloned().collect();
        let mut layouts = Layouts::of(bindings);
        let mut stages = Vec::new();
        assert_eq!(plan.queries.len(), report.decisions.len(), "the optimizer reports one decision for each query");
        for (number, (query, decision)) in plan.queries.iter().zip(&report.decisions).enumerate() {
            stages.push(match first.get(number) {
                Some(stage) => stage.clone(),
                None => Stage {
                    output_bytes: output_bytes(decision),
                    ..Stage::new(query, decision.cost, (&types, &layouts), scheduling)?
                },
            });
            layouts.record_shared(query);
            if let Some(stage) = stages.last() {
                layouts.record_specials(stage);
            }
            types.extend(query.outputs.iter().map(|o| (o.alias.clone(), o.ty.clone())));
        }
        let mut needed: HashSet<Alias> = plan.produces.iter().cloned().collect();
        for stage in stages.iter_mut().rev() {
            stage.last_read = stage.reads.iter().filter(|t| needed.insert((*t).clone())).cloned().collect();
        }
        Ok(stages)
    }

    fn new(
        query: &PhysicalQuery,
        cost: f64,
        (types, layouts): (&HashMap<Alias, Arc<TensorType>>, &Layouts<'_>),
        scheduling: Scheduling<'_>,
    ) -> Result<Stage, Error> {
        let names: Vec<&str> = query.outputs.iter().map(|o| o.alias.as_str()).collect();
        let name = names.join(", ");
        let loops = |name: &str| StageLoops::new(name.to_owned(), query, cost, (types, layouts), scheduling);
        // A conversion with a schedule runs as loops.
        let is_scheduled = !scheduling.of_query(query).is_empty();
        if !is_scheduled && let Some(source) = query.conversion_source(|t| types.get(t).map(AsRef::as_ref)) {
            let output = &query.outputs[0];
            let streaming = types.get(source).is_some_and(|source| is_streaming(&source.format, output));
            // A conversion also works without loops, for example if Notation rejects unordered
            // storage.
            let loops = streaming.then(|| loops(&name).ok()).flatten();
            return Ok(Stage {
                name,
                reads: vec![source.clone()],
                writes: vec![output.alias.clone()],
                output_bytes: Vec::new(),
                last_read: Vec::new(),
                work: StageWork::Conversion(output.ty.clone(), loops.map(Arc::new)),
            });
        }
        let loops = loops(&name)?;
        let (reads, writes) = (loops.tensors(Role::Input), loops.tensors(Role::Output));
        Ok(Stage {
            name,
            reads,
            writes,
            output_bytes: Vec::new(),
            last_read: Vec::new(),
            work: StageWork::Loops(Arc::new(loops)),
        })
    }

    /// Builds the only stage of a program in Notation.
    pub(crate) fn of_program(loops: StageLoops) -> Stage {
        let (reads, writes) = (loops.tensors(Role::Input), loops.tensors(Role::Output));
        Stage {
            name: loops.name.clone(),
            reads,
            writes,
            output_bytes: Vec::new(),
            last_read: Vec::new(),
            work: StageWork::Loops(Arc::new(loops)),
        }
    }

    /// Returns an error of a phase of this stage.
    pub(crate) fn phase_error(&self, phase: Phase, source: impl Into<redpoll_kernels::Error>) -> Error {
        query_error(phase, &self.name, source)
    }

    /// Returns the loops, or `None` for a conversion.
    pub(crate) fn loops(&self) -> Option<&StageLoops> {
        match &self.work {
            StageWork::Conversion(..) => None,
            StageWork::Loops(loops) => Some(loops),
        }
    }
}

/// Returns whether loops can convert storage in one pass. The loops must write entries in the order
/// in which they read the source. Sparse levels of the output must not receive fill values. The
/// source may store fill values if its last level is full, which means that the level stores every
/// coordinate.
fn is_streaming(source: &Format, output: &Output) -> bool {
    let full = |format: &Format| format.levels.iter().map(|level| level.kind.traits().full).collect::<Vec<_>>();
    let (from, to) = (full(source), full(&output.ty.format));
    output.workspace.is_none() && (from.last() == Some(&false) || !to.contains(&false))
}

/// Estimates the bytes of the outputs of a query, with 4 bytes for each element of a level's
/// arrays.
fn output_bytes(decision: &Decision) -> Vec<(Alias, f64)> {
    let bytes = |output: &OutputDecision| {
        let arrays = |(format, n): (&LevelFormat, &f64)| level(format.kind).arrays().len() as f64 * 4.0 * n;
        let levels: f64 = output.ty.format.levels.iter().zip(&output.positions).map(arrays).sum();
        let element: usize = output.ty.dtype.prims().iter().map(|prim| prim.bytes()).sum();
        levels + element as f64 * output.stored()
    };
    decision.outputs.iter().map(|output| (output.alias.clone(), bytes(output))).collect()
}

impl StageLoops {
    fn new(
        name: String,
        query: &PhysicalQuery,
        cost: f64,
        (types, layouts): (&HashMap<Alias, Arc<TensorType>>, &Layouts<'_>),
        scheduling: Scheduling<'_>,
    ) -> Result<StageLoops, Error> {
        let phase_error = |source| query_error(Phase::Notation, &name, source);
        let mut source_program = from_physical(query, types).map_err(phase_error)?;
        source_program.schedule = scheduling.of_query(query);
        let mode = scheduling.mode;
        let program = if source_program.schedule.is_empty() {
            normalize_translated(source_program.clone()).map_err(phase_error)?
        } else {
            let scheduled = apply_schedule(source_program.clone(), mode).map_err(phase_error)?;
            let program = normalize(scheduled).map_err(phase_error)?;
            verify_parallel(&program, mode).map_err(phase_error)?;
            program
        };
        Ok(StageLoops::of_program(name, cost, (source_program, program), layouts))
    }

    /// Creates the loops of a program from its source form and its normal form.
    pub(crate) fn of_program(
        name: String,
        cost: f64,
        (source_program, program): (Program, Program),
        layouts: &Layouts<'_>,
    ) -> StageLoops {
        let program = Arc::new(program);
        let inputs = program.tensors.iter().filter(|t| t.role == Role::Input);
        let lists =
            ListLengths::of(&program, &inputs.map(|t| layouts.bindings.get(t.name.as_str())).collect::<Vec<_>>());
        let block_inputs = BlockInputs::new(&program);
        let layout = |t: &TensorDecl| {
            let layout = layouts.expected_layout(&t.name, &t.ty);
            let Some((of, levels)) = block_inputs.shared_levels(&t.name) else { return layout };
            let of = program.tensors.iter().find(|t| t.name == of.as_str()).expect("block bounds belong to an input");
            let shared = layouts.expected_layout(&of.name, &of.ty).levels.into_iter().take(levels);
            InputLayout { levels: shared.chain(layout.levels.into_iter().skip(levels)).collect(), ..layout }
        };
        let layouts = program.tensors.iter().map(|t| (t.role == Role::Input).then(|| layout(t))).collect();
        StageLoops {
            name,
            cost,
            source_program,
            block_inputs,
            program,
            layouts,
            lists,
            draft: OnceLock::new(),
            kernels: [const { OnceLock::new() }; TARGET_COUNT],
            other_kernels: Mutex::new(LruCache::new(OTHER_KERNELS)),
            trial: TierTrial::default(),
        }
    }

    /// Returns the estimated cost.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    fn tensors(&self, role: Role) -> Vec<Alias> {
        self.program.tensors.iter().filter(|t| t.role == role).map(|t| Alias::from(t.name.as_str())).collect()
    }

    /// Returns the program lowered for inputs of the expected layouts, and lowers it on the first
    /// call.
    pub(crate) fn draft(&self, mode: FloatMode) -> &Draft {
        self.draft.get_or_init(|| {
            Draft::new(&self.program, &self.layouts, mode).with_expected_steps(self.cost).with_lists(self.lists.clone())
        })
    }

    fn slot(&self, target: Target) -> Option<&OnceLock<Kernel>> {
        self.kernels.get(target.slot()?)
    }

    /// Returns whether there is a kernel for inputs of the expected layouts.
    pub(crate) fn is_compiled(&self, target: Target) -> bool {
        self.slot(target).is_some_and(|slot| slot.get().is_some())
    }

    /// Stores a kernel for inputs of the expected layouts, unless such a kernel is already stored.
    pub(crate) fn store_kernel(&self, target: Target, kernel: Kernel) {
        if let Some(slot) = self.slot(target) {
            slot.get_or_init(|| kernel);
        }
    }

    /// Returns the kernel for inputs of the expected layouts, and compiles it on the first call.
    pub(crate) fn kernel(&self, options: KernelOptions<'_>) -> Result<&Kernel, Error> {
        let slot = self.slot(options.target);
        if let Some(kernel) = slot.and_then(OnceLock::get) {
            return Ok(kernel);
        }
        let kernel = self.compile(self.draft(options.mode()), options)?;
        let slot = slot.expect("a target without a slot has no backend");
        Ok(slot.get_or_init(|| kernel))
    }

    /// Returns whether the inputs have the expected layouts.
    pub(crate) fn fits(&self, inputs: &[&Tensor]) -> bool {
        self.layouts.iter().flatten().zip(inputs).all(|(expected, input)| expected.fits(input))
    }

    /// Returns the choice between the tiers, if the trial has ended.
    pub(crate) fn tier_choice(&self) -> Option<TierChoice> {
        self.trial.choice(&self.name)
    }

    /// Returns a kernel for inputs whose layouts differ from the expected layouts, such as an
    /// intermediate with enough positions to need wide arrays. The kernel is compiled unless it was
    /// used recently. Returns `None` if all inputs have the expected layouts.
    pub(crate) fn kernel_for(
        &self,
        inputs: &[&Tensor],
        options: KernelOptions<'_>,
    ) -> Result<Option<Arc<Kernel>>, Error> {
        if self.fits(inputs) {
            return Ok(None);
        }
        let found = InputLayout::of_inputs(&self.program, inputs);
        let key = (options.target, found.clone());
        let kernels = || self.other_kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels().get(&key) {
            return Ok(Some(kernel.clone()));
        }
        let sources: Vec<Option<&Tensor>> = inputs.iter().map(|t| Some(*t)).collect();
        let draft =
            Draft::new(&self.program, &found, options.mode()).with_lists(ListLengths::of(&self.program, &sources));
        let kernel = Arc::new(self.compile(&draft, options)?);
        kernels().put(key, kernel.clone());
        Ok(Some(kernel))
    }

    fn compile(&self, draft: &Draft, options: KernelOptions<'_>) -> Result<Kernel, Error> {
        let backend = options.target.backend(options.config);
        let kernel = backend.and_then(|backend| Kernel::compile(draft, &backend));
        kernel.map_err(|source| self.phase_error(Phase::Compile, source))
    }

    /// Returns an error of a phase of these loops.
    pub(crate) fn phase_error(&self, phase: Phase, source: impl Into<redpoll_kernels::Error>) -> Error {
        query_error(phase, &self.name, source)
    }
}

/// Returns the error of a phase of a query.
pub(super) fn query_error(phase: Phase, query: &str, source: impl Into<redpoll_kernels::Error>) -> Error {
    Error::of_query(phase, query, source.into())
}

/// The expected layouts of tensors.
pub(crate) struct Layouts<'b> {
    bindings: &'b Bindings,
    /// Layouts of intermediates that share levels of bound tensors.
    shared: HashMap<Alias, InputLayout>,
    /// The special values that intermediates may have.
    specials: HashMap<Alias, Special>,
}

impl Layouts<'_> {
    /// Creates the expected layouts from the bound tensors.
    pub(crate) fn of(bindings: &Bindings) -> Layouts<'_> {
        Layouts { bindings, shared: HashMap::new(), specials: HashMap::new() }
    }

    /// Records the layouts of outputs that share the pattern of a read tensor.
    fn record_shared(&mut self, query: &PhysicalQuery) {
        for output in &query.outputs {
            if let Some(layout) = output.pattern.as_ref().and_then(|of| self.input_layout(of.as_str())) {
                self.shared.insert(output.alias.clone(), layout);
            }
        }
    }

    /// Records the special values that the outputs of a stage may have.
    fn record_specials(&mut self, stage: &Stage) {
        match &stage.work {
            StageWork::Loops(loops) => {
                let found = specials(&loops.program, &loops.layouts);
                let outputs = loops.program.tensors.iter().zip(found).filter(|(t, _)| t.role == Role::Output);
                self.specials.extend(outputs.map(|(t, special)| (Alias::from(t.name.as_str()), special)));
            }
            StageWork::Conversion(..) => {
                let source = stage.reads[0].as_str();
                let special = self.bindings.get(source).map(Tensor::special);
                let special = special.or_else(|| self.specials.get(source).copied());
                self.specials.extend(stage.writes.iter().map(|to| (to.clone(), special.unwrap_or_default())));
            }
        }
    }

    fn input_layout(&self, name: &str) -> Option<InputLayout> {
        self.bindings.get(name).map(InputLayout::of).or_else(|| self.shared.get(name).cloned())
    }

    /// Returns the expected layout of a tensor. An intermediate that shares no levels is expected
    /// to have narrow arrays.
    fn expected_layout(&self, name: &str, ty: &TensorType) -> InputLayout {
        let layout = self.input_layout(name).unwrap_or_else(|| narrow_layout(ty));
        match self.specials.get(name) {
            Some(special) => InputLayout { special: *special, ..layout },
            None => layout,
        }
    }
}

/// Returns the layout in which kernels write tensors of a type, unless the number of positions
/// needs wider arrays.
fn narrow_layout(ty: &TensorType) -> InputLayout {
    let sizes = ty.format.storage_shape(&ty.shape);
    let prims = |(format, size): (&LevelFormat, u64)| {
        level(format.kind).arrays().iter().map(|spec| array_prim(spec.class, size, 0)).collect()
    };
    InputLayout { levels: ty.format.levels.iter().zip(sizes).map(prims).collect(), special: Special::default() }
}
