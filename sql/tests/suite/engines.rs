//! The target of a region's kernels: `SET redpoll.engine`.

use redpoll::Session;
use redpoll::logic::{Alias, Plan};
use redpoll::sql::{Database, Engine, Outcome, RunError, RunLimits, TargetCheck};
use redpoll::storage::Tensor;
use redpoll_testing::sql::{rows, run};
use std::sync::{Arc, Mutex};

const PATHS: &str = "SELECT count(*) FROM t a JOIN t b ON a.dst = b.src";

/// An engine that records the target of each run. One session runs all plans, whatever the target.
#[derive(Clone, Debug)]
struct RecordingEngine {
    session: Session,
    target: Option<String>,
    runs: Arc<Mutex<Vec<Option<String>>>>,
}

impl Engine for RecordingEngine {
    fn run(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>, limits: &RunLimits) -> Result<Outcome, RunError> {
        self.runs.lock().unwrap().push(self.target.clone());
        self.session.run(plan, bindings, limits)
    }

    fn explain(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
        self.session.explain(plan, bindings)
    }

    fn target_check(&self) -> TargetCheck {
        self.session.target_check()
    }

    fn with_target(&self, name: &str) -> Result<Arc<dyn Engine>, RunError> {
        Ok(Arc::new(RecordingEngine { target: Some(name.to_owned()), ..self.clone() }))
    }
}

async fn with_edges(database: Database) -> Database {
    for statement in [
        "SET redpoll.claim = 'always'",
        "CREATE TABLE t (src BIGINT, dst BIGINT) AS VALUES (0, 1), (1, 2), (1, 0), (2, 0)",
    ] {
        run(&database, statement).await.unwrap();
    }
    database
}

async fn count(database: &Database) -> String {
    format!("{:?}", rows(&run(database, PATHS).await.unwrap()))
}

/// Kernels run on the chosen target. A region that was cached for another target is not used.
#[tokio::test]
async fn regions_run_on_the_chosen_target() {
    let recording = RecordingEngine { session: Session::default(), target: None, runs: Arc::default() };
    let database = with_edges(Database::new(Arc::new(recording.clone()))).await;
    let own = count(&database).await;
    for engine in ["cuda", "CUDA:2", "cpu", "session"] {
        run(&database, &format!("SET redpoll.engine = '{engine}'")).await.unwrap();
        assert_eq!(count(&database).await, own, "{engine}");
    }
    let expected = [None, Some("cuda:0"), Some("cuda:2"), Some("cpu"), None].map(|name| name.map(str::to_owned));
    assert_eq!(*recording.runs.lock().unwrap(), expected);
}

/// Without the device, the query fails with an error that says what is missing, and the session
/// stays usable.
#[tokio::test]
async fn a_missing_device_is_an_error() {
    let database = with_edges(Session::default().database()).await;
    let expected = count(&database).await;
    run(&database, "SET redpoll.engine = 'cuda:999'").await.unwrap();
    let error = run(&database, PATHS).await.unwrap_err().to_string();
    assert!(error.contains("CUDA device 999 cannot be used"), "{error}");
    run(&database, "SET redpoll.engine = 'cpu'").await.unwrap();
    assert_eq!(count(&database).await, expected);
    let error = run(&database, "SET redpoll.engine = 'gpu'").await.unwrap_err().to_string();
    assert!(error.contains("`cuda:N`") && error.contains("`gpu`"), "{error}");
}
