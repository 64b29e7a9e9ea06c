//! Tests of adaptivity. In most cases, adaptation saves at least half of the extra work that wrong
//! statistics cause. An adapted plan returns the same results, later runs use it, and reports list
//! the adaptation. Small plans are not adapted by default.

use crate::bindings::Bindings;
use crate::config::Config;
use crate::explain::Detail;
use crate::prepare::{Prepared, Request, prepare};
use crate::profile::OutputProfile;
use crate::run::Run;
use crate::schedules::Schedules;
use crate::session::Session;
use crate::statistics::StatisticsInput;
use crate::target::Target;
use crate::timings::{Phase, Timings};
use redpoll_logic::statistics::{Answer, PositionCounts};
use redpoll_logic::text::{Catalog, parse, parse_format};
use redpoll_logic::{Alias, Scalar, TensorType};
use redpoll_optimizer::{Adaptivity, CostThreshold};
use redpoll_storage::{Duplicates, Tensor, Triples, Values};
use std::time::Duration;

/// Factor between wrong and true numbers of positions in statistics. Wrong numbers that would be
/// impossible are clamped.
const FACTOR: f64 = 1000.0;

/// A plan of three queries with its inputs, one of which has wrong statistics.
struct AdaptivityCase {
    name: &'static str,
    plan: &'static str,
    /// Name, sizes, format, and number of entries of each input.
    inputs: &'static [(&'static str, [u64; 2], &'static str, u64)],
    /// The input with wrong statistics, and the direction of the error.
    wrong: (&'static str, CountError),
}

#[derive(Clone, Copy, PartialEq)]
enum CountError {
    TooMany,
    TooFew,
}

const CASES: &[AdaptivityCase] = &[
    AdaptivityCase {
        name: "a chain from its small end",
        plan: "(plan (query T (reformat csf (mapjoin * 2 (table A i j))))
            (query U (reformat csf (aggregate + 0 (mapjoin * (table T i j) (table B j k) (table C k l)) j k)))
            (query s (aggregate + 0 (mapjoin * (table U i l) (table D i l)) i l)) (produces s))",
        inputs: &[
            ("A", [400, 400], "csf", 20),
            ("B", [400, 400], "csr", 8000),
            ("C", [400, 400], "csr", 8000),
            ("D", [400, 400], "csr", 8000),
        ],
        wrong: ("A", CountError::TooMany),
    },
    AdaptivityCase {
        name: "a chain from its thin end",
        plan: "(plan (query T (reformat csr (mapjoin * 2 (table A i j))))
            (query y (reformat (dense (element)) (aggregate + 0 (mapjoin * (table T i j) (table B j k) (table C k l)) j k l)))
            (query s (aggregate + 0 (mapjoin * (table T i j) (table y i)) i j)) (produces s))",
        inputs: &[
            ("A", [300, 300], "csr", 30000),
            ("B", [300, 300], "csr", 9000),
            ("C", [300, 4], "dense", 1200),
        ],
        wrong: ("A", CountError::TooFew),
    },
    AdaptivityCase {
        name: "a mask with few entries",
        plan: "(plan (query T (reformat csf (mapjoin * 2 (table A i k))))
            (query R (reformat csf (mapjoin * (table T i k)
              (aggregate + 0 (mapjoin * (table B i j) (table C j l) (table D l k)) j l))))
            (query s (aggregate + 0 (table R i k) i k)) (produces s R))",
        inputs: &[
            ("A", [200, 200], "csf", 20),
            ("B", [200, 200], "csr", 4000),
            ("C", [200, 200], "csr", 4000),
            ("D", [200, 200], "dense", 40000),
        ],
        wrong: ("A", CountError::TooMany),
    },
    AdaptivityCase {
        name: "a mask with many entries",
        plan: "(plan (query T (reformat csf (mapjoin * 2 (table A i k))))
            (query R (reformat csf (mapjoin * (table T i k) (aggregate + 0 (mapjoin * (table B i j) (table C j l) (table D l k)) j l))))
            (query s (aggregate + 0 (table R i k) i k)) (produces s))",
        inputs: &[
            ("A", [200, 200], "csf", 20000),
            ("B", [200, 200], "csr", 4000),
            ("C", [200, 200], "csr", 4000),
            ("D", [200, 200], "dense", 40000),
        ],
        wrong: ("A", CountError::TooFew),
    },
    AdaptivityCase {
        name: "a chain in the last query",
        plan: "(plan (query P (reformat csr (mapjoin + (table B j k) (table C j k))))
            (query T (reformat csf (mapjoin * (table A i j) (table C i j))))
            (query R (reformat csf (aggregate + 0 (mapjoin * (table T i j) (table P j k) (table C k l)) j k)))
            (produces R))",
        inputs: &[("A", [400, 400], "csf", 100), ("B", [400, 400], "csr", 4000), ("C", [400, 400], "csr", 16000)],
        wrong: ("A", CountError::TooMany),
    },
];

