//! What the optimizer is told of bound tensors: the exact numbers of positions below each of their levels.

use crate::session::Bindings;
use redpoll_logic::statistics::{Answer, PositionCounts};
use redpoll_physical::levels::level;
use redpoll_physical::storage::Tensor;

/// The position counts of all bound tensors. They are read off the ends of arrays, so they cost nothing.
pub(crate) fn position_counts(bindings: &Bindings) -> PositionCounts {
    let mut counts = PositionCounts::default();
    for (name, tensor) in bindings.iter() {
        counts.insert(name.clone(), positions(tensor).into_iter().map(Answer::exact).collect());
    }
    counts
}

/// The numbers of positions below the first 1, 2, .. levels.
pub(crate) fn positions(tensor: &Tensor) -> Vec<u64> {
    let below = |above: &mut u64, k: usize| {
        let data = tensor.level(k);
        let entries = level(data.format.kind).entries(data, *above);
        *above = entries.end.saturating_sub(entries.start);
        Some(*above)
    };
    (0..tensor.levels().len()).scan(1, |above, k| below(above, k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_logic::{Format, Scalar, TensorType};
    use redpoll_physical::storage::Values;

    /// Protects the sizes that loop orders are chosen by.
    #[test]
    fn positions_are_counted_level_by_level() {
        let values: Vec<Scalar> = [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0].map(Scalar::F64).to_vec();
        let cases = [
            (Format::dense(2), vec![3, 9]),
            (Format::csr(), vec![3, 3]),
            (Format::csf(2), vec![2, 3]),
            (Format::coo(2), vec![3, 3]),
            (Format::bcsr(2, 2), vec![2, 3, 6, 12]),
        ];
        for (format, expected) in cases {
            let fill = Scalar::F64(0.0);
            let ty = TensorType { shape: vec![3, 3], dtype: fill.dtype(), fill, format: format.clone() };
            let dense = Values::from_scalars(ty.dtype.clone(), &values).unwrap();
            let tensor = Tensor::from_dense(ty, &dense).unwrap();
            assert_eq!(positions(&tensor), expected, "{format:?}");
        }
    }
}
