//! Plans that the plain path rejects, with the messages.

use super::{Input, input, plan};
use expect_test::{Expect, expect};
use redpoll_logic::statistics::{NoStatistics, Statistics};
use redpoll_logic::{Format, LeafKind, LevelKind};
use redpoll_optimizer::{Config, optimize_plain};

fn refuse(text: &str, inputs: &[Input], config: &Config, expect: &Expect) {
    let error = optimize_plain(&plan(text, inputs), &Statistics::new(&NoStatistics), config).unwrap_err();
    expect.assert_eq(&error.to_string());
}

fn matrix() -> Input {
    input("A", &[4, 5], Format::csr())
}

#[test]
fn pinned_orders_that_contradict_each_other() {
    let text = "(plan (query s (mapjoin + (aggregate + 0 (reorder (table A i j) j i) i j)
        (aggregate + 0 (reorder (aggregate max 0 (reorder (table A k l) k l) l) k) k))) (produces s))";
    let orders = [("s".into(), vec!["i".into(), "j".into()])].into();
    refuse(
        text,
        &[matrix()],
        &Config { loop_orders: orders, ..Config::default() },
        &expect!["query `s` has no loop order that satisfies every order pinned by its reorders and folds"],
    );
}

#[test]
fn requested_formats_that_do_not_fit() {
    let text = "(plan (query C (mapjoin neg (table A i j))) (produces C))";
    let format = |format| Config { formats: [("C".into(), format)].into(), ..Config::default() };
    refuse(
        text,
        &[matrix()],
        &format(Format::dense(3)),
        &expect!["the format requested for query `C` has 3 modes where the result has 2"],
    );
    let pattern = Format::of_kinds(&[LevelKind::Dense, LevelKind::SparseList], LeafKind::Pattern);
    refuse(
        text,
        &[matrix()],
        &format(pattern),
        &expect![
            "the format requested for query `C` is not one for its result: a pattern leaf requires dtype bool and fill value false, found f64 and -0.0; use an element leaf"
        ],
    );
}

#[test]
fn scans_without_an_identity() {
    let text = "(plan (query c (scan choose (table A i j) j)) (produces c))";
    let config = Config { float_mode: redpoll_logic::FloatMode::StrictIeee, ..Config::default() };
    refuse(
        text,
        &[matrix()],
        &config,
        &expect!["query `c` scans with operator `choose`, which has no identity for f64; scan with one that has"],
    );
}
