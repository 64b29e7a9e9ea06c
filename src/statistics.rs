//! What the optimizer is told of bound tensors.

use crate::session::Bindings;
use redpoll_logic::statistics::{Answer, Fact, Hop, ModeSet, Question, StatisticsSource, Weights};
use redpoll_logic::{Alias, TensorType};
use redpoll_physical::levels::level;
use redpoll_physical::storage::{Tensor, connected};

/// What the optimizer is told of the inputs of a plan.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// What is true of the tensors that are bound.
    Measured,
    /// Numbers of positions, true or not.
    #[cfg(test)]
    Counts(redpoll_logic::statistics::PositionCounts),
}

impl Told {
    /// Where that comes from.
    pub(crate) fn source<'a>(&'a self, bindings: &'a Bindings) -> Box<dyn StatisticsSource + 'a> {
        match self {
            Told::Measured => Box::new(Measured(bindings)),
            #[cfg(test)]
            Told::Counts(counts) => Box::new(counts.clone()),
        }
    }
}

/// Statistics of bound tensors: numbers of positions are read off the ends of arrays and cost nothing; the rest takes a pass
/// over a tensor when it is asked for, and is kept with it.
struct Measured<'a>(&'a Bindings);

impl StatisticsSource for Measured<'_> {
    fn answer(&self, tensor: &Alias, _: &TensorType, question: Question) -> Option<Answer> {
        let tensor = self.0.get(tensor.as_str())?;
        match question {
            Question::Positions(levels) => positions(tensor).get(levels.checked_sub(1)?).copied().map(Answer::exact),
            Question::Distinct(modes) => tensor.distinct(modes).map(Answer::exact),
            Question::Degree { of, given } => tensor.degree(of, given),
        }
    }

    fn marginal(&self, tensor: &Alias, _: &TensorType, of: ModeSet, mode: usize) -> Option<Weights> {
        self.0.get(tensor.as_str())?.marginal(of, mode)
    }

    fn connected(&self, path: &[Hop]) -> Option<f64> {
        let links = path.iter().map(|hop| self.0.get(hop.tensor.as_str())?.links(hop.from, hop.to));
        connected(&links.collect::<Option<Vec<_>>>()?)
    }

    fn holds(&self, tensor: &Alias, _: &TensorType, fact: Fact) -> bool {
        self.0.get(tensor.as_str()).is_some_and(|tensor| tensor.holds(fact))
    }
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
