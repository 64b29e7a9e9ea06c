//! Factors that are filtered before they meet.

use super::algebra::{check, csr, eager};
use super::{Config, Input, Stored, counts, plan, rewritten};
use expect_test::expect;
use redpoll_logic::statistics::Statistics;
use redpoll_optimizer::{Choice, Subject, Subjects, optimize};

const TEXT: &str =
    "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table C k l)) j l)) (produces R))";

fn large(stored: f64) -> [Input; 3] {
    let matrix = |name: &str, stored: f64| csr(name, &[20_000, 20_000]).stored(stored);
    [matrix("A", 400_000.0), matrix("B", 400_000.0), matrix("C", stored)]
}

/// Each row of B is met by many of A: what C has nothing for goes before.
#[test]
fn what_has_no_partner_goes_before_the_loops() {
    let report = check(
        TEXT,
        &large(100.0),
        &[csr("A", &[4, 5]), csr("B", &[5, 6]), csr("C", &[6, 3])],
        &expect![[r#"
            C.1: c0 c1
            R.1.1: e1 k
            R.1: j k
            R.1.2: c0 c1
            R: k l i j
        "#]],
    );
    let text = report.to_string();
    assert!(text.contains("filter: sum(j k"), "{text}");
}

/// Where most places are left, and where the subject is turned off, there is no filter.
#[test]
fn filters_that_leave_most_places_are_not_tried() {
    let made = |stored: f64, subjects: Subjects| {
        let inputs = large(stored);
        let (counts, config) = (counts(&inputs), Config { subjects, ..eager() });
        let (_, report) = optimize(&plan(TEXT, &inputs), &Statistics::new(&counts), &config).unwrap();
        (report.to_string().contains("filter: "), report.work().cost())
    };
    let (filtered, cost) = made(100.0, Subjects::default());
    let (without, before) = made(100.0, Subjects::default().without(Subject::Filters));
    assert!(filtered && !without && cost < before, "{filtered} at {cost}, {without} at {before}");
    assert!(!made(100_000.0, Subjects::default()).0);
}

/// Protects what filtered plans mean, whichever of the equal terms is planned.
#[test]
fn filtered_joins_keep_their_meaning() {
    let small = [csr("A", &[4, 5]), csr("B", &[5, 6]), csr("C", &[6, 3]).stored(1.0)];
    for seed in 0..40 {
        rewritten(TEXT, &small, &Config { choice: Choice::Drawn(seed), ..eager() });
    }
}
