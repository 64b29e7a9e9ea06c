//! The lowering of each level kind: its looplets and its write protocol.

mod band;
mod bit_map;
mod block_list;
mod byte_map;
mod dense;
mod fixed_width;
mod hash;
mod interval;
mod pinpoint;
mod run_length;
mod shared;
mod singleton;
mod sparse_list;
mod sparse_run_length;

pub(super) use shared::join::{Comparable, has_joined_fibers};
