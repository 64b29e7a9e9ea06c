//! Notation: in which loops a query is computed.
//!
//! A [`Program`] is a statement over tensors that are accessed by index: loops, conditions, lifecycles (declare, freeze,
//! thaw) and assignments. It says nothing of how tensors are stored; lowering (`crate::lower`) does that with looplets.

mod nodes;

pub use nodes::*;
