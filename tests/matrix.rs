//! Tests operators over every pair of level kinds that vectors or matrices can have, in all
//! engines. Each pair runs with equal and with different fill values, and with several protocols.
//! Also tests every level kind at every depth that it supports.
//!
//! Each row of [`OPERATORS`] gives one test for vectors and one test for matrices; `cargo test
//! --test matrix NAME` runs one test again, with the same cases. The verifier of physical plans
//! decides which protocols are allowed.

use libtest_mimic::{Arguments, Failed, Trial};
use redpoll_logic::interp::{DenseTensor, Exactness};
use redpoll_logic::literal::read_value;
use redpoll_logic::physical::verify::verify;
use redpoll_logic::physical::{Access, PhysicalPlan, Protocol, ScalarExpr, StorageCoordinate, TemporaryNest};
use redpoll_logic::sexpr::read_one;
use redpoll_logic::text::format_to_sexpr;
use redpoll_logic::{Alias, DType, Format, LeafKind, LevelKind, Lookup, Prim, Scalar, TensorType};
use redpoll_optimizer::OptimizerConfig;
use redpoll_storage::testing::concordant_formats_of_rank;
use redpoll_storage::{Duplicates, Tensor, Triples, Values, convert};
use redpoll_testing::engines::{EngineCase, PhaseFailure, check_plan, interpret_case, parse_plan, plan};
use redpoll_testing::optimizing;
use redpoll_testing::program::draw_result_formats;
use redpoll_testing::rng::{Rng, named};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// An operator of the matrix.
struct Operator {
    name: &'static str,
    dtype: Prim,
    /// Definitions that precede the query.
    defines: &'static str,
    /// The query over vectors and over matrices.
    queries: [&'static str; 2],
    /// Two pairs of fill values of the operands: equal values, and different values.
    fills: [[&'static str; 2]; 2],
    /// The range of random integers.
    values: [i64; 2],
}

/// Returns an operator without definitions. Its operands have the fill values 0 and 0, or 0 and 5,
/// and random integers from -4 to 4.
const fn pointwise(name: &'static str, dtype: Prim, queries: [&'static str; 2]) -> Operator {
    Operator { name, dtype, defines: "", queries, fills: [["0", "0"], ["0", "5"]], values: [-4, 5] }
}

const BOOLS: [[&str; 2]; 2] = [["false", "false"], ["false", "true"]];

const OPERATORS: &[Operator] = &[
    pointwise("sum", Prim::I64, ["(mapjoin + (table A i) (table B i))", "(mapjoin + (table A i j) (table B i j))"]),
    Operator {
        fills: [["0", "0"], ["0", "1"]],
        ..pointwise(
            "product",
            Prim::F64,
            ["(mapjoin * (table A i) (table B i))", "(mapjoin * (table A i j) (table B i j))"],
        )
    },
    Operator {
        fills: [["0", "0"], ["-2", "3"]],
        ..pointwise(
            "max",
            Prim::I32,
            ["(mapjoin max (table A i) (table B i))", "(mapjoin max (table A i j) (table B i j))"],
        )
    },
    Operator {
        fills: BOOLS,
        ..pointwise(
            "xor",
            Prim::Bool,
            ["(mapjoin xor (table A i) (table B i))", "(mapjoin xor (table A i j) (table B i j))"],
        )
    },
    Operator {
        fills: BOOLS,
        ..pointwise(
            "and-not",
            Prim::Bool,
            [
                "(mapjoin and (table A i) (mapjoin not (table B i)))",
                "(mapjoin and (table A i j) (mapjoin not (table B i j)))",
            ],
        )
    },
    Operator {
        fills: [["0", "0"], ["1", "2"]],
        values: [-2, 4],
        ..pointwise(
            "power",
            Prim::I32,
            ["(mapjoin pow (table A i) (table B i))", "(mapjoin pow (table A i j) (table B i j))"],
        )
    },
    Operator {
        defines: "(define-op (gcd (x i64) (y i64)) i64
            (while ((a (abs x)) (b (abs y))) (ne b 0) (b (rem a b)) a)
            (commutative) (associative) (special (x 0) (abs y)) (special (y 0) (abs x)))",
        fills: [["0", "0"], ["0", "4"]],
        values: [-9, 13],
        ..pointwise(
            "gcd",
            Prim::I64,
            ["(mapjoin gcd (table A i) (table B i))", "(mapjoin gcd (table A i j) (table B i j))"],
        )
    },
    Operator {
        fills: [["inf", "inf"], ["inf", "2"]],
        ..pointwise(
            "min-plus",
            Prim::F64,
            [
                "(aggregate min inf (mapjoin + (table A i) (table B i)) i)",
                "(aggregate min inf (mapjoin + (table A i k) (table B k j)) k)",
            ],
        )
    },
    pointwise(
        "where",
        Prim::I64,
        [
            "(mapjoin ifelse (mapjoin lt (table A i) 1) (table B i) (table A i))",
            "(mapjoin ifelse (mapjoin lt (table A i j) 1) (table B i j) (table A i j))",
        ],
    ),
];

/// The pairs of protocols of both operands. A level of an operand is read by the protocol of the
/// pair if the verifier accepts that protocol.
const PROTOCOLS: [[Protocol; 2]; 6] = {
    use Protocol::{Follow, Gallop, Walk};
    [[Walk, Walk], [Gallop, Gallop], [Follow, Follow], [Walk, Follow], [Follow, Walk], [Walk, Gallop]]
};

/// Number of pairs of protocols for each pair of matrices; vectors are tested with all pairs.
const MATRIX_PROTOCOLS: usize = 3;
/// Number of failures that are shown in full.
const MAX_SHOWN: usize = 3;

fn main() {
    let arguments = Arguments::from_args();
    std::panic::set_hook(Box::new(|_| {}));
    let of = |op: &'static Operator| {
        (1..=2).map(move |rank| {
            Trial::test(format!("{}_of_{}", op.name, ["vectors", "matrices"][rank - 1]), move || matrix(op, rank))
        })
    };
    let mut trials: Vec<Trial> = OPERATORS.iter().flat_map(of).collect();
    trials.push(Trial::test("levels_at_every_depth", levels_at_every_depth));
    libtest_mimic::run(&arguments, trials).exit();
}

