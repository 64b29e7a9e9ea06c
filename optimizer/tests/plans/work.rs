//! Event counts of given loop orders.

use super::algebra::{csr, dense};
use super::*;
use redpoll_logic::statistics::{Answer, ModeSet, Question, StatisticsSource, Weights};
use redpoll_logic::{Field, TensorType};
use redpoll_optimizer::{CostThreshold, Event, Work};

/// Returns the work of a plan that is not rewritten, and whose query `R` has the given loop order.
fn work(text: &str, inputs: &[InputSpec], order: &str) -> Work {
    work_with(&input_statistics(inputs), text, inputs, order)
}

fn work_with(source: &dyn StatisticsSource, text: &str, inputs: &[InputSpec], order: &str) -> Work {
    let mut config = OptimizerConfig {
        subjects: Subjects::none(),
        rewrite_threshold: CostThreshold(0.0),
        ..OptimizerConfig::default()
    };
    config.loop_orders.insert(Alias::from("R"), order.split(' ').map(Field::from).collect());
    let (_, report) = optimize(&plan(text, inputs), &Statistics::new(source), &config).unwrap();
    report.work()
}

/// Statistics of matrices in which a tenth of the coordinates of some modes have more than half of
/// the entries.
struct SkewedStatistics<'s> {
    source: &'s dyn StatisticsSource,
    modes: &'s [(&'s str, usize)],
}

impl StatisticsSource for SkewedStatistics<'_> {
    fn answer(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Option<Answer> {
        self.source.answer(tensor, ty, question)
    }

    fn marginal(&self, tensor: &Alias, ty: &TensorType, of: ModeSet, mode: usize) -> Option<Weights> {
        let is_skewed = of.len() == 2 && self.modes.contains(&(tensor.as_str(), mode));
        let weight = |i: u64| {
            if !is_skewed {
                1.0
            } else if i.is_multiple_of(10) {
                5.5
            } else {
                0.5
            }
        };
        Some((0..ty.shape[mode]).map(weight).collect())
    }
}

/// In a graph with hubs, loops walk or merge the long lists more often than the short ones. A long
/// list is copied into a byte map no more often than a short one.
#[test]
fn list_lengths_are_weighted_by_visits() {
    let matrix = |name: &str, stored: f64| csr(name, &[1000, 1000]).stored(stored);
    let text = |factors: &str, over: &str| {
        format!("(plan (query R (aggregate + 0 (mapjoin * {factors}) {over})) (produces R))")
    };
    let whole = text("(table A i j) (table B j k) (table C i k)", "i j k");
    let inside = "(table A i j) (aggregate + 0 (mapjoin * (table B j k) (table C i k)) k)";
    // The lists of C are copied into maps or merged, and the lists of B are walked. The lists of B
    // and C have 20 entries on average.
    for (text, order, a) in [(whole, "i j k", 20_000.0), (text(inside, "i j"), "i j", 2000.0)] {
        let inputs = [matrix("A", a), matrix("B", 20_000.0), matrix("C", 20_000.0)];
        let of =
            |modes| work_with(&SkewedStatistics { source: &input_statistics(&inputs), modes }, &text, &inputs, order);
        let [even, joined, single] = [&[][..], &[("A", 1), ("B", 0)], &[("B", 0)]].map(of);
        let fills = |work: &Work| work.count(Event::WriteMap);
        let steps = |work: &Work| work.count(Event::WalkList) + work.count(Event::Merge);
        assert_eq!([&joined, &single].map(fills), [&even; 2].map(fills), "{text}");
        // The weights of `SkewedStatistics` are 5.5 and 0.5; the mean of their squares is 3.25.
        let increase = (steps(&joined) - steps(&even)) / (20.0 * a);
        assert!((increase - 2.25).abs() < 0.01, "{increase}: {text}");
        assert!((steps(&single) - steps(&even)).abs() < 1.0, "{text}");
    }
}

/// A sampled product, first with the fold in place, then with one fold over all factors.
const SAMPLED: [&str; 2] = [
    "(plan (query R (mapjoin * (table A i j) (aggregate + 0 (mapjoin * (table P i k) (table Q k j)) k))) (produces R))",
    "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table P i k) (table Q k j)) k)) (produces R))",
];

