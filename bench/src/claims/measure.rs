//! Runs each query in turns with claimed regions and by DataFusion alone. Warm runs use all caches;
//! each cold run has a new session.

use super::ClaimSettings;
use super::compare::difference;
use crate::redpoll_server::ExecutionMode;
use anyhow::{Context, Result};
use clap::ValueEnum;
use redpoll::Session;
use redpoll::sql::datafusion::arrow::record_batch::RecordBatch;
use redpoll::sql::datafusion::physical_plan::{ExecutionPlan, collect};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The regions that redpoll claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ClaimPolicy {
    /// Regions that are estimated to run faster in redpoll. This is the default of sessions.
    Cost,
    /// All regions that redpoll can run.
    Always,
}

/// The measurements of a query, with times of rounds in seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueryTimes {
    /// The name `group/query`.
    pub name: String,
    /// Number of claimed regions.
    pub claimed: usize,
    /// The reasons why other aggregates were not claimed.
    #[serde(rename = "left")]
    pub reasons: Vec<String>,
    /// Number of rows of the result.
    pub rows: usize,
    /// A failure, or a difference between results.
    pub fault: Option<String>,
    /// Times of DataFusion alone, with all caches.
    pub plain: Vec<f64>,
    /// Times with claimed regions, with all caches, in the optimizing tier.
    pub warm: Vec<f64>,
    /// Times of DataFusion alone, in new sessions.
    pub plain_cold: Vec<f64>,
    /// Times with claimed regions, in new sessions, in the instant tier.
    pub cold: Vec<f64>,
    /// The phases of the last warm run.
    pub warm_phases: Phases,
    /// The phases of the last cold run.
    pub cold_phases: Phases,
}

/// Seconds spent in planning the query, and in each phase of its claimed regions.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names of the fields describe them")]
pub struct Phases {
    pub plan: f64,
    pub encode: f64,
    pub compile: f64,
    pub kernel: f64,
    pub decode: f64,
}

/// Approximate time for the warm rounds of a query. Cold rounds take up to twice as long.
const WARM_TIME: Duration = Duration::from_millis(800);
/// Smallest and largest number of warm rounds.
const ROUNDS: std::ops::RangeInclusive<usize> = 3..=31;
/// Queries that take longer than this, in seconds, run only two warm rounds.
const SLOW_QUERY: f64 = 3.0;

/// The tables of a group, and sessions over them.
pub(super) struct GroupSessions<'a> {
    settings: &'a ClaimSettings,
    runtime: &'a Runtime,
    /// The session that creates the tables.
    base: Session,
    /// The two warm sessions: DataFusion alone, then with claimed regions. They are dropped when
    /// tables change.
    sessions: Option<(Session, Session)>,
}

