//! The lowering half of each level kind: its looplets and its write protocol.

mod backward;
mod band;
mod bit_map;
mod block_list;
mod byte_map;
mod dense;
mod fixed_width;
mod hash;
mod interval;
pub(super) mod join;
mod pinpoint;
mod run_length;
mod runs;
mod singleton;
mod sparse_list;
mod sparse_run_length;
