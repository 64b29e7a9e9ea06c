//! A stage: one query of a physical plan with everything that is made of it.

use crate::error::Error;
use crate::session::Bindings;
use crate::timings::Phase;
use redpoll_logic::physical::{Output, PhysicalQuery};
use redpoll_logic::{Alias, FloatMode, Format, LevelFormat, TensorType};
use redpoll_optimizer::{AdaptivePlan, DecidedOutput, Decision};
use redpoll_physical::Special;
use redpoll_physical::emit::c::Toolchain;
use redpoll_physical::grid::Lists;
use redpoll_physical::kernel::{Draft, Engine, Kernel};
use redpoll_physical::levels::{array_prim, level};
use redpoll_physical::lower::{Layout, specials};
use redpoll_physical::notation::{Program, Role, from_physical, normalize};
use redpoll_physical::storage::Tensor;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// One query on its way to its results. Clones share the kernels.
#[derive(Clone)]
pub(crate) struct Stage {
    /// The names of its outputs, for messages.
    pub(crate) name: String,
    /// The tensors that it reads, in the order of its inputs.
    pub(crate) reads: Vec<Alias>,
    /// The tensors that it writes, in the order of its outputs.
    pub(crate) writes: Vec<Alias>,
    /// The estimated bytes of the tensors that it writes, in the order of the queries' outputs.
    pub(crate) expected: Vec<(Alias, f64)>,
    /// The tensors that it reads and no later stage, and that are not results.
    pub(crate) last_read: Vec<Alias>,
    /// How its outputs come to be.
    pub(crate) work: Work,
}

/// How the outputs of a stage come to be.
#[derive(Clone)]
pub(crate) enum Work {
    /// Storage is converted to the format of this type; by loops where it was left on a device, if there are some.
    Convert(Arc<TensorType>, Option<Arc<Loops>>),
    /// Loops are run.
    Loops(Arc<Loops>),
}

/// A query of loops on its way to a kernel.
pub(crate) struct Loops {
    name: String,
    /// Its estimated cost.
    cost: f64,
    /// Its program as it comes from the physical query.
    pub(crate) written: Program,
    /// Its program in normal form.
    pub(crate) program: Arc<Program>,
    /// The layouts that its inputs are expected to have: those of bound tensors, and narrow ones of intermediates.
    layouts: Vec<Option<Layout>>,
    /// How long the lists of bound inputs are.
    lists: Lists,
    /// The program lowered for these layouts.
    draft: OnceLock<Draft>,
    kernels: [OnceLock<Kernel>; 4],
    /// The kernels of devices, by their numbers.
    devices: [OnceLock<Kernel>; DEVICES],
}

/// The devices that there may be.
const DEVICES: usize = 16;

/// How kernels are compiled.
#[derive(Clone, Copy)]
pub(crate) struct Compile<'a> {
    pub(crate) engine: Engine,
    pub(crate) mode: FloatMode,
    /// For the optimizing engine.
    pub(crate) toolchain: &'a Arc<Toolchain>,
}

