//! Array programs: functions beyond sums and products, slices, masks, alternating folds.

use super::linear::of_density;
use super::matrices::words;
use crate::data::{dense_of, drawn, sparse_of};
use crate::runner::Runner;
use crate::workload::{Input, Made, Problem, Size, Suite, Workload};
use anyhow::{Result, bail};
use redpoll::datasets::generate::{Amount, Distribution, Generator, Image, Uniform};
use redpoll::datasets::{Content, Data, Values};
use redpoll::{Array, index};
use redpoll_logic::Prim;

pub(super) const WORKLOADS: &[Workload] = &[
    function("xor", "C_ij = A_ij ^ B_ij, integers", |_, size| {
        binary(integers(size, 80)?, integers(size, 81)?, 0.0, |a, b| a.bitwise_xor(b))
    }),
    function("ldexp", "C_ij = A_ij 2^(B_ij)", |_, size| {
        binary(of_density(side(size), 0.01, 82)?, integers(size, 83)?, 0.0, |a, b| a.ldexp(b))
    }),
    function("right_shift", "C_ij = A_ij >> B_ij, integers", |_, size| {
        binary(integers(size, 84)?, integers(size, 85)?, 0.0, |a, b| a.bitwise_right_shift(b))
    }),
    function("power", "C_ij = A_ij ^ B_ij, 0^0 = 1 where none is stored", |_, size| {
        let small = |seed| matrix(side(size), seed, Distribution::Integer { low: 1, high: 3 }, Prim::F64);
        binary(small(86)?, small(87)?, 1.0, |a, b| a.pow(b))
    }),
    function("bitwise", "D_ij = (A_ij & B_ij) ^ (B_ij | C_ij), integers", |_, size| bitwise(size)),
    Workload {
        suite: Suite::Array,
        name: "slices",
        equation: "rows from 1 on plus rows to the last but one; upper half of even columns plus lower half of odd ones",
        data: &["windows", "strides"],
        make: slices,
    },
    Workload {
        suite: Suite::Array,
        name: "edge",
        equation: "E_ij = M_ij and ((I_ij > 60) xor (I_ij > 180)), an image within a region",
        data: &["sparse", "dense"],
        make: edge,
    },
    Workload {
        suite: Suite::Array,
        name: "minimax",
        equation: "s = max_i min_j max_k T_ijk",
        data: &["uniform"],
        make: minimax,
    },
];

const fn function(name: &'static str, equation: &'static str, make: fn(&str, Size) -> Result<Made>) -> Workload {
    Workload { suite: Suite::Array, name, equation, data: &["uniform"], make }
}

fn side(size: Size) -> u64 {
    size.pick(10_000, 2_000, 10)
}

fn matrix(n: u64, seed: u64, values: Distribution, prim: Prim) -> Result<Content> {
    let density = if n < 100 { 0.3 } else { 0.01 };
    let entries = Amount::Count(((n * n) as f64 * density) as u64);
    drawn(&Uniform { shape: vec![n, n], entries }, seed, values, prim)
}

fn integers(size: Size, seed: u64) -> Result<Content> {
    matrix(side(size), seed, Distribution::Integer { low: 1, high: 20 }, Prim::I32)
}

fn binary(a: Content, b: Content, fill: f64, of: fn(&Array, &Array) -> Array) -> Result<Made> {
    let words = words("uniform", &a);
    let inputs = vec![Input::new("A", a, "csr")?, Input::new("B", b, "csr")?];
    let array = move |runner: &Runner| Ok(of(&runner.array("A")?, &runner.array("B")?).to_csr());
    Problem::program(words, inputs, 1, collected(array)).fill(fill).made()
}

/// Returns the program that computes a lazy array.
fn collected(
    array: impl Fn(&Runner) -> Result<Array>,
) -> impl Fn(&mut Runner) -> Result<Vec<redpoll_physical::storage::Tensor>> {
    move |runner| {
        let array = array(runner)?;
        Ok(vec![runner.collect(&array)?])
    }
}

