//! The kinds of levels and their traits: one list that verifiers, optimizer and storage read.
//!
//! Only `redpoll-storage` knows the arrays of each kind, and only `redpoll-compiler` knows the code
//! that iterates over the arrays. The list says where in a format a kind may occur, how its fibers
//! are read and how they are written. Code that names a kind creates or recognizes only that kind,
//! and needs no change when a kind is added.

/// The method that finds a given coordinate in a fiber.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lookup {
    /// Constant-time access, in any loop order.
    Direct,
    /// A search of the fiber, which must be ordered and unique.
    Search,
    /// No lookup: the fiber must be walked.
    Unsupported,
}

/// The method by which a level takes writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WriteMethod {
    /// Writes fiber by fiber, each coordinate once, in ascending order.
    Append,
    /// Writes in any order, each at the position of its coordinate.
    Array,
    /// Writes in any order, each at the position of its coordinate, with a flag that marks the
    /// coordinate as stored.
    Flags {
        /// True if the level lists the written coordinates of all fibers; freeze sorts the list.
        listed: bool,
    },
    /// Writes in any order, into a hash table that freeze sorts.
    HashTable,
}

impl WriteMethod {
    /// Returns whether coordinates may be written in any order, and each repeatedly.
    pub fn is_random(self) -> bool {
        self != WriteMethod::Append
    }
}

/// The method by which a walk reaches the next stored coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WalkStep {
    /// The next element of `idx`, without a further test.
    Element,
    /// Any other step, such as one that tests for the end of a block or run, for a flag, or for
    /// padding.
    Other,
}

/// Properties common to all fibers of a level kind: TACO's level properties, and how fibers are
/// read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelTraits {
    /// Name in text forms, such as `sparse-list`.
    pub name: &'static str,
    /// True if the kind may occur below any level and can store any set of coordinates.
    pub general: bool,
    /// True if every coordinate is stored.
    pub full: bool,
    /// True if each position of the level above has exactly one position in this level (no `ptr`).
    pub branchless: bool,
    /// True if positions have no gaps, and each position belongs to one coordinate.
    pub compact: bool,
    /// True if a fiber need not store a coordinate that has the fill value. Otherwise a fiber
    /// stores all coordinates of a range, even where the value is the fill value. The range is the
    /// whole dimension, or extends from the first to the last coordinate with another value.
    pub explicit: bool,
    /// True if one position represents all coordinates of a run, which have equal children.
    pub runs: bool,
    /// True if a fiber has at most one entry, or one run.
    pub single: bool,
    /// True if the flags of the level may allow unordered or repeated coordinates.
    pub flexible: bool,
    /// Method that finds a given coordinate.
    pub lookup: Lookup,
    /// Method by which the level is written.
    pub writes: WriteMethod,
    /// Method by which a walk reaches the next stored coordinate.
    pub step: WalkStep,
}

/// Base traits of kinds that list coordinates: written by appending, looked up by search.
const LIST: LevelTraits = LevelTraits {
    name: "",
    general: true,
    full: false,
    branchless: false,
    compact: true,
    explicit: true,
    runs: false,
    single: false,
    flexible: false,
    lookup: Lookup::Search,
    writes: WriteMethod::Append,
    step: WalkStep::Other,
};

/// Base traits of kinds with constant-time reads and writes of any coordinate.
const TABLE: LevelTraits = LevelTraits { lookup: Lookup::Direct, writes: WriteMethod::Array, ..LIST };

/// Base traits of kinds that store runs: written by appending, looked up by search.
const RUNS: LevelTraits = LevelTraits { compact: false, runs: true, ..LIST };

