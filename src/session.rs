//! Sessions: a configuration with limits, and a cache of compiled plans and programs.

use crate::array::KeptTensors;
use crate::bindings::Bindings;
use crate::config::Config;
use crate::error::{Error, UnboundTable};
use crate::prepare::{CompilationCache, Prepared, Request, prepare};
use crate::program::Program;
use crate::schedules::Schedules;
use crate::statistics::StatisticsInput;
use crate::target::Target;
use crate::timings::{Phase, Timings};
use crate::warm_up::warm_up;
use redpoll_compiler::notation::{Schedule, is_program};
use redpoll_kernels::run::{Limits, Progress, ProgressReporter};
use redpoll_logic::text::{Catalog, PlanText};
use redpoll_logic::{FloatMode, LiftedConstant, LiftedPlan, Plan};
use redpoll_storage::Tensor;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A compiler of plans and programs to kernels under one configuration. Congruent plans (equal up
/// to the names of their inputs) over similar tensors are compiled once, and so are equal programs
/// over tensors of the same types and array widths. The allocations of all plans and programs count
/// against one memory limit. Clones share the cache and the limit.
#[derive(Clone, Debug)]
pub struct Session {
    config: Arc<Config>,
    limits: Limits,
    compilation_cache: Arc<CompilationCache>,
    /// The tensors of computed arrays.
    kept_tensors: Arc<KeptTensors>,
    /// The SQL tables of the session, created on first use.
    #[cfg(feature = "sql")]
    pub(crate) database: Arc<std::sync::OnceLock<redpoll_sql::Database>>,
}

impl Session {
    /// Returns a session with the given configuration. The first session whose target uses the
    /// instant tier also warms up the compiler in the background, once per process.
    ///
    /// ```
    /// use redpoll::{Config, Session};
    ///
    /// let session = Session::new(Config { memory_limit: Some(1 << 30), ..Config::default() });
    /// assert_eq!(session.ones([2, 3], redpoll::logic::Prim::F64).sum(..).item::<f64>()?, 6.0);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn new(config: Config) -> Session {
        if matches!(config.target, Target::INSTANT | Target::CPU | Target::AUTO) {
            warm_up();
        }
        Session::without_warm_up(config)
    }

    /// Returns a session without warming up the compiler.
    pub(crate) fn without_warm_up(config: Config) -> Session {
        let limits = config.memory_limit.map_or_else(Limits::default, Limits::memory).with_workers(&config.workers);
        let limits = Limits { device_memory: config.device_memory_limit.unwrap_or(usize::MAX), ..limits };
        let kept_tensors = KeptTensors::within(&limits.memory);
        Session {
            config: Arc::new(config),
            limits,
            compilation_cache: Arc::default(),
            kept_tensors,
            #[cfg(feature = "sql")]
            database: Arc::default(),
        }
    }

    /// Returns the same session under other limits.
    #[cfg(feature = "sql")]
    pub(crate) fn with_limits(&self, limits: Limits) -> Session {
        Session { limits, ..self.clone() }
    }

    /// Returns the same session with another target and an empty cache of compiled forms.
    #[cfg(feature = "sql")]
    pub(crate) fn on_target(&self, target: Target) -> Session {
        let config = Config { target, ..Config::clone(&self.config) };
        Session { config: Arc::new(config), compilation_cache: Arc::default(), ..self.clone() }
    }

    /// Returns the same session in another float mode, with an empty cache of compiled forms.
    #[cfg(feature = "sql")]
    pub(crate) fn in_float_mode(&self, float_mode: FloatMode) -> Session {
        let mut config = Config::clone(&self.config);
        config.optimizer.float_mode = float_mode;
        Session { config: Arc::new(config), compilation_cache: Arc::default(), ..self.clone() }
    }

    /// Returns the same session without its SQL tables.
    #[cfg(feature = "sql")]
    pub(crate) fn without_tables(&self) -> Session {
        Session { database: Arc::default(), ..self.clone() }
    }

    /// Returns the same session with another SQL database.
    #[cfg(feature = "cluster")]
    pub(crate) fn with_database(&self, database: redpoll_sql::Database) -> Session {
        Session { database: Arc::new(database.into()), ..self.clone() }
    }

    /// Returns the same session with a callback for the progress of its runs. The callback is
    /// called when a query starts and after each chunk of a query that runs in chunks. A call is
    /// skipped if less than `interval` has passed since the last call or the start of the run.
    /// Calls come from the threads of the run, and the calls of one run do not overlap. A call
    /// should be short, because its thread does not continue the run until the call returns. To
    /// stop the run, set `cancel` of [`Session::limits`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let session = redpoll::Session::default().on_progress(Duration::from_millis(100), |progress| {
    ///     eprintln!("{} of {} queries, {:.0}%", progress.finished, progress.queries, 100.0 * progress.fraction);
    /// });
    /// assert_eq!(session.vector([1.0, 2.0]).sum(..).item::<f64>()?, 3.0);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[must_use]
    pub fn on_progress(&self, interval: Duration, callback: impl Fn(&Progress) + Send + Sync + 'static) -> Session {
        let progress = Some(ProgressReporter::new(interval, callback));
        Session { limits: Limits { progress, ..self.limits.clone() }, ..self.clone() }
    }

    /// Returns the same session with another cancel flag. Runs of the returned session, and of
    /// arrays that it creates, stop once the flag is set; runs of this session go on. Threads that
    /// share a session thus cancel their runs separately.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let session = redpoll::Session::default();
    /// let cancel = Arc::new(AtomicBool::new(false));
    /// let vector = session.vector([1.0, 2.0]);
    /// assert_eq!(session.cancelled_by(&cancel).compute_all([&vector])?[0].sum()?, Some(3.0));
    /// // From another thread, during the run:
    /// cancel.store(true, Ordering::Relaxed);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[must_use]
    pub fn cancelled_by(&self, cancel: &Arc<AtomicBool>) -> Session {
        Session { limits: Limits { cancel: cancel.clone(), ..self.limits.clone() }, ..self.clone() }
    }

    /// Returns the configuration.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.config().memory_limit, None);
    /// ```
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the limits of the runs of the session: the memory budget, the limit of device
    /// memory, the threads, the flag that cancels runs, the kept copies of inputs, and the callback
    /// for progress.
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    ///
    /// let session = redpoll::Session::default();
    /// assert!(!session.limits().cancel.load(Ordering::Relaxed));
    /// ```
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the cache of compiled plans and programs.
    pub(crate) fn compilation_cache(&self) -> &CompilationCache {
        &self.compilation_cache
    }

    /// Returns the tensors of computed arrays.
    pub(crate) fn kept_tensors(&self) -> &KeptTensors {
        &self.kept_tensors
    }

    /// Parses a plan, or a program in Notation, and compiles it to kernels.
    ///
    /// ```
    /// use redpoll::{Bindings, Session};
    ///
    /// let session = Session::default();
    /// let bindings = Bindings::new().with("x", session.vector([1.0, 2.0]).collect()?);
    /// let prepared = session.prepare("s = x(i) * x(i)", &bindings)?;
    /// assert_eq!(prepared.run()?.outputs[0].1.sum()?, Some(5.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the text is neither a plan nor a program. Also fails if a table that a plan reads
    /// is not bound, or is bound to a tensor with another number of modes. Other errors are those
    /// of [`Session::prepare_plan`] and [`Session::prepare_program`].
    pub fn prepare(&self, text: &str, bindings: &Bindings) -> Result<Prepared, Error> {
        self.prepare_scheduled(text, bindings, &[])
    }

    /// Compiles a plan or program like [`Session::prepare`], with transformed loops. A schedule
    /// names a query of the optimized plan, and loops of this query as `explain` shows them. If the
    /// plan has a single result, a schedule may omit the name, and then applies to the query of
    /// that result. A schedule of a program may name any result or none, and may transform all
    /// loops of the program. In the relaxed mode, a schedule may change the order in which floats
    /// are added or multiplied; results do not change otherwise. `(schedule ..)` forms in the text
    /// are applied first. A plan with schedules is not adapted in its first run.
    ///
    /// ```
    /// use redpoll::prelude::*;
    /// use redpoll::{Bindings, Session};
    ///
    /// let session = Session::default();
    /// let (matrix, vector) = (session.sample("karate")?.collect()?, session.vector([1.0; 34]).collect()?);
    /// let bindings = Bindings::new().with("A", matrix).with("x", vector);
    /// let schedule = "split(i, io, ii, 8) parallel(io)".parse()?;
    /// let prepared = session.prepare_scheduled("y(i) = A(i,j) * x(j)", &bindings, &[schedule])?;
    /// assert_eq!(prepared.run()?.get("y").unwrap().ty().shape, [34]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Session::prepare`]; also if a schedule applies to no query, or a
    /// transformation does not fit the loops or would let rounds race.
    pub fn prepare_scheduled(
        &self,
        text: &str,
        bindings: &Bindings,
        schedules: &[Schedule],
    ) -> Result<Prepared, Error> {
        if is_program(text) {
            return self.prepare_scheduled_program(&Program::new(text)?, bindings, schedules);
        }
        let mut timings = Timings::default();
        let read = timings.time(Phase::Parse, || read_plan(text, bindings))?;
        self.prepare_read_plan(read, bindings, schedules, timings)
    }

    /// Compiles a plan that was read from a text, with the schedules in the text followed by
    /// `schedules`. `timings` has the times of the earlier phases.
    pub(crate) fn prepare_read_plan(
        &self,
        (text, plan): (PlanText<'_>, Plan),
        bindings: &Bindings,
        schedules: &[Schedule],
        timings: Timings,
    ) -> Result<Prepared, Error> {
        let schedules = Schedules::of_plan_text(&text, schedules)?;
        prepare(self, (Request::Plan(plan, StatisticsInput::Tensors), &schedules), bindings, timings)
    }

    /// Compiles a plan to kernels.
    ///
    /// ```
    /// use redpoll::logic::text::{Catalog, parse};
    /// use redpoll::{Bindings, Session};
    ///
    /// let session = Session::default();
    /// let x = session.vector([1.0, 2.0]).collect()?;
    /// let catalog: Catalog = [("x", x.ty().clone())].into_iter().collect();
    /// let plan = parse("s = x(i) * x(i)", &catalog)?;
    /// let run = session.prepare_plan(plan, &Bindings::new().with("x", x))?.run()?;
    /// assert_eq!(run.outputs[0].1.sum()?, Some(5.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a table that the plan reads is not bound to a tensor of its type, or a phase
    /// rejects the plan. Also fails if a file of an input cannot be read or has changed,
    /// `REDPOLL_THREADS` is invalid, or a dump cannot be read or written.
    pub fn prepare_plan(&self, plan: Plan, bindings: &Bindings) -> Result<Prepared, Error> {
        self.prepare_scheduled_plan(plan, bindings, &[])
    }

    /// Compiles a plan with schedules.
    pub(crate) fn prepare_scheduled_plan(
        &self,
        plan: Plan,
        bindings: &Bindings,
        schedules: &[Schedule],
    ) -> Result<Prepared, Error> {
        let request = Request::Plan(plan, StatisticsInput::Tensors);
        prepare(self, (request, &Schedules::from(schedules)), bindings, Timings::default())
    }

    /// Replaces constants of a plan by inputs and binds their values. Plans that differ only in the
    /// values of these constants share a compiled form, if every operator with such a constant as
    /// an argument has the same fill value in both plans. For exceptions, see
    /// [`Plan::lift_constants`].
    ///
    /// # Errors
    /// Fails if an expression is not well-formed in the float mode, or a value cannot be allocated.
    pub(crate) fn lift_constants(&self, plan: Plan, bindings: &mut Bindings) -> Result<LiftedPlan, Error> {
        let mode = self.config.optimizer.float_mode;
        let plan = if mode == FloatMode::Relaxed { plan } else { plan.to_mode(mode).map_err(Error::Verify)? };
        let lifted = plan.lift_constants().map_err(Error::Verify)?;
        for LiftedConstant { name, ty, value } in &lifted.constants {
            bindings.insert(name.clone(), Tensor::constant(ty.clone(), value)?);
        }
        Ok(lifted)
    }

    /// Compiles a program in Notation to a kernel. The session reuses the kernel for the same text
    /// and tensors of the same types and array widths, if their values are in the ranges that the
    /// kernel assumes.
    ///
    /// ```
    /// use redpoll::{Bindings, Program, Session};
    ///
    /// let text = "(program
    ///     (input A (shape n m))
    ///     (output s (shape n) f64 0.0)
    ///     (for i (for j (+= (s i) (A i j)))))";
    /// let session = Session::default();
    /// let matrix = session.dense([2, 2], [1.0, 2.0, 3.0, 4.0]).collect()?;
    /// let prepared = session.prepare_program(&Program::new(text)?, &Bindings::new().with("A", matrix))?;
    /// assert_eq!(prepared.run()?.outputs[0].1.sum()?, Some(10.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if an input without a declared value is not bound, a tensor does not have the declared
    /// type, or the program breaks a rule; also the errors of [`Session::prepare_plan`] for files,
    /// threads and dumps. The error has line and column if they are known.
    pub fn prepare_program(&self, program: &Program, bindings: &Bindings) -> Result<Prepared, Error> {
        self.prepare_scheduled_program(program, bindings, &[])
    }

    /// Compiles a program with schedules that are added to the schedules in its text.
    fn prepare_scheduled_program(
        &self,
        program: &Program,
        bindings: &Bindings,
        schedules: &[Schedule],
    ) -> Result<Prepared, Error> {
        prepare(self, (Request::Program(program), &Schedules::from(schedules)), bindings, Timings::default())
    }
}

impl Default for Session {
    fn default() -> Session {
        Session::new(Config::default())
    }
}

/// Reads a text, and parses its plan over the bound tensors.
pub(crate) fn read_plan<'t>(text: &'t str, bindings: &Bindings) -> Result<(PlanText<'t>, Plan), Error> {
    let text = PlanText::read(text).map_err(Error::Parse)?;
    let mut unbound = Vec::new();
    for (table, fields) in text.free_tables().map_err(Error::Parse)? {
        let Some(tensor) = bindings.get(table.as_str()) else {
            unbound.push(UnboundTable { table, rank: fields.len() });
            continue;
        };
        let shape = &tensor.ty().shape;
        if shape.len() != fields.len() {
            return Err(Error::Rank { table, fields: fields.len(), rank: shape.len(), shape: shape.clone() });
        }
    }
    if !unbound.is_empty() {
        return Err(Error::UnboundTables(unbound));
    }
    let catalog: Catalog = bindings.iter().map(|(name, tensor)| (name.clone(), tensor.ty().clone())).collect();
    let plan = text.parse(&catalog).map_err(Error::Parse)?;
    Ok((text, plan))
}
