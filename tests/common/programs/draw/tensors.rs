//! Random tensors, and the sequence of passes that draws a program.

use super::formats::{draw_formats, draw_values};
use super::schedule::{draw_schedule, omit_ranges};
use super::statements::StatementScope;
use super::{FormatConstraints, ProgramCase, ProgramConfig, ProgramTensor, Usage};
use redpoll_compiler::notation::Role;
use redpoll_logic::literal::{read_dtype, read_value};
use redpoll_logic::sexpr::{read, read_one};
use redpoll_logic::testing::Rng;
use redpoll_logic::{DType, FloatMode, Format, Prim, Scalar, TensorType};
use std::collections::BTreeSet;

/// A tensor of a program that is being drawn.
#[derive(Clone, Debug)]
pub(super) struct TensorDraft {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) shape: Vec<u64>,
    pub(super) dtype: DType,
    pub(super) fill: Scalar,
    /// Exclusive upper bound of the values of an input that contains coordinates.
    pub(super) upper_bound: Option<u64>,
    pub(super) usage: Usage,
    /// The modes in storage order.
    pub(super) order: Vec<usize>,
    /// Set when each coordinate is written at most once, by `init`.
    pub(super) written_once: bool,
    pub(super) has_outside: bool,
    pub(super) is_single: bool,
    /// Name of the tensor with which this tensor is swapped.
    pub(super) swapped_with: Option<String>,
    /// Set when all writes are drawn, or when only one template uses the tensor.
    pub(super) is_complete: bool,
}

impl TensorDraft {
    pub(super) fn prim(&self) -> Option<Prim> {
        self.dtype.prim()
    }
}

/// A program that is being drawn.
pub(super) struct ProgramDraft<'a> {
    pub(super) rng: Rng,
    pub(super) config: &'a ProgramConfig,
    /// The available dimensions.
    pub(super) sizes: Vec<u64>,
    pub(super) tensors: Vec<TensorDraft>,
    /// Number of names given to loops, variables and locals.
    pub(super) names: usize,
    /// Number of statements left to draw.
    pub(super) budget: u64,
    /// Set while a computed subscript is drawn.
    pub(super) subscript: bool,
    /// Set if the program computes with `u8` in place of some `i64`, so that sums wrap around.
    pub(super) is_narrow: bool,
}

/// Draws the case of a seed. One program in 16 computes with narrow integers.
pub fn random_case(seed: u64, config: &ProgramConfig) -> ProgramCase {
    let mut rng = Rng::new(seed ^ 0x9706_7a35);
    let mode = if rng.chance(25) { FloatMode::StrictIeee } else { FloatMode::Relaxed };
    let sizes = (0..3).map(|_| draw_dimension(&mut rng, config.max_dimension)).collect();
    let budget = config.statements / 2 + rng.below(config.statements);
    let is_narrow = seed % 16 == 5;
    let (tensors, names, subscript) = (Vec::new(), 0, false);
    let mut draft = ProgramDraft { rng, config, sizes, tensors, names, budget, subscript, is_narrow };
    let contraction = draft.rng.chance(config.contractions);
    let body = if contraction {
        draft.contraction()
    } else {
        draft.declare();
        draft.statements()
    };
    let body = read(&body).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{body}"));
    let ProgramDraft { mut rng, tensors, .. } = draft;
    let mut case = ProgramCase {
        tensors: tensors.into_iter().map(|t| tensor(&mut rng, t)).collect(),
        body,
        schedule: Vec::new(),
        implied_ranges: Vec::new(),
        mode,
    };
    draw_formats(&mut rng, &mut case);
    if rng.chance(50) {
        omit_ranges(&mut rng, &mut case);
    }
    if contraction || rng.chance(config.scheduled) {
        draw_schedule(&mut rng, &mut case);
    }
    case
}

fn draw_dimension(rng: &mut Rng, max_dimension: u64) -> u64 {
    match rng.below(20) {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        _ => 3 + rng.below(max_dimension.saturating_sub(2).max(1)),
    }
}

fn tensor(rng: &mut Rng, draft: TensorDraft) -> ProgramTensor {
    let format = Format::dense(draft.shape.len());
    let ty = TensorType { shape: draft.shape, dtype: draft.dtype, fill: draft.fill, format };
    let values = if draft.role == Role::Input { draw_values(rng, &ty, draft.upper_bound) } else { Vec::new() };
    let mut order = [0, 1, 2];
    order[..draft.order.len()].copy_from_slice(&draft.order);
    let constraints = FormatConstraints {
        usage: draft.usage,
        has_outside: draft.has_outside,
        is_single: draft.is_single,
        written_once: draft.written_once,
        order,
    };
    ProgramTensor { name: draft.name, role: draft.role, ty, values, constraints, swapped_with: draft.swapped_with }
}

