//! Workloads over binary images, in original size and magnified. Erosion reads bytes, words of
//! bits, or runs. Histograms read masks of bytes, bit maps, or runs. Edges are computed from bytes,
//! lists, or runs.

use super::{describe, require, text};
use crate::data::dense_of;
use crate::runner::WorkloadRunner;
use crate::workload::{DataSize, MakeOutcome, Suite, Variant, Workload, WorkloadInput, WorkloadProblem};
use crate::workloads::arrays::generate_image;
use crate::workloads::pictures::{
    DATA, Picture, RUNS, binary_image, magnification, mask_inputs, read_bytes, to_bytes, to_content,
};
use anyhow::{Context, Result, ensure};
use redpoll::datasets::{Content, Values};
use redpoll_logic::text::parse_format;
use redpoll_storage::Tensor;

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Structure,
        name: "erosion_2",
        equation: "two rounds of erosion by a square of 3 x 3",
        data: DATA,
        make: |data, size| erosion(data, size, 1),
    },
    Workload {
        suite: Suite::Structure,
        name: "erosion_4",
        equation: "four rounds of erosion by a square of 3 x 3",
        data: DATA,
        make: |data, size| erosion(data, size, 2),
    },
    Workload {
        suite: Suite::Structure,
        name: "histogram",
        equation: "h_b = the number of pixels inside a mask with values from 16 b to 16 b + 15",
        data: DATA,
        make: histogram,
    },
    Workload {
        suite: Suite::Structure,
        name: "edges",
        equation: "(T2 and R) xor (T1 and R), two thresholds of an image within a region",
        data: &["blobs", "blobs x8", "cell", "cell x8"],
        make: edges,
    },
];

const BITS: &str = "(dense (bit-map (pattern)))";

/// Returns a program that runs a text repeatedly, feeding the result back as the input.
fn repeat_plan(
    text: &'static str,
    input: &'static str,
    times: usize,
) -> impl Fn(&mut WorkloadRunner) -> Result<Vec<Tensor>> {
    move |runner| {
        let mut image = runner.input(input)?.clone();
        for _ in 0..times {
            image = runner.run_plan_with(text, [(input, &image)])?.swap_remove(0);
        }
        Ok(vec![image])
    }
}

/// Packs the rows of an image into 64-bit words, with the bits beyond the width set. Also returns a
/// row of words in which only the bits beyond the width are set.
fn pack_rows(image: &Picture<bool>) -> (Content, Content) {
    let row_words = image.width.div_ceil(64);
    let word = |row: &[bool], w: usize| {
        let set = |k: &usize| row.get(64 * w + k).is_none_or(|pixel| *pixel);
        (0..64).filter(set).fold(0u64, |word, k| word | 1 << k)
    };
    let rows = image.pixels.chunks_exact(image.width.max(1));
    let words: Vec<u64> = rows.flat_map(|row| (0..row_words).map(move |w| word(row, w))).collect();
    let beyond = vec![false; image.width];
    let beyond: Vec<u64> = (0..row_words).map(|w| word(&beyond, w)).collect();
    let shape = [image.height as u64, row_words as u64];
    (dense_of(&shape, Values::U64(words)), dense_of(&shape[1..], Values::U64(beyond)))
}

/// Converts an image of words to an image of one boolean per pixel. The image of words is the
/// second element of `results`. The first element is an image that has the size of the result,
/// because words do not determine the number of bits in the last word.
fn unpack_rows(results: Vec<Tensor>) -> Result<Vec<Tensor>> {
    let [template, words] = <[Tensor; 2]>::try_from(results).ok().context("expected an image and its words")?;
    let shape = template.ty().shape.clone();
    let (width, row_words) = (shape[1] as usize, words.ty().shape[1] as usize);
    let leaf = words.leaf().first().and_then(|leaf| leaf.as_slice::<u64>()).context("expected words of u64")?;
    ensure!(leaf.len() as u64 == shape[0] * row_words as u64, "expected a dense matrix of words");
    let row = |row: &[u64]| (0..width).map(|x| row[x / 64] >> (x % 64) & 1 == 1).collect::<Vec<bool>>();
    let pixels: Vec<bool> = leaf.chunks_exact(row_words.max(1)).flat_map(row).collect();
    Ok(vec![dense_of(&shape, Values::Bool(pixels)).into_tensor(None)?])
}

