//! The settings of a session, set by `SET` and shown by `SHOW`.

use redpoll::Session;
use redpoll_testing::sql::{rows, run};

/// `SHOW` finds the settings of redpoll, first with their defaults, then with the values that `SET`
/// gave them.
#[tokio::test]
async fn settings_are_shown() {
    let database = Session::default().database();
    for (name, default, other) in [
        ("enabled", "true", "false"),
        ("claim", "cost", "always"),
        ("first", "auto", "prepare"),
        ("engine", "session", "cuda:1"),
        ("retry", "0", "2"),
    ] {
        let statement = format!("SHOW redpoll.{name}");
        let shown = |value: &str| format!("[[Text(\"redpoll.{name}\"), Text(\"{value}\")]]");
        let show = async || format!("{:?}", rows(&run(&database, &statement).await.unwrap()));
        assert_eq!(show().await, shown(default));
        run(&database, &format!("SET redpoll.{name} = '{other}'")).await.unwrap();
        assert_eq!(show().await, shown(other));
    }
}

/// Options that do not exist, and wrong values, are errors that name the option or similar options.
#[tokio::test]
async fn wrong_settings_are_named() {
    let database = Session::default().database();
    for (sql, expected) in [
        ("SET unknown.option = 1", "unknown option `unknown.option`; `SHOW ALL` lists the options"),
        ("SET redpoll.enable = false", "unknown option `redpoll.enable`; did you mean `redpoll.enabled`"),
        ("SET batch_size = 5", "unknown option `batch_size`; did you mean `datafusion.execution.batch_size`?"),
        ("RESET redpoll.claims", "unknown option `redpoll.claims`; did you mean `redpoll.claim`"),
        ("SHOW redpoll.claims", "unknown option `redpoll.claims`; did you mean `redpoll.claim`"),
        ("SET redpoll.enabled = maybe", "option `redpoll.enabled`: provided string was not `true` or `false`"),
        ("SET redpoll.claim = maybe", "redpoll.claim must be `cost` or `always`, found `maybe`"),
    ] {
        let error = redpoll::sql::message(&run(&database, sql).await.expect_err(sql));
        assert!(error.starts_with(expected), "{sql}: {error}");
    }
}

/// `RESET` restores the default of an option of redpoll.
#[tokio::test]
async fn reset_restores_the_default() {
    let database = Session::default().database();
    for (name, other) in [("enabled", "false"), ("claim", "always"), ("first", "prepare"), ("engine", "cpu")] {
        let show = async || {
            let shown = run(&database, &format!("SHOW redpoll.{name}")).await.unwrap();
            format!("{:?}", rows(&shown))
        };
        let default = show().await;
        run(&database, &format!("SET redpoll.{name} = '{other}'")).await.unwrap();
        assert_ne!(show().await, default);
        run(&database, &format!("RESET redpoll.{name}")).await.unwrap();
        assert_eq!(show().await, default);
    }
}