fn bitwise(size: Size) -> Result<Made> {
    let (a, b, c) = (integers(size, 88)?, integers(size, 89)?, integers(size, 90)?);
    let words = words("uniform", &a);
    let inputs = vec![Input::new("A", a, "csr")?, Input::new("B", b, "csr")?, Input::new("C", c, "csr")?];
    let array = |runner: &Runner| {
        let (a, b, c) = (runner.array("A")?, runner.array("B")?, runner.array("C")?);
        Ok(((a & &b) ^ (b | c)).to_csr())
    };
    Problem::program(words, inputs, 1, collected(array)).made()
}

fn slices(data: &str, size: Size) -> Result<Made> {
    let a = of_density(side(size), if size == Size::Tiny { 0.3 } else { 0.01 }, 91)?;
    let (words, half) = (words(data, &a), (a.shape[0] / 2) as i64);
    let array: fn(&Runner, i64) -> Result<Array> = match data {
        "windows" => |runner, _| {
            let a = runner.array("A")?;
            Ok((a.slice(index![1.., ..]) + a.slice(index![..-1, ..])).to_csr())
        },
        "strides" => |runner, half| {
            let a = runner.array("A")?;
            Ok((a.slice(index![..half, (.., 2)]) + a.slice(index![half.., (1.., 2)])).to_csr())
        },
        data => bail!("there are no slices `{data}`"),
    };
    Problem::program(words, vec![Input::new("A", a, "csr")?], 1, collected(move |runner| array(runner, half)))
        .parameter("strides", data == "strides")
        .made()
}

/// Returns a dense image of grey levels.
pub(super) fn picture(side: u64, seed: u64) -> Result<Content> {
    let image: &dyn Generator = &Image::new(side, side);
    drawn(image, seed, Distribution::Integer { low: 1, high: 255 }, Prim::U8)
}

/// Returns the mask of the pixels of an image that are not background.
pub(super) fn stencil(side: u64, seed: u64) -> Result<Content> {
    let picture = picture(side, seed)?;
    let Data::Dense(Values::U8(pixels)) = &picture.data else { bail!("a picture has bytes") };
    Ok(dense_of(&picture.shape, Values::Bool(pixels.iter().map(|p| *p > 0).collect())))
}

fn edge(data: &str, size: Size) -> Result<Made> {
    let side = size.pick(4096, 1024, 12);
    let (mut image, mask) = (picture(side, 92)?, stencil(side, 93)?);
    if data == "sparse" {
        image = without_background(&image)?;
    }
    let words = words(data, &image);
    let format = if data == "sparse" { "csr" } else { "dense" };
    let inputs = vec![Input::new("I", image, format)?, Input::new("M", mask, "dense")?];
    let sparse = data == "sparse";
    let array = move |runner: &Runner| {
        let (image, mask) = (runner.array("I")?, runner.array("M")?);
        let edges = image.greater(60u8).logical_xor(image.greater(180u8)).logical_and(mask);
        Ok(if sparse { edges.to_csr() } else { edges.to_dense() })
    };
    Problem::program(words, inputs, 1, collected(array)).parameter("low", 60).parameter("high", 180).made()
}

fn without_background(picture: &Content) -> Result<Content> {
    let (&[_, width], Data::Dense(Values::U8(pixels))) = (&picture.shape[..], &picture.data) else {
        bail!("a picture has rows of bytes")
    };
    let places: Vec<u64> = (0..pixels.len() as u64).filter(|k| pixels[*k as usize] > 0).collect();
    let coordinates = vec![places.iter().map(|k| k / width).collect(), places.iter().map(|k| k % width).collect()];
    let values = Values::U8(places.iter().map(|k| pixels[*k as usize]).collect());
    Ok(sparse_of(&picture.shape, coordinates, values))
}

fn minimax(data: &str, size: Size) -> Result<Made> {
    let shape = size.pick(vec![256, 64, 512], vec![64, 32, 256], vec![3, 4, 5]);
    let entries = Amount::Density(0.1f64.max(if size == Size::Tiny { 0.5 } else { 0.0 }));
    let t = drawn(&Uniform { shape, entries }, 94, Distribution::Integer { low: 1, high: 1000 }, Prim::F64)?;
    let words = words(data, &t);
    let array = |runner: &Runner| Ok(runner.array("T")?.max(2).min(1).max(0));
    Problem::program(words, vec![Input::new("T", t, "csf")?], 1, collected(array)).made()
}