fn erosion(data: &str, size: DataSize, pairs: usize) -> Result<MakeOutcome> {
    let image = require!(binary_image(data, size));
    let (bytes, (in_words, beyond)) = (to_content(&image), pack_rows(&image));
    let variant = |name: &str, format: &str, text: &'static str| {
        let inputs = vec![WorkloadInput::new("I", bytes.clone(), format)?];
        Ok::<_, anyhow::Error>(Variant::new(name, inputs, repeat_plan(text, "I", pairs)))
    };
    let words_of = repeat_plan(text!("plans/erosion_words.rp"), "W", pairs);
    let like = bytes.clone();
    let word_inputs = vec![
        WorkloadInput::new("W", in_words, "dense")?,
        WorkloadInput::new("P", beyond, "dense")?,
        WorkloadInput::new("like", like, "dense")?,
    ];
    let in_words = Variant::new("words of bits", word_inputs, move |runner: &mut WorkloadRunner| {
        let like = runner.input("like")?.clone();
        Ok(vec![like, words_of(runner)?.swap_remove(0)])
    });
    let variants = vec![
        variant("bytes", "dense", text!("plans/erosion.rp"))?,
        in_words.convert_results(unpack_rows),
        variant("runs", RUNS, text!("plans/erosion_runs.rp"))?
            .paper("19.5 over OpenCV on sketches, 266 magnified, 51.6 on MNIST (Finch, fig. 21)"),
    ];
    WorkloadProblem::comparison(describe(data, &bytes), 1, variants).into_outcome()
}

fn histogram(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let [image, mask, bins] = mask_inputs(&require!(binary_image(data, size)));
    let text = text!("plans/histogram.rp");
    let variant = |name: &str, format: &str| {
        let inputs = [("I", &image, "dense"), ("M", &mask, format), ("bins", &bins, "dense")];
        super::text_variant(name, &inputs, text)
    };
    let mut variants = vec![variant("bytes", "dense")?];
    if parse_format(BITS, 2).is_ok() {
        variants.push(variant("bits", BITS)?);
    }
    variants.push(variant("runs", RUNS)?.paper("20.3 over OpenCV on Omniglot, 20.8 on sketches (Finch, fig. 21)"));
    WorkloadProblem::comparison(describe(data, &mask), 1, variants).into_outcome()
}

fn edges(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let (by, name) = magnification(data);
    let grey = match (name, size) {
        ("cell", DataSize::Full | DataSize::Quick) => require!(read_bytes("images/gray_cell.pgm.zst", 1, size)),
        _ => to_bytes(&generate_image(size.pick(1024, 256, 12), 132)?)?,
    };
    let by = if size == DataSize::Tiny { by.min(2) } else { by };
    let mut sorted = grey.pixels.clone();
    sorted.sort_unstable();
    let quantile = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
    let low = quantile(75);
    // The upper threshold exceeds the lower one, unless no pixel exceeds the lower one.
    let above = sorted.iter().copied().find(|p| *p > low).unwrap_or(low);
    let high = quantile(80).max(above);
    // The region is the ellipse that touches the edges of the image.
    let (h, w) = (grey.height as f64, grey.width as f64);
    let inside = |k: usize| {
        let (y, x) = ((k / grey.width) as f64 + 0.5, (k % grey.width) as f64 + 0.5);
        (2.0 * y / h - 1.0).powi(2) + (2.0 * x / w - 1.0).powi(2) <= 1.0
    };
    let (height, width) = (grey.height, grey.width);
    let region = Picture { height, width, pixels: (0..height * width).map(inside).collect() };
    let [t1, t2, r] =
        [grey.map(|p| p > low), grey.map(|p| p > high), region].map(|image| to_content(&image.magnify(by)));
    let variant = |name: &str, format: &str, text: &'static str| {
        super::text_variant(name, &[("T1", &t1, format), ("T2", &t2, format), ("R", &r, format)], text)
    };
    let (plan, over_runs) = (text!("plans/edges.rp"), text!("plans/edges_runs.rp"));
    let variants = vec![
        variant("bytes", "dense", plan)?,
        variant("lists", "(dense (sparse-list (pattern)))", plan)?
            .paper("2.69 over dense NumPy, from 0.96 to 28.9 (Henry, fig. 29)"),
        variant("runs", RUNS, over_runs)?,
    ];
    WorkloadProblem::comparison(describe(data, &r), 1, variants).into_outcome()
}
