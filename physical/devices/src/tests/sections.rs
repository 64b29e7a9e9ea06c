//! Tests that sections divide the stored entries of lists.

use crate::grid::{GridPlan, TeamSize};
use redpoll_compiler::notation::ALL_ROUNDS;
use redpoll_compiler::testing::skewed;
use redpoll_kernels::kernel::{Shares, WorkShare};
use redpoll_kernels::run::Workers;
use std::num::NonZero;

/// Each position of a list is in exactly one chunk. No chunk takes half of all entries or more from
/// a single round.
#[test]
fn sections_have_each_stored_entry_once() {
    let workers = Workers::new(NonZero::new(2).unwrap()).without_grain();
    for text in skewed::PROGRAMS {
        let (draft, inputs) = skewed::draft(text);
        let (cut, plan) = (draft.lowered().cut.as_ref().unwrap(), GridPlan::of(&draft, TeamSize::Automatic));
        let (sections, inputs) = (plan.sections.unwrap(), inputs.iter().collect::<Vec<_>>());
        let tensor = inputs[sections.input];
        let chunks =
            Shares::of(&draft, cut, &inputs, WorkShare::Threads(&workers)).section_chunks((cut, &sections), &inputs);
        let stored = tensor.count_before(&[tensor.level(0).dimension]);
        let mut positions = Vec::new();
        let mut largest = 0;
        for (rounds, section) in &chunks {
            for round in rounds.start.max(0)..rounds.end.min(cut.rounds.end) {
                let list = tensor.list_below(round as u64);
                let range = list.start.max(section.start.max(0) as u64)..list.end.min(section.end as u64);
                largest = largest.max(tensor.first_leaf_position(range.end) - tensor.first_leaf_position(range.start));
                positions.extend(range);
            }
        }
        assert!(chunks.iter().filter(|(_, section)| *section != ALL_ROUNDS).count() > 1, "{chunks:?}\n{text}");
        assert_eq!(positions, (0..positions.len() as u64).collect::<Vec<_>>(), "{text}");
        assert!(largest * 2 < stored, "{largest} of {stored}\n{text}");
    }
}
