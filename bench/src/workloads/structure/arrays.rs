//! Alternating folds over game trees in several formats, and sums of two slices, which are either
//! stored first or read in place.

use super::{describe, text, text_variant};
use crate::data::{generate_content, generate_with};
use crate::workload::{DataSize, MakeOutcome, Suite, Variant, Workload, WorkloadInput, WorkloadProblem};
use anyhow::{Result, bail};
use redpoll::datasets::Content;
use redpoll::datasets::generate::{Amount, Distribution, Uniform};
use redpoll_logic::Prim;

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Structure,
        name: "minimax",
        equation: "max_i min_j max_k .. T_ijk.., 20 opening moves, 43 later moves",
        data: &["order 3", "order 5", "order 7"],
        make: minimax,
    },
    Workload {
        suite: Suite::Structure,
        name: "slices",
        equation: "the sum of two windows, or of two strided slices, of one matrix",
        data: &["window", "stride 2", "stride 8"],
        make: slices,
    },
];

fn minimax(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let later = size.pick(43, 43, 2);
    let (order, text, entries) = match data {
        "order 3" => (3, text!("plans/minimax3.rp"), 8_000),
        "order 5" => (5, text!("plans/minimax5.rp"), 1 << 20),
        "order 7" => (7, text!("plans/minimax7.rp"), 1 << 20),
        data => bail!("unknown trees `{data}`"),
    };
    let opening = size.pick(20, 20, 2);
    let shape: Vec<u64> = (0..order).map(|k| if k < 2 { opening } else { later }).collect();
    let entries = Amount::Count(size.pick(entries, entries / 8, shape.iter().product::<u64>() / 2));
    let t = generate_with(&Uniform { shape, entries }, 110, Distribution::Integer { low: 1, high: 1000 }, Prim::F64)?;
    let paper = "6.38 to 70.3 over PyData/Sparse, growing with the order (Henry, fig. 30)";
    let mut variants = vec![text_variant("list of coordinates", &[("T", &t, "coo")], text)?];
    if order < 7 {
        variants.push(text_variant("dense", &[("T", &t, "dense")], text)?);
    }
    variants.push(text_variant("tree", &[("T", &t, "csf")], text)?.paper(paper));
    WorkloadProblem::comparison(describe(data, &t), 1, variants).into_outcome()
}

/// Compares two ways to add two slices of a matrix, given by their index maps. The baseline stores
/// the slices first; the other variants read them in place.
fn compare_slices(a: &Content, data: &str, [first, second]: [String; 2], paper: &'static str) -> Result<MakeOutcome> {
    let slice = |maps: &str| format!("(index {maps} (table A i j))");
    let in_place =
        format!("(plan (query S (reformat csr (mapjoin + {} {}))) (produces S))", slice(&first), slice(&second));
    let copied = format!(
        "(plan (query X (reformat csr {})) (query Y (reformat csr {}))
           (query S (reformat csr (mapjoin + (table X i j) (table Y i j)))) (produces S))",
        slice(&first),
        slice(&second)
    );
    let variant = |name: &str, format: &str, text: &str| {
        let text = text.to_owned();
        Ok::<_, anyhow::Error>(Variant::new(name, vec![WorkloadInput::new("A", a.clone(), format)?], move |r| {
            r.run_text(&text)
        }))
    };
    let variants = vec![
        variant("copied", "csr", &copied)?,
        variant("in place", "csr", &in_place)?.paper(paper),
        variant("dense", "dense", &in_place)?,
    ];
    WorkloadProblem::comparison(describe(data, a), 1, variants).into_outcome()
}

fn slices(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let n: u64 = size.pick(4096, 2048, 16);
    let a =
        generate_content(&Uniform { shape: vec![n, n], entries: Amount::Count(n * n / size.pick(100, 100, 3)) }, 111)?;
    let half = n / 2;
    match data {
        "window" => {
            let window = |low: u64, high: u64| format!("(window i {low} {high}) (window j {low} {high})");
            compare_slices(&a, data, [window(0, half), window(half, n)], "2.25 over SciPy (Henry, section 8.2.4)")
        }
        _ => {
            let step = if data == "stride 8" { 8 } else { 2 };
            let strided = |from: u64| {
                let high = n - n % step - step + 1 + from;
                let slice = |f: &str| format!("(window {f} {from} {high}) (stride {f} {step})");
                format!("{} {}", slice("i"), slice("j"))
            };
            compare_slices(&a, data, [strided(0), strided(1)], "1.47 over SciPy (Henry, section 8.2.4)")
        }
    }
}