impl Stage {
    /// The stages of a plan, in order; for its first queries there are some already.
    pub(crate) fn all_of(planned: &AdaptivePlan, bindings: &Bindings, first: &[Stage]) -> Result<Vec<Stage>, Error> {
        let AdaptivePlan { physical: plan, report, .. } = planned;
        let mut types: HashMap<Alias, Arc<TensorType>> = plan.inputs.iter().cloned().collect();
        let mut layouts = Layouts::of(bindings);
        let mut stages = Vec::new();
        assert_eq!(plan.queries.len(), report.decisions.len(), "the optimizer decides once for each query");
        for (number, (query, decision)) in plan.queries.iter().zip(&report.decisions).enumerate() {
            stages.push(match first.get(number) {
                Some(stage) => stage.clone(),
                None => Stage { expected: expected(decision), ..Stage::new(query, decision.cost, &types, &layouts)? },
            });
            layouts.share(query);
            if let Some(stage) = stages.last() {
                layouts.note(stage);
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
        types: &HashMap<Alias, Arc<TensorType>>,
        layouts: &Layouts<'_>,
    ) -> Result<Stage, Error> {
        let names: Vec<&str> = query.outputs.iter().map(|o| o.alias.as_str()).collect();
        let name = names.join(", ");
        if let Some(source) = query.converts(|t| types.get(t).map(AsRef::as_ref)) {
            let output = &query.outputs[0];
            let streams = types.get(source).is_some_and(|source| streams(&source.format, output));
            // Loops take no storage that is not in order, for one.
            let loops = streams.then(|| Loops::new(name.clone(), query, cost, types, layouts).ok()).flatten();
            return Ok(Stage {
                name,
                reads: vec![source.clone()],
                writes: vec![output.alias.clone()],
                expected: Vec::new(),
                last_read: Vec::new(),
                work: Work::Convert(output.ty.clone(), loops.map(Arc::new)),
            });
        }
        let loops = Loops::new(name.clone(), query, cost, types, layouts)?;
        let (reads, writes) = (loops.tensors(Role::Input), loops.tensors(Role::Output));
        Ok(Stage {
            name,
            reads,
            writes,
            expected: Vec::new(),
            last_read: Vec::new(),
            work: Work::Loops(Arc::new(loops)),
        })
    }

    /// The one stage of a program in Notation.
    pub(crate) fn of_program(loops: Loops) -> Stage {
        let (reads, writes) = (loops.tensors(Role::Input), loops.tensors(Role::Output));
        Stage {
            name: loops.name.clone(),
            reads,
            writes,
            expected: Vec::new(),
            last_read: Vec::new(),
            work: Work::Loops(Arc::new(loops)),
        }
    }

    /// An error of a phase of this stage.
    pub(crate) fn refused(&self, phase: Phase, source: redpoll_physical::Error) -> Error {
        Error::Query { phase, query: self.name.clone(), source: Box::new(source) }
    }

    /// The loops, if there are some.
    pub(crate) fn loops(&self) -> Option<&Loops> {
        match &self.work {
            Work::Convert(..) => None,
            Work::Loops(loops) => Some(loops),
        }
    }
}

/// Whether a conversion writes places in the order in which it reads them, and no more than those that are stored.
fn streams(source: &Format, output: &Output) -> bool {
    let full = |format: &Format| format.levels.iter().map(|level| level.kind.traits().full).collect::<Vec<_>>();
    let (from, to) = (full(source), full(&output.ty.format));
    output.workspace.is_none() && (from.last() == Some(&false) || !to.contains(&false))
}

/// The estimated bytes of what a query writes: of narrow arrays.
fn expected(decision: &Decision) -> Vec<(Alias, f64)> {
    let bytes = |output: &DecidedOutput| {
        let arrays = |(format, n): (&LevelFormat, &f64)| level(format.kind).arrays().len() as f64 * 4.0 * n;
        let levels: f64 = output.ty.format.levels.iter().zip(&output.positions).map(arrays).sum();
        let element: usize = output.ty.dtype.prims().iter().map(|prim| prim.bytes()).sum();
        levels + element as f64 * output.stored()
    };
    decision.outputs.iter().map(|output| (output.alias.clone(), bytes(output))).collect()
}

impl Loops {
    fn new(
        name: String,
        query: &PhysicalQuery,
        cost: f64,
        types: &HashMap<Alias, Arc<TensorType>>,
        layouts: &Layouts<'_>,
    ) -> Result<Loops, Error> {
        let refused = |source| Error::Query { phase: Phase::Notation, query: name.clone(), source: Box::new(source) };
        let written = from_physical(query, types).map_err(refused)?;
        let program = normalize(written.clone()).map_err(refused)?;
        Ok(Loops::of_program(name, cost, (written, program), layouts))
    }

    /// The loops of a program as it is written, and in normal form.
    pub(crate) fn of_program(
        name: String,
        cost: f64,
        (written, program): (Program, Program),
        layouts: &Layouts<'_>,
    ) -> Loops {
        let program = Arc::new(program);
        let inputs = program.tensors.iter().filter(|t| t.role == Role::Input);
        let lists = Lists::of(&program, &inputs.map(|t| layouts.bindings.get(t.name.as_str())).collect::<Vec<_>>());
        let layouts = program.tensors.iter().map(|t| (t.role == Role::Input).then(|| layouts.expected(&t.name, &t.ty)));
        let layouts = layouts.collect();
        Loops {
            name,
            cost,
            written,
            program,
            layouts,
            lists,
            draft: OnceLock::new(),
            kernels: Default::default(),
            devices: Default::default(),
        }
    }

    /// Its estimated cost.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    fn tensors(&self, role: Role) -> Vec<Alias> {
        self.program.tensors.iter().filter(|t| t.role == role).map(|t| Alias::from(t.name.as_str())).collect()
    }

    /// The program lowered for inputs of the expected layouts, at the first call.
    pub(crate) fn draft(&self, mode: FloatMode) -> &Draft {
        self.draft.get_or_init(|| {
            Draft::new(&self.program, &self.layouts, mode).expecting(self.cost).over(self.lists.clone())
        })
    }

    /// Where the kernel of an engine is kept; nowhere for a device that there cannot be.
    fn slot(&self, engine: Engine) -> Option<&OnceLock<Kernel>> {
        match engine {
            Engine::Instant => self.kernels.first(),
            Engine::Interpreter => self.kernels.get(1),
            Engine::Optimizing => self.kernels.get(2),
            Engine::Grid => self.kernels.get(3),
            Engine::Cuda(ordinal) => self.devices.get(usize::try_from(ordinal).ok()?),
        }
    }

    /// Whether there is a kernel for inputs of the expected layouts.
    pub(crate) fn is_compiled(&self, engine: Engine) -> bool {
        self.slot(engine).is_some_and(|slot| slot.get().is_some())
    }

    /// Takes a kernel for inputs of the expected layouts, unless there is one.
    pub(crate) fn accept(&self, engine: Engine, kernel: Kernel) {
        if let Some(slot) = self.slot(engine) {
            slot.get_or_init(|| kernel);
        }
    }

    /// The kernel for inputs of the expected layouts, compiled at the first call.
    pub(crate) fn compiled(&self, how: Compile<'_>) -> Result<&Kernel, Error> {
        let Some(slot) = self.slot(how.engine) else {
            let Engine::Cuda(ordinal) = how.engine else { unreachable!("other engines have a place each") };
            let why = format!("a machine has at most {DEVICES} devices");
            return Err(self.refused(Phase::Compile, redpoll_physical::Error::NoDevice { ordinal, why }));
        };
        if let Some(kernel) = slot.get() {
            return Ok(kernel);
        }
        let kernel = self.compile(self.draft(how.mode), how)?;
        Ok(slot.get_or_init(|| kernel))
    }

    /// A kernel for the inputs at hand, if these are not of the expected layouts: an intermediate has so many positions
    /// that its arrays are wide.
    pub(crate) fn compiled_anew(&self, inputs: &[&Tensor], how: Compile<'_>) -> Result<Option<Kernel>, Error> {
        if self.layouts.iter().flatten().zip(inputs).all(|(expected, input)| expected.fits(input)) {
            return Ok(None);
        }
        let found = Kernel::layouts(&self.program, inputs);
        let at_hand: Vec<Option<&Tensor>> = inputs.iter().map(|t| Some(*t)).collect();
        let draft = Draft::new(&self.program, &found, how.mode).over(Lists::of(&self.program, &at_hand));
        self.compile(&draft, how).map(Some)
    }

    fn compile(&self, draft: &Draft, how: Compile<'_>) -> Result<Kernel, Error> {
        let kernel = match how.engine {
            Engine::Optimizing => Kernel::optimizing(&[draft], how.toolchain).map(|mut kernels| kernels.remove(0)),
            engine => Kernel::of(draft, engine),
        };
        kernel.map_err(|source| self.refused(Phase::Compile, source))
    }

    /// An error of a phase of these loops.
    pub(crate) fn refused(&self, phase: Phase, source: redpoll_physical::Error) -> Error {
        Error::Query { phase, query: self.name.clone(), source: Box::new(source) }
    }
}

/// The layouts that tensors are expected to have.
pub(crate) struct Layouts<'b> {
    bindings: &'b Bindings,
    /// Those of intermediates that share levels of bound tensors.
    shared: HashMap<Alias, Layout>,
    /// The special values that intermediates may have.
    specials: HashMap<Alias, Special>,
}

