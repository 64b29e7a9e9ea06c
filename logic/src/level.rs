//! The kinds of levels and their traits: one table that verifiers, optimizer and storage read.
//!
//! `redpoll-physical` alone knows the arrays of each kind and the code that iterates over them.
//! This table says where in a format a kind may occur, how its fibers can be read and in which
//! order they must be written.

/// The kinds of levels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LevelKind {
    /// Every coordinate is stored: the child of coordinate `i` is at position `p * n + i`.
    Dense,
    /// Lists of stored coordinates, `idx[ptr[p]..ptr[p + 1]]` for fiber `p` (compressed).
    SparseList,
    /// One coordinate per position, `idx[p]`; used for the inner modes of COO.
    Singleton,
    /// Stored coordinates in a hash table, sorted by freeze; takes random writes.
    Hash,
    /// One byte per coordinate that marks it as stored, and the sorted list of stored coordinates;
    /// takes random writes.
    ByteMap,
    /// Blocks of adjacent stored coordinates (VBL): the last coordinate of each block in `idx`, the
    /// positions of its values in `ofs`.
    BlockList,
    /// One block of adjacent coordinates per fiber, from the first stored coordinate to the last.
    Band,
    /// Runs of coordinates with equal children, one position per run, that cover the whole
    /// dimension. Run `q` ends before coordinate `right[q]`, where the next run begins.
    RunLength,
    /// Runs of coordinates with equal children, one position per run: `left[q]..right[q]`.
    /// Coordinates between runs are not stored.
    SparseRunLength,
    /// At most one run of coordinates with equal children per fiber: `left[p]..right[p]`.
    Interval,
    /// One bit per coordinate that marks it as stored; takes random writes.
    BitMap,
    /// At most one coordinate per fiber: `idx[p]`, equal to the dimension in an empty fiber.
    Pinpoint,
    /// The stored coordinates of each fiber, padded with the dimension to the length of the longest
    /// fiber (ELL).
    FixedWidth,
}

/// The method that finds a given coordinate in a fiber.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lookup {
    /// Constant-time access, in any loop order.
    Direct,
    /// A search of the fiber, which must be ordered and unique.
    Search,
    /// No lookup: the fiber must be walked.
    Never,
}

/// The order in which a level takes writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Writes {
    /// Any order; a coordinate may be written repeatedly.
    Random,
    /// Fiber by fiber, each coordinate once, ascending.
    Append,
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
    /// True if each position has exactly one entry below it (no `ptr`).
    pub branchless: bool,
    /// True if positions have no gaps, and each belongs to one coordinate.
    pub compact: bool,
    /// True if a coordinate is stored only for its own value. Otherwise some coordinates are stored
    /// because of their neighbors, and have the fill value.
    pub explicit: bool,
    /// True if one position stands for all coordinates of a run, which have equal children.
    pub runs: bool,
    /// True if a fiber has at most one entry, or one run.
    pub single: bool,
    /// True if the flags of the level may allow unordered or repeated coordinates.
    pub flexible: bool,
    /// Method that finds a given coordinate.
    pub lookup: Lookup,
    /// Order of writes.
    pub writes: Writes,
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
    writes: Writes::Append,
};

/// Base traits of kinds with constant-time reads and writes of any coordinate.
const TABLE: LevelTraits = LevelTraits { lookup: Lookup::Direct, writes: Writes::Random, ..LIST };

/// Base traits of kinds that store runs: written by appending, looked up by search.
const RUNS: LevelTraits = LevelTraits { compact: false, runs: true, ..LIST };

/// The registry: every kind with its traits.
const KINDS: &[(LevelKind, LevelTraits)] = &[
    (LevelKind::Dense, LevelTraits { name: "dense", full: true, explicit: false, ..TABLE }),
    (LevelKind::SparseList, LevelTraits { name: "sparse-list", flexible: true, ..LIST }),
    (
        LevelKind::Singleton,
        LevelTraits {
            name: "singleton",
            general: false,
            branchless: true,
            flexible: true,
            lookup: Lookup::Never,
            ..LIST
        },
    ),
    (LevelKind::Hash, LevelTraits { name: "hash", ..TABLE }),
    (LevelKind::ByteMap, LevelTraits { name: "byte-map", compact: false, ..TABLE }),
    (LevelKind::BlockList, LevelTraits { name: "block-list", ..LIST }),
    (LevelKind::Band, LevelTraits { name: "band", explicit: false, lookup: Lookup::Direct, ..LIST }),
    (LevelKind::RunLength, LevelTraits { name: "run-length", full: true, explicit: false, ..RUNS }),
    (LevelKind::SparseRunLength, LevelTraits { name: "sparse-run-length", ..RUNS }),
    (
        LevelKind::Interval,
        LevelTraits {
            name: "interval",
            general: false,
            branchless: true,
            single: true,
            lookup: Lookup::Direct,
            ..RUNS
        },
    ),
    (LevelKind::BitMap, LevelTraits { name: "bit-map", compact: false, ..TABLE }),
    (
        LevelKind::Pinpoint,
        LevelTraits {
            name: "pinpoint",
            general: false,
            branchless: true,
            compact: false,
            single: true,
            lookup: Lookup::Direct,
            ..LIST
        },
    ),
    (LevelKind::FixedWidth, LevelTraits { name: "fixed-width", compact: false, ..LIST }),
];

impl LevelKind {
    /// Returns all kinds.
    pub fn all() -> impl Iterator<Item = LevelKind> {
        KINDS.iter().map(|(kind, _)| *kind)
    }

    /// Returns the kinds that may occur below any level and can store any set of coordinates.
    pub fn general() -> impl Iterator<Item = LevelKind> {
        LevelKind::all().filter(|kind| kind.traits().general)
    }

    /// Returns the traits of the kind.
    pub fn traits(self) -> &'static LevelTraits {
        let found = KINDS.iter().find(|(kind, _)| *kind == self);
        found.map(|(_, traits)| traits).expect("every kind is in the registry")
    }

    /// Returns the kind with the given name.
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
    /// True if the coordinates of a fiber never repeat. A non-unique level yields runs of equal
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

    /// Returns how a given coordinate is found in a fiber of this level.
    pub fn lookup(self) -> Lookup {
        match self.kind.traits().lookup {
            Lookup::Search if !self.ordered || !self.unique => Lookup::Never,
            lookup => lookup,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each kind is registered once and found by its name.
    #[test]
    fn kinds_are_registered_once() {
        for kind in LevelKind::all() {
            assert_eq!(LevelKind::from_name(kind.traits().name), Some(kind));
            assert_eq!(LevelKind::all().filter(|other| *other == kind).count(), 1);
        }
    }
}
