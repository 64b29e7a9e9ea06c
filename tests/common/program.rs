//! Plan files whose header declares their inputs.
//!
//! ```text
//! ; input NAME DIMENSIONS DTYPE [fill F] [density D] [values LOW..HIGH]
//! ; sizes m=7 n=5 | m=1 n=4 | ..
//! ; formats A=csr x=dense | ..
//! ; rounds
//! ```
//! Dimensions are numbers or letters joined by `x`, or `scalar` for rank 0. `sizes` lists
//! combinations of sizes for the letters. `formats` lists combinations of formats that run in
//! addition to the drawn combinations. `rounds` says that the program rounds floats even if its
//! inputs are whole numbers. All other comments are ignored.

use crate::data::{DrawOptions, ValueKind, draw, tensor};
use crate::engines::{EngineCase, parse_plan};
use crate::rng::Rng;
use redpoll_logic::interp::{DenseTensor, Exactness};
use redpoll_logic::literal::read_value;
use redpoll_logic::sexpr::read_one;
use redpoll_logic::text::parse_format;
use redpoll_logic::{Alias, DType, FloatMode, Format, Plan, Prim, Scalar, TensorType};
use redpoll_optimizer::OptimizerConfig;
use redpoll_storage::Tensor;
use redpoll_storage::testing::formats_of_rank;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// An input declared by a header.
#[derive(Clone, Debug)]
pub struct FileInput {
    pub name: String,
    pub dimensions: Vec<String>,
    pub fill: Scalar,
    pub density: u64,
    pub values: Option<Range<i64>>,
}

/// A plan file with its parsed header.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    pub name: String,
    pub text: String,
    pub inputs: Vec<FileInput>,
    pub sizes: Vec<HashMap<String, u64>>,
    /// Combinations of formats, one format per input, in the order of the inputs.
    pub formats: Vec<Vec<Format>>,
    pub is_rounded: bool,
}

/// Parameters of one run of a file.
#[derive(Clone, Debug)]
pub struct CaseChoice {
    pub size: usize,
    pub formats: Vec<Format>,
    pub kind: ValueKind,
    pub mode: FloatMode,
    pub seed: u64,
}

impl ProgramFile {
    /// Parses the header of a file.
    pub fn parse(name: &str, text: &str) -> ProgramFile {
        let mut file = ProgramFile {
            name: name.to_owned(),
            text: text.to_owned(),
            inputs: Vec::new(),
            sizes: Vec::new(),
            formats: Vec::new(),
            is_rounded: false,
        };
        for line in text.lines().filter_map(|l| l.strip_prefix("; ")) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "input" => file.inputs.push(parse_input(rest)),
                "sizes" => file.sizes = rest.split('|').map(parse_sizes).collect(),
                "formats" => file.formats.extend(rest.split('|').map(|c| parse_formats(&file.inputs, c))),
                "rounds" => file.is_rounded = true,
                _ => {}
            }
        }
        if file.sizes.is_empty() {
            file.sizes.push(HashMap::new());
        }
        file
    }

    /// Returns the shape of an input, for one entry of `sizes`.
    pub fn shape(&self, input: &FileInput, size: usize) -> Vec<u64> {
        let of = |d: &String| d.parse().unwrap_or_else(|_| self.sizes[size][d]);
        input.dimensions.iter().map(of).collect()
    }

    pub fn ranks(&self) -> Vec<usize> {
        self.inputs.iter().map(|i| i.dimensions.len()).collect()
    }

    /// Draws the inputs and the result formats of a choice. Fails if the plan is invalid.
    pub fn case(&self, choice: &CaseChoice) -> Result<EngineCase, String> {
        let mut rng = Rng::new(choice.seed);
        let mut inputs: Vec<(Alias, Tensor, DenseTensor)> = Vec::new();
        let mut types: Vec<(Alias, Arc<TensorType>)> = Vec::new();
        for (input, format) in self.inputs.iter().zip(&choice.formats) {
            let ty = Arc::new(TensorType {
                shape: self.shape(input, choice.size),
                dtype: input.fill.dtype(),
                fill: input.fill.clone(),
                format: format.clone(),
            });
            let density = match rng.below(12) {
                0 => 0,
                1 => 100,
                _ => input.density,
            };
            let options = DrawOptions { density, values: input.values.clone(), kind: choice.kind };
            let (entries, dense) = draw(&mut rng, &ty, &options);
            inputs.push((input.name.as_str().into(), tensor(&ty, &entries), dense));
            types.push((input.name.as_str().into(), ty));
        }
        let plan = parse_plan(&self.text, &types)?;
        let config = OptimizerConfig {
            float_mode: choice.mode,
            formats: draw_result_formats(&mut rng, &plan),
            ..OptimizerConfig::default()
        };
        let exact = choice.kind == ValueKind::Exact && !self.is_rounded;
        Ok(EngineCase { plan, inputs, config, exactness: if exact { Exactness::Exact } else { Exactness::Bounded } })
    }
}

/// Draws formats for about half of the results that specify no format.
pub fn draw_result_formats(rng: &mut Rng, plan: &Plan) -> BTreeMap<Alias, Format> {
    let mut chosen = BTreeMap::new();
    for query in &plan.queries {
        let free = query.expr.stored_format().is_none();
        if free && rng.chance(50) {
            chosen.insert(query.alias.clone(), rng.pick(&formats_of_rank(query.expr.info().fields.len())).clone());
        }
    }
    chosen
}

fn parse_input(line: &str) -> FileInput {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, dimensions, dtype, options @ ..] = &words[..] else {
        panic!("expected NAME DIMENSIONS DTYPE, found: {line}")
    };
    let dtype = DType::Prim(Prim::from_name(dtype).unwrap_or_else(|| panic!("unknown dtype: {dtype}")));
    let number = |text: &str| read_value(&dtype, &read_one(text).expect("a value")).expect("a value of the dtype");
    let mut input = FileInput {
        name: (*name).to_owned(),
        dimensions: if *dimensions == "scalar" { Vec::new() } else { dimensions.split('x').map(Into::into).collect() },
        fill: Scalar::zero(dtype.prim().expect("a primitive")),
        density: 100,
        values: None,
    };
    for option in options.chunks(2) {
        match option {
            ["fill", value] => input.fill = number(value),
            ["density", value] => input.density = (value.parse::<f64>().expect("a share") * 100.0) as u64,
            ["values", range] => {
                let (low, high) = range.split_once("..").expect("LOW..HIGH");
                input.values = Some(low.parse().expect("a number")..high.parse().expect("a number"));
            }
            other => panic!("unknown option of an input: {other:?}"),
        }
    }
    input
}

fn parse_sizes(text: &str) -> HashMap<String, u64> {
    let size = |word: &str| {
        let (name, n) = word.split_once('=').expect("NAME=SIZE");
        (name.to_owned(), n.parse().expect("a size"))
    };
    text.split_whitespace().map(size).collect()
}

fn parse_formats(inputs: &[FileInput], text: &str) -> Vec<Format> {
    let text = &format!(" {text}");
    let starts: Vec<usize> = inputs
        .iter()
        .map(|i| text.find(&format!(" {}=", i.name)).unwrap_or_else(|| panic!("no format of {}", i.name)))
        .collect();
    let one = |(input, start): (&FileInput, &usize)| {
        let from = start + input.name.len() + 2;
        let to = starts.iter().copied().filter(|s| *s >= from).min().unwrap_or(text.len());
        parse_format(text[from..to].trim(), input.dimensions.len()).expect("a format")
    };
    inputs.iter().zip(&starts).map(one).collect()
}