impl Layouts<'_> {
    /// Those of bound tensors.
    pub(crate) fn of(bindings: &Bindings) -> Layouts<'_> {
        Layouts { bindings, shared: HashMap::new(), specials: HashMap::new() }
    }

    /// Takes up the outputs of a query that have the patterns of what it reads.
    fn share(&mut self, query: &PhysicalQuery) {
        for output in &query.outputs {
            if let Some(layout) = output.pattern.as_ref().and_then(|of| self.known(of.as_str())) {
                self.shared.insert(output.alias.clone(), layout);
            }
        }
    }

    /// Takes up the special values of what a stage writes.
    fn note(&mut self, stage: &Stage) {
        match &stage.work {
            Work::Loops(loops) => {
                let found = specials(&loops.program, &loops.layouts);
                let outputs = loops.program.tensors.iter().zip(found).filter(|(t, _)| t.role == Role::Output);
                self.specials.extend(outputs.map(|(t, special)| (Alias::from(t.name.as_str()), special)));
            }
            Work::Convert(..) => {
                let source = stage.reads[0].as_str();
                let special = self.bindings.get(source).map(Tensor::special);
                let special = special.or_else(|| self.specials.get(source).copied());
                self.specials.extend(stage.writes.iter().map(|to| (to.clone(), special.unwrap_or_default())));
            }
        }
    }

    fn known(&self, name: &str) -> Option<Layout> {
        self.bindings.get(name).map(Layout::of).or_else(|| self.shared.get(name).cloned())
    }

    /// That of a tensor: an intermediate that shares nothing is narrow.
    fn expected(&self, name: &str, ty: &TensorType) -> Layout {
        let known = self.known(name).unwrap_or_else(|| narrow(ty));
        match self.specials.get(name) {
            Some(special) => Layout { special: *special, ..known },
            None => known,
        }
    }
}

/// The layout in which kernels write tensors of a type.
fn narrow(ty: &TensorType) -> Layout {
    let sizes = ty.format.storage_shape(&ty.shape);
    let prims = |(format, size): (&LevelFormat, u64)| {
        level(format.kind).arrays().iter().map(|spec| array_prim(spec.class, size, 0)).collect()
    };
    Layout { levels: ty.format.levels.iter().zip(sizes).map(prims).collect(), special: Special::default() }
}