impl ProgramDraft<'_> {
    /// Draws inputs, outputs and locals.
    fn declare(&mut self) {
        for k in 0..1 + self.rng.index(3) {
            let shape = self.shape(3);
            self.add(format!("A{k}"), Role::Input, shape, Usage::Input);
        }
        for k in 0..self.rng.index(3) {
            let shape = if self.rng.chance(75) { vec![self.pick_size()] } else { Vec::new() };
            let below = (self.pick_size() + self.rng.below(2)).max(1);
            let input = self.add(format!("I{k}"), Role::Input, shape, Usage::Input);
            let tensor = &mut self.tensors[input];
            (tensor.dtype, tensor.fill, tensor.upper_bound) = (DType::I64, Scalar::I64(0), Some(below));
        }
        for k in 0..1 + self.rng.index(2) {
            let (rank, usage) = match self.rng.below(10) {
                0..=1 => (0, Usage::Mutable),
                2..=3 => (1 + self.rng.index(2), Usage::Mutable),
                4..=5 => (1 + self.rng.index(2), Usage::Random),
                _ => (1 + self.rng.index(3).min(1 + self.rng.index(2)), Usage::Append),
            };
            let shape = (0..rank).map(|_| self.pick_size()).collect();
            let output = self.add(format!("Y{k}"), Role::Output, shape, usage);
            if rank > 0 && self.rng.chance(8) {
                let form = |text| read_one(text).expect("well-formed");
                let tensor = &mut self.tensors[output];
                tensor.dtype = read_dtype(&form("(struct (value f64) (coordinate i64))")).expect("a dtype");
                tensor.fill = read_value(&tensor.dtype, &form("(inf 9223372036854775807)")).expect("a value");
            }
            self.tensors[output].written_once = self.rng.chance(12);
        }
        for k in 0..self.rng.index(3) {
            let shape = if self.rng.chance(60) { Vec::new() } else { vec![self.pick_size()] };
            self.add(format!("W{k}"), Role::Local, shape, Usage::Mutable);
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
            _ => self.small_constant(prim),
        };
        let order = (0..shape.len()).collect();
        let order = if self.rng.chance(70) { order } else { self.rng.shuffled(order) };
        let dtype = DType::Prim(prim);
        self.tensors.push(TensorDraft {
            name,
            role,
            shape,
            dtype,
            fill,
            upper_bound: None,
            usage,
            order,
            written_once: false,
            has_outside: false,
            is_single: false,
            swapped_with: None,
            is_complete: false,
        });
        self.tensors.len() - 1
    }

    /// Draws a small whole number of the given primitive.
    pub(super) fn small_constant(&mut self, prim: Prim) -> Scalar {
        let low = if prim.is_signed() || prim.is_float() { -2 } else { 0 };
        Scalar::I64(low + self.rng.below(6) as i64).cast(prim).expect("a primitive")
    }

    pub(super) fn pick_size(&mut self) -> u64 {
        *self.rng.pick(&self.sizes)
    }

    fn shape(&mut self, max_rank: usize) -> Vec<u64> {
        let rank = [0, 1, 1, 1, 1, 2, 2, 2, 2, 3][self.rng.index(10)].min(max_rank);
        (0..rank).map(|_| self.pick_size()).collect()
    }

    /// Returns an unused name for a loop, variable or local.
    pub(super) fn new_name(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    /// Draws all statements. Each output has a nest that writes it, and one general statement may
    /// come before, between or after these nests.
    fn statements(&mut self) -> String {
        let outputs: Vec<usize> = (0..self.tensors.len()).filter(|t| self.tensors[*t].role == Role::Output).collect();
        let mut text = Vec::new();
        let mut pending = self.rng.shuffled(outputs);
        let mut general_statements = self.rng.below(2);
        while !pending.is_empty() || general_statements > 0 {
            if general_statements > 0 && (pending.is_empty() || self.rng.chance(50)) {
                general_statements -= 1;
                let scope = self.nest_scope(None);
                text.push(if self.rng.chance(12) { self.swapping_while(&scope) } else { self.statement(&scope) });
                continue;
            }
            let Some(output) = pending.pop() else { break };
            self.budget = self.budget.max(3);
            let scope = self.nest_scope(Some(output));
            text.push(match (self.tensors[output].usage, self.tensors[output].written_once) {
                (Usage::Append, _) | (_, true) => self.appending_nest(output, &scope),
                _ => self.writing_statements(output, &scope),
            });
        }
        text.retain(|t| !t.is_empty());
        text.join("\n")
    }

    /// Returns the scope of a nest: the given output may be written, and other tensors are readable
    /// or writable as their use allows.
    fn nest_scope(&mut self, output: Option<usize>) -> StatementScope {
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for k in 0..self.tensors.len() {
            let tensor = &self.tensors[k];
            match tensor.usage {
                Usage::Input => drop(reads.insert(k)),
                // Locals of templates are not visible elsewhere.
                _ if tensor.role == Role::Local && tensor.is_complete => {}
                _ if tensor.written_once || tensor.usage == Usage::Append => {
                    if output == Some(k) {
                        writes.insert(k);
                    } else if tensor.is_complete {
                        reads.insert(k);
                    }
                }
                Usage::Mutable => {
                    reads.insert(k);
                    writes.insert(k);
                }
                _ if output == Some(k) || self.rng.chance(50) => drop(writes.insert(k)),
                _ => drop(reads.insert(k)),
            }
        }
        StatementScope { reads, writes, ..StatementScope::default() }
    }
}
