//! Columns whose names have capitals, used without quotes.

use crate::correlated::{check, sorted};
use redpoll_testing::sql::{database, run};

/// Names with capitals are found in any case, and other names keep their meaning.
#[tokio::test]
async fn names_are_found_in_another_case() {
    let database = database().await;
    for statement in [
        "CREATE TABLE r (\"UserId\" BIGINT, \"Name\" VARCHAR, v BIGINT) AS VALUES (1, 'x', 5), (2, 'y', 6)",
        "CREATE TABLE s (userid BIGINT, \"USERID\" BIGINT, w BIGINT) AS VALUES (1, 100, 7), (3, 300, 8)",
        "CREATE TABLE q (\"UserId\" BIGINT, \"Total\" BIGINT) AS VALUES (2, 9)",
    ] {
        run(&database, statement).await.unwrap();
    }
    for (sql, expected) in [
        ("SELECT UserId FROM r", &["1", "2"][..]),
        ("SELECT USERID, name FROM r WHERE userId > 1", &["2 y"]),
        ("SELECT r.UserId, count(*) FROM r GROUP BY r.UserId ORDER BY UserId", &["1 1", "2 1"]),
        ("SELECT UserId AS UserId FROM r ORDER BY UserId", &["1", "2"]),
        ("SELECT sum(t.UserId) FROM (SELECT UserId, Name FROM r) t WHERE Name = 'y'", &["2"]),
        ("SELECT r.UserId, Total FROM r JOIN q ON r.UserId = q.UserId", &["2 9"]),
        ("SELECT UserId, Total FROM r FULL JOIN q USING (UserId)", &["1 NULL", "2 9"]),
        ("SELECT Name FROM r WHERE EXISTS (SELECT 1 FROM q WHERE q.UserId = r.UserId)", &["y"]),
        // If a column has the name in lower case, the name refers to this column.
        ("SELECT UserId FROM s", &["1", "3"]),
        ("SELECT r.UserId, s.UserId FROM r JOIN s ON r.UserId = s.UserId", &["1 1"]),
        ("SELECT Name FROM r WHERE r.UserId IN (SELECT userid FROM s)", &["x"]),
    ] {
        check(&database, sql, expected).await;
    }
    for sql in [
        // The table of the subquery has the name in lower case, so the name is not respelled.
        "SELECT UserId FROM r WHERE UserId IN (SELECT userid FROM s)",
        "SELECT UserId FROM r JOIN q ON r.v = q.Total",
        "SELECT \"userId\" FROM r",
        "SELECT Missing FROM r",
    ] {
        let error = run(&database, sql).await.unwrap_err().to_string();
        assert!(error.contains("No field named") || error.contains("mbiguous"), "{sql}: {error}");
    }
    assert_eq!(sorted(&database, "SELECT \"UserId\" FROM r").await, ["1", "2"]);
    let columns = database.sql("SELECT userid FROM r").await.unwrap();
    assert_eq!(columns.schema().field(0).name(), "UserId", "the case of the table is kept");
}

/// A column whose name is a keyword of the parser, such as `user`, is found in any case.
#[tokio::test]
async fn keywords_are_names_of_columns() {
    let database = database().await;
    for statement in [
        "CREATE TABLE r (\"User\" VARCHAR, v BIGINT) AS VALUES ('x', 5), ('x', 6)",
        "CREATE TABLE s (\"user\" VARCHAR, \"Current_User\" VARCHAR) AS VALUES ('x', 'y')",
    ] {
        run(&database, statement).await.unwrap();
    }
    for (sql, expected) in [
        ("SELECT user FROM r WHERE USER = 'x' AND v > 5", &["x"][..]),
        ("SELECT f.user AS user, count(*) FROM r f GROUP BY f.user ORDER BY user", &["x 2"]),
        ("SELECT user, sum(v) FROM r GROUP BY user", &["x 11"]),
        ("SELECT f.v, user FROM r f FULL JOIN r g USING (user) WHERE g.v = 5", &["5 x", "6 x"]),
        ("SELECT user, current_user FROM s", &["x y"]),
        ("SELECT v FROM r WHERE current_date > DATE '2020-01-01'", &["5", "6"]),
    ] {
        check(&database, sql, expected).await;
    }
    let error = run(&database, "SELECT session_user FROM r").await.unwrap_err().to_string();
    assert!(error.contains("No field named session_user"), "{error}");
}

