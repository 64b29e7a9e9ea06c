//! The text of small grids, to be reviewed like code (`UPDATE_EXPECT=1` rewrites it), and its compilation by NVRTC.

mod golden;
mod nvrtc;

use crate::grid::{Grid, Lanes, Plan};
use crate::lower::{Options, lower};
use crate::testing::normal_form;

/// The grids of a program.
fn grids(text: &str) -> Vec<Grid> {
    let program = normal_form(text);
    let plan = Plan::of(&program, &lower(&program, &[], Options::default()), Lanes::AsUseful);
    plan.count.into_iter().chain([plan.run]).collect()
}
