//! Test inputs with their data, and the comparison of a physical plan with its Logic plan.

use redpoll_logic::interp::{self, Exactness};
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::physical::interp::{DenseTensor, interpret};
use redpoll_logic::physical::verify::verify;
use redpoll_logic::statistics::{Answer, Fact, PositionCounts, Question, StatisticsSource};
use redpoll_logic::{Alias, DType, FloatMode, Format, Plan, Scalar, TensorType};
use std::collections::HashMap;

/// An input: name, type and statistics.
#[derive(Clone)]
pub(crate) struct InputSpec {
    pub(crate) name: String,
    pub(crate) ty: TensorType,
    /// The number of positions of the last sparse level, for the statistics; `None` if unknown.
    pub(crate) stored: Option<f64>,
    pub(crate) symmetry: InputSymmetry,
}

/// Symmetry of a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputSymmetry {
    /// No symmetry in the statistics.
    None,
    /// Symmetric, with a diagonal of fills.
    OffDiagonal,
    /// Symmetric, with any diagonal.
    WithDiagonal,
}

/// The statistics of inputs.
pub(crate) struct InputStatistics {
    counts: PositionCounts,
    symmetric: HashMap<Alias, InputSymmetry>,
}

impl StatisticsSource for InputStatistics {
    fn answer(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Option<Answer> {
        self.counts.answer(tensor, ty, question)
    }

    fn has_fact(&self, tensor: &Alias, _: &TensorType, fact: Fact) -> bool {
        match self.symmetric.get(tensor) {
            None | Some(InputSymmetry::None) => false,
            Some(InputSymmetry::OffDiagonal) => true,
            Some(InputSymmetry::WithDiagonal) => matches!(fact, Fact::Symmetric(..)),
        }
    }
}

/// Returns an input with this fill and the fill's dtype.
pub(crate) fn filled(name: &str, shape: &[u64], format: Format, fill: Scalar) -> InputSpec {
    InputSpec {
        name: name.to_owned(),
        ty: TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format },
        stored: None,
        symmetry: InputSymmetry::None,
    }
}

/// Returns a tensor that the seed determines. About a third of its values are small integers, or
/// all if its format is dense; the other values are fills. A tensor of structs has only fills.
pub(crate) fn data(ty: &TensorType, seed: u64) -> DenseTensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 20
    };
    let coordinate_count = ty.shape.iter().product::<u64>();
    let is_dense = ty.format.is_dense();
    let values = (0..coordinate_count).map(|_| {
        let (is_stored, value) = (is_dense || next() % 3 == 0, next() % 5);
        match (&ty.dtype, is_stored) {
            (_, false) => ty.fill.clone(),
            (DType::Prim(p), true) => Scalar::I64(value as i64).cast(*p).unwrap(),
            (DType::Struct(_), true) => ty.fill.clone(),
        }
    });
    DenseTensor { shape: ty.shape.clone(), values: values.collect() }
}

/// Returns the values of an input.
fn values(input: &InputSpec, seed: u64) -> DenseTensor {
    let mut data = data(&input.ty, seed);
    if input.symmetry != InputSymmetry::None {
        let is_off_diagonal = input.symmetry == InputSymmetry::OffDiagonal;
        let n = input.ty.shape[0] as usize;
        for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            let value = if i == j && is_off_diagonal { input.ty.fill.clone() } else { data.values[i * n + j].clone() };
            data.values[j * n + i] = value.clone();
            data.values[i * n + j] = value;
        }
    }
    data
}

/// Returns the statistics of inputs.
pub(crate) fn input_statistics(inputs: &[InputSpec]) -> InputStatistics {
    let mut counts = PositionCounts::default();
    for i in inputs {
        let Some(stored) = i.stored else { continue };
        let sizes = i.ty.format.storage_shape(&i.ty.shape);
        let (mut coordinate_count, mut positions) = (1.0, 1.0);
        let answers = sizes.iter().zip(&i.ty.format.levels).map(|(&n, level)| {
            coordinate_count *= n as f64;
            positions *= n as f64;
            if level.kind != redpoll_logic::LevelKind::Dense {
                positions = positions.min(stored);
            }
            Answer::new(positions, coordinate_count)
        });
        counts.insert(i.name.as_str().into(), answers.collect());
    }
    let symmetric = inputs.iter().map(|i| (i.name.as_str().into(), i.symmetry)).collect();
    InputStatistics { counts, symmetric }
}

/// Asserts that the physical plan is valid, and that the physical plan and the Logic plan have
/// equal results on several data sets, up to the error bounds.
pub(crate) fn compare(plan: &Plan, physical: &PhysicalPlan, inputs: &[InputSpec], mode: FloatMode) {
    verify(physical).unwrap_or_else(|e| panic!("{e}\n{physical}"));
    for seed in 1..4 {
        let tensors: HashMap<Alias, DenseTensor> =
            inputs.iter().zip(0..).map(|(i, k)| (i.name.as_str().into(), values(i, seed * 100 + k))).collect();
        let found = interpret(physical, &tensors, mode).unwrap_or_else(|e| panic!("{e}\n{physical}"));
        let expected = interp::interpret(plan, &tensors, mode).unwrap_or_else(|e| panic!("{e}\n{physical}"));
        for alias in &plan.produces {
            assert_eq!(expected[alias].shape, found[alias].shape, "{alias}\n{physical}");
            let compared = expected[alias].compare(&found[alias].values, Exactness::Bounded);
            compared.unwrap_or_else(|e| panic!("{alias}: {e}, seed {seed}\n{physical}"));
        }
    }
}