/// Calls the macro `$with` with the list of level kinds. The enum, the traits and the registries of
/// other crates are generated from the list.
///
/// A row is the documentation, the name in Rust, the name in text forms, the base traits, and the
/// traits that differ from the base. [`LevelKind::all`] returns the kinds in the order of the rows.
/// Random tests draw kinds by their index in this order, so append new rows.
#[doc(hidden)]
#[macro_export]
macro_rules! level_kinds {
    ($with:ident) => {
        $with! {
            /// Every coordinate is stored: in fiber `p` of dimension `n`, the child of coordinate
            /// `i` is at position `p * n + i`.
            Dense "dense" = TABLE { full: true, explicit: false };

            /// Lists of stored coordinates, `idx[ptr[p]..ptr[p + 1]]` for fiber `p` (compressed).
            SparseList "sparse-list" = LIST { flexible: true, step: WalkStep::Element };

            /// One coordinate per position, `idx[p]`; used for the inner modes of COO.
            Singleton "singleton" = LIST {
                general: false,
                branchless: true,
                flexible: true,
                lookup: Lookup::Unsupported,
                step: WalkStep::Element,
            };

            /// Stored coordinates in a hash table, sorted by freeze; takes random writes.
            Hash "hash" = TABLE { writes: WriteMethod::HashTable };

            /// One byte per coordinate that marks it as stored, and the sorted list of stored
            /// coordinates; takes random writes.
            ByteMap "byte-map" = TABLE { compact: false, writes: WriteMethod::Flags { listed: true } };

            /// Blocks of adjacent stored coordinates (VBL): the last coordinate of each block in
            /// `idx`, the positions of its values in `ofs`.
            BlockList "block-list" = LIST {};

            /// One block of adjacent coordinates per fiber, from the first stored coordinate to the
            /// last.
            Band "band" = LIST { explicit: false, lookup: Lookup::Direct };

            /// Runs of coordinates with equal children, one position per run, that cover the whole
            /// dimension. Run `q` ends before coordinate `right[q]`, where the next run begins.
            RunLength "run-length" = RUNS { full: true, explicit: false };

            /// Runs of coordinates with equal children, one position per run: `left[q]..right[q]`.
            /// Coordinates between runs are not stored.
            SparseRunLength "sparse-run-length" = RUNS {};

            /// At most one run of coordinates with equal children per fiber: `left[p]..right[p]`.
            Interval "interval" = RUNS {
                general: false,
                branchless: true,
                single: true,
                lookup: Lookup::Direct,
            };

            /// One bit per coordinate that marks it as stored; takes random writes.
            BitMap "bit-map" = TABLE { compact: false, writes: WriteMethod::Flags { listed: false } };

            /// At most one coordinate per fiber: `idx[p]`, equal to the dimension in an empty
            /// fiber.
            Pinpoint "pinpoint" = LIST {
                general: false,
                branchless: true,
                compact: false,
                single: true,
                lookup: Lookup::Direct,
            };

            /// The stored coordinates of each fiber, in lists of one length for all fibers (ELL).
            /// The rest of a list has the dimension in place of coordinates.
            FixedWidth "fixed-width" = LIST { compact: false };
        }
    };
}

/// Defines [`LevelKind`], and the kinds with their traits, from the list.
macro_rules! define_level_kind {
    ($($(#[$doc:meta])* $kind:ident $name:literal = $base:ident { $($field:ident: $value:expr),* $(,)? };)*) => {
        /// The kinds of levels.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum LevelKind {
            $($(#[$doc])* $kind,)*
        }

        /// The kinds, in the order of declaration.
        const KINDS: &[LevelKind] = &[$(LevelKind::$kind),*];

        /// The traits of the kinds, in the same order.
        const TRAITS: &[LevelTraits] = &[$(LevelTraits { name: $name, $($field: $value,)* ..$base }),*];
    };
}

level_kinds!(define_level_kind);

impl LevelKind {
    /// Returns all kinds.
    pub fn all() -> impl Iterator<Item = LevelKind> {
        KINDS.iter().copied()
    }

    /// Returns the kinds that may occur below any level and can store any set of coordinates.
    pub fn general() -> impl Iterator<Item = LevelKind> {
        LevelKind::all().filter(|kind| kind.traits().general)
    }

    /// Returns the traits of the kind.
    pub fn traits(self) -> &'static LevelTraits {
        &TRAITS[self as usize]
    }

    /// Returns the kind with the given name; `None` if no kind has that name.
    pub fn from_name(name: &str) -> Option<LevelKind> {
        LevelKind::all().find(|kind| kind.traits().name == name)
    }
}

/// A level of a format: its kind and its flags.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LevelFormat {
    /// Kind of the level.
    pub kind: LevelKind,
    /// True if the coordinates of a fiber never decrease.
    pub ordered: bool,
    /// True if the coordinates of a fiber never repeat. A non-unique level yields groups of equal
    /// coordinates, and passes ranges of positions to the level below.
    pub unique: bool,
}

impl LevelFormat {
    /// Creates an ordered and unique level of the given kind.
    pub fn new(kind: LevelKind) -> LevelFormat {
        LevelFormat { kind, ordered: true, unique: true }
    }

    /// Returns the level with repeated coordinates allowed.
    pub fn non_unique(self) -> LevelFormat {
        LevelFormat { unique: false, ..self }
    }

    /// Returns the method that finds a given coordinate in a fiber of this level.
    pub fn lookup(self) -> Lookup {
        match self.kind.traits().lookup {
            Lookup::Search if !self.ordered || !self.unique => Lookup::Unsupported,
            lookup => lookup,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that each kind is found by its name, and that no other kind has that name.
    #[test]
    fn kinds_have_unique_names() {
        for kind in LevelKind::all() {
            assert_eq!(LevelKind::from_name(kind.traits().name), Some(kind));
            assert_eq!(LevelKind::all().filter(|other| other.traits().name == kind.traits().name).count(), 1);
        }
    }
}
