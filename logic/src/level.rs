//! The kinds of levels and what is true of each: one table that verifiers, optimizer and storage read.
//!
//! What a level of some kind stores and how code goes through it is known to `redpoll-physical` alone; what decides
//! where a kind may stand, how it can be met and how it must be written stands here.

/// The kinds of levels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LevelKind {
    /// Every coordinate has a child: position `p * n + i`.
    Dense,
    /// The stored coordinates of each fiber in `idx[ptr[p]..ptr[p + 1]]` (compressed).
    SparseList,
    /// One coordinate a position: `idx[p]`; the inner modes of COO.
    Singleton,
    /// Stored coordinates in a hash table, sorted when frozen; takes random writes.
    Hash,
    /// A byte per coordinate says whether it is stored, beside the sorted list of those that are; takes random writes.
    ByteMap,
    /// Blocks of adjacent stored coordinates (VBL): the last coordinate of each in `idx`, its positions in `ofs`.
    BlockList,
    /// One block of adjacent coordinates a fiber, from its first stored coordinate to its last.
    Band,
    /// Runs of coordinates with equal children, one position each, that cover every coordinate: run `q` ends before
    /// `right[q]`, where the next one begins.
    RunLength,
    /// Runs of coordinates with equal children, one position each: `left[q]..right[q]`; between runs nothing is stored.
    SparseRunLength,
    /// One run of coordinates with equal children a fiber, or none: `left[p]..right[p]`.
    Interval,
    /// A bit per coordinate says whether it is stored; takes random writes.
    BitMap,
    /// One coordinate a fiber at most: `idx[p]`, the dimension where there is none.
    Pinpoint,
    /// The stored coordinates of each fiber, filled up with the dimension to the length of the longest (ELL).
    FixedWidth,
}

/// How a coordinate that is known is found in a fiber.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lookup {
    /// At once, whatever the order of loops.
    Direct,
    /// By a search of the fiber, which must be ordered and unique.
    Search,
    /// Not at all.
    Never,
}

/// The order in which a level takes writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Writes {
    /// Any, a coordinate repeatedly too.
    Random,
    /// Fiber by fiber, ascending coordinates, each once.
    Append,
}

/// What is true of every fiber of a level kind (TACO's level properties, and how it is met).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelTraits {
    /// The name in text forms, such as `sparse-list`.
    pub name: &'static str,
    /// Stands below any level and holds any coordinates.
    pub general: bool,
    /// Every coordinate is stored.
    pub full: bool,
    /// Each position has one entry below it (no `ptr`).
    pub branchless: bool,
    /// Positions have no gaps, and each is that of one coordinate.
    pub compact: bool,
    /// A coordinate is stored on its own account; else some are stored because of their neighbours, and hold the fill.
    pub explicit: bool,
    /// A position is that of all coordinates of a run, whose children are equal.
    pub runs: bool,
    /// A fiber has one entry, or one run, at most.
    pub single: bool,
    /// Coordinates may be unordered or repeat, as the flags of the level say.
    pub flexible: bool,
    /// How a known coordinate is found.
    pub lookup: Lookup,
    /// The order of writes.
    pub writes: Writes,
}

/// A kind that lists coordinates, appended to and searched.
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

/// A kind that finds and takes any coordinate at once.
const TABLE: LevelTraits = LevelTraits { lookup: Lookup::Direct, writes: Writes::Random, ..LIST };

/// A kind that stores runs, appended to and searched.
const RUNS: LevelTraits = LevelTraits { compact: false, runs: true, ..LIST };

/// Every kind with its traits: the registry.
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
    /// All kinds.
    pub fn all() -> impl Iterator<Item = LevelKind> {
        KINDS.iter().map(|(kind, _)| *kind)
    }

    /// The kinds that stand below any level and hold any coordinates.
    pub fn general() -> impl Iterator<Item = LevelKind> {
        LevelKind::all().filter(|kind| kind.traits().general)
    }

    /// What is true of its fibers.
    pub fn traits(self) -> &'static LevelTraits {
        let found = KINDS.iter().find(|(kind, _)| *kind == self);
        found.map(|(_, traits)| traits).expect("every kind is in the registry")
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<LevelKind> {
        LevelKind::all().find(|kind| kind.traits().name == name)
    }
}

/// A level of a format: its kind and its flags.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LevelFormat {
    /// The kind of the level.
    pub kind: LevelKind,
    /// Coordinates of a fiber do not decrease.
    pub ordered: bool,
    /// Coordinates of a fiber do not repeat. A level that is not unique yields runs of equal coordinates and hands
    /// down ranges of positions.
    pub unique: bool,
}

impl LevelFormat {
    /// An ordered and unique level of that kind.
    pub fn new(kind: LevelKind) -> LevelFormat {
        LevelFormat { kind, ordered: true, unique: true }
    }

    /// The level, its coordinates allowed to repeat.
    pub fn non_unique(self) -> LevelFormat {
        LevelFormat { unique: false, ..self }
    }

    /// How a known coordinate is found in a fiber of it.
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

    /// Protects the registry: each kind once, found by its name.
    #[test]
    fn kinds_are_registered_once() {
        for kind in LevelKind::all() {
            assert_eq!(LevelKind::from_name(kind.traits().name), Some(kind));
            assert_eq!(LevelKind::all().filter(|other| *other == kind).count(), 1);
        }
    }
}