impl<'a> GroupSessions<'a> {
    pub(super) fn new(settings: &'a ClaimSettings, runtime: &'a Runtime) -> GroupSessions<'a> {
        let base = Session::new(ExecutionMode::Optimizing.config());
        GroupSessions { settings, runtime, base, sessions: None }
    }

    /// Runs a statement that creates tables.
    pub(super) fn prepare(&mut self, sql: &str) -> Result<()> {
        self.sessions = None;
        self.base.sql(sql).with_context(|| format!("cannot run `{sql}`"))?;
        Ok(())
    }

    /// Creates a table from a file.
    pub(super) fn open(&mut self, table: &str, file: &Path) -> Result<()> {
        self.sessions = None;
        Ok(self.base.register_file(table, file)?)
    }

    /// Creates a session over the tables, with empty caches, that claims the given regions. With
    /// `None`, the session claims nothing.
    fn session(&self, mode: ExecutionMode, policy: Option<ClaimPolicy>) -> Result<Session> {
        let session = Session::new(mode.config());
        session.sql(&format!("SET datafusion.execution.target_partitions = {}", self.settings.threads))?;
        match policy {
            None => drop(session.sql("SET redpoll.enabled = false")?),
            Some(ClaimPolicy::Always) => drop(session.sql("SET redpoll.claim = 'always'")?),
            Some(ClaimPolicy::Cost) => {}
        }
        let (from, to) = (self.base.database(), session.database());
        let public = |database: &redpoll::sql::Database| {
            database.context().catalog("datafusion").and_then(|catalog| catalog.schema("public"))
        };
        let (from, to) = (
            public(&from).context("the first session has no schema for tables")?,
            public(&to).context("the new session has no schema for tables")?,
        );
        for name in from.table_names() {
            let table = self
                .runtime
                .block_on(from.table(&name))?
                .with_context(|| format!("table `{name}` is listed, but missing"))?;
            to.register_table(name, table)?;
        }
        Ok(session)
    }

    /// Measures a query. An error is recorded as the fault of the query. A query that fails on both
    /// sides has no fault and no times.
    pub(super) fn query(&mut self, group: &str, name: &str, sql: &str) -> QueryTimes {
        let mut times = QueryTimes {
            name: format!("{group}/{name}"),
            claimed: 0,
            reasons: Vec::new(),
            rows: 0,
            fault: None,
            plain: Vec::new(),
            warm: Vec::new(),
            plain_cold: Vec::new(),
            cold: Vec::new(),
            warm_phases: Phases::default(),
            cold_phases: Phases::default(),
        };
        if let Err(error) = self.measure(sql, &mut times) {
            times.fault = Some(format!("{error:#}"));
        }
        times
    }

    fn measure(&mut self, sql: &str, times: &mut QueryTimes) -> Result<()> {
        let policy = Some(self.settings.policy);
        let (plain, claimed) = match self.sessions.take() {
            Some(sessions) => sessions,
            None => (self.session(ExecutionMode::Optimizing, None)?, self.session(ExecutionMode::Optimizing, policy)?),
        };
        let expected = self.run_query(&plain, sql);
        let found = self.run_query(&claimed, sql);
        self.runtime.block_on(claimed.database().wait_until_prepared());
        self.sessions = Some((plain.clone(), claimed.clone()));
        let (expected, found) = match (expected, found) {
            (Err(_), Err(_)) => return Ok(()),
            (expected, found) => {
                (expected.context("the query fails without claims")?, found.context("the query fails with claims")?)
            }
        };
        times.rows = found.rows.iter().map(RecordBatch::num_rows).sum();
        (times.claimed, times.reasons) = self.count_claims(&claimed, sql)?;
        if !sql.to_uppercase().contains("LIMIT") {
            times.fault = difference(&found.rows, &expected.rows);
        }
        let start = Instant::now();
        let is_complete = |rounds: &[f64]| {
            let slow = rounds.first().is_some_and(|&first| first > SLOW_QUERY);
            rounds.len() >= *ROUNDS.end()
                || slow && rounds.len() >= 2
                || rounds.len() >= *ROUNDS.start() && start.elapsed() > WARM_TIME
        };
        while !is_complete(&times.plain) {
            times.plain.push(self.run_query(&plain, sql)?.seconds);
            let run = self.run_query(&claimed, sql)?;
            times.warm.push(run.seconds);
            times.warm_phases = run.phases;
        }
        let start = Instant::now();
        while times.cold.len() < 3 && (times.cold.is_empty() || start.elapsed() < 2 * WARM_TIME) {
            let (plain, claimed) =
                (self.session(ExecutionMode::Cold, None)?, self.session(ExecutionMode::Cold, policy)?);
            times.plain_cold.push(self.run_query(&plain, sql)?.seconds);
            let run = self.run_query(&claimed, sql)?;
            times.cold.push(run.seconds);
            times.cold_phases = run.phases;
        }
        Ok(())
    }

    /// Returns the number of claimed regions, and the reasons why other aggregates were not
    /// claimed.
    fn count_claims(&self, session: &Session, sql: &str) -> Result<(usize, Vec<String>)> {
        let database = session.database();
        let plan = self.runtime.block_on(async { database.sql(sql).await?.into_optimized_plan() })?;
        let claimed = plan.display_indent().to_string().matches("Redpoll:").count();
        let mut reasons: Vec<String> =
            database.unclaimed_aggregates(&plan).into_iter().map(|(_, reason)| reason.to_string()).collect();
        reasons.dedup();
        Ok((claimed, reasons))
    }

    fn run_query(&self, session: &Session, sql: &str) -> Result<QueryRun> {
        let database = session.database();
        let start = Instant::now();
        let (rows, plan, planned) = self.runtime.block_on(async {
            let plan = database.sql(sql).await?.create_physical_plan().await?;
            let planned = start.elapsed();
            let rows = collect(plan.clone(), database.context().task_ctx()).await?;
            Ok::<_, anyhow::Error>((rows, plan, planned))
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let mut phases = Phases { plan: planned.as_secs_f64(), ..Phases::default() };
        phases.add(&plan);
        Ok(QueryRun { rows, seconds, phases })
    }
}

struct QueryRun {
    rows: Vec<RecordBatch>,
    seconds: f64,
    phases: Phases,
}

impl Phases {
    /// Adds the phases of a plan that has run.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        if plan.name() == "RedpollExec"
            && let Some(metrics) = plan.metrics().map(|metrics| metrics.aggregate_by_name())
        {
            let seconds = |name: &str| metrics.sum_by_name(name).map_or(0.0, |value| value.as_usize() as f64 / 1e9);
            self.encode += seconds("encode_time");
            self.compile += seconds("compile_time");
            self.kernel += seconds("kernel_time");
            self.decode += seconds("decode_time");
        }
        for child in plan.children() {
            self.add(child);
        }
    }
}
