//! The settings of a session, set by `SET` and shown by `SHOW`.

use redpoll::Session;
use redpoll_testing::sql::{rows, run};

/// DataFusion shows the settings of redpoll together with its own settings.
#[tokio::test]
async fn settings_are_shown() {
    let database = Session::default().database();
    for (name, default, other) in [
        ("enabled", "true", "false"),
        ("claim", "cost", "always"),
        ("first", "auto", "prepare"),
        ("engine", "session", "cuda:1"),
    ] {
        let statement = format!("SHOW redpoll.{name}");
        let shown = |value: &str| format!("[[Text(\"redpoll.{name}\"), Text(\"{value}\")]]");
        let show = async || format!("{:?}", rows(&run(&database, &statement).await.unwrap()));
        assert_eq!(show().await, shown(default));
        run(&database, &format!("SET redpoll.{name} = '{other}'")).await.unwrap();
        assert_eq!(show().await, shown(other));
    }
}