fn sampled(columns: u64) -> [InputSpec; 3] {
    let a = input("A", &[20_000, columns], Format::csc());
    [a.stored(200_000.0), dense("P", &[20_000, 16]), dense("Q", &[16, columns])]
}

/// A fold in place has about as many cache misses as the same fold in one nest of loops: lines that
/// the outer loops read again are not counted as missed again.
#[test]
fn a_fold_in_place_misses_as_many_lines_as_its_loops() {
    let [inside, whole] = [(0, "j i"), (1, "j i k")].map(|(text, order)| work(SAMPLED[text], &sampled(20_001), order));
    let [inside, whole] = [inside, whole].map(|work| work.count(Event::CloseMiss));
    assert!(inside <= 2.0 * whole && whole <= 2.0 * inside, "{inside} and {whole}");
    assert!(whole < 0.25 * 16.0 * 200_000.0, "{whole}");
}

/// The addresses of reads down a column alias if a row of the matrix takes a whole number of pages
/// or of half pages.
#[test]
fn reads_with_aliased_addresses_are_counted() {
    let aliased = |columns| work(SAMPLED[1], &sampled(columns), "i j k").count(Event::AliasedRead).round();
    assert_eq!(aliased(20_001), 0.0);
    assert_eq!(aliased(20_480), 16.0 * 200_000.0, "all reads, 40 pages apart");
    assert_eq!(aliased(20_480 + 256), 8.0 * 200_000.0, "half of the reads, at half pages");
}

/// Operators inside of rounds are counted.
#[test]
fn operators_within_rounds_are_counted() {
    let computed = |text| work(text, &sampled(20_001), "i j k").count(Event::Compute).round();
    assert_eq!(computed(SAMPLED[1]), 16.0 * 200_000.0, "one operator besides the fold");
    let separate = work(SAMPLED[0], &sampled(20_001), "i j").count(Event::Compute).round();
    assert_eq!(separate, 200_000.0, "the product with the sample");
}

/// The ends of loops over many short rows are counted as unpredicted.
#[test]
fn unpredicted_ends_are_counted() {
    let text = "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces R))";
    let ends = |rows: u64| {
        let inputs = [csr("A", &[rows, 1000]).stored(8.0 * rows as f64), dense("x", &[1000])];
        work(text, &inputs, "i j").count(Event::End)
    };
    assert_eq!(ends(1000), 0.0);
    assert!(ends(100_000) > 90_000.0);
}

/// Coordinates that a comparison excludes are not walked, and a list whose window begins late is
/// entered by a search.
#[test]
fn lists_are_walked_within_comparisons() {
    let text = |arg: &str| format!("(plan (query R (aggregate + 0 {arg} i j)) (produces R))");
    let walked = |arg: &str| {
        let work = work(&text(arg), &[csr("A", &[5000, 5000]).stored(500_000.0)], "i j");
        [Event::WalkList, Event::Gallop].map(|event| work.count(event))
    };
    let [all, _] = walked("(table A i j)");
    for (condition, starts_late) in [
        ("(mapjoin gt (coordinate i) (coordinate j))", false),
        ("(mapjoin lt (coordinate i) (coordinate j))", true),
        ("(mapjoin and (mapjoin lt (coordinate i) (coordinate j)) (mapjoin ne (coordinate i) 7))", true),
    ] {
        let [walked, leaps] = walked(&format!("(mapjoin ifelse {condition} (table A i j) 0.0)"));
        assert!((walked / all - 0.5).abs() < 0.01, "{condition}: {walked} of {all}");
        assert_eq!(leaps > 0.0, starts_late, "{condition}: {leaps}");
    }
    let [beyond, _] = walked("(mapjoin ifelse (mapjoin not (mapjoin lt (coordinate i) 100)) (table A i j) 0.0)");
    assert!(beyond > 0.9 * all, "a negated comparison excludes few coordinates: {beyond} of {all}");
}
