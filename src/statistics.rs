//! Statistics of bound tensors for the optimizer.

use crate::bindings::Bindings;
use redpoll_logic::statistics::{Answer, Fact, Hop, ModeSet, Question, StatisticsSource, Weights};
use redpoll_logic::{Alias, TensorType};
use redpoll_storage::estimate_pairs;

/// Source of the statistics of the inputs of a plan.
#[derive(Clone, Debug)]
pub(crate) enum StatisticsInput {
    /// Statistics measured on the bound tensors.
    Tensors,
    /// Given numbers of positions, possibly wrong.
    #[cfg(test)]
    Counts(redpoll_logic::statistics::PositionCounts),
}

impl StatisticsInput {
    /// Returns a source of statistics for the inputs in `bindings`.
    pub(crate) fn source<'a>(&'a self, bindings: &'a Bindings) -> Box<dyn StatisticsSource + 'a> {
        match self {
            StatisticsInput::Tensors => Box::new(TensorStatistics(bindings)),
            #[cfg(test)]
            StatisticsInput::Counts(counts) => Box::new(counts.clone()),
        }
    }
}

/// Statistics of bound tensors. Numbers of positions are read from the ends of arrays at no cost.
/// Other statistics take a pass over a tensor on first use and are cached with the tensor. A tensor
/// that a device has lost has no statistics; the run reports the loss.
struct TensorStatistics<'a>(&'a Bindings);

impl StatisticsSource for TensorStatistics<'_> {
    fn answer(&self, tensor: &Alias, _: &TensorType, question: Question) -> Option<Answer> {
        let tensor = self.0.get(tensor.as_str())?;
        match question {
            Question::Positions(levels) => {
                tensor.level_positions().ok()?.get(levels.checked_sub(1)?).copied().map(Answer::exact)
            }
            Question::Distinct(modes) => tensor.distinct(modes).map(Answer::exact),
            Question::Degree { of, given } => tensor.degree(of, given),
        }
    }

    fn marginal(&self, tensor: &Alias, _: &TensorType, of: ModeSet, mode: usize) -> Option<Weights> {
        self.0.get(tensor.as_str())?.marginal(of, mode)
    }

    fn connected_pairs(&self, path: &[Hop]) -> Option<f64> {
        let links = path.iter().map(|hop| self.0.get(hop.tensor.as_str())?.links(hop.from, hop.to));
        estimate_pairs(&links.collect::<Option<Vec<_>>>()?)
    }

    fn has_fact(&self, tensor: &Alias, _: &TensorType, fact: Fact) -> bool {
        self.0.get(tensor.as_str()).is_some_and(|tensor| tensor.holds(fact))
    }
}
