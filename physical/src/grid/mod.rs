//! Grids: functions of Assembly spread over teams of lanes, the form that machines with many threads run.
//!
//! A [`Grid`] says what runs where: which lanes take which rounds of a loop, who stores, where lanes wait for each other,
//! which operations are atomic, and where each buffer lives. [`map`] makes one of a function and decides all of that;
//! generators decide nothing. [`Plan`] has the grids of a lowered program.
//!
//! A grid computes what its function does, with the same bits, over any chunks of the outermost loop, whatever the teams and
//! however they are run; floats that the rounds of a shared loop fold are grouped by lanes, in an order of their own.
//! [`verify`] says what that rests on, and the interpreter runs it in random orders and reports races.

mod affine;
mod barriers;
mod count;
mod independent;
mod interp;
mod known;
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

pub(crate) use interp::{Contents, End, Extent, Gather, Launch, Launched, Left, Piece, Runner, stored};
pub use interp::{Fault, Program};
pub use lists::Lists;
pub use map::{MOST_LANES, WARP, map, map_to};
pub use nodes::{Folded, Grid, Place, Side, Stmt, Writer, serial};
pub use plan::{Lanes, Plan};
pub use rounds::Walks;
pub(crate) use shares::{share_bytes, shares};
pub use verify::verify;