/// The first of the cases, with tensors so small that replanning takes more time than it saves.
const SMALL: AdaptivityCase = AdaptivityCase {
    name: "small",
    inputs: &[
        ("A", [40, 40], "csf", 1),
        ("B", [40, 40], "csr", 99),
        ("C", [40, 40], "csr", 99),
        ("D", [40, 40], "csr", 99),
    ],
    ..CASES[0]
};

fn tensor(shape: [u64; 2], format: &str, entries: u64) -> Tensor {
    let fill = Scalar::F64(0.0);
    let format = match format {
        "dense" => redpoll_logic::Format::dense(2),
        words => parse_format(words, 2).unwrap(),
    };
    let ty = TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format };
    // Steps of a prime that does not divide the number of elements visit no element twice.
    let elements = shape[0] * shape[1];
    let at = (0..entries).map(|k| k * 7919 % elements);
    let coordinates = vec![at.clone().map(|p| p / shape[1]).collect(), at.map(|p| p % shape[1]).collect()];
    let values = Values::from((0..entries).map(|k| (1 + k % 3) as f64).collect::<Vec<_>>());
    Tensor::from_triples(ty, &Triples { shape: shape.to_vec(), coordinates, values }, Duplicates::Error).unwrap().0
}

/// Returns statistics that are wrong for one input.
fn counts_with_error(bindings: &Bindings, (name, wrong): (&str, CountError)) -> PositionCounts {
    let mut counts = PositionCounts::default();
    for (name, tensor) in bindings.iter() {
        counts.insert(name.clone(), tensor.level_positions().unwrap().into_iter().map(Answer::exact).collect());
    }
    let tensor = bindings.get(name).unwrap();
    let sizes = tensor.ty().format.storage_shape(&tensor.ty().shape);
    let mut max_positions = 1.0;
    let scaled = tensor.level_positions().unwrap().into_iter().zip(sizes).zip(&tensor.ty().format.levels).map(
        |((n, size), level)| {
            max_positions *= size as f64;
            Answer::exact(match (level.kind.traits().full, wrong) {
                (true, _) => n,
                (_, CountError::TooMany) => (n as f64 * FACTOR).min(max_positions) as u64,
                (_, CountError::TooFew) => (n as f64 / FACTOR).max(1.0) as u64,
            })
        },
    );
    counts.insert(Alias::from(name), scaled.collect());
    counts
}

impl AdaptivityCase {
    fn session(&self, adaptivity: Adaptivity) -> Session {
        let mut config = Config { dump: None, load: None, ..Config::default() };
        config.optimizer.adaptivity = adaptivity;
        config.optimizer.rewrite_threshold = CostThreshold(0.0);
        Session::new(config)
    }

    fn prepared(&self, adaptivity: Adaptivity, wrong: bool) -> Prepared {
        self.prepared_in(&self.session(adaptivity), wrong)
    }

    fn prepared_in(&self, session: &Session, wrong: bool) -> Prepared {
        let bindings: Bindings = self.inputs.iter().map(|(name, shape, f, n)| (*name, tensor(*shape, f, *n))).collect();
        let catalog: Catalog = bindings.iter().map(|(name, t)| (name.clone(), t.ty().clone())).collect();
        let plan = parse(self.plan, &catalog).unwrap();
        let statistics = if wrong {
            StatisticsInput::Counts(counts_with_error(&bindings, self.wrong))
        } else {
            StatisticsInput::Tensors
        };
        prepare(session, (Request::Plan(plan, statistics), &Schedules::default()), &bindings, Timings::default())
            .unwrap()
    }

    /// Returns the work of the first run.
    fn work(&self, adaptivity: Adaptivity, wrong: bool) -> f64 {
        let run = self.prepared(adaptivity, wrong).run_with(Target::ASSEMBLY).unwrap();
        let counts = run.counts.unwrap();
        (counts.iterations + counts.loads + counts.stores) as f64
    }
}

const OFF: Adaptivity = Adaptivity::Off;
const ON: Adaptivity = Adaptivity::On { factor: 4.0, min_savings: CostThreshold(1e3) };

