//! Estimated sizes of joins and their projections, compared with true sizes, on uniform tensors and
//! power-law graphs.

use redpoll::{Bindings, Config, Session, Target};
use redpoll_datasets::generate::{Amount, GenerateOptions, Generator, Rmat, Uniform, generate};
use redpoll_logic::Prim;
use redpoll_optimizer::CostThreshold;
use redpoll_storage::Tensor;

/// Joins of up to three tensors, with the fields of their projections.
const JOINS: &[(&str, &[&str])] = &[
    ("(mapjoin and (table A i j) (table B j k))", &["i j k", "i k", "i j", "i", "k", "j"]),
    ("(mapjoin and (table A i j) (table B i k))", &["i j k", "j k", "i", "j"]),
    ("(mapjoin and (table A j i) (table B k i))", &["i j k", "j k", "k"]),
    ("(mapjoin and (table A i j) (table B i j))", &["i j", "i", "j"]),
    ("(mapjoin and (table A i j) (table B j i))", &["i j", "i"]),
    ("(mapjoin or (table A i j) (table B i j))", &["i j", "i"]),
    ("(mapjoin and (table A i j) (table v j))", &["i j", "i", "j"]),
    ("(mapjoin and (table A i j) (table B j k) (table C k l))", &["i l", "i k l", "j k", "j l", "i"]),
    ("(mapjoin and (table A i j) (table B i k) (table C i l))", &["i j k", "i", "k l"]),
    ("(mapjoin and (table A i j) (table B j k) (table C i k))", &["i j k", "i k", "j"]),
    ("(mapjoin and (table A i k) (table B k j) (table v k))", &["i j", "i j k", "i"]),
    ("(mapjoin and (table A i j) (mapjoin or (table B j k) (table C j k)))", &["i j k", "i k", "k"]),
    ("(mapjoin and (table T i j k) (table A i l))", &["i j k l", "j k l", "l"]),
    ("(mapjoin and (table T i j k) (table A j l) (table B k l))", &["i l", "i j l", "l"]),
];

fn tensor(generator: &impl Generator, seed: u64) -> Tensor {
    let options = GenerateOptions { seed, dtype: Some(Prim::Bool), ..GenerateOptions::default() };
    let content = generate(generator, &options, &mut |_| ()).expect("a valid generator");
    content.into_tensor(None).expect("a matrix of bits")
}

fn uniform(shape: &[u64], density: f64, seed: u64) -> Tensor {
    let options = GenerateOptions { seed, ..GenerateOptions::default() };
    let uniform = Uniform { shape: shape.to_vec(), entries: Amount::Density(density) };
    let content = generate(&uniform, &options, &mut |_| ()).expect("a valid generator");
    let format = if shape.len() == 2 { redpoll_logic::Format::csr() } else { redpoll_logic::Format::csf(shape.len()) };
    let mut triples = content.into_tensor(Some(format.clone())).expect("a tensor").to_triples().expect("memory");
    triples.values = redpoll_storage::Values::pattern(triples.len()).expect("memory");
    let fill = redpoll_logic::Scalar::Bool(false);
    let ty = redpoll_logic::TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format };
    Tensor::from_triples(ty, &triples, redpoll_storage::Duplicates::Error).expect("valid triples").0
}

/// Returns the inputs of a seed. The vector and the tensor of order 3 are uniform. The matrices are
/// uniform with different densities or, if `skewed` is set, graphs; one graph is bound twice.
fn inputs(skewed: bool, seed: u64) -> Bindings {
    let bindings = Bindings::new()
        .with("v", uniform(&[256], 0.2, seed + 10))
        .with("T", uniform(&[256, 256, 256], 1.2e-4, seed + 11));
    if skewed {
        let graph = tensor(&Rmat::new(8, 1200), seed);
        return bindings.with("A", graph.clone()).with("B", tensor(&Rmat::new(8, 2500), seed + 1)).with("C", graph);
    }
    let matrix = |density, k| uniform(&[256, 256], density, seed + k);
    bindings.with("A", matrix(0.02, 0)).with("B", matrix(0.05, 1)).with("C", matrix(0.01, 2))
}

/// Returns the estimate, the bound and the true size of a join projected to `fields`.
fn sizes(join: &str, fields: &str, inputs: &Bindings) -> (f64, f64, f64) {
    let all = ["i", "j", "k", "l"];
    let remaining_fields: Vec<&str> = fields.split(' ').collect();
    let summed: Vec<&str> =
        all.into_iter().filter(|f| !remaining_fields.contains(f) && join.contains(&format!(" {f}"))).collect();
    let value = match summed.is_empty() {
        true => join.to_owned(),
        false => format!("(aggregate or false {join} {})", summed.join(" ")),
    };
    let text = format!("(plan (query R (reorder {value} {fields})) (produces R))");
    let mut config = Config::default();
    config.optimizer.rewrite_threshold = CostThreshold(0.0);
    config.optimizer.subjects = redpoll_optimizer::Subjects::none();
    let levels = redpoll_logic::Format::csf(remaining_fields.len());
    config.optimizer.formats.insert("R".into(), levels);
    let prepared = Session::new(config).prepare(&text, inputs).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let output = prepared.report().unwrap().decisions.iter().flat_map(|d| &d.outputs).find(|o| o.alias.as_str() == "R");
    let output = output.expect("R is written");
    let run = prepared.run_with(Target::INSTANT).unwrap_or_else(|e| panic!("{e}\n{text}"));
    (output.stored(), output.max_stored, run.get("R").expect("R is produced").count_stored().unwrap() as f64)
}

/// At least half of the estimates are within a factor of 2, and at least 95% within a factor of 10.
/// No result exceeds its bound.
#[test]
fn estimates_are_close_and_bounds_are_not_exceeded() {
    for skewed in [false, true] {
        let mut errors: Vec<(f64, String)> = Vec::new();
        for seed in [1, 100, 1000] {
            let inputs = inputs(skewed, seed);
            for (join, projections) in JOINS {
                for fields in *projections {
                    let (estimate, bound, size) = sizes(join, fields, &inputs);
                    assert!(size <= bound, "{join} over {fields}: {size} entries, at most {bound}");
                    let (estimate, size) = (estimate.max(1.0), size.max(1.0));
                    let error = (estimate / size).max(size / estimate);
                    errors.push((error, format!("{join} over {fields}: {estimate:.0} for {size}, at most {bound}")));
                }
            }
        }
        errors.sort_by(|a, b| a.0.total_cmp(&b.0));
        let quantile = |part: f64| errors[((errors.len() - 1) as f64 * part) as usize].0;
        let largest_errors: Vec<_> = errors.iter().rev().take(12).collect();
        eprintln!(
            "skewed {skewed}: median {:.2}, 95%: {:.2}, worst {:.2}",
            quantile(0.5),
            quantile(0.95),
            quantile(1.0)
        );
        assert!(
            quantile(0.5) <= 2.0 && quantile(0.95) <= 10.0,
            "{} and {} of {largest_errors:#?}",
            quantile(0.5),
            quantile(0.95)
        );
    }
}
