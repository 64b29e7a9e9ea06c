//! The level kinds, one file each, and a registry that a macro generates from the list of kinds.
//!
//! A level stores the fibers of one storage mode. A fiber belongs to a half-open range of positions
//! of the parent level, which has length one if the parent level is unique. The positions of the
//! level itself are called own positions. The level maps each stored coordinate of a fiber to one
//! own position, or to a range of them. Own positions are the parent positions of the next level or
//! of the leaf.
//!
//! A kind has a row in the list of `redpoll_logic`, a file here, and a file in
//! `redpoll_compiler::lower::levels`. The trait [`Level`] describes the arrays of a kind, and
//! checks, builds and enumerates them in Rust. The trait `LevelLowering` of the compiler gives the
//! looplets and the write protocol of a kind.

mod band;
mod bit_map;
mod block_list;
mod byte_map;
mod dense;
mod fixed_width;
mod hash;
mod interval;
mod level;
mod pinpoint;
mod run_length;
mod shared;
mod singleton;
mod sparse_list;
mod sparse_run_length;

pub use band::Band;
pub use bit_map::BitMap;
pub use block_list::BlockList;
pub use byte_map::ByteMap;
pub use dense::Dense;
pub use dense::full_positions;
pub use fixed_width::FixedWidth;
pub use hash::{Hash, hash_slot, table_len};
pub use interval::Interval;
pub use level::{
    ArrayClass, ArraySpec, Concatenation, CoordinateRun, Level, LevelData, RunLevel, array_prim, can_store,
};
pub use pinpoint::Pinpoint;
pub use run_length::RunLength;
pub use shared::fibers::Fibers;
pub use singleton::Singleton;
pub use sparse_list::SparseList;
pub use sparse_run_length::SparseRunLength;

pub use shared::list::lower_bound;

use redpoll_logic::{Format, LevelFormat, LevelKind};
use std::borrow::Cow;

/// Defines `level` from the list of kinds: the type of a level has the name of its kind.
macro_rules! registry {
    ($($(#[$doc:meta])* $kind:ident $name:literal = $base:ident { $($traits:tt)* };)*) => {
        /// Returns the level of a kind.
        pub fn level(kind: LevelKind) -> &'static dyn Level {
            match kind {
                $(LevelKind::$kind => &$kind,)*
            }
        }
    };
}

redpoll_logic::level_kinds!(registry);

/// Returns the format that kernels write instead of the given format: each level has its
/// [`Level::kernel_kind`], if any.
pub fn kernel_format(format: &Format) -> Cow<'_, Format> {
    let in_kernel = |l: &LevelFormat| LevelFormat { kind: level(l.kind).kernel_kind().unwrap_or(l.kind), ..*l };
    if format.levels.iter().all(|l| in_kernel(l) == *l) {
        return Cow::Borrowed(format);
    }
    Cow::Owned(Format { levels: format.levels.iter().map(in_kernel).collect(), ..format.clone() })
}
