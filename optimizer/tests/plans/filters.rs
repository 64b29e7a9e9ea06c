//! Tests of filters: a factor is reduced to the entries with a partner in another factor before the
//! join.

use super::algebra::{check, csr, dense, eager};
use super::common::InputStatistics;
use super::{InputSpec, OptimizerConfig, WithStored, check_rewritten, input_statistics, plan};
use expect_test::expect;
use redpoll_logic::statistics::{Answer, Question, Statistics, StatisticsSource};
use redpoll_logic::{Alias, TensorType};
use redpoll_optimizer::{Choice, Subject, Subjects, optimize};

const TEXT: &str =
    "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table C k l)) j l)) (produces R))";

fn large(stored: f64) -> [InputSpec; 3] {
    let matrix = |name: &str, stored: f64| csr(name, &[20_000, 20_000]).stored(stored);
    [matrix("A", 400_000.0), matrix("B", 400_000.0), matrix("C", stored)]
}

/// Many rows of A read the same row of B, so the entries of B without a partner in C are removed
/// first.
#[test]
fn entries_without_a_partner_are_filtered_first() {
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

/// A plan has no filter if most entries would remain, or if `Subject::Filters` is off.
#[test]
fn filters_that_leave_most_entries_are_not_tried() {
    let plan_cost = |stored: f64, subjects: Subjects| {
        let inputs = large(stored);
        let (statistics, config) = (input_statistics(&inputs), OptimizerConfig { subjects, ..eager() });
        let (_, report) = optimize(&plan(TEXT, &inputs), &Statistics::new(&statistics), &config).unwrap();
        (report.to_string().contains("filter: "), report.work().cost())
    };
    let (has_filter, cost) = plan_cost(100.0, Subjects::default());
    let (has_filter_without, cost_without) = plan_cost(100.0, Subjects::default().without(Subject::Filters));
    assert!(
        has_filter && !has_filter_without && cost < cost_without,
        "{has_filter} at {cost}, without filters {has_filter_without} at {cost_without}"
    );
    assert!(!plan_cost(100_000.0, Subjects::default()).0);
}

/// A filtered plan has the results of the original plan, whichever equal term the optimizer picks.
#[test]
fn filtered_joins_keep_their_meaning() {
    let small = [csr("A", &[4, 5]), csr("B", &[5, 6]), csr("C", &[6, 3]).stored(1.0)];
    for seed in 0..40 {
        check_rewritten(TEXT, &small, &OptimizerConfig { choice: Choice::Random(seed), ..eager() });
    }
}

/// Statistics that place all entries of the matrix `A` in 300 columns.
struct FewColumns(InputStatistics);

impl StatisticsSource for FewColumns {
    fn answer(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Option<Answer> {
        match &question {
            Question::Distinct(modes) if tensor.as_str() == "A" && *modes == std::iter::once(1).collect() => {
                Some(Answer::exact(300))
            }
            _ => self.0.answer(tensor, ty, question),
        }
    }
}

/// A dense factor is read only at the coordinates of the sparse factor, so a filtered copy of the
/// dense factor saves nothing.
#[test]
fn dense_factors_are_not_filtered() {
    let inputs = [csr("A", &[8000, 8000]).stored(100_000.0), dense("P", &[8000, 16]), dense("Q", &[16, 8000])];
    let text = "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table P i k) (table Q k j)) k)) (produces R))";
    let statistics = FewColumns(input_statistics(&inputs));
    let (_, report) = optimize(&plan(text, &inputs), &Statistics::new(&statistics), &eager()).unwrap();
    assert!(!report.to_string().contains("filter: "), "{report}");
}