/// Asserts that in most cases adaptation saves at least half of the extra work that wrong
/// statistics cause.
#[test]
fn at_least_half_of_the_extra_work_is_saved() {
    let saved = |case: &AdaptivityCase| {
        let [lost, adapted, least] = [(OFF, true), (ON, true), (OFF, false)].map(|(a, wrong)| case.work(a, wrong));
        assert!(lost > 2.0 * least, "{}: wrong statistics cause no extra work: {lost} and {least}", case.name);
        let saved = (lost - adapted) / (lost - least);
        eprintln!("{}: work {lost} with wrong statistics, {adapted} adapted, {least} with exact statistics", case.name);
        saved
    };
    let mut saved: Vec<f64> = CASES.iter().map(saved).collect();
    saved.sort_by(f64::total_cmp);
    assert!(saved[saved.len() / 2] >= 0.5, "saved fractions of the extra work: {saved:?}");
}

/// Asserts that targets return the same results for adapted plans as for plans that are not
/// adapted.
#[test]
fn targets_agree_on_adapted_plans() {
    for case in CASES {
        let reference = case.prepared(OFF, true).run_with(Target::ASSEMBLY).unwrap();
        for target in [Target::ASSEMBLY, Target::INSTANT, Target::OPTIMIZING, Target::AUTO] {
            let prepared = case.prepared(ON, true);
            for _ in 0..2 {
                let run = prepared.run_with(target).unwrap();
                check_equal(&run, &reference, &format!("{}, {}", case.name, target.name()));
            }
        }
    }
    // The interpreter of Notation visits all elements, so it runs only the small case.
    let [reference, adapted] = [OFF, ON].map(|a| SMALL.prepared(a, true).run_with(Target::NOTATION).unwrap());
    check_equal(&adapted, &reference, SMALL.name);
}

/// Checks that runs have equal results. Sums of small integers are exact in any order.
fn check_equal(found: &Run, expected: &Run, what: &str) {
    for ((name, found), (_, expected)) in found.outputs.iter().zip(&expected.outputs) {
        let [found, expected] = [found, expected].map(|t| t.to_dense_scalars().unwrap());
        assert_eq!(found, expected, "{what}, {name}");
    }
}

/// Asserts that a plan is adapted once and that later runs use the adapted plan.
#[test]
fn adapted_plans_are_cached() {
    let case = &CASES[0];
    let session = case.session(ON);
    let first = case.prepared_in(&session, true);
    let other = case.prepared_in(&session, true);
    assert!(first.report().unwrap().adaptations.is_empty());
    first.run().unwrap();
    assert_eq!(first.report().unwrap().adaptations.len(), 1);
    let physical = first.physical().unwrap().clone();
    first.run().unwrap();
    let later = case.prepared_in(&session, true);
    for prepared in [&first, &other, &later] {
        assert_eq!(*prepared.physical().unwrap(), physical);
    }
    assert_eq!(later.timings().of(Phase::Optimize), Duration::ZERO);
    assert_eq!(later.timings().of(Phase::Compile), Duration::ZERO);
}

/// Asserts that `explain` and profiles report adaptations.
#[test]
fn reports_list_adaptations() {
    let prepared = CASES[0].prepared(ON, true);
    let profile = prepared.profile(Target::INSTANT).unwrap();
    let report = prepared.report().unwrap();
    let [adaptation] = &report.adaptations[..] else { panic!("{:?}", report.adaptations) };
    let [miscount] = &adaptation.miscounts[..] else { panic!("{adaptation}") };
    assert_eq!((adaptation.query, miscount.alias.as_str(), &miscount.counted[..]), (0, "T", &[20, 20][..]));
    assert_eq!(miscount.estimated.last(), Some(&20_000.0));
    assert!(adaptation.new_cost < adaptation.old_cost);
    let outputs: Vec<&OutputProfile> = profile.queries.iter().flat_map(|q| &q.outputs).collect();
    assert!(outputs.iter().all(|o| o.estimated.is_some()), "{outputs:?}");
    let text = profile.flow.to_string();
    assert!(
        text.contains("T has (20 20) positions instead of the estimated ")
            && text.contains("remaining queries replanned"),
        "{text}"
    );
    assert!(profile.flow.to_dot().contains("the remaining queries are replanned"));
    let sections = prepared.explain(Detail::Notation).unwrap();
    assert!(sections.iter().any(|s| s.title == "adaptation"));
}

/// Asserts that small plans are not adapted by default: running such a plan takes less time than
/// replanning it.
#[test]
fn small_plans_are_not_adapted() {
    for (adaptivity, expected) in [(Adaptivity::default(), 0), (ON, 1)] {
        let prepared = SMALL.prepared(adaptivity, true);
        prepared.run().unwrap();
        assert_eq!(prepared.report().unwrap().adaptations.len(), expected);
    }
}
