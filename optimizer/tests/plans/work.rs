//! Event counts of given loop orders.

use super::algebra::{csr, dense};
use super::*;
use redpoll_logic::statistics::{Answer, ModeSet, Question, StatisticsSource, Weights};
use redpoll_logic::{Field, TensorType};
use redpoll_optimizer::{Event, Work, Worth};

/// Returns the work of a plan without rewriting whose query `R` has the given loop order.
fn work(text: &str, inputs: &[Input], order: &str) -> Work {
    work_by(&counts(inputs), text, inputs, order)
}

fn work_by(source: &dyn StatisticsSource, text: &str, inputs: &[Input], order: &str) -> Work {
    let mut config = Config { subjects: Subjects::none(), worth: Worth(0.0), ..Config::default() };
    config.loop_orders.insert(Alias::from("R"), order.split(' ').map(Field::from).collect());
    let (_, report) = optimize(&plan(text, inputs), &Statistics::new(source), &config).unwrap();
    report.work()
}

/// Statistics of matrices in which a tenth of the coordinates of some modes have half of the
/// entries.
struct Skewed<'s> {
    counts: &'s dyn StatisticsSource,
    modes: &'s [(&'s str, usize)],
}

impl StatisticsSource for Skewed<'_> {
    fn answer(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Option<Answer> {
        self.counts.answer(tensor, ty, question)
    }

    fn marginal(&self, tensor: &Alias, ty: &TensorType, of: ModeSet, mode: usize) -> Option<Weights> {
        let skewed = of.len() == 2 && self.modes.contains(&(tensor.as_str(), mode));
        let weight = |i: u64| {
            if !skewed {
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

/// Long lists of graphs with hubs are reached more often, but filled into maps no more often than
/// other lists.
#[test]
fn lists_are_as_long_as_those_that_are_come_to() {
    let matrix = |name: &str, stored: f64| csr(name, &[1000, 1000]).stored(stored);
    let text = |factors: &str, over: &str| {
        format!("(plan (query R (aggregate + 0 (mapjoin * {factors}) {over})) (produces R))")
    };
    let whole = text("(table A i j) (table B j k) (table C i k)", "i j k");
    let inside = "(table A i j) (aggregate + 0 (mapjoin * (table B j k) (table C i k)) k)";
    // The lists of C, which fill maps or are merged, and of B, which are walked, have 20 entries on
    // average.
    for (text, order, a) in [(whole, "i j k", 20_000.0), (text(inside, "i j"), "i j", 2000.0)] {
        let inputs = [matrix("A", a), matrix("B", 20_000.0), matrix("C", 20_000.0)];
        let of = |modes| work_by(&Skewed { counts: &counts(&inputs), modes }, &text, &inputs, order);
        let [even, met, unmet] = [&[][..], &[("A", 1), ("B", 0)], &[("B", 0)]].map(of);
        let filled = |work: &Work| work.count(Event::WriteMap);
        let walked = |work: &Work| work.count(Event::WalkList) + work.count(Event::Merge);
        assert_eq!([&met, &unmet].map(filled), [&even; 2].map(filled), "{text}");
        // The mean square of the weights is 3.25.
        let further = (walked(&met) - walked(&even)) / (20.0 * a);
        assert!((further - 2.25).abs() < 0.01, "{further}: {text}");
        assert!((walked(&unmet) - walked(&even)).abs() < 1.0, "{text}");
    }
}

/// A sampled product, with the fold in place and over all factors.
const SAMPLED: [&str; 2] = [
    "(plan (query R (mapjoin * (table A i j) (aggregate + 0 (mapjoin * (table P i k) (table Q k j)) k))) (produces R))",
    "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table P i k) (table Q k j)) k)) (produces R))",
];

fn sampled(columns: u64) -> [Input; 3] {
    let a = input("A", &[20_000, columns], Format::csc());
    [a.stored(200_000.0), dense("P", &[20_000, 16]), dense("Q", &[16, columns])]
}

/// Folds inside other loops do not miss lines repeatedly that these loops return to.
#[test]
fn a_fold_in_its_place_misses_the_lines_that_its_loops_do() {
    let [inside, whole] = [(0, "j i"), (1, "j i k")].map(|(text, order)| work(SAMPLED[text], &sampled(20_001), order));
    let [inside, whole] = [inside, whole].map(|work| work.count(Event::CloseMiss));
    assert!(inside <= 2.0 * whole && whole <= 2.0 * inside, "{inside} and {whole}");
    assert!(whole < 0.25 * 16.0 * 200_000.0, "{whole}");
}

/// Matrices with a power of two of columns have aliased reads.
#[test]
fn reads_whose_addresses_look_alike_are_counted() {
    let aliased = |columns| work(SAMPLED[1], &sampled(columns), "i j k").count(Event::AliasedRead).round();
    assert_eq!(aliased(20_001), 0.0);
    assert_eq!(aliased(20_480), 16.0 * 200_000.0, "all of them, at 40 pages from each other");
    assert_eq!(aliased(20_480 + 256), 8.0 * 200_000.0, "half of them, at half pages");
}

/// Operators inside of rounds are counted.
#[test]
fn operators_within_rounds_are_counted() {
    let computed = |text| work(text, &sampled(20_001), "i j k").count(Event::Compute).round();
    assert_eq!(computed(SAMPLED[1]), 16.0 * 200_000.0, "one beside that of the fold");
    let apart = work(SAMPLED[0], &sampled(20_001), "i j").count(Event::Compute).round();
    assert_eq!(apart, 200_000.0, "that by the sample");
}

/// Loops over many short rows count unpredicted ends.
#[test]
fn ends_that_are_not_foreseen_are_counted() {
    let text = "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces R))";
    let ends = |rows: u64| {
        let inputs = [csr("A", &[rows, 1000]).stored(8.0 * rows as f64), dense("x", &[1000])];
        work(text, &inputs, "i j").count(Event::End)
    };
    assert_eq!(ends(1000), 0.0);
    assert!(ends(100_000) > 90_000.0);
}

/// Coordinates that a comparison excludes are not walked, and a list that begins later is searched.
#[test]
fn lists_are_walked_within_comparisons() {
    let text = |kept: &str| format!("(plan (query R (aggregate + 0 {kept} i j)) (produces R))");
    let walked = |kept: &str| {
        let work = work(&text(kept), &[csr("A", &[5000, 5000]).stored(500_000.0)], "i j");
        [Event::WalkList, Event::Gallop].map(|event| work.count(event))
    };
    let [all, _] = walked("(table A i j)");
    for (condition, late) in [
        ("(mapjoin gt (coordinate i) (coordinate j))", false),
        ("(mapjoin lt (coordinate i) (coordinate j))", true),
        ("(mapjoin and (mapjoin lt (coordinate i) (coordinate j)) (mapjoin ne (coordinate i) 7))", true),
    ] {
        let [walked, leapt] = walked(&format!("(mapjoin ifelse {condition} (table A i j) 0.0)"));
        assert!((walked / all - 0.5).abs() < 0.01, "{condition}: {walked} of {all}");
        assert_eq!(leapt > 0.0, late, "{condition}: {leapt}");
    }
    let [beyond, _] = walked("(mapjoin ifelse (mapjoin not (mapjoin lt (coordinate i) 100)) (table A i j) 0.0)");
    assert!(beyond > 0.9 * all, "what does not hold for most is asked the other way round: {beyond} of {all}");
}
