//! Plans that the optimizer rejects, with the error messages.

use super::{InputSpec, input, plan};
use expect_test::{Expect, expect};
use redpoll_logic::statistics::{NoStatistics, Statistics};
use redpoll_logic::{Format, LeafKind, LevelKind};
use redpoll_optimizer::{OptimizerConfig, optimize_plain};

fn check_error(text: &str, inputs: &[InputSpec], config: &OptimizerConfig, expect: &Expect) {
    let error = optimize_plain(&plan(text, inputs), &Statistics::new(&NoStatistics), config).unwrap_err();
    expect.assert_eq(&error.to_string());
}

fn matrix() -> InputSpec {
    input("A", &[4, 5], Format::csr())
}

#[test]
fn pinned_orders_that_contradict_each_other() {
    let text = "(plan (query s (mapjoin + (aggregate + 0 (reorder (table A i j) j i) i j)
        (aggregate + 0 (reorder (aggregate max 0 (reorder (table A k l) k l) l) k) k))) (produces s))";
    let orders = [("s".into(), vec!["i".into(), "j".into()])].into();
    check_error(
        text,
        &[matrix()],
        &OptimizerConfig { loop_orders: orders, ..OptimizerConfig::default() },
        &expect![
            "query `s` has no loop order that satisfies every order pinned by its reorders, its folds and `loop_orders`; remove a reorder or an entry of `loop_orders`"
        ],
    );
}

#[test]
fn requested_formats_that_do_not_fit() {
    let text = "(plan (query C (mapjoin neg (table A i j))) (produces C))";
    let format = |format| OptimizerConfig { formats: [("C".into(), format)].into(), ..OptimizerConfig::default() };
    check_error(
        text,
        &[matrix()],
        &format(Format::dense(3)),
        &expect!["the format requested for query `C` has 3 modes, but its result has 2; request one with 2 modes"],
    );
    let pattern = Format::of_kinds(&[LevelKind::Dense, LevelKind::SparseList], LeafKind::Pattern);
    check_error(
        text,
        &[matrix()],
        &format(pattern),
        &expect![
            "the format requested for query `C` does not fit its result: a pattern leaf requires dtype bool and fill value false, found f64 and -0.0; use an element leaf"
        ],
    );
}

#[test]
fn scans_without_an_identity() {
    let text = "(plan (query c (scan choose (table A i j) j)) (produces c))";
    let config = OptimizerConfig { float_mode: redpoll_logic::FloatMode::StrictIeee, ..OptimizerConfig::default() };
    check_error(
        text,
        &[matrix()],
        &config,
        &expect![
            "query `c` scans with operator `choose`, which has no identity for f64; scan with an operator that has an identity"
        ],
    );
}
