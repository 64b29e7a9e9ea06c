//! Random tensors, and the sequence of passes that draws a program.

use super::formats::{values, vary};
use super::schedule::{imply, schedule};
use super::statements::Scope;
use super::{Case, Config, Formats, Tensor, Usage};
use redpoll_logic::literal::{read_dtype, read_value};
use redpoll_logic::sexpr::{read, read_one};
use redpoll_logic::testing::Rng;
use redpoll_logic::{DType, FloatMode, Format, Prim, Scalar, TensorType};
use redpoll_physical::notation::Role;
use std::collections::BTreeSet;

/// A tensor of a program that is being drawn.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) shape: Vec<u64>,
    pub(super) dtype: DType,
    pub(super) fill: Scalar,
    /// Exclusive upper bound of the values of an input of coordinates.
    pub(super) below: Option<u64>,
    pub(super) usage: Usage,
    /// The modes in storage order.
    pub(super) order: Vec<usize>,
    /// Set when each coordinate is written at most once, by `init`.
    pub(super) once: bool,
    pub(super) outside: bool,
    pub(super) single: bool,
    /// Name of the tensor with which this one is swapped.
    pub(super) twin: Option<String>,
    /// Set when all writes are drawn, or when only one template uses the tensor.
    pub(super) done: bool,
}

impl Drawn {
    pub(super) fn prim(&self) -> Option<Prim> {
        self.dtype.prim()
    }
}

/// A program that is being drawn.
pub(super) struct Draw<'a> {
    pub(super) rng: Rng,
    pub(super) config: &'a Config,
    /// The available dimensions.
    pub(super) sizes: Vec<u64>,
    pub(super) tensors: Vec<Drawn>,
    /// Number of names given to loops, variables and locals.
    pub(super) names: usize,
    /// Number of statements left to draw.
    pub(super) budget: u64,
    /// Set while a computed subscript is drawn.
    pub(super) subscript: bool,
}

/// Draws the case of a seed.
pub fn random_case(seed: u64, config: &Config) -> Case {
    let mut rng = Rng::new(seed ^ 0x9706_7a35);
    let mode = if rng.chance(25) { FloatMode::StrictIeee } else { FloatMode::Relaxed };
    let sizes = (0..3).map(|_| size(&mut rng, config.largest)).collect();
    let budget = config.statements / 2 + rng.below(config.statements);
    let mut draw = Draw { rng, config, sizes, tensors: Vec::new(), names: 0, budget, subscript: false };
    let contraction = draw.rng.chance(config.contractions);
    let body = if contraction {
        draw.contraction()
    } else {
        draw.declare();
        draw.statements()
    };
    let body = read(&body).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{body}"));
    let Draw { mut rng, tensors, .. } = draw;
    let mut case = Case {
        tensors: tensors.into_iter().map(|t| tensor(&mut rng, t)).collect(),
        body,
        schedule: Vec::new(),
        implied: Vec::new(),
        mode,
    };
    vary(&mut rng, &mut case);
    if rng.chance(50) {
        imply(&mut rng, &mut case);
    }
    if contraction || rng.chance(config.scheduled) {
        schedule(&mut rng, &mut case);
    }
    case
}

fn size(rng: &mut Rng, largest: u64) -> u64 {
    match rng.below(20) {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        _ => 3 + rng.below(largest.saturating_sub(2).max(1)),
    }
}

fn tensor(rng: &mut Rng, drawn: Drawn) -> Tensor {
    let format = Format::dense(drawn.shape.len());
    let ty = TensorType { shape: drawn.shape, dtype: drawn.dtype, fill: drawn.fill, format };
    let values = if drawn.role == Role::Input { values(rng, &ty, drawn.below) } else { Vec::new() };
    let mut order = [0, 1, 2];
    order[..drawn.order.len()].copy_from_slice(&drawn.order);
    let formats = Formats { usage: drawn.usage, outside: drawn.outside, single: drawn.single, once: drawn.once, order };
    Tensor { name: drawn.name, role: drawn.role, ty, values, formats, twin: drawn.twin }
}

