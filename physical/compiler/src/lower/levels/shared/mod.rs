//! Parts of the lowering of levels that several kinds share.

mod backward;
pub(crate) mod join;
pub(crate) mod list;
pub(crate) mod runs;
