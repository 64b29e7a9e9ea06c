//! Grids: Assembly functions spread over teams of lanes, the form for machines with many threads.
//!
//! A [`Grid`] specifies the lanes that take each round of a loop, the lanes that store, the
//! barriers, the atomic operations, and the memory space of each buffer. [`GridPlan`] has the grids
//! of a lowered program. It decides on memory spaces, on rounds that are cut into sections, on the
//! numbers of lanes of lists, and on the interchange of loops. [`map`] makes the other decisions
//! when it turns a function into a grid; generators decide nothing.
//!
//! For given chunks of the outermost loop, a grid computes the results of its function with the
//! same bits, for any number of teams and any schedule. Only the folds of floats in a spread loop
//! are grouped by lane, in an order of their own. [`verify`] lists the rules behind this guarantee.
//! The interpreter runs grids in random orders and reports races.

mod affine;
mod appends;
mod barriers;
mod constants;
mod count;
mod extension;
mod independence;
mod interchange;
mod interp;
mod lists;
mod map;
mod nodes;
mod plan;
mod rounds;
mod sections;
mod shares;
#[cfg(test)]
mod tests;
mod text;
mod verify;

pub(crate) use appends::{AppendingRounds, Branch};
pub(crate) use interp::{
    Contents, Gather, GatherPiece, GridRunner, Launch, LaunchOutcome, LaunchResult, ResultWindow, WindowExtent,
};
pub use interp::{GridFault, GridProgram};
pub use map::{MAX_TEAM_LANES, WARP, map, map_to};
pub use nodes::{ActiveLanes, Grid, MemorySpace, RoundCounter, RoundFold, SectionBound, Stmt, TeamStmt, to_serial};
pub use plan::{GridPlan, TeamSize};
pub use rounds::Walks;
pub(crate) use shares::{share_bytes, shares};
pub use verify::verify;
