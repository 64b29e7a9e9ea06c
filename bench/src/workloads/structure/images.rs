//! Binary images: erosion, masked histograms and edges, over bytes, words of bits and runs, in
//! original size and magnified.

use super::{present, text, words};
use crate::data::dense_of;
use crate::runner::Runner;
use crate::workload::{Input, Made, Problem, Size, Suite, Variant, Workload};
use crate::workloads::arrays::picture;
use crate::workloads::pictures::{DATA, Picture, RUNS, binary, bits, bytes, bytes_of, magnification, masked};
use anyhow::{Context, Result, ensure};
use redpoll::datasets::{Content, Values};
use redpoll_logic::text::parse_format;
use redpoll_physical::storage::Tensor;

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
        equation: "h_b = the number of pixels of a mask with value 16 b to 16 b + 15",
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
fn repeated(text: &'static str, input: &'static str, times: usize) -> impl Fn(&mut Runner) -> Result<Vec<Tensor>> {
    move |runner| {
        let mut image = runner.input(input)?.clone();
        for _ in 0..times {
            image = runner.plan_with(text, [(input, &image)])?.swap_remove(0);
        }
        Ok(vec![image])
    }
}

/// Packs the rows of an image into 64-bit words. Also returns a row of words with the bits beyond
/// the width set.
fn packed(image: &Picture<bool>) -> (Content, Content) {
    let across = image.width.div_ceil(64);
    let word = |row: &[bool], w: usize| {
        let set = |k: &usize| row.get(64 * w + k).is_none_or(|pixel| *pixel);
        (0..64).filter(set).fold(0u64, |word, k| word | 1 << k)
    };
    let rows = image.pixels.chunks_exact(image.width.max(1));
    let words: Vec<u64> = rows.flat_map(|row| (0..across).map(move |w| word(row, w))).collect();
    let beyond = vec![false; image.width];
    let beyond: Vec<u64> = (0..across).map(|w| word(&beyond, w)).collect();
    let shape = [image.height as u64, across as u64];
    (dense_of(&shape, Values::U64(words)), dense_of(&shape[1..], Values::U64(beyond)))
}

/// Unpacks images of words to images of bytes. The first result is an image of the same size,
/// because words do not determine the number of bits in the last word.
fn unpacked(results: Vec<Tensor>) -> Result<Vec<Tensor>> {
    let [like, words] = <[Tensor; 2]>::try_from(results).ok().context("an image of the same size, and words")?;
    let shape = like.ty().shape.clone();
    let (width, across) = (shape[1] as usize, words.ty().shape[1] as usize);
    let leaf = words.leaf().first().and_then(|leaf| leaf.as_slice::<u64>()).context("words are u64")?;
    ensure!(leaf.len() as u64 == shape[0] * across as u64, "words are dense");
    let row = |row: &[u64]| (0..width).map(|x| row[x / 64] >> (x % 64) & 1 == 1).collect::<Vec<bool>>();
    let pixels: Vec<bool> = leaf.chunks_exact(across.max(1)).flat_map(row).collect();
    Ok(vec![dense_of(&shape, Values::Bool(pixels)).into_tensor(None)?])
}

fn erosion(data: &str, size: Size, pairs: usize) -> Result<Made> {
    let image = present!(binary(data, size));
    let (bytes, (in_words, beyond)) = (bits(&image), packed(&image));
    let over = |name: &str, format: &str, text: &'static str| {
        let inputs = vec![Input::new("I", bytes.clone(), format)?];
        Ok::<_, anyhow::Error>(Variant::new(name, inputs, repeated(text, "I", pairs)))
    };
    let words_of = repeated(text!("plans/erosion_words.rp"), "W", pairs);
    let like = bytes.clone();
    let word_inputs = vec![
        Input::new("W", in_words, "dense")?,
        Input::new("P", beyond, "dense")?,
        Input::new("like", like, "dense")?,
    ];
    let in_words = Variant::new("words of bits", word_inputs, move |runner: &mut Runner| {
        let like = runner.input("like")?.clone();
        Ok(vec![like, words_of(runner)?.swap_remove(0)])
    });
    let variants = vec![
        over("bytes", "dense", text!("plans/erosion.rp"))?,
        in_words.finish(unpacked),
        over("runs", RUNS, text!("plans/erosion_runs.rp"))?
            .paper("19.5 of OpenCV's on sketches, 266 magnified, 51.6 on MNIST (Finch, fig. 21)"),
    ];
    Problem::compare(words(data, &bytes), 1, variants).made()
}

fn histogram(data: &str, size: Size) -> Result<Made> {
    let [image, mask, bins] = masked(&present!(binary(data, size)));
    let text = text!("plans/histogram.rp");
    let over = |name: &str, format: &str| {
        let inputs = [("I", &image, "dense"), ("M", &mask, format), ("bins", &bins, "dense")];
        super::variant(name, &inputs, text)
    };
    let mut variants = vec![over("bytes", "dense")?];
    if parse_format(BITS, 2).is_ok() {
        variants.push(over("bits", BITS)?);
    }
    variants.push(over("runs", RUNS)?.paper("20.3 on Omniglot, 20.8 on sketches, of OpenCV's (Finch, fig. 21)"));
    Problem::compare(words(data, &mask), 1, variants).made()
}

fn edges(data: &str, size: Size) -> Result<Made> {
    let (by, name) = magnification(data);
    let grey = match (name, size) {
        ("cell", Size::Full | Size::Quick) => present!(bytes_of("images/gray_cell.pgm.zst", 1, size)),
        _ => bytes(&picture(size.pick(1024, 256, 12), 132)?)?,
    };
    let by = if size == Size::Tiny { by.min(2) } else { by };
    let mut sorted = grey.pixels.clone();
    sorted.sort_unstable();
    let quantile = |part: usize| sorted[(sorted.len() - 1) * part / 100];
    let low = quantile(75);
    // The thresholds differ, however few levels there are.
    let above = sorted.iter().copied().find(|p| *p > low).unwrap_or(low);
    let high = quantile(80).max(above);
    // The region is the ellipse that touches the edges.
    let (h, w) = (grey.height as f64, grey.width as f64);
    let inside = |k: usize| {
        let (y, x) = ((k / grey.width) as f64 + 0.5, (k % grey.width) as f64 + 0.5);
        (2.0 * y / h - 1.0).powi(2) + (2.0 * x / w - 1.0).powi(2) <= 1.0
    };
    let (height, width) = (grey.height, grey.width);
    let region = Picture { height, width, pixels: (0..height * width).map(inside).collect() };
    let [t1, t2, r] = [grey.map(|p| p > low), grey.map(|p| p > high), region].map(|image| bits(&image.magnified(by)));
    let over = |name: &str, format: &str, text: &'static str| {
        super::variant(name, &[("T1", &t1, format), ("T2", &t2, format), ("R", &r, format)], text)
    };
    let (plan, over_runs) = (text!("plans/edges.rp"), text!("plans/edges_runs.rp"));
    let variants = vec![
        over("bytes", "dense", plan)?,
        over("lists", "(dense (sparse-list (pattern)))", plan)?
            .paper("2.69 of dense NumPy's, from 0.96 to 28.9 (Henry, fig. 29)"),
        over("runs", RUNS, over_runs)?,
    ];
    Problem::compare(words(data, &r), 1, variants).made()
}
