//! Tests of several backends: functions of Assembly, lowered programs over tensors, tensors on lost
//! devices, and the division of lists into sections.

pub(crate) mod assembly;
mod lost;
pub(crate) mod lowering;
mod sections;
