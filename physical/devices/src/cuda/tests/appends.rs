//! Tests of the generated text of appends, which runs on the host in teams of several sizes.

use super::emulated::{EmulationOptions, check_with_options};
use crate::grid::TeamSize;
use crate::tests::lowering::appends::PROGRAMS;
use redpoll_compiler::testing::skewed;

/// Lanes append in order, within a warp and across warps, to windows that move out of the memory of
/// their blocks.
#[test]
fn lanes_append_in_order_on_the_host() {
    let drafts: Vec<_> = PROGRAMS.iter().map(|text| skewed::draft(text)).collect();
    check_with_options(&drafts, EmulationOptions::default());
    for lanes in [1, 2, 4, 32, 64, 256] {
        check_with_options(
            &drafts,
            EmulationOptions { team_size: TeamSize::Exact(lanes), ..EmulationOptions::default() },
        );
    }
}
