//! Array programs: element-wise functions other than sums and products, slices, masks, and
//! alternating folds.

use super::linear::uniform_with_density;
use super::matrices::describe;
use crate::data::{dense_of, generate_with, sparse_of};
use crate::runner::WorkloadRunner;
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
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
        binary(uniform_with_density(side(size), 0.01, 82)?, integers(size, 83)?, 0.0, |a, b| a.ldexp(b))
    }),
    function("right_shift", "C_ij = A_ij >> B_ij, integers", |_, size| {
        binary(integers(size, 84)?, integers(size, 85)?, 0.0, |a, b| a.bitwise_right_shift(b))
    }),
    function("power", "C_ij = A_ij ^ B_ij, 0^0 = 1 where neither is stored", |_, size| {
        let small = |seed| matrix(side(size), seed, Distribution::Integer { low: 1, high: 3 }, Prim::F64);
        binary(small(86)?, small(87)?, 1.0, |a, b| a.pow(b))
    }),
    function("bitwise", "D_ij = (A_ij & B_ij) ^ (B_ij | C_ij), integers", |_, size| bitwise(size)),
    Workload {
        suite: Suite::Array,
        name: "slices",
        equation: "all rows but the first plus all rows but the last; upper half of the even columns plus lower half of the odd columns",
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

const fn function(
    name: &'static str,
    equation: &'static str,
    make: fn(&str, DataSize) -> Result<MakeOutcome>,
) -> Workload {
    Workload { suite: Suite::Array, name, equation, data: &["uniform"], make }
}

fn side(size: DataSize) -> u64 {
    size.pick(10_000, 2_000, 10)
}

fn matrix(n: u64, seed: u64, values: Distribution, prim: Prim) -> Result<Content> {
    let density = if n < 100 { 0.3 } else { 0.01 };
    let entries = Amount::Count(((n * n) as f64 * density) as u64);
    generate_with(&Uniform { shape: vec![n, n], entries }, seed, values, prim)
}

fn integers(size: DataSize, seed: u64) -> Result<Content> {
    matrix(side(size), seed, Distribution::Integer { low: 1, high: 20 }, Prim::I32)
}

fn binary(a: Content, b: Content, fill: f64, function: fn(&Array, &Array) -> Array) -> Result<MakeOutcome> {
    let description = describe("uniform", &a);
    let inputs = vec![WorkloadInput::new("A", a, "csr")?, WorkloadInput::new("B", b, "csr")?];
    let array = move |runner: &WorkloadRunner| Ok(function(&runner.array("A")?, &runner.array("B")?).to_csr());
    WorkloadProblem::program(description, inputs, 1, array_program(array)).fill(fill).into_outcome()
}

/// Returns the program that collects a lazy array.
fn array_program(
    array: impl Fn(&WorkloadRunner) -> Result<Array>,
) -> impl Fn(&mut WorkloadRunner) -> Result<Vec<redpoll_storage::Tensor>> {
    move |runner| {
        let array = array(runner)?;
        Ok(vec![runner.collect(&array)?])
    }
}

fn bitwise(size: DataSize) -> Result<MakeOutcome> {
    let (a, b, c) = (integers(size, 88)?, integers(size, 89)?, integers(size, 90)?);
    let description = describe("uniform", &a);
    let inputs = vec![
        WorkloadInput::new("A", a, "csr")?,
        WorkloadInput::new("B", b, "csr")?,
        WorkloadInput::new("C", c, "csr")?,
    ];
    let array = |runner: &WorkloadRunner| {
        let (a, b, c) = (runner.array("A")?, runner.array("B")?, runner.array("C")?);
        Ok(((a & &b) ^ (b | c)).to_csr())
    };
    WorkloadProblem::program(description, inputs, 1, array_program(array)).into_outcome()
}

fn slices(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = uniform_with_density(side(size), if size == DataSize::Tiny { 0.3 } else { 0.01 }, 91)?;
    let (description, half) = (describe(data, &a), (a.shape[0] / 2) as i64);
    let array: fn(&WorkloadRunner, i64) -> Result<Array> = match data {
        "windows" => |runner, _| {
            let a = runner.array("A")?;
            Ok((a.slice(index![1.., ..]) + a.slice(index![..-1, ..])).to_csr())
        },
        "strides" => |runner, half| {
            let a = runner.array("A")?;
            Ok((a.slice(index![..half, (.., 2)]) + a.slice(index![half.., (1.., 2)])).to_csr())
        },
        data => bail!("unknown slices `{data}`"),
    };
    WorkloadProblem::program(
        description,
        vec![WorkloadInput::new("A", a, "csr")?],
        1,
        array_program(move |runner| array(runner, half)),
    )
    .parameter("strides", data == "strides")
    .into_outcome()
}

/// Returns a dense image of grey levels.
pub(super) fn generate_image(side: u64, seed: u64) -> Result<Content> {
    let image: &dyn Generator = &Image::new(side, side);
    generate_with(image, seed, Distribution::Integer { low: 1, high: 255 }, Prim::U8)
}

/// Returns the mask of the pixels of an image that are not background.
pub(super) fn generate_mask(side: u64, seed: u64) -> Result<Content> {
    let image = generate_image(side, seed)?;
    let Data::Dense(Values::U8(pixels)) = &image.data else { bail!("expected an image of bytes") };
    Ok(dense_of(&image.shape, Values::Bool(pixels.iter().map(|p| *p > 0).collect())))
}

fn edge(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let side = size.pick(4096, 1024, 12);
    let (mut image, mask) = (generate_image(side, 92)?, generate_mask(side, 93)?);
    if data == "sparse" {
        image = without_background(&image)?;
    }
    let description = describe(data, &image);
    let format = if data == "sparse" { "csr" } else { "dense" };
    let inputs = vec![WorkloadInput::new("I", image, format)?, WorkloadInput::new("M", mask, "dense")?];
    let sparse = data == "sparse";
    let array = move |runner: &WorkloadRunner| {
        let (image, mask) = (runner.array("I")?, runner.array("M")?);
        let edges = image.greater(60u8).logical_xor(image.greater(180u8)).logical_and(mask);
        Ok(if sparse { edges.to_csr() } else { edges.to_dense() })
    };
    WorkloadProblem::program(description, inputs, 1, array_program(array))
        .parameter("low", 60)
        .parameter("high", 180)
        .into_outcome()
}

fn without_background(image: &Content) -> Result<Content> {
    let (&[_, width], Data::Dense(Values::U8(pixels))) = (&image.shape[..], &image.data) else {
        bail!("expected a dense matrix of bytes")
    };
    let positions: Vec<u64> = (0..pixels.len() as u64).filter(|k| pixels[*k as usize] > 0).collect();
    let coordinates =
        vec![positions.iter().map(|k| k / width).collect(), positions.iter().map(|k| k % width).collect()];
    let values = Values::U8(positions.iter().map(|k| pixels[*k as usize]).collect());
    Ok(sparse_of(&image.shape, coordinates, values))
}

fn minimax(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let shape = size.pick(vec![256, 64, 512], vec![64, 32, 256], vec![3, 4, 5]);
    let entries = Amount::Density(0.1f64.max(if size == DataSize::Tiny { 0.5 } else { 0.0 }));
    let t = generate_with(&Uniform { shape, entries }, 94, Distribution::Integer { low: 1, high: 1000 }, Prim::F64)?;
    let description = describe(data, &t);
    let array = |runner: &WorkloadRunner| Ok(runner.array("T")?.max(2).min(1).max(0));
    WorkloadProblem::program(description, vec![WorkloadInput::new("T", t, "csf")?], 1, array_program(array))
        .into_outcome()
}