impl Draw<'_> {
    /// Draws inputs, outputs and locals.
    fn declare(&mut self) {
        for k in 0..1 + self.rng.index(3) {
            let shape = self.shape(3);
            self.add(format!("A{k}"), Role::Input, shape, Usage::Input);
        }
        for k in 0..self.rng.index(3) {
            let shape = if self.rng.chance(75) { vec![self.any_size()] } else { Vec::new() };
            let below = (self.any_size() + self.rng.below(2)).max(1);
            let input = self.add(format!("I{k}"), Role::Input, shape, Usage::Input);
            let tensor = &mut self.tensors[input];
            (tensor.dtype, tensor.fill, tensor.below) = (DType::I64, Scalar::I64(0), Some(below));
        }
        for k in 0..1 + self.rng.index(2) {
            let (rank, usage) = match self.rng.below(10) {
                0..=1 => (0, Usage::Free),
                2..=3 => (1 + self.rng.index(2), Usage::Free),
                4..=5 => (1 + self.rng.index(2), Usage::Table),
                _ => (1 + self.rng.index(3).min(1 + self.rng.index(2)), Usage::Appended),
            };
            let shape = (0..rank).map(|_| self.any_size()).collect();
            let output = self.add(format!("Y{k}"), Role::Output, shape, usage);
            if rank > 0 && self.rng.chance(8) {
                let form = |text| read_one(text).expect("well-formed");
                let tensor = &mut self.tensors[output];
                tensor.dtype = read_dtype(&form("(struct (value f64) (coordinate i64))")).expect("a dtype");
                tensor.fill = read_value(&tensor.dtype, &form("(inf 9223372036854775807)")).expect("a value");
            }
            self.tensors[output].once = self.rng.chance(12);
        }
        for k in 0..self.rng.index(3) {
            let shape = if self.rng.chance(60) { Vec::new() } else { vec![self.any_size()] };
            self.add(format!("W{k}"), Role::Local, shape, Usage::Free);
        }
    }

    /// Adds a tensor with a random dtype and fill value; returns its index.
    pub(super) fn add(&mut self, name: String, role: Role, shape: Vec<u64>, usage: Usage) -> usize {
        let prims =
            [Prim::F64, Prim::F64, Prim::F64, Prim::I64, Prim::I64, Prim::I64, Prim::Bool, Prim::F32, Prim::I32];
        let prim = if self.rng.chance(8) { *self.rng.pick(&[Prim::U8, Prim::I8]) } else { *self.rng.pick(&prims) };
        let fill = match self.rng.below(10) {
            0..=6 => Scalar::zero(prim),
            7 => Scalar::one(prim),
            _ => self.small(prim),
        };
        let order = (0..shape.len()).collect();
        let order = if self.rng.chance(70) { order } else { self.rng.shuffled(order) };
        let dtype = DType::Prim(prim);
        self.tensors.push(Drawn {
            name,
            role,
            shape,
            dtype,
            fill,
            below: None,
            usage,
            order,
            once: false,
            outside: false,
            single: false,
            twin: None,
            done: false,
        });
        self.tensors.len() - 1
    }

    /// Draws a small whole number of the given primitive.
    pub(super) fn small(&mut self, prim: Prim) -> Scalar {
        let low = if prim.is_signed() || prim.is_float() { -2 } else { 0 };
        Scalar::I64(low + self.rng.below(6) as i64).cast(prim).expect("a primitive")
    }

    pub(super) fn any_size(&mut self) -> u64 {
        *self.rng.pick(&self.sizes)
    }

    fn shape(&mut self, most: usize) -> Vec<u64> {
        let rank = [0, 1, 1, 1, 1, 2, 2, 2, 2, 3][self.rng.index(10)].min(most);
        (0..rank).map(|_| self.any_size()).collect()
    }

    /// Returns an unused name for a loop, variable or local.
    pub(super) fn fresh(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    /// Draws all statements. A nest of its own writes each output, and general statements come
    /// between.
    fn statements(&mut self) -> String {
        let outputs: Vec<usize> = (0..self.tensors.len()).filter(|t| self.tensors[*t].role == Role::Output).collect();
        let mut text = Vec::new();
        let mut todo = self.rng.shuffled(outputs);
        let mut general = self.rng.below(2);
        while !todo.is_empty() || general > 0 {
            if general > 0 && (todo.is_empty() || self.rng.chance(50)) {
                general -= 1;
                let scope = self.top(None);
                text.push(if self.rng.chance(12) { self.buffers(&scope) } else { self.statement(&scope) });
                continue;
            }
            let Some(output) = todo.pop() else { break };
            self.budget = self.budget.max(3);
            let scope = self.top(Some(output));
            text.push(match (self.tensors[output].usage, self.tensors[output].once) {
                (Usage::Appended, _) | (_, true) => self.home(output, &scope),
                _ => self.writing(output, &scope),
            });
        }
        text.retain(|t| !t.is_empty());
        text.join("\n")
    }

    /// Returns the scope of a nest: the given output may be written, and other tensors are readable
    /// or writable as their use allows.
    fn top(&mut self, output: Option<usize>) -> Scope {
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for k in 0..self.tensors.len() {
            let tensor = &self.tensors[k];
            match tensor.usage {
                Usage::Input => drop(reads.insert(k)),
                // Locals of templates are not visible elsewhere.
                _ if tensor.role == Role::Local && tensor.done => {}
                _ if tensor.once || tensor.usage == Usage::Appended => {
                    if output == Some(k) {
                        writes.insert(k);
                    } else if tensor.done {
                        reads.insert(k);
                    }
                }
                Usage::Free => {
                    reads.insert(k);
                    writes.insert(k);
                }
                _ if output == Some(k) || self.rng.chance(50) => drop(writes.insert(k)),
                _ => drop(reads.insert(k)),
            }
        }
        Scope { reads, writes, ..Scope::default() }
    }
}