/// The columns that `*` excludes are found in another case.
#[tokio::test]
async fn excluded_columns_are_found_in_another_case() {
    let database = database().await;
    run(&database, "CREATE TABLE r (\"Name\" VARCHAR, v BIGINT, w BIGINT) AS VALUES ('x', 5, 6)").await.unwrap();
    for (sql, expected) in [
        ("SELECT * EXCLUDE (name) FROM r", &["5 6"]),
        ("SELECT * EXCLUDE NAME FROM r", &["5 6"]),
        ("SELECT * EXCEPT (name, V) FROM r", &["6"]),
        ("SELECT t.* EXCLUDE (name, W) FROM r t", &["5"]),
    ] {
        check(&database, sql, expected).await;
    }
    let error = run(&database, "SELECT * EXCLUDE (\"NAME\") FROM r").await.unwrap_err().to_string();
    assert!(error.contains("No field named"), "{error}");
}

/// `* REPLACE` replaces columns in any case, and refuses columns that do not exist, which
/// DataFusion would ignore.
#[tokio::test]
async fn replaced_columns_are_found_in_another_case() {
    let database = database().await;
    run(&database, "CREATE TABLE r (\"Name\" VARCHAR, v BIGINT, w BIGINT) AS VALUES ('x', 5, 6)").await.unwrap();
    for (sql, expected) in [
        ("SELECT * REPLACE (v + 1 AS v) FROM r", &["x 6 6"][..]),
        ("SELECT * REPLACE (V * W AS V, upper(name) AS name) FROM r", &["X 30 6"]),
        ("SELECT t.* REPLACE (10 * w AS W) FROM r t WHERE v = 5", &["x 5 60"]),
        ("SELECT * EXCLUDE (name) REPLACE (v + 1 AS v) FROM r", &["6 6"]),
        ("SELECT * EXCEPT (name) REPLACE (v + 1 AS v) FROM r", &["6 6"]),
        ("SELECT v FROM (SELECT * REPLACE (v + 1 AS v) FROM r) s WHERE v = 6", &["6"]),
        ("SELECT v AS old, * REPLACE (v + 1 AS v) FROM r ORDER BY v", &["5 x 6 6"]),
        ("SELECT * REPLACE (v + 1 AS v) FROM r UNION ALL SELECT 'y', 1, 2", &["x 6 6", "y 1 2"]),
        ("WITH s AS (SELECT * REPLACE (2 AS w) FROM r) SELECT sum(w) FROM s", &["2"]),
    ] {
        check(&database, sql, expected).await;
    }
    for sql in ["SELECT * REPLACE (1 AS missing) FROM r", "SELECT * REPLACE (1 AS \"V\") FROM r"] {
        let error = run(&database, sql).await.expect_err(sql).to_string();
        assert!(error.contains("No field named"), "{sql}: {error}");
    }
}

/// After names were found in another case, an error says what is wrong with the statement, not that
/// these names are missing.
#[tokio::test]
async fn errors_are_those_of_the_statement_with_its_names_found() {
    let database = database().await;
    run(&database, "CREATE TABLE r (\"Name\" VARCHAR, v BIGINT) AS VALUES ('x', 5)").await.unwrap();
    for (sql, expected) in
        [("SELECT name, missing FROM r", "No field named missing"), ("SELECT name FROM r WHERE Name", "non-boolean")]
    {
        let error = run(&database, sql).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{sql}: {error}");
    }
    run(&database, "CREATE TABLE n (name VARCHAR) AS VALUES ('x')").await.unwrap();
    for sql in ["SELECT name, Name FROM r", "SELECT name, Name FROM n", "SELECT name, Name AS again FROM r"] {
        check(&database, sql, &["x x"]).await;
    }
}
