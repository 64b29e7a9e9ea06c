//! Tests of compiled code on every backend: functions of Assembly, and lowered programs over
//! tensors.

pub(crate) mod assembly;
mod lost;
pub(crate) mod lowering;
mod sections;
