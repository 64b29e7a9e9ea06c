//! The lowering half of each level kind: its looplets and its write protocol.

mod backward;
mod byte_map;
mod dense;
mod hash;
mod singleton;
mod sparse_list;
