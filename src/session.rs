//! Sessions: configuration and limits, and what turns plans into something that runs.

use crate::config::{Config, Engine};
use crate::error::{Error, Unbound};
use crate::pipeline::prepare;
use crate::plan_cache::PlanCache;
use crate::prepared::Prepared;
use crate::program_cache::ProgramCache;
use crate::timings::{Phase, Timings};
use crate::warm_up::warm_up;
use redpoll_logic::text::{Catalog, free_tables, parse};
use redpoll_logic::{Alias, Plan};
use redpoll_physical::run::Limits;
use redpoll_physical::storage::Tensor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tensors that a plan reads, by the names of its tables.
#[derive(Clone, Debug, Default)]
pub struct Bindings(BTreeMap<Alias, Tensor>);

impl Bindings {
    /// No tensors.
    pub fn new() -> Bindings {
        Bindings::default()
    }

    /// The bindings with a tensor more; it replaces one of that name.
    #[must_use]
    pub fn with(mut self, table: impl Into<Alias>, tensor: Tensor) -> Bindings {
        self.insert(table, tensor);
        self
    }

    /// Binds a tensor to a name; it replaces one of that name.
    pub fn insert(&mut self, table: impl Into<Alias>, tensor: Tensor) {
        self.0.insert(table.into(), tensor);
    }

    /// The tensor of that name.
    pub fn get(&self, table: &str) -> Option<&Tensor> {
        self.0.get(table)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Alias, &Tensor)> {
        self.0.iter()
    }
}

impl<A: Into<Alias>> FromIterator<(A, Tensor)> for Bindings {
    fn from_iter<I: IntoIterator<Item = (A, Tensor)>>(tensors: I) -> Bindings {
        Bindings(tensors.into_iter().map(|(name, tensor)| (name.into(), tensor)).collect())
    }
}

/// Turns plans into kernels under one configuration, and keeps the kernels: plans that are equal up to the names of their
/// inputs, over tensors alike, are made once. What its plans allocate counts against one memory limit. Clones share both.
#[derive(Clone, Debug)]
pub struct Session {
    config: Arc<Config>,
    limits: Limits,
    plans: Arc<PlanCache>,
    programs: Arc<ProgramCache>,
    /// Its tables in SQL, made when they are first asked for.
    #[cfg(feature = "sql")]
    pub(crate) database: Arc<std::sync::OnceLock<redpoll_sql::Database>>,
}

impl Session {
    /// A session of that configuration. The first one of a process that compiles has the compiler warmed up in the
    /// background.
    pub fn new(config: Config) -> Session {
        if matches!(config.engine, Engine::Instant | Engine::Cpu | Engine::Auto) {
            warm_up();
        }
        Session::cold(config)
    }

    /// A session that leaves the compiler as it is.
    pub(crate) fn cold(config: Config) -> Session {
        let limits = config.memory_limit.map_or_else(Limits::default, Limits::memory).on(&config.workers);
        let limits = Limits { device_memory: config.device_memory_limit.unwrap_or(usize::MAX), ..limits };
        Session {
            config: Arc::new(config),
            limits,
            plans: Arc::default(),
            programs: Arc::default(),
            #[cfg(feature = "sql")]
            database: Arc::default(),
        }
    }

    /// The same session under other limits.
    #[cfg(feature = "sql")]
    pub(crate) fn limited(&self, limits: Limits) -> Session {
        Session { limits, ..self.clone() }
    }

    /// The same session with another engine, and kernels of its own.
    #[cfg(feature = "sql")]
    pub(crate) fn with_engine(&self, engine: Engine) -> Session {
        let config = Config { engine, ..Config::clone(&self.config) };
        Session { config: Arc::new(config), plans: Arc::default(), programs: Arc::default(), ..self.clone() }
    }

    /// The same session without its tables.
    #[cfg(feature = "sql")]
    pub(crate) fn without_tables(&self) -> Session {
        Session { database: Arc::default(), ..self.clone() }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The memory budget of its runs, and the flag that cancels them.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The plans that were taken to kernels.
    pub(crate) fn plans(&self) -> &PlanCache {
        &self.plans
    }

    /// The programs that were taken to kernels.
    pub(crate) fn programs(&self) -> &ProgramCache {
        &self.programs
    }

    /// Takes a plan in text all the way to kernels.
    ///
    /// # Errors
    /// When the text is no plan, a table that it reads is not bound, or a phase refuses it.
    pub fn prepare(&self, text: &str, bindings: &Bindings) -> Result<Prepared, Error> {
        let mut timings = Timings::default();
        let plan = timings.time(Phase::Parse, || read_plan(text, bindings))?;
        prepare(self, plan, bindings, timings)
    }

    /// Takes a plan all the way to kernels.
    ///
    /// # Errors
    /// When a table that it reads is not bound to a tensor of its type, or a phase refuses it.
    pub fn prepare_plan(&self, plan: Plan, bindings: &Bindings) -> Result<Prepared, Error> {
        prepare(self, plan, bindings, Timings::default())
    }
}

impl Default for Session {
    fn default() -> Session {
        Session::new(Config::default())
    }
}

/// The plan of a text over the bound tensors.
fn read_plan(text: &str, bindings: &Bindings) -> Result<Plan, Error> {
    let mut unbound = Vec::new();
    for (table, fields) in free_tables(text).map_err(Error::Parse)? {
        let Some(tensor) = bindings.get(table.as_str()) else {
            unbound.push(Unbound { table, rank: fields });
            continue;
        };
        let shape = &tensor.ty().shape;
        if shape.len() != fields {
            return Err(Error::Rank { table, fields, rank: shape.len(), shape: shape.clone() });
        }
    }
    if !unbound.is_empty() {
        return Err(Error::Unbound(unbound));
    }
    let catalog: Catalog = bindings.iter().map(|(name, tensor)| (name.clone(), tensor.ty().clone())).collect();
    parse(text, &catalog).map_err(Error::Parse)
}