/// The outcomes of the cases of a test.
#[derive(Default)]
struct MatrixTally {
    cases: usize,
    equal: usize,
    /// The level kinds and protocols that were read.
    levels_read: BTreeSet<(LevelKind, &'static str)>,
    failures: Vec<String>,
    details: Vec<String>,
}

impl MatrixTally {
    fn add(&mut self, case: &EngineCase, outcome: Result<usize, PhaseFailure>) {
        self.cases += 1;
        match outcome {
            Ok(equal) => self.equal += equal,
            Err(failure) => {
                let operands: Vec<String> = case.inputs.iter().map(|(a, t, d)| describe_input(a, t, d)).collect();
                if self.details.len() < MAX_SHOWN {
                    self.details.push(format!("--- {}\n{}\n{}\n", case.plan, operands.join("\n"), failure.message));
                }
                let first = failure.message.lines().next().unwrap_or("");
                let formats: Vec<String> = case.inputs.iter().map(|(_, t, _)| format_text(&t.ty().format)).collect();
                self.failures.push(format!("{} {}: {first}", formats.join(" "), failure.phase));
            }
        }
    }

    fn finish(mut self, name: &str) -> Result<(), Failed> {
        let checked = optimizing::check_recorded();
        self.failures.extend(checked.failures.iter().map(|(_, message)| message.clone()));
        let MatrixTally { cases, equal, failures, details, .. } = self;
        eprintln!("{name}: {cases} cases, {equal} values equal, {} kernels by the optimizing tier", checked.kernels);
        match failures.len() {
            0 => Ok(()),
            count => {
                let listed = failures[..count.min(30)].join("\n");
                Err(format!("{count} of {cases} cases fail:\n{listed}\n{}", details.join("\n")).into())
            }
        }
    }
}

fn format_text(format: &Format) -> String {
    format_to_sexpr(format).to_string()
}

fn describe_input(alias: &Alias, tensor: &Tensor, dense: &DenseTensor) -> String {
    let values: Vec<String> = dense.values.iter().map(ToString::to_string).collect();
    let ty = tensor.ty();
    format!("{alias} {:?} fill {} {}: {}", ty.shape, ty.fill, format_text(&ty.format), values.join(" "))
}

/// Tests all pairs of level kinds under one operator.
fn matrix(op: &Operator, rank: usize) -> Result<(), Failed> {
    let mut rng = named(op.name, rank as u64);
    let mut tally = MatrixTally::default();
    let kinds: Vec<LevelKind> = LevelKind::all().filter(|kind| rank > 1 || *kind != LevelKind::Singleton).collect();
    for (a, first) in kinds.iter().enumerate() {
        for (b, second) in kinds.iter().enumerate() {
            for fills in &op.fills {
                let formats = [format(&kinds, *first, rank, a + b), format(&kinds, *second, rank, a + 2 * b + 1)];
                check_pair(op, &mut rng, (&formats, fills), &mut tally)?;
            }
        }
    }
    let expected = kinds.iter().flat_map(|kind| {
        let followed = (kind.traits().lookup != Lookup::Unsupported).then_some((*kind, "follow"));
        [(*kind, "walk"), (*kind, "gallop")].into_iter().chain(followed)
    });
    let missing: Vec<_> = expected.filter(|level| !tally.levels_read.contains(level)).collect();
    if !missing.is_empty() {
        return Err(format!("{}: level kinds and protocols that were never read: {missing:?}", op.name).into());
    }
    tally.finish(&format!("{} of rank {rank}", op.name))
}

/// Returns a format whose innermost level has the given kind; `shift` selects the kind of the outer
/// level.
fn format(kinds: &[LevelKind], inner: LevelKind, rank: usize, shift: usize) -> Format {
    let outer: Vec<LevelKind> = kinds.iter().copied().filter(|kind| *kind != LevelKind::Singleton).collect();
    match (inner, rank) {
        (LevelKind::Singleton, _) => Format::coo(rank),
        (_, 1) => Format::of_kinds(&[inner], LeafKind::Element),
        _ => Format::of_kinds(&[outer[shift % outer.len()], inner], LeafKind::Element),
    }
}

fn check_pair(
    op: &Operator,
    rng: &mut Rng,
    (formats, fills): (&[Format; 2], &[&str; 2]),
    tally: &mut MatrixTally,
) -> Result<(), Failed> {
    let rank = formats[0].levels.len();
    let (m, n) = *rng.pick(&[(6, 6), (6, 6), (6, 6), (9, 9), (1, 1), (0, 0)]);
    let dtype = DType::Prim(op.dtype);
    let read = |text: &str| read_value(&dtype, &read_one(text).expect("a value")).expect("a value of the dtype");
    let operand = |rng: &mut Rng, name: &str, format: &Format, fill: &str| {
        let shape = [m, n][..rank].to_vec();
        let ty = TensorType { shape, dtype: dtype.clone(), fill: read(fill), format: format.clone() };
        (Alias::from(name), draw(rng, &ty, op.values), Arc::new(ty))
    };
    let operands = [operand(rng, "A", &formats[0], fills[0]), operand(rng, "B", &formats[1], fills[1])];
    let types: Vec<_> = operands.iter().map(|(name, _, ty)| (name.clone(), ty.clone())).collect();
    let text = format!("(plan {} (query C {}) (produces C))", op.defines, op.queries[rank - 1]);
    let parsed_plan = parse_plan(&text, &types)?;
    let config = OptimizerConfig { formats: draw_result_formats(rng, &parsed_plan), ..OptimizerConfig::default() };
    let inputs = operands.into_iter().map(|(name, dense, ty)| (name, store(&ty, &dense), dense)).collect();
    let case = EngineCase { plan: parsed_plan, inputs, config, exactness: Exactness::Exact };
    let outcome = match (interpret_case(&case), plan(&case)) {
        (Ok(expected), Ok(physical)) => (expected, physical),
        (Err(failure), _) | (_, Err(failure)) => {
            tally.add(&case, Err(failure));
            return Ok(());
        }
    };
    let (expected, physical) = outcome;
    let mut protocols = PROTOCOLS.to_vec();
    if rank > 1 {
        protocols = rng.shuffled(protocols);
        protocols.truncate(MATRIX_PROTOCOLS);
    }
    let mut distinct_plans = BTreeSet::new();
    for [first, second] in protocols {
        let mut changed = physical.clone();
        for (name, protocol) in [("A", first), ("B", second)] {
            set_protocol(&mut changed, name, protocol);
        }
        if !distinct_plans.insert(changed.to_string()) {
            continue;
        }
        for (name, format) in [("A", &formats[0]), ("B", &formats[1])] {
            for_each_access(&mut changed, &mut |access| {
                if access.tensor.as_str() == name {
                    let of = |protocol: &Protocol| match protocol {
                        Protocol::Walk => "walk",
                        Protocol::Gallop => "gallop",
                        Protocol::Follow => "follow",
                    };
                    tally.levels_read.extend(format.levels.iter().zip(&access.protocols).map(|(l, p)| (l.kind, of(p))));
                }
            });
        }
        let outcome = check_plan(&case, &changed, &expected).map(|report| report.compared.equal);
        tally.add(&case, outcome);
    }
    Ok(())
}

/// Makes a plan read each level of a tensor by a protocol if the verifier accepts the changed plan.
fn set_protocol(plan: &mut PhysicalPlan, name: &str, protocol: Protocol) {
    let mut levels = 0;
    for_each_access(plan, &mut |access| levels = levels.max(access.protocols.len()));
    for level in 0..levels {
        let before = plan.clone();
        for_each_access(plan, &mut |access| {
            if access.tensor.as_str() == name && level < access.protocols.len() {
                access.protocols[level] = protocol;
            }
        });
        if verify(plan).is_err() {
            *plan = before;
        }
    }
}

fn for_each_access(plan: &mut PhysicalPlan, f: &mut dyn FnMut(&mut Access)) {
    fn visit_temporaries(temporaries: &mut [TemporaryNest], f: &mut dyn FnMut(&mut Access)) {
        for t in temporaries {
            visit_temporaries(&mut t.temporaries, f);
            t.folds.iter_mut().for_each(|fold| visit_point(&mut fold.value, f));
        }
    }
    fn visit_point(point: &mut ScalarExpr, f: &mut dyn FnMut(&mut Access)) {
        match point {
            ScalarExpr::Literal(_) | ScalarExpr::Temporary(_) | ScalarExpr::Coordinate(_) => {}
            ScalarExpr::Call(_, args) => args.iter_mut().for_each(|a| visit_point(a, f)),
            ScalarExpr::Access(access) => {
                f(access);
                for coordinate in &mut access.subscripts {
                    if let StorageCoordinate::Computed(point) = coordinate {
                        visit_point(point, f);
                    }
                }
            }
        }
    }
    for query in &mut plan.queries {
        visit_temporaries(&mut query.temporaries, f);
        query.outputs.iter_mut().for_each(|output| visit_point(&mut output.value, f));
    }
}

/// Draws random values in runs, without values that the levels cannot store.
fn draw(rng: &mut Rng, ty: &TensorType, [low, high]: [i64; 2]) -> DenseTensor {
    let elements: u64 = ty.shape.iter().product();
    let prim = ty.dtype.prim().expect("a primitive");
    let mut values: Vec<Scalar> = Vec::new();
    for _ in 0..elements {
        let random_value = Scalar::I64(low + rng.below((high - low) as u64) as i64).cast(prim).expect("a primitive");
        let value = match values.last() {
            Some(last) if rng.chance(40) => last.clone(),
            _ if rng.chance(50) => ty.fill.clone(),
            _ => random_value,
        };
        values.push(value);
    }
    restrict_to_levels(rng, ty, (&mut values, 0));
    DenseTensor { shape: ty.shape.clone(), values }
}

/// Replaces the values that the levels from `depth` on cannot store by the fill value. The levels
/// must be in the order of the modes. A level that is neither general nor a singleton keeps one
/// coordinate per fiber, or one run of equal values if the level is innermost and stores runs.
fn restrict_to_levels(rng: &mut Rng, ty: &TensorType, (values, depth): (&mut [Scalar], usize)) {
    let Some(level) = ty.format.levels.get(depth) else { return };
    let n = ty.shape[depth] as usize;
    if n == 0 || values.is_empty() {
        return;
    }
    let below = values.len() / n;
    let limited = !level.kind.traits().general && level.kind != LevelKind::Singleton;
    let begin = rng.index(n);
    let end = if level.kind.traits().runs && below == 1 { begin + 1 + rng.index(n - begin) } else { begin + 1 };
    for (i, child) in values.chunks_mut(below).enumerate() {
        match limited && !(begin..end).contains(&i) {
            true => child.fill(ty.fill.clone()),
            false => restrict_to_levels(rng, ty, (child, depth + 1)),
        }
    }
    if limited && end > begin + 1 {
        let value = values[begin].clone();
        values[begin..end].fill(value);
    }
}

/// Stores the values that differ from the fill value in the format of the type.
fn store(ty: &Arc<TensorType>, dense: &DenseTensor) -> Tensor {
    let (mut coordinates, mut values) = (vec![Vec::new(); ty.shape.len()], Vec::new());
    for (at, value) in dense.values.iter().enumerate().filter(|(_, value)| **value != ty.fill) {
        let mut rest = at as u64;
        for (list, n) in coordinates.iter_mut().zip(&ty.shape).rev() {
            list.push(rest % n);
            rest /= n;
        }
        values.push(value.clone());
    }
    let values = Values::from_scalars(ty.dtype.clone(), &values).expect("values of the dtype");
    let entries = Triples { shape: ty.shape.clone(), coordinates, values };
    let built = Tensor::from_triples(ty.clone(), &entries, Duplicates::Error);
    built.unwrap_or_else(|e| panic!("{e}: {}", format_text(&ty.format))).0
}

/// Returns formats of three modes. Every level kind occurs together with every general kind, and at
/// every depth, except singletons at the first depth.
fn formats() -> Vec<Format> {
    let general: Vec<LevelKind> = LevelKind::general().collect();
    let limited = LevelKind::all().filter(|kind| !kind.traits().general && *kind != LevelKind::Singleton);
    let mut formats = concordant_formats_of_rank(3);
    for (k, kind) in limited.enumerate() {
        for (shift, other) in general.iter().enumerate() {
            let mut kinds = vec![*other, general[(shift + k + 1) % general.len()]];
            kinds.insert(shift % 3, kind);
            formats.push(Format::of_kinds(&kinds, LeafKind::Element));
        }
    }
    formats
}

/// Returns the values of a tensor after conversion to another format and back.
fn convert_and_back(tensor: &Tensor, to: &Format) -> Result<Vec<Scalar>, String> {
    let converted = convert(tensor, to).map_err(|e| e.to_string())?;
    converted.validate().map_err(|e| e.to_string())?;
    let back = convert(&converted, &tensor.ty().format).map_err(|e| e.to_string())?;
    back.validate().map_err(|e| e.to_string())?;
    back.to_dense_scalars().map_err(|e| e.to_string())
}

/// Tests reading, writing and converting tensors of three modes, in all formats that [`formats`]
/// returns.
fn levels_at_every_depth() -> Result<(), Failed> {
    let mut rng = named("levels", 3);
    let mut tally = MatrixTally::default();
    let formats = formats();
    let mut at_depth: HashMap<LevelKind, BTreeSet<usize>> = HashMap::new();
    for format in &formats {
        format.levels.iter().enumerate().for_each(|(depth, l)| {
            at_depth.entry(l.kind).or_default().insert(depth);
        });
        let shape = rng.pick(&[vec![3, 4, 5], vec![3, 4, 5], vec![4, 1, 6], vec![2, 0, 3]]).clone();
        let dtype = DType::Prim(Prim::I64);
        let ty = Arc::new(TensorType { shape, dtype, fill: Scalar::I64(0), format: format.clone() });
        let dense = draw(&mut rng, &ty, [-4, 5]);
        let tensor = store(&ty, &dense);
        let text = format!(
            "(plan (query S (aggregate + 0 (table A i j k) i j k))
                (query R (aggregate + 0 (table A i j k) j))
                (query L (mapjoin * 2 (table A i j k)))
                (query W (reformat {} (mapjoin * 3 (table A i j k))))
                (produces S R L W))",
            format_text(format)
        );
        let alias = Alias::from("A");
        let mut case = EngineCase {
            plan: parse_plan(&text, &[(alias.clone(), ty.clone())])?,
            inputs: vec![(alias, tensor.clone(), dense.clone())],
            config: OptimizerConfig::default(),
            exactness: Exactness::Exact,
        };
        case.config.formats = draw_result_formats(&mut rng, &case.plan);
        let outcome = interpret_case(&case).and_then(|expected| check_plan(&case, &plan(&case)?, &expected));
        tally.add(&case, outcome.map(|report| report.compared.equal));
        for _ in 0..4 {
            let to = rng.pick(&formats).clone();
            let limited =
                |f: &Format| f.levels.iter().any(|l| !l.kind.traits().general && l.kind != LevelKind::Singleton);
            if limited(&to) {
                continue;
            }
            let outcome = match convert_and_back(&tensor, &to) {
                Ok(found) if found == dense.values => Ok(found.len()),
                Ok(_) => Err(PhaseFailure {
                    phase: "storage",
                    message: format!("conversion to {} and back changes values", format_text(&to)),
                }),
                Err(message) => Err(PhaseFailure {
                    phase: "storage",
                    message: format!("conversion to {} and back: {message}", format_text(&to)),
                }),
            };
            tally.add(&case, outcome);
        }
    }
    let is_at_every_depth = |kind: &LevelKind| {
        let min_depths = if *kind == LevelKind::Singleton { 2 } else { 3 };
        at_depth.get(kind).is_some_and(|depths| depths.len() >= min_depths)
    };
    let missing: Vec<LevelKind> = LevelKind::all().filter(|kind| !is_at_every_depth(kind)).collect();
    if !missing.is_empty() {
        return Err(format!("level kinds that are not at every depth: {missing:?}").into());
    }
    tally.finish("levels")
}
