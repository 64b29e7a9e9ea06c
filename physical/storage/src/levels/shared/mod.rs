//! Parts of the storage of levels that several kinds share.

pub(crate) mod blocks;
pub(crate) mod fibers;
pub(crate) mod list;
pub(crate) mod runs;
